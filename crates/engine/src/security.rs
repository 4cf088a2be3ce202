//! What a login may do: fixed server roles, permissions of the server, and those of a database's user.
//!
//! Asked when a statement is bound, not for each row. A plan that was bound with checks belongs to
//! texts of that login alone ([`Rights::key`] is part of a text's key in the caches); GRANT, DENY and
//! REVOKE make a new version of the catalog, and with it new plans. What a procedure, function, view or
//! trigger does inside is not asked again: everything has one owner, so the chain of ownership holds.

use std::sync::Arc;

use tsql::ast::{ObjectName, TableRef, TableRefKind, Target, TargetKind};
use types::{Error, Msg, Result};

use crate::bind::Binder;
use crate::bind::query::{Resolved, resolve_table};
use crate::catalog::name::Name;
use crate::catalog::{
    Catalog, Database, Login, Permission, Principal, PrincipalKind, SequenceDef, TableDef,
};
use crate::view::SystemView;

/// Server roles that imply VIEW SERVER STATE, since they have ALTER SERVER STATE.
const STATE_ROLES: [&str; 2] = ["serveradmin", "processadmin"];
/// Permissions of the server that imply VIEW SERVER STATE.
const STATE_PERMISSIONS: [&str; 3] =
    ["VIEW SERVER STATE", "VIEW SERVER PERFORMANCE STATE", "ALTER SERVER STATE"];
/// `principal_id` of the server's public role.
pub(crate) const SERVER_PUBLIC: i32 = 2;

/// Ids of principals that every database has.
const PUBLIC: i32 = 0;
const DBO: i32 = 1;
const GUEST: i32 = 2;
const DB_OWNER: i32 = 16_384;
const DB_DDL_ADMIN: i32 = 16_387;
const DB_DATA_READER: i32 = 16_390;
const DB_DATA_WRITER: i32 = 16_391;
const DB_DENY_DATA_READER: i32 = 16_392;
const DB_DENY_DATA_WRITER: i32 = 16_393;

/// What a permission is about, as `sys.database_permissions.class` numbers it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Default)]
pub enum Class {
    /// The database, or the server: 0 or 100.
    #[default]
    Whole,
    /// An object: 1.
    Object,
    /// A schema: 3.
    Schema,
    /// A user or role of a database, or a login: 4 or 101.
    Principal,
}

/// What a login may do, as of a version of the catalog.
#[derive(Clone, Debug)]
pub(crate) struct Rights {
    login: String,
    id: i32,
    all: bool,
    server_state: bool,
    /// Database and id of the user that EXECUTE AS USER or a module's clause has made of the session:
    /// nothing of the server counts then.
    user: Option<(i16, i32)>,
}

impl Rights {
    /// Finds out what a login may do.
    pub(crate) fn of(catalog: &Catalog, login: &str) -> Self {
        let found = catalog.logins.get(&Name::new(login));
        let all = found.is_some_and(|l| l.sysadmin || holds(catalog, l, &["CONTROL SERVER"]));
        Self {
            login: login.to_owned(),
            id: found.map_or(-1, |l| l.principal_id),
            all,
            server_state: all || found.is_some_and(|l| may_view_state(catalog, l)),
            user: None,
        }
    }

    /// What a user of a database may do, and nothing of what its login may.
    pub(crate) fn of_user(login: &str, database: i16, user: i32) -> Self {
        // Below those of logins, and of no other user.
        let id = -(i32::from(database) << 16 | user) - 2;
        let login = login.to_owned();
        Self { login, id, all: false, server_state: false, user: Some((database, user)) }
    }

    /// The same principal's by another version of the catalog.
    pub(crate) fn renewed(&self, catalog: &Catalog) -> Self {
        if self.user.is_some() { self.clone() } else { Self::of(catalog, &self.login) }
    }

    /// Tells whether the session runs as a user of a database and not as its login.
    #[inline]
    pub(crate) fn is_user(&self, database: i16, user: i32) -> bool {
        self.user == Some((database, user))
    }

