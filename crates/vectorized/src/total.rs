//! Accumulators of COUNT, SUM, AVG, MIN and MAX for many groups at once, with typed loops.
//!
//! A loop gets the group number of each row. Results are those of the row accumulators: sums have
//! the same width and the same final function, and floats are added in the same order.

use std::cmp::Ordering;

use types::batch::{Data, Selection, Vector};
use types::compare;
use types::value::ColumnType;
use types::{Collation, DataType, Decimal, Error, Msg, Result, Value};

use super::few_groups;
use functions::{Total, finish_total};
use plan::long;
use sos::sched::BytePace;

/// The accumulators of one aggregate, for all groups.
pub(super) enum Totals {
    Count {
        rows: Vec<i64>,
        is_big: bool,
        nulls: bool,
    },
    Sum {
        sums: Vec<Sum>,
        scale: u8,
        ty: DataType,
        average: bool,
        nulls: bool,
    },
    Float {
        sums: Vec<(f64, i64)>,
        average: bool,
        nulls: bool,
    },
    Extreme {
        best: Vec<Value>,
        wants_less: bool,
        collation: Collation,
        nulls: bool,
    },
    /// MIN or MAX of values that sort as their words do.
    Word {
        best: Vec<Option<i64>>,
        wants_less: bool,
        form: Data,
        nulls: bool,
    },
}

/// A sum of whole numbers and the number of values.
#[derive(Clone, Copy, Default)]
pub(super) struct Sum {
    total: i128,
    rows: i64,
}

impl Sum {
    #[inline]
    fn add(&mut self, total: i64, rows: i64) {
        self.total += i128::from(total);
        self.rows += rows;
    }
}

/// Totals of an argument over many rows.
#[derive(Default)]
pub(super) struct Summary {
    /// Number of values that are not NULL.
    pub(super) rows: i64,
    /// Whether there are NULLs.
    pub(super) nulls: bool,
    /// The sum of the encoded values.
    pub(super) sum: i128,
    /// The least and the greatest encoded value.
    pub(super) extent: Option<(i64, i64)>,
}

/// The group number of each row of a batch, and the selected rows.
#[derive(Clone, Copy)]
pub(super) struct Groups<'a> {
    /// Group numbers, by row of the batch.
    pub(super) numbers: &'a [u32],
    pub(super) selection: &'a Selection,
    /// Number of groups so far.
    pub(super) len: usize,
}

impl Totals {
    /// Makes the accumulators of a function by its name; `None` if it has no typed loop.
    pub(super) fn new(name: &str, argument: Option<&ColumnType>, ty: &ColumnType) -> Option<Self> {
        let (is_sum, nulls) = (name == "SUM", false);
        Some(match (name, argument) {
            ("COUNT" | "COUNT_BIG", _) => {
                Self::Count { rows: Vec::new(), is_big: name == "COUNT_BIG", nulls }
            }
            ("SUM" | "AVG", Some(argument)) => match argument.data_type {
                DataType::Float => Self::Float { sums: Vec::new(), average: !is_sum, nulls },
                DataType::Decimal { scale, .. } => {
                    let ty = ty.data_type;
                    Self::Sum { sums: Vec::new(), scale, ty, average: !is_sum, nulls }
                }
                DataType::Int | DataType::BigInt | DataType::Money => {
                    let ty = ty.data_type;
                    Self::Sum { sums: Vec::new(), scale: 0, ty, average: !is_sum, nulls }
                }
                _ => return None,
            },
            ("MIN" | "MAX", Some(argument)) => {
                let wants_less = name == "MIN";
                let form = Data::of_type(&argument.data_type);
                if words(&form).is_some() {
                    Self::Word { best: Vec::new(), wants_less, form, nulls }
                } else {
                    let collation = argument.collation;
                    Self::Extreme { best: Vec::new(), wants_less, collation, nulls }
                }
            }
            _ => return None,
        })
    }

