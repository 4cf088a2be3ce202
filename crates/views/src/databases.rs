//! `sys.databases`: the databases of the instance.

use std::sync::Arc;

use types::Value;

use ::catalog::Database;
use ::catalog::name::Name;
use ::query_store::options::{Mode, Options as StoreOptions};
use metadata::column::{
    BIT, Column, DATETIME, GUID, INT, SMALLINT, SYSNAME, TINYINT, binary, bit, col, int, nv, opt,
    rows, shape, text, vb,
};
use metadata::database_state::DatabaseState;
use metadata::{Rows, Scope, SystemView};

const COLUMNS: &[Column<Row>] = &[
    col("name", SYSNAME, |r| text(&r.database.name)),
    col("database_id", INT, |r| int(r.database.id)),
    opt("source_database_id", INT, |_| Value::Null),
    opt("owner_sid", vb(85), |r| binary(&r.owner_sid)),
    col("create_date", DATETIME, |r| r.database.created.clone()),
    col("compatibility_level", TINYINT, |r| Value::TinyInt(r.database.options.compatibility_level)),
    opt("collation_name", SYSNAME, |r| text(&r.database.collation.name())),
    opt("user_access", TINYINT, |r| Value::TinyInt(r.access().0)),
    opt("user_access_desc", nv(60), |r| text(r.access().1)),
    opt("is_read_only", BIT, |r| r.is("READ_ONLY", false)),
    col("is_auto_close_on", BIT, |r| r.is("AUTO_CLOSE", false)),
    opt("is_auto_shrink_on", BIT, |r| r.is("AUTO_SHRINK", false)),
    opt("state", TINYINT, |r| Value::TinyInt(r.state.code())),
    opt("state_desc", nv(60), |r| text(r.state.name())),
    opt("is_in_standby", BIT, |_| bit(false)),
    opt("is_cleanly_shutdown", BIT, |_| bit(false)),
    opt("is_supplemental_logging_enabled", BIT, |_| bit(false)),
    opt("snapshot_isolation_state", TINYINT, |r| {
        Value::TinyInt(u8::from(r.database.options.allow_snapshot_isolation))
    }),
    opt("snapshot_isolation_state_desc", nv(60), |r| {
        text(if r.database.options.allow_snapshot_isolation { "ON" } else { "OFF" })
    }),
    opt("is_read_committed_snapshot_on", BIT, |r| bit(r.database.options.read_committed_snapshot)),
    opt("recovery_model", TINYINT, |r| Value::TinyInt(r.recovery())),
    opt("recovery_model_desc", nv(60), |r| text(&r.database.options.recovery)),
    opt("page_verify_option", TINYINT, |r| Value::TinyInt(r.page_verify())),
    opt("page_verify_option_desc", nv(60), |r| {
        text(["NONE", "TORN_PAGE_DETECTION", "CHECKSUM"][usize::from(r.page_verify())])
    }),
    opt("is_auto_create_stats_on", BIT, |r| r.is("AUTO_CREATE_STATISTICS", true)),
    opt("is_auto_create_stats_incremental_on", BIT, |_| bit(false)),
    opt("is_auto_update_stats_on", BIT, |r| r.is("AUTO_UPDATE_STATISTICS", true)),
    opt("is_auto_update_stats_async_on", BIT, |r| r.is("AUTO_UPDATE_STATISTICS_ASYNC", false)),
    opt("is_ansi_null_default_on", BIT, |r| r.is("ANSI_NULL_DEFAULT", false)),
    opt("is_ansi_nulls_on", BIT, |r| r.is("ANSI_NULLS", false)),
    opt("is_ansi_padding_on", BIT, |r| r.is("ANSI_PADDING", false)),
    opt("is_ansi_warnings_on", BIT, |r| r.is("ANSI_WARNINGS", false)),
    opt("is_arithabort_on", BIT, |r| r.is("ARITHABORT", false)),
    opt("is_concat_null_yields_null_on", BIT, |r| r.is("CONCAT_NULL_YIELDS_NULL", false)),
    opt("is_numeric_roundabort_on", BIT, |r| r.is("NUMERIC_ROUNDABORT", false)),
    opt("is_quoted_identifier_on", BIT, |r| r.is("QUOTED_IDENTIFIER", false)),
    opt("is_recursive_triggers_on", BIT, |r| r.is("RECURSIVE_TRIGGERS", false)),
    opt("is_cursor_close_on_commit_on", BIT, |r| r.is("CURSOR_CLOSE_ON_COMMIT", false)),
    opt("is_local_cursor_default", BIT, |r| bit(r.value("CURSOR_DEFAULT") == Some("LOCAL"))),
    opt("is_fulltext_enabled", BIT, |_| bit(false)),
    opt("is_trustworthy_on", BIT, |r| r.is("TRUSTWORTHY", r.database.id == 4)),
    opt("is_db_chaining_on", BIT, |r| r.is("DB_CHAINING", matches!(r.database.id, 1 | 2 | 4))),
    opt("is_parameterization_forced", BIT, |r| bit(r.value("PARAMETERIZATION") == Some("FORCED"))),
    col("is_master_key_encrypted_by_server", BIT, |_| bit(false)),
    opt("is_query_store_on", BIT, |r| bit(StoreOptions::of(&r.database.options).mode != Mode::Off)),
    col("is_published", BIT, |_| bit(false)),
    col("is_subscribed", BIT, |_| bit(false)),
    col("is_merge_published", BIT, |_| bit(false)),
    col("is_distributor", BIT, |_| bit(false)),
    col("is_sync_with_backup", BIT, |_| bit(false)),
    opt("service_broker_guid", GUID, |_| Value::Null),
    col("is_broker_enabled", BIT, |_| bit(false)),
    opt("log_reuse_wait", TINYINT, |r| Value::TinyInt(if r.waits_for_backup { 2 } else { 0 })),
    opt("log_reuse_wait_desc", nv(60), |r| {
        text(if r.waits_for_backup { "LOG_BACKUP" } else { "NOTHING" })
    }),
    col("is_date_correlation_on", BIT, |r| r.is("DATE_CORRELATION_OPTIMIZATION", false)),
    col("is_cdc_enabled", BIT, |_| bit(false)),
    opt("is_encrypted", BIT, |_| bit(false)),
    opt("is_honor_broker_priority_on", BIT, |_| bit(false)),
    opt("replica_id", GUID, |_| Value::Null),
    opt("group_database_id", GUID, |_| Value::Null),
    opt("resource_pool_id", INT, |_| Value::Null),
    opt("default_language_lcid", SMALLINT, |_| Value::Null),
    opt("default_language_name", SYSNAME, |_| Value::Null),
    opt("default_fulltext_language_lcid", INT, |_| Value::Null),
    opt("default_fulltext_language_name", SYSNAME, |_| Value::Null),
    opt("is_nested_triggers_on", BIT, |_| Value::Null),
    opt("is_transform_noise_words_on", BIT, |_| Value::Null),
    opt("two_digit_year_cutoff", SMALLINT, |_| Value::Null),
    opt("containment", TINYINT, |_| Value::TinyInt(0)),
    opt("containment_desc", nv(60), |_| text("NONE")),
    opt("target_recovery_time_in_seconds", INT, |r| {
        int(i32::try_from(r.database.options.target_recovery_s()).unwrap_or(i32::MAX))
    }),
    opt("delayed_durability", INT, |r| int(r.delayed_durability())),
    opt("delayed_durability_desc", nv(60), |r| {
        text(["DISABLED", "ALLOWED", "FORCED"][r.delayed_durability()])
    }),
    opt("is_memory_optimized_elevate_to_snapshot_on", BIT, |r| {
        bit(r.database.options.elevate_to_snapshot)
    }),
    opt("is_federation_member", BIT, |_| bit(false)),
    opt("is_remote_data_archive_enabled", BIT, |_| bit(false)),
    opt("is_mixed_page_allocation_on", BIT, |r| r.is("MIXED_PAGE_ALLOCATION", false)),
    opt("is_temporal_history_retention_enabled", BIT, |r| {
        r.is("TEMPORAL_HISTORY_RETENTION", false)
    }),
    opt("catalog_collation_type", INT, |_| int(0)),
    opt("catalog_collation_type_desc", nv(60), |_| text("DATABASE_DEFAULT")),
    opt("physical_database_name", SYSNAME, |r| text(&r.database.name)),
    opt("is_result_set_caching_on", BIT, |_| bit(false)),
    opt("is_accelerated_database_recovery_on", BIT, |r| {
        r.is("ACCELERATED_DATABASE_RECOVERY", false)
    }),
    opt("is_tempdb_spill_to_remote_store", BIT, |_| bit(false)),
    opt("is_stale_page_detection_on", BIT, |_| bit(false)),
    opt("is_memory_optimized_enabled", BIT, |_| bit(true)),
    opt("is_data_retention_enabled", BIT, |_| bit(false)),
    opt("is_ledger_on", BIT, |_| bit(false)),
    opt("is_change_feed_enabled", BIT, |_| bit(false)),
];

