//! Definitions survive as bytes: while the scripts run, after each block that changes definitions,
//! the catalog is encoded, decoded and put in place of the one that it was made from.
//!
//! The listener applies the difference of each change to a map, as the log does. The map must be
//! the whole catalog's entries at any time. The decoded catalog must have equal syntax trees, give
//! the same rows in all catalog views, and let the script go on as if nothing had happened.

use std::collections::BTreeMap;
use std::fmt::Write as _;
use std::path::Path;
use std::sync::Arc;

use definitions::{Entries, Entry, NewTable, StoreMaker, TableMaker};
use engine::catalog::name::Name;
use engine::catalog::{
    Catalog, CounterKey, CounterLog, Database, ModuleDef, Object, Schema, TableDef, TableRows, Upto,
};
use engine::event::registry::NAMES;
use engine::instance::Instance;
use engine::session::Session;
use sos::clock::monotonic_ns;
use sos::lock::{SpinClass, SpinLock};
use storage::{Store, StoreOptions, TableId};

use crate::client::{Answer, batch, instance, is_whole, login};
use crate::dice::Dice;
use crate::script::{blocks, check, scripts};

/// Views that show what runs, besides those whose names begin with `dm_`.
const OF_THE_MOMENT: [&str; 6] = [
    "syscacheobjects",
    "syslockinfo",
    "sysperfinfo",
    "sysprocesses",
    "sysopentapes",
    "console_panels",
];

/// A log in memory: the last value of each key.
struct Log {
    definitions: SpinLock<Entries>,
    counters: SpinLock<Entries>,
}

impl Log {
    fn apply(to: &SpinLock<Entries>, entries: Vec<Entry>) {
        let mut map = to.lock();
        for Entry { key, value } in entries {
            match value {
                Some(value) => map.insert(key, value),
                None => map.remove(&key),
            };
        }
    }

    /// Starts to log what an instance defines.
    fn of(instance: &Instance) -> Arc<Self> {
        let empty = || SpinLock::new(SpinClass::ServerOther, Entries::new());
        let log = Arc::new(Self { definitions: empty(), counters: empty() });
        Self::apply(&log.definitions, definitions::encode(&instance.catalog.load()));
        instance.catalog.set_counter_log(Arc::clone(&log) as Arc<dyn CounterLog>);
        let listening = Arc::clone(&log);
        instance.catalog.set_listener(Box::new(move |base, next| {
            let entries = definitions::diff(base, next);
            // What a data folder does before it takes a change.
            let checked = definitions::check(&entries, next, &NAMES);
            checked.map_err(|error| types::Error::custom(3624, 16, 1, error.to_string()))?;
            Self::apply(&listening.definitions, entries);
            Ok(())
        }));
        log
    }

    /// Returns all entries, with the counters at these positions.
    fn with(&self, counters: Vec<Entry>) -> Entries {
        let mut all = self.definitions.lock().clone();
        all.extend(counters.into_iter().filter_map(|it| Some((it.key, it.value?))));
        all
    }
}

impl CounterLog for Log {
    fn reserve(&self, counter: CounterKey, upto: Upto) -> u64 {
        Self::apply(&self.counters, vec![definitions::counter_entry(counter, upto)]);
        1
    }

    fn wait_for(&self, _: u64) {}
}

/// Gives a decoded table the rows that it has in the catalog.
struct Keeping<'a> {
    rows: BTreeMap<TableId, Arc<TableRows>>,
    shapes: StoreMaker<'a>,
}

impl<'a> Keeping<'a> {
    fn of(catalog: &Catalog, instance: &'a Instance) -> Self {
        let tables = catalog.databases.values().flat_map(|database| database.tables());
        Self {
            rows: tables.map(|table| (table.rows.data.id(), Arc::clone(&table.rows))).collect(),
            shapes: StoreMaker { store: &instance.store, cell: &instance.catalog },
        }
    }
}

