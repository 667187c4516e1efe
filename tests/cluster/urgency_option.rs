// SPDX-License-Identifier: GPL-2.0-or-later
//! `--urgency`, which spank_surgent.so gives to sbatch, srun and salloc.

use crate::on_cluster;
use crate::scene::{assert_all_finish_whole, four, quick, wait_for_requests};
use crate::support::{Cluster, Failure, JobId, LIMIT, Outcome, finish};
use std::fs;
use std::process::Command;

/// How Slurm hands the option on.
const VARIABLE: &str = "SLURM_SPANK__SLURM_SPANK_OPTION_surgent_urgency";

/// From then on no command, and no node, has the option.
fn take_plugin_away(cluster: &Cluster) -> Outcome {
    let written = fs::write(
        cluster.folder().join("plugstack.conf"),
        "optional no_such_plugin.so\n",
    );
    written.map_err(|error| format!("plugstack.conf: {error}").into())
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
    let record = cluster.job(job)?.get("AdminComment").to_owned();
    let class = record
        .strip_prefix("surgent{class=")
        .and_then(|rest| rest.split([' ', '}']).next());
    Ok((class.unwrap_or("none").to_owned(), cluster.comment(job)?))
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
            assert_class(cluster, child, "none", "(null)")?;
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
                words.contains("--urgency=urgent|normal urgent: start at once")
                    && words.contains("[surgent]"),
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
            let ask = format!("squeue -h -j $SLURM_JOB_ID -o %k");
            let answer = cluster.ask(command, &[&run[..], &[&ask]].concat())?;
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
        let first = cluster.sbatch(&["--hold", "--urgency=urgent", "-n1", ":", "-n1"], "true")?;
        assert_class(cluster, first, "urgent", "urgency=urgent")?;
        crate::tell(&format!("second: {:?}", class(cluster, JobId(first.0 + 1))?));
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
fn without_the_plugin_the_comment_does_it_and_nothing_unchecked_passes() -> Outcome {
    on_cluster(quick(), |cluster| {
        take_plugin_away(cluster)?;
        let unknown = sbatch_refusal(cluster.sbatch(&["--urgency=urgent"], "true"));
        assert!(unknown.contains("unrecognized option"), "{unknown}");
        let job = cluster.sbatch(
            &["--comment=urgency=urgent", "-Jstep"],
            "srun hostname && echo ran",
        )?;
        assert_class(cluster, job, "urgent", "urgency=urgent")?;
        cluster.wait_for_output("step", "ran", LIMIT)?;

        // srun passes on whatever its environment says.
        let srun = |value: &str| {
            let mut command = cluster.command("srun");
            command
                .env(VARIABLE, value)
                .args(["-n1", "sh", "-c", "squeue -h -j $SLURM_JOB_ID -o %k"]);
            command
        };
        let said = refusal(&mut srun("rubbish"));
        assert!(
            said.contains(r#"surgent: --urgency="rubbish" is not known"#),
            "{said}"
        );
        let said = refusal(&mut srun("urgent\n"));
        assert!(
            said.contains(r#"surgent: --urgency="urgent\n" is not known"#),
            "{said}"
        );
        let answer = finish(&mut srun("urgent"), "srun").map_err(Failure::from)?;
        assert_eq!(answer.trim(), "urgency=urgent");
        cluster.controller_is_well()
    })
}
