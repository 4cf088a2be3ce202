//! Clearway's basic types: values, data types, collations, conversions and errors.
//!
//! No I/O, no state, no threads. Every other crate uses these types; their wire format is in `tds`,
//! their row format in [`row`].
#![forbid(unsafe_code)]

pub mod arith;
pub mod batch;
pub mod bytes;
pub mod collation;
pub mod compare;
pub mod comparison;
pub mod convert;
pub mod data_type;
pub mod date;
pub mod decimal;
pub mod error;
pub mod key;
pub mod language;
pub mod pause;
pub mod percentile;
pub mod row;
pub mod text;
pub mod type_rules;
pub mod value;
pub mod xml;

pub use bytes::Bytes;
pub use collation::Collation;
pub use convert::{ConvertOptions, Mode, convert, convert_owned};
pub use data_type::{DataType, Family, Length};
pub use error::{Error, Msg, Result, is_event_logged};
pub use language::Language;
pub use value::{ColumnType, Decimal, Value};
