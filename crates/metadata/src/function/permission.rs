//! HAS_PERMS_BY_NAME: whether the session has a permission on a securable, named by class and name.
//!
//! NULL if the securable, class or permission does not exist: "HAS_PERMS_BY_NAME" of SQL Server's
//! documentation.

use tsql::ast;
use types::{Result, Value};

use super::principal::is_sysadmin;
use crate::function::entry::{flag, int, text};
use crate::function::session::session_of;
use crate::function::{Call, Collating, Evaluate, Function};
use ::catalog::name::Name;
use ::catalog::security;
use ::catalog::{Database, Login, Object, Principal, PrincipalKind, Schema, UserType};
use ::plan::function::Context;
use ::plan::view::SystemView;
use ::session::SessionState;

pub(super) static FUNCTIONS: &[Function] = &[Function {
    name: "HAS_PERMS_BY_NAME",
    arity: (3, 5),
    bind: int,
    eval: Evaluate::Full(has_permission),
    deterministic: false,
    collation: Collating::Apart,
}];

/// The permission name that asks for any permission on the securable.
const ANY: &str = "ANY";

const OF_OBJECT: &[&str] = &[
    "SELECT",
    "INSERT",
    "UPDATE",
    "DELETE",
    "EXECUTE",
    "REFERENCES",
    "ALTER",
    "CONTROL",
    "VIEW DEFINITION",
    "TAKE OWNERSHIP",
    "VIEW CHANGE TRACKING",
    "RECEIVE",
];
const OF_SCHEMA: &[&str] = &[
    "SELECT",
    "INSERT",
    "UPDATE",
    "DELETE",
    "EXECUTE",
    "REFERENCES",
    "ALTER",
    "CONTROL",
    "VIEW DEFINITION",
    "TAKE OWNERSHIP",
    "VIEW CHANGE TRACKING",
    "CREATE SEQUENCE",
];
/// Permissions on the server that a login may have here.
const OF_SERVER: &[&str] = &[
    "CONNECT SQL",
    "SHUTDOWN",
    "CREATE ANY DATABASE",
    "VIEW ANY DATABASE",
    "ALTER ANY CONNECTION",
    "ALTER ANY DATABASE",
    "ALTER ANY EVENT SESSION",
    "ALTER ANY LOGIN",
    "ALTER SERVER STATE",
    "ALTER SETTINGS",
    "ALTER TRACE",
    "ADMINISTER BULK OPERATIONS",
    "IMPERSONATE ANY LOGIN",
    "VIEW ANY DEFINITION",
    "VIEW SERVER STATE",
    "VIEW SERVER PERFORMANCE STATE",
    "VIEW SERVER SECURITY STATE",
    "CONTROL SERVER",
];
/// Permissions on a database that a user may have here.
const OF_DATABASE: &[&str] = &[
    "CREATE TABLE",
    "CREATE VIEW",
    "CREATE PROCEDURE",
    "CREATE FUNCTION",
    "CREATE TYPE",
    "CREATE SYNONYM",
    "CREATE SCHEMA",
    "CREATE ROLE",
    "BACKUP DATABASE",
    "BACKUP LOG",
    "CHECKPOINT",
    "CONNECT",
    "SELECT",
    "INSERT",
    "UPDATE",
    "DELETE",
    "EXECUTE",
    "REFERENCES",
    "SHOWPLAN",
    "ALTER",
    "ALTER ANY ROLE",
    "ALTER ANY SCHEMA",
    "ALTER ANY USER",
    "TAKE OWNERSHIP",
    "VIEW DEFINITION",
    "VIEW DATABASE STATE",
    "CONTROL",
];
const OF_TYPE: &[&str] = &["CONTROL", "EXECUTE", "REFERENCES", "TAKE OWNERSHIP", "VIEW DEFINITION"];
const OF_USER: &[&str] = &["ALTER", "CONTROL", "IMPERSONATE", "VIEW DEFINITION"];
const OF_ROLE: &[&str] = &["ALTER", "CONTROL", "TAKE OWNERSHIP", "VIEW DEFINITION"];
/// Permissions that every login and every user has without a GRANT.
const OF_ALL: [&str; 3] = ["CONNECT", "CONNECT SQL", "VIEW ANY DATABASE"];

