// SPDX-License-Identifier: GPL-2.0-or-later
//! Reservations: who is planned for in them, around them and before them. Those that have begun are in `shapes` too.

use super::{prompt, whole_node, whole_nodes};
use crate::on_cluster;
use crate::shapes::crowd::{Crowd, Shape};
use crate::support::{Cluster, LIMIT, Outcome};

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

/// Who may use reserved nodes until their owner comes (`--signal=R`) makes way for an urgent owner as anybody does.
#[test]
fn who_borrows_a_reservation_with_a_start_delay_is_asked_first() -> Outcome {
    on_cluster(prompt(), |cluster| {
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
        let crowd = Crowd::gather(cluster, members)?;
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