    /// Merges the groups of another worker; `numbers` are the numbers of its groups here.
    ///
    /// # Errors
    /// 8115 if a decimal sum has more than 38 digits.
    pub(super) fn merge(&mut self, other: Self, numbers: &[u32], groups: usize) -> Result<()> {
        self.grow(groups);
        self.note_nulls(other.saw_null());
        match (self, other) {
            (Self::Count { rows, .. }, Self::Count { rows: more, .. }) => {
                each(numbers, more, |group, more| rows[group] += more);
            }
            (Self::Sum { sums, .. }, Self::Sum { sums: more, .. }) => {
                for (group, more) in numbers.iter().zip(more) {
                    let sum = &mut sums[*group as usize];
                    add_decimal(sum, more.total)?;
                    sum.rows += more.rows - 1;
                }
            }
            (
                Self::Extreme { best, wants_less, collation, .. },
                Self::Extreme { best: more, .. },
            ) => {
                let keep = if *wants_less { Ordering::Less } else { Ordering::Greater };
                each(numbers, more, |group, value| {
                    let best = &mut best[group];
                    let is_better = best.is_null() || long::order(&value, best, *collation) == keep;
                    if !value.is_null() && is_better {
                        *best = value;
                    }
                });
            }
            (Self::Word { best, wants_less, .. }, Self::Word { best: more, .. }) => {
                let better = if *wants_less { i64::min } else { i64::max };
                each(numbers, more, |group, word| {
                    let Some(word) = word else { return };
                    best[group] = Some(best[group].map_or(word, |best| better(best, word)));
                });
            }
            _ => unreachable!("one call has one kind of totals, and sums of floats are not merged"),
        }
        Ok(())
    }

    /// Makes room for groups.
    pub(super) fn grow(&mut self, groups: usize) {
        match self {
            Self::Count { rows, .. } => rows.resize(groups, 0),
            Self::Sum { sums, .. } => sums.resize(groups, Sum::default()),
            Self::Float { sums, .. } => sums.resize(groups, (0.0, 0)),
            Self::Extreme { best, .. } => best.resize(groups, Value::Null),
            Self::Word { best, .. } => best.resize(groups, None),
        }
    }

    /// Adds the argument of each selected row to its group; no argument is `COUNT(*)`.
    ///
    /// # Errors
    /// 8115 if a decimal sum has more than 38 digits.
    pub(super) fn add(&mut self, groups: Groups<'_>, argument: Option<&Vector>) -> Result<()> {
        self.grow(groups.len);
        let Some(vector) = argument else {
            if let Self::Count { rows, .. } = self {
                count(rows, groups);
            }
            return Ok(());
        };
        let mut kept = Selection::default();
        let mut groups = groups;
        if vector.has_nulls() {
            kept.filter(groups.selection, |row| !vector.is_null(row));
            self.note_nulls(kept.len() < groups.selection.len());
            groups.selection = &kept;
        }
        match self {
            Self::Count { rows, .. } => count(rows, groups),
            Self::Sum { sums, scale, .. } => return add_whole(sums, *scale, groups, vector),
            Self::Float { sums, .. } => match vector.data() {
                Data::Float(values) => groups.selection.for_each(|row| {
                    let sum = &mut sums[groups.numbers[row] as usize];
                    sum.0 += values[row];
                    sum.1 += 1;
                }),
                _ => groups.selection.for_each(|row| {
                    let Value::Float(value) = vector.get(row) else { return };
                    let sum = &mut sums[groups.numbers[row] as usize];
                    sum.0 += value;
                    sum.1 += 1;
                }),
            },
            Self::Extreme { best, wants_less, collation, .. } => {
                extremes(best, *wants_less, *collation, groups, vector);
            }
            Self::Word { .. } => self.add_words(groups, vector),
        }
        Ok(())
    }

    /// Adds the totals of many rows to the only group. For `COUNT(*)`, `rows` includes NULLs.
    pub(super) fn add_summary(&mut self, summary: &Summary) {
        self.grow(1);
        self.note_nulls(summary.nulls);
        match self {
            Self::Count { rows, .. } => rows[0] += summary.rows,
            Self::Sum { sums, .. } => {
                sums[0].total += summary.sum;
                sums[0].rows += summary.rows;
            }
            Self::Word { best, wants_less, .. } => {
                let Some((least, largest)) = summary.extent else { return };
                let other = if *wants_less { least } else { largest };
                let better = if *wants_less { i64::min } else { i64::max };
                best[0] = Some(best[0].map_or(other, |best| better(best, other)));
            }
            Self::Float { .. } | Self::Extreme { .. } => {
                unreachable!("no summary is made for these")
            }
        }
    }

    fn note_nulls(&mut self, some: bool) {
        let (Self::Count { nulls, .. }
        | Self::Sum { nulls, .. }
        | Self::Float { nulls, .. }
        | Self::Extreme { nulls, .. }
        | Self::Word { nulls, .. }) = self;
        *nulls |= some;
    }

    /// Returns true if a NULL was ignored (warning 8153).
    pub(super) const fn saw_null(&self) -> bool {
        let (Self::Count { nulls, .. }
        | Self::Sum { nulls, .. }
        | Self::Float { nulls, .. }
        | Self::Extreme { nulls, .. }
        | Self::Word { nulls, .. }) = self;
        *nulls
    }

