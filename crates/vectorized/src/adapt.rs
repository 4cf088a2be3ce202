//! Adapter from row mode to vector mode: runs a node that has no vector operator in row mode and
//! gathers its rows into batches.

use types::Result;
use types::batch::{BATCH_ROWS, Batch, Vector};

use super::{Flow, Operator, Receive, Rows};
use executor::{Cx, fault, query};
use plan::expr::Register;
use plan::query::Node;
use plan::walk;

/// A node that runs in row mode below vector operators.
pub(super) struct RowSource<'p> {
    node: &'p Node,
    layout: Vec<Register>,
}

impl<'p> RowSource<'p> {
    pub(super) fn new(node: &'p Node) -> Self {
        Self { node, layout: walk::live(node).registers }
    }
}

impl<'p> Operator<'p> for RowSource<'p> {
    fn layout(&self) -> &[Register] {
        &self.layout
    }

    fn run(
        &mut self,
        cx: &mut Cx<'_>,
        rows: &mut Rows<'p>,
        receive: Receive<'_, 'p>,
    ) -> Result<Flow> {
        let mut gathered = Gathered::new(&self.layout);
        let flow = query::run(self.node, cx, rows, &mut |cx, rows| {
            gathered.push(cx);
            if gathered.len() < BATCH_ROWS {
                return Ok(Flow::More);
            }
            fault::batch_passed(cx)?;
            gathered.give(cx, rows, receive)
        });
        // The rows before an error are passed on first, as in row mode.
        let given = match &flow {
            Ok(Flow::Enough) => return flow,
            Ok(Flow::More) => gathered.give(cx, rows, receive),
            Err(_) if cx.fault.is_some() || cx.interrupted.is_some() => return flow,
            Err(_) => gathered.give(cx, rows, receive),
        }?;
        if given == Flow::Enough { Ok(given) } else { flow }
    }
}

/// Rows being copied from registers into a batch.
pub(super) struct Gathered {
    layout: Vec<Register>,
    batch: Batch,
    len: usize,
}

impl Gathered {
    pub(super) fn new(layout: &[Register]) -> Self {
        // Registers have no types: the first value of a column decides its form.
        let columns = layout.iter().map(|_| Vector::of_type(&types::DataType::Int)).collect();
        Self { layout: layout.to_vec(), batch: Batch::new(columns), len: 0 }
    }

    pub(super) const fn len(&self) -> usize {
        self.len
    }

    /// Adds the current row.
    pub(super) fn push(&mut self, cx: &Cx<'_>) {
        for (column, register) in self.batch.columns.iter_mut().zip(&self.layout) {
            let value = &cx.registers[register.index()];
            if column.is_empty() && !value.is_null() {
                *column = Vector::of_type(&value.data_type());
            }
            column.push(value);
        }
        self.len += 1;
    }

    /// Passes the batch on. Restores the registers afterwards, because row mode continues with
    /// them.
    pub(super) fn give<'p>(
        &mut self,
        cx: &mut Cx<'_>,
        rows: &mut Rows<'p>,
        receive: Receive<'_, 'p>,
    ) -> Result<Flow> {
        if self.len == 0 {
            return Ok(Flow::More);
        }
        self.batch.set_rows(std::mem::take(&mut self.len));
        let kept = Kept::new(&self.layout, cx);
        let flow = receive(cx, rows, &mut self.batch)?;
        kept.restore(&self.layout, cx);
        self.batch.clear();
        Ok(flow)
    }
}

/// Saved values of registers that expressions above may overwrite.
pub(super) struct Kept(Vec<types::Value>);

impl Kept {
    pub(super) fn new(registers: &[Register], cx: &Cx<'_>) -> Self {
        Self(registers.iter().map(|r| cx.registers[r.index()].clone()).collect())
    }

    pub(super) fn restore(self, registers: &[Register], cx: &mut Cx<'_>) {
        for (register, value) in registers.iter().zip(self.0) {
            cx.registers[register.index()] = value;
        }
    }
}
