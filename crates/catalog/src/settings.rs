//! Settings of the instance that procedures and DBCC change.

use std::sync::Arc;

/// Settings that are kept with the catalog, since they are read as often and changed as rarely.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Settings {
    /// `show advanced options` as sp_configure has set it.
    pub show_advanced: bool,
    /// The same as RECONFIGURE has brought it into use.
    pub advanced_in_use: bool,
    /// `sampling rate (Hz)` as sp_configure has set it, until RECONFIGURE brings it into use.
    pub sampling_rate_hz: Option<u32>,
    /// `max degree of parallelism`: schedulers that may work at a statement; 0 for all there are.
    pub degree_max: Pending,
    /// `cost threshold for parallelism`: what a plan must cost to run on several.
    pub cost_threshold: Pending,
    /// `allow polybase export`: whether CREATE EXTERNAL TABLE AS SELECT may write files.
    pub polybase_export: Pending,
}

/// A number as sp_configure has set it, and as RECONFIGURE has brought it into use.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Pending {
    /// What it is set to.
    pub set: i32,
    /// What is in use.
    pub in_use: i32,
}

impl Pending {
    const fn new(value: i32) -> Self {
        Self { set: value, in_use: value }
    }
}

impl Default for Settings {
    fn default() -> Self {
        Self {
            show_advanced: false,
            advanced_in_use: false,
            sampling_rate_hz: None,
            degree_max: Pending::new(0),
            cost_threshold: Pending::new(COST_THRESHOLD),
            polybase_export: Pending::new(0),
        }
    }
}

/// SQL Server's default.
const COST_THRESHOLD: i32 = 5;

/// Trace flags that are on for all sessions, in order.
pub type TraceFlags = Arc<[i32]>;
