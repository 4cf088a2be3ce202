//! ALTER TABLE .. SWITCH: moves the rows of a table or partition to an empty table or partition.
//!
//! All rows of a table are in one place, so the rows are copied and deleted, in one statement: the
//! time it takes grows with their number. The checks are SQL Server's: both tables are alike, and
//! constraints prove that the rows fit, so that none of them needs to be read.

use std::sync::Arc;

use tsql::ast::{self, OptionValue};
use types::{Error, Msg, Result, Value};

use super::domain::Domain;
use super::partition::Valued;
use super::table;
use ::binder::dml::{Partitions, bind_move, bind_removal, bind_rows_of};
use ::catalog::name::Name;
use ::catalog::{
    CheckDef, ColumnDef, Database, IndexDef, PartitionFunction, PartitionedOn, TableDef,
};
use ::compile::refuse;
use ::compile::shape::partition::type_name;
use ::executor::{Cx, dml, fault};
use ::plan::expr::Register;
use compile::binding::over_columns;

/// One side of the statement.
struct Side {
    table: Arc<TableDef>,
    /// Name with database and schema, for messages.
    name: String,
    /// For a partitioned table: its placement, function and the number of the partition.
    part: Option<(PartitionedOn, Arc<PartitionFunction>, usize)>,
}

impl Side {
    /// Returns the partition for the binder; `None` for a whole table.
    fn partitions(&self) -> Option<Partitions> {
        self.part.as_ref().map(|(on, function, number)| Partitions {
            database: self.table.database_id,
            function: function.id,
            column: usize::from(on.column),
            numbers: vec![i32::try_from(*number).unwrap_or(i32::MAX)],
        })
    }

    fn number(&self) -> i64 {
        self.part.as_ref().map_or(0, |(_, _, number)| i64::try_from(*number).unwrap_or(i64::MAX))
    }
}

/// Runs SWITCH. `source` is locked against writers.
///
/// # Errors
/// 4903 to 4985 as the checks below say.
pub(crate) fn run(
    source: Arc<TableDef>,
    names: (&ast::ObjectName, &ast::ObjectName),
    options: &[ast::NamedOption],
    (from, to): (Option<&Valued>, Option<&Valued>),
    cx: &mut Cx<'_>,
) -> Result<()> {
    options.iter().try_for_each(check_option)?;
    let target = target_of(names.1, cx)?;
    if Arc::ptr_eq(&source.rows, &target.rows) {
        return Err(Msg::SwitchSame(&names.0.to_string(), &names.1.to_string()).into());
    }
    check_kinds(&source, &target, cx)?;
    let (source, target) = (side(source, from, true, cx)?, side(target, to, false, cx)?);
    for side in [&source, &target] {
        check_aligned(side, cx)?;
    }
    check_columns(&source, &target)?;
    check_empty(&target, cx)?;
    check_foreign_keys(&source, &target, cx)?;
    check_indexes(&source, &target)?;
    check_values(&source, &target, cx)?;
    check_compression(&source, &target)?;
    move_rows(&source, &target, cx)
}

/// Checks an option of WITH: a wait at low priority that gives up has no meaning here, so only
/// ABORT_AFTER_WAIT = NONE is accepted.
fn check_option(option: &ast::NamedOption) -> Result<()> {
    let OptionValue::List(list) = &option.value else {
        return Err(Msg::SyntaxNear(&option.written).into());
    };
    if *option.name != *"WAIT_AT_LOW_PRIORITY" {
        return Err(Msg::SyntaxNear(&option.written).into());
    }
    for inner in list {
        match (&*inner.name, &inner.value) {
            ("MAX_DURATION", _) => {}
            ("ABORT_AFTER_WAIT", value) => match value.word() {
                Some(word) if word.eq_ignore_ascii_case("NONE") => {}
                Some(word) if word.eq_ignore_ascii_case("SELF") => {
                    return refuse("ABORT_AFTER_WAIT = SELF");
                }
                Some(word) if word.eq_ignore_ascii_case("BLOCKERS") => {
                    return refuse("ABORT_AFTER_WAIT = BLOCKERS");
                }
                _ => return Err(Msg::SyntaxNear(&inner.name).into()),
            },
            _ => return Err(Msg::SyntaxNear(&inner.name).into()),
        }
    }
    Ok(())
}

