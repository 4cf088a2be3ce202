//! What a log says about rows and definitions: which transactions count, and in which order.
//!
//! Groups come in order. Within a group the records of the schedulers are one after another, so the
//! changes of a row are put into the order of their timestamps before they count.
//!
//! A start applies the changes of rows to its tables as it reads them: `apply.rs`. A restore reads backups of
//! the log once, before there are tables, so [`Replay`] keeps one change for each row.

use definitions::Entries;
use log::{Columns, EncodedColumns, Head, Heads, Nesting, Record, Row};

use crate::collected::{Collected, Piece};
use crate::commit_log::ENTRY;
use crate::entry;
use crate::planted::{Bug, Planted};

/// Columns of a row as the log has them: one block of memory for a row.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct RowColumns {
    count: u64,
    bytes: Box<[u8]>,
}

impl RowColumns {
    fn of(columns: &Columns<'_>) -> Self {
        Self::from_encoded(columns.encoded())
    }

    /// Copies columns that are encoded.
    pub(crate) fn from_encoded((count, bytes): (u64, &[u8])) -> Self {
        Self { count, bytes: bytes.into() }
    }

    /// Iterates over the columns, by rising ordinal; `None` is NULL.
    pub(crate) fn iter(&self) -> Columns<'_> {
        Columns::from_encoded(self.count, &self.bytes)
    }
}

/// What the log says about a row, on top of its checkpoint.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Change {
    /// It has this content.
    Whole(RowColumns),
    /// These columns have other values.
    Part(RowColumns),
    /// The row is gone.
    Gone,
}

/// Which transactions of a log count, group by group.
#[derive(Debug, Default)]
pub(crate) struct Transactions {
    nesting: Nesting,
    /// The transaction that is being read.
    timestamp: u64,
    is_wanted: bool,
    /// Transactions with a later commit time are left out, in units of 100 ns.
    until_100ns: Option<u64>,
    /// The lowest timestamp of a transaction that was left out: later ones are left out as well.
    cut: Option<u64>,
    pub(crate) counts: Counts,
}

/// What was read, for progress and messages.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Counts {
    /// Transactions that were not left out.
    pub transactions: u64,
    /// Transactions left out because they are later than asked for.
    pub later: u64,
    /// Changes of rows that were read.
    pub changes: u64,
    /// Bytes of records that were read.
    pub bytes: u64,
}

/// A record that counts.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Wanted<'a> {
    /// A change of a row.
    Change(RowPlace),
    /// A definition, in the form of [`entry`].
    Definition(&'a [u8]),
}

/// A change of a row: which row, and where in a payload the record is.
#[derive(Clone, Copy, Debug)]
pub(crate) struct RowPlace {
    pub(crate) table: u32,
    /// Whether nothing of the row before counts.
    pub(crate) is_whole: bool,
    pub(crate) row: u64,
    pub(crate) offset: usize,
}

impl Transactions {
    /// Takes transactions that were committed up to a time.
    pub(crate) fn until(until_100ns: Option<u64>) -> Self {
        Self { until_100ns, ..Self::default() }
    }

    /// Reads the records of a payload, and shows those that count, each with its timestamp.
    ///
    /// # Errors
    /// What is wrong with them: the payload is not one of this program.
    pub(crate) fn read<'a>(
        &mut self,
        payload: &'a [u8],
        mut visit: impl FnMut(u64, Wanted<'a>) -> Result<(), String>,
    ) -> Result<(), String> {
        self.counts.bytes += payload.len() as u64;
        let mut heads = Heads::new(payload, self.nesting);
        for head in heads.by_ref() {
            let (offset, head) = head.map_err(|error| error.to_string())?;
            if let Some(wanted) = self.head(offset, &head)? {
                visit(self.timestamp, wanted)?;
            }
        }
        self.nesting = heads.nesting();
        Ok(())
    }

