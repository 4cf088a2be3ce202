//! The TDS codec: turns bytes into requests and results into bytes; with a small client. No
//! sockets, no engine.
//!
//! ```text
//!   received bytes ─► MessageReader ─► Message ─► Prelogin │ Login7 │ Request ─► types::Value
//!   types::Value ─► ResponseWriter ─► packets, ready to send
//! ```
//!
//! [MS-TDS] is Microsoft's open specification of the Tabular Data Stream protocol; section numbers
//! in this crate are the specification's.
#![forbid(unsafe_code)]

pub mod bulk;
pub mod client;
pub mod cursor;
pub mod encryption;
pub mod error;
pub mod login7;
pub mod message;
pub mod packet;
pub mod prelogin;
pub mod request;
pub mod response;
pub mod rpc;
pub mod sink;
pub mod smp;
pub mod tls_wrap;
pub mod transaction;
pub mod tvp;
pub mod utf16;
mod value;
pub mod version;
pub mod wire_type;

pub use bulk::{BulkColumn, BulkReader};
pub use cursor::Cursor;
pub use error::{ProtocolError, Result};
pub use login7::Login7;
pub use message::{Message, MessageReader, Reset, Step};
pub use packet::{Opening, PacketType};
pub use prelogin::{Encryption, Prelogin};
pub use request::{Request, SqlBatch, TraceActivity};
pub use response::{Column, ColumnFlags, ColumnSource, Columns};
pub use response::{Done, DoneKind, DoneStatus, EnvChange};
pub use response::{ResponseWriter, ReturnHead, Returned, WireSettings};
pub use rpc::{
    ParameterHead, ParameterValue, Procedure, ProcedureId, RpcCall, RpcOptions, RpcParameter,
    RpcReader,
};
pub use sink::Sink;
pub use transaction::{TransactionAction, TransactionRequest};
pub use version::TdsVersion;
