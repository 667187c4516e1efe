// SPDX-License-Identifier: GPL-2.0-or-later
//! Which process of many wrote a line. All text is in lower case.

use super::cursor::Cursor;
use bstr::ByteSlice;

/// The number of the process in front of a line, and the line without it: `0: `, `[default0]:`, `[rank0]:`,
/// `[1,0]<stdout>:`, `(worker pid=123) `.
pub fn split(text: &[u8]) -> (Option<u32>, &[u8]) {
    let found = srun(text).or_else(|| bracketed(text)).or_else(|| ray(text));
    found.map_or((None, text), |(rank, rest)| (u32::try_from(rank).ok(), rest))
}

/// `srun --label`: the number, right-aligned.
fn srun(text: &[u8]) -> Option<(u64, &[u8])> {
    let mut cursor = Cursor::new(text, 0);
    let rank = cursor.skip(b" ", 5).whole().filter(|rank| *rank < 1e6)?;
    cursor.take(b": ").then(|| (rank as u64, cursor.rest()))
}

fn bracketed(text: &[u8]) -> Option<(u64, &[u8])> {
    let mut cursor = Cursor::new(text, 0);
    if cursor.take(b"[1,") {
        let rank = cursor.whole()?;
        let is_horovod = cursor.take(b"]<stdout>:") || cursor.take(b"]<stderr>:");
        return is_horovod.then(|| (rank as u64, cursor.rest()));
    }
    let is_known = cursor.take(b"[default") || cursor.take(b"[rank") || cursor.take(b"rank");
    cursor.skip(b" ", 1);
    let rank = cursor.whole().filter(|_| is_known)?;
    let is_end = cursor.take(b"]:") || cursor.take(b"]") || cursor.take(b":");
    is_end.then(|| (rank as u64, cursor.rest()))
}

/// Ray tells processes apart by their process ids.
fn ray(text: &[u8]) -> Option<(u64, &[u8])> {
    let at = text
        .find(" pid=")
        .filter(|at| text.starts_with(b"(") && *at < 64)?;
    let mut cursor = Cursor::new(text, at + 5);
    let pid = cursor.whole()?;
    let rest = cursor.rest();
    let end = rest.find_byte(b')').filter(|end| *end < 64)?;
    Some((pid as u64, &rest[end + 1..]))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn table_of_prefixes() {
        let table = [
            ("0: epoch 3", Some(0), "epoch 3"),
            (" 12: x", Some(12), "x"),
            ("[default3]:x", Some(3), "x"),
            ("[rank1]: x", Some(1), " x"),
            ("[1,2]<stdout>:x", Some(2), "x"),
            ("(worker pid=77) x", Some(77), " x"),
            ("12:\tlearn: 0.5", None, "12:\tlearn: 0.5"),
            ("epoch 3: x", None, "epoch 3: x"),
            ("[3]\ttrain", None, "[3]\ttrain"),
        ];
        for (text, rank, rest) in table {
            assert_eq!(split(text.as_bytes()), (rank, rest.as_bytes()), "{text}");
        }
    }
}
