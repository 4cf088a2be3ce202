//! Several seeks of one index: `a IN (1, 5)`, `a = 1 OR a = 5`, `a IS NULL`, `s LIKE 'abc%'`.

use smallvec::SmallVec;
use types::value::ColumnType;
use types::{Bytes, Value};

use super::{Best, Sarg, column_of, tried};
use crate::estimate::{share_of, table_rows};
use catalog::{IndexDef, IndexKind};
use plan::expr::{CompareOp, Expr, ExprKind};
use plan::query::{Access, Path, Point, Scan};
use plan::statement::table_of;
use plan::walk::{self, Registers};

/// Seeks that are made however small the table is: it may be filled later.
const SEEKS_FREE: usize = 64;
/// Rows of a table that is read whole where the seeks would find a large part of it.
const LARGE_ROWS: f64 = 1_000.0;
/// The largest part of a large table that is read by seeks.
const SHARE_MAX: f64 = 0.25;

/// The values that a conjunct allows for a column.
struct Choice {
    conjunct: usize,
    column: u16,
    points: Vec<Point>,
    /// Whether the seeks find the rows that satisfy the conjunct, and no other.
    exact: bool,
}

/// An index that is sought several times.
pub(super) struct Several {
    index: u16,
    /// Search arguments for the columns before the one with several values.
    equals: Vec<usize>,
    choice: Choice,
}

impl Several {
    /// Returns the access path, and records the conjuncts that it replaces.
    pub(super) fn access(self, sargs: &[Sarg], consumed: &mut SmallVec<[usize; 4]>) -> Access {
        let mut prefix = Vec::with_capacity(self.equals.len());
        for place in self.equals {
            let sarg = &sargs[place];
            if sarg.exact && sarg.whole {
                consumed.push(sarg.conjunct);
            }
            prefix.push(sarg.key.clone());
        }
        if self.choice.exact {
            consumed.push(self.choice.conjunct);
        }
        Access::Points { index: self.index, prefix, points: self.choice.points }
    }
}

/// Finds the index for which several seeks read fewer rows than the best single access.
pub(super) fn find(
    scan: &Scan,
    conjuncts: &[Expr],
    sargs: &[Sarg],
    best: Option<&Best>,
) -> Option<Several> {
    let table = table_of(&scan.table);
    // Compressed rows are not in the indexes.
    if table.columnstore.is_some() || best.is_some_and(|best| best.unique) {
        return None;
    }
    let rows = table_rows(scan);
    let hinted = matches!(scan.hints.path, Path::Seek(_) | Path::Index(_));
    let is_worth = |choice: &Choice| {
        let few = choice.points.len() <= SEEKS_FREE || as_float(choice.points.len()) * 2.0 <= rows;
        let small = rows <= LARGE_ROWS || share_of(scan, &conjuncts[choice.conjunct]) <= SHARE_MAX;
        hinted || few && small
    };
    let own: Registers = scan.columns.iter().map(|c| c.1).collect();
    let choices = conjuncts
        .iter()
        .enumerate()
        .filter_map(|(place, conjunct)| choice_of(scan, &own, place, conjunct).filter(is_worth));
    let mut found: Option<(usize, Several)> = None;
    for choice in choices {
        for (place, index) in table.indexes.iter().enumerate() {
            let is_allowed = match scan.hints.path {
                Path::Any | Path::Seek(None) => true,
                Path::Scan => false,
                Path::Index(index) | Path::Seek(Some(index)) => usize::from(index) == place,
            };
            let Some(equals) = is_allowed.then(|| equals_before(index, &choice, sargs)).flatten()
            else {
                continue;
            };
            // One of several values is worth less than one value, and more than two bounds.
            let worth = equals.len() * 4 + 3;
            let is_better = found.as_ref().is_none_or(|(least, _)| worth > *least)
                && best.is_none_or(|best| worth > worth_of(best));
            if let (true, Ok(index)) = (is_better, u16::try_from(place)) {
                let choice = Choice { points: choice.points.clone(), ..choice };
                found = Some((worth, Several { index, equals, choice }));
            }
        }
    }
    found.map(|(_, several)| several)
}

#[expect(clippy::cast_precision_loss, reason = "an estimate")]
fn as_float(count: usize) -> f64 {
    count as f64
}

fn worth_of(best: &Best) -> usize {
    best.equal * 4 + usize::from(best.lower.is_some()) + usize::from(best.upper.is_some())
}

