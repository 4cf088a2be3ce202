//! `master..spt_values`: a table of numbers and words that scripts read.
//!
//! Contains the numbers 0 to 2047 (type `P`) and the words of types with a known meaning. Scripts
//! cross-join the table with itself for its size, about 2,500 rows in SQL Server. To reach that
//! size, it contains the names of some collations too, under a type (`CLN`) that no script asks for.

use types::{Collation, Value};

use crate::spt_words;
use metadata::column::{Column, INT, col, int, nc, nv, opt, padded, rows, shape, text};
use metadata::{Rows, Scope, SystemView};

const COLUMNS: &[Column<Entry>] = &[
    opt("name", nv(128), |r| r.name.as_ref().map_or(Value::Null, |name| text(name))),
    col("number", INT, |r| int(r.number)),
    col("type", nc(3), |r| padded(r.kind, 3)),
    opt("low", INT, |r| r.low.map_or(Value::Null, Value::Int)),
    opt("high", INT, |r| r.high.map_or(Value::Null, Value::Int)),
    opt("status", INT, |_| int(0)),
];

pub(crate) static VIEW: SystemView =
    SystemView { schema: "", name: "spt_values", columns: || shape(COLUMNS), rows: read, arity: 0 };

fn read(_: &Scope<'_>) -> Rows {
    rows(COLUMNS, entries())
}

struct Entry {
    name: Option<String>,
    number: i32,
    kind: &'static str,
    low: Option<i32>,
    high: Option<i32>,
}

/// Number of collations among the rows.
const COLLATIONS: usize = 234;

/// Greatest number of type `P`.
const NUMBER_MAX: i32 = 2_047;

/// Makes the row of a number: `low` is the byte that it is in (from 1), `high` its bit there.
fn number(number: i32) -> Entry {
    let (low, high) = (Some(number / 8 + 1), Some(1 << (number % 8)));
    Entry { name: None, number, kind: "P", low, high }
}

fn entries() -> Vec<Entry> {
    let words = spt_words::WORDS.iter();
    let words = words.flat_map(|(kind, list)| list.iter().map(move |w| (*kind, w)));
    let words = words.map(|(kind, (name, number))| Entry {
        name: Some((*name).to_owned()),
        number: *number,
        kind,
        low: None,
        high: None,
    });
    let collations = (1..).zip(Collation::all()).take(COLLATIONS).map(|(number, c)| Entry {
        name: Some(c.name()),
        number,
        kind: "CLN",
        low: None,
        high: None,
    });
    words.chain(collations).chain((0..=NUMBER_MAX).map(number)).collect()
}
