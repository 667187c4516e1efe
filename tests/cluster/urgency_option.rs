// SPDX-License-Identifier: GPL-2.0-or-later
//! `--urgency`, which spank_surgent.so gives to sbatch, srun and salloc.

use crate::on_cluster;
use crate::scene::{assert_all_finish_whole, four, quick, wait_for_requests};
use crate::support::{Cluster, JobId, LIMIT, Outcome, finish, places};
use std::fs;
use std::process::Command;

/// How Slurm hands the option on.
const VARIABLE: &str = "SLURM_SPANK__SLURM_SPANK_OPTION_surgent_urgency";

/// From then on no command, and no node, has another plugin than this.
fn only_plugin(cluster: &Cluster, plugin: &str) -> Outcome {
    let written = fs::write(
        cluster.folder().join("plugstack.conf"),
        format!("optional {plugin}\n"),
    );
    written.map_err(|error| format!("plugstack.conf: {error}").into())
}

/// Builds `forger.c`; its path.
fn forger(cluster: &Cluster) -> Outcome<String> {
    let (year, month) = places::slurm_version()?;
    let plugin = cluster.folder().join("forger.so").display().to_string();
    let mut cc = Command::new("cc");
    cc.arg(format!("-DSLURM_RELEASE={}", (year << 16) | (month << 8)));
    cc.args(["-shared", "-fPIC", "-Wall", "-Werror", "-o", &plugin]);
    cc.arg(concat!(env!("CARGO_MANIFEST_DIR"), "/tests/cluster/forger.c"));
    finish(&mut cc, "cc")?;
    Ok(plugin)
}

/// What a command that has to fail says.
fn refusal(command: &mut Command) -> String {
    match finish(command, "the command") {
        Ok(answer) => panic!("{command:?} succeeded: {answer}"),
        Err(failure) => failure.to_string(),
    }
}

fn sbatch_refusal(outcome: Outcome<JobId>) -> String {
    outcome
        .map(|job| panic!("accepted as job {job}"))
        .unwrap_err()
        .to_string()
}

/// Class and comment of a job.
fn class(cluster: &Cluster, job: JobId) -> Outcome<(String, String)> {
    let job = cluster.job(job)?;
    let record = job.get("AdminComment").strip_prefix("surgent{class=");
    let class = record.and_then(|record| record.split([' ', '}']).next());
    Ok((
        class.unwrap_or("none").to_owned(),
        job.get("Comment").trim_end().to_owned(),
    ))
}

fn assert_class(cluster: &Cluster, job: JobId, expected: &str, comment: &str) -> Outcome {
    assert_eq!(class(cluster, job)?, (expected.to_owned(), comment.to_owned()));
    Ok(())
}

#[test]
fn an_urgent_job_by_option_gets_its_victims_and_its_steps_run() -> Outcome {
    on_cluster(quick(), |cluster| {
        let trainees = four(cluster, |training| training.lasting(6, 0.1))?;
        let options = [
            "--urgency=urgent",
            "--exclusive",
            "--gres=gpu:4",
            "-Jurgent",
            "-N2",
        ];
        // A step knows nothing of the option, or repeats it; what the job submits is not urgent for that.
        let script = format!(
            "env | grep -c SPANK_OPTION_surgent_urgency\nsrun hostname && srun --urgency=urgent hostname && echo steps ran\n\
             srun env | grep {VARIABLE} && echo the step has it\n\
             sbatch --parsable --hold -J child -o /dev/null --wrap true\nsrun sbatch --parsable --hold -J child -n1 \
             -o /dev/null --wrap true\nsleep 2"
        );
        let urgent = cluster.sbatch(&options, &script)?;
        assert_class(cluster, urgent, "urgent", "urgency=urgent")?;
        let asked = wait_for_requests(cluster, &trainees, urgent, 2)?;
        cluster.wait_for_state(urgent, "COMPLETED", LIMIT)?;
        let output = cluster.output("urgent");
        assert!(
            output.contains("steps ran") && !output.contains("the step has it"),
            "{output}"
        );
        let children = cluster.ask("squeue", &["-h", "-n", "child", "-o", "%i"])?;
        assert_eq!(children.lines().count(), 3, "{output}");
        for child in children.lines() {
            let child = JobId(child.parse().map_err(|_| format!("squeue answered {children}"))?);
            assert_class(cluster, child, "none", "")?;
        }
        assert_all_finish_whole(cluster, &trainees, &asked)?;
        cluster.controller_is_well()
    })
}

