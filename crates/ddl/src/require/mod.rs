//! Permissions that definitions require: CREATE, ALTER and DROP of everything, GRANT, and other
//! changes of the catalog.
//!
//! The session needs the permission even inside a module of another owner: ownership chains cover
//! data only. A missing object is left to the definition itself to report. If the object exists,
//! the error is the one that SQL Server has for the missing permission; it is often the same as for
//! a missing object.

use std::sync::Arc;

use tsql::ast::{self, CreateMode, DropKind, ObjectName, StatementKind, TriggerTarget};
use types::{Error, Msg, Result};

use crate::{drop_refused, external};
use ::catalog::name::Name;
use ::catalog::security::{Rights, Securable};
use ::catalog::{Catalog, Database, Object, Schema};
use ::executor::Cx;

pub mod grant;
pub mod load;
mod principal;

/// Permissions that statements on DDL triggers and on scoped configurations require.
pub(crate) const DDL_TRIGGERS: &str = "ALTER ANY DATABASE DDL TRIGGER";
const CONFIGURATIONS: &str = "ALTER ANY DATABASE SCOPED CONFIGURATION";

/// Checks that the session may run a definition. Temporary objects require no permission.
///
/// # Errors
/// As docs/permissions.md lists them.
pub fn check(statement: &ast::Statement, cx: &Cx<'_>) -> Result<()> {
    let session = &cx.session;
    if session.identity.rights.is_all() || is_temporary(&statement.kind) {
        return Ok(());
    }
    let Some(database) = session.catalog.database(&session.identity.database) else {
        return Ok(());
    };
    let (rights, catalog) = (&session.identity.rights, &session.catalog);
    Asker { rights, catalog, database }.statement(&statement.kind, cx)
}

/// Returns the permission error whose message has no object name.
pub fn not_permitted() -> Error {
    Msg::NoPermissionForAction.into()
}

/// Returns true if a definition is about temporary tables or procedures only.
fn is_temporary(kind: &StatementKind) -> bool {
    match kind {
        StatementKind::CreateTable(create) => create.name.is_temporary(),
        StatementKind::AlterTable(alter) => alter.name.is_temporary(),
        StatementKind::Truncate(truncate) => truncate.table.is_temporary(),
        StatementKind::CreateIndex(create) => create.table.is_temporary(),
        StatementKind::AlterIndex(alter) => alter.table.is_temporary(),
        StatementKind::DropIndex(drop) => {
            drop.indexes.iter().all(|(_, table, _)| table.is_temporary())
        }
        StatementKind::CreateStatistics(create) => create.table.is_temporary(),
        StatementKind::UpdateStatistics(update) => update.table.is_temporary(),
        StatementKind::CreateProcedure(create) => create.name.is_temporary(),
        StatementKind::Drop(drop) => drop.names.iter().all(ObjectName::is_temporary),
        _ => false,
    }
}

/// The session's permissions, and the catalog and database that a statement refers to.
struct Asker<'a> {
    rights: &'a Rights,
    catalog: &'a Arc<Catalog>,
    database: &'a Arc<Database>,
}

