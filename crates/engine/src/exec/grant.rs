//! Memory grants: what a query may take for the rows that it keeps (sorts, hash tables, buffers).
//!
//! An operator that keeps rows opens a `Charge` and adds to it what it takes. A charge reserves
//! `STEP_BYTES` and more at a time, so that a row costs an addition: only a step is a store that
//! others can see. Over the limit of one query, or of all queries together, the query that asks fails
//! with error 701; what it had taken goes back when its operators are dropped, and the others go on.
//!
//! ```text
//!   operator: Charge ──step──► session: Grant ──step──► instance: Workspace
//!              used             used, limit               used, limit
//! ```
//!
//! A query does not wait for memory: there is no queue, so `RESOURCE_SEMAPHORE` waits do not happen.

use std::sync::Arc;

use sos::clock;
use sos::sync::{AtomicU32, AtomicU64, Ordering};
use types::{Error, Msg, Result, Value};

/// Bytes that a charge reserves at least at a time.
pub(crate) const STEP_BYTES: u64 = 64 << 10;
/// Share of the server's memory that one query may take, in percent: what SQL Server's default
/// workload group has as REQUEST_MAX_MEMORY_GRANT_PERCENT.
pub const QUERY_PERCENT: u64 = 25;
/// Share of the server's memory that all queries may take together, in percent.
const QUERIES_PERCENT: u64 = 75;
/// State of error 701 where it is a query's limit that was met.
const STATE_LIMIT: u8 = 123;

/// What all queries of an instance may take together.
#[derive(Debug)]
pub(crate) struct Workspace {
    used: AtomicU64,
    limit: u64,
    query_limit: u64,
}

impl Workspace {
    /// Makes the workspace of an instance that has `memory_max` bytes; `query_limit` is what one query
    /// may take of it, the default share if it is 0.
    pub(crate) fn new(memory_max: u64, query_limit: u64) -> Self {
        let share = |percent: u64| {
            let share = u128::from(memory_max) * u128::from(percent) / 100;
            u64::try_from(share).unwrap_or(u64::MAX)
        };
        let query_limit = if query_limit == 0 { share(QUERY_PERCENT) } else { query_limit };
        let limit = share(QUERIES_PERCENT);
        Self { used: AtomicU64::new(0), limit, query_limit }
    }

    /// Returns what one query may take, in bytes.
    pub(crate) fn query_limit(&self) -> u64 {
        self.query_limit
    }

    fn take(&self, bytes: u64) -> bool {
        // Relaxed, here and below: numbers that order nothing else.
        let before = self.used.fetch_add(bytes, Ordering::Relaxed);
        let fits = before.saturating_add(bytes) <= self.limit;
        if !fits {
            self.give(bytes);
        }
        fits
    }

    fn give(&self, bytes: u64) {
        self.used.fetch_sub(bytes, Ordering::Relaxed);
    }
}

/// What the running query of a session has taken. Written by the session's thread alone; read by
/// `sys.dm_exec_query_memory_grants`.
#[derive(Debug)]
pub(crate) struct Grant {
    workspace: Arc<Workspace>,
    /// Charges that are open: the query holds memory as long as there is one.
    open: AtomicU32,
    /// Ticks at which the first of them was opened.
    since: AtomicU64,
    limit: AtomicU64,
    /// What the open operators are expected to take.
    ideal: AtomicU64,
    used: AtomicU64,
    used_max: AtomicU64,
}

/// A [`Grant`] as it stands.
#[derive(Clone, Copy, Debug)]
pub(crate) struct GrantNow {
    /// Ticks at which it began.
    pub(crate) since: u64,
    /// Bytes that the query may take.
    pub(crate) limit: u64,
    /// Bytes that its operators are expected to take.
    pub(crate) ideal: u64,
    /// Bytes that it has taken.
    pub(crate) used: u64,
    /// The most that it has had.
    pub(crate) used_max: u64,
}

impl Grant {
    /// Makes the grant of a session.
    pub(crate) fn new(workspace: &Arc<Workspace>) -> Self {
        Self {
            workspace: Arc::clone(workspace),
            open: AtomicU32::new(0),
            since: AtomicU64::new(0),
            limit: AtomicU64::new(0),
            ideal: AtomicU64::new(0),
            used: AtomicU64::new(0),
            used_max: AtomicU64::new(0),
        }
    }

    /// Opens a charge for an operator that is expected to take `ideal` bytes (0 if nobody knows).
    pub(crate) fn charge(self: &Arc<Self>, ideal: u64) -> Charge {
        // Relaxed, here and below: statistics, of which this thread is the only writer.
        let open = self.open.load(Ordering::Relaxed);
        if open == 0 {
            // A clock read, beside the making of a sort or a hash table.
            self.since.store(clock::now_ticks(), Ordering::Relaxed);
            self.limit.store(self.workspace.query_limit(), Ordering::Relaxed);
            self.ideal.store(0, Ordering::Relaxed);
            self.used_max.store(0, Ordering::Relaxed);
        }
        self.open.store(open + 1, Ordering::Relaxed);
        let expected = self.ideal.load(Ordering::Relaxed);
        self.ideal.store(expected.saturating_add(ideal), Ordering::Relaxed);
        Charge { grant: Arc::clone(self), reserved: 0, used: 0, ideal }
    }

