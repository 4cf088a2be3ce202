//! System views: `sys.*` and `INFORMATION_SCHEMA.*`, one file per view, each a list of columns and a
//! function that makes the rows.
//!
//! A view's file is named by the view (`dm_exec_sessions.rs`); those of `INFORMATION_SCHEMA` are in
//! their own folder. What several views show is gathered in `source.rs`. A column that has no
//! truthful value here is NULL, never invented.

mod absent;
mod absent_server;
mod all_columns;
mod all_objects;
mod all_parameters;
mod all_sql_modules;
mod all_views;
mod allocation_units;
mod check_constraints;
mod column;
mod column_store_dictionaries;
mod column_store_row_groups;
mod column_store_segments;
mod columns;
mod compatibility;
mod computed_columns;
pub(crate) mod configurations;
mod data_spaces;
mod database_files;
mod database_mirroring;
mod database_permissions;
mod database_principals;
mod database_query_store_options;
mod database_recovery_status;
mod database_role_members;
mod database_scoped_configurations;
mod databases;
mod default_constraints;
mod dm_db_column_store_row_group_physical_stats;
mod dm_db_file_space_usage;
mod dm_db_index_operational_stats;
mod dm_db_index_physical_stats;
mod dm_db_index_usage_stats;
mod dm_db_log_space_usage;
mod dm_db_partition_stats;
mod dm_db_session_space_usage;
mod dm_db_stats_properties;
mod dm_db_task_space_usage;
mod dm_db_xtp_hash_index_stats;
mod dm_db_xtp_memory_consumers;
mod dm_db_xtp_table_memory_stats;
mod dm_exec_cached_plans;
mod dm_exec_connections;
mod dm_exec_describe_first_result_set;
mod dm_exec_input_buffer;
mod dm_exec_procedure_stats;
mod dm_exec_query_ledger;
mod dm_exec_query_memory_grants;
mod dm_exec_query_plan;
mod dm_exec_query_resource_semaphores;
mod dm_exec_query_stats;
mod dm_exec_requests;
mod dm_exec_session_ledger;
mod dm_exec_session_wait_stats;
mod dm_exec_sessions;
mod dm_exec_sql_text;
mod dm_exec_text_query_plan;
mod dm_io_virtual_file_stats;
mod dm_os_allocation_samples;
mod dm_os_cpu_samples;
mod dm_os_host_info;
mod dm_os_latch_stats;
mod dm_os_memory_clerks;
mod dm_os_memory_objects;
mod dm_os_nodes;
mod dm_os_performance_counters;
mod dm_os_process_memory;
mod dm_os_ring_buffers;
mod dm_os_sampler;
mod dm_os_schedulers;
mod dm_os_spinlock_stats;
mod dm_os_stalls;
mod dm_os_sys_info;
mod dm_os_sys_memory;
mod dm_os_tasks;
mod dm_os_thread_ledger;
mod dm_os_threads;
mod dm_os_time_ledger;
mod dm_os_wait_samples;
mod dm_os_wait_stats;
mod dm_os_waiting_tasks;
mod dm_os_workers;
mod dm_resource_governor_resource_pools;
mod dm_resource_governor_workload_groups;
mod dm_server_login_failures;
mod dm_server_services;
mod dm_tran_active_transactions;
mod dm_tran_locks;
mod dm_tran_session_transactions;
mod documented;
mod endpoints;
mod extended_properties;
mod external_data_sources;
mod external_file_formats;
mod external_tables;
mod filegroups;
mod fn_listextendedproperty;
mod fn_stack_frames;
mod fn_stack_text;
mod fn_time_ledger;
mod foreign_key_columns;
mod foreign_keys;
mod hash_indexes;
mod identity_columns;
mod index_columns;
mod indexes;
mod information_schema;
mod key_constraints;
mod master_files;
mod messages;
mod objects;
mod parameters;
mod partitions;
mod periods;
mod procedures;
mod registry;
mod schemas;
mod sequences;
mod server_list;
mod server_permissions;
mod server_principals;
mod server_role_members;
pub(crate) mod source;
mod source_counters;
mod source_ledger;
pub(crate) mod source_messages;
mod source_permissions;
pub(crate) mod source_properties;
pub(crate) mod source_requests;
mod source_row_groups;
mod source_samples;
mod source_segments;
pub(crate) mod source_sessions;
mod source_statistics;
pub(crate) mod source_tasks;
mod source_triggers;
pub(crate) mod source_types;
mod spt_values;
mod spt_words;
mod sql_logins;
mod sql_modules;
mod stats;
mod stats_columns;
mod synonyms;
mod sysdatabases;
mod sysobjects;
mod system_columns;
mod system_internals_allocation_units;
mod system_objects;
mod system_views;
mod table_types;
mod tables;
mod tcp_endpoints;
mod time_zone_info;
mod trigger_events;
mod triggers;
mod types;
mod views;
mod xe;

