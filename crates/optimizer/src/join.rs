//! Inner joins: their inputs and predicates are collected in a pool, from which a join order and
//! the methods are chosen by cost: exactly, by dynamic programming over sets of inputs, up to
//! [`INPUTS_EXACT_MAX`] of them; greedily beyond.
//!
//! Semi-joins over the pool are removed first, and added back where they eliminate most rows at
//! least cost: directly above the single input that they restrict, or above all.

use super::attach::{Sides, attach};
use super::conjunct::{filter, is_volatile, node_reads, part, split};
use super::estimate::{estimate, hash_cost};
use super::join_order::{How, Plan, Predicate, Relation, search};
use super::simplify::{Verdict, add_implied, implied_by_or, simplify};
use super::{Optimizer, conjunct};
use plan::expr::{CompareOp, Expr, ExprKind};
use plan::query::{Join, JoinKind, JoinMethod, Node};
use plan::walk::{self, Registers};

/// Maximum number of inputs for which all join orders are compared.
pub(crate) const INPUTS_EXACT_MAX: usize = 10;
/// Maximum number of inputs in a search, one bit each; more are joined as written.
const INPUTS_MAX: usize = 64;

/// The inputs and predicates of a tree of inner joins.
#[derive(Default)]
struct Pool {
    inputs: Vec<Node>,
    conjuncts: Vec<Expr>,
    semis: Vec<Semi>,
}

/// A semi- or anti-join without its left side.
struct Semi {
    kind: JoinKind,
    right: Node,
    on: Vec<Expr>,
    /// Whether the right side is already optimized.
    ready: bool,
}

