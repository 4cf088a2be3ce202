//! The Query Stores of an instance: when they collect, and the files that a restart reads.
//!
//! A background task collects at each minute, so that what was counted is in the right interval, and
//! a view collects before it is read. With a data folder each store is a file of it, written again as
//! a whole when DATA_FLUSH_INTERVAL_SECONDS has passed, and at an orderly stop.

use std::sync::Arc;

use query_store::{Clock, Sweep};
use sos::clock;
use sos::ledger::{self, State};
use sos::sync::{AtomicU64, Ordering};

use super::Instance;
use crate::SessionState;

/// Interval at which [`Instance::tend_query_stores`] must be called, in seconds.
pub const QUERY_STORE_PERIOD_SECONDS: u64 = 1;

/// The files of stores are named after this, a dot and the id of the database.
const FILE: &str = "query_store";

/// All stores together may take this part of the instance's memory.
const MEMORY_PART: u64 = 16;

/// Who has collected last, and what for.
#[derive(Debug, Default)]
pub(super) struct Collecting {
    /// The version of the catalog whose options are in force.
    catalog: AtomicU64,
    /// Session and number of the request that has collected last.
    reader: AtomicU64,
}

impl Instance {
    /// Collects what was counted since the last collection.
    fn collect_queries(&self) {
        let before = ledger::to(State::Observing);
        let catalog = self.catalog.load();
        let schedulers = self.machine.scheduler_count();
        let document = self.plans.document;
        self.query_store.collect(&Sweep {
            statistics: &self.statistics,
            catalog: &catalog,
            clock: Clock { ticks: clock::now_ticks(), now: query_store::now() },
            version: self.plans.version.into(),
            bytes_max: self.config.memory_max / MEMORY_PART,
            document: &|program, database, range| {
                document(program, (&catalog, database, schedulers), Some(range))
            },
        });
        ledger::to(before);
    }

    /// Takes over options of databases that have changed. To be called before and after ALTER
    /// DATABASE: what was counted until then is recorded by the options of then.
    pub fn change_query_stores(&self) {
        let catalog = self.catalog.load();
        let was_on = self.query_store.is_on();
        let is_on = self.query_store.set_options(&catalog, &self.statistics);
        // Relaxed: it saves a look, no more.
        self.collecting.catalog.store(catalog.version, Ordering::Relaxed);
        if was_on || is_on {
            self.collect_queries();
        }
    }

    /// Collects for a view of the Query Store, once for each request that reads such views.
    pub fn collect_for(&self, session: &SessionState) {
        if !self.query_store.is_on() {
            return;
        }
        let requests = session.accounting.meter.live().requests();
        let id = u64::from(session.connection.id.cast_unsigned());
        let reader = requests << 16 | id;
        // Relaxed: two readers at once collect twice.
        if self.collecting.reader.swap(reader, Ordering::Relaxed) != reader {
            self.collect_queries();
        }
    }

    /// Collects if it is time, and writes the stores whose time has come. To be called by a
    /// background task each second.
    pub fn tend_query_stores(&self) {
        if self.catalog.version() != self.collecting.catalog.load(Ordering::Relaxed) {
            self.change_query_stores();
        }
        if self.query_store.is_on() {
            let minute = |at: i64| at.div_euclid(query_store::COLLECTED_EVERY);
            let is_due = minute(query_store::now()) != minute(self.query_store.collected());
            if is_due || self.statistics.has_many_left() {
                self.collect_queries();
            }
        }
        if self.durable().is_some() {
            self.write_query_stores(false);
        }
    }

    /// Writes the stores whose time has come, or all that have changed.
    ///
    /// An error is reported: what could not be written is tried again.
    pub fn write_query_stores(&self, all: bool) {
        let Some(durable) = self.durable() else { return };
        if all && self.query_store.is_on() {
            self.collect_queries();
        }
        for (database, bytes) in self.query_store.to_write(query_store::now(), all) {
            if let Err(error) = durable.write_aside(&file_of(database), &bytes) {
                sos::error_log::line(&format_args!(
                    "The Query Store of database {database}: {error}"
                ));
                self.query_store.not_written(database);
            }
        }
    }

    /// Reads the stores that an earlier run has written, and removes those of databases that are not
    /// there any more.
    pub(super) fn read_query_stores(&self) {
        let Some(durable) = self.durable() else { return };
        let names = durable.names_aside(FILE).unwrap_or_else(|error| {
            sos::error_log::line(&format_args!("The Query Stores: {error}"));
            Vec::new()
        });
        let mut files = Vec::new();
        for name in names {
            let Some(id) = name.rsplit('.').next().and_then(|id| id.parse::<i16>().ok()) else {
                continue;
            };
            let read = durable.read_aside(&name).map_err(|error| error.to_string());
            let taken = read.and_then(|bytes| {
                self.query_store.take_read(id, &bytes).map_err(ToOwned::to_owned)
            });
            if let Err(why) = taken {
                sos::error_log::line(&format_args!("The Query Store in {name} is lost: {why}"));
            }
            files.push((id, name));
        }
        self.query_store.match_catalog(&self.catalog.load());
        self.change_query_stores();
        let known = self.query_store.databases();
        for (_, name) in files.iter().filter(|(id, _)| !known.contains(id)) {
            if let Err(error) = durable.remove_aside(name) {
                sos::error_log::line(&format_args!("{name}: {error}"));
            }
        }
    }
}

fn file_of(database: i16) -> Arc<str> {
    format!("{FILE}.{database}").into()
}
