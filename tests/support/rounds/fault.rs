// SPDX-License-Identifier: GPL-2.0-or-later
//! All faults, at which steps each can strike, and what may come of it.

use super::round::Step;

/// One kind of fault.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Fault {
    ControllerKilled,
    ControllerTerminated,
    Reconfigured,
    StateFull,
    StateReadOnly,
    StateTruncated,
    StateNewer,
    StateOfAnother,
    SettingsRubbish,
    ClockForward,
    ClockBack,
    MungeStopped,
    MungeKilled,
    ScontrolMissing,
    ScontrolFails,
    ScontrolHangs,
    ScontrolSlow,
    ScancelMissing,
    ScancelFails,
    ScancelHangs,
    ScancelSlow,
    SlurmdKilled,
    StepdKilled,
    NodeGone,
    NodeDrained,
    ReservationBegins,
    MonitorKilled,
    CommentRewritten,
    RecordOverwritten,
    UrgentCancelled,
    UrgentHeld,
    UrgentResized,
    UrgentMoved,
    VictimFinishes,
    VictimFails,
    VictimCancelled,
    VictimRequeued,
    /// As `ControllerKilled`, with all of Slurm's own state on disk.
    ControllerKilledWhole,
    PluginsReloaded,
    SnapshotNotReady,
    SnapshotNoMemory,
    SnapshotUnreadable,
}

impl Fault {
    /// What strikes a real Slurm.
    pub const REAL: &[Self] = &[
        Self::ControllerKilled,
        Self::ControllerTerminated,
        Self::Reconfigured,
        Self::StateFull,
        Self::StateReadOnly,
        Self::StateTruncated,
        Self::StateNewer,
        Self::StateOfAnother,
        Self::SettingsRubbish,
        Self::ClockForward,
        Self::ClockBack,
        Self::MungeStopped,
        Self::MungeKilled,
        Self::ScontrolMissing,
        Self::ScontrolFails,
        Self::ScontrolHangs,
        Self::ScontrolSlow,
        Self::ScancelMissing,
        Self::ScancelFails,
        Self::ScancelHangs,
        Self::ScancelSlow,
        Self::SlurmdKilled,
        Self::StepdKilled,
        Self::NodeGone,
        Self::NodeDrained,
        Self::ReservationBegins,
        Self::MonitorKilled,
        Self::CommentRewritten,
        Self::RecordOverwritten,
        Self::UrgentCancelled,
        Self::UrgentHeld,
        Self::UrgentResized,
        Self::UrgentMoved,
        Self::VictimFinishes,
        Self::VictimFails,
        Self::VictimCancelled,
        Self::VictimRequeued,
    ];

    /// What strikes the fake host: there is no munge, and nothing runs on its nodes.
    pub const FAKE: &[Self] = &[
        Self::ControllerKilled,
        Self::ControllerKilledWhole,
        Self::ControllerTerminated,
        Self::PluginsReloaded,
        Self::StateFull,
        Self::StateReadOnly,
        Self::StateTruncated,
        Self::StateNewer,
        Self::StateOfAnother,
        Self::SettingsRubbish,
        Self::ClockForward,
        Self::ClockBack,
        Self::ScontrolMissing,
        Self::ScontrolFails,
        Self::ScontrolHangs,
        Self::ScontrolSlow,
        Self::ScancelMissing,
        Self::ScancelFails,
        Self::ScancelHangs,
        Self::ScancelSlow,
        Self::SnapshotNotReady,
        Self::SnapshotNoMemory,
        Self::SnapshotUnreadable,
        Self::NodeGone,
        Self::NodeDrained,
        Self::ReservationBegins,
        Self::CommentRewritten,
        Self::RecordOverwritten,
        Self::UrgentCancelled,
        Self::UrgentHeld,
        Self::UrgentResized,
        Self::UrgentMoved,
        Self::VictimFinishes,
        Self::VictimFails,
        Self::VictimCancelled,
        Self::VictimRequeued,
    ];

    /// Each of `faults` with every step at which it can strike.
    pub fn at_steps(faults: &[Self]) -> Vec<(Self, Step)> {
        let pairs = faults
            .iter()
            .flat_map(|fault| Step::ALL.map(|step| (*fault, step)));
        pairs.filter(|(fault, step)| fault.can_strike(*step)).collect()
    }

