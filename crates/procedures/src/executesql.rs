//! sp_executesql and sp_reset_connection, and shared code for parameterised statements.

use sos::memory::{MemoryClerk, with_clerk};
use types::value::ColumnType;
use types::{Error, Msg, Value};

use crate::procedure::{SystemProcedure, argument};
use ::binder::parameter::default_of;
use ::binder::program::Parameters;
use ::executor::{Cx, Frame};
use ::plan::long;
use ::plan::program::{
    DeclaredParameter, ParameterDefault, Program, TableVariableDef, VariableDef,
};
use ::plan::stats::Origin;
use ::session::instance::SessionCounter;
use ::session::{Entry, Reset, SessionState};
use interpreter::as_declared;
use interpreter::parameter_default::parameter_default as evaluate_default;
use interpreter::{Argument, Caller, Stop, convert_argument, enter, report_scope};

pub(crate) static PROCEDURES: &[SystemProcedure] = &[
    SystemProcedure { name: "sp_executesql", id: 10, run: execute_sql },
    SystemProcedure { name: "sp_reset_connection", id: 0, run: reset_connection },
];

/// `sp_executesql @statement, @params, @p1, ..`. Drivers use different names for the first two, or
/// none, so they are taken by position.
fn execute_sql(arguments: &mut [Argument], cx: &mut Cx<'_>) -> Result<i32, Stop> {
    let (fixed, values) = split(arguments);
    // A NULL text, which a script has concatenated from NULLs, runs nothing.
    if fixed.first().is_some_and(|a| a.value.is_null() && a.ty.data_type.is_unicode()) {
        return Ok(0);
    }
    let statement = text_argument(fixed.first(), "sp_executesql", "@statement")?;
    let declared = match fixed.get(1).map(|a| &a.value) {
        None | Some(Value::Null) => Value::Null,
        Some(_) => text_argument(fixed.get(1), "sp_executesql", "@params")?,
    };
    match prepare(&statement, &declared, cx.session) {
        Ok(entry) => run_prepared(entry, values, cx),
        Err(Stop::Error(error)) => match report_scope(error, cx) {
            Err(Stop::Scope) => Ok(cx.session.last.error),
            other => other,
        },
        Err(stop) => Err(stop),
    }
}

/// Splits the arguments into statement and declarations, and the values after them.
fn split(arguments: &mut [Argument]) -> (&mut [Argument], &mut [Argument]) {
    let at = arguments.len().min(2);
    arguments.split_at_mut(at)
}

/// Returns a text argument as it was sent.
///
/// # Errors
/// 214 if it is missing or not Unicode text.
pub(crate) fn text_argument(
    argument: Option<&Argument>,
    procedure: &str,
    name: &str,
) -> Result<Value, Stop> {
    match argument.map(|a| &a.value) {
        Some(value @ Value::NVarChar(_)) => Ok(value.clone()),
        _ => {
            let error = Error::from(Msg::ProcedureExpectsParameter(name, "ntext/nchar/nvarchar"));
            Err(error.in_procedure(procedure).into())
        }
    }
}

fn bytes(value: &Value) -> &[u8] {
    match value {
        Value::NVarChar(bytes) | Value::VarChar(bytes) => bytes,
        _ => &[],
    }
}

/// Finds or compiles a parameterised statement. The cache key is the text as sent, undecoded.
pub(crate) fn prepare(
    statement: &Value,
    declared: &Value,
    session: &mut SessionState,
) -> Result<(::session::ProgramKey, Entry), Stop> {
    let key = session.text_key(&[b"sql", bytes(statement), bytes(declared)]);
    let version = session.catalog.version;
    let is_it = |e: &Entry| {
        e.text.strip_prefix(bytes(statement)).is_some_and(|rest| rest == bytes(declared))
    };
    session.accounting.counters.count(SessionCounter::PlanLookups);
    if let Some(entry) = session.caches.programs.take(key, version).filter(is_it) {
        return Ok((key, entry));
    }
    let sent = long::shared(&[bytes(statement), bytes(declared)]);
    if let Some(program) = session.instance.programs.get(key, version, &sent) {
        return Ok((key, Entry { procedure: None, text: sent, program }));
    }
    let collation = session.collation();
    let declared = long::text(declared, collation)?.unwrap_or_default();
    let parse = || parse_parameters(&declared, session);
    let parameters = with_clerk(MemoryClerk::SqlPlans, parse)?;
    let text = long::text(statement, collation)?.unwrap_or_default();
    session.accounting.counters.count(SessionCounter::PlanMisses);
    let origin = Origin::Prepared(declared.as_str().into());
    let program = ::compile::compile_text(session, &text, parameters, origin)?;
    session.instance.programs.put(key, &sent, &program);
    Ok((key, Entry { procedure: None, text: sent, program }))
}

