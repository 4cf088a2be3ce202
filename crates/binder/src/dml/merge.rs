//! MERGE: joins the source with the target; WHEN clauses say what to do with each pair of rows.

use std::ops::Range;
use std::sync::Arc;

use tsql::ast::{self, MergeKind};
use types::value::ColumnType;
use types::{Collation, DataType, Length, Msg, Result, Value};

use super::nested::is_nested;
use super::output::{self, Pseudo};
use super::target::{self, Base};
use super::trigger::{self, Event, Images};
use super::update::{bind_set, names, output_reads, percent_of, set_reads};
use super::{add_reads, full_name, in_level, row, view};
use crate::expr::{bind_condition, bind_expr};
use crate::query::{Lateral, bind_table_ref, top_of};
use crate::{Binder, Source};
use catalog::TableDef;
use plan::expr::{Expr, ExprKind, Register};
use plan::query::{Join, JoinKind, JoinMethod, Node, TableSource};
use plan::statement::{
    InsertValue, Merge, MergeAction, MergeClause, MergeInsert, MergeWhen, OutputClause,
};
use plan::walk::{self, Registers};

/// Binds a MERGE statement.
pub fn bind_merge(binder: &mut Binder<'_>, merge: &ast::Merge) -> Result<Merge> {
    in_level(binder, merge.with.as_ref(), |binder| {
        let hints = crate::query::scan_hints(&merge.target.hints);
        let target_node = target::add_target(binder, &merge.target, hints)?;
        let target_node = target::with_hints(target_node, hints, &binder.level.sources, 0);
        if let Some(alias) = &merge.alias {
            let source = &mut binder.level.sources[0];
            source.alias = alias.as_str().into();
            source.schema = None;
        }
        let target = merge_target(binder, target_node, merge)?;
        let base = target.base;
        if is_nested(&merge.source) {
            return Err(Msg::NestedInUsing.into());
        }
        let source = bind_table_ref(binder, &merge.source, Lateral::No)?;
        let source_present = binder.new_register();
        let source = with_flag(source, source_present);
        let on = bind_condition(binder, &merge.on)?;
        let by_source = merge.clauses.iter().any(|c| c.kind == MergeKind::NotMatchedBySource);
        let join = Join {
            kind: if by_source { JoinKind::Full } else { JoinKind::Left },
            method: if by_source { JoinMethod::Hash(Vec::new()) } else { JoinMethod::Loop },
            left_live: walk::live(&source),
            right_live: walk::live(&target.node),
            left: source,
            right: target.node,
            on: Some(on),
            any_order: false,
        };
        let mut root = Node::Join(Box::new(join));
        let clauses = bind_clauses(binder, &base, &merge.clauses)?;
        require_actions(binder, &base, &clauses)?;
        let inserted = binder.new_registers(base.definition.columns.len());
        let action = binder.new_register();
        let mut output = bind_output(binder, &base, merge, inserted, action)?;
        add_triggers(binder, &base, &clauses, inserted, &mut output)?;
        let flags = target.present.map(|present| (source_present, present));
        let top = bind_top(binder, merge.top.as_ref(), &clauses, flags, &mut root)?;
        optimizer::root(&mut binder.statement(), &mut root)?;
        let mut used = Registers::default();
        add_reads(&root, &mut used);
        used.insert(source_present);
        target.present.iter().for_each(|present| used.insert(*present));
        clauses.iter().for_each(|c| clause_reads(c, &mut used));
        output_reads(&output, &mut used);
        if !output.is_empty() {
            // OUTPUT shows the unchanged columns of `inserted` too.
            (0..base.definition.columns.len()).for_each(|i| used.insert(base.old.plus(i)));
        }
        optimizer::prune(&mut root, &used);
        Ok(Merge {
            target: base.table,
            root,
            row: base.row,
            source_present,
            target_present: target.present.filter(|_| target.is_view),
            view_rows: target.view_rows,
            clauses,
            output,
            action,
            inserted,
            deleted: base.old,
            top,
            registers: binder.registers,
        })
    })
}

/// The bound target of a MERGE.
struct MergeTarget {
    node: Node,
    base: Base,
    /// Register that is not NULL where the target has a row; `None` if it is not needed.
    present: Option<Register>,
    /// Whether it is a view whose triggers receive the rows.
    is_view: bool,
    /// Row numbers of the scans behind such a view.
    view_rows: Vec<u32>,
}

