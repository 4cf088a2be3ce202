//! Views of server features that do not exist here: replicas, clusters, traces, dumps, files,
//! backups. They have their documented columns and no rows.

use types::DataType;
use types::value::ColumnType;

use super::SystemView;
use super::absent::{absent, behind, none, nothing};
use super::{columns, indexes, objects};
use metadata::column::{
    ADDRESS, BIGINT, BIT, DATETIME, GUID, INT, NVMAX, REAL, SMALLINT, SYSNAME, TINYINT, VARIANT,
    ch, nv, shape, unknown, vb,
};

/// The views of this file.
pub(crate) static VIEWS: &[&SystemView] = &[
    &DM_OS_VOLUME_STATS,
    &DM_OS_BUFFER_DESCRIPTORS,
    &DM_IO_PENDING_IO_REQUESTS,
    &DM_OS_CLUSTER_NODES,
    &DM_SERVER_MEMORY_DUMPS,
    &DM_DATABASE_ENCRYPTION_KEYS,
    &DM_HADR_CLUSTER,
    &DM_HADR_DATABASE_REPLICA_STATES,
    &DM_HADR_AVAILABILITY_REPLICA_STATES,
    &DM_HADR_AVAILABILITY_GROUP_STATES,
    &AVAILABILITY_GROUPS,
    &AVAILABILITY_REPLICAS,
    &AVAILABILITY_DATABASES_CLUSTER,
    &AVAILABILITY_GROUP_LISTENERS,
    &INTERNAL_TABLES,
    &XML_INDEXES,
    &SPATIAL_INDEXES,
    &MASKED_COLUMNS,
    &TRACES,
    &BACKUP_DEVICES,
    &SECURITY_POLICIES,
    &SECURITY_PREDICATES,
    &ASYMMETRIC_KEYS,
    &SYSDEVICES,
    &SYSOLEDBUSERS,
    &SYSREMOTELOGINS,
    &SYSFULLTEXTCATALOGS,
    &DM_BROKER_ACTIVATED_TASKS,
    &DM_DB_PERSISTED_SKU_FEATURES,
    &INDEX_RESUMABLE_OPERATIONS,
];

/// The type of log sequence numbers, `numeric(25,0)`.
const LSN: DataType = DataType::Decimal { precision: 25, scale: 0 };

fn objects_columns() -> Vec<(&'static str, ColumnType)> {
    (objects::VIEW.columns)()
}

fn indexes_columns() -> Vec<(&'static str, ColumnType)> {
    (indexes::VIEW.columns)()
}

fn columns_columns() -> Vec<(&'static str, ColumnType)> {
    (columns::VIEW.columns)()
}

static DM_OS_VOLUME_STATS: SystemView = SystemView {
    schema: "sys",
    name: "dm_os_volume_stats",
    columns: || {
        shape(&[
            unknown::<()>("database_id", INT),
            unknown("file_id", INT),
            unknown("volume_mount_point", nv(512)),
            unknown("volume_id", nv(512)),
            unknown("logical_volume_name", nv(512)),
            unknown("file_system_type", nv(512)),
            unknown("total_bytes", BIGINT),
            unknown("available_bytes", BIGINT),
            unknown("supports_compression", BIT),
            unknown("supports_alternate_streams", BIT),
            unknown("supports_sparse_files", BIT),
            unknown("is_read_only", BIT),
            unknown("is_compressed", BIT),
            unknown("incurs_seek_penalty", TINYINT),
        ])
    },
    rows: nothing,
    arity: 2,
};

static DM_OS_BUFFER_DESCRIPTORS: SystemView = absent("dm_os_buffer_descriptors", || {
    shape(&[
        unknown::<()>("database_id", INT),
        unknown("file_id", INT),
        unknown("page_id", INT),
        unknown("page_level", INT),
        unknown("allocation_unit_id", BIGINT),
        unknown("page_type", nv(60)),
        unknown("row_count", INT),
        unknown("free_space_in_bytes", INT),
        unknown("is_modified", BIT),
        unknown("numa_node", INT),
        unknown("read_microsec", BIGINT),
        unknown("is_in_bpool_extension", BIT),
    ])
});

