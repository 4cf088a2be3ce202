//! Runs a text for the page: its results as JSON, with limits on rows and bytes.
//!
//! ```text
//! {"results":[{"columns":[{"name":"n","type":"int"}],"rows":[[1]],"truncated":false}],
//!  "messages":[{"number":0,"severity":0,"state":1,"line":1,"text":"..."}],
//!  "counts":[1],"milliseconds":0.4}
//! ```

use std::fmt::Write;

use durable::Standing;
use engine::instance::Instance;
use engine::sink::{ColumnInfo, Done, EnvChange, ResultShape, ResultSink, Sent};
use sos::clock;
use sos::park::Cancel;
use sos::sync::Arc;
use types::value::ColumnType;
use types::{Collation, ConvertOptions, DataType, Error, Length, Mode, Msg, Value};

use crate::json;
use crate::visitor::Held;

/// Most rows of all results together.
const ROWS_MAX: usize = if cfg!(test) { 100 } else { 20_000 };
/// Most bytes of all rows together.
const BYTES_MAX: usize = 8 << 20;
/// Most bytes of a binary value that are shown.
const BINARY_BYTES_MAX: usize = 4 * 1024;
/// Most messages that are shown.
const MESSAGES_MAX: usize = 1_000;
/// The largest whole number that every reader of JSON keeps exactly.
const EXACT_MAX: i64 = 1 << 53;
/// CONVERT's style of dates and times: `yyyy-mm-dd hh:mi:ss.mmm`.
const STYLE_ODBC: i32 = 121;

/// Runs a text in a session; returns the JSON.
pub(crate) fn run(instance: &Instance, held: &mut Held, text: &str) -> String {
    let started_ns = clock::monotonic_ns();
    let cancel = Arc::clone(held.session.cancel());
    let mut sink = Json::new(cancel);
    // This sink never disconnects.
    let _ = held.session.batch(text, &mut sink);
    held.session.cancel().clear();
    wait_for_log(instance, &mut sink);
    if held.is_killed() {
        sink.put_message(&Error::from(Msg::SessionKilled));
    }
    let microseconds = (clock::monotonic_ns() - started_ns) / 1_000;
    sink.finish(microseconds)
}

/// Waits until what the answer depends on is durable.
fn wait_for_log(instance: &Instance, sink: &mut Json) {
    let Some(database) = instance.durable() else { return };
    let epoch = storage::durability::take();
    if epoch == 0 || database.wait(epoch) == Standing::Durable {
        return;
    }
    sink.results.clear();
    sink.is_open = false;
    sink.put_message(&Msg::LogNotAvailable(database.name()).into());
}

/// Writes results as JSON.
struct Json {
    results: String,
    messages: String,
    counts: String,
    columns: Vec<ColumnType>,
    rows: usize,
    rows_of_result: usize,
    message_count: usize,
    /// Whether the last result has no end yet.
    is_open: bool,
    is_truncated: bool,
    cancel: Arc<Cancel>,
}

impl Json {
    fn new(cancel: Arc<Cancel>) -> Self {
        Self {
            results: String::new(),
            messages: String::new(),
            counts: String::new(),
            columns: Vec::new(),
            rows: 0,
            rows_of_result: 0,
            message_count: 0,
            is_open: false,
            is_truncated: false,
            cancel,
        }
    }

    fn close_result(&mut self) {
        if std::mem::take(&mut self.is_open) {
            let _ = write!(self.results, "],\"truncated\":{}}}", self.is_truncated);
        }
    }

    fn put_message(&mut self, message: &Error) {
        self.message_count += 1;
        if self.message_count > MESSAGES_MAX {
            return;
        }
        separate(&mut self.messages);
        let (number, severity) = (message.number, message.severity);
        let (state, line) = (message.state, message.line);
        let _ = write!(
            self.messages,
            "{{\"number\":{number},\"severity\":{severity},\"state\":{state},\"line\":{line},\"text\":"
        );
        json::push_text(&message.message, &mut self.messages);
        self.messages.push('}');
    }

    fn finish(mut self, microseconds: u64) -> String {
        self.close_result();
        let (ms, rest) = (microseconds / 1_000, microseconds % 1_000);
        format!(
            "{{\"results\":[{}],\"messages\":[{}],\"counts\":[{}],\"milliseconds\":{ms}.{rest:03}}}\n",
            self.results, self.messages, self.counts
        )
    }
}

fn separate(list: &mut String) {
    if !list.is_empty() {
        list.push(',');
    }
}

impl ResultSink for Json {
    fn columns(&mut self, shape: &ResultShape) -> Sent {
        self.close_result();
        separate(&mut self.results);
        self.results.push_str("{\"columns\":[");
        for (place, column) in shape.columns.iter().enumerate() {
            self.results.push_str(if place > 0 { ",{\"name\":" } else { "{\"name\":" });
            json::push_text(&column.name, &mut self.results);
            self.results.push_str(",\"type\":");
            json::push_text(&column.column_type.data_type.to_string(), &mut self.results);
            self.results.push('}');
        }
        self.results.push_str("],\"rows\":[");
        self.columns = shape.columns.iter().map(|column| column.column_type).collect();
        self.is_open = true;
        self.rows_of_result = 0;
        Ok(())
    }

