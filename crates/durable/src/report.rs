//! Lines about the data folder, for stderr and for `xp_readerrorlog`.

use std::fmt::Display;

/// Writes a line about the files of the instance.
pub(crate) fn line(what: &dyn Display) {
    sos::error_log::keep(&what.to_string());
    eprintln!("clearway: {what}");
}
