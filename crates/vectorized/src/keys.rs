//! `Keys`: encodes the keys of joins, groups and DISTINCT as 64-bit words, so that equal keys are
//! equal words.
//!
//! A number or a date is one word, a decimal two words at the scale of its type, and a string the
//! number that an [`Interner`] assigns to its sort key. Both sides of a join use the same `Keys`.

use types::batch::{Data, Selection, Vector};
use types::value::ColumnType;
use types::{DataType, Decimal, Value};

use super::interner::{Interner, Unknown};
use super::table::KeyTable;

/// The word of a NULL, in columns whose values never have it.
const NULL_WORD: u64 = u64::MAX;

/// How NULLs in keys compare.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum NullKeys {
    /// NULLs are equal to each other: groups and DISTINCT.
    Equal,
    /// A key with a NULL matches nothing: joins.
    Nothing,
}

/// Encodes the values of key columns as words.
#[derive(Clone)]
pub(super) struct Keys {
    columns: Vec<KeyColumn>,
    width: usize,
    /// Position of the word with the NULL bits, once there was a NULL in a column whose words leave
    /// no value for NULL: see [`Self::widen`].
    null_word: Option<usize>,
    nulls: NullKeys,
}

#[derive(Clone)]
struct KeyColumn {
    form: Form,
    /// Position of its first word.
    at: usize,
}

#[derive(Clone)]
enum Form {
    /// Values of fewer than 64 bits: [`NULL_WORD`] is free.
    Small,
    /// Values of 64 bits.
    Word,
    /// A decimal converted to this scale: 128 bits.
    Decimal(u8, Interner),
    /// A value numbered by an interner.
    Number(Interner),
}

/// The encoded keys of rows, stored consecutively.
#[derive(Default)]
pub(super) struct KeyRows {
    /// `width` words per row.
    pub(super) words: Vec<u64>,
    /// Positions of the rows whose key matches nothing, ascending, among the encoded rows.
    pub(super) without: Vec<usize>,
    /// Number of encoded rows.
    pub(super) rows: usize,
}

impl Keys {
    /// Makes an encoder for keys of these types.
    pub(super) fn new(types: &[ColumnType], nulls: NullKeys) -> Self {
        let mut width = 0;
        let mut columns = Vec::with_capacity(types.len());
        for ty in types {
            let form = form_of(ty);
            let at = width;
            width += if matches!(form, Form::Decimal(..)) { 2 } else { 1 };
            columns.push(KeyColumn { form, at });
        }
        Self { columns, width, null_word: None, nulls }
    }

    /// Adds a word of NULL bits to the keys, and to those in `table`, which ends with them, if these
    /// vectors have the first NULL that needs it. Must be called before their rows are encoded, if
    /// NULLs are equal.
    pub(super) fn widen(&mut self, vectors: &[&Vector], table: &mut KeyTable) {
        if self.null_word.is_some() || self.nulls == NullKeys::Nothing {
            return;
        }
        let needs = |(column, vector): (&KeyColumn, &&Vector)| {
            matches!(column.form, Form::Word | Form::Decimal(..)) && vector.has_nulls()
        };
        if self.columns.iter().zip(vectors).any(needs) {
            self.null_word = Some(self.width);
            self.width += 1;
            table.widen();
        }
    }

    /// Returns the number of words per key.
    pub(super) const fn width(&self) -> usize {
        self.width
    }

    /// Returns the position of a column's first word in a key.
    pub(super) fn place(&self, column: usize) -> usize {
        self.columns[column].at
    }

    /// Returns the memory of interned values, in bytes.
    pub(super) fn memory(&self) -> usize {
        let of = |column: &KeyColumn| match &column.form {
            Form::Small | Form::Word => 0,
            Form::Decimal(_, interner) | Form::Number(interner) => interner.memory(),
        };
        self.columns.iter().map(of).sum()
    }

