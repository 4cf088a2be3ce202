//! Table-valued parameters: the rows of a parameter ([MS-TDS] 2.2.5.5.5).

use std::borrow::Cow;

use types::{ColumnType, Value};

use crate::cursor::Cursor;
use crate::error::{ProtocolError, Result};
use crate::utf16;
use crate::wire_type::{Place, WireType};

/// The most columns of a table type: SQL Server's limit.
const COLUMNS_MAX: u16 = 1_024;
/// The column count of a table without columns: an empty table.
const NO_COLUMNS: u16 = 0xFFFF;
/// The token that ends the options, and the rows.
pub(crate) const END: u8 = 0x00;
/// The token before each row.
pub(crate) const ROW: u8 = 0x01;
const ORDER_UNIQUE: u8 = 0x10;
const COLUMN_ORDERING: u8 = 0x11;
/// The column flag for a column that takes its default in all rows.
pub(crate) const FLAG_DEFAULT: u16 = 0x0200;

/// A decoded table-valued parameter.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct TableValue {
    /// The schema of the table type, empty for the default.
    pub schema: String,
    /// The name of the table type.
    pub name: String,
    /// The columns; empty if the client sent no rows.
    pub columns: Vec<TableColumn>,
    /// The rows' values, row after row, one per column. A column that takes its default has NULL.
    pub values: Vec<Value>,
}

/// A column of a table-valued parameter.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct TableColumn {
    /// The column's type, as sent.
    pub column_type: ColumnType,
    /// Whether the column takes its default in all rows.
    pub is_default: bool,
    wire: WireType,
}

impl TableValue {
    /// Returns the rows in order, each as its values.
    pub fn rows(&self) -> impl Iterator<Item = &[Value]> {
        self.values.chunks(self.columns.len().max(1))
    }

    /// Reads a parameter, starting at its type token.
    pub(crate) fn decode(body: &mut Cursor<'_>) -> Result<Self> {
        body.skip(1)?;
        body.b_varchar()?; // The database, which must be empty.
        let mut table = Self {
            schema: utf16::to_string(&body.b_varchar()?),
            name: utf16::to_string(&body.b_varchar()?),
            ..Self::default()
        };
        table.columns = read_columns(body)?;
        skip_options(body, table.columns.len())?;
        loop {
            match body.u8()? {
                END => return Ok(table),
                ROW if !table.columns.is_empty() => table.read_row(body)?,
                other => return Err(ProtocolError::UnknownToken(other)),
            }
        }
    }

    fn read_row(&mut self, body: &mut Cursor<'_>) -> Result<()> {
        for column in &self.columns {
            let value = if column.is_default {
                Value::Null
            } else {
                column.wire.decode_value(body, Place::Parameter)?
            };
            self.values.push(value);
        }
        Ok(())
    }
}

fn read_columns(body: &mut Cursor<'_>) -> Result<Vec<TableColumn>> {
    let count = body.u16()?;
    if count == NO_COLUMNS {
        return Ok(Vec::new());
    }
    if count > COLUMNS_MAX {
        return Err(ProtocolError::InvalidLength { what: "table type", length: count.into() });
    }
    let mut columns = Vec::new();
    for _ in 0..count {
        body.skip(4)?; // The user type.
        let flags = body.u16()?;
        let wire = WireType::decode_of_table(body)?;
        let _name: Cow<'_, [u8]> = body.b_varchar()?; // Must be empty.
        let is_default = flags & FLAG_DEFAULT != 0;
        columns.push(TableColumn { column_type: wire.column_type, is_default, wire });
    }
    Ok(columns)
}

/// Skips what the client declares about the rows' order and uniqueness, a hint; refuses columns in
/// another order than the table type's.
fn skip_options(body: &mut Cursor<'_>, column_count: usize) -> Result<()> {
    loop {
        match body.u8()? {
            END => return Ok(()),
            ORDER_UNIQUE => {
                let count = usize::from(body.u16()?);
                body.skip(count * 3)?;
            }
            COLUMN_ORDERING => {
                let count = body.u16()?;
                for expected in 1..=count {
                    if body.u16()? != expected || usize::from(expected) > column_count {
                        return Err(ProtocolError::Unsupported(
                            "table-valued parameters with reordered columns",
                        ));
                    }
                }
            }
            other => return Err(ProtocolError::UnknownToken(other)),
        }
    }
}
