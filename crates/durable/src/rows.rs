//! A row of a checkpoint: its encoded bytes as `types::row` has them, and its long values.
//!
//! ```text
//! bytes of the row   u32, little-endian
//! the row
//! each long value    u32 length, then the value; to the end of the image
//! ```

use storage::RowImage;
use types::Bytes;
use types::row::RowBuffer;

/// Writes an image over `image`.
pub(crate) fn encode(row: RowImage<'_>, image: &mut Vec<u8>) {
    image.clear();
    push(row.bytes, image);
    row.blobs.iter().for_each(|blob| push(blob, image));
}

fn push(bytes: &[u8], image: &mut Vec<u8>) {
    let length = u32::try_from(bytes.len()).expect("a value is shorter than 4 GiB");
    image.extend_from_slice(&length.to_le_bytes());
    image.extend_from_slice(bytes);
}

/// Reads an image over `row`; `None` if it is none.
pub(crate) fn decode(mut image: &[u8], row: &mut RowBuffer) -> Option<()> {
    row.bytes.clear();
    row.blobs.clear();
    row.bytes.extend_from_slice(take(&mut image)?);
    while !image.is_empty() {
        row.blobs.push(Bytes::copy_from(take(&mut image)?));
    }
    Some(())
}

fn take<'a>(image: &mut &'a [u8]) -> Option<&'a [u8]> {
    let (length, rest) = image.split_first_chunk::<4>()?;
    let length = usize::try_from(u32::from_le_bytes(*length)).ok()?;
    let (value, rest) = rest.split_at_checked(length)?;
    *image = rest;
    Some(value)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn rows_come_back_and_cut_images_do_not() {
        let blobs = [Bytes::copy_from(b"long"), Bytes::copy_from(b"")];
        let mut image = Vec::new();
        encode(RowImage { bytes: b"row", blobs: &blobs }, &mut image);
        let mut row = RowBuffer::default();
        decode(&image, &mut row).expect("an image");
        assert_eq!((&row.bytes[..], &row.blobs[..]), (&b"row"[..], &blobs[..]));
        // Whole values may be cut off: the block's checksum is what finds that.
        for cut in [0, 3, 6, 9, 14, 17] {
            assert_eq!(decode(&image[..cut], &mut row), None, "cut at {cut}");
        }
    }
}
