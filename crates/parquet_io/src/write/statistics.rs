//! The statistics of a chunk: minimum, maximum and number of NULLs.

use super::shape::Shape;
use super::thrift::Structure;
use super::value::compare;
use crate::schema::{Meaning, Physical};

/// The longest bound in the footer, in bytes; longer ones are cut.
const BOUND_BYTES_MAX: usize = 64;

/// Statistics collected so far.
#[derive(Clone, Debug, Default)]
pub(super) struct Statistics {
    nulls: u64,
    bounds: Option<(Vec<u8>, Vec<u8>)>,
    /// The minimum and maximum order keys of numbers that are not in `bounds` yet.
    numbers: Option<(i64, i64)>,
}

impl Statistics {
    pub(super) fn see_null(&mut self) {
        self.nulls += 1;
    }

    /// Adds a number, given as its bits.
    pub(super) fn see_number(&mut self, number: i64, shape: &Shape) {
        let key = key(number, shape.physical);
        let (least, greatest) = self.numbers.unwrap_or((key, key));
        self.numbers = Some((least.min(key), greatest.max(key)));
    }

    /// Moves the numbers of [`Self::see_number`] to the bounds.
    pub(super) fn settle(&mut self, shape: &Shape) {
        let Some((least, greatest)) = self.numbers.take() else { return };
        let width = if matches!(shape.physical, Physical::Int32 | Physical::Float) { 4 } else { 8 };
        for bound in [least, greatest] {
            self.see(&key(bound, shape.physical).to_le_bytes()[..width], shape);
        }
    }

    /// Adds a value in its physical form.
    pub(super) fn see(&mut self, value: &[u8], shape: &Shape) {
        let Some((least, greatest)) = &mut self.bounds else {
            self.bounds = Some((value.to_vec(), value.to_vec()));
            return;
        };
        let kind = (shape.physical, shape.meaning);
        if compare(kind, value, least).is_lt() {
            least.clear();
            least.extend_from_slice(value);
        } else if compare(kind, value, greatest).is_gt() {
            greatest.clear();
            greatest.extend_from_slice(value);
        }
    }

    /// Writes the `Statistics` structure of the format.
    pub(super) fn describe(&self, shape: &Shape, to: &mut Structure) {
        to.count(3, self.nulls);
        let Some((least, greatest)) = &self.bounds else { return };
        let (mut least, mut greatest) = (least.clone(), Some(greatest.clone()));
        match shape.physical {
            // "If the computed min value is 0.0, -0.0 has to be written, and for max +0.0."
            Physical::Float | Physical::Double => widen_zero(&mut least, greatest.as_mut()),
            Physical::Bytes => {
                greatest = greatest.and_then(|greatest| cut_up(greatest, shape.meaning));
                cut(&mut least, shape.meaning);
            }
            Physical::Boolean
            | Physical::Int32
            | Physical::Int64
            | Physical::Int96
            | Physical::Fixed(_) => {}
        }
        let is_exact = |bound: &[u8], own: &[u8]| bound == own;
        let Some((own_least, own_greatest)) = &self.bounds else { return };
        if let Some(greatest) = &greatest {
            to.binary(5, greatest);
        }
        to.binary(6, &least);
        if let Some(greatest) = &greatest
            && shape.physical == Physical::Bytes
        {
            to.flag(7, is_exact(greatest, own_greatest));
        }
        if shape.physical == Physical::Bytes {
            to.flag(8, is_exact(&least, own_least));
        }
    }
}

/// Converts the bits of a number to a key that orders as the numbers do, and back. Negative floats
/// are inverted.
fn key(bits: i64, physical: Physical) -> i64 {
    let below_zero = match physical {
        Physical::Float => i64::from(i32::MAX),
        Physical::Double => i64::MAX,
        Physical::Boolean
        | Physical::Int32
        | Physical::Int64
        | Physical::Int96
        | Physical::Bytes
        | Physical::Fixed(_) => 0,
    };
    if bits < 0 { bits ^ below_zero } else { bits }
}

fn widen_zero(least: &mut [u8], greatest: Option<&mut Vec<u8>>) {
    if is_zero(least)
        && let Some(last) = least.last_mut()
    {
        *last = 0x80;
    }
    if let Some(greatest) = greatest
        && is_zero(greatest)
        && let Some(last) = greatest.last_mut()
    {
        *last = 0;
    }
}

fn is_zero(bytes: &[u8]) -> bool {
    bytes.split_last().is_some_and(|(last, rest)| last & 0x7F == 0 && rest.iter().all(|b| *b == 0))
}

/// Shortens a lower bound: cutting only makes it lower.
fn cut(bound: &mut Vec<u8>, meaning: Meaning) {
    if bound.len() > BOUND_BYTES_MAX {
        bound.truncate(whole_characters(bound, meaning));
    }
}

/// Shortens an upper bound, which must become higher: the last character that can be is
/// incremented. `None` if none can be.
fn cut_up(mut bound: Vec<u8>, meaning: Meaning) -> Option<Vec<u8>> {
    if bound.len() <= BOUND_BYTES_MAX {
        return Some(bound);
    }
    bound.truncate(whole_characters(&bound, meaning));
    while let Some(last) = bound.pop() {
        // In text only a one-byte character is incremented, to another one-byte character.
        let most = if meaning == Meaning::Text { 0x7F } else { 0xFF };
        if last < most {
            bound.push(last + 1);
            return Some(bound);
        }
    }
    None
}

fn whole_characters(bound: &[u8], meaning: Meaning) -> usize {
    let is_start = |at: &usize| meaning != Meaning::Text || bound[*at] & 0xC0 != 0x80;
    (0..=BOUND_BYTES_MAX).rev().find(is_start).unwrap_or(0)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn long_bounds_are_cut_and_stay_bounds() {
        let long = [b'a'; 80].to_vec();
        let mut least = long.clone();
        cut(&mut least, Meaning::Text);
        assert!(least < long && least.len() == 64);
        let greatest = cut_up(long.clone(), Meaning::Text).unwrap();
        assert!(greatest > long && greatest.len() == 64);
        assert_eq!(cut_up(vec![0xFF; 80], Meaning::Plain), None);
        assert_eq!(cut_up([vec![1], vec![0xFF; 80]].concat(), Meaning::Plain), Some(vec![2]));
    }

    #[test]
    fn keys_order_floats_as_numbers() {
        let floats = [f64::MIN, -1.5, -0.0, 0.0, f64::MIN_POSITIVE, 2.5, f64::MAX];
        let keys = floats.map(|n| key(n.to_bits().cast_signed(), Physical::Double));
        assert!(keys.is_sorted(), "{keys:?}");
        assert_eq!(
            keys.map(|k| key(k, Physical::Double)),
            floats.map(|n| n.to_bits().cast_signed())
        );
        let floats = [f32::MIN, -1.5, -0.0, 0.0, f32::MIN_POSITIVE, 2.5, f32::MAX];
        let bits = floats.map(|n| i64::from(n.to_bits().cast_signed()));
        let keys = bits.map(|n| key(n, Physical::Float));
        assert!(keys.is_sorted(), "{keys:?}");
        assert_eq!(keys.map(|k| key(k, Physical::Float)), bits);
    }

    #[test]
    fn a_cut_is_between_characters() {
        let text = "é".repeat(40);
        let mut least = format!("x{text}").into_bytes();
        cut(&mut least, Meaning::Text);
        assert_eq!((least.len(), std::str::from_utf8(&least).is_ok()), (63, true));
        let greatest = cut_up(format!("x{text}").into_bytes(), Meaning::Text).unwrap();
        assert_eq!(greatest, b"y");
    }
}
