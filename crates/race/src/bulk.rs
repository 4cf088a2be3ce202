//! `Bulk`: work on many rows, one statement after the other: Clearway, DuckDB, and other TDS
//! servers.
//!
//! Every answer is compared with the expected one, computed here.

use std::time::Duration;

use load::ask::Asker;
use load::counters::{Counters, number};
use load::link::{Encrypt, Target};
use load::process::Place;
use sos::clock;

use crate::Result;
use crate::duckdb::DuckDb;
use crate::keeping::Keeping;
use crate::peer::{Kind, MEMORY_MB, Start, TdsServer, own_login, start_process, version};
use crate::process::PeerProcess;
use crate::run::{Entrant, Race, Settings, as_float, median};

/// DuckDB's name on the command line and in reports.
pub const DUCKDB: &str = "duckdb";
/// How long a statement may take.
const PATIENCE: Duration = Duration::from_secs(300);
/// Most rows: seven digits of a cross join.
pub const ROWS_MAX: u32 = 10_000_000;

/// A kind of work on many rows.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Bulk {
    /// Copies rows from a table into a new columnar one.
    Load,
    /// Filters and groups the rows of that table.
    Scan,
}

impl Bulk {
    /// Every kind of such work.
    pub const ALL: [Self; 2] = [Self::Load, Self::Scan];

    /// Returns its name on the command line.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Load => "load",
            Self::Scan => "scan",
        }
    }

    /// Returns its description for a report.
    pub const fn meaning(self) -> &'static str {
        match self {
            Self::Load => {
                "copy rows of five BIGINT columns into a new table that is kept by columns"
            }
            Self::Scan => {
                "filter the rows of that table by one column, sum another for each of 1,000 groups"
            }
        }
    }

    /// Returns the kind with this name.
    pub fn of_name(name: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|bulk| bulk.name() == name)
    }
}

/// The results of one peer in one kind of work on many rows.
#[derive(Clone, Debug)]
pub struct BulkLap {
    /// The kind of work.
    pub bulk: Bulk,
    /// Name of the peer.
    pub name: String,
    /// Rows of each request.
    pub rows: u32,
    /// Server CPU per request of each turn, in milliseconds, in ascending order; empty if unknown.
    pub cpu_ms: Vec<f64>,
    /// Time per request of each turn, in milliseconds, in ascending order.
    pub wall_ms: Vec<f64>,
}

impl BulkLap {
    /// Returns rows per second in the median turn.
    pub fn rows_per_second(&self) -> f64 {
        f64::from(self.rows) * 1e3 / median(&self.wall_ms).max(f64::MIN_POSITIVE)
    }
}

/// Returns the columns of the row with this number.
fn row(n: i64) -> [i64; 5] {
    [n, n * 7, n % 1_000, n * 31 % 1_000_003, n / 10]
}

/// Returns the expected result of a load, or of a scan.
fn expected(bulk: Bulk, rows: u32) -> [i64; 3] {
    let rows = (0..i64::from(rows)).map(row);
    match bulk {
        Bulk::Load => rows.fold([0; 3], |[count, a, d], row| [count + 1, a + row[0], d + row[3]]),
        Bulk::Scan => {
            let mut groups = std::collections::BTreeMap::new();
            for row in rows.filter(|row| row[3] > 1_000) {
                *groups.entry(row[2]).or_insert(0) += row[1];
            }
            let count = i64::try_from(groups.len()).unwrap_or(i64::MAX);
            [count, groups.values().sum(), groups.values().copied().max().unwrap_or(0)]
        }
    }
}

/// The statements in one SQL dialect.
struct Texts {
    setup: Vec<String>,
    load: Vec<String>,
    check: String,
    scan: String,
    teardown: Vec<String>,
}

const COLUMNS: &str =
    "a bigint not null, b bigint not null, c bigint not null, d bigint not null, e bigint not null";

