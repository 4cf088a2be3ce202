//! `x IN (list)` with the same list for all rows of a batch.

use hashbrown::HashSet;
use types::batch::{ByteKind, Data, Selection, Vector};
use types::compare::Truth;
use types::text::PIECE_BYTES;
use types::{Collation, Result, Value};

use super::compare::{bits, equal, truths, write};
use super::side::{Operand, Side, Strings, map};
use super::step::{Scope, Step, passed};
use executor::Cx;
use executor::eval::eval;
use executor::long::compare;
use plan::expr::{CompareOp, Expr};
use plan::long::group_key_asked;
use sos::sched::BytePace;

/// Looks up values in a list whose items are not columns of the batch.
pub(super) struct InList<'p> {
    collation: Collation,
    operand: Box<dyn Step + 'p>,
    list: &'p [Expr],
    output: Vector,
    /// The list's values at the last batch, from which `items` was made.
    values: Vec<Value>,
    items: Items,
    has_null: bool,
}

/// A list prepared for searching.
enum Items {
    /// Not prepared yet: the first batch does.
    None,
    /// Numbers, dates or times of one form, ascending.
    Integers(Vec<i64>),
    /// Few strings, all of one kind.
    FewStrings(ByteKind, Vec<Vec<u8>>),
    /// Sort keys of many strings of one kind.
    Strings(ByteKind, HashSet<Vec<u8>>),
    /// Values of any types, compared one by one.
    Values,
}

/// Most strings that are compared one after the other.
const STRINGS_FEW: usize = 4;
/// Most integers that are compared one after the other.
const INTEGERS_FEW: usize = 8;

impl<'p> InList<'p> {
    pub(super) fn new(collation: Collation, operand: Box<dyn Step + 'p>, list: &'p [Expr]) -> Self {
        Self {
            collation,
            operand,
            list,
            output: truths(),
            values: Vec::new(),
            items: Items::None,
            has_null: false,
        }
    }

    /// Evaluates the list's values; variables may have changed since the last batch.
    fn read(&mut self, cx: &mut Cx<'_>) -> Result<()> {
        let values = self.list.iter().map(|e| eval(e, cx)).collect::<Result<Vec<_>>>()?;
        if !matches!(self.items, Items::None) && values == self.values {
            return Ok(());
        }
        self.has_null = values.iter().any(Value::is_null);
        let mut some = values.iter().filter(|value| !value.is_null());
        self.items = match some.next().map(ByteKind::of) {
            Some(Some((kind, _))) => strings(kind, self.collation, &values),
            _ => integers(&values),
        };
        self.values = values;
        Ok(())
    }
}

/// Prepares a list of integers; [`Items::Values`] if some value is not an integer, date or time.
fn integers(values: &[Value]) -> Items {
    let some = values.iter().filter(|value| !value.is_null());
    match some.map(integer_of).collect::<Option<Vec<i64>>>() {
        Some(mut integers) => {
            integers.sort_unstable();
            integers.dedup();
            Items::Integers(integers)
        }
        None => Items::Values,
    }
}

/// Returns the number by which a value of an integer, date or time type is compared.
fn integer_of(value: &Value) -> Option<i64> {
    Some(match value {
        Value::TinyInt(v) => i64::from(*v),
        Value::SmallInt(v) => i64::from(*v),
        Value::Int(v) | Value::Date(v) => i64::from(*v),
        Value::BigInt(v) | Value::Money(v) => *v,
        Value::DateTime { days, ticks } => Data::pack_datetime(*days, *ticks),
        Value::DateTime2 { days, ticks } => Data::pack_datetime2(*days, *ticks),
        _ => return None,
    })
}

fn strings(kind: ByteKind, collation: Collation, values: &[Value]) -> Items {
    let some = values.iter().filter(|value| !value.is_null());
    let found = some.map(|value| ByteKind::of(value).filter(|(own, _)| *own == kind));
    let Some(found) = found.collect::<Option<Vec<_>>>() else { return Items::Values };
    if found.len() <= STRINGS_FEW || kind == ByteKind::VarBinary {
        return Items::FewStrings(kind, found.iter().map(|(_, bytes)| bytes.to_vec()).collect());
    }
    let key = |bytes: &[u8]| {
        let mut key = Vec::new();
        push_key(kind, collation, bytes, &mut key);
        key
    };
    Items::Strings(kind, found.iter().map(|(_, bytes)| key(bytes)).collect())
}

