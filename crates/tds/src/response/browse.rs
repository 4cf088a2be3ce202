//! TABNAME and COLINFO: where the columns of a cursor come from ([MS-TDS] 2.2.7.3, 2.2.7.23).

use super::columns::{put_b_varchar, put_us_varchar};
use super::{ResponseWriter, token};
use crate::sink::Sink;

/// The longest column name, in UTF-16 units.
const NAME_UNITS_MAX: usize = 128;

/// Status bits of a column in COLINFO.
mod status {
    /// The result of an expression.
    pub(super) const EXPRESSION: u8 = 0x04;
    /// Part of the table's key.
    pub(super) const KEY: u8 = 0x08;
    /// The client has not asked for it.
    pub(super) const HIDDEN: u8 = 0x10;
    /// Its name in the table follows.
    pub(super) const DIFFERENT_NAME: u8 = 0x20;
}

/// Where a column comes from, in COLINFO.
#[derive(Clone, Copy, Debug)]
pub struct ColumnSource<'a> {
    /// Number of the table, from 1; 0 for an expression.
    pub table: usize,
    /// The column's name in its table, if the result has another.
    pub name: Option<&'a str>,
    /// Whether it is part of the table's key.
    pub is_key: bool,
    /// Whether the client did not ask for it.
    pub is_hidden: bool,
}

impl ResponseWriter {
    /// Writes TABNAME and COLINFO, which follow COLMETADATA. A table is given as the parts of its
    /// name, at most four. Writes nothing if the tables or columns are too many to be numbered.
    pub fn browse(&mut self, tables: &[Vec<String>], columns: &[ColumnSource<'_>]) {
        let mut names = Vec::new();
        for table in tables {
            names.push(u8::try_from(table.len()).unwrap_or(u8::MAX));
            table.iter().for_each(|part| put_us_varchar(&mut names, part));
        }
        let mut sources = Vec::new();
        for (number, column) in (1..).zip(columns) {
            let Ok(number) = u8::try_from(number) else { return };
            let Ok(table) = u8::try_from(column.table) else { return };
            let bits = [
                (column.table == 0, status::EXPRESSION),
                (column.is_key, status::KEY),
                (column.is_hidden, status::HIDDEN),
                (column.name.is_some(), status::DIFFERENT_NAME),
            ];
            let bits = bits.into_iter().filter(|(is, _)| *is).fold(0, |all, (_, bit)| all | bit);
            sources.extend_from_slice(&[number, table, bits]);
            if let Some(name) = column.name {
                put_b_varchar(&mut sources, name, NAME_UNITS_MAX);
            }
        }
        let lengths = (u16::try_from(names.len()), u16::try_from(sources.len()));
        let (Ok(names_bytes), Ok(sources_bytes)) = lengths else { return };
        self.put(&[token::TABLE_NAMES]);
        self.put(&names_bytes.to_le_bytes());
        self.put(&names);
        self.put(&[token::COLUMN_SOURCES]);
        self.put(&sources_bytes.to_le_bytes());
        self.put(&sources);
    }
}
