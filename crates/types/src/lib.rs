//! The vocabulary of Clearway: values, data types, collations, conversions and errors.
//!
//! No I/O, no state, no threads. Every other crate speaks in these types; the wire format of them
//! lives in `tds`, the row format in [`row`].
#![forbid(unsafe_code)]

pub mod bytes;
pub mod collation;
pub mod data_type;
pub mod error;
pub mod value;

pub use bytes::Bytes;
pub use collation::Collation;
pub use data_type::{DataType, Length};
pub use error::{Error, Msg, Result};
pub use value::Value;
