//! The entries in which two catalogs differ.
//!
//! A change of the catalog copies what it changes and shares the rest, so most of the work is to
//! compare pointers. Only what differs is encoded.

use std::cmp::Ordering;
use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use catalog::{Catalog, Database, Permission, Schema};

use crate::code::Code;
use crate::database::Attributes;
use crate::key::{Key, Part};
use crate::module::put_object;
use crate::{Entry, VERSION};

/// Returns the entries in which `next` differs from `base`, by key. What a start makes anyway has
/// none: the contents of tempdb, and trace flags.
pub fn diff(base: &Catalog, next: &Catalog) -> Vec<Entry> {
    let mut difference = Difference::default();
    difference.server(base, next);
    if base.settings != next.settings {
        difference.put(&Key::Settings, &next.settings);
    }
    difference.entries()
}

/// Returns the entries of a whole catalog, and a mark that they are all.
pub fn encode(catalog: &Catalog) -> Vec<Entry> {
    let mut difference = Difference::default();
    difference.put_bytes(&Key::Complete, Vec::new());
    difference.server(&Catalog::empty(), catalog);
    difference.put(&Key::Settings, &catalog.settings);
    difference.entries()
}

/// Returns the entries of one database, without the positions of counters.
pub fn encode_database(database: &Database) -> Vec<Entry> {
    of_database(database).entries()
}

/// Definitions by name, shared by the snapshots that do not change them.
type Shared<K, V> = BTreeMap<K, Arc<V>>;

/// The entries found so far.
#[derive(Default)]
struct Difference {
    put: BTreeMap<Vec<u8>, Vec<u8>>,
    /// A key that is also in `put` is that of a renamed object.
    removed: BTreeSet<Vec<u8>>,
}

impl Difference {
    fn entries(mut self) -> Vec<Entry> {
        self.removed.retain(|key| !self.put.contains_key(key));
        let removed = self.removed.into_iter().map(|key| Entry { key, value: None });
        let put = self.put.into_iter().map(|(key, value)| Entry { key, value: Some(value) });
        let mut entries: Vec<Entry> = removed.chain(put).collect();
        entries.sort_by(|a, b| a.key.cmp(&b.key));
        entries
    }

    fn put(&mut self, key: &Key, value: &impl Code) {
        let mut bytes = vec![VERSION];
        value.put(&mut bytes);
        self.put.insert(key.to_bytes(), bytes);
    }

    fn put_bytes(&mut self, key: &Key, content: Vec<u8>) {
        let bytes = std::iter::once(VERSION).chain(content).collect();
        self.put.insert(key.to_bytes(), bytes);
    }

    fn remove(&mut self, key: &Key) {
        self.removed.insert(key.to_bytes());
    }

    /// Compares two maps of shared values: a value at another address is another value. The same
    /// value under another key is a change as well: a property whose column has another number.
    fn shared<K: Ord, V: Code>(
        &mut self,
        (base, next): (&Shared<K, V>, &Shared<K, V>),
        key: impl Fn(&K, &V) -> Key,
    ) {
        let same =
            |a: (&K, &Arc<V>), b: (&K, &Arc<V>)| Arc::ptr_eq(a.1, b.1) && a.0.cmp(b.0).is_eq();
        walk(base, next, same, |change| match change {
            Change::Removed(at, value) => self.remove(&key(at, value)),
            Change::Put(at, value) => self.put(&key(at, value), &**value),
        });
    }

    fn server(&mut self, base: &Catalog, next: &Catalog) {
        // All fields are named, so that one that is added does not compile until it has a place.
        let Catalog {
            version: _,
            databases,
            logins,
            server_permissions,
            messages,
            settings: _,
            // Those of a start are options of that start, and DBCC TRACEON lasts until the next.
            trace_flags: _,
            event_sessions,
            triggers,
            backups,
        } = next;
        self.shared((&base.logins, logins), |_, login| Key::Login(login.principal_id));
        self.permissions((&base.server_permissions, server_permissions), Key::ServerPermissions);
        if !Arc::ptr_eq(&base.messages, messages) {
            walk(
                &base.messages,
                messages,
                |a, b| a == b,
                |change| match change {
                    Change::Removed(at, _) => self.remove(&Key::Message(*at)),
                    Change::Put(at, message) => self.put(&Key::Message(*at), message),
                },
            );
        }
        self.shared((&base.event_sessions, event_sessions), |_, it| Key::EventSession(it.id));
        self.shared((&base.triggers, triggers), |_, it| Key::ServerTrigger(it.id));
        if !Arc::ptr_eq(&base.backups, backups) {
            self.shared((&base.backups.backups, &backups.backups), |id, _| Key::Backup(*id));
            self.shared((&base.backups.restores, &backups.restores), |id, _| Key::Restore(*id));
            let of_databases = (&base.backups.databases, &backups.databases);
            self.shared(of_databases, |id, _| Key::BackupState(*id));
        }
        let empty = Database::empty();
        for database in databases.values() {
            match base.database_by_id(database.id) {
                Some(before) if Arc::ptr_eq(before, database) => {}
                Some(before) => self.database(before, database),
                None => {
                    self.attributes(database);
                    self.database(&empty, database);
                }
            }
        }
        for gone in base.databases.values().filter(|it| next.database_by_id(it.id).is_none()) {
            for entry in of_database(gone).put.into_keys() {
                self.removed.insert(entry);
            }
        }
    }

