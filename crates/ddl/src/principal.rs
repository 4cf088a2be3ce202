//! CREATE, ALTER and DROP of users and database roles, and membership of server roles.
//!
//! The catalog views show them; the crate `security` checks permissions. Logins are in `login.rs`.

use std::sync::Arc;

use tsql::ast::{self, DropKind, PrincipalAction, PrincipalKind as AstKind, UserSource};
use types::{Error, Msg, Result};

use crate::{change_database, login};
use ::catalog::SA_PRINCIPAL;
use ::catalog::name::Name;
use ::catalog::{Class, Database, Object, Owned, Permission, Principal, PrincipalKind};
use ::catalog::{DBO, DBO_SCHEMA};
use ::compile::refuse;
use ::executor::Cx;
use metadata::function::principal::SERVER_ROLES;

/// Lowest `principal_id` of principals that users create in a database.
const PRINCIPAL_FIRST: i32 = 5;
/// A value that is no principal's id.
const NO_PRINCIPAL: i32 = -1;
/// Lowest `principal_id` of the fixed database roles.
const FIXED_ROLE_FIRST: i32 = 16_384;

pub(crate) fn no_principal(name: &str) -> Error {
    Error::custom(
        15151,
        16,
        1,
        format!(
            "Cannot find the principal '{name}', because it does not exist or you do not have permission."
        ),
    )
}

fn exists(name: &str) -> Error {
    Error::custom(
        15023,
        16,
        1,
        format!("User, group, or role '{name}' already exists in the current database."),
    )
}

pub(crate) fn run(statement: &ast::PrincipalStatement, cx: &mut Cx<'_>) -> Result<()> {
    let name = statement.name.as_str();
    match (statement.kind, &statement.action) {
        (AstKind::Role, PrincipalAction::CreateRole { owner }) => create_role(name, owner, cx),
        (AstKind::User, PrincipalAction::CreateUser { source, options }) => {
            let schema = default_schema(options)?;
            let login = match source {
                UserSource::Same => Some(name.to_owned()),
                UserSource::Login(login) => Some(login.to_string()),
                UserSource::WithoutLogin => None,
                UserSource::Other(what) => return refuse(&format!("CREATE USER {what}")),
            };
            create_user(name, login, schema, cx)
        }
        (AstKind::Role, PrincipalAction::AddMember(member)) => {
            change_member(name, member, true, cx)
        }
        (AstKind::Role, PrincipalAction::DropMember(member)) => {
            change_member(name, member, false, cx)
        }
        (AstKind::Login, PrincipalAction::CreateLogin { from, options }) => {
            if let Some(from) = from {
                return refuse(&format!("CREATE LOGIN FROM {from}"));
            }
            login::create(name, options, cx)
        }
        (AstKind::Login, PrincipalAction::AlterLogin(options)) => login::alter(name, options, cx),
        (AstKind::Login, PrincipalAction::Enable) => login::set_disabled(name, false, cx),
        (AstKind::Login, PrincipalAction::Disable) => login::set_disabled(name, true, cx),
        (AstKind::User, PrincipalAction::Alter(options)) => alter_user(name, options, cx),
        (AstKind::Role, PrincipalAction::Alter(options)) => alter_role(name, options, cx),
        (AstKind::ServerRole, PrincipalAction::AddMember(member)) => {
            change_server_member(name, member, true, cx)
        }
        (AstKind::ServerRole, PrincipalAction::DropMember(member)) => {
            change_server_member(name, member, false, cx)
        }
        (AstKind::ServerRole, _) => refuse("server roles of users"),
        (AstKind::ApplicationRole, _) => refuse("application roles"),
        (AstKind::Role, _) => refuse("this change of a role"),
        (AstKind::User, _) => refuse("this change of a user"),
        (AstKind::Login, _) => refuse("this change of a login"),
    }
}

