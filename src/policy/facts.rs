// SPDX-License-Identifier: GPL-2.0-or-later
//! What is known of the cluster at one moment: all that a plan may depend on.

pub use super::admission::applicant::Application;
use super::directives::{Directives, Urgency};
use super::ids::{ArrayTask, JobId, NodeIndex, UserId};
use super::labels::Labels;
use super::record::Record;
pub use super::request::{Choice, Counted, GresRequest, MemoryRequest, Request};
use super::resources::{Amounts, GresTable};
use super::units::UnixTime;
use serde::{Deserialize, Serialize};
use std::cmp::Reverse;

/// The cluster at one moment.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Facts {
    /// When this was seen.
    pub now: UnixTime,
    /// Every node, sorted by index.
    pub nodes: Vec<Node>,
    /// Jobs that hold resources, sorted by id.
    pub running: Vec<RunningJob>,
    /// Urgent jobs that wait.
    pub waiting: Vec<WaitingJob>,
    /// Waiting jobs that once were asked to make way, or whose class is to be looked at again.
    pub parked: Vec<ParkedJob>,
    /// Urgent jobs that have ended and that Slurm has not forgotten.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub ended: Vec<EndedJob>,
    /// Names of the generic resources that `Amounts` refer to.
    pub gres: GresTable,
}

impl Facts {
    /// An empty cluster at `now`.
    pub fn at(now: UnixTime) -> Self {
        Self {
            now,
            nodes: Vec::new(),
            running: Vec::new(),
            waiting: Vec::new(),
            parked: Vec::new(),
            ended: Vec::new(),
            gres: GresTable::default(),
        }
    }

    /// The node with this index.
    pub fn node(&self, index: NodeIndex) -> Option<&Node> {
        let at = self.nodes.binary_search_by_key(&index, |node| node.index).ok()?;
        self.nodes.get(at)
    }

    /// The names of these nodes, in their order; of one that is not there, none.
    pub fn node_names(&self, nodes: impl IntoIterator<Item = NodeIndex>) -> Vec<String> {
        let nodes = nodes.into_iter().filter_map(|index| self.node(index));
        nodes.map(|node| node.name.clone()).collect()
    }

    /// The running job with this id.
    pub fn job(&self, id: JobId) -> Option<&RunningJob> {
        let at = self.running.binary_search_by_key(&id, |job| job.id).ok()?;
        self.running.get(at)
    }
}

/// Whether a node can take an urgent job, now or once victims have left it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Availability {
    /// It can. A node that is still cleaning up after a job counts: it will be ready in a moment.
    Up,
    /// It has been cleaning up after a job for so long that nobody counts on it any more.
    Completing,
    /// Down, failing or not responding.
    Down,
    /// Takes no new jobs.
    Drained,
    /// In a reservation: it can take the jobs of that.
    Reserved,
    /// On its way to being powered down. One that is powered down counts as up: Slurm powers it up for a job.
    PoweringDown,
}

/// One node.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Node {
    /// Slurm's index of it.
    pub index: NodeIndex,
    /// Its name.
    pub name: String,
    /// Whether it can take jobs.
    pub availability: Availability,
    /// All that jobs may use on it, used or not.
    pub total: Amounts,
    /// CPUs of one core. A job holds whole cores, also where it uses one CPU of each.
    #[serde(default = "one")]
    pub cpus_per_core: u32,
}

impl Node {
    /// A node that is up, with cores of one CPU.
    pub fn new(index: NodeIndex, name: impl Into<String>, total: Amounts) -> Self {
        Self {
            index,
            name: name.into(),
            availability: Availability::Up,
            total,
            cpus_per_core: 1,
        }
    }
}

/// What a job holds on one node.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Holding {
    /// Where.
    pub node: NodeIndex,
    /// How much.
    pub amounts: Amounts,
}

