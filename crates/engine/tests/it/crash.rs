//! Power losses, kills and failing calls while clients write, on a simulated disk. After each
//! restart what is there is compared with what the clients were told:
//!
//! - what was acknowledged is there: rows, definitions, deletions;
//! - no transaction is there in part: the bank's sum is what it was, a load is there as a whole, and
//!   a table that was made with a row has it;
//! - what each client wrote is there up to some point and not beyond: no gap;
//! - what a reader was shown is there;
//! - indexes and rows agree;
//! - lists that clients share have what was shown of them: see crash_lists.rs;
//! - backups have all of that for their moments: see crash_backups.rs;
//! - an identity value and a value of a sequence that were acknowledged are not given out again.
//!
//! Clients are threads, so a seed repeats the plan of a run and not its timing. `CRASH_SEED=7` runs
//! one seed, `CRASH_SEEDS=1000` as many: `make crash`.

#![expect(clippy::disallowed_types, reason = "a spinlock ends the process when an assertion fails")]

use std::collections::{BTreeMap, BTreeSet};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex};
use std::time::Duration;

use durable::{Folder, Planted, Settings, Standing};
use engine::instance::Instance;
use engine::session::Session;
use simdisk::{Call, Fault, Random, SimDisk};
use sos::park;
use sos::sys::Disk;
use sos::wait::WaitType;

use super::crash_backups::Backups;
use super::crash_lists::{self, Lists};
use super::hooked_disk::slow_disk;
use crate::client::{Answer, batch, instance_on, login};

const SEEDS: u64 = 4;
/// How often the machine is started per seed.
const LIVES: u64 = 4;
/// Clients that write journals.
pub(crate) const WRITERS: u64 = 3;
/// Accounts of the bank, and what is in all of them.
const ACCOUNTS: u64 = 12;
pub(crate) const SUM: i64 = 1_200;
/// Rows of one load of the columnstore.
pub(crate) const LOAD: u64 = 150;
/// Small segments, so that a run has many of them.
const SEGMENT_BYTES: u64 = 1 << 18;

/// How long a sync of the log takes on a slow disk.
pub(crate) const SLOW_SYNC: Duration = Duration::from_millis(1);

/// How a run differs from the usual one.
#[derive(Clone, Debug, Default)]
pub(crate) struct Way {
    /// How long a sync of the log takes; `None` for no time.
    pub(crate) sync: Option<Duration>,
    /// A deliberate mistake, which the run must find.
    pub(crate) planted: Planted,
    /// Whether no checkpoint is asked for.
    pub(crate) is_without_checkpoints: bool,
}

/// What the clients were told, over all lives.
#[derive(Debug, Default)]
struct Told {
    /// The last entry of each journal that was acknowledged or shown.
    journals: BTreeMap<u64, i64>,
    /// Tables that were made, and those that were dropped.
    made: BTreeSet<u64>,
    dropped: BTreeSet<u64>,
    /// Tables whose drop was begun: they may be there or not.
    dropping: BTreeSet<u64>,
    /// Loads of the columnstore that were acknowledged, and that were begun.
    loads: u64,
    loads_begun: u64,
    identities: BTreeSet<i64>,
    sequence: BTreeSet<i64>,
}

#[test]
fn what_was_acknowledged_survives() {
    let only = std::env::var("CRASH_SEED").ok().and_then(|text| text.parse().ok());
    let count = std::env::var("CRASH_SEEDS").ok().and_then(|text| text.parse().ok());
    let seeds = only.map_or(1..=count.unwrap_or(SEEDS), |seed: u64| seed..=seed);
    for seed in seeds {
        // On half of the disks commits go on while the log is written.
        let sync = seed.is_multiple_of(2).then_some(SLOW_SYNC);
        let run = std::panic::catch_unwind(|| run(seed, &Way { sync, ..Way::default() }));
        assert!(
            run.is_ok(),
            "seed {seed}: see the message above; CRASH_SEED={seed} repeats its plan"
        );
    }
}

