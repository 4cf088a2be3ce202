//! The image of a column: its bytes in an encoded row, for the log and for checkpoints, and a row put
//! together from images.
//!
//! An image of a fixed column has the column's size. One of a variable column is the value's bytes,
//! wherever the row keeps them. Images are read by the version of the program that wrote them and by
//! later ones: a change of `fixed.rs` is a change of the log's format (docs/log-format.md).

use super::{Column, RowBuffer, RowLayout, RowView, Slot, short_end, wide_end};
use crate::Bytes;

/// Why images are not a row of a layout.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ImageError {
    /// A column that the layout does not have: its ordinal.
    Ordinal(u32),
    /// A fixed column's image of another size: its ordinal.
    Size(u32),
    /// The variable columns are longer than a row of the layout can be.
    Length,
}

impl std::fmt::Display for ImageError {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Self::Ordinal(ordinal) => write!(f, "there is no column {ordinal}"),
            Self::Size(ordinal) => write!(f, "column {ordinal} has an image of another size"),
            Self::Length => f.write_str("the columns are too long for a row"),
        }
    }
}

impl std::error::Error for ImageError {}

impl<'a> RowView<'a> {
    /// Returns the image of a column; `None` for NULL.
    #[inline]
    pub fn image(&self, ordinal: usize) -> Option<&'a [u8]> {
        if self.is_null(ordinal) {
            return None;
        }
        Some(match self.layout.columns[ordinal] {
            Column::Fixed(kind, at) => &self.bytes[at..at + kind.size()],
            Column::Variable(_, index) => self.slot(index).as_slice(),
        })
    }

    /// Iterates over all columns: ordinal and image.
    pub fn images(self) -> impl Iterator<Item = (u32, Option<&'a [u8]>)> + Clone {
        (0_u32..).zip(0..self.layout.columns.len()).map(move |(n, at)| (n, self.image(at)))
    }

    /// Calls `see` with each column whose image differs from that in `before`, a row of the same layout, by
    /// rising ordinals.
    ///
    /// Each commit of a logged update does this. So NULL bits are read as words, and the ends of variable
    /// values are walked once.
    #[inline]
    pub fn each_change(self, before: Self, mut see: impl FnMut(u32, Option<&'a [u8]>)) {
        let (mut slots, mut slots_before) = (Slots::of(self), Slots::of(before));
        let mut ordinal = 0;
        for (word, columns) in self.layout.columns.chunks(NULL_BITS).enumerate() {
            let mut nulls = self.null_word(word);
            let mut nulls_before = before.null_word(word);
            for column in columns {
                let (is_null, was_null) = (nulls & 1 != 0, nulls_before & 1 != 0);
                // A NULL has a place among the fixed columns, and an end among the variable ones.
                let (image, is_same) = match *column {
                    Column::Fixed(kind, at) => {
                        let range = at..at + kind.size();
                        let image = &self.bytes[range.clone()];
                        (image, is_same_fixed(image, &before.bytes[range]))
                    }
                    Column::Variable(..) => {
                        let (slot, slot_before) = (slots.next(), slots_before.next());
                        (slot.as_slice(), slot.is_same(&slot_before))
                    }
                };
                if is_null != was_null || (!is_null && !is_same) {
                    see(ordinal, (!is_null).then_some(image));
                }
                (nulls, nulls_before) = (nulls >> 1, nulls_before >> 1);
                ordinal += 1;
            }
        }
    }

    /// Returns the NULL bits of 64 columns, the first one lowest. Bits behind the last column are undefined.
    #[inline]
    fn null_word(&self, word: usize) -> u64 {
        let rest = &self.bytes[word * size_of::<u64>()..];
        match rest.first_chunk() {
            Some(bytes) => u64::from_le_bytes(*bytes),
            None => rest.iter().rev().fold(0, |word, byte| word << 8 | u64::from(*byte)),
        }
    }
}

/// NULL bits that are read at once.
const NULL_BITS: usize = u64::BITS as usize;

/// Walks the variable values of a row.
struct Slots<'a> {
    /// The ends that come next.
    ends: &'a [u8],
    /// All values, and where the next one begins.
    values: &'a [u8],
    start: usize,
    blobs: &'a [Bytes],
    wide_ends: bool,
}

