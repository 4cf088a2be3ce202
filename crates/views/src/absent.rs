//! Views of features that do not exist here (assemblies, full-text search and others) but that
//! tools query. They have their documented columns and no rows.

use types::value::ColumnType;
use types::{DataType, Value};

use metadata::column::{
    BIGINT, BIT, Column, DATETIME, GUID, INT, NVMAX, SMALLINT, SYSNAME, TINYINT, VARIANT, bin, ch,
    col, nv, shape, unknown, vb,
};
use metadata::{RowSet, Rows, Scope, SystemView};

/// The views of this file.
pub(crate) static VIEWS: &[&SystemView] = &[
    &ASSEMBLIES,
    &ASSEMBLY_MODULES,
    &CERTIFICATES,
    &CHANGE_TRACKING_DATABASES,
    &CHANGE_TRACKING_TABLES,
    &COLUMN_ENCRYPTION_KEYS,
    &COLUMN_MASTER_KEYS,
    &CREDENTIALS,
    &EVENT_NOTIFICATIONS,
    &FULLTEXT_CATALOGS,
    &FULLTEXT_INDEX_COLUMNS,
    &FULLTEXT_INDEXES,
    &LINKED_LOGINS,
    &NUMBERED_PROCEDURES,
    &PLAN_GUIDES,
    &SERVICE_CONTRACTS,
    &SERVICE_MESSAGE_TYPES,
    &SERVICE_QUEUES,
    &SERVICES,
    &SYMMETRIC_KEYS,
    &XML_SCHEMA_COLLECTIONS,
];

