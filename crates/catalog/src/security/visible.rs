//! Metadata visibility: a login sees only items that it owns or has some permission on ("Metadata
//! visibility configuration" of SQL Server's documentation).
//!
//! System views and metadata functions read a copy of the database without the hidden items. Names
//! in statements are resolved in the whole database, and the missing permission gives its specific
//! error. A login that sees everything reads the database itself; for others a copy is made once
//! for each version of the database. docs/decisions/0223.

use std::cell::RefCell;
use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use sos::memory::{MemoryClerk, with_clerk};

use super::rules::{Bits, DEFINITION, Rules};
use super::{DB_OWNER, FIXED_ROLE_FIRST, Rights};
use crate::{Catalog, Class, Database, Object, PrincipalKind, PropertyClass, UserType};

/// Number of copies that a session keeps: one for each database that a statement may name.
const COPIES_MAX: usize = 4;
/// Ids of principals that exist in every database are below this, or at least [`FIXED_ROLE_FIRST`].
const OWN_FIRST: i32 = 5;

/// The copies of databases that were made for a session.
#[derive(Default)]
pub struct Copies(RefCell<Vec<Copy>>);

struct Copy {
    of: Arc<Database>,
    ids: Vec<i32>,
    seen: Arc<Database>,
}

impl Copies {
    /// Drops copies of databases that have been dropped or changed.
    pub fn let_go(&mut self, catalog: &Catalog) {
        let is_there = |copy: &Copy| {
            let now = catalog.database_by_id(copy.of.id);
            now.is_some_and(|now| Arc::ptr_eq(now, &copy.of))
        };
        self.0.get_mut().retain(is_there);
    }

    /// Returns a database as a login sees it.
    pub fn of(
        &self,
        rights: &Rights,
        catalog: &Catalog,
        database: &Arc<Database>,
    ) -> Arc<Database> {
        if rights.is_all() {
            return Arc::clone(database);
        }
        let ids = rights.principals(database);
        if ids.contains(&DB_OWNER) {
            return Arc::clone(database);
        }
        let mut copies = self.0.borrow_mut();
        let is_it = |copy: &&Copy| Arc::ptr_eq(&copy.of, database) && copy.ids == ids;
        if let Some(copy) = copies.iter().find(is_it) {
            return Arc::clone(&copy.seen);
        }
        let sees_all = rights.has_of_server(catalog, "VIEW ANY DEFINITION");
        let seen = match Viewer::of(rights, database, &ids) {
            viewer if sees_all || viewer.rules.sees_all() => Arc::clone(database),
            viewer => with_clerk(MemoryClerk::Metadata, || Arc::new(viewer.copy())),
        };
        copies.retain(|copy| copy.of.id != database.id);
        copies.truncate(COPIES_MAX - 1);
        copies.push(Copy { of: Arc::clone(database), ids, seen: Arc::clone(&seen) });
        seen
    }
}

/// The principal that a copy is made for.
struct Viewer<'v> {
    rights: &'v Rights,
    database: &'v Database,
    ids: &'v [i32],
    rules: Rules,
    owners: BTreeMap<i32, i32>,
}

impl<'v> Viewer<'v> {
    fn of(rights: &'v Rights, database: &'v Database, ids: &'v [i32]) -> Self {
        let owners = database.schemas.values().map(|schema| (schema.id, schema.owner)).collect();
        Self { rights, database, ids, rules: Rules::of(database, ids), owners }
    }

    /// Makes the copy; each object is checked once.
    fn copy(&self) -> Database {
        let mut copy = self.database.clone();
        let rights_on = self.objects();
        let sees = |id: i32| rights_on.get(&id).is_some_and(|bits| *bits != 0);
        let reads = |id: i32| rights_on.get(&id).is_some_and(|bits| bits & DEFINITION != 0);
        copy.objects.retain(|_, object| sees(shown_with(object)));
        let withheld = copy.objects.values().filter(|object| !reads(shown_with(object)));
        copy.withheld = withheld.map(Object::id).collect();
        copy.types.retain(|_, of| self.on_type(of) != 0);
        // A table type is shown with a permission on it; its conditions and defaults are not.
        let withheld = copy.types.values().filter(|of| self.on_type(of) & DEFINITION == 0);
        copy.withheld.extend(withheld.filter_map(|of| of.shape.as_ref()).map(|table| table.id));
        let asks = |permission| self.rights.has_of_database(self.database, permission);
        if !asks("ALTER ANY DATABASE DDL TRIGGER") && !self.rules.defines_all() {
            copy.triggers.clear();
        }
        if !asks("ALTER ANY EXTERNAL DATA SOURCE") && !self.rules.defines_all() {
            copy.data_sources.clear();
        }
        if !asks("ALTER ANY EXTERNAL FILE FORMAT") && !self.rules.defines_all() {
            copy.file_formats.clear();
        }
        self.principals(&mut copy);
        let hidden = hidden(self.database, &sees);
        let types: BTreeSet<i32> = copy.types.values().map(|of| of.id).collect();
        copy.properties.retain(|(of, _), _| match of.class {
            PropertyClass::ObjectOrColumn | PropertyClass::Parameter | PropertyClass::Index => {
                !hidden.contains(&of.major_id)
            }
            PropertyClass::Type => types.contains(&of.major_id),
            PropertyClass::Database | PropertyClass::Schema | PropertyClass::DatabasePrincipal => {
                true
            }
        });
        copy
    }

