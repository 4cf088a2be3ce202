//! `sys.configurations`: the settings of the instance that have an effect here.

use types::value::ColumnType;
use types::{DataType, Value};

use metadata::column::{BIT, Column, INT, VARIANT, bit, col, int, nv, opt, rows, shape, text};
use metadata::configurations::{Setting, settings};
use metadata::{Rows, Scope, SystemView};

const COLUMNS: &[Column<Setting>] = &[
    col("configuration_id", INT, |r| int(r.id)),
    col("name", nv(35), |r| text(r.name)),
    opt("value", VARIANT, |r| variant(r.value)),
    opt("minimum", VARIANT, |r| variant(r.minimum)),
    opt("maximum", VARIANT, |r| variant(r.maximum)),
    opt("value_in_use", VARIANT, |r| variant(r.in_use)),
    col("description", nv(255), |r| text(r.description)),
    col("is_dynamic", BIT, |r| bit(r.dynamic)),
    col("is_advanced", BIT, |r| bit(r.advanced)),
];

pub(crate) static VIEW: SystemView = SystemView {
    schema: "sys",
    name: "configurations",
    columns: || shape(COLUMNS),
    rows: read,
    arity: 0,
};

fn read(scope: &Scope<'_>) -> Rows {
    rows(COLUMNS, settings(&scope.session.instance, &scope.session.catalog))
}

fn variant(value: i32) -> Value {
    Value::Variant(Box::new((Value::Int(value), ColumnType::nullable(DataType::Int))))
}
