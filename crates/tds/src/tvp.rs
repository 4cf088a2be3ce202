//! Table-valued parameters: rows in a parameter ([MS-TDS] 2.2.5.5.5).

use std::borrow::Cow;

use types::{ColumnType, Value};

use crate::cursor::Cursor;
use crate::error::{ProtocolError, Result};
use crate::utf16;
use crate::wire_type::{Place, WireType};

/// The most columns of a table type: SQL Server's limit.
const COLUMNS_MAX: u16 = 1_024;
/// The column count that says there are none: an empty table.
const NO_COLUMNS: u16 = 0xFFFF;
/// Ends the options, and the rows.
pub(crate) const END: u8 = 0x00;
/// Begins a row.
pub(crate) const ROW: u8 = 0x01;
const ORDER_UNIQUE: u8 = 0x10;
const COLUMN_ORDERING: u8 = 0x11;
/// The column flag that says that all rows leave the column to its default.
pub(crate) const FLAG_DEFAULT: u16 = 0x0200;

/// A decoded table-valued parameter.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct TableValue {
    /// The schema of the table type, empty for the default.
    pub schema: String,
    /// The name of the table type.
    pub name: String,
    /// The columns; none if the client sent no rows.
    pub columns: Vec<TableColumn>,
    /// The rows' values one after the other, as many per row as there are columns. NULL stands for
    /// columns that are left to their default.
    pub values: Vec<Value>,
}

/// A column of a table-valued parameter.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct TableColumn {
    /// Its type.
    pub column_type: ColumnType,
    /// Whether all rows leave it to its default.
    pub is_default: bool,
    wire: WireType,
}

impl TableValue {
    /// Returns the rows.
    pub fn rows(&self) -> impl Iterator<Item = &[Value]> {
        self.values.chunks(self.columns.len().max(1))
    }

    /// Reads a parameter from its type token on.
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

/// Skips what the client says of the rows' order and uniqueness, which is a hint; an order of the
/// columns other than the table type's is refused.
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