/// Epochs without a commit are not in the log. A checkpoint in such an epoch once made the next
/// start begin with epochs before it, whose commits the start after that left out.
#[test]
fn commits_after_a_checkpoint_in_an_empty_epoch_survive() {
    let disk = SimDisk::new(1);
    let rows = |instance: &Arc<Instance>| {
        let answer = ask(&mut login(instance), instance, "SELECT COUNT(*) FROM t").unwrap();
        answer.sets[0][0][0].clone()
    };
    let mut expected = 0;
    for life in 0..4 {
        let instance = start(&disk, &Way::default());
        let mut session = login(&instance);
        if life == 0 {
            ask(&mut session, &instance, "CREATE TABLE t (a int)").unwrap();
        }
        assert_eq!(rows(&instance), expected.to_string(), "life {life}");
        for _ in 0..3 {
            ask(&mut session, &instance, "INSERT t VALUES (1)").unwrap();
            expected += 1;
        }
        if life % 2 == 0 {
            for _ in 0..5 {
                instance.durable().unwrap().checkpoint(None).unwrap();
            }
        }
        drop(session);
        disk.crash();
        end(&instance);
        disk.restart();
    }
}

/// Runs one seed; panics if something is lost.
pub(crate) fn run(seed: u64, way: &Way) {
    let backups = Backups::new(&format!("crash-{seed}"));
    let disk = SimDisk::new(seed);
    let mut random = Random::new(seed);
    let told = Arc::new(Mutex::new(Told::default()));
    let lists = Lists::default();
    for life in 0..LIVES {
        let instance = start(&disk, way);
        let mut session = login(&instance);
        if life == 0 {
            prepare(&mut session, &instance);
        } else {
            check(&mut session, &instance, &mut told.lock().unwrap());
            lists.check(&mut session, &instance);
            backups.check(&mut session, &instance, &mut random);
        }
        let clients = Clients { told: &told, lists: &lists, backups: &backups };
        work(&instance, &disk, &clients, &mut random, (seed * 100 + life, way));
        if has_failed(&instance) && !disk.is_down() {
            check_rows(&mut session, &instance, &mut told.lock().unwrap());
            lists.check(&mut session, &instance);
        }
        drop(session);
        let is_orderly = !disk.is_down() && random.below(2) == 0;
        if !is_orderly && !disk.is_down() {
            disk.crash();
        }
        end(&instance);
        if !disk.is_down() {
            // The process has ended; nothing of what it wrote is lost.
            disk.kill();
        }
        disk.restart();
    }
    let instance = start(&disk, way);
    let mut session = login(&instance);
    check(&mut session, &instance, &mut told.lock().unwrap());
    lists.check(&mut session, &instance);
    backups.check(&mut session, &instance, &mut random);
    drop(session);
    end(&instance);
}

pub(crate) fn end(instance: &Instance) {
    instance.machine.stop(Duration::from_secs(20));
    instance.durable().unwrap().stop();
}

fn has_failed(instance: &Instance) -> bool {
    instance.durable().expect("the instance has a folder").has_failed()
}

/// A sync fails while clients write. Readers go on with what is durable, by scans and by keys, and
/// tables that are not durable are written; a restart has what was read.
#[test]
fn readers_go_on_after_the_log_has_failed() {
    for seed in 1..=3 {
        let disk = SimDisk::new(seed);
        let mut random = Random::new(seed);
        let told = Arc::new(Mutex::new(Told::default()));
        let instance = start(&disk, &Way::default());
        let mut session = login(&instance);
        prepare(&mut session, &instance);
        disk.fail(Fault::new(Call::Sync).below("log/").after(30 + random.below(60)));
        let stop = AtomicBool::new(false);
        std::thread::scope(|scope| {
            let (stop, told, instance) = (&stop, &*told, &instance);
            for client in 0..WRITERS {
                scope.spawn(move || write_journal(instance, told, stop, client));
            }
            scope.spawn(move || transfer(instance, stop, seed));
            scope.spawn(move || load(instance, told, stop));
            while !has_failed(instance) {
                park::sleep(Duration::from_millis(5), WaitType::SleepTask, None);
            }
            stop.store(true, Ordering::Relaxed);
        });
        for _ in 0..2 {
            check_rows(&mut session, &instance, &mut told.lock().unwrap());
            // The garbage of other tables does not take away what readers need.
            instance.store.collect();
        }
        let written = ask(&mut session, &instance, "INSERT forgotten VALUES (2)").unwrap();
        assert!(written.errors.is_empty(), "{:?}", written.errors);
        let mut refused = |text: &str| {
            let answer = batch(&mut session, text);
            assert_eq!(answer.errors.first().map(|error| error.number), Some(9001), "{text}");
        };
        refused("INSERT heap VALUES (9, 9)");
        refused("UPDATE bank SET balance = 0 WHERE id = 1");
        refused("BEGIN TRANSACTION; DELETE bank; COMMIT");
        refused("CREATE TABLE later (a int)");
        check_is_suspect(&mut session);
        drop(session);
        end(&instance);
        disk.crash();
        disk.restart();
        let instance = start(&disk, &Way::default());
        check(&mut login(&instance), &instance, &mut told.lock().unwrap());
        end(&instance);
    }
}

