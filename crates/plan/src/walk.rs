//! Walks over bound trees: which registers they read and fill, and rewriting of expressions.

use smallvec::SmallVec;

use crate::expr::{Expr, ExprKind, Register};
use crate::function::is_volatile;
use crate::query::{Access, AggregateCall, JoinKind, Live, Node, Query, Scan, SortKey, WindowCall};

/// A set of registers.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Registers(SmallVec<[u64; 2]>);

impl Registers {
    /// Adds a register to the set.
    pub fn insert(&mut self, register: Register) {
        let word = register.0 as usize / 64;
        if word >= self.0.len() {
            self.0.resize(word + 1, 0);
        }
        self.0[word] |= 1 << (register.0 % 64);
    }

    /// Returns whether the register is in the set.
    pub fn contains(&self, register: Register) -> bool {
        self.0.get(register.0 as usize / 64).is_some_and(|w| w & (1 << (register.0 % 64)) != 0)
    }

    /// Adds all registers of another set.
    pub fn extend(&mut self, other: &Self) {
        if other.0.len() > self.0.len() {
            self.0.resize(other.0.len(), 0);
        }
        self.0.iter_mut().zip(&other.0).for_each(|(a, b)| *a |= b);
    }

    /// Returns the registers that are in both sets.
    #[must_use]
    pub fn intersection(&self, other: &Self) -> Self {
        Self(self.0.iter().zip(&other.0).map(|(a, b)| a & b).collect())
    }

    /// Returns the registers that are not in `other`.
    #[must_use]
    pub fn difference(&self, other: &Self) -> Self {
        let of = |i: usize| other.0.get(i).copied().unwrap_or(0);
        Self(self.0.iter().enumerate().map(|(i, w)| w & !of(i)).collect())
    }

    /// Returns whether the set is empty.
    pub fn is_empty(&self) -> bool {
        self.0.iter().all(|w| *w == 0)
    }

    /// Returns whether every register is in `other`.
    pub fn is_subset(&self, other: &Self) -> bool {
        self.0.iter().enumerate().all(|(i, w)| w & !other.0.get(i).copied().unwrap_or(0) == 0)
    }

    /// Returns whether no register is in `other`.
    pub fn is_disjoint(&self, other: &Self) -> bool {
        self.0.iter().zip(&other.0).all(|(a, b)| a & b == 0)
    }
}

impl FromIterator<Register> for Registers {
    fn from_iter<I: IntoIterator<Item = Register>>(registers: I) -> Self {
        let mut set = Self::default();
        registers.into_iter().for_each(|r| set.insert(r));
        set
    }
}

/// Returns the registers that an expression reads, those of its subqueries included.
pub fn reads(expr: &Expr) -> Registers {
    let mut set = Registers::default();
    visit(expr, &mut |e| {
        if let ExprKind::Column(register) = e.kind {
            set.insert(register);
        }
    });
    set
}

/// Returns a set with what expressions read added to it.
pub fn with<'e>(needed: &Registers, exprs: impl IntoIterator<Item = &'e Expr>) -> Registers {
    let mut all = needed.clone();
    exprs.into_iter().for_each(|expr| all.extend(&reads(expr)));
    all
}

/// Returns whether an expression runs queries: it contains a subquery or a call of a user's
/// function.
pub fn has_subquery(expr: &Expr) -> bool {
    let mut found = has_own_subquery(expr);
    visit(expr, &mut |e| found |= matches!(e.kind, ExprKind::CallUser(_)));
    found
}

/// Returns whether an expression contains a subquery.
pub fn has_own_subquery(expr: &Expr) -> bool {
    let mut found = false;
    visit(expr, &mut |e| {
        found |= matches!(
            e.kind,
            ExprKind::ScalarSubquery(_) | ExprKind::Exists(_) | ExprKind::Quantified(_)
        );
    });
    found
}