    /// Encodes the keys of the selected rows into `out`. With [`Unknown::Skip`], a key with a value
    /// never seen before counts as one that matches nothing.
    pub(super) fn encode(
        &mut self,
        vectors: &[&Vector],
        selection: &Selection,
        unknown: Unknown,
        out: &mut KeyRows,
    ) {
        out.rows = selection.len();
        out.words.clear();
        out.words.resize(out.rows * self.width, 0);
        out.without.clear();
        if out.rows == 0 {
            return;
        }
        let (width, null_word) = (self.width, self.null_word);
        for (number, (column, vector)) in self.columns.iter_mut().zip(vectors).enumerate() {
            let mut target = Target { out, width, at: column.at };
            column.encode(vector, selection, unknown, &mut target);
            if vector.has_nulls() {
                let bit = null_word.map(|word| NullBit { word, mask: 1 << (number % 64) });
                column.encode_nulls(vector, selection, self.nulls, bit, &mut target);
            }
        }
        out.without.sort_unstable();
        out.without.dedup();
    }
}

/// The bit of a key that says that a column is NULL.
#[derive(Clone, Copy)]
struct NullBit {
    /// Position of its word in the key.
    word: usize,
    mask: u64,
}

/// The destination of a column's words.
struct Target<'a> {
    out: &'a mut KeyRows,
    width: usize,
    at: usize,
}

impl Target<'_> {
    #[inline]
    fn put(&mut self, selection: &Selection, word: impl Fn(usize) -> u64) {
        let words = self.out.words[self.at..].iter_mut().step_by(self.width);
        match selection.list() {
            None => words.enumerate().for_each(|(row, to)| *to = word(row)),
            Some(rows) => {
                words.zip(rows).for_each(|(to, row)| *to = word(usize::from(*row)));
            }
        }
    }

    fn set(&mut self, place: usize, word: u64) {
        self.out.words[place * self.width + self.at] = word;
    }
}

impl KeyColumn {
    fn encode(
        &mut self,
        vector: &Vector,
        selection: &Selection,
        unknown: Unknown,
        target: &mut Target<'_>,
    ) {
        match (&mut self.form, vector.data()) {
            (Form::Small | Form::Word, data) => encode_word(data, vector, selection, target),
            (Form::Decimal(scale, interner), _) => {
                encode_decimals(vector, selection, *scale, interner, unknown, target);
            }
            (Form::Number(interner), Data::Bytes(rows)) => {
                let mut see = |place: usize, number: Option<u32>| match number {
                    Some(number) => target.set(place, u64::from(number)),
                    None => target.out.without.push(place),
                };
                if !vector.has_nulls() {
                    return interner.strings(rows, selection, unknown, see);
                }
                let mut kept = Selection::default();
                kept.filter(selection, |row| !vector.is_null(row));
                let places = selection.iter().enumerate().filter(|(_, row)| !vector.is_null(*row));
                let places: Vec<usize> = places.map(|(place, _)| place).collect();
                interner.strings(rows, &kept, unknown, |nth, number| see(places[nth], number));
            }
            (Form::Number(interner), _) => {
                for (place, row) in selection.iter().enumerate() {
                    let value = vector.get(row);
                    if value.is_null() {
                        continue;
                    }
                    match interner.value(&value, unknown) {
                        Some(number) => target.set(place, u64::from(number)),
                        None => target.out.without.push(place),
                    }
                }
            }
        }
    }

    fn encode_nulls(
        &self,
        vector: &Vector,
        selection: &Selection,
        rule: NullKeys,
        bit: Option<NullBit>,
        target: &mut Target<'_>,
    ) {
        for (place, _) in selection.iter().enumerate().filter(|(_, row)| vector.is_null(*row)) {
            if rule == NullKeys::Nothing {
                target.out.without.push(place);
                continue;
            }
            match (&self.form, bit) {
                (Form::Small | Form::Number(_), _) => target.set(place, NULL_WORD),
                (_, None) => unreachable!("the keys were widened before they are encoded"),
                (Form::Word | Form::Decimal(..), Some(bit)) => {
                    target.set(place, 0);
                    if matches!(self.form, Form::Decimal(..)) {
                        target.out.words[place * target.width + target.at + 1] = 0;
                    }
                    target.out.words[place * target.width + bit.word] |= bit.mask;
                }
            }
        }
    }
}

