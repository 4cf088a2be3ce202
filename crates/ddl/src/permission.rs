//! GRANT, DENY and REVOKE: changes the permissions in the catalog.
//!
//! Every permission records its grantor. A principal with CONTROL of a securable grants in the name
//! of its owner. A principal with a permission WITH GRANT OPTION grants in its own name; when it
//! loses the option, which requires CASCADE, its grants are revoked too.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use tsql::ast::{self, PermissionAction};
use types::{Error, Msg, Result};

use super::change_database;
use super::principal::no_principal;
use crate::require::grant::{controls, holds_option, is_denied};
use ::catalog::DBO;
use ::catalog::name::Name;
use ::catalog::security::{Rights, SERVER_PUBLIC};
use ::catalog::{Class, Database, Object, Permission, PrincipalKind};
use ::compile::refuse;
use ::executor::Cx;

/// Permissions on the server that can be granted.
const SERVER_PERMISSIONS: [&str; 18] = [
    "ADMINISTER BULK OPERATIONS",
    "ALTER ANY CONNECTION",
    "ALTER ANY DATABASE",
    "ALTER ANY EVENT SESSION",
    "ALTER ANY LOGIN",
    "ALTER SERVER STATE",
    "ALTER SETTINGS",
    "ALTER TRACE",
    "CONNECT SQL",
    "CONTROL SERVER",
    "CREATE ANY DATABASE",
    "IMPERSONATE ANY LOGIN",
    "SHUTDOWN",
    "VIEW ANY DATABASE",
    "VIEW ANY DEFINITION",
    "VIEW SERVER PERFORMANCE STATE",
    "VIEW SERVER SECURITY STATE",
    "VIEW SERVER STATE",
];

/// Permissions on a type: page "GRANT Type Permissions".
const OF_TYPE: [&str; 5] =
    ["CONTROL", "EXECUTE", "REFERENCES", "TAKE OWNERSHIP", "VIEW DEFINITION"];

/// `principal_id` of the login `sa`.
const SA: i32 = 1;

/// Runs GRANT, DENY and REVOKE.
pub(crate) fn run(statement: &ast::Permission, cx: &mut Cx<'_>) -> Result<()> {
    if is_of_server(statement) {
        if statement.permissions.iter().any(|(_, columns)| !columns.is_empty()) {
            return Err(Msg::SubEntityList.into());
        }
        return of_server(statement, cx);
    }
    let place = securable(statement, cx)?;
    let named = named(statement, place, cx)?;
    let current = Arc::clone(&cx.session.identity.database);
    let (grantor, owner) = grantor(statement, place, &named, cx)?;
    change_database(cx.session, &current, |database| {
        for principal in &statement.principals {
            let Some(found) = database.principals.get(&Name::new(principal)) else {
                return Err(no_principal(principal));
            };
            let rule = rule(place, found.id, grantor, statement);
            change_rules(&mut database.permissions, (&rule, owner), &named, statement)?;
        }
        Ok(())
    })
}

fn rule(
    (class, object_id): (Class, i32),
    principal_id: i32,
    grantor: i32,
    statement: &ast::Permission,
) -> Permission {
    let granted = statement.action != PermissionAction::Deny;
    let with_option = granted && statement.grant_option;
    let permission = String::new();
    Permission {
        class,
        object_id,
        column_id: 0,
        principal_id,
        permission,
        granted,
        with_option,
        grantor,
    }
}