/// Calls `see` for an expression and all expressions in it, those of subqueries included.
pub fn visit(expr: &Expr, see: &mut dyn FnMut(&Expr)) {
    see(expr);
    operands(expr, &mut |operand| visit(operand, see));
    match &expr.kind {
        ExprKind::ScalarSubquery(query) | ExprKind::Exists(query) => visit_query(query, see),
        ExprKind::Quantified(quantified) => visit_query(&quantified.query, see),
        _ => {}
    }
}

/// Calls `see` for each operand of an expression: one step down, and none into subqueries.
pub fn operands<'e>(expr: &'e Expr, see: &mut dyn FnMut(&'e Expr)) {
    match &expr.kind {
        ExprKind::Constant(_)
        | ExprKind::Variable(_)
        | ExprKind::Column(_)
        | ExprKind::NextValue(_)
        | ExprKind::ScalarSubquery(_)
        | ExprKind::Exists(_) => {}
        ExprKind::Negate(e)
        | ExprKind::BitNot(e)
        | ExprKind::Not(e)
        | ExprKind::IsNull(e)
        | ExprKind::Collate(e)
        | ExprKind::Once(_, e) => see(e),
        ExprKind::Arithmetic(_, pair) | ExprKind::Compare(_, _, pair) | ExprKind::Let(_, pair) => {
            see(&pair.0);
            see(&pair.1);
        }
        ExprKind::And(list) | ExprKind::Or(list) | ExprKind::Call(_, list) => {
            list.iter().for_each(see);
        }
        ExprKind::InList(_, operand, list) => {
            see(operand);
            list.iter().for_each(see);
        }
        ExprKind::Like(_, like) => {
            see(&like.text);
            see(&like.pattern);
            like.escape.iter().for_each(see);
        }
        ExprKind::Case(branches, otherwise) => {
            for (condition, result) in branches {
                see(condition);
                see(result);
            }
            otherwise.iter().for_each(|e| see(e));
        }
        ExprKind::Convert(conversion) => {
            see(&conversion.operand);
            conversion.style.iter().for_each(see);
        }
        ExprKind::CallUser(call) => call.arguments.iter().for_each(see),
        ExprKind::Quantified(quantified) => see(&quantified.operand),
    }
}

/// Calls `see` for every expression of a query.
pub fn visit_query(query: &Query, see: &mut dyn FnMut(&Expr)) {
    visit_node(&query.root, see);
    query.output.iter().for_each(|c| visit(&c.expr, see));
}

fn visit_keys(keys: &[SortKey], see: &mut dyn FnMut(&Expr)) {
    keys.iter().for_each(|k| visit(&k.expr, see));
}

fn visit_aggregate(call: &AggregateCall, see: &mut dyn FnMut(&Expr)) {
    call.arguments.iter().chain(&call.filter).for_each(|e| visit(e, see));
    visit_keys(&call.order, see);
}

fn visit_window(call: &WindowCall, see: &mut dyn FnMut(&Expr)) {
    call.arguments.iter().chain(&call.partition).for_each(|e| visit(e, see));
    visit_keys(&call.order, see);
}

fn visit_scan(scan: &Scan, see: &mut dyn FnMut(&Expr)) {
    scan.predicate.iter().chain(&scan.residual).for_each(|e| visit(e, see));
    match &scan.access {
        Access::Full => {}
        Access::Seek { key, .. } => key.iter().for_each(|e| visit(e, see)),
        Access::Points { prefix, points, .. } => {
            let points = points.iter().filter_map(crate::query::Point::expr);
            prefix.iter().chain(points).for_each(|e| visit(e, see));
        }
        Access::Range { prefix, lower, upper, .. } => {
            let bounds = lower.iter().chain(upper).map(|(e, _)| e);
            prefix.iter().chain(bounds).for_each(|e| visit(e, see));
        }
    }
}

