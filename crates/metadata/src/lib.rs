//! What the server reports about itself and its catalog. System views, metadata functions and
//! system procedures read the same rows (`objects.rs`, `types.rs`, `sessions.rs`, `tasks.rs` and
//! others).
//!
//! - `view.rs` defines a system view, `column.rs` the list of columns that it is written as;
//! - `function/` has the functions that read the session or the catalog (`OBJECT_ID`,
//!   `HAS_PERMS_BY_NAME`, `@@SPID`).
//!
//! Does not know the views themselves (crate `views`), binds nothing, and runs no statements. Start at `view.rs`.
#![forbid(unsafe_code)]

pub mod backup;
pub mod column;
pub mod configurations;
pub mod counters;
pub mod database_state;
pub mod documented_procedures;
pub mod folder_walk;
pub mod format;
pub mod function;
pub mod histogram;
pub mod ledger;
mod locked_row;
pub mod log;
pub mod messages;
pub mod objects;
pub mod partitions;
pub mod permissions;
pub mod properties;
pub mod requests;
pub mod row_groups;
pub mod samples;
pub mod segments;
pub mod sessions;
pub mod statistics;
pub mod system_objects;
pub mod tasks;
pub mod triggers;
pub mod type_facts;
pub mod types;
pub mod view;

pub use view::{RowSet, Rows, Scope, SystemView};