#[test]
fn each_command_knows_the_option_and_the_comment_shows_it() -> Outcome {
    on_cluster(quick(), |cluster| {
        for command in ["sbatch", "srun", "salloc"] {
            let help = cluster.ask(command, &["--help"])?;
            let words = help.split_whitespace().collect::<Vec<_>>().join(" ");
            assert!(
                words.contains("--urgency=urgent|normal urgent: start at once"),
                "{command} --help says: {help}"
            );
        }
        let held = |options: &[&str], script| cluster.sbatch(&[&["--hold"], options].concat(), script);
        assert_class(
            cluster,
            held(&["--urgency=urgent"], "true")?,
            "urgent",
            "urgency=urgent",
        )?;
        assert_class(
            cluster,
            held(&["--urgency=normal"], "true")?,
            "normal",
            "urgency=normal",
        )?;
        assert_class(
            cluster,
            held(&[], "#SBATCH --urgency=urgent\ntrue")?,
            "urgent",
            "urgency=urgent",
        )?;
        let overridden = held(&["--urgency=normal"], "#SBATCH --urgency=urgent\ntrue")?;
        assert_class(cluster, overridden, "normal", "urgency=normal")?;
        let json = held(&["--urgency=urgent", r#"--comment={"epochs": 9}"#], "true")?;
        assert_class(cluster, json, "urgent", r#"{"epochs": 9,"urgency":"urgent"}"#)?;
        let twice = held(&["--urgency=urgent", "--comment=Urgent"], "true")?;
        assert_class(cluster, twice, "urgent", "Urgent")?;
        let array = held(&["--urgency=urgent", "--array=1-3"], "true")?;
        assert_class(cluster, array, "urgent", "urgency=urgent")?;

        for command in ["srun", "salloc"] {
            let run = ["--urgency=urgent", "-n1", "sh", "-c"];
            let ask = "squeue -h -j $SLURM_JOB_ID -o %k";
            let answer = cluster.ask(command, &[&run[..], &[ask]].concat())?;
            assert_eq!(answer.trim(), "urgency=urgent", "{command}");
        }
        cluster.controller_is_well()
    })
}

#[test]
fn each_component_of_a_heterogeneous_job_has_its_own() -> Outcome {
    on_cluster(quick(), |cluster| {
        let both = cluster.sbatch(
            &[
                "--hold",
                "--urgency=urgent",
                "-n1",
                ":",
                "--urgency=urgent",
                "-n1",
            ],
            "true",
        )?;
        assert_class(cluster, both, "urgent", "urgency=urgent")?;
        assert_class(cluster, JobId(both.0 + 1), "urgent", "urgency=urgent")?;
        // Slurm itself hands it on to the components behind the one that has it.
        let first = cluster.sbatch(&["--hold", "--urgency=urgent", "-n1", ":", "-n1"], "true")?;
        assert_class(cluster, JobId(first.0 + 1), "urgent", "urgency=urgent")?;
        let mixed = [
            "--hold",
            "--urgency=urgent",
            "-n1",
            ":",
            "--urgency=normal",
            "-n1",
        ];
        let mixed = cluster.sbatch(&mixed, "true")?;
        assert_class(cluster, mixed, "urgent", "urgency=urgent")?;
        assert_class(cluster, JobId(mixed.0 + 1), "normal", "urgency=normal")?;
        Ok(())
    })
}

#[test]
fn what_cannot_be_meant_is_refused_by_the_command_or_by_slurmctld() -> Outcome {
    on_cluster(quick(), |cluster| {
        for command in ["sbatch", "srun", "salloc"] {
            let said = refusal(
                cluster
                    .command(command)
                    .args(["--urgency=urgnt", "--wrap", "true"]),
            );
            assert!(
                said.contains("--urgency=urgnt is not known; write --urgency=urgent or --urgency=normal"),
                "{command}: {said}"
            );
        }
        let said = sbatch_refusal(cluster.sbatch(&["--urgency=normal", "--comment=urgent"], "true"));
        assert!(
            said.contains(
                "surgent: --urgency=normal and the comment, which says urgency=urgent, contradict each other"
            ),
            "{said}"
        );
        let long = format!("--comment={}", "x".repeat(1020));
        let said = sbatch_refusal(cluster.sbatch(&["--urgency=urgent", &long], "true"));
        assert!(said.contains("shorten its other text"), "{said}");
        assert_eq!(cluster.ask("squeue", &["-h"])?, "", "nothing was submitted");
        cluster.controller_is_well()
    })
}

#[test]
fn a_user_changes_the_class_by_the_comment() -> Outcome {
    on_cluster(quick(), |cluster| {
        let job = cluster.sbatch(&["--hold", "--urgency=urgent"], "true")?;
        let update = ["update", &format!("JobId={job}"), "Comment=urgency=normal"];
        cluster.ask("scontrol", &update)?;
        cluster.wait_for("the job to be normal", LIMIT, |cluster| {
            Ok(class(cluster, job)? == ("normal".to_owned(), "urgency=normal".to_owned()))
        })
    })
}

#[test]
fn without_the_plugin_the_comment_does_it() -> Outcome {
    on_cluster(quick(), |cluster| {
        only_plugin(cluster, "no_such_plugin.so")?;
        let unknown = sbatch_refusal(cluster.sbatch(&["--urgency=urgent"], "true"));
        assert!(unknown.contains("unrecognized option"), "{unknown}");
        let job = cluster.sbatch(
            &["--comment=urgency=urgent", "-Jstep"],
            "srun hostname && echo ran",
        )?;
        assert_class(cluster, job, "urgent", "urgency=urgent")?;
        cluster.wait_for_output("step", "ran", LIMIT)?;
        cluster.controller_is_well()
    })
}

#[test]
fn a_forged_option_is_judged_by_slurmctld() -> Outcome {
    on_cluster(quick(), |cluster| {
        only_plugin(cluster, &forger(cluster)?)?;
        let sbatch = |value: &str, comment: &str| {
            let mut command = cluster.command("sbatch");
            command.env("FORGED", value);
            command.args(["--parsable", "--hold", "--comment", comment, "--wrap", "true"]);
            command
        };
        for (value, comment, sentence) in [
            ("rubbish", "", r#"surgent: --urgency="rubbish" is not known"#),
            ("", "urgent", r#"surgent: --urgency="" is not known"#),
            ("urgent\n", "", r#"surgent: --urgency="urgent\n" is not known"#),
            ("normal", "urgent", "surgent: --urgency=normal and the comment"),
        ] {
            let said = refusal(&mut sbatch(value, comment));
            assert!(said.contains(sentence), "{said}");
        }
        let long = "urgent".repeat(10_000);
        let said = refusal(&mut sbatch(&long, ""));
        assert!(said.contains("is not known") && said.len() < 1000, "{said}");
        let answer = finish(&mut sbatch("urgent", ""), "sbatch")?;
        let job = JobId(answer.trim().parse().map_err(|_| answer)?);
        assert_class(cluster, job, "urgent", "urgency=urgent")?;
        cluster.controller_is_well()
    })
}
