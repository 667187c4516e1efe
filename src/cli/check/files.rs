// SPDX-License-Identifier: GPL-2.0-or-later
//! Surgent's own files: its settings, and what it is in the middle of.

use super::finding::Finding;
use super::names;
use super::safety;
use crate::host::config::ConfigFile;
use crate::host::people::System;
use crate::host::state::StateFile;
use crate::policy::settings::Mode;
use std::collections::BTreeSet;
use std::fs;
use std::io::ErrorKind;
use std::path::Path;

/// Whether slurmctld answers.
#[derive(Debug)]
pub enum Slurmctld {
    /// It does, and has these partitions, where it tells.
    Answers {
        /// Their names.
        partitions: Option<BTreeSet<String>>,
    },
    /// It does not.
    IsSilent,
}

/// `surgent.toml` beside this slurm.conf.
pub fn settings(slurm_conf: &Path, slurmctld: Slurmctld) -> Vec<Finding> {
    const ABOUT: &str = "surgent.toml";
    let path = slurm_conf.with_file_name(ABOUT);
    let shown = path.display();
    let (until_then, partitions) = match slurmctld {
        Slurmctld::Answers { partitions } => {
            ("what slurmctld has read last is in force until then", partitions)
        }
        Slurmctld::IsSilent => ("a slurmctld that starts before that has Surgent do nothing", None),
    };
    let mut names = Vec::new();
    let finding = match ConfigFile::beside(slurm_conf).changed() {
        Some(Err(sentence)) => Finding::error(ABOUT, sentence, format!("mend that line; {until_then}")),
        None | Some(Ok(_)) if !path.exists() => {
            Finding::note(ABOUT, format!("{shown} is not there: the defaults are in force"))
        }
        None => Finding::note(ABOUT, format!("{shown} was not read")),
        Some(Ok(settings)) => {
            names = names::findings(&settings, System, partitions.as_ref());
            of_mode(ABOUT, &path, settings.mode)
        }
    };
    let findings = [Some(finding), safety::finding(&path)].into_iter().flatten();
    findings.chain(names).collect()
}

fn of_mode(about: &str, path: &Path, mode: Mode) -> Finding {
    let shown = path.display();
    match mode {
        Mode::On => Finding::ok(about, format!("{shown}, mode on")),
        Mode::Shadow => Finding::note(
            about,
            format!("{shown}, mode shadow: what would be done is logged, and no job is touched"),
        ),
        Mode::Off => Finding::warning(
            about,
            format!("{shown}, mode off: Surgent does nothing"),
            "write mode = \"shadow\" or mode = \"on\"",
        ),
    }
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
            settings(&conf, Slurmctld::IsSilent)[0].clone()
        };
        assert_eq!(settings(&conf, Slurmctld::IsSilent)[0].level, Level::Note);
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
    fn only_a_slurmctld_that_answers_has_settings_in_force() {
        let folder = tempfile::tempdir().unwrap();
        let conf = folder.path().join("slurm.conf");
        fs::write(folder.path().join("surgent.toml"), "mood = 1").unwrap();
        let change = |slurmctld| settings(&conf, slurmctld)[0].change.clone().unwrap();
        assert!(change(Slurmctld::Answers { partitions: None }).contains("in force"));
        assert!(change(Slurmctld::IsSilent).contains("do nothing"));
    }

    #[test]
    fn a_state_that_cannot_be_used_is_named() {
        let folder = tempfile::tempdir().unwrap();
        assert_eq!(state(folder.path())[0].level, Level::Note);
        fs::write(folder.path().join("surgent.state"), "{").unwrap();
        assert_eq!(state(folder.path())[0].level, Level::Error);
    }
}
