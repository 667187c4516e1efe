// SPDX-License-Identifier: GPL-2.0-or-later
//! The configuration that slurmctld runs with, as `scontrol show config` prints it.

use super::command::{Bounds, CommandError, Environment, run};
use std::collections::BTreeMap;
use std::io::Read as _;
use std::path::{Path, PathBuf};
use std::time::Duration;

/// scontrol itself gives up after about 9 s without slurmctld.
const SHOW_LIMIT: Duration = Duration::from_secs(15);

/// No slurm.conf is longer.
const FILE_MAX_BYTES: u64 = 16 << 20;

/// Shown as unset whatever it is: slurmctld (22.05 to 26.05) does not send it.
const UNSENT: &str = "PrioritySiteFactorPlugin";

/// Where Slurm's own plugins lie if slurm.conf names no other folder; `make install` looks there as well.
const PLUGIN_DIRS: [&str; 4] = [
    "/usr/lib/*/slurm-wlm",
    "/usr/lib64/slurm",
    "/usr/lib/slurm",
    "/usr/local/lib/slurm",
];

/// Keys and values, keys in small letters.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Config {
    values: BTreeMap<String, String>,
    as_of: Option<jiff::civil::DateTime>,
}

/// A release of Slurm, such as 22.05.8.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Version {
    /// Such as 22.
    pub major: u8,
    /// Such as 5.
    pub minor: u8,
    /// The patch level.
    pub micro: u8,
}

impl Version {
    /// As Slurm's plugins say it: one byte each.
    pub fn from_number(number: u32) -> Self {
        let [_, major, minor, micro] = number.to_be_bytes();
        Self { major, minor, micro }
    }

    /// `22.05.8`, or `22.05.8-1`, or with another word behind it.
    fn parse(text: &str) -> Option<Self> {
        let mut parts = text.split(['.', '-', ' ']).map(|part| part.parse().ok());
        let mut part = || parts.next().flatten();
        Some(Self {
            major: part()?,
            minor: part()?,
            micro: part()?,
        })
    }
}

impl std::fmt::Display for Version {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "{}.{:02}.{}", self.major, self.minor, self.micro)
    }
}

impl Config {
    /// Asks slurmctld; what that does not tell is read from slurm.conf, if that can be read.
    ///
    /// # Errors
    ///
    /// Within 15 s, where scontrol gives no answer.
    pub fn ask(environment: &Environment) -> Result<Self, CommandError> {
        let bounds = Bounds {
            limit: SHOW_LIMIT,
            stop: &|| false,
        };
        let shown = run("scontrol".as_ref(), &["show", "config"], environment, &bounds)?;
        let mut config = Self::parse(&String::from_utf8_lossy(&shown));
        if config.get(UNSENT).is_none()
            && let Some(path) = config.get("SLURM_CONF")
            && let Ok(file) = Self::read_file(Path::new(path))
            && let Some(value) = file.get(UNSENT)
        {
            config
                .values
                .insert(UNSENT.to_ascii_lowercase(), value.to_owned());
        }
        Ok(config)
    }

    /// Where slurm.conf is, if nothing but the environment tells.
    pub fn usual_path() -> PathBuf {
        const DEFAULT: &str = "/etc/slurm/slurm.conf";
        std::env::var_os("SLURM_CONF").map_or_else(|| PathBuf::from(DEFAULT), PathBuf::from)
    }

    /// Reads slurm.conf itself, for when slurmctld does not answer: what the file says, without the files that it includes
    /// and without Slurm's defaults but for `PluginDir`. The release is that of the slurmctld on the search path, if there is
    /// one.
    ///
    /// # Errors
    ///
    /// Where the file cannot be read.
    pub fn of_file(path: &Path, environment: &Environment) -> std::io::Result<Self> {
        let mut config = Self::read_file(path)?;
        let names_plugin_dir = config.get("PluginDir").is_some();
        let mut put = |key: &str, value: String| config.values.insert(key.to_owned(), value);
        put("slurm_conf", path.display().to_string());
        if let Some(folder) = plugin_dir().filter(|_| !names_plugin_dir) {
            put("plugindir", folder.display().to_string());
        }
        let bounds = Bounds {
            limit: SHOW_LIMIT,
            stop: &|| false,
        };
        if let Ok(said) = run("slurmctld".as_ref(), &["-V"], environment, &bounds) {
            let said = String::from_utf8_lossy(&said);
            put(
                "slurm_version",
                said.split_whitespace().last().unwrap_or_default().to_owned(),
            );
        }
        Ok(config)
    }

    fn read_file(path: &Path) -> std::io::Result<Self> {
        let file = std::fs::File::open(path)?;
        let mut text = Vec::new();
        file.take(FILE_MAX_BYTES).read_to_end(&mut text)?;
        Ok(Self::parse_file(&String::from_utf8_lossy(&text)))
    }

    /// Lines of `Key=Value`, with comments behind `#`.
    fn parse_file(text: &str) -> Self {
        let lines = text
            .lines()
            .filter_map(|line| line.split('#').next()?.split_once('='));
        let values = lines.map(|(key, value)| (key.trim().to_ascii_lowercase(), value.trim().to_owned()));
        Self {
            values: values.collect(),
            as_of: None,
        }
    }

