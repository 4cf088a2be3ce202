//! Extended properties: named values that applications attach to a database and to items in it.

use std::sync::Arc;

use types::Value;

use super::name::Name;
use super::{Class, Database, Permission, TableDef};

/// The class of item that a property is attached to: `sys.extended_properties.class`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
#[expect(missing_docs, reason = "the names say it")]
pub enum PropertyClass {
    Database = 0,
    ObjectOrColumn = 1,
    Parameter = 2,
    Schema = 3,
    DatabasePrincipal = 4,
    Type = 6,
    Index = 7,
}

impl PropertyClass {
    /// Returns `class_desc` of `sys.extended_properties`.
    pub fn description(self) -> &'static str {
        match self {
            Self::Database => "DATABASE",
            Self::ObjectOrColumn => "OBJECT_OR_COLUMN",
            Self::Parameter => "PARAMETER",
            Self::Schema => "SCHEMA",
            Self::DatabasePrincipal => "DATABASE_PRINCIPAL",
            Self::Type => "TYPE",
            Self::Index => "INDEX",
        }
    }
}

/// The item that properties are attached to.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Securable {
    /// Class of the item.
    pub class: PropertyClass,
    /// Id of the object, schema, principal or type; 0 for the database.
    pub major_id: i32,
    /// Id of the column, parameter or index; 0 for the object itself.
    pub minor_id: i32,
}

/// A named value attached to an item.
#[derive(Debug)]
pub struct ExtendedProperty {
    /// Name in the given spelling.
    pub name: String,
    /// The value: a `sql_variant` or NULL.
    pub value: Value,
}

impl Database {
    /// Iterates over the properties of one item.
    pub fn properties_of(&self, of: Securable) -> impl Iterator<Item = &Arc<ExtendedProperty>> {
        let first = (of, Name::new(""));
        let properties = self.properties.range(first..).take_while(move |(key, _)| key.0 == of);
        properties.map(|(_, property)| property)
    }

    /// Removes the properties and permissions of a dropped column, and renumbers those of the
    /// columns after it.
    pub fn forget_column(&mut self, table_id: i32, column_id: i32) {
        let of_table = |p: &Permission| p.class == Class::Object && p.object_id == table_id;
        self.permissions.retain(|p| !(of_table(p) && p.column_id == column_id));
        for permission in &mut self.permissions {
            if of_table(permission) && permission.column_id > column_id {
                permission.column_id -= 1;
            }
        }
        let of_columns =
            |of: &Securable| of.class == PropertyClass::ObjectOrColumn && of.major_id == table_id;
        self.properties.retain(|(of, _), _| !(of_columns(of) && of.minor_id == column_id));
        for ((mut of, name), property) in std::mem::take(&mut self.properties) {
            if of_columns(&of) && of.minor_id > column_id {
                of.minor_id -= 1;
            }
            self.properties.insert((of, name), property);
        }
    }

    /// Removes the properties of items that no longer exist.
    pub fn prune_properties(&mut self) {
        if self.properties.is_empty() {
            return;
        }
        let mut properties = std::mem::take(&mut self.properties);
        properties.retain(|(of, _), _| self.has(*of));
        self.properties = properties;
    }

    fn has(&self, of: Securable) -> bool {
        match of.class {
            PropertyClass::Database => true,
            PropertyClass::Schema => self.schemas.values().any(|s| s.id == of.major_id),
            PropertyClass::DatabasePrincipal => {
                self.principals.values().any(|p| p.id == of.major_id)
            }
            PropertyClass::Type => self.types.values().any(|t| t.id == of.major_id),
            PropertyClass::Index => self
                .table_by_id(of.major_id)
                .is_some_and(|table| table.all_indexes().any(|i| i.id == of.minor_id)),
            PropertyClass::ObjectOrColumn | PropertyClass::Parameter => {
                self.object_with(of.major_id).is_some()
            }
        }
    }
}

impl TableDef {
    /// Iterates over the ids of its keys, checks, foreign keys and defaults.
    pub fn constraint_ids(&self) -> impl Iterator<Item = i32> {
        let keys = self.all_indexes().filter(|i| i.constraint.is_some()).map(|i| i.constraint_id);
        let checks = self.checks.iter().map(|c| c.id);
        let foreign = self.foreign_keys.iter().map(|f| f.id);
        let defaults = self.columns.iter().filter_map(|c| c.default.as_ref()).map(|d| d.id);
        keys.chain(checks).chain(foreign).chain(defaults)
    }
}
