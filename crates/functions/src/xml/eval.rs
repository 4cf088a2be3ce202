//! The XQuery evaluator: computes an expression over a document.

use std::cmp::Ordering;
use std::sync::Arc;

use types::Result;
use types::xml::{Builder, Document, NodeId, NodeKind, ROOT};

use plan::long::Growing;
use plan::sort::interruptible;
use plan::stop::cancelled;
use sos::park::Cancel;
use sos::sched::Pace;

use crate::pieces::PAUSE;

use super::library::same_node;
use super::syntax::{Axis, Clause, Comparison, Constructor, Expr, Operator, Start, Step, Test};

/// An item of a sequence: a node or an atomic value.
#[derive(Clone, Debug)]
pub enum Item {
    /// A node of a document.
    Node(Arc<Document>, NodeId),
    /// `xs:string`, such as a literal.
    Text(String),
    /// `xdt:untypedAtomic`: the value of a node without a schema.
    Untyped(String),
    /// `xs:integer` within 64 bits.
    Integer(i64),
    /// `xs:double`, for any other number.
    Double(f64),
    /// `xs:boolean`, true or false.
    Bool(bool),
    /// `xs:base64Binary`, also a binary value of SQL.
    Base64(Vec<u8>),
    /// The bytes of an `xs:hexBinary`.
    Hex(Vec<u8>),
}

/// The value of an expression.
pub(super) type Sequence = Vec<Item>;

impl Item {
    /// Returns the item as text.
    pub fn text(&self) -> String {
        match self {
            Self::Node(document, node) => document.string_value(*node),
            Self::Text(text) | Self::Untyped(text) => text.clone(),
            Self::Integer(n) => n.to_string(),
            Self::Double(n) => n.to_string(),
            Self::Bool(b) => b.to_string(),
            Self::Base64(bytes) => crate::json::base64(bytes),
            Self::Hex(bytes) => hex(bytes),
        }
    }

    /// Returns the item as a number; `None` if it is not numeric.
    pub(crate) fn number(&self) -> Option<f64> {
        match self {
            // The nearest double, which is the result of XQuery's promotion to `xs:double`.
            Self::Integer(n) => n.to_string().parse().ok(),
            Self::Double(n) => Some(*n),
            Self::Bool(_) | Self::Base64(_) | Self::Hex(_) => None,
            _ => self.text().trim().parse().ok(),
        }
    }

    /// Returns the typed value of a node; an atomic value unchanged.
    pub(crate) fn atomized(&self) -> Self {
        match self {
            Self::Node(document, node) => Self::Untyped(document.string_value(*node)),
            value => value.clone(),
        }
    }
}

/// The meaning of `.`, `position()` and `last()`.
#[derive(Clone, Debug)]
pub struct Focus {
    /// The context item, `.`.
    pub item: Option<Item>,
    /// Position of the item, from 1.
    pub position: i64,
    /// Number of items in the sequence.
    pub size: i64,
}

/// State of an evaluation.
pub(crate) struct Evaluation<'q> {
    /// Values passed from SQL, by number.
    pub externals: &'q [Sequence],
    /// Variables in scope, innermost last.
    pub variables: Vec<(&'q str, Sequence)>,
    /// What is set when the client cancels the statement.
    cancel: &'q Cancel,
    pace: Pace,
    /// Memory of the nodes that steps have found.
    memory: Growing,
}

/// Returns the effective boolean value.
pub(crate) fn truth(sequence: &Sequence) -> bool {
    match sequence.first() {
        None => false,
        Some(Item::Node(..)) => true,
        Some(Item::Bool(b)) => *b,
        Some(Item::Integer(n)) => *n != 0,
        Some(Item::Double(n)) => *n != 0.0 && !n.is_nan(),
        Some(Item::Text(text) | Item::Untyped(text)) => !text.is_empty(),
        Some(Item::Base64(bytes) | Item::Hex(bytes)) => !bytes.is_empty(),
    }
}

