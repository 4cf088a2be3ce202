//! Window functions: buffers the input, sorts it for each call by partition and order, stores the
//! results beside the buffered rows, and returns the rows in the order of the last call.

use types::compare::group_key;
use types::percentile::percentile;
use types::value::ColumnType;
use types::{Msg, Result, Value};

use super::buffer::{Buffer, Keys};
use super::sort::{encode_sort, order_of};
use super::{Flow, Receive, Rows, run as run_node};
use crate::Cx;
use crate::arithmetic::soften;
use crate::eval::eval;
use plan::function::AggregateFunction;
use plan::query::{FrameBound, Nulls, Window, WindowCall, WindowFrame, WindowFunction};
use session::grant::Charge;

pub(super) fn run<'p>(
    window: &'p Window,
    cx: &mut Cx<'_>,
    rows: &mut Rows<'p>,
    receive: Receive<'_, 'p>,
) -> Result<Flow> {
    let mut buffer = Buffer::new(&window.live, cx);
    run_node(&window.input, cx, rows, &mut |cx, rows| {
        buffer.push(&window.live, cx, rows)?;
        Ok(Flow::More)
    })?;
    let mut results = Vec::with_capacity(window.calls.len());
    let mut order: Vec<usize> = (0..buffer.len()).collect();
    for call in &window.calls {
        let input = Input::read(window, call, &buffer, cx, rows)?;
        order = input.order.clone();
        results.push(input.compute(call, cx)?);
    }
    for i in order {
        buffer.restore(i, &window.live, cx, rows);
        for (call, values) in window.calls.iter().zip(&results) {
            cx.registers[call.register.index()].clone_from(&values[i]);
        }
        if receive(cx, rows)? == Flow::Enough {
            return Ok(Flow::Enough);
        }
    }
    Ok(Flow::More)
}

/// The input of one window function call.
pub struct Input {
    /// Row numbers, sorted by partition and order.
    pub order: Vec<usize>,
    /// Partition keys, by row number.
    pub partitions: Keys,
    /// Encoded ORDER BY keys, by row number.
    pub sorts: Keys,
    /// Evaluated arguments, by row number.
    pub arguments: Vec<Vec<Value>>,
    /// Memory charged to the query's grant.
    pub _charge: Charge,
}

