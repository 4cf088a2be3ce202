//! The ledger as any client sees it: reads the rows of `sys.dm_os_time_ledger` and subtracts
//! readings.

use std::collections::BTreeMap;

use load::{Answer, Generator, Result};
use tds::client::{self, ClientSettings};
use types::Value;

const QUERY: &str = "SELECT category, name, wall_ns, on_cpu_ns, runnable_ns, blocked_ns, occurrences, \
                     sampling_error, source FROM sys.dm_os_time_ledger";

/// Counts threads without accounts in the ledger, which lists them by the kernel's numbers.
const FOREIGN: &str = "SELECT COUNT_BIG(DISTINCT os_thread_id) FROM sys.dm_os_thread_ledger \
                       WHERE category = N'foreign'";

/// The ledger at one moment, or the difference of two readings.
#[derive(Clone, Debug, Default)]
pub(crate) struct Inside {
    pub(crate) rows: BTreeMap<Place, Amounts>,
    /// The source of the split of time, as the view names it.
    pub(crate) source: String,
}

/// Category and name of a row.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct Place {
    pub(crate) category: String,
    pub(crate) name: String,
}

/// The amounts of a row. Signed: a correction may subtract from a row.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Amounts {
    pub(crate) wall_ns: i64,
    pub(crate) on_cpu_ns: i64,
    pub(crate) runnable_ns: i64,
    pub(crate) blocked_ns: i64,
    pub(crate) occurrences: i64,
    /// One standard deviation of the share, if the row is an estimate.
    pub(crate) sampling_error: Option<f64>,
}

impl Inside {
    /// Reads the view's rows.
    pub(crate) fn read(client: &mut Generator) -> Result<Self> {
        let packets = client.ask(&client::batch(QUERY, ClientSettings::default()))?;
        let answer = Answer::decode(&packets)?.check()?;
        let mut inside = Self::default();
        for row in answer.rows() {
            let [category, name, numbers @ .., sampling_error, source] = row else {
                return Err(format!("the ledger's row has {} columns", row.len()));
            };
            let place = Place { category: text(category)?, name: text(name)? };
            let amounts = amounts(numbers, sampling_error)
                .ok_or_else(|| format!("the ledger's row {place:?} is {row:?}"))?;
            inside.source = text(source)?;
            if inside.rows.insert(place.clone(), amounts).is_some() {
                return Err(format!("the ledger has two rows {place:?}"));
            }
        }
        match inside.rows.is_empty() {
            true => Err("the ledger is empty".to_owned()),
            false => Ok(inside),
        }
    }

    /// Counts the threads that the ledger calls foreign.
    pub(crate) fn foreign_threads(client: &mut Generator) -> Result<u64> {
        let packets = client.ask(&client::batch(FOREIGN, ClientSettings::default()))?;
        match Answer::decode(&packets)?.check()?.rows()[..] {
            [&[Value::BigInt(count)]] => u64::try_from(count).map_err(|error| error.to_string()),
            ref other => Err(format!("a count of threads is {other:?}")),
        }
    }

    /// Returns the difference to an earlier reading.
    pub(crate) fn since(&self, earlier: &Self) -> Self {
        let mut difference = self.clone();
        for (place, amounts) in &mut difference.rows {
            if let Some(before) = earlier.rows.get(place) {
                *amounts = amounts.less(before);
            }
        }
        difference
    }

    /// Returns the sum of the matching rows.
    pub(crate) fn sum(&self, wanted: impl Fn(&Place) -> bool) -> Amounts {
        let rows = self.rows.iter().filter(|(place, _)| wanted(place));
        rows.fold(Amounts::default(), |sum, (_, amounts)| sum.plus(amounts))
    }

    /// Returns the sum of a category.
    pub(crate) fn category(&self, category: &str) -> Amounts {
        self.sum(|place| place.category == category)
    }

    /// Returns the sum of all rows.
    pub(crate) fn total(&self) -> Amounts {
        self.sum(|_| true)
    }
}

impl Amounts {
    fn plus(self, other: &Self) -> Self {
        Self {
            wall_ns: self.wall_ns + other.wall_ns,
            on_cpu_ns: self.on_cpu_ns + other.on_cpu_ns,
            runnable_ns: self.runnable_ns + other.runnable_ns,
            blocked_ns: self.blocked_ns + other.blocked_ns,
            occurrences: self.occurrences + other.occurrences,
            sampling_error: None,
        }
    }

    fn less(self, other: &Self) -> Self {
        Self {
            wall_ns: self.wall_ns - other.wall_ns,
            on_cpu_ns: self.on_cpu_ns - other.on_cpu_ns,
            runnable_ns: self.runnable_ns - other.runnable_ns,
            blocked_ns: self.blocked_ns - other.blocked_ns,
            occurrences: self.occurrences - other.occurrences,
            sampling_error: self.sampling_error,
        }
    }
}

fn text(value: &Value) -> Result<String> {
    match value {
        Value::NVarChar(units) => Ok(types::text::from_utf16(units)),
        other => Err(format!("the ledger says {other:?} where a name must be")),
    }
}

fn amounts(numbers: &[Value], sampling_error: &Value) -> Option<Amounts> {
    let number = |at: usize| match numbers.get(at)? {
        Value::BigInt(number) => Some(*number),
        // NULL: an amount that cannot be split.
        Value::Null => Some(0),
        _ => None,
    };
    Some(Amounts {
        wall_ns: number(0)?,
        on_cpu_ns: number(1)?,
        runnable_ns: number(2)?,
        blocked_ns: number(3)?,
        occurrences: number(4)?,
        sampling_error: match sampling_error {
            Value::Float(error) => Some(*error),
            Value::Null => None,
            _ => return None,
        },
    })
}
