//! Loop joins: runs the right input in row mode for each row of a left batch. Used for APPLY and
//! for seeks that `index_join.rs` can't do.

use types::Result;
use types::batch::{BATCH_ROWS, Batch, Selection, Vector};
use types::{DataType, Value};

use super::adapt::Kept;
use super::{Flow, Input, Operator, Receive, Rows, compile, with};
use executor::eval::truth;
use executor::{Cx, fault, query};
use plan::expr::{ExprKind, Register};
use plan::query::{Join, JoinKind};
use plan::walk::{self, Registers};

/// A loop join: its left input, and the pairs being made.
pub(super) struct LoopJoin<'p> {
    join: &'p Join,
    left: Input<'p>,
    layout: Vec<Register>,
    pairs: Pairs,
}

/// Joined rows being copied into a batch.
struct Pairs {
    /// Left columns that the right side or ON reads: position and register.
    outer: Vec<(usize, Register)>,
    /// For each left column, whether an operator above reads it.
    wanted: Vec<bool>,
    /// Registers of the right side that are copied.
    right: Vec<Register>,
    /// For each pair, the row of the left batch.
    left_rows: Vec<u32>,
    out: Batch,
}

impl<'p> LoopJoin<'p> {
    pub(super) fn new(join: &'p Join, needed: &Registers) -> Self {
        let mut inner = with(&Registers::default(), &join.on);
        walk::visit_node(&join.right, &mut |e| {
            if let ExprKind::Column(register) = e.kind {
                inner.insert(register);
            }
        });
        let mut asked = needed.clone();
        asked.extend(&inner);
        let left = compile(&join.left, &asked);
        let is_half = matches!(join.kind, JoinKind::Semi | JoinKind::Anti);
        let right: Vec<Register> = if is_half {
            Vec::new()
        } else {
            join.right_live.registers.iter().copied().filter(|r| needed.contains(*r)).collect()
        };
        let layout: Vec<Register> = left.layout().iter().chain(&right).copied().collect();
        let outer =
            left.layout().iter().copied().enumerate().filter(|c| inner.contains(c.1)).collect();
        let wanted = left.layout().iter().map(|r| needed.contains(*r)).collect();
        let pairs = Pairs { outer, wanted, right, left_rows: Vec::new(), out: Batch::default() };
        Self { join, left, layout, pairs }
    }
}

impl<'p> Operator<'p> for LoopJoin<'p> {
    fn layout(&self) -> &[Register] {
        &self.layout
    }

    fn run(
        &mut self,
        cx: &mut Cx<'_>,
        rows: &mut Rows<'p>,
        receive: Receive<'_, 'p>,
    ) -> Result<Flow> {
        let Self { join, left, pairs, layout } = self;
        let is_half = matches!(join.kind, JoinKind::Semi | JoinKind::Anti);
        left.run(cx, rows, &mut |cx, rows, batch| {
            if is_half {
                return half(join, &pairs.outer, batch, cx, rows, receive);
            }
            pairs.start(batch);
            let joined = pairs.join(join, layout, batch, cx, rows, receive);
            // The rows before an error are passed on first, as in row mode.
            let is_broken = cx.fault.is_some() || cx.interrupted.is_some();
            if matches!(joined, Ok(Flow::Enough)) || is_broken {
                return joined;
            }
            match pairs.flush(layout, batch, cx, rows, receive)? {
                Flow::Enough => Ok(Flow::Enough),
                Flow::More => joined,
            }
        })
    }
}

impl Pairs {
    fn start(&mut self, batch: &Batch) {
        if self.out.columns.is_empty() {
            let forms = batch.columns.iter().map(|c| Vector::of_type(c.data_type()));
            self.out.columns.extend(forms);
            self.out.columns.extend(self.right.iter().map(|_| Vector::of_type(&DataType::Int)));
        }
        self.out.clear();
        self.left_rows.clear();
    }

