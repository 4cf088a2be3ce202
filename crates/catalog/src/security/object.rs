//! Permissions on objects and their columns. An object's owner is its schema's owner, unless ALTER
//! AUTHORIZATION has set another; the owners of the object and of its schema have all permissions
//! on it.

use types::{Error, Msg, Result};

use super::{
    Class, DB_DATA_READER, DB_DATA_WRITER, DB_DDL_ADMIN, DB_DENY_DATA_READER, DB_DENY_DATA_WRITER,
    DB_OWNER, Rights, verdict,
};
use crate::{Database, Object, Permission, TableDef};

/// An object whose permissions are checked.
#[derive(Clone, Copy)]
pub struct Securable<'o> {
    /// `object_id` of the object.
    pub id: i32,
    /// `schema_id` of its schema.
    pub schema_id: i32,
    /// Name of its schema.
    pub schema: &'o str,
    /// Name of the object.
    pub name: &'o str,
}

impl<'o> Securable<'o> {
    /// Returns the ids and names of an object.
    pub fn of(database: &Database, object: &'o Object) -> Self {
        let schema_id = database.schema(object.schema()).map_or(super::DBO, |schema| schema.id);
        Self { id: object.id(), schema_id, schema: object.schema(), name: object.name() }
    }

    /// Returns the ids and names of a table.
    pub fn table(table: &'o TableDef) -> Self {
        let (schema, name) = (table.schema.as_str(), table.name.as_str());
        Self { id: table.id, schema_id: table.schema_id, schema, name }
    }
}

impl Rights {
    /// Checks a permission on an object.
    ///
    /// # Errors
    /// 229.
    pub fn check(
        &self,
        database: &Database,
        object: &Securable<'_>,
        permission: &str,
    ) -> Result<()> {
        if self.has(database, object, permission)
            || self.has_some_column(database, object, permission)
        {
            return Ok(());
        }
        let denied = Msg::PermissionDenied(permission, object.name, &database.name, object.schema);
        Err(Error::from(denied).with_state(5))
    }

    /// Returns whether the login has a permission on an object.
    pub fn has(&self, database: &Database, object: &Securable<'_>, permission: &str) -> bool {
        if self.all {
            return true;
        }
        let ids = self.principals(database);
        if ids.contains(&DB_OWNER) || owns(database, &ids, object) {
            return true;
        }
        let reads = permission == "SELECT";
        let writes = matches!(permission, "INSERT" | "UPDATE" | "DELETE");
        let alters = permission == "ALTER";
        let is_member = |role: i32| ids.contains(&role);
        if (reads && is_member(DB_DENY_DATA_READER)) || (writes && is_member(DB_DENY_DATA_WRITER)) {
            return false;
        }
        let about = |p: &&Permission| {
            let covers = match p.class {
                Class::Whole => true,
                Class::Object => p.object_id == object.id && p.column_id == 0,
                Class::Schema => p.object_id == object.schema_id,
                Class::Principal | Class::Type => false,
            };
            let named = p.permission == permission
                || p.permission == "CONTROL"
                || (alters && p.permission == "ALTER ANY SCHEMA");
            covers && named && ids.contains(&p.principal_id)
        };
        verdict(database.permissions.iter().filter(about)).unwrap_or_else(|| {
            (reads && is_member(DB_DATA_READER))
                || (writes && is_member(DB_DATA_WRITER))
                || ((alters || permission == "REFERENCES") && is_member(DB_DDL_ADMIN))
        })
    }

    /// Returns whether a permission is held on at least one column.
    pub fn has_some_column(
        &self,
        database: &Database,
        object: &Securable<'_>,
        permission: &str,
    ) -> bool {
        let of_columns = |p: &&Permission| is_of_column(p, object.id) && p.granted;
        let mut rules = database.permissions.iter().filter(of_columns);
        rules.any(|p| self.has_column(database, object, p.column_id, permission))
    }

