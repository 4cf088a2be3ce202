//! The tables and views of `msdb`: jobs of the Agent, backups and restores, mail, maintenance
//! plans. There is no Agent, nothing has been backed up and no mail has been sent, so that they have
//! their documented columns and no rows; the Agent's fixed categories and subsystems are there.
//!
//! They belong to the schema `dbo` of `msdb`, and are found there alone.

use types::value::ColumnType;
use types::{DataType, Length, Value};

use super::SystemView;
use super::absent::nothing;
use metadata::column::{
    BIT, Column, DATETIME, GUID, INT, NVMAX, SMALLINT, SYSNAME, TINYINT, ch, col, int, nv, rows,
    shape, text, unknown, vb,
};
use metadata::{Rows, Scope};

/// The schema by which the tables are found.
pub const SCHEMA: &str = plan::view::MSDB;

/// Finds a table or view of `msdb` by its name.
pub fn find(name: &str) -> Option<&'static SystemView> {
    VIEWS.iter().copied().find(|view| view.name.eq_ignore_ascii_case(name))
}

/// The type of log sequence numbers, `numeric(25,0)`.
const LSN: DataType = DataType::Decimal { precision: 25, scale: 0 };
/// The type of sizes in bytes, `numeric(20,0)`.
const SIZE: DataType = DataType::Decimal { precision: 20, scale: 0 };
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
    &table("backupset", || {
        let mut columns = shape(BACKUP_SET);
        columns.extend(shape(BACKUP_SET_MORE));
        columns
    }),
    &table("backupmediafamily", || {
        shape(&[
            some("media_set_id", INT),
            some("family_sequence_number", TINYINT),
            unknown("media_family_id", GUID),
            unknown("media_count", INT),
            unknown("logical_device_name", nv(128)),
            unknown("physical_device_name", nv(260)),
            unknown("device_type", TINYINT),
            unknown("physical_block_size", INT),
            some("mirror", TINYINT),
        ])
    }),
    &table("backupmediaset", || {
        shape(&[
            some("media_set_id", INT),
            unknown("media_uuid", GUID),
            unknown("media_family_count", TINYINT),
            unknown("name", nv(128)),
            unknown("description", nv(255)),
            unknown("software_name", nv(128)),
            unknown("software_vendor_id", INT),
            unknown("MTF_major_version", TINYINT),
            unknown("mirror_count", TINYINT),
            unknown("is_password_protected", BIT),
            unknown("is_compressed", BIT),
            unknown("is_encrypted", BIT),
        ])
    }),
    &table("backupfile", || {
        shape(&[
            some("backup_set_id", INT),
            unknown("first_family_number", TINYINT),
            unknown("first_media_number", SMALLINT),
            unknown("filegroup_name", nv(128)),
            unknown("page_size", INT),
            some("file_number", SIZE),
            unknown("backed_up_page_count", SIZE),
            unknown("file_type", ch(1)),
            unknown("source_file_block_size", SIZE),
            unknown("file_size", SIZE),
            unknown("logical_name", nv(128)),
            unknown("physical_drive", nv(260)),
            unknown("physical_name", nv(260)),
            unknown("state", TINYINT),
            unknown("state_desc", nv(64)),
            unknown("create_lsn", LSN),
            unknown("drop_lsn", LSN),
            unknown("file_guid", GUID),
            unknown("read_only_lsn", LSN),
            unknown("read_write_lsn", LSN),
            unknown("differential_base_lsn", LSN),
            unknown("differential_base_guid", GUID),
            unknown("backup_size", SIZE),
            unknown("filegroup_guid", GUID),
            unknown("is_readonly", BIT),
            unknown("is_present", BIT),
        ])
    }),
    &table("restorehistory", || {
        shape(&[
            some("restore_history_id", INT),
            unknown("restore_date", DATETIME),
            unknown("destination_database_name", nv(128)),
            unknown("user_name", nv(128)),
            some("backup_set_id", INT),
            unknown("restore_type", ch(1)),
            unknown("replace", BIT),
            unknown("recovery", BIT),
            unknown("restart", BIT),
            unknown("stop_at", DATETIME),
            unknown("device_count", TINYINT),
            unknown("stop_at_mark_name", nv(128)),
            unknown("stop_before", BIT),
        ])
    }),
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

const BACKUP_SET: &[Column<()>] = &[
    some("backup_set_id", INT),
    some("backup_set_uuid", GUID),
    some("media_set_id", INT),
    unknown("first_family_number", TINYINT),
    unknown("first_media_number", SMALLINT),
    unknown("last_family_number", TINYINT),
    unknown("last_media_number", SMALLINT),
    unknown("catalog_family_number", TINYINT),
    unknown("catalog_media_number", SMALLINT),
    unknown("position", INT),
    unknown("expiration_date", DATETIME),
    unknown("software_vendor_id", INT),
    unknown("name", nv(128)),
    unknown("description", nv(255)),
    unknown("user_name", nv(128)),
    unknown("software_major_version", TINYINT),
    unknown("software_minor_version", TINYINT),
    unknown("software_build_version", SMALLINT),
    unknown("time_zone", SMALLINT),
    unknown("mtf_minor_version", TINYINT),
    unknown("first_lsn", LSN),
    unknown("last_lsn", LSN),
    unknown("checkpoint_lsn", LSN),
    unknown("database_backup_lsn", LSN),
    unknown("database_creation_date", DATETIME),
    unknown("backup_start_date", DATETIME),
    unknown("backup_finish_date", DATETIME),
    unknown("type", ch(1)),
    unknown("sort_order", SMALLINT),
    unknown("code_page", SMALLINT),
    unknown("compatibility_level", TINYINT),
    unknown("database_version", INT),
    unknown("backup_size", SIZE),
    unknown("database_name", nv(128)),
    unknown("server_name", nv(128)),
    unknown("machine_name", nv(128)),
];

const BACKUP_SET_MORE: &[Column<()>] = &[
    unknown("flags", INT),
    unknown("unicode_locale", INT),
    unknown("unicode_compare_style", INT),
    unknown("collation_name", nv(128)),
    unknown("is_password_protected", BIT),
    unknown("recovery_model", nv(60)),
    unknown("has_bulk_logged_data", BIT),
    unknown("is_snapshot", BIT),
    unknown("is_readonly", BIT),
    unknown("is_single_user", BIT),
    unknown("has_backup_checksums", BIT),
    unknown("is_damaged", BIT),
    unknown("begins_log_chain", BIT),
    unknown("has_incomplete_metadata", BIT),
    unknown("is_force_offline", BIT),
    unknown("is_copy_only", BIT),
    unknown("first_recovery_fork_guid", GUID),
    unknown("last_recovery_fork_guid", GUID),
    unknown("fork_point_lsn", LSN),
    unknown("database_guid", GUID),
    unknown("family_guid", GUID),
    unknown("differential_base_lsn", LSN),
    unknown("differential_base_guid", GUID),
    unknown("compressed_backup_size", SIZE),
    unknown("key_algorithm", nv(32)),
    unknown("encryptor_thumbprint", vb(20)),
    unknown("encryptor_type", nv(32)),
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
