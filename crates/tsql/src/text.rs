//! Places in a batch's text, in the units that clients and views use.

/// Returns the 1-based line of byte `offset` of `text`.
pub fn line_at(text: &str, offset: u32) -> u32 {
    let before = text.as_bytes().get(..offset as usize).unwrap_or(text.as_bytes());
    let breaks = before.iter().filter(|&&byte| byte == b'\n').count();
    u32::try_from(breaks).unwrap_or(u32::MAX - 1) + 1
}

/// Returns where byte `offset` of `text` lies in its UTF-16 form, in bytes, as
/// `statement_start_offset` of `sys.dm_exec_requests` and its kin count.
pub fn utf16_offset(text: &str, offset: u32) -> u32 {
    let before = text.get(..offset as usize).unwrap_or(text);
    let units: usize = before.chars().map(char::len_utf16).sum();
    u32::try_from(units * 2).unwrap_or(u32::MAX)
}
