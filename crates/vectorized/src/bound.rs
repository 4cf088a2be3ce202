//! Bounds: a sort with a limit passes the first key of the last row within its limit to the operators
//! below while they run.
//!
//! ```text
//!  Sorting ──Bound──► Grouping, TableScan      rows that sort after the bound need not be produced
//! ```
//! A scan that has the bound skips blocks by their zones and decodes the other columns only for
//! rows that can still be among the first; an aggregate finishes only such groups. The sort tests
//! the rows again, so a row that passes is harmless. A row that is dropped must not suppress an error
//! or a warning: operators pass a bound down only where nothing can fail.

use std::cell::Cell;
use std::rc::Rc;

use types::DataType;
use types::batch::{Data, Selection, Vector};

use plan::expr::{ExprKind, Register};
use plan::query::SortKey;

/// The bound of a sort, for the operator whose column has this register.
#[derive(Clone)]
pub(super) struct Bound {
    pub(super) register: Register,
    shared: Rc<Shared>,
}

struct Shared {
    data_type: DataType,
    descending: bool,
    /// Whether the sort has no other key: rows that are equal to the last one are then not needed.
    is_only: bool,
    /// The word of the last row within the limit; `None` as long as every row is needed.
    last: Cell<Option<i64>>,
}

impl Bound {
    /// Makes the bound of a sort by these keys; `None` if the first is not a column whose values sort
    /// as their words do.
    pub(super) fn of(keys: &[SortKey]) -> Option<Self> {
        let first = keys.first()?;
        let ExprKind::Column(register) = first.expr.kind else { return None };
        let data_type = first.expr.ty.data_type;
        key_bytes(data_type)?;
        let (descending, is_only) = (first.descending, keys.len() == 1);
        let shared = Shared { data_type, descending, is_only, last: Cell::new(None) };
        Some(Self { register, shared: Rc::new(shared) })
    }

    /// Returns the same bound for the register that this one is a copy of.
    pub(super) fn on(&self, register: Register) -> Self {
        Self { register, shared: Rc::clone(&self.shared) }
    }

    /// Lowers the bound to the row with this sort key: see `sort.rs`.
    pub(super) fn lower(&self, key: &[u8]) {
        let Shared { data_type, descending, .. } = *self.shared;
        if let Some(word) = word_of_key(data_type, descending, key) {
            self.shared.last.set(Some(word));
        }
    }

    /// Returns whether there are rows that are not needed.
    pub(super) fn is_set(&self) -> bool {
        self.shared.last.get().is_some()
    }

    /// Returns whether a row with this word, or with NULL, may be among the first.
    #[inline]
    pub(super) fn needs(&self, word: Option<i64>) -> bool {
        let Shared { descending, is_only, ref last, .. } = *self.shared;
        let Some(last) = last.get() else { return true };
        // NULL sorts before any value.
        let Some(word) = word else { return !descending };
        let is_before = if descending { word > last } else { word < last };
        is_before || (word == last && !is_only)
    }

    /// Returns whether a value between these words may be among the first. NULLs are not asked for.
    pub(super) fn needs_some(&self, least: i64, largest: i64) -> bool {
        self.needs(Some(if self.shared.descending { largest } else { least }))
    }

    /// Returns whether NULLs may be among the first.
    pub(super) fn needs_nulls(&self) -> bool {
        self.needs(None)
    }

    /// Selects the rows of a vector that may be among the first.
    pub(super) fn select(&self, vector: &Vector, rows: &Selection, out: &mut Selection) {
        macro_rules! each {
            ($words:expr) => {
                out.filter(rows, |row| {
                    self.needs((!vector.is_null(row)).then(|| i64::from($words[row])))
                })
            };
        }
        match vector.data() {
            Data::TinyInt(words) => each!(words),
            Data::SmallInt(words) => each!(words),
            Data::Int(words) | Data::Date(words) => each!(words),
            Data::BigInt(words)
            | Data::Money(words)
            | Data::Time(words)
            | Data::DateTime(words)
            | Data::DateTime2(words) => each!(words),
            Data::Bit(_)
            | Data::SmallDateTime(_)
            | Data::Real(_)
            | Data::Float(_)
            | Data::ShortDecimal { .. }
            | Data::Decimal { .. }
            | Data::Bytes(_)
            | Data::Values(_)
            | Data::Constant(..) => out.copy_from(rows),
        }
    }
}

/// Returns the length of a type's sort key after its first byte; `None` for a type without bounds.
const fn key_bytes(data_type: DataType) -> Option<usize> {
    Some(match data_type {
        DataType::TinyInt => 1,
        DataType::SmallInt => 2,
        DataType::Int | DataType::Date => 4,
        DataType::BigInt | DataType::Money | DataType::Time(_) | DataType::DateTime => 8,
        DataType::DateTime2(_) => 12,
        _ => return None,
    })
}