static DM_IO_PENDING_IO_REQUESTS: SystemView = absent("dm_io_pending_io_requests", || {
    shape(&[
        none("io_completion_request_address", ADDRESS),
        none("io_type", nv(60)),
        none("io_pending_ms_ticks", BIGINT),
        none("io_pending", INT),
        unknown("io_completion_routine_address", ADDRESS),
        unknown("io_user_data_address", ADDRESS),
        none("scheduler_address", ADDRESS),
        unknown("io_handle", ADDRESS),
        none("io_offset", BIGINT),
        unknown("io_handle_path", nv(256)),
    ])
});

static DM_OS_CLUSTER_NODES: SystemView = absent("dm_os_cluster_nodes", || {
    shape(&[
        unknown::<()>("NodeName", nv(256)),
        unknown("status", INT),
        unknown("status_description", nv(256)),
        unknown("is_current_owner", BIT),
    ])
});

static DM_SERVER_MEMORY_DUMPS: SystemView = absent("dm_server_memory_dumps", || {
    shape(&[
        none("filename", nv(256)),
        unknown("creation_time", DataType::DateTimeOffset(7)),
        unknown("size_in_bytes", BIGINT),
    ])
});

static DM_DATABASE_ENCRYPTION_KEYS: SystemView = absent("dm_database_encryption_keys", || {
    shape(&[
        unknown::<()>("database_id", INT),
        unknown("encryption_state", INT),
        unknown("create_date", DATETIME),
        unknown("regenerate_date", DATETIME),
        unknown("modify_date", DATETIME),
        unknown("set_date", DATETIME),
        unknown("opened_date", DATETIME),
        unknown("key_algorithm", nv(32)),
        unknown("key_length", INT),
        unknown("encryptor_thumbprint", vb(20)),
        unknown("encryptor_type", nv(32)),
        unknown("percent_complete", REAL),
        unknown("encryption_state_desc", nv(32)),
        unknown("encryption_scan_state", INT),
        unknown("encryption_scan_state_desc", nv(32)),
        unknown("encryption_scan_modify_date", DATETIME),
    ])
});

static DM_HADR_CLUSTER: SystemView = absent("dm_hadr_cluster", || {
    shape(&[
        none("cluster_name", nv(128)),
        none("quorum_type", TINYINT),
        none("quorum_type_desc", nv(60)),
        none("quorum_state", TINYINT),
        none("quorum_state_desc", nv(60)),
    ])
});

static DM_HADR_DATABASE_REPLICA_STATES: SystemView =
    absent("dm_hadr_database_replica_states", || {
        shape(&[
            none("database_id", INT),
            none("group_id", GUID),
            none("replica_id", GUID),
            none("group_database_id", GUID),
            unknown("is_local", BIT),
            unknown("is_primary_replica", BIT),
            unknown("synchronization_state", TINYINT),
            unknown("synchronization_state_desc", nv(60)),
            unknown("is_commit_participant", BIT),
            unknown("synchronization_health", TINYINT),
            unknown("synchronization_health_desc", nv(60)),
            unknown("database_state", TINYINT),
            unknown("database_state_desc", nv(60)),
            unknown("is_suspended", BIT),
            unknown("suspend_reason", TINYINT),
            unknown("suspend_reason_desc", nv(60)),
            unknown("recovery_lsn", LSN),
            unknown("truncation_lsn", LSN),
            unknown("last_sent_lsn", LSN),
            unknown("last_sent_time", DATETIME),
            unknown("last_received_lsn", LSN),
            unknown("last_received_time", DATETIME),
            unknown("last_hardened_lsn", LSN),
            unknown("last_hardened_time", DATETIME),
            unknown("last_redone_lsn", LSN),
            unknown("last_redone_time", DATETIME),
            unknown("log_send_queue_size", BIGINT),
            unknown("log_send_rate", BIGINT),
            unknown("redo_queue_size", BIGINT),
            unknown("redo_rate", BIGINT),
            unknown("filestream_send_rate", BIGINT),
            unknown("end_of_log_lsn", LSN),
            unknown("last_commit_lsn", LSN),
            unknown("last_commit_time", DATETIME),
            unknown("low_water_mark_for_ghosts", BIGINT),
            unknown("secondary_lag_seconds", BIGINT),
            unknown("quorum_commit_lsn", LSN),
            unknown("quorum_commit_time", DATETIME),
        ])
    });