impl TableMaker for Keeping<'_> {
    fn make(&mut self, table: &NewTable<'_>) -> types::Result<Arc<TableRows>> {
        match table.shape.restored.and_then(|id| self.rows.get(&id)) {
            Some(rows) => Ok(Arc::clone(rows)),
            None => {
                assert!(table.is_shape, "{} has lost its rows", table.name);
                self.shapes.make(table)
            }
        }
    }
}

/// Puts a decoded catalog in place of the one that the entries were made from.
fn restart(instance: &Instance, log: &Log) -> Result<(), String> {
    let catalog = instance.catalog.load();
    if is_pending(&catalog) {
        return Ok(());
    }
    let whole: Vec<Entry> = definitions::encode(&catalog);
    let logged = log.definitions.lock().clone();
    for Entry { key, value } in &whole {
        if logged.get(key) != value.as_ref() {
            return Err(format!("the log lacks the last value of {key:02x?}"));
        }
    }
    if logged.len() != whole.len() {
        return Err(format!("the log has {} entries, not {}", logged.len(), whole.len()));
    }
    let counters = definitions::counters(&catalog, &instance.catalog, true);
    let mut maker = Keeping::of(&catalog, instance);
    let entries = log.with(counters);
    let decoded = definitions::decode(&entries, &instance.catalog, &mut maker, &NAMES);
    let decoded = decoded.map_err(|error| error.to_string())?;
    let again = definitions::encode(&decoded);
    if let Some((first, _)) = whole.iter().zip(&again).find(|(first, again)| first != again) {
        return Err(format!("encoded again, {:02x?} differs", first.key));
    }
    if again.len() != whole.len() {
        return Err(format!("{} entries have become {}", whole.len(), again.len()));
    }
    for database in catalog.databases.values() {
        same_trees(database, &decoded)?;
    }
    instance.catalog.restore(decoded);
    Ok(())
}

/// Returns whether a setting waits for RECONFIGURE. A restart would bring it into use.
fn is_pending(catalog: &Catalog) -> bool {
    let settings = &catalog.settings;
    let all = [settings.degree_max, settings.cost_threshold, settings.polybase_export];
    settings.sampling_rate_hz.is_some()
        || settings.show_advanced != settings.advanced_in_use
        || all.iter().any(|setting| setting.set != setting.in_use)
}

/// Compares the syntax trees, and the layouts of rows, which no bytes contain.
fn same_trees(database: &Database, decoded: &Catalog) -> Result<(), String> {
    let other = decoded.database_by_id(database.id).ok_or("a database is missing")?;
    for (key, object) in &database.objects {
        let found = other.objects.get(key).ok_or_else(|| format!("{key:?} is missing"))?;
        let is_same = match (object, found) {
            (Object::Table(a), Object::Table(b)) => same_table(a, b),
            (Object::Procedure(a), Object::Procedure(b)) => a.ast == b.ast,
            (Object::View(a), Object::View(b))
            | (Object::Function(a), Object::Function(b))
            | (Object::Trigger(a), Object::Trigger(b)) => same_module(a, b),
            (Object::Synonym(a), Object::Synonym(b)) => a.target == b.target,
            (Object::Sequence(a), Object::Sequence(b)) => {
                (a.counter.peek(), a.last()) == (b.counter.peek(), b.last())
            }
            _ => false,
        };
        if !is_same {
            return Err(format!("{key:?} has another tree, layout or counter"));
        }
    }
    let of_types = |database: &Database| {
        database.types.values().map(|of| of.table.clone()).collect::<Vec<_>>()
    };
    if of_types(database) != of_types(other) {
        return Err("a table type has another tree".to_owned());
    }
    Ok(())
}

fn same_module(a: &ModuleDef, b: &ModuleDef) -> bool {
    let shapes = [&a.shape, &b.shape].map(|shape| shape.as_ref());
    let tables = [a, b].map(|of| of.routine.as_ref().and_then(|routine| routine.table.as_ref()));
    let are_same = [shapes, tables].into_iter().all(|pair| match pair {
        [Some(a), Some(b)] => same_table(a, b),
        [a, b] => a.is_none() && b.is_none(),
    });
    a.ast == b.ast && are_same
}

