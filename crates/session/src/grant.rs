//! Memory grants: memory that queries use to buffer rows (sorts, hash tables, buffers).
//!
//! An operator that buffers rows opens a `Charge` and adds to it what it uses. A charge reserves
//! `STEP_BYTES` or more at a time, so that a row costs an addition: only a step is a store that
//! other threads can see. Over the limit of one query, or of all queries together, the query that
//! asks fails with error 701. Its memory is released when its operators are dropped; other queries
//! go on.
//!
//! ```text
//!   operator: Charge ──step──► session: Grant ──step──► instance: Workspace
//!              used             used, limit               used, limit
//! ```
//!
//! A query that holds no memory yet waits until there is some: first come, first served, with wait
//! type RESOURCE_SEMAPHORE, and error 8645 on timeout. A query that already holds memory gets 701
//! instead of waiting, because the others might be waiting for its memory.

use std::sync::Arc;
use std::time::Duration;

use sos::memory::NoRoom;
use sos::park::{self, Cancel, Wake};
use sos::sync::{AtomicU32, AtomicU64, Ordering};
use sos::wait::WaitType;
use sos::{clock, memory};
use types::{Error, Msg, Result, Value};

use super::stop::cancelled;
use crate::event::emit::grant;

/// Smallest number of bytes that a charge reserves at a time.
pub const STEP_BYTES: u64 = 64 << 10;
/// Share of the server's memory that one query may use, in percent: the default of
/// REQUEST_MAX_MEMORY_GRANT_PERCENT in SQL Server's default workload group.
pub const QUERY_PERCENT: u64 = 25;
/// Share of the server's memory that all queries may use together, in percent.
const QUERIES_PERCENT: u64 = 75;
/// Timeout of a query that waits for memory. SQL Server waits 25 s for each unit of a query's
/// estimated cost, and at least that long.
pub const WAIT_MAX: Duration = Duration::from_secs(25);
/// Name and id of the resource pool of all queries.
pub const POOL: (&str, i32) = ("default", 2);
/// State of error 701 for the limit of a single query.
const STATE_LIMIT: u8 = 123;

/// The memory that all queries of an instance may use together.
#[derive(Debug)]
pub struct Workspace {
    used: AtomicU64,
    limit: u64,
    query_limit: u64,
    wait_max: Duration,
    /// Number of queries that wait.
    waiting: AtomicU32,
    /// Number of queries that hold memory.
    holding: AtomicU32,
    /// Number of grants since the start, and of waits that timed out.
    granted: AtomicU64,
    timed_out: AtomicU64,
    /// Number of queries that failed because all together used the memory.
    refused: AtomicU64,
}

/// A snapshot of a [`Workspace`].
#[derive(Clone, Copy, Debug, Default)]
pub struct WorkspaceNow {
    /// Bytes that queries may use together.
    pub limit: u64,
    /// Bytes that they have reserved.
    pub used: u64,
    /// Number of queries that hold memory.
    pub holding: u32,
    /// Number of queries that wait.
    pub waiting: u32,
    /// Number of grants since the start.
    pub granted: u64,
    /// Number of waits that timed out.
    pub timed_out: u64,
    /// Number of queries that failed with 701 because all queries together used the memory.
    pub refused: u64,
}

impl Workspace {
    /// Returns the workspace of an instance with `memory_max` bytes; `query_limit` is the share of
    /// one query in bytes, 0 for the default share.
    pub fn new(memory_max: u64, query_limit: u64) -> Self {
        let share = |percent: u64| {
            let share = u128::from(memory_max) * u128::from(percent) / 100;
            u64::try_from(share).unwrap_or(u64::MAX)
        };
        let query_limit = if query_limit == 0 { share(QUERY_PERCENT) } else { query_limit };
        let limit = share(QUERIES_PERCENT);
        Self {
            used: AtomicU64::new(0),
            limit,
            query_limit,
            wait_max: WAIT_MAX,
            waiting: AtomicU32::new(0),
            holding: AtomicU32::new(0),
            granted: AtomicU64::new(0),
            timed_out: AtomicU64::new(0),
            refused: AtomicU64::new(0),
        }
    }

    /// Returns a snapshot of the numbers.
    pub fn now(&self) -> WorkspaceNow {
        // Relaxed: statistics.
        WorkspaceNow {
            limit: self.limit,
            used: self.used.load(Ordering::Relaxed),
            holding: self.holding.load(Ordering::Relaxed),
            waiting: self.waiting.load(Ordering::Relaxed),
            granted: self.granted.load(Ordering::Relaxed),
            timed_out: self.timed_out.load(Ordering::Relaxed),
            refused: self.refused.load(Ordering::Relaxed),
        }
    }

    /// Returns the limit of one query, in bytes.
    pub fn query_limit(&self) -> u64 {
        self.query_limit
    }

