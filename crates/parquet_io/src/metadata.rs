//! The footer of a file: its schema and row groups.
//!
//! ```text
//! PAR1 | column chunks .. | footer | its length, 4 bytes | PAR1
//! ```

use crate::codec::Codec;
use crate::schema::{self, Column};
use crate::thrift::{Kind, Reader};
use crate::{Error, Result, Source};

/// The largest accepted footer, in bytes.
const FOOTER_BYTES_MAX: u64 = 64 << 20;

/// Bytes of the footer's length and the magic number behind it; the magic number at the start is
/// shorter.
const TAIL_BYTES: u64 = 8;
const MARK: &[u8] = b"PAR1";

/// A row group, as the footer describes it.
#[derive(Clone, Debug)]
pub(crate) struct RowGroup {
    pub(crate) rows: u64,
    pub(crate) chunks: Vec<Chunk>,
}

/// A column chunk: the part of a column that is in one row group.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Chunk {
    pub(crate) codec: Codec,
    /// Its offset in the file, and its length in bytes.
    pub(crate) start: u64,
    pub(crate) bytes: u64,
    pub(crate) statistics: Statistics,
}

/// The footer's statistics of a chunk: minimum and maximum in their physical form, if it has them.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Statistics {
    pub(crate) least: Option<Vec<u8>>,
    pub(crate) greatest: Option<Vec<u8>>,
    pub(crate) nulls: Option<u64>,
}

/// The contents of a footer.
#[derive(Clone, Debug)]
pub(crate) struct Metadata {
    pub(crate) columns: Vec<Column>,
    pub(crate) row_groups: Vec<RowGroup>,
    /// Whether bounds are in the order of the columns' types. Without it their order is unknown.
    pub(crate) has_order: bool,
}

/// Reads the footer of a file.
pub(crate) fn read(source: &impl Source) -> Result<Metadata> {
    let len = source.len();
    if len < TAIL_BYTES + 4 {
        return Err(Error::damaged("it is too short for a Parquet file"));
    }
    let mut tail = [0; 8];
    source.read_at(len - TAIL_BYTES, &mut tail)?;
    let (size, mark) = tail.split_at(4);
    if mark == b"PARE" {
        return Err(Error::not_supported("an encrypted file"));
    }
    if mark != MARK {
        return Err(Error::damaged("it does not end as a Parquet file"));
    }
    let size = size.iter().rev().fold(0, |size, byte| size << 8 | u64::from(*byte));
    let start = (len - TAIL_BYTES).checked_sub(size).filter(|start| *start >= 4);
    let start = start.ok_or_else(|| Error::damaged("its footer is longer than the file"))?;
    if size > FOOTER_BYTES_MAX {
        return Err(Error::not_supported("a footer of more than 64 MB"));
    }
    let mut footer = vec![0; usize::try_from(size).unwrap_or_default()];
    source.read_at(start, &mut footer)?;
    parse(&footer, start)
}

fn parse(footer: &[u8], end: u64) -> Result<Metadata> {
    let mut reader = Reader::new(footer);
    let mut found = None;
    let mut row_groups = Vec::new();
    let mut has_order = false;
    reader.fields(&mut |reader, id, kind| {
        match id {
            2 => found = Some(schema::read(reader, kind)?),
            4 => reader.list(kind, Kind::Struct, &mut |reader| {
                row_groups.push(row_group(reader, end)?);
                Ok(())
            })?,
            7 => {
                has_order = true;
                reader.skip(kind)?;
            }
            8 => return Err(Error::not_supported("an encrypted file")),
            _ => reader.skip(kind)?,
        }
        Ok(())
    })?;
    let (columns, chunks) = found.ok_or_else(|| Error::damaged("it has no schema"))?;
    if row_groups.iter().any(|group: &RowGroup| group.chunks.len() != chunks) {
        return Err(Error::damaged("a row group without a chunk for each column"));
    }
    Ok(Metadata { columns, row_groups, has_order })
}

fn row_group(reader: &mut Reader<'_>, end: u64) -> Result<RowGroup> {
    let mut group = RowGroup { rows: 0, chunks: Vec::new() };
    reader.fields(&mut |reader, id, kind| {
        match id {
            1 => reader.list(kind, Kind::Struct, &mut |reader| {
                group.chunks.push(chunk(reader)?);
                Ok(())
            })?,
            3 => group.rows = reader.long_size(kind)?,
            _ => reader.skip(kind)?,
        }
        Ok(())
    })?;
    let is_outside = |chunk: &Chunk| {
        let behind = chunk.start.checked_add(chunk.bytes);
        chunk.start < 4 || behind.is_none_or(|behind| behind > end)
    };
    // Chunks without rows may have any offset.
    if group.rows > 0 && group.chunks.iter().any(is_outside) {
        return Err(Error::damaged("a column chunk that is not in the file"));
    }
    Ok(group)
}

fn chunk(reader: &mut Reader<'_>) -> Result<Chunk> {
    let mut found = None;
    reader.fields(&mut |reader, id, kind| {
        match id {
            1 => return Err(Error::not_supported("columns in separate files")),
            3 if kind == Kind::Struct => found = Some(chunk_metadata(reader)?),
            8 => return Err(Error::not_supported("an encrypted column")),
            _ => reader.skip(kind)?,
        }
        Ok(())
    })?;
    found.ok_or_else(|| Error::damaged("a column chunk that is not described"))
}

fn chunk_metadata(reader: &mut Reader<'_>) -> Result<Chunk> {
    let (mut codec, mut bytes, mut data, mut dictionary) = (None, 0, 0, None);
    let mut known = Statistics::default();
    reader.fields(&mut |reader, id, kind| {
        match id {
            4 => codec = Some(Codec::of(reader.int32(kind)?)),
            7 => bytes = reader.long_size(kind)?,
            9 => data = reader.long_size(kind)?,
            11 => dictionary = Some(reader.long_size(kind)?),
            12 if kind == Kind::Struct => known = statistics(reader)?,
            _ => reader.skip(kind)?,
        }
        Ok(())
    })?;
    let codec = codec.ok_or_else(|| Error::damaged("a column chunk of no compression"))?;
    // Some writers store 0 if there is no dictionary.
    let start = dictionary.filter(|at| *at > 0 && *at < data).unwrap_or(data);
    Ok(Chunk { codec, start, bytes, statistics: known })
}

/// Reads the statistics of a chunk. The old fields for bounds are ignored: their order is not
/// defined.
fn statistics(reader: &mut Reader<'_>) -> Result<Statistics> {
    let mut found = Statistics::default();
    reader.fields(&mut |reader, id, kind| {
        match id {
            // Some writers store -1 here.
            3 => found.nulls = u64::try_from(reader.int64(kind)?).ok(),
            5 => found.greatest = Some(reader.binary(kind)?.to_vec()),
            6 => found.least = Some(reader.binary(kind)?.to_vec()),
            _ => reader.skip(kind)?,
        }
        Ok(())
    })?;
    Ok(found)
}
