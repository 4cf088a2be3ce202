//! Responses: tokens, and the packets that carry them ([MS-TDS] 2.2.4.2, 2.2.7).
//!
//! Each file has one token or a family of tokens: a type with an `encode` into any
//! [`crate::sink::Sink`]. [`ResponseWriter`] is the sink that makes packets.

pub mod browse;
pub mod columns;
pub mod done;
pub mod env_change;
pub mod login;
pub mod message;
mod return_value;
pub mod row;
pub mod writer;

pub use browse::ColumnSource;
pub use columns::{Column, ColumnFlags, Columns};
pub use done::{Done, DoneKind, DoneStatus};
pub use env_change::EnvChange;
pub use return_value::{ReturnHead, Returned};
pub use writer::{ResponseWriter, WireSettings};

/// The first byte of each token (2.2.7).
pub(crate) mod token {
    pub(crate) const RETURN_STATUS: u8 = 0x79;
    pub(crate) const COLUMN_METADATA: u8 = 0x81;
    pub(crate) const TABLE_NAMES: u8 = 0xA4;
    pub(crate) const COLUMN_SOURCES: u8 = 0xA5;
    pub(crate) const ORDER: u8 = 0xA9;
    pub(crate) const ERROR: u8 = 0xAA;
    pub(crate) const INFO: u8 = 0xAB;
    pub(crate) const RETURN_VALUE: u8 = 0xAC;
    pub(crate) const LOGIN_ACK: u8 = 0xAD;
    pub(crate) const FEATURE_EXT_ACK: u8 = 0xAE;
    pub(crate) const ROW: u8 = 0xD1;
    pub(crate) const NULL_BITMAP_ROW: u8 = 0xD2;
    pub(crate) const ENV_CHANGE: u8 = 0xE3;
    pub(crate) const DONE: u8 = 0xFD;
    pub(crate) const DONE_PROC: u8 = 0xFE;
    pub(crate) const DONE_IN_PROC: u8 = 0xFF;
}
