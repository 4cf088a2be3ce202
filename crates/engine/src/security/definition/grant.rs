//! What GRANT, DENY and REVOKE ask for: CONTROL of what the permission is about, ALTER ANY LOGIN for those of the
//! server.

use tsql::ast;
use types::{Msg, Result};

use super::Asker;
use crate::catalog::name::Name;
use crate::exec::ddl::is_of_server;
use crate::security::DB_SECURITY_ADMIN;

impl Asker<'_> {
    pub(super) fn grants(&self, statement: &ast::Permission) -> Result<()> {
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
