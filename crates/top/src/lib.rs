//! `clearway top`: where a server's time goes, its requests, statements and locks, refreshed in a
//! terminal. Its source is SQL alone, so it works with SQL Server too, with the views that it has.
//!
//! ```text
//!   Client (one connection, never blocks) ─► Conversation (probes, rounds) ─► App (readings, keys)
//!   terminal ◄─ screen (draws App) ◄──────────────────────────────────────────┘
//! ```
//!
//! Use and cost: docs/top.md.
#![forbid(unsafe_code)]

pub mod app;
mod client;
mod conversation;
pub mod format;
pub mod lock;
pub mod question;
pub mod request;
pub mod rows;
mod run;
mod screen;
mod settings;
pub mod showplan;
pub mod statement;
pub mod table;
mod terminal;
pub mod theme;
pub mod time;

pub use app::{App, Screen};
pub use run::{run, screen_text};
pub use settings::Settings;
pub(crate) use verdict::difference;
