//! Start and end of statements and modules: sql_statement_*, sp_statement_*, module_start,
//! module_end,
//! query_post_execution_showplan.

use sos::xe::{self, Value};

use super::{Begun, io_values};
use crate::SessionState;
use crate::event::context::{self, Frame, fire};
use crate::event::list::{
    MODULE_END, MODULE_START, QUERY_POST_EXECUTION_SHOWPLAN, SP_STATEMENT_COMPLETED,
    SP_STATEMENT_STARTING, SQL_STATEMENT_COMPLETED, SQL_STATEMENT_STARTING,
};
use catalog::{ModuleDef, ProcedureDef};
use plan::program::{Leaf, Program, Routine, RoutineKind, Step, StepKind};
use plan::stats::{Handle, Io, Module};
use tsql::Utf16Offsets;

/// Object types: keys of the map.
const PROC: u32 = 8_272;
const FUNCTION: u32 = 20_038;
const ADHOC: u32 = 20_801;
const TRIGGER: u32 = 21_076;

/// A statement between its start and end events.
pub struct Followed {
    begun: Begun,
    io: Io,
    place: Place,
}

/// The location of a statement.
struct Place {
    line: i64,
    start: i32,
    end: i32,
    module: Option<Module>,
    object_type: u32,
    object: String,
}

/// Fires the start event of a statement, if statements are followed.
#[cold]
pub fn starting(
    session: &SessionState,
    (program, procedure): (&Program, &str),
    step: &Step,
) -> Followed {
    let place = Place::of(session, program, procedure, step);
    context::enter_statement(session, frame(program, step, &place));
    let (ended, text) = (Value::Map(0), program.shown_text(step.span));
    let (line, start, end) = place.numbers();
    if place.is_of_module() {
        if xe::enabled(&SP_STATEMENT_STARTING) {
            let (database, object) = place.ids();
            let values = [
                database,
                object,
                place.object_type(),
                ended,
                Value::UInt(u64::from(session.request.nest_level)),
                line,
                start,
                end,
                Value::Text(&place.object),
                Value::Text(text),
            ];
            fire(session, &SP_STATEMENT_STARTING, &values);
        }
    } else if xe::enabled(&SQL_STATEMENT_STARTING) {
        let values = [ended, line, start, end, Value::Text(text)];
        fire(session, &SQL_STATEMENT_STARTING, &values);
    }
    Followed { begun: Begun::now(), io: session.accounting.meter.io(), place }
}

/// Fires the end event of a statement.
#[cold]
pub fn completed(session: &SessionState, program: &Program, step: &Step, followed: &Followed) {
    let place = &followed.place;
    let of_module = place.is_of_module();
    let event = if of_module { &SP_STATEMENT_COMPLETED } else { &SQL_STATEMENT_COMPLETED };
    if !xe::enabled(event) {
        return;
    }
    // The statements it has called have left their own frames.
    context::enter_statement(session, frame(program, step, place));
    let (duration, cpu) = followed.begun.spent_us();
    let (line, start, end) = place.numbers();
    let (none, rows) = (Value::UInt(0), Value::UInt(session.last.row_count));
    let duration = Value::Int(i64::try_from(duration).unwrap_or(i64::MAX));
    let [reads, writes] = io_values(session.accounting.meter.io() - followed.io);
    let counts = [duration, Value::UInt(cpu), none, none, reads, writes, none, rows, rows];
    let text = Value::Text(program.shown_text(step.span));
    let mut values = Vec::with_capacity(SP_STATEMENT_COMPLETED.fields.len());
    if of_module {
        let (database, object) = place.ids();
        values.extend([database, object, place.object_type()]);
        values.extend(counts);
        let level = Value::UInt(u64::from(session.request.nest_level));
        values.extend([level, line, start, end, Value::Text(&place.object), text]);
    } else {
        values.extend(counts);
        values.extend([line, start, end, text]);
    }
    fire(session, event, &values);
}

impl Place {
    fn of(session: &SessionState, program: &Program, procedure: &str, step: &Step) -> Self {
        let source = &program.source;
        let prefix =
            program.books.as_ref().map_or(0, |books| books.prefix().encode_utf16().count());
        let serial = program.books.as_ref().map_or(0, |books| books.serial);
        let known = session.request.shown_offset.get();
        let known = if serial != 0 && known.0 == serial { known.1 } else { (0, 0) };
        let mut offsets = Utf16Offsets::from_known(source, known);
        let mut offset = |at: u32| {
            let bytes = prefix * 2 + offsets.at(at) as usize;
            i32::try_from(bytes).unwrap_or(i32::MAX)
        };
        let (start, end) = (offset(step.span.start), offset(step.span.end));
        session.request.shown_offset.set((serial, offsets.known()));
        let rest = source.get(step.span.end as usize..).unwrap_or_default();
        let is_last = rest.trim_start_matches(|c: char| c.is_whitespace() || c == ';').is_empty();
        Self {
            line: i64::from(step.line),
            start,
            end: if is_last { -1 } else { end.saturating_sub(2) },
            module: module_of(program),
            object_type: object_type_of(program, procedure),
            object: procedure.to_owned(),
        }
    }

    fn is_of_module(&self) -> bool {
        self.module.is_some() || !self.object.is_empty()
    }

    fn numbers(&self) -> (Value<'_>, Value<'_>, Value<'_>) {
        let (start, end) = (i64::from(self.start), i64::from(self.end));
        (Value::Int(self.line), Value::Int(start), Value::Int(end))
    }