    /// The user that the session runs as, and its database.
    pub(crate) fn user(&self) -> Option<(i16, i32)> {
        self.user
    }

    /// Tells whether EXECUTE AS USER is allowed: of oneself, of any user to the database's owner, or by
    /// IMPERSONATE.
    pub(crate) fn may_be_user(&self, database: &Database, user: &Principal) -> bool {
        if self.owns(database) {
            return true;
        }
        let ids = self.principals(database);
        let about = |p: &&Permission| {
            let covers = match p.class {
                Class::Whole => p.permission == "CONTROL",
                Class::Principal => {
                    p.object_id == user.id
                        && (p.permission == "IMPERSONATE" || p.permission == "CONTROL")
                }
                Class::Object | Class::Schema => false,
            };
            covers && ids.contains(&p.principal_id)
        };
        let mut rules = database.permissions.iter().filter(about).peekable();
        ids.get(1) == Some(&user.id) || (rules.peek().is_some() && rules.all(|p| p.granted))
    }

    /// Tells whether EXECUTE AS LOGIN is allowed: of oneself, of any login to a sysadmin, or by
    /// IMPERSONATE.
    pub(crate) fn may_be_login(&self, catalog: &Catalog, wanted: &Login) -> bool {
        let Some(own) = self.own_login(catalog) else { return self.all };
        let about = |p: &&Permission| {
            let covers = match p.class {
                Class::Whole => p.permission == "IMPERSONATE ANY LOGIN",
                Class::Principal => {
                    p.object_id == wanted.principal_id
                        && (p.permission == "IMPERSONATE" || p.permission == "CONTROL")
                }
                Class::Object | Class::Schema => false,
            };
            covers && (p.principal_id == own.principal_id || p.principal_id == SERVER_PUBLIC)
        };
        let mut rules = catalog.server_permissions.iter().filter(about).peekable();
        self.all
            || own.principal_id == wanted.principal_id
            || (rules.peek().is_some() && rules.all(|p| p.granted))
    }

