//! `Partition`: a part of a session's memory, which a thread that fires claims while it writes one
//! record; and counters of the events that came to it.

use super::filling::{Enough, Filling};
use super::report::{Drops, EventTotals};
use crate::lock::TryCell;
use crate::memory::{self, MemoryClerk};
use crate::sync::{AtomicU64, Ordering};

/// A part of a session's memory, and its counters.
#[derive(Debug)]
pub(super) struct Partition {
    pub(super) filling: TryCell<Filling>,
    /// The counters of each event of the session.
    pub(super) tallies: Box<[Tally]>,
    pub(super) drops: DropCounts,
}

/// One partition's counters of one event of a session. Written by the threads that begin their
/// search for room at the partition: seldom more than one at a time.
#[derive(Debug, Default)]
pub(super) struct Tally {
    pub(super) seen: AtomicU64,
    pub(super) rejected: AtomicU64,
    pub(super) dropped: AtomicU64,
}

/// Adds one to a counter.
#[inline]
pub(super) fn count(of: &AtomicU64) {
    // Relaxed: a count that orders nothing.
    of.fetch_add(1, Ordering::Relaxed);
}

fn read(count: &AtomicU64) -> u64 {
    count.load(Ordering::Relaxed)
}

impl Tally {
    fn totals(&self) -> EventTotals {
        let (rejected, dropped) = (read(&self.rejected), read(&self.dropped));
        let seen = read(&self.seen).max(rejected + dropped);
        EventTotals { seen, rejected, dropped, published: seen - rejected - dropped }
    }
}

/// Counters of dropped events by cause, as in [`Drops`].
#[derive(Debug, Default)]
pub(super) struct DropCounts {
    pub(super) busy: AtomicU64,
    pub(super) full: AtomicU64,
    pub(super) too_large: AtomicU64,
    pub(super) largest: AtomicU64,
    pub(super) buffers: AtomicU64,
    pub(super) in_buffers: AtomicU64,
}

/// Blocks from this size on are charged to the clerk of extended events.
const OWN_CLERK_BYTES_MIN: usize = 1024;

/// Allocates a table of a session, charged to the clerk of extended events.
pub(super) fn table<T: Copy + Default>(length: usize) -> Box<[T]> {
    let make = || vec![T::default(); length].into_boxed_slice();
    if length * size_of::<T>() < OWN_CLERK_BYTES_MIN {
        return make();
    }
    memory::with_clerk(MemoryClerk::ExtendedEvents, make)
}

impl Partition {
    /// Makes an empty partition; it is a recorder if `enough` is given.
    pub(super) fn new(bytes: usize, events: usize, enough: Option<Enough>) -> Self {
        Self {
            filling: TryCell::new(Filling::new(table(bytes), enough)),
            tallies: (0..events).map(|_| Tally::default()).collect(),
            drops: DropCounts::default(),
        }
    }

    /// Adds its counters of one event.
    pub(super) fn add_totals(&self, event: usize, to: &mut EventTotals) {
        let Some(tally) = self.tallies.get(event) else { return };
        add_totals(to, &tally.totals());
    }

    /// Adds its counters of dropped events.
    pub(super) fn add_drops(&self, to: &mut Drops) {
        let own = &self.drops;
        let drops = Drops {
            busy: read(&own.busy),
            full: read(&own.full),
            too_large: read(&own.too_large),
            largest_bytes: read(&own.largest),
            buffers: read(&own.buffers),
            in_buffers: read(&own.in_buffers),
        };
        add_drops(to, &drops);
    }
}

/// Adds `more` to the totals `to`.
pub(super) fn add_totals(to: &mut EventTotals, more: &EventTotals) {
    to.seen += more.seen;
    to.rejected += more.rejected;
    to.dropped += more.dropped;
    to.published += more.published;
}

/// Adds `more` to the drops `to`.
fn add_drops(to: &mut Drops, more: &Drops) {
    to.busy += more.busy;
    to.full += more.full;
    to.too_large += more.too_large;
    to.largest_bytes = to.largest_bytes.max(more.largest_bytes);
    to.buffers += more.buffers;
    to.in_buffers += more.in_buffers;
}
