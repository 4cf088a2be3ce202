//! The log of a folder as lines of JSON, one for each record: the verb `log`. It needs no server,
//! and disturbs none that has the folder open.
//!
//! ```text
//! {"lsn":..,"operation":"begin","timestamp":..,"time":"2026-11-28T14:05:00.1234567Z"}
//! {"lsn":..,"operation":"define","key":"database 5, options","bytes":72,"time":..}
//! {"lsn":..,"operation":"insert","table":"d.dbo.t","table_id":9,"part":0,"row":1,"columns":{..},"time":..}
//! {"lsn":..,"operation":"commit","time":..}
//! ```
//!
//! A column is `"name":{"type":"int","value":1}`. What no definition describes, such as the inside
//! of a columnstore, is an array of its images in hexadecimal digits.

mod json;
mod tables;

use std::fmt::Write as _;

use durable::{Change, Reading};

use json::{quote, time};
use tables::Tables;

/// Shows the records of the log in a folder, one line of JSON for each, without line ends.
///
/// # Errors
/// A sentence that says what is wrong with the folder or its log, or the error of `put`.
pub fn log_lines(
    folder: &str,
    mut put: impl FnMut(&str) -> Result<(), String>,
) -> Result<(), String> {
    let reading = Reading::open(folder)?;
    // A table's rows may be logged before its definition, so all definitions are read first.
    // Older ones are in the checkpoint only.
    let mut tables = Tables::new(reading.definitions()?);
    let mut last = Tables::new(reading.definitions()?);
    reading.records(|_, change| {
        if let Change::Define(entry) = change {
            last.define(entry);
        }
        Ok(())
    })?;
    let mut committed = String::new();
    reading.records(|at, change| {
        if let Change::Begin { utc_100ns, .. } = change {
            committed = time(*utc_100ns);
        }
        if let Change::Define(entry) = change {
            tables.define(entry);
        }
        let mut line = format!(
            "{{\"lsn\":\"{:08x}:{:08x}:{:04x}\",{}",
            at.segment,
            at.batch,
            at.record,
            body(change, &mut tables, &mut last)
        );
        // Writing to a String does not fail.
        let _ = write!(line, ",\"time\":\"{committed}\"}}");
        put(&line)
    })
}

/// Returns the members of a record's object that depend on its kind.
fn body(change: &Change<'_>, tables: &mut Tables, last: &mut Tables) -> String {
    let mut row = |operation, (table, part, row), columns: Option<&_>| {
        let known = tables.find(table).or_else(|| last.find(table));
        let name = known.map_or("null".to_owned(), |known| quote(&known.name));
        let mut text = format!(
            "\"operation\":\"{operation}\",\"table\":{name},\"table_id\":{},\"part\":{part},\
             \"row\":{row}",
            table.0
        );
        if let Some(columns) = columns {
            let known = known.filter(|_| part == 0);
            let columns = known.and_then(|known| known.columns(columns));
            let images = || tables::images(columns_of(change));
            let _ = write!(text, ",\"columns\":{}", columns.unwrap_or_else(images));
        }
        text
    };
    match change {
        Change::Begin { timestamp, .. } => {
            format!("\"operation\":\"begin\",\"timestamp\":{timestamp}")
        }
        Change::End => "\"operation\":\"commit\"".to_owned(),
        Change::Insert { table, part, row: id, columns } => {
            row("insert", (*table, *part, *id), Some(columns))
        }
        Change::Update { table, part, row: id, columns } => {
            row("update", (*table, *part, *id), Some(columns))
        }
        Change::Delete { table, part, row: id } => row("delete", (*table, *part, *id), None),
        Change::Define(entry) => {
            let key = quote(&definitions::key_in_words(&entry.key));
            match &entry.value {
                Some(value) => {
                    format!("\"operation\":\"define\",\"key\":{key},\"bytes\":{}", value.len())
                }
                None => format!("\"operation\":\"undefine\",\"key\":{key}"),
            }
        }
    }
}

/// Returns the columns of a change; none if it has none.
fn columns_of<'c>(change: &'c Change<'_>) -> Vec<(u32, Option<&'c [u8]>)> {
    match change {
        Change::Insert { columns, .. } | Change::Update { columns, .. } => {
            columns.clone().collect()
        }
        Change::Begin { .. } | Change::Delete { .. } | Change::Define(_) | Change::End => {
            Vec::new()
        }
    }
}
