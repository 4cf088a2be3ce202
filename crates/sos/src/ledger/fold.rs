//! Closes the books: adds up all time of all threads by category and name, and compares it with
//! what the kernel reports for the same threads.
//!
//! ```text
//!   sum over rows of wall   =  the time of all threads
//!   sum of on-CPU           =  schedstat's first number    the differences are "dark" time,
//!   sum of runnable         =  schedstat's second          as is running time without a label
//! ```

use super::account::Account;
use super::accounts::Accounts;
use super::growth::{AllGrown, Found};
use super::rows::{Mix, Rows, Sums, Totals, UNLABELLED};
use super::watch::Source;
use super::whole::Whole;
use crate::clock;
use crate::registry::registry;
use crate::sync::Arc;
use crate::sys;

registry! {
    /// The categories of time. All time of all threads is in one of them.
    pub enum Category {
        /// On a CPU in the engine's own code, by label.
        User => "user",
        /// Spinning, by class of lock.
        Spin => "spin",
        /// Waiting until signalled, by wait type.
        Wait => "wait",
        /// Signalled and waiting for a scheduler, by wait type.
        Signal => "signal",
        /// Ready to run without a CPU, by state.
        Runnable => "runnable",
        /// In system calls, by cause.
        Kernel => "kernel",
        /// Observation: reading the ledger, sampling, the monitor.
        Observation => "observation",
        /// A thread with nothing to do.
        Idle => "idle",
        /// Threads of the process that the machine did not start.
        Foreign => "foreign",
        /// Blocked in a state in which the thread should have been running.
        UnexpectedBlocking => "unexpected_blocking",
        /// Time that nothing explains.
        Dark => "dark",
    }
}

/// One row of the ledger. The `wall_ns` of all rows add up to the time of all threads.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct LedgerRow {
    /// The category of the time.
    pub category: Category,
    /// The name within the category, never empty.
    pub name: &'static str,
    /// Elapsed time, in nanoseconds.
    pub wall_ns: u64,
    /// The part of `wall_ns` on a CPU.
    pub on_cpu_ns: u64,
    /// The part of `wall_ns` ready to run, without a CPU.
    pub runnable_ns: u64,
    /// The part of `wall_ns` blocked.
    pub blocked_ns: u64,
    /// How often the state was entered.
    pub count: u64,
    /// Standard error of `wall_ns` if it was sampled.
    pub error_ns: Option<u64>,
}

/// One thread's part of the ledger.
#[derive(Clone, Debug)]
pub struct ThreadLedger {
    /// The operating system's id of the thread.
    pub thread_id: u32,
    /// The name of the thread.
    pub name: Box<str>,
    /// How its time off the CPU was measured.
    pub source: Source,
    /// Page faults that needed no I/O; `None` if the kernel does not report them.
    pub minor_faults: Option<u64>,
    /// The thread's time by category and name.
    pub rows: Vec<LedgerRow>,
}

/// How well the ledger agrees with the kernel. `schedstat` numbers are the kernel's, for the same
/// threads since their accounts were opened.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Closure {
    /// The elapsed time of all threads, in ns.
    pub thread_ns: u64,
    /// The part of `thread_ns` in which they were not idle.
    pub non_idle_ns: u64,
    /// Time on a CPU by the ledger, without foreign threads.
    pub on_cpu_ns: u64,
    /// Time ready for a CPU by the ledger, without foreign threads.
    pub runnable_ns: u64,
    /// Time on a CPU by the kernel's schedstat.
    pub schedstat_on_cpu_ns: u64,
    /// Time ready for a CPU by the kernel's schedstat.
    pub schedstat_runnable_ns: u64,
    /// CPU time of living foreign threads since they started.
    pub foreign_cpu_ns: u64,
    /// CPU time of the process since the machine started, foreign threads included.
    pub process_cpu_ns: u64,
    /// Time that nothing explains: running time without a label, and both differences to schedstat.
    pub dark_ns: u64,
    /// Running time for which no label was set.
    pub unlabelled_ns: u64,
    /// Requests, or parts of long ones, that were fully timed.
    pub timed_units: u64,
    /// Page faults of the process that needed no I/O.
    pub minor_faults: u64,
    /// Page faults of the process that needed I/O.
    pub major_faults: u64,
}

