//! Writes the chunk of a column in the current row group: its dictionary and its pages.
//!
//! A chunk starts with a dictionary. It is dropped after the first page if it does not make that
//! page smaller, and closed when it is full; later pages are PLAIN. `append.rs` converts the
//! values.

use super::dictionary::{Dictionary, Place};
use super::footer::ChunkMetadata;
use super::hybrid;
use super::shape::Shape;
use super::statistics::Statistics;
use super::thrift::Structure;
use crate::codec::Codec;
use crate::schema::Physical;
use crate::{Error, Result};

/// The largest page: its rows, and the bytes of its values.
const PAGE_ROWS_MAX: usize = if cfg!(test) { 20 } else { 20_000 };
const PAGE_BYTES_MAX: usize = 1 << 20;
/// The largest value in bytes: a page with one is still well below what readers accept.
const VALUE_BYTES_MAX: usize = 128 << 20;

/// Encodings: `Encoding` of the format.
pub(super) const PLAIN: i32 = 0;
pub(super) const RLE: i32 = 3;
pub(super) const RLE_DICTIONARY: i32 = 8;

/// Definition levels of a nullable column.
const NULL: u32 = 0;
const PRESENT: u32 = 1;

/// Page types: `PageType` of the format.
const DATA_PAGE: i32 = 0;
const DICTIONARY_PAGE: i32 = 2;

/// Writes the chunks of one column.
pub(super) struct ChunkWriter {
    pub(super) shape: Shape,
    /// Rows of the current page.
    page_rows: usize,
    /// The current page: a level for each row, once there is a NULL; and either PLAIN values or
    /// dictionary indexes.
    levels: Vec<u32>,
    plain: Vec<u8>,
    places: Vec<u32>,
    /// The PLAIN size of the values in `places`.
    plain_bytes: usize,
    /// The dictionary that values are added to.
    dictionary: Option<Dictionary>,
    /// The full dictionary, if earlier pages need it.
    closed: Option<Dictionary>,
    /// Finished pages, with their headers.
    pages: Vec<u8>,
    /// Their size in bytes, headers included, before compression.
    uncompressed: usize,
    has_plain_pages: bool,
    rows: u64,
    statistics: Statistics,
    pub(super) scratch: Vec<u8>,
}

/// A finished chunk, ready to be written.
pub(super) struct Chunk {
    /// The dictionary page; empty if there is none.
    pub(super) dictionary: Vec<u8>,
    pub(super) pages: Vec<u8>,
    metadata: ChunkMetadata,
}

impl Chunk {
    /// Returns the footer's description of the chunk, which begins at offset `start` of the file.
    pub(super) fn described(&self, start: u64, codec: Codec) -> ChunkMetadata {
        let length = |part: &Vec<u8>| u64::try_from(part.len()).unwrap_or(0);
        ChunkMetadata {
            codec: codec.code(),
            dictionary_at: (!self.dictionary.is_empty()).then_some(start),
            data_at: start + length(&self.dictionary),
            compressed: length(&self.dictionary) + length(&self.pages),
            ..self.metadata.clone()
        }
    }
}

impl ChunkWriter {
    pub(super) fn new(shape: Shape) -> Self {
        // A type with two values needs no dictionary.
        let dictionary = (shape.physical != Physical::Boolean).then(Dictionary::default);
        Self {
            shape,
            page_rows: 0,
            levels: Vec::new(),
            plain: Vec::new(),
            places: Vec::new(),
            plain_bytes: 0,
            dictionary,
            closed: None,
            pages: Vec::new(),
            uncompressed: 0,
            has_plain_pages: false,
            rows: 0,
            statistics: Statistics::default(),
            scratch: Vec::new(),
        }
    }

    pub(super) fn name(&self) -> &str {
        &self.shape.name
    }

    pub(super) const fn shape(&self) -> &Shape {
        &self.shape
    }

    /// Appends a NULL to the current page.
    pub(super) fn put_null(&mut self, codec: Codec) -> Result<()> {
        self.statistics.see_null();
        self.levels.resize(self.page_rows, PRESENT);
        self.levels.push(NULL);
        self.end_row(codec)
    }

