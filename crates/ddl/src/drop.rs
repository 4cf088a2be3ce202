//! DROP statements for all kinds of objects: tables, procedures, views, types, databases and
//! others.

use std::sync::Arc;

use tsql::ast::{self, DropKind};
use types::{Error, Msg, Result};

use crate::{cannot_drop, change_database, user_access};
use ::catalog::name::Name;
use ::catalog::{Database, Object, SYSTEM_DATABASE_LAST, TableDef};
use ::compile::refuse;
use ::executor::Cx;
use ::session::instance::SessionCounter;

pub(crate) fn run(drop: &ast::Drop, cx: &mut Cx<'_>) -> Result<()> {
    for name in &drop.names {
        let dropped = match &drop.trigger_target {
            Some(target) => super::ddl_trigger::drop(target, name, cx)?,
            None => one(drop.kind, name, cx)?,
        };
        if !dropped {
            check_kind(drop.kind, name, cx)?;
            if !drop.if_exists {
                return Err(missing(drop.kind, name));
            }
        }
        cx.session.refresh_catalog();
    }
    Ok(())
}

/// Returns the word by which messages call a kind of object.
pub(crate) fn word(kind: DropKind) -> &'static str {
    match kind {
        DropKind::Database => "database",
        DropKind::Table => "table",
        DropKind::PartitionFunction => "partition function",
        DropKind::PartitionScheme => "partition scheme",
        DropKind::Procedure => "procedure",
        DropKind::View => "view",
        DropKind::ExternalDataSource => "external data source",
        DropKind::ExternalFileFormat => "external file format",
        DropKind::ExternalTable => "external table",
        DropKind::Function => "function",
        DropKind::Trigger => "trigger",
        DropKind::Type => "type",
        DropKind::Synonym => "synonym",
        DropKind::Sequence => "sequence object",
        DropKind::Schema => "schema",
        DropKind::User => "user",
        DropKind::Role | DropKind::ServerRole => "role",
        DropKind::Login => "login",
        DropKind::Default => "default",
        DropKind::Rule => "rule",
        DropKind::Statistics => "statistics",
    }
}

/// Returns the error for an object that does not exist, or that this login may not drop.
pub fn missing(kind: DropKind, name: &ast::ObjectName) -> Error {
    let word = word(kind);
    match kind {
        DropKind::User
        | DropKind::Role
        | DropKind::Login
        | DropKind::PartitionFunction
        | DropKind::PartitionScheme
        | DropKind::Schema => Error::custom(
            15151,
            16,
            1,
            format!(
                "Cannot drop the {word} '{name}', because it does not exist or you do not have permission."
            ),
        ),
        _ => cannot_drop(word, &name.to_string()),
    }
}

/// Refuses to drop an object by the statement of another kind, with IF EXISTS too: the object exists.
///
/// # Errors
/// 3705.
fn check_kind(kind: DropKind, name: &ast::ObjectName, cx: &Cx<'_>) -> Result<()> {
    let Some(wanted) = statement_of(kind) else { return Ok(()) };
    let (database, schema) = place(name, cx);
    let found = cx.session.catalog.find_object(&database, &schema, &name.object);
    let (found, right) = match found {
        None => return Ok(()),
        Some(Object::Table(_)) => ("table", "TABLE"),
        Some(Object::View(_)) => ("view", "VIEW"),
        Some(Object::Procedure(_)) => ("procedure", "PROCEDURE"),
        Some(Object::Function(function)) if function.type_code == "FN" => ("function", "FUNCTION"),
        Some(Object::Function(_)) => ("table valued function", "FUNCTION"),
        Some(Object::Trigger(_)) => ("trigger", "TRIGGER"),
        Some(Object::Synonym(_)) => ("synonym", "SYNONYM"),
        Some(Object::Sequence(_)) => ("sequence", "SEQUENCE"),
    };
    if right == wanted {
        return Ok(());
    }
    Err(Msg::WrongDrop(wanted, &name.to_string(), found, &format!("DROP {right}")).into())
}

/// Returns the word behind DROP for the objects that share the names of a schema.
fn statement_of(kind: DropKind) -> Option<&'static str> {
    Some(match kind {
        DropKind::Table => "TABLE",
        DropKind::View => "VIEW",
        DropKind::Procedure => "PROCEDURE",
        DropKind::Function => "FUNCTION",
        DropKind::Trigger => "TRIGGER",
        DropKind::Synonym => "SYNONYM",
        DropKind::Sequence => "SEQUENCE",
        DropKind::Database
        | DropKind::PartitionFunction
        | DropKind::PartitionScheme
        | DropKind::ExternalDataSource
        | DropKind::ExternalFileFormat
        | DropKind::ExternalTable
        | DropKind::Type
        | DropKind::Schema
        | DropKind::User
        | DropKind::Role
        | DropKind::ServerRole
        | DropKind::Login
        | DropKind::Default
        | DropKind::Rule
        | DropKind::Statistics => return None,
    })
}

