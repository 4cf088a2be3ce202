//! Procedures of the Query Store: sp_query_store_.. They act on the current database.
//!
//! A plan can't be forced: the optimizer has no plan of an earlier time to go by. Hints act when their
//! query is compiled: see `hinted.rs` of the crate `compile`.

use types::{Error, Msg, Value};

use crate::procedure::{SystemProcedure, argument, text, whole};
use ::catalog::Database;
use ::catalog::name::Name;
use ::compile::refuse;
use ::executor::Cx;
use ::query_store::DatabaseStore;
use ::query_store::options::Mode;
use interpreter::{Argument, Stop};

pub(crate) static PROCEDURES: &[SystemProcedure] = &[
    SystemProcedure { name: "sp_query_store_clear_hints", id: 0, run: clear_hints },
    SystemProcedure { name: "sp_query_store_clear_message_queues", id: 0, run: clear_queues },
    SystemProcedure { name: "sp_query_store_consistency_check", id: 0, run: check_consistency },
    SystemProcedure { name: "sp_query_store_flush_db", id: 0, run: flush },
    SystemProcedure { name: "sp_query_store_force_plan", id: 0, run: force_plan },
    SystemProcedure { name: "sp_query_store_remove_plan", id: 0, run: remove_plan },
    SystemProcedure { name: "sp_query_store_remove_query", id: 0, run: remove_query },
    SystemProcedure { name: "sp_query_store_reset_exec_stats", id: 0, run: reset },
    SystemProcedure { name: "sp_query_store_set_hints", id: 0, run: set_hints },
    SystemProcedure { name: "sp_query_store_unforce_plan", id: 0, run: unforce_plan },
];

const QUERY: &str = "@query_id";
const PLAN: &str = "@plan_id";

/// Returns the current database, which the login may alter, and its id.
fn database(
    names: &[&str],
    procedure: &str,
    arguments: &[Argument],
    cx: &Cx<'_>,
) -> Result<i16, Stop> {
    let unknown =
        |a: &&Argument| !a.name.is_empty() && !names.iter().any(|name| Name::same(&a.name, name));
    if let Some(unknown) = arguments.iter().find(unknown) {
        return Err(Msg::NotAParameter(&unknown.name, procedure).into());
    }
    if arguments.len() > names.len() {
        return Err(Msg::TooManyArguments(procedure).into());
    }
    let session = &cx.session;
    let name = &*session.identity.database;
    let found = session.catalog.database(name).ok_or(Msg::DatabaseNotFound(name))?;
    if !may_alter(cx, found) {
        let text = format!(
            "User does not have permission to alter database '{name}', the database does not exist, or the database is not in a state that allows access checks."
        );
        return Err(Error::custom(5011, 14, 5, text).into());
    }
    Ok(found.id)
}

fn may_alter(cx: &Cx<'_>, database: &Database) -> bool {
    let rights = &cx.session.identity.rights;
    rights.is_all() || rights.alters_database(&cx.session.catalog, database)
}

/// Returns an id that must be given.
fn id(arguments: &[Argument], place: usize, name: &str, procedure: &str) -> Result<i64, Stop> {
    match argument(arguments, place, name).map(|a| &a.value) {
        None => {
            let text = format!(
                "An insufficient number of arguments were supplied for the procedure or function {procedure}."
            );
            Err(Error::custom(313, 16, 51, text).into())
        }
        Some(Value::Null) => Err(Msg::ProcedureExpectsParameter(name, "bigint").into()),
        Some(_) => {
            let found = whole(arguments, place, name);
            found.ok_or_else(|| Msg::ProcedureExpectsParameter(name, "bigint").into())
        }
    }
}

fn no_query(query: i64, database: i16, state: u8) -> Stop {
    let text = format!(
        "Query with provided query_id ({query}) is not found in the Query Store for database ({database}). Check the query_id value and rerun the command."
    );
    Error::custom(12402, 11, state, text).into()
}

fn no_plan(plan: i64, database: i16, state: u8) -> Stop {
    let text = format!(
        "Query plan with provided plan_id ({plan}) is not found in the Query Store for database ({database}). Check the plan_id value and rerun the command."
    );
    Error::custom(12403, 11, state, text).into()
}

