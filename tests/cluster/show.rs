// SPDX-License-Identifier: GPL-2.0-or-later
//! What Slurm's commands show gives the plan that the planner makes of what it sees in slurmctld, whatever users write.

use crate::kept::kept;
use crate::on_cluster;
use crate::scene::quick;
use crate::shapes::crowd::{Crowd, Member};
use crate::shapes::gpus_of;
use crate::support::{Builder, Cluster, JobId, LIMIT, Outcome, write_program};
use std::fs;
use std::panic::{AssertUnwindSafe, catch_unwind};
use surgent::policy::book::Book;
use surgent::policy::facts::{Facts, RunningJob};
use surgent::policy::ids;
use surgent::policy::plan;
use surgent::policy::resources::Amounts;
use surgent::policy::settings::Settings;
use surgent::policy::snapshot::Snapshot;
use surgent::policy::step::step_and_tell;
use surgent::slurm::command::Environment;
use surgent::slurm::show::{Seen, look};

const TOML: &str = "mode = \"shadow\"\n[victims]\nmin_runtime_s = 0\nnearly_done_s = 0\nsave_s = 1\n\
                    [urgent]\nwait_max_s = 0\n[records]\nsnapshots = 100\n";

fn shadow() -> Builder {
    quick()
        .toml(TOML)
        .conf("PartitionName=west Nodes=n1,n2")
        .conf("PartitionName=east Nodes=n3,n4")
        .conf("PartitionName=alone Nodes=n3,n4 OverSubscribe=EXCLUSIVE")
        .node("n1", "old,ib", &[("a100", 4)])
        .node("n2", "old", &[("a100", 2), ("h100", 2)])
        .node("n3", "new,ib", &[("h100", 4)])
        .node("n4", "new", &[])
}

fn crowd() -> Vec<Member> {
    vec![
        Member::new("half1", gpus_of(2, &["-wn1"])).worth(20),
        Member::new("half2", gpus_of(2, &["-wn1"])).worth(80),
        Member::new("whole", ["--exclusive", "--gres=gpu:4", "-wn2", "--time=600"]),
        Member::new("quarter", gpus_of(1, &["-wn3"])),
        Member::new("task", gpus_of(1, &["-wn3", "--array=3"])),
        Member::new("wide", gpus_of(1, &["-N2", "-wn3,n4"])).worth(70),
        Member::new("uneven", ["-N2", "-n3", "-wn3,n4", "--mem=500"]),
        Member::new(
            "pair",
            ["--cpus-per-task=5", "--gres=gpu:2", "--mem=3000", "-wn4"],
        ),
    ]
}

fn see(cluster: &Cluster) -> Outcome<Seen> {
    see_by(cluster, "/usr/sbin:/usr/bin:/sbin:/bin")
}

/// With Slurm's commands from this search path.
fn see_by(cluster: &Cluster, path: &str) -> Outcome<Seen> {
    let variables = [
        ("PATH", path.into()),
        ("SLURM_CONF", cluster.folder().join("slurm.conf").into_os_string()),
        ("TZ", "Asia/Tokyo".into()),
    ];
    let environment = Environment::of_user(variables.map(|(name, value)| (name.into(), value)));
    look(&environment).map_err(|error| error.to_string().into())
}

fn snapshot(cluster: &Cluster, urgent: JobId) -> Outcome<Snapshot> {
    let file = kept(cluster, urgent)?;
    let text = fs::read_to_string(&file).map_err(|error| error.to_string())?;
    Snapshot::parse(&text).map_err(|error| error.to_string().into())
}

/// What would be decided for `urgent`, with the names of the nodes.
fn decided(facts: &Facts, settings: &Settings, urgent: JobId) -> Option<plan::Outcome> {
    let mut facts = facts.clone();
    for job in &mut facts.waiting {
        job.tested = true;
    }
    let mut found = None;
    step_and_tell(&mut Book::default(), &facts, settings, &mut |decision| {
        if decision.urgent == ids::JobId(urgent.0) {
            found.get_or_insert(decision.outcome.clone());
        }
    });
    found
}

/// Amounts by the names of their kinds: the numbers of the kinds depend on who saw them first.
fn named(amounts: &Amounts, facts: &Facts) -> (u32, u64, Vec<(String, u64)>) {
    let kinds = serde_json::to_value(&facts.gres).unwrap();
    let mut gres: Vec<(String, u64)> = amounts
        .gres_counts()
        .iter()
        .map(|(id, count)| (kinds[id.0 as usize].to_string(), *count))
        .collect();
    gres.sort();
    (amounts.cpus, amounts.memory_mib, gres)
}

/// All of a running job but the numbers of kinds, and its user's name, which the planner looks up only where settings ask.
fn described(job: &RunningJob, facts: &Facts) -> String {
    let holdings: Vec<_> = job
        .holdings
        .iter()
        .map(|one| (one.node, named(&one.amounts, facts)))
        .collect();
    let mut rest = job.clone();
    rest.holdings.clear();
    rest.labels.user = None;
    format!("{rest:?} {holdings:?}")
}

