//! System views, `sys.*` and `INFORMATION_SCHEMA.*`. Each file has one view: a list of columns and
//! a function that returns the rows.
//!
//! A file has the name of its view (`dm_exec_sessions.rs`). The views of `INFORMATION_SCHEMA`
//! and those of Extended Events are in folders; most of SQL Server 2000's system tables are in the
//! crate `compatibility`. Rows that
//! several views show come from the crate `metadata`. A column without a truthful value here is
//! NULL, never invented.
//!
//! Does not know its callers: the binder finds views by name through the engine's library. Start at
//! any view; a new one is added to `registry.rs` as well.
#![forbid(unsafe_code)]

mod absent;
mod absent_endpoints;
mod absent_objects;
mod absent_security;
mod absent_server;
mod all_columns;
mod all_objects;
mod all_parameters;
mod all_sql_modules;
mod all_views;
mod allocation_units;
mod backup_tables;
mod check_constraints;
mod column_store_dictionaries;
mod column_store_row_groups;
mod column_store_segments;
mod columns;
mod computed_columns;
mod configurations;
pub mod console_panels;
mod data_spaces;
mod database_files;
mod database_filestream_options;
mod database_mirroring;
mod database_permissions;
mod database_principals;
mod database_recovery_status;
mod database_role_members;
mod database_scoped_configurations;
mod databases;
mod default_constraints;
mod dependencies;
mod destination_data_spaces;
mod dm_db_column_store_row_group_physical_stats;
mod dm_db_file_space_usage;
mod dm_db_index_operational_stats;
mod dm_db_index_physical_stats;
mod dm_db_index_usage_stats;
mod dm_db_partition_stats;
mod dm_db_session_space_usage;
mod dm_db_stats_histogram;
mod dm_db_stats_properties;
mod dm_db_task_space_usage;
mod dm_db_xtp_hash_index_stats;
mod dm_db_xtp_memory_consumers;
mod dm_db_xtp_table_memory_stats;
mod dm_exec_cached_plans;
mod dm_exec_connections;
mod dm_exec_cursors;
mod dm_exec_function_stats;
mod dm_exec_input_buffer;
mod dm_exec_plan_attributes;
mod dm_exec_procedure_stats;
mod dm_exec_query_ledger;
mod dm_exec_query_memory_grants;
mod dm_exec_query_plan;
mod dm_exec_query_profiles;
mod dm_exec_query_resource_semaphores;
mod dm_exec_query_statistics_xml;
mod dm_exec_query_stats;
mod dm_exec_requests;
mod dm_exec_session_ledger;
mod dm_exec_session_wait_stats;
mod dm_exec_sessions;
mod dm_exec_sql_text;
mod dm_exec_text_query_plan;
mod dm_exec_trigger_stats;
mod dm_io_virtual_file_stats;
mod dm_os_allocation_samples;
mod dm_os_cpu_samples;
mod dm_os_enumerate_filesystem;
mod dm_os_enumerate_fixed_drives;
mod dm_os_environment;
mod dm_os_error_log;
mod dm_os_file_exists;
mod dm_os_host_info;
mod dm_os_latch_stats;
mod dm_os_memory_cache_counters;
mod dm_os_memory_clerks;
mod dm_os_memory_health_history;
mod dm_os_memory_nodes;
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
mod dm_sql_referenced_entities;
mod dm_sql_referencing_entities;
mod dm_tran_active_snapshot_database_transactions;
mod dm_tran_active_transactions;
mod dm_tran_current_transaction;
mod dm_tran_database_transactions;
mod dm_tran_locks;
mod dm_tran_session_transactions;
mod dm_tran_version_store_space_usage;
mod documented;
mod endpoints;
mod extended_properties;
mod external_data_sources;
mod external_file_formats;
mod external_tables;
mod filegroups;
mod fn_listextendedproperty;
mod fn_my_permissions;
mod fn_stack_frames;
mod fn_stack_text;
mod fn_time_ledger;
mod fn_trace_gettable;
mod foreign_key_columns;
mod foreign_keys;
mod hash_indexes;
mod identity_columns;
mod index_columns;
mod indexes;
mod information_schema;
mod key_constraints;
mod log;
mod master_files;
mod messages;
mod missing_index;
pub mod msdb;
mod objects;
mod parameters;
mod partition_functions;
mod partition_parameters;
mod partition_range_values;
mod partition_schemes;
mod partitions;
mod periods;
mod procedures;
mod query_store;
mod registry;
mod resource_governor;
mod schemas;
mod sequences;
mod server_list;
mod server_permissions;
mod server_principals;
mod server_role_members;
mod spt_values;
mod spt_words;
mod sql_dependencies;
mod sql_expression_dependencies;
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

pub use documented::known_but_missing;

use metadata::{Rows, Scope, SystemView, column};

/// All views of this crate, in lists. An object id is computed from the position in them.
pub static VIEWS: &[&[&SystemView]] = &[
    registry::VIEWS,
    ::compatibility::VIEWS,
    absent::VIEWS,
    missing_index::VIEWS,
    absent_server::VIEWS,
    resource_governor::VIEWS,
    absent_endpoints::VIEWS,
    absent_objects::VIEWS,
    absent_security::VIEWS,
    registry::OF_TOOLS,
];
