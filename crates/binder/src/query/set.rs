//! UNION, EXCEPT and INTERSECT, and ORDER BY over a query that is not a single SELECT.

use std::collections::VecDeque;

use tsql::ast::{self, Literal, QueryBody, SelectItemKind, SetOp};
use types::value::ColumnType;
use types::{Mode, Msg, Result};

use super::from::{column_register, to_columns};
use super::spec::Count;
use super::{bind_body, spec};
use crate::dml::refuse_nested_in_set;
use crate::expr::{common_type, convert_to};
use crate::names::NameLists;
use crate::{Binder, Found, Level, Source, SourceColumn};
use catalog::name::Name;
use plan::depth;
use plan::expr::{Expr, ExprKind};
use plan::query::{Limit, Node, OutputColumn, Query, SetKind, SetOperation, SortKey};
use plan::sink::Traits;

/// Binds a chain of set operations. Its meaning is from left to right; a run of operations that can
/// be reordered becomes a tree of logarithmic depth.
pub(crate) fn bind_chain(
    binder: &mut Binder<'_>,
    first: &QueryBody,
    rest: &[(SetOp, QueryBody)],
) -> Result<Query> {
    refuse_nested_in_set(first)?;
    let mut left = bind_body(binder, first, &[], None)?;
    let mut operands = Vec::with_capacity(rest.len());
    for (op, operand) in rest {
        refuse_nested_in_set(operand)?;
        operands.push((kind_of(*op), bind_body(binder, operand, &[], None)?));
    }
    let mut operands = VecDeque::from(operands);
    let mut steps = 0;
    while let Some((kind, count)) = first_run(&left, operands.make_contiguous()) {
        steps += 1;
        if steps > depth::SET_OPERATIONS_MAX {
            return Err(Msg::NoPlan.into());
        }
        let run = operands.drain(..count).map(|(_, query)| query);
        left = match kind {
            SetKind::Except => {
                let right = unite(binder, SetKind::UnionAll, run.collect())?;
                combine(binder, kind, left, right)?
            }
            SetKind::UnionAll | SetKind::Union | SetKind::Intersect => {
                unite(binder, kind, std::iter::once(left).chain(run).collect())?
            }
        };
        binder.grow(depth::NODE_BYTES)?;
    }
    Ok(left)
}

fn kind_of(op: SetOp) -> SetKind {
    match op {
        SetOp::UnionAll => SetKind::UnionAll,
        SetOp::Union => SetKind::Union,
        SetOp::Except => SetKind::Except,
        SetOp::Intersect => SetKind::Intersect,
    }
}

/// Returns the operation of the next run of operands that can be reordered, and their number.
///
/// A UNION removes duplicates of any UNION ALL before it; `a EXCEPT b EXCEPT c` is `a` without the
/// rows of both. Where rows are compared, all operands must have the types in which they would be
/// compared one by one.
fn first_run(left: &Query, operands: &[(SetKind, Query)]) -> Option<(SetKind, usize)> {
    let (kind, _) = operands.first()?;
    let count = |belongs: &dyn Fn(&(SetKind, Query)) -> bool| {
        operands.iter().take_while(|operand| belongs(operand)).count()
    };
    let unions = count(&|(kind, _)| matches!(kind, SetKind::Union | SetKind::UnionAll));
    Some(match operands[..unions].iter().rposition(|(kind, _)| *kind == SetKind::Union) {
        Some(last) => (SetKind::Union, last + 1),
        None if unions > 0 => (SetKind::UnionAll, unions),
        None => (*kind, count(&|(k, query)| k == kind && has_types_of(query, left)).max(1)),
    })
}

fn has_types_of(query: &Query, other: &Query) -> bool {
    query.output.len() == other.output.len()
        && query.output.iter().zip(&other.output).all(|(a, b)| {
            let (x, y) = (a.expr.ty, b.expr.ty);
            let is_typed = !a.traits.untyped && !b.traits.untyped;
            is_typed && x.data_type == y.data_type && x.collation == y.collation
        })
}

