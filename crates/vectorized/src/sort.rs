//! Sort: stores the input by column, with keys whose bytes compare as the rows do. With a limit, it
//! stores at most about twice as many rows, and only rows that can still be among the first. The
//! operators below may skip the others: see `bound.rs`.

use plan::long::encode_value_asked;
use plan::sort::{Comparisons, interruptible};
use sos::ledger::{self, Label};
use types::Result;
use types::batch::{Batch, Data, Selection, Vector};
use types::key::{Direction, KeyPart};

use super::bound::Bound;
use super::kernel::Kernel;
use super::long_keys::with_keys;
use super::store::Store;
use super::{Flow, Input, Operator, Receive, Rows, compile, with};
use executor::Cx;
use executor::query::{SortKeys, count_of};
use plan::expr::Register;
use plan::query::{Sort, SortKey};
use plan::walk::Registers;

/// Rows stored beyond twice the limit before the surplus is discarded.
const SURPLUS: usize = if cfg!(debug_assertions) { 4 } else { 128 };

/// A sort, perhaps with a limit.
pub(super) struct Sorting<'p> {
    sort: &'p Sort,
    input: Input<'p>,
    kept: Kept<'p>,
}

/// The stored rows and their keys.
struct Kept<'p> {
    encoder: SortEncoder<'p>,
    keys: SortKeys,
    store: Store,
    limit: Option<usize>,
    /// The key of the last row within the limit so far; rows that are not less are not needed.
    last: Option<Vec<u8>>,
    /// Passes the first key of that row to the operators below.
    bound: Option<Bound>,
}

impl<'p> Sorting<'p> {
    pub(super) fn new(sort: &'p Sort, needed: &Registers) -> Self {
        let input = compile(&sort.input, &with(needed, sort.keys.iter().map(|key| &key.expr)));
        let kept = Kept {
            encoder: SortEncoder::new(&sort.keys, input.layout()),
            keys: SortKeys::default(),
            store: Store::new(input.layout(), needed),
            limit: None,
            last: None,
            bound: None,
        };
        Self { sort, input, kept }
    }
}

impl<'p> Operator<'p> for Sorting<'p> {
    fn layout(&self) -> &[Register] {
        &self.kept.store.layout
    }

    fn run(
        &mut self,
        cx: &mut Cx<'_>,
        rows: &mut Rows<'p>,
        receive: Receive<'_, 'p>,
    ) -> Result<Flow> {
        let Self { sort, input, kept } = self;
        kept.limit = match &sort.limit {
            Some(expr) => usize::try_from(count_of(expr, cx, types::Msg::TopNegative)?).ok(),
            None => None,
        };
        if let Some(bound) = Bound::of(&sort.keys).filter(|_| kept.limit.is_some()) {
            input.bound(&bound);
            kept.bound = Some(bound);
        }
        let mut charge = cx.session.accounting.grant.charge(0);
        input.run(cx, rows, &mut |cx, _, batch| {
            let _label = ledger::labelled(Label::Sort);
            kept.push(batch, cx)?;
            charge.set(kept.store.memory() + kept.keys.memory())?;
            Ok(Flow::More)
        })?;
        let order = order_of(&kept.keys, cx)?;
        kept.store.give(&order, cx, rows, receive)
    }
}

impl Kept<'_> {
    fn push(&mut self, batch: &Batch, cx: &mut Cx<'_>) -> Result<()> {
        let Self { encoder, keys, store, last, limit, bound } = self;
        let mut selection = Selection::default();
        selection.clear();
        encoder.encode(batch, cx, &mut |row, key| {
            if last.as_ref().is_none_or(|last| key < last.as_slice()) {
                keys.push_bytes(key);
                selection.push(row);
            }
        })?;
        store.push(batch, &selection);
        let Some(limit) = *limit else { return Ok(()) };
        if keys.len() >= limit.saturating_mul(2).saturating_add(SURPLUS) {
            let mut order = order_of(keys, cx)?;
            order.truncate(limit);
            store.retain(&order);
            let places: Vec<usize> = order.iter().map(|row| *row as usize).collect();
            keys.retain(&places);
            // Rows with the same key as the last one came later, and sort after it.
            *last = keys.len().checked_sub(1).map(|place| keys.get(place).to_vec());
            if let (Some(bound), Some(key)) = (bound, last) {
                bound.lower(key);
            }
        }
        Ok(())
    }
}

/// Encodes sort keys as bytes.
pub(super) struct SortEncoder<'p> {
    kernels: Vec<Kernel<'p>>,
    parts: Vec<KeyPart>,
    key: Vec<u8>,
}

