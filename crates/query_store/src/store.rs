//! `Store`: what the Query Store of one database has recorded.
//!
//! ```text
//!   text ─┐
//!         ├─► query ─► plan ─► runtime of an interval, by how executions have ended ─► waits by category
//! context ┘              └─► hint
//! ```
//!
//! Ids grow from 1 and are never used again, until CLEAR. Its size is an estimate of what it takes in
//! memory; `database.rs` keeps it below its limit.

use std::collections::{BTreeMap, HashMap};
use std::sync::Arc;

use plan::stats::{CATEGORIES, Parameterization, QueryIdentity};

use crate::measure::Measure;

/// A moment in UTC, in units of 100 ns since 0001-01-01.
pub type Instant = i64;

/// The moment's units in a second.
pub const SECOND: Instant = 10_000_000;

/// Returns whether the time of `every` since a moment has passed. It counts as passed if the clock was
/// set back behind that moment: how long ago it was is not known then.
pub(crate) fn has_passed(every: Instant, since: Instant, now: Instant) -> bool {
    !(since..since.saturating_add(every)).contains(&now)
}

/// How executions have ended; the numbers are those of `execution_type`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Ending {
    /// The execution has ended without an error.
    Regular = 0,
    /// By an attention of the client.
    Aborted = 3,
    /// An error has ended the execution.
    Exception = 4,
}

impl Ending {
    /// All endings, by number.
    pub const ALL: [Self; 3] = [Self::Regular, Self::Aborted, Self::Exception];

    /// Returns the name that views show.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Regular => "Regular",
            Self::Aborted => "Aborted",
            Self::Exception => "Exception",
        }
    }
}

/// A query: a text under SET options, as part of a module or of none.
#[derive(Clone, Debug, PartialEq)]
pub struct Query {
    /// Id of its text in [`Store::texts`].
    pub text: i64,
    /// Id of its SET options in [`Store::contexts`].
    pub context: i64,
    /// Id of the module that it is part of; 0 for a batch.
    pub object_id: i32,
    /// How its constants have become parameters.
    pub parameterization: Parameterization,
    /// `query_hash` of the statement.
    pub hash: [u8; 8],
    /// `sql_handle` of the text that it was last part of.
    pub batch: Vec<u8>,
    /// First byte in the UTF-16 text of that, and last character or -1.
    pub offsets: (i32, i32),
    /// How it was compiled.
    pub compiled: Compiled,
    /// End of its last execution.
    pub last_execution: Instant,
}

/// How a query or plan was compiled.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Compiled {
    /// How often it was compiled.
    pub count: u64,
    /// When it was first compiled.
    pub first: Instant,
    /// When it was last seen to be compiled.
    pub last: Instant,
    /// Time of all compilations, in ns.
    pub ns: u64,
    /// Time of the last one, in ns.
    pub last_ns: u64,
}

impl Compiled {
    /// Adds compilations of a later time.
    pub(crate) fn absorb(&mut self, later: &Self) {
        if later.count == 0 {
            return;
        }
        if self.count == 0 {
            self.first = later.first;
        }
        self.count += later.count;
        self.last = self.last.max(later.last);
        self.ns += later.ns;
        self.last_ns = later.last_ns;
    }
}

/// A plan of a query.
#[derive(Clone, Debug, PartialEq)]
pub struct Plan {
    /// Id of its query in [`Store::queries`].
    pub query: i64,
    /// `query_plan_hash`; zeroes where each execution is compiled.
    pub hash: [u8; 8],
    /// The plan as XML, if it was cached when it was first seen.
    pub document: Option<Arc<str>>,
    /// Version of the server that made it.
    pub version: Arc<str>,
    /// Compatibility level of the database.
    pub level: u8,
    /// Whether it has run on several schedulers.
    pub is_parallel: bool,
    /// Whether it is of a natively compiled module.
    pub is_native: bool,
    /// How it was compiled.
    pub compiled: Compiled,
    /// End of its last execution.
    pub last_execution: Instant,
}

/// The hash of executions without a plan that is kept.
const NO_HASH: [u8; 8] = [0; 8];

/// An interval of statistics.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Interval {
    /// The moment at which it begins.
    pub start: Instant,
    /// The moment at which it ends.
    pub end: Instant,
}

