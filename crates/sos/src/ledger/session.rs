//! `SessionBooks`: what the requests of one session have spent and waited for, whichever threads
//! served them.

use super::Counter;
use super::spent::Spent;
use super::state::TOPS;
use crate::clock;
use crate::sync::OnceLock;
use crate::wait::{WaitCell, WaitRow, WaitType};

/// One session's books. Written by the thread that serves it, one at a time; read by any.
#[derive(Debug, Default)]
pub struct SessionBooks {
    spent: [Counter; TOPS],
    /// Made with the first wait: most sessions never wait.
    waits: OnceLock<Box<[WaitCell; WaitType::COUNT]>>,
}

impl SessionBooks {
    /// What its requests have spent, up to the last complete one.
    #[must_use]
    pub fn spent(&self) -> Spent {
        Spent::of(std::array::from_fn(|top| self.spent[top].get()))
    }

    /// Its waits, one row per wait type that has any.
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

    /// Forgets everything, as `sp_reset_connection` asks; the thread that serves the session only.
    pub fn reset(&self) {
        self.spent.iter().for_each(|sum| sum.set(0));
        if let Some(cells) = self.waits.get() {
            cells.iter().for_each(WaitCell::clear);
        }
    }

    /// Adds what others have spent and waited for in the session's work; the thread that serves the
    /// session only, when they have ended.
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