/// Returns the default schema that the options give to a new user: dbo without one.
fn default_schema(options: &[ast::NamedOption]) -> Result<&str> {
    let mut schema = DBO_SCHEMA;
    for option in options {
        match (option.name.as_ref(), option.value.word()) {
            ("DEFAULT_SCHEMA", Some(named)) => schema = named,
            ("DEFAULT_SCHEMA", None) => return no_schema(option),
            (other, _) => return refuse(&format!("CREATE USER WITH {other}")),
        }
    }
    Ok(schema)
}

/// Returns the error of a DEFAULT_SCHEMA that names none. Only a group may have NULL, and there are no
/// groups.
fn no_schema<T>(option: &ast::NamedOption) -> Result<T> {
    match option.value {
        ast::OptionValue::Literal(ast::Literal::Null) => refuse("DEFAULT_SCHEMA = NULL"),
        _ => Err(Msg::SyntaxNear(&option.written).into()),
    }
}

/// Returns the name of a default schema as it is stored: in the spelling of CREATE SCHEMA. It need
/// not exist.
fn spelled(database: &Database, schema: &str) -> String {
    database.schema(schema).map_or(schema, |found| &found.name).to_owned()
}

/// Creates a role. AUTHORIZATION names its owner; otherwise the current user owns it.
fn create_role(name: &str, owner: &Option<ast::Ident>, cx: &mut Cx<'_>) -> Result<()> {
    let own = metadata::function::principal::own_id(cx);
    let current = Arc::clone(&cx.session.identity.database);
    change_database(cx.session, &current, |database| {
        let owner = match owner {
            None => own,
            Some(owner) => match database.principals.get(&Name::new(owner)) {
                Some(found) => found.id,
                None => return Err(no_principal(owner)),
            },
        };
        add(database, name, (PrincipalKind::DatabaseRole, owner), (None, String::new()))
    })
}

fn create_user(name: &str, login: Option<String>, schema: &str, cx: &mut Cx<'_>) -> Result<()> {
    if let Some(login) = &login {
        check_login(login, cx)?;
    }
    let current = Arc::clone(&cx.session.identity.database);
    change_database(cx.session, &current, |database| {
        if let Some(login) = &login {
            check_free(database, login, NO_PRINCIPAL)?;
        }
        let schema = spelled(database, schema);
        add(database, name, (PrincipalKind::SqlUser, DBO), (login, schema))
    })
}

fn add(
    database: &mut Database,
    name: &str,
    (kind, owner): (PrincipalKind, i32),
    (login, default_schema): (Option<String>, String),
) -> Result<()> {
    let key = Name::new(name);
    if database.principals.contains_key(&key) {
        return Err(exists(name));
    }
    let principal = Principal {
        id: next_id(database),
        name: name.to_owned(),
        kind,
        login,
        member_of: Vec::new(),
        default_schema,
        owner,
    };
    database.principals.insert(key, Arc::new(principal));
    Ok(())
}

fn next_id(database: &Database) -> i32 {
    let own = database.principals.values().map(|p| p.id).filter(|id| *id < FIXED_ROLE_FIRST);
    own.max().map_or(PRINCIPAL_FIRST, |id| (id + 1).max(PRINCIPAL_FIRST))
}

fn change_member(role: &str, member: &str, add: bool, cx: &mut Cx<'_>) -> Result<()> {
    let current = Arc::clone(&cx.session.identity.database);
    change_database(cx.session, &current, |database| {
        let role_id = match database.principals.get(&Name::new(role)) {
            Some(found) if found.kind == PrincipalKind::DatabaseRole => found.id,
            _ => return Err(no_principal(role)),
        };
        let Some(found) = database.principals.get_mut(&Name::new(member)) else {
            return Err(no_principal(member));
        };
        let principal = Arc::make_mut(found);
        principal.member_of.retain(|id| *id != role_id);
        if add {
            principal.member_of.push(role_id);
        }
        Ok(())
    })
}