/// Executions of a plan in an interval that have ended alike. Times are in microseconds.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Runtime {
    /// `runtime_stats_id` of the row.
    pub id: i64,
    /// Begin of the first execution.
    pub first: Instant,
    /// End of the last execution.
    pub last: Instant,
    /// Number of executions that have ended.
    pub executions: u64,
    /// Time from begin to end.
    pub duration: Measure,
    /// Time on a CPU, helpers included.
    pub cpu: Measure,
    /// Number of schedulers that worked for it.
    pub degree: Measure,
    /// Rows returned or changed.
    pub rows: Measure,
    /// Logical reads: row versions that were returned by storage, or written.
    pub reads: Measure,
    /// Logical writes: row versions that were written.
    pub writes: Measure,
    /// Waits by number of their category.
    pub waits: BTreeMap<u8, Wait>,
}

/// Waits of executions in one category.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Wait {
    /// `wait_stats_id` of the row.
    pub id: i64,
    /// Number of executions that have waited.
    pub executions: u64,
    /// Time that they have waited, in microseconds.
    pub time: Measure,
}

/// Hints that a query is compiled with.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Hint {
    /// `query_hint_id` of the row.
    pub id: i64,
    /// The OPTION clause as it was given.
    pub text: Arc<str>,
    /// A comment of the user.
    pub comment: Option<String>,
    /// How often the query could not be compiled with it.
    pub failures: u64,
    /// Number of the last error of that; 0 for none.
    pub reason: i32,
}

/// What `Store::record` adds: executions of a query since it was last looked at.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Delta {
    /// Executions by ending, in the order of [`Ending::ALL`]; ids are not set.
    pub runs: [Runtime; 3],
    /// Compilations since it was last looked at.
    pub compiled: Compiled,
}

impl Delta {
    /// Adds executions of a later time.
    pub(crate) fn absorb(&mut self, later: &Self) {
        for (sum, run) in self.runs.iter_mut().zip(&later.runs) {
            sum.absorb(run, &mut 0);
        }
        self.compiled.absorb(&later.compiled);
    }

    /// Returns the number of executions, however they have ended.
    #[must_use]
    pub fn executions(&self) -> u64 {
        self.runs.iter().map(|run| run.executions).sum()
    }

    /// Returns the CPU time of all executions, in microseconds.
    #[must_use]
    pub fn cpu_us(&self) -> f64 {
        self.runs.iter().map(|run| run.cpu.total).sum()
    }

    /// Returns whether nothing was counted. Time and rows of an execution may be counted after the
    /// execution itself, in the next collection.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.runs.iter().all(Runtime::is_empty)
    }

    fn last(&self) -> Instant {
        self.runs.iter().map(|run| run.last).max().unwrap_or(0)
    }
}

impl Runtime {
    /// Adds executions of a later time. Waits of a new category get ids after `last_wait`.
    fn absorb(&mut self, later: &Self, last_wait: &mut i64) {
        if later.is_empty() {
            return;
        }
        if self.is_empty() {
            self.first = later.first;
        }
        self.last = self.last.max(later.last);
        self.executions += later.executions;
        self.duration.absorb(&later.duration);
        self.cpu.absorb(&later.cpu);
        self.degree.absorb(&later.degree);
        self.rows.absorb(&later.rows);
        self.reads.absorb(&later.reads);
        self.writes.absorb(&later.writes);
        for (category, wait) in &later.waits {
            let sum = self.waits.entry(*category).or_insert_with(|| {
                *last_wait += 1;
                Wait { id: *last_wait, ..Wait::default() }
            });
            sum.executions += wait.executions;
            sum.time.absorb(&wait.time);
        }
    }

    /// Returns whether there is nothing in it.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        let measures = [&self.duration, &self.cpu, &self.rows, &self.reads];
        self.executions == 0 && measures.iter().all(|measure| measure.total <= 0.0)
    }
}

/// A statement with the plan that it has run by, as it was last seen.
pub(crate) struct Seen<'s> {
    pub(crate) identity: &'s QueryIdentity,
    pub(crate) query_hash: [u8; 8],
    pub(crate) plan_hash: [u8; 8],
    pub(crate) batch: &'s [u8],
    pub(crate) offsets: (i32, i32),
    pub(crate) is_native: bool,
    /// Writes the plan as XML.
    pub(crate) document: &'s dyn Fn() -> Option<String>,
}

