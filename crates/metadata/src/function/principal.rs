//! Functions about principals: USER_NAME, SUSER_SNAME, IS_MEMBER, IS_SRVROLEMEMBER and others.

use types::{DataType, Length, Result, Value};

use crate::function::entry::{flag, int, lookup, of, session, sysname, text, whole};
use crate::function::session::session_of;
use crate::function::{Call, Function};
use ::catalog::name::Name;
use ::catalog::security::memberships;
use ::catalog::{Login, Principal, PrincipalKind};
use ::plan::function::Context;

pub(super) static FUNCTIONS: &[Function] = &[
    lookup("SUSER_NAME", (0, 1), sysname, suser_name),
    lookup("SUSER_SNAME", (0, 1), sysname, suser_sname),
    lookup("SUSER_ID", (0, 1), int, suser_id),
    lookup("SUSER_SID", (0, 2), |_| Ok(of(DataType::VarBinary(Length::Limited(85)))), suser_sid),
    // Undocumented; management tools ask it for the accounts of services, which are no logins here.
    lookup("SID_BINARY", (1, 1), |_| Ok(of(DataType::VarBinary(Length::Limited(85)))), suser_sid),
    session("ORIGINAL_LOGIN", sysname, |cx| {
        Value::nvarchar(&session_of(cx).connection.original_login)
    }),
    session("SYSTEM_USER", sysname, |cx| Value::nvarchar(&session_of(cx).identity.login)),
    lookup("USER_NAME", (0, 1), sysname, user_name),
    lookup("USER_ID", (0, 1), int, user_id),
    lookup("DATABASE_PRINCIPAL_ID", (0, 1), int, user_id),
    lookup("IS_SRVROLEMEMBER", (1, 2), int, is_server_role_member),
    lookup("IS_MEMBER", (1, 1), int, is_member),
    lookup("IS_ROLEMEMBER", (1, 2), int, is_member),
    lookup("HAS_DBACCESS", (1, 1), int, has_db_access),
];

fn login<'c>(cx: &'c Context<'_>, name: Option<&str>) -> Option<&'c Login> {
    let name = name.unwrap_or(&session_of(cx).identity.login);
    session_of(cx).catalog.logins.get(&Name::new(name)).map(AsRef::as_ref)
}

/// Returns the session's user in its database: `dbo` for a sysadmin.
fn user<'c>(cx: &'c Context<'_>) -> Option<&'c Principal> {
    let database = session_of(cx).catalog.database(&session_of(cx).identity.database)?;
    if let Some((place, id)) = session_of(cx).identity.rights.user() {
        let id = if place == database.id { id } else { GUEST };
        return database.principals.values().find(|p| p.id == id).map(AsRef::as_ref);
    }
    let login = login(cx, None)?;
    if login.sysadmin {
        return database.principals.get(&Name::new("dbo")).map(AsRef::as_ref);
    }
    let is_it = |p: &&std::sync::Arc<Principal>| {
        p.login.as_ref().is_some_and(|l| Name::same(l, &login.name))
    };
    let named = database.principals.values().find(is_it);
    named.or_else(|| database.principals.get(&Name::new("guest"))).map(AsRef::as_ref)
}

/// Finds a principal of the session's database by name, if the session's user is that principal or
/// a member of it; the database's owner counts as a member of all.
pub fn own_principal<'c>(cx: &'c Context<'_>, name: &str) -> Option<&'c Principal> {
    let database = session_of(cx).catalog.database(&session_of(cx).identity.database)?;
    let found = database.principals.get(&Name::new(name)).map(AsRef::as_ref)?;
    let user = user(cx)?;
    let own = memberships(database, user.id);
    (own.contains(&DB_OWNER) || own.contains(&found.id)).then_some(found)
}

/// Returns the `principal_id` of the session's user; that of `dbo` where it has none.
pub fn own_id(cx: &Context<'_>) -> i32 {
    user(cx).map_or(DBO, |user| user.id)
}

/// Returns the name of the session's user in its database.
pub fn own_name(cx: &Context<'_>) -> String {
    user(cx).map_or_else(|| "dbo".to_owned(), |user| user.name.clone())
}

/// `principal_id`s that are the same in every database.
const DBO: i32 = 1;
const GUEST: i32 = 2;
const DB_OWNER: i32 = 16_384;

/// Returns true if the session's login is a member of sysadmin.
pub fn is_sysadmin(cx: &Context<'_>) -> bool {
    session_of(cx).identity.rights.user().is_none() && login(cx, None).is_some_and(|l| l.sysadmin)
}

fn name_or_null(name: Option<&str>) -> Value {
    name.map_or(Value::Null, Value::nvarchar)
}

