//! Collations: how strings compare, sort and are encoded on the wire.

/// A collation, by its index in the registry of known collations. Copy, two bytes.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct Collation(pub(crate) u16);

impl Default for Collation {
    /// Returns the server's default, `SQL_Latin1_General_CP1_CI_AS`.
    fn default() -> Self {
        Self(0)
    }
}
