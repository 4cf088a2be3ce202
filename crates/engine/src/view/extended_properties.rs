//! `sys.extended_properties`: none exist, since sp_addextendedproperty is refused.

use types::Value;

use super::column::{Column, INT, SYSNAME, TINYINT, VARIANT, col, nv, opt, rows, shape};
use super::{Rows, Scope, SystemView};

const COLUMNS: &[Column<()>] = &[
    col("class", TINYINT, |_| Value::Null),
    opt("class_desc", nv(60), |_| Value::Null),
    col("major_id", INT, |_| Value::Null),
    col("minor_id", INT, |_| Value::Null),
    col("name", SYSNAME, |_| Value::Null),
    opt("value", VARIANT, |_| Value::Null),
];

/// The view.
pub(super) static VIEW: SystemView = SystemView {
    schema: "sys",
    name: "extended_properties",
    columns: || shape(COLUMNS),
    rows: read,
    arity: 0,
};

fn read(_: &Scope<'_>) -> Rows {
    rows(COLUMNS, None)
}