    /// The login whose permissions of the server count.
    fn own_login<'c>(&self, catalog: &'c Catalog) -> Option<&'c Arc<Login>> {
        match self.user {
            Some(_) => None,
            None => catalog.logins.get(&Name::new(&self.login)),
        }
    }

    /// Tells whether nothing is forbidden.
    #[inline]
    pub(crate) fn is_all(&self) -> bool {
        self.all
    }

    /// Tells whose plans the login can share: 0 for those that were bound without a check.
    #[inline]
    pub(crate) fn key(&self) -> i32 {
        if self.all { 0 } else { self.id }
    }

    /// Tells whether the login may enter a database: it has a user there, or guests are let in.
    pub(crate) fn enters(&self, database: &Database) -> bool {
        const WITH_GUEST: [&str; 3] = ["master", "tempdb", "msdb"];
        let has_guest = WITH_GUEST.iter().any(|name| Name::same(name, &database.name));
        self.all || has_guest || !self.principals(database).contains(&GUEST)
    }

    /// Tells whether the login may end sessions and empty caches: ALTER ANY CONNECTION and ALTER SERVER
    /// STATE, which the same roles have.
    pub(crate) fn alters_server(&self, catalog: &Catalog) -> bool {
        let login = self.own_login(catalog);
        let by_role =
            |login: &Arc<Login>| login.roles.iter().any(|role| STATE_ROLES.contains(role));
        self.all
            || login.is_some_and(|l| {
                by_role(l) || holds(catalog, l, &["ALTER SERVER STATE", "ALTER ANY CONNECTION"])
            })
    }

    /// Tells whether the login may make logins and grant permissions of the server.
    pub(crate) fn secures_server(&self, catalog: &Catalog) -> bool {
        let login = self.own_login(catalog);
        self.all
            || login.is_some_and(|l| {
                l.roles.contains(&"securityadmin") || holds(catalog, l, &["ALTER ANY LOGIN"])
            })
    }

    /// Tells whether the login may make databases.
    pub(crate) fn makes_databases(&self, catalog: &Catalog) -> bool {
        let login = self.own_login(catalog);
        self.all || login.is_some_and(|l| l.roles.contains(&"dbcreator"))
    }

    /// Tells whether the login has a permission of the server.
    pub(crate) fn has_of_server(&self, catalog: &Catalog, permission: &str) -> bool {
        if STATE_PERMISSIONS[..2].contains(&permission) {
            return self.server_state;
        }
        let login = self.own_login(catalog);
        self.all || login.is_some_and(|l| holds(catalog, l, &[permission]))
    }

    /// Tells whether the login may read files: by ADMINISTER BULK OPERATIONS, or as a member of bulkadmin.
    pub(crate) fn reads_files(&self, catalog: &Catalog) -> bool {
        let login = self.own_login(catalog);
        let is_member = login.is_some_and(|login| login.roles.contains(&"bulkadmin"));
        is_member || self.has_of_server(catalog, "ADMINISTER BULK OPERATIONS")
    }

    /// Tells whether the login may read and write what the data sources of a database name: by ADMINISTER DATABASE
    /// BULK OPERATIONS there, which its owners have, or as [`Self::reads_files`].
    pub(crate) fn uses_data_sources(&self, catalog: &Catalog, database: &Database) -> bool {
        const PERMISSION: &str = "ADMINISTER DATABASE BULK OPERATIONS";
        let ids = self.principals(database);
        let about = |p: &&Permission| {
            p.class == Class::Whole
                && (p.permission == PERMISSION || p.permission == "CONTROL")
                && ids.contains(&p.principal_id)
        };
        let mut rules = database.permissions.iter().filter(about).peekable();
        let is_granted = rules.peek().is_some() && rules.all(|p| p.granted);
        self.owns(database) || is_granted || self.reads_files(catalog)
    }

    /// Tells whether the login has VIEW SERVER STATE.
    pub(crate) fn views_server_state(&self) -> bool {
        self.server_state
    }

    /// Checks that a system view may be read.
    ///
    /// # Errors
    /// 300, which 297 follows, if the login lacks VIEW SERVER STATE.
    fn check_view(&self, view: &SystemView) -> Result<()> {
        if self.server_state || !needs_server_state(view.name) {
            return Ok(());
        }
        Err(Msg::ServerPermissionDenied("VIEW SERVER STATE").into())
    }

    /// Checks a permission on an object.
    fn check(&self, database: &Database, object: &Securable<'_>, permission: &str) -> Result<()> {
        if self.has(database, object, permission)
            || self.has_some_column(database, object, permission)
        {
            return Ok(());
        }
        let denied = Msg::PermissionDenied(permission, object.name, &database.name, object.schema);
        Err(Error::from(denied).with_state(5))
    }

    fn has(&self, database: &Database, object: &Securable<'_>, permission: &str) -> bool {
        let ids = self.principals(database);
        if ids.contains(&DB_OWNER) {
            return true;
        }
        let reads = permission == "SELECT";
        let writes = matches!(permission, "INSERT" | "UPDATE" | "DELETE");
        let is_member = |role: i32| ids.contains(&role);
        if (reads && is_member(DB_DENY_DATA_READER)) || (writes && is_member(DB_DENY_DATA_WRITER)) {
            return false;
        }
        let about = |p: &&Permission| {
            let covers = match p.class {
                Class::Whole => true,
                Class::Object => p.object_id == object.id && p.column_id == 0,
                Class::Schema => p.object_id == object.schema_id,
                Class::Principal => false,
            };
            let named = p.permission == permission
                || p.permission == "CONTROL"
                || (p.permission == "ALL" && p.class == Class::Object);
            covers && named && ids.contains(&p.principal_id)
        };
        let (granted, denied): (Vec<&Permission>, Vec<_>) =
            database.permissions.iter().filter(about).partition(|p| p.granted);
        if !denied.is_empty() {
            return false;
        }
        !granted.is_empty()
            || (reads && is_member(DB_DATA_READER))
            || (writes && is_member(DB_DATA_WRITER))
    }

    /// Tells whether a permission is given on one column at least.
    fn has_some_column(
        &self,
        database: &Database,
        object: &Securable<'_>,
        permission: &str,
    ) -> bool {
        let of_columns = |p: &&Permission| is_of_column(p, object.id) && p.granted;
        let mut rules = database.permissions.iter().filter(of_columns);
        rules.any(|p| self.has_column(database, object, p.column_id, permission))
    }

    /// Tells whether a permission is given on a column: what is said of the column counts before what is
    /// said of the whole object, of which a DENY does not take back a GRANT on a column.
    fn has_column(
        &self,
        database: &Database,
        object: &Securable<'_>,
        column_id: i32,
        permission: &str,
    ) -> bool {
        let ids = self.principals(database);
        let forbidden = match permission {
            "SELECT" => ids.contains(&DB_DENY_DATA_READER),
            "UPDATE" => ids.contains(&DB_DENY_DATA_WRITER),
            _ => false,
        };
        let about = |p: &&Permission| {
            is_of_column(p, object.id)
                && p.column_id == column_id
                && p.permission == permission
                && ids.contains(&p.principal_id)
        };
        let mut rules = database.permissions.iter().filter(about).peekable();
        if ids.contains(&DB_OWNER) {
            return true;
        }
        match rules.peek() {
            Some(_) => !forbidden && rules.all(|p| p.granted),
            None => self.has(database, object, permission),
        }
    }

    /// Checks a permission of the database itself, such as CREATE TABLE.
    ///
    /// # Errors
    /// 262.
    pub(crate) fn check_database(&self, database: &Database, permission: &str) -> Result<()> {
        if self.all {
            return Ok(());
        }
        let ids = self.principals(database);
        let admin = ids.contains(&DB_OWNER) || ids.contains(&DB_DDL_ADMIN);
        let about = |p: &&Permission| {
            p.class == Class::Whole
                && (p.permission == permission || p.permission == "CONTROL")
                && ids.contains(&p.principal_id)
        };
        let (granted, denied): (Vec<&Permission>, Vec<_>) =
            database.permissions.iter().filter(about).partition(|p| p.granted);
        if denied.is_empty() && (admin || !granted.is_empty()) {
            return Ok(());
        }
        Err(Msg::DatabasePermissionDenied(permission, &database.name).into())
    }

    /// Tells whether the login owns a database, as `dbo` or as a member of `db_owner`.
    pub(crate) fn owns(&self, database: &Database) -> bool {
        self.all || self.principals(database).contains(&DB_OWNER)
    }

    /// The login's user in a database, `guest` if it has none, with all roles that it is a member of.
    fn principals(&self, database: &Database) -> Vec<i32> {
        let is_it = |p: &&Arc<Principal>| {
            p.kind == PrincipalKind::SqlUser
                && p.login.as_ref().is_some_and(|l| Name::same(l, &self.login))
        };
        let user = match self.user {
            Some((place, id)) if place == database.id => id,
            Some(_) => GUEST,
            None => database.principals.values().find(is_it).map_or(GUEST, |u| u.id),
        };
        let mut ids = vec![PUBLIC, user];
        if user == DBO {
            ids.push(DB_OWNER);
        }
        let mut next = 1;
        while let Some(id) = ids.get(next).copied() {
            next += 1;
            let roles = database.principals.values().filter(|p| p.id == id);
            for role in roles.flat_map(|p| &p.member_of) {
                if !ids.contains(role) {
                    ids.push(*role);
                }
            }
        }
        ids
    }
}

