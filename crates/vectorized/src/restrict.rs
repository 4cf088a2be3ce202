//! Restrictions: a hash join passes the set of its built side's keys to the scans of the other side
//! before they run.
//!
//! A scan that has the keys drops most rows after reading one column, and decodes the others only
//! for rows with a match: a join with a few parts reads a few rows of the order lines. The join
//! tests the remaining rows again, so a restriction may let rows pass that it could drop; it never
//! drops a row that could match.
//!
//! An operator passes a restriction down only where this has no visible effect: a row that is
//! dropped early must not suppress an error or a warning.

use std::sync::Arc;

use types::DataType;
use types::batch::{Data, Selection, Vector};

use super::table::hash;
use plan::expr::Register;

/// A column and the values that can match: rows with another value, or NULL, may be skipped.
#[derive(Clone)]
pub(super) struct Restriction {
    pub(super) register: Register,
    pub(super) keys: Arc<KeyFilter>,
}

/// A set of keys of one word each. May contain a few keys too many, never too few.
pub(super) struct KeyFilter {
    /// The least key, if bits are indexed by key; `None` if they are indexed by hash.
    first: Option<u64>,
    bits: Vec<u64>,
}

/// Bits per key when indexed by hash: one row in twelve passes wrongly.
const BITS_PER_KEY: usize = 12;
/// Most bits per key when indexed by key.
const SPREAD_MAX: u64 = 64;
/// Most keys of a restriction.
const KEYS_MAX: usize = 1 << 22;

/// Returns true if columns of a type can be restricted: its keys are one word each, see `keys.rs`.
pub(super) const fn is_restrictable(of: &DataType) -> bool {
    matches!(
        of,
        DataType::TinyInt | DataType::SmallInt | DataType::Int | DataType::BigInt | DataType::Date
    )
}

impl KeyFilter {
    /// Makes a filter of keys; `None` if there are more than [`KEYS_MAX`].
    pub(super) fn new(keys: impl ExactSizeIterator<Item = u64> + Clone) -> Option<Self> {
        let len = keys.len();
        if len > KEYS_MAX {
            return None;
        }
        let (first, last) =
            keys.clone().fold((u64::MAX, 0), |(first, last), key| (key.min(first), key.max(last)));
        let spread = last.saturating_sub(first);
        let count = u64::try_from(len).unwrap_or(u64::MAX);
        let is_dense = spread / SPREAD_MAX <= count;
        let wanted = if is_dense { place(spread) + 1 } else { len * BITS_PER_KEY };
        let words = wanted.div_ceil(64);
        let words = if is_dense { words } else { words.next_power_of_two() };
        let mut filter = Self { first: is_dense.then_some(first), bits: vec![0; words] };
        for key in keys {
            let bit = filter.bit(key);
            filter.bits[bit / 64] |= 1 << (bit % 64);
        }
        Some(filter)
    }

    /// Returns its memory, in bytes.
    pub(super) const fn memory(&self) -> usize {
        size_of::<u64>() * self.bits.len()
    }

    #[inline]
    fn bit(&self, key: u64) -> usize {
        match self.first {
            Some(first) => place(key.wrapping_sub(first)),
            None => place(hash(&[key])) & (self.bits.len() * 64 - 1),
        }
    }

    #[inline]
    fn may_hold(&self, key: u64) -> bool {
        let bit = self.bit(key);
        self.bits.get(bit / 64).is_some_and(|word| word >> (bit % 64) & 1 != 0)
    }

    /// Selects the rows whose value may be one of the keys; all rows if the vector's values are not
    /// words.
    pub(super) fn select(&self, vector: &Vector, rows: &Selection, out: &mut Selection) {
        match vector.data() {
            Data::TinyInt(of) => out.filter(rows, |row| self.may_hold(u64::from(of[row]))),
            Data::SmallInt(of) => {
                out.filter(rows, |row| self.may_hold(u64::from(of[row].cast_unsigned())));
            }
            Data::Int(of) | Data::Date(of) => {
                out.filter(rows, |row| self.may_hold(u64::from(of[row].cast_unsigned())));
            }
            Data::BigInt(of) => out.filter(rows, |row| self.may_hold(of[row].cast_unsigned())),
            _ => out.copy_from(rows),
        }
    }
}

/// Appends the keys of the selected rows, and an arbitrary one for NULL; `false`, and nothing is
/// done, if the vector's values are not words.
pub(super) fn push_words(vector: &Vector, rows: &Selection, to: &mut Vec<u64>) -> bool {
    match vector.data() {
        Data::TinyInt(of) => rows.for_each(|row| to.push(u64::from(of[row]))),
        Data::SmallInt(of) => rows.for_each(|row| to.push(u64::from(of[row].cast_unsigned()))),
        Data::Int(of) | Data::Date(of) => {
            rows.for_each(|row| to.push(u64::from(of[row].cast_unsigned())));
        }
        Data::BigInt(of) => rows.for_each(|row| to.push(of[row].cast_unsigned())),
        _ => return false,
    }
    true
}

#[inline]
fn place(word: u64) -> usize {
    usize::try_from(word).unwrap_or(usize::MAX)
}

#[cfg(test)]
mod tests {
    use types::Value;

    use super::*;

    /// Returns the positions of `values` that a filter of `keys` lets pass.
    fn passing(keys: &[i32], values: &[i32]) -> Vec<usize> {
        let words: Vec<u64> = keys.iter().map(|key| u64::from(key.cast_unsigned())).collect();
        let filter = KeyFilter::new(words.iter().copied()).expect("a few keys");
        let mut vector = Vector::of_type(&DataType::Int);
        values.iter().for_each(|value| vector.push(&Value::Int(*value)));
        let mut out = Selection::default();
        filter.select(&vector, &Selection::all(values.len()), &mut out);
        out.iter().collect()
    }

    #[test]
    fn words_of_rows_are_the_keys_that_pass() {
        let values = [3, -7, i32::MAX, 40];
        let mut vector = Vector::of_type(&DataType::Int);
        values.iter().for_each(|value| vector.push(&Value::Int(*value)));
        let mut rows = Selection::default();
        rows.filter(&Selection::all(4), |row| row != 2);
        let mut words = Vec::new();
        assert!(push_words(&vector, &rows, &mut words));
        let filter = KeyFilter::new(words.iter().copied()).expect("a few keys");
        let mut out = Selection::default();
        filter.select(&vector, &Selection::all(4), &mut out);
        assert_eq!(out.iter().collect::<Vec<_>>(), [0, 1, 3]);
        assert!(!push_words(&Vector::of_type(&DataType::Float), &rows, &mut words));
        assert_eq!(words.len(), 3);
    }

    #[test]
    fn keys_close_to_each_other_pass_and_no_others() {
        assert_eq!(passing(&[5, 9, 70], &[4, 5, 6, 9, 69, 70, 71, -1]), [1, 3, 5]);
        assert_eq!(passing(&[], &[0, 1, -1]), [0_usize; 0]);
    }

    #[test]
    fn keys_far_from_each_other_pass_and_few_others() {
        let keys: Vec<i32> = (0..1_000).map(|n| n * 1_000_003 % 2_000_000_011).collect();
        assert_eq!(passing(&keys, &keys).len(), keys.len());
        let others: Vec<i32> = keys.iter().map(|key| key + 1).collect();
        assert!(passing(&keys, &others).len() < keys.len() / 5);
        assert_eq!(passing(&[i32::MIN, -1, i32::MAX], &[-1, i32::MIN]), [0, 1]);
    }
}
