// SPDX-License-Identifier: GPL-2.0-or-later
//! Generic resources, as Slurm prints those of a node, of a job and of a request.

use super::fields::{given, mib, number, scaled};
use crate::policy::resources::{Amounts, GresTable};
use bstr::ByteSlice;

/// One of `gpu:a100:4(S:0-1)`, `gres/gpu:a100=4`, `gres:gpu:2`, `gpu`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Gres {
    /// Such as `gpu`.
    pub name: String,
    /// Such as `a100`.
    pub model: Option<String>,
    /// How many.
    pub count: u64,
}

/// The entries of such a list; what is none of them is passed over.
pub fn read(list: &[u8]) -> Vec<Gres> {
    let mut depth = 0u32;
    let entries = given(list).unwrap_or_default().split(|byte| {
        match byte {
            b'(' => depth += 1,
            b')' => depth = depth.saturating_sub(1),
            _ => {}
        }
        *byte == b',' && depth == 0
    });
    entries.filter_map(entry).collect()
}

fn entry(text: &[u8]) -> Option<Gres> {
    let text = text.split_str("(").next()?.trim();
    let text = text
        .strip_prefix(b"gres/")
        .or_else(|| text.strip_prefix(b"gres:"))
        .unwrap_or(text);
    let mut parts: Vec<&[u8]> = text
        .split(|byte| matches!(byte, b':' | b'='))
        .filter(|part| *part != b"no_consume")
        .collect();
    let count = match parts.last().and_then(|last| scaled(last, 1024)) {
        Some(count) if parts.len() > 1 => {
            parts.pop();
            count
        }
        _ => 1,
    };
    let name = |part: &[u8]| {
        let is_name = part.first().is_some_and(u8::is_ascii_alphanumeric);
        is_name.then(|| part.to_str_lossy().into_owned())
    };
    Some(Gres {
        name: name(parts.first()?)?,
        model: parts.get(1).and_then(|part| name(part)),
        count,
    })
}

/// Adds the entries of `list` to `amounts`.
pub fn add(list: &[u8], table: &mut GresTable, amounts: &mut Amounts) {
    for one in read(list) {
        table.add(amounts, &one.name, one.model.as_deref(), one.count);
    }
}

/// CPUs, memory and generic resources in all, from `cpu=4,mem=8G,node=2,gres/gpu=4,gres/gpu:a100=4`.
pub fn totals(tres: &[u8], table: &mut GresTable) -> Amounts {
    let mut amounts = Amounts::default();
    let mut of_models: Vec<Gres> = Vec::new();
    let mut of_all: Vec<Gres> = Vec::new();
    for part in given(tres).unwrap_or_default().split_str(",") {
        let Some((key, value)) = part.split_once_str("=") else {
            continue;
        };
        match key {
            b"cpu" => amounts.cpus = number(value).unwrap_or(0),
            b"mem" => amounts.memory_mib = mib(value).unwrap_or(0),
            _ if key.starts_with(b"gres/") => {
                let found = entry(part);
                let (with_model, without): (Vec<_>, Vec<_>) =
                    found.into_iter().partition(|one| one.model.is_some());
                of_models.extend(with_model);
                of_all.extend(without);
            }
            _ => {}
        }
    }
    // A model is counted under its name, too.
    for all in &mut of_all {
        let typed = of_models.iter().filter(|one| one.name == all.name);
        let typed: u64 = typed.map(|one| one.count).fold(0, u64::saturating_add);
        all.count = all.count.saturating_sub(typed);
    }
    for one in of_models.iter().chain(&of_all) {
        table.add(&mut amounts, &one.name, one.model.as_deref(), one.count);
    }
    amounts
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_forms_of_all_releases_are_read() {
        let shown = |list: &str| -> Vec<(String, Option<String>, u64)> {
            let all = read(list.as_bytes()).into_iter();
            all.map(|one| (one.name, one.model, one.count)).collect()
        };
        let gpu = |model: Option<&str>, count| ("gpu".to_owned(), model.map(str::to_owned), count);
        assert_eq!(
            shown("gpu:a100:4(S:0-1,3),gpu:2"),
            [gpu(Some("a100"), 4), gpu(None, 2)]
        );
        assert_eq!(shown("gres/gpu:2"), [gpu(None, 2)]);
        assert_eq!(shown("gres:gpu:a100:2"), [gpu(Some("a100"), 2)]);
        assert_eq!(shown("gres/gpu:a100=2"), [gpu(Some("a100"), 2)]);
        assert_eq!(shown("gpu"), [gpu(None, 1)]);
        assert_eq!(shown("gpu:a100(IDX:0,2)"), [gpu(Some("a100"), 1)]);
        assert_eq!(shown("mps:4K"), [("mps".to_owned(), None, 4096)]);
        assert_eq!(shown("(null)"), []);
        assert_eq!(shown(",:,)(,("), []);
    }

    #[test]
    fn totals_count_a_model_once() {
        let mut table = GresTable::default();
        let held = totals(
            b"cpu=4,mem=8G,node=2,billing=4,gres/gpu=4,gres/gpu:a100=4",
            &mut table,
        );
        assert_eq!((held.cpus, held.memory_mib), (4, 8192));
        assert_eq!(table.total_of(&held, "gpu"), 4);
    }
}
