//! Deadlocks: xml_deadlock_report, the deadlock graph in SQL Server's format, and the same as lines of
//! the error log while trace flag 1222 is on.

use std::fmt::Write;

use sos::xe::{self, Value};
use storage::lock::{Deadlock, DeadlockMember, LockScope, Wanted};
use storage::{Hold, LockWait};

use super::process::{Frames, Observed, process_id};
use crate::awaited::{Awaited, LockedRow, Resource, Waits, first_index, hobt};
use crate::event::list::XML_DEADLOCK_REPORT;
use crate::event::xml::escaped;
use crate::instance::Instance;
use catalog::TableDef;

/// Fires the event of a deadlock that was found, before it is ended.
#[cold]
pub fn found(instance: &Instance, deadlock: &Deadlock) {
    let is_logged = instance.catalog.load().trace_flags.contains(&FLAG_LOG);
    if !is_logged && !xe::enabled(&XML_DEADLOCK_REPORT) {
        return;
    }
    let report = report(&Observed::now(instance), deadlock);
    if is_logged {
        super::graph_text::lines(&report, |line| sos::error_log::line(&line));
    }
    if xe::enabled(&XML_DEADLOCK_REPORT) {
        xe::fire(&XML_DEADLOCK_REPORT, &[Value::Text(&report)]);
    }
}

/// The trace flag that writes deadlock graphs to the error log.
const FLAG_LOG: i32 = 1222;

fn report(observed: &Observed<'_>, deadlock: &Deadlock) -> String {
    let mut xml = format!(
        "<deadlock><victim-list><victimProcess id=\"{}\"/></victim-list><process-list>",
        process_id(deadlock.victim)
    );
    let waits = Waits::new(observed.instance, &observed.catalog);
    let awaited_by = |member: &DeadlockMember| {
        let wanted = member.waits_for.as_ref()?;
        Some(waits.wanted(member.session, wanted))
    };
    for member in &deadlock.members {
        if let Some(process) = observed.process(member.session) {
            process.put_waiting(awaited_by(member).as_ref(), Frames::Named, &mut xml);
        }
    }
    xml.push_str("</process-list><resource-list>");
    for (member, owner) in deadlock.edges() {
        if let (Some(awaited), Some(wanted)) = (awaited_by(member), &member.waits_for) {
            let held = held_mode((observed, &waits), &awaited, wanted, owner.session);
            put_resource(observed, &awaited, held, (member, owner), &mut xml);
        }
    }
    xml.push_str("</resource-list></deadlock>");
    xml
}

/// Returns the mode in which a session holds what another one waits for.
fn held_mode(
    (observed, waits): (&Observed<'_>, &Waits<'_>),
    awaited: &Awaited,
    wanted: &Wanted,
    owner: u32,
) -> &'static str {
    match wanted {
        Wanted::Lock(key, mode) => {
            let held = |scope| observed.instance.store.locks().held(key, owner, scope);
            let held = held(LockScope::Transaction).or_else(|| held(LockScope::Session));
            // It has none yet if it waits for the same lock, ahead of the other.
            key.mode_name(held.unwrap_or(*mode))
        }
        Wanted::Row(_) => {
            let table = awaited.resource.table().map(|table| table.rows.data.id());
            let held = waits.holds().iter().find(|hold| {
                hold.session == owner && !hold.is_waiting && Some(hold.table) == table
            });
            match held.map(|hold| hold.hold) {
                Some(Hold::Shared) => LockWait::Shared.short_name(),
                Some(Hold::Update) => LockWait::Update.short_name(),
                // A writer has no lock in the book: the row's newest version is its lock.
                Some(Hold::Exclusive) | None => LockWait::Exclusive.short_name(),
            }
        }
    }
}

/// Writes an element of `resource-list`: what one session holds and another one waits for.
fn put_resource(
    observed: &Observed<'_>,
    awaited: &Awaited,
    held: &str,
    (waiter, owner): (&DeadlockMember, &DeadlockMember),
    xml: &mut String,
) {
    let (element, attributes) = named(observed, &awaited.resource);
    let mode = awaited.mode.name();
    // Writing to a string cannot fail.
    let _ = write!(
        xml,
        "<{element} {attributes} id=\"lock{}\" mode=\"{held}\"{}><owner-list>\
         <owner id=\"{}\" mode=\"{held}\"/></owner-list><waiter-list>\
         <waiter id=\"{}\" mode=\"{mode}\" requestType=\"wait\"/></waiter-list></{element}>",
        waiter.session,
        associated(&awaited.resource),
        process_id(owner.session),
        process_id(waiter.session),
    );
}

/// Returns the element's name and the attributes that name the resource.
fn named(observed: &Observed<'_>, resource: &Resource) -> (&'static str, String) {
    match resource {
        Resource::Application(key) => (
            "applicationlock",
            format!(
                "hash=\"{}\" databasePrincipalId=\"{}\" dbid=\"{}\"",
                escaped(&super::lock::describe_name(key)),
                key.principal,
                key.database
            ),
        ),
        Resource::Object(table) => (
            "objectlock",
            format!(
                "lockPartition=\"0\" objid=\"{}\" subresource=\"FULL\" dbid=\"{}\" objectname=\"{}\"",
                table.id,
                table.database_id,
                object_name(observed, table)
            ),
        ),
        Resource::UnnamedObject => (
            "objectlock",
            "lockPartition=\"0\" objid=\"0\" subresource=\"FULL\" dbid=\"0\" objectname=\"\""
                .to_owned(),
        ),
        Resource::Row(row) if row.is_in_heap() => ("ridlock", rid(observed, row)),
        Resource::Row(LockedRow { table, .. }) | Resource::Range(table, _) => {
            ("keylock", key(observed, table))
        }
        Resource::Transaction(_) => ("xactlock", format!("dbid=\"{}\"", resource.database_id())),
    }
}

fn rid(observed: &Observed<'_>, row: &LockedRow) -> String {
    format!(
        "fileid=\"1\" pageid=\"{}\" dbid=\"{}\" objectname=\"{}\"",
        row.page(),
        row.table.database_id,
        object_name(observed, &row.table)
    )
}

fn key(observed: &Observed<'_>, table: &TableDef) -> String {
    let first = first_index(table);
    let index = table.indexes.iter().find(|index| index.id == first);
    format!(
        "hobtid=\"{}\" dbid=\"{}\" objectname=\"{}\" indexname=\"{}\"",
        hobt(table),
        table.database_id,
        object_name(observed, table),
        escaped(index.map_or("", |index| index.name.as_str()))
    )
}

/// Returns the attribute `associatedObjectId`, which locks of tables and rows have.
fn associated(resource: &Resource) -> String {
    match resource {
        Resource::Object(table) => format!(" associatedObjectId=\"{}\"", table.id),
        Resource::Row(LockedRow { table, .. }) | Resource::Range(table, _) => {
            format!(" associatedObjectId=\"{}\"", hobt(table))
        }
        Resource::Application(_) | Resource::UnnamedObject | Resource::Transaction(_) => {
            String::new()
        }
    }
}

fn object_name(observed: &Observed<'_>, table: &TableDef) -> String {
    let database = observed.database_name(i32::from(table.database_id));
    escaped(&format!("{database}.{}.{}", table.schema, table.name))
}
