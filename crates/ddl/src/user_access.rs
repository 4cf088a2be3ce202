//! MULTI_USER, RESTRICTED_USER and SINGLE_USER of ALTER DATABASE: which sessions may use a
//! database, how sessions already in it are ended, and the check when a session enters it.
//!
//! A restriction is published first, so that no session can enter any more. Then sessions that it
//! excludes must leave: the statement waits for them, or ends them at once or after a delay. A
//! statement that fails, because of NO_WAIT or cancellation, restores the previous access.
//!
//! Checked when a session enters a database, by USE or login. A statement that reads it by a
//! three-part name is not checked.

use std::time::Duration;

use sos::park::{self, Wake};
use sos::wait::WaitType;
use tsql::ast::NamedOption;
use types::{Error, Msg, Result};

use super::change_database;
use ::catalog::name::Name;
use ::catalog::security::Rights;
use ::catalog::{Database, SYSTEM_DATABASE_LAST, UserAccess};
use ::executor::Cx;
use ::executor::fault::Interruption;
use ::session::SessionState;

/// Interval between two checks for sessions left in the database.
const LOOK_AGAIN: Duration = Duration::from_millis(10);

/// What happens to the sessions that the new access excludes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Termination {
    /// The statement waits until they have left.
    None,
    /// NO_WAIT: the statement fails if there is one.
    NoWait,
    /// ROLLBACK: they are ended after this delay, 0 for IMMEDIATE.
    RollBack(Duration),
}

impl Termination {
    /// Converts the words after WITH, as the parser returns them.
    fn of(words: Option<&str>) -> Self {
        let Some(words) = words else { return Self::None };
        if words == "NO_WAIT" {
            return Self::NoWait;
        }
        let seconds = words.strip_prefix("ROLLBACK AFTER ").and_then(|n| n.parse().ok());
        Self::RollBack(Duration::from_secs(seconds.unwrap_or(0)))
    }
}

/// Returns the access that a list of options sets, if one of them does.
pub fn of_options(options: &[NamedOption]) -> Option<UserAccess> {
    options.iter().rev().find_map(|option| UserAccess::by_name(&option.name))
}

/// Checks that a session may enter a database.
///
/// # Errors
/// 927 while it is being restored, 924 if another session has it as its single user, 923 if it is restricted to its owners.
pub fn check_entry(session: &SessionState, database: &Database) -> Result<()> {
    if database.options.restoring.is_some() {
        return Err(Msg::DatabaseRestoring(&database.name).into());
    }
    match database.options.user_access {
        UserAccess::Multi => Ok(()),
        UserAccess::Single if others_in(session, database, UserAccess::Single).is_empty() => Ok(()),
        UserAccess::Single => Err(Msg::DatabaseSingleUser(&database.name).into()),
        UserAccess::Restricted => {
            match is_privileged(&session.identity.rights, session, database) {
                true => Ok(()),
                false => Err(Msg::DatabaseRestricted(&database.name).into()),
            }
        }
    }
}

/// Returns true if another session is in a database.
pub fn is_in_use(session: &SessionState, database: &Database) -> bool {
    !others_in(session, database, UserAccess::Single).is_empty()
}

fn is_privileged(rights: &Rights, session: &SessionState, database: &Database) -> bool {
    rights.owns(database) || rights.makes_databases(&session.catalog)
}

/// Returns the ids of the other sessions in a database that an access excludes.
fn others_in(session: &SessionState, database: &Database, access: UserAccess) -> Vec<i16> {
    let cards = session.instance.sessions.cards();
    let kept_out = |login: &str| match access {
        UserAccess::Multi => false,
        UserAccess::Single => true,
        UserAccess::Restricted => {
            !is_privileged(&Rights::of(&session.catalog, login), session, database)
        }
    };
    let in_it = cards.iter().filter(|card| {
        card.id != session.connection.id && Name::same(&card.facts().database, &database.name)
    });
    in_it.filter(|card| kept_out(&card.login)).map(|card| card.id).collect()
}

/// Changes a database's access. `words` is the text after WITH. The statement's other options are
/// set afterwards.
///
/// # Errors
/// 5058 for a system database, 5070 and 5069 if NO_WAIT finds others.
pub fn change(
    database: &str,
    access: UserAccess,
    words: Option<&str>,
    cx: &mut Cx<'_>,
) -> Result<()> {
    let before = change_database(cx.session, database, |database| {
        if database.id <= SYSTEM_DATABASE_LAST && access != UserAccess::Multi {
            return Err(Msg::CannotSetOption(access.name(), &database.name).into());
        }
        Ok(std::mem::replace(&mut database.options.user_access, access))
    })?;
    let cleared = clear(database, access, Termination::of(words), cx);
    if cleared.is_err() {
        change_database(cx.session, database, |database| {
            database.options.user_access = before;
            Ok(())
        })?;
    }
    cleared
}

/// Waits for, or ends, the sessions that an access excludes.
fn clear(name: &str, access: UserAccess, termination: Termination, cx: &mut Cx<'_>) -> Result<()> {
    let started = sos::clock::monotonic_ns();
    let cancel = std::sync::Arc::clone(&cx.session.connection.cancel);
    loop {
        let Some(database) = cx.session.catalog.database(name) else { return Ok(()) };
        let others = others_in(cx.session, database, access);
        if others.is_empty() {
            return Ok(());
        }
        let waited = Duration::from_nanos(sos::clock::monotonic_ns().saturating_sub(started));
        match termination {
            Termination::NoWait => return Err(in_use(name, cx)?),
            Termination::RollBack(after) if waited >= after => {
                // Repeated each time: a session may have entered before it saw the restriction.
                for id in others {
                    cx.session.instance.sessions.kill(i32::from(id));
                }
            }
            Termination::None | Termination::RollBack(_) => {}
        }
        // The wait type of SQL Server, which waits for the database's exclusive lock.
        if park::sleep(LOOK_AGAIN, WaitType::LockExclusive, Some(&cancel)) == Wake::Cancelled {
            cx.interrupted = Some(Interruption::Cancelled);
            return Err(Msg::AlterDatabaseFailed.into());
        }
    }
}

/// Sends the reason as a message, and returns the error that ends the statement.
fn in_use(database: &str, cx: &mut Cx<'_>) -> Result<Error> {
    let why = Error::from(Msg::DatabaseStateInUse(database)).at_line(cx.session.request.line);
    cx.sink.message(&why).map_err(|_| {
        cx.interrupted = Some(Interruption::Disconnected);
        Error::from(Msg::AlterDatabaseFailed)
    })?;
    Ok(Msg::AlterDatabaseFailed.into())
}
