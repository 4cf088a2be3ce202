//! The image of a column: its bytes in an encoded row, for the log and for checkpoints, and a row put
//! together from images.
//!
//! An image of a fixed column has the column's size. One of a variable column is the value's bytes,
//! wherever the row keeps them. Images are read by the version of the program that wrote them and by
//! later ones: a change of `fixed.rs` is a change of the log's format (docs/log-format.md).

use super::{Column, RowBuffer, RowLayout, RowView, Slot};
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

    /// Iterates over the columns whose image differs from that in `before`, a row of the same
    /// layout.
    pub fn changed_images(
        self,
        before: Self,
    ) -> impl Iterator<Item = (u32, Option<&'a [u8]>)> + Clone {
        (0_u32..)
            .zip(&self.layout.columns)
            .filter_map(move |(n, column)| Some((n, self.change(&before, n as usize, column)?)))
    }

    /// Returns the image of a column if it differs from that in `before`. Each commit of a logged update
    /// asks this of each column, so each part of a row is decoded once.
    #[inline]
    fn change(&self, before: &Self, ordinal: usize, column: &Column) -> Option<Option<&'a [u8]>> {
        let (is_null, was_null) = (self.is_null(ordinal), before.is_null(ordinal));
        if is_null {
            return if was_null { None } else { Some(None) };
        }
        let (image, is_same) = match *column {
            Column::Fixed(kind, at) => {
                let range = at..at + kind.size();
                let image = &self.bytes[range.clone()];
                (image, !was_null && is_same_fixed(image, &before.bytes[range]))
            }
            Column::Variable(_, index) => {
                let slot = self.slot(index);
                (slot.as_slice(), !was_null && slot.is_same(&before.slot(index)))
            }
        };
        if is_same { None } else { Some(Some(image)) }
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
