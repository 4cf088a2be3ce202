//! A catalog from entries.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use catalog::name::Name;
use catalog::{
    BackupFacts, Catalog, CatalogCell, CounterKey, Database, EventSessionDef, ExtendedProperty,
    Login, ModuleDef, Object, ParameterDef, Permission, Principal, Schema, TableDef, TableRows,
    Upto, UserMessage, Versioning,
};

use crate::code::{Code, Cx, Fault, Result, fault, record};
use crate::database::Attributes;
use crate::diff::encode;
use crate::key::{Key, Part};
use crate::module::{ReadObject, get_object};
use crate::table::Role;
use crate::{Entries, Entry, Error, EventNames, TableMaker, VERSION};

record! { Upto { 1 next, 2 exhausted } }

/// Returns the entry of a counter's position.
pub fn counter_entry(counter: CounterKey, upto: Upto) -> Entry {
    let mut value = vec![VERSION];
    upto.put(&mut value);
    Entry { key: Key::Counter(counter).to_bytes(), value: Some(value) }
}

/// Returns the positions of all counters for a checkpoint: behind the values that are reserved, or
/// the exact ones when the server stops and no value will be taken any more.
pub fn counters(catalog: &Catalog, cell: &CatalogCell, exact: bool) -> Vec<Entry> {
    let objects = catalog.databases.values().flat_map(|database| database.objects.values());
    let positions = objects.filter_map(|object| match object {
        Object::Table(table) => table.rows.identity.position(exact),
        Object::Sequence(sequence) => sequence.counter.position(exact),
        _ => None,
    });
    let all = cell.counter_positions(exact).chain(positions);
    all.map(|(counter, upto)| counter_entry(counter, upto)).collect()
}

/// Reads a counter's position, as `record!` above has written it.
fn position(content: &[u8]) -> Result<Upto> {
    let field = |tag| crate::code::Fields::of(content).find(tag);
    let next = field(1)?.and_then(|next| next.try_into().ok());
    let Some(next) = next.map(i64::from_le_bytes) else { return fault("no position") };
    Ok(Upto { next, exhausted: field(2)? == Some(&[1]) })
}

/// Returns the positions of counters among entries.
///
/// # Errors
/// Names the entry that is damaged, or that a later version has written.
pub fn counters_of(entries: &Entries) -> Result<Vec<(CounterKey, Upto)>, Error> {
    let counters =
        entries.iter().filter_map(|(key, value)| Some((crate::counter_of_key(key)?, value)));
    let read = |(counter, value): (CounterKey, &Vec<u8>)| {
        let upto = match value.split_first() {
            Some((&VERSION, content)) => position(content),
            _ => fault("another version"),
        };
        match upto {
            Ok(upto) => Ok((counter, upto)),
            Err(Fault(reason)) => Err(Error { entry: Key::Counter(counter).to_string(), reason }),
        }
    };
    counters.map(read).collect()
}

/// Makes a catalog from the last value of each key. The catalog of the start, in `cell`, gives what
/// has no entries: the contents of tempdb, and trace flags. If the entries have no mark of
/// [`encode`], they are changes of the start's catalog.
///
/// The counters of the cell, of tables and of sequences go on at the positions in the entries. The
/// caller publishes the catalog with [`CatalogCell::restore`].
///
/// # Errors
/// Names the entry that is damaged, or that a later version has written.
pub fn decode(
    entries: &Entries,
    cell: &CatalogCell,
    tables: &mut dyn TableMaker,
    names: &EventNames,
) -> Result<Catalog, Error> {
    let start = cell.load();
    let mut cx = Cx { counter_log: cell.counter_log(), tables, names, storages: BTreeSet::new() };
    let mut reading = Reading::new(&start);
    if entries.contains_key(&Key::Complete.to_bytes()) {
        reading.all(entries.iter(), &mut cx)?;
    } else {
        let mut all: Entries =
            encode(&start).into_iter().filter_map(|it| Some((it.key, it.value?))).collect();
        all.extend(entries.iter().map(|(key, value)| (key.clone(), value.clone())));
        reading.all(all.iter(), &mut cx)?;
    }
    reading.finish(&start, cell)
}

