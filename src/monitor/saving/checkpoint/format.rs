// SPDX-License-Identifier: GPL-2.0-or-later
//! Whether a file is whole, where its format tells that cheaply.
//!
//! zip (PyTorch's .pt, NumPy's .npz, .keras) ends in a directory of its contents; safetensors and HDF5 say at their
//! beginning how long they are; a pickle ends in a full stop.

use serde::Deserialize;
use std::collections::HashMap;
use std::fs::File;
use std::io::{self, Read, Seek, SeekFrom};
use std::path::Path;

/// A zip's last record is 22 bytes long and may be followed by a comment of 64 KiB.
const ZIP_TAIL_BYTES: u64 = 22 + 0xffff;
const ZIP_END: &[u8] = b"PK\x05\x06";
const ZIP_END_BYTES: usize = 22;
const ZIP64_LOCATOR_BYTES: usize = 20;
const ZIP64_END_BYTES: u64 = 56;
const HDF5_SIGNATURE: &[u8] = b"\x89HDF\r\n\x1a\n";

/// Longer headers of safetensors are not read whole.
const SAFETENSORS_HEADER_MAX_BYTES: u64 = 16 * 1024 * 1024;

/// What a file that is not known to be broken tells of itself.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Told {
    /// Its format says that it is whole.
    Whole,
    /// Its format tells nothing.
    Nothing,
}

