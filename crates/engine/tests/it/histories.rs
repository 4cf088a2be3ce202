//! Random transaction histories at each isolation level, and a check for anomalies that the level
//! forbids.
//!
//! Clients append numbers to lists and read lists, by key and by ranges of keys (Elle's
//! list-append: Kingsbury and Alvaro, VLDB 2020). A list shows the order of its writers, so the
//! history gives the dependencies between transactions: `ww` (to the next writer of a list), `wr`
//! (from a writer to a reader of its number), `rw` (from a reader of a list to its next writer). A
//! cycle of these is an anomaly (Adya): of `ww` alone G0, with `wr` G1c, with one `rw` G-single,
//! with more G2.
//!
//! `HISTORY_SECONDS` sets how long each level runs (`make histories`). The checker must find the
//! mistakes that a test store can be told to make; released builds have no such switch.

use std::collections::{HashMap, HashSet};
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::mpsc::channel;
use std::time::Duration;

use engine::instance::Instance;
use engine::session::Session;
use storage::{Mistake, Store, StoreOptions};

use crate::client::{batch, instance_over, login, run};
use crate::dice::Dice;

const CLIENTS: u64 = 8;
/// Number of lists in use at a time; each is replaced after this many numbers.
const LISTS: u64 = 6;
const NUMBERS: u64 = 40;

/// What a level forbids.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
enum Anomaly {
    G0,
    /// A read of a number that was rolled back or that its transaction overwrote; or a cycle of
    /// `ww` and `wr`.
    G1,
    GSingle,
    G2Item,
    G2,
}

struct Level {
    name: &'static str,
    memory: bool,
    off: bool,
    level: &'static str,
    hint: &'static str,
    /// Returns the first anomaly that may occur; `None` for SERIALIZABLE.
    allows: Option<Anomaly>,
}

const fn ordinary(level: &'static str, allows: Option<Anomaly>) -> Level {
    Level { name: level, memory: false, off: false, level, hint: "", allows }
}

const fn memory(name: &'static str, hint: &'static str, allows: Option<Anomaly>) -> Level {
    Level { name, memory: true, off: false, level: "READ COMMITTED", hint, allows }
}

const LEVELS: [Level; 9] = [
    ordinary("READ UNCOMMITTED", Some(Anomaly::G1)),
    ordinary("READ COMMITTED", Some(Anomaly::GSingle)),
    Level {
        name: "READ COMMITTED without versions",
        off: true,
        ..ordinary("READ COMMITTED", Some(Anomaly::GSingle))
    },
    ordinary("REPEATABLE READ", Some(Anomaly::G2)),
    ordinary("SNAPSHOT", Some(Anomaly::G2Item)),
    ordinary("SERIALIZABLE", None),
    memory("memory-optimized SNAPSHOT", "WITH (SNAPSHOT)", Some(Anomaly::G2Item)),
    memory("memory-optimized REPEATABLEREAD", "WITH (REPEATABLEREAD)", Some(Anomaly::G2)),
    memory("memory-optimized SERIALIZABLE", "WITH (SERIALIZABLE)", None),
];

/// One step of a transaction, with its outcome.
#[derive(Clone, Debug)]
enum Step {
    Append(u64, u64),
    /// A list, read by its key or as part of a range.
    Read(u64, Vec<u64>),
}

#[derive(Debug)]
struct Done {
    steps: Vec<Step>,
    is_committed: bool,
}

