//! `sys.tables`: the tables of a database and their options.

use std::sync::Arc;

use types::Value;

use ::catalog::TableDef;
use metadata::column::{
    BIT, Column, DATETIME, INT, SYSNAME, TINYINT, ascii, bit, ch, col, int, nv, opt, or_null, rows,
    shape, text,
};
use metadata::objects::temporal_type;
use metadata::objects::{ObjectRow, columns_of, objects, table_row, tables, type_description};
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
    col("max_column_id_used", INT, |r| int(r.columns)),
    col("lock_on_bulk_load", BIT, |_| bit(false)),
    opt("uses_ansi_nulls", BIT, |r| bit(r.ansi_nulls)),
    opt("is_replicated", BIT, |_| bit(false)),
    opt("has_replication_filter", BIT, |_| bit(false)),
    opt("is_merge_published", BIT, |_| bit(false)),
    opt("is_sync_tran_subscribed", BIT, |_| bit(false)),
    col("has_unchecked_assembly_data", BIT, |_| bit(false)),
    opt("text_in_row_limit", INT, |_| int(0)),
    opt("large_value_types_out_of_row", BIT, |_| bit(false)),
    opt("is_tracked_by_cdc", BIT, |_| bit(false)),
    opt("lock_escalation", TINYINT, |r| Value::TinyInt(r.lock_escalation)),
    opt("lock_escalation_desc", nv(60), |r| {
        text(["TABLE", "DISABLE", "AUTO"][usize::from(r.lock_escalation.min(2))])
    }),
    opt("is_filetable", BIT, |_| bit(false)),
    opt("is_memory_optimized", BIT, |r| bit(r.memory_optimized)),
    opt("durability", TINYINT, |r| Value::TinyInt(u8::from(r.schema_only))),
    opt("durability_desc", nv(60), |r| {
        text(if r.schema_only { "SCHEMA_ONLY" } else { "SCHEMA_AND_DATA" })
    }),
    opt("temporal_type", TINYINT, |r| Value::TinyInt(r.temporal.0)),
    opt("temporal_type_desc", nv(60), |r| text(r.temporal.1)),
    opt("history_table_id", INT, |r| r.history.map_or(Value::Null, int)),
    opt("is_remote_data_archive_enabled", BIT, |_| bit(false)),
    opt("is_external", BIT, |r| bit(r.is_external)),
    opt("history_retention_period", INT, |r| r.history.map_or(Value::Null, |_| int(-1))),
    opt("history_retention_period_unit", INT, |r| r.history.map_or(Value::Null, |_| int(-1))),
    opt("history_retention_period_unit_desc", nv(10), |r| {
        r.history.map_or(Value::Null, |_| text("INFINITE"))
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
    object: ObjectRow,
    columns: usize,
    ansi_nulls: bool,
    lock_escalation: u8,
    memory_optimized: bool,
    schema_only: bool,
    temporal: (u8, &'static str),
    history: Option<i32>,
    is_external: bool,
}

fn items(scope: &Scope<'_>) -> Vec<Row> {
    let tables = tables(scope.session, scope.database).into_iter();
    let row = |table: Arc<TableDef>| {
        let owner = scope.database.owners.get(&table.id).copied();
        Row {
            object: ObjectRow { owner, ..table_row(&table) },
            columns: table.columns.len(),
            ansi_nulls: table.ansi_nulls,
            lock_escalation: table.lock_escalation,
            memory_optimized: table.memory_optimized,
            schema_only: table.schema_only,
            temporal: temporal_type(&table),
            history: table.history_id(),
            is_external: table.external.is_some(),
        }
    };
    // A system's table has rows that are computed when it is read, so none of these options.
    let system = objects(scope.session, scope.database).into_iter();
    let system = system.filter(|object| object.system && object.code == "U").map(|object| Row {
        columns: columns_of(scope.session, scope.database, object.id).len(),
        object,
        ansi_nulls: true,
        lock_escalation: 0,
        memory_optimized: false,
        schema_only: false,
        temporal: (0, "NON_TEMPORAL_TABLE"),
        history: None,
        is_external: false,
    });
    tables.map(row).chain(system).collect()
}