impl<'q> Evaluation<'q> {
    /// Begins with the values that are passed from SQL.
    pub(crate) fn new(externals: &'q [Sequence], cancel: &'q Cancel) -> Self {
        let (pace, memory) = (Pace::new(), Growing::default());
        Self { externals, variables: Vec::new(), cancel, pace, memory }
    }

    pub(crate) fn eval(&mut self, expr: &'q Expr, focus: &Focus) -> Result<Sequence> {
        self.pace.tick();
        if self.cancel.is_set() {
            return Err(cancelled());
        }
        Ok(match expr {
            Expr::Sequence(all) => self.eval_all(all, focus)?.into_iter().flatten().collect(),
            Expr::Integer(n) => vec![Item::Integer(*n)],
            Expr::Double(n) => vec![Item::Double(*n)],
            Expr::Text(text) => vec![Item::Text(text.clone())],
            Expr::Context => focus.item.iter().cloned().collect(),
            Expr::External(number) => self.externals.get(*number).cloned().unwrap_or_default(),
            Expr::Variable(name) => {
                let found = self.variables.iter().rev().find(|(known, _)| known == name);
                found.map(|(_, value)| value.clone()).unwrap_or_default()
            }
            Expr::Flwor(clauses, result) => self.flwor(clauses, result, focus)?,
            Expr::If(parts) => {
                let chosen = if self.is_true(&parts.0, focus)? { &parts.1 } else { &parts.2 };
                self.eval(chosen, focus)?
            }
            Expr::Quantified(every, bindings, test) => {
                vec![Item::Bool(self.quantified(*every, bindings, test, focus)?)]
            }
            Expr::Or(pair) => {
                vec![Item::Bool(self.is_true(&pair.0, focus)? || self.is_true(&pair.1, focus)?)]
            }
            Expr::And(pair) => {
                vec![Item::Bool(self.is_true(&pair.0, focus)? && self.is_true(&pair.1, focus)?)]
            }
            Expr::Compare(op, pair) => {
                let (left, right) = (self.eval(&pair.0, focus)?, self.eval(&pair.1, focus)?);
                compare(*op, &left, &right, self.cancel)?
            }
            Expr::Arithmetic(op, pair) => {
                let (left, right) = (self.eval(&pair.0, focus)?, self.eval(&pair.1, focus)?);
                arithmetic(*op, &left, &right).into_iter().collect()
            }
            Expr::Negate(operand) => {
                let operand = self.eval(operand, focus)?;
                let zero = vec![Item::Integer(0)];
                arithmetic(Operator::Subtract, &zero, &operand).into_iter().collect()
            }
            Expr::Union(pair) => {
                let mut all = self.eval(&pair.0, focus)?;
                all.extend(self.eval(&pair.1, focus)?);
                in_order(all, self.cancel)?
            }
            Expr::Path(start, steps) => self.path(start, steps, focus)?,
            Expr::Filter(inner, predicates) => {
                let items = self.eval(inner, focus)?;
                self.filter(items, predicates)?
            }
            Expr::Call(function, arguments) => {
                let values = self.eval_all(arguments, focus)?;
                (function.eval)(focus, values)?
            }
            Expr::Element(_)
            | Expr::Attribute(..)
            | Expr::TextNode(_)
            | Expr::Comment(_)
            | Expr::Instruction(..) => self.construct(expr, focus)?,
        })
    }

    fn eval_all(&mut self, all: &'q [Expr], focus: &Focus) -> Result<Vec<Sequence>> {
        all.iter().map(|expr| self.eval(expr, focus)).collect()
    }

    fn is_true(&mut self, expr: &'q Expr, focus: &Focus) -> Result<bool> {
        Ok(truth(&self.eval(expr, focus)?))
    }

