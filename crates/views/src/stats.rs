//! `sys.stats`: statistics of tables, one row per index and per CREATE STATISTICS.

use metadata::column::{
    BIT, Column, INT, NVMAX, SYSNAME, bit, col, int, opt, rows, shape, text, unknown, vc,
};
use metadata::statistics::{StatisticsRow, statistics};
use metadata::{Rows, Scope, SystemView};

const COLUMNS: &[Column<StatisticsRow>] = &[
    col("object_id", INT, |r| int(r.object_id)),
    opt("name", SYSNAME, |r| text(&r.name)),
    col("stats_id", INT, |r| int(r.id)),
    opt("auto_created", BIT, |_| bit(false)),
    opt("user_created", BIT, |r| bit(r.user_created)),
    opt("no_recompute", BIT, |r| bit(r.no_recompute)),
    opt("has_filter", BIT, |_| bit(false)),
    unknown("filter_definition", NVMAX),
    opt("is_temporary", BIT, |_| bit(false)),
    opt("is_incremental", BIT, |_| bit(false)),
    opt("has_persisted_sample", BIT, |_| bit(false)),
    unknown("stats_generation_method", INT),
    unknown("stats_generation_method_desc", vc(80)),
    opt("auto_drop", BIT, |_| bit(false)),
];

pub(crate) static VIEW: SystemView =
    SystemView { schema: "sys", name: "stats", columns: || shape(COLUMNS), rows: read, arity: 0 };

fn read(scope: &Scope<'_>) -> Rows {
    rows(COLUMNS, statistics(scope))
}
