//! Runs MERGE: joins target and source, and applies the clause that matches each row.

use smallvec::SmallVec;
use storage::{RowImage, RowRef};
use types::{Msg, Result, Value};

use super::deferred::{Deferred, is_key_taken};
use super::identity::note_identity;
use super::insert::{fill, fill_instead, store};
use super::output::Collected;
use super::update::{Target, limit_of};
use super::write::{Verb, complete, set_instead, set_row, storage_error};
use super::{Private, reference, rows_of, version};
use crate::eval::truth;
use crate::query::{CurrentId, Flow, Rows, run};
use crate::spread::SpreadSet;
use crate::statement::{in_transaction, note_target, prepare};
use crate::{Cx, StatementResult, fault, trigger};
use catalog::TableDef;
use plan::expr::Register;
use plan::sink::Command;
use plan::statement::{Merge, MergeAction, MergeClause, MergeInsert, MergeWhen, SetRow, table_of};

/// Runs MERGE on a table or view.
pub(crate) fn run_merge(merge: &Merge, cx: &mut Cx<'_>) -> Result<StatementResult> {
    prepare(cx, merge.registers);
    note_target(table_of(&merge.target), cx);
    cx.fires = trigger::fires(&merge.output)
        || trigger::may_cascade_to(table_of(&merge.target), &cx.session.catalog);
    let mut collected = Collected::default();
    let rows = in_transaction(cx, &mut |cx| {
        collected.reset(&merge.output, cx);
        let rows = run_rows(merge, cx, &mut collected)?;
        collected.store(&merge.output, rows, cx)
    })?;
    collected.send(&merge.output, cx)?;
    Ok(StatementResult { command: Command::MERGE, rows })
}

fn run_rows(merge: &Merge, cx: &mut Cx<'_>, collected: &mut Collected) -> Result<u64> {
    let main = cx.changing();
    let private = Private::begin(&merge.target, cx);
    let mut target = Target::new(&merge.root, merge.row, private.or(main), cx);
    let limit = limit_of(merge.top.as_ref(), cx)?;
    let tables = cx.frame.tables.clone();
    let mut rows = Rows { transaction: main, tables: &tables, current: SmallVec::new() };
    let mut changed = SpreadSet::new();
    let mut deferred = Deferred::new(cx);
    let mut count = 0;
    run(&merge.root, cx, &mut rows, &mut |cx, rows| {
        if count == limit {
            return Ok(Flow::Enough);
        }
        let row = rows.get(merge.row);
        let Some(when) = when(merge, row.is_some(), cx) else { return Ok(Flow::More) };
        let Some(clause) = clause_for(merge, when, cx)? else { return Ok(Flow::More) };
        let instead = trigger::is_instead_of(&merge.output, clause.action.name(), cx);
        let ids = ids(merge, rows);
        if when != MergeWhen::NotMatchedByTarget && !ids.is_empty() && !changed.insert(ids) {
            return Err(Msg::MergeRowTwice.into());
        }
        let done = match row {
            _ if instead => hand_over(merge, clause, cx)?,
            None => apply_insert(merge, clause, &private, cx, &mut deferred)?,
            Some(row) => {
                let table = table_of(&merge.target);
                match target.claim(row, table, private.or(main), cx)? {
                    Some(row) => {
                        apply_change(merge, clause, row, private.or(main), cx, &mut deferred)?
                    }
                    None => false,
                }
            }
        };
        if done {
            count += 1;
            collected.add_action(&merge.output, clause.action.name(), cx)?;
        }
        Ok(Flow::More)
    })?;
    drop(rows);
    target.finish(private.or(main), cx)?;
    let table = table_of(&merge.target);
    deferred.store(table, &rows_of(&merge.target, cx), private.or(main), cx)?;
    private.commit(cx)?;
    Ok(count)
}

/// Returns which sides of the join have a row; `None` if neither has.
fn when(merge: &Merge, has_row: bool, cx: &Cx<'_>) -> Option<MergeWhen> {
    let is_present = |register: Register| !cx.registers[register.index()].is_null();
    let target = merge.target_present.map_or(has_row, is_present);
    match (target, is_present(merge.source_present)) {
        (true, true) => Some(MergeWhen::Matched),
        (false, true) => Some(MergeWhen::NotMatchedByTarget),
        (true, false) => Some(MergeWhen::NotMatchedBySource),
        (false, false) => None,
    }
}

/// Returns the identities of the target rows, to detect a row that is changed twice; empty where a
/// row of the view comes from several tables.
fn ids(merge: &Merge, rows: &Rows<'_>) -> SmallVec<[Option<CurrentId>; 2]> {
    let numbers = merge.view_rows.iter().copied();
    let own = merge.target_present.is_none().then_some(merge.row);
    own.into_iter().chain(numbers).map(|n| rows.get(n).map(|row| row.id())).collect()
}

