//! `DBCC CHECKDB`, `CHECKTABLE`, `CHECKALLOC` and `CHECKCATALOG`: compares every row with the
//! entries of every index, and every entry with its row.
//!
//! A range index is walked from end to end. A hash index is searched for each row's key, which is
//! the only way to reach its entries. Everything is read from one snapshot.

use std::collections::HashSet;
use std::sync::Arc;

use storage::{Bounds, Order, Read, ScanSpec, Transaction};
use tsql::ast;
use types::batch::Vector;
use types::key::encode_value;
use types::{Error, Msg};

use super::dbcc::{require_database, require_table};
use super::sqlperf::word;
use ::binder::query;
use ::catalog::{Database, IndexDef, IndexKind, Object, TableDef};
use ::executor::columnstore::Blocks;
use ::executor::statement::in_transaction;
use ::executor::{Cx, fault};
use interpreter::{Stop, interrupted};
use metadata::objects::tables;
use tsql::parse_object_name;

/// Options without effect here: everything is checked, all errors are reported, and nothing is
/// locked.
pub(crate) const OPTIONS: &[&str] = &[
    "ALL_ERRORMSGS",
    "DATA_PURITY",
    "EXTENDED_LOGICAL_CHECKS",
    "MAXDOP",
    "PHYSICAL_ONLY",
    "TABLOCK",
];

/// The errors of a table.
#[derive(Default)]
struct Findings {
    rows: u64,
    /// Messages 8951 and 8952, as many as are reported per table.
    errors: Vec<Error>,
    count: u64,
}

/// Most errors that are reported per table; the others are only counted.
const ERRORS_TOLD_MAX: usize = 200;

impl Findings {
    fn add(&mut self, error: Error) {
        self.count += 1;
        if self.errors.len() < ERRORS_TOLD_MAX {
            self.errors.push(error);
        }
    }
}

/// Runs CHECKDB or CHECKALLOC for a database.
///
/// # Errors
/// 911 for an unknown database, 40517 for a repair.
pub(crate) fn database(dbcc: &ast::Dbcc, command: &str, cx: &mut Cx<'_>) -> Result<(), Stop> {
    check_second(dbcc)?;
    let database = find_database(dbcc, cx)?;
    require_database(command, &database, cx)?;
    let quiet = is_quiet(dbcc);
    if !quiet {
        say(2_536, &format!("DBCC results for '{}'.", database.name), cx)?;
    }
    let mut errors = 0;
    // Rows are in memory, so there is no page allocation to check.
    if command == "CHECKDB" {
        for table in tables(cx.session, &database) {
            errors += report(&table, quiet, cx)?;
        }
    }
    if !quiet || errors > 0 {
        let text = format!(
            "{command} found 0 allocation errors and {errors} consistency errors in database '{}'.",
            database.name
        );
        say(8_989, &text, cx)?;
    }
    if command == "CHECKDB" && errors == 0 {
        super::database_info::remember_check(&database, cx)?;
    }
    Ok(())
}

/// Runs CHECKTABLE for one table.
///
/// # Errors
/// 2501 for an unknown table, 40517 for a repair.
pub(crate) fn table(dbcc: &ast::Dbcc, cx: &mut Cx<'_>) -> Result<(), Stop> {
    check_second(dbcc)?;
    let name = dbcc.arguments.first().and_then(word).ok_or(Msg::DbccParameter(1))?;
    let table = find_table(name, cx)?;
    require_table("CHECKTABLE", &table, cx)?;
    let quiet = is_quiet(dbcc);
    let errors = report(&table, quiet, cx)?;
    if errors > 0 {
        let text = format!(
            "CHECKTABLE found 0 allocation errors and {errors} consistency errors in table '{}' \
             (object ID {}).",
            table.name, table.id
        );
        say(8_990, &text, cx)?;
    }
    Ok(())
}

/// Runs CHECKCATALOG: checks that the objects that others refer to exist.
///
/// # Errors
/// 3853 for an object whose schema, table or type does not exist.
pub(crate) fn catalog(dbcc: &ast::Dbcc, cx: &mut Cx<'_>) -> Result<(), Stop> {
    check_second(dbcc)?;
    let database = find_database(dbcc, cx)?;
    require_database("CHECKCATALOG", &database, cx)?;
    let wrong = |attribute: &str, (object, id): (&str, i32), target: &str| {
        let text = format!(
            "Attribute ({attribute}) of row (object_id={id}) in {object} does not have a matching \
             row in {target}."
        );
        Error::custom(3_853, 16, 1, text)
    };
    for object in database.objects.values() {
        let id = object.id();
        if database.schema(object.schema()).is_none() {
            let error = wrong("schema_id", ("sys.objects", id), "sys.schemas");
            cx.sink.message(&error)?;
        }
        let parent = match object {
            Object::Trigger(trigger) => trigger.parent_id,
            Object::Table(_)
            | Object::Procedure(_)
            | Object::View(_)
            | Object::Function(_)
            | Object::Synonym(_)
            | Object::Sequence(_) => 0,
        };
        if parent != 0 && !database.objects.values().any(|o| o.id() == parent) {
            let error = wrong("parent_object_id", ("sys.objects", id), "sys.objects");
            cx.sink.message(&error)?;
        }
    }
    for table in database.tables() {
        for key in &table.foreign_keys {
            if database.table_by_id(key.referenced).is_none() {
                let error =
                    wrong("referenced_object_id", ("sys.foreign_keys", key.id), "sys.objects");
                cx.sink.message(&error)?;
            }
        }
    }
    Ok(())
}

