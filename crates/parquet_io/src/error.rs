//! Errors in a file, with the place where they are.

use std::borrow::Cow;
use std::fmt;

/// A result with [`Error`] as its error.
pub type Result<T> = std::result::Result<T, Error>;

/// The kind of an error, with its text.
#[derive(Debug)]
pub enum Fault {
    /// The file violates the format.
    Damaged(Cow<'static, str>),
    /// The file uses a feature that is not supported.
    NotSupported(Cow<'static, str>),
    /// A value is outside the range of its column's type.
    Value(Cow<'static, str>),
    /// The file could not be read.
    Io(std::io::Error),
}

/// The place of an error; what is not known is `None`. Numbers start at 0.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Place {
    /// The name of the column.
    pub column: Option<String>,
    /// The number of the row group.
    pub row_group: Option<usize>,
    /// The page of the column within its row group, dictionaries included.
    pub page: Option<u32>,
    /// The row within the whole file.
    pub row: Option<u64>,
}

/// An error in a file, and its place.
#[derive(Debug)]
pub struct Error {
    /// The kind of the error.
    pub fault: Fault,
    /// The place of the error.
    pub place: Place,
}

impl Error {
    /// Makes the error for a violation of the format.
    pub(crate) fn damaged(what: impl Into<Cow<'static, str>>) -> Self {
        Fault::Damaged(what.into()).into()
    }

    /// Makes the error for a feature that is not supported.
    pub(crate) fn not_supported(what: impl Into<Cow<'static, str>>) -> Self {
        Fault::NotSupported(what.into()).into()
    }

    /// Makes the error for a value outside the range of its type.
    pub(crate) fn value(what: impl Into<Cow<'static, str>>) -> Self {
        Fault::Value(what.into()).into()
    }
}

impl From<Fault> for Error {
    fn from(fault: Fault) -> Self {
        Self { fault, place: Place::default() }
    }
}

impl From<std::io::Error> for Error {
    fn from(error: std::io::Error) -> Self {
        Fault::Io(error).into()
    }
}

impl fmt::Display for Error {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match &self.fault {
            Fault::Damaged(what) => write!(f, "the file is damaged: {what}")?,
            Fault::NotSupported(what) => write!(f, "not supported: {what}")?,
            Fault::Value(what) => f.write_str(what)?,
            Fault::Io(error) => write!(f, "{error}")?,
        }
        if let Some(column) = &self.place.column {
            write!(f, ", column {column}")?;
        }
        if let Some(group) = self.place.row_group {
            write!(f, ", row group {group}")?;
        }
        if let Some(page) = self.place.page {
            write!(f, ", page {page}")?;
        }
        if let Some(row) = self.place.row {
            write!(f, ", row {row}")?;
        }
        Ok(())
    }
}

impl std::error::Error for Error {}