    /// Returns whether a permission is held on a column. A permission on the column takes
    /// precedence over one on the whole object: a DENY on the object does not revoke a GRANT on a
    /// column.
    pub fn has_column(
        &self,
        database: &Database,
        object: &Securable<'_>,
        column_id: i32,
        permission: &str,
    ) -> bool {
        let ids = self.principals(database);
        let forbidden = match permission {
            "SELECT" => ids.contains(&DB_DENY_DATA_READER),
            "UPDATE" => ids.contains(&DB_DENY_DATA_WRITER),
            _ => false,
        };
        let about = |p: &&Permission| {
            is_of_column(p, object.id)
                && p.column_id == column_id
                && p.permission == permission
                && ids.contains(&p.principal_id)
        };
        if ids.contains(&DB_OWNER) || owns(database, &ids, object) {
            return true;
        }
        match verdict(database.permissions.iter().filter(about)) {
            Some(granted) => granted && !forbidden,
            None => self.has(database, object, permission),
        }
    }

    /// Returns whether the login may alter an object.
    pub fn alters(&self, database: &Database, object: &Object) -> bool {
        self.all || self.has(database, &Securable::of(database, object), "ALTER")
    }

    /// Returns whether the login may drop an object: CONTROL on it, or ALTER on its schema.
    pub fn drops(&self, database: &Database, object: &Object) -> bool {
        let in_schema = || database.schema(object.schema());
        self.all
            || self.has(database, &Securable::of(database, object), "CONTROL")
            || in_schema().is_some_and(|schema| self.has_on_schema(database, schema, "ALTER"))
    }

    /// Returns whether the login owns a table or may run DDL in its database, which DBCC needs to
    /// check or reseed it.
    pub fn keeps(&self, database: &Database, table: &TableDef) -> bool {
        let ids = self.principals(database);
        self.all
            || [DB_OWNER, DB_DDL_ADMIN].iter().any(|role| ids.contains(role))
            || owns(database, &ids, &Securable::table(table))
    }
}

/// Returns whether one of these principals owns an object or its schema.
fn owns(database: &Database, ids: &[i32], object: &Securable<'_>) -> bool {
    let own = database.owner_of(object.id, object.schema_id);
    let of_schema = database.owner_of_schema(object.schema_id);
    ids.contains(&own) || ids.contains(&of_schema)
}

/// Returns whether a permission names one column of an object.
pub fn is_of_column(permission: &Permission, object_id: i32) -> bool {
    permission.class == Class::Object
        && permission.object_id == object_id
        && permission.column_id != 0
}

/// Returns whether a login has a permission on a column of an object.
pub fn has_on_column(
    rights: &Rights,
    database: &Database,
    (id, schema_id): (i32, i32),
    column_id: i32,
    permission: &str,
) -> bool {
    let object = Securable { id, schema_id, schema: "", name: "" };
    rights.all || rights.has_column(database, &object, column_id, permission)
}

/// Returns whether a login has a permission on an object.
pub fn has_on_object(
    rights: &Rights,
    database: &Database,
    (id, schema_id): (i32, i32),
    permission: &str,
) -> bool {
    rights.has(database, &Securable { id, schema_id, schema: "", name: "" }, permission)
}

/// Checks a permission on an object of a database.
///
/// # Errors
/// 229.
pub fn check_object(
    rights: &Rights,
    database: &Database,
    (id, schema_id): (i32, i32),
    (schema, name): (&str, &str),
    permission: &str,
) -> Result<()> {
    rights.check(database, &Securable { id, schema_id, schema, name }, permission)
}

/// Checks that foreign keys may reference columns of a table.
///
/// # Errors
/// 229, or 230 if only some columns may be referenced.
pub fn check_references(
    rights: &Rights,
    database: &Database,
    table: &TableDef,
    columns: &[u16],
) -> Result<()> {
    let object = Securable::table(table);
    rights.check(database, &object, "REFERENCES")?;
    for column in columns {
        let column_id = i32::from(*column) + 1;
        if !rights.has_column(database, &object, column_id, "REFERENCES") {
            let column = &table.columns[usize::from(*column)].name;
            let (schema, name) = (object.schema, object.name);
            let (database, what) = (&database.name, "REFERENCES");
            return Err(Msg::ColumnPermissionDenied(what, column, name, database, schema).into());
        }
    }
    Ok(())
}
