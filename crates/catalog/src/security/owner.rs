//! Owners of objects, and how far an ownership chain reaches.

use super::Securable;
use crate::name::Name;
use crate::{Catalog, DBO, ModuleDef, ProcedureDef};

/// The owner of an object: a principal of a database.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Owner {
    database: i16,
    principal: i32,
}

impl Owner {
    /// Returns the owner of an object, by its ids.
    pub fn of(catalog: &Catalog, database: i16, (id, schema_id): (i32, i32)) -> Self {
        let found = catalog.database_by_id(database);
        Self { database, principal: found.map_or(DBO, |d| d.owner_of(id, schema_id)) }
    }

    /// Returns the owner of a procedure. A temporary one belongs to its session and begins no
    /// chain.
    pub fn of_procedure(catalog: &Catalog, procedure: &ProcedureDef) -> Self {
        const NOT_ANY: i32 = -1;
        let database = procedure.database_id;
        if procedure.name.starts_with('#') {
            return Self { database, principal: NOT_ANY };
        }
        Self::of(catalog, database, (procedure.id, procedure.schema_id))
    }

    /// Returns the owner of a view, function or trigger; for a trigger, that of its table or view.
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

    /// Returns whether an ownership chain continues from this owner to another: if they are the
    /// same, or one login's in two databases with DB_CHAINING ON.
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
