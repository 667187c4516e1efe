// SPDX-License-Identifier: GPL-2.0-or-later
//! A node on which an epilog does not end.

use crate::on_cluster;
use crate::scene::{four, quick, urgent};
use crate::support::{LIMIT, Outcome, write_program};
use tempfile::TempDir;

#[test]
fn a_node_that_is_cleaned_up_without_end_is_not_waited_for() -> Outcome {
    let folder = TempDir::new().map_err(|error| format!("no folder: {error}"))?;
    let (epilog, hangs) = (folder.path().join("epilog"), folder.path().join("hangs"));
    let text = format!(
        "#!/bin/sh\nwhile [ -e '{}' ]; do sleep 0.2; done\n",
        hangs.display()
    );
    write_program(&epilog, &text)?;
    on_cluster(quick().conf(&format!("Epilog={}", epilog.display())), |cluster| {
        let trainees = four(cluster, |training| training.lasting(300, 0.1))?;
        std::fs::write(&hangs, "").map_err(|error| format!("hangs: {error}"))?;
        cluster.ask("scancel", &[&trainees[3].id.to_string()])?;
        cluster.wait_for_state(trainees[3].id, "COMPLETING", LIMIT)?;
        // The node is free but for that, and will be in a moment, so far as one can tell at first.
        let urgent = urgent(cluster, "urgent", 1)?;
        cluster.wait_for("somebody to be asked", 3 * LIMIT, |cluster| {
            Ok(cluster.logged(&["surgent: plan for job"]).is_some())
        })?;
        let node = cluster.ask("sinfo", &["-h", "-t", "completing", "-o", "%D"])?;
        assert_eq!(node.trim(), "1", "the epilog hangs");
        // That of the victim is not to.
        std::fs::remove_file(&hangs).map_err(|error| format!("hangs: {error}"))?;
        cluster.wait_for_state(urgent, "COMPLETED", 2 * LIMIT)
    })
}
