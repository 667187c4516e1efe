// SPDX-License-Identifier: GPL-2.0-or-later
//! Names, comments and accounts of jobs: texts that may hold anything.

use super::fields::word;
use super::fixed::{Cell, Table};
use super::list::Listed;
use crate::policy::ids::JobId;
use bstr::ByteSlice;

/// Wide enough for most jobs.
pub const TEXTS: Table<4> = Table([
    ("Name", 48),
    ("Comment", 256),
    ("admin_comment", 256),
    ("Account", 48),
]);

/// Wide enough for all that Slurm accepts; for the jobs whose texts were cut.
pub const WHOLE_TEXTS: Table<4> = Table([
    ("Name", 4096),
    ("Comment", 8192),
    ("admin_comment", 16_384),
    ("Account", 4096),
]);

/// Puts what squeue printed of [`TEXTS`] or [`WHOLE_TEXTS`] into the jobs, which are sorted by number, and their names,
/// byte for byte, into `names`. Tells which jobs have a text that was cut; `None` where it is no such table.
pub fn put(
    table: &Table<4>,
    printed: &[u8],
    jobs: &mut [Listed],
    names: &mut [Vec<u8>],
) -> Option<Vec<JobId>> {
    let mut cut = Vec::new();
    for (id, cells) in table.rows(printed)? {
        // One that came in between.
        let Ok(at) = jobs.binary_search_by_key(&id, |job| job.job.id) else {
            continue;
        };
        if cells.iter().any(|cell| cell.is_cut) {
            cut.push(id);
        }
        let [name, comment, admin_comment, account] = cells.map(|Cell { text, .. }| text);
        let job = &mut jobs[at].job;
        job.name = name.to_str_lossy().into_owned();
        job.account = word(account);
        job.comment = comment.to_vec();
        job.admin_comment = admin_comment.to_vec();
        names[at] = name.to_vec();
    }
    Some(cut)
}
