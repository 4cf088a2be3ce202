//! `IdentityCounter`: the next identity value of a table.
//!
//! In a table that survives restarts it reserves blocks of values in the log, as [`crate::counter`]
//! describes. So a value whose row was acknowledged is not given out again after a crash, whether
//! the row still exists or was deleted, and whether the value was burnt by a rollback or not.
//!
//! DBCC CHECKIDENT and TRUNCATE TABLE set the counter back. The log keeps the higher position until
//! their transaction commits, and a crash before that loses the reset rather than a value.

use std::sync::Arc;

use sos::lock::{SpinClass, SpinLock};
use sos::sync::{AtomicI64, Ordering};
use storage::TableId;
use types::DataType;

use super::counter::{CounterKey, CounterLog, Upto};

/// The next identity value of a table, shared by all definitions of the table.
pub struct IdentityCounter {
    next: AtomicI64,
    /// `None` for a table whose rows do not survive a restart.
    reserved: Option<Box<Reservation>>,
}

/// The values that are reserved in the log.
struct Reservation {
    log: Arc<dyn CounterLog>,
    table: TableId,
    /// Distance between two values; 1 without an identity column.
    increment: i64,
    /// Number of values in a block.
    block: i64,
    /// The first value that is not reserved.
    bound: AtomicI64,
    /// Makes reservations one at a time.
    reserving: SpinLock<()>,
}

/// How an identity counter is made.
pub struct IdentitySpec<'a> {
    /// Seed and increment; `None` without an identity column.
    pub identity: Option<(i64, i64)>,
    /// Type of the identity column.
    pub data_type: Option<&'a DataType>,
    /// Storage of the table.
    pub table: TableId,
    /// The log to reserve values in, for a table that survives restarts.
    pub log: Option<&'a Arc<dyn CounterLog>>,
}

/// Returns how many values one record in the log reserves, by type. The sizes are SQL Server's.
fn block_of(data_type: Option<&DataType>) -> i64 {
    match data_type {
        Some(DataType::TinyInt) => 10,
        Some(DataType::SmallInt) => 100,
        Some(DataType::Int) => 1_000,
        _ => 10_000,
    }
}

impl IdentityCounter {
    /// Returns a counter at its seed.
    pub fn new(spec: &IdentitySpec<'_>) -> Self {
        let (seed, increment) = spec.identity.unwrap_or((0, 1));
        let reserved = spec.log.filter(|_| spec.identity.is_some()).map(|log| {
            Box::new(Reservation {
                log: Arc::clone(log),
                table: spec.table,
                increment,
                block: block_of(spec.data_type),
                bound: AtomicI64::new(seed),
                reserving: SpinLock::new(SpinClass::ServerOther, ()),
            })
        });
        Self { next: AtomicI64::new(seed), reserved }
    }

    /// Returns the next value without taking it.
    pub fn peek(&self) -> i64 {
        // Relaxed: it orders no other memory.
        self.next.load(Ordering::Relaxed)
    }

    /// Takes the next value. Gaps are allowed, as in SQL Server.
    pub fn take(&self, increment: i64) -> i64 {
        // Relaxed: only uniqueness matters.
        let value = self.next.fetch_add(increment, Ordering::Relaxed);
        if let Some(reserved) = &self.reserved {
            reserved.cover(value, &self.next);
        }
        value
    }

    /// Goes on behind a value that a statement has given, if it is beyond the values taken so far.
    pub fn raise(&self, given: i64, increment: i64) {
        let next = given.saturating_add(increment);
        // Relaxed: the counter orders no other memory.
        if increment > 0 {
            self.next.fetch_max(next, Ordering::Relaxed);
        } else {
            self.next.fetch_min(next, Ordering::Relaxed);
        }
        if let Some(reserved) = &self.reserved {
            reserved.cover(given, &self.next);
        }
    }

    /// Goes on at a value, which may be one that was taken before. After a crash the counter goes on
    /// behind the old values, until [`Self::settle`] is called.
    pub fn set(&self, next: i64) {
        // Relaxed: the counter orders no other memory.
        self.next.store(next, Ordering::Relaxed);
    }

    /// Writes the position to the log, after the transaction that has set it has committed.
    pub fn settle(&self) {
        let Some(reserved) = &self.reserved else { return };
        let one = reserved.reserving.lock();
        reserved.reserve_from(self.peek());
        drop(one);
    }

    /// Goes on at a position read from the log.
    pub fn restore(&self, upto: Upto) {
        // Relaxed: recovery runs before the first statement.
        self.next.store(upto.next, Ordering::Relaxed);
        if let Some(reserved) = &self.reserved {
            reserved.bound.store(upto.next, Ordering::Relaxed);
        }
    }

