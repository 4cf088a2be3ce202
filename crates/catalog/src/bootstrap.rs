//! The catalog of a fresh instance: the four system databases with their schemas and principals.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use sos::memory::{MemoryClerk, with_clerk};
use types::{Collation, Value};

use super::name::Name;
use super::object_index::ObjectIndex;
use super::{
    Catalog, DBO, Database, DatabaseFile, DatabaseOptions, EventSessionDef, Login, Principal,
    PrincipalKind, Schema, Settings, TraceFlags, UserMessages,
};

/// Databases that every instance has, with their ids.
const SYSTEM_DATABASES: [(i16, &str); 4] =
    [(1, "master"), (2, "tempdb"), (3, "model"), (4, "msdb")];
/// `compatibility_level` of new databases: SQL Server 2022.
const COMPATIBILITY_LEVEL: u8 = 160;
/// Fixed roles of a database, with their principal ids.
const FIXED_ROLES: [(i32, &str); 10] = [
    (0, "public"),
    (16_384, "db_owner"),
    (16_385, "db_accessadmin"),
    (16_386, "db_securityadmin"),
    (16_387, "db_ddladmin"),
    (16_389, "db_backupoperator"),
    (16_390, "db_datareader"),
    (16_391, "db_datawriter"),
    (16_392, "db_denydatareader"),
    (16_393, "db_denydatawriter"),
];

impl Catalog {
    /// Returns the catalog of a fresh instance: system databases, `sa`, and the event session
    /// system_health.
    pub fn bootstrap(
        sa: Login,
        collation: Collation,
        created: &Value,
        event_session: Arc<EventSessionDef>,
    ) -> Self {
        let databases = SYSTEM_DATABASES.iter().map(|&(id, name)| {
            let mut database = Database::new(id, name, collation, created.clone());
            // As in SQL Server; new databases have the model of `model`.
            if name != "model" {
                "SIMPLE".clone_into(&mut database.options.recovery);
            }
            (Name::new(name), Arc::new(database))
        });
        Self {
            version: 1,
            databases: with_clerk(MemoryClerk::Metadata, || databases.collect()),
            logins: BTreeMap::from([(Name::new(&sa.name), Arc::new(sa))]),
            server_permissions: Vec::new(),
            messages: UserMessages::default(),
            settings: Settings::default(),
            trace_flags: TraceFlags::default(),
            event_sessions: BTreeMap::from([(Name::new(&event_session.name), event_session)]),
            triggers: BTreeMap::new(),
            backups: Arc::default(),
        }
    }

    /// Returns a catalog without anything.
    pub fn empty() -> Self {
        Self {
            version: 0,
            databases: BTreeMap::new(),
            logins: BTreeMap::new(),
            server_permissions: Vec::new(),
            messages: UserMessages::default(),
            settings: Settings::default(),
            trace_flags: TraceFlags::default(),
            event_sessions: BTreeMap::new(),
            triggers: BTreeMap::new(),
            backups: Arc::default(),
        }
    }

    /// Returns the lowest free database id.
    pub fn next_database_id(&self) -> i16 {
        let taken: BTreeSet<i16> = self.databases.values().map(|database| database.id).collect();
        (5..i16::MAX).find(|id| !taken.contains(id)).unwrap_or(i16::MAX)
    }
}

impl Database {
    /// Returns a database without anything, not even the fixed schemas and roles.
    pub fn empty() -> Self {
        Self {
            id: 0,
            name: String::new(),
            collation: Collation::default(),
            created: Value::Null,
            schemas: BTreeMap::new(),
            objects: BTreeMap::new(),
            triggers: BTreeMap::new(),
            types: BTreeMap::new(),
            principals: BTreeMap::new(),
            options: DatabaseOptions::default(),
            files: Vec::new(),
            permissions: Vec::new(),
            properties: BTreeMap::new(),
            data_sources: BTreeMap::new(),
            file_formats: BTreeMap::new(),
            partition_functions: BTreeMap::new(),
            partition_schemes: BTreeMap::new(),
            owners: BTreeMap::new(),
            withheld: BTreeSet::new(),
            index: ObjectIndex::default(),
        }
    }

    /// Returns an empty database: its schemas, fixed roles and users, and the files of `model`.
    pub fn new(id: i16, name: &str, collation: Collation, created: Value) -> Self {
        let schemas = [(1, "dbo", 1), (2, "guest", 2), (3, "INFORMATION_SCHEMA", 3), (4, "sys", 4)];
        // Each fixed role but public owns a schema with the role's name, whose id is the role's.
        let of_roles = FIXED_ROLES.iter().skip(1).map(|&(id, name)| (id, name, id));
        let schemas = schemas.into_iter().chain(of_roles).map(|(id, name, owner)| {
            (Name::new(name), Schema { id, name: name.to_owned(), owner })
        });
        Self {
            id,
            name: name.to_owned(),
            collation,
            created,
            schemas: schemas.collect(),
            principals: principals(),
            files: default_files(name),
            ..Self::empty()
        }
    }
}

impl Default for DatabaseOptions {
    fn default() -> Self {
        Self {
            elevate_to_snapshot: false,
            read_committed_snapshot: true,
            allow_snapshot_isolation: true,
            user_access: super::UserAccess::default(),
            compatibility_level: COMPATIBILITY_LEVEL,
            recovery: "FULL".to_owned(),
            restoring: None,
            scoped: BTreeMap::new(),
            scoped_secondary: BTreeMap::new(),
            others: BTreeMap::new(),
        }
    }
}

/// Returns the files of a database declared without any, as `model` and the system databases have
/// them.
pub fn default_files(database: &str) -> Vec<DatabaseFile> {
    let file = |name: String, path: String, log: bool| DatabaseFile {
        filegroup: if log { String::new() } else { "PRIMARY".to_owned() },
        name,
        path,
        memory_optimized: false,
        log,
        size: super::FileSize::default(),
    };
    let (data, log) = match database {
        "master" => ("master".to_owned(), "mastlog".to_owned()),
        "tempdb" => ("tempdev".to_owned(), "templog".to_owned()),
        "model" => ("modeldev".to_owned(), "modellog".to_owned()),
        "msdb" => ("MSDBData".to_owned(), "MSDBLog".to_owned()),
        other => (other.to_owned(), format!("{other}_log")),
    };
    let data_path =
        if database == "msdb" { "MSDBData.mdf".to_owned() } else { format!("{database}.mdf") };
    let log_path = format!("{log}.ldf");
    vec![file(data, data_path, false), file(log, log_path, true)]
}

fn principals() -> BTreeMap<Name, Arc<Principal>> {
    let users = [
        (1, "dbo", Some("sa"), "dbo"),
        (2, "guest", None, "guest"),
        (3, "INFORMATION_SCHEMA", None, ""),
        (4, "sys", None, ""),
    ];
    let users = users.into_iter().map(|(id, name, login, schema)| Principal {
        id,
        name: name.to_owned(),
        kind: PrincipalKind::SqlUser,
        login: login.map(str::to_owned),
        member_of: if id == 1 { vec![16_384] } else { Vec::new() },
        default_schema: schema.to_owned(),
        owner: DBO,
    });
    let roles = FIXED_ROLES.into_iter().map(|(id, name)| Principal {
        id,
        name: name.to_owned(),
        kind: PrincipalKind::DatabaseRole,
        login: None,
        member_of: Vec::new(),
        default_schema: String::new(),
        owner: DBO,
    });
    users.chain(roles).map(|p| (Name::new(&p.name), Arc::new(p))).collect()
}
