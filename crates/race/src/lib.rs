//! `clearway race`: the same logical work on Clearway and on every peer found on this machine, in
//! turns, by one client.
//!
//! ```text
//!   peer::find ─► PeerProcess (own folder, port, CPU) ─┐
//!   Work ─► Book: what to ask, what must come back ─► Client ─► turns 1 2 .. n n .. 2 1 ─► Race ─► text, JSON, page
//!           Protocol: that as bytes of one server ─────┘
//! ```
//!
//! Work on many rows at once (`bulk`) runs on Clearway, DuckDB and TDS servers, one statement at a
//! time.
//!
//! TPC-C's transactions (`tpcc`) run on the servers that have transactions.
//!
//! docs/race.md describes what is the same for all of them, and what is not.
#![forbid(unsafe_code)]

mod book;
mod bulk;
mod calls;
mod client;
mod common;
mod duckdb;
mod keeping;
mod peer;
mod process;
mod protocol;
mod report;
mod run;
mod tpcc;
mod work;

pub use self::tpcc::{
    TPCC_PEERS, TPCC_WAREHOUSES_MAX, TpccLap, TpccRace, TpccSettings, TpccWork, run_tpcc,
    tpcc_json, tpcc_section, tpcc_text,
};
pub use ::tpcc::Scale;
pub use bulk::{Bulk, BulkLap, DUCKDB, ROWS_MAX};
pub use calls::{Calls, calls};
pub use peer::{Kind, TdsServer};
pub use report::{json, section, text};
pub use run::{Race, Settings, run};
pub use work::Work;

/// The heading of the section that [`section`] writes for a race in memory.
pub const HEADING: &str = "## Race against peers";

/// The heading of that section for a race with durable writes.
pub const DURABLE_HEADING: &str = "## Race with durable writes";

/// The heading of the section that [`tpcc_section`] writes for a race in memory.
pub const TPCC_HEADING: &str = "## TPC-C beside PostgreSQL and MariaDB";

/// The heading of that section for a race with durable writes.
pub const TPCC_DURABLE_HEADING: &str = "## TPC-C with durable writes";

/// The result of this crate's functions; an error is a text for the user.
pub(crate) type Result<T, E = String> = std::result::Result<T, E>;
