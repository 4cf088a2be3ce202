//! `bench soak`: loads into columnstores, cancels loads at any moment, and drops tables, for as
//! long as asked; then memory must be what it was at the beginning.
//!
//! ```text
//!  cycle: create table ─► INSERT..SELECT ─┬─ let be ──► all rows are there ─┐
//!                                         └─ attention ► none, or all ──────┴─► change some, rebuild ─► drop
//! ```
//! The content is checked by the number of rows and of row groups. Resident memory and the sum over
//! the clerks at the end are compared with those after the first minutes, which fill the caches:
//! each after a rest in which the collector frees dropped objects, idle workers return memory, and
//! the trimmer takes memory unused for half a minute. A leak of each load remains: 1 KB each is 18
//! MB in ten minutes.

use std::path::PathBuf;
use std::process::ExitCode;
use std::time::Duration;

use clap::Args;
use load::process::Place;
use load::{Answer, Generator, Result, ServerProcess, pause};
use sos::clock;
use tds::client::{self, ClientSettings};
use types::{Collation, Value};

use crate::setup::{Schedulers, as_float, ask_number, connect, run_batches, start_clearway};
use crate::{Plan, say};

const DATABASE: &str = "Soak";
const LOAD: &str = "INSERT INTO dbo.t WITH (TABLOCK) SELECT id, grp, name, at FROM dbo.staging";
const ROWS: &str = "SELECT COUNT_BIG(*) FROM dbo.t WHERE name IS NOT NULL";
const GROUP_ROWS: &str = "SELECT SUM(total_rows - deleted_rows) FROM sys.column_store_row_groups WHERE object_id = OBJECT_ID('dbo.t')";
const CLERKS: &str = "SELECT SUM(pages_kb) FROM sys.dm_os_memory_clerks";
const COLUMNS: &str = "SELECT SUM(pages_kb) FROM sys.dm_os_memory_clerks WHERE type = 'CACHESTORE_COLUMNSTOREOBJECTPOOL'";
const BY_CLERK: &str = "SELECT type, SUM(pages_kb) FROM sys.dm_os_memory_clerks GROUP BY type";
/// Clerks of free memory, of the binary itself, and of columnstores, which are reported separately.
const NOT_IN_USE: [&str; 4] = [
    "MEMORYCLERK_SOSOS",
    "MEMORYCLERK_SOSMEMMANAGER",
    "MEMORYCLERK_HOST",
    "CACHESTORE_COLUMNSTOREOBJECTPOOL",
];
/// The most additional bytes in use per load: many times the growth of the server's histories
/// during a load.
const LEFT_PER_LOAD_MAX: f64 = 256.0;
/// The most unaccounted memory, as a share: the difference between the sum over the clerks and the
/// resident memory.
const UNBOOKED_MAX: f64 = 0.03;
/// The most memory at the end, as a multiple of the beginning.
const GROWTH_MAX: f64 = 1.02;
const NOISE_BYTES: f64 = 1_048_576.0;
/// Time for the collector and the trimmer to finish: idle workers return memory for the last time
/// after 40 s, and memory that was free for a whole window of 30 s is trimmed, which begins up to
/// 30 s after that.
const SETTLE: Duration = Duration::from_secs(105);

#[derive(Args, Clone)]
pub(crate) struct SoakArguments {
    /// The server's binary; default the one beside this
    #[arg(long, value_name = "FILE")]
    server: Option<PathBuf>,
    /// How long to go on, in seconds; before and after, the server rests for 105 s
    #[arg(long, value_name = "N", default_value_t = 600)]
    seconds: u64,
    /// Seconds of loads before that, not counted, which fill what has a limit: caches, heaps of
    /// threads, the history by the second (2 minutes), the sampler's tables
    #[arg(long, value_name = "N", default_value_t = 300)]
    warm: u64,
    /// The fewest loads to cancel, however long that takes
    #[arg(long, value_name = "N", default_value_t = 1_000)]
    cancels: u32,
    /// Rows of each load
    #[arg(long, value_name = "N", default_value_t = 150_000)]
    rows: u32,
    /// Bytes of a row to leak with each load, at most 8,000: the verdict must then be that memory
    /// grows
    #[arg(long, value_name = "N", default_value_t = 0, value_parser = clap::value_parser!(u32).range(..=8_000))]
    leave: u32,
    /// Seconds between two lines on the current memory; 0 for none
    #[arg(long, value_name = "N", default_value_t = 60)]
    every: u64,
}

/// The server's memory, in bytes.
#[derive(Clone, Debug)]
struct Held {
    resident: f64,
    clerks: f64,
    columns: f64,
    by_clerk: Vec<(String, i64)>,
}

impl Held {
    /// Returns the bytes in use, over all clerks.
    fn in_use(&self) -> f64 {
        let of_use = self.by_clerk.iter().filter(|(name, _)| !NOT_IN_USE.contains(&name.as_str()));
        as_float(of_use.map(|(_, kilobytes)| kilobytes).sum()) * 1_024.0
    }
}

