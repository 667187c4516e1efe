// SPDX-License-Identifier: GPL-2.0-or-later
//! sbatch's options, for a job that does not exist.

use crate::policy::units::Seconds;
use crate::slurm::submit::forms::{self, GresCount, NodeCount, TaskCount};
use crate::slurm::submit::{Memory, Options, Sharing};
use clap::{Arg, ArgMatches, Command};

/// What a job is asked to have, in sbatch's words.
#[derive(Clone, Debug, clap::Args)]
#[command(next_help_heading = "The job, as sbatch would be told")]
pub(in crate::cli) struct Submission {
    /// Nodes: how many, or the least and the most, as in 2-4
    #[arg(short = 'N', long, value_name = "MIN[-MAX]", value_parser = forms::nodes)]
    nodes: Option<NodeCount>,

    /// Tasks
    #[arg(short = 'n', long, value_name = "NUMBER", value_parser = forms::count)]
    ntasks: Option<u32>,

    /// Tasks on each node
    #[arg(long, value_name = "NUMBER", value_parser = forms::count)]
    ntasks_per_node: Option<u32>,

    /// Tasks on each core
    #[arg(long, value_name = "NUMBER", value_parser = forms::count)]
    ntasks_per_core: Option<u32>,

    /// CPUs for each task
    #[arg(short = 'c', long, value_name = "NUMBER", value_parser = forms::count)]
    cpus_per_task: Option<u32>,

    /// CPUs of each node at least
    #[arg(long, value_name = "NUMBER", value_parser = forms::count)]
    mincpus: Option<u32>,

    /// Threads of each core that it uses
    #[arg(long, value_name = "NUMBER", value_parser = forms::count)]
    threads_per_core: Option<u32>,

    /// Sockets of each node
    #[arg(long, value_name = "NUMBER", value_parser = forms::count)]
    sockets_per_node: Option<u32>,

    /// Memory of each node, as in 4000 (MiB) or 4G; 0 for all of it
    #[arg(long, value_name = "SIZE", value_parser = forms::memory_mib, conflicts_with_all = ["mem_per_cpu", "mem_per_gpu"])]
    mem: Option<u64>,

    /// Memory for each CPU
    #[arg(long, value_name = "SIZE", value_parser = forms::memory_mib, conflicts_with = "mem_per_gpu")]
    mem_per_cpu: Option<u64>,

    /// Memory for each GPU
    #[arg(long, value_name = "SIZE", value_parser = forms::memory_mib)]
    mem_per_gpu: Option<u64>,

    /// Generic resources of each node, as in gpu:a100:2,shard:1
    #[arg(long, value_name = "LIST", value_parser = gres)]
    gres: Option<Counts>,

    /// GPUs, as in 8 or a100:8
    #[arg(short = 'G', long, value_name = "[TYPE:]NUMBER", value_parser = gpus)]
    gpus: Option<Counts>,

    /// GPUs of each node
    #[arg(long, value_name = "[TYPE:]NUMBER", value_parser = gpus)]
    gpus_per_node: Option<Counts>,

    /// GPUs for each task
    #[arg(long, value_name = "[TYPE:]NUMBER", value_parser = gpus)]
    gpus_per_task: Option<Counts>,

    /// GPUs of each socket
    #[arg(long, value_name = "[TYPE:]NUMBER", value_parser = gpus)]
    gpus_per_socket: Option<Counts>,

    /// CPUs for each GPU
    #[arg(long, value_name = "NUMBER", value_parser = forms::count)]
    cpus_per_gpu: Option<u32>,

    /// Whole nodes; with =user only nodes that no other user's job is on
    #[arg(long, value_name = "WITH", num_args = 0..=1, require_equals = true, default_missing_value = "exclusive",
          value_parser = ["exclusive", "user"], conflicts_with = "oversubscribe")]
    exclusive: Option<String>,

    /// CPUs may be shared, where the partition lets them
    #[arg(short = 's', long)]
    oversubscribe: bool,

    /// Tasks need no CPUs of their own
    #[arg(short = 'O', long)]
    overcommit: bool,

    /// Where it may run; without this in the default partition
    #[arg(short = 'p', long, value_name = "NAMES", value_delimiter = ',')]
    pub(super) partition: Vec<String>,

    /// Nodes that it must have, as in n[1-4,7]
    #[arg(short = 'w', long, value_name = "NODES")]
    pub(super) nodelist: Option<String>,

    /// Nodes that it must not have
    #[arg(short = 'x', long, value_name = "NODES")]
    pub(super) exclude: Option<String>,

    /// Features of its nodes, as in "ib&(v100|a100)"
    #[arg(short = 'C', long, value_name = "FEATURES")]
    pub(super) constraint: Option<String>,

    /// The reservation that it runs in
    #[arg(long, value_name = "NAME")]
    pub(super) reservation: Option<String>,

    /// How long it may run, as in 90 (minutes), 2:00:00 or 1-12
    #[arg(short = 't', long, value_name = "TIME", value_parser = time_limit)]
    time: Option<TimeLimit>,

    /// The account that pays
    #[arg(short = 'A', long, value_name = "NAME")]
    pub(super) account: Option<String>,

    /// Its quality of service
    #[arg(short = 'q', long, value_name = "NAME")]
    pub(super) qos: Option<String>,

    /// Tasks of an array, as in 0-15 or 0-99%4
    #[arg(short = 'a', long, value_name = "TASKS", value_parser = forms::array)]
    pub(super) array: Option<TaskCount>,

    #[command(flatten)]
    _ignored: Ignored,
}