fn transact(rows: u32) -> Texts {
    let drop = "drop table if exists dbo.race_load, dbo.race_rows".to_owned();
    let digits = rows.saturating_sub(1).max(1).ilog10() + 1;
    let terms: Vec<_> =
        (0..digits).map(|place| format!("d{place}.n * {}", 10_u32.pow(place))).collect();
    let tables: Vec<_> = (0..digits).map(|place| format!("digits d{place}")).collect();
    let fill = format!(
        "with digits (n) as (select n from (values (0),(1),(2),(3),(4),(5),(6),(7),(8),(9)) d (n)), \
         numbers (n) as (select cast({} as bigint) from {}) \
         insert dbo.race_rows (a, b, c, d, e) select n, n * 7, n % 1000, n * 31 % 1000003, n / 10 \
         from numbers where n < {rows}",
        terms.join(" + "),
        tables.join(" cross join ")
    );
    Texts {
        setup: vec![drop.clone(), format!("create table dbo.race_rows ({COLUMNS})"), fill],
        load: vec![
            "drop table if exists dbo.race_load".to_owned(),
            format!("create table dbo.race_load ({COLUMNS}, index i clustered columnstore)"),
            "insert dbo.race_load with (tablock) (a, b, c, d, e) select a, b, c, d, e from dbo.race_rows option (maxdop 1)"
                .to_owned(),
        ],
        check: "select count_big(*), sum(a), sum(d) from dbo.race_load option (maxdop 1)".to_owned(),
        scan: "select count_big(*), sum(s), max(s) from (select c, sum(b) as s from dbo.race_load where d > 1000 \
               group by c) g option (maxdop 1)"
            .to_owned(),
        teardown: vec![drop],
    }
}

fn duck(rows: u32) -> Texts {
    let fill = format!(
        "create table race_rows as select n as a, n * 7 as b, n % 1000 as c, n * 31 % 1000003 as d, n // 10 as e \
         from range({rows}) numbers (n)"
    );
    Texts {
        setup: vec![fill],
        // The checkpoint compresses the loaded rows.
        load: vec![
            "create or replace table race_load as select a, b, c, d, e from race_rows".to_owned(),
            "checkpoint".to_owned(),
        ],
        check: "select count(*), sum(a), sum(d) from race_load".to_owned(),
        scan: "select count(*), sum(s), max(s) from (select c, sum(b) as s from race_load where d > 1000 group by c) g"
            .to_owned(),
        teardown: Vec::new(),
    }
}

/// The connection to a peer.
enum Way {
    /// A server that the race has started.
    Own(Asker, PeerProcess),
    /// A server that was already running; whether it reports its CPU time.
    Joined(Asker, bool),
    DuckDb(DuckDb),
}

impl Way {
    /// Runs a statement; returns the numbers in the first row of its answer.
    fn ask(&mut self, text: &str) -> Result<Vec<i64>> {
        match self {
            Self::Own(asker, _) | Self::Joined(asker, _) => {
                let answer = asker.ask(text)?;
                let rows = answer.rows();
                let row = rows.first().copied().unwrap_or_default();
                Ok(row.iter().filter_map(number).collect())
            }
            Self::DuckDb(duckdb) => duckdb.ask(text, PATIENCE),
        }
    }

    /// Returns the CPU time so far; `None` if unknown.
    fn cpu_ns(&mut self) -> Result<Option<u64>> {
        match self {
            Self::Own(_, process) => process.cpu_ns().map(Some),
            Self::Joined(_, false) => Ok(None),
            Self::Joined(asker, true) => {
                let ms = Counters::read(asker).cpu_ms().and_then(|ms| u64::try_from(ms).ok());
                Ok(ms.map(|ms| ms * 1_000_000))
            }
            Self::DuckDb(duckdb) => duckdb.cpu_ns().map(Some),
        }
    }
}

/// A peer in the race, with its results.
struct Racer {
    name: String,
    way: Way,
    texts: Texts,
    failed: bool,
}

impl Racer {
    fn prepare(&mut self, rows: u32) -> Result<()> {
        for text in std::mem::take(&mut self.texts.setup) {
            self.way.ask(&text)?;
        }
        // A scan needs the table of a load; the load also fills caches and memory.
        self.request(Bulk::Load, rows)?;
        self.request(Bulk::Scan, rows)
    }

