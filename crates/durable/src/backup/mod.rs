//! A backup: the definitions and rows of one database in one file. docs/backup.md is the format.
//!
//! | looking for                            | start here   |
//! |----------------------------------------|--------------|
//! | writing: NAME.tmp, sync, rename         | `writer.rs`  |
//! | reading and checking                   | `reader.rs`  |
//! | headers of the file and of its blocks  | `format.rs`  |
//! | the log of one database, copied        | `log_copy.rs` |
//! | the log of one database, applied       | `roll.rs`    |

mod format;
mod log_copy;
mod reader;
mod roll;
#[cfg(test)]
mod tests;
mod writer;

pub use format::BACKUP_VERSION;
pub(crate) use log_copy::copy;
pub use log_copy::{CopyError, OwnTables, Span};
pub use reader::{BackupError, BackupReader, Piece, check_is_backup, rows_of};
pub use roll::{LogRoller, Ranges, Rolled};
pub use writer::BackupWriter;

/// Returns the folder of a path and the name in it.
pub fn folder_and_name(path: &str) -> (&str, &str) {
    match path.rsplit_once('/') {
        Some(("", name)) => ("/", name),
        Some((folder, name)) => (folder, name),
        None => (".", path),
    }
}
