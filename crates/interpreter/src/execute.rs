//! EXECUTE: calls stored and system procedures, and runs dynamic SQL.
//!
//! EXEC and RPC share this code: both provide a list of [`Argument`]s. [`Invocation::bind`] matches
//! them with the procedure's parameters; [`invoke`] runs the program in a new frame.

use std::sync::Arc;

use types::value::ColumnType;
use types::{DataType, Error, Length, Mode, Msg, Value};

use crate::parameter_default::parameter_default;
use crate::{Caller, Runner, Stop, enter, report_scope};
use ::catalog::name::Name;
use ::catalog::security::Owner;
use ::catalog::{Database, ModuleSchema, Object, ParameterDef, ProcedureDef};
use ::executor::{Cx, Frame};
use ::plan::program::{ArgumentStep, ArgumentValue, ExecuteStep, ExecuteTarget, Program, TextCall};
use ::plan::sink::{Command, Done, DoneKind};
use ::session::SessionState;
use ::session::argument::{Argument, TableArgument, text_type};
use ::session::context::End;
use ::session::event::emit;

/// A procedure call whose arguments are bound.
pub struct Invocation {
    /// The definition of the procedure.
    pub procedure: Arc<ProcedureDef>,
    /// Its program, moved out of the session's cache, so that no reference count shared with other
    /// sessions is written.
    pub program: Arc<Program>,
    /// Values of the parameters, and NULL for each other variable.
    pub frame: Frame,
}

impl Invocation {
    /// Matches arguments with parameters. Stores in `places` the parameter of each argument.
    ///
    /// # Errors
    /// 206 for a table of another type, 201 for a parameter without value and default, 8143 to 8146
    /// for arguments without a matching parameter, 8162 for OUTPUT of an input parameter, and the
    /// errors of conversion to the parameter's type.
    pub fn bind(
        session: &mut SessionState,
        procedure: Arc<ProcedureDef>,
        program: Arc<Program>,
        arguments: &mut [Argument],
        places: &mut Vec<usize>,
    ) -> Result<Self, Stop> {
        let buffer = std::mem::take(&mut session.caches.scratch.variables);
        let frame = Frame::with_buffer(session, &program, buffer)?;
        let mut call = Self { procedure, program, frame };
        match call.fill(session, arguments, places) {
            Ok(()) => Ok(call),
            Err(stop) => {
                call.frame.tables.release();
                Err(stop)
            }
        }
    }

    fn fill(
        &mut self,
        session: &mut SessionState,
        arguments: &mut [Argument],
        places: &mut Vec<usize>,
    ) -> Result<(), Stop> {
        let Self { procedure, program, frame } = self;
        let mut given =
            smallvec::SmallVec::<[bool; 16]>::from_elem(false, procedure.parameters.len());
        places.clear();
        for (position, argument) in arguments.iter_mut().enumerate() {
            let place = find_parameter(procedure, position, &argument.name)?;
            if std::mem::replace(&mut given[place], true) {
                return Err(Msg::ParameterTwice(&argument.name).into());
            }
            places.push(place);
            let parameter = &procedure.parameters[place];
            if argument.output && !parameter.output {
                return Err(Msg::NotOutputParameter(&parameter.name).into());
            }
            if argument.default {
                given[place] = false;
                continue;
            }
            set_parameter(frame, (procedure, program), place, argument, session)?;
        }
        for (place, parameter) in procedure.parameters.iter().enumerate() {
            if given[place] || parameter.table_type.is_some() {
                continue;
            }
            let Some(default) = &parameter.default else {
                let missing = Msg::ParameterNotSupplied(procedure.shown_name(), &parameter.name);
                return Err(misfit(missing, 4, procedure));
            };
            frame.variables[scalar_place(procedure, program, place)] =
                match &parameter.default_function {
                    Some(function) => parameter_default(function, &parameter.ty, frame, session)?,
                    None => default.clone(),
                };
        }
        Ok(())
    }

    /// Returns the current value of a parameter.
    pub fn parameter(&self, place: usize) -> &Value {
        &self.frame.variables[scalar_place(&self.procedure, &self.program, place)]
    }
}

/// Returns the position among scalar parameters: table-valued ones have no slot.
fn scalar_place(procedure: &ProcedureDef, program: &Program, place: usize) -> usize {
    if program.table_parameters == 0 {
        return place;
    }
    place - procedure.parameters[..place].iter().filter(|p| p.table_type.is_some()).count()
}

