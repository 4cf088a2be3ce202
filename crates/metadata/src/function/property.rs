//! LOGINPROPERTY, DATABASEPROPERTY, FILEPROPERTY and FILEGROUPPROPERTY: what the catalog views show
//! too, under the names that older scripts use.

use types::{DataType, Result, Value};

use crate::function::entry::{flag, int, lookup, text, variant, wrap, wrap_int, wrap_text};
use crate::function::metadata::{current, database_property};
use crate::function::session::session_of;
use crate::function::{Call, Function};
use ::catalog::name::Name;
use ::catalog::{Login, SYSTEM_DATABASE_LAST};
use ::plan::function::Context;

pub(super) static FUNCTIONS: &[Function] = &[
    lookup("LOGINPROPERTY", (2, 2), variant, login_property),
    lookup("DATABASEPROPERTY", (2, 2), int, old_database_property),
    lookup("FILEPROPERTY", (2, 2), int, file_property),
    lookup("FILEGROUPPROPERTY", (2, 2), int, filegroup_property),
];

/// LOGINPROPERTY. Logins are never locked out, and no history of passwords is kept.
fn login_property(cx: &mut Context<'_>, call: &Call<'_>, values: &[Value]) -> Result<Value> {
    let (Some(name), Some(property)) = (text(call, values, 0)?, text(call, values, 1)?) else {
        return Ok(Value::Null);
    };
    let session = session_of(cx);
    // As a login sees logins in the catalog views.
    let mut in_sight = session.identity.rights.logins_in_sight(&session.catalog);
    let Some(login) = in_sight.find(|login| Name::same(&login.name, &name)) else {
        return Ok(Value::Null);
    };
    let policy = &login.policy;
    let today = ::catalog::clock::clock().days;
    Ok(match property.to_ascii_lowercase().as_str() {
        "islocked" | "historylength" => wrap_int(0),
        "badpasswordcount" => {
            let count = session_of(cx).instance.login_failures.streak(&login.name);
            wrap_int(i32::try_from(count).unwrap_or(i32::MAX))
        }
        "isexpired" => wrap_int(i32::from(policy.has_expired(today))),
        "ismustchange" => wrap_int(i32::from(policy.must_change)),
        "daysuntilexpiration" => policy.days_left(today).map_or(Value::Null, wrap_int),
        "defaultdatabase" => wrap_text(&login.default_database),
        "defaultlanguage" => wrap_text(login.default_language.name()),
        "passwordhashalgorithm" => wrap_int(2),
        "passwordlastsettime" => {
            let set = policy.set.to_value(&DataType::DateTime);
            set.map_or(Value::Null, |set| wrap(set, DataType::DateTime))
        }
        "passwordhash" => password_hash(cx, login),
        _ => Value::Null,
    })
}

/// PasswordHash, visible with CONTROL SERVER only.
fn password_hash(cx: &Context<'_>, login: &Login) -> Value {
    if !session_of(cx).identity.rights.is_all() {
        return Value::Null;
    }
    let data_type = DataType::VarBinary(types::Length::Limited(256));
    wrap(Value::VarBinary(types::Bytes::copy_from(&login.password_hash)), data_type)
}

/// DATABASEPROPERTY: the numeric properties of DATABASEPROPERTYEX, and names that only this
/// function has.
fn old_database_property(cx: &mut Context<'_>, call: &Call<'_>, values: &[Value]) -> Result<Value> {
    let (Some(name), Some(property)) = (text(call, values, 0)?, text(call, values, 1)?) else {
        return Ok(Value::Null);
    };
    let Some(database) = session_of(cx).catalog.database(&name) else { return Ok(Value::Null) };
    let access = database.options.user_access.name();
    Ok(match property.to_ascii_lowercase().as_str() {
        "isbulkcopy" => flag(database.options.recovery == "BULK_LOGGED"),
        "istrunclog" => flag(database.options.recovery == "SIMPLE"),
        "issingleuser" => flag(access == "SINGLE_USER"),
        "isdbouseonly" => flag(access == "RESTRICTED_USER"),
        "isreadonly" | "isoffline" | "isdetached" | "isemergencymode" | "isinload"
        | "isinrecovery" | "isnotrecovered" | "issuspect" | "isinstandby" | "isshutdown" => {
            Value::Int(0)
        }
        "version" => Value::Int(957),
        _ => match database_property(cx, call, values)? {
            Value::Variant(inner) => match inner.0 {
                number @ Value::Int(_) => number,
                _ => Value::Null,
            },
            _ => Value::Null,
        },
    })
}

fn file_property(cx: &mut Context<'_>, call: &Call<'_>, values: &[Value]) -> Result<Value> {
    let (Some(name), Some(property)) = (text(call, values, 0)?, text(call, values, 1)?) else {
        return Ok(Value::Null);
    };
    let Some(database) = current(cx) else { return Ok(Value::Null) };
    let place = database.files.iter().position(|file| Name::same(&file.name, &name));
    let Some(place) = place else { return Ok(Value::Null) };
    Ok(match property.to_ascii_lowercase().as_str() {
        // SpaceUsed is in pages; nothing is stored in files.
        "spaceused" | "isreadonly" => Value::Int(0),
        "isprimaryfile" => flag(place == 0),
        "islogfile" => flag(database.files[place].log),
        _ => Value::Null,
    })
}

fn filegroup_property(cx: &mut Context<'_>, call: &Call<'_>, values: &[Value]) -> Result<Value> {
    let (Some(name), Some(property)) = (text(call, values, 0)?, text(call, values, 1)?) else {
        return Ok(Value::Null);
    };
    let Some(database) = current(cx) else { return Ok(Value::Null) };
    let file = database.files.iter().find(|f| !f.log && Name::same(&f.filegroup, &name));
    let Some(file) = file else { return Ok(Value::Null) };
    let is_primary = Name::same(&file.filegroup, "PRIMARY");
    Ok(match property.to_ascii_lowercase().as_str() {
        "isreadonly" => Value::Int(0),
        "isdefault" => flag(is_primary),
        "isuserdefinedfg" => flag(!is_primary && database.id > SYSTEM_DATABASE_LAST),
        _ => Value::Null,
    })
}
