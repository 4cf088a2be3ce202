//! `clearway race --tpcc`: the transactions of TPC-C on Clearway, PostgreSQL and MariaDB, from the
//! same rows, by the same calls, in turns.
//!
//! ```text
//!   ::tpcc (rows, procedures, calls) ─► Speaker (bytes of one server) ─► Terminals ─► turns ─► TpccRace
//!                                            Connection ─► proof: sums and conditions, before and after
//! ```
//!
//! A turn is a number of calls and not a time, so that all servers have done the same when it ends:
//! their sums are compared.

mod connection;
mod mariadb;
mod postgres;
mod proof;
mod report;
mod speaker;
mod terminals;
mod transact;

use std::fs;
use std::path::{Path, PathBuf};

use ::tpcc::{Dialect, Scale, Transaction};
use hdrhistogram::Histogram;
use load::Idle;
use load::process::Place;
use load::stress::Random;
use sos::clock;

use self::connection::Connection;
use self::mariadb::MariaDbSpeaker;
use self::postgres::PostgresSpeaker;
use self::proof::{Counts, When};
pub use self::report::{tpcc_json, tpcc_section, tpcc_text};
use self::speaker::Speaker;
use self::terminals::{Tally, Terminals};
use self::transact::Transact;
use crate::Result;
use crate::client::new_histogram;
use crate::keeping::Keeping;
use crate::peer::{Kind, READY_MAX, STEP, Start, start_process, version};
use crate::process::{PeerProcess, others_may_enter};
use crate::run::{Entrant, STOPPED, as_float, places};

/// Terminals of each warehouse: clause 4.2.2.
const TERMINALS_EACH: usize = 10;
/// The most terminals: PostgreSQL accepts 100 connections.
pub const TPCC_WAREHOUSES_MAX: u32 = 9;
/// Calls whose whole answers are compared, for each transaction.
const COMPARED_EACH: usize = 40;
/// A folder in memory has at least this size if it is used.
const SHARED_MEMORY_BYTES_MIN: u64 = 6 << 30;
/// Memory for data, in MB, for servers that need a limit: all rows fit.
const MEMORY_MB: u32 = 2_048;
const SHARED_MEMORY: &str = "/dev/shm";

/// What is called in a turn.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum TpccWork {
    /// All transactions, in the proportion of the specification.
    Mix,
    /// Calls of one transaction.
    Only(Transaction),
}

impl TpccWork {
    /// Returns every kind of work.
    pub fn all() -> impl Iterator<Item = Self> {
        std::iter::once(Self::Mix).chain(Transaction::ALL.map(Self::Only))
    }

    /// Returns its name in reports.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Mix => "mix",
            Self::Only(transaction) => transaction.name(),
        }
    }

    /// Returns the next transaction.
    fn draw(self, random: &mut Random) -> Transaction {
        let Self::Only(transaction) = self else {
            let mut drawn = random.below(100);
            let mut is_it = |transaction: &Transaction| {
                let weight = transaction.weight();
                let is_it = drawn < weight;
                drawn = drawn.saturating_sub(weight);
                is_it
            };
            let found = Transaction::ALL.into_iter().find(&mut is_it);
            return found.unwrap_or(Transaction::StockLevel);
        };
        transaction
    }

    /// Returns the calls of a turn, given those of a turn of the mix: some take longer.
    fn calls(self, of_mix: u32) -> u32 {
        let divisor = match self {
            Self::Mix
            | Self::Only(Transaction::NewOrder | Transaction::Payment | Transaction::OrderStatus) => {
                1
            }
            Self::Only(Transaction::StockLevel) => 4,
            // Ten districts each, and it must not run out of orders.
            Self::Only(Transaction::Delivery) => 10,
        };
        (of_mix / divisor).max(1)
    }
}

