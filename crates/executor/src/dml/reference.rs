//! Foreign keys: checks that the referenced rows of a new row exist, and applies ON DELETE and ON
//! UPDATE to the referring rows of a changed row.

use std::sync::Arc;

use plan::long::encode_value;
use smallvec::SmallVec;
use storage::{Bounds, Claim, Keys, Opening, Order, Read, RowImage, RowRef, ScanSpec, WhenOwned};
use types::row::RowBuffer;
use types::{DataType, Error, Msg, Result, Value};

use super::version;
use super::waiting::Waiting;
use super::write::{Verb, complete};
use crate::eval::eval;
use crate::{Cx, fault, trigger};
use catalog::{ColumnDef, ForeignKeyDef, IndexKind, ReferenceAction, TableDef};
use plan::expr::Register;
use plan::statement::{Lookup, NewRow};

/// Greatest depth of nested cascades.
const DEPTH_MAX: u32 = 32;

/// Checks that the rows that the new row refers to exist.
pub(super) fn check_new(
    lookups: &[Lookup],
    table: &TableDef,
    verb: Verb,
    cx: &mut Cx<'_>,
) -> Result<()> {
    for lookup in lookups {
        let index = usize::from(lookup.index);
        let mut key = Vec::new();
        let values = || lookup.key.iter().map(|r| &cx.registers[r.index()]);
        if values().any(Value::is_null) {
            continue;
        }
        for (value, part) in values().zip(lookup.table.key_parts(index)) {
            encode_value(value, part, &mut key)?;
        }
        let transaction = cx.changing();
        let id = lookup.table.indexes[index].storage_id();
        let found = transaction.get(&lookup.table.rows.data, id, &key, Read::COMMITTED);
        let found = found.map(|row| row.is_some()).map_err(|e| fault::raise(cx, e))?;
        if found {
            cx.count_found(&lookup.table, 1);
            continue;
        }
        if lookup.table.id == table.id {
            if !refers_to_itself(lookup, table, cx) {
                // The statement may insert that row later: `INSERT t VALUES (2, 1), (1, NULL)`.
                let late = Late::row(lookup, table, verb, cx);
                cx.late.push(late.ok_or_else(|| Error::from(Msg::InternalError))?);
            }
        } else {
            let (column, _) = lookup.table.indexes[index].keys[0];
            return Err(conflict(
                verb,
                "FOREIGN KEY",
                &lookup.constraint,
                &lookup.table,
                (lookup.key.len() == 1).then_some(column),
                cx,
            ));
        }
    }
    Ok(())
}

/// Returns true if a row of a self-referencing table refers to itself.
fn refers_to_itself(lookup: &Lookup, table: &TableDef, cx: &Cx<'_>) -> bool {
    let index = &lookup.table.indexes[usize::from(lookup.index)];
    let Some(key) = table.foreign_keys.iter().find(|k| k.name == lookup.constraint) else {
        return false;
    };
    index.keys.iter().zip(&lookup.key).all(|((column, _), register)| {
        let at = key.referenced_columns.iter().position(|c| c == column);
        let Some(own) = at.and_then(|at| key.columns.get(at)) else { return false };
        // Registers of a row are consecutive: subtracting the ordinals gives the parent's column.
        let offset = register.index() + usize::from(*column);
        let place = offset.checked_sub(usize::from(*own));
        place.is_some_and(|p| cx.registers.get(p) == cx.registers.get(register.index()))
    })
}

/// Makes error 547 for a foreign key.
fn conflict(
    verb: Verb,
    kind: &str,
    constraint: &str,
    table: &TableDef,
    column: Option<u16>,
    cx: &Cx<'_>,
) -> Error {
    let database = cx.session.catalog.database_by_id(table.database_id);
    let database = database.map(|d| d.name.as_str()).unwrap_or("tempdb");
    let column = column.map(|c| format!(", column '{}'", table.columns[usize::from(c)].name));
    let column = column.unwrap_or_default();
    let name = table.qualified_name();
    Msg::ConstraintConflict(verb.name(), kind, constraint, database, &name, &column).into()
}

/// A row that other rows may refer to, before and after its change.
pub(super) struct Parent<'r> {
    /// The table that contains it.
    pub table: &'r TableDef,
    /// The row before the statement.
    pub old: RowImage<'r>,
    /// The row after the statement; `None` if it was deleted.
    pub new: Option<RowImage<'r>>,
}