fn push_key(kind: ByteKind, collation: Collation, bytes: &[u8], key: &mut Vec<u8>) {
    if bytes.len() > PIECE_BYTES {
        // The form of a group has a byte before the sort key.
        let start = key.len();
        group_key_asked(&kind.value(bytes.into()), collation, key);
        key.remove(start);
        return;
    }
    match kind {
        ByteKind::VarChar => collation.sort_key_varchar(bytes, key),
        ByteKind::NVarChar => collation.sort_key_nvarchar(bytes, key),
        ByteKind::VarBinary => types::key::push_binary(bytes, key),
    }
}

impl Step for InList<'_> {
    fn compute(&mut self, scope: &Scope<'_, '_>, rows: &Selection, cx: &mut Cx<'_>) -> Result<()> {
        self.operand.compute(scope, rows, cx)?;
        self.read(cx)?;
        let needles = self.operand.output(scope);
        let found = bits(&mut self.output, scope.batch.rows());
        let is_done = match &self.items {
            Items::None | Items::Values => false,
            Items::Integers(items) => find_integers(items, needles, rows, found),
            Items::FewStrings(kind, items) => {
                let mut is_item = |needle: &[u8]| {
                    items.iter().any(|item| equal(*kind, needle, item, self.collation))
                };
                find_strings(*kind, needles, rows, (found, &mut is_item), cx)?
            }
            Items::Strings(kind, items) => {
                let mut key = Vec::new();
                let mut is_item = |needle: &[u8]| {
                    key.clear();
                    push_key(*kind, self.collation, needle, &mut key);
                    items.contains(&key)
                };
                find_strings(*kind, needles, rows, (found, &mut is_item), cx)?
            }
        };
        if !is_done {
            let cancel = &cx.session.connection.cancel;
            for row in rows.iter() {
                let needle = needles.get(row);
                let found = self.values.iter().try_fold(Truth::False, |truth, item| {
                    compare(CompareOp::Equal, &needle, item, self.collation, cancel)
                        .map(|found| truth.or(found))
                });
                write(&mut self.output, row, found?);
            }
            return Ok(());
        }
        let (Data::Bit(found), nulls) = self.output.parts_mut() else { return Ok(()) };
        if self.has_null {
            rows.iter().filter(|row| !found[*row]).for_each(|row| nulls.set(row));
        }
        if !self.values.is_empty() {
            nulls.add(needles.nulls());
        }
        Ok(())
    }

    fn output<'a>(&'a self, _: &Scope<'a, '_>) -> &'a Vector {
        &self.output
    }
}

/// Looks up integers; `false`, and nothing is done, if the operand has other values.
fn find_integers(items: &[i64], needles: &Vector, rows: &Selection, found: &mut [bool]) -> bool {
    fn look<T: Copy + Into<i64>>(items: &[i64], of: &[T], rows: &Selection, found: &mut [bool]) {
        if items.len() <= INTEGERS_FEW {
            map(of, rows, found, |v| {
                let v = v.into();
                items.iter().fold(false, |any, item| any | (*item == v))
            });
        } else {
            rows.for_each(|row| found[row] = items.binary_search(&of[row].into()).is_ok());
        }
    }
    match Operand::of(needles) {
        Operand::TinyInt(Side::Rows(of)) => look(items, of, rows, found),
        Operand::SmallInt(Side::Rows(of)) => look(items, of, rows, found),
        Operand::Int(Side::Rows(of)) | Operand::Date(Side::Rows(of)) => {
            look(items, of, rows, found);
        }
        Operand::BigInt(Side::Rows(of))
        | Operand::Money(Side::Rows(of))
        | Operand::DateTime(Side::Rows(of))
        | Operand::DateTime2(Side::Rows(of)) => look(items, of, rows, found),
        _ => return false,
    }
    true
}

/// Whether the bytes of a string are in the list.
type IsItem<'f> = dyn FnMut(&[u8]) -> bool + 'f;

/// Looks up strings; `false`, and nothing is done, if the operand has other values.
fn find_strings(
    kind: ByteKind,
    needles: &Vector,
    rows: &Selection,
    (found, is_item): (&mut [bool], &mut IsItem<'_>),
    cx: &mut Cx<'_>,
) -> Result<bool> {
    let Some(strings) = Strings::of(needles).filter(|strings| strings.kind() == Some(kind)) else {
        return Ok(false);
    };
    let mut pace = BytePace::new();
    rows.try_for_each(|row| {
        let needle = strings.get(row, kind);
        found[row] = needle.is_some_and(&mut *is_item);
        passed(&mut pace, needle.map_or(0, <[u8]>::len), cx)
    })?;
    Ok(true)
}