impl Input {
    fn read<'p>(
        window: &Window,
        call: &WindowCall,
        buffer: &Buffer<'p>,
        cx: &mut Cx<'_>,
        rows: &mut Rows<'p>,
    ) -> Result<Self> {
        let mut partitions = Keys::default();
        let mut sorts = Keys::default();
        let mut arguments: Vec<Vec<Value>> = Vec::with_capacity(buffer.len());
        let mut charge = cx.session.accounting.grant.charge(0);
        for i in 0..buffer.len() {
            buffer.restore(i, &window.live, cx, rows);
            partitions.push(|out| -> Result<()> {
                for expr in &call.partition {
                    let value = eval(expr, cx)?;
                    group_key(&value, expr.ty.collation, out);
                }
                Ok(())
            })?;
            sorts.push(|out| encode_sort(&call.order, cx, out))?;
            charge.add(partitions.last_size() + sorts.last_size())?;
            let values = call.arguments.iter().map(|e| eval(e, cx)).collect::<Result<Vec<_>>>()?;
            charge.add_row(values.iter())?;
            arguments.push(values);
        }
        let mut order = order_of(&sorts);
        order.sort_by(|&a, &b| partitions.get(a).cmp(partitions.get(b)));
        Ok(Self { order, partitions, sorts, arguments, _charge: charge })
    }

    /// Returns the result of a call for each row, by row number.
    pub fn compute(&self, call: &WindowCall, cx: &mut Cx<'_>) -> Result<Vec<Value>> {
        let mut values = vec![Value::Null; self.order.len()];
        let mut start = 0;
        while start < self.order.len() {
            let key = self.partitions.get(self.order[start]);
            let rest = &self.order[start..];
            let length =
                rest.iter().position(|&i| self.partitions.get(i) != key).unwrap_or(rest.len());
            self.partition(call, &rest[..length], cx, &mut values)?;
            start += length;
        }
        Ok(values)
    }

    /// Returns, for each position in a partition, the start and end of its peers.
    fn peers(&self, partition: &[usize]) -> Vec<(usize, usize)> {
        let mut peers = Vec::with_capacity(partition.len());
        let mut start = 0;
        while start < partition.len() {
            let key = self.sorts.get(partition[start]);
            let same = partition[start..].iter().take_while(|&&i| self.sorts.get(i) == key).count();
            peers.extend(std::iter::repeat_n((start, start + same), same));
            start += same;
        }
        peers
    }

    fn partition(
        &self,
        call: &WindowCall,
        partition: &[usize],
        cx: &mut Cx<'_>,
        values: &mut [Value],
    ) -> Result<()> {
        let peers = self.peers(partition);
        let mut dense = 0_i64;
        for (at, &i) in partition.iter().enumerate() {
            let (first, end) = peers[at];
            dense += i64::from(at == first);
            values[i] = match call.function {
                WindowFunction::RowNumber => Value::BigInt(number(at) + 1),
                WindowFunction::Rank => Value::BigInt(number(first) + 1),
                WindowFunction::DenseRank => Value::BigInt(dense),
                WindowFunction::PercentRank => Value::Float(share(first, partition.len() - 1)),
                WindowFunction::CumeDist => Value::Float(share(end, partition.len())),
                WindowFunction::Ntile => self.ntile(partition, at, i)?,
                WindowFunction::Lag => self.shifted(call, partition, at, i),
                WindowFunction::Lead => self.shifted(call, partition, at, i),
                WindowFunction::FirstValue | WindowFunction::LastValue => {
                    let (from, to) = frame(call, at, partition.len(), &peers);
                    let rows = &partition[from..to.max(from)];
                    let value = |row: &usize| &self.arguments[*row][0];
                    let wanted =
                        |row: &&usize| call.nulls == Nulls::Respect || !value(row).is_null();
                    let found = match call.function {
                        WindowFunction::FirstValue => rows.iter().find(wanted),
                        _ => rows.iter().rev().find(wanted),
                    };
                    found.map_or(Value::Null, |row| value(row).clone())
                }
                WindowFunction::PercentileCont
                | WindowFunction::PercentileDisc
                | WindowFunction::Aggregate(_) => continue,
            };
        }
        match call.function {
            WindowFunction::Aggregate(function) => {
                self.aggregate(call, function, (partition, &peers), cx, values)
            }
            WindowFunction::PercentileCont | WindowFunction::PercentileDisc => {
                let value = self.percentile(call, partition)?;
                partition.iter().for_each(|&i| values[i].clone_from(&value));
                Ok(())
            }
            _ => Ok(()),
        }
    }

    /// Aggregates over frames. While a frame only grows, as for a running total, each row is added
    /// once; if a row leaves the frame, the frame is aggregated again.
    fn aggregate(
        &self,
        call: &WindowCall,
        function: &AggregateFunction,
        (partition, peers): (&[usize], &[(usize, usize)]),
        cx: &mut Cx<'_>,
        values: &mut [Value],
    ) -> Result<()> {
        let types: Vec<ColumnType> = call.arguments.iter().map(|a| a.ty).collect();
        let mut accumulator = (function.start)(&call.ty, &types);
        let (mut start, mut end) = (0, 0);
        let mut value = accumulator.finish()?;
        for (at, &i) in partition.iter().enumerate() {
            let (from, to) = frame(call, at, partition.len(), peers);
            let to = to.max(from);
            if from != start || to < end {
                accumulator = (function.start)(&call.ty, &types);
                (start, end) = (from, from);
                value = accumulator.finish()?;
            }
            if end < to {
                for &row in &partition[end..to] {
                    accumulator.add(&self.arguments[row])?;
                }
                end = to;
                cx.null_eliminated |= accumulator.saw_null();
                value = accumulator.finish().or_else(|error| soften(error, cx))?;
            }
            values[i].clone_from(&value);
        }
        Ok(())
    }

    /// PERCENTILE_DISC returns one of the partition's sorted values, without NULLs; PERCENTILE_CONT
    /// interpolates between two.
    fn percentile(&self, call: &WindowCall, partition: &[usize]) -> Result<Value> {
        let values = partition.iter().map(|&row| &self.arguments[row]);
        let share = match values.clone().next().and_then(|row| row.first()) {
            Some(Value::Float(share)) if (0.0..=1.0).contains(share) => *share,
            _ => return Err(Msg::InvalidParameter(1, "percentile").into()),
        };
        let values: Vec<&Value> =
            values.filter_map(|row| row.get(1)).filter(|v| !v.is_null()).collect();
        percentile(matches!(call.function, WindowFunction::PercentileCont), share, &values)
    }

    fn ntile(&self, partition: &[usize], at: usize, i: usize) -> Result<Value> {
        let tiles = match self.arguments[i].first() {
            Some(Value::BigInt(n)) if *n > 0 => usize::try_from(*n).unwrap_or(usize::MAX),
            _ => return Err(Msg::NTilePositive.into()),
        };
        let (size, larger) = (partition.len() / tiles, partition.len() % tiles);
        let in_larger = larger * (size + 1);
        let tile =
            if at < in_larger { at / (size + 1) } else { larger + (at - in_larger) / size.max(1) };
        Ok(Value::BigInt(number(tile) + 1))
    }

    fn shifted(&self, call: &WindowCall, partition: &[usize], at: usize, i: usize) -> Value {
        let ahead = matches!(call.function, WindowFunction::Lead);
        let sign = if ahead { 1 } else { -1 };
        let offset = match self.arguments[i].get(1) {
            Some(Value::BigInt(n)) => *n,
            Some(_) | None => 1,
        };
        let default = || self.arguments[i].get(2).cloned().unwrap_or_default();
        if call.nulls == Nulls::Ignore && offset > 0 {
            let value = |row: &usize| &self.arguments[*row][0];
            let steps = usize::try_from(offset - 1).unwrap_or(usize::MAX);
            let wanted = |row: &&usize| !value(row).is_null();
            let found = if ahead {
                partition[at + 1..].iter().filter(wanted).nth(steps)
            } else {
                partition[..at].iter().rev().filter(wanted).nth(steps)
            };
            return found.map_or_else(default, |row| value(row).clone());
        }
        let place = number(at).checked_add(sign * offset).and_then(|p| usize::try_from(p).ok());
        match place.and_then(|p| partition.get(p)) {
            Some(&row) => self.arguments[row][0].clone(),
            None => default(),
        }
    }
}

