// SPDX-License-Identifier: GPL-2.0-or-later
//! The scontrol and scancel that Surgent is told to use: wrappers that can be made to go wrong.

use crate::field::Field;
use crate::support::{Outcome, write_program};
use std::fs;
use std::path::Path;

/// Puts both into `folder`. A file beside each says how it goes wrong; without it, it does not.
pub fn write_wrappers(folder: &Path) -> Outcome {
    for name in ["scontrol", "scancel"] {
        let path = folder.join(name);
        let text = format!(
            "#!/bin/sh\n\
             case $(cat '{0}.fault' 2>/dev/null) in\n\
             fail) echo '{name}: out of order' >&2; exit 1 ;;\n\
             hang) sleep 1000 ;;\n\
             slow) sleep 2 ;;\n\
             esac\n\
             exec {name} \"$@\"\n",
            path.display()
        );
        write_program(&path, &text)?;
    }
    Ok(())
}

pub fn set(field: &Field<'_>, name: &str, fault: &str) -> Outcome {
    let path = field.commands.join(format!("{name}.fault"));
    fs::write(&path, fault).map_err(|error| format!("{}: {error}", path.display()).into())
}

pub fn remove(field: &Field<'_>, name: &str) -> Outcome {
    let path = field.commands.join(name);
    fs::rename(&path, path.with_extension("away"))
        .map_err(|error| format!("{}: {error}", path.display()).into())
}

pub fn mend(field: &Field<'_>, name: &str) -> Outcome {
    let path = field.commands.join(name);
    let _ = fs::remove_file(path.with_extension("fault"));
    match fs::rename(path.with_extension("away"), &path) {
        Err(error) if !path.exists() => Err(format!("{}: {error}", path.display()).into()),
        _ => Ok(()),
    }
}
