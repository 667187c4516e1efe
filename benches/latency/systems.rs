// SPDX-License-Identifier: GPL-2.0-or-later
//! What is compared: Surgent, and preempt/qos with the scripts that make the most of it.

use crate::situation::{STEP_S, Situation, TrainingPlan};
use crate::support::{Builder, Cluster, JobId, Outcome, Preempt, Training};
use std::sync::Arc;
use std::sync::atomic::AtomicBool;

/// Who preempts, and what trainings do when they are to make way.
#[derive(Clone, Copy, PartialEq, Eq)]
pub enum System {
    /// All of Surgent; trainings under `surgent run`.
    Surgent,
    /// preempt/qos with GraceTime; Slurm warns the script, which has the model saved and waits to be stopped.
    GraceThenWait,
    /// The same, but after the save the script has itself requeued and does not wait for the end of the grace.
    GraceThenRequeue,
    /// preempt/qos without GraceTime; the script saves at SIGTERM, before KillWait is over.
    KillWait,
    /// preempt/qos without GraceTime; nothing saves.
    NoGrace,
}

const TOML: &str =
    "[victims]\nmin_runtime_s = 1\nnearly_done_s = 1\nsave_deadline_s = 20\nsave_s = 1\nrestart_s = 2\n";

/// The same everywhere: Slurm looks at the queue at once, and then each second.
const SCHEDULER: &str = "SchedulerParameters=batch_sched_delay=0,sched_interval=1,bf_interval=1";
/// With these preempt/qos stops fewer jobs that need not have been stopped.
const SELECTION: &str = ",preempt_youngest_first,preempt_strict_order,preempt_reorder_count=4";

const QOS: [&str; 3] = [
    "add qos low Priority=1",
    "add qos high Priority=9 Preempt=low",
    "modify user root set QOS+=low,high",
];

impl System {
    pub const ALL: [Self; 5] = [
        Self::Surgent,
        Self::GraceThenWait,
        Self::GraceThenRequeue,
        Self::KillWait,
        Self::NoGrace,
    ];

    pub fn name(self) -> &'static str {
        match self {
            Self::Surgent => "surgent",
            Self::GraceThenWait => "grace, waits",
            Self::GraceThenRequeue => "grace, requeues",
            Self::KillWait => "no grace, TERM",
            Self::NoGrace => "no grace",
        }
    }

    /// Starts its cluster.
    pub fn start(self, interrupted: Arc<AtomicBool>) -> Outcome<Cluster> {
        let builder = Cluster::builder().accounting(&QOS).interrupted_by(interrupted);
        self.configured(builder)
            .start()
            .map_err(|failure| failure.during(self.name()))
    }

    fn configured(self, builder: Builder) -> Builder {
        if self == Self::Surgent {
            return builder.toml(TOML).conf(SCHEDULER);
        }
        builder
            .preempt(Preempt::Nothing)
            .conf("PreemptType=preempt/qos")
            .conf("PreemptMode=REQUEUE")
            .conf("SlurmctldParameters=preempt_send_user_signal")
            .conf(&format!("{SCHEDULER}{SELECTION}"))
    }

    /// Submits the training `name`.
    pub fn submit_training(
        self,
        cluster: &Cluster,
        name: &str,
        plan: &TrainingPlan,
        grace_s: u32,
    ) -> Outcome<JobId> {
        let training = Training::new(name)
            .lasting(10_000, STEP_S)
            .option(&format!("--save-s={}", plan.save_s))
            .sbatch(&format!("--nodes={}", plan.nodes))
            .sbatch("--qos=low");
        let warned = format!("--signal=B:USR1@{grace_s}");
        let training = match self {
            // As measured at an earlier save, or by `surgent drill`. Slurm's GraceTime tells the others.
            Self::Surgent => training.sbatch(&format!("--comment=save=step save_s={}", plan.save_s)),
            Self::GraceThenWait => training.sbatch(&warned).scripted(save_and_wait),
            Self::GraceThenRequeue => training.sbatch(&warned).scripted(save_and_requeue),
            Self::KillWait => training.scripted(save_at_term),
            Self::NoGrace => training.unmonitored(),
        };
        training.submit(cluster)
    }

    /// Whether this training can be asked to save: with Surgent it must have said how.
    pub fn can_ask(self, cluster: &Cluster, training: JobId) -> Outcome<bool> {
        Ok(self != Self::Surgent || cluster.comment(training)?.contains("signal="))
    }

    /// Tells Slurm the GraceTime for this situation.
    pub fn set_grace(self, cluster: &Cluster, situation: &Situation) -> Outcome {
        if !matches!(self, Self::GraceThenWait | Self::GraceThenRequeue) {
            return Ok(());
        }
        let grace = format!("GraceTime={}", situation.grace_s());
        cluster
            .ask("sacctmgr", &["-i", "modify", "qos", "low", "set", &grace])
            .map(drop)
    }
}

/// Hands SIGUSR1 on to the program, which saves and ends; then waits to be stopped.
fn save_and_wait(program: &str) -> String {
    format!("{}\nexec sleep infinity", handing_on("USR1", program))
}

fn save_and_requeue(program: &str) -> String {
    format!(
        "{}\nscontrol requeue $SLURM_JOB_ID\nexec sleep infinity",
        handing_on("USR1", program)
    )
}

/// Slurm has requeued it by then: it can end once it has saved. The program itself gets SIGTERM as well.
fn save_at_term(program: &str) -> String {
    handing_on("TERM", &format!("(trap '' TERM; exec {program})"))
}

fn handing_on(signal: &str, program: &str) -> String {
    format!(
        "{program} & program=$!\ntrap 'kill -USR1 $program' {signal}\nwhile kill -0 $program; do wait $program; done"
    )
}