/// Why a file is no complete save.
#[derive(Debug, thiserror::Error)]
pub enum Fault {
    /// It ends too early, or has holes.
    #[error("is not complete: {0}")]
    Incomplete(&'static str),
    /// It cannot be read.
    #[error("cannot be read ({0})")]
    Unreadable(#[from] io::Error),
}

/// Looks into the file at `path`.
///
/// # Errors
///
/// A file that is certainly not whole, or that cannot be read.
pub fn check(path: &Path) -> Result<Told, Fault> {
    let mut file = File::open(path)?;
    let length = file.metadata()?.len();
    let mut head = Vec::new();
    file.by_ref().take(64).read_to_end(&mut head)?;
    let ending = path.extension().and_then(|ending| ending.to_str());
    let ending = ending.unwrap_or_default().to_ascii_lowercase();
    if head.starts_with(b"PK\x03\x04") || head.starts_with(ZIP_END) {
        return zip(&mut file, length);
    }
    if head.starts_with(HDF5_SIGNATURE) {
        return hdf5(&head, length);
    }
    match ending.as_str() {
        "safetensors" => safetensors(&mut file, &head, length),
        "npz" | "keras" | "zip" => Err(Fault::Incomplete("it does not begin as a zip file does")),
        "pkl" | "pickle" => pickle(&mut file, &head),
        // Some have another beginning: pickles with tensors behind them, HDF5 behind a block of the user's own.
        "pt" | "pth" | "h5" | "hdf5" if head.len() < 8 || head.iter().all(|&byte| byte == 0) => Err(
            Fault::Incomplete("nothing, or only zeros, stand at its beginning"),
        ),
        _ => Ok(Told::Nothing),
    }
}

fn zip(file: &mut File, length: u64) -> Result<Told, Fault> {
    let tail_start = length.saturating_sub(ZIP_TAIL_BYTES + ZIP64_LOCATOR_BYTES as u64);
    file.seek(SeekFrom::Start(tail_start))?;
    let mut tail = Vec::new();
    file.by_ref()
        .take(ZIP_TAIL_BYTES + ZIP64_LOCATOR_BYTES as u64)
        .read_to_end(&mut tail)?;
    let end = (0..=tail.len().saturating_sub(ZIP_END_BYTES))
        .rev()
        .find(|&at| is_zip_end(&tail[at..]));
    let end = end.ok_or(Fault::Incomplete("the directory at a zip file's end is missing"))?;
    let mut directory = (number(&tail, end + 12, 4), number(&tail, end + 16, 4));
    if directory.0 == Some(0xffff_ffff) || directory.1 == Some(0xffff_ffff) {
        directory = zip64_directory(file, &tail[..end])?;
    }
    let (Some(size), Some(start)) = directory else {
        return Err(Fault::Incomplete("the directory at a zip file's end is cut off"));
    };
    let is_inside = start
        .checked_add(size)
        .is_some_and(|directory_end| directory_end <= tail_start + end as u64);
    let mut mark = [0; 4];
    if is_inside && size >= 4 {
        file.seek(SeekFrom::Start(start))?;
        file.read_exact(&mut mark)?;
    }
    match is_inside && (size == 0 || mark == *b"PK\x01\x02") {
        true => Ok(Told::Whole),
        false => Err(Fault::Incomplete(
            "the directory of its zip file is not where its end says",
        )),
    }
}

/// Whether a zip's last record begins here: its comment reaches exactly to the end.
fn is_zip_end(tail: &[u8]) -> bool {
    let comment = number(tail, 20, 2).and_then(|bytes| usize::try_from(bytes).ok());
    tail.starts_with(ZIP_END) && comment.is_some_and(|comment| ZIP_END_BYTES + comment == tail.len())
}

/// Size and start of the directory of a zip file of more than 4 GiB; `before` is what stands before its last record.
fn zip64_directory(file: &mut File, before: &[u8]) -> Result<(Option<u64>, Option<u64>), Fault> {
    let missing = || Fault::Incomplete("the directory at a large zip file's end is missing");
    let locator = before
        .len()
        .checked_sub(ZIP64_LOCATOR_BYTES)
        .ok_or_else(missing)?;
    let locator = &before[locator..];
    let at = number(locator, 8, 8).filter(|_| locator.starts_with(b"PK\x06\x07"));
    file.seek(SeekFrom::Start(at.ok_or_else(missing)?))?;
    let mut record = Vec::new();
    file.by_ref().take(ZIP64_END_BYTES).read_to_end(&mut record)?;
    match record.starts_with(b"PK\x06\x06") {
        true => Ok((number(&record, 40, 8), number(&record, 48, 8))),
        false => Err(missing()),
    }
}

fn hdf5(head: &[u8], length: u64) -> Result<Told, Fault> {
    let (width_at, addresses_at) = match head.get(8) {
        Some(0) => (13, 24),
        Some(1) => (13, 28),
        Some(2 | 3) => (9, 12),
        Some(_) => return Ok(Told::Nothing),
        None => return Err(Fault::Incomplete("it ends within its HDF5 header")),
    };
    let width = head.get(width_at).copied().map_or(0, usize::from);
    let end = number(head, addresses_at + 2 * width, width);
    match end {
        Some(end) if end == length => Ok(Told::Whole),
        _ => Err(Fault::Incomplete(
            "it is not as long as its HDF5 header says, as before it is closed",
        )),
    }
}

fn safetensors(file: &mut File, head: &[u8], length: u64) -> Result<Told, Fault> {
    #[derive(Deserialize)]
    struct Entry {
        data_offsets: Option<[u64; 2]>,
    }
    let wrong_length = || Fault::Incomplete("it is not as long as its safetensors header says");
    let header = number(head, 0, 8).ok_or_else(wrong_length)?;
    let data_start = header
        .checked_add(8)
        .filter(|&start| start <= length)
        .ok_or_else(wrong_length)?;
    if header > SAFETENSORS_HEADER_MAX_BYTES {
        return Ok(Told::Nothing);
    }
    file.seek(SeekFrom::Start(8))?;
    let mut json = Vec::new();
    file.by_ref().take(header).read_to_end(&mut json)?;
    let entries: HashMap<String, Entry> =
        serde_json::from_slice(&json).map_err(|_| Fault::Incomplete("its safetensors header is no JSON"))?;
    let data = entries.values().filter_map(|entry| entry.data_offsets);
    let data_end = data.map(|[_, end]| end).max().unwrap_or(0);
    match data_start.checked_add(data_end) {
        Some(end) if end == length => Ok(Told::Whole),
        _ => Err(wrong_length()),
    }
}

fn pickle(file: &mut File, head: &[u8]) -> Result<Told, Fault> {
    if head.is_empty() {
        return Err(Fault::Incomplete("it is empty"));
    }
    file.seek(SeekFrom::End(-1))?;
    let mut last = [0];
    file.read_exact(&mut last)?;
    match last {
        [b'.'] => Ok(Told::Whole),
        _ => Err(Fault::Incomplete("it does not end as a pickle does")),
    }
}

/// A little-endian number of `width` bytes, up to eight.
fn number(bytes: &[u8], at: usize, width: usize) -> Option<u64> {
    let bytes = bytes.get(at..at.checked_add(width)?)?;
    if width == 0 || width > 8 {
        return None;
    }
    Some(
        bytes
            .iter()
            .rev()
            .fold(0, |number, &byte| number << 8 | u64::from(byte)),
    )
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::path::PathBuf;

    /// A zip file with one stored file, with so long a comment at its end.
    fn zipped(content: &[u8], comment: usize) -> Vec<u8> {
        let mut zip = b"PK\x03\x04\x14\0\0\0\0\0\0\0\0\0\0\0\0\0".to_vec();
        zip.extend(u32::try_from(content.len()).expect("short").to_le_bytes());
        zip.extend(u32::try_from(content.len()).expect("short").to_le_bytes());
        zip.extend(b"\x01\0\0\0a");
        zip.extend(content);
        let start = u32::try_from(zip.len()).expect("short");
        let mut directory = b"PK\x01\x02".to_vec();
        directory.resize(46, 0);
        directory.push(b'a');
        zip.extend(&directory);
        zip.extend(b"PK\x05\x06\0\0\0\0\x01\0\x01\0");
        zip.extend(u32::try_from(directory.len()).expect("short").to_le_bytes());
        zip.extend(start.to_le_bytes());
        zip.extend(u16::try_from(comment).expect("short").to_le_bytes());
        zip.resize(zip.len() + comment, b'c');
        zip
    }

    fn hdf5_of(version: u8, length: u64) -> Vec<u8> {
        let mut file = HDF5_SIGNATURE.to_vec();
        file.push(version);
        match version {
            0 => {
                file.resize(13, 0);
                file.extend([8, 8]);
                file.resize(24 + 16, 0);
            }
            _ => {
                file.extend([8, 8, 0]);
                file.resize(12 + 16, 0);
            }
        }
        file.extend(length.to_le_bytes());
        file.resize(usize::try_from(length).expect("short"), 7);
        file
    }

    fn safetensors_of(data: usize) -> Vec<u8> {
        let json = format!(
            r#"{{"__metadata__":{{"format":"pt"}},"w":{{"dtype":"U8","shape":[{data}],"data_offsets":[0,{data}]}}}}"#
        );
        let mut file = (json.len() as u64).to_le_bytes().to_vec();
        file.extend(json.bytes());
        file.resize(file.len() + data, 9);
        file
    }

    #[test]
    fn whole_files_are_told_from_every_part_of_them() {
        let folder = tempfile::tempdir().expect("a folder");
        let table = [
            ("model.pt", zipped(b"weights", 0)),
            ("model.npz", zipped(&[3; 5000], 300)),
            ("model.h5", hdf5_of(0, 200)),
            ("weights.hdf5", hdf5_of(2, 200)),
            ("model.safetensors", safetensors_of(64)),
            ("state.pkl", b"\x80\x04K\x01}q\x00X\x01N.".to_vec()),
        ];
        for (name, whole) in table {
            let path = folder.path().join(name);
            std::fs::write(&path, &whole).expect("its own folder");
            assert!(
                matches!(check(&path), Ok(Told::Whole)),
                "{name}: {:?}",
                check(&path)
            );
            for length in 0..whole.len() {
                std::fs::write(&path, &whole[..length]).expect("its own folder");
                assert!(
                    check(&path).is_err(),
                    "{name}, the first {length} of {} bytes",
                    whole.len()
                );
            }
        }
    }

    #[test]
    fn what_has_no_known_format_tells_nothing() {
        let folder = tempfile::tempdir().expect("a folder");
        let told = |name: &str, bytes: &[u8]| {
            let path = folder.path().join(name);
            std::fs::write(&path, bytes).expect("its own folder");
            check(&path)
        };
        assert!(matches!(told("model.bin", b"weights"), Ok(Told::Nothing)));
        assert!(matches!(
            told("old.pt", b"\x80\x02\x8a\nl\xfc\x9cF\xf9 j\xa8P"),
            Ok(Told::Nothing)
        ));
        assert!(told("zeros.pt", &[0; 4096]).is_err());
        assert!(matches!(told("user-block.h5", &[7; 4096]), Ok(Told::Nothing)));
        assert!(matches!(
            check(&PathBuf::from("/no/such")),
            Err(Fault::Unreadable(_))
        ));
    }

    #[test]
    fn a_large_zip_has_its_directory_where_its_second_end_says() {
        let folder = tempfile::tempdir().expect("a folder");
        let path = folder.path().join("large.pt");
        let mut zip = zipped(b"weights", 0);
        let end = zip.split_off(zip.len() - ZIP_END_BYTES);
        let second_end = zip.len() as u64;
        zip.extend(b"PK\x06\x06");
        zip.resize(zip.len() + 36, 0);
        zip.extend(number(&end, 12, 4).expect("there").to_le_bytes());
        zip.extend(number(&end, 16, 4).expect("there").to_le_bytes());
        zip.extend(b"PK\x06\x07\0\0\0\0");
        zip.extend(second_end.to_le_bytes());
        zip.extend([1, 0, 0, 0]);
        zip.extend(&end[..12]);
        zip.extend([0xff; 8]);
        zip.extend([0, 0]);
        std::fs::write(&path, &zip).expect("its own folder");
        assert!(matches!(check(&path), Ok(Told::Whole)), "{:?}", check(&path));
        zip[usize::try_from(second_end).expect("short")] = b'X';
        std::fs::write(&path, &zip).expect("its own folder");
        assert!(check(&path).is_err());
    }
}
