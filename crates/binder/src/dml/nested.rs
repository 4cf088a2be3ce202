//! INSERT of the rows that a nested statement changes: `INSERT t SELECT .. FROM (UPDATE .. OUTPUT
//! ..) AS x WHERE ..`.
//!
//! The nested statement is bound like any other; its OUTPUT then goes to the outer INSERT, whose
//! SELECT is bound over a row of that OUTPUT. In other places of FROM a nested statement is an
//! error, with a specific number for each place: the code that binds the place tests for it by
//! [`is_nested`].

use std::sync::Arc;

use tsql::ast::{
    self, ConditionKind, QueryBody, QuerySpec, Statement, StatementKind, TableAlias, TableRefKind,
};
use types::{Error, Msg, Result};

use super::trigger::{self, Event};
use super::{in_level, insert};
use crate::query::{bind_spec_parts, top_of};
use crate::statement::bind_change;
use crate::{Binder, SourceColumn};
use catalog::TableDef;
use plan::expr::{Expr, ExprKind, Register};
use plan::query::{Node, OutputColumn, TableSource};
use plan::sink::Traits;
use plan::statement::{
    Bound, Course, Insert, InsertSource, InsertValue, OuterInsert, OutputClause, OutputTarget,
    table_of,
};
use plan::walk;

/// A nested statement, and the SELECT that has it in FROM.
pub struct Nested<'s> {
    query: &'s ast::QueryExpression,
    spec: &'s QuerySpec,
    statement: &'s Statement,
    alias: &'s TableAlias,
}

/// The rows of a nested statement while the SELECT over them is bound.
pub struct NestedRows {
    /// Alias of the source.
    pub alias: String,
    /// Columns of the OUTPUT clause.
    pub columns: Vec<SourceColumn>,
}

/// Finds the nested statement that is the source of an INSERT.
///
/// # Errors
/// 10727 for one among several sources, 10732 under a set operation, 102 for one without an alias.
pub fn of(insert: &ast::Insert) -> Result<Option<Nested<'_>>> {
    let ast::InsertSource::Query(query) = &insert.source else { return Ok(None) };
    let mut query = &**query;
    let spec = loop {
        match &query.body {
            QueryBody::Select(spec) => break spec,
            QueryBody::Parenthesized(inner) => query = inner,
            QueryBody::SetOperation { .. } => return Ok(None),
        }
    };
    let Some(place) = spec.from.iter().position(|t| matches!(t.kind, TableRefKind::Dml { .. }))
    else {
        return Ok(None);
    };
    if spec.from.len() > 1 {
        return Err(Msg::NestedInJoin.into());
    }
    let TableRefKind::Dml { statement, alias } = &spec.from[place].kind else { return Ok(None) };
    let alias = alias.as_ref().ok_or(Msg::SyntaxNear(")"))?;
    Ok(Some(Nested { query, spec, statement, alias }))
}

/// Returns whether a source is a nested statement.
pub fn is_nested(table: &ast::TableRef) -> bool {
    matches!(table.kind, TableRefKind::Dml { .. })
}

/// Refuses nested statements in operands of UNION, EXCEPT and INTERSECT.
///
/// # Errors
/// 10732 for each of them.
pub fn refuse_in_set(body: &QueryBody) -> Result<()> {
    match body {
        QueryBody::Select(spec) if spec.from.iter().any(is_nested) => Err(Msg::NestedInSet.into()),
        QueryBody::Select(_) | QueryBody::Parenthesized(_) | QueryBody::SetOperation { .. } => {
            Ok(())
        }
    }
}

