//! Records: the changes of one transaction as bytes, in a batch's payload. docs/log-format.md,
//! "Records".
//!
//! Writing copies into the caller's buffer and allocates only when that grows. Reading borrows from
//! the payload; all lengths are checked before a record is returned.

use std::iter;

use crate::bytes::{Cursor, push_varint, put_varint, varint_bytes};
use crate::error::{FormatError, Problem};

const BEGIN: u8 = 1;
const INSERT: u8 = 2;
const UPDATE: u8 = 3;
const DELETE: u8 = 4;
const DEFINITION: u8 = 5;
const END: u8 = 6;

/// Which row of a table a change is for.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Row<'a> {
    /// The number of the row in a table without a primary key.
    Id(u64),
    /// The image of the row's primary key.
    Key(&'a [u8]),
}

impl Row<'_> {
    fn byte_count(self) -> usize {
        1 + match self {
            Self::Id(id) => varint_bytes(id),
            Self::Key(image) => varint_bytes(image.len() as u64) + image.len(),
        }
    }

    fn push(self, buffer: &mut Vec<u8>) {
        match self {
            Self::Id(id) => {
                buffer.push(0);
                push_varint(buffer, id);
            }
            Self::Key(image) => {
                buffer.push(1);
                push_varint(buffer, image.len() as u64);
                buffer.extend_from_slice(image);
            }
        }
    }
}

/// Writes the records of one transaction to a buffer. Dropped before [`Self::end`], it leaves the
/// buffer as it was.
#[derive(Debug)]
pub struct Transaction<'b> {
    buffer: &'b mut Vec<u8>,
    /// Length of the buffer before the begin record.
    start: usize,
    changes: u64,
    is_ended: bool,
}

impl<'b> Transaction<'b> {
    /// Writes the begin record: commit timestamp, and commit time in UTC in units of 100 ns.
    pub fn begin(buffer: &'b mut Vec<u8>, timestamp: u64, utc_100ns: u64) -> Self {
        let start = buffer.len();
        buffer.extend_from_slice(&[BEGIN, 16]);
        buffer.extend_from_slice(&timestamp.to_le_bytes());
        buffer.extend_from_slice(&utc_100ns.to_le_bytes());
        Self { buffer, start, changes: 0, is_ended: false }
    }

    /// Leaves the transaction open: [`Self::resume`] continues it in the same buffer.
    #[must_use]
    pub fn pause(mut self) -> Paused {
        self.is_ended = true;
        Paused { start: self.start, changes: self.changes }
    }

    /// Continues a transaction at the end of `buffer`, where nothing was written in between.
    pub fn resume(buffer: &'b mut Vec<u8>, paused: Paused) -> Self {
        Self { buffer, start: paused.start, changes: paused.changes, is_ended: false }
    }

    /// Sets the times of the begin record, for a commit whose timestamp was not known at its begin.
    pub fn set_times(&mut self, timestamp: u64, utc_100ns: u64) {
        let times = self.start + 2;
        self.buffer[times..times + 8].copy_from_slice(&timestamp.to_le_bytes());
        self.buffer[times + 8..times + 16].copy_from_slice(&utc_100ns.to_le_bytes());
    }

    /// Writes a new row with all its columns: ordinals that rise, `None` for NULL.
    pub fn insert<'v>(
        &mut self,
        table: u32,
        row: Row<'_>,
        columns: impl Iterator<Item = (u32, Option<&'v [u8]>)>,
    ) {
        self.push_columns(INSERT, table, row, columns);
    }

    /// Writes the columns of a row that have changed: ordinals that rise, `None` for NULL.
    pub fn update<'v>(
        &mut self,
        table: u32,
        row: Row<'_>,
        columns: impl Iterator<Item = (u32, Option<&'v [u8]>)>,
    ) {
        self.push_columns(UPDATE, table, row, columns);
    }

