//! Measures in this process: an event's cost while no session collects it, how many events a file
//! target accepts, and what a sample costs the thread that it interrupts.

use std::sync::mpsc;
use std::time::Duration;

use load::Result;
use load::json::quote;
use sos::clock;
use sos::ledger::Accounts;
use sos::sampler::{RATE_HZ, RATE_HZ_MAX};
use sos::sync::Arc;
use sos::xe::{
    self, Event, EventSpec, Field, FieldType, Hub, Package, SessionOptions, SessionSpec, Target,
    TargetSpec, Value,
};

use crate::pairs::float;
use crate::report::median;

static PACKAGE: Package = Package {
    name: "bench",
    guid: "00000000-0000-0000-0000-0000000000be",
    description: "Measures",
};
static FIELDS: &[Field] = &[
    Field::new("number", FieldType::UInt64, "A number"),
    Field::new("text", FieldType::UnicodeString, "A text"),
];
static QUIET: Event = Event::new(&PACKAGE, "quiet", "No session collects it", FIELDS);
static FILED: Event = Event::new(&PACKAGE, "filed", "Goes into a file", FIELDS);

/// Probes of a round, and rounds.
const PROBES: u64 = 1 << 27;
const ROUNDS: usize = 5;
/// Events per second that a file target must accept, and for how long.
const RATE: u64 = 1_000_000;
const SECONDS: u64 = 3;
/// Events written at once: those of a millisecond.
const BURST: u64 = RATE / 1_000;

/// A measured number beside its goal.
pub(super) struct Figure {
    name: &'static str,
    asked: &'static str,
    measured: String,
    value: f64,
    holds: bool,
}

impl Figure {
    pub(super) fn cells(&self) -> [String; 4] {
        let verdict = if self.holds { "met" } else { "MISSED" };
        [self.name.to_owned(), self.asked.to_owned(), self.measured.clone(), verdict.to_owned()]
    }

    pub(super) fn json(&self) -> String {
        format!(
            "{{\"name\":{},\"value\":{:.4},\"met\":{}}}",
            quote(self.name),
            self.value,
            self.holds
        )
    }

    pub(super) fn holds(&self) -> bool {
        self.holds
    }
}

/// Runs the measurements, on a thread with its own accounts.
pub(super) fn measure() -> Result<Vec<Figure>> {
    let accounts = Arc::<Accounts>::default();
    let inner = Arc::clone(&accounts);
    let (sender, receiver) = mpsc::channel();
    let run = move || {
        let measured = filed(&inner).map(|filed| vec![disabled(), filed, sampled(&inner)]);
        let _ = sender.send(measured);
    };
    let thread = sos::thread::spawn(&accounts, "measured", run).map_err(|e| e.to_string())?;
    let figures = receiver.recv().map_err(|_| "the measuring thread has ended".to_owned())?;
    thread.join().map_err(|_| "the measuring thread has panicked".to_owned())?;
    figures
}

/// Pieces of work that run alternately with samples and without, and the bytes that each reads
/// repeatedly: as much as a CPU's own cache holds.
const PIECES: usize = 200;
const PIECE_ROUNDS: u64 = 1_000;
const PIECE_BYTES: usize = 256 << 10;
/// Depth of the call stack that a sample finds: that of a request.
const PIECE_DEPTH: u32 = 30;

/// Measures how much sampling adds to the calling thread's CPU time.
fn sampled(accounts: &Arc<Accounts>) -> Figure {
    let memory: Vec<u64> = (0..PIECE_BYTES as u64 / 8).collect();
    let piece = |hz: u32| -> f64 {
        accounts.set_sampling_rate(hz);
        let before = sos::sys::thread_cpu_ns();
        std::hint::black_box(deep(PIECE_DEPTH, &memory));
        float(sos::sys::thread_cpu_ns() - before)
    };
    let pair = |at: usize| {
        // Each of the two comes first as often as second.
        let (with, without) = if at.is_multiple_of(2) {
            let with = piece(RATE_HZ_MAX);
            (with, piece(0))
        } else {
            let without = piece(0);
            (piece(RATE_HZ_MAX), without)
        };
        with / without
    };
    let ratios: Vec<f64> = (0..PIECES).map(pair).collect();
    accounts.set_sampling_rate(0);
    let samples: u64 = accounts.cpu_samples().iter().map(|sample| sample.samples).sum();
    let scale = f64::from(RATE_HZ) / f64::from(RATE_HZ_MAX) * 100.0;
    let interval = crate::pairs::interval(&ratios);
    let (mean, low, high) = (interval.mean * scale, interval.low * scale, interval.high * scale);
    Figure {
        name: "being sampled 97 times per second of CPU time, 30 calls deep (measured at 249)",
        asked: "0.1 % at most",
        measured: format!("{mean:+.3} % ({low:+.3} .. {high:+.3}), {samples} samples"),
        value: mean,
        holds: high <= 0.1 && samples > PIECES as u64,
    }
}

