// SPDX-License-Identifier: GPL-2.0-or-later
//! `surgent plan` and `surgent explain` on a cluster that runs: what they say is what the planner then does.

use crate::audit::wait_for_kind;
use crate::on_cluster;
use crate::scene::quick;
use crate::shapes::crowd::{Crowd, Member, Shape};
use crate::shapes::{TOML, crowd, crowded_cluster};
use crate::support::{Builder, Cluster, JobId, LIMIT, Outcome, finish, places};
use serde_json::Value;
use std::collections::BTreeSet;

/// What `surgent` prints.
fn text(cluster: &Cluster, arguments: &[&str], as_nobody: bool) -> Outcome<String> {
    let program = places::surgent()?;
    let program = program.to_str().ok_or("the path of surgent is no text")?;
    let mut command = match as_nobody {
        true => cluster.command_as_nobody(program),
        false => cluster.command(program),
    };
    let printed = finish(
        command.args(arguments),
        &format!("surgent {}", arguments.join(" ")),
    )?;
    // Where lines end is another matter.
    Ok(printed.replace('\n', " "))
}

fn json(cluster: &Cluster, arguments: &[&str], as_nobody: bool) -> Outcome<Value> {
    let printed = text(cluster, &[arguments, &["--json"]].concat(), as_nobody)?;
    serde_json::from_str(&printed).map_err(|error| format!("{error}: {printed}").into())
}

fn explain(cluster: &Cluster, job: JobId, as_nobody: bool) -> Outcome<Value> {
    json(cluster, &["explain", &job.to_string()], as_nobody)
}

fn numbers(list: &Value) -> BTreeSet<u64> {
    let items = list.as_array().map_or(&[][..], Vec::as_slice);
    items.iter().filter_map(|one| one["job"].as_u64()).collect()
}

fn names(list: &Value) -> BTreeSet<String> {
    let items = list.as_array().map_or(&[][..], Vec::as_slice);
    items
        .iter()
        .filter_map(|one| one.as_str().map(str::to_owned))
        .collect()
}

/// For each of these: the plan for the options, then the job itself by the same options.
fn foretell_all(cluster: &Cluster, members: Vec<Member>, shapes: &[&[&str]]) -> Outcome {
    let crowd = Crowd::gather(cluster, members)?;
    let mut wrong = Vec::new();
    for (number, options) in (1..).zip(shapes) {
        let foretold = json(cluster, &[&["plan"], *options].concat(), false)?;
        let stopped = crowd.try_one(&Shape::starts(&options.join(" "), options))?;
        let plans = wait_for_kind(cluster, "plan", number)?;
        let firsts: Vec<&Value> = plans.iter().filter(|plan| plan["why"] == "first").collect();
        let plan = firsts.last().ok_or("no plan is in the audit file")?;
        let said = (numbers(&foretold["victims"]), names(&foretold["node_names"]));
        let done = (numbers(&plan["victims"]), names(&plan["nodes"]));
        let costs = [&foretold["cost_gpu_s"], &plan["cost_gpu_s"]].map(Value::as_f64);
        match said == done && costs[0] == costs[1] && foretold["outcome"] == "stop" {
            true => println!("{:45} {stopped}", options.join(" ")),
            false => wrong.push(format!("{options:?}: said {foretold:#}\ndid {plan:#}")),
        }
    }
    match wrong.is_empty() {
        true => Ok(()),
        false => Err(wrong.join("\n").into()),
    }
}

#[test]
fn a_plan_for_options_is_the_plan_for_the_job_that_they_make() -> Outcome {
    let shapes: [&[&str]; 26] = [
        &["-N1", "--exclusive"],
        &["-N2", "--exclusive"],
        &["--gres=gpu:4"],
        &["-N2", "--gres=gpu:2"],
        &["--gpus=6"],
        &["--gpus=5", "-N2"],
        &["-n3", "--gpus-per-task=1"],
        &["-N2", "-n4", "--gpus-per-task=1"],
        &["--gpus-per-socket=2", "--sockets-per-node=1"],
        &["--gpus=2", "--cpus-per-gpu=3"],
        &["-n12"],
        &["-N2", "--ntasks-per-node=3"],
        &["-n4", "-c3"],
        &["-n1", "--cpus-per-task=7"],
        &["-N1", "--mincpus=6"],
        &["--nodes=1-3", "--ntasks=14"],
        &["--mem=12000"],
        &["--mem=0"],
        &["-n2", "--mem-per-cpu=5000M"],
        &["--gpus=2", "--mem-per-gpu=6000"],
        &["-n4", "-Cnew&ib"],
        &["-N2", "-C[old*1&new*1]", "--gres=gpu:1"],
        &["-N3", "-w", "n[1,4]", "--gres=gpu:1"],
        &["-x", "n1,n3", "--gpus-per-node=1", "--output=/dev/null"],
        &["-p", "east,west", "-N2", "--gres=gpu:2"],
        &["--exclusive=user", "-n8", "--time=1:00:00"],
    ];
    on_cluster(crowded_cluster(), |cluster| {
        foretell_all(cluster, crowd(), &shapes)?;
        let refused = text(cluster, &["plan", "-p", "nowhere", "-n1"], false);
        assert!(refused.is_err_and(|failure| failure.to_string().contains("no partition \"nowhere\"")));
        Ok(())
    })
}

