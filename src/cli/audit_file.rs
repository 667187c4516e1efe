// SPDX-License-Identifier: GPL-2.0-or-later
//! The audit file, read again.

use crate::policy::audit::summary::{Line, Summary};
use crate::policy::units::UnixTime;
use std::fs::File;
use std::io::{BufRead as _, BufReader, Error, ErrorKind, Read as _};
use std::path::{Path, PathBuf};
use std::time::{Duration, SystemTime};

/// No line is longer; a plan with a thousand victims has half a megabyte.
const LINE_MAX_BYTES: u64 = 16 << 20;

/// More files than these are never kept.
const ASIDE_MAX: u32 = 10_000;

/// No summary has more urgent jobs than this.
const URGENT_MAX: usize = 1_000_000;

/// What Surgent would have done in shadow mode, by all lines that were written from `since` on. What is no line of an
/// audit file is handed to `misfit`, as a sentence; if that gives an error, reading ends.
///
/// # Errors
///
/// As of [`each_line`]; or none of its lines is one of an audit file.
pub(super) fn shadow(
    path: &Path,
    since: UnixTime,
    misfit: &mut dyn FnMut(String) -> Result<(), String>,
) -> Result<Summary, String> {
    let mut summary = Summary::default();
    let (mut has_line, mut first_misfit) = (false, None);
    each_line(path, since, &mut |bytes| {
        match Line::parse(bytes) {
            Err(error) => {
                let sentence = format!("not a line of an audit file: {error}");
                first_misfit.get_or_insert_with(|| sentence.clone());
                misfit(sentence)?;
            }
            Ok(line) => {
                has_line = true;
                if line.at >= since {
                    summary.add(line);
                }
            }
        }
        if summary.urgent.len() > URGENT_MAX {
            return Err(format!("more than {URGENT_MAX} urgent jobs"));
        }
        Ok(())
    })?;
    match first_misfit.filter(|_| !has_line) {
        Some(sentence) => Err(format!("{}: {sentence}; nor is any other one", path.display())),
        None => Ok(summary),
    }
}

/// Hands every line of the audit file at `path`, and of those that were put aside from it as `.1`, `.2` and so on, to `take`,
/// the oldest first. Files that were not written to since then are passed over, as are empty lines, and a last line that
/// slurmctld did not come to finish.
///
/// # Errors
///
/// One line that names the file, and for an error of `take` the line in it.
pub(super) fn each_line(
    path: &Path,
    since: UnixTime,
    take: &mut dyn FnMut(&[u8]) -> Result<(), String>,
) -> Result<(), String> {
    let aside = (1..=ASIDE_MAX).map(|number| {
        let mut name = path.as_os_str().to_owned();
        name.push(format!(".{number}"));
        PathBuf::from(name)
    });
    // The higher its number the older it is.
    let mut aside: Vec<PathBuf> = aside.take_while(|file| is_wanted(file, since)).collect();
    aside.reverse();
    for file in aside {
        match open(&file) {
            // Put aside once more meanwhile.
            Err(error) if error.kind() == ErrorKind::NotFound => {}
            opened => read(&file, opened, take)?,
        }
    }
    read(path, open(path), take)
}

/// Whether it is there, and was still written to after `since`.
fn is_wanted(file: &Path, since: UnixTime) -> bool {
    let since = SystemTime::UNIX_EPOCH + Duration::from_secs(u64::try_from(since.0).unwrap_or(0));
    let modified = std::fs::metadata(file).and_then(|meta| meta.modified());
    modified.is_ok_and(|modified| modified >= since)
}

fn open(path: &Path) -> Result<File, Error> {
    // To open a FIFO would be to wait for its other end.
    if !std::fs::metadata(path)?.is_file() {
        return Err(Error::other("it is no regular file"));
    }
    File::open(path)
}

fn read(
    path: &Path,
    opened: Result<File, Error>,
    take: &mut dyn FnMut(&[u8]) -> Result<(), String>,
) -> Result<(), String> {
    let cannot = |error: Error| sentence(path, &error);
    let mut file = BufReader::with_capacity(1 << 16, opened.map_err(cannot)?);
    let mut bytes = Vec::new();
    for number in 1.. {
        bytes.clear();
        (&mut file)
            .take(LINE_MAX_BYTES)
            .read_until(b'\n', &mut bytes)
            .map_err(cannot)?;
        // The end, or a line that is on its way still.
        if bytes.last() != Some(&b'\n') && (bytes.len() as u64) < LINE_MAX_BYTES {
            break;
        }
        if !bytes.trim_ascii().is_empty() {
            take(&bytes).map_err(|error| format!("{}: line {number}: {error}", path.display()))?;
        }
    }
    Ok(())
}

