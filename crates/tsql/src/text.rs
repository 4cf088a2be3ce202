//! Converts byte offsets of a batch's text into lines and UTF-16 offsets, the units of clients and
//! views.

/// Returns the 1-based line of byte `offset` of `text`.
pub fn line_at(text: &str, offset: u32) -> u32 {
    let before = text.as_bytes().get(..offset as usize).unwrap_or(text.as_bytes());
    let breaks = before.iter().filter(|&&byte| byte == b'\n').count();
    u32::try_from(breaks).unwrap_or(u32::MAX - 1) + 1
}

/// Returns the offset in the text's UTF-16 form, in bytes, of byte `offset` of `text`: the unit of
/// `statement_start_offset` in `sys.dm_exec_requests`.
pub fn utf16_offset(text: &str, offset: u32) -> u32 {
    let before = text.get(..offset as usize).unwrap_or(text);
    let units: usize = before.chars().map(char::len_utf16).sum();
    u32::try_from(units * 2).unwrap_or(u32::MAX)
}

/// Offsets of a text as [`utf16_offset`] returns them, each counted from the one before it: those of all statements of a
/// long text are one pass over it.
#[derive(Debug)]
pub struct Utf16Offsets<'t> {
    text: &'t str,
    /// A byte offset that is known, and its form in UTF-16, in units.
    known: (usize, usize),
}

impl<'t> Utf16Offsets<'t> {
    /// Makes the offsets of a text.
    pub const fn new(text: &'t str) -> Self {
        Self { text, known: (0, 0) }
    }

    /// Goes on from a byte offset that [`Self::known`] has returned for the same text.
    pub const fn from_known(text: &'t str, known: (usize, usize)) -> Self {
        Self { text, known }
    }

    /// Returns the last offset that was asked for, in bytes, and its form in UTF-16, in units.
    pub const fn known(&self) -> (usize, usize) {
        self.known
    }

    /// Returns the offset in the text's UTF-16 form, in bytes, of byte `offset` of the text.
    pub fn at(&mut self, offset: u32) -> u32 {
        let end = (offset as usize).min(self.text.len());
        let (known, units) = if end < self.known.0 { (0, 0) } else { self.known };
        let between = self.text.get(known..end).unwrap_or_default();
        let units = units + between.chars().map(char::len_utf16).sum::<usize>();
        self.known = (end, units);
        u32::try_from(units * 2).unwrap_or(u32::MAX)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn offsets_do_not_depend_on_those_before() {
        let text = "aä😀b\n".repeat(5);
        let mut offsets = Utf16Offsets::new(&text);
        let places = text.char_indices().map(|(at, _)| u32::try_from(at).unwrap());
        let places: Vec<u32> = places.chain([u32::try_from(text.len()).unwrap()]).collect();
        for at in places.iter().chain(places.iter().rev()) {
            assert_eq!(offsets.at(*at), utf16_offset(&text, *at), "{at}");
        }
        assert_eq!(offsets.at(u32::MAX), utf16_offset(&text, u32::MAX), "past the end is the end");
    }
}
