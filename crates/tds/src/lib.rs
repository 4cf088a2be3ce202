//! The wire: bytes to requests, results to bytes, and a small client. No sockets, no engine.
//!
//! ```text
//!   received bytes ─► MessageReader ─► Message ─► Prelogin │ Login7 │ Request ─► types::Value
//!   types::Value ─► ResponseWriter ─► packets, ready to send
//! ```
//!
//! [MS-TDS] is Microsoft's open specification of the Tabular Data Stream protocol; section numbers in
//! this crate are its.
#![forbid(unsafe_code)]

pub mod cursor;
pub mod encryption;
pub mod error;
pub mod message;
pub mod packet;
pub mod prelogin;
pub mod tls_wrap;
pub mod utf16;
pub mod version;

pub use cursor::Cursor;
pub use error::{ProtocolError, Result};
pub use message::{Message, MessageReader, Reset, Step};
pub use packet::{Opening, PacketType};
pub use prelogin::{Encryption, Prelogin};
pub use version::TdsVersion;
