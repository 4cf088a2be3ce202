//! Foreign keys: a new row's referenced rows must be there; a referenced row that goes, or gets another
//! key, takes its referring rows with it as the constraint says.

use std::sync::Arc;

use smallvec::SmallVec;
use storage::{Bounds, Claim, Keys, Order, Read, RowImage, RowRef, ScanSpec, WhenOwned};
use types::compare::group_key;
use types::key::encode_value;
use types::row::RowBuffer;
use types::{DataType, Error, Msg, Result, Value};

use super::version;
use super::write::{Verb, complete};
use crate::eval::eval;
use crate::{Cx, fault, trigger};
use catalog::{ColumnDef, ForeignKeyDef, IndexKind, ReferenceAction, TableDef};
use plan::expr::Register;
use plan::statement::{Lookup, NewRow};

/// Cascades at most, one within the other.
const DEPTH_MAX: u32 = 32;

/// Looks up the rows that the new row in the registers refers to.
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
            encode_value(value, part, &mut key);
        }
        let Some(transaction) = cx.transaction else { return Err(Msg::InternalError.into()) };
        let id = lookup.table.indexes[index].storage_id();
        let found = transaction.get(&lookup.table.rows.data, id, &key, Read::COMMITTED);
        let found = found.map(|row| row.is_some()).map_err(|e| fault::raise(cx, e))?;
        if found {
            continue;
        }
        if lookup.table.id == table.id {
            if !refers_to_itself(lookup, table, cx) {
                // The statement may yet make the row: `INSERT t VALUES (2, 1), (1, NULL)`.
                let late = Late::row(lookup, table, verb, cx);
                cx.late.push(late.ok_or_else(|| Error::from(Msg::InternalError))?);
            }
        } else {
            let (column, _) = lookup.table.indexes[index].keys[0];
            return Err(conflict(
                verb,
                "FOREIGN KEY",
                &lookup.constraint,
                (&lookup.table, (lookup.key.len() == 1).then_some(column)),
                cx,
            ));
        }
    }
    Ok(())
}

/// Tells whether a row of a table that refers to itself is its own parent.
fn refers_to_itself(lookup: &Lookup, table: &TableDef, cx: &Cx<'_>) -> bool {
    let index = &lookup.table.indexes[usize::from(lookup.index)];
    let Some(key) = table.foreign_keys.iter().find(|k| k.name == lookup.constraint) else {
        return false;
    };
    index.keys.iter().zip(&lookup.key).all(|((column, _), register)| {
        let at = key.referenced_columns.iter().position(|c| c == column);
        let Some(own) = at.and_then(|at| key.columns.get(at)) else { return false };
        // Registers of one row are consecutive: the parent's column is as far away as its ordinal.
        let offset = register.index() + usize::from(*column);
        let place = offset.checked_sub(usize::from(*own));
        place.is_some_and(|p| cx.registers.get(p) == cx.registers.get(register.index()))
    })
}

/// Words error 547.
fn conflict(
    verb: Verb,
    kind: &str,
    constraint: &str,
    (table, column): (&TableDef, Option<u16>),
    cx: &Cx<'_>,
) -> Error {
    let database = cx.session.catalog.database_by_id(table.database_id);
    let database = database.map(|d| d.name.as_str()).unwrap_or("tempdb");
    let column = column.map(|c| format!(", column '{}'", table.columns[usize::from(c)].name));
    let column = column.unwrap_or_default();
    let name = table.qualified_name();
    Msg::ConstraintConflict(verb.name(), kind, constraint, database, &name, &column).into()
}

/// A row that others may refer to, as it was and as it is.
pub(super) struct Parent<'r> {
    /// Its table.
    pub table: &'r TableDef,
    /// Before the statement.
    pub old: RowImage<'r>,
    /// After it; `None` if it was deleted.
    pub new: Option<RowImage<'r>>,
}

