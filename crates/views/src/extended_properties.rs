//! `sys.extended_properties`: the properties that sp_addextendedproperty added.

use std::sync::Arc;

use types::Value;

use ::catalog::{ExtendedProperty, Securable};
use metadata::column::{
    Column, INT, SYSNAME, TINYINT, VARIANT, col, int, nv, opt, rows, shape, text,
};
use metadata::{Rows, Scope, SystemView};

const COLUMNS: &[Column<(Securable, Arc<ExtendedProperty>)>] = &[
    col("class", TINYINT, |r| Value::TinyInt(r.0.class as u8)),
    opt("class_desc", nv(60), |r| text(r.0.class.description())),
    col("major_id", INT, |r| int(r.0.major_id)),
    col("minor_id", INT, |r| int(r.0.minor_id)),
    col("name", SYSNAME, |r| text(&r.1.name)),
    opt("value", VARIANT, |r| r.1.value.clone()),
];

pub(crate) static VIEW: SystemView = SystemView {
    schema: "sys",
    name: "extended_properties",
    columns: || shape(COLUMNS),
    rows: read,
    arity: 0,
};

fn read(scope: &Scope<'_>) -> Rows {
    rows(
        COLUMNS,
        scope.database.properties.iter().map(|((of, _), property)| (*of, Arc::clone(property))),
    )
}
