//! Definitions of system-versioned temporal tables.
//!
//! A table with a period has two columns that the system fills: when a row version began, and when
//! it ended. With SYSTEM_VERSIONING it also has a history table with the same columns, which
//! receives each row version that is replaced.

use std::sync::Arc;

use super::{TableDef, TableRows};

/// Which end of a row's period a column contains.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Generated {
    /// AS ROW START: the time of the transaction that made the row version.
    RowStart,
    /// AS ROW END: the maximum time as long as the row version is current.
    RowEnd,
}

/// PERIOD FOR SYSTEM_TIME, by the ordinals of its columns.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Period {
    /// Ordinal of the ROW START column.
    pub start: u16,
    /// Ordinal of the ROW END column.
    pub end: u16,
}

/// Whether a table is system-versioned, and its role.
#[derive(Clone, Default)]
pub enum Versioning {
    /// It is not system-versioned.
    #[default]
    Off,
    /// It contains the current row versions.
    Current {
        /// `object_id` of the history table.
        history: i32,
        /// Rows of the history table, which has the same row layout.
        rows: Arc<TableRows>,
    },
    /// It contains the earlier row versions.
    History {
        /// `object_id` of the table with the current row versions.
        current: i32,
    },
}

impl TableDef {
    /// Returns the rows of the history table, if the table has one.
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

    /// Returns whether it is the history table of another table.
    pub fn is_history(&self) -> bool {
        matches!(self.versioning, Versioning::History { .. })
    }

    /// Returns whether it is the current or the history table of a system-versioned table.
    pub fn is_versioned(&self) -> bool {
        !matches!(self.versioning, Versioning::Off)
    }

    /// Returns the ordinals of the period's columns.
    pub fn period_columns(&self) -> impl Iterator<Item = u16> {
        self.period.into_iter().flat_map(|period| [period.start, period.end])
    }
}
