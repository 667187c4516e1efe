// SPDX-License-Identifier: GPL-2.0-or-later
//! StateSaveLocation, the state file, surgent.toml.

use super::Struck;
use crate::fault::Fault;
use crate::field::Field;
use crate::support::{LIMIT, Outcome, finish};
use std::fs::{self, File};
use std::io::Write as _;
use std::path::PathBuf;
use std::process::Command;

const FILLER: &str = "filler";

pub fn fill_state(field: &Field<'_>) -> Outcome {
    let path = field.cluster.state().join(FILLER);
    let mut file = File::create(&path).map_err(|error| format!("{}: {error}", path.display()))?;
    // To the last byte.
    for size in [1 << 20, 4096, 1] {
        let block = vec![b'x'; size];
        while file.write_all(&block).is_ok() {}
    }
    Ok(())
}

pub fn empty_state(field: &Field<'_>) -> Outcome {
    let path = field.cluster.state().join(FILLER);
    fs::remove_file(&path).map_err(|error| format!("{}: {error}", path.display()).into())
}

/// "ro" or "rw"; not while anybody writes there.
pub fn remount_state(field: &Field<'_>, how: &str) -> Outcome {
    let options = format!("remount,{how}");
    field
        .cluster
        .wait_for("the state to be remounted", LIMIT, |cluster| {
            let mut mount = Command::new("mount");
            finish(mount.args(["-o", &options]).arg(cluster.state()), "mount")?;
            Ok(true)
        })
}

/// slurmctld must not run.
pub fn damage_state(field: &Field<'_>) -> Outcome<Struck> {
    let path = field.cluster.state().join("surgent.state");
    let Ok(text) = fs::read_to_string(&path) else {
        return Ok(Err("there is no state file yet".to_owned()));
    };
    let done = match field.round.fault {
        Fault::StateTruncated => fs::write(&path, &text.as_bytes()[..text.len() / 2]),
        Fault::StateNewer => fs::write(&path, text.replacen("\"form\":1", "\"form\":2", 1)),
        _ => std::os::unix::fs::chown(&path, Some(65534), Some(65534)),
    };
    done.map_err(|error| format!("{}: {error}", path.display()))?;
    Ok(Ok(()))
}

fn settings(field: &Field<'_>) -> PathBuf {
    field.cluster.folder().join("surgent.toml")
}

pub fn replace_settings(field: &Field<'_>) -> Outcome {
    let path = settings(field);
    let kept = path.with_extension("kept");
    fs::copy(&path, &kept)
        .and_then(|_| fs::write(&path, b"\x00\xff[[[ mode = \"stop everybody\"\n"))
        .map_err(|error| format!("{}: {error}", path.display()))?;
    // So that it is not only noticed in its own time, after ten seconds.
    field.cluster.reconfigure()
}

pub fn restore_settings(field: &Field<'_>) -> Outcome {
    let path = settings(field);
    fs::rename(path.with_extension("kept"), &path)
        .map_err(|error| format!("{}: {error}", path.display()).into())
}
