//! FOR SYSTEM_TIME: the row versions of a system-versioned table that were valid at a time or in an
//! interval.
//!
//! The table becomes the union of itself and its history table, each with a condition on the
//! period; filters of the query are pushed into both. A view passes the clause to the
//! system-versioned tables behind it.

use std::sync::Arc;

use tsql::ast;
use types::value::ColumnType;
use types::{DataType, Mode, Msg, Result};

use super::from::{SourceName, add_query_source, bind_named_source, resolve_table};
use super::{Resolved, set};
use crate::Binder;
use crate::expr::{bind_expr, compare, convert_to};
use catalog::{Period, TableDef};
use plan::expr::{CompareOp, Expr, ExprKind, Register};
use plan::query::{Access, Node, OutputColumn, Path, Query, Scan, ScanHints, SetKind, TableSource};
use plan::sink::Traits;

/// FOR SYSTEM_TIME with its arguments bound.
pub struct SystemTime {
    span: Span,
    /// Whether a system-versioned table has used it.
    used: bool,
}

/// The row versions to return.
#[derive(Clone)]
enum Span {
    /// Those valid at this time.
    AsOf(Expr),
    /// Those valid at any time from the first to the second, the second excluded.
    FromTo(Expr, Expr),
    /// The same, including those that became valid at the second.
    Between(Expr, Expr),
    /// Those whose whole period is within the two.
    ContainedIn(Expr, Expr),
    /// All with a non-empty period.
    All,
}

/// Binds a table or view with FOR SYSTEM_TIME.
///
/// # Errors
/// 13544 if there is no system-versioned table, 13590 for a second clause, and errors of names and
/// types.
pub(crate) fn bind(
    binder: &mut Binder<'_>,
    source: &ast::TableSource,
    clause: &ast::SystemTime,
) -> Result<Node> {
    let name = &source.name;
    let is_cte = |simple: &ast::Ident| binder.ctes.find(simple).is_some();
    let is_local = |simple: &ast::Ident| is_cte(simple) || binder.table_variable(simple).is_some();
    if name.as_simple().is_some_and(is_local) {
        return Err(Msg::NotSystemVersioned(&name.object).into());
    }
    if binder.system_time.is_some() {
        return Err(Msg::SystemTimeTwice(&name.object).into());
    }
    let span = bind_span(binder, clause)?;
    binder.system_time = Some(SystemTime { span, used: false });
    let node = bind_named_source(binder, name, source.alias.as_deref(), &source.hints);
    let used = binder.system_time.take().is_some_and(|time| time.used);
    let node = node?;
    if used {
        return Ok(node);
    }
    let full = match resolve_table(binder, name)? {
        Resolved::Table(table) => {
            let database = binder.catalog.database_by_id(table.database_id);
            let database = database.map_or("tempdb", |d| d.name.as_str());
            format!("{database}.{}", table.qualified_name())
        }
        Resolved::View(view, database) => format!("{database}.{}.{}", view.schema, view.name),
        Resolved::System(view, database) => {
            format!("{database}.{}.{}", view.schema(), view.name())
        }
    };
    Err(Msg::NotSystemVersioned(&full).into())
}

fn bind_span(binder: &mut Binder<'_>, clause: &ast::SystemTime) -> Result<Span> {
    let mut moment = |written: &ast::Expr| {
        let moment = bind_expr(binder, written)?;
        if !moment.ty.data_type.is_string() {
            return Ok(moment);
        }
        let target = ColumnType { data_type: DataType::DateTime2(7), ..moment.ty };
        convert_to(moment, &target, Mode::Implicit)
    };
    Ok(match clause {
        ast::SystemTime::AsOf(at) => Span::AsOf(moment(at)?),
        ast::SystemTime::FromTo(from, to) => Span::FromTo(moment(from)?, moment(to)?),
        ast::SystemTime::Between(low, high) => Span::Between(moment(low)?, moment(high)?),
        ast::SystemTime::ContainedIn(low, high) => Span::ContainedIn(moment(low)?, moment(high)?),
        ast::SystemTime::All => Span::All,
    })
}

