//! Views of what guards data on SQL Server and does not exist here: audits, credentials, keys, classifications.
//! They have their documented columns and no rows.

use types::value::ColumnType;
use types::{DataType, Length};

use super::absent::{absent, none};
use metadata::SystemView;
use metadata::column::{
    BIGINT, BIT, DATETIME, GUID, INT, SMALLINT, SYSNAME, TINYINT, ch, nv, shape, unknown, vb, vc,
};

/// The views of this file.
pub(crate) static VIEWS: &[&SystemView] = &[
    &COLUMN_ENCRYPTION_KEY_VALUES,
    &CRYPT_PROPERTIES,
    &CRYPTOGRAPHIC_PROVIDERS,
    &DATABASE_AUDIT_SPECIFICATION_DETAILS,
    &DATABASE_AUDIT_SPECIFICATIONS,
    &DATABASE_CREDENTIALS,
    &DATABASE_SCOPED_CREDENTIALS,
    &KEY_ENCRYPTIONS,
    &OPENKEYS,
    &SENSITIVITY_CLASSIFICATIONS,
    &SERVER_ASSEMBLY_MODULES,
    &SERVER_AUDIT_SPECIFICATION_DETAILS,
    &SERVER_AUDIT_SPECIFICATIONS,
    &SERVER_AUDITS,
    &SERVER_FILE_AUDITS,
    &SERVER_PRINCIPAL_CREDENTIALS,
];

/// The type `varbinary(max)`, which content of files and signatures has.
const VBMAX: DataType = DataType::VarBinary(Length::Max);

static COLUMN_ENCRYPTION_KEY_VALUES: SystemView = absent("column_encryption_key_values", || {
    shape(&[
        none("column_encryption_key_id", INT),
        none("column_master_key_id", INT),
        unknown("encrypted_value", vb(8000)),
        unknown("encryption_algorithm_name", SYSNAME),
    ])
});

static CRYPT_PROPERTIES: SystemView = absent("crypt_properties", || {
    shape(&[
        none("class", TINYINT),
        unknown("class_desc", nv(60)),
        none("major_id", INT),
        none("thumbprint", vb(32)),
        none("crypt_type", ch(4)),
        unknown("crypt_type_desc", nv(60)),
        none("crypt_property", VBMAX),
    ])
});

static CRYPTOGRAPHIC_PROVIDERS: SystemView = absent("cryptographic_providers", || {
    shape(&[
        none("provider_id", INT),
        none("name", SYSNAME),
        unknown("guid", GUID),
        unknown("version", nv(50)),
        unknown("dll_path", nv(512)),
        none("is_enabled", BIT),
    ])
});

static DATABASE_AUDIT_SPECIFICATION_DETAILS: SystemView =
    absent("database_audit_specification_details", || {
        shape(&[
            none("database_specification_id", INT),
            none("audit_action_id", ch(4)),
            unknown("audit_action_name", nv(128)),
            none("class", TINYINT),
            unknown("class_desc", nv(60)),
            none("major_id", INT),
            none("minor_id", INT),
            none("audited_principal_id", INT),
            unknown("audited_result", nv(60)),
            none("is_group", BIT),
        ])
    });

static DATABASE_AUDIT_SPECIFICATIONS: SystemView = absent("database_audit_specifications", || {
    shape(&[
        none("database_specification_id", INT),
        none("name", SYSNAME),
        none("create_date", DATETIME),
        none("modify_date", DATETIME),
        unknown("audit_guid", GUID),
        unknown("is_state_enabled", BIT),
    ])
});

static DATABASE_SCOPED_CREDENTIALS: SystemView =
    absent("database_scoped_credentials", database_credentials);

/// The name that the view had before version 2016 was complete; DacFx reads it.
static DATABASE_CREDENTIALS: SystemView = absent("database_credentials", database_credentials);

fn database_credentials() -> Vec<(&'static str, ColumnType)> {
    shape(&[
        none("name", SYSNAME),
        unknown("principal_id", INT),
        none("credential_id", INT),
        unknown("credential_identity", nv(4000)),
        none("create_date", DATETIME),
        none("modify_date", DATETIME),
        unknown("target_type", nv(100)),
        unknown("target_id", INT),
    ])
}

