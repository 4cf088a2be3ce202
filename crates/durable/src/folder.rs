//! The folder of a database: which files are in it, whose it is, and that one process has it open.
//!
//! ```text
//! DIR/
//!   lock          locked while a process has DIR open; its text is the process's id
//!   database      64 bytes: magic, format version, database id, CRC-32C
//!   schema_only   rows of SCHEMA_ONLY tables, between an orderly stop and the next start: kept.rs
//!   query_store.N what the Query Store of database N has recorded: aside.rs
//!   sync          text: how writes of the log become durable, as the first start has measured it
//!   log/          docs/log-format.md
//!   checkpoint/   docs/checkpoint-format.md
//! ```

use std::sync::Arc;

use log::{DatabaseId, LogError};
use sos::sys::{Disk, DiskLock, LockError, Open, OsDisk, SyncMethod, real_path};
use sos::wait::WaitType;

use crate::disk_counts::DiskCounts;

const MAGIC: &[u8; 8] = b"CLEARWAY";
const VERSION: u32 = 1;
const BYTES: usize = 64;
pub(crate) const IDENTITY: &str = "database";
const NEW_IDENTITY: &str = "database.new";
const LOCK: &str = "lock";
const SYNC: &str = "sync";
/// The folder of the log's segments.
pub(crate) const LOG: &str = "log";
/// The folder of checkpoints.
pub(crate) const CHECKPOINT: &str = "checkpoint";

/// How the names of files begin that `kept.rs` and `aside.rs` write.
const ASIDE: [&str; 2] = ["schema_only", "query_store."];

/// The folder of a database, locked for this process.
#[derive(Debug)]
pub struct Folder {
    pub(crate) disk: Arc<dyn Disk>,
    /// Reads and writes of its files.
    pub(crate) counts: Arc<DiskCounts>,
    /// Its name, for messages.
    pub(crate) name: String,
    pub(crate) id: DatabaseId,
    /// Whether this call has made it.
    pub(crate) is_new: bool,
    _lock: Box<dyn DiskLock>,
}

impl Folder {
    /// Returns its name, for messages.
    #[must_use]
    pub fn name(&self) -> &str {
        &self.name
    }

    /// Returns whether a file is one of this folder, or would be among the log's or the checkpoints'.
    pub(crate) fn owns(&self, folder: &str, file: &str) -> bool {
        let paths = (real_path(&self.name), real_path(folder));
        // A folder that does not exist is refused when it is opened.
        let (Ok(own), Ok(other)) = paths else { return false };
        let is_named = [LOCK, IDENTITY, NEW_IDENTITY, SYNC, LOG, CHECKPOINT].contains(&file)
            || ASIDE.iter().any(|name| file.starts_with(name));
        [LOG, CHECKPOINT].iter().any(|name| other == own.join(name)) || (other == own && is_named)
    }

    /// Returns whether this start has made it.
    #[must_use]
    pub const fn is_new(&self) -> bool {
        self.is_new
    }

    /// Opens the folder at a path, and makes it if it does not exist or is empty.
    ///
    /// # Errors
    /// A sentence that says why it cannot be used; then nothing in it has changed.
    pub fn open(path: &str) -> Result<Self, String> {
        let disk = OsDisk::make(path).map_err(|error| match error.kind() {
            std::io::ErrorKind::AlreadyExists | std::io::ErrorKind::NotADirectory => {
                format!("{path} cannot be a folder: a file is in its place")
            }
            // A foreign type: any other system error.
            _ => format!("the folder {path}: {error}"),
        })?;
        Self::on(Arc::new(disk), path)
    }

    /// As [`Self::open`], on a given disk. `name` is for messages.
    ///
    /// # Errors
    /// As [`Self::open`].
    pub fn on(disk: Arc<dyn Disk>, name: &str) -> Result<Self, String> {
        let fails = |what: &str, error: &dyn std::fmt::Display| format!("{name}/{what}: {error}");
        let (disk, counts) = DiskCounts::around(disk);
        let names = disk.list("").map_err(|error| fails("", &error))?;
        let is_ours = names.iter().any(|known| known == IDENTITY);
        // What a start that was interrupted has left: nothing that anyone has stored.
        let is_begun = |known: &String| match known.as_str() {
            LOCK | NEW_IDENTITY => true,
            LOG | CHECKPOINT => disk.list(known).is_ok_and(|files| files.is_empty()),
            _ => false,
        };
        if !is_ours && !names.iter().all(is_begun) {
            return Err(format!(
                "the folder {name} is not empty and has no Clearway database in it: choose another"
            ));
        }
        let lock = disk.lock(LOCK).map_err(|error| match error {
            LockError::Held(Some(process)) => {
                format!("the folder {name} is in use by process {process}")
            }
            LockError::Held(None) => format!("the folder {name} is in use by another process"),
            LockError::Io(error) => fails(LOCK, &error),
        })?;
        let id = if is_ours {
            read_identity(&*disk).map_err(|why| fails(IDENTITY, &why))?
        } else {
            make(&*disk).map_err(|error| fails(IDENTITY, &error))?
        };
        Ok(Self { disk, counts, name: name.to_owned(), id, is_new: !is_ours, _lock: lock })
    }
}

