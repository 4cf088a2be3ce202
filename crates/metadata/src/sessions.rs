//! Sessions as `sys.dm_exec_sessions` and related views show them.

use std::cell::OnceCell;
use std::ops::Deref;
use std::sync::Arc;

use sos::sched::{Activity, Blocker};

use crate::locked_row::key_suffix;
use crate::view::Scope;
use ::catalog::Catalog;
use ::catalog::name::Name;
use ::plan::stats::Spend;
use ::session::awaited::{Resource, Waits};
use ::session::instance::{Facts, SessionCard};
use ::session::{Options, session_id, session_number};

/// A session, with what its client sent at login.
pub struct SessionRow {
    /// The session's published state, which other sessions may read.
    pub card: Arc<SessionCard>,
    /// Options, current database and other rarely changed state.
    pub facts: ShownFacts,
    /// Resources that its completed requests have used.
    pub spent: Spend,
    catalog: Arc<Catalog>,
}

/// [`Facts`] of a session, copied when the first of them is read: most readers of many sessions read
/// none.
pub struct ShownFacts {
    card: Arc<SessionCard>,
    /// Options and database of the reading session, which sees its own at once: they are published at
    /// the end of a request.
    own: Option<(Options, Arc<str>)>,
    copied: OnceCell<Facts>,
}

impl Deref for ShownFacts {
    type Target = Facts;

    fn deref(&self) -> &Facts {
        self.copied.get_or_init(|| {
            let mut facts = self.card.facts();
            if let Some((options, database)) = &self.own {
                facts.options.clone_from(options);
                facts.database = Arc::clone(database);
            }
            facts
        })
    }
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
    /// Returns `security_id`: SID of its login; empty if the login was dropped.
    pub fn sid(&self) -> &[u8] {
        let login = self.catalog.logins.get(&Name::new(&self.card.login));
        login.map_or(&[], |login| &login.sid)
    }

    /// Returns `database_id` of its current database; 0 if that was dropped.
    pub fn database_id(&self) -> i16 {
        self.catalog.database(&self.facts.database).map_or(0, |database| database.id)
    }

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
pub fn blocked(scope: &Scope<'_>, waits: &Waits<'_>, session: i16) -> Option<Blocked> {
    let awaited = waits.awaited(session_number(session))?;
    let by = awaited.blockers.first().and_then(|number| session_id(*number));
    let mut resource = awaited.resource.wait_resource();
    if let Resource::Row(row) = &awaited.resource {
        resource.push_str(&key_suffix(scope, row));
    }
    Some(Blocked { by, resource })
}

/// Returns the sessions of the instance, ordered by id.
pub fn session_rows(scope: &Scope<'_>) -> Vec<SessionRow> {
    session_rows_where(scope, |_| true)
}

/// As [`session_rows`], of the sessions that `is` selects.
pub(crate) fn session_rows_where(
    scope: &Scope<'_>,
    is: impl Fn(&SessionCard) -> bool,
) -> Vec<SessionRow> {
    let session = scope.session;
    let row = |card: Arc<SessionCard>| {
        let is_own = card.id == session.connection.id;
        let own = || (session.options.clone(), Arc::clone(&session.identity.database));
        let facts =
            ShownFacts { card: Arc::clone(&card), own: is_own.then(own), copied: OnceCell::new() };
        SessionRow {
            spent: card.books.spent().into(),
            facts,
            card,
            catalog: Arc::clone(&session.catalog),
        }
    };
    // A login without VIEW SERVER STATE sees its own session only.
    let seen = |card: &Arc<SessionCard>| {
        is(card)
            && (card.id == session.connection.id || session.identity.rights.views_server_state())
    };
    session.instance.sessions.cards().into_iter().filter(seen).map(row).collect()
}
