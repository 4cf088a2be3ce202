//! UPDATE: claims each qualifying row, applies the SET list to its newest version, and replaces it.

use storage::{Claim, Decision, Error as StorageError, RowImage, RowRef};
use types::row::RowBuffer;
use types::{Error, Msg, Result, Value};

use super::deferred::{Deferred, is_key_taken};
use super::output::Collected;
use super::picking::{Note, scan_with};
use super::write::{Verb, set_instead, set_row, storage_error};
use super::{Private, reference, rows_of, version};
use crate::columnstore::Taker;
use crate::eval::truth;
use crate::query::{
    Current, CurrentId, Flow, Rows, count_of, encode_seek_key, level_of, load, run, when_owned,
};
use crate::spread::SpreadSet;
use crate::statement::{
    count_point, count_point_end, in_transaction, is_free, note_target, options, prepare, row_limit,
};
use crate::{Cx, StatementResult, fault, trigger};
use catalog::TableDef;
use plan::expr::{Expr, Slot};
use plan::query::{Access, Node, Scan, ScanHints};
use plan::sink::Command;
use plan::statement::{Assignment, Course, SetRow, Update, table_of};

/// Runs UPDATE of a table or view.
pub(crate) fn run_update(update: &Update, cx: &mut Cx<'_>) -> Result<StatementResult> {
    prepare(cx, update.registers);
    note_target(table_of(&update.target), cx);
    cx.fires = trigger::fires(&update.output)
        || trigger::may_cascade_to(table_of(&update.target), &cx.session.catalog);
    let rows = if update.course == Course::Point && is_free(table_of(&update.target), cx) {
        count_point(cx);
        let rows = run_point(update, cx);
        count_point_end(cx, rows.as_ref().ok().copied());
        rows?
    } else {
        let mut collected = Collected::default();
        let rows = in_transaction(cx, &mut |cx| {
            collected.reset(&update.output, cx);
            let rows = run_rows(update, cx, &mut collected)?;
            collected.store(&update.output, rows, cx)
        })?;
        collected.send(&update.output, cx)?;
        rows
    };
    Ok(StatementResult { command: Command::UPDATE, rows })
}

/// Why a point update failed.
enum PointFault {
    Storage(storage::Error),
    Statement(Error),
}

impl From<storage::Error> for PointFault {
    fn from(error: storage::Error) -> Self {
        Self::Storage(error)
    }
}

/// Updates one row directly, without a transaction. The closure may run again on a newer version,
/// with the same variables.
fn run_point(update: &Update, cx: &mut Cx<'_>) -> Result<u64> {
    let Node::Scan(scan) = &update.root else { return Err(Msg::InternalError.into()) };
    let Access::Seek { index, key: exprs } = &scan.access else {
        return Err(Msg::InternalError.into());
    };
    let table = table_of(&update.target);
    let index = usize::from(*index);
    let mut key = std::mem::take(&mut cx.scratch.key);
    let mut buffer = std::mem::take(&mut cx.scratch.row);
    let changed = match encode_seek_key(table, index, exprs, cx, &mut key) {
        Ok(true) => change_point(update, scan, table, index, &key, cx, &mut buffer),
        Ok(false) => Ok(false),
        Err(error) => Err(error),
    };
    cx.scratch.key = key;
    cx.scratch.row = buffer;
    if !changed? {
        return Ok(0);
    }
    if !update.output.is_empty() {
        let mut collected = Collected::default();
        collected.reset(&update.output, cx);
        collected.add(&update.output, cx)?;
        collected.send(&update.output, cx)?;
    }
    Ok(1)
}

