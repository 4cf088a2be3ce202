//! `Op`: an operator of a plan as it is shown, made from a bound tree.
//!
//! ```text
//!   Node (what runs) ─► Builder ─► Op (names, texts, prepared XML) ─► rows.rs | xml.rs
//! ```
//!
//! Operators have SQL Server's names. SQL Server lists first the input of a hash join that is read
//! into the table. Here that is the right input of the bound tree, or the left one if the inputs
//! are exchanged.

use std::fmt::Write as _;

use sos::clock;

use crate::detail::clustered_of;
use crate::profile::{Count, Profile, address};
use crate::scalar::{Column, Names};
use ::executor::parallel::{Regions, Role};
use ::optimizer::{Estimate, estimate};
use ::plan::expr::{Expr, ExprKind};
use ::plan::query::{
    Access, BulkScan, Join, JoinKind, JoinMethod, Node, Query, Scan, SetKind, SetOperation,
    TableSource,
};
use ::plan::walk;
use ::session::live_profile::LiveObject;
use ::vectorized::{Course, course};

/// An operator as plans show it.
#[derive(Debug, Default)]
pub struct Op {
    pub physical: &'static str,
    pub logical: &'static str,
    /// The column `Argument`: `OBJECT:(..), WHERE:(..)`.
    pub argument: String,
    /// The end of that text: the order of an index.
    pub tail: &'static str,
    /// The column `DefinedValues`: the expressions that it computes.
    pub defined: String,
    /// `OutputList`: the columns that it returns.
    pub output: Vec<Column>,
    pub rows: f64,
    pub row_bytes: f64,
    /// `EstimateIO`: its I/O cost, without its inputs.
    pub io: f64,
    pub cpu: f64,
    /// `TotalSubtreeCost`: its cost with its inputs.
    pub cost: f64,
    pub executions: f64,
    /// `TableCardinality`: rows of the table that it reads.
    pub table_rows: Option<f64>,
    /// Name of its XML element, the element's attributes, and its content before and after the
    /// inputs.
    pub element: &'static str,
    pub attributes: String,
    pub before: String,
    pub after: String,
    pub inputs: Vec<Op>,
    /// Operators of subqueries in its expressions, in the order of their marks in `before` and
    /// `after`.
    pub subplans: Vec<Op>,
    /// Counts of the run; `None` for an estimated plan.
    pub actual: Option<Actual>,
    /// Addresses of what counts for it while it runs: its node, and the scan in the node.
    pub addresses: Vec<usize>,
    /// What it reads, if it is a scan of a table.
    pub object: Option<LiveObject>,
}

/// What an operator did while the statement ran.
#[derive(Clone, Copy, Debug)]
pub struct Actual {
    pub rows: u64,
    pub executions: u64,
    /// Rows that storage returned to it, if it is a scan.
    pub reads: Option<u64>,
    /// Row groups of a file that it read and skipped.
    pub segments: Option<(usize, usize)>,
    pub elapsed_ms: u64,
}

impl Op {
    pub fn new(physical: &'static str, logical: &'static str, element: &'static str) -> Self {
        Self { physical, logical, element, executions: 1.0, ..Self::default() }
    }

    /// Appends a part to `argument`.
    pub fn argue(&mut self, part: &str) {
        if !self.argument.is_empty() {
            self.argument.push_str(", ");
        }
        self.argument.push_str(part);
    }
}

/// The part of an operator's XML that an expression is written to.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Part {
    /// Before the inputs of the operator.
    Before,
    /// After the inputs of the operator.
    After,
}

/// Makes the operators of a tree.
pub(crate) struct Builder<'p> {
    pub names: Names<'p>,
    pub profile: Option<&'p Profile>,
    /// The regions that run on several schedulers.
    pub regions: Option<Regions>,
}