/// Returns the grantor of a statement about a database, and the owner of the securable.
///
/// # Errors
/// 15151 and 4613 without permission, 15151 if the principal after AS does not exist or the session
/// may not act as it.
fn grantor(
    statement: &ast::Permission,
    (class, id): (Class, i32),
    named: &[(String, i32)],
    cx: &Cx<'_>,
) -> Result<(i32, i32)> {
    let (rights, catalog) = (&cx.session.identity.rights, &cx.session.catalog);
    let Some(database) = catalog.database(&cx.session.identity.database) else {
        return Ok((DBO, DBO));
    };
    let owner = owner_of(database, class, id);
    // The grant option permits GRANT and REVOKE, not DENY.
    let by_option = |ids: &[i32]| {
        statement.action != PermissionAction::Deny
            && named.iter().all(|(permission, column)| {
                holds_option(&database.permissions, ids, (class, id), (permission, *column))
            })
    };
    let Some(name) = &statement.grantor else {
        let controls = controls(statement, rights, catalog, database);
        // A DENY to one of the session's roles suspends the grant option.
        let denied = || {
            let ids = rights.principals(database);
            let is_denied = |(permission, column): &(String, i32)| {
                is_denied(database, &ids, (class, id), (permission, *column))
            };
            named.iter().any(is_denied)
        };
        return match (controls, rights.own_user(database)) {
            (Ok(()), _) => Ok((owner, owner)),
            (Err(_), Some(own)) if by_option(&[own]) && !denied() => Ok((own, owner)),
            (Err(refused), _) => Err(refused),
        };
    };
    let found = database.principals.get(&Name::new(name));
    let Some(found) = found.filter(|p| rights.is_all() || rights.may_give_to(database, p)) else {
        return Err(Msg::PrincipalNotFound("find", "principal", name).into());
    };
    let theirs = Rights::of_user("", database.id, found.id);
    let may = controls(statement, &theirs, catalog, database).is_ok()
        || by_option(&theirs.principals(database));
    if may { Ok((found.id, owner)) } else { Err(Msg::NoGrantPermission.into()) }
}

fn owner_of(database: &Database, class: Class, id: i32) -> i32 {
    match class {
        Class::Whole => DBO,
        Class::Object => {
            let object = database.object_by_id(id);
            let schema = object.and_then(|object| database.schema(object.schema()));
            database.owner_of(id, schema.map_or(DBO, |schema| schema.id))
        }
        Class::Schema => database.owner_of_schema(id),
        Class::Principal => {
            let found = database.principals.values().find(|p| p.id == id);
            found.filter(|p| p.kind == PrincipalKind::DatabaseRole).map_or(DBO, |p| p.owner)
        }
        Class::Type => {
            let found = database.types.values().find(|of| of.id == id);
            found.map_or(DBO, |of| database.owner_of_type(of))
        }
    }
}

/// Returns true if a statement is about permissions on the server.
pub fn is_of_server(statement: &ast::Permission) -> bool {
    let of_server = |p: &str| SERVER_PERMISSIONS.contains(&p);
    match &statement.securable {
        None => statement.permissions.iter().any(|(p, _)| of_server(p)),
        Some(securable) => securable.class.as_deref() == Some("LOGIN"),
    }
}

/// Returns the class of the securable, and the id of the object or schema.
fn securable(statement: &ast::Permission, cx: &Cx<'_>) -> Result<(Class, i32)> {
    let Some(securable) = &statement.securable else { return Ok((Class::Whole, 0)) };
    match securable.class.as_deref() {
        None | Some("OBJECT") => Ok((Class::Object, object_id(&securable.name, cx)?)),
        Some("DATABASE") => Ok((Class::Whole, 0)),
        Some("USER" | "ROLE") => {
            let name = securable.name.object.as_str();
            let database = cx.session.catalog.database(&cx.session.identity.database);
            let found = database.and_then(|d| d.principals.get(&Name::new(name)));
            Ok((Class::Principal, found.ok_or_else(|| no_principal(name))?.id))
        }
        Some("SCHEMA") => {
            let name = &securable.name.object;
            let database = cx.session.catalog.database(&cx.session.identity.database);
            let found = database.and_then(|d| d.schemas.get(&Name::new(name)));
            let missing = || Error::from(Msg::PrincipalNotFound("find", "schema", name));
            Ok((Class::Schema, found.ok_or_else(missing)?.id))
        }
        Some("TYPE") => {
            let (name, of) = (&securable.name.object, &securable.name);
            let database = cx.session.catalog.database(&cx.session.identity.database);
            let found = database.and_then(|d| d.user_type(cx.session.schema_of_type(d, of), name));
            let missing = || Error::from(Msg::PrincipalNotFound("find", "type", name));
            Ok((Class::Type, found.ok_or_else(missing)?.id))
        }
        Some(class) => refuse(&format!("permissions on {class}::")),
    }
}

