//! The log behind a data backup: read from backups of the log, and applied to the rows.

use std::collections::HashMap;

use definitions::Entries;
use storage::recovery::Restore;
use storage::{RowId, TableId};
use types::row::RowLayout;

use crate::apply::apply_collected;
use crate::collected::Piece;
use crate::images::table_and_part;
use crate::replay::Replay;

/// Reads backups of the log, group by group.
#[derive(Debug)]
pub struct LogRoller(Replay);

/// What the log says, on top of a data backup.
#[derive(Debug)]
pub struct Rolled {
    /// All definitions: those of the data backup, with the changes of the log.
    pub entries: Entries,
    rows: Vec<Piece>,
}

impl LogRoller {
    /// Begins behind a data backup with these definitions. What was committed later than
    /// `until_100ns` is left out.
    pub fn new(entries: Entries, until_100ns: Option<u64>) -> Self {
        Self(Replay::new(entries, until_100ns))
    }

    /// Takes records of a group; `ends_group` says that they are the last ones of theirs.
    ///
    /// # Errors
    /// What is wrong with them.
    pub fn take(&mut self, payload: &[u8], ends_group: bool) -> Result<(), String> {
        self.0.payload(payload, ends_group)
    }

    /// Returns what was read.
    #[must_use]
    pub fn finish(self) -> Rolled {
        let (entries, rows) = self.0.finish();
        Rolled { entries, rows }
    }
}

impl Rolled {
    /// Applies the changes of a table, which is named by its storage id in the backups, to its rows.
    ///
    /// # Errors
    /// What is wrong with them.
    pub fn apply(
        &mut self,
        table: TableId,
        restore: &Restore<'_>,
        layout: &RowLayout,
    ) -> Result<(), String> {
        for (number, rows) in
            self.rows.extract_if(.., |(number, _)| table_and_part(*number).0 == table)
        {
            let (_, part) = table_and_part(number);
            let layout = (part == 0).then_some(layout);
            apply_collected(restore, (part, layout), &rows)
                .map_err(|why| format!("table {}, {why}", table.0))?;
        }
        Ok(())
    }
}

/// Ranges of row ids in parts of tables.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Ranges {
    /// The first id of each range, and the number of ids, by rising first id.
    of: HashMap<(u32, u8), Vec<(u64, u64)>>,
}

/// Bytes of a range in a file: table, part, first id, number of ids.
const RANGE_BYTES: usize = 21;

impl Ranges {
    /// Adds a range of a part of a table.
    pub fn add(&mut self, of: (u32, u8), first: RowId, len: u64) {
        let ranges = self.of.entry(of).or_default();
        let at = ranges.partition_point(|(known, _)| *known < first.0);
        ranges.insert(at, (first.0, len));
    }

    /// Returns whether a row id is in one of the ranges.
    pub fn has(&self, of: (u32, u8), id: RowId) -> bool {
        let Some(ranges) = self.of.get(&of) else { return false };
        let at = ranges.partition_point(|(first, _)| *first <= id.0);
        at.checked_sub(1).is_some_and(|at| id.0 - ranges[at].0 < ranges[at].1)
    }

    pub(super) fn encode(&self) -> Vec<u8> {
        let mut out = Vec::new();
        for ((table, part), ranges) in &self.of {
            for (first, len) in ranges {
                out.extend_from_slice(&table.to_le_bytes());
                out.push(*part);
                out.extend_from_slice(&first.to_le_bytes());
                out.extend_from_slice(&len.to_le_bytes());
            }
        }
        out
    }

    pub(super) fn decode(bytes: &[u8]) -> Option<Self> {
        let (ranges, []) = bytes.as_chunks::<RANGE_BYTES>() else { return None };
        let mut made = Self::default();
        for range in ranges {
            let table = u32::from_le_bytes(*range.first_chunk()?);
            let first = u64::from_le_bytes(*range[5..].first_chunk()?);
            let len = u64::from_le_bytes(*range[13..].first_chunk()?);
            made.add((table, range[4]), RowId(first), len);
        }
        Some(made)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_range_has_its_ids_and_comes_back() {
        let mut ranges = Ranges::default();
        ranges.add((1, 0), RowId(100), 10);
        ranges.add((1, 0), RowId(20), 5);
        let has = |id: u64| ranges.has((1, 0), RowId(id));
        let found = [19, 20, 24, 25, 99, 100, 109, 110].map(has);
        assert_eq!(found, [false, true, true, false, false, true, true, false]);
        assert!(!ranges.has((1, 1), RowId(100)) && !ranges.has((2, 0), RowId(100)));
        let bytes = ranges.encode();
        assert_eq!(Ranges::decode(&bytes), Some(ranges));
        assert_eq!(Ranges::decode(&bytes[1..]), None);
    }
}
