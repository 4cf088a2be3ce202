//! The census of shared writes: runs warm requests on a server of four schedulers, counts what each
//! took from another scheduler's cache, and fails where that must be nothing.
//!
//! Only under `cfg(census)`: see `make census` and docs/census.md.
#![cfg(census)]

mod injected;
mod page;
mod server;
mod work;

use std::sync::OnceLock;

use census::{Counts, Report, Row, Symbols};

/// All memory of the process is on the machine layer's books, as in the server itself.
#[global_allocator]
static ALLOCATOR: sos::memory::Allocator = sos::memory::Allocator;

/// Owners whose shared writes are spread over many requests, why, and how many per request there
/// may be of all of an owner's together.
const AMORTISED: &[(&str, &str, f64)] = &[
    ("sos::epoch::", "the epoch moves on once per some 64 retired versions", 0.15),
    ("sos::memory::clerk::", "a clerk's sum is reported after 64 KB", 0.03),
    ("sos::memory::budget::", "likewise", 0.03),
    ("mimalloc", "pages of blocks change hands between threads", 0.05),
];

/// The same, where requests wait for the log: what wakes a log thread that sleeps. Here each request
/// comes alone, so that up to one flush is made for each; of 64 connections, one for some 60.
const OF_FLUSHES: &[(&str, &str, f64)] = &[
    ("log::commit::buffers::end_sleep", "a log thread that sleeps is woken once for a flush", 1.0),
    ("sos::park::lot::", "likewise", 2.0),
    ("log::commit::buffers::announce", "the log thread looks at each slot once for a flush", 0.1),
];

/// Shared writes per request that one owner, and all of them together, may have although there are
/// none: memory that another scheduler had long ago, such as the last blocks of a page that the
/// allocator goes through once in thousands of requests, is written for the first time. What a request
/// does itself shows up with 1, or with what a queue or a batch makes of it.
const COLD_MAX: f64 = 0.015;
const COLD_ALL_MAX: f64 = 0.03;

/// The shared writes of one workload.
struct Counted {
    name: &'static str,
    /// Each request waits for a flush of the log.
    flushes: bool,
    requests: u64,
    report: Report,
}

/// What a shared write means for scaling.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Class {
    /// Once or more per request: caps the throughput of the whole machine.
    Shared,
    /// Spread over many requests, for a reason that is known: see `AMORTISED`.
    Amortised,
    /// Of the 128 bytes only the other line is shared.
    Pair,
    /// Against threads that run at their own pace, however many requests there are.
    Background,
    /// Stores of such threads.
    ByBackground,
}

impl Class {
    const fn name(self) -> &'static str {
        match self {
            Self::Shared => "shared",
            Self::Amortised => "amortised",
            Self::Pair => "pair",
            Self::Background => "background",
            Self::ByBackground => "by background",
        }
    }
}

impl Counted {
    /// The owners whose shared writes are spread over many requests.
    fn amortised(&self) -> impl Iterator<Item = &'static (&'static str, &'static str, f64)> {
        AMORTISED.iter().chain(OF_FLUSHES.iter().filter(|_| self.flushes))
    }

    /// The class of what a row took from other requests.
    fn class_of(&self, row: &Row) -> Class {
        let is_amortised = self.amortised().any(|(owner, ..)| row.owner.starts_with(owner));
        if is_amortised { Class::Amortised } else { Class::Shared }
    }

    /// Stores, read-modify-writes and loads per request.
    fn per_request(&self, counts: &Counts) -> (f64, f64, f64) {
        let per = |count: u64| count as f64 / self.requests as f64;
        (per(counts.stores), per(counts.read_modify_writes), per(counts.loads))
    }

    fn rows(&self, class: Class) -> impl Iterator<Item = &Row> {
        self.report.rows.iter().filter(move |row| self.class_of(row) == class)
    }

    /// Says which requests write what another scheduler has, other than rarely for a known reason.
    fn complaint(&self) -> Option<String> {
        for row in self.rows(Class::Shared) {
            let per_request = self.writes_per_request([row].into_iter());
            if per_request > COLD_MAX {
                return Some(format!("{}: {per_request} of {row:#?}", self.name));
            }
        }
        let all = self.writes_per_request(self.rows(Class::Shared));
        if all > COLD_ALL_MAX {
            return Some(format!("{}: {all} per request in all", self.name));
        }
        self.amortised().find_map(|(owner, why, per_request_max)| {
            let rows = self.rows(Class::Amortised).filter(|row| row.owner.starts_with(owner));
            let writes = self.writes_per_request(rows);
            let is_much = writes > *per_request_max;
            is_much.then(|| format!("{}: {owner}: {writes}, {why}", self.name))
        })
    }

    fn assert_writes_nothing_shared(&self) {
        assert_eq!(self.complaint(), None);
    }

    fn writes_per_request<'a>(&self, rows: impl Iterator<Item = &'a Row>) -> f64 {
        rows.map(|row| row.shared.writes()).sum::<u64>() as f64 / self.requests as f64
    }
}

/// Everything that is counted: in one go, because the census counts a whole process.
struct All {
    workloads: Vec<Counted>,
    injected: Report,
}

fn all() -> &'static All {
    static ALL: OnceLock<All> = OnceLock::new();
    ALL.get_or_init(|| {
        let mut symbols = Symbols::default();
        let workloads = work::count_all(&mut symbols);
        page::write(&workloads);
        All { workloads, injected: injected::count(&mut symbols) }
    })
}

fn workload(name: &str) -> &'static Counted {
    let found = all().workloads.iter().find(|counted| counted.name == name);
    found.expect("a workload of this name")
}

fn injected(function: &str) -> Counts {
    let rows = &all().injected.rows;
    let row = rows.iter().find(|row| row.owner.contains(function));
    row.map(|row| row.shared).unwrap_or_default()
}

#[test]
fn every_access_is_counted() {
    for counted in &all().workloads {
        assert_eq!(counted.report.lost, 0, "{}: too many call stacks", counted.name);
    }
}

#[test]
fn connection_reset_writes_nothing_shared() {
    workload("connection reset").assert_writes_nothing_shared();
}

#[test]
fn point_read_writes_nothing_shared() {
    workload("point select").assert_writes_nothing_shared();
}

#[test]
fn point_write_writes_nothing_shared() {
    workload("point update").assert_writes_nothing_shared();
}

#[test]
fn durable_commit_writes_nothing_shared() {
    workload("durable point update").assert_writes_nothing_shared();
}

/// Each turn comes after one of the other thread; only the very first finds nothing taken.
fn is_each_turn(count: u64) -> bool {
    (2 * injected::TURNS - 1..=2 * injected::TURNS).contains(&count)
}

#[test]
fn a_shared_counter_is_seen() {
    assert!(is_each_turn(injected("shared_counter").read_modify_writes));
}

#[test]
fn a_reference_count_is_seen() {
    // The drop finds the line that the clone has just fetched.
    assert!(is_each_turn(injected("reference_count").read_modify_writes));
}

#[test]
fn a_lock_and_what_it_guards_are_seen() {
    let counts = injected("plain_store_under_lock");
    assert!(is_each_turn(counts.read_modify_writes), "{counts:?}");
}

#[test]
fn false_sharing_is_seen() {
    assert!(is_each_turn(injected("false_sharing").stores));
}

#[test]
fn what_is_apart_or_only_read_is_free() {
    assert_eq!(injected("own_counter"), Counts::default());
    assert_eq!(injected("read_only"), Counts::default());
}
