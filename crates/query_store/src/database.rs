//! `DatabaseStore`: the Query Store of a database with its options: which queries are recorded, and
//! how large it may become.

use std::collections::HashMap;
use std::hash::BuildHasher;

use plan::stats::QueryIdentity;

use crate::options::{Capture, Mode, Options};
use crate::store::{Delta, Instant, Made, SECOND, Seen, Store, has_passed};

/// Upper limit of queries that are counted and not recorded yet; one more, and all begin again.
const CANDIDATES_MAX: usize = 4_096;
/// `readonly_reason`: MAX_STORAGE_SIZE_MB is reached.
pub const FULL: i32 = 65_536;
/// `readonly_reason`: all stores have reached their share of the server's memory.
pub const MEMORY_FULL: i32 = 131_072;

/// Age of entries at which the store is looked through for those that are too old.
const CLEANED_EVERY: Instant = 600 * SECOND;

/// The Query Store of a database.
#[derive(Debug, Default)]
pub struct DatabaseStore {
    /// What ALTER DATABASE has set.
    pub options: Options,
    /// What was recorded until now.
    pub store: Store,
    /// `readonly_reason`; 0 while it records.
    pub read_only: i32,
    /// Compatibility level of the database.
    pub(crate) level: u8,
    /// When the database was created: another one of the same id has another store.
    pub(crate) created: Instant,
    /// Whether nothing was collected since it was turned on.
    pub(crate) is_fresh: bool,
    /// Whether something was recorded since it was last written to disk.
    pub(crate) is_dirty: bool,
    /// When it was last written to disk, or read.
    pub(crate) flushed: Instant,
    cleaned: Instant,
    candidates: HashMap<u64, Candidate, foldhash::fast::RandomState>,
}

/// A query that has not run often enough to be recorded.
#[derive(Debug)]
struct Candidate {
    since: Instant,
    delta: Delta,
}

impl DatabaseStore {
    /// Returns the store of a database that was created at a moment.
    pub(crate) fn new(store: Store, created: Instant) -> Self {
        Self { store, created, flushed: crate::now(), ..Self::default() }
    }

    /// Returns the mode in which it is: read-only if it is full.
    #[must_use]
    pub fn mode(&self) -> Mode {
        match self.options.mode {
            Mode::ReadWrite if self.read_only != 0 => Mode::ReadOnly,
            mode => mode,
        }
    }

    /// Forgets what was recorded.
    pub fn clear(&mut self) {
        self.store.clear();
        self.candidates.clear();
        self.read_only = 0;
        self.is_dirty = true;
    }

    /// Notes that something has changed that a restart should find.
    pub fn touch(&mut self) {
        self.is_dirty = true;
    }

    /// Returns whether `DATA_FLUSH_INTERVAL_SECONDS` have passed since the store was last written.
    pub(crate) fn is_flush_due(&self, now: Instant) -> bool {
        let seconds = i64::try_from(self.options.flush_seconds).unwrap_or(i64::MAX);
        has_passed(seconds.saturating_mul(SECOND), self.flushed, now)
    }

    fn bytes_max(&self) -> u64 {
        self.options.max_mb.saturating_mul(1 << 20)
    }

    /// Records executions of a query, if it is one to be recorded.
    pub(crate) fn take(
        &mut self,
        seen: &Seen<'_>,
        made: &Made<'_>,
        mut delta: Delta,
        now: Instant,
    ) {
        if self.store.bytes() >= self.bytes_max() {
            self.read_only = FULL;
        }
        if self.read_only != 0 {
            return;
        }
        let query = match self.store.find(seen.identity) {
            Some(known) => known,
            None => {
                let Some(all) = self.admit(seen.identity, delta, now) else { return };
                delta = all;
                self.store.enter(seen)
            }
        };
        // What was counted until now is of the interval of a second ago: collections follow the end
        // of an interval closely.
        let interval = self.store.interval_at(now - SECOND, self.options.interval_minutes);
        self.store.record((query, interval), seen, made, &delta);
        self.is_dirty = true;
    }