/// Does to the rows that refer to a changed row what their foreign keys say.
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
        group_key(value, table.columns[usize::from(*ordinal)].ty.collation, &mut key);
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
    let Some(transaction) = cx.transaction else { return Err(Msg::InternalError.into()) };
    let (verb, action) = match parent.new {
        None => (Verb::Delete, key.on_delete),
        Some(_) => (Verb::Update, key.on_update),
    };
    let rows = referring(child, key, (&before, &grouped), transaction, cx)?;
    let mut wake = None;
    for row in rows {
        let claimed = transaction.claim(row, WhenOwned::Wait).map_err(|e| fault::raise(cx, e))?;
        let row = match claimed {
            Claim::Current(row) | Claim::Changed(row) => row,
            Claim::Gone | Claim::Skipped => continue,
        };
        if group(&values(child, row.image(), &key.columns), child, &key.columns) != grouped {
            continue;
        }
        let new = match (action, &after) {
            (ReferenceAction::NoAction, _) => {
                if depth > 0 || child.id == parent.table.id || cascades(parent.table, &key.name, cx)
                {
                    // The statement may yet change the referring rows, or make another row of that key.
                    let (key, database) = (key.clone(), parent.table.database_id);
                    let child = Some(child.id);
                    cx.late.push(Late { key, database, child, values: before, verb });
                    break;
                }
                let column = (key.columns.len() == 1).then(|| key.columns[0]);
                return Err(conflict(verb, "REFERENCE", &key.name, (child, column), cx));
            }
            (ReferenceAction::Cascade, None) => None,
            (ReferenceAction::Cascade, Some(after)) => Some(after.clone()),
            (ReferenceAction::SetNull, _) => Some(before.iter().map(|_| Value::Null).collect()),
            (ReferenceAction::SetDefault, _) => Some(defaults(parent, child, key, verb, cx)?),
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

/// What new values in the columns of a foreign key bring about in their row: computed columns, a
/// rowversion, constraints that look at them.
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
        // Of this one the statement itself takes care: the new parent may not be there yet.
        row.foreign.retain(|lookup| lookup.constraint != key.name);
        cx.reserve(at(child.columns.len()));
        let is_version = |column: &ColumnDef| column.ty.data_type == DataType::RowVersion;
        let row_version = child.columns.iter().position(is_version);
        Ok(Self { first, row, row_version, verb })
    }

    /// Completes and checks a row with new values in these columns; returns all values that differ.
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

/// A foreign key whose rows are looked at once the statement has changed all that it changes: as SQL Server
/// does, where one statement makes both the referring and the referenced row, or lets both go.
pub(crate) struct Late {
    key: ForeignKeyDef,
    /// The database of both tables.
    database: i16,
    /// The referring table, if rows that refer to a key that is gone are looked for; else it is the
    /// referenced row that must be there.
    child: Option<i32>,
    /// The values of the columns, in the key's order.
    values: Vec<Value>,
    verb: Verb,
}

impl Late {
    /// Notes that the row in the registers must refer to a row of its own table.
    fn row(lookup: &Lookup, table: &TableDef, verb: Verb, cx: &Cx<'_>) -> Option<Self> {
        let key = table.foreign_keys.iter().find(|k| k.name == lookup.constraint)?.clone();
        let index = &lookup.table.indexes[usize::from(lookup.index)];
        let value = |referenced: &u16| {
            let at = index.keys.iter().position(|(column, _)| column == referenced)?;
            Some(cx.registers[lookup.key.get(at)?.index()].clone())
        };
        let values = key.referenced_columns.iter().map(value).collect::<Option<Vec<Value>>>()?;
        Some(Self { key, database: table.database_id, child: None, values, verb })
    }
}

/// Tells whether a table is referred to by another foreign key that changes what refers to it.
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

/// Returns the defaults of a key's columns, and notes that they must refer to a row.
fn defaults(
    parent: &Parent<'_>,
    child: &TableDef,
    key: &ForeignKeyDef,
    verb: Verb,
    cx: &mut Cx<'_>,
) -> Result<Vec<Value>> {
    let mut bound = Vec::with_capacity(key.columns.len());
    for column in &key.columns {
        bound.push(cx.host.default_value(&child.columns[usize::from(*column)], cx)?);
    }
    let values = bound.iter().map(|expr| eval(expr, cx)).collect::<Result<Vec<Value>>>()?;
    if !values.iter().any(Value::is_null) {
        let (key, database, values) = (key.clone(), parent.table.database_id, values.clone());
        cx.late.push(Late { key, database, child: None, values, verb });
    }
    Ok(values)
}

/// Checks, when a statement has changed all its rows, what could not be told of one of them.
///
/// # Errors
/// 547 for the first that refers to no row, or is referred to and gone.
pub(crate) fn check_late(late: &[Late], cx: &mut Cx<'_>) -> Result<()> {
    let catalog = Arc::clone(&cx.session.catalog);
    for Late { key, database, child, values, verb } in late {
        let Some(database) = catalog.database_by_id(*database) else { continue };
        let table = database.table_by_id(key.referenced);
        let table = table.ok_or_else(|| Error::from(Msg::InternalError))?;
        if has_key(table, key, values, cx)? {
            continue;
        }
        let Some(child) = child.and_then(|id| database.table_by_id(id)) else {
            let column = (key.columns.len() == 1).then_some(key.referenced_columns[0]);
            return Err(conflict(*verb, "FOREIGN KEY", &key.name, (table, column), cx));
        };
        let Some(transaction) = cx.transaction else { return Err(Msg::InternalError.into()) };
        let grouped = group(values, table, &key.referenced_columns);
        if !referring(child, key, (values, &grouped), transaction, cx)?.is_empty() {
            let column = (key.columns.len() == 1).then_some(key.columns[0]);
            return Err(conflict(*verb, "REFERENCE", &key.name, (child, column), cx));
        }
    }
    Ok(())
}

/// Tells whether a table has a row with these values in the columns that a foreign key refers to.
fn has_key(
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
        let at = columns.iter().position(|c| c == column).unwrap_or(0);
        encode_value(&values[at], part, &mut encoded);
    }
    let Some(transaction) = cx.transaction else { return Err(Msg::InternalError.into()) };
    let data = &table.rows.data;
    let found = transaction.get(data, index.storage_id(), &encoded, Read::COMMITTED);
    found.map(|row| row.is_some()).map_err(|e| fault::raise(cx, e))
}

