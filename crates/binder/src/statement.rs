//! Binds whole statements, and single expressions.

use std::sync::Arc;

use sos::sync::{AtomicU64, Ordering};
use tsql::ast::{self, QueryBody, SelectStatement, Statement, StatementKind};
use types::{Msg, Result};

use super::hint::set_hints;
use super::query::{bind_document, bind_query, bind_spec_parts, declare_ctes};
use super::{Binder, dml, export};
use crate::expr::bind_expr;
use crate::require::require_target;
use plan::children;
use plan::document::WhenEmpty;
use plan::expr::{Expr, ExprKind};
use plan::query::{Node, OutputColumn, Query};
use plan::sink::{ColumnInfo, ResultShape, Traits};
use plan::statement::{Bound, Course, Scalar, Select, SelectAssign, SelectInto};
use plan::walk::{self, Registers};

/// Ids of result shapes: unique in the process, since a server may hold several instances.
static SHAPE_ID: AtomicU64 = AtomicU64::new(1);

/// Binds a data statement.
///
/// # Errors
/// Errors of names, types and clauses; 40517 for a statement that is not a data statement.
pub fn bind_statement(binder: &mut Binder<'_>, statement: &Statement) -> Result<Bound> {
    let bound = match &statement.kind {
        StatementKind::Select(select) => bind_select(binder, select),
        StatementKind::Insert(_)
        | StatementKind::Update(_)
        | StatementKind::Delete(_)
        | StatementKind::Merge(_) => bind_change(binder, statement),
        StatementKind::CreateExternalTable(create) => export::bind(binder, create),
        StatementKind::Truncate(truncate) => {
            dml::bind_truncate(binder, truncate).map(Bound::Truncate)
        }
        _ => Err(Msg::NotSupported("this statement here").into()),
    };
    let mut bound = bound.map_err(|error| error.at_line(statement.line))?;
    optimizer::leftovers(&mut binder.statement(), &mut bound)
        .map_err(|error| error.at_line(statement.line))?;
    if binder.hints.paths && !optimizer::takes_hinted_paths(binder.optimization, &bound) {
        return Err(types::Error::from(Msg::NoPlanForHints).at_line(statement.line));
    }
    Ok(bound)
}

/// Binds INSERT, UPDATE, DELETE or MERGE after the permission check.
///
/// # Errors
/// 229, and as [`bind_statement`].
pub(crate) fn bind_change(binder: &mut Binder<'_>, statement: &Statement) -> Result<Bound> {
    let (options, target, from, permissions) = match &statement.kind {
        StatementKind::Insert(insert) => (&insert.options, &insert.target, &[][..], vec!["INSERT"]),
        StatementKind::Update(update) => {
            let permissions = with_filter("UPDATE", update.filter.as_ref());
            (&update.options, &update.target, &update.from[..], permissions)
        }
        StatementKind::Delete(delete) => {
            let permissions = with_filter("DELETE", delete.filter.as_ref());
            (&delete.options, &delete.target, &delete.from[..], permissions)
        }
        StatementKind::Merge(merge) => {
            let permissions = merge.clauses.iter().map(|clause| match clause.action {
                ast::MergeAction::Update(_) => "UPDATE",
                ast::MergeAction::Delete => "DELETE",
                ast::MergeAction::Insert { .. } => "INSERT",
            });
            (&merge.options, &merge.target, &[][..], permissions.collect())
        }
        _ => return Err(Msg::NotSupported("this statement here").into()),
    };
    set_hints(binder, options)?;
    let synonym = require_target(binder, target, from, &permissions)?;
    // The statement may be nested in another one, in FROM of an INSERT.
    let outer = std::mem::replace(&mut binder.synonym, synonym);
    let bound = match &statement.kind {
        StatementKind::Insert(insert) => match dml::nested_of(insert) {
            Ok(Some(nested)) => dml::bind_nested(binder, insert, &nested),
            Ok(None) => dml::bind_insert(binder, insert).map(Bound::Insert),
            Err(error) => Err(error),
        },
        StatementKind::Update(update) => dml::bind_update(binder, update),
        StatementKind::Delete(delete) => dml::bind_delete(binder, delete),
        StatementKind::Merge(merge) => {
            dml::bind_merge(binder, merge).map(|m| Bound::Merge(Box::new(m)))
        }
        _ => Err(Msg::NotSupported("this statement here").into()),
    };
    binder.synonym = outer;
    bound
}

