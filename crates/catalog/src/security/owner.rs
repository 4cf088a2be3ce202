//! Who owns an object, and how far a chain of ownership reaches.

use super::Securable;
use crate::name::Name;
use crate::{Catalog, DBO, ModuleDef, ProcedureDef};

/// Who owns an object: a principal of a database.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Owner {
    database: i16,
    principal: i32,
}

impl Owner {
    /// Of an object, by its ids.
    pub fn of(catalog: &Catalog, database: i16, (id, schema_id): (i32, i32)) -> Self {
        let found = catalog.database_by_id(database);
        Self { database, principal: found.map_or(DBO, |d| d.owner_of(id, schema_id)) }
    }

    /// Of a procedure. A temporary one is of the session that made it and begins no chain.
    pub fn of_procedure(catalog: &Catalog, procedure: &ProcedureDef) -> Self {
        const NOT_ANY: i32 = -1;
        let database = procedure.database_id;
        if procedure.name.starts_with('#') {
            return Self { database, principal: NOT_ANY };
        }
        Self::of(catalog, database, (procedure.id, procedure.schema_id))
    }

    /// Of a view, function or trigger. A trigger is of the owner of what it is on.
    pub fn of_module(catalog: &Catalog, module: &ModuleDef) -> Self {
        let (mut id, mut schema_id) = (module.id, module.schema_id);
        let database = catalog.database_by_id(module.database_id);
        if module.parent_id != 0
            && let Some((of, parent)) =
                database.and_then(|d| Some((d, d.object_by_id(module.parent_id)?)))
        {
            let parent = Securable::of(of, parent);
            (id, schema_id) = (parent.id, parent.schema_id);
        }
        Self::of(catalog, module.database_id, (id, schema_id))
    }

    /// Returns whether a chain that has come to one owner goes on to another: to the same one; in another database, where
    /// DB_CHAINING is on in both and the owners are one login.
    pub fn reaches(self, catalog: &Catalog, other: Self) -> bool {
        if self.database == other.database {
            return self.principal == other.principal;
        }
        let login = |owner: Self| {
            let database = catalog.database_by_id(owner.database).filter(|d| d.is_chained())?;
            let principal = database.principals.values().find(|p| p.id == owner.principal)?;
            principal.login.as_deref()
        };
        matches!((login(self), login(other)), (Some(a), Some(b)) if Name::same(a, b))
    }
}
