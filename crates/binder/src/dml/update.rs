//! UPDATE: assignments, left to right, over the old row.

use tsql::ast::{self, SetItem, SetItemKind};
use types::value::ColumnType;
use types::{DataType, Length, Mode, Msg, Result};

use super::output::{self, Pseudo};
use super::target::{self, Base};
use super::trigger::{self, Event, Images};
use super::{add_reads, full_name, in_level, instead, row, view};
use crate::expr::{
    assign, bind_condition, bind_expr, bind_modify, check_not_null, compute_next_values,
    find_variable, set_clause, share_next_values,
};
use crate::query::{compound, top_of};
use crate::{Binder, Clause, Found};
use catalog::TableDef;
use plan::expr::{Expr, ExprKind, Register};
use plan::query::{Limit, Node};
use plan::statement::{Assignment, Bound, Course, OutputClause, OutputTarget, SetRow, Update};
use plan::walk::{self, Registers};

/// Binds an UPDATE statement.
pub fn bind_update(binder: &mut Binder<'_>, update: &ast::Update) -> Result<Bound> {
    in_level(binder, update.with.as_ref(), |binder| {
        let bound = target::bind_with_from(binder, &update.target, &update.from)?;
        if let Some(shape) = instead::shape_of_target(binder, &bound, Event::Update) {
            return instead::update(binder, update, bound, &shape).map(Bound::Instead);
        }
        let filter = condition(binder, update.filter.as_ref())?;
        let column = first_column(binder, bound.source, &update.set)?;
        let base = target::base_of(binder, &bound.from, bound.source, column)?;
        if base.definition.is_history() {
            return Err(Msg::UpdateHistory(&full_name(binder, &base.definition)).into());
        }
        row::check_indexed(binder, &base.definition, "UPDATE")?;
        let mut root = filtered(bound.from, filter);
        let mut set = bind_set(binder, &base, bound.source, &update.set)?;
        let swaps = set.changed.iter().map(|&c| usize::from(c));
        let swaps = swaps.map(|i| (set.old.plus(i), set.new.plus(i))).collect();
        set.row.views = view::check(binder, bound.source, swaps)?;
        let mut values: Vec<&mut Expr> = set.assignments.iter_mut().filter_map(value).collect();
        let shared = share_next_values(binder, &mut values);
        compute_next_values(&mut root, shared);
        let (old, new) = (set.old, set.new);
        let changed = set.changed.clone();
        let register = |i: usize| new_register(old, new, &changed, i);
        let old_register = |i: usize| old.plus(i);
        let pseudo =
            [pseudo("inserted", &base, &register), pseudo("deleted", &base, &old_register)];
        let mut output = output::bind(binder, &update.output, &pseudo, None)?;
        let images = Images { inserted: Some(&register), deleted: Some(&old_register) };
        let named = |i: usize| set.assignments.iter().any(|a| names(a, i));
        target::require_columns(binder, bound.source, &base, &named)?;
        trigger::add(binder, &base.table, Event::Update, &images, &named, &mut output)?;
        let top = bind_top(binder, update.top.as_ref(), &mut root)?;
        binder.assigns |= set
            .assignments
            .iter()
            .any(|a| matches!(a, Assignment::Variable(..) | Assignment::VariableAndColumn(..)));
        optimizer::root(&mut binder.statement(), &mut root)?;
        optimizer::values(&mut binder.statement(), set.assignments.iter_mut().filter_map(value))?;
        let mut used = Registers::default();
        set_reads(&set, &mut used);
        key_reads(&set, &base.definition, &mut used);
        output_reads(&output, &mut used);
        let of_values = used.clone();
        add_reads(&root, &mut used);
        optimizer::prune(&mut root, &used);
        // The old version goes to the history table, which needs a transaction.
        let versioned = base.definition.is_versioned();
        let course = match course_of(&root, &set, &output, top.as_ref()) {
            Course::Point if versioned => Course::General,
            course => course,
        };
        let point_columns = point_columns(&root, course, of_values);
        Ok(Bound::Update(Update {
            target: base.table,
            root,
            row: base.row,
            set,
            output,
            top,
            registers: binder.registers,
            course,
            point_columns,
        }))
    })
}

