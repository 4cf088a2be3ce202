//! ALTER TABLE .. REBUILD, and the partitions of ALTER INDEX .. REBUILD and REORGANIZE.

use std::sync::Arc;

use tsql::ast::{self, PartitionChoice};
use types::{Error, Msg, Result, Value};

use super::partition::Valued;
use ::catalog::{PartitionedOn, ShownOptions, TableDef};
use ::compile::shape::index_option::{compression, show};
use ::compile::shape::partition::compress;
use ::executor::Cx;

/// Runs ALTER TABLE .. REBUILD. Rows in memory have neither pages nor fragments, so only the
/// options that the catalog shows change: those of the heap or the clustered index.
pub(crate) fn table(
    table: &Arc<TableDef>,
    options: &[ast::IndexOption],
    partition: (&ast::PartitionChoice, &[Valued]),
    cx: &mut Cx<'_>,
) -> Result<()> {
    let mut next = TableDef::clone(table);
    let mut of_heap = ShownOptions { compression: table.compression, ..ShownOptions::default() };
    let clustered = next.indexes.iter_mut().find(|index| index.clustered);
    let is_heap = clustered.is_none();
    let shown = clustered.map_or(&mut of_heap, |index| &mut index.shown);
    let before = *shown;
    let name = if is_heap { table.name.clone() } else { clustered_name(table) };
    let kind = if is_heap { "table" } else { "index" };
    let mut on = table.partitioned().cloned();
    let subject = ("ALTER TABLE", kind, name.as_str());
    rebuild_partitions(table, &mut on, (partition, options), subject, cx)?;
    if !matches!(partition.0, PartitionChoice::One(_)) {
        let mut whole = options.iter().filter(|option| option.on_partitions.is_empty());
        whole.try_for_each(|option| show(shown, option))?;
    }
    if *shown == before && on.as_ref() == table.partitioned() {
        return Ok(());
    }
    if is_heap {
        next.compression = of_heap.compression;
    }
    match next.indexes.iter_mut().find(|index| index.clustered) {
        Some(index) => index.on = on,
        None => next.on = on,
    }
    super::table::replace(next, cx)
}

fn clustered_name(table: &TableDef) -> String {
    let clustered = table.indexes.iter().find(|index| index.clustered);
    clustered.map_or_else(String::new, |index| index.name.clone())
}

/// The words of messages about an index or table: the statement, the kind of the object, its name.
pub(crate) type Subject<'a> = (&'a str, &'a str, &'a str);

/// Sets DATA_COMPRESSION of the partitions that REBUILD is for. Options without ON PARTITIONS of a
/// statement for all partitions are the caller's.
///
/// # Errors
/// 7729 for a number and an object that is not partitioned, 7730 for one that does not exist, 155 for
/// an option that one partition can't have, 10737 for ON PARTITIONS without PARTITION = ALL.
pub(crate) fn rebuild_partitions(
    table: &TableDef,
    on: &mut Option<PartitionedOn>,
    ((choice, values), options): ((&PartitionChoice, &[Valued]), &[ast::IndexOption]),
    (statement, kind, name): Subject<'_>,
    cx: &Cx<'_>,
) -> Result<()> {
    let database = cx.session.catalog.database_by_id(table.database_id).map(AsRef::as_ref);
    let mut partly = options.iter().filter(|option| !option.on_partitions.is_empty()).peekable();
    if let PartitionChoice::One(_) = choice {
        let verb = statement.trim_start_matches("ALTER ").to_ascii_lowercase();
        let number = numbered(table, on.as_ref(), (values, cx), (statement, kind, name))?;
        let Some(number) = number else {
            return Err(Msg::PartitionMissing(kind, value_of(values), kind, name).into());
        };
        let Some(on) = on.as_mut() else {
            return Err(Msg::NotPartitioned("alter", &verb, name).into());
        };
        for option in options {
            match (&*option.name, option.on_partitions.is_empty()) {
                ("DATA_COMPRESSION", true) => {
                    on.compress(number, compression(&option.name, &option.value)?);
                }
                ("MAXDOP" | "ONLINE" | "SORT_IN_TEMPDB" | "RESUMABLE" | "MAX_DURATION", true) => {}
                ("DATA_COMPRESSION", false) => {
                    return Err(Msg::SyntaxNear("ON").into());
                }
                _ => {
                    let kind = "ALTER INDEX REBUILD PARTITION";
                    return Err(Msg::UnrecognizedOption(&option.written, kind).into());
                }
            }
        }
        return Ok(());
    }
    if partly.peek().is_some() && *choice != PartitionChoice::All {
        return Err(Msg::RebuildNeedsAll.into());
    }
    let whole = |option: &&ast::IndexOption| option.on_partitions.is_empty();
    let says_whole = options.iter().filter(whole).any(|o| *o.name == *"DATA_COMPRESSION");
    if says_whole && partly.peek().is_some() {
        return Err(Msg::CompressionTwice.into());
    }
    compress(on.as_mut(), database, partly, ("alter", kind, name))?;
    if says_whole && let Some(on) = on.as_mut() {
        on.compression.clear();
    }
    Ok(())
}