/// Applies the foreign keys that refer to a changed row: checks, or changes the referring rows.
pub(super) fn changed(parent: &Parent<'_>, cx: &mut Cx<'_>) -> Result<()> {
    follow(parent, 0, cx)
}

fn follow(parent: &Parent<'_>, depth: u32, cx: &mut Cx<'_>) -> Result<()> {
    if depth > DEPTH_MAX {
        return Err(Msg::NestingLevel(i64::from(DEPTH_MAX)).into());
    }
    let catalog = Arc::clone(&cx.session.catalog);
    let Some(database) = catalog.database_by_id(parent.table.database_id) else { return Ok(()) };
    for child in database.tables() {
        for key in
            child.foreign_keys.iter().filter(|k| k.referenced == parent.table.id && k.enabled)
        {
            follow_key(parent, child, key, depth, cx)?;
        }
    }
    Ok(())
}

fn values(table: &TableDef, image: RowImage<'_>, ordinals: &[u16]) -> Vec<Value> {
    let view = table.layout.view(image.bytes, image.blobs);
    ordinals.iter().map(|&o| view.get(usize::from(o))).collect()
}

fn group(values: &[Value], table: &TableDef, ordinals: &[u16]) -> Vec<u8> {
    let mut key = Vec::new();
    for (value, ordinal) in values.iter().zip(ordinals) {
        types::compare::group_key(
            value,
            table.columns[usize::from(*ordinal)].ty.collation,
            &mut key,
        );
    }
    key
}

fn follow_key(
    parent: &Parent<'_>,
    child: &Arc<TableDef>,
    key: &ForeignKeyDef,
    depth: u32,
    cx: &mut Cx<'_>,
) -> Result<()> {
    let before = values(parent.table, parent.old, &key.referenced_columns);
    if before.iter().any(Value::is_null) {
        return Ok(());
    }
    let after = parent.new.map(|image| values(parent.table, image, &key.referenced_columns));
    let grouped = group(&before, parent.table, &key.referenced_columns);
    if after.as_ref().is_some_and(|a| group(a, parent.table, &key.referenced_columns) == grouped) {
        return Ok(());
    }
    let (verb, action) = match parent.new {
        None => (Verb::Delete, key.on_delete),
        Some(_) => (Verb::Update, key.on_update),
    };
    // The statement may change the referring rows too, or give another row that key. Without an
    // index, the referring rows of all its rows are found by one scan.
    let waits = verb == Verb::Update
        || index_on(child, key).is_none()
        || action == ReferenceAction::NoAction
            && (depth > 0 || child.id == parent.table.id || cascades(parent.table, &key.name, cx));
    let change = Changed { before, grouped, after };
    if waits {
        return Waiting::add(child, key, (verb, depth), change, cx);
    }
    let transaction = cx.changing();
    let rows = referring(child, key, &change, transaction, cx)?;
    let rows = rows.into_iter().map(|row| (row, &change)).collect();
    change_all(child, key, (verb, action, depth), rows, cx)
}

/// The key of a row that other rows may refer to, before and after its change.
pub(super) struct Changed {
    /// The key's values before.
    pub before: Vec<Value>,
    /// The values before, encoded so that equal keys have equal bytes.
    pub grouped: Vec<u8>,
    /// The key's values after; `None` if the row was deleted.
    pub after: Option<Vec<Value>>,
}

