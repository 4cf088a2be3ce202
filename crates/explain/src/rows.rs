//! Plans as rows: SHOWPLAN_TEXT, SHOWPLAN_ALL and STATISTICS PROFILE.

use types::value::ColumnType;
use types::{Collation, DataType, Length, Value};

use crate::op::Op;
use crate::scalar::Column;
use crate::statement::{Body, Shown};
use ::plan::sink::{ColumnInfo, Traits};

/// The columns of the rows.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Detail {
    /// The columns of SHOWPLAN_ALL: estimates.
    Estimates,
    /// STATISTICS PROFILE: the same, after `Rows` and `Executes`.
    Actuals,
}

/// Makes a nullable result column.
pub fn column(name: &str, data_type: DataType) -> ColumnInfo {
    let column_type = ColumnType { data_type, collation: Collation::default(), nullable: true };
    ColumnInfo { name: name.into(), column_type, traits: Traits::default(), updatable: false }
}

/// Returns the columns of the result set.
pub fn columns(detail: Detail) -> Vec<ColumnInfo> {
    let text = |length: u16| DataType::NVarChar(Length::Limited(length));
    let mut columns = match detail {
        Detail::Estimates => Vec::new(),
        Detail::Actuals => {
            vec![column("Rows", DataType::BigInt), column("Executes", DataType::BigInt)]
        }
    };
    columns.extend([
        column("StmtText", DataType::NVarChar(Length::Max)),
        column("StmtId", DataType::Int),
        column("NodeId", DataType::Int),
        column("Parent", DataType::Int),
        column("PhysicalOp", text(128)),
        column("LogicalOp", text(128)),
        column("Argument", DataType::NVarChar(Length::Max)),
        column("DefinedValues", DataType::NVarChar(Length::Max)),
        column("EstimateRows", DataType::Real),
        column("EstimateIO", DataType::Real),
        column("EstimateCPU", DataType::Real),
        column("AvgRowSize", DataType::Int),
        column("TotalSubtreeCost", DataType::Real),
        column("OutputList", DataType::NVarChar(Length::Max)),
        column("Warnings", DataType::NVarChar(Length::Max)),
        column("Type", text(64)),
        column("Parallel", DataType::Bit),
        column("EstimateExecutions", DataType::Real),
    ]);
    columns
}

/// Makes the rows of statements, each followed by the rows of its operators.
pub fn rows(statements: &[Shown], detail: Detail) -> Vec<Vec<Value>> {
    let mut table = Table { detail, rows: Vec::new(), node: 1 };
    statements.iter().for_each(|s| table.statement(s, 0));
    table.rows
}

/// Returns the text of a statement's operators, one line each, including statements inside it.
pub fn lines(shown: &Shown) -> Vec<String> {
    let mut lines = Vec::new();
    match &shown.body {
        Body::Nothing => {}
        Body::Plan(root) => tree(root, &mut lines),
        Body::Call(inner) => inner.iter().for_each(|s| lines.extend(with_text(s))),
        Body::Condition { plan, then, otherwise } => {
            plan.iter().for_each(|root| tree(root, &mut lines));
            then.iter().chain(otherwise).for_each(|s| lines.extend(with_text(s)));
        }
    }
    lines
}

fn with_text(shown: &Shown) -> Vec<String> {
    let mut all = vec![shown.text.clone()];
    all.extend(lines(shown));
    all
}

fn tree(root: &Op, lines: &mut Vec<String>) {
    walk(root, "  ", Next::Nothing, &mut |line, _| lines.push(line));
}

/// Whether a sibling follows an operator on its level.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Next {
    Sibling,
    Nothing,
}

/// Calls `see` with an operator and all below it, each with its line of text.
fn walk<'o>(op: &'o Op, indent: &str, next: Next, see: &mut dyn FnMut(String, &'o Op)) {
    see(format!("{indent}|--{}", describe(op)), op);
    // A bar connects to siblings that follow.
    let bar = if next == Next::Sibling { '|' } else { ' ' };
    let below = format!("{indent}{bar}    ");
    let count = op.inputs.len() + op.subplans.len();
    for (i, input) in op.inputs.iter().chain(&op.subplans).enumerate() {
        let next = if i + 1 < count { Next::Sibling } else { Next::Nothing };
        walk(input, &below, next, see);
    }
}