/// Returns an error about arguments, located in the procedure.
fn misfit(msg: Msg<'_>, state: u8, procedure: &ProcedureDef) -> Stop {
    Stop::Error(Error::from(msg).with_state(state).of_call(procedure.shown_name()))
}

/// Places an error of an argument's conversion in the procedure.
fn of_call(stop: Stop, procedure: &ProcedureDef) -> Stop {
    match stop {
        Stop::Error(error) => Stop::Error(error.of_call(procedure.shown_name())),
        other => other,
    }
}

/// Finds the parameter of an argument: by name, or by position if it has no name.
///
/// # Errors
/// 8144 for too many arguments, 8145 for an unknown name, 8146 for a procedure without parameters.
pub fn find_parameter(
    procedure: &ProcedureDef,
    position: usize,
    name: &str,
) -> Result<usize, Stop> {
    let parameters = &procedure.parameters;
    if name.is_empty() {
        return match parameters.len() {
            0 => Err(misfit(Msg::NoParameters(procedure.shown_name()), 2, procedure)),
            count if position >= count => {
                Err(misfit(Msg::TooManyArguments(procedure.shown_name()), 2, procedure))
            }
            _ => Ok(position),
        };
    }
    // Drivers usually send parameters in the order of declaration.
    if parameters.get(position).is_some_and(|p| p.name == name || is_named(p, name)) {
        return Ok(position);
    }
    match parameters.iter().position(|p| is_named(p, name)) {
        Some(place) => Ok(place),
        None if parameters.is_empty() => {
            Err(misfit(Msg::NoParameters(procedure.shown_name()), 2, procedure))
        }
        None => Err(misfit(Msg::NotAParameter(name, procedure.shown_name()), 1, procedure)),
    }
}

/// Compares names; a driver may omit the `@`.
fn is_named(parameter: &ParameterDef, name: &str) -> bool {
    let bare = |name: &str| name.strip_prefix('@').map(str::len);
    match (bare(&parameter.name), bare(name)) {
        (Some(_), None) => Name::same(&parameter.name[1..], name),
        _ => Name::same(&parameter.name, name),
    }
}

/// Assigns an argument to its parameter.
fn set_parameter(
    frame: &mut Frame,
    (procedure, program): (&ProcedureDef, &Program),
    place: usize,
    argument: &mut Argument,
    session: &SessionState,
) -> Result<(), Stop> {
    let parameter = &procedure.parameters[place];
    if let Some(wanted) = &parameter.table_type {
        let Some(table) = argument.table.take() else {
            let clash = Msg::OperandClash(argument.ty.data_type.name(), &wanted.name);
            return Err(clash.into());
        };
        let rows = table.into_rows(wanted)?;
        let table = procedure.parameters[..place].iter().filter(|p| p.table_type.is_some());
        frame.tables.replace(table.count(), rows);
        return Ok(());
    }
    match (parameter.cursor, &argument.cursor) {
        (true, Some(_)) => return Ok(()),
        (true, None) => return Err(Msg::NotACursorVariable(&parameter.name).into()),
        (false, Some(variable)) => return Err(Msg::IsACursorVariable(variable).into()),
        (false, None) => {}
    }
    if let Some(table) = &argument.table {
        let clash = Msg::OperandClash(table.type_name(), parameter.ty.data_type.name());
        return Err(clash.into());
    }
    let value =
        if argument.output { argument.value.clone() } else { std::mem::take(&mut argument.value) };
    let value = convert_argument(value, &argument.ty, &parameter.ty, session)
        .map_err(|stop| of_call(stop, procedure))?;
    not_null(&value, &parameter.ty, &parameter.name)?;
    frame.variables[scalar_place(procedure, program, place)] = value;
    Ok(())
}

/// Refuses NULL for a variable or parameter that is declared NOT NULL.
///
/// # Errors
/// 11554.
pub(crate) fn not_null(value: &Value, ty: &ColumnType, name: &str) -> Result<(), Stop> {
    if value.is_null() && !ty.nullable {
        return Err(Msg::NullForNotNull(name).into());
    }
    Ok(())
}