/// A securable that the function is asked about.
enum Place<'c> {
    Server,
    Database(&'c Database),
    Schema(&'c Schema),
    Object(&'c Object),
    /// A view of the system.
    SystemView(&'static dyn SystemView),
    /// An alias or table type.
    Type(&'c UserType),
    Principal(&'c Principal),
    Login(&'c Login),
}

impl Place<'_> {
    /// The permissions of the securable's class; `None` for all permissions that the catalog views
    /// know.
    fn permissions(&self) -> Option<&'static [&'static str]> {
        match self {
            Self::Server | Self::Database(_) => None,
            Self::Schema(_) => Some(OF_SCHEMA),
            Self::Object(_) | Self::SystemView(_) => Some(OF_OBJECT),
            Self::Type(_) => Some(OF_TYPE),
            Self::Principal(p) if p.kind == PrincipalKind::DatabaseRole => Some(OF_ROLE),
            Self::Principal(_) | Self::Login(_) => Some(OF_USER),
        }
    }

    fn knows(&self, permission: &str) -> bool {
        permission == ANY
            || match self.permissions() {
                Some(permissions) => permissions.contains(&permission),
                None => {
                    OF_ALL.contains(&permission) || crate::permissions::is_permission(permission)
                }
            }
    }
}

fn has_permission(cx: &mut Context<'_>, call: &Call<'_>, values: &[Value]) -> Result<Value> {
    let Some(permission) = text(call, values, 2)? else { return Ok(Value::Null) };
    let permission = permission.trim().to_ascii_uppercase();
    let class = text(call, values, 1)?.map(|class| class.trim().to_ascii_uppercase());
    let catalog = std::sync::Arc::clone(&session_of(cx).catalog);
    let Some(database) = catalog.database(&session_of(cx).identity.database) else {
        return Ok(Value::Null);
    };
    let name = text(call, values, 0)?;
    let place = match (class.as_deref(), name.as_deref()) {
        (None | Some("SERVER"), None) => Some(Place::Server),
        (Some("DATABASE"), None) => Some(Place::Database(database)),
        (Some("DATABASE"), Some(name)) => {
            catalog.database(name).map(|found| Place::Database(found))
        }
        (Some("LOGIN"), Some(name)) => {
            catalog.logins.get(&Name::new(name)).map(|login| Place::Login(login))
        }
        (class, Some(name)) => {
            of_database(session_of(cx), database, (class.unwrap_or("OBJECT"), name))
        }
        (Some(_), None) => None,
    };
    let Some(place) = place.filter(|place| place.knows(&permission)) else {
        return Ok(Value::Null);
    };
    if let (Some(column), Place::Object(object)) = (text(call, values, 3)?, &place) {
        let is_column = text(call, values, 4)?.is_some_and(|class| Name::same(&class, "COLUMN"));
        return match is_column {
            true => on_column(cx, database, object, &column, &permission),
            false => Ok(Value::Null),
        };
    }
    let has = |permission: &str| has(session_of(cx), database, &place, permission);
    Ok(flag(match (&*permission, place.permissions()) {
        _ if is_sysadmin(cx) => true,
        (ANY, Some(permissions)) => permissions.iter().any(|one| has(one)),
        (ANY, None) => has("CONNECT"),
        (one, _) => has(one),
    }))
}

/// Returns the permissions that the session has on a securable, as `sys.fn_my_permissions` lists
/// them; `None` if the class or the securable does not exist.
pub fn held(session: &SessionState, class: &str, name: Option<&str>) -> Option<Vec<&'static str>> {
    let catalog = &session.catalog;
    let database = catalog.database(&session.identity.database)?;
    let place = match (class, name) {
        ("SERVER", None) => Place::Server,
        ("DATABASE", None) => Place::Database(database),
        ("DATABASE", Some(name)) => Place::Database(catalog.database(name)?),
        ("LOGIN", Some(name)) => Place::Login(catalog.logins.get(&Name::new(name))?),
        (class, Some(name)) => of_database(session, database, (class, name))?,
        (_, None) => return None,
    };
    let all = match &place {
        Place::Server => OF_SERVER,
        Place::Database(_) => OF_DATABASE,
        place => place.permissions().unwrap_or_default(),
    };
    let is_of_module = |permission: &str| {
        let Place::Object(object) = &place else { return true };
        let of_rows = ["SELECT", "INSERT", "UPDATE", "DELETE", "REFERENCES"].contains(&permission);
        let is_other = match object {
            Object::Procedure(_) => of_rows,
            Object::Table(_) | Object::View(_) => permission == "EXECUTE",
            Object::Function(_) | Object::Trigger(_) | Object::Synonym(_) | Object::Sequence(_) => {
                false
            }
        };
        permission != "RECEIVE" && !is_other
    };
    let rights = &session.identity.rights;
    let all = all.iter().copied().filter(|permission| is_of_module(permission));
    Some(all.filter(|p| rights.is_all() || has(session, database, &place, p)).collect())
}

/// Finds a securable in a database by class and name.
fn of_database<'d>(
    session: &SessionState,
    database: &'d Database,
    (class, name): (&str, &str),
) -> Option<Place<'d>> {
    let parts = || tsql::parse_object_name(name).ok();
    let schema_of = |name: &ast::ObjectName| session.schema_of(database, name).to_owned();
    match class {
        "OBJECT" => {
            let name = parts()?;
            let of_system = || session.instance.library.view(&schema_of(&name), &name.object);
            let object = database.object(&schema_of(&name), &name.object).map(Place::Object);
            object.or_else(|| of_system().map(Place::SystemView))
        }
        "TYPE" => {
            let name = parts()?;
            let schema = session.schema_of_type(database, &name);
            database.user_type(schema, &name.object).map(|of| Place::Type(of))
        }
        "SCHEMA" => database.schema(&parts()?.object).map(Place::Schema),
        "USER" | "ROLE" => {
            let found = database.principals.get(&Name::new(&parts()?.object))?;
            let is_role = found.kind == PrincipalKind::DatabaseRole;
            (is_role == (class == "ROLE")).then_some(Place::Principal(found))
        }
        _ => None,
    }
}

fn on_column(
    cx: &Context<'_>,
    database: &Database,
    object: &Object,
    column: &str,
    permission: &str,
) -> Result<Value> {
    let columns = crate::objects::columns_of_object(session_of(cx), database, object);
    let place = columns.iter().position(|name| Name::same(name, column));
    let Some(id) = place.and_then(|place| i32::try_from(place + 1).ok()) else {
        return Ok(Value::Null);
    };
    let schema = database.schema(object.schema()).map_or(0, |schema| schema.id);
    let ids = (object.id(), schema);
    let rights = &session_of(cx).identity.rights;
    Ok(flag(security::has_on_column(rights, database, ids, id, permission)))
}

fn has(session: &SessionState, current: &Database, place: &Place<'_>, permission: &str) -> bool {
    let (catalog, rights) = (&session.catalog, &session.identity.rights);
    match place {
        Place::Server => OF_ALL.contains(&permission) || rights.has_of_server(catalog, permission),
        Place::Database(database) => match permission {
            "CONNECT" => rights.enters(database),
            _ => rights.has_of_database(database, permission),
        },
        Place::Schema(schema) => rights.has_on_schema(current, schema, permission),
        Place::Type(of) => rights.has_on_type(current, of, permission),
        Place::Object(object) => {
            let schema = current.schema(object.schema()).map_or(0, |schema| schema.id);
            security::has_on_object(rights, current, (object.id(), schema), permission)
        }
        // Everybody reads the views of the system, but for the one that SQL Server grants to db_owner alone.
        Place::SystemView(view) if view.name() == "sql_expression_dependencies" => {
            permission == "SELECT" && rights.has_of_database(current, "CONTROL")
        }
        Place::SystemView(_) => permission == "SELECT",
        Place::Principal(principal) => {
            let is_role = principal.kind == PrincipalKind::DatabaseRole;
            match permission {
                "IMPERSONATE" => rights.may_be_user(current, principal),
                "ALTER" if is_role => rights.alters_role(current, principal),
                "ALTER" if rights.has_of_database(current, "ALTER ANY USER") => true,
                _ => {
                    rights.owns(current) || rights.is_granted_on(current, principal.id, permission)
                }
            }
        }
        Place::Login(login) => match permission {
            "IMPERSONATE" => rights.may_be_login(catalog, login),
            "ALTER" => rights.alters_login(catalog, login),
            _ => rights.is_granted_on_login(catalog, login, permission),
        },
    }
}
