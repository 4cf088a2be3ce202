//! Aggregate pushdown: computes COUNT, SUM, AVG, MIN and MAX without groups from the segments of
//! compressed blocks, without producing rows.
//!
//! ```text
//!  Grouping ──Pushdown──► TableScan ──whole block──► Segment: block_sum, block_nulls, block_zone
//!     ▲   totals at the end                   └─ deleted rows, delta store ─► batches
//! ```

use std::cell::RefCell;
use std::rc::Rc;

use types::DataType;

use super::total::Summary;
use executor::columnstore::Block;
use plan::expr::{Expr, ExprKind, Register};
use plan::query::{Aggregate, AggregateCall, Node, Scan};

/// What one aggregate call needs from a block.
#[derive(Clone, Copy)]
enum Wanted {
    /// `COUNT(*)`: the number of rows.
    Rows,
    /// `COUNT(column)`: the number of values that are not NULL.
    Values,
    Sum,
    Extent,
}

/// A call, the column that it reads, and its total so far.
struct Part {
    wanted: Wanted,
    ordinal: usize,
    summary: Summary,
}

/// The calls of an aggregate over a columnstore, with their totals.
pub(super) struct Pushdown(Vec<Part>);

/// Shared by the aggregate, which reads it, and the scan, which fills it.
pub(super) type SharedPushdown = Rc<RefCell<Pushdown>>;

impl Pushdown {
    /// Makes a pushdown; `None` if segments can't answer all calls of the aggregate.
    pub(super) fn of(aggregate: &Aggregate) -> Option<SharedPushdown> {
        let Node::Scan(scan) = &aggregate.input else { return None };
        if !aggregate.keys.is_empty() || aggregate.sets.len() > 1 || scan.residual.is_some() {
            return None;
        }
        let parts = aggregate.aggregates.iter().map(|call| Part::of(call, scan));
        Some(Rc::new(RefCell::new(Self(parts.collect::<Option<Vec<Part>>>()?))))
    }

    /// Adds a block to the totals; `false`, and nothing is done, if its rows must be read.
    pub(super) fn take(&mut self, block: &Block<'_>) -> bool {
        if block.live.len() != block.rows() {
            return false;
        }
        self.0.iter_mut().for_each(|part| part.take(block));
        true
    }

    /// Returns the total of each call.
    pub(super) fn summaries(&self) -> impl Iterator<Item = &Summary> {
        self.0.iter().map(|part| &part.summary)
    }
}

impl Part {
    fn of(call: &AggregateCall, scan: &Scan) -> Option<Self> {
        if call.distinct || call.filter.is_some() || !call.order.is_empty() {
            return None;
        }
        let (wanted, ordinal) = match (call.function.name, call.arguments.as_slice()) {
            ("COUNT" | "COUNT_BIG", []) => (Wanted::Rows, 0),
            ("COUNT" | "COUNT_BIG", [argument]) => (Wanted::Values, column(argument, scan)?),
            ("SUM" | "AVG", [argument]) if is_whole(argument) => {
                (Wanted::Sum, column(same_words(argument), scan)?)
            }
            ("MIN" | "MAX", [argument]) if orders_as_words(argument) => {
                (Wanted::Extent, column(argument, scan)?)
            }
            _ => return None,
        };
        Some(Self { wanted, ordinal, summary: Summary::default() })
    }

    fn take(&mut self, block: &Block<'_>) {
        let rows = i64::try_from(block.rows()).unwrap_or(i64::MAX);
        if let Wanted::Rows = self.wanted {
            self.summary.rows += rows;
            return;
        }
        let nulls = i64::try_from(block.nulls(self.ordinal)).unwrap_or(i64::MAX);
        self.summary.rows += rows - nulls;
        self.summary.nulls |= nulls > 0;
        match self.wanted {
            Wanted::Rows | Wanted::Values => {}
            Wanted::Sum => self.summary.sum += block.sum(self.ordinal),
            Wanted::Extent => {
                let Some(zone) = block.zone(self.ordinal) else { return };
                let before = self.summary.extent.unwrap_or((i64::MAX, i64::MIN));
                self.summary.extent = Some((before.0.min(zone.least), before.1.max(zone.largest)));
            }
        }
    }
}

/// Returns the ordinal of the column that an expression reads, if it is just a column.
fn column(expr: &Expr, scan: &Scan) -> Option<usize> {
    let ExprKind::Column(register) = expr.kind else { return None };
    ordinal(register, scan)
}

fn ordinal(wanted: Register, scan: &Scan) -> Option<usize> {
    scan.columns.iter().find(|column| column.1 == wanted).map(|column| usize::from(column.0))
}

/// Returns true if the argument's sum is that of its encoded values: whole numbers and short
/// decimals.
fn is_whole(expr: &Expr) -> bool {
    // Narrower types are converted before they are added.
    if matches!(expr.ty.data_type, DataType::TinyInt | DataType::SmallInt) {
        return false;
    }
    match same_words(expr).ty.data_type {
        DataType::TinyInt
        | DataType::SmallInt
        | DataType::Int
        | DataType::BigInt
        | DataType::Money => true,
        DataType::Decimal { precision, .. } => precision <= SHORT_DIGITS_MAX,
        _ => false,
    }
}

/// Most digits of a decimal that is encoded as a word.
const SHORT_DIGITS_MAX: u8 = 18;

/// Removes a conversion that leaves the encoded value of every row unchanged.
fn same_words(expr: &Expr) -> &Expr {
    let ExprKind::Convert(conversion) = &expr.kind else { return expr };
    let operand = &conversion.operand;
    let keeps = match (operand.ty.data_type, expr.ty.data_type) {
        (DataType::TinyInt | DataType::SmallInt | DataType::Int, DataType::BigInt)
        | (DataType::TinyInt | DataType::SmallInt, DataType::Int) => true,
        (
            DataType::Decimal { precision: digits, scale: from },
            DataType::Decimal { precision, scale },
        ) => from == scale && digits <= precision,
        _ => false,
    };
    if keeps { operand } else { expr }
}

fn orders_as_words(expr: &Expr) -> bool {
    match expr.ty.data_type {
        DataType::TinyInt
        | DataType::SmallInt
        | DataType::Int
        | DataType::BigInt
        | DataType::Money
        | DataType::Date
        | DataType::Time(_)
        | DataType::DateTime
        | DataType::SmallDateTime
        | DataType::DateTime2(_) => true,
        DataType::Decimal { precision, .. } => precision <= SHORT_DIGITS_MAX,
        _ => false,
    }
}
