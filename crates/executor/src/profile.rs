//! `Profile`: what the operators of one run of a statement did, for STATISTICS PROFILE, XML and IO.
//!
//! An operator is known by the address of its node: a plan does not move while it runs. Row operators
//! are counted by `query/`, vector operators count the rows of their batches; both count reads by
//! scan. A statement that nobody profiles has none of this: it costs a branch where an operator opens.

use std::collections::HashMap;

use sos::clock;

use plan::query::{BulkScan, Node, Scan};
use plan::statement::table_of;

/// Counts of the operators of a statement.
#[derive(Debug, Default)]
pub struct Profile {
    places: HashMap<usize, Place>,
    counts: Vec<Count>,
    /// Rows that scans were handed by storage.
    reads: HashMap<usize, u64>,
    /// Tables, in the order in which they were first touched.
    tables: Vec<TableReads>,
    /// Row groups of files, by scan: read and passed over.
    groups: HashMap<usize, GroupReads>,
    /// On how many schedulers it ran, if on more than one.
    degree: usize,
}

/// Where the counts of an operator are.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Place(usize);

/// What an operator did.
#[derive(Clone, Copy, Debug, Default)]
pub struct Count {
    /// How often it was opened.
    pub executions: u64,
    /// Rows that it gave.
    pub rows: u64,
    /// Ticks from its opening to its end, what it gave rows to included.
    pub ticks: u64,
    opened: u64,
}

/// What was read of a table.
#[derive(Clone, Debug)]
pub struct TableReads {
    id: i32,
    /// Its name.
    pub name: String,
    /// Scans and seeks that were begun.
    pub scans: u64,
    /// Row versions that storage handed over.
    pub reads: u64,
}

/// What was read of the row groups of files.
#[derive(Clone, Debug, Default)]
pub struct GroupReads {
    /// The table, or the file.
    pub name: String,
    /// Row groups that were read.
    pub read: usize,
    /// Those that can have no row that the statement wants.
    pub skipped: usize,
}

impl Profile {
    /// Notes how many row groups a scan reads and passes over.
    pub(crate) fn count_row_groups(&mut self, scan: &BulkScan, read: usize, skipped: usize) {
        let groups = self.groups.entry(std::ptr::from_ref(scan).addr()).or_default();
        groups.name.clone_from(&scan.name);
        groups.read += read;
        groups.skipped += skipped;
    }

    /// Returns what a scan read of row groups.
    pub fn groups_of(&self, scan: &BulkScan) -> Option<&GroupReads> {
        self.groups.get(&std::ptr::from_ref(scan).addr())
    }

    /// Returns what was read of row groups, by name.
    pub fn groups(&self) -> Vec<&GroupReads> {
        let mut all: Vec<&GroupReads> = self.groups.values().collect();
        all.sort_by(|a, b| a.name.cmp(&b.name));
        all
    }

    /// Notes that an operator is opened.
    pub fn open(&mut self, node: &Node) -> Place {
        let next = Place(self.counts.len());
        let place = *self.places.entry(address(node)).or_insert(next);
        if place == next {
            self.counts.push(Count::default());
        }
        let count = &mut self.counts[place.0];
        count.executions += 1;
        count.opened = clock::now_ticks();
        if let Node::Scan(scan) = node {
            self.table(scan).scans += 1;
        }
        place
    }

    /// Notes that an operator gave rows.
    pub fn count_rows(&mut self, place: Place, rows: u64) {
        self.counts[place.0].rows += rows;
    }

    /// Notes that an operator has ended.
    pub fn close(&mut self, place: Place) {
        let count = &mut self.counts[place.0];
        count.ticks += clock::now_ticks().saturating_sub(count.opened);
    }

    /// Notes that an operator was opened so often and gave so many rows, in no time of its own.
    pub fn note(&mut self, node: &Node, opened: u64, rows: u64) {
        let next = Place(self.counts.len());
        let place = *self.places.entry(address(node)).or_insert(next);
        if place == next {
            self.counts.push(Count::default());
        }
        self.counts[place.0].executions += opened;
        self.counts[place.0].rows += rows;
        if let Node::Scan(scan) = node {
            self.table(scan).scans += opened;
        }
    }

    /// Notes that storage handed rows to a scan.
    pub fn count_reads(&mut self, scan: &Scan, rows: u64) {
        *self.reads.entry(std::ptr::from_ref(scan).addr()).or_default() += rows;
        self.table(scan).reads += rows;
    }

    /// Notes that rows of a table were written.
    pub fn count_writes(&mut self, id: i32, name: &str, rows: u64) {
        self.table_of(id, name).reads += rows;
    }

    /// Notes on how many schedulers a part of the statement runs.
    pub fn note_degree(&mut self, schedulers: usize) {
        self.degree = self.degree.max(schedulers);
    }

    /// Returns on how many schedulers the statement ran.
    pub fn degree(&self) -> usize {
        self.degree.max(1)
    }

    /// Adds what a helper's operators did: so often was each opened, so many rows they gave together, and it took
    /// as long as the one that took longest.
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

    /// Returns what an operator did; nothing if it was never opened.
    pub fn count(&self, node: usize) -> Count {
        self.places.get(&node).map_or_else(Count::default, |place| self.counts[place.0])
    }

    /// Returns how many rows storage handed to a scan.
    pub fn reads(&self, scan: usize) -> u64 {
        self.reads.get(&scan).copied().unwrap_or(0)
    }

    /// Returns what was read of each table.
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

/// The name of an operator while its plan lives.
pub fn address(node: &Node) -> usize {
    std::ptr::from_ref(node).addr()
}
