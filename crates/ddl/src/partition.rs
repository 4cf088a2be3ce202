//! CREATE, ALTER and DROP of partition functions and partition schemes.
//!
//! All rows of a table are in one place, so SPLIT and MERGE change definitions only: a row's
//! partition is computed when it is asked for.

use std::sync::Arc;

use tsql::ast::{self, DropKind, PartitionStatement};
use types::value::ColumnType;
use types::{Collation, DataType, Error, Mode, Msg, Result, Value};

use super::{change_database, table};
use ::binder::types::{DefaultLength, system_type};
use ::catalog::name::Name;
use ::catalog::partition::PARTITIONS_MAX;
use ::catalog::{Database, Object, PartitionFunction, PartitionScheme, TableDef};
use ::compile::table::created;
use ::executor::{Cx, fault};

/// The value of an expression of a definition, and its type.
pub type Valued = (Value, ColumnType);

/// Returns the expressions whose values a definition needs before it runs, in the order in which it
/// takes them.
pub fn expressions(kind: &ast::StatementKind) -> Vec<&ast::Expr> {
    use ast::{AlterTableAction as Action, PartitionChoice, StatementKind as S};
    match kind {
        S::Partition(statement) => match &**statement {
            PartitionStatement::CreateFunction { values, .. } => values.iter().collect(),
            PartitionStatement::AlterFunction { value, .. } => value.iter().collect(),
            PartitionStatement::CreateScheme { .. } | PartitionStatement::AlterScheme { .. } => {
                Vec::new()
            }
        },
        S::Truncate(truncate) => {
            let ranges = truncate.partitions.iter();
            ranges.flat_map(|(from, to)| std::iter::once(from).chain(to)).collect()
        }
        S::AlterIndex(alter) => match &alter.partition {
            PartitionChoice::One(number) => vec![number],
            PartitionChoice::Unsaid | PartitionChoice::All => Vec::new(),
        },
        S::AlterTable(alter) => match &alter.action {
            Action::Rebuild { partition: PartitionChoice::One(number), .. } => vec![number],
            Action::Switch { source_partition, target_partition, .. } => {
                source_partition.iter().chain(target_partition).collect()
            }
            _ => Vec::new(),
        },
        _ => Vec::new(),
    }
}

/// Runs a statement on a partition function or scheme of the current database.
///
/// # Errors
/// As the statements' functions below; 15151 for one that does not exist.
pub(crate) fn run(
    statement: &PartitionStatement,
    values: &[Valued],
    cx: &mut Cx<'_>,
) -> Result<()> {
    match statement {
        PartitionStatement::CreateFunction { name, parameters, right, .. } => {
            create_function(name, parameters, *right, values, cx)
        }
        PartitionStatement::AlterFunction { name, split, .. } => {
            alter_function(name, *split, values.first(), cx)
        }
        PartitionStatement::CreateScheme { name, function, all, filegroups } => {
            create_scheme(name, function, *all, filegroups, cx)
        }
        PartitionStatement::AlterScheme { name, next } => alter_scheme(name, next.as_ref(), cx),
    }
}

/// CREATE PARTITION FUNCTION: 7703 and 7704 for parameters, 7705, 7708, 7719 and 7720 for values.
fn create_function(
    name: &ast::Ident,
    parameters: &[(ast::TypeName, Option<ast::Ident>)],
    right: bool,
    values: &[Valued],
    cx: &mut Cx<'_>,
) -> Result<()> {
    let [(of, collation)] = parameters else { return Err(Msg::PartitionSeveralTypes.into()) };
    let ty = parameter_type(of, collation.as_ref(), cx)?;
    if values.len() >= PARTITIONS_MAX {
        return Err(too_many());
    }
    let mut placed: Vec<(usize, Value)> = Vec::with_capacity(values.len());
    for (ordinal, value) in (1..).zip(values) {
        placed.push((ordinal, boundary(value, &ty, ordinal, cx)?));
    }
    let order = |a: &Value, b: &Value| types::compare::order(a, b, ty.collation);
    let is_sorted = placed.is_sorted_by(|a, b| order(&a.1, &b.1).is_le());
    placed.sort_by(|a, b| order(&a.1, &b.1));
    if let Some(pair) = placed.windows(2).find(|pair| order(&pair[0].1, &pair[1].1).is_eq()) {
        return Err(Msg::PartitionDuplicates(number(pair[0].0), number(pair[1].0)).into());
    }
    let database = Arc::clone(&cx.session.identity.database);
    change_database(cx.session, &database, |database| {
        let key = Name::new(name);
        if database.partition_functions.contains_key(&key) {
            return Err(Msg::ObjectExists(name).into());
        }
        let now = created();
        let function = PartitionFunction {
            id: database.next_function_id(),
            name: name.to_string(),
            ty,
            numeric: of.name.object.is("numeric"),
            right,
            values: placed.into_iter().map(|(_, value)| value).collect(),
            modified: now.clone(),
            created: now,
        };
        database.partition_functions.insert(key, Arc::new(function));
        Ok(())
    })?;
    if is_sorted { Ok(()) } else { fault::sent_message(cx, &Msg::PartitionUnsorted(name).into()) }
}