/// Tells whether a login has one of these permissions of the server, and is denied none of them.
fn holds(catalog: &Catalog, login: &Login, permissions: &[&str]) -> bool {
    let about = |p: &&Permission| {
        (p.principal_id == login.principal_id || p.principal_id == SERVER_PUBLIC)
            && permissions.contains(&p.permission.as_str())
    };
    let mut rules = catalog.server_permissions.iter().filter(about).peekable();
    rules.peek().is_some() && rules.all(|p| p.granted)
}

fn may_view_state(catalog: &Catalog, login: &Login) -> bool {
    let denied = catalog.server_permissions.iter().any(|p| {
        !p.granted && p.principal_id == login.principal_id && p.permission == "VIEW SERVER STATE"
    });
    let by_role = login.roles.iter().any(|role| STATE_ROLES.contains(role));
    !denied && (by_role || holds(catalog, login, &STATE_PERMISSIONS))
}

/// Tells whether a view shows the state of the server. Those of sessions and requests show everybody
/// their own.
fn needs_server_state(view: &str) -> bool {
    const OWN: [&str; 4] =
        ["dm_exec_sessions", "dm_exec_requests", "dm_exec_sql_text", "dm_exec_input_buffer"];
    let of_server = [
        "dm_os_",
        "dm_exec_",
        "dm_tran_",
        "dm_io_",
        "dm_server_",
        "dm_hadr_",
        "dm_xe_",
        "server_event_session",
        "fn_time_ledger",
        "fn_stack_",
        "fn_xe_",
    ];
    of_server.iter().any(|prefix| view.starts_with(prefix)) && !OWN.contains(&view)
}