impl Builder<'_> {
    /// Makes the operators of a query, with a Compute Scalar for its output on top.
    pub(crate) fn query(&mut self, query: &Query, executions: f64) -> Op {
        let input = self.node(&query.root, executions);
        let exprs: Vec<&Expr> = query.output.iter().map(|c| &c.expr).collect();
        self.outputs(input, &exprs)
    }

    /// Adds a Compute Scalar above an operator, if the output has more than its columns.
    pub(crate) fn outputs(&mut self, input: Op, exprs: &[&Expr]) -> Op {
        let columns = |names: &mut Names<'_>| -> Vec<Column> {
            exprs.iter().filter_map(|e| bare(e, names)).collect()
        };
        if exprs.iter().all(|e| matches!(e.kind, ExprKind::Column(_))) {
            return Op { output: columns(&mut self.names), ..input };
        }
        let mut op = Op::new("Compute Scalar", "Compute Scalar", "ComputeScalar");
        op.output = columns(&mut self.names);
        let computed = exprs.iter().filter(|e| !matches!(e.kind, ExprKind::Column(_)));
        let defined: Vec<(Column, &Expr)> =
            computed.map(|e| (self.names.fresh("Expr"), *e)).collect();
        self.define(&mut op, &defined);
        op.output.extend(defined.into_iter().map(|(column, _)| column));
        inherit(&mut op, &input);
        op.inputs.push(input);
        op
    }

    /// Makes an operator with all operators below it; `executions` is how often it is opened.
    pub(crate) fn node(&mut self, node: &Node, executions: f64) -> Op {
        let mut op = self.shape(node, executions);
        let Estimate { rows, row_bytes, cpu, io } = estimate(node);
        let below = |cost: fn(&Op) -> f64| -> f64 {
            op.inputs.iter().map(|i| cost(i) * (i.executions / executions).max(1.0)).sum()
        };
        let own = |whole: f64, below: f64| (whole - below).max(0.0);
        let inputs = below(|i| i.cost);
        (op.cpu, op.io) = (own(cpu + io, inputs + io), own(io, below(|i| i.io)));
        op.cost = (cpu + io).max(inputs);
        (op.rows, op.row_bytes, op.executions) = (rows, row_bytes, executions);
        op.actual = self.actual(node);
        op.addresses = vec![address(node)];
        if let Node::Scan(scan) = node {
            op.addresses.push(std::ptr::from_ref(&**scan).addr());
            op.object = object_of(scan);
        }
        self.parallel(node, op)
    }

    /// Adds a Gather Streams above an operator that is the top of a region. An aggregate becomes a
    /// partial one in each worker, whose groups are gathered and merged.
    fn parallel(&self, node: &Node, mut op: Op) -> Op {
        let Some(regions) = &self.regions else { return op };
        if regions.has(address(node), Role::Gather) || regions.has(address(node), Role::Load) {
            return gather(op);
        }
        let Node::Aggregate(aggregate) = node else { return op };
        if regions.has(std::ptr::from_ref(&**aggregate).addr(), Role::Aggregate) {
            let mut part = Op::new(op.physical, "Partial Aggregate", op.element);
            part.argument.clone_from(&op.argument);
            part.defined.clone_from(&op.defined);
            part.output.clone_from(&op.output);
            part.before.clone_from(&op.before);
            (part.rows, part.row_bytes, part.executions) = (op.rows, op.row_bytes, op.executions);
            (part.cpu, part.io, part.cost) = (op.cpu, op.io, op.cost);
            part.inputs = std::mem::take(&mut op.inputs);
            op.cpu = 0.0;
            op.inputs.push(gather(part));
        }
        op
    }

    fn actual(&self, node: &Node) -> Option<Actual> {
        let profile = self.profile?;
        let count = profile.count(address(node));
        let reads = match node {
            Node::Scan(scan) => Some(profile.reads(std::ptr::from_ref(&**scan).addr())),
            _ => None,
        };
        let segments = match node {
            Node::Bulk(scan) => profile.groups_of(scan).map(|groups| (groups.read, groups.skipped)),
            _ => None,
        };
        let elapsed_ms = clock::ticks_to_ns(count.ticks) / 1_000_000;
        let Count { rows, executions, .. } = count;
        Some(Actual { rows, executions, reads, segments, elapsed_ms })
    }

    fn bulk(&mut self, scan: &BulkScan) -> Op {
        let registers: Vec<_> = scan.columns.iter().map(|column| column.1).collect();
        self.function("OPENROWSET(BULK)", &[], &registers)
    }

    fn shape(&mut self, node: &Node, executions: f64) -> Op {
        match node {
            Node::OneRow | Node::Empty => Op::new("Constant Scan", "Constant Scan", "ConstantScan"),
            Node::Scan(scan) => self.scan(scan),
            Node::View(view) => self.view(view),
            Node::Values(values) => self.values(values),
            Node::Function(function) => {
                let name = function.function.name.to_ascii_lowercase();
                self.function(&name, &function.arguments, &function.registers)
            }
            Node::Bulk(scan) => self.bulk(scan),
            Node::UserFunction(function) => {
                let name =
                    crate::scalar::bracketed(&[&function.module.schema, &function.module.name]);
                self.function(&name, &function.arguments, &function.registers)
            }
            Node::Filter(filter) => {
                let input = self.node(&filter.0, executions);
                let mut op = Op::new("Filter", "Filter", "Filter");
                op.attributes = " StartupExpression=\"0\"".to_owned();
                op.output = input.output.clone();
                op.inputs.push(input);
                self.predicate(&mut op, "WHERE", "Predicate", &filter.1, Part::After);
                op
            }
            Node::Join(join) => self.join(join, executions),
            Node::Aggregate(aggregate) => self.aggregate(aggregate, executions),
            Node::Window(window) => self.window(window, executions),
            Node::Sort(sort) => self.sort(sort, executions),
            Node::Distinct(distinct) => self.distinct(&distinct.0, &distinct.1, executions),
            Node::Limit(limit) => self.limit(limit, executions),
            Node::SetOperation(operation) => self.set(operation, executions),
            Node::Recursive(recursive) => {
                for register in &recursive.registers {
                    let column = self.names.fresh("Recr");
                    self.names.define(*register, column);
                }
                let mut op = Op::new("Concatenation", "Concatenation", "Concat");
                op.inputs.push(self.query(&recursive.anchor, executions));
                op.inputs.push(self.query(&recursive.step, executions));
                op.output = self.columns(&recursive.registers);
                op
            }
            Node::Spool(spool) => self.spool(spool),
            Node::WorkTable(_, registers) => {
                let mut op = Op::new("Table Spool", "Lazy Spool", "Spool");
                op.attributes = " Stack=\"1\"".to_owned();
                op.output = self.columns(registers);
                op
            }
            Node::Document(document) => {
                let mut op = Op::new("UDX", "UDX", "Udx");
                let name = if document.is_json() { "FOR JSON" } else { "FOR XML" };
                let _ = write!(op.attributes, " UDXName=\"{name}\"");
                op.inputs.push(self.query(&document.query, executions));
                op.output = vec![self.names.of(document.register)];
                op
            }
            Node::Compute(compute) => {
                let input = self.node(&compute.0, executions);
                let mut op = Op::new("Compute Scalar", "Compute Scalar", "ComputeScalar");
                op.output = input.output.clone();
                op.inputs.push(input);
                let computed = compute.1.iter();
                let defined: Vec<_> =
                    computed.map(|(register, e)| (self.names.of(*register), e)).collect();
                self.define(&mut op, &defined);
                op.output.extend(defined.into_iter().map(|(column, _)| column));
                op
            }
        }
    }

    fn join(&mut self, join: &Join, executions: f64) -> Op {
        let left = self.node(&join.left, executions);
        match &join.method {
            JoinMethod::Loop => {
                let right = self.node(&join.right, executions * left.rows.max(1.0));
                let logical = match join.kind {
                    JoinKind::Inner => "Inner Join",
                    JoinKind::Left => "Left Outer Join",
                    JoinKind::Full => "Full Outer Join",
                    JoinKind::Semi => "Left Semi Join",
                    JoinKind::Anti => "Left Anti Semi Join",
                };
                let mut op = Op::new("Nested Loops", logical, "NestedLoops");
                op.attributes = " Optimized=\"0\"".to_owned();
                op.output = outputs_of(join.kind, &left, &right);
                if let Some(on) = &join.on {
                    self.predicate(&mut op, "WHERE", "Predicate", on, Part::Before);
                }
                self.outer_references(join, &mut op);
                op.inputs = vec![left, right];
                op
            }
            JoinMethod::Hash(keys) => self.hash_join(join, keys, left, executions),
        }
    }

    fn hash_join(&mut self, join: &Join, keys: &[(Expr, Expr)], left: Op, executions: f64) -> Op {
        let right = self.node(&join.right, executions);
        // The input that is read into the hash table is listed first.
        let is_exchanged = course(join, keys) == Course::Exchanged;
        let logical = match (join.kind, is_exchanged) {
            (JoinKind::Inner, _) => "Inner Join",
            (JoinKind::Left, false) => "Right Outer Join",
            (JoinKind::Left, true) => "Left Outer Join",
            (JoinKind::Full, _) => "Full Outer Join",
            (JoinKind::Semi, false) => "Right Semi Join",
            (JoinKind::Semi, true) => "Left Semi Join",
            (JoinKind::Anti, false) => "Right Anti Semi Join",
            (JoinKind::Anti, true) => "Left Anti Semi Join",
        };
        let mut op = Op::new("Hash Match", logical, "Hash");
        op.output = outputs_of(join.kind, &left, &right);
        let (of_left, of_right): (Vec<&Expr>, Vec<&Expr>) =
            keys.iter().map(|k| (&k.0, &k.1)).unzip();
        let (build, probe, inputs) = if is_exchanged {
            (of_left, of_right, vec![left, right])
        } else {
            (of_right, of_left, vec![right, left])
        };
        let texts = [&build, &probe].map(|side| self.list(side));
        op.argue(&format!("HASH:({})=({})", texts[0], texts[1]));
        self.key_columns(&mut op, "HashKeysBuild", &build);
        self.key_columns(&mut op, "HashKeysProbe", &probe);
        if let Some(on) = &join.on {
            self.predicate(&mut op, "RESIDUAL", "ProbeResidual", on, Part::Before);
        }
        op.inputs = inputs;
        op
    }

    /// Lists the columns of the left input that the right one reads.
    fn outer_references(&mut self, join: &Join, op: &mut Op) {
        let mut reads = walk::Registers::default();
        walk::visit_node(&join.right, &mut |e| {
            if let ExprKind::Column(register) = e.kind {
                reads.insert(register);
            }
        });
        let live = walk::live(&join.left);
        let outer = live.registers.iter().filter(|r| reads.contains(**r));
        let columns: Vec<Column> = outer.map(|r| self.names.of(*r)).collect();
        if columns.is_empty() {
            return;
        }
        let list = columns.iter().map(Column::text).collect::<Vec<_>>().join(", ");
        op.argue(&format!("OUTER REFERENCES:({list})"));
        op.before.push_str("<OuterReferences>");
        columns.iter().for_each(|column| column.xml(&mut op.before));
        op.before.push_str("</OuterReferences>");
    }

    fn set(&mut self, operation: &SetOperation, executions: f64) -> Op {
        let left = self.query(&operation.left, executions);
        let right = self.query(&operation.right, executions);
        for register in &operation.registers {
            let column = self.names.fresh("Union");
            self.names.define(*register, column);
        }
        let (mut op, inputs) = match operation.kind {
            SetKind::UnionAll => {
                (Op::new("Concatenation", "Concatenation", "Concat"), vec![left, right])
            }
            SetKind::Union => (Op::new("Hash Match", "Union", "Hash"), vec![left, right]),
            // The right side is read into the hash table.
            SetKind::Except => {
                (Op::new("Hash Match", "Right Anti Semi Join", "Hash"), vec![right, left])
            }
            SetKind::Intersect => {
                (Op::new("Hash Match", "Right Semi Join", "Hash"), vec![right, left])
            }
        };
        op.inputs = inputs;
        op.output = self.columns(&operation.registers);
        op
    }
}

