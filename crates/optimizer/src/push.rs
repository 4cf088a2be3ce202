//! Predicate pushdown: walks top down through a tree with the conjuncts that its rows must satisfy.
//! Each conjunct is placed as deep as possible, and each operator is optimized on the way.

use types::value::ColumnType;
use types::{Collation, DataType, Value};

use super::Optimizer;
use super::attach::{Sides, attach};
use super::conjunct::{filter, is_volatile, part, rejects_null, split, treats_equals_alike};
use super::extreme;
use super::order;
use super::seek;
use super::simplify::{Verdict, simplify};
use super::stream;
use plan::children;
use plan::expr::{Expr, ExprKind, Register};
use plan::query::{Aggregate, Join, JoinKind, Node, Query, SetKind, SetOperation, Sort, Window};
use plan::walk::{self, Registers, Rewrite};

/// Maximum number of enclosing subqueries for which a scan optimizes the subqueries in its
/// conditions. A scan has its conditions twice, so the work for nested subqueries would double with
/// each level.
const LEVELS_IN_SCANS: u32 = 3;

impl Optimizer<'_> {
    /// Optimizes a node whose rows must satisfy the conjuncts. Of the registers in `all`, those in
    /// `outer` are filled before the node is opened; registers that are not in `all` are constants
    /// for it.
    pub(crate) fn push(
        &mut self,
        node: Node,
        conjuncts: Vec<Expr>,
        outer: &Registers,
        all: &Registers,
    ) -> Node {
        match node {
            Node::Scan(scan) => {
                let mut conjuncts = conjuncts;
                if simplify(&mut conjuncts) == Verdict::Never {
                    return Node::Empty;
                }
                let (asking, conjuncts): (Vec<_>, Vec<_>) = match self.level < LEVELS_IN_SCANS {
                    true => (Vec::new(), conjuncts),
                    false => conjuncts.into_iter().partition(walk::has_own_subquery),
                };
                filter(Node::Scan(Box::new(seek::choose(*scan, conjuncts))), asking)
            }
            Node::Filter(inner) => self.push_filter(*inner, conjuncts, outer, all),
            Node::Compute(inner) => self.push_compute(*inner, conjuncts, outer, all),
            Node::Sort(sort) => self.push_sort(*sort, conjuncts, outer, all),
            Node::Join(join) => match join.kind {
                JoinKind::Inner | JoinKind::Semi | JoinKind::Anti => {
                    self.push_inner(*join, conjuncts, outer, all)
                }
                JoinKind::Left => self.push_left(*join, conjuncts, outer, all),
                JoinKind::Full => self.push_full(*join, conjuncts, outer, all),
            },
            Node::Aggregate(aggregate) => self.push_aggregate(*aggregate, conjuncts, outer, all),
            Node::Window(window) => self.push_window(*window, conjuncts, outer, all),
            Node::Distinct(inner) => self.push_distinct(*inner, conjuncts, outer, all),
            Node::SetOperation(operation) => self.push_set(*operation, conjuncts),
            Node::OneRow => {
                let mut conjuncts = conjuncts;
                if simplify(&mut conjuncts) == Verdict::Never {
                    return Node::Empty;
                }
                filter(Node::OneRow, conjuncts)
            }
            Node::Empty => Node::Empty,
            Node::Bulk(mut scan) => {
                self.test_groups(&mut scan, &conjuncts);
                filter(Node::Bulk(scan), conjuncts)
            }
            Node::View(_)
            | Node::Values(_)
            | Node::Function(_)
            | Node::UserFunction(_)
            | Node::Limit(_)
            | Node::Recursive(_)
            | Node::Document(_)
            | Node::Spool(_)
            | Node::WorkTable(..) => {
                let node = self.inside(node, outer, all);
                filter(node, conjuncts)
            }
        }
    }

    /// Optimizes the input of an operator that no conjunct can pass.
    fn inside(&mut self, mut node: Node, outer: &Registers, all: &Registers) -> Node {
        if self.subqueries {
            children::expressions_mut(&mut node, &mut |e| self.expression(e));
        }
        children::inputs_mut(&mut node, &mut |input| {
            let taken = std::mem::replace(input, Node::Empty);
            *input = self.below(taken, Vec::new(), outer, all);
        });
        node
    }

    /// Optimizes an input whose registers may not be known above.
    fn below(
        &mut self,
        input: Node,
        conjuncts: Vec<Expr>,
        outer: &Registers,
        all: &Registers,
    ) -> Node {
        let mut all = all.clone();
        all.extend(&walk::fills(&input).0);
        self.push(input, conjuncts, outer, &all)
    }

    /// Optimizes the conditions of a filter: those that can become joins with its input do.
    pub(crate) fn conditions(&mut self, input: Node, predicate: Expr) -> (Node, Vec<Expr>) {
        let mut conjuncts = Vec::new();
        split(predicate, &mut conjuncts);
        if !self.subqueries {
            return (input, conjuncts);
        }
        let mut input = input;
        let mut kept = Vec::with_capacity(conjuncts.len());
        for conjunct in conjuncts {
            if !walk::has_own_subquery(&conjunct) {
                kept.push(conjunct);
                continue;
            }
            let (joined, left) = self.unnest(input, conjunct);
            input = joined;
            kept.extend(left);
        }
        let (mut asking, plain): (Vec<_>, Vec<_>) =
            kept.into_iter().partition(walk::has_own_subquery);
        if !asking.is_empty() {
            let mut exprs: Vec<&mut Expr> = asking.iter_mut().collect();
            input = self.unnest_scalars(input, &mut exprs, &plain);
        }
        asking.iter_mut().for_each(|e| self.expression(e));
        let mut kept = plain;
        kept.extend(asking);
        (input, kept)
    }

    fn push_filter(
        &mut self,
        (input, predicate): (Node, Expr),
        conjuncts: Vec<Expr>,
        outer: &Registers,
        all: &Registers,
    ) -> Node {
        let (input, own) = self.conditions(input, predicate);
        let mut merged = conjuncts;
        merged.extend(own);
        if !self.subqueries {
            return self.push(input, merged, outer, all);
        }
        self.below(input, merged, outer, all)
    }

    fn push_compute(
        &mut self,
        (input, mut computed): (Node, Vec<(Register, Expr)>),
        conjuncts: Vec<Expr>,
        outer: &Registers,
        all: &Registers,
    ) -> Node {
        let mut input = input;
        if self.subqueries {
            let mut exprs: Vec<&mut Expr> = computed.iter_mut().map(|c| &mut c.1).collect();
            input = self.unnest_scalars(input, &mut exprs, &[]);
            exprs.into_iter().for_each(|e| self.expression(e));
        }
        let made: Registers = computed.iter().map(|c| c.0).collect();
        let mut below = Vec::new();
        let mut above = Vec::new();
        for conjunct in conjuncts {
            if walk::reads(&conjunct).is_disjoint(&made) {
                below.push(conjunct);
            } else if let Some(conjunct) = substituted(&conjunct, &computed) {
                below.push(conjunct);
            } else {
                above.push(conjunct);
            }
        }
        if let Node::Bulk(scan) = &mut input {
            self.test_groups_below(scan, &above, &computed);
        }
        let input = self.below(input, below, outer, all);
        filter(Node::Compute(Box::new((input, computed))), above)
    }

    fn push_sort(
        &mut self,
        sort: Sort,
        conjuncts: Vec<Expr>,
        outer: &Registers,
        all: &Registers,
    ) -> Node {
        let Sort { input, mut keys, limit, .. } = sort;
        keys.iter_mut().for_each(|k| self.expression(&mut k.expr));
        let (below, above) =
            if limit.is_none() { (conjuncts, Vec::new()) } else { (Vec::new(), conjuncts) };
        let input = self.below(input, below, outer, all);
        filter(order::sort(input, keys, limit), above)
    }

    fn push_left(
        &mut self,
        mut join: Join,
        conjuncts: Vec<Expr>,
        outer: &Registers,
        all: &Registers,
    ) -> Node {
        let right_fills = walk::fills(&join.right).0;
        if conjuncts.iter().any(|c| rejects_null(c, &right_fills)) {
            join.kind = JoinKind::Inner;
            return self.push_inner(join, conjuncts, outer, all);
        }
        let Join { left, right, on, .. } = join;
        let mut all = all.clone();
        all.extend(&walk::fills(&left).0);
        all.extend(&right_fills);
        let mut readable = outer.clone();
        readable.extend(&walk::fills(&left).0);
        let (above, conjuncts): (Vec<_>, Vec<_>) = conjuncts.into_iter().partition(is_volatile);
        let (below, rest) = part(conjuncts, &readable, &all);
        let left = self.push(left, below, outer, &all);
        let mut on_conjuncts = Vec::new();
        if let Some(on) = on {
            split(on, &mut on_conjuncts);
        }
        on_conjuncts.iter_mut().for_each(|c| self.expression(c));
        // Conjuncts that read only the right side decide which of its rows match.
        let mut own = outer.clone();
        own.extend(&right_fills);
        let (inside, on_conjuncts) = part(on_conjuncts, &own, &all);
        let live = walk::live(&right).registers;
        let right = filling(self.push(right, inside, &readable, &all), &live);
        let sides = Sides { left, right };
        let joined = attach(JoinKind::Left, sides, on_conjuncts, outer, &all, self.hints);
        filter(filter(joined, rest), above)
    }

    fn push_full(
        &mut self,
        join: Join,
        conjuncts: Vec<Expr>,
        outer: &Registers,
        all: &Registers,
    ) -> Node {
        let (left_fills, right_fills) = (walk::fills(&join.left).0, walk::fills(&join.right).0);
        let rejects = |side: &Registers| conjuncts.iter().any(|c| rejects_null(c, side));
        if rejects(&left_fills) && rejects(&right_fills) {
            let join = Join { kind: JoinKind::Inner, method: super::JoinMethod::Loop, ..join };
            return self.push_inner(join, conjuncts, outer, all);
        }
        let Join { left, right, on, .. } = join;
        let live = [walk::live(&left).registers, walk::live(&right).registers];
        let left = filling(self.below(left, Vec::new(), outer, all), &live[0]);
        let right = filling(self.below(right, Vec::new(), outer, all), &live[1]);
        let mut all = all.clone();
        all.extend(&left_fills);
        all.extend(&right_fills);
        let mut on_conjuncts = Vec::new();
        if let Some(on) = on {
            split(on, &mut on_conjuncts);
        }
        on_conjuncts.iter_mut().for_each(|c| self.expression(c));
        let sides = Sides { left, right };
        filter(attach(JoinKind::Full, sides, on_conjuncts, outer, &all, self.hints), conjuncts)
    }

    /// A conjunct over grouping keys is true for all rows of a group or for none.
    fn push_aggregate(
        &mut self,
        aggregate: Aggregate,
        conjuncts: Vec<Expr>,
        outer: &Registers,
        all: &Registers,
    ) -> Node {
        let mut node = Node::Aggregate(Box::new(aggregate));
        if self.subqueries {
            children::expressions_mut(&mut node, &mut |e| self.expression(e));
        }
        let Node::Aggregate(mut aggregate) = node else {
            unreachable!(
                "the node was made of an aggregate, and its expressions do not change that"
            )
        };
        let plain = !aggregate.scalar && aggregate.sets.len() <= 1;
        let made = walk::fills(&Node::Aggregate(aggregate.clone())).0;
        let mut below = Vec::new();
        let mut above = Vec::new();
        for conjunct in conjuncts {
            let keys: Registers = aggregate.keys.iter().map(|k| k.1).collect();
            let read = walk::reads(&conjunct).intersection(&made);
            let whole: Vec<(Register, Expr)> =
                aggregate.keys.iter().map(|(e, r)| (*r, e.clone())).collect();
            let fits = plain
                && read.is_subset(&keys)
                && !read.is_empty()
                && treats_equals_alike(&conjunct, &read)
                && !walk::has_subquery(&conjunct);
            match fits.then(|| substituted(&conjunct, &whole)).flatten() {
                Some(conjunct) => below.push(conjunct),
                None => above.push(conjunct),
            }
        }
        let input = std::mem::replace(&mut aggregate.input, Node::Empty);
        aggregate.input = self.below(input, below, outer, all);
        extreme::shorten(&mut aggregate);
        filter(Node::Aggregate(aggregate), above)
    }

    /// A conjunct over columns that all calls partition by removes whole partitions.
    fn push_window(
        &mut self,
        window: Window,
        conjuncts: Vec<Expr>,
        outer: &Registers,
        all: &Registers,
    ) -> Node {
        let mut node = Node::Window(Box::new(window));
        if self.subqueries {
            children::expressions_mut(&mut node, &mut |e| self.expression(e));
        }
        let Node::Window(mut window) = node else {
            unreachable!("the node was made of a window, and its expressions do not change that")
        };
        let mut shared: Option<Registers> = None;
        for call in &window.calls {
            let bare = call.partition.iter().filter_map(|e| match e.kind {
                ExprKind::Column(register) => Some(register),
                _ => None,
            });
            let keys: Registers = bare.collect();
            shared = Some(shared.map_or_else(|| keys.clone(), |s| s.intersection(&keys)));
        }
        let shared = shared.unwrap_or_default();
        let made = walk::fills(&window.input).0;
        let results: Registers = window.calls.iter().map(|c| c.register).collect();
        let (below, above): (Vec<_>, Vec<_>) = conjuncts.into_iter().partition(|c| {
            let read = walk::reads(c);
            let own = read.intersection(&made);
            !own.is_empty()
                && own.is_subset(&shared)
                && treats_equals_alike(c, &own)
                && read.is_disjoint(&results)
                && !walk::has_subquery(c)
                && !is_volatile(c)
        });
        let input = std::mem::replace(&mut window.input, Node::Empty);
        window.input = self.below(input, below, outer, all);
        stream::settle(&mut window);
        filter(Node::Window(window), above)
    }

    /// A conjunct over the columns of DISTINCT removes all of a set of equal rows or none.
    fn push_distinct(
        &mut self,
        (input, mut keys): (Node, Vec<Expr>),
        conjuncts: Vec<Expr>,
        outer: &Registers,
        all: &Registers,
    ) -> Node {
        keys.iter_mut().for_each(|e| self.expression(e));
        let bare: Registers = keys
            .iter()
            .filter_map(|e| match e.kind {
                ExprKind::Column(register) => Some(register),
                _ => None,
            })
            .collect();
        let made = walk::fills(&input).0;
        let (below, above): (Vec<_>, Vec<_>) = conjuncts.into_iter().partition(|c| {
            let read = walk::reads(c).intersection(&made);
            read.is_subset(&bare)
                && treats_equals_alike(c, &read)
                && !walk::has_subquery(c)
                && !is_volatile(c)
        });
        let input = self.below(input, below, outer, all);
        if order::is_unique(&input, &bare) {
            return filter(input, above);
        }
        filter(Node::Distinct(Box::new((input, keys))), above)
    }

    /// A conjunct over the result is pushed into both queries, over their columns.
    fn push_set(&mut self, mut operation: SetOperation, conjuncts: Vec<Expr>) -> Node {
        let keeps_all = operation.kind == SetKind::UnionAll;
        let made: Registers = operation.registers.iter().copied().collect();
        let alike = |conjunct: &Expr| treats_equals_alike(conjunct, &made);
        let mut above = Vec::new();
        for conjunct in conjuncts {
            let of = |query: &Query| {
                let columns = operation.registers.iter().zip(&query.output);
                let columns: Vec<_> = columns.map(|(r, c)| (*r, c.expr.clone())).collect();
                substituted(&conjunct, &columns)
            };
            match (of(&operation.left), of(&operation.right)) {
                (Some(left), Some(right))
                    if !walk::has_subquery(&conjunct) && (keeps_all || alike(&conjunct)) =>
                {
                    add_filter(&mut operation.left, left);
                    add_filter(&mut operation.right, right);
                }
                _ => above.push(conjunct),
            }
        }
        for query in [&mut operation.left, &mut operation.right] {
            self.whole(query);
        }
        filter(Node::SetOperation(Box::new(operation)), above)
    }
}

