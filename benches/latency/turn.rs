// SPDX-License-Identifier: GPL-2.0-or-later
//! One situation on one cluster: it is filled, the urgent job comes and starts, and what became of the trainings is counted.

use crate::figures::{Start, Victim};
use crate::situation::{Situation, TrainingPlan};
use crate::support::{Cluster, JobId, LIMIT, Outcome, Steps};
use crate::systems::System;
use jiff::civil::DateTime;
use jiff::tz::TimeZone;
use std::fs;
use std::time::SystemTime;

/// Steps that each training has done at least when the urgent job comes.
const STEPS_BEFORE: u32 = 12;

/// A cluster on which the situation is played.
pub struct Turn<'a> {
    system: System,
    cluster: &'a Cluster,
    urgent: String,
    /// When sbatch was called, if it was.
    submitted_s: Option<f64>,
    trainees: Vec<Trainee>,
}

struct Trainee {
    name: String,
    id: JobId,
    plan: TrainingPlan,
}

impl<'a> Turn<'a> {
    /// Fills the cluster with the situation's trainings.
    pub fn prepare(system: System, cluster: &'a Cluster, situation: &Situation) -> Outcome<Self> {
        system.set_grace(cluster, situation)?;
        let mut trainees = Vec::new();
        for (plan, letter) in situation.trainings.iter().zip(["a", "b", "c", "d"]) {
            let name = format!("t{}-{letter}", situation.number);
            trainees.push(Trainee {
                id: system.submit_training(cluster, &name, plan, situation.grace_s())?,
                name,
                plan: *plan,
            });
        }
        for trainee in &trainees {
            cluster.wait_for_steps(&trainee.name, STEPS_BEFORE)?;
            cluster.wait_for("a training to say how it is asked", LIMIT, |cluster| {
                system.can_ask(cluster, trainee.id)
            })?;
        }
        Ok(Self {
            system,
            cluster,
            urgent: format!("urgent-{}", situation.number),
            submitted_s: None,
            trainees,
        })
    }

    /// Submits the urgent job and waits until it runs, or until nothing but the end of the grace is waited for: what others
    /// do meanwhile changes nothing then.
    pub fn submit_urgent(&mut self, situation: &Situation) -> Outcome {
        let name = &self.urgent;
        let script =
            format!("echo $EPOCHREALTIME > {name}.began\nwhile [ ! -e {name}.over ]; do sleep 0.1; done");
        let (job_name, nodes) = (
            format!("--job-name={name}"),
            format!("--nodes={}", situation.urgent_nodes),
        );
        let arguments = [
            "--comment=urgency=urgent",
            "--qos=high",
            "--exclusive",
            "--gres=gpu:4",
            &job_name,
            &nodes,
        ];
        self.submitted_s = Some(now_s()?);
        self.cluster.sbatch(&arguments, &script)?;
        let what = "the urgent job to run, or its victims to have saved";
        self.cluster.wait_for(what, LIMIT, |_| {
            let only_time_is_left = self.system == System::GraceThenWait && self.victims_have_saved();
            Ok(only_time_is_left || self.began_s().is_some())
        })
    }

    fn victims_have_saved(&self) -> bool {
        let count = |kind| {
            let with = |trainee: &&Trainee| self.steps(trainee).of(kind).count() > 0;
            self.trainees.iter().filter(with).count()
        };
        let saved = count("saved");
        saved > 0 && saved == count("asked")
    }

    /// When the first line of the urgent job's script was run.
    fn began_s(&self) -> Option<f64> {
        let file = self.cluster.work().join(format!("{}.began", self.urgent));
        let text = fs::read_to_string(file).ok()?;
        text.strip_suffix('\n')?.parse().ok()
    }

    /// Waits until the urgent job runs.
    pub fn wait_for_urgent(&self) -> Outcome {
        self.cluster
            .wait_for("the urgent job to run", LIMIT, |_| Ok(self.began_s().is_some()))
    }

    /// Ends the urgent job, waits until the victims train again, counts, and empties the cluster.
    pub fn end(self) -> Outcome<Start> {
        let times_s = self.submitted_s.zip(self.began_s());
        let (submitted_s, began_s) = times_s.ok_or("the urgent job has not started")?;
        let over = self.cluster.work().join(format!("{}.over", self.urgent));
        fs::write(&over, "").map_err(|error| format!("{}: {error}", over.display()))?;
        let mut victims = Vec::new();
        for trainee in self.trainees.iter().filter(|trainee| self.was_disturbed(trainee)) {
            victims.push(self.see_again(trainee)?);
        }
        self.cluster.ask("scancel", &["--user=root"])?;
        self.cluster.wait_for("all nodes to be idle", LIMIT, |cluster| {
            let states = cluster.ask("sinfo", &["-h", "-N", "-o", "%T"])?;
            Ok(states.lines().all(|state| state == "idle"))
        })?;
        Ok(Start {
            start_s: began_s - submitted_s,
            victims,
        })
    }

    /// Whether it was stopped, or told that it will be.
    fn was_disturbed(&self, trainee: &Trainee) -> bool {
        let restarts = self.cluster.job(trainee.id).map(|job| job.restarts());
        self.steps(trainee).of("asked").count() > 0 || restarts.is_ok_and(|restarts| restarts > 0)
    }

    /// Waits until the victim trains again.
    fn see_again(&self, trainee: &Trainee) -> Outcome<Victim> {
        let what = format!("{} to train again", trainee.name);
        self.cluster.wait_for(&what, LIMIT, |_| {
            let steps = self.steps(trainee);
            let goes_on = steps.of("started").chain(steps.of("resumed")).count() > 1;
            if !goes_on && self.system != System::Surgent {
                self.hasten(trainee, &steps)?;
            }
            Ok(goes_on)
        })?;
        let steps = self.steps(trainee);
        Ok(Victim {
            save_s: steps.first("saved", 0).map(|_| trainee.plan.save_s),
            lost_steps: steps.lost(),
        })
    }

    /// Slurm lets a victim wait for two minutes before it may start again, and one that saved in vain until its timer comes
    /// round. Surgent does not, and for the others neither is counted. One that starts again in the second of its requeue is
    /// killed by Slurm ("Job credential revoked").
    fn hasten(&self, trainee: &Trainee, steps: &Steps) -> Outcome {
        let (job, id) = (self.cluster.job(trainee.id)?, trainee.id.to_string());
        if job.get("Reason") == "BeginTime" {
            // Slurm counts a requeue as a submission.
            let requeued: DateTime = job
                .get("SubmitTime")
                .parse()
                .map_err(|error| format!("{error}"))?;
            let requeued = requeued
                .to_zoned(TimeZone::UTC)
                .map_err(|error| format!("{error}"))?;
            if now_s()? < requeued.timestamp().as_second() as f64 + 2.0 {
                return Ok(());
            }
            let id = format!("JobId={id}");
            self.cluster.ask("scontrol", &["update", &id, "StartTime=now"])?;
        } else if job.state() == "RUNNING" && job.restarts() == 0 && steps.of("saved").count() > 0 {
            self.cluster.ask("scontrol", &["requeue", &id])?;
        }
        Ok(())
    }

    fn steps(&self, trainee: &Trainee) -> Steps {
        self.cluster.steps(&trainee.name)
    }
}

fn now_s() -> Outcome<f64> {
    let since = SystemTime::UNIX_EPOCH
        .elapsed()
        .map_err(|error| format!("the clock stands before 1970: {error}"))?;
    Ok(since.as_secs_f64())
}
