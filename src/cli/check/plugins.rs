// SPDX-License-Identifier: GPL-2.0-or-later
//! Whether Surgent's plugins lie where Slurm looks for them, and are for the Slurm that runs.

use super::finding::Finding;
use super::safety;
use crate::host::config::ConfigFile;
use crate::policy::settings::Base;
use crate::slurm::config::{Config, Version};
use object::{Object as _, ObjectSection as _, ObjectSymbol as _};
use std::path::{Path, PathBuf};

/// No plugin is larger.
const PLUGIN_MAX_BYTES: u64 = 64 << 20;

/// The symbol by which Slurm tells for which release a plugin was built.
const VERSION_SYMBOL: &str = "plugin_version";

/// All findings about the plugins that slurmctld loads, with the base that `surgent.toml` beside `slurm_conf` names.
pub fn findings(config: &Config, slurm_conf: Option<&Path>) -> Vec<Finding> {
    let mut names = vec!["preempt_surgent.so", "job_submit_surgent.so"];
    if config
        .get("PrioritySiteFactorPlugin")
        .is_some_and(|plugin| plugin.ends_with("surgent"))
    {
        names.push("site_factor_surgent.so");
    }
    let base = slurm_conf.and_then(base_plugin).map(|name| base(name, config));
    let ours = names.into_iter().flat_map(|name| plugin(name, config));
    ours.chain(base).collect()
}

/// A file of settings that cannot be used is found elsewhere.
fn base_plugin(slurm_conf: &Path) -> Option<&'static str> {
    match ConfigFile::beside(slurm_conf).changed()?.ok()?.base {
        Base::None => None,
        Base::Qos => Some("preempt_qos.so"),
        Base::PartitionPrio => Some("preempt_partition_prio.so"),
    }
}

/// Slurm's own plugin, which Surgent loads as Slurm would: the first in PluginDir that fits.
fn base(name: &str, config: &Config) -> Finding {
    let dirs = config.plugin_dirs();
    let found: Vec<_> = dirs
        .iter()
        .filter_map(|dir| Some((dir, version_of(&dir.join(name)).ok()?)))
        .collect();
    let fitting = found
        .iter()
        .find(|(_, built)| config.version().is_none_or(|runs| runs == *built));
    match (fitting, found.first()) {
        (Some((dir, built)), _) => Finding::ok(
            name,
            format!("{}, for Slurm {built}; the base", dir.join(name).display()),
        ),
        (None, Some((_, built))) => Finding::error(
            name,
            format!("for Slurm {built}, which is not the one that runs: normal jobs preempt nobody"),
            "install Slurm's own plugins of one release",
        ),
        (None, None) => Finding::error(
            name,
            format!(
                "base names it, and it is in none of the folders of PluginDir ({}): normal jobs preempt nobody",
                listed(&dirs)
            ),
            "install it, or write base = \"none\" in surgent.toml",
        ),
    }
}

fn plugin(name: &str, config: &Config) -> Vec<Finding> {
    let dirs = config.plugin_dirs();
    let Some(path) = dirs.iter().map(|dir| dir.join(name)).find(|path| path.exists()) else {
        return vec![Finding::error(
            name,
            format!("in none of the folders of PluginDir ({})", listed(&dirs)),
            "`make install PLUGINDIR=...` puts it there",
        )];
    };
    let mut findings = vec![version(name, &path, config)];
    let core = path.with_file_name("libsurgent.so");
    if !core.exists() {
        findings.push(Finding::error(
            name,
            format!("{} is missing, without which it does not load", core.display()),
            "`make install PLUGINDIR=...` puts both there",
        ));
    }
    findings.extend([path, core].iter().filter_map(|path| safety::finding(path)));
    findings
}

fn version(name: &str, path: &Path, config: &Config) -> Finding {
    let built = match version_of(path) {
        Ok(version) => version,
        Err(why) => {
            return Finding::error(
                name,
                format!("{} cannot be read: {why}", path.display()),
                "install it again",
            );
        }
    };
    match config.version() {
        Some(runs) if runs != built => Finding::error(
            name,
            format!("built for Slurm {built}, and {runs} runs, which refuses it"),
            format!("build it with the headers of {runs} (`make shims`), and install it"),
        ),
        Some(_) => Finding::ok(name, format!("{}, for Slurm {built}", path.display())),
        None => Finding::note(
            name,
            format!("for Slurm {built}; which release runs is not known"),
        ),
    }
}

/// For which release of Slurm the plugin was built.
fn version_of(path: &Path) -> Result<Version, String> {
    let length = std::fs::metadata(path).map_err(|error| error.to_string())?.len();
    if length > PLUGIN_MAX_BYTES {
        return Err(format!("it is larger than {PLUGIN_MAX_BYTES} bytes"));
    }
    let bytes = std::fs::read(path).map_err(|error| error.to_string())?;
    let no_plugin = || "it is no plugin of Slurm's".to_owned();
    let file = object::File::parse(&*bytes).map_err(|_| no_plugin())?;
    let symbol = file
        .dynamic_symbols()
        .find(|symbol| symbol.name() == Ok(VERSION_SYMBOL))
        .ok_or_else(no_plugin)?;
    let number = symbol
        .section_index()
        .and_then(|index| file.section_by_index(index).ok())
        .and_then(|section| section.data_range(symbol.address(), 4).ok().flatten())
        .and_then(|data| <[u8; 4]>::try_from(data).ok())
        .ok_or_else(no_plugin)?;
    Ok(Version::from_number(u32::from_ne_bytes(number)))
}

fn listed(dirs: &[PathBuf]) -> String {
    let dirs: Vec<_> = dirs.iter().map(|dir| dir.display().to_string()).collect();
    dirs.join(", ")
}

#[cfg(test)]
mod tests {
    use super::super::finding::Level;
    use super::*;

    #[test]
    fn a_base_that_is_not_there_is_found() {
        let folder = tempfile::tempdir().unwrap();
        let conf = folder.path().join("slurm.conf");
        let config = Config::parse(&format!("PluginDir = {}\n", folder.path().display()));
        let about_base = |toml: &str| {
            std::fs::write(folder.path().join("surgent.toml"), toml).unwrap();
            let findings = findings(&config, Some(&conf));
            findings
                .into_iter()
                .find(|finding| finding.found.contains("base"))
        };
        let missing = about_base("base = \"qos\"").unwrap();
        assert_eq!(
            (missing.about.as_str(), missing.level),
            ("preempt_qos.so", Level::Error)
        );
        assert!(about_base("").is_none());
    }

    #[test]
    fn what_is_no_plugin_is_said_to_be_none() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("preempt_surgent.so");
        for bytes in [&b""[..], b"\x7fELF", b"text"] {
            std::fs::write(&path, bytes).unwrap();
            assert!(version_of(&path).unwrap_err().contains("no plugin"));
        }
        // An ELF file without the symbol: this test itself.
        let itself = std::env::current_exe().unwrap();
        if itself.metadata().unwrap().len() <= PLUGIN_MAX_BYTES {
            assert!(version_of(&itself).is_err());
        }
        assert!(version_of(folder.path()).is_err());
    }
}