    fn attributes(&mut self, database: &Database) {
        let of = |part| Key::Of(database.id, part);
        self.put(&of(Part::Attributes), &Attributes::of(database));
        self.put(&of(Part::Options), &database.options);
        self.put(&of(Part::Files), &database.files);
    }

    fn database(&mut self, base: &Database, next: &Database) {
        let id = next.id;
        let of = |part| Key::Of(id, part);
        if base.id == id {
            let mut bytes = [Vec::new(), Vec::new()];
            Attributes::of(base).put(&mut bytes[0]);
            Attributes::of(next).put(&mut bytes[1]);
            if bytes[0] != bytes[1] {
                self.put(&of(Part::Attributes), &Attributes::of(next));
            }
            if base.options != next.options {
                self.put(&of(Part::Options), &next.options);
            }
            if base.files != next.files {
                self.put(&of(Part::Files), &next.files);
            }
        }
        if of(Part::Object(0)).is_of_start() {
            return;
        }
        let same_schema = |(_, a): (_, &Schema), (_, b): (_, &Schema)| {
            a.id == b.id && a.name == b.name && a.owner == b.owner
        };
        walk(&base.schemas, &next.schemas, same_schema, |change| match change {
            Change::Removed(_, schema) => self.remove(&of(Part::Schema(schema.id))),
            Change::Put(_, schema) => self.put(&of(Part::Schema(schema.id)), schema),
        });
        let same_object = |(_, a): (_, &catalog::Object), (_, b): (_, _)| a.is_same(b);
        walk(&base.objects, &next.objects, same_object, |change| match change {
            Change::Removed(_, object) => self.remove(&of(Part::Object(object.id()))),
            Change::Put(_, object) => {
                let mut content = Vec::new();
                put_object(object, &mut content);
                self.put_bytes(&of(Part::Object(object.id())), content);
            }
        });
        self.shared((&base.triggers, &next.triggers), |_, it| of(Part::Trigger(it.id)));
        self.shared((&base.types, &next.types), |_, it| of(Part::Type(it.id)));
        self.shared((&base.principals, &next.principals), |_, it| of(Part::Principal(it.id)));
        let of_principal = |id| of(Part::Permissions(id));
        self.permissions((&base.permissions, &next.permissions), of_principal);
        let properties = (&base.properties, &next.properties);
        self.shared(properties, |at, _| of(Part::of_property(at)));
        self.shared((&base.data_sources, &next.data_sources), |_, it| of(Part::DataSource(it.id)));
        self.shared((&base.file_formats, &next.file_formats), |_, it| of(Part::FileFormat(it.id)));
        let functions = (&base.partition_functions, &next.partition_functions);
        self.shared(functions, |_, it| of(Part::PartitionFunction(it.id)));
        let schemes = (&base.partition_schemes, &next.partition_schemes);
        self.shared(schemes, |_, it| of(Part::PartitionScheme(it.id)));
        walk(
            &base.owners,
            &next.owners,
            |a, b| a == b,
            |change| match change {
                Change::Removed(object, _) => self.remove(&of(Part::Owner(*object))),
                Change::Put(object, owner) => self.put(&of(Part::Owner(*object)), owner),
            },
        );
    }

    /// Compares permissions, which have an entry for each grantee.
    fn permissions(
        &mut self,
        (base, next): (&[Permission], &[Permission]),
        key: impl Fn(i32) -> Key,
    ) {
        if base == next {
            return;
        }
        walk(
            &by_grantee(base),
            &by_grantee(next),
            |a, b| a == b,
            |change| match change {
                Change::Removed(grantee, _) => self.remove(&key(*grantee)),
                Change::Put(grantee, held) => self.put(&key(*grantee), held),
            },
        );
    }
}

/// Returns the entries of a whole database.
fn of_database(database: &Database) -> Difference {
    let mut difference = Difference::default();
    difference.attributes(database);
    difference.database(&Database::empty(), database);
    difference
}

fn by_grantee(permissions: &[Permission]) -> BTreeMap<i32, Vec<Permission>> {
    let mut groups: BTreeMap<i32, Vec<Permission>> = BTreeMap::new();
    for permission in permissions {
        groups.entry(permission.principal_id).or_default().push(permission.clone());
    }
    groups
}

/// A difference between two maps. A value that was replaced is removed and put.
enum Change<'a, K, V> {
    Removed(&'a K, &'a V),
    Put(&'a K, &'a V),
}

/// Walks two maps side by side and reports where they differ.
fn walk<'a, K: Ord, V>(
    base: &'a BTreeMap<K, V>,
    next: &'a BTreeMap<K, V>,
    same: impl Fn((&'a K, &'a V), (&'a K, &'a V)) -> bool,
    mut report: impl FnMut(Change<'a, K, V>),
) {
    let (mut before, mut after) = (base.iter().peekable(), next.iter().peekable());
    loop {
        let order = match (before.peek(), after.peek()) {
            (None, None) => return,
            (Some(_), None) => Ordering::Less,
            (None, Some(_)) => Ordering::Greater,
            (Some(a), Some(b)) if same(*a, *b) => {
                before.next();
                after.next();
                continue;
            }
            (Some(a), Some(b)) => a.0.cmp(b.0),
        };
        if order.is_le()
            && let Some((key, value)) = before.next()
        {
            report(Change::Removed(key, value));
        }
        if order.is_ge()
            && let Some((key, value)) = after.next()
        {
            report(Change::Put(key, value));
        }
    }
}