impl Optimizer<'_> {
    /// Optimizes a tree of inner joins and semi-joins, with the conjuncts above it.
    pub(crate) fn push_inner(
        &mut self,
        join: Join,
        conjuncts: Vec<Expr>,
        outer: &Registers,
        all: &Registers,
    ) -> Node {
        let mut pool = Pool { conjuncts, ..Pool::default() };
        self.flatten(Node::Join(Box::new(join)), &mut pool);
        let mut all = all.clone();
        pool.inputs.iter().for_each(|input| all.extend(&walk::fills(input).0));
        add_implied(&mut pool.conjuncts);
        if simplify(&mut pool.conjuncts) == Verdict::Never {
            return Node::Empty;
        }
        // A volatile expression is evaluated once per joined row.
        let conjuncts = std::mem::take(&mut pool.conjuncts);
        let (above, conjuncts) = conjuncts.into_iter().partition(is_volatile);
        pool.conjuncts = conjuncts;
        let node = if pool.inputs.len() > INPUTS_MAX {
            self.as_written(pool, outer, &all)
        } else {
            self.order(pool, outer, &all)
        };
        filter(node, above)
    }

    /// Collects the inputs of a tree of joins. An outer join whose optional side a conjunct rejects
    /// becomes an inner one.
    fn flatten(&mut self, node: Node, pool: &mut Pool) {
        match node {
            Node::Join(mut join) => {
                let kept = matches!(join.kind, JoinKind::Left | JoinKind::Full);
                if !kept && let JoinMethod::Hash(keys) = &mut join.method {
                    // A join that has its method already.
                    let mut on: Vec<Expr> = std::mem::take(keys).into_iter().map(equal).collect();
                    on.extend(join.on.take());
                    join.on = conjunct::join_conjuncts(on);
                    join.method = JoinMethod::Loop;
                }
                self.flatten_join(*join, pool);
            }
            Node::Filter(inner) if matches!(inner.0, Node::Join(_) | Node::Scan(_)) => {
                let (input, predicate) = *inner;
                let (input, kept) = self.conditions(input, predicate);
                pool.conjuncts.extend(kept);
                self.flatten(input, pool);
            }
            other => pool.inputs.push(other),
        }
    }

    fn flatten_join(&mut self, join: Join, pool: &mut Pool) {
        let missing = |node: &Node| walk::fills(node).0;
        let rejected =
            |node: &Node| pool.conjuncts.iter().any(|c| conjunct::rejects_null(c, &missing(node)));
        let inner = match join.kind {
            JoinKind::Inner => true,
            JoinKind::Left => !pool.conjuncts.is_empty() && rejected(&join.right),
            JoinKind::Full => {
                !pool.conjuncts.is_empty() && rejected(&join.right) && rejected(&join.left)
            }
            JoinKind::Semi | JoinKind::Anti => {
                let mut on = Vec::new();
                if let Some(predicate) = join.on {
                    split(predicate, &mut on);
                }
                pool.semis.push(Semi { kind: join.kind, right: join.right, on, ready: false });
                return self.flatten(join.left, pool);
            }
        };
        if !inner {
            return pool.inputs.push(Node::Join(Box::new(join)));
        }
        if let Some(on) = join.on {
            let mut conjuncts = Vec::new();
            split(on, &mut conjuncts);
            conjuncts.iter_mut().for_each(|c| self.expression(c));
            pool.conjuncts.extend(conjuncts);
        }
        self.flatten(join.left, pool);
        self.flatten(join.right, pool);
    }

    /// Joins too many inputs in the order in which they are written: each condition is added to the
    /// first join that has all its columns.
    fn as_written(&mut self, pool: Pool, outer: &Registers, all: &Registers) -> Node {
        let mut left = pool.conjuncts;
        let mut known = outer.clone();
        let mut joined: Option<Node> = None;
        for input in pool.inputs {
            let mut own = outer.clone();
            let fills = walk::fills(&input).0;
            own.extend(&fills);
            let (inside, rest) = part(left, &own, all);
            let right = self.push(input, inside, &known, all);
            known.extend(&fills);
            let (on, rest) = part(rest, &known, all);
            left = rest;
            joined = Some(match joined {
                None => filter(right, on),
                Some(node) => {
                    let sides = Sides { left: node, right };
                    attach(JoinKind::Inner, sides, on, outer, all, self.hints)
                }
            });
        }
        let mut node = filter(joined.unwrap_or(Node::OneRow), left);
        for semi in pool.semis {
            node = self.attach_semi(node, semi, &known, all);
        }
        node
    }

    /// Chooses the order of a pool's inputs, and joins them.
    fn order(&mut self, mut pool: Pool, outer: &Registers, all: &Registers) -> Node {
        let fills: Vec<Registers> = pool.inputs.iter().map(|i| walk::fills(i).0).collect();
        let mut local: Vec<Vec<Expr>> = fills.iter().map(|_| Vec::new()).collect();
        let mut shared = Vec::new();
        let mut free = Vec::new();
        for conjunct in std::mem::take(&mut pool.conjuncts) {
            let read = walk::reads(&conjunct).intersection(all).difference(outer);
            let places = places_of(&read, &fills);
            match places {
                0 => free.push(conjunct),
                one if one.count_ones() == 1 => {
                    local[one.trailing_zeros() as usize].push(conjunct);
                }
                _ => {
                    for (place, own) in fills.iter().enumerate() {
                        if places >> place & 1 == 1 {
                            local[place].extend(implied_by_or(&conjunct, own, all));
                        }
                    }
                    shared.push((conjunct, places));
                }
            }
        }
        let mut relations = Vec::with_capacity(pool.inputs.len());
        for (place, input) in pool.inputs.into_iter().enumerate() {
            let wanted = node_reads(&input).intersection(all).difference(outer);
            let needs = places_of(&wanted.difference(&fills[place]), &fills);
            let mut known = outer.clone();
            known.extend(&wanted.difference(&fills[place]));
            let node = self.push(input, std::mem::take(&mut local[place]), &known, all);
            relations.push(Relation::new(node, fills[place].clone(), needs));
        }
        let mut all = all.clone();
        let mut semis = Vec::with_capacity(pool.semis.len());
        for semi in pool.semis {
            semis.extend(self.drive(semi, &mut relations, &mut shared, outer, &mut all));
        }
        let all = &all;
        let (early, late) = self.place_semis(semis, &relations, all);
        for (place, semi) in early {
            let relation = &mut relations[place];
            let node = std::mem::replace(&mut relation.node, Node::Empty);
            let mut known = outer.clone();
            known.extend(&relation.fills);
            let node = self.attach_semi(node, semi, &known, all);
            relation.replace(node);
        }
        let predicates: Vec<Predicate> = shared
            .into_iter()
            .map(|(expr, places)| Predicate::new(expr, places, &relations, all))
            .collect();
        let plan = search(&relations, &predicates, self.hints);
        let mut builder = Builder { relations, predicates, outer, all };
        builder.start(&plan, free);
        let mut node = builder.build(&plan, plan.whole());
        for semi in late {
            let mut known = outer.clone();
            known.extend(&walk::fills(&node).0);
            node = self.attach_semi(node, semi, &known, all);
        }
        node
    }

    /// Adds the right side of a semi-join to the inner joins, if its few values can drive an index
    /// seek on another input; otherwise returns the semi-join.
    fn drive(
        &mut self,
        mut semi: Semi,
        relations: &mut Vec<Relation>,
        shared: &mut Vec<(Expr, u64)>,
        outer: &Registers,
        all: &mut Registers,
    ) -> Option<Semi> {
        let own = walk::fills(&semi.right).0;
        let closed = node_reads(&semi.right).intersection(all).is_empty();
        if semi.kind != JoinKind::Semi || !closed || self.hints.force_order {
            return Some(semi);
        }
        let fills: Vec<Registers> = relations.iter().map(|r| r.fills.clone()).collect();
        let mut keys = Vec::with_capacity(semi.on.len());
        let mut places = 0;
        for conjunct in &semi.on {
            let Some((left, key)) = key_of(conjunct, &own) else { return Some(semi) };
            places |= places_of(&walk::reads(left).intersection(all), &fills);
            keys.push(key);
        }
        if places.count_ones() != 1 || relations.len() >= INPUTS_MAX {
            return Some(semi);
        }
        let relation = &relations[places.trailing_zeros() as usize];
        let Some(each) = super::attach::found_by_seek(&relation.node, &semi.on) else {
            return Some(semi);
        };
        let mut known = all.clone();
        known.extend(&own);
        let right = std::mem::replace(&mut semi.right, Node::Empty);
        let right = self.push(right, Vec::new(), outer, &known);
        let few = estimate(&right).rows;
        let by_hash = relation.estimate.cost() + hash_cost(relation.estimate.rows, few);
        if few * each >= by_hash {
            return Some(Semi { right, ready: true, ..semi });
        }
        *all = known;
        let place = relations.len();
        let fills = walk::fills(&right).0;
        let node = Node::Distinct(Box::new((right, keys)));
        relations.push(Relation::new(node, fills, 0));
        shared.extend(semi.on.into_iter().map(|c| (c, places | 1 << place)));
        None
    }

    /// Decides which semi-joins are placed above one input, by its index, and which above all.
    fn place_semis(
        &self,
        semis: Vec<Semi>,
        relations: &[Relation],
        all: &Registers,
    ) -> (Vec<(usize, Semi)>, Vec<Semi>) {
        let fills: Vec<Registers> = relations.iter().map(|r| r.fills.clone()).collect();
        let mut early = Vec::new();
        let mut late = Vec::new();
        for semi in semis {
            let mut read = node_reads(&semi.right).intersection(all);
            semi.on.iter().for_each(|e| read.extend(&walk::reads(e).intersection(all)));
            let places = places_of(&read, &fills);
            let single = relations.len() == 1 || places.count_ones() == 1;
            let place = places.trailing_zeros() as usize;
            if !single {
                late.push(semi);
            } else if relations.len() == 1 {
                early.push((0, semi));
            } else if is_selective(&semi, &relations[place]) {
                early.push((place, semi));
            } else {
                late.push(semi);
            }
        }
        (early, late)
    }

    /// Optimizes the right side of a semi-join and joins it to the left one.
    fn attach_semi(&mut self, left: Node, semi: Semi, known: &Registers, all: &Registers) -> Node {
        let Semi { kind, right, mut on, ready } = semi;
        let own = walk::fills(&right).0;
        let mut all = all.clone();
        all.extend(&own);
        if ready {
            let sides = Sides { left, right };
            return attach(kind, sides, on, &Registers::default(), &all, self.hints);
        }
        on.iter_mut().for_each(|c| self.expression(c));
        // Conjuncts that read only the right side are pushed into it.
        let (below, on) = part(on, &own, &all);
        let right = self.push(right, below, known, &all);
        attach(kind, Sides { left, right }, on, &Registers::default(), &all, self.hints)
    }
}

