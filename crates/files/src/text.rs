//! The rows of a text file, read in pieces: memory has one piece, or the longest row.

use std::io;

use sos::sys::RandomReader;
use types::{Error, Msg, Result};

use crate::fields::{Field, Rows, Tail, UnexpectedEnd};
use crate::open::{not_opened, waiting};
use crate::option::Options;

/// Bytes per read of the file.
const PIECE_BYTES: usize = if cfg!(test) { 5 } else { 1 << 20 };
/// The longest row in bytes: a file without row terminators is one row.
const ROW_BYTES_MAX: usize = 1 << 30;

/// Whether the receiver of rows wants more of them.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Wanted {
    /// Give the next row.
    More,
    /// Stop: the rest of the file is not read.
    Enough,
}

/// The receiver of rows, or of the error that the file ended within one.
type Give<'g, E> = &'g mut dyn FnMut(Row<'_>) -> std::result::Result<Wanted, E>;

/// The fields of a row, or the error that the file ended within it.
type Row<'t> = std::result::Result<Vec<Field<'t>>, UnexpectedEnd>;

/// The rows of a text file.
pub struct Text<'o, R> {
    options: &'o Options,
    /// Fills a buffer with the next bytes of the file; returns how many it read.
    read: R,
    /// Bytes that are used already, and the unused ones behind them, in UTF-8 or the file's code
    /// page.
    buffer: Vec<u8>,
    is_end: bool,
    /// In a UTF-16 file: the rest of a piece that ended within a character.
    rest: Vec<u8>,
    is_begun: bool,
    rows: u64,
}

/// Opens a text file.
///
/// # Errors
/// 4860 and 4861.
pub fn open<'o>(
    path: &str,
    options: &'o Options,
) -> Result<Text<'o, impl FnMut(&mut [u8]) -> Result<usize> + use<'o>>> {
    let file = waiting(|| RandomReader::open(path)).map_err(|error| not_opened(path, &error))?;
    let path = path.to_owned();
    let mut at = 0_u64;
    let read = move |into: &mut [u8]| -> Result<usize> {
        let left = usize::try_from(file.byte_count().saturating_sub(at)).unwrap_or(usize::MAX);
        let size = left.min(into.len());
        let read: io::Result<()> = waiting(|| file.read_at(at, &mut into[..size]));
        read.map_err(|error| not_opened(&path, &error))?;
        at += u64::try_from(size).unwrap_or(0);
        Ok(size)
    };
    Ok(Text::new(options, read))
}

impl<'o, R: FnMut(&mut [u8]) -> Result<usize>> Text<'o, R> {
    fn new(options: &'o Options, read: R) -> Self {
        let (buffer, rest) = (Vec::new(), Vec::new());
        Self { options, read, buffer, is_end: false, rest, is_begun: false, rows: 0 }
    }

    /// Calls `give` with each row; a row has `columns` fields.
    ///
    /// # Errors
    /// 4861 for the file, 4832 if it ends within a character, 4866 for a row that is too long, 701,
    /// and the errors of `give`.
    pub fn each<E: From<Error>>(
        &mut self,
        columns: usize,
        give: Give<'_, E>,
    ) -> std::result::Result<(), E> {
        loop {
            self.fill()?;
            let tail = if self.is_end { Tail::Whole } else { Tail::Cut };
            let mut rows = Rows::new(&self.buffer, &self.options.shape, tail);
            while let Some(row) = rows.next(columns) {
                self.rows += 1;
                if give(row)? == Wanted::Enough {
                    return Ok(());
                }
            }
            let used = rows.position();
            if self.is_end {
                return Ok(());
            }
            self.buffer.drain(..used);
            if self.buffer.len() > ROW_BYTES_MAX {
                let row = i64::try_from(self.rows + 1).unwrap_or(i64::MAX);
                return Err(Error::from(Msg::BulkColumnTooLong(row, 1)).into());
            }
            sos::memory::wait_for_room(0, None).map_err(|_| Error::from(Msg::OutOfMemory))?;
        }
    }

    /// Reads a piece; doubles the buffer if a row is longer than that.
    fn fill(&mut self) -> Result<()> {
        let wanted = self.buffer.len().max(PIECE_BYTES);
        let start = self.buffer.len();
        self.buffer.resize(start + wanted, 0);
        let read = (self.read)(&mut self.buffer[start..])?;
        self.buffer.truncate(start + read);
        self.is_end = read < wanted;
        let is_first = !std::mem::replace(&mut self.is_begun, true);
        if self.options.is_wide() {
            return self.narrow(start, is_first);
        }
        if is_first && self.options.is_utf8() && self.buffer.starts_with(b"\xEF\xBB\xBF") {
            self.buffer.drain(..3);
        }
        Ok(())
    }

