//! Common table expressions: bound again at each reference; recursive ones become a
//! [`Node::Recursive`].

use std::collections::HashSet;
use std::sync::Arc;

use tsql::ast::{Ident, QueryBody, With};
use types::value::ColumnType;
use types::{Mode, Msg, Result};

use super::from::{SourceName, add_query_source, to_columns};
use super::order::require_no_order;
use super::{bind_body, bind_query, recursion, set};
use crate::expr::convert_to;
use crate::{Binder, Cte};
use catalog::name::Name;
use plan::expr::{Expr, ExprKind, Register};
use plan::query::{Node, OutputColumn, Query, Recursive, SetKind};
use plan::sink::Traits;

/// Default of OPTION (MAXRECURSION).
const ROUNDS_DEFAULT: u32 = 100;

/// Adds the CTEs of a WITH to the scope.
pub fn declare(binder: &mut Binder<'_>, with: &With) -> Result<()> {
    binder.xml.declare(&with.xml_namespaces);
    let mut names = HashSet::with_capacity(with.ctes.len());
    for cte in &with.ctes {
        if !names.insert(Name::folded(&cte.name)) {
            return Err(Msg::DuplicateCte(&cte.name).into());
        }
        require_no_order(&cte.query)?;
        binder.ctes.push(Cte {
            name: cte.name.to_string(),
            columns: cte.columns.iter().map(ToString::to_string).collect(),
            query: Arc::new(cte.query.clone()),
            recursive: None,
        });
    }
    Ok(())
}

/// Binds a reference to a CTE; `None` if there is none of that name.
pub(crate) fn bind_reference(
    binder: &mut Binder<'_>,
    name: &Ident,
    alias: Option<&str>,
) -> Result<Option<Node>> {
    let Some(place) = binder.ctes.find(name) else { return Ok(None) };
    binder.unfold()?;
    let cte = Arc::clone(binder.ctes.at(place));
    let source = SourceName { alias: alias.unwrap_or(name), schema: None };
    let query = match &cte.recursive {
        Some((id, columns)) => work_table(binder, *id, columns),
        None => bind_body_of(binder, place, &cte)?,
    };
    let names: Vec<&str> = cte.columns.iter().map(String::as_str).collect();
    add_query_source(binder, query, source, &names).map(Some)
}

/// Binds the query of a CTE: it sees the CTEs declared before it, and no columns of the statement.
fn bind_body_of(binder: &mut Binder<'_>, place: usize, cte: &Cte) -> Result<Query> {
    binder.ctes.hide_from(place);
    let bound = binder.apart(|binder| {
        if recursion::refers(&cte.query, &cte.name) {
            bind_recursive(binder, cte)
        } else {
            bind_query(binder, &cte.query)
        }
    });
    binder.ctes.show();
    bound
}

/// Returns a query that reads the rows of the previous round.
fn work_table(binder: &mut Binder<'_>, id: u32, columns: &[(String, ColumnType)]) -> Query {
    let first = binder.new_registers(columns.len());
    let registers: Vec<Register> = (0..columns.len()).map(|i| first.plus(i)).collect();
    let output = columns.iter().zip(&registers).map(|((name, ty), register)| OutputColumn {
        name: name.into(),
        expr: Expr::new(ExprKind::Column(*register), *ty),
        traits: Traits::default(),
    });
    Query { output: output.collect(), root: Node::WorkTable(id, registers) }
}

fn bind_recursive(binder: &mut Binder<'_>, cte: &Cte) -> Result<Query> {
    let (anchor, steps) = recursion::split(&cte.query, &cte.name)?;
    let anchor = bind_body(binder, &anchor, &[], None)?;
    let anchor = to_columns(binder, anchor);
    let columns: Vec<(String, ColumnType)> = anchor
        .output
        .iter()
        .enumerate()
        .map(|(i, c)| {
            let name = cte.columns.get(i).map_or(c.name.as_str(), String::as_str).to_owned();
            (name, ColumnType { nullable: true, ..c.expr.ty })
        })
        .collect();
    let id = binder.new_row();
    let before = binder.ctes.len();
    binder.ctes.push(Cte { recursive: Some((id, columns.clone())), ..cte.clone() });
    let step = chain(binder, &steps, &cte.name);
    binder.ctes.truncate(before);
    let mut step = step?;
    if step.output.len() != anchor.output.len() {
        return Err(Msg::SetColumnCount.into());
    }
    for (column, (name, ty)) in step.output.iter_mut().zip(&columns) {
        let from = column.expr.ty;
        if from.data_type != ty.data_type && !column.expr.is_null_literal() {
            return Err(Msg::RecursiveTypes(name, &cte.name).into());
        }
        let hole = Expr::new(ExprKind::Constant(types::Value::Null), from);
        let expr = std::mem::replace(&mut column.expr, hole);
        column.expr = convert_to(expr, ty, Mode::Implicit)?;
    }
    let first = binder.new_registers(columns.len());
    let registers: Vec<Register> = (0..columns.len()).map(|i| first.plus(i)).collect();
    let output = columns.into_iter().zip(&registers).map(|((name, ty), register)| OutputColumn {
        name: name.into(),
        expr: Expr::new(ExprKind::Column(*register), ty),
        traits: Traits::default(),
    });
    let output = output.collect();
    let rounds_max = binder.recursion_max.unwrap_or(ROUNDS_DEFAULT);
    let recursive = Recursive { id, anchor, step, registers, rounds_max };
    Ok(Query { root: Node::Recursive(Box::new(recursive)), output })
}

/// Binds the recursive members of the expression `name`.
fn chain(binder: &mut Binder<'_>, members: &[&QueryBody], name: &str) -> Result<Query> {
    let mut bound = Vec::with_capacity(members.len());
    for member in members {
        let member = bind_body(binder, member, &[], None)?;
        recursion::check_bound(&member, name)?;
        bound.push(member);
    }
    set::unite(binder, SetKind::UnionAll, bound)
}
