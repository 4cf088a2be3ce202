//! The search for an order of inner joins, by dynamic programming: the cheapest plan of a set of
//! inputs combines the cheapest plan of a smaller set with one more input, on either side.

use hashbrown::HashMap;

use super::Hints;
use super::attach::{Method, is_equi};
use super::estimate::{
    self, Estimate, bare, column_of, distinct, estimate, hash_cost, look_up_cost, product_cost,
};
use super::join::INPUTS_EXACT_MAX;
use super::seek;
use super::view_key::key_of;
use plan::expr::{CompareOp, Expr, ExprKind, Register};
use plan::query::Node;
use plan::statement::table_of;
use plan::walk::{self, Registers};

/// Extra cost of a cross product, so that it is used only as a last resort.
const PRODUCT: f64 = 1e6;

/// Extra cost of a method or scan that a hint advises against.
const UNASKED: f64 = 1e3;

/// An input of the joins, already optimized.
pub(crate) struct Relation {
    pub node: Node,
    pub fills: Registers,
    /// Inputs whose rows it reads: it is opened for each row of those.
    pub needs: u64,
    pub estimate: Estimate,
    /// Rows before predicates, if it is a table.
    base: f64,
    /// Registers of its key, if it is a catalog view.
    view_key: Option<Vec<Register>>,
}

impl Relation {
    pub(crate) fn new(node: Node, fills: Registers, needs: u64) -> Self {
        let estimate = estimate(&node);
        let base = scan_of(&node).map_or(estimate.rows, estimate::table_rows).max(1.0);
        let view_key = key_of(&node);
        Self { node, fills, needs, estimate, base, view_key }
    }

    /// Replaces its node by one that fills the same registers.
    pub(crate) fn replace(&mut self, node: Node) {
        self.estimate = estimate(&node);
        self.node = node;
    }
}

fn scan_of(node: &Node) -> Option<&plan::query::Scan> {
    match node {
        Node::Scan(scan) => Some(scan),
        Node::Filter(inner) => scan_of(&inner.0),
        Node::Compute(inner) => scan_of(&inner.0),
        _ => None,
    }
}

/// A predicate over two or more inputs.
pub(crate) struct Predicate {
    /// The predicate; taken when it is placed.
    pub expr: Option<Expr>,
    /// Inputs that it reads, as a bit set.
    pub places: u64,
    /// Fraction of the pairs for which it is true.
    share: f64,
    /// Inputs of the two sides, if it is an equality.
    key: Option<(u64, u64)>,
    /// Bare columns of an equality, left and right.
    columns: [Option<Register>; 2],
}

impl Predicate {
    pub(crate) fn new(expr: Expr, places: u64, relations: &[Relation], all: &Registers) -> Self {
        let find = |register: Register| {
            let relation = relations.iter().find(|r| r.fills.contains(register))?;
            column_of(&relation.node, register)
        };
        let mut share = estimate::selectivity(&expr, &find);
        let (mut key, mut columns) = (None, [None, None]);
        if let ExprKind::Compare(CompareOp::Equal, _, pair) = &expr.kind {
            let of = |e: &Expr| {
                let read = walk::reads(e);
                let places = relations.iter().enumerate();
                places
                    .filter(|(_, r)| !r.fills.is_disjoint(&read))
                    .fold(0_u64, |set, (i, _)| set | 1 << i)
            };
            let (a, b) = (of(&pair.0), of(&pair.1));
            let apart = a != 0 && b != 0 && a & b == 0;
            let sides = |set: u64| {
                let mut all = Registers::default();
                let members = relations.iter().enumerate().filter(|(i, _)| set >> i & 1 == 1);
                members.for_each(|(_, r)| all.extend(&r.fills));
                all
            };
            if apart && is_equi(&expr, &sides(a), &sides(b), all) {
                key = Some((a, b));
                columns = [bare(&pair.0), bare(&pair.1)];
                share = equal_share(columns, relations);
            }
        }
        let share = share.clamp(1e-12, 1.0);
        Self { expr: Some(expr), places, share, key, columns }
    }