/// Runs the soak. Exit code 1 if a row is missing or superfluous, or memory has grown by more than
/// 2 %.
pub(crate) fn run(arguments: &SoakArguments) -> Result<ExitCode> {
    let plan = Plan::of_server(arguments.server.as_ref(), &PathBuf::new())?;
    let server = start_clearway(&plan, Schedulers::PerCpu, Place::Anywhere)?;
    prepare(&server, arguments.rows)?;
    let (rows, leave) = (i64::from(arguments.rows), arguments.leave);
    let mut soak = Soak { server, rows, leave, cycles: 0, cut: 0, load_ns: 0 };
    let warm_ns = clock::monotonic_ns() + arguments.warm * 1_000_000_000;
    while clock::monotonic_ns() < warm_ns {
        soak.cycle()?;
    }
    let (before, warm_cycles) = (soak.held()?, soak.cycles);
    soak.go_on(arguments)?;
    let after = soak.held()?;
    say(&format!("{} loads, {} of them cancelled half-way", soak.cycles - warm_cycles, soak.cut));
    let loads = f64::from(soak.cycles - warm_cycles);
    let verdicts =
        [is_as_before(&before, &after), is_nothing_left(&before, &after, loads), is_booked(&after)];
    Ok(if verdicts == [true; 3] { ExitCode::SUCCESS } else { ExitCode::FAILURE })
}

/// Returns whether no more memory is held than before.
fn is_as_before(before: &Held, after: &Held) -> bool {
    let mut is_met = true;
    for (name, before, after) in [
        ("resident memory", before.resident, after.resident),
        ("sum over the clerks", before.clerks, after.clerks),
        ("the clerk of columnstores", before.columns, after.columns),
    ] {
        // Below a megabyte a per cent is noise.
        let ratio = after.max(NOISE_BYTES) / before.max(NOISE_BYTES);
        is_met &= ratio <= GROWTH_MAX;
        let verdict = if ratio <= GROWTH_MAX { "met" } else { "MISSED" };
        say(&format!(
            "{name}: {:.1} MB before, {:.1} MB after, ratio {ratio:.3}, asked at most {GROWTH_MAX}: {verdict}",
            before / 1e6,
            after / 1e6
        ));
    }
    for (clerk, kilobytes) in &after.by_clerk {
        let earlier = before.by_clerk.iter().find(|other| other.0 == *clerk).map_or(0, |c| c.1);
        if *kilobytes > earlier + 512 {
            say(&format!("  {clerk}: {earlier} KB before, {kilobytes} KB after"));
        }
    }
    is_met
}

/// Returns whether memory in use has not grown with the number of loads: free memory kept for reuse
/// would hide a small leak per load in the resident memory.
fn is_nothing_left(before: &Held, after: &Held, loads: f64) -> bool {
    let per_load = (after.in_use() - before.in_use()) / loads;
    let is_met = per_load <= LEFT_PER_LOAD_MAX;
    say(&format!(
        "in use: {:.1} MB before, {:.1} MB after, {per_load:.0} bytes for each load, asked at most \
         {LEFT_PER_LOAD_MAX}: {}",
        before.in_use() / 1e6,
        after.in_use() / 1e6,
        if is_met { "met" } else { "MISSED" }
    ));
    is_met
}

/// Returns whether the clerks account for the process's memory.
fn is_booked(held: &Held) -> bool {
    let part = (held.resident - held.clerks).abs() / held.resident;
    let is_met = part <= UNBOOKED_MAX;
    say(&format!(
        "resident memory without a clerk: {:.1} %, asked at most {:.0} %: {}",
        part * 100.0,
        UNBOOKED_MAX * 100.0,
        if is_met { "met" } else { "MISSED" }
    ));
    is_met
}

fn prepare(server: &ServerProcess, rows: u32) -> Result<()> {
    run_batches(&mut connect(server, "")?, [format!("CREATE DATABASE {DATABASE}").as_str()])?;
    let fill = format!(
        "INSERT INTO dbo.staging SELECT value, value % 1000, CONCAT('name ', value % 5000), \
         DATEADD(second, value, '2026-01-01') FROM GENERATE_SERIES(1, {rows})"
    );
    let staging = "CREATE TABLE dbo.staging (id int NOT NULL, grp int NOT NULL, name varchar(40) NOT NULL, \
                   at datetime2 NOT NULL)";
    let left = "CREATE TABLE dbo.left_behind (bytes varchar(8000) NOT NULL)";
    run_batches(&mut connect(server, DATABASE)?, [staging, fill.as_str(), left])
}

/// The state of a run.
struct Soak {
    server: ServerProcess,
    rows: i64,
    /// Bytes to leak with each load.
    leave: u32,
    cycles: u32,
    /// Loads that were cancelled before they were done.
    cut: u32,
    /// How long a load takes that is not cancelled.
    load_ns: u64,
}