impl<'a> Asker<'a> {
    fn statement(&self, kind: &StatementKind, cx: &Cx<'_>) -> Result<()> {
        match kind {
            StatementKind::CreateTable(create) => self.creates(&create.name, "CREATE TABLE"),
            StatementKind::CreateSynonym(create) => self.creates(&create.name, "CREATE SYNONYM"),
            StatementKind::CreateType(create) => self.creates(&create.name, "CREATE TYPE"),
            StatementKind::CreateProcedure(create) => {
                self.module(create.mode, &create.name, ("procedure", "CREATE PROCEDURE"))
            }
            StatementKind::CreateFunction(create) => {
                self.module(create.mode, &create.name, ("function", "CREATE FUNCTION"))
            }
            StatementKind::CreateView(create) => {
                self.module(create.mode, &create.name, ("view", "CREATE VIEW"))
            }
            StatementKind::CreateSequence(create) => self.sequence(create),
            StatementKind::CreateTrigger(create) => self.trigger(&create.target, |table| {
                Error::from(Msg::InvalidForOperation(table)).with_state(4)
            }),
            StatementKind::EnableTrigger(enable) => {
                self.trigger(&enable.target, |table| Msg::ObjectNotFound(table).into())
            }
            StatementKind::AlterTable(alter) => {
                self.alters(&alter.name, 13)?;
                match &alter.action {
                    ast::AlterTableAction::Switch { target, .. } => self.alters(target, 29),
                    _ => Ok(()),
                }
            }
            StatementKind::Truncate(truncate) => self.alters(&truncate.table, 7),
            StatementKind::CreateIndex(create) => self.alters(&create.table, 12),
            StatementKind::AlterIndex(alter) => self.alters(&alter.table, 9),
            StatementKind::CreateStatistics(create) => self.alters(&create.table, 12),
            StatementKind::UpdateStatistics(update) => self.alters(&update.table, 12),
            StatementKind::DropIndex(drop) => self.drops_indexes(drop),
            StatementKind::Drop(drop) => self.drop(drop, cx),
            StatementKind::CreateSchema(create) => self.creates_schema(create),
            StatementKind::AlterSchema(alter) => self.transfers(alter),
            StatementKind::AlterAuthorization(alter) => self.authorizes(alter),
            StatementKind::CreateDatabase(_) => self.creates_database(),
            StatementKind::AlterDatabase(alter) => self.alters_database(alter),
            StatementKind::Principal(principal) => self.principal(principal),
            StatementKind::Permission(permission) => self.grants(permission),
            StatementKind::CreateExternal(create) => {
                let kind = match create.kind {
                    ast::ExternalKind::DataSource => DropKind::ExternalDataSource,
                    ast::ExternalKind::FileFormat => DropKind::ExternalFileFormat,
                };
                let reads_files = self.rights.reads_files(self.catalog);
                external::check_permission(kind, self.rights, self.database, reads_files)
            }
            StatementKind::CreateExternalTable(create) => {
                ::binder::external::check_table_permission(
                    self.rights,
                    self.catalog,
                    self.database,
                )?;
                self.in_schema(&create.name)
            }
            StatementKind::Partition(_) => self.dataspace(),
            StatementKind::CreateEventSession(_)
            | StatementKind::AlterEventSession(_)
            | StatementKind::DropEventSession(_) => {
                self.of_server("ALTER ANY EVENT SESSION", not_permitted)
            }
            // Not definitions: [`crate::run`] refuses them.
            _ => Ok(()),
        }
    }

    /// Returns the database and schema of a name, if they exist.
    fn place(&self, name: &ObjectName) -> Option<(&'a Arc<Database>, &'a Schema)> {
        let named = name.database.as_deref().filter(|part| !part.is_empty());
        let database = match named {
            Some(named) => self.catalog.database(named)?,
            None => self.database,
        };
        let written = name.schema.as_deref().filter(|part| !part.is_empty());
        let schema = written.unwrap_or_else(|| self.rights.default_schema(database));
        Some((database, database.schema(schema)?))
    }

    /// Finds an existing object.
    fn find(&self, name: &ObjectName) -> Option<(&'a Arc<Database>, &'a Object)> {
        let named = name.database.as_deref().filter(|part| !part.is_empty());
        let database = match named {
            Some(named) => self.catalog.database(named)?,
            None => self.database,
        };
        let first = self.rights.default_schema(database);
        let schema = database.schema_of_object(name.schema.as_deref(), first, &name.object);
        Some((database, database.object(schema, &name.object)?))
    }

    /// Checks CREATE: the permission in the database, and ALTER on the schema.
    fn creates(&self, name: &ObjectName, permission: &str) -> Result<()> {
        let Some((database, _)) = self.place(name) else {
            return self.rights.check_database(self.database, permission);
        };
        self.rights.check_database(database, permission)?;
        self.in_schema(name)
    }