    #[expect(clippy::too_many_arguments, reason = "a batch, its join and where it goes")]
    fn join<'p>(
        &mut self,
        join: &'p Join,
        layout: &[Register],
        batch: &Batch,
        cx: &mut Cx<'_>,
        rows: &mut Rows<'p>,
        receive: Receive<'_, 'p>,
    ) -> Result<Flow> {
        for row in batch.selection.iter() {
            load(&self.outer, batch, row, cx);
            let mut matched = false;
            let flow = query::run(&join.right, cx, rows, &mut |cx, rows| {
                if let Some(on) = &join.on
                    && !truth(on, cx)?.is_true()
                {
                    return Ok(Flow::More);
                }
                matched = true;
                self.push(row, Some(cx));
                self.flush_full(layout, batch, cx, rows, receive)
            })?;
            if flow == Flow::Enough {
                return Ok(flow);
            }
            if !matched && join.kind != JoinKind::Inner {
                self.push(row, None);
                if self.flush_full(layout, batch, cx, rows, receive)? == Flow::Enough {
                    return Ok(Flow::Enough);
                }
            }
        }
        Ok(Flow::More)
    }

    /// Adds a pair, with the registers of the right side or with NULLs.
    fn push(&mut self, row: usize, right: Option<&Cx<'_>>) {
        // A batch has at most 2^16 rows.
        self.left_rows.push(u32::try_from(row).unwrap_or(u32::MAX));
        let first = self.out.columns.len() - self.right.len();
        for (column, register) in self.out.columns[first..].iter_mut().zip(&self.right) {
            let value = right.map_or(&Value::Null, |cx| &cx.registers[register.index()]);
            if column.is_empty() && !value.is_null() {
                *column = Vector::of_type(&value.data_type());
            }
            column.push(value);
        }
    }

    fn flush_full<'p>(
        &mut self,
        layout: &[Register],
        batch: &Batch,
        cx: &mut Cx<'_>,
        rows: &mut Rows<'p>,
        receive: Receive<'_, 'p>,
    ) -> Result<Flow> {
        if self.left_rows.len() < BATCH_ROWS {
            return Ok(Flow::More);
        }
        self.flush(layout, batch, cx, rows, receive)
    }

    /// Passes the pairs on. Restores the registers afterwards, because the right side continues
    /// with them.
    fn flush<'p>(
        &mut self,
        layout: &[Register],
        batch: &Batch,
        cx: &mut Cx<'_>,
        rows: &mut Rows<'p>,
        receive: Receive<'_, 'p>,
    ) -> Result<Flow> {
        if self.left_rows.is_empty() {
            return Ok(Flow::More);
        }
        fault::batch_passed(cx)?;
        let columns = self.out.columns.iter_mut().zip(&batch.columns).zip(&self.wanted);
        for ((to, from), wanted) in columns {
            if *wanted {
                to.take(from, &self.left_rows);
            } else {
                to.set_constant(Value::Null, self.left_rows.len());
            }
        }
        self.out.set_rows(self.left_rows.len());
        let kept = Kept::new(layout, cx);
        let flow = receive(cx, rows, &mut self.out);
        kept.restore(layout, cx);
        self.out.clear();
        self.left_rows.clear();
        flow
    }
}

/// Semi and anti joins: passes a left row on, or not.
fn half<'p>(
    join: &'p Join,
    outer: &[(usize, Register)],
    batch: &mut Batch,
    cx: &mut Cx<'_>,
    rows: &mut Rows<'p>,
    receive: Receive<'_, 'p>,
) -> Result<Flow> {
    fault::batch_passed(cx)?;
    let mut kept = Selection::default();
    kept.clear();
    let mut failed = None;
    for row in batch.selection.iter() {
        load(outer, batch, row, cx);
        let mut matched = false;
        let found = query::run(&join.right, cx, rows, &mut |cx, _| {
            matched = match &join.on {
                Some(on) => truth(on, cx)?.is_true(),
                None => true,
            };
            Ok(if matched { Flow::Enough } else { Flow::More })
        });
        if let Err(error) = found {
            failed = Some(error);
            break;
        }
        if matched == (join.kind == JoinKind::Semi) {
            kept.push(row);
        }
    }
    batch.selection = kept;
    let is_broken = cx.fault.is_some() || cx.interrupted.is_some();
    let flow = if batch.selection.is_empty() || is_broken {
        Flow::More
    } else {
        receive(cx, rows, batch)?
    };
    match failed {
        Some(error) if flow == Flow::More => Err(error),
        _ => Ok(flow),
    }
}

fn load(columns: &[(usize, Register)], batch: &Batch, row: usize, cx: &mut Cx<'_>) {
    for (column, register) in columns {
        cx.registers[register.index()] = batch.columns[*column].get(row);
    }
}