impl Folder {
    /// Returns how writes of the log become durable: as an earlier start has measured it, or as this
    /// one does. Another answer would be as right, so the file is not made durable.
    pub(crate) fn sync_method(&self) -> Result<SyncMethod, LogError> {
        let mut text = [0; 64];
        let known = self.disk.open(SYNC, Open::Read, WaitType::IoCompletion).and_then(|file| {
            let read = file.read_at(0, &mut text)?;
            let is_it = |method: &SyncMethod| method.name().as_bytes() == &text[..read];
            Ok(SyncMethod::ALL.into_iter().find(is_it))
        });
        if let Ok(Some(method)) = known {
            return Ok(method);
        }
        let method = log::probe_sync(&*self.disk, LOG)?.chosen;
        let written = self.disk.remove(SYNC).or_else(|error| match error.kind() {
            std::io::ErrorKind::NotFound => Ok(()),
            _ => Err(error),
        });
        let written = written.and_then(|()| {
            let file = self.disk.open(SYNC, Open::Create, WaitType::IoCompletion)?;
            file.write_at(0, method.name().as_bytes())
        });
        written.map(|()| method).map_err(LogError::io(SYNC))
    }
}

/// Reads whose folder it is.
pub(crate) fn read_identity(disk: &dyn Disk) -> Result<DatabaseId, String> {
    let file = disk.open(IDENTITY, Open::Read, WaitType::IoCompletion);
    let file = file.map_err(|error| error.to_string())?;
    let mut bytes = [0; BYTES];
    let read = file.read_at(0, &mut bytes).map_err(|error| error.to_string())?;
    let (body, crc) = bytes.split_at(BYTES - 4);
    if read < BYTES || &body[..8] != MAGIC {
        return Err("the file is not one of Clearway".to_owned());
    }
    let version = u32::from_le_bytes([body[8], body[9], body[10], body[11]]);
    if version > VERSION {
        return Err(format!(
            "the database has format version {version}; this version of Clearway reads up to \
             {VERSION}"
        ));
    }
    if crc32c::crc32c(body).to_le_bytes() != crc {
        return Err("the file is damaged: its checksum at offset 60 is wrong".to_owned());
    }
    let mut id = [0; 16];
    id.copy_from_slice(&body[12..28]);
    Ok(DatabaseId(id))
}

/// Makes the folders, and at last the file that says whose they are.
fn make(disk: &dyn Disk) -> std::io::Result<DatabaseId> {
    for folder in [LOG, CHECKPOINT] {
        match disk.make_folder(folder) {
            Err(error) if error.kind() != std::io::ErrorKind::AlreadyExists => return Err(error),
            Ok(()) | Err(_) => {}
        }
        disk.sync_folder(folder)?;
    }
    let id = DatabaseId(sos::sys::random_bytes());
    let mut bytes = [0; BYTES];
    bytes[..8].copy_from_slice(MAGIC);
    bytes[8..12].copy_from_slice(&VERSION.to_le_bytes());
    bytes[12..28].copy_from_slice(&id.0);
    let crc = crc32c::crc32c(&bytes[..BYTES - 4]);
    bytes[BYTES - 4..].copy_from_slice(&crc.to_le_bytes());
    if disk.list("")?.iter().any(|name| name == NEW_IDENTITY) {
        disk.remove(NEW_IDENTITY)?;
    }
    let file = disk.open(NEW_IDENTITY, Open::Create, WaitType::IoCompletion)?;
    file.write_at(0, &bytes)?;
    file.sync()?;
    disk.rename(NEW_IDENTITY, IDENTITY)?;
    disk.sync_folder("")?;
    Ok(id)
}
