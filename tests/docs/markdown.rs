// SPDX-License-Identifier: GPL-2.0-or-later
//! As much of Markdown as the documentation uses.

use regex::Regex;
use std::fs;
use std::path::{Path, PathBuf};

/// One page of the documentation.
pub struct Page {
    /// From the top of the tree.
    pub path: PathBuf,
    pub text: String,
}

pub fn root() -> &'static Path {
    Path::new(env!("CARGO_MANIFEST_DIR"))
}

impl Page {
    pub fn read(path: &Path) -> Self {
        let text = fs::read_to_string(root().join(path))
            .unwrap_or_else(|error| panic!("{}: {error}", path.display()));
        Self {
            path: path.to_owned(),
            text,
        }
    }

    /// All pages that people are to read.
    pub fn all() -> Vec<Self> {
        let mut paths: Vec<PathBuf> = ["README.md", "CHANGELOG.md", "packaging/python/README.md"]
            .map(PathBuf::from)
            .into();
        for entry in fs::read_dir(root().join("docs")).unwrap() {
            let path = PathBuf::from("docs").join(entry.unwrap().file_name());
            if path.extension().is_some_and(|ending| ending == "md") {
                paths.push(path);
            }
        }
        paths.sort();
        paths.iter().map(|path| Self::read(path)).collect()
    }

    /// The blocks between fences, each with the word behind the first fence.
    pub fn blocks(&self) -> Vec<(&str, &str)> {
        self.parts(true)
            .map(|block| block.split_once('\n').unwrap_or((block, "")))
            .map(|(kind, text)| (kind.trim(), text))
            .collect()
    }

    /// The text outside of fences.
    pub fn prose(&self) -> String {
        self.parts(false).collect()
    }

    fn parts(&self, inside: bool) -> impl Iterator<Item = &str> {
        self.text.split("```").skip(usize::from(inside)).step_by(2)
    }

    /// What stands between single backticks. A span may go over the end of a line.
    pub fn spans(&self) -> Vec<String> {
        let span = Regex::new("`([^`]+)`").unwrap();
        let prose = self.prose();
        let found = span.captures_iter(&prose);
        found.map(|span| span[1].replace('\n', " ")).collect()
    }

    /// All that is code: the spans, and the lines of the blocks.
    pub fn code(&self) -> Vec<String> {
        let lines = self.blocks();
        let lines = lines.iter().flat_map(|(_, text)| text.lines()).map(str::to_owned);
        self.spans().into_iter().chain(lines).collect()
    }

    /// The anchors of its headings, as the usual viewers make them.
    pub fn anchors(&self) -> Vec<String> {
        let prose = self.prose();
        let headings = prose.lines().filter_map(|line| {
            line.trim_start_matches('#')
                .strip_prefix(' ')
                .filter(|_| line.starts_with('#'))
        });
        let mut anchors: Vec<String> = Vec::new();
        for heading in headings {
            let kept = heading
                .to_lowercase()
                .chars()
                .filter(|c| c.is_alphanumeric() || " -_".contains(*c))
                .collect::<String>();
            let anchor = kept.replace(' ', "-");
            let before = anchors.iter().filter(|other| **other == anchor).count();
            anchors.push(match before {
                0 => anchor,
                count => format!("{anchor}-{count}"),
            });
        }
        anchors
    }
}
