//! Domains of columns: the values that CHECK constraints and partitions allow, as sets of
//! intervals. ALTER TABLE .. SWITCH proves with them that no row needs to be read.
//!
//! A condition is understood if it compares one column with constants, by AND, OR, NOT, BETWEEN, IN
//! and IS NULL. As in SQL Server, values are taken as dense: `a < 11` does not imply `a <= 10`, not
//! even for whole numbers.

use std::cmp::Ordering;

use types::comparison::CompareOp;
use types::{Collation, ConvertOptions, DataType, Mode, Value};

use ::catalog::PartitionFunction;
use ::plan::expr::{Expr, ExprKind, Register};

/// One end of an interval: the value, and whether it belongs to the interval; `None` is open.
type End = Option<(Value, bool)>;

/// Values from a lower to an upper end.
#[derive(Clone, Debug)]
struct Interval {
    low: End,
    high: End,
}

/// A set of values of one column.
#[derive(Clone, Debug)]
pub(crate) struct Domain {
    /// Disjoint intervals in ascending order.
    intervals: Vec<Interval>,
    /// Whether NULL is in the set.
    null: bool,
    collation: Collation,
}

/// The values for which a condition is true, and what it is for NULL; `None` is unknown.
struct Truths {
    intervals: Vec<Interval>,
    null: Option<bool>,
}

impl Domain {
    /// Returns the set of all values of a column.
    pub(crate) fn all(nullable: bool, collation: Collation) -> Self {
        let intervals = vec![Interval { low: None, high: None }];
        Self { intervals, null: nullable, collation }
    }

    /// Returns the values that a CHECK constraint allows, if it is one that is understood.
    pub(crate) fn of_check(
        check: &Expr,
        column: Register,
        collation: Collation,
        options: &ConvertOptions,
    ) -> Option<Self> {
        let truths = Reader { column, collation, options }.truths(check)?;
        let null = truths.null != Some(false);
        Some(Self { intervals: truths.intervals, null, collation })
    }

    /// Returns the values of a partition.
    pub(crate) fn of_partition(function: &PartitionFunction, number: usize) -> Self {
        let (low, high) = function.range(number);
        let end = |value: &Value, is_in| (!value.is_null()).then(|| (value.clone(), is_in));
        // No value but NULL is below a boundary that is NULL.
        let is_empty = high.is_some_and(Value::is_null);
        let low = low.and_then(|value| end(value, function.right));
        let high = high.and_then(|value| end(value, !function.right));
        let intervals = if is_empty { Vec::new() } else { vec![Interval { low, high }] };
        let null = function.number(&Value::Null) == number;
        Self { intervals, null, collation: function.ty.collation }
    }

    /// Returns the values that are in both sets.
    pub(crate) fn and(&self, other: &Self) -> Self {
        let intervals = intersection(&self.intervals, &other.intervals, self.collation);
        Self { intervals, null: self.null && other.null, collation: self.collation }
    }

    /// Returns whether all values are in another set.
    pub(crate) fn is_within(&self, other: &Self) -> bool {
        let outside = complement(&other.intervals);
        let beyond = intersection(&self.intervals, &outside, self.collation);
        beyond.is_empty() && (!self.null || other.null)
    }
}

fn order(a: &Value, b: &Value, collation: Collation) -> Ordering {
    types::compare::order(a, b, collation)
}

/// Returns the greater of two lower ends, which is the one of the intersection.
fn higher(a: &End, b: &End, collation: Collation) -> End {
    match (a, b) {
        (None, other) | (other, None) => other.clone(),
        (Some(one), Some(two)) => match order(&one.0, &two.0, collation) {
            Ordering::Greater => a.clone(),
            Ordering::Less => b.clone(),
            Ordering::Equal => Some((one.0.clone(), one.1 && two.1)),
        },
    }
}

/// Returns the lesser of two upper ends.
fn lower(a: &End, b: &End, collation: Collation) -> End {
    match (a, b) {
        (None, other) | (other, None) => other.clone(),
        (Some(one), Some(two)) => match order(&one.0, &two.0, collation) {
            Ordering::Less => a.clone(),
            Ordering::Greater => b.clone(),
            Ordering::Equal => Some((one.0.clone(), one.1 && two.1)),
        },
    }
}

fn is_empty(interval: &Interval, collation: Collation) -> bool {
    match (&interval.low, &interval.high) {
        (Some(low), Some(high)) => match order(&low.0, &high.0, collation) {
            Ordering::Less => false,
            Ordering::Equal => !(low.1 && high.1),
            Ordering::Greater => true,
        },
        _ => false,
    }
}

fn intersection(a: &[Interval], b: &[Interval], collation: Collation) -> Vec<Interval> {
    let pairs = a.iter().flat_map(|one| b.iter().map(move |two| (one, two)));
    let both = pairs.map(|(one, two)| Interval {
        low: higher(&one.low, &two.low, collation),
        high: lower(&one.high, &two.high, collation),
    });
    both.filter(|interval| !is_empty(interval, collation)).collect()
}

