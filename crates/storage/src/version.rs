//! `Version`: one state of a row and the time from which it counts.

use types::Bytes;

use crate::row::RowImage;

/// A row version.
pub(crate) struct Version {
    bytes: Box<[u8]>,
    blobs: Box<[Bytes]>,
}

impl Version {
    pub(crate) fn image(&self) -> RowImage<'_> {
        RowImage { bytes: &self.bytes, blobs: &self.blobs }
    }
}
