// SPDX-License-Identifier: GPL-2.0-or-later
//! The audit on its way to its file: hooks put events into a queue, the planner writes them down.
//!
//! Nothing depends on any of this. What cannot be written is counted, and said in the log once.

mod file;
mod queue;

pub use queue::AuditQueue;

use crate::policy::audit::{Entry, Event};
use crate::policy::settings::AuditSettings;
use crate::policy::units::UnixTime;
use file::AuditFile;
use std::path::{Path, PathBuf};

/// Writes the audit.
#[derive(Debug)]
pub struct Journal {
    state_dir: PathBuf,
    /// Events that are not in the file.
    lost: u64,
    /// What was complained about last.
    complaint: Option<String>,
}

impl Journal {
    /// One that writes within this directory, unless settings name another.
    pub fn within(state_dir: &Path) -> Self {
        Self {
            state_dir: state_dir.to_owned(),
            lost: 0,
            complaint: None,
        }
    }

    /// Writes `entries` in one go, and before them how many were lost since the last time, of which `lost` since then by
    /// others. Returns a sentence for the log where there is news: that it cannot be written, or can be again.
    ///
    /// # Errors
    /// The former.
    pub fn write(
        &mut self,
        settings: &AuditSettings,
        now: UnixTime,
        entries: &[Entry],
        lost: u64,
    ) -> Result<Option<String>, String> {
        self.lost += lost;
        if entries.is_empty() && self.lost == 0 {
            return Ok(None);
        }
        let loss = (self.lost > 0).then_some(Entry {
            at: now,
            shadow: false,
            event: Event::Lost { lines: self.lost },
        });
        let file = AuditFile {
            // An absolute path stays as it is.
            path: self.state_dir.join(&settings.file),
            bytes_max: settings.max_mib << 20,
            keep: settings.keep,
        };
        let written = lines(loss.iter().chain(entries)).and_then(|text| file.append(&text));
        let path = file.path.display();
        match written {
            Ok(()) => {
                self.lost = 0;
                let mended = self.complaint.take();
                Ok(mended.map(|_| format!("{path} is written again")))
            }
            Err(error) => {
                self.lost += entries.len() as u64;
                let sentence = format!(
                    "the audit file {path} cannot be written: {error}; what happens is not written down until that is mended"
                );
                if self.complaint.as_ref() == Some(&sentence) {
                    return Ok(None);
                }
                self.complaint = Some(sentence.clone());
                Err(sentence)
            }
        }
    }
}

fn lines<'a>(entries: impl Iterator<Item = &'a Entry>) -> Result<String, String> {
    let mut text = String::new();
    for entry in entries {
        text += &entry.line().map_err(|error| error.to_string())?;
        text.push('\n');
    }
    Ok(text)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::policy::ids::JobId;

    fn entry(job: u32) -> Entry {
        Entry {
            at: UnixTime(9),
            shadow: false,
            event: Event::GivenUp { urgent: JobId(job) },
        }
    }

    #[test]
    fn what_cannot_be_written_is_said_once_and_counted() {
        let folder = tempfile::tempdir().unwrap();
        let settings = AuditSettings {
            file: "gone/audit".to_owned(),
            ..AuditSettings::default()
        };
        let settings = AuditSettings {
            file: folder.path().join(settings.file).display().to_string(),
            ..settings
        };
        let mut journal = Journal::within(folder.path());
        let now = UnixTime(9);
        assert_eq!(journal.write(&settings, now, &[], 0), Ok(None));
        let error = journal.write(&settings, now, &[entry(1)], 2).unwrap_err();
        assert!(error.contains("gone/audit cannot be written: "), "{error}");
        assert_eq!(
            journal.write(&settings, now, &[entry(2)], 0),
            Ok(None),
            "it is said once"
        );
        std::fs::create_dir(folder.path().join("gone")).unwrap();
        let news = journal.write(&settings, now, &[entry(3)], 0).unwrap().unwrap();
        assert!(news.ends_with("gone/audit is written again"), "{news}");
        let text = std::fs::read_to_string(&settings.file).unwrap();
        let lines: Vec<&str> = text.lines().collect();
        assert_eq!(lines.len(), 2, "{text}");
        assert!(lines[0].ends_with(r#""kind":"lost","lines":4}"#), "{text}");
        assert!(lines[1].ends_with(r#""kind":"given_up","urgent":3}"#), "{text}");
        journal.write(&settings, now, &[entry(4)], 0).unwrap();
        assert_eq!(
            std::fs::read_to_string(&settings.file).unwrap().lines().count(),
            3
        );
    }
}