/// The permissions of a change that may have WHERE, which asks for SELECT.
fn with_filter(permission: &'static str, filter: Option<&ast::Condition>) -> Vec<&'static str> {
    match filter {
        Some(_) => vec![permission, "SELECT"],
        None => vec![permission],
    }
}

/// Binds a single expression.
///
/// # Errors
/// Errors of names and types.
pub fn bind_scalar(binder: &mut Binder<'_>, expr: &ast::Expr) -> Result<Scalar> {
    let mut expr = bind_expr(binder, expr)?;
    optimizer::expression(&mut binder.statement(), &mut expr)?;
    Ok(Scalar { expr, registers: binder.registers })
}

fn bind_select(binder: &mut Binder<'_>, select: &SelectStatement) -> Result<Bound> {
    set_hints(binder, &select.options)?;
    let ctes = binder.ctes.len();
    if let Some(with) = &select.with {
        declare_ctes(binder, with)?;
    }
    let bound = bind_select_body(binder, select);
    binder.ctes.truncate(ctes);
    bound
}

fn bind_select_body(binder: &mut Binder<'_>, select: &SelectStatement) -> Result<Bound> {
    let query = &select.query;
    if let Some(clause) = &query.for_clause {
        let document = bind_document(binder, query, clause, WhenEmpty::NoRow)?;
        return Ok(Bound::Select(rows(binder, document)?));
    }
    let QueryBody::Select(spec) = &query.body else {
        let mut united = query.clone();
        if let Some(into) = first_into(&mut united.body) {
            let query = bind_query(binder, &united)?;
            return into_table(binder, query, &into);
        }
        let query = bind_query(binder, query)?;
        return Ok(Bound::Select(rows(binder, query)?));
    };
    let parts = bind_spec_parts(binder, spec, &query.order_by, query.offset.as_ref())?;
    let assigns = parts.items.iter().filter(|i| i.assign.is_some()).count();
    if assigns > 0 {
        if assigns < parts.items.len() || spec.into.is_some() {
            return Err(Msg::AssignAndRetrieve.into());
        }
        let items = parts.items.into_iter();
        let assignments = items.filter_map(|i| Some((i.assign?, i.column.expr))).collect();
        return Ok(Bound::SelectAssign(assignment(binder, parts.root, assignments)?));
    }
    let output = parts.items.into_iter().map(|i| i.column).collect();
    let query = Query { root: parts.root, output };
    match &spec.into {
        Some(into) => into_table(binder, query, into),
        None => Ok(Bound::Select(rows(binder, query)?)),
    }
}

/// Removes INTO from the first query of a union, where it is written.
fn first_into(body: &mut QueryBody) -> Option<ast::Into> {
    match body {
        QueryBody::Select(spec) => spec.into.take(),
        QueryBody::SetOperation { first, .. } => first_into(first),
        QueryBody::Parenthesized(_) => None,
    }
}

fn rows(binder: &mut Binder<'_>, mut query: Query) -> Result<Select> {
    optimizer::query(&mut binder.statement(), &mut query)?;
    let plain = !query.output.iter().any(|c| walk::has_subquery(&c.expr));
    let course = course(&query.root, plain);
    if course == Course::Point {
        keep_residual(&mut query.root);
        optimizer::prune_query(&mut query);
    }
    let shape = new_shape(&query.output);
    Ok(Select { query, shape, browse: None, registers: binder.registers, course })
}

fn course(root: &Node, plain: bool) -> Course {
    if plain && optimizer::is_point(root).is_some_and(|scan| scan.hints.read_versions()) {
        Course::Point
    } else {
        Course::General
    }
}

/// Removes what the access path covers from the predicate of a scan that locks no row: nothing evaluates
/// it again, so the columns that only it reads need not be decoded.
fn keep_residual(root: &mut Node) {
    if let Node::Scan(scan) = root {
        scan.predicate.clone_from(&scan.residual);
    }
}

fn assignment(
    binder: &mut Binder<'_>,
    mut root: Node,
    mut assignments: Vec<(plan::expr::Slot, Expr)>,
) -> Result<SelectAssign> {
    binder.assigns = true;
    optimizer::root(&mut binder.statement(), &mut root)?;
    optimizer::values(&mut binder.statement(), assignments.iter_mut().map(|a| &mut a.1))?;
    let plain = !assignments.iter().any(|(_, e)| walk::has_subquery(e));
    let course = course(&root, plain);
    if course == Course::Point {
        keep_residual(&mut root);
    }
    let mut used = Registers::default();
    let mut see = |e: &Expr| {
        if let ExprKind::Column(register) = e.kind {
            used.insert(register);
        }
    };
    walk::visit_node(&root, &mut see);
    assignments.iter().for_each(|(_, e)| walk::visit(e, &mut see));
    optimizer::prune(&mut root, &used);
    Ok(SelectAssign { root, assignments, registers: binder.registers, course })
}

fn into_table(binder: &mut Binder<'_>, mut query: Query, into: &ast::Into) -> Result<Bound> {
    binder.session_bound = true;
    if let Some(name) = &into.filegroup {
        let files = |name| binder.catalog.database(name).map_or(&[][..], |d| d.files.as_slice());
        let database = if into.table.is_temporary() { "tempdb" } else { binder.database };
        catalog::check_filegroup(files(database), name)?;
    }
    if let (Some(rights), Some(database)) =
        (binder.rights, binder.catalog.database(binder.database))
        && !into.table.is_temporary()
    {
        let schema = into.table.schema.as_deref();
        let schema = schema.unwrap_or_else(|| rights.default_schema(database));
        rights.check_database(database, "CREATE TABLE")?;
        if let Some(schema) = database.schema(schema)
            && !rights.has_on_schema(database, schema, "ALTER")
        {
            return Err(Msg::SchemaNotFound(&schema.name).into());
        }
    }
    let inherits = is_of_one_table(&query.root);
    let mut columns = Vec::with_capacity(query.output.len());
    for column in &query.output {
        if column.name.is_empty() {
            return Err(Msg::NameMissing.into());
        }
        let identity = column.traits.identity && inherits && is_once(&query, column);
        let traits = Traits { identity, ..column.traits };
        columns.push((column.name.to_string(), column.expr.ty, traits));
    }
    optimizer::query(&mut binder.statement(), &mut query)?;
    let target = into.table.clone();
    let registers = binder.registers;
    Ok(Bound::SelectInto(SelectInto { query, target, columns, export: None, registers }))
}

/// Returns whether the columns of a query may pass on the identity property: it reads one table,
/// without grouping and set operations.
fn is_of_one_table(root: &Node) -> bool {
    let mut nodes = vec![root];
    while let Some(node) = nodes.pop() {
        if matches!(
            node,
            Node::Join(_) | Node::Aggregate(_) | Node::SetOperation(_) | Node::Recursive(_)
        ) {
            return false;
        }
        children::inputs(node, &mut |input| nodes.push(input));
    }
    true
}

/// Returns whether a column occurs once in the output.
fn is_once(query: &Query, column: &OutputColumn) -> bool {
    query.output.iter().filter(|other| walk::same(&other.expr, &column.expr)).count() == 1
}

/// Returns the shape of a query's result.
pub fn new_shape(columns: &[OutputColumn]) -> Arc<ResultShape> {
    let columns = columns.iter().map(|c| ColumnInfo {
        name: c.name.clone(),
        column_type: c.expr.ty,
        traits: c.traits,
        updatable: c.traits.stored,
    });
    shape_of(columns.collect())
}

/// Returns a shape with these columns.
pub fn shape_of(columns: Vec<ColumnInfo>) -> Arc<ResultShape> {
    // Relaxed: only uniqueness is needed.
    Arc::new(ResultShape { id: SHAPE_ID.fetch_add(1, Ordering::Relaxed), columns })
}