static DM_HADR_AVAILABILITY_REPLICA_STATES: SystemView =
    absent("dm_hadr_availability_replica_states", || {
        shape(&[
            none("replica_id", GUID),
            none("group_id", GUID),
            unknown("is_local", BIT),
            unknown("role", TINYINT),
            unknown("role_desc", nv(60)),
            unknown("operational_state", TINYINT),
            unknown("operational_state_desc", nv(60)),
            unknown("connected_state", TINYINT),
            unknown("connected_state_desc", nv(60)),
            unknown("recovery_health", TINYINT),
            unknown("recovery_health_desc", nv(60)),
            unknown("synchronization_health", TINYINT),
            unknown("synchronization_health_desc", nv(60)),
            unknown("last_connect_error_number", INT),
            unknown("last_connect_error_description", nv(1024)),
            unknown("last_connect_error_timestamp", DATETIME),
            unknown("write_lease_remaining_ticks", BIGINT),
            unknown("current_configuration_commit_start_time_utc", DATETIME),
        ])
    });

static DM_HADR_AVAILABILITY_GROUP_STATES: SystemView =
    absent("dm_hadr_availability_group_states", || {
        shape(&[
            none("group_id", GUID),
            unknown("primary_replica", nv(128)),
            unknown("primary_recovery_health", TINYINT),
            unknown("primary_recovery_health_desc", nv(60)),
            unknown("secondary_recovery_health", TINYINT),
            unknown("secondary_recovery_health_desc", nv(60)),
            unknown("synchronization_health", TINYINT),
            unknown("synchronization_health_desc", nv(60)),
        ])
    });

static AVAILABILITY_GROUPS: SystemView = absent("availability_groups", || {
    shape(&[
        none("group_id", GUID),
        unknown("name", SYSNAME),
        unknown("resource_id", nv(40)),
        unknown("resource_group_id", nv(40)),
        unknown("failure_condition_level", INT),
        unknown("health_check_timeout", INT),
        unknown("automated_backup_preference", TINYINT),
        unknown("automated_backup_preference_desc", nv(60)),
        unknown("version", SMALLINT),
        unknown("basic_features", BIT),
        unknown("dtc_support", BIT),
        unknown("db_failover", BIT),
        unknown("is_distributed", BIT),
        unknown("cluster_type", TINYINT),
        unknown("cluster_type_desc", nv(60)),
        unknown("required_synchronized_secondaries_to_commit", INT),
        unknown("sequence_number", BIGINT),
        unknown("is_contained", BIT),
    ])
});

static AVAILABILITY_REPLICAS: SystemView = absent("availability_replicas", || {
    shape(&[
        unknown::<()>("replica_id", GUID),
        unknown("group_id", GUID),
        unknown("replica_metadata_id", INT),
        unknown("replica_server_name", nv(256)),
        unknown("owner_sid", vb(85)),
        unknown("endpoint_url", nv(128)),
        unknown("availability_mode", TINYINT),
        unknown("availability_mode_desc", nv(60)),
        unknown("failover_mode", TINYINT),
        unknown("failover_mode_desc", nv(60)),
        unknown("session_timeout", INT),
        unknown("primary_role_allow_connections", TINYINT),
        unknown("primary_role_allow_connections_desc", nv(60)),
        unknown("secondary_role_allow_connections", TINYINT),
        unknown("secondary_role_allow_connections_desc", nv(60)),
        unknown("create_date", DATETIME),
        unknown("modify_date", DATETIME),
        unknown("backup_priority", INT),
        unknown("read_only_routing_url", nv(256)),
        unknown("seeding_mode", TINYINT),
        unknown("seeding_mode_desc", nv(60)),
        unknown("read_write_routing_url", nv(256)),
    ])
});

