//! `clearway diagnose`: asks a server by SQL alone for some seconds, judges by the rules of crate
//! `verdict`, and, where asked, tests the suspicion by an intervention.
//!
//! ```text
//!   Inquiry (login, who is it, which views) ─► Recording ─► verdict::judge ─► report
//!                                      └─ confirm (a delay on and off, and the throughput) ─┘
//! ```
//!
//! Use, and how often it is right: docs/diagnose.md. `faults` is the harness that measures that.
#![forbid(unsafe_code)]

mod confirm;

mod inquiry;

use std::time::Duration;

use load::link::Target;
use verdict::{Verdict, judge};

use inquiry::Inquiry;

/// What a run asks for.
#[derive(Clone, Debug)]
pub struct Settings {
    /// The server as the user named it.
    pub server: String,
    /// Its address, the login and the encryption.
    pub target: Target,
    /// How long the login and each answer may take.
    pub patience: Duration,
    /// How long to look.
    pub length: Duration,
    /// Whether to test the suspicion by an intervention.
    pub confirm: bool,
}

/// Looks at a server and judges. `wait` lets time pass and returns false when the user wants an
/// end: then the recording ends with what there is.
///
/// # Errors
/// A sentence that says why there is no verdict: login, permission, make or connection.
pub fn run(settings: &Settings, mut wait: impl FnMut(Duration) -> bool) -> Result<Verdict, String> {
    let mut inquiry = Inquiry::begin(settings)?;
    let recording = inquiry.record(settings.length, &mut wait)?;
    let mut verdict = judge(&recording);
    if settings.confirm {
        confirm::confirm(&mut inquiry, &mut verdict, &mut wait)?;
    }
    Ok(verdict)
}
