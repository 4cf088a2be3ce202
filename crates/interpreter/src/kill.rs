//! KILL: ends another session at its next check for cancellation.

use tsql::ast;
use types::{Error, Msg};

use crate::{Runner, Stop};
use ::executor::Cx;
use ::plan::program::{Leaf, LeafAst};

/// The least number of a session that is not the system's.
const SESSION_FIRST: i32 = 51;
/// The largest number of a session.
const SESSION_LAST: i32 = 32_767;

impl Runner<'_> {
    /// Runs KILL.
    ///
    /// # Errors
    /// 6102 without ALTER ANY CONNECTION, 6101 for a number that no session can have, 6104 for the own session,
    /// 6107 for a session of the system, 6106 for a session that is not there.
    pub(crate) fn kill(&self, kill: &ast::Kill, cx: &mut Cx<'_>) -> Result<(), Stop> {
        if !cx.session.identity.rights.has_of_server(&cx.session.catalog, "ALTER ANY CONNECTION") {
            let text = "User does not have permission to use the KILL statement.";
            return Err(Error::custom(6102, 14, 1, text).into());
        }
        let leaf = Leaf::new(LeafAst::Value(kill.target.clone()));
        let Some(id) = self.int(&leaf, cx)? else {
            return Err(Msg::NotSupported("KILL of a unit of work").into());
        };
        match id {
            1..SESSION_FIRST => return Err(Msg::OnlyUserProcesses.into()),
            SESSION_FIRST..=SESSION_LAST => {}
            _ => return Err(Msg::NotAValidSession(&id.to_string()).into()),
        }
        if kill.status_only {
            // KILL WITH STATUSONLY: rollback is immediate, so none is ever in progress.
            let cards = cx.session.instance.sessions.cards();
            let is_there = cards.iter().any(|card| i32::from(card.id) == id);
            return Err(match is_there {
                true => Msg::NotRollingBack(i64::from(id)).into(),
                false => Msg::NotAnActiveSession(i64::from(id)).into(),
            });
        }
        if i32::from(cx.session.connection.id) == id {
            return Err(Msg::CannotKillSelf.into());
        }
        if !cx.session.instance.sessions.kill(id) {
            return Err(Msg::NotAnActiveSession(i64::from(id)).into());
        }
        Ok(())
    }
}
