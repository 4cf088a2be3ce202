//! Index spools, for a scan that is opened for each row of an outer input, searches for rows equal
//! to an outer value, and has no index for that.
//!
//! This is the last pass, over a tree with its joins and access paths chosen: whatever a hash join
//! can do is one by now. That leaves APPLY with TOP or ORDER BY, and subqueries that could not
//! become joins.

use super::Optimizer;
use super::conjunct::{is_volatile, join_conjuncts, split};
use plan::children;
use plan::expr::{CompareOp, Expr, ExprKind};
use plan::query::{Access, JoinMethod, Node, Path, Query, Scan, ScanHints, Spool};
use plan::safe::cannot_fail;
use plan::walk::{self, Registers, Rewrite};

/// How often a tree is opened in a statement.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Opened {
    Once,
    /// Once for each row of an outer input.
    Often,
}

impl Optimizer<'_> {
    /// Adds spools to a query.
    pub(crate) fn spool_query(&mut self, query: &mut Query, opened: Opened) {
        self.spool(&mut query.root, opened);
        if self.subqueries {
            query.output.iter_mut().for_each(|c| self.spool_expression(&mut c.expr, Opened::Often));
        }
    }

    /// Adds spools to the queries inside an expression that is evaluated this often.
    pub(crate) fn spool_expression(&mut self, expr: &mut Expr, opened: Opened) {
        walk::rewrite(expr, &mut |e| match &mut e.kind {
            ExprKind::Once(_, inner) => {
                self.spool_expression(inner, Opened::Once);
                Rewrite::Done
            }
            ExprKind::ScalarSubquery(query) | ExprKind::Exists(query) => {
                self.spool_query(query, opened);
                Rewrite::Done
            }
            ExprKind::Quantified(quantified) => {
                let opened = if quantified.once.is_some() { Opened::Once } else { opened };
                self.spool_expression(&mut quantified.operand, opened);
                self.spool_query(&mut quantified.query, opened);
                Rewrite::Done
            }
            _ => Rewrite::Enter,
        });
    }

    /// Adds spools to a tree.
    pub(crate) fn spool(&mut self, node: &mut Node, opened: Opened) {
        if self.subqueries {
            children::expressions_mut(node, &mut |e| self.spool_expression(e, Opened::Often));
        }
        match node {
            Node::Scan(scan) => {
                if opened == Opened::Often
                    && let Some(spool) = self.spool_of(scan)
                {
                    *node = spool;
                }
            }
            Node::Join(join) => {
                self.spool(&mut join.left, opened);
                let is_loop = matches!(join.method, JoinMethod::Loop);
                // A statement that changes rows needs them from storage, not from a spool.
                let opened = if is_loop && !self.changes { Opened::Often } else { opened };
                self.spool(&mut join.right, opened);
            }
            other => {
                children::inputs_mut(other, &mut |input| self.spool(input, opened));
            }
        }
    }

    /// Returns a spool of a scan, if there is a key to look up by.
    fn spool_of(&mut self, scan: &Scan) -> Option<Node> {
        let is_whole = match &scan.access {
            Access::Full => true,
            Access::Range { prefix, lower, upper, .. } => {
                prefix.is_empty() && lower.is_none() && upper.is_none()
            }
            Access::Seek { .. } | Access::Points { .. } => false,
        };
        // A scan with lock hints must lock the rows each time that it reads them.
        let ScanHints { path, database, .. } = scan.hints;
        let only_path = ScanHints { path, database, ..ScanHints::default() };
        if !is_whole
            || !database.serve_read_committed()
            || scan.hints != only_path
            || matches!(scan.hints.path, Path::Seek(_))
        {
            return None;
        }
        let mut conjuncts = Vec::new();
        split(scan.residual.clone()?, &mut conjuncts);
        let own: Registers = scan.columns.iter().map(|c| c.1).collect();
        let (mut keys, mut below, mut rest) = (Vec::new(), Vec::new(), Vec::new());
        for conjunct in conjuncts {
            if self.is_closed(&conjunct, &own) {
                below.push(conjunct);
                continue;
            }
            match key(conjunct, &own) {
                Ok(pair) => keys.push(pair),
                Err(conjunct) => rest.push(*conjunct),
            }
        }
        if keys.is_empty() {
            return None;
        }
        let residual = join_conjuncts(below);
        let input = Scan { predicate: residual.clone(), residual, ..scan.clone() };
        let input = Node::Scan(Box::new(input));
        let live = walk::live(&input);
        let (number, rest) = (self.next_once(), join_conjuncts(rest));
        Some(Node::Spool(Box::new(Spool { number, input, keys, rest, live })))
    }

    /// Returns whether a conjunct has the same value for a row throughout the statement, and cannot
    /// fail.
    fn is_closed(&self, conjunct: &Expr, own: &Registers) -> bool {
        let mut reads_variable = false;
        walk::visit(conjunct, &mut |e| {
            reads_variable |= matches!(e.kind, ExprKind::Variable(_));
        });
        !walk::has_subquery(conjunct)
            && walk::reads(conjunct).is_subset(own)
            && !is_volatile(conjunct)
            && cannot_fail(conjunct)
            && !(self.assigns && reads_variable)
    }
}

/// Splits `outside = own`.
fn key(conjunct: Expr, own: &Registers) -> Result<(Expr, Expr), Box<Expr>> {
    let ExprKind::Compare(CompareOp::Equal, collation, pair) = &conjunct.kind else {
        return Err(Box::new(conjunct));
    };
    let collation = *collation;
    let is_plain = |e: &Expr| !walk::has_subquery(e) && !is_volatile(e) && cannot_fail(e);
    let is_own = |e: &Expr| {
        let read = walk::reads(e);
        !read.is_empty() && read.is_subset(own)
    };
    let is_outside = |e: &Expr| walk::reads(e).is_disjoint(own);
    let (a, b) = (&pair.0, &pair.1);
    let (outside, mine) = match (is_plain(a) && is_plain(b), is_own(a), is_own(b)) {
        (true, false, true) if is_outside(a) => (a, b),
        (true, true, false) if is_outside(b) => (b, a),
        _ => return Err(Box::new(conjunct)),
    };
    let (mut outside, mut mine) = (outside.clone(), mine.clone());
    outside.ty.collation = collation;
    mine.ty.collation = collation;
    Ok((outside, mine))
}
