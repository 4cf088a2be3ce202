//! A latch for index nodes: readers write nothing, and check afterwards that no writer came between.
//!
//! | bits     | meaning                                                        |
//! |----------|----------------------------------------------------------------|
//! | 0        | a writer holds the node                                        |
//! | 1        | the node has left the tree; nobody will ever hold it again     |
//! | 2 and up | version, one more with every writer that has changed the node  |
//!
//! Optimistic lock coupling as in "The ART of Practical Synchronization" (Leis et al., 2016).

use crate::lock::SpinClass;
use crate::lock::class::Contention;
use crate::sync::{AtomicU64, Ordering, fence};

const LOCKED: u64 = 1;
const OBSOLETE: u64 = 2;
const VERSION: u64 = 4;

/// The node was changed or has left the tree: start again from the root.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ObsoleteError;

/// The word of an optimistic latch. Guards no value itself: what it guards must be readable while
/// being written, that is, made of atomics or validated after copying.
#[derive(Debug)]
pub struct VersionLatch {
    word: AtomicU64,
}

impl VersionLatch {
    /// Makes a free latch of version 0.
    #[must_use]
    pub fn new() -> Self {
        Self { word: AtomicU64::new(0) }
    }

    /// Begins to read: waits out a writer, and returns the version to check with [`Self::validate`].
    #[inline]
    pub fn read(&self) -> Result<u64, ObsoleteError> {
        // Acquire: pairs with the Release of `VersionGuard`'s drop.
        let word = self.word.load(Ordering::Acquire);
        if word & (LOCKED | OBSOLETE) == 0 { Ok(word) } else { self.read_contended() }
    }

    #[cold]
    fn read_contended(&self) -> Result<u64, ObsoleteError> {
        let mut contention = Contention::begin(SpinClass::XtpIndex);
        loop {
            let word = self.word.load(Ordering::Acquire);
            if word & OBSOLETE != 0 {
                return Err(ObsoleteError);
            }
            if word & LOCKED == 0 {
                return Ok(word);
            }
            contention.pause();
        }
    }

    /// Whether what was read since `version` is still true.
    #[inline]
    #[must_use]
    pub fn validate(&self, version: u64) -> bool {
        // Acquire fence: the reads it judges happen before the load; pairs with the Acquire of the
        // writer's exchange and the Release fence behind it.
        fence(Ordering::Acquire);
        self.word.load(Ordering::Relaxed) == version
    }

    /// Becomes the writer if nothing changed since `version`.
    #[inline]
    pub fn upgrade(&self, version: u64) -> Result<VersionGuard<'_>, ObsoleteError> {
        self.word
            .compare_exchange(version, version | LOCKED, Ordering::Acquire, Ordering::Relaxed)
            .map_err(|_| ObsoleteError)?;
        // Release fence: a reader that sees one of this writer's stores also sees the latch taken.
        fence(Ordering::Release);
        Ok(VersionGuard { latch: self, retire: false })
    }

    /// Becomes the writer, waiting out another one.
    pub fn lock(&self) -> Result<VersionGuard<'_>, ObsoleteError> {
        loop {
            let version = self.read()?;
            if let Ok(guard) = self.upgrade(version) {
                return Ok(guard);
            }
        }
    }
}

impl Default for VersionLatch {
    fn default() -> Self {
        Self::new()
    }
}

/// Proof that this thread is the writer; a new version begins when it is dropped.
#[derive(Debug)]
pub struct VersionGuard<'a> {
    latch: &'a VersionLatch,
    retire: bool,
}

impl VersionGuard<'_> {
    /// Marks the node as having left the tree: every later visitor gets [`ObsoleteError`].
    pub fn retire(mut self) {
        self.retire = true;
    }
}

impl Drop for VersionGuard<'_> {
    fn drop(&mut self) {
        let locked = self.latch.word.load(Ordering::Relaxed);
        let mark = if self.retire { OBSOLETE } else { 0 };
        // Release: pairs with the Acquire in `read`.
        self.latch.word.store((locked & !LOCKED).wrapping_add(VERSION) | mark, Ordering::Release);
    }
}
