//! The tables and views of `msdb`: jobs of the Agent, backups and restores, mail, maintenance
//! plans. There is no Agent and no mail has been sent, so that they have their documented columns and
//! no rows; the Agent's fixed categories are there, and `backup_tables.rs` has backups and restores.
//!
//! They belong to the schema `dbo` of `msdb`, and are found there alone.

use types::value::ColumnType;
use types::{DataType, Length, Value};

use super::SystemView;
use super::absent::nothing;
use metadata::column::{
    BIT, Column, DATETIME, GUID, INT, NVMAX, SYSNAME, TINYINT, col, int, nv, rows, shape, text,
    unknown,
};
use metadata::{Rows, Scope};

/// The schema by which the tables are found.
pub const SCHEMA: &str = plan::view::MSDB;

/// Finds a table or view of `msdb` by its name.
pub fn find(name: &str) -> Option<&'static SystemView> {
    VIEWS.iter().copied().find(|view| view.name.eq_ignore_ascii_case(name))
}

/// Iterates over the tables and views of `msdb`.
pub fn all() -> impl Iterator<Item = &'static SystemView> {
    VIEWS.iter().copied()
}

/// The type of the Agent's raw ids.
const SID: DataType = DataType::VarBinary(Length::Limited(85));

const fn table(name: &'static str, columns: fn() -> Vec<(&'static str, ColumnType)>) -> SystemView {
    SystemView { schema: SCHEMA, name, columns, rows: nothing, arity: 0 }
}

/// A column that is NOT NULL.
const fn some(name: &'static str, data_type: DataType) -> Column<()> {
    col(name, data_type, |()| Value::Null)
}

