// SPDX-License-Identifier: GPL-2.0-or-later
//! Facts in a file: what a plan was made from, to be looked at or planned for again elsewhere.

mod check;

use super::book::Book;
use super::facts::Facts;
use super::line::on_one_line;
use super::settings::Settings;
use serde::{Deserialize, Serialize};

/// The version that is written. It changes when a field changes its meaning, not when one is added.
pub const VERSION: u32 = 1;

/// Facts as JSON, with the version of their form and what else a plan depends on.
#[derive(Clone, Debug, PartialEq, Deserialize)]
pub struct Snapshot {
    /// [`VERSION`] when it was written.
    pub version: u32,
    /// The facts.
    pub facts: Facts,
    /// The settings in force, where they are known.
    #[serde(default)]
    pub settings: Option<Settings>,
    /// What was under way.
    #[serde(default)]
    pub book: Book,
}

/// The same to be written, of what others own.
#[derive(Clone, Copy, Debug, Serialize)]
pub struct SnapshotView<'a> {
    version: u32,
    facts: &'a Facts,
    settings: &'a Settings,
    book: &'a Book,
}

impl<'a> SnapshotView<'a> {
    /// In the present form.
    pub fn of(facts: &'a Facts, settings: &'a Settings, book: &'a Book) -> Self {
        Self {
            version: VERSION,
            facts,
            settings,
            book,
        }
    }
}

/// Why a snapshot cannot be used.
#[derive(Debug, thiserror::Error)]
pub enum SnapshotError {
    /// Not JSON, or not of this form.
    #[error("this is no snapshot of facts: {}", on_one_line(&.0.to_string()))]
    Form(#[from] serde_json::Error),
    /// Of this form, with facts that cannot be.
    #[error("this snapshot says what cannot be: {0}")]
    Facts(String),
    /// Of another version.
    #[error(
        "this snapshot has version {0} and this program reads version {VERSION}; use a program of its version"
    )]
    Version(u32),
    /// With settings that no file could have.
    #[error("the settings in this snapshot are of no use: {0}")]
    Settings(String),
}

impl Snapshot {
    /// Reads the JSON of a snapshot, and puts its nodes and jobs in the order that [`Facts`] ask for.
    ///
    /// # Errors
    /// Text that is no snapshot, one of another version, or one with facts that cannot be.
    pub fn parse(text: &str) -> Result<Self, SnapshotError> {
        #[derive(Deserialize)]
        struct Head {
            version: u32,
        }
        let Head { version } = serde_json::from_str(text)?;
        if version != VERSION {
            return Err(SnapshotError::Version(version));
        }
        let mut snapshot: Self = serde_json::from_str(text)?;
        snapshot.facts.nodes.sort_by_key(|node| node.index);
        snapshot.facts.running.sort_by_key(|job| job.id);
        check::check(&snapshot.facts).map_err(SnapshotError::Facts)?;
        if let Some(settings) = &snapshot.settings {
            settings
                .check()
                .map_err(|fault| SnapshotError::Settings(fault.sentence))?;
        }
        Ok(snapshot)
    }
}

/// Bytes that nearly always are text: as a string, or as a list of numbers where they are not UTF-8.
pub(super) mod text {
    use serde::{Deserialize, Deserializer, Serialize, Serializer};

    #[derive(Deserialize)]
    #[serde(untagged)]
    enum Form {
        Text(String),
        Bytes(Vec<u8>),
    }

    pub(in crate::policy) fn serialize<S: Serializer>(
        bytes: &[u8],
        serializer: S,
    ) -> Result<S::Ok, S::Error> {
        match std::str::from_utf8(bytes) {
            Ok(text) => text.serialize(serializer),
            Err(_) => bytes.serialize(serializer),
        }
    }

    pub(in crate::policy) fn deserialize<'de, D: Deserializer<'de>>(
        deserializer: D,
    ) -> Result<Vec<u8>, D::Error> {
        Ok(match Form::deserialize(deserializer)? {
            Form::Text(text) => text.into_bytes(),
            Form::Bytes(bytes) => bytes,
        })
    }
}
