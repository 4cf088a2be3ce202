//! MERGE: the source joined with the target, and what the WHEN clauses do with each pair.

use tsql::ast::{self, MergeKind};
use types::value::ColumnType;
use types::{Collation, DataType, Length, Mode, Msg, Result, Value};

use super::output::{self, Pseudo};
use super::target::{self, Base};
use super::trigger::{self, Event, Images};
use super::update::{bind_set, output_reads, set_reads};
use super::{add_reads, in_level, row};
use crate::bind::Binder;
use crate::bind::expr::{assign, bind_condition, bind_expr};
use crate::bind::query::{Lateral, bind_table_ref, top_of};
use crate::opt;
use crate::plan::expr::{Expr, ExprKind, Register};
use crate::plan::query::{Join, JoinKind, JoinMethod, Node};
use crate::plan::statement::{
    InsertValue, Merge, MergeAction, MergeClause, MergeInsert, MergeWhen, OutputClause,
};
use crate::plan::walk::{self, Registers};

/// Binds MERGE.
pub(crate) fn bind_merge(binder: &mut Binder<'_>, merge: &ast::Merge) -> Result<Merge> {
    in_level(binder, merge.with.as_ref(), |binder| {
        let hints = crate::bind::query::scan_hints(&merge.target.hints);
        let target_node = target::add_target(binder, &merge.target, hints)?;
        if let (Some(alias), Some(level)) = (&merge.alias, binder.levels.last_mut())
            && let Some(source) = level.sources.first_mut()
        {
            source.alias = alias.to_string();
            source.schema = None;
        }
        super::view::refuse_merge(binder)?;
        let base = target::base_of(binder, &target_node, 0, None)?;
        if trigger::has_instead(binder, &base.definition) {
            return Err(Msg::NotSupported("MERGE into a table with INSTEAD OF triggers").into());
        }
        let source = bind_table_ref(binder, &merge.source, Lateral::No)?;
        let source_present = binder.new_register();
        let present = Expr::constant(Value::Bit(true), DataType::Bit);
        let source = Node::Compute(Box::new((source, vec![(source_present, present)])));
        let on = bind_condition(binder, &merge.on)?;
        let by_source = merge.clauses.iter().any(|c| c.kind == MergeKind::NotMatchedBySource);
        let join = Join {
            kind: if by_source { JoinKind::Full } else { JoinKind::Left },
            method: if by_source { JoinMethod::Hash(Vec::new()) } else { JoinMethod::Loop },
            left_live: walk::live(&source),
            right_live: walk::live(&target_node),
            left: source,
            right: target_node,
            on: Some(on),
        };
        let mut root = Node::Join(Box::new(join));
        let clauses = bind_clauses(binder, &base, &merge.clauses)?;
        let inserted = binder.new_registers(base.definition.columns.len());
        let action = binder.new_register();
        let mut output = bind_output(binder, &base, merge, inserted, action)?;
        add_triggers(binder, &base, &clauses, inserted, &mut output)?;
        let top = merge.top.as_ref().map(|t| top_of(binder, t)).transpose()?;
        if top.as_ref().is_some_and(|t| t.percent) {
            return Err(Msg::NotSupported("TOP PERCENT in MERGE").into());
        }
        opt::root(binder, &mut root);
        let mut used = Registers::default();
        add_reads(&root, &mut used);
        used.insert(source_present);
        clauses.iter().for_each(|c| clause_reads(c, &mut used));
        output_reads(&output, &mut used);
        if !output.is_empty() {
            // `inserted` of an updated row shows the columns that did not change, too.
            (0..base.definition.columns.len()).for_each(|i| used.insert(base.old.plus(i)));
        }
        opt::prune(&mut root, &used);
        Ok(Merge {
            target: base.table,
            root,
            row: base.row,
            source_present,
            clauses,
            output,
            action,
            inserted,
            deleted: base.old,
            top: top.map(|t| t.count),
            registers: binder.registers,
        })
    })
}

fn bind_output(
    binder: &mut Binder<'_>,
    base: &Base,
    merge: &ast::Merge,
    inserted: Register,
    action: Register,
) -> Result<Vec<OutputClause>> {
    let new = |i: usize| inserted.plus(i);
    let old = |i: usize| base.old.plus(i);
    let table = &base.definition;
    let pseudo = [
        Pseudo { name: "inserted", table, register: &new, optional: true },
        Pseudo { name: "deleted", table, register: &old, optional: true },
    ];
    let ty = ColumnType {
        data_type: DataType::NVarChar(Length::Limited(10)),
        collation: Collation::default(),
        nullable: false,
    };
    output::bind(binder, &merge.output, &pseudo, Some(("$action", action, ty)))
}

