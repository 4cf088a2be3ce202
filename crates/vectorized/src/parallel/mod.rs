//! Parallel plans: runs pipelines of one statement on several schedulers at once.
//!
//! ```text
//!                 Aggregate (merges)                        Sort, HashJoin's right side, ..
//!        ┌────────────┼────────────┐                          Gather (a queue of batches)
//!   Collect(leader) Collect(1)  Collect(2)              ┌────────────┼────────────┐
//!      Join ─ Join ─── Join ──── shared tables        Filter       Filter       Filter
//!      Scan   Scan     Scan ──── parts of one heap     Scan         Scan         Scan
//! ```
//! A **region** is a pipeline whose driving scan divides its table into parts: segments of a heap,
//! blocks of row groups, row groups of Parquet files. The session's thread is the leader: it builds
//! the hash tables of the pipeline, asks idle schedulers for help (`sos::sched::Crew`), and works
//! as one of them. Each worker has its own operators, compiled from the same nodes, its own context
//! and a reader of the transaction's snapshots. Workers share the parts, the hash tables, and a
//! flag to stop. `regions.rs` decides which pipelines may be regions.
//!
//! The time and waits of a helper are added to the session's books when it ends; until then it is a
//! task with its own `exec_context_id`.

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

/// The finished hash tables of a region, by the address of their join.
pub(super) type Tables = Vec<(usize, Arc<Published>)>;

/// Returns the hash table of a join, if the leader of the region has built it.
pub(super) fn table_of(tables: &Tables, join: &Join) -> Option<Arc<Published>> {
    let at = std::ptr::from_ref(join).addr();
    tables.iter().find(|table| table.0 == at).map(|table| Arc::clone(&table.1))
}

/// Plans the regions of a tree, then runs it.
pub(super) fn planned<R>(node: &Node, cx: &mut Cx<'_>, run: impl FnOnce(&mut Cx<'_>) -> R) -> R {
    let regions = if cx.parallel.is_helper { None } else { regions::regions(node, cx) };
    let regions = std::mem::replace(&mut cx.parallel.regions, regions);
    let share = cx.parallel.share.take();
    let done = run(cx);
    cx.parallel.regions = regions;
    cx.parallel.share = share;
    done
}