#[expect(clippy::too_many_arguments, reason = "the fast path of a point update and all it touches")]
fn change_point(
    update: &Update,
    scan: &Scan,
    table: &TableDef,
    index: usize,
    key: &[u8],
    cx: &mut Cx<'_>,
    buffer: &mut RowBuffer,
) -> Result<bool> {
    let options = options(cx);
    let mut again = Again::default();
    let change = |image: RowImage<'_>, buffer: &mut RowBuffer| {
        again.begin(&update.set, cx);
        load(&update.point_columns, table, image, &mut cx.registers);
        if let Some(residual) = &scan.residual
            && !truth(residual, cx).map_err(PointFault::Statement)?.is_true()
        {
            return Ok(Decision::Keep);
        }
        set_row(&update.set, table, image, Verb::Update, cx, buffer)
            .map_err(PointFault::Statement)?;
        Ok(Decision::Update(update.set.keys))
    };
    let changed = table.rows.data.change_point(
        table.indexes[index].storage_id(),
        key,
        &options,
        buffer,
        change,
    );
    let meter = &mut cx.session.accounting.meter;
    meter.read(u64::from(again.ran));
    match changed {
        Ok(changed) => {
            meter.wrote(u64::from(changed));
            Ok(changed)
        }
        Err(PointFault::Statement(error)) => Err(error),
        Err(PointFault::Storage(error)) => Err(update_error(error, &update.set, table, cx)),
    }
}

/// Values of the variables before the closure, which may run again.
#[derive(Default)]
struct Again {
    ran: bool,
    kept: smallvec::SmallVec<[(Slot, Value); 8]>,
}

impl Again {
    fn begin(&mut self, set: &SetRow, cx: &mut Cx<'_>) {
        if self.ran {
            for (slot, value) in &self.kept {
                cx.frame.variables[slot.0 as usize].clone_from(value);
            }
            return;
        }
        self.ran = true;
        for assignment in &set.assignments {
            if let Assignment::Variable(slot, _) | Assignment::VariableAndColumn(slot, ..) =
                assignment
            {
                self.kept.push((*slot, cx.frame.variables[slot.0 as usize].clone()));
            }
        }
    }
}

fn update_error(error: storage::Error, set: &SetRow, table: &TableDef, cx: &mut Cx<'_>) -> Error {
    storage_error(error, table, cx, &|cx, ordinal| {
        let changed = set.changed.iter().any(|&c| usize::from(c) == ordinal);
        let first = if changed { set.new } else { set.old };
        cx.registers[first.plus(ordinal).index()].clone()
    })
}

fn run_rows(update: &Update, cx: &mut Cx<'_>, collected: &mut Collected) -> Result<u64> {
    let main = cx.changing();
    let table = table_of(&update.target);
    let private = Private::begin(&update.target, cx);
    let mut target = Target::new(&update.root, update.row, private.or(main), cx);
    let limit = limit_of(update.top.as_ref(), cx)?;
    let tables = cx.frame.tables.clone();
    let mut rows = Rows { transaction: main, tables: &tables, current: smallvec::SmallVec::new() };
    let mut deferred = Deferred::new(cx);
    let instead = trigger::is_instead(&update.output, cx);
    let mut count = 0;
    run(&update.root, cx, &mut rows, &mut |cx, rows| {
        if count == limit {
            return Ok(Flow::Enough);
        }
        let Some(row) = rows.get(update.row) else { return Ok(Flow::More) };
        let Some(row) = target.claim(row, table, private.or(main), cx)? else {
            return Ok(Flow::More);
        };
        if instead {
            set_instead(&update.set, table, cx)?;
            count += 1;
            collected.add(&update.output, cx)?;
            return Ok(Flow::More);
        }
        version::keep(table, row.image(), private.or(main), cx)?;
        let mut buffer = std::mem::take(&mut cx.scratch.row);
        let done = set_row(&update.set, table, row.image(), Verb::Update, cx, &mut buffer);
        let done = done.and_then(|()| {
            reference::check_new(&update.set.row.foreign, table, Verb::Update, cx)?;
            let image = RowImage::from(&buffer);
            let replaced = private.or(main).update(row, image, update.set.keys).map(|_| ());
            let is_taken = replaced.as_ref().is_err_and(is_key_taken);
            if !is_taken {
                replaced.map_err(|e| update_error(e, &update.set, table, cx))?;
            }
            if update.set.referenced {
                let parent = reference::Parent { table, old: row.image(), new: Some(image) };
                reference::changed(&parent, cx)?;
            }
            if is_taken {
                deferred.keep(Some(row), std::mem::take(&mut buffer))?;
            }
            Ok(())
        });
        cx.scratch.row = buffer;
        done?;
        cx.count_written(table, 1);
        count += 1;
        collected.add(&update.output, cx)?;
        Ok(Flow::More)
    })?;
    drop(rows);
    target.finish(private.or(main), cx)?;
    deferred.store(table, &rows_of(&update.target, cx), private.or(main), cx)?;
    private.commit(cx)?;
    Ok(count)
}