/// Finds the table behind the target; a view with INSTEAD OF triggers is treated as a table.
///
/// # Errors
/// 5316 if triggers replace some actions of the MERGE but not all.
fn merge_target(binder: &mut Binder<'_>, node: Node, merge: &ast::Merge) -> Result<MergeTarget> {
    let events = merge.clauses.iter().map(|clause| match clause.action {
        ast::MergeAction::Insert { .. } => Event::Insert,
        ast::MergeAction::Update(_) => Event::Update,
        ast::MergeAction::Delete => Event::Delete,
    });
    let events: Vec<Event> = events.collect();
    if let Some(shape) = view::merge_shape(binder, &events)? {
        return Ok(as_table(binder, node, shape));
    }
    let base = target::base_of(binder, &node, 0, None)?;
    if base.definition.is_history() {
        return Err(Msg::MergeHistory(&full_name(binder, &base.definition)).into());
    }
    row::check_indexed(binder, &base.definition, "MERGE")?;
    let has_instead = |event: &Event| {
        trigger::triggers(binder, &base.definition, *event).is_some_and(|(_, one)| one.is_some())
    };
    let instead = events.iter().filter(|event| has_instead(event)).count();
    if instead > 0 && instead < events.len() {
        return Err(Msg::MergeInsteadSome(&base.definition.name).into());
    }
    let by_percent = merge.top.as_ref().is_some_and(|top| top.percent);
    let present = by_percent.then(|| binder.new_register());
    let node = match present {
        Some(present) => with_flag(node, present),
        None => node,
    };
    Ok(MergeTarget { node, base, present, is_view: false, view_rows: Vec::new() })
}

/// Copies the columns of a view to consecutive registers, as a table has them.
fn as_table(binder: &mut Binder<'_>, node: Node, shape: Arc<TableDef>) -> MergeTarget {
    let view_rows = walk::live(&node).rows;
    let present = binder.new_register();
    let old = binder.new_registers(shape.columns.len());
    let mut computed = vec![(present, Expr::constant(Value::Bit(true), DataType::Bit))];
    for (i, column) in binder.level.sources[0].columns.iter_mut().enumerate() {
        let value = Expr::new(ExprKind::Column(column.register), column.ty);
        column.register = old.plus(i);
        computed.push((column.register, value));
    }
    let table = TableSource::Table(Arc::clone(&shape));
    let base = Base { table, definition: shape, row: binder.new_row(), old };
    let node = Node::Compute(Box::new((node, computed)));
    MergeTarget { node, base, present: Some(present), is_view: true, view_rows }
}

/// Binds TOP (n). A percentage becomes a limit over the pairs that some clause applies to; the
/// registers show which sides have a row.
fn bind_top(
    binder: &mut Binder<'_>,
    top: Option<&ast::Top>,
    clauses: &[MergeClause],
    flags: Option<(Register, Register)>,
    root: &mut Node,
) -> Result<Option<Expr>> {
    let top = top.map(|top| top_of(binder, top)).transpose()?;
    match (top, flags) {
        (Some(top), Some((source, target))) if top.percent => {
            let pairs = std::mem::replace(root, Node::Empty);
            let pairs = Node::Filter(Box::new((pairs, applies(clauses, source, target))));
            *root = percent_of(pairs, top.count);
            Ok(None)
        }
        (top, _) => Ok(top.map(|top| top.count)),
    }
}

/// Checks the permissions for the clauses' actions on the table behind a CTE.
fn require_actions(binder: &Binder<'_>, base: &Base, clauses: &[MergeClause]) -> Result<()> {
    for clause in clauses {
        match &clause.action {
            MergeAction::Insert(_) => target::require_base(binder, 0, base, "INSERT")?,
            MergeAction::Delete => target::require_base(binder, 0, base, "DELETE")?,
            MergeAction::Update(set) => {
                let named = |i: usize| set.assignments.iter().any(|a| names(a, i));
                target::require_columns(binder, 0, base, &named)?;
            }
        }
    }
    Ok(())
}

/// Adds a register that is not NULL where the node has a row.
fn with_flag(node: Node, flag: Register) -> Node {
    let present = Expr::constant(Value::Bit(true), DataType::Bit);
    Node::Compute(Box::new((node, vec![(flag, present)])))
}

