//! `sys.tables`: the tables of a database and their options.

use std::sync::Arc;

use types::Value;

use ::catalog::TableDef;
use metadata::column::{
    BIT, Column, DATETIME, INT, SYSNAME, TINYINT, ascii, bit, ch, col, int, nv, opt, or_null, rows,
    shape, text,
};
use metadata::objects::temporal_type;
use metadata::objects::{ObjectRow, table_row, tables, type_description};
use metadata::{Rows, Scope, SystemView};

const COLUMNS: &[Column<Row>] = &[
    col("name", SYSNAME, |r| text(&r.object.name)),
    col("object_id", INT, |r| int(r.object.id)),
    opt("principal_id", INT, |r| or_null(r.object.owner, int)),
    col("schema_id", INT, |r| int(r.object.schema_id)),
    col("parent_object_id", INT, |r| int(r.object.parent_id)),
    opt("type", ch(2), |r| ascii(&format!("{:<2}", r.object.code))),
    opt("type_desc", nv(60), |r| text(type_description(r.object.code))),
    col("create_date", DATETIME, |r| r.object.created.clone()),
    col("modify_date", DATETIME, |r| r.object.modified.clone()),
    col("is_ms_shipped", BIT, |r| bit(r.object.system)),
    col("is_published", BIT, |_| bit(false)),
    col("is_schema_published", BIT, |_| bit(false)),
    opt("lob_data_space_id", INT, |_| int(0)),
    opt("filestream_data_space_id", INT, |_| Value::Null),
    col("max_column_id_used", INT, |r| int(r.table.columns.len())),
    col("lock_on_bulk_load", BIT, |_| bit(false)),
    opt("uses_ansi_nulls", BIT, |r| bit(r.table.ansi_nulls)),
    opt("is_replicated", BIT, |_| bit(false)),
    opt("has_replication_filter", BIT, |_| bit(false)),
    opt("is_merge_published", BIT, |_| bit(false)),
    opt("is_sync_tran_subscribed", BIT, |_| bit(false)),
    col("has_unchecked_assembly_data", BIT, |_| bit(false)),
    opt("text_in_row_limit", INT, |_| int(0)),
    opt("large_value_types_out_of_row", BIT, |_| bit(false)),
    opt("is_tracked_by_cdc", BIT, |_| bit(false)),
    opt("lock_escalation", TINYINT, |r| Value::TinyInt(r.table.lock_escalation)),
    opt("lock_escalation_desc", nv(60), |r| {
        text(["TABLE", "DISABLE", "AUTO"][usize::from(r.table.lock_escalation.min(2))])
    }),
    opt("is_filetable", BIT, |_| bit(false)),
    opt("is_memory_optimized", BIT, |r| bit(r.table.memory_optimized)),
    opt("durability", TINYINT, |r| Value::TinyInt(u8::from(r.table.schema_only))),
    opt("durability_desc", nv(60), |r| {
        text(if r.table.schema_only { "SCHEMA_ONLY" } else { "SCHEMA_AND_DATA" })
    }),
    opt("temporal_type", TINYINT, |r| Value::TinyInt(temporal_type(&r.table).0)),
    opt("temporal_type_desc", nv(60), |r| text(temporal_type(&r.table).1)),
    opt("history_table_id", INT, |r| r.table.history_id().map_or(Value::Null, int)),
    opt("is_remote_data_archive_enabled", BIT, |_| bit(false)),
    opt("is_external", BIT, |r| bit(r.table.external.is_some())),
    opt("history_retention_period", INT, |r| r.table.history_id().map_or(Value::Null, |_| int(-1))),
    opt("history_retention_period_unit", INT, |r| {
        r.table.history_id().map_or(Value::Null, |_| int(-1))
    }),
    opt("history_retention_period_unit_desc", nv(10), |r| {
        r.table.history_id().map_or(Value::Null, |_| text("INFINITE"))
    }),
    opt("is_node", BIT, |_| bit(false)),
    opt("is_edge", BIT, |_| bit(false)),
    opt("data_retention_period", INT, |_| int(-1)),
    opt("data_retention_period_unit", INT, |_| int(-1)),
    opt("data_retention_period_unit_desc", nv(10), |_| text("INFINITE")),
    opt("ledger_type", TINYINT, |_| Value::TinyInt(0)),
    opt("ledger_type_desc", nv(60), |_| text("NON_LEDGER_TABLE")),
    opt("ledger_view_id", INT, |_| Value::Null),
    opt("is_dropped_ledger_table", BIT, |_| bit(false)),
];

pub(crate) static VIEW: SystemView =
    SystemView { schema: "sys", name: "tables", columns: || shape(COLUMNS), rows: read, arity: 0 };

fn read(scope: &Scope<'_>) -> Rows {
    rows(COLUMNS, items(scope))
}

struct Row {
    table: Arc<TableDef>,
    object: ObjectRow,
}

fn items(scope: &Scope<'_>) -> Vec<Row> {
    let tables = tables(scope.session, scope.database).into_iter();
    let row = |table: Arc<TableDef>| {
        let owner = scope.database.owners.get(&table.id).copied();
        Row { object: ObjectRow { owner, ..table_row(&table) }, table }
    };
    tables.map(row).collect()
}