    fn row(&mut self, values: &[Value]) -> Sent {
        if self.is_truncated {
            return Ok(());
        }
        if self.rows >= ROWS_MAX || self.results.len() >= BYTES_MAX {
            self.is_truncated = true;
            self.cancel.set();
            return Ok(());
        }
        self.results.push_str(if self.rows_of_result > 0 { ",\n[" } else { "\n[" });
        self.rows += 1;
        self.rows_of_result += 1;
        for (place, (value, column)) in values.iter().zip(&self.columns).enumerate() {
            if place > 0 {
                self.results.push(',');
            }
            push_value(value, column, &mut self.results);
        }
        self.results.push(']');
        Ok(())
    }

    fn done(&mut self, done: Done) -> Sent {
        self.close_result();
        if let Some(rows) = done.rows {
            separate(&mut self.counts);
            let _ = write!(self.counts, "{rows}");
        }
        Ok(())
    }

    fn message(&mut self, message: &Error) -> Sent {
        self.put_message(message);
        Ok(())
    }

    fn return_status(&mut self, _status: i32) -> Sent {
        Ok(())
    }

    fn return_value(&mut self, _ordinal: u16, _column: &ColumnInfo, _value: &Value) -> Sent {
        Ok(())
    }

    fn env_change(&mut self, _change: &EnvChange<'_>) -> Sent {
        Ok(())
    }

    fn flush(&mut self) -> Sent {
        Ok(())
    }
}

/// Appends a value: numbers that every reader keeps exactly as numbers, all else as text.
fn push_value(value: &Value, column: &ColumnType, target: &mut String) {
    match value {
        Value::Null => target.push_str("null"),
        Value::Bit(bit) => target.push(if *bit { '1' } else { '0' }),
        Value::TinyInt(number) => push_whole(i64::from(*number), target),
        Value::SmallInt(number) => push_whole(i64::from(*number), target),
        Value::Int(number) => push_whole(i64::from(*number), target),
        Value::BigInt(number) => push_whole(*number, target),
        Value::Real(number) if number.is_finite() => {
            let _ = write!(target, "{number}");
        }
        Value::Float(number) if number.is_finite() => {
            let _ = write!(target, "{number}");
        }
        Value::VarBinary(bytes) => push_binary(bytes, target),
        Value::Variant(inner) => push_value(&inner.0, &inner.1, target),
        // Everything else has a text.
        _ => json::push_option(text(value, column).as_deref(), target),
    }
}

fn push_whole(number: i64, target: &mut String) {
    let quote = if (-EXACT_MAX..=EXACT_MAX).contains(&number) { "" } else { "\"" };
    let _ = write!(target, "{quote}{number}{quote}");
}

fn push_binary(bytes: &[u8], target: &mut String) {
    target.push_str("\"0x");
    for byte in bytes.iter().take(BINARY_BYTES_MAX) {
        let _ = write!(target, "{byte:02X}");
    }
    target.push_str(if bytes.len() > BINARY_BYTES_MAX { "...\"" } else { "\"" });
}

/// Returns a value as text, as CONVERT makes it.
pub(crate) fn text(value: &Value, column: &ColumnType) -> Option<String> {
    let target = ColumnType {
        data_type: DataType::NVarChar(Length::Max),
        collation: Collation::default(),
        nullable: true,
    };
    let style = match value {
        Value::DateTime { .. }
        | Value::SmallDateTime { .. }
        | Value::Date(_)
        | Value::Time(_)
        | Value::DateTime2 { .. }
        | Value::DateTimeOffset { .. } => STYLE_ODBC,
        // No other type has a style that its text needs.
        _ => 0,
    };
    let options = ConvertOptions::default();
    let text = types::convert(value, column, &target, style, Mode::Explicit, &options).ok()?;
    text.as_text(target.collation)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn shown(value: Value, data_type: DataType) -> String {
        let column = ColumnType { data_type, collation: Collation::default(), nullable: true };
        let mut target = String::new();
        push_value(&value, &column, &mut target);
        target
    }

    #[test]
    fn values_are_json() {
        assert_eq!(shown(Value::Null, DataType::Int), "null");
        assert_eq!(shown(Value::Int(-7), DataType::Int), "-7");
        assert_eq!(shown(Value::BigInt(EXACT_MAX), DataType::BigInt), "9007199254740992");
        assert_eq!(shown(Value::BigInt(EXACT_MAX + 1), DataType::BigInt), "\"9007199254740993\"");
        assert_eq!(shown(Value::Float(0.5), DataType::Float), "0.5");
        assert_eq!(shown(Value::Float(1e300), DataType::Float).parse(), Ok(1e300));
        assert_eq!(shown(Value::Bit(true), DataType::Bit), "1");
        assert_eq!(
            shown(Value::VarBinary(vec![1, 255].into()), DataType::VarBinary(Length::Max)),
            "\"0x01FF\""
        );
        assert_eq!(shown(Value::Date(0), DataType::Date), "\"0001-01-01\"");
    }
}