/// Calls `see` for every expression of an operator and its inputs.
pub fn visit_node(node: &Node, see: &mut dyn FnMut(&Expr)) {
    match node {
        Node::OneRow | Node::Empty | Node::Bulk(_) | Node::WorkTable(..) => {}
        Node::Scan(scan) => visit_scan(scan, see),
        Node::View(view) => view.arguments.iter().for_each(|e| visit(e, see)),
        Node::Values(values) => values.rows.iter().flatten().for_each(|e| visit(e, see)),
        Node::Function(function) => function.arguments.iter().for_each(|e| visit(e, see)),
        Node::UserFunction(function) => function.arguments.iter().for_each(|e| visit(e, see)),
        Node::Filter(filter) => {
            visit_node(&filter.0, see);
            visit(&filter.1, see);
        }
        Node::Join(join) => {
            visit_node(&join.left, see);
            visit_node(&join.right, see);
            join.on.iter().for_each(|e| visit(e, see));
            if let crate::query::JoinMethod::Hash(keys) = &join.method {
                for (left, right) in keys {
                    visit(left, see);
                    visit(right, see);
                }
            }
        }
        Node::Aggregate(aggregate) => {
            visit_node(&aggregate.input, see);
            aggregate.keys.iter().for_each(|(e, _)| visit(e, see));
            aggregate.aggregates.iter().for_each(|call| visit_aggregate(call, see));
        }
        Node::Window(window) => {
            visit_node(&window.input, see);
            window.calls.iter().for_each(|call| visit_window(call, see));
        }
        Node::Sort(sort) => {
            visit_node(&sort.input, see);
            visit_keys(&sort.keys, see);
            sort.limit.iter().for_each(|e| visit(e, see));
        }
        Node::Distinct(distinct) => {
            visit_node(&distinct.0, see);
            distinct.1.iter().for_each(|e| visit(e, see));
        }
        Node::Limit(limit) => {
            visit_node(&limit.input, see);
            limit.offset.iter().chain(&limit.count).for_each(|e| visit(e, see));
            limit.ties.iter().for_each(|keys| visit_keys(keys, see));
        }
        Node::SetOperation(operation) => {
            visit_query(&operation.left, see);
            visit_query(&operation.right, see);
        }
        Node::Recursive(recursive) => {
            visit_query(&recursive.anchor, see);
            visit_query(&recursive.step, see);
        }
        Node::Document(document) => visit_query(&document.query, see),
        Node::Spool(spool) => {
            visit_node(&spool.input, see);
            for (outer, own) in &spool.keys {
                visit(outer, see);
                visit(own, see);
            }
            spool.rest.iter().for_each(|e| visit(e, see));
        }
        Node::Compute(compute) => {
            visit_node(&compute.0, see);
            compute.1.iter().for_each(|(_, e)| visit(e, see));
        }
    }
}

/// Returns the registers and the scan rows that an operator passes up.
pub fn fills(node: &Node) -> (Registers, Vec<u32>) {
    let mut live = Live::default();
    collect(node, &mut live);
    (live.registers.iter().copied().collect(), live.rows)
}

/// Returns all registers that an operator or any operator below it fills, passed up or not.
pub fn fills_all(node: &Node) -> Registers {
    let mut set = Registers::default();
    let mut nodes = vec![node];
    while let Some(node) = nodes.pop() {
        set.extend(&fills(node).0);
        super::children::inputs(node, &mut |input| nodes.push(input));
    }
    set
}

/// Like [`fills`], as the list that a buffering operator stores.
pub fn live(node: &Node) -> Live {
    let mut live = Live::default();
    collect(node, &mut live);
    live.registers.sort_unstable();
    live.registers.dedup();
    live
}

