//! ALTER SCHEMA .. TRANSFER moves an object or type to another schema. ALTER AUTHORIZATION gives a
//! schema, role, object or database another owner.
//!
//! The text of a moved module is not changed, as with sp_rename.

use std::sync::Arc;

use tsql::ast;
use types::{Error, Msg, Result};

use super::{change_database, rename, table};
use ::catalog::DBO;
use ::catalog::name::Name;
use ::catalog::security::{FIXED_ROLE_FIRST, Rights};
use ::catalog::{
    Class, Database, ModuleDef, Object, Principal, PrincipalKind, ProcedureDef, Schema,
    SequenceDef, SynonymDef, TableDef, UserType,
};
use ::compile::refuse;
use ::executor::Cx;

/// Lowest `schema_id` of schemas that users create.
const SCHEMA_FIRST: i32 = 5;
/// Lowest `principal_id` of roles that users create.
const ROLE_FIRST: i32 = 5;

fn missing(verb: &str, kind: &str, name: &str) -> Error {
    Msg::PrincipalNotFound(verb, kind, name).into()
}

/// Moves an object or type to another schema. A table's triggers and constraints move with it.
///
/// # Errors
/// 15151 for a schema or object that does not exist, 15530 for a name that the schema has, 15348
/// for an object that a schema-bound module refers to, 15347 for an object that belongs to a table.
pub(crate) fn transfer(alter: &ast::AlterSchema, cx: &mut Cx<'_>) -> Result<()> {
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
    let current = Arc::clone(&cx.session.identity.database);
    let catalog = Arc::clone(&cx.session.catalog);
    let database = catalog.database(&current).ok_or(Msg::InternalError)?;
    let from = cx.session.schema_of(database, name).to_owned();
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
            database.forget_grants(object.id());
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

/// Returns the object with another schema. Its permissions are removed, as in SQL Server.
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
    let current = Arc::clone(&cx.session.identity.database);
    let rights = cx.session.identity.rights.clone();
    change_database(cx.session, &current, |database| {
        let first = rights.default_schema(database);
        let from = database.schema_of_type(name.schema.as_deref(), first, &name.object).to_owned();
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
            .chain(database.table_types())
            .any(|table| table.columns.iter().any(|c| c.user_type.as_ref().is_some_and(is_it)));
        if used {
            return refuse("ALTER SCHEMA .. TRANSFER of a type that columns have");
        }
        database.types.remove(&key);
        // Its permissions and its own owner are removed, as those of an object.
        database.forget_type_grants(found.id);
        let moved =
            UserType { schema: schema.name.clone(), owner: None, ..UserType::clone(&found) };
        database.types.insert((Name::new(&schema.name), Name::new(&name.object)), Arc::new(moved));
        Ok(())
    })
}

/// Changes the owner of a schema, role, object or database.
///
/// # Errors
/// 15151 for names that do not exist and for system schemas, 15110 if a database's new owner is
/// already a user in it.
pub(crate) fn authorize(alter: &ast::AlterAuthorization, cx: &mut Cx<'_>) -> Result<()> {
    let current = Arc::clone(&cx.session.identity.database);
    let name = &alter.securable.name;
    let rights = cx.session.identity.rights.clone();
    match (alter.securable.class.as_deref(), alter.owner.as_deref()) {
        (Some("SCHEMA"), Some(owner)) => change_database(cx.session, &current, |database| {
            authorize_schema(database, &name.object, owner)
        }),
        (Some("ROLE"), Some(owner)) => change_database(cx.session, &current, |database| {
            authorize_role(database, &name.object, owner)
        }),
        (Some("TYPE"), owner) => change_database(cx.session, &current, |database| {
            authorize_type(database, (name, &rights), owner)
        }),
        (Some("DATABASE"), Some(owner)) => authorize_database(&name.object, owner, cx),
        (None | Some("OBJECT"), owner) => change_database(cx.session, &current, |database| {
            authorize_object(database, (name, &rights), owner)
        }),
        (class, _) => refuse(&format!("ALTER AUTHORIZATION ON {}", class.unwrap_or("OBJECT"))),
    }
}

fn principal_id(database: &Database, owner: &str) -> Result<i32> {
    let found = database.principals.get(&Name::new(owner));
    found.map(|principal| principal.id).ok_or_else(|| missing("find", "principal", owner))
}

