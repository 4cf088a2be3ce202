//! sp_describe_undeclared_parameters: suggests types for the undeclared parameters of a batch,
//! which drivers ask for before they send values.
//!
//! `statement.rs` finds the parameters in the bound statements of the batch, `deduce.rs` the
//! expressions around each, and `general.rs` weighs the types that it could have. The rules are
//! those of the procedure's documentation.

mod deduce;
mod general;
mod statement;

use std::collections::{BTreeMap, BTreeSet};

use tsql::ast::{Statement, StatementKind};
use types::value::ColumnType;
use types::{DataType, Length, Msg, Value};

use super::describe::{wire_length, wire_type};
use crate::executesql::text_argument;
use crate::procedure::{SystemProcedure, argument};
use ::binder::shape_of;
use ::catalog::ParameterDef;
use ::executor::Cx;
use ::plan::sink::{ColumnInfo, Command, Traits};
use ::session::SessionState;
use interpreter::{Argument, Stop, done};

const NAME: &str = "sp_describe_undeclared_parameters";

pub(crate) static PROCEDURES: &[SystemProcedure] =
    &[SystemProcedure { name: NAME, id: 0, run: describe }];

/// The suggested type of a parameter.
#[derive(Clone)]
struct Suggested {
    /// Its type; unused for a table-valued parameter.
    ty: ColumnType,
    /// The parameter of the called procedure or function, if it is an argument of a call.
    formal: Option<ParameterDef>,
    /// Whether it is passed as OUTPUT.
    output: bool,
}

/// `sp_describe_undeclared_parameters @tsql [, @params]`.
fn describe(arguments: &mut [Argument], cx: &mut Cx<'_>) -> Result<i32, Stop> {
    let statement = text_argument(argument(arguments, 0, "@tsql"), NAME, "@tsql")?;
    let collation = cx.session.collation();
    let declared = argument(arguments, 1, "@params").and_then(|a| a.value.as_text(collation));
    let declared = declared.unwrap_or_default();
    let text = plan::long::text(&statement, collation)?.unwrap_or_default();
    let mut known: BTreeSet<String> =
        variables(&declared).iter().map(|(n, _)| n.to_lowercase()).collect();
    let batch = tsql::parse(&text, cx.session.quotes())?;
    declared_in(&batch.statements, &mut known);
    let mut wanted: Vec<String> = Vec::new();
    let mut seen = BTreeMap::new();
    for name in used(&text) {
        let key = name.to_lowercase();
        if known.contains(&key) {
            continue;
        }
        if let Some(first) = seen.insert(key, wanted.len()) {
            return Err(Msg::UndeclaredTwice(&wanted[first]).into());
        }
        wanted.push(name);
    }
    let types = statement::deduce(&text, &declared, &wanted, cx.session)?;
    let shape = shape_of(columns());
    cx.sink.columns(&shape)?;
    for ((ordinal, name), suggested) in (1..).zip(&wanted).zip(&types) {
        cx.sink.row(&row(ordinal, name, suggested, cx.session))?;
    }
    done(cx, Command::SELECT, u64::try_from(wanted.len()).ok(), false)?;
    Ok(0)
}

/// Returns the variables that a text uses, in order, without the parameter names of a call, such as
/// `@a` in `EXEC p @a = @x`.
fn used(text: &str) -> Vec<String> {
    let names = variables(text);
    let word = text.trim_start().split(|c: char| !c.is_alphabetic()).next().unwrap_or_default();
    if !["exec", "execute"].iter().any(|verb| word.eq_ignore_ascii_case(verb)) {
        return names.into_iter().map(|(name, _)| name).collect();
    }
    let start = text.len() - text.trim_start().len() + word.len();
    // The variable of `EXEC @status = p` is used too.
    let is_status = |end: usize, name: &str| text[start..end].trim_start().len() == name.len();
    let is_named = |end: usize| text[end..].trim_start().starts_with('=');
    let names = names.into_iter().filter(|(name, end)| !is_named(*end) || is_status(*end, name));
    names.map(|(name, _)| name).collect()
}

/// Returns the variables in a text and the end of each name, in order. Skips strings, comments and
/// bracketed names, and functions such as @@ROWCOUNT.
fn variables(text: &str) -> Vec<(String, usize)> {
    let bytes = text.as_bytes();
    let mut found = Vec::new();
    let mut at = 0;
    while at < bytes.len() {
        let rest = &text[at..];
        let skipped = match bytes[at] {
            b'\'' => after(rest, 1, "'"),
            b'"' => after(rest, 1, "\""),
            b'[' => after(rest, 1, "]"),
            b'-' if rest.starts_with("--") => after(rest, 2, "\n"),
            b'/' if rest.starts_with("/*") => after(rest, 2, "*/"),
            b'@' => {
                let is_name = |c: char| c.is_alphanumeric() || matches!(c, '_' | '$' | '#' | '@');
                let end = rest[1..].find(|c| !is_name(c)).map_or(rest.len(), |end| end + 1);
                if !rest.starts_with("@@") {
                    found.push((rest[..end].to_owned(), at + end));
                }
                end
            }
            _ => rest.chars().next().map_or(1, char::len_utf8),
        };
        at += skipped;
    }
    found
}