    fn take(&self, bytes: u64) -> bool {
        // Relaxed: the number orders nothing else; waiting has its own rule, below. A sum over the
        // limit is never stored: otherwise a query could wait for memory that no query holds.
        let more = |used: u64| used.checked_add(bytes).filter(|&sum| sum <= self.limit);
        self.used.fetch_update(Ordering::Relaxed, Ordering::Relaxed, more).is_ok()
    }

    /// Reserves a query's first memory, after the queries that have waited longer.
    fn take_first(&self, bytes: u64, cancel: &Cancel) -> Result<()> {
        if self.waiting.load(Ordering::Relaxed) > 0 || !self.take(bytes) {
            self.wait_for(bytes, cancel)?;
        }
        self.holding.fetch_add(1, Ordering::Relaxed);
        self.granted.fetch_add(1, Ordering::Relaxed);
        Ok(())
    }

    #[cold]
    fn wait_for(&self, bytes: u64, cancel: &Cancel) -> Result<()> {
        let deadline_ns = clock::deadline_ns(self.wait_max);
        // SeqCst, here and in `give`: either the waiter sees the released memory, or the releasing
        // thread sees that a query waits. The parking lot's lock gives the same guarantee to a
        // thread about to park.
        self.waiting.fetch_add(1, Ordering::SeqCst);
        let outcome = loop {
            let left = deadline_ns.saturating_sub(clock::monotonic_ns());
            let must_wait = || self.used.load(Ordering::SeqCst).saturating_add(bytes) > self.limit;
            let wake = park::park(
                self.key(),
                WaitType::ResourceSemaphore,
                must_wait,
                Some(Duration::from_nanos(left)),
                Some(cancel),
            );
            match wake {
                Wake::Signalled if self.take(bytes) => break Ok(()),
                Wake::Signalled if left > 0 => {}
                Wake::Cancelled => break Err(cancelled()),
                Wake::Signalled | Wake::TimedOut => {
                    self.timed_out.fetch_add(1, Ordering::Relaxed);
                    break Err(Msg::GrantTimeout(POOL.0, POOL.1.into()).into());
                }
            }
        };
        self.waiting.fetch_sub(1, Ordering::SeqCst);
        // The released memory may be enough for the next waiter too; a waiter that gives up wakes
        // it.
        self.wake_next();
        outcome
    }

    fn give(&self, bytes: u64) {
        self.used.fetch_sub(bytes, Ordering::SeqCst);
        self.wake_next();
    }

    fn wake_next(&self) {
        if self.waiting.load(Ordering::SeqCst) > 0 {
            park::unpark_one(self.key());
        }
    }

    fn key(&self) -> usize {
        std::ptr::from_ref(self).addr()
    }
}

/// The memory of a session's running query. Written by the session's thread, and by its helpers
/// while it holds memory; read by `sys.dm_exec_query_memory_grants`.
#[derive(Debug)]
pub struct Grant {
    workspace: Arc<Workspace>,
    /// Cancellation, which ends a wait.
    cancel: Arc<Cancel>,
    /// Ticks at which its wait began; 0 while it does not wait.
    waits_since: AtomicU64,
    /// Number of open charges: the query holds memory while there is one.
    open: AtomicU32,
    /// Ticks at which the first of them was opened.
    since: AtomicU64,
    limit: AtomicU64,
    /// Bytes that the open operators are expected to use.
    ideal: AtomicU64,
    used: AtomicU64,
    used_max: AtomicU64,
}

/// A snapshot of a [`Grant`].
#[derive(Clone, Copy, Debug)]
pub struct GrantNow {
    /// Ticks at which the query first reserved memory.
    pub since: u64,
    /// Ticks at which its wait for memory began; 0 if it does not wait.
    pub waits_since: u64,
    /// Bytes that the query may use.
    pub limit: u64,
    /// Bytes that its operators are expected to use.
    pub ideal: u64,
    /// Bytes that it has reserved.
    pub used: u64,
    /// Maximum of the bytes reserved so far.
    pub used_max: u64,
}

impl Grant {
    /// Returns the grant of a session whose waits `cancel` ends.
    pub fn new(workspace: &Arc<Workspace>, cancel: &Arc<Cancel>) -> Self {
        Self {
            workspace: Arc::clone(workspace),
            cancel: Arc::clone(cancel),
            waits_since: AtomicU64::new(0),
            open: AtomicU32::new(0),
            since: AtomicU64::new(0),
            limit: AtomicU64::new(0),
            ideal: AtomicU64::new(0),
            used: AtomicU64::new(0),
            used_max: AtomicU64::new(0),
        }
    }