/// What new plans are recorded with.
pub(crate) struct Made<'s> {
    pub(crate) version: &'s Arc<str>,
    pub(crate) level: u8,
    /// Upper limit of plans of a query; 0 for none.
    pub(crate) plans_max: u64,
}

/// The last ids that were given.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Ids {
    pub(crate) text: i64,
    pub(crate) context: i64,
    pub(crate) query: i64,
    pub(crate) plan: i64,
    pub(crate) interval: i64,
    pub(crate) runtime: i64,
    pub(crate) wait: i64,
    pub(crate) hint: i64,
}

/// What the Query Store of a database has recorded.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Store {
    /// Texts of queries, by id.
    pub texts: BTreeMap<i64, Arc<str>>,
    /// SET options of queries, by id: [`QueryIdentity::options`].
    pub contexts: BTreeMap<i64, [u8; 2]>,
    /// Queries that were recorded, by id.
    pub queries: BTreeMap<i64, Query>,
    /// Plans of queries, by id.
    pub plans: BTreeMap<i64, Plan>,
    /// Intervals of statistics, by id.
    pub intervals: BTreeMap<i64, Interval>,
    /// Executions by plan, interval and ending.
    pub runtime: BTreeMap<(i64, i64, Ending), Runtime>,
    /// Hints by the id of their query.
    pub hints: BTreeMap<i64, Hint>,
    pub(crate) ids: Ids,
    /// Ids of texts, by text.
    text_ids: HashMap<Arc<str>, i64, foldhash::fast::RandomState>,
    /// Ids of queries, by text, context, module and parameterization.
    query_ids: HashMap<(i64, i64, i32, Parameterization), i64, foldhash::fast::RandomState>,
    /// Ids of plans, by query and hash.
    plan_ids: HashMap<(i64, [u8; 8]), i64, foldhash::fast::RandomState>,
    /// Estimate of its size.
    bytes: u64,
}

/// Estimates of the size of entries without their texts, their share of the maps included.
const TEXT_BYTES: u64 = 200;
const QUERY_BYTES: u64 = 400;
const PLAN_BYTES: u64 = 350;
const RUNTIME_BYTES: u64 = 520;
const WAIT_BYTES: u64 = 130;

impl Store {
    /// Returns an estimate of its size in bytes.
    #[must_use]
    pub fn bytes(&self) -> u64 {
        self.bytes
    }

    /// Finds a query by what makes it distinct.
    #[must_use]
    pub fn find(&self, identity: &QueryIdentity) -> Option<i64> {
        let text = *self.text_ids.get(identity.text.as_str())?;
        let context = self.contexts.iter().find(|(_, options)| **options == identity.options)?.0;
        let key = (text, *context, identity.object_id, identity.parameterization);
        self.query_ids.get(&key).copied()
    }

    /// Returns the query, which is new if it was not known.
    pub(crate) fn enter(&mut self, seen: &Seen<'_>) -> i64 {
        if let Some(known) = self.find(seen.identity) {
            return known;
        }
        let identity = seen.identity;
        let text = self.text_id(&identity.text);
        let context = self.context_id(identity.options);
        self.ids.query += 1;
        let query = Query {
            text,
            context,
            object_id: identity.object_id,
            parameterization: identity.parameterization,
            hash: seen.query_hash,
            batch: seen.batch.to_vec(),
            offsets: seen.offsets,
            compiled: Compiled::default(),
            last_execution: 0,
        };
        self.insert_query(self.ids.query, query);
        self.ids.query
    }

    fn text_id(&mut self, text: &str) -> i64 {
        if let Some(known) = self.text_ids.get(text) {
            return *known;
        }
        self.ids.text += 1;
        self.insert_text(self.ids.text, text.into());
        self.ids.text
    }

    fn context_id(&mut self, options: [u8; 2]) -> i64 {
        let known = self.contexts.iter().find(|(_, known)| **known == options);
        if let Some((id, _)) = known {
            return *id;
        }
        self.ids.context += 1;
        self.contexts.insert(self.ids.context, options);
        self.ids.context
    }

    pub(crate) fn insert_text(&mut self, id: i64, text: Arc<str>) {
        self.bytes += TEXT_BYTES + length(&text);
        self.text_ids.insert(Arc::clone(&text), id);
        self.texts.insert(id, text);
    }

