//! `clearway lab`: five ways in which a database engine failed to scale, each run with the old and
//! the new implementation on this machine, in servers started as child processes.
//!
//! ```text
//!   Experiment ─► two servers, old and new ─► turns A B B A ─► Finding ─► text, JSON, HTML
//!                                             load::stress, and SELECTs before and after each
//! ```
//!
//! The experiments and their published figures are from public write-ups about SQL Server on 96 and
//! 144 CPUs; docs/lab.md names them.
#![forbid(unsafe_code)]

mod experiment;
mod finding;
mod flame;
mod report;
mod run;

pub use experiment::{EXPERIMENTS, Experiment};
pub use finding::{Finding, Side};
pub use report::{html, json, text};
pub use run::{Settings, run};
