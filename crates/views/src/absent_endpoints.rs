//! Views of endpoints that do not exist here: mirroring, Service Broker, HTTP and SOAP. They have their documented
//! columns and no rows.

use super::absent::{absent, behind, none};
use super::endpoints;
use metadata::SystemView;
use metadata::column::{BIT, GUID, INT, SYSNAME, TINYINT, nv, shape, unknown};

/// The views of this file.
pub(crate) static VIEWS: &[&SystemView] = &[
    &DATABASE_MIRRORING_ENDPOINTS,
    &DATABASE_MIRRORING_WITNESSES,
    &ENDPOINT_WEBMETHODS,
    &HTTP_ENDPOINTS,
    &SERVICE_BROKER_ENDPOINTS,
    &SOAP_ENDPOINTS,
];

static DATABASE_MIRRORING_ENDPOINTS: SystemView = absent("database_mirroring_endpoints", || {
    behind(
        (endpoints::VIEW.columns)(),
        &[
            unknown("role", TINYINT),
            unknown("role_desc", nv(60)),
            none("is_encryption_enabled", BIT),
            none("connection_auth", TINYINT),
            unknown("connection_auth_desc", nv(60)),
            none("certificate_id", INT),
            none("encryption_algorithm", TINYINT),
            unknown("encryption_algorithm_desc", nv(60)),
        ],
    )
});

static DATABASE_MIRRORING_WITNESSES: SystemView = absent("database_mirroring_witnesses", || {
    shape(&[
        none("database_name", SYSNAME),
        unknown("principal_server_name", SYSNAME),
        unknown("mirror_server_name", SYSNAME),
        none("safety_level", TINYINT),
        unknown("safety_level_desc", nv(60)),
        none("safety_sequence_number", INT),
        none("role_sequence_number", INT),
        none("mirroring_guid", GUID),
        none("family_guid", GUID),
        unknown("is_suspended", BIT),
        none("is_suspended_sequence_number", INT),
        unknown("partner_sync_state", TINYINT),
        unknown("partner_sync_state_desc", nv(60)),
    ])
});

static ENDPOINT_WEBMETHODS: SystemView = absent("endpoint_webmethods", || {
    shape(&[
        none("endpoint_id", INT),
        unknown("namespace", nv(384)),
        none("method_alias", nv(64)),
        unknown("object_name", nv(776)),
        unknown("result_schema", TINYINT),
        unknown("result_schema_desc", nv(60)),
        unknown("result_format", TINYINT),
        unknown("result_format_desc", nv(60)),
    ])
});

static HTTP_ENDPOINTS: SystemView = absent("http_endpoints", || {
    behind(
        (endpoints::VIEW.columns)(),
        &[
            unknown("site", nv(128)),
            unknown("url_path", nv(4000)),
            none("is_clear_port_enabled", BIT),
            none("clear_port", INT),
            none("is_ssl_port_enabled", BIT),
            none("ssl_port", INT),
            none("is_anonymous_enabled", BIT),
            none("is_basic_auth_enabled", BIT),
            none("is_digest_auth_enabled", BIT),
            none("is_kerberos_auth_enabled", BIT),
            none("is_ntlm_auth_enabled", BIT),
            none("is_integrated_auth_enabled", BIT),
            unknown("authorization_realm", nv(128)),
            unknown("default_logon_domain", nv(128)),
            none("is_compression_enabled", BIT),
        ],
    )
});

static SERVICE_BROKER_ENDPOINTS: SystemView = absent("service_broker_endpoints", || {
    behind(
        (endpoints::VIEW.columns)(),
        &[
            none("is_message_forwarding_enabled", BIT),
            none("message_forwarding_size", INT),
            none("connection_auth", TINYINT),
            unknown("connection_auth_desc", nv(60)),
            none("certificate_id", INT),
            none("encryption_algorithm", TINYINT),
            unknown("encryption_algorithm_desc", nv(60)),
        ],
    )
});

static SOAP_ENDPOINTS: SystemView = absent("soap_endpoints", || {
    behind(
        (endpoints::VIEW.columns)(),
        &[
            none("is_sql_language_enabled", BIT),
            unknown("wsdl_generator_procedure", nv(776)),
            unknown("default_database", SYSNAME),
            unknown("default_namespace", nv(384)),
            unknown("default_result_schema", TINYINT),
            unknown("default_result_schema_desc", nv(60)),
            none("is_xml_charset_enforced", BIT),
            none("is_session_enabled", BIT),
            none("session_timeout", INT),
            unknown("login_type", nv(60)),
            none("header_limit", INT),
        ],
    )
});
