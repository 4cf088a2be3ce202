//! Permissions of a database and of its schemas.

use types::{Error, Msg, Result};

use super::{
    Class, DB_ACCESS_ADMIN, DB_BACKUP_OPERATOR, DB_DDL_ADMIN, DB_OWNER, DB_SECURITY_ADMIN, Rights,
    verdict,
};
use crate::{Catalog, Database, Permission, Schema, UserType};

/// Fixed roles with the database permissions that they have, as the documentation of database-level
/// roles lists them. db_owner has all permissions.
const ROLES: [(i32, &[&str]); 4] = [
    (DB_ACCESS_ADMIN, &["ALTER ANY USER", "CONNECT", "CREATE SCHEMA"]),
    (DB_SECURITY_ADMIN, &["ALTER ANY ROLE", "CREATE ROLE", "CREATE SCHEMA", "VIEW DEFINITION"]),
    (
        DB_DDL_ADMIN,
        &[
            "ALTER ANY DATABASE DDL TRIGGER",
            "ALTER ANY DATASPACE",
            "ALTER ANY EXTERNAL DATA SOURCE",
            "ALTER ANY EXTERNAL FILE FORMAT",
            "ALTER ANY SCHEMA",
            "CHECKPOINT",
            "CREATE FUNCTION",
            "CREATE PROCEDURE",
            "CREATE SCHEMA",
            "CREATE SEQUENCE",
            "CREATE SYNONYM",
            "CREATE TABLE",
            "CREATE TYPE",
            "CREATE VIEW",
            "REFERENCES",
        ],
    ),
    (DB_BACKUP_OPERATOR, &["BACKUP DATABASE", "BACKUP LOG", "CHECKPOINT"]),
];

/// The permission to read views about the state of a database.
pub const VIEW_STATE: &str = "VIEW DATABASE STATE";

/// Returns whether a database permission implies another: by `sys.fn_builtin_permissions`, ALTER
/// covers creating and changing items, and CONTROL covers all.
fn implies(held: &str, asked: &str) -> bool {
    let changes = asked.starts_with("CREATE ") || asked.starts_with("ALTER ANY ");
    match held {
        "CONTROL" => true,
        "ALTER" => changes,
        "ALTER ANY SCHEMA" => asked == "CREATE SCHEMA",
        "ALTER ANY ROLE" => asked == "CREATE ROLE",
        VIEW_STATE => asked == VIEW_STATE || asked == "VIEW DATABASE PERFORMANCE STATE",
        held => held == asked,
    }
}

impl Rights {
    /// Returns whether the login has a permission of the database itself, such as CREATE TABLE.
    pub fn has_of_database(&self, database: &Database, permission: &str) -> bool {
        if self.all {
            return true;
        }
        let ids = self.principals(database);
        if ids.contains(&DB_OWNER) {
            return true;
        }
        let about = |p: &&Permission| {
            p.class == Class::Whole
                && (p.permission == permission || implies(&p.permission, permission))
                && ids.contains(&p.principal_id)
        };
        verdict(database.permissions.iter().filter(about)).unwrap_or_else(|| {
            let of_roles = ROLES.iter().filter(|(role, _)| ids.contains(role));
            of_roles.flat_map(|(_, has)| *has).any(|held| implies(held, permission))
        })
    }

    /// Checks a permission of the database itself, such as CREATE TABLE.
    ///
    /// # Errors
    /// 262 if it is missing.
    pub fn check_database(&self, database: &Database, permission: &str) -> Result<()> {
        if self.has_of_database(database, permission) {
            return Ok(());
        }
        Err(Msg::DatabasePermissionDenied(permission, &database.name).into())
    }

    /// Checks that the login may see the state of a database.
    ///
    /// # Errors
    /// 262, followed by 297.
    pub fn check_database_state(&self, database: &Database) -> Result<()> {
        match self.views_database_state(database) {
            true => Ok(()),
            false => Err(Msg::DatabasePermissionDenied(VIEW_STATE, &database.name).into()),
        }
    }

    /// Returns whether the login owns a database: as `dbo` or as a member of `db_owner`.
    pub fn owns(&self, database: &Database) -> bool {
        self.all || self.principals(database).contains(&DB_OWNER)
    }

    /// Returns whether the login may alter a database: ALTER on it, or ALTER ANY DATABASE.
    pub fn alters_database(&self, catalog: &Catalog, database: &Database) -> bool {
        self.has_of_database(database, "ALTER") || self.has_of_server(catalog, "ALTER ANY DATABASE")
    }

    /// Returns whether the login has a permission on a type: as its owner, by a GRANT on it, on its schema or on the
    /// database, or through a role.
    pub fn has_on_type(&self, database: &Database, of: &UserType, permission: &str) -> bool {
        let ids = self.principals(database);
        let owner = database.owner_of_type(of);
        let schema = database.schema(&of.schema);
        let owns_schema = schema.is_some_and(|schema| ids.contains(&schema.owner));
        if self.all || ids.contains(&DB_OWNER) || ids.contains(&owner) || owns_schema {
            return true;
        }
        let about = |p: &&Permission| {
            let covers = match p.class {
                Class::Whole => true,
                Class::Schema => schema.is_some_and(|schema| p.object_id == schema.id),
                Class::Type => p.object_id == of.id,
                Class::Object | Class::Principal => false,
            };
            let named = p.permission == permission || p.permission == "CONTROL";
            covers && named && ids.contains(&p.principal_id)
        };
        verdict(database.permissions.iter().filter(about))
            .unwrap_or_else(|| permission == "REFERENCES" && ids.contains(&DB_DDL_ADMIN))
    }

    /// Checks a permission on a type.
    ///
    /// # Errors
    /// 229 without it.
    pub fn check_type(&self, database: &Database, of: &UserType, permission: &str) -> Result<()> {
        match self.has_on_type(database, of, permission) {
            true => Ok(()),
            false => {
                let (name, schema) = (&of.name, &of.schema);
                let denied = Msg::PermissionDenied(permission, name, &database.name, schema);
                Err(Error::from(denied).with_state(5))
            }
        }
    }

    /// Returns whether the login has a permission on a schema: as its owner, by a GRANT on it or on
    /// the database, or through a role.
    pub fn has_on_schema(&self, database: &Database, schema: &Schema, permission: &str) -> bool {
        if self.all {
            return true;
        }
        let ids = self.principals(database);
        if ids.contains(&DB_OWNER) || ids.contains(&schema.owner) {
            return true;
        }
        let alters = permission == "ALTER";
        let about = |p: &&Permission| {
            let covers = match p.class {
                Class::Whole => true,
                Class::Schema => p.object_id == schema.id,
                Class::Object | Class::Principal | Class::Type => false,
            };
            let named = p.permission == permission
                || p.permission == "CONTROL"
                || (alters && p.permission == "ALTER ANY SCHEMA");
            covers && named && ids.contains(&p.principal_id)
        };
        verdict(database.permissions.iter().filter(about))
            .unwrap_or_else(|| alters && ids.contains(&DB_DDL_ADMIN))
    }
}
