//! What can be wrong with a file, and where.

use std::borrow::Cow;
use std::fmt;

/// As [`std::result::Result`].
pub type Result<T> = std::result::Result<T, Error>;

/// What is wrong.
#[derive(Debug)]
pub enum Fault {
    /// The file does not keep to the format.
    Damaged(Cow<'static, str>),
    /// The file uses something that is not read.
    NotSupported(Cow<'static, str>),
    /// A value is none of its column's type.
    Value(Cow<'static, str>),
    /// The file could not be read.
    Io(std::io::Error),
}

/// Where it is; what is not known is absent. Numbers begin with 0.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Place {
    /// The column's name.
    pub column: Option<String>,
    /// The row group.
    pub row_group: Option<usize>,
    /// The page of the column in its row group, a dictionary included.
    pub page: Option<u32>,
    /// The row, in the whole file.
    pub row: Option<u64>,
}

/// What is wrong with a file, and where.
#[derive(Debug)]
pub struct Error {
    /// What.
    pub fault: Fault,
    /// Where.
    pub place: Place,
}

impl Error {
    /// Says that the format is broken.
    pub(crate) fn damaged(what: impl Into<Cow<'static, str>>) -> Self {
        Fault::Damaged(what.into()).into()
    }

    /// Says that something is not read.
    pub(crate) fn not_supported(what: impl Into<Cow<'static, str>>) -> Self {
        Fault::NotSupported(what.into()).into()
    }

    /// Says that a value is none of its type.
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