pub(crate) static VIEW: SystemView = SystemView {
    schema: "sys",
    name: "databases",
    columns: || shape(COLUMNS),
    rows: read,
    arity: 0,
};

fn read(scope: &Scope<'_>) -> Rows {
    rows(COLUMNS, items(scope))
}

struct Row {
    database: Arc<Database>,
    state: DatabaseState,
    /// SID of the login that owns the database.
    owner_sid: Vec<u8>,
    /// Whether the log is kept for a backup of it.
    waits_for_backup: bool,
}

impl Row {
    fn value(&self, option: &str) -> Option<&str> {
        self.database.options.others.get(option).map(String::as_str)
    }
    fn is(&self, option: &str, default: bool) -> Value {
        bit(self.value(option).map_or(default, |v| v == "ON" || v.is_empty()))
    }
    fn access(&self) -> (u8, &'static str) {
        let access = self.database.options.user_access;
        (access as u8, access.name())
    }
    fn recovery(&self) -> u8 {
        match self.database.options.recovery.as_str() {
            "SIMPLE" => 3,
            "BULK_LOGGED" => 2,
            _ => 1,
        }
    }
    fn page_verify(&self) -> u8 {
        match self.value("PAGE_VERIFY") {
            Some("NONE") => 0,
            Some("TORN_PAGE_DETECTION") => 1,
            _ => 2,
        }
    }
    fn delayed_durability(&self) -> usize {
        match self.value("DELAYED_DURABILITY") {
            Some("ALLOWED") => 1,
            Some("FORCED") => 2,
            _ => 0,
        }
    }
}

fn items(scope: &Scope<'_>) -> Vec<Row> {
    let mut databases: Vec<_> = scope.session.catalog.databases.values().map(Arc::clone).collect();
    databases.sort_by_key(|d| d.id);
    let row = |database: Arc<Database>| {
        let owner = database.principals.get(&Name::new("dbo")).and_then(|dbo| dbo.login.as_deref());
        let logins = &scope.session.catalog.logins;
        let login = owner.and_then(|owner| logins.get(&Name::new(owner)));
        let owner_sid = login.map(|login| login.sid.clone()).unwrap_or_default();
        let waits_for_backup = metadata::log::waits_for_backup(scope.session, &database);
        let state = DatabaseState::of(scope.session, &database);
        Row { state, owner_sid, waits_for_backup, database }
    };
    databases.into_iter().map(row).collect()
}