/// Reads memory, `depth` calls below the caller.
#[inline(never)]
fn deep(depth: u32, memory: &[u64]) -> u64 {
    if depth > 0 {
        // Not a tail call: each call must have a frame.
        return std::hint::black_box(deep(depth - 1, memory)).wrapping_add(1);
    }
    (0..PIECE_ROUNDS).fold(0, |sum, round| {
        let memory = std::hint::black_box(memory);
        memory.iter().fold(sum ^ round, |sum, word| (sum ^ word).rotate_left(5))
    })
}

/// Measures the probe of an event that no session collects.
fn disabled() -> Figure {
    let each = |run: fn(u64)| -> f64 {
        let before = sos::sys::thread_cpu_ns();
        (0..PROBES).for_each(run);
        float(sos::sys::thread_cpu_ns() - before) / float(PROBES)
    };
    let rounds = (0..ROUNDS).map(|_| {
        let bare = each(|number| {
            std::hint::black_box(number);
        });
        let probed = each(|number| {
            if xe::enabled(&QUIET) {
                xe::fire(&QUIET, &[Value::UInt(number), Value::Text("")]);
            }
            std::hint::black_box(number);
        });
        probed - bare
    });
    let ns = median(&rounds.collect::<Vec<_>>());
    Figure {
        name: "an event that no session collects",
        asked: "1 ns at most",
        measured: format!("{ns:.2} ns"),
        value: ns,
        holds: ns <= 1.0,
    }
}

/// Writes events to a file at the rate, in a session that loses events instead of blocking.
fn filed(accounts: &Arc<Accounts>) -> Result<Figure> {
    let folder = std::env::temp_dir().join(format!("clearway-bench-events-{}", std::process::id()));
    std::fs::create_dir_all(&folder).map_err(|error| format!("{}: {error}", folder.display()))?;
    let measured = fire_into(accounts, &folder.join("measured.xel").to_string_lossy());
    let removed = std::fs::remove_dir_all(&folder);
    let figure = measured?;
    removed.map_err(|error| format!("{}: {error}", folder.display()))?;
    Ok(figure)
}

fn fire_into(accounts: &Arc<Accounts>, file: &str) -> Result<Figure> {
    let target = Target::named("event_file").ok_or("there is no event_file")?;
    let parameters = vec![("filename".to_owned(), file.to_owned())];
    let session = SessionSpec {
        name: "measured".to_owned(),
        events: vec![EventSpec::all(&FILED)],
        targets: vec![TargetSpec { target, parameters }],
        options: SessionOptions::default(),
    };
    Hub::start(accounts, session).map_err(|error| format!("{error:?}"))?;
    let start_ns = clock::monotonic_ns();
    let mut late_ns = 0;
    for burst in 0..SECONDS * RATE / BURST {
        let due_ns = start_ns + burst * BURST * 1_000_000_000 / RATE;
        while clock::monotonic_ns() < due_ns {
            std::hint::spin_loop();
        }
        for number in 0..BURST {
            xe::fire(&FILED, &[Value::UInt(number), Value::Text("what has happened here")]);
        }
        late_ns = late_ns.max(clock::monotonic_ns() - due_ns);
    }
    let wall_ns = clock::monotonic_ns() - start_ns;
    let report = accounts.events().sessions().into_iter().find(|it| it.spec.name == "measured");
    let report = report.ok_or("the session has gone")?;
    accounts.events().stop("measured").map_err(|error| format!("{error:?}"))?;
    let count = SECONDS * RATE;
    let rate = float(count) * 1e9 / float(wall_ns);
    let lost = report.totals.dropped;
    let blocked = report.blocked_ns;
    Ok(Figure {
        name: "events per second into event_file, with the default retention",
        asked: "1,000,000 at least, no thread blocked",
        measured: format!(
            "{rate:.0} for {SECONDS} s, {lost} of {count} lost, {blocked} ns blocked, a burst of {BURST} at most {:?} late",
            Duration::from_nanos(late_ns)
        ),
        value: rate,
        holds: rate >= float(RATE) * 0.999 && lost == 0 && blocked == 0,
    })
}
