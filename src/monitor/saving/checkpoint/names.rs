// SPDX-License-Identifier: GPL-2.0-or-later
//! What the name of a file or folder says of whether it is finished.

/// Endings of what is still being written.
const ENDINGS: [&str; 10] = [
    "~",
    ".tmp",
    ".temp",
    ".part",
    ".partial",
    ".writing",
    ".inprogress",
    ".lock",
    ".swp",
    "_temp",
];

/// What stands at the front of it.
const BEGINNINGS: [&str; 3] = ["tmp-", "tmp_", "tmp."];

/// What stands anywhere in it: Orbax, Lightning, TensorFlow and `checkpoint-is-incomplete.txt` of Transformers.
const INSIDE: [&str; 5] = [
    ".tmp-",
    ".tmp.",
    "orbax-checkpoint-tmp",
    ".tempstate",
    "incomplete",
];

/// Hidden files that belong to a finished checkpoint; rsync and many programs hide what they are still writing.
const FINISHED_HIDDEN: [&str; 8] = [
    ".metadata",
    ".zmetadata",
    ".zgroup",
    ".zarray",
    ".zattrs",
    ".gitattributes",
    ".gitignore",
    ".done",
];

/// Whether a file or folder of this name is not, or not yet, a checkpoint or a part of one.
pub fn is_temporary(name: &str) -> bool {
    let name = name.to_ascii_lowercase();
    let is_hidden = name.starts_with('.') && !FINISHED_HIDDEN.contains(&name.as_str());
    is_hidden
        || ENDINGS.iter().any(|ending| name.ends_with(ending))
        || BEGINNINGS.iter().any(|beginning| name.starts_with(beginning))
        || INSIDE.iter().any(|inside| name.contains(inside))
}

/// `name` with every number replaced by `#`: what the checkpoints of one training have in common.
pub fn family(name: &str) -> String {
    let mut family = String::with_capacity(name.len());
    for letter in name.chars() {
        match letter.is_ascii_digit() {
            true if family.ends_with('#') => {}
            true => family.push('#'),
            false => family.push(letter),
        }
    }
    family
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn table_of_names() {
        let temporary = [
            "model.pt.tmp",
            "model.pt.part",
            "model.pt~",
            ".model.pt.Xa81Kq",
            "500.orbax-checkpoint-tmp-1700000",
            "step_500.tmp-7",
            "tmp-checkpoint-500",
            "ckpt-3_temp",
            "checkpoint-is-incomplete.txt",
            "MODEL.TMP",
        ];
        let finished = [
            "model.pt",
            "checkpoint-500",
            "epoch=3-step=120.ckpt",
            "template.pt",
            "partial_fc.pt",
            ".metadata",
            "hpc_ckpt_2.ckpt",
            "temperature",
        ];
        for name in temporary {
            assert!(is_temporary(name), "{name}");
        }
        for name in finished {
            assert!(!is_temporary(name), "{name}");
        }
    }

    #[test]
    fn a_family_differs_in_numbers_alone() {
        assert_eq!(family("epoch=3-step=120.ckpt"), family("epoch=14-step=7.ckpt"));
        assert_ne!(family("model_final.pt"), family("model_3.pt"));
        assert_eq!(family("a12b"), "a#b");
    }
}
