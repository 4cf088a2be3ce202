//! The answers of both sides, in a form that can be compared.

use load::{Answer, Result};
use types::date::civil_of;
use types::{Collation, Value};

/// The largest absolute difference of two numbers: T-SQL cuts a quotient of decimals at six digits.
const APART_MAX: f64 = 2e-6;
/// The largest relative difference, for large numbers: the other side's quotients are floats.
const SHARE_MAX: f64 = 1e-12;

const TICKS_PER_SECOND: i64 = 10_000_000;

/// One field of an answer.
#[derive(Clone, Debug, PartialEq, PartialOrd)]
pub(crate) enum Field {
    Null,
    Number(f64),
    Text(String),
}

/// The rows of an answer.
pub(crate) type Rows = Vec<Vec<Field>>;

/// The result of a comparison.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Verdict {
    Same,
    /// The same rows; ORDER BY leaves the order of some open.
    OtherOrder,
    /// Other rows of the same rank: ORDER BY leaves open which of some are within TOP.
    OtherTies,
    Different,
}

/// Reads the rows of our server's answer.
pub(crate) fn own_rows(packets: &[u8]) -> Result<Rows> {
    let answer = Answer::decode(packets)?.check()?;
    let row = |row: &&[Value]| row.iter().map(Field::of).collect();
    answer.rows().iter().map(row).collect()
}

impl Field {
    fn of(value: &Value) -> Result<Self> {
        Ok(match value {
            Value::Null => Self::Null,
            Value::SmallInt(number) => Self::Number(f64::from(*number)),
            Value::Int(number) => Self::Number(f64::from(*number)),
            Value::BigInt(number) => Self::Number(number.to_string().parse().unwrap_or(f64::NAN)),
            Value::Decimal(number) => Self::Number(number.to_f64()),
            Value::Float(number) => Self::Number(*number),
            Value::Date(days) => Self::Text(date_text(*days)),
            Value::DateTime2 { days, ticks } => {
                let seconds = ticks / TICKS_PER_SECOND;
                let (hour, minute) = (seconds / 3_600, seconds / 60 % 60);
                let (date, second) = (date_text(*days), seconds % 60);
                Self::Text(format!("{date} {hour:02}:{minute:02}:{second:02}"))
            }
            // Our server pads a `char`, the other side does not.
            Value::VarChar(_) => {
                let text = value.as_text(Collation::default()).unwrap_or_default();
                Self::Text(text.trim_end_matches(' ').to_owned())
            }
            other => return Err(format!("no query answers with {other:?}")),
        })
    }

    /// Reads a field of the other side's output.
    pub(crate) fn parse(field: &str) -> Result<Self> {
        match field.split_at_checked(1) {
            Some(("n", "")) => Ok(Self::Null),
            Some(("d", number)) => {
                let number = number.parse().map_err(|error| format!("'{field}': {error}"))?;
                Ok(Self::Number(number))
            }
            Some(("t", text)) => Ok(Self::Text(text.trim_end_matches(' ').to_owned())),
            _ => Err(format!("not a field: '{field}'")),
        }
    }

    fn equals(&self, other: &Self) -> bool {
        match (self, other) {
            (Self::Number(a), Self::Number(b)) => {
                (a - b).abs() <= APART_MAX + SHARE_MAX * a.abs().max(b.abs())
            }
            _ => self == other,
        }
    }
}

fn date_text(days: i32) -> String {
    let date = civil_of(days);
    format!("{:04}-{:02}-{:02}", date.year, date.month, date.day)
}

/// Compares two answers, row by row.
pub(crate) fn compare(own: &Rows, other: &Rows) -> Verdict {
    if equal(own, other) {
        return Verdict::Same;
    }
    match equal(&sorted(own), &sorted(other)) {
        true => Verdict::OtherOrder,
        false => Verdict::Different,
    }
}

