//! `Row`: what each thread shows about itself to threads that wait for locks.
//!
//! A row is one thread's own pair of cache lines: the locks that it reads while they favour
//! readers, whether it sleeps in the kernel, and which lock it waits for. Only the thread itself
//! writes its row, so that a write is a plain store; writers and views scan the rows, which is
//! rare.
//!
//! The visible readers follow "BRAVO: Biased Locking for Reader-Writer Locks" (Dice and Kogan,
//! 2019), with a row per thread instead of a hash of thread and lock, so that no slot is ever
//! shared.

#[cfg(not(any(loom, shuttle)))]
use crate::sync::{AtomicBool, AtomicU32, AtomicU64};
use crate::sync::{AtomicUsize, Ordering};

/// How many locks a thread can read at once as a visible reader; in others it counts itself in the
/// word.
const SLOTS: usize = if cfg!(any(loom, shuttle)) { 1 } else { 8 };
/// The number of rows: further threads have none, and count themselves in the lock's word.
#[cfg(not(any(loom, shuttle)))]
const ROWS: usize = 1_024;

/// The row of one thread.
#[derive(Debug)]
#[repr(align(128))]
pub struct Row {
    /// The addresses of the locks that the thread reads as a visible reader; 0 for a free slot.
    slots: [AtomicUsize; SLOTS],
    #[cfg(not(any(loom, shuttle)))]
    shows: Shows,
}

/// The rest of a row.
#[cfg(not(any(loom, shuttle)))]
#[derive(Debug)]
struct Shows {
    taken: AtomicBool,
    asleep: AtomicBool,
    /// The lock that the thread waits for, packed: see [`Blocked`]; 0 for none.
    blocked: AtomicU64,
    number: AtomicU64,
}

impl Row {
    /// Makes a row without a thread.
    #[cfg(not(any(loom, shuttle)))]
    #[must_use]
    pub const fn new() -> Self {
        Self {
            slots: [const { AtomicUsize::new(0) }; SLOTS],
            shows: Shows {
                taken: AtomicBool::new(false),
                asleep: AtomicBool::new(false),
                blocked: AtomicU64::new(0),
                number: AtomicU64::new(0),
            },
        }
    }

    /// Makes a row without a thread.
    #[cfg(any(loom, shuttle))]
    #[must_use]
    pub fn new() -> Self {
        Self { slots: std::array::from_fn(|_| AtomicUsize::new(0)) }
    }

    /// Shows that the thread reads the lock at `address`; `None` if it already reads too many. Only
    /// the owner of the row may call it.
    #[inline]
    pub fn show(&self, address: usize) -> Option<&AtomicUsize> {
        // Relaxed: only this thread writes its slots. The barrier that follows orders the store.
        let slot = self.slots.iter().find(|slot| slot.load(Ordering::Relaxed) == 0)?;
        slot.store(address, Ordering::Relaxed);
        Some(slot)
    }

    /// Whether the thread reads the lock at `address`.
    #[inline]
    pub fn shows(&self, address: usize, order: Ordering) -> bool {
        self.slots.iter().any(|slot| slot.load(order) == address)
    }
}

impl Default for Row {
    fn default() -> Self {
        Self::new()
    }
}

#[cfg(not(any(loom, shuttle)))]
pub use table::{Blocked, blocked};
#[cfg(not(any(loom, shuttle)))]
pub(crate) use table::{ShowsBlocked, all, asleep, awake, claim, current, show_blocked};

/// The rows of the process.
#[cfg(not(any(loom, shuttle)))]
mod table {
    use std::cell::Cell;

    use super::super::{LatchClass, SpinClass};
    use super::{AtomicU32, Ordering, ROWS, Row};

    static TABLE: [Row; ROWS] = [const { Row::new() }; ROWS];
    /// One more than the highest row that was ever taken.
    static IN_USE: AtomicU32 = AtomicU32::new(0);

    thread_local! {
        static CURRENT: Cell<Option<&'static Row>> = const { Cell::new(None) };
        static OWNED: Owned = const { Owned };
    }

    /// Frees the row when the thread ends.
    struct Owned;

    impl Drop for Owned {
        fn drop(&mut self) {
            if let Some(row) = CURRENT.take() {
                // Release: pairs with the Acquire in `claim`; the row is empty for its next owner.
                row.shows.taken.store(false, Ordering::Release);
            }
        }
    }

