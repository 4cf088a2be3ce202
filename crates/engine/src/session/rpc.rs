//! RPC requests: call a system procedure by name or ProcID, or a stored procedure by name.

use std::sync::Arc;

use sos::ledger::{self, Label};
use types::{DataType, Msg, Value};

use crate::catalog::{ModuleSchema, ProcedureDef};
use crate::host::HOST;
use crate::plan::program::Program;
use crate::session::{Entry, KnownCall, ProgramKey, Rpc, RpcParameter, RpcTarget, SessionState};
use crate::sink::{ColumnInfo, ResultSink, Traits};
use ::executor::{Cx, Frame};
use ::procedures::{enter_named, find, find_by_id, find_of_drivers};
use interpreter::table_parameter::make_table;
use interpreter::{
    Argument, Caller, Invocation, Stop, TableArgument, as_declared, check_call, check_local,
    find_parameter, invoke, not_found, resolve_procedure, synonym_target,
};
use tsql::parse_procedure_name;

/// Runs an RPC: sends results, RETURNSTATUS and RETURNVALUEs; the caller sends the final DONE.
pub(crate) fn run(
    rpc: Rpc<'_>,
    session: &mut SessionState,
    sink: &mut dyn ResultSink,
) -> Result<(), Stop> {
    let name = match rpc.target {
        RpcTarget::Id(id) => {
            let system = find_by_id(id)?;
            return run_system(system, rpc.parameters, session, sink);
        }
        RpcTarget::Name(name) => name,
    };
    // A user's procedure does not hide a system procedure.
    if let Some(system) = find_of_drivers(name) {
        return run_system(system, rpc.parameters, session, sink);
    }
    // The fast path: a procedure that this session has called before with the same spelling.
    let key = session.text_key(&[b"rpc", name.as_bytes()]);
    let version = session.catalog.version;
    let cached = session.caches.programs.take(key, version).filter(|e| &*e.text == name.as_bytes());
    if let Some(Entry { procedure: Some(procedure), text, program }) = cached {
        let call = Callee { key, text, procedure, program };
        return run_stored(call, rpc.parameters, session, sink);
    }
    let parsed = parse_procedure_name(name).map_err(|_| not_found(name))?;
    check_local(session, &parsed)?;
    // Nor does a synonym.
    let by_synonym =
        synonym_target(session, &parsed, None).filter(|_| find(&parsed).is_none()).cloned();
    if let Some(target) = &by_synonym {
        check_local(session, target)?;
    }
    let synonym = by_synonym.is_some().then(|| parsed.clone());
    let parsed = by_synonym.unwrap_or(parsed);
    if let Some(system) = find(&parsed) {
        let outer = enter_named(&parsed, session)?;
        let ran = run_system(system, rpc.parameters, session, sink);
        if let Some(outer) = outer {
            session.enter_database(outer);
        }
        return ran;
    }
    let module = synonym.as_ref().map(|_| ModuleSchema::DBO);
    let Some(procedure) = resolve_procedure(session, &parsed, module) else {
        return Err(::procedures::missing(&parsed));
    };
    // Checked once per version of the catalog: the cache key includes the login.
    check_call(session, synonym.as_ref().unwrap_or(&parsed), &procedure, (None, None))?;
    let program = ::compile::take_program_of(session, &procedure)?;
    let call = Callee { key, text: name.as_bytes().into(), procedure, program };
    run_stored(call, rpc.parameters, session, sink)
}

/// A procedure that was found, with its program moved out of the cache, so that no shared reference
/// count is written while it runs.
struct Callee {
    key: ProgramKey,
    text: Arc<[u8]>,
    procedure: Arc<ProcedureDef>,
    program: Arc<Program>,
}

fn run_stored(
    callee: Callee,
    parameters: &mut [RpcParameter],
    session: &mut SessionState,
    sink: &mut dyn ResultSink,
) -> Result<(), Stop> {
    let mut arguments = std::mem::take(&mut session.caches.scratch.arguments);
    let mut places = std::mem::take(&mut session.caches.scratch.places);
    let outcome = take_arguments(parameters, &mut arguments)
        .and_then(|()| call_stored(callee, (&mut arguments, &mut places), session, sink));
    // Names are moved back: the server reuses their memory.
    for (parameter, argument) in parameters.iter_mut().zip(arguments.drain(..)) {
        parameter.name = argument.name;
    }
    session.caches.scratch.arguments = arguments;
    session.caches.scratch.places = places;
    outcome
}

