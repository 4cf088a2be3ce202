//! LEN, LEFT, RIGHT, SUBSTRING, CHARINDEX, CONCAT, UPPER and LOWER, without allocating a value per row.

use smallvec::SmallVec;
use sos::sched::BytePace;
use types::Collation;
use types::batch::{ByteKind, ByteRows, Data, Selection, Vector};
use types::text::{self, LetterCase};

use super::super::arithmetic::push_holes;
use super::super::side::{Operand, Side, Strings};
use super::Inputs;

/// `LEN(text)`, for code pages in which every character has the same size.
pub(super) fn len(inputs: &Inputs<'_>, rows: &Selection, out: &mut Vector) -> bool {
    let text = inputs.vectors[0];
    let Some(Strings::Rows(strings)) = Strings::of(text) else { return false };
    let collation = inputs.arguments[0].ty.collation;
    let (Data::Int(out), nulls) = out.parts_mut() else { return false };
    if !is_fixed(strings.kind, collation) {
        return false;
    }
    rows.for_each(|row| {
        let bytes = strings.get(row);
        let len = match strings.kind {
            ByteKind::VarChar => bytes.iter().rposition(|b| *b != b' ').map_or(0, |last| last + 1),
            ByteKind::NVarChar => {
                let units = bytes.as_chunks::<2>().0;
                units.iter().rposition(|unit| unit != b" \0").map_or(0, |last| last + 1)
            }
            ByteKind::VarBinary => bytes.len(),
        };
        out[row] = i32::try_from(len).unwrap_or(i32::MAX);
    });
    nulls.add(text.nulls());
    true
}

/// Returns whether all characters of a string have the same size.
fn is_fixed(kind: ByteKind, collation: Collation) -> bool {
    match kind {
        ByteKind::VarChar => collation.code_page().is_single_byte(),
        ByteKind::NVarChar => !collation.is_supplementary_aware(),
        ByteKind::VarBinary => true,
    }
}

/// `LEFT(text, count)`; a negative count fails.
pub(super) fn left(inputs: &Inputs<'_>, rows: &Selection, out: &mut Vector) -> bool {
    let Some(count) = numbers(inputs.vectors[1]) else { return false };
    slices(inputs, rows, out, |row, _| {
        let count = count.at(row);
        (count >= 0).then_some((0, count))
    })
}

/// `RIGHT(text, count)`; a negative count fails.
pub(super) fn right(inputs: &Inputs<'_>, rows: &Selection, out: &mut Vector) -> bool {
    let Some(count) = numbers(inputs.vectors[1]) else { return false };
    slices(inputs, rows, out, |row, units| {
        let count = count.at(row);
        (count >= 0).then_some((units.saturating_sub(count), units))
    })
}

/// `SUBSTRING(text, start, count)`; a negative count fails.
pub(super) fn substring(inputs: &Inputs<'_>, rows: &Selection, out: &mut Vector) -> bool {
    let (Some(start), Some(count)) = (numbers(inputs.vectors[1]), numbers(inputs.vectors[2]))
    else {
        return false;
    };
    slices(inputs, rows, out, |row, _| {
        let (start, count) = (start.at(row).saturating_sub(1), count.at(row));
        (count >= 0).then_some((start, start.saturating_add(count)))
    })
}

/// Longest string that CHARINDEX compares at each place; longer ones are left to the row function,
/// whose time does not depend on their length.
const NEEDLE_BYTES_MAX: usize = 16;

/// `CHARINDEX(constant, text, start)` of `varchar`, where characters are equal if their bytes are, or
/// are ASCII letters in another case.
pub(super) fn char_index(inputs: &Inputs<'_>, rows: &Selection, out: &mut Vector) -> bool {
    let (needle, text) = (inputs.vectors[0], inputs.vectors[1]);
    let (Some(Strings::One(ByteKind::VarChar, needle)), Some(Strings::Rows(texts))) =
        (Strings::of(needle), Strings::of(text))
    else {
        return false;
    };
    let start = match inputs.vectors.get(2) {
        None => Some(Side::One(1)),
        Some(start) => numbers(start),
    };
    let (Some(start), (Data::Int(out), nulls)) = (start, out.parts_mut()) else { return false };
    let collation = inputs.ty.collation;
    let is_exact = collation.is_binary() && is_fixed(texts.kind, collation);
    let is_plain = is_exact || (!collation.has_dotless_i() && needle.is_ascii());
    if texts.kind != ByteKind::VarChar || needle.len() > NEEDLE_BYTES_MAX || !is_plain {
        return false;
    }
    let ignores_case = !is_exact && !collation.is_case_sensitive();
    let mut pace = BytePace::new();
    let found = rows.try_for_each(|row| {
        let text = texts.get(row);
        pace.passed(text.len());
        if !is_exact && !text.is_ascii() {
            return Err(());
        }
        let from = usize::try_from(start.at(row).saturating_sub(1).max(0)).unwrap_or(usize::MAX);
        let place = place_of(needle, text.get(from..).unwrap_or_default(), ignores_case);
        let place = place.map_or(0, |place| from + place + 1);
        out[row] = i32::try_from(place).unwrap_or(i32::MAX);
        Ok(())
    });
    inputs.vectors.iter().for_each(|vector| nulls.add(vector.nulls()));
    found.is_ok()
}

