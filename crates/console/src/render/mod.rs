//! Results as text: a table that fits the terminal, sqlcmd's columns, CSV, or JSON. Rows are written as they
//! come; a table holds the first few hundred back to see how wide its columns are.

mod csv;
mod json;
mod plain;
mod table;
pub mod value;

use tds::client::ResultColumn;
use types::Value;

/// What results look like.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Format {
    /// Columns as wide as what is in them, within the terminal.
    Table,
    /// Columns as wide as their types, as sqlcmd has them.
    Plain,
    /// RFC 4180, a line of names first; NULL is nothing at all, an empty string is "".
    Csv,
    /// An array of objects for each result.
    Json,
}

impl Format {
    /// All of them with their names.
    pub const ALL: [(&str, Self); 4] =
        [("table", Self::Table), ("plain", Self::Plain), ("csv", Self::Csv), ("json", Self::Json)];

    /// The format of a name.
    pub fn of_name(name: &str) -> Option<Self> {
        Self::ALL
            .iter()
            .find(|(known, _)| known.eq_ignore_ascii_case(name))
            .map(|(_, format)| *format)
    }

    /// Whether a program reads it, so that nothing else may be in between.
    pub const fn is_for_programs(self) -> bool {
        matches!(self, Self::Csv | Self::Json)
    }
}

/// How plain results are laid out.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Layout {
    /// Between two columns (-s).
    pub separator: String,
    /// Whether blanks at the ends of columns are left out (-W).
    pub trims: bool,
    /// Rows between two lines of names: 0 for one at the top, -1 for none (-h).
    pub header_rows: i32,
    /// Characters of a column of variable length at most, unless trimmed.
    pub variable_max: usize,
}

impl Default for Layout {
    fn default() -> Self {
        Self { separator: " ".to_owned(), trims: false, header_rows: 0, variable_max: 256 }
    }
}

/// Writes one result after the other.
pub trait Render {
    /// A result begins.
    fn begin(&mut self, columns: &[ResultColumn], out: &mut String);
    /// A row of it.
    fn row(&mut self, values: &[Value], out: &mut String);
    /// Writes what is held back, because something else is to be written.
    fn settle(&mut self, _out: &mut String) {}
    /// It ends.
    fn end(&mut self, out: &mut String);
}

/// Returns what writes a format; `columns` is the width of the terminal, if there is one.
pub fn renderer(format: Format, layout: &Layout, columns: Option<usize>) -> Box<dyn Render> {
    match format {
        Format::Table => Box::new(table::Table::new(columns)),
        Format::Plain => Box::new(plain::Plain::new(layout.clone())),
        Format::Csv => Box::new(csv::Csv::default()),
        Format::Json => Box::new(json::Json::default()),
    }
}