/// An object that is asked for.
struct Securable<'o> {
    id: i32,
    schema_id: i32,
    schema: &'o str,
    name: &'o str,
}

/// Tells whether a permission is about one column of an object.
fn is_of_column(permission: &Permission, object_id: i32) -> bool {
    permission.class == Class::Object
        && permission.object_id == object_id
        && permission.column_id != 0
}

/// What may be done with single columns of a source: there is one where permissions are about columns.
#[derive(Debug)]
pub(crate) struct Guard {
    database: String,
    schema: String,
    name: String,
    /// Of each column whether it may be read, and whether it may be changed.
    columns: Vec<(bool, bool)>,
    /// Whether what is asked first is the whole object: where nothing of it may be read.
    whole: bool,
}

impl Guard {
    /// Checks that a column may be read.
    ///
    /// # Errors
    /// 230; 229 where no column may be read and nobody has asked for the object.
    pub(crate) fn check_read(&self, place: usize, column: &str) -> Result<()> {
        if self.whole {
            let Self { database, schema, name, .. } = self;
            let denied = Msg::PermissionDenied("SELECT", name, database, schema);
            return Err(Error::from(denied).with_state(5));
        }
        self.check(self.columns.get(place).is_none_or(|may| may.0), "SELECT", column)
    }

    /// Checks that a column may be changed.
    ///
    /// # Errors
    /// 230.
    pub(crate) fn check_change(&self, place: usize, column: &str) -> Result<()> {
        self.check(self.columns.get(place).is_none_or(|may| may.1), "UPDATE", column)
    }

    fn check(&self, may: bool, permission: &str, column: &str) -> Result<()> {
        if may {
            return Ok(());
        }
        let Self { database, schema, name, .. } = self;
        Err(Msg::ColumnPermissionDenied(permission, column, name, database, schema).into())
    }
}

/// Makes the guard of what a name has been resolved to, which has so many columns.
pub(crate) fn guard(
    binder: &Binder<'_>,
    (database_id, id, schema_id): (i16, i32, i32),
    (schema, name): (&str, &str),
    columns: usize,
) -> Option<Arc<Guard>> {
    let rights = binder.rights?;
    let database = binder.catalog.database_by_id(database_id)?;
    if !database.permissions.iter().any(|p| is_of_column(p, id)) {
        return None;
    }
    let object = Securable { id, schema_id, schema, name };
    let may = |place: usize| {
        let column_id = i32::try_from(place + 1).unwrap_or(i32::MAX);
        let has = |permission| rights.has_column(database, &object, column_id, permission);
        (has("SELECT"), has("UPDATE"))
    };
    Some(Arc::new(Guard {
        database: database.name.clone(),
        schema: schema.to_owned(),
        name: name.to_owned(),
        columns: (0..columns).map(may).collect(),
        whole: false,
    }))
}

