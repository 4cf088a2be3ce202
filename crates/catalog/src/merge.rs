//! Merges a transaction's DDL into the current catalog at commit.
//!
//! A transaction changes a private snapshot, so that no other session sees definitions that may be
//! rolled back. Its changes are the entries that differ from the snapshot it began with. Other
//! sessions can only have changed other entries, because the transaction holds schema locks on its
//! tables.

use std::collections::BTreeMap;
use std::sync::Arc;

use super::{Catalog, Database, Object, Schema};

/// Applies to `into` the differences between `base` and `mine`.
pub(super) fn merge(base: &Catalog, mine: &Catalog, into: &mut Catalog) {
    entries(&base.logins, &mine.logins, &mut into.logins, Arc::ptr_eq);
    entries(&base.triggers, &mine.triggers, &mut into.triggers, Arc::ptr_eq);
    if base.server_permissions != mine.server_permissions {
        into.server_permissions.clone_from(&mine.server_permissions);
    }
    if base.messages != mine.messages {
        let messages = Arc::make_mut(&mut into.messages);
        entries(&base.messages, &mine.messages, messages, |a, b| a == b);
    }
    for name in base.databases.keys().filter(|name| !mine.databases.contains_key(*name)) {
        into.databases.remove(name);
    }
    for (name, changed) in mine.databases.iter() {
        let Some(before) = base.databases.get(name) else {
            let mut made = Database::clone(changed);
            if into.database_by_id(made.id).is_some() {
                made.id = into.next_database_id();
            }
            into.databases.insert(name.clone(), Arc::new(made));
            continue;
        };
        if Arc::ptr_eq(before, changed) {
            continue;
        }
        if let Some(target) = into.database_mut(name.as_str()) {
            database(before, changed, target);
        }
    }
}

fn database(base: &Database, mine: &Database, into: &mut Database) {
    entries(&base.schemas, &mine.schemas, &mut into.schemas, same_schema);
    entries(&base.objects, &mine.objects, &mut into.objects, Object::is_same);
    entries(&base.triggers, &mine.triggers, &mut into.triggers, Arc::ptr_eq);
    entries(&base.types, &mine.types, &mut into.types, Arc::ptr_eq);
    entries(&base.principals, &mine.principals, &mut into.principals, Arc::ptr_eq);
    entries(&base.properties, &mine.properties, &mut into.properties, Arc::ptr_eq);
    entries(&base.data_sources, &mine.data_sources, &mut into.data_sources, Arc::ptr_eq);
    let functions = (&base.partition_functions, &mine.partition_functions);
    entries(functions.0, functions.1, &mut into.partition_functions, Arc::ptr_eq);
    let schemes = (&base.partition_schemes, &mine.partition_schemes);
    entries(schemes.0, schemes.1, &mut into.partition_schemes, Arc::ptr_eq);
    entries(&base.owners, &mine.owners, &mut into.owners, |a, b| a == b);
    entries(&base.file_formats, &mine.file_formats, &mut into.file_formats, Arc::ptr_eq);
    if base.permissions != mine.permissions {
        into.permissions.clone_from(&mine.permissions);
    }
    if base.options != mine.options {
        into.options.clone_from(&mine.options);
    }
    if base.files != mine.files {
        into.files.clone_from(&mine.files);
    }
    if base.collation != mine.collation {
        into.collation = mine.collation;
    }
}

/// Applies the entries that were added, replaced or removed to another map.
fn entries<K: Ord + Clone, V: Clone>(
    base: &BTreeMap<K, V>,
    mine: &BTreeMap<K, V>,
    into: &mut BTreeMap<K, V>,
    same: impl Fn(&V, &V) -> bool,
) {
    for (key, value) in mine {
        if base.get(key).is_none_or(|before| !same(before, value)) {
            into.insert(key.clone(), value.clone());
        }
    }
    for key in base.keys().filter(|key| !mine.contains_key(key)) {
        into.remove(key);
    }
}

fn same_schema(a: &Schema, b: &Schema) -> bool {
    a.id == b.id && a.name == b.name && a.owner == b.owner
}

impl Object {
    /// Returns whether it is the same definition: the same allocation, not an equal one.
    pub fn is_same(&self, other: &Self) -> bool {
        match (self, other) {
            (Object::Table(a), Object::Table(b)) => Arc::ptr_eq(a, b),
            (Object::Procedure(a), Object::Procedure(b)) => Arc::ptr_eq(a, b),
            (Object::View(a), Object::View(b))
            | (Object::Function(a), Object::Function(b))
            | (Object::Trigger(a), Object::Trigger(b)) => Arc::ptr_eq(a, b),
            (Object::Synonym(a), Object::Synonym(b)) => Arc::ptr_eq(a, b),
            (Object::Sequence(a), Object::Sequence(b)) => Arc::ptr_eq(a, b),
            (
                Object::Table(_)
                | Object::Procedure(_)
                | Object::View(_)
                | Object::Function(_)
                | Object::Trigger(_)
                | Object::Synonym(_)
                | Object::Sequence(_),
                _,
            ) => false,
        }
    }
}
