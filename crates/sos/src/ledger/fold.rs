//! Closing the books: all time of all threads by category and name, and how it compares with what
//! the kernel says of the same threads.
//!
//! ```text
//!   sum over rows of wall   =  the time of all threads
//!   sum of on-CPU           =  schedstat's first number    the differences are dark,
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
    /// The branches of the tree in which all time is.
    pub enum Category {
        /// On a CPU in the engine's own code, by what it was busy with.
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
        /// Reading books.
        Observation => "observation",
        /// Nothing to do.
        Idle => "idle",
        /// Threads of the process that are not the machine's.
        Foreign => "foreign",
        /// Blocked while it should have been running.
        UnexpectedBlocking => "unexpected_blocking",
        /// What nothing explains.
        Dark => "dark",
    }
}

/// One row of the closed books. Over all rows `wall_ns` adds up to the time of all threads.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct LedgerRow {
    /// The branch.
    pub category: Category,
    /// The leaf, never empty.
    pub name: &'static str,
    /// Time.
    pub wall_ns: u64,
    /// The part of it on a CPU.
    pub on_cpu_ns: u64,
    /// The part of it ready, without a CPU.
    pub runnable_ns: u64,
    /// The part of it blocked.
    pub blocked_ns: u64,
    /// How often it was entered.
    pub count: u64,
    /// Standard error of `wall_ns`, where it was sampled.
    pub error_ns: Option<u64>,
}

/// One thread's part of the closed books.
#[derive(Clone, Debug)]
pub struct ThreadLedger {
    /// The operating system's id.
    pub thread_id: u32,
    /// Its name.
    pub name: Box<str>,
    /// How its time off the CPU was told from time on it.
    pub source: Source,
    /// Page faults that needed no I/O; none where the kernel does not say.
    pub minor_faults: Option<u64>,
    /// Its rows.
    pub rows: Vec<LedgerRow>,
}

/// How well the books close. `schedstat` numbers are the kernel's, of the same threads since their
/// accounts were opened.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Closure {
    /// The time of all threads.
    pub thread_ns: u64,
    /// The part in which they were not idle.
    pub non_idle_ns: u64,
    /// On a CPU, by the ledger, without foreign threads.
    pub on_cpu_ns: u64,
    /// Ready for a CPU, by the ledger, without foreign threads.
    pub runnable_ns: u64,
    /// On a CPU, by the scheduler's books.
    pub schedstat_on_cpu_ns: u64,
    /// Ready for a CPU, by the scheduler's books.
    pub schedstat_runnable_ns: u64,
    /// CPU of foreign threads that live, since they began.
    pub foreign_cpu_ns: u64,
    /// The process's CPU clock since the books were opened, foreign threads included.
    pub process_cpu_ns: u64,
    /// What nothing explains: running time without a label, and both differences to the scheduler's
    /// books.
    pub dark_ns: u64,
    /// Running time without a label.
    pub unlabelled_ns: u64,
    /// Requests, or parts of long ones, that were fully timed.
    pub timed_units: u64,
    /// Page faults of the process that needed no I/O.
    pub minor_faults: u64,
    /// Page faults of the process that needed I/O.
    pub major_faults: u64,
}

/// The closed books.
#[derive(Clone, Debug)]
pub struct Ledger {
    /// When they were closed, in ticks.
    pub taken_at: u64,
    /// Since they were opened.
    pub elapsed_ns: u64,
    /// How time off the CPU was told from time on it.
    pub source: Source,
    /// All time of all threads, by category and name.
    pub rows: Vec<LedgerRow>,
    /// The same of each living thread.
    pub threads: Vec<ThreadLedger>,
    /// How well they close.
    pub closure: Closure,
    /// What this machine does not let the ledger split.
    pub lost: Vec<&'static str>,
}

/// One thread's own.
#[derive(Default)]
struct Own {
    totals: Totals,
    minor_faults: Option<u64>,
}

/// What is being added up.
#[derive(Default)]
struct Fold {
    totals: Totals,
    mix: Mix,
    /// The scheduler's books, in ns: on a CPU and ready, of the threads that have them.
    schedstat: (u64, u64),
    /// Those of the threads whose own books are of the same moment, and what these say, in ticks.
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

    /// The differences to the scheduler's books, in ticks: on a CPU and ready.
    fn residuals(&self) -> [u64; 2] {
        let [theirs, ours] = self.compared;
        [theirs.0.abs_diff(ours.0), theirs.1.abs_diff(ours.1)]
    }
}

impl Accounts {
    /// Once a second: folds the books, so that what has been running until now is split by what was
    /// timed until now.
    pub fn tick(&self) {
        let (threads, own, fold) = self.fold();
        self.advance(&mut self.grown().lock(), &threads, &own, &fold, false);
    }

    /// Closes the books: folds where all the time of all threads went since the machine started. No
    /// row is ever less than it was: the difference of two readings is what happened between them.
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

    /// Reads all accounts: the living threads, each one's own, and all together.
    fn fold(&self) -> (Vec<Arc<Account>>, Vec<Box<Own>>, Fold) {
        let (threads, mut fold) = self.with_books(|live, ended| {
            let mut fold = Fold::default();
            fold.add(ended, &ended.read_past());
            (live.to_vec(), fold)
        });
        // Each in a block of its own: of all together a heap would take half a megabyte, and this
        // is done each second.
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

    /// Whether the kernel's count of its own time can be compared with the wrappers'.
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
                "time ready and blocked is spread over states by their share of each second",
                "per statement and session, time on a CPU includes time ready for one",
            ],
            Source::WallOnly => vec![
                "the scheduler's books cannot be read: running states include time ready for a CPU, \
                 waits include time ready and on a CPU, and nothing is compared with the kernel",
            ],
        };
        if self.source() != Source::WallOnly && fold.blind_threads > 0 {
            lost.push("some threads could not open their line of the scheduler's books");
        }
        if !self.has_wanted() {
            lost.push("the source that was asked for does not work here");
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
