// SPDX-License-Identifier: GPL-2.0-or-later
//! `surgent.toml`, beside slurm.conf: read at start and again when it has changed.

use super::kept_file;
use crate::policy::settings::Settings;
use std::fs::{File, Metadata, OpenOptions};
use std::io::ErrorKind;
use std::os::unix::fs::{MetadataExt as _, OpenOptionsExt as _};
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

/// No `surgent.toml` is longer.
const FILE_MAX_BYTES: u64 = 1 << 20;

/// A file that has changed is read once it has stayed as it is for this long: in the middle of an editor's save it may be
/// empty, half of what it will be, or not there, and each of these would be settings that nobody wants.
pub const SETTLES_IN: Duration = Duration::from_secs(1);

/// What tells one version of a file from the next.
#[derive(Clone, Debug, PartialEq, Eq)]
struct Stamp {
    inode: (u64, u64),
    bytes: u64,
    modified: (i64, i64),
    changed: (i64, i64),
}

impl Stamp {
    fn of(meta: &Metadata) -> Self {
        Self {
            inode: (meta.dev(), meta.ino()),
            bytes: meta.len(),
            modified: (meta.mtime(), meta.mtime_nsec()),
            changed: (meta.ctime(), meta.ctime_nsec()),
        }
    }
}

/// A version of the file; `None` where there is none, a sentence where that cannot be told.
type Version = Result<Option<Stamp>, String>;

/// Watches one `surgent.toml`.
#[derive(Debug)]
pub struct ConfigFile {
    path: PathBuf,
    /// What was read last.
    seen: Option<Version>,
    /// Another version, and since when it is there.
    settling: Option<(Version, Instant)>,
}

impl ConfigFile {
    /// The file that belongs to this slurm.conf.
    pub fn beside(slurm_conf: &Path) -> Self {
        Self {
            path: slurm_conf.with_file_name("surgent.toml"),
            seen: None,
            settling: None,
        }
    }

    /// Whether it has not been read yet.
    pub fn is_unread(&self) -> bool {
        self.seen.is_none()
    }

    /// Whether it has changed, and is to be looked at again after [`SETTLES_IN`].
    pub fn is_settling(&self) -> bool {
        self.settling.is_some()
    }

    /// The settings, if the file has changed since they were read last; a file that is not there at first gives the
    /// defaults. Where nothing has changed this is one call of `stat`.
    ///
    /// # Errors
    /// A sentence for the log where the file cannot be used, or is gone: somebody moves it, and does not mean that
    /// everybody may be urgent at once.
    pub fn changed(&mut self) -> Option<Result<Settings, String>> {
        let version = self.version();
        if self.seen.as_ref() == Some(&version) {
            self.settling = None;
            return None;
        }
        if !self.is_unread() && !self.has_settled(&version) {
            return None;
        }
        self.settling = None;
        let settings = match &version {
            Ok(None) if self.is_unread() => Ok(Settings::default()),
            Ok(None) => Err("it is gone".to_owned()),
            Ok(Some(_)) => self.read(),
            Err(sentence) => Err(sentence.clone()),
        };
        self.seen = Some(version);
        Some(settings.map_err(|error| format!("{}: {error}", self.path.display())))
    }

    fn version(&self) -> Version {
        match std::fs::metadata(&self.path) {
            Ok(meta) => Ok(Some(Stamp::of(&meta))),
            Err(error) if error.kind() == ErrorKind::NotFound => Ok(None),
            Err(error) => Err(error.to_string()),
        }
    }

    fn has_settled(&mut self, version: &Version) -> bool {
        match &self.settling {
            Some((settling, since)) if settling == version => since.elapsed() >= SETTLES_IN,
            _ => {
                self.settling = Some((version.clone(), Instant::now()));
                false
            }
        }
    }

    fn read(&self) -> Result<Settings, String> {
        let text = kept_file::read_up_to(self.open()?, FILE_MAX_BYTES).map_err(|error| error.to_string())?;
        let text = str::from_utf8(&text).map_err(|error| {
            let line = text[..error.valid_up_to()].split(|byte| *byte == b'\n').count();
            format!("line {line}: this is not UTF-8 text")
        })?;
        Settings::parse(text)
    }