/// Returns the permissions that ALL includes, which depend on the securable: page "GRANT".
fn all_of((class, id): (Class, i32), cx: &Cx<'_>) -> &'static [&'static str] {
    const DATABASE: &[&str] = &[
        "BACKUP DATABASE",
        "BACKUP LOG",
        "CREATE DATABASE",
        "CREATE DEFAULT",
        "CREATE FUNCTION",
        "CREATE PROCEDURE",
        "CREATE RULE",
        "CREATE TABLE",
        "CREATE VIEW",
    ];
    const ROWS: &[&str] = &["DELETE", "INSERT", "REFERENCES", "SELECT", "UPDATE"];
    if class != Class::Object {
        return DATABASE;
    }
    let database = cx.session.catalog.database(&cx.session.identity.database);
    match database.and_then(|d| d.object_by_id(id)) {
        Some(Object::Procedure(_)) => &["EXECUTE"],
        Some(Object::Function(function)) if function.type_code == "FN" => {
            &["EXECUTE", "REFERENCES"]
        }
        _ => ROWS,
    }
}

/// Whether objects of the kind of one have a permission: page "Permissions".
fn object_has(id: i32, permission: &str, cx: &Cx<'_>) -> bool {
    const ROWS: &[&str] =
        &["SELECT", "INSERT", "UPDATE", "DELETE", "REFERENCES", "UNMASK", "VIEW CHANGE TRACKING"];
    let database = cx.session.catalog.database(&cx.session.identity.database);
    let own: &[&str] = match database.and_then(|d| d.object_by_id(id)) {
        Some(Object::Table(_) | Object::View(_)) => ROWS,
        Some(Object::Procedure(_)) => &["EXECUTE"],
        Some(Object::Function(function)) if function.type_code == "FN" => {
            &["EXECUTE", "REFERENCES"]
        }
        Some(Object::Function(_)) => ROWS,
        Some(Object::Sequence(_)) => &["REFERENCES", "UPDATE"],
        Some(Object::Synonym(_)) => &["SELECT", "INSERT", "UPDATE", "DELETE", "EXECUTE"],
        // System objects, and triggers, whose permissions are those of the table.
        Some(Object::Trigger(_)) | None => return true,
    };
    matches!(permission, "ALL" | "ALTER" | "CONTROL" | "TAKE OWNERSHIP" | "VIEW DEFINITION")
        || own.contains(&permission)
}

/// Returns the permissions that a statement names, each with the `column_id` that it is about, or
/// 0.
///
/// # Errors
/// 1020 for columns of a securable without columns, 1911 for an unknown column, 4606 for a permission
/// that the object does not have.
fn named(
    statement: &ast::Permission,
    place: (Class, i32),
    cx: &Cx<'_>,
) -> Result<Vec<(String, i32)>> {
    let behind = statement.securable.as_ref().map(|s| &s.columns[..]).unwrap_or_default();
    let mut named = Vec::with_capacity(statement.permissions.len());
    for (permission, columns) in &statement.permissions {
        let is_known = match place.0 {
            Class::Object => object_has(place.1, permission, cx),
            Class::Type => OF_TYPE.contains(&&**permission),
            Class::Whole | Class::Schema | Class::Principal => true,
        };
        if !is_known {
            return Err(Msg::PrivilegeNotCompatible(permission).into());
        }
        if &**permission == "ALL" && matches!(place.0, Class::Whole | Class::Object) {
            named.extend(all_of(place, cx).iter().map(|one| ((*one).to_owned(), 0)));
            continue;
        }
        let columns = if columns.is_empty() { behind } else { columns };
        if columns.is_empty() {
            named.push((permission.to_string(), 0));
            continue;
        }
        let takes_columns = matches!(&**permission, "SELECT" | "UPDATE" | "REFERENCES");
        let Some(securable) = &statement.securable else {
            return Err(Msg::SubEntityList.into());
        };
        if place.0 != Class::Object || !takes_columns {
            return Err(Msg::SubEntityList.into());
        }
        let names = columns_of(&securable.name, cx);
        for column in columns {
            let place = names.iter().position(|name| Name::same(name, column));
            let place = place.ok_or_else(|| {
                let text =
                    format!("Column name '{column}' does not exist in the target table or view.");
                Error::custom(1911, 16, 1, text)
            })?;
            named.push((permission.to_string(), i32::try_from(place + 1).unwrap_or(i32::MAX)));
        }
    }
    Ok(named)
}

/// Returns the column names of a table or view; empty for other objects.
fn columns_of(name: &ast::ObjectName, cx: &Cx<'_>) -> Vec<String> {
    let database = cx.session.catalog.database(&cx.session.identity.database);
    let found =
        database.and_then(|d| Some((d, d.object(cx.session.schema_of(d, name), &name.object)?)));
    match found {
        Some((database, object)) => {
            metadata::objects::columns_of_object(cx.session, database, object)
        }
        None => Vec::new(),
    }
}

/// Replaces earlier permissions with those of a statement. A permission on a whole object also
/// replaces those on its columns. `owner` owns the securable.
///
/// # Errors
/// 4611 where a grant option would be lost without CASCADE.
fn change_rules(
    rules: &mut Vec<Permission>,
    (rule, owner): (&Permission, i32),
    named: &[(String, i32)],
    statement: &ast::Permission,
) -> Result<()> {
    for (permission, column_id) in named {
        let rule =
            Permission { permission: permission.clone(), column_id: *column_id, ..rule.clone() };
        let same = |p: &Permission| is_about(p, &rule) && p.principal_id == rule.principal_id;
        if statement.action == PermissionAction::Grant {
            // GRANT without GRANT OPTION does not remove an existing option.
            let by_same = |p: &Permission| same(p) && p.granted && p.grantor == rule.grantor;
            let option = rules.iter().any(|p| by_same(p) && p.with_option);
            rules.retain(|p| (p.granted || !same(p)) && !by_same(p));
            rules.push(Permission { with_option: rule.with_option || option, ..rule });
            continue;
        }
        let denies = statement.action == PermissionAction::Deny;
        let goes = |p: &Permission| same(p) && (denies || p.grantor == rule.grantor);
        let had_option = rules.iter().any(|p| goes(p) && p.with_option);
        if had_option && !statement.cascade {
            return Err(Msg::NeedsCascade.into());
        }
        if statement.grant_option && !denies {
            rules.iter_mut().filter(|p| goes(p)).for_each(|p| p.with_option = false);
        } else {
            rules.retain(|p| !goes(p));
        }
        if denies {
            rules.push(rule.clone());
        }
        if had_option {
            take_back(rules, &rule, owner, denies);
        }
    }
    Ok(())
}

/// Returns true if a permission is the same as a rule's, on the same securable or a column of it.
fn is_about(permission: &Permission, rule: &Permission) -> bool {
    (permission.class, permission.object_id) == (rule.class, rule.object_id)
        && permission.permission == rule.permission
        && (rule.column_id == 0 || permission.column_id == rule.column_id)
}

/// Revokes (or denies) what a principal granted by an option that it has lost, and in turn what
/// those grantees granted. Linear: grants are indexed by grantor, and a principal's remaining
/// options are counted.
fn take_back(rules: &mut Vec<Permission>, rule: &Permission, owner: i32, denies: bool) {
    let mut by_grantor: BTreeMap<i32, Vec<usize>> = BTreeMap::new();
    let mut options: BTreeMap<i32, usize> = BTreeMap::new();
    for (place, granted) in rules.iter().enumerate() {
        if is_about(granted, rule) && granted.granted {
            by_grantor.entry(granted.grantor).or_default().push(place);
            *options.entry(granted.principal_id).or_default() += usize::from(granted.with_option);
        }
    }
    let mut gone = BTreeSet::new();
    let mut lost = vec![rule.principal_id];
    while let Some(principal) = lost.pop() {
        if principal == owner || options.get(&principal).is_some_and(|left| *left > 0) {
            continue;
        }
        for place in by_grantor.remove(&principal).unwrap_or_default() {
            let granted = &mut rules[place];
            if std::mem::take(&mut granted.with_option)
                && let Some(left) = options.get_mut(&granted.principal_id)
            {
                *left -= 1;
            }
            lost.push(granted.principal_id);
            if denies {
                (granted.granted, granted.grantor) = (false, rule.grantor);
            } else {
                gone.insert(place);
            }
        }
    }
    let mut place = 0;
    rules.retain(|_| {
        place += 1;
        !gone.contains(&(place - 1))
    });
}

fn of_server(statement: &ast::Permission, cx: &mut Cx<'_>) -> Result<()> {
    if !Name::same(&cx.session.identity.database, "master") {
        let text = "Permissions at the server scope can only be granted when the current database is master";
        return Err(Error::custom(4621, 16, 10, text));
    }
    let named: Vec<(String, i32)> =
        statement.permissions.iter().map(|(p, _)| (p.to_string(), 0)).collect();
    let place = match &statement.securable {
        None => (Class::Whole, 0),
        Some(of) => {
            let name = of.name.object.as_str();
            let found = cx.session.catalog.logins.get(&Name::new(name)).map(|l| l.principal_id);
            (Class::Principal, found.ok_or_else(|| no_principal(name))?)
        }
    };
    let grantor = server_grantor(statement, place, &named, cx)?;
    cx.session.change_catalog(|catalog| {
        for principal in &statement.principals {
            let login = catalog.logins.get(&Name::new(principal)).map(|l| l.principal_id);
            let public = Name::same(principal, "public").then_some(SERVER_PUBLIC);
            let Some(principal_id) = login.or(public) else {
                return Err(Msg::PrincipalNotFound("find", "login", principal).into());
            };
            let rule = rule(place, principal_id, grantor, statement);
            change_rules(&mut catalog.server_permissions, (&rule, SA), &named, statement)?;
        }
        Ok(())
    })
}

/// As [`grantor`], for the server: `sa` if the session manages logins.
fn server_grantor(
    statement: &ast::Permission,
    place: (Class, i32),
    named: &[(String, i32)],
    cx: &Cx<'_>,
) -> Result<i32> {
    let (rights, catalog) = (&cx.session.identity.rights, &cx.session.catalog);
    let Some(database) = catalog.database(&cx.session.identity.database) else { return Ok(SA) };
    let by_option = |id: i32| {
        statement.action != PermissionAction::Deny
            && named.iter().all(|(permission, column)| {
                holds_option(&catalog.server_permissions, &[id], place, (permission, *column))
            })
    };
    let Some(name) = &statement.grantor else {
        let own = rights.own_login_id(catalog);
        return match controls(statement, rights, catalog, database) {
            Ok(()) => Ok(SA),
            Err(refused) => own.filter(|own| by_option(*own)).ok_or(refused),
        };
    };
    let found = catalog.logins.get(&Name::new(name));
    let Some(found) = found.filter(|login| rights.may_be_login(catalog, login)) else {
        return Err(Msg::PrincipalNotFound("find", "login", name).into());
    };
    let theirs = Rights::of(catalog, &found.name);
    let may = theirs.is_all()
        || controls(statement, &theirs, catalog, database).is_ok()
        || by_option(found.principal_id);
    if may { Ok(found.principal_id) } else { Err(Msg::NoGrantPermission.into()) }
}

fn object_id(name: &ast::ObjectName, cx: &Cx<'_>) -> Result<i32> {
    let database = cx.session.catalog.database(&cx.session.identity.database);
    let found = database.and_then(|d| d.object(cx.session.schema_of(d, name), &name.object));
    found
        .map(Object::id)
        .ok_or_else(|| Msg::PrincipalNotFound("find", "object", &name.to_string()).into())
}
