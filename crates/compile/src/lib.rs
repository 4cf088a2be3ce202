//! From text to programs. Compiles batches, dynamic SQL and the bodies of modules, through the plan
//! caches of sessions and instance, and makes table definitions from their syntax.
//!
//! - batches and procedures are here, functions and triggers in `function.rs`;
//! - `template.rs` shares one program between texts that differ in constants only (simple
//!   parameterization);
//! - `browse.rs` adds the keys of FOR BROWSE to a query;
//! - `cursor.rs` makes the statements of cursors, `positioned.rs` those of WHERE CURRENT OF;
//! - `binding.rs` makes the binder's context from a session;
//! - `leaf.rs` binds one leaf of a program, `check.rs` all of them before its first statement runs;
//! - `shape/` and `table.rs` make the definitions of tables, columns, keys and indexes.
//!
//! Runs no statements and does not change the catalog. Start at [`compile_text`].
#![forbid(unsafe_code)]

pub mod binding;
pub mod browse;
pub mod check;
pub mod cursor;
pub mod function;
pub mod hinted;
pub mod leaf;
pub mod positioned;
pub mod shape;
pub mod table;
pub mod template;

use std::sync::Arc;

use sos::ledger::{self, Label};
use sos::memory::{self, ClerkRow, MemoryClerk, with_clerk};
use types::Msg;
use types::value::ColumnType;

use ::binder::Binder;
use ::binder::program::{Body, Parameters, compile};
use ::catalog::security::Owner;
use ::catalog::{ModuleSchema, ProcedureDef};
use ::plan::program::Program;
use ::plan::stats::{Identity, Module, Origin};
use ::session::instance::SessionCounter;
use ::session::stop::Stop;
use ::session::{Entry, ProgramKey, SessionState};

/// Finds a batch's program in the instance's cache, or compiles it. `sent` is the text.
pub fn compile_shared(
    session: &mut SessionState,
    key: ProgramKey,
    text: &str,
    sent: &Arc<[u8]>,
) -> Result<Arc<Program>, Stop> {
    let version = session.catalog.version;
    if let Some(program) = session.instance.programs.get(key, version, sent) {
        return Ok(program);
    }
    session.accounting.counters.count(SessionCounter::PlanMisses);
    let program = crate::compile_text(session, text, Parameters::default(), Origin::Batch)?;
    session.instance.programs.put(key, sent, &program);
    Ok(program)
}

/// Compiles dynamic SQL, through the instance's cache.
pub fn compile_batch(session: &mut SessionState, text: &str) -> Result<Arc<Program>, Stop> {
    session.accounting.counters.count(SessionCounter::PlanLookups);
    let sent = plan::long::shared(&[text.as_bytes()]);
    crate::compile_shared(session, session.text_key(&[text.as_bytes()]), text, &sent)
}

/// Compiles a text with parameters. The time is charged to no statement.
pub fn compile_text(
    session: &mut SessionState,
    text: &str,
    parameters: Parameters,
    origin: Origin,
) -> Result<Arc<Program>, Stop> {
    crate::compiling(session, |state| {
        let program = crate::parse_and_compile(state, text, parameters);
        program.map(|program| crate::register(state, program, origin))
    })
}

/// Runs `compile` with its memory charged to the plan clerk and its time charged to no statement.
pub fn compiling<R>(
    session: &mut SessionState,
    compile: impl FnOnce(&SessionState) -> Result<R, Stop>,
) -> Result<R, Stop> {
    session.accounting.meter.pause();
    let began = sos::clock::now_ticks();
    let program = with_clerk(MemoryClerk::SqlPlans, || compile(session));
    let ticks = sos::clock::now_ticks().saturating_sub(began);
    session.accounting.compile_ns =
        session.accounting.compile_ns.saturating_add(sos::clock::ticks_to_ns(ticks));
    session.accounting.meter.unpause();
    program
}

/// Registers a program with its counters (books), so that views show it.
pub fn register(session: &SessionState, program: Program, origin: Origin) -> Arc<Program> {
    let options = [u8::from(session.options.quoted_identifier), session.options.meaning().byte()];
    let database_id = session.catalog.database(&program.database).map_or(0, |d| d.id);
    let source = Arc::clone(&program.source);
    let identity = Identity { origin, database_id, options: &options, source: &source };
    session.instance.statistics.register(program, &identity)
}