/// Returns whether all expressions of two tables mean the same. Where the text as written is not
/// known to give the same tree, the text that the views show does, with the same text again.
fn same_table(a: &TableDef, b: &TableDef) -> bool {
    let expressions = |table: &TableDef| {
        let of_column = |column: &engine::catalog::ColumnDef| {
            let default = column.default.as_ref().map(|default| Arc::clone(&default.text));
            [default, column.computed.clone()]
        };
        let texts = table.columns.iter().flat_map(of_column).flatten();
        texts.map(|text| (text.tree.clone(), *text.written == text.text)).collect::<Vec<_>>()
    };
    let conditions = |table: &TableDef| {
        let texts = table.checks.iter().map(|check| &check.text);
        texts.map(|text| (text.tree.clone(), *text.written == text.text)).collect::<Vec<_>>()
    };
    let same = expressions(a).iter().zip(&expressions(b)).all(|(a, b)| a.0 == b.0 || a.1);
    let checks = conditions(a).iter().zip(&conditions(b)).all(|(a, b)| a.0 == b.0 || a.1);
    same && checks && format!("{:?}", a.layout) == format!("{:?}", b.layout)
}

/// Returns the rows of all catalog views in databases with an id of at least `first`.
fn views(session: &mut Session, first: i32) -> BTreeMap<String, Vec<Vec<Vec<String>>>> {
    let names = |session: &mut Session, sql: &str| -> Vec<String> {
        batch(session, sql).sets.concat().into_iter().flatten().collect()
    };
    let of_databases = format!("SELECT name FROM sys.databases WHERE database_id >= {first}");
    let databases = names(session, &of_databases);
    let of_views = "SELECT name FROM sys.all_views WHERE schema_id = 4 AND name NOT LIKE 'dm[_]%'";
    let mut views = names(session, of_views);
    views.retain(|view| !OF_THE_MOMENT.contains(&view.as_str()));
    assert!(views.len() > 50, "{views:?}");
    let mut found = BTreeMap::new();
    for database in &databases {
        let quoted = database.replace(']', "]]");
        for view in &views {
            let sql = format!("USE [{quoted}]; SELECT * FROM sys.[{view}]");
            let Answer { mut sets, .. } = batch(session, &sql);
            sets.iter_mut().for_each(|rows| rows.sort());
            found.insert(format!("{database}: sys.{view}"), sets);
        }
    }
    found
}

/// Restarts, and compares what the views show before and after.
fn compare(instance: &Arc<Instance>, log: &Log, first: i32) -> Result<(), String> {
    let mut session = login(instance);
    let before = views(&mut session, first);
    restart(instance, log)?;
    let after = views(&mut session, first);
    let changed = before.iter().filter(|(view, rows)| after.get(*view) != Some(rows));
    let mut problems = String::new();
    for (view, rows) in changed {
        writeln!(problems, "{view} shows\n{:?}\nand not\n{rows:?}", after.get(view)).unwrap();
    }
    if problems.is_empty() { Ok(()) } else { Err(problems) }
}

/// One script of this number is tried, where the whole is not asked for.
const PART: usize = 3;

