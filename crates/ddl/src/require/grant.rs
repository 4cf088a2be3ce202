//! Permissions that GRANT, DENY and REVOKE require: CONTROL of the securable, or ALTER ANY LOGIN
//! for permissions on the server.

use std::sync::Arc;

use tsql::ast;
use types::{Msg, Result};

use super::Asker;
use crate::is_of_server;
use ::catalog::name::Name;
use ::catalog::security::{DB_SECURITY_ADMIN, Rights};
use ::catalog::{Catalog, Class, Database, Permission};

/// Checks that the session may grant, deny and revoke because it controls the securable, without
/// regard to grant options.
///
/// # Errors
/// 15151 and 4613 if it does not.
pub fn controls(
    statement: &ast::Permission,
    rights: &Rights,
    catalog: &Arc<Catalog>,
    database: &Arc<Database>,
) -> Result<()> {
    match rights.is_all() {
        true => Ok(()),
        false => Asker { rights, catalog, database }.controls_granted(statement),
    }
}

/// Returns true if one of the principals holds a permission WITH GRANT OPTION, on the whole
/// securable or on the given column.
pub fn holds_option(
    rules: &[Permission],
    ids: &[i32],
    (class, id): (Class, i32),
    (permission, column): (&str, i32),
) -> bool {
    rules.iter().any(|rule| {
        rule.with_option
            && (rule.class, rule.object_id) == (class, id)
            && ids.contains(&rule.principal_id)
            && (rule.permission == permission || rule.permission == "CONTROL")
            && (rule.column_id == 0 || rule.column_id == column)
    })
}

/// Returns true if one of the principals is denied a permission: on the securable, on the given
/// column, on its schema or in the database.
pub fn is_denied(
    database: &Database,
    ids: &[i32],
    (class, id): (Class, i32),
    (permission, column): (&str, i32),
) -> bool {
    let object = if class == Class::Object { database.object_by_id(id) } else { None };
    let of_type = || database.types.values().find(|of| class == Class::Type && of.id == id);
    let schema = object.map(|o| o.schema()).or_else(|| of_type().map(|of| of.schema.as_str()));
    let schema = schema.and_then(|schema| database.schema(schema)).map(|schema| schema.id);
    database.permissions.iter().any(|rule| {
        let covers = match rule.class {
            Class::Whole => true,
            Class::Schema if matches!(class, Class::Object | Class::Type) => {
                Some(rule.object_id) == schema
            }
            of => (of, rule.object_id) == (class, id),
        };
        covers
            && !rule.granted
            && ids.contains(&rule.principal_id)
            && (rule.permission == permission || rule.permission == "CONTROL")
            && (rule.column_id == 0 || rule.column_id == column)
    })
}

impl Asker<'_> {
    /// Checks the permission to grant. Grant options and AS need a closer look, which
    /// `permission.rs` takes when the statement runs.
    pub(super) fn grants(&self, statement: &ast::Permission) -> Result<()> {
        let rules = match is_of_server(statement) {
            true => &self.catalog.server_permissions,
            false => &self.database.permissions,
        };
        if statement.grantor.is_some() || rules.iter().any(|rule| rule.with_option) {
            return Ok(());
        }
        self.controls_granted(statement)
    }

    fn controls_granted(&self, statement: &ast::Permission) -> Result<()> {
        let (rights, database) = (self.rights, self.database);
        if is_of_server(statement) {
            // Only a login with CONTROL SERVER can grant it, and such a login is not checked here.
            let of_all = statement.permissions.iter().any(|(name, _)| &**name == "CONTROL SERVER");
            let may = !of_all && rights.has_of_server(self.catalog, "ALTER ANY LOGIN");
            return if may { Ok(()) } else { Err(Msg::NoGrantPermission.into()) };
        }
        let manages =
            rights.owns(database) || rights.principals(database).contains(&DB_SECURITY_ADMIN);
        if manages {
            return Ok(());
        }
        let Some(securable) = &statement.securable else {
            return match rights.has_of_database(database, "CONTROL") {
                true => Ok(()),
                false => Err(Msg::NoGrantPermission.into()),
            };
        };
        let name = &securable.name;
        let (kind, may) = match securable.class.as_deref() {
            None | Some("OBJECT") => ("object", self.controls(name)),
            Some("SCHEMA") => {
                let schema = database.schema(&name.object);
                let may = |schema| rights.has_on_schema(database, schema, "CONTROL");
                ("schema", schema.is_none_or(may))
            }
            Some("TYPE") => {
                let found = self.of_type(name).map(|(_, of)| of);
                let may = |of| rights.has_on_type(database, of, "CONTROL");
                ("type", found.is_none_or(may))
            }
            Some("USER" | "ROLE") => {
                let found = database.principals.get(&Name::new(&name.object));
                let may = found.is_none_or(|p| rights.controls_principal(database, p.id));
                ("principal", may)
            }
            _ => ("database", rights.has_of_database(database, "CONTROL")),
        };
        match may {
            true => Ok(()),
            false => Err(Msg::PrincipalNotFound("find", kind, &name.object).into()),
        }
    }
}
