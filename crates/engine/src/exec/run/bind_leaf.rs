//! Binds a leaf when control first reaches it, and keeps its plan where others may use it too.

use std::collections::HashSet;
use std::sync::Arc;

use sos::ledger::{self, Label};
use sos::memory::{MemoryClerk, with_clerk};
use types::{Error, Mode, Result};

use crate::bind::Binder;
use crate::bind::expr::{arithmetic, assign, bind_condition, bind_expr, convert_to};
use crate::exec::Cx;
use crate::exec::run::{ErrorClass, Runner, Stop, positioned};
use crate::plan::expr::{Expr, ExprKind, Slot};
use crate::plan::program::{Leaf, LeafAst, Program};
use crate::plan::statement::{Bound, Scalar};
use crate::plan::watch::{self, Found, Watch};
use crate::session::options::Meaning;
use ::session::instance::{MetadataCache, SessionCounter};
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
            && let Some(plan) = leaf.plan_for(self.program, &cx.session.asked_for())
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
        let context = metadata::binding::context_of(cx.session, self.program);
        let mut binder = context.binder();
        match bind_as(&mut binder, leaf, self.program) {
            Ok(bound) => Ok((bound, binder.session_bound || binder.unchained.get())),
            Err(first) => {
                let all = all_unfound(&mut context.binder(), leaf, self.program, first.clone());
                Err(all.unwrap_or_else(|other| if other.number == 208 { other } else { first }))
            }
        }
    }

    /// Binds UPDATE or DELETE .. WHERE CURRENT OF for the row that the cursor is on now.
    fn bind_positioned(
        &self,
        statement: &tsql::ast::Statement,
        cursor: &tsql::ast::CursorRef,
        cx: &mut Cx<'_>,
    ) -> Result<(Bound, bool)> {
        let table = {
            let context = metadata::binding::context_of(cx.session, self.program);
            positioned::table_of(statement, &mut context.binder())?
        };
        let (statement, given) = positioned::on_key(statement, cursor, table, cx)?;
        let context = metadata::binding::context_of(cx.session, self.program);
        let mut binder = context.binder();
        binder.given = given;
        let bound = crate::bind::bind_statement(&mut binder, &statement)?;
        Ok((bound, true))
    }
}

/// Binds what a leaf says.
pub(super) fn bind_as(binder: &mut Binder<'_>, leaf: &Leaf, program: &Program) -> Result<Bound> {
    Ok(match &leaf.ast {
        LeafAst::Statement(statement) => crate::bind::bind_statement(binder, statement)?,
        LeafAst::Value(value) => {
            let expr = bind_expr(binder, value)?;
            scalar(expr, binder)?
        }
        LeafAst::Typed(value, ty) => {
            let expr = bind_expr(binder, value)?;
            scalar(convert_to(expr, ty, Mode::Implicit)?, binder)?
        }
        LeafAst::Returned(value, ty) => {
            let expr = bind_expr(binder, value)?;
            scalar(assign(expr, ty, Mode::Implicit)?, binder)?
        }
        LeafAst::Condition(condition) => {
            let expr = bind_condition(binder, condition)?;
            scalar(expr, binder)?
        }
        LeafAst::Assignment(slot, op, value) => {
            let expr = bind_expr(binder, value)?;
            let ty = program.variables[slot.0 as usize].ty;
            scalar(assignment(ty, (*slot, *op), expr, binder.meaning)?, binder)?
        }
    })
}

/// Finds all columns that a leaf names in vain, where `first` is such an error; `Err` where the
/// leaf has another error too that a statement may have mended until it runs, such as a missing table's.
pub(super) fn all_unfound(
    binder: &mut Binder<'_>,
    leaf: &Leaf,
    program: &Program,
    first: Error,
) -> Result<Error, Error> {
    // A list of columns has told all.
    if !is_unfound(&first) || !first.earlier.is_empty() {
        return Ok(first);
    }
    binder.unfound = Some(Vec::new());
    let rest = bind_as(binder, leaf, program).map(drop);
    let mut found = binder.unfound.take().unwrap_or_default();
    let rest = match rest {
        Err(error) if !ErrorClass::is_of_compilation(&error) => return Err(error),
        rest => rest,
    };
    // An expression may be bound twice.
    let mut seen = HashSet::new();
    found.retain(|(at, _)| seen.insert(*at));
    let mut errors: Vec<Error> = found.into_iter().map(|(_, error)| error).collect();
    errors.extend(rest.err().filter(is_unfound));
    let all = Error::all(errors).unwrap_or_else(|| first.clone());
    Ok(if first.line == 0 { all } else { all.at_line(first.line) })
}

/// Tells whether an error is that of a column that is not there.
fn is_unfound(error: &Error) -> bool {
    matches!(error.number, 207 | 4104)
}

fn scalar(mut expr: Expr, binder: &mut Binder<'_>) -> Result<Bound> {
    crate::opt::expression(&mut binder.statement(), &mut expr)?;
    Ok(Bound::Scalar(Scalar { expr, registers: binder.registers }))
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
