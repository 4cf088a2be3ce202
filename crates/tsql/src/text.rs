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
