//! `Version`: one state of a row and its commit time, in one allocation.
//!
//! ```text
//! begin word           meaning
//! ts << 2 | 0          committed at ts
//! pointer | 1          written by the transaction whose state is there
//! 2  (COMMITTING)      an autocommit write, decided, whose timestamp is being taken
//! 3  (PENDING)         an autocommit insert, not decided yet: readers skip it
//!
//! +--------+----------------+------------+
//! | header | blobs: [Bytes] | bytes [u8] |
//! +--------+----------------+------------+
//! ```
//! A version never changes except for its begin word (towards committed), its mark and its link. The chain is
//! linked newest to oldest; a `Lock` marks ownership without a change, and readers pass over it. The
//! mark of its epoch is there before the begin word says that it is committed, or being committed.

use std::alloc::Layout;
use std::ptr::NonNull;
use std::sync::atomic::AtomicU8;

use types::Bytes;

use crate::durability::EpochMark;
use crate::primitives::{AtomicPtr, AtomicU32, AtomicU64, Guard, Ordering, Timestamp, booked};
use crate::spec::{Error, Result, RowImage};
use crate::version::TxState;

/// What a version says about its row.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum VersionKind {
    /// The row has this content.
    Data,
    /// The row is deleted.
    Tombstone,
    /// The row is in a row group from now on; the bytes say at which place
    /// (`columnstore/moving.rs`).
    Moved,
    /// The row is owned but not changed: the next version has its content.
    Lock,
}

/// The begin word, decoded: who wrote the version, or when it was committed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Begin {
    Committed(Timestamp),
    Transaction(*const TxState),
    Committing,
    Pending,
}

const TAG_MASK: u64 = 3;
const TAG_TRANSACTION: u64 = 1;
const COMMITTING: u64 = 2;
const PENDING: u64 = 3;

impl Begin {
    fn encode(self) -> u64 {
        match self {
            Self::Committed(ts) => ts.0 << 2,
            Self::Transaction(state) => state.expose_provenance() as u64 | TAG_TRANSACTION,
            Self::Committing => COMMITTING,
            Self::Pending => PENDING,
        }
    }

    #[expect(clippy::cast_possible_truncation, reason = "a pointer was encoded")]
    #[inline]
    fn decode(word: u64) -> Self {
        match word & TAG_MASK {
            0 => Self::Committed(Timestamp(word >> 2)),
            TAG_TRANSACTION => {
                Self::Transaction(std::ptr::with_exposed_provenance((word & !TAG_MASK) as usize))
            }
            COMMITTING => Self::Committing,
            _ => Self::Pending,
        }
    }
}

/// A row version: this header, followed in memory by the blobs and the bytes.
#[repr(C)]
pub(crate) struct Version {
    begin: AtomicU64,
    /// The next older version; null at the end of the chain.
    pub(crate) next: AtomicPtr<Version>,
    /// The number, within its transaction, of the statement that wrote it.
    pub(crate) command: u32,
    bytes_len: u32,
    /// What it keeps of its epoch: an [`EpochMark`].
    mark: AtomicU32,
    blobs_len: u16,
    pub(crate) kind: VersionKind,
    /// The part of each range index that has its entries (`index/spread.rs`).
    part: AtomicU8,
}

const _: () = assert!(cfg!(any(loom, shuttle)) || size_of::<Version>() == 32);