    /// Writes the columns of a row that have changed, as `find` finds them; no record if it finds none.
    #[inline]
    pub fn update_of(
        &mut self,
        table: u32,
        row: Row<'_>,
        find: impl FnOnce(&mut ColumnWriter<'_>),
    ) {
        let record = self.begin_columns(UPDATE, table, row);
        let mut written = ColumnWriter::new(self.buffer);
        find(&mut written);
        match written.count {
            0 => self.buffer.truncate(record.start),
            count => self.end_columns(&record, count),
        }
    }

    /// Writes that a row is gone.
    pub fn delete(&mut self, table: u32, row: Row<'_>) {
        self.push_head(DELETE, varint_bytes(u64::from(table)) + row.byte_count());
        push_varint(self.buffer, u64::from(table));
        row.push(self.buffer);
    }

    /// Writes a definition: its bytes are opaque here, and `kind` belongs to the caller.
    pub fn definition(&mut self, kind: u32, bytes: &[u8]) {
        self.push_head(DEFINITION, varint_bytes(u64::from(kind)) + bytes.len());
        push_varint(self.buffer, u64::from(kind));
        self.buffer.extend_from_slice(bytes);
    }

    /// Writes the end record, with the number of changes.
    pub fn end(mut self) {
        let changes = self.changes;
        self.push_head(END, varint_bytes(changes));
        push_varint(self.buffer, changes);
        self.is_ended = true;
    }

    fn push_head(&mut self, kind: u8, body_bytes: usize) {
        self.buffer.push(kind);
        push_varint(self.buffer, body_bytes as u64);
        self.changes += 1;
    }

    fn push_columns<'v>(
        &mut self,
        kind: u8,
        table: u32,
        row: Row<'_>,
        columns: impl Iterator<Item = (u32, Option<&'v [u8]>)>,
    ) {
        let record = self.begin_columns(kind, table, row);
        let mut written = ColumnWriter::new(self.buffer);
        columns.for_each(|(ordinal, value)| written.push(ordinal, value));
        let count = written.count;
        self.end_columns(&record, count);
    }

    /// Begins a record with columns, whose length and count are put into their places at its end.
    fn begin_columns(&mut self, kind: u8, table: u32, row: Row<'_>) -> OpenRecord {
        let start = self.buffer.len();
        self.buffer.extend_from_slice(&[kind, 0, 0]);
        push_varint(self.buffer, u64::from(table));
        row.push(self.buffer);
        let count = self.buffer.len();
        self.buffer.push(0);
        OpenRecord { start, count }
    }

    fn end_columns(&mut self, record: &OpenRecord, count: u64) {
        put_varint(self.buffer, record.count, COUNT_BYTES, count);
        let length = record.start + 1;
        let body_bytes = self.buffer.len() - length - LENGTH_BYTES;
        put_varint(self.buffer, length, LENGTH_BYTES, body_bytes as u64);
        self.changes += 1;
    }
}

/// Bytes that are left free for the length and the column count of a record that is being written. Another
/// number moves what is behind it.
const LENGTH_BYTES: usize = 2;
const COUNT_BYTES: usize = 1;

/// A record that is being written: the places in the buffer of the record and of its column count.
struct OpenRecord {
    start: usize,
    count: usize,
}

/// Writes columns as records have them.
#[derive(Debug)]
pub struct ColumnWriter<'b> {
    buffer: &'b mut Vec<u8>,
    count: u64,
    last: u32,
}

impl<'b> ColumnWriter<'b> {
    const fn new(buffer: &'b mut Vec<u8>) -> Self {
        Self { buffer, count: 0, last: 0 }
    }

    /// Writes a column with a higher ordinal than the one before; `None` is NULL.
    #[inline]
    pub fn push(&mut self, ordinal: u32, value: Option<&[u8]>) {
        assert!(self.count == 0 || ordinal > self.last, "the ordinals of a record rise");
        push_column(self.buffer, ordinal - self.last, value);
        self.last = ordinal;
        self.count += 1;
    }
}

/// Columns as records have them, in a buffer that is used again.
#[derive(Debug, Default)]
pub struct EncodedColumns {
    count: u64,
    last: u32,
    bytes: Vec<u8>,
}

impl EncodedColumns {
    /// Removes all columns and keeps the memory.
    pub fn clear(&mut self) {
        (self.count, self.last) = (0, 0);
        self.bytes.clear();
    }

