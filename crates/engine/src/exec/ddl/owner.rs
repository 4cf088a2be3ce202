//! ALTER SCHEMA .. TRANSFER: another schema for an object or a type; ALTER AUTHORIZATION: another owner
//! for a schema.
//!
//! The text of a module stays as it was, as with sp_rename.

use std::sync::Arc;

use tsql::ast;
use types::{Error, Msg, Result};

use super::{change_database, refuse, rename, table};
use crate::catalog::name::Name;
use crate::catalog::{
    Database, ModuleDef, Object, ProcedureDef, Schema, SequenceDef, SynonymDef, TableDef, UserType,
};
use crate::exec::Cx;

fn missing(verb: &str, kind: &str, name: &str) -> Error {
    Msg::PrincipalNotFound(verb, kind, name).into()
}

/// Moves an object or a type to another schema. A table takes its triggers and constraints with it.
///
/// # Errors
/// 15151 for a schema or object that is not there, 15530 for a name that the schema has, 15348 for
/// what a schema-bound module names, 15347 for what belongs to a table.
pub(super) fn transfer(alter: &ast::AlterSchema, cx: &mut Cx<'_>) -> Result<()> {
    let name = &alter.object;
    if name.database.is_some() {
        return Err(Msg::SyntaxNear(&name.to_string()).into());
    }
    match alter.class.as_deref() {
        None | Some("OBJECT") => object(&alter.schema, name, cx),
        Some("TYPE") => user_type(&alter.schema, name, cx),
        Some(class) => refuse(&format!("ALTER SCHEMA .. TRANSFER {class}")),
    }
}

fn target(database: &Database, schema: &str) -> Result<Schema> {
    database.schema(schema).cloned().ok_or_else(|| missing("alter", "schema", schema))
}

fn object(to: &str, name: &ast::ObjectName, cx: &mut Cx<'_>) -> Result<()> {
    let current = Arc::clone(&cx.session.database);
    let from = name.schema.as_deref().unwrap_or("dbo").to_owned();
    let catalog = Arc::clone(&cx.session.catalog);
    let database = catalog.database(&current).ok_or(Msg::InternalError)?;
    target(database, to)?;
    match database.object(&from, &name.object) {
        None => return Err(missing("find", "object", &name.object)),
        Some(Object::Trigger(_)) => return Err(Msg::TransferOwned.into()),
        Some(Object::Table(_)) => {
            let table = table::find_alone(name, cx)?;
            if rename::binds(&table, None, cx) {
                return Err(Msg::TransferBound.into());
            }
        }
        Some(_) => {}
    }
    change_database(cx.session, &current, |database| {
        let schema = target(database, to)?;
        if Name::same(&from, to) {
            return Ok(());
        }
        let key = (Name::new(&from), Name::new(&name.object));
        let object = database.objects.get(&key).cloned().ok_or(Msg::InternalError)?;
        let mut moving = vec![object.clone()];
        if let Object::Table(_) | Object::View(_) = &object {
            moving.extend(triggers(database, object.id()));
        }
        let taken = moving
            .iter()
            .chain(std::iter::once(&object))
            .find(|moved| database.is_name_taken(&schema.name, moved.name()));
        if let Some(taken) = taken {
            return Err(Msg::TransferNameTaken(taken.name()).into());
        }
        if let Object::Table(table) = &object
            && let Some(taken) =
                table.constraint_names().find(|c| database.is_name_taken(&schema.name, c))
        {
            return Err(Msg::TransferNameTaken(taken).into());
        }
        for object in moving {
            database.objects.remove(&(Name::new(object.schema()), Name::new(object.name())));
            database.put(moved(&object, &schema));
        }
        Ok(())
    })
}

fn triggers(database: &Database, parent: i32) -> Vec<Object> {
    let of = |object: &&Object| matches!(object, Object::Trigger(m) if m.parent_id == parent);
    database.objects.values().filter(of).cloned().collect()
}