/// Splits an equality between the right side of a semi-join and the outside: returns the outer
/// operand and the right side's value.
fn key_of<'e>(conjunct: &'e Expr, own: &Registers) -> Option<(&'e Expr, Expr)> {
    let ExprKind::Compare(CompareOp::Equal, collation, pair) = &conjunct.kind else { return None };
    if walk::has_subquery(conjunct) {
        return None;
    }
    let inside = |e: &Expr| {
        let read = walk::reads(e);
        !read.is_empty() && read.is_subset(own)
    };
    let outside = |e: &Expr| walk::reads(e).is_disjoint(own);
    let (left, right) = match &**pair {
        (l, r) if outside(l) && inside(r) => (l, r),
        (l, r) if outside(r) && inside(l) => (r, l),
        _ => return None,
    };
    let mut key = right.clone();
    key.ty.collation = *collation;
    Some((left, key))
}

/// Returns the comparison behind a pair of hash keys.
fn equal((left, right): (Expr, Expr)) -> Expr {
    let collation = left.ty.collation;
    let kind = ExprKind::Compare(CompareOp::Equal, collation, Box::new((left, right)));
    Expr { kind, ty: super::unnest::bit() }
}

/// Returns whether a semi-join is expected to keep few of an input's rows.
fn is_selective(semi: &Semi, relation: &Relation) -> bool {
    if semi.kind == JoinKind::Anti {
        return false;
    }
    let right = estimate(&semi.right).rows;
    // Without statistics of the key: fewer candidates than rows.
    right < relation.estimate.rows
}

