//! What a login may do: fixed roles, permissions of the server, of a database, and of what is in it.
//!
//! Asked when a statement is bound, not for each row. A plan that was bound with checks belongs to
//! texts of that login alone (`Rights::key` is part of a text's key in the caches); GRANT, DENY and
//! REVOKE make a new version of the catalog, and with it new plans.
//!
//! What a module does inside is not asked again where the chain of ownership holds: where the object has the
//! module's owner (`owner.rs`). Definitions, DBCC and what shows the state of the server are outside of the
//! chain. docs/permissions.md lists what everything asks for.

mod database;
mod guard;
mod object;
mod owner;
mod principal;
mod rules;
mod server;
mod visible;

use std::sync::Arc;

use crate::name::Name;
use crate::{Catalog, Class, DBO, Database, Login, Permission, Principal, PrincipalKind};

pub use database::VIEW_STATE;
pub use guard::Guard;
pub use object::{
    Securable, check_object, check_references, has_on_column, has_on_object, is_of_column,
};
pub use owner::Owner;
pub use rules::{Bits, DEFINITION, Rules};
pub use server::{State, state_of};
pub use visible::Copies;

/// `principal_id` of the server's public role.
pub const SERVER_PUBLIC: i32 = 2;

/// Ids of principals that every database has.
const PUBLIC: i32 = 0;
const GUEST: i32 = 2;
const DB_OWNER: i32 = 16_384;
const DB_ACCESS_ADMIN: i32 = 16_385;
/// `principal_id` of the role db_securityadmin.
pub const DB_SECURITY_ADMIN: i32 = 16_386;
const DB_DDL_ADMIN: i32 = 16_387;
const DB_BACKUP_OPERATOR: i32 = 16_389;
const DB_DATA_READER: i32 = 16_390;
const DB_DATA_WRITER: i32 = 16_391;
const DB_DENY_DATA_READER: i32 = 16_392;
const DB_DENY_DATA_WRITER: i32 = 16_393;
/// Ids of fixed roles begin here; db_owner is the first.
/// `principal_id` of the first fixed role.
pub const FIXED_ROLE_FIRST: i32 = DB_OWNER;

/// What a login may do, as of a version of the catalog.
#[derive(Clone, Debug)]
pub struct Rights {
    login: String,
    id: i32,
    all: bool,
    server_state: bool,
    /// Database and id of the user that EXECUTE AS USER or a module's clause has made of the session:
    /// nothing of the server counts then.
    user: Option<(i16, i32)>,
}

impl Rights {
    /// Finds out what a login may do.
    pub fn of(catalog: &Catalog, login: &str) -> Self {
        let found = catalog.logins.get(&Name::new(login));
        let has = |permission| found.is_some_and(|l| server::has(catalog, l, permission));
        let all = found.is_some_and(|l| l.sysadmin) || has("CONTROL SERVER");
        Self {
            login: login.to_owned(),
            id: found.map_or(-1, |l| l.principal_id),
            all,
            server_state: all || has("VIEW SERVER PERFORMANCE STATE"),
            user: None,
        }
    }

    /// What a user of a database may do, and nothing of what its login may.
    pub fn of_user(login: &str, database: i16, user: i32) -> Self {
        // Below those of logins, and of no other user.
        let id = -(i32::from(database) << 16 | user) - 2;
        let login = login.to_owned();
        Self { login, id, all: false, server_state: false, user: Some((database, user)) }
    }

    /// The same principal's by another version of the catalog.
    pub fn renewed(&self, catalog: &Catalog) -> Self {
        if self.user.is_some() { self.clone() } else { Self::of(catalog, &self.login) }
    }

    /// Returns whether the session runs as a user of a database and not as its login.
    #[inline]
    pub fn is_user(&self, database: i16, user: i32) -> bool {
        self.user == Some((database, user))
    }

    /// The user that the session runs as, and its database.
    pub fn user(&self) -> Option<(i16, i32)> {
        self.user
    }

    /// The login whose permissions of the server count.
    fn own_login<'c>(&self, catalog: &'c Catalog) -> Option<&'c Arc<Login>> {
        match self.user {
            Some(_) => None,
            None => catalog.logins.get(&Name::new(&self.login)),
        }
    }

    /// The id of the login whose permissions of the server count.
    pub fn own_login_id(&self, catalog: &Catalog) -> Option<i32> {
        self.own_login(catalog).map(|login| login.principal_id)
    }

    /// The id of the session's user in a database; none for a guest.
    pub fn own_user(&self, database: &Database) -> Option<i32> {
        self.principals(database).get(1).copied().filter(|id| *id != GUEST)
    }

    /// Returns whether nothing is forbidden.
    #[inline]
    pub fn is_all(&self) -> bool {
        self.all
    }

    /// Tells whose plans the login can share: 0 for those that were bound without a check.
    #[inline]
    pub fn key(&self) -> i32 {
        if self.all { 0 } else { self.id }
    }

    /// Returns whether the login may enter a database: it has a user there, or guests are let in.
    pub fn enters(&self, database: &Database) -> bool {
        const WITH_GUEST: [&str; 3] = ["master", "tempdb", "msdb"];
        let has_guest = WITH_GUEST.iter().any(|name| Name::same(name, &database.name));
        self.all || has_guest || !self.principals(database).contains(&GUEST)
    }

    /// The login's user in a database, `guest` if it has none, with all roles that it is a member of.
    pub fn principals(&self, database: &Database) -> Vec<i32> {
        let is_it = |p: &&Arc<Principal>| {
            p.kind == PrincipalKind::SqlUser
                && p.login.as_ref().is_some_and(|l| Name::same(l, &self.login))
        };
        let user = match self.user {
            Some((place, id)) if place == database.id => id,
            Some(_) => GUEST,
            None => database.principals.values().find(is_it).map_or(GUEST, |u| u.id),
        };
        memberships(database, user)
    }
}

/// The principal `public`, a user or role, and all roles that it is a member of, by other roles too.
pub fn memberships(database: &Database, principal: i32) -> Vec<i32> {
    let mut ids = vec![PUBLIC, principal];
    if principal == DBO {
        ids.push(DB_OWNER);
    }
    let mut next = 1;
    while let Some(id) = ids.get(next).copied() {
        next += 1;
        let roles = database.principals.values().filter(|p| p.id == id);
        for role in roles.flat_map(|p| &p.member_of) {
            if !ids.contains(role) {
                ids.push(*role);
            }
        }
    }
    ids
}

/// What some rules say together: nothing, yes, or no if one of them denies.
fn verdict<'p>(rules: impl Iterator<Item = &'p Permission>) -> Option<bool> {
    let mut said = None;
    for rule in rules {
        if !rule.granted {
            return Some(false);
        }
        said = Some(true);
    }
    said
}
