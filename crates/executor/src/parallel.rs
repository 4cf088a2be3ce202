//! Parallelism as the executor sees it: the regions of the running tree, and the state that a
//! region's workers share.
//!
//! A region is a part of a tree that several schedulers run at once. The vectorized executor plans
//! and leads regions; scans take their parts from here.

use std::sync::Arc;

use sos::sync::{AtomicBool, AtomicUsize, Ordering};
use storage::Parts;

use crate::bulk::rowset::OpenFiles;
use plan::program::RunHints;

/// The parallelism of a context.
#[derive(Clone, Default)]
pub struct Parallel {
    /// Query hints that act at run time, such as MAXDOP.
    pub hints: RunHints,
    /// Whether the receiver of rows assigns variables that the statement may read, which prevents
    /// parallelism.
    pub assigns: bool,
    /// Whether the next tree to be planned is loaded into a columnstore.
    pub loads: bool,
    /// Whether the context belongs to a helper, which starts no helpers itself.
    pub is_helper: bool,
    /// The regions of the running tree.
    pub regions: Option<Arc<Regions>>,
    /// State shared by the workers of the running region.
    pub share: Option<Arc<Share>>,
}

impl Parallel {
    /// Returns the shared state if `scan` is the driving scan of the running region.
    pub fn share_of<S>(&self, scan: &S) -> Option<Arc<Share>> {
        let share = self.share.as_ref()?;
        (share.driver == std::ptr::from_ref(scan).addr()).then(|| Arc::clone(share))
    }

    /// Returns the region that ends at the operator with this address.
    pub fn region(&self, at: usize, role: Role) -> Option<Region> {
        self.regions.as_ref()?.find(at, role)
    }
}

/// What becomes of a region's rows.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Role {
    /// The leader gathers the rows of its helpers.
    Gather,
    /// The partial aggregates of all workers are merged.
    Aggregate,
    /// The rows are loaded into a columnstore.
    Load,
}

/// The regions of a tree, with the most schedulers for each.
#[derive(Debug)]
pub struct Regions {
    /// Most schedulers that may work on one region.
    pub degree: usize,
    /// The topmost operator of each region.
    pub roots: Vec<Root>,
}

/// The topmost operator of a region.
#[derive(Clone, Copy, Debug)]
pub struct Root {
    /// Address of the node that is gathered or loaded, or of the aggregate.
    pub at: usize,
    /// What becomes of the region's rows.
    pub role: Role,
    /// Address of the driving scan, whose rows are divided among the workers.
    pub driver: usize,
}

/// A region: its driving scan and degree of parallelism.
#[derive(Clone, Copy, Debug)]
pub struct Region {
    /// Most schedulers that may work on it.
    pub degree: usize,
    /// Address of its driving scan.
    pub driver: usize,
}

impl Regions {
    /// Returns the region whose topmost operator has this address and role.
    pub fn find(&self, at: usize, role: Role) -> Option<Region> {
        let root = self.roots.iter().find(|root| root.at == at && root.role == role)?;
        Some(Region { degree: self.degree, driver: root.driver })
    }

    /// Returns true if there is such a region.
    pub fn has(&self, at: usize, role: Role) -> bool {
        self.find(at, role).is_some()
    }
}

/// State shared by the workers of a region.
pub struct Share {
    /// Address of the region's driving scan.
    driver: usize,
    parts: Arc<Parts>,
    /// The next part of the row groups to be taken.
    groups: AtomicUsize,
    /// The open files whose row groups are read.
    files: OpenFiles,
    is_stopped: AtomicBool,
}

impl Share {
    /// Makes the shared state for a driving scan with this address.
    pub fn new(driver: usize) -> Self {
        Self {
            driver,
            parts: Arc::default(),
            groups: AtomicUsize::new(0),
            files: OpenFiles::default(),
            is_stopped: AtomicBool::new(false),
        }
    }

    /// Returns the parts of the driving scan's heap.
    pub fn parts(&self) -> &Arc<Parts> {
        &self.parts
    }

    /// Returns the files of the driving scan that a worker has open.
    pub const fn files(&self) -> &OpenFiles {
        &self.files
    }

    /// Takes the next part of the row groups; `None` after [`Self::stop`].
    pub(crate) fn next_part(&self) -> Option<usize> {
        // Relaxed: only uniqueness matters.
        (!self.is_stopped()).then(|| self.groups.fetch_add(1, Ordering::Relaxed))
    }

    /// Returns true if the workers should stop early.
    pub fn is_stopped(&self) -> bool {
        // Relaxed: no data is read because of this flag.
        self.is_stopped.load(Ordering::Relaxed)
    }

    /// Makes the other workers stop early.
    pub fn stop(&self) {
        self.is_stopped.store(true, Ordering::Relaxed);
    }
}
