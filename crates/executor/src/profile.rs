//! `Profile`: what the operators of one run of a statement did, for STATISTICS PROFILE, XML and IO.
//!
//! An operator is identified by the address of its node: a plan does not move while it runs. Row
//! operators are counted in `query/`; vector operators count the rows of their batches; both count
//! reads by scan. A statement without a profile pays one branch per opening of an operator.

use std::collections::HashMap;
use std::sync::Arc;

use sos::clock;

use plan::query::{BulkScan, Node, Scan};
use plan::statement::table_of;
use session::live_profile::{LiveCount, LiveProfile, LiveThread};

/// The counts of a statement's operators.
#[derive(Debug, Default)]
pub struct Profile {
    places: HashMap<usize, Place>,
    counts: Vec<Count>,
    /// Rows that storage returned, by the address of the scan.
    reads: HashMap<usize, u64>,
    /// Tables, in the order in which they were first read.
    tables: Vec<TableReads>,
    /// Row groups of files read and skipped, by the address of the scan.
    groups: HashMap<usize, GroupReads>,
    /// Degree of parallelism; 0 if it ran on one scheduler only.
    degree: usize,
    /// What other sessions see of it while the statement runs.
    live: Option<Live>,
}

/// The counts of this thread that other sessions see.
#[derive(Debug)]
struct Live {
    profile: Arc<LiveProfile>,
    thread: Arc<LiveThread>,
    /// For each place, the place of the operator that is shown.
    places: Vec<Option<usize>>,
}

impl Live {
    /// Returns the counts shown for a place, whose node has this address.
    fn opened(&mut self, place: Place, address: usize) -> Option<&LiveCount> {
        if self.places.len() <= place.0 {
            self.places.resize(place.0 + 1, None);
            self.places[place.0] = self.profile.place_of(address);
        }
        self.at(place)
    }

    fn at(&self, place: Place) -> Option<&LiveCount> {
        let place = (*self.places.get(place.0)?)?;
        Some(self.thread.count(place))
    }
}

/// Index of an operator's counts.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Place(usize);

/// The counts of one operator.
#[derive(Clone, Copy, Debug, Default)]
pub struct Count {
    /// Number of times it was opened.
    pub executions: u64,
    /// Rows that it returned.
    pub rows: u64,
    /// Clock ticks from opening to end, including the time of the operator that received its rows.
    pub ticks: u64,
    opened: u64,
}

/// Reads of one table, for STATISTICS IO.
#[derive(Clone, Debug)]
pub struct TableReads {
    id: i32,
    /// The name of the table.
    pub name: String,
    /// Number of scans and seeks that were started.
    pub scans: u64,
    /// Row versions that storage returned, and those that were written.
    pub reads: u64,
}

/// Row groups of files that a scan read.
#[derive(Clone, Debug, Default)]
pub struct GroupReads {
    /// Name of the external table, or path of the file.
    pub name: String,
    /// Number of row groups that were read.
    pub read: usize,
    /// Number of row groups skipped because their statistics exclude the wanted rows.
    pub skipped: usize,
}

impl Profile {
    /// Makes the profile of a thread whose counts other sessions see; 0 is the session's own thread.
    pub fn shown(profile: Arc<LiveProfile>, thread: u32) -> Self {
        let thread = profile.thread(thread);
        Self { live: Some(Live { profile, thread, places: Vec::new() }), ..Self::default() }
    }

    /// Returns what other sessions see of it, for the profiles of helpers.
    pub fn live(&self) -> Option<&Arc<LiveProfile>> {
        self.live.as_ref().map(|live| &live.profile)
    }

    /// Counts the row groups that a scan reads and skips.
    pub(crate) fn count_row_groups(&mut self, scan: &BulkScan, read: usize, skipped: usize) {
        let groups = self.groups.entry(std::ptr::from_ref(scan).addr()).or_default();
        groups.name.clone_from(&scan.name);
        groups.read += read;
        groups.skipped += skipped;
    }

    /// Returns the row groups that a scan read; `None` if it read no file.
    pub fn groups_of(&self, scan: &BulkScan) -> Option<&GroupReads> {
        self.groups.get(&std::ptr::from_ref(scan).addr())
    }

    /// Returns the row groups that were read, ordered by name.
    pub fn groups(&self) -> Vec<&GroupReads> {
        let mut all: Vec<&GroupReads> = self.groups.values().collect();
        all.sort_by(|a, b| a.name.cmp(&b.name));
        all
    }

    /// Counts an opening of an operator, and starts its clock.
    pub fn open(&mut self, node: &Node) -> Place {
        let next = Place(self.counts.len());
        let place = *self.places.entry(address(node)).or_insert(next);
        if place == next {
            self.counts.push(Count::default());
        }
        let count = &mut self.counts[place.0];
        count.executions += 1;
        count.opened = clock::now_ticks();
        if let Some(live) = &mut self.live
            && let Some(shown) = live.opened(place, address(node))
        {
            shown.open(count.opened);
        }
        if let Node::Scan(scan) = node {
            self.table(scan).scans += 1;
        }
        place
    }

