//! `Sweep`: a collection. It turns what the statistics have counted since the last one into entries
//! of the stores.

use std::collections::HashMap;
use std::sync::Arc;

use catalog::{Catalog, Object};
use plan::program::Program;
use plan::stats::{Collected, Collector, ProgramBooks, Statistics};

use crate::State;
use crate::count::{Clock, Counts};
use crate::database::DatabaseStore;
use crate::store::{Made, Seen};

/// What a collection reads.
pub struct Sweep<'s> {
    /// The statistics of the instance.
    pub statistics: &'s Statistics,
    /// The catalog, with the options of all databases.
    pub catalog: &'s Catalog,
    /// The time of the collection.
    pub clock: Clock,
    /// Version of the server, for `engine_version`.
    pub version: Arc<str>,
    /// Upper limit of what all stores may take in memory, in bytes.
    pub bytes_max: u64,
    /// Writes the plan of the statement that begins at a byte of a program's text as XML.
    pub document: &'s Document<'s>,
}

/// Writes the plans of the statements of a program that begin between two bytes of its text as XML,
/// with the names of a database.
pub type Document<'s> = dyn Fn(&Arc<Program>, &str, (u32, u32)) -> Option<String> + 's;

/// What was last seen of the statements of a program.
#[derive(Debug, Default)]
pub(crate) struct Known {
    counts: HashMap<u32, Counts, foldhash::fast::RandomState>,
    /// The collection in which it was last seen.
    seen: u64,
}

impl Sweep<'_> {
    /// Collects what was counted since the last collection.
    pub(crate) fn run(&self, state: &mut State) {
        state.sweeps += 1;
        state.match_catalog(self.catalog);
        let collector = self.statistics.collector();
        let (left, lost) = self.statistics.take_left();
        state.lost += lost;
        for left in left {
            for found in &left.queries {
                self.add(state, found, &|| None);
            }
        }
        for books in self.statistics.programs() {
            if state.databases.get(&books.database_id()).is_none_or(|of| !of.is_collecting()) {
                state.known.remove(&books.serial);
                continue;
            }
            self.program(state, &collector, &books);
        }
        // A program may leave its counts after it has left the list of programs.
        let before = state.sweeps.saturating_sub(2);
        state.known.retain(|_, known| known.seen > before);
        for store in state.databases.values_mut() {
            store.is_fresh = false;
        }
        state.clean_up(self.clock.now, self.bytes_max);
    }

    fn program(&self, state: &mut State, collector: &Collector<'_>, books: &Arc<ProgramBooks>) {
        let Some(program) = books.program() else { return };
        let known = state.known.entry(books.serial).or_default();
        known.seen = state.sweeps;
        let counts = &known.counts;
        let found =
            collector.queries(&program, books, &mut |place, totals| match counts.get(&place) {
                Some(known) => known.differs(totals),
                None => totals.ended > 0,
            });
        for found in &found {
            let span = found.row.span();
            let document = || {
                let database = &program.database;
                (self.document)(&program, database, (span.0, span.0))
            };
            self.add(state, found, &document);
        }
    }

    fn add(&self, state: &mut State, found: &Collected, document: &dyn Fn() -> Option<String>) {
        let books = &found.row.books;
        let Some(store) = state.databases.get_mut(&books.database_id()) else { return };
        if !store.is_collecting() {
            return;
        }
        let known = state.known.entry(books.serial).or_default();
        known.seen = state.sweeps;
        let counts = known.counts.entry(found.place).or_default();
        let delta = counts.advance(found, (&self.clock, store.options.waits));
        // What was counted before the Query Store was turned on is not its.
        if store.is_fresh || delta.is_empty() {
            return;
        }
        let seen = Seen {
            identity: &found.identity,
            query_hash: found.row.query_hash,
            plan_hash: found.row.plan_hash.unwrap_or_default(),
            batch: books.sql_handle().bytes(),
            offsets: (found.row.start, found.row.end),
            is_native: self.is_native(found),
            document,
        };
        let made =
            Made { version: &self.version, level: store.level, plans_max: store.options.max_plans };
        store.take(&seen, &made, delta, self.clock.now);
    }

    fn is_native(&self, found: &Collected) -> bool {
        let Some(module) = found.row.books.module() else { return false };
        let database = self.catalog.database_by_id(module.database_id);
        let object = database.and_then(|database| database.object_by_id(module.object_id));
        matches!(object, Some(Object::Procedure(procedure)) if procedure.native)
    }
}

impl DatabaseStore {
    /// Returns whether what is counted is recorded.
    pub(crate) fn is_collecting(&self) -> bool {
        self.options.mode == crate::options::Mode::ReadWrite
    }
}
