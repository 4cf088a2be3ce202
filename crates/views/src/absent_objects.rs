//! Views of kinds of objects that do not exist here: assemblies, Service Broker's, full-text search's, XML schemas,
//! graphs, FileTables, external libraries. They have their documented columns and no rows.

use ::types::{DataType, Length};

use super::absent::{absent, behind, none};
use super::{objects, types};
use metadata::SystemView;
use metadata::column::{
    BIT, DATETIME, FLOAT, GUID, INT, NVMAX, SMALLINT, SYSNAME, TINYINT, ch, nv, shape, unknown, vb,
    vc,
};

/// The views of this file.
pub(crate) static VIEWS: &[&SystemView] = &[
    &ASSEMBLY_FILES,
    &ASSEMBLY_REFERENCES,
    &ASSEMBLY_TYPES,
    &CONVERSATION_PRIORITIES,
    &EDGE_CONSTRAINT_CLAUSES,
    &EDGE_CONSTRAINTS,
    &EXTENDED_PROCEDURES,
    &EXTERNAL_LIBRARIES,
    &EXTERNAL_LIBRARY_FILES,
    &FILETABLE_SYSTEM_DEFINED_OBJECTS,
    &FILETABLES,
    &FULLTEXT_DOCUMENT_TYPES,
    &FULLTEXT_LANGUAGES,
    &FULLTEXT_SEMANTIC_LANGUAGES,
    &FULLTEXT_STOPLISTS,
    &FULLTEXT_STOPWORDS,
    &FUNCTION_ORDER_COLUMNS,
    &NUMBERED_PROCEDURE_PARAMETERS,
    &REGISTERED_SEARCH_PROPERTIES,
    &REGISTERED_SEARCH_PROPERTY_LISTS,
    &REMOTE_DATA_ARCHIVE_TABLES,
    &REMOTE_SERVICE_BINDINGS,
    &ROUTES,
    &SELECTIVE_XML_INDEX_NAMESPACES,
    &SELECTIVE_XML_INDEX_PATHS,
    &SERVER_EVENT_NOTIFICATIONS,
    &SERVICE_CONTRACT_MESSAGE_USAGES,
    &SERVICE_CONTRACT_USAGES,
    &SPATIAL_INDEX_TESSELLATIONS,
    &XML_SCHEMA_COMPONENTS,
    &XML_SCHEMA_NAMESPACES,
];

/// The type `varbinary(max)`, which content of files and signatures has.
const VBMAX: DataType = DataType::VarBinary(Length::Max);

static ASSEMBLY_FILES: SystemView = absent("assembly_files", || {
    shape(&[
        none("assembly_id", INT),
        unknown("name", nv(260)),
        none("file_id", INT),
        unknown("content", VBMAX),
    ])
});

static ASSEMBLY_REFERENCES: SystemView = absent("assembly_references", || {
    shape(&[none("assembly_id", INT), none("referenced_assembly_id", INT)])
});

static ASSEMBLY_TYPES: SystemView = absent("assembly_types", || {
    behind(
        (types::VIEW.columns)(),
        &[
            none("assembly_id", INT),
            unknown("assembly_class", SYSNAME),
            unknown("is_binary_ordered", BIT),
            unknown("is_fixed_length", BIT),
            unknown("prog_id", nv(40)),
            unknown("assembly_qualified_name", nv(4000)),
        ],
    )
});

static CONVERSATION_PRIORITIES: SystemView = absent("conversation_priorities", || {
    shape(&[
        none("priority_id", INT),
        none("name", SYSNAME),
        unknown("service_contract_id", INT),
        unknown("local_service_id", INT),
        unknown("remote_service_name", nv(256)),
        none("priority", TINYINT),
    ])
});

static EDGE_CONSTRAINT_CLAUSES: SystemView = absent("edge_constraint_clauses", || {
    shape(&[
        none("object_id", INT),
        none("from_object_id", INT),
        none("to_object_id", INT),
        none("clause_number", INT),
    ])
});

static EDGE_CONSTRAINTS: SystemView = absent("edge_constraints", || {
    behind(
        (objects::VIEW.columns)(),
        &[
            none("is_disabled", BIT),
            none("is_not_trusted", BIT),
            none("is_system_named", BIT),
            unknown("delete_referential_action", TINYINT),
            unknown("delete_referential_action_desc", nv(60)),
        ],
    )
});

static EXTENDED_PROCEDURES: SystemView = absent("extended_procedures", || {
    behind((objects::VIEW.columns)(), &[unknown::<()>("dll_name", nv(260))])
});