#[test]
fn scripts_go_on_with_decoded_definitions() {
    let only = std::env::var("SCRIPT").unwrap_or_default();
    let mut failures = String::new();
    for (number, path) in scripts().into_iter().enumerate() {
        let name = path.file_name().unwrap().to_string_lossy().into_owned();
        let is_in_part = is_whole() || !only.is_empty() || number % PART == 1;
        // It counts executions of cached plans, and a new version of the catalog evicts them.
        if !name.contains(&only) || !is_in_part || name == "statistics.test" {
            continue;
        }
        let text = std::fs::read_to_string(&path).unwrap();
        let instance = instance();
        let log = Log::of(&instance);
        let mut sessions: BTreeMap<String, Session> = BTreeMap::new();
        let mut current = "a".to_owned();
        // A catalog that no block has changed since would only be decoded again.
        let mut restored = None;
        for block in blocks(&text) {
            if let Some(session) = block.head.strip_prefix("session ") {
                current = session.to_owned();
                continue;
            }
            let session = sessions.entry(current.clone()).or_insert_with(|| login(&instance));
            let checked = check(session, &block);
            let mut restarted = Ok(());
            if restored != Some(instance.catalog.version()) {
                restarted = restart(&instance, &log);
                restored = Some(instance.catalog.version());
            }
            if let Err(problem) = checked.and(restarted) {
                writeln!(failures, "{name}:{}: {problem}", block.line).unwrap();
            }
        }
        if let Err(problem) = compare(&instance, &log, 5) {
            writeln!(failures, "{name}, at the end: {problem}").unwrap();
        }
    }
    assert!(failures.is_empty(), "\n{failures}");
}

/// Returns an instance with definitions of every kind, and its log.
fn everything() -> (Arc<Instance>, Arc<Log>) {
    let instance = instance();
    let log = Log::of(&instance);
    let mut session = login(&instance);
    let file = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/definitions.sql");
    for text in std::fs::read_to_string(file).unwrap().split("\nGO\n") {
        let answer = batch(&mut session, text);
        assert!(answer.errors.is_empty(), "{text}: {:?}", answer.errors);
    }
    (instance, log)
}

#[test]
fn definitions_of_every_kind_survive() {
    let (instance, log) = everything();
    let kinds: std::collections::BTreeSet<u8> =
        log.definitions.lock().keys().map(|key| key[0]).collect();
    let wanted: std::collections::BTreeSet<u8> =
        (0..=28).filter(|kind| !(7..16).contains(kind)).collect();
    assert_eq!(kinds, wanted, "an entry of each kind");
    compare(&instance, &log, 1).unwrap();
}

/// An entry that a start would refuse is refused when it is to be written.
#[test]
fn changes_that_a_start_could_not_read_are_refused() {
    let (instance, log) = everything();
    let catalog = instance.catalog.load();
    let mut refused = 0;
    for (key, value) in log.definitions.lock().iter().filter(|(_, value)| value.len() > 8) {
        let entry = |value| [Entry { key: key.clone(), value: Some(value) }];
        definitions::check(&entry(value.clone()), &catalog, &NAMES).unwrap();
        let half = definitions::check(&entry(value[..value.len() - 3].to_vec()), &catalog, &NAMES);
        refused += usize::from(half.is_err());
    }
    assert!(refused > 50, "{refused}");
}

/// A change is compared with what the catalog has besides it: names that entries share, and the two
/// tables of a system-versioned pair.
#[test]
fn changes_that_do_not_fit_the_rest_are_refused() {
    let instance = instance();
    let mut session = login(&instance);
    for sql in [
        "CREATE DATABASE fit",
        "USE fit",
        "CREATE SCHEMA a",
        "CREATE TYPE word FROM nvarchar(9)",
        "CREATE TABLE t (id int PRIMARY KEY, s datetime2 GENERATED ALWAYS AS ROW START, e datetime2 GENERATED ALWAYS \
         AS ROW END, PERIOD FOR SYSTEM_TIME (s, e)) WITH (SYSTEM_VERSIONING = ON (HISTORY_TABLE = dbo.h))",
    ] {
        let answer = batch(&mut session, sql);
        assert!(answer.errors.is_empty(), "{:?}", answer.errors);
    }
    let dbo = |name: &str| (Name::new("dbo"), Name::new(name));
    type Change<'a> = (&'a str, &'a dyn Fn(&mut Database));
    let changes: [Change<'_>; 4] = [
        ("schema", &|database| {
            let known = database.schemas[&Name::new("a")].clone();
            database.schemas.insert(Name::new("b"), Schema { id: 900, ..known });
        }),
        ("principal", &|database| {
            let mut copy = (*database.principals[&Name::new("guest")]).clone();
            copy.id = 900;
            database.principals.insert(Name::new("b"), Arc::new(copy));
        }),
        ("type", &|database| {
            let mut copy = (*database.types[&dbo("word")]).clone();
            copy.id = 900;
            database.types.insert(dbo("b"), Arc::new(copy));
        }),
        ("history", &|database| {
            database.objects.remove(&dbo("h"));
        }),
    ];
    let base = instance.catalog.load();
    for (what, change) in changes {
        let mut next = Catalog::clone(&base);
        change(Arc::make_mut(next.databases.get_mut(&Name::new("fit")).unwrap()));
        let entries = definitions::diff(&base, &next);
        assert_eq!(entries.len(), 1, "{what}");
        assert!(definitions::check(&entries, &next, &NAMES).is_err(), "{what}");
    }
}

