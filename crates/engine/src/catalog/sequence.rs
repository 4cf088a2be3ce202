//! `SequenceDef`: a sequence and the counter behind it, which all its definitions share.

use std::sync::Arc;

use sos::sync::{AtomicBool, AtomicI64, Ordering};
use types::{DataType, Decimal, Msg, Result, Value};

/// A sequence.
#[derive(Clone, Debug)]
pub struct SequenceDef {
    /// `object_id`
    pub id: i32,
    /// Schema's name.
    pub schema: String,
    /// Its name as created.
    pub name: String,
    /// Integer type.
    pub data_type: DataType,
    /// START WITH, or where it was restarted.
    pub start: i64,
    /// INCREMENT BY.
    pub increment: i64,
    /// MINVALUE.
    pub minimum: i64,
    /// MAXVALUE.
    pub maximum: i64,
    /// CYCLE.
    pub cycle: bool,
    /// What it gives next.
    pub counter: Arc<Counter>,
}

/// What a sequence gives next. It is outside of transactions: a value given is not given again.
#[derive(Debug)]
pub struct Counter {
    next: AtomicI64,
    exhausted: AtomicBool,
}

impl Counter {
    /// Makes one that begins with a value.
    pub fn new(start: i64) -> Self {
        Self { next: AtomicI64::new(start), exhausted: AtomicBool::new(false) }
    }

    /// Returns the value that comes next.
    pub fn peek(&self) -> i64 {
        // Relaxed: a statistic.
        self.next.load(Ordering::Relaxed)
    }
}

impl SequenceDef {
    /// Takes the next value.
    ///
    /// # Errors
    /// 11728 when all have been given and the sequence does not cycle.
    pub fn take(&self) -> Result<Value> {
        let counter = &*self.counter;
        loop {
            // Relaxed throughout: only uniqueness is asked for.
            let current = counter.next.load(Ordering::Relaxed);
            let following = current
                .checked_add(self.increment)
                .filter(|next| (self.minimum..=self.maximum).contains(next));
            let wrapped = if self.increment > 0 { self.minimum } else { self.maximum };
            let next = match following {
                Some(next) => next,
                None if self.cycle => wrapped,
                // The last value: whoever sets the flag has it.
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

    /// Returns the last value given, as far as the counter tells.
    pub(crate) fn last(&self) -> Option<i64> {
        let next = self.counter.peek();
        if self.is_exhausted() {
            return Some(next);
        }
        let last = next.checked_sub(self.increment)?;
        (next != self.start && (self.minimum..=self.maximum).contains(&last)).then_some(last)
    }

    /// Tells whether all values have been given.
    pub(crate) fn is_exhausted(&self) -> bool {
        // Relaxed: a statistic.
        self.counter.exhausted.load(Ordering::Relaxed)
    }

    /// Makes a `sql_variant` of the sequence's type.
    pub(crate) fn variant(&self, number: i64) -> Value {
        let ty = types::value::ColumnType::nullable(self.data_type);
        Value::Variant(Box::new((self.value(number), ty)))
    }

    /// Makes a value of the sequence's type.
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