    /// Returns the result of a group, as if `added` had been added to each value of a sum of whole
    /// numbers.
    ///
    /// # Errors
    /// 8115 if it does not fit its type.
    pub(super) fn finish(&mut self, group: usize, added: i64) -> Result<Value> {
        match self {
            Self::Count { rows, is_big: true, .. } => Ok(Value::BigInt(rows[group])),
            Self::Count { rows, .. } => {
                let rows = i32::try_from(rows[group]);
                rows.map(Value::Int).map_err(|_| Error::from(Msg::ArithmeticOverflow("int")))
            }
            Self::Sum { ty, average, .. } => {
                let (ty, average) = (*ty, *average);
                self.finish_sum(group, added, average, &ty)
            }
            Self::Float { average, .. } => {
                let average = *average;
                self.finish_sum(group, added, average, &DataType::Float)
            }
            Self::Extreme { best, .. } => Ok(std::mem::take(&mut best[group])),
            Self::Word { best, form, .. } => {
                Ok(best[group].map_or(Value::Null, |word| value_of(form, word)))
            }
        }
    }

    /// As [`Self::finish`], as the SUM or the AVG of the same values whose result has type `ty`.
    ///
    /// # Errors
    /// 8115 if it does not fit its type.
    ///
    /// # Panics
    /// If these are not the accumulators of a SUM or an AVG.
    pub(super) fn finish_sum(
        &self,
        group: usize,
        added: i64,
        average: bool,
        ty: &DataType,
    ) -> Result<Value> {
        let (total, rows) = match self {
            Self::Sum { sums, scale, .. } => {
                let Sum { total, rows } = sums[group];
                let total = match ty {
                    DataType::Decimal { .. } => {
                        Total::Decimal(Some(Decimal::new(total, 38, *scale)))
                    }
                    _ => Total::Whole(total + i128::from(added) * i128::from(rows)),
                };
                (total, rows)
            }
            Self::Float { sums, .. } => (Total::Float(sums[group].0), sums[group].1),
            Self::Count { .. } | Self::Extreme { .. } | Self::Word { .. } => {
                unreachable!("only sums have twins")
            }
        };
        finish_total(&total, rows, average, ty)
    }

    /// Returns whether [`Self::finish`] cannot fail for a group.
    pub(super) fn fits(&self, group: usize, added: i64) -> bool {
        match self {
            Self::Count { is_big: true, .. }
            | Self::Float { .. }
            | Self::Extreme { .. }
            | Self::Word { .. } => true,
            Self::Count { rows, .. } => i32::try_from(rows[group]).is_ok(),
            Self::Sum { sums, ty, average, .. } => {
                let Sum { total, rows } = sums[group];
                let total = total + i128::from(added) * i128::from(rows);
                let whole = if *average { total / i128::from(rows.max(1)) } else { total };
                match ty {
                    DataType::Int => i32::try_from(whole).is_ok(),
                    DataType::BigInt | DataType::Money => i64::try_from(whole).is_ok(),
                    _ => false,
                }
            }
        }
    }

    /// Returns the word of a group's result, `Some(None)` for NULL; `None` if the result has no word.
    pub(super) fn word(&self, group: usize, added: i64) -> Option<Option<i64>> {
        match self {
            Self::Count { rows, .. } => Some(Some(rows[group])),
            Self::Sum {
                sums,
                ty: DataType::Int | DataType::BigInt | DataType::Money,
                average: false,
                ..
            } => {
                let Sum { total, rows } = sums[group];
                let total = total + i128::from(added) * i128::from(rows);
                (rows == 0).then_some(None).or_else(|| i64::try_from(total).ok().map(Some))
            }
            Self::Word { best, form, .. } if !matches!(form, Data::ShortDecimal { .. }) => {
                Some(best[group])
            }
            Self::Sum { .. } | Self::Float { .. } | Self::Extreme { .. } | Self::Word { .. } => {
                None
            }
        }
    }

