//! What a connection is inside the engine: its state, and the instance that it is on.
//!
//! - `state.rs` has what a session keeps; beside it each part of it has a file (temporary tables, cursors, transaction,
//!   contexts, caches);
//! - `instance/` is the engine that sessions share; `event/` tells event sessions what happens;
//! - `binding.rs` lends a binder what it needs.
//!
//! Nothing here runs a statement: that is the executor's.
#![forbid(unsafe_code)]

pub mod argument;
pub mod cache;
pub mod class;
pub mod context;
pub mod cursor;
pub mod deferred;
pub mod definition;
pub mod event;
pub mod frame;
pub mod grant;
pub mod helper;
pub mod instance;
pub use catalog::options;
pub mod pointer;
pub mod prepared;
pub mod scratch;
pub mod state;
pub mod stop;
pub mod temp;
pub mod template;
pub mod transaction;

use std::sync::Arc;

use sos::ledger::Counter;
use types::Value;
use types::value::ColumnType;

pub use crate::event::context::wants_data_stream;
pub use cache::{Entry, ProgramKey};
pub use options::{IsolationLevel, Options};
pub use state::SessionState;
pub use state::{session_id, session_number};
pub use template::Kind;

/// What a client said of itself at login, for the views and functions that tell it.
#[derive(Clone, Debug, Default)]
pub struct ClientInfo {
    /// LOGIN7 HostName.
    pub host_name: String,
    /// LOGIN7 AppName.
    pub program_name: String,
    /// LOGIN7 CltIntName.
    pub interface_name: String,
    /// LOGIN7 ClientPID.
    pub process_id: u32,
    /// LOGIN7 ClientProgVer.
    pub client_version: u32,
    /// TDS version as the LOGINACK tells it, such as 0x74000004.
    pub tds_version: u32,
    /// Packet size agreed.
    pub packet_size: u32,
    /// Address of the client, `host` and `port`.
    pub address: (String, u16),
    /// Address it connected to.
    pub local_address: (String, u16),
    /// Whether the connection is encrypted.
    pub encrypted: bool,
    /// LOGIN7 fODBC or fOLEDB.
    pub odbc: bool,
    /// What has gone over the connection.
    pub traffic: Arc<Traffic>,
}

/// What has gone over a connection. Written by the thread that serves it, one at a time.
#[derive(Debug, Default)]
pub struct Traffic {
    reads: Counter,
    writes: Counter,
}

impl Traffic {
    /// Counts a receive that brought something.
    pub fn count_read(&self) {
        self.reads.add(1);
    }

    /// Counts a send that took something.
    pub fn count_write(&self) {
        self.writes.add(1);
    }

    /// Receives so far.
    pub fn reads(&self) -> u64 {
        self.reads.get()
    }

    /// Sends so far.
    pub fn writes(&self) -> u64 {
        self.writes.get()
    }
}

/// A login attempt.
#[derive(Clone, Debug)]
pub struct LoginRequest {
    /// Login name.
    pub user: String,
    /// Password in clear.
    pub password: String,
    /// The password that is to take its place, in clear, if the login changes it.
    pub new_password: Option<String>,
    /// Database; empty for the login's default.
    pub database: String,
    /// Language; empty for the login's default.
    pub language: String,
    /// The client's facts.
    pub client: ClientInfo,
}

/// Which procedure an RPC calls.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum RpcTarget<'a> {
    /// By name, as sent: `proc`, `dbo.proc`, `[sys].sp_x`, `{call ..}` already taken apart by the driver.
    Name(&'a str),
    /// By ProcID 1 to 15. `[MS-TDS] 2.2.6.6`
    Id(u16),
}

/// A parameter of an RPC.
#[derive(Clone, Debug)]
pub struct RpcParameter {
    /// Name with or without `@`; empty if positional.
    pub name: String,
    /// Type as sent.
    pub ty: ColumnType,
    /// Value; for a table-valued parameter see `table`.
    pub value: Value,
    /// fByRefValue: OUTPUT.
    pub output: bool,
    /// fDefaultValue: take the parameter's default.
    pub default: bool,
    /// Rows of a table-valued parameter.
    pub table: Option<Box<TableParameter>>,
}

/// A table-valued parameter.
#[derive(Clone, Debug, Default)]
pub struct TableParameter {
    /// Type name: schema and name.
    pub type_name: (String, String),
    /// Types of the columns as sent; none of a column that is left to the table type in all rows.
    pub columns: Vec<Option<ColumnType>>,
    /// Rows.
    pub rows: Vec<Vec<Value>>,
}

/// An RPC request.
#[derive(Debug)]
pub struct Rpc<'a> {
    /// What is called.
    pub target: RpcTarget<'a>,
    /// Parameters in the order sent. Lent, so that the server uses their memory again: values may be
    /// taken out.
    pub parameters: &'a mut [RpcParameter],
    /// Whether more RPCs follow in the same message.
    pub more: bool,
    /// The call as it came, where [`wants_data_stream`] says that an event session asks for it.
    pub stream: Option<&'a [u8]>,
}

/// A transaction manager request. `[MS-TDS] 2.2.6.9`
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum TransactionRequest<'a> {
    /// TM_BEGIN_XACT
    Begin(Option<IsolationLevel>, &'a str),
    /// TM_COMMIT_XACT; begins the next one if asked (fBeginXact).
    Commit(Option<BeginNext<'a>>),
    /// TM_ROLLBACK_XACT to a savepoint or all; begins the next one if asked.
    Rollback(&'a str, Option<BeginNext<'a>>),
    /// TM_SAVE_XACT
    Save(&'a str),
}

/// The transaction that a COMMIT or ROLLBACK request begins in the same breath.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct BeginNext<'a> {
    /// Isolation level; `None` leaves it.
    pub isolation: Option<IsolationLevel>,
    /// Name.
    pub name: &'a str,
}

/// Whether a reset ends the open transaction.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Reset {
    /// RESETCONNECTION: rolls it back.
    All,
    /// RESETCONNECTIONSKIPTRAN: keeps it.
    KeepTransaction,
}