    /// Returns the permissions held on a type; all for its owner and that of its schema.
    fn on_type(&self, of: &UserType) -> Bits {
        let schema = self.database.schema(&of.schema);
        let owns_schema = schema.is_some_and(|schema| self.ids.contains(&schema.owner));
        if owns_schema || self.ids.contains(&self.database.owner_of_type(of)) {
            return Bits::MAX;
        }
        self.rules.on_type(schema.map_or(crate::DBO, |schema| schema.id), of)
    }

    /// Returns the permissions held on each object except triggers, by id; all for owners.
    fn objects(&self) -> BTreeMap<i32, Bits> {
        let ids_of_schemas = self.database.schemas.values().map(|s| (s.name.as_str(), s.id));
        let ids_of_schemas: BTreeMap<&str, i32> = ids_of_schemas.collect();
        let of_object = |object: &Object| {
            let id = object.id();
            let schema = ids_of_schemas.get(object.schema()).copied().unwrap_or(crate::DBO);
            let of_schema = self.owners.get(&schema).copied().unwrap_or(crate::DBO);
            let own = self.database.owners.get(&id).copied().unwrap_or(of_schema);
            let owns = self.ids.contains(&own) || self.ids.contains(&of_schema);
            (id, if owns { Bits::MAX } else { self.rules.on(schema, object) })
        };
        let objects = self.database.objects.values();
        objects.filter(|o| !matches!(o, Object::Trigger(_))).map(of_object).collect()
    }

    /// Copies users and roles: the login's own, the system's, and those it may manage or has a
    /// permission on. Permissions are visible together with their grantees.
    fn principals(&self, copy: &mut Database) {
        let asks = |permission| self.rights.has_of_database(self.database, permission);
        let users = asks("ALTER ANY USER") || self.rules.defines_all();
        let roles = asks("ALTER ANY ROLE") || self.rules.defines_all();
        let on_it = self.database.permissions.iter().filter(|p| {
            p.class == Class::Principal && p.granted && self.ids.contains(&p.principal_id)
        });
        let on_it: BTreeSet<i32> = on_it.map(|p| p.object_id).collect();
        copy.principals.retain(|_, principal| {
            let manages = match principal.kind {
                PrincipalKind::SqlUser => users,
                PrincipalKind::DatabaseRole => roles,
            };
            manages
                || !(OWN_FIRST..FIXED_ROLE_FIRST).contains(&principal.id)
                || self.ids.contains(&principal.id)
                || self.ids.contains(&principal.owner)
                || on_it.contains(&principal.id)
        });
        let shown: BTreeSet<i32> = copy.principals.values().map(|p| p.id).collect();
        copy.permissions.retain(|p| {
            let is_own = self.ids.contains(&p.principal_id);
            is_own || (p.principal_id >= OWN_FIRST && shown.contains(&p.principal_id))
        });
    }
}

/// Returns the id of the object that decides visibility: for a trigger, its table or view.
fn shown_with(object: &Object) -> i32 {
    match object {
        Object::Trigger(trigger) => trigger.parent_id,
        Object::Table(_)
        | Object::Procedure(_)
        | Object::View(_)
        | Object::Function(_)
        | Object::Synonym(_)
        | Object::Sequence(_) => object.id(),
    }
}

/// Returns the ids of hidden items, including constraints of tables.
fn hidden(database: &Database, sees: &impl Fn(i32) -> bool) -> BTreeSet<i32> {
    let mut ids = BTreeSet::new();
    for object in database.objects.values().filter(|object| !sees(shown_with(object))) {
        ids.insert(object.id());
        if let Object::Table(table) = object {
            ids.extend(table.checks.iter().map(|check| check.id));
            ids.extend(table.foreign_keys.iter().map(|key| key.id));
            ids.extend(table.all_indexes().map(|index| index.constraint_id));
        }
    }
    ids
}