fn collect(node: &Node, live: &mut Live) {
    let out = &mut live.registers;
    match node {
        Node::OneRow | Node::Empty => {}
        Node::Scan(scan) => {
            out.extend(scan.columns.iter().map(|c| c.1));
            live.rows.push(scan.row);
        }
        Node::View(view) => out.extend(view.columns.iter().map(|c| c.1)),
        Node::Values(values) => out.extend(&values.registers),
        Node::Function(function) => out.extend(&function.registers),
        Node::Bulk(scan) => out.extend(scan.columns.iter().map(|c| c.1)),
        Node::UserFunction(function) => out.extend(&function.registers),
        Node::WorkTable(_, registers) => out.extend(registers),
        Node::Filter(filter) => collect(&filter.0, live),
        Node::Join(join) => {
            collect(&join.left, live);
            if !matches!(join.kind, JoinKind::Semi | JoinKind::Anti) {
                collect(&join.right, live);
            }
        }
        Node::Aggregate(aggregate) => {
            out.extend(aggregate.keys.iter().map(|k| k.1));
            out.extend(aggregate.aggregates.iter().map(|a| a.register));
            out.extend(aggregate.grouping_id);
        }
        Node::Window(window) => {
            out.extend(window.calls.iter().map(|c| c.register));
            collect(&window.input, live);
        }
        Node::Sort(sort) => collect(&sort.input, live),
        // A spooled row no longer refers to a row in storage.
        Node::Spool(spool) => out.extend(self::live(&spool.input).registers),
        Node::Distinct(distinct) => collect(&distinct.0, live),
        Node::Limit(limit) => collect(&limit.input, live),
        Node::SetOperation(operation) => out.extend(&operation.registers),
        Node::Recursive(recursive) => out.extend(&recursive.registers),
        Node::Document(document) => out.push(document.register),
        Node::Compute(compute) => {
            out.extend(compute.1.iter().map(|c| c.0));
            collect(&compute.0, live);
        }
    }
}

/// Rewrites an expression from the root down: an expression that `change` replaces is not entered.
/// Subqueries are entered by `change` itself, if at all.
pub fn rewrite(expr: &mut Expr, change: &mut dyn FnMut(&mut Expr) -> Rewrite) {
    if change(expr) == Rewrite::Done {
        return;
    }
    match &mut expr.kind {
        ExprKind::Constant(_)
        | ExprKind::Variable(_)
        | ExprKind::Column(_)
        | ExprKind::NextValue(_) => {}
        ExprKind::Negate(e)
        | ExprKind::BitNot(e)
        | ExprKind::Not(e)
        | ExprKind::IsNull(e)
        | ExprKind::Collate(e)
        | ExprKind::Once(_, e) => rewrite(e, change),
        ExprKind::Arithmetic(_, pair) | ExprKind::Compare(_, _, pair) | ExprKind::Let(_, pair) => {
            rewrite(&mut pair.0, change);
            rewrite(&mut pair.1, change);
        }
        ExprKind::And(list) | ExprKind::Or(list) | ExprKind::Call(_, list) => {
            list.iter_mut().for_each(|e| rewrite(e, change));
        }
        ExprKind::InList(_, operand, list) => {
            rewrite(operand, change);
            list.iter_mut().for_each(|e| rewrite(e, change));
        }
        ExprKind::Like(_, like) => {
            rewrite(&mut like.text, change);
            rewrite(&mut like.pattern, change);
            like.escape.iter_mut().for_each(|e| rewrite(e, change));
        }
        ExprKind::Case(branches, otherwise) => {
            for (condition, result) in branches {
                rewrite(condition, change);
                rewrite(result, change);
            }
            otherwise.iter_mut().for_each(|e| rewrite(e, change));
        }
        ExprKind::Convert(conversion) => {
            rewrite(&mut conversion.operand, change);
            conversion.style.iter_mut().for_each(|e| rewrite(e, change));
        }
        ExprKind::CallUser(call) => call.arguments.iter_mut().for_each(|e| rewrite(e, change)),
        ExprKind::ScalarSubquery(_) | ExprKind::Exists(_) => {}
        ExprKind::Quantified(quantified) => rewrite(&mut quantified.operand, change),
    }
}

/// Rewrites the expressions of a subquery, and of the subqueries in it; see [`rewrite`].
pub fn rewrite_query(query: &mut Query, change: &mut dyn FnMut(&mut Expr) -> Rewrite) {
    rewrite_node(&mut query.root, change);
    query.output.iter_mut().for_each(|column| rewrite_all(&mut column.expr, change));
}

fn rewrite_node(node: &mut Node, change: &mut dyn FnMut(&mut Expr) -> Rewrite) {
    crate::children::expressions_mut(node, &mut |expr| rewrite_all(expr, change));
    crate::children::inputs_mut(node, &mut |input| rewrite_node(input, change));
}

