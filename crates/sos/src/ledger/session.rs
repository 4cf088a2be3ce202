//! `SessionBooks`: the time and the waits of the requests of one session, over all threads that
//! served them.

use super::Counter;
use super::spent::Spent;
use super::state::TOPS;
use crate::clock;
use crate::sync::OnceLock;
use crate::wait::{WaitCell, WaitRow, WaitType};

/// The time and the waits of one session. Written by the thread that serves the session, one at a
/// time; any thread may read it.
#[derive(Debug, Default)]
pub struct SessionBooks {
    spent: [Counter; TOPS],
    /// Allocated at the first wait: most sessions never wait.
    waits: OnceLock<Box<[WaitCell; WaitType::COUNT]>>,
}

impl SessionBooks {
    /// The time of its requests, up to the last complete one.
    #[must_use]
    pub fn spent(&self) -> Spent {
        Spent::of(std::array::from_fn(|top| self.spent[top].get()))
    }

    /// The session's waits, one row per wait type with at least one wait.
    #[must_use]
    pub fn waits(&self) -> Vec<WaitRow> {
        let Some(cells) = self.waits.get() else { return Vec::new() };
        let rows = WaitType::ALL.iter().zip(cells.iter());
        rows.filter(|(_, cell)| cell.count.get() > 0)
            .map(|(&wait_type, cell)| WaitRow {
                wait_type,
                count: cell.count.get(),
                wait_ns: clock::ticks_to_ns(cell.ticks.get()),
                max_wait_ns: clock::ticks_to_ns(cell.ticks_max.get()),
                signal_ns: clock::ticks_to_ns(cell.signal_ticks.get()),
            })
            .collect()
    }

    /// Passes each wait type that the session has waited for with the time of its waits, in ticks.
    pub fn each_wait(&self, mut pass: impl FnMut(WaitType, u64)) {
        let Some(cells) = self.waits.get() else { return };
        for (wait_type, cell) in WaitType::ALL.iter().zip(cells.iter()) {
            let ticks = cell.ticks.get();
            if ticks > 0 {
                pass(*wait_type, ticks);
            }
        }
    }

    /// Resets everything, for `sp_reset_connection`. Only the thread that serves the session may
    /// call it.
    pub fn reset(&self) {
        self.spent.iter().for_each(|sum| sum.set(0));
        if let Some(cells) = self.waits.get() {
            cells.iter().for_each(WaitCell::clear);
        }
    }

    /// Adds the time and the waits of helper threads, when they have ended. Only the thread that
    /// serves the session may call it.
    pub fn absorb(&self, other: &Self) {
        self.add(&other.spent());
        let Some(theirs) = other.waits.get() else { return };
        let own = self.waits.get_or_init(no_waits);
        own.iter().zip(theirs.iter()).for_each(|(own, theirs)| own.absorb(theirs));
    }

    pub(super) fn book_wait(&self, wait_type: WaitType, ticks: u64, signal_ticks: u64) {
        let cells = self.waits.get_or_init(no_waits);
        cells[wait_type.index()].book(ticks, signal_ticks);
    }

    #[inline]
    pub(super) fn add(&self, spent: &Spent) {
        for (sum, ticks) in self.spent.iter().zip(spent.ticks()) {
            sum.add(*ticks);
        }
    }
}

fn no_waits() -> Box<[WaitCell; WaitType::COUNT]> {
    Box::new(std::array::from_fn(|_| WaitCell::default()))
}
