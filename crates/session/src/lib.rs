//! Sessions inside the engine: the state of a connection, and the instance it belongs to.
//!
//! - `state.rs` holds the state of a session, in groups by life time; each group has a file beside
//!   it: `connection.rs`, `accounting.rs`, `context.rs` (who the session runs as), `transaction.rs`,
//!   `temp.rs`, `held.rs` (what ends with a reset), `request.rs`, `caches.rs`;
//! - `plan_cache/` keeps compiled programs, for a session and for the instance;
//! - `instance/` is the engine that sessions share; `event/` fires events to event sessions.
//!
//! Nothing here runs a statement: the executor does that.
#![forbid(unsafe_code)]

pub mod accounting;
pub mod argument;
pub mod awaited;
pub mod caches;
pub mod class;
pub mod connection;
pub mod context;
pub mod cursor;
pub mod deferred;
pub mod definition;
pub mod delay;
pub mod describer;
pub mod event;
pub mod frame;
pub mod grant;
pub mod held;
pub mod helper;
pub mod instance;
pub mod known;
pub mod live_profile;
pub mod mars;
pub use catalog::options;
pub mod plan_cache;
pub mod pointer;
pub mod prepared;
pub mod request;
pub mod scratch;
pub mod session_context;
pub mod state;
pub mod stop;
pub mod temp;
pub mod trace;
pub mod transaction;

use std::sync::Arc;

use sos::ledger::Counter;
use types::Value;
use types::value::ColumnType;

pub use crate::event::context::wants_data_stream;
pub use known::{KnownCall, KnownOutput};
pub use options::{IsolationLevel, Options};
pub use plan_cache::{Entry, Kind, ProgramKey};
pub use state::SessionState;
pub use state::{session_id, session_number};

/// How a client reaches the server.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Transport {
    /// Over a network, or over loopback.
    #[default]
    Tcp,
    /// Over a socket of the file system.
    UnixSocket,
}

impl Transport {
    /// Returns the name that `net_transport` has.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Tcp => "TCP",
            Self::UnixSocket => "Unix socket",
        }
    }
}

/// What a client sent about itself at login, for views and functions.
#[derive(Clone, Debug, Default)]
pub struct ClientInfo {
    /// HostName of LOGIN7, as HOST_NAME() returns it.
    pub host_name: String,
    /// AppName of LOGIN7, as APP_NAME() returns it.
    pub program_name: String,
    /// CltIntName of LOGIN7: the driver's name.
    pub interface_name: String,
    /// ClientPID of LOGIN7: the client's process id.
    pub process_id: u32,
    /// ClientProgVer of LOGIN7: the driver's version.
    pub client_version: u32,
    /// TDS version as in LOGINACK, such as 0x74000004.
    pub tds_version: u32,
    /// Packet size in bytes, as negotiated.
    pub packet_size: u32,
    /// How the client reaches the server.
    pub transport: Transport,
    /// Whether it came through the port of the dedicated admin connection.
    pub is_admin: bool,
    /// Address of the client: host and port; an empty host over a UNIX socket.
    pub address: (String, u16),
    /// Address that it connected to: host and port; an empty host over a UNIX socket.
    pub local_address: (String, u16),
    /// Whether the connection is encrypted.
    pub encrypted: bool,
    /// Whether LOGIN7 has fODBC or fOLEDB set.
    pub odbc: bool,
    /// Counts of reads and writes on the connection.
    pub traffic: Arc<Traffic>,
}

impl ClientInfo {
    /// Returns the `endpoint_id` that it connected to, as `sys.endpoints` has it.
    pub const fn endpoint(&self) -> i32 {
        if self.is_admin { 1 } else { 4 }
    }
}

/// Counts of a connection. Written by the thread that serves it; only one does at a time. Aligned to
/// cache lines, because its neighbour in memory belongs to another scheduler.
#[derive(Debug, Default)]
#[repr(align(128))]
pub struct Traffic {
    reads: Counter,
    writes: Counter,
}