/// Returns a view without rows.
pub(crate) const fn absent(
    name: &'static str,
    columns: fn() -> Vec<(&'static str, ColumnType)>,
) -> SystemView {
    SystemView { schema: "sys", name, columns, rows: nothing, arity: 0 }
}

/// Returns no rows; for views that are always empty.
pub(crate) fn nothing(_: &Scope<'_>) -> Rows {
    Ok(RowSet::default())
}

/// Returns a column of an empty view, declared NOT NULL.
pub(crate) const fn none(name: &'static str, data_type: DataType) -> Column<()> {
    col(name, data_type, |()| Value::Null)
}

/// Returns another view's columns followed by a view's own.
pub(crate) fn behind(
    mut columns: Vec<(&'static str, ColumnType)>,
    own: &[Column<()>],
) -> Vec<(&'static str, ColumnType)> {
    columns.extend(shape(own));
    columns
}

static ASSEMBLIES: SystemView = absent("assemblies", || {
    shape(&[
        none("name", SYSNAME),
        none("principal_id", INT),
        none("assembly_id", INT),
        unknown("clr_name", nv(4000)),
        unknown("permission_set", TINYINT),
        unknown("permission_set_desc", nv(60)),
        none("is_visible", BIT),
        none("create_date", DATETIME),
        none("modify_date", DATETIME),
        unknown("is_user_defined", BIT),
    ])
});

static ASSEMBLY_MODULES: SystemView = absent("assembly_modules", || {
    shape(&[
        none("object_id", INT),
        none("assembly_id", INT),
        unknown("assembly_class", SYSNAME),
        unknown("assembly_method", SYSNAME),
        unknown("null_on_null_input", BIT),
        unknown("execute_as_principal_id", INT),
    ])
});

static CERTIFICATES: SystemView = absent("certificates", || {
    shape(&[
        none("name", SYSNAME),
        none("certificate_id", INT),
        unknown("principal_id", INT),
        none("pvt_key_encryption_type", ch(2)),
        unknown("pvt_key_encryption_type_desc", nv(60)),
        unknown("is_active_for_begin_dialog", BIT),
        unknown("issuer_name", nv(442)),
        unknown("cert_serial_number", nv(64)),
        unknown("sid", vb(85)),
        unknown("string_sid", nv(128)),
        unknown("subject", nv(4000)),
        unknown("expiry_date", DATETIME),
        unknown("start_date", DATETIME),
        none("thumbprint", vb(32)),
        unknown("attested_by", nv(260)),
        unknown("pvt_key_last_backup_date", DATETIME),
    ])
});

static CHANGE_TRACKING_DATABASES: SystemView = absent("change_tracking_databases", || {
    shape(&[
        none("database_id", INT),
        unknown("is_auto_cleanup_on", BIT),
        unknown("retention_period", INT),
        unknown("retention_period_units", TINYINT),
        unknown("retention_period_units_desc", nv(60)),
    ])
});

static CHANGE_TRACKING_TABLES: SystemView = absent("change_tracking_tables", || {
    shape(&[
        none("object_id", INT),
        none("is_track_columns_updated_on", BIT),
        unknown("min_valid_version", BIGINT),
        unknown("begin_version", BIGINT),
        unknown("cleanup_version", BIGINT),
    ])
});

static COLUMN_ENCRYPTION_KEYS: SystemView = absent("column_encryption_keys", || {
    shape(&[
        none("name", SYSNAME),
        none("column_encryption_key_id", INT),
        none("create_date", DATETIME),
        none("modify_date", DATETIME),
    ])
});

static COLUMN_MASTER_KEYS: SystemView = absent("column_master_keys", || {
    shape(&[
        none("name", SYSNAME),
        none("column_master_key_id", INT),
        none("create_date", DATETIME),
        none("modify_date", DATETIME),
        unknown("key_store_provider_name", SYSNAME),
        unknown("key_path", nv(4000)),
        none("allow_enclave_computations", BIT),
        unknown("signature", vb(8000)),
    ])
});

static CREDENTIALS: SystemView = absent("credentials", || {
    shape(&[
        none("credential_id", INT),
        none("name", SYSNAME),
        unknown("credential_identity", nv(4000)),
        none("create_date", DATETIME),
        none("modify_date", DATETIME),
        unknown("target_type", nv(100)),
        unknown("target_id", INT),
    ])
});

static EVENT_NOTIFICATIONS: SystemView = absent("event_notifications", || {
    shape(&[
        none("name", SYSNAME),
        none("object_id", INT),
        none("parent_class", TINYINT),
        unknown("parent_class_desc", nv(60)),
        none("parent_id", INT),
        none("create_date", DATETIME),
        none("modify_date", DATETIME),
        unknown("service_name", nv(256)),
        unknown("broker_instance", nv(128)),
        unknown("creator_sid", vb(85)),
        unknown("principal_id", INT),
    ])
});

static FULLTEXT_CATALOGS: SystemView = absent("fulltext_catalogs", || {
    shape(&[
        none("fulltext_catalog_id", INT),
        none("name", SYSNAME),
        unknown("path", nv(260)),
        none("is_default", BIT),
        none("is_accent_sensitivity_on", BIT),
        unknown("data_space_id", INT),
        unknown("file_id", INT),
        unknown("principal_id", INT),
        none("is_importing", BIT),
    ])
});

static FULLTEXT_INDEX_COLUMNS: SystemView = absent("fulltext_index_columns", || {
    shape(&[
        none("object_id", INT),
        none("column_id", INT),
        unknown("type_column_id", INT),
        none("language_id", INT),
        none("statistical_semantics", INT),
    ])
});

static FULLTEXT_INDEXES: SystemView = absent("fulltext_indexes", || {
    shape(&[
        none("object_id", INT),
        none("unique_index_id", INT),
        unknown("fulltext_catalog_id", INT),
        none("is_enabled", BIT),
        unknown("change_tracking_state", ch(1)),
        unknown("change_tracking_state_desc", nv(60)),
        none("has_crawl_completed", BIT),
        none("crawl_type", ch(1)),
        unknown("crawl_type_desc", nv(60)),
        unknown("crawl_start_date", DATETIME),
        unknown("crawl_end_date", DATETIME),
        unknown("incremental_timestamp", bin(8)),
        unknown("stoplist_id", INT),
        unknown("property_list_id", INT),
        none("data_space_id", INT),
    ])
});

static LINKED_LOGINS: SystemView = absent("linked_logins", || {
    shape(&[
        none("server_id", INT),
        unknown("local_principal_id", INT),
        none("uses_self_credential", BIT),
        unknown("remote_name", SYSNAME),
        none("modify_date", DATETIME),
    ])
});

static NUMBERED_PROCEDURES: SystemView = absent("numbered_procedures", || {
    shape(&[
        none("object_id", INT),
        unknown("procedure_number", SMALLINT),
        unknown("definition", NVMAX),
    ])
});

static PLAN_GUIDES: SystemView = absent("plan_guides", || {
    shape(&[
        none("plan_guide_id", INT),
        none("name", SYSNAME),
        none("create_date", DATETIME),
        none("modify_date", DATETIME),
        none("is_disabled", BIT),
        unknown("query_text", NVMAX),
        none("scope_type", TINYINT),
        unknown("scope_type_desc", nv(60)),
        unknown("scope_object_id", INT),
        unknown("scope_batch", NVMAX),
        unknown("parameters", NVMAX),
        unknown("hints", NVMAX),
    ])
});

static SERVICE_CONTRACTS: SystemView = absent("service_contracts", || {
    shape(&[none("name", SYSNAME), none("service_contract_id", INT), unknown("principal_id", INT)])
});

static SERVICE_MESSAGE_TYPES: SystemView = absent("service_message_types", || {
    shape(&[
        none("name", SYSNAME),
        none("message_type_id", INT),
        unknown("principal_id", INT),
        none("validation", ch(2)),
        unknown("validation_desc", nv(60)),
        unknown("xml_collection_id", INT),
    ])
});

static SERVICE_QUEUES: SystemView = absent("service_queues", || {
    shape(&[
        none("name", SYSNAME),
        none("object_id", INT),
        unknown("principal_id", INT),
        none("schema_id", INT),
        none("parent_object_id", INT),
        unknown("type", ch(2)),
        unknown("type_desc", nv(60)),
        none("create_date", DATETIME),
        none("modify_date", DATETIME),
        none("is_ms_shipped", BIT),
        none("is_published", BIT),
        none("is_schema_published", BIT),
        unknown("max_readers", SMALLINT),
        unknown("activation_procedure", nv(776)),
        unknown("execute_as_principal_id", INT),
        none("is_activation_enabled", BIT),
        none("is_receive_enabled", BIT),
        none("is_enqueue_enabled", BIT),
        none("is_retention_enabled", BIT),
        unknown("is_poison_message_handling_enabled", BIT),
    ])
});

static SERVICES: SystemView = absent("services", || {
    shape(&[
        none("name", SYSNAME),
        none("service_id", INT),
        unknown("principal_id", INT),
        none("service_queue_id", INT),
    ])
});

static SYMMETRIC_KEYS: SystemView = absent("symmetric_keys", || {
    shape(&[
        none("name", SYSNAME),
        unknown("principal_id", INT),
        none("symmetric_key_id", INT),
        none("key_length", INT),
        none("key_algorithm", ch(2)),
        unknown("algorithm_desc", nv(60)),
        none("create_date", DATETIME),
        none("modify_date", DATETIME),
        unknown("key_guid", GUID),
        unknown("key_thumbprint", VARIANT),
        unknown("provider_type", nv(120)),
        unknown("cryptographic_provider_guid", GUID),
        unknown("cryptographic_provider_algid", VARIANT),
    ])
});

static XML_SCHEMA_COLLECTIONS: SystemView = absent("xml_schema_collections", || {
    shape(&[
        none("xml_collection_id", INT),
        none("schema_id", INT),
        unknown("principal_id", INT),
        none("name", SYSNAME),
        none("create_date", DATETIME),
        none("modify_date", DATETIME),
    ])
});
