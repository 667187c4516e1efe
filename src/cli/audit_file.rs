// SPDX-License-Identifier: GPL-2.0-or-later
//! The audit file, read again.

use crate::policy::audit::summary::{Line, Summary};
use std::fs::File;
use std::io::{BufRead, BufReader, Read as _};
use std::path::{Path, PathBuf};

/// No line is longer; a plan with a thousand victims has half a megabyte.
const LINE_MAX_BYTES: u64 = 16 << 20;

/// No summary has more urgent jobs than this.
const URGENT_MAX: usize = 1_000_000;

/// What Surgent would have done in shadow mode by the audit file at `path` and by those that were put aside from it as
/// `.1`, `.2` and so on.
///
/// # Errors
///
/// One line that names the file and the line in it.
pub(super) fn shadow(path: &Path) -> Result<Summary, String> {
    let mut summary = Summary::default();
    // The higher its number the older it is.
    for path in put_aside(path).iter().rev().map(PathBuf::as_path).chain([path]) {
        read(path, &mut summary)?;
    }
    Ok(summary)
}

fn put_aside(path: &Path) -> Vec<PathBuf> {
    let numbered = |number: u32| {
        let mut name = path.as_os_str().to_owned();
        name.push(format!(".{number}"));
        PathBuf::from(name)
    };
    (1..).map(numbered).take_while(|path| path.is_file()).collect()
}

fn read(path: &Path, summary: &mut Summary) -> Result<(), String> {
    let cannot = |what: String| format!("{}: {what}", path.display());
    let file = File::open(path).map_err(|error| cannot(error.to_string()))?;
    let mut file = BufReader::new(file);
    let mut bytes = Vec::new();
    for number in 1.. {
        bytes.clear();
        (&mut file)
            .take(LINE_MAX_BYTES)
            .read_until(b'\n', &mut bytes)
            .map_err(|error| cannot(error.to_string()))?;
        // The end, or a line that slurmctld did not come to finish.
        if bytes.last() != Some(&b'\n') && (bytes.len() as u64) < LINE_MAX_BYTES {
            break;
        }
        if bytes.trim_ascii().is_empty() {
            continue;
        }
        let line = std::str::from_utf8(&bytes)
            .map_err(|error| error.to_string())
            .and_then(|text| Line::parse(text).map_err(|error| error.to_string()))
            .map_err(|error| cannot(format!("line {number}: not a line of an audit file: {error}")))?;
        summary.add(line);
        if summary.urgent.len() > URGENT_MAX {
            return Err(cannot(format!(
                "line {number}: more than {URGENT_MAX} urgent jobs"
            )));
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::fs;

    fn withdrawn(urgent: u32) -> String {
        format!(r#"{{"v":1,"at":9,"shadow":true,"kind":"no_set","urgent":{urgent},"protected":{{}}}}"#)
    }

    #[test]
    fn files_that_were_put_aside_come_first_and_an_unfinished_line_does_not_count() {
        let folder = tempfile::tempdir().unwrap();
        let at = |name: &str| folder.path().join(name);
        for (name, urgent) in [("a.2", 1), ("a.1", 2), ("a", 3), ("a.4", 9)] {
            fs::write(at(name), withdrawn(urgent) + "\n\n" + &withdrawn(8)[..30]).unwrap();
        }
        let summary = shadow(&at("a")).unwrap();
        let urgent: Vec<u32> = summary.urgent.iter().map(|job| job.id.0).collect();
        assert_eq!(urgent, [1, 2, 3]);
    }

    #[test]
    fn what_is_no_audit_file_is_named_with_its_line() {
        let folder = tempfile::tempdir().unwrap();
        let at = folder.path().join("a");
        for bytes in [b"[1]\n".as_slice(), b"{}\n", b"\xff\n", b"a|b\n"] {
            fs::write(&at, [withdrawn(1).as_bytes(), b"\n", bytes].concat()).unwrap();
            let fault = shadow(&at).unwrap_err();
            assert!(
                fault.contains("/a: line 2: not a line of an audit file"),
                "{fault}"
            );
            assert!(!fault.contains('\n'), "{fault}");
        }
        assert!(shadow(folder.path()).unwrap_err().contains("directory"));
        assert!(
            shadow(&folder.path().join("b"))
                .unwrap_err()
                .contains("No such file")
        );
    }
}