    /// Converts what was read behind `start` from UTF-16 to UTF-8, in which terminators are
    /// searched.
    fn narrow(&mut self, start: usize, is_first: bool) -> Result<()> {
        let mut wide = std::mem::take(&mut self.rest);
        wide.extend_from_slice(&self.buffer[start..]);
        self.buffer.truncate(start);
        let mut units: Vec<u16> =
            wide.as_chunks::<2>().0.iter().map(|unit| u16::from_le_bytes(*unit)).collect();
        let mut used = units.len() * 2;
        // The second half of a character is in the next piece.
        if !self.is_end && units.last().is_some_and(|unit| (0xD800..0xDC00).contains(unit)) {
            units.pop();
            used -= 2;
        }
        self.rest = wide.split_off(used);
        if self.is_end && !self.rest.is_empty() {
            return Err(Msg::BulkUnexpectedEnd.into());
        }
        let mark = usize::from(is_first && units.first() == Some(&0xFEFF));
        self.buffer.extend_from_slice(String::from_utf16_lossy(&units[mark..]).as_bytes());
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::option::Options;

    type Read = Vec<std::result::Result<Vec<(Vec<u8>, bool)>, UnexpectedEnd>>;

    fn rows(options: &Options, bytes: &[u8], columns: usize) -> Read {
        let mut at = 0;
        let mut text = Text::new(options, |into: &mut [u8]| {
            let size = into.len().min(bytes.len() - at);
            into[..size].copy_from_slice(&bytes[at..at + size]);
            at += size;
            Ok(size)
        });
        let mut found = Vec::new();
        let given = text.each::<Error>(columns, &mut |row| {
            let owned = |(bytes, quoted): Field<'_>| (bytes.into_owned(), quoted);
            found.push(row.map(|fields| fields.into_iter().map(owned).collect()));
            Ok(Wanted::More)
        });
        given.unwrap();
        found
    }

    fn whole(options: &Options, bytes: &[u8], columns: usize) -> Read {
        let mut rows = Rows::new(bytes, &options.shape, Tail::Whole);
        let owned = |(bytes, quoted): Field<'_>| (bytes.into_owned(), quoted);
        std::iter::from_fn(|| rows.next(columns))
            .map(|row| row.map(|fields| fields.into_iter().map(owned).collect()))
            .collect()
    }

    /// Random texts of these characters: xorshift64*.
    fn texts(of: &'static str, longest: u64) -> impl Iterator<Item = String> {
        let characters: Vec<char> = of.chars().collect();
        let mut state = 0x9E37_79B9_7F4A_7C15_u64;
        let mut below = move |most: u64| {
            state ^= state >> 12;
            state ^= state << 25;
            state ^= state >> 27;
            (state.wrapping_mul(0x2545_F491_4F6C_DD1D) >> 33) % most
        };
        let count = u64::try_from(characters.len()).unwrap();
        (0..10_000).map(move |_| {
            let length = below(longest);
            (0..length).map(|_| characters[usize::try_from(below(count)).unwrap()]).collect()
        })
    }

    #[test]
    fn a_file_in_pieces_has_the_rows_that_it_has_as_a_whole() {
        let mut longer = Options::plain();
        longer.shape.field = b";,".to_vec();
        longer.shape.row = b"|\n".to_vec();
        for options in [Options::plain(), Options::csv(), longer] {
            for (text, columns) in texts("a,;\"\r\n|\t", 40).zip((1..4_usize).cycle()) {
                let bytes = text.as_bytes();
                let wanted = whole(&options, bytes, columns);
                assert_eq!(rows(&options, bytes, columns), wanted, "{text:?}, {columns} columns");
            }
        }
    }

    #[test]
    fn characters_of_utf_16_are_whole_wherever_a_piece_ends() {
        let options = Options::wide();
        for text in texts("a😀é\n", 30) {
            let units = std::iter::once(0xFEFF).chain(text.encode_utf16());
            let wide: Vec<u8> = units.flat_map(u16::to_le_bytes).collect();
            assert_eq!(rows(&options, &wide, 1), whole(&options, text.as_bytes(), 1), "{text:?}");
        }
    }
}