/// How a job relates to Slurm's ways of stopping it.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct JobTraits {
    /// It has a batch script; without one it cannot be requeued.
    pub batch: bool,
    /// Its user lets it be requeued.
    pub requeue: bool,
    /// It holds its nodes alone.
    pub whole_node: bool,
    /// It is being cleaned up.
    pub completing: bool,
    /// It runs, by its own state, on a node that is idle by the node's. So it has ended, and Slurm will not notice before its
    /// time limit: the slurmctld that knew of the end was killed before it had written that down, and to its successor the
    /// node said only that it had cleaned up.
    pub forgotten: bool,
    /// Its nodes are being made ready.
    pub configuring: bool,
    /// It is suspended.
    pub suspended: bool,
    /// It is a component of a heterogeneous job.
    pub het: bool,
    /// Slurm itself exempts it from preemption at present (PreemptExemptTime, min_exempt_priority).
    pub exempt: bool,
    /// Other jobs of its kind may use its CPUs, too (OverSubscribe).
    pub shared: bool,
    /// Its nodes are kept for its user's jobs (`--exclusive=user`).
    pub user_node: bool,
    /// Its priority, if Slurm would put it behind all others were it requeued.
    pub place: Option<u32>,
}

impl JobTraits {
    /// Whether Slurm puts it back into the queue when it is told to.
    pub fn can_be_requeued(&self) -> bool {
        self.requeue && self.batch
    }
}

/// A job that holds resources.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct RunningJob {
    /// Its id.
    pub id: JobId,
    /// Which task of which array it is.
    #[serde(default)]
    pub array: Option<ArrayTask>,
    /// Whose it is.
    #[serde(default)]
    pub user: UserId,
    /// See [`Labels`].
    #[serde(default)]
    pub labels: Labels,
    /// When it was submitted, or last requeued.
    #[serde(default)]
    pub submit: Option<UnixTime>,
    /// When this run of it began; tells this run from the next.
    pub start: UnixTime,
    /// When its time limit ends it; `None` without a limit.
    pub end: Option<UnixTime>,
    /// When its preemption began, if it did.
    pub preempt_time: Option<UnixTime>,
    /// See [`JobTraits`].
    pub traits: JobTraits,
    /// What it holds, one entry a node.
    pub holdings: Vec<Holding>,
    /// What its comment says; `None` where the directives in it are malformed.
    pub directives: Option<Directives>,
    /// Surgent's record of it.
    pub record: Option<Record>,
    /// The whole AdminComment, needed to rewrite the record in it.
    #[serde(with = "super::snapshot::text", default)]
    pub admin_comment: Vec<u8>,
}

impl RunningJob {
    /// A batch job that may be requeued, holds nothing yet and has not said anything.
    pub fn new(id: JobId, start: UnixTime) -> Self {
        Self {
            id,
            array: None,
            user: UserId::default(),
            labels: Labels::default(),
            submit: None,
            start,
            end: None,
            preempt_time: None,
            traits: JobTraits {
                batch: true,
                requeue: true,
                ..JobTraits::default()
            },
            holdings: Vec::new(),
            directives: None,
            record: None,
            admin_comment: Vec::new(),
        }
    }

    /// Its class; a job without a record is normal.
    pub fn class(&self) -> Urgency {
        self.record
            .as_ref()
            .map_or(Urgency::Normal, |record| record.class)
    }

    /// Whether it is urgent.
    pub fn is_urgent(&self) -> bool {
        self.class() == Urgency::Urgent
    }

    /// The GPUs that it holds; where it has none its CPUs, each of which counts as `cpu_weight` GPUs.
    pub fn gpus(&self, gres: &GresTable, cpu_weight: f64) -> f64 {
        let held = self.held();
        match gres.total_of(&held, "gpu") {
            0 => f64::from(held.cpus) * cpu_weight,
            // Exact: nobody has 2^53 GPUs.
            gpus => gpus as f64,
        }
    }

    /// All that it holds on all nodes.
    pub fn held(&self) -> Amounts {
        let mut sum = Amounts::default();
        for holding in &self.holdings {
            sum.add(&holding.amounts);
        }
        sum
    }
}

/// The least is the first.
pub type PlaceInQueue = (Reverse<u32>, JobId);

