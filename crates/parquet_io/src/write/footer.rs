//! Writes the footer; `crate::metadata` reads it.

use super::shape::Shape;
use super::statistics::Statistics;
use super::thrift::Structure;

/// A row group that has been written.
pub(super) struct RowGroupMetadata {
    pub(super) chunks: Vec<ChunkMetadata>,
    pub(super) rows: u64,
}

/// A chunk that has been written.
#[derive(Clone, Debug, Default)]
pub(super) struct ChunkMetadata {
    pub(super) codec: i32,
    pub(super) encodings: Vec<i32>,
    /// The number of rows, including NULLs.
    pub(super) values: u64,
    /// Bytes including headers, before and after compression.
    pub(super) uncompressed: u64,
    pub(super) compressed: u64,
    /// Where it begins in the file: its dictionary, if it has one, and its first data page.
    pub(super) dictionary_at: Option<u64>,
    pub(super) data_at: u64,
    pub(super) statistics: Statistics,
}

/// The format version in the footer. Later features, such as logical types, are recognized by their
/// own fields.
const VERSION: i32 = 2;

/// Encodes the footer's `FileMetaData`.
pub(super) fn write<'a>(
    columns: impl ExactSizeIterator<Item = &'a Shape>,
    row_groups: &[RowGroupMetadata],
    rows: u64,
) -> Vec<u8> {
    let shapes: Vec<&Shape> = columns.collect();
    let mut footer = Structure::default();
    footer.int32(1, VERSION);
    let elements = std::iter::once(None).chain(shapes.iter().map(Some)).collect::<Vec<_>>();
    footer.list(2, elements.into_iter(), |to, shape| match shape {
        Some(shape) => shape.describe(to),
        None => {
            to.binary(4, b"schema");
            to.size(5, shapes.len());
        }
    });
    footer.count(3, rows);
    footer.list(4, row_groups.iter().enumerate(), |to, (place, group)| {
        row_group(group, place, &shapes, to);
    });
    footer.binary(6, concat!("Clearway version ", env!("CARGO_PKG_VERSION")).as_bytes());
    // Bounds are in the order of each column's type: `TypeDefinedOrder`.
    footer.list(7, shapes.iter(), |to, _| to.structure(1, |_| {}));
    footer.end()
}

fn row_group(group: &RowGroupMetadata, place: usize, shapes: &[&Shape], to: &mut Structure) {
    let sum = |of: fn(&ChunkMetadata) -> u64| group.chunks.iter().map(of).sum();
    let pairs: Vec<_> = group.chunks.iter().zip(shapes).collect();
    to.list(1, pairs.into_iter(), |to, (chunk, shape)| {
        // The offset of a copy of the chunk's metadata: there is none.
        to.count(2, 0);
        to.structure(3, |to| describe(chunk, shape, to));
    });
    to.count(2, sum(|chunk| chunk.uncompressed));
    to.count(3, group.rows);
    if let Some(first) = group.chunks.first() {
        to.count(5, first.dictionary_at.unwrap_or(first.data_at));
    }
    to.count(6, sum(|chunk| chunk.compressed));
    if let Ok(place) = i16::try_from(place) {
        to.int16(7, place);
    }
}

fn describe(chunk: &ChunkMetadata, shape: &Shape, to: &mut Structure) {
    to.int32(1, shape.physical_code().0);
    to.int32_list(2, &chunk.encodings);
    to.binary_list(3, &[shape.name.as_bytes()]);
    to.int32(4, chunk.codec);
    to.count(5, chunk.values);
    to.count(6, chunk.uncompressed);
    to.count(7, chunk.compressed);
    to.count(9, chunk.data_at);
    if let Some(at) = chunk.dictionary_at {
        to.count(11, at);
    }
    to.structure(12, |to| chunk.statistics.describe(shape, to));
}
