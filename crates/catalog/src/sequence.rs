//! `SequenceDef`: a sequence, and the counter that all catalog versions of it share.

use std::sync::Arc;

use sos::lock::{SpinClass, SpinLock};
use sos::sync::{AtomicBool, AtomicI64, Ordering};
use types::{DataType, Decimal, Error, Msg, Result, Value};

use super::counter::{CounterKey, CounterLog, Upto};

/// CACHE of a sequence declared without a size, as in SQL Server.
const CACHE_DEFAULT: i64 = 50;

/// A sequence of integers.
#[derive(Clone, Debug)]
pub struct SequenceDef {
    /// `object_id`, unique in the instance.
    pub id: i32,
    /// Name of its schema.
    pub schema: String,
    /// Name in the spelling of CREATE.
    pub name: String,
    /// Integer or `decimal` type of its values.
    pub data_type: DataType,
    /// START WITH, or the value of the last RESTART.
    pub start: i64,
    /// INCREMENT BY; negative for a descending sequence.
    pub increment: i64,
    /// MINVALUE: smallest value it returns.
    pub minimum: i64,
    /// MAXVALUE: largest value it returns.
    pub maximum: i64,
    /// CYCLE: starts again after the last value.
    pub cycle: bool,
    /// CACHE or NO CACHE: how many values one record in the log reserves.
    pub cache: SequenceCache,
    /// Holds the next value.
    pub counter: Arc<Counter>,
}

/// The CACHE option: how many numbers a sequence may lose when the server stops.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum SequenceCache {
    /// No size given: SQL Server chooses one.
    #[default]
    Default,
    /// `CACHE n`: the number of values.
    Numbers(i32),
    /// `NO CACHE`: SQL Server writes each value to disk.
    Off,
}

/// The next value of a sequence. It is not transactional: a value is never returned twice.
///
/// With a log, values are taken one at a time under a lock, from a block that is reserved in the
/// log. The reply that contains a value waits until its block is durable, because no commit may
/// depend on the value.
#[derive(Debug)]
pub struct Counter {
    /// Unique in the instance. RESTART makes another counter with another key, so that a rollback
    /// finds the old position.
    key: i32,
    next: AtomicI64,
    exhausted: AtomicBool,
    reserved: Option<Reserved>,
}

/// The values that are reserved in the log.
struct Reserved {
    log: Arc<dyn CounterLog>,
    block: SpinLock<Block>,
}

impl std::fmt::Debug for Reserved {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Reserved").finish_non_exhaustive()
    }
}

/// A block of values that the log has.
struct Block {
    /// Number of values that are left in it.
    left: i64,
    /// Where the sequence goes on after a crash.
    upto: Upto,
    /// Epoch of the record.
    epoch: u64,
    /// The rules that `upto` was computed by: ALTER SEQUENCE makes others.
    rules: Rules,
}

/// What determines the order of a sequence's values.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Rules {
    increment: i64,
    minimum: i64,
    maximum: i64,
    cycle: bool,
}

impl Rules {
    /// Returns the position after `count` values more.
    fn after(self, from: Upto, count: i64) -> Upto {
        if from.exhausted {
            return from;
        }
        let ends = |from: i64, steps: i128| {
            let last = i128::from(from) + i128::from(self.increment) * steps;
            i64::try_from(last).ok().filter(|last| (self.minimum..=self.maximum).contains(last))
        };
        if let Some(next) = ends(from.next, i128::from(count)) {
            return Upto::at(next);
        }
        let size = i128::from(self.increment.unsigned_abs());
        let (first, last) = match self.increment > 0 {
            true => (self.minimum, self.maximum),
            false => (self.maximum, self.minimum),
        };
        let left = (i128::from(last) - i128::from(from.next)).abs() / size;
        if !self.cycle {
            return Upto { next: ends(from.next, left).unwrap_or(from.next), exhausted: true };
        }
        let cycle = (i128::from(self.maximum) - i128::from(self.minimum)) / size + 1;
        let steps = (i128::from(count) - left - 1) % cycle;
        Upto::at(ends(first, steps).unwrap_or(first))
    }
}

impl Counter {
    /// Returns a counter that begins with a value. `key` is unique in the instance. `log` is `None`
    /// for a sequence that does not survive restarts.
    pub fn new(key: i32, start: i64, log: Option<&Arc<dyn CounterLog>>) -> Self {
        let rules = Rules { increment: 0, minimum: 0, maximum: 0, cycle: false };
        let block = Block { left: 0, upto: Upto::at(start), epoch: 0, rules };
        let reserved = log.map(|log| Reserved {
            log: Arc::clone(log),
            block: SpinLock::new(SpinClass::ServerOther, block),
        });
        let (next, exhausted) = (AtomicI64::new(start), AtomicBool::new(false));
        Self { key, next, exhausted, reserved }
    }

