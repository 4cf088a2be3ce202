//! `VersionLatch`: a latch for index nodes. Readers write nothing, and check afterwards that there
//! was no writer in between.
//!
//! | bits     | meaning                                                        |
//! |----------|----------------------------------------------------------------|
//! | 0        | a writer holds the node                                        |
//! | 1        | the node has left the tree; no thread can lock it again        |
//! | 2 and up | version, incremented by every writer that changes the node     |
//!
//! Optimistic lock coupling as in "The ART of Practical Synchronization" (Leis et al., 2016).

use std::marker::PhantomData;

use super::spin_slow_path::{self, SpinSlowPath};
use super::{Proven, SpinClass};
use crate::sync::{AtomicU64, Ordering, fence};

const LOCKED: u64 = 1;
const OBSOLETE: u64 = 2;
const VERSION: u64 = 4;

/// The node was changed or has left the tree: start again from the root.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ObsoleteError;

/// The orderings of a [`VersionLatch`]; other than [`Proven`] only in tests that must fail.
pub trait VersionOrders {
    /// Whether the writer has its fence after taking the latch.
    const WRITER_FENCE: bool;
    /// The ordering of the reader's fence before the check, if it has one.
    const READER_FENCE: Option<Ordering>;
}

impl VersionOrders for Proven {
    const WRITER_FENCE: bool = true;
    const READER_FENCE: Option<Ordering> = Some(Ordering::Acquire);
}

/// The word of an optimistic latch. It holds no value: the guarded data must be readable while
/// being written, that is, made of atomics or validated after copying.
#[derive(Debug)]
pub struct VersionLatch<O = Proven> {
    word: AtomicU64,
    orders: PhantomData<O>,
}

impl<O: VersionOrders> VersionLatch<O> {
    /// Makes a free latch of version 0.
    #[must_use]
    pub fn new() -> Self {
        Self { word: AtomicU64::new(0), orders: PhantomData }
    }

    /// Begins a read: waits while there is a writer, and returns the version for
    /// [`Self::validate`].
    #[inline]
    pub fn read(&self) -> Result<u64, ObsoleteError> {
        // Acquire: pairs with the Release of `VersionGuard`'s drop.
        let word = self.word.load(Ordering::Acquire);
        if word & (LOCKED | OBSOLETE) == 0 { Ok(word) } else { self.read_contended() }
    }

    #[cold]
    fn read_contended(&self) -> Result<u64, ObsoleteError> {
        let mut slow_path =
            SpinSlowPath::begin(SpinClass::XtpIndex, 0, std::ptr::from_ref(self).addr());
        let version = loop {
            let word = self.word.load(Ordering::Acquire);
            if word & OBSOLETE != 0 {
                break Err(ObsoleteError);
            }
            if word & LOCKED == 0 {
                break Ok(word);
            }
            slow_path.pause();
        };
        spin_slow_path::book(Some(slow_path.end()));
        version
    }

    /// Whether no writer has changed the node since `version`.
    #[inline]
    #[must_use]
    pub fn validate(&self, version: u64) -> bool {
        // Acquire fence: pairs with the Release fence in `upgrade`. A read that saw what a writer
        // stored makes this load see that the writer had taken the latch.
        if let Some(order) = O::READER_FENCE {
            fence(order);
        }
        self.word.load(Ordering::Relaxed) == version
    }

    /// Becomes the writer if nothing changed since `version`.
    #[inline]
    pub fn upgrade(&self, version: u64) -> Result<VersionGuard<'_, O>, ObsoleteError> {
        self.word
            .compare_exchange(version, version | LOCKED, Ordering::Acquire, Ordering::Relaxed)
            .map_err(|_| ObsoleteError)?;
        // Release fence: pairs with the Acquire fence in `validate`.
        if O::WRITER_FENCE {
            fence(Ordering::Release);
        }
        let panics_before = std::thread::panicking();
        Ok(VersionGuard { latch: self, retire: false, panics_before })
    }

    /// Becomes the writer, waiting while there is another one.
    pub fn lock(&self) -> Result<VersionGuard<'_, O>, ObsoleteError> {
        loop {
            let version = self.read()?;
            if let Ok(guard) = self.upgrade(version) {
                return Ok(guard);
            }
        }
    }
}

impl<O: VersionOrders> Default for VersionLatch<O> {
    fn default() -> Self {
        Self::new()
    }
}

/// Proof that this thread is the writer; dropping it frees the latch and increments the version.
#[derive(Debug)]
pub struct VersionGuard<'a, O = Proven> {
    latch: &'a VersionLatch<O>,
    retire: bool,
    panics_before: bool,
}

impl<O> VersionGuard<'_, O> {
    /// Marks the node as having left the tree: every later visitor gets [`ObsoleteError`].
    pub fn retire(mut self) {
        self.retire = true;
    }
}

impl<O> Drop for VersionGuard<'_, O> {
    fn drop(&mut self) {
        if std::thread::panicking() && !self.panics_before {
            super::poisoned(SpinClass::XtpIndex.name());
        }
        let locked = self.latch.word.load(Ordering::Relaxed);
        let mark = if self.retire { OBSOLETE } else { 0 };
        // Release: pairs with the Acquire in `read`.
        self.latch.word.store((locked & !LOCKED).wrapping_add(VERSION) | mark, Ordering::Release);
    }
}
