//! `Collector`: what a Query Store reads of the statistics, once a minute and before a view shows
//! it: the queries whose counts have changed, with what makes each distinct.
//!
//! A program that is dropped leaves its counts in a queue, because its cells go with it. The queue is
//! bounded: what does not fit is counted as lost.

use std::sync::Arc;

use super::Statistics;
use super::books::{Origin, ProgramBooks};
use super::cell::Totals;
use super::report::{self, StatementRow};
use super::shard::Window;
use crate::program::{Leaf, Program};
use crate::query::Node;
use crate::statement::Bound;

/// Upper limit of dropped programs whose counts wait to be collected.
const DEPARTED_MAX: usize = if cfg!(test) { 2 } else { 4_096 };

/// How a query's constants have become parameters: `query_parameterization_type`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Parameterization {
    /// It is as written.
    None = 0,
    /// The client has declared parameters.
    User = 1,
    /// The server has replaced constants.
    Simple = 2,
}

/// What makes a query distinct in a Query Store.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct QueryIdentity {
    /// The text, behind the declarations of the variables that it names.
    pub text: String,
    /// Id of the module that it is part of; 0 for a batch.
    pub object_id: i32,
    /// SET options that its meaning depends on: [`ProgramBooks::options`].
    pub options: [u8; 2],
    /// How it was parameterized.
    pub parameterization: Parameterization,
}

/// A query whose counts have changed.
#[derive(Clone)]
pub struct Collected {
    /// The statement with its totals.
    pub row: StatementRow,
    /// Its place in the program.
    pub place: u32,
    /// What makes it distinct.
    pub identity: QueryIdentity,
    /// Extremes of the epoch, failures and waits.
    pub window: Window,
}

/// Counts that a dropped program has left.
pub struct Left {
    /// Serial number of its books.
    pub serial: u64,
    /// Its queries that have run.
    pub queries: Vec<Collected>,
}

/// Programs that were dropped since the last collection.
#[derive(Default)]
pub(super) struct Departed {
    left: Vec<Left>,
    lost: u64,
}

/// Reads the statistics of an epoch.
pub struct Collector<'s> {
    statistics: &'s Statistics,
    epoch: u64,
}

impl Statistics {
    /// Begins or ends collecting. While it is on, cells keep what a Query Store asks for.
    pub fn set_collecting(&self, on: bool) {
        match (on, self.shards.has_epoch()) {
            (true, false) => self.shards.set_epoch(self.next_epoch()),
            (false, true) => self.shards.set_epoch(0),
            (true, true) | (false, false) => {}
        }
    }

    /// Ends the current epoch, which the collector reads. To be called by one thread at a time.
    pub fn collector(&self) -> Collector<'_> {
        let epoch = self.shards.epoch();
        if epoch != 0 {
            self.shards.set_epoch(self.next_epoch());
        }
        Collector { statistics: self, epoch }
    }

    /// Takes the counts that dropped programs have left, and the number of programs whose counts
    /// found no place.
    pub fn take_left(&self) -> (Vec<Left>, u64) {
        let mut departed = self.departed.0.lock();
        (std::mem::take(&mut departed.left), std::mem::take(&mut departed.lost))
    }

    /// Returns whether the queue of dropped programs is half full.
    pub fn has_many_left(&self) -> bool {
        self.departed.0.lock().left.len() >= DEPARTED_MAX / 2
    }

    /// Keeps the counts of a program that is dropped.
    fn depart(&self, program: &Program, books: &Arc<ProgramBooks>) {
        let collector = Collector { statistics: self, epoch: self.shards.epoch() };
        let queries = collector.queries(program, books, &mut |_, totals| totals.ended > 0);
        if queries.is_empty() {
            return;
        }
        let left = Left { serial: books.serial, queries };
        let mut departed = self.departed.0.lock();
        if departed.left.len() < DEPARTED_MAX {
            departed.left.push(left);
        } else {
            departed.lost += 1;
            // Dropping it frees memory, which is not done under the lock.
            drop(departed);
            drop(left);
        }
    }
}

