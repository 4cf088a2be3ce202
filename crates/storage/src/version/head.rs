//! `RowHead`: the root of a row's chain of versions. It does not move while the row lives.

use crate::primitives::{AtomicPtr, AtomicU64, Mutant, Ordering, is_mutant, prefetch};
use crate::spec::RowId;
use crate::version::Version;

/// The root of a row's chain of versions.
pub(crate) struct RowHead {
    /// The newest version; null when the head belongs to no row.
    pub(crate) latest: AtomicPtr<Version>,
    /// Row id in the low 62 bits, `REUSED` and `KEYS_CHANGED` above.
    meta: AtomicU64,
}

const KEYS_CHANGED: u64 = 1 << 63;
const REUSED: u64 = 1 << 62;

impl RowHead {
    /// Makes a head that belongs to no row.
    pub(crate) fn free() -> Self {
        Self { latest: AtomicPtr::new(std::ptr::null_mut()), meta: AtomicU64::new(0) }
    }

    /// Sets the permanent id of a head that no other thread can see yet.
    #[inline]
    pub(crate) fn set_id(&self, id: RowId) {
        self.meta.store(id.0, Ordering::Relaxed);
    }

    pub(crate) fn id(&self) -> RowId {
        RowId(self.meta.load(Ordering::Relaxed) & !(KEYS_CHANGED | REUSED))
    }

    /// Records that the head belongs to another row than before. Called before its first version is
    /// linked.
    pub(crate) fn note_reused(&self) {
        if is_mutant(Mutant::ReuseUnmarked) {
            return;
        }
        if self.meta.load(Ordering::Relaxed) & REUSED == 0 {
            // Release: a reader that sees a version of the new row sees the mark.
            self.meta.fetch_or(REUSED, Ordering::Release);
        }
    }

    /// Returns whether all versions that the head has had have the same keys: it has belonged to one
    /// row, whose keys have not changed. Asked after a version has been read; it holds for that one.
    #[inline]
    pub(crate) fn has_one_key(&self) -> bool {
        self.meta.load(Ordering::Acquire) & (KEYS_CHANGED | REUSED) == 0
    }

    /// Records that the row's versions may have different keys, so readers that came through an
    /// index compare them. Called before the version is linked.
    pub(crate) fn note_keys_changed(&self) {
        // The mark is permanent, so a writer that finds it set need not write. A reader that sees
        // the new version, published with Release, sees at least what this writer saw.
        if self.meta.load(Ordering::Relaxed) & KEYS_CHANGED == 0 {
            // Release: a reader that sees the new version or its index entry sees the mark.
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

/// Bytes of a version that are prefetched: the header and the fixed-size columns of most tables.
const AHEAD_BYTES: usize = 192;

/// Prefetches the newest version of a row.
#[inline]
pub(crate) fn prefetch_version(head: &RowHead) {
    let version = head.latest().cast_const().cast::<u8>();
    (0..AHEAD_BYTES).step_by(64).for_each(|at| prefetch(version.wrapping_add(at)));
}
