//! Makes statements as plans show them, with the operators of bound statements.

use crate::missing::{MissingIndex, missing_indexes};
use crate::op::{Actual, Builder, Op, inherit};
use crate::profile::Profile;
use crate::scalar::{Names, SUBPLAN, bracketed};
use ::catalog::{Catalog, TableDef};
use ::executor::parallel::Regions;
use ::plan::expr::Expr;
use ::plan::program::VariableDef;
use ::plan::query::Node;
use ::plan::sink::Command;
use ::plan::statement::{Bound, InsertSource, table_of};
use ::plan::walk;
use ::session::live_profile::LiveOperator;
use ::vectorized::{Degree, Receiver, regions_of};

/// Cost of writing a row, in SQL Server's unit.
const WRITE: f64 = 0.000_001;

/// A statement as plans show it.
#[derive(Debug)]
pub struct Shown {
    /// `StatementId`: its number in the batch.
    pub id: u32,
    /// `StatementText`, as it is in the batch.
    pub text: String,
    /// `StatementType`, such as `SELECT` or `COND`.
    pub kind: &'static str,
    /// Its operators, or the statements inside it.
    pub body: Body,
    /// Name of the procedure that it calls.
    pub callee: String,
    /// `QueryHash`: equal for texts that differ in constants only; `None` without a plan.
    pub query_hash: Option<[u8; 8]>,
    /// `QueryPlanHash`: equal for plans of the same shape; `None` without a plan.
    pub plan_hash: Option<[u8; 8]>,
    /// Times of its run; `None` if it did not run.
    pub spent: Option<Spent>,
    /// Number of schedulers that it may use, or used.
    pub degree: usize,
    /// `MissingIndexes`: the indexes that it would use.
    pub missing: Vec<MissingIndex>,
}

/// The content of a statement.
#[derive(Debug)]
pub enum Body {
    /// No plan and no statements.
    Nothing,
    /// A plan: its topmost operator.
    Plan(Box<Op>),
    /// The statements of the procedure that it calls.
    Call(Vec<Shown>),
    /// IF and WHILE, with the statements of their branches.
    Condition {
        /// The plan of the condition, if it reads tables.
        plan: Option<Box<Op>>,
        /// The statements that run if the condition is true.
        then: Vec<Shown>,
        /// The statements of ELSE.
        otherwise: Vec<Shown>,
    },
}

/// CPU and elapsed time of a statement.
#[derive(Clone, Copy, Debug)]
pub struct Spent {
    /// CPU time of its thread, in milliseconds.
    pub cpu_ms: u64,
    /// Elapsed time, in milliseconds.
    pub elapsed_ms: u64,
}

impl Shown {
    /// Makes a statement without hashes and counts.
    pub fn new(id: u32, text: &str, kind: &'static str, body: Body) -> Self {
        Self {
            id,
            text: text.to_owned(),
            kind,
            body,
            callee: String::new(),
            query_hash: None,
            plan_hash: None,
            spent: None,
            degree: 1,
            missing: Vec::new(),
        }
    }

    /// Makes a bound statement, with its operators and hashes.
    pub fn of_bound(id: u32, text: &str, bound: &Bound, world: &World<'_>) -> Self {
        let body = match world.plan(bound) {
            Some(op) => Body::Plan(Box::new(op)),
            None => Body::Nothing,
        };
        let (query_hash, plan_hash) = ::plan::stats::hashes(text, bound);
        Self {
            query_hash: Some(query_hash),
            plan_hash: Some(plan_hash),
            degree: world.degree_of(bound),
            missing: missing_indexes(world.catalog, bound),
            ..Self::new(id, text, kind_of(bound), body)
        }
    }
}