static AVAILABILITY_DATABASES_CLUSTER: SystemView =
    absent("availability_databases_cluster", || {
        shape(&[
            none("group_id", GUID),
            none("group_database_id", GUID),
            unknown("database_name", SYSNAME),
            unknown("truncation_lsn", LSN),
        ])
    });

static AVAILABILITY_GROUP_LISTENERS: SystemView = absent("availability_group_listeners", || {
    shape(&[
        none("group_id", GUID),
        none("listener_id", nv(36)),
        unknown("dns_name", nv(63)),
        unknown("port", INT),
        unknown("is_conformant", BIT),
        unknown("ip_configuration_string_from_cluster", NVMAX),
        unknown("is_distributed_network_name", BIT),
    ])
});

static INTERNAL_TABLES: SystemView = absent("internal_tables", || {
    behind(
        objects_columns(),
        &[
            unknown("internal_type", TINYINT),
            unknown("internal_type_desc", nv(60)),
            none("parent_id", INT),
            none("parent_minor_id", INT),
            none("lob_data_space_id", INT),
            unknown("filestream_data_space_id", INT),
        ],
    )
});

static XML_INDEXES: SystemView = absent("xml_indexes", || {
    behind(
        indexes_columns(),
        &[
            unknown("using_xml_index_id", INT),
            unknown("secondary_type", ch(1)),
            unknown("secondary_type_desc", nv(60)),
            unknown("xml_index_type", TINYINT),
            unknown("xml_index_type_desc", nv(60)),
            unknown("path_id", INT),
        ],
    )
});

static SPATIAL_INDEXES: SystemView = absent("spatial_indexes", || {
    behind(
        indexes_columns(),
        &[
            none("spatial_index_type", TINYINT),
            unknown("spatial_index_type_desc", nv(60)),
            unknown("tessellation_scheme", SYSNAME),
        ],
    )
});

static MASKED_COLUMNS: SystemView = absent("masked_columns", || {
    behind(columns_columns(), &[unknown("masking_function", nv(4000))])
});

static TRACES: SystemView = absent("traces", || {
    shape(&[
        none("id", INT),
        none("status", INT),
        unknown("path", nv(260)),
        unknown("max_size", BIGINT),
        unknown("stop_time", DATETIME),
        unknown("max_files", INT),
        unknown("is_rowset", BIT),
        unknown("is_rollover", BIT),
        unknown("is_shutdown", BIT),
        unknown("is_default", BIT),
        unknown("buffer_count", INT),
        unknown("buffer_size", INT),
        unknown("file_position", BIGINT),
        unknown("reader_spid", INT),
        unknown("start_time", DATETIME),
        unknown("last_event_time", DATETIME),
        unknown("event_count", BIGINT),
        unknown("dropped_event_count", INT),
    ])
});

static BACKUP_DEVICES: SystemView = absent("backup_devices", || {
    shape(&[
        none("name", SYSNAME),
        none("type", TINYINT),
        unknown("type_desc", nv(60)),
        unknown("physical_name", nv(260)),
    ])
});

static SECURITY_POLICIES: SystemView = absent("security_policies", || {
    behind(
        objects_columns(),
        &[
            none("is_enabled", BIT),
            none("is_not_for_replication", BIT),
            unknown("uses_database_collation", BIT),
            none("is_schema_bound", BIT),
        ],
    )
});

static SECURITY_PREDICATES: SystemView = absent("security_predicates", || {
    shape(&[
        none("object_id", INT),
        none("security_predicate_id", INT),
        none("target_object_id", INT),
        unknown("predicate_definition", NVMAX),
        unknown("predicate_type", INT),
        unknown("predicate_type_desc", nv(60)),
        unknown("operation", INT),
        unknown("operation_desc", nv(60)),
    ])
});

