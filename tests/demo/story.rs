// SPDX-License-Identifier: GPL-2.0-or-later
//! The story of the demo, step by step. Each step must be seen from outside before the next is told.

use crate::narrator::Narrator;
use crate::support::{Cluster, JobId, LIMIT, Outcome, Training};
use crate::table::{self, Loss};
use std::sync::Arc;
use std::sync::atomic::AtomicBool;

const SURGENT_TOML: &str =
    "mode = \"on\"\n[victims]\nmin_runtime_s = 5\nnearly_done_s = 5\nsave_deadline_s = 30\nrestart_s = 10\n";
const URGENT_SCRIPT: &str = "srun --ntasks-per-node=1 sh -c 'echo urgent work on $SLURMD_NODENAME'; sleep 8";

/// One of the four jobs.
pub struct Trainee {
    pub name: &'static str,
    pub id: JobId,
}

/// Tells all of it; fails with a sentence about the first step that was not seen.
pub fn tell(interrupted: Arc<AtomicBool>) -> Outcome {
    let narrator = Narrator::new();
    narrator.chapter("A Slurm cluster of four nodes, each with 8 CPUs and 4 GPUs");
    let cluster = Cluster::builder()
        .toml(SURGENT_TOML)
        .interrupted_by(interrupted)
        .start()?;
    narrator.tell(
        "demo",
        &format!(
            "munge, slurmctld and four slurmd run in {}",
            cluster.folder().display()
        ),
    );
    Story { narrator, cluster }.tell()
}

struct Story {
    narrator: Narrator,
    cluster: Cluster,
}

impl Story {
    fn tell(&self) -> Outcome {
        let trainees = self.fill()?;
        let urgent = self.submit_urgent()?;
        let victims = self.see_requests(&trainees, urgent)?;
        // What Slurm's own choice would cost is counted at the moment of the decision.
        let youngest = table::youngest_first(&self.cluster, &trainees, victims.len())?;
        self.see_saves(&victims)?;
        self.see_urgent_run(&victims, urgent)?;
        self.see_resumption(&victims)?;
        self.see_end(&trainees)?;
        let losses: Vec<Loss> = victims
            .iter()
            .map(|victim| Loss::of(&self.cluster, victim.name))
            .collect();
        table::print(&self.cluster, urgent, &losses, &youngest)
    }

    /// Four trainings, one on each node, until each has shown how fast it is.
    fn fill(&self) -> Outcome<Vec<Trainee>> {
        self.narrator
            .chapter("Four training jobs (digits, NumPy) fill it");
        // Each tells in its comment what train.py is told as well: when it can save, and how long that takes.
        let training = |name: &str, comment: &str, option: &str| {
            Training::new(name)
                .lasting(14, 0.1)
                .option(option)
                .sbatch(&format!("--comment={comment}"))
        };
        let trainings = [
            (
                "digits-a",
                training("digits-a", "save=step save_s=1", "--save-s=1"),
            ),
            (
                "digits-b",
                training("digits-b", "save=step save_s=2", "--save-s=2"),
            ),
            (
                "digits-c",
                training("digits-c", "save=step save_s=6", "--save-s=6"),
            ),
            (
                "digits-d",
                training("digits-d", "save=epoch save_s=1", "--save-at=epoch").lasting(4, 0.5),
            ),
        ];
        let mut trainees = Vec::new();
        for (name, training) in trainings {
            let id = training.submit(&self.cluster)?;
            self.narrator
                .tell("sbatch", &format!("job {id}: {name}, {}", training.comment()));
            // One after the other, so that the order of their starts is known.
            self.see(&format!("job {id} to start"), || {
                Ok(self.cluster.job(id)?.state() == "RUNNING")
            })?;
            trainees.push(Trainee { name, id });
        }
        for trainee in &trainees {
            let node = self.cluster.job(trainee.id)?.get("NodeList").to_owned();
            self.see_output(trainee.name, "epoch 1/")?;
            self.narrator.tell(
                trainee.name,
                &format!("on {node}: {}", self.last_output(trainee.name, "epoch ")),
            );
        }
        Ok(trainees)
    }

    fn submit_urgent(&self) -> Outcome<JobId> {
        self.narrator.chapter("An urgent job that needs two whole nodes");
        let arguments = [
            "--comment=urgency=urgent",
            "--nodes=2",
            "--exclusive",
            "--gres=gpu:4",
            "--job-name=urgent",
        ];
        let urgent = self.cluster.sbatch(&arguments, URGENT_SCRIPT)?;
        self.narrator.tell(
            "sbatch",
            &format!("job {urgent}: sbatch {}", arguments[..4].join(" ")),
        );
        self.see("the urgent class in AdminComment", || {
            Ok(self
                .cluster
                .job(urgent)?
                .get("AdminComment")
                .starts_with("surgent{class=urgent"))
        })?;
        let job = self.cluster.job(urgent)?;
        self.narrator.tell(
            "scontrol",
            &format!("{}, AdminComment={}", job.state(), job.get("AdminComment").trim()),
        );
        Ok(urgent)
    }

