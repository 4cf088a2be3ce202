//! Permissions of the server: those of fixed server roles, implied permissions, and those that
//! views need.

use super::{Class, DB_OWNER, Rights, SERVER_PUBLIC, verdict};
use crate::{Catalog, Database, Login, Permission};

/// Fixed server roles with their permissions, as the documentation of server-level roles lists
/// them; sysadmin has all permissions.
const ROLES: [(&str, &[&str]); 7] = [
    ("bulkadmin", &["ADMINISTER BULK OPERATIONS"]),
    ("dbcreator", &["ALTER ANY DATABASE"]),
    ("diskadmin", &["ALTER RESOURCES"]),
    ("processadmin", &["ALTER ANY CONNECTION", "ALTER SERVER STATE"]),
    ("securityadmin", &["ALTER ANY LOGIN"]),
    ("serveradmin", &["ALTER RESOURCES", "ALTER SERVER STATE", "ALTER SETTINGS", "SHUTDOWN"]),
    ("setupadmin", &["ALTER ANY LINKED SERVER"]),
];

/// Permissions implied by others, as `sys.fn_builtin_permissions` lists them. CONTROL SERVER
/// implies all.
const IMPLIED: [(&str, &[&str]); 6] = [
    ("CREATE ANY DATABASE", &["ALTER ANY DATABASE"]),
    ("VIEW ANY DATABASE", &["ALTER ANY DATABASE"]),
    ("VIEW SERVER STATE", &["ALTER SERVER STATE"]),
    ("VIEW SERVER PERFORMANCE STATE", &["VIEW SERVER STATE", "ALTER SERVER STATE"]),
    ("VIEW SERVER SECURITY STATE", &["VIEW SERVER STATE", "ALTER SERVER STATE"]),
    ("CREATE ANY EVENT SESSION", &["ALTER ANY EVENT SESSION"]),
];

/// Returns whether a login has a server permission by a role or a GRANT, without a DENY.
pub(super) fn has(catalog: &Catalog, login: &Login, permission: &str) -> bool {
    let own = |p: &&Permission| {
        p.class == Class::Whole
            && (p.principal_id == login.principal_id || p.principal_id == SERVER_PUBLIC)
    };
    let rules = || catalog.server_permissions.iter().filter(own);
    // A DENY of the implying permission denies this one too.
    let implying = IMPLIED.iter().find(|(implied, _)| *implied == permission).map(|(_, by)| *by);
    let implying = implying.unwrap_or_default();
    let counts = |p: &str| p == permission || p == "CONTROL SERVER" || implying.contains(&p);
    match verdict(rules().filter(|p| counts(&p.permission))) {
        Some(granted) => granted,
        None => login.roles.iter().any(|role| {
            let of_role = ROLES.iter().find(|(name, _)| name == role);
            of_role.is_some_and(|(_, has)| has.iter().any(|p| counts(p)))
        }),
    }
}

impl Rights {
    /// Returns whether the login has a server permission.
    pub fn has_of_server(&self, catalog: &Catalog, permission: &str) -> bool {
        self.all || self.own_login(catalog).is_some_and(|login| has(catalog, login, permission))
    }

    /// Returns whether the login may clear caches and statistics: by ALTER SERVER STATE.
    pub fn alters_state(&self, catalog: &Catalog) -> bool {
        self.has_of_server(catalog, "ALTER SERVER STATE")
    }

    /// Returns whether the login may create databases.
    pub fn makes_databases(&self, catalog: &Catalog) -> bool {
        let in_master = |master: &Database| self.has_of_database(master, "CREATE DATABASE");
        self.has_of_server(catalog, "CREATE ANY DATABASE")
            || catalog.database("master").is_some_and(|master| in_master(master))
    }

    /// Returns whether the login is a member of a fixed server role; a sysadmin is a member of all.
    pub fn is_in_server_role(&self, catalog: &Catalog, role: &str) -> bool {
        self.all || self.own_login(catalog).is_some_and(|login| login.roles.contains(&role))
    }