/// The object with another schema. Its permissions go, as in SQL Server.
fn moved(object: &Object, to: &Schema) -> Object {
    let (schema, schema_id) = (to.name.clone(), to.id);
    let module = |m: &Arc<ModuleDef>| {
        Arc::new(ModuleDef { schema: schema.clone(), schema_id, ..ModuleDef::clone(m) })
    };
    match object {
        Object::Table(t) => {
            Object::Table(Arc::new(TableDef { schema, schema_id, ..TableDef::clone(t) }))
        }
        Object::Procedure(p) => Object::Procedure(Arc::new(ProcedureDef {
            schema,
            schema_id,
            ..ProcedureDef::clone(p)
        })),
        Object::View(m) => Object::View(module(m)),
        Object::Function(m) => Object::Function(module(m)),
        Object::Trigger(m) => Object::Trigger(module(m)),
        Object::Synonym(s) => {
            Object::Synonym(Arc::new(SynonymDef { schema, ..SynonymDef::clone(s) }))
        }
        Object::Sequence(s) => {
            Object::Sequence(Arc::new(SequenceDef { schema, ..SequenceDef::clone(s) }))
        }
    }
}

fn user_type(to: &str, name: &ast::ObjectName, cx: &mut Cx<'_>) -> Result<()> {
    let from = name.schema.as_deref().unwrap_or("dbo").to_owned();
    let current = Arc::clone(&cx.session.database);
    change_database(cx.session, &current, |database| {
        let schema = target(database, to)?;
        let key = (Name::new(&from), Name::new(&name.object));
        let Some(found) = database.types.get(&key).cloned() else {
            return Err(missing("find", "type", &name.object));
        };
        if Name::same(&from, to) {
            return Ok(());
        }
        if database.user_type(&schema.name, &name.object).is_some() {
            return Err(Msg::TransferNameTaken(&name.object).into());
        }
        let is_it = |(s, n): &(String, String)| Name::same(s, &from) && Name::same(n, &name.object);
        let used = database
            .tables()
            .any(|table| table.columns.iter().any(|c| c.user_type.as_ref().is_some_and(is_it)));
        if used {
            return refuse("ALTER SCHEMA .. TRANSFER of a type that columns have");
        }
        database.types.remove(&key);
        let moved = UserType { schema: schema.name.clone(), ..UserType::clone(&found) };
        database.types.insert((Name::new(&schema.name), Name::new(&name.object)), Arc::new(moved));
        Ok(())
    })
}

/// Gives a schema another owner. An object belongs to its schema's owner and a database to `sa`: to
/// make that so again changes nothing.
///
/// # Errors
/// 15151 for names that are not there, 40517 for an owner of its own.
pub(super) fn authorize(alter: &ast::AlterAuthorization, cx: &mut Cx<'_>) -> Result<()> {
    let current = Arc::clone(&cx.session.database);
    let name = &alter.securable.name;
    match (alter.securable.class.as_deref(), alter.owner.as_deref()) {
        (Some("SCHEMA"), Some(owner)) => change_database(cx.session, &current, |database| {
            let Some(principal) = database.principals.get(&Name::new(owner)) else {
                return Err(missing("find", "principal", owner));
            };
            let id = principal.id;
            let Some(schema) = database.schemas.get_mut(&Name::new(&name.object)) else {
                return Err(missing("find", "schema", &name.object));
            };
            schema.owner = id;
            Ok(())
        }),
        (Some("DATABASE"), Some(owner)) => {
            if cx.session.catalog.database(&name.object).is_none() {
                return Err(missing("find", "database", &name.object));
            }
            match cx.session.catalog.logins.get(&Name::new(owner)) {
                None => Err(missing("find", "principal", owner)),
                Some(_) if Name::same(owner, "sa") => Ok(()),
                Some(_) => refuse("ALTER AUTHORIZATION ON DATABASE to another login than sa"),
            }
        }
        (None | Some("OBJECT"), owner) => {
            let catalog = Arc::clone(&cx.session.catalog);
            let database = catalog.database(&current).ok_or(Msg::InternalError)?;
            let schema = name.schema.as_deref().unwrap_or("dbo");
            if database.object(schema, &name.object).is_none() {
                return Err(missing("find", "object", &name.object));
            }
            let is_owner = |owner: &str| {
                let principal = database.principals.get(&Name::new(owner))?;
                Some(database.schema(schema)?.owner == principal.id)
            };
            match owner.map(is_owner) {
                None | Some(Some(true)) => Ok(()),
                Some(None) => Err(missing("find", "principal", owner.unwrap_or_default())),
                Some(Some(false)) => {
                    refuse("ALTER AUTHORIZATION ON OBJECT to another than the schema's owner")
                }
            }
        }
        (class, _) => refuse(&format!("ALTER AUTHORIZATION ON {}", class.unwrap_or("OBJECT"))),
    }
}