/// Deletes a referring row, or gives it other values in the columns of the key.
fn change_child(
    child: &Arc<TableDef>,
    key: &ForeignKeyDef,
    row: RowRef<'_>,
    new: Option<(&[Value], &Wake)>,
    depth: u32,
    cx: &mut Cx<'_>,
) -> Result<()> {
    let Some(transaction) = cx.transaction else { return Err(Msg::InternalError.into()) };
    version::keep(child, row.image(), transaction, cx)?;
    let Some((new, wake)) = new else {
        transaction.delete(row).map_err(|e| fault::raise(cx, e))?;
        trigger::note_cascaded((child, key), row.image(), None, cx);
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
    trigger::note_cascaded((child, key), image, Some(RowImage::from(&buffer)), cx);
    if !child.referenced {
        return Ok(());
    }
    let parent = Parent { table: child, old: image, new: Some(RowImage::from(&buffer)) };
    follow(&parent, depth + 1, cx)
}

/// Finds the rows that refer to a key, by an index that begins with its columns or by reading all.
fn referring<'t>(
    child: &'t TableDef,
    key: &ForeignKeyDef,
    (values_before, grouped): (&[Value], &[u8]),
    transaction: &'t storage::Transaction,
    cx: &mut Cx<'_>,
) -> Result<Vec<RowRef<'t>>> {
    let place = child.indexes.iter().position(|index| {
        if index.filter.is_some() {
            return false;
        }
        let leading = index.keys.get(..key.columns.len());
        let all = leading.is_some_and(|l| l.iter().all(|(c, _)| key.columns.contains(c)));
        all && (index.kind == IndexKind::Range || index.keys.len() == key.columns.len())
    });
    let mut prefix = Vec::new();
    let spec = match place {
        Some(place) => {
            let index = &child.indexes[place];
            for ((column, _), part) in
                index.keys.iter().zip(child.key_parts(place)).take(key.columns.len())
            {
                let at = key.columns.iter().position(|c| c == column).unwrap_or(0);
                encode_value(&values_before[at], part, &mut prefix);
            }
            ScanSpec {
                index: Some(index.storage_id()),
                bounds: Bounds::prefix(&prefix),
                order: Order::Forward,
                read: Read::COMMITTED,
            }
        }
        None => ScanSpec {
            index: None,
            bounds: Bounds::ALL,
            order: Order::Forward,
            read: Read::COMMITTED,
        },
    };
    let mut scan = transaction.scan(&child.rows.data, spec).map_err(|e| fault::raise(cx, e))?;
    let mut found = Vec::new();
    while let Some(row) = scan.next().map_err(|e| fault::raise(cx, e))? {
        if group(&values(child, row.image(), &key.columns), child, &key.columns) == grouped {
            found.push(row);
        }
    }
    Ok(found)
}
