//! Says of each batch on its standard input whether it parses: the half of `tests/grammar` that is ours.
//!
//! A batch is its length in bytes, as four bytes with the least significant first, and its text in
//! UTF-8. The answer is a line: `ok`, or the error's number, line and text, with tabs between them.
//! With the argument `productions` it writes the texts of the table of productions instead, each
//! with two items or levels, as frames of the same form.

use std::io::{self, Read, Write};

use tsql::ast::{Statement, StatementKind};
use tsql::{QuotedIdentifier, parse, productions};

fn main() -> io::Result<()> {
    if std::env::args().nth(1).as_deref() == Some("productions") {
        return write_productions();
    }
    let mut input = io::stdin().lock();
    let mut output = io::BufWriter::new(io::stdout().lock());
    while let Some(text) = frame(&mut input)? {
        match parse(&text, QuotedIdentifier::On) {
            Ok(batch) => match batch.statements.iter().find_map(unsupported) {
                Some(name) => writeln!(output, "40517\t1\t{name}")?,
                None => writeln!(output, "ok")?,
            },
            Err(error) => {
                let message = error.message.replace(['\n', '\r', '\t'], " ");
                writeln!(output, "{}\t{}\t{message}", error.number, error.line)?;
            }
        }
    }
    output.flush()
}

/// Returns the name of a statement that is refused as a whole, whatever its text holds.
fn unsupported(statement: &Statement) -> Option<&str> {
    match &statement.kind {
        StatementKind::Unsupported(refused) => Some(&refused.name),
        _ => None,
    }
}

/// Reads the text of the next frame, or `None` at the end of the input.
fn frame(input: &mut impl Read) -> io::Result<Option<String>> {
    let mut length = [0; 4];
    match input.read_exact(&mut length) {
        Err(error) if error.kind() == io::ErrorKind::UnexpectedEof => return Ok(None),
        other => other?,
    }
    let mut text = String::new();
    input.take(u64::from(u32::from_le_bytes(length))).read_to_string(&mut text)?;
    Ok(Some(text))
}

fn write_productions() -> io::Result<()> {
    let mut output = io::BufWriter::new(io::stdout().lock());
    for production in productions() {
        let text = production.grown(2);
        let length = u32::try_from(text.len()).map_err(io::Error::other)?;
        output.write_all(&length.to_le_bytes())?;
        output.write_all(text.as_bytes())?;
    }
    output.flush()
}