/// Combines queries in pairs, and pairs of those, until one is left: for `UNION [ALL]` and
/// INTERSECT.
pub(crate) fn unite(
    binder: &mut Binder<'_>,
    kind: SetKind,
    mut queries: Vec<Query>,
) -> Result<Query> {
    if queries.len() > 2 {
        bring_together(&mut queries)?;
    }
    let inner = if kind == SetKind::Union { SetKind::UnionAll } else { kind };
    while queries.len() > 2 {
        binder.grow(depth::NODE_BYTES)?;
        let mut pairs = Vec::with_capacity(queries.len().div_ceil(2));
        let mut each = queries.into_iter();
        while let Some(left) = each.next() {
            pairs.push(match each.next() {
                Some(right) => combine(binder, inner, left, right)?,
                None => left,
            });
        }
        queries = pairs;
    }
    let (right, left) = (queries.pop(), queries.pop());
    match (left, right) {
        (Some(left), Some(right)) => combine(binder, kind, left, right),
        (None, Some(only)) => Ok(only),
        (_, None) => unreachable!("a chain of set operations has a first operand"),
    }
}

/// Converts the columns of queries to their common types, as if they were combined one by one.
fn bring_together(queries: &mut [Query]) -> Result<()> {
    let width = queries.first().map_or(0, |query| query.output.len());
    if queries.iter().any(|query| query.output.len() != width) {
        return Err(Msg::SetColumnCount.into());
    }
    for place in 0..width {
        let columns = || queries.iter().map(|query| &query.output[place]);
        let untyped = columns().all(|column| column.traits.untyped);
        let numeric = columns().all(|column| column.traits.numeric);
        let typed = columns().filter(|column| !column.traits.untyped).map(|column| &column.expr);
        let Some(common) = common_type(typed)? else { continue };
        let nullable = columns().any(|column| column.expr.ty.nullable || column.traits.untyped);
        let ty = ColumnType { nullable, ..common };
        for query in &mut *queries {
            let column = &mut query.output[place];
            let null = Expr::constant(types::Value::Null, types::DataType::Int);
            let expr = match column.traits.untyped {
                true => null,
                false => std::mem::replace(&mut column.expr, null),
            };
            column.expr = convert_to(expr, &ty, Mode::Implicit)?;
            column.traits = Traits { untyped, numeric, ..column.traits };
        }
    }
    Ok(())
}

/// Combines two queries, with their columns converted to common types.
pub(crate) fn combine(
    binder: &mut Binder<'_>,
    kind: SetKind,
    mut left: Query,
    mut right: Query,
) -> Result<Query> {
    if left.output.len() != right.output.len() {
        return Err(Msg::SetColumnCount.into());
    }
    let mut output = Vec::with_capacity(left.output.len());
    let mut registers = Vec::with_capacity(left.output.len());
    for (l, r) in left.output.iter_mut().zip(&mut right.output) {
        let untyped = l.traits.untyped && r.traits.untyped;
        // A column that is NULL in all branches so far has the type of the next branch.
        for side in [&mut *l, &mut *r] {
            if side.traits.untyped {
                side.expr = Expr::constant(types::Value::Null, types::DataType::Int);
            }
        }
        let ty = unify(&mut l.expr, &mut r.expr)?;
        let register = binder.new_register();
        registers.push(register);
        let expr = Expr::new(ExprKind::Column(register), ty);
        let numeric = l.traits.numeric && r.traits.numeric;
        let traits = Traits { numeric, untyped, ..Traits::default() };
        output.push(OutputColumn { name: l.name.clone(), expr, traits });
    }
    let operation = SetOperation { kind, left, right, registers };
    Ok(Query { root: Node::SetOperation(Box::new(operation)), output })
}

/// Converts two columns to their common type, and returns it.
pub(crate) fn unify(left: &mut Expr, right: &mut Expr) -> Result<ColumnType> {
    let nullable = left.ty.nullable || right.ty.nullable;
    let common = common_type([&*left, &*right].into_iter())?.unwrap_or(left.ty);
    let ty = ColumnType { nullable, ..common };
    for side in [left, right] {
        let placeholder = Expr::new(ExprKind::Constant(types::Value::Null), ty);
        let expr = std::mem::replace(side, placeholder);
        *side = convert_to(expr, &ty, Mode::Implicit)?;
    }
    Ok(ty)
}

/// Applies ORDER BY, OFFSET and FETCH to a query's output columns; `body` is its syntax tree.
pub(crate) fn order_output(
    binder: &mut Binder<'_>,
    query: Query,
    body: &QueryBody,
    order_by: &[ast::OrderBy],
    offset: Option<&ast::Offset>,
) -> Result<Query> {
    if order_by.is_empty() && offset.is_none() {
        return Ok(query);
    }
    let Query { root, output } = to_columns(binder, query);
    let keys = order_keys(binder, &output, body, order_by)?;
    let mut root = spec::sorted(root, keys, None);
    if let Some(offset) = offset {
        let skip = spec::row_count(binder, &offset.offset, Count::Offset)?;
        let fetch = offset.fetch.as_ref();
        let count = fetch.map(|f| spec::row_count(binder, f, Count::Fetch)).transpose()?;
        root = Node::Limit(Box::new(Limit {
            input: root,
            offset: Some(skip),
            count,
            percent: false,
            ties: None,
        }));
    }
    Ok(Query { root, output })
}

