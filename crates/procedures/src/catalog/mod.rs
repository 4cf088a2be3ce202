//! Catalog procedures: what ODBC, JDBC and administrators ask about tables, columns and types.
//!
//! As in SQL Server, each one is a query over the catalog views. It is compiled and cached as a
//! client's statement is.

mod admin;
mod dba;
mod each;
mod help;
mod logins;
mod odbc;
mod rename;
mod security;
mod tables;
mod trigger_order;
mod type_info;
mod who;

use types::value::ColumnType;
use types::{Collation, DataType, Length, Msg, Value};

use crate::executesql::{prepare, run_prepared};
use crate::procedure::{SystemProcedure, argument};
use ::executor::Cx;
use interpreter::{Argument, Stop};

pub(crate) static PROCEDURES: &[&[SystemProcedure]] = &[
    admin::PROCEDURES,
    dba::PROCEDURES,
    each::PROCEDURES,
    help::PROCEDURES,
    logins::PROCEDURES,
    odbc::PROCEDURES,
    rename::PROCEDURES,
    security::PROCEDURES,
    tables::PROCEDURES,
    trigger_order::PROCEDURES,
    type_info::PROCEDURES,
    who::PROCEDURES,
];

/// A procedure that is a T-SQL text with parameters.
pub(crate) struct TextProcedure {
    /// The procedure's name, in lower case.
    pub name: &'static str,
    /// Names and types of the parameters; an omitted one is NULL.
    pub parameters: &'static [(&'static str, &'static str)],
    /// The statements, which refer to the parameters.
    pub text: &'static str,
}

/// Runs the text with the arguments as parameters.
pub(crate) fn run(
    procedure: &TextProcedure,
    arguments: &mut [Argument],
    cx: &mut Cx<'_>,
) -> Result<i32, Stop> {
    check_names(procedure, arguments)?;
    let nothing = ColumnType::nullable(DataType::NVarChar(Length::Limited(4_000)));
    let value = |(place, (name, _)): (usize, &(&str, &str))| {
        let given = argument(arguments, place, name).filter(|a| !a.default);
        Argument {
            name: (*name).to_owned(),
            ty: given.map_or(nothing, |a| a.ty),
            value: given.map_or(Value::Null, |a| a.value.clone()),
            output: false,
            default: false,
            table: None,
            cursor: None,
        }
    };
    let mut values: Vec<Argument> = procedure.parameters.iter().enumerate().map(value).collect();
    for value in &mut values {
        if is_optional(procedure, &value.name) && is_empty(&value.value) {
            value.value = Value::Null;
        }
    }
    let declared: Vec<String> =
        procedure.parameters.iter().map(|(name, ty)| format!("{name} {ty}")).collect();
    let declared = Value::nvarchar(&declared.join(", "));
    let entry = prepare(&Value::nvarchar(procedure.text), &declared, cx.session)?;
    run_prepared(entry, &mut values, cx)
}

/// Returns true if an empty string is the same as NULL: for owner and database, where clients send
/// one for "any". In sp_tables, an empty string asks for lists of databases, owners and types.
fn is_optional(procedure: &TextProcedure, parameter: &str) -> bool {
    procedure.name != "sp_tables"
        && (parameter.ends_with("owner") || parameter.ends_with("qualifier"))
}

fn is_empty(value: &Value) -> bool {
    value.as_text(Collation::default()).is_some_and(|text| text.trim_end().is_empty())
}

/// Refuses arguments that match no parameter.
fn check_names(procedure: &TextProcedure, arguments: &[Argument]) -> Result<(), Stop> {
    if arguments.len() > procedure.parameters.len() {
        return Err(Msg::TooManyArguments(procedure.name).into());
    }
    let known = |a: &Argument| {
        let bare = a.name.trim_start_matches('@');
        let is_it = |p: &(&str, &str)| p.0[1..].eq_ignore_ascii_case(bare);
        bare.is_empty() || procedure.parameters.iter().any(is_it)
    };
    match arguments.iter().find(|a| !known(a)) {
        Some(unknown) => Err(Msg::NotAParameter(&unknown.name, procedure.name).into()),
        None => Ok(()),
    }
}