    /// Returns the number by which the counter differs from others of the instance.
    pub fn number(&self) -> i32 {
        self.key
    }

    /// Returns the counter's name in the log.
    pub fn key(&self) -> CounterKey {
        CounterKey::Sequence(self.key)
    }

    /// Returns the next value without taking it.
    pub fn peek(&self) -> i64 {
        // Relaxed: only shown in a view.
        self.next.load(Ordering::Relaxed)
    }

    fn is_exhausted(&self) -> bool {
        // Relaxed: only shown in a view.
        self.exhausted.load(Ordering::Relaxed)
    }

    fn now(&self) -> Upto {
        Upto { next: self.peek(), exhausted: self.is_exhausted() }
    }

    /// Goes on at a position read from the log.
    pub fn restore(&self, upto: Upto) {
        // Relaxed: recovery runs before the first statement.
        self.next.store(upto.next, Ordering::Relaxed);
        self.exhausted.store(upto.exhausted, Ordering::Relaxed);
        if let Some(reserved) = &self.reserved {
            reserved.block.lock().upto = upto;
        }
    }

    /// Writes the position to the log, so that a crash before the next value does not set it back.
    pub fn settle(&self) {
        let Some(reserved) = &self.reserved else { return };
        let mut block = reserved.block.lock();
        let now = self.now();
        block.left = 0;
        block.epoch = reserved.log.reserve(self.key(), now);
        block.upto = now;
    }

    /// Returns the position for a checkpoint: behind the reserved block, or the exact one when the
    /// server stops. `None` without a log.
    pub fn position(&self, exact: bool) -> Option<(CounterKey, Upto)> {
        let reserved = self.reserved.as_ref()?;
        let upto = if exact { self.now() } else { reserved.block.lock().upto };
        Some((self.key(), upto))
    }
}

impl SequenceDef {
    /// Takes the next value.
    ///
    /// # Errors
    /// 11728 when all values have been taken and the sequence does not cycle.
    pub fn take(&self) -> Result<Value> {
        self.within_block(1, || self.take_next())
    }

    fn rules(&self) -> Rules {
        let Self { increment, minimum, maximum, cycle, .. } = *self;
        Rules { increment, minimum, maximum, cycle }
    }

    /// Returns how many values one record in the log reserves.
    fn block_length(&self) -> i64 {
        match self.cache {
            SequenceCache::Default => CACHE_DEFAULT,
            SequenceCache::Numbers(count) => i64::from(count).max(1),
            SequenceCache::Off => 1,
        }
    }

    /// Takes `count` values by `take`, all of them from a block that is reserved in the log.
    fn within_block<T>(&self, count: i64, take: impl FnOnce() -> Result<T>) -> Result<T> {
        let Some(reserved) = &self.counter.reserved else { return take() };
        let rules = self.rules();
        let mut block = reserved.block.lock();
        if block.left < count || block.rules != rules {
            let length = count.max(self.block_length());
            let upto = rules.after(self.counter.now(), length);
            let epoch = reserved.log.reserve(self.counter.key(), upto);
            *block = Block { left: length, upto, epoch, rules };
        }
        let taken = take();
        if taken.is_ok() {
            block.left -= count;
        }
        let epoch = block.epoch;
        drop(block);
        reserved.log.wait_for(epoch);
        taken
    }

    fn take_next(&self) -> Result<Value> {
        let counter = &*self.counter;
        loop {
            // Relaxed throughout: only uniqueness is needed.
            let current = counter.next.load(Ordering::Relaxed);
            let following = current
                .checked_add(self.increment)
                .filter(|next| (self.minimum..=self.maximum).contains(next));
            let wrapped = if self.increment > 0 { self.minimum } else { self.maximum };
            let next = match following {
                Some(next) => next,
                None if self.cycle => wrapped,
                // The last value goes to the thread that sets the flag.
                None if counter.exhausted.swap(true, Ordering::Relaxed) => {
                    return Err(Msg::SequenceExhausted(&self.name).into());
                }
                None => return Ok(self.value(current)),
            };
            let swapped =
                counter.next.compare_exchange(current, next, Ordering::Relaxed, Ordering::Relaxed);
            if swapped.is_ok() {
                return Ok(self.value(current));
            }
        }
    }

