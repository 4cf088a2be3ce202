//! `sys.views`: the views that users created.

use types::Value;

use metadata::column::{
    BIT, Column, DATETIME, INT, SYSNAME, TINYINT, ascii, bit, ch, col, int, nv, opt, rows, shape,
    text,
};
use metadata::objects::{ObjectRow, of_kind, type_description};
use metadata::{Rows, Scope, SystemView};

/// The columns, shared by other views of views.
pub(crate) const COLUMNS: &[Column<ObjectRow>] = &[
    col("name", SYSNAME, |r| text(&r.name)),
    col("object_id", INT, |r| int(r.id)),
    opt("principal_id", INT, |_| Value::Null),
    col("schema_id", INT, |r| int(r.schema_id)),
    col("parent_object_id", INT, |r| int(r.parent_id)),
    opt("type", ch(2), |r| ascii(&format!("{:<2}", r.code))),
    opt("type_desc", nv(60), |r| text(type_description(r.code))),
    col("create_date", DATETIME, |r| r.created.clone()),
    col("modify_date", DATETIME, |r| r.modified.clone()),
    col("is_ms_shipped", BIT, |r| bit(r.system)),
    col("is_published", BIT, |_| bit(false)),
    col("is_schema_published", BIT, |_| bit(false)),
    opt("is_replicated", BIT, |_| bit(false)),
    opt("has_replication_filter", BIT, |_| bit(false)),
    col("has_opaque_metadata", BIT, |r| bit(r.view_metadata)),
    col("has_unchecked_assembly_data", BIT, |_| bit(false)),
    col("with_check_option", BIT, |r| bit(r.check_option)),
    col("is_date_correlation_view", BIT, |_| bit(false)),
    opt("is_tracked_by_cdc", BIT, |_| bit(false)),
    opt("has_snapshot", BIT, |_| bit(false)),
    opt("ledger_view_type", TINYINT, |_| Value::TinyInt(0)),
    opt("ledger_view_type_desc", nv(60), |_| text("NON_LEDGER_VIEW")),
    opt("is_dropped_ledger_view", BIT, |_| bit(false)),
];

pub(crate) static VIEW: SystemView =
    SystemView { schema: "sys", name: "views", columns: || shape(COLUMNS), rows: read, arity: 0 };

fn read(scope: &Scope<'_>) -> Rows {
    rows(COLUMNS, of_kind(scope.session, scope.database, &["V"]))
}
