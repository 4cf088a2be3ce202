//! `sys.fn_time_ledger(@from, @to)`: the time of all threads between two moments, by category.
//!
//! The moments are rounded to the nearest ones at which the books were closed: `from_time` and
//! `to_time`. NULL is the start of the server for `@from`, and now for `@to`.

use std::collections::HashMap;

use sos::ledger::{Category, LedgerRow};
use types::date::Moment;
use types::value::ColumnType;
use types::{DataType, Mode, Result, Value};

use ::session::instance::Remembered;
use metadata::ledger::{between, time_rows, values};
use metadata::{RowSet, Rows, Scope, SystemView};

const TIME: DataType = DataType::DateTime2(7);
const BEHIND: &[(&str, DataType)] = &[("from_time", TIME), ("to_time", TIME)];

pub(crate) static VIEW: SystemView = SystemView {
    schema: "sys",
    name: "fn_time_ledger",
    columns: || between(&[], BEHIND),
    rows: read,
    arity: 2,
};

fn read(scope: &Scope<'_>) -> Rows {
    let instance = &scope.session.instance;
    let from = argument(scope, 0)?;
    let to = argument(scope, 1)?;
    let started = Moment::from_value(&instance.started).unwrap_or_else(::catalog::clock::clock);
    let from = from.and_then(|time| nearest(scope, time, started));
    let now = || Remembered::of(instance.machine.accounts().close());
    let to = match to.map(|time| nearest(scope, time, started)) {
        None => now(),
        Some(Some(kept)) => kept,
        // Nearest to the start of the server, when nothing had been spent.
        Some(None) => return Ok(RowSet::default()),
    };
    let rows = match &from {
        None => to.rows.unpack(),
        Some(from) => difference(&from.rows.unpack(), &to.rows.unpack()),
    };
    let from_time = from.map_or(started, |from| from.reading.at);
    let behind = [from_time.to_value(&TIME)?, to.reading.at.to_value(&TIME)?];
    let rows = time_rows(rows, to.reading.source);
    Ok(rows.iter().map(|row| values(&[], row, &behind)).collect())
}

/// Reads an argument as `datetime2(7)`.
fn argument(scope: &Scope<'_>, at: usize) -> Result<Option<Moment>> {
    let value = scope.arguments.get(at).unwrap_or(&Value::Null);
    let plain =
        |data_type| ColumnType { data_type, collation: scope.session.collation(), nullable: true };
    let options = scope.session.convert_options();
    let from = plain(value.data_type());
    let value = types::convert(value, &from, &plain(TIME), 0, Mode::Implicit, &options)?;
    Ok(Moment::from_value(&value))
}

/// Returns the closed books nearest to a time; `None` if the server's start, with empty books, is
/// nearer.
fn nearest(scope: &Scope<'_>, time: Moment, started: Moment) -> Option<Remembered> {
    let kept = scope.session.instance.history.nearest(time)?;
    let distance = |moment: Moment| ticks(moment).abs_diff(ticks(time));
    (distance(kept.reading.at) <= distance(started)).then_some(kept)
}

fn ticks(moment: Moment) -> i64 {
    i64::from(moment.days) * types::date::TICKS_PER_DAY + moment.ticks
}

/// Subtracts earlier books from later ones; rows without a difference are omitted.
fn difference(earlier: &[LedgerRow], later: &[LedgerRow]) -> Vec<LedgerRow> {
    let key = |row: &LedgerRow| (row.category, row.name);
    let before: HashMap<(Category, &str), &LedgerRow> =
        earlier.iter().map(|row| (key(row), row)).collect();
    let since = |row: &LedgerRow| {
        let Some(before) = before.get(&key(row)) else { return row.clone() };
        let on_cpu_ns = row.on_cpu_ns.saturating_sub(before.on_cpu_ns);
        let runnable_ns = row.runnable_ns.saturating_sub(before.runnable_ns);
        let blocked_ns = row.blocked_ns.saturating_sub(before.blocked_ns);
        LedgerRow {
            // The sum of the parts, so that it still adds up where a part was corrected downwards.
            wall_ns: on_cpu_ns + runnable_ns + blocked_ns,
            on_cpu_ns,
            runnable_ns,
            blocked_ns,
            count: row.count.saturating_sub(before.count),
            error_ns: error_of_difference(before.error_ns, row.error_ns),
            ..row.clone()
        }
    };
    later.iter().map(since).filter(|row| row.wall_ns > 0 || row.count > 0).collect()
}

/// Samples after a moment are independent of those before it, so the squares of the errors
/// subtract.
fn error_of_difference(earlier: Option<u64>, later: Option<u64>) -> Option<u64> {
    let square = |ns: u64| u128::from(ns) * u128::from(ns);
    let rest = square(later?).saturating_sub(square(earlier.unwrap_or(0)));
    u64::try_from(rest.isqrt()).ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn row(name: &'static str, on_cpu_ns: u64, error_ns: Option<u64>) -> LedgerRow {
        LedgerRow {
            category: Category::User,
            name,
            wall_ns: on_cpu_ns,
            on_cpu_ns,
            runnable_ns: 0,
            blocked_ns: 0,
            count: on_cpu_ns / 10,
            error_ns,
        }
    }

    #[test]
    fn a_difference_has_what_came_between() {
        let earlier = [row("parse", 100, Some(3)), row("bind", 50, None)];
        let later = [row("parse", 300, Some(5)), row("bind", 50, None), row("row", 70, None)];
        let found = difference(&earlier, &later);
        let parse = LedgerRow { count: 20, ..row("parse", 200, Some(4)) };
        assert_eq!(found, [parse, row("row", 70, None)]);
    }
}
