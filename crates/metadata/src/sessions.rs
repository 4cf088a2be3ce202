//! Sessions as `sys.dm_exec_sessions` and its kin show them.

use std::sync::Arc;

use sos::sched::{Activity, Blocker};

use crate::view::Scope;
use ::catalog::name::Name;
use ::plan::stats::Spend;
use ::session::event::emit::lock::describe_key;
use ::session::instance::{Facts, SessionCard};
use ::session::{session_id, session_number};

/// A session with what it told of itself.
pub struct SessionRow {
    /// Its card.
    pub card: Arc<SessionCard>,
    /// What changes rarely, read once.
    pub facts: Facts,
    /// Security id of its login.
    pub sid: Vec<u8>,
    /// Id of its current database; 0 if that is gone.
    pub database_id: i16,
    /// What its requests have spent, up to the last one that has ended.
    pub spent: Spend,
}

/// ON/OFF options that the views show.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Switch {
    /// QUOTED_IDENTIFIER
    QuotedIdentifier,
    /// ARITHABORT
    ArithAbort,
    /// ANSI_NULL_DFLT_ON
    AnsiNullDefault,
    /// ANSI_WARNINGS
    AnsiWarnings,
    /// ANSI_PADDING
    AnsiPadding,
    /// ANSI_NULLS
    AnsiNulls,
    /// CONCAT_NULL_YIELDS_NULL
    ConcatNullYieldsNull,
}

impl SessionRow {
    /// Tells whether an option is ON.
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

    /// Returns DATEFORMAT in lower case.
    pub fn date_format(&self) -> &'static str {
        self.facts.options.date_format.name()
    }
}

/// Returns the session that is in the way of a thread's wait: that of the transaction or lock that it
/// waits for, or that of the thread. `None` where the thread does not wait, or nobody knows.
pub fn blocking_session(waiting: Option<&Activity>, activities: &[Arc<Activity>]) -> Option<i16> {
    let tag = match waiting?.waiting()?.blocker? {
        Blocker::Work(tag) => tag,
        Blocker::Thread(number) => activities.iter().find(|a| a.number() == number)?.work()?,
    };
    session_id(tag)
}

/// The session that is in the way of another one's wait, and what that waits for, as `wait_resource`
/// of `sys.dm_exec_requests` shows it.
pub struct Blocked {
    /// Who is in the way, if anybody knows.
    pub by: Option<i16>,
    /// The lock, or the transaction that has the row.
    pub resource: String,
}

/// Finds out who is in the way of a session that waits for a lock or a row; none if it waits for
/// neither.
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

/// Returns the sessions of the instance, by id.
pub fn session_rows(scope: &Scope<'_>) -> Vec<SessionRow> {
    let catalog = &scope.session.catalog;
    let row = |card: Arc<SessionCard>| {
        let mut facts = card.facts();
        if card.id == scope.session.id {
            // Others see what a request has set when it has ended, the session itself at once.
            facts.options.clone_from(&scope.session.options);
            facts.database = Arc::clone(&scope.session.database);
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
    // Without VIEW SERVER STATE everybody sees their own.
    let seen =
        |card: &Arc<SessionCard>| card.id == session.id || session.rights.views_server_state();
    session.instance.sessions.cards().into_iter().filter(seen).map(row).collect()
}
