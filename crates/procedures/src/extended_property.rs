//! sp_addextendedproperty, sp_updateextendedproperty and sp_dropextendedproperty.

use std::sync::Arc;

use types::value::ColumnType;
use types::{DataType, Length, Msg, Value};

use crate::procedure::{SystemProcedure, argument, text};
use ::catalog::name::Name;
use ::catalog::{Database, ExtendedProperty, Object, PrincipalKind, PropertyClass, Securable};
use ::executor::Cx;
use interpreter::{Argument, Stop, convert_argument};
use metadata::Scope;
use metadata::properties::{Found, Level, find};

pub(crate) static PROCEDURES: &[SystemProcedure] = &[
    SystemProcedure { name: "sp_addextendedproperty", id: 0, run: add },
    SystemProcedure { name: "sp_updateextendedproperty", id: 0, run: update },
    SystemProcedure { name: "sp_dropextendedproperty", id: 0, run: drop },
];

/// Greatest size of a property's value, in bytes.
const VALUE_BYTES_MAX: usize = 7_500;

/// The securable that a call is about.
struct Target {
    database: String,
    securable: Securable,
    property: Name,
    /// The securable's name for messages.
    shown: String,
}

fn add(arguments: &mut [Argument], cx: &mut Cx<'_>) -> Result<i32, Stop> {
    let target = target("sp_addextendedproperty", 2, arguments, cx)?;
    let value = value(arguments, cx)?;
    change(cx, &target, |database, key, target| {
        if database.properties.contains_key(&key) {
            let name = target.property.as_str();
            return Err(Msg::PropertyExists(name, &target.shown).into());
        }
        let name = target.property.as_str().to_owned();
        database.properties.insert(key, Arc::new(ExtendedProperty { name, value }));
        Ok(())
    })
}

fn update(arguments: &mut [Argument], cx: &mut Cx<'_>) -> Result<i32, Stop> {
    let target = target("sp_updateextendedproperty", 2, arguments, cx)?;
    let value = value(arguments, cx)?;
    change(cx, &target, |database, key, target| match database.properties.get_mut(&key) {
        Some(property) => {
            *property = Arc::new(ExtendedProperty { name: property.name.clone(), value });
            Ok(())
        }
        None => Err(Msg::PropertyMissing(target.property.as_str(), &target.shown).into()),
    })
}

fn drop(arguments: &mut [Argument], cx: &mut Cx<'_>) -> Result<i32, Stop> {
    let target = target("sp_dropextendedproperty", 1, arguments, cx)?;
    change(cx, &target, |database, key, target| match database.properties.remove(&key) {
        Some(_) => Ok(()),
        None => Err(Msg::PropertyMissing(target.property.as_str(), &target.shown).into()),
    })
}

fn change(
    cx: &mut Cx<'_>,
    target: &Target,
    edit: impl FnOnce(&mut Database, (Securable, Name), &Target) -> types::Result<()>,
) -> Result<i32, Stop> {
    let key = (target.securable, target.property.clone());
    cx.session.change_catalog(|catalog| match catalog.database_mut(&target.database) {
        Some(database) => edit(database, key, target),
        None => Err(Msg::DatabaseNotFound(&target.database).into()),
    })?;
    Ok(0)
}