fn form_of(ty: &ColumnType) -> Form {
    match ty.data_type {
        DataType::Bit
        | DataType::TinyInt
        | DataType::SmallInt
        | DataType::Int
        | DataType::Date
        | DataType::SmallDateTime => Form::Small,
        DataType::BigInt
        | DataType::Money
        | DataType::SmallMoney
        | DataType::Real
        | DataType::Float
        | DataType::Time(_)
        | DataType::DateTime
        | DataType::DateTime2(_) => Form::Word,
        DataType::Decimal { scale, .. } => Form::Decimal(scale, Interner::new(ty.collation)),
        DataType::Char(_)
        | DataType::VarChar(_)
        | DataType::NChar(_)
        | DataType::NVarChar(_)
        | DataType::Text
        | DataType::NText
        | DataType::Image
        | DataType::Binary(_)
        | DataType::VarBinary(_)
        | DataType::RowVersion
        | DataType::UniqueIdentifier
        | DataType::DateTimeOffset(_)
        | DataType::SqlVariant
        | DataType::Xml => Form::Number(Interner::new(ty.collation)),
    }
}

/// Encodes values that fit a word; the words of NULL rows are overwritten later.
fn encode_word(data: &Data, vector: &Vector, selection: &Selection, target: &mut Target<'_>) {
    match data {
        Data::Bit(rows) => target.put(selection, |row| u64::from(rows[row])),
        Data::TinyInt(rows) => target.put(selection, |row| u64::from(rows[row])),
        Data::SmallInt(rows) => {
            target.put(selection, |row| u64::from(rows[row].cast_unsigned()));
        }
        Data::Int(rows) | Data::Date(rows) => {
            target.put(selection, |row| u64::from(rows[row].cast_unsigned()));
        }
        Data::BigInt(rows)
        | Data::Money(rows)
        | Data::Time(rows)
        | Data::DateTime(rows)
        | Data::DateTime2(rows) => target.put(selection, |row| rows[row].cast_unsigned()),
        Data::SmallDateTime(rows) => target.put(selection, |row| u64::from(rows[row])),
        Data::Real(rows) => target.put(selection, |row| float_word(f64::from(rows[row]))),
        Data::Float(rows) => target.put(selection, |row| float_word(rows[row])),
        Data::ShortDecimal { .. }
        | Data::Decimal { .. }
        | Data::Bytes(_)
        | Data::Values(_)
        | Data::Constant(..) => {
            for (place, row) in selection.iter().enumerate() {
                target.set(place, word_of(&vector.get(row)));
            }
        }
    }
}

/// Encodes a float; -0.0 and 0.0 are equal.
fn float_word(value: f64) -> u64 {
    if value == 0.0 { 0 } else { value.to_bits() }
}

/// As [`encode_word`], for a single value.
fn word_of(value: &Value) -> u64 {
    match value {
        Value::Bit(v) => u64::from(*v),
        Value::TinyInt(v) => u64::from(*v),
        Value::SmallInt(v) => u64::from(v.cast_unsigned()),
        Value::Int(v) | Value::Date(v) => u64::from(v.cast_unsigned()),
        Value::BigInt(v) | Value::Money(v) | Value::Time(v) => v.cast_unsigned(),
        Value::Real(v) => float_word(f64::from(*v)),
        Value::Float(v) => float_word(*v),
        Value::DateTime { days, ticks } => Data::pack_datetime(*days, *ticks).cast_unsigned(),
        Value::SmallDateTime { days, minutes } => u64::from(*days) << 16 | u64::from(*minutes),
        Value::DateTime2 { days, ticks } => Data::pack_datetime2(*days, *ticks).cast_unsigned(),
        Value::Null
        | Value::Decimal(_)
        | Value::DateTimeOffset { .. }
        | Value::VarChar(_)
        | Value::NVarChar(_)
        | Value::VarBinary(_)
        | Value::UniqueIdentifier(_)
        | Value::Variant(_) => 0,
    }
}

/// The high word of a decimal that does not fit its type's scale; the low word is then an interned
/// number. No decimal of 38 digits has this high word.
const ODD: u64 = 1 << 63 | 1;

