//! What the catalog knows of system-versioned temporal tables.
//!
//! A table with a period has two columns that the system fills: when a row began to hold, and when it
//! ceased to. With SYSTEM_VERSIONING it also has a history table, of the same columns, that gets each
//! version of a row when another takes its place.

use std::sync::Arc;

use super::{TableDef, TableRows};

/// Which end of a row's period a column holds.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Generated {
    /// AS ROW START: the time of the transaction that made the version.
    RowStart,
    /// AS ROW END: the end of time, as long as the version is the current one.
    RowEnd,
}

/// PERIOD FOR SYSTEM_TIME, by the ordinals of its columns.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Period {
    /// The column that is generated as row start.
    pub start: u16,
    /// The column that is generated as row end.
    pub end: u16,
}

/// Whether a table is system-versioned, and its part in that.
#[derive(Clone, Default)]
pub enum Versioning {
    /// It is not.
    #[default]
    Off,
    /// It has the current versions.
    Current {
        /// `object_id` of the history table.
        history: i32,
        /// Rows of the history table, whose columns lie in a row as this table's do.
        rows: Arc<TableRows>,
    },
    /// It has the earlier versions.
    History {
        /// `object_id` of the table with the current versions.
        current: i32,
    },
}

impl TableDef {
    /// Returns the rows of the history table, if earlier versions of the rows are kept.
    pub fn history_rows(&self) -> Option<&Arc<TableRows>> {
        match &self.versioning {
            Versioning::Current { rows, .. } => Some(rows),
            Versioning::Off | Versioning::History { .. } => None,
        }
    }

    /// Returns the `object_id` of the history table, if it has one.
    pub fn history_id(&self) -> Option<i32> {
        match self.versioning {
            Versioning::Current { history, .. } => Some(history),
            Versioning::Off | Versioning::History { .. } => None,
        }
    }

    /// Returns whether it keeps the earlier versions of another table's rows.
    pub fn is_history(&self) -> bool {
        matches!(self.versioning, Versioning::History { .. })
    }

    /// Returns whether it is one of the two tables of a system-versioned one.
    pub fn is_versioned(&self) -> bool {
        !matches!(self.versioning, Versioning::Off)
    }

    /// Returns the ordinals of the period's columns.
    pub fn period_columns(&self) -> impl Iterator<Item = u16> {
        self.period.into_iter().flat_map(|period| [period.start, period.end])
    }
}
