//! GROUP BY and aggregates: for each grouping set a hash table of keys, and accumulators by group
//! number.
//!
//! The aggregates of `total.rs` have typed loops; any other uses the row executor's accumulator,
//! one per group, fed row by row.

use std::ops::Range;

use sos::ledger::{self, Label};
use types::batch::{BATCH_ROWS, Batch, Selection, Vector};
use types::value::ColumnType;
use types::{DataType, Result, Value};

use super::bound::Bound;
use super::interner::Unknown;
use super::kernel::{Kernel, cannot_fail};
use super::keys::{KeyRows, Keys, NullKeys};
use super::long_keys::with_keys;
use super::parallel::{Desk, Help, Tables, lead, pieces_of_aggregate};
use super::pushdown::Pushdown;
use super::restrict::Restriction;
use super::simplify::{converted_column, sum_apart, telling_keys, without_widening};
use super::table::KeyTable;
use super::total::{Groups, Totals};
use super::{Flow, Input, Operator, Receive, Rows, Stage, compile, stream, with};
use executor::grant::Charge;
use executor::parallel::{Region, Role};
use executor::query::{RowState, STATE_BYTES};
use executor::{Cx, fault};
use plan::expr::{Expr, ExprKind, Register};
use plan::query::{Aggregate, AggregateCall};
use plan::walk::{self, Registers};

/// A hash aggregate: its input, and the stage that collects batches.
pub(super) struct Grouping<'p> {
    aggregate: &'p Aggregate,
    input: Input<'p>,
    layout: Vec<Register>,
    stage: Collect<'p>,
    /// The bound of a sort above, on the result of a call.
    bound: Option<(usize, Bound)>,
}

/// Adds each batch of the input to the groups.
struct Collect<'p> {
    keys: Vec<Kernel<'p>>,
    calls: Vec<Call<'p>>,
    sets: Vec<Set>,
    /// An error of an accumulator. The batch is partly added, so it must not be repeated row by
    /// row.
    broken: Option<types::Error>,
    /// The groups' share of the query's memory grant: typed accumulators, and those fed row by row.
    charges: Option<(Charge, Charge)>,
}

/// An aggregate call and the kernels of its arguments.
struct Call<'p> {
    call: &'p AggregateCall,
    filter: Option<Kernel<'p>>,
    arguments: Vec<Kernel<'p>>,
    types: Vec<ColumnType>,
    /// For a call fed row by row: the columns and registers that it reads.
    loads: Option<Vec<(usize, Register)>>,
    /// Of a SUM, the number that is added to each value; the arguments are without it.
    added: i64,
    /// An earlier call with the same accumulators: a SUM or an AVG of the same values.
    twin: Option<usize>,
}

/// A grouping set and its groups.
struct Set {
    /// Positions of its keys among all keys.
    on: Vec<usize>,
    /// Positions in `on` of the keys that tell groups apart: the others are computed from them.
    telling: Vec<usize>,
    keys: Keys,
    table: KeyTable,
    /// The values of its keys, one row per group.
    values: Vec<Vector>,
    groups: usize,
    states: Vec<State>,
    /// By call: see [`Call::added`].
    added: Vec<i64>,
    key_rows: KeyRows,
    found: Vec<u32>,
    /// The group number of each row of the batch.
    numbers: Vec<u32>,
}

/// The accumulators of one call, for all groups.
enum State {
    Typed(Totals, Option<Box<FirstOfGroup>>),
    Rows(Vec<RowState>),
    /// Those of an earlier call: see [`Call::twin`].
    Twin(usize),
}

/// Greatest size of a typed accumulator, in bytes.
const TOTAL_BYTES: usize = 32;

/// DISTINCT: the arguments seen so far in each group.
struct FirstOfGroup {
    /// Whether there is one group: its number is then no part of the keys.
    is_single: bool,
    keys: Keys,
    table: KeyTable,
    rows: KeyRows,
    words: Vec<u64>,
    found: Vec<u32>,
}