impl Traffic {
    /// Counts a read that returned data.
    pub fn count_read(&self) {
        self.reads.add(1);
    }

    /// Counts a write that sent data.
    pub fn count_write(&self) {
        self.writes.add(1);
    }

    /// Returns the number of reads.
    pub fn reads(&self) -> u64 {
        self.reads.get()
    }

    /// Returns the number of writes.
    pub fn writes(&self) -> u64 {
        self.writes.get()
    }
}

/// The content of a login request.
#[derive(Clone, Debug)]
pub struct LoginRequest {
    /// Name of the login.
    pub user: String,
    /// Password in plain text.
    pub password: String,
    /// New password in plain text, if the login changes it.
    pub new_password: Option<String>,
    /// Requested database; empty for the login's default.
    pub database: String,
    /// Requested language; empty for the login's default.
    pub language: String,
    /// What the client sent about itself.
    pub client: ClientInfo,
}

/// The procedure that an RPC calls.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum RpcTarget<'a> {
    /// By name as sent: `proc`, `dbo.proc`, `[sys].sp_x`; drivers resolve `{call ..}` themselves.
    Name(&'a str),
    /// By ProcID 1 to 15. `[MS-TDS] 2.2.6.6`
    Id(u16),
}

/// A parameter of an RPC.
#[derive(Clone, Debug)]
pub struct RpcParameter {
    /// Name with or without `@`; empty if positional.
    pub name: String,
    /// Type and collation as sent.
    pub ty: ColumnType,
    /// Value; for a table-valued parameter see `table`.
    pub value: Value,
    /// fByRefValue: an OUTPUT parameter.
    pub output: bool,
    /// fDefaultValue: the parameter's default is used.
    pub default: bool,
    /// Rows of a table-valued parameter.
    pub table: Option<Box<TableParameter>>,
}

/// A table-valued parameter as sent.
#[derive(Clone, Debug, Default)]
pub struct TableParameter {
    /// Name of its table type: schema and name.
    pub type_name: (String, String),
    /// Types of the columns as sent; `None` for a column that has its default in all rows.
    pub columns: Vec<Option<ColumnType>>,
    /// Rows; one value per column sent.
    pub rows: Vec<Vec<Value>>,
}

/// An RPC request, decoded.
#[derive(Debug)]
pub struct Rpc<'a> {
    /// Procedure to call, by name or id.
    pub target: RpcTarget<'a>,
    /// Parameters in the order sent. Borrowed, so that the server reuses their memory; values may
    /// be moved out.
    pub parameters: &'a mut [RpcParameter],
    /// Whether more RPCs follow in the same message.
    pub more: bool,
    /// The call as received, if [`wants_data_stream`] says that an event session needs it.
    pub stream: Option<&'a [u8]>,
}

/// A transaction manager request. `[MS-TDS] 2.2.6.9`
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum TransactionRequest<'a> {
    /// TM_BEGIN_XACT: isolation level and name.
    Begin(Option<IsolationLevel>, &'a str),
    /// TM_COMMIT_XACT; also begins the next transaction if requested (fBeginXact).
    Commit(Option<BeginNext<'a>>),
    /// TM_ROLLBACK_XACT to a savepoint or entirely; also begins the next transaction if requested.
    Rollback(&'a str, Option<BeginNext<'a>>),
    /// TM_SAVE_XACT: name of the savepoint.
    Save(&'a str),
}

/// The transaction that a COMMIT or ROLLBACK request begins as well.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct BeginNext<'a> {
    /// Isolation level; `None` keeps the current one.
    pub isolation: Option<IsolationLevel>,
    /// Name of the transaction.
    pub name: &'a str,
}

/// Whether a reset rolls back the open transaction.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Reset {
    /// RESETCONNECTION: it is rolled back.
    All,
    /// RESETCONNECTIONSKIPTRAN: it stays open.
    KeepTransaction,
}