/// Returns the word of the value whose sort key a key begins with; `None` for NULL. `types::key`
/// writes such keys.
fn word_of_key(data_type: DataType, descending: bool, key: &[u8]) -> Option<i64> {
    let mut bytes = [0; 13];
    let own = &mut bytes[..=key_bytes(data_type)?];
    own.copy_from_slice(key.get(..own.len())?);
    if descending {
        own.iter_mut().for_each(|byte| *byte = !*byte);
    }
    let [mark, rest @ ..] = bytes;
    if mark == 0 {
        return None;
    }
    let number = |bytes: &[u8]| bytes.iter().fold(0_u64, |all, byte| all << 8 | u64::from(*byte));
    // The sign is flipped, so that negative numbers come first.
    let signed = |bytes: &[u8]| {
        let unused = 64 - bytes.len() * 8;
        ((number(bytes) << unused) ^ 1 << 63).cast_signed() >> unused
    };
    let days = || i32::try_from(signed(&rest[..4])).ok();
    match data_type {
        DataType::TinyInt => Some(number(&rest[..1]).cast_signed()),
        DataType::SmallInt => Some(signed(&rest[..2])),
        DataType::Int | DataType::Date => Some(signed(&rest[..4])),
        DataType::BigInt | DataType::Money | DataType::Time(_) => Some(signed(&rest[..8])),
        DataType::DateTime => {
            Some(Data::pack_datetime(days()?, u32::try_from(number(&rest[4..8])).ok()?))
        }
        DataType::DateTime2(_) => Some(Data::pack_datetime2(days()?, signed(&rest[4..12]))),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use plan::long::encode_value_asked;
    use types::key::{Direction, KeyPart};
    use types::value::ColumnType;
    use types::{Collation, Value};

    use super::*;

    /// The values of a type in ascending order, NULL first.
    fn samples() -> Vec<(DataType, Vec<Value>)> {
        let datetime = |days, ticks| Value::DateTime { days, ticks };
        let datetime2 = |days, ticks| Value::DateTime2 { days, ticks };
        vec![
            (DataType::TinyInt, [0, 7, 255].map(Value::TinyInt).to_vec()),
            (DataType::SmallInt, [i16::MIN, -1, 0, 5, i16::MAX].map(Value::SmallInt).to_vec()),
            (DataType::Int, [i32::MIN, -3, 0, 5, i32::MAX].map(Value::Int).to_vec()),
            (DataType::Date, [0, 700_000].map(Value::Date).to_vec()),
            (DataType::BigInt, [i64::MIN, -1, 0, 5, i64::MAX].map(Value::BigInt).to_vec()),
            (DataType::Money, [-5, 12].map(Value::Money).to_vec()),
            (DataType::Time(7), [0, 863_999_999_999].map(Value::Time).to_vec()),
            (DataType::DateTime, vec![datetime(-5, 9), datetime(0, 0), datetime(4, 25_919_999)]),
            (
                DataType::DateTime2(0),
                vec![datetime2(0, 5), datetime2(9, 0), datetime2(9, 70_000_000)],
            ),
        ]
    }

    /// Which rows a sort needs after it has found that one of them is the last.
    #[test]
    fn rows_are_needed_up_to_the_last_one() {
        for (data_type, values) in samples() {
            let mut rows = vec![Value::Null];
            rows.extend(values);
            for (descending, is_only) in
                [(false, false), (false, true), (true, false), (true, true)]
            {
                let direction =
                    if descending { Direction::Descending } else { Direction::Ascending };
                let part = KeyPart { collation: Collation::default(), direction };
                if descending {
                    rows.sort_by_key(|value| {
                        let mut key = Vec::new();
                        encode_value_asked(value, part, &mut key);
                        key
                    });
                }
                for last in 0..rows.len() {
                    check(data_type, &rows, last, (descending, is_only), part);
                }
            }
        }
    }

    fn check(
        data_type: DataType,
        rows: &[Value],
        last: usize,
        (descending, is_only): (bool, bool),
        part: KeyPart,
    ) {
        let shared = Shared { data_type, descending, is_only, last: Cell::new(None) };
        let bound = Bound { register: Register(0), shared: Rc::new(shared) };
        let mut vector = Vector::with_capacity_for(&ColumnType::nullable(data_type));
        rows.iter().for_each(|row| vector.push(row));
        let mut out = Selection::default();
        bound.select(&vector, &Selection::all(rows.len()), &mut out);
        assert_eq!(out.len(), rows.len(), "there is no bound yet");
        let mut key = Vec::new();
        encode_value_asked(&rows[last], part, &mut key);
        key.extend_from_slice(b"another key");
        bound.lower(&key);
        bound.select(&vector, &Selection::all(rows.len()), &mut out);
        let wanted = match rows[last] {
            Value::Null => rows.len(),
            _ => last + usize::from(!is_only),
        };
        let found: Vec<usize> = out.iter().collect();
        assert_eq!(found, (0..wanted).collect::<Vec<_>>(), "{data_type:?} {descending} {last}");
    }
}