fn too_many() -> Error {
    Msg::TooManyPartitions(number(PARTITIONS_MAX)).into()
}

fn number(count: usize) -> i64 {
    i64::try_from(count).unwrap_or(i64::MAX)
}

/// Returns the type of a function's parameter: 7704 for a type without an order, a large one and one
/// of a user.
fn parameter_type(
    of: &ast::TypeName,
    collation: Option<&ast::Ident>,
    cx: &Cx<'_>,
) -> Result<ColumnType> {
    let invalid = |name: &str, state| Error::from(Msg::PartitionType(name)).with_state(state);
    let written = of.name.to_string();
    let database = cx.session.catalog.database(&cx.session.identity.database);
    let is_alias = of.name.object.is("sysname")
        || database.is_some_and(|database| {
            let schema = cx.session.schema_of_type(database, &of.name);
            database.user_type(schema, &of.name.object).is_some()
        });
    if is_alias {
        return Err(invalid(&written, 3));
    }
    let Some(data_type) = system_type(of, DefaultLength::Declaration)? else {
        return Err(invalid(&written, 2));
    };
    let is_comparable = !data_type.is_large()
        && !matches!(data_type, DataType::Xml | DataType::RowVersion | DataType::Text)
        && !matches!(data_type, DataType::NText | DataType::Image);
    if !is_comparable {
        let shown = if data_type == DataType::RowVersion { written } else { data_type.to_string() };
        return Err(invalid(&shown, 1));
    }
    let collation = match collation {
        Some(named) => {
            Collation::by_name(named).ok_or_else(|| Error::from(Msg::InvalidCollation(named)))?
        }
        None => database.map_or_else(Collation::default, |database| database.collation),
    };
    Ok(ColumnType { data_type, collation, nullable: true })
}

/// Converts a boundary value to the type of the parameter: 7705 if it does not convert, 7720 if it
/// would be cut.
fn boundary((value, from): &Valued, to: &ColumnType, ordinal: usize, cx: &Cx<'_>) -> Result<Value> {
    if value.is_null() {
        return Ok(Value::Null);
    }
    let failed = |state| Error::from(Msg::PartitionConversion(number(ordinal))).with_state(state);
    types::convert::check(&from.data_type, &to.data_type, Mode::Implicit).map_err(|_| failed(1))?;
    let options = cx.convert_options();
    let options =
        types::ConvertOptions { ansi_warnings: types::convert::AnsiWarnings::On, ..options };
    match types::convert(value, from, to, 0, Mode::Assignment, &options) {
        Ok(value) => Ok(trimmed(value, &to.data_type)),
        Err(error) if error.number == 8152 => Err(Msg::PartitionTruncation(number(ordinal)).into()),
        Err(_) => Err(failed(2)),
    }
}

/// Removes the trailing blanks of a `varchar` and the trailing zeros of a `varbinary`, as SQL Server
/// stores boundary values.
fn trimmed(value: Value, ty: &DataType) -> Value {
    let (bytes, padding) = match (&value, ty) {
        (Value::VarChar(bytes), DataType::VarChar(_)) => (bytes, b' '),
        (Value::VarBinary(bytes), DataType::VarBinary(_)) => (bytes, 0),
        _ => return value,
    };
    let bytes = bytes.as_slice();
    let length = bytes.iter().rposition(|byte| *byte != padding).map_or(0, |last| last + 1);
    let kept = types::Bytes::copy_from(&bytes[..length]);
    match value {
        Value::VarChar(_) => Value::VarChar(kept),
        _ => Value::VarBinary(kept),
    }
}

/// Returns the error of a function or scheme that does not exist.
fn unknown(verb: &str, kind: DropKind, name: &str) -> Error {
    Msg::PrincipalNotFound(verb, super::drop::word(kind), name).into()
}