    /// Returns how it stands; `None` if no operator holds memory.
    pub(crate) fn now(&self) -> Option<GrantNow> {
        let load = |cell: &AtomicU64| cell.load(Ordering::Relaxed);
        (self.open.load(Ordering::Relaxed) > 0).then(|| GrantNow {
            since: load(&self.since),
            limit: load(&self.limit),
            ideal: load(&self.ideal),
            used: load(&self.used),
            used_max: load(&self.used_max),
        })
    }

    fn take(&self, bytes: u64) -> Result<()> {
        let used = self.used.load(Ordering::Relaxed).saturating_add(bytes);
        let fits = used <= self.limit.load(Ordering::Relaxed);
        if !fits || sos::memory::check().is_err() || !self.workspace.take(bytes) {
            return Err(Error::from(Msg::OutOfMemory).with_state(STATE_LIMIT));
        }
        self.used.store(used, Ordering::Relaxed);
        let most = self.used_max.load(Ordering::Relaxed).max(used);
        self.used_max.store(most, Ordering::Relaxed);
        Ok(())
    }

    fn give(&self, bytes: u64, ideal: u64) {
        self.workspace.give(bytes);
        let left = |cell: &AtomicU64, less: u64| {
            cell.store(cell.load(Ordering::Relaxed).saturating_sub(less), Ordering::Relaxed);
        };
        left(&self.used, bytes);
        let open = self.open.load(Ordering::Relaxed).saturating_sub(1);
        self.open.store(open, Ordering::Relaxed);
        if open > 0 {
            left(&self.ideal, ideal);
        }
    }
}

/// What one operator has taken of its query's grant; it goes back when this is dropped.
#[derive(Debug)]
pub(crate) struct Charge {
    grant: Arc<Grant>,
    reserved: u64,
    used: u64,
    ideal: u64,
}

impl Charge {
    /// Notes that so many bytes more are taken.
    ///
    /// # Errors
    /// 701 over a limit.
    #[inline]
    pub(crate) fn add(&mut self, bytes: usize) -> Result<()> {
        self.used = self.used.saturating_add(bytes as u64);
        if self.used <= self.reserved { Ok(()) } else { self.grow() }
    }

    /// Notes that so many bytes are taken in all.
    ///
    /// # Errors
    /// 701 over a limit.
    #[inline]
    pub(crate) fn set(&mut self, bytes: usize) -> Result<()> {
        self.used = bytes as u64;
        if self.used <= self.reserved { Ok(()) } else { self.grow() }
    }

    /// As [`Charge::add`], for a row of values that is kept.
    ///
    /// # Errors
    /// 701 over a limit.
    #[inline]
    pub(crate) fn add_row<'v>(&mut self, values: impl Iterator<Item = &'v Value>) -> Result<()> {
        self.add(values.map(size_of_value).sum())
    }

    #[cold]
    fn grow(&mut self) -> Result<()> {
        let step = (self.used - self.reserved).max(STEP_BYTES);
        self.grant.take(step)?;
        self.reserved += step;
        Ok(())
    }
}

impl Drop for Charge {
    fn drop(&mut self) {
        self.grant.give(self.reserved, self.ideal);
    }
}

/// Bytes that a value takes, with what it holds outside of itself: a long text as if it were its only
/// holder.
fn size_of_value(value: &Value) -> usize {
    let outside = value.string_bytes().map_or(0, <[u8]>::len);
    let outside = if outside > types::bytes::INLINE_MAX { outside } else { 0 };
    size_of::<Value>() + outside
}

#[cfg(test)]
mod tests {
    use super::*;

    fn grant(query_limit: u64) -> (Arc<Workspace>, Arc<Grant>) {
        let workspace = Arc::new(Workspace::new(4 * query_limit, query_limit));
        let grant = Arc::new(Grant::new(&workspace));
        (workspace, grant)
    }

    #[test]
    fn what_a_query_took_goes_back_with_its_operators() {
        let (workspace, grant) = grant(1 << 20);
        let mut charge = grant.charge(100);
        assert!(charge.add(10).is_ok());
        assert_eq!(grant.now().unwrap().used, STEP_BYTES);
        assert_eq!(grant.now().unwrap().ideal, 100);
        drop(charge);
        assert!(grant.now().is_none());
        // Relaxed: one thread.
        assert_eq!(workspace.used.load(Ordering::Relaxed), 0);
    }

    #[test]
    fn a_query_over_its_limit_gets_701_and_another_one_goes_on() {
        let (workspace, first) = grant(1 << 20);
        let second = Arc::new(Grant::new(&workspace));
        let mut big = first.charge(0);
        let mut small = second.charge(0);
        assert!(big.add(1 << 19).is_ok());
        assert_eq!(big.add(1 << 20).unwrap_err().number, 701);
        assert!(small.add(1 << 19).is_ok());
    }

    #[test]
    fn all_queries_together_have_a_limit_too() {
        let (workspace, first) = grant(1 << 20);
        let others = [(); 3].map(|()| Arc::new(Grant::new(&workspace)));
        let mut held = Vec::new();
        for grant in &others {
            let mut charge = grant.charge(0);
            assert!(charge.add(1 << 20).is_ok());
            held.push(charge);
        }
        // Three quarters of the memory are taken.
        assert_eq!(first.charge(0).add(1).unwrap_err().number, 701);
        held.pop();
        assert!(first.charge(0).add(1).is_ok());
    }
}
