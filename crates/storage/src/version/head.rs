//! `RowHead`: the place of a row, which does not move while the row lives; its versions hang from it.

use crate::primitives::sync::{AtomicPtr, AtomicU64, Ordering, prefetch};
use crate::spec::row::RowId;
use crate::version::layout::Version;

/// The head of a row's chain of versions.
pub(crate) struct RowHead {
    /// The newest version; null when the row is free.
    pub(crate) latest: AtomicPtr<Version>,
    /// Row id in the low 63 bits, `KEYS_CHANGED` above.
    meta: AtomicU64,
}

const KEYS_CHANGED: u64 = 1 << 63;

impl RowHead {
    /// Makes the head of no row.
    pub(crate) fn free() -> Self {
        Self { latest: AtomicPtr::new(std::ptr::null_mut()), meta: AtomicU64::new(0) }
    }

    /// Gives a head that no thread can see yet its id, for good.
    #[inline]
    pub(crate) fn set_id(&self, id: RowId) {
        self.meta.store(id.0, Ordering::Relaxed);
    }

    pub(crate) fn id(&self) -> RowId {
        RowId(self.meta.load(Ordering::Relaxed) & !KEYS_CHANGED)
    }

    /// Notes that the row's versions may have different keys, so that readers who came through an
    /// index compare them. Set before the version is linked.
    pub(crate) fn note_keys_changed(&self) {
        // It stays for good, so that who finds it has nothing to write; and who sees the new version,
        // which is published with Release, sees at least what was found here.
        if self.meta.load(Ordering::Relaxed) & KEYS_CHANGED == 0 {
            // Release: whoever sees the new version or its index entry sees the note.
            self.meta.fetch_or(KEYS_CHANGED, Ordering::Release);
        }
    }

    pub(crate) fn have_keys_changed(&self) -> bool {
        self.meta.load(Ordering::Acquire) & KEYS_CHANGED != 0
    }

    /// Returns the newest version.
    #[inline]
    pub(crate) fn latest(&self) -> *mut Version {
        // Acquire: pairs with the Release in `replace_latest`.
        self.latest.load(Ordering::Acquire)
    }

    /// Makes `new` the newest version if `current` still is.
    pub(crate) fn replace_latest(&self, current: *mut Version, new: *mut Version) -> bool {
        // SeqCst: the write must be visible before the writer's timestamp is taken.
        self.latest.compare_exchange(current, new, Ordering::SeqCst, Ordering::Acquire).is_ok()
    }
}

/// Bytes of a version that are read ahead: the header and the columns of fixed size of most tables.
const AHEAD_BYTES: usize = 192;

/// Asks for the newest version of a row to be brought into the cache.
#[inline]
pub(crate) fn prefetch_version(head: &RowHead) {
    let version = head.latest().cast_const().cast::<u8>();
    (0..AHEAD_BYTES).step_by(64).for_each(|at| prefetch(version.wrapping_add(at)));
}
