//! Rows of files: OPENROWSET(BULK ..) and external tables.

pub(crate) mod field;
pub(crate) mod rowset;
pub(crate) mod scan;
