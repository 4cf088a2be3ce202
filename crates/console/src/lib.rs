//! `clearway sql`: statements typed, piped or read from files, sent to any TDS server, and their results in
//! a form that people or programs read.
//!
//! ```text
//!   editor │ file │ pipe ─► Shell (lines, `:`-commands, variables, GO) ─► Session (one connection)
//!   stdout │ file ◄─ render (table, plain, CSV, JSON) ◄─ tokens, as they come ◄──┘
//! ```
//!
//! The habits are sqlcmd's where it has any: docs/sql.md.
#![forbid(unsafe_code)]

pub mod command;
mod complete;
mod editor;
mod output;
mod receive;
pub mod render;
mod session;
mod settings;
mod shell;
pub mod variables;

pub use render::Format;
pub use settings::{Connect, Messages, Settings, Start};
pub use shell::run;