    /// Slurm holds, resizes and moves only jobs that wait.
    fn can_strike(self, step: Step) -> bool {
        match self {
            Self::UrgentHeld | Self::UrgentResized | Self::UrgentMoved => step <= Step::GateOpen,
            _ => true,
        }
    }

    pub fn name(self) -> &'static str {
        match self {
            Self::ControllerKilled => "slurmctld SIGKILL",
            Self::ControllerTerminated => "slurmctld SIGTERM",
            Self::Reconfigured => "scontrol reconfigure",
            Self::StateFull => "StateSaveLocation full",
            Self::StateReadOnly => "StateSaveLocation read-only",
            Self::StateTruncated => "state file truncated",
            Self::StateNewer => "state file from a newer version",
            Self::StateOfAnother => "state file owned by someone else",
            Self::SettingsRubbish => "surgent.toml replaced by rubbish",
            Self::ClockForward => "clock stepped forward",
            Self::ClockBack => "clock stepped back",
            Self::MungeStopped => "munge stopped",
            Self::MungeKilled => "munge killed",
            Self::ScontrolMissing => "scontrol missing",
            Self::ScontrolFails => "scontrol failing",
            Self::ScontrolHangs => "scontrol hanging",
            Self::ScontrolSlow => "scontrol slow",
            Self::ScancelMissing => "scancel missing",
            Self::ScancelFails => "scancel failing",
            Self::ScancelHangs => "scancel hanging",
            Self::ScancelSlow => "scancel slow",
            Self::SlurmdKilled => "slurmd killed",
            Self::StepdKilled => "slurmstepd killed",
            Self::NodeGone => "node gone",
            Self::NodeDrained => "node drained",
            Self::ReservationBegins => "reservation begins",
            Self::MonitorKilled => "monitor killed",
            Self::CommentRewritten => "comment rewritten",
            Self::RecordOverwritten => "AdminComment overwritten",
            Self::UrgentCancelled => "urgent job cancelled",
            Self::UrgentHeld => "urgent job held",
            Self::UrgentResized => "urgent job resized",
            Self::UrgentMoved => "urgent job moved",
            Self::VictimFinishes => "victim finishes",
            Self::VictimFails => "victim fails",
            Self::VictimCancelled => "victim cancelled",
            Self::VictimRequeued => "victim requeued by its user",
            Self::ControllerKilledWhole => "slurmctld SIGKILL, all written",
            Self::PluginsReloaded => "fini and init",
            Self::SnapshotNotReady => "no look: Slurm is not ready",
            Self::SnapshotNoMemory => "no look: no memory",
            Self::SnapshotUnreadable => "a look with an unreadable record",
        }
    }

    /// Slurm changes these only of plain jobs, or not as one would think.
    pub fn wants_plain(self) -> bool {
        matches!(self, Self::UrgentResized | Self::UrgentMoved | Self::UrgentHeld)
    }

    /// The urgent job may end without having run.
    pub fn may_end_urgent(self) -> bool {
        self == Self::UrgentCancelled
    }

    /// Slurm itself forgets what it had not written yet: the urgent job, say, or that it has requeued a job.
    pub fn makes_slurm_forget(self) -> bool {
        self == Self::ControllerKilled
    }

    /// Audit lines may be missing or written twice: docs/audit.md.
    pub fn tears_audit(self) -> bool {
        matches!(
            self,
            Self::StateFull | Self::StateReadOnly | Self::StateTruncated | Self::StateNewer
        ) || self.makes_slurm_forget()
    }

    /// Needs a StateSaveLocation of its own.
    pub fn wants_root(self) -> bool {
        matches!(self, Self::StateFull | Self::StateReadOnly)
    }

    /// What command goes wrong, and how. One that is missing is renamed.
    pub fn of_command(self) -> Option<(&'static str, &'static str)> {
        match self {
            Self::ScontrolMissing => Some(("scontrol", "missing")),
            Self::ScontrolFails => Some(("scontrol", "fail")),
            Self::ScontrolHangs => Some(("scontrol", "hang")),
            Self::ScontrolSlow => Some(("scontrol", "slow")),
            Self::ScancelMissing => Some(("scancel", "missing")),
            Self::ScancelFails => Some(("scancel", "fail")),
            Self::ScancelHangs => Some(("scancel", "hang")),
            Self::ScancelSlow => Some(("scancel", "slow")),
            _ => None,
        }
    }

    pub fn steps_clock(self) -> bool {
        matches!(self, Self::ClockForward | Self::ClockBack)
    }
}