impl<'p> Grouping<'p> {
    pub(super) fn new(aggregate: &'p Aggregate) -> Self {
        let mut read = with(&Registers::default(), aggregate.keys.iter().map(|key| &key.0));
        for call in &aggregate.aggregates {
            let order = call.order.iter().map(|key| &key.expr);
            read = with(&read, call.arguments.iter().chain(&call.filter).chain(order));
        }
        let input = compile(&aggregate.input, &read);
        let keys = aggregate.keys.iter().map(|key| Kernel::new(&key.0, input.layout())).collect();
        let mut calls: Vec<Call<'p>> =
            aggregate.aggregates.iter().map(|call| Call::new(call, input.layout())).collect();
        find_twins(&mut calls);
        let whole = [Vec::new()];
        let sets = if aggregate.sets.is_empty() { &whole[..] } else { &aggregate.sets[..] };
        let sets = sets.iter().map(|set| Set::new(aggregate, set, &calls)).collect();
        let mut layout: Vec<Register> = aggregate.keys.iter().map(|key| key.1).collect();
        layout.extend(aggregate.aggregates.iter().map(|call| call.register));
        layout.extend(aggregate.grouping_id);
        Self {
            aggregate,
            input,
            layout,
            stage: Collect { keys, calls, sets, broken: None, charges: None },
            bound: None,
        }
    }
}

impl<'p> Call<'p> {
    fn new(call: &'p AggregateCall, layout: &[Register]) -> Self {
        let mut arguments: Vec<&Expr> = match call.function.name {
            // The typed sum is as wide as possible anyway.
            "SUM" | "AVG" => call.arguments.iter().map(without_widening).collect(),
            _ => call.arguments.iter().collect(),
        };
        let mut added = 0;
        if let ("SUM", false, [argument]) = (call.function.name, call.distinct, &mut arguments[..])
            && let Some((values, number)) = sum_apart(argument)
        {
            (*argument, added) = (values, number);
        }
        let types: Vec<ColumnType> = arguments.iter().map(|argument| argument.ty).collect();
        let is_typed = call.order.is_empty()
            && Totals::new(call.function.name, types.first(), &call.ty).is_some();
        if is_typed {
            let filter = call.filter.as_ref().map(|filter| Kernel::new(filter, layout));
            let arguments = arguments.into_iter().map(|e| Kernel::new(e, layout)).collect();
            return Self { call, filter, arguments, types, loads: None, added, twin: None };
        }
        let mut read = with(&Registers::default(), call.arguments.iter().chain(&call.filter));
        call.order.iter().for_each(|key| read.extend(&walk::reads(&key.expr)));
        let loads = layout.iter().copied().enumerate().filter(|c| read.contains(c.1)).collect();
        let (filter, arguments, twin) = (None, Vec::new(), None);
        Self { call, filter, arguments, types, loads: Some(loads), added: 0, twin }
    }

    /// Returns true if a group may be dropped unnoticed: the call can't fail and never warns of
    /// NULLs.
    fn cannot_fail(&self) -> bool {
        let is_bounded = match (self.call.function.name, self.types.first()) {
            ("COUNT" | "COUNT_BIG" | "MIN" | "MAX", _) => true,
            ("SUM" | "AVG", Some(ty)) => {
                matches!(ty.data_type, DataType::Decimal { precision: 0..=18, .. })
            }
            _ => false,
        };
        let are_known = self.types.iter().all(|ty| !ty.nullable)
            && self.call.arguments.iter().all(|argument| cannot_fail(without_widening(argument)));
        is_bounded && are_known && self.loads.is_none() && self.call.filter.is_none()
    }

    /// Returns whether this is a SUM of all rows with typed accumulators.
    fn is_plain_sum(&self) -> bool {
        self.call.function.name == "SUM" && self.is_of_all_rows()
    }

    /// Returns whether this has typed accumulators, to which the argument of every row is added.
    fn is_of_all_rows(&self) -> bool {
        let is_whole = !self.call.distinct && self.filter.is_none() && self.call.filter.is_none();
        is_whole && self.loads.is_none()
    }

    /// Returns the column that this is the SUM or the AVG of.
    fn summed_column(&self) -> Option<Register> {
        let is_sum = matches!(self.call.function.name, "SUM" | "AVG") && self.is_of_all_rows();
        match &self.call.arguments[..] {
            [argument] if is_sum => match without_widening(argument).kind {
                ExprKind::Column(register) => Some(register),
                _ => None,
            },
            _ => None,
        }
    }

    /// Makes its accumulators, for one group or for many.
    fn state(&self, is_single: bool) -> State {
        if let Some(twin) = self.twin {
            return State::Twin(twin);
        }
        let name = self.call.function.name;
        match Totals::new(name, self.types.first(), &self.call.ty) {
            Some(totals) if self.loads.is_none() => State::Typed(
                totals,
                self.call.distinct.then(|| Box::new(FirstOfGroup::new(&self.types, is_single))),
            ),
            _ => State::Rows(Vec::new()),
        }
    }
}

