//! Settings of the instance that sp_configure and DBCC change.

use std::sync::Arc;

/// Settings that are stored in the catalog because they are read as often and changed as rarely.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Settings {
    /// `show advanced options` as set by sp_configure.
    pub show_advanced: bool,
    /// The value of `show advanced options` after the last RECONFIGURE.
    pub advanced_in_use: bool,
    /// `sampling rate (Hz)` as set by sp_configure, until RECONFIGURE applies it.
    pub sampling_rate_hz: Option<u32>,
    /// `max degree of parallelism`: limit of schedulers per statement; 0 for all.
    pub degree_max: Pending,
    /// `cost threshold for parallelism`: minimum cost of a plan that runs on several schedulers.
    pub cost_threshold: Pending,
    /// `allow polybase export`: whether CREATE EXTERNAL TABLE AS SELECT may write files.
    pub polybase_export: Pending,
    /// `recovery interval (min)`: how long a start may replay the log of a database whose
    /// TARGET_RECOVERY_TIME is 0; 0 for the default.
    pub recovery_interval: Pending,
    /// `default language`: the `langid` that a new login gets.
    pub default_language: Pending,
    /// `blocked process threshold (s)`: how long a request may be blocked before
    /// blocked_process_report fires; 0 for never.
    pub blocked_threshold: Pending,
}

/// A number with its configured value and the value in use.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Pending {
    /// Value set by sp_configure.
    pub set: i32,
    /// Value applied by RECONFIGURE.
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
            recovery_interval: Pending::new(0),
            default_language: Pending::new(0),
            blocked_threshold: Pending::new(0),
        }
    }
}

/// SQL Server's default threshold for parallelism, in cost units.
const COST_THRESHOLD: i32 = 5;

/// Trace flags that are on for all sessions, in order.
pub type TraceFlags = Arc<[i32]>;