static VIEWS: &[&SystemView] = &[
    &table("syspolicy_system_health_state", || {
        shape(&[
            some("health_state_id", DataType::BigInt),
            some("policy_id", INT),
            some("last_run_date", DATETIME),
            some("target_query_expression_with_id", nv(400)),
            some("target_query_expression", NVMAX),
            some("result", BIT),
        ])
    }),
    &table("sysjobs", || shape(JOBS)),
    &table("sysjobs_view", || {
        let mut columns = shape(JOBS);
        columns.insert(1, shape(&[some("originating_server", SYSNAME)])[0]);
        columns.push(shape(&[some("master_server", BIT)])[0]);
        columns
    }),
    &table("sysjobsteps", || {
        shape(&[
            some("job_id", GUID),
            some("step_id", INT),
            some("step_name", SYSNAME),
            some("subsystem", nv(40)),
            unknown("command", NVMAX),
            some("flags", INT),
            unknown("additional_parameters", NVMAX),
            some("cmdexec_success_code", INT),
            some("on_success_action", TINYINT),
            some("on_success_step_id", INT),
            some("on_fail_action", TINYINT),
            some("on_fail_step_id", INT),
            unknown("server", SYSNAME),
            unknown("database_name", SYSNAME),
            unknown("database_user_name", SYSNAME),
            some("retry_attempts", INT),
            some("retry_interval", INT),
            some("os_run_priority", INT),
            unknown("output_file_name", nv(200)),
            some("last_run_outcome", INT),
            some("last_run_duration", INT),
            some("last_run_retries", INT),
            some("last_run_date", INT),
            some("last_run_time", INT),
            unknown("proxy_id", INT),
            unknown("step_uid", GUID),
        ])
    }),
    &table("sysjobhistory", || {
        shape(&[
            some("instance_id", INT),
            some("job_id", GUID),
            some("step_id", INT),
            some("step_name", SYSNAME),
            some("sql_message_id", INT),
            some("sql_severity", INT),
            unknown("message", nv(4000)),
            some("run_status", INT),
            some("run_date", INT),
            some("run_time", INT),
            some("run_duration", INT),
            some("operator_id_emailed", INT),
            some("operator_id_netsent", INT),
            some("operator_id_paged", INT),
            some("retries_attempted", INT),
            some("server", SYSNAME),
        ])
    }),
    &table("sysjobactivity", || {
        shape(&[
            some("session_id", INT),
            some("job_id", GUID),
            unknown("run_requested_date", DATETIME),
            unknown("run_requested_source", SYSNAME),
            unknown("queued_date", DATETIME),
            unknown("start_execution_date", DATETIME),
            unknown("last_executed_step_id", INT),
            unknown("last_executed_step_date", DATETIME),
            unknown("stop_execution_date", DATETIME),
            unknown("job_history_id", INT),
            unknown("next_scheduled_run_date", DATETIME),
        ])
    }),
    &table("sysjobschedules", || {
        shape(&[
            unknown("schedule_id", INT),
            unknown("job_id", GUID),
            some("next_run_date", INT),
            some("next_run_time", INT),
        ])
    }),
    &table("sysjobservers", || {
        shape(&[
            some("job_id", GUID),
            some("server_id", INT),
            some("last_run_outcome", TINYINT),
            unknown("last_outcome_message", nv(4000)),
            some("last_run_date", INT),
            some("last_run_time", INT),
            some("last_run_duration", INT),
        ])
    }),
    &table("sysschedules", || {
        shape(&[
            some("schedule_id", INT),
            some("schedule_uid", GUID),
            some("originating_server_id", INT),
            some("name", SYSNAME),
            some("owner_sid", SID),
            some("enabled", INT),
            some("freq_type", INT),
            some("freq_interval", INT),
            some("freq_subday_type", INT),
            some("freq_subday_interval", INT),
            some("freq_relative_interval", INT),
            some("freq_recurrence_factor", INT),
            some("active_start_date", INT),
            some("active_end_date", INT),
            some("active_start_time", INT),
            some("active_end_time", INT),
            some("date_created", DATETIME),
            some("date_modified", DATETIME),
            some("version_number", INT),
        ])
    }),
    &SystemView {
        schema: SCHEMA,
        name: "syscategories",
        columns: || shape(CATEGORY),
        rows: categories,
        arity: 0,
    },
    &table("sysoperators", || {
        shape(&[
            some("id", INT),
            some("name", SYSNAME),
            some("enabled", TINYINT),
            unknown("email_address", nv(100)),
            some("last_email_date", INT),
            some("last_email_time", INT),
            unknown("pager_address", nv(100)),
            some("last_pager_date", INT),
            some("last_pager_time", INT),
            some("weekday_pager_start_time", INT),
            some("weekday_pager_end_time", INT),
            some("saturday_pager_start_time", INT),
            some("saturday_pager_end_time", INT),
            some("sunday_pager_start_time", INT),
            some("sunday_pager_end_time", INT),
            some("pager_days", TINYINT),
            unknown("netsend_address", nv(100)),
            some("last_netsend_date", INT),
            some("last_netsend_time", INT),
            some("category_id", INT),
        ])
    }),
    &table("sysalerts", || {
        shape(&[
            some("id", INT),
            some("name", SYSNAME),
            some("event_source", nv(100)),
            unknown("event_category_id", INT),
            unknown("event_id", INT),
            some("message_id", INT),
            some("severity", INT),
            some("enabled", TINYINT),
            some("delay_between_responses", INT),
            some("last_occurrence_date", INT),
            some("last_occurrence_time", INT),
            some("last_response_date", INT),
            some("last_response_time", INT),
            unknown("notification_message", nv(512)),
            some("include_event_description", TINYINT),
            unknown("database_name", nv(512)),
            unknown("event_description_keyword", nv(100)),
            some("occurrence_count", INT),
            some("count_reset_date", INT),
            some("count_reset_time", INT),
            some("job_id", GUID),
            some("has_notification", INT),
            some("flags", INT),
            unknown("performance_condition", nv(512)),
            some("category_id", INT),
        ])
    }),
    &table("sysnotifications", || {
        shape(&[
            some("alert_id", INT),
            some("operator_id", INT),
            some("notification_method", TINYINT),
        ])
    }),
    &table("syssessions", || shape(&[some("session_id", INT), some("agent_start_date", DATETIME)])),
    &table("sysproxies", || {
        shape(&[
            some("proxy_id", INT),
            some("name", SYSNAME),
            some("credential_id", INT),
            some("enabled", TINYINT),
            unknown("description", nv(512)),
            some("user_sid", SID),
            some("credential_date_created", DATETIME),
        ])
    }),
    &super::backup_tables::BACKUP_SET,
    &super::backup_tables::MEDIA_FAMILY,
    &super::backup_tables::MEDIA_SET,
    &super::backup_tables::BACKUP_FILE,
    &super::backup_tables::RESTORE_HISTORY,
    &super::backup_tables::RESTORE_FILE,
    &super::backup_tables::RESTORE_FILEGROUP,
    &table("suspect_pages", || {
        shape(&[
            some("database_id", INT),
            some("file_id", INT),
            some("page_id", DataType::BigInt),
            some("event_type", INT),
            some("error_count", INT),
            some("last_update_date", DATETIME),
        ])
    }),
    &table("log_shipping_primary_databases", || {
        shape(&[
            some("primary_id", GUID),
            some("primary_database", SYSNAME),
            some("backup_directory", nv(500)),
            some("backup_share", nv(500)),
            some("backup_retention_period", INT),
            some("backup_job_id", GUID),
            some("monitor_server", SYSNAME),
            unknown("user_specified_monitor", BIT),
            some("monitor_server_security_mode", BIT),
            unknown("last_backup_file", nv(500)),
            unknown("last_backup_date", DATETIME),
        ])
    }),
    &table("log_shipping_secondary_databases", || {
        shape(&[
            some("secondary_database", SYSNAME),
            some("secondary_id", GUID),
            some("restore_delay", INT),
            some("restore_all", BIT),
            some("restore_mode", BIT),
            some("disconnect_users", BIT),
            unknown("block_size", INT),
            unknown("buffer_count", INT),
            unknown("max_transfer_size", INT),
            unknown("last_restored_file", nv(500)),
            unknown("last_restored_date", DATETIME),
        ])
    }),
    &table("sysmail_profile", || {
        shape(&[
            some("profile_id", INT),
            some("name", SYSNAME),
            unknown("description", nv(256)),
            some("last_mod_datetime", DATETIME),
            some("last_mod_user", SYSNAME),
        ])
    }),
    &table("sysmail_account", || {
        shape(&[
            some("account_id", INT),
            some("name", SYSNAME),
            unknown("description", nv(256)),
            some("email_address", nv(128)),
            unknown("display_name", nv(128)),
            unknown("replyto_address", nv(128)),
            some("last_mod_datetime", DATETIME),
            some("last_mod_user", SYSNAME),
        ])
    }),
];