/// Compiles a text without the caches.
///
/// # Errors
/// Syntax errors, and errors of variables.
pub fn parse_and_compile(
    session: &SessionState,
    text: &str,
    parameters: Parameters,
) -> Result<Program, Stop> {
    ask_for_program(session, text)?;
    let batch = {
        let _label = ledger::labelled(Label::Parse);
        let cancel = &session.connection.cancel;
        plan::long::watched(cancel, |watched| {
            tsql::parse_watched(text, session.quotes(), watched)
        })??
    };
    Ok(crate::compile_statements(
        session,
        batch.statements,
        text.into(),
        parameters,
        &session.identity.database,
    )?)
}

/// Asks for the memory of a text's program. Where there is not enough, and cached programs have a large
/// part of it, those are dropped.
///
/// # Errors
/// 701 for a long text.
fn ask_for_program(session: &SessionState, text: &str) -> types::Result<()> {
    /// Memory for each byte of a text that has many short statements.
    const TIMES: usize = 80;
    /// Programs that have less than this part of the limit are kept.
    const PART: u64 = 64;
    let bytes = text.len().saturating_mul(TIMES).max(plan::long::LONG_BYTES);
    if memory::room_for(bytes).is_ok() {
        return Ok(());
    }
    let of_plans = |row: &&ClerkRow| row.clerk == MemoryClerk::SqlPlans;
    let plans: u64 = memory::clerks().iter().filter(of_plans).map(|row| row.bytes).sum();
    if plans > memory::limit_bytes() / PART {
        session.instance.programs.clear();
    }
    plan::long::ask(text.len().saturating_mul(TIMES))
}

/// Splits a text into tokens. What a long one takes is asked for first.
///
/// # Errors
/// 701 for a long text; an error that stops the request if its client cancels it.
pub fn tokens(session: &SessionState, text: &str) -> types::Result<tsql::Tokens> {
    if text.len() <= types::text::PIECE_BYTES {
        return Ok(tsql::Tokens::of(text));
    }
    ask_for_program(session, text)?;
    let _label = ledger::labelled(Label::Parse);
    plan::long::watched(&session.connection.cancel, |watched| tsql::Tokens::watched(text, watched))
}

/// Parses a text that is split into tokens.
///
/// # Errors
/// Syntax errors; 701; an error that stops the request if its client cancels it.
pub fn parse(
    session: &SessionState,
    text: &str,
    tokens: tsql::Tokens,
) -> types::Result<tsql::ast::Batch> {
    ask_for_program(session, text)?;
    let _label = ledger::labelled(Label::Parse);
    let cancel = &session.connection.cancel;
    plan::long::watched(cancel, |watched| tokens.parse(text, session.quotes(), watched))?
}

/// Compiles a parsed batch.
pub fn compile_batch_of(
    session: &SessionState,
    batch: tsql::ast::Batch,
    text: &str,
) -> types::Result<Arc<Program>> {
    let parameters = Parameters::default();
    let program = crate::compile_statements(
        session,
        batch.statements,
        text.into(),
        parameters,
        &session.identity.database,
    )?;
    Ok(crate::register(session, program, Origin::Batch))
}

/// Compiles parsed statements; `source` is the text that their spans refer to.
///
/// # Errors
/// Errors of variables, labels and table variables. References to tables are bound later.
pub fn compile_statements(
    session: &SessionState,
    statements: Vec<tsql::ast::Statement>,
    source: Arc<str>,
    parameters: Parameters,
    database: &str,
) -> types::Result<Program> {
    session.accounting.counters.count(SessionCounter::Compilations);
    let _label = ledger::labelled(Label::Bind);
    let context = crate::binding::bare_context(session, database);
    let mut binder = context.binder();
    binder.unqualified = crate::binding::unqualified(session, parameters.schema);
    let make_table = |binder: &Binder<'_>,
                      variable: &tsql::ast::Variable,
                      elements: &[tsql::ast::TableElement]| {
        crate::table::table_variable(session, binder, variable, elements)
    };
    let parameters = Parameters { parse_only: session.options.parse_only, ..parameters };
    compile(statements, source, parameters, &mut binder, &make_table)
}

/// Compiles the body of a procedure that is being created, to report its errors at CREATE.
pub fn check_body(
    session: &SessionState,
    create: &tsql::ast::CreateProcedure,
    parameters: &[::catalog::ParameterDef],
    (source, schema): (&str, ModuleSchema),
) -> types::Result<()> {
    let tsql::ast::RoutineBody::Statements(body) = &create.body else {
        return Err(Msg::NotSupported("EXTERNAL NAME procedures").into());
    };
    let mut parameters =
        crate::program_parameters(session, parameters, &session.identity.database)?;
    parameters.schema = Some(schema);
    let (name, source) = (&create.name.object, source.into());
    let program = crate::compile_statements(
        session,
        body.clone(),
        source,
        parameters,
        &session.identity.database,
    )?;
    crate::check::check_module(session, program, name)
}

