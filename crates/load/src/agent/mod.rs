//! Agents: other processes, on other machines perhaps, that put a load where a coordinator tells them to.
//!
//! ```text
//!   Crew (the coordinator) ─ Channel ─► Agent ─► Fleet ─► the server
//!        hello, proof of the token
//!        Job: what is sent, to whom, how
//!        Level: so many connections; they log in          ◄─ Ready
//!        Start: in so many nanoseconds from now           ◄─ Second, each second; Tally at the end
//! ```
//!
//! Both must be the same version, and know the same token: whoever reaches an agent's port could else make it send load. The
//! token does not travel; each message carries a keyed hash of it and of what came before (`channel`). Messages are not
//! encrypted. They hold the scripts, but no password: an agent has its own.
//!
//! Histograms travel as pairs of a bucket and its count, so that nothing is lost by putting them together. (hdrhistogram's own
//! form would cost a second base64 and a parser, for a reader that is always this program.)

mod channel;
mod crew;
mod message;
mod serve;
mod wire;

pub use channel::Token;
pub use crew::Crew;
pub use message::Job;
pub use serve::{Agent, Password};