static EXTERNAL_LIBRARIES: SystemView = absent("external_libraries", || {
    shape(&[
        none("external_library_id", INT),
        none("name", SYSNAME),
        unknown("principal_id", INT),
        unknown("language", SYSNAME),
        none("scope", INT),
        none("scope_desc", vc(7)),
    ])
});

static EXTERNAL_LIBRARY_FILES: SystemView = absent("external_library_files", || {
    shape(&[
        none("external_library_id", INT),
        unknown("content", VBMAX),
        unknown("platform", TINYINT),
        unknown("platform_desc", nv(60)),
    ])
});

static FILETABLE_SYSTEM_DEFINED_OBJECTS: SystemView =
    absent("filetable_system_defined_objects", || {
        shape(&[none("object_id", INT), none("parent_object_id", INT)])
    });

static FILETABLES: SystemView = absent("filetables", || {
    shape(&[
        none("object_id", INT),
        none("is_enabled", BIT),
        unknown("directory_name", nv(255)),
        unknown("filename_collation_id", INT),
        unknown("filename_collation_name", SYSNAME),
    ])
});

static FULLTEXT_DOCUMENT_TYPES: SystemView = absent("fulltext_document_types", || {
    shape(&[
        none("document_type", SYSNAME),
        none("class_id", GUID),
        unknown("path", nv(260)),
        none("version", SYSNAME),
        unknown("manufacturer", SYSNAME),
    ])
});

static FULLTEXT_LANGUAGES: SystemView =
    absent("fulltext_languages", || shape(&[none("lcid", INT), none("name", SYSNAME)]));

static FULLTEXT_SEMANTIC_LANGUAGES: SystemView =
    absent("fulltext_semantic_languages", || shape(&[none("lcid", INT), none("name", SYSNAME)]));

static FULLTEXT_STOPLISTS: SystemView = absent("fulltext_stoplists", || {
    shape(&[
        none("stoplist_id", INT),
        none("name", SYSNAME),
        none("create_date", DATETIME),
        none("modify_date", DATETIME),
        unknown("principal_id", INT),
    ])
});

static FULLTEXT_STOPWORDS: SystemView = absent("fulltext_stopwords", || {
    shape(&[
        none("stoplist_id", INT),
        none("stopword", nv(64)),
        none("language", SYSNAME),
        none("language_id", INT),
    ])
});

static FUNCTION_ORDER_COLUMNS: SystemView = absent("function_order_columns", || {
    shape(&[
        none("object_id", INT),
        none("order_column_id", INT),
        none("column_id", INT),
        unknown("is_descending", BIT),
    ])
});

static NUMBERED_PROCEDURE_PARAMETERS: SystemView = absent("numbered_procedure_parameters", || {
    shape(&[
        none("object_id", INT),
        none("procedure_number", SMALLINT),
        none("name", SYSNAME),
        none("parameter_id", INT),
        none("system_type_id", TINYINT),
        none("user_type_id", INT),
        none("max_length", SMALLINT),
        none("precision", TINYINT),
        none("scale", TINYINT),
        none("is_output", BIT),
        none("is_cursor_ref", BIT),
    ])
});

static REGISTERED_SEARCH_PROPERTIES: SystemView = absent("registered_search_properties", || {
    shape(&[
        none("property_list_id", INT),
        none("property_set_guid", GUID),
        none("property_int_id", INT),
        none("property_name", nv(256)),
        unknown("property_description", nv(512)),
        none("property_id", INT),
    ])
});

static REGISTERED_SEARCH_PROPERTY_LISTS: SystemView =
    absent("registered_search_property_lists", || {
        shape(&[
            none("property_list_id", INT),
            none("name", SYSNAME),
            none("create_date", DATETIME),
            none("modify_date", DATETIME),
            unknown("principal_id", INT),
        ])
    });

static REMOTE_DATA_ARCHIVE_TABLES: SystemView = absent("remote_data_archive_tables", || {
    shape(&[
        none("object_id", INT),
        none("remote_database_id", INT),
        unknown("remote_table_name", SYSNAME),
        unknown("filter_predicate", NVMAX),
        unknown("migration_direction", TINYINT),
        unknown("migration_direction_desc", nv(60)),
        unknown("is_migration_paused", BIT),
        unknown("is_reconciled", BIT),
    ])
});