fn encode_decimals(
    vector: &Vector,
    selection: &Selection,
    to: u8,
    interner: &mut Interner,
    unknown: Unknown,
    target: &mut Target<'_>,
) {
    match vector.data() {
        Data::ShortDecimal { digits, scale, .. } if *scale == to => {
            target.put(selection, |row| digits[row].cast_unsigned());
            target.at += 1;
            target.put(selection, |row| (digits[row] >> 63).cast_unsigned());
            target.at -= 1;
        }
        Data::Decimal { digits, scale, .. } if *scale == to => {
            target.put(selection, |row| halves(digits[row]).0);
            target.at += 1;
            target.put(selection, |row| halves(digits[row]).1);
            target.at -= 1;
        }
        _ => {
            for (place, row) in selection.iter().enumerate() {
                let Value::Decimal(value) = vector.get(row) else { continue };
                let words = match at_scale(&value, to) {
                    Some(digits) => Some(halves(digits)),
                    None => interner
                        .value(&Value::Decimal(value), unknown)
                        .map(|number| (u64::from(number), ODD)),
                };
                let Some((low, high)) = words else {
                    target.out.without.push(place);
                    continue;
                };
                target.set(place, low);
                target.at += 1;
                target.set(place, high);
                target.at -= 1;
            }
        }
    }
}

/// Converts a decimal to another scale; `None` if it loses digits or overflows.
fn at_scale(value: &Decimal, scale: u8) -> Option<i128> {
    let value = value.without_trailing_zeros();
    let power = 10_i128.checked_pow(u32::from(scale.checked_sub(value.scale)?))?;
    let digits = value.mantissa().checked_mul(power)?;
    (digits.unsigned_abs() < 10_u128.pow(38)).then_some(digits)
}

#[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "the two halves")]
const fn halves(digits: i128) -> (u64, u64) {
    (digits as u64, (digits >> 64) as u64)
}

#[cfg(test)]
mod tests {
    use types::compare::group_key;

    use types::Collation;

    use super::*;

    /// Two values have equal keys exactly if `group_key` makes them equal.
    #[test]
    fn keys_are_equal_where_group_keys_are() {
        let text = DataType::VarChar(types::Length::Limited(10));
        let varchar = |text| Value::varchar(text, Collation::default());
        let decimal = |digits, scale| Value::Decimal(Decimal::new(digits, 20, scale));
        let sets: Vec<(DataType, Vec<Value>)> = vec![
            (
                DataType::Int,
                vec![Value::Int(-1), Value::Int(0), Value::Int(i32::MAX), Value::Int(0)],
            ),
            (DataType::BigInt, vec![Value::BigInt(-1), Value::BigInt(0), Value::BigInt(i64::MAX)]),
            (DataType::Float, vec![Value::Float(-0.0), Value::Float(0.0), Value::Float(1.5)]),
            (text, vec![varchar("a"), varchar("A "), varchar("b")]),
            (
                DataType::Decimal { precision: 20, scale: 2 },
                vec![decimal(100, 2), decimal(1, 0), decimal(10_001, 4), decimal(-100, 2)],
            ),
            (DataType::UniqueIdentifier, vec![Value::UniqueIdentifier([7; 16])]),
        ];
        for (data_type, values) in sets {
            let ty = ColumnType::nullable(data_type);
            let mut vector = Vector::with_capacity_for(&ty);
            let values: Vec<Value> = values.into_iter().chain([Value::Null, Value::Null]).collect();
            values.iter().for_each(|value| vector.push(value));
            let mut keys = Keys::new(&[ty], NullKeys::Equal);
            let mut out = KeyRows::default();
            let all = Selection::all(values.len());
            keys.widen(&[&vector], &mut KeyTable::new(keys.width()));
            keys.encode(&[&vector], &all, Unknown::Add, &mut out);
            let key = |row: usize| &out.words[row * keys.width()..][..keys.width()];
            let form = |value: &Value| {
                let mut form = Vec::new();
                group_key(value, ty.collation, &mut form);
                form
            };
            for a in 0..values.len() {
                for b in 0..values.len() {
                    let is_equal = form(&values[a]) == form(&values[b]);
                    assert_eq!(key(a) == key(b), is_equal, "{:?} {:?}", values[a], values[b]);
                }
            }
            let mut keys = Keys::new(&[ty], NullKeys::Nothing);
            keys.encode(&[&vector], &all, Unknown::Add, &mut out);
            assert_eq!(out.without, [values.len() - 2, values.len() - 1]);
        }
    }
}
