//! SYSTEM_VERSIONING: links a table that has a period to the history table with its earlier row
//! versions.
//!
//! Both definitions record the link and are published in one change of the catalog. A missing
//! history table is created. An existing one is used if its columns match and, unless
//! DATA_CONSISTENCY_CHECK is OFF, its rows are consistent. ALTER TABLE changes the columns of both
//! tables.

use std::sync::Arc;

use storage::{Bounds, Order, Read, ScanSpec};
use tsql::ast::{self, NamedOption, OptionValue, TableOption};
use types::key::encode_value;
use types::row::RowView;
use types::{Msg, Result, Value};

use super::{change_database, table};
use ::catalog::name::Name;
use ::catalog::period;
use ::catalog::{
    ColumnDef, Database, IndexConstraint, IndexDef, IndexKind, Object, RowShape, ShownOptions,
    TableDef, Versioning, create_rows, layout_of,
};
use ::compile::refuse;
use ::executor::statement::in_transaction;
use ::executor::{Cx, fault};
use ::plan::long::FreedInPieces;
use ::plan::sort::interruptible;

/// What `SYSTEM_VERSIONING = ON (..)` asks for.
pub(crate) struct Wanted {
    /// HISTORY_TABLE: its name; `None` lets the server choose.
    history: Option<ast::ObjectName>,
    /// DATA_CONSISTENCY_CHECK: whether existing history rows are checked.
    check: bool,
}

/// Returns what the options of CREATE TABLE ask for; `None` without SYSTEM_VERSIONING = ON.
///
/// # Errors
/// As [`wanted`].
pub(crate) fn of_options(options: &[TableOption]) -> Result<Option<Wanted>> {
    for option in options {
        if let TableOption::Other(option) = option
            && option.name.as_ref() == "SYSTEM_VERSIONING"
        {
            return wanted(option);
        }
    }
    Ok(None)
}

/// Parses the option SYSTEM_VERSIONING; `None` if it is OFF.
///
/// # Errors
/// 102 for an unknown or repeated option, 13539 for a history table without its schema, 13567 for a
/// temporary one, 40517 for HISTORY_RETENTION_PERIOD.
fn wanted(option: &NamedOption) -> Result<Option<Wanted>> {
    let mut wanted = Wanted { history: None, check: true };
    let list = match &option.value {
        OptionValue::On => return Ok(Some(wanted)),
        OptionValue::Off => return Ok(None),
        OptionValue::OnList(list) => list,
        _ => return Err(Msg::SyntaxNear("SYSTEM_VERSIONING").into()),
    };
    for (place, one) in list.iter().enumerate() {
        if list[..place].iter().any(|other| other.name == one.name) {
            return Err(Msg::SyntaxNear(&one.name).into());
        }
        match (one.name.as_ref(), &one.value) {
            ("HISTORY_TABLE", OptionValue::Name(name)) => wanted.history = Some(two_parts(name)?),
            ("DATA_CONSISTENCY_CHECK", OptionValue::On) => wanted.check = true,
            ("DATA_CONSISTENCY_CHECK", OptionValue::Off) => wanted.check = false,
            ("HISTORY_RETENTION_PERIOD", value)
                if value.word().is_some_and(|word| word.eq_ignore_ascii_case("INFINITE")) => {}
            ("HISTORY_RETENTION_PERIOD", _) => {
                return refuse("HISTORY_RETENTION_PERIOD other than INFINITE");
            }
            (name, _) => return Err(Msg::SyntaxNear(name).into()),
        }
    }
    Ok(Some(wanted))
}

fn two_parts(name: &ast::ObjectName) -> Result<ast::ObjectName> {
    if name.is_temporary() {
        return Err(Msg::HistoryInTempdb(&name.object).into());
    }
    match (&name.schema, &name.database) {
        (Some(_), None) => Ok(name.clone()),
        _ => Err(Msg::HistoryTwoPartName(&name.to_string()).into()),
    }
}

/// A table and its history table, both with the link.
pub(crate) struct Pair {
    pub current: TableDef,
    pub history: TableDef,
}