    fn add_words(&mut self, groups: Groups<'_>, vector: &Vector) {
        let Self::Word { best, wants_less, form, .. } = self else { return };
        let wants_less = *wants_less;
        let mut see = |group: u32, word: i64| {
            let best = &mut best[group as usize];
            let is_better = best.is_none_or(|b| if wants_less { word < b } else { word > b });
            if is_better {
                *best = Some(word);
            }
        };
        macro_rules! each {
            ($rows:expr) => {
                groups.selection.for_each(|row| see(groups.numbers[row], i64::from($rows[row])))
            };
        }
        match vector.data() {
            Data::TinyInt(rows) => each!(rows),
            Data::SmallInt(rows) => each!(rows),
            Data::Int(rows) | Data::Date(rows) => each!(rows),
            Data::SmallDateTime(rows) => each!(rows),
            Data::BigInt(rows)
            | Data::Money(rows)
            | Data::Time(rows)
            | Data::DateTime(rows)
            | Data::DateTime2(rows) => each!(rows),
            Data::ShortDecimal { digits, scale, .. } if same_scale(form, *scale) => each!(digits),
            _ => groups.selection.for_each(|row| {
                if let Some(word) = word_of(form, &vector.get(row)) {
                    see(groups.numbers[row], word);
                }
            }),
        }
    }
}

fn each<T>(numbers: &[u32], more: Vec<T>, mut add: impl FnMut(usize, T)) {
    numbers.iter().zip(more).for_each(|(group, value)| add(*group as usize, value));
}

fn count(rows: &mut [i64], groups: Groups<'_>) {
    if few_groups::is_worthwhile(groups) {
        return few_groups::count(groups, rows);
    }
    groups.selection.for_each(|row| rows[groups.numbers[row] as usize] += 1);
}

/// 10^38: one more than the greatest decimal.
const DECIMAL_END: u128 = 10_u128.pow(38);

fn add_whole(sums: &mut [Sum], to: u8, groups: Groups<'_>, vector: &Vector) -> Result<()> {
    let is_worthwhile = few_groups::is_worthwhile(groups);
    macro_rules! each {
        ($rows:expr) => {
            if is_worthwhile
                && few_groups::are_small(groups.selection, |row| {
                    few_groups::bits_of(i64::from($rows[row]))
                })
            {
                few_groups::add(
                    groups,
                    |row| i64::from($rows[row]),
                    |group, total, rows| {
                        sums[group].add(total, rows);
                    },
                );
            } else {
                groups.selection.for_each(|row| {
                    // The sum of 2^63 values of 64 bits fits.
                    sums[groups.numbers[row] as usize].add(i64::from($rows[row]), 1);
                });
            }
        };
    }
    match vector.data() {
        Data::Int(rows) => each!(rows),
        Data::BigInt(rows) | Data::Money(rows) => each!(rows),
        Data::ShortDecimal { digits, scale, .. } if *scale == to => each!(digits),
        Data::Decimal { digits, scale, .. } if *scale == to => {
            // A sum that overflows in the middle of a batch does so even if it would fit at its end.
            let end = DECIMAL_END - few_groups::SUM_MAX;
            let bits = |row: usize| u64::try_from(digits[row] ^ digits[row] >> 127);
            if is_worthwhile
                && sums.iter().all(|sum| sum.total.unsigned_abs() < end)
                && few_groups::are_small(groups.selection, |row| bits(row).unwrap_or(u64::MAX))
            {
                #[expect(clippy::cast_possible_truncation, reason = "the number is small")]
                few_groups::add(
                    groups,
                    |row| digits[row] as i64,
                    |group, total, rows| {
                        sums[group].add(total, rows);
                    },
                );
                return Ok(());
            }
            return groups.selection.try_for_each(|row| {
                add_decimal(&mut sums[groups.numbers[row] as usize], digits[row])
            });
        }
        _ => {
            return groups.selection.try_for_each(|row| {
                let sum = &mut sums[groups.numbers[row] as usize];
                match vector.get(row) {
                    Value::Int(n) => sum.total += i128::from(n),
                    Value::BigInt(n) | Value::Money(n) => sum.total += i128::from(n),
                    Value::Decimal(d) => {
                        let d = d.rescale(38, to, types::decimal::Rounding::HalfAway);
                        let d = d.ok_or_else(|| Error::from(Msg::InternalError))?;
                        return add_decimal(sum, d.mantissa());
                    }
                    _ => return Err(Msg::InternalError.into()),
                }
                sum.rows += 1;
                Ok(())
            });
        }
    }
    Ok(())
}

#[inline]
fn add_decimal(sum: &mut Sum, digits: i128) -> Result<()> {
    // Both are less than 10^38, so their sum fits.
    sum.total += digits;
    sum.rows += 1;
    if sum.total.unsigned_abs() >= DECIMAL_END {
        return Err(Msg::ArithmeticOverflow("numeric").into());
    }
    Ok(())
}

