//! Permission checks of a login: fixed roles, permissions of the server, of a database, and of its
//! objects.
//!
//! Permissions are checked when a statement is bound, not for each row. A plan that was bound with
//! checks is reused only for texts of the same login (`Rights::key` is part of the caches' key);
//! GRANT, DENY and REVOKE create a new catalog version, and so new plans.
//!
//! What a module does is not checked again while the ownership chain is unbroken: while the object
//! has the module's owner (`owner.rs`). DDL, DBCC and views about the state of the server are not
//! part of the chain. docs/permissions.md lists the permission that each statement needs.

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
/// `principal_id` of the first fixed role, db_owner.
pub const FIXED_ROLE_FIRST: i32 = DB_OWNER;

/// The permissions of a login, as of one version of the catalog.
#[derive(Clone, Debug)]
pub struct Rights {
    login: String,
    id: i32,
    sysadmin: bool,
    all: bool,
    server_state: bool,
    /// Database and user id while the session runs as a database user (EXECUTE AS USER, or a
    /// module's clause). Server permissions do not apply then.
    user: Option<(i16, i32)>,
}

impl Rights {
    /// Returns the permissions of a login.
    pub fn of(catalog: &Catalog, login: &str) -> Self {
        let found = catalog.logins.get(&Name::new(login));
        let has = |permission| found.is_some_and(|l| server::has(catalog, l, permission));
        let sysadmin = found.is_some_and(|l| l.sysadmin);
        let all = sysadmin || has("CONTROL SERVER");
        Self {
            login: login.to_owned(),
            id: found.map_or(-1, |l| l.principal_id),
            sysadmin,
            all,
            server_state: all || has("VIEW SERVER PERFORMANCE STATE"),
            user: None,
        }
    }

    /// Returns the permissions of a database user, without those of its login.
    pub fn of_user(login: &str, database: i16, user: i32) -> Self {
        // Ids below those of logins, unique per database and user.
        let id = -(i32::from(database) << 16 | user) - 2;
        let login = login.to_owned();
        Self {
            login,
            id,
            sysadmin: false,
            all: false,
            server_state: false,
            user: Some((database, user)),
        }
    }

    /// Returns the same principal's permissions under another catalog version.
    pub fn renewed(&self, catalog: &Catalog) -> Self {
        if self.user.is_some() { self.clone() } else { Self::of(catalog, &self.login) }
    }

    /// Returns whether the session runs as this database user instead of its login.
    #[inline]
    pub fn is_user(&self, database: i16, user: i32) -> bool {
        self.user == Some((database, user))
    }

    /// Returns the user that the session runs as, and its database.
    pub fn user(&self) -> Option<(i16, i32)> {
        self.user
    }

    /// Returns the login whose server permissions apply.
    fn own_login<'c>(&self, catalog: &'c Catalog) -> Option<&'c Arc<Login>> {
        match self.user {
            Some(_) => None,
            None => catalog.logins.get(&Name::new(&self.login)),
        }
    }

    /// Returns the id of the login whose server permissions apply.
    pub fn own_login_id(&self, catalog: &Catalog) -> Option<i32> {
        self.own_login(catalog).map(|login| login.principal_id)
    }

    /// Returns the id of the session's user in a database; `None` for a guest.
    pub fn own_user(&self, database: &Database) -> Option<i32> {
        self.principals(database).get(1).copied().filter(|id| *id != GUEST)
    }

    /// Returns the name of the login.
    pub fn login(&self) -> &str {
        &self.login
    }

    /// Returns whether every permission is held, so that no check is needed.
    #[inline]
    pub fn is_all(&self) -> bool {
        self.all
    }

    /// Returns whether the session runs as a member of sysadmin, which is dbo in every database.
    #[inline]
    pub fn is_sysadmin(&self) -> bool {
        self.sysadmin
    }

    /// Returns the key under which plans can be shared: 0 for those of a sysadmin, which are bound
    /// without a check. Others with every permission have other default schemas.
    #[inline]
    pub fn key(&self) -> i32 {
        if self.sysadmin { 0 } else { self.id }
    }

    /// Returns whether the login may use a database: it has a user there, or guest is enabled.
    pub fn enters(&self, database: &Database) -> bool {
        const WITH_GUEST: [&str; 3] = ["master", "tempdb", "msdb"];
        let has_guest = WITH_GUEST.iter().any(|name| Name::same(name, &database.name));
        self.all || has_guest || !self.principals(database).contains(&GUEST)
    }

    /// Returns the login's user in a database (`guest` if it has none), and all roles that contain
    /// it.
    pub fn principals(&self, database: &Database) -> Vec<i32> {
        memberships(database, self.user_in(database))
    }

    /// Returns the id of the login's user in a database: `guest` if it has none.
    pub(crate) fn user_in(&self, database: &Database) -> i32 {
        let is_it = |p: &&Arc<Principal>| {
            p.kind == PrincipalKind::SqlUser
                && p.login.as_ref().is_some_and(|l| Name::same(l, &self.login))
        };
        match self.user {
            Some((place, id)) if place == database.id => id,
            Some(_) => GUEST,
            None => database.principals.values().find(is_it).map_or(GUEST, |u| u.id),
        }
    }
}

/// Returns the principal `public`, a user or role, and all roles that contain it, directly or not.
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

/// Returns the combined result of permissions: `None` without any, false if one is a DENY.
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
