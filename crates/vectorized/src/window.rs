//! Window functions: stores the input by column, sorts the rows for each call by partition and
//! order, and computes the results with the row executor's code.

use types::batch::{BATCH_ROWS, Batch, Vector};
use types::{Result, Value};

use super::kernel::Kernel;
use super::sort::{SortEncoder, order_of};
use super::store::Store;
use super::{Flow, Input, Operator, Receive, Rows, compile, with};
use executor::long::group_key;
use executor::query::{SortKeys, WindowInput, WindowResults, sort_by_keys};
use executor::{Cx, fault};
use plan::expr::Register;
use plan::long::FreedInPieces;
use plan::query::{Window, WindowCall};
use plan::walk::Registers;

/// Window functions over one input.
pub(super) struct WindowSort<'p> {
    input: Input<'p>,
    layout: Vec<Register>,
    store: Store,
    calls: Vec<Call<'p>>,
}

/// A call and the values that it needs of each row.
struct Call<'p> {
    call: &'p WindowCall,
    partition: Vec<Kernel<'p>>,
    order: SortEncoder<'p>,
    arguments: Vec<Kernel<'p>>,
    partitions: SortKeys,
    sorts: SortKeys,
    values: FreedInPieces<Vec<Value>>,
    /// Memory of the values, in bytes.
    value_bytes: usize,
}

impl<'p> WindowSort<'p> {
    pub(super) fn new(window: &'p Window, needed: &Registers) -> Self {
        let mut asked = needed.clone();
        for call in &window.calls {
            let order = call.order.iter().map(|key| &key.expr);
            asked = with(&asked, call.arguments.iter().chain(&call.partition).chain(order));
        }
        let input = compile(&window.input, &asked);
        let calls = window.calls.iter().map(|call| Call::new(call, input.layout())).collect();
        let store = Store::new(input.layout(), needed);
        let mut layout = store.layout.clone();
        layout.extend(window.calls.iter().map(|call| call.register));
        Self { input, layout, store, calls }
    }
}

impl<'p> Call<'p> {
    fn new(call: &'p WindowCall, layout: &[Register]) -> Self {
        let kernels = |exprs: &'p [plan::expr::Expr]| {
            exprs.iter().map(|expr| Kernel::new(expr, layout)).collect()
        };
        Self {
            call,
            partition: kernels(&call.partition),
            order: SortEncoder::new(&call.order, layout),
            arguments: kernels(&call.arguments),
            partitions: SortKeys::default(),
            sorts: SortKeys::default(),
            values: FreedInPieces::default(),
            value_bytes: 0,
        }
    }

    fn push(&mut self, batch: &Batch, cx: &mut Cx<'_>) -> Result<()> {
        let mut vectors: Vec<&Vector> = Vec::with_capacity(self.partition.len());
        for kernel in &mut self.partition {
            vectors.push(kernel.evaluate(batch, &batch.selection, cx)?);
        }
        let mut key = Vec::new();
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
        let sorts = &mut self.sorts;
        self.order.encode(batch, cx, &mut |_, key| sorts.push_bytes(key))?;
        let mut vectors: Vec<&Vector> = Vec::with_capacity(self.arguments.len());
        for kernel in &mut self.arguments {
            vectors.push(kernel.evaluate(batch, &batch.selection, cx)?);
        }
        let width = size_of::<Vec<Value>>() + vectors.len() * size_of::<Value>();
        self.value_bytes += width * batch.selection.len();
        let values = |row| vectors.iter().map(|vector| vector.get(row)).collect();
        self.values.extend(batch.selection.iter().map(values));
        Ok(())
    }

    fn memory(&self) -> usize {
        self.value_bytes + self.partitions.memory() + self.sorts.memory()
    }

    /// Returns the order of the rows and the result of each.
    fn compute(&mut self, cx: &mut Cx<'_>) -> Result<(Vec<usize>, WindowResults)> {
        let partitions = std::mem::take(&mut self.partitions);
        let sorts = std::mem::take(&mut self.sorts);
        let order = order_of(&sorts, cx)?;
        let mut order: Vec<usize> = order.into_iter().map(|row| row as usize).collect();
        sort_by_keys(&mut order, &partitions, cx)?;
        let arguments = std::mem::take(&mut self.values);
        let charge = cx.session.accounting.grant.charge(0);
        let input = WindowInput { order, partitions, sorts, arguments, _charge: charge };
        let results = input.compute(self.call, cx)?;
        Ok((input.order, results))
    }
}

impl<'p> Operator<'p> for WindowSort<'p> {
    fn layout(&self) -> &[Register] {
        &self.layout
    }

    fn run(
        &mut self,
        cx: &mut Cx<'_>,
        rows: &mut Rows<'p>,
        receive: Receive<'_, 'p>,
    ) -> Result<Flow> {
        let Self { input, store, calls, .. } = self;
        let mut charge = cx.session.accounting.grant.charge(0);
        input.run(cx, rows, &mut |cx, _, batch| {
            calls.iter_mut().try_for_each(|call| call.push(batch, cx))?;
            store.push(batch, &batch.selection);
            charge.set(store.memory() + calls.iter().map(Call::memory).sum::<usize>())?;
            Ok(Flow::More)
        })?;
        let mut order: Vec<usize> = (0..store.len).collect();
        let mut results = Vec::with_capacity(calls.len());
        for call in &mut *calls {
            let (places, values) = call.compute(cx)?;
            order = places;
            results.push(values);
        }
        let kept = store.columns.iter().map(|column| Vector::of_type(column.data_type()));
        let made = calls.iter().map(|call| Vector::with_capacity_for(&call.call.ty));
        let mut out = Batch::new(kept.chain(made).collect());
        for part in order.chunks(BATCH_ROWS) {
            fault::batch_passed(cx)?;
            out.clear();
            let number = |place: &usize| u32::try_from(*place).unwrap_or(u32::MAX);
            let part: Vec<u32> = part.iter().map(number).collect();
            for (to, from) in out.columns.iter_mut().zip(&store.columns) {
                to.take(from, &part);
            }
            for (to, values) in out.columns[store.columns.len()..].iter_mut().zip(&results) {
                part.iter().for_each(|row| to.push(&values.values[*row as usize]));
            }
            out.set_rows(part.len());
            if receive(cx, rows, &mut out)? == Flow::Enough {
                return Ok(Flow::Enough);
            }
        }
        Ok(Flow::More)
    }
}
