//! Binds a leaf when control first reaches it, and keeps the plan if other executions may use it.

use std::sync::Arc;

use sos::ledger::{self, Label};
use sos::memory::{MemoryClerk, with_clerk};
use types::{Msg, Result};

use crate::{Runner, Stop, cursor};
use ::compile::hinted;
use ::compile::leaf::{all_unfound, bind_as};
use ::compile::positioned::{self, Accepts};
use ::executor::Cx;
use ::plan::program::{Leaf, LeafAst};
use ::plan::statement::Bound;
use ::plan::stop::INTERNAL;
use ::plan::watch::{self, Found, Watch};
use ::session::class::ErrorClass;
use ::session::instance::{MetadataCache, SessionCounter};

impl Runner<'_> {
    /// Calls `run` with the leaf's plan. The plan is borrowed, without reference counting: it stays
    /// in the leaf, and the leaf in the program that the session holds.
    pub fn with_plan<R>(
        &self,
        leaf: &Leaf,
        cx: &mut Cx<'_>,
        run: impl FnOnce(&Bound, &mut Cx<'_>) -> Result<R, Stop>,
    ) -> Result<R, Stop> {
        if let Some(metadata) = &cx.session.instance.metadata {
            self.look_up(metadata, cx);
        }
        if !self.is_stale(leaf, cx)
            && let Some(plan) = leaf.plan_for(self.program, &cx.session.asked_for())
        {
            // A single load; statements without a join have no `watch`.
            if leaf.watch.get().is_some_and(Watch::is_stale) {
                return self.replanned(leaf, cx, run);
            }
            return run(plan, cx);
        }
        cx.session.accounting.meter.pause();
        // All sessions read the plan, so it is charged to the plan clerk.
        let bound = with_clerk(MemoryClerk::SqlPlans, || self.bind(leaf, cx));
        let spent = cx.session.accounting.meter.unpause();
        if let Some(books) = &self.program.books {
            books.bound(&spent);
        }
        let (bound, session_bound) = bound.map_err(|error| self.unbound(error))?;
        let current = self.program.catalog_version == cx.session.catalog.version;
        let here = (&cx.session.identity.database, cx.session.identity.rights.key());
        let elsewhere = self.program.switches_database && {
            let first = leaf.bound_for.get_or_init(|| (Arc::clone(here.0), here.1));
            (&first.0, first.1) != here
        };
        let meaning = cx.session.options.meaning();
        let otherwise = *leaf.meaning.get_or_init(|| meaning) != meaning;
        if session_bound || !current || elsewhere || otherwise {
            // The plan serves this execution only; the next one binds again.
            cx.session.accounting.counters.count(SessionCounter::Recompilations);
            return run(&bound, cx);
        }
        run(leaf.keep(bound), cx)
    }

    /// Calls `run` with a plan for the current table sizes, which are far from those of the first
    /// plan.
    #[cold]
    fn replanned<R>(
        &self,
        leaf: &Leaf,
        cx: &mut Cx<'_>,
        run: impl FnOnce(&Bound, &mut Cx<'_>) -> Result<R, Stop>,
    ) -> Result<R, Stop> {
        let room = match watch::find(&leaf.later) {
            Found::Plan(plan) => return run(plan, cx),
            Found::Room(place) => Some(place),
            Found::Full => None,
        };
        cx.session.accounting.meter.pause();
        let bound = with_clerk(MemoryClerk::SqlPlans, || self.bind(leaf, cx));
        let spent = cx.session.accounting.meter.unpause();
        if let Some(books) = &self.program.books {
            books.bound(&spent);
        }
        let (bound, _) = bound.map_err(|error| self.unbound(error))?;
        cx.session.accounting.counters.count(SessionCounter::Recompilations);
        match room {
            Some(place) => {
                let plan = with_clerk(MemoryClerk::SqlPlans, || Found::keep(place, bound));
                run(plan, cx)
            }
            None => run(&bound, cx),
        }
    }

    /// Returns true if the catalog has changed since the program was compiled, as it may during a
    /// long request. Costs one load of a cache line that only definitions write.
    fn is_stale(&self, leaf: &Leaf, cx: &mut Cx<'_>) -> bool {
        if !matches!(leaf.ast, LeafAst::Statement(_)) {
            return false;
        }
        cx.session.refresh_catalog();
        self.program.catalog_version != cx.session.catalog.version
    }

    /// Looks up the statement in shared metadata tables, in the lock modes that measure the cost of
    /// that.
    #[cold]
    fn look_up(&self, metadata: &MetadataCache, cx: &Cx<'_>) {
        if let Some(books) = &self.program.books {
            metadata.statement(books.serial, cx.session.request.line, self.program.catalog_version);
        }
    }

    /// Converts an error of binding. Unresolved names end the scope: the TRY block around the
    /// statement does not catch them.
    fn unbound(&self, error: types::Error) -> Stop {
        if error.number == INTERNAL {
            return error.into();
        }
        match ErrorClass::of(&error) {
            ErrorClass::Scope if error.line != 0 => {
                Stop::Unbound(error.in_procedure(self.procedure))
            }
            ErrorClass::Scope => Stop::Unbound(error),
            ErrorClass::Statement | ErrorClass::Batch | ErrorClass::Connection => {
                Stop::Error(error)
            }
        }
    }

    fn bind(&self, leaf: &Leaf, cx: &mut Cx<'_>) -> Result<(Bound, bool)> {
        let _label = ledger::labelled(Label::Bind);
        cx.session.refresh_catalog();
        if let LeafAst::Statement(statement) = &leaf.ast
            && let Some(cursor) = positioned::cursor_of(statement)
        {
            return self.bind_positioned(statement, cursor, cx);
        }
        let context = compile::binding::context_of(cx.session, self.program);
        if let Some((bound, binder)) = hinted::bind(cx.session, &context, leaf, self.program) {
            return Ok((bound, binder.session_bound || binder.unchained.get()));
        }
        let mut binder = context.binder();
        match bind_as(&mut binder, leaf, self.program) {
            Ok(bound) => Ok((bound, binder.session_bound || binder.unchained.get())),
            Err(first) => {
                let all = all_unfound(&mut context.binder(), leaf, self.program, first.clone());
                Err(all.unwrap_or_else(|other| if other.number == 208 { other } else { first }))
            }
        }
    }

    /// Binds UPDATE or DELETE .. WHERE CURRENT OF for the cursor's current row.
    fn bind_positioned(
        &self,
        statement: &tsql::ast::Statement,
        cursor: &tsql::ast::CursorRef,
        cx: &mut Cx<'_>,
    ) -> Result<(Bound, bool)> {
        let table = {
            let context = compile::binding::context_of(cx.session, self.program);
            positioned::table_of(statement, &mut context.binder())?
        };
        let name = cursor::name_of(cursor).to_owned();
        let cursor = cursor::find(cursor, cx).map_err(|_| Msg::CursorNotFound(&name))?;
        let row = cursor.current()?.1.clone();
        let (statement, given) =
            positioned::on_key(statement, cursor, &row, (table, Accepts::Key))?;
        let context = compile::binding::context_of(cx.session, self.program);
        let mut binder = context.binder();
        binder.given = given;
        let bound = ::binder::bind_statement(&mut binder, &statement)?;
        Ok((bound, true))
    }
}
