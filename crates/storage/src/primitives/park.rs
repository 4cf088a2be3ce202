//! `Cancel`: the flag that ends a wait early. A model checker waits by spinning and has a stand-in.

#[cfg(not(any(loom, shuttle)))]
pub use sos::park::Cancel;

/// Stands in for `sos::park::Cancel` under a model checker.
#[cfg(any(loom, shuttle))]
#[derive(Debug)]
pub struct Cancel(());