/// A list that is one value on the command line.
#[derive(Clone, Debug)]
struct Counts(Vec<GresCount>);

fn gres(text: &str) -> Result<Counts, String> {
    forms::gres(text).map(Counts)
}

fn gpus(text: &str) -> Result<Counts, String> {
    forms::gpus(text).map(Counts)
}

/// A time limit, or none.
#[derive(Clone, Copy, Debug)]
struct TimeLimit(Option<Seconds>);

fn time_limit(text: &str) -> Result<TimeLimit, String> {
    forms::time_limit_s(text).map(TimeLimit)
}

impl Submission {
    /// What decides where it fits.
    pub(super) fn options(&self) -> Options {
        let list = |counts: &Option<Counts>| counts.clone().map_or_else(Vec::new, |counts| counts.0);
        let memory = [
            self.mem.map(Memory::PerNode),
            self.mem_per_cpu.map(Memory::PerCpu),
            self.mem_per_gpu.map(Memory::PerGpu),
        ];
        Options {
            nodes: self.nodes,
            ntasks: self.ntasks,
            ntasks_per_node: self.ntasks_per_node,
            ntasks_per_core: self.ntasks_per_core,
            cpus_per_task: self.cpus_per_task,
            mincpus: self.mincpus,
            threads_per_core: self.threads_per_core,
            sockets_per_node: self.sockets_per_node,
            memory: memory.into_iter().flatten().next(),
            gres: list(&self.gres),
            gpus: list(&self.gpus),
            gpus_per_node: list(&self.gpus_per_node),
            gpus_per_task: list(&self.gpus_per_task),
            gpus_per_socket: list(&self.gpus_per_socket),
            cpus_per_gpu: self.cpus_per_gpu,
            sharing: match (self.exclusive.as_deref(), self.oversubscribe) {
                (Some("user"), _) => Some(Sharing::User),
                (Some(_), _) => Some(Sharing::Exclusive),
                (None, true) => Some(Sharing::Oversubscribe),
                (None, false) => None,
            },
            overcommit: self.overcommit,
        }
    }

    /// Whether anything was said that decides where it fits, or whether it may be urgent.
    pub(super) fn is_said(&self) -> bool {
        let texts = [
            &self.nodelist,
            &self.exclude,
            &self.constraint,
            &self.reservation,
            &self.account,
            &self.qos,
        ];
        self.options() != Options::default()
            || !self.partition.is_empty()
            || texts.iter().any(|text| text.is_some())
            || self.time.is_some()
            || self.array.is_some()
    }

    /// Its time limit; `None` where it does not say.
    pub(super) fn time_limit(&self) -> Option<Option<Seconds>> {
        self.time.map(|time| time.0)
    }
}

/// Options of sbatch that do not matter to a plan: with a value, and without one. They are taken so that a line that one
/// has for sbatch need not be cut down.
const IGNORED_WITH_VALUE: [(&str, Option<char>); 16] = [
    ("job-name", Some('J')),
    ("output", Some('o')),
    ("error", Some('e')),
    ("input", Some('i')),
    ("chdir", Some('D')),
    ("comment", None),
    ("export", None),
    ("mail-type", None),
    ("mail-user", None),
    ("nice", None),
    ("open-mode", None),
    ("signal", None),
    ("urgency", None),
    ("wckey", None),
    ("wrap", None),
    ("gpu-bind", None),
];
const IGNORED_FLAGS: [(&str, Option<char>); 4] = [
    ("requeue", None),
    ("no-requeue", None),
    ("parsable", None),
    ("wait", Some('W')),
];

/// See [`IGNORED_WITH_VALUE`].
#[derive(Clone, Copy, Debug)]
struct Ignored;

impl clap::Args for Ignored {
    fn augment_args(command: Command) -> Command {
        let arg = |(name, short): (&'static str, Option<char>)| {
            let arg = Arg::new(name).long(name).hide(true);
            match short {
                Some(short) => arg.short(short),
                None => arg,
            }
        };
        command
            .args(IGNORED_WITH_VALUE.map(|option| arg(option).allow_hyphen_values(true)))
            .args(IGNORED_FLAGS.map(|option| arg(option).action(clap::ArgAction::SetTrue)))
    }

    fn augment_args_for_update(command: Command) -> Command {
        Self::augment_args(command)
    }
}

impl clap::FromArgMatches for Ignored {
    fn from_arg_matches(_: &ArgMatches) -> Result<Self, clap::Error> {
        Ok(Self)
    }

    fn update_from_arg_matches(&mut self, _: &ArgMatches) -> Result<(), clap::Error> {
        Ok(())
    }
}
