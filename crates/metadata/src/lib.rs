//! What the server says about itself and its catalog, gathered once for all that show it: system views, metadata
//! functions and system procedures read the same rows (`objects.rs`, `types.rs`, `sessions.rs`, `tasks.rs` and others).
//!
//! - `view.rs` is what a system view is, `column.rs` the columns that it is written as;
//! - `function/` has the functions that read the session or the catalog (`OBJECT_ID`, `HAS_PERMS_BY_NAME`, `@@SPID`);
//! - `binding.rs` makes the binder's context from a session.
//!
//! It does not know which views there are (crate `views`), and it runs nothing. Start at `view.rs`.
#![forbid(unsafe_code)]

pub mod binding;
pub mod column;
pub mod configurations;
pub mod counters;
pub mod documented_procedures;
pub mod format;
pub mod function;
pub mod ledger;
pub mod messages;
pub mod objects;
pub mod permissions;
pub mod properties;
pub mod requests;
pub mod row_groups;
pub mod samples;
pub mod segments;
pub mod sessions;
pub mod statistics;
pub mod tasks;
pub mod triggers;
pub mod types;
pub mod view;

pub use view::{Rows, Scope, SystemView};