    fn in_schema(&self, name: &ObjectName) -> Result<()> {
        match self.place(name) {
            Some((database, schema)) if !self.rights.has_on_schema(database, schema, "ALTER") => {
                Err(Msg::SchemaNotFound(&schema.name).into())
            }
            _ => Ok(()),
        }
    }

    /// Checks ALTER on a module that exists.
    fn module(
        &self,
        mode: CreateMode,
        name: &ObjectName,
        (word, permission): (&str, &str),
    ) -> Result<()> {
        match (mode, self.find(name)) {
            (CreateMode::Create, _) | (CreateMode::CreateOrAlter, None) => {
                self.creates(name, permission)
            }
            (CreateMode::Alter, None) => Ok(()),
            (_, Some((database, object))) if self.rights.alters(database, object) => Ok(()),
            (_, Some(_)) => Err(Msg::NoPermissionOn(word, &name.object).into()),
        }
    }

    /// Checks CREATE SEQUENCE, which can be granted on a schema too.
    fn sequence(&self, create: &ast::CreateSequence) -> Result<()> {
        let name = &create.name;
        if create.mode != CreateMode::Create {
            return self.module(create.mode, name, ("sequence object", "CREATE SEQUENCE"));
        }
        let may_in = |(database, schema): (&Arc<Database>, &Schema)| {
            ["CREATE SEQUENCE", "ALTER"]
                .iter()
                .any(|permission| self.rights.has_on_schema(database, schema, permission))
        };
        match self.place(name) {
            Some(place) if may_in(place) => Ok(()),
            _ => self.creates(name, "CREATE SEQUENCE"),
        }
    }

    /// Checks ALTER on the table of a trigger.
    fn trigger(&self, target: &TriggerTarget, refused: impl FnOnce(&str) -> Error) -> Result<()> {
        match target {
            TriggerTarget::Table(table) => match self.find(table) {
                Some((database, object)) if !self.rights.alters(database, object) => {
                    Err(refused(&table.to_string()))
                }
                _ => Ok(()),
            },
            TriggerTarget::Database => self.of_database(DDL_TRIGGERS),
            // Requires CONTROL SERVER; a login that has it does not get here.
            TriggerTarget::AllServer => Err(not_permitted()),
        }
    }

    fn of_database(&self, permission: &str) -> Result<()> {
        match self.rights.has_of_database(self.database, permission) {
            true => Ok(()),
            false => Err(not_permitted()),
        }
    }

    fn of_server(&self, permission: &str, refused: impl FnOnce() -> Error) -> Result<()> {
        match self.rights.has_of_server(self.catalog, permission) {
            true => Ok(()),
            false => Err(refused()),
        }
    }

    /// Checks ALTER ANY DATASPACE, for partition functions and schemes.
    fn dataspace(&self) -> Result<()> {
        match self.rights.has_of_database(self.database, "ALTER ANY DATASPACE") {
            true => Ok(()),
            false => Err(Error::from(Msg::DataspaceDenied).with_state(2)),
        }
    }

    /// Checks ALTER on a table; `state` is that of the error.
    fn alters(&self, name: &ObjectName, state: u8) -> Result<()> {
        match self.find(name) {
            Some((database, object)) if !self.rights.alters(database, object) => {
                Err(Error::from(Msg::ObjectNotFound(&name.to_string())).with_state(state))
            }
            _ => Ok(()),
        }
    }

    fn drops_indexes(&self, drop: &ast::DropIndex) -> Result<()> {
        drop.indexes.iter().try_for_each(|(index, table, _)| match self.find(table) {
            Some((database, object)) if !self.rights.alters(database, object) => {
                let name = format!("{table}.{index}");
                Err(Msg::CannotDoDoesNotExist("drop", "index", &name).into())
            }
            _ => Ok(()),
        })
    }

