//! Statistics as the catalog views show them: one for each index, and those that were asked for by name.

use crate::objects::tables;
use crate::view::Scope;

/// One set of statistics.
pub struct StatisticsRow {
    /// Table.
    pub object_id: i32,
    /// `stats_id`: the index's, else one above them all.
    pub id: i32,
    /// Its name.
    pub name: String,
    /// Whether it is of no index.
    pub user_created: bool,
    /// STATISTICS_NORECOMPUTE of the index, or NORECOMPUTE.
    pub no_recompute: bool,
    /// Columns by `column_id`.
    pub columns: Vec<i32>,
}

/// Returns the statistics of a database.
pub fn statistics(scope: &Scope<'_>) -> Vec<StatisticsRow> {
    let mut rows = Vec::new();
    for table in tables(scope.session, scope.database) {
        let id = |ordinal: u16| i32::from(ordinal) + 1;
        rows.extend(table.indexes.iter().map(|index| StatisticsRow {
            object_id: table.id,
            id: index.id,
            name: index.name.clone(),
            user_created: false,
            no_recompute: index.shown.no_recompute,
            columns: index.keys.iter().map(|(ordinal, _)| id(*ordinal)).collect(),
        }));
        let highest = table.indexes.iter().map(|index| index.id).max().unwrap_or(0).max(1);
        rows.extend((highest + 1..).zip(&table.statistics).map(|(number, named)| StatisticsRow {
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