/// The groups of one worker, from its part of the input.
pub(super) struct Partial {
    sets: Vec<PartialSet>,
    /// Their share of the query's memory grant.
    _charges: Option<(Charge, Charge)>,
}

/// The groups of one grouping set: keys and totals by group number.
struct PartialSet {
    values: Vec<Vector>,
    groups: usize,
    /// By call; `None` for one whose totals are those of an earlier call.
    totals: Vec<Option<Totals>>,
}

/// The work of a helper: collects its part of the input into separate groups.
struct Collecting<'p>(&'p Aggregate);

impl<'p> Help<'p> for Collecting<'p> {
    type Out = Partial;

    fn help<'h>(&self, cx: &mut Cx<'_>, rows: &mut Rows<'h>, desk: &Desk<'_>) -> Result<Partial>
    where
        'p: 'h,
    {
        let mut grouping: Grouping<'h> = Grouping::new(self.0);
        grouping.input.adopt(desk.tables);
        grouping.collect(cx, rows)?;
        let typed = |state: State| match state {
            State::Typed(totals, _) => Some(totals),
            State::Twin(_) => None,
            State::Rows(_) => unreachable!("what is merged is typed"),
        };
        let partial = |set: Set| PartialSet {
            values: set.values,
            groups: set.groups,
            totals: set.states.into_iter().map(typed).collect(),
        };
        let Collect { sets, charges, .. } = grouping.stage;
        Ok(Partial { sets: sets.into_iter().map(partial).collect(), _charges: charges })
    }
}

impl<'p> Grouping<'p> {
    /// Reads the input and collects its groups.
    fn collect(&mut self, cx: &mut Cx<'_>, rows: &mut Rows<'p>) -> Result<()> {
        let Self { aggregate, input, stage, .. } = self;
        let pushdown = Pushdown::of(aggregate);
        if let Some(pushdown) = &pushdown {
            input.summarize(pushdown);
        }
        input.run(cx, rows, &mut |cx, rows, batch| {
            stream(stage, batch, cx, rows, &mut |_, _, _| Ok(Flow::More))
        })?;
        if let Some(pushdown) = &pushdown {
            stage.add_summaries(&pushdown.borrow());
        }
        Ok(())
    }

    /// Reads the input with helpers, and merges their groups.
    fn collect_in_parallel(
        &mut self,
        region: Region,
        cx: &mut Cx<'_>,
        rows: &mut Rows<'p>,
    ) -> Result<()> {
        let mut tables = Tables::new();
        self.input.open(cx, rows, &mut tables)?;
        let mut pieces = Vec::new();
        pieces_of_aggregate(self.aggregate, &mut |piece| pieces.push(piece));
        let help = Collecting(self.aggregate);
        let led = lead(region, (&pieces, tables), &help, cx, rows, &mut |cx, rows, _, _| {
            self.collect(cx, rows).map(|()| Flow::More)
        })?;
        let Some((_, partials)) = led else { return self.collect(cx, rows) };
        for partial in partials {
            for (set, partial) in self.stage.sets.iter_mut().zip(partial.sets) {
                fault::batch_passed(cx)?;
                set.merge(partial)?;
            }
            let memory = self.stage.sets.iter().map(Set::memory).sum();
            if let Some((charge, _)) = &mut self.stage.charges {
                charge.set(memory)?;
            }
        }
        Ok(())
    }
}

/// Finds the calls of SUM that add the same values as an earlier one, but for [`Call::added`].
fn find_twins(calls: &mut [Call<'_>]) {
    let summed = |call: &Call<'_>| match &call.call.arguments[..] {
        [argument] if call.is_plain_sum() && argument.ty.data_type == DataType::Int => {
            let values = sum_apart(argument).map_or(argument, |(values, _)| values);
            converted_column(values)
        }
        _ => None,
    };
    for place in 1..calls.len() {
        let (before, rest) = calls.split_at_mut(place);
        rest[0].twin = if let Some(column) = summed(&rest[0]) {
            before.iter().position(|call| summed(call) == Some(column))
        } else if let Some(column) = rest[0].summed_column() {
            before.iter().position(|call| call.summed_column() == Some(column))
        } else {
            None
        };
    }
}

