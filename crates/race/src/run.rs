//! Runs a race: starts all peers, then runs each kind of work on them in turns, forwards and
//! backwards, so that other work on the machine affects all.

use std::path::PathBuf;
use std::time::Duration;

use hdrhistogram::Histogram;
use load::Idle;
use load::process::Place;

use crate::bulk::{self, Bulk, BulkLap};
use crate::client::{Until, new_histogram};
use crate::keeping::Keeping;
use crate::peer::{Kind, MEMORY_MB, Peer, Start, TdsServer};
use crate::work::{CONNECTIONS, Work};

/// The error of a race that the user has stopped.
pub(crate) const STOPPED: &str = "stopped";
/// The longest turn that only fills caches and is not counted.
const WARMUP_MAX: Duration = Duration::from_millis(500);
/// A server that uses at least this percentage of a CPU limits the rate.
const BUSY_PERCENT: f64 = 95.0;

/// The settings of a race.
#[derive(Clone, Debug)]
pub struct Settings {
    /// The program whose `serve` is Clearway.
    pub clearway: PathBuf,
    /// The kinds of work to race.
    pub works: Vec<Work>,
    /// The peers to race, if they are installed.
    pub peers: Vec<Kind>,
    /// Servers, here or elsewhere, that are already running.
    pub tds: Vec<TdsServer>,
    /// The kinds of work on many rows.
    pub bulks: Vec<Bulk>,
    /// Rows of such work.
    pub rows: u32,
    /// Whether DuckDB takes part in such work.
    pub has_duckdb: bool,
    /// How long a turn lasts.
    pub turn: Duration,
    /// Rounds; every peer has two turns in each.
    pub rounds: usize,
    /// A folder on the disk on which all peers keep their data; `None` for a race in memory.
    pub durable: Option<PathBuf>,
}

/// One peer of the race.
#[derive(Clone, Debug)]
pub struct Entrant {
    /// Name of the peer.
    pub name: String,
    /// The version that it reports.
    pub version: String,
    /// The command that started it.
    pub command: String,
    /// Its important settings, in words.
    pub settings: String,
}

/// The results of one peer in one kind of work.
#[derive(Clone, Debug)]
pub struct Lap {
    /// The kind of work.
    pub work: Work,
    /// Name of the peer.
    pub name: String,
    /// Server CPU per request of each turn, in microseconds, in ascending order; empty if unknown.
    pub cpu_us: Vec<f64>,
    /// Requests per second of each turn, in ascending order.
    pub rates: Vec<f64>,
    /// Latencies of all turns, in nanoseconds.
    pub latencies: Histogram<u64>,
    /// The server's share of one CPU over all turns, in percent; `None` if unknown.
    pub busy_percent: Option<f64>,
}

impl Lap {
    /// Returns whether the server was not what limited the rate, but the client or other processes.
    pub fn is_idle_at_times(&self) -> bool {
        self.busy_percent.is_some_and(|percent| percent < BUSY_PERCENT)
    }
}