/// Converts an argument to its parameter's type, or a result to the caller's type.
pub fn convert_argument(
    value: Value,
    from: &ColumnType,
    to: &ColumnType,
    session: &SessionState,
) -> Result<Value, Stop> {
    // A driver may send a char(n) or binary(n) value shorter than n: padded as a varying one is.
    let from = &match (from.data_type, value.string_bytes().map(<[u8]>::len)) {
        (DataType::Char(n), Some(bytes)) if bytes < usize::from(n) => {
            ColumnType { data_type: DataType::VarChar(Length::Limited(n)), ..*from }
        }
        (DataType::NChar(n), Some(bytes)) if bytes < 2 * usize::from(n) => {
            ColumnType { data_type: DataType::NVarChar(Length::Limited(n)), ..*from }
        }
        (DataType::Binary(n), Some(bytes)) if bytes < usize::from(n) => {
            ColumnType { data_type: DataType::VarBinary(Length::Limited(n)), ..*from }
        }
        // Drivers send long text and binary with the old types, whatever the parameter's type.
        (DataType::NText, _) => ColumnType { data_type: DataType::NVarChar(Length::Max), ..*from },
        (DataType::Text, _) => ColumnType { data_type: DataType::VarChar(Length::Max), ..*from },
        (DataType::Image, _) => ColumnType { data_type: DataType::VarBinary(Length::Max), ..*from },
        _ => *from,
    };
    if value.is_null() || (from.data_type == to.data_type && from.collation == to.collation) {
        return Ok(value);
    }
    let options = session.convert_options();
    types::convert(&value, from, to, 0, Mode::Implicit, &options).map_err(|error| {
        match error.number {
            // A parameter that does not convert is error 8114, also where CAST has another error.
            241 | 245 | 248 => {
                Msg::ConversionError(from.data_type.name(), to.data_type.name()).into()
            }
            _ => Stop::Error(error),
        }
    })
}

/// Return status of a procedure that was ended by an error.
const ENDED_BY_ERROR: i32 = -6;

/// Runs a procedure's program in its frame, and returns its return status. The frame keeps the
/// values of the OUTPUT parameters.
///
/// # Errors
/// 217 for too deep nesting; otherwise a stop that ends the caller's batch too.
pub fn invoke(call: &mut Invocation, caller: &mut Caller<'_>) -> Result<i32, Stop> {
    let session = &mut *caller.session;
    let transactions = session.transaction.count;
    call.frame.procedure_id = call.procedure.id;
    let of = &call.procedure;
    let switched = session.enter_module(of.database_id, of.execute_as);
    let called = emit::statement::Called::procedure(of);
    let entered = emit::statement::module_start(session, called);
    let outer = session.options.enter_module(of.options);
    let outcome = enter(&call.program, of.shown_name(), &mut call.frame, caller);
    let session = &mut *caller.session;
    session.options.enter_module(outer);
    emit::statement::module_end(session, called, &entered);
    session.identity.leave_module(switched);
    let status = match outcome {
        // An unresolved name ends the procedure, not its caller.
        Err(Stop::Scope) => ENDED_BY_ERROR,
        other => other?,
    };
    if session.transaction.count != transactions && session.request.try_depth == 0 {
        let (before, after) = (i64::from(transactions), i64::from(session.transaction.count));
        let warning = Error::from(Msg::TransactionCountMismatch(before, after)).with_state(2);
        let line = session.request.line;
        caller.sink.message(&warning.at_line(line).in_procedure(call.procedure.shown_name()))?;
    }
    Ok(status)
}

/// Returns the error of an unknown procedure: 2812 in state 62, or 40517 for a documented one.
pub fn not_found(name: &str) -> Stop {
    if let Some(known) = ::metadata::documented_procedures::missing_procedure(name) {
        return Msg::NotSupported(&format!("the system procedure {known}")).into();
    }
    Stop::Error(Error::from(Msg::ProcedureNotFound(name)).with_state(62))
}

/// Returns the error of a procedure that was not found under a name; that of a synonym is about its
/// target.
pub fn procedure_missing(
    session: &SessionState,
    name: &tsql::ast::ObjectName,
    module: Option<ModuleSchema>,
) -> Stop {
    match synonym_target(session, name, module) {
        Some(target) => not_found(&target.to_string()),
        None => other_kind(session, name, module).unwrap_or_else(|| not_found(&name.to_string())),
    }
}

/// Returns error 2809 if the name is that of a table or a view.
fn other_kind(
    session: &SessionState,
    name: &tsql::ast::ObjectName,
    module: Option<ModuleSchema>,
) -> Option<Stop> {
    let found = match named(session, name, module)?.1? {
        ::catalog::Object::Table(_) => "table",
        ::catalog::Object::View(_) => "view",
        _ => return None,
    };
    Some(Msg::WrongObjectKind("procedure", &name.object, found).into())
}

