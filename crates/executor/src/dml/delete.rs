//! Runs DELETE and TRUNCATE TABLE.

use storage::{Decision, RowImage};
use types::row::RowBuffer;
use types::{Error, Msg, Result};

use super::output::Collected;
use super::update::{Target, limit_of};
use super::{Private, reference, version};
use crate::eval::truth;
use crate::query::{Flow, Rows, encode_seek_key, load, run};
use crate::statement::{
    count_point, count_point_end, in_transaction, is_free, note_target, options, prepare,
};
use crate::{Cx, StatementResult, fault, trigger};
use plan::query::{Access, Node, TableSource};
use plan::sink::Command;
use plan::statement::{Course, Delete, Insert, table_of};

/// Runs DELETE and returns the number of deleted rows.
pub(crate) fn run_delete(delete: &Delete, cx: &mut Cx<'_>) -> Result<StatementResult> {
    prepare(cx, delete.registers);
    note_target(table_of(&delete.target), cx);
    cx.fires = trigger::fires(&delete.output)
        || trigger::may_cascade_to(table_of(&delete.target), &cx.session.catalog);
    let mut collected = Collected::default();
    let rows = if delete.course == Course::Point && is_free(table_of(&delete.target), cx) {
        collected.reset(&delete.output, cx);
        count_point(cx);
        let gone = run_point(delete, cx);
        count_point_end(cx, gone.as_ref().ok().map(|gone| u64::from(*gone)));
        let gone = gone?;
        if gone {
            collected.add(&delete.output, cx)?;
        }
        u64::from(gone)
    } else {
        in_transaction(cx, &mut |cx| {
            collected.reset(&delete.output, cx);
            let rows = run_rows(delete, cx, &mut collected)?;
            collected.store(&delete.output, rows, cx)
        })?
    };
    collected.send(&delete.output, cx)?;
    Ok(StatementResult { command: Command::DELETE, rows })
}

enum PointFault {
    Storage(storage::Error),
    Statement(Error),
}

impl From<storage::Error> for PointFault {
    fn from(error: storage::Error) -> Self {
        Self::Storage(error)
    }
}

/// Deletes one row directly, without a transaction.
fn run_point(delete: &Delete, cx: &mut Cx<'_>) -> Result<bool> {
    let Node::Scan(scan) = &delete.root else { return Err(Msg::InternalError.into()) };
    let Access::Seek { index, key: exprs } = &scan.access else {
        return Err(Msg::InternalError.into());
    };
    let table = table_of(&delete.target);
    let index = usize::from(*index);
    let mut key = std::mem::take(&mut cx.scratch.key);
    if !encode_seek_key(table, index, exprs, cx, &mut key)? {
        cx.scratch.key = key;
        return Ok(false);
    }
    let mut buffer = std::mem::take(&mut cx.scratch.row);
    let options = options(cx);
    let mut found = false;
    let change = |image: RowImage<'_>, _: &mut RowBuffer| {
        found = true;
        load(&delete.point_columns, table, image, &mut cx.registers);
        let qualifies = match &scan.residual {
            Some(residual) => truth(residual, cx).map_err(PointFault::Statement)?.is_true(),
            None => true,
        };
        Ok(if qualifies { Decision::Delete } else { Decision::Keep })
    };
    let id = table.indexes[index].storage_id();
    let changed = table.rows.data.change_point(id, &key, &options, &mut buffer, change);
    cx.scratch.key = key;
    cx.scratch.row = buffer;
    let meter = &mut cx.session.accounting.meter;
    meter.read(u64::from(found));
    meter.wrote(u64::from(matches!(changed, Ok(true))));
    changed.map_err(|error| match error {
        PointFault::Statement(error) => error,
        PointFault::Storage(error) => fault::raise(cx, error),
    })
}

fn run_rows(delete: &Delete, cx: &mut Cx<'_>, collected: &mut Collected) -> Result<u64> {
    let main = cx.changing();
    let table = table_of(&delete.target);
    let private = Private::begin(&delete.target, cx);
    let mut target = Target::new(&delete.root, delete.row, private.or(main), cx);
    let limit = limit_of(delete.top.as_ref(), cx)?;
    let tables = cx.frame.tables.clone();
    let mut rows = Rows { transaction: main, tables: &tables, current: smallvec::SmallVec::new() };
    let instead = trigger::is_instead(&delete.output, cx);
    let mut count = 0;
    run(&delete.root, cx, &mut rows, &mut |cx, rows| {
        if count == limit {
            return Ok(Flow::Enough);
        }
        let Some(row) = rows.get(delete.row) else { return Ok(Flow::More) };
        let Some(row) = target.claim(row, table, private.or(main), cx)? else {
            return Ok(Flow::More);
        };
        if instead {
            count += 1;
            collected.add(&delete.output, cx)?;
            return Ok(Flow::More);
        }
        version::keep(table, row.image(), private.or(main), cx)?;
        private.or(main).delete(row).map_err(|e| fault::raise(cx, e))?;
        if table.referenced {
            let parent = reference::Parent { table, old: row.image(), new: None };
            reference::changed(&parent, cx)?;
        }
        cx.count_written(table, 1);
        count += 1;
        collected.add(&delete.output, cx)?;
        Ok(Flow::More)
    })?;
    drop(rows);
    target.finish(private.or(main), cx)?;
    private.commit(cx)?;
    Ok(count)
}

/// Runs an INSERT and the DELETE of the rows that it copies, as one statement: ALTER TABLE .. SWITCH.
///
/// # Errors
/// As [`super::run_insert`].
pub fn move_rows(insert: &Insert, delete: &Delete, cx: &mut Cx<'_>) -> Result<()> {
    in_transaction(cx, &mut |cx| {
        super::run_insert(insert, cx)?;
        run_delete(delete, cx).map(|_| ())
    })
}

/// Runs a DELETE without results: TRUNCATE TABLE .. WITH (PARTITIONS ..).
///
/// # Errors
/// The errors of waiting for rows that other transactions own.
pub fn remove_rows(delete: &Delete, cx: &mut Cx<'_>) -> Result<()> {
    run_delete(delete, cx).map(|_| ())
}

/// Runs TRUNCATE TABLE: deletes all rows and resets the identity to its seed.
pub fn run_truncate(table: &TableSource, cx: &mut Cx<'_>) -> Result<StatementResult> {
    let definition = table_of(table);
    note_target(definition, cx);
    in_transaction(cx, &mut |cx| {
        let transaction = cx.changing();
        transaction.truncate(&definition.rows.data).map_err(|e| fault::raise(cx, e))
    })?;
    let seed = catalog::table::identity_seed(&definition.columns);
    cx.session.set_identity(&definition.rows, seed);
    Ok(StatementResult { command: Command::NONE, rows: 0 })
}