/// Like [`rewrite`], but also enters subqueries.
fn rewrite_all(expr: &mut Expr, change: &mut dyn FnMut(&mut Expr) -> Rewrite) {
    rewrite(expr, &mut |expr| {
        let then = change(expr);
        match &mut expr.kind {
            ExprKind::ScalarSubquery(query) | ExprKind::Exists(query) => {
                rewrite_query(query, change);
            }
            ExprKind::Quantified(quantified) => rewrite_query(&mut quantified.query, change),
            _ => {}
        }
        then
    });
}

/// Whether [`rewrite`] continues inside an expression.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Rewrite {
    /// Continue with the operands.
    Enter,
    /// The operands stay as they are.
    Done,
}

/// Returns whether two expressions are the same computation; used to match GROUP BY keys and
/// DISTINCT. Expressions with subqueries are never the same.
pub fn same(a: &Expr, b: &Expr) -> bool {
    same_under(a, b, &[])
}

/// Like [`same`], below `Let` operators: `named` pairs the registers that each side introduced.
fn same_under(a: &Expr, b: &Expr, named: &[(Register, Register)]) -> bool {
    use ExprKind as K;
    let same = |x: &Expr, y: &Expr| same_under(x, y, named);
    let pair = |x: &(Expr, Expr), y: &(Expr, Expr)| same(&x.0, &y.0) && same(&x.1, &y.1);
    let all =
        |x: &[Expr], y: &[Expr]| x.len() == y.len() && x.iter().zip(y).all(|(x, y)| same(x, y));
    let either = |x: Option<&Expr>, y: Option<&Expr>| match (x, y) {
        (Some(x), Some(y)) => same(x, y),
        (None, None) => true,
        _ => false,
    };
    if a.ty.data_type != b.ty.data_type {
        return false;
    }
    match (&a.kind, &b.kind) {
        (K::Constant(x), K::Constant(y)) => x == y,
        (K::Variable(x), K::Variable(y)) => x == y,
        (K::Column(x), K::Column(y)) => x == y || named.contains(&(*x, *y)),
        (K::Negate(x), K::Negate(y))
        | (K::BitNot(x), K::BitNot(y))
        | (K::Not(x), K::Not(y))
        | (K::IsNull(x), K::IsNull(y)) => same(x, y),
        (K::Collate(x), K::Collate(y)) => a.ty.collation == b.ty.collation && same(x, y),
        (K::Arithmetic(o, x), K::Arithmetic(p, y)) => o == p && pair(x, y),
        (K::Compare(o, c, x), K::Compare(p, d, y)) => o == p && c == d && pair(x, y),
        (K::And(x), K::And(y)) | (K::Or(x), K::Or(y)) => all(x, y),
        // The result may depend on the session, but is constant within one statement.
        (K::Call(f, x), K::Call(g, y)) => f.name == g.name && !is_volatile(f.name) && all(x, y),
        (K::CallUser(x), K::CallUser(y)) => {
            x.module.id == y.module.id && all(&x.arguments, &y.arguments)
        }
        (K::InList(c, x, l), K::InList(d, y, m)) => c == d && same(x, y) && all(l, m),
        (K::Like(c, x), K::Like(d, y)) => {
            c == d
                && same(&x.text, &y.text)
                && same(&x.pattern, &y.pattern)
                && either(x.escape.as_ref(), y.escape.as_ref())
        }
        (K::Case(x, e), K::Case(y, f)) => {
            x.len() == y.len()
                && x.iter().zip(y).all(|(x, y)| pair(x, y))
                && either(e.as_deref(), f.as_deref())
        }
        (K::Let(x, of), K::Let(y, other)) => {
            let mut named = named.to_vec();
            named.push((*x, *y));
            same(&of.0, &other.0) && same_under(&of.1, &other.1, &named)
        }
        (K::Convert(x), K::Convert(y)) => {
            x.mode == y.mode
                && same(&x.operand, &y.operand)
                && either(x.style.as_ref(), y.style.as_ref())
        }
        _ => false,
    }
}
