//! `Identity`: the principals that a session runs as, and its current database. The principal is
//! that of its login at first, then others from EXECUTE AS until REVERT, or while a module with an
//! EXECUTE AS clause runs.
//!
//! ```text
//!   current: Identity::login, Identity::rights
//!   stack:   [ principal before the 1st switch | before the 2nd | .. ]
//!                                              ^ base: what the running module or text may revert
//! ```
//!
//! A principal's permissions are its [`Rights`], whose key is part of every text's key in the
//! caches.

use std::sync::Arc;

use types::{Error, Msg, Result};

use crate::SessionState;
use crate::delay::Place;
use catalog::security::Rights;
use catalog::{Catalog, Database, ExecuteAs, Principal};

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

/// A principal that a session runs as, with its permissions.
#[derive(Clone, Debug)]
pub struct SecurityToken {
    /// Login name, as SUSER_SNAME() returns it.
    pub login: String,
    /// Permissions of the principal.
    pub rights: Rights,
}

/// One switch of the principal.
#[derive(Clone, Debug)]
struct Context {
    /// The principal before the switch.
    outer: SecurityToken,
    /// The database that was current at the switch.
    database: Arc<str>,
    end: End,
}

/// Who the session runs as, and in which database. A reset of the connection returns to the login
/// and its database.
#[derive(Clone, Debug)]
pub struct Identity {
    /// Name of the login that the session runs as: the one that logged in, unless EXECUTE AS has
    /// switched it.
    pub login: String,
    /// Permissions of the login under the current catalog snapshot.
    pub rights: Rights,
    /// Name of the current database, in the spelling of CREATE. Changed by
    /// [`SessionState::enter_database`].
    pub database: Arc<str>,
    /// What is known of the current database.
    pub place: Place,
    /// The switches of the principal, innermost last.
    stack: Vec<Context>,
    /// Number of switches that REVERT may not undo.
    base: usize,
    /// The principal of the context that ended last, which is likely to be the next one again.
    spare: Option<SecurityToken>,
}

impl Identity {
    /// Returns the identity of a session that logs in.
    pub fn at_login(login: String, rights: Rights, database: Arc<str>, catalog: &Catalog) -> Self {
        let mut identity = Self::new(login, rights, database);
        identity.find_place(catalog);
        identity
    }

    fn new(login: String, rights: Rights, database: Arc<str>) -> Self {
        let place = Place::default();
        Self { login, rights, database, place, stack: Vec::new(), base: 0, spare: None }
    }

    /// Returns the identity of a helper, which switches no principal.
    pub(crate) fn of_helper(&self) -> Self {
        let mut identity =
            Self::new(self.login.clone(), self.rights.clone(), Arc::clone(&self.database));
        identity.place = self.place;
        identity
    }

    /// Switches to another principal.
    pub fn push_context(&mut self, who: SecurityToken, end: End) {
        let login = std::mem::replace(&mut self.login, who.login);
        let rights = std::mem::replace(&mut self.rights, who.rights);
        let (outer, database) = (SecurityToken { login, rights }, Arc::clone(&self.database));
        self.stack.push(Context { outer, database, end });
    }

    fn pop_context(&mut self) {
        let Some(context) = self.stack.pop() else { return };
        let login = std::mem::replace(&mut self.login, context.outer.login);
        let rights = std::mem::replace(&mut self.rights, context.outer.rights);
        self.spare = Some(SecurityToken { login, rights });
    }

    /// Begins a module or dynamic SQL, which may revert only its own contexts; returns the argument
    /// for [`Identity::leave_contexts`].
    #[inline]
    pub fn enter_contexts(&mut self) -> usize {
        std::mem::replace(&mut self.base, self.stack.len())
    }

    /// Ends the contexts that a module or dynamic SQL has left open.
    #[inline]
    pub fn leave_contexts(&mut self, outer: usize) {
        while self.stack.len() > self.base {
            self.pop_context();
        }
        self.base = outer;
    }

    /// Ends all contexts: the session runs as its login again.
    pub fn end_contexts(&mut self) {
        self.base = 0;
        self.leave_contexts(0);
    }

