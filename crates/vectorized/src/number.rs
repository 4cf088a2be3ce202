//! ROW_NUMBER, RANK and DENSE_RANK over input that is sorted already: adds a column of numbers to
//! each batch.

use executor::long::group_key;
use types::batch::{Batch, Selection, Vector};
use types::{Result, Value};

use super::kernel::Kernel;
use super::sort::SortEncoder;
use super::{Flow, Input, Operator, Receive, Rows, Stage, compile, stream, with};
use executor::Cx;
use executor::query::{Numbering, SortKeys};
use plan::expr::Register;
use plan::query::{Window, WindowCall};
use plan::walk::Registers;

/// Ranking functions over sorted input.
pub(super) struct WindowStream<'p> {
    input: Input<'p>,
    layout: Vec<Register>,
    stage: Number<'p>,
}

struct Number<'p> {
    calls: Vec<Call<'p>>,
}

/// A call, the keys of the current batch's rows, and its column while that is not part of a batch.
struct Call<'p> {
    call: &'p WindowCall,
    partition: Vec<Kernel<'p>>,
    order: SortEncoder<'p>,
    partitions: SortKeys,
    orders: SortKeys,
    numbering: Numbering,
    column: Vector,
}

impl<'p> WindowStream<'p> {
    pub(super) fn new(window: &'p Window, needed: &Registers) -> Self {
        let mut asked = needed.clone();
        for call in &window.calls {
            let order = call.order.iter().map(|key| &key.expr);
            asked = with(&asked, call.partition.iter().chain(order));
        }
        let input = compile(&window.input, &asked);
        let calls = window.calls.iter().map(|call| Call::new(call, input.layout())).collect();
        let mut layout = input.layout().to_vec();
        layout.extend(window.calls.iter().map(|call| call.register));
        Self { input, layout, stage: Number { calls } }
    }
}

impl<'p> Call<'p> {
    fn new(call: &'p WindowCall, layout: &[Register]) -> Self {
        Self {
            call,
            partition: call.partition.iter().map(|expr| Kernel::new(expr, layout)).collect(),
            order: SortEncoder::new(&call.order, layout),
            partitions: SortKeys::default(),
            orders: SortKeys::default(),
            numbering: Numbering::default(),
            column: Vector::with_capacity_for(&call.ty),
        }
    }

    /// Encodes the keys of the selected rows.
    fn encode(&mut self, batch: &Batch, cx: &mut Cx<'_>) -> Result<()> {
        self.partitions.clear();
        self.orders.clear();
        let mut vectors: Vec<&Vector> = Vec::with_capacity(self.partition.len());
        for kernel in &mut self.partition {
            vectors.push(kernel.evaluate(batch, &batch.selection, cx)?);
        }
        let mut key = Vec::new();
        if !vectors.is_empty() {
            for row in batch.selection.iter() {
                key.clear();
                for (vector, expr) in vectors.iter().zip(&self.call.partition) {
                    group_key(
                        &vector.get(row),
                        expr.ty.collation,
                        &mut key,
                        &cx.session.connection.cancel,
                    )?;
                }
                self.partitions.push_bytes(&key);
            }
        }
        if !self.call.order.is_empty() {
            let orders = &mut self.orders;
            self.order.encode(batch, cx, &mut |_, key| orders.push_bytes(key))?;
        }
        Ok(())
    }

    /// Numbers the selected rows of a batch of `rows` rows.
    fn number(&mut self, selection: &Selection, rows: usize) {
        self.column.clear();
        for (place, row) in selection.iter().enumerate() {
            while self.column.len() < row {
                self.column.push_hole();
            }
            let (partition, order) = (key_at(&self.partitions, place), key_at(&self.orders, place));
            let number = self.numbering.next(self.call.function, partition, order);
            self.column.push(&Value::BigInt(number));
        }
        while self.column.len() < rows {
            self.column.push_hole();
        }
    }
}

/// Returns the key of a row; empty if there are no key columns.
fn key_at(keys: &SortKeys, place: usize) -> &[u8] {
    if keys.is_empty() { &[] } else { keys.get(place) }
}

impl<'p> Stage<'p> for Number<'p> {
    fn prepare(&mut self, batch: &mut Batch, cx: &mut Cx<'_>) -> Result<()> {
        self.calls.iter_mut().try_for_each(|call| call.encode(batch, cx))
    }

    fn give(
        &mut self,
        batch: &mut Batch,
        cx: &mut Cx<'_>,
        rows: &mut Rows<'p>,
        receive: Receive<'_, 'p>,
    ) -> Result<Flow> {
        let (selection, count) = (std::mem::take(&mut batch.selection), batch.rows());
        for call in &mut self.calls {
            call.number(&selection, count);
            batch.columns.push(std::mem::replace(&mut call.column, Vector::empty()));
        }
        batch.selection = selection;
        let flow = receive(cx, rows, batch);
        let first = batch.columns.len() - self.calls.len();
        for (call, column) in self.calls.iter_mut().zip(batch.columns.drain(first..)) {
            call.column = column;
        }
        flow
    }
}

impl<'p> Operator<'p> for WindowStream<'p> {
    fn layout(&self) -> &[Register] {
        &self.layout
    }

    fn run(
        &mut self,
        cx: &mut Cx<'_>,
        rows: &mut Rows<'p>,
        receive: Receive<'_, 'p>,
    ) -> Result<Flow> {
        let Self { input, stage, .. } = self;
        input.run(cx, rows, &mut |cx, rows, batch| stream(stage, batch, cx, rows, receive))
    }
}
