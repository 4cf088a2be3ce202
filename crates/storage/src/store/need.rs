//! `Need`: what memory is asked for, which decides how early it is refused.

use crate::primitives::Cancel;
use crate::spec::{Error, Result};

/// What memory is asked for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Need {
    /// A row that stays: rows leave a part of the memory to other work.
    Row,
    /// What a session needs to do its work: its own tables, copies that it reads.
    Work,
    /// What ends by freeing memory, as a deletion: it may take some of the reserve.
    Removal,
}

impl Need {
    /// Asks for memory: one load of a line that is rarely written.
    ///
    /// # Errors
    /// [`Error::OutOfMemory`] if requests of this kind are refused it.
    #[cfg(not(any(loom, shuttle)))]
    #[inline]
    pub(crate) fn check(self) -> Result<()> {
        let given = match self {
            Self::Row => sos::memory::check_rows(),
            Self::Work => sos::memory::check(),
            Self::Removal => sos::memory::check_reserve(),
        };
        given.map_err(|_| Error::OutOfMemory)
    }

    /// A model has enough memory.
    #[cfg(any(loom, shuttle))]
    pub(crate) fn check(self) -> Result<()> {
        Ok(())
    }

    /// Waits until there is memory; the collector may have to free some. The caller holds no pin,
    /// so that what was unlinked can be freed.
    ///
    /// # Errors
    /// [`Error::OutOfMemory`] if none can be freed; [`Error::Cancelled`].
    #[cfg(not(any(loom, shuttle)))]
    #[cold]
    pub(crate) fn wait(self, cancel: Option<&Cancel>) -> Result<()> {
        use sos::memory::NoRoom;
        let of = |bytes: u64| usize::try_from(bytes).unwrap_or(usize::MAX);
        let waited = match self {
            Self::Row => sos::memory::wait_for_room(of(sos::memory::work_bytes()), cancel),
            Self::Work => sos::memory::wait_for_room(0, cancel),
            // The reserve is its own: the limit for others may never be met while rows fill theirs.
            Self::Removal => {
                sos::memory::wait_for_reserve(of(sos::memory::removal_bytes()), cancel)
            }
        };
        match waited {
            Ok(()) => Ok(()),
            Err(NoRoom::OverLimit) => Err(Error::OutOfMemory),
            Err(NoRoom::Cancelled) => Err(Error::Cancelled),
        }
    }

    /// Waits until there is memory for `bytes` at once. The caller holds no pin.
    ///
    /// # Errors
    /// As [`Self::wait`].
    #[cfg(not(any(loom, shuttle)))]
    #[cold]
    pub(crate) fn wait_for_bytes(bytes: usize, cancel: Option<&Cancel>) -> Result<()> {
        sos::memory::wait_for_room(bytes, cancel).map_err(|refused| match refused {
            sos::memory::NoRoom::OverLimit => Error::OutOfMemory,
            sos::memory::NoRoom::Cancelled => Error::Cancelled,
        })
    }

    /// A model has enough memory.
    #[cfg(any(loom, shuttle))]
    pub(crate) fn wait_for_bytes(_: usize, _: Option<&Cancel>) -> Result<()> {
        Ok(())
    }

    /// A model has enough memory.
    #[cfg(any(loom, shuttle))]
    pub(crate) fn wait(self, _: Option<&Cancel>) -> Result<()> {
        Ok(())
    }
}
