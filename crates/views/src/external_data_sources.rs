//! `sys.external_data_sources`: the folders that contain the files of external tables.

use std::sync::Arc;

use types::Value;

use ::catalog::ExternalDataSource;
use metadata::column::{
    Column, INT, SYSNAME, TINYINT, col, int, nv, opt, rows, shape, text, unknown,
};
use metadata::{Rows, Scope, SystemView};

/// `type` of a source that is neither Hadoop, a database nor blob storage.
const NONE: (u8, &str) = (6, "NONE");

const COLUMNS: &[Column<Arc<ExternalDataSource>>] = &[
    col("data_source_id", INT, |r| int(r.id)),
    col("name", SYSNAME, |r| text(&r.name)),
    col("location", nv(4000), |r| text(&r.location)),
    opt("type_desc", nv(255), |_| text(NONE.1)),
    col("type", TINYINT, |_| Value::TinyInt(NONE.0)),
    unknown("resource_manager_location", nv(4000)),
    col("credential_id", INT, |_| int(0)),
    unknown("database_name", SYSNAME),
    unknown("shard_map_name", SYSNAME),
];

pub(crate) static VIEW: SystemView = SystemView {
    schema: "sys",
    name: "external_data_sources",
    columns: || shape(COLUMNS),
    rows: read,
    arity: 0,
};

fn read(scope: &Scope<'_>) -> Rows {
    rows(COLUMNS, scope.database.data_sources.values().cloned())
}