/// ALTER PARTITION FUNCTION: 7714 without RANGE, 7721 for a boundary value that exists and 7715 for
/// one that does not, 7710 for a scheme without NEXT USED, 7716 and 7719 for the number of
/// partitions.
fn alter_function(
    name: &ast::Ident,
    split: bool,
    value: Option<&Valued>,
    cx: &mut Cx<'_>,
) -> Result<()> {
    let database = Arc::clone(&cx.session.identity.database);
    let found = cx.session.catalog.database(&database);
    let function = found.and_then(|it| it.partition_functions.get(&Name::new(name)));
    let unknown = || unknown("alter", DropKind::PartitionFunction, name);
    let function = function.ok_or_else(unknown)?;
    if !split && function.values.is_empty() {
        return Err(Error::from(Msg::ZeroPartitions).with_state(2));
    }
    let value = value.ok_or(Msg::RangeValueMissing)?;
    let value = boundary(value, &function.ty, 1, cx)?;
    close_tables(function.id, &database, cx)?;
    change_database(cx.session, &database, |database| {
        let function = database.partition_functions.get(&Name::new(name)).ok_or_else(unknown)?;
        let mut next = PartitionFunction::clone(function);
        next.modified = created();
        let change = match split {
            true => split_range(&mut next, value, database)?,
            false => merge_range(&mut next, &value)?,
        };
        let id = next.id;
        database.partition_functions.insert(Name::new(name), Arc::new(next));
        follow_schemes(database, id, change);
        follow_tables(database, id, change);
        Ok(())
    })
}

/// A change of the partitions of a function; places count from 0.
#[derive(Clone, Copy)]
enum Change {
    /// The partition `of` was split, and the new one is at `new`.
    Split { of: usize, new: usize },
    /// The partition at this place was removed.
    Merged(usize),
}

fn split_range(next: &mut PartitionFunction, value: Value, database: &Database) -> Result<Change> {
    if next.fanout() >= PARTITIONS_MAX {
        return Err(too_many());
    }
    let place = match next.find(&value) {
        Ok(place) => return Err(Msg::PartitionValueExists(number(place + 1)).into()),
        Err(place) => place,
    };
    let mut schemes = database.partition_schemes.values();
    if let Some(bare) = schemes.find(|it| it.function == next.id && it.next.is_none()) {
        return Err(Msg::NoNextUsed(&bare.name).into());
    }
    next.values.insert(place, value);
    Ok(Change::Split { of: place, new: place + usize::from(next.right) })
}

fn merge_range(next: &mut PartitionFunction, value: &Value) -> Result<Change> {
    let place = next.find(value).map_err(|_| Error::from(Msg::RangeValueNotFound))?;
    next.values.remove(place);
    // The partition that held the boundary value is removed.
    Ok(Change::Merged(place + usize::from(next.right)))
}

/// Locks the tables that a function partitions against writers and other definitions.
fn close_tables(function: i32, database: &str, cx: &mut Cx<'_>) -> Result<()> {
    let Some(found) = cx.session.catalog.database(database) else { return Ok(()) };
    let tables: Vec<Arc<TableDef>> =
        found.tables().filter(|table| is_by(found, table, function)).cloned().collect();
    for table in &tables {
        table::close(table, cx)?;
    }
    cx.session.refresh_catalog();
    Ok(())
}

/// Returns whether a table or one of its indexes is partitioned by a function.
fn is_by(database: &Database, table: &TableDef, function: i32) -> bool {
    let schemes = table.placements().filter_map(|on| database.partition_scheme(on.scheme));
    schemes.into_iter().any(|scheme| scheme.function == function)
}

/// Gives the new partition the filegroup that is marked as NEXT USED, or removes that of the merged
/// one.
fn follow_schemes(database: &mut Database, function: i32, change: Change) {
    for scheme in database.partition_schemes.values_mut().filter(|it| it.function == function) {
        let mut next = PartitionScheme::clone(scheme);
        match change {
            Change::Split { new, .. } => {
                if let Some(filegroup) = next.next.take() {
                    next.filegroups.insert(new, filegroup);
                }
            }
            Change::Merged(place) => {
                next.filegroups.remove(place);
            }
        }
        *scheme = Arc::new(next);
    }
}

/// Renumbers the partitions that have another DATA_COMPRESSION than their table. Both halves of a split
/// partition have that of the whole.
fn follow_tables(database: &mut Database, function: i32, change: Change) {
    let schemes = database.partition_schemes.values().filter(|it| it.function == function);
    let schemes: Vec<i32> = schemes.map(|scheme| scheme.id).collect();
    for object in database.objects.values_mut() {
        let Object::Table(table) = object else { continue };
        let is_its = |on: &&mut ::catalog::PartitionedOn| schemes.contains(&on.scheme);
        if !table.placements().any(|on| schemes.contains(&on.scheme) && !on.compression.is_empty())
        {
            continue;
        }
        let mut next = TableDef::clone(table);
        for on in next.placements_mut().filter(is_its) {
            on.compression = renumbered(&on.compression, change);
        }
        *table = Arc::new(next);
    }
}

fn renumbered(compression: &[(u32, u8)], change: Change) -> Vec<(u32, u8)> {
    let mut next = Vec::with_capacity(compression.len() + 1);
    for (number, level) in compression {
        let place = usize::try_from(number - 1).unwrap_or(usize::MAX);
        match change {
            Change::Split { of, .. } => {
                if place <= of {
                    next.push((*number, *level));
                }
                if place >= of {
                    next.push((number + 1, *level));
                }
            }
            Change::Merged(gone) if place == gone => {}
            Change::Merged(gone) => next.push((number - u32::from(place > gone), *level)),
        }
    }
    next
}