fn setup(level: &Level, mistake: Option<Mistake>) -> Arc<Instance> {
    let store = Store::new(StoreOptions::default());
    #[cfg(debug_assertions)]
    if let Some(mistake) = mistake {
        store.make(mistake);
    }
    #[cfg(not(debug_assertions))]
    assert!(mistake.is_none(), "what is released makes no mistakes");
    let instance = instance_over(store, 2, |_| {});
    let mut session = login(&instance);
    let (key, with) = match level.memory {
        true => ("NONCLUSTERED", "WITH (MEMORY_OPTIMIZED = ON, DURABILITY = SCHEMA_ONLY)"),
        false => ("", ""),
    };
    run(&mut session, "CREATE DATABASE d");
    if level.off {
        run(&mut session, "ALTER DATABASE d SET READ_COMMITTED_SNAPSHOT OFF");
    }
    run(&mut session, "USE d");
    run(
        &mut session,
        &format!(
            "CREATE TABLE t (k int NOT NULL PRIMARY KEY {key}, v varchar(4000) NOT NULL) {with}"
        ),
    );
    instance
}

/// Transactions that a history commits, if need be in more time than it was given: on a busy machine a
/// wait for a lock takes as long as other programs have the CPUs.
const ENOUGH: usize = 50;
const MORE: Duration = Duration::from_secs(120);

/// Runs clients for a while; returns what they did, and the final lists.
fn history(level: &'static Level, mistake: Option<Mistake>, time: Duration) -> History {
    let instance = setup(level, mistake);
    let (tell, done) = channel();
    let committed = Arc::new(AtomicUsize::new(0));
    for client in 1..=CLIENTS {
        let mut session = login(&instance);
        let (tell, committed) = (tell.clone(), Arc::clone(&committed));
        let work = move || {
            let end_ns = sos::clock::deadline_ns(time);
            let last_ns = sos::clock::deadline_ns(time + MORE);
            let goes_on = || {
                let now_ns = sos::clock::monotonic_ns();
                // Relaxed: a count that orders nothing.
                let is_short = committed.load(Ordering::Relaxed) < ENOUGH;
                now_ns < end_ns || (is_short && now_ns < last_ns)
            };
            run(&mut session, &format!("USE d SET TRANSACTION ISOLATION LEVEL {}", level.level));
            let mut dice = Dice(client * 0x9E37_79B9);
            let mut all = Vec::new();
            let mut number = client;
            while goes_on() {
                let done = transaction(&mut session, level, &mut dice, &mut number);
                // Relaxed: as in `goes_on`.
                committed.fetch_add(usize::from(done.is_committed), Ordering::Relaxed);
                all.push(done);
            }
            let _ = tell.send(all);
        };
        instance.machine.spawn("client", work).unwrap();
    }
    drop(tell);
    let all: Vec<Done> = done.into_iter().flatten().collect();
    let mut session = login(&instance);
    let answer = batch(&mut session, "SELECT k, v FROM d.dbo.t");
    let lists = answer.sets[0].iter().map(|row| (row[0].parse().unwrap(), numbers(&row[1])));
    History { all, lists: lists.collect() }
}

/// Runs a transaction; `number` is the last one that this client has appended.
fn transaction(session: &mut Session, level: &Level, dice: &mut Dice, number: &mut u64) -> Done {
    run(session, "BEGIN TRAN");
    let mut steps = Vec::new();
    for _ in 0..=dice.roll(4) {
        // The lists in use depend on how many numbers have been appended.
        let first = *number / CLIENTS / NUMBERS * CLIENTS;
        let key = first + dice.roll(LISTS);
        let done = match dice.roll(5) {
            0 | 1 => {
                *number += CLIENTS;
                append(session, level, key, *number, &mut steps)
            }
            2 => read_range(session, level, (first, first + LISTS - 1), &mut steps),
            _ => read(session, level, key, &mut steps),
        };
        if done.is_none() {
            batch(session, "IF @@TRANCOUNT > 0 ROLLBACK");
            return Done { steps, is_committed: false };
        }
    }
    let is_committed = batch(session, "COMMIT").errors.is_empty();
    if !is_committed {
        batch(session, "IF @@TRANCOUNT > 0 ROLLBACK");
    }
    Done { steps, is_committed }
}

