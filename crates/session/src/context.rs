//! The principals that a session runs as: that of its login at first, then others from EXECUTE AS
//! until REVERT, or while a module with an EXECUTE AS clause runs.
//!
//! ```text
//!   current: SessionState::login, SessionState::rights
//!   stack:   [ principal before the 1st switch | before the 2nd | .. ]
//!                                              ^ base: what the running module or text may revert
//! ```
//!
//! A principal's permissions are its [`Rights`], whose key is part of every text's key in the
//! caches.

use std::sync::Arc;

use types::{Error, Msg, Result};

use crate::SessionState;
use catalog::security::Rights;
use catalog::{Database, ExecuteAs, Principal};

/// Length of a cookie in bytes.
const COOKIE_BYTES: usize = 16;
/// Id of the user that owns a database.
const DBO: i32 = 1;

/// How a context ends.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum End {
    /// By REVERT without a cookie.
    Revert,
    /// By REVERT WITH COOKIE and this cookie.
    Cookie(Vec<u8>),
    /// WITH NO REVERT: it lasts as long as the session.
    Session,
    /// When the module with the EXECUTE AS clause returns.
    Module,
}

impl End {
    /// Returns an end by a random cookie.
    pub fn by_cookie() -> Self {
        Self::Cookie(sos::sys::random_bytes::<COOKIE_BYTES>().to_vec())
    }
}

/// A principal that a session runs as.
#[derive(Clone, Debug)]
pub struct Identity {
    /// Login name, as SUSER_SNAME() returns it.
    pub login: String,
    /// Permissions of the principal.
    pub rights: Rights,
}

/// One switch of the principal.
#[derive(Debug)]
struct Context {
    /// The principal before the switch.
    outer: Identity,
    /// The database that was current at the switch.
    database: Arc<str>,
    end: End,
}

/// The switches of a session, innermost last.
#[derive(Debug, Default)]
pub struct Contexts {
    stack: Vec<Context>,
    /// Number of switches that REVERT may not undo.
    base: usize,
    /// The principal of the context that ended last, which is likely to be the next one again.
    spare: Option<Identity>,
}

impl SessionState {
    /// Switches to another principal.
    pub fn push_context(&mut self, who: Identity, end: End) {
        let login = std::mem::replace(&mut self.login, who.login);
        let rights = std::mem::replace(&mut self.rights, who.rights);
        let (outer, database) = (Identity { login, rights }, Arc::clone(&self.database));
        self.contexts.stack.push(Context { outer, database, end });
    }

    fn pop_context(&mut self) {
        let Some(context) = self.contexts.stack.pop() else { return };
        let login = std::mem::replace(&mut self.login, context.outer.login);
        let rights = std::mem::replace(&mut self.rights, context.outer.rights);
        self.contexts.spare = Some(Identity { login, rights });
    }

    /// Begins a module or dynamic SQL, which may revert only its own contexts; returns the argument
    /// for [`SessionState::leave_contexts`].
    #[inline]
    pub fn enter_contexts(&mut self) -> usize {
        std::mem::replace(&mut self.contexts.base, self.contexts.stack.len())
    }

    /// Ends the contexts that a module or dynamic SQL has left open.
    #[inline]
    pub fn leave_contexts(&mut self, outer: usize) {
        while self.contexts.stack.len() > self.contexts.base {
            self.pop_context();
        }
        self.contexts.base = outer;
    }

    /// Ends all contexts: the session runs as its login again.
    pub fn end_contexts(&mut self) {
        self.contexts.base = 0;
        self.leave_contexts(0);
    }

    /// Recomputes the permissions of all principals after a change of the catalog.
    pub fn renew_contexts(&mut self) {
        self.rights = self.rights.renewed(&self.catalog);
        self.contexts.spare = None;
        for context in &mut self.contexts.stack {
            context.outer.rights = context.outer.rights.renewed(&self.catalog);
        }
    }