fn extremes(
    best: &mut [Value],
    wants_less: bool,
    collation: Collation,
    groups: Groups<'_>,
    vector: &Vector,
) {
    let keep = if wants_less { Ordering::Less } else { Ordering::Greater };
    if let Data::Bytes(rows) = vector.data() {
        // Only rows that replace the extreme are converted to a value.
        let mut pace = BytePace::new();
        return groups.selection.for_each(|row| {
            let best = &mut best[groups.numbers[row] as usize];
            let bytes = rows.get(row);
            pace.passed(bytes.len());
            let is_better = match best {
                Value::VarChar(best) => collation.compare_varchar(bytes, best) == keep,
                Value::NVarChar(best) => collation.compare_nvarchar(bytes, best) == keep,
                Value::VarBinary(best) => compare::order_binary(bytes, best) == keep,
                _ => true,
            };
            if is_better {
                *best = rows.kind.value(types::Bytes::copy_from(bytes));
            }
        });
    }
    groups.selection.for_each(|row| {
        let value = vector.get(row);
        let best = &mut best[groups.numbers[row] as usize];
        if best.is_null() || long::order(&value, best, collation) == keep {
            *best = value;
        }
    });
}

/// Returns `Some` if the values of a form sort as their words do.
const fn words(form: &Data) -> Option<()> {
    match form {
        Data::TinyInt(_)
        | Data::SmallInt(_)
        | Data::Int(_)
        | Data::Date(_)
        | Data::BigInt(_)
        | Data::Money(_)
        | Data::Time(_)
        | Data::DateTime(_)
        | Data::SmallDateTime(_)
        | Data::DateTime2(_)
        | Data::ShortDecimal { .. } => Some(()),
        Data::Bit(_)
        | Data::Real(_)
        | Data::Float(_)
        | Data::Decimal { .. }
        | Data::Bytes(_)
        | Data::Values(_)
        | Data::Constant(..) => None,
    }
}

fn same_scale(form: &Data, wanted: u8) -> bool {
    matches!(form, Data::ShortDecimal { scale, .. } if *scale == wanted)
}

/// Returns the word of a value, for a form of vector.
fn word_of(form: &Data, value: &Value) -> Option<i64> {
    Some(match value {
        Value::TinyInt(v) => i64::from(*v),
        Value::SmallInt(v) => i64::from(*v),
        Value::Int(v) | Value::Date(v) => i64::from(*v),
        Value::BigInt(v) | Value::Money(v) | Value::Time(v) => *v,
        Value::DateTime { days, ticks } => Data::pack_datetime(*days, *ticks),
        Value::SmallDateTime { days, minutes } => i64::from(*days) << 16 | i64::from(*minutes),
        Value::DateTime2 { days, ticks } => Data::pack_datetime2(*days, *ticks),
        Value::Decimal(d) => {
            let Data::ShortDecimal { precision, scale, .. } = form else { return None };
            let d = d.rescale(*precision, *scale, types::decimal::Rounding::HalfAway)?;
            i64::try_from(d.mantissa()).ok()?
        }
        _ => return None,
    })
}

/// Returns the value of a word, for a form of vector.
fn value_of(form: &Data, word: i64) -> Value {
    let small = || u32::try_from(word).unwrap_or(0);
    match form {
        Data::TinyInt(_) => Value::TinyInt(u8::try_from(word).unwrap_or(0)),
        Data::SmallInt(_) => Value::SmallInt(i16::try_from(word).unwrap_or(0)),
        Data::Int(_) => Value::Int(i32::try_from(word).unwrap_or(0)),
        Data::Date(_) => Value::Date(i32::try_from(word).unwrap_or(0)),
        Data::BigInt(_) => Value::BigInt(word),
        Data::Money(_) => Value::Money(word),
        Data::Time(_) => Value::Time(word),
        Data::DateTime(_) => {
            let (days, ticks) = Data::unpack_datetime(word);
            Value::DateTime { days, ticks }
        }
        Data::SmallDateTime(_) => Value::SmallDateTime {
            days: u16::try_from(small() >> 16).unwrap_or(0),
            minutes: u16::try_from(small() & 0xFFFF).unwrap_or(0),
        },
        Data::DateTime2(_) => {
            let (days, ticks) = Data::unpack_datetime2(word);
            Value::DateTime2 { days, ticks }
        }
        Data::ShortDecimal { precision, scale, .. } => {
            Value::Decimal(Decimal::new(i128::from(word), *precision, *scale))
        }
        Data::Bit(_)
        | Data::Real(_)
        | Data::Float(_)
        | Data::Decimal { .. }
        | Data::Bytes(_)
        | Data::Values(_)
        | Data::Constant(..) => Value::Null,
    }
}
