//! Runs statements with SET STATISTICS IO, TIME, PROFILE and XML, and sends what they did.
//!
//! The messages follow the statement's DONE, as in SQL Server. A logical read is a row version that
//! storage returns to a scan, or that a statement writes: there are no pages.

use sos::clock;
use types::Error;

use super::show_plans::{check_permission, is_switch, send, send_document};
use crate::{Runner, Stop};
use ::executor::{Cx, StatementResult};
use ::explain::rows::{self, Detail};
use ::explain::statement::{Shown, Spent, World};
use ::explain::{Explain, Profile, document};
use ::plan::program::{Leaf, RunHints, Step};
use ::plan::statement::{Bound, table_of};
use ::session::SessionState;
use ::session::event::emit;
use ::session::live_profile::{LiveProfile, Showing};
use ::vectorized::Degree;

/// Message numbers of SQL Server.
const EXECUTION_TIMES: i32 = 3612;
const COMPILE_TIMES: i32 = 3613;
const TABLE_READS: i32 = 3615;
const SEGMENT_READS: i32 = 3653;

/// The trace flag that profiles all statements.
const PROFILES_FLAG: i32 = 7_412;

/// The counters of a statement at its start.
struct Watch {
    cpu_ns: u64,
    ticks: u64,
}

impl Watch {
    fn begin() -> Self {
        Self { cpu_ns: sos::sys::thread_cpu_ns(), ticks: clock::now_ticks() }
    }

    fn spent(&self) -> Spent {
        let cpu_ns = sos::sys::thread_cpu_ns().saturating_sub(self.cpu_ns);
        let ticks = clock::now_ticks().saturating_sub(self.ticks);
        Spent { cpu_ms: cpu_ns / 1_000_000, elapsed_ms: clock::ticks_to_ns(ticks) / 1_000_000 }
    }
}

/// What a statement has used and returned.
struct Seen {
    result: StatementResult,
    returned: bool,
    profile: Box<Profile>,
    shown: Option<Shown>,
}

impl Runner<'_> {
    /// Runs the program of a session that shows plans or statistics.
    #[cold]
    pub fn run_explained(&self, cx: &mut Cx<'_>) -> Option<Result<i32, Stop>> {
        let explain = cx.session.options.explain;
        if explain.shows_plans() && !is_switch(self.program) {
            return Some(self.show_plans(cx));
        }
        None
    }

    /// Runs a data statement and sends its statistics.
    #[cold]
    pub fn data_observed(&self, step: &Step, leaf: &Leaf, cx: &mut Cx<'_>) -> Result<(), Stop> {
        if cx.session.options.explain.has(Explain::PLANS_AFTER) {
            check_permission(cx)?;
        }
        // Statements inside it (of functions and triggers) belong to it.
        let explain = std::mem::take(&mut cx.session.options.explain);
        // The plans of an encrypted module are not shown.
        let is_hidden = self.program.is_encrypted();
        let wanted = if is_hidden { explain.without_plans_after() } else { explain };
        let told_of = emit::statement::wants_plans() && !is_hidden;
        let looked_at = if told_of { wanted.with_document() } else { wanted };
        // A statement of a trigger runs inside one that may have a profile.
        let outer = cx.profile.take();
        let watch = Watch::begin();
        let run = loop {
            cx.fault = None;
            let run = self.run_observed(step, leaf, (looked_at, &watch), cx);
            match run {
                Ok((Ok(seen), _)) => break Ok(seen),
                Ok((Err(stop), returned)) => match self.admit(stop, returned, cx) {
                    Ok(()) => {}
                    Err(stop) => break Err(stop),
                },
                Err(stop) => break Err(stop),
            }
        };
        cx.profile = outer;
        cx.session.options.explain = explain;
        let told = match run {
            Ok(Seen { result, returned, profile, shown }) => {
                if let Some(shown) = shown.as_ref().filter(|_| told_of) {
                    let xml = document(std::slice::from_ref(shown));
                    let ms = watch.spent().elapsed_ms;
                    emit::statement::plan(cx.session, (self.program, self.procedure), ms, &xml);
                }
                self.data_done(step, result, returned, cx)?;
                tell(wanted, &profile, shown, cx)
            }
            Err(stop) => Err(stop),
        };
        if explain.has(Explain::TIME) && !matches!(told, Err(Stop::Disconnected)) {
            execution_times(&watch, cx)?;
        }
        told
    }

    /// Runs a data statement with counters; also returns whether it returns rows.
    fn run_observed(
        &self,
        step: &Step,
        leaf: &Leaf,
        (explain, watch): (Explain, &Watch),
        cx: &mut Cx<'_>,
    ) -> Result<(Result<Seen, Stop>, bool), Stop> {
        let hints = leaf.run_hints();
        let is_shown = explain.has(Explain::PLANS_AFTER)
            || leaf.is_profiled
            || profiles_statements(cx.session);
        cx.parallel.hints = hints;
        self.with_plan(leaf, cx, |bound, cx| {
            let showing = is_shown.then(|| self.show_profile(bound, leaf, cx));
            if explain.has(Explain::COUNTS) && !is_shown {
                cx.profile = Some(Box::default());
            }
            leaf.count_uses(bound, cx.session.accounting.meter.begun_ticks());
            let result = self.run_watched(bound, leaf, cx);
            drop(showing);
            cx.parallel.hints = RunHints::default();
            let spent = watch.spent();
            let mut profile = cx.profile.take().unwrap_or_default();
            let returned = crate::returns_rows(bound);
            let result = match result {
                Ok(result) => result,
                Err(stop) => return Ok((Err(stop), returned)),
            };
            name_target(bound, &mut profile);
            let shown = explain.has(Explain::PLANS_AFTER).then(|| {
                let catalog = &cx.session.catalog;
                let variables = &self.program.variables;
                let profile = Some(&*profile);
                let degree = Degree::of_session(cx.session, leaf.run_hints().degree);
                let world = World { catalog, variables, profile, changed: result.rows, degree };
                let text = step.span.text(&self.program.source);
                Shown { spent: Some(spent), ..Shown::of_bound(1, text, bound, &world) }
            });
            Ok((Ok(Seen { result, returned, profile, shown }), returned))
        })
    }

    /// Gives a statement a profile that other sessions see until the guard is dropped.
    fn show_profile(&self, bound: &Bound, leaf: &Leaf, cx: &mut Cx<'_>) -> Showing {
        let degree = Degree::of_session(cx.session, leaf.run_hints().degree);
        let (catalog, variables) = (&cx.session.catalog, &self.program.variables);
        let world = World { catalog, variables, profile: None, changed: 0, degree };
        let live = LiveProfile::new(self.program.books.clone(), world.operators(bound));
        let showing = cx.session.accounting.profiles.show(&live);
        cx.profile = Some(Box::new(Profile::shown(live, 0)));
        showing
    }

    /// Evaluates a leaf that reads tables, and sends its reads.
    #[cold]
    pub fn scalar_observed<R>(
        &self,
        cx: &mut Cx<'_>,
        run: impl FnOnce(&mut Cx<'_>) -> Result<R, Stop>,
    ) -> Result<R, Stop> {
        let explain = std::mem::take(&mut cx.session.options.explain);
        if explain.has(Explain::IO) {
            cx.profile = Some(Box::default());
        }
        let watch = Watch::begin();
        let result = run(cx);
        let profile = cx.profile.take().unwrap_or_default();
        cx.session.options.explain = explain;
        if result.is_ok() {
            tell_reads(explain, &profile, cx)?;
        }
        if explain.has(Explain::TIME) {
            execution_times(&watch, cx)?;
        }
        result
    }
}

