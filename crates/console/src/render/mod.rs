//! Output formats for results: a table that fits the terminal, sqlcmd's columns, CSV, or JSON. Rows
//! are written as they arrive; a table holds the first few hundred back to choose the column
//! widths.

mod csv;
mod json;
mod plain;
mod table;
pub mod value;

use tds::client::ResultColumn;
use types::Value;

/// The format of results.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Format {
    /// Columns as wide as their content, within the terminal's width.
    Table,
    /// Columns as wide as their types require, as in sqlcmd.
    Plain,
    /// RFC 4180, with a line of names first; NULL is an empty field, an empty string is "".
    Csv,
    /// An array of objects for each result.
    Json,
}

impl Format {
    /// Every format with its name.
    pub const ALL: [(&str, Self); 4] =
        [("table", Self::Table), ("plain", Self::Plain), ("csv", Self::Csv), ("json", Self::Json)];

    /// Returns the format with this name.
    pub fn of_name(name: &str) -> Option<Self> {
        Self::ALL
            .iter()
            .find(|(known, _)| known.eq_ignore_ascii_case(name))
            .map(|(_, format)| *format)
    }

    /// Returns whether programs read the format, so that nothing else may be written in between.
    pub const fn is_for_programs(self) -> bool {
        matches!(self, Self::Csv | Self::Json)
    }
}

/// The layout of plain results.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Layout {
    /// The text between two columns (-s).
    pub separator: String,
    /// Whether blanks at the ends of columns are left out (-W).
    pub trims: bool,
    /// Rows between two lines of names: 0 for one at the top, -1 for none (-h).
    pub header_rows: i32,
    /// The widest column of variable length, in characters, unless trimmed.
    pub variable_max: usize,
}

impl Default for Layout {
    fn default() -> Self {
        Self { separator: " ".to_owned(), trims: false, header_rows: 0, variable_max: 256 }
    }
}

/// Writes results one after the other.
pub trait Render {
    /// Begins a result with these columns.
    fn begin(&mut self, columns: &[ResultColumn], out: &mut String);
    /// Writes a row of the current result.
    fn row(&mut self, values: &[Value], out: &mut String);
    /// Writes rows that are held back, because something else is about to be written.
    fn settle(&mut self, _out: &mut String) {}
    /// Ends the current result.
    fn end(&mut self, out: &mut String);
}

/// Returns the writer for a format; `columns` is the width of the terminal, if there is one.
pub fn renderer(format: Format, layout: &Layout, columns: Option<usize>) -> Box<dyn Render> {
    match format {
        Format::Table => Box::new(table::Table::new(columns)),
        Format::Plain => Box::new(plain::Plain::new(layout.clone())),
        Format::Csv => Box::new(csv::Csv::default()),
        Format::Json => Box::new(json::Json::default()),
    }
}