fn call_stored(
    callee: Callee,
    (arguments, places): (&mut [Argument], &mut Vec<usize>),
    session: &mut SessionState,
    sink: &mut dyn ResultSink,
) -> Result<(), Stop> {
    let Callee { key, text, procedure, program } = callee;
    make_tables(&procedure, arguments, session, sink)?;
    let mut call = Invocation::bind(session, procedure, program, arguments, places)?;
    let sent = match invoke(&mut call, &mut Caller::request(HOST, session, sink)) {
        Ok(status) => send_results(status, &call, (arguments, places), session, sink),
        Err(stop) => Err(stop),
    };
    let Invocation { procedure, program, frame } = call;
    session.caches.scratch.keep_variables(frame.variables);
    session.caches.programs.put(key, Entry { procedure: Some(procedure), text, program });
    sent
}

/// Works out a call that has just been run, for [`run_known`]; `None` if it needs more than moving
/// values.
pub(crate) fn learn(
    session: &SessionState,
    name: &str,
    parameters: &[RpcParameter],
) -> Option<KnownCall> {
    KnownCall::learn(session, name, parameters, |procedure, position, name| {
        find_parameter(procedure, position, name).ok()
    })
}

/// Runs a known call with its variables: sends results, RETURNSTATUS and RETURNVALUEs; the caller
/// sends the final DONE.
pub(crate) fn run_known(
    known: &KnownCall,
    Entered { entry, variables }: Entered,
    session: &mut SessionState,
    sink: &mut dyn ResultSink,
) -> Result<(), Stop> {
    let Entry { procedure: Some(procedure), text, program } = entry else {
        return Err(Msg::InternalError.into());
    };
    let frame = Frame { variables, ..Frame::default() };
    let mut call = Invocation { procedure, program, frame };
    let sent = match invoke(&mut call, &mut Caller::request(HOST, session, sink)) {
        Ok(status) => send_known(status, known, &call.frame.variables, sink),
        Err(stop) => Err(stop),
    };
    let Invocation { procedure, program, frame } = call;
    session.caches.scratch.keep_variables(frame.variables);
    known.leave(session, Entry { procedure: Some(procedure), text, program });
    sent
}

fn send_known(
    status: i32,
    known: &KnownCall,
    variables: &[Value],
    sink: &mut dyn ResultSink,
) -> Result<(), Stop> {
    // Until the end of the response.
    ledger::label(Label::Encode);
    sink.return_status(status)?;
    for output in known.outputs() {
        sink.return_value(output.ordinal, &output.column, &variables[output.variable])?;
    }
    Ok(())
}

/// A known call that has begun: the procedure and its program, moved out of the cache, and its
/// variables.
pub struct Entered {
    entry: Entry,
    variables: Vec<Value>,
}

impl Entered {
    /// Begins a known call, if it means for the session what it was worked out for.
    #[inline]
    pub(crate) fn new(known: &KnownCall, session: &mut SessionState) -> Option<Self> {
        let entry = known.enter(session)?;
        let mut variables = std::mem::take(&mut session.caches.scratch.variables);
        variables.resize_with(entry.program.variables.len(), || Value::Null);
        Some(Self { entry, variables })
    }

    /// Gives back what was taken, for a call that takes the general path.
    pub(crate) fn leave(self, known: &KnownCall, session: &mut SessionState) {
        known.leave(session, self.entry);
        session.caches.scratch.keep_variables(self.variables);
    }

    /// Stores the value of an argument. Returns false if the value needs a conversion: then the call
    /// must take the general path.
    #[inline]
    pub fn put(&mut self, known: &KnownCall, argument: usize, value: Value) -> bool {
        known.put(argument, value, &mut self.variables)
    }
}

