// SPDX-License-Identifier: GPL-2.0-or-later
//! What jobs share, and licences. `OverSubscribe=FORCE` and `EXCLUSIVE` are in `shapes`.

use super::{prompt, whole_nodes};
use crate::on_cluster;
use crate::shapes::crowd::{Crowd, Member, Shape};
use crate::support::Outcome;

#[test]
fn cpus_that_jobs_share_if_they_ask_for_it() -> Outcome {
    let setup = prompt()
        .conf("PartitionName=yes Nodes=n3,n4 OverSubscribe=YES:2")
        .conf("PartitionName=no Nodes=n3,n4 OverSubscribe=NO");
    let sharing = |name, node| Member::new(name, ["-pyes", node, "--oversubscribe", "-n8", "--mem=1000"]);
    on_cluster(setup, |cluster| {
        let crowd = Crowd::gather(
            cluster,
            vec![
                sharing("s1", "-wn3").worth(10),
                sharing("s2", "-wn3").worth(20),
                sharing("s3", "-wn4").worth(80),
            ],
        )?;
        crowd.try_all(&[
            Shape::starts(
                "beside another",
                &["-pyes", "--oversubscribe", "-n8", "--mem=1000", "-wn4"],
            ),
            Shape::starts(
                "in the place of one",
                &["-pyes", "--oversubscribe", "-n8", "--mem=1000", "-wn3"],
            ),
            Shape::starts("in the place of all", &["-pyes", "-n1", "--mem=1000", "-wn3"]),
            Shape::starts("where nobody shares", &["-pno", "-n1", "--mem=1000", "-wn3"]),
            Shape::starts("a whole node", &["-pno", "--exclusive", "-wn3"]),
        ])
    })
}

/// Licences are no reason to stop anybody, and come back when who holds them ends.
#[test]
fn nobody_makes_way_for_a_licence() -> Outcome {
    on_cluster(prompt().conf("Licenses=solver:2"), |cluster| {
        let mut members = whole_nodes();
        let licensed = members.remove(0).with("-Lsolver:1");
        members.push(licensed);
        let mut crowd = Crowd::gather(cluster, members)?;
        let one = ["-N1", "--exclusive", "-Lsolver:1"];
        let both = ["-N1", "--exclusive", "-Lsolver:2"];
        assert_eq!(crowd.try_one(&Shape::starts("a free one", &one))?, "m3");
        crowd.try_one(&Shape::waits("both", "it lacks licenses", &both))?;
        crowd.leave("m1")?;
        assert_eq!(
            crowd.try_one(&Shape::starts("both, once they are free", &both))?,
            "nobody"
        );
        Ok(())
    })
}