/// Applies a foreign key's action to the rows that refer to changed keys, each with its key.
pub(super) fn change_all(
    child: &Arc<TableDef>,
    key: &ForeignKeyDef,
    (verb, action, depth): (Verb, ReferenceAction, u32),
    rows: Vec<(RowRef<'_>, &Changed)>,
    cx: &mut Cx<'_>,
) -> Result<()> {
    let transaction = cx.changing();
    let mut wake = None;
    for (row, change) in rows {
        let Some(row) = claim(child, key, row, change, transaction, cx)? else { continue };
        let new = match (action, &change.after) {
            (ReferenceAction::NoAction, _) => {
                let column = (key.columns.len() == 1).then(|| key.columns[0]);
                return Err(conflict(verb, "REFERENCE", &key.name, child, column, cx));
            }
            (ReferenceAction::Cascade, None) => None,
            (ReferenceAction::Cascade, Some(after)) => Some(after.clone()),
            (ReferenceAction::SetNull, _) => {
                Some(change.before.iter().map(|_| Value::Null).collect())
            }
            (ReferenceAction::SetDefault, _) => Some(defaults(child, key, verb, cx)?),
        };
        if new.is_some() && wake.is_none() {
            wake = Some(Wake::of(child, key, verb, cx)?);
        }
        change_child(child, key, row, new.as_deref().zip(wake.as_ref()), depth, cx)?;
    }
    if let Some(wake) = wake {
        cx.registers.truncate(wake.first);
    }
    Ok(())
}

/// Claims a referring row; `None` if it refers to the changed key no longer.
fn claim<'t>(
    child: &'t TableDef,
    key: &ForeignKeyDef,
    row: RowRef<'t>,
    change: &Changed,
    transaction: &'t storage::Transaction,
    cx: &mut Cx<'_>,
) -> Result<Option<RowRef<'t>>> {
    let claimed = transaction.claim(row, WhenOwned::Wait).map_err(|e| fault::raise(cx, e))?;
    let row = match claimed {
        Claim::Current(row) | Claim::Changed(row) => row,
        Claim::Gone | Claim::Skipped => return Ok(None),
    };
    Ok((refers_by(child, key, row.image()) == change.grouped).then_some(row))
}

/// What has to be recomputed or checked when the columns of a foreign key change: computed columns,
/// a rowversion, constraints on them.
struct Wake {
    /// The first of the registers that hold a row of the table.
    first: usize,
    row: NewRow,
    row_version: Option<usize>,
    verb: Verb,
}

impl Wake {
    fn of(child: &Arc<TableDef>, key: &ForeignKeyDef, verb: Verb, cx: &mut Cx<'_>) -> Result<Self> {
        let first = cx.registers.len();
        let at = |place: usize| u32::try_from(first + place).unwrap_or(u32::MAX);
        let register = |ordinal: usize| Register(at(ordinal));
        let changes =
            |ordinal: usize| key.columns.iter().any(|column| usize::from(*column) == ordinal);
        let mut row = cx.host.new_row(child, &register, &changes, cx)?;
        // Checked by the caller: the new parent may not exist yet.
        row.foreign.retain(|lookup| lookup.constraint != key.name);
        cx.reserve(at(child.columns.len()));
        let is_version = |column: &ColumnDef| column.ty.data_type == DataType::RowVersion;
        let row_version = child.columns.iter().position(is_version);
        Ok(Self { first, row, row_version, verb })
    }

    /// Completes and checks a row with new values in these columns; returns all values that change.
    fn complete(
        &self,
        child: &TableDef,
        old: RowImage<'_>,
        changed: &[(usize, Value)],
        cx: &mut Cx<'_>,
    ) -> Result<Vec<(usize, Value)>> {
        let mut all = changed.to_vec();
        if let Some(ordinal) = self.row_version {
            all.push((ordinal, cx.session.instance.catalog.next_row_version()));
        }
        if let Some(ordinal) = child.period.map(|period| usize::from(period.start)) {
            all.push((ordinal, cx.transaction_time(&child.columns[ordinal].ty.data_type)));
        }
        let view = child.layout.view(old.bytes, old.blobs);
        for ordinal in 0..child.columns.len() {
            cx.registers[self.first + ordinal] = view.get(ordinal);
        }
        for (ordinal, value) in &all {
            cx.registers[self.first + ordinal] = value.clone();
        }
        complete(&self.row, child, self.verb, cx)?;
        check_new(&self.row.foreign, child, self.verb, cx)?;
        for (ordinal, register, _) in &self.row.computed {
            all.push((usize::from(*ordinal), cx.registers[register.index()].clone()));
        }
        Ok(all)
    }
}

/// A check that a row refers to an existing one, made after the statement has changed all rows. As
/// in SQL Server, one statement may insert both the referring and the referenced row.
pub(crate) struct Late {
    key: ForeignKeyDef,
    /// `database_id` of both tables.
    database: i16,
    /// The values of the key's columns, in the key's order.
    values: Vec<Value>,
    verb: Verb,
}

impl Late {
    /// Makes the check that the row in the registers refers to an existing row of the same table.
    fn row(lookup: &Lookup, table: &TableDef, verb: Verb, cx: &Cx<'_>) -> Option<Self> {
        let key = table.foreign_keys.iter().find(|k| k.name == lookup.constraint)?.clone();
        let index = &lookup.table.indexes[usize::from(lookup.index)];
        let value = |referenced: &u16| {
            let at = index.keys.iter().position(|(column, _)| column == referenced)?;
            Some(cx.registers[lookup.key.get(at)?.index()].clone())
        };
        let values = key.referenced_columns.iter().map(value).collect::<Option<Vec<Value>>>()?;
        Some(Self { key, database: table.database_id, values, verb })
    }
}