/// Returns whether two answers differ only in which rows of the same rank they contain: row by row, the ranking
/// columns are the same, and each row is one of the whole answer.
pub(crate) fn differ_by_ties(own: &Rows, other: &Rows, ranked_by: &[usize], whole: &Rows) -> bool {
    let same_rank = |(a, b): (&Vec<Field>, &Vec<Field>)| {
        ranked_by.iter().all(|&at| match (a.get(at), b.get(at)) {
            (Some(a), Some(b)) => a.equals(b),
            _ => false,
        })
    };
    let mut used = vec![false; whole.len()];
    own.len() == other.len()
        && own.iter().zip(other).all(same_rank)
        && own.iter().all(|row| {
            let found = (0..whole.len()).find(|&at| !used[at] && equal_rows(row, &whole[at]));
            found.is_some_and(|at| !std::mem::replace(&mut used[at], true))
        })
}

fn equal(own: &Rows, other: &Rows) -> bool {
    own.len() == other.len() && own.iter().zip(other).all(|(own, other)| equal_rows(own, other))
}

fn equal_rows(own: &[Field], other: &[Field]) -> bool {
    own.len() == other.len() && own.iter().zip(other).all(|(own, other)| own.equals(other))
}

fn sorted(rows: &Rows) -> Rows {
    let mut rows = rows.clone();
    rows.sort_by(|a, b| a.partial_cmp(b).unwrap_or(std::cmp::Ordering::Equal));
    rows
}

#[cfg(test)]
mod tests {
    use super::*;

    fn rows(numbers: &[f64]) -> Rows {
        numbers.iter().map(|&number| vec![Field::Number(number)]).collect()
    }

    #[test]
    fn answers_differ_by_rows_and_not_by_the_seventh_digit() {
        assert_eq!(compare(&rows(&[1.0, 2.0]), &rows(&[1.000_001, 2.0])), Verdict::Same);
        assert_eq!(compare(&rows(&[1.0, 2.0]), &rows(&[2.0, 1.0])), Verdict::OtherOrder);
        assert_eq!(compare(&rows(&[1.0, 2.0]), &rows(&[1.0, 2.01])), Verdict::Different);
        assert_eq!(compare(&rows(&[1.0]), &rows(&[1.0, 1.0])), Verdict::Different);
        assert_eq!(compare(&rows(&[1.0]), &vec![vec![Field::Null]]), Verdict::Different);
    }

    #[test]
    fn rows_of_one_rank_may_be_others_of_the_whole_answer() {
        let rows = |pairs: &[(f64, f64)]| -> Rows {
            pairs.iter().map(|&(a, b)| vec![Field::Number(a), Field::Number(b)]).collect()
        };
        let whole = rows(&[(1.0, 9.0), (2.0, 5.0), (3.0, 5.0), (4.0, 5.0)]);
        let other = rows(&[(1.0, 9.0), (2.0, 5.0)]);
        let ties = |own: &[(f64, f64)]| differ_by_ties(&rows(own), &other, &[1], &whole);
        assert!(ties(&[(1.0, 9.0), (4.0, 5.0)]));
        assert!(!ties(&[(1.0, 9.0), (7.0, 5.0)]), "no row of the whole answer");
        assert!(!ties(&[(2.0, 5.0), (3.0, 5.0)]), "another rank");
        assert!(!ties(&[(1.0, 9.0)]), "a row is missing");
        let any = rows(&[(2.0, 5.0), (2.0, 5.0)]);
        assert!(!differ_by_ties(&any, &other, &[], &whole), "one row of the whole answer twice");
    }

    #[test]
    fn fields_of_the_other_side_are_read() {
        assert_eq!(Field::parse("n"), Ok(Field::Null));
        assert_eq!(Field::parse("d12.50"), Ok(Field::Number(12.5)));
        assert_eq!(Field::parse("tab c  "), Ok(Field::Text("ab c".to_owned())));
        assert!(Field::parse("").is_err());
    }
}
