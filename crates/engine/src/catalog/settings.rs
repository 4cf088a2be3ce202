//! Settings of the instance that procedures and DBCC change.

use std::sync::Arc;

/// Settings that are kept with the catalog, since they are read as often and changed as rarely.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Settings {
    /// `show advanced options` as sp_configure has set it.
    pub show_advanced: bool,
    /// The same as RECONFIGURE has brought it into use.
    pub advanced_in_use: bool,
    /// `sampling rate (Hz)` as sp_configure has set it, until RECONFIGURE brings it into use.
    pub sampling_rate_hz: Option<u32>,
}

/// Trace flags that are on for all sessions, in order.
pub type TraceFlags = Arc<[i32]>;
