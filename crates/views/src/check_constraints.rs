//! `sys.check_constraints`: CHECK constraints and their definitions.

use types::Value;

use ::catalog::CheckDef;
use metadata::column::{
    BIT, Column, DATETIME, INT, NVMAX, SYSNAME, ascii, bit, ch, col, int, nv, opt, rows, shape,
    text,
};
use metadata::objects::{ObjectRow, of_kind, tables_and_types, type_description};
use metadata::{Rows, Scope, SystemView};

const COLUMNS: &[Column<Row>] = &[
    col("name", SYSNAME, |r| text(&r.object.name)),
    col("object_id", INT, |r| int(r.object.id)),
    opt("principal_id", INT, |_| Value::Null),
    col("schema_id", INT, |r| int(r.object.schema_id)),
    col("parent_object_id", INT, |r| int(r.object.parent_id)),
    opt("type", ch(2), |r| ascii(&format!("{:<2}", r.object.code))),
    opt("type_desc", nv(60), |r| text(type_description(r.object.code))),
    col("create_date", DATETIME, |r| r.object.created.clone()),
    col("modify_date", DATETIME, |r| r.object.modified.clone()),
    col("is_ms_shipped", BIT, |r| bit(r.object.system)),
    col("is_published", BIT, |_| bit(false)),
    col("is_schema_published", BIT, |_| bit(false)),
    col("is_disabled", BIT, |r| bit(!r.check.enabled)),
    col("is_not_for_replication", BIT, |r| bit(r.check.not_for_replication)),
    col("is_not_trusted", BIT, |r| bit(!r.check.trusted)),
    col("parent_column_id", INT, |r| int(r.check.column.map_or(0, |c| i32::from(c) + 1))),
    opt("definition", NVMAX, |r| if r.withheld { Value::Null } else { text(&r.check.text.text) }),
    opt("uses_database_collation", BIT, |_| bit(false)),
    col("is_system_named", BIT, |r| bit(r.check.system_named)),
];

pub(crate) static VIEW: SystemView = SystemView {
    schema: "sys",
    name: "check_constraints",
    columns: || shape(COLUMNS),
    rows: read,
    arity: 0,
};

fn read(scope: &Scope<'_>) -> Rows {
    rows(COLUMNS, items(scope))
}

struct Row {
    object: ObjectRow,
    check: CheckDef,
    /// Whether the reader may see the constraint, and not its condition.
    withheld: bool,
}

fn items(scope: &Scope<'_>) -> Vec<Row> {
    let tables = tables_and_types(scope.session, scope.database);
    let checks = of_kind(scope.session, scope.database, &["C"]).into_iter();
    let row = |object: ObjectRow| {
        let table = tables.iter().find(|t| t.id == object.parent_id)?;
        let check = table.checks.iter().find(|c| c.id == object.id)?.clone();
        let withheld = scope.database.withheld.contains(&table.id);
        Some(Row { object, check, withheld })
    };
    checks.filter_map(row).collect()
}
