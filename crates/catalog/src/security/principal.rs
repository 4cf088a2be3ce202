//! Permissions to impersonate and to manage principals.

use std::collections::BTreeSet;
use std::sync::Arc;

use super::{Class, DBO, FIXED_ROLE_FIRST, Rights, SERVER_PUBLIC, verdict};
use crate::SA_PRINCIPAL;
use crate::{Catalog, Database, Login, Permission, Principal};

impl Rights {
    /// Returns whether EXECUTE AS USER is allowed: as oneself, as any user for the database's
    /// owner, or by IMPERSONATE.
    pub fn may_be_user(&self, database: &Database, user: &Principal) -> bool {
        if self.owns(database) {
            return true;
        }
        let ids = self.principals(database);
        ids.get(1) == Some(&user.id) || self.is_granted_on(database, user.id, "IMPERSONATE")
    }

    /// Returns whether a GRANT on a user or role, or CONTROL of the database, gives this
    /// permission.
    pub fn is_granted_on(&self, database: &Database, principal: i32, permission: &str) -> bool {
        let ids = self.principals(database);
        let about = |p: &&Permission| {
            let covers = match p.class {
                Class::Whole => p.permission == "CONTROL",
                Class::Principal => {
                    p.object_id == principal
                        && (p.permission == permission || p.permission == "CONTROL")
                }
                Class::Object | Class::Schema | Class::Type => false,
            };
            covers && ids.contains(&p.principal_id)
        };
        verdict(database.permissions.iter().filter(about)) == Some(true)
    }

    /// Returns whether EXECUTE AS LOGIN is allowed: as oneself, as any login for a sysadmin, or by
    /// IMPERSONATE.
    pub fn may_be_login(&self, catalog: &Catalog, wanted: &Login) -> bool {
        let Some(own) = self.own_login(catalog) else { return self.all };
        let about = |p: &&Permission| {
            let covers = match p.class {
                Class::Whole => p.permission == "IMPERSONATE ANY LOGIN",
                Class::Principal => {
                    p.object_id == wanted.principal_id
                        && (p.permission == "IMPERSONATE" || p.permission == "CONTROL")
                }
                Class::Object | Class::Schema | Class::Type => false,
            };
            covers && (p.principal_id == own.principal_id || p.principal_id == SERVER_PUBLIC)
        };
        self.all
            || own.principal_id == wanted.principal_id
            || verdict(catalog.server_permissions.iter().filter(about)) == Some(true)
    }

    /// Returns whether a GRANT on a login, or CONTROL SERVER, gives this permission.
    pub fn is_granted_on_login(&self, catalog: &Catalog, wanted: &Login, permission: &str) -> bool {
        let Some(own) = self.own_login(catalog) else { return self.all };
        let about = |p: &&Permission| {
            p.class == Class::Principal
                && p.object_id == wanted.principal_id
                && (p.permission == permission || p.permission == "CONTROL")
                && (p.principal_id == own.principal_id || p.principal_id == SERVER_PUBLIC)
        };
        self.all || verdict(catalog.server_permissions.iter().filter(about)) == Some(true)
    }

    /// Returns whether the login may alter or drop another one: by ALTER ANY LOGIN, or ALTER on it;
    /// for a sysadmin's login, CONTROL SERVER is needed.
    pub fn alters_login(&self, catalog: &Catalog, wanted: &Login) -> bool {
        let granted = || {
            self.has_of_server(catalog, "ALTER ANY LOGIN")
                || self.is_granted_on_login(catalog, wanted, "ALTER")
        };
        self.all || (!Self::of(catalog, &wanted.name).all && granted())
    }

    /// Returns the logins that catalog views show: all with ALTER ANY LOGIN or VIEW ANY DEFINITION;
    /// otherwise the login itself, those it has a permission on, and `sa`.
    pub fn logins_in_sight<'c>(
        &self,
        catalog: &'c Catalog,
    ) -> impl Iterator<Item = &'c Arc<Login>> {
        let sees_all = self.has_of_server(catalog, "ALTER ANY LOGIN")
            || self.has_of_server(catalog, "VIEW ANY DEFINITION");
        let own = self.own_login_id(catalog).into_iter();
        let shown: BTreeSet<i32> = match sees_all {
            true => BTreeSet::new(),
            false => {
                let me: Vec<i32> = own.chain([SERVER_PUBLIC]).collect();
                let has_on = catalog.server_permissions.iter().filter(|p| {
                    p.class == Class::Principal && p.granted && me.contains(&p.principal_id)
                });
                let on_it = has_on.map(|p| p.object_id).collect::<Vec<_>>();
                me.into_iter().chain(on_it).chain([SA_PRINCIPAL]).collect()
            }
        };
        catalog.logins.values().filter(move |login| sees_all || shown.contains(&login.principal_id))
    }

    /// Returns whether the session's login is this one.
    pub fn is_login(&self, catalog: &Catalog, wanted: &Login) -> bool {
        self.own_login(catalog).is_some_and(|own| own.principal_id == wanted.principal_id)
    }

    /// Returns whether the login may change a role's members: by ALTER ANY ROLE, or ALTER on the
    /// role; for a fixed role, only as owner of the database.
    pub fn alters_role(&self, database: &Database, role: &Principal) -> bool {
        let is_fixed = role.id >= FIXED_ROLE_FIRST;
        self.owns(database)
            || (!is_fixed
                && (self.principals(database).contains(&role.owner)
                    || self.has_of_database(database, "ALTER ANY ROLE")
                    || self.is_granted_on(database, role.id, "ALTER")))
    }

    /// Returns whether the login may make a principal an owner or EXECUTE AS user: it is that
    /// principal,
    /// is a member of it, or may impersonate it.
    pub fn may_give_to(&self, database: &Database, principal: &Principal) -> bool {
        self.may_be_user(database, principal)
            || self.principals(database)[1..].contains(&principal.id)
    }

    /// Returns whether the login may grant permissions on a user or role.
    pub fn controls_principal(&self, database: &Database, principal: i32) -> bool {
        principal != DBO && self.is_granted_on(database, principal, "CONTROL")
    }
}