static REMOTE_SERVICE_BINDINGS: SystemView = absent("remote_service_bindings", || {
    shape(&[
        none("name", SYSNAME),
        none("remote_service_binding_id", INT),
        unknown("principal_id", INT),
        unknown("remote_service_name", nv(256)),
        none("service_contract_id", INT),
        unknown("remote_principal_id", INT),
        none("is_anonymous_on", BIT),
    ])
});

static ROUTES: SystemView = absent("routes", || {
    shape(&[
        none("name", SYSNAME),
        none("route_id", INT),
        unknown("principal_id", INT),
        unknown("remote_service_name", nv(256)),
        unknown("broker_instance", nv(128)),
        unknown("lifetime", DATETIME),
        unknown("address", nv(256)),
        unknown("mirror_address", nv(256)),
    ])
});

static SELECTIVE_XML_INDEX_NAMESPACES: SystemView =
    absent("selective_xml_index_namespaces", || {
        shape(&[
            none("object_id", INT),
            none("index_id", INT),
            unknown("is_default_uri", BIT),
            unknown("uri", nv(4000)),
            unknown("prefix", nv(400)),
        ])
    });

static SELECTIVE_XML_INDEX_PATHS: SystemView = absent("selective_xml_index_paths", || {
    shape(&[
        none("object_id", INT),
        none("index_id", INT),
        none("path_id", INT),
        unknown("path", nv(4000)),
        unknown("name", SYSNAME),
        unknown("path_type", TINYINT),
        unknown("path_type_desc", nv(60)),
        unknown("xml_component_id", INT),
        unknown("xquery_type_description", nv(4000)),
        unknown("is_xquery_type_inferred", BIT),
        unknown("xquery_max_length", SMALLINT),
        unknown("is_xquery_max_length_inferred", BIT),
        unknown("is_node", BIT),
        unknown("system_type_id", TINYINT),
        unknown("user_type_id", INT),
        unknown("max_length", SMALLINT),
        unknown("precision", TINYINT),
        unknown("scale", TINYINT),
        unknown("collation_name", SYSNAME),
        unknown("is_singleton", BIT),
    ])
});

static SERVER_EVENT_NOTIFICATIONS: SystemView = absent("server_event_notifications", || {
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

static SERVICE_CONTRACT_MESSAGE_USAGES: SystemView =
    absent("service_contract_message_usages", || {
        shape(&[
            none("service_contract_id", INT),
            none("message_type_id", INT),
            none("is_sent_by_initiator", BIT),
            none("is_sent_by_target", BIT),
        ])
    });

static SERVICE_CONTRACT_USAGES: SystemView = absent("service_contract_usages", || {
    shape(&[none("service_id", INT), none("service_contract_id", INT)])
});

static SPATIAL_INDEX_TESSELLATIONS: SystemView = absent("spatial_index_tessellations", || {
    shape(&[
        none("object_id", INT),
        none("index_id", INT),
        unknown("tessellation_scheme", SYSNAME),
        unknown("bounding_box_xmin", FLOAT),
        unknown("bounding_box_ymin", FLOAT),
        unknown("bounding_box_xmax", FLOAT),
        unknown("bounding_box_ymax", FLOAT),
        unknown("level_1_grid", SMALLINT),
        unknown("level_1_grid_desc", nv(60)),
        unknown("level_2_grid", SMALLINT),
        unknown("level_2_grid_desc", nv(60)),
        unknown("level_3_grid", SMALLINT),
        unknown("level_3_grid_desc", nv(60)),
        unknown("level_4_grid", SMALLINT),
        unknown("level_4_grid_desc", nv(60)),
        unknown("cells_per_object", INT),
    ])
});

static XML_SCHEMA_COMPONENTS: SystemView = absent("xml_schema_components", || {
    shape(&[
        none("xml_component_id", INT),
        none("xml_collection_id", INT),
        none("xml_namespace_id", INT),
        none("is_qualified", BIT),
        unknown("name", nv(4000)),
        none("symbol_space", ch(1)),
        unknown("symbol_space_desc", nv(60)),
        none("kind", ch(1)),
        unknown("kind_desc", nv(60)),
        none("derivation", ch(1)),
        unknown("derivation_desc", nv(60)),
        unknown("base_xml_component_id", INT),
        unknown("scoping_xml_component_id", INT),
    ])
});

static XML_SCHEMA_NAMESPACES: SystemView = absent("xml_schema_namespaces", || {
    shape(&[none("xml_collection_id", INT), none("name", nv(4000)), none("xml_namespace_id", INT)])
});
