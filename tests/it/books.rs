//! `Books`: the ledger as a client reads it, for tests of what lands where.

use std::collections::BTreeMap;

use tds::client::Token;
use types::Value;

use crate::client::{Client, errors};

const QUERY: &str = "SELECT category, name, wall_ns, on_cpu_ns, runnable_ns, blocked_ns, occurrences, \
                     source FROM sys.dm_os_time_ledger";

/// The rows of `sys.dm_os_time_ledger`, or what was added to them.
#[derive(Clone, Debug, Default)]
pub(crate) struct Books {
    rows: BTreeMap<(String, String), Row>,
    pub(crate) source: String,
}

/// Nanoseconds, and how often.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Row {
    pub(crate) wall: i64,
    pub(crate) on_cpu: i64,
    pub(crate) runnable: i64,
    pub(crate) blocked: i64,
    pub(crate) occurrences: i64,
}

impl Books {
    /// Reads the time ledger by SQL.
    pub(crate) fn read(client: &mut Client) -> Self {
        let tokens = client.batch(QUERY);
        assert!(errors(&tokens).is_empty(), "{:?}", errors(&tokens));
        let mut books = Self::default();
        for token in tokens {
            let Token::Row(values) = token else { continue };
            let number = |at: usize| match &values[at] {
                Value::BigInt(number) => *number,
                Value::Null => 0,
                other => panic!("column {at} is {other:?}"),
            };
            let row = Row {
                wall: number(2),
                on_cpu: number(3),
                runnable: number(4),
                blocked: number(5),
                occurrences: number(6),
            };
            books.source = text(&values[7]);
            books.rows.insert((text(&values[0]), text(&values[1])), row);
        }
        assert!(!books.rows.is_empty(), "the ledger has rows");
        books
    }

    /// What was added since an earlier reading.
    pub(crate) fn since(&self, earlier: &Self) -> Self {
        let mut difference = self.clone();
        for (place, row) in &mut difference.rows {
            if let Some(before) = earlier.rows.get(place) {
                *row = row.plus(before, -1);
            }
        }
        difference
    }

    /// The sum of a category.
    pub(crate) fn category(&self, category: &str) -> Row {
        self.sum(|in_category, _| in_category == category)
    }

    /// One row; nothing if it is not there.
    pub(crate) fn row(&self, category: &str, name: &str) -> Row {
        self.sum(|in_category, named| in_category == category && named == name)
    }

    /// The sum of all rows.
    pub(crate) fn total(&self) -> Row {
        self.sum(|_, _| true)
    }

    fn sum(&self, wanted: impl Fn(&str, &str) -> bool) -> Row {
        let rows = self.rows.iter().filter(|((category, name), _)| wanted(category, name));
        rows.fold(Row::default(), |sum, (_, row)| sum.plus(row, 1))
    }

    /// The rows that grew by a millisecond or more, for messages.
    pub(crate) fn grown(&self) -> Vec<String> {
        let grown = self.rows.iter().filter(|(_, row)| row.wall >= 1_000_000);
        grown.map(|((category, name), row)| format!("{category}/{name} {row:?}")).collect()
    }
}

impl Row {
    fn plus(self, other: &Self, sign: i64) -> Self {
        Self {
            wall: self.wall + sign * other.wall,
            on_cpu: self.on_cpu + sign * other.on_cpu,
            runnable: self.runnable + sign * other.runnable,
            blocked: self.blocked + sign * other.blocked,
            occurrences: self.occurrences + sign * other.occurrences,
        }
    }
}

fn text(value: &Value) -> String {
    match value {
        Value::NVarChar(units) => types::text::from_utf16(units),
        other => panic!("{other:?} is no text"),
    }
}
