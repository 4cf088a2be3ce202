//! `INFORMATION_SCHEMA.DOMAINS`: alias types.

use std::sync::Arc;

use types::Value;
use types::value::ColumnType;

use ::catalog::UserType;
use metadata::column::{
    Column, INT, SMALLINT, SYSNAME, TINYINT, col, int, nv, opt, rows, shape, text, unknown,
};
use metadata::objects::{character_set, collation_name};
use metadata::type_facts::{character_length, datetime_precision, numeric_facts, octet_length};
use metadata::{Rows, Scope, SystemView};

const COLUMNS: &[Column<(String, Arc<UserType>, ColumnType)>] = &[
    opt("DOMAIN_CATALOG", SYSNAME, |r| text(&r.0)),
    opt("DOMAIN_SCHEMA", SYSNAME, |r| text(&r.1.schema)),
    col("DOMAIN_NAME", SYSNAME, |r| text(&r.1.name)),
    opt("DATA_TYPE", SYSNAME, |r| text(r.2.data_type.name())),
    opt("CHARACTER_MAXIMUM_LENGTH", INT, |r| {
        character_length(&r.2.data_type).map_or(Value::Null, int)
    }),
    opt("CHARACTER_OCTET_LENGTH", INT, |r| octet_length(&r.2.data_type).map_or(Value::Null, int)),
    unknown("COLLATION_CATALOG", SYSNAME),
    unknown("COLLATION_SCHEMA", SYSNAME),
    opt("COLLATION_NAME", SYSNAME, |r| collation_name(&r.2)),
    unknown("CHARACTER_SET_CATALOG", SYSNAME),
    unknown("CHARACTER_SET_SCHEMA", SYSNAME),
    opt("CHARACTER_SET_NAME", SYSNAME, |r| character_set(&r.2)),
    opt("NUMERIC_PRECISION", TINYINT, |r| {
        numeric_facts(&r.2.data_type).map_or(Value::Null, |f| Value::TinyInt(f.0))
    }),
    opt("NUMERIC_PRECISION_RADIX", SMALLINT, |r| {
        numeric_facts(&r.2.data_type).map_or(Value::Null, |f| Value::SmallInt(f.1))
    }),
    opt("NUMERIC_SCALE", INT, |r| {
        numeric_facts(&r.2.data_type).and_then(|f| f.2).map_or(Value::Null, Value::Int)
    }),
    opt("DATETIME_PRECISION", SMALLINT, |r| {
        datetime_precision(&r.2.data_type).map_or(Value::Null, Value::SmallInt)
    }),
    unknown("DOMAIN_DEFAULT", nv(4000)),
];

pub(crate) static VIEW: SystemView = SystemView {
    schema: "INFORMATION_SCHEMA",
    name: "DOMAINS",
    columns: || shape(COLUMNS),
    rows: read,
    arity: 0,
};

fn read(scope: &Scope<'_>) -> Rows {
    let domains = scope.database.types.values().filter_map(|user_type| {
        let base = user_type.base?;
        Some((scope.database.name.clone(), Arc::clone(user_type), base))
    });
    rows(COLUMNS, domains)
}
