//! Bulk load: columns and rows from a client, decoded as they arrive ([MS-TDS] 2.2.6.1).
//!
//! The stream is COLMETADATA, ROWs, and a DONE that some clients leave out. It may be larger than
//! memory: [`BulkReader::push`] takes parts, [`BulkReader::next_row`] returns rows, and less than
//! one row and one part is kept in between.

use types::{ColumnType, Value};

use crate::cursor::Cursor;
use crate::error::{ProtocolError, Result};
use crate::response::token;
use crate::utf16;
use crate::version::TdsVersion;
use crate::wire_type::{Place, Sender, WireType, decode_column};

/// The most columns of a bulk load.
const COLUMNS_MAX: u16 = 4_096;
/// The longest row unless configured, in bytes.
pub const ROW_BYTES_MAX: usize = 1 << 31;
/// A row longer than this is tried again only when half as much again has arrived, so that a value
/// that comes in a million parts is not scanned a million times.
const EAGER_BYTES_MAX: usize = 64 * 1024;

/// Length of DONE with a count of 4 bytes, the token included; and of 8 bytes.
const SHORT_DONE: usize = 9;
const LONG_DONE: usize = 13;

/// Decodes one bulk load, part by part.
#[derive(Debug)]
pub struct BulkReader {
    version: TdsVersion,
    /// Bytes that have arrived; those before `at` have been decoded.
    buffer: Vec<u8>,
    at: usize,
    has_ended: bool,
    columns: Option<Vec<BulkColumn>>,
    /// Whether a row's token has been read, and its values so far.
    in_row: bool,
    row: Vec<Value>,
    /// Bytes that must have arrived before the next value is tried.
    retry_bytes: usize,
    is_done: bool,
    /// The 1-based column whose type could not be read; 0 for none.
    wrong_column: usize,
}

/// A column of a bulk load.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct BulkColumn {
    /// The column's name, as sent.
    pub name: String,
    /// The column's type, as sent.
    pub column_type: ColumnType,
    pub(crate) wire: WireType,
}

impl BulkReader {
    /// Returns a reader before the first byte.
    pub const fn new(version: TdsVersion) -> Self {
        Self {
            version,
            buffer: Vec::new(),
            at: 0,
            has_ended: false,
            columns: None,
            in_row: false,
            row: Vec::new(),
            retry_bytes: 0,
            is_done: false,
            wrong_column: 0,
        }
    }

    /// Takes one part of the load; `last` marks the last one.
    pub fn push(&mut self, mut part: Cursor<'_>, last: bool) -> Result<()> {
        self.buffer.drain(..self.at);
        self.at = 0;
        if self.buffer.len() + part.remaining() > ROW_BYTES_MAX {
            return Err(ProtocolError::MessageTooLong(1 << 31));
        }
        let start = self.buffer.len();
        self.buffer.resize(start + part.remaining(), 0);
        part.copy_to(&mut self.buffer[start..])?;
        self.has_ended |= last;
        Ok(())
    }

    /// Returns the columns once they have arrived, `None` before.
    pub fn columns(&mut self) -> Result<Option<&[BulkColumn]>> {
        if self.columns.is_none() {
            let version = self.version;
            let mut at = 0;
            let read = self.attempt(|body| read_columns(body, version, &mut at));
            if read.is_err() {
                self.wrong_column = at;
            }
            self.columns = read?;
        }
        Ok(self.columns.as_deref())
    }

    /// Moves the next row into `target`, one value per column. Returns `false` if no whole row has
    /// arrived; at the end of the load that means that there are no more rows.
    pub fn next_row(&mut self, target: &mut Vec<Value>) -> Result<bool> {
        if self.columns()?.is_none() || !self.enter_row()? {
            return Ok(false);
        }
        while let Some(wire) = self.next_wire() {
            let read = |body: &mut Cursor<'_>| wire.decode_value(body, Place::Row);
            let Some(value) = self.attempt(read)? else { return Ok(false) };
            self.row.push(value);
        }
        self.in_row = false;
        target.clear();
        target.append(&mut self.row);
        Ok(true)
    }

