//! Opens and reads files of the server. While a thread waits for a file, its scheduler is given to
//! others.

use parquet_io::{Fault, ParquetFile, Source};
use sos::sched::{Unblocked, blocking};
use sos::sys::RandomReader;
use sos::wait::WaitType;
use types::{Error, Msg, Result};

/// A file as a [`parquet_io::Source`], read at offsets.
#[derive(Debug)]
pub struct Bytewise(RandomReader);

impl Source for Bytewise {
    fn len(&self) -> u64 {
        self.0.byte_count()
    }

    fn read_at(&self, offset: u64, into: &mut [u8]) -> std::io::Result<()> {
        waiting(|| self.0.read_at(offset, into))
    }
}

/// Runs a file operation under the wait type that SQL Server has for it; the scheduler is given to
/// others for that time.
pub fn waiting<T>(read: impl FnOnce() -> std::io::Result<T>) -> std::io::Result<T> {
    let mut done = Err(std::io::ErrorKind::Interrupted.into());
    blocking(WaitType::BulkRead, || {
        done = read();
        Unblocked::Now
    });
    done
}

/// Opens a Parquet file.
///
/// # Errors
/// 4860 and 4861 for the file, 15813 for what is wrong in it.
pub fn open_parquet(path: &str) -> Result<ParquetFile<Bytewise>> {
    let file = waiting(|| RandomReader::open(path)).map_err(|error| not_opened(path, &error))?;
    ParquetFile::new(Bytewise(file)).map_err(|error| damaged(path, &error))
}

/// Returns the length of a data file in bytes.
///
/// # Errors
/// 4860 and 4861.
pub fn text_bytes(path: &str) -> Result<u64> {
    let file = waiting(|| RandomReader::open(path)).map_err(|error| not_opened(path, &error))?;
    Ok(file.byte_count())
}

/// Returns the SQL Server error for a fault in a Parquet file, or in reading it.
pub fn damaged(path: &str, error: &parquet_io::Error) -> Error {
    match &error.fault {
        Fault::Io(of_system) if of_system.kind() != std::io::ErrorKind::UnexpectedEof => {
            not_opened(path, of_system)
        }
        Fault::Io(_) | Fault::Damaged(_) | Fault::NotSupported(_) | Fault::Value(_) => {
            Msg::ExternalFile(&error.to_string(), path).into()
        }
    }
}

/// Reads a whole file into memory.
///
/// # Errors
/// 4860 and 4861.
pub fn read(path: &str) -> Result<Vec<u8>> {
    sos::sys::read_file(path).map_err(|error| not_opened(path, &error))
}

/// Returns the SQL Server error for a file that could not be opened or read.
pub fn not_opened(path: &str, error: &std::io::Error) -> Error {
    if error.kind() == std::io::ErrorKind::NotFound {
        return Msg::BulkFileMissing(path).into();
    }
    let code = format!("{}({error})", error.raw_os_error().unwrap_or(0));
    Msg::BulkFileNotOpened(path, &code).into()
}