fn suser_name(cx: &mut Context<'_>, _: &Call<'_>, values: &[Value]) -> Result<Value> {
    if values.is_empty() {
        return Ok(Value::nvarchar(&session_of(cx).identity.login));
    }
    let id = whole(values, 0);
    let mut logins = session_of(cx).catalog.logins.values();
    let found = logins.find(|l| Some(i64::from(l.principal_id)) == id);
    Ok(name_or_null(found.map(|l| l.name.as_str())))
}

fn suser_sname(cx: &mut Context<'_>, _: &Call<'_>, values: &[Value]) -> Result<Value> {
    let Some(sid) = values.first() else {
        return Ok(Value::nvarchar(&session_of(cx).identity.login));
    };
    let mut logins = session_of(cx).catalog.logins.values();
    let found = logins.find(|l| Some(l.sid.as_slice()) == sid.string_bytes());
    Ok(name_or_null(found.map(|l| l.name.as_str())))
}

fn suser_id(cx: &mut Context<'_>, call: &Call<'_>, values: &[Value]) -> Result<Value> {
    let found = login(cx, text(call, values, 0)?.as_deref());
    Ok(found.map_or(Value::Null, |l| Value::Int(l.principal_id)))
}

fn suser_sid(cx: &mut Context<'_>, call: &Call<'_>, values: &[Value]) -> Result<Value> {
    let found = login(cx, text(call, values, 0)?.as_deref());
    Ok(found.map_or(Value::Null, |l| Value::VarBinary(types::Bytes::copy_from(&l.sid))))
}

fn user_name(cx: &mut Context<'_>, _: &Call<'_>, values: &[Value]) -> Result<Value> {
    let Some(id) = whole(values, 0) else {
        return Ok(name_or_null(user(cx).map(|u| u.name.as_str())));
    };
    let database = session_of(cx).catalog.database(&session_of(cx).identity.database);
    let found = database.and_then(|d| d.principals.values().find(|p| i64::from(p.id) == id));
    Ok(name_or_null(found.map(|p| p.name.as_str())))
}

fn user_id(cx: &mut Context<'_>, call: &Call<'_>, values: &[Value]) -> Result<Value> {
    let found = match text(call, values, 0)? {
        None => user(cx),
        Some(name) => {
            let database = session_of(cx).catalog.database(&session_of(cx).identity.database);
            database.and_then(|d| d.principals.get(&Name::new(&name))).map(AsRef::as_ref)
        }
    };
    Ok(found.map_or(Value::Null, |p| Value::Int(p.id)))
}

pub use catalog::SERVER_ROLES;

/// IS_SRVROLEMEMBER: a sysadmin is a member of every role; NULL for a role that does not exist.
fn is_server_role_member(cx: &mut Context<'_>, call: &Call<'_>, values: &[Value]) -> Result<Value> {
    let Some(role) = text(call, values, 0)? else { return Ok(Value::Null) };
    if !SERVER_ROLES.iter().any(|r| Name::same(r, &role)) {
        return Ok(Value::Null);
    }
    let Some(login) = login(cx, text(call, values, 1)?.as_deref()) else { return Ok(Value::Null) };
    let is_member = login.roles.iter().any(|r| Name::same(r, &role));
    Ok(flag(login.sysadmin || is_member || Name::same(&role, "public")))
}

fn is_member(cx: &mut Context<'_>, call: &Call<'_>, values: &[Value]) -> Result<Value> {
    let Some(role) = text(call, values, 0)? else { return Ok(Value::Null) };
    let Some(database) = session_of(cx).catalog.database(&session_of(cx).identity.database) else {
        return Ok(Value::Null);
    };
    let member = match text(call, values, 1)? {
        None => user(cx),
        Some(name) => database.principals.get(&Name::new(&name)).map(AsRef::as_ref),
    };
    let role = database.principals.get(&Name::new(&role));
    let role = role.filter(|role| role.kind == PrincipalKind::DatabaseRole);
    let (Some(role), Some(member)) = (role, member) else { return Ok(Value::Null) };
    Ok(flag(role.id != member.id && memberships(database, member.id).contains(&role.id)))
}

fn has_db_access(cx: &mut Context<'_>, call: &Call<'_>, values: &[Value]) -> Result<Value> {
    let name = text(call, values, 0)?.unwrap_or_default();
    let Some(database) = session_of(cx).catalog.database(&name) else { return Ok(Value::Null) };
    let named = database
        .principals
        .values()
        .any(|p| p.login.as_ref().is_some_and(|l| Name::same(l, &session_of(cx).identity.login)));
    Ok(flag(is_sysadmin(cx) || named))
}
