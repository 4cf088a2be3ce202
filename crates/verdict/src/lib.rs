//! What a server's own views say is wrong with it: the questions, the readings, their differences
//! as a time vector whose parts add up, and the rules that make a verdict of it.
//!
//! ```text
//!   question ─► rows ─► Recording (readings at the edges of sub-windows) ─► Window (time per request)
//!   report (text, JSON, HTML) ◄─ Verdict ◄─ judge ◄─ rules (candidates with their share of time) ◄─┘
//! ```
//!
//! Nothing here connects to anything: `clearway diagnose` asks over the wire, `sys.sp_diagnose` in
//! the server, and both judge by these rules. Which causes there are: `cause.rs`.
#![forbid(unsafe_code)]

pub mod category;
pub mod cause;
pub mod difference;
pub mod estimate;
pub mod judge;
pub mod question;
pub mod recording;
pub mod report;
pub mod row;
mod rules;
pub mod window;

pub use cause::Cause;
pub use judge::{Grade, Outcome, Verdict, judge};
pub use recording::{Recording, Subject};
pub use window::Window;
