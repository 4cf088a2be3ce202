//! What GRANT, DENY and REVOKE ask for: CONTROL of what the permission is about, ALTER ANY LOGIN for those of the
//! server.

use std::sync::Arc;

use tsql::ast;
use types::{Msg, Result};

use super::Asker;
use crate::is_of_server;
use ::catalog::name::Name;
use ::catalog::security::{DB_SECURITY_ADMIN, Rights};
use ::catalog::{Catalog, Class, Database, Permission};

/// Checks that somebody may grant, deny and revoke by what it controls, and not by a grant option.
///
/// # Errors
/// 15151 and 4613.
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

/// Tells whether one of some principals holds a permission WITH GRANT OPTION, on the whole of a thing or the column
/// asked for.
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

/// Tells whether one of some principals is denied a permission: on the thing, on a column of it that is asked for, on its
/// schema or in the database.
pub fn is_denied(
    database: &Database,
    ids: &[i32],
    (class, id): (Class, i32),
    (permission, column): (&str, i32),
) -> bool {
    let object = if class == Class::Object { database.object_by_id(id) } else { None };
    let schema = object.and_then(|o| database.schema(o.schema())).map(|schema| schema.id);
    database.permissions.iter().any(|rule| {
        let covers = match rule.class {
            Class::Whole => true,
            Class::Schema if class == Class::Object => Some(rule.object_id) == schema,
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
    /// Who holds a permission WITH GRANT OPTION, and who speaks for another, is for the statement itself to look at
    /// closely (`exec/ddl/permission.rs`).
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
            // CONTROL SERVER is given by a login that has it, and that one is not asked.
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