/// Binds an INSERT whose source is a nested statement: the nested statement, with an OUTPUT that
/// inserts.
///
/// # Errors
/// Errors of both statements, and those for clauses that SQL Server refuses in their combination.
pub fn bind(binder: &mut Binder<'_>, outer: &ast::Insert, nested: &Nested<'_>) -> Result<Bound> {
    check_clauses(outer, nested)?;
    check_statement(nested.statement)?;
    in_level(binder, outer.with.as_ref(), |binder| {
        let target = target(binder, outer)?;
        let bound = binder.apart(|binder| bind_change(binder, nested.statement));
        let mut bound = bound.map_err(|error| error.at_line(nested.statement.line))?;
        let clause = client_clause(&mut bound)?;
        let columns = std::mem::take(&mut clause.columns);
        let inserted = select(binder, outer, nested, target, &columns)?;
        let clause = client_clause(&mut bound)?;
        *clause = OutputClause { columns, target: OutputTarget::Insert(Box::new(inserted)) };
        settle(&mut bound, binder.registers);
        Ok(bound)
    })
}

/// Refuses clauses that the outer INSERT and its SELECT may not have.
fn check_clauses(outer: &ast::Insert, nested: &Nested<'_>) -> Result<()> {
    let (query, spec) = (nested.query, nested.spec);
    let clauses = [
        (outer.output.iter().any(|output| output.into.is_some()), "OUTPUT INTO"),
        (spec.top.is_some() || query.offset.is_some(), "TOP or OFFSET"),
        (spec.into.is_some(), "INTO"),
        (spec.group_by.is_some(), "GROUP BY"),
        (spec.having.is_some(), "HAVING"),
        (!query.order_by.is_empty(), "ORDER BY"),
        (query.for_clause.is_some(), "FOR"),
    ];
    if spec.distinct {
        return Err(Msg::NestedDistinct.into());
    }
    match clauses.into_iter().find(|(is_there, _)| *is_there) {
        Some((_, clause)) => Err(Msg::NestedClause(clause).into()),
        None => Ok(()),
    }
}

/// Refuses clauses that the nested statement may not have.
fn check_statement(statement: &Statement) -> Result<()> {
    let (outputs, hints, filter) = match &statement.kind {
        StatementKind::Insert(insert) => {
            if of(insert)?.is_some() {
                return Err(Msg::NestedTwice.into());
            }
            (&insert.output, &insert.options, None)
        }
        StatementKind::Update(update) => (&update.output, &update.options, update.filter.as_ref()),
        StatementKind::Delete(delete) => (&delete.output, &delete.options, delete.filter.as_ref()),
        StatementKind::Merge(merge) => (&merge.output, &merge.options, None),
        _ => return Err(Msg::SyntaxNear("(").into()),
    };
    if filter.is_some_and(|f| matches!(f.kind, ConditionKind::CurrentOf(_))) {
        return Err(Msg::NestedCurrentOf.into());
    }
    if !hints.is_empty() {
        return Err(Msg::NestedHints.into());
    }
    match &outputs[..] {
        [] => Err(Msg::NestedNoOutput.into()),
        [output] if output.into.is_none() => Ok(()),
        _ => Err(Msg::NestedOutputInto.into()),
    }
}

/// Finds the target of the outer INSERT: a table without triggers and foreign keys.
fn target(binder: &mut Binder<'_>, outer: &ast::Insert) -> Result<TableSource> {
    let target = insert::resolve(binder, &outer.target).map_err(|error| {
        let ast::TargetKind::Name(name) = &outer.target.kind else { return error };
        let is_view = insert::is_view(binder, name);
        if is_view { Msg::NestedIntoView(&name.to_string()).into() } else { error }
    })?;
    if let ast::TargetKind::Name(name) = &outer.target.kind
        && insert::is_view(binder, name)
    {
        return Err(Msg::NestedIntoView(&name.to_string()).into());
    }
    let TableSource::Table(table) = &target else { return Ok(target) };
    let name = table.name.as_str();
    let events = [Event::Insert, Event::Update, Event::Delete];
    if events.into_iter().any(|event| trigger::triggers(binder, table, event).is_some()) {
        return Err(Msg::NestedIntoTriggers(name).into());
    }
    if let Some(constraint) = reference_of(binder, table) {
        return Err(Msg::NestedIntoReference(name, &constraint).into());
    }
    Ok(target)
}

