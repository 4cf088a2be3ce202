//! `Cancel`: the flag that ends a wait early. A model checker waits by spinning and has a stand-in.

#[cfg(not(any(loom, shuttle)))]
pub use sos::park::Cancel;

/// Replaces `sos::park::Cancel` under a model checker; it is never made.
#[cfg(any(loom, shuttle))]
#[derive(Debug)]
pub struct Cancel(());

#[cfg(any(loom, shuttle))]
impl Cancel {
    /// Returns false: no request of a model is cancelled.
    #[must_use]
    pub(crate) fn is_set(&self) -> bool {
        false
    }
}
