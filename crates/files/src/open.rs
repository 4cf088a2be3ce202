//! Files of the server, opened and read: what waits for them lets others have the scheduler.

use parquet_io::{Fault, ParquetFile, Source};
use sos::sched::{Unblocked, blocking};
use sos::sys::RandomReader;
use sos::wait::WaitType;
use types::{Error, Msg, Result};

/// A file as the Parquet reader wants it.
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

/// Runs what waits for a file, as the wait that SQL Server has for it: others have the scheduler meanwhile.
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

/// Returns how long a data file is.
///
/// # Errors
/// 4860 and 4861.
pub fn text_bytes(path: &str) -> Result<u64> {
    let file = waiting(|| RandomReader::open(path)).map_err(|error| not_opened(path, &error))?;
    Ok(file.byte_count())
}

/// Says what is wrong in a Parquet file, or with reading it.
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

/// Reads all of a file.
///
/// # Errors
/// 4860 and 4861.
pub fn read(path: &str) -> Result<Vec<u8>> {
    sos::sys::read_file(path).map_err(|error| not_opened(path, &error))
}

/// Says why a file could not be opened or read.
pub fn not_opened(path: &str, error: &std::io::Error) -> Error {
    if error.kind() == std::io::ErrorKind::NotFound {
        return Msg::BulkFileMissing(path).into();
    }
    let code = format!("{}({error})", error.raw_os_error().unwrap_or(0));
    Msg::BulkFileNotOpened(path, &code).into()
}