/// Adds to an empty side of an outer join the registers that it filled: the join sets them to NULL
/// where there is no row, and otherwise they may hold values of an earlier statement.
fn filling(node: Node, registers: &[Register]) -> Node {
    let filled = walk::fills(&node).0;
    let ty =
        ColumnType { data_type: DataType::Int, collation: Collation::default(), nullable: true };
    let null = || Expr::new(ExprKind::Constant(Value::Null), ty);
    let lost = registers.iter().filter(|register| !filled.contains(**register));
    let lost: Vec<(Register, Expr)> = lost.map(|register| (*register, null())).collect();
    match lost.is_empty() {
        true => node,
        false => Node::Compute(Box::new((node, lost))),
    }
}

fn add_filter(query: &mut Query, conjunct: Expr) {
    let root = std::mem::replace(&mut query.root, Node::Empty);
    query.root = filter(root, vec![conjunct]);
}

/// Returns a conjunct with registers replaced by their expressions; `None` if an expression would
/// be evaluated twice that is expensive, volatile or may fail.
fn substituted(conjunct: &Expr, computed: &[(Register, Expr)]) -> Option<Expr> {
    if is_volatile(conjunct) {
        return None;
    }
    let mut expr = conjunct.clone();
    let mut fits = true;
    walk::rewrite(&mut expr, &mut |e| {
        let subquery = matches!(
            e.kind,
            ExprKind::ScalarSubquery(_) | ExprKind::Exists(_) | ExprKind::Quantified(_)
        );
        fits &= !subquery;
        let ExprKind::Column(register) = e.kind else { return Rewrite::Enter };
        let Some((_, value)) = computed.iter().find(|c| c.0 == register) else {
            return Rewrite::Done;
        };
        let cheap = matches!(
            value.kind,
            ExprKind::Column(_) | ExprKind::Constant(_) | ExprKind::Variable(_)
        );
        fits &= cheap;
        let ty = e.ty;
        *e = value.clone();
        e.ty.collation = ty.collation;
        Rewrite::Done
    });
    fits.then_some(expr)
}