    /// Opens a charge for an operator that is expected to use `ideal` bytes (0 if unknown).
    pub fn charge(self: &Arc<Self>, ideal: u64) -> Charge {
        // Relaxed, here and below: statistics. The session's own thread opens the first charge and
        // closes the last.
        if self.open.fetch_add(1, Ordering::Relaxed) == 0 {
            // Reading the clock is cheap next to building a sort or a hash table.
            self.since.store(clock::now_ticks(), Ordering::Relaxed);
            self.limit.store(self.workspace.query_limit(), Ordering::Relaxed);
            self.ideal.store(0, Ordering::Relaxed);
            self.used_max.store(0, Ordering::Relaxed);
        }
        if ideal > 0 {
            self.ideal.fetch_add(ideal, Ordering::Relaxed);
        }
        Charge {
            grant: Arc::clone(self),
            reserved: 0,
            used: 0,
            ideal,
            shared: [0; SHARED_MAX],
            shared_next: 0,
        }
    }

    /// Returns a snapshot; `None` if no operator holds memory.
    pub fn now(&self) -> Option<GrantNow> {
        let load = |cell: &AtomicU64| cell.load(Ordering::Relaxed);
        (self.open.load(Ordering::Relaxed) > 0).then(|| GrantNow {
            since: load(&self.since),
            waits_since: load(&self.waits_since),
            limit: load(&self.limit),
            ideal: load(&self.ideal),
            used: load(&self.used),
            used_max: load(&self.used_max),
        })
    }

    fn take(&self, bytes: u64) -> Result<()> {
        // In a helper this is never 0, since the session's thread holds memory while helpers run.
        let held = self.used.fetch_add(bytes, Ordering::Relaxed);
        let taken = self.take_more(held, bytes);
        if taken.is_err() {
            self.used.fetch_sub(bytes, Ordering::Relaxed);
            return taken;
        }
        self.used_max.fetch_max(held.saturating_add(bytes), Ordering::Relaxed);
        Ok(())
    }

    fn take_more(&self, held: u64, bytes: u64) -> Result<()> {
        let used = held.saturating_add(bytes);
        // A growing vector doubles, next to the old one, before it is charged.
        let next = usize::try_from(used).unwrap_or(usize::MAX);
        let is_within = used <= self.limit.load(Ordering::Relaxed);
        let fits = is_within && {
            match memory::wait_for_room(next, Some(&self.cancel)) {
                Ok(()) => true,
                Err(NoRoom::OverLimit) => false,
                Err(NoRoom::Cancelled) => return Err(cancelled()),
            }
        };
        // A request that can never fit does not wait.
        if fits && held == 0 && bytes <= self.workspace.limit {
            self.waits_since.store(clock::now_ticks(), Ordering::Relaxed);
            let taken = self.workspace.take_first(bytes, &self.cancel);
            self.waits_since.store(0, Ordering::Relaxed);
            return taken;
        }
        let is_refused = fits && !self.workspace.take(bytes);
        if is_refused {
            self.workspace.refused.fetch_add(1, Ordering::Relaxed);
        }
        if !fits || is_refused {
            return Err(Error::from(Msg::OutOfMemory).with_state(STATE_LIMIT));
        }
        Ok(())
    }

    fn give(&self, bytes: u64, ideal: u64) {
        if bytes > 0 {
            if self.used.fetch_sub(bytes, Ordering::Relaxed) == bytes {
                self.workspace.holding.fetch_sub(1, Ordering::Relaxed);
            }
            self.workspace.give(bytes);
        }
        if self.open.load(Ordering::Relaxed) == 1
            && grant::is_wanted()
            && let Some(now) = self.now()
        {
            grant::used(&now);
        }
        if ideal > 0 {
            self.ideal.fetch_sub(ideal, Ordering::Relaxed);
        }
        self.open.fetch_sub(1, Ordering::Relaxed);
    }
}

/// The memory of one operator, as part of its query's grant; dropping it releases the memory.
#[derive(Debug)]
pub struct Charge {
    grant: Arc<Grant>,
    reserved: u64,
    used: u64,
    ideal: u64,
    /// Addresses of the long values charged last: the rows of `nodes()` often share one document
    /// with the row before.
    shared: [usize; SHARED_MAX],
    shared_next: usize,
}

/// Number of recent long values by which shared ones are recognised.
const SHARED_MAX: usize = 4;

impl Charge {
    /// Adds this many bytes.
    ///
    /// # Errors
    /// 701 over a limit.
    #[inline]
    pub fn add(&mut self, bytes: usize) -> Result<()> {
        self.used = self.used.saturating_add(bytes as u64);
        if self.used <= self.reserved { Ok(()) } else { self.grow() }
    }

    /// Sets the total to this many bytes.
    ///
    /// # Errors
    /// 701 over a limit.
    #[inline]
    pub fn set(&mut self, bytes: usize) -> Result<()> {
        self.used = bytes as u64;
        self.shared = [0; SHARED_MAX];
        if self.used <= self.reserved { Ok(()) } else { self.grow() }
    }

