//! Estimates of a plan's rows and cost.
//!
//! Row counts come from storage and from the selectivity of predicates; without statistics, from
//! the usual guesses (a tenth of the rows for an equality, a third for a range). Costs use SQL
//! Server's unit, in which 1.0 was one second on the machine its model was calibrated on.

use catalog::{IndexDef, IndexKind};
use plan::children;
use plan::expr::{CompareOp, Expr, ExprKind, Register};
use plan::query::{
    Access, Aggregate, Join, JoinKind, JoinMethod, Limit, Node, Scan, SetKind, SetOperation, Spool,
};
use plan::statement::table_of;
use plan::walk;

/// The estimate for an operator.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Estimate {
    /// Rows per opening of the operator.
    pub rows: f64,
    /// Average bytes of a row.
    pub row_bytes: f64,
    /// CPU cost, including its inputs.
    pub cpu: f64,
    /// Cost of reading, including its inputs; small, because rows are in memory.
    pub io: f64,
}

impl Estimate {
    /// Returns the total cost, including inputs.
    pub fn cost(&self) -> f64 {
        self.cpu + self.io
    }
}

/// Cost of passing a row to the operator above.
const ROW: f64 = 0.000_000_02;
/// Cost of reading a row in a scan of a table or an index.
const READ: f64 = 0.000_000_1;
/// Cost of a seek in an index.
const SEEK: f64 = 0.000_000_8;
/// Cost of evaluating a predicate once.
const TEST: f64 = 0.000_000_03;
/// Cost of inserting a row into a hash table.
const BUILD: f64 = 0.000_000_25;
/// Cost of looking up a row in a hash table.
const PROBE: f64 = 0.000_000_1;
/// Cost of creating a hash table.
const TABLE: f64 = 0.000_003;
/// Cost of comparing two rows in a sort.
const COMPARE: f64 = 0.000_000_05;
/// Rows of a source without statistics: a function, a system view.
const UNKNOWN: f64 = 1_000.0;

/// Assumed rows of a round of a recursive query. There may be as many rounds as rows, and each would
/// build a hash table of the other input: few rows, so that an index is used if there is one. SQL
/// Server, whose rounds have one row, always joins by a loop there.
const ROUND: f64 = 20.0;

/// Returns the rows of a system view. Some are small in every database. Because they are looked up
/// by a hash table, the rows they are joined to (above all sys.columns) stay in key order, which
/// scripts without ORDER BY rely on.
fn view_rows(name: &str) -> f64 {
    const TYPES: f64 = 34.0;
    const SCHEMAS: f64 = 14.0;
    match name {
        "types" | "systypes" => TYPES,
        "schemas" => SCHEMAS,
        _ => UNKNOWN,
    }
}

/// Fraction of rows for which `column = value` is true, without statistics.
const EQUAL: f64 = 0.1;
/// Fraction of rows within one bound.
const RANGE: f64 = 0.3;
/// Fraction of rows that match LIKE.
const LIKE: f64 = 0.09;
/// Fraction of rows that are NULL.
const NULL: f64 = 0.05;