impl Version {
    /// Allocates a version of a row; the blobs are shared, not copied. The caller has asked for its
    /// memory.
    pub(crate) fn allocate(
        kind: VersionKind,
        begin: Begin,
        command: u32,
        next: *mut Self,
        image: RowImage<'_>,
    ) -> Result<NonNull<Self>> {
        let bytes_len = u32::try_from(image.bytes.len()).map_err(|_| Error::OutOfMemory)?;
        let blobs_len = u16::try_from(image.blobs.len()).map_err(|_| Error::OutOfMemory)?;
        let layout = Self::layout(bytes_len, blobs_len);
        // SAFETY: the layout has a size of at least the header's.
        let place = booked(|| unsafe { std::alloc::alloc(layout) }).cast::<Self>();
        let place = NonNull::new(place).ok_or(Error::OutOfMemory)?;
        let header = Self {
            begin: AtomicU64::new(begin.encode()),
            next: AtomicPtr::new(next),
            command,
            bytes_len,
            mark: AtomicU32::new(EpochMark::NONE.0),
            blobs_len,
            kind,
            part: AtomicU8::new(0),
        };
        // SAFETY: `place` is fresh, large enough and aligned for the header.
        unsafe { place.write(header) };
        // SAFETY: `place` is being made here, with the layout `blobs_start` counts on.
        let blobs = unsafe { blobs_start(place) };
        for (i, blob) in image.blobs.iter().enumerate() {
            // SAFETY: the layout holds `blobs_len` blobs behind the header.
            let slot = unsafe { blobs.add(i) };
            // SAFETY: as above; the slot is fresh memory, aligned for `Bytes`.
            unsafe { slot.write(blob.clone()) };
        }
        // SAFETY: the layout holds `bytes_len` bytes behind the blobs.
        let target = unsafe { blobs.add(image.blobs.len()) }.cast::<u8>();
        // SAFETY: as above, and fresh memory does not overlap the image.
        unsafe { target.copy_from_nonoverlapping(image.bytes.as_ptr(), image.bytes.len()) };
        Ok(place)
    }

    /// Frees a version and its references to the blobs.
    ///
    /// # Safety
    /// `version` came from `allocate`, is freed once, and no thread can reach it any more.
    pub(crate) unsafe fn free(version: NonNull<Self>) {
        // SAFETY: the caller's promise: it is still allocated.
        let (bytes_len, blobs_len) = unsafe {
            let header = version.as_ref();
            (header.bytes_len, header.blobs_len)
        };
        // SAFETY: the blobs are behind the header, written by `allocate`.
        let blobs =
            std::ptr::slice_from_raw_parts_mut(unsafe { blobs_start(version) }, blobs_len.into());
        // SAFETY: they are initialised and no other thread can reach them.
        unsafe { blobs.drop_in_place() };
        let layout = Self::layout(bytes_len, blobs_len);
        // SAFETY: the same layout as in `allocate`.
        unsafe { std::alloc::dealloc(version.as_ptr().cast(), layout) };
    }

    fn layout(bytes_len: u32, blobs_len: u16) -> Layout {
        let size = size_of::<Self>() + usize::from(blobs_len) * size_of::<Bytes>();
        let size = size + usize::try_from(bytes_len).expect("a usize holds a u32");
        Layout::from_size_align(size, align_of::<Self>()).expect("at most 4 GiB and some blobs")
    }

    /// Returns the bytes of memory the version takes, without its blobs' content.
    pub(crate) fn memory(&self) -> i64 {
        i64::try_from(Self::layout(self.bytes_len, self.blobs_len).size()).unwrap_or(i64::MAX)
    }

    /// Returns the bytes that freeing the version may give back.
    #[cfg(not(any(loom, shuttle)))]
    pub(crate) fn memory_with_blobs(&self) -> usize {
        let blobs = self.image().blobs;
        Self::layout(self.bytes_len, self.blobs_len).size()
            + blobs.iter().map(|blob| blob.len()).sum::<usize>()
    }