/// Returns the gaps between disjoint intervals in ascending order.
fn complement(intervals: &[Interval]) -> Vec<Interval> {
    let turned = |end: &End| end.as_ref().map(|(value, is_in)| (value.clone(), !is_in));
    let mut gaps = Vec::with_capacity(intervals.len() + 1);
    let mut low: Option<End> = Some(None);
    for interval in intervals {
        if let (Some(from), Some(_)) = (&low, &interval.low) {
            gaps.push(Interval { low: from.clone(), high: turned(&interval.low) });
        }
        low = interval.high.is_some().then(|| turned(&interval.high));
    }
    gaps.extend(low.map(|low| Interval { low, high: None }));
    gaps
}

/// Returns the values that are in one of two sets: those that are not in neither.
fn union(a: &[Interval], b: &[Interval], collation: Collation) -> Vec<Interval> {
    complement(&intersection(&complement(a), &complement(b), collation))
}

/// Reads conditions on one column.
struct Reader<'o> {
    column: Register,
    collation: Collation,
    options: &'o ConvertOptions,
}

impl Reader<'_> {
    /// Returns where a condition is true; `None` if it is not understood.
    fn truths(&self, condition: &Expr) -> Option<Truths> {
        let is_column = |expr: &Expr| is_column(expr, self.column);
        match &condition.kind {
            ExprKind::And(all) => self.combined(all, true),
            ExprKind::Or(any) => self.combined(any, false),
            ExprKind::Not(operand) => {
                let inner = self.truths(operand)?;
                let intervals = complement(&inner.intervals);
                Some(Truths { intervals, null: inner.null.map(|truth| !truth) })
            }
            ExprKind::IsNull(operand) if is_column(operand) => {
                Some(Truths { intervals: Vec::new(), null: Some(true) })
            }
            ExprKind::Compare(op, under, operands) => {
                let (op, constant) = match (&operands.0, &operands.1) {
                    (left, right) if is_column(left) => (*op, right),
                    (left, right) if is_column(right) => (mirrored(*op), left),
                    _ => return None,
                };
                self.fits(*under, &operands.0)?;
                let intervals = compared(op, &self.constant_of(constant)?);
                Some(Truths { intervals, null: None })
            }
            ExprKind::InList(under, needle, list) if is_column(needle) => {
                self.fits(*under, needle)?;
                let mut intervals = Vec::new();
                for item in list {
                    let point = compared(CompareOp::Equal, &self.constant_of(item)?);
                    intervals = union(&intervals, &point, self.collation);
                }
                Some(Truths { intervals, null: None })
            }
            _ => None,
        }
    }

    /// Returns `Some` if strings are compared as the column's collation orders them.
    fn fits(&self, under: Collation, operand: &Expr) -> Option<()> {
        (under == self.collation || !operand.ty.data_type.is_string()).then_some(())
    }

    /// Combines conditions with AND (`all`) or OR.
    fn combined(&self, operands: &[Expr], all: bool) -> Option<Truths> {
        let mut operands = operands.iter();
        let mut sum = self.truths(operands.next()?)?;
        for operand in operands {
            let next = self.truths(operand)?;
            let combine = if all { intersection } else { union };
            sum.intervals = combine(&sum.intervals, &next.intervals, self.collation);
            // FALSE decides an AND and TRUE an OR; otherwise unknown remains unknown.
            sum.null = match (sum.null, next.null) {
                (Some(decided), _) | (_, Some(decided)) if decided != all => Some(decided),
                (Some(_), Some(_)) => Some(all),
                _ => None,
            };
        }
        Some(sum)
    }

    /// Returns the value of a constant, perhaps one that is converted to the type of the column.
    fn constant_of(&self, expr: &Expr) -> Option<Value> {
        match &expr.kind {
            ExprKind::Constant(value) if !value.is_null() => Some(value.clone()),
            ExprKind::Convert(conversion) if conversion.style.is_none() => {
                let value = self.constant_of(&conversion.operand)?;
                let (from, to) = (&conversion.operand.ty, &expr.ty);
                types::convert(&value, from, to, 0, Mode::Implicit, self.options).ok()
            }
            _ => None,
        }
    }
}

/// Returns whether an expression is the column, perhaps converted to a wider exact number.
fn is_column(expr: &Expr, column: Register) -> bool {
    match &expr.kind {
        ExprKind::Column(register) => *register == column,
        ExprKind::Convert(conversion) => {
            let from = &conversion.operand.ty.data_type;
            conversion.style.is_none()
                && is_whole(from)
                && is_exact(&expr.ty.data_type)
                && is_column(&conversion.operand, column)
        }
        _ => false,
    }
}

