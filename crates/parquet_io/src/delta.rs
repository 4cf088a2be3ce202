//! DELTA_BINARY_PACKED: numbers as differences in bit-packed blocks.
//!
//! <https://github.com/apache/parquet-format/blob/master/Encodings.md#delta-encoding-delta_binary_packed--5>
//! ```text
//! values per block | miniblocks per block | count | first value
//! then per block: minimum difference | a width per miniblock | packed differences above the
//! minimum
//! ```

use crate::rle::{unpack_wide, varint};
use crate::{Error, Result};

/// A reader's position in a delta-encoded sequence.
#[derive(Clone, Debug)]
pub(crate) struct Delta {
    at: usize,
    end: usize,
    per_mini: u64,
    minis: usize,
    /// Numbers that are left to return.
    left: u64,
    /// The number that is returned next.
    next: i64,
    least: i64,
    /// The position of the block's widths, and the index of the next one.
    widths: usize,
    mini: usize,
    /// The current miniblock: its first bit, its width, and how many numbers are left in it.
    bit: usize,
    width: u8,
    mini_left: u64,
}

/// The largest accepted number of values per block; writers use 128 or 256.
const BLOCK_MAX: u64 = 1 << 20;

impl Delta {
    /// Reads the header of the sequence.
    pub(crate) fn new(bytes: &[u8], mut at: usize, end: usize) -> Result<Self> {
        let block = varint(bytes, &mut at, end)?;
        let minis = varint(bytes, &mut at, end)?;
        let left = varint(bytes, &mut at, end)?;
        let next = zigzag(varint(bytes, &mut at, end)?);
        let is_whole = block > 0 && block <= BLOCK_MAX && minis > 0 && block.is_multiple_of(minis);
        if !is_whole || !(block / minis).is_multiple_of(8) {
            return Err(Error::damaged("blocks of differences of no size"));
        }
        let per_mini = block / minis;
        let minis = usize::try_from(minis).map_err(|_| Error::damaged("too many miniblocks"))?;
        Ok(Self {
            at,
            end,
            per_mini,
            minis,
            left,
            next,
            least: 0,
            widths: 0,
            mini: minis,
            bit: 0,
            width: 0,
            mini_left: 0,
        })
    }

    /// Returns how many numbers are left.
    pub(crate) const fn left(&self) -> u64 {
        self.left
    }

    /// Returns the next number of the sequence.
    pub(crate) fn next(&mut self, bytes: &[u8]) -> Result<i64> {
        let Some(left) = self.left.checked_sub(1) else {
            return Err(Error::damaged("the differences end too early"));
        };
        self.left = left;
        let value = self.next;
        if left > 0 {
            if self.mini_left == 0 {
                self.next_mini(bytes)?;
            }
            let difference = unpack_wide(bytes, self.bit, self.width).cast_signed();
            self.bit += usize::from(self.width);
            self.mini_left -= 1;
            self.next = value.wrapping_add(self.least).wrapping_add(difference);
        }
        Ok(value)
    }

    fn next_mini(&mut self, bytes: &[u8]) -> Result<()> {
        if self.mini == self.minis {
            self.least = zigzag(varint(bytes, &mut self.at, self.end)?);
            self.widths = self.at;
            self.at = self.at.saturating_add(self.minis);
            self.mini = 0;
        }
        let width = bytes.get(self.widths + self.mini).copied();
        let width = width.filter(|width| *width <= 64 && self.at <= self.end);
        self.width = width.ok_or_else(|| Error::damaged("differences of no width"))?;
        self.mini += 1;
        self.bit = self.at * 8;
        let bits = self.per_mini.saturating_mul(u64::from(self.width));
        let size = usize::try_from(bits / 8).unwrap_or(usize::MAX);
        let end = self.at.saturating_add(size);
        // The last miniblock may be cut behind the numbers that are used.
        let used = self.left.min(self.per_mini).saturating_mul(u64::from(self.width)).div_ceil(8);
        let used = usize::try_from(used).unwrap_or(usize::MAX);
        if self.at.saturating_add(used) > self.end {
            return Err(Error::damaged("the differences end too early"));
        }
        self.at = end.min(self.end);
        self.mini_left = self.per_mini;
        Ok(())
    }

    /// Skips the numbers, which are lengths; returns where the bytes behind them begin, and their
    /// sum. Fails if one is negative.
    pub(crate) fn lengths_end(mut self, bytes: &[u8]) -> Result<(usize, u64)> {
        let mut sum = 0_u64;
        while self.left > 0 {
            let length = u64::try_from(self.next(bytes)?);
            let length = length.map_err(|_| Error::damaged("a negative length"))?;
            sum = sum.saturating_add(length);
        }
        Ok((self.at, sum))
    }
}

const fn zigzag(value: u64) -> i64 {
    (value >> 1).cast_signed() ^ -(value & 1).cast_signed()
}