/// Parses a declaration list: `@a int, @b nvarchar(10) OUTPUT`.
pub(crate) fn parse_parameters(declared: &str, session: &SessionState) -> Result<Parameters, Stop> {
    let mut parameters = Parameters::default();
    if declared.trim().is_empty() {
        return Ok(parameters);
    }
    let context = compile::binding::bare_context(session, &session.identity.database);
    let binder = context.binder();
    let source = ::binder::fragment::as_procedure(declared);
    let list = ::binder::fragment::parse_parameters(declared)?;
    for (ordinal, parameter) in list.into_iter().enumerate() {
        let name = parameter.variable.name.to_string();
        let tsql::ast::ParameterType::Type(data_type) = &parameter.data_type else {
            return Err(Msg::NotSupported("cursor parameters").into());
        };
        if let Some(user_type) = binder.find_table_type(&data_type.name) {
            if !parameter.readonly {
                return Err(Msg::TableParameterReadOnly(&name).into());
            }
            let definition = ::compile::table::table_of_type(session, &binder, &name, &user_type)?;
            let user_type = Some(user_type);
            parameters.tables.push(TableVariableDef {
                name,
                definition,
                user_type,
                image_of: None,
                at: 0,
                ordinal,
            });
            continue;
        }
        let ty = binder.resolve_type(data_type, ::binder::types::DefaultLength::Declaration)?;
        if parameter.readonly {
            return Err(Msg::ReadOnlyNotTable(&name).into());
        }
        let ty = ColumnType { nullable: true, ..ty };
        let default = match &parameter.default {
            Some(default) => {
                let (default, options) = ((default, &*source), session.convert_options());
                Some(default_of(&mut context.binder(), default, &ty, &options)?)
            }
            None => None,
        };
        parameters.declared.push(DeclaredParameter { output: parameter.output, default });
        parameters.variables.push(VariableDef { name, ty, cursor: false, at: 0 });
    }
    Ok(parameters)
}

/// Runs a parameterised statement with its values, and returns the program to the cache.
pub(crate) fn run_prepared(
    (key, entry): (::session::ProgramKey, Entry),
    values: &mut [Argument],
    cx: &mut Cx<'_>,
) -> Result<i32, Stop> {
    make_tables(&entry.program, values, cx)?;
    let buffer = std::mem::take(&mut cx.session.caches.scratch.variables);
    let mut frame = Frame::with_buffer(cx.session, &entry.program, buffer)?;
    let places = match bind_values(&entry.program, &mut frame, values, cx.session) {
        Ok(places) => places,
        Err(stop) => {
            frame.tables.release();
            return Err(stop);
        }
    };
    let outcome = match enter(&entry.program, "", &mut frame, &mut Caller::statement(cx)) {
        Err(Stop::Scope) => Ok(cx.session.last.error),
        other => other,
    };
    let returned = return_values(&entry.program, (values, &places), &mut frame, cx.session);
    cx.session.caches.scratch.keep_variables(frame.variables);
    cx.session.caches.programs.put(key, entry);
    let status = outcome?;
    returned.map(|()| status)
}

/// Copies the values of OUTPUT parameters to the arguments, converted to the arguments' declared
/// types.
pub(crate) fn return_values(
    program: &Program,
    (values, places): (&mut [Argument], &[usize]),
    frame: &mut Frame,
    session: &SessionState,
) -> Result<(), Stop> {
    for (argument, place) in values.iter_mut().zip(places).filter(|(a, _)| a.output) {
        let from = &program.variables[*place].ty;
        let value = std::mem::take(&mut frame.variables[*place]);
        (argument.ty, argument.value) = as_declared(value, from, &argument.ty, session)?;
    }
    Ok(())
}

/// Stores the rows of table-valued arguments that a client has sent.
pub(crate) fn make_tables(
    program: &Program,
    values: &mut [Argument],
    cx: &mut Cx<'_>,
) -> Result<(), Stop> {
    for (position, argument) in values.iter_mut().enumerate() {
        if argument.table.is_none() {
            continue;
        }
        let variable = &program.table_variables[table_place(program, position, &argument.name)?];
        let wanted = variable.user_type.as_ref().ok_or(Msg::InternalError)?;
        let of = (variable.name.as_str(), wanted);
        interpreter::table_parameter::make_table(
            argument,
            position,
            of,
            cx.session,
            (cx.host, cx.sink),
        )?;
    }
    Ok(())
}

