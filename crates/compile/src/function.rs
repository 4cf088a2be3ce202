//! Programs of user-defined functions and triggers: compiled once, then cached as procedures are.

use std::sync::Arc;

use tsql::ast::{self, FunctionBody, StatementKind};
use types::{Msg, Result};

use ::binder::program::{Body, Parameters};
use ::catalog::security::Owner;
use ::catalog::{ModuleDef, ModuleSchema, Routine, TableDef};
use ::plan::program::{self as plan, Program, RoutineKind, TableVariableDef};
use ::plan::stats::{Module, Origin};
use ::session::SessionState;
use ::session::stop::Stop;
use ::session::{Entry, ProgramKey};

/// Moves a function's program out of the session's cache, or compiles it.
pub fn take_function(
    session: &mut SessionState,
    module: &Arc<ModuleDef>,
) -> Result<Arc<Program>, Stop> {
    let key = ProgramKey::Procedure(module.id);
    let version = session.catalog.version;
    if let Some(entry) = session.caches.programs.take(key, version) {
        return Ok(entry.program);
    }
    if let Some(program) = session.instance.programs.get(key, version, b"") {
        return Ok(program);
    }
    let database = session.catalog.database_by_id(module.database_id);
    let database =
        database.map_or_else(|| session.identity.database.to_string(), |d| d.name.clone());
    let Some(routine) = &module.routine else { return Err(Msg::InternalError.into()) };
    let StatementKind::CreateFunction(create) = &module.ast.kind else {
        return Err(Msg::InternalError.into());
    };
    let mut program = crate::function::compile_function(
        session,
        create,
        routine,
        (&module.text, ModuleSchema::from(&**module)),
        &database,
    )?;
    program.routine = Some(plan::Routine::of(module, RoutineKind::Function));
    program.owner = Some(Owner::of_module(&session.catalog, module));
    let program = register(session, program, module, RoutineKind::Function);
    session.instance.programs.put(key, &Arc::from([]), &program);
    Ok(program)
}

/// Registers the program of a trigger or function, so that views show it.
fn register(
    session: &SessionState,
    program: Program,
    module: &ModuleDef,
    kind: RoutineKind,
) -> Arc<Program> {
    let module = Module {
        database_id: module.database_id,
        object_id: module.id,
        kind: Some(kind),
        is_encrypted: module.is_encrypted(),
    };
    crate::register(session, program, Origin::Procedure(module))
}

/// Returns a function's program to the session's cache after its call.
pub fn keep_function(session: &mut SessionState, module: &ModuleDef, program: Arc<Program>) {
    let key = ProgramKey::Procedure(module.id);
    session.caches.programs.put(key, Entry { procedure: None, text: Arc::from([]), program });
}

/// Compiles the body of a scalar or multi-statement function.
///
/// # Errors
/// As for the body of a procedure.
pub fn compile_function(
    session: &SessionState,
    create: &ast::CreateFunction,
    routine: &Routine,
    (text, schema): (&str, ModuleSchema),
    database: &str,
) -> Result<Program> {
    let mut parameters = crate::program_parameters(session, &routine.parameters, database)?;
    parameters.schema = Some(schema);
    parameters.body = Body::Function(routine.returns);
    let body = match &create.body {
        FunctionBody::Scalar { body, .. } => body,
        FunctionBody::Multi { variable, body, .. } => {
            let definition = routine.table.clone().ok_or(Msg::InternalError)?;
            let name = variable.name.to_string();
            let table = TableVariableDef {
                name,
                definition,
                user_type: None,
                image_of: None,
                at: 0,
                ordinal: 0,
            };
            parameters.tables.insert(0, table);
            body
        }
        FunctionBody::Inline { .. } | FunctionBody::External { .. } => {
            return Err(Msg::InternalError.into());
        }
    };
    crate::compile_statements(session, vec![body.clone()], text.into(), parameters, database)
}

/// Moves a trigger's program out of the session's cache, or compiles it. `table` is the table or
/// view that a DML trigger belongs to; `None` for a DDL trigger.
pub fn take_trigger(
    session: &mut SessionState,
    module: &Arc<ModuleDef>,
    table: Option<&TableDef>,
) -> Result<Arc<Program>, Stop> {
    let key = ProgramKey::Procedure(module.id);
    let version = session.catalog.version;
    if let Some(entry) = session.caches.programs.take(key, version) {
        return Ok(entry.program);
    }
    if let Some(program) = session.instance.programs.get(key, version, b"") {
        return Ok(program);
    }
    let database = session.catalog.database_by_id(module.database_id);
    let database =
        database.map_or_else(|| session.identity.database.to_string(), |d| d.name.clone());
    let StatementKind::CreateTrigger(create) = &module.ast.kind else {
        return Err(Msg::InternalError.into());
    };
    let mut program = crate::function::compile_trigger(
        session,
        create,
        table,
        (&module.text, ModuleSchema::from(&**module)),
        &database,
    )?;
    program.routine = Some(plan::Routine::of(module, RoutineKind::Trigger));
    program.owner = Some(Owner::of_module(&session.catalog, module));
    let program = register(session, program, module, RoutineKind::Trigger);
    session.instance.programs.put(key, &Arc::from([]), &program);
    Ok(program)
}

/// Compiles the body of a trigger. A DML trigger gets `inserted` and `deleted` as table variables.
///
/// # Errors
/// As for the body of a procedure.
pub fn compile_trigger(
    session: &SessionState,
    create: &ast::CreateTrigger,
    table: Option<&TableDef>,
    (text, schema): (&str, ModuleSchema),
    database: &str,
) -> Result<Program> {
    let ast::RoutineBody::Statements(body) = &create.body else {
        return Err(Msg::NotSupported("EXTERNAL NAME triggers").into());
    };
    let mut parameters = Parameters { schema: Some(schema), ..Parameters::default() };
    let names = ["inserted", "deleted"].into_iter();
    for (name, table) in names.flat_map(|name| table.map(|table| (name, table))) {
        let definition = crate::table::image_of(session, name, table)?;
        let name = name.to_owned();
        let image_of = Some(table.id);
        parameters.tables.push(TableVariableDef {
            name,
            definition,
            user_type: None,
            image_of,
            at: 0,
            ordinal: 0,
        });
    }
    crate::compile_statements(session, body.clone(), text.into(), parameters, database)
}

/// Makes the definition of the table that a multi-statement function returns.
///
/// # Errors
/// As for CREATE TABLE.
pub fn returned_table(
    session: &SessionState,
    variable: &ast::Variable,
    elements: &[ast::TableElement],
    database: &str,
    source: &str,
) -> Result<Arc<TableDef>> {
    let context = crate::binding::bare_context(session, database);
    crate::table::variable_in(session, &context.binder(), &variable.name, elements, source)
}
