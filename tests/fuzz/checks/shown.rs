// SPDX-License-Identifier: GPL-2.0-or-later
//! What Slurm's commands print, with texts of users in it.

use surgent::policy::ids::JobId;
use surgent::slurm::config::Config;
use surgent::slurm::job::{admin_comment_in, comment_in, job_in};

/// The input is what a command printed; and the comment of a job in what squeue prints.
pub fn shown(bytes: &[u8]) {
    let text = String::from_utf8_lossy(bytes);
    let config = Config::parse(&text);
    let keys = [
        "PluginDir",
        "SLURM_CONF",
        "SLURM_VERSION",
        "KillWait",
        "SlurmctldHost[0]",
    ];
    for key in keys {
        assert!(
            config
                .get(key)
                .is_none_or(|value| !value.contains('\n') && value.trim() == value)
        );
        assert!(config.list(key).count() <= text.len() + 1);
        let _ = config.seconds(key);
    }
    assert!(config.plugin_dirs().len() <= text.len());
    if let Some(version) = config.version() {
        assert!(version.to_string().len() < 24);
    }
    let _ = (config.controllers().count(), config.as_of());
    for line in text.lines() {
        let _ = job_in(line);
    }
    for found in [comment_in(bytes, JobId(7)), admin_comment_in(bytes, JobId(7))]
        .into_iter()
        .flatten()
    {
        assert!(found.len() <= bytes.len());
    }
    // Another job's comment may hold what it likes, and is not taken for that of job 8. Slurm lists them by number.
    let listed = [b"\x1e7\x1f", bytes, b"\x1d\n\x1e8\x1fmine\x1d\n"].concat();
    if !contains(bytes, b"\x1d\n\x1e") && !contains(bytes, b"\x1e8\x1f") {
        assert_eq!(comment_in(&listed, JobId(8)).as_deref(), Some(&b"mine"[..]));
        let expected = if bytes == b"(null)" { b"" } else { bytes };
        assert_eq!(comment_in(&listed, JobId(7)).as_deref(), Some(expected));
    }
}

fn contains(text: &[u8], part: &[u8]) -> bool {
    text.windows(part.len()).any(|window| window == part)
}
