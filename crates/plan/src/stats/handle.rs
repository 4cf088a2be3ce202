//! Handles and hashes by which views identify texts, plans and statements. They are hashes of the
//! content, so every process computes the same ones.

use md5::{Digest, Md5};

/// `sql_handle` or `plan_handle`: its kind, the id of the database, and an MD5.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Handle([u8; Handle::BYTES]);

/// The kind of a handle. The numbers are those that SQL Server's handles begin with.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum HandleKind {
    /// Text of a batch or a parameterised statement.
    Text = 2,
    /// Text of an object.
    ObjectText = 3,
    /// Plan of an object.
    ObjectPlan = 5,
    /// Plan of a batch or a parameterised statement.
    Plan = 6,
}

impl Handle {
    /// Length of a handle in bytes.
    pub const BYTES: usize = 20;

    /// Returns the handle of `parts`, which belong to a database (0 for a text that belongs to
    /// none).
    pub fn new(kind: HandleKind, database_id: i16, parts: &[&[u8]]) -> Self {
        let mut hash = Md5::new();
        for part in parts {
            hash.update(u64::try_from(part.len()).unwrap_or(u64::MAX).to_le_bytes());
            hash.update(part);
        }
        let mut bytes = [0; Self::BYTES];
        bytes[0] = kind as u8;
        bytes[2..4].copy_from_slice(&database_id.to_le_bytes());
        bytes[4..].copy_from_slice(&hash.finalize());
        Self(bytes)
    }

    /// Returns the handle with these bytes; `None` if the length is wrong.
    pub fn from_bytes(bytes: &[u8]) -> Option<Self> {
        bytes.try_into().ok().map(Self)
    }

    /// Returns the bytes as views show them.
    pub const fn bytes(&self) -> &[u8] {
        &self.0
    }
}

/// Returns `statement_sql_handle` of a text in a Query Store: a type byte, and the MD5 of the text in
/// UTF-16.
pub fn statement_handle(text: &str) -> [u8; 44] {
    let mut hash = Md5::new();
    text.encode_utf16().for_each(|unit| hash.update(unit.to_le_bytes()));
    let mut bytes = [0; 44];
    bytes[0] = 9;
    bytes[2..18].copy_from_slice(&hash.finalize());
    bytes
}

/// FNV-1a of 64 bits, for `query_hash` and `query_plan_hash`.
#[derive(Clone, Copy, Debug)]
pub(super) struct Fingerprint(u64);

impl Default for Fingerprint {
    fn default() -> Self {
        Self(0xCBF2_9CE4_8422_2325)
    }
}

impl Fingerprint {
    /// Adds bytes to the hash.
    pub(super) fn bytes(&mut self, bytes: &[u8]) {
        for byte in bytes {
            self.0 = (self.0 ^ u64::from(*byte)).wrapping_mul(0x0100_0000_01B3);
        }
    }

    /// Hashes a number, little-endian.
    pub(super) fn number(&mut self, n: u64) {
        self.bytes(&n.to_le_bytes());
    }

    /// Returns the hash as a `binary(8)`.
    pub(super) const fn finish(self) -> [u8; 8] {
        self.0.to_be_bytes()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_handle_tells_kinds_databases_and_texts_apart() {
        let of = |kind, database, parts: &[&[u8]]| Handle::new(kind, database, parts);
        let one = of(HandleKind::Text, 0, &[b"SELECT 1"]);
        assert_eq!(one, of(HandleKind::Text, 0, &[b"SELECT 1"]));
        assert_eq!(one.bytes()[..4], [2, 0, 0, 0]);
        assert_ne!(one, of(HandleKind::Text, 0, &[b"SELECT ", b"1"]));
        assert_ne!(one, of(HandleKind::Plan, 0, &[b"SELECT 1"]));
        assert_ne!(of(HandleKind::Plan, 5, &[b"x"]), of(HandleKind::Plan, 6, &[b"x"]));
    }

    #[test]
    fn the_fingerprint_is_fnv_1a() {
        let mut hash = Fingerprint::default();
        hash.bytes(b"foobar");
        assert_eq!(u64::from_be_bytes(hash.finish()), 0x8594_4171_F739_67E8);
    }
}