/// The evaluated expressions of a call, for one batch.
struct Evaluated<'a> {
    /// The rows that pass FILTER; `None` for all.
    filtered: Option<Selection>,
    arguments: Vec<&'a Vector>,
}

impl Collect<'_> {
    /// Adds the totals that the scan has computed from segments without producing rows.
    fn add_summaries(&mut self, pushdown: &Pushdown) {
        let set = &mut self.sets[0];
        set.groups = 1;
        for (state, summary) in set.states.iter_mut().zip(pushdown.summaries()) {
            match state {
                State::Typed(totals, None) => totals.add_summary(summary),
                State::Twin(_) => {}
                State::Typed(_, Some(_)) | State::Rows(_) => {
                    unreachable!("what can be pushed down is typed, and not DISTINCT")
                }
            }
        }
    }
}

impl<'p> Stage<'p> for Collect<'p> {
    fn prepare(&mut self, batch: &mut Batch, cx: &mut Cx<'_>) -> Result<()> {
        let _label = ledger::labelled(Label::Aggregate);
        let mut keys = Vec::with_capacity(self.keys.len());
        for kernel in &mut self.keys {
            keys.push(kernel.evaluate(batch, &batch.selection, cx)?);
        }
        let mut evaluated = Vec::with_capacity(self.calls.len());
        let mut loads = Vec::with_capacity(self.calls.len());
        for call in &mut self.calls {
            if call.twin.is_some() {
                evaluated.push(Evaluated { filtered: None, arguments: Vec::new() });
                loads.push((call.call, &call.loads));
                continue;
            }
            let mut filtered = None;
            if let Some(filter) = &mut call.filter {
                let mut kept = Selection::default();
                filter.select(batch, &batch.selection, cx, &mut kept)?;
                filtered = Some(kept);
            }
            let rows = filtered.as_ref().unwrap_or(&batch.selection);
            let mut arguments = Vec::with_capacity(call.arguments.len());
            for kernel in &mut call.arguments {
                arguments.push(kernel.evaluate(batch, rows, cx)?);
            }
            evaluated.push(Evaluated { filtered, arguments });
            loads.push((call.call, &call.loads));
        }
        let (charge, row_charge) = self.charges.get_or_insert_with(|| {
            (cx.session.accounting.grant.charge(0), cx.session.accounting.grant.charge(0))
        });
        for set in &mut self.sets {
            with_keys(&keys, &batch.selection, cx, || set.number(&keys, batch))?;
            for ((state, (call, loads)), values) in
                set.states.iter_mut().zip(&loads).zip(&evaluated)
            {
                let selection = values.filtered.as_ref().unwrap_or(&batch.selection);
                let groups = Groups { numbers: &set.numbers, selection, len: set.groups };
                let added = match state {
                    State::Typed(totals, first) => add_typed(totals, first, groups, values, cx),
                    State::Twin(_) => Ok(()),
                    State::Rows(states) => {
                        let loads = loads.as_deref().unwrap_or_default();
                        add_rows(states, (call, loads, &mut *row_charge), groups, batch, cx)
                    }
                };
                if let Err(error) = added {
                    self.broken = Some(error);
                    return Ok(());
                }
            }
        }
        self.broken = charge.set(self.sets.iter().map(Set::memory).sum()).err();
        Ok(())
    }

    fn give(
        &mut self,
        _: &mut Batch,
        _: &mut Cx<'_>,
        _: &mut Rows<'p>,
        _: Receive<'_, 'p>,
    ) -> Result<Flow> {
        self.broken.take().map_or(Ok(Flow::More), Err)
    }
}

fn add_typed(
    totals: &mut Totals,
    first: &mut Option<Box<FirstOfGroup>>,
    groups: Groups<'_>,
    values: &Evaluated<'_>,
    cx: &Cx<'_>,
) -> Result<()> {
    let arguments = &values.arguments;
    let argument = arguments.first().copied();
    let Some(first) = first else { return totals.add(groups, argument) };
    let kept = with_keys(arguments, groups.selection, cx, || first.new_rows(arguments, groups))?;
    totals.add(Groups { selection: &kept, ..groups }, argument)
}

