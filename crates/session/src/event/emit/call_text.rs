//! `CallText`: an RPC as the equivalent statement, `exec dbo.p @a=1,@b=N'x'`, and its OUTPUT
//! parameters as `@a=1,@b=N'x'`.
//!
//! The text is built for each call while an event session collects calls. It is written byte by
//! byte into a per-thread buffer: ASCII, which is nearly all of it, needs no allocation and no
//! formatter. Binary data is converted to digits when the event is read.

use std::cell::Cell;
use std::io::Write;

use sos::xe::Value;
use sos::xe::mixed::{self, MixedText};
use types::value::ColumnType;
use types::{DataType, Mode, Value as Sql};

use crate::deferred::Output;
use crate::{Rpc, RpcTarget, SessionState};

/// Maximum number of characters shown of a value.
const VALUE_MAX: usize = 4_000;
/// A longer buffer is freed after use.
const KEPT_BYTES_MAX: usize = 64 << 10;

/// Buffers kept for the next call.
#[derive(Default)]
struct Kept {
    statement: MixedText,
    name: String,
}

thread_local! {
    static KEPT: Cell<Kept> =
        const { Cell::new(Kept { statement: MixedText::new(), name: String::new() }) };
}

/// A call as the equivalent statement.
#[derive(Debug)]
pub(crate) struct CallText {
    statement: MixedText,
    name: String,
}

impl CallText {
    /// Writes a call, before its values are moved out.
    pub(crate) fn of(session: &SessionState, rpc: &Rpc<'_>) -> Self {
        // A thread that is exiting keeps no buffer.
        let Kept { statement, mut name } = KEPT.try_with(Cell::take).unwrap_or_default();
        let mut statement = MixedText::in_memory_of(statement);
        name.clear();
        put_name(session, rpc, &mut name);
        statement.text(|to| {
            to.extend_from_slice(b"exec ");
            to.extend_from_slice(name.as_bytes());
        });
        for (place, parameter) in rpc.parameters.iter().enumerate() {
            let between = if place == 0 { b' ' } else { b',' };
            statement.text(|to| {
                to.push(between);
                if !parameter.name.is_empty() {
                    to.extend_from_slice(parameter.name.as_bytes());
                    to.push(b'=');
                }
            });
            match (&parameter.table, parameter.default) {
                (Some(table), _) => {
                    let ((schema, of), rows) = (&table.type_name, table.rows.len());
                    statement.text(|to| put_shown(to, format_args!("{schema}.{of} ({rows} rows)")));
                }
                (None, true) => statement.text(|to| to.extend_from_slice(b"default")),
                (None, false) => put(&parameter.value, &parameter.ty, session, &mut statement),
            }
            if parameter.output {
                statement.text(|to| to.extend_from_slice(b" output"));
            }
        }
        statement.finish();
        Self { statement, name }
    }

    /// Returns the name of the called procedure.
    pub(crate) fn name(&self) -> &str {
        &self.name
    }

    /// Returns the statement as an event value.
    pub(crate) fn statement(&self) -> Value<'_> {
        Value::Mixed(self.statement.runs())
    }

    /// Returns the statement as text.
    pub(crate) fn to_text(&self) -> String {
        written(&self.statement)
    }
}

impl Drop for CallText {
    fn drop(&mut self) {
        if self.statement.capacity() <= KEPT_BYTES_MAX {
            let kept = Kept {
                statement: std::mem::take(&mut self.statement),
                name: std::mem::take(&mut self.name),
            };
            let _ = KEPT.try_with(|place| place.set(kept));
        }
    }
}

fn written(mixed: &MixedText) -> String {
    let text = mixed::text_of(mixed.runs());
    debug_assert!(text.is_some(), "only texts and ASCII are written");
    text.unwrap_or_default()
}

/// Returns the OUTPUT parameters as text: `@a=1,@b=N'x'`.
pub(crate) fn given_back(session: &SessionState, outputs: &[Output]) -> String {
    let mut all = MixedText::default();
    for (place, output) in outputs.iter().enumerate() {
        all.text(|to| {
            if place > 0 {
                to.push(b',');
            }
            if !output.name.is_empty() {
                to.extend_from_slice(output.name.as_bytes());
                to.push(b'=');
            }
        });
        put(&output.value, &output.ty, session, &mut all);
    }
    all.finish();
    written(&all)
}

fn put_name(session: &SessionState, rpc: &Rpc<'_>, to: &mut String) {
    match rpc.target {
        RpcTarget::Name(name) => to.push_str(name),
        RpcTarget::Id(id) => match session.instance.library.procedure(id) {
            Some(name) => to.push_str(name),
            None => {
                let _ = std::fmt::Write::write_fmt(to, format_args!("ProcID {id}"));
            }
        },
    }
}

