//! The load generator: many connections per thread against any TDS server, of which it sees the wire
//! only.
//!
//! ```text
//!   Script (encoded requests) ─► Generator (connections on one epoll) ─► Outcome (latencies, errors)
//!   stress::Work ─► stress::Driver (pace, pool, timeouts; a Link each) ─► stress::Tally, the same by time
//!   agent::Crew ─► agent::Agent, in other processes ─► their Drivers ─► Tallies, put together
//! ```
//!
//! [`profile`] is a client too: it asks a server's sampler what it sees.
//!
//! The first is for our own benchmark, which stops at the first surprise; `stress` is for any server, and
//! counts surprises.
//!
//! A request is encoded once and sent many times; an answer is skimmed for its end and decoded only
//! when it is not as long as it should be. What it costs itself is part of every outcome, and
//! [`echo`] is the bare server against which any other can be compared in the same run.
#![forbid(unsafe_code)]

pub mod address;
pub mod agent;
pub mod answer;
pub mod ask;
mod connection;
pub mod counters;
pub mod echo;
pub mod generator;
pub mod html;
pub mod inside;
pub mod json;
pub mod link;
pub mod machine;
pub mod model;
pub mod outcome;
pub mod page;
pub mod process;
pub mod profile;
pub mod script;
pub mod stress;
mod tls;

pub use answer::Answer;
pub use generator::{Generator, Idle, Login, pause};
pub use outcome::Outcome;
pub use process::ServerProcess;
pub use script::Script;

/// What went wrong in words, for the user of a tool.
pub type Result<T, E = String> = std::result::Result<T, E>;
