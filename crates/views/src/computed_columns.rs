//! `sys.computed_columns`: computed columns with their expressions.

use types::Value;

use super::columns::COLUMNS;
use metadata::column::{BIT, Column, NVMAX, bit, col, opt, shape, text, values};
use metadata::objects::{ColumnRow, columns};
use metadata::{Rows, Scope, SystemView};

/// A computed column, and its expression; none if the reader may not see it.
type Row = (ColumnRow, Option<String>);

const MORE: &[Column<Row>] = &[
    opt("definition", NVMAX, |r| r.1.as_deref().map_or(Value::Null, text)),
    col("uses_database_collation", BIT, |_| bit(true)),
    // As declared. The catalog does not say otherwise whether a value is stored with its row.
    col("is_persisted", BIT, |r| bit(r.0.is(|d| d.persisted))),
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
    let withheld = &scope.database.withheld;
    let row = |column: ColumnRow| {
        let expression = expression(&column)?;
        let shown = Some(expression).filter(|_| !withheld.contains(&column.object_id));
        Some((column, shown))
    };
    let computed = columns(scope).into_iter().filter_map(row);
    Ok(computed.map(|row| [values(COLUMNS, &row.0), values(MORE, &row)].concat()).collect())
}