fn typed() -> Builder {
    Cluster::builder()
        .toml(TOML)
        .conf("SchedulerParameters=batch_sched_delay=0")
        .threads_per_core(2)
        .node("n1", "", &[("a100", 4)])
        .node("n2", "", &[("a100", 2), ("h100", 2)])
        .node("n3", "", &[("h100", 4)])
        .node("n4", "", &[])
}

#[test]
fn so_it_is_with_models_and_threads() -> Outcome {
    let members = vec![
        Member::new("a1", ["-wn1", "--gres=gpu:a100:2", "-n1", "-c3", "--mem=2000"]),
        Member::new("a2", ["-wn1", "--gres=gpu:2", "-n1", "-c4", "--mem=2000"]),
        Member::new("any", ["-wn2", "--gres=gpu:2", "-n1", "-c2", "--mem=2000"]),
        Member::new("h1", ["-wn2", "--gres=gpu:h100:2", "-n1", "-c2", "--mem=2000"]),
        Member::new("h2", ["-wn3", "--gres=gpu:h100:4", "-n1", "-c5", "--mem=2000"]),
        Member::new("whole", ["-wn4", "--exclusive"]),
    ];
    let shapes: [&[&str]; 8] = [
        &["--gres=gpu:a100:1"],
        &["--gres=gpu:h100:4"],
        &["-N2", "--gres=gpu:a100:2"],
        &["--gpus=a100:3"],
        &["-n3", "--gpus-per-task=h100:1"],
        &["--gpus=h100:2", "--mem-per-gpu=4G"],
        &["-n1", "-c6", "--gres=gpu:1"],
        &["-n4", "--ntasks-per-core=1", "--gres=gpu:1"],
    ];
    on_cluster(typed(), |cluster| foretell_all(cluster, members, &shapes))
}

/// Saves when asked, but only once there is a file `go`.
const PATIENT: &str = r#"
save() {
	while [ ! -e go ]; do sleep 0.1; done
	scontrol update JobId=$SLURM_JOB_ID Comment="signal=USR1@batch saved=$(date +%s)"
}
trap save USR1
sleep 100000 &
echo "$SLURM_JOB_ID up restart ${SLURM_RESTART_COUNT:-0}"
while kill -0 $!; do wait $!; done
"#;

/// A job on all of one node that can be asked to save, and runs.
fn training(cluster: &Cluster, name: &str, options: &[&str]) -> Outcome<JobId> {
    let name_option = format!("--job-name={name}");
    let own = [
        "--comment=signal=USR1@batch",
        "--exclusive",
        "--gres=gpu:4",
        &name_option,
    ];
    let job = cluster.sbatch(&[&own[..], options].concat(), PATIENT)?;
    cluster.wait_for_output(name, &format!("{job} up restart 0"), LIMIT)?;
    Ok(job)
}