    /// Returns the position for a checkpoint: behind the reserved values, or the exact one when the
    /// server stops. `None` for a table whose values are not logged.
    pub fn position(&self, exact: bool) -> Option<(CounterKey, Upto)> {
        let reserved = self.reserved.as_ref()?;
        let one = reserved.reserving.lock();
        let (next, bound) = (self.peek(), reserved.bound.load(Ordering::Relaxed));
        drop(one);
        let beyond = if reserved.increment > 0 { bound.max(next) } else { bound.min(next) };
        let upto = Upto::at(if exact { next } else { beyond });
        Some((CounterKey::Identity(reserved.table), upto))
    }
}

impl Reservation {
    /// Returns whether a value is reserved.
    fn has(&self, value: i64) -> bool {
        // Acquire: pairs with the Release in `reserve_from`, so that the record is in the log
        // before the row with this value.
        let bound = self.bound.load(Ordering::Acquire);
        if self.increment > 0 { value < bound } else { value > bound }
    }

    fn cover(&self, value: i64, next: &AtomicI64) {
        if !self.has(value) {
            self.cover_slowly(next);
        }
    }

    #[cold]
    fn cover_slowly(&self, next: &AtomicI64) {
        let one = self.reserving.lock();
        // Relaxed: the lock orders reservations. `next` is beyond the value, unless the counter was
        // set back since: then the value counts as taken before that.
        let next = next.load(Ordering::Relaxed);
        if !self.has(next.saturating_sub(self.increment)) {
            self.reserve_from(next);
        }
        drop(one);
    }

    /// Reserves a block; the caller holds `reserving`.
    fn reserve_from(&self, next: i64) {
        let bound = next.saturating_add(self.increment.saturating_mul(self.block));
        self.log.reserve(CounterKey::Identity(self.table), Upto::at(bound));
        // Release: pairs with the Acquire in `has`.
        self.bound.store(bound, Ordering::Release);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A log that keeps the records in order.
    struct Records(SpinLock<Vec<i64>>);

    impl CounterLog for Records {
        fn reserve(&self, _: CounterKey, upto: Upto) -> u64 {
            self.0.lock().push(upto.next);
            1
        }

        fn wait_for(&self, _: u64) {}
    }

    fn counter(identity: (i64, i64)) -> (IdentityCounter, Arc<Records>) {
        let records = Arc::new(Records(SpinLock::new(SpinClass::ServerOther, Vec::new())));
        let log: Arc<dyn CounterLog> = Arc::clone(&records) as _;
        let spec = IdentitySpec {
            identity: Some(identity),
            data_type: Some(&DataType::TinyInt),
            table: TableId(7),
            log: Some(&log),
        };
        (IdentityCounter::new(&spec), records)
    }

    #[test]
    fn the_last_record_is_beyond_every_value_given_out() {
        for (seed, increment) in [(1, 1), (100, -3), (-5, 10), (i64::MAX - 20, 1)] {
            let (counter, records) = counter((seed, increment));
            for n in 0..35_i64 {
                let Some(value) = seed.checked_add(n * increment) else { break };
                if value == i64::MAX {
                    break;
                }
                assert_eq!(counter.take(increment), value);
                let last = *records.0.lock().last().expect("a record");
                assert!(if increment > 0 { last > value } else { last < value }, "{last} {value}");
            }
            assert!(records.0.lock().len() <= 4, "a record for each block of 10");
        }
    }

    #[test]
    fn a_given_value_and_a_reset_are_logged() {
        let (counter, records) = counter((1, 1));
        assert_eq!(counter.take(1), 1);
        counter.raise(500, 1);
        assert_eq!(*records.0.lock(), [12, 511]);
        assert_eq!(counter.take(1), 501);
        counter.set(3);
        assert_eq!(counter.take(1), 3);
        assert_eq!(*records.0.lock(), [12, 511], "not committed");
        counter.settle();
        assert_eq!(counter.take(1), 4);
        assert_eq!(*records.0.lock(), [12, 511, 14]);
        assert_eq!(counter.position(false).map(|(_, upto)| upto.next), Some(14));
        assert_eq!(counter.position(true).map(|(_, upto)| upto.next), Some(5));
    }

    #[test]
    fn a_restored_counter_reserves_before_its_first_value() {
        let (counter, records) = counter((1, 1));
        counter.restore(Upto::at(40));
        assert!(records.0.lock().is_empty());
        assert_eq!(counter.take(1), 40);
        assert_eq!(*records.0.lock(), [51]);
    }
}