/// What a plan needs besides the bound statement: names, and the counts of a run.
pub struct World<'p> {
    /// Resolves the names of tables, views and functions.
    pub catalog: &'p Catalog,
    /// Variables of the program, by slot.
    pub variables: &'p [VariableDef],
    /// Counts per operator; `None` for an estimated plan.
    pub profile: Option<&'p Profile>,
    /// Number of rows that the statement changed.
    pub changed: u64,
    /// Number of schedulers that it may use.
    pub degree: Degree,
}

/// Returns `StatementType` of a bound statement.
pub fn kind_of(bound: &Bound) -> &'static str {
    if bound.outer().is_some() {
        return "INSERT";
    }
    match bound {
        Bound::Select(_) | Bound::SelectAssign(_) => "SELECT",
        Bound::SelectInto(into) if into.export.is_some() => "CREATE EXTERNAL TABLE AS SELECT",
        Bound::SelectInto(_) => "SELECT INTO",
        Bound::Insert(_) => "INSERT",
        Bound::Update(_) => "UPDATE",
        Bound::Delete(_) => "DELETE",
        Bound::Instead(instead) if instead.command == Command::UPDATE => "UPDATE",
        Bound::Instead(_) => "DELETE",
        Bound::Merge(_) => "MERGE",
        Bound::Truncate(_) => "TRUNCATE TABLE",
        Bound::Scalar(_) => "ASSIGN",
    }
}