/// Checks a table and sends the errors found; returns their number.
fn report(table: &Arc<TableDef>, quiet: bool, cx: &mut Cx<'_>) -> Result<u64, Stop> {
    let mut check = |cx: &mut Cx<'_>| {
        let Some(transaction) = cx.transaction else { return Err(Msg::InternalError.into()) };
        check_table(table, transaction, cx)
    };
    let found = in_transaction(cx, &mut check).map_err(|error| interrupted(error, cx))?;
    if !quiet {
        say(2_536, &format!("DBCC results for '{}'.", table.name), cx)?;
        let pages = table.rows.data.memory().used_rows_bytes.div_ceil(8_192);
        let text = format!(
            "There are {} rows in {pages} pages for object \"{}\".",
            found.rows, table.name
        );
        say(2_593, &text, cx)?;
    }
    for error in &found.errors {
        cx.sink.message(error)?;
    }
    Ok(found.count)
}

fn check_table(
    table: &TableDef,
    transaction: &Transaction,
    cx: &mut Cx<'_>,
) -> types::Result<Findings> {
    let mut found = Findings::default();
    let mut walked = Vec::with_capacity(table.indexes.len());
    for index in &table.indexes {
        walked.push(match index.kind {
            IndexKind::Range => Some(walk(table, index, transaction, &mut found, cx)?),
            IndexKind::Hash => None,
        });
    }
    let spec = ScanSpec { index: None, bounds: Bounds::ALL, order: Order::Forward, read: READ };
    let mut scan = transaction.scan(&table.rows.data, spec).map_err(|e| fault::raise(cx, e))?;
    while let Some(row) = scan.next().map_err(|e| fault::raise(cx, e))? {
        fault::row_passed(cx)?;
        found.rows += 1;
        let image = row.image();
        let view = table.layout.view(image.bytes, image.blobs);
        for (place, (index, entries)) in table.indexes.iter().zip(&mut walked).enumerate() {
            if index.filter.as_ref().is_some_and(|filter| !filter.admits(&view)) {
                continue;
            }
            let is_there = match entries {
                Some(entries) => entries.remove(&row.id().0),
                None => {
                    let mut key = Vec::new();
                    for (&(ordinal, _), part) in index.keys.iter().zip(table.key_parts(place)) {
                        encode_value(&view.get(usize::from(ordinal)), part, &mut key);
                    }
                    has_entry(table, index, &key, (row.id().0, transaction), cx)?
                }
            };
            if !is_there {
                found.add(row_without_entry(table, index));
            }
        }
    }
    if table.columnstore.is_some() {
        check_blocks(table, transaction, &mut found, cx)?;
    }
    // The remaining row ids have entries but no row.
    for (index, entries) in table.indexes.iter().zip(&walked) {
        for _ in entries.iter().flatten() {
            found.add(entry_without_row(table, index));
        }
    }
    Ok(found)
}

/// Decodes every column of the compressed rows.
fn check_blocks(
    table: &TableDef,
    transaction: &Transaction,
    found: &mut Findings,
    cx: &mut Cx<'_>,
) -> types::Result<()> {
    let opened = Blocks::open(transaction, &table.rows.data, READ);
    let mut blocks = opened.map_err(|e| fault::raise(cx, e))?;
    let of = |column: &::catalog::ColumnDef| Vector::with_capacity_for(&column.ty);
    let mut vectors: Vec<Vector> = table.columns.iter().map(of).collect();
    while let Some(block) = blocks.next_block().map_err(|e| fault::raise(cx, e))? {
        fault::check_cancel(cx)?;
        for (ordinal, vector) in vectors.iter_mut().enumerate() {
            block.read(ordinal, vector);
            assert_eq!(vector.len(), block.rows(), "a segment has the rows of its group");
        }
        found.rows += block.live.len() as u64;
    }
    Ok(())
}

/// Everything is read from one snapshot.
const READ: Read = Read::SNAPSHOT;

/// Returns the rows that the entries of a range index point to; a row that occurs twice is an
/// error.
fn walk(
    table: &TableDef,
    index: &IndexDef,
    transaction: &Transaction,
    found: &mut Findings,
    cx: &mut Cx<'_>,
) -> types::Result<HashSet<u64>> {
    let id = Some(index.storage_id());
    let spec = ScanSpec { index: id, bounds: Bounds::ALL, order: Order::Forward, read: READ };
    let mut entries = HashSet::new();
    let mut scan = transaction.scan(&table.rows.data, spec).map_err(|e| fault::raise(cx, e))?;
    while let Some(row) = scan.next().map_err(|e| fault::raise(cx, e))? {
        fault::row_passed(cx)?;
        if !entries.insert(row.id().0) {
            found.add(entry_without_row(table, index));
        }
    }
    Ok(entries)
}

