//! Functions about files, filegroups and index keys: FILE_ID, FILEGROUP_NAME, INDEXKEY_PROPERTY and
//! others. Nothing is stored in files; they are those that CREATE DATABASE declared.

use std::sync::Arc;

use types::{DataType, Msg, Result, Value};

use crate::function::entry::{flag, id, int, lookup, of, sysname, text};
use crate::function::metadata::{argument_table, current};
use crate::function::session::session_of;
use crate::function::{Call, Function};
use ::catalog::Database;
use ::catalog::name::Name;
use ::plan::function::Context;

pub(super) static FUNCTIONS: &[Function] = &[
    lookup(
        "FILE_ID",
        (1, 1),
        |_| Ok(of(DataType::SmallInt)),
        |cx, c, v| {
            Ok(match file_id(cx, c, v)? {
                Some(n) => i16::try_from(n).map_or(Value::Null, Value::SmallInt),
                None => Value::Null,
            })
        },
    ),
    lookup("FILE_IDEX", (1, 1), int, |cx, c, v| {
        Ok(file_id(cx, c, v)?.map_or(Value::Null, Value::Int))
    }),
    lookup("FILE_NAME", (1, 1), sysname, file_name),
    lookup("FILEGROUP_ID", (1, 1), int, filegroup_id),
    lookup("FILEGROUP_NAME", (1, 1), sysname, filegroup_name),
    lookup("INDEXKEY_PROPERTY", (4, 4), int, index_key_property),
    lookup("FULLTEXTSERVICEPROPERTY", (1, 1), int, full_text_property),
    // No assembly and no full-text catalog has a name that could be given: the answer for an unknown name.
    lookup("ASSEMBLYPROPERTY", (2, 2), |_| Ok(of(DataType::SqlVariant)), nothing),
    lookup("FULLTEXTCATALOGPROPERTY", (2, 2), int, nothing),
    // It binds, since DacFx names it in the batch that reads all definitions, for each row of a view that is empty.
    lookup(
        "XML_SCHEMA_NAMESPACE",
        (2, 3),
        |_| Ok(of(DataType::Xml)),
        |_, _, _| Err(Msg::NotSupported("XML_SCHEMA_NAMESPACE").into()),
    ),
    lookup("GETANSINULL", (0, 1), int, |cx, _, _| {
        Ok(flag(session_of(cx).options.ansi_null_default))
    }),
];

fn file_id(cx: &Context<'_>, call: &Call<'_>, values: &[Value]) -> Result<Option<i32>> {
    let Some((database, name)) = current(cx).zip(text(call, values, 0)?) else { return Ok(None) };
    let place = database.files.iter().position(|file| Name::same(&file.name, &name));
    Ok(place.and_then(|place| i32::try_from(place + 1).ok()))
}

fn file_name(cx: &mut Context<'_>, _: &Call<'_>, values: &[Value]) -> Result<Value> {
    let place = id(values, 0).and_then(|n| usize::try_from(n.checked_sub(1)?).ok());
    let name = current(cx).zip(place).and_then(|(database, place)| {
        database.files.get(place).map(|file| Value::nvarchar(&file.name))
    });
    Ok(name.unwrap_or_default())
}

/// The filegroups of a database, ordered by id.
fn filegroups(database: &Arc<Database>) -> Vec<&str> {
    let mut found: Vec<&str> = Vec::new();
    for file in database.files.iter().filter(|file| !file.log) {
        if !found.iter().any(|name| Name::same(name, &file.filegroup)) {
            found.push(&file.filegroup);
        }
    }
    found
}

fn filegroup_id(cx: &mut Context<'_>, call: &Call<'_>, values: &[Value]) -> Result<Value> {
    let Some((database, name)) = current(cx).zip(text(call, values, 0)?) else {
        return Ok(Value::Null);
    };
    let place = filegroups(&database).iter().position(|known| Name::same(known, &name));
    let number = place.and_then(|place| i32::try_from(place + 1).ok());
    Ok(number.map_or(Value::Null, Value::Int))
}

fn filegroup_name(cx: &mut Context<'_>, _: &Call<'_>, values: &[Value]) -> Result<Value> {
    let place = id(values, 0).and_then(|n| usize::try_from(n.checked_sub(1)?).ok());
    let Some((database, place)) = current(cx).zip(place) else { return Ok(Value::Null) };
    Ok(filegroups(&database).get(place).map_or(Value::Null, |name| Value::nvarchar(name)))
}

/// `INDEXKEY_PROPERTY(object, index, key, 'ColumnId' | 'IsDescending')`.
fn index_key_property(cx: &mut Context<'_>, call: &Call<'_>, values: &[Value]) -> Result<Value> {
    let (Some(table), Some(index), Some(place), Some(property)) =
        (argument_table(cx, values), id(values, 1), id(values, 2), text(call, values, 3)?)
    else {
        return Ok(Value::Null);
    };
    let index = table.indexes.iter().find(|i| i.id == index);
    let place = place.checked_sub(1).and_then(|place| usize::try_from(place).ok());
    let Some((column, descending)) = index.zip(place).and_then(|(i, at)| i.keys.get(at)) else {
        return Ok(Value::Null);
    };
    Ok(match property.to_ascii_lowercase().as_str() {
        "columnid" => Value::Int(i32::from(*column) + 1),
        "isdescending" => flag(*descending),
        _ => Value::Null,
    })
}

fn nothing(_: &mut Context<'_>, _: &Call<'_>, _: &[Value]) -> Result<Value> {
    Ok(Value::Null)
}

/// FULLTEXTSERVICEPROPERTY: full-text search is not installed.
fn full_text_property(_: &mut Context<'_>, call: &Call<'_>, values: &[Value]) -> Result<Value> {
    let property = text(call, values, 0)?.unwrap_or_default();
    Ok(match property.to_ascii_lowercase().as_str() {
        "isfulltextinstalled" => Value::Int(0),
        _ => Value::Null,
    })
}