/// Makes the guard of what OUTPUT shows of an object, which was not asked for SELECT: `places` tells of each
/// column shown which one of the object it is, if any. `None` where all may be read.
pub(crate) fn output_guard(
    binder: &Binder<'_>,
    (database_id, id, schema_id): (i16, i32, i32),
    (schema, name): (&str, &str),
    places: impl Iterator<Item = Option<usize>>,
) -> Option<Arc<Guard>> {
    let rights = binder.rights?;
    let database = binder.catalog.database_by_id(database_id)?;
    let object = Securable { id, schema_id, schema, name };
    let may = |place: usize| {
        let column_id = i32::try_from(place + 1).unwrap_or(i32::MAX);
        rights.has_column(database, &object, column_id, "SELECT")
    };
    let columns: Vec<(bool, bool)> = places.map(|place| (place.is_some_and(may), true)).collect();
    let whole = !rights.has(database, &object, "SELECT")
        && !rights.has_some_column(database, &object, "SELECT");
    let all = columns.iter().all(|(reads, _)| *reads);
    (whole || !all).then(|| {
        Arc::new(Guard {
            database: database.name.clone(),
            schema: schema.to_owned(),
            name: name.to_owned(),
            columns,
            whole,
        })
    })
}

/// Tells whether a login has a permission on a column of an object.
pub(crate) fn has_on_column(
    rights: &Rights,
    database: &Database,
    (id, schema_id): (i32, i32),
    column_id: i32,
    permission: &str,
) -> bool {
    let object = Securable { id, schema_id, schema: "", name: "" };
    rights.all || rights.has_column(database, &object, column_id, permission)
}

/// Tells whether a login has a permission on an object.
pub(crate) fn has_on_object(
    rights: &Rights,
    database: &Database,
    (id, schema_id): (i32, i32),
    permission: &str,
) -> bool {
    rights.all
        || rights.has(database, &Securable { id, schema_id, schema: "", name: "" }, permission)
}

/// Checks a permission on an object of a database.
///
/// # Errors
/// 229.
pub(crate) fn check_object(
    rights: &Rights,
    database: &Database,
    (id, schema_id): (i32, i32),
    (schema, name): (&str, &str),
    permission: &str,
) -> Result<()> {
    rights.check(database, &Securable { id, schema_id, schema, name }, permission)
}

/// Checks that foreign keys may be made to columns of a table: who changes definitions may, or owns the
/// table's schema.
///
/// # Errors
/// 229, or 230 where some columns may be referred to.
pub(crate) fn check_references(
    rights: &Rights,
    database: &Database,
    table: &TableDef,
    columns: &[u16],
) -> Result<()> {
    let ids = rights.principals(database);
    let owner = database.schema(&table.schema).map_or(DBO, |schema| schema.owner);
    if rights.all || ids.contains(&DB_DDL_ADMIN) || ids.contains(&owner) {
        return Ok(());
    }
    let (schema, name) = (table.schema.as_str(), table.name.as_str());
    let object = Securable { id: table.id, schema_id: table.schema_id, schema, name };
    rights.check(database, &object, "REFERENCES")?;
    for column in columns {
        let column_id = i32::from(*column) + 1;
        if !rights.has_column(database, &object, column_id, "REFERENCES") {
            let column = &table.columns[usize::from(*column)].name;
            let (database, what) = (&database.name, "REFERENCES");
            return Err(Msg::ColumnPermissionDenied(what, column, name, database, schema).into());
        }
    }
    Ok(())
}