/// Returns the new value of an assignment, if it may contain NEXT VALUE FOR.
fn value(assignment: &mut Assignment) -> Option<&mut Expr> {
    match assignment {
        Assignment::Column(_, value)
        | Assignment::Variable(_, value)
        | Assignment::VariableAndColumn(_, _, value, _) => Some(value),
        Assignment::Write(..) => None,
    }
}

/// Returns whether an item of the SET list assigns a column.
pub(crate) fn names(assignment: &Assignment, ordinal: usize) -> bool {
    match assignment {
        Assignment::Column(column, _)
        | Assignment::VariableAndColumn(_, column, ..)
        | Assignment::Write(column, _) => usize::from(*column) == ordinal,
        Assignment::Variable(..) => false,
    }
}

/// Binds WHERE of a statement that changes data.
pub(crate) fn condition(
    binder: &mut Binder<'_>,
    filter: Option<&ast::Condition>,
) -> Result<Option<Expr>> {
    let Some(filter) = filter else { return Ok(None) };
    if matches!(filter.kind, ast::ConditionKind::CurrentOf(_)) {
        return Err(Msg::NotSupported("WHERE CURRENT OF").into());
    }
    binder.level.clause = Clause::Plain;
    bind_condition(binder, filter).map(Some)
}

/// Adds WHERE as a filter above FROM.
pub(crate) fn filtered(from: Node, filter: Option<Expr>) -> Node {
    match filter {
        Some(filter) => Node::Filter(Box::new((from, filter))),
        None => from,
    }
}

/// Binds TOP (n); a percentage becomes a limit over the rows.
pub(crate) fn bind_top(
    binder: &mut Binder<'_>,
    top: Option<&ast::Top>,
    root: &mut Node,
) -> Result<Option<Expr>> {
    let Some(top) = top else { return Ok(None) };
    let top = top_of(binder, top)?;
    if !top.percent {
        return Ok(Some(top.count));
    }
    let input = std::mem::replace(root, Node::Empty);
    *root = percent_of(input, top.count);
    Ok(None)
}

/// Limits rows to a percentage.
pub(crate) fn percent_of(input: Node, percent: Expr) -> Node {
    let count = Some(percent);
    Node::Limit(Box::new(Limit { input, offset: None, count, percent: true, ties: None }))
}

fn pseudo<'r>(
    name: &'static str,
    base: &'r Base,
    register: &'r dyn Fn(usize) -> Register,
) -> Pseudo<'r> {
    Pseudo { name, table: &base.definition, register, optional: false, old: Some(base.old) }
}

/// Returns the register of a column of the new row.
pub(crate) fn new_register(old: Register, new: Register, changed: &[u16], i: usize) -> Register {
    if changed.iter().any(|&c| usize::from(c) == i) { new.plus(i) } else { old.plus(i) }
}

/// Returns the index of the first assigned column in the target's source, which leads to its table.
fn first_column(binder: &Binder<'_>, source: usize, set: &[SetItem]) -> Result<Option<usize>> {
    let source = &binder.level.sources[source];
    for item in set {
        let name = match &item.kind {
            SetItemKind::Column { column, .. } | SetItemKind::VariableAndColumn { column, .. } => {
                &column.column
            }
            SetItemKind::Write { column, .. } => column,
            SetItemKind::Mutate { column, .. } => &column.column,
            SetItemKind::Variable { .. } => continue,
        };
        let same = |c: &crate::SourceColumn| catalog::name::Name::same(&c.name, name);
        let place = source.columns.iter().position(same).ok_or(Msg::InvalidColumn(name))?;
        return Ok(Some(place));
    }
    Ok(None)
}