    /// Switches to the principal of a module's EXECUTE AS clause. Returns whether a switch was
    /// needed, which [`SessionState::leave_module`] undoes: a sysadmin is `dbo` everywhere already.
    #[inline]
    pub fn enter_module(&mut self, database: i16, clause: Option<ExecuteAs>) -> bool {
        match clause {
            None => false,
            Some(clause) if clause.user == DBO && self.rights.is_all() => false,
            Some(clause) if self.rights.is_user(database, clause.user) => false,
            Some(clause) => self.switch_to(database, clause.user),
        }
    }

    fn switch_to(&mut self, database: i16, user: i32) -> bool {
        let spare = self.contexts.spare.take();
        let spare = spare.filter(|who| who.rights.is_user(database, user));
        let find = || {
            let database = self.catalog.database_by_id(database)?;
            let user = database.principals.values().find(|p| p.id == user)?;
            Some(as_user(database, user))
        };
        let Some(who) = spare.or_else(find) else { return false };
        self.push_context(who, End::Module);
        true
    }

    /// Switches back to the caller of the module.
    pub fn leave_module(&mut self, switched: bool) {
        if switched {
            self.pop_context();
        }
    }

    /// Returns the caller of the running module; outside a module, the session's principal.
    pub fn caller(&self) -> Identity {
        let below = self.contexts.stack.get(..self.contexts.base).and_then(<[Context]>::last);
        match below {
            Some(context) if context.end == End::Module => context.outer.clone(),
            _ => Identity { login: self.login.clone(), rights: self.rights.clone() },
        }
    }

    /// Ends the last context.
    ///
    /// # Errors
    /// 15199 in another database than where it began, 15196 for one made WITH NO REVERT, 15591 for
    /// the wrong cookie.
    pub fn revert(&mut self, cookie: Option<&[u8]>) -> Result<()> {
        if self.contexts.stack.len() <= self.contexts.base {
            return Ok(());
        }
        let Some(context) = self.contexts.stack.last() else { return Ok(()) };
        if context.database != self.database {
            return Err(Msg::RevertElsewhere("Execute As").into());
        }
        match (&context.end, cookie) {
            (End::Session, _) => return Err(Msg::NotRevertible.into()),
            (End::Cookie(wanted), Some(given)) if wanted == given => {}
            (End::Revert | End::Module, None) => {}
            (End::Cookie(_) | End::Revert | End::Module, _) => {
                return Err(Msg::RevertCookie.into());
            }
        }
        self.pop_context();
        Ok(())
    }

    /// Finds a user of the current database to impersonate.
    ///
    /// # Errors
    /// 15517 if there is none that may be impersonated.
    pub fn user_to_be(&self, name: &str) -> Result<Identity> {
        let refused = || Error::from(Msg::CannotExecuteAs(name));
        let database = self.catalog.database(&self.database).ok_or_else(refused)?;
        let user = database.user(name).ok_or_else(refused)?;
        match self.rights.may_be_user(database, user) {
            true => Ok(as_user(database, user)),
            false => Err(refused()),
        }
    }

    /// Finds a login to impersonate.
    ///
    /// # Errors
    /// 15406; 916 if it may not use the current database.
    pub fn login_to_be(&self, name: &str) -> Result<Identity> {
        let refused = || Error::from(Msg::CannotExecuteAsLogin(name));
        let login = self.catalog.logins.get(&catalog::name::Name::new(name));
        let login = login.ok_or_else(refused)?;
        if !self.rights.may_be_login(&self.catalog, login) {
            return Err(refused());
        }
        let rights = Rights::of(&self.catalog, &login.name);
        match self.catalog.database(&self.database) {
            Some(database) if !rights.enters(database) => {
                Err(Msg::NoDatabaseAccess(&login.name, &database.name).into())
            }
            _ => Ok(Identity { login: login.name.clone(), rights }),
        }
    }
}

fn as_user(database: &Database, user: &Principal) -> Identity {
    let login = user.login.clone().unwrap_or_else(|| user.own_sid_text(database.id));
    Identity { rights: Rights::of_user(&login, database.id, user.id), login }
}
