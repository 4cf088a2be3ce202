//! Writes plans as XML: the documents of SHOWPLAN_XML and STATISTICS XML.
//!
//! Elements and attributes follow the published schema
//! `http://schemas.microsoft.com/sqlserver/2004/07/showplan`. Those without a meaning here are
//! omitted.

use std::fmt::Write as _;

use crate::missing::MissingIndex;
use crate::op::Op;
use crate::scalar::{SUBPLAN, bracketed};
use crate::statement::{Body, Shown};

/// Namespace of the documents.
const NAMESPACE: &str = "http://schemas.microsoft.com/sqlserver/2004/07/showplan";
/// Version of the schema, that of SQL Server 2022.
const VERSION: &str = "1.564";

/// Escapes text for an attribute. Characters that XML does not allow are removed.
pub(crate) fn escape(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    for c in text.chars() {
        match c {
            '&' => out.push_str("&amp;"),
            '<' => out.push_str("&lt;"),
            '>' => out.push_str("&gt;"),
            '"' => out.push_str("&quot;"),
            '\r' => out.push_str("&#xd;"),
            '\n' => out.push_str("&#xa;"),
            '\t' => out.push_str("&#x9;"),
            c if c < ' ' || c == '\u{fffe}' || c == '\u{ffff}' => {}
            c => out.push(c),
        }
    }
    out
}

/// Writes an attribute, with the blank before it.
pub(crate) fn attribute(name: &str, value: &str, out: &mut String) {
    // Writing to a String can't fail, here and below.
    let _ = write!(out, " {name}=\"{}\"", escape(value));
}

/// Formats a number as SQL Server does: six digits, without trailing zeros.
pub(crate) fn number(value: f64) -> String {
    if value != 0.0 && value.abs() < 1e-4 {
        return format!("{value:.5e}");
    }
    let text = format!("{value:.6}");
    text.trim_end_matches('0').trim_end_matches('.').to_owned()
}

/// Returns the document of a batch's statements.
pub(crate) fn document(statements: &[Shown], build: &str) -> String {
    let mut out = format!("<ShowPlanXML xmlns=\"{NAMESPACE}\" Version=\"{VERSION}\"");
    attribute("Build", build, &mut out);
    out.push_str("><BatchSequence><Batch><Statements>");
    statements.iter().for_each(|s| statement(s, &mut out));
    out + "</Statements></Batch></BatchSequence></ShowPlanXML>"
}

fn statement(shown: &Shown, out: &mut String) {
    let name = match shown.body {
        Body::Plan(_) | Body::Nothing | Body::Call(_) => "StmtSimple",
        Body::Condition { .. } => "StmtCond",
    };
    let _ = write!(out, "<{name}");
    attribute("StatementText", &shown.text, out);
    attribute("StatementId", &shown.id.to_string(), out);
    attribute("StatementCompId", &shown.id.to_string(), out);
    attribute("StatementType", shown.kind, out);
    if let Body::Plan(root) | Body::Condition { plan: Some(root), .. } = &shown.body {
        attribute("StatementSubTreeCost", &number(root.cost), out);
        attribute("StatementEstRows", &number(root.rows), out);
        attribute("StatementOptmLevel", "FULL", out);
        if let Some(hash) = &shown.query_hash {
            attribute("QueryHash", &hex(hash), out);
        }
        if let Some(hash) = &shown.plan_hash {
            attribute("QueryPlanHash", &hex(hash), out);
        }
    }
    match &shown.body {
        Body::Nothing => {
            out.push_str("/>");
            return;
        }
        Body::Plan(root) => {
            out.push('>');
            query_plan(root, shown, out);
        }
        Body::Call(inner) => {
            out.push_str("><StoredProc");
            attribute("ProcName", &shown.callee, out);
            out.push_str("><Statements>");
            inner.iter().for_each(|s| statement(s, out));
            out.push_str("</Statements></StoredProc>");
        }
        Body::Condition { plan, then, otherwise } => {
            out.push_str("><Condition>");
            plan.iter().for_each(|root| query_plan(root, shown, out));
            out.push_str("</Condition><Then><Statements>");
            then.iter().for_each(|s| statement(s, out));
            out.push_str("</Statements></Then>");
            if !otherwise.is_empty() {
                out.push_str("<Else><Statements>");
                otherwise.iter().for_each(|s| statement(s, out));
                out.push_str("</Statements></Else>");
            }
        }
    }
    let _ = write!(out, "</{name}>");
}

fn hex(hash: &[u8]) -> String {
    hash.iter().fold(String::from("0x"), |text, byte| text + &format!("{byte:02X}"))
}