/// Refuses the procedure of another server, a system procedure too.
///
/// # Errors
/// 7202: there are no linked servers, and the name is not this server's own.
pub fn check_local(session: &SessionState, name: &tsql::ast::ObjectName) -> Result<(), Stop> {
    match &name.server {
        Some(server) if !server.is(&session.instance.config.server_name) => {
            Err(Msg::LinkedServerNotFound(server).into())
        }
        _ => Ok(()),
    }
}

/// Checks the permission EXECUTE. A module may call procedures of the same owner (`chain`).
///
/// # Errors
/// 229 without the permission.
pub fn check_execute(
    session: &SessionState,
    procedure: &ProcedureDef,
    chain: Option<Owner>,
) -> Result<(), types::Error> {
    // Temporary procedures belong to the session.
    if session.identity.rights.is_all() || procedure.name.starts_with('#') {
        return Ok(());
    }
    let catalog = &session.catalog;
    let of = || Owner::of_procedure(catalog, procedure);
    if chain.is_some_and(|chain| chain.reaches(catalog, of())) {
        return Ok(());
    }
    let Some(database) = session.catalog.database_by_id(procedure.database_id) else {
        return Ok(());
    };
    let ids = (procedure.id, procedure.schema_id);
    let names = (procedure.schema.as_str(), procedure.name.as_str());
    ::catalog::security::check_object(&session.identity.rights, database, ids, names, "EXECUTE")
}

/// Checks the permission EXECUTE for a call by a name. A synonym has its own permission; that of
/// its procedure is checked as well where the two have different owners.
///
/// # Errors
/// 229 without the permission, with the name of the object that it is missing on.
pub fn check_call(
    session: &SessionState,
    name: &tsql::ast::ObjectName,
    procedure: &ProcedureDef,
    (chain, module): (Option<Owner>, Option<ModuleSchema>),
) -> Result<(), types::Error> {
    let catalog = &session.catalog;
    let Some((database, found)) = named(session, name, module) else { return Ok(()) };
    let Some(::catalog::Object::Synonym(synonym)) = found else {
        return check_execute(session, procedure, chain);
    };
    let schema_id = database.schema(&synonym.schema).map_or(::catalog::DBO, |schema| schema.id);
    let ids = (synonym.id, schema_id);
    let owner = Owner::of(catalog, database.id, ids);
    let rights = &session.identity.rights;
    if !rights.is_all() && !chain.is_some_and(|chain| chain.reaches(catalog, owner)) {
        let names = (synonym.schema.as_str(), synonym.name.as_str());
        ::catalog::security::check_object(rights, database, ids, names, "EXECUTE")?;
    }
    check_execute(session, procedure, Some(owner))
}

/// Finds a procedure by its name or by a synonym: in the named schema, else that of the module that
/// calls it or the user's default, else `dbo`; in the named database, else the current one.
pub fn resolve_procedure(
    session: &SessionState,
    name: &tsql::ast::ObjectName,
    module: Option<ModuleSchema>,
) -> Option<Arc<ProcedureDef>> {
    if name.is_temporary() {
        return session.find_procedure(
            "tempdb",
            "dbo",
            &session.temporary_module_name(&name.object),
        );
    }
    let find = |name: &tsql::ast::ObjectName, module| match named(session, name, module)?.1? {
        ::catalog::Object::Procedure(procedure) => Some(Arc::clone(procedure)),
        _ => None,
    };
    let of_synonym = || find(synonym_target(session, name, module)?, Some(ModuleSchema::DBO));
    find(name, module).or_else(of_synonym)
}

/// Returns the target of a synonym; `None` if the name is not that of a synonym.
pub fn synonym_target<'s>(
    session: &'s SessionState,
    name: &tsql::ast::ObjectName,
    module: Option<ModuleSchema>,
) -> Option<&'s tsql::ast::ObjectName> {
    match named(session, name, module)?.1? {
        ::catalog::Object::Synonym(synonym) => Some(&synonym.target),
        _ => None,
    }
}

/// Returns the database of a name, and the object that it names. `module` is the schema of the module
/// that contains the name.
fn named<'s>(
    session: &'s SessionState,
    name: &tsql::ast::ObjectName,
    module: Option<ModuleSchema>,
) -> Option<(&'s Database, Option<&'s Object>)> {
    let written = name.database.as_deref().filter(|database| !database.is_empty());
    let database = session.catalog.database(written.unwrap_or(&session.identity.database))?;
    let first = ::compile::binding::unqualified(session, module).schema_in(database);
    let schema = database.schema_of_object(name.schema.as_deref(), first, &name.object);
    Some((database, database.object(schema, &name.object)))
}