/// Lets the statement fire the AFTER triggers of each action that one of its clauses has, whether or not it
/// comes to it.
fn add_triggers(
    binder: &Binder<'_>,
    base: &Base,
    clauses: &[MergeClause],
    inserted: Register,
    output: &mut Vec<OutputClause>,
) -> Result<()> {
    let new = |i: usize| inserted.plus(i);
    let old = |i: usize| base.old.plus(i);
    let (mut inserts, mut deletes, mut changed) = (false, false, None);
    for clause in clauses {
        match &clause.action {
            MergeAction::Insert(_) => inserts = true,
            MergeAction::Delete => deletes = true,
            MergeAction::Update(set) => {
                changed.get_or_insert_with(Vec::new).extend_from_slice(&set.changed);
            }
        }
    }
    let target = &base.table;
    if inserts {
        let images = Images { inserted: Some(&new), deleted: None };
        trigger::add(binder, target, Event::Insert, &images, &|_| true, output)?;
    }
    if let Some(changed) = changed {
        let images = Images { inserted: Some(&new), deleted: Some(&old) };
        let named = |i: usize| changed.iter().any(|column| usize::from(*column) == i);
        trigger::add(binder, target, Event::Update, &images, &named, output)?;
    }
    if deletes {
        let images = Images { inserted: None, deleted: Some(&old) };
        trigger::add(binder, target, Event::Delete, &images, &|_| false, output)?;
    }
    Ok(())
}

fn bind_clauses(
    binder: &mut Binder<'_>,
    base: &Base,
    clauses: &[ast::MergeClause],
) -> Result<Vec<MergeClause>> {
    let mut bound = Vec::with_capacity(clauses.len());
    for clause in clauses {
        let condition = clause.condition.as_ref().map(|c| bind_condition(binder, c)).transpose()?;
        let when = match clause.kind {
            MergeKind::Matched => MergeWhen::Matched,
            MergeKind::NotMatchedByTarget => MergeWhen::NotMatchedByTarget,
            MergeKind::NotMatchedBySource => MergeWhen::NotMatchedBySource,
        };
        let inserts = matches!(clause.action, ast::MergeAction::Insert { .. });
        if inserts != (when == MergeWhen::NotMatchedByTarget) {
            let action = match clause.action {
                ast::MergeAction::Update(_) => "UPDATE",
                ast::MergeAction::Delete => "DELETE",
                ast::MergeAction::Insert { .. } => "INSERT",
            };
            return Err(if inserts {
                Msg::MergeActionMatched(action).into()
            } else {
                Msg::MergeActionNotMatched(action).into()
            });
        }
        let action = match &clause.action {
            ast::MergeAction::Update(items) => {
                MergeAction::Update(bind_set(binder, base, 0, items)?)
            }
            ast::MergeAction::Delete => MergeAction::Delete,
            ast::MergeAction::Insert { columns, values } => {
                MergeAction::Insert(bind_insert(binder, base, columns, values.as_deref())?)
            }
        };
        bound.push(MergeClause { when, condition, action });
    }
    Ok(bound)
}

fn bind_insert(
    binder: &mut Binder<'_>,
    base: &Base,
    names: &[ast::Ident],
    values: Option<&[ast::Expr]>,
) -> Result<MergeInsert> {
    let table = &base.definition;
    let named = super::insert::named_columns(table, names)?;
    let values = values.unwrap_or_default();
    if !values.is_empty() && values.len() != named.len() {
        return Err(Msg::InsertColumnCount.into());
    }
    let mut columns = Vec::with_capacity(table.columns.len());
    for (i, column) in table.columns.iter().enumerate() {
        let given = named.iter().position(|&n| n == i).and_then(|at| values.get(at));
        columns.push(match given {
            Some(value) if !matches!(value.kind, ast::ExprKind::Default) => {
                let value = bind_expr(binder, value)?;
                InsertValue::Source(assign(value, &column.ty, Mode::Assignment)?)
            }
            _ => row::unnamed(binder, column)?,
        });
    }
    let first = binder.new_registers(table.columns.len());
    let row = row::new_row(binder, table, &|i| first.plus(i), &|_| true)?;
    Ok(MergeInsert { columns, first, row })
}

fn clause_reads(clause: &MergeClause, used: &mut Registers) {
    if let Some(condition) = &clause.condition {
        used.extend(&walk::reads(condition));
    }
    match &clause.action {
        MergeAction::Update(set) => set_reads(set, used),
        MergeAction::Delete => {}
        MergeAction::Insert(insert) => {
            for column in &insert.columns {
                if let InsertValue::Source(e) | InsertValue::Default(Some(e)) = column {
                    walk::visit(e, &mut |e| {
                        if let ExprKind::Column(register) = e.kind {
                            used.insert(register);
                        }
                    });
                }
            }
        }
    }
}
