//! Rows as chains of versions, the state of the transactions that wrote them, and visibility.
//!
//! ```text
//!  heap ── head ──► version ──► version ──► ..     newest first
//!                      │ begin word: a commit time, or a pointer to
//!                      ▼
//!                    state: active, committing, committed at .., aborted; how many wait for it
//! ```
//!
//! The files are in an order, without import cycles: `layout` (one version in memory) and `state`
//! (one transaction's outcome) are at the bottom, then `head`, `heap` and `blocker` (a blocking
//! transaction as a value that can be kept), then `chain` (which transaction wrote each version),
//! and `visibility` at the top. *Waiting* for a blocker is the business of `transaction/wait.rs`:
//! nothing in this folder blocks.
//!
//! This folder does not know tables, indexes, snapshots in use, or what a statement is.
//!
//! Start with `visibility.rs`; go to `layout.rs` for the bytes of a version and to `state.rs` for
//! how a commit becomes visible at one moment.

mod blocker;
mod chain;
mod head;
mod heap;
mod layout;
mod state;
mod visibility;

pub(crate) use blocker::Blocker;
pub use blocker::LockWait;
pub(crate) use chain::{Holder, Newest, Owner, changer, newest, newest_durable, owner, versions};
pub(crate) use head::{RowHead, prefetch_version};
pub(crate) use heap::{HeadRun, Heap, HeapPosition, HeapRange};
pub(crate) use layout::{Begin, Version, VersionKind, retire_version};
pub(crate) use state::{Pace, TxState, TxStatus, announce_undo, announce_withdrawal, wake_waiters};
pub(crate) use visibility::{Sight, View, visible, visible_fast};