fn value_of(values: &[Valued]) -> i64 {
    match values.first() {
        Some((Value::TinyInt(number), _)) => i64::from(*number),
        Some((Value::SmallInt(number), _)) => i64::from(*number),
        Some((Value::Int(number), _)) => i64::from(*number),
        Some((Value::BigInt(number), _)) => *number,
        _ => 0,
    }
}

/// Returns the partition that `PARTITION = n` names; `None` if the object has fewer.
fn numbered(
    table: &TableDef,
    on: Option<&PartitionedOn>,
    (values, cx): (&[Valued], &Cx<'_>),
    (statement, kind, name): Subject<'_>,
) -> Result<Option<u32>> {
    let value = values.first().ok_or(Msg::InternalError)?;
    let number = super::switch::partition_number(value, (statement, kind, name))?;
    let database = cx.session.catalog.database_by_id(table.database_id);
    let function = on.and_then(|on| database.and_then(|it| it.function_of(on)));
    let Some(function) = function else {
        let verb = if statement == "ALTER TABLE" { "table" } else { "index" };
        return Err(Msg::NotPartitioned("alter", verb, name).into());
    };
    Ok(usize::try_from(number).is_ok_and(|n| n <= function.fanout()).then_some(number))
}

/// Checks PARTITION = n of REORGANIZE: 7729 for an index that is not partitioned, 2586 for a number
/// that does not exist.
pub(crate) fn check_reorganized(
    table: &TableDef,
    on: Option<&PartitionedOn>,
    (choice, values): (&PartitionChoice, &[Valued]),
    subject: Subject<'_>,
    cx: &Cx<'_>,
) -> Result<()> {
    let PartitionChoice::One(_) = choice else { return Ok(()) };
    match numbered(table, on, (values, cx), subject)? {
        Some(_) => Ok(()),
        None => {
            let number = value_of(values);
            Err(Msg::PartitionIndexNotFound(number, subject.2, &table.name).into())
        }
    }
}

/// Checks ALTER INDEX ALL .. PARTITION = n: all indexes must be partitioned.
///
/// # Errors
/// 7733 if only some are; 7729 if none is.
pub(crate) fn check_alike(alter: &ast::AlterIndex, table: &TableDef) -> Result<()> {
    if alter.index.is_some() || !matches!(alter.partition, PartitionChoice::One(_)) {
        return Ok(());
    }
    let with = table.indexes.iter().find(|index| index.on.is_some());
    let without = table.indexes.iter().find(|index| index.on.is_none());
    match (with, without) {
        (Some(with), Some(without)) => {
            let error = Msg::IndexUnaligned("ALTER INDEX", "index", &with.name, &without.name);
            Err(Error::from(error).with_state(2))
        }
        (None, _) => Err(Msg::NotPartitioned("alter", "index", "ALL").into()),
        (Some(_), None) => Ok(()),
    }
}

/// Checks PARTITION = n of a columnstore index, whose rows are all rewritten: row groups have rows of
/// several partitions.
///
/// # Errors
/// 7729 for an index that is not partitioned, 7730 for a number that does not exist.
pub(crate) fn check_columnstore(
    alter: &ast::AlterIndex,
    values: &[Valued],
    table: &TableDef,
    cx: &Cx<'_>,
) -> Result<()> {
    let PartitionChoice::One(_) = alter.partition else { return Ok(()) };
    let secondary = table.column_index.as_ref().map(|index| (&index.name, &index.on));
    let index = table.columnstore.as_ref().map(|index| (&index.name, &index.on)).or(secondary);
    let Some((name, on)) = index else { return Ok(()) };
    let subject = ("ALTER INDEX", "index", name.as_str());
    match numbered(table, on.as_ref(), (values, cx), subject)? {
        Some(_) => Ok(()),
        None => Err(Msg::PartitionMissing("index", value_of(values), "index", name).into()),
    }
}