impl Soak {
    /// Runs cycles for the measured time.
    fn go_on(&mut self, arguments: &SoakArguments) -> Result<()> {
        let every_ns = arguments.every * 1_000_000_000;
        let begin_ns = clock::monotonic_ns();
        let end_ns = begin_ns + arguments.seconds * 1_000_000_000;
        let mut told_ns = begin_ns;
        self.cut = 0;
        loop {
            let now_ns = clock::monotonic_ns();
            if now_ns >= end_ns && self.cut >= arguments.cancels {
                return Ok(());
            }
            if every_ns > 0 && now_ns - told_ns >= every_ns {
                told_ns += every_ns;
                let megabytes = as_float(self.resident()?) / 1e6;
                let seconds = (now_ns - begin_ns) / 1_000_000_000;
                say(&format!("{seconds} s, {} loads: resident {megabytes:.1} MB", self.cycles));
            }
            self.cycle()?;
        }
    }

    fn resident(&self) -> Result<i64> {
        Ok(i64::try_from(self.server.resident_bytes()?).unwrap_or(i64::MAX))
    }

    fn cycle(&mut self) -> Result<()> {
        let mut client = connect(&self.server, DATABASE)?;
        let make = "CREATE TABLE dbo.t (id int NOT NULL, grp int NOT NULL, name varchar(40) NULL, \
                    at datetime2 NOT NULL, INDEX c CLUSTERED COLUMNSTORE)";
        run_batches(&mut client, [make])?;
        let is_whole = self.load()?;
        let rows = ask_number(&mut client, ROWS)?;
        if rows != self.rows && (is_whole || rows != 0) {
            return Err(format!("{rows} rows of a load of {}: a part of it", self.rows));
        }
        if rows == 0 {
            self.cut += 1;
        }
        if self.cycles.is_multiple_of(4) {
            let changes = [
                "DELETE dbo.t WHERE id % 7 = 0",
                "UPDATE dbo.t SET name = 'other' WHERE id % 100 = 1",
                "ALTER INDEX c ON dbo.t REBUILD",
            ];
            run_batches(&mut client, changes)?;
        }
        let (rows, groups) = (ask_number(&mut client, ROWS)?, ask_number(&mut client, GROUP_ROWS)?);
        if rows != groups {
            return Err(format!("{rows} rows, and {groups} in the row groups"));
        }
        self.cycles += 1;
        if self.leave > 0 {
            let row = format!("INSERT dbo.left_behind VALUES (REPLICATE('x', {}))", self.leave);
            run_batches(&mut client, [row.as_str()])?;
        }
        run_batches(&mut client, ["DROP TABLE dbo.t"])
    }

    /// Runs a load; one in five runs to the end. Returns whether it did.
    fn load(&mut self) -> Result<bool> {
        let mut writer = connect(&self.server, DATABASE)?;
        let request = client::batch(LOAD, ClientSettings::default());
        if self.cycles.is_multiple_of(5) {
            let begin = clock::monotonic_ns();
            Answer::decode(&writer.ask(&request)?)?.check()?;
            self.load_ns = clock::monotonic_ns() - begin;
            return Ok(true);
        }
        // Multiples of the golden ratio spread evenly over the time of a load.
        let share = f64::from(self.cycles) * 0.618_033_988_75 % 1.0;
        let limit = Duration::from_nanos(self.load_ns).mul_f64(share);
        let Some(packets) = writer.ask_within(&request, limit)? else { return Ok(false) };
        Answer::decode(&packets)?.check()?;
        Ok(true)
    }

    fn held(&self) -> Result<Held> {
        pause(SETTLE);
        let mut client = connect(&self.server, DATABASE)?;
        let kilobytes = |client: &mut Generator, text: &str| {
            Ok::<f64, String>(as_float(ask_number(client, text)?) * 1_024.0)
        };
        let (clerks, columns) = (kilobytes(&mut client, CLERKS)?, kilobytes(&mut client, COLUMNS)?);
        let resident = as_float(self.resident()?);
        Ok(Held { resident, clerks, columns, by_clerk: by_clerk(&mut client)? })
    }
}

/// Returns the memory of each clerk, in KB.
fn by_clerk(client: &mut Generator) -> Result<Vec<(String, i64)>> {
    let packets = client.ask(&client::batch(BY_CLERK, ClientSettings::default()))?;
    let answer = Answer::decode(&packets)?.check()?;
    let row = |row: &[Value]| match row {
        [name, Value::BigInt(kilobytes)] => {
            let name = name.as_text(Collation::default()).unwrap_or_default();
            Ok((name, *kilobytes))
        }
        other => Err(format!("not a clerk: {other:?}")),
    };
    answer.rows().iter().map(|values| row(values)).collect()
}
