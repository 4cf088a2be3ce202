//! `Finding`: an experiment's results: work, CPU and counters of both implementations, and the
//! model's predictions.

use load::counters::Counters;
use load::model::{
    EXCLUSIVE_USES, HOLD_NS, ONE_WORD_USES, PUBLISHED_LINE_NS, Request, Serial as Line, predict,
};

use crate::experiment::{Experiment, Serial};

/// Numbers of CPUs for which the model predicts.
pub(crate) const CPUS: [f64; 3] = [16.0, 96.0, 144.0];
/// The group of counters that contains the ledger.
pub(crate) const LEDGER: &str = "time, ms on CPU";

/// The results of one implementation, over all its turns.
#[derive(Clone, Debug)]
pub struct Side {
    /// Units of work done.
    pub units: f64,
    /// Elapsed time in nanoseconds.
    pub wall_ns: f64,
    /// CPU time of the server in nanoseconds.
    pub cpu_ns: f64,
    /// Milliseconds of each turn.
    pub turns_ms: Vec<f64>,
    /// Number of errors in the load.
    pub troubles: u64,
    /// The change of the server's counters, read with SELECT.
    pub counters: Counters,
    /// Its CPU time as folded stacks of its sampler, or why there are none.
    pub stacks: Result<String, String>,
    /// Calls that returned memory to the system, and that mapped memory.
    pub memory_calls: (i64, i64),
}

impl Default for Side {
    fn default() -> Self {
        Self {
            units: 0.0,
            wall_ns: 0.0,
            cpu_ns: 0.0,
            turns_ms: Vec::new(),
            troubles: 0,
            counters: Counters::default(),
            stacks: Err("not read".to_owned()),
            memory_calls: (0, 0),
        }
    }
}

impl Side {
    /// Returns the units of work per second.
    pub fn rate(&self) -> f64 {
        self.units * 1e9 / self.wall_ns.max(1.0)
    }

    /// Returns the server's CPU nanoseconds per unit.
    pub fn cpu_each_ns(&self) -> f64 {
        self.cpu_ns / self.units.max(1.0)
    }

    /// Returns the CPU nanoseconds per unit in a row of the ledger.
    pub fn ledger_each_ns(&self, row: &str) -> f64 {
        as_float(self.counters.get(LEDGER, row)) * 1e6 / self.units.max(1.0)
    }

    /// Returns the share of the server's CPU time spent spinning, by its ledger.
    pub fn spin_share(&self) -> f64 {
        let spins: f64 = self
            .counters
            .largest(usize::MAX)
            .into_iter()
            .filter(|(group, _)| *group == LEDGER)
            .flat_map(|(_, rows)| rows)
            .filter(|(name, _)| name.starts_with("spin"))
            .map(|(_, ms)| as_float(ms) * 1e6)
            .sum();
        // An empty sum is -0.
        (spins + 0.0) / self.cpu_ns.max(1.0)
    }

    /// Returns the pages allocated per unit.
    pub fn pages_each(&self) -> f64 {
        as_float(self.counters.get("work", "Page Allocations/sec")) / self.units.max(1.0)
    }

    /// Returns the nanoseconds per unit in which the kernel changed the process's memory map.
    fn kernel_memory_each_ns(&self) -> f64 {
        self.ledger_each_ns("kernel, page_populate") + self.ledger_each_ns("kernel, decommit")
    }
}

/// The results of an experiment.
#[derive(Clone, Debug)]
pub struct Finding {
    /// The experiment that was run.
    pub experiment: &'static Experiment,
    /// CPUs of this machine that the servers may use.
    pub cpus: usize,
    /// Results of the old implementation.
    pub old: Side,
    /// Results of the new implementation.
    pub new: Side,
}

impl Finding {
    /// Returns the old implementation's CPU per unit as a multiple of the new one's.
    pub fn cpu_factor(&self) -> f64 {
        self.old.cpu_each_ns() / self.new.cpu_each_ns().max(f64::MIN_POSITIVE)
    }

    /// Returns the new implementation's rate as a multiple of the old one's.
    pub fn rate_factor(&self) -> f64 {
        self.new.rate() / self.old.rate().max(f64::MIN_POSITIVE)
    }

    /// Returns the model's units per second with `cpus` CPUs: old implementation, and new.
    pub fn predicted(&self, cpus: f64) -> (f64, f64) {
        let new =
            Request { name: String::new(), cpu_ns: self.new.cpu_each_ns(), serials: Vec::new() };
        let serial = |uses: f64, hold_ns: f64| vec![Line { name: String::new(), uses, hold_ns }];
        let (cpu_ns, serials, line_ns) = match self.experiment.serial {
            Serial::ExclusiveLock(times) => {
                let uses = EXCLUSIVE_USES * times;
                (new.cpu_ns, serial(uses, HOLD_NS / EXCLUSIVE_USES), PUBLISHED_LINE_NS)
            }
            Serial::OneWordLock(times) => {
                (new.cpu_ns, serial(ONE_WORD_USES * times, 0.0), PUBLISHED_LINE_NS)
            }
            // No line is transferred; each unit excludes the others for the measured time.
            Serial::KernelMemory => {
                (self.old.cpu_each_ns(), serial(1.0, self.old.kernel_memory_each_ns()), 0.0)
            }
            Serial::Nothing => (self.old.cpu_each_ns(), Vec::new(), 0.0),
        };
        let old = Request { name: String::new(), cpu_ns, serials };
        (predict(&old, cpus, line_ns), predict(&new, cpus, PUBLISHED_LINE_NS))
    }

    /// Returns the assumption of the prediction, in words.
    pub fn assumption(&self) -> String {
        match self.experiment.serial {
            Serial::ExclusiveLock(times) => format!(
                "{times} lookups a request under one exclusive lock; a contended line takes {PUBLISHED_LINE_NS} ns"
            ),
            Serial::OneWordLock(times) => format!(
                "{times} lookup a reset under one reader/writer word; a contended line takes {PUBLISHED_LINE_NS} ns"
            ),
            Serial::KernelMemory => format!(
                "the kernel changes a process's memory for one thread at a time: {:.0} ns for each of the {}, as measured \
                 here; the upper bound of what that costs, and without the other CPUs' TLB flushes",
                self.old.kernel_memory_each_ns(),
                self.experiment.units
            ),
            Serial::Nothing => "nothing is shared".to_owned(),
        }
    }

    /// Returns what this machine cannot show, if anything.
    pub fn caveat(&self) -> Option<String> {
        const ENOUGH: usize = 16;
        (self.cpus < ENOUGH && !self.experiment.is_control).then(|| {
            format!(
                "{} CPUs are too few to show how it scales: what is measured is the cost of each operation",
                self.cpus
            )
        })
    }
}

#[expect(clippy::cast_precision_loss, reason = "a figure is for readers")]
pub(crate) fn as_float(number: i64) -> f64 {
    number as f64
}