    fn flwor(
        &mut self,
        clauses: &'q [Clause],
        result: &'q Expr,
        focus: &Focus,
    ) -> Result<Sequence> {
        let outer = self.variables.len();
        let mut rows = Vec::new();
        self.tuples(clauses, &mut Vec::new(), focus, &mut |eval, keys| {
            rows.push((std::mem::take(keys), eval.eval(result, focus)?));
            Ok(())
        })?;
        self.variables.truncate(outer);
        let descending = clauses.iter().flat_map(|clause| match clause {
            Clause::OrderBy(keys) => keys.iter().map(|(_, d)| *d).collect(),
            _ => Vec::new(),
        });
        let values = |key: usize| rows.iter().filter_map(move |(keys, _)| keys.get(key));
        let by: Vec<(KeyKind, bool)> =
            descending.enumerate().map(|(key, d)| (KeyKind::of(values(key)), d)).collect();
        interruptible(self.cancel, |comparisons| {
            rows.sort_by(|(a, _): &(Vec<Item>, _), (b, _)| {
                comparisons.compared(a.len() * size_of::<Item>());
                order_keys(a, b, &by)
            });
        })?;
        Ok(rows.into_iter().flat_map(|(_, items)| items).collect())
    }

    /// Evaluates the remaining clauses for each tuple of variables.
    fn tuples(
        &mut self,
        clauses: &'q [Clause],
        keys: &mut Vec<Item>,
        focus: &Focus,
        done: &mut dyn FnMut(&mut Self, &mut Vec<Item>) -> Result<()>,
    ) -> Result<()> {
        let Some((clause, rest)) = clauses.split_first() else { return done(self, keys) };
        match clause {
            Clause::For(name, from) => {
                for item in self.eval(from, focus)? {
                    self.variables.push((name, vec![item]));
                    self.tuples(rest, keys, focus, done)?;
                    self.variables.pop();
                }
                Ok(())
            }
            Clause::Let(name, value) => {
                let value = self.eval(value, focus)?;
                self.variables.push((name, value));
                self.tuples(rest, keys, focus, done)?;
                self.variables.pop();
                Ok(())
            }
            Clause::Where(test) => {
                if truth(&self.eval(test, focus)?) {
                    self.tuples(rest, keys, focus, done)?;
                }
                Ok(())
            }
            Clause::OrderBy(by) => {
                for (key, _) in by {
                    let value = self.eval(key, focus)?;
                    keys.push(value.first().map_or(Item::Text(String::new()), Item::atomized));
                }
                self.tuples(rest, keys, focus, done)
            }
        }
    }

    fn quantified(
        &mut self,
        every: bool,
        bindings: &'q [(String, Expr)],
        test: &'q Expr,
        focus: &Focus,
    ) -> Result<bool> {
        let Some(((name, from), rest)) = bindings.split_first() else {
            return Ok(truth(&self.eval(test, focus)?));
        };
        for item in self.eval(from, focus)? {
            self.variables.push((name, vec![item]));
            let holds = self.quantified(every, rest, test, focus)?;
            self.variables.pop();
            if holds != every {
                return Ok(!every);
            }
        }
        Ok(every)
    }

    fn path(&mut self, start: &'q Start, steps: &'q [Step], focus: &Focus) -> Result<Sequence> {
        let mut items = match start {
            Start::Root => match &focus.item {
                Some(Item::Node(document, _)) => vec![Item::Node(Arc::clone(document), ROOT)],
                _ => Vec::new(),
            },
            Start::Context => focus.item.iter().cloned().collect(),
            Start::Nodes(nodes) => self.eval(nodes, focus)?,
        };
        let mut rest = steps;
        while let Some((step, after)) = rest.split_first() {
            rest = after;
            // `//a` without predicates is one walk over all descendants.
            if let (Step::Axis(Axis::DescendantOrSelf, Test::Node, none), Some(next)) =
                (step, rest.first())
                && none.is_empty()
                && let Step::Axis(Axis::Child, test, predicates) = next
                && predicates.iter().all(is_plain)
            {
                items = self.step(&items, Axis::Descendant, test, predicates)?;
                rest = &rest[1..];
                continue;
            }
            items = match step {
                Step::Axis(axis, test, predicates) => self.step(&items, *axis, test, predicates)?,
                Step::Each(expr) => self.each(&items, expr)?,
            };
        }
        Ok(items)
    }