    fn head<'a>(&mut self, offset: usize, head: &Head<'a>) -> Result<Option<Wanted<'a>>, String> {
        Ok(match head {
            Head::Begin { timestamp, utc_100ns } => {
                self.timestamp = *timestamp;
                self.is_wanted = self.until_100ns.is_none_or(|until| *utc_100ns <= until);
                let counts = &mut self.counts;
                *if self.is_wanted { &mut counts.transactions } else { &mut counts.later } += 1;
                None
            }
            Head::End => None,
            Head::Change { .. } if !self.is_wanted => {
                let cut = self.cut.map_or(self.timestamp, |cut| cut.min(self.timestamp));
                self.cut = Some(cut);
                None
            }
            Head::Definition { .. } if !self.is_wanted => None,
            Head::Change { table, row: Row::Id(row), is_whole } => {
                self.counts.changes += 1;
                let (table, is_whole, row) = (*table, *is_whole, *row);
                Some(Wanted::Change(RowPlace { table, is_whole, row, offset }))
            }
            Head::Change { row: Row::Key(_), .. } => {
                return Err("a row is named by its key".to_owned());
            }
            Head::Definition { kind: ENTRY, bytes } => Some(Wanted::Definition(bytes)),
            Head::Definition { kind, .. } => {
                return Err(format!("a definition is of the unknown kind {kind}"));
            }
        })
    }

    /// Puts the changes of rows of a group into their order, and leaves out those that do not count.
    pub(crate) fn order<T>(&self, rows: &mut Vec<(u64, T)>) {
        // A transaction may depend on one with a lower timestamp, whose time is later by a little: of
        // two commits, the clock was read in the other order.
        if let Some(cut) = self.cut {
            rows.retain(|(timestamp, _)| *timestamp < cut);
        }
        // Stable: the changes of one transaction stay in their order.
        if !rows.is_sorted_by_key(|(timestamp, _)| *timestamp) {
            rows.sort_by_key(|(timestamp, _)| *timestamp);
        }
    }
}

/// The definitions that a log leaves.
#[derive(Debug, Default)]
pub(crate) struct Definitions {
    entries: Entries,
    /// Those of the group that is being read, with their timestamps.
    group: Vec<(u64, definitions::Entry)>,
    planted: Planted,
}

impl Definitions {
    /// Begins with those of a checkpoint.
    pub(crate) fn new(entries: Entries, planted: Planted) -> Self {
        Self { entries, group: Vec::new(), planted }
    }

    /// Takes a definition of the group.
    ///
    /// # Errors
    /// It is not one.
    pub(crate) fn take(&mut self, timestamp: u64, bytes: &[u8]) -> Result<(), String> {
        let entry = entry::decode(bytes).ok_or("a definition is not readable")?;
        self.group.push((timestamp, entry));
        Ok(())
    }

    /// Ends a group: its definitions count in the order of their timestamps.
    pub(crate) fn end_group(&mut self) {
        if !self.planted.has(Bug::OrderedByTime) {
            self.settle();
        }
    }

    fn settle(&mut self) {
        self.group.sort_by_key(|(timestamp, _)| *timestamp);
        for (_, entry) in self.group.drain(..) {
            match entry.value {
                Some(value) => self.entries.insert(entry.key, value),
                None => self.entries.remove(&entry.key),
            };
        }
    }

    /// Returns all definitions that are left.
    pub(crate) fn finish(mut self) -> Entries {
        self.settle();
        self.entries
    }
}

/// Collects the changes of a log that is read once: that of a backup.
#[derive(Debug, Default)]
pub(crate) struct Replay {
    transactions: Transactions,
    definitions: Definitions,
    rows: Collected,
    /// Changes of rows of the group that is being read, with their timestamps.
    group: Vec<(u64, (u32, u64, Change))>,
}

impl Replay {
    /// Begins with the definitions of a checkpoint.
    pub(crate) fn new(entries: Entries, until_100ns: Option<u64>) -> Self {
        let definitions = Definitions::new(entries, Planted::default());
        let transactions = Transactions::until(until_100ns);
        Self { transactions, definitions, ..Self::default() }
    }

