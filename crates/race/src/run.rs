//! Runs a race: all peers are started, then each kind of work goes over them in turns, there and back, so that
//! whatever else goes on here falls on all.

use std::path::PathBuf;
use std::time::Duration;

use hdrhistogram::Histogram;
use load::Idle;
use load::process::Place;

use crate::bulk::{self, Bulk, BulkLap};
use crate::client::{Until, new_histogram};
use crate::peer::{Kind, Peer, TdsServer};
use crate::work::{CONNECTIONS, Work};

/// The error of a race that the user has stopped.
const STOPPED: &str = "stopped";
/// Turns that fill caches and do not count last at most this long.
const WARMUP_MAX: Duration = Duration::from_millis(500);
/// A server that is this busy, in percent of a CPU, is what limits the rate.
const BUSY_PERCENT: f64 = 95.0;

/// What is raced, and how long.
#[derive(Clone, Debug)]
pub struct Settings {
    /// The program whose `serve` is Clearway.
    pub clearway: PathBuf,
    /// Which kinds of work.
    pub works: Vec<Work>,
    /// Which peers, as far as they are here.
    pub peers: Vec<Kind>,
    /// Servers that run already, here or elsewhere.
    pub tds: Vec<TdsServer>,
    /// Which kinds of work on many rows at once.
    pub bulks: Vec<Bulk>,
    /// Rows of those.
    pub rows: u32,
    /// Whether DuckDB takes part in them.
    pub has_duckdb: bool,
    /// How long a turn lasts.
    pub turn: Duration,
    /// Rounds; in each every peer has two turns.
    pub rounds: usize,
}

/// One peer as it raced.
#[derive(Clone, Debug)]
pub struct Entrant {
    /// Its name.
    pub name: String,
    /// What it says of its version.
    pub version: String,
    /// How it was started.
    pub command: String,
    /// What of its settings matters.
    pub settings: String,
}

/// What one peer did in one kind of work.
#[derive(Clone, Debug)]
pub struct Lap {
    /// The kind of work.
    pub work: Work,
    /// The peer's name.
    pub name: String,
    /// Server CPU per request of each turn, in microseconds, least first; none where nobody can tell.
    pub cpu_us: Vec<f64>,
    /// Requests per second of each turn, least first.
    pub rates: Vec<f64>,
    /// Latencies of all turns, in nanoseconds.
    pub latencies: Histogram<u64>,
    /// The server's part of one CPU over all turns, in percent, where somebody can tell.
    pub busy_percent: Option<f64>,
}

impl Lap {
    /// Whether something else than the server was what limited the rate: the client, or neighbours.
    pub fn is_idle_at_times(&self) -> bool {
        self.busy_percent.is_some_and(|percent| percent < BUSY_PERCENT)
    }
}

/// What a race found.
#[derive(Clone, Debug, Default)]
pub struct Race {
    /// The machine.
    pub facts: Vec<(&'static str, String)>,
    /// Who raced.
    pub entrants: Vec<Entrant>,
    /// Who is not on this machine.
    pub absent: Vec<&'static str>,
    /// Who answered wrongly or could not be measured, and why.
    pub failures: Vec<(String, String)>,
    /// What can't be raced: peer, kind of work, why.
    pub left_out: Vec<(String, Work, String)>,
    /// What was found.
    pub laps: Vec<Lap>,
    /// What was found of work on many rows.
    pub bulk_laps: Vec<BulkLap>,
    /// How the turns went.
    pub plan: String,
}

/// The middle of values in order.
pub(crate) fn median(values: &[f64]) -> f64 {
    let middle = values.len() / 2;
    match values.len() {
        0 => 0.0,
        count if count % 2 == 1 => values[middle],
        _ => f64::midpoint(values[middle - 1], values[middle]),
    }
}

/// Runs a race. `tell` is told what is going on; `is_cut` says that it is to end: then what has been found so far
/// comes back, with a failure that says so.
pub fn run(settings: &Settings, tell: &mut dyn FnMut(&str), is_cut: &dyn Fn() -> bool) -> Race {
    let cpus = sos::sys::allowed_cpus();
    let (place, idle, pinned) = match *cpus {
        [server_cpu, .., client_cpu] => (
            Place::Pinned { server_cpu, client_cpu },
            Idle::Spin,
            format!("servers on CPU {server_cpu}, client on CPU {client_cpu}"),
        ),
        // A client that spins would take the only CPU away from the server.
        _ => (Place::Anywhere, Idle::Sleep, "one CPU for servers and client together".to_owned()),
    };
    let mut race = Race {
        facts: load::machine::facts(cpus.len()),
        plan: format!(
            "{} rounds, each of two turns of {:?} for every peer, there and back; {CONNECTIONS} connections, one request \
             under way on each; {pinned}",
            settings.rounds, settings.turn
        ),
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
        tell(&format!("{}: proving that nothing is lost", peer.name));
        let proved = peer.client.prove().and_then(|()| peer.client.tear_down());
        if let Err(why) = proved {
            race.failures.push((peer.name, why));
        }
    }
    // Nobody else is idle beside them: those above have ended.
    if !settings.bulks.is_empty() && !is_cut() {
        bulk::race(settings, place, &mut race, tell, is_cut);
    }
    if is_cut() {
        race.failures.push(("the race".to_owned(), STOPPED.to_owned()));
    }
    race
}

/// Starts who is there.
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
    for kind in &settings.peers {
        let Some(program) = kind.find(&settings.clearway) else {
            race.absent.push(kind.name());
            continue;
        };
        if is_cut() {
            break;
        }
        tell(&format!("{}: starting", kind.name()));
        add(kind.name().to_owned(), race, Peer::start(*kind, &program, place, idle));
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

/// Gives a peer its values, and makes it prove that a lock is a lock.
fn greet(peer: &mut Peer) -> Result<(), String> {
    peer.client.fill()?;
    if peer.races(Work::Session).is_ok() {
        peer.client.prove_lock()?;
    }
    Ok(())
}

/// One kind of work over all peers.
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
    // Whoever has failed has nothing more to say, and its server need not run on.
    let mut at = 0;
    peers.retain(|_| {
        at += 1;
        !failed.contains(&(at - 1))
    });
}

/// What the turns of one peer found.
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