/// Returns true if the session has ALTER on the securable, or for a type on its schema.
fn may_alter(of: Securable, cx: &Cx<'_>) -> bool {
    let rights = &cx.session.identity.rights;
    let database = cx.session.catalog.database(&cx.session.identity.database);
    let Some(database) = database.filter(|_| !rights.is_all()) else { return true };
    let on_schema = |schema| rights.has_on_schema(database, schema, "ALTER");
    match of.class {
        PropertyClass::Database => rights.has_of_database(database, "ALTER"),
        PropertyClass::Schema => database.schema_by_id(of.major_id).is_none_or(on_schema),
        PropertyClass::DatabasePrincipal => {
            let mut all = database.principals.values();
            all.find(|p| p.id == of.major_id).is_none_or(|p| match p.kind {
                PrincipalKind::SqlUser => rights.has_of_database(database, "ALTER ANY USER"),
                PrincipalKind::DatabaseRole => rights.alters_role(database, p),
            })
        }
        PropertyClass::Type => {
            let found = database.types.values().find(|t| t.id == of.major_id);
            found.and_then(|t| database.schema(&t.schema)).is_none_or(on_schema)
        }
        PropertyClass::ObjectOrColumn | PropertyClass::Parameter | PropertyClass::Index => {
            let object = database.object_by_id(of.major_id).or_else(|| {
                // A constraint belongs to its table.
                let table =
                    database.tables().find(|t| t.constraint_ids().any(|id| id == of.major_id));
                table.and_then(|table| database.object_by_id(table.id))
            });
            let object = match object {
                Some(Object::Trigger(trigger)) => database.object_by_id(trigger.parent_id),
                other => other,
            };
            object.is_none_or(|object| rights.alters(database, object))
        }
    }
}

/// Finds the securable that the levels name; `first` is the position of the first level's
/// arguments.
fn target(
    procedure: &str,
    first: usize,
    arguments: &[Argument],
    cx: &Cx<'_>,
) -> Result<Target, Stop> {
    let invalid = || Stop::from(Msg::InvalidProcedureOption(procedure));
    let property =
        text(arguments, 0, "@name", cx)?.filter(|n| !n.is_empty()).ok_or_else(invalid)?;
    let mut levels = Vec::new();
    for level in 0..3 {
        let at = first + 2 * level;
        let kind = text(arguments, at, &format!("@level{level}type"), cx)?;
        let name = text(arguments, at + 1, &format!("@level{level}name"), cx)?;
        match (kind, name) {
            (Some(kind), Some(name)) if levels.len() == level => {
                levels.push(Level { kind, name: Some(name) });
            }
            (None, None) => {}
            _ => return Err(invalid()),
        }
    }
    let database = cx.session.identity.database.to_string();
    let names: Vec<&str> = levels.iter().filter_map(|level| level.name.as_deref()).collect();
    let shown = if names.is_empty() { "object specified".to_owned() } else { names.join(".") };
    let found = match cx.session.catalog.database(&database) {
        Some(of) => {
            find(&Scope { session: cx.session, database: of, arguments: &[], needed: &[] }, &levels)
        }
        None => return Err(Msg::DatabaseNotFound(&database).into()),
    };
    let securable = found.first().map(Found::securable);
    let Some(securable) = securable.filter(|of| may_alter(*of, cx)) else {
        return Err(Msg::PropertyNotPermitted(&shown).into());
    };
    Ok(Target { database, securable, property: Name::new(&property), shown })
}

/// Returns the value as a `sql_variant`; NULL if there is none.
fn value(arguments: &[Argument], cx: &Cx<'_>) -> Result<Value, Stop> {
    let Some(given) = argument(arguments, 1, "@value").filter(|a| !a.default && !a.value.is_null())
    else {
        return Ok(Value::Null);
    };
    let limited = match given.ty.data_type {
        DataType::NVarChar(Length::Max) => DataType::NVarChar(Length::Limited(4_000)),
        DataType::VarChar(Length::Max) => DataType::VarChar(Length::Limited(8_000)),
        DataType::VarBinary(Length::Max) => DataType::VarBinary(Length::Limited(8_000)),
        other => other,
    };
    let bytes = match &given.value {
        Value::NVarChar(bytes) | Value::VarChar(bytes) | Value::VarBinary(bytes) => bytes.len(),
        _ => 0,
    };
    if bytes > VALUE_BYTES_MAX {
        return Err(Msg::PropertyTooLong.into());
    }
    let narrow = ColumnType { data_type: limited, ..given.ty };
    let value = convert_argument(given.value.clone(), &given.ty, &narrow, cx.session)?;
    let to = ColumnType { data_type: DataType::SqlVariant, ..given.ty };
    convert_argument(value, &narrow, &to, cx.session)
}