    /// Adds a column with a higher ordinal than the one before.
    pub fn push(&mut self, ordinal: u32, value: Option<&[u8]>) {
        let Self { count, last, bytes } = self;
        let mut columns = ColumnWriter { buffer: bytes, count: *count, last: *last };
        columns.push(ordinal, value);
        (*count, *last) = (columns.count, columns.last);
    }

    /// Returns the number of columns, and their bytes.
    #[must_use]
    pub fn get(&self) -> (u64, &[u8]) {
        (self.count, &self.bytes)
    }
}

#[inline]
fn push_column(buffer: &mut Vec<u8>, step: u32, value: Option<&[u8]>) {
    let image = value.unwrap_or_default();
    let length = image.len() as u64 + u64::from(value.is_some());
    match (u8::try_from(step), u8::try_from(length)) {
        // Both are varints of one byte.
        (Ok(step @ ..0x80), Ok(length @ ..0x80)) => buffer.extend_from_slice(&[step, length]),
        _ => {
            push_varint(buffer, u64::from(step));
            push_varint(buffer, length);
        }
    }
    // Numbers are copied without a call.
    if let Ok(number) = <&[u8; 8]>::try_from(image) {
        buffer.extend_from_slice(number);
    } else if let Ok(number) = <&[u8; 4]>::try_from(image) {
        buffer.extend_from_slice(number);
    } else {
        buffer.extend_from_slice(image);
    }
}

/// The state of a transaction whose records are not complete.
#[derive(Clone, Copy, Debug)]
pub struct Paused {
    start: usize,
    changes: u64,
}

impl Drop for Transaction<'_> {
    fn drop(&mut self) {
        if !self.is_ended {
            self.buffer.truncate(self.start);
        }
    }
}

/// One record of a payload.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Record<'a> {
    /// The first record of a transaction.
    Begin {
        /// Commit timestamp: of two changes of one column the later one wins.
        timestamp: u64,
        /// Commit time in UTC, in units of 100 ns since 0001-01-01.
        utc_100ns: u64,
    },
    /// A row that was inserted.
    Insert {
        /// Id of the table.
        table: u32,
        /// The row in that table.
        row: Row<'a>,
        /// All columns of the row.
        columns: Columns<'a>,
    },
    /// A row with other values in some columns.
    Update {
        /// Id of the table.
        table: u32,
        /// The row in that table.
        row: Row<'a>,
        /// The columns that have changed.
        columns: Columns<'a>,
    },
    /// A row that is gone.
    Delete {
        /// Id of the table.
        table: u32,
        /// The row in that table.
        row: Row<'a>,
    },
    /// A definition, opaque here.
    Definition {
        /// A number whose meaning belongs to the writer.
        kind: u32,
        /// The definition in the writer's form.
        bytes: &'a [u8],
    },
    /// The last record of a transaction.
    End,
}

/// The columns of a change: ordinals that rise, each with its image or `None` for NULL.
#[derive(Clone, Debug)]
pub struct Columns<'a> {
    /// Checked when the record was decoded.
    rest: Cursor<'a>,
    count: u64,
    last: Option<u32>,
}

impl<'a> Columns<'a> {
    /// Takes the columns of a record and checks all of them.
    fn decode(cursor: &mut Cursor<'a>) -> Result<Self, FormatError> {
        let count = cursor.varint()?;
        let begin = cursor.clone();
        let columns = Self { rest: begin.clone(), count, last: None };
        // A column takes two bytes at least, so a false count ends with the bytes of the record.
        let (mut checked, mut left) = (columns.clone(), count);
        while left > 0 {
            checked.step()?;
            left -= 1;
        }
        let bytes = begin.until(&checked.rest);
        *cursor = checked.rest;
        Ok(Self { rest: Cursor::new(bytes, begin.offset()), ..columns })
    }

    /// Returns the columns that follow as they are encoded, for [`Self::from_encoded`], if none was
    /// taken yet.
    #[must_use]
    pub fn encoded(&self) -> (u64, &'a [u8]) {
        (self.count, self.rest.bytes())
    }