    /// Returns whether the login may read files: by ADMINISTER BULK OPERATIONS.
    pub fn reads_files(&self, catalog: &Catalog) -> bool {
        self.has_of_server(catalog, "ADMINISTER BULK OPERATIONS")
    }

    /// Returns whether the login may read and write files of a database's data sources: by
    /// ADMINISTER DATABASE BULK OPERATIONS, which its owners have, or as in [`Self::reads_files`].
    pub fn uses_data_sources(&self, catalog: &Catalog, database: &Database) -> bool {
        self.has_of_database(database, "ADMINISTER DATABASE BULK OPERATIONS")
            || self.reads_files(catalog)
    }

    /// Returns whether the login may see where the files of a database are: by ALTER ANY DATABASE, VIEW
    /// ANY DEFINITION, CREATE DATABASE, or as an owner of the database.
    pub fn sees_files(&self, catalog: &Catalog, database: &Database) -> bool {
        const OF_SERVER: [&str; 3] =
            ["ALTER ANY DATABASE", "CREATE ANY DATABASE", "VIEW ANY DEFINITION"];
        let creates = || {
            let master = catalog.database("master");
            master.is_some_and(|master| self.has_of_database(master, "CREATE DATABASE"))
        };
        OF_SERVER.iter().any(|permission| self.has_of_server(catalog, permission))
            || creates()
            || self.principals(database).contains(&DB_OWNER)
    }

    /// Returns whether the login has VIEW SERVER STATE.
    pub fn views_server_state(&self) -> bool {
        self.server_state
    }

    /// Returns whether the login has VIEW DATABASE STATE, which VIEW SERVER STATE implies.
    pub fn views_database_state(&self, database: &Database) -> bool {
        self.server_state || self.has_of_database(database, "VIEW DATABASE PERFORMANCE STATE")
    }
}

/// The permission that a view needs.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum State {
    /// None: it shows definitions, or the session's own rows.
    None,
    /// VIEW SERVER STATE is needed.
    Server,
    /// VIEW DATABASE STATE is needed.
    Database,
}

/// Returns the permission that a view needs, as its documentation page says. Views of sessions and
/// requests show a session its own rows without one; those of the host need none.
pub fn state_of(view: &str) -> State {
    const OPEN: [&str; 7] = [
        "dm_exec_cursors",
        "dm_exec_describe_first_result_set",
        "dm_exec_describe_first_result_set_for_object",
        "dm_exec_input_buffer",
        "dm_exec_requests",
        "dm_exec_sessions",
        "dm_os_host_info",
    ];
    const OF_DATABASE: [&str; 12] = [
        "database_query_store_",
        "dm_db_column_store_row_group_physical_stats",
        "dm_db_index_operational_stats",
        "dm_db_index_physical_stats",
        "dm_db_log_info",
        "dm_db_log_stats",
        "dm_db_partition_stats",
        "dm_db_xtp_checkpoint_files",
        "dm_db_xtp_checkpoint_stats",
        "dm_db_xtp_hash_index_stats",
        "query_context_settings",
        "query_store_",
    ];
    const OF_SERVER: [&str; 21] = [
        "dm_database_encryption_keys",
        "dm_db_file_space_usage",
        "dm_db_index_usage_stats",
        "dm_db_log_space_usage",
        "dm_db_missing_index_",
        "dm_db_session_space_usage",
        "dm_db_task_space_usage",
        "dm_exec_",
        "dm_hadr_",
        "dm_io_",
        "dm_os_",
        "dm_resource_governor_",
        "dm_server_",
        "dm_tran_",
        "dm_xe_",
        "fn_dblog",
        "fn_stack_",
        "fn_time_ledger",
        "fn_xe_",
        "server_event_session",
        "sysperfinfo",
    ];
    if OPEN.contains(&view) {
        State::None
    } else if OF_DATABASE.iter().any(|prefix| view.starts_with(prefix)) {
        State::Database
    } else if OF_SERVER.iter().any(|prefix| view.starts_with(prefix)) {
        State::Server
    } else {
        State::None
    }
}