/// The settings of a race of TPC-C's transactions.
#[derive(Clone, Debug)]
pub struct TpccSettings {
    /// The program whose `serve` is Clearway.
    pub clearway: PathBuf,
    /// The peers to race, if they are installed: those of [`TPCC_PEERS`].
    pub peers: Vec<Kind>,
    /// How much data there is.
    pub scale: Scale,
    /// Calls of a turn of the mix.
    pub calls: u32,
    /// Rounds; every peer has two turns in each.
    pub rounds: usize,
    /// A folder on the disk on which all peers keep their data; `None` for a race in memory.
    pub durable: Option<PathBuf>,
}

/// The peers that have transactions.
pub const TPCC_PEERS: [Kind; 3] = [Kind::Clearway, Kind::Postgres, Kind::MariaDb];

/// The results of one peer in one kind of work.
#[derive(Clone, Debug)]
pub struct TpccLap {
    /// The transactions that were called.
    pub work: TpccWork,
    /// Name of the peer.
    pub name: String,
    /// Server CPU of each turn, in microseconds per call, in the order of the turns.
    pub cpu_us: Vec<f64>,
    /// Calls per second of each turn, in the order of the turns.
    pub rates: Vec<f64>,
    /// The part of the calls that were New-Orders.
    pub orders_part: f64,
    /// Latencies of all turns, in nanoseconds.
    pub latencies: Histogram<u64>,
    /// Calls that were repeated after a deadlock.
    pub retries: u64,
    /// The server's share of one CPU over all turns, in percent.
    pub busy_percent: f64,
}

/// The results of a race of TPC-C's transactions.
#[derive(Clone, Debug, Default)]
pub struct TpccRace {
    /// Facts about the machine.
    pub facts: Vec<(&'static str, String)>,
    /// The peers that raced.
    pub entrants: Vec<Entrant>,
    /// The peers that are not installed.
    pub absent: Vec<&'static str>,
    /// Peers that answered wrongly or differ from the first, and how.
    pub failures: Vec<(String, String)>,
    /// What was compared, and found the same.
    pub proofs: Vec<String>,
    /// The results by work and peer.
    pub laps: Vec<TpccLap>,
    /// Description of the turns.
    pub plan: String,
    /// Whether all peers keep their data on a disk.
    pub is_durable: bool,
}

/// A server in the race.
struct Peer {
    kind: Kind,
    terminals: Terminals,
    /// For statements between turns.
    connection: Connection,
    process: PeerProcess,
    before: Counts,
    tally: Tally,
}

/// Runs a race of TPC-C's transactions. As `run`, it calls `tell` and ends when `is_cut` returns
/// true.
pub fn run_tpcc(
    settings: &TpccSettings,
    tell: &mut dyn FnMut(&str),
    is_cut: &dyn Fn() -> bool,
) -> TpccRace {
    let cpus = sos::sys::allowed_cpus();
    let (place, idle, pinned) = places(&cpus);
    let warehouses = settings.scale.warehouses;
    let mut race = TpccRace {
        facts: load::machine::facts(cpus.len()),
        plan: format!(
            "{warehouses} warehouses of {} items and 10 districts of {} customers, {} terminals, no keying and think times; \
             {} rounds, each of two turns for every peer, there and back; {} calls a turn (Stock-Level a quarter, Delivery a \
             tenth); {pinned}",
            settings.scale.items,
            settings.scale.customers,
            usize::try_from(warehouses).unwrap_or(0) * TERMINALS_EACH,
            settings.rounds,
            settings.calls
        ),
        is_durable: settings.durable.is_some(),
        ..TpccRace::default()
    };
    let mut peers = Vec::new();
    for kind in &settings.peers {
        let Some(program) = kind.find(&settings.clearway) else {
            race.absent.push(kind.name());
            continue;
        };
        if is_cut() {
            break;
        }
        match Peer::start((*kind, &program), settings, (place, idle), tell, is_cut) {
            Ok((peer, entrant)) => {
                race.entrants.push(entrant);
                peers.push(peer);
            }
            Err(why) => race.failures.push((kind.name().to_owned(), why)),
        }
    }
    if is_cut() {
        return stopped(race);
    }
    compare(&mut race, &mut peers, When::Loaded, tell);
    compare_answers(&mut race, &mut peers, tell);
    for work in TpccWork::all() {
        lap(work, settings, &mut race, &mut peers, tell, is_cut);
    }
    if is_cut() {
        return stopped(race);
    }
    compare(&mut race, &mut peers, When::Called, tell);
    race
}

/// Returns a race that the user has stopped.
fn stopped(mut race: TpccRace) -> TpccRace {
    race.failures.push(("the race".to_owned(), STOPPED.to_owned()));
    race
}

impl Peer {
    /// Starts a server and loads its rows.
    fn start(
        (kind, program): (Kind, &Path),
        settings: &TpccSettings,
        (place, idle): (Place, Idle),
        tell: &mut dyn FnMut(&str),
        is_cut: &dyn Fn() -> bool,
    ) -> Result<(Self, Entrant)> {
        let keeping = if settings.durable.is_some() { Keeping::Durable } else { Keeping::Memory };
        let disk = settings.durable.clone().or_else(shared_memory);
        let extra = extra(kind, keeping);
        tell(&format!("{}: starting", kind.name()));
        let (disk, memory_mb) = (disk.as_deref(), MEMORY_MB);
        let start = Start { kind, keeping, program, place, disk, memory_mb, extra };
        let (command, process) = start_process(&start)?;
        let make = || speaker(kind, keeping);
        let mut connection = first(&process, &make)?;
        tell(&format!("{}: loading {} warehouses", kind.name(), settings.scale.warehouses));
        if kind == Kind::Clearway {
            connection.ask("create database race")?;
            connection.ask("use race")?;
        }
        for statement in dialect(kind, keeping).setup(settings.scale) {
            if is_cut() {
                return Err(STOPPED.to_owned());
            }
            connection.ask(&statement)?;
        }
        let terminals = Terminals::open(process.address(), &make, settings.scale, idle)?;
        let before = Counts::read(&mut connection)?;
        let entrant = Entrant {
            name: kind.name().to_owned(),
            version: version(program),
            command,
            settings: words(kind, keeping).to_owned(),
        };
        Ok((
            Self { kind, terminals, connection, process, before, tally: Tally::default() },
            entrant,
        ))
    }

