//! Files beside the log: each is written again as a whole, and a reader finds the old content or the
//! new one. What is in them is not in backups, and no transaction depends on it.

use std::io;

use sos::sys::{Disk, Open};
use sos::wait::WaitType;

use crate::Database;

impl Database {
    fn disk(&self) -> &dyn Disk {
        &*self.folder.disk
    }

    /// Writes a file; the one before is replaced at one moment.
    ///
    /// # Errors
    /// What the system reports; the file before is there then.
    pub fn write_aside(&self, name: &str, bytes: &[u8]) -> io::Result<()> {
        let disk = self.disk();
        let new = format!("{name}.new");
        if disk.list("")?.contains(&new) {
            disk.remove(&new)?;
        }
        let file = disk.open(&new, Open::Create, WaitType::IoCompletion)?;
        file.write_at(0, bytes)?;
        file.sync()?;
        disk.rename(&new, name)?;
        disk.sync_folder("")
    }

    /// Reads a file that was written aside.
    ///
    /// # Errors
    /// What the system reports.
    pub fn read_aside(&self, name: &str) -> io::Result<Vec<u8>> {
        let file = self.disk().open(name, Open::Read, WaitType::IoCompletion)?;
        let length = usize::try_from(file.len()?).map_err(io::Error::other)?;
        let mut bytes = vec![0; length];
        let mut read = 0;
        while read < length {
            let at = u64::try_from(read).map_err(io::Error::other)?;
            match file.read_at(at, &mut bytes[read..])? {
                0 => break,
                more => read += more,
            }
        }
        bytes.truncate(read);
        Ok(bytes)
    }

    /// Returns the names of the files that were written under a name and a dot.
    ///
    /// # Errors
    /// What the system reports.
    pub fn names_aside(&self, of: &str) -> io::Result<Vec<String>> {
        let mut names = self.disk().list("")?;
        let is_it = |name: &String| {
            name.strip_prefix(of).is_some_and(|rest| rest.starts_with('.'))
                && !name.ends_with(".new")
        };
        names.retain(is_it);
        Ok(names)
    }

    /// Removes a file that was written aside.
    ///
    /// # Errors
    /// What the system reports.
    pub fn remove_aside(&self, name: &str) -> io::Result<()> {
        self.disk().remove(name)?;
        self.disk().sync_folder("")
    }
}
