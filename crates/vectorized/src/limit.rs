//! TOP, OFFSET and FETCH, including PERCENT and WITH TIES.

use executor::long::group_key;
use types::batch::{Batch, Selection, Vector};
use types::{Msg, Result, Value};

use super::kernel::Kernel;
use super::store::Store;
use super::{Flow, Input, Operator, Receive, Rows, with};
use executor::Cx;
use executor::eval::eval;
use executor::query::{count_of, percent_of};
use plan::expr::Register;
use plan::query::{Limit, SortKey};
use plan::walk::Registers;

/// Compiles a limit to its operator.
pub(super) fn compile<'p>(limit: &'p Limit, needed: &Registers) -> Input<'p> {
    let ties = limit.ties.as_deref().unwrap_or_default();
    let input = super::compile(&limit.input, &with(needed, ties.iter().map(|key| &key.expr)));
    let ties = limit.ties.as_deref().map(|keys| Ties::new(keys, input.layout()));
    if limit.percent {
        let store = Store::new(input.layout(), needed);
        return Box::new(Percent { limit, input, ties, store });
    }
    Box::new(Top { limit, input, ties })
}

/// The sort keys that decide which rows tie.
struct Ties<'p> {
    keys: &'p [SortKey],
    kernels: Vec<Kernel<'p>>,
}

impl<'p> Ties<'p> {
    fn new(keys: &'p [SortKey], layout: &[Register]) -> Self {
        let kernels = keys.iter().map(|key| Kernel::new(&key.expr, layout)).collect();
        Self { keys, kernels }
    }

    /// Calls `see` with the keys of rows until it returns `Enough`.
    fn each(
        &mut self,
        batch: &Batch,
        rows: &Selection,
        cx: &mut Cx<'_>,
        see: &mut dyn FnMut(usize, &[u8]) -> Flow,
    ) -> Result<()> {
        let mut vectors: Vec<&Vector> = Vec::with_capacity(self.kernels.len());
        for kernel in &mut self.kernels {
            vectors.push(kernel.evaluate(batch, rows, cx)?);
        }
        let mut key = Vec::new();
        for row in rows.iter() {
            key.clear();
            for (vector, sort) in vectors.iter().zip(self.keys) {
                group_key(
                    &vector.get(row),
                    sort.expr.ty.collation,
                    &mut key,
                    &cx.session.connection.cancel,
                )?;
            }
            if see(row, &key) == Flow::Enough {
                break;
            }
        }
        Ok(())
    }
}

/// TOP n, OFFSET n and FETCH n.
struct Top<'p> {
    limit: &'p Limit,
    input: Input<'p>,
    ties: Option<Ties<'p>>,
}

impl<'p> Operator<'p> for Top<'p> {
    fn layout(&self) -> &[Register] {
        self.input.layout()
    }

    fn run(
        &mut self,
        cx: &mut Cx<'_>,
        rows: &mut Rows<'p>,
        receive: Receive<'_, 'p>,
    ) -> Result<Flow> {
        let Self { limit, input, ties } = self;
        let skip = match &limit.offset {
            Some(expr) => count_of(expr, cx, Msg::OffsetNegative)?,
            None => 0,
        };
        let count = match &limit.count {
            Some(expr) => count_of(expr, cx, Msg::TopNegative)?,
            None => u64::MAX,
        };
        if count == 0 && limit.offset.is_some() {
            return Err(Msg::FetchPositive.into());
        }
        if count == 0 {
            return Ok(Flow::More);
        }
        let mut left = Left { skip, count, last: None };
        let mut ended = Flow::More;
        input.run(cx, rows, &mut |cx, rows, batch| {
            let (kept, is_over) = left.take(batch, ties.as_mut(), cx)?;
            batch.selection = kept;
            if !batch.selection.is_empty() {
                ended = receive(cx, rows, batch)?;
            }
            Ok(if is_over { Flow::Enough } else { ended })
        })?;
        Ok(ended)
    }
}

/// What is left of a limit: rows to skip and to return.
struct Left {
    skip: u64,
    count: u64,
    /// The key of the last row within the count, after it was reached.
    last: Option<Vec<u8>>,
}

impl Left {
    /// Returns the rows of a batch that are within the limit, and whether the limit is exhausted.
    fn take(
        &mut self,
        batch: &Batch,
        ties: Option<&mut Ties<'_>>,
        cx: &mut Cx<'_>,
    ) -> Result<(Selection, bool)> {
        let (mut kept, mut rest) = (Selection::default(), Selection::default());
        kept.clear();
        rest.clear();
        let mut last = None;
        for row in batch.selection.iter() {
            if self.skip > 0 {
                self.skip -= 1;
            } else if self.count > 0 {
                self.count -= 1;
                kept.push(row);
                last = Some(row);
            } else {
                rest.push(row);
            }
        }
        if self.count > 0 {
            return Ok((kept, false));
        }
        let Some(ties) = ties else { return Ok((kept, true)) };
        if let Some(row) = last {
            ties.each(batch, &super::only(row), cx, &mut |_, key| {
                self.last = Some(key.to_vec());
                Flow::More
            })?;
        }
        let mut is_over = false;
        ties.each(batch, &rest, cx, &mut |row, key| {
            if self.last.as_deref() == Some(key) {
                kept.push(row);
                return Flow::More;
            }
            is_over = true;
            Flow::Enough
        })?;
        Ok((kept, is_over))
    }
}

/// TOP n PERCENT, which needs the number of all rows first.
struct Percent<'p> {
    limit: &'p Limit,
    input: Input<'p>,
    ties: Option<Ties<'p>>,
    store: Store,
}

impl<'p> Operator<'p> for Percent<'p> {
    fn layout(&self) -> &[Register] {
        &self.store.layout
    }

    fn run(
        &mut self,
        cx: &mut Cx<'_>,
        rows: &mut Rows<'p>,
        receive: Receive<'_, 'p>,
    ) -> Result<Flow> {
        let Self { limit, input, ties, store } = self;
        let percent = match &limit.count {
            Some(expr) => eval(expr, cx)?,
            None => Value::Float(100.0),
        };
        let Value::Float(percent) = percent else { return Err(Msg::TopInvalid.into()) };
        if !(0.0..=100.0).contains(&percent) {
            return Err(Msg::PercentRange.into());
        }
        let mut keys: Vec<Vec<u8>> = Vec::new();
        let mut charge = cx.session.accounting.grant.charge(0);
        input.run(cx, rows, &mut |cx, _, batch| {
            store.push(batch, &batch.selection);
            charge.set(store.memory())?;
            if let Some(ties) = ties {
                ties.each(batch, &batch.selection, cx, &mut |_, key| {
                    keys.push(key.to_vec());
                    Flow::More
                })?;
            }
            Ok(Flow::More)
        })?;
        let mut count = percent_of(store.len, percent);
        while count > 0 && count < keys.len() && keys[count] == keys[count - 1] {
            count += 1;
        }
        let count = u32::try_from(count.min(store.len)).unwrap_or(u32::MAX);
        let order: Vec<u32> = (0..count).collect();
        store.give(&order, cx, rows, receive)
    }
}
