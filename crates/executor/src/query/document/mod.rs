//! FOR JSON and FOR XML: reads all rows and returns one document.
//!
//! Both formats open an object or element for each level. As long as the columns of an outer level
//! stay the same, rows are added to the open one.

mod explicit;
mod json;
mod xml;

use sos::sched::BytePace;
use types::{Result, Value};

use super::{Flow, Receive, Rows, run as run_node};
use crate::eval::eval;
use crate::long::until_cancelled;
use crate::{Cx, fault};
use plan::document::{Document, DocumentFormat, ExplicitFormat, WhenEmpty};
use plan::long::{self, Growing, group_key};
use plan::query::OutputColumn;

/// Writes one of the formats.
trait Writer {
    /// Returns the columns of a level.
    fn columns(&self, level: usize) -> &[usize];
    /// Returns the number of levels.
    fn levels(&self) -> usize;
    /// Opens the object or element of a row at a level.
    fn open(&mut self, level: usize, row: &Row<'_>) -> Result<()>;
    /// Closes the object or element of a level.
    fn close(&mut self, level: usize);
    /// Returns the bytes of the text so far.
    fn written(&self) -> usize;
    /// Returns the whole text.
    fn finish(self: Box<Self>) -> String;
}

/// The memory of a text that grows.
#[derive(Default)]
struct TextMemory {
    asked: Growing,
    before: usize,
    pace: BytePace,
}

impl TextMemory {
    /// The text has this many bytes now. It grows by doubling, and is moved then. Rows may be long, so they are paced by
    /// their bytes.
    fn has(&mut self, bytes: usize, cx: &mut Cx<'_>) -> Result<()> {
        const TIMES: usize = 2;
        let more = bytes - std::mem::replace(&mut self.before, bytes);
        if self.pace.passed(more) {
            fault::check_cancel(cx)?;
        }
        self.asked.take(TIMES * more)
    }

    /// A row with these values is written next: their text is decoded, and then escaped.
    fn row(values: &[Value]) -> Result<()> {
        const TIMES: usize = 4;
        let bytes = values.iter().filter_map(Value::string_bytes).map(<[u8]>::len);
        long::ask(TIMES * bytes.sum::<usize>())
    }

    /// The text has ended, and becomes a value: characters double in width, and are copied once.
    fn end(&mut self, bytes: usize, cx: &mut Cx<'_>) -> Result<()> {
        const TIMES: usize = 4;
        self.has(bytes, cx)?;
        long::ask(TIMES * bytes)
    }
}

/// The values of a row.
struct Row<'r> {
    values: &'r [Value],
    output: &'r [OutputColumn],
}

pub(super) fn run<'p>(
    document: &'p Document,
    cx: &mut Cx<'_>,
    rows: &mut Rows<'p>,
    receive: Receive<'_, 'p>,
) -> Result<Flow> {
    let mut writer: Box<dyn Writer> = match &document.format {
        DocumentFormat::Json(format) => Box::new(json::JsonWriter::new(format)),
        DocumentFormat::Xml(format) => Box::new(xml::XmlWriter::new(format)),
        DocumentFormat::Explicit(format) => {
            return run_explicit(document, format, cx, rows, receive);
        }
    };
    let output = &document.query.output;
    let levels = writer.levels();
    let mut keys: Vec<Vec<u8>> = Vec::new();
    let mut values = Vec::with_capacity(output.len());
    let mut memory = TextMemory::default();
    run_node(&document.query.root, cx, rows, &mut |cx, _| {
        memory.has(writer.written(), cx)?;
        values.clear();
        for column in output {
            values.push(eval(&column.expr, cx)?);
        }
        TextMemory::row(&values)?;
        let row = Row { values: &values, output };
        let key = |level| key_of(writer.columns(level), &row);
        let next = (0..levels).map(key).collect::<Result<Vec<Vec<u8>>>>()?;
        // Each row opens the innermost level again.
        let same = next.iter().zip(&keys).take(levels - 1).take_while(|(a, b)| a == b).count();
        if !keys.is_empty() {
            (same..levels).rev().for_each(|level| writer.close(level));
        }
        let opened = if keys.is_empty() { 0 } else { same };
        let mut open = || (opened..levels).try_for_each(|level| writer.open(level, &row));
        if values.iter().any(long::is_long) {
            until_cancelled(&cx.session.connection.cancel, open)?;
        } else {
            open()?;
        }
        keys = next;
        Ok(Flow::More)
    })?;
    let text = if keys.is_empty() {
        Value::Null
    } else {
        (0..levels).rev().for_each(|level| writer.close(level));
        memory.end(writer.written(), cx)?;
        let text = writer.finish();
        until_cancelled(&cx.session.connection.cancel, || Ok(long::nvarchar(&text)))?
    };
    hand_over(document, text, cx, rows, receive)
}

/// UTF-16 units per row of a document that is sent to a client.
const PIECE_UNITS: usize = 2_033;

/// Returns the text as one value, or sends it to a client in pieces, as SQL Server does.
fn hand_over<'p>(
    document: &'p Document,
    text: Value,
    cx: &mut Cx<'_>,
    rows: &mut Rows<'p>,
    receive: Receive<'_, 'p>,
) -> Result<Flow> {
    let place = document.register.index();
    if document.when_empty == WhenEmpty::Null || document.whole {
        if text.is_null() && document.when_empty == WhenEmpty::NoRow {
            return Ok(Flow::More);
        }
        cx.registers[place] = text;
        return receive(cx, rows);
    }
    let Value::NVarChar(units) = text else { return Ok(Flow::More) };
    for piece in units.chunks(PIECE_UNITS * 2) {
        fault::row_passed(cx)?;
        cx.registers[place] = Value::NVarChar(types::Bytes::copy_from(piece));
        if receive(cx, rows)? == Flow::Enough {
            return Ok(Flow::Enough);
        }
    }
    Ok(Flow::More)
}

fn run_explicit<'p>(
    document: &'p Document,
    format: &'p ExplicitFormat,
    cx: &mut Cx<'_>,
    rows: &mut Rows<'p>,
    receive: Receive<'_, 'p>,
) -> Result<Flow> {
    let output = &document.query.output;
    let mut writer = explicit::ExplicitWriter::new(format);
    let mut values = Vec::with_capacity(output.len());
    let mut memory = TextMemory::default();
    run_node(&document.query.root, cx, rows, &mut |cx, _| {
        memory.has(writer.written(), cx)?;
        values.clear();
        for column in output {
            values.push(eval(&column.expr, cx)?);
        }
        TextMemory::row(&values)?;
        writer.row(&Row { values: &values, output })?;
        Ok(Flow::More)
    })?;
    memory.end(writer.written(), cx)?;
    let text = writer.finish();
    hand_over(document, text, cx, rows, receive)
}

fn key_of(columns: &[usize], row: &Row<'_>) -> Result<Vec<u8>> {
    let mut key = Vec::new();
    for &column in columns {
        group_key(&row.values[column], row.output[column].expr.ty.collation, &mut key)?;
    }
    Ok(key)
}
