//! Sums and counts of many rows in few groups.
//!
//! Adding a row to the total that the row before was added to waits until that total is stored. So
//! there are several totals of each group, which take turns; they are added up after the batch. The
//! totals of a batch are 64 bits wide, which is enough if no number of it is large.

use types::batch::Selection;

use super::total::Groups;

/// Most groups whose totals are kept several times.
const GROUPS_MAX: usize = 64;
/// Totals of a group that take turns.
const TURNS: usize = 4;
/// Rows from which on a batch is worth the adding up.
const ROWS_MIN: usize = if cfg!(debug_assertions) { 8 } else { 256 };
/// Bits of a small number without its sign. A batch has at most 2^16 rows, so their sum fits 64 bits.
const SMALL_BITS: u32 = 46;

/// No sum of the small numbers of a batch is greater.
pub(super) const SUM_MAX: u128 = 1 << 62;

/// The total of a group, and the number of rows in it.
#[derive(Clone, Copy, Default)]
struct Part {
    total: i64,
    rows: i64,
}

/// Returns whether the rows of a batch should be added here.
pub(super) fn is_worthwhile(groups: Groups<'_>) -> bool {
    groups.len <= GROUPS_MAX && groups.selection.len() >= ROWS_MIN
}

/// Returns whether all selected numbers are small: `bits` returns the bits of a number that differ
/// from its sign, see [`bits_of`].
pub(super) fn are_small(selection: &Selection, bits: impl Fn(usize) -> u64) -> bool {
    let mut all = 0;
    selection.for_each(|row| all |= bits(row));
    all >> SMALL_BITS == 0
}

/// Returns the bits of a number that differ from its sign.
#[inline]
pub(super) const fn bits_of(word: i64) -> u64 {
    (word ^ word >> 63).cast_unsigned()
}

/// Adds the small number of each selected row to its group, and passes the total and the number of
/// rows of each group that has any to `see`.
pub(super) fn add(
    groups: Groups<'_>,
    word: impl Fn(usize) -> i64,
    mut see: impl FnMut(usize, i64, i64),
) {
    let mut parts = [[Part::default(); TURNS]; GROUPS_MAX];
    let mut turn = 0;
    groups.selection.for_each(|row| {
        let part = &mut parts[groups.numbers[row] as usize % GROUPS_MAX][turn % TURNS];
        part.total += word(row);
        part.rows += 1;
        turn += 1;
    });
    for (group, parts) in parts.iter().enumerate().take(groups.len) {
        let total = parts.iter().map(|part| part.total).sum();
        let rows = parts.iter().map(|part| part.rows).sum();
        if rows > 0 {
            see(group, total, rows);
        }
    }
}

/// Adds the number of selected rows of each group to `rows`.
pub(super) fn count(groups: Groups<'_>, rows: &mut [i64]) {
    let mut parts = [[0_i64; TURNS]; GROUPS_MAX];
    let mut turn = 0;
    groups.selection.for_each(|row| {
        parts[groups.numbers[row] as usize % GROUPS_MAX][turn % TURNS] += 1;
        turn += 1;
    });
    for (rows, parts) in rows.iter_mut().zip(&parts).take(groups.len) {
        *rows += parts.iter().sum::<i64>();
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn totals_are_those_of_a_plain_loop() {
        let numbers: Vec<u32> = (0..1_000).map(|row| row * row % 64).collect();
        let largest = (1_i64 << SMALL_BITS) - 1;
        let words: Vec<i64> =
            (0..1_000).map(|row| largest - row * 7).map(|word| word * (word % 3 - 1)).collect();
        let mut some = Selection::default();
        some.filter(&Selection::all(1_000), |row| row % 5 != 3);
        for selection in [Selection::all(1_000), some] {
            let groups = Groups { numbers: &numbers, selection: &selection, len: 64 };
            assert!(is_worthwhile(groups) && are_small(&selection, |row| bits_of(words[row])));
            let (mut totals, mut counts) = ([0_i128; 64], [0_i64; 64]);
            selection.for_each(|row| {
                totals[numbers[row] as usize] += i128::from(words[row]);
                counts[numbers[row] as usize] += 1;
            });
            let (mut found, mut rows) = ([0_i128; 64], [0_i64; 64]);
            add(
                groups,
                |row| words[row],
                |group, total, count| {
                    found[group] = i128::from(total);
                    rows[group] = count;
                },
            );
            assert_eq!((found, rows), (totals, counts));
            rows = [0; 64];
            count(groups, &mut rows);
            assert_eq!(rows, counts);
        }
    }

    #[test]
    fn number_of_more_bits_is_not_small() {
        let end = 1_i64 << SMALL_BITS;
        for (word, is_small) in [(end - 1, true), (end, false), (-end, true), (-end - 1, false)] {
            assert_eq!(are_small(&Selection::all(1), |_| bits_of(word)), is_small, "{word}");
        }
        assert!(!are_small(&Selection::all(1), |_| bits_of(i64::MIN)));
        // 2^16 of the largest numbers.
        assert!((u128::from(end.unsigned_abs()) << 16) <= SUM_MAX);
    }
}