fn add_rows(
    states: &mut Vec<RowState>,
    (call, loads, charge): (&AggregateCall, &[(usize, Register)], &mut Charge),
    groups: Groups<'_>,
    batch: &Batch,
    cx: &mut Cx<'_>,
) -> Result<()> {
    states.resize_with(groups.len, || RowState::new(call));
    groups.selection.try_for_each(|row| {
        for (column, register) in loads {
            cx.registers[register.index()] = batch.columns[*column].get(row);
        }
        states[groups.numbers[row] as usize].add(call, cx, charge)
    })
}

impl State {
    fn memory(&self, groups: usize) -> usize {
        match self {
            Self::Typed(_, first) => {
                let seen = |f: &FirstOfGroup| f.keys.memory() + f.table.memory();
                groups * TOTAL_BYTES + first.as_deref().map_or(0, seen)
            }
            Self::Rows(_) => groups * STATE_BYTES,
            Self::Twin(_) => 0,
        }
    }
}

impl FirstOfGroup {
    fn new(types: &[ColumnType], is_single: bool) -> Self {
        let keys = Keys::new(types, NullKeys::Equal);
        let table = KeyTable::new(keys.width() + usize::from(!is_single));
        let (rows, words, found) = (KeyRows::default(), Vec::new(), Vec::new());
        Self { is_single, keys, table, rows, words, found }
    }

    /// Returns the rows whose arguments are new in their group.
    fn new_rows(&mut self, arguments: &[&Vector], groups: Groups<'_>) -> Selection {
        self.keys.widen(arguments, &mut self.table);
        self.keys.encode(arguments, groups.selection, Unknown::Add, &mut self.rows);
        let mut next = u32::try_from(self.table.len()).unwrap_or(u32::MAX);
        self.found.clear();
        if self.is_single {
            self.table.insert_all(&self.rows.words, self.rows.rows, &mut self.found);
        } else {
            self.words.clear();
            let mut keys = self.rows.words.chunks_exact(self.keys.width().max(1));
            for row in groups.selection.iter() {
                self.words.push(u64::from(groups.numbers[row]));
                self.words.extend_from_slice(keys.next().unwrap_or_default());
            }
            self.table.insert_all(&self.words, self.rows.rows, &mut self.found);
        }
        let mut kept = Selection::default();
        kept.clear();
        for (row, number) in groups.selection.iter().zip(&self.found) {
            if *number == next {
                next += 1;
                kept.push(row);
            }
        }
        kept
    }
}

