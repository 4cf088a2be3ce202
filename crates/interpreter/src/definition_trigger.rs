//! Fires DDL triggers: after a definition has run and before it is committed.
//!
//! The definition and its triggers are one transaction. If none is open, one is begun without
//! notifying the client. A trigger may roll it back, which undoes the definition and ends the
//! batch. Definitions of whole databases, which are refused inside a client's transaction, run in
//! such a transaction too.

use std::sync::Arc;

use tsql::ast::{Statement, StatementKind};
use types::{DataType, Error, Msg};

use crate::{Caller, Stop, enter, transactions};
use ::catalog::ModuleDef;
use ::ddl::event::{Occurrence, occurrences};
use ::executor::{Cx, Frame};
use ::plan::program::RoutineKind;
use ::session::SessionState;
use ::session::event::emit::{self, statement::Called};

/// An event and the triggers that fire for it.
pub struct Watched {
    occurrence: Occurrence,
    triggers: Vec<Arc<ModuleDef>>,
}

/// Returns the triggers that a definition fires.
pub fn watched(statement: &Statement, cx: &Cx<'_>) -> Vec<Watched> {
    watched_events(|cx| occurrences(&statement.kind, cx.session), cx)
}

/// Returns the triggers for `events`, which is called only if there is any DDL trigger.
pub fn watched_events(
    events: impl FnOnce(&Cx<'_>) -> Vec<Occurrence>,
    cx: &Cx<'_>,
) -> Vec<Watched> {
    let catalog = &cx.session.catalog;
    let any = |triggers: &std::collections::BTreeMap<_, Arc<ModuleDef>>| {
        triggers.values().any(|trigger| !trigger.disabled)
    };
    if !any(&catalog.triggers) && !catalog.databases.values().any(|d| any(&d.triggers)) {
        return Vec::new();
    }
    let found = events(cx)
        .into_iter()
        .map(|occurrence| Watched { triggers: of(&occurrence, cx), occurrence });
    found.filter(|watched| !watched.triggers.is_empty()).collect()
}

/// Returns the enabled triggers of an event: those of the server, then those of its database. Each has a
/// first and a last one, the others are in order of creation.
fn of(occurrence: &Occurrence, cx: &Cx<'_>) -> Vec<Arc<ModuleDef>> {
    let catalog = &cx.session.catalog;
    let database = occurrence.database.as_deref().and_then(|name| catalog.database(name));
    let own = database.into_iter().flat_map(|database| database.triggers.values());
    let watches = |trigger: &&Arc<ModuleDef>| {
        let StatementKind::CreateTrigger(create) = &trigger.ast.kind else { return false };
        let mut events = create.events.iter().filter_map(|name| ::catalog::DdlEvent::find(name));
        !trigger.disabled && events.any(|event| event.covers(occurrence.event))
    };
    let event = occurrence.event.name;
    let mut found: Vec<_> = catalog.triggers.values().filter(watches).cloned().collect();
    let mut within: Vec<_> = own.filter(watches).cloned().collect();
    for triggers in [&mut found, &mut within] {
        triggers.sort_by_key(|trigger| (trigger.place_for(event), trigger.id));
    }
    found.append(&mut within);
    found
}

/// Which code began the transaction of a definition.
#[derive(Clone, Copy, PartialEq, Eq)]
pub enum Begun {
    /// The definition itself, which also ends it.
    Here,
    /// The transaction was open before the definition.
    Before,
}

/// Begins the transaction of a definition that fires triggers, if none is open.
pub fn begin(cx: &mut Cx<'_>) -> Begun {
    if cx.session.transaction.count > 0 {
        return Begun::Before;
    }
    transactions::begin_quiet(cx.session, false);
    // The descriptor 0 marks a transaction that the client does not know.
    cx.session.transaction.descriptor = 0;
    Begun::Here
}

/// Rolls back the transaction of a failed definition, if the definition began it.
pub fn give_up(begun: Begun, cx: &mut Cx<'_>) {
    if begun == Begun::Here && cx.session.transaction.count > 0 {
        transactions::roll_back_quiet(cx.session);
    }
}

/// Fires the triggers, and commits the transaction if the definition began it.
///
/// # Errors
/// 3609 if a trigger has ended the transaction. An error of a trigger rolls everything back.
pub fn fire(watched: &[Watched], begun: Begun, cx: &mut Cx<'_>) -> Result<(), Stop> {
    let text = cx.statement_text.clone();
    for Watched { occurrence, triggers } in watched {
        for trigger in triggers {
            let ran = run(trigger, &event_data(occurrence, &text, cx), cx);
            if let Err(stop) = ran {
                give_up(begun, cx);
                cx.session.transaction.doomed |= cx.session.transaction.count > 0;
                return Err(stop);
            }
            if cx.session.transaction.count == 0 {
                return Err(Error::from(Msg::TransactionEndedInTrigger).into());
            }
        }
    }
    match begun {
        Begun::Here => transactions::commit_quiet(cx.session),
        Begun::Before => Ok(()),
    }
}

fn run(trigger: &Arc<ModuleDef>, data: &str, cx: &mut Cx<'_>) -> Result<(), Stop> {
    let program = ::compile::function::take_trigger(cx.session, trigger, None)?;
    let mut frame = Frame::for_program(cx.session, &program)?;
    frame.procedure_id = trigger.id;
    let session = &mut *cx.session;
    let outer = session.request.event_data.replace(data.into());
    let xact_abort = std::mem::replace(&mut session.options.xact_abort, true);
    session.request.trigger_level += 1;
    let switched = session.enter_module(trigger.database_id, trigger.execute_as);
    let called = Called::routine(trigger, RoutineKind::Trigger);
    let entered = emit::statement::module_start(session, called);
    let outer_options = session.options.enter_module(trigger.options);
    let outcome = enter(&program, &trigger.name, &mut frame, &mut Caller::statement(cx));
    let session = &mut *cx.session;
    session.options.enter_module(outer_options);
    emit::statement::module_end(session, called, &entered);
    session.identity.leave_module(switched);
    session.request.trigger_level -= 1;
    session.options.xact_abort = xact_abort;
    session.request.event_data = outer;
    ::compile::function::keep_function(session, trigger, program);
    outcome.map(drop)
}

/// Returns whether an event is about a module that is now WITH ENCRYPTION, whose text is not shown.
fn is_encrypted(of: &Occurrence, session: &SessionState) -> bool {
    let database = of.database.as_ref().and_then(|name| session.catalog.database(name));
    let Some(database) = database else { return false };
    let object = of.schema.as_ref().and_then(|schema| database.object(schema, &of.object));
    object.is_some_and(::catalog::Object::is_encrypted)
}

/// Returns the XML of EVENTDATA(), in the schema of SQL Server's events.
fn event_data(occurrence: &Occurrence, text: &str, cx: &mut Cx<'_>) -> String {
    let now = cx.now();
    let style = 126;
    let time = now
        .to_value(&DataType::DateTime)
        .and_then(|time| {
            types::date::format(&time, &DataType::DateTime, style, types::Language::us_english())
        })
        .unwrap_or_default();
    let user = metadata::function::principal::own_name(cx);
    let session = &cx.session;
    let switch = |on: bool| if on { "ON" } else { "OFF" };
    let is_encrypted = is_encrypted(occurrence, session);
    let mut out = String::from("<EVENT_INSTANCE>");
    let mut parameters = String::new();
    let mut element = |name: &str, value: &str| {
        out.push_str(&format!("<{name}>"));
        types::xml::escape_text(value, &mut out);
        out.push_str(&format!("</{name}>"));
    };
    element("EventType", occurrence.event.name);
    element("PostTime", &time);
    element("SPID", &session.connection.id.to_string());
    element("ServerName", &session.instance.config.server_name);
    element("LoginName", &session.identity.login);
    if let Some(database) = &occurrence.database {
        element("UserName", &user);
        element("DatabaseName", database);
    } else if occurrence.kind == "DATABASE" {
        element("DatabaseName", &occurrence.object);
    }
    if let Some(schema) = &occurrence.schema {
        element("SchemaName", schema);
    }
    if occurrence.kind != "DATABASE" {
        element("ObjectName", &occurrence.object);
        element("ObjectType", occurrence.kind);
    }
    if let Some((name, kind)) = &occurrence.target {
        element("TargetObjectName", name);
        element("TargetObjectType", kind);
    }
    if let Some((to, given)) = &occurrence.renamed {
        element("NewObjectName", to);
        parameters = given.iter().map(|one| format!("<Param>{}</Param>", escaped(one))).collect();
    }
    if !parameters.is_empty() {
        out.push_str(&format!("<Parameters>{parameters}</Parameters>"));
    }
    let options = &session.options;
    out.push_str(&format!(
        "<TSQLCommand><SetOptions ANSI_NULLS=\"{}\" ANSI_NULL_DEFAULT=\"{}\" ANSI_PADDING=\"{}\" \
         QUOTED_IDENTIFIER=\"{}\" ENCRYPTED=\"{}\"/><CommandText>",
        switch(options.ansi_nulls),
        switch(options.ansi_null_default),
        switch(options.ansi_padding),
        switch(options.quoted_identifier),
        if is_encrypted { "TRUE" } else { "FALSE" },
    ));
    types::xml::escape_text(if is_encrypted { "--ENCRYPTED--" } else { text }, &mut out);
    out.push_str("</CommandText></TSQLCommand></EVENT_INSTANCE>");
    out
}

fn escaped(text: &str) -> String {
    let mut out = String::new();
    types::xml::escape_text(text, &mut out);
    out
}