/// Estimates an operator including all below it.
pub fn estimate(node: &Node) -> Estimate {
    match node {
        Node::OneRow => Estimate { rows: 1.0, row_bytes: 8.0, cpu: ROW, io: 0.0 },
        Node::Empty => Estimate { rows: 0.0, row_bytes: 8.0, cpu: 0.0, io: 0.0 },
        Node::Scan(scan) => of_scan(scan),
        Node::View(view) => leaf(view_rows(view.view.name()), view.columns.len()),
        Node::Values(values) => leaf(count(values.rows.len()), values.registers.len()),
        Node::Function(function) => leaf(UNKNOWN, function.registers.len()),
        Node::Bulk(scan) => {
            leaf(count(usize::try_from(scan.rows).unwrap_or(usize::MAX)), scan.columns.len())
        }
        Node::UserFunction(function) => leaf(UNKNOWN, function.registers.len()),
        Node::WorkTable(_, registers) => leaf(ROUND, registers.len()),
        Node::Filter(filter) => {
            let input = estimate(&filter.0);
            let rows = input.rows * selectivity(&filter.1, &|r| column_of(&filter.0, r));
            Estimate { rows, cpu: input.cpu + input.rows * TEST, ..input }
        }
        Node::Compute(compute) => {
            let input = estimate(&compute.0);
            let added = count(compute.1.len());
            Estimate {
                row_bytes: input.row_bytes + added * WIDTH,
                cpu: input.cpu + input.rows * added * ROW,
                ..input
            }
        }
        Node::Join(join) => of_join(join),
        Node::Aggregate(aggregate) => of_aggregate(aggregate),
        Node::Window(window) => {
            let input = estimate(&window.input);
            let calls = count(window.calls.len());
            let sorted = if window.streams { 0.0 } else { sorting(input.rows) };
            Estimate {
                row_bytes: input.row_bytes + calls * WIDTH,
                cpu: input.cpu + sorted + input.rows * calls * TEST,
                ..input
            }
        }
        Node::Sort(sort) => {
            let input = estimate(&sort.input);
            let rows = sort.limit.as_ref().map_or(input.rows, |l| bounded(l, input.rows));
            Estimate { rows, cpu: input.cpu + sorting(input.rows), ..input }
        }
        Node::Distinct(distinct) => {
            let input = estimate(&distinct.0);
            let rows = groups(&distinct.0, distinct.1.iter(), input.rows);
            Estimate { rows, cpu: input.cpu + input.rows * BUILD, ..input }
        }
        Node::Limit(limit) => of_limit(limit),
        Node::SetOperation(operation) => of_set(operation),
        Node::Recursive(recursive) => {
            let (anchor, step) = (estimate(&recursive.anchor.root), estimate(&recursive.step.root));
            Estimate {
                rows: anchor.rows + step.rows,
                cpu: anchor.cpu + step.cpu,
                io: anchor.io + step.io,
                ..anchor
            }
        }
        Node::Spool(spool) => of_spool(spool),
        Node::Document(document) => Estimate { rows: 1.0, ..estimate(&document.query.root) },
    }
}

/// Assumed bytes of a value.
const WIDTH: f64 = 9.0;

/// Returns the cost of joining rows by a hash table over the right ones.
pub(crate) fn hash_cost(left: f64, right: f64) -> f64 {
    TABLE + right * BUILD + left * PROBE
}

/// Returns the cost of looking rows of a catalog view up by its key: less than a hash join the other
/// way around, so that the rows that are looked up for keep their order ([`super::view_key`]).
pub(crate) fn look_up_cost(left: f64, right: f64) -> f64 {
    TABLE + (left + right) * PROBE / 2.0
}

/// Returns the cost of comparing all left rows with all right ones, which are buffered.
pub(crate) fn product_cost(left: f64, right: f64) -> f64 {
    TABLE + right * BUILD + left * right * TEST
}

/// Returns the cost of passing rows on.
pub(crate) fn given_cost(rows: f64) -> f64 {
    rows * ROW
}

/// Returns the cost of a seek of a scan.
pub(crate) fn seek_cost(scan: &Scan, best: &super::seek::Best) -> f64 {
    let rows = table_rows(scan);
    let found = if best.unique { 1.0 } else { seek_rows(scan, best.index, best.equal, rows) };
    SEEK + found * (READ + TEST)
}

fn leaf(rows: f64, columns: usize) -> Estimate {
    let row_bytes = WIDTH.mul_add(count(columns), 8.0);
    Estimate { rows, row_bytes, cpu: rows * READ, io: 0.0 }
}

/// Converts a count to the number type of estimates.
#[expect(clippy::cast_precision_loss, reason = "an estimate")]
pub(crate) fn count(n: usize) -> f64 {
    n as f64
}

fn sorting(rows: f64) -> f64 {
    rows * (rows + 2.0).log2() * COMPARE + rows * BUILD
}

/// Returns the rows that a TOP passes on.
fn bounded(limit: &Expr, rows: f64) -> f64 {
    match limit.as_constant() {
        Some(types::Value::BigInt(n)) => rows.min(float(*n)),
        _ => rows.min(100.0),
    }
}

#[expect(clippy::cast_precision_loss, reason = "an estimate")]
pub(crate) fn float(n: i64) -> f64 {
    n as f64
}

/// Minimum estimate for a table: it may be filled later, while the plan stays.
const ROWS_MIN: f64 = 10.0;