/// Checks that a system view may be read.
///
/// # Errors
/// 300, which 297 follows.
pub(crate) fn require_view(binder: &Binder<'_>, view: &SystemView) -> Result<()> {
    binder.rights.map_or(Ok(()), |rights| rights.check_view(view))
}

/// Checks a permission on what a name has been resolved to.
///
/// # Errors
/// 229.
pub(crate) fn require(
    binder: &Binder<'_>,
    resolved: &Resolved<'_>,
    permission: &str,
) -> Result<()> {
    let Some(rights) = binder.rights else { return Ok(()) };
    match resolved {
        Resolved::Table(table) => {
            let Some(database) = binder.catalog.database_by_id(table.database_id) else {
                return Ok(());
            };
            let object = Securable {
                id: table.id,
                schema_id: table.schema_id,
                schema: &table.schema,
                name: &table.name,
            };
            // Temporary tables are the session's own.
            if table.name.starts_with('#') {
                Ok(())
            } else {
                rights.check(database, &object, permission)
            }
        }
        Resolved::View(view, _) => require_module(binder, view, permission),
        Resolved::System(..) => Ok(()),
    }
}

/// Checks a permission on a view or function.
///
/// # Errors
/// 229.
pub(crate) fn require_module(
    binder: &Binder<'_>,
    module: &crate::catalog::ModuleDef,
    permission: &str,
) -> Result<()> {
    let Some(rights) = binder.rights else { return Ok(()) };
    let Some(database) = binder.catalog.database_by_id(module.database_id) else { return Ok(()) };
    let (schema, name) = (module.schema.as_str(), module.name.as_str());
    rights.check(
        database,
        &Securable { id: module.id, schema_id: module.schema_id, schema, name },
        permission,
    )
}

/// Checks that values of a sequence of a database may be taken: UPDATE.
///
/// # Errors
/// 229.
pub(crate) fn require_sequence(
    binder: &Binder<'_>,
    database: &str,
    sequence: &SequenceDef,
) -> Result<()> {
    let (Some(rights), Some(database)) = (binder.rights, binder.catalog.database(database)) else {
        return Ok(());
    };
    let (schema, name) = (sequence.schema.as_str(), sequence.name.as_str());
    let schema_id = database.schema(schema).map_or(DBO, |schema| schema.id);
    rights.check(database, &Securable { id: sequence.id, schema_id, schema, name }, "UPDATE")
}

/// Checks permissions on the target of a data-changing statement; `from` is where its alias may be.
///
/// # Errors
/// 229; 46519 for an external table, which nobody changes.
pub(crate) fn require_target(
    binder: &mut Binder<'_>,
    target: &Target,
    from: &[TableRef],
    permissions: &[&str],
) -> Result<()> {
    let TargetKind::Name(name) = &target.kind else { return Ok(()) };
    let name = name.as_simple().and_then(|alias| named(from, alias)).unwrap_or(name);
    // A name that does not resolve is the binder's to report.
    let Ok(resolved) = resolve_table(binder, name) else { return Ok(()) };
    if let Resolved::Table(table) = &resolved
        && table.external.is_some()
    {
        return Err(Error::from(Msg::ExternalDml).with_state(16));
    }
    permissions.iter().try_for_each(|permission| require(binder, &resolved, permission))
}

/// Finds the table that an alias of FROM stands for.
pub(crate) fn named<'f>(from: &'f [TableRef], alias: &str) -> Option<&'f ObjectName> {
    from.iter().find_map(|table| match &table.kind {
        TableRefKind::Table(source) => {
            let is_it = source.alias.as_deref().is_some_and(|a| Name::same(a, alias));
            is_it.then_some(&source.name)
        }
        TableRefKind::Joined { first, joins } => named(std::slice::from_ref(first), alias)
            .or_else(|| joins.iter().find_map(|j| named(std::slice::from_ref(&j.right), alias))),
        _ => None,
    })
}
