//! Window functions: buffers the input, sorts it for each call by partition and order, stores the
//! results beside the buffered rows, and returns the rows in the order of the last call.

use crate::long::group_key;
use sos::sched::Pace;
use types::bytes::INLINE_MAX;
use types::percentile::percentile;
use types::value::ColumnType;
use types::{Msg, Result, Value};

use super::buffer::{Buffer, Keys};
use super::sort::{encode_sort, order_of, sort_by_keys};
use super::{Flow, Receive, Rows, run as run_node};
use crate::Cx;
use crate::arithmetic::soften;
use crate::eval::eval;
use crate::fault;
use plan::function::AggregateFunction;
use plan::long::FreedInPieces;
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
    let mut results: Vec<Results> = Vec::with_capacity(window.calls.len());
    let mut order: Vec<usize> = (0..buffer.len()).collect();
    for call in &window.calls {
        let input = Input::read(window, call, &buffer, cx, rows)?;
        order = input.order.clone();
        results.push(input.compute(call, cx)?);
    }
    for i in order {
        buffer.restore(i, &window.live, cx, rows);
        for (call, values) in window.calls.iter().zip(&results) {
            cx.registers[call.register.index()].clone_from(&values.values[i]);
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
    pub arguments: FreedInPieces<Vec<Value>>,
    /// Memory charged to the query's grant.
    pub _charge: Charge,
}

/// The results of one call.
pub struct Results {
    /// A value for each row, by row number.
    pub values: FreedInPieces<Value>,
    /// Memory charged to the query's grant.
    charge: Charge,
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
        let mut arguments = FreedInPieces(Vec::with_capacity(buffer.len()));
        let mut charge = cx.session.accounting.grant.charge(0);
        for i in 0..buffer.len() {
            buffer.restore(i, &window.live, cx, rows);
            partitions.push(|out| -> Result<()> {
                for expr in &call.partition {
                    let value = eval(expr, cx)?;
                    group_key(&value, expr.ty.collation, out, &cx.session.connection.cancel)?;
                }
                Ok(())
            })?;
            sorts.push(|out| encode_sort(&call.order, cx, out))?;
            charge.add(partitions.last_size() + sorts.last_size())?;
            let values = call.arguments.iter().map(|e| eval(e, cx)).collect::<Result<Vec<_>>>()?;
            charge.add_row(values.iter())?;
            arguments.push(values);
        }
        let mut order = order_of(&sorts, cx)?;
        sort_by_keys(&mut order, &partitions, cx)?;
        Ok(Self { order, partitions, sorts, arguments, _charge: charge })
    }

    /// Returns the result of a call for each row, by row number.
    ///
    /// # Errors
    /// Those of the function; 701 if there is no memory for the results.
    pub fn compute(&self, call: &WindowCall, cx: &mut Cx<'_>) -> Result<Results> {
        let charge = cx.session.accounting.grant.charge(0);
        let values = FreedInPieces(vec![Value::Null; self.order.len()]);
        let mut results = Results { values, charge };
        results.charge.add(self.order.len() * size_of::<Value>())?;
        let (mut start, mut pace) = (0, Pace::new());
        while start < self.order.len() {
            fault::row_passed(cx)?;
            let key = self.partitions.get(self.order[start]);
            let rest = &self.order[start..];
            // The keys are anywhere in memory: a million of them take a tenth of a second.
            let is_next = |&i: &usize| {
                pace.tick();
                self.partitions.get(i) != key
            };
            let length = rest.iter().position(is_next).unwrap_or(rest.len());
            self.partition(call, &rest[..length], cx, &mut results)?;
            start += length;
        }
        Ok(results)
    }

    /// Returns, for each position in a partition, the start and end of its peers.
    fn peers(&self, partition: &[usize]) -> Vec<(usize, usize)> {
        let mut peers = Vec::with_capacity(partition.len());
        let mut pace = Pace::new();
        let mut start = 0;
        while start < partition.len() {
            let key = self.sorts.get(partition[start]);
            let is_peer = |&&i: &&usize| {
                pace.tick();
                self.sorts.get(i) == key
            };
            let same = partition[start..].iter().take_while(is_peer).count();
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
        results: &mut Results,
    ) -> Result<()> {
        let values = &mut results.values;
        let peers = self.peers(partition);
        let solid = self.solid(call, partition);
        let mut dense = 0_i64;
        for (at, &i) in partition.iter().enumerate() {
            fault::row_passed(cx)?;
            let (first, end) = peers[at];
            dense += i64::from(at == first);
            values[i] = match call.function {
                WindowFunction::RowNumber => Value::BigInt(number(at) + 1),
                WindowFunction::Rank => Value::BigInt(number(first) + 1),
                WindowFunction::DenseRank => Value::BigInt(dense),
                WindowFunction::PercentRank => Value::Float(share(first, partition.len() - 1)),
                WindowFunction::CumeDist => Value::Float(share(end, partition.len())),
                WindowFunction::Ntile => self.ntile(partition, at, i)?,
                WindowFunction::Lag | WindowFunction::Lead => {
                    self.shifted(call, (partition, &solid), at, i)
                }
                WindowFunction::FirstValue | WindowFunction::LastValue => {
                    let (from, to) = frame(call, at, partition.len(), &peers);
                    let is_first = matches!(call.function, WindowFunction::FirstValue);
                    let places = from..to.max(from);
                    let found = match call.nulls {
                        Nulls::Respect if is_first => places.clone().next(),
                        Nulls::Respect => places.clone().next_back(),
                        Nulls::Ignore if is_first => {
                            solid.get(solid.partition_point(|&place| place < from)).copied()
                        }
                        Nulls::Ignore => {
                            let before = solid.partition_point(|&place| place < places.end);
                            before.checked_sub(1).map(|last| solid[last])
                        }
                    };
                    let found = found.filter(|place| places.contains(place));
                    found.map_or(Value::Null, |at| self.arguments[partition[at]][0].clone())
                }
                WindowFunction::PercentileCont
                | WindowFunction::PercentileDisc
                | WindowFunction::Aggregate(_) => continue,
            };
        }
        match call.function {
            WindowFunction::Aggregate(function) => {
                self.aggregate(call, function, (partition, &peers), cx, results)
            }
            WindowFunction::PercentileCont | WindowFunction::PercentileDisc => {
                let value = self.percentile(call, partition)?;
                partition.iter().for_each(|&i| values[i].clone_from(&value));
                Ok(())
            }
            _ => Ok(()),
        }
    }

    /// Returns the positions of the values that are not NULL, in order, for a call that skips NULLs.
    fn solid(&self, call: &WindowCall, partition: &[usize]) -> Vec<usize> {
        if call.nulls == Nulls::Respect {
            return Vec::new();
        }
        let value = |at: &usize| self.arguments[partition[*at]].first();
        let mut pace = Pace::new();
        let is_solid = |at: &usize| {
            pace.tick();
            value(at).is_some_and(|value| !value.is_null())
        };
        (0..partition.len()).filter(is_solid).collect()
    }

    /// Aggregates over frames. While a frame grows at its end and loses rows at its start, as a running
    /// total or a moving average does, each row is added once and removed once. An aggregate
    /// that cannot remove a row, such as a sum of floats, is computed again for each frame.
    fn aggregate(
        &self,
        call: &WindowCall,
        function: &AggregateFunction,
        (partition, peers): (&[usize], &[(usize, usize)]),
        cx: &mut Cx<'_>,
        results: &mut Results,
    ) -> Result<()> {
        let Results { values, charge } = results;
        let types: Vec<ColumnType> = call.arguments.iter().map(|a| a.ty).collect();
        let begin = || {
            let mut accumulator = (function.start)(&call.ty, &types);
            let slides = accumulator.slide();
            (accumulator, slides)
        };
        let (mut accumulator, slides) = begin();
        let (mut start, mut end) = (0, 0);
        let mut value = accumulator.finish()?;
        for (at, &i) in partition.iter().enumerate() {
            fault::row_passed(cx)?;
            let (from, to) = frame(call, at, partition.len(), peers);
            let to = to.max(from);
            let moves_on = slides && start <= from && from <= end && end <= to;
            if !moves_on && (from != start || to < end) {
                (accumulator, _) = begin();
                (start, end) = (from, from);
                value = accumulator.finish()?;
            }
            if start < from {
                for &row in &partition[start..from] {
                    accumulator.remove_first(&self.arguments[row])?;
                }
                start = from;
                if end == to {
                    value = accumulator.finish().or_else(|error| soften(error, cx))?;
                }
            }
            if end < to {
                for &row in &partition[end..to] {
                    // A frame that is computed again for each row has many.
                    fault::row_passed(cx)?;
                    accumulator.add(&self.arguments[row])?;
                }
                end = to;
                cx.null_eliminated |= accumulator.saw_null();
                value = accumulator.finish().or_else(|error| soften(error, cx))?;
            }
            // What is outside of the value: the text of a frame, which no other row has.
            let outside = value.string_bytes().filter(|bytes| bytes.len() > INLINE_MAX);
            charge.add(outside.map_or(0, <[u8]>::len))?;
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
        let mut pace = Pace::new();
        let second = |row: &&Vec<Value>| {
            pace.tick();
            row.get(1).is_some_and(|value| !value.is_null())
        };
        let values: Vec<&Value> = values.filter(second).filter_map(|row| row.get(1)).collect();
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

    fn shifted(
        &self,
        call: &WindowCall,
        (partition, solid): (&[usize], &[usize]),
        at: usize,
        i: usize,
    ) -> Value {
        let ahead = matches!(call.function, WindowFunction::Lead);
        let sign = if ahead { 1 } else { -1 };
        let offset = match self.arguments[i].get(1) {
            Some(Value::BigInt(n)) => *n,
            Some(_) | None => 1,
        };
        let default = || self.arguments[i].get(2).cloned().unwrap_or_default();
        if call.nulls == Nulls::Ignore && offset > 0 {
            let steps = usize::try_from(offset - 1).unwrap_or(usize::MAX);
            let place = if ahead {
                solid.partition_point(|&place| place <= at).checked_add(steps)
            } else {
                let before = solid.partition_point(|&place| place < at);
                before.checked_sub(1).and_then(|last| last.checked_sub(steps))
            };
            let found = place.and_then(|place| solid.get(place));
            return found.map_or_else(default, |&at| self.arguments[partition[at]][0].clone());
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