/// Returns the current number of rows of a table.
pub(crate) fn table_rows(scan: &Scan) -> f64 {
    let rows = table_of(&scan.table).rows.data.row_count();
    float(i64::try_from(rows).unwrap_or(i64::MAX)).max(ROWS_MIN)
}

fn of_scan(scan: &Scan) -> Estimate {
    let table = table_of(&scan.table);
    let rows = table_rows(scan);
    let find = |register: Register| {
        let (ordinal, _) = *scan.columns.iter().find(|c| c.1 == register)?;
        Some(Column { scan, ordinal })
    };
    let left = left_rows(scan, rows, &find);
    let row_bytes = WIDTH.mul_add(count(scan.columns.len()), 8.0);
    let (read, find) = match &scan.access {
        Access::Full => (rows, 0.0),
        Access::Seek { index, key } => {
            let place = usize::from(*index);
            let unique = table.indexes[place].unique;
            let many = || seek_rows(scan, place, key.len(), rows);
            (if unique { rows.min(1.0) } else { many().max(left) }, SEEK)
        }
        Access::Points { index, prefix, points } => {
            let place = usize::from(*index);
            let definition = &table.indexes[place];
            let is_whole = prefix.len() + 1 == definition.keys.len();
            let each = match definition.unique && is_whole {
                true => 1.0,
                false => seek_rows(scan, place, prefix.len() + 1, rows),
            };
            ((each * count(points.len())).min(rows).max(left), SEEK * count(points.len()))
        }
        Access::Range { index, prefix, lower, upper, .. } => {
            let place = usize::from(*index);
            let mut found = seek_rows(scan, place, prefix.len(), rows);
            for _ in lower.iter().chain(upper) {
                found *= RANGE;
            }
            (found.max(left), SEEK)
        }
    };
    let unique = match &scan.access {
        Access::Seek { index, .. } => table.indexes[usize::from(*index)].unique,
        Access::Full | Access::Range { .. } | Access::Points { .. } => false,
    };
    let given = if unique { left.min(1.0).max(rows.min(1.0)) } else { left };
    let cpu = find + read * READ + scan.residual.as_ref().map_or(0.0, |_| read * TEST);
    Estimate { rows: given, row_bytes, cpu, io: 0.0 }
}

/// Returns the share of a table's rows that satisfy a condition on its columns.
pub(crate) fn share_of(scan: &Scan, condition: &Expr) -> f64 {
    let find = |register: Register| {
        let (ordinal, _) = *scan.columns.iter().find(|c| c.1 == register)?;
        Some(Column { scan, ordinal })
    };
    selectivity(condition, &find)
}

/// Returns the rows that satisfy a scan's predicate. For a seek by several columns the index gives
/// a better estimate than the product of each column's selectivity; only the other conjuncts are
/// multiplied with it.
fn left_rows(scan: &Scan, rows: f64, find: Find<'_, '_>) -> f64 {
    let Some(predicate) = &scan.predicate else { return rows };
    let table = table_of(&scan.table);
    let (index, columns) = match &scan.access {
        Access::Seek { index, key } => (usize::from(*index), key.len()),
        Access::Range { index, prefix, .. } => (usize::from(*index), prefix.len()),
        Access::Full | Access::Points { .. } => (0, 0),
    };
    let Some(found) = known_rows(scan, index, columns, rows).filter(|_| columns > 1) else {
        return rows * selectivity(predicate, find);
    };
    let key = &table.indexes[index].keys[..columns];
    let is_key = |register: Register| {
        find(register).is_some_and(|column| key.iter().any(|k| k.0 == column.ordinal))
    };
    let conjuncts = match &predicate.kind {
        ExprKind::And(all) => &all[..],
        _ => std::slice::from_ref(predicate),
    };
    let rest = conjuncts.iter().filter(|conjunct| {
        let ExprKind::Compare(CompareOp::Equal, _, pair) = &conjunct.kind else { return true };
        ![&pair.0, &pair.1].into_iter().filter_map(bare).any(is_key)
    });
    found * conjunction(rest, find)
}

/// Returns the rows per value of an index's leading columns, if a sample has measured it.
fn known_rows(scan: &Scan, index: usize, columns: usize, rows: f64) -> Option<f64> {
    let known = table_of(&scan.table).rows.statistics.get()?;
    let keys = known.prefix(index, columns)?;
    Some((rows / keys.max(1.0)).max(rows.min(1.0)))
}