    /// The plan in the log, and the same jobs asked to save as scontrol shows it.
    fn see_requests<'a>(&self, trainees: &'a [Trainee], urgent: JobId) -> Outcome<Vec<&'a Trainee>> {
        self.narrator.chapter("The plan: whom to stop, and why");
        let plan = format!("surgent: plan for job {urgent}: stop job");
        self.see("the plan in slurmctld.log", || {
            Ok(self.cluster.logged(&[&plan]).is_some())
        })?;
        let planned = self
            .cluster
            .logged(&[&plan])
            .map(|line| planned_jobs(&line.text))
            .unwrap_or_default();
        let victims: Vec<&Trainee> = trainees
            .iter()
            .filter(|trainee| planned.contains(&trainee.id))
            .collect();
        if victims.len() != planned.len() || victims.is_empty() {
            return Err(
                format!("the plan names jobs {planned:?}, which are not all among the trainings").into(),
            );
        }
        self.narrator.chapter("The request to save");
        let ask = format!("ask={urgent}");
        for victim in &victims {
            self.see(&format!("the request to job {}", victim.id), || {
                Ok(self
                    .cluster
                    .job(victim.id)?
                    .get("AdminComment")
                    .split([' ', '{', '}'])
                    .any(|word| word == ask))
            })?;
            let job = self.cluster.job(victim.id)?;
            self.narrator.tell(
                "scontrol",
                &format!(
                    "job {}: AdminComment={}",
                    victim.id,
                    job.get("AdminComment").trim()
                ),
            );
        }
        Ok(victims)
    }

    fn see_saves(&self, victims: &[&Trainee]) -> Outcome {
        self.narrator.chapter("The saves");
        for victim in victims {
            self.see_output(victim.name, "saved at step")?;
            self.narrator
                .tell(victim.name, &self.last_output(victim.name, "saved at step"));
            self.see(&format!("saved= in the comment of job {}", victim.id), || {
                Ok(self.cluster.comment(victim.id)?.contains("saved="))
            })?;
            self.narrator.tell(
                "squeue",
                &format!("job {}: comment {}", victim.id, self.cluster.comment(victim.id)?),
            );
        }
        Ok(())
    }

    fn see_urgent_run(&self, victims: &[&Trainee], urgent: JobId) -> Outcome {
        self.narrator.chapter("The requeue, and the urgent job's run");
        self.see("the urgent job to run", || {
            Ok(self.cluster.job(urgent)?.state() == "RUNNING")
        })?;
        self.narrator.tell(
            "squeue",
            &format!(
                "job {urgent} runs on {}",
                self.cluster.job(urgent)?.get("NodeList")
            ),
        );
        for victim in victims {
            self.see(&format!("job {} to be requeued", victim.id), || {
                Ok(self.cluster.job(victim.id)?.restarts() == 1)
            })?;
            let job = self.cluster.job(victim.id)?;
            self.narrator.tell(
                "squeue",
                &format!(
                    "job {} is {}, Restarts={}",
                    victim.id,
                    job.state(),
                    job.restarts()
                ),
            );
        }
        self.see("the urgent job to end", || {
            Ok(self.cluster.job(urgent)?.state() == "COMPLETED")
        })?;
        for line in self.cluster.output("urgent").lines() {
            self.narrator.tell("urgent", line);
        }
        self.narrator
            .tell("scontrol", &format!("job {urgent} is COMPLETED"));
        Ok(())
    }

    fn see_resumption(&self, victims: &[&Trainee]) -> Outcome {
        self.narrator.chapter("The victims go on from their saves");
        for victim in victims {
            self.see(&format!("job {} to run again", victim.id), || {
                Ok(self.cluster.job(victim.id)?.state() == "RUNNING")
            })?;
            let node = self.cluster.job(victim.id)?.get("NodeList").to_owned();
            self.narrator
                .tell("squeue", &format!("job {} runs again, on {node}", victim.id));
            self.see_output(victim.name, "resumed from")?;
            self.narrator
                .tell(victim.name, &self.last_output(victim.name, "resumed from"));
        }
        Ok(())
    }

    fn see_end(&self, trainees: &[Trainee]) -> Outcome {
        self.narrator.chapter("All jobs finish");
        for trainee in trainees {
            self.see(&format!("job {} to finish", trainee.id), || {
                Ok(self.cluster.job(trainee.id)?.state() == "COMPLETED")
            })?;
            self.see_output(trainee.name, "finished: ")?;
            self.narrator
                .tell(trainee.name, &self.last_output(trainee.name, "finished: "));
        }
        Ok(())
    }

    /// Waits for something, passing on what Surgent logs meanwhile.
    fn see(&self, what: &str, look: impl Fn() -> Outcome<bool>) -> Outcome {
        let seen = self.cluster.wait_for(what, LIMIT, |cluster| {
            self.narrator.relay_log(cluster);
            look()
        });
        self.narrator.relay_log(&self.cluster);
        seen
    }

    fn see_output(&self, name: &str, text: &str) -> Outcome {
        self.see(&format!("{text:?} in the output of {name}"), || {
            Ok(self.cluster.output(name).contains(text))
        })
    }

    /// The last line of a job's output that holds `text`, without the time and the folder's path.
    fn last_output(&self, name: &str, text: &str) -> String {
        let output = self.cluster.output(name);
        let line = output
            .lines()
            .rfind(|line| line.contains(text))
            .unwrap_or_default();
        let work = format!("{}/", self.cluster.work().display());
        line.split_once(' ')
            .map_or(line, |(_, rest)| rest)
            .replace(&work, "")
    }
}

/// The jobs in `surgent: plan for job 5: stop jobs 1, 2 to free nodes n1, n2; …`.
fn planned_jobs(line: &str) -> Vec<JobId> {
    let between = |text: &'_ str| {
        Some(
            text.split_once(": stop job")?
                .1
                .split_once(" to free")?
                .0
                .to_owned(),
        )
    };
    let numbers = between(line).unwrap_or_default();
    numbers
        .split(|c: char| !c.is_ascii_digit())
        .filter_map(|number| number.parse().ok().map(JobId))
        .collect()
}
