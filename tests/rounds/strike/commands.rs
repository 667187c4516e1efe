// SPDX-License-Identifier: GPL-2.0-or-later
//! The scontrol and scancel that Surgent is told to use: wrappers that can be made to go wrong.

use crate::support::{Outcome, write_program};
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
