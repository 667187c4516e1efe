// SPDX-License-Identifier: GPL-2.0-or-later
//! StateSaveLocation, surgent.toml.

use crate::field::Field;
use crate::rounds::damage;
use crate::support::{LIMIT, Outcome};

/// "ro" or "rw"; not while anybody writes there.
pub fn remount_state(field: &Field<'_>, how: &str) -> Outcome {
    field
        .cluster
        .wait_for("the state to be remounted", LIMIT, |cluster| {
            damage::remount_state(cluster.folder(), how).map(|()| true)
        })
}

pub fn replace_settings(field: &Field<'_>) -> Outcome {
    damage::replace_settings(field.cluster.folder())?;
    // So that it is not only noticed in its own time, after ten seconds.
    field.cluster.reconfigure()
}
