//! CREATE, UPDATE and DROP STATISTICS.
//!
//! Storage counts its rows and keys as they come and go, so that there is nothing to compute: the
//! definition is kept with the table, where its name is taken and its columns are checked.

use tsql::ast;
use types::{Error, Msg, Result};

use super::shape::duplicate_index;
use super::{cannot_drop, refuse, table};
use crate::catalog::name::Name;
use crate::catalog::{StatisticsDef, TableDef};
use crate::exec::Cx;

/// Options of CREATE and UPDATE STATISTICS: how much is read, when, and by whom. Nothing has to be read.
const OPTIONS: [&str; 13] = [
    "ALL",
    "AUTO_DROP",
    "COLUMNS",
    "FULLSCAN",
    "INCREMENTAL",
    "INDEX",
    "MAXDOP",
    "NORECOMPUTE",
    "PAGECOUNT",
    "PERSIST_SAMPLE_PERCENT",
    "RESAMPLE",
    "ROWCOUNT",
    "SAMPLE",
];

/// Checks the options.
///
/// # Errors
/// 40517 for one that is not known.
pub(super) fn check_options(options: &[ast::IndexOption]) -> Result<()> {
    let unknown = options.iter().find(|option| !OPTIONS.contains(&option.name.as_ref()));
    unknown.map_or(Ok(()), |option| refuse(&format!("the option {} of statistics", option.name)))
}

pub(super) fn create(create: &ast::CreateStatistics, cx: &mut Cx<'_>) -> Result<()> {
    check_options(&create.options)?;
    if create.filter.is_some() {
        return refuse("filtered statistics");
    }
    let table = table::find(&create.table, cx).map_err(|error| match error.number {
        4902 => Msg::ObjectNotFound(&create.table.to_string()).into(),
        _ => error,
    })?;
    let mut columns = Vec::with_capacity(create.columns.len());
    for name in &create.columns {
        let place = table.column(name).and_then(|place| u16::try_from(place).ok());
        columns.push(place.ok_or_else(|| Error::from(Msg::InvalidColumn(name)))?);
    }
    let taken = table.statistics.iter().any(|s| Name::same(&s.name, &create.name));
    if taken || table.index(&create.name).is_some() {
        return Err(duplicate_index(&create.name, &table.qualified_name()));
    }
    let mut next = TableDef::clone(&table);
    next.statistics.push(StatisticsDef { name: create.name.to_string(), columns });
    table::replace(next, cx)
}

/// `DROP STATISTICS table.name`; tells whether it was there.
pub(super) fn drop(name: &ast::ObjectName, cx: &mut Cx<'_>) -> Result<bool> {
    let Some(table_name) = &name.schema else {
        return Err(cannot_drop("statistics", &name.to_string()));
    };
    let mut of = ast::ObjectName::simple(table_name.clone());
    of.schema.clone_from(&name.database);
    let Ok(table) = table::find(&of, cx) else { return Ok(false) };
    let place = table.statistics.iter().position(|s| Name::same(&s.name, &name.object));
    let Some(place) = place else { return Ok(false) };
    let mut next = TableDef::clone(&table);
    next.statistics.remove(place);
    table::replace(next, cx)?;
    Ok(true)
}
