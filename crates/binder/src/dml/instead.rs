//! Statements on a view with an INSTEAD OF trigger: the view's rows before and after the change are
//! computed and passed to the trigger.

use std::sync::Arc;

use tsql::ast::{self, SetItem, SetItemKind, TriggerTiming};
use types::{Msg, Result};

use super::output::{self, Pseudo};
use super::target::Bound;
use super::trigger::{self, Event, Images};
use super::update::{bind_top, condition, filtered, new_register, output_reads};
use super::{add_reads, row};
use crate::Binder;
use crate::expr::bind_expr;
use crate::query::compound;
use catalog::name::Name;
use catalog::{ModuleDef, TableDef};
use plan::expr::{Expr, ExprKind, Register};
use plan::query::{Node, TableSource};
use plan::sink::Command;
use plan::statement::Instead;
use plan::walk::Registers;

/// Returns the view's columns as a table, if a trigger replaces the statement. Statements of that
/// trigger itself change the tables behind the view.
pub(crate) fn shape(binder: &Binder<'_>, view: &ModuleDef, event: Event) -> Option<Arc<TableDef>> {
    if binder.table_variables.iter().any(|table| table.image_of == Some(view.id)) {
        return None;
    }
    let database = binder.catalog.database_by_id(view.database_id)?;
    let mut triggers = database.triggers_on(view.id);
    let found = triggers.find(|(trigger, create)| {
        !trigger.disabled
            && create.timing == TriggerTiming::InsteadOf
            && create.events.iter().any(|e| **e == *event.name())
    });
    found.and_then(|(trigger, _)| trigger.shape.clone())
}

/// Like [`shape`], for the target of UPDATE or DELETE.
pub(crate) fn shape_of_target(
    binder: &Binder<'_>,
    bound: &Bound,
    event: Event,
) -> Option<Arc<TableDef>> {
    let view = binder.level.sources[bound.source].view.as_ref()?;
    shape(binder, &view.module, event)
}

/// Binds an UPDATE of a view.
pub(crate) fn update(
    binder: &mut Binder<'_>,
    update: &ast::Update,
    bound: Bound,
    shape: &Arc<TableDef>,
) -> Result<Instead> {
    let filter = condition(binder, update.filter.as_ref())?;
    let old = registers_of(binder, &bound);
    let new = binder.new_registers(shape.columns.len());
    let mut changed: Vec<u16> = Vec::new();
    let mut computed = Vec::new();
    for item in &update.set {
        let (ordinal, value) = set_item(binder, shape, &old, item)?;
        if changed.contains(&ordinal) {
            return Err(Msg::ColumnSpecifiedTwice(&shape.columns[usize::from(ordinal)].name).into());
        }
        changed.push(ordinal);
        computed.push((new.plus(usize::from(ordinal)), value));
    }
    let root = Node::Compute(Box::new((filtered(bound.from, filter), computed)));
    let inserted = |i: usize| {
        let first = old.get(i).copied().unwrap_or(new);
        if changed.iter().any(|&c| usize::from(c) == i) {
            new_register(first, new, &changed, i)
        } else {
            first
        }
    };
    let deleted = |i: usize| old.get(i).copied().unwrap_or(new);
    let images = Images { inserted: Some(&inserted), deleted: Some(&deleted) };
    let named = |i: usize| changed.iter().any(|&c| usize::from(c) == i);
    let (outputs, top) = (&update.output, update.top.as_ref());
    let change = Change { event: Event::Update, images, named: &named, root, outputs, top };
    finish(binder, shape, change)
}

/// Binds a DELETE of a view.
pub(crate) fn delete(
    binder: &mut Binder<'_>,
    delete: &ast::Delete,
    bound: Bound,
    shape: &Arc<TableDef>,
) -> Result<Instead> {
    let filter = condition(binder, delete.filter.as_ref())?;
    let old = registers_of(binder, &bound);
    let root = filtered(bound.from, filter);
    let none = Register(0);
    let deleted = |i: usize| old.get(i).copied().unwrap_or(none);
    let images = Images { inserted: None, deleted: Some(&deleted) };
    let (outputs, top) = (&delete.output, delete.top.as_ref());
    let change = Change { event: Event::Delete, images, named: &|_| false, root, outputs, top };
    finish(binder, shape, change)
}

fn registers_of(binder: &Binder<'_>, bound: &Bound) -> Vec<Register> {
    binder.level.sources[bound.source].columns.iter().map(|c| c.register).collect()
}

/// Binds one item of the SET list over the view's old row.
fn set_item(
    binder: &mut Binder<'_>,
    shape: &Arc<TableDef>,
    old: &[Register],
    item: &SetItem,
) -> Result<(u16, Expr)> {
    let SetItemKind::Column { column, op, value } = &item.kind else {
        return Err(
            Msg::NotSupported("this item of SET on a view with an INSTEAD OF trigger").into()
        );
    };
    let name = &column.column;
    let place = shape.columns.iter().position(|c| Name::same(&c.name, name));
    let place = place.ok_or(Msg::InvalidColumn(name))?;
    let ordinal = u16::try_from(place).map_err(|_| Msg::InvalidColumn(name))?;
    let definition = &shape.columns[place];
    let value = match value.kind {
        ast::ExprKind::Default => row::default_value(binder, shape, definition)?,
        _ => bind_expr(binder, value)?,
    };
    let before = old.get(place).copied().ok_or(Msg::InvalidColumn(name))?;
    let before = Expr::new(ExprKind::Column(before), definition.ty);
    let value = row::stored(compound(*op, before, value, binder.meaning)?, definition)?;
    Ok((ordinal, value))
}

/// An UPDATE or DELETE of a view, whose rows are computed.
struct Change<'c> {
    event: Event,
    /// Registers of the view's rows before and after the change.
    images: Images<'c>,
    /// Returns whether the statement names a column in SET.
    named: &'c dyn Fn(usize) -> bool,
    /// Operators that compute the rows.
    root: Node,
    outputs: &'c [ast::Output],
    top: Option<&'c ast::Top>,
}

fn finish(binder: &mut Binder<'_>, shape: &Arc<TableDef>, change: Change<'_>) -> Result<Instead> {
    let Change { event, images, named, mut root, outputs, top } = change;
    let command = if event == Event::Update { Command::UPDATE } else { Command::DELETE };
    let pseudo = |name, register: Option<_>| {
        register.map(|register| Pseudo { name, table: shape, register, optional: false, old: None })
    };
    let pseudo = [pseudo("inserted", images.inserted), pseudo("deleted", images.deleted)];
    let pseudo: Vec<Pseudo<'_>> = pseudo.into_iter().flatten().collect();
    let mut output = output::bind(binder, outputs, &pseudo, None)?;
    let target = TableSource::Table(Arc::clone(shape));
    trigger::add(binder, &target, event, &images, named, &mut output)?;
    let top = bind_top(binder, top, &mut root)?;
    optimizer::root(&mut binder.statement(), &mut root)?;
    let mut used = Registers::default();
    add_reads(&root, &mut used);
    output_reads(&output, &mut used);
    optimizer::prune(&mut root, &used);
    Ok(Instead { command, target, root, output, top, registers: binder.registers })
}