/// Finds a foreign key of the table, or one that references it.
fn reference_of(binder: &Binder<'_>, table: &TableDef) -> Option<String> {
    if let Some(key) = table.foreign_keys.first() {
        return Some(key.name.clone());
    }
    let database = binder.catalog.database_by_id(table.database_id)?;
    let mut keys = database.tables().flat_map(|child| &child.foreign_keys);
    keys.find(|key| table.referenced && key.referenced == table.id).map(|key| key.name.clone())
}

/// Returns the OUTPUT clause of the nested statement.
fn client_clause(bound: &mut Bound) -> Result<&mut OutputClause> {
    let outputs = match bound {
        Bound::Insert(insert) => &mut insert.output,
        Bound::Update(update) => &mut update.output,
        Bound::Delete(delete) => &mut delete.output,
        Bound::Merge(merge) => &mut merge.output,
        Bound::Instead(instead) => &mut instead.output,
        Bound::Select(_)
        | Bound::SelectAssign(_)
        | Bound::SelectInto(_)
        | Bound::Truncate(_)
        | Bound::Scalar(_) => return Err(Msg::InternalError.into()),
    };
    let mut clauses = outputs.iter_mut();
    clauses
        .find(|clause| matches!(clause.target, OutputTarget::Client(_)))
        .ok_or_else(|| Msg::InternalError.into())
}

/// Binds the SELECT over the columns of the nested OUTPUT, and the INSERT of its rows.
fn select(
    binder: &mut Binder<'_>,
    outer: &ast::Insert,
    nested: &Nested<'_>,
    target: TableSource,
    columns: &[OutputColumn],
) -> Result<OuterInsert> {
    let definition = Arc::clone(table_of(&target));
    let first = binder.new_registers(columns.len());
    let registers: Vec<Register> = (0..columns.len()).map(|i| first.plus(i)).collect();
    let columns = source_columns(nested.alias, columns, &registers)?;
    let rows = NestedRows { alias: nested.alias.name.to_string(), columns };
    let before = binder.nested.replace(rows);
    let takes_values = std::mem::take(&mut binder.takes_values);
    let parts = bind_spec_parts(binder, nested.spec, &[], None);
    binder.nested = before;
    let parts = parts?;
    if std::mem::replace(&mut binder.takes_values, takes_values) {
        return Err(Msg::NestedNextValue.into());
    }
    let filter = filter_of(parts.root)?;
    if parts.items.iter().any(|item| item.assign.is_some()) {
        return Err(Msg::AssignAndRetrieve.into());
    }
    let values: Vec<Expr> = parts.items.into_iter().map(|item| item.column.expr).collect();
    values.iter().try_for_each(|value| check_value(value, "SELECT"))?;
    filter.iter().try_for_each(|filter| check_value(filter, "WHERE"))?;
    insert::check_history(binder, &definition)?;
    let ordinals = insert::named_columns(&definition, &outer.columns)?;
    refuse_identity(&definition, &ordinals)?;
    insert::check_count(&definition, ordinals.len(), values.len(), outer)?;
    let named = insert::assign_named(binder, &definition, &ordinals, values)?;
    let mut bound = insert::make(binder, target, InsertSource::Default, registers, named)?;
    refuse_next_defaults(&bound)?;
    let top = outer.top.as_ref().map(|top| top_of(binder, top)).transpose()?;
    let percent = match top {
        Some(top) if top.percent => Some(top.count),
        top => {
            bound.top = top.map(|top| top.count);
            None
        }
    };
    bound.output = insert::bind_output(binder, &definition, &outer.output, bound.first)?;
    insert::finish(binder, &mut bound)?;
    Ok(OuterInsert { insert: bound, filter, percent })
}