    fn drop(&self, drop: &ast::Drop, cx: &Cx<'_>) -> Result<()> {
        if let Some(target) = &drop.trigger_target {
            return self.trigger(target, |table| Msg::ObjectNotFound(table).into());
        }
        let mut names = drop.names.iter().filter(|name| !name.is_temporary());
        names.try_for_each(|name| match self.may_drop(drop.kind, name, cx)? {
            true => Ok(()),
            false => Err(drop_refused(drop.kind, name)),
        })
    }

    fn may_drop(&self, kind: DropKind, name: &ObjectName, cx: &Cx<'_>) -> Result<bool> {
        let (rights, database) = (self.rights, self.database);
        Ok(match kind {
            DropKind::Table
            | DropKind::Procedure
            | DropKind::View
            | DropKind::Function
            | DropKind::Synonym
            | DropKind::Sequence
            | DropKind::ExternalTable => {
                self.find(name).is_none_or(|(database, object)| rights.drops(database, object))
            }
            DropKind::Trigger => match self.find(name) {
                Some((database, Object::Trigger(trigger))) => database
                    .object_by_id(trigger.parent_id)
                    .is_none_or(|parent| rights.alters(database, parent)),
                _ => true,
            },
            DropKind::Type => self
                .place(name)
                .is_none_or(|(database, schema)| rights.has_on_schema(database, schema, "ALTER")),
            DropKind::Statistics => {
                let table = statistics_table(name);
                self.find(&table).is_none_or(|(database, table)| rights.alters(database, table))
            }
            DropKind::ExternalDataSource | DropKind::ExternalFileFormat => {
                external::check_permission(kind, rights, database, true)?;
                true
            }
            DropKind::PartitionFunction | DropKind::PartitionScheme => {
                self.dataspace()?;
                true
            }
            DropKind::Schema => database.schema(&name.object).is_none_or(|schema| {
                rights.has_on_schema(database, schema, "CONTROL")
                    || rights.has_of_database(database, "ALTER ANY SCHEMA")
            }),
            DropKind::Database => self.catalog.database(&name.object).is_none_or(|found| {
                rights.has_of_database(found, "CONTROL")
                    || rights.has_of_server(self.catalog, "ALTER ANY DATABASE")
            }),
            DropKind::User => rights.has_of_database(database, "ALTER ANY USER"),
            DropKind::Role => {
                let role = database.principals.get(&Name::new(&name.object));
                role.is_none_or(|role| rights.alters_role(database, role))
            }
            DropKind::Login => {
                let login = cx.session.catalog.logins.get(&Name::new(&name.object));
                login.is_none_or(|login| rights.alters_login(self.catalog, login))
                    && (login.is_some() || rights.has_of_server(self.catalog, "ALTER ANY LOGIN"))
            }
            // These kinds do not exist here: the definition refuses them.
            DropKind::Default | DropKind::Rule | DropKind::ServerRole => true,
        })
    }

    fn creates_schema(&self, create: &ast::CreateSchema) -> Result<()> {
        self.rights.check_database(self.database, "CREATE SCHEMA")?;
        match &create.owner {
            Some(owner) => self.gives_to(owner),
            None => Ok(()),
        }
    }

    /// Checks that the session may make a principal an owner: IMPERSONATE on it, or membership.
    fn gives_to(&self, owner: &str) -> Result<()> {
        match self.database.principals.get(&Name::new(owner)) {
            Some(found) if !self.rights.may_give_to(self.database, found) => {
                Err(Msg::PrincipalNotFound("find", "principal", owner).into())
            }
            _ => Ok(()),
        }
    }

    /// Checks ALTER SCHEMA .. TRANSFER: ALTER on the schema and CONTROL on the object.
    fn transfers(&self, alter: &ast::AlterSchema) -> Result<()> {
        let (rights, database) = (self.rights, self.database);
        if let Some(schema) = database.schema(&alter.schema)
            && !rights.has_on_schema(database, schema, "ALTER")
        {
            return Err(Msg::PrincipalNotFound("alter", "schema", &alter.schema).into());
        }
        let name = &alter.object;
        let controls = match alter.class.as_deref() {
            Some("TYPE") => self
                .of_type(name)
                .is_none_or(|(database, of)| rights.has_on_type(database, of, "CONTROL")),
            _ => self.controls(name),
        };
        let kind = if alter.class.as_deref() == Some("TYPE") { "type" } else { "object" };
        match controls {
            true => Ok(()),
            false => Err(Msg::PrincipalNotFound("find", kind, &name.object).into()),
        }
    }

