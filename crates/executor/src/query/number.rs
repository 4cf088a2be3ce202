//! ROW_NUMBER, RANK and DENSE_RANK over input that is sorted already: each row is numbered as it
//! passes, and only the keys of the previous row are kept.

use crate::long::group_key;
use types::{Result, Value};

use super::sort::encode_sort;
use super::{Flow, Receive, Rows, run as run_node};
use crate::Cx;
use crate::eval::eval;
use plan::query::{Window, WindowFunction};

/// State of a ranking function between two rows.
#[derive(Default)]
pub struct Numbering {
    partition: Vec<u8>,
    order: Vec<u8>,
    row: i64,
    rank: i64,
    dense: i64,
}

impl Numbering {
    /// Returns the function's value for the next row, which has these keys.
    pub fn next(&mut self, function: WindowFunction, partition: &[u8], order: &[u8]) -> i64 {
        let is_first = self.row == 0 || self.partition != partition;
        if is_first {
            self.partition.clear();
            self.partition.extend_from_slice(partition);
            (self.row, self.dense) = (0, 0);
        }
        self.row += 1;
        if is_first || self.order != order {
            self.order.clear();
            self.order.extend_from_slice(order);
            self.rank = self.row;
            self.dense += 1;
        }
        match function {
            WindowFunction::Rank => self.rank,
            WindowFunction::DenseRank => self.dense,
            // The optimizer streams no other function.
            _ => self.row,
        }
    }
}

pub(super) fn run<'p>(
    window: &'p Window,
    cx: &mut Cx<'_>,
    rows: &mut Rows<'p>,
    receive: Receive<'_, 'p>,
) -> Result<Flow> {
    let mut numberings: Vec<Numbering> =
        window.calls.iter().map(|_| Numbering::default()).collect();
    let (mut partition, mut order) = (Vec::new(), Vec::new());
    run_node(&window.input, cx, rows, &mut |cx, rows| {
        for (call, numbering) in window.calls.iter().zip(&mut numberings) {
            partition.clear();
            order.clear();
            for expr in &call.partition {
                group_key(
                    &eval(expr, cx)?,
                    expr.ty.collation,
                    &mut partition,
                    &cx.session.connection.cancel,
                )?;
            }
            encode_sort(&call.order, cx, &mut order)?;
            let number = numbering.next(call.function, &partition, &order);
            cx.registers[call.register.index()] = Value::BigInt(number);
        }
        receive(cx, rows)
    })
}
