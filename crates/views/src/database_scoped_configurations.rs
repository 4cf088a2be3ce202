//! `sys.database_scoped_configurations`: one row per database-scoped configuration.

use types::value::ColumnType;
use types::{Collation, DataType, Value};

use ::catalog::scoped::{SCOPED, ScopedConfiguration};
use metadata::column::{BIT, Column, INT, VARIANT, bit, col, int, nv, opt, rows, shape, text};
use metadata::{Rows, Scope, SystemView};

struct Row {
    configuration: &'static ScopedConfiguration,
    value: i64,
    for_secondary: Option<i64>,
}

const COLUMNS: &[Column<Row>] = &[
    col("configuration_id", INT, |r| int(r.configuration.id)),
    col("name", nv(60), |r| text(r.configuration.name)),
    opt("value", VARIANT, |r| variant(r.configuration, r.value)),
    // There is no secondary replica: the value that FOR SECONDARY set.
    opt("value_for_secondary", VARIANT, |r| {
        r.for_secondary.map_or(Value::Null, |value| variant(r.configuration, value))
    }),
    col("is_value_default", BIT, |r| bit(r.value == r.configuration.default)),
];

pub(crate) static VIEW: SystemView = SystemView {
    schema: "sys",
    name: "database_scoped_configurations",
    columns: || shape(COLUMNS),
    rows: read,
    arity: 0,
};

fn variant(configuration: &ScopedConfiguration, value: i64) -> Value {
    let of = |data_type| ColumnType { data_type, collation: Collation::default(), nullable: true };
    let (value, data_type) = match configuration.is_switch {
        true => (Value::Bit(value != 0), DataType::Bit),
        false => (i32::try_from(value).map_or(Value::Null, Value::Int), DataType::Int),
    };
    Value::Variant(Box::new((value, of(data_type))))
}

fn read(scope: &Scope<'_>) -> Rows {
    let options = &scope.database.options;
    let row = |configuration: &'static ScopedConfiguration| {
        let value = options.scoped.get(configuration.name).copied();
        let for_secondary = options.scoped_secondary.get(configuration.name).copied();
        Row { configuration, value: value.unwrap_or(configuration.default), for_secondary }
    };
    rows(COLUMNS, SCOPED.iter().map(row))
}
