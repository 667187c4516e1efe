// SPDX-License-Identifier: GPL-2.0-or-later
//! Faults of files, commands and clocks: of all that is in a folder with `slurm.conf`, `surgent.toml` and StateSaveLocation
//! in `state`.

use super::fault::Fault;
use crate::support::{Outcome, finish};
use std::fs::{self, File};
use std::io::Write as _;
use std::path::{Path, PathBuf};
use std::process::Command;

fn filler(folder: &Path) -> PathBuf {
    folder.join("state/filler")
}

/// Fills StateSaveLocation, which is a file system of its own.
pub fn fill_state(folder: &Path) -> Outcome {
    let path = filler(folder);
    let mut file = File::create(&path).map_err(|error| format!("{}: {error}", path.display()))?;
    // To the last byte.
    for size in [1 << 20, 4096, 1] {
        let block = vec![b'x'; size];
        while file.write_all(&block).is_ok() {}
    }
    Ok(())
}

pub fn empty_state(folder: &Path) -> Outcome {
    let path = filler(folder);
    fs::remove_file(&path).map_err(|error| format!("{}: {error}", path.display()).into())
}

/// "ro" or "rw"; fails while anybody writes there.
pub fn remount_state(folder: &Path, how: &str) -> Outcome {
    let mut mount = Command::new("mount");
    mount.args(["-o", &format!("remount,{how}")]);
    finish(mount.arg(folder.join("state")), "mount").map(drop)
}

/// Does to the state file what `fault` says, while slurmctld does not run; or says why it cannot.
pub fn damage_state(folder: &Path, fault: Fault) -> Outcome<Result<(), String>> {
    let path = folder.join("state/surgent.state");
    let Ok(text) = fs::read_to_string(&path) else {
        return Ok(Err("there is no state file yet".to_owned()));
    };
    let done = match fault {
        Fault::StateTruncated => fs::write(&path, &text.as_bytes()[..text.len() / 2]),
        Fault::StateNewer => fs::write(&path, text.replacen("\"form\":1", "\"form\":2", 1)),
        _ => std::os::unix::fs::chown(&path, Some(65534), Some(65534)),
    };
    done.map_err(|error| format!("{}: {error}", path.display()))?;
    Ok(Ok(()))
}

pub fn replace_settings(folder: &Path) -> Outcome {
    let path = folder.join("surgent.toml");
    fs::copy(&path, path.with_extension("kept"))
        .and_then(|_| fs::write(&path, b"\x00\xff[[[ mode = \"stop everybody\"\n"))
        .map_err(|error| format!("{}: {error}", path.display()).into())
}

pub fn restore_settings(folder: &Path) -> Outcome {
    let path = folder.join("surgent.toml");
    fs::rename(path.with_extension("kept"), &path)
        .map_err(|error| format!("{}: {error}", path.display()).into())
}

/// Makes the command `name` in the folder `commands` go wrong: `missing`, or what it looks for in the file `name.fault`.
pub fn spoil_command(commands: &Path, (name, how): (&str, &str)) -> Outcome {
    let path = commands.join(name);
    let done = match how {
        "missing" => fs::rename(&path, path.with_extension("away")),
        how => fs::write(path.with_extension("fault"), how),
    };
    done.map_err(|error| format!("{}: {error}", path.display()).into())
}

pub fn mend_command(commands: &Path, (name, how): (&str, &str)) -> Outcome {
    let path = commands.join(name);
    let done = match how {
        "missing" => fs::rename(path.with_extension("away"), &path),
        _ => fs::remove_file(path.with_extension("fault")),
    };
    done.map_err(|error| format!("{}: {error}", path.display()).into())
}

/// What slurmctld is to be started with for its clock to be stepped; `None` where libfaketime is not installed.
pub fn clock_environment(folder: &Path) -> Option<Vec<(String, String)>> {
    let architecture = std::env::consts::ARCH;
    let library = format!("/usr/lib/{architecture}-linux-gnu/faketime/libfaketimeMT.so.1");
    let variables = [
        ("LD_PRELOAD", library.clone()),
        (
            "FAKETIME_TIMESTAMP_FILE",
            folder.join("clock").display().to_string(),
        ),
        ("FAKETIME_NO_CACHE", "1".to_owned()),
        ("FAKETIME_DONT_FAKE_MONOTONIC", "1".to_owned()),
        ("DONT_FAKE_MONOTONIC", "1".to_owned()),
    ];
    let variables = variables.map(|(name, value)| (name.to_owned(), value));
    Path::new(&library).exists().then(|| variables.into())
}

/// Steps it by so many seconds; by 0, to the machine's time.
pub fn set_clock(folder: &Path, by_s: i64) -> Outcome {
    let path = folder.join("clock");
    // By rename: slurmctld reads it at any moment.
    let aside = path.with_extension("new");
    fs::write(&aside, format!("{by_s:+}"))
        .and_then(|()| fs::rename(&aside, &path))
        .map_err(|error| format!("{}: {error}", path.display()).into())
}