impl<'a> Slots<'a> {
    fn of(row: RowView<'a>) -> Self {
        let RowLayout { ends_start, variable_start, wide_ends, .. } = *row.layout;
        let (ends, values) = (&row.bytes[ends_start..], &row.bytes[variable_start..]);
        Self { ends, values, start: 0, blobs: row.blobs, wide_ends }
    }

    /// Returns the next value. There is one for each variable column.
    #[inline]
    fn next(&mut self) -> Slot<'a> {
        let (end, is_blob) = if self.wide_ends {
            let (end, rest) = self.ends.split_at(size_of::<u32>());
            self.ends = rest;
            wide_end(end)
        } else {
            let (end, rest) = self.ends.split_at(size_of::<u16>());
            self.ends = rest;
            short_end(end)
        };
        let bytes = &self.values[self.start..end];
        self.start = end;
        if is_blob { Slot::blob(bytes, self.blobs) } else { Slot::Inline(bytes) }
    }
}

/// Compares two fixed columns of one size. Most have the size of a number, whose comparison takes no call.
#[inline]
fn is_same_fixed(one: &[u8], other: &[u8]) -> bool {
    fn numbers<const N: usize>(one: &[u8], other: &[u8]) -> bool {
        one.first_chunk::<N>() == other.first_chunk::<N>()
    }
    match one.len() {
        1 => numbers::<1>(one, other),
        2 => numbers::<2>(one, other),
        4 => numbers::<4>(one, other),
        8 => numbers::<8>(one, other),
        _ => one == other,
    }
}

impl Slot<'_> {
    /// Returns whether two slots have the same bytes.
    #[inline]
    fn is_same(&self, other: &Self) -> bool {
        match (self, other) {
            // A long value that did not change is one block of memory in both rows.
            (Self::Blob(one), Self::Blob(other)) if one.as_ptr() == other.as_ptr() => true,
            _ => self.as_slice() == other.as_slice(),
        }
    }
}

impl RowLayout {
    /// Puts a row together over `row`: the columns of `changes`, by rising ordinals, and the others
    /// from `base`, or NULL without one.
    ///
    /// # Errors
    /// The images are not of this layout; `row` is undefined then.
    pub fn assemble<'v>(
        &self,
        base: Option<RowView<'_>>,
        changes: impl Iterator<Item = (u32, Option<&'v [u8]>)>,
        row: &mut RowBuffer,
    ) -> Result<(), ImageError> {
        self.start(row);
        let mut changes = changes.peekable();
        for (ordinal, column) in (0_u32..).zip(self.columns.iter()) {
            let at = ordinal as usize;
            let change = changes.next_if(|(changed, _)| *changed == ordinal);
            let old = || base.and_then(|base| base.image(at));
            let image = change.map_or_else(old, |(_, image)| image);
            if image.is_none() {
                row.bytes[at / 8] |= 1 << (at % 8);
            }
            match *column {
                Column::Fixed(kind, place) => {
                    let Some(image) = image else { continue };
                    if image.len() != kind.size() {
                        return Err(ImageError::Size(ordinal));
                    }
                    row.bytes[place..place + image.len()].copy_from_slice(image);
                }
                Column::Variable(_, index) => match (change, base) {
                    // A long value that stays is shared.
                    (None, Some(base)) => self.try_push_slot(base.slot(index), index, row)?,
                    _ => {
                        let image = image.unwrap_or_default();
                        if image.len() > super::INLINE_BYTES_MAX {
                            let blob = Bytes::copy_from(image);
                            self.try_push_slot(Slot::Blob(&blob), index, row)?;
                        } else {
                            self.try_push_slot(Slot::Inline(image), index, row)?;
                        }
                    }
                },
            }
        }
        match changes.next() {
            Some((ordinal, _)) => Err(ImageError::Ordinal(ordinal)),
            None => Ok(()),
        }
    }

    fn try_push_slot(
        &self,
        slot: Slot<'_>,
        index: usize,
        row: &mut RowBuffer,
    ) -> Result<(), ImageError> {
        let bytes_max = if self.wide_ends { (1 << 31) - 1 } else { (1 << 15) - 1 };
        let added = match &slot {
            Slot::Inline(bytes) => bytes.len(),
            Slot::Blob(_) => 2,
        };
        if row.bytes.len() - self.variable_start + added > bytes_max {
            return Err(ImageError::Length);
        }
        self.push_slot(slot, index, row);
        Ok(())
    }
}