/// Binds the items of a SET list.
pub(crate) fn bind_set(
    binder: &mut Binder<'_>,
    base: &Base,
    source: usize,
    items: &[SetItem],
) -> Result<SetRow> {
    let table = &base.definition;
    let new = binder.new_registers(table.columns.len());
    let mut set = Setter { base, source, new, changed: Vec::new() };
    let mut assignments = Vec::with_capacity(items.len());
    let clause = set_clause(binder, Clause::Set);
    for item in items {
        assignments.push(set.item(binder, item)?);
    }
    set_clause(binder, clause);
    let mut changed = set.changed;
    let row_version = table.columns.iter().position(|c| c.ty.data_type == DataType::RowVersion);
    let row_version = row_version.and_then(|i| u16::try_from(i).ok());
    changed.extend(row_version);
    let period_start = table.period.map(|period| period.start);
    changed.extend(period_start);
    let assigned = changed.clone();
    let computed = table.columns.iter().enumerate().filter(|(_, c)| c.computed.is_some());
    changed.extend(computed.filter_map(|(i, _)| u16::try_from(i).ok()));
    let row = row::new_row(binder, table, &|i| new_register(base.old, new, &changed, i), &|i| {
        changed.iter().any(|&c| usize::from(c) == i)
    })?;
    let is_key = |c: &u16| table.indexes.iter().any(|i| i.keys.iter().any(|(k, _)| k == c));
    let keys = keys_of(table, &changed);
    let referenced = table.referenced && assigned.iter().any(is_key);
    let old = base.old;
    Ok(SetRow { old, new, assignments, changed, row_version, period_start, keys, row, referenced })
}

/// Returns the index keys that contain assigned columns.
fn keys_of(table: &TableDef, changed: &[u16]) -> storage::Keys {
    let mut mask = storage::IndexMask::default();
    let mut is_any = false;
    for index in &table.indexes {
        let filters = |column: &u16| index.filter.as_ref().is_some_and(|f| f.reads(*column));
        if index.keys.iter().any(|(column, _)| changed.contains(column))
            || changed.iter().any(filters)
        {
            mask.insert(index.storage_id());
            is_any = true;
        }
    }
    if is_any { storage::Keys::In(mask) } else { storage::Keys::Same }
}

struct Setter<'b> {
    base: &'b Base,
    source: usize,
    new: Register,
    changed: Vec<u16>,
}

