//! Agents: other processes, perhaps on other machines, that generate load on behalf of a
//! coordinator.
//!
//! ```text
//!   Crew (the coordinator) ─ Channel ─► Agent ─► Fleet ─► the server
//!        hello, proof of the token
//!        Job: what is sent, to whom, how
//!        Level: number of connections, which log in        ◄─ Ready
//!        Start: delay in nanoseconds                      ◄─ Second, each second; Tally at the end
//! ```
//!
//! Both must be the same version and share a token: otherwise anyone who can reach an agent's port
//! could make it send load. The token itself is not sent; each message carries a keyed hash of its
//! content and of the messages before it (`channel`). Messages are not encrypted. They contain the
//! scripts, but no password: each agent has its own.
//!
//! Histograms are sent as pairs of a bucket and its count, so that merging them loses nothing.
//! (hdrhistogram's own format would add a base64 encoding and a parser, for a reader that is always
//! this program.)

mod channel;
mod crew;
mod message;
mod serve;
mod wire;

pub use channel::Token;
pub use crew::Crew;
pub use message::Job;
pub use serve::{Agent, Password};