impl Runner<'_> {
    pub(crate) fn execute(&self, step: &ExecuteStep, cx: &mut Cx<'_>) -> Result<(), Stop> {
        let status = self.status_of(step, cx)?;
        if cx.session.request.in_procedure() {
            // The client gets the status of the outermost procedure only.
            return Ok(());
        }
        cx.sink.return_status(status)?;
        let done = Done {
            kind: DoneKind::Procedure,
            command: Command::EXECUTE,
            rows: None,
            error: false,
            more: true,
        };
        cx.sink.done(done)?;
        Ok(())
    }

    /// Runs a call and returns its status, without sending its end to the client.
    pub fn status_of(&self, step: &ExecuteStep, cx: &mut Cx<'_>) -> Result<i32, Stop> {
        let parsed;
        let name = match &step.procedure {
            ExecuteTarget::Name(name) => name,
            ExecuteTarget::Variable(slot) => {
                let value = cx.frame.variables[slot.0 as usize].clone();
                let text = metadata::format::text_of(&value, cx.session)?.unwrap_or_default();
                parsed = tsql::parse_procedure_name(&text).map_err(|_| not_found(&text))?;
                &parsed
            }
        };
        check_local(cx.session, name)?;
        let mut arguments = Vec::with_capacity(step.arguments.len());
        for argument in &step.arguments {
            arguments.push(self.argument(argument, cx)?);
        }
        cx.session.refresh_catalog();
        let host = cx.host;
        let status = match host.call_system_procedure(name, &mut arguments, cx) {
            Some(status) => status?,
            None => self.call(name, &mut arguments, cx)?,
        };
        self.return_outputs(step, &arguments, cx)?;
        if let Some(slot) = step.return_status {
            cx.frame.variables[slot.0 as usize] = self.status_value(slot.0 as usize, status, cx)?;
        }
        Ok(status)
    }

    fn status_value(&self, slot: usize, status: i32, cx: &Cx<'_>) -> Result<Value, Stop> {
        let from = ColumnType { data_type: DataType::Int, ..self.program.variables[slot].ty };
        convert_argument(Value::Int(status), &from, &self.program.variables[slot].ty, cx.session)
    }

    fn call(
        &self,
        name: &tsql::ast::ObjectName,
        arguments: &mut [Argument],
        cx: &mut Cx<'_>,
    ) -> Result<i32, Stop> {
        let Some(procedure) = resolve_procedure(cx.session, name, self.program.schema) else {
            return self.call_by_synonym(name, arguments, cx);
        };
        check_call(cx.session, name, &procedure, (self.program.owner, self.program.schema))?;
        if procedure.parameters.iter().any(|parameter| parameter.cursor) {
            crate::cursor::check_unassigned(arguments, cx)?;
        }
        let program = ::compile::take_program_of(cx.session, &procedure)?;
        let mut places = Vec::new();
        let mut call = Invocation::bind(cx.session, procedure, program, arguments, &mut places)?;
        let outcome = invoke(&mut call, &mut Caller::statement(cx));
        if outcome.is_ok() {
            crate::cursor::hand_over(&mut call, (arguments, &places), cx);
        }
        for (argument, place) in arguments.iter_mut().zip(&places) {
            if argument.output {
                argument.ty = call.procedure.parameters[*place].ty;
                argument.value = call.parameter(*place).clone();
            }
        }
        let Invocation { procedure, program, .. } = call;
        ::compile::keep_program_of(cx.session, procedure, program);
        outcome
    }

    /// Calls the system procedure that is the target of a synonym.
    #[cold]
    fn call_by_synonym(
        &self,
        name: &tsql::ast::ObjectName,
        arguments: &mut [Argument],
        cx: &mut Cx<'_>,
    ) -> Result<i32, Stop> {
        let Some(target) = synonym_target(cx.session, name, self.program.schema).cloned() else {
            return Err(procedure_missing(cx.session, name, self.program.schema));
        };
        check_local(cx.session, &target)?;
        let host = cx.host;
        let called = host.call_system_procedure(&target, arguments, cx);
        called.unwrap_or_else(|| Err(not_found(&target.to_string())))
    }

    pub(crate) fn argument(&self, step: &ArgumentStep, cx: &mut Cx<'_>) -> Result<Argument, Stop> {
        let mut argument = Argument {
            name: step.name.clone().unwrap_or_default(),
            // For DEFAULT and for a table, whose type is not used.
            ty: text_type(types::Collation::default()),
            value: Value::Null,
            output: step.output,
            default: false,
            table: None,
            cursor: None,
        };
        match &step.value {
            ArgumentValue::Default => argument.default = true,
            ArgumentValue::Variable(slot) => {
                argument.ty = self.program.variables[slot.0 as usize].ty;
                argument.value = cx.frame.variables[slot.0 as usize].clone();
                let variable = &self.program.variables[slot.0 as usize];
                argument.cursor = variable.cursor.then(|| variable.name.clone());
            }
            ArgumentValue::Table(place) => {
                let of = self.program.table_variables.get(*place);
                let of = of.and_then(|variable| variable.user_type.clone());
                let rows = cx.frame.tables.get(*place).map(Arc::clone);
                argument.table = rows.map(|rows| TableArgument::Rows(rows, of));
            }
            ArgumentValue::Value(leaf) => {
                (argument.value, argument.ty) = self.typed_value(leaf, cx)?;
            }
        }
        Ok(argument)
    }

    fn return_outputs(
        &self,
        step: &ExecuteStep,
        arguments: &[Argument],
        cx: &mut Cx<'_>,
    ) -> Result<(), Stop> {
        for (step, argument) in step.arguments.iter().zip(arguments) {
            let (true, ArgumentValue::Variable(slot)) = (argument.output, &step.value) else {
                continue;
            };
            let target = &self.program.variables[slot.0 as usize];
            if target.cursor {
                continue;
            }
            let value = argument.value.clone();
            let value = convert_argument(value, &argument.ty, &target.ty, cx.session)?;
            not_null(&value, &target.ty, &target.name)?;
            cx.frame.variables[slot.0 as usize] = value;
        }
        Ok(())
    }

    /// Runs text as a batch: it does not see the caller's variables, and its temporary tables are
    /// dropped at its end.
    pub fn execute_string(&self, call: &TextCall, cx: &mut Cx<'_>) -> Result<(), Stop> {
        let mut text = String::new();
        for part in &call.parts {
            let value = self.value(part, cx)?;
            let part = metadata::format::text_of(&value, cx.session)?.unwrap_or_default();
            if text.is_empty() {
                text = part;
            } else {
                plan::long::ask(text.len() + part.len())?;
                text.push_str(&part);
            }
        }
        let Some(who) = &call.run_as else { return run_text(&text, cx) };
        let who = self.who(who, cx)?;
        let contexts = cx.session.identity.enter_contexts();
        cx.session.identity.push_context(who, End::Module);
        let outcome = run_text(&text, cx);
        cx.session.identity.leave_contexts(contexts);
        outcome
    }
}