    /// Returns what must be the same on all servers, and fails if this one's rows are not consistent.
    fn proved(&mut self, when: When) -> Result<Vec<String>> {
        proof::conditions(&mut self.connection)?;
        let found = Counts::read(&mut self.connection)?;
        let expected = self.before.after(&self.tally);
        if found != expected {
            return Err(format!("acknowledged is {expected:?}, but there is {found:?}"));
        }
        proof::sums(self.kind, &mut self.connection, when)
    }
}

/// Opens the first connection. Some servers listen before they accept logins.
fn first(process: &PeerProcess, make: &dyn Fn() -> Box<dyn Speaker>) -> Result<Connection> {
    let end_ns = clock::deadline_ns(READY_MAX);
    loop {
        match Connection::open(process.address(), make()) {
            Err(why) if why.contains("57P03") && clock::monotonic_ns() < end_ns => {
                load::pause(STEP);
            }
            opened => return opened,
        }
    }
}

fn speaker(kind: Kind, keeping: Keeping) -> Box<dyn Speaker> {
    match kind {
        Kind::Postgres => Box::new(PostgresSpeaker::new(keeping)),
        Kind::MariaDb => Box::new(MariaDbSpeaker::new(keeping)),
        Kind::Clearway | Kind::Redis | Kind::Memcached => Box::new(Transact::new()),
    }
}

fn dialect(kind: Kind, keeping: Keeping) -> Dialect {
    match kind {
        Kind::Postgres => Dialect::Postgres { is_logged: keeping != Keeping::Memory },
        Kind::MariaDb => Dialect::MariaDb,
        Kind::Clearway | Kind::Redis | Kind::Memcached => Dialect::Transact,
    }
}

/// Returns the arguments that this race gives a server: room for all data in memory.
const fn extra(kind: Kind, keeping: Keeping) -> &'static [&'static str] {
    match (kind, keeping) {
        (Kind::Postgres, _) => &["-c", "max_wal_size=8GB"],
        (Kind::MariaDb, Keeping::Memory) => &[
            "--transaction-isolation=READ-COMMITTED",
            "--innodb-log-file-size=1G",
            "--innodb-flush-log-at-trx-commit=0",
            "--innodb-doublewrite=0",
        ],
        (Kind::MariaDb, Keeping::Delayed | Keeping::Durable) => {
            &["--transaction-isolation=READ-COMMITTED", "--innodb-log-file-size=1G"]
        }
        (Kind::Clearway | Kind::Redis | Kind::Memcached, _) => &[],
    }
}

