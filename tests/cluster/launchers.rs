// SPDX-License-Identifier: GPL-2.0-or-later
//! `surgent run` where people put it: in every rank of a step, around srun and torchrun, in tasks of an array, and in a
//! container that has none of Slurm's commands.

use crate::on_cluster;
use crate::programs::Python;
use crate::scene::quick;
use crate::support::{Cluster, LIMIT, Outcome, places};
use std::fs;

/// Jobs that hold two CPUs on each of their nodes, so that several fit on one.
struct Shape {
    /// What the story of a job's ranks is called in the batch script, and what that comes to for each job.
    story: &'static str,
    stories: &'static [&'static str],
    ranks: u32,
    sbatch: &'static [&'static str],
    /// The line of the batch script, with `SURGENT`, `PYTHON` and `RANK` for the programs and the ranks' script.
    line: &'static str,
    /// How a rank is asked to save.
    by: &'static str,
}

const SHAPES: [Shape; 4] = [
    Shape {
        story: "in-srun",
        stories: &["in-srun"],
        ranks: 4,
        sbatch: &["--nodes=2", "--ntasks-per-node=2"],
        line: "srun SURGENT run -- PYTHON RANK",
        by: "module",
    },
    Shape {
        story: "around-srun",
        stories: &["around-srun"],
        ranks: 4,
        sbatch: &["--nodes=2", "--ntasks-per-node=2"],
        line: "SURGENT run --save-signal USR1 -- srun PYTHON RANK",
        by: "signal",
    },
    TORCHRUN,
    Shape {
        story: "array-$SLURM_ARRAY_TASK_ID",
        stories: &["array-3", "array-7"],
        ranks: 1,
        sbatch: &["--cpus-per-task=2", "--array=3,7"],
        line: "SURGENT run -- PYTHON RANK",
        by: "module",
    },
];

/// Around `tests/support/torchrun.py`.
const TORCHRUN: Shape = Shape {
    story: "torchrun",
    stories: &["torchrun"],
    ranks: 2,
    sbatch: &["--cpus-per-task=2"],
    line: "SURGENT run --save-signal USR1 -- PYTHON torchrun RANK",
    by: "signal",
};

/// Around torch's own.
const REAL_TORCHRUN: Shape = Shape {
    line: "SURGENT run --save-signal USR1 -- PYTHON -m torch.distributed.run --standalone --nproc-per-node=2 RANK",
    ..TORCHRUN
};

#[test]
fn ranks_are_asked_and_go_on_wherever_surgent_run_stands() -> Outcome {
    are_asked_and_go_on(&SHAPES, Python::System)
}

#[test]
#[ignore = "needs torch: make check-frameworks"]
fn ranks_of_torchrun_are_asked_by_a_signal_and_go_on() -> Outcome {
    are_asked_and_go_on(&[REAL_TORCHRUN], Python::Torch)
}

/// Jobs of all these shapes make way for one urgent job, and end.
fn are_asked_and_go_on(shapes: &[Shape], python: Python) -> Outcome {
    let Some(python) = python.find() else {
        return Ok(());
    };
    on_cluster(quick(), |cluster| {
        let torchrun = cluster.work().join("torchrun");
        fs::write(&torchrun, include_str!("../support/torchrun.py"))
            .map_err(|error| format!("{}: {error}", torchrun.display()))?;
        let mut stories = Vec::new();
        for shape in shapes {
            let arguments = format!("{} {} held", shape.story, shape.by);
            cluster.sbatch(shape.sbatch, &script(shape.line, &python, &arguments)?)?;
            stories.extend(shape.stories.iter().map(|name| (*name, shape.ranks)));
        }
        cluster.wait_for("all ranks to train", LIMIT, |cluster| {
            let started = |(name, ranks): &(&str, u32)| told(cluster, name, "started at 0") == *ranks;
            Ok(stories.iter().all(started))
        })?;
        cluster.wait_for("all jobs to say how they are asked", LIMIT, |cluster| {
            let comments = cluster.ask("squeue", &["-h", "-o", "%k"])?;
            Ok(comments.lines().count() == stories.len()
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
    let Some(python) = Python::System.find() else {
        return Ok(());
    };
    on_cluster(quick(), |cluster| {
        let line = "mkdir nothing; exec env PATH=$PWD/nothing SURGENT run -- PYTHON RANK";
        let script = script(line, &python, "contained module")?;
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

/// A batch script with this line, in which the ranks' script has these arguments.
fn script(line: &str, python: &str, arguments: &str) -> Outcome<String> {
    let module = places::python_package().join("src");
    let surgent = format!("'{}'", places::surgent()?.display());
    let rank = format!(
        "'{}/tests/cluster/rank.py' {arguments}",
        env!("CARGO_MANIFEST_DIR")
    );
    let line = line
        .replace("SURGENT", &surgent)
        .replace("PYTHON", python)
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
