// SPDX-License-Identifier: GPL-2.0-or-later
//! Whom the save signal goes to: the training itself, never what started it and would die of it, nor what it started.

use super::processes::{Processes, Readiness};
use super::role::{Role, role};
use rustix::process::{Pid, Signal};

/// Launchers that start launchers: deeper than any.
const DEPTH_MAX: usize = 8;
/// More ranks than a node has.
const TARGETS_MAX: usize = 4096;

/// Those who are to get the signal.
#[derive(Clone, Debug, PartialEq)]
pub struct Targets {
    /// In the order in which they were started.
    pub pids: Vec<Pid>,
    /// Whether all of them handle it.
    pub readiness: Readiness,
}

/// Whom `signal` goes to, if `root` is the process that was started.
///
/// What a training starts, such as the workers of its data loader, has inherited its handler and is left alone. Of what
/// a launcher starts, the ranks get it, all together; where none says that it is a rank, those that handle the signal.
pub fn targets(processes: &impl Processes, root: Pid, signal: Signal) -> Targets {
    let mut found = Vec::new();
    descend(processes, root, signal, 0, &mut found);
    let chosen = match found[..] == [root] {
        true => found,
        false => started_by(processes, root, signal, &found),
    };
    let readiness = chosen.iter().map(|pid| processes.readiness(*pid, signal));
    let readiness = readiness.min_by_key(|readiness| match readiness {
        Readiness::No => 0,
        Readiness::Blocked => 1,
        Readiness::Caught => 2,
    });
    Targets {
        pids: chosen,
        readiness: readiness.unwrap_or(Readiness::No),
    }
}

/// Of those that the launcher `root` has started, whom `signal` goes to.
fn started_by(processes: &impl Processes, root: Pid, signal: Signal, found: &[Pid]) -> Vec<Pid> {
    // What the launcher itself was told says nothing of those that it has started.
    let root_is_rank = processes.is_rank(root);
    let is_rank = |pid: &Pid| !root_is_rank && processes.is_rank(*pid);
    let ranks: Vec<Pid> = found.iter().copied().filter(is_rank).collect();
    if !ranks.is_empty() {
        return ranks;
    }
    let handles = |pid: &Pid| processes.readiness(*pid, signal) != Readiness::No;
    found.iter().copied().filter(handles).collect()
}

fn descend(processes: &impl Processes, pid: Pid, signal: Signal, depth: usize, found: &mut Vec<Pid>) {
    if found.len() >= TARGETS_MAX {
        return;
    }
    let handles = || processes.readiness(pid, signal) == Readiness::Caught;
    let is_user_signal = [Signal::USR1, Signal::USR2].contains(&signal);
    let is_meant = match role(&processes.args(pid)) {
        Role::Program => true,
        Role::Launcher => depth >= DEPTH_MAX,
        Role::Shell => depth >= DEPTH_MAX || handles(),
        Role::Mpi => depth >= DEPTH_MAX || (is_user_signal && handles()),
    };
    if is_meant {
        found.push(pid);
        return;
    }
    for child in processes.children(pid) {
        descend(processes, child, signal, depth + 1, found);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::collections::BTreeMap;

    /// Number, parent, command line, what a signal does, whether it is a rank.
    type Row = (i32, i32, &'static str, Readiness, bool);

    struct Table(BTreeMap<i32, Row>);

    impl Table {
        fn row(&self, pid: Pid) -> Row {
            self.0[&pid.as_raw_nonzero().get()]
        }
    }

    impl Processes for Table {
        fn children(&self, pid: Pid) -> Vec<Pid> {
            let pid = pid.as_raw_nonzero().get();
            let rows = self.0.values().filter(|row| row.1 == pid);
            rows.filter_map(|row| Pid::from_raw(row.0)).collect()
        }

        fn args(&self, pid: Pid) -> Vec<String> {
            self.row(pid).2.split_whitespace().map(str::to_owned).collect()
        }

        fn readiness(&self, pid: Pid, _: Signal) -> Readiness {
            self.row(pid).3
        }

        fn is_rank(&self, pid: Pid) -> bool {
            self.row(pid).4
        }
    }

    fn chosen(signal: Signal, rows: &[Row]) -> (Vec<i32>, Readiness) {
        let table = Table(rows.iter().map(|row| (row.0, *row)).collect());
        let root = Pid::from_raw(rows[0].0).expect("not 0");
        let targets = targets(&table, root, signal);
        let pids = targets.pids.iter().map(|pid| pid.as_raw_nonzero().get());
        (pids.collect(), targets.readiness)
    }

    use Readiness::{Blocked, Caught, No};

    #[test]
    fn a_training_gets_it_and_its_workers_do_not() {
        let rows = [
            (1, 0, "python train.py", Caught, false),
            (2, 1, "python train.py", Caught, false),
            (3, 1, "python train.py", Caught, false),
        ];
        assert_eq!(chosen(Signal::USR1, &rows), (vec![1], Caught));
    }

    #[test]
    fn of_a_launchers_children_the_ranks_get_it_once_all_are_ready() {
        let rows = |second| {
            [
                (1, 0, "python /env/bin/torchrun train.py", No, false),
                (2, 1, "python -u train.py", Caught, true),
                (3, 1, "python -u train.py", second, true),
                (4, 2, "python -u train.py", Caught, true),
                (
                    5,
                    1,
                    "python -c from_multiprocessing_import_resource_tracker",
                    No,
                    false,
                ),
            ]
        };
        assert_eq!(chosen(Signal::USR1, &rows(Caught)), (vec![2, 3], Caught));
        assert_eq!(chosen(Signal::USR1, &rows(No)), (vec![2, 3], No));
    }

    #[test]
    fn launchers_in_launchers_are_seen_through() {
        let rows = [
            (1, 0, "bash run.sh", No, false),
            (2, 1, "accelerate launch train.py", Caught, false),
            (3, 2, "python -m torch.distributed.run train.py", Caught, false),
            (4, 3, "python train.py", Caught, true),
            (5, 1, "tensorboard", No, false),
        ];
        assert_eq!(chosen(Signal::TERM, &rows), (vec![4], Caught));
    }

    #[test]
    fn without_ranks_whoever_handles_it_gets_it() {
        let rows = [
            (1, 0, "conda run train", No, false),
            (2, 1, "helper", No, false),
            (3, 1, "train", Caught, false),
        ];
        assert_eq!(chosen(Signal::USR1, &rows), (vec![3], Caught));
        assert_eq!(chosen(Signal::USR1, &rows[..2]), (vec![], No));
        let told_to_all = rows.map(|row| (row.0, row.1, row.2, row.3, true));
        assert_eq!(chosen(Signal::USR1, &told_to_all), (vec![3], Caught));
    }

    #[test]
    fn shells_with_a_trap_srun_and_mpirun_get_it_themselves() {
        let table = [
            (Signal::USR1, (1, 0, "sh -c trap", Caught, false), vec![1]),
            (
                Signal::USR1,
                (1, 0, "srun torchrun train.py", Blocked, false),
                vec![1],
            ),
            (Signal::USR2, (1, 0, "mpirun train", Caught, false), vec![1]),
            (Signal::TERM, (1, 0, "mpirun train", Caught, false), vec![2]),
        ];
        for (signal, root, expected) in table {
            let rows = [root, (2, 1, "train", Caught, true)];
            assert_eq!(chosen(signal, &rows).0, expected, "{}", root.2);
        }
    }
}