    /// Returns the executions of a query that is to be recorded from now on, earlier ones included;
    /// `None` if it is not.
    fn admit(&mut self, identity: &QueryIdentity, delta: Delta, now: Instant) -> Option<Delta> {
        match self.options.capture {
            Capture::None => return None,
            Capture::All => return Some(delta),
            // Statements of modules are always recorded.
            Capture::Auto | Capture::Custom if identity.object_id != 0 => return Some(delta),
            Capture::Auto | Capture::Custom => {}
        }
        let policy = self.options.effective_policy();
        let key = foldhash::fast::FixedState::default().hash_one(identity);
        if self.candidates.len() >= CANDIDATES_MAX && !self.candidates.contains_key(&key) {
            self.candidates.clear();
        }
        let hours = i64::try_from(policy.stale_hours).unwrap_or(i64::MAX);
        let stale = now.saturating_sub(hours.saturating_mul(3_600 * SECOND));
        let none = || Candidate { since: now, delta: Delta::default() };
        let candidate = self.candidates.entry(key).or_insert_with(none);
        if candidate.since < stale {
            *candidate = none();
        }
        candidate.delta.absorb(&delta);
        let all = &candidate.delta;
        let is_admitted = all.executions() >= policy.executions
            || at_least(all.cpu_us() / 1_000.0, policy.execution_ms)
            || all.compiled.ns / 1_000_000 >= policy.compile_ms;
        is_admitted.then(|| self.candidates.remove(&key).map(|all| all.delta)).flatten()
    }

    /// Removes what is too old, and the least queries if it is nearly full.
    pub(crate) fn clean_up(&mut self, now: Instant) {
        if has_passed(CLEANED_EVERY, self.cleaned, now) {
            self.cleaned = now;
            self.remove_stale(now);
        }
        let max = self.bytes_max();
        if self.options.cleans_up && self.store.bytes() >= max / 10 * 9 {
            self.shrink(max / 10 * 8);
        }
        self.read_only = if self.store.bytes() >= max { FULL } else { 0 };
    }

    fn remove_stale(&mut self, now: Instant) {
        if self.options.stale_days == 0 {
            return;
        }
        let days = i64::try_from(self.options.stale_days).unwrap_or(i64::MAX);
        let moment = now.saturating_sub(days.saturating_mul(86_400 * SECOND));
        let is_old = |id: &i64, last: Instant| last < moment && !self.store.hints.contains_key(id);
        let queries = self.store.queries.iter();
        let old: Vec<_> =
            queries.filter(|(id, q)| is_old(id, q.last_execution)).map(|(id, _)| *id).collect();
        for id in old {
            self.is_dirty |= self.store.remove_query(id);
        }
        self.store.remove_intervals_before(moment);
    }

    /// Removes queries until a size is reached: those that have used the least CPU time first, and
    /// of equal ones the oldest. Queries with hints stay.
    pub(crate) fn shrink(&mut self, bytes: u64) {
        let mut costs: HashMap<i64, f64> = HashMap::new();
        for ((plan, ..), runtime) in &self.store.runtime {
            if let Some(plan) = self.store.plans.get(plan) {
                *costs.entry(plan.query).or_default() += runtime.cpu.total;
            }
        }
        let cost = |id: &i64| costs.get(id).copied().unwrap_or_default();
        let queries = self.store.queries.iter();
        let queries = queries.filter(|(id, _)| !self.store.hints.contains_key(id));
        let mut order: Vec<_> =
            queries.map(|(id, query)| (cost(id), query.last_execution, *id)).collect();
        order.sort_by(|a, b| a.0.total_cmp(&b.0).then(a.1.cmp(&b.1)));
        for (_, _, id) in order {
            if self.store.bytes() <= bytes {
                break;
            }
            self.is_dirty |= self.store.remove_query(id);
        }
    }
}

