//! `sys.computed_columns`: computed columns with their expressions.

use super::columns::COLUMNS;
use metadata::column::{BIT, Column, NVMAX, bit, col, opt, shape, text, values};
use metadata::objects::{ColumnRow, columns};
use metadata::{Rows, Scope, SystemView};

const MORE: &[Column<ColumnRow>] = &[
    opt("definition", NVMAX, |r| text(&expression(r).unwrap_or_default())),
    col("uses_database_collation", BIT, |_| bit(true)),
    // As declared. The catalog does not say otherwise whether a value is stored with its row.
    col("is_persisted", BIT, |r| bit(r.is(|d| d.persisted))),
];

pub(crate) static VIEW: SystemView = SystemView {
    schema: "sys",
    name: "computed_columns",
    columns: || shape(COLUMNS).into_iter().chain(shape(MORE)).collect(),
    rows: read,
    arity: 0,
};

fn expression(column: &ColumnRow) -> Option<String> {
    column.definition.as_ref()?.computed.as_ref().map(|computed| computed.text.clone())
}

fn read(scope: &Scope<'_>) -> Rows {
    let computed = columns(scope).into_iter().filter(|column| expression(column).is_some());
    Ok(computed.map(|column| [values(COLUMNS, &column), values(MORE, &column)].concat()).collect())
}
