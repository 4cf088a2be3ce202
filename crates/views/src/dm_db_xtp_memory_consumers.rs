//! `sys.dm_db_xtp_memory_consumers`: the memory of each memory-optimized table, as two heaps: one
//! of its rows, one of its indexes.

use std::sync::Arc;

use types::Value;

use ::catalog::TableDef;
use metadata::column::{
    ADDRESS, BIGINT, Column, INT, big, col, int, nv, opt, rows, shape, text, unknown,
};
use metadata::objects::tables;
use metadata::{RowSet, Rows, Scope, SystemView};

struct Row {
    table: Arc<TableDef>,
    what: &'static str,
    allocated: u64,
    used: u64,
    /// `memory_consumer_id`, numbered over all rows of the view.
    number: usize,
}

const COLUMNS: &[Column<Row>] = &[
    col("memory_consumer_id", BIGINT, |r| big(r.number)),
    // 2, VARHEAP: blocks of varying size.
    col("memory_consumer_type", INT, |_| int(2)),
    col("memory_consumer_type_desc", nv(64), |_| text("VARHEAP")),
    col("memory_consumer_desc", nv(64), |r| text(r.what)),
    opt("object_id", BIGINT, |r| big(r.table.id)),
    opt("xtp_object_id", BIGINT, |r| big(r.table.rows.data.id().0)),
    // All indexes of a table share one consumer.
    opt("index_id", INT, |_| Value::Null),
    col("allocated_bytes", BIGINT, |r| big(r.allocated)),
    col("used_bytes", BIGINT, |r| big(r.used)),
    unknown("allocation_count", INT),
    unknown("partition_count", INT),
    unknown("sizeclass_count", INT),
    unknown("min_sizeclass", INT),
    unknown("max_sizeclass", INT),
    unknown("memory_consumer_address", ADDRESS),
];

pub(crate) static VIEW: SystemView = SystemView {
    schema: "sys",
    name: "dm_db_xtp_memory_consumers",
    columns: || shape(COLUMNS),
    rows: read,
    arity: 0,
};

fn read(scope: &Scope<'_>) -> Rows {
    // SQL Server returns no rows here, not an error.
    if !scope.session.identity.rights.views_database_state(scope.database) {
        return Ok(RowSet::default());
    }
    let mut list = Vec::new();
    for table in tables(scope.session, scope.database) {
        if !table.memory_optimized {
            continue;
        }
        let memory = table.rows.data.memory();
        let parts = [
            ("Table heap", memory.allocated_rows_bytes, memory.used_rows_bytes),
            ("Index heap", memory.allocated_indexes_bytes, memory.used_indexes_bytes),
        ];
        for (what, allocated, used) in parts {
            let table = Arc::clone(&table);
            list.push(Row { table, what, allocated, used, number: list.len() + 1 });
        }
    }
    rows(COLUMNS, list)
}