/// Refuses to drop an object that a module WITH SCHEMABINDING refers to.
///
/// # Errors
/// 3729 if there is such a module.
fn check_not_bound(kind: DropKind, name: &ast::ObjectName, cx: &Cx<'_>) -> Result<()> {
    let verb = match kind {
        DropKind::Table => "DROP TABLE",
        DropKind::View => "DROP VIEW",
        DropKind::Function => "DROP FUNCTION",
        _ => return Ok(()),
    };
    if name.is_temporary() {
        return Ok(());
    }
    let (database, schema) = place(name, cx);
    let Some(found) = cx.session.catalog.database(&database) else { return Ok(()) };
    if found.object(&schema, &name.object).is_none() {
        return Ok(());
    }
    match super::rename::bound_module(found, (&schema, &name.object), None) {
        Some(module) => Err(Msg::ReferencedByObject(verb, &name.to_string(), &module).into()),
        None => Ok(()),
    }
}

/// Drops one object; returns false if it does not exist.
fn one(kind: DropKind, name: &ast::ObjectName, cx: &mut Cx<'_>) -> Result<bool> {
    if let Some(statement) = of_current_database(kind) {
        super::check_no_database(name, statement)?;
    }
    check_not_bound(kind, name, cx)?;
    match kind {
        DropKind::Table => table(name, cx),
        DropKind::Procedure => procedure(name, cx),
        DropKind::View => object(name, cx, |o| matches!(o, Object::View(_))),
        DropKind::ExternalDataSource | DropKind::ExternalFileFormat | DropKind::ExternalTable => {
            super::external::drop(kind, name, cx)
        }
        DropKind::Function => object(name, cx, |o| matches!(o, Object::Function(_))),
        DropKind::Trigger => object(name, cx, |o| matches!(o, Object::Trigger(_))),
        DropKind::Synonym => object(name, cx, |o| matches!(o, Object::Synonym(_))),
        DropKind::Sequence => object(name, cx, |o| matches!(o, Object::Sequence(_))),
        DropKind::Type => user_type(name, cx),
        DropKind::Database => database(name, cx),
        DropKind::Schema => schema(name, cx),
        DropKind::User | DropKind::Role => super::principal::drop(kind, &name.object, cx),
        DropKind::Login => super::login::drop(&name.object, cx),
        DropKind::Default | DropKind::Rule => refuse("CREATE DEFAULT and CREATE RULE objects"),
        DropKind::Statistics => super::statistics::drop(name, cx),
        DropKind::PartitionFunction | DropKind::PartitionScheme => {
            super::partition::drop(kind, &name.object, cx)
        }
        DropKind::ServerRole => refuse("server roles"),
    }
}

/// Returns the statement that drops a kind of object in the current database only.
fn of_current_database(kind: DropKind) -> Option<&'static str> {
    match kind {
        DropKind::View => Some("DROP VIEW"),
        DropKind::Procedure => Some("DROP PROCEDURE"),
        DropKind::Function => Some("DROP FUNCTION"),
        DropKind::Trigger => Some("DROP TRIGGER"),
        DropKind::Type => Some("DROP TYPE"),
        DropKind::Synonym => Some("DROP SYNONYM"),
        _ => None,
    }
}

fn place(name: &ast::ObjectName, cx: &Cx<'_>) -> (String, String) {
    let written = |part: &Option<ast::Ident>| part.as_deref().unwrap_or_default().to_owned();
    match super::find_place(name, cx) {
        Some((database, schema)) => (database.name.clone(), schema.to_owned()),
        None => (written(&name.database), written(&name.schema)),
    }
}

fn table(name: &ast::ObjectName, cx: &mut Cx<'_>) -> Result<bool> {
    if name.is_temporary() && !name.object.starts_with("##") {
        let Some(table) = cx.session.temp.find(&name.object) else { return Ok(false) };
        cx.session.note_temp(Arc::clone(&table));
        cx.session.temp.remove(table.id);
        cx.session.accounting.counters.count(SessionCounter::TempTablesDropped);
        cx.session.note_gone(&table.rows.data);
        return Ok(true);
    }
    let (database, schema) =
        if name.is_temporary() { ("tempdb".to_owned(), "dbo".to_owned()) } else { place(name, cx) };
    let found =
        cx.session.catalog.database(&database).and_then(|d| d.object(&schema, &name.object));
    let Some(Object::Table(table)) = found else { return Ok(false) };
    if table.external.is_some() {
        let right = "DROP EXTERNAL TABLE";
        return Err(Msg::WrongDrop("TABLE", &name.object, "external table", right).into());
    }
    let table = super::table::find_alone(name, cx)?;
    if table.is_versioned() {
        return Err(Msg::DropVersioned(&cx.qualified(&table)).into());
    }
    let dropped = change_database(cx.session, &database, |database| {
        let Some(Object::Table(table)) = database.object(&schema, &name.object) else {
            return Ok(None);
        };
        let table = Arc::clone(table);
        check_not_referenced(database, &table)?;
        database.objects.remove(&(Name::new(&schema), Name::new(&name.object)));
        let own = |object: &Object| matches!(object, Object::Trigger(trigger) if trigger.parent_id == table.id);
        database.objects.retain(|_, object| !own(object));
        Ok(Some(table))
    });
    match dropped {
        Ok(Some(table)) => {
            cx.session.note_gone(&table.rows.data);
            Ok(true)
        }
        Ok(None) => Ok(false),
        Err(error) if error.number == 911 => Ok(false),
        Err(error) => Err(error),
    }
}