    /// Takes records of a group; `is_last` says that they are the last ones of theirs.
    ///
    /// # Errors
    /// What is wrong with them: the payload is not one of this program.
    pub(crate) fn payload(&mut self, payload: &[u8], is_last: bool) -> Result<(), String> {
        let Self { transactions, definitions, group, .. } = self;
        transactions.read(payload, |timestamp, wanted| match wanted {
            Wanted::Definition(bytes) => definitions.take(timestamp, bytes),
            Wanted::Change(place) => {
                let change = Change::at(payload, place.offset)?;
                group.push((timestamp, (place.table, place.row, change)));
                Ok(())
            }
        })?;
        if is_last {
            self.transactions.order(&mut self.group);
            self.group.drain(..).for_each(|(_, change)| self.rows.add(change));
            self.definitions.end_group();
        }
        Ok(())
    }

    /// Returns the definitions, and the changes of rows.
    pub(crate) fn finish(self) -> (Entries, Vec<Piece>) {
        (self.definitions.finish(), self.rows.finish())
    }
}

impl Change {
    fn at(payload: &[u8], offset: usize) -> Result<Self, String> {
        Ok(match Record::at(payload, offset).map_err(|error| error.to_string())? {
            Record::Insert { columns, .. } => Self::Whole(RowColumns::of(&columns)),
            Record::Update { columns, .. } => Self::Part(RowColumns::of(&columns)),
            Record::Begin { .. }
            | Record::Delete { .. }
            | Record::Definition { .. }
            | Record::End => Self::Gone,
        })
    }

    /// Adds a later change of the same row. `merged` is a buffer.
    pub(crate) fn add(&mut self, later: Self, merged: &mut EncodedColumns) {
        match (&mut *self, later) {
            (Self::Whole(columns) | Self::Part(columns), Self::Part(later)) => {
                merge(columns, &later, merged);
            }
            // A row that is gone comes back only as a whole. A checkpoint may have seen the row that
            // comes later at this place: then it counts as soon as its insertion is read.
            (Self::Gone, Self::Part(_)) => {}
            (_, later) => *self = later,
        }
    }
}

/// Replaces and adds columns.
fn merge(columns: &mut RowColumns, later: &RowColumns, merged: &mut EncodedColumns) {
    merged.clear();
    let (mut before, mut after) = (columns.iter().peekable(), later.iter().peekable());
    loop {
        let next = match (before.peek(), after.peek()) {
            (None, None) => break,
            (Some(_), None) => before.next(),
            (Some((old, _)), Some((new, _))) if old < new => before.next(),
            (old, Some((new, _))) => {
                let is_replaced = old.is_some_and(|(old, _)| old == new);
                if is_replaced {
                    before.next();
                }
                after.next()
            }
        };
        let (ordinal, image) = next.expect("it was peeked at");
        merged.push(ordinal, image);
    }
    *columns = RowColumns::from_encoded(merged.get());
}

#[cfg(test)]
mod tests {
    use super::*;

    fn columns(columns: &[(u32, Option<&[u8]>)]) -> RowColumns {
        let mut encoded = EncodedColumns::default();
        columns.iter().for_each(|(ordinal, image)| encoded.push(*ordinal, *image));
        RowColumns::from_encoded(encoded.get())
    }

    #[test]
    fn later_columns_replace_earlier_ones_and_others_stay() {
        let mut change =
            Change::Whole(columns(&[(0, Some(b"a")), (1, None), (3, Some(b"long value"))]));
        let merged = &mut EncodedColumns::default();
        change.add(Change::Part(columns(&[(1, Some(b"b")), (2, Some(b""))])), merged);
        change.add(Change::Part(columns(&[(0, None), (5, Some(b"z"))])), merged);
        let expected: [(u32, Option<&[u8]>); 5] =
            [(0, None), (1, Some(b"b")), (2, Some(b"")), (3, Some(b"long value")), (5, Some(b"z"))];
        assert_eq!(change, Change::Whole(columns(&expected)));
        let Change::Whole(row) = &change else { unreachable!("compared above") };
        assert!(row.iter().eq(expected));
        change.add(Change::Gone, merged);
        change.add(Change::Part(columns(&[(1, None)])), merged);
        assert_eq!(change, Change::Gone);
    }
}
