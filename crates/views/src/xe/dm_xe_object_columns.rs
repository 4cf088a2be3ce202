//! `sys.dm_xe_object_columns`: the data fields of events, their customizable columns, and the
//! parameters of targets.

use sos::xe::{Event, FieldType, PACKAGE0, Package, ParameterType, Target};

use super::guid;
use crate::{Rows, Scope, SystemView};
use ::session::event::map::{ETW_CHANNEL, KEYWORD};
use ::session::event::registry;
use metadata::column::{Column, GUID, INT, col, int, nv, opt, or_null, rows, shape, text};

/// `capabilities` of a mandatory parameter.
const MANDATORY: i32 = 1;

/// A column or parameter of an event or target.
struct Row {
    name: &'static str,
    id: usize,
    object: (&'static Package, &'static str),
    type_name: &'static str,
    type_package: &'static Package,
    kind: &'static str,
    value: Option<String>,
    mandatory: bool,
    description: &'static str,
}

const COLUMNS: &[Column<Row>] = &[
    col("name", nv(256), |r| text(r.name)),
    col("column_id", INT, |r| int(r.id)),
    col("object_name", nv(256), |r| text(r.object.1)),
    col("object_package_guid", GUID, |r| guid(r.object.0)),
    col("type_name", nv(256), |r| text(r.type_name)),
    col("type_package_guid", GUID, |r| guid(r.type_package)),
    col("column_type", nv(60), |r| text(r.kind)),
    opt("column_value", nv(256), |r| or_null(r.value.as_deref(), text)),
    opt("capabilities", INT, |r| or_null(r.mandatory.then_some(MANDATORY), int)),
    opt("capabilities_desc", nv(256), |r| or_null(r.mandatory.then_some("mandatory"), text)),
    opt("description", nv(3072), |r| text(r.description)),
];

pub(crate) static VIEW: SystemView = SystemView {
    schema: "sys",
    name: "dm_xe_object_columns",
    columns: || shape(COLUMNS),
    rows: read,
    arity: 0,
};

fn read(_: &Scope<'_>) -> Rows {
    let mut found = Vec::new();
    registry::events().for_each(|event| of_event(event, &mut found));
    registry::targets().for_each(|target| of_target(target, &mut found));
    rows(COLUMNS, found)
}

fn of_event(event: &'static Event, found: &mut Vec<Row>) {
    let row = |kind, id, name, field_type: FieldType, description| Row {
        name,
        id,
        object: (event.package, event.name),
        type_name: field_type.name(),
        type_package: field_type.package(),
        kind,
        value: None,
        mandatory: false,
        description,
    };
    let key = |map: &sos::xe::Map, name| map.key_of(name).map(|key| key.to_string());
    let channel = key(&ETW_CHANNEL, event.channel.name());
    let keyword = key(&KEYWORD, event.keyword);
    let map = FieldType::Map;
    found.extend([
        Row {
            value: Some("1".to_owned()),
            ..row("readonly", 1, "VERSION", FieldType::UInt8, "Event schema version")
        },
        Row { value: channel, ..row("readonly", 2, "CHANNEL", map(&ETW_CHANNEL), "ETW Channel") },
        Row {
            value: keyword,
            ..row("readonly", 3, "KEYWORD", map(&KEYWORD), "Event grouping keywords")
        },
    ]);
    for (id, setting) in event.settings.iter().enumerate() {
        let value = Some(setting.default.to_string());
        let description = setting.description;
        found.push(Row {
            value,
            ..row("customizable", id, setting.name, FieldType::Boolean, description)
        });
    }
    for (id, field) in event.fields.iter().enumerate() {
        found.push(row("data", id, field.name, field.field_type, field.description));
    }
}

fn of_target(target: &'static Target, found: &mut Vec<Row>) {
    for (id, parameter) in target.parameters.iter().enumerate() {
        found.push(Row {
            name: parameter.name,
            id,
            object: (target.package, target.name),
            type_name: match parameter.parameter_type {
                ParameterType::UInt64 => "uint64",
                ParameterType::Boolean => "boolean",
                ParameterType::Text => "unicode_string_ptr",
            },
            type_package: &PACKAGE0,
            kind: "customizable",
            value: parameter.default.map(str::to_owned),
            mandatory: parameter.is_mandatory,
            description: parameter.description,
        });
    }
}