fn check_not_referenced(database: &Database, table: &TableDef) -> Result<()> {
    if database.is_referenced_by_others(table.id) {
        return Err(Error::custom(
            3726,
            16,
            1,
            format!(
                "Could not drop object '{}' because it is referenced by a FOREIGN KEY constraint.",
                table.qualified_name()
            ),
        ));
    }
    Ok(())
}

fn procedure(name: &ast::ObjectName, cx: &mut Cx<'_>) -> Result<bool> {
    if name.is_temporary() {
        let own = cx.session.temporary_module_name(&name.object);
        let key = (Name::new("dbo"), Name::new(&own));
        return change_database(cx.session, "tempdb", |database| {
            Ok(database.objects.remove(&key).is_some())
        });
    }
    object(name, cx, |o| matches!(o, Object::Procedure(_)))
}

fn object(
    name: &ast::ObjectName,
    cx: &mut Cx<'_>,
    is_kind: impl Fn(&Object) -> bool,
) -> Result<bool> {
    let (database, schema) = place(name, cx);
    let Some(found) = cx.session.catalog.database(&database) else { return Ok(false) };
    if found.object(&schema, &name.object).is_none_or(|o| !is_kind(o)) {
        return Ok(false);
    }
    change_database(cx.session, &database, |database| {
        let key = (Name::new(&schema), Name::new(&name.object));
        let Some(gone) = database.objects.remove(&key) else { return Ok(false) };
        let id = gone.id();
        let own =
            |object: &Object| matches!(object, Object::Trigger(trigger) if trigger.parent_id == id);
        database.objects.retain(|_, object| !own(object));
        Ok(true)
    })
}

fn user_type(name: &ast::ObjectName, cx: &mut Cx<'_>) -> Result<bool> {
    let (database, _) = place(name, cx);
    let of = cx.session.catalog.database(&database);
    let of = of.map(|of| cx.session.schema_of_type(of, name).to_owned());
    let schema = of.unwrap_or_default();
    change_database(cx.session, &database, |database| {
        let used = database.tables().chain(database.table_types()).find(|t| {
            t.columns.iter().any(|c| {
                c.user_type
                    .as_ref()
                    .is_some_and(|(s, n)| Name::same(s, &schema) && Name::same(n, &name.object))
            })
        });
        if let Some(table) = used {
            return Err(Error::custom(
                3732,
                16,
                1,
                format!(
                    "Cannot drop type '{name}' because it is being referenced by object '{}'. There may be other objects that reference this type.",
                    table.name
                ),
            ));
        }
        let gone = database.types.remove(&(Name::new(&schema), Name::new(&name.object)));
        gone.iter().for_each(|of| database.forget_type_grants(of.id));
        Ok(gone.is_some())
    })
}

fn database(name: &ast::ObjectName, cx: &mut Cx<'_>) -> Result<bool> {
    let wanted = name.object.as_str();
    let is_in = |database| user_access::is_in_use(cx.session, database);
    if Name::same(&cx.session.identity.database, wanted)
        || cx.session.catalog.database(wanted).is_some_and(|database| is_in(database))
    {
        return Err(Error::from(Msg::DatabaseInUse(wanted)).with_state(4));
    }
    let dropped = cx.session.change_catalog(|catalog| {
        let Some(found) = catalog.database(wanted) else { return Ok(None) };
        if found.id <= SYSTEM_DATABASE_LAST {
            return Err(Error::custom(
                3708,
                16,
                1,
                format!("Cannot drop the database '{wanted}' because it is a system database."),
            ));
        }
        Ok(catalog.databases.remove(&Name::new(wanted)))
    })?;
    let Some(database) = dropped else { return Ok(false) };
    for table in database.tables() {
        cx.session.note_gone(&table.rows.data);
    }
    Ok(true)
}

fn schema(name: &ast::ObjectName, cx: &mut Cx<'_>) -> Result<bool> {
    let current = Arc::clone(&cx.session.identity.database);
    change_database(cx.session, &current, |database| {
        let key = Name::new(&name.object);
        let holds = database.objects.keys().find(|(schema, _)| *schema == key);
        if let Some((_, object)) = holds {
            return Err(Error::custom(
                3729,
                16,
                1,
                format!(
                    "Cannot drop schema '{}' because it is being referenced by object '{object}'.",
                    name.object
                ),
            ));
        }
        Ok(database.schemas.remove(&key).is_some())
    })
}
