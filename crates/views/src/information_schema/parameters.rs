//! `INFORMATION_SCHEMA.PARAMETERS`: parameters of procedures and functions.

use types::value::ColumnType;
use types::{DataType, Value};

use ::catalog::UserType;
use metadata::column::{
    Column, INT, SMALLINT, SYSNAME, TINYINT, col, int, nv, opt, rows, shape, text,
};
use metadata::objects::{ParameterRow, character_set, collation_name, parameters};
use metadata::type_facts::{character_length, datetime_precision, numeric_facts, octet_length};
use metadata::{Rows, Scope, SystemView};

const COLUMNS: &[Column<Row>] = &[
    opt("SPECIFIC_CATALOG", SYSNAME, |r| text(&r.catalog)),
    opt("SPECIFIC_SCHEMA", SYSNAME, |r| text(&r.parameter.schema)),
    col("SPECIFIC_NAME", SYSNAME, |r| text(&r.parameter.procedure)),
    col("ORDINAL_POSITION", INT, |r| int(r.parameter.id)),
    opt("PARAMETER_MODE", nv(10), |r| {
        text(match (r.parameter.id, r.parameter.definition.output) {
            (0, _) => "OUT",
            (_, true) => "INOUT",
            (_, false) => "IN",
        })
    }),
    opt("IS_RESULT", nv(10), |r| text(if r.parameter.id == 0 { "YES" } else { "NO" })),
    opt("AS_LOCATOR", nv(10), |_| text("NO")),
    opt("PARAMETER_NAME", SYSNAME, |r| text(&r.parameter.definition.name)),
    opt("DATA_TYPE", SYSNAME, |r| {
        text(if r.parameter.definition.table_type.is_some() {
            "table type"
        } else {
            r.ty().data_type.name()
        })
    }),
    opt("CHARACTER_MAXIMUM_LENGTH", INT, |r| r.fact(|t| character_length(t).map(Value::Int))),
    opt("CHARACTER_OCTET_LENGTH", INT, |r| r.fact(|t| octet_length(t).map(Value::Int))),
    opt("COLLATION_CATALOG", SYSNAME, |_| Value::Null),
    opt("COLLATION_SCHEMA", SYSNAME, |_| Value::Null),
    opt("COLLATION_NAME", SYSNAME, |r| collation_name(r.ty())),
    opt("CHARACTER_SET_CATALOG", SYSNAME, |_| Value::Null),
    opt("CHARACTER_SET_SCHEMA", SYSNAME, |_| Value::Null),
    opt("CHARACTER_SET_NAME", SYSNAME, |r| character_set(r.ty())),
    opt("NUMERIC_PRECISION", TINYINT, |r| {
        r.fact(|t| numeric_facts(t).map(|f| Value::TinyInt(f.0)))
    }),
    opt("NUMERIC_PRECISION_RADIX", SMALLINT, |r| {
        r.fact(|t| numeric_facts(t).map(|f| Value::SmallInt(f.1)))
    }),
    opt("NUMERIC_SCALE", INT, |r| r.fact(|t| numeric_facts(t).and_then(|f| f.2).map(Value::Int))),
    opt("DATETIME_PRECISION", SMALLINT, |r| r.fact(|t| datetime_precision(t).map(Value::SmallInt))),
    opt("INTERVAL_TYPE", nv(30), |_| Value::Null),
    opt("INTERVAL_PRECISION", SMALLINT, |_| Value::Null),
    opt("USER_DEFINED_TYPE_CATALOG", SYSNAME, |r| {
        r.user_type().map_or(Value::Null, |_| text(&r.catalog))
    }),
    opt("USER_DEFINED_TYPE_SCHEMA", SYSNAME, |r| {
        r.user_type().map_or(Value::Null, |t| text(&t.schema))
    }),
    opt("USER_DEFINED_TYPE_NAME", SYSNAME, |r| {
        r.user_type().map_or(Value::Null, |t| text(&t.name))
    }),
    opt("SCOPE_CATALOG", SYSNAME, |_| Value::Null),
    opt("SCOPE_SCHEMA", SYSNAME, |_| Value::Null),
    opt("SCOPE_NAME", SYSNAME, |_| Value::Null),
];

pub(crate) static VIEW: SystemView = SystemView {
    schema: "INFORMATION_SCHEMA",
    name: "PARAMETERS",
    columns: || shape(COLUMNS),
    rows: read,
    arity: 0,
};

fn read(scope: &Scope<'_>) -> Rows {
    rows(COLUMNS, items(scope))
}

struct Row {
    catalog: String,
    parameter: ParameterRow,
}

impl Row {
    fn ty(&self) -> &ColumnType {
        &self.parameter.definition.ty
    }
    fn user_type(&self) -> Option<&UserType> {
        self.parameter.definition.table_type.as_deref()
    }
    /// Returns a property of the parameter's type; NULL for a table-valued parameter.
    fn fact(&self, of: impl FnOnce(&DataType) -> Option<Value>) -> Value {
        match self.user_type() {
            Some(_) => Value::Null,
            None => of(&self.ty().data_type).unwrap_or(Value::Null),
        }
    }
}

fn items(scope: &Scope<'_>) -> Vec<Row> {
    let catalog = &scope.database.name;
    let parameters = parameters(scope.database).into_iter();
    parameters.map(|parameter| Row { catalog: catalog.clone(), parameter }).collect()
}
