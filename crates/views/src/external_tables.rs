//! `sys.external_tables`: tables whose rows are in files.

use std::sync::Arc;

use types::{DataType, Value};

use ::catalog::ExternalPlace;
use metadata::column::{
    BIT, Column, DATETIME, INT, SYSNAME, ascii, bit, ch, col, int, nv, opt, rows, shape, text,
    unknown,
};
use metadata::objects::{ObjectRow, table_row, tables, type_description};
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
    col("max_column_id_used", INT, |r| int(r.columns)),
    opt("uses_ansi_nulls", BIT, |_| bit(true)),
    col("data_source_id", INT, |r| int(r.place.data_source)),
    opt("file_format_id", INT, |r| int(r.place.file_format)),
    opt("location", nv(4000), |r| text(&r.place.location)),
    unknown("reject_type", nv(20)),
    unknown("reject_value", DataType::Float),
    unknown("reject_sample_value", DataType::Float),
    unknown("distribution_type", INT),
    unknown("distribution_desc", nv(120)),
    unknown("sharding_col_id", INT),
    unknown("remote_schema_name", SYSNAME),
    unknown("remote_object_name", SYSNAME),
];

pub(crate) static VIEW: SystemView = SystemView {
    schema: "sys",
    name: "external_tables",
    columns: || shape(COLUMNS),
    rows: read,
    arity: 0,
};

struct Row {
    object: ObjectRow,
    columns: usize,
    place: Arc<ExternalPlace>,
}

fn read(scope: &Scope<'_>) -> Rows {
    let external = tables(scope.session, scope.database).into_iter().filter_map(|table| {
        let place = Arc::clone(table.external.as_ref()?);
        Some(Row { object: table_row(&table), columns: table.columns.len(), place })
    });
    rows(COLUMNS, external)
}