/// Finds and locks the target: 1088 if it does not exist, 4949 if it is no table.
fn target_of(name: &ast::ObjectName, cx: &mut Cx<'_>) -> Result<Arc<TableDef>> {
    let written = name.to_string();
    table::find_alone(name, cx).map_err(|error| {
        if error.number != 4902 {
            return error;
        }
        match crate::find_object(name, cx) {
            Some(_) => Msg::SwitchNotTable(&written).into(),
            None => Error::from(Msg::ObjectNotFound(&written)).with_state(29),
        }
    })
}

fn check_kinds(source: &TableDef, target: &TableDef, cx: &Cx<'_>) -> Result<()> {
    let name = cx.qualified(source);
    if source.database_id != target.database_id {
        let database = |table: &TableDef| {
            let found = cx.session.catalog.database_by_id(table.database_id);
            found.map_or_else(|| "tempdb".to_owned(), |database| database.name.clone())
        };
        let (own, other) = (database(source), database(target));
        let error = Msg::SwitchDatabase(&source.name, &own, &target.name, &other);
        return Err(error.into());
    }
    if source.is_versioned() {
        return Err(Msg::SwitchVersionedSource(&name).into());
    }
    if target.period.is_some() && source.period.is_none() {
        return Err(Msg::SwitchVersionedTarget(&name).into());
    }
    if target.is_versioned() || source.period.is_some() || target.period.is_some() {
        return refuse("ALTER TABLE .. SWITCH of tables with a period");
    }
    if source.memory_optimized || target.memory_optimized {
        return refuse("ALTER TABLE .. SWITCH of memory-optimized tables");
    }
    Ok(())
}

/// Resolves the partition number of one side: 4911 without one for a partitioned table, 4950 for
/// one that does not exist, 4957 and 7722 for a value that is no partition number. A table that is
/// not partitioned ignores it, with message 4903.
fn side(
    table: Arc<TableDef>,
    number: Option<&Valued>,
    is_source: bool,
    cx: &mut Cx<'_>,
) -> Result<Side> {
    let name = cx.qualified(&table);
    let state = if is_source { 1 } else { 2 };
    let number = number.map(|it| partition_number(it, ("ALTER TABLE", "table", &table.name)));
    let number = number.transpose()?;
    let database = cx.session.catalog.database_by_id(table.database_id);
    let on = table.partitioned().cloned();
    let function = on.as_ref().and_then(|on| database.and_then(|it| it.function_of(on))).cloned();
    let part = match (on.zip(function), number) {
        (None, None) => None,
        (None, Some(number)) => {
            let warning = Error::from(Msg::SwitchIgnored(i64::from(number), &name));
            fault::sent_message(cx, &warning.with_state(state))?;
            None
        }
        (Some(_), None) => {
            return Err(Error::from(Msg::SwitchNeedsNumber(&name)).with_state(state));
        }
        (Some((on, function)), Some(number)) => {
            let known = usize::try_from(number).ok().filter(|n| *n <= function.fanout());
            let known = known.ok_or(Msg::SwitchNoPartition(i64::from(number), &name))?;
            Some((on, function, known))
        }
    };
    Ok(Side { table, name, part })
}

/// Returns a partition number, from 1 to 15,000. The words are those of messages: the statement, and
/// kind and name of its object.
///
/// # Errors
/// 4957 for a value of another type, 7722 for a number out of range.
pub(crate) fn partition_number(
    (value, _): &Valued,
    (statement, kind, name): (&str, &str, &str),
) -> Result<u32> {
    let number = match value {
        Value::TinyInt(number) => i64::from(*number),
        Value::SmallInt(number) => i64::from(*number),
        Value::Int(number) => i64::from(*number),
        Value::BigInt(number) => *number,
        _ => {
            let error = Msg::PartitionNumberType(statement, kind, name);
            return Err(Error::from(error).with_state(3));
        }
    };
    let max = i64::try_from(::catalog::partition::PARTITIONS_MAX).unwrap_or(i64::MAX);
    let known = u32::try_from(number).ok().filter(|_| (1..=max).contains(&number));
    known.ok_or_else(|| Msg::PartitionNumberRange(number, kind, name, max).into())
}

