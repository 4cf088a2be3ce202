//! Pages: their headers, and their decompressed bytes.

use crate::codec::Codec;
use crate::thrift::{END, Kind, Reader};
use crate::window::Window;
use crate::{Error, Fault, Result, Source};

/// The largest accepted page, in bytes: most writers make 1 MB, DuckDB up to 100 MB.
pub(crate) const PAGE_BYTES_MAX: usize = 256 << 20;

/// The largest accepted header, in bytes: it may have a minimum and a maximum.
const HEAD_BYTES_MAX: usize = 16 << 20;
const HEAD_BYTES_USUAL: usize = 4 << 10;

/// The kind of a page.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum PageKind {
    Dictionary,
    /// Version 1: levels and values, compressed together.
    Data,
    /// Version 2: the lengths of the levels in front; only the values are compressed.
    DataV2 {
        repetition_bytes: usize,
        definition_bytes: usize,
    },
}

/// The encoding of values: `Encoding` of the format.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Encoding {
    Plain,
    Dictionary,
    Rle,
    DeltaBinaryPacked,
    DeltaLengthByteArray,
    DeltaByteArray,
    ByteStreamSplit,
}

impl Encoding {
    fn of(code: i32) -> Result<Self> {
        Ok(match code {
            0 => Self::Plain,
            2 | 8 => Self::Dictionary,
            3 => Self::Rle,
            5 => Self::DeltaBinaryPacked,
            6 => Self::DeltaLengthByteArray,
            7 => Self::DeltaByteArray,
            9 => Self::ByteStreamSplit,
            4 => return Err(Error::not_supported("the encoding BIT_PACKED")),
            other => return Err(Error::not_supported(format!("encoding number {other}"))),
        })
    }
}

/// A page that has been read and decompressed.
pub(crate) struct Page {
    pub(crate) kind: PageKind,
    pub(crate) encoding: Encoding,
    pub(crate) values: usize,
    pub(crate) bytes: Vec<u8>,
}

/// The header of a page.
#[derive(Default)]
struct Head {
    code: i32,
    size: usize,
    compressed_size: usize,
    values: usize,
    encoding: i32,
    level_encoding: Option<i32>,
    definition_bytes: usize,
    repetition_bytes: usize,
    is_compressed: bool,
}

/// Reads the next page of a chunk, reusing the memory of an earlier one; `None` at the end.
pub(crate) fn next(
    window: &mut Window,
    source: &impl Source,
    codec: Codec,
    mut memory: Vec<u8>,
) -> Result<Option<Page>> {
    while !window.is_done() {
        let head = head(window, source)?;
        let kind = match head.code {
            0 => PageKind::Data,
            2 => PageKind::Dictionary,
            3 => PageKind::DataV2 {
                repetition_bytes: head.repetition_bytes,
                definition_bytes: head.definition_bytes,
            },
            // Other kinds have no rows: index pages, and kinds of later versions.
            _ => {
                window.take(source, head.compressed_size)?;
                continue;
            }
        };
        memory.clear();
        let bytes = window.take(source, head.compressed_size)?;
        unpack(&head, kind, codec, bytes, &mut memory)?;
        let encoding = Encoding::of(head.encoding)?;
        return Ok(Some(Page { kind, encoding, values: head.values, bytes: memory }));
    }
    Ok(None)
}

fn unpack(
    head: &Head,
    kind: PageKind,
    codec: Codec,
    bytes: &[u8],
    out: &mut Vec<u8>,
) -> Result<()> {
    if head.size > PAGE_BYTES_MAX {
        return Err(Error::not_supported("a page of more than 256 MB"));
    }
    let PageKind::DataV2 { repetition_bytes, definition_bytes } = kind else {
        if head.level_encoding.is_some_and(|code| code != 3) && kind == PageKind::Data {
            return Err(Error::not_supported("levels that are not in the encoding RLE"));
        }
        return codec.decompress(bytes, head.size, out);
    };
    let levels = repetition_bytes.checked_add(definition_bytes).filter(|n| *n <= head.size);
    let Some((levels, values)) = levels.and_then(|n| bytes.split_at_checked(n)) else {
        return Err(Error::damaged("levels that are longer than their page"));
    };
    out.extend_from_slice(levels);
    let codec = if head.is_compressed { codec } else { Codec::Uncompressed };
    match head.size - levels.len() {
        // A page without values may have no compressed data at all.
        0 => Ok(()),
        size => codec.decompress(values, size, out),
    }
}

fn head(window: &mut Window, source: &impl Source) -> Result<Head> {
    let mut wanted = HEAD_BYTES_USUAL;
    loop {
        let bytes = window.peek(source, wanted)?;
        let all = bytes.len() < wanted;
        match parse(bytes) {
            Ok((head, used)) => {
                window.take(source, used)?;
                return Ok(head);
            }
            Err(error) => {
                let ends = matches!(&error.fault, Fault::Damaged(what) if what == END);
                if !ends || all || wanted >= HEAD_BYTES_MAX {
                    return Err(error);
                }
                wanted = bytes.len().max(wanted) * 2;
            }
        }
    }
}

fn parse(bytes: &[u8]) -> Result<(Head, usize)> {
    let mut reader = Reader::new(bytes);
    let mut head = Head { is_compressed: true, code: -1, ..Head::default() };
    reader.fields(&mut |reader, id, kind| {
        match (id, kind) {
            (1, _) => head.code = reader.int32(kind)?,
            (2, _) => head.size = reader.size(kind)?,
            (3, _) => head.compressed_size = reader.size(kind)?,
            (5 | 7, Kind::Struct) => reader.fields(&mut |reader, id, kind| {
                match id {
                    1 => head.values = reader.size(kind)?,
                    2 => head.encoding = reader.int32(kind)?,
                    3 if kind == Kind::Int32 => head.level_encoding = Some(reader.int32(kind)?),
                    _ => reader.skip(kind)?,
                }
                Ok(())
            })?,
            (8, Kind::Struct) => reader.fields(&mut |reader, id, kind| {
                match id {
                    1 => head.values = reader.size(kind)?,
                    4 => head.encoding = reader.int32(kind)?,
                    5 => head.definition_bytes = reader.size(kind)?,
                    6 => head.repetition_bytes = reader.size(kind)?,
                    7 => head.is_compressed = Reader::flag(kind)?,
                    _ => reader.skip(kind)?,
                }
                Ok(())
            })?,
            _ => reader.skip(kind)?,
        }
        Ok(())
    })?;
    Ok((head, reader.position()))
}