fn assert_same(seen: &Seen, planner: &Snapshot, urgent: JobId, shape: &str) {
    let settings = planner.settings.clone().unwrap_or_default();
    let mut facts = seen.facts.clone();
    let known = &planner.facts;
    assert!((facts.now.0 - known.now.0).abs() < 60);
    facts.now = known.now;
    let nodes = |facts: &Facts| -> Vec<String> {
        let one = |node: &surgent::policy::facts::Node| {
            let rest = (&node.name, node.availability, node.cpus_per_core);
            format!("{rest:?} {:?}", named(&node.total, facts))
        };
        facts.nodes.iter().map(one).collect()
    };
    assert_eq!(nodes(&facts), nodes(known), "{shape}");
    let running =
        |facts: &Facts| -> Vec<String> { facts.running.iter().map(|job| described(job, facts)).collect() };
    assert_eq!(running(&facts), running(known), "{shape}");
    assert_eq!(
        decided(&facts, &settings, urgent),
        decided(known, &settings, urgent),
        "{shape}: {:#?} and {:#?}",
        facts.waiting,
        known.waiting
    );
    assert!(
        decided(known, &settings, urgent).is_some(),
        "{shape}: nothing was decided"
    );
}

/// Submits an urgent job, compares, and withdraws it.
fn compare(cluster: &Cluster, options: &[&str]) -> Outcome {
    let mut all = vec![
        "--job-name=urgent",
        "--comment=urgency=urgent",
        "--output=/dev/null",
    ];
    all.extend(options);
    let urgent = cluster.sbatch(&all, "sleep 1000")?;
    let planner = snapshot(cluster, urgent)?;
    let seen = see(cluster)?;
    assert_same(&seen, &planner, urgent, &options.join(" "));
    cluster.ask("scancel", &[&urgent.to_string()])?;
    cluster.wait_for("the urgent job to be gone", LIMIT, |cluster| {
        let left = cluster.ask("squeue", &["-h", "-n", "urgent", "-o", "%i"])?;
        Ok(left.trim().is_empty())
    })
}

#[test]
fn what_is_shown_gives_the_planners_own_plan() -> Outcome {
    let shapes: &[&[&str]] = &[
        &["-N1", "--exclusive"],
        &["-N2", "--exclusive"],
        &["-N4", "--exclusive"],
        &["--gres=gpu:1"],
        &["--gres=gpu:a100:1"],
        &["-N2", "--gres=gpu:h100:2"],
        &["--gpus=3"],
        &["--gpus=6"],
        &["--gpus=5", "-N2"],
        &["-n3", "--gpus-per-task=1"],
        &["-N2", "-n4", "--gpus-per-task=1"],
        &["--gpus-per-socket=2", "--sockets-per-node=1"],
        &["--gpus=2", "--cpus-per-gpu=3"],
        &["-n5"],
        &["-n12"],
        &["-N2", "--ntasks-per-node=3"],
        &["-n4", "-c3"],
        &["-N1", "--mincpus=6"],
        &["-N1-3", "-n14"],
        &["--mem=12000"],
        &["--mem=0"],
        &["-n2", "--mem-per-cpu=5000"],
        &["--gpus=2", "--mem-per-gpu=6000"],
        &["-n4", "-Cib|old"],
        &["-N2", "-C[old|new]", "--gres=gpu:1"],
        &["-N2", "-C[old*1&new*1]", "--gres=gpu:1"],
        &["-wn3", "--gres=gpu:2"],
        &["-N3", "-wn1,n4", "--gres=gpu:1"],
        &["-xn1,n3", "--gres=gpu:1"],
        &["-peast,west", "-N2", "--gres=gpu:2"],
        &["-palone", "-n1"],
        &["--exclusive=user", "-n8"],
        &["--array=1-2", "--gres=gpu:3"],
        &["--array=1-3%1", "--gres=gpu:2"],
    ];
    on_cluster(shadow(), |cluster| {
        Crowd::gather(cluster, crowd())?;
        compare_all(cluster, shapes)
    })
}

/// Cores of two CPUs, reservations now and later, and a job that is suspended.
#[test]
fn so_it_does_with_threads_reservations_and_a_suspended_job() -> Outcome {
    let setup = quick().toml(TOML).threads_per_core(2);
    let member = |name: &str, options: &[&str]| Member::new(name, options.iter().copied()).with("--mem=2000");
    let members = vec![
        member("four", &["-wn1", "--gres=gpu:4", "-c3"]),
        member("other", &["-wn1", "-c4"]),
        member("stopped", &["-wn2", "--gres=gpu:2", "-c8"]),
        member("odd", &["-wn3", "--gres=gpu:3", "-c5"]),
        member("one", &["-wn3", "--gres=gpu:1", "-c1"]),
        member("alone", &["-wn4", "--exclusive", "--time=5"]),
    ];
    let shapes: &[&[&str]] = &[
        &["-N1", "--exclusive", "-xn2"],
        &["-N2", "--exclusive", "-xn2", "--time=10"],
        &["-n7", "-xn2"],
        &["-n4", "-xn2", "--threads-per-core=1"],
        &["-n3", "-N1", "-xn2", "--hint=nomultithread"],
        &["-n3", "-N1", "-xn2", "--ntasks-per-core=1"],
        &["-N2", "-xn2", "--gres=gpu:3", "--time=10"],
        &["-n6", "--reservation=now"],
        &["-wn4", "--time=10"],
    ];
    on_cluster(setup, |cluster| {
        let mut crowd = Crowd::gather(cluster, members)?;
        crowd.suspend("stopped")?;
        for words in [
            "ReservationName=now StartTime=now Duration=120 Users=root Nodes=n3 Flags=IGNORE_JOBS",
            "ReservationName=later StartTime=now+15minutes Duration=60 Users=root Nodes=n4 Flags=MAINT,IGNORE_JOBS",
        ] {
            let words: Vec<&str> = ["create", "reservation"]
                .into_iter()
                .chain(words.split(' '))
                .collect();
            cluster.ask("scontrol", &words)?;
        }
        compare_all(cluster, shapes)
    })
}