fn append(
    session: &mut Session,
    level: &Level,
    key: u64,
    number: u64,
    steps: &mut Vec<Step>,
) -> Option<()> {
    let hint = level.hint;
    // Whatever the outcome, the number belongs to this transaction.
    steps.push(Step::Append(key, number));
    let sql = format!(
        "UPDATE t {hint} SET v = v + ',{number}' WHERE k = {key} \
         IF @@ROWCOUNT = 0 INSERT t VALUES ({key}, '{number}')"
    );
    batch(session, &sql).errors.is_empty().then_some(())
}

fn read(session: &mut Session, level: &Level, key: u64, steps: &mut Vec<Step>) -> Option<()> {
    let answer = batch(session, &format!("SELECT v FROM t {} WHERE k = {key}", level.hint));
    let rows = answer.sets.first().filter(|_| answer.errors.is_empty())?;
    let list = rows.first().map_or_else(Vec::new, |row| numbers(&row[0]));
    steps.push(Step::Read(key, list));
    Some(())
}

fn read_range(
    session: &mut Session,
    level: &Level,
    (first, last): (u64, u64),
    steps: &mut Vec<Step>,
) -> Option<()> {
    let hint = level.hint;
    let sql = format!("SELECT k, v FROM t {hint} WHERE k BETWEEN {first} AND {last}");
    let answer = batch(session, &sql);
    let rows = answer.sets.first().filter(|_| answer.errors.is_empty())?;
    let mut lists: HashMap<u64, Vec<u64>> =
        rows.iter().map(|row| (row[0].parse().unwrap(), numbers(&row[1]))).collect();
    for key in first..=last {
        steps.push(Step::Read(key, lists.remove(&key).unwrap_or_default()));
    }
    Some(())
}

fn numbers(text: &str) -> Vec<u64> {
    text.split(',').map(|number| number.parse().unwrap()).collect()
}

struct History {
    all: Vec<Done>,
    lists: HashMap<u64, Vec<u64>>,
}

#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Edge {
    Ww,
    Wr,
    /// A list that existed or not: only a range lock prevents its creation.
    Rw {
        was_there: bool,
    },
}

/// A subset of the edges.
type Edges = fn(Edge) -> bool;

const IS_SEEN: Edges = |edge| matches!(edge, Edge::Ww | Edge::Wr);
const IS_OF_ITEMS: Edges = |edge| edge != Edge::Rw { was_there: false };

impl History {
    /// Finds the first anomaly in the history that a level forbids.
    fn first_forbidden(&self, allows: Option<Anomaly>) -> Option<(Anomaly, String)> {
        let is_forbidden = |anomaly: Anomaly| allows.is_none_or(|allowed| anomaly < allowed);
        let writers = self.writers();
        if is_forbidden(Anomaly::G1)
            && let Some(found) = self.wrong_read(&writers)
        {
            return Some((Anomaly::G1, found));
        }
        let edges = self.edges(&writers);
        let kinds: [(Anomaly, Edges, Edges); 5] = [
            (Anomaly::G0, |edge| edge == Edge::Ww, |edge| edge == Edge::Ww),
            (Anomaly::G1, IS_SEEN, IS_SEEN),
            (Anomaly::GSingle, IS_SEEN, |edge| edge == Edge::Rw { was_there: true }),
            (Anomaly::G2Item, IS_OF_ITEMS, IS_OF_ITEMS),
            (Anomaly::G2, |_| true, |_| true),
        ];
        let forbidden = kinds.into_iter().filter(|(anomaly, ..)| is_forbidden(*anomaly));
        forbidden.into_iter().find_map(|(anomaly, on_the_way, closes)| {
            let cycle = find_cycle(&edges, on_the_way, closes)?;
            let told: Vec<String> =
                cycle.iter().map(|place| format!("{place}: {:?}", self.all[*place])).collect();
            Some((anomaly, told.join("\n")))
        })
    }

