//! Owners of schemas and objects in a database.

use super::DBO;
use super::{Class, Database, Schema};

impl Database {
    /// Finds a schema by id.
    pub fn schema_by_id(&self, id: i32) -> Option<&Schema> {
        self.schemas.values().find(|schema| schema.id == id)
    }

    /// Returns the principal that owns a schema.
    pub fn owner_of_schema(&self, id: i32) -> i32 {
        self.schema_by_id(id).map_or(DBO, |schema| schema.owner)
    }

    /// Returns the principal that owns an object: its own owner, else that of its schema.
    pub fn owner_of(&self, object: i32, schema: i32) -> i32 {
        self.owners.get(&object).copied().unwrap_or_else(|| self.owner_of_schema(schema))
    }

    /// Sets the owner of an object; `None` for its schema's owner. As in SQL Server, permissions on
    /// the object are removed.
    pub fn set_owner(&mut self, object: i32, owner: Option<i32>) {
        self.forget_grants(object);
        match owner {
            Some(owner) => {
                self.owners.insert(object, owner);
            }
            None => {
                self.owners.remove(&object);
            }
        }
    }

    /// Removes the permissions that are granted or denied on an object.
    pub fn forget_grants(&mut self, object: i32) {
        self.permissions.retain(|p| p.class != Class::Object || p.object_id != object);
    }

    /// Removes the permissions on a type that was dropped, moved or given to another owner.
    pub fn forget_type_grants(&mut self, of: i32) {
        self.permissions.retain(|p| p.class != Class::Type || p.object_id != of);
    }

    /// Removes the owners of dropped objects.
    pub fn prune_owners(&mut self) {
        if self.owners.is_empty() {
            return;
        }
        let mut owners = std::mem::take(&mut self.owners);
        owners.retain(|id, _| self.object_by_id(*id).is_some());
        self.owners = owners;
    }

    /// Returns whether ownership chains may enter and leave the database: DB_CHAINING, which is ON
    /// in master, tempdb and msdb.
    pub fn is_chained(&self) -> bool {
        let by_default = matches!(self.id, 1 | 2 | 4);
        let said = self.options.others.get("DB_CHAINING");
        said.map_or(by_default, |said| said == "ON" || said.is_empty())
    }

    /// Returns the kind of item that a principal owns; `None` if it owns nothing.
    pub fn owned_by(&self, principal: i32) -> Option<Owned> {
        if self.schemas.values().any(|schema| schema.owner == principal) {
            return Some(Owned::Schema);
        }
        if self.owners.values().any(|owner| *owner == principal) {
            return Some(Owned::Object);
        }
        self.types.values().any(|of| of.owner == Some(principal)).then_some(Owned::Type)
    }
}

/// The kind of item that a principal owns.
pub enum Owned {
    /// At least one schema.
    Schema,
    /// At least one object by ALTER AUTHORIZATION.
    Object,
    /// At least one type by ALTER AUTHORIZATION.
    Type,
}