impl Setter<'_> {
    fn item(&mut self, binder: &mut Binder<'_>, item: &SetItem) -> Result<Assignment> {
        match &item.kind {
            SetItemKind::Column { column, op, value } => {
                let ordinal = self.column(binder, &column.column)?;
                let expr = self.value(binder, ordinal, *op, value)?;
                Ok(Assignment::Column(ordinal, expr))
            }
            SetItemKind::Variable { variable, op, value } => {
                let (slot, ty) = find_variable(binder, &variable.name)
                    .ok_or(Msg::MustDeclareScalar(&variable.name))?;
                let value = bind_expr(binder, value)?;
                let target = Expr::new(ExprKind::Variable(slot), ty);
                let value = compound(*op, target, value, binder.meaning)?;
                let value = assign(value, &ty, Mode::Implicit)?;
                Ok(Assignment::Variable(slot, check_not_null(value, &variable.name, &ty)?))
            }
            SetItemKind::VariableAndColumn { variable, column, op, value } => {
                let (slot, ty) = find_variable(binder, &variable.name)
                    .ok_or(Msg::MustDeclareScalar(&variable.name))?;
                let ordinal = self.column(binder, &column.column)?;
                let expr = self.value(binder, ordinal, *op, value)?;
                let register = self.new.plus(usize::from(ordinal));
                let stored = self.type_of(ordinal);
                let result = Expr::new(ExprKind::Column(register), stored);
                let result = assign(result, &ty, Mode::Implicit)?;
                let result = check_not_null(result, &variable.name, &ty)?;
                Ok(Assignment::VariableAndColumn(slot, ordinal, expr, result))
            }
            SetItemKind::Write { column, value, offset, length } => {
                self.write(binder, column, value, offset, length)
            }
            SetItemKind::Mutate { column, method, arguments } => {
                let ordinal = self.column(binder, &column.column)?;
                let register = self.base.old.plus(usize::from(ordinal));
                let old = Expr::new(ExprKind::Column(register), self.type_of(ordinal));
                let changed = bind_modify(binder, old, &column.column, method, arguments)?;
                Ok(Assignment::Column(ordinal, changed))
            }
        }
    }

    fn type_of(&self, ordinal: u16) -> ColumnType {
        self.base.definition.columns[usize::from(ordinal)].ty
    }

    /// Resolves an assigned column and records it.
    fn column(&mut self, binder: &mut Binder<'_>, name: &ast::Ident) -> Result<u16> {
        let source = &mut binder.level.sources[self.source];
        let Found::One(place) = source.find(name) else {
            return Err(Msg::InvalidColumn(name).into());
        };
        let found = &source.columns[place];
        if let Some(guard) = &source.guard {
            guard.check_change(place, &found.name)?;
        }
        let table = &self.base.definition;
        let width =
            u32::try_from(table.columns.len()).expect("a table has fewer than 2^16 columns");
        let ordinal = found.register.0.wrapping_sub(self.base.old.0);
        if ordinal >= width {
            return Err(Msg::ViewMultipleTables(name).into());
        }
        let ordinal = u16::try_from(ordinal).map_err(|_| Msg::InvalidColumn(name))?;
        let column = &table.columns[usize::from(ordinal)];
        if column.computed.is_some() {
            return Err(Msg::ColumnCannotBeModified(&column.name).into());
        }
        if column.identity.is_some() {
            return Err(Msg::CannotUpdateIdentity(&column.name).into());
        }
        if column.ty.data_type == DataType::RowVersion {
            return Err(Msg::CannotUpdateTimestamp.into());
        }
        if column.generated.is_some() {
            return Err(Msg::UpdateGenerated(&full_name(binder, table)).into());
        }
        if self.changed.contains(&ordinal) {
            return Err(Msg::ColumnSpecifiedTwice(&column.name).into());
        }
        self.changed.push(ordinal);
        Ok(ordinal)
    }

    /// Binds the value of a column; it reads the old row.
    fn value(
        &self,
        binder: &mut Binder<'_>,
        ordinal: u16,
        op: ast::AssignOp,
        value: &ast::Expr,
    ) -> Result<Expr> {
        let column = &self.base.definition.columns[usize::from(ordinal)];
        if matches!(value.kind, ast::ExprKind::Default) {
            return row::default_value(binder, &self.base.definition, column);
        }
        let value = bind_expr(binder, value)?;
        let register = self.base.old.plus(usize::from(ordinal));
        if op != ast::AssignOp::Assign {
            binder.level.sources[self.source].check_read(register)?;
        }
        let old = Expr::new(ExprKind::Column(register), self.type_of(ordinal));
        row::stored(compound(op, old, value, binder.meaning)?, column)
    }

    fn write(
        &mut self,
        binder: &mut Binder<'_>,
        column: &ast::Ident,
        value: &ast::Expr,
        offset: &ast::Expr,
        length: &ast::Expr,
    ) -> Result<Assignment> {
        let ordinal = self.column(binder, column)?;
        let ty = self.type_of(ordinal);
        let large = matches!(
            ty.data_type,
            DataType::VarChar(Length::Max)
                | DataType::NVarChar(Length::Max)
                | DataType::VarBinary(Length::Max)
        );
        if !large {
            return Err(Msg::CannotCallMethods(ty.data_type.name()).into());
        }
        let number = ColumnType { data_type: DataType::BigInt, nullable: true, ..ty };
        let value = assign(bind_expr(binder, value)?, &ty, Mode::Assignment)?;
        let offset = assign(bind_expr(binder, offset)?, &number, Mode::Implicit)?;
        let length = assign(bind_expr(binder, length)?, &number, Mode::Implicit)?;
        Ok(Assignment::Write(ordinal, Box::new((value, offset, length))))
    }
}