/// Returns true if another foreign key that refers to the table cascades.
fn cascades(table: &TableDef, except: &str, cx: &Cx<'_>) -> bool {
    let catalog = &cx.session.catalog;
    let Some(database) = catalog.database_by_id(table.database_id) else { return false };
    let acts = |key: &ForeignKeyDef| {
        key.referenced == table.id
            && key.name != except
            && (key.on_delete, key.on_update)
                != (ReferenceAction::NoAction, ReferenceAction::NoAction)
    };
    database.tables().any(|t| t.foreign_keys.iter().any(acts))
}

/// Returns the default values of a foreign key's columns, and records the check that they refer to
/// a row.
fn defaults(
    child: &TableDef,
    key: &ForeignKeyDef,
    verb: Verb,
    cx: &mut Cx<'_>,
) -> Result<Vec<Value>> {
    let mut bound = Vec::with_capacity(key.columns.len());
    for column in &key.columns {
        bound.push(cx.host.default_value(child, &child.columns[usize::from(*column)], cx)?);
    }
    let values = bound.iter().map(|expr| eval(expr, cx)).collect::<Result<Vec<Value>>>()?;
    if !values.iter().any(Value::is_null) {
        let (key, database, values) = (key.clone(), child.database_id, values.clone());
        cx.late.push(Late { key, database, values, verb });
    }
    Ok(values)
}

/// Makes the recorded checks, after a statement has changed all its rows.
///
/// # Errors
/// 547 for the first key that refers to no row.
pub(crate) fn check_late(late: &[Late], cx: &mut Cx<'_>) -> Result<()> {
    let catalog = Arc::clone(&cx.session.catalog);
    for Late { key, database, values, verb } in late {
        let Some(database) = catalog.database_by_id(*database) else { continue };
        let table = database.table_by_id(key.referenced);
        let table = table.ok_or_else(|| Error::from(Msg::InternalError))?;
        if !has_key(table, key, values, cx)? {
            let column = (key.columns.len() == 1).then_some(key.referenced_columns[0]);
            return Err(conflict(*verb, "FOREIGN KEY", &key.name, table, column, cx));
        }
    }
    Ok(())
}

/// Returns true if a table has a row with these values in the columns that a foreign key
/// references.
pub(super) fn has_key(
    table: &TableDef,
    key: &ForeignKeyDef,
    values: &[Value],
    cx: &mut Cx<'_>,
) -> Result<bool> {
    let columns = &key.referenced_columns;
    let place = table.indexes.iter().position(|index| {
        index.is_key()
            && index.keys.len() == columns.len()
            && index.keys.iter().all(|(column, _)| columns.contains(column))
    });
    let place = place.ok_or_else(|| Error::from(Msg::InternalError))?;
    let index = &table.indexes[place];
    let mut encoded = Vec::new();
    for ((column, _), part) in index.keys.iter().zip(table.key_parts(place)) {
        let at = columns.iter().position(|c| c == column);
        let at = at.expect("the index was chosen because its keys are these columns");
        encode_value(&values[at], part, &mut encoded)?;
    }
    let transaction = cx.changing();
    let data = &table.rows.data;
    let found = transaction.get(data, index.storage_id(), &encoded, Read::COMMITTED);
    found.map(|row| row.is_some()).map_err(|e| fault::raise(cx, e))
}