/// Checks that the Query Store of a database is on.
fn check_on(database: i16, state: u8, cx: &Cx<'_>) -> Result<(), Stop> {
    let is_on =
        |found: Option<&DatabaseStore>| found.is_some_and(|found| found.options.mode != Mode::Off);
    if cx.session.instance.query_store.read(database, is_on) {
        return Ok(());
    }
    let text = format!(
        "The command failed because the query store is not enabled for database ({database}). Make sure that the query store is enabled for the database and rerun the command."
    );
    Err(Error::custom(12405, 16, state, text).into())
}

/// Changes the store of a database; `None` if it has none, or `change` finds nothing.
fn change<R>(
    database: i16,
    cx: &Cx<'_>,
    change: impl FnOnce(&mut DatabaseStore) -> Option<R>,
) -> Option<R> {
    let instance = &cx.session.instance;
    instance.query_store.change(database, |found| {
        let found = found?;
        let changed = change(found)?;
        found.touch();
        Some(changed)
    })
}

fn flush(arguments: &mut [Argument], cx: &mut Cx<'_>) -> Result<i32, Stop> {
    database(&[], "sp_query_store_flush_db", arguments, cx)?;
    cx.session.instance.collect_for(cx.session);
    cx.session.instance.write_query_stores(true);
    Ok(0)
}

fn clear_queues(arguments: &mut [Argument], cx: &mut Cx<'_>) -> Result<i32, Stop> {
    database(&[], "sp_query_store_clear_message_queues", arguments, cx)?;
    Ok(0)
}

/// A store is checked when it is read; there is nothing to be repaired.
fn check_consistency(arguments: &mut [Argument], cx: &mut Cx<'_>) -> Result<i32, Stop> {
    let database = database(&[], "sp_query_store_consistency_check", arguments, cx)?;
    if check_on(database, 0, cx).is_ok() {
        let text = "Cannot perform operation on Query Store while it is enabled. Please turn off Query Store for the database and try again.";
        return Err(Error::custom(12427, 16, 3, text).into());
    }
    Ok(0)
}

fn remove_query(arguments: &mut [Argument], cx: &mut Cx<'_>) -> Result<i32, Stop> {
    let procedure = "sp_query_store_remove_query";
    let database = database(&[QUERY], procedure, arguments, cx)?;
    let query = id(arguments, 0, QUERY, procedure)?;
    let has_hints = |found: Option<&DatabaseStore>| {
        found.is_some_and(|found| found.store.hints.contains_key(&query))
    };
    if cx.session.instance.query_store.read(database, has_hints) {
        let text = format!(
            "Query with provided query id ({query}) cannot be removed from Query Store since it has query hint(s). Clear the query hints before removing the query."
        );
        return Err(Error::custom(12456, 16, 1, text).into());
    }
    let removed = change(database, cx, |found| found.store.remove_query(query).then_some(()));
    removed.map(|()| 0).ok_or_else(|| no_query(query, database, 1))
}

fn remove_plan(arguments: &mut [Argument], cx: &mut Cx<'_>) -> Result<i32, Stop> {
    let procedure = "sp_query_store_remove_plan";
    let database = database(&[PLAN], procedure, arguments, cx)?;
    let plan = id(arguments, 0, PLAN, procedure)?;
    let removed = change(database, cx, |found| found.store.remove_plan(plan).then_some(()));
    removed.map(|()| 0).ok_or_else(|| no_plan(plan, database, 1))
}

fn reset(arguments: &mut [Argument], cx: &mut Cx<'_>) -> Result<i32, Stop> {
    let procedure = "sp_query_store_reset_exec_stats";
    let database = database(&[PLAN], procedure, arguments, cx)?;
    let plan = id(arguments, 0, PLAN, procedure)?;
    // What was counted until now goes, too.
    cx.session.instance.collect_for(cx.session);
    let removed = change(database, cx, |found| {
        found.store.plans.contains_key(&plan).then(|| found.store.remove_runtime(plan))
    });
    removed.map(|()| 0).ok_or_else(|| no_plan(plan, database, 2))
}

