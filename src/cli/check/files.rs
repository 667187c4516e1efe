// SPDX-License-Identifier: GPL-2.0-or-later
//! Surgent's own files: its settings, and what it is in the middle of.

use super::finding::Finding;
use super::safety;
use crate::host::config::ConfigFile;
use crate::host::state::StateFile;
use crate::policy::settings::Mode;
use std::fs;
use std::io::ErrorKind;
use std::path::Path;

/// `surgent.toml` beside this slurm.conf.
pub fn settings(slurm_conf: &Path) -> Vec<Finding> {
    const ABOUT: &str = "surgent.toml";
    let path = slurm_conf.with_file_name(ABOUT);
    let shown = path.display();
    let finding = match ConfigFile::beside(slurm_conf).changed() {
        Some(Err(sentence)) => Finding::error(
            ABOUT,
            sentence,
            "mend that line; what slurmctld has read last is in force until then",
        ),
        None | Some(Ok(_)) if !path.exists() => {
            Finding::note(ABOUT, format!("{shown} is not there: the defaults are in force"))
        }
        None => Finding::note(ABOUT, format!("{shown} was not read")),
        Some(Ok(settings)) => match settings.mode {
            Mode::On => Finding::ok(ABOUT, format!("{shown}, mode on")),
            Mode::Shadow => Finding::note(
                ABOUT,
                format!("{shown}, mode shadow: what would be done is logged, and no job is touched"),
            ),
            Mode::Off => Finding::warning(
                ABOUT,
                format!("{shown}, mode off: Surgent does nothing"),
                "write mode = \"shadow\" or mode = \"on\"",
            ),
        },
    };
    [Some(finding), safety::finding(&path)]
        .into_iter()
        .flatten()
        .collect()
}

/// `surgent.state` under StateSaveLocation.
pub fn state(state_dir: &Path) -> Vec<Finding> {
    const ABOUT: &str = "surgent.state";
    let path = state_dir.join(ABOUT);
    let shown = path.display();
    let finding = match fs::File::open(&path) {
        Err(error) if error.kind() == ErrorKind::PermissionDenied => Finding::note(
            ABOUT,
            format!(
                "{shown} is not for your eyes; `surgent check` looks at it where root or SlurmUser runs it"
            ),
        ),
        Err(error) if error.kind() == ErrorKind::NotFound => Finding::note(
            ABOUT,
            format!("{shown} is not there yet: it is written with the first urgent job that finds no room"),
        ),
        Err(error) => Finding::error(
            ABOUT,
            format!("{shown}: {error}"),
            "see that slurmctld can read and write it",
        ),
        Ok(_) => match StateFile::within(state_dir).load() {
            Ok(_) => Finding::ok(ABOUT, shown.to_string()),
            Err(sentence) => Finding::error(
                ABOUT,
                sentence,
                format!("keep a copy for a report of this fault, and remove {shown} while slurmctld is down"),
            ),
        },
    };
    [Some(finding), safety::finding(&path)]
        .into_iter()
        .flatten()
        .collect()
}

#[cfg(test)]
mod tests {
    use super::super::finding::Level;
    use super::*;

    #[test]
    fn a_file_that_cannot_be_used_is_named_with_its_line() {
        let folder = tempfile::tempdir().unwrap();
        let conf = folder.path().join("slurm.conf");
        let levels = |text: &str| {
            fs::write(folder.path().join("surgent.toml"), text).unwrap();
            settings(&conf)[0].clone()
        };
        assert_eq!(settings(&conf)[0].level, Level::Note);
        assert_eq!(levels("").level, Level::Ok);
        assert_eq!(levels("mode = \"shadow\"").level, Level::Note);
        assert_eq!(levels("mode = \"off\"").level, Level::Warning);
        let wrong = levels("mode = \"on\"\nmood = 1");
        assert_eq!(wrong.level, Level::Error);
        assert!(
            wrong.found.contains("mood") && wrong.found.contains("line 2"),
            "{wrong:?}"
        );
    }

    #[test]
    fn a_state_that_cannot_be_used_is_named() {
        let folder = tempfile::tempdir().unwrap();
        assert_eq!(state(folder.path())[0].level, Level::Note);
        fs::write(folder.path().join("surgent.state"), "{").unwrap();
        assert_eq!(state(folder.path())[0].level, Level::Error);
    }
}
