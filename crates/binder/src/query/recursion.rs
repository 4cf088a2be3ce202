//! What a recursive common table expression may contain: anchor members, then recursive ones, all
//! joined by UNION ALL, and no operator in a recursive member that needs all rows of a round.

use std::borrow::Cow;

use catalog::name::Name;
use plan::query::{Node, Query};
use tsql::ast::{JoinKind, QueryBody, QueryExpression, QuerySpec, SetOp, TableRef, TableRefKind};
use tsql::tables_read;
use types::{Msg, Result};

/// The query of the anchor members, and the recursive members.
type Members<'q> = (Cow<'q, QueryBody>, Vec<&'q QueryBody>);

/// Returns whether a query refers to itself by `name`.
pub(super) fn refers(query: &QueryExpression, name: &str) -> bool {
    mentions(&query.body, name) > 0
}

/// Splits a query that refers to itself by `name`.
///
/// # Errors
/// 252 without a UNION ALL at the top, 246 and 247 for a member in the wrong place, 466 for another
/// operator between recursive members, and those of [`check`].
pub(super) fn split<'q>(query: &'q QueryExpression, name: &str) -> Result<Members<'q>> {
    let without_union = || Err(Msg::RecursiveWithoutUnion(name).into());
    let QueryBody::SetOperation { first, rest } = &query.body else { return without_union() };
    if !rest.iter().any(|(op, _)| *op == SetOp::UnionAll) {
        return without_union();
    }
    if mentions(first, name) > 0 {
        return Err(Msg::NoAnchorMember(name).into());
    }
    let (mut anchors, mut steps) = (0, Vec::new());
    for (op, member) in rest {
        match (mentions(member, name) > 0, *op == SetOp::UnionAll) {
            (true, true) => steps.push(member),
            (true, false) if steps.is_empty() => return without_union(),
            (_, false) if !steps.is_empty() => return Err(Msg::RecursiveUnion(name).into()),
            (false, true) if !steps.is_empty() => return Err(Msg::AnchorInRecursion(name).into()),
            _ => anchors += 1,
        }
    }
    steps.iter().try_for_each(|step| check(step, name))?;
    // The anchor members keep the operators between them.
    let anchor = match &rest[..anchors] {
        [] => Cow::Borrowed(&**first),
        more => {
            let (first, rest) = (first.clone(), more.to_vec());
            Cow::Owned(QueryBody::SetOperation { first, rest })
        }
    };
    Ok((anchor, steps))
}

/// Checks a recursive member before it is bound.
///
/// # Errors
/// 460 to 462, 465 and 467 for what it may not contain, 253 for more than one reference.
fn check(member: &QueryBody, name: &str) -> Result<()> {
    let spec = match member {
        QueryBody::Select(spec) => spec,
        QueryBody::Parenthesized(inner) if inner.offset.is_some() => {
            return Err(Msg::RecursiveTop(name).into());
        }
        QueryBody::Parenthesized(inner) => return check(&inner.body, name),
        QueryBody::SetOperation { first, rest } => {
            if rest.iter().any(|(op, _)| *op != SetOp::UnionAll) {
                return Err(Msg::RecursiveUnion(name).into());
            }
            check(first, name)?;
            return rest.iter().try_for_each(|(_, member)| check(member, name));
        }
    };
    check_clauses(spec, name)?;
    let in_from: usize = spec.from.iter().map(|table| mentions_of(table, name)).sum();
    if mentions(member, name) > in_from {
        return Err(Msg::RecursiveInSubquery.into());
    }
    if in_from > 1 {
        return Err(Msg::MultipleRecursiveReferences(name).into());
    }
    Ok(())
}

fn check_clauses(spec: &QuerySpec, name: &str) -> Result<()> {
    if spec.distinct {
        return Err(Msg::RecursiveDistinct(name).into());
    }
    if spec.top.is_some() {
        return Err(Msg::RecursiveTop(name).into());
    }
    if spec.group_by.is_some() || spec.having.is_some() {
        return Err(Msg::RecursiveAggregate(name).into());
    }
    if spec.from.iter().any(joins_outer) {
        return Err(Msg::RecursiveOuterJoin(name).into());
    }
    Ok(())
}

/// Checks a recursive member that is bound.
///
/// # Errors
/// 467 for an aggregate function.
pub(super) fn check_bound(member: &Query, name: &str) -> Result<()> {
    let mut node = &member.root;
    loop {
        node = match node {
            Node::Aggregate(_) => return Err(Msg::RecursiveAggregate(name).into()),
            Node::Filter(filter) => &filter.0,
            Node::Compute(compute) => &compute.0,
            Node::Sort(sort) => &sort.input,
            Node::Window(window) => &window.input,
            _ => return Ok(()),
        };
    }
}

/// Returns how often a query names the expression, in subqueries too.
fn mentions(body: &QueryBody, name: &str) -> usize {
    let is_it = |table: &&tsql::ast::ObjectName| {
        table.as_simple().is_some_and(|simple| Name::same(simple, name))
    };
    tables_read(body).iter().filter(|table| is_it(table)).count()
}

/// Returns how often a source of FROM names the expression, itself or in a derived table.
fn mentions_of(table: &TableRef, name: &str) -> usize {
    match &table.kind {
        TableRefKind::Table(source) => {
            usize::from(source.name.as_simple().is_some_and(|simple| Name::same(simple, name)))
        }
        TableRefKind::Joined { first, joins } => {
            mentions_of(first, name)
                + joins.iter().map(|join| mentions_of(&join.right, name)).sum::<usize>()
        }
        TableRefKind::Derived { query, .. } => mentions(&query.body, name),
        _ => 0,
    }
}

fn joins_outer(table: &TableRef) -> bool {
    let TableRefKind::Joined { first, joins } = &table.kind else { return false };
    let is_outer = |kind| matches!(kind, JoinKind::Left | JoinKind::Right | JoinKind::Full);
    joins_outer(first) || joins.iter().any(|join| is_outer(join.kind) || joins_outer(&join.right))
}