/// Binds the keys of an ORDER BY over output columns.
fn order_keys(
    binder: &mut Binder<'_>,
    output: &[OutputColumn],
    body: &QueryBody,
    order_by: &[ast::OrderBy],
) -> Result<Vec<SortKey>> {
    let items = &first_select(body).items;
    // After a star, positions of items and columns differ.
    let stars = |item: &ast::SelectItem| {
        matches!(item.kind, SelectItemKind::Star | SelectItemKind::QualifiedStar(_))
    };
    let star = items.iter().position(stars).unwrap_or(items.len());
    let lists = NameLists::new(items.iter().map(column_name), order_by.len());
    binder.within(Level::of(source_of(output)), |binder| {
        let mut keys = Vec::with_capacity(order_by.len());
        for key in order_by {
            let place = source_column(binder, items, &lists, &key.expr);
            let expr = match place.filter(|place| *place < star).and_then(|at| output.get(at)) {
                Some(column) => column.expr.clone(),
                None => output_key(binder, output, &key.expr)?,
            };
            spec::check_sortable(&expr)?;
            keys.push(SortKey { expr, descending: key.descending });
        }
        Ok(keys)
    })
}

fn first_select(body: &QueryBody) -> &ast::QuerySpec {
    let mut first = body;
    loop {
        first = match first {
            QueryBody::Select(select) => return select,
            QueryBody::Parenthesized(inner) => &inner.body,
            QueryBody::SetOperation { first, .. } => first,
        };
    }
}

/// Returns the column that an item of a select list is, if it is one.
fn column_of(item: &ast::SelectItem) -> Option<&ast::ColumnRef> {
    let SelectItemKind::Expr { expr, .. } = &item.kind else { return None };
    let ast::ExprKind::Column(column) = &expr.kind else { return None };
    Some(column)
}

fn column_name(item: &ast::SelectItem) -> &str {
    column_of(item).map_or("", |column| &column.column)
}

/// Finds the item of the first SELECT for an ORDER BY key: `ORDER BY t.c` after a UNION refers to
/// the first operand's column, and so does `ORDER BY c` if no output column has that name.
fn source_column(
    binder: &mut Binder<'_>,
    items: &[ast::SelectItem],
    lists: &NameLists,
    key: &ast::Expr,
) -> Option<usize> {
    let ast::ExprKind::Column(key) = &key.kind else { return None };
    if key.table.is_none() && binder.level.last_mut().find(&key.column) != Found::None {
        return None;
    }
    let is_it = |item: &ast::SelectItem| match (&key.table, column_of(item)) {
        (_, None) => false,
        (None, Some(_)) => true,
        (Some(table), Some(own)) => {
            own.table.as_ref().is_some_and(|own| Name::same(&own.object, &table.object))
        }
    };
    let found = lists.find(items.iter().map(column_name), &key.column);
    found.iter().copied().find(|place| is_it(&items[*place]))
}

/// Binds an ORDER BY item that can use only the output columns.
fn output_key(binder: &mut Binder<'_>, output: &[OutputColumn], expr: &ast::Expr) -> Result<Expr> {
    if let ast::ExprKind::Literal(Literal::Int(n)) = &expr.kind {
        return match usize::try_from(*n) {
            Ok(n) if (1..=output.len()).contains(&n) => Ok(output[n - 1].expr.clone()),
            _ => Err(Msg::OrderByPosition(i64::from(*n)).into()),
        };
    }
    let bound = crate::expr::bind_expr(binder, expr);
    bound.map_err(|error| if error.number == 207 { Msg::OrderByNotInSetList.into() } else { error })
}

/// Returns the output columns as a source.
fn source_of(output: &[OutputColumn]) -> Source {
    let columns = output.iter().map(|c| SourceColumn {
        name: c.name.clone(),
        ty: c.expr.ty,
        register: column_register(c),
        used: false,
        traits: Traits::default(),
    });
    Source { columns: columns.collect(), ..Source::default() }
}