/// Damaged entries are errors that name the entry, or other definitions; never a panic.
#[test]
fn damaged_definitions_do_not_panic() {
    let (instance, log) = everything();
    let catalog = instance.catalog.load();
    let entries = log.with(definitions::counters(&catalog, &instance.catalog, true));
    let mut errors = 0;
    let mut read = |entries: &Entries| {
        let store = Store::new(StoreOptions::default());
        let mut maker = StoreMaker { store: &store, cell: &instance.catalog };
        let decoded = definitions::decode(entries, &instance.catalog, &mut maker, &NAMES);
        errors += usize::from(decoded.is_err());
        decoded.map(drop)
    };
    // Only one entry at a time, with the ones that all need.
    let needed: Entries = entries
        .iter()
        .filter(|(key, _)| matches!(key[0], 0 | 16))
        .map(|(key, value)| (key.clone(), value.clone()))
        .collect();
    let mut dice = Dice(0x9E37_79B9_7F4A_7C15);
    for (key, value) in &entries {
        let mut alone = needed.clone();
        let cuts = (0..value.len()).filter(|cut| value.len() < 400 || cut % 7 == 0);
        for cut in cuts {
            alone.insert(key.clone(), value[..cut].to_vec());
            let _ = read(&alone);
        }
        for _ in 0..value.len().min(150) {
            let mut flipped = value.clone();
            flipped[dice.place(value.len())] ^= 1 << dice.roll(8);
            alone.insert(key.clone(), flipped);
            let _ = read(&alone);
        }
        let mut later = value.clone();
        later[0] = 2;
        alone.insert(key.clone(), later);
        let error = read(&alone).expect_err("a later version");
        assert!(error.reason.contains("version 2"), "{error}");
        assert!(!error.entry.is_empty());
    }
    assert!(errors > 1_000, "{errors} errors");
}

