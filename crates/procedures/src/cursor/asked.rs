//! `@scrollopt` and `@ccopt` of sp_cursoropen: what a client asks for and what it gets.

use types::Msg;

use ::session::cursor::{Concurrency, Cursor, CursorKind};
use interpreter::Stop;

/// Bits of `@scrollopt`, as documented for sp_cursoropen.
mod scroll {
    pub(super) const KEYSET: i64 = 0x01;
    pub(super) const DYNAMIC: i64 = 0x02;
    pub(super) const FORWARD_ONLY: i64 = 0x04;
    pub(super) const STATIC: i64 = 0x08;
    pub(super) const FAST_FORWARD: i64 = 0x10;
    pub(super) const AUTO_FETCH: i64 = 0x2000;
    pub(super) const AUTO_CLOSE: i64 = 0x4000;
}

/// Bits of `@ccopt`. ALLOW_DIRECT executes a statement that no cursor can be opened on without a
/// cursor.
mod concurrency {
    pub(super) const READ_ONLY: i64 = 0x01;
    pub(super) const SCROLL_LOCKS: i64 = 0x02;
    pub(super) const OPTIMISTIC: i64 = 0x04;
    pub(super) const OPTIMISTIC_VALUES: i64 = 0x08;
    pub(super) const ALLOW_DIRECT: i64 = 0x2000;
}

/// Bit of both options: only the kinds whose bits, moved by `ACCEPTABLE`, are set will do.
const CHECK_ACCEPTED: i64 = 0x8000;
/// From the bit of a kind to the bit that accepts it.
const ACCEPTABLE: u32 = 16;

/// What a client asks for.
pub(super) struct Asked {
    pub(super) kind: CursorKind,
    pub(super) concurrency: Concurrency,
    /// Whether fetches may go backward.
    pub(super) scroll: bool,
    /// AUTO_FETCH: the first rows come with the open.
    pub(super) fetches: bool,
    /// AUTO_CLOSE: the cursor is closed at its end.
    pub(super) closes: bool,
    /// ALLOW_DIRECT: other statements run without a cursor.
    pub(super) may_be_direct: bool,
    scroll_bits: i64,
    concurrency_bits: i64,
}

impl Asked {
    /// Reads the options; without them a cursor is KEYSET and OPTIMISTIC.
    pub(super) fn of(scroll_bits: Option<i64>, concurrency_bits: Option<i64>) -> Self {
        let scroll_bits = scroll_bits.unwrap_or(scroll::KEYSET);
        let concurrency_bits = concurrency_bits.unwrap_or(concurrency::OPTIMISTIC);
        let has = |bit: i64| scroll_bits & bit != 0;
        let fast = has(scroll::FAST_FORWARD);
        let kind = if fast {
            CursorKind::FastForward
        } else if has(scroll::STATIC) {
            CursorKind::Static
        } else if has(scroll::DYNAMIC | scroll::FORWARD_ONLY) {
            CursorKind::Dynamic
        } else {
            CursorKind::Keyset
        };
        let concurrency = match concurrency_bits & 0x0F {
            bits if bits & concurrency::READ_ONLY != 0 => Concurrency::ReadOnly,
            bits if bits & concurrency::SCROLL_LOCKS != 0 => Concurrency::ScrollLocks,
            _ => Concurrency::Optimistic,
        };
        Self {
            kind,
            concurrency,
            scroll: !fast && !has(scroll::FORWARD_ONLY),
            fetches: has(scroll::AUTO_FETCH),
            closes: fast && has(scroll::AUTO_CLOSE),
            may_be_direct: concurrency_bits & concurrency::ALLOW_DIRECT != 0,
            scroll_bits,
            concurrency_bits,
        }
    }

    /// Checks that the client accepts what it gets.
    ///
    /// # Errors
    /// 16955 if it does not.
    pub(super) fn check(&self, cursor: &Cursor) -> Result<(), Stop> {
        let accepts = |bits: i64, got: i32| {
            bits & CHECK_ACCEPTED == 0 || bits & (i64::from(got) << ACCEPTABLE) != 0
        };
        let scroll = accepts(self.scroll_bits, scroll_of(cursor));
        if scroll && accepts(self.concurrency_bits, concurrency_of(cursor, self)) {
            return Ok(());
        }
        Err(Msg::CursorNotAcceptable.into())
    }
}

/// Returns the value of `@scrollopt` for a cursor.
pub(super) fn scroll_of(cursor: &Cursor) -> i32 {
    let bit = match cursor.kind {
        CursorKind::Static => scroll::STATIC,
        CursorKind::Keyset => scroll::KEYSET,
        CursorKind::Dynamic if !cursor.scroll => scroll::FORWARD_ONLY,
        CursorKind::Dynamic => scroll::DYNAMIC,
        CursorKind::FastForward => scroll::FAST_FORWARD,
    };
    i32::try_from(bit).unwrap_or(0)
}

/// Returns the value of `@ccopt` for a cursor: a comparison of rowversions needs such columns.
pub(super) fn concurrency_of(cursor: &Cursor, asked: &Asked) -> i32 {
    let tables = cursor.open.as_ref().map(|open| open.tables.as_slice()).unwrap_or_default();
    let versions = asked.concurrency_bits & concurrency::OPTIMISTIC_VALUES == 0
        && tables.iter().all(|table| table.row_version);
    let bit = match cursor.concurrency {
        Concurrency::ReadOnly => concurrency::READ_ONLY,
        Concurrency::ScrollLocks => concurrency::SCROLL_LOCKS,
        Concurrency::Optimistic if versions => concurrency::OPTIMISTIC,
        Concurrency::Optimistic => concurrency::OPTIMISTIC_VALUES,
    };
    i32::try_from(bit).unwrap_or(0)
}
