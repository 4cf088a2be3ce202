//! CREATE, UPDATE and DROP STATISTICS.
//!
//! Storage counts its rows and keys as they change, so nothing is computed here. The definition is
//! stored with the table, after checking that its name is free and its columns exist.

use tsql::ast::{self, OptionValue};
use types::{Error, Msg, Result};

use super::{cannot_drop, table};
use ::catalog::name::Name;
use ::catalog::{StatisticsDef, TableDef};
use ::compile::refuse;
use ::compile::shape::duplicate_index;
use ::executor::Cx;

/// Options of CREATE and UPDATE STATISTICS, which say how much of the table is read, when and by
/// how many threads. Nothing is read here.
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

/// Options that say how much is read; a statement may have one of them.
const AMOUNTS: [&str; 3] = ["FULLSCAN", "RESAMPLE", "SAMPLE"];

/// Checks the options; returns true if NORECOMPUTE is one of them.
///
/// 40517 for an unknown option and for INCREMENTAL, 102 for a value of the wrong kind, 1052 for two
/// of FULLSCAN, SAMPLE and RESAMPLE.
pub fn check_options(options: &[ast::IndexOption]) -> Result<bool> {
    let mut amount: Option<&str> = None;
    for option in options {
        let name = option.name.as_ref();
        if !OPTIONS.contains(&name) {
            return refuse(&format!("the option {name} of statistics"));
        }
        match (name, &option.value) {
            ("INCREMENTAL", OptionValue::On) => return refuse("INCREMENTAL = ON of statistics"),
            (
                "INCREMENTAL" | "AUTO_DROP" | "PERSIST_SAMPLE_PERCENT",
                OptionValue::On | OptionValue::Off,
            )
            | ("MAXDOP" | "PAGECOUNT" | "ROWCOUNT", OptionValue::Literal(_))
            | ("SAMPLE", OptionValue::Quantity(..)) => {}
            (
                "ALL" | "COLUMNS" | "FULLSCAN" | "INDEX" | "NORECOMPUTE" | "RESAMPLE",
                OptionValue::None,
            ) => {}
            _ => return Err(Msg::SyntaxNear(name).into()),
        }
        if !option.on_partitions.is_empty() {
            return refuse("ON PARTITIONS of statistics");
        }
        if AMOUNTS.contains(&name)
            && let Some(other) = amount.replace(name)
        {
            return Err(conflict(other, name));
        }
    }
    Ok(options.iter().any(|option| *option.name == *"NORECOMPUTE"))
}

fn conflict(one: &str, other: &str) -> Error {
    let text = format!("Conflicting UPDATE STATISTICS options \"{one}\" and \"{other}\".");
    Error::custom(1052, 15, 1, text)
}

/// Runs UPDATE STATISTICS. Storage maintains statistics as rows change, so only NORECOMPUTE is
/// stored.
///
/// # Errors
/// As [`check_options`]; 2706 for an unknown table, 2767 for unknown statistics.
pub fn update(update: &ast::UpdateStatistics, cx: &mut Cx<'_>) -> Result<()> {
    let no_recompute = check_options(&update.options)?;
    let table = table::find(&update.table, cx).map_err(|error| match error.number {
        4902 => {
            let text = format!("Table '{}' does not exist.", update.table.object);
            Error::custom(2706, 16, 6, text)
        }
        _ => error,
    })?;
    crate::disable::check_clustered_enabled(&table)?;
    let mut next = TableDef::clone(&table);
    for name in &update.names {
        let of_columns = || table.has_columnstore(name) || table.has_column_index(name);
        let named = next.statistics.iter().any(|s| Name::same(&s.name, name));
        if !named && !next.has_index(name) && !of_columns() {
            let text = format!("Could not locate statistics '{name}' in the system catalogs.");
            return Err(Error::custom(2767, 16, 1, text));
        }
    }
    let wanted = |own: &str| {
        update.names.is_empty() || update.names.iter().any(|name| Name::same(name, own))
    };
    let indexes = next
        .indexes
        .iter_mut()
        .chain(&mut next.disabled)
        .map(|i| (&i.name, &mut i.shown.no_recompute));
    let named = next.statistics.iter_mut().map(|s| (&s.name, &mut s.no_recompute));
    let mut is_changed = false;
    for (_, set) in indexes.chain(named).filter(|(name, _)| wanted(name)) {
        is_changed |= *set != no_recompute;
        *set = no_recompute;
    }
    if is_changed { table::replace(next, cx) } else { Ok(()) }
}

/// Runs CREATE STATISTICS: computes the histogram from all rows.
///
/// # Errors
/// 1927 if the name is taken; 40517 for unsupported options.
pub fn create(create: &ast::CreateStatistics, cx: &mut Cx<'_>) -> Result<()> {
    let no_recompute = check_options(&create.options)?;
    if create.filter.is_some() {
        return refuse("filtered statistics");
    }
    let table = table::find(&create.table, cx).map_err(|error| match error.number {
        4902 => Msg::ObjectNotFound(&create.table.to_string()).into(),
        _ => error,
    })?;
    crate::disable::check_clustered_enabled(&table)?;
    let mut columns = Vec::with_capacity(create.columns.len());
    for name in &create.columns {
        let place = table.column(name).and_then(|place| u16::try_from(place).ok());
        columns.push(place.ok_or_else(|| Error::from(Msg::InvalidColumn(name)))?);
    }
    let taken = table.statistics.iter().any(|s| Name::same(&s.name, &create.name));
    if taken || table.has_index(&create.name) {
        return Err(duplicate_index(&create.name, &table.qualified_name()));
    }
    let mut next = TableDef::clone(&table);
    next.statistics.push(StatisticsDef { name: create.name.to_string(), columns, no_recompute });
    table::replace(next, cx)
}

/// Runs `DROP STATISTICS table.name`; returns false if they do not exist.
pub fn drop(name: &ast::ObjectName, cx: &mut Cx<'_>) -> Result<bool> {
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
