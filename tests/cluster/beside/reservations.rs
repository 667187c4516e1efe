// SPDX-License-Identifier: GPL-2.0-or-later
//! Reservations: who is planned for in them, around them and before them. Those that have begun are in `shapes` too.

use super::{prompt, whole_node, whole_nodes};
use crate::shapes::crowd::{Crowd, Shape};
use crate::support::{Cluster, LIMIT, Outcome, places};
use crate::{on_cluster, tell};

fn reserve(cluster: &Cluster, more: &[&str]) -> Outcome {
    let create = ["create", "reservation", "Users=root", "Duration=600"];
    let options: Vec<&str> = create.iter().chain(more).copied().collect();
    cluster.ask("scontrol", &options).map(drop)
}

fn whole(name: &str, more: &[&str]) -> Shape {
    let options: Vec<&str> = ["-N1", "--exclusive"].iter().chain(more).copied().collect();
    Shape::starts(name, &options)
}

#[test]
fn a_reservation_that_begins_soon_is_for_jobs_that_end_before() -> Outcome {
    on_cluster(prompt(), |cluster| {
        let crowd = Crowd::gather(cluster, whole_nodes())?;
        let flags = "Flags=MAINT,IGNORE_JOBS";
        reserve(
            cluster,
            &[
                "ReservationName=maintenance",
                "Nodes=n3,n4",
                "StartTime=now+1hour",
                flags,
            ],
        )?;

        assert_eq!(
            crowd.try_one(&whole("longer", &["--time=120"]))?,
            "m1",
            "neither m3 nor m4"
        );
        // m1 was stopped once, and is the dearer for it.
        assert_eq!(crowd.try_one(&whole("without a limit", &[]))?, "m2");
        crowd.try_one(&Shape::waits(
            "longer on n4",
            "",
            &["-wn4", "--exclusive", "--time=120"],
        ))?;
        crowd.try_one(&Shape::waits(
            "in it",
            "its reservation has not begun",
            &["-N1", "--exclusive", "--reservation=maintenance", "--time=10"],
        ))?;
        assert_eq!(crowd.try_shape(&whole("shorter", &["--time=10"]))?, "m3");
        // Which would not end before, so until then it may not go back.
        cluster.ask("scontrol", &["delete", "ReservationName=maintenance"])?;
        crowd.settle()
    })
}

#[test]
fn in_a_reservation_those_make_way_who_are_on_its_nodes() -> Outcome {
    on_cluster(prompt(), |cluster| {
        let crowd = Crowd::gather(cluster, whole_nodes())?;
        // m1 and m2 ran before, and stay.
        reserve(
            cluster,
            &[
                "ReservationName=ours",
                "Nodes=n1,n2",
                "StartTime=now",
                "Flags=IGNORE_JOBS",
            ],
        )?;
        let ours = ["--reservation=ours", "--time=60"];
        assert_eq!(
            crowd.try_shape(&whole("in it", &ours))?,
            "m1",
            "dearer than m3, but there"
        );
        // Until then m1 may not go back.
        cluster.ask("scontrol", &["delete", "ReservationName=ours"])?;
        crowd.settle()
    })
}

/// Borrowers, on nodes that are lent until their owner comes (`--signal=R`), and two who borrow nothing.
fn lenders(cluster: &Cluster) -> Outcome<Crowd<'_>> {
    reserve(
        cluster,
        &[
            "ReservationName=lent",
            "Nodes=n3,n4",
            "StartTime=now",
            "MaxStartDelay=60",
        ],
    )?;
    let mut members = whole_nodes();
    members.truncate(2);
    let borrows = |name| whole_node(name, &["--signal=R:USR2@20"]);
    members.push(borrows("m3").worth(20));
    members.push(borrows("m4").worth(10));
    Crowd::gather(cluster, members)
}

/// Up to 24.11.0: they make way for an urgent owner as anybody does.
#[test]
fn who_borrows_a_reservation_with_a_start_delay_is_asked_first() -> Outcome {
    on_cluster(prompt(), |cluster| {
        if places::slurm_version()? >= (24, 11) {
            tell("skipped, for Slurm 24.11 asks nobody: those who borrow a reservation are asked to save");
            return Ok(());
        }
        let crowd = lenders(cluster)?;
        assert_eq!(crowd.try_one(&whole("in it", &["--reservation=lent"]))?, "m4");

        // A normal owner gets no gate, and Slurm without preemption of its own leaves the borrowers alone.
        let owner = cluster.sbatch(&["-N1", "--exclusive", "--reservation=lent"], "sleep 1000")?;
        cluster.wait_for("Slurm to have tried the owner", LIMIT, |cluster| {
            Ok(cluster.job(owner)?.get("Reason") == "Resources")
        })?;
        assert_eq!(
            crowd.try_one(&whole("outside", &[]))?,
            "m1",
            "not those who borrow"
        );
        assert_eq!(cluster.job(owner)?.state(), "PENDING");
        cluster.ask("scancel", &[&owner.to_string()]).map(drop)
    })
}

/// From 24.11.1 on Slurm takes them by itself, for any owner. None is cancelled, and nobody else makes way.
#[test]
fn whom_slurm_takes_for_the_owner_of_a_reservation_is_requeued() -> Outcome {
    on_cluster(prompt(), |cluster| {
        if places::slurm_version()? < (24, 11) {
            tell(
                "skipped, for Slurm before 24.11 asks Surgent: those who borrow a reservation are taken by Slurm itself",
            );
            return Ok(());
        }
        let crowd = lenders(cluster)?;
        let restarts = |names: [&str; 2]| -> Outcome<u32> {
            let jobs = names.map(|name| crowd.numbers(name));
            let restarts = jobs
                .into_iter()
                .flatten()
                .map(|job| Ok(cluster.job(job)?.restarts()));
            restarts.sum()
        };
        for (class, nodes, taken) in [("urgent", "-N1", 1), ("normal", "-N2", 2)] {
            let comment = format!("--comment=urgency={class}");
            let owner = cluster.sbatch(&[nodes, "--exclusive", "--reservation=lent", &comment], "sleep 1")?;
            cluster.wait_for_state(owner, "COMPLETED", LIMIT)?;
            assert_eq!(restarts(["m3", "m4"])?, taken, "for the {class} owner");
        }
        assert_eq!(restarts(["m1", "m2"])?, 0);
        for borrower in ["m3", "m4"].into_iter().flat_map(|name| crowd.numbers(name)) {
            assert_eq!(cluster.job(borrower)?.state(), "PENDING");
        }
        Ok(())
    })
}