fn change_server_member(role: &str, member: &str, add: bool, cx: &mut Cx<'_>) -> Result<()> {
    let Some(role) = SERVER_ROLES.iter().find(|r| Name::same(r, role) && **r != "public") else {
        return Err(no_principal(role));
    };
    if !add && *role == "sysadmin" && Name::same(member, "sa") {
        return Err(special_principal());
    }
    cx.session.change_catalog(|catalog| {
        let Some(found) = catalog.logins.get_mut(&Name::new(member)) else {
            return Err(no_principal(member));
        };
        let login = Arc::make_mut(found);
        if *role == "sysadmin" {
            login.sysadmin = add;
            return Ok(());
        }
        login.roles.retain(|r| r != role);
        if add {
            login.roles.push(role);
        }
        Ok(())
    })
}

/// Changes a user's name, login or default schema.
fn alter_user(name: &str, options: &[ast::NamedOption], cx: &mut Cx<'_>) -> Result<()> {
    for option in options {
        let word = option.value.word();
        match (option.name.as_ref(), word) {
            ("NAME", Some(_)) => {}
            ("LOGIN", Some(login)) => check_login(login, cx)?,
            ("DEFAULT_SCHEMA", Some(_)) => {}
            ("DEFAULT_SCHEMA", None) => return no_schema(option),
            (other @ ("NAME" | "LOGIN"), None) => return Err(Msg::SyntaxNear(other).into()),
            (other, _) => return refuse(&format!("ALTER USER WITH {other}")),
        }
    }
    let current = Arc::clone(&cx.session.identity.database);
    change_database(cx.session, &current, |database| {
        let id = own_principal(database, ("user", PrincipalKind::SqlUser), name)?;
        for option in options {
            let Some(word) = option.value.word() else { continue };
            match option.name.as_ref() {
                "NAME" => rename(database, id, word)?,
                "LOGIN" => set_login(database, id, word)?,
                "DEFAULT_SCHEMA" => set_schema(database, id, word),
                _ => {}
            }
        }
        Ok(())
    })
}

/// Runs ALTER ROLE .. WITH NAME.
fn alter_role(name: &str, options: &[ast::NamedOption], cx: &mut Cx<'_>) -> Result<()> {
    let [option] = options else { return Err(Msg::SyntaxNear("WITH").into()) };
    let (to, "NAME") = (option.value.word(), option.name.as_ref()) else {
        return refuse(&format!("ALTER ROLE WITH {}", option.name));
    };
    let to = to.ok_or(Msg::SyntaxNear("NAME"))?;
    let current = Arc::clone(&cx.session.identity.database);
    change_database(cx.session, &current, |database| {
        let id = own_principal(database, ("role", PrincipalKind::DatabaseRole), name)?;
        rename(database, id, to)
    })
}

/// Returns the id of a user or role that is not a system principal.
///
/// # Errors
/// 15151 if it does not exist, 15150 for a system principal.
fn own_principal(
    database: &Database,
    (word, kind): (&str, PrincipalKind),
    name: &str,
) -> Result<i32> {
    let found = database.principals.get(&Name::new(name)).filter(|p| p.kind == kind);
    let found = found.ok_or(Msg::PrincipalNotFound("alter", word, name))?;
    if (PRINCIPAL_FIRST..FIXED_ROLE_FIRST).contains(&found.id) {
        return Ok(found.id);
    }
    Err(Error::custom(15150, 16, 1, format!("Cannot alter the {word} '{name}'.")))
}

/// Renames a principal. References to it are by id and stay valid.
fn rename(database: &mut Database, id: i32, to: &str) -> Result<()> {
    let key = Name::new(to);
    if database.principals.get(&key).is_some_and(|other| other.id != id) {
        return Err(exists(to));
    }
    let old = database.principals.iter().find(|(_, p)| p.id == id).map(|(key, _)| key.clone());
    if let Some(mut principal) = old.and_then(|old| database.principals.remove(&old)) {
        to.clone_into(&mut Arc::make_mut(&mut principal).name);
        database.principals.insert(key, principal);
    }
    Ok(())
}