    fn each(&mut self, items: &Sequence, expr: &'q Expr) -> Result<Sequence> {
        let mut found = Vec::new();
        let size = i64::try_from(items.len()).unwrap_or(i64::MAX);
        for (position, item) in (1..).zip(items) {
            let focus = Focus { item: Some(item.clone()), position, size };
            found.extend(self.eval(expr, &focus)?);
        }
        Ok(if found.iter().all(|item| matches!(item, Item::Node(..))) {
            in_order(found, self.cancel)?
        } else {
            found
        })
    }

    fn step(
        &mut self,
        items: &Sequence,
        axis: Axis,
        test: &Test,
        predicates: &'q [Expr],
    ) -> Result<Sequence> {
        let mut found = Vec::new();
        for item in items {
            let Item::Node(document, node) = item else { continue };
            let mut nodes = Vec::new();
            along(document, *node, axis, &mut |n| {
                self.pace.tick();
                if passes(document, n, axis, test) {
                    nodes.push(Item::Node(Arc::clone(document), n));
                }
            });
            self.memory.take(nodes.len() * size_of::<Item>())?;
            found.extend(self.filter(nodes, predicates)?);
        }
        if items.len() > 1 { in_order(found, self.cancel) } else { Ok(found) }
    }

    fn filter(&mut self, mut items: Sequence, predicates: &'q [Expr]) -> Result<Sequence> {
        for predicate in predicates {
            if let Expr::Integer(place) = predicate {
                let place = usize::try_from(*place).ok().and_then(|n| n.checked_sub(1));
                items = place.and_then(|n| items.into_iter().nth(n)).into_iter().collect();
                continue;
            }
            let size = i64::try_from(items.len()).unwrap_or(i64::MAX);
            let mut kept = Vec::new();
            for (position, item) in (1..).zip(items) {
                let focus = Focus { item: Some(item), position, size };
                let value = self.eval(predicate, &focus)?;
                let holds = match value.as_slice() {
                    [Item::Integer(n)] => *n == position,
                    [number @ Item::Double(_)] => {
                        number.number() == Item::Integer(position).number()
                    }
                    _ => truth(&value),
                };
                if holds {
                    kept.extend(focus.item);
                }
            }
            items = kept;
        }
        Ok(items)
    }

    /// Returns a new node.
    fn construct(&mut self, expr: &'q Expr, focus: &Focus) -> Result<Sequence> {
        let mut builder = Builder::pausing(PAUSE);
        self.build(expr, focus, &mut builder)?;
        let document = Arc::new(builder.finish());
        // Empty text creates no node.
        let made = (document.len() > 1).then(|| Item::Node(Arc::clone(&document), 1));
        Ok(made.into_iter().collect())
    }

    fn build(&mut self, expr: &'q Expr, focus: &Focus, builder: &mut Builder) -> Result<()> {
        match expr {
            Expr::Element(made) => self.build_element(made, focus, builder)?,
            Expr::Attribute(name, value) => {
                let value = self.eval(value, focus)?;
                builder.attribute(name.clone(), &joined(&value));
            }
            Expr::TextNode(value) => {
                let value = self.eval(value, focus)?;
                builder.text(&joined(&value));
            }
            Expr::Comment(text) => builder.comment(text),
            Expr::Instruction(target, text) => builder.instruction(target, text),
            _ => add(&self.eval(expr, focus)?, builder),
        }
        Ok(())
    }

    fn build_element(
        &mut self,
        made: &'q Constructor,
        focus: &Focus,
        builder: &mut Builder,
    ) -> Result<()> {
        if builder.depth() >= types::xml::DEPTH_MAX {
            return Err(super::library::too_deep());
        }
        builder.start_element(made.name.clone());
        for (prefix, uri) in &made.namespaces {
            builder.namespace(prefix, uri);
        }
        for (name, parts) in &made.attributes {
            let mut value = String::new();
            for part in parts {
                value.push_str(&joined(&self.eval(part, focus)?));
            }
            builder.attribute(name.clone(), &value);
        }
        for part in &made.content {
            self.build(part, focus, builder)?;
        }
        builder.end_element();
        Ok(())
    }
}