fn compare_all(cluster: &Cluster, shapes: &[&[&str]]) -> Outcome {
    let mut wrong = Vec::new();
    for shape in shapes {
        let same = catch_unwind(AssertUnwindSafe(|| compare(cluster, shape)));
        if !matches!(same, Ok(Ok(()))) {
            println!("{}: {:?}", shape.join(" "), same.map_err(drop));
            wrong.push(shape.join(" "));
            cluster.ask("scancel", &["--name=urgent"])?;
        }
    }
    assert_eq!(wrong, [""; 0]);
    Ok(())
}

/// A folder with squeue and scontrol that ask as an ordinary user.
fn as_nobody() -> Outcome<tempfile::TempDir> {
    let folder = tempfile::tempdir().map_err(|error| error.to_string())?;
    for name in ["squeue", "scontrol"] {
        let script = format!(
            "#!/bin/sh\nexec setpriv --reuid=nobody --regid=nogroup --clear-groups -- /usr/bin/{name} \"$@\"\n"
        );
        write_program(&folder.path().join(name), &script)?;
    }
    Ok(folder)
}

/// Names and comments that pass for other jobs' records, and some that are just odd.
fn sly_texts(cluster: &Cluster, victims: &[JobId]) -> Outcome<Vec<String>> {
    let mut texts = vec![
        "\"quoted' $(reboot) `x` \\ %s %n \u{1f} ".to_owned() + "é\u{2028}",
        "\n\n".to_owned(),
        "x UserId=root(0) GroupId=root(0) Nodes=n1 CPU_IDs=0-99 Mem=1 GRES=gpu:4 MinCPUsNode=1".to_owned(),
        "\u{1}\u{7f}\t".repeat(330),
    ];
    for victim in victims {
        let record = cluster.ask("scontrol", &["show", "job", "-o", "-d", &victim.to_string()])?;
        let forged = record
            .replace("CPU_IDs=0", "CPU_IDs=0-7,0")
            .replace("UserId=", "UserId=nobody")
            .replace("Priority=", "Prio=");
        texts.push("\n".chars().chain(forged.chars().take(900)).collect());
        texts.push(format!(
            "\nJobId={victim} JobName=half1 UserId=nobody(1) Nodes=n1 CPU_IDs=0 Mem=1 GRES= \n"
        ));
    }
    Ok(texts)
}

#[test]
fn no_text_of_a_user_reaches_anothers_job_and_any_user_may_look() -> Outcome {
    on_cluster(shadow(), |cluster| {
        let crowd = Crowd::gather(cluster, crowd())?;
        let victims: Vec<JobId> = ["half1", "wide", "uneven"]
            .iter()
            .flat_map(|name| crowd.numbers(name))
            .collect();
        let before = see(cluster)?;
        let texts = sly_texts(cluster, &victims)?;
        let mut sly = Vec::new();
        for text in &texts {
            let (name, comment) = (format!("--job-name={text}"), format!("--comment={text}"));
            // Nobody checks accounts here.
            let account = format!("--account={text}");
            let options = ["--hold", &name, &comment, &account, "--output=/dev/null"];
            sly.push(cluster.sbatch_as_nobody(&options, "true")?);
        }
        let folder = as_nobody()?;
        let path = format!("{}:/usr/bin:/bin", folder.path().display());
        for after in [see(cluster)?, see_by(cluster, &path)?] {
            assert_eq!(after.facts.running, before.facts.running);
            assert_eq!(after.facts.nodes, before.facts.nodes);
            assert_eq!(after.jobs.len(), before.jobs.len() + sly.len());
            for job in &before.jobs {
                assert_eq!(after.job(job.id), Some(job));
            }
            for (id, text) in sly.iter().zip(&texts) {
                let job = after.job(ids::JobId(id.0)).expect("it is listed");
                assert_eq!(job.comment, text.trim_end_matches(' ').as_bytes());
                assert_eq!((job.user.as_str(), job.state.as_str()), ("nobody", "PENDING"));
            }
            assert!(after.gaps.is_empty(), "{:?}", after.gaps);
        }
        Ok(())
    })
}