impl Set {
    fn new(aggregate: &Aggregate, set: &[u16], calls: &[Call<'_>]) -> Self {
        let on: Vec<usize> = set.iter().map(|key| usize::from(*key)).collect();
        let types: Vec<ColumnType> = on.iter().map(|key| aggregate.keys[*key].0.ty).collect();
        let exprs: Vec<&Expr> = on.iter().map(|key| &aggregate.keys[*key].0).collect();
        let telling = telling_keys(&exprs);
        let hashed: Vec<ColumnType> = telling.iter().map(|place| types[*place]).collect();
        let keys = Keys::new(&hashed, NullKeys::Equal);
        let table = KeyTable::new(keys.width());
        let is_single = on.is_empty();
        Self {
            on,
            telling,
            keys,
            table,
            values: types.iter().map(Vector::with_capacity_for).collect(),
            groups: 0,
            states: calls.iter().map(|call| call.state(is_single)).collect(),
            added: calls.iter().map(|call| call.added).collect(),
            key_rows: KeyRows::default(),
            found: Vec::new(),
            numbers: Vec::new(),
        }
    }

    /// Returns the memory of the groups, in bytes.
    fn memory(&self) -> usize {
        let values: usize = self.values.iter().map(Vector::memory).sum();
        let states: usize = self.states.iter().map(|state| state.memory(self.groups)).sum();
        self.keys.memory() + self.table.memory() + values + states
    }

    /// Finds the group of each selected row; adds groups for new keys.
    fn number(&mut self, keys: &[&Vector], batch: &Batch) {
        let vectors: Vec<&Vector> = self.on.iter().map(|key| keys[*key]).collect();
        self.number_on(&vectors, batch);
    }

    /// As [`Self::number`], with the vectors of this set's keys only.
    fn number_on(&mut self, vectors: &[&Vector], batch: &Batch) {
        self.numbers.clear();
        self.numbers.resize(batch.rows(), 0);
        if self.on.is_empty() {
            self.groups = 1;
            return;
        }
        let hashed: Vec<&Vector> = self.telling.iter().map(|place| vectors[*place]).collect();
        self.keys.widen(&hashed, &mut self.table);
        self.keys.encode(&hashed, &batch.selection, Unknown::Add, &mut self.key_rows);
        self.found.clear();
        self.table.insert_all(&self.key_rows.words, self.key_rows.rows, &mut self.found);
        let mut new_rows = Vec::new();
        for (row, number) in batch.selection.iter().zip(&self.found) {
            self.numbers[row] = *number;
            if *number as usize == self.groups {
                self.groups += 1;
                new_rows.push(u32::try_from(row).unwrap_or(u32::MAX));
            }
        }
        if !new_rows.is_empty() {
            for (values, vector) in self.values.iter_mut().zip(vectors) {
                values.take(vector, &new_rows);
            }
        }
    }

    /// Merges the groups of another worker.
    fn merge(&mut self, partial: PartialSet) -> Result<()> {
        let PartialSet { values, groups, totals } = partial;
        let mut numbers: Vec<u32> = Vec::with_capacity(groups);
        let mut batch = Batch::new(values.iter().map(|v| Vector::of_type(v.data_type())).collect());
        for first in (0..groups).step_by(BATCH_ROWS) {
            let end = groups.min(first + BATCH_ROWS);
            let rows: Vec<u32> =
                (first..end).map(|row| u32::try_from(row).unwrap_or(u32::MAX)).collect();
            batch.clear();
            for (to, from) in batch.columns.iter_mut().zip(&values) {
                to.take(from, &rows);
            }
            batch.set_rows(rows.len());
            self.number_on(&batch.columns.iter().collect::<Vec<_>>(), &batch);
            numbers.extend_from_slice(&self.numbers);
        }
        for (state, totals) in self.states.iter_mut().zip(totals) {
            match state {
                State::Typed(own, _) => {
                    let totals = totals.expect("both sides of a merge have the same calls");
                    own.merge(totals, &numbers, self.groups)?;
                }
                State::Twin(_) => {}
                State::Rows(_) => unreachable!("what is merged is typed"),
            }
        }
        Ok(())
    }

    /// Adds the single group of an empty input.
    fn add_empty(&mut self) {
        self.groups = 1;
        self.values.iter_mut().for_each(Vector::push_null);
    }

    /// Returns the groups that the sort above needs by its bound; all of them if one of them may raise
    /// an error.
    fn needed(&mut self, bound: Option<&(usize, Bound)>, groups: Range<usize>) -> Vec<u32> {
        let all = groups.clone().map(|group| u32::try_from(group).unwrap_or(u32::MAX));
        let Some((call, bound)) = bound.filter(|(_, bound)| bound.is_set()) else {
            return all.collect();
        };
        for (state, added) in self.states.iter_mut().zip(&self.added) {
            let is_safe = match state {
                State::Typed(totals, _) => {
                    totals.grow(self.groups);
                    groups.clone().all(|group| totals.fits(group, *added))
                }
                // Other numbers may be added to the sums of a twin.
                State::Twin(_) | State::Rows(_) => false,
            };
            if !is_safe {
                return all.collect();
            }
        }
        let State::Typed(totals, _) = &self.states[*call] else { return all.collect() };
        let added = self.added[*call];
        let is_needed = |group: &u32| match totals.word(*group as usize, added) {
            Some(word) => bound.needs(word),
            None => true,
        };
        all.filter(is_needed).collect()
    }

    fn finish(
        &mut self,
        call: usize,
        plan: &AggregateCall,
        group: usize,
        cx: &mut Cx<'_>,
    ) -> Result<Value> {
        let (state, is_twin) = match self.states[call] {
            State::Twin(twin) => (twin, true),
            State::Typed(..) | State::Rows(_) => (call, false),
        };
        match &mut self.states[state] {
            State::Typed(totals, _) if is_twin => {
                totals.grow(self.groups);
                cx.null_eliminated |= totals.saw_null();
                let average = plan.function.name == "AVG";
                totals.finish_sum(group, self.added[call], average, &plan.ty.data_type)
            }
            State::Typed(totals, _) => {
                totals.grow(self.groups);
                cx.null_eliminated |= totals.saw_null();
                totals.finish(group, self.added[call])
            }
            State::Twin(_) => unreachable!("a twin is the first of its kind"),
            State::Rows(states) => {
                states.resize_with(self.groups, || RowState::new(plan));
                states[group].finish(cx)
            }
        }
    }
}

impl<'p> Operator<'p> for Grouping<'p> {
    fn layout(&self) -> &[Register] {
        &self.layout
    }

