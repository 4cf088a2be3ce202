//! sp_describe_first_result_set: returns the columns of a batch's first result set, which
//! `first_result.rs` finds.

use std::sync::Arc;

use types::value::ColumnType;
use types::{Collation, DataType, Length, Value};

use crate::executesql::{parse_parameters, prepare, text_argument};
use crate::first_result;
use crate::first_result::{Browsing, FirstResult};
use crate::procedure::{SystemProcedure, argument};
use ::binder::shape_of;
use ::catalog::{DBO_SCHEMA, ProcedureDef};
use ::executor::Cx;
use ::plan::sink::{ColumnInfo, Command, Traits};
use ::session::SessionState;
use interpreter::{Argument, Stop, done};

pub(crate) static PROCEDURES: &[SystemProcedure] =
    &[SystemProcedure { name: "sp_describe_first_result_set", id: 0, run: describe_first }];

/// `sp_describe_first_result_set @tsql [, @params [, @browse_information_mode]]`.
fn describe_first(arguments: &mut [Argument], cx: &mut Cx<'_>) -> Result<i32, Stop> {
    let statement =
        text_argument(argument(arguments, 0, "@tsql"), "sp_describe_first_result_set", "@tsql")?;
    let declared = argument(arguments, 1, "@params").map_or(Value::Null, |a| a.value.clone());
    let mode = argument(arguments, 2, "@browse_information_mode").and_then(|a| a.value.as_whole());
    let browsing = Browsing::of(mode)?;
    let (key, entry) = prepare(&statement, &declared, cx.session)?;
    let described = first_result::find(&entry.program, cx.session, browsing);
    cx.session.caches.programs.put(key, entry);
    let Some(described) = described? else {
        return Ok(0);
    };
    let shape = shape_of(columns().into_iter().map(|(name, ty)| plain(name, ty)).collect());
    cx.sink.columns(&shape)?;
    let rows = rows(&described, browsing, cx.session);
    for row in &rows {
        cx.sink.row(row)?;
    }
    done(cx, Command::SELECT, u64::try_from(rows.len()).ok(), false)?;
    Ok(0)
}

/// Compiles a text and finds its first result set; returns its description.
///
/// # Errors
/// Errors of syntax, names and types; 11509 and others if the columns depend on how the batch runs.
pub(crate) fn rows_of(
    statement: &str,
    declared: &str,
    browsing: Browsing,
    session: &SessionState,
) -> Result<Vec<Vec<Value>>, Stop> {
    let parameters = parse_parameters(declared, session)?;
    let program = ::compile::parse_and_compile(session, statement, parameters)?;
    let described = first_result::find(&program, session, browsing)?;
    Ok(described.map_or_else(Vec::new, |described| rows(&described, browsing, session)))
}

/// Describes the first result set of a procedure.
///
/// # Errors
/// As [`rows_of`].
pub(crate) fn rows_of_procedure(
    procedure: &Arc<ProcedureDef>,
    browsing: Browsing,
    session: &SessionState,
) -> Result<Vec<Vec<Value>>, Stop> {
    let program = ::compile::program_of(session, procedure)?;
    let described = first_result::find(&program, session, browsing)?;
    Ok(described.map_or_else(Vec::new, |described| rows(&described, browsing, session)))
}

/// Places of the columns that browse information fills.
mod place {
    pub(super) const HIDDEN: usize = 0;
    pub(super) const DATABASE: usize = 23;
    pub(super) const SCHEMA: usize = 24;
    pub(super) const TABLE: usize = 25;
    pub(super) const COLUMN: usize = 26;
    pub(super) const UNIQUE_KEY: usize = 28;
}