/// Returns the rows per value of the leading columns of an index that is not unique.
fn seek_rows(scan: &Scan, index: usize, columns: usize, rows: f64) -> f64 {
    if let Some(found) = known_rows(scan, index, columns, rows) {
        return found;
    }
    let keys = table_of(&scan.table).indexes[index].keys.iter().take(columns);
    let share =
        |ordinal: u16| Column { scan, ordinal }.distinct().map_or(EQUAL, |n| 1.0 / n.max(1.0));
    let shares: f64 = keys.map(|k| share(k.0)).product();
    (rows * shares).max(rows.min(1.0))
}

/// A table's column that a scan reads.
#[derive(Clone, Copy)]
pub(crate) struct Column<'n> {
    scan: &'n Scan,
    ordinal: u16,
}

impl Column<'_> {
    /// Returns the number of distinct values; `None` without statistics.
    pub(crate) fn distinct(self) -> Option<f64> {
        let table = table_of(&self.scan.table);
        let rows = table_rows(self.scan);
        let alone = |i: &&IndexDef| i.keys.len() == 1 && i.keys[0].0 == self.ordinal;
        if table.indexes.iter().filter(alone).any(|i| i.is_key()) {
            return Some(rows);
        }
        if let Some(known) = table.rows.statistics.get() {
            return known.column(self.ordinal).map(|c| c.distinct.min(rows));
        }
        let leads = |i: &IndexDef| i.kind == IndexKind::Range && i.keys[0].0 == self.ordinal;
        table.indexes.iter().any(leads).then(|| (rows / 10.0).max(1.0))
    }

    /// Returns the fraction of rows for which a comparison with a value is true.
    fn share(self, op: CompareOp, value: &types::Value) -> Option<f64> {
        let known = table_of(&self.scan.table).rows.statistics.get()?;
        super::statistics::share(known.column(self.ordinal)?, op, value)
    }

    fn nulls(self) -> Option<f64> {
        let known = table_of(&self.scan.table).rows.statistics.get()?;
        known.column(self.ordinal).map(|c| c.nulls)
    }
}

/// Finds the table column in a register above a node.
pub(crate) fn column_of(node: &Node, register: Register) -> Option<Column<'_>> {
    match node {
        Node::Scan(scan) => {
            let (ordinal, _) = *scan.columns.iter().find(|c| c.1 == register)?;
            Some(Column { scan, ordinal })
        }
        Node::Join(join) => {
            column_of(&join.left, register).or_else(|| column_of(&join.right, register))
        }
        Node::Spool(spool) => column_of(&spool.input, register),
        Node::Distinct(inner) => column_of(&inner.0, register),
        Node::Aggregate(aggregate) => {
            let key = aggregate.keys.iter().find(|k| k.1 == register)?;
            match key.0.kind {
                ExprKind::Column(input) => column_of(&aggregate.input, input),
                _ => None,
            }
        }
        _ => column_of(children::passed(node)?, register),
    }
}

/// Returns the number of distinct values in a register that the node fills.
pub(crate) fn distinct(node: &Node, register: Register) -> Option<f64> {
    column_of(node, register)?.distinct()
}

/// A lookup of the column in a register.
type Find<'f, 'n> = &'f dyn Fn(Register) -> Option<Column<'n>>;

/// Returns the fraction of rows for which a predicate is true.
pub(crate) fn selectivity(predicate: &Expr, find: Find<'_, '_>) -> f64 {
    match &predicate.kind {
        ExprKind::And(all) => conjunction(all.iter(), find),
        ExprKind::Or(any) => 1.0 - any.iter().map(|e| 1.0 - selectivity(e, find)).product::<f64>(),
        ExprKind::Not(operand) => (1.0 - selectivity(operand, find)).clamp(0.01, 1.0),
        ExprKind::Compare(op, _, pair) => match op {
            CompareOp::Equal => equal_share(&pair.0, &pair.1, find),
            CompareOp::NotEqual => 1.0 - equal_share(&pair.0, &pair.1, find),
            CompareOp::Less
            | CompareOp::LessOrEqual
            | CompareOp::Greater
            | CompareOp::GreaterOrEqual => range_share(predicate, find).map_or(RANGE, |r| r.2),
        },
        ExprKind::InList(_, operand, list) => {
            let known = bare(operand).and_then(|r| find(r)?.distinct());
            (known.map_or(EQUAL, |n| 1.0 / n) * count(list.len())).min(0.5)
        }
        ExprKind::Like(..) => LIKE,
        ExprKind::IsNull(operand) => {
            bare(operand).and_then(|r| find(r)?.nulls()).map_or(NULL, |n| n.max(0.001))
        }
        ExprKind::Constant(types::Value::Bit(true)) => 1.0,
        ExprKind::Constant(_) => 0.0,
        ExprKind::Exists(_) | ExprKind::Quantified(_) => 0.5,
        _ => RANGE,
    }
}