    fn ids(&self) -> (Value<'_>, Value<'_>) {
        let module = self.module.unwrap_or(Module {
            database_id: 0,
            object_id: 0,
            kind: None,
            is_encrypted: false,
        });
        let database = u64::from(module.database_id.cast_unsigned());
        (Value::UInt(database), Value::Int(i64::from(module.object_id)))
    }

    fn object_type(&self) -> Value<'_> {
        Value::Map(self.object_type)
    }
}

/// Returns the module whose body a program is.
fn module_of(program: &Program) -> Option<Module> {
    let procedure = program.books.as_ref().and_then(|books| books.module());
    let routine = |routine: Routine| Module {
        database_id: routine.database_id,
        object_id: routine.object_id,
        kind: Some(routine.kind),
        is_encrypted: false,
    };
    procedure.or_else(|| program.routine.map(routine))
}

/// Returns the object type of a program's module, as a map key.
fn object_type_of(program: &Program, procedure: &str) -> u32 {
    match program.routine {
        Some(routine) => type_of(routine.kind),
        None if procedure.is_empty() && module_of(program).is_none() => ADHOC,
        None => PROC,
    }
}

const fn type_of(kind: RoutineKind) -> u32 {
    match kind {
        RoutineKind::Trigger => TRIGGER,
        RoutineKind::Function => FUNCTION,
    }
}

/// Returns the statement as a frame of the statement stack.
fn frame(program: &Program, step: &Step, place: &Place) -> Frame {
    let handles = program.books.as_ref();
    let bytes = |handle: Option<&Handle>| {
        handle.and_then(|handle| handle.bytes().try_into().ok()).unwrap_or([0; Handle::BYTES])
    };
    let text = step.span.text(&program.source);
    let (query_hash, plan_hash) = leaf(step)
        .and_then(|leaf| leaf.plan.get())
        .map(|bound| plan::stats::hashes(text, bound))
        .map_or((0, 0), |(query, plan)| (u64::from_be_bytes(query), u64::from_be_bytes(plan)));
    Frame {
        sql_handle: bytes(handles.map(|books| books.sql_handle())),
        plan_handle: bytes(handles.map(|books| books.plan_handle())),
        line: step.line,
        start: place.start,
        end: place.end,
        query_hash,
        plan_hash,
    }
}

fn leaf(step: &Step) -> Option<&Leaf> {
    match &step.kind {
        StepKind::Data(leaf) | StepKind::Assign(_, leaf) => Some(leaf),
        _ => None,
    }
}

/// A module that is called.
#[derive(Clone, Copy)]
pub struct Called<'m> {
    module: Module,
    object_type: u32,
    name: &'m str,
}

impl<'m> Called<'m> {
    /// Returns the call of a procedure.
    pub fn procedure(procedure: &'m ProcedureDef) -> Self {
        let module = Module {
            database_id: procedure.database_id,
            object_id: procedure.id,
            kind: None,
            is_encrypted: procedure.is_encrypted(),
        };
        Self { module, object_type: PROC, name: &procedure.name }
    }

    /// Returns the call of a trigger or function.
    pub fn routine(module: &'m ModuleDef, kind: RoutineKind) -> Self {
        let of = Module {
            database_id: module.database_id,
            object_id: module.id,
            kind: Some(kind),
            is_encrypted: module.is_encrypted(),
        };
        Self { module: of, object_type: type_of(kind), name: &module.name }
    }
}

/// A module between its start and end events.
pub struct Entered(Option<Begun>);

/// Fires module_start for a called module.
#[inline]
pub fn module_start(session: &SessionState, called: Called<'_>) -> Entered {
    if xe::enabled(&MODULE_START) {
        let values = [
            Value::UInt(u64::from(called.module.database_id.cast_unsigned())),
            Value::Int(i64::from(called.module.object_id)),
            Value::Int(i64::from(session.request.line)),
            Value::Map(called.object_type),
            Value::Text(called.name),
        ];
        fire(session, &MODULE_START, &values);
    }
    Entered(xe::enabled(&MODULE_END).then(Begun::now))
}

/// Fires module_end for a module that has returned.
#[inline]
pub fn module_end(session: &SessionState, called: Called<'_>, entered: &Entered) {
    if let Some(begun) = entered.0 {
        let values = [
            Value::UInt(u64::from(called.module.database_id.cast_unsigned())),
            Value::Int(i64::from(called.module.object_id)),
            Value::UInt(session.last.row_count),
            Value::UInt(begun.spent_us().0),
            Value::Int(i64::from(session.request.line)),
            Value::Map(called.object_type),
            Value::Text(called.name),
        ];
        fire(session, &MODULE_END, &values);
    }
}

/// Returns whether an event session collects plans of executed statements: one load.
#[inline]
pub fn wants_plans() -> bool {
    xe::enabled(&QUERY_POST_EXECUTION_SHOWPLAN)
}

/// Fires query_post_execution_showplan with the plan of a statement.
#[cold]
pub fn plan(session: &SessionState, (program, procedure): (&Program, &str), ms: u64, xml: &str) {
    let module = module_of(program);
    let database =
        session.catalog.database(&session.identity.database).map_or(0, |database| database.id);
    let values = [
        Value::UInt(u64::from(database.cast_unsigned())),
        Value::Map(object_type_of(program, procedure)),
        Value::Int(module.map_or(0, |module| i64::from(module.object_id))),
        Value::UInt(u64::from(session.request.nest_level)),
        Value::UInt(ms.saturating_mul(1_000)),
        Value::Text(procedure),
        Value::Text(xml),
        Value::Text(&session.identity.database),
    ];
    fire(session, &QUERY_POST_EXECUTION_SHOWPLAN, &values);
}