    fn restrict(&mut self, restriction: &Restriction) {
        let aggregate = self.aggregate;
        let key = aggregate.keys.iter().position(|key| key.1 == restriction.register);
        let Some(key) = key else { return };
        let ExprKind::Column(register) = aggregate.keys[key].0.kind else { return };
        let is_whole = aggregate.sets.len() <= 1 && !aggregate.scalar;
        let is_safe = aggregate.keys.iter().all(|key| cannot_fail(&key.0))
            && self.stage.calls.iter().all(Call::cannot_fail);
        // The key restriction drops whole groups, never a part of one.
        if is_whole && is_safe {
            self.input.restrict(&Restriction { register, keys: restriction.keys.clone() });
        }
    }

    fn bound(&mut self, bound: &Bound) {
        let calls = &self.aggregate.aggregates;
        let call = calls.iter().position(|call| call.register == bound.register);
        self.bound = call.map(|call| (call, bound.clone()));
    }

    fn run(
        &mut self,
        cx: &mut Cx<'_>,
        rows: &mut Rows<'p>,
        receive: Receive<'_, 'p>,
    ) -> Result<Flow> {
        let at = std::ptr::from_ref(self.aggregate).addr();
        match cx.parallel.region(at, Role::Aggregate) {
            Some(region) => self.collect_in_parallel(region, cx, rows)?,
            None => self.collect(cx, rows)?,
        }
        let Self { aggregate, stage, bound, .. } = self;
        let key_columns = aggregate.keys.iter().map(|key| Vector::with_capacity_for(&key.0.ty));
        let mut columns: Vec<Vector> = key_columns.collect();
        let calls = aggregate.aggregates.iter();
        columns.extend(calls.map(|call| Vector::with_capacity_for(&call.ty)));
        columns.extend(aggregate.grouping_id.map(|_| Vector::empty()));
        let mut out = Batch::new(columns);
        for set in &mut stage.sets {
            if set.groups == 0 && (aggregate.scalar || set.on.is_empty()) {
                set.add_empty();
            }
            for first in (0..set.groups).step_by(BATCH_ROWS) {
                fault::batch_passed(cx)?;
                let end = set.groups.min(first + BATCH_ROWS);
                let groups = set.needed(bound.as_ref(), first..end);
                let failed = fill(aggregate, set, &groups, cx, &mut out);
                if out.rows() > 0 && receive(cx, rows, &mut out)? == Flow::Enough {
                    return Ok(Flow::Enough);
                }
                failed?;
            }
        }
        Ok(Flow::More)
    }
}

/// Fills a batch with groups; on error, with those before the group that fails.
fn fill(
    aggregate: &Aggregate,
    set: &mut Set,
    groups: &[u32],
    cx: &mut Cx<'_>,
    out: &mut Batch,
) -> Result<()> {
    let _label = ledger::labelled(Label::Aggregate);
    out.clear();
    let (keys, calls) = (aggregate.keys.len(), aggregate.aggregates.len());
    let mut failed = Ok(());
    let mut rows: Vec<u32> = Vec::with_capacity(groups.len());
    let mut values = Vec::with_capacity(calls);
    for group in groups {
        values.clear();
        for (number, call) in aggregate.aggregates.iter().enumerate() {
            match set.finish(number, call, *group as usize, cx) {
                Ok(value) => values.push(value),
                Err(error) => failed = Err(error),
            }
            if failed.is_err() {
                break;
            }
        }
        if failed.is_err() {
            break;
        }
        for (column, value) in out.columns[keys..].iter_mut().zip(&values) {
            column.push(value);
        }
        rows.push(*group);
    }
    for (key, column) in out.columns[..keys].iter_mut().enumerate() {
        match set.on.iter().position(|on| *on == key) {
            Some(place) => column.take(&set.values[place], &rows),
            None => column.set_constant(Value::Null, rows.len()),
        }
    }
    if aggregate.grouping_id.is_some() {
        let absent = |key: usize| i32::from(!set.on.contains(&key));
        let mask = (0..keys).fold(0, |mask, key| mask << 1 | absent(key));
        out.columns[keys + calls].set_constant(Value::Int(mask), rows.len());
    }
    out.set_rows(rows.len());
    failed
}