/// Returns the rows that describe a result: its columns, and what browse information adds.
fn rows(first: &FirstResult, browsing: Browsing, session: &SessionState) -> Vec<Vec<Value>> {
    let described = (1..).zip(&first.shape.columns);
    let mut rows: Vec<Vec<Value>> =
        described.map(|(ordinal, column)| row(ordinal, column)).collect();
    let Some(browse) = &first.browse else { return rows };
    for (row, column) in rows.iter_mut().zip(&browse.columns) {
        row[place::HIDDEN] = Value::Bit(column.is_hidden);
        row[place::UNIQUE_KEY] = Value::Bit(column.is_key);
        let Some(table) = column.table.checked_sub(1).and_then(|at| browse.tables.get(at)) else {
            continue;
        };
        let part = |behind: usize| table.iter().rev().nth(behind).filter(|part| !part.is_empty());
        let database = part(2).map_or(&*session.identity.database, String::as_str);
        let name = match &column.name {
            Some(name) => Value::nvarchar(name),
            None => row[2].clone(),
        };
        row[place::DATABASE] = Value::nvarchar(database);
        let table_name = part(0).map_or("", String::as_str);
        let found_in = || {
            session.catalog.database(database).map_or(DBO_SCHEMA, |found| {
                let first = session.identity.rights.default_schema(found);
                found.schema_of_object(None, first, table_name)
            })
        };
        row[place::SCHEMA] = Value::nvarchar(part(1).map_or_else(found_in, String::as_str));
        row[place::TABLE] = part(0).map_or(Value::Null, |part| Value::nvarchar(part));
        row[place::COLUMN] = name;
    }
    if browsing == Browsing::Cursor {
        rows.retain(|row| row[place::HIDDEN] == Value::Bit(false));
        let ordinal = i32::try_from(rows.len()).unwrap_or(i32::MAX).saturating_add(1);
        let ty = ColumnType { nullable: false, ..ColumnType::nullable(DataType::Int) };
        let mut status = row(ordinal, &plain("ROWSTAT", ty));
        status[place::HIDDEN] = Value::Bit(true);
        status[place::UNIQUE_KEY] = Value::Bit(false);
        rows.push(status);
    }
    rows
}

fn plain(name: &str, column_type: ColumnType) -> ColumnInfo {
    ColumnInfo { name: name.into(), column_type, traits: Traits::default(), updatable: false }
}

/// Returns the columns of the description, as documented.
pub fn columns() -> Vec<(&'static str, ColumnType)> {
    let sysname = DataType::NVarChar(Length::Limited(128));
    let name = |n: u16| DataType::NVarChar(Length::Limited(n));
    let columns = [
        ("is_hidden", DataType::Bit),
        ("column_ordinal", DataType::Int),
        ("name", sysname),
        ("is_nullable", DataType::Bit),
        ("system_type_id", DataType::Int),
        ("system_type_name", name(256)),
        ("max_length", DataType::SmallInt),
        ("precision", DataType::TinyInt),
        ("scale", DataType::TinyInt),
        ("collation_name", sysname),
        ("user_type_id", DataType::Int),
        ("user_type_database", sysname),
        ("user_type_schema", sysname),
        ("user_type_name", sysname),
        ("assembly_qualified_type_name", name(4_000)),
        ("xml_collection_id", DataType::Int),
        ("xml_collection_database", sysname),
        ("xml_collection_schema", sysname),
        ("xml_collection_name", sysname),
        ("is_xml_document", DataType::Bit),
        ("is_case_sensitive", DataType::Bit),
        ("is_fixed_length_clr_type", DataType::Bit),
        ("source_server", sysname),
        ("source_database", sysname),
        ("source_schema", sysname),
        ("source_table", sysname),
        ("source_column", sysname),
        ("is_identity_column", DataType::Bit),
        ("is_part_of_unique_key", DataType::Bit),
        ("is_updateable", DataType::Bit),
        ("is_computed_column", DataType::Bit),
        ("is_sparse_column_set", DataType::Bit),
        ("ordinal_in_order_by_list", DataType::SmallInt),
        ("order_by_is_descending", DataType::SmallInt),
        ("order_by_list_length", DataType::SmallInt),
        ("tds_type_id", DataType::Int),
        ("tds_length", DataType::Int),
        ("tds_collation_id", DataType::Int),
        ("tds_collation_sort_id", DataType::TinyInt),
    ];
    let collation = Collation::default();
    let ty = |data_type| ColumnType { data_type, collation, nullable: true };
    columns.into_iter().map(|(name, data_type)| (name, ty(data_type))).collect()
}

