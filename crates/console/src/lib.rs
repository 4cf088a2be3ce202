//! `clearway sql`: sends statements that are typed, piped or read from files to any TDS server, and
//! prints their results for people or programs.
//!
//! ```text
//!   editor │ file │ pipe ─► Shell (lines, `:`-commands, variables, GO) ─► Session (one connection)
//!   stdout │ file ◄─ render (table, plain, CSV, JSON) ◄─ tokens, as they come ◄──┘
//! ```
//!
//! Behaviour follows sqlcmd where it applies: docs/sql.md.
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