/// All databases but tempdb are shown as suspect, and the server's log says so.
fn check_is_suspect(session: &mut Session) {
    let mut shown = |text: &str| {
        let answer = batch(session, text);
        assert!(answer.errors.is_empty(), "{text}: {:?}", answer.errors);
        answer.sets.concat()
    };
    let states = shown(
        "SELECT DISTINCT state, state_desc, CAST(DATABASEPROPERTYEX(name, 'Status') AS varchar(9))
         FROM sys.databases WHERE name <> 'tempdb'",
    );
    assert_eq!(states, [["4", "SUSPECT", "SUSPECT"]]);
    let states = shown("SELECT state_desc FROM sys.databases WHERE name = 'tempdb'");
    assert_eq!(states, [["ONLINE"]]);
    let lines = shown("SELECT text FROM sys.dm_os_error_log WHERE text LIKE '%SUSPECT%'");
    assert!(!lines.is_empty(), "the failure is in the log");
}

pub(crate) fn start(disk: &SimDisk, way: &Way) -> Arc<Instance> {
    let disk: Arc<dyn Disk> = match way.sync {
        Some(sync) => slow_disk(disk, sync),
        None => Arc::new(disk.clone()),
    };
    start_on(disk, way)
}

/// As [`start`], on a disk that may have hooks. The way's sync does not count.
pub(crate) fn start_on(disk: Arc<dyn Disk>, way: &Way) -> Arc<Instance> {
    let instance = instance_on(2, |_| {});
    let folder = Folder::on(disk, "simulated").unwrap();
    let (segment_bytes, planted) = (SEGMENT_BYTES, way.planted);
    let settings = Settings { segment_bytes, planted, ..Settings::default() };
    instance.open_database(folder, &settings).unwrap();
    instance
}

/// Runs a batch; returns its answer if it was acknowledged.
pub(crate) fn ask(session: &mut Session, instance: &Instance, text: &str) -> Option<Answer> {
    let _ = storage::durability::take();
    let answer = batch(session, text);
    let epoch = storage::durability::take();
    let database = instance.durable().unwrap();
    (epoch == 0 || database.wait(epoch) == Standing::Durable).then_some(answer)
}

fn prepare(session: &mut Session, instance: &Instance) {
    let accounts: Vec<String> =
        (0..ACCOUNTS).map(|id| format!("({id}, {})", SUM / ACCOUNTS.cast_signed())).collect();
    must(session, instance, "CREATE DATABASE d");
    enter(session);
    let text = format!(
        "CREATE TABLE marks (n int PRIMARY KEY);
         CREATE TABLE bank (id int PRIMARY KEY, balance int NOT NULL);
         INSERT bank VALUES {};
         CREATE TABLE journal (client int NOT NULL, n int NOT NULL, pad varchar(3000),
             PRIMARY KEY (client, n));
         CREATE INDEX by_n ON journal (n);
         CREATE TABLE heap (client int NOT NULL, n int NOT NULL);
         CREATE TABLE loads (n int NOT NULL, INDEX cci CLUSTERED COLUMNSTORE);
         CREATE TABLE numbered (id int IDENTITY PRIMARY KEY, x int);
         CREATE TABLE memory (client int NOT NULL PRIMARY KEY NONCLUSTERED, n int NOT NULL)
             WITH (MEMORY_OPTIMIZED = ON);
         CREATE TABLE forgotten (id int NOT NULL PRIMARY KEY NONCLUSTERED)
             WITH (MEMORY_OPTIMIZED = ON, DURABILITY = SCHEMA_ONLY);
         INSERT forgotten VALUES (1);
         CREATE SEQUENCE s AS int START WITH 1 CACHE 5;",
        accounts.join(", ")
    );
    must(session, instance, &text);
    must(session, instance, &Lists::prepare());
}

pub(crate) fn must(session: &mut Session, instance: &Instance, text: &str) {
    let answer = ask(session, instance, text).expect("the disk is good");
    assert!(answer.errors.is_empty(), "{:?}", answer.errors);
}

/// Makes the database of the tables the current one.
fn enter(session: &mut Session) {
    let answer = batch(session, "USE d");
    assert!(answer.errors.is_empty(), "{:?}", answer.errors);
}

