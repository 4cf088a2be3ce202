//! GROUP BY and aggregates: a hash table from key to accumulators, one per grouping set.

use crate::long::{group_key, is_long, until_cancelled};
use sos::ledger::{self, Label};
use types::value::ColumnType;
use types::{Result, Value};

use super::buffer::Keys;
use super::sort::{encode_sort, order_of};
use super::{ENTRY_BYTES, Flow, Receive, Rows, run as run_node};
use crate::Cx;
use crate::arithmetic::soften;
use crate::eval::{eval, truth};
use crate::fault;
use crate::spread::{SpreadMap, SpreadSet};
use plan::function::Accumulator;
use plan::long::FreedInPieces;
use plan::query::{Aggregate, AggregateCall};
use session::grant::Charge;

/// Bytes of one aggregate's state with its accumulator, without what grows with the values.
pub const STATE_BYTES: usize = 160;

/// One aggregate of one group.
pub struct State {
    accumulator: Box<dyn Accumulator>,
    /// Whether it has overflowed and is NULL, as the session's options allow.
    made_null: bool,
    /// Encoded arguments seen so far, for DISTINCT.
    seen: Option<SpreadSet<Box<[u8]>>>,
    /// Arguments to be sorted before aggregation, for WITHIN GROUP.
    kept: Option<(Keys, FreedInPieces<Vec<Value>>)>,
}

impl State {
    /// Makes the state before the first row.
    pub fn new(call: &AggregateCall) -> Self {
        let types: Vec<ColumnType> = call.arguments.iter().map(|a| a.ty).collect();
        Self {
            accumulator: (call.function.start)(&call.ty, &types),
            made_null: false,
            seen: call.distinct.then(SpreadSet::new),
            kept: (!call.order.is_empty()).then(Default::default),
        }
    }

    /// Adds the arguments of the current row.
    pub fn add(
        &mut self,
        call: &AggregateCall,
        cx: &mut Cx<'_>,
        charge: &mut Charge,
    ) -> Result<()> {
        if let Some(filter) = &call.filter
            && !truth(filter, cx)?.is_true()
        {
            return Ok(());
        }
        let mut arguments = std::mem::take(&mut cx.scratch.arguments);
        arguments.clear();
        let added = (|| {
            for argument in &call.arguments {
                arguments.push(eval(argument, cx)?);
            }
            if let Some(seen) = &mut self.seen {
                let mut key = Vec::new();
                for (value, expr) in arguments.iter().zip(&call.arguments) {
                    group_key(value, expr.ty.collation, &mut key, &cx.session.connection.cancel)?;
                }
                let bytes = key.len() + ENTRY_BYTES;
                if !seen.insert(key.into()) {
                    return Ok(());
                }
                charge.add(bytes)?;
            }
            match &mut self.kept {
                Some((keys, rows)) => {
                    keys.push(|out| encode_sort(&call.order, cx, out))?;
                    charge.add(keys.last_size())?;
                    charge.add_row(arguments.iter())?;
                    rows.push(arguments.clone());
                    Ok(())
                }
                None if arguments.iter().any(is_long) => {
                    let cancel = &cx.session.connection.cancel;
                    until_cancelled(cancel, || self.accumulator.add(&arguments))
                }
                None => self.accumulator.add(&arguments),
            }
        })();
        cx.scratch.arguments = arguments;
        added.or_else(|error| {
            soften(error, cx)?;
            self.made_null = true;
            Ok(())
        })
    }

    /// Returns the aggregate's value.
    pub fn finish(&mut self, cx: &mut Cx<'_>) -> Result<Value> {
        if let Some((keys, rows)) = &mut self.kept {
            for i in order_of(keys, cx)? {
                fault::row_passed(cx)?;
                // Each row is freed here, and not all of them at once when the state is dropped.
                self.accumulator.add(&std::mem::take(&mut rows[i]))?;
            }
        }
        cx.null_eliminated |= self.accumulator.saw_null();
        if self.made_null {
            return Ok(Value::Null);
        }
        self.accumulator.finish().or_else(|error| soften(error, cx))
    }
}