    /// Does the work once and checks the result.
    fn request(&mut self, bulk: Bulk, rows: u32) -> Result<()> {
        let found = match bulk {
            Bulk::Scan => self.way.ask(&self.texts.scan)?,
            Bulk::Load => {
                for text in &self.texts.load {
                    self.way.ask(text)?;
                }
                return Ok(());
            }
        };
        verify(bulk, rows, &found)
    }

    /// Repeats the work for a time; returns CPU and time per request, in milliseconds.
    fn turn(
        &mut self,
        bulk: Bulk,
        rows: u32,
        time: Duration,
        is_cut: &dyn Fn() -> bool,
    ) -> Result<(Option<f64>, f64)> {
        let (cpu_ns, begin_ns) = (self.way.cpu_ns()?, clock::monotonic_ns());
        let end_ns = clock::deadline_ns(time);
        let mut count = 0;
        while count == 0 || clock::monotonic_ns() < end_ns && !is_cut() {
            self.request(bulk, rows)?;
            count += 1;
        }
        let each = |ns: u64| as_float(ns) / 1e6 / f64::from(count);
        let wall_ms = each(clock::monotonic_ns() - begin_ns);
        let cpu = cpu_ns.zip(self.way.cpu_ns()?);
        let cpu_ms = cpu.map(|(before, after)| each(after.saturating_sub(before)));
        // The result of the last load is checked outside the measured time.
        if bulk == Bulk::Load {
            let found = self.way.ask(&self.texts.check)?;
            verify(bulk, rows, &found)?;
        }
        Ok((cpu_ms, wall_ms))
    }
}

fn verify(bulk: Bulk, rows: u32, found: &[i64]) -> Result<()> {
    let expected = expected(bulk, rows);
    match found == expected {
        true => Ok(()),
        false => Err(format!("wrong answer to {}: {found:?} instead of {expected:?}", bulk.name())),
    }
}

/// Races every peer that supports such work.
pub(crate) fn race(
    settings: &Settings,
    place: Place,
    race: &mut Race,
    tell: &mut dyn FnMut(&str),
    is_cut: &dyn Fn() -> bool,
) {
    let mut racers = gather(settings, place, race, tell);
    for racer in &mut racers {
        tell(&format!("{}: making rows", racer.name));
        if let Err(why) = racer.prepare(settings.rows) {
            fail(race, racer, why);
        }
    }
    for bulk in &settings.bulks {
        lap(*bulk, settings, &mut racers, race, tell, is_cut);
    }
    for racer in racers.iter_mut().filter(|racer| !racer.failed) {
        let texts = std::mem::take(&mut racer.texts.teardown);
        let torn = texts.iter().try_for_each(|text| racer.way.ask(text).map(drop));
        if let Err(why) = torn {
            fail(race, racer, why);
        }
    }
}

fn fail(race: &mut Race, racer: &mut Racer, why: String) {
    racer.failed = true;
    race.failures.push((racer.name.clone(), why));
}

fn lap(
    bulk: Bulk,
    settings: &Settings,
    racers: &mut [Racer],
    race: &mut Race,
    tell: &mut dyn FnMut(&str),
    is_cut: &dyn Fn() -> bool,
) {
    let mut turns: Vec<(Vec<f64>, Vec<f64>)> = vec![Default::default(); racers.len()];
    for round in 1..=settings.rounds {
        tell(&format!("{}: round {round} of {}", bulk.name(), settings.rounds));
        let there = 0..racers.len();
        for at in there.clone().chain(there.rev()) {
            let racer = &mut racers[at];
            if racer.failed || is_cut() {
                continue;
            }
            match racer.turn(bulk, settings.rows, settings.turn, is_cut) {
                Ok((cpu_ms, wall_ms)) => {
                    turns[at].0.extend(cpu_ms);
                    turns[at].1.push(wall_ms);
                }
                Err(why) => fail(race, racer, format!("{}: {why}", bulk.name())),
            }
        }
    }
    for (racer, (mut cpu_ms, mut wall_ms)) in racers.iter().zip(turns) {
        if racer.failed || wall_ms.is_empty() {
            continue;
        }
        cpu_ms.sort_by(f64::total_cmp);
        wall_ms.sort_by(f64::total_cmp);
        let (name, rows) = (racer.name.clone(), settings.rows);
        race.bulk_laps.push(BulkLap { bulk, name, rows, cpu_ms, wall_ms });
    }
}