    /// Returns the message for an error of this reader. Wrong bytes in a load are the client's
    /// mistake and do not end the connection, since the load's message has its own end.
    pub fn explain(&self, error: ProtocolError) -> types::Error {
        let place = match &self.columns {
            None => self.wrong_column,
            Some(_) => self.row.len() + 1,
        };
        let column = i64::try_from(place).unwrap_or(i64::MAX);
        match error {
            ProtocolError::UnknownType(_) | ProtocolError::Unsupported(_) => {
                types::Msg::BulkColumnType(column).into()
            }
            ProtocolError::InvalidLength { .. } if self.columns.is_none() => {
                types::Msg::BulkColumnType(column).into()
            }
            ProtocolError::InvalidLength { .. } => types::Msg::BulkColumnLength(column).into(),
            ProtocolError::InvalidValue(of) => types::Msg::InvalidDataForType(of).into(),
            _ => types::Msg::BulkPrematureEnd.into(),
        }
    }

    /// Returns whether all of the load has been decoded.
    pub const fn is_complete(&self) -> bool {
        self.is_done
    }

    fn next_wire(&self) -> Option<WireType> {
        let columns = self.columns.as_deref()?;
        columns.get(self.row.len()).map(|column| column.wire)
    }

    /// Steps into the next row. Returns `false` if there is none yet.
    fn enter_row(&mut self) -> Result<bool> {
        if self.in_row {
            return Ok(true);
        }
        if self.at == self.buffer.len() {
            self.is_done |= self.has_ended;
            return Ok(false);
        }
        if self.is_done {
            // No token may follow DONE.
            return Err(ProtocolError::UnknownToken(self.buffer[self.at]));
        }
        match self.buffer[self.at] {
            token::ROW => {
                self.at += 1;
                self.in_row = true;
                Ok(true)
            }
            token::DONE => {
                // Some clients of 7.2 and later (SqlClient, mssql-tds) still count rows in 4 bytes
                // here.
                let rest = self.buffer.len() - self.at;
                let short =
                    !self.version.has_wide_fields() || (self.has_ended && rest == SHORT_DONE);
                let bytes = if short { SHORT_DONE } else { LONG_DONE };
                self.is_done = self.attempt(|body| body.skip(bytes))?.is_some();
                if self.is_done { self.enter_row() } else { Ok(false) }
            }
            other => Err(ProtocolError::UnknownToken(other)),
        }
    }

    /// Reads a field; `None` if it has not arrived whole but still may.
    fn attempt<T>(&mut self, read: impl FnOnce(&mut Cursor<'_>) -> Result<T>) -> Result<Option<T>> {
        let there = self.buffer.len() - self.at;
        if there < self.retry_bytes && !self.has_ended {
            return Ok(None);
        }
        let mut body = Cursor::new(&self.buffer[self.at..]);
        match read(&mut body) {
            Ok(result) => {
                self.at = self.buffer.len() - body.remaining();
                self.retry_bytes = 0;
                Ok(Some(result))
            }
            Err(ProtocolError::Truncated) if !self.has_ended => {
                self.retry_bytes = if there > EAGER_BYTES_MAX { there + there / 2 } else { 0 };
                Ok(None)
            }
            Err(error) => Err(error),
        }
    }
}

fn read_columns(
    body: &mut Cursor<'_>,
    version: TdsVersion,
    at: &mut usize,
) -> Result<Vec<BulkColumn>> {
    let code = body.u8()?;
    if code != token::COLUMN_METADATA {
        return Err(ProtocolError::UnknownToken(code));
    }
    let count = body.u16()?;
    if count > COLUMNS_MAX || count == 0 {
        return Err(ProtocolError::InvalidLength { what: "bulk load", length: count.into() });
    }
    let mut columns = Vec::new();
    for place in 1..=usize::from(count) {
        *at = place;
        let (wire, _flags) = decode_column(body, version, Sender::Client)?;
        let name = utf16::to_string(&body.b_varchar()?);
        columns.push(BulkColumn { name, column_type: wire.column_type, wire });
    }
    Ok(columns)
}