    pub(crate) fn insert_query(&mut self, id: i64, query: Query) {
        self.bytes += QUERY_BYTES;
        let key = (query.text, query.context, query.object_id, query.parameterization);
        self.query_ids.insert(key, id);
        self.queries.insert(id, query);
    }

    pub(crate) fn insert_plan(&mut self, id: i64, plan: Plan) {
        self.bytes += size_of_plan(&plan);
        self.plan_ids.insert((plan.query, plan.hash), id);
        self.plans.insert(id, plan);
    }

    pub(crate) fn insert_runtime(&mut self, key: (i64, i64, Ending), runtime: Runtime) {
        self.bytes += size_of_runtime(&runtime);
        self.runtime.insert(key, runtime);
    }

    /// Returns the id of the interval of a moment. An interval is aligned to its length from midnight
    /// UTC; the latest one runs to its end, so another length counts from there on.
    pub(crate) fn interval_at(&mut self, at: Instant, minutes: u64) -> i64 {
        let last = self.intervals.last_key_value().map(|(id, interval)| (*id, *interval));
        if let Some((id, interval)) = last
            && at < interval.end
        {
            return id;
        }
        let length = i64::try_from(minutes.max(1)).unwrap_or(1) * 60 * SECOND;
        let aligned = at - at.rem_euclid(length);
        let start = last.map_or(aligned, |(_, interval)| aligned.max(interval.end));
        self.ids.interval += 1;
        self.intervals.insert(self.ids.interval, Interval { start, end: aligned + length });
        self.ids.interval
    }

    /// Adds executions of a query to an interval. A plan beyond the limit of plans is not recorded.
    pub(crate) fn record(
        &mut self,
        (query, interval): (i64, i64),
        seen: &Seen<'_>,
        made: &Made<'_>,
        delta: &Delta,
    ) {
        let last = delta.last();
        if let Some(entry) = self.queries.get_mut(&query) {
            entry.compiled.absorb(&delta.compiled);
            entry.last_execution = entry.last_execution.max(last);
            entry.offsets = seen.offsets;
            seen.batch.clone_into(&mut entry.batch);
        }
        let Some(plan) = self.plan_id(query, seen, made) else { return };
        if let Some(entry) = self.plans.get_mut(&plan) {
            entry.compiled.absorb(&delta.compiled);
            entry.last_execution = entry.last_execution.max(last);
            let is_parallel =
                |run: &Runtime| run.degree.extremes.is_some_and(|(_, most)| most > 1.0);
            entry.is_parallel |= delta.runs.iter().any(is_parallel);
        }
        for (ending, run) in Ending::ALL.into_iter().zip(&delta.runs) {
            if run.is_empty() {
                continue;
            }
            let key = (plan, interval, ending);
            let known = self.runtime.remove(&key).inspect(|known| {
                self.bytes -= size_of_runtime(known);
            });
            let mut known = known.unwrap_or_else(|| {
                self.ids.runtime += 1;
                Runtime { id: self.ids.runtime, ..Runtime::default() }
            });
            known.absorb(run, &mut self.ids.wait);
            self.insert_runtime(key, known);
        }
    }

    fn plan_id(&mut self, query: i64, seen: &Seen<'_>, made: &Made<'_>) -> Option<i64> {
        let known = self.plan_ids.get(&(query, seen.plan_hash)).copied();
        if let Some(id) = known.or_else(|| self.plan_without_hash(query, seen.plan_hash)) {
            let plan = self.plans.get_mut(&id)?;
            // It was not cached when it was first seen.
            if plan.document.is_none()
                && let Some(document) = (seen.document)()
            {
                self.bytes += length(&document);
                plan.document = Some(document.into());
            }
            return Some(id);
        }
        let count = self.plans.values().filter(|plan| plan.query == query).count();
        let count = u64::try_from(count).unwrap_or(u64::MAX);
        if made.plans_max > 0 && count >= made.plans_max {
            return None;
        }
        self.ids.plan += 1;
        let plan = Plan {
            query,
            hash: seen.plan_hash,
            document: (seen.document)().map(Into::into),
            version: Arc::clone(made.version),
            level: made.level,
            is_parallel: false,
            is_native: seen.is_native,
            compiled: Compiled::default(),
            last_execution: 0,
        };
        self.insert_plan(self.ids.plan, plan);
        Some(self.ids.plan)
    }

