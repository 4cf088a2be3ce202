//! `Process`: a session as an element `process` of a blocked process report or a deadlock graph.
//!
//! The attributes are SQL Server's, in its order. Those that have no meaning here are left out:
//! `XDES`, `lastattention`, `clientoption1` and `clientoption2`. The stack has one frame, that of the
//! statement that runs: callers are not published to other threads.

use std::fmt::{Display, Write};
use std::sync::Arc;

use sos::clock;
use sos::sched::{Activity, Role, Standing};
use storage::lock::TransactionRow;
use types::{DataType, Language, Value};

use crate::awaited::Awaited;
use crate::event::xml::escaped;
use crate::instance::{Facts, Instance, SessionCard, datetime_of};
use crate::{session_id, session_number};
use catalog::Catalog;
use plan::stats::{Module, StatementRow, statement_of};

/// What both kinds of reports read of the server, read once for each report.
pub(super) struct Observed<'i> {
    pub(super) instance: &'i Instance,
    pub(super) catalog: Arc<Catalog>,
    activities: Vec<Arc<Activity>>,
    cards: Vec<Arc<SessionCard>>,
}

impl<'i> Observed<'i> {
    pub(super) fn now(instance: &'i Instance) -> Self {
        Self {
            instance,
            catalog: instance.catalog.load(),
            activities: instance.machine.activities(),
            cards: instance.sessions.cards(),
        }
    }

    pub(super) fn activities(&self) -> &[Arc<Activity>] {
        &self.activities
    }

    /// Describes a session, by its number; `None` if it has ended.
    pub(super) fn process(&self, session: u32) -> Option<Process<'_>> {
        let id = session_id(session)?;
        let card = self.cards.iter().find(|card| card.id == id)?;
        let worker = card.live.worker();
        let is_running = card.is_running();
        let activity = self.activities.iter().find(|a| is_running && a.number() == worker);
        let statistics = &self.instance.statistics;
        Some(Process {
            observed: self,
            facts: card.facts(),
            activity: activity.map(Arc::as_ref),
            statement: is_running
                .then(|| statement_of(statistics, card.live.statement()))
                .flatten(),
            transaction: self.instance.store.locks().transaction(session),
            card,
        })
    }

    /// Returns the name of a database; empty if there is none of this id.
    pub(super) fn database_name(&self, id: i32) -> &str {
        let id = i16::try_from(id).ok();
        id.and_then(|id| self.catalog.database_by_id(id)).map_or("", |found| found.name.as_str())
    }

    /// Returns `database.schema.object` of a module; `None` if it has been dropped.
    fn module_name(&self, module: Module) -> Option<String> {
        let database = self.catalog.database_by_id(module.database_id)?;
        let found = database.objects.values().find(|object| object.id() == module.object_id)?;
        Some(format!("{}.{}.{}", database.name, found.schema(), found.name()))
    }
}

/// A session, as a report shows it.
pub(super) struct Process<'o> {
    observed: &'o Observed<'o>,
    pub(super) card: &'o Arc<SessionCard>,
    facts: Facts,
    /// The thread that runs its request; `None` between two requests.
    activity: Option<&'o Activity>,
    /// The statement that runs.
    statement: Option<StatementRow>,
    pub(super) transaction: Option<TransactionRow>,
}

/// How much an element `frame` says.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum Frames {
    /// Lines, offsets and handles: a blocked process report.
    Bare,
    /// The module's name and the statement's text as well: a deadlock graph.
    Named,
}

/// Returns the `id` of the element `process` of a session.
pub(super) fn process_id(session: u32) -> String {
    format!("process{session}")
}

/// Writes an attribute with its value escaped.
fn put(xml: &mut String, name: &str, value: impl Display) {
    let value = escaped(&value.to_string());
    // Writing to a string cannot fail.
    let _ = write!(xml, " {name}=\"{value}\"");
}

/// Formats a `datetime` as reports have it.
fn time(value: &Value) -> String {
    types::date::format(value, &DataType::DateTime, STYLE_ISO, Language::us_english())
        .unwrap_or_default()
}

/// The style of CONVERT with a `T` between date and time.
const STYLE_ISO: i32 = 126;

