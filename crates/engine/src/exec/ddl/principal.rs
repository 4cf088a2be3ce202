//! Logins, users, roles and permissions.
//!
//! Kept and shown in the catalog views; `security.rs` asks them.

use std::sync::Arc;

use tsql::ast::{
    self, DropKind, LoginOption, PrincipalAction, PrincipalKind as AstKind, UserSource,
};
use types::{Error, Msg, Result};

use crate::catalog::DBO;
use crate::catalog::name::Name;
use crate::catalog::{Database, Login, Object, Owned, Principal, PrincipalKind, password};
use crate::exec::Cx;
use crate::exec::ddl::{change_database, created, refuse};
use crate::exec::run::option::{OTHER_LANGUAGES, is_known_language};
use crate::func::principal::SERVER_ROLES;

/// First `principal_id` of users' own in a database, and of logins.
const PRINCIPAL_FIRST: i32 = 5;
const LOGIN_FIRST: i32 = 267;
/// Fixed roles have ids from here on.
const FIXED_ROLE_FIRST: i32 = 16_384;

pub(super) fn no_principal(name: &str) -> Error {
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

pub(super) fn run(statement: &ast::PrincipalStatement, cx: &mut Cx<'_>) -> Result<()> {
    let name = statement.name.as_str();
    match (statement.kind, &statement.action) {
        (AstKind::Role, PrincipalAction::CreateRole { owner }) => create_role(name, owner, cx),
        (AstKind::User, PrincipalAction::CreateUser { source, options }) => {
            check_user_options(options)?;
            let login = match source {
                UserSource::Same => Some(name.to_owned()),
                UserSource::Login(login) => Some(login.to_string()),
                UserSource::WithoutLogin => None,
                UserSource::Other(what) => return refuse(&format!("CREATE USER {what}")),
            };
            create_user(name, login, cx)
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
            create_login(name, options, cx)
        }
        (AstKind::Login, PrincipalAction::AlterLogin(options)) => alter_login(name, options, cx),
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

/// The only default schema is dbo: another one is refused, since names would be looked up in it.
fn check_user_options(options: &[ast::NamedOption]) -> Result<()> {
    for option in options {
        let is_dbo = option.value.word().is_some_and(|schema| Name::same(schema, "dbo"));
        match option.name.as_ref() {
            "DEFAULT_SCHEMA" if is_dbo => {}
            "DEFAULT_SCHEMA" => return refuse("DEFAULT_SCHEMA other than dbo"),
            other => return refuse(&format!("CREATE USER WITH {other}")),
        }
    }
    Ok(())
}

/// Makes a role: its owner is named, or is who makes it.
fn create_role(name: &str, owner: &Option<ast::Ident>, cx: &mut Cx<'_>) -> Result<()> {
    let own = crate::func::principal::own_id(cx);
    let current = Arc::clone(&cx.session.database);
    change_database(cx.session, &current, |database| {
        let owner = match owner {
            None => own,
            Some(owner) => match database.principals.get(&Name::new(owner)) {
                Some(found) => found.id,
                None => return Err(no_principal(owner)),
            },
        };
        add(database, name, (PrincipalKind::DatabaseRole, owner), None)
    })
}

fn create_user(name: &str, login: Option<String>, cx: &mut Cx<'_>) -> Result<()> {
    if let Some(login) = &login
        && !cx.session.catalog.logins.contains_key(&Name::new(login))
    {
        return Err(Error::custom(
            15007,
            16,
            1,
            format!("'{login}' is not a valid login or you do not have permission."),
        ));
    }
    let current = Arc::clone(&cx.session.database);
    change_database(cx.session, &current, |database| {
        add(database, name, (PrincipalKind::SqlUser, DBO), login)
    })
}

fn add(
    database: &mut Database,
    name: &str,
    (kind, owner): (PrincipalKind, i32),
    login: Option<String>,
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
        default_schema: "dbo".to_owned(),
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
    let current = Arc::clone(&cx.session.database);
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
        return Err(Error::custom(15405, 11, 1, "Cannot use the special principal 'sa'."));
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

/// A password that is written out.
fn constant(password: &ast::Expr, cx: &Cx<'_>) -> Result<String> {
    let context = crate::session::binding::bare_context(cx.session, &cx.session.database);
    let bound = crate::bind::expr::bind_expr(&mut context.binder(), password)?;
    let text = bound.as_constant().and_then(|v| v.as_text(cx.session.collation()));
    text.ok_or_else(|| Msg::SyntaxNear("PASSWORD").into())
}

/// Checks the old password where one is given.
///
/// # Errors
/// 15151 for a wrong one, as for a login that is not there.
fn check_old_password(name: &str, options: &[LoginOption], cx: &Cx<'_>) -> Result<()> {
    let Some(login) = cx.session.catalog.logins.get(&Name::new(name)) else { return Ok(()) };
    for option in options {
        if let LoginOption::Password { old_password: Some(old), .. } = option
            && !password::matches(&login.password_hash, &constant(old, cx)?)
        {
            return Err(Msg::PrincipalNotFound("alter", "login", name).into());
        }
    }
    Ok(())
}

/// The password of a login's options.
fn password_of(options: &[LoginOption], cx: &Cx<'_>) -> Result<Option<Vec<u8>>> {
    let mut found = None;
    for option in options {
        match option {
            LoginOption::Password { hashed: true, .. } => {
                return refuse("PASSWORD = .. HASHED");
            }
            // Nothing would make the login change it.
            LoginOption::Password { must_change: true, .. } => return refuse("MUST_CHANGE"),
            LoginOption::Password { password, .. } => {
                found = Some(password::hash(&constant(password, cx)?));
            }
            LoginOption::Other(option) => match option.name.as_ref() {
                // There is no policy that could be checked.
                "CHECK_POLICY" | "CHECK_EXPIRATION" | "DEFAULT_DATABASE" | "SID" => {}
                "DEFAULT_LANGUAGE" if option.value.word().is_some_and(is_known_language) => {}
                "DEFAULT_LANGUAGE" => return refuse(OTHER_LANGUAGES),
                other => return refuse(&format!("the login option {other}")),
            },
        }
    }
    Ok(found)
}

fn default_database(options: &[LoginOption]) -> Option<String> {
    options.iter().find_map(|option| match option {
        LoginOption::Other(o) if o.name.as_ref() == "DEFAULT_DATABASE" => {
            o.value.word().map(str::to_owned)
        }
        _ => None,
    })
}

/// The security id that a login is to have: one of another server, so that users of copied databases find it.
fn sid_of(options: &[LoginOption]) -> Result<Option<Vec<u8>>> {
    const SID_BYTES: usize = 16;
    for option in options {
        let LoginOption::Other(option) = option else { continue };
        if *option.name != *"SID" {
            continue;
        }
        let ast::OptionValue::Literal(ast::Literal::Binary(sid)) = &option.value else {
            return Err(wrong_sid());
        };
        return if sid.len() == SID_BYTES { Ok(Some(sid.to_vec())) } else { Err(wrong_sid()) };
    }
    Ok(None)
}

fn wrong_sid() -> Error {
    Error::custom(15419, 16, 1, "Supplied parameter sid should be binary(16).")
}

fn create_login(name: &str, options: &[LoginOption], cx: &mut Cx<'_>) -> Result<()> {
    let sid = sid_of(options)?.unwrap_or_else(|| sos::sys::random_bytes::<16>().to_vec());
    let Some(password_hash) = password_of(options, cx)? else {
        return Err(Msg::SyntaxNear("LOGIN").into());
    };
    let default_database = default_database(options).unwrap_or_else(|| "master".to_owned());
    cx.session.change_catalog(|catalog| {
        let key = Name::new(name);
        if catalog.logins.contains_key(&key) {
            return Err(Error::custom(
                15025,
                16,
                1,
                format!("The server principal '{name}' already exists."),
            ));
        }
        if catalog.logins.values().any(|login| login.sid == sid) {
            return Err(Error::custom(15433, 16, 1, "Supplied parameter sid is in use."));
        }
        let highest = catalog.logins.values().map(|l| l.principal_id).max();
        let login = Login {
            name: name.to_owned(),
            password_hash,
            sid,
            principal_id: highest.map_or(LOGIN_FIRST, |id| (id + 1).max(LOGIN_FIRST)),
            default_database,
            sysadmin: false,
            roles: Vec::new(),
            created: created(),
        };
        catalog.logins.insert(key, Arc::new(login));
        Ok(())
    })
}

fn alter_login(name: &str, options: &[LoginOption], cx: &mut Cx<'_>) -> Result<()> {
    if sid_of(options)?.is_some() {
        return Err(Msg::SyntaxNear("SID").into());
    }
    check_old_password(name, options, cx)?;
    let password_hash = password_of(options, cx)?;
    let database = default_database(options);
    cx.session.change_catalog(|catalog| {
        let Some(found) = catalog.logins.get_mut(&Name::new(name)) else {
            return Err(no_principal(name));
        };
        let login = Arc::make_mut(found);
        if let Some(hash) = password_hash {
            login.password_hash = hash;
        }
        if let Some(database) = database {
            login.default_database = database;
        }
        Ok(())
    })
}

/// Drops a user or role; tells whether it was there.
pub(super) fn drop(kind: DropKind, name: &str, cx: &mut Cx<'_>) -> Result<bool> {
    let wanted =
        if kind == DropKind::User { PrincipalKind::SqlUser } else { PrincipalKind::DatabaseRole };
    let current = Arc::clone(&cx.session.database);
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
        database.permissions.retain(|p| p.principal_id != id);
        Ok(database.principals.remove(&key).is_some())
    })
}

/// Drops a login; tells whether it was there.
pub(super) fn drop_login(name: &str, cx: &mut Cx<'_>) -> Result<bool> {
    cx.session.change_catalog(|catalog| {
        if Name::same(name, "sa") {
            return Err(Error::custom(15150, 16, 1, "Cannot drop the login 'sa'."));
        }
        let owns = |database: &Arc<Database>| {
            let dbo = database.principals.get(&Name::new("dbo"));
            dbo.and_then(|dbo| dbo.login.as_deref()).is_some_and(|login| Name::same(login, name))
        };
        if catalog.databases.values().any(owns) {
            return Err(Msg::OwnsDatabases(name).into());
        }
        Ok(catalog.logins.remove(&Name::new(name)).is_some())
    })
}