/// After a crash no value is given out that was given out before, whatever was in memory only.
#[test]
fn counters_repeat_no_value_after_a_crash() {
    let instance = instance();
    let log = Log::of(&instance);
    let mut session = login(&instance);
    let run = |session: &mut Session, sql: &str| -> Vec<i64> {
        let answer = batch(session, sql);
        assert!(answer.errors.is_empty(), "{sql}: {:?}", answer.errors);
        let values = answer.sets.concat().into_iter().flatten();
        values.map(|value| value.parse().unwrap()).collect()
    };
    run(
        &mut session,
        "CREATE DATABASE d; \
         CREATE TABLE d.dbo.t (id int IDENTITY(5, 3) PRIMARY KEY, v rowversion, n int)",
    );
    run(&mut session, "USE d; CREATE SEQUENCE s START WITH 1 INCREMENT BY 1 CACHE 7");
    run(
        &mut session,
        "CREATE SEQUENCE e AS int START WITH 9 INCREMENT BY -2 MINVALUE 1 MAXVALUE 9 CYCLE NO CACHE",
    );
    let take = "INSERT t (n) VALUES (1); SELECT CAST(SCOPE_IDENTITY() AS bigint), \
                NEXT VALUE FOR s, CAST(@@DBTS AS bigint)";
    let mut last = [0, 0, 0];
    let mut of_cycle = Vec::new();
    for round in 0..40 {
        for _ in 0..round % 11 {
            let values = run(&mut session, take);
            for (value, last) in values.iter().zip(&mut last) {
                assert!(value > last, "round {round}: {value} after {last}");
                *last = *value;
            }
            of_cycle.extend(run(&mut session, "SELECT CAST(NEXT VALUE FOR e AS int)"));
        }
        if round % 5 == 4 {
            run(&mut session, "BEGIN TRAN; TRUNCATE TABLE t; INSERT t (n) VALUES (2); ROLLBACK");
        }
        // The crash: the catalog and the counters are those of the log.
        let catalog = instance.catalog.load();
        let counters = log.counters.lock().clone();
        let counters = counters.into_iter().map(|(key, value)| Entry { key, value: Some(value) });
        let entries = log.with(counters.collect());
        let mut maker = Keeping::of(&catalog, &instance);
        let decoded = definitions::decode(&entries, &instance.catalog, &mut maker, &NAMES).unwrap();
        instance.catalog.restore(decoded);
    }
    for pair in of_cycle.windows(2) {
        let following = if pair[0] == 1 { 9 } else { pair[0] - 2 };
        assert_eq!(pair[1], following, "NO CACHE loses none: {of_cycle:?}");
    }
    run(&mut session, "TRUNCATE TABLE t");
    assert!(run(&mut session, take)[0] == 5, "a committed reset");
    run(&mut session, "ALTER SEQUENCE s RESTART WITH 3");
    assert_eq!(run(&mut session, "SELECT NEXT VALUE FOR s"), [3]);
}

/// A change in a large catalog encodes what has changed, and no more.
#[test]
fn a_small_change_of_a_large_catalog_is_a_small_difference() {
    let instance = instance();
    let mut session = login(&instance);
    batch(&mut session, "CREATE DATABASE d");
    batch(&mut session, "USE d; CREATE TABLE t0 (id int PRIMARY KEY, a nvarchar(40), b datetime2)");
    let (base, mut next) = (instance.catalog.load(), Catalog::clone(&instance.catalog.load()));
    let database = next.database_mut("d").unwrap();
    let table = Arc::clone(base.find_table("d", "dbo", "t0").unwrap());
    for n in 1..5_000 {
        let made =
            TableDef { id: table.id + n * 16, name: format!("t{n}"), ..TableDef::clone(&table) };
        database.put(Object::Table(Arc::new(made)));
    }
    let base = next.clone();
    let database = next.database_mut("d").unwrap();
    let renamed = TableDef { name: "other".to_owned(), ..TableDef::clone(&table) };
    database.objects.remove(&("dbo".into(), "t0".into()));
    database.put(Object::Table(Arc::new(renamed)));
    let started = monotonic_ns();
    let entries = definitions::diff(&base, &next);
    println!("a difference of 1 in 5,000 tables: {} us", (monotonic_ns() - started) / 1_000);
    assert_eq!(entries.len(), 1, "a renamed table is one entry");
    let started = monotonic_ns();
    let whole = definitions::encode(&next);
    let bytes: usize = whole.iter().filter_map(|it| Some(it.value.as_ref()?.len())).sum();
    println!("all of it: {} us, {bytes} bytes", (monotonic_ns() - started) / 1_000);
    assert!(whole.len() > 5_000);
}

/// A change that the listener refuses has not happened.
#[test]
fn a_refused_change_has_not_happened() {
    let instance = instance();
    let mut session = login(&instance);
    instance.catalog.set_listener(Box::new(|_, next| match next.database("gone") {
        Some(_) => Err(types::Error::custom(9_001, 21, 1, "The log is not available.")),
        None => Ok(()),
    }));
    let version = instance.catalog.version();
    let answer = batch(&mut session, "CREATE DATABASE gone");
    assert_eq!(answer.errors[0].number, 9_001);
    assert_eq!(instance.catalog.version(), version);
    assert!(batch(&mut session, "CREATE DATABASE kept").errors.is_empty());
    assert!(instance.catalog.load().database("gone").is_none());
}
