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
//! tables, and the word that somebody has stopped. `plan.rs` says what may be a region.
//!
//! What a helper spends and waits for is added to the session's books when it ends; meanwhile it is a task with an
//! `exec_context_id` of its own.

mod crew;
mod gather;
mod load;
mod plan;

use std::sync::Arc;

use sos::sync::{AtomicBool, AtomicUsize, Ordering};
use storage::Parts;

use super::hash_join::Published;
use crate::exec::Cx;
use crate::exec::bulk::rowset::OpenFiles;
use crate::plan::program::RunHints;
use crate::plan::query::{Join, Node};

pub(super) use crew::{Desk, Help, lead};
pub(super) use gather::Gather;
pub(super) use load::Load;
pub(crate) use plan::{Degree, Receiver, Regions, Role, regions_of};
pub(super) use plan::{Region, pieces_of_aggregate};

/// What a context knows of parallelism.
#[derive(Clone, Default)]
pub(crate) struct Parallel {
    /// Hints of the statement that act when it runs.
    pub(crate) hints: RunHints,
    /// Whether what receives the rows changes variables that the statement may read.
    pub(crate) assigns: bool,
    /// Whether the tree that is planned next is loaded into a columnstore.
    pub(super) loads: bool,
    /// Whether this is a helper's context: it asks for no help.
    is_helper: bool,
    /// The regions of the tree that runs.
    regions: Option<Arc<Regions>>,
    /// What the workers of the region that runs share.
    share: Option<Arc<Share>>,
}

/// Hash tables that are built, by the address of their join.
pub(super) type Tables = Vec<(usize, Arc<Published>)>;

/// What the workers of a region share.
pub(crate) struct Share {
    /// The address of the driving scan.
    driver: usize,
    parts: Arc<Parts>,
    /// The next part of the row groups.
    groups: AtomicUsize,
    /// The files whose row groups they are.
    files: OpenFiles,
    is_stopped: AtomicBool,
    tables: Tables,
}

impl Share {
    fn new(driver: usize, tables: Tables) -> Self {
        Self {
            driver,
            parts: Arc::default(),
            groups: AtomicUsize::new(0),
            files: OpenFiles::default(),
            is_stopped: AtomicBool::new(false),
            tables,
        }
    }

    /// The parts of the driving scan's heap.
    pub(crate) fn parts(&self) -> &Arc<Parts> {
        &self.parts
    }

    /// The files of the driving scan, as far as somebody reads them.
    pub(crate) const fn files(&self) -> &OpenFiles {
        &self.files
    }

    /// Takes the number of a part of the row groups that nobody has taken yet; none once somebody has stopped.
    pub(crate) fn next_part(&self) -> Option<usize> {
        // Relaxed: only uniqueness is asked for.
        (!self.is_stopped()).then(|| self.groups.fetch_add(1, Ordering::Relaxed))
    }

    /// Tells whether the others need not go on.
    pub(crate) fn is_stopped(&self) -> bool {
        // Relaxed: what has happened is told by other means.
        self.is_stopped.load(Ordering::Relaxed)
    }

    fn stop(&self) {
        self.is_stopped.store(true, Ordering::Relaxed);
    }
}

impl Parallel {
    /// What the workers share whose driving scan this is.
    pub(super) fn share_of<S>(&self, scan: &S) -> Option<Arc<Share>> {
        let share = self.share.as_ref()?;
        (share.driver == std::ptr::from_ref(scan).addr()).then(|| Arc::clone(share))
    }

    /// The table of a join of the region that runs, if the leader has built it.
    pub(super) fn table_of(&self, join: &Join) -> Option<Arc<Published>> {
        let at = std::ptr::from_ref(join).addr();
        let tables = &self.share.as_ref()?.tables;
        tables.iter().find(|table| table.0 == at).map(|table| Arc::clone(&table.1))
    }

    /// The region that begins at an operator.
    pub(super) fn region(&self, at: usize, role: Role) -> Option<plan::Region> {
        self.regions.as_ref()?.find(at, role)
    }
}

/// Runs a tree with its regions planned.
pub(super) fn planned<R>(node: &Node, cx: &mut Cx<'_>, run: impl FnOnce(&mut Cx<'_>) -> R) -> R {
    let regions = if cx.parallel.is_helper { None } else { plan::regions(node, cx) };
    let regions = std::mem::replace(&mut cx.parallel.regions, regions);
    let share = cx.parallel.share.take();
    let done = run(cx);
    cx.parallel.regions = regions;
    cx.parallel.share = share;
    done
}
