// SPDX-License-Identifier: GPL-2.0-or-later
//! `surgent run` where people put it: in every rank of a step, around srun and torchrun, in tasks of an array, and in a
//! container that has none of Slurm's commands.

use crate::on_cluster;
use crate::scene::quick;
use crate::support::{Cluster, LIMIT, Outcome, places};
use std::fs;

/// Jobs that hold two CPUs on each of their nodes, so that several fit on one.
struct Shape {
    /// The job's name, and what the story of its ranks is called after.
    name: &'static str,
    ranks: u32,
    sbatch: &'static [&'static str],
    /// The line of the batch script, with `SURGENT`, `PYTHON` and `RANK` for the programs and the ranks' script.
    line: &'static str,
    /// How a rank is asked to save.
    by: &'static str,
}

const SHAPES: [Shape; 4] = [
    Shape {
        name: "in-srun",
        ranks: 4,
        sbatch: &["--nodes=2", "--ntasks-per-node=2"],
        line: "srun SURGENT run -- PYTHON RANK",
        by: "module",
    },
    Shape {
        name: "around-srun",
        ranks: 4,
        sbatch: &["--nodes=2", "--ntasks-per-node=2"],
        line: "SURGENT run --save-signal USR1 -- srun PYTHON RANK",
        by: "signal",
    },
    Shape {
        name: "torchrun",
        ranks: 2,
        sbatch: &["--cpus-per-task=2"],
        line: "SURGENT run --save-signal USR1 -- PYTHON torchrun RANK",
        by: "signal",
    },
    Shape {
        name: "array",
        ranks: 1,
        sbatch: &["--cpus-per-task=2", "--array=3,7"],
        line: "SURGENT run -- PYTHON RANK",
        by: "module",
    },
];

#[test]
fn ranks_are_asked_and_go_on_wherever_surgent_run_stands() -> Outcome {
    on_cluster(quick(), |cluster| {
        let torchrun = cluster.work().join("torchrun");
        fs::write(&torchrun, include_str!("../support/torchrun.py"))
            .map_err(|error| format!("{}: {error}", torchrun.display()))?;
        let mut stories = Vec::new();
        for shape in &SHAPES {
            let is_array = shape.name == "array";
            let story = if is_array {
                "array-$SLURM_ARRAY_TASK_ID"
            } else {
                shape.name
            };
            let arguments = [shape.sbatch, &["--job-name", shape.name]].concat();
            cluster.sbatch(&arguments, &script(shape.line, story, shape.by, "held")?)?;
            match is_array {
                true => stories.extend([("array-3", 1), ("array-7", 1)]),
                false => stories.push((shape.name, shape.ranks)),
            }
        }
        cluster.wait_for("all ranks to train", LIMIT, |cluster| {
            let started = |(name, ranks): &(&str, u32)| told(cluster, name, "started at 0") == *ranks;
            Ok(stories.iter().all(started))
        })?;
        cluster.wait_for("all jobs to say how they are asked", LIMIT, |cluster| {
            let comments = cluster.ask("squeue", &["-h", "-o", "%k"])?;
            Ok(comments.lines().count() == 5
                && comments
                    .lines()
                    .all(|comment| comment.contains("signal=") && comment.contains("save=step")))
        })?;
        let urgent = [
            "--nodes=4",
            "--exclusive",
            "--comment=urgency=urgent",
            "-J",
            "urgent",
        ];
        let urgent = cluster.sbatch(&urgent, "echo urgent")?;
        cluster.wait_for_state(urgent, "COMPLETED", 2 * LIMIT)?;
        cluster.wait_for("all jobs to end", 2 * LIMIT, |cluster| {
            Ok(cluster.ask("squeue", &["-h"])?.is_empty())
        })?;
        let states = cluster.ask("squeue", &["-h", "-t", "all", "-o", "%T"])?;
        assert!(states.lines().all(|state| state == "COMPLETED"), "{states}");
        for (name, ranks) in stories {
            let story = story(cluster, name);
            for rank in 0..ranks {
                let count = |event: String| story.lines().filter(|line| line.starts_with(&event)).count();
                let events = [
                    format!("0 {rank} started at 0 of {ranks} ranks"),
                    format!("0 {rank} saved"),
                    format!("1 {rank} started at "),
                    format!("1 {rank} ended"),
                ];
                assert_eq!(events.map(count), [1; 4], "{name}, rank {rank}:\n{story}");
            }
            assert_eq!(told(cluster, name, "started at 0"), ranks, "{name}:\n{story}");
            assert_eq!(story.lines().count(), 4 * ranks as usize, "{name}:\n{story}");
        }
        Ok(())
    })
}

#[test]
fn without_slurms_commands_the_training_goes_on_and_that_is_said_once() -> Outcome {
    on_cluster(quick(), |cluster| {
        let line = "mkdir nothing; exec env PATH=$PWD/nothing SURGENT run -- PYTHON RANK";
        let script = script(line, "contained", "module", "")?;
        let job = cluster.sbatch(&["--job-name=contained", "--comment=my own words"], &script)?;
        cluster.wait_for_state(job, "COMPLETED", LIMIT)?;
        let output = cluster.output("contained");
        assert_eq!(output.matches("could not be updated").count(), 1, "{output}");
        assert_eq!(output.lines().count(), 1, "{output}");
        assert_eq!(cluster.comment(job)?, "my own words");
        assert_eq!(told(cluster, "contained", "ended"), 1);
        Ok(())
    })
}

/// A batch script with this line.
fn script(line: &str, story: &str, by: &str, held: &str) -> Outcome<String> {
    let module = places::python_package().join("src");
    let surgent = format!("'{}'", places::surgent()?.display());
    let rank = format!(
        "'{}/tests/cluster/rank.py' {story} {by} {held}",
        env!("CARGO_MANIFEST_DIR")
    );
    let line = line
        .replace("SURGENT", &surgent)
        .replace("PYTHON", "/usr/bin/python3")
        .replace("RANK", &rank);
    Ok(format!(
        "export PYTHONPATH='{}' PYTHONDONTWRITEBYTECODE=1\n{line}",
        module.display()
    ))
}

/// What the ranks of a job have told.
fn story(cluster: &Cluster, name: &str) -> String {
    fs::read_to_string(cluster.work().join(format!("{name}.story"))).unwrap_or_default()
}

/// How many ranks have told that.
fn told(cluster: &Cluster, name: &str, what: &str) -> u32 {
    let lines = story(cluster, name);
    lines.lines().filter(|line| line.contains(what)).count() as u32
}