/// What the clients note.
struct Clients<'a> {
    told: &'a Mutex<Told>,
    lists: &'a Lists,
    backups: &'a Backups,
}

/// Lets the clients work until the disk goes down, or for a while.
fn work(
    instance: &Arc<Instance>,
    disk: &SimDisk,
    clients: &Clients<'_>,
    random: &mut Random,
    (seed, way): (u64, &Way),
) {
    match random.below(4) {
        0 => disk.crash_at(50 + random.below(400)),
        1 => disk.fail(Fault::new(Call::Sync).after(20 + random.below(100))),
        _ => {}
    }
    let stop = AtomicBool::new(false);
    let pause = Duration::from_millis(150 + random.below(350));
    let kill = random.below(3) == 0;
    let Clients { told, lists, backups } = *clients;
    std::thread::scope(|scope| {
        let stop = &stop;
        for client in 0..crash_lists::CLIENTS {
            let mine = seed * 100 + client;
            scope.spawn(move || lists.append(Client::new(instance, stop), mine));
        }
        for client in 0..WRITERS {
            scope.spawn(move || write_journal(instance, told, stop, client));
        }
        scope.spawn(move || transfer(instance, stop, seed));
        scope.spawn(move || define(instance, told, stop, seed));
        scope.spawn(move || load(instance, told, stop));
        scope.spawn(move || number(instance, told, stop));
        scope.spawn(move || read(instance, told, stop));
        if !way.is_without_checkpoints {
            scope.spawn(move || checkpoint(instance, stop));
        }
        scope.spawn(move || backups.write(Client::new(instance, stop)));
        scope.spawn(move || backups.mark(Client::new(instance, stop)));
        park::sleep(pause, WaitType::SleepTask, None);
        if kill {
            disk.kill();
        }
        stop.store(true, Ordering::Relaxed);
        // Who waits for the log would wait until it is durable, which it will be, or until it fails.
    });
}

/// A client's session, and whether the log still works.
pub(crate) struct Client<'i> {
    pub(crate) instance: &'i Arc<Instance>,
    pub(crate) session: Session,
    stop: &'i AtomicBool,
}

impl<'i> Client<'i> {
    fn new(instance: &'i Arc<Instance>, stop: &'i AtomicBool) -> Self {
        let mut session = login(instance);
        enter(&mut session);
        Self { instance, session, stop }
    }

    pub(crate) fn goes_on(&self) -> bool {
        !self.stop.load(Ordering::Relaxed)
    }

    /// Asks, and returns the answer if it was acknowledged and has no error. Ends the client's work
    /// when the log has failed.
    pub(crate) fn ask(&mut self, text: &str) -> Option<Answer> {
        let answer = ask(&mut self.session, self.instance, text)?;
        match answer.errors.first() {
            None => Some(answer),
            // The log has failed, or two transactions were in each other's way.
            Some(error) if [9001, 9002, 1205, 41302, 41305, 41325].contains(&error.number) => {
                let _ = batch(&mut self.session, "IF @@TRANCOUNT > 0 ROLLBACK");
                None
            }
            Some(error) => panic!("{text}: {error:?}"),
        }
    }
}

fn write_journal(instance: &Arc<Instance>, told: &Mutex<Told>, stop: &AtomicBool, client: u64) {
    let mut my = Client::new(instance, stop);
    let Some(answer) =
        my.ask(&format!("SELECT ISNULL(MAX(n), 0) FROM journal WHERE client = {client}"))
    else {
        return;
    };
    let mut n: i64 = answer.sets[0][0][0].parse().unwrap();
    while my.goes_on() {
        n += 1;
        let pad = (n * 7 + client.cast_signed()) % 2_900;
        // One transaction over four tables, or one statement.
        let text = if n % 3 == 0 {
            format!(
                "BEGIN TRANSACTION;
                 INSERT journal VALUES ({client}, {n}, REPLICATE('x', {pad}));
                 INSERT heap VALUES ({client}, {n});
                 DELETE heap WHERE client = {client} AND n < {n};
                 UPDATE memory WITH (SNAPSHOT) SET n = {n} WHERE client = {client};
                 IF @@ROWCOUNT = 0 INSERT memory VALUES ({client}, {n});
                 COMMIT"
            )
        } else {
            format!("INSERT journal VALUES ({client}, {n}, REPLICATE('x', {pad}))")
        };
        match my.ask(&text) {
            Some(_) => {
                told.lock().unwrap().journals.insert(client, n);
            }
            None => return,
        }
    }
}