static ASYMMETRIC_KEYS: SystemView = absent("asymmetric_keys", || {
    shape(&[
        none("name", SYSNAME),
        unknown("principal_id", INT),
        none("asymmetric_key_id", INT),
        none("pvt_key_encryption_type", ch(2)),
        unknown("pvt_key_encryption_type_desc", nv(60)),
        none("thumbprint", vb(32)),
        none("algorithm", ch(2)),
        unknown("algorithm_desc", nv(60)),
        none("key_length", INT),
        unknown("sid", vb(85)),
        unknown("string_sid", nv(128)),
        none("public_key", vb(8000)),
        unknown("attested_by", nv(260)),
        unknown("provider_type", nv(120)),
        unknown("cryptographic_provider_guid", GUID),
        unknown("cryptographic_provider_algid", VARIANT),
    ])
});

static SYSDEVICES: SystemView = SystemView {
    schema: "",
    name: "sysdevices",
    columns: || {
        shape(&[
            none("name", SYSNAME),
            unknown("size", INT),
            unknown("low", INT),
            unknown("high", INT),
            unknown("status", SMALLINT),
            unknown("cntrltype", SMALLINT),
            unknown("phyname", nv(260)),
        ])
    },
    rows: nothing,
    arity: 0,
};

static SYSOLEDBUSERS: SystemView = SystemView {
    schema: "",
    name: "sysoledbusers",
    columns: || {
        shape(&[
            unknown::<()>("rmtsrvid", SMALLINT),
            unknown("rmtloginame", nv(128)),
            unknown("rmtpassword", nv(128)),
            unknown("loginsid", vb(85)),
            unknown("status", SMALLINT),
            unknown("changedate", DATETIME),
        ])
    },
    rows: nothing,
    arity: 0,
};

static SYSREMOTELOGINS: SystemView = SystemView {
    schema: "",
    name: "sysremotelogins",
    columns: || {
        shape(&[
            unknown::<()>("remoteserverid", SMALLINT),
            unknown("remoteusername", nv(128)),
            unknown("status", SMALLINT),
            unknown("sid", vb(85)),
            unknown("changedate", DATETIME),
        ])
    },
    rows: nothing,
    arity: 0,
};

static SYSFULLTEXTCATALOGS: SystemView = SystemView {
    schema: "",
    name: "sysfulltextcatalogs",
    columns: || {
        shape(&[
            none("ftcatid", SMALLINT),
            none("name", SYSNAME),
            unknown("status", SMALLINT),
            unknown("path", nv(260)),
        ])
    },
    rows: nothing,
    arity: 0,
};

static DM_BROKER_ACTIVATED_TASKS: SystemView = absent("dm_broker_activated_tasks", || {
    shape(&[
        unknown::<()>("spid", INT),
        unknown("database_id", SMALLINT),
        unknown("queue_id", INT),
        unknown("procedure_name", nv(650)),
        unknown("execute_as", INT),
    ])
});

// No feature binds a database to an edition.
static DM_DB_PERSISTED_SKU_FEATURES: SystemView = absent("dm_db_persisted_sku_features", || {
    shape(&[unknown::<()>("feature_name", nv(256)), unknown("feature_id", INT)])
});

// An index is built by one statement, which cannot be paused.
static INDEX_RESUMABLE_OPERATIONS: SystemView = absent("index_resumable_operations", || {
    shape(&[
        none("object_id", INT),
        none("index_id", INT),
        none("name", SYSNAME),
        unknown("sql_text", NVMAX),
        none("last_max_dop_used", SMALLINT),
        unknown("partition_number", INT),
        none("state", TINYINT),
        unknown("state_desc", nv(60)),
        none("start_time", DATETIME),
        unknown("last_pause_time", DATETIME),
        none("total_execution_time", INT),
        none("percent_complete", DataType::Float),
        none("page_count", BIGINT),
    ])
});
