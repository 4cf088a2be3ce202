//! `sys.stats_columns`: the columns of statistics.

use metadata::column::{Column, INT, col, int, opt, rows, shape};
use metadata::statistics::statistics;
use metadata::{Rows, Scope, SystemView};

/// The columns, read from (`object_id`, `stats_id`, `stats_column_id`, `column_id`).
const COLUMNS: &[Column<[i32; 4]>] = &[
    col("object_id", INT, |r| int(r[0])),
    col("stats_id", INT, |r| int(r[1])),
    opt("stats_column_id", INT, |r| int(r[2])),
    opt("column_id", INT, |r| int(r[3])),
];

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