/// Links a table to its history table, which is created if it does not exist.
///
/// # Errors
/// 13510 without a period, 13553 without a primary key, and the errors of the history table.
pub(crate) fn pair(current: TableDef, wanted: &Wanted, cx: &mut Cx<'_>) -> Result<Pair> {
    let name = cx.qualified(&current);
    if current.period.is_none() {
        return Err(Msg::VersioningWithoutPeriod.into());
    }
    let is_primary = |index: &IndexDef| index.constraint == Some(IndexConstraint::PrimaryKey);
    if !current.indexes.iter().any(is_primary) {
        return Err(Msg::VersionedPrimaryKey(&name).into());
    }
    if current.columnstore.is_some() || current.column_index.is_some() {
        return refuse("system-versioned tables with a columnstore index");
    }
    if current.memory_optimized && current.schema_only {
        return refuse("system-versioned tables with DURABILITY = SCHEMA_ONLY");
    }
    let catalog = Arc::clone(&cx.session.catalog);
    let database = catalog.database_by_id(current.database_id).ok_or(Msg::InternalError)?;
    let mut history = match &wanted.history {
        None => {
            let name = free_name(database, &current);
            make(&current, (current.schema_id, current.schema.clone()), name, cx)?
        }
        Some(history) => take_or_make(&current, history, database, wanted.check, cx)?,
    };
    history.versioning = Versioning::History { current: current.id };
    let versioning = Versioning::Current { history: history.id, rows: Arc::clone(&history.rows) };
    Ok(Pair { current: TableDef { versioning, ..current }, history })
}

fn take_or_make(
    current: &TableDef,
    name: &ast::ObjectName,
    database: &Database,
    check: bool,
    cx: &mut Cx<'_>,
) -> Result<TableDef> {
    let schema = name.schema.as_deref().unwrap_or("dbo");
    if Name::same(schema, &current.schema) && Name::same(&name.object, &current.name) {
        return Err(Msg::HistoryHasPeriod(&cx.qualified(current)).into());
    }
    match database.object(schema, &name.object) {
        Some(Object::Table(_)) => {
            let full = ast::ObjectName {
                database: Some(ast::Ident::new(
                    database.name.as_str(),
                    ast::Quoting::Brackets,
                    name.span,
                )),
                ..name.clone()
            };
            let found = table::find_alone(&full, cx)?;
            check_definition(current, &found, cx)?;
            if check {
                check_history(current, &found, cx)?;
            }
            Ok(TableDef::clone(&found))
        }
        Some(_) => Err(Msg::NotAHistoryTable(&format!("{schema}.{}", name.object)).into()),
        None => {
            let Some(found) = database.schema(schema) else {
                return Err(Msg::SchemaNotFound(schema).into());
            };
            make(current, (found.id, found.name.clone()), name.object.to_string(), cx)
        }
    }
}

/// Returns a free name for the history table, made from the id of the table.
fn free_name(database: &Database, current: &TableDef) -> String {
    let name = format!("MSSQL_TemporalHistoryFor_{}", current.id);
    if !database.is_name_taken(&current.schema, &name) {
        return name;
    }
    let suffixed = (1_u32..).map(|n| format!("{name}_{n:08X}"));
    suffixed.into_iter().find(|name| !database.is_name_taken(&current.schema, name)).unwrap_or(name)
}

/// Returns a column as the history table has it: without default, identity or computation.
fn plain(column: &ColumnDef) -> ColumnDef {
    ColumnDef {
        identity: None,
        not_for_replication: false,
        default: None,
        computed: None,
        row_guid: false,
        generated: None,
        hidden: false,
        ..column.clone()
    }
}

/// Creates an empty history table, with an index on the end of the period as SQL Server does.
fn make(
    current: &TableDef,
    (schema_id, schema): (i32, String),
    name: String,
    cx: &mut Cx<'_>,
) -> Result<TableDef> {
    let instance = Arc::clone(&cx.session.instance);
    let period = current.period.ok_or(Msg::InternalError)?;
    let columns: Vec<ColumnDef> = current.columns.iter().map(plain).collect();
    let by_end = IndexDef {
        id: 1,
        name: format!("ix_{name}"),
        keys: vec![(period.end, false), (period.start, false)],
        included: Vec::new(),
        unique: false,
        constraint: None,
        constraint_id: 0,
        kind: IndexKind::Range,
        clustered: true,
        bucket_count: None,
        ignore_dup_key: false,
        system_named: false,
        filter: None,
        shown: ShownOptions::default(),
        on: None,
    };
    let indexes = vec![by_end];
    let layout = layout_of(&columns);
    let rows = rows_of(&columns, &indexes, &layout, current.is_durable(), &instance)?;
    cx.session.note_made(rows.data.id());
    Ok(TableDef {
        id: instance.catalog.next_object_id(),
        schema_id,
        schema,
        name,
        columns,
        indexes,
        checks: Vec::new(),
        foreign_keys: Vec::new(),
        statistics: Vec::new(),
        ansi_nulls: true,
        memory_optimized: false,
        schema_only: false,
        created: ::compile::table::created(),
        layout,
        rows,
        referenced: false,
        period: None,
        versioning: Versioning::Off,
        on: None,
        ..current.clone()
    })
}

