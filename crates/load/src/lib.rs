//! The load generator: many connections per thread against any TDS server, using only the wire
//! protocol.
//!
//! ```text
//!   Script (encoded requests) ─► Generator (connections on one epoll) ─► Outcome (latencies, errors)
//!   stress::Work ─► stress::Driver (pace, pool, timeouts; a Link each) ─► stress::Tally, the same by time
//!   agent::Crew ─► agent::Agent, in other processes ─► their Drivers ─► Tallies, put together
//! ```
//!
//! [`profile`] is a client too: it reads a server's sampler.
//!
//! [`Generator`] is for our own benchmark and stops at the first unexpected answer; `stress` is for
//! any server and counts unexpected answers.
//!
//! A request is encoded once and sent many times; of an answer only the end is read, unless its
//! length is unexpected: then it is decoded. The generator's own CPU time is part of every outcome,
//! and [`echo`] is the bare server that any other can be compared with in the same run.
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
pub mod rows;
pub mod script;
pub mod stress;
pub mod tls;

pub use answer::Answer;
pub use generator::{Generator, Idle, Login, pause};
pub use outcome::Outcome;
pub use process::ServerProcess;
pub use script::Script;

/// The result of this crate's functions; an error is a text for the user.
pub type Result<T, E = String> = std::result::Result<T, E>;
