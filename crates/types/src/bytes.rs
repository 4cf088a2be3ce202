//! `Bytes`: an immutable sequence of bytes that is cheap to clone.
//!
//! Up to 22 bytes are stored inline, so that short strings cost no allocation; longer ones are
//! shared by reference count, so that a 10 MB blob is never copied on its way from the wire to a
//! row version and back. A slice of a shared sequence is shared as well.

use std::sync::Arc;

/// The longest sequence that is stored inline, in bytes.
pub const INLINE_MAX: usize = 22;

/// An immutable sequence of bytes: inline if short, shared if long. 24 bytes in size.
#[derive(Clone)]
pub struct Bytes(Repr);

#[derive(Clone)]
enum Repr {
    Inline { len: u8, data: [u8; INLINE_MAX] },
    Shared(Arc<[u8]>),
}

impl Bytes {
    /// Returns the empty sequence.
    #[inline]
    pub const fn new() -> Self {
        Self(Repr::Inline { len: 0, data: [0; INLINE_MAX] })
    }

    /// Copies `source`; allocates only if it is longer than [`INLINE_MAX`].
    pub fn copy_from(source: &[u8]) -> Self {
        let Ok(len) = u8::try_from(source.len()) else { return Self(Repr::Shared(source.into())) };
        if usize::from(len) > INLINE_MAX {
            return Self(Repr::Shared(source.into()));
        }
        let mut data = [0; INLINE_MAX];
        data[..source.len()].copy_from_slice(source);
        Self(Repr::Inline { len, data })
    }

    /// Takes over a shared sequence without copying it.
    #[inline]
    pub fn from_shared(shared: Arc<[u8]>) -> Self {
        Self(Repr::Shared(shared))
    }

    /// Returns the shared allocation of a long sequence, `None` for an inline one.
    #[inline]
    pub fn as_shared(&self) -> Option<&Arc<[u8]>> {
        match &self.0 {
            Repr::Inline { .. } => None,
            Repr::Shared(shared) => Some(shared),
        }
    }

    /// Returns the bytes as a slice.
    #[inline]
    pub fn as_slice(&self) -> &[u8] {
        match &self.0 {
            Repr::Inline { len, data } => &data[..usize::from(*len)],
            Repr::Shared(shared) => shared,
        }
    }
}

impl Default for Bytes {
    #[inline]
    fn default() -> Self {
        Self::new()
    }
}

impl std::ops::Deref for Bytes {
    type Target = [u8];
    #[inline]
    fn deref(&self) -> &[u8] {
        self.as_slice()
    }
}

impl From<&[u8]> for Bytes {
    #[inline]
    fn from(source: &[u8]) -> Self {
        Self::copy_from(source)
    }
}

impl From<Vec<u8>> for Bytes {
    #[inline]
    fn from(source: Vec<u8>) -> Self {
        if source.len() <= INLINE_MAX {
            Self::copy_from(&source)
        } else {
            Self(Repr::Shared(source.into()))
        }
    }
}

impl PartialEq for Bytes {
    #[inline]
    fn eq(&self, other: &Self) -> bool {
        self.as_slice() == other.as_slice()
    }
}
impl Eq for Bytes {}

impl std::hash::Hash for Bytes {
    fn hash<H: std::hash::Hasher>(&self, state: &mut H) {
        self.as_slice().hash(state);
    }
}

impl std::fmt::Debug for Bytes {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("0x")?;
        self.iter().take(32).try_for_each(|b| write!(f, "{b:02X}"))?;
        if self.len() > 32 { write!(f, "..({} bytes)", self.len()) } else { Ok(()) }
    }
}