fn authorize_schema(database: &mut Database, name: &str, owner: &str) -> Result<()> {
    let id = principal_id(database, owner)?;
    let Some(schema) = database.schemas.get_mut(&Name::new(name)) else {
        return Err(missing("find", "schema", name));
    };
    if schema.id < SCHEMA_FIRST {
        return Err(missing("find", "schema", name));
    }
    schema.owner = id;
    let schema_id = schema.id;
    // Permissions on the schema are removed, and on its objects that have no explicit owner.
    let in_schema = |key: &(Name, Name)| Name::same(key.0.as_str(), name);
    let objects = database.objects.iter().filter(|(key, _)| in_schema(key));
    let ids = objects.map(|(_, object)| object.id());
    let ids: Vec<i32> = ids.filter(|id| !database.owners.contains_key(id)).collect();
    let types = database.types.values().filter(|of| Name::same(&of.schema, name));
    let types: Vec<i32> = types.filter(|of| of.owner.is_none()).map(|of| of.id).collect();
    database.permissions.retain(|p| match p.class {
        Class::Schema => p.object_id != schema_id,
        Class::Object => !ids.contains(&p.object_id),
        Class::Type => !types.contains(&p.object_id),
        Class::Whole | Class::Principal => true,
    });
    Ok(())
}

/// Changes a role's owner. Permissions on the role are removed.
fn authorize_role(database: &mut Database, name: &str, owner: &str) -> Result<()> {
    let owner = principal_id(database, owner)?;
    let role = database.principals.get_mut(&Name::new(name));
    let is_own = |p: &&mut Arc<Principal>| {
        p.kind == PrincipalKind::DatabaseRole && (ROLE_FIRST..FIXED_ROLE_FIRST).contains(&p.id)
    };
    let role = role.filter(is_own).ok_or_else(|| missing("find", "role", name))?;
    let role = Arc::make_mut(role);
    role.owner = owner;
    let id = role.id;
    database.permissions.retain(|p| p.class != Class::Principal || p.object_id != id);
    Ok(())
}

/// Changes an object's explicit owner. A constraint or trigger always belongs to its table's owner.
fn authorize_object(
    database: &mut Database,
    (name, rights): (&ast::ObjectName, &Rights),
    owner: Option<&str>,
) -> Result<()> {
    let first = rights.default_schema(database);
    let schema = database.schema_of_object(name.schema.as_deref(), first, &name.object);
    let id = match database.object(schema, &name.object) {
        None | Some(Object::Trigger(_)) => return Err(missing("find", "object", &name.object)),
        Some(object) => object.id(),
    };
    let owner = owner.map(|owner| principal_id(database, owner)).transpose()?;
    database.set_owner(id, owner);
    Ok(())
}

/// Changes a type's explicit owner. Permissions on the type are removed.
fn authorize_type(
    database: &mut Database,
    (name, rights): (&ast::ObjectName, &Rights),
    owner: Option<&str>,
) -> Result<()> {
    let first = rights.default_schema(database);
    let schema = database.schema_of_type(name.schema.as_deref(), first, &name.object).to_owned();
    let owner = owner.map(|owner| principal_id(database, owner)).transpose()?;
    let found = database.types.get_mut(&(Name::new(&schema), Name::new(&name.object)));
    let found = Arc::make_mut(found.ok_or_else(|| missing("find", "type", &name.object))?);
    found.owner = owner;
    let id = found.id;
    database.forget_type_grants(id);
    Ok(())
}

/// Changes a database's owner: the login that is `dbo` in it.
fn authorize_database(name: &str, owner: &str, cx: &mut Cx<'_>) -> Result<()> {
    let Some(login) = cx.session.catalog.logins.get(&Name::new(owner)) else {
        return Err(missing("find", "principal", owner));
    };
    let login = login.name.clone();
    let current = cx.session.catalog.database(name).map(|database| database.name.clone());
    let Some(current) = current else { return Err(missing("find", "database", name)) };
    change_database(cx.session, &current, |database| {
        let is_it =
            |login_of: &Option<String>| login_of.as_ref().is_some_and(|of| Name::same(of, &login));
        let is_user = |p: &Arc<Principal>| p.id != DBO && is_it(&p.login);
        if database.principals.values().any(is_user) {
            return Err(Msg::OwnerIsUser.into());
        }
        if let Some(dbo) = database.principals.get_mut(&Name::new("dbo")) {
            Arc::make_mut(dbo).login = Some(login.clone());
        }
        Ok(())
    })
}