/// Checks that both tables have the same columns: 4942 to 4946, 4952, 4958, 4965, 4966, 4985 and
/// 11412.
fn check_columns(source: &Side, target: &Side) -> Result<()> {
    let (from, to) = (source.name.as_str(), target.name.as_str());
    let (own, other) = (&source.table.columns, &target.table.columns);
    if own.len() != other.len() {
        let count = |columns: &[ColumnDef]| i64::try_from(columns.len()).unwrap_or(i64::MAX);
        return Err(Msg::SwitchColumnCount(from, count(own), to, count(other)).into());
    }
    for (ordinal, (a, b)) in (1..).zip(own.iter().zip(other)) {
        if !Name::same(&a.name, &b.name) {
            return Err(Msg::SwitchColumnName(&a.name, ordinal, from, &b.name, to).into());
        }
        check_column(a, b, (from, to))?;
    }
    Ok(())
}

fn check_column(a: &ColumnDef, b: &ColumnDef, (from, to): (&str, &str)) -> Result<()> {
    let name = a.name.as_str();
    if a.ty.data_type != b.ty.data_type || a.numeric != b.numeric {
        let own = type_name(&a.ty.data_type.to_string(), a.numeric);
        let other = type_name(&b.ty.data_type.to_string(), b.numeric);
        return Err(Msg::SwitchColumnType(name, &own, from, &other, to).into());
    }
    if a.ty.data_type.is_string() && a.ty.collation != b.ty.collation {
        return Err(Msg::SwitchCollation(name, from, to).into());
    }
    match (&a.computed, &b.computed) {
        (Some(own), Some(other)) if own.text != other.text => {
            return Err(Msg::SwitchFormula(name, &own.text, from, to, &other.text).into());
        }
        (Some(_), None) => return Err(Msg::SwitchComputed(name, from, to).into()),
        (None, Some(_)) => return Err(Msg::SwitchComputed(name, to, from).into()),
        (Some(_), Some(_)) | (None, None) => {}
    }
    if a.persisted != b.persisted {
        return Err(Msg::SwitchPersisted(name, from, to).into());
    }
    if a.ty.nullable != b.ty.nullable {
        return Err(Msg::SwitchNullability(name, from, to).into());
    }
    if a.trims != b.trims {
        return Err(Msg::SwitchTrims(name, from, to).into());
    }
    if a.row_guid != b.row_guid {
        return Err(Msg::SwitchRowGuid(name, from, to).into());
    }
    if a.sparse != b.sparse {
        return Err(Msg::SwitchSparse(name, from, to).into());
    }
    Ok(())
}

/// Checks that the indexes of a partitioned table are aligned with it: 7733, 4912 and 4908.
fn check_aligned(side: &Side, cx: &Cx<'_>) -> Result<()> {
    let Some((on, function, _)) = &side.part else { return Ok(()) };
    let database = cx.session.catalog.database_by_id(side.table.database_id);
    let rows = side.table.indexes.iter().filter(|index| !index.clustered);
    let rows = rows.map(|index| (index.name.as_str(), index.on.as_ref()));
    let columns = side.table.column_index.iter().map(|i| (i.name.as_str(), i.on.as_ref()));
    for (name, own) in rows.chain(columns) {
        let Some(own) = own else {
            let error = Msg::IndexUnaligned("ALTER TABLE SWITCH", "table", &side.name, name);
            return Err(Error::from(error).with_state(4));
        };
        if own.column != on.column {
            return Err(Msg::SwitchIndexColumn(&side.name, name).into());
        }
        let other = database.and_then(|database| database.function_of(own));
        if other.is_none_or(|other| !is_alike(other, function)) {
            return Err(Msg::SwitchIndexBounds(&side.name, name).into());
        }
    }
    Ok(())
}

/// Returns whether two functions have the same partitions.
pub(crate) fn is_alike(one: &PartitionFunction, other: &PartitionFunction) -> bool {
    one.right == other.right && one.ty == other.ty && one.values == other.values
}

/// Checks that the target has no rows: 4904 and 4905.
fn check_empty(target: &Side, cx: &mut Cx<'_>) -> Result<()> {
    let database = Arc::clone(&cx.session.identity.database);
    let (root, registers) = {
        let context = compile::binding::bare_context(cx.session, &database);
        bind_rows_of(&mut context.binder(), &target.table, target.partitions().as_ref())?
    };
    match (dml::has_rows(&root, registers, cx)?, &target.part) {
        (false, _) => Ok(()),
        (true, Some(_)) => Err(Msg::SwitchPartitionNotEmpty(target.number(), &target.name).into()),
        (true, None) => Err(Msg::SwitchNotEmpty(&target.name).into()),
    }
}

