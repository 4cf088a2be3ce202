//! MERGE.

use storage::{RowImage, RowRef};
use types::{Msg, Result, Value};

use super::insert::{fill, note_identity, store};
use super::output::Collected;
use super::update::{Target, limit_of};
use super::write::{Verb, complete, set_row, storage_error};
use super::{Private, reference};
use crate::catalog::TableDef;
use crate::exec::eval::truth;
use crate::exec::query::{Flow, Rows, run};
use crate::exec::statement::{in_transaction, prepare};
use crate::exec::{Cx, StatementResult, fault, trigger};
use crate::plan::expr::Register;
use crate::plan::query::TableSource;
use crate::plan::statement::{
    Merge, MergeAction, MergeClause, MergeInsert, MergeWhen, SetRow, table_of,
};
use crate::sink::Command;

/// Runs MERGE.
pub(crate) fn run_merge(merge: &Merge, cx: &mut Cx<'_>) -> Result<StatementResult> {
    prepare(cx, merge.registers);
    cx.fires = trigger::fires(&merge.output);
    let mut collected = Collected::default();
    let rows = in_transaction(cx, &mut |cx| {
        collected.reset(&merge.output);
        let rows = run_rows(merge, cx, &mut collected)?;
        collected.store(&merge.output, cx)?;
        Ok(rows)
    })?;
    collected.send(&merge.output, cx)?;
    Ok(StatementResult { command: Command::Merge, rows })
}

fn run_rows(merge: &Merge, cx: &mut Cx<'_>, collected: &mut Collected) -> Result<u64> {
    let Some(main) = cx.transaction else { return Err(Msg::InternalError.into()) };
    let limit = limit_of(merge.top.as_ref(), cx)?;
    let private = Private::begin(&merge.target, cx);
    let tables = cx.frame.tables.clone();
    let mut rows = Rows { transaction: main, tables: &tables, current: smallvec::SmallVec::new() };
    let mut target = Target::new(&merge.root, merge.row);
    let mut changed = hashbrown::HashSet::new();
    let mut count = 0;
    run(&merge.root, cx, &mut rows, &mut |cx, rows| {
        if count == limit {
            return Ok(Flow::Enough);
        }
        let row = rows.get(merge.row);
        let source = !cx.registers[merge.source_present.index()].is_null();
        let when = match (row, source) {
            (Some(_), true) => MergeWhen::Matched,
            (None, true) => MergeWhen::NotMatchedByTarget,
            (Some(_), false) => MergeWhen::NotMatchedBySource,
            (None, false) => return Ok(Flow::More),
        };
        let Some(clause) = clause_for(merge, when, cx)? else { return Ok(Flow::More) };
        let done = match row {
            None => apply_insert(merge, clause, &private, cx)?,
            Some(row) => {
                if !changed.insert(row.id()) {
                    return Err(Msg::MergeRowTwice.into());
                }
                let table = table_of(&merge.target);
                match target.claim(row, table, private.or(main), cx)? {
                    Some(row) => apply_change(merge, clause, row, private.or(main), cx)?,
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
    private.commit(cx)?;
    Ok(count)
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
) -> Result<bool> {
    let MergeAction::Insert(MergeInsert { columns, first, row }) = &clause.action else {
        return Ok(false);
    };
    let table = table_of(&merge.target);
    let rows = match &merge.target {
        TableSource::Variable(slot, _) => std::sync::Arc::clone(&cx.frame.tables[*slot as usize]),
        TableSource::Table(table) | TableSource::Trigger(_, table) => {
            std::sync::Arc::clone(&table.rows)
        }
    };
    let identity = fill(columns, *first, table, &rows, cx)?;
    complete(row, table, Verb::Merge, cx)?;
    if !store(table, &rows, *first, row, private, cx)? {
        return Ok(false);
    }
    note_identity(identity, cx);
    show(merge, table, clause, Some(&|i| first.plus(i)), cx);
    Ok(true)
}

fn apply_change(
    merge: &Merge,
    clause: &MergeClause,
    row: RowRef<'_>,
    transaction: &storage::Transaction,
    cx: &mut Cx<'_>,
) -> Result<bool> {
    let table = table_of(&merge.target);
    match &clause.action {
        MergeAction::Delete => {
            transaction.delete(row).map_err(|e| fault::raise(cx, e))?;
            if table.referenced {
                reference::changed(&reference::Parent { table, old: row.image(), new: None }, cx)?;
            }
            show(merge, table, clause, None, cx);
            Ok(true)
        }
        MergeAction::Update(set) => {
            update(set, table, row, transaction, cx)?;
            let changed = |i: usize| set.changed.iter().any(|&c| usize::from(c) == i);
            let of = |i: usize| if changed(i) { set.new.plus(i) } else { set.old.plus(i) };
            show(merge, table, clause, Some(&of), cx);
            Ok(true)
        }
        MergeAction::Insert(_) => Ok(false),
    }
}

fn update(
    set: &SetRow,
    table: &TableDef,
    row: RowRef<'_>,
    transaction: &storage::Transaction,
    cx: &mut Cx<'_>,
) -> Result<()> {
    let mut buffer = std::mem::take(&mut cx.scratch.row);
    let done = set_row(set, table, row.image(), Verb::Merge, cx, &mut buffer).and_then(|()| {
        reference::check_new(&set.row.foreign, table, Verb::Merge, cx)?;
        let image = RowImage::from(&buffer);
        transaction.update(row, image, set.keys).map(|_| ()).map_err(|error| {
            storage_error(error, table, cx, &|cx, i| {
                let changed = set.changed.iter().any(|&c| usize::from(c) == i);
                let first = if changed { set.new } else { set.old };
                cx.registers[first.plus(i).index()].clone()
            })
        })?;
        if set.referenced {
            let parent = reference::Parent { table, old: row.image(), new: Some(image) };
            reference::changed(&parent, cx)?;
        }
        Ok(())
    });
    cx.scratch.row = buffer;
    done
}

/// Fills `$action` and `inserted` for OUTPUT; those of `deleted` hold the row that was read, or NULLs.
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