fn is_whole(ty: &DataType) -> bool {
    matches!(ty, DataType::TinyInt | DataType::SmallInt | DataType::Int | DataType::BigInt)
}

fn is_exact(ty: &DataType) -> bool {
    is_whole(ty) || matches!(ty, DataType::Decimal { .. })
}

/// Returns the operator with its operands exchanged.
fn mirrored(op: CompareOp) -> CompareOp {
    match op {
        CompareOp::Less => CompareOp::Greater,
        CompareOp::LessOrEqual => CompareOp::GreaterOrEqual,
        CompareOp::Greater => CompareOp::Less,
        CompareOp::GreaterOrEqual => CompareOp::LessOrEqual,
        CompareOp::Equal | CompareOp::NotEqual => op,
    }
}

fn compared(op: CompareOp, value: &Value) -> Vec<Interval> {
    let end = |is_in| Some((value.clone(), is_in));
    let point = Interval { low: end(true), high: end(true) };
    vec![match op {
        CompareOp::Equal => point,
        CompareOp::NotEqual => return complement(&[point]),
        CompareOp::Less => Interval { low: None, high: end(false) },
        CompareOp::LessOrEqual => Interval { low: None, high: end(true) },
        CompareOp::Greater => Interval { low: end(false), high: None },
        CompareOp::GreaterOrEqual => Interval { low: end(true), high: None },
    }]
}

#[cfg(test)]
mod tests {
    use types::value::ColumnType;

    use super::*;

    const COLUMN: Register = Register(0);

    fn ty(data_type: DataType) -> ColumnType {
        ColumnType { data_type, collation: Collation::default(), nullable: true }
    }

    fn compare(op: CompareOp, number: i32) -> Expr {
        let column = Expr::new(ExprKind::Column(COLUMN), ty(DataType::Int));
        let number = Expr::constant(Value::Int(number), DataType::Int);
        let kind = ExprKind::Compare(op, Collation::default(), Box::new((column, number)));
        Expr::new(kind, ty(DataType::Bit))
    }

    fn with(kind: ExprKind) -> Expr {
        Expr::new(kind, ty(DataType::Bit))
    }

    fn domain(condition: &Expr) -> Domain {
        let options = ConvertOptions::default();
        Domain::of_check(condition, COLUMN, Collation::default(), &options)
            .expect("it is understood")
    }

    /// Every pair of conditions is compared with what they allow of the halves from -1 to 6.
    #[test]
    fn a_domain_is_within_another_if_all_its_values_are() {
        use CompareOp::{Equal, Greater, GreaterOrEqual, Less, LessOrEqual, NotEqual};
        let atoms: Vec<Expr> = [Equal, NotEqual, Less, LessOrEqual, Greater, GreaterOrEqual]
            .into_iter()
            .flat_map(|op| [1, 3, 4].map(|number| compare(op, number)))
            .collect();
        let mut conditions = atoms.clone();
        for (at, a) in atoms.iter().enumerate() {
            for b in &atoms[at..] {
                conditions.push(with(ExprKind::And(Box::new([a.clone(), b.clone()]))));
                let or = with(ExprKind::Or(Box::new([a.clone(), b.clone()])));
                conditions.push(with(ExprKind::Not(Box::new(or))));
            }
        }
        let halves: Vec<Domain> = (-2..=12).map(half).collect();
        let held = |domain: &Domain| -> Vec<bool> {
            halves.iter().map(|half| half.is_within(domain)).collect()
        };
        let domains: Vec<(Domain, Vec<bool>)> =
            conditions.iter().map(domain).map(|d| (d.clone(), held(&d))).collect();
        for (a, of_a) in &domains {
            for (b, of_b) in domains.iter().step_by(7) {
                let really = of_a.iter().zip(of_b).all(|(a, b)| !a || *b);
                assert_eq!(a.is_within(b), really, "{a:?} {b:?}");
            }
        }
    }

    /// The set of one value, in halves.
    fn half(number: i32) -> Domain {
        let value = types::Decimal::new(i128::from(number) * 5, 10, 1);
        let end = Some((Value::Decimal(value), true));
        let intervals = vec![Interval { low: end.clone(), high: end }];
        Domain { intervals, null: false, collation: Collation::default() }
    }

    #[test]
    fn null_is_allowed_unless_the_condition_is_false_for_it() {
        let column = Expr::new(ExprKind::Column(COLUMN), ty(DataType::Int));
        let is_null = with(ExprKind::IsNull(Box::new(column)));
        let not_null = with(ExprKind::Not(Box::new(is_null)));
        let greater = compare(CompareOp::Greater, 20);
        assert!(domain(&greater).null);
        let both = with(ExprKind::And(Box::new([greater.clone(), not_null.clone()])));
        assert!(!domain(&both).null);
        let either = with(ExprKind::Or(Box::new([greater, not_null])));
        assert!(domain(&either).null);
    }
}