/// Starts the peers that are available.
fn gather(
    settings: &Settings,
    place: Place,
    race: &mut Race,
    tell: &mut dyn FnMut(&str),
) -> Vec<Racer> {
    let mut racers = Vec::new();
    let rows = settings.rows;
    if settings.peers.contains(&Kind::Clearway) {
        let name = Kind::Clearway.name();
        tell(&format!("{name}: starting for many rows"));
        match own(settings, place) {
            Ok((way, command)) => {
                let (name, texts) = (name.to_owned(), transact(rows));
                let version = version(&settings.clearway);
                enter(race, &name, &version, command, "columnstore; one scheduler, MAXDOP 1");
                racers.push(Racer { name, way, texts, failed: false });
            }
            Err(why) => race.failures.push((name.to_owned(), why)),
        }
    }
    if settings.has_duckdb {
        tell(&format!("{DUCKDB}: starting"));
        match DuckDb::start(place, PATIENCE) {
            Ok(Some(duckdb)) => {
                let (version, command) = (duckdb.version().to_owned(), duckdb.command().to_owned());
                enter(race, DUCKDB, &version, command, "in memory, one thread, inside Python");
                let (name, way) = (DUCKDB.to_owned(), Way::DuckDb(duckdb));
                racers.push(Racer { name, way, texts: duck(rows), failed: false });
            }
            Ok(None) => race.absent.push(DUCKDB),
            Err(why) => race.failures.push((DUCKDB.to_owned(), why)),
        }
    }
    for server in &settings.tds {
        let name = format!("tds {}", server.target.address);
        match join(server) {
            Ok(way) => {
                racers.push(Racer { name, way, texts: transact(rows), failed: false });
            }
            Err(why) => race.failures.push((name, why)),
        }
    }
    racers
}

fn enter(race: &mut Race, name: &str, version: &str, command: String, settings: &str) {
    race.entrants.push(Entrant {
        name: format!("{name}, many rows"),
        version: version.to_owned(),
        command,
        settings: settings.to_owned(),
    });
}

fn own(settings: &Settings, place: Place) -> Result<(Way, String)> {
    let (kind, keeping, program) = (Kind::Clearway, Keeping::Memory, &*settings.clearway);
    let memory_mb = MEMORY_MB;
    let start = Start { kind, keeping, program, place, disk: None, memory_mb, extra: &[] };
    let (command, process) = start_process(&start)?;
    let target =
        Target { address: process.address().into(), login: own_login(), encrypt: Encrypt::Off };
    let asker = Asker::connect(&target, PATIENCE)?;
    Ok((Way::Own(asker, process), command))
}

fn join(server: &TdsServer) -> Result<Way> {
    let mut asker = Asker::connect(&server.target, PATIENCE)?;
    let says = Counters::read(&mut asker).cpu_ms().is_some();
    Ok(Way::Joined(asker, says))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_must_come_is_computed_from_the_rows() {
        assert_eq!(expected(Bulk::Load, 3), [3, 3, 93]);
        // Rows 33 to 99 have 31 n above 1,000; each forms a separate group.
        assert_eq!(expected(Bulk::Scan, 100), [67, (33..100).map(|n| n * 7).sum(), 693]);
        assert!(verify(Bulk::Load, 3, &[3, 3, 93]).is_ok());
        assert!(verify(Bulk::Load, 3, &[3, 3]).is_err());
    }

    #[test]
    fn a_cross_join_has_as_many_digits_as_it_takes() {
        for (rows, digits) in [(1, 1), (10, 1), (11, 2), (1_000_000, 6), (1_048_576, 7)] {
            let text = transact(rows).setup.join("\n");
            assert_eq!(text.matches("digits d").count(), digits, "{rows}: {text}");
        }
    }
}