    /// Counts rows that an operator returned.
    pub fn count_rows(&mut self, place: Place, rows: u64) {
        self.counts[place.0].rows += rows;
        if let Some(shown) = self.live.as_ref().and_then(|live| live.at(place)) {
            shown.add_rows(rows);
        }
    }

    /// Stops an operator's clock.
    pub fn close(&mut self, place: Place) {
        let count = &mut self.counts[place.0];
        let now = clock::now_ticks();
        count.ticks += now.saturating_sub(count.opened);
        if let Some(shown) = self.live.as_ref().and_then(|live| live.at(place)) {
            shown.close(now);
        }
    }

    /// Adds openings and rows to an operator, without time.
    pub fn note(&mut self, node: &Node, opened: u64, rows: u64) {
        let next = Place(self.counts.len());
        let place = *self.places.entry(address(node)).or_insert(next);
        if place == next {
            self.counts.push(Count::default());
        }
        self.counts[place.0].executions += opened;
        self.counts[place.0].rows += rows;
        if let Some(live) = &mut self.live
            && let Some(shown) = live.opened(place, address(node))
        {
            let now = clock::now_ticks();
            shown.open(now);
            shown.add_rows(rows);
            shown.close(now);
            // One opening has been counted above.
            shown.opened.add(opened.wrapping_sub(1));
            shown.closed.add(opened.wrapping_sub(1));
        }
        if let Node::Scan(scan) = node {
            self.table(scan).scans += opened;
        }
    }

    /// Counts rows that storage returned to a scan.
    pub fn count_reads(&mut self, scan: &Scan, rows: u64) {
        let address = std::ptr::from_ref(scan).addr();
        *self.reads.entry(address).or_default() += rows;
        if let Some(live) = &self.live
            && let Some(place) = live.profile.place_of(address)
        {
            live.thread.count(place).reads.add(rows);
        }
        self.table(scan).reads += rows;
    }

    /// Counts row versions of a table that were written, or found without a scan.
    pub fn count_of_table(&mut self, id: i32, name: &str, rows: u64) {
        self.table_of(id, name).reads += rows;
    }

    /// Records the number of schedulers that run a part of the statement.
    pub fn note_degree(&mut self, schedulers: usize) {
        self.degree = self.degree.max(schedulers);
    }

    /// Returns the greatest number of schedulers that ran a part of the statement.
    pub fn degree(&self) -> usize {
        self.degree.max(1)
    }

    /// Adds a helper's profile: openings and rows are added; the time is that of the slowest
    /// worker.
    pub fn absorb(&mut self, other: &Self) {
        for (at, place) in &other.places {
            let next = Place(self.counts.len());
            let own = *self.places.entry(*at).or_insert(next);
            if own == next {
                self.counts.push(Count::default());
            }
            let (own, theirs) = (&mut self.counts[own.0], &other.counts[place.0]);
            own.executions += theirs.executions;
            own.rows += theirs.rows;
            own.ticks = own.ticks.max(theirs.ticks);
        }
        for (at, rows) in &other.reads {
            *self.reads.entry(*at).or_default() += rows;
        }
        for (at, groups) in &other.groups {
            let own = self.groups.entry(*at).or_default();
            own.name.clone_from(&groups.name);
            own.read += groups.read;
            own.skipped += groups.skipped;
        }
        for table in &other.tables {
            let own = self.table_of(table.id, &table.name);
            own.scans += table.scans;
            own.reads += table.reads;
        }
    }

    /// Returns the counts of an operator; zeros if it was never opened.
    pub fn count(&self, node: usize) -> Count {
        self.places.get(&node).map_or_else(Count::default, |place| self.counts[place.0])
    }

    /// Returns the number of rows that storage returned to a scan.
    pub fn reads(&self, scan: usize) -> u64 {
        self.reads.get(&scan).copied().unwrap_or(0)
    }

    /// Returns the reads of each table.
    pub fn tables(&self) -> &[TableReads] {
        &self.tables
    }

    fn table(&mut self, scan: &Scan) -> &mut TableReads {
        let table = table_of(&scan.table);
        self.table_of(table.id, &table.name)
    }

    fn table_of(&mut self, id: i32, name: &str) -> &mut TableReads {
        let known = self.tables.iter().position(|t| t.id == id);
        let at = known.unwrap_or_else(|| {
            self.tables.push(TableReads { id, name: name.to_owned(), scans: 0, reads: 0 });
            self.tables.len() - 1
        });
        &mut self.tables[at]
    }
}

/// Returns the address that identifies an operator while its plan exists.
pub fn address(node: &Node) -> usize {
    std::ptr::from_ref(node).addr()
}