    /// Returns the transaction that appended each number.
    fn writers(&self) -> HashMap<u64, usize> {
        let appended = |(place, done): (usize, &Done)| {
            let numbers = done.steps.iter().filter_map(|step| match step {
                Step::Append(_, number) => Some(*number),
                Step::Read(..) => None,
            });
            numbers.map(|number| (number, place)).collect::<Vec<_>>()
        };
        self.all.iter().enumerate().flat_map(appended).collect()
    }

    /// Finds a read of a number that was rolled back or lost or was an intermediate state, or a
    /// lost number.
    fn wrong_read(&self, writers: &HashMap<u64, usize>) -> Option<String> {
        for (place, done) in self.all.iter().enumerate().filter(|(_, done)| done.is_committed) {
            for step in &done.steps {
                let (key, list, is_read) = match step {
                    Step::Append(key, number) => (key, vec![*number], false),
                    Step::Read(key, list) => (key, list.clone(), true),
                };
                let all = self.lists.get(key).map_or(&[][..], |all| all);
                let is_there = match is_read {
                    true => all.starts_with(&list),
                    false => all.contains(&list[0]),
                };
                if !is_there {
                    return Some(format!("{place}: {step:?} is not of the list {all:?}"));
                }
                let last = list.last().filter(|_| is_read);
                let Some(writer) = last.map(|number| writers[number]).filter(|w| *w != place)
                else {
                    continue;
                };
                let later = all.get(list.len()).filter(|next| writers[next] == writer);
                if later.is_some() || !self.all[writer].is_committed {
                    return Some(format!("{place}: {step:?} is not what {writer} has committed"));
                }
            }
        }
        None
    }

    /// Returns the dependencies, by index of the transactions.
    fn edges(&self, writers: &HashMap<u64, usize>) -> Vec<Vec<(usize, Edge)>> {
        let mut edges = vec![Vec::new(); self.all.len()];
        let mut add = |from: usize, to: usize, edge| {
            if from != to {
                edges[from].push((to, edge));
            }
        };
        for list in self.lists.values() {
            for pair in list.windows(2) {
                add(writers[&pair[0]], writers[&pair[1]], Edge::Ww);
            }
        }
        for (place, done) in self.all.iter().enumerate().filter(|(_, done)| done.is_committed) {
            for step in &done.steps {
                let Step::Read(key, list) = step else { continue };
                if let Some(last) = list.last() {
                    add(writers[last], place, Edge::Wr);
                }
                let all = self.lists.get(key).map_or(&[][..], |all| all);
                if let Some(next) = all.get(list.len()) {
                    add(place, writers[next], Edge::Rw { was_there: !list.is_empty() });
                }
            }
        }
        edges
    }
}

/// Finds an edge that `closes` a path of edges that are `on_the_way`.
fn find_cycle(
    edges: &[Vec<(usize, Edge)>],
    on_the_way: Edges,
    closes: Edges,
) -> Option<Vec<usize>> {
    let may_be_in_one = in_cycles(edges, on_the_way, closes);
    for (from, out) in edges.iter().enumerate().filter(|(from, _)| may_be_in_one[*from]) {
        for (to, edge) in out.iter().filter(|(to, _)| may_be_in_one[*to]) {
            if closes(*edge)
                && let Some(way) = way_between(edges, *to, from, on_the_way)
            {
                return Some(way);
            }
        }
    }
    None
}