    fn controls(&self, name: &ObjectName) -> bool {
        self.find(name).is_none_or(|(database, object)| {
            self.rights.has(database, &Securable::of(database, object), "CONTROL")
        })
    }

    /// Finds a type of the current database.
    fn of_type(&self, name: &ObjectName) -> Option<(&Database, &::catalog::UserType)> {
        let first = self.rights.default_schema(self.database);
        let schema = self.database.schema_of_type(name.schema.as_deref(), first, &name.object);
        self.database.user_type(schema, &name.object).map(|of| (&**self.database, &**of))
    }

    /// Checks ALTER AUTHORIZATION: TAKE OWNERSHIP, and the right to act as the new owner.
    fn authorizes(&self, alter: &ast::AlterAuthorization) -> Result<()> {
        const TAKE: &str = "TAKE OWNERSHIP";
        let (rights, database) = (self.rights, self.database);
        let name = &alter.securable.name;
        let class = alter.securable.class.as_deref().unwrap_or("OBJECT");
        let takes = match class {
            "SCHEMA" => database
                .schema(&name.object)
                .is_none_or(|schema| rights.has_on_schema(database, schema, TAKE)),
            "ROLE" => database.principals.get(&Name::new(&name.object)).is_none_or(|role| {
                rights.owns(database)
                    || rights.principals(database).contains(&role.owner)
                    || rights.is_granted_on(database, role.id, TAKE)
            }),
            "TYPE" => self
                .of_type(name)
                .is_none_or(|(database, of)| rights.has_on_type(database, of, TAKE)),
            "DATABASE" => self
                .catalog
                .database(&name.object)
                .is_none_or(|found| rights.has_of_database(found, TAKE)),
            _ => self.find(name).is_none_or(|(database, object)| {
                rights.has(database, &Securable::of(database, object), TAKE)
            }),
        };
        if !takes {
            let kind = class.to_ascii_lowercase();
            return Err(Msg::PrincipalNotFound("find", &kind, &name.object).into());
        }
        let Some(owner) = &alter.owner else { return Ok(()) };
        if class != "DATABASE" {
            return self.gives_to(owner);
        }
        match self.catalog.logins.get(&Name::new(owner)) {
            Some(login) if !rights.may_be_login(self.catalog, login) => {
                Err(Msg::PrincipalNotFound("find", "principal", owner).into())
            }
            _ => Ok(()),
        }
    }

    fn creates_database(&self) -> Result<()> {
        match self.rights.makes_databases(self.catalog) {
            true => Ok(()),
            false => Err(Msg::DatabasePermissionDenied("CREATE DATABASE", "master").into()),
        }
    }

    fn alters_database(&self, alter: &ast::AlterDatabase) -> Result<()> {
        let name = alter.name.as_deref().filter(|name| !name.eq_ignore_ascii_case("CURRENT"));
        let database = match name {
            None => Some(self.database),
            Some(name) => self.catalog.database(name),
        };
        let Some(database) = database else { return Ok(()) };
        let may = match &alter.action {
            ast::AlterDatabaseAction::ScopedConfiguration { .. } => {
                self.rights.has_of_database(database, CONFIGURATIONS)
            }
            _ => self.rights.alters_database(self.catalog, database),
        };
        match may {
            true => Ok(()),
            false => Err(Error::from(Msg::AlterDatabaseDenied(&database.name)).with_state(9)),
        }
    }
}

/// Returns the table's name of `schema.table.statistics`.
fn statistics_table(name: &ObjectName) -> ObjectName {
    let mut table = name.clone();
    if let Some(object) = table.schema.take() {
        table.object = object;
        table.schema = table.database.take();
    }
    table
}