fn number(place: usize) -> i64 {
    i64::try_from(place).unwrap_or(i64::MAX)
}

#[expect(clippy::cast_precision_loss, reason = "a ratio of row counts")]
fn share(part: usize, whole: usize) -> f64 {
    if whole == 0 { 0.0 } else { part as f64 / whole as f64 }
}

/// Returns the rows of a frame, as positions in the partition.
fn frame(call: &WindowCall, at: usize, length: usize, peers: &[(usize, usize)]) -> (usize, usize) {
    let default = WindowFrame {
        rows: false,
        start: FrameBound::UnboundedPreceding,
        end: FrameBound::CurrentRow,
    };
    let frame = match &call.frame {
        Some(frame) => frame,
        None if call.order.is_empty() => return (0, length),
        None => &default,
    };
    let steps = |n: u64| usize::try_from(n).unwrap_or(usize::MAX);
    let from = match frame.start {
        FrameBound::UnboundedPreceding => 0,
        FrameBound::Preceding(n) => at.saturating_sub(steps(n)),
        FrameBound::CurrentRow if frame.rows => at,
        FrameBound::CurrentRow => peers[at].0,
        FrameBound::Following(n) => at.saturating_add(steps(n)),
        FrameBound::UnboundedFollowing => length,
    };
    let to = match frame.end {
        FrameBound::UnboundedPreceding => 0,
        FrameBound::Preceding(n) => (at + 1).saturating_sub(steps(n)),
        FrameBound::CurrentRow if frame.rows => at + 1,
        FrameBound::CurrentRow => peers[at].1,
        FrameBound::Following(n) => at.saturating_add(steps(n)).saturating_add(1),
        FrameBound::UnboundedFollowing => length,
    };
    (from.min(length), to.min(length))
}