/// Removes, repeatedly, transactions without an incoming or outgoing edge; the rest may be in a
/// cycle.
fn in_cycles(edges: &[Vec<(usize, Edge)>], on_the_way: Edges, closes: Edges) -> Vec<bool> {
    let mut forward = vec![Vec::new(); edges.len()];
    let mut backward = vec![Vec::new(); edges.len()];
    for (from, out) in edges.iter().enumerate() {
        for (to, _) in out.iter().filter(|(_, edge)| on_the_way(*edge) || closes(*edge)) {
            forward[from].push(*to);
            backward[*to].push(from);
        }
    }
    let mut is_in = vec![true; edges.len()];
    for (after, before) in [(&forward, &backward), (&backward, &forward)] {
        let mut left: Vec<usize> =
            before.iter().map(|all| all.iter().filter(|place| is_in[**place]).count()).collect();
        let mut out: Vec<usize> = (0..edges.len()).filter(|p| is_in[*p] && left[*p] == 0).collect();
        while let Some(place) = out.pop() {
            is_in[place] = false;
            for next in &after[place] {
                left[*next] -= 1;
                if left[*next] == 0 && is_in[*next] {
                    out.push(*next);
                }
            }
        }
    }
    is_in
}

/// Maximum number of transactions visited in the search for a path; a longer cycle is found from
/// another edge.
const PLACES_MAX: usize = 400;

fn way_between(
    edges: &[Vec<(usize, Edge)>],
    from: usize,
    to: usize,
    on_the_way: Edges,
) -> Option<Vec<usize>> {
    let mut before: HashMap<usize, usize> = HashMap::new();
    let mut seen = HashSet::from([from]);
    let mut open = std::collections::VecDeque::from([from]);
    while let Some(place) = open.pop_front() {
        if place == to {
            let mut way = vec![to];
            while let Some(previous) = before.get(way.last()?) {
                way.push(*previous);
            }
            way.reverse();
            return Some(way);
        }
        if seen.len() > PLACES_MAX {
            return None;
        }
        for (next, _) in edges[place].iter().filter(|(_, edge)| on_the_way(*edge)) {
            if seen.insert(*next) {
                before.insert(*next, place);
                open.push_back(*next);
            }
        }
    }
    None
}

fn seconds() -> Duration {
    let said = std::env::var("HISTORY_SECONDS").ok();
    Duration::from_secs(said.map_or(1, |said| said.parse().expect("a number of seconds")))
}

#[test]
fn histories_have_only_what_their_level_allows() {
    for level in &LEVELS {
        let history = history(level, None, seconds());
        let committed = history.all.iter().filter(|done| done.is_committed).count();
        println!("{}: {committed} of {} committed", level.name, history.all.len());
        assert!(committed >= ENOUGH, "{}: {committed} of {}", level.name, history.all.len());
        let found = history.first_forbidden(level.allows);
        assert!(found.is_none(), "{}: {found:?}", level.name);
    }
}

/// How long a search for an anomaly that must be found runs before it looks, and how often it does.
const TRY: Duration = Duration::from_millis(250);
const TRIES: u32 = 40;

/// The checker must find known anomalies, or its silence proves nothing.
#[cfg(debug_assertions)]
#[test]
fn histories_show_each_mistake() {
    let of = |name: &str| LEVELS.iter().find(|level| level.name == name).unwrap();
    for (name, mistake) in [
        ("SERIALIZABLE", Mistake::NoRangeHolds),
        ("SERIALIZABLE", Mistake::EarlyRelease),
        ("REPEATABLE READ", Mistake::EarlyRelease),
        ("memory-optimized SERIALIZABLE", Mistake::NoValidation),
    ] {
        let is_found = (0..TRIES).any(|_| {
            let history = history(of(name), Some(mistake), TRY);
            history.first_forbidden(of(name).allows).is_some()
        });
        assert!(is_found, "{name} with {mistake:?} passes");
    }
}

/// Weak levels must show the anomalies that they allow; otherwise the clients do not conflict.
#[test]
fn histories_of_weak_levels_have_their_anomalies() {
    let read_committed = LEVELS.iter().find(|level| level.level == "READ COMMITTED").unwrap();
    let is_found = (0..TRIES).any(|_| {
        let history = history(read_committed, None, TRY);
        history.first_forbidden(None).is_some()
    });
    assert!(is_found, "READ COMMITTED is serializable?");
}