/// Adds items to the node being built: nodes as copies, values as text separated by blanks.
pub(crate) fn add(items: &Sequence, builder: &mut Builder) {
    let mut after_value = false;
    for item in items {
        let is_value = !matches!(item, Item::Node(..));
        match item {
            Item::Node(document, node) => builder.copy(document, *node),
            value => {
                if after_value {
                    builder.text(" ");
                }
                builder.text(&value.text());
            }
        }
        after_value = is_value;
    }
}

fn hex(bytes: &[u8]) -> String {
    const DIGITS: &[u8; 16] = b"0123456789ABCDEF";
    let mut pace = Pace::new();
    let digits = bytes.iter().flat_map(|byte| {
        pace.tick();
        [byte >> 4, byte & 0xF].map(|digit| char::from(DIGITS[usize::from(digit)]))
    });
    digits.collect()
}

fn joined(items: &Sequence) -> String {
    let (mut text, mut pace) = (String::new(), Pace::new());
    for (place, item) in items.iter().enumerate() {
        pace.tick();
        if place > 0 {
            text.push(' ');
        }
        text.push_str(&item.text());
    }
    text
}

/// Returns whether a predicate does not use the position, so that it can be tested in any walk
/// order.
fn is_plain(predicate: &Expr) -> bool {
    matches!(predicate, Expr::Compare(_, pair) if !asks_position(&pair.0) && !asks_position(&pair.1))
        || matches!(predicate, Expr::And(pair) | Expr::Or(pair) if is_plain(&pair.0) && is_plain(&pair.1))
}

fn asks_position(expr: &Expr) -> bool {
    match expr {
        Expr::Call(function, arguments) => {
            matches!(function.name, "position" | "last") || arguments.iter().any(asks_position)
        }
        Expr::Integer(_) | Expr::Double(_) | Expr::Text(_) | Expr::External(_) | Expr::Context => {
            false
        }
        Expr::Path(Start::Context | Start::Root, _) => false,
        _ => true,
    }
}

/// Calls `found` for the nodes of an axis, in document order.
fn along(document: &Document, node: NodeId, axis: Axis, found: &mut dyn FnMut(NodeId)) {
    let is_inner =
        |n: &NodeId| !matches!(document.kind(*n), NodeKind::Attribute | NodeKind::Namespace);
    match axis {
        Axis::Child => document.children(node).for_each(found),
        Axis::Attribute => document.attributes(node).for_each(found),
        Axis::Own => found(node),
        Axis::Parent => document.parent(node).into_iter().for_each(found),
        Axis::Descendant => (node + 1..document.end(node)).filter(is_inner).for_each(found),
        Axis::DescendantOrSelf => {
            found(node);
            (node + 1..document.end(node)).filter(is_inner).for_each(found);
        }
    }
}

fn passes(document: &Document, node: NodeId, axis: Axis, test: &Test) -> bool {
    let kind = document.kind(node);
    match test {
        Test::Node => true,
        Test::Text => kind == NodeKind::Text,
        Test::Comment => kind == NodeKind::Comment,
        Test::Instruction(target) => {
            kind == NodeKind::Instruction
                && target.as_ref().is_none_or(|t| document.name(node).local == *t)
        }
        Test::Name { local, uri } => {
            let principal = match axis {
                Axis::Attribute => NodeKind::Attribute,
                Axis::Own if kind == NodeKind::Attribute => NodeKind::Attribute,
                _ => NodeKind::Element,
            };
            let name = document.name(node);
            kind == principal
                && local.as_ref().is_none_or(|l| name.local == *l)
                && uri.as_ref().is_none_or(|u| name.uri == *u)
        }
    }
}