/// Returns a server's important settings, in words.
const fn words(kind: Kind, keeping: Keeping) -> &'static str {
    match (kind, keeping) {
        (Kind::Postgres, Keeping::Memory) => {
            "READ COMMITTED; unlogged tables, fillfactor 50 (10 for warehouses and districts), fsync and synchronous_commit off, \
             data in memory where there is a folder for it; PL/pgSQL functions called by prepared statements; autovacuum as it comes"
        }
        (Kind::Postgres, Keeping::Delayed | Keeping::Durable) => {
            "READ COMMITTED; logged tables, fillfactor 50 (10 for warehouses and districts), fsync and synchronous_commit on; \
             PL/pgSQL functions called by prepared statements; autovacuum as it comes"
        }
        (Kind::MariaDb, Keeping::Memory) => {
            "READ COMMITTED; InnoDB, no flush of the log at a commit, no doublewrite, no binary log, data in memory where there is \
             a folder for it; procedures called by prepared statements"
        }
        (Kind::MariaDb, Keeping::Delayed | Keeping::Durable) => {
            "READ COMMITTED; InnoDB, innodb_flush_log_at_trx_commit 1, no binary log; procedures called by prepared statements"
        }
        (Kind::Clearway | Kind::Redis | Kind::Memcached, Keeping::Memory) => {
            "READ COMMITTED with row versions (READ_COMMITTED_SNAPSHOT ON, as a new database has it); data lives in memory; \
             procedures called by RPC"
        }
        (Kind::Clearway | Kind::Redis | Kind::Memcached, Keeping::Delayed | Keeping::Durable) => {
            "READ COMMITTED with row versions (READ_COMMITTED_SNAPSHOT ON, as a new database has it); a data folder, each commit is \
             durable before its reply; procedures called by RPC"
        }
    }
}

/// Returns a folder whose files are in memory and which is large enough, if there is one.
fn shared_memory() -> Option<PathBuf> {
    let mounts = fs::read_to_string("/proc/mounts").ok()?;
    let folder = PathBuf::from(SHARED_MEMORY);
    (is_large(&mounts) && others_may_enter(&folder)).then_some(folder)
}

/// Returns whether the list of mounts has a folder in memory of sufficient size. One without a size
/// has half of the machine's memory.
fn is_large(mounts: &str) -> bool {
    let line = mounts.lines().find(|line| line.split(' ').nth(1) == Some(SHARED_MEMORY));
    let fields: Vec<_> = line.unwrap_or_default().split(' ').collect();
    let [_, _, "tmpfs", options, ..] = fields[..] else { return false };
    let size = options.split(',').find_map(|option| option.strip_prefix("size="));
    let kilobytes = size.map(|size| size.strip_suffix('k').and_then(|it| it.parse::<u64>().ok()));
    kilobytes
        .is_none_or(|kilobytes| kilobytes.is_some_and(|it| it << 10 >= SHARED_MEMORY_BYTES_MIN))
}