    /// Appends a number of a 32-bit or 64-bit physical type: its bits, sign-extended.
    pub(super) fn put_number(&mut self, number: i64, codec: Codec) -> Result<()> {
        let bytes = number.to_le_bytes();
        let value = match self.shape.physical {
            Physical::Int32 | Physical::Float => &bytes[..4],
            Physical::Int64 | Physical::Double => &bytes,
            Physical::Boolean | Physical::Int96 | Physical::Bytes | Physical::Fixed(_) => {
                return Err(Error::value("a number where its column has none"));
            }
        };
        if self.dictionary.is_some() {
            return self.put_encoded(value, 0, codec);
        }
        self.statistics.see_number(number, &self.shape);
        self.plain.extend_from_slice(value);
        self.end_row(codec)
    }

    /// Appends a value in its physical form, which the closure writes.
    pub(super) fn put_with(
        &mut self,
        codec: Codec,
        write: impl FnOnce(&Shape, &mut Vec<u8>) -> Result<()>,
    ) -> Result<()> {
        let prefix = if self.shape.physical == Physical::Bytes { 4 } else { 0 };
        let mut scratch = std::mem::take(&mut self.scratch);
        scratch.clear();
        scratch.resize(prefix, 0);
        write(&self.shape, &mut scratch)?;
        let length = scratch.len() - prefix;
        if length > VALUE_BYTES_MAX {
            return Err(Error::not_supported("a value of more than 128 MB"));
        }
        let length = u32::try_from(length).unwrap_or(u32::MAX);
        scratch[..prefix].copy_from_slice(&length.to_le_bytes()[..prefix]);
        let put = self.put_encoded(&scratch, prefix, codec);
        self.scratch = scratch;
        put
    }

    /// Appends a PLAIN value that begins with a length of `prefix` bytes.
    fn put_encoded(&mut self, value: &[u8], prefix: usize, codec: Codec) -> Result<()> {
        let place = self.dictionary.as_mut().map(|dictionary| dictionary.place(value));
        // Values that are in the dictionary already have been counted in the statistics.
        if !matches!(place, Some(Place::Known(_))) {
            self.statistics.see(&value[prefix..], &self.shape);
        }
        match place {
            Some(Place::Known(place) | Place::New(place)) => {
                self.places.push(place);
                self.plain_bytes += value.len();
            }
            Some(Place::None) => {
                self.close_dictionary(codec)?;
                self.plain.extend_from_slice(value);
            }
            None => self.plain.extend_from_slice(value),
        }
        self.end_row(codec)
    }

    fn end_row(&mut self, codec: Codec) -> Result<()> {
        self.rows += 1;
        self.page_rows += 1;
        if !self.levels.is_empty() && self.levels.len() < self.page_rows {
            self.levels.push(PRESENT);
        }
        let is_full = self.page_rows >= PAGE_ROWS_MAX || self.plain.len() >= PAGE_BYTES_MAX;
        if is_full { self.end_page(codec) } else { Ok(()) }
    }

    /// Ends the last page with the dictionary, which is full.
    fn close_dictionary(&mut self, codec: Codec) -> Result<()> {
        if self.page_rows > 0 {
            self.end_page(codec)?;
        }
        // Unless ending the page has dropped it.
        if let Some(dictionary) = self.dictionary.take() {
            self.closed = Some(dictionary);
        }
        Ok(())
    }

    /// Drops the dictionary if it does not make the first page smaller.
    fn weigh_dictionary(&mut self) {
        let Some(dictionary) = &self.dictionary else { return };
        let bits = self.places.len() * usize::from(hybrid::width_for(dictionary.len()));
        if !self.pages.is_empty() || dictionary.bytes().len() + bits / 8 < self.plain_bytes {
            return;
        }
        for place in &self.places {
            self.plain.extend_from_slice(dictionary.value(*place));
        }
        self.places.clear();
        self.dictionary = None;
    }