/// Checks query and plan of a forcing procedure.
fn check_forcing(
    procedure: &str,
    arguments: &[Argument],
    names: &[&str],
    cx: &Cx<'_>,
) -> Result<(), Stop> {
    let database = database(names, procedure, arguments, cx)?;
    let query = id(arguments, 0, QUERY, procedure)?;
    let plan = id(arguments, 1, PLAN, procedure)?;
    check_on(database, 4, cx)?;
    let instance = &cx.session.instance;
    instance.query_store.read(database, |found| {
        let store = found.map(|found| &found.store);
        if !store.is_some_and(|store| store.queries.contains_key(&query)) {
            return Err(no_query(query, database, 2));
        }
        let found = store.and_then(|store| store.plans.get(&plan));
        if found.is_none_or(|plan| plan.query != query) {
            let text = format!("Query plan with provided plan_id ({plan}) is not found in the Query Store for query ({query}). Check the plan_id value and rerun the command.");
            return Err(Error::custom(12406, 11, 1, text).into());
        }
        Ok(())
    })
}

const FORCING: [&str; 4] = [QUERY, PLAN, "@disable_optimized_plan_forcing", "@force_plan_scope"];

fn force_plan(arguments: &mut [Argument], cx: &mut Cx<'_>) -> Result<i32, Stop> {
    check_forcing("sp_query_store_force_plan", arguments, &FORCING, cx)?;
    Ok(refuse("forcing a plan of the Query Store (sp_query_store_set_hints acts)")?)
}

/// No plan is forced, so there is nothing to undo.
fn unforce_plan(arguments: &mut [Argument], cx: &mut Cx<'_>) -> Result<i32, Stop> {
    let names = [QUERY, PLAN, "@force_plan_scope"];
    check_forcing("sp_query_store_unforce_plan", arguments, &names, cx)?;
    Ok(0)
}

const HINTS: [&str; 6] = [
    QUERY,
    "@query_hints",
    "@query_hints_comment",
    "@override_plan_guide_and_hints",
    "@fail_execution_on_error",
    "@query_hint_scope",
];

fn set_hints(arguments: &mut [Argument], cx: &mut Cx<'_>) -> Result<i32, Stop> {
    let procedure = "sp_query_store_set_hints";
    let database = database(&HINTS, procedure, arguments, cx)?;
    let query = id(arguments, 0, QUERY, procedure)?;
    let hints = text(arguments, 1, HINTS[1], cx)?
        .ok_or(Msg::ProcedureExpectsParameter(HINTS[1], "nvarchar(max)"))?;
    for (place, usual) in [(3, 1), (4, 0)] {
        let given = whole(arguments, place, HINTS[place]);
        if given.is_some_and(|given| given != usual) {
            return Ok(refuse(&format!("{procedure} with {}", HINTS[place]))?);
        }
    }
    check_on(database, 6, cx)?;
    let parsed = ::compile::hinted::parse(&hints)?;
    ::binder::hint::check_for_query_store(&parsed)?;
    let comment = text(arguments, 2, HINTS[2], cx)?;
    let set = change(database, cx, |found| {
        let known = found.store.queries.contains_key(&query);
        known.then(|| found.store.set_hint(query, hints.trim(), comment))
    });
    set.ok_or_else(|| no_query(query, database, 5))?;
    compile_again(cx)
}

fn clear_hints(arguments: &mut [Argument], cx: &mut Cx<'_>) -> Result<i32, Stop> {
    let procedure = "sp_query_store_clear_hints";
    let database = database(&[QUERY, "@query_hint_scope"], procedure, arguments, cx)?;
    let query = id(arguments, 0, QUERY, procedure)?;
    check_on(database, 7, cx)?;
    let cleared = change(database, cx, |found| {
        let known = found.store.queries.contains_key(&query);
        known.then(|| drop(found.store.hints.remove(&query)))
    });
    cleared.ok_or_else(|| no_query(query, database, 6))?;
    compile_again(cx)
}

/// Makes all programs compile again: a new version of the catalog, without a change in it.
fn compile_again(cx: &mut Cx<'_>) -> Result<i32, Stop> {
    cx.session.instance.catalog.change(|_| Ok(()))?;
    Ok(0)
}
