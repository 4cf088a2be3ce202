//! Data files on the server, for BULK INSERT and OPENROWSET(BULK ..).
//!
//! - `option.rs` reads the options of a statement;
//! - `open.rs` opens text and Parquet files;
//! - `text.rs` reads a text file in pieces, `fields.rs` splits them into rows and fields.
//!
//! The executor stores the rows.
#![forbid(unsafe_code)]

pub mod fields;
pub mod open;
pub mod option;
pub mod text;