    /// Returns the columns that [`Self::encoded`] or [`EncodedColumns`] has written.
    #[must_use]
    pub const fn from_encoded(count: u64, bytes: &'a [u8]) -> Self {
        Self { rest: Cursor::new(bytes, 0), count, last: None }
    }

    #[inline]
    fn step(&mut self) -> Result<(u32, Option<&'a [u8]>), FormatError> {
        let error = self.rest.error(Problem::Ordinals);
        let step = self.rest.varint_u32()?;
        let ordinal = match self.last {
            None => Some(step),
            Some(_) if step == 0 => None,
            Some(last) => last.checked_add(step),
        };
        let ordinal = ordinal.ok_or(error)?;
        self.last = Some(ordinal);
        let value = match self.rest.varint()? {
            0 => None,
            more => Some(self.rest.take(more - 1)?),
        };
        Ok((ordinal, value))
    }
}

impl<'a> Iterator for Columns<'a> {
    type Item = (u32, Option<&'a [u8]>);

    fn next(&mut self) -> Option<Self::Item> {
        self.count = self.count.checked_sub(1)?;
        Some(self.step().expect("columns were checked when their record was decoded"))
    }
}

impl PartialEq for Columns<'_> {
    fn eq(&self, other: &Self) -> bool {
        self.clone().eq(other.clone())
    }
}

impl Eq for Columns<'_> {}

/// Where in a transaction a payload begins or ends: a transaction may continue in the next batch of
/// its group.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Nesting {
    /// Changes since the begin record; `None` between transactions.
    changes: Option<u64>,
}

impl Nesting {
    /// Returns whether no transaction is open, as it must be at both ends of a group.
    #[must_use]
    pub const fn is_outside(self) -> bool {
        self.changes.is_none()
    }
}

/// Reads the records of a payload from front to back. Ends after the first error.
#[derive(Clone, Debug)]
pub struct Records<'a> {
    rest: Cursor<'a>,
    nesting: Nesting,
}

impl<'a> Records<'a> {
    /// Starts at the front of a payload, of which the batch before ended with this nesting.
    #[must_use]
    pub const fn new(payload: &'a [u8], nesting: Nesting) -> Self {
        Self { rest: Cursor::new(payload, 0), nesting }
    }

    /// Returns the nesting after the records read so far.
    #[must_use]
    pub const fn nesting(&self) -> Nesting {
        self.nesting
    }

    /// Returns the offset in the payload of the next record.
    #[must_use]
    pub const fn offset(&self) -> usize {
        self.rest.offset()
    }

    fn decode(&mut self) -> Result<Record<'a>, FormatError> {
        let (start, kind, mut body) = open(&mut self.rest)?;
        self.nesting.step(start, kind, &body)?;
        decode_body(kind, &mut body)
    }
}

/// Takes a record; returns where it begins, its kind and its body.
fn open<'a>(rest: &mut Cursor<'a>) -> Result<(usize, u8, Cursor<'a>), FormatError> {
    let start = rest.offset();
    let kind = rest.byte()?;
    if !(BEGIN..=END).contains(&kind) {
        return Err(FormatError::new(start, Problem::RecordKind(kind)));
    }
    let body_bytes = rest.varint()?;
    let body_start = rest.offset();
    Ok((start, kind, Cursor::new(rest.take(body_bytes)?, body_start)))
}

fn decode_body<'a>(kind: u8, body: &mut Cursor<'a>) -> Result<Record<'a>, FormatError> {
    let record = match kind {
        BEGIN => Record::Begin { timestamp: body.u64()?, utc_100ns: body.u64()? },
        INSERT => {
            let (table, row) = place(body)?;
            Record::Insert { table, row, columns: Columns::decode(body)? }
        }
        UPDATE => {
            let (table, row) = place(body)?;
            Record::Update { table, row, columns: Columns::decode(body)? }
        }
        DELETE => {
            let (table, row) = place(body)?;
            Record::Delete { table, row }
        }
        DEFINITION => Record::Definition { kind: body.varint_u32()?, bytes: body.take_all() },
        _ => {
            body.varint()?;
            Record::End
        }
    };
    if body.is_at_end() { Ok(record) } else { Err(body.error(Problem::RecordLength)) }
}