/// CREATE PARTITION SCHEME: 208 for an unknown function or filegroup, 7707 for too few filegroups,
/// 7723 for several with ALL, 2714 for a name that is taken.
fn create_scheme(
    name: &ast::Ident,
    function: &ast::Ident,
    all: bool,
    filegroups: &[ast::Ident],
    cx: &mut Cx<'_>,
) -> Result<()> {
    let database = Arc::clone(&cx.session.identity.database);
    let (next, ignored) = change_database(cx.session, &database, |database| {
        let found = database.partition_functions.get(&Name::new(function));
        let found = found.ok_or_else(|| Error::from(Msg::InvalidObject(function)))?;
        let taken = database.partition_schemes.contains_key(&Name::new(name))
            || database.filegroup_id(name).is_some();
        if taken {
            return Err(Msg::ObjectExists(name).into());
        }
        if all && filegroups.len() > 1 {
            return Err(Msg::AllNeedsOneFilegroup.into());
        }
        let mut groups: Vec<String> = Vec::with_capacity(filegroups.len());
        for group in filegroups {
            let known = database.filegroup_name(group);
            groups.push(known.ok_or_else(|| Error::from(Msg::InvalidObject(group)))?.to_owned());
        }
        if all {
            groups = vec![groups.concat(); found.fanout() + 1];
        }
        if groups.len() < found.fanout() {
            return Err(Msg::TooFewFilegroups(&found.name, name).into());
        }
        let mut beyond = groups.split_off(found.fanout()).into_iter();
        let next = beyond.next();
        let scheme = PartitionScheme {
            id: database.next_scheme_id(),
            name: name.to_string(),
            function: found.id,
            filegroups: groups,
            next: next.clone(),
        };
        database.partition_schemes.insert(Name::new(name), Arc::new(scheme));
        Ok((next, beyond.len()))
    })?;
    if let Some(next) = &next {
        fault::sent_message(cx, &Msg::NextUsed(name, next).into())?;
    }
    if ignored > 0 {
        fault::sent_message(cx, &Msg::FilegroupsIgnored(number(ignored)).into())?;
    }
    Ok(())
}

/// ALTER PARTITION SCHEME: 208 for an unknown filegroup; message 7710 if there is no mark to clear.
fn alter_scheme(name: &ast::Ident, next: Option<&ast::Ident>, cx: &mut Cx<'_>) -> Result<()> {
    let database = Arc::clone(&cx.session.identity.database);
    let had_mark = change_database(cx.session, &database, |database| {
        let key = Name::new(name);
        let group = match next {
            Some(group) => {
                let known = database.filegroup_name(group);
                Some(known.ok_or_else(|| Error::from(Msg::InvalidObject(group)))?.to_owned())
            }
            None => None,
        };
        let found = database.partition_schemes.get_mut(&key);
        let scheme = found.ok_or_else(|| unknown("alter", DropKind::PartitionScheme, name))?;
        let had_mark = scheme.next.is_some();
        *scheme = Arc::new(PartitionScheme { next: group, ..PartitionScheme::clone(scheme) });
        Ok(had_mark)
    })?;
    if had_mark || next.is_some() {
        return Ok(());
    }
    let warning = Error::from(Msg::NoNextUsed(name)).into_body();
    fault::sent_message(cx, &Error::custom(warning.number, 10, 1, warning.message))
}

/// Drops a partition function or scheme; false if it does not exist.
///
/// # Errors
/// 7706 for a function that a scheme uses, 7717 for a scheme that a table uses.
pub(crate) fn drop(kind: DropKind, name: &str, cx: &mut Cx<'_>) -> Result<bool> {
    let database = Arc::clone(&cx.session.identity.database);
    let key = Name::new(name);
    change_database(cx.session, &database, |database| {
        if kind == DropKind::PartitionFunction {
            let Some(function) = database.partition_functions.get(&key) else { return Ok(false) };
            if database.partition_schemes.values().any(|it| it.function == function.id) {
                return Err(Msg::PartitionFunctionUsed(&function.name).into());
            }
            return Ok(database.partition_functions.remove(&key).is_some());
        }
        let Some(scheme) = database.partition_schemes.get(&key) else { return Ok(false) };
        let uses = |table: &Arc<TableDef>| table.placements().any(|on| on.scheme == scheme.id);
        if database.tables().any(uses) {
            return Err(Msg::PartitionSchemeUsed(&scheme.name).into());
        }
        Ok(database.partition_schemes.remove(&key).is_some())
    })
}
