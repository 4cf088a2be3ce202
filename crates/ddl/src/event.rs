//! Maps a definition to the event that DDL triggers fire for: its name and object.
//!
//! Computed before the definition runs, while the catalog still shows whether the object exists:
//! CREATE OR ALTER of an existing object is an ALTER event, and DROP .. IF EXISTS of a missing one
//! is no event. Temporary objects raise no events.

use tsql::ast::{
    self, CreateMode, DropKind, ObjectName, PermissionAction, PrincipalAction, PrincipalKind,
    QueryBody, StatementKind, TriggerTarget,
};

use ::catalog::name::Name;
use ::catalog::{DBO_SCHEMA, Database, DdlEvent};
use ::session::SessionState;

/// An event that DDL triggers may fire for.
#[derive(Clone, Debug)]
pub struct Occurrence {
    /// Its name and id, from the list of DDL events.
    pub event: &'static DdlEvent,
    /// The database of the event; `None` for an event of the server.
    pub database: Option<String>,
    /// The object's schema, if it is in one.
    pub schema: Option<String>,
    /// Name of the created, altered or dropped object.
    pub object: String,
    /// Its type, as EVENTDATA() names it.
    pub kind: &'static str,
    /// Name and type of the object that it belongs to, such as an index's table.
    pub target: Option<(String, &'static str)>,
    /// For RENAME: the new name, and the arguments of sp_rename.
    pub renamed: Option<(String, Vec<String>)>,
}

/// Returns the events that a definition will raise; several for a DROP of several objects.
pub fn occurrences(kind: &StatementKind, session: &SessionState) -> Vec<Occurrence> {
    let finder = Finder { session };
    match kind {
        StatementKind::Drop(drop) => finder.dropped(drop),
        StatementKind::DropIndex(drop) => {
            let indexes = drop.indexes.iter();
            indexes.filter_map(|(i, table, _)| finder.of_index("DROP_INDEX", i, table)).collect()
        }
        _ => finder.of_one(kind).into_iter().collect(),
    }
}

/// Returns the event RENAME of sp_rename: the renamed object and its type, what it belongs to, its
/// new name, and the procedure's arguments.
pub fn renaming(
    (schema, object, kind): (&str, &str, &'static str),
    target: Option<(String, &'static str)>,
    (to, given): (&str, Vec<String>),
    session: &SessionState,
) -> Option<Occurrence> {
    Some(Occurrence {
        event: DdlEvent::find("RENAME")?,
        database: Some(session.identity.database.to_string()),
        schema: Some(schema.to_owned()),
        object: object.to_owned(),
        kind,
        target,
        renamed: Some((to.to_owned(), given)),
    })
}

struct Finder<'s> {
    session: &'s SessionState,
}

impl Finder<'_> {
    fn of_one(&self, kind: &StatementKind) -> Option<Occurrence> {
        use StatementKind as S;
        match kind {
            S::CreateTable(create) => self.of_object("CREATE_TABLE", &create.name, "TABLE"),
            S::Select(select) => {
                let QueryBody::Select(spec) = &select.query.body else { return None };
                self.of_object("CREATE_TABLE", &spec.into.as_ref()?.table, "TABLE")
            }
            S::AlterTable(alter) => self.of_object("ALTER_TABLE", &alter.name, "TABLE"),
            S::CreateView(c) => {
                self.of_module(["CREATE_VIEW", "ALTER_VIEW"], c.mode, &c.name, "VIEW")
            }
            S::CreateProcedure(c) => {
                let events = ["CREATE_PROCEDURE", "ALTER_PROCEDURE"];
                self.of_module(events, c.mode, &c.name, "PROCEDURE")
            }
            S::CreateFunction(c) => {
                self.of_module(["CREATE_FUNCTION", "ALTER_FUNCTION"], c.mode, &c.name, "FUNCTION")
            }
            S::CreateSequence(c) => {
                self.of_module(["CREATE_SEQUENCE", "ALTER_SEQUENCE"], c.mode, &c.name, "SEQUENCE")
            }
            S::CreateTrigger(create) => self.of_trigger(create),
            S::CreateIndex(c) => self.of_index("CREATE_INDEX", &c.index.name, &c.table),
            S::AlterIndex(a) => self.of_index("ALTER_INDEX", a.index.as_ref()?, &a.table),
            S::CreateStatistics(c) => {
                self.on_table("CREATE_STATISTICS", (&c.name, "STATISTICS"), &c.table)
            }
            S::UpdateStatistics(u) => {
                let name = u.names.first().unwrap_or(&u.table.object);
                self.on_table("UPDATE_STATISTICS", (name, "STATISTICS"), &u.table)
            }
            S::Partition(statement) => {
                use ast::PartitionStatement as P;
                let (event, kind) = match &**statement {
                    P::CreateFunction { .. } => ("CREATE_PARTITION_FUNCTION", "PARTITION FUNCTION"),
                    P::AlterFunction { .. } => ("ALTER_PARTITION_FUNCTION", "PARTITION FUNCTION"),
                    P::CreateScheme { .. } => ("CREATE_PARTITION_SCHEME", "PARTITION SCHEME"),
                    P::AlterScheme { .. } => ("ALTER_PARTITION_SCHEME", "PARTITION SCHEME"),
                };
                self.here(event, statement.name(), kind)
            }
            S::CreateSynonym(c) => self.of_object("CREATE_SYNONYM", &c.name, "SYNONYM"),
            S::CreateType(c) => self.of_object("CREATE_TYPE", &c.name, "TYPE"),
            S::CreateSchema(c) => {
                self.here("CREATE_SCHEMA", c.name.as_ref().or(c.owner.as_ref())?, "SCHEMA")
            }
            S::AlterSchema(a) => self.here("ALTER_SCHEMA", &a.schema, "SCHEMA"),
            S::Principal(principal) => self.of_principal(principal),
            S::Permission(permission) => self.of_permission(permission),
            S::AlterAuthorization(a) => {
                let name = a.securable.name.object.as_str();
                self.here("ALTER_AUTHORIZATION_DATABASE", name, "OBJECT")
            }
            S::CreateDatabase(c) => self.of_server("CREATE_DATABASE", &c.name, "DATABASE"),
            S::AlterDatabase(a) => {
                let name = a.name.as_deref().unwrap_or(&self.session.identity.database);
                self.of_server("ALTER_DATABASE", name, "DATABASE")
            }
            _ => None,
        }
    }

    fn database(&self, name: &ObjectName) -> String {
        let named = name.database.as_deref().filter(|database| !database.is_empty());
        named.unwrap_or(&self.session.identity.database).to_owned()
    }

    fn find(&self, name: &ObjectName) -> Option<&Database> {
        self.session.catalog.database(&self.database(name)).map(AsRef::as_ref)
    }

    /// Returns the schema of an object, or of the one that an event creates.
    fn schema_of<'n>(&self, event: &str, database: &'n Database, name: &'n ObjectName) -> &'n str {
        // An index or statistics are created on a table that is there.
        let is_part = event.ends_with("INDEX") || event.ends_with("STATISTICS");
        let written = name.schema.as_deref().filter(|schema| !schema.is_empty());
        if event.starts_with("CREATE_") && !is_part {
            return written
                .unwrap_or_else(|| self.session.identity.rights.default_schema(database));
        }
        match event.ends_with("_TYPE") {
            true => self.session.schema_of_type(database, name),
            false => self.session.schema_of(database, name),
        }
    }

    /// Returns the event of an object that belongs to a schema.
    fn of_object(&self, event: &str, name: &ObjectName, kind: &'static str) -> Option<Occurrence> {
        if name.is_temporary() {
            return None;
        }
        let schema = self.find(name).map(|database| self.schema_of(event, database, name));
        Some(Occurrence {
            event: DdlEvent::find(event)?,
            database: Some(self.database(name)),
            schema: Some(schema.unwrap_or(DBO_SCHEMA).to_owned()),
            object: name.object.to_string(),
            kind,
            target: None,
            renamed: None,
        })
    }

    /// Returns the event of a module: CREATE or ALTER, for CREATE OR ALTER by whether it exists.
    fn of_module(
        &self,
        [create, alter]: [&str; 2],
        mode: CreateMode,
        name: &ObjectName,
        kind: &'static str,
    ) -> Option<Occurrence> {
        let is_there = || {
            let found =
                |d: &Database| d.object(self.session.schema_of(d, name), &name.object).is_some();
            self.find(name).is_some_and(found)
        };
        let alters = match mode {
            CreateMode::Create => false,
            CreateMode::Alter => true,
            CreateMode::CreateOrAlter => is_there(),
        };
        self.of_object(if alters { alter } else { create }, name, kind)
    }

    fn of_trigger(&self, create: &ast::CreateTrigger) -> Option<Occurrence> {
        let events = ["CREATE_TRIGGER", "ALTER_TRIGGER"];
        let TriggerTarget::Table(on) = &create.target else {
            let alters = create.mode == CreateMode::Alter;
            let target = match create.target {
                TriggerTarget::AllServer => {
                    (self.session.instance.config.server_name.clone(), "SERVER")
                }
                TriggerTarget::Database | TriggerTarget::Table(_) => {
                    (self.session.identity.database.to_string(), "DATABASE")
                }
            };
            let event = events[usize::from(alters)];
            let found = self.here(event, &create.name.object, "TRIGGER")?;
            return Some(Occurrence { target: Some(target), ..found });
        };
        let mut name = create.name.clone();
        if name.schema.is_none() {
            // A trigger is in the schema of its table.
            let schema = self.find(on).map_or(DBO_SCHEMA, |d| self.session.schema_of(d, on));
            name.schema = Some(ast::Ident::new(schema, ast::Quoting::Brackets, on.span));
        }
        let found = self.of_module(events, create.mode, &name, "TRIGGER")?;
        Some(Occurrence { target: Some((on.object.to_string(), "TABLE")), ..found })
    }

    fn of_index(&self, event: &str, index: &str, table: &ObjectName) -> Option<Occurrence> {
        self.on_table(event, (index, "INDEX"), table)
    }

    /// Returns the event of an object that belongs to a table, and so to the table's schema.
    fn on_table(
        &self,
        event: &str,
        (name, kind): (&str, &'static str),
        table: &ObjectName,
    ) -> Option<Occurrence> {
        let found = self.of_object(event, table, kind)?;
        let target = Some((table.object.to_string(), "TABLE"));
        Some(Occurrence { object: name.to_owned(), target, ..found })
    }

    /// Returns the event of an object that belongs to the database and to no schema.
    fn here(&self, event: &str, name: &str, kind: &'static str) -> Option<Occurrence> {
        let database = Some(self.session.identity.database.to_string());
        let event = DdlEvent::find(event)?;
        let object = name.to_owned();
        Some(Occurrence {
            event,
            database,
            schema: None,
            object,
            kind,
            target: None,
            renamed: None,
        })
    }

    fn of_server(&self, event: &str, name: &str, kind: &'static str) -> Option<Occurrence> {
        let event = DdlEvent::find(event)?;
        let object = name.to_owned();
        Some(Occurrence {
            event,
            database: None,
            schema: None,
            object,
            kind,
            target: None,
            renamed: None,
        })
    }

    fn of_principal(&self, principal: &ast::PrincipalStatement) -> Option<Occurrence> {
        use PrincipalAction as A;
        let name = principal.name.as_str();
        match (principal.kind, &principal.action) {
            (PrincipalKind::User, A::CreateUser { .. }) => {
                self.here("CREATE_USER", name, "SQL USER")
            }
            (PrincipalKind::User, _) => self.here("ALTER_USER", name, "SQL USER"),
            (PrincipalKind::Role, A::CreateRole { .. }) => self.here("CREATE_ROLE", name, "ROLE"),
            (PrincipalKind::Role, A::AddMember(member)) => self.member(true, member, name),
            (PrincipalKind::Role, A::DropMember(member)) => self.member(false, member, name),
            (PrincipalKind::Role, _) => self.here("ALTER_ROLE", name, "ROLE"),
            (PrincipalKind::Login, A::CreateLogin { .. }) => {
                self.of_server("CREATE_LOGIN", name, "LOGIN")
            }
            (PrincipalKind::Login, _) => self.of_server("ALTER_LOGIN", name, "LOGIN"),
            (PrincipalKind::ServerRole | PrincipalKind::ApplicationRole, _) => None,
        }
    }

    fn member(&self, adds: bool, member: &str, role: &str) -> Option<Occurrence> {
        let event = if adds { "ADD_ROLE_MEMBER" } else { "DROP_ROLE_MEMBER" };
        let found = self.here(event, member, "SQL USER")?;
        Some(Occurrence { target: Some((role.to_owned(), "ROLE")), ..found })
    }

    fn of_permission(&self, permission: &ast::Permission) -> Option<Occurrence> {
        let of_server = super::permission::is_of_server(permission);
        let event = match (permission.action, of_server) {
            (PermissionAction::Grant, true) => "GRANT_SERVER",
            (PermissionAction::Deny, true) => "DENY_SERVER",
            (PermissionAction::Revoke, true) => "REVOKE_SERVER",
            (PermissionAction::Grant, false) => "GRANT_DATABASE",
            (PermissionAction::Deny, false) => "DENY_DATABASE",
            (PermissionAction::Revoke, false) => "REVOKE_DATABASE",
        };
        if of_server {
            return self.of_server(event, &self.session.instance.config.server_name, "SERVER");
        }
        match &permission.securable {
            Some(on) => self.of_object(event, &on.name, "OBJECT"),
            None => self.here(event, &self.session.identity.database, "DATABASE"),
        }
    }

    fn dropped(&self, drop: &ast::Drop) -> Vec<Occurrence> {
        drop.names.iter().filter_map(|name| self.dropped_one(drop, name)).collect()
    }

    fn dropped_one(&self, drop: &ast::Drop, name: &ObjectName) -> Option<Occurrence> {
        let key = Name::new(&name.object);
        if let Some(target) = &drop.trigger_target {
            let on_server = *target == TriggerTarget::AllServer;
            let triggers = if on_server {
                &self.session.catalog.triggers
            } else {
                &self.session.catalog.database(&self.session.identity.database)?.triggers
            };
            triggers.get(&key)?;
            return self.here("DROP_TRIGGER", &name.object, "TRIGGER");
        }
        let database = self.find(name)?;
        let schema = self.session.schema_of(database, name);
        let event = drop_event(drop.kind)?;
        match drop.kind {
            DropKind::Table
            | DropKind::View
            | DropKind::Procedure
            | DropKind::Function
            | DropKind::Trigger
            | DropKind::Synonym
            | DropKind::Sequence => {
                let object = database.object(schema, &name.object)?;
                let kind = object_type(drop.kind);
                (object.kind() == super::drop::word(drop.kind)).then_some(())?;
                self.of_object(event, name, kind)
            }
            DropKind::Type => {
                database.user_type(self.session.schema_of_type(database, name), &name.object)?;
                self.of_object(event, name, "TYPE")
            }
            DropKind::Schema => {
                database.schema(&name.object)?;
                self.here(event, &name.object, "SCHEMA")
            }
            DropKind::User | DropKind::Role => {
                database.principals.get(&key)?;
                self.here(event, &name.object, object_type(drop.kind))
            }
            DropKind::PartitionFunction => {
                database.partition_functions.get(&key)?;
                self.here(event, &name.object, object_type(drop.kind))
            }
            DropKind::PartitionScheme => {
                database.partition_schemes.get(&key)?;
                self.here(event, &name.object, object_type(drop.kind))
            }
            DropKind::Statistics => {
                let mut table = ObjectName::simple(name.schema.clone()?);
                table.schema.clone_from(&name.database);
                self.on_table(event, (&name.object, "STATISTICS"), &table)
            }
            DropKind::Login => {
                self.session.catalog.logins.get(&key)?;
                self.of_server(event, &name.object, "LOGIN")
            }
            DropKind::Database => {
                self.session.catalog.database(&name.object)?;
                self.of_server(event, &name.object, "DATABASE")
            }
            // SQL Server has no DDL events for these kinds here.
            DropKind::Default
            | DropKind::ExternalDataSource
            | DropKind::ExternalFileFormat
            | DropKind::ExternalTable
            | DropKind::Rule
            | DropKind::ServerRole => None,
        }
    }
}

fn drop_event(kind: DropKind) -> Option<&'static str> {
    Some(match kind {
        DropKind::Database => "DROP_DATABASE",
        DropKind::Function => "DROP_FUNCTION",
        DropKind::Login => "DROP_LOGIN",
        DropKind::PartitionFunction => "DROP_PARTITION_FUNCTION",
        DropKind::PartitionScheme => "DROP_PARTITION_SCHEME",
        DropKind::Procedure => "DROP_PROCEDURE",
        DropKind::Role => "DROP_ROLE",
        DropKind::Schema => "DROP_SCHEMA",
        DropKind::Sequence => "DROP_SEQUENCE",
        DropKind::Statistics => "DROP_STATISTICS",
        DropKind::Synonym => "DROP_SYNONYM",
        DropKind::Table => "DROP_TABLE",
        DropKind::Trigger => "DROP_TRIGGER",
        DropKind::Type => "DROP_TYPE",
        DropKind::User => "DROP_USER",
        DropKind::View => "DROP_VIEW",
        DropKind::Default
        | DropKind::ExternalDataSource
        | DropKind::ExternalFileFormat
        | DropKind::ExternalTable
        | DropKind::Rule
        | DropKind::ServerRole => return None,
    })
}

fn object_type(kind: DropKind) -> &'static str {
    match kind {
        DropKind::Database => "DATABASE",
        DropKind::ExternalDataSource => "EXTERNAL DATA SOURCE",
        DropKind::ExternalFileFormat => "EXTERNAL FILE FORMAT",
        DropKind::ExternalTable => "EXTERNAL TABLE",
        DropKind::Function => "FUNCTION",
        DropKind::Login => "LOGIN",
        DropKind::PartitionFunction => "PARTITION FUNCTION",
        DropKind::PartitionScheme => "PARTITION SCHEME",
        DropKind::Procedure => "PROCEDURE",
        DropKind::Role | DropKind::ServerRole => "ROLE",
        DropKind::Schema => "SCHEMA",
        DropKind::Sequence => "SEQUENCE",
        DropKind::Statistics => "STATISTICS",
        DropKind::Synonym => "SYNONYM",
        DropKind::Table => "TABLE",
        DropKind::Trigger => "TRIGGER",
        DropKind::Type => "TYPE",
        DropKind::User => "SQL USER",
        DropKind::View => "VIEW",
        DropKind::Default => "DEFAULT",
        DropKind::Rule => "RULE",
    }
}
