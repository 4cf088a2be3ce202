//! `sys.server_event_session_fields`: the options that SET gives events and targets in event
//! session definitions.

use types::value::ColumnType;
use types::{DataType, Length, Value};

use crate::{Rows, Scope, SystemView};
use ::catalog::{EventDef, EventTargetDef};
use metadata::column::{Column, INT, SYSNAME, VARIANT, col, int, opt, rows, shape, text};

/// A customizable column or parameter that SET gives a value.
struct Row {
    session: i32,
    object: i32,
    name: String,
    value: String,
}

const COLUMNS: &[Column<Row>] = &[
    col("event_session_id", INT, |r| int(r.session)),
    col("object_id", INT, |r| int(r.object)),
    col("name", SYSNAME, |r| text(&r.name)),
    opt("value", VARIANT, |r| variant(&r.value)),
];

pub(crate) static VIEW: SystemView = SystemView {
    schema: "sys",
    name: "server_event_session_fields",
    columns: || shape(COLUMNS),
    rows: read,
    arity: 0,
};

fn read(scope: &Scope<'_>) -> Rows {
    let mut found = Vec::new();
    for session in super::server_event_sessions::sessions(scope) {
        let events = session.events.iter().map(|event| (event.id, of_event(event)));
        let targets = session.targets.iter().map(|target| (target.id, of_target(target)));
        for (object, settings) in events.chain(targets) {
            let row = |(name, value)| Row { session: session.id, object, name, value };
            found.extend(settings.into_iter().map(row));
        }
    }
    rows(COLUMNS, found)
}

fn of_event(event: &EventDef) -> Vec<(String, String)> {
    let named = |&(place, on): &(usize, bool)| {
        let setting = event.spec.event.settings.get(place)?;
        Some((setting.name.to_owned(), u8::from(on).to_string()))
    };
    event.spec.settings.iter().filter_map(named).collect()
}

fn of_target(target: &EventTargetDef) -> Vec<(String, String)> {
    target.spec.parameters.clone()
}

/// Converts a value to a number if it is one, otherwise to a string.
fn variant(value: &str) -> Value {
    let (value, data_type) = match value.parse() {
        Ok(number) => (Value::BigInt(number), DataType::BigInt),
        Err(_) => (Value::nvarchar(value), DataType::NVarChar(Length::Limited(TEXT_MAX))),
    };
    Value::Variant(Box::new((value, ColumnType::nullable(data_type))))
}

/// Most characters of a string in a sql_variant.
const TEXT_MAX: u16 = 4000;