/// Returns the condition that some clause applies to a pair of rows.
fn applies(clauses: &[MergeClause], source: Register, target: Register) -> Expr {
    let flag_type =
        ColumnType { data_type: DataType::Bit, collation: Collation::default(), nullable: true };
    let condition = |kind| Expr::new(kind, flag_type);
    let is_missing = |register: Register| {
        condition(ExprKind::IsNull(Box::new(condition(ExprKind::Column(register)))))
    };
    let is_there = |register: Register| condition(ExprKind::Not(Box::new(is_missing(register))));
    let any = clauses.iter().map(|clause| {
        let mut all = match clause.when {
            MergeWhen::Matched => vec![is_there(source), is_there(target)],
            MergeWhen::NotMatchedByTarget => vec![is_there(source), is_missing(target)],
            MergeWhen::NotMatchedBySource => vec![is_missing(source), is_there(target)],
        };
        all.extend(clause.condition.clone());
        condition(ExprKind::And(all.into()))
    });
    condition(ExprKind::Or(any.collect()))
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
    let scanned = Some(base.old);
    let pseudo = [
        Pseudo { name: "inserted", table, register: &new, optional: true, old: scanned },
        Pseudo { name: "deleted", table, register: &old, optional: true, old: scanned },
    ];
    let ty = ColumnType {
        data_type: DataType::NVarChar(Length::Limited(10)),
        collation: Collation::default(),
        nullable: false,
    };
    output::bind(binder, &merge.output, &pseudo, Some(("$action", action, ty)))
}

/// Adds the AFTER triggers of each action that the clauses contain, whether or not it occurs at run
/// time.
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

/// Returns which sources of the level have no row in a clause: their columns have no names there.
/// The target is the first, and the source of the MERGE the others.
fn without_row(binder: &Binder<'_>, when: MergeWhen) -> Range<usize> {
    match when {
        MergeWhen::Matched => 0..0,
        MergeWhen::NotMatchedByTarget => 0..1,
        MergeWhen::NotMatchedBySource => 1..binder.level.sources.len(),
    }
}

/// Binds something while some sources of the level have no names.
fn hiding<T>(
    binder: &mut Binder<'_>,
    hidden: Range<usize>,
    bind: impl FnOnce(&mut Binder<'_>) -> Result<T>,
) -> Result<T> {
    let sources = &mut binder.level.sources[hidden.clone()];
    let kept: Vec<Source> = sources.iter_mut().map(std::mem::take).collect();
    let bound = bind(binder);
    for (source, kept) in binder.level.sources[hidden].iter_mut().zip(kept) {
        *source = kept;
    }
    bound
}

fn bind_clauses(
    binder: &mut Binder<'_>,
    base: &Base,
    clauses: &[ast::MergeClause],
) -> Result<Vec<MergeClause>> {
    let mut bound = Vec::with_capacity(clauses.len());
    for clause in clauses {
        let when = match clause.kind {
            MergeKind::Matched => MergeWhen::Matched,
            MergeKind::NotMatchedByTarget => MergeWhen::NotMatchedByTarget,
            MergeKind::NotMatchedBySource => MergeWhen::NotMatchedBySource,
        };
        let hidden = without_row(binder, when);
        let condition = clause.condition.as_ref();
        let condition = condition
            .map(|c| hiding(binder, hidden.clone(), |binder| bind_condition(binder, c)))
            .transpose()?;
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
                let mut set = hiding(binder, hidden, |binder| bind_set(binder, base, 0, items))?;
                let swaps = set.changed.iter().map(|&c| usize::from(c));
                let swaps = swaps.map(|i| (set.old.plus(i), set.new.plus(i))).collect();
                set.row.views = view::check(binder, 0, swaps)?;
                MergeAction::Update(set)
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
                if column.generated.is_some() {
                    return Err(Msg::InsertGenerated(&full_name(binder, table)).into());
                }
                let hidden = without_row(binder, MergeWhen::NotMatchedByTarget);
                let value = hiding(binder, hidden, |binder| bind_expr(binder, value))?;
                InsertValue::Source(row::stored(value, column)?)
            }
            _ => row::unnamed(binder, table, column)?,
        });
    }
    let first = binder.new_registers(table.columns.len());
    let mut row = row::new_row(binder, table, &|i| first.plus(i), &|_| true)?;
    let swaps = (0..table.columns.len()).map(|i| (base.old.plus(i), first.plus(i))).collect();
    row.views = view::check(binder, 0, swaps)?;
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
