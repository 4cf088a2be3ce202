//! `syscolumns`: columns of tables and views, and parameters of procedures.

use types::{DataType, Value};

use super::systypes::{digits, old_user_type, scale_of};
use metadata::column::{
    Column, INT, SMALLINT, SYSNAME, TINYINT, col, int, opt, or_null, rows, shape, small, text,
    unknown, vb, vc,
};
use metadata::objects::{ColumnRow, ParameterRow, collation_name, columns, parameters};
use metadata::{Rows, Scope, SystemView};
use types::value::ColumnType;

const COLUMNS: &[Column<Row>] = &[
    opt("name", SYSNAME, |r| text(&r.name)),
    col("id", INT, |r| int(r.id)),
    col("xtype", TINYINT, |r| Value::TinyInt(r.system_type_id)),
    unknown("typestat", TINYINT),
    opt("xusertype", SMALLINT, |r| small(r.user_type_id)),
    col("length", SMALLINT, |r| Value::SmallInt(r.ty.data_type.max_length())),
    col("xprec", TINYINT, |r| Value::TinyInt(r.ty.data_type.precision())),
    col("xscale", TINYINT, |r| Value::TinyInt(r.ty.data_type.scale())),
    col("colid", SMALLINT, |r| small(r.column)),
    unknown("xoffset", SMALLINT),
    unknown("bitpos", TINYINT),
    unknown("reserved", TINYINT),
    unknown("colstat", SMALLINT),
    col("cdefault", INT, |r| int(r.default_id)),
    col("domain", INT, |_| int(0)),
    col("number", SMALLINT, |r| small(i32::from(r.parameter))),
    unknown("colorder", SMALLINT),
    unknown("autoval", vb(8000)),
    unknown("offset", SMALLINT),
    unknown("collationid", INT),
    opt("status", TINYINT, |r| Value::TinyInt(status(r))),
    unknown("type", TINYINT),
    opt("usertype", SMALLINT, |r| small(old_user_type(r.user_type_id))),
    unknown("printfmt", vc(255)),
    opt("prec", SMALLINT, |r| digits(&r.ty.data_type)),
    opt("scale", INT, |r| or_null(scale_of(&r.ty.data_type), int)),
    opt("iscomputed", INT, |r| int(i32::from(r.computed))),
    opt("isoutparam", INT, |r| int(i32::from(r.output))),
    opt("isnullable", INT, |r| int(i32::from(r.ty.nullable))),
    opt("collation", SYSNAME, |r| collation_name(&r.ty)),
];

pub(crate) static VIEW: SystemView =
    SystemView { schema: "", name: "syscolumns", columns: || shape(COLUMNS), rows: read, arity: 0 };

fn read(scope: &Scope<'_>) -> Rows {
    let columns = columns(scope).into_iter().map(of_column);
    let parameters = parameters(scope.database).into_iter().map(of_parameter);
    rows(COLUMNS, columns.chain(parameters))
}

struct Row {
    name: String,
    id: i32,
    column: i32,
    system_type_id: u8,
    user_type_id: i32,
    ty: ColumnType,
    default_id: i32,
    parameter: bool,
    identity: bool,
    computed: bool,
    output: bool,
}

fn of_column(row: ColumnRow) -> Row {
    Row {
        id: row.object_id,
        column: row.id,
        system_type_id: row.system_type_id(),
        user_type_id: row.user_type_id,
        ty: row.ty,
        default_id: row.default_id(),
        parameter: false,
        identity: row.is(|d| d.identity.is_some()),
        computed: row.is(|d| d.computed.is_some()),
        output: false,
        name: row.name,
    }
}

fn of_parameter(row: ParameterRow) -> Row {
    Row {
        id: row.object_id,
        column: row.id,
        system_type_id: row.system_type_id(),
        user_type_id: row.user_type_id(),
        ty: ColumnType { nullable: true, ..row.definition.ty },
        default_id: 0,
        parameter: true,
        identity: false,
        computed: false,
        output: row.definition.output,
        name: row.definition.name,
    }
}

/// Returns `status`, with the documented bits: NULL allowed, ANSI padding, OUTPUT, identity.
fn status(row: &Row) -> u8 {
    let padded = matches!(row.ty.data_type, DataType::VarChar(_) | DataType::VarBinary(_));
    let bits = [(row.ty.nullable, 0x08), (padded, 0x10), (row.output, 0x40), (row.identity, 0x80)];
    bits.iter().filter(|(set, _)| *set).map(|(_, bit)| bit).sum()
}