/// Deletes a referring row, or changes the columns of its foreign key.
fn change_child(
    child: &Arc<TableDef>,
    key: &ForeignKeyDef,
    row: RowRef<'_>,
    new: Option<(&[Value], &Wake)>,
    depth: u32,
    cx: &mut Cx<'_>,
) -> Result<()> {
    let transaction = cx.changing();
    version::keep(child, row.image(), transaction, cx)?;
    let Some((new, wake)) = new else {
        transaction.delete(row).map_err(|e| fault::raise(cx, e))?;
        cx.count_written(child, 1);
        trigger::note_cascaded(child, key, row.image(), None, cx);
        let parent = Parent { table: child, old: row.image(), new: None };
        return if child.referenced { follow(&parent, depth + 1, cx) } else { Ok(()) };
    };
    let mut buffer = RowBuffer::default();
    let image = row.image();
    let columns = key.columns.iter().map(|column| usize::from(*column));
    let changed: Vec<(usize, Value)> = columns.zip(new.iter().cloned()).collect();
    let changed = wake.complete(child, image, &changed, cx)?;
    let changes: SmallVec<[(usize, &Value); 16]> = changed.iter().map(|(c, v)| (*c, v)).collect();
    child.layout.update(child.layout.view(image.bytes, image.blobs), &changes, &mut buffer);
    let replaced = transaction.update(row, RowImage::from(&buffer), Keys::MayDiffer);
    replaced.map_err(|e| fault::raise(cx, e))?;
    cx.count_written(child, 1);
    trigger::note_cascaded(child, key, image, Some(RowImage::from(&buffer)), cx);
    if !child.referenced {
        return Ok(());
    }
    let parent = Parent { table: child, old: image, new: Some(RowImage::from(&buffer)) };
    follow(&parent, depth + 1, cx)
}

/// Returns the place of an index that finds the rows of a foreign key.
pub(super) fn index_on(child: &TableDef, key: &ForeignKeyDef) -> Option<usize> {
    child.indexes.iter().position(|index| {
        if index.filter.is_some() {
            return false;
        }
        let leading = index.keys.get(..key.columns.len());
        let all = leading.is_some_and(|l| l.iter().all(|(c, _)| key.columns.contains(c)));
        all && (index.kind == IndexKind::Range || index.keys.len() == key.columns.len())
    })
}

/// Finds the rows that refer to a key, by an index on its columns if there is one, otherwise by a
/// scan.
pub(super) fn referring<'t>(
    child: &'t TableDef,
    key: &ForeignKeyDef,
    change: &Changed,
    transaction: &'t storage::Transaction,
    cx: &mut Cx<'_>,
) -> Result<Vec<RowRef<'t>>> {
    let mut prefix = Vec::new();
    let mut bounds = Bounds::ALL;
    let place = index_on(child, key);
    if let Some(place) = place {
        let index = &child.indexes[place];
        for ((column, _), part) in
            index.keys.iter().zip(child.key_parts(place)).take(key.columns.len())
        {
            let at = key.columns.iter().position(|c| c == column);
            let at = at.expect("the index was chosen because its first keys are these columns");
            encode_value(&change.before[at], part, &mut prefix)?;
        }
        bounds = Bounds::prefix(&prefix);
    }
    let index = place.map(|place| child.indexes[place].storage_id());
    let spec = ScanSpec { index, bounds, order: Order::Forward, read: Read::COMMITTED };
    let scan = transaction.scan(&child.rows.data, spec).map_err(|e| fault::raise(cx, e))?;
    let mut scan = scan.counted(Opening::Range);
    let (mut found, mut seen) = (Vec::new(), 0);
    while let Some(row) = scan.next().map_err(|e| fault::raise(cx, e))? {
        seen += 1;
        fault::row_passed(cx)?;
        if refers_by(child, key, row.image()) == change.grouped {
            found.push(row);
        }
    }
    cx.count_found(child, seen);
    Ok(found)
}

/// Finds, by one scan, the rows that refer to any of these keys, by their encoded values.
pub(super) fn referring_to_any<'t, 'c>(
    child: &'t TableDef,
    key: &ForeignKeyDef,
    changes: &hashbrown::HashMap<&[u8], &'c Changed>,
    transaction: &'t storage::Transaction,
    cx: &mut Cx<'_>,
) -> Result<Vec<(RowRef<'t>, &'c Changed)>> {
    let spec =
        ScanSpec { index: None, bounds: Bounds::ALL, order: Order::Forward, read: Read::COMMITTED };
    let scan = transaction.scan(&child.rows.data, spec).map_err(|e| fault::raise(cx, e))?;
    let mut scan = scan.counted(Opening::Range);
    let (mut found, mut seen) = (Vec::new(), 0);
    while let Some(row) = scan.next().map_err(|e| fault::raise(cx, e))? {
        seen += 1;
        fault::row_passed(cx)?;
        if let Some(change) = changes.get(refers_by(child, key, row.image()).as_slice()) {
            found.push((row, *change));
        }
    }
    cx.count_found(child, seen);
    Ok(found)
}

fn refers_by(child: &TableDef, key: &ForeignKeyDef, image: RowImage<'_>) -> Vec<u8> {
    group(&values(child, image, &key.columns), child, &key.columns)
}