/// Compares the rows of all servers with those of the first.
fn compare(race: &mut TpccRace, peers: &mut Vec<Peer>, when: When, tell: &mut dyn FnMut(&str)) {
    tell("comparing the rows");
    let mut first: Option<Vec<String>> = None;
    peers.retain_mut(|peer| {
        let compared = peer.proved(when).and_then(|sums| {
            let wanted = first.get_or_insert_with(|| sums.clone());
            difference(wanted, &sums)
        });
        compared.map_err(|why| race.failures.push((peer.kind.name().to_owned(), why))).is_ok()
    });
    if let (Some(sums), false) = (first, peers.is_empty()) {
        let names = names(peers);
        race.proofs.push(match when {
            When::Loaded => format!("loaded rows: {} sums are the same on {names}", sums.len()),
            When::Called => format!(
                "after all turns: consistency conditions 1 to 4 (clause 3.3.2) hold, rows are as acknowledged, and {} sums \
                 are the same on {names}",
                sums.len()
            ),
        });
    }
}

/// Compares whole answers to the same calls.
fn compare_answers(race: &mut TpccRace, peers: &mut Vec<Peer>, tell: &mut dyn FnMut(&str)) {
    const SEED: u64 = 0xA45;
    tell("comparing answers");
    let mut first = None;
    let count = COMPARED_EACH * Transaction::ALL.len();
    peers.retain_mut(|peer| {
        let compared = peer.terminals.answers(count, SEED).and_then(|(answers, tally)| {
            peer.tally.add(&tally);
            let lines: Vec<_> = answers.iter().map(|it| format!("{it:?}")).collect();
            let wanted = first.get_or_insert_with(|| lines.clone());
            difference(wanted, &lines)
        });
        compared.map_err(|why| race.failures.push((peer.kind.name().to_owned(), why))).is_ok()
    });
    if !peers.is_empty() {
        let names = names(peers);
        race.proofs.push(format!("answers to {count} calls: the same on {names}"));
    }
}

fn names(peers: &[Peer]) -> String {
    peers.iter().map(|peer| peer.kind.name()).collect::<Vec<_>>().join(", ")
}

/// Fails with the first lines that differ.
fn difference(wanted: &[String], found: &[String]) -> Result<()> {
    match wanted.iter().zip(found).find(|(wanted, found)| wanted != found) {
        Some((wanted, found)) => Err(format!("{found}\n  the first server has {wanted}")),
        None if wanted.len() == found.len() => Ok(()),
        None => Err(format!("{} answers instead of {}", found.len(), wanted.len())),
    }
}

/// Runs one kind of work on all servers.
fn lap(
    work: TpccWork,
    settings: &TpccSettings,
    race: &mut TpccRace,
    peers: &mut Vec<Peer>,
    tell: &mut dyn FnMut(&str),
    is_cut: &dyn Fn() -> bool,
) {
    let calls = work.calls(settings.calls);
    let warmup = calls.div_ceil(4);
    let mut samples: Vec<Samples> = peers.iter().map(|_| Samples::new()).collect();
    let mut failed: Vec<usize> = Vec::new();
    // The first turns fill caches and are not counted.
    let turns =
        std::iter::once((0, warmup)).chain((1..=settings.rounds).map(|round| (round, calls)));
    for (round, calls) in turns {
        tell(&format!("{}: round {round} of {}", work.name(), settings.rounds));
        let there = 0..peers.len();
        let back = if round == 0 { 0..0 } else { there.clone() };
        for (place, at) in there.chain(back.rev()).enumerate() {
            if is_cut() || failed.contains(&at) {
                continue;
            }
            // The two turns of a round have their seeds, which are the same for all servers.
            let is_back = u64::from(place >= peers.len());
            let seed = 2 * u64::try_from(round).unwrap_or(0) + is_back;
            let turn = samples[at].turn(&mut peers[at], work, (calls, seed), round > 0, is_cut);
            if let Err(why) = turn {
                let (name, work) = (peers[at].kind.name(), work.name());
                race.failures.push((name.to_owned(), format!("{work}: {why}")));
                failed.push(at);
            }
        }
    }
    for (at, (samples, peer)) in samples.into_iter().zip(peers.iter()).enumerate() {
        if !failed.contains(&at) && !samples.rates.is_empty() {
            race.laps.push(samples.lap(work, peer.kind.name()));
        }
    }
    let mut at = 0;
    peers.retain(|_| {
        at += 1;
        !failed.contains(&(at - 1))
    });
}

