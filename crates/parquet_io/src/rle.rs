//! The hybrid encoding of runs and bit-packed numbers, for levels and dictionary indexes.
//!
//! <https://github.com/apache/parquet-format/blob/master/Encodings.md#run-length-encoding--bit-packing-hybrid-rle--3>

use crate::{Error, Result};

/// The rest of the current run.
#[derive(Clone, Copy, Debug)]
enum Run {
    /// One number, repeated `left` times.
    Repeated { value: u32, left: u64 },
    /// Bit-packed numbers, from this bit on.
    Packed { bit: usize, left: u64 },
}

/// A reader's position in a sequence of this encoding.
#[derive(Clone, Debug)]
pub(crate) struct Hybrid {
    at: usize,
    end: usize,
    width: u8,
    run: Run,
}

impl Hybrid {
    /// Starts at `bytes[at..end]` with numbers of `width` bits.
    pub(crate) fn new(at: usize, end: usize, width: u8) -> Result<Self> {
        if width > 32 {
            return Err(Error::damaged("numbers of more than 32 bits"));
        }
        Ok(Self { at, end, width, run: Run::Repeated { value: 0, left: 0 } })
    }

    /// Decodes the next `count` numbers and appends them to `out`.
    pub(crate) fn read(
        &mut self,
        bytes: &[u8],
        mut count: usize,
        out: &mut Vec<u32>,
    ) -> Result<()> {
        while count > 0 {
            let taken = self.take(bytes, count, out)?;
            if taken == 0 {
                self.next_run(bytes)?;
            }
            count -= taken;
        }
        Ok(())
    }

    fn take(&mut self, bytes: &[u8], count: usize, out: &mut Vec<u32>) -> Result<usize> {
        let least = |left: u64| usize::try_from(left).unwrap_or(usize::MAX).min(count);
        match &mut self.run {
            Run::Repeated { value, left } => {
                let taken = least(*left);
                out.resize(out.len() + taken, *value);
                *left -= wide(taken);
                Ok(taken)
            }
            Run::Packed { bit, left } => {
                let taken = least(*left);
                let width = usize::from(self.width);
                // The last group may be cut behind the numbers that are used.
                if (*bit + taken * width).div_ceil(8) > self.end {
                    return Err(Error::damaged("a run of numbers ends too early"));
                }
                out.extend((0..taken).map(|i| unpack(bytes, *bit + i * width, self.width)));
                *bit += taken * width;
                *left -= wide(taken);
                Ok(taken)
            }
        }
    }

    fn next_run(&mut self, bytes: &[u8]) -> Result<()> {
        let head = varint(bytes, &mut self.at, self.end)?;
        let count = head >> 1;
        if count == 0 {
            return Err(Error::damaged("a run of no numbers"));
        }
        if head & 1 == 0 {
            let size = usize::from(self.width.div_ceil(8));
            let part = self.at.checked_add(size).filter(|end| *end <= self.end);
            let part = part.and_then(|end| bytes.get(self.at..end));
            let part = part.ok_or_else(|| Error::damaged("a run of numbers ends too early"))?;
            let value = part.iter().rev().fold(0, |value, byte| value << 8 | u32::from(*byte));
            self.at += size;
            self.run = Run::Repeated { value, left: count };
            return Ok(());
        }
        let left = count.checked_mul(8).ok_or_else(|| Error::damaged("a run that is too long"))?;
        let bits = left.checked_mul(u64::from(self.width));
        let size = bits.and_then(|bits| usize::try_from(bits / 8).ok());
        let size = size.ok_or_else(|| Error::damaged("a run that is too long"))?;
        self.run = Run::Packed { bit: self.at * 8, left };
        self.at = self.at.saturating_add(size).min(self.end);
        Ok(())
    }
}

fn wide(n: usize) -> u64 {
    u64::try_from(n).unwrap_or(u64::MAX)
}

/// Reads a number of 7 bits per byte (ULEB128) and advances `at`.
pub(crate) fn varint(bytes: &[u8], at: &mut usize, end: usize) -> Result<u64> {
    let mut value = 0_u64;
    for shift in (0..64).step_by(7) {
        let byte = bytes.get(*at).filter(|_| *at < end);
        let byte = *byte.ok_or_else(|| Error::damaged("the numbers end too early"))?;
        *at += 1;
        value |= u64::from(byte & 0x7F) << shift;
        if byte < 0x80 {
            return Ok(value);
        }
    }
    Err(Error::damaged("a number of too many bytes"))
}

/// Returns the `width`-bit number, at most 64 bits, at a bit position; missing bytes are 0.
#[inline]
pub(crate) fn unpack_wide(bytes: &[u8], bit: usize, width: u8) -> u64 {
    if width == 0 {
        return 0;
    }
    let (byte, shift) = (bit / 8, bit % 8);
    let mask = u64::MAX >> (64 - u32::from(width));
    if let Some(word) = bytes.get(byte..byte + 8)
        && let Ok(word) = <[u8; 8]>::try_from(word)
    {
        let low = u64::from_le_bytes(word) >> shift;
        if usize::from(width) + shift <= 64 {
            return low & mask;
        }
        let high = u64::from(bytes.get(byte + 8).copied().unwrap_or(0));
        return (low | high << (64 - shift)) & mask;
    }
    let rest = bytes.get(byte..).unwrap_or_default();
    let wide = rest.iter().take(9).rev().fold(0_u128, |value, byte| value << 8 | u128::from(*byte));
    u64::try_from((wide >> shift) & u128::from(mask)).unwrap_or(0)
}

/// Like [`unpack_wide`], for at most 32 bits.
#[inline]
fn unpack(bytes: &[u8], bit: usize, width: u8) -> u32 {
    u32::try_from(unpack_wide(bytes, bit, width)).unwrap_or(u32::MAX)
}
