//! Reads rows of files: OPENROWSET(BULK ..) and external tables.

pub mod field;
pub mod rowset;
pub(crate) mod scan;
