//! Statistics as `sys.stats` shows them: one row per index, and one per CREATE STATISTICS.

use crate::objects::tables_and_types;
use crate::view::Scope;

/// One set of statistics: a row of `sys.stats`.
pub struct StatisticsRow {
    /// `object_id` of the table.
    pub object_id: i32,
    /// `stats_id`: the index's id, or a number above those of all indexes.
    pub id: i32,
    /// `name`: the index's, or the one that CREATE STATISTICS gave.
    pub name: String,
    /// `user_created`: whether CREATE STATISTICS made it.
    pub user_created: bool,
    /// `no_recompute`: STATISTICS_NORECOMPUTE of the index, or NORECOMPUTE.
    pub no_recompute: bool,
    /// `column_id`s of its columns, in order.
    pub columns: Vec<i32>,
}

/// Returns the statistics of a database.
pub fn statistics(scope: &Scope<'_>) -> Vec<StatisticsRow> {
    let mut rows = Vec::new();
    for table in tables_and_types(scope.session, scope.database) {
        let id = |ordinal: u16| i32::from(ordinal) + 1;
        rows.extend(table.indexes.iter().map(|index| StatisticsRow {
            object_id: table.id,
            id: index.id,
            name: index.name.clone(),
            user_created: false,
            no_recompute: index.shown.no_recompute,
            columns: index.keys.iter().map(|(ordinal, _)| id(*ordinal)).collect(),
        }));
        let first = table.highest_index_id() + 1;
        rows.extend((first..).zip(&table.statistics).map(|(number, named)| StatisticsRow {
            object_id: table.id,
            id: number,
            name: named.name.clone(),
            user_created: true,
            no_recompute: named.no_recompute,
            columns: named.columns.iter().map(|ordinal| id(*ordinal)).collect(),
        }));
    }
    rows
}