/// Columns of a change that are checked as they are taken, where [`Columns`] were checked before. The
/// first error ends them, and [`Self::end`] returns it.
#[derive(Clone, Debug)]
pub struct ColumnsOnce<'a> {
    columns: Columns<'a>,
    error: Option<FormatError>,
}

impl<'a> From<Columns<'a>> for ColumnsOnce<'a> {
    fn from(columns: Columns<'a>) -> Self {
        Self { columns, error: None }
    }
}

impl ColumnsOnce<'_> {
    /// Ends the columns, all of which were taken.
    ///
    /// # Errors
    /// What is wrong with them. Then what was made of them must not be used.
    pub fn end(self) -> Result<(), FormatError> {
        let Self { columns, error } = self;
        match error {
            Some(error) => Err(error),
            None if columns.count == 0 && columns.rest.is_at_end() => Ok(()),
            None => Err(columns.rest.error(Problem::RecordLength)),
        }
    }
}

impl<'a> Iterator for ColumnsOnce<'a> {
    type Item = (u32, Option<&'a [u8]>);

    #[inline]
    fn next(&mut self) -> Option<Self::Item> {
        self.columns.count = self.columns.count.checked_sub(1)?;
        match self.columns.step() {
            Ok(column) => Some(column),
            Err(error) => {
                (self.columns.count, self.error) = (0, Some(error));
                None
            }
        }
    }
}

/// A change of a row, to be read once.
#[derive(Clone, Debug)]
pub enum Change<'a> {
    /// The row has these columns.
    Whole(ColumnsOnce<'a>),
    /// These columns have other values.
    Part(ColumnsOnce<'a>),
    /// The row is gone.
    Gone,
}

impl<'a> Change<'a> {
    /// Returns the change at an offset of a payload, where [`Heads`] has found a [`Head::Change`].
    ///
    /// # Errors
    /// What is wrong with it, but for its columns.
    pub fn at(payload: &'a [u8], offset: usize) -> Result<Self, FormatError> {
        let bytes = payload.get(offset..).ok_or_else(|| FormatError::new(offset, Problem::Cut))?;
        let (start, kind, mut body) = open(&mut Cursor::new(bytes, offset))?;
        if !matches!(kind, INSERT | UPDATE | DELETE) {
            return Err(FormatError::new(start, Problem::RecordKind(kind)));
        }
        place(&mut body)?;
        if kind == DELETE {
            return if body.is_at_end() {
                Ok(Self::Gone)
            } else {
                Err(body.error(Problem::RecordLength))
            };
        }
        let count = body.varint()?;
        let columns = ColumnsOnce::from(Columns { rest: body, count, last: None });
        Ok(if kind == INSERT { Self::Whole(columns) } else { Self::Part(columns) })
    }
}

impl<'a> Record<'a> {
    /// Returns the record at an offset of a payload, which [`Heads`] has returned.
    ///
    /// # Errors
    /// What is wrong with it.
    pub fn at(payload: &'a [u8], offset: usize) -> Result<Self, FormatError> {
        let bytes = payload.get(offset..).ok_or_else(|| FormatError::new(offset, Problem::Cut))?;
        let (_, kind, mut body) = open(&mut Cursor::new(bytes, offset))?;
        decode_body(kind, &mut body)
    }
}

impl Nesting {
    /// Goes past a record.
    fn step(&mut self, start: usize, kind: u8, body: &Cursor<'_>) -> Result<(), FormatError> {
        self.changes = match (kind, self.changes) {
            (BEGIN, None) => Some(0),
            (BEGIN, Some(_)) | (_, None) => {
                return Err(FormatError::new(start, Problem::Nesting));
            }
            (END, Some(before)) => {
                if body.clone().varint()? != before {
                    return Err(FormatError::new(start, Problem::ChangeCount));
                }
                None
            }
            (_, Some(changes)) => Some(changes + 1),
        };
        Ok(())
    }
}

/// A record without its columns, which are most of its bytes.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Head<'a> {
    /// The first record of a transaction.
    Begin {
        /// Commit timestamp, which orders the transactions of a group.
        timestamp: u64,
        /// Commit time in UTC, in units of 100 ns since 0001-01-01.
        utc_100ns: u64,
    },
    /// An insert, an update or a delete.
    Change {
        /// Id of the table.
        table: u32,
        /// The row in that table.
        row: Row<'a>,
        /// Whether nothing of the row before counts: an insert or a delete.
        is_whole: bool,
    },
    /// A definition, opaque here.
    Definition {
        /// A number whose meaning belongs to the writer.
        kind: u32,
        /// The definition in the writer's form.
        bytes: &'a [u8],
    },
    /// The last record of a transaction.
    End,
}

/// Reads the heads of the records of a payload, each with its offset: see [`Record::at`]. Ends after the
/// first error.
#[derive(Clone, Debug)]
pub struct Heads<'a>(Records<'a>);

