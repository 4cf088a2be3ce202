//! Hand-over protocols: how threads pass on a scheduler ([`baton`]) or a piece of parallel work
//! ([`work_item`]) so that exactly one of them has it.
//!
//! Both are state machines over atomics and a spinlock. They know neither schedulers, tasks nor the
//! ledger, so that model checkers can run them: shuttle the baton (`tests/shuttle.rs`), loom the
//! work item (`tests/loom_work_item.rs`).

#[cfg(not(loom))]
pub mod baton;
pub mod work_item;
