//! Lines about the data folder, in the server's log.

pub(crate) use sos::error_log::line;