/// Runs text one nesting level deeper.
pub(crate) fn run_text(text: &str, cx: &mut Cx<'_>) -> Result<(), Stop> {
    let program = match ::compile::compile_batch(cx.session, text) {
        Ok(program) => program,
        Err(Stop::Error(error)) => return scope_ended(report_scope(error, cx)),
        Err(stop) => return Err(stop),
    };
    let mut frame = Frame::for_program(cx.session, &program)?;
    scope_ended(enter(&program, "", &mut frame, &mut Caller::statement(cx)))
}

/// An error that ends a batch of dynamic SQL does not end its caller.
fn scope_ended(outcome: Result<i32, Stop>) -> Result<(), Stop> {
    match outcome {
        Ok(_) | Err(Stop::Scope) => Ok(()),
        Err(stop) => Err(stop),
    }
}

/// Converts the value of an OUTPUT parameter to the type declared by the caller, which is the type
/// of RETURNVALUE ([MS-TDS] 2.2.7.19). A string keeps its collation.
///
/// # Errors
/// The errors of the conversion.
pub fn as_declared(
    value: Value,
    from: &ColumnType,
    declared: &ColumnType,
    session: &SessionState,
) -> Result<(ColumnType, Value), Stop> {
    // The database's collation is looked up only for a string made from another type.
    let is_made = declared.data_type.is_string() && !from.data_type.is_string();
    let collation = if is_made { session.collation() } else { from.collation };
    let to = ColumnType { collation, nullable: true, ..*declared };
    if to.data_type == from.data_type {
        return Ok((to, value));
    }
    let value = convert_argument(value, from, &to, session)?;
    Ok((to, value))
}