    /// Returns whether it is an equality between the two sets.
    fn joins(&self, left: u64, right: u64) -> bool {
        self.key.is_some_and(|(a, b)| {
            (a & !left == 0 && b & !right == 0) || (b & !left == 0 && a & !right == 0)
        })
    }
}

/// Returns the fraction of pairs that are equal in two columns: 1 / the larger number of distinct
/// values. A column without statistics has as many as its input has rows.
fn equal_share(columns: [Option<Register>; 2], relations: &[Relation]) -> f64 {
    let values = columns.map(|register| {
        let relation = relations.iter().find(|r| register.is_some_and(|c| r.fills.contains(c)))?;
        let known = register.and_then(|c| distinct(&relation.node, c));
        Some(known.unwrap_or(relation.base).min(relation.base).max(1.0))
    });
    let most = values.iter().flatten().fold(1.0_f64, |most, n| most.max(*n));
    if values.iter().all(Option::is_none) { 0.1 } else { 1.0 / most }
}

/// How the rows of a set of inputs are produced.
#[derive(Clone, Copy, Debug)]
pub(crate) enum How {
    /// By reading one input.
    Leaf(usize),
    /// By joining two sets.
    Join { left: u64, right: u64, method: Method },
}

#[derive(Clone, Copy)]
struct Entry {
    rows: f64,
    cost: f64,
    how: How,
}

/// The result of a search.
pub(crate) struct Plan {
    best: HashMap<u64, Entry>,
    whole: u64,
}

impl Plan {
    /// Returns the set of all inputs.
    pub(crate) fn whole(&self) -> u64 {
        self.whole
    }

    /// Returns how a set in the plan is produced.
    pub(crate) fn how(&self, set: u64) -> How {
        self.best.get(&set).map_or(How::Leaf(0), |e| e.how)
    }
}

/// Finds the cheapest join order.
pub(crate) fn search(relations: &[Relation], predicates: &[Predicate], hints: Hints) -> Plan {
    let whole = (0..relations.len()).fold(0, |set, i| set | 1 << i);
    let shares = shares_of(relations, predicates);
    let mut search = Search { relations, predicates, shares, hints, best: HashMap::new() };
    for (place, relation) in relations.iter().enumerate() {
        let (rows, cost) = (relation.estimate.rows, relation.estimate.cost());
        search.best.insert(1 << place, Entry { rows, cost, how: How::Leaf(place) });
    }
    if hints.force_order {
        search.in_order(relations.len());
    } else if relations.len() <= INPUTS_EXACT_MAX {
        search.exact(whole);
    } else {
        search.greedy(whole);
    }
    Plan { best: search.best, whole }
}

/// Returns the selectivity of each predicate. Several equalities between two inputs that cover a
/// unique key of one match at most one of its rows, even if they are correlated.
fn shares_of(relations: &[Relation], predicates: &[Predicate]) -> Vec<f64> {
    let mut shares: Vec<f64> = predicates.iter().map(|p| p.share).collect();
    for (place, relation) in relations.iter().enumerate() {
        let Some(scan) = scan_of(&relation.node) else { continue };
        for index in table_of(&scan.table).indexes.iter().filter(|i| i.is_key() && i.keys.len() > 1)
        {
            let mut other = None;
            let covering: Option<Vec<usize>> = index
                .keys
                .iter()
                .map(|(ordinal, _)| {
                    let register = scan.columns.iter().find(|c| c.0 == *ordinal)?.1;
                    let found = predicates.iter().position(|p| {
                        let pair = p.places & !(1 << place);
                        p.columns.contains(&Some(register))
                            && pair.count_ones() == 1
                            && other.is_none_or(|o| o == pair)
                    })?;
                    other = Some(predicates[found].places & !(1 << place));
                    Some(found)
                })
                .collect();
            let Some(covering) = covering else { continue };
            let product: f64 = covering.iter().map(|&i| shares[i]).product();
            let target = product.max(1.0 / relation.base);
            for (i, &predicate) in covering.iter().enumerate() {
                shares[predicate] = if i == 0 { target } else { 1.0 };
            }
        }
    }
    shares
}

