// SPDX-License-Identifier: GPL-2.0-or-later
//! Real training programs that use the Python module, in NumPy and in the frameworks: preempted in the middle of an epoch
//! and compared with an undisturbed run. What they lost is printed.

use crate::scene::quick;
use crate::support::{Cluster, JobId, LIMIT, Outcome, Steps, places};
use crate::{on_cluster, tell};
use std::path::PathBuf;

/// As in `pace.py`.
const EPOCHS: u32 = 4;
const BATCHES: u32 = 10;
const ASKED_AFTER: u32 = BATCHES + BATCHES / 2;

const HELD_AFTER: u32 = ASKED_AFTER + 2 * BATCHES;

/// A program of `packaging/python/tests/frameworks`.
struct Program {
    file: &'static str,
    options: &'static str,
    /// Options of python3 before the file.
    launcher: &'static str,
    python: Python,
    /// Whether it goes on with the very step behind its save; Keras begins the epoch again.
    is_exact: bool,
}

/// Who runs it.
#[derive(Clone, Copy)]
pub enum Python {
    /// Debian's own, with NumPy, which `packaging/setup` installs.
    System,
    /// What `make` installs into `target/keras` where it can.
    Keras,
    /// What `make check-frameworks` has installed, or $SURGENT_PYTHON.
    Torch,
}

const NUMPY: Program = Program {
    file: "train_numpy.py",
    options: "",
    launcher: "",
    python: Python::System,
    is_exact: true,
};

const KERAS: Program = Program {
    file: "train_keras.py",
    options: "",
    launcher: "",
    python: Python::Keras,
    is_exact: false,
};

const LIGHTNING: Program = Program {
    file: "train_lightning.py",
    options: "--package lightning.pytorch",
    launcher: "",
    python: Python::Torch,
    is_exact: true,
};

const PYTORCH_LIGHTNING: Program = Program {
    options: "--package pytorch_lightning",
    ..LIGHTNING
};

const TRANSFORMERS: Program = Program {
    file: "train_transformers.py",
    options: "",
    launcher: "",
    python: Python::Torch,
    is_exact: true,
};

const TORCHRUN: Program = Program {
    file: "train_ranks.py",
    options: "",
    launcher: "-m torch.distributed.run --standalone --nproc-per-node=2",
    python: Python::Torch,
    is_exact: true,
};

#[test]
fn a_numpy_loop_goes_on_from_its_save() -> Outcome {
    is_preempted_and_goes_on(&NUMPY)
}

#[test]
fn keras_goes_on_from_its_save() -> Outcome {
    is_preempted_and_goes_on(&KERAS)
}

#[test]
#[ignore = "needs Lightning: make check-frameworks"]
fn lightning_goes_on_from_its_save() -> Outcome {
    is_preempted_and_goes_on(&LIGHTNING)
}

#[test]
#[ignore = "needs Lightning: make check-frameworks"]
fn pytorch_lightning_goes_on_from_its_save() -> Outcome {
    is_preempted_and_goes_on(&PYTORCH_LIGHTNING)
}

#[test]
#[ignore = "needs Transformers: make check-frameworks"]
fn transformers_goes_on_from_its_save() -> Outcome {
    is_preempted_and_goes_on(&TRANSFORMERS)
}

#[test]
#[ignore = "needs torch: make check-frameworks"]
fn ranks_of_torchrun_go_on_from_the_same_step() -> Outcome {
    is_preempted_and_goes_on(&TORCHRUN)
}

/// Three jobs run the program: one stops after the save it is asked for, one trains on after it until Slurm stops it, and
/// one is never disturbed. All of them have to come to the same end.
fn is_preempted_and_goes_on(program: &Program) -> Outcome {
    let Some(python) = program.python.find() else {
        return Ok(());
    };
    on_cluster(quick(), |cluster| {
        let submit = |name: &str, options: &str, sbatch: &[&str]| {
            let script = program.script(cluster, &python, name, options)?;
            let arguments = [&["--exclusive", "--gres=gpu:4", "--job-name", name], sbatch].concat();
            cluster.sbatch(&arguments, &script)
        };
        let asked = [
            (
                "stops",
                submit("stops", "--asked --stop-after-save", &["--nodelist=n1"])?,
            ),
            ("goes-on", submit("goes-on", "--asked", &["--nodelist=n2"])?),
        ];
        let undisturbed = submit("undisturbed", "", &["--nodelist=n3", "--no-requeue"])?;
        for (name, job) in asked {
            wait_until_it_waits(cluster, name, job)?;
        }
        let arguments = [
            "--comment=urgency=urgent",
            "--exclusive",
            "--nodelist=n1,n2",
            "--job-name=urgent",
        ];
        let urgent = cluster.sbatch(&arguments, "echo urgent")?;
        for job in [urgent, undisturbed, asked[0].1, asked[1].1] {
            cluster.wait_for_state(job, "COMPLETED", 2 * LIMIT)?;
        }
        let whole = end_of(cluster, "undisturbed", undisturbed, 0)?;
        assert_eq!(cluster.steps("undisturbed").lost(), 0);
        for (name, job) in asked {
            let end = end_of(cluster, name, job, 1)?;
            let steps = cluster.steps(name);
            program.report(cluster, name, job, &steps)?;
            program.assert_went_on(name, &steps);
            assert_eq!(end.epochs, whole.epochs, "{name}");
            if program.is_exact {
                assert_eq!(end.weights, whole.weights, "{name}");
            }
        }
        Ok(())
    })
}