    /// Reads what `scontrol show config` prints: lines of `Key = value`; other lines are passed over.
    pub fn parse(shown: &str) -> Self {
        let as_of = shown
            .lines()
            .find_map(|line| line.strip_prefix("Configuration data as of "))
            .and_then(|time| time.trim().parse().ok());
        let values = shown
            .lines()
            .filter_map(|line| line.split_once('='))
            .map(|(key, value)| (key.trim().to_ascii_lowercase(), value.trim().to_owned()))
            .collect();
        Self { values, as_of }
    }

    /// The value of a key; `None` where there is none, or Slurm shows it as unset.
    pub fn get(&self, key: &str) -> Option<&str> {
        let value = self.values.get(&key.to_ascii_lowercase())?.as_str();
        (!value.is_empty() && value != "(null)").then_some(value)
    }

    /// The entries of a list with commas between them.
    pub fn list(&self, key: &str) -> impl Iterator<Item = &str> {
        self.get(key).unwrap_or_default().split(',').map(str::trim)
    }

    /// A time in seconds, shown as `30 sec`, or as a bare number.
    pub fn seconds(&self, key: &str) -> Option<u64> {
        self.get(key)?.split_whitespace().next()?.parse().ok()
    }

    /// The release that runs.
    pub fn version(&self) -> Option<Version> {
        Version::parse(self.get("SLURM_VERSION")?)
    }

    /// Path of slurm.conf.
    pub fn slurm_conf(&self) -> Option<&Path> {
        self.get("SLURM_CONF").map(Path::new)
    }

    /// Where plugins are looked for, in this order.
    pub fn plugin_dirs(&self) -> Vec<PathBuf> {
        let dirs = self.get("PluginDir").unwrap_or_default().split(':');
        dirs.filter(|dir| !dir.is_empty()).map(PathBuf::from).collect()
    }

    /// The names of the hosts on which slurmctld may run: the first runs it, the others are its backups.
    pub fn controllers(&self) -> impl Iterator<Item = &str> {
        let hosts = self
            .values
            .iter()
            .filter(|(key, _)| key.starts_with("slurmctldhost["));
        hosts.map(|(_, host)| host.split('(').next().unwrap_or_default().trim())
    }

    /// When slurmctld gave this, by its clock, in this machine's time zone.
    pub fn as_of(&self) -> Option<jiff::civil::DateTime> {
        self.as_of
    }
}

/// Where this machine's Slurm keeps its plugins.
fn plugin_dir() -> Option<PathBuf> {
    let found = |folder: &str| glob::glob(&format!("{folder}/select_cons_tres.so")).ok();
    let plugin = PLUGIN_DIRS
        .into_iter()
        .filter_map(found)
        .flatten()
        .find_map(Result::ok)?;
    plugin.parent().map(Path::to_owned)
}

#[cfg(test)]
mod tests {
    use super::*;

    const SHOWN: &str = "\
Configuration data as of 2026-11-29T20:44:01
AccountingStorageBackupHost = (null)
AccountingStoreFlags    = job_comment,job_env
KillWait                = 30 sec
PluginDir               = /opt/surgent:/usr/lib/slurm
SLURM_CONF              = /etc/slurm/slurm.conf
SLURM_VERSION           = 22.05.8
SlurmctldHost[0]        = head(10.0.0.1)
SlurmctldHost[1]        = spare

Slurmctld(primary) at head is UP
";

    #[test]
    fn what_scontrol_shows_is_read() {
        let config = Config::parse(SHOWN);
        assert_eq!(config.get("AccountingStorageBackupHost"), None);
        assert_eq!(config.list("accountingstoreflags").nth(1), Some("job_env"));
        assert_eq!(config.seconds("KillWait"), Some(30));
        assert_eq!(config.plugin_dirs()[1], Path::new("/usr/lib/slurm"));
        assert_eq!(
            config.version().map(|version| version.to_string()),
            Some("22.05.8".into())
        );
        assert_eq!(config.controllers().collect::<Vec<_>>(), ["head", "spare"]);
        assert_eq!(config.as_of().map(|time| time.second()), Some(1));
    }

    #[test]
    fn a_file_is_read_as_far_as_it_says_something() {
        let text = "# Slurm\nPluginDir=/opt/a:/opt/b # ours first\nClusterName = c\n\nInclude more.conf\nNodeName=n1 CPUs=4\n";
        let config = Config::parse_file(text);
        assert_eq!(config.plugin_dirs(), [Path::new("/opt/a"), Path::new("/opt/b")]);
        assert_eq!(config.get("clustername"), Some("c"));
        assert_eq!(config.version(), None);
    }

    #[test]
    fn versions_are_read_in_all_their_forms() {
        let parsed = |text| Version::parse(text).map(|version| version.to_string());
        assert_eq!(parsed("25.11.0-0rc1"), Some("25.11.0".to_owned()));
        assert_eq!(parsed("24.05.5-1"), Some("24.05.5".to_owned()));
        assert_eq!(parsed("slurm"), None);
        assert_eq!(Version::from_number(0x0016_0508).to_string(), "22.05.8");
    }

    #[test]
    fn rubbish_is_no_configuration_and_no_panic() {
        for shown in ["", "=", "= =\n==", "Configuration data as of never\nKillWait=\n"] {
            let config = Config::parse(shown);
            assert_eq!(
                (config.get("KillWait"), config.as_of()),
                (None, None),
                "{shown:?}"
            );
        }
    }
}
