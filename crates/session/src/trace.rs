//! `Trace`: the distributed trace that a session works for, as its client has said with
//! `sp_set_session_context N'traceparent'`. Other sessions and events can see it.

use std::sync::Arc;

use sos::lock::{SpinClass, SpinLock};
use sos::sync::{AtomicBool, Ordering};
use types::{Collation, Value};

/// The key of the session context, as in the HTTP header of W3C Trace Context.
pub const KEY: &str = "traceparent";
/// Where the parts of a traceparent end: version, trace, parent, flags.
const PARTS: [usize; 4] = [2, 32, 16, 2];

/// The trace of a session. Written by the session only.
pub struct Trace {
    /// Whether there is one: a reset must not take the lock for nothing.
    is_set: AtomicBool,
    text: SpinLock<Option<Arc<str>>>,
}

impl Default for Trace {
    fn default() -> Self {
        let text = SpinLock::new(SpinClass::SessionManager, None);
        Self { is_set: AtomicBool::new(false), text }
    }
}

impl Trace {
    /// Sets the trace; a value that is no traceparent clears it.
    pub fn set(&self, value: &Value) {
        let inner = match value {
            Value::Variant(inner) => &inner.0,
            value => value,
        };
        let text = inner.as_text(Collation::default()).filter(|text| is_traceparent(text));
        // Relaxed: only the session reads it.
        self.is_set.store(text.is_some(), Ordering::Relaxed);
        *self.text.lock() = text.map(Arc::from);
    }

    /// Clears the trace, at a reset of the connection.
    pub fn clear(&self) {
        if self.is_set.swap(false, Ordering::Relaxed) {
            *self.text.lock() = None;
        }
    }

    /// Returns the trace, if the client has set one.
    pub fn get(&self) -> Option<Arc<str>> {
        self.text.lock().clone()
    }
}

/// Returns whether a text has the form `00-<32 digits>-<16 digits>-<2 digits>`, in lower case and
/// with a trace and a parent other than zero. W3C Trace Context, 3.2.
fn is_traceparent(text: &str) -> bool {
    let parts: Vec<&str> = text.split('-').collect();
    let is_hex =
        |part: &str| part.bytes().all(|b| b.is_ascii_digit() || (b'a'..=b'f').contains(&b));
    let is_zero = |part: &str| part.bytes().all(|b| b == b'0');
    parts.len() == PARTS.len()
        && parts.iter().zip(PARTS).all(|(part, length)| part.len() == length && is_hex(part))
        && parts[0] != "ff"
        && !is_zero(parts[1])
        && !is_zero(parts[2])
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The example of W3C Trace Context, 3.2.2.
    const VALID: &str = "00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01";

    #[test]
    fn only_a_traceparent_is_a_trace() {
        assert!(is_traceparent(VALID));
        for wrong in [
            "",
            "4bf92f3577b34da6a3ce929d0e0e4736",
            "00-4BF92F3577B34DA6A3CE929D0E0E4736-00f067aa0ba902b7-01",
            "00-00000000000000000000000000000000-00f067aa0ba902b7-01",
            "00-4bf92f3577b34da6a3ce929d0e0e4736-0000000000000000-01",
            "ff-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01",
            "00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01-x",
        ] {
            assert!(!is_traceparent(wrong), "{wrong}");
        }
    }

    #[test]
    fn a_trace_lasts_until_a_reset_or_another_value() {
        let trace = Trace::default();
        let value = |text: &str| Value::nvarchar(text);
        trace.set(&value(VALID));
        assert_eq!(trace.get().as_deref(), Some(VALID));
        trace.set(&value("none"));
        assert_eq!(trace.get(), None);
        trace.set(&value(VALID));
        trace.clear();
        assert_eq!(trace.get(), None);
    }
}
