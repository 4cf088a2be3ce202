//! UNION, EXCEPT and INTERSECT, and ORDER BY over what is no single SELECT.

use tsql::ast::{self, Literal, QueryBody, SelectItemKind, SetOp};
use types::value::ColumnType;
use types::{Mode, Msg, Result};

use super::from::to_columns;
use super::{bind_body, spec};
use crate::bind::dml::refuse_nested_in_set;
use crate::bind::expr::{common_type, convert_to};
use crate::bind::{Binder, Level, Source, SourceColumn};
use crate::catalog::name::Name;
use crate::plan::expr::{Expr, ExprKind, Register};
use crate::plan::query::{Limit, Node, OutputColumn, Query, SetKind, SetOperation, SortKey};
use crate::sink::Traits;

/// Binds a chain of set operations, left to right.
pub(super) fn bind_chain(
    binder: &mut Binder<'_>,
    first: &QueryBody,
    rest: &[(SetOp, QueryBody)],
) -> Result<Query> {
    refuse_nested_in_set(first)?;
    let mut left = bind_body(binder, first, &[], None)?;
    for (op, operand) in rest {
        refuse_nested_in_set(operand)?;
        let right = bind_body(binder, operand, &[], None)?;
        let kind = match op {
            SetOp::UnionAll => SetKind::UnionAll,
            SetOp::Union => SetKind::Union,
            SetOp::Except => SetKind::Except,
            SetOp::Intersect => SetKind::Intersect,
        };
        left = combine(binder, kind, left, right)?;
    }
    Ok(left)
}

/// Combines two queries: their columns meet in common types.
pub(super) fn combine(
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
        // What is NULL in all branches up to here takes the type of the next.
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

/// Brings two columns to their common type, which it returns.
pub(super) fn unify(left: &mut Expr, right: &mut Expr) -> Result<ColumnType> {
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

/// Applies ORDER BY, OFFSET and FETCH to a query by its output columns; `body` is what it was bound from.
pub(super) fn order_output(
    binder: &mut Binder<'_>,
    (query, body): (Query, &QueryBody),
    order_by: &[ast::OrderBy],
    offset: Option<&ast::Offset>,
) -> Result<Query> {
    if order_by.is_empty() && offset.is_none() {
        return Ok(query);
    }
    let Query { root, output } = to_columns(binder, query);
    let mut keys = Vec::with_capacity(order_by.len());
    for key in order_by {
        let expr = match source_column(body, &output, &key.expr).and_then(|place| output.get(place))
        {
            Some(column) => column.expr.clone(),
            None => output_key(binder, &output, &key.expr)?,
        };
        spec::check_sortable(&expr)?;
        keys.push(SortKey { expr, descending: key.descending });
    }
    let mut root = spec::sorted(root, keys, None);
    if let Some(offset) = offset {
        let skip = spec::row_count(binder, &offset.offset)?;
        let count = offset.fetch.as_ref().map(|f| spec::row_count(binder, f)).transpose()?;
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

/// Finds the item of the first SELECT that is the same column: `ORDER BY t.c` behind a UNION means what the
/// first operand calls so, and `ORDER BY c` too if no column of the result has that name.
fn source_column(body: &QueryBody, output: &[OutputColumn], key: &ast::Expr) -> Option<usize> {
    let ast::ExprKind::Column(key) = &key.kind else { return None };
    if key.table.is_none() && output.iter().any(|column| Name::same(&column.name, &key.column)) {
        return None;
    }
    let mut first = body;
    let select = loop {
        first = match first {
            QueryBody::Select(select) => break select,
            QueryBody::Parenthesized(inner) => &inner.body,
            QueryBody::SetOperation { first, .. } => first,
        };
    };
    let is_it = |item: &ast::SelectItem| match &item.kind {
        SelectItemKind::Expr { expr, .. } => match &expr.kind {
            ast::ExprKind::Column(column) => {
                Name::same(&column.column, &key.column)
                    && match (&key.table, &column.table) {
                        (None, _) => true,
                        (Some(table), Some(own)) => Name::same(&own.object, &table.object),
                        (Some(_), None) => false,
                    }
            }
            _ => false,
        },
        SelectItemKind::Star | SelectItemKind::QualifiedStar(_) | SelectItemKind::Assign { .. } => {
            false
        }
    };
    // Behind a star the places are not those of the items.
    let stars = |item: &ast::SelectItem| {
        matches!(item.kind, SelectItemKind::Star | SelectItemKind::QualifiedStar(_))
    };
    let place = select.items.iter().position(is_it)?;
    (!select.items[..place].iter().any(stars)).then_some(place)
}

/// Binds an ORDER BY item that sees the output columns only.
fn output_key(binder: &mut Binder<'_>, output: &[OutputColumn], expr: &ast::Expr) -> Result<Expr> {
    if let ast::ExprKind::Literal(Literal::Int(n)) = &expr.kind {
        return match usize::try_from(*n) {
            Ok(n) if (1..=output.len()).contains(&n) => Ok(output[n - 1].expr.clone()),
            _ => Err(Msg::OrderByPosition(i64::from(*n)).into()),
        };
    }
    let columns = output.iter().map(|c| SourceColumn {
        name: c.name.clone(),
        ty: c.expr.ty,
        register: column_register(&c.expr),
        used: false,
        traits: Traits::default(),
    });
    let source = Source {
        alias: smol_str::SmolStr::default(),
        schema: None,
        columns: columns.collect(),
        table: None,
        view: None,
        guard: None,
    };
    binder.levels.push(Level { sources: vec![source], ..Level::default() });
    let bound = crate::bind::expr::bind_expr(binder, expr);
    binder.levels.pop();
    bound.map_err(|error| if error.number == 207 { Msg::OrderByNotInSetList.into() } else { error })
}

/// Register of an output column of a set operation or of a parenthesised query.
fn column_register(expr: &Expr) -> Register {
    match expr.kind {
        ExprKind::Column(register) => register,
        _ => Register(u32::MAX),
    }
}
