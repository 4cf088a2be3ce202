//! `Sink`: the destination of encoded bytes, a plain vector or the packets of a response.

use types::Bytes;

/// A destination of encoded bytes.
pub trait Sink {
    /// Appends a copy of the bytes.
    fn put(&mut self, bytes: &[u8]);

    /// Appends a value's bytes, by reference if the sink supports it and the value is long enough.
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