fn sentence(path: &Path, error: &Error) -> String {
    let shown = path.display();
    match error.kind() {
        ErrorKind::PermissionDenied => format!(
            "{shown}: the audit file is for SlurmUser and its group; ask an administrator, or run this on the controller as root"
        ),
        ErrorKind::NotFound => format!(
            "{shown}: there is no audit file here; it is on the controller, once Surgent in mode shadow or on has had something to write"
        ),
        _ => format!("{shown}: {error}"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::fs;

    const ALL: UnixTime = UnixTime(0);

    fn no_set(urgent: u32) -> String {
        format!(r#"{{"v":1,"at":9,"shadow":true,"kind":"no_set","urgent":{urgent},"protected":{{}}}}"#)
    }

    #[test]
    fn files_that_were_put_aside_come_first_and_an_unfinished_line_does_not_count() {
        let folder = tempfile::tempdir().unwrap();
        let at = |name: &str| folder.path().join(name);
        for (name, urgent) in [("a.2", 1), ("a.1", 2), ("a", 3), ("a.4", 9)] {
            fs::write(at(name), no_set(urgent) + "\n\n" + &no_set(8)[..30]).unwrap();
        }
        let summary = shadow(&at("a"), ALL, &mut Err).unwrap();
        let urgent: Vec<u32> = summary.urgent.iter().map(|job| job.id.0).collect();
        assert_eq!(urgent, [1, 2, 3]);
    }

    #[test]
    fn what_is_no_audit_file_is_named_with_its_line_or_passed_over() {
        let folder = tempfile::tempdir().unwrap();
        let at = folder.path().join("a");
        for bytes in [b"[1]\n".as_slice(), b"{}\n", b"\xff\n", b"a|b\n"] {
            fs::write(
                &at,
                [no_set(1).as_bytes(), b"\n", bytes, no_set(2).as_bytes(), b"\n"].concat(),
            )
            .unwrap();
            let fault = shadow(&at, ALL, &mut Err).unwrap_err();
            assert!(
                fault.contains("/a: line 2: not a line of an audit file"),
                "{fault}"
            );
            assert!(!fault.contains('\n'), "{fault}");
            let mut misfits = 0;
            let summary = shadow(&at, ALL, &mut |_| {
                misfits += 1;
                Ok(())
            });
            assert_eq!((summary.unwrap().urgent.len(), misfits), (2, 1));
        }
        let fault = |path: &Path| shadow(path, ALL, &mut Err).unwrap_err();
        assert!(fault(folder.path()).contains("no regular file"));
        assert!(fault(&folder.path().join("b")).contains("there is no audit file here"));
    }

    #[test]
    fn a_file_without_a_single_line_of_an_audit_file_is_none() {
        let folder = tempfile::tempdir().unwrap();
        let at = folder.path().join("a");
        let read = |text: &str, since: i64| {
            fs::write(&at, text).unwrap();
            shadow(&at, UnixTime(since), &mut |_| Ok(()))
        };
        let fault = read("Nov 29 slurmctld: started\n{}\n", 0).unwrap_err();
        assert!(fault.contains("not a line of an audit file"), "{fault}");
        let newer = no_set(1).replace("\"v\":1", "\"v\":2") + "\n";
        let fault = read(&newer, 0).unwrap_err();
        assert!(fault.contains("version 2"), "{fault}");
        // One that is older is one all the same.
        assert_eq!(read(&(no_set(1) + "\nrubbish\n"), 10).unwrap().lines, 0);
        assert_eq!(read("", 0).unwrap().lines, 0);
    }

    #[test]
    fn what_is_older_does_not_count() {
        let folder = tempfile::tempdir().unwrap();
        let at = folder.path().join("a");
        let lines = [
            no_set(1),
            no_set(2).replace("\"at\":9", "\"at\":10"),
            String::new(),
        ];
        fs::write(&at, lines.join("\n")).unwrap();
        let summary = shadow(&at, UnixTime(10), &mut Err).unwrap();
        assert_eq!((summary.lines, summary.urgent[0].id.0), (1, 2));
    }
}