/// An urgent job that waits.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct WaitingJob {
    /// Its id.
    pub id: JobId,
    /// Slurm's priority, larger is sooner.
    pub priority: u32,
    /// When it was submitted (or last requeued).
    pub submit: UnixTime,
    /// Free resources would not start it: it is held, or waits for another job, a date or a limit.
    pub blocked: bool,
    /// Which of these, where it is known.
    #[serde(default)]
    pub hindrance: Option<Hindrance>,
    /// Slurm has tried to start it. Before that it is not known whether something stands in its way that no victim
    /// can mend.
    pub tested: bool,
    /// What it asks for.
    pub request: Request,
    /// How many such jobs this is: tasks of an array wait under one id. 1 for others.
    #[serde(default = "one")]
    pub tasks: u32,
    /// Which component of a heterogeneous job it is.
    #[serde(default)]
    pub het: Option<Component>,
    /// The `priority` that its user gives it, 0 to 100.
    #[serde(default)]
    pub worth: Option<u8>,
    /// What decides whether it may be urgent; `None` where that is not asked.
    #[serde(default)]
    pub application: Option<Application>,
    /// Surgent's record of it.
    pub record: Option<Record>,
    /// The whole AdminComment.
    #[serde(with = "super::snapshot::text", default)]
    pub admin_comment: Vec<u8>,
}

impl WaitingJob {
    /// A single job that Slurm has tried to start and that waits for room alone.
    pub fn new(id: JobId, priority: u32, submit: UnixTime, request: Request) -> Self {
        Self {
            id,
            priority,
            submit,
            blocked: false,
            hindrance: None,
            tested: true,
            request,
            tasks: 1,
            het: None,
            worth: None,
            application: None,
            record: None,
            admin_comment: Vec::new(),
        }
    }

    /// Sorts jobs as Slurm's scheduler looks at them.
    pub fn place_in_queue(&self) -> PlaceInQueue {
        (Reverse(self.priority), self.id)
    }
}

/// An urgent job that has ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct EndedJob {
    /// Its id.
    pub id: JobId,
    /// The array that it was of.
    pub array: Option<JobId>,
    /// When its last run began.
    pub start: UnixTime,
    /// When that ended.
    pub end: UnixTime,
}

/// Which component of a heterogeneous job a waiting job is.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Component {
    /// The first component, by whose id the whole job goes.
    pub leader: JobId,
    /// Its place among the components, from 0 on.
    pub offset: u32,
    /// How many components there are; only the first one's record tells.
    #[serde(default)]
    pub of: Option<u32>,
}

/// Why a waiting job would not start on free nodes either. The names are stable.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Hindrance {
    /// Its user or an administrator holds it.
    Held,
    /// It is not to start before a date.
    Date,
    /// It waits for another job.
    Dependency,
    /// It waits for licences.
    Licenses,
    /// As many tasks of its array run as may run at once.
    Limit,
    /// Its reservation has not begun, or is over.
    Reservation,
    /// Nodes that it must have are down, drained or reserved.
    Nodes,
    /// Its partition is down, gone, or too small for it.
    Partition,
    /// No node is as it wants it.
    Constraints,
    /// It is a component of a heterogeneous job of which another component is not urgent, or does not wait.
    HetJob,
    /// It is still being cleaned up from its last run.
    Completing,
    /// It is not, or no longer, among those who may be urgent.
    AdmissionPermission,
    /// There are as many urgent jobs before it as there may be.
    AdmissionLimit,
    /// The budget of urgent jobs is used up.
    AdmissionBudget,
    /// Something else; Slurm knows the reason.
    Other,
}

/// A waiting job that Surgent still owes something.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct ParkedJob {
    /// Its id.
    pub id: JobId,
    /// Which task of which array it is.
    #[serde(default)]
    pub array: Option<ArrayTask>,
    /// Slurm will not start it before this.
    pub begin: UnixTime,
    /// Still being cleaned up from its last run.
    pub completing: bool,
    /// Held: its priority is not to be touched, that would release it.
    #[serde(default)]
    pub held: bool,
    /// It is a component of a heterogeneous job.
    #[serde(default)]
    pub het: bool,
    /// The class that its comment asks for now; `None` where the comment is malformed.
    pub wanted: Option<Urgency>,
    /// What decides whether it may become urgent; `None` where it does not ask for that.
    #[serde(default)]
    pub application: Option<Application>,
    /// Surgent's record of it.
    pub record: Option<Record>,
    /// The whole AdminComment.
    #[serde(with = "super::snapshot::text", default)]
    pub admin_comment: Vec<u8>,
}

fn one() -> u32 {
    1
}
