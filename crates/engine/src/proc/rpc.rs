//! RPC requests: a system procedure by name or ProcID, or a stored procedure by name.

use std::sync::Arc;

use crate::bind::fragment::parse_object_name;
use crate::exec::run::{Argument, Invocation, Stop, invoke, not_found, resolve_procedure};
use crate::exec::{Cx, Frame};
use crate::proc::{find, find_by_id};
use crate::session::{Entry, ProgramKey, Rpc, RpcParameter, RpcTarget, SessionState};
use crate::sink::{ColumnInfo, ResultSink};

/// Runs an RPC: results, RETURNSTATUS, RETURNVALUEs; the final `done` is the caller's.
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
    // The hot path: a procedure that this session has called before, by the same spelling.
    let key = session.text_key(&[b"rpc", name.as_bytes()]);
    let version = session.catalog.version;
    let cached = session.programs.take(key, version).filter(|e| &*e.text == name.as_bytes());
    if let Some(entry) = cached
        && let Some(procedure) = entry.procedure.clone()
    {
        return run_stored(key, entry, procedure, rpc.parameters, session, sink);
    }
    let parsed = parse_object_name(name).map_err(|_| not_found(name))?;
    if let Some(system) = find(&parsed) {
        return run_system(system, rpc.parameters, session, sink);
    }
    let Some(procedure) = resolve_procedure(session, &parsed) else {
        return Err(crate::proc::missing(&parsed));
    };
    let program = session.take_program_of(&procedure)?;
    let entry =
        Entry { procedure: Some(Arc::clone(&procedure)), text: name.as_bytes().into(), program };
    run_stored(key, entry, procedure, rpc.parameters, session, sink)
}

fn run_stored(
    key: ProgramKey,
    entry: Entry,
    procedure: Arc<crate::catalog::ProcedureDef>,
    parameters: &mut [RpcParameter],
    session: &mut SessionState,
    sink: &mut dyn ResultSink,
) -> Result<(), Stop> {
    let Entry { text, program, .. } = entry;
    let mut arguments = arguments_of(parameters, session)?;
    let mut places = Vec::with_capacity(arguments.len());
    let mut call = Invocation::bind(session, procedure, program, &mut arguments, &mut places)?;
    let mut frame = Frame::default();
    let outcome = {
        let mut cx = Cx::new(session, &mut frame, sink);
        invoke(&mut call, &mut cx)
    };
    let sent = match outcome {
        Ok(status) => send_results(status, &call, &arguments, &places, sink),
        Err(stop) => Err(stop),
    };
    let Invocation { procedure, program, .. } = call;
    session.programs.put(key, Entry { procedure: Some(procedure), text, program });
    sent
}

fn send_results(
    status: i32,
    call: &Invocation,
    arguments: &[Argument],
    places: &[usize],
    sink: &mut dyn ResultSink,
) -> Result<(), Stop> {
    sink.return_status(status)?;
    for (ordinal, (argument, place)) in arguments.iter().zip(places).enumerate() {
        if !argument.output {
            continue;
        }
        let parameter = &call.procedure.parameters[*place];
        let column = ColumnInfo {
            name: parameter.name.clone(),
            column_type: parameter.ty,
            identity: false,
            updatable: false,
        };
        let ordinal = u16::try_from(ordinal).unwrap_or(u16::MAX);
        sink.return_value(ordinal, &column, call.parameter(*place))?;
    }
    Ok(())
}

fn run_system(
    system: &crate::proc::SystemProcedure,
    parameters: &mut [RpcParameter],
    session: &mut SessionState,
    sink: &mut dyn ResultSink,
) -> Result<(), Stop> {
    let mut arguments = arguments_of(parameters, session)?;
    let mut frame = Frame::default();
    let status = {
        let mut cx = Cx::new(session, &mut frame, sink);
        (system.run)(&mut arguments, &mut cx)?
    };
    sink.return_status(status)?;
    for (ordinal, argument) in arguments.iter().enumerate().filter(|(_, a)| a.output) {
        let column = ColumnInfo {
            name: argument.name.clone(),
            column_type: argument.ty,
            identity: false,
            updatable: false,
        };
        let ordinal = u16::try_from(ordinal).unwrap_or(u16::MAX);
        sink.return_value(ordinal, &column, &argument.value)?;
    }
    Ok(())
}

/// Takes the parameters over as arguments; values are moved, not copied.
fn arguments_of(
    parameters: &mut [RpcParameter],
    session: &SessionState,
) -> Result<Vec<Argument>, Stop> {
    let mut arguments = Vec::with_capacity(parameters.len());
    for parameter in parameters {
        let table = match parameter.table.take() {
            None => None,
            Some(rows) => Some(crate::exec::dml::table_parameter(*rows, session)?),
        };
        arguments.push(Argument {
            name: std::mem::take(&mut parameter.name),
            ty: parameter.ty,
            value: std::mem::take(&mut parameter.value),
            output: parameter.output,
            default: parameter.default,
            table,
        });
    }
    Ok(arguments)
}
