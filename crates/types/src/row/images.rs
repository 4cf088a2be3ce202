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
        let is_shared = move |ordinal: usize| match self.layout.columns[ordinal] {
            Column::Fixed(..) => false,
            // A long value that did not change is one block of memory in both rows.
            Column::Variable(_, index) => match (self.slot(index), before.slot(index)) {
                (Slot::Blob(one), Slot::Blob(other)) => std::ptr::eq(one.as_ptr(), other.as_ptr()),
                _ => false,
            },
        };
        let differs = move |at: usize| {
            self.is_null(at) != before.is_null(at)
                || (!is_shared(at) && self.image(at) != before.image(at))
        };
        (0_u32..)
            .zip(0..self.layout.columns.len())
            .filter(move |(_, at)| differs(*at))
            .map(move |(n, at)| (n, self.image(at)))
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