/// Returns the fraction of rows that satisfy all conjuncts.
fn conjunction<'e>(all: impl Iterator<Item = &'e Expr>, find: Find<'_, '_>) -> f64 {
    let mut shares = Vec::new();
    let mut bounds: Vec<(Register, bool, f64)> = Vec::new();
    for conjunct in all {
        let Some((register, above, share)) = range_share(conjunct, find) else {
            shares.push(selectivity(conjunct, find));
            continue;
        };
        // Two bounds of one column select the values between them.
        match bounds.iter_mut().find(|b| b.0 == register && b.1 != above) {
            Some(other) => other.2 = (other.2 + share - 1.0).max(0.005),
            None => bounds.push((register, above, share)),
        }
    }
    shares.extend(bounds.into_iter().map(|b| b.2));
    // Exponential backoff: the most selective predicate counts fully, further ones less and less,
    // since predicates are correlated.
    shares.sort_by(f64::total_cmp);
    let power = |i: usize| 1.0 / count(1 << i.min(3));
    shares.iter().enumerate().map(|(i, s)| s.powf(power(i))).product()
}

/// Returns the bound of a column by a constant: its register, whether it is a lower bound, and the
/// fraction within it.
fn range_share(conjunct: &Expr, find: Find<'_, '_>) -> Option<(Register, bool, f64)> {
    let ExprKind::Compare(op, _, pair) = &conjunct.kind else { return None };
    if matches!(op, CompareOp::Equal | CompareOp::NotEqual) {
        return None;
    }
    let (column, value, op) = match (pair.1.as_constant(), pair.0.as_constant()) {
        (Some(value), _) => (&pair.0, value, *op),
        (None, Some(value)) => (&pair.1, value, op.swapped()),
        (None, None) => return None,
    };
    let register = bare(column)?;
    let above = matches!(op, CompareOp::Greater | CompareOp::GreaterOrEqual);
    Some((register, above, find(register)?.share(op, value)?))
}

fn equal_share(a: &Expr, b: &Expr, find: Find<'_, '_>) -> f64 {
    let of = |e: &Expr| bare(e).and_then(|r| find(r)?.distinct());
    match (of(a), of(b)) {
        (Some(a), Some(b)) => 1.0 / a.max(b).max(1.0),
        (Some(n), None) | (None, Some(n)) => 1.0 / n.max(1.0),
        (None, None) => EQUAL,
    }
}

/// Returns the register of a column, with or without a conversion.
pub(crate) fn bare(expr: &Expr) -> Option<Register> {
    match &expr.kind {
        ExprKind::Column(register) => Some(*register),
        ExprKind::Convert(conversion) => bare(&conversion.operand),
        ExprKind::Collate(operand) => bare(operand),
        _ => None,
    }
}