fn rows_of(
    columns: &[ColumnDef],
    indexes: &[IndexDef],
    layout: &Arc<types::row::RowLayout>,
    durable: bool,
    instance: &Arc<::session::instance::Instance>,
) -> Result<Arc<::catalog::TableRows>> {
    let shape = RowShape {
        columns,
        indexes,
        layout,
        memory_optimized: false,
        has_columns: false,
        durable,
        restored: None,
    };
    create_rows(&instance.store, &instance.catalog, &shape)
}

/// Checks that an existing table can be the history table of another.
fn check_definition(current: &TableDef, history: &TableDef, cx: &Cx<'_>) -> Result<()> {
    let (of, to) = (cx.qualified(history), cx.qualified(current));
    if history.is_history() {
        return Err(Msg::HistoryInUse(&of).into());
    }
    if history.is_versioned() {
        return Err(Msg::TemporalInUse(&of).into());
    }
    if history.period.is_some() {
        return Err(Msg::HistoryHasPeriod(&of).into());
    }
    if history.columnstore.is_some() || history.column_index.is_some() {
        return refuse("history tables with a columnstore index");
    }
    if history.memory_optimized {
        return refuse("memory-optimized history tables");
    }
    if history.indexes.iter().any(|index| index.unique) {
        return Err(Msg::HistoryUnique(&of).into());
    }
    if !history.foreign_keys.is_empty() || history.referenced {
        return Err(Msg::HistoryForeignKeys(&of).into());
    }
    if !history.checks.is_empty() {
        return Err(Msg::HistoryConstraints(&of).into());
    }
    let any = |is: &dyn Fn(&ColumnDef) -> bool| history.columns.iter().any(is);
    if any(&|c| c.identity.is_some()) {
        return Err(Msg::HistoryIdentity(&of).into());
    }
    if any(&|c| c.computed.is_some()) {
        return Err(Msg::HistoryComputed(&of).into());
    }
    if any(&|c| c.row_guid) {
        return Err(Msg::HistoryRowGuid(&of).into());
    }
    check_columns(current, history, (&of, &to))
}

fn check_columns(current: &TableDef, history: &TableDef, (of, to): (&str, &str)) -> Result<()> {
    let count = |table: &TableDef| i64::try_from(table.columns.len()).unwrap_or(i64::MAX);
    if current.columns.len() != history.columns.len() {
        return Err(Msg::HistoryColumnCount(to, count(current), of, count(history)).into());
    }
    let pairs = (0_u16..).zip(current.columns.iter().zip(&history.columns));
    for (ordinal, (wanted, found)) in pairs {
        let name = found.name.as_str();
        if !Name::same(&wanted.name, name) {
            let place = i64::from(ordinal) + 1;
            return Err(Msg::HistoryColumnName(name, place, of, &wanted.name, to).into());
        }
        if wanted.ty.data_type != found.ty.data_type {
            let (found, wanted) = (found.ty.data_type, wanted.ty.data_type);
            let (found, wanted) = (found.to_string(), wanted.to_string());
            return Err(Msg::HistoryColumnType(name, &found, of, &wanted, to).into());
        }
        if wanted.ty.data_type.is_string() && wanted.ty.collation != found.ty.collation {
            return Err(Msg::HistoryCollation(name, to, of).into());
        }
        if wanted.ty.nullable != found.ty.nullable {
            return Err(match current.period_columns().any(|c| c == ordinal) {
                true => Msg::HistoryPeriodNullable(name, of, to).into(),
                false => Msg::HistoryNullability(name, to, of).into(),
            });
        }
    }
    Ok(())
}

