//! Bound data statements: what one leaf of a program does when it runs.

use std::sync::Arc;

use types::value::ColumnType;

use crate::catalog::TableDef;
use crate::plan::expr::{Expr, Register, Slot};
use crate::plan::query::{Node, OutputColumn, Query, TableSource};
use crate::sink::ResultShape;

/// A bound leaf.
#[derive(Debug)]
pub enum Bound {
    /// SELECT that returns rows to the client.
    Select(Select),
    /// SELECT @a = .., @b = .. FROM ..: assigns for each row, left to right.
    SelectAssign(SelectAssign),
    /// SELECT .. INTO table.
    SelectInto(SelectInto),
    /// INSERT
    Insert(Insert),
    /// UPDATE
    Update(Update),
    /// DELETE
    Delete(Delete),
    /// MERGE
    Merge(Box<Merge>),
    /// A value: SET @v = .., the condition of IF and WHILE, arguments of EXEC, PRINT, RETURN..
    Scalar(Scalar),
}

/// An expression with the registers it needs (for its subqueries).
#[derive(Debug)]
pub struct Scalar {
    /// The expression.
    pub expr: Expr,
    /// Size of the register file.
    pub registers: u32,
}

/// A SELECT that returns rows.
#[derive(Debug)]
pub struct Select {
    /// The query.
    pub query: Query,
    /// Its columns as the client sees them.
    pub shape: Arc<ResultShape>,
    /// Size of the register file.
    pub registers: u32,
    /// FOR XML / FOR JSON, applied to the rows.
    pub output: SelectOutput,
}

/// How the rows of a SELECT leave.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum SelectOutput {
    /// As rows.
    Rows,
    /// As one XML document.
    ForXml(ForXml),
    /// As one JSON text.
    ForJson(ForJson),
}

/// FOR XML RAW | AUTO | PATH and its options.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ForXml {
    /// RAW, AUTO or PATH.
    pub mode: String,
    /// Element name of a row.
    pub row: Option<String>,
    /// ROOT.
    pub root: Option<String>,
    /// ELEMENTS.
    pub elements: bool,
    /// TYPE.
    pub typed: bool,
}

/// FOR JSON PATH | AUTO and its options.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ForJson {
    /// ROOT.
    pub root: Option<String>,
    /// INCLUDE_NULL_VALUES.
    pub include_nulls: bool,
    /// WITHOUT_ARRAY_WRAPPER.
    pub without_wrapper: bool,
}

/// SELECT @a = .., ..
#[derive(Debug)]
pub struct SelectAssign {
    /// Rows.
    pub root: Node,
    /// Assignments in order; each is visible to the next one.
    pub assignments: Vec<(Slot, Expr)>,
    /// Size of the register file.
    pub registers: u32,
}

/// SELECT .. INTO
#[derive(Debug)]
pub struct SelectInto {
    /// The query.
    pub query: Query,
    /// Name parts of the new table.
    pub target: tsql::ast::ObjectName,
    /// Columns of the new table.
    pub columns: Vec<(String, ColumnType, bool)>,
    /// Size of the register file.
    pub registers: u32,
}

/// OUTPUT of a data-changing statement: over the registers of the old and the new row.
#[derive(Debug)]
pub struct OutputClause {
    /// The columns.
    pub columns: Vec<OutputColumn>,
    /// Where they go.
    pub target: OutputTarget,
    /// `deleted.*`: ordinal and register of the old row's columns.
    pub old: Vec<(u16, Register)>,
    /// `inserted.*`: ordinal and register of the new row's columns.
    pub new: Vec<(u16, Register)>,
}

/// Where OUTPUT rows go.
#[derive(Debug)]
pub enum OutputTarget {
    /// To the client, with these columns.
    Client(Arc<ResultShape>),
    /// OUTPUT .. INTO a table: ordinals of its columns.
    Table(TableSource, Vec<u16>),
}

/// INSERT
#[derive(Debug)]
pub struct Insert {
    /// The table.
    pub target: TableSource,
    /// Per column of the table: where its value comes from.
    pub columns: Vec<InsertValue>,
    /// Rows to insert.
    pub source: InsertSource,
    /// OUTPUT.
    pub output: Option<OutputClause>,
    /// Size of the register file.
    pub registers: u32,
}