/// The ledger at one moment.
#[derive(Clone, Debug)]
pub struct Ledger {
    /// Clock ticks of the moment.
    pub taken_at: u64,
    /// Nanoseconds since the machine started.
    pub elapsed_ns: u64,
    /// How time off the CPU was measured.
    pub source: Source,
    /// All time of all threads, by category and name.
    pub rows: Vec<LedgerRow>,
    /// The ledger of each living thread.
    pub threads: Vec<ThreadLedger>,
    /// How well it agrees with the kernel.
    pub closure: Closure,
    /// Sentences on what the ledger cannot split on this machine.
    pub lost: Vec<&'static str>,
}

/// The totals of one thread.
#[derive(Default)]
struct Own {
    totals: Totals,
    minor_faults: Option<u64>,
}

/// The totals of all threads, while they are added up.
#[derive(Default)]
struct Fold {
    totals: Totals,
    mix: Mix,
    /// Schedstat's sums in ns, on a CPU and ready, of the threads that have them.
    schedstat: (u64, u64),
    /// The same only of threads whose account was read at the same moment, each with the account's
    /// number, in ticks.
    compared: [(u64, u64); 2],
    kernel_ns: u64,
    blind_threads: usize,
}

impl Fold {
    /// Adds a thread and returns its own totals.
    fn add(&mut self, account: &Account, whole: &Whole) -> Own {
        let mut own = Own::default();
        own.totals.add(whole, account);
        own.minor_faults = whole.times.map(|_| whole.kernel.minor_faults);
        self.totals.add(whole, account);
        self.mix.add(account);
        self.kernel_ns += whole.kernel.kernel_ns;
        let Some(times) = whole.times else {
            self.blind_threads += 1;
            return own;
        };
        self.schedstat.0 += times.on_cpu_ns;
        self.schedstat.1 += times.runnable_ns;
        if whole.is_beside {
            let theirs = (times.on_cpu_ns, times.runnable_ns);
            let ticks = (clock::ns_to_ticks(theirs.0), clock::ns_to_ticks(theirs.1));
            let ours = own.totals.on_cpu_and_runnable();
            for (sum, (on_cpu, runnable)) in self.compared.iter_mut().zip([ticks, ours]) {
                sum.0 += on_cpu;
                sum.1 += runnable;
            }
        }
        own
    }

    /// The differences to schedstat, in ticks: on a CPU and ready.
    fn residuals(&self) -> [u64; 2] {
        let [theirs, ours] = self.compared;
        [theirs.0.abs_diff(ours.0), theirs.1.abs_diff(ours.1)]
    }
}

impl Accounts {
    /// Adds the time since the last call to the rows, split by the requests timed since then.
    /// Called once a second.
    pub fn tick(&self) {
        let (threads, own, fold) = self.fold();
        self.advance(&mut self.grown().lock(), &threads, &own, &fold, false);
    }

    /// Returns where all the time of all threads went since the machine started. No row ever
    /// shrinks: the difference of two readings is what happened between them.
    #[must_use]
    pub fn close(&self) -> Ledger {
        let (threads, own, fold) = self.fold();
        let foreign = sys::foreign_threads(&ids(&threads));
        let (rows, of_threads) = {
            let mut grown = self.grown().lock();
            self.advance(&mut grown, &threads, &own, &fold, true);
            let of_threads: Vec<Rows> = threads.iter().map(|a| grown.thread_rows(a)).collect();
            (grown.rows(&foreign, self.has_unwrapped()), of_threads)
        };
        let rows = rows.finish();
        let of_thread = |((account, own), rows): ((&Arc<Account>, &Own), Rows)| ThreadLedger {
            thread_id: account.thread_id(),
            name: account.name().into(),
            source: account.source(),
            minor_faults: own.minor_faults,
            rows: rows.finish(),
        };
        let mut threads: Vec<_> = threads
            .iter()
            .zip(own.iter().map(AsRef::as_ref))
            .zip(of_threads)
            .map(of_thread)
            .collect();
        let closure = self.closure(&rows, &fold, &foreign);
        threads.extend(foreign.into_iter().map(foreign_ledger));
        let taken_at = clock::now_ticks();
        Ledger {
            taken_at,
            elapsed_ns: clock::ticks_to_ns(taken_at.saturating_sub(self.opened())),
            source: self.source(),
            rows,
            threads,
            closure,
            lost: self.lost(&fold),
        }
    }

