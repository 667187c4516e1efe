// SPDX-License-Identifier: GPL-2.0-or-later
//! Reports: one line of JSON each, in the file that `$SURGENT_REPORT` names.

use super::saving::checkpoint::{Fault, check};
use crate::policy::directives::EPOCHS_MAX;
use serde::{Deserialize, Serialize};
use std::path::PathBuf;

/// How much of a wrong report a sentence shows, in characters.
const SHOWN_CHARS_MAX: usize = 80;

/// What a training program says of itself. Members of other names, such as `step` or `loss`, are its own affair.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct Report {
    /// Epochs completed so far, may be fractional.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub epoch: Option<f64>,
    /// Epochs in all, a whole number.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub epochs: Option<f64>,
    /// The model has been saved, and where.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub saved: Option<Saved>,
    /// The program looks for requests to save in the file that `$SURGENT_SAVE_REQUEST` names.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub can_save: Option<bool>,
    /// When this was so, Unix seconds; otherwise when the line is read.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub at: Option<f64>,
}

/// A save that is complete.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(untagged)]
pub enum Saved {
    /// `true`: the program knows where. `false`: no save.
    Somewhere(bool),
    /// In this file or folder.
    Path(PathBuf),
}

/// Why a report does not count.
#[derive(Debug, thiserror::Error)]
pub enum ReportError {
    /// Not a line of JSON of the right form.
    #[error(
        "the report {line} is not understood ({source}); write one JSON object a line, such as {{\"epoch\": 12, \"epochs\": 90}}"
    )]
    Json {
        /// The line, shortened.
        line: String,
        /// What is wrong with it.
        source: serde_json::Error,
    },
    /// No such number of epochs.
    #[error("epochs is {0}; it is the epochs in all, a whole number from 1 to {EPOCHS_MAX}")]
    Epochs(f64),
    /// No such epoch.
    #[error("epoch is {0}; it is the epochs completed so far, 0 or more")]
    Epoch(f64),
    /// More epochs done than there are.
    #[error("epoch {epoch} is beyond the {epochs} epochs in all; epoch counts the epochs completed so far")]
    BeyondTotal {
        /// Epochs said to be completed.
        epoch: f64,
        /// Epochs in all.
        epochs: f64,
    },
    /// The save is not there.
    #[error("{} is not there, so it does not count as a save; report a save when its file is complete", .0.display())]
    NoSuchSave(PathBuf),
    /// What is there is only a part of it.
    #[error("{} {fault}, so it does not count as a save; report a save when its file is complete", .path.display())]
    BrokenSave {
        /// The file.
        path: PathBuf,
        /// What is wrong with it.
        fault: Fault,
    },
}

impl Report {
    /// Reads one line; `None` for an empty one.
    ///
    /// # Errors
    ///
    /// A line that is no JSON object, or holds values that cannot be meant.
    pub fn parse(line: &[u8]) -> Result<Option<Self>, ReportError> {
        if line.trim_ascii().is_empty() {
            return Ok(None);
        }
        let report: Self = serde_json::from_slice(line).map_err(|source| ReportError::Json {
            line: shown(line),
            source,
        })?;
        report.check()?;
        Ok(Some(report))
    }

    /// Checks the values, without a look at any file.
    ///
    /// # Errors
    ///
    /// Values that cannot be meant.
    pub fn check(&self) -> Result<(), ReportError> {
        if let Some(epoch) = self
            .epoch
            .filter(|epoch| !(0.0..=f64::from(EPOCHS_MAX)).contains(epoch))
        {
            return Err(ReportError::Epoch(epoch));
        }
        let is_total = |epochs: f64| epochs.fract() == 0.0 && (1.0..=f64::from(EPOCHS_MAX)).contains(&epochs);
        if let Some(epochs) = self.epochs.filter(|&epochs| !is_total(epochs)) {
            return Err(ReportError::Epochs(epochs));
        }
        match (self.epoch, self.epochs) {
            (Some(epoch), Some(epochs)) if epoch > epochs => Err(ReportError::BeyondTotal { epoch, epochs }),
            _ => Ok(()),
        }
    }

    /// Epochs in all.
    pub fn total(&self) -> Option<u32> {
        // Checked to be a whole number in range.
        self.epochs.map(|epochs| epochs as u32)
    }

    /// Whether a save is complete.
    ///
    /// # Errors
    ///
    /// Where the save names a path at which there is nothing, or a file that is broken by its own format.
    pub fn has_saved(&self) -> Result<bool, ReportError> {
        match &self.saved {
            None => Ok(false),
            Some(Saved::Somewhere(saved)) => Ok(*saved),
            Some(Saved::Path(path)) if path.is_file() => match check(path) {
                Ok(_) => Ok(true),
                Err(fault) => Err(ReportError::BrokenSave {
                    path: path.clone(),
                    fault,
                }),
            },
            Some(Saved::Path(path)) if path.exists() => Ok(true),
            Some(Saved::Path(path)) => Err(ReportError::NoSuchSave(path.clone())),
        }
    }