/// Makes one database from its entries, as [`crate::encode_database`] returns them. The ids of its
/// objects are as before; the caller gives it its name and id, and sets the counters of its tables
/// and sequences.
///
/// # Errors
/// Names the entry that is damaged, or that a later version has written.
pub fn decode_database(
    entries: &Entries,
    cell: &CatalogCell,
    tables: &mut dyn TableMaker,
    names: &EventNames,
) -> Result<Database, Error> {
    let mut cx = Cx { counter_log: cell.counter_log(), tables, names, storages: BTreeSet::new() };
    let mut reading = Reading::new(&cell.load());
    reading.databases.clear();
    reading.all(entries.iter(), &mut cx)?;
    reading.raise_object_ids(cell);
    reading.link()?;
    let mut databases = reading.databases.into_values();
    match (databases.next(), databases.next()) {
        (Some(database), None) => Ok(database),
        _ => Err(Error { entry: "databases".to_owned(), reason: "not exactly one".to_owned() }),
    }
}

/// Id of a table's database, and of the table.
type TablePlace = (i16, i32);

/// The parts of the catalog that have been read.
pub(crate) struct Reading {
    pub(crate) catalog: Catalog,
    pub(crate) databases: BTreeMap<i16, Database>,
    /// Tables by database and id, with their parts in system versioning.
    pub(crate) tables: BTreeMap<TablePlace, (Box<TableDef>, Role)>,
    counters: Vec<(CounterKey, Upto)>,
}

impl Reading {
    pub(crate) fn new(start: &Catalog) -> Self {
        let catalog = Catalog {
            version: start.version,
            settings: start.settings,
            trace_flags: Arc::clone(&start.trace_flags),
            ..Catalog::empty()
        };
        let temporary = start.database_by_id(catalog::table::TEMPDB);
        let databases = temporary.map(|it| (it.id, Database::clone(it))).into_iter().collect();
        Self { catalog, databases, tables: BTreeMap::new(), counters: Vec::new() }
    }