impl<'a> Heads<'a> {
    /// Starts at the front of a payload, of which the batch before ended with this nesting.
    #[must_use]
    pub const fn new(payload: &'a [u8], nesting: Nesting) -> Self {
        Self(Records::new(payload, nesting))
    }

    /// Returns the nesting after the heads read so far.
    #[must_use]
    pub const fn nesting(&self) -> Nesting {
        self.0.nesting()
    }

    fn decode(&mut self) -> Result<(usize, Head<'a>), FormatError> {
        let (start, kind, mut body) = open(&mut self.0.rest)?;
        self.0.nesting.step(start, kind, &body)?;
        let head = match kind {
            BEGIN => Head::Begin { timestamp: body.u64()?, utc_100ns: body.u64()? },
            INSERT | UPDATE | DELETE => {
                let (table, row) = place(&mut body)?;
                Head::Change { table, row, is_whole: kind != UPDATE }
            }
            DEFINITION => Head::Definition { kind: body.varint_u32()?, bytes: body.take_all() },
            _ => {
                body.varint()?;
                Head::End
            }
        };
        let has_columns = matches!(kind, INSERT | UPDATE);
        if body.is_at_end() || has_columns {
            Ok((start, head))
        } else {
            Err(body.error(Problem::RecordLength))
        }
    }
}

impl<'a> Iterator for Heads<'a> {
    type Item = Result<(usize, Head<'a>), FormatError>;

    fn next(&mut self) -> Option<Self::Item> {
        if self.0.rest.is_at_end() {
            return None;
        }
        let head = self.decode();
        if head.is_err() {
            self.0.rest.take_all();
        }
        Some(head)
    }
}

impl iter::FusedIterator for Heads<'_> {}

impl<'a> Iterator for Records<'a> {
    type Item = Result<Record<'a>, FormatError>;

    fn next(&mut self) -> Option<Self::Item> {
        if self.rest.is_at_end() {
            return None;
        }
        let record = self.decode();
        if record.is_err() {
            self.rest.take_all();
        }
        Some(record)
    }
}

impl iter::FusedIterator for Records<'_> {}

/// Takes the table and the row of a change.
fn place<'a>(body: &mut Cursor<'a>) -> Result<(u32, Row<'a>), FormatError> {
    let table = body.varint_u32()?;
    let at = body.offset();
    let row = match body.byte()? {
        0 => Row::Id(body.varint()?),
        1 => {
            let image_bytes = body.varint()?;
            Row::Key(body.take(image_bytes)?)
        }
        _ => return Err(FormatError::new(at, Problem::Field("kind of row"))),
    };
    Ok((table, row))
}

/// Returns the length of the record at the front, without looking into its body.
///
/// # Errors
/// What is wrong with its length.
pub(crate) fn record_bytes(records: &[u8]) -> Result<usize, FormatError> {
    let mut cursor = Cursor::new(records, 0);
    cursor.byte()?;
    let body_bytes = cursor.varint()?;
    cursor.take(body_bytes)?;
    Ok(cursor.offset())
}