impl World<'_> {
    /// Returns the regions of a statement that run on several schedulers.
    fn regions(&self, bound: &Bound) -> Option<Regions> {
        let (root, receiver) = match bound {
            Bound::Select(select) => (&select.query.root, Receiver::Takes),
            Bound::SelectAssign(select) => (&select.root, Receiver::Assigns),
            Bound::SelectInto(into) => (&into.query.root, Receiver::Takes),
            Bound::Insert(insert) => match &insert.source {
                InsertSource::Query(query) => {
                    let is_loaded = table_of(&insert.target).columnstore.is_some();
                    let receiver = if is_loaded { Receiver::Loads } else { Receiver::Takes };
                    (&query.root, receiver)
                }
                InsertSource::Default => return None,
            },
            Bound::Update(_)
            | Bound::Delete(_)
            | Bound::Instead(_)
            | Bound::Truncate(_)
            | Bound::Merge(_)
            | Bound::Scalar(_) => return None,
        };
        regions_of(root, self.degree, receiver)
    }

    fn degree_of(&self, bound: &Bound) -> usize {
        match self.profile {
            Some(profile) => profile.degree(),
            None => self.regions(bound).map_or(1, |regions| regions.degree),
        }
    }

    /// Returns the operators of a bound statement as views show them while it runs, in the order of
    /// the numbers that plans give them.
    pub fn operators(&self, bound: &Bound) -> Vec<LiveOperator> {
        let mut operators = Vec::new();
        if let Some(root) = self.plan(bound) {
            add_operators(&root, &mut operators);
        }
        operators
    }

    /// Makes the operators of a bound statement; `None` if it has none.
    pub fn plan(&self, bound: &Bound) -> Option<Op> {
        let op = self.plan_of(bound);
        let Some(outer) = bound.outer() else { return op };
        let names = Names::new(self.catalog, self.variables);
        let builder = Builder { names, profile: self.profile, regions: None };
        let table = table_of(&outer.insert.target);
        op.map(|op| self.write(&builder, ["Table Insert", "Insert"], table, op))
    }

    fn plan_of(&self, bound: &Bound) -> Option<Op> {
        let names = Names::new(self.catalog, self.variables);
        let regions = self.regions(bound);
        let mut builder = Builder { names, profile: self.profile, regions };
        match bound {
            Bound::Select(select) => Some(builder.query(&select.query, 1.0)),
            Bound::SelectAssign(select) => {
                let input = builder.node(&select.root, 1.0);
                let exprs: Vec<&Expr> = select.assignments.iter().map(|(_, e)| e).collect();
                Some(builder.outputs(input, &exprs))
            }
            Bound::SelectInto(into) => {
                let input = builder.query(&into.query, 1.0);
                let mut op = match into.export {
                    Some(_) => Op::new("Put", "Insert", "Put"),
                    None => Op::new("Table Insert", "Insert", "Update"),
                };
                op.argue(&format!("OBJECT:({})", bracketed(&[&into.target.object])));
                op.attributes = " DMLRequestSort=\"0\"".to_owned();
                Some(self.over(op, input))
            }
            Bound::Insert(insert) => {
                let input = match &insert.source {
                    InsertSource::Query(query) => builder.query(query, 1.0),
                    InsertSource::Default => builder.node(&Node::OneRow, 1.0),
                };
                let table = table_of(&insert.target);
                Some(self.write(&builder, ["Table Insert", "Insert"], table, input))
            }
            Bound::Update(update) => {
                let input = builder.node(&update.root, 1.0);
                let table = table_of(&update.target);
                Some(self.write(&builder, ["Table Update", "Update"], table, input))
            }
            Bound::Delete(delete) => {
                let input = builder.node(&delete.root, 1.0);
                let table = table_of(&delete.target);
                Some(self.write(&builder, ["Table Delete", "Delete"], table, input))
            }
            Bound::Instead(instead) => Some(builder.node(&instead.root, 1.0)),
            Bound::Merge(merge) => {
                let input = builder.node(&merge.root, 1.0);
                let table = table_of(&merge.target);
                Some(self.write(&builder, ["Table Merge", "Merge"], table, input))
            }
            Bound::Scalar(scalar) if walk::has_own_subquery(&scalar.expr) => {
                let input = builder.node(&Node::OneRow, 1.0);
                Some(builder.outputs(input, &[&scalar.expr]))
            }
            Bound::Scalar(_) | Bound::Truncate(_) => None,
        }
    }

    fn write(
        &self,
        builder: &Builder<'_>,
        [physical, logical]: [&'static str; 2],
        table: &TableDef,
        input: Op,
    ) -> Op {
        let mut op = Op::new(physical, logical, "Update");
        let [database, schema, name] = builder.names.table(table);
        op.argue(&format!("OBJECT:({})", bracketed(&[&database, &schema, &name])));
        op.attributes = " DMLRequestSort=\"0\"".to_owned();
        builder.object(&mut op, table, None);
        self.over(op, input)
    }

    /// Puts a writing operator above its input.
    fn over(&self, mut op: Op, input: Op) -> Op {
        inherit(&mut op, &input);
        op.cpu = input.rows * WRITE;
        op.cost += op.cpu;
        op.actual = op.actual.map(|actual| Actual { rows: self.changed, executions: 1, ..actual });
        op.inputs.push(input);
        op
    }
}

/// Adds an operator and those below it, numbered as documents number them: subqueries of what is
/// written before the inputs come before these. Returns its place.
fn add_operators(op: &Op, operators: &mut Vec<LiveOperator>) -> usize {
    let place = operators.len();
    operators.push(LiveOperator {
        physical: op.physical,
        addresses: op.addresses.clone(),
        counted_at: (!op.addresses.is_empty()).then_some(place),
        rows: op.rows,
        object: op.object,
        reads: op.table_rows.filter(|_| op.object.is_some()),
    });
    let before = op.before.matches(SUBPLAN).count().min(op.subplans.len());
    let (before, after) = op.subplans.split_at(before);
    for subplan in before {
        add_operators(subplan, operators);
    }
    let inputs: Vec<usize> =
        op.inputs.iter().map(|input| add_operators(input, operators)).collect();
    for subplan in after {
        add_operators(subplan, operators);
    }
    // Each row of its input passes through it.
    let passes_rows = matches!(op.element, "ComputeScalar" | "Put" | "Update");
    if let ([input], true, None) = (&*inputs, passes_rows, operators[place].counted_at) {
        operators[place].counted_at = operators[*input].counted_at;
    }
    place
}