    /// Takes `count` values at once; returns the first, the last and the number of times it
    /// restarted in between.
    ///
    /// # Errors
    /// 11732 if fewer values are left and the sequence does not cycle.
    pub fn take_range(&self, count: i64) -> Result<(i64, i64, i32)> {
        self.within_block(count, || self.take_next_range(count))
    }

    fn take_next_range(&self, count: i64) -> Result<(i64, i64, i32)> {
        let counter = &*self.counter;
        let ends = |from: i64, steps: i64| {
            let last = i128::from(from) + i128::from(self.increment) * i128::from(steps);
            i64::try_from(last).ok().filter(|last| (self.minimum..=self.maximum).contains(last))
        };
        let wrapped = if self.increment > 0 { self.minimum } else { self.maximum };
        let per_cycle = 1
            + (i128::from(self.maximum) - i128::from(self.minimum))
                / i128::from(self.increment.unsigned_abs());
        loop {
            // Relaxed throughout: only uniqueness is needed.
            let first = counter.next.load(Ordering::Relaxed);
            let exceeded = || Error::from(Msg::SequenceRange(&self.name));
            if self.is_exhausted() {
                return Err(exceeded());
            }
            let (last, cycles) = match ends(first, count - 1) {
                Some(last) => (last, 0),
                None if !self.cycle => return Err(exceeded()),
                None => {
                    let left = if self.increment > 0 {
                        self.maximum - first
                    } else {
                        first - self.minimum
                    };
                    let here = i128::from(left) / i128::from(self.increment.unsigned_abs()) + 1;
                    let beyond = i128::from(count) - here - 1;
                    let steps = i64::try_from(beyond % per_cycle).unwrap_or(0);
                    let cycles = i32::try_from(beyond / per_cycle + 1).unwrap_or(i32::MAX);
                    (ends(wrapped, steps).unwrap_or(wrapped), cycles)
                }
            };
            let next = ends(last, 1).or(self.cycle.then_some(wrapped));
            let next_or_last = next.unwrap_or(last);
            let swapped = counter.next.compare_exchange(
                first,
                next_or_last,
                Ordering::Relaxed,
                Ordering::Relaxed,
            );
            // The very last value goes to the thread that sets the flag.
            if swapped.is_ok()
                && (next.is_some() || !counter.exhausted.swap(true, Ordering::Relaxed))
            {
                return Ok((first, last, cycles));
            }
        }
    }

    /// Returns the last value taken, computed from the counter; `None` after a (re)start.
    pub fn last(&self) -> Option<i64> {
        let next = self.counter.peek();
        if self.is_exhausted() {
            return Some(next);
        }
        let last = next.checked_sub(self.increment)?;
        (next != self.start && (self.minimum..=self.maximum).contains(&last)).then_some(last)
    }

    /// Returns whether all values have been taken.
    pub fn is_exhausted(&self) -> bool {
        self.counter.is_exhausted()
    }

    /// Returns a number as a `sql_variant` of the sequence's type.
    pub fn variant(&self, number: i64) -> Value {
        let ty = types::value::ColumnType::nullable(self.data_type);
        Value::Variant(Box::new((self.value(number), ty)))
    }

    /// Returns a number as a value of the sequence's type.
    fn value(&self, n: i64) -> Value {
        match self.data_type {
            DataType::TinyInt => u8::try_from(n).map_or(Value::Null, Value::TinyInt),
            DataType::SmallInt => i16::try_from(n).map_or(Value::Null, Value::SmallInt),
            DataType::Int => i32::try_from(n).map_or(Value::Null, Value::Int),
            DataType::Decimal { precision, scale } => {
                Value::Decimal(Decimal::new(i128::from(n), precision, scale))
            }
            _ => Value::BigInt(n),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn sequence(start: i64, increment: i64, cycle: bool) -> SequenceDef {
        SequenceDef {
            id: 1,
            schema: "dbo".to_owned(),
            name: "s".to_owned(),
            data_type: DataType::Int,
            start,
            increment,
            minimum: 1,
            maximum: 3,
            cycle,
            cache: SequenceCache::Default,
            counter: Arc::new(Counter::new(1, start, None)),
        }
    }

    #[test]
    fn a_sequence_ends_or_cycles_at_its_bounds() {
        let up = sequence(2, 1, false);
        assert_eq!((up.take(), up.take()), (Ok(Value::Int(2)), Ok(Value::Int(3))));
        assert_eq!(up.take().unwrap_err().number, 11_728);
        let down = sequence(2, -1, true);
        let given: Vec<_> = (0..4).map(|_| down.take().unwrap()).collect();
        assert_eq!(given, [2, 1, 3, 2].map(Value::Int));
    }
}