/// Returns the table and index that a scan reads; `None` for rows that are in no table of the
/// catalog.
fn object_of(scan: &Scan) -> Option<LiveObject> {
    let TableSource::Table(table) = &scan.table else { return None };
    let place = match &scan.access {
        Access::Full => clustered_of(table),
        Access::Seek { index, .. } | Access::Range { index, .. } | Access::Points { index, .. } => {
            Some(*index)
        }
    };
    let index = place.and_then(|place| table.indexes.get(usize::from(place)));
    let index = index.map_or(i32::from(table.columnstore.is_some()), |index| index.id);
    Some(LiveObject { database: table.database_id, object: table.id, index })
}

/// Adds a Gather Streams above an operator.
fn gather(input: Op) -> Op {
    let mut op = Op::new("Parallelism", "Gather Streams", "Parallelism");
    op.output.clone_from(&input.output);
    inherit(&mut op, &input);
    op.inputs.push(input);
    op
}

/// Returns the column that an expression reads, if it is just a column.
fn bare(expr: &Expr, names: &mut Names<'_>) -> Option<Column> {
    match expr.kind {
        ExprKind::Column(register) => Some(names.of(register)),
        _ => None,
    }
}

/// Copies the estimates of the input to an operator that only adds columns.
pub(crate) fn inherit(op: &mut Op, input: &Op) {
    (op.rows, op.row_bytes, op.executions) = (input.rows, input.row_bytes, input.executions);
    op.cost = input.cost;
    op.actual = input.actual.map(|actual| Actual { reads: None, segments: None, ..actual });
}

fn outputs_of(kind: JoinKind, left: &Op, right: &Op) -> Vec<Column> {
    let mut output = left.output.clone();
    if !matches!(kind, JoinKind::Semi | JoinKind::Anti) {
        output.extend(right.output.iter().cloned());
    }
    output
}