    /// Adds the size of a row of values that is kept.
    ///
    /// # Errors
    /// 701 over a limit.
    #[inline]
    pub fn add_row<'v>(&mut self, values: impl Iterator<Item = &'v Value>) -> Result<()> {
        let bytes = values.map(|value| self.size_of_value(value)).sum();
        self.add(bytes)
    }

    /// Returns the bytes of a value, including what it holds on the heap; a shared heap value of
    /// consecutive rows counts once.
    #[inline]
    fn size_of_value(&mut self, value: &Value) -> usize {
        let outside = value.string_bytes().filter(|bytes| bytes.len() > types::bytes::INLINE_MAX);
        size_of::<Value>() + outside.map_or(0, |bytes| self.size_outside(bytes))
    }

    fn size_outside(&mut self, bytes: &[u8]) -> usize {
        let address = bytes.as_ptr().addr();
        if self.shared.contains(&address) {
            return 0;
        }
        self.shared[self.shared_next] = address;
        self.shared_next = (self.shared_next + 1) % SHARED_MAX;
        bytes.len()
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

#[cfg(test)]
mod tests {
    use super::*;

    fn grant(query_limit: u64) -> (Arc<Workspace>, Arc<Grant>) {
        let workspace = Arc::new(Workspace::new(4 * query_limit, query_limit));
        let grant = grant_of(&workspace);
        (workspace, grant)
    }

    fn grant_of(workspace: &Arc<Workspace>) -> Arc<Grant> {
        Arc::new(Grant::new(workspace, &Arc::new(Cancel::new())))
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
        let second = grant_of(&workspace);
        let mut big = first.charge(0);
        let mut small = second.charge(0);
        assert!(big.add(1 << 19).is_ok());
        assert_eq!(big.add(1 << 20).unwrap_err().number, 701);
        assert!(small.add(1 << 19).is_ok());
    }

    /// Returns a workspace whose grants use all memory, and one more grant.
    fn full(wait_max: Duration) -> (Arc<Workspace>, Vec<Charge>, Arc<Grant>) {
        let mut workspace = Workspace::new(4 << 20, 1 << 20);
        workspace.wait_max = wait_max;
        let workspace = Arc::new(workspace);
        let hold = |_| {
            let mut charge = grant_of(&workspace).charge(0);
            assert!(charge.add(1 << 20).is_ok());
            charge
        };
        // Three quarters of the memory.
        let held = (0..3).map(hold).collect();
        let next = grant_of(&workspace);
        (workspace, held, next)
    }

    #[test]
    fn a_query_that_waits_too_long_gets_8645() {
        let (workspace, held, next) = full(Duration::from_millis(20));
        let error = next.charge(0).add(1).unwrap_err();
        assert_eq!((error.number, error.severity), (8645, 17));
        let now = workspace.now();
        assert_eq!((now.timed_out, now.holding, now.waiting, now.used), (1, 3, 0, 3 << 20));
        drop(held);
        assert_eq!((workspace.now().holding, workspace.now().used), (0, 0));
        assert!(next.charge(0).add(1).is_ok());
    }

    #[test]
    fn a_query_that_holds_memory_does_not_wait_for_more() {
        let (_workspace, mut held, next) = full(Duration::from_secs(60));
        held.pop();
        let mut charge = next.charge(0);
        assert!(charge.add(1 << 19).is_ok());
        let other = grant_of(&next.workspace);
        let mut rest = other.charge(0);
        assert!(rest.add(1 << 19).is_ok());
        assert_eq!(charge.add(1 << 18).unwrap_err().number, 701);
    }

    #[test]
    fn queries_wait_in_line_and_each_gets_its_memory() {
        let (workspace, held, _) = full(Duration::from_secs(60));
        let accounts = Arc::new(sos::ledger::Accounts::default());
        let threads: Vec<_> = (0..6)
            .map(|_| {
                let workspace = Arc::clone(&workspace);
                let wait = move || {
                    let mut charge = grant_of(&workspace).charge(0);
                    charge.add(1 << 20).expect("waits for its turn");
                };
                sos::thread::spawn(&accounts, "query", wait).unwrap()
            })
            .collect();
        while workspace.now().waiting < 6 {
            std::hint::spin_loop();
        }
        drop(held);
        for thread in threads {
            thread.join().unwrap();
        }
        let now = workspace.now();
        assert_eq!((now.granted, now.used, now.holding, now.waiting), (9, 0, 0, 0));
    }

    #[test]
    fn a_cancelled_query_stops_waiting() {
        let (workspace, _held, next) = full(Duration::from_secs(60));
        next.cancel.set();
        assert!(next.charge(0).add(1).is_err());
        assert_eq!((workspace.now().waiting, workspace.now().timed_out), (0, 0));
    }
}