    /// Returns the row image of the version.
    #[inline]
    pub(crate) fn image(&self) -> RowImage<'_> {
        let bytes_len = usize::try_from(self.bytes_len).expect("a usize holds a u32");
        // SAFETY: only `allocate` makes versions, so the blobs are behind the header.
        let blobs = unsafe { blobs_start(NonNull::from(self)) };
        // SAFETY: the bytes are behind the blobs.
        let bytes = unsafe { blobs.add(usize::from(self.blobs_len)) }.cast::<u8>();
        RowImage {
            // SAFETY: initialised by `allocate`, immutable since, and alive as long as `self`.
            bytes: unsafe { std::slice::from_raw_parts(bytes, bytes_len) },
            // SAFETY: as above.
            blobs: unsafe { std::slice::from_raw_parts(blobs, self.blobs_len.into()) },
        }
    }

    /// Returns the decoded begin word.
    #[inline]
    pub(crate) fn begin(&self) -> Begin {
        // Acquire: pairs with the Release in `stamp` and `replace_begin`.
        Begin::decode(self.begin.load(Ordering::Acquire))
    }

    /// Returns the part of range indexes that has the version's entries; 0 for the main tree.
    #[inline]
    pub(crate) fn part(&self) -> u8 {
        // Relaxed: set before the version is linked.
        self.part.load(Ordering::Relaxed)
    }

    /// Sets the part, before the version is linked.
    pub(crate) fn set_part(&self, part: u8) {
        self.part.store(part, Ordering::Relaxed);
    }

    /// Returns what the version keeps of its epoch, once it is committed.
    #[inline]
    pub(crate) fn mark(&self) -> EpochMark {
        // Relaxed: the begin word, which was read before, orders it.
        EpochMark(self.mark.load(Ordering::Relaxed))
    }

    /// Sets the mark, before a begin word that says that the version is committed. Several threads
    /// may do so; all write the same.
    pub(crate) fn set_mark(&self, mark: EpochMark) {
        if mark != EpochMark::NONE {
            // Relaxed: published by the begin word.
            self.mark.store(mark.0, Ordering::Relaxed);
        }
    }

    /// Stamps the version with its commit time. Several threads may do so; all write the same time.
    pub(crate) fn stamp(&self, ts: Timestamp) {
        self.begin.store(Begin::Committed(ts).encode(), Ordering::Release);
    }

    /// Sets a begin word that only its writer may change.
    pub(crate) fn set_begin(&self, begin: Begin) {
        self.begin.store(begin.encode(), Ordering::Release);
    }

    /// Replaces the begin word if it is still `current`.
    pub(crate) fn replace_begin(&self, current: Begin, new: Begin) {
        // Losing means that another thread has decided the word; the caller reads it again.
        let _ = self.begin.compare_exchange(
            current.encode(),
            new.encode(),
            Ordering::AcqRel,
            Ordering::Acquire,
        );
    }
}

/// Returns where the blobs of a version start.
///
/// # Safety
/// `version` was made by `Version::allocate`.
#[inline]
unsafe fn blobs_start(version: NonNull<Version>) -> *mut Bytes {
    const { assert!(align_of::<Bytes>() <= align_of::<Version>()) };
    const { assert!(size_of::<Version>().is_multiple_of(align_of::<Bytes>())) };
    // SAFETY: the caller's promise: the allocation reaches at least to the end of the header.
    unsafe { version.as_ptr().add(1) }.cast()
}

/// Frees a version that has just been made unreachable, once no thread can still be reading it.
///
/// # Safety
/// No thread that pins after this call can reach `version`, and it is retired once.
pub(crate) unsafe fn retire_version(guard: &Guard, version: NonNull<Version>) {
    #[cfg(not(any(loom, shuttle)))]
    {
        unsafe fn free(pointer: *mut ()) {
            let version = NonNull::new(pointer.cast()).expect("a version was retired");
            // SAFETY: handed on to the caller of `retire_version`.
            unsafe { Version::free(version) };
        }
        // SAFETY: the caller's promise: still allocated.
        let bytes = unsafe { version.as_ref() }.memory_with_blobs();
        // SAFETY: handed on to our caller; versions may be freed by any thread.
        unsafe { sos::epoch::retire(guard, version.as_ptr().cast(), free, bytes) };
    }
    #[cfg(any(loom, shuttle))]
    let _ = (guard, version);
}