/// Returns the inputs that fill these registers, as a bit set.
fn places_of(read: &Registers, fills: &[Registers]) -> u64 {
    let places = fills.iter().enumerate().filter(|(_, own)| !own.is_disjoint(read));
    places.fold(0, |set, (place, _)| set | 1 << place)
}

/// Builds the tree that a search has chosen.
struct Builder<'b> {
    relations: Vec<Relation>,
    predicates: Vec<Predicate>,
    outer: &'b Registers,
    all: &'b Registers,
}

impl Builder<'_> {
    /// Adds conjuncts that read no input above the first input: if they are false, the sides that
    /// are opened for each row are never opened.
    fn start(&mut self, plan: &Plan, conjuncts: Vec<Expr>) {
        let mut set = plan.whole();
        while let How::Join { left, .. } = plan.how(set) {
            set = left;
        }
        if let How::Leaf(place) = plan.how(set) {
            let node = std::mem::replace(&mut self.relations[place].node, Node::Empty);
            self.relations[place].node = super::attach::push_more(node, conjuncts);
        }
    }

    fn build(&mut self, plan: &Plan, set: u64) -> Node {
        let how = plan.how(set);
        let (left, right, method) = match how {
            How::Leaf(place) => {
                return std::mem::replace(&mut self.relations[place].node, Node::Empty);
            }
            How::Join { left, right, method } => (left, right, method),
        };
        let mut ready = Vec::new();
        for predicate in &mut self.predicates {
            let places = predicate.places;
            let whole = places & !set == 0;
            if whole && places & !left != 0 && places & !right != 0 {
                ready.extend(predicate.expr.take());
            }
        }
        let (left, right) = (self.build(plan, left), self.build(plan, right));
        let sides = Sides { left, right };
        super::attach::join(JoinKind::Inner, sides, ready, self.outer, self.all, method)
    }
}
