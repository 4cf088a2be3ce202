//! Who may be in a database: MULTI_USER, RESTRICTED_USER and SINGLE_USER of ALTER DATABASE, what becomes
//! of the sessions that are in it, and the checks of those that want to enter.
//!
//! A restriction is published first, so that nobody comes in any more, and then the others have to go:
//! they are waited for, or ended at once or after some time. A statement that gives up, because of
//! NO_WAIT or because it is cancelled, puts back what was before.
//!
//! What is checked is who is in a database, by USE or by login. A statement that reads it by a name of
//! three parts is not.

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

/// Between two looks at who is left in the database.
const LOOK_AGAIN: Duration = Duration::from_millis(10);

/// What becomes of the others.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Termination {
    /// They are waited for.
    None,
    /// NO_WAIT: the statement fails if there are any.
    NoWait,
    /// ROLLBACK: they are ended after so long.
    RollBack(Duration),
}

impl Termination {
    /// Of the words behind WITH, as the parser gives them.
    fn of(words: Option<&str>) -> Self {
        let Some(words) = words else { return Self::None };
        if words == "NO_WAIT" {
            return Self::NoWait;
        }
        let seconds = words.strip_prefix("ROLLBACK AFTER ").and_then(|n| n.parse().ok());
        Self::RollBack(Duration::from_secs(seconds.unwrap_or(0)))
    }
}

/// The access that a list of options sets, if one of them does.
pub fn of_options(options: &[NamedOption]) -> Option<UserAccess> {
    options.iter().rev().find_map(|option| UserAccess::by_name(&option.name))
}

/// Whether a session may come to be in a database.
///
/// # Errors
/// 924 if it is another's alone, 923 if it is for its owners.
pub fn check_entry(session: &SessionState, database: &Database) -> Result<()> {
    match database.options.user_access {
        UserAccess::Multi => Ok(()),
        UserAccess::Single if others_in(session, database, UserAccess::Single).is_empty() => Ok(()),
        UserAccess::Single => Err(Msg::DatabaseSingleUser(&database.name).into()),
        UserAccess::Restricted => match is_privileged(&session.rights, session, database) {
            true => Ok(()),
            false => Err(Msg::DatabaseRestricted(&database.name).into()),
        },
    }
}

/// Whether there is another session in a database.
pub fn is_in_use(session: &SessionState, database: &Database) -> bool {
    !others_in(session, database, UserAccess::Single).is_empty()
}

fn is_privileged(rights: &Rights, session: &SessionState, database: &Database) -> bool {
    rights.owns(database) || rights.makes_databases(&session.catalog)
}

/// The ids of the other sessions in a database that an access keeps out.
fn others_in(session: &SessionState, database: &Database, access: UserAccess) -> Vec<i16> {
    let cards = session.instance.sessions.cards();
    let kept_out = |login: &str| match access {
        UserAccess::Multi => false,
        UserAccess::Single => true,
        UserAccess::Restricted => {
            !is_privileged(&Rights::of(&session.catalog, login), session, database)
        }
    };
    let in_it = cards
        .iter()
        .filter(|card| card.id != session.id && Name::same(&card.facts().database, &database.name));
    in_it.filter(|card| kept_out(&card.login)).map(|card| card.id).collect()
}

/// Gives a database another access, `words` being what follows WITH. The other options of the statement
/// come after it.
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

/// Gets those out whom an access keeps out.
fn clear(name: &str, access: UserAccess, termination: Termination, cx: &mut Cx<'_>) -> Result<()> {
    let started = sos::clock::monotonic_ns();
    let cancel = std::sync::Arc::clone(&cx.session.cancel);
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
                // Again each time: one may have come in before the restriction was known to it.
                for id in others {
                    cx.session.instance.sessions.kill(i32::from(id));
                }
            }
            Termination::None | Termination::RollBack(_) => {}
        }
        // As SQL Server, which waits for the database's exclusive lock.
        if park::sleep(LOOK_AGAIN, WaitType::LockExclusive, Some(&cancel)) == Wake::Cancelled {
            cx.interrupted = Some(Interruption::Cancelled);
            return Err(Msg::AlterDatabaseFailed.into());
        }
    }
}

/// Says why, and returns the error that ends the statement.
fn in_use(database: &str, cx: &mut Cx<'_>) -> Result<Error> {
    let why = Error::from(Msg::DatabaseStateInUse(database)).at_line(cx.session.line);
    cx.sink.message(&why).map_err(|_| {
        cx.interrupted = Some(Interruption::Disconnected);
        Error::from(Msg::AlterDatabaseFailed)
    })?;
    Ok(Msg::AlterDatabaseFailed.into())
}