/// Returns where a string first is in another; an empty one is nowhere.
fn place_of(needle: &[u8], text: &[u8], ignores_case: bool) -> Option<usize> {
    let first = *needle.first()?;
    if needle.len() == 1 && !(ignores_case && first.is_ascii_alphabetic()) {
        return text.iter().position(|byte| *byte == first);
    }
    text.windows(needle.len()).position(|part| match ignores_case {
        true => part.eq_ignore_ascii_case(needle),
        false => part == needle,
    })
}

fn numbers(vector: &Vector) -> Option<Side<'_, i64>> {
    match Operand::of(vector) {
        Operand::BigInt(side) => Some(side),
        _ => None,
    }
}

/// Cuts the units that `cut` returns for a row and length out of each string. `false`, and `out` is
/// unusable, if it returns that the row fails, or the operand is not plain strings.
fn slices(
    inputs: &Inputs<'_>,
    rows: &Selection,
    out: &mut Vector,
    cut: impl Fn(usize, i64) -> Option<(i64, i64)>,
) -> bool {
    let collation = inputs.arguments[0].ty.collation;
    each(inputs, rows, out, |row, kind, text, own| {
        if !is_fixed(kind, collation) {
            return false;
        }
        let unit = if kind == ByteKind::NVarChar { 2 } else { 1 };
        let units = i64::try_from(text.len() / unit).unwrap_or(i64::MAX);
        let Some((from, to)) = cut(row, units) else { return false };
        let from = from.clamp(0, units);
        let at = |n: i64| usize::try_from(n).unwrap_or(0) * unit;
        own.push(&text[at(from)..at(to.clamp(from, units))]);
        true
    })
}

/// Writes a string for each row whose inputs are not NULL.
fn each(
    inputs: &Inputs<'_>,
    rows: &Selection,
    out: &mut Vector,
    mut write: impl FnMut(usize, ByteKind, &[u8], &mut ByteRows) -> bool,
) -> bool {
    let Some(Strings::Rows(strings)) = Strings::of(inputs.vectors[0]) else { return false };
    let (total, mut pace) = (strings.len(), BytePace::new());
    out.clear();
    if out.byte_rows().is_none_or(|own| own.kind != strings.kind) {
        return false;
    }
    for row in rows.iter() {
        push_holes(out, row);
        if inputs.vectors.iter().any(|vector| vector.is_null(row)) {
            out.push_null();
            continue;
        }
        let text = strings.get(row);
        pace.passed(text.len());
        let own = out.byte_rows_mut().filter(|own| own.has_room(text.len()));
        if !own.is_some_and(|own| write(row, strings.kind, text, own)) {
            return false;
        }
    }
    push_holes(out, total);
    true
}

/// `CONCAT(text, ..)`: NULL counts as an empty string.
pub(super) fn concat(inputs: &Inputs<'_>, rows: &Selection, out: &mut Vector) -> bool {
    let total = out.len();
    out.clear();
    let Some(kind) = out.byte_rows().map(|own| own.kind) else { return false };
    let Some(bytes_max) = inputs.ty.data_type.bytes_max().map(usize::from) else { return false };
    let texts = inputs.vectors.iter().map(|vector| Strings::of(vector));
    let Some(texts) = texts.collect::<Option<SmallVec<[Strings<'_>; 4]>>>() else { return false };
    if texts.iter().any(|text| text.kind() != Some(kind)) {
        return false;
    }
    for row in rows.iter() {
        push_holes(out, row);
        let parts = texts.iter().zip(inputs.vectors).filter(|(_, vector)| !vector.is_null(row));
        let parts = parts.map(|(text, _)| text.get(row, kind).unwrap_or(&[]));
        let bytes: usize = parts.clone().map(<[u8]>::len).sum();
        let own = out.byte_rows_mut().filter(|own| bytes <= bytes_max && own.has_room(bytes));
        let Some(own) = own else { return false };
        own.push_with(|arena| parts.for_each(|part| arena.extend_from_slice(part)));
    }
    push_holes(out, total);
    true
}

/// `UPPER(text)` by the collation's rules.
pub(super) fn upper(inputs: &Inputs<'_>, rows: &Selection, out: &mut Vector) -> bool {
    fold(inputs, rows, out, LetterCase::Upper)
}

/// `LOWER(text)` by the collation's rules.
pub(super) fn lower(inputs: &Inputs<'_>, rows: &Selection, out: &mut Vector) -> bool {
    fold(inputs, rows, out, LetterCase::Lower)
}

fn fold(inputs: &Inputs<'_>, rows: &Selection, out: &mut Vector, case: LetterCase) -> bool {
    let collation = inputs.ty.collation;
    each(inputs, rows, out, |_, kind, text, own| {
        let is_plain = match kind {
            _ if collation.has_dotless_i() => false,
            ByteKind::VarChar => text.is_ascii(),
            ByteKind::NVarChar => {
                text.as_chunks::<2>().0.iter().all(|[low, high]| *high == 0 && *low < 0x80)
            }
            ByteKind::VarBinary => return false,
        };
        if !is_plain {
            let folded = text::fold(&kind.value(text.into()), case, collation);
            let Some((_, bytes)) = ByteKind::of(&folded) else { return false };
            own.push(bytes);
            return true;
        }
        own.push_with(|arena| {
            let start = arena.len();
            arena.extend_from_slice(text);
            match case {
                LetterCase::Upper => arena[start..].make_ascii_uppercase(),
                LetterCase::Lower => arena[start..].make_ascii_lowercase(),
            }
        });
        true
    })
}