    /// Finds the plan of executions that have no hash, or that had none. Two sessions may compile a text at
    /// once, and one of them runs it before the program that is kept has a plan: such executions belong
    /// to the plan that is kept, before and after.
    fn plan_without_hash(&mut self, query: i64, hash: [u8; 8]) -> Option<i64> {
        if hash == NO_HASH {
            let of_query = self.plans.iter().filter(|(_, plan)| plan.query == query);
            return of_query.max_by_key(|(_, plan)| plan.last_execution).map(|(id, _)| *id);
        }
        let id = self.plan_ids.remove(&(query, NO_HASH))?;
        self.plan_ids.insert((query, hash), id);
        self.plans.get_mut(&id)?.hash = hash;
        Some(id)
    }

    /// Removes a query with its plans and statistics, and its text once no other query has it.
    /// Returns whether there was one.
    pub fn remove_query(&mut self, id: i64) -> bool {
        let Some(query) = self.queries.remove(&id) else { return false };
        self.bytes -= QUERY_BYTES;
        let plans: Vec<_> =
            self.plans.iter().filter(|(_, plan)| plan.query == id).map(|(id, _)| *id).collect();
        for plan in plans {
            self.remove_plan(plan);
        }
        self.hints.remove(&id);
        let key = (query.text, query.context, query.object_id, query.parameterization);
        self.query_ids.remove(&key);
        if !self.queries.values().any(|other| other.text == query.text)
            && let Some(text) = self.texts.remove(&query.text)
        {
            self.bytes -= TEXT_BYTES + length(&text);
            self.text_ids.remove(&text);
        }
        true
    }

    /// Removes a plan with its statistics; returns whether there was one.
    pub fn remove_plan(&mut self, id: i64) -> bool {
        let Some(plan) = self.plans.remove(&id) else { return false };
        self.bytes -= size_of_plan(&plan);
        self.plan_ids.remove(&(plan.query, plan.hash));
        self.remove_runtime(id);
        true
    }

    /// Removes the statistics of a plan.
    pub fn remove_runtime(&mut self, plan: i64) {
        let range = (plan, i64::MIN, Ending::Regular)..=(plan, i64::MAX, Ending::Exception);
        let keys: Vec<_> = self.runtime.range(range).map(|(key, _)| *key).collect();
        for key in keys {
            if let Some(runtime) = self.runtime.remove(&key) {
                self.bytes -= size_of_runtime(&runtime);
            }
        }
    }

    /// Removes intervals that have ended before a moment, with their statistics.
    pub(crate) fn remove_intervals_before(&mut self, moment: Instant) {
        let old = |interval: &Interval| interval.end < moment;
        let gone: Vec<_> =
            self.intervals.iter().filter(|(_, i)| old(i)).map(|(id, _)| *id).collect();
        if gone.is_empty() {
            return;
        }
        self.intervals.retain(|_, interval| !old(interval));
        let (mut kept, mut freed) = (BTreeMap::new(), 0);
        for (key, runtime) in std::mem::take(&mut self.runtime) {
            match gone.binary_search(&key.1) {
                Ok(_) => freed += size_of_runtime(&runtime),
                Err(_) => drop(kept.insert(key, runtime)),
            }
        }
        self.runtime = kept;
        self.bytes -= freed;
    }

    /// Forgets everything; ids begin at 1 again.
    pub fn clear(&mut self) {
        *self = Self::default();
    }

    /// Sets the hints of a query, which take the place of earlier ones.
    pub fn set_hint(&mut self, query: i64, text: &str, comment: Option<String>) {
        self.ids.hint += 1;
        let hint = Hint { id: self.ids.hint, text: text.into(), comment, failures: 0, reason: 0 };
        self.hints.insert(query, hint);
    }
}

fn length(text: &str) -> u64 {
    u64::try_from(text.len()).unwrap_or(u64::MAX)
}

fn size_of_plan(plan: &Plan) -> u64 {
    PLAN_BYTES + plan.document.as_deref().map_or(0, length)
}

fn size_of_runtime(runtime: &Runtime) -> u64 {
    debug_assert!(runtime.waits.len() <= CATEGORIES, "one row a category");
    RUNTIME_BYTES + WAIT_BYTES * u64::try_from(runtime.waits.len()).unwrap_or(0)
}