/// The results of a race.
#[derive(Clone, Debug, Default)]
pub struct Race {
    /// Facts about the machine.
    pub facts: Vec<(&'static str, String)>,
    /// The peers that raced.
    pub entrants: Vec<Entrant>,
    /// The peers that are not installed.
    pub absent: Vec<&'static str>,
    /// Peers that answered wrongly or could not be measured, and why.
    pub failures: Vec<(String, String)>,
    /// Combinations that cannot be raced: peer, kind of work, why.
    pub left_out: Vec<(String, Work, String)>,
    /// The results by peer and work.
    pub laps: Vec<Lap>,
    /// The results of work on many rows.
    pub bulk_laps: Vec<BulkLap>,
    /// Description of the turns.
    pub plan: String,
    /// Whether all peers keep their data on a disk.
    pub is_durable: bool,
}

/// Returns the median of ordered values.
pub(crate) fn median(values: &[f64]) -> f64 {
    let middle = values.len() / 2;
    match values.len() {
        0 => 0.0,
        count if count % 2 == 1 => values[middle],
        _ => f64::midpoint(values[middle - 1], values[middle]),
    }
}

/// Runs a race. Calls `tell` with lines on its progress; ends when `is_cut` returns true: then it
/// returns the results so far, with a failure that says so.
pub fn run(settings: &Settings, tell: &mut dyn FnMut(&str), is_cut: &dyn Fn() -> bool) -> Race {
    let cpus = sos::sys::allowed_cpus();
    let (place, idle, pinned) = places(&cpus);
    let mut race = Race {
        facts: load::machine::facts(cpus.len()),
        plan: format!(
            "{} rounds, each of two turns of {:?} for every peer, there and back; {CONNECTIONS} connections, one request \
             under way on each; {pinned}",
            settings.rounds, settings.turn
        ),
        is_durable: settings.durable.is_some(),
        ..Race::default()
    };
    let mut peers = gather(settings, place, idle, &mut race, tell, is_cut);
    for work in &settings.works {
        lap(*work, settings, &mut peers, &mut race, tell, is_cut);
    }
    for mut peer in peers.drain(..) {
        if is_cut() {
            break;
        }
        tell(&format!("{}: checking that nothing was lost", peer.name));
        let proved = peer.client.prove().and_then(|()| peer.client.tear_down());
        if let Err(why) = proved {
            race.failures.push((peer.name, why));
        }
    }
    // These run alone: the peers above have ended.
    if !settings.bulks.is_empty() && !is_cut() {
        bulk::race(settings, place, &mut race, tell, is_cut);
    }
    if is_cut() {
        race.failures.push(("the race".to_owned(), STOPPED.to_owned()));
    }
    race
}

/// Returns where servers and client run, how the client waits, and both in words.
pub(crate) fn places(cpus: &[usize]) -> (Place, Idle, String) {
    match *cpus {
        [server_cpu, .., client_cpu] => (
            Place::Pinned { server_cpu, client_cpu },
            Idle::Spin,
            format!("servers on CPU {server_cpu}, client on CPU {client_cpu}"),
        ),
        // A client that spins would take the only CPU from the server.
        _ => (Place::Anywhere, Idle::Sleep, "one CPU for servers and client together".to_owned()),
    }
}

/// Starts the peers that are available.
fn gather(
    settings: &Settings,
    place: Place,
    idle: Idle,
    race: &mut Race,
    tell: &mut dyn FnMut(&str),
    is_cut: &dyn Fn() -> bool,
) -> Vec<Peer> {
    let mut peers = Vec::new();
    let mut add = |name: String, race: &mut Race, started: Result<Peer, String>| match started
        .and_then(|mut peer| greet(&mut peer).map(|()| peer))
    {
        Ok(peer) => {
            race.entrants.push(Entrant {
                name: peer.name.clone(),
                version: peer.version.clone(),
                command: peer.command.clone(),
                settings: peer.settings.clone(),
            });
            peers.push(peer);
        }
        Err(why) => race.failures.push((name, why)),
    };
    let keepings: &[Keeping] = match settings.durable {
        None => &[Keeping::Memory],
        Some(_) => &[Keeping::Durable, Keeping::Delayed],
    };
    let can_race = |kind: &&Kind| keepings.iter().any(|keeping| kind.can_keep(*keeping));
    for kind in settings.peers.iter().filter(can_race) {
        let Some(program) = kind.find(&settings.clearway) else {
            race.absent.push(kind.name());
            continue;
        };
        if is_cut() {
            break;
        }
        let disk = settings.durable.as_deref();
        for keeping in keepings.iter().filter(|keeping| kind.can_keep(**keeping)) {
            let name = kind.label(*keeping);
            tell(&format!("{name}: starting"));
            let (kind, keeping, program) = (*kind, *keeping, &*program);
            let memory_mb = MEMORY_MB;
            let start = Start { kind, keeping, program, place, disk, memory_mb, extra: &[] };
            add(name, race, Peer::start(&start, idle));
        }
    }
    for server in &settings.tds {
        if is_cut() {
            break;
        }
        let name = format!("tds {}", server.target.address);
        tell(&format!("{name}: joining"));
        add(name, race, Peer::join(server, idle));
    }
    peers
}

/// Gives a peer its first values, and checks that its lock excludes others.
fn greet(peer: &mut Peer) -> Result<(), String> {
    peer.client.fill()?;
    if peer.races(Work::Session).is_ok() {
        peer.client.prove_lock()?;
    }
    Ok(())
}

/// Runs one kind of work on all peers.
fn lap(
    work: Work,
    settings: &Settings,
    peers: &mut Vec<Peer>,
    race: &mut Race,
    tell: &mut dyn FnMut(&str),
    is_cut: &dyn Fn() -> bool,
) {
    let mut lanes: Vec<(usize, Samples)> = Vec::new();
    for (index, peer) in peers.iter().enumerate() {
        match peer.races(work) {
            Ok(()) => lanes.push((index, Samples::new())),
            Err(why) => race.left_out.push((peer.name.clone(), work, why)),
        }
    }
    let mut failed: Vec<usize> = Vec::new();
    let warmup = settings.turn.min(WARMUP_MAX);
    for (index, _) in &lanes {
        if let Err(why) = peers[*index].client.run(work, Until::Time(warmup), is_cut) {
            race.failures.push((peers[*index].name.clone(), format!("{}: {why}", work.name())));
            failed.push(*index);
        }
    }
    for round in 1..=settings.rounds {
        tell(&format!("{}: round {round} of {}", work.name(), settings.rounds));
        let there = 0..lanes.len();
        for at in there.clone().chain(there.rev()) {
            let (index, samples) = &mut lanes[at];
            if is_cut() || failed.contains(index) {
                continue;
            }
            let peer = &mut peers[*index];
            if let Err(why) = samples.turn(peer, work, settings.turn, is_cut) {
                race.failures.push((peer.name.clone(), format!("{}: {why}", work.name())));
                failed.push(*index);
            }
        }
    }
    for (index, samples) in lanes {
        if !failed.contains(&index) && !samples.rates.is_empty() {
            race.laps.push(samples.lap(work, &peers[index].name));
        }
    }
    // A peer that has failed is removed, and its server ends.
    let mut at = 0;
    peers.retain(|_| {
        at += 1;
        !failed.contains(&(at - 1))
    });
}

/// The results of the turns of one peer.
struct Samples {
    cpu_us: Vec<f64>,
    rates: Vec<f64>,
    latencies: Histogram<u64>,
    cpu_ns: u64,
    wall_ns: u64,
}

impl Samples {
    fn new() -> Self {
        let latencies = new_histogram();
        Self { cpu_us: Vec::new(), rates: Vec::new(), latencies, cpu_ns: 0, wall_ns: 0 }
    }