/// Checks foreign keys: none may refer to the source (4967), and the source must have those of the
/// target (4968, 4969, 4974).
fn check_foreign_keys(source: &Side, target: &Side, cx: &Cx<'_>) -> Result<()> {
    let (own, other) = (&source.table, &target.table);
    let database = cx.session.catalog.database_by_id(own.database_id);
    let mut tables = database.into_iter().flat_map(|database| database.tables());
    let refers = tables.find_map(|table| {
        table.foreign_keys.iter().find(|key| key.referenced == own.id && own.id > 0)
    });
    if let Some(key) = refers {
        return Err(Msg::SwitchReferenced(&source.name, &key.name).into());
    }
    for key in &other.foreign_keys {
        let same = own.foreign_keys.iter().find(|it| {
            it.columns == key.columns
                && it.referenced == key.referenced
                && it.referenced_columns == key.referenced_columns
        });
        let (from, to) = (&source.name, &target.name);
        let same = same.ok_or(Msg::SwitchForeignKey(to, &key.name, from))?;
        if key.enabled && !same.enabled {
            let error = Msg::SwitchForeignKeyDisabled(&same.name, from, &key.name, to);
            return Err(error.into());
        }
        if key.trusted && !same.trusted {
            let error = Msg::SwitchForeignKeyUntrusted(&same.name, from, &key.name, to);
            return Err(error.into());
        }
    }
    Ok(())
}

/// Checks that the source has the indexes of the target: 4913 and 4947.
fn check_indexes(source: &Side, target: &Side) -> Result<()> {
    let (own, other) = (&source.table, &target.table);
    let (from, to) = (source.name.as_str(), target.name.as_str());
    let clustered = |table: &TableDef| {
        let row = table.indexes.iter().find(|index| index.clustered).map(|i| i.name.clone());
        row.or_else(|| table.columnstore.as_ref().map(|index| index.name.clone()))
    };
    match (clustered(own), clustered(other)) {
        (Some(index), None) => return Err(Msg::SwitchClustered(from, &index, to).into()),
        (None, Some(index)) => {
            let error = Error::from(Msg::SwitchClustered(to, &index, from));
            return Err(error.with_state(2));
        }
        (Some(_), Some(index)) if own.columnstore.is_some() != other.columnstore.is_some() => {
            return Err(Msg::SwitchIndex(from, &index, to).into());
        }
        (Some(_), Some(_)) | (None, None) => {}
    }
    for index in &other.indexes {
        if !own.indexes.iter().any(|it| is_same_index(it, index)) {
            return Err(Msg::SwitchIndex(from, &index.name, to).into());
        }
    }
    if let Some(index) = &other.column_index {
        let columns =
            |columns: &[u16]| columns.iter().copied().collect::<std::collections::BTreeSet<_>>();
        let own = own.column_index.as_ref();
        if own.is_none_or(|it| columns(&it.columns) != columns(&index.columns)) {
            return Err(Msg::SwitchIndex(from, &index.name, to).into());
        }
    }
    Ok(())
}

/// Returns whether two indexes have the same entries. The partition column of an aligned index is
/// one of its columns, named or not.
fn is_same_index(a: &IndexDef, b: &IndexDef) -> bool {
    let included = |index: &IndexDef| {
        let mut columns: Vec<u16> = index.included.clone();
        columns.extend(index.added_column().filter(|_| !index.clustered));
        columns.sort_unstable();
        columns
    };
    let filter = |index: &IndexDef| index.filter.as_ref().map(|filter| filter.text.clone());
    a.clustered == b.clustered
        && a.unique == b.unique
        && a.keys == b.keys
        && included(a) == included(b)
        && filter(a) == filter(b)
}

