//! Sessions as `sys.dm_exec_sessions` and related views show them.

use std::sync::Arc;

use sos::sched::{Activity, Blocker};

use crate::view::Scope;
use ::catalog::name::Name;
use ::plan::stats::Spend;
use ::session::event::emit::lock::describe_key;
use ::session::instance::{Facts, SessionCard};
use ::session::{session_id, session_number};

/// A session, with what its client sent at login.
pub struct SessionRow {
    /// The session's published state, which other sessions may read.
    pub card: Arc<SessionCard>,
    /// Options, current database and other rarely changed state, copied once.
    pub facts: Facts,
    /// `security_id`: SID of its login; empty if the login was dropped.
    pub sid: Vec<u8>,
    /// `database_id` of its current database; 0 if that was dropped.
    pub database_id: i16,
    /// Resources that its completed requests have used.
    pub spent: Spend,
}

/// SET options that the views show as ON or OFF.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Switch {
    /// SET QUOTED_IDENTIFIER, column `quoted_identifier`.
    QuotedIdentifier,
    /// SET ARITHABORT, column `arithabort`.
    ArithAbort,
    /// SET ANSI_NULL_DFLT_ON, column `ansi_null_dflt_on`.
    AnsiNullDefault,
    /// SET ANSI_WARNINGS, column `ansi_warnings`.
    AnsiWarnings,
    /// SET ANSI_PADDING, column `ansi_padding`.
    AnsiPadding,
    /// SET ANSI_NULLS, column `ansi_nulls`.
    AnsiNulls,
    /// SET CONCAT_NULL_YIELDS_NULL, column `concat_null_yields_null`.
    ConcatNullYieldsNull,
}

impl SessionRow {
    /// Returns true if the option is ON.
    pub fn is(&self, switch: Switch) -> bool {
        let options = &self.facts.options;
        match switch {
            Switch::QuotedIdentifier => options.quoted_identifier,
            Switch::ArithAbort => options.arith_abort,
            Switch::AnsiNullDefault => options.ansi_null_default,
            Switch::AnsiWarnings => options.ansi_warnings,
            Switch::AnsiPadding => options.ansi_padding,
            Switch::AnsiNulls => options.ansi_nulls,
            Switch::ConcatNullYieldsNull => options.concat_null_yields_null,
        }
    }

    /// Returns `date_format`: DATEFORMAT in lower case, such as `mdy`.
    pub fn date_format(&self) -> &'static str {
        self.facts.options.date_format.name()
    }
}

/// Returns the session that blocks a thread: the one that owns the transaction, lock or thread that
/// it waits for. `None` where the thread does not wait or the blocker is unknown.
pub fn blocking_session(waiting: Option<&Activity>, activities: &[Arc<Activity>]) -> Option<i16> {
    let tag = match waiting?.waiting()?.blocker? {
        Blocker::Work(tag) => tag,
        Blocker::Thread(number) => activities.iter().find(|a| a.number() == number)?.work()?,
    };
    session_id(tag)
}

/// Who blocks a session, and on what, as `wait_resource` of `sys.dm_exec_requests` describes it.
pub struct Blocked {
    /// The blocking session, if known.
    pub by: Option<i16>,
    /// The lock, or the transaction that has written the row.
    pub resource: String,
}

/// Finds what blocks a session that waits for a lock or a row; `None` if it waits for neither.
pub fn blocked(scope: &Scope<'_>, session: i16) -> Option<Blocked> {
    let locks = scope.session.instance.store.locks();
    let number = session_number(session);
    if let Some(row) = locks.waiting(number) {
        let resource = format!("APPLICATION: {}:{}", row.key.database, describe_key(&row.key));
        let by = row.blockers.first().and_then(|number| session_id(*number));
        return Some(Blocked { by, resource });
    }
    let by = session_id(locks.row_blocker(number)?)?;
    Some(Blocked { by: Some(by), resource: format!("XACT: session {by}") })
}

/// Returns the sessions of the instance, ordered by id.
pub fn session_rows(scope: &Scope<'_>) -> Vec<SessionRow> {
    let catalog = &scope.session.catalog;
    let row = |card: Arc<SessionCard>| {
        let mut facts = card.facts();
        if card.id == scope.session.connection.id {
            // Options are published at the end of a request; the session itself sees its own at
            // once.
            facts.options.clone_from(&scope.session.options);
            facts.database = Arc::clone(&scope.session.identity.database);
        }
        let login = catalog.logins.get(&Name::new(&card.login));
        SessionRow {
            sid: login.map(|l| l.sid.clone()).unwrap_or_default(),
            database_id: catalog.database(&facts.database).map_or(0, |d| d.id),
            spent: card.books.spent().into(),
            facts,
            card,
        }
    };
    let session = scope.session;
    // A login without VIEW SERVER STATE sees its own session only.
    let seen = |card: &Arc<SessionCard>| {
        card.id == session.connection.id || session.identity.rights.views_server_state()
    };
    session.instance.sessions.cards().into_iter().filter(seen).map(row).collect()
}
