//! `PackedRows`: the rows of a closed ledger in a third of the space, for the hundreds of snapshots
//! that are kept.
//!
//! The keys are shared by all snapshots with the same rows. The numbers follow each other in LEB128
//! (7 bits per byte, lowest first; the eighth bit means that more follow).

use std::sync::Arc;

use sos::ledger::{Category, LedgerRow};

/// The key of a row.
type Key = (Category, &'static str);

/// The keys of all rows.
pub(crate) type RowKeys = Arc<[Key]>;

/// Rows of a closed ledger.
#[derive(Debug)]
pub struct PackedRows {
    pub(crate) keys: RowKeys,
    pub(crate) numbers: Box<[u8]>,
}

impl PackedRows {
    /// Packs the rows of a ledger.
    pub fn of(rows: &[LedgerRow]) -> Self {
        let mut numbers = Vec::new();
        for row in rows {
            let parts = [row.on_cpu_ns, row.runnable_ns, row.blocked_ns];
            parts.iter().chain([&row.count]).for_each(|&n| put(&mut numbers, n));
            // Each part was rounded separately, so the total may differ slightly from their sum.
            let sum = parts.iter().fold(0_u64, |sum, &part| sum.wrapping_add(part));
            put(&mut numbers, folded(row.wall_ns.wrapping_sub(sum)));
            put(&mut numbers, row.error_ns.map_or(0, |error| error.saturating_add(1)));
        }
        let keys = rows.iter().map(|row| (row.category, row.name)).collect();
        Self { keys, numbers: numbers.into() }
    }

    /// Returns the original rows.
    pub fn unpack(&self) -> Vec<LedgerRow> {
        let mut left = &*self.numbers;
        let row = |&(category, name): &Key| {
            let [on_cpu_ns, runnable_ns, blocked_ns, count, rest, error] =
                std::array::from_fn(|_| take(&mut left));
            let sum = on_cpu_ns.wrapping_add(runnable_ns).wrapping_add(blocked_ns);
            LedgerRow {
                category,
                name,
                wall_ns: sum.wrapping_add(unfolded(rest)),
                on_cpu_ns,
                runnable_ns,
                blocked_ns,
                count,
                error_ns: error.checked_sub(1),
            }
        };
        let rows = self.keys.iter().map(row).collect();
        assert!(left.is_empty(), "as many numbers as were packed");
        rows
    }
}

/// Encodes a difference, which may be negative, as a number that is small if the difference is:
/// zigzag.
fn folded(difference: u64) -> u64 {
    let sign = if difference >> 63 == 1 { u64::MAX } else { 0 };
    difference << 1 ^ sign
}

fn unfolded(number: u64) -> u64 {
    number >> 1 ^ (number & 1).wrapping_neg()
}

fn put(bytes: &mut Vec<u8>, mut number: u64) {
    while number >= 0x80 {
        bytes.push(low_bits(number) | 0x80);
        number >>= 7;
    }
    bytes.push(low_bits(number));
}

fn low_bits(number: u64) -> u8 {
    u8::try_from(number & 0x7f).expect("seven bits")
}

fn take(bytes: &mut &[u8]) -> u64 {
    let (mut number, mut shift) = (0, 0);
    loop {
        let (&byte, rest) = bytes.split_first().expect("as many numbers as were packed");
        *bytes = rest;
        number |= u64::from(byte & 0x7f) << shift;
        if byte < 0x80 {
            return number;
        }
        shift += 7;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn row(name: &'static str, numbers: [u64; 5], error_ns: Option<u64>) -> LedgerRow {
        let [wall_ns, on_cpu_ns, runnable_ns, blocked_ns, count] = numbers;
        let category = Category::User;
        LedgerRow { category, name, wall_ns, on_cpu_ns, runnable_ns, blocked_ns, count, error_ns }
    }

    #[test]
    fn rows_come_out_as_they_went_in() {
        let most = u64::MAX;
        let rows = vec![
            row("none", [0; 5], None),
            row("exact", [6, 1, 2, 3, 4], Some(0)),
            row("a little less than its parts", [300, 100, 101, 101, 127], Some(127)),
            row("a little more", [1_000_000_003, 1_000_000_000, 1, 1, 128], Some(128)),
            row("largest", [most, most, most, most, most], Some(most - 1)),
            row("smallest whole", [0, most, 0, 0, 0], None),
        ];
        assert_eq!(PackedRows::of(&rows).unpack(), rows);
        assert_eq!(PackedRows::of(&[]).unpack(), []);
    }

    #[test]
    fn usual_numbers_take_a_third_of_the_room() {
        let rows: Vec<_> = (1..=100_u64)
            .map(|n| row("usual", [n << 33, n << 32, n << 30, (n << 32) - (n << 30), n], None))
            .collect();
        let packed = PackedRows::of(&rows);
        assert!(packed.numbers.len() * 3 <= size_of_val(&*rows), "{}", packed.numbers.len());
    }
}