    /// Recomputes the permissions of all principals, and what is known of the current database,
    /// after a change of the catalog.
    pub fn renew(&mut self, catalog: &Catalog) {
        self.rights = self.rights.renewed(catalog);
        self.find_place(catalog);
        self.spare = None;
        for context in &mut self.stack {
            context.outer.rights = context.outer.rights.renewed(catalog);
        }
    }

    /// Switches back to the caller of the module.
    pub fn leave_module(&mut self, switched: bool) {
        if switched {
            self.pop_context();
        }
    }

    /// Returns the caller of the running module; outside a module, the session's principal.
    pub fn caller(&self) -> SecurityToken {
        let below = self.stack.get(..self.base).and_then(<[Context]>::last);
        match below {
            Some(context) if context.end == End::Module => context.outer.clone(),
            _ => SecurityToken { login: self.login.clone(), rights: self.rights.clone() },
        }
    }

    /// Ends the last context.
    ///
    /// # Errors
    /// 15199 in another database than where it began, 15196 for one made WITH NO REVERT, 15591 for
    /// the wrong cookie.
    pub fn revert(&mut self, cookie: Option<&[u8]>) -> Result<()> {
        if self.stack.len() <= self.base {
            return Ok(());
        }
        let Some(context) = self.stack.last() else { return Ok(()) };
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
}

impl SessionState {
    /// Switches to the principal of a module's EXECUTE AS clause. Returns whether a switch was
    /// needed, which [`Identity::leave_module`] undoes: a sysadmin is `dbo` everywhere already.
    #[inline]
    pub fn enter_module(&mut self, database: i16, clause: Option<ExecuteAs>) -> bool {
        match clause {
            None => false,
            Some(clause) if clause.user == DBO && self.identity.rights.is_all() => false,
            Some(clause) if self.identity.rights.is_user(database, clause.user) => false,
            Some(clause) => self.switch_to(database, clause.user),
        }
    }

    fn switch_to(&mut self, database: i16, user: i32) -> bool {
        let spare = self.identity.spare.take();
        let spare = spare.filter(|who| who.rights.is_user(database, user));
        let find = || {
            let database = self.catalog.database_by_id(database)?;
            let user = database.principals.values().find(|p| p.id == user)?;
            Some(as_user(database, user))
        };
        let Some(who) = spare.or_else(find) else { return false };
        self.identity.push_context(who, End::Module);
        true
    }

    /// Finds a user of the current database to impersonate.
    ///
    /// # Errors
    /// 15517 if there is none that may be impersonated.
    pub fn user_to_be(&self, name: &str) -> Result<SecurityToken> {
        let refused = || Error::from(Msg::CannotExecuteAs(name));
        let database = self.catalog.database(&self.identity.database).ok_or_else(refused)?;
        let user = database.user(name).ok_or_else(refused)?;
        match self.identity.rights.may_be_user(database, user) {
            true => Ok(as_user(database, user)),
            false => Err(refused()),
        }
    }

    /// Finds a login to impersonate.
    ///
    /// # Errors
    /// 15406; 916 if it may not use the current database.
    pub fn login_to_be(&self, name: &str) -> Result<SecurityToken> {
        let refused = || Error::from(Msg::CannotExecuteAsLogin(name));
        let login = self.catalog.logins.get(&catalog::name::Name::new(name));
        let login = login.ok_or_else(refused)?;
        if !self.identity.rights.may_be_login(&self.catalog, login) {
            return Err(refused());
        }
        let rights = Rights::of(&self.catalog, &login.name);
        match self.catalog.database(&self.identity.database) {
            Some(database) if !rights.enters(database) => {
                Err(Msg::NoDatabaseAccess(&login.name, &database.name).into())
            }
            _ => Ok(SecurityToken { login: login.name.clone(), rights }),
        }
    }
}

fn as_user(database: &Database, user: &Principal) -> SecurityToken {
    let login = user.login.clone().unwrap_or_else(|| user.own_sid_text(database.id));
    SecurityToken { rights: Rights::of_user(&login, database.id, user.id), login }
}
