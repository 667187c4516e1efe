// SPDX-License-Identifier: GPL-2.0-or-later
//! Whether others than root and SlurmUser could change what slurmctld loads or believes.

use super::finding::Finding;
use std::os::unix::fs::MetadataExt as _;
use std::path::Path;

const WRITABLE_BY_GROUP_OR_OTHERS: u32 = 0o022;
const WRITABLE_BY_OTHERS: u32 = 0o002;
const STICKY: u32 = 0o1000;

/// A file that others may write, or replace as its folder is theirs; `None` where all is well, or there is no file.
pub fn finding(path: &Path) -> Option<Finding> {
    let about = path.display().to_string();
    let mode = std::fs::metadata(path).ok()?.mode();
    if mode & WRITABLE_BY_GROUP_OR_OTHERS != 0 {
        return Some(Finding::error(
            about.clone(),
            format!("others than its owner may write it (mode {:o})", mode & 0o7777),
            format!("chmod go-w {about}"),
        ));
    }
    let folder = path.parent()?;
    let mode = std::fs::metadata(folder).ok()?.mode();
    (mode & WRITABLE_BY_OTHERS != 0 && mode & STICKY == 0).then(|| {
        Finding::error(
            about,
            format!(
                "its folder {} is writable by everybody, who may replace it",
                folder.display()
            ),
            format!("chmod o-w {}", folder.display()),
        )
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::fs::{Permissions, set_permissions};
    use std::os::unix::fs::PermissionsExt as _;

    #[test]
    fn a_file_or_folder_that_everybody_may_write_is_named() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("surgent.toml");
        assert_eq!(finding(&path), None);
        std::fs::write(&path, "").unwrap();
        for (file_mode, folder_mode, is_found) in [
            (0o644, 0o755, false),
            (0o664, 0o755, true),
            (0o600, 0o777, true),
            (0o600, 0o1777, false),
        ] {
            set_permissions(&path, Permissions::from_mode(file_mode)).unwrap();
            set_permissions(folder.path(), Permissions::from_mode(folder_mode)).unwrap();
            assert_eq!(
                finding(&path).is_some(),
                is_found,
                "{file_mode:o} in {folder_mode:o}"
            );
        }
    }
}