/// `system_type_id` of `numeric`, also in TDS.
const NUMERIC: i32 = 108;

/// Returns the row that describes a column. Values that need browse information are NULL.
fn row(ordinal: i32, column: &ColumnInfo) -> Vec<Value> {
    let ty = &column.column_type;
    let data_type = &ty.data_type;
    let is_string = data_type.is_string() && *data_type != DataType::Xml;
    let collation = || Value::nvarchar(&ty.collation.name());
    let numeric = column.traits.numeric;
    let name = data_type.to_string();
    let name = if numeric { name.replacen("decimal", "numeric", 1) } else { name };
    let mut row = vec![
        Value::Bit(false),
        Value::Int(ordinal),
        if column.name.is_empty() { Value::Null } else { Value::nvarchar(&column.name) },
        Value::Bit(ty.nullable),
        Value::Int(if numeric { NUMERIC } else { i32::from(data_type.system_type_id()) }),
        Value::nvarchar(&name),
        Value::SmallInt(data_type.max_length()),
        Value::TinyInt(data_type.precision()),
        Value::TinyInt(data_type.scale()),
        if is_string { collation() } else { Value::Null },
    ];
    row.extend(std::iter::repeat_n(Value::Null, 9));
    row.push(Value::Bit(false));
    row.push(Value::Bit(is_string && ty.collation.is_case_sensitive()));
    row.push(Value::Bit(false));
    row.extend(std::iter::repeat_n(Value::Null, 5));
    row.push(Value::Bit(column.traits.identity));
    row.push(Value::Null);
    row.push(Value::Bit(column.updatable && !column.traits.identity));
    row.push(Value::Bit(false));
    row.push(Value::Bit(false));
    row.extend(std::iter::repeat_n(Value::Null, 3));
    let wire = if numeric { NUMERIC } else { i32::from(wire_type(data_type)) };
    row.push(Value::Int(wire));
    row.push(Value::Int(wire_length(data_type)));
    let wire_collation = is_string.then(|| ty.collation.to_wire());
    row.push(
        wire_collation
            .map_or(Value::Null, |[a, b, c, d, _]| Value::Int(i32::from_le_bytes([a, b, c, d]))),
    );
    row.push(wire_collation.map_or(Value::Null, |[.., sort]| Value::TinyInt(sort)));
    row
}

/// Returns the type's number in TDS. `[MS-TDS] 2.2.5.4`
pub fn wire_type(data_type: &DataType) -> u8 {
    match data_type {
        DataType::Bit => 104,
        DataType::TinyInt | DataType::SmallInt | DataType::Int | DataType::BigInt => 38,
        DataType::Decimal { .. } => 106,
        DataType::Money | DataType::SmallMoney => 110,
        DataType::Real | DataType::Float => 109,
        DataType::DateTime | DataType::SmallDateTime => 111,
        DataType::Date => 40,
        DataType::Time(_) => 41,
        DataType::DateTime2(_) => 42,
        DataType::DateTimeOffset(_) => 43,
        DataType::UniqueIdentifier => 36,
        DataType::Char(_) => 175,
        DataType::VarChar(_) => 167,
        DataType::NChar(_) => 239,
        DataType::NVarChar(_) => 231,
        DataType::Binary(_) | DataType::RowVersion => 173,
        DataType::VarBinary(_) => 165,
        DataType::Text => 35,
        DataType::NText => 99,
        DataType::Image => 34,
        DataType::Xml => 241,
        DataType::SqlVariant => 98,
    }
}

/// Returns the length that TDS sends with the type: 65,535 for `max`.
pub fn wire_length(data_type: &DataType) -> i32 {
    match data_type.max_length() {
        -1 => 65_535,
        length => i32::from(length),
    }
}