/// Adds the requested row versions of a system-versioned table to the innermost level.
///
/// # Errors
/// 229 without SELECT on the history table, and errors of types.
pub(crate) fn bind_versions(
    binder: &mut Binder<'_>,
    table: &Arc<TableDef>,
    name: SourceName<'_>,
    hints: ScanHints,
) -> Result<Node> {
    let time = binder.system_time.as_mut().expect("the caller has seen FOR SYSTEM_TIME");
    time.used = true;
    let span = time.span.clone();
    let period = table.period.expect("a table with a history table has a period");
    let history = table.history_id().expect("the caller has seen the history table");
    let catalog = binder.catalog;
    let database = catalog.database_by_id(table.database_id);
    let history = database.and_then(|d| d.table_by_id(history)).ok_or(Msg::InternalError)?;
    crate::require::require(binder, &Resolved::Table(Arc::clone(history)), "SELECT")?;
    let current = versions(binder, table, period, &span, hints)?;
    let earlier = ScanHints { path: Path::Any, ..hints };
    let earlier = versions(binder, history, period, &span, earlier)?;
    let all = set::combine(binder, SetKind::UnionAll, current, earlier)?;
    let node = add_query_source(binder, all, name, &[])?;
    for (column, defined) in binder.level.last_mut().columns.iter_mut().zip(&table.columns) {
        column.traits = Traits { identity: false, ..Traits::of(defined) };
    }
    Ok(node)
}

/// Returns the requested rows of one of the two tables.
fn versions(
    binder: &mut Binder<'_>,
    table: &Arc<TableDef>,
    period: Period,
    span: &Span,
    hints: ScanHints,
) -> Result<Query> {
    let first = binder.new_registers(table.columns.len());
    let output = table.columns.iter().enumerate().map(|(place, column)| OutputColumn {
        name: column.name.as_str().into(),
        expr: Expr::new(ExprKind::Column(first.plus(place)), column.ty),
        traits: Traits { identity: false, hidden: false, ..Traits::of(column) },
    });
    let output: Vec<OutputColumn> = output.collect();
    let ordinals =
        0..u16::try_from(table.columns.len()).expect("a table has fewer than 2^16 columns");
    let columns: Vec<(u16, Register)> =
        ordinals.map(|ordinal| (ordinal, first.plus(usize::from(ordinal)))).collect();
    let row = binder.new_row();
    let scan = Node::Scan(Box::new(Scan {
        table: TableSource::Table(Arc::clone(table)),
        access: Access::Full,
        columns,
        row,
        predicate: None,
        residual: None,
        hints,
    }));
    let end = |ordinal: u16| output[usize::from(ordinal)].expr.clone();
    let mut root = scan;
    for condition in conditions(span, &end(period.start), &end(period.end))? {
        root = Node::Filter(Box::new((root, condition)));
    }
    Ok(Query { root, output })
}

/// Returns the conditions on a version's period. A version with an empty period is never returned:
/// it was created and replaced in one transaction.
fn conditions(span: &Span, start: &Expr, end: &Expr) -> Result<Vec<Expr>> {
    use CompareOp as Op;
    let is = |column: &Expr, op, moment: &Expr| compare(op, column.clone(), moment.clone());
    let lasted = || is(start, Op::NotEqual, end);
    Ok(match span {
        Span::AsOf(at) => vec![is(start, Op::LessOrEqual, at)?, is(end, Op::Greater, at)?],
        Span::FromTo(from, to) => {
            vec![is(start, Op::Less, to)?, is(end, Op::Greater, from)?, lasted()?]
        }
        Span::Between(low, high) => {
            vec![is(start, Op::LessOrEqual, high)?, is(end, Op::Greater, low)?, lasted()?]
        }
        Span::ContainedIn(low, high) => {
            vec![is(start, Op::GreaterOrEqual, low)?, is(end, Op::LessOrEqual, high)?, lasted()?]
        }
        Span::All => vec![lasted()?],
    })
}
