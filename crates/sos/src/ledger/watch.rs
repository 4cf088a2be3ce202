//! `Watch`: how a thread finds out that it was off its CPU, and for how long.
//!
//! | source         | sentinel                       | then                                         |
//! |----------------|--------------------------------|----------------------------------------------|
//! | rseq           | the kernel has cleared a word  | the thread reads its line of schedstat, and  |
//! | switch records | the head of its ring has moved | books the difference                         |
//! | schedstat      | none                           | once a second a background thread reads the  |
//! |                |                                | line and divides it by share of time         |
//! | wall only      | none                           | nothing: waits count as waits, all else as   |
//! |                |                                | running                                      |

use crate::registry::registry;
use crate::sync::{AtomicU64, Ordering};
use crate::sys::{self, RunBook, RunTimes, SwitchRing};

registry! {
    /// How time off the CPU is distinguished from time on it.
    pub enum Source {
        /// The kernel's restartable sequences (rseq) show when a thread was switched; exact.
        Rseq => "rseq",
        /// A perf ring of context-switch records shows it; exact.
        SwitchRecords => "switch_records",
        /// The kernel's schedstat, read once a second and divided by share of time.
        Schedstat => "schedstat",
        /// Only the clock: time off the CPU is not measured.
        WallOnly => "wall_only",
    }
}

registry! {
    /// The [`Source`] that a machine should use; if it is not available, the next one below is
    /// used.
    pub enum SourceChoice {
        /// The best source that works here.
        Auto => "auto",
        /// [`Source::Rseq`], or a lower one.
        Rseq => "rseq",
        /// [`Source::SwitchRecords`], or a lower one.
        Switches => "switches",
        /// [`Source::Schedstat`], or a lower one.
        Schedstat => "schedstat",
        /// [`Source::WallOnly`]: only the clock.
        Wall => "wall",
    }
}

impl SourceChoice {
    /// The choice with this name; `None` if there is none.
    #[must_use]
    pub fn of_name(name: &str) -> Option<Self> {
        Self::ALL.iter().copied().find(|choice| choice.name() == name)
    }

    /// The best source that works here and is not above the choice.
    pub(super) fn resolve(self) -> Source {
        let best = match self {
            Self::Auto | Self::Rseq => Source::Rseq,
            Self::Switches => Source::SwitchRecords,
            Self::Schedstat => Source::Schedstat,
            Self::Wall => Source::WallOnly,
        };
        if best == Source::WallOnly || RunBook::open().ok().and_then(|book| book.read()).is_none() {
            return Source::WallOnly;
        }
        if best == Source::Rseq && sys::sequences_work() {
            return Source::Rseq;
        }
        if best <= Source::SwitchRecords && SwitchRing::open().is_ok() {
            return Source::SwitchRecords;
        }
        Source::Schedstat
    }
}

/// A word that never changes, for threads without a sentinel.
static STILL: AtomicU64 = AtomicU64::new(0);

/// What one thread keeps open to notice its switches.
#[derive(Debug)]
pub(super) struct Watch {
    source: Source,
    book: Option<RunBook>,
    ring: Option<SwitchRing>,
    base_kernel_ns: u64,
}

impl Watch {
    /// Opens what the source needs for the calling thread; if that fails, the thread has no
    /// sentinel.
    pub(super) fn open(source: Source) -> Self {
        let book = (source != Source::WallOnly).then(|| RunBook::open().ok()).flatten();
        let ring = (source == Source::SwitchRecords).then(|| SwitchRing::open().ok()).flatten();
        let source = match source {
            _ if book.is_none() => Source::WallOnly,
            Source::Rseq if sys::sequence_word().is_none() => Source::Schedstat,
            Source::SwitchRecords if ring.is_none() => Source::Schedstat,
            Source::Rseq | Source::SwitchRecords | Source::Schedstat | Source::WallOnly => source,
        };
        Self { source, book, ring, base_kernel_ns: sys::own_kernel_ns() }
    }

    /// A watch without a sentinel.
    pub(super) const fn blind() -> Self {
        Self { source: Source::WallOnly, book: None, ring: None, base_kernel_ns: 0 }
    }

    pub(super) const fn source(&self) -> Source {
        self.source
    }

    /// The thread's time in the kernel before its account was opened.
    pub(super) const fn base_kernel_ns(&self) -> u64 {
        self.base_kernel_ns
    }

    /// The sentinel's word, valid as long as the thread lives and the watch is open.
    pub(super) fn word(&self) -> *mut AtomicU64 {
        let word = match self.source {
            Source::Rseq => sys::sequence_word(),
            Source::SwitchRecords => self.ring.as_ref().map(SwitchRing::word),
            Source::Schedstat | Source::WallOnly => None,
        };
        word.map_or((&raw const STILL).cast_mut(), std::ptr::NonNull::as_ptr)
    }

    /// Arms the sentinel; returns the value that the word has until the next switch.
    pub(super) fn arm(&self, word: &AtomicU64) -> u64 {
        match self.source {
            Source::Rseq => {
                let armed = sys::armed_value();
                // Relaxed: shared with the kernel on this very CPU only.
                word.store(armed, Ordering::Relaxed);
                armed
            }
            Source::SwitchRecords => word.load(Ordering::Relaxed),
            Source::Schedstat | Source::WallOnly => 0,
        }
    }

    /// Restores the word as the kernel and the C library need it at the end of the thread.
    pub(super) fn disarm(&self, word: &AtomicU64) {
        if self.source == Source::Rseq {
            word.store(0, Ordering::Relaxed);
        }
    }

    /// Reads the thread's line of schedstat.
    pub(super) fn times(&self) -> Option<RunTimes> {
        self.book.as_ref().and_then(RunBook::read)
    }
}