pub use crate::plan::view::Rows;
pub(crate) use columns::generated_always;
pub(crate) use documented::known_but_missing;
pub(crate) use source_permissions::permission_type;
pub(crate) use tables::temporal_type;

use ::types::Value;
use ::types::value::ColumnType;
use sos::ledger::{self, State};
use std::any::Any;

use crate::catalog::Database;
use crate::catalog::name::Name;
use crate::plan;
use crate::session::SessionState;

/// A system view or system table function.
pub struct SystemView {
    /// Schema: `sys` or `INFORMATION_SCHEMA`; empty for compatibility views that need none.
    pub schema: &'static str,
    /// Name.
    pub name: &'static str,
    /// Names and types of the columns, in the documented order.
    pub columns: fn() -> Vec<(&'static str, ColumnType)>,
    /// Makes the rows.
    pub rows: fn(&Scope<'_>) -> Rows,
    /// Number of arguments; 0 for a view.
    pub arity: u8,
}

/// What the rows of a view are made from.
pub struct Scope<'a> {
    /// The session that asks.
    pub session: &'a SessionState,
    /// The database whose view it is: `other.sys.tables` shows the tables of `other`.
    pub database: &'a Database,
    /// Arguments of a table function.
    pub arguments: &'a [Value],
}

impl plan::view::SystemView for SystemView {
    fn schema(&self) -> &'static str {
        self.schema
    }

    fn name(&self) -> &'static str {
        self.name
    }

    fn columns(&self) -> Vec<(&'static str, ColumnType)> {
        (self.columns)()
    }

    fn arity(&self) -> u8 {
        self.arity
    }

    fn read(&self, session: &dyn Any, database: &str, arguments: &[Value]) -> Rows {
        let session = session.downcast_ref().expect("the engine's sessions are of one type");
        self.read(session, database, arguments)
    }
}

impl SystemView {
    /// Makes the rows as a database shows them; none if the database is gone.
    ///
    /// # Errors
    /// Those of definitions that must be bound to be shown (columns of views).
    pub fn read(&self, session: &SessionState, database: &str, arguments: &[Value]) -> Rows {
        // What the server tells of itself is paid for by whoever asks, under a name of its own.
        let of_itself = self.name.starts_with("dm_") || self.name.starts_with("fn_");
        let _observing = of_itself.then(Observing::begin);
        let _label = sos::ledger::labelled(sos::ledger::Label::View);
        match session.catalog.database(database) {
            // The state of the server or of a database has been asked for as a whole.
            Some(database) if self.name.starts_with("dm_") => {
                (self.rows)(&Scope { session, database, arguments })
            }
            Some(database) => {
                let seen = session.sees(database);
                (self.rows)(&Scope { session, database: &seen, arguments })
            }
            None => Ok(Vec::new()),
        }
    }
}

/// While this lives, the thread's time is booked as observation.
struct Observing(State);

impl Observing {
    fn begin() -> Self {
        Self(ledger::to(State::Observing))
    }
}

impl Drop for Observing {
    fn drop(&mut self) {
        ledger::to(self.0);
    }
}

/// Finds a system view by schema and name. Compatibility views (`sysobjects`) need no schema, and may
/// be asked for under `dbo` as well.
pub fn find(schema: &str, name: &str) -> Option<&'static SystemView> {
    let found = |v: &&SystemView| {
        Name::same(v.name, name)
            && (Name::same(v.schema, schema)
                || (v.schema.is_empty()
                    && (Name::same(schema, "sys") || Name::same(schema, "dbo"))))
    };
    registered().find(found)
}

fn registered() -> impl Iterator<Item = &'static SystemView> {
    registry::VIEWS.iter().chain(absent::VIEWS).chain(absent_server::VIEWS).copied()
}

/// Iterates over all system views with their object ids, which lie below those of temporary tables.
pub(crate) fn all() -> impl Iterator<Item = (i32, &'static SystemView)> {
    (SYSTEM_VIEW_ID..).zip(registered())
}

/// Object id of the first system view.
const SYSTEM_VIEW_ID: i32 = -1_000_000_000;

impl std::fmt::Debug for SystemView {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "{}.{}", self.schema, self.name)
    }
}