/// Returns the search arguments for the columns of an index before that of the choice; `None` if
/// the index does not lead to it.
fn equals_before(index: &IndexDef, choice: &Choice, sargs: &[Sarg]) -> Option<Vec<usize>> {
    let at = index.keys.iter().position(|key| key.0 == choice.column)?;
    let is_whole = at + 1 == index.keys.len();
    let starts = choice.points.iter().any(|point| matches!(point, Point::Starts(_)));
    if index.filter.is_some() || index.kind == IndexKind::Hash && (!is_whole || starts) {
        return None;
    }
    let equal = |column: u16| {
        let of = |exact| {
            let fits =
                |s: &Sarg| s.column == column && s.op == CompareOp::Equal && s.exact == exact;
            sargs.iter().position(fits)
        };
        of(true).or_else(|| of(false))
    };
    index.keys[..at].iter().map(|key| equal(key.0)).collect()
}

/// Returns the values that a conjunct allows for one column of the scan.
fn choice_of(scan: &Scan, own: &Registers, conjunct: usize, expr: &Expr) -> Option<Choice> {
    let mut choice = Choice { conjunct, column: u16::MAX, points: Vec::new(), exact: true };
    match &expr.kind {
        // A single value is a seek by itself.
        ExprKind::Compare(..) => return None,
        ExprKind::InList(_, _, list) if list.len() < 2 => return None,
        ExprKind::Like(collation, like) => {
            let (column, true) = column_of(scan, &like.text)? else { return None };
            let ty = &table_of(&scan.table).columns[usize::from(column)].ty;
            let prefix = like_prefix(&like.pattern, ty)?;
            if like.escape.is_some() || ty.collation != *collation {
                return None;
            }
            choice.column = column;
            choice.points.push(Point::Starts(prefix));
            choice.exact = false;
        }
        ExprKind::Or(branches) => {
            for branch in branches {
                add(scan, own, branch, &mut choice)?;
            }
        }
        _ => add(scan, own, expr, &mut choice)?,
    }
    Some(choice)
}

/// Adds the values that a condition allows; `None` if it is about more than the choice's column.
fn add(scan: &Scan, own: &Registers, expr: &Expr, choice: &mut Choice) -> Option<()> {
    match &expr.kind {
        ExprKind::IsNull(operand) => {
            let (column, true) = column_of(scan, operand)? else { return None };
            set_column(choice, column)?;
            choice.points.push(Point::Null);
        }
        ExprKind::Compare(CompareOp::Equal, collation, pair) => {
            let sides = [(&pair.0, &pair.1), (&pair.1, &pair.0)];
            let found =
                sides.into_iter().find_map(|(column, key)| Some((column_of(scan, column)?, key)));
            let ((column, exact), key) = found?;
            add_equal(scan, own, (column, exact, *collation), key, choice)?;
        }
        ExprKind::InList(collation, operand, list) => {
            let (column, exact) = column_of(scan, operand)?;
            for key in list {
                add_equal(scan, own, (column, exact, *collation), key, choice)?;
            }
        }
        _ => return None,
    }
    Some(())
}

fn set_column(choice: &mut Choice, column: u16) -> Option<()> {
    if choice.points.is_empty() {
        choice.column = column;
    }
    (choice.column == column).then_some(())
}

fn add_equal(
    scan: &Scan,
    own: &Registers,
    (column, exact, collation): (u16, bool, types::Collation),
    key: &Expr,
    choice: &mut Choice,
) -> Option<()> {
    set_column(choice, column)?;
    let ty = &table_of(&scan.table).columns[usize::from(column)].ty;
    let is_other = ty.data_type.is_string() && ty.collation != collation;
    if is_other || !walk::reads(key).is_disjoint(own) || walk::has_subquery(key) {
        return None;
    }
    choice.exact &= exact;
    choice.points.push(Point::Equal(if exact { key.clone() } else { tried(key, ty) }));
    Some(())
}

/// Returns the characters that every match of a constant pattern starts with, as a constant of the
/// column's kind; `None` if there are none. Only ASCII characters are taken: of a code page with
/// two bytes for a character, the second may look like a wildcard.
fn like_prefix(pattern: &Expr, ty: &ColumnType) -> Option<Expr> {
    let is_plain = |byte: u8| byte.is_ascii() && !matches!(byte, b'%' | b'_' | b'[');
    let found = match (pattern.as_constant()?, ty.data_type.is_unicode()) {
        (Value::VarChar(bytes), false) => {
            let length = bytes.iter().take_while(|byte| is_plain(**byte)).count();
            Value::VarChar(Bytes::copy_from(&bytes[..length]))
        }
        (Value::NVarChar(bytes), true) => {
            let units = bytes.chunks_exact(2);
            let length = units.take_while(|unit| unit[1] == 0 && is_plain(unit[0])).count();
            Value::NVarChar(Bytes::copy_from(&bytes[..length * 2]))
        }
        _ => return None,
    };
    let is_blank = found.string_bytes()?.iter().all(|byte| matches!(byte, 0 | b' '));
    (!is_blank).then(|| Expr { kind: ExprKind::Constant(found), ty: pattern.ty })
}
