//! `SequenceDef`: a sequence, and the counter that all catalog versions of it share.

use std::sync::Arc;

use sos::sync::{AtomicBool, AtomicI64, Ordering};
use types::{DataType, Decimal, Error, Msg, Result, Value};

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
    /// CACHE or NO CACHE. Only shown, since the counter is in memory.
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
#[derive(Debug)]
pub struct Counter {
    next: AtomicI64,
    exhausted: AtomicBool,
}

impl Counter {
    /// Returns a counter that begins with a value.
    pub fn new(start: i64) -> Self {
        Self { next: AtomicI64::new(start), exhausted: AtomicBool::new(false) }
    }

    /// Returns the next value without taking it.
    pub fn peek(&self) -> i64 {
        // Relaxed: only shown in a view.
        self.next.load(Ordering::Relaxed)
    }
}

impl SequenceDef {
    /// Takes the next value.
    ///
    /// # Errors
    /// 11728 when all values have been taken and the sequence does not cycle.
    pub fn take(&self) -> Result<Value> {
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
        // Relaxed: only shown in a view.
        self.counter.exhausted.load(Ordering::Relaxed)
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
            counter: Arc::new(Counter::new(start)),
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