impl Process<'_> {
    /// Writes the element of a session that waits, with all of its attributes.
    pub(super) fn put_waiting(&self, awaited: Option<&Awaited>, frames: Frames, xml: &mut String) {
        xml.push_str("<process");
        put(xml, "id", process_id(session_number(self.card.id)));
        put(xml, "taskpriority", 0);
        put(xml, "logused", 0);
        let resource = awaited.map(|awaited| awaited.resource.wait_resource());
        put(xml, "waitresource", resource.unwrap_or_default());
        put(xml, "waittime", self.waited_ns() / 1_000_000);
        put(xml, "ownerId", self.transaction_id());
        put(xml, "transactionname", self.transaction_name());
        let begun = self.transaction.as_ref().map_or(self.card.live.started(), |open| open.begun);
        put(xml, "lasttranstarted", time(&datetime_of(begun)));
        put(xml, "lockMode", awaited.map_or("", |awaited| awaited.mode.name()));
        if let Some(activity) = self.activity {
            if let Role::Worker(scheduler) = activity.role() {
                put(xml, "schedulerid", scheduler);
            }
            put(xml, "kpid", activity.thread_id());
        }
        self.put_rest(frames, xml);
    }

    /// Writes the element of a session that blocks another one.
    pub(super) fn put_blocking(&self, awaited: Option<&Awaited>, xml: &mut String) {
        xml.push_str("<process");
        if let Some(awaited) = awaited {
            put(xml, "waitresource", awaited.resource.wait_resource());
            put(xml, "waittime", self.waited_ns() / 1_000_000);
        }
        self.put_rest(Frames::Bare, xml);
    }

    /// Writes the attributes that both kinds have, the stack and the client's request.
    fn put_rest(&self, frames: Frames, xml: &mut String) {
        let Facts { options, client, .. } = &self.facts;
        put(xml, "status", self.status());
        put(xml, "spid", self.card.id);
        put(xml, "sbid", 0);
        put(xml, "ecid", 0);
        put(xml, "priority", options.deadlock_priority);
        put(xml, "trancount", self.transaction_count());
        put(xml, "lastbatchstarted", time(&self.card.last_start()));
        put(xml, "lastbatchcompleted", time(&self.card.last_end()));
        put(xml, "clientapp", &client.program_name);
        put(xml, "hostname", &client.host_name);
        put(xml, "hostpid", client.process_id);
        put(xml, "loginname", &self.card.login);
        put(xml, "isolationlevel", isolation_name(self.card.isolation()));
        put(xml, "xactid", self.transaction_id());
        let database = self.observed.catalog.database(&self.facts.database);
        put(xml, "currentdb", database.map_or(0, |database| database.id));
        put(xml, "currentdbname", &self.facts.database);
        // Without a limit it is -1, which SQL Server shows as an unsigned number.
        put(xml, "lockTimeout", options.lock_timeout_ms.cast_unsigned());
        xml.push('>');
        self.put_stack(frames, xml);
        let _ = write!(xml, "<inputbuf>\n{}    </inputbuf></process>", escaped(&self.request()));
    }

    fn put_stack(&self, frames: Frames, xml: &mut String) {
        let Some(statement) = &self.statement else { return xml.push_str("<executionStack/>") };
        xml.push_str("<executionStack><frame");
        if frames == Frames::Named {
            let module = statement.books.module().and_then(|m| self.observed.module_name(m));
            put(xml, "procname", module.as_deref().unwrap_or("adhoc"));
        }
        put(xml, "line", statement.line());
        if statement.start > 0 {
            put(xml, "stmtstart", statement.start);
        }
        if statement.end >= 0 {
            put(xml, "stmtend", statement.end);
        }
        xml.push_str(" sqlhandle=\"0x");
        for byte in statement.books.sql_handle().bytes() {
            let _ = write!(xml, "{byte:02x}");
        }
        match frames {
            Frames::Bare => xml.push_str("\"/></executionStack>"),
            Frames::Named => {
                let text = escaped(statement.text());
                let _ = write!(xml, "\">\n{text}    </frame></executionStack>");
            }
        }
    }

    /// Returns how long the session has waited, in ns; 0 if it does not wait.
    fn waited_ns(&self) -> u64 {
        let since = self.activity.and_then(|a| a.waiting()).map(|waiting| waiting.since);
        since.map_or(0, |since| clock::ticks_to_ns(clock::now_ticks().saturating_sub(since)))
    }

    /// Returns `transaction_id`; 0 for an autocommit statement.
    pub(super) fn transaction_id(&self) -> u64 {
        self.transaction.as_ref().map_or(0, |open| open.number)
    }

    /// Returns the name of the transaction; that of an autocommit statement is its first word.
    fn transaction_name(&self) -> String {
        match &self.transaction {
            Some(TransactionRow { name: Some(name), .. }) => name.to_string(),
            Some(TransactionRow { name: None, .. }) => "user_transaction".to_owned(),
            None => {
                let text = self.statement.as_ref().map_or("", |statement| statement.text());
                let first = text.split(|c: char| !c.is_ascii_alphabetic()).next();
                first.unwrap_or_default().to_ascii_uppercase()
            }
        }
    }

    /// Returns `@@TRANCOUNT`. It is published at the end of a request, so a transaction that the
    /// running one has begun counts as one.
    fn transaction_count(&self) -> u32 {
        self.card.transactions().max(u32::from(self.transaction.is_some()))
    }

    fn status(&self) -> &'static str {
        match self.activity.map(Activity::standing) {
            None => "sleeping",
            Some(Standing::Waiting) => "suspended",
            Some(Standing::Runnable) => "runnable",
            Some(Standing::Running | Standing::Idle) => "running",
        }
    }

    /// Returns what the client sent: a text, or the number of the procedure that it called.
    fn request(&self) -> String {
        let statistics = &self.observed.instance.statistics;
        let Some(books) = statistics.by_serial(self.card.live.request_program()) else {
            return String::new();
        };
        match books.module() {
            Some(Module { database_id, object_id, .. }) => {
                format!("Proc [Database Id = {database_id} Object Id = {object_id}]")
            }
            None => books.text(),
        }
    }
}

/// Returns the name that reports have for an isolation level, with its number.
fn isolation_name(number: u32) -> &'static str {
    match number {
        1 => "read uncommitted (1)",
        2 => "read committed (2)",
        3 => "repeatable read (3)",
        4 => "serializable (4)",
        5 => "snapshot (5)",
        _ => "unspecified (0)",
    }
}