    /// The rows that are in use or were earlier.
    pub(crate) fn all() -> &'static [Row] {
        // Relaxed: a writer that must see a row taken just now has executed a barrier.
        let in_use = IN_USE.load(Ordering::Relaxed) as usize;
        &TABLE[..in_use.min(ROWS)]
    }

    /// The calling thread's row; `None` if there are too many threads, or if the thread is ending.
    #[inline]
    pub(crate) fn current() -> Option<&'static Row> {
        CURRENT.get()
    }

    /// Claims a free row for the calling thread, if there is one.
    pub(crate) fn claim(number: u32) {
        // While the thread's destructors run, nothing would free the row any more.
        if CURRENT.get().is_some() || OWNED.try_with(|_| ()).is_err() {
            return;
        }
        let (free, row) = (Ordering::Relaxed, Ordering::Acquire);
        // Acquire: pairs with the Release of the last owner.
        let mine = TABLE.iter().position(|other| {
            !other.shows.taken.load(free)
                && other.shows.taken.compare_exchange(false, true, row, free).is_ok()
        });
        let Some(mine) = mine else { return };
        TABLE[mine].shows.number.store(u64::from(number), Ordering::Relaxed);
        TABLE[mine].shows.asleep.store(false, Ordering::Relaxed);
        IN_USE.fetch_max(u32::try_from(mine + 1).unwrap_or(u32::MAX), Ordering::Relaxed);
        CURRENT.set(Some(&TABLE[mine]));
    }

    /// The number of threads that want to run.
    pub(crate) fn awake() -> u32 {
        let is_awake = |row: &&Row| {
            row.shows.taken.load(Ordering::Relaxed) && !row.shows.asleep.load(Ordering::Relaxed)
        };
        u32::try_from(all().iter().filter(is_awake).count()).unwrap_or(u32::MAX)
    }

    /// Shows that the calling thread sleeps in the kernel, until the guard is dropped.
    #[inline]
    pub(crate) fn asleep() -> Asleep {
        let row = CURRENT.get();
        if let Some(row) = row {
            row.shows.asleep.store(true, Ordering::Relaxed);
        }
        Asleep { row }
    }

    /// Proof that the thread shows that it sleeps.
    #[derive(Debug)]
    pub(crate) struct Asleep {
        row: Option<&'static Row>,
    }

    impl Drop for Asleep {
        #[inline]
        fn drop(&mut self) {
            if let Some(row) = self.row {
                row.shows.asleep.store(false, Ordering::Relaxed);
            }
        }
    }

    /// A thread that waits for a lock right now.
    #[derive(Clone, Copy, Debug, PartialEq, Eq)]
    pub struct Blocked {
        /// The ledger number of the waiting thread.
        pub thread: u32,
        /// The class of the lock, as views name it.
        pub class: &'static str,
        /// Whether it sleeps (a latch) or spins.
        pub asleep: bool,
        /// The ledger number of the thread that held the lock when the wait began; `None` if
        /// several readers did.
        pub owner: Option<u32>,
    }

    /// The class of a lock of either kind, packed into a number above 0.
    #[derive(Clone, Copy)]
    pub(crate) enum AnyClass {
        Spin(SpinClass),
        Latch(LatchClass),
    }

    impl AnyClass {
        fn packed(self) -> u64 {
            let index = match self {
                Self::Spin(class) => class.index(),
                Self::Latch(class) => SpinClass::COUNT + class.index(),
            };
            u64::try_from(index + 1).unwrap_or(0)
        }

        fn name(packed: u64) -> Option<&'static str> {
            let index = usize::try_from(packed).ok()?.checked_sub(1)?;
            let spin = SpinClass::ALL.get(index).map(|class| class.name());
            let latch = || LatchClass::ALL.get(index.checked_sub(SpinClass::COUNT)?);
            spin.or_else(|| latch().map(|class| class.name()))
        }
    }

    /// Shows which lock the calling thread waits for, until the guard is dropped.
    pub(crate) fn show_blocked(class: AnyClass, owner: u32) -> ShowsBlocked {
        let row = CURRENT.get();
        if let Some(row) = row {
            // Relaxed: a reader gets a snapshot that may be a moment old.
            row.shows.blocked.store(class.packed() << 32 | u64::from(owner), Ordering::Relaxed);
        }
        ShowsBlocked { row }
    }

    /// Proof that the thread shows what it waits for.
    #[derive(Debug)]
    pub(crate) struct ShowsBlocked {
        row: Option<&'static Row>,
    }

    impl Drop for ShowsBlocked {
        fn drop(&mut self) {
            if let Some(row) = self.row {
                row.shows.blocked.store(0, Ordering::Relaxed);
            }
        }
    }

    /// The threads that wait for locks right now; a snapshot that is not consistent over threads.
    #[must_use]
    pub fn blocked() -> Vec<Blocked> {
        all().iter().filter_map(row_blocked).collect()
    }

    fn row_blocked(row: &Row) -> Option<Blocked> {
        let packed = row.shows.blocked.load(Ordering::Relaxed);
        let low = |number: u64| u32::try_from(number & u64::from(u32::MAX)).unwrap_or(0);
        let owner = low(packed);
        Some(Blocked {
            thread: low(row.shows.number.load(Ordering::Relaxed)),
            class: AnyClass::name(packed >> 32)?,
            asleep: row.shows.asleep.load(Ordering::Relaxed),
            owner: (owner != 0).then_some(owner),
        })
    }
}
#[cfg(not(any(loom, shuttle)))]
pub(crate) use table::AnyClass;