impl Collector<'_> {
    /// Returns the queries of a program for whose place and totals `wanted` returns true.
    pub fn queries(
        &self,
        program: &Program,
        books: &Arc<ProgramBooks>,
        wanted: &mut dyn FnMut(u32, &Totals) -> bool,
    ) -> Vec<Collected> {
        let (mut found, mut offsets) = (Vec::new(), report::Offsets::new(books));
        for statement in report::places(program) {
            let place = statement.place.0;
            let id = books.ids.id(place);
            // The cell of all statements without their own has counts of many texts.
            if id == super::OVERFLOW || !statement.leaf.is_none_or(is_stored) {
                continue;
            }
            let totals = self.statistics.fold(id);
            if !wanted(place, &totals) {
                continue;
            }
            let (totals, window) = self.read(id, totals);
            let row = statement.row(&mut offsets, totals);
            // Query Store keeps nothing of an encrypted module: neither its text nor its plans.
            if !row.is_query || books.is_encrypted() {
                continue;
            }
            let identity = identity(program, books, row.text());
            found.push(Collected { row, place, identity, window });
        }
        found
    }

    /// Returns the totals of an id and its window, with the same executions in both unless they end
    /// faster than they are read.
    fn read(&self, id: u32, mut totals: Totals) -> (Totals, Window) {
        let mut tries = 8;
        loop {
            let window = self.statistics.shards.window(id, self.epoch);
            let again = self.statistics.fold(id);
            tries -= 1;
            if again.ended == totals.ended || tries == 0 {
                return (totals, window);
            }
            totals = again;
        }
    }
}

/// Returns whether a Query Store records a statement: not a SELECT that reads no table.
fn is_stored(leaf: &Leaf) -> bool {
    match leaf.plan.get().map(|bound| &**bound) {
        Some(Bound::Select(select)) => !matches!(select.query.root, Node::OneRow),
        Some(_) | None => true,
    }
}

/// Returns what makes a statement of a program distinct.
pub fn identity(program: &Program, books: &ProgramBooks, text: &str) -> QueryIdentity {
    let options = match books.options() {
        [quoted, meaning, ..] => [*quoted, *meaning],
        _ => [1, 0],
    };
    QueryIdentity {
        text: format!("{}{text}", declarations(program, text)),
        object_id: books.module().map_or(0, |module| module.object_id),
        options,
        parameterization: match books.origin {
            Origin::Batch | Origin::Procedure(_) => Parameterization::None,
            Origin::Prepared(_) => Parameterization::User,
            Origin::Template(_) => Parameterization::Simple,
        },
    }
}

/// Returns the declarations of the scalar variables that a text names, in parentheses; empty if it
/// names none.
fn declarations(program: &Program, text: &str) -> String {
    let mut declared = String::new();
    let mut seen: Vec<&str> = Vec::new();
    for (name, _) in tsql::variables_in(text) {
        let is_it = |variable: &&crate::program::VariableDef| {
            variable.name.eq_ignore_ascii_case(name) && !variable.cursor
        };
        let Some(variable) = program.variables.iter().find(is_it) else { continue };
        if seen.contains(&variable.name.as_str()) {
            continue;
        }
        seen.push(&variable.name);
        let comma = if declared.is_empty() { "(" } else { "," };
        declared.push_str(&format!("{comma}{} {}", variable.name, variable.ty.data_type));
    }
    if !declared.is_empty() {
        declared.push(')');
    }
    declared
}

impl Drop for Program {
    /// Leaves the counts to a Query Store, if there is one.
    fn drop(&mut self) {
        let Some(books) = &self.books else { return };
        if let Some(statistics) = books.collecting() {
            statistics.depart(self, books);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn epochs_go_on_while_there_is_a_query_store() {
        let statistics = Statistics::default();
        assert_eq!(statistics.collector().epoch, 0);
        assert_eq!(statistics.collector().epoch, 0, "no Query Store, no epochs");
        statistics.set_collecting(true);
        let first = statistics.collector().epoch;
        statistics.set_collecting(true);
        assert!(first > 0 && statistics.collector().epoch > first);
        statistics.set_collecting(false);
        assert_eq!(statistics.collector().epoch, 0);
        statistics.set_collecting(true);
        assert!(statistics.collector().epoch > first + 1, "an epoch is used once");
    }
}