/// Stores the rows of table-valued arguments, with the types of the parameters.
fn make_tables(
    procedure: &ProcedureDef,
    arguments: &mut [Argument],
    session: &mut SessionState,
    sink: &mut dyn ResultSink,
) -> Result<(), Stop> {
    for (position, argument) in arguments.iter_mut().enumerate() {
        if argument.table.is_none() {
            continue;
        }
        let place = find_parameter(procedure, position, &argument.name)?;
        let parameter = &procedure.parameters[place];
        if let Some(wanted) = &parameter.table_type {
            let of = (parameter.name.as_str(), wanted);
            make_table(argument, position, of, session, (HOST, sink))?;
        }
    }
    Ok(())
}

fn send_results(
    status: i32,
    call: &Invocation,
    (arguments, places): (&[Argument], &[usize]),
    session: &SessionState,
    sink: &mut dyn ResultSink,
) -> Result<(), Stop> {
    // Until the end of the response.
    ledger::label(Label::Encode);
    sink.return_status(status)?;
    for (ordinal, (argument, place)) in arguments.iter().zip(places).enumerate() {
        if !argument.output {
            continue;
        }
        let parameter = &call.procedure.parameters[*place];
        let value = call.parameter(*place).clone();
        let (column_type, value) = as_declared(value, &parameter.ty, &argument.ty, session)?;
        let name = parameter.name.as_str().into();
        let column = ColumnInfo { name, column_type, traits: Traits::default(), updatable: false };
        let ordinal = u16::try_from(ordinal).unwrap_or(u16::MAX);
        sink.return_value(ordinal, &column, &value)?;
    }
    Ok(())
}

fn run_system(
    system: &::procedures::SystemProcedure,
    parameters: &mut [RpcParameter],
    session: &mut SessionState,
    sink: &mut dyn ResultSink,
) -> Result<(), Stop> {
    let mut arguments = std::mem::take(&mut session.caches.scratch.arguments);
    let outcome = take_arguments(parameters, &mut arguments)
        .and_then(|()| call_system(system, &mut arguments, session, sink));
    for (parameter, argument) in parameters.iter_mut().zip(arguments.drain(..)) {
        parameter.name = argument.name;
    }
    session.caches.scratch.arguments = arguments;
    outcome
}

fn call_system(
    system: &::procedures::SystemProcedure,
    arguments: &mut [Argument],
    session: &mut SessionState,
    sink: &mut dyn ResultSink,
) -> Result<(), Stop> {
    let mut frame = Frame::default();
    let status = {
        let mut cx = Cx::new(HOST, session, &mut frame, sink);
        cx.take_buffers();
        let status = (system.run)(arguments, &mut cx);
        cx.keep_buffers();
        status?
    };
    sink.return_status(status)?;
    for (ordinal, argument) in arguments.iter().enumerate().filter(|(_, a)| a.output) {
        let column = ColumnInfo {
            name: argument.name.as_str().into(),
            column_type: argument.ty,
            traits: Traits::default(),
            updatable: false,
        };
        let ordinal = u16::try_from(ordinal).unwrap_or(u16::MAX);
        sink.return_value(ordinal, &column, &argument.value)?;
    }
    Ok(())
}

/// Refuses an OUTPUT parameter of a type that can't have it.
///
/// # Errors
/// 8018 for `text`, `ntext` and `image` parameters.
fn check_output(place: usize, parameter: &RpcParameter) -> Result<(), Stop> {
    // Type tokens of [MS-TDS] 2.2.5.4.2.
    let token = match parameter.ty.data_type {
        DataType::Image => 0x22,
        DataType::Text => 0x23,
        DataType::NText => 0x63,
        _ => return Ok(()),
    };
    let number = i64::try_from(place + 1).unwrap_or(i64::MAX);
    Err(Msg::RpcDeprecatedOutput(number, &parameter.name, token).into())
}

/// Converts parameters to arguments; names and values are moved, not copied.
fn take_arguments(
    parameters: &mut [RpcParameter],
    arguments: &mut Vec<Argument>,
) -> Result<(), Stop> {
    arguments.clear();
    for (place, parameter) in parameters.iter_mut().enumerate() {
        if parameter.output {
            check_output(place, parameter)?;
        }
        arguments.push(Argument {
            name: std::mem::take(&mut parameter.name),
            ty: parameter.ty,
            value: std::mem::take(&mut parameter.value),
            output: parameter.output,
            default: parameter.default,
            table: parameter.table.take().map(TableArgument::Sent),
            cursor: None,
        });
    }
    Ok(())
}