/// Computes the rows that an INSTEAD OF trigger sees; changes nothing.
fn hand_over(merge: &Merge, clause: &MergeClause, cx: &mut Cx<'_>) -> Result<bool> {
    let table = table_of(&merge.target);
    match &clause.action {
        MergeAction::Insert(MergeInsert { columns, first, row }) => {
            fill_instead(columns, *first, row, table, cx)?;
            show(merge, table, clause, Some(&|i| first.plus(i)), cx);
        }
        MergeAction::Update(set) => {
            set_instead(set, table, cx)?;
            show(merge, table, clause, Some(&|i| new_register(set, i)), cx);
        }
        MergeAction::Delete => show(merge, table, clause, None, cx),
    }
    Ok(true)
}

/// Returns the register of a column of an updated row.
fn new_register(set: &SetRow, i: usize) -> Register {
    let is_changed = set.changed.iter().any(|&c| usize::from(c) == i);
    if is_changed { set.new.plus(i) } else { set.old.plus(i) }
}

fn clause_for<'m>(
    merge: &'m Merge,
    when: MergeWhen,
    cx: &mut Cx<'_>,
) -> Result<Option<&'m MergeClause>> {
    for clause in merge.clauses.iter().filter(|c| c.when == when) {
        let holds = match &clause.condition {
            Some(condition) => truth(condition, cx)?.is_true(),
            None => true,
        };
        if holds {
            return Ok(Some(clause));
        }
    }
    Ok(None)
}

fn apply_insert(
    merge: &Merge,
    clause: &MergeClause,
    private: &Private,
    cx: &mut Cx<'_>,
    deferred: &mut Deferred<'_>,
) -> Result<bool> {
    let MergeAction::Insert(MergeInsert { columns, first, row }) = &clause.action else {
        return Ok(false);
    };
    let table = table_of(&merge.target);
    let rows = rows_of(&merge.target, cx);
    let identity = fill(columns, *first, table, &rows, cx)?;
    complete(row, table, Verb::Merge, cx)?;
    if !store(table, (&rows, private), *first, row, cx, Some(deferred))? {
        return Ok(false);
    }
    note_identity(identity, cx);
    show(merge, table, clause, Some(&|i| first.plus(i)), cx);
    Ok(true)
}

fn apply_change<'t>(
    merge: &Merge,
    clause: &MergeClause,
    row: RowRef<'t>,
    transaction: &'t storage::Transaction,
    cx: &mut Cx<'_>,
    deferred: &mut Deferred<'t>,
) -> Result<bool> {
    let table = table_of(&merge.target);
    match &clause.action {
        MergeAction::Delete => {
            version::keep(table, row.image(), transaction, cx)?;
            transaction.delete(row).map_err(|e| fault::raise(cx, e))?;
            cx.count_written(table, 1);
            if table.referenced {
                reference::changed(&reference::Parent { table, old: row.image(), new: None }, cx)?;
            }
            show(merge, table, clause, None, cx);
            Ok(true)
        }
        MergeAction::Update(set) => {
            update(set, table, row, transaction, cx, deferred)?;
            cx.count_written(table, 1);
            show(merge, table, clause, Some(&|i| new_register(set, i)), cx);
            Ok(true)
        }
        MergeAction::Insert(_) => Ok(false),
    }
}

fn update<'t>(
    set: &SetRow,
    table: &TableDef,
    row: RowRef<'t>,
    transaction: &'t storage::Transaction,
    cx: &mut Cx<'_>,
    deferred: &mut Deferred<'t>,
) -> Result<()> {
    version::keep(table, row.image(), transaction, cx)?;
    let mut buffer = std::mem::take(&mut cx.scratch.row);
    let done = set_row(set, table, row.image(), Verb::Merge, cx, &mut buffer).and_then(|()| {
        reference::check_new(&set.row.foreign, table, Verb::Merge, cx)?;
        let image = RowImage::from(&buffer);
        let replaced = transaction.update(row, image, set.keys).map(|_| ());
        let is_taken = replaced.as_ref().is_err_and(is_key_taken);
        if !is_taken {
            replaced.map_err(|error| {
                storage_error(error, table, cx, &|cx, i| {
                    cx.registers[new_register(set, i).index()].clone()
                })
            })?;
        }
        if set.referenced {
            let parent = reference::Parent { table, old: row.image(), new: Some(image) };
            reference::changed(&parent, cx)?;
        }
        if is_taken {
            deferred.keep(Some(row), std::mem::take(&mut buffer))?;
        }
        Ok(())
    });
    cx.scratch.row = buffer;
    done
}

/// Fills `$action` and `inserted` for OUTPUT; the registers of `deleted` already have the row that
/// was read, or NULLs.
fn show(
    merge: &Merge,
    table: &TableDef,
    clause: &MergeClause,
    new: Option<&dyn Fn(usize) -> Register>,
    cx: &mut Cx<'_>,
) {
    if merge.output.is_empty() {
        return;
    }
    cx.registers[merge.action.index()] = Value::nvarchar(clause.action.name());
    for i in 0..table.columns.len() {
        let value = new.map_or(Value::Null, |new| cx.registers[new(i).index()].clone());
        cx.registers[merge.inserted.plus(i).index()] = value;
    }
}
