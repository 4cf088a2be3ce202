//! What the log says about each row and each definition: changes are collected group by group, and
//! at the end there is one for each row.
//!
//! Groups come in order. Within a group the records of the schedulers are one after another, so the
//! changes of a row are put into the order of their timestamps before they count.

use definitions::Entries;
use log::{Batch, Columns, EncodedColumns, Nesting, Record, Records, Row};
use sos::ledger::Accounts;
use sos::sync::Arc;

use crate::collected::{Collected, Piece};
use crate::commit_log::ENTRY;
use crate::entry;
use crate::planted::{Bug, Planted};
use crate::recovery::Settings;

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

/// Collects the changes of a log.
#[derive(Debug, Default)]
pub(crate) struct Replay {
    rows: Collected,
    entries: Entries,
    group: Group,
    nesting: Nesting,
    /// The transaction that is being read.
    timestamp: u64,
    is_wanted: bool,
    /// Transactions with a later commit time are left out, in units of 100 ns.
    until_100ns: Option<u64>,
    /// The lowest timestamp of a transaction that was left out: later ones are left out as well.
    cut: Option<u64>,
    counts: Counts,
    planted: Planted,
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

/// The changes of the group that is being read.
#[derive(Debug, Default)]
struct Group {
    rows: Vec<((u32, u64), u64, Change)>,
    entries: Vec<(u64, definitions::Entry)>,
}

impl Replay {
    /// Begins with the definitions of a checkpoint.
    pub(crate) fn new(entries: Entries, until_100ns: Option<u64>) -> Self {
        Self { entries, until_100ns, ..Self::default() }
    }

    /// As [`Self::new`], with rows that are collected by several threads, this one included.
    ///
    /// # Errors
    /// The system has refused a thread.
    pub(crate) fn on_threads(
        (threads, accounts): (usize, &Arc<Accounts>),
        entries: Entries,
        settings: &Settings,
    ) -> Result<Self, String> {
        let rows = Collected::spread(threads, accounts)?;
        let planted = settings.planted;
        Ok(Self { rows, planted, ..Self::new(entries, settings.until_100ns) })
    }

    /// Takes the records of a batch.
    ///
    /// # Errors
    /// What is wrong with them: the batch is not one of this program.
    pub(crate) fn take(&mut self, batch: &Batch<'_>) -> Result<(), String> {
        self.payload(batch.payload, batch.header.is_last)
    }

    /// Takes records of a group; `is_last` says that they are the last ones of theirs.
    ///
    /// # Errors
    /// As [`Self::take`].
    pub(crate) fn payload(&mut self, payload: &[u8], is_last: bool) -> Result<(), String> {
        self.counts.bytes += payload.len() as u64;
        let mut records = Records::new(payload, self.nesting);
        for record in records.by_ref() {
            let record = record.map_err(|error| error.to_string())?;
            self.record(&record)?;
        }
        self.nesting = records.nesting();
        if is_last && !self.planted.has(Bug::OrderedByTime) {
            self.end_group();
        }
        Ok(())
    }

    fn record(&mut self, record: &Record<'_>) -> Result<(), String> {
        match record {
            Record::Begin { timestamp, utc_100ns } => {
                self.timestamp = *timestamp;
                self.is_wanted = self.until_100ns.is_none_or(|until| *utc_100ns <= until);
                let counts = &mut self.counts;
                *if self.is_wanted { &mut counts.transactions } else { &mut counts.later } += 1;
            }
            Record::End => {}
            Record::Insert { .. } | Record::Update { .. } | Record::Delete { .. }
                if !self.is_wanted =>
            {
                let cut = self.cut.map_or(self.timestamp, |cut| cut.min(self.timestamp));
                self.cut = Some(cut);
            }
            _ if !self.is_wanted => {}
            Record::Insert { table, row, columns } => {
                self.change(*table, row, Change::Whole(RowColumns::of(columns)))?;
            }
            Record::Update { table, row, columns } => {
                self.change(*table, row, Change::Part(RowColumns::of(columns)))?;
            }
            Record::Delete { table, row } => self.change(*table, row, Change::Gone)?,
            Record::Definition { kind: ENTRY, bytes } => {
                let entry = entry::decode(bytes).ok_or("a definition is not readable")?;
                self.group.entries.push((self.timestamp, entry));
            }
            Record::Definition { kind, .. } => {
                return Err(format!("a definition is of the unknown kind {kind}"));
            }
        }
        Ok(())
    }

    fn change(&mut self, table: u32, row: &Row<'_>, change: Change) -> Result<(), String> {
        let Row::Id(row) = row else { return Err("a row is named by its key".to_owned()) };
        self.counts.changes += 1;
        self.group.rows.push(((table, *row), self.timestamp, change));
        Ok(())
    }

    fn end_group(&mut self) {
        // A transaction may depend on one with a lower timestamp, whose time is later by a little: of
        // two commits, the clock was read in the other order.
        if let Some(cut) = self.cut {
            self.group.rows.retain(|(_, timestamp, _)| *timestamp < cut);
        }
        // Stable: the changes of one transaction stay in their order.
        self.group.rows.sort_by_key(|(_, timestamp, _)| *timestamp);
        for ((table, row), _, change) in self.group.rows.drain(..) {
            self.rows.add(table, row, change);
        }
        self.group.entries.sort_by_key(|(timestamp, _)| *timestamp);
        for (_, entry) in self.group.entries.drain(..) {
            match entry.value {
                Some(value) => self.entries.insert(entry.key, value),
                None => self.entries.remove(&entry.key),
            };
        }
    }

    /// Returns the definitions, and the changes of rows.
    ///
    /// # Errors
    /// A thread has panicked.
    pub(crate) fn finish(mut self) -> Result<(Entries, Vec<Piece>, Counts), String> {
        if self.planted.has(Bug::OrderedByTime) {
            self.end_group();
        }
        Ok((self.entries, self.rows.finish()?, self.counts))
    }
}

impl Change {
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
