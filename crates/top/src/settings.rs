//! What the command line asks for.

use std::time::Duration;

use load::link::Target;

use crate::app::Screen;

/// The settings of a run.
#[derive(Clone, Debug)]
pub struct Settings {
    /// The server as the user named it.
    pub server: String,
    /// Its address, the login and the encryption.
    pub target: Target,
    /// How long the login and each answer may take.
    pub patience: Duration,
    /// Milliseconds between two refreshes.
    pub interval_ms: u64,
    /// The screen that is shown first.
    pub screen: Screen,
    /// How often to refresh before the screen is printed as text; `None` uses the terminal.
    pub batch: Option<u64>,
    /// Columns and lines of the printed screen.
    pub size: (u16, u16),
}