/// Assigns the arguments' values to the parameters, and defaults to those that have no argument;
/// returns the parameter of each argument.
pub(crate) fn bind_values(
    program: &Program,
    frame: &mut Frame,
    values: &mut [Argument],
    session: &mut SessionState,
) -> Result<Vec<usize>, Stop> {
    let mut places = Vec::with_capacity(values.len());
    let mut given = vec![false; program.parameters];
    for (position, argument) in values.iter_mut().enumerate() {
        if let Some(rows) = argument.table.take() {
            let place = table_place(program, position, &argument.name)?;
            let wanted = program.table_variables[place].user_type.as_ref();
            frame.tables.replace(place, rows.into_rows(wanted.ok_or(Msg::InternalError)?)?);
            places.push(0);
            continue;
        }
        if argument.default && table_place(program, position, &argument.name).is_ok() {
            // A table-valued parameter without rows.
            places.push(0);
            continue;
        }
        let place = value_place(program, position, &argument.name)?;
        if std::mem::replace(&mut given[place], true) {
            return Err(Msg::ParameterTwice(&argument.name).into());
        }
        let declared = program.declared.get(place);
        if argument.output && declared.is_some_and(|declared| !declared.output) {
            return Err(Msg::NotOutputParameter(&program.variables[place].name).into());
        }
        places.push(place);
        if argument.default {
            given[place] = false;
            continue;
        }
        let to: &ColumnType = &program.variables[place].ty;
        let value = std::mem::take(&mut argument.value);
        frame.variables[place] = convert_argument(value, &argument.ty, to, session)?;
    }
    for place in (0..given.len()).filter(|place| !given[*place]) {
        let VariableDef { name, ty, .. } = &program.variables[place];
        let default = program.declared.get(place).and_then(|declared| declared.default.as_ref());
        frame.variables[place] = match default {
            None => return Err(Msg::ParameterizedNotSupplied(&declaration(program), name).into()),
            Some(ParameterDefault::Value(value)) => value.clone(),
            Some(ParameterDefault::Function(function)) => {
                evaluate_default(function, ty, frame, session)?
            }
        };
    }
    Ok(places)
}

/// Formats a query with its declarations, `(@a int)select ..`, as error 8178 shows it.
fn declaration(program: &Program) -> String {
    let parameters = &program.variables[..program.parameters];
    let list: Vec<String> =
        parameters.iter().map(|p| format!("{} {}", p.name, p.ty.data_type)).collect();
    let text: String = program.source.chars().take(128).collect();
    format!("({}){text}", list.join(","))
}

fn value_place(program: &Program, position: usize, name: &str) -> Result<usize, Stop> {
    let parameters = &program.variables[..program.parameters];
    let bare = name.trim_start_matches('@');
    let is_it = |v: &VariableDef| v.name.len() > 1 && v.name[1..].eq_ignore_ascii_case(bare);
    let found = if name.is_empty() {
        // Table-valued parameters are numbered separately.
        let is_before = |t: &&TableVariableDef| t.user_type.is_some() && t.ordinal < position;
        let position = position - program.table_variables.iter().filter(is_before).count();
        (position < parameters.len()).then_some(position)
    } else if parameters.get(position).is_some_and(is_it) {
        Some(position)
    } else {
        parameters.iter().position(is_it)
    };
    found.ok_or_else(|| {
        if name.is_empty() {
            Msg::TooManyArguments("").into()
        } else {
            Msg::NotAParameter(name, "").into()
        }
    })
}

fn table_place(program: &Program, position: usize, name: &str) -> Result<usize, Stop> {
    if name.is_empty() {
        let mut tables = program.table_variables.iter();
        let found = tables.position(|t| t.user_type.is_some() && t.ordinal == position);
        return found.ok_or_else(|| Msg::TooManyArguments("").into());
    }
    let bare = name.trim_start_matches('@');
    let is_it = |t: &TableVariableDef| t.name.trim_start_matches('@').eq_ignore_ascii_case(bare);
    program.table_variables.iter().position(is_it).ok_or_else(|| Msg::MustDeclareTable(name).into())
}

/// `sp_reset_connection`: resets the session, as a pool's RPC asks by name.
fn reset_connection(arguments: &mut [Argument], cx: &mut Cx<'_>) -> Result<i32, Stop> {
    if argument(arguments, 0, "").is_some() {
        return Err(Msg::NoParameters("sp_reset_connection").into());
    }
    ::executor::reset::reset(cx.session, Reset::All, cx.sink)?;
    Ok(0)
}