    fn end_page(&mut self, codec: Codec) -> Result<()> {
        self.weigh_dictionary();
        let rows = self.page_rows;
        let mut body = Vec::with_capacity(self.plain.len() + rows / 4 + 64);
        body.resize(4, 0);
        match self.levels.is_empty() {
            true => hybrid::repeat(PRESENT, rows, 1, &mut body),
            false => hybrid::encode(&self.levels, 1, &mut body),
        }
        let levels = u32::try_from(body.len() - 4).unwrap_or(u32::MAX);
        body[..4].copy_from_slice(&levels.to_le_bytes());
        let encoding = match &self.dictionary {
            Some(dictionary) => {
                let width = hybrid::width_for(dictionary.len());
                body.push(width);
                hybrid::encode(&self.places, width, &mut body);
                RLE_DICTIONARY
            }
            None => {
                self.has_plain_pages = true;
                match self.shape.physical {
                    Physical::Boolean => pack_bits(&self.plain, &mut body),
                    _ => body.extend_from_slice(&self.plain),
                }
                PLAIN
            }
        };
        let head = |to: &mut Structure| {
            to.structure(5, |to| {
                to.size(1, rows);
                to.int32(2, encoding);
                to.int32(3, RLE);
                to.int32(4, RLE);
            });
        };
        self.uncompressed += put_page(DATA_PAGE, &body, codec, head, &mut self.pages)?;
        self.page_rows = 0;
        self.levels.clear();
        self.plain.clear();
        self.places.clear();
        self.plain_bytes = 0;
        Ok(())
    }

    /// Finishes the chunk; the next value starts another one.
    pub(super) fn finish(&mut self, codec: Codec) -> Result<Chunk> {
        if self.page_rows > 0 {
            self.end_page(codec)?;
        }
        self.statistics.settle(&self.shape);
        let mut page = Vec::new();
        let dictionary = self.closed.take().or_else(|| self.dictionary.take());
        if let Some(dictionary) = &dictionary {
            let values = dictionary.len();
            let head = |to: &mut Structure| {
                to.structure(7, |to| {
                    to.size(1, values);
                    to.int32(2, PLAIN);
                });
            };
            self.uncompressed +=
                put_page(DICTIONARY_PAGE, dictionary.bytes(), codec, head, &mut page)?;
        }
        let mut encodings = vec![RLE];
        if self.has_plain_pages || dictionary.is_some() {
            encodings.push(PLAIN);
        }
        if dictionary.is_some() {
            encodings.push(RLE_DICTIONARY);
        }
        let metadata = ChunkMetadata {
            encodings,
            values: self.rows,
            uncompressed: u64::try_from(self.uncompressed).unwrap_or(0),
            statistics: std::mem::take(&mut self.statistics),
            ..ChunkMetadata::default()
        };
        let pages = std::mem::take(&mut self.pages);
        let shape = self.shape.clone();
        let spare = std::mem::replace(self, Self::new(shape));
        self.levels = spare.levels;
        self.plain = spare.plain;
        self.places = spare.places;
        self.scratch = spare.scratch;
        Ok(Chunk { dictionary: page, pages, metadata })
    }

    /// Reuses the memory of pages that have been written.
    pub(super) fn reuse(&mut self, mut pages: Vec<u8>) {
        pages.clear();
        self.pages = pages;
    }

    /// Returns the bytes of memory that the chunk takes so far.
    pub(super) fn memory(&self) -> usize {
        let dictionaries = self.dictionary.iter().chain(&self.closed);
        let dictionaries: usize = dictionaries.map(Dictionary::memory).sum();
        let numbers = (self.levels.len() + self.places.len()) * size_of::<u32>();
        self.pages.len() + self.plain.len() + numbers + dictionaries
    }
}

/// Appends a page with its header; returns the uncompressed size of both.
fn put_page(
    kind: i32,
    body: &[u8],
    codec: Codec,
    rest: impl FnOnce(&mut Structure),
    pages: &mut Vec<u8>,
) -> Result<usize> {
    let mut compressed = Vec::new();
    codec.compress(body, &mut compressed)?;
    let mut sum = flate2::Crc::new();
    sum.update(&compressed);
    let mut head = Structure::default();
    head.int32(1, kind);
    head.size(2, body.len());
    head.size(3, compressed.len());
    head.int32(4, sum.sum().cast_signed());
    rest(&mut head);
    let head = head.end();
    pages.extend_from_slice(&head);
    pages.extend_from_slice(&compressed);
    Ok(head.len() + body.len())
}

/// Packs booleans, one byte each, into bits, lowest bit first.
fn pack_bits(bytes: &[u8], out: &mut Vec<u8>) {
    for eight in bytes.chunks(8) {
        out.push(eight.iter().rev().fold(0, |bits, bit| bits << 1 | bit));
    }
}