/// Checks that the rows of the source fit into the partition and the CHECK constraints of the
/// target: 4953, 4960, 4970 to 4973 and 4982.
fn check_values(source: &Side, target: &Side, cx: &Cx<'_>) -> Result<()> {
    let (from, to) = (source.name.as_str(), target.name.as_str());
    if let Some((on, function, number)) = &target.part {
        match &source.part {
            Some((own, _, _)) if own.column != on.column => {
                return Err(Msg::SwitchOtherColumn(from, to).into());
            }
            Some((_, own, own_number)) if !own.is_within(*own_number, function, *number) => {
                let error = Msg::SwitchRange(source.number(), from, target.number(), to);
                return Err(error.into());
            }
            Some(_) => {}
            None => {
                let (domain, is_checked) = domain_of(source, on.column, cx);
                let range = Domain::of_partition(function, *number);
                if !domain.is_within(&range) {
                    return Err(match is_checked {
                        true => Msg::SwitchAllowsMore(from, to).into(),
                        false => Msg::SwitchUnchecked(from, target.number(), to).into(),
                    });
                }
            }
        }
    }
    target
        .table
        .checks
        .iter()
        .filter(|c| c.enabled)
        .try_for_each(|c| check_check(source, target, c, cx))
}

/// Checks that the rows of the source comply with a CHECK constraint of the target.
fn check_check(source: &Side, target: &Side, check: &CheckDef, cx: &Cx<'_>) -> Result<()> {
    let (from, to) = (source.name.as_str(), target.name.as_str());
    if let Some(same) = source.table.checks.iter().find(|own| own.text.text == check.text.text) {
        if same.enabled && (same.trusted || !check.trusted) {
            return Ok(());
        }
        return Err(Msg::SwitchCheckDisabled(&same.name, from, &check.name, to).into());
    }
    let Some(column) = column_of(&target.table, check, cx) else {
        return Err(Msg::SwitchTableCheck(to, &check.name, from).into());
    };
    let (domain, is_checked) = domain_of(source, column, cx);
    let wanted = of_check(&target.table, check, column, cx);
    let is_in_part = source.part.as_ref().is_some_and(|(on, _, _)| on.column == column);
    match wanted {
        Some(wanted) if domain.is_within(&wanted) => Ok(()),
        Some(_) if is_checked || is_in_part => Err(Msg::SwitchAllowsMore(from, to).into()),
        _ => Err(Msg::SwitchColumnCheck(to, &check.name, from).into()),
    }
}

/// Returns the only column that a CHECK constraint reads.
fn column_of(table: &TableDef, check: &CheckDef, cx: &Cx<'_>) -> Option<u16> {
    match compile::binding::columns_read(cx.session, table, &check.text.tree).as_slice() {
        [column] => Some(*column),
        _ => None,
    }
}

/// Returns the values that the partition and the trusted CHECK constraints of the source allow a
/// column, and whether it has a constraint on that column alone.
fn domain_of(source: &Side, column: u16, cx: &Cx<'_>) -> (Domain, bool) {
    let table = &source.table;
    let ty = table.columns[usize::from(column)].ty;
    let mut domain = Domain::all(ty.nullable, ty.collation);
    let mut is_checked = false;
    if let Some((_, function, number)) =
        source.part.as_ref().filter(|(on, _, _)| on.column == column)
    {
        domain = domain.and(&Domain::of_partition(function, *number));
    }
    for check in &table.checks {
        if column_of(table, check, cx) != Some(column) {
            continue;
        }
        is_checked = true;
        let allowed = of_check(table, check, column, cx);
        if let Some(allowed) = allowed.filter(|_| check.enabled && check.trusted) {
            domain = domain.and(&allowed);
        }
    }
    (domain, is_checked)
}

fn of_check(table: &TableDef, check: &CheckDef, column: u16, cx: &Cx<'_>) -> Option<Domain> {
    let context = compile::binding::bare_context(cx.session, &cx.session.identity.database);
    let bind = |binder: &mut ::binder::Binder<'_>| {
        ::binder::expr::bind_condition(binder, &check.text.tree)
    };
    let bound = over_columns(&mut context.binder(), &table.name, &table.columns, bind).ok()?;
    let collation = table.columns[usize::from(column)].ty.collation;
    let options = cx.convert_options();
    Domain::of_check(&bound, Register(u32::from(column)), collation, &options)
}

/// Checks that both sides have one DATA_COMPRESSION: 11406.
fn check_compression(source: &Side, target: &Side) -> Result<()> {
    let level = |side: &Side| {
        let clustered = side.table.indexes.iter().find(|index| index.clustered);
        let common = clustered.map_or(side.table.compression, |index| index.shown.compression);
        let number = u32::try_from(side.number()).unwrap_or(u32::MAX);
        side.part.as_ref().map_or(common, |(on, _, _)| on.compression_of(number, common))
    };
    if level(source) == level(target) { Ok(()) } else { Err(Msg::SwitchCompression.into()) }
}

