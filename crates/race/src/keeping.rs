//! `Keeping`: how a server keeps its data, and what a race with durable writes asks of Clearway.

use crate::run::{Lap, Race, median};
use crate::work::Work;

/// How a server keeps its data.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) enum Keeping {
    /// In memory only: it ends with the server.
    #[default]
    Memory,
    /// On the disk; a write may be lost for some time after its reply.
    Delayed,
    /// On the disk before the reply of each write.
    Durable,
}

/// The commits per second of Clearway beside those of the better of PostgreSQL and MariaDB, at least.
const COMMITS_MIN: f64 = 2.0;
/// The CPU per durable write beside that of Redis, at most.
const CPU_MAX: f64 = 1.2;
/// The CPU per write with delayed durability beside that of Redis with a sync each second, at most.
const DELAYED_CPU_MAX: f64 = 1.0;

/// A ratio beside what is asked for.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Verdict {
    pub(crate) what: String,
    pub(crate) asked: String,
    pub(crate) measured: String,
    pub(crate) verdict: &'static str,
}

/// Returns the verdicts of a race with durable writes, on the work `set`; none for other races.
pub(crate) fn verdicts(race: &Race) -> Vec<Verdict> {
    if !race.is_durable {
        return Vec::new();
    }
    let lap = |name: &str| race.laps.iter().find(|lap| lap.work == Work::Set && lap.name == name);
    let rate = |name: &str| lap(name).map(|lap| median(&lap.rates));
    let cpu = |name: &str| lap(name).and_then(cpu_of);
    let better = rate("postgresql").into_iter().chain(rate("mariadb")).reduce(f64::max);
    let faster = ratio(rate("clearway"), better);
    let dearer = ratio(cpu("clearway"), cpu("redis"));
    let delayed = ratio(cpu("clearway delayed"), cpu("redis delayed"));
    vec![
        Verdict::new(
            "commits/s beside the better of PostgreSQL and MariaDB",
            ("at least", COMMITS_MIN),
            faster,
            |found| found >= COMMITS_MIN,
        ),
        Verdict::new(
            "CPU per durable write beside Redis, appendfsync always",
            ("at most", CPU_MAX),
            dearer,
            |found| found <= CPU_MAX,
        ),
        Verdict::new(
            "CPU per delayed write beside Redis, appendfsync everysec",
            ("at most", DELAYED_CPU_MAX),
            delayed,
            |found| found <= DELAYED_CPU_MAX,
        ),
    ]
}

fn cpu_of(lap: &Lap) -> Option<f64> {
    (!lap.cpu_us.is_empty()).then(|| median(&lap.cpu_us))
}

fn ratio(ours: Option<f64>, theirs: Option<f64>) -> Option<f64> {
    ours.zip(theirs).filter(|(_, theirs)| *theirs > 0.0).map(|(ours, theirs)| ours / theirs)
}

impl Verdict {
    pub(crate) fn new(
        what: &str,
        (side, limit): (&str, f64),
        found: Option<f64>,
        is_met: impl Fn(f64) -> bool,
    ) -> Self {
        Self {
            what: what.to_owned(),
            asked: format!("{side} {limit} x"),
            measured: found
                .map_or("no peer of it is installed".to_owned(), |it| format!("{it:.2} x")),
            verdict: match found {
                None => "not measured",
                Some(found) if is_met(found) => "met",
                Some(_) => "MISSED",
            },
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::client::new_histogram;

    fn lap(name: &str, rate: f64, cpu_us: f64) -> Lap {
        Lap {
            work: Work::Set,
            name: name.to_owned(),
            cpu_us: vec![cpu_us],
            rates: vec![rate],
            latencies: new_histogram(),
            busy_percent: None,
        }
    }

    #[test]
    fn ratios_are_with_the_better_peer_and_say_what_is_missing() {
        let laps = vec![
            lap("clearway", 30_000.0, 13.0),
            lap("postgresql", 10_000.0, 90.0),
            lap("mariadb", 20_000.0, 90.0),
            lap("redis", 40_000.0, 10.0),
        ];
        let race = Race { laps, is_durable: true, ..Race::default() };
        let found: Vec<_> =
            verdicts(&race).into_iter().map(|it| (it.measured, it.verdict)).collect();
        let expected = [
            ("1.50 x", "MISSED"),
            ("1.30 x", "MISSED"),
            ("no peer of it is installed", "not measured"),
        ];
        assert_eq!(found, expected.map(|(measured, verdict)| (measured.to_owned(), verdict)));
        assert_eq!(verdicts(&Race::default()), []);
    }
}