    pub(crate) fn all<'e>(
        &mut self,
        entries: impl Iterator<Item = (&'e Vec<u8>, &'e Vec<u8>)>,
        cx: &mut Cx<'_>,
    ) -> Result<(), Error> {
        for (key, value) in entries {
            let in_words = |Fault(reason)| Error { entry: format!("{key:02x?}"), reason };
            let key = Key::from_bytes(key).map_err(in_words)?;
            let read = self.entry(&key, value, cx);
            read.map_err(|Fault(reason)| Error { entry: key.to_string(), reason })?;
        }
        Ok(())
    }

    fn entry(&mut self, key: &Key, value: &[u8], cx: &mut Cx<'_>) -> Result<()> {
        let content = match value.split_first() {
            Some((&VERSION, content)) => content,
            Some((later, _)) if *later > VERSION => {
                return fault(format!("version {later}, which is later than {VERSION}"));
            }
            _ => return fault("no version"),
        };
        if key.is_of_start() {
            return Ok(());
        }
        let catalog = &mut self.catalog;
        match key {
            Key::Complete => Ok(()),
            Key::Settings => {
                catalog.settings = Code::get(content, cx)?;
                Ok(())
            }
            Key::Login(_) => {
                let login = Arc::<Login>::get(content, cx)?;
                insert(&mut catalog.logins, Name::new(&login.name), login)
            }
            Key::ServerPermissions(_) => {
                catalog.server_permissions.extend(Vec::<Permission>::get(content, cx)?);
                Ok(())
            }
            Key::Message(number) => {
                let message = UserMessage::get(content, cx)?;
                insert(Arc::make_mut(&mut catalog.messages), *number, message)
            }
            Key::EventSession(_) => {
                let session = Arc::<EventSessionDef>::get(content, cx)?;
                insert(&mut catalog.event_sessions, Name::new(&session.name), session)
            }
            Key::ServerTrigger(_) => {
                let trigger = Arc::<ModuleDef>::get(content, cx)?;
                insert(&mut catalog.triggers, Name::new(&trigger.name), trigger)
            }
            Key::Counter(counter) => {
                self.counters.push((*counter, Code::get(content, cx)?));
                Ok(())
            }
            Key::Backup(id) => {
                let facts = Arc::<BackupFacts>::get(content, cx)?;
                insert(&mut Arc::make_mut(&mut catalog.backups).backups, *id, facts)
            }
            Key::Restore(id) => {
                let facts = Arc::<BackupFacts>::get(content, cx)?;
                insert(&mut Arc::make_mut(&mut catalog.backups).restores, *id, facts)
            }
            Key::BackupState(id) => {
                let facts = Arc::<BackupFacts>::get(content, cx)?;
                insert(&mut Arc::make_mut(&mut catalog.backups).databases, *id, facts)
            }
            Key::Of(database, Part::Attributes) => self.attributes(*database, content, cx),
            Key::Of(database, part) => self.part(*database, part, content, cx),
        }
    }

    fn attributes(&mut self, id: i16, content: &[u8], cx: &mut Cx<'_>) -> Result<()> {
        let attributes = Attributes::get(content, cx)?;
        if attributes.id != id {
            return fault(format!("the id {}", attributes.id));
        }
        let Attributes { id, name, collation, created } = attributes;
        let database = self.databases.entry(id).or_insert_with(Database::empty);
        *database = Database { id, name, collation, created, ..database.clone() };
        Ok(())
    }

    fn part(&mut self, id: i16, part: &Part, content: &[u8], cx: &mut Cx<'_>) -> Result<()> {
        let Some(database) = self.databases.get_mut(&id) else {
            return fault("the database has no attributes");
        };
        match part {
            Part::Attributes => Ok(()),
            Part::Options => {
                database.options = Code::get(content, cx)?;
                Ok(())
            }
            Part::Files => {
                database.files = Code::get(content, cx)?;
                Ok(())
            }
            Part::Schema(_) => {
                let schema = Schema::get(content, cx)?;
                insert(&mut database.schemas, Name::new(&schema.name), schema)
            }
            Part::Principal(_) => {
                let principal = Arc::<Principal>::get(content, cx)?;
                insert(&mut database.principals, Name::new(&principal.name), principal)
            }
            Part::Permissions(_) => {
                database.permissions.extend(Vec::<Permission>::get(content, cx)?);
                Ok(())
            }
            Part::Type(_) => {
                let of = Arc::<catalog::UserType>::get(content, cx)?;
                insert(&mut database.types, (Name::new(&of.schema), Name::new(&of.name)), of)
            }
            Part::Object(number) => match get_object(content, cx)? {
                ReadObject::Table(table, role) => {
                    if (table.id, table.database_id) != (*number, id) {
                        return fault(format!("the table {}.{}", table.database_id, table.id));
                    }
                    insert(&mut self.tables, (id, *number), (table, role))
                }
                ReadObject::Other(object) => put(database, share(object, database)),
            },
            Part::Trigger(_) => {
                let trigger = Arc::<ModuleDef>::get(content, cx)?;
                insert(&mut database.triggers, Name::new(&trigger.name), trigger)
            }
            Part::Property(of, _) => {
                let property = Arc::<ExtendedProperty>::get(content, cx)?;
                insert(&mut database.properties, (*of, Name::new(&property.name)), property)
            }
            Part::DataSource(_) => {
                let source = Arc::<catalog::ExternalDataSource>::get(content, cx)?;
                insert(&mut database.data_sources, Name::new(&source.name), source)
            }
            Part::FileFormat(_) => {
                let format = Arc::<catalog::ExternalFileFormat>::get(content, cx)?;
                insert(&mut database.file_formats, Name::new(&format.name), format)
            }
            Part::PartitionFunction(_) => {
                let function = Arc::<catalog::PartitionFunction>::get(content, cx)?;
                crate::database::check_function(&function)?;
                let name = Name::new(&function.name);
                insert(&mut database.partition_functions, name, function)
            }
            Part::PartitionScheme(_) => {
                let scheme = Arc::<catalog::PartitionScheme>::get(content, cx)?;
                insert(&mut database.partition_schemes, Name::new(&scheme.name), scheme)
            }
            Part::Owner(object) => insert(&mut database.owners, *object, Code::get(content, cx)?),
        }
    }

    fn finish(mut self, start: &Catalog, cell: &CatalogCell) -> Result<Catalog, Error> {
        self.restore_counters(cell);
        self.link()?;
        for database in start.databases.values() {
            let missing = !self.databases.contains_key(&database.id);
            if missing && database.id <= catalog::SYSTEM_DATABASE_LAST {
                self.databases.insert(database.id, Database::clone(database));
            }
        }
        for (id, database) in self.databases {
            let name = Name::new(&database.name);
            let added = insert(&mut self.catalog.databases, name, Arc::new(database));
            added.map_err(|Fault(reason)| Error { entry: format!("database {id}"), reason })?;
        }
        Ok(self.catalog)
    }

    /// Puts the tables into their databases.
    fn link(&mut self) -> Result<(), Error> {
        for ((database, id), table) in self.linked()? {
            let entry = || Key::Of(database, Part::Object(id)).to_string();
            let found = self.databases.get_mut(&database);
            let added = found.map_or_else(
                || fault("the database has no attributes"),
                |database| put(database, Object::Table(table)),
            );
            added.map_err(|Fault(reason)| Error { entry: entry(), reason })?;
        }
        Ok(())
    }

    /// Links tables to their history tables.
    fn linked(&mut self) -> Result<Vec<(TablePlace, Arc<TableDef>)>, Error> {
        let tables = std::mem::take(&mut self.tables);
        let rows: BTreeMap<TablePlace, Arc<TableRows>> =
            tables.iter().map(|(at, (table, _))| (*at, Arc::clone(&table.rows))).collect();
        let mut linked = Vec::with_capacity(tables.len());
        for (at, (mut table, role)) in tables {
            if let Role::Current(history) = role {
                let Some(rows) = rows.get(&(at.0, history)) else {
                    let entry = Key::Of(at.0, Part::Object(at.1)).to_string();
                    let reason = format!("there is no history table {history}");
                    return Err(Error { entry, reason });
                };
                table.versioning = Versioning::Current { history, rows: Arc::clone(rows) };
            }
            linked.push((at, Arc::from(table)));
        }
        Ok(linked)
    }

    /// Makes new objects get ids beyond those that were read.
    fn raise_object_ids(&self, cell: &CatalogCell) {
        let tables = || self.tables.values().map(|(table, _)| table);
        let of_database = |database: &Database| {
            let triggers = database.triggers.values().map(|trigger| trigger.id);
            let types = database.table_types();
            let types = types.flat_map(|table| table.constraint_ids().chain([table.id]));
            database.objects.values().map(Object::id).chain(triggers).chain(types).max()
        };
        let objects = self.databases.values().filter_map(of_database);
        let in_tables = tables().flat_map(|table| table.constraint_ids().chain([table.id]));
        let on_server = self.catalog.triggers.values().map(|trigger| trigger.id);
        let last = objects.chain(in_tables).chain(on_server).max();
        cell.beyond_object_id(last.unwrap_or(0));
    }

    /// Sets all counters. Ids are also beyond those that the catalog has.
    fn restore_counters(&self, cell: &CatalogCell) {
        self.raise_object_ids(cell);
        let tables = || self.tables.values().map(|(table, _)| table);
        let storage = tables().map(|table| i64::from(table.rows.data.id().0)).max();
        let storage = Upto::at(storage.unwrap_or(0) + 1);
        cell.restore_counters([(CounterKey::StorageId, storage)]);
        cell.restore_counters(self.counters.iter().copied());
        let counters: BTreeMap<CounterKey, Upto> = self.counters.iter().copied().collect();
        for table in tables() {
            if let Some(upto) = counters.get(&CounterKey::Identity(table.rows.data.id())) {
                table.rows.identity.restore(*upto);
            }
        }
        let objects = self.databases.values().flat_map(|database| database.objects.values());
        for object in objects {
            if let Object::Sequence(sequence) = object
                && let Some(upto) = counters.get(&sequence.counter.key())
            {
                sequence.counter.restore(*upto);
            }
        }
    }
}

/// Inserts an item; two items must not have one name.
fn insert<K: Ord, V>(map: &mut BTreeMap<K, V>, key: K, value: V) -> Result<()> {
    if map.insert(key, value).is_some() { fault("a name that another entry has") } else { Ok(()) }
}

fn put(database: &mut Database, object: Object) -> Result<()> {
    let key = (Name::new(object.schema()), Name::new(object.name()));
    insert(&mut database.objects, key, object)
}

/// Makes the parameters of a module use the table types that the database has.
fn share(mut object: Object, database: &Database) -> Object {
    let parameters = match &mut object {
        Object::Procedure(of) => Arc::get_mut(of).map(|of| &mut of.parameters),
        Object::Function(of) => {
            let routine = Arc::get_mut(of).and_then(|of| of.routine.as_mut());
            routine.map(|routine| &mut routine.parameters)
        }
        _ => None,
    };
    let of_parameter = |parameter: &'_ mut ParameterDef| {
        let own = parameter.table_type.as_mut()?;
        let known = database.user_type(&own.schema, &own.name)?;
        if known.id == own.id && known.text == own.text {
            *own = Arc::clone(known);
        }
        Some(())
    };
    parameters.into_iter().flatten().filter_map(of_parameter).for_each(drop);
    object
}
