//! The schema of a name that is written without one: which object it names, and where a new one is
//! made.
//!
//! | the name is in                      | is looked up in                        | then in |
//! |-------------------------------------|----------------------------------------|---------|
//! | a batch, dynamic SQL, DDL           | the default schema of the current user | dbo     |
//! | the body of a module, but its DDL   | the schema of the module               | dbo     |
//!
//! | the target of a synonym             | dbo; CREATE SYNONYM adds another default schema | |
//!
//! A user has one default schema per database. It need not exist. Members of sysadmin have dbo. A
//! new object goes to the default schema of the current user, and nowhere else.
//!
//! A plan of a text is shared by those with the same [`Rights::key`], which have the same default
//! schema in each database as long as the catalog does not change. A plan of a module depends on no
//! user. docs/decisions/0459-default-schema.md.

use crate::security::Rights;
use crate::{DBO, Database, ModuleDef, ProcedureDef, TableDef};

/// The schema in which every name without one is looked up at last.
pub const DBO_SCHEMA: &str = "dbo";

/// The schema of a module, or of a table whose definition contains names.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ModuleSchema {
    /// Id of the database.
    pub database: i16,
    /// Id of the schema in it.
    pub schema: i32,
}

impl ModuleSchema {
    /// The schema dbo of every database. The target of a synonym without a schema is in it, for each
    /// user of the synonym.
    pub const DBO: Self = Self { database: 0, schema: DBO };
}

impl From<&ProcedureDef> for ModuleSchema {
    fn from(module: &ProcedureDef) -> Self {
        Self { database: module.database_id, schema: module.schema_id }
    }
}

impl From<&ModuleDef> for ModuleSchema {
    fn from(module: &ModuleDef) -> Self {
        Self { database: module.database_id, schema: module.schema_id }
    }
}

impl From<&TableDef> for ModuleSchema {
    fn from(table: &TableDef) -> Self {
        Self { database: table.database_id, schema: table.schema_id }
    }
}

/// Says where names without a schema are looked up before dbo.
#[derive(Clone, Copy, Debug)]
pub enum Unqualified<'a> {
    /// In the default schema of the principal's user, which each database has its own of.
    User(&'a Rights),
    /// In the schema of a module, in its own database; in any other one, in dbo.
    Module(ModuleSchema),
}

impl Unqualified<'_> {
    /// Returns the name of the schema to look in first.
    pub fn schema_in(self, database: &Database) -> &str {
        match self {
            Self::User(rights) => rights.default_schema(database),
            Self::Module(module) if module.schema == DBO || module.database != database.id => {
                DBO_SCHEMA
            }
            Self::Module(module) => {
                let own = database.schemas.values().find(|schema| schema.id == module.schema);
                own.map_or(DBO_SCHEMA, |schema| schema.name.as_str())
            }
        }
    }
}

/// Returns a part of a name, unless it is left out as in `database..object`.
fn written(part: Option<&str>) -> Option<&str> {
    part.filter(|part| !part.is_empty())
}

impl Database {
    /// Returns the schema of an object's name: that written; else `first` if it has an object of the
    /// name; else dbo.
    pub fn schema_of_object<'n>(
        &self,
        schema: Option<&'n str>,
        first: &'n str,
        object: &str,
    ) -> &'n str {
        match written(schema) {
            Some(schema) => schema,
            None if first == DBO_SCHEMA || self.object(first, object).is_none() => DBO_SCHEMA,
            None => first,
        }
    }

    /// Returns the schema of a type's name: that written; else `first` if it has a type of the name;
    /// else dbo.
    pub fn schema_of_type<'n>(
        &self,
        schema: Option<&'n str>,
        first: &'n str,
        name: &str,
    ) -> &'n str {
        match written(schema) {
            Some(schema) => schema,
            None if first == DBO_SCHEMA || self.user_type(first, name).is_none() => DBO_SCHEMA,
            None => first,
        }
    }
}

impl Rights {
    /// Returns the name of the schema in which the principal's user looks up names without one
    /// first, and makes objects. It need not exist.
    pub fn default_schema<'d>(&self, database: &'d Database) -> &'d str {
        if self.is_sysadmin() {
            return DBO_SCHEMA;
        }
        let user = self.user_in(database);
        let found = database.principals.values().find(|principal| principal.id == user);
        let own = found.map_or("", |user| user.default_schema.as_str());
        if own.is_empty() { DBO_SCHEMA } else { own }
    }
}
