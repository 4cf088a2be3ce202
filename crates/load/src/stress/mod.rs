//! The load generator behind `clearway stress`, for any TDS server.
//!
//! ```text
//!   Work (what is sent) ─┐
//!   Pace (when)         ─┼─► Driver (a Link per connection, one thread) ─► Tally ─► report
//!   Settings (how)      ─┘
//! ```
//!
//! A closed loop sends the next request when the previous one is answered, so a slow server gets
//! fewer requests. An open loop has a time for each request, and its latency counts from that time:
//! requests that wait because the server stalls are in the figures, as they are for real users.

mod driver;
mod file;
mod fleet;
mod html;
mod input;
mod random;
mod report;
mod source;
mod tally;
mod template;
mod tpcc;
mod usl;
mod work;
mod workloads;

pub use self::tpcc::{WAREHOUSES_MAX, tpcc_call};
pub use driver::{Driver, Pace, Pool, Settings};
pub use file::FileWork;
pub use fleet::Fleet;
pub(crate) use fleet::{Seconds, part, share};
pub use input::{batches, call_of};
pub use random::Random;
pub use report::{Level, Report};
pub use source::{Prepared, Source};
pub use tally::{Second, Tally};
pub use usl::Usl;
pub use work::{Kind, Work};
pub use workloads::Workload;