    /// Reads all accounts: the living threads, the totals of each, and those of all.
    fn fold(&self) -> (Vec<Arc<Account>>, Vec<Box<Own>>, Fold) {
        let (threads, mut fold) = self.with_books(|live, ended| {
            let mut fold = Fold::default();
            fold.add(ended, &ended.read_past());
            (live.to_vec(), fold)
        });
        // Each in its own block: one block for all would take half a megabyte, and this runs each
        // second.
        let own = threads.iter().map(|a| Box::new(fold.add(a, &a.read()))).collect();
        (threads, own, fold)
    }

    fn advance(
        &self,
        grown: &mut AllGrown,
        threads: &[Arc<Account>],
        own: &[Box<Own>],
        fold: &Fold,
        is_shown: bool,
    ) {
        let kernel_ns = self.has_unwrapped().then_some(fold.kernel_ns);
        let residuals = fold.residuals();
        let found = Found { totals: &fold.totals, mix: &fold.mix, kernel_ns, residuals };
        let threads = threads.iter().zip(own.iter().map(|own| &own.totals));
        grown.advance(&found, threads, is_shown);
    }

    /// Whether the kernel's count of kernel time can be compared with that of the wrappers.
    fn has_unwrapped(&self) -> bool {
        self.source() != Source::WallOnly
    }

    fn closure(&self, rows: &[LedgerRow], fold: &Fold, foreign: &[sys::ForeignThread]) -> Closure {
        let sum = |of: &dyn Fn(&LedgerRow) -> bool| -> u64 {
            rows.iter().filter(|row| of(row)).map(|row| row.wall_ns).sum()
        };
        let (on_cpu, runnable) = fold.totals.on_cpu_and_runnable();
        let faults = sys::cpu_times();
        Closure {
            thread_ns: sum(&|_| true),
            non_idle_ns: sum(&|row| row.category != Category::Idle),
            on_cpu_ns: clock::ticks_to_ns(on_cpu),
            runnable_ns: clock::ticks_to_ns(runnable),
            schedstat_on_cpu_ns: fold.schedstat.0,
            schedstat_runnable_ns: fold.schedstat.1,
            foreign_cpu_ns: foreign.iter().map(|thread| thread.times.on_cpu_ns).sum(),
            process_cpu_ns: sys::own_cpu_ns().saturating_sub(self.opened_cpu_ns()),
            dark_ns: sum(&|row| row.category == Category::Dark),
            unlabelled_ns: sum(&|row| row.category == Category::Dark && row.name == UNLABELLED),
            timed_units: fold.mix.labels.units,
            minor_faults: faults.minor_faults,
            major_faults: faults.major_faults,
        }
    }

    fn lost(&self, fold: &Fold) -> Vec<&'static str> {
        let mut lost = match self.source() {
            Source::Rseq | Source::SwitchRecords => Vec::new(),
            Source::Schedstat => vec![
                "time ready and blocked is divided over states by their share of each second",
                "per statement and session, time on a CPU includes time ready for one",
            ],
            Source::WallOnly => vec![
                "the kernel's schedstat cannot be read: running states include time ready for a CPU, \
                 waits include time ready and on a CPU, and nothing is compared with the kernel",
            ],
        };
        if self.source() != Source::WallOnly && fold.blind_threads > 0 {
            lost.push("some threads could not open their schedstat file");
        }
        if !self.has_wanted() {
            lost.push("the requested source does not work here");
        }
        lost
    }
}

fn ids(threads: &[Arc<Account>]) -> Vec<u32> {
    let mut ids: Vec<u32> = threads.iter().map(|account| account.thread_id()).collect();
    ids.sort_unstable();
    ids
}

fn of_foreign(thread: &sys::ForeignThread) -> Sums {
    Sums {
        on_cpu: clock::ns_to_ticks(thread.times.on_cpu_ns),
        runnable: clock::ns_to_ticks(thread.times.runnable_ns),
        blocked: 0,
        count: 1,
    }
}

fn foreign_ledger(thread: sys::ForeignThread) -> ThreadLedger {
    let mut rows = Rows::default();
    rows.put(Category::Foreign, "threads", of_foreign(&thread), None);
    let sys::ForeignThread { thread_id, name, .. } = thread;
    let minor_faults = sys::kernel_counts(thread_id).map(|counts| counts.minor_faults);
    ThreadLedger { thread_id, name, source: Source::Schedstat, minor_faults, rows: rows.finish() }
}