fn put_shown(to: &mut Vec<u8>, shown: std::fmt::Arguments<'_>) {
    // Writing to memory cannot fail.
    let _ = to.write_fmt(shown);
}

/// Writes a value as a T-SQL literal.
fn put(value: &Sql, ty: &ColumnType, session: &SessionState, to: &mut MixedText) {
    if let Sql::VarBinary(bytes) = value {
        return to.binary(&bytes[..bytes.len().min(VALUE_MAX)]);
    }
    to.text(|to| match value {
        Sql::Null => to.extend_from_slice(b"NULL"),
        Sql::Bit(value) => to.push(if *value { b'1' } else { b'0' }),
        Sql::TinyInt(value) => put_shown(to, format_args!("{value}")),
        Sql::SmallInt(value) => put_shown(to, format_args!("{value}")),
        Sql::Int(value) => put_shown(to, format_args!("{value}")),
        Sql::BigInt(value) => put_shown(to, format_args!("{value}")),
        Sql::Real(value) => put_shown(to, format_args!("{value:e}")),
        Sql::Float(value) => put_shown(to, format_args!("{value:e}")),
        other => {
            let national = matches!(
                ty.data_type,
                DataType::NChar(_) | DataType::NVarChar(_) | DataType::NText
            );
            to.extend_from_slice(if national { b"N'" } else { b"'" });
            let begins = to.len();
            if !put_ascii(other, to) {
                to.truncate(begins);
                put_text(&text_of(other, ty, session), to);
            }
            to.push(b'\'');
        }
    });
}

/// Writes a string that is not longer than the limit, is ASCII, and contains no quotation mark;
/// returns whether it was such a string.
fn put_ascii(value: &Sql, to: &mut Vec<u8>) -> bool {
    let is_plain = |letter: u8| letter.is_ascii() && letter != b'\'';
    match value {
        Sql::VarChar(bytes) if bytes.len() <= VALUE_MAX => {
            to.extend_from_slice(bytes);
            bytes.iter().all(|&byte| is_plain(byte))
        }
        Sql::NVarChar(units) if units.len() <= 2 * VALUE_MAX => {
            to.extend(units.chunks_exact(2).map(|unit| unit[0]));
            units.chunks_exact(2).all(|unit| unit[1] == 0 && is_plain(unit[0]))
        }
        _ => false,
    }
}

fn put_text(text: &str, to: &mut Vec<u8>) {
    let mut utf8 = [0; 4];
    for letter in text.chars().take(VALUE_MAX) {
        if letter == '\'' {
            to.push(b'\'');
        }
        to.extend_from_slice(letter.encode_utf8(&mut utf8).as_bytes());
    }
}

/// Returns the text of a value that is not a number.
fn text_of(value: &Sql, ty: &ColumnType, session: &SessionState) -> String {
    if let Some(text) = value.as_text(ty.collation) {
        return text;
    }
    let to = crate::argument::text_type(ty.collation);
    let options = session.convert_options();
    let converted = types::convert(value, ty, &to, 0, Mode::Explicit, &options);
    converted.ok().and_then(|text| text.as_text(to.collation)).unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use types::Bytes;

    use super::*;

    fn shown(value: &Sql) -> Option<String> {
        let mut bytes = Vec::new();
        put_ascii(value, &mut bytes).then(|| String::from_utf8(bytes).expect("ASCII"))
    }

    #[test]
    fn plain_strings_are_written_as_they_are_and_others_are_left_to_their_text() {
        let national = |text: &str| {
            let units: Vec<u8> = text.encode_utf16().flat_map(u16::to_le_bytes).collect();
            Sql::NVarChar(Bytes::from(units.as_slice()))
        };
        assert_eq!(shown(&national("a b")).as_deref(), Some("a b"));
        assert_eq!(shown(&Sql::VarChar(Bytes::from(&b"a b"[..]))).as_deref(), Some("a b"));
        for other in ["it's", "ä", "Ā", "\u{4100}", &"x".repeat(VALUE_MAX + 1)] {
            assert_eq!(shown(&national(other)), None, "{other}");
        }
        assert_eq!(shown(&Sql::VarChar(Bytes::from(&b"\xe4"[..]))), None);
    }

    #[test]
    fn long_text_is_cut_and_its_quotation_marks_are_doubled() {
        let mut text = Vec::new();
        put_text(&format!("'{}", "ä".repeat(VALUE_MAX)), &mut text);
        let text = String::from_utf8(text).expect("UTF-8");
        assert!(text.starts_with("''ä"), "{text:.9}");
        assert_eq!(text.chars().count(), VALUE_MAX + 1);
    }
}