fn transfer(instance: &Arc<Instance>, stop: &AtomicBool, seed: u64) {
    let mut my = Client::new(instance, stop);
    let mut random = Random::new(seed);
    while my.goes_on() {
        let (from, to) = (random.below(ACCOUNTS), random.below(ACCOUNTS));
        let amount = random.below(30);
        let _ = my.ask(&format!(
            "BEGIN TRANSACTION;
             UPDATE bank SET balance = balance - {amount} WHERE id = {from};
             UPDATE bank SET balance = balance + {amount} WHERE id = {to};
             COMMIT"
        ));
    }
}

fn define(instance: &Arc<Instance>, told: &Mutex<Told>, stop: &AtomicBool, seed: u64) {
    let mut my = Client::new(instance, stop);
    let mut n = seed * 1_000;
    while my.goes_on() {
        n += 1;
        let text = format!(
            "BEGIN TRANSACTION; CREATE TABLE made_{n} (x int PRIMARY KEY); INSERT made_{n} VALUES ({n}); COMMIT"
        );
        if my.ask(&text).is_some() {
            told.lock().unwrap().made.insert(n);
        }
        if n.is_multiple_of(2) && told.lock().unwrap().made.contains(&n) {
            // The table gets another column; its row stays.
            let _ = my.ask(&format!("ALTER TABLE made_{n} ADD y int NOT NULL DEFAULT 7"));
        }
        if n.is_multiple_of(3) && told.lock().unwrap().made.contains(&n) {
            told.lock().unwrap().dropping.insert(n);
            if my.ask(&format!("DROP TABLE made_{n}")).is_some() {
                told.lock().unwrap().dropped.insert(n);
            }
        }
    }
}

fn load(instance: &Arc<Instance>, told: &Mutex<Told>, stop: &AtomicBool) {
    let mut my = Client::new(instance, stop);
    while my.goes_on() {
        told.lock().unwrap().loads_begun += 1;
        let text = format!("INSERT loads SELECT value FROM GENERATE_SERIES(1, {LOAD})");
        if my.ask(&text).is_some() {
            told.lock().unwrap().loads += 1;
        }
        engine::move_tuples(instance, instance.machine.stopping());
    }
}

fn number(instance: &Arc<Instance>, told: &Mutex<Told>, stop: &AtomicBool) {
    let mut my = Client::new(instance, stop);
    while my.goes_on() {
        let text = "INSERT numbered (x) OUTPUT inserted.id VALUES (1)";
        if let Some(answer) = my.ask(text) {
            let id = answer.sets[0][0][0].parse().unwrap();
            assert!(told.lock().unwrap().identities.insert(id), "identity {id} twice");
        }
        if let Some(answer) = my.ask("DELETE numbered; SELECT NEXT VALUE FOR s") {
            let value = answer.sets[0][0][0].parse().unwrap();
            assert!(told.lock().unwrap().sequence.insert(value), "value {value} of s twice");
        }
    }
}

fn read(instance: &Arc<Instance>, told: &Mutex<Told>, stop: &AtomicBool) {
    let mut my = Client::new(instance, stop);
    while my.goes_on() {
        let shown = my.ask("SELECT client, MAX(n) FROM journal GROUP BY client");
        let Some(answer) = shown else { continue };
        for row in &answer.sets[0] {
            let (client, n) = (row[0].parse().unwrap(), row[1].parse().unwrap());
            let mut told = told.lock().unwrap();
            let last = told.journals.entry(client).or_insert(0);
            *last = (*last).max(n);
        }
    }
}

fn checkpoint(instance: &Arc<Instance>, stop: &AtomicBool) {
    while !stop.load(Ordering::Relaxed) {
        // It fails when the disk is down.
        let _ = instance.durable().unwrap().checkpoint(None);
        park::sleep(Duration::from_millis(15), WaitType::SleepTask, None);
    }
}

/// Asks what must be answered, also after the log has failed.
pub(crate) fn rows_of(session: &mut Session, instance: &Instance, text: &str) -> Vec<Vec<String>> {
    let answer = ask(session, instance, text);
    let answer = answer.unwrap_or_else(|| panic!("{text}: the answer waits for what is lost"));
    assert!(answer.errors.is_empty(), "{text}: {:?}", answer.errors);
    answer.sets.concat()
}