/// The results of the turns of one server.
struct Samples {
    cpu_us: Vec<f64>,
    rates: Vec<f64>,
    latencies: Histogram<u64>,
    orders: u64,
    retries: u64,
    cpu_ns: u64,
    wall_ns: u64,
}

impl Samples {
    fn new() -> Self {
        let (cpu_us, rates, latencies) = (Vec::new(), Vec::new(), new_histogram());
        Self { cpu_us, rates, latencies, orders: 0, retries: 0, cpu_ns: 0, wall_ns: 0 }
    }

    fn turn(
        &mut self,
        peer: &mut Peer,
        work: TpccWork,
        (calls, seed): (u32, u64),
        is_counted: bool,
        is_cut: &dyn Fn() -> bool,
    ) -> Result<()> {
        let each = usize::try_from(calls).unwrap_or(1).div_ceil(peer.terminals.count());
        let cpu_ns = peer.process.cpu_ns()?;
        let turn = peer.terminals.run(work, each, seed, is_cut)?;
        let cpu_ns = peer.process.cpu_ns()?.saturating_sub(cpu_ns);
        peer.tally.add(&turn.tally);
        if !is_counted {
            return Ok(());
        }
        let count = as_float(turn.latencies.len().max(1));
        self.cpu_us.push(as_float(cpu_ns) / 1e3 / count);
        self.rates.push(count * 1e9 / as_float(turn.wall_ns.max(1)));
        self.latencies += &turn.latencies;
        self.orders += turn.tally.orders + turn.tally.rolled_back;
        self.retries += turn.retries;
        self.cpu_ns += cpu_ns;
        self.wall_ns += turn.wall_ns;
        Ok(())
    }

    fn lap(self, work: TpccWork, name: &str) -> TpccLap {
        TpccLap {
            work,
            name: name.to_owned(),
            orders_part: as_float(self.orders) / as_float(self.latencies.len().max(1)),
            busy_percent: as_float(self.cpu_ns) * 100.0 / as_float(self.wall_ns.max(1)),
            cpu_us: self.cpu_us,
            rates: self.rates,
            latencies: self.latencies,
            retries: self.retries,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_mix_has_the_weights_of_the_specification() {
        let mut random = Random::new(7);
        let mut counts = [0_u32; 5];
        for _ in 0..100_000 {
            counts[speaker::index(TpccWork::Mix.draw(&mut random))] += 1;
        }
        for (transaction, count) in Transaction::ALL.into_iter().zip(counts) {
            // Five standard deviations of the largest.
            assert!(count.abs_diff(transaction.weight() * 1_000) < 800, "{counts:?}");
        }
    }

    #[test]
    fn a_small_folder_in_memory_is_not_used() {
        let mount = |options: &str| format!("tmpfs /dev/shm tmpfs {options} 0 0\n");
        assert!(is_large(&mount("rw,nosuid,nodev")));
        assert!(is_large(&mount("rw,size=24683520k,nr_inodes=1")));
        assert!(!is_large(&mount("rw,size=65536k")), "as containers have it");
        assert!(!is_large("/dev/vda / ext4 rw 0 0\n"));
    }

    #[test]
    fn what_differs_is_named() {
        let lines = |texts: &[&str]| texts.iter().map(|it| (*it).to_owned()).collect::<Vec<_>>();
        assert_eq!(difference(&lines(&["a", "b"]), &lines(&["a", "b"])), Ok(()));
        let why = difference(&lines(&["a", "b"]), &lines(&["a", "c"])).unwrap_err();
        assert!(why.contains('c') && why.contains("first server has b"), "{why}");
        assert!(difference(&lines(&["a", "b"]), &lines(&["a"])).is_err());
    }
}