/// Sorts nodes into document order, and removes duplicates.
fn in_order(mut items: Sequence, cancel: &Cancel) -> Result<Sequence> {
    let key = |item: &Item| match item {
        Item::Node(document, node) => (Arc::as_ptr(document).addr(), *node),
        _ => (0, 0),
    };
    interruptible(cancel, |comparisons| {
        items.sort_by(|a, b| {
            comparisons.compared(0);
            key(a).cmp(&key(b))
        });
    })?;
    items.dedup_by(|a, b| same_node(a, b));
    Ok(items)
}

/// How the values of one key of `order by` are compared: all of them in the same way, since an order of
/// pairs by their own types is none (text "10" < text "9" < 10).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum KeyKind {
    /// All are whole numbers.
    Whole,
    /// One is a number: those that are none come first.
    Number,
    /// One is a boolean, and none a number.
    Bool,
    Text,
}

impl KeyKind {
    fn of<'i>(values: impl Iterator<Item = &'i Item> + Clone) -> Self {
        let any = |is: fn(&Item) -> bool| values.clone().any(is);
        if any(|value| matches!(value, Item::Integer(_) | Item::Double(_))) {
            let is_whole = values.clone().all(|value| whole(value).is_some());
            if is_whole { Self::Whole } else { Self::Number }
        } else if any(|value| matches!(value, Item::Bool(_))) {
            Self::Bool
        } else {
            Self::Text
        }
    }

    fn compared(self, left: &Item, right: &Item) -> Ordering {
        let number = |item: &Item| item.number().filter(|number| !number.is_nan());
        match self {
            Self::Whole => whole(left).cmp(&whole(right)),
            Self::Number => {
                number(left).partial_cmp(&number(right)).expect("there is no NaN among them")
            }
            Self::Bool => is_true_key(left).cmp(&is_true_key(right)),
            Self::Text => left.text().cmp(&right.text()),
        }
    }
}

fn is_true_key(item: &Item) -> bool {
    match item {
        Item::Bool(value) => *value,
        other => matches!(other.text().trim(), "true" | "1"),
    }
}

/// Compares the keys of two rows.
fn order_keys(left: &[Item], right: &[Item], by: &[(KeyKind, bool)]) -> Ordering {
    let mut each = left.iter().zip(right).zip(by).map(|((a, b), (kind, descending))| {
        let order = kind.compared(a, b);
        if *descending { order.reverse() } else { order }
    });
    each.find(|order| order.is_ne()).unwrap_or(Ordering::Equal)
}

fn whole(item: &Item) -> Option<i64> {
    match item {
        Item::Integer(n) => Some(*n),
        Item::Untyped(text) => text.trim().parse().ok(),
        _ => None,
    }
}

/// Compares two values: as numbers if one is a number, as booleans if one is a boolean, else as
/// text.
fn order_values(left: &Item, right: &Item) -> Option<Ordering> {
    match (left, right) {
        (Item::Integer(_), _) | (_, Item::Integer(_)) => {
            if let (Some(a), Some(b)) = (whole(left), whole(right)) {
                return Some(a.cmp(&b));
            }
            left.number()?.partial_cmp(&right.number()?)
        }
        (Item::Double(_), _) | (_, Item::Double(_)) => left.number()?.partial_cmp(&right.number()?),
        (Item::Bool(a), other) | (other, Item::Bool(a)) => {
            let b = match other {
                Item::Bool(b) => *b,
                other => matches!(other.text().trim(), "true" | "1"),
            };
            let order = a.cmp(&b);
            Some(if matches!(left, Item::Bool(_)) { order } else { order.reverse() })
        }
        _ => Some(left.text().cmp(&right.text())),
    }
}