/// Returns the limit of TOP and SET ROWCOUNT.
pub(super) fn limit_of(top: Option<&Expr>, cx: &mut Cx<'_>) -> Result<u64> {
    let top = match top {
        Some(top) => count_of(top, cx, Msg::TopNegative)?,
        None => u64::MAX,
    };
    Ok(top.min(row_limit(cx)))
}

/// The target's rows, in the order in which the statement reads them.
pub(super) struct Target<'s> {
    scan: Option<&'s Scan>,
    /// Rows changed already, where a join may return a row twice.
    seen: Option<SpreadSet<CurrentId>>,
    taker: Taker,
    note: Option<Note<'s>>,
}

impl<'s> Target<'s> {
    /// To be called before the statement reads anything.
    pub(super) fn new(
        root: &'s Node,
        row: u32,
        transaction: &storage::Transaction,
        cx: &mut Cx<'_>,
    ) -> Self {
        let scan = scan_with(root, row);
        cx.picking.decide(root, scan, cx.fires);
        if cx.picking.reads() {
            // An autocommit statement has kept them already.
            cx.scratch.variables.clone_from(&cx.frame.variables);
        }
        let seen = (!matches!(root, Node::Scan(_))).then(SpreadSet::new);
        let note = scan.and_then(|scan| {
            let level = level_of(scan.hints, cx);
            Note::new(root, scan, transaction, (cx.picking, level))
        });
        Self { scan, seen, taker: Taker::default(), note }
    }

    /// Ends the claims of a statement, or makes it begin again because of what others have picked.
    pub(super) fn finish(self, transaction: &storage::Transaction, cx: &mut Cx<'_>) -> Result<()> {
        if self.note.is_none_or(|note| note.holds(transaction)) {
            return Ok(());
        }
        cx.picking.give_up();
        Err(lost(cx))
    }

    /// Claims a row for a change; `None` if it was deleted, no longer qualifies, or was changed by
    /// this statement already.
    pub(super) fn claim<'t>(
        &mut self,
        current: Current<'t>,
        table: &'t TableDef,
        transaction: &'t storage::Transaction,
        cx: &mut Cx<'_>,
    ) -> Result<Option<RowRef<'t>>> {
        if self.seen.as_ref().is_some_and(|s| s.contains(&current.id())) {
            return Ok(None);
        }
        let hints = self.scan.map_or(ScanHints::default(), |s| s.hints);
        let row = match current {
            Current::Row(row) => row,
            Current::Compressed(_) if hints.read_past || hints.no_wait => {
                let what = "READPAST and NOWAIT on a table with a columnstore index";
                return Err(Msg::NotSupported(what).into());
            }
            Current::Compressed(place) => {
                let row = self.taker.take(place, table, transaction, cx)?;
                if let Some(seen) = &mut self.seen {
                    seen.insert(current.id());
                }
                return Ok(Some(row));
            }
        };
        // A table without row locks may have lost what was picked; the statement picks again.
        let is_fixed = hints.picked && cx.session.transaction.count == 0 && !cx.picking.reads();
        let row = if is_fixed { row.fixed() } else { row };
        let row = match transaction.claim(row, when_owned(hints)) {
            Ok(Claim::Current(row)) => row,
            Err(error) => return Err(fault::raise(cx, error)),
            Ok(_) if cx.picking.reads() => return Err(lost(cx)),
            Ok(Claim::Changed(row)) => {
                let Some(scan) = self.scan else { return Ok(None) };
                load(&scan.columns, table, row.image(), &mut cx.registers);
                let still = match &scan.predicate {
                    Some(predicate) => truth(predicate, cx)?.is_true(),
                    None => true,
                };
                if !still {
                    return Ok(None);
                }
                row
            }
            Ok(Claim::Gone | Claim::Skipped) => return Ok(None),
        };
        if let Some(seen) = &mut self.seen {
            seen.insert(current.id());
        }
        Ok(Some(row))
    }
}

/// Returns the error that makes the statement begin again.
fn lost(cx: &mut Cx<'_>) -> Error {
    fault::raise(cx, StorageError::Restart)
}
