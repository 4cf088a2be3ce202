//! The rows of one column in a row group, read page by page.

use types::batch::Vector;

use crate::convert;
use crate::metadata::Chunk;
use crate::page::{self, Encoding, Page, PageKind};
use crate::rle::Hybrid;
use crate::schema::{Column, Physical};
use crate::values::{self, Raw, Values};
use crate::window::Window;
use crate::{Error, Result, Source};

/// Reads the rows of a column in one row group.
pub(crate) struct ColumnReader {
    column: Column,
    chunk: Chunk,
    window: Window,
    dictionary: Option<Raw>,
    page: Option<Open>,
    /// Pages that have been started, including dictionaries.
    pages: u32,
    /// Rows that no page has been read for yet.
    rows_left: u64,
    raw: Raw,
    levels: Vec<u32>,
    places: Vec<u32>,
    /// The memory of the last page, reused for the next one.
    spare: Vec<u8>,
}

/// A page that is being read.
struct Open {
    bytes: Vec<u8>,
    levels: Option<Hybrid>,
    values: Values,
    left: usize,
}

impl ColumnReader {
    pub(crate) fn new(column: Column, chunk: Chunk, rows: u64) -> Self {
        let window = Window::new(chunk.start, chunk.bytes);
        let raw = Raw::of(column.physical);
        Self {
            column,
            chunk,
            window,
            dictionary: None,
            page: None,
            pages: 0,
            rows_left: rows,
            raw,
            levels: Vec::new(),
            places: Vec::new(),
            spare: Vec::new(),
        }
    }

    /// Appends the next `count` rows to a vector of the column's type. The row group has that many
    /// left.
    ///
    /// # Errors
    /// With column and page; with the row, counted from the first of these, if a value is at fault.
    pub(crate) fn read(
        &mut self,
        source: &impl Source,
        count: usize,
        to: &mut Vector,
    ) -> Result<()> {
        let read = self.read_rows(source, count, to);
        read.map_err(|mut error| {
            error.place.column = Some(self.column.name.clone());
            error.place.page = self.pages.checked_sub(1);
            error
        })
    }

    fn read_rows(&mut self, source: &impl Source, count: usize, to: &mut Vector) -> Result<()> {
        self.raw.clear();
        self.levels.clear();
        let mut read = 0;
        while read < count {
            let mut page = match self.page.take() {
                Some(page) => page,
                None => self.next_page(source)?,
            };
            let taken = page.left.min(count - read);
            self.take(&mut page, taken)?;
            read += taken;
            page.left -= taken;
            if page.left > 0 {
                self.page = Some(page);
            } else {
                self.spare = page.bytes;
            }
        }
        let levels = self.column.nullable.then_some(&self.levels[..]);
        convert::append(&self.column, &self.raw, levels, to)
    }

    /// Decodes `rows` rows of a page that has at least as many.
    fn take(&mut self, page: &mut Open, rows: usize) -> Result<()> {
        let mut present = rows;
        if let Some(levels) = &mut page.levels {
            let start = self.levels.len();
            levels.read(&page.bytes, rows, &mut self.levels)?;
            present = self.levels[start..].iter().filter(|level| **level != 0).count();
        }
        let (physical, dictionary) = (self.column.physical, self.dictionary.as_ref());
        page.values.read(
            (&page.bytes, present),
            physical,
            dictionary,
            &mut self.raw,
            &mut self.places,
        )
    }

    /// Opens the next page with rows; reads a dictionary on the way.
    fn next_page(&mut self, source: &impl Source) -> Result<Open> {
        loop {
            let memory = std::mem::take(&mut self.spare);
            let page = page::next(&mut self.window, source, self.chunk.codec, memory);
            self.pages += 1;
            let page =
                page?.ok_or_else(|| Error::damaged("a column with fewer rows than others"))?;
            match page.kind {
                PageKind::Dictionary => self.read_dictionary(page)?,
                PageKind::Data | PageKind::DataV2 { .. } if page.values == 0 => {
                    self.spare = page.bytes;
                }
                PageKind::Data | PageKind::DataV2 { .. } => return self.open(page),
            }
        }
    }

    fn open(&mut self, page: Page) -> Result<Open> {
        let left =
            u64::try_from(page.values).ok().and_then(|rows| self.rows_left.checked_sub(rows));
        self.rows_left =
            left.ok_or_else(|| Error::damaged("pages with more rows than their row group"))?;
        let nullable = self.column.nullable;
        let (levels, at) = match page.kind {
            PageKind::DataV2 { repetition_bytes, definition_bytes } => {
                let end = repetition_bytes + definition_bytes;
                let levels = nullable.then(|| Hybrid::new(repetition_bytes, end, 1)).transpose()?;
                (levels, end)
            }
            PageKind::Data if nullable => {
                let (start, end) = values::counted(&page.bytes, 0)?;
                (Some(Hybrid::new(start, end, 1)?), end)
            }
            PageKind::Data | PageKind::Dictionary => (None, 0),
        };
        let values = Values::new(&page, at, self.column.physical)?;
        Ok(Open { left: page.values, bytes: page.bytes, levels, values })
    }

    fn read_dictionary(&mut self, page: Page) -> Result<()> {
        if self.dictionary.is_some() {
            return Err(Error::damaged("a column with two dictionaries in a row group"));
        }
        if !matches!(page.encoding, Encoding::Plain | Encoding::Dictionary) {
            return Err(Error::not_supported("a dictionary whose values are not plain"));
        }
        // Each value takes space in the page, so the header alone is no reason to allocate memory.
        let least = match self.column.physical {
            Physical::Boolean => page.values.div_ceil(8),
            Physical::Int32 | Physical::Float | Physical::Bytes => page.values.saturating_mul(4),
            Physical::Int64 | Physical::Double => page.values.saturating_mul(8),
            Physical::Int96 => page.values.saturating_mul(12),
            Physical::Fixed(width) => page.values.saturating_mul(width),
        };
        if least > page.bytes.len() {
            return Err(Error::damaged("a dictionary with fewer values than its head says"));
        }
        let mut raw = Raw::of(self.column.physical);
        values::plain(&page.bytes, &mut 0, page.values, self.column.physical, &mut raw)?;
        self.dictionary = Some(raw);
        self.spare = page.bytes;
        Ok(())
    }

    /// Returns the bytes of memory that the reader holds.
    pub(crate) fn memory(&self) -> usize {
        let page = self.page.as_ref().map_or(0, |page| page.bytes.capacity());
        let dictionary = self.dictionary.as_ref().map_or(0, Raw::memory);
        self.window.memory() + self.raw.memory() + self.spare.capacity() + page + dictionary
    }
}