/// Formats an operator: `Hash Match(Inner Join, HASH:(..)=(..))`.
fn describe(op: &Op) -> String {
    let mut parts = Vec::new();
    // Other operators show no logical name: it equals the physical one.
    if matches!(op.physical, "Nested Loops" | "Hash Match" | "Parallelism") {
        parts.push(op.logical);
    }
    if !op.argument.is_empty() {
        parts.push(&op.argument);
    }
    if parts.is_empty() {
        op.physical.to_owned()
    } else {
        format!("{}({})", op.physical, parts.join(", "))
    }
}

struct Table {
    detail: Detail,
    rows: Vec<Vec<Value>>,
    /// `NodeId` of the next row.
    node: i32,
}

impl Table {
    fn next(&mut self) -> i32 {
        self.node += 1;
        self.node - 1
    }

    fn statement(&mut self, shown: &Shown, parent: i32) {
        let node = self.next();
        let root = match &shown.body {
            Body::Plan(root) => Some(&**root),
            Body::Condition { plan, .. } => plan.as_deref(),
            Body::Nothing | Body::Call(_) => None,
        };
        let real = |value: Option<f64>| value.map_or(Value::Null, real);
        let mut row = self.actuals(root);
        row.extend([
            Value::nvarchar(&shown.text),
            id(shown.id),
            Value::Int(node),
            Value::Int(parent),
            Value::Null,
            Value::Null,
            Value::nvarchar("1"),
            Value::Null,
            real(root.map(|r| r.rows)),
            Value::Null,
            Value::Null,
            Value::Null,
            real(root.map(|r| r.cost)),
            Value::Null,
            Value::Null,
            Value::nvarchar(shown.kind),
            Value::Bit(false),
            Value::Null,
        ]);
        self.rows.push(row);
        if let Some(root) = root {
            self.plan(root, shown.id, node);
        }
        match &shown.body {
            Body::Call(inner) => inner.iter().for_each(|s| self.statement(s, node)),
            Body::Condition { then, otherwise, .. } => {
                then.iter().chain(otherwise).for_each(|s| self.statement(s, node));
            }
            Body::Plan(_) | Body::Nothing => {}
        }
    }

    fn plan(&mut self, root: &Op, statement: u32, parent: i32) {
        // Row numbers by operator, to find each row's parent.
        let mut nodes = Vec::new();
        let mut found = Vec::new();
        walk(root, "  ", Next::Nothing, &mut |line, op| found.push((line, op)));
        for (line, op) in found {
            let node = self.next();
            let above = nodes.iter().rev().find(|(above, _): &&(&Op, i32)| {
                above.inputs.iter().chain(&above.subplans).any(|below| std::ptr::eq(below, op))
            });
            let above = above.map_or(parent, |(_, node)| *node);
            nodes.push((op, node));
            let row = self.operator(op, line, [Value::Int(node), Value::Int(above)], statement);
            self.rows.push(row);
        }
    }

    fn operator(
        &self,
        op: &Op,
        line: String,
        [node, parent]: [Value; 2],
        statement: u32,
    ) -> Vec<Value> {
        let list: Vec<String> = op.output.iter().map(Column::text).collect();
        let mut row = self.actuals(Some(op));
        row.extend([
            Value::nvarchar(&line),
            id(statement),
            node,
            parent,
            Value::nvarchar(op.physical),
            Value::nvarchar(op.logical),
            text(&op.argument),
            text(&op.defined),
            real(op.rows),
            real(op.io),
            real(op.cpu),
            Value::Int(bytes(op.row_bytes)),
            real(op.cost),
            text(&list.join(", ")),
            Value::Null,
            Value::nvarchar("PLAN_ROW"),
            Value::Bit(false),
            real(op.executions),
        ]);
        row
    }

    fn actuals(&self, op: Option<&Op>) -> Vec<Value> {
        if self.detail == Detail::Estimates {
            return Vec::new();
        }
        let actual = op.and_then(|op| op.actual);
        let big = |n: Option<u64>| {
            n.and_then(|n| i64::try_from(n).ok()).map_or(Value::Null, Value::BigInt)
        };
        vec![big(actual.map(|a| a.rows)), big(actual.map(|a| a.executions))]
    }
}

fn id(statement: u32) -> Value {
    i32::try_from(statement).map_or(Value::Null, Value::Int)
}

fn text(value: &str) -> Value {
    if value.is_empty() { Value::Null } else { Value::nvarchar(value) }
}

#[expect(clippy::cast_possible_truncation, reason = "an estimate, shown as real")]
fn real(value: f64) -> Value {
    Value::Real(value as f32)
}

#[expect(clippy::cast_possible_truncation, reason = "an estimate of the size of a row")]
fn bytes(value: f64) -> i32 {
    value as i32
}
