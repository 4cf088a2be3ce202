//! Names of segments: the number with 20 digits, so that names sort as numbers do. And void segments,
//! whose names count no more.

use sos::sys::{Disk, Open};
use sos::wait::WaitType;

use super::LogError;
use crate::BLOCK_BYTES;
use crate::segment_header::void_block;

/// Digits of the largest number of 64 bits.
const DIGITS: usize = 20;

/// Returns the path of a segment.
pub(super) fn segment_path(folder: &str, number: u64) -> String {
    format!("{folder}/{number:020}.log")
}

/// Returns the path of a spare: a file that a later segment will use.
pub(super) fn spare_path(folder: &str, number: u64) -> String {
    format!("{folder}/spare-{number}.log")
}

/// Returns the path of a file that is being made.
pub(super) fn new_path(folder: &str) -> String {
    format!("{folder}/new.log")
}

/// Returns the path of a file that shall replace a smaller one of [`new_path`], or the reverse.
pub(super) fn larger_path(folder: &str) -> String {
    format!("{folder}/larger.log")
}

/// Returns the path of the file with which sync methods are measured.
pub(super) fn probe_path(folder: &str) -> String {
    format!("{folder}/probe.log")
}

/// Returns the numbers of the segments in a folder, or of the spares; other names are ignored.
fn numbers(disk: &dyn Disk, folder: &str, is_spare: bool) -> Result<Vec<u64>, LogError> {
    let names = disk.list(folder).map_err(LogError::io(folder))?;
    let mut found: Vec<u64> = names
        .iter()
        .filter_map(|name| {
            let name = name.strip_suffix(".log")?;
            let digits = if is_spare { name.strip_prefix("spare-")? } else { name };
            let is_number = digits.bytes().all(|byte| byte.is_ascii_digit());
            (is_number && (is_spare || digits.len() == DIGITS)).then(|| digits.parse().ok())?
        })
        .collect();
    found.sort_unstable();
    Ok(found)
}

/// Returns the numbers of the segments in a folder, rising.
pub(super) fn segments(disk: &dyn Disk, folder: &str) -> Result<Vec<u64>, LogError> {
    numbers(disk, folder, false)
}

/// Takes the void segments off the end of a folder's segments, and returns them, falling.
///
/// A start makes the segments behind the end of the log void before it removes them. A removal that
/// a sync of the folder did not make durable is undone by a loss of power, even after later syncs
/// were successful; the name that comes back must not be taken for a part of the log.
pub(super) fn take_void(
    disk: &dyn Disk,
    folder: &str,
    segments: &mut Vec<u64>,
) -> Result<Vec<u64>, LogError> {
    let mut taken = Vec::new();
    while let Some(number) = segments.last().copied() {
        let path = segment_path(folder, number);
        let mut block = [0; BLOCK_BYTES];
        let file = disk.open(&path, Open::Read, WaitType::IoCompletion);
        let read = file.and_then(|file| file.read_at(BLOCK_BYTES as u64, &mut block));
        read.map_err(LogError::io(&path))?;
        if block != void_block(number) {
            break;
        }
        segments.pop();
        taken.push(number);
    }
    Ok(taken)
}

/// Returns the numbers of the spares in a folder, rising.
pub(super) fn spares(disk: &dyn Disk, folder: &str) -> Result<Vec<u64>, LogError> {
    numbers(disk, folder, true)
}