const JOBS: &[Column<()>] = &[
    some("job_id", GUID),
    some("originating_server_id", INT),
    some("name", SYSNAME),
    some("enabled", TINYINT),
    unknown("description", nv(512)),
    some("start_step_id", INT),
    some("category_id", INT),
    some("owner_sid", SID),
    some("notify_level_eventlog", INT),
    some("notify_level_email", INT),
    some("notify_level_netsend", INT),
    some("notify_level_page", INT),
    some("notify_email_operator_id", INT),
    some("notify_netsend_operator_id", INT),
    some("notify_page_operator_id", INT),
    some("delete_level", INT),
    some("date_created", DATETIME),
    some("date_modified", DATETIME),
    some("version_number", INT),
];

/// A category: id, class (1 job, 2 alert, 3 operator), type (1 local, 3 none) and name.
type Category = (i32, i32, i32, &'static str);

const CATEGORY: &[Column<Category>] = &[
    col("category_id", INT, |r| int(r.0)),
    col("category_class", INT, |r| int(r.1)),
    col("category_type", types::DataType::TinyInt, |r| {
        Value::TinyInt(u8::try_from(r.2).unwrap_or(0))
    }),
    col("name", SYSNAME, |r| text(r.3)),
];

/// The categories that every msdb has.
const CATEGORIES: [Category; 5] = [
    (0, 1, 1, "[Uncategorized (Local)]"),
    (3, 1, 1, "Database Maintenance"),
    (8, 1, 1, "Data Collector"),
    (98, 2, 3, "[Uncategorized]"),
    (99, 3, 3, "[Uncategorized]"),
];

fn categories(_: &Scope<'_>) -> Rows {
    rows(CATEGORY, CATEGORIES)
}
