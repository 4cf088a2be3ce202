//! MIN and MAX of an indexed column: the first row of a scan in the column's order, instead of all
//! rows.

use types::value::ColumnType;
use types::{DataType, Value};

use super::order;
use plan::expr::{Expr, ExprKind};
use plan::query::{Aggregate, Limit, Node, Scan, ScanHints, SortKey, TableSource};

/// Makes the input of a single MIN or MAX end after the first row, if an index has the order.
pub(crate) fn shorten(aggregate: &mut Aggregate) {
    let [call] = aggregate.aggregates.as_slice() else { return };
    let is_max = match call.function.name {
        "MIN" => false,
        "MAX" => true,
        _ => return,
    };
    let [argument] = call.arguments.as_slice() else { return };
    let ExprKind::Column(_) = argument.kind else { return };
    if !aggregate.scalar || call.filter.is_some() {
        return;
    }
    if !matches!(&aggregate.input, Node::Scan(scan) if is_plain(scan)) {
        return;
    }
    let key = SortKey { expr: argument.clone(), descending: is_max };
    if !order::provide(&mut aggregate.input, &[key]) {
        return;
    }
    let mut input = std::mem::replace(&mut aggregate.input, Node::Empty);
    // NULL is the smallest value, and does not count. Behind all others it is the result itself.
    if !is_max && argument.ty.nullable {
        let ty = ColumnType { nullable: false, ..ColumnType::nullable(DataType::Bit) };
        let is_null = Expr { kind: ExprKind::IsNull(Box::new(argument.clone())), ty };
        let is_value = Expr { kind: ExprKind::Not(Box::new(is_null)), ty };
        input = Node::Filter(Box::new((input, is_value)));
    }
    let count = Some(Expr::constant(Value::BigInt(1), DataType::BigInt));
    let limit = Limit { input, offset: None, count, percent: false, ties: None };
    aggregate.input = Node::Limit(Box::new(limit));
}

/// Returns whether a scan reads rows of a table as they are, all or those of one seek.
fn is_plain(scan: &Scan) -> bool {
    let TableSource::Table(table) = &scan.table else { return false };
    let ScanHints { path, database, .. } = scan.hints;
    let is_plain = scan.hints == ScanHints { path, database, ..ScanHints::default() };
    is_plain && scan.residual.is_none() && table.columnstore.is_none()
}