fn set_login(database: &mut Database, id: i32, login: &str) -> Result<()> {
    check_free(database, login, id)?;
    let user = database.principals.values_mut().find(|p| p.id == id);
    if let Some(user) = user {
        Arc::make_mut(user).login = Some(login.to_owned());
    }
    Ok(())
}

fn set_schema(database: &mut Database, id: i32, schema: &str) {
    let schema = spelled(database, schema);
    if let Some(user) = database.principals.values_mut().find(|p| p.id == id) {
        Arc::make_mut(user).default_schema = schema;
    }
}

/// Checks that a login may be mapped to a user.
///
/// # Errors
/// 15007 if it does not exist, 15405 for `sa`, which is dbo in every database.
fn check_login(login: &str, cx: &Cx<'_>) -> Result<()> {
    match cx.session.catalog.logins.get(&Name::new(login)) {
        None => Err(Msg::InvalidLogin(login).into()),
        Some(found) if found.principal_id == SA_PRINCIPAL => Err(special_principal()),
        Some(_) => Ok(()),
    }
}

/// Checks that no other user of the database is mapped to the login.
///
/// # Errors
/// 15063 if one is.
fn check_free(database: &Database, login: &str, id: i32) -> Result<()> {
    let has = |p: &Arc<Principal>| {
        p.id != id && p.login.as_deref().is_some_and(|other| Name::same(other, login))
    };
    match database.principals.values().any(has) {
        true => Err(Msg::LoginHasUser.into()),
        false => Ok(()),
    }
}

fn special_principal() -> Error {
    Error::custom(15405, 11, 1, "Cannot use the special principal 'sa'.")
}

/// Drops a user or role; returns false if it does not exist.
pub(crate) fn drop(kind: DropKind, name: &str, cx: &mut Cx<'_>) -> Result<bool> {
    let wanted =
        if kind == DropKind::User { PrincipalKind::SqlUser } else { PrincipalKind::DatabaseRole };
    let current = Arc::clone(&cx.session.identity.database);
    change_database(cx.session, &current, |database| {
        let key = Name::new(name);
        let Some(found) = database.principals.get(&key).filter(|p| p.kind == wanted) else {
            return Ok(false);
        };
        let id = found.id;
        if !(PRINCIPAL_FIRST..FIXED_ROLE_FIRST).contains(&id) {
            return Err(Error::custom(
                15150,
                16,
                1,
                format!("Cannot drop the principal '{name}'."),
            ));
        }
        let runs = |object: &Object| match object {
            Object::Procedure(p) => p.execute_as.is_some_and(|clause| clause.user == id),
            Object::View(m) | Object::Function(m) | Object::Trigger(m) => {
                m.execute_as.is_some_and(|clause| clause.user == id)
            }
            Object::Table(_) | Object::Synonym(_) | Object::Sequence(_) => false,
        };
        if database.objects.values().any(runs) {
            return Err(Msg::ExecutionContextOf.into());
        }
        match database.owned_by(id) {
            Some(Owned::Schema) => return Err(Msg::OwnsSchema.into()),
            Some(Owned::Object) => return Err(Msg::OwnsObjects.into()),
            Some(Owned::Type) => return Err(Msg::OwnsTypes.into()),
            None => {}
        }
        if database.principals.values().any(|p| p.owner == id) {
            return Err(Msg::OwnsRole.into());
        }
        if database.permissions.iter().any(|p| p.grantor == id && p.principal_id != id) {
            return Err(Msg::HasGranted.into());
        }
        let has_members = database.principals.values().any(|p| p.member_of.contains(&id));
        if has_members {
            return Err(Error::custom(
                15144,
                16,
                1,
                "The role has members. It must be empty before it can be dropped.",
            ));
        }
        // The id may be reused, so its permissions and those on it are removed.
        let is_about = |p: &Permission| p.class == Class::Principal && p.object_id == id;
        database.permissions.retain(|p| p.principal_id != id && !is_about(p));
        Ok(database.principals.remove(&key).is_some())
    })
}
