//! `sys.stats_columns`: columns of statistics.

use metadata::column::{Column, INT, col, int, opt, rows, shape};
use metadata::statistics::statistics;
use metadata::{Rows, Scope, SystemView};

/// Table, statistics, place and column.
const COLUMNS: &[Column<[i32; 4]>] = &[
    col("object_id", INT, |r| int(r[0])),
    col("stats_id", INT, |r| int(r[1])),
    opt("stats_column_id", INT, |r| int(r[2])),
    opt("column_id", INT, |r| int(r[3])),
];

/// The view.
pub(crate) static VIEW: SystemView = SystemView {
    schema: "sys",
    name: "stats_columns",
    columns: || shape(COLUMNS),
    rows: read,
    arity: 0,
};

fn read(scope: &Scope<'_>) -> Rows {
    let columns = statistics(scope).into_iter().flat_map(|s| {
        let places = (1..).zip(s.columns);
        places.map(move |(place, column)| [s.object_id, s.id, place, column])
    });
    rows(COLUMNS, columns)
}