/// Moves a procedure's program out of the session's cache, or compiles it.
pub fn take_program_of(
    session: &mut SessionState,
    procedure: &Arc<ProcedureDef>,
) -> Result<Arc<Program>, Stop> {
    let key = ProgramKey::Procedure(procedure.id);
    let version = session.catalog.version;
    session.accounting.counters.count(SessionCounter::PlanLookups);
    if let Some(entry) = session.caches.programs.take(key, version) {
        return Ok(entry.program);
    }
    if let Some(program) = session.instance.programs.get(key, version, b"") {
        return Ok(program);
    }
    session.accounting.counters.count(SessionCounter::PlanMisses);
    session.accounting.meter.pause();
    let module = Module {
        database_id: procedure.database_id,
        object_id: procedure.id,
        kind: None,
        is_encrypted: procedure.is_encrypted(),
    };
    let program = with_clerk(MemoryClerk::ObjectPlans, || {
        let program = crate::compile_procedure(session, procedure);
        let owner = Some(Owner::of_procedure(&session.catalog, procedure));
        let program = program.map(|mut program| {
            program.owner = owner;
            program
        });
        program.map(|program| crate::register(session, program, Origin::Procedure(module)))
    });
    session.accounting.meter.unpause();
    let program = program?;
    session.instance.programs.put(key, &Arc::from([]), &program);
    Ok(program)
}

/// Returns a procedure's program to the session's cache after its call.
pub fn keep_program_of(
    session: &mut SessionState,
    procedure: Arc<ProcedureDef>,
    program: Arc<Program>,
) {
    let key = ProgramKey::Procedure(procedure.id);
    let entry = Entry { procedure: Some(procedure), text: Arc::from([]), program };
    session.caches.programs.put(key, entry);
}

/// Returns a procedure's program without running it: the instance's, or one that no cache keeps.
///
/// # Errors
/// As for a call of the procedure.
pub fn program_of(
    session: &SessionState,
    procedure: &Arc<ProcedureDef>,
) -> Result<Arc<Program>, Stop> {
    let key = ProgramKey::Procedure(procedure.id);
    if let Some(program) = session.instance.programs.get(key, session.catalog.version, b"") {
        return Ok(program);
    }
    let mut program = crate::compile_procedure(session, procedure)?;
    program.owner = Some(Owner::of_procedure(&session.catalog, procedure));
    Ok(Arc::new(program))
}

fn compile_procedure(session: &SessionState, procedure: &ProcedureDef) -> Result<Program, Stop> {
    let tsql::ast::RoutineBody::Statements(body) = &procedure.ast.body else {
        return Err(Msg::NotSupported("EXTERNAL NAME procedures").into());
    };
    let database = session.catalog.database_by_id(procedure.names_in);
    let database =
        database.map_or_else(|| session.identity.database.to_string(), |d| d.name.clone());
    let mut parameters = crate::program_parameters(session, &procedure.parameters, &database)?;
    parameters.schema = Some(ModuleSchema::from(procedure));
    Ok(crate::compile_statements(
        session,
        body.clone(),
        procedure.text.as_str().into(),
        parameters,
        &database,
    )?)
}

/// Returns the parameters of a procedure as variables and table variables of its program.
///
/// # Errors
/// As for CREATE TABLE, for parameters of table types.
pub fn program_parameters(
    session: &SessionState,
    defined: &[::catalog::ParameterDef],
    database: &str,
) -> types::Result<Parameters> {
    let mut parameters = Parameters { body: Body::Procedure, ..Parameters::default() };
    for (ordinal, parameter) in defined.iter().enumerate() {
        let name = parameter.name.clone();
        match &parameter.table_type {
            None => {
                let ty: ColumnType = parameter.ty;
                let variable =
                    ::plan::program::VariableDef { name, ty, cursor: parameter.cursor, at: 0 };
                parameters.variables.push(variable);
            }
            Some(user_type) => {
                let context = crate::binding::bare_context(session, database);
                let binder = context.binder();
                let definition = crate::table::table_of_type(session, &binder, &name, user_type)?;
                let user_type = Some(Arc::clone(user_type));
                let table = ::plan::program::TableVariableDef {
                    name,
                    definition,
                    user_type,
                    image_of: None,
                    at: 0,
                    ordinal,
                };
                parameters.tables.push(table);
            }
        }
    }
    Ok(parameters)
}

/// Returns the error of a feature that is not supported.
///
/// # Errors
/// 40517, always.
pub fn refuse<T>(what: &str) -> types::Result<T> {
    Err(Msg::NotSupported(what).into())
}