impl<'p> SortEncoder<'p> {
    pub(super) fn new(keys: &'p [SortKey], layout: &[Register]) -> Self {
        let part = |key: &SortKey| KeyPart {
            collation: key.expr.ty.collation,
            direction: if key.descending { Direction::Descending } else { Direction::Ascending },
        };
        Self {
            kernels: keys.iter().map(|key| Kernel::new(&key.expr, layout)).collect(),
            parts: keys.iter().map(part).collect(),
            key: Vec::new(),
        }
    }

    /// Calls `see` with the key of each selected row.
    pub(super) fn encode(
        &mut self,
        batch: &Batch,
        cx: &mut Cx<'_>,
        see: &mut dyn FnMut(usize, &[u8]),
    ) -> Result<()> {
        let mut vectors: Vec<&Vector> = Vec::with_capacity(self.kernels.len());
        for kernel in &mut self.kernels {
            vectors.push(kernel.evaluate(batch, &batch.selection, cx)?);
        }
        let (parts, key) = (&self.parts, &mut self.key);
        with_keys(&vectors, &batch.selection, cx, || {
            for row in batch.selection.iter() {
                key.clear();
                for (vector, part) in vectors.iter().zip(parts) {
                    encode_row(vector, row, *part, key);
                }
                see(row, key);
            }
        })
    }
}

/// Appends the key of a row of a vector, as `encode_value` encodes its value. The caller asks for the memory of long
/// ones: [`with_keys`].
pub(super) fn encode_row(vector: &Vector, row: usize, part: KeyPart, out: &mut Vec<u8>) {
    let start = out.len();
    match vector.data() {
        Data::Int(rows) | Data::Date(rows) if !vector.is_null(row) => {
            out.push(1);
            out.extend_from_slice(&(rows[row].cast_unsigned() ^ 1 << 31).to_be_bytes());
        }
        Data::BigInt(rows) | Data::Money(rows) | Data::Time(rows) if !vector.is_null(row) => {
            out.push(1);
            out.extend_from_slice(&(rows[row].cast_unsigned() ^ 1 << 63).to_be_bytes());
        }
        _ => return encode_value_asked(&vector.get(row), part, out),
    }
    if part.direction == Direction::Descending {
        out[start..].iter_mut().for_each(|byte| *byte = !*byte);
    }
}

/// Returns the numbers of the keys in sort order; equal keys stay in input order.
///
/// # Errors
/// An error that stops the statement.
pub(super) fn order_of(keys: &SortKeys, cx: &Cx<'_>) -> Result<Vec<u32>> {
    let _label = ledger::labelled(Label::Sort);
    // The first bytes of a key beside its number: most comparisons need no more.
    let head = |place: usize| {
        let key = keys.get(place);
        let mut head = [0; 8];
        let len = key.len().min(8);
        head[..len].copy_from_slice(&key[..len]);
        u64::from_be_bytes(head)
    };
    let number = |place| u32::try_from(place).expect("a sort keeps fewer than 2^32 rows");
    let mut order: Vec<(u64, u32)> =
        (0..keys.len()).map(|place| (head(place), number(place))).collect();
    interruptible(&cx.session.connection.cancel, |comparisons| {
        order.sort_unstable_by(|a, b| {
            // Beside the heads, keys are compared that are elsewhere.
            let by_key = |comparisons: &mut Comparisons<'_>| {
                let (one, other) = (keys.get(a.1 as usize), keys.get(b.1 as usize));
                comparisons.compared(one.len().min(other.len()));
                one.cmp(other)
            };
            comparisons.compared(0);
            a.0.cmp(&b.0).then_with(|| by_key(comparisons)).then(a.1.cmp(&b.1))
        });
    })?;
    Ok(order.into_iter().map(|(_, number)| number).collect())
}

#[cfg(test)]
mod tests {
    use types::value::ColumnType;
    use types::{DataType, Value};

    use super::*;

    #[test]
    fn keys_of_rows_are_those_of_their_values() {
        let part = |direction| KeyPart { collation: types::Collation::default(), direction };
        let sets = [
            (DataType::Int, vec![Value::Int(-5), Value::Null, Value::Int(i32::MAX)]),
            (DataType::BigInt, vec![Value::BigInt(i64::MIN), Value::Null, Value::BigInt(7)]),
            (DataType::Date, vec![Value::Date(3), Value::Null]),
            (DataType::Money, vec![Value::Money(-3)]),
            (DataType::Float, vec![Value::Float(-0.5), Value::Null]),
        ];
        for (data_type, values) in sets {
            let mut vector = Vector::with_capacity_for(&ColumnType::nullable(data_type));
            values.iter().for_each(|value| vector.push(value));
            for direction in [Direction::Ascending, Direction::Descending] {
                for (row, value) in values.iter().enumerate() {
                    let (mut fast, mut plain) = (Vec::new(), Vec::new());
                    encode_row(&vector, row, part(direction), &mut fast);
                    encode_value_asked(value, part(direction), &mut plain);
                    assert_eq!(fast, plain, "{value:?}");
                }
            }
        }
    }
}