#[test]
fn every_state_of_a_job_is_explained_to_everybody() -> Outcome {
    on_cluster(quick(), |cluster| {
        let saver = training(cluster, "saver", &["-wn1"])?;
        for node in ["-wn2", "-wn3", "-wn4"] {
            training(cluster, "stubborn", &[node, "--no-requeue"])?;
        }
        exposed(cluster, saver)?;

        // A normal job that waits, and what would be if it were urgent.
        let normal = cluster.sbatch(&["-N1", "--gres=gpu:2", "--hold"], "sleep 100")?;
        cluster.ask("scontrol", &["release", &normal.to_string()])?;
        cluster.wait_for("the normal job to have been tried", LIMIT, |cluster| {
            Ok(cluster.job(normal)?.get("Reason") == "Resources")
        })?;
        let plan = json(cluster, &["plan", "--job", &normal.to_string()], true)?;
        assert_eq!(
            (&plan["as_if"], &plan["outcome"]),
            (&"urgent".into(), &"stop".into())
        );
        assert_eq!(numbers(&plan["victims"]), [saver.0.into()].into());
        let said = text(cluster, &["explain", &normal.to_string()], true)?;
        assert!(said.contains("Surgent has nothing to do with it"), "{said}");
        cluster.ask("scancel", &[&normal.to_string()])?;

        let too_large = cluster.sbatch(
            &["-N2", "--gres=gpu:1", "--comment=urgency=urgent"],
            "sleep 100000",
        )?;
        cluster.wait_until("the log to say that no set helps", LIMIT, |cluster| {
            Ok(cluster.logged(&[&format!("job {too_large} waits: no set")]))
        })?;
        let told = explain(cluster, too_large, true)?;
        assert_eq!(told["outlook"][0]["outcome"], "no_set", "{told:#}");
        let refused = told["outlook"][0]["refused"].as_object().unwrap();
        assert_eq!(
            refused
                .values()
                .filter(|rule| **rule == "not_requeueable")
                .count(),
            3
        );
        cluster.ask("scancel", &[&too_large.to_string()])?;

        let urgent = cluster.sbatch(
            &["-N1", "--exclusive", "--gres=gpu:4", "--comment=urgency=urgent"],
            "sleep 100000",
        )?;
        cluster.wait_until("the request to the training", LIMIT, |cluster| {
            Ok(cluster.logged(&[&format!("asked job {saver} to save for job {urgent} ")]))
        })?;
        in_progress(cluster, urgent, saver)?;
        std::fs::write(cluster.work().join("go"), "").map_err(|error| error.to_string())?;
        cluster.wait_for_state(urgent, "RUNNING", LIMIT)?;
        cluster.wait_for("the record of the stop", LIMIT, |cluster| {
            Ok(cluster.job(saver)?.get("AdminComment").contains("by="))
        })?;
        wait_for_kind(cluster, "stopped", 1)?;
        stopped(cluster, urgent, saver, "is left alone for 2s")?;

        cluster.ask("scancel", &[&urgent.to_string()])?;
        cluster.wait_for_state(saver, "RUNNING", LIMIT)?;
        stopped(cluster, urgent, saver, "It runs again")?;
        let unknown = text(cluster, &["explain", "4000000"], true);
        assert!(unknown.is_err_and(|failure| failure.to_string().contains("Slurm knows no job 4000000")));
        Ok(())
    })
}

/// A running job: every rule with its value.
fn exposed(cluster: &Cluster, saver: JobId) -> Outcome {
    let told = cluster.wait_until("the training to be old enough", LIMIT, |cluster| {
        let told = explain(cluster, saver, true)?;
        let free = told["exposure"]["protected_by"] == Value::Array(Vec::new());
        Ok(free.then_some(told))
    })?;
    let exposure = &told["exposure"];
    assert_eq!(exposure["rank"], 1);
    assert_eq!(exposure["ways"][0]["way"], "at_step");
    let rules = exposure["rules"].as_array().unwrap();
    let rule = |name: &str| rules.iter().find(|rule| rule["rule"] == name).unwrap();
    // The settings of this cluster, not the defaults.
    assert_eq!(rule("below_min_runtime")["limit_s"], 1.0);
    assert_eq!(rule("exempt_user")["value"], "root");
    Ok(())
}

/// An urgent job that waits for `saver`, and what that job is told.
fn in_progress(cluster: &Cluster, urgent: JobId, saver: JobId) -> Outcome {
    for as_nobody in [false, true] {
        let told = explain(cluster, urgent, as_nobody)?;
        assert_eq!(told["outlook"][0]["outcome"], "in_progress", "{told:#}");
        assert_eq!(numbers(&told["awaited"]), [saver.0.into()].into());
        assert_eq!(told["awaited"][0]["saved"], Value::Null);
        let asked = explain(cluster, saver, as_nobody)?;
        assert_eq!(asked["asked"]["urgent"], urgent.0);
        assert_eq!(asked["exposure"]["protected_by"], serde_json::json!(["claimed"]));
        let plan = json(cluster, &["plan", "--job", &urgent.to_string()], as_nobody)?;
        assert_eq!(plan["outcome"], "in_progress");
    }
    Ok(())
}

/// A job that was stopped, to those who can read the audit file and to those who cannot.
fn stopped(cluster: &Cluster, urgent: JobId, saver: JobId, words: &str) -> Outcome {
    let root = explain(cluster, saver, false)?;
    let nobody = explain(cluster, saver, true)?;
    for told in [&root, &nobody] {
        assert_eq!(told["preempted"]["by"], urgent.0, "{told:#}");
        assert_eq!(told["preempted"]["had_saved"], true);
        assert_eq!(told["preempted"]["times"], 1);
    }
    assert!(
        root["preempted"]["cost_gpu_s"]
            .as_f64()
            .is_some_and(|cost| cost > 0.0),
        "{root:#}"
    );
    assert_eq!(nobody["preempted"]["cost"], Value::Null);
    let notes = nobody["notes"].to_string();
    assert!(notes.contains("ask an administrator"), "{notes}");
    let said = text(cluster, &["explain", &saver.to_string()], true)?;
    assert!(said.contains(words), "{said}");
    let displaced = explain(cluster, urgent, true)?;
    assert_eq!(
        numbers(&displaced["displaced"]),
        [saver.0.into()].into(),
        "{displaced:#}"
    );
    Ok(())
}
