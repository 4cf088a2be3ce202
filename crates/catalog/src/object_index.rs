//! `ObjectIndex`: where the objects of a database are by id, and tables by the names and ids of their
//! constraints.
//!
//! A database keeps its objects by name. OBJECT_NAME and its relatives search by id, often once for
//! each row of `sys.objects`. The index is made once a snapshot has been searched several times, as
//! a script of definitions makes a new snapshot with each of them. A copy, which is about to be
//! changed, starts without one. An object that is changed in place after the index was made is still
//! found: what the index finds is compared with the objects, which are searched if it is not there.

use std::collections::HashMap;
use std::sync::OnceLock;
use std::sync::atomic::{AtomicU32, Ordering};

use super::name::Name;
use super::{Database, Object};

/// Searches without the index before it is made.
const SEARCHES_MAX: u32 = 8;

/// The index of a snapshot; empty until it is needed.
#[derive(Debug, Default)]
pub struct ObjectIndex {
    searches: AtomicU32,
    made: OnceLock<Made>,
}

#[derive(Debug, Default)]
struct Made {
    /// Objects by their id, and tables by the ids of their constraints.
    by_id: HashMap<i32, Object>,
    /// Tables by the folded names of their constraints.
    by_constraint: HashMap<String, Vec<Object>>,
}

impl Clone for ObjectIndex {
    fn clone(&self) -> Self {
        Self::default()
    }
}

impl Database {
    /// Finds an object by its id, or the table that has a constraint of this id.
    pub fn object_with(&self, id: i32) -> Option<&Object> {
        let is_it = |object: &Object| object.id() == id || has_constraint(object, id);
        let indexed = self.index().and_then(|made| made.by_id.get(&id));
        let found = indexed.and_then(|object| self.object(object.schema(), object.name()));
        found.filter(|found| is_it(found)).or_else(|| self.objects.values().find(|o| is_it(o)))
    }

    /// Finds the tables that have a constraint of this name, in the order of their names.
    pub fn tables_with_constraint(&self, name: &str) -> Vec<&Object> {
        let has_it = |object: &&Object| match object {
            Object::Table(table) => table.constraint_names().any(|own| Name::same(own, name)),
            _ => false,
        };
        match self.index().and_then(|made| made.by_constraint.get(&Name::folded(name))) {
            Some(indexed) => {
                let found = indexed.iter().filter_map(|o| self.object(o.schema(), o.name()));
                found.filter(has_it).collect()
            }
            None => self.objects.values().filter(has_it).collect(),
        }
    }

    fn index(&self) -> Option<&Made> {
        if let Some(made) = self.index.made.get() {
            return Some(made);
        }
        // Relaxed: only how often it was searched counts.
        let searches = self.index.searches.fetch_add(1, Ordering::Relaxed);
        (searches >= SEARCHES_MAX).then(|| self.index.made.get_or_init(|| self.make_index()))
    }

    fn make_index(&self) -> Made {
        let mut made = Made::default();
        for object in self.objects.values() {
            made.by_id.insert(object.id(), object.clone());
            let Object::Table(table) = object else { continue };
            table.constraint_ids().for_each(|id| {
                made.by_id.insert(id, object.clone());
            });
            for name in table.constraint_names() {
                made.by_constraint.entry(Name::folded(name)).or_default().push(object.clone());
            }
        }
        made
    }
}

fn has_constraint(object: &Object, id: i32) -> bool {
    let Object::Table(table) = object else { return false };
    table.constraint_ids().any(|own| own == id)
}