/// Returns true if the index finds a row under its key.
fn has_entry(
    table: &TableDef,
    index: &IndexDef,
    key: &[u8],
    (row, transaction): (u64, &Transaction),
    cx: &mut Cx<'_>,
) -> types::Result<bool> {
    let spec = ScanSpec {
        index: Some(index.storage_id()),
        bounds: Bounds::prefix(key),
        order: Order::Forward,
        read: READ,
    };
    let mut scan = transaction.scan(&table.rows.data, spec).map_err(|e| fault::raise(cx, e))?;
    while let Some(entry) = scan.next().map_err(|e| fault::raise(cx, e))? {
        fault::row_passed(cx)?;
        if entry.id().0 == row {
            return Ok(true);
        }
    }
    Ok(false)
}

fn row_without_entry(table: &TableDef, index: &IndexDef) -> Error {
    let text = format!(
        "Table error: table '{}' (ID {}). Data row does not have a matching index row in the index \
         '{}' (ID {}). Possible missing or invalid keys for the index row matching:",
        table.name, table.id, index.name, index.id
    );
    Error::custom(8_951, 16, 1, text)
}

fn entry_without_row(table: &TableDef, index: &IndexDef) -> Error {
    let text = format!(
        "Table error: table '{}' (ID {}). Index row in index '{}' (ID {}) does not match any data \
         row. Possible extra or invalid keys for:",
        table.name, table.id, index.name, index.id
    );
    Error::custom(8_952, 16, 1, text)
}

fn check_second(dbcc: &ast::Dbcc) -> Result<(), Stop> {
    match dbcc.arguments.get(1).map(word) {
        None => Ok(()),
        Some(Some(other)) if other.to_ascii_uppercase().starts_with("REPAIR") => {
            let what = format!("DBCC {} with {}", dbcc.command, other.to_ascii_uppercase());
            Err(Msg::NotSupported(&what).into())
        }
        // NOINDEX makes the check faster and less complete; here everything is checked.
        Some(Some(other)) if other.eq_ignore_ascii_case("NOINDEX") => Ok(()),
        Some(_) => Err(Msg::DbccParameter(2).into()),
    }
}

/// Returns true if only errors are to be sent (NO_INFOMSGS).
pub(crate) fn is_quiet(dbcc: &ast::Dbcc) -> bool {
    dbcc.options.iter().any(|(name, _)| name.as_ref() == "NO_INFOMSGS")
}

/// Returns the database given by name or id; the current one if none is given, or 0.
pub(crate) fn find_database(dbcc: &ast::Dbcc, cx: &Cx<'_>) -> Result<Arc<Database>, Stop> {
    let catalog = &cx.session.catalog;
    let found = match dbcc.arguments.first() {
        None => catalog.databases.get(&::catalog::name::Name::new(&cx.session.identity.database)),
        Some(argument) => match (&argument.kind, word(argument)) {
            (ast::ExprKind::Literal(ast::Literal::Int(0)), _) => {
                catalog.databases.get(&::catalog::name::Name::new(&cx.session.identity.database))
            }
            (ast::ExprKind::Literal(ast::Literal::Int(id)), _) => {
                catalog.databases.values().find(|d| i64::from(d.id) == i64::from(*id))
            }
            (_, Some(name)) => {
                let found = catalog.databases.get(&::catalog::name::Name::new(name));
                return found.cloned().ok_or_else(|| Msg::DatabaseNotFound(name).into());
            }
            _ => None,
        },
    };
    found.cloned().ok_or_else(|| Msg::DbccParameter(1).into())
}

/// Finds the table that a DBCC command names.
///
/// # Errors
/// 2501 if it does not exist.
pub(crate) fn find_table(name: &str, cx: &Cx<'_>) -> Result<Arc<TableDef>, Stop> {
    let missing = || {
        let text = format!(
            "Cannot find a table or object with the name \"{name}\". Check the system catalog."
        );
        Stop::from(Error::custom(2_501, 16, 45, &text))
    };
    let parsed = parse_object_name(name).map_err(|_| missing())?;
    let database = Arc::clone(&cx.session.identity.database);
    let context = compile::binding::bare_context(cx.session, &database);
    match query::resolve_table(&mut context.binder(), &parsed) {
        Ok(query::Resolved::Table(table)) => Ok(table),
        _ => Err(missing()),
    }
}

fn say(number: i32, text: &str, cx: &mut Cx<'_>) -> Result<(), Stop> {
    cx.sink.message(&Error::custom(number, 0, 1, text))?;
    Ok(())
}