fn of_join(join: &Join) -> Estimate {
    let (left, right) = (estimate(&join.left), estimate(&join.right));
    let find = |r: Register| column_of(&join.left, r).or_else(|| column_of(&join.right, r));
    let on = join.on.as_ref().map_or(1.0, |on| selectivity(on, &find));
    let (pairs, cpu) = match &join.method {
        JoinMethod::Loop => {
            let opened = left.rows.max(1.0);
            (left.rows * right.rows * on, left.cpu + opened * right.cpu)
        }
        JoinMethod::Hash(keys) => {
            let shares = keys.iter().map(|(l, r)| equal_share(l, r, &find));
            let share = shares.fold(1.0_f64, |all, one| all * one.max(1e-9));
            let work = right.rows * BUILD + left.rows * PROBE;
            (left.rows * right.rows * share * on, left.cpu + right.cpu + work)
        }
    };
    let semi = pairs.min(left.rows * 0.5);
    let (rows, row_bytes) = match join.kind {
        JoinKind::Inner => (pairs, left.row_bytes + right.row_bytes),
        JoinKind::Left => (pairs.max(left.rows), left.row_bytes + right.row_bytes),
        JoinKind::Full => (pairs.max(left.rows).max(right.rows), left.row_bytes + right.row_bytes),
        JoinKind::Semi => (semi, left.row_bytes),
        JoinKind::Anti => (left.rows - semi, left.row_bytes),
    };
    Estimate { rows, row_bytes, cpu: cpu + rows * ROW, io: left.io + right.io }
}

/// Returns the number of groups in this many rows.
fn groups<'e>(node: &Node, keys: impl Iterator<Item = &'e Expr>, rows: f64) -> f64 {
    let mut all = 1.0_f64;
    for key in keys {
        let known = walk::reads(key);
        let constant = known.is_empty();
        let one = bare(key).and_then(|r| distinct(node, r));
        all *= if constant { 1.0 } else { one.unwrap_or_else(|| rows.sqrt().max(1.0)) };
    }
    all.min(rows)
}

fn of_aggregate(aggregate: &Aggregate) -> Estimate {
    let input = estimate(&aggregate.input);
    let sets = count(aggregate.sets.len().max(1));
    let rows = if aggregate.scalar {
        1.0
    } else {
        groups(&aggregate.input, aggregate.keys.iter().map(|k| &k.0), input.rows) * sets
    };
    let calls = count(aggregate.aggregates.len());
    let columns = calls + count(aggregate.keys.len());
    let find = if aggregate.keys.is_empty() { ROW } else { PROBE };
    let cpu = input.cpu + input.rows * sets * (find + calls * TEST) + rows * BUILD;
    Estimate { rows, row_bytes: columns.mul_add(WIDTH, 8.0), cpu, io: input.io }
}

fn of_limit(limit: &Limit) -> Estimate {
    let input = estimate(&limit.input);
    let Some(wanted) = limit.count.as_ref().filter(|_| !limit.percent) else { return input };
    let rows = bounded(wanted, input.rows);
    // An input that streams stops early; a blocking one is read in full.
    let share = if streams(&limit.input) { rows / input.rows.max(1.0) } else { 1.0 };
    Estimate { rows, cpu: input.cpu * share, ..input }
}

/// Returns whether an operator returns its first row before reading all of its input.
fn streams(node: &Node) -> bool {
    match node {
        Node::Distinct(inner) => streams(&inner.0),
        Node::Join(join) => streams(&join.left),
        Node::Window(window) => window.streams && streams(&window.input),
        Node::Sort(_) | Node::Aggregate(_) | Node::Document(_) => false,
        _ => children::passed(node).is_none_or(streams),
    }
}

/// Returns the cost of one opening of an index spool: the index is built once for all of them.
fn of_spool(spool: &Spool) -> Estimate {
    let input = estimate(&spool.input);
    let find = |r: Register| column_of(&spool.input, r);
    let shares: f64 =
        spool.keys.iter().map(|(outer, own)| equal_share(outer, own, &find)).product();
    let found = input.rows * shares;
    let rest = spool.rest.as_ref().map_or(1.0, |rest| selectivity(rest, &find));
    Estimate { rows: found * rest, cpu: PROBE + found * (ROW + TEST), ..input }
}

fn of_set(operation: &SetOperation) -> Estimate {
    let (left, right) = (estimate(&operation.left.root), estimate(&operation.right.root));
    let both = left.rows + right.rows;
    let (rows, work) = match operation.kind {
        SetKind::UnionAll => (both, 0.0),
        SetKind::Union => (both * 0.7, both * BUILD),
        SetKind::Except => (left.rows * 0.5, both * BUILD),
        SetKind::Intersect => (left.rows.min(right.rows) * 0.5, both * BUILD),
    };
    let cpu = left.cpu + right.cpu + work + rows * ROW;
    Estimate { rows, row_bytes: left.row_bytes.max(right.row_bytes), cpu, io: left.io + right.io }
}
