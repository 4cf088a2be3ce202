//! Tests of the engine through its boundary: scripts of T-SQL in, rows, messages and errors out.

#![expect(clippy::unwrap_used, reason = "a test that cannot go on fails")]

mod bulk;
mod cancel;
mod client;
mod concurrent;
mod definition_bytes;
mod definitions;
mod durable;
mod event_fields;
mod event_requests;
mod events;
mod explain;
mod export;
mod golden;
mod grant;
mod histories;
mod isolation;
mod locks;
mod modes;
mod openrowset;
mod optimizer;
mod option_definitions;
mod option_page;
mod option_rows;
mod options;
mod panics;
mod parallel;
mod parallel_ends;
mod parallel_files;
mod permissions;
mod point_bench;
mod prefixes;
mod script;
mod security;
mod slt;
mod statistics;
mod support;
mod templates;
mod temporal;
mod tpch;
mod tuple_mover;
mod types;
mod user_access;
mod views;