    /// The report as one line with its newline.
    pub fn to_line(&self) -> String {
        // Numbers and a path: the one thing that cannot be written as JSON is a path that is not UTF-8.
        let line = serde_json::to_string(self).unwrap_or_else(|_| r#"{"saved":true}"#.to_owned());
        line + "\n"
    }
}

fn shown(line: &[u8]) -> String {
    let line = String::from_utf8_lossy(line);
    let mut shown: String = line
        .trim()
        .chars()
        .take(SHOWN_CHARS_MAX)
        .flat_map(char::escape_default)
        .collect();
    if line.trim().chars().count() > SHOWN_CHARS_MAX {
        shown.push_str("...");
    }
    shown
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn table_of_lines() {
        type Expected = Result<(Option<f64>, Option<u32>), &'static str>;
        let table: [(&str, Expected); 12] = [
            (
                r#"{"epoch": 12, "epochs": 90, "step": 3, "loss": 0.1}"#,
                Ok((Some(12.0), Some(90))),
            ),
            (r#"{"epoch": 12.25}"#, Ok((Some(12.25), None))),
            (r#"{"epochs": 90.0}"#, Ok((None, Some(90)))),
            ("  ", Ok((None, None))),
            (r#"{"epoch": -1}"#, Err("epoch is -1")),
            (r#"{"epoch": 1e300}"#, Err("epoch is 1")),
            (r#"{"epochs": 0}"#, Err("epochs is 0")),
            (r#"{"epochs": 2.5}"#, Err("epochs is 2.5")),
            (r#"{"epoch": 91, "epochs": 90}"#, Err("epoch 91 is beyond the 90")),
            (r#"{"epoch": "12"}"#, Err("is not understood")),
            (r#"{"epoch": NaN}"#, Err("is not understood")),
            ("epoch 12", Err("the report epoch 12 is not understood")),
        ];
        for (line, expected) in table {
            match (Report::parse(line.as_bytes()), expected) {
                (Ok(report), Ok(values)) => {
                    let report = report.unwrap_or_default();
                    assert_eq!((report.epoch, report.total()), values, "{line}");
                }
                (Err(error), Err(part)) => assert!(error.to_string().contains(part), "{line}: {error}"),
                (read, _) => panic!("{line}: {read:?}"),
            }
        }
    }

    #[test]
    fn a_save_is_there_and_not_broken() {
        let folder = tempfile::tempdir().expect("a folder");
        let saved = |name: &str, bytes: &[u8]| {
            let path = folder.path().join(name);
            std::fs::write(&path, bytes).expect("its own folder");
            let saved = Some(Saved::Path(path));
            Report {
                saved,
                ..Report::default()
            }
            .has_saved()
        };
        assert!(matches!(saved("model.bin", b"weights"), Ok(true)));
        assert!(matches!(saved("mark", b""), Ok(true)));
        assert!(matches!(
            saved("model.npz", b"PK\x03\x04half"),
            Err(ReportError::BrokenSave { .. })
        ));
        let here = Some(Saved::Path(folder.path().to_owned()));
        assert!(
            Report {
                saved: here,
                ..Report::default()
            }
            .has_saved()
            .expect("there")
        );
    }

    #[test]
    fn a_wrong_line_is_shown_short_and_harmless() {
        let line = format!("\x1b[31m{}", "x".repeat(10_000));
        let error = Report::parse(line.as_bytes()).expect_err("no JSON").to_string();
        assert!(error.len() < 400 && !error.contains('\x1b'), "{error}");
    }

    #[test]
    fn a_save_counts_only_where_it_is() {
        let saved = |line: &str| {
            Report::parse(line.as_bytes())
                .expect("JSON")
                .expect("not empty")
                .has_saved()
        };
        assert!(saved(r#"{"saved": true}"#).expect("no path"));
        assert!(!saved(r#"{"saved": false}"#).expect("no path"));
        assert!(!saved(r#"{"saved": null}"#).expect("no path"));
        assert!(saved(r#"{"saved": "/proc/self"}"#).expect("it is there"));
        assert!(saved(r#"{"saved": "/surgent/no/such/file"}"#).is_err());
    }

    #[test]
    fn what_is_written_is_read_back() {
        let report = Report {
            epoch: Some(12.5),
            epochs: Some(90.0),
            saved: Some(Saved::Path("/tmp/a b\n\"c\".pt".into())),
            can_save: Some(true),
            at: Some(1_764_410_000.25),
        };
        let line = report.to_line();
        assert_eq!(line.matches('\n').count(), 1, "{line}");
        assert_eq!(Report::parse(line.as_bytes()).expect("JSON"), Some(report));
    }
}