/// Adds the registers that a SET list reads.
pub(crate) fn set_reads(set: &SetRow, used: &mut Registers) {
    let mut see = |e: &Expr| {
        if let ExprKind::Column(register) = e.kind {
            used.insert(register);
        }
    };
    for assignment in &set.assignments {
        match assignment {
            Assignment::Column(_, e) | Assignment::Variable(_, e) => walk::visit(e, &mut see),
            Assignment::VariableAndColumn(_, _, e, f) => {
                walk::visit(e, &mut see);
                walk::visit(f, &mut see);
            }
            Assignment::Write(_, parts) => {
                walk::visit(&parts.0, &mut see);
                walk::visit(&parts.1, &mut see);
                walk::visit(&parts.2, &mut see);
            }
        }
    }
    set.row.computed.iter().for_each(|(_, _, e)| walk::visit(e, &mut see));
    set.row.checks.iter().for_each(|(_, e)| walk::visit(e, &mut see));
    let predicates = set.row.views.iter().flat_map(|v| &v.predicates);
    predicates.for_each(|e| walk::visit(e, &mut see));
    for assignment in &set.assignments {
        if let Assignment::Write(ordinal, _) = assignment {
            used.insert(set.old.plus(usize::from(*ordinal)));
        }
    }
    for register in set.row.foreign.iter().flat_map(|l| &l.key) {
        used.insert(*register);
    }
}

/// Adds the registers of columns that a new key may have from the old row: the message about a
/// duplicate key shows them.
fn key_reads(set: &SetRow, table: &TableDef, used: &mut Registers) {
    let changes = |ordinal: &u16| set.changed.contains(ordinal);
    for index in table.indexes.iter().filter(|index| index.unique) {
        let ordinals = index.keys.iter().map(|(ordinal, _)| *ordinal);
        if ordinals.clone().any(|ordinal| changes(&ordinal)) {
            let kept = ordinals.filter(|ordinal| !changes(ordinal));
            kept.for_each(|ordinal| used.insert(set.old.plus(usize::from(ordinal))));
        }
    }
}

/// Returns the columns of a point statement's row that its values or the rest of its condition read;
/// none for other statements.
pub(crate) fn point_columns(
    root: &Node,
    course: Course,
    mut used: Registers,
) -> Vec<(u16, Register)> {
    let (Node::Scan(scan), Course::Point) = (root, course) else { return Vec::new() };
    if let Some(residual) = &scan.residual {
        used.extend(&walk::reads(residual));
    }
    scan.columns.iter().filter(|(_, register)| used.contains(*register)).copied().collect()
}

/// Adds the registers that OUTPUT reads.
pub(crate) fn output_reads(output: &[OutputClause], used: &mut Registers) {
    for column in output.iter().flat_map(|o| &o.columns) {
        walk::visit(&column.expr, &mut |e| {
            if let ExprKind::Column(register) = e.kind {
                used.insert(register);
            }
        });
    }
}

/// Returns whether OUTPUT allows a point statement: none, or only to the client.
pub(crate) fn is_simple_output(output: &[OutputClause]) -> bool {
    output.iter().all(|o| {
        matches!(o.target, OutputTarget::Client(_))
            && !o.columns.iter().any(|c| walk::has_subquery(&c.expr))
    })
}

fn course_of(root: &Node, set: &SetRow, output: &[OutputClause], top: Option<&Expr>) -> Course {
    let plain = |e: &Expr| !walk::has_subquery(e);
    let simple = set.assignments.iter().all(|a| match a {
        Assignment::Column(_, e) | Assignment::Variable(_, e) => plain(e),
        Assignment::VariableAndColumn(_, _, e, _) => plain(e),
        Assignment::Write(_, parts) => plain(&parts.0) && plain(&parts.1) && plain(&parts.2),
    });
    let point = optimizer::is_point(root).is_some()
        && simple
        && top.is_none()
        && !set.referenced
        && row::is_simple(&set.row)
        && is_simple_output(output);
    if point { Course::Point } else { Course::General }
}
