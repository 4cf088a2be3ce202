//! `Fault`: which calls of the disk fail, though the disk works.

use std::fmt;

/// The calls of a disk and its files.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Call {
    /// Opening a file that exists.
    Open,
    /// Opening a new file.
    Create,
    /// The names in a folder.
    List,
    /// The length of a file.
    Len,
    /// Reading from a file.
    Read,
    /// Writing to a file. If it fails, sectors at the front may have been written.
    Write,
    /// Making a file durable. If it fails, sectors may have become durable; what else was not
    /// synced before is never going to be.
    Sync,
    /// Writing a range of a file to the device, which makes nothing durable.
    WriteBack,
    /// Setting a file's length.
    SetLen,
    /// Taking room for a range of a file.
    Allocate,
    /// Creating a folder in another one.
    MakeFolder,
    /// Giving a file another name.
    Rename,
    /// Removing a file's name.
    Remove,
    /// Removing an empty folder.
    RemoveFolder,
    /// Making names durable. If it fails, some may have become so; the others are never going to
    /// be.
    SyncFolder,
    /// Locking a file, which may create it.
    Lock,
}

impl Call {
    /// Returns whether the call can change what is on the disk after a power loss. Only such calls
    /// are operations of [`crate::SimDisk::crash_at`].
    #[must_use]
    pub const fn is_operation(self) -> bool {
        match self {
            Self::Open | Self::List | Self::Len | Self::Read | Self::WriteBack => false,
            Self::Create
            | Self::Write
            | Self::Sync
            | Self::SetLen
            | Self::Allocate
            | Self::MakeFolder
            | Self::Rename
            | Self::Remove
            | Self::RemoveFolder
            | Self::SyncFolder
            | Self::Lock => true,
        }
    }
}

impl fmt::Display for Call {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Debug::fmt(self, f)
    }
}

/// Calls that fail with EIO: one kind, in one part of the disk, once or several times.
#[derive(Clone, Debug)]
pub struct Fault {
    call: Call,
    prefix: String,
    skipped: u64,
    times: u64,
}

impl Fault {
    /// The next call of this kind fails, on any path.
    #[must_use]
    pub const fn new(call: Call) -> Self {
        Self { call, prefix: String::new(), skipped: 0, times: 1 }
    }

    /// Only paths that begin like this fail. A file has the path by which it was opened.
    #[must_use]
    pub fn below(mut self, prefix: &str) -> Self {
        prefix.clone_into(&mut self.prefix);
        self
    }

    /// This number of calls succeed before.
    #[must_use]
    pub const fn after(mut self, calls: u64) -> Self {
        self.skipped = calls;
        self
    }

    /// This number of calls fail.
    #[must_use]
    pub const fn times(mut self, calls: u64) -> Self {
        self.times = calls;
        self
    }

    /// Returns whether it hits a call, and counts it.
    pub(crate) fn hits(&mut self, call: Call, path: &str) -> bool {
        if self.call != call || !path.starts_with(&self.prefix) {
            return false;
        }
        if self.skipped > 0 {
            self.skipped -= 1;
            return false;
        }
        if self.times == 0 {
            return false;
        }
        self.times -= 1;
        true
    }
}