/// Returns the columns of the nested OUTPUT with their names.
fn source_columns(
    alias: &TableAlias,
    columns: &[OutputColumn],
    registers: &[Register],
) -> Result<Vec<SourceColumn>> {
    let given = &alias.columns;
    if !given.is_empty() && given.len() != columns.len() {
        let more = given.len() > columns.len();
        let name = alias.name.as_str();
        return Err(if more {
            Msg::FewerColumnsThanList(name)
        } else {
            Msg::MoreColumnsThanList(name)
        }
        .into());
    }
    let mut found: Vec<SourceColumn> = Vec::with_capacity(columns.len());
    for (number, (column, register)) in (1..).zip(columns.iter().zip(registers)) {
        let name =
            given.get(found.len()).map_or_else(|| column.name.clone(), |name| name.as_str().into());
        if name.is_empty() {
            return Err(Msg::NoColumnName(number, &alias.name).into());
        }
        found.push(SourceColumn {
            name,
            ty: column.expr.ty,
            register: *register,
            used: false,
            traits: Traits::default(),
        });
    }
    Ok(found)
}

/// Returns WHERE of the bound SELECT; any other operator is an aggregate, a window or a subquery.
fn filter_of(root: Node) -> Result<Option<Expr>> {
    match root {
        Node::OneRow => Ok(None),
        Node::Filter(filter) => match *filter {
            (Node::OneRow, filter) => Ok(Some(filter)),
            _ => Err(Msg::NestedSubquery("WHERE").into()),
        },
        Node::Aggregate(_) => Err(Msg::NestedRowsAggregate("SELECT").into()),
        Node::Window(_) => Err(Msg::NestedWindow("SELECT").into()),
        _ => Err(Msg::NestedSubquery("SELECT").into()),
    }
}

/// Refuses subqueries, and user-defined functions, which may read data.
fn check_value(expr: &Expr, clause: &'static str) -> Result<()> {
    if walk::has_own_subquery(expr) {
        return Err(Msg::NestedSubquery(clause).into());
    }
    let mut function = None;
    walk::visit(expr, &mut |e| {
        if let ExprKind::CallUser(call) = &e.kind {
            function = Some(call.module.name.clone());
        }
    });
    match function {
        Some(name) => Err(Error::from(Msg::NestedFunction(&name, clause))),
        None => Ok(()),
    }
}

/// Refuses identity columns in the outer INSERT: SCOPE_IDENTITY() and @@IDENTITY return the nested
/// statement's value.
fn refuse_identity(table: &TableDef, ordinals: &[usize]) -> Result<()> {
    let column = ordinals.iter().map(|&i| &table.columns[i]).find(|c| c.identity.is_some());
    match column {
        Some(column) => Err(Msg::NestedIdentity(&column.name, &table.name).into()),
        None => Ok(()),
    }
}

/// Refuses defaults with NEXT VALUE FOR in the outer INSERT.
fn refuse_next_defaults(insert: &Insert) -> Result<()> {
    for column in &insert.columns {
        let InsertValue::Default(Some(value)) = column else { continue };
        let mut is_next = false;
        walk::visit(value, &mut |e| is_next |= matches!(e.kind, ExprKind::NextValue(_)));
        if is_next {
            return Err(Msg::NestedNextDefault.into());
        }
    }
    Ok(())
}

/// Sets the statement's number of registers; it is no longer a point statement.
fn settle(bound: &mut Bound, registers: u32) {
    match bound {
        Bound::Insert(insert) => {
            insert.registers = registers;
            insert.course = Course::General;
        }
        Bound::Update(update) => {
            update.registers = registers;
            update.course = Course::General;
        }
        Bound::Delete(delete) => {
            delete.registers = registers;
            delete.course = Course::General;
        }
        Bound::Merge(merge) => merge.registers = registers,
        Bound::Instead(instead) => instead.registers = registers,
        Bound::Select(_)
        | Bound::SelectAssign(_)
        | Bound::SelectInto(_)
        | Bound::Truncate(_)
        | Bound::Scalar(_) => {}
    }
}