impl Program {
    /// The batch script of a training named `name`.
    fn script(&self, cluster: &Cluster, python: &str, name: &str, options: &str) -> Outcome<String> {
        let package = places::python_package();
        let file = package.join("tests/frameworks").join(self.file);
        // One thread each: three of these share the machine with a whole cluster.
        Ok(format!(
            "export PYTHONPATH='{module}' PYTHONDONTWRITEBYTECODE=1 OPENBLAS_NUM_THREADS=1 OMP_NUM_THREADS=1\n\
             export KERAS_HOME='{work}' HF_HOME='{work}' HF_HUB_OFFLINE=1\n\
             '{surgent}' run -- '{python}' {launcher} '{file}' {name} {options} {own}",
            module = package.join("src").display(),
            work = cluster.work().display(),
            surgent = places::surgent()?.display(),
            launcher = self.launcher,
            file = file.display(),
            own = self.options,
        ))
    }

    /// Prints what was lost.
    fn report(&self, cluster: &Cluster, name: &str, job: JobId, steps: &Steps) -> Outcome {
        let comment = cluster.comment(job)?;
        let save_s = directive(&comment, "save_s").ok_or_else(|| format!("no save_s in {comment:?}"))?;
        let output = cluster.output(name);
        let versions = output.lines().find_map(|line| line.strip_prefix("versions "));
        tell(&format!(
            "{file} {own} ({versions}), {name}: of {all} steps {lost} lost, {repeated} done again; the save took {save_s} s",
            file = self.file,
            own = self.options,
            versions = versions.unwrap_or("versions unknown"),
            all = EPOCHS * BATCHES,
            lost = steps.lost(),
            repeated = steps.repeated(),
        ));
        Ok(())
    }

    /// The second run began with the model of the save, made in the middle of an epoch.
    fn assert_went_on(&self, name: &str, steps: &Steps) {
        let resumed = steps.first("resumed", 1).map(|event| event.step);
        assert_eq!(resumed, Some(ASKED_AFTER), "{name} has another model");
        assert!(steps.complete(), "{name} left steps out");
        // What it did after its save: nothing, or no more than until it is held.
        let last = steps.of("step").filter(|event| event.run == 0).last();
        let after_save = last.map_or(0, |event| event.step) - ASKED_AFTER;
        assert_eq!(steps.lost(), after_save as usize, "{name}");
        let most = if name == "stops" {
            0
        } else {
            HELD_AFTER - ASKED_AFTER
        };
        assert!(after_save <= most, "{name} has lost {after_save} steps");
        let again = match self.is_exact {
            true => 0,
            false => (ASKED_AFTER % BATCHES) as usize,
        };
        assert_eq!(steps.repeated(), steps.lost() + again, "{name}");
    }
}

impl Python {
    /// The path of one that has what is needed; `None`, with a line that says so, if nobody has installed it.
    pub fn find(self) -> Option<String> {
        let (found, target) = match self {
            Self::System => return Some("/usr/bin/python3".to_owned()),
            Self::Keras => (places::installed_python("keras"), "keras"),
            Self::Torch => {
                let own = std::env::var_os("SURGENT_PYTHON").filter(|path| !path.is_empty());
                let found = own.map(PathBuf::from);
                (
                    found.or_else(|| places::installed_python("torch")),
                    "check-frameworks",
                )
            }
        };
        if found.is_none() {
            tell(&format!(
                "skipped, for its frameworks are not installed: `make {target}` does it, with a network"
            ));
        }
        found.map(|path| path.display().to_string())
    }
}

/// Waits until the training waits to be asked, and Slurm knows how.
fn wait_until_it_waits(cluster: &Cluster, name: &str, job: JobId) -> Outcome {
    cluster
        .wait_for(
            &format!("{name} to be in the middle of an epoch"),
            2 * LIMIT,
            |cluster| Ok(cluster.steps(name).first("waiting", 0).is_some()),
        )
        .map_err(|failure| format!("{failure}\nThe output of {name}:\n{}", cluster.output(name)))?;
    cluster.wait_for(&format!("{name} to say how it is asked"), LIMIT, |cluster| {
        Ok(cluster.comment(job)?.contains("signal="))
    })
}

/// What a training has come to.
struct End {
    /// The epochs that it completed, by its own count.
    epochs: Vec<u32>,
    weights: Option<String>,
}

/// The end of a training, which it reached once and after so many restarts.
fn end_of(cluster: &Cluster, name: &str, job: JobId, restarts: u32) -> Outcome<End> {
    let steps = cluster.steps(name);
    let finished: Vec<_> = steps.of("finished").map(|event| event.run).collect();
    assert_eq!(finished, [restarts], "{name}: {}", cluster.output(name));
    assert_eq!(cluster.job(job)?.restarts(), restarts, "{name}");
    let comment = cluster.comment(job)?;
    for key in ["epoch", "epochs"] {
        assert_eq!(
            directive(&comment, key),
            Some(&*EPOCHS.to_string()),
            "{name}: {comment}"
        );
    }
    assert_eq!(directive(&comment, "saved").is_some(), restarts > 0, "{comment}");
    // An epoch that was begun before the save and ended after it may have been ended in both runs.
    let mut epochs: Vec<_> = steps.of("epoch").map(|event| event.step).collect();
    epochs.sort_unstable();
    epochs.dedup();
    let weights = cluster.weights(name);
    assert!(weights.is_some(), "{name} has no weights");
    Ok(End { epochs, weights })
}

fn directive<'a>(comment: &'a str, key: &str) -> Option<&'a str> {
    comment
        .split(' ')
        .find_map(|word| word.strip_prefix(key)?.strip_prefix('='))
}
