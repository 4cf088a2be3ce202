//! `Collected`: the latest change of each row of a log that is read once, in memory.

use std::collections::HashMap;
use std::collections::hash_map::Entry;

use log::EncodedColumns;

use crate::replay::Change;

/// Rows of a piece of work when changes of the log are applied.
const PIECE_ROWS: usize = 1 << 14;

/// The rows of one table number (`images::table_number`).
type Rows = HashMap<u64, Change, foldhash::fast::FixedState>;

/// Changes of some rows of a table number, by rising row id.
pub(crate) type Piece = (u32, Vec<(u64, Change)>);

/// The latest change of each row.
#[derive(Debug, Default)]
pub(crate) struct Collected {
    rows: HashMap<u32, Rows>,
    merged: EncodedColumns,
}

impl Collected {
    /// Adds a later change of a row of a table number.
    pub(crate) fn add(&mut self, (table, row, later): (u32, u64, Change)) {
        match self.rows.entry(table).or_default().entry(row) {
            Entry::Vacant(place) => {
                place.insert(later);
            }
            Entry::Occupied(mut place) => place.get_mut().add(later, &mut self.merged),
        }
    }

    /// Cuts the changes of each table number into pieces, each in the order of its rows, which are near
    /// one another in memory.
    pub(crate) fn finish(self) -> Vec<Piece> {
        let mut pieces = Vec::new();
        for (number, rows) in self.rows {
            let mut rows: Vec<(u64, Change)> = rows.into_iter().collect();
            rows.sort_unstable_by_key(|(row, _)| *row);
            while rows.len() > PIECE_ROWS {
                let rest = rows.split_off(rows.len() - PIECE_ROWS);
                pieces.push((number, rest));
            }
            pieces.push((number, rows));
        }
        pieces
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;

    use super::*;
    use crate::replay::RowColumns;

    fn part(ordinal: u32, value: u8) -> Change {
        let mut encoded = EncodedColumns::default();
        encoded.push(ordinal, Some(&[value]));
        Change::Part(RowColumns::from_encoded(encoded.get()))
    }

    #[test]
    fn each_row_is_in_one_piece_with_its_latest_change() {
        let mut collected = Collected::default();
        for value in 0..10 {
            for row in 0..50 {
                let table = u32::try_from(row % 3).unwrap();
                let change = if row % 2 == 0 { part(0, value) } else { Change::Gone };
                collected.add((table, row * PIECE_ROWS as u64, change));
            }
        }
        let mut found = BTreeMap::new();
        for (table, rows) in collected.finish() {
            assert!(rows.is_sorted_by_key(|(row, _)| *row) && rows.len() <= PIECE_ROWS);
            for (row, change) in rows {
                assert_eq!(found.insert((table, row), change), None, "a row is in one piece");
            }
        }
        assert_eq!(found.len(), 50);
        assert_eq!(found[&(0, 0)], part(0, 9));
        assert_eq!(found[&(1, PIECE_ROWS as u64)], Change::Gone);
    }
}
