//! `Sink`: where encoded bytes go, either a plain vector or the packets of a response.

use types::Bytes;

/// Takes encoded bytes.
pub trait Sink {
    /// Appends bytes.
    fn put(&mut self, bytes: &[u8]);

    /// Appends a value's bytes, by reference if the sink can and it pays.
    fn put_shared(&mut self, bytes: &Bytes);
}

impl Sink for Vec<u8> {
    fn put(&mut self, bytes: &[u8]) {
        self.extend_from_slice(bytes);
    }

    fn put_shared(&mut self, bytes: &Bytes) {
        self.extend_from_slice(bytes);
    }
}
