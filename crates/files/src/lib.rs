//! Data files on the server, as BULK INSERT and OPENROWSET(BULK ..) read them.
//!
//! - `option.rs` reads the options of a statement;
//! - `open.rs` opens text and Parquet files;
//! - `text.rs` reads a text file in pieces, `fields.rs` takes rows and fields from its bytes.
//!
//! The executor stores the rows.
#![forbid(unsafe_code)]

pub mod fields;
pub mod open;
pub mod option;
pub mod text;