/// Calls `visit` with all rows of a table.
fn each_row(
    table: &TableDef,
    cx: &mut Cx<'_>,
    see: &mut dyn FnMut(&RowView<'_>) -> Result<()>,
) -> Result<()> {
    in_transaction(cx, &mut |cx| {
        let Some(transaction) = cx.transaction else { return Err(Msg::InternalError.into()) };
        let spec = ScanSpec {
            index: None,
            bounds: Bounds::ALL,
            order: Order::Forward,
            read: Read::COMMITTED,
        };
        let mut scan = transaction.scan(&table.rows.data, spec).map_err(|e| fault::raise(cx, e))?;
        while let Some(row) = scan.next().map_err(|e| fault::raise(cx, e))? {
            let image = row.image();
            see(&table.layout.view(image.bytes, image.blobs))?;
        }
        Ok(())
    })
}

/// Checks that no version in a history table ends before it starts or in the future, and that
/// versions with the same key do not overlap.
fn check_history(current: &TableDef, history: &TableDef, cx: &mut Cx<'_>) -> Result<()> {
    let of = cx.qualified(history);
    let ends = current.period.ok_or(Msg::InternalError)?;
    let (start, end) = (usize::from(ends.start), usize::from(ends.end));
    let now = period::now(&current.columns[end].ty.data_type);
    let primary = current
        .indexes
        .iter()
        .position(|index| index.constraint == Some(IndexConstraint::PrimaryKey))
        .ok_or(Msg::InternalError)?;
    let (mut early, mut future) = (false, false);
    let mut versions: FreedInPieces<(Vec<u8>, Value, Value)> = FreedInPieces::default();
    each_row(history, cx, &mut |row| {
        let (from, to) = (row.get(start), row.get(end));
        early |= period::is_before(&to, &from);
        future |= period::is_before(&now, &to);
        let mut key = Vec::new();
        let keys = current.indexes[primary].keys.iter();
        for ((ordinal, _), part) in keys.zip(current.key_parts(primary)) {
            encode_value(&row.get(usize::from(*ordinal)), part, &mut key);
        }
        versions.push((key, from, to));
        Ok(())
    })?;
    if early {
        return Err(Msg::HistoryEndBeforeStart(&of).into());
    }
    if future {
        return Err(Msg::HistoryEndInFuture(&of).into());
    }
    interruptible(&cx.session.connection.cancel, |comparisons| {
        versions.sort_by(|a, b| {
            comparisons.compared(a.0.len().min(b.0.len()));
            let by_key = a.0.cmp(&b.0);
            by_key.then_with(|| period::order(&a.1, &b.1)).then_with(|| period::order(&a.2, &b.2))
        });
    })?;
    for pair in versions.windows(2) {
        fault::row_passed(cx)?;
        if pair[0].0 == pair[1].0 && period::is_before(&pair[1].1, &pair[0].2) {
            return Err(Msg::HistoryOverlaps(&of).into());
        }
    }
    Ok(())
}

/// Checks the rows of a table that gets a period: all are current, and none starts in the future.
///
/// # Errors
/// 13575 and 13542 if a row is not.
pub(crate) fn check_open(table: &TableDef, cx: &mut Cx<'_>) -> Result<()> {
    let ends = table.period.ok_or(Msg::InternalError)?;
    let (start, end) = (usize::from(ends.start), usize::from(ends.end));
    let data_type = table.columns[end].ty.data_type;
    let (now, last) = (period::now(&data_type), period::end_of_time(&data_type));
    let (mut closed, mut future) = (false, false);
    each_row(table, cx, &mut |row| {
        closed |= row.get(end) != last;
        future |= period::is_before(&now, &row.get(start));
        Ok(())
    })?;
    let name = cx.qualified(table);
    match (closed, future) {
        (true, _) => Err(Msg::PeriodEndNotMax(&name).into()),
        (false, true) => Err(Msg::PeriodStartInFuture(&name).into()),
        (false, false) => Ok(()),
    }
}

/// Runs `ALTER TABLE .. SET (SYSTEM_VERSIONING = ..)`.
///
/// # Errors
/// 13591 if versioning is already off; 13595, 13596 and 13757 if it is on; and those of [`pair`].
pub(crate) fn set(table: &Arc<TableDef>, options: &[NamedOption], cx: &mut Cx<'_>) -> Result<()> {
    let [option] = options else { return refuse("several options of ALTER TABLE .. SET") };
    if option.name.as_ref() == "LOCK_ESCALATION" {
        return set_lock_escalation(table, option, cx);
    }
    if option.name.as_ref() != "SYSTEM_VERSIONING" {
        return refuse(&format!("ALTER TABLE .. SET ({})", option.name));
    }
    let wanted = wanted(option)?;
    let history = history_of(table, cx);
    match (wanted, history) {
        (None, None) => Err(Msg::VersioningNotOn(&cx.qualified(table)).into()),
        (None, Some(history)) => {
            table::close(&history, cx)?;
            let off = |table: &Arc<TableDef>| TableDef {
                versioning: Versioning::Off,
                ..TableDef::clone(table)
            };
            replace(off(table), off(&history), cx)
        }
        (Some(wanted), Some(history)) => check_same(table, &history, &wanted, cx),
        (Some(_), None) if table.id < 0 => Err(Msg::VersionedInTempdb(&table.name).into()),
        (Some(wanted), None) => {
            if table.is_history() {
                return Err(Msg::HistoryInUse(&cx.qualified(table)).into());
            }
            super::trigger::check_versioned(table, cx)?;
            let pair = pair(TableDef::clone(table), &wanted, cx)?;
            replace(pair.current, pair.history, cx)
        }
    }
}

/// Sets LOCK_ESCALATION, which is only shown.
fn set_lock_escalation(table: &Arc<TableDef>, option: &NamedOption, cx: &mut Cx<'_>) -> Result<()> {
    let word = option.value.word().unwrap_or_default().to_ascii_uppercase();
    let Some(number) = ["TABLE", "DISABLE", "AUTO"].iter().position(|known| *known == word) else {
        return Err(Msg::SyntaxNear(&word).into());
    };
    let lock_escalation = u8::try_from(number).unwrap_or(0);
    if lock_escalation == table.lock_escalation {
        return Ok(());
    }
    table::replace(TableDef { lock_escalation, ..TableDef::clone(table) }, cx)
}

/// Checks that versioning, which is already on, uses the history table that is named.
fn check_same(
    table: &TableDef,
    history: &TableDef,
    wanted: &Wanted,
    cx: &mut Cx<'_>,
) -> Result<()> {
    let name = cx.qualified(table);
    let Some(named) = &wanted.history else {
        return Err(Msg::VersioningAlreadyOn(&name).into());
    };
    let schema = named.schema.as_deref().unwrap_or("dbo");
    if Name::same(schema, &history.schema) && Name::same(&named.object, &history.name) {
        return if wanted.check { check_history(table, history, cx) } else { Ok(()) };
    }
    let database = cx.session.catalog.database_by_id(table.database_id);
    match database.and_then(|d| d.object(schema, &named.object)) {
        Some(Object::Table(other)) => {
            Err(Msg::HistoryNotTheOne(&cx.qualified(other), &name).into())
        }
        Some(_) | None => Err(Msg::OtherHistory(&name).into()),
    }
}

/// Returns the history table of a system-versioned table.
pub(crate) fn history_of(table: &TableDef, cx: &Cx<'_>) -> Option<Arc<TableDef>> {
    let database = cx.session.catalog.database_by_id(table.database_id)?;
    database.table_by_id(table.history_id()?).cloned()
}

/// Publishes both definitions in one change of the catalog.
pub(crate) fn replace(current: TableDef, history: TableDef, cx: &mut Cx<'_>) -> Result<()> {
    cx.session.instance.note_periods();
    let database = cx.session.catalog.database_by_id(current.database_id);
    let database = database.map(|d| d.name.clone()).unwrap_or_default();
    change_database(cx.session, &database, |database| {
        for table in [&current, &history] {
            let is_new = database.table_by_id(table.id).is_none();
            if is_new && database.is_name_taken(&table.schema, &table.name) {
                return Err(Msg::ObjectExists(&table.name).into());
            }
        }
        database.put(Object::Table(Arc::new(current)));
        database.put(Object::Table(Arc::new(history)));
        Ok(())
    })?;
    cx.session.refresh_catalog();
    Ok(())
}