    /// A link is followed: a site may keep its settings elsewhere. Neither the opening nor the reading of a regular file
    /// waits for anybody; of a FIFO, it would.
    fn open(&self) -> Result<File, String> {
        let is_file = |meta: std::io::Result<Metadata>| match meta {
            Ok(meta) if meta.is_file() => Ok(()),
            Ok(meta) if meta.is_dir() => Err("it is a directory".to_owned()),
            Ok(_) => Err("it is no regular file".to_owned()),
            Err(error) => Err(error.to_string()),
        };
        is_file(std::fs::metadata(&self.path))?;
        let mut options = OpenOptions::new();
        let file = options
            .read(true)
            .custom_flags(libc::O_NONBLOCK)
            .open(&self.path)
            .map_err(|error| error.to_string())?;
        is_file(file.metadata())?;
        Ok(file)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::policy::settings::Mode;
    use std::fs;

    fn folder() -> (tempfile::TempDir, PathBuf, ConfigFile) {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("surgent.toml");
        let config = ConfigFile::beside(&folder.path().join("slurm.conf"));
        (folder, path, config)
    }

    /// As [`ConfigFile::changed`] answers once a change has settled.
    fn settled(config: &mut ConfigFile) -> Option<Result<Settings, String>> {
        if let Some(answer) = config.changed() {
            return Some(answer);
        }
        if let Some((_, since)) = &mut config.settling {
            *since -= SETTLES_IN;
        }
        config.changed()
    }

    #[test]
    fn what_is_no_file_of_settings_is_named_and_blocks_nothing() {
        let (folder, path, _) = folder();
        let fifo = |path: &Path| rustix::fs::mkfifoat(rustix::fs::CWD, path, 0o600.into()).unwrap();
        let write = |path: &Path, bytes: &[u8]| fs::write(path, bytes).unwrap();
        let large = [b'#'; (1 << 20) + 1];
        let cases: [(&dyn Fn(), &str); 6] = [
            (&|| fs::create_dir(&path).unwrap(), "it is a directory"),
            (&|| fifo(&path), "it is no regular file"),
            (&|| write(&path, &large), "it is larger than 1 MiB"),
            (
                &|| write(&path, b"mode = \"on\"\n# \xff"),
                "line 2: this is not UTF-8 text",
            ),
            (&|| write(&path, b"mode = \"maybe\""), "line 1, column 8: "),
            (
                &|| std::os::unix::fs::symlink(&path, &path).unwrap(),
                "symbolic links",
            ),
        ];
        for (make, named) in cases {
            make();
            let mut config = ConfigFile::beside(&folder.path().join("slurm.conf"));
            let sentence = config.changed().unwrap().unwrap_err();
            assert!(
                sentence.contains("surgent.toml: ") && sentence.contains(named),
                "{sentence}"
            );
            assert_eq!(sentence.lines().count(), 1, "{sentence}");
            assert_eq!(config.changed(), None, "it is said once");
            fs::remove_file(&path).or_else(|_| fs::remove_dir(&path)).unwrap();
        }
    }

    #[test]
    fn a_change_counts_once_it_has_settled() {
        let (_folder, path, mut config) = folder();
        fs::write(&path, "mode = \"shadow\"\n").unwrap();
        assert_eq!(config.changed().unwrap().unwrap().mode, Mode::Shadow);
        assert_eq!(settled(&mut config), None);

        // An editor's save: the file is gone, then empty, then half there. None of these is taken for settings.
        let steps: [&dyn Fn(); 3] = [
            &|| fs::remove_file(&path).unwrap(),
            &|| fs::write(&path, "").unwrap(),
            &|| fs::write(&path, "mode = \"o").unwrap(),
        ];
        for step in steps {
            step();
            assert_eq!(config.changed(), None);
            assert!(config.is_settling());
        }
        fs::write(&path, "mode = \"off\"\n").unwrap();
        assert_eq!(settled(&mut config).unwrap().unwrap().mode, Mode::Off);
        assert!(!config.is_settling());

        fs::write(&path, "mode = \"n\"\n").unwrap();
        assert!(settled(&mut config).unwrap().is_err());
        assert_eq!(settled(&mut config), None, "it is said once");
        fs::remove_file(&path).unwrap();
        let gone = settled(&mut config).unwrap().unwrap_err();
        assert!(gone.ends_with("surgent.toml: it is gone"), "{gone}");
        assert_eq!(settled(&mut config), None, "it is said once");
        fs::write(&path, "").unwrap();
        assert_eq!(settled(&mut config), Some(Ok(Settings::default())));
    }

    #[test]
    fn without_a_file_from_the_beginning_the_defaults_are_meant() {
        let (_folder, _, mut config) = folder();
        assert_eq!(config.changed(), Some(Ok(Settings::default())));
        assert_eq!(config.changed(), None);
    }
}
