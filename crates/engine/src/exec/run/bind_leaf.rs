//! Binds a leaf when control first reaches it, and keeps its plan where others may use it too.

use std::sync::Arc;

use sos::ledger::{self, Label};
use sos::memory::{MemoryClerk, with_clerk};
use types::{Mode, Result};

use crate::bind::expr::{arithmetic, assign, bind_condition, bind_expr, convert_to};
use crate::bind::{Binder, BinderContext};
use crate::exec::Cx;
use crate::exec::run::{ErrorClass, Runner, Stop, positioned};
use crate::instance::{MetadataCache, SessionCounter};
use crate::opt::watch::{self, Found, Watch};
use crate::plan::expr::{Expr, ExprKind, Slot};
use crate::plan::program::{Leaf, LeafAst};
use crate::plan::statement::{Bound, Scalar};
use crate::session::options::Meaning;
use tsql::ast::AssignOp;
use types::type_rules::BinaryOp;

impl Runner<'_> {
    /// Runs something with the leaf's plan. The plan is not counted up and down: it stays in the leaf,
    /// and the leaf in the program that the session holds.
    pub(crate) fn with_plan<R>(
        &self,
        leaf: &Leaf,
        cx: &mut Cx<'_>,
        run: impl FnOnce(&Bound, &mut Cx<'_>) -> Result<R, Stop>,
    ) -> Result<R, Stop> {
        if let Some(metadata) = &cx.session.instance.metadata {
            self.look_up(metadata, cx);
        }
        if !self.is_stale(leaf, cx)
            && let Some(plan) = leaf.plan_for(self.program, cx.session)
        {
            // One load; statements without a join have nothing there.
            if leaf.watch.get().is_some_and(Watch::is_stale) {
                return self.replanned(leaf, cx, run);
            }
            return run(plan, cx);
        }
        cx.session.meter.pause();
        // A plan is read by all sessions.
        let bound = with_clerk(MemoryClerk::SqlPlans, || self.bind(leaf, cx));
        cx.session.meter.unpause();
        let (bound, session_bound) = bound.map_err(|error| self.unbound(error))?;
        let current = self.program.catalog_version == cx.session.catalog.version;
        let here = (&cx.session.database, cx.session.rights.key());
        let elsewhere = self.program.switches_database && {
            let first = leaf.bound_for.get_or_init(|| (Arc::clone(here.0), here.1));
            (&first.0, first.1) != here
        };
        let meaning = cx.session.options.meaning();
        let otherwise = *leaf.meaning.get_or_init(|| meaning) != meaning;
        if session_bound || !current || elsewhere || otherwise {
            // This plan serves one execution: the next one makes it again.
            cx.session.counters.count(SessionCounter::Recompilations);
            return run(&bound, cx);
        }
        run(leaf.keep(bound), cx)
    }

    /// Runs something with a plan for tables that have far more or fewer rows than the first plan was
    /// made for.
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
        cx.session.meter.pause();
        let bound = with_clerk(MemoryClerk::SqlPlans, || self.bind(leaf, cx));
        cx.session.meter.unpause();
        let (bound, _) = bound.map_err(|error| self.unbound(error))?;
        cx.session.counters.count(SessionCounter::Recompilations);
        match room {
            Some(place) => {
                let plan = with_clerk(MemoryClerk::SqlPlans, || Found::keep(place, bound));
                run(plan, cx)
            }
            None => run(&bound, cx),
        }
    }

    /// Tells whether the catalog has changed since a statement was planned, as it may during a long
    /// request: one load of a line that only definitions write.
    fn is_stale(&self, leaf: &Leaf, cx: &mut Cx<'_>) -> bool {
        if !matches!(leaf.ast, LeafAst::Statement(_)) {
            return false;
        }
        cx.session.refresh_catalog();
        self.program.catalog_version != cx.session.catalog.version
    }

    /// Looks the running statement up as a server does that keeps metadata in shared tables.
    #[cold]
    fn look_up(&self, metadata: &MetadataCache, cx: &Cx<'_>) {
        if let Some(books) = &self.program.books {
            metadata.statement(books.serial, cx.session.line, self.program.catalog_version);
        }
    }

    /// Names and types that do not resolve are no matter of the TRY block they are in.
    fn unbound(&self, error: types::Error) -> Stop {
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
        let context = BinderContext::of(cx.session, self.program);
        let mut binder = context.binder();
        let bound = match &leaf.ast {
            LeafAst::Statement(statement) => crate::bind::bind_statement(&mut binder, statement)?,
            LeafAst::Value(value) => {
                let expr = bind_expr(&mut binder, value)?;
                scalar(expr, &mut binder)
            }
            LeafAst::Typed(value, ty) => {
                let expr = bind_expr(&mut binder, value)?;
                scalar(convert_to(expr, ty, Mode::Implicit)?, &mut binder)
            }
            LeafAst::Returned(value, ty) => {
                let expr = bind_expr(&mut binder, value)?;
                scalar(assign(expr, ty, Mode::Implicit)?, &mut binder)
            }
            LeafAst::Condition(condition) => {
                let expr = bind_condition(&mut binder, condition)?;
                scalar(expr, &mut binder)
            }
            LeafAst::Assignment(slot, op, value) => {
                let expr = bind_expr(&mut binder, value)?;
                let expr = assignment(
                    self.program.variables[slot.0 as usize].ty,
                    (*slot, *op),
                    expr,
                    binder.meaning,
                )?;
                scalar(expr, &mut binder)
            }
        };
        Ok((bound, binder.session_bound))
    }

    /// Binds UPDATE or DELETE .. WHERE CURRENT OF for the row that the cursor is on now.
    fn bind_positioned(
        &self,
        statement: &tsql::ast::Statement,
        cursor: &tsql::ast::CursorRef,
        cx: &mut Cx<'_>,
    ) -> Result<(Bound, bool)> {
        let table = {
            let context = BinderContext::of(cx.session, self.program);
            positioned::table_of(statement, &mut context.binder())?
        };
        let (statement, given) = positioned::on_key(statement, cursor, table, cx)?;
        let context = BinderContext::of(cx.session, self.program);
        let mut binder = context.binder();
        binder.given = given;
        let bound = crate::bind::bind_statement(&mut binder, &statement)?;
        Ok((bound, true))
    }
}

fn scalar(mut expr: Expr, binder: &mut Binder<'_>) -> Bound {
    crate::opt::expression(binder, &mut expr);
    Bound::Scalar(Scalar { expr, registers: binder.registers })
}

/// Makes the value that a variable gets: combined with the old one for `+=` and its kin, and as the
/// variable's type.
pub(crate) fn assignment(
    ty: types::value::ColumnType,
    (slot, op): (Slot, AssignOp),
    value: Expr,
    meaning: Meaning,
) -> Result<Expr> {
    let op = match op {
        AssignOp::Assign => return assign(value, &ty, Mode::Implicit),
        AssignOp::Add => BinaryOp::Add,
        AssignOp::Subtract => BinaryOp::Subtract,
        AssignOp::Multiply => BinaryOp::Multiply,
        AssignOp::Divide => BinaryOp::Divide,
        AssignOp::Modulo => BinaryOp::Modulo,
        AssignOp::BitAnd => BinaryOp::BitAnd,
        AssignOp::BitXor => BinaryOp::BitXor,
        AssignOp::BitOr => BinaryOp::BitOr,
    };
    let old = Expr::new(ExprKind::Variable(slot), ty);
    assign(arithmetic(op, old, value, meaning)?, &ty, Mode::Implicit)
}