/// Returns where a piece that ends with `end` is over.
fn after(rest: &str, start: usize, end: &str) -> usize {
    rest[start..].find(end).map_or(rest.len(), |place| start + place + end.len())
}

/// Adds the names of the variables that statements declare, in lower case.
fn declared_in(statements: &[Statement], names: &mut BTreeSet<String>) {
    for statement in statements {
        match &statement.kind {
            StatementKind::Declare(declared) => {
                names.extend(declared.iter().map(|of| of.variable.name.to_lowercase()));
            }
            StatementKind::Block(body) => declared_in(body, names),
            StatementKind::AtomicBlock(block) => declared_in(&block.body, names),
            StatementKind::If(branches) => {
                for branch in &branches.branches {
                    declared_in(std::slice::from_ref(&branch.then), names);
                }
                declared_in(branches.otherwise.as_slice(), names);
            }
            StatementKind::While(body) => declared_in(std::slice::from_ref(&body.body), names),
            StatementKind::TryCatch(both) => {
                declared_in(&both.body, names);
                declared_in(&both.catch, names);
            }
            _ => {}
        }
    }
}

/// Returns the columns of the description, as documented.
fn columns() -> Vec<ColumnInfo> {
    let sysname = DataType::NVarChar(Length::Limited(128));
    let columns = [
        ("parameter_ordinal", DataType::Int),
        ("name", sysname),
        ("suggested_system_type_id", DataType::Int),
        ("suggested_system_type_name", DataType::NVarChar(Length::Limited(256))),
        ("suggested_max_length", DataType::SmallInt),
        ("suggested_precision", DataType::TinyInt),
        ("suggested_scale", DataType::TinyInt),
        ("suggested_user_type_id", DataType::Int),
        ("suggested_user_type_database", sysname),
        ("suggested_user_type_schema", sysname),
        ("suggested_user_type_name", sysname),
        ("suggested_assembly_qualified_type_name", DataType::NVarChar(Length::Limited(4_000))),
        ("suggested_xml_collection_id", DataType::Int),
        ("suggested_xml_collection_database", sysname),
        ("suggested_xml_collection_schema", sysname),
        ("suggested_xml_collection_name", sysname),
        ("suggested_is_xml_document", DataType::Bit),
        ("suggested_is_case_sensitive", DataType::Bit),
        ("suggested_is_fixed_length_clr_type", DataType::Bit),
        ("suggested_is_input", DataType::Bit),
        ("suggested_is_output", DataType::Bit),
        ("formal_parameter_name", sysname),
        ("suggested_tds_type_id", DataType::Int),
        ("suggested_tds_length", DataType::Int),
    ];
    let column = |(name, data_type): (&str, DataType)| ColumnInfo {
        name: name.into(),
        column_type: ColumnType::nullable(data_type),
        traits: Traits::default(),
        updatable: false,
    };
    columns.into_iter().map(column).collect()
}

/// `system_type_id` of a table type, which is its token in TDS ([MS-TDS] 2.2.5.4.3).
const TABLE_TYPE: i32 = 0xF3;

fn row(ordinal: i32, name: &str, suggested: &Suggested, session: &SessionState) -> Vec<Value> {
    let Suggested { ty, formal, output } = suggested;
    let mut row = of_type(ordinal, name, ty);
    row[20] = Value::Bit(*output);
    let Some(formal) = formal else { return row };
    row[21] = Value::nvarchar(&formal.name);
    let Some(table) = &formal.table_type else { return row };
    row[2] = Value::Int(TABLE_TYPE);
    row[3] = Value::Null;
    row[4] = Value::SmallInt(-1);
    row[5] = Value::TinyInt(0);
    row[6] = Value::TinyInt(0);
    row[7] = Value::Int(table.id);
    row[8] = Value::nvarchar(&session.identity.database);
    row[9] = Value::nvarchar(&table.schema);
    row[10] = Value::nvarchar(&table.name);
    row[22] = Value::Int(TABLE_TYPE);
    row[23] = Value::Int(-1);
    row
}

fn of_type(ordinal: i32, name: &str, ty: &ColumnType) -> Vec<Value> {
    let data_type = &ty.data_type;
    let is_string = data_type.is_string() && *data_type != DataType::Xml;
    let mut row = vec![
        Value::Int(ordinal),
        Value::nvarchar(name),
        Value::Int(i32::from(data_type.system_type_id())),
        Value::nvarchar(&data_type.to_string()),
        Value::SmallInt(data_type.max_length()),
        Value::TinyInt(data_type.precision()),
        Value::TinyInt(data_type.scale()),
    ];
    row.extend(std::iter::repeat_n(Value::Null, 9));
    row.push(Value::Bit(false));
    row.push(Value::Bit(is_string && ty.collation.is_case_sensitive()));
    row.push(Value::Bit(false));
    row.push(Value::Bit(true));
    row.push(Value::Bit(false));
    row.push(Value::Null);
    row.push(Value::Int(i32::from(wire_type(data_type))));
    row.push(Value::Int(wire_length(data_type)));
    row
}
