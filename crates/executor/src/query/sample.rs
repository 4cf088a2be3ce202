//! TABLESAMPLE: selects the part of a table that a scan returns.
//!
//! SQL Server samples whole pages of 8 KB. Rows here have no pages, but fixed positions:
//! [`PAGE_ROWS`] consecutive positions count as a page, and a hash of its number and the seed
//! decides whether it is taken. A row's position does not depend on the access path, so a seed
//! selects the same rows by any path, as long as the rows stay where they are.

use storage::columnstore::Place;
use storage::{RowId, Table};

use crate::Cx;
use plan::query::{SampleSize, Scan, sample_portion};

/// Row positions per page.
const PAGE_ROWS: u64 = 64;

/// The pages that a scan takes.
#[derive(Clone, Copy)]
pub(super) struct Sampling {
    /// Pages whose hash is below are taken; `None` takes all.
    limit: Option<u64>,
    seed: u64,
}

impl Sampling {
    /// Returns what a scan takes; `None` without TABLESAMPLE.
    pub(super) fn of(scan: &Scan, table: &Table, cx: &mut Cx<'_>) -> Option<Self> {
        let sample = scan.hints.sample?;
        let limit = match sample.size {
            SampleSize::Share(share) => share,
            SampleSize::Rows(rows) => limit_for(rows, table.row_count()),
        };
        let seed = sample.seed.unwrap_or_else(|| {
            // The statement's time, so that a scan that is opened again takes the same pages.
            let now = cx.now();
            let ticks = (u64::from(now.days.unsigned_abs()) << 40) ^ now.ticks.unsigned_abs();
            mix(ticks ^ (u64::from(scan.row) << 56))
        });
        Some(Self { limit, seed: mix(seed) })
    }

    /// Returns true if a row is in the sample.
    pub(super) fn takes(&self, row: RowId) -> bool {
        self.takes_page(row.0 / PAGE_ROWS)
    }

    /// Returns true if a compressed row is in the sample.
    pub(super) fn takes_compressed(&self, place: Place) -> bool {
        self.takes_page(mix(place.group) ^ (u64::from(place.row) / PAGE_ROWS))
    }

    fn takes_page(&self, page: u64) -> bool {
        self.limit.is_none_or(|limit| mix(page ^ self.seed) < limit)
    }
}

/// Returns the limit that takes about `rows` of a table's rows.
#[expect(clippy::cast_precision_loss, reason = "an estimate")]
fn limit_for(rows: u64, all: u64) -> Option<u64> {
    (rows < all).then(|| sample_portion(rows as f64 / all as f64))
}

/// Mixes the bits of a number (the finalizer of SplitMix64).
fn mix(number: u64) -> u64 {
    let mut n = number.wrapping_add(0x9e37_79b9_7f4a_7c15);
    n = (n ^ (n >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    n = (n ^ (n >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
    n ^ (n >> 31)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_share_of_pages_is_taken() {
        let half = Sampling { limit: Some(sample_portion(0.5)), seed: mix(7) };
        let taken = (0..10_000_u64).filter(|page| half.takes(RowId(page * PAGE_ROWS))).count();
        assert!((4_700..5_300).contains(&taken), "{taken}");
        let page_of = |row: u64| half.takes(RowId(row));
        assert!((0..1_000).all(|page| page_of(page * PAGE_ROWS) == page_of(page * PAGE_ROWS + 63)));
    }

    #[test]
    fn more_rows_than_there_are_is_all() {
        assert_eq!(limit_for(10, 10), None);
        assert!(limit_for(9, 10).is_some());
    }
}