#[expect(clippy::cast_precision_loss, reason = "a threshold")]
fn at_least(value: f64, threshold: u64) -> bool {
    value >= threshold as f64
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use plan::stats::Parameterization;

    use super::*;
    use crate::measure::Measure;
    use crate::store::{Ending, Runtime};

    const START: Instant = 1_000_000 * 3_600 * SECOND;

    fn store(capture: Capture) -> DatabaseStore {
        let options = Options { mode: Mode::ReadWrite, capture, ..Options::default() };
        DatabaseStore { options, cleaned: START, ..DatabaseStore::default() }
    }

    fn run(executions: u64, us: f64) -> Delta {
        let total = us * f64::from(u32::try_from(executions).expect("few"));
        let time = Measure { total, last: us, extremes: Some((us, us)), ..Measure::default() };
        let mut delta = Delta::default();
        delta.runs[0] = Runtime { executions, duration: time, cpu: time, ..Runtime::default() };
        delta
    }

    fn take(store: &mut DatabaseStore, text: &str, delta: Delta, now: Instant) {
        take_planned(store, (text, [0; 8]), delta, now);
    }

    fn take_planned(
        store: &mut DatabaseStore,
        (text, plan_hash): (&str, [u8; 8]),
        mut delta: Delta,
        now: Instant,
    ) {
        delta.runs[0].last = now;
        let identity = QueryIdentity {
            text: text.to_owned(),
            object_id: 0,
            options: [1, 0],
            parameterization: Parameterization::None,
        };
        let seen = Seen {
            identity: &identity,
            query_hash: [1; 8],
            plan_hash,
            batch: &[2],
            offsets: (0, -1),
            is_native: false,
            document: &|| Some("<p/>".repeat(10)),
        };
        let version: Arc<str> = "16.0".into();
        let plans_max = store.options.max_plans;
        store.take(&seen, &Made { version: &version, level: 160, plans_max }, delta, now);
    }

    fn executions(store: &DatabaseStore) -> u64 {
        store.store.runtime.values().map(|run| run.executions).sum()
    }

    #[test]
    fn all_records_the_first_execution_and_none_records_no_new_query() {
        let mut all = store(Capture::All);
        take(&mut all, "a", run(1, 5.0), START);
        assert_eq!((all.store.queries.len(), executions(&all)), (1, 1));
        all.options.capture = Capture::None;
        take(&mut all, "a", run(2, 5.0), START);
        take(&mut all, "b", run(9, 5.0), START);
        assert_eq!((all.store.queries.len(), executions(&all)), (1, 3));
    }

    #[test]
    fn auto_records_what_runs_often_or_takes_long_with_all_its_executions() {
        let mut auto = store(Capture::Auto);
        take(&mut auto, "rare", run(29, 1.0), START);
        take(&mut auto, "often", run(20, 1.0), START);
        take(&mut auto, "long", run(1, 100_000.0), START);
        assert_eq!(executions(&auto), 1);
        take(&mut auto, "often", run(10, 1.0), START);
        assert_eq!((auto.store.queries.len(), executions(&auto)), (2, 31));
        // A day later its count begins again.
        take(&mut auto, "rare", run(29, 1.0), START + 25 * 3_600 * SECOND);
        assert_eq!(auto.store.queries.len(), 2);
        auto.options.capture = Capture::Custom;
        auto.options.policy.executions = 30;
        take(&mut auto, "rare", run(1, 1.0), START + 26 * 3_600 * SECOND);
        assert_eq!(auto.store.queries.len(), 3);
    }

    #[test]
    fn executions_without_a_hash_belong_to_the_plan_that_is_kept() {
        let mut all = store(Capture::All);
        take(&mut all, "a", run(2, 5.0), START);
        take_planned(&mut all, ("a", [7; 8]), run(3, 5.0), START + SECOND);
        take(&mut all, "a", run(4, 5.0), START + 2 * SECOND);
        let hashes: Vec<_> = all.store.plans.values().map(|plan| plan.hash).collect();
        assert_eq!((hashes, executions(&all)), (vec![[7; 8]], 9));
        // Of two plans, the one that has run last has them.
        take_planned(&mut all, ("a", [8; 8]), run(1, 5.0), START + 3 * SECOND);
        take(&mut all, "a", run(6, 5.0), START + 4 * SECOND);
        let of_plan = |hash: u8| {
            let plan = all.store.plans.iter().find(|(_, plan)| plan.hash == [hash; 8]).unwrap().0;
            let runs = all.store.runtime.iter().filter(|((of, ..), _)| of == plan);
            runs.map(|(_, run)| run.executions).sum::<u64>()
        };
        assert_eq!((all.store.plans.len(), of_plan(7), of_plan(8)), (2, 9, 7));
    }

    #[test]
    fn a_million_texts_take_no_more_than_the_limits() {
        let mut auto = store(Capture::Auto);
        for n in 0..20_000 {
            take(&mut auto, &format!("t{n}"), run(1, 1.0), START);
        }
        assert!(auto.candidates.len() <= CANDIDATES_MAX && auto.store.queries.is_empty());
        let mut all = store(Capture::All);
        all.options.max_mb = 1;
        all.options.cleans_up = false;
        for n in 0..5_000 {
            take(&mut all, &format!("t{n}"), run(1, 1.0), START);
        }
        assert!(all.store.bytes() < (1 << 20) + 10_000);
        assert_eq!((all.mode(), all.read_only), (Mode::ReadOnly, FULL));
        all.clean_up(START + SECOND);
        assert_eq!(all.mode(), Mode::ReadOnly, "it stays full until something goes");
        all.options.cleans_up = true;
        all.clean_up(START + 2 * SECOND);
        assert_eq!(all.mode(), Mode::ReadWrite);
        assert!(all.store.bytes() <= (1 << 20) / 10 * 8);
    }

    #[test]
    fn cleanup_by_size_keeps_what_costs_most_and_what_has_hints() {
        let mut all = store(Capture::All);
        for n in 0_u32..100 {
            take(&mut all, &format!("t{n}"), run(1, f64::from(n)), START);
        }
        let hinted = *all.store.queries.keys().next().expect("there are some");
        all.store.set_hint(hinted, "OPTION(MAXDOP 1)", None);
        all.shrink(all.store.bytes() / 2);
        let left = all.store.queries.len();
        assert!((40..=52).contains(&left), "{left}");
        assert!(all.store.queries.contains_key(&hinted));
        let texts: Vec<_> = all.store.texts.values().map(|text| text.to_string()).collect();
        assert!(texts.contains(&"t99".to_owned()) && !texts.contains(&"t1".to_owned()));
    }

    #[test]
    fn cleanup_by_age_removes_queries_and_intervals() {
        let mut all = store(Capture::All);
        all.options.stale_days = 2;
        take(&mut all, "old", run(1, 1.0), START);
        let later = START + 3 * 86_400 * SECOND;
        take(&mut all, "new", run(1, 1.0), later);
        assert_eq!(all.store.intervals.len(), 2);
        all.clean_up(later);
        let texts: Vec<_> = all.store.texts.values().map(|text| text.to_string()).collect();
        assert_eq!(texts, ["new"]);
        assert_eq!((all.store.intervals.len(), all.store.runtime.len()), (1, 1));
        all.store.remove_query(2);
        assert_eq!((all.store.bytes(), all.store.plans.len()), (0, 0));
    }

    /// The clock of a machine is often wrong when it starts, and is then set back by much.
    #[test]
    fn a_clock_that_was_set_back_puts_off_neither_cleanup_nor_writing() {
        let mut all = store(Capture::All);
        all.options.stale_days = 2;
        let wrong = START + 365 * 86_400 * SECOND;
        (all.flushed, all.cleaned) = (wrong, wrong);
        assert!(!all.is_flush_due(wrong + SECOND));
        assert!(all.is_flush_due(START));
        take(&mut all, "old", run(1, 1.0), START - 3 * 86_400 * SECOND);
        all.clean_up(START);
        assert!(all.store.queries.is_empty());
    }

    #[test]
    fn plans_beyond_the_limit_are_not_recorded() {
        let mut all = store(Capture::All);
        all.options.max_plans = 2;
        for n in 1..5 {
            take_planned(&mut all, ("q", [n; 8]), run(1, 1.0), START);
        }
        assert_eq!((all.store.queries.len(), all.store.plans.len(), executions(&all)), (1, 2, 2));
        take_planned(&mut all, ("q", [1; 8]), run(1, 1.0), START);
        assert_eq!(executions(&all), 3);
    }

    #[test]
    fn intervals_are_aligned_and_the_latest_runs_to_its_end() {
        let mut all = store(Capture::All);
        let at = |minutes: i64| START + minutes * 60 * SECOND + 2 * SECOND;
        take(&mut all, "q", run(1, 1.0), at(5));
        all.options.interval_minutes = 1;
        take(&mut all, "q", run(1, 1.0), at(7));
        take(&mut all, "q", run(1, 1.0), at(61));
        take(&mut all, "q", run(1, 1.0), at(62));
        let minutes: Vec<_> = all.store.intervals.values().collect();
        let of = |moment: Instant| (moment - START) / (60 * SECOND);
        let minutes: Vec<_> = minutes.iter().map(|i| (of(i.start), of(i.end))).collect();
        assert_eq!(minutes, [(0, 60), (61, 62), (62, 63)]);
        let regular = |((_, interval, ending), run): (&(i64, i64, Ending), &Runtime)| {
            (*interval, *ending == Ending::Regular, run.executions)
        };
        let runs: Vec<_> = all.store.runtime.iter().map(regular).collect();
        assert_eq!(runs, [(1, true, 2), (2, true, 1), (3, true, 1)]);
    }
}
