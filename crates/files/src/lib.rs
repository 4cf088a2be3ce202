//! Text files of data: how BULK INSERT and OPENROWSET(BULK ..) are told to read them, and how rows and fields are taken
//! from their bytes. What becomes of the rows is the executor's.
#![forbid(unsafe_code)]

pub mod fields;
pub mod open;
pub mod option;
pub mod text;