/// Returns whether any pair of items satisfies a comparison.
fn compare(op: Comparison, left: &Sequence, right: &Sequence, cancel: &Cancel) -> Result<Sequence> {
    let node_order = |wanted: &dyn Fn(&Item, &Item) -> bool| match (left.first(), right.first()) {
        (Some(a), Some(b)) => vec![Item::Bool(wanted(a, b))],
        _ => Vec::new(),
    };
    let place = |item: &Item| match item {
        Item::Node(document, node) => (Arc::as_ptr(document).addr(), *node),
        _ => (0, 0),
    };
    match op {
        Comparison::Is => return Ok(node_order(&same_node)),
        Comparison::Precedes => return Ok(node_order(&|a, b| place(a) < place(b))),
        Comparison::Follows => return Ok(node_order(&|a, b| place(a) > place(b))),
        _ => {}
    }
    let holds = |order: Ordering| match op {
        Comparison::Equal => order.is_eq(),
        Comparison::NotEqual => order.is_ne(),
        Comparison::Less => order.is_lt(),
        Comparison::LessOrEqual => order.is_le(),
        Comparison::Greater => order.is_gt(),
        Comparison::GreaterOrEqual => order.is_ge(),
        Comparison::Is | Comparison::Precedes | Comparison::Follows => false,
    };
    let right: Vec<Item> = right.iter().map(Item::atomized).collect();
    if let Some(any) = compare_texts(op, left, &right, cancel)? {
        return Ok(vec![Item::Bool(any)]);
    }
    let mut pace = Pace::new();
    let any = left.iter().map(Item::atomized).any(|a| {
        // The pairs may be many; what is found once the statement is cancelled is not used.
        cancel.is_set()
            || right.iter().any(|b| {
                pace.tick();
                order_values(&a, b).is_some_and(holds)
            })
    });
    if cancel.is_set() { Err(cancelled()) } else { Ok(vec![Item::Bool(any)]) }
}

/// Compares many texts with many in the time of a sort; `None` if there are few, or if some are not
/// compared as text. A comparison of each pair would take the product of both lengths.
fn compare_texts(
    op: Comparison,
    left: &Sequence,
    right: &[Item],
    cancel: &Cancel,
) -> Result<Option<bool>> {
    const FEW: usize = 8;
    let is_text = |item: &Item| match item {
        Item::Text(_) | Item::Untyped(_) | Item::Base64(_) | Item::Hex(_) | Item::Node(..) => true,
        Item::Integer(_) | Item::Double(_) | Item::Bool(_) => false,
    };
    let is_long = left.len() > FEW && right.len() > FEW;
    if !is_long || !left.iter().all(is_text) || !right.iter().all(is_text) {
        return Ok(None);
    }
    let mut right: Vec<String> = right.iter().map(Item::text).collect();
    interruptible(cancel, |comparisons| {
        right.sort_unstable_by(|a, b| {
            comparisons.compared(a.len().min(b.len()));
            a.cmp(b)
        });
    })?;
    let (Some(least), Some(greatest)) = (right.first(), right.last()) else { return Ok(None) };
    Ok(Some(left.iter().map(Item::text).any(|text| match op {
        Comparison::Equal => right.binary_search(&text).is_ok(),
        Comparison::NotEqual => text != *least || text != *greatest,
        Comparison::Less => text < *greatest,
        Comparison::LessOrEqual => text <= *greatest,
        Comparison::Greater => text > *least,
        Comparison::GreaterOrEqual => text >= *least,
        Comparison::Is | Comparison::Precedes | Comparison::Follows => false,
    })))
}

/// Computes an arithmetic operator; empty if an operand is empty or not numeric.
fn arithmetic(op: Operator, left: &Sequence, right: &Sequence) -> Option<Item> {
    let (left, right) = (left.first()?.atomized(), right.first()?.atomized());
    if let (Item::Integer(a), Item::Integer(b)) = (&left, &right) {
        let whole = match op {
            Operator::Add => a.checked_add(*b),
            Operator::Subtract => a.checked_sub(*b),
            Operator::Multiply => a.checked_mul(*b),
            Operator::Modulo => a.checked_rem(*b),
            Operator::Divide => a.checked_rem(*b).filter(|r| *r == 0).map(|_| a / b),
        };
        if let Some(whole) = whole {
            return Some(Item::Integer(whole));
        }
    }
    let (a, b) = (left.number()?, right.number()?);
    Some(Item::Double(match op {
        Operator::Add => a + b,
        Operator::Subtract => a - b,
        Operator::Multiply => a * b,
        Operator::Divide => a / b,
        Operator::Modulo => a % b,
    }))
}