    fn turn(
        &mut self,
        peer: &mut Peer,
        work: Work,
        time: Duration,
        is_cut: &dyn Fn() -> bool,
    ) -> Result<(), String> {
        let before = peer.cpu_ns()?;
        let turn = peer.client.run(work, Until::Time(time), is_cut)?;
        let requests = as_float(turn.latencies.len().max(1));
        if let Some((before, after)) = before.zip(peer.cpu_ns()?) {
            let cpu_ns = after.saturating_sub(before);
            self.cpu_us.push(as_float(cpu_ns) / 1e3 / requests);
            self.cpu_ns += cpu_ns;
        }
        self.rates.push(requests * 1e9 / as_float(turn.wall_ns.max(1)));
        self.latencies += &turn.latencies;
        self.wall_ns += turn.wall_ns;
        Ok(())
    }

    fn lap(mut self, work: Work, name: &str) -> Lap {
        self.cpu_us.sort_by(f64::total_cmp);
        self.rates.sort_by(f64::total_cmp);
        Lap {
            work,
            name: name.to_owned(),
            busy_percent: (!self.cpu_us.is_empty())
                .then(|| as_float(self.cpu_ns) * 100.0 / as_float(self.wall_ns.max(1))),
            cpu_us: self.cpu_us,
            rates: self.rates,
            latencies: self.latencies,
        }
    }
}

#[expect(clippy::cast_precision_loss, reason = "a figure is for readers")]
pub(crate) fn as_float(number: u64) -> f64 {
    number as f64
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_median_is_in_the_middle() {
        assert!((median(&[1.0, 2.0, 9.0]) - 2.0).abs() < 1e-9);
        assert!((median(&[1.0, 2.0, 4.0, 9.0]) - 3.0).abs() < 1e-9);
        assert!(median(&[]).abs() < 1e-9);
    }
}