struct Group {
    keys: Vec<Value>,
    states: Vec<State>,
}

pub(super) fn run<'p>(
    aggregate: &'p Aggregate,
    cx: &mut Cx<'_>,
    rows: &mut Rows<'p>,
    receive: Receive<'_, 'p>,
) -> Result<Flow> {
    let sets = if aggregate.sets.is_empty() { &[Vec::new()][..] } else { &aggregate.sets[..] };
    let mut groups: Vec<Vec<Group>> = sets.iter().map(|_| Vec::new()).collect();
    let mut places: Vec<SpreadMap<Box<[u8]>, usize>> =
        sets.iter().map(|_| SpreadMap::new()).collect();
    let mut charge = cx.session.accounting.grant.charge(0);
    let mut values = Vec::with_capacity(aggregate.keys.len());
    let mut key = Vec::new();
    run_node(&aggregate.input, cx, rows, &mut |cx, _| {
        // Set per row, because the input runs in between: two stores, beside a hash table look-up.
        let _label = ledger::labelled(Label::Aggregate);
        values.clear();
        for (expr, _) in &aggregate.keys {
            values.push(eval(expr, cx)?);
        }
        for (s, set) in sets.iter().enumerate() {
            key.clear();
            for &k in set {
                let (expr, _) = &aggregate.keys[usize::from(k)];
                group_key(
                    &values[usize::from(k)],
                    expr.ty.collation,
                    &mut key,
                    &cx.session.connection.cancel,
                )?;
            }
            let place = match places[s].get(key.as_slice()) {
                Some(&place) => place,
                None => {
                    charge.add_row(values.iter())?;
                    charge
                        .add(key.len() + ENTRY_BYTES + aggregate.aggregates.len() * STATE_BYTES)?;
                    groups[s].push(new_group(aggregate, set, &values));
                    places[s].insert(key.as_slice().into(), groups[s].len() - 1);
                    groups[s].len() - 1
                }
            };
            for (state, call) in groups[s][place].states.iter_mut().zip(&aggregate.aggregates) {
                state.add(call, cx, &mut charge)?;
            }
        }
        Ok(Flow::More)
    })?;
    let _label = ledger::labelled(Label::Aggregate);
    let empty: Vec<Value> = aggregate.keys.iter().map(|_| Value::Null).collect();
    for (s, set) in sets.iter().enumerate() {
        if groups[s].is_empty() && (aggregate.scalar || set.is_empty()) {
            groups[s].push(new_group(aggregate, set, &empty));
        }
        for group in &mut groups[s] {
            give(aggregate, set, group, cx)?;
            if receive(cx, rows)? == Flow::Enough {
                return Ok(Flow::Enough);
            }
        }
    }
    Ok(Flow::More)
}

fn new_group(aggregate: &Aggregate, set: &[u16], values: &[Value]) -> Group {
    let mut keys: Vec<Value> = values.iter().map(|_| Value::Null).collect();
    for &k in set {
        keys[usize::from(k)].clone_from(&values[usize::from(k)]);
    }
    Group { keys, states: aggregate.aggregates.iter().map(State::new).collect() }
}

/// Stores a group's key and results in the registers.
fn give(aggregate: &Aggregate, set: &[u16], group: &mut Group, cx: &mut Cx<'_>) -> Result<()> {
    for ((_, register), value) in aggregate.keys.iter().zip(&mut group.keys) {
        cx.registers[register.index()] = std::mem::take(value);
    }
    for (call, state) in aggregate.aggregates.iter().zip(&mut group.states) {
        cx.registers[call.register.index()] = state.finish(cx)?;
    }
    if let Some(register) = aggregate.grouping_id {
        let absent = |k: u16| i32::from(!set.contains(&k));
        let count = u16::try_from(aggregate.keys.len()).expect("the number of a key fits 16 bits");
        let mask = (0..count).fold(0, |mask, k| mask << 1 | absent(k));
        cx.registers[register.index()] = Value::Int(mask);
    }
    Ok(())
}