/// Returns whether trace flag 7412 is on: each statement has a profile that other sessions see.
#[inline]
pub(crate) fn profiles_statements(session: &SessionState) -> bool {
    let flags = &session.catalog.trace_flags;
    !flags.is_empty() && flags.contains(&PROFILES_FLAG)
}

fn tell(
    explain: Explain,
    profile: &Profile,
    shown: Option<Shown>,
    cx: &mut Cx<'_>,
) -> Result<(), Stop> {
    tell_reads(explain, profile, cx)?;
    // INSERT .. EXEC inserts the rows of the call only, not plans.
    let Some(shown) = shown.filter(|_| cx.session.request.inserting_call.is_none()) else {
        return Ok(());
    };
    let shown = [shown];
    if explain.has(Explain::PROFILE) {
        let rows = rows::rows(&shown, Detail::Actuals);
        send(rows::columns(Detail::Actuals), &rows, cx)?;
    }
    if explain.has(Explain::XML) {
        send_document(&shown, cx)?;
    }
    Ok(())
}

fn tell_reads(explain: Explain, profile: &Profile, cx: &mut Cx<'_>) -> Result<(), Stop> {
    if !explain.has(Explain::IO) {
        return Ok(());
    }
    for table in profile.tables() {
        let text = format!(
            "Table '{}'. Scan count {}, logical reads {}, physical reads 0, page server reads 0, \
             read-ahead reads 0, page server read-ahead reads 0, lob logical reads 0, \
             lob physical reads 0, lob page server reads 0, lob read-ahead reads 0, \
             lob page server read-ahead reads 0.",
            table.name, table.scans, table.reads
        );
        message(TABLE_READS, text, cx)?;
    }
    for groups in profile.groups() {
        let text = format!(
            "Table '{}'. Segment reads {}, segment skipped {}.",
            groups.name, groups.read, groups.skipped
        );
        message(SEGMENT_READS, text, cx)?;
    }
    Ok(())
}

fn execution_times(watch: &Watch, cx: &mut Cx<'_>) -> Result<(), Stop> {
    let Spent { cpu_ms, elapsed_ms } = watch.spent();
    let text = format!(
        "\n SQL Server Execution Times:\n   CPU time = {cpu_ms} ms,  elapsed time = {elapsed_ms} ms."
    );
    message(EXECUTION_TIMES, text, cx)
}

/// Sends the time of compiling the batch.
pub fn parse_time(cx: &mut Cx<'_>) -> Result<(), Stop> {
    let ms = std::mem::take(&mut cx.session.accounting.compile_ns) / 1_000_000;
    let text = format!(
        "SQL Server parse and compile time: \n   CPU time = {ms} ms, elapsed time = {ms} ms."
    );
    message(COMPILE_TIMES, text, cx)
}

fn message(number: i32, text: String, cx: &mut Cx<'_>) -> Result<(), Stop> {
    let line = cx.session.request.line;
    Ok(cx.sink.message(&Error::custom(number, 0, 1, text).at_line(line.max(1)))?)
}

/// Names the table that a statement changes, which may have changed no row of it.
fn name_target(bound: &Bound, profile: &mut Profile) {
    let target = match bound {
        Bound::Insert(insert) => &insert.target,
        Bound::Update(update) => &update.target,
        Bound::Delete(delete) => &delete.target,
        Bound::Merge(merge) => &merge.target,
        Bound::Select(_)
        | Bound::SelectAssign(_)
        | Bound::SelectInto(_)
        | Bound::Truncate(_)
        | Bound::Instead(_)
        | Bound::Scalar(_) => return,
    };
    let table = table_of(target);
    profile.count_of_table(table.id, &table.name, 0);
}
