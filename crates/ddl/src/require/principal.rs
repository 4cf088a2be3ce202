//! Permissions that statements about logins, users and roles require.

use tsql::ast::{self, LoginOption, PrincipalAction, PrincipalKind};
use types::{Msg, Result};

use super::{Asker, not_permitted};
use ::catalog::Principal;
use ::catalog::name::Name;

impl Asker<'_> {
    pub(super) fn principal(&self, statement: &ast::PrincipalStatement) -> Result<()> {
        let name = statement.name.as_str();
        match (statement.kind, &statement.action) {
            (PrincipalKind::Login, PrincipalAction::CreateLogin { .. }) => {
                self.of_server("ALTER ANY LOGIN", not_permitted)
            }
            (PrincipalKind::Login, PrincipalAction::AlterLogin(options)) => {
                self.alters_login(name, options)
            }
            (PrincipalKind::Login, _) => self.alters_login(name, &[]),
            (PrincipalKind::ServerRole, _) => {
                // A member of a fixed server role may add others to it.
                let role = metadata::function::principal::SERVER_ROLES;
                let role = role.iter().find(|role| Name::same(role, name));
                let is_in = |role: &&str| self.rights.is_in_server_role(self.catalog, role);
                match role.is_some_and(is_in) {
                    true => Ok(()),
                    false => Err(Msg::PrincipalNotFound("alter", "server role", name).into()),
                }
            }
            (PrincipalKind::User, PrincipalAction::Alter(options)) => {
                self.alters_user(name, options)
            }
            (PrincipalKind::User, _) => self.of_database("ALTER ANY USER"),
            (PrincipalKind::Role, PrincipalAction::CreateRole { owner }) => {
                self.of_database("CREATE ROLE")?;
                owner.as_ref().map_or(Ok(()), |owner| self.gives_to(owner))
            }
            (PrincipalKind::Role, _) => match self.database.principals.get(&Name::new(name)) {
                Some(role) if !self.rights.alters_role(self.database, role) => {
                    Err(Msg::PrincipalNotFound("alter", "role", name).into())
                }
                _ => Ok(()),
            },
            (PrincipalKind::ApplicationRole, _) => self.of_database("ALTER ANY APPLICATION ROLE"),
        }
    }

    /// Checks ALTER USER. A user may change its own default schema, as may one with ALTER on it.
    fn alters_user(&self, name: &str, options: &[ast::NamedOption]) -> Result<()> {
        let of_schema = options.iter().all(|option| *option.name == *"DEFAULT_SCHEMA");
        let user = self.database.principals.get(&Name::new(name)).filter(|_| of_schema);
        let may = |user: &Principal| {
            self.rights.own_user(self.database) == Some(user.id)
                || self.rights.is_granted_on(self.database, user.id, "ALTER")
        };
        match user.is_some_and(|user| may(user)) {
            true => Ok(()),
            false => self.of_database("ALTER ANY USER"),
        }
    }

    /// Checks ALTER LOGIN. A login may change its own password if it gives the old one, and its own
    /// default database and language.
    fn alters_login(&self, name: &str, options: &[LoginOption]) -> Result<()> {
        let found = self.catalog.logins.get(&Name::new(name));
        let may = match found {
            Some(login) => {
                let is_own = |option: &LoginOption| match option {
                    LoginOption::Password { old_password, unlock, must_change, .. } => {
                        old_password.is_some() && !unlock && !must_change
                    }
                    LoginOption::Other(option) => {
                        matches!(&*option.name, "DEFAULT_DATABASE" | "DEFAULT_LANGUAGE")
                    }
                };
                let own = !options.is_empty() && options.iter().all(is_own);
                (own && self.rights.is_login(self.catalog, login))
                    || self.rights.alters_login(self.catalog, login)
            }
            None => self.rights.has_of_server(self.catalog, "ALTER ANY LOGIN"),
        };
        match may {
            true => Ok(()),
            false => Err(Msg::PrincipalNotFound("alter", "login", name).into()),
        }
    }
}
