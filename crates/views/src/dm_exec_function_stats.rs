//! `sys.dm_exec_function_stats`: resources used by cached scalar functions. Table-valued functions
//! have no rows, as in SQL Server.

use ::catalog::Object;
use ::plan::program::RoutineKind;

use super::dm_exec_procedure_stats::{COLUMNS, modules};
use metadata::column::{BIGINT, Column, big, col, shape, values};
use metadata::{Rows, Scope, SystemView};

/// The columns that only this view has; no pages or files are read.
const OWN: &[Column<()>] = &[
    col("total_num_physical_reads", BIGINT, |()| big(0)),
    col("last_num_physical_reads", BIGINT, |()| big(0)),
    col("min_num_physical_reads", BIGINT, |()| big(0)),
    col("max_num_physical_reads", BIGINT, |()| big(0)),
    col("total_page_server_reads", BIGINT, |()| big(0)),
    col("last_page_server_reads", BIGINT, |()| big(0)),
    col("min_page_server_reads", BIGINT, |()| big(0)),
    col("max_page_server_reads", BIGINT, |()| big(0)),
    col("total_num_page_server_reads", BIGINT, |()| big(0)),
    col("last_num_page_server_reads", BIGINT, |()| big(0)),
    col("min_num_page_server_reads", BIGINT, |()| big(0)),
    col("max_num_page_server_reads", BIGINT, |()| big(0)),
];

/// Returns whether a column of the view of procedures is in this view too, in front of the others.
fn is_here(name: &str) -> bool {
    !name.ends_with("_spills") && !name.ends_with("_page_server_reads")
}

pub(crate) static VIEW: SystemView = SystemView {
    schema: "sys",
    name: "dm_exec_function_stats",
    columns: || {
        let shared = shape(COLUMNS).into_iter().filter(|(name, _)| is_here(name));
        shared.chain(shape(OWN)).collect()
    },
    rows: read,
    arity: 0,
};

fn read(scope: &Scope<'_>) -> Rows {
    let names = shape(COLUMNS);
    let is_scalar = |database: i16, id: i32| {
        let database = scope.session.catalog.database_by_id(database);
        match database.and_then(|database| database.object_by_id(id)) {
            Some(Object::Function(function)) => function.type_code == "FN",
            _ => false,
        }
    };
    let found = modules(scope, Some(RoutineKind::Function));
    let shown = found.filter(|r| is_scalar(r.module.database_id, r.module.object_id));
    let row = |r| {
        let shared = values(COLUMNS, &r).into_iter().zip(&names);
        let mut row: Vec<_> =
            shared.filter(|(_, (name, _))| is_here(name)).map(|(value, _)| value).collect();
        row.extend(values(OWN, &()));
        row
    };
    Ok(shown.map(row).collect())
}