/// Copies and deletes the rows. Identity values are kept, and the target's next one is what it was.
fn move_rows(source: &Side, target: &Side, cx: &mut Cx<'_>) -> Result<()> {
    let database = Arc::clone(&cx.session.identity.database);
    let (insert, delete) = {
        let context = compile::binding::bare_context(cx.session, &database);
        let only = source.partitions();
        let insert = bind_move(&mut context.binder(), &source.table, &target.table, only.as_ref())?;
        (insert, bind_removal(&mut context.binder(), &source.table, only.as_ref())?)
    };
    let has_identity = target.table.columns.iter().any(|column| column.identity.is_some());
    let next = target.table.rows.identity.peek();
    let session = &mut *cx.session;
    let own = has_identity.then_some(target.table.id);
    let identity_insert = std::mem::replace(&mut session.held.identity_insert, own);
    let row_limit = std::mem::take(&mut session.options.row_count);
    let moved = dml::move_rows(&insert, &delete, cx);
    cx.session.options.row_count = row_limit;
    cx.session.held.identity_insert = identity_insert;
    if has_identity {
        cx.session.set_identity(&target.table.rows, next);
    }
    moved
}

/// Returns the partitions that the ranges of TRUNCATE TABLE .. WITH (PARTITIONS ..) name. `written`
/// is the table's name as the statement has it.
///
/// # Errors
/// 7729 for a table that is not partitioned, 3756 and 4716 for an index that is not aligned, 7722
/// and 7728 for numbers out of range, 7711 for a partition that is named twice.
pub(crate) fn truncated(
    table: &TableDef,
    database: &Database,
    (ranges, values): (&[(ast::Expr, Option<ast::Expr>)], &[Valued]),
    written: &str,
) -> Result<Partitions> {
    let on = table.partitioned();
    let found = on.and_then(|on| Some((on, database.function_of(on)?)));
    let Some((on, function)) = found else {
        let error = Msg::NotPartitioned("truncate", "table", written);
        return Err(Error::from(error).with_state(3));
    };
    check_truncated(table, database, (on, function))?;
    let mut values = values.iter();
    let mut next = || -> Result<i64> {
        let (value, _) = values.next().ok_or(Msg::InternalError)?;
        match value {
            Value::TinyInt(number) => Ok(i64::from(*number)),
            Value::SmallInt(number) => Ok(i64::from(*number)),
            Value::Int(number) => Ok(i64::from(*number)),
            Value::BigInt(number) => Ok(*number),
            _ => {
                let error = Msg::PartitionNumberType("TRUNCATE TABLE", "table", written);
                Err(Error::from(error).with_state(3))
            }
        }
    };
    let max = i64::try_from(function.fanout()).unwrap_or(i64::MAX);
    let mut numbers: Vec<i32> = Vec::new();
    for (_, to) in ranges {
        let low = next()?;
        let high = if to.is_some() { next()? } else { low };
        for number in [low, high] {
            if !(1..=max).contains(&number) {
                let error = Msg::PartitionNumberRange(number, "table", written, max);
                return Err(Error::from(error).with_state(2));
            }
        }
        if low > high {
            return Err(Msg::PartitionRange(low, high).into());
        }
        for number in low..=high {
            let number = i32::try_from(number).unwrap_or(i32::MAX);
            if numbers.contains(&number) {
                return Err(Error::from(Msg::PartitionsTwice).with_state(2));
            }
            numbers.push(number);
        }
    }
    let (database, function) = (table.database_id, function.id);
    Ok(Partitions { database, function, column: usize::from(on.column), numbers })
}

fn check_truncated(
    table: &TableDef,
    database: &Database,
    (on, function): (&PartitionedOn, &PartitionFunction),
) -> Result<()> {
    let rows = table.indexes.iter().map(|index| (index.name.as_str(), index.on.as_ref()));
    let columns = table.column_index.iter().map(|i| (i.name.as_str(), i.on.as_ref()));
    for (name, own) in rows.chain(columns) {
        let own_function = own.and_then(|own| database.function_of(own));
        match own {
            Some(own) if own.column != on.column => {
                return Err(Msg::TruncateOtherColumn(&table.name, name).into());
            }
            _ if own_function.is_some_and(|it| is_alike(it, function)) => {}
            _ => return Err(Msg::TruncateUnaligned(name, &table.name, &function.name).into()),
        }
    }
    Ok(())
}