struct Search<'s> {
    relations: &'s [Relation],
    predicates: &'s [Predicate],
    shares: Vec<f64>,
    hints: Hints,
    best: HashMap<u64, Entry>,
}

impl Search<'_> {
    /// Computes the cheapest plan of every set of inputs.
    fn exact(&mut self, whole: u64) {
        for set in 1..=whole {
            if set.count_ones() < 2 {
                continue;
            }
            self.extend_to(set);
        }
        if !self.best.contains_key(&whole) {
            self.in_order(self.relations.len());
        }
    }

    /// Adds one input at a time, always the one with the lowest cost.
    fn greedy(&mut self, whole: u64) {
        let start = (0..self.relations.len())
            .filter(|&i| self.relations[i].needs == 0)
            .min_by(|&a, &b| {
                self.relations[a].estimate.rows.total_cmp(&self.relations[b].estimate.rows)
            })
            .unwrap_or(0);
        let mut set = 1_u64 << start;
        while set != whole {
            let mut found: Option<(u64, Entry)> = None;
            for place in 0..self.relations.len() {
                let one = 1_u64 << place;
                if set & one != 0 {
                    continue;
                }
                for (left, right) in [(set, one), (one, set)] {
                    let Some(entry) = self.joined(left, right) else { continue };
                    let better = found.is_none_or(|(_, e)| {
                        (entry.cost + entry.rows * 1e-7) < (e.cost + e.rows * 1e-7)
                    });
                    if better {
                        found = Some((one, entry));
                    }
                }
            }
            let Some((one, entry)) = found else { return self.in_order(self.relations.len()) };
            set |= one;
            self.best.insert(set, entry);
        }
    }

    /// Joins the inputs in the written order.
    fn in_order(&mut self, count: usize) {
        let mut set = 1_u64;
        for place in 1..count {
            let one = 1_u64 << place;
            let rows = self.rows(set | one);
            let how = How::Join { left: set, right: one, method: Method::Loop };
            let entry = self.joined(set, one).unwrap_or(Entry { rows, cost: f64::MAX, how });
            set |= one;
            self.best.insert(set, entry);
        }
    }

    fn extend_to(&mut self, set: u64) {
        let mut found: Option<Entry> = None;
        // From the last to the first, so that among equal plans the written order wins.
        for place in (0..self.relations.len()).rev() {
            let one = 1_u64 << place;
            if set & one == 0 {
                continue;
            }
            let rest = set & !one;
            for (left, right) in [(rest, one), (one, rest)] {
                let Some(entry) = self.joined(left, right) else { continue };
                if found.is_none_or(|e| entry.cost < e.cost) {
                    found = Some(entry);
                }
            }
        }
        if let Some(entry) = found {
            self.best.insert(set, entry);
        }
    }

    /// Returns the rows of a joined set, which do not depend on the order.
    fn rows(&self, set: u64) -> f64 {
        let members = self.relations.iter().enumerate().filter(|(i, _)| set >> i & 1 == 1);
        let product: f64 = members.map(|(_, r)| r.estimate.rows.max(0.01)).product();
        let inside = self.predicates.iter().zip(&self.shares).filter(|(p, _)| p.places & !set == 0);
        product * inside.map(|(_, share)| share).product::<f64>()
    }

    /// Returns the cheapest join of two sets; `None` if the right one cannot follow the left one.
    fn joined(&self, left: u64, right: u64) -> Option<Entry> {
        let (a, b) = (self.best.get(&left)?, self.best.get(&right)?);
        if self.needs(left) & !left != 0 {
            return None;
        }
        let rows = self.rows(left | right);
        let needs = self.needs(right) & !right;
        let entry = |cost: f64, method: Method| {
            let cost = cost + estimate::given_cost(rows);
            Entry { rows, cost, how: How::Join { left, right, method } }
        };
        if needs != 0 {
            let ready = needs & !left == 0 && right.count_ones() == 1;
            return ready.then(|| entry(a.cost + a.rows.max(1.0) * b.cost, Method::Loop));
        }
        let keyed = self.predicates.iter().any(|p| p.joins(left, right));
        let whole = left | right;
        let joined = self
            .predicates
            .iter()
            .any(|p| p.places & !whole == 0 && p.places & left != 0 && p.places & right != 0);
        // Whatever the estimated number of rows, since estimates may be far off.
        let product = if joined { 0.0 } else { PRODUCT };
        let seek = if right.count_ones() == 1 { self.seek(left, right) } else { None };
        let by_hash = if keyed && self.looks_up(left, right) {
            a.cost + b.cost + look_up_cost(a.rows, b.rows)
        } else if keyed {
            a.cost + b.cost + hash_cost(a.rows, b.rows)
        } else {
            a.cost + b.cost + product_cost(a.rows, b.rows)
        };
        let by_loop = match seek {
            Some(each) => a.cost + a.rows.max(1.0) * each,
            None if keyed || right.count_ones() > 1 => f64::MAX,
            None => a.cost + a.rows.max(1.0) * b.cost,
        };
        let wants_seek = self.wants_seek(right);
        let loops = match self.hints.method {
            _ if wants_seek && seek.is_some() => true,
            Some(Method::Loop) => by_loop < f64::MAX,
            Some(Method::Hash) => !keyed && by_loop <= by_hash,
            None => by_loop <= by_hash,
        };
        let (cost, method) = if loops { (by_loop, Method::Loop) } else { (by_hash, Method::Hash) };
        // A hinted method wins if any order allows it.
        let unasked = match self.hints.method {
            Some(asked) if asked != method => UNASKED,
            _ if self.wants_seek(left) || (wants_seek && seek.is_none()) => UNASKED,
            _ => 0.0,
        };
        Some(entry(cost + product + unasked, method))
    }

    /// Returns whether the right set is a catalog view whose whole key is equal to columns of the left.
    fn looks_up(&self, left: u64, right: u64) -> bool {
        let relation = &self.relations[right.trailing_zeros() as usize];
        let Some(key) = relation.view_key.as_ref().filter(|_| right.count_ones() == 1) else {
            return false;
        };
        let equated = |register: &Register| {
            let joins = self.predicates.iter().filter(|p| p.joins(left, right));
            joins.flat_map(|p| p.columns).flatten().any(|column| column == *register)
        };
        key.iter().all(equated)
    }

    /// Returns whether a hint requests a seek on the single table of a set that has none yet.
    fn wants_seek(&self, set: u64) -> bool {
        self.hints.paths
            && set.count_ones() == 1
            && scan_of(&self.relations[set.trailing_zeros() as usize].node)
                .is_some_and(|scan| !seek::takes_hinted_path(scan))
    }

    fn needs(&self, set: u64) -> u64 {
        let members = self.relations.iter().enumerate().filter(|(i, _)| set >> i & 1 == 1);
        members.fold(0, |all, (_, r)| all | r.needs)
    }

    /// Returns the cost of finding the rows of `right` for one row of `left` by an index.
    fn seek(&self, left: u64, right: u64) -> Option<f64> {
        let relation = &self.relations[right.trailing_zeros() as usize];
        let scan = scan_of(&relation.node)?;
        let ready: Vec<Expr> = self
            .predicates
            .iter()
            .filter(|p| p.joins(left, right))
            .filter_map(|p| p.expr.clone())
            .collect();
        if ready.is_empty() {
            return None;
        }
        let best = seek::best(scan, &ready)?;
        (best.equal > 0).then(|| estimate::seek_cost(scan, &best))
    }
}