fn query_plan(root: &Op, shown: &Shown, out: &mut String) {
    let _ = write!(out, "<QueryPlan DegreeOfParallelism=\"{}\">", shown.degree);
    if !shown.missing.is_empty() {
        out.push_str("<MissingIndexes>");
        shown.missing.iter().for_each(|index| missing_index(index, out));
        out.push_str("</MissingIndexes>");
    }
    if let Some(spent) = &shown.spent {
        let _ = write!(
            out,
            "<QueryTimeStats CpuTime=\"{}\" ElapsedTime=\"{}\"/>",
            spent.cpu_ms, spent.elapsed_ms
        );
    }
    let mut next = 0;
    operator(root, false, &mut next, out);
    out.push_str("</QueryPlan>");
}

fn missing_index(index: &MissingIndex, out: &mut String) {
    let _ = write!(out, "<MissingIndexGroup Impact=\"{:.4}\"><MissingIndex", index.impact);
    attribute("Database", &bracketed(&[&index.database]), out);
    attribute("Schema", &bracketed(&[&index.table.schema]), out);
    attribute("Table", &bracketed(&[&index.table.name]), out);
    out.push('>');
    for (usage, columns) in index.usages() {
        let _ = write!(out, "<ColumnGroup Usage=\"{usage}\">");
        for column in columns {
            out.push_str("<Column");
            let name = &index.table.columns[usize::from(*column)].name;
            attribute("Name", &bracketed(&[name]), out);
            attribute("ColumnId", &(column + 1).to_string(), out);
            out.push_str("/>");
        }
        out.push_str("</ColumnGroup>");
    }
    out.push_str("</MissingIndex></MissingIndexGroup>");
}

/// Writes a `RelOp` element with all below it; `next` is the number of the next one.
fn operator(op: &Op, is_parallel: bool, next: &mut u32, out: &mut String) {
    out.push_str("<RelOp");
    attribute("NodeId", &next.to_string(), out);
    *next += 1;
    attribute("PhysicalOp", op.physical, out);
    attribute("LogicalOp", op.logical, out);
    attribute("EstimateRows", &number(op.rows), out);
    attribute("EstimateIO", &number(op.io), out);
    attribute("EstimateCPU", &number(op.cpu), out);
    attribute("AvgRowSize", &format!("{:.0}", op.row_bytes), out);
    attribute("EstimatedTotalSubtreeCost", &number(op.cost), out);
    if let Some(rows) = op.table_rows {
        attribute("TableCardinality", &number(rows), out);
    }
    let is_parallel = is_parallel || op.physical == "Parallelism";
    attribute("Parallel", if is_parallel { "1" } else { "0" }, out);
    attribute("EstimateRebinds", &number((op.executions - 1.0).max(0.0)), out);
    attribute("EstimateRewinds", "0", out);
    attribute("EstimatedExecutionMode", "Row", out);
    out.push_str("><OutputList>");
    op.output.iter().for_each(|column| column.xml(out));
    out.push_str("</OutputList>");
    run_time(op, out);
    let _ = write!(out, "<{}{}>", op.element, op.attributes);
    let mut subplans = op.subplans.iter();
    with_subplans(&op.before, &mut subplans, next, out);
    op.inputs.iter().for_each(|input| operator(input, is_parallel, next, out));
    with_subplans(&op.after, &mut subplans, next, out);
    let _ = write!(out, "</{}></RelOp>", op.element);
}

/// Writes prepared XML, and the operators of subqueries at their marks.
fn with_subplans<'o>(
    prepared: &str,
    subplans: &mut impl Iterator<Item = &'o Op>,
    next: &mut u32,
    out: &mut String,
) {
    let mut parts = prepared.split(SUBPLAN);
    out.push_str(parts.next().unwrap_or_default());
    for part in parts {
        if let Some(subplan) = subplans.next() {
            operator(subplan, false, next, out);
        }
        out.push_str(part);
    }
}

fn run_time(op: &Op, out: &mut String) {
    let Some(actual) = &op.actual else { return };
    out.push_str("<RunTimeInformation><RunTimeCountersPerThread Thread=\"0\"");
    attribute("ActualRows", &actual.rows.to_string(), out);
    if let Some(reads) = actual.reads {
        attribute("ActualRowsRead", &reads.to_string(), out);
        attribute("ActualLogicalReads", &reads.to_string(), out);
        attribute("ActualScans", &actual.executions.to_string(), out);
    }
    if let Some((read, skipped)) = actual.segments {
        attribute("SegmentReads", &read.to_string(), out);
        attribute("SegmentSkips", &skipped.to_string(), out);
    }
    attribute("ActualEndOfScans", &actual.executions.to_string(), out);
    attribute("ActualExecutions", &actual.executions.to_string(), out);
    attribute("ActualExecutionMode", "Row", out);
    attribute("ActualElapsedms", &actual.elapsed_ms.to_string(), out);
    out.push_str("/></RunTimeInformation>");
}