pub(crate) fn first_number(rows: &[Vec<String>]) -> i64 {
    rows[0][0].parse().unwrap()
}

/// Compares what is there with what the clients were told.
fn check(session: &mut Session, instance: &Instance, told: &mut Told) {
    enter(session);
    check_rows(session, instance, told);
    check_tables(session, instance, told);
    // No load is under way.
    told.loads_begun = told.loads;
    let mut all = |text: &str| rows_of(session, instance, text);
    assert_eq!(
        first_number(&all("SELECT COUNT(*) FROM forgotten")),
        0,
        "SCHEMA_ONLY keeps no rows"
    );
}

/// Compares rows with what the clients were told, and notes what is there: it will stay. When the log
/// has failed, readers see what a restart finds.
fn check_rows(session: &mut Session, instance: &Instance, told: &mut Told) {
    let mut all = |text: &str| rows_of(session, instance, text);
    assert_eq!(first_number(&all("SELECT SUM(balance) FROM bank")), SUM, "the bank's sum");
    for client in 0..WRITERS {
        let of = format!("FROM journal WHERE client = {client}");
        let rows = all(&format!("SELECT COUNT(*), ISNULL(MAX(n), 0) {of}"));
        let (count, last): (i64, i64) = (rows[0][0].parse().unwrap(), rows[0][1].parse().unwrap());
        if count != last {
            let missing =
                format!("SELECT value FROM GENERATE_SERIES(1, {last}) WHERE value NOT IN");
            let by_key = all(&format!("{missing} (SELECT n {of})"));
            let by_n = format!(
                "(SELECT n FROM journal WITH (INDEX (by_n)) WHERE client = {client} AND n > 0)"
            );
            let by_n = all(&format!("{missing} {by_n}"));
            panic!(
                "the journal of client {client} has {count} entries up to {last}; missing by its key \
                 {by_key:?}, by the other index {by_n:?}; told {:?}",
                told.journals
            );
        }
        let due = told.journals.get(&client).copied().unwrap_or(0);
        assert!(last >= due, "client {client} was told {due}, and {last} is there");
        // What is there now will stay.
        told.journals.insert(client, last);
        let pads = all(&format!("SELECT COUNT(*) {of} AND LEN(pad) <> (n * 7 + client) % 2900"));
        assert_eq!(first_number(&pads), 0, "values of client {client}");
        let third = last - last % 3;
        let memory = all(&format!("SELECT n FROM memory WHERE client = {client}"));
        let heap = all(&format!("SELECT n FROM heap WHERE client = {client}"));
        if third > 0 {
            assert_eq!(memory, vec![vec![third.to_string()]], "memory of client {client}");
            assert_eq!(heap, vec![vec![third.to_string()]], "heap of client {client}");
        }
    }
    let by_index = all("SELECT COUNT(*) FROM journal WITH (INDEX (by_n)) WHERE n >= 0");
    assert_eq!(by_index, all("SELECT COUNT(*) FROM journal"), "the index and the rows");
    let loaded = first_number(&all("SELECT COUNT(*) FROM loads")).cast_unsigned();
    assert_eq!(loaded % LOAD, 0, "a load is there in part");
    let loads = loaded / LOAD;
    assert!((told.loads..=told.loads_begun).contains(&loads), "{loads} loads, told {told:?}");
    told.loads = loads;
    let sums = all("SELECT ISNULL(SUM(n), 0) FROM loads");
    assert_eq!(
        first_number(&sums).cast_unsigned(),
        loads * LOAD * (LOAD + 1) / 2,
        "the loads' values"
    );
}

/// Compares which tables there are with what the clients were told.
fn check_tables(session: &mut Session, instance: &Instance, told: &mut Told) {
    let mut all = |text: &str| rows_of(session, instance, text);
    let here: BTreeSet<u64> = all("SELECT name FROM sys.tables WHERE name LIKE 'made%'")
        .iter()
        .map(|row| row[0]["made_".len()..].parse().unwrap())
        .collect();
    for n in &here {
        assert!(!told.dropped.contains(n), "made_{n} was dropped");
        let rows = all(&format!("SELECT x FROM made_{n}"));
        assert_eq!(rows, vec![vec![n.to_string()]], "made_{n}");
    }
    for n in told.made.difference(&told.dropping) {
        assert!(here.contains(n), "made_{n} was made");
    }
    let gone: Vec<u64> = told.dropping.difference(&here).copied().collect();
    told.dropped.extend(gone);
    told.made.extend(here);
}