/// Rows of an INSERT.
#[derive(Debug)]
pub enum InsertSource {
    /// VALUES, SELECT: rows of the query.
    Query(Query),
    /// DEFAULT VALUES.
    Default,
    /// EXEC: rows of its result sets. The caller runs the EXEC and feeds the rows.
    Execute(Box<tsql::ast::Statement>),
}

/// The value of a column of an inserted row.
#[derive(Debug)]
pub enum InsertValue {
    /// Column of the source by ordinal, through an expression over [`Register`]s that the source's
    /// output was put into: already converted to the column's type.
    Source(Expr),
    /// The column's default, NULL without one.
    Default(Option<Expr>),
    /// The next identity value.
    Identity,
    /// The next rowversion.
    RowVersion,
    /// A computed column, over the new row's registers.
    Computed(Expr),
}

/// UPDATE
#[derive(Debug)]
pub struct Update {
    /// The table.
    pub target: TableSource,
    /// Rows to change; the scan over the target has the row number `row`.
    pub root: Node,
    /// Row number of the target's scan.
    pub row: u32,
    /// Assignments in the order of the SET list.
    pub assignments: Vec<Assignment>,
    /// OUTPUT.
    pub output: Option<OutputClause>,
    /// Columns needed of the old row beyond what the scan decodes for expressions.
    pub old: Vec<(u16, Register)>,
    /// TOP (n).
    pub top: Option<Expr>,
    /// Size of the register file.
    pub registers: u32,
}

/// One item of UPDATE's SET list. Column references on the right read the old row; variables are
/// assigned left to right and visible to later items.
#[derive(Debug)]
pub enum Assignment {
    /// `column = expr`
    Column(u16, Expr),
    /// `@v = expr`: the expression may be a bare column, then it is the old value.
    Variable(Slot, Expr),
    /// `@v = column = expr`: the variable gets the new value.
    VariableAndColumn(Slot, u16, Expr),
    /// `column.WRITE(expr, offset, length)`
    Write(u16, Box<(Expr, Expr, Expr)>),
}

/// DELETE
#[derive(Debug)]
pub struct Delete {
    /// The table.
    pub target: TableSource,
    /// Rows to delete; the scan over the target has the row number `row`.
    pub root: Node,
    /// Row number of the target's scan.
    pub row: u32,
    /// OUTPUT.
    pub output: Option<OutputClause>,
    /// TOP (n).
    pub top: Option<Expr>,
    /// Size of the register file.
    pub registers: u32,
}

/// MERGE
#[derive(Debug)]
pub struct Merge {
    /// The table.
    pub target: TableSource,
    /// Source joined with the target.
    pub root: Node,
    /// Row number of the target's scan.
    pub row: u32,
    /// WHEN clauses in order.
    pub clauses: Vec<MergeClause>,
    /// OUTPUT, `$action` included.
    pub output: Option<OutputClause>,
    /// Register of `$action`.
    pub action: Option<Register>,
    /// Size of the register file.
    pub registers: u32,
}

/// A WHEN clause of MERGE.
#[derive(Debug)]
pub struct MergeClause {
    /// Which rows.
    pub when: MergeWhen,
    /// AND condition.
    pub condition: Option<Expr>,
    /// What to do.
    pub action: MergeAction,
}

/// WHEN [NOT] MATCHED [BY TARGET|SOURCE]
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[expect(missing_docs, reason = "the variants are the grammar's own words")]
pub enum MergeWhen {
    Matched,
    NotMatchedByTarget,
    NotMatchedBySource,
}

/// THEN ..
#[derive(Debug)]
pub enum MergeAction {
    /// UPDATE SET
    Update(Vec<Assignment>),
    /// DELETE
    Delete,
    /// INSERT
    Insert(Vec<InsertValue>),
}

/// Keeps the definition of a table in reach of code that only has its plan.
pub fn table_of(source: &TableSource) -> &Arc<TableDef> {
    match source {
        TableSource::Table(t) | TableSource::Variable(_, t) | TableSource::Trigger(_, t) => t,
    }
}
