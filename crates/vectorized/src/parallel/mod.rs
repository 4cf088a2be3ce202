//! Parallel plans: pipelines of one statement on several schedulers at once.
//!
//! ```text
//!                 Aggregate (merges)                        Sort, HashJoin's right side, ..
//!        ┌────────────┼────────────┐                          Gather (a queue of batches)
//!   Collect(leader) Collect(1)  Collect(2)              ┌────────────┼────────────┐
//!      Join ─ Join ─── Join ──── shared tables        Filter       Filter       Filter
//!      Scan   Scan     Scan ──── parts of one heap     Scan         Scan         Scan
//! ```
//! A **region** is a pipeline whose driving scan hands its table out in parts: segments of a heap, blocks of row
//! groups, row groups of Parquet files. The session's own thread leads: it builds the hash tables of the pipeline, asks schedulers that have
//! nothing to do for help (`sos::sched::Crew`), and works as one of them. Each has its own operators, compiled from
//! the same nodes, its own context and a reader of the transaction's snapshots; what they share is the parts, the
//! tables, and the word that somebody has stopped. `regions.rs` says what may be a region.
//!
//! What a helper spends and waits for is added to the session's books when it ends; meanwhile it is a task with an
//! `exec_context_id` of its own.

mod crew;
mod gather;
mod load;
mod regions;

use std::sync::Arc;

use super::hash_join::Published;
use executor::Cx;
use plan::query::{Join, Node};

pub(super) use crew::{Desk, Help, lead};
pub(super) use gather::Gather;
pub(super) use load::Load;
pub(super) use regions::pieces_of_aggregate;
pub use regions::{Degree, Receiver, regions_of};

/// Hash tables that are built, by the address of their join.
pub(super) type Tables = Vec<(usize, Arc<Published>)>;

/// Finds the table of a join, if the leader of the region has built it.
pub(super) fn table_of(tables: &Tables, join: &Join) -> Option<Arc<Published>> {
    let at = std::ptr::from_ref(join).addr();
    tables.iter().find(|table| table.0 == at).map(|table| Arc::clone(&table.1))
}

/// Runs a tree with its regions planned.
pub(super) fn planned<R>(node: &Node, cx: &mut Cx<'_>, run: impl FnOnce(&mut Cx<'_>) -> R) -> R {
    let regions = if cx.parallel.is_helper { None } else { regions::regions(node, cx) };
    let regions = std::mem::replace(&mut cx.parallel.regions, regions);
    let share = cx.parallel.share.take();
    let done = run(cx);
    cx.parallel.regions = regions;
    cx.parallel.share = share;
    done
}