static KEY_ENCRYPTIONS: SystemView = absent("key_encryptions", || {
    shape(&[
        none("key_id", INT),
        unknown("thumbprint", vb(32)),
        none("crypt_type", ch(4)),
        unknown("crypt_type_desc", nv(60)),
        unknown("crypt_property", VBMAX),
    ])
});

static OPENKEYS: SystemView = absent("openkeys", || {
    shape(&[
        unknown::<()>("database_id", INT),
        unknown("database_name", SYSNAME),
        unknown("key_id", INT),
        unknown("key_name", SYSNAME),
        unknown("key_guid", GUID),
        unknown("opened_date", DATETIME),
        unknown("status", SMALLINT),
    ])
});

static SENSITIVITY_CLASSIFICATIONS: SystemView = absent("sensitivity_classifications", || {
    shape(&[
        none("class", INT),
        none("class_desc", vc(16)),
        none("major_id", INT),
        none("minor_id", INT),
        unknown("label", SYSNAME),
        unknown("label_id", SYSNAME),
        unknown("information_type", SYSNAME),
        unknown("information_type_id", SYSNAME),
        unknown("rank", INT),
        unknown("rank_desc", vc(10)),
    ])
});

static SERVER_ASSEMBLY_MODULES: SystemView = absent("server_assembly_modules", || {
    shape(&[
        none("object_id", INT),
        none("assembly_id", INT),
        unknown("assembly_class", SYSNAME),
        unknown("assembly_method", SYSNAME),
        unknown("execute_as_principal_id", INT),
    ])
});

static SERVER_AUDIT_SPECIFICATION_DETAILS: SystemView =
    absent("server_audit_specification_details", || {
        shape(&[
            none("server_specification_id", INT),
            none("audit_action_id", ch(4)),
            unknown("audit_action_name", nv(128)),
            none("class", TINYINT),
            unknown("class_desc", nv(60)),
            none("major_id", INT),
            none("minor_id", INT),
            none("audited_principal_id", INT),
            unknown("audited_result", nv(60)),
            none("is_group", BIT),
        ])
    });

static SERVER_AUDIT_SPECIFICATIONS: SystemView = absent("server_audit_specifications", || {
    shape(&[
        none("server_specification_id", INT),
        none("name", SYSNAME),
        none("create_date", DATETIME),
        none("modify_date", DATETIME),
        unknown("audit_guid", GUID),
        unknown("is_state_enabled", BIT),
    ])
});

static SERVER_AUDITS: SystemView = absent("server_audits", || {
    shape(&[
        none("audit_id", INT),
        none("name", SYSNAME),
        unknown("audit_guid", GUID),
        none("create_date", DATETIME),
        none("modify_date", DATETIME),
        unknown("principal_id", INT),
        none("type", ch(2)),
        unknown("type_desc", nv(60)),
        unknown("on_failure", TINYINT),
        unknown("on_failure_desc", nv(60)),
        unknown("is_state_enabled", BIT),
        unknown("queue_delay", INT),
        unknown("predicate", nv(3000)),
    ])
});

static SERVER_FILE_AUDITS: SystemView = absent("server_file_audits", || {
    shape(&[
        none("audit_id", INT),
        none("name", SYSNAME),
        unknown("audit_guid", GUID),
        none("create_date", DATETIME),
        none("modify_date", DATETIME),
        unknown("principal_id", INT),
        none("type", ch(2)),
        unknown("type_desc", nv(60)),
        unknown("on_failure", TINYINT),
        unknown("on_failure_desc", nv(60)),
        unknown("is_state_enabled", BIT),
        unknown("queue_delay", INT),
        unknown("predicate", nv(3000)),
        unknown("max_file_size", BIGINT),
        unknown("max_rollover_files", INT),
        unknown("max_files", INT),
        unknown("reserve_disk_space", BIT),
        unknown("log_file_path", nv(260)),
        unknown("log_file_name", nv(260)),
    ])
});

static SERVER_PRINCIPAL_CREDENTIALS: SystemView = absent("server_principal_credentials", || {
    shape(&[none("principal_id", INT), none("credential_id", INT)])
});
