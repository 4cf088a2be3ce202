//! What a context knows of parallelism: the regions of the tree that runs, and what the workers of one share.
//!
//! A region is a part of a tree that several schedulers run at once. The vector executor plans and leads regions; scans
//! take their parts from here.

use std::sync::Arc;

use sos::sync::{AtomicBool, AtomicUsize, Ordering};
use storage::Parts;

use crate::bulk::rowset::OpenFiles;
use plan::program::RunHints;

/// What a context knows of parallelism.
#[derive(Clone, Default)]
pub struct Parallel {
    /// Hints of the statement that act when it runs.
    pub hints: RunHints,
    /// Whether what receives the rows changes variables that the statement may read.
    pub assigns: bool,
    /// Whether the tree that is planned next is loaded into a columnstore.
    pub loads: bool,
    /// Whether this is a helper's context: it asks for no help.
    pub is_helper: bool,
    /// The regions of the tree that runs.
    pub regions: Option<Arc<Regions>>,
    /// What the workers of the region that runs share.
    pub share: Option<Arc<Share>>,
}

impl Parallel {
    /// Returns what the workers share whose driving scan this is.
    pub fn share_of<S>(&self, scan: &S) -> Option<Arc<Share>> {
        let share = self.share.as_ref()?;
        (share.driver == std::ptr::from_ref(scan).addr()).then(|| Arc::clone(share))
    }

    /// Returns the region that begins at an operator.
    pub fn region(&self, at: usize, role: Role) -> Option<Region> {
        self.regions.as_ref()?.find(at, role)
    }
}

/// What a region is for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Role {
    /// Its rows are gathered.
    Gather,
    /// Its aggregates are merged.
    Aggregate,
    /// Its rows go into a columnstore.
    Load,
}

/// The regions of a tree.
#[derive(Debug)]
pub struct Regions {
    /// Schedulers that may work at one.
    pub degree: usize,
    /// Where each ends.
    pub roots: Vec<Root>,
}

/// Where a region ends.
#[derive(Clone, Copy, Debug)]
pub struct Root {
    /// The address of the node that is gathered or loaded, or of the aggregate.
    pub at: usize,
    /// What it is for.
    pub role: Role,
    /// The address of its driving scan.
    pub driver: usize,
}

/// A region.
#[derive(Clone, Copy, Debug)]
pub struct Region {
    /// Schedulers that may work at it.
    pub degree: usize,
    /// The address of its driving scan.
    pub driver: usize,
}

impl Regions {
    /// Returns the region that ends here.
    pub fn find(&self, at: usize, role: Role) -> Option<Region> {
        let root = self.roots.iter().find(|root| root.at == at && root.role == role)?;
        Some(Region { degree: self.degree, driver: root.driver })
    }

    /// Tells whether a region ends here.
    pub fn has(&self, at: usize, role: Role) -> bool {
        self.find(at, role).is_some()
    }
}

/// What the workers of a region share.
pub struct Share {
    /// The address of the driving scan.
    driver: usize,
    parts: Arc<Parts>,
    /// The next part of the row groups.
    groups: AtomicUsize,
    /// The files whose row groups they are.
    files: OpenFiles,
    is_stopped: AtomicBool,
}

impl Share {
    /// Makes what is shared by those who work at the scan with this address.
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

    /// Returns the files of the driving scan, as far as somebody reads them.
    pub const fn files(&self) -> &OpenFiles {
        &self.files
    }

    /// Takes the number of a part of the row groups that nobody has taken yet; none once somebody has stopped.
    pub(crate) fn next_part(&self) -> Option<usize> {
        // Relaxed: only uniqueness is asked for.
        (!self.is_stopped()).then(|| self.groups.fetch_add(1, Ordering::Relaxed))
    }

    /// Tells whether the others need not go on.
    pub fn is_stopped(&self) -> bool {
        // Relaxed: what has happened is told by other means.
        self.is_stopped.load(Ordering::Relaxed)
    }

    /// Tells the others that they need not go on.
    pub fn stop(&self) {
        self.is_stopped.store(true, Ordering::Relaxed);
    }
}
