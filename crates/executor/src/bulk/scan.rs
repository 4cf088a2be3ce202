//! OPENROWSET(BULK .., FORMAT = 'CSV'): reads the rows of a text file.
//!
//! A row with a field that does not convert is reported and skipped, up to MAXERRORS rows, as in
//! BULK INSERT. One more ends the statement with an error, which undoes what it inserted.

use types::{Error, Msg, Result, Value};

use super::field::{Place, converted};
use crate::query::Flow;
use crate::{Cx, fault};
use files::fields::Field;
use files::text::{self, Wanted};
use plan::query::{BulkScan, TextFormat};

/// Reads the file's rows. Calls `receive` for each row, after storing the columns that are read in
/// their registers.
///
/// # Errors
/// 4860 and 4861 for the file, 4832 if it ends within a row, 4865 if more than MAXERRORS rows do
/// not convert, 4866 for a row with the wrong number of fields.
pub(crate) fn run(
    scan: &BulkScan,
    format: &TextFormat,
    cx: &mut Cx<'_>,
    receive: &mut dyn FnMut(&mut Cx<'_>) -> Result<Flow>,
) -> Result<Flow> {
    let options = &format.options;
    let mut text = text::open(&scan.name, options)?;
    let (mut number, mut errors, mut flow) = (0_u64, 0_u64, Flow::More);
    text.each::<Error>(format.columns.len(), &mut |row| {
        number += 1;
        if options.last_row.is_some_and(|last| number > last) {
            return Ok(Wanted::Enough);
        }
        if number < options.first_row {
            return Ok(Wanted::More);
        }
        fault::row_passed(cx)?;
        let fields = row.map_err(|_| Msg::BulkUnexpectedEnd)?;
        if let Err(error) = load(scan, format, number, &fields, cx) {
            errors += 1;
            tell(&error, errors, options, cx)?;
            return Ok(Wanted::More);
        }
        flow = receive(cx)?;
        Ok(if flow == Flow::Enough { Wanted::Enough } else { Wanted::More })
    })?;
    Ok(flow)
}

/// Sends a message about a skipped row.
fn tell(
    error: &Error,
    errors: u64,
    options: &files::option::Options,
    cx: &mut Cx<'_>,
) -> Result<()> {
    let sent = cx.sink.message(&error.clone().at_line(cx.session.request.line));
    fault::sent(cx, sent)?;
    if errors > options.max_errors {
        let most = i64::try_from(options.max_errors).unwrap_or(i64::MAX);
        return Err(Msg::BulkTooManyErrors(most).into());
    }
    Ok(())
}

/// Stores a row's fields in their registers, as far as they are read.
fn load(
    scan: &BulkScan,
    format: &TextFormat,
    number: u64,
    fields: &[Field<'_>],
    cx: &mut Cx<'_>,
) -> Result<()> {
    let row = i64::try_from(number).unwrap_or(i64::MAX);
    if fields.len() != format.columns.len() {
        let place = i64::try_from(format.columns.len()).unwrap_or(i64::MAX);
        return Err(Msg::BulkColumnTooLong(row, place).into());
    }
    for (ordinal, register) in &scan.columns {
        let (name, ty) = &format.columns[usize::from(*ordinal)];
        let (bytes, is_quoted) = &fields[usize::from(*ordinal)];
        cx.registers[register.index()] = match bytes.is_empty() && !is_quoted {
            true => Value::Null,
            false => {
                let at = Place { row, column: i64::from(*ordinal) + 1, name };
                converted(&format.options, bytes, at, ty, cx)?
            }
        };
    }
    Ok(())
}
