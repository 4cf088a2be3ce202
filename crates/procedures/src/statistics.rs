//! Procedures that turn collection of statistics on and off, called by scripts for memory-optimized
//! tables.

use types::{Error, Msg, Value};

use crate::procedure::{SystemProcedure, int_type, whole};
use ::catalog::name::Name;
use ::executor::Cx;
use interpreter::{Argument, Stop};

pub(crate) static PROCEDURES: &[SystemProcedure] = &[
    SystemProcedure { name: "sp_xtp_control_proc_exec_stats", id: 0, run: control_procedures },
    SystemProcedure { name: "sp_xtp_control_query_exec_stats", id: 0, run: control_queries },
];

/// Names of the arguments, by position.
type Names = &'static [&'static str];

const PROCEDURE_ARGUMENTS: Names = &["@new_collection_value", "@old_collection_value"];
const QUERY_ARGUMENTS: Names =
    &["@new_collection_value", "@database_id", "@xtp_object_id", "@old_collection_value"];

fn control_procedures(arguments: &mut [Argument], cx: &mut Cx<'_>) -> Result<i32, Stop> {
    control("sp_xtp_control_proc_exec_stats", PROCEDURE_ARGUMENTS, arguments, cx)
}

fn control_queries(arguments: &mut [Argument], cx: &mut Cx<'_>) -> Result<i32, Stop> {
    control("sp_xtp_control_query_exec_stats", QUERY_ARGUMENTS, arguments, cx)
}

/// Runs a control procedure. Statistics of native modules are always collected, at almost no cost:
/// turning them on changes nothing, and turning them off is an error.
fn control(
    procedure: &str,
    names: Names,
    arguments: &mut [Argument],
    cx: &mut Cx<'_>,
) -> Result<i32, Stop> {
    if !cx.session.identity.rights.is_all() {
        return Err(Msg::NoPermissionForAction.into());
    }
    let unknown =
        |a: &&Argument| !a.name.is_empty() && !names.iter().any(|name| Name::same(&a.name, name));
    if let Some(unknown) = arguments.iter().find(unknown) {
        return Err(Msg::NotAParameter(&unknown.name, procedure).into());
    }
    if arguments.len() > names.len() {
        return Err(Msg::TooManyArguments(procedure).into());
    }
    if whole(arguments, 0, names[0]) == Some(0) {
        let told = "Statistics of natively compiled modules are always collected.";
        let line = cx.session.request.line;
        cx.sink.message(&Error::custom(0, 0, 1, told).at_line(line))?;
    }
    let last = names.len() - 1;
    let by_name = arguments.iter().position(|a| Name::same(&a.name, names[last]));
    let by_place = || (last < arguments.len() && arguments[last].name.is_empty()).then_some(last);
    if let Some(place) = by_name.or_else(by_place) {
        arguments[place].value = Value::Int(1);
        arguments[place].ty = int_type();
    }
    Ok(0)
}
