//! Bound data statements: what one leaf of a program does when it runs.

use std::sync::Arc;

use types::value::ColumnType;

use crate::expr::{Expr, Register, Slot};
use crate::query::{Node, OutputColumn, Query, TableSource};
use crate::sink::{BrowseColumn, Command, ResultShape, Traits};
use crate::stats::Cost;
use crate::walk;
use catalog::{ExternalPlace, Generated, ModuleDef, TableDef};

/// The plan of one leaf of a program.
#[derive(Debug)]
pub enum Bound {
    /// SELECT that returns rows to the client.
    Select(Select),
    /// SELECT @a = .., @b = .. FROM ..: assigns for each row, left to right.
    SelectAssign(SelectAssign),
    /// SELECT .. INTO table, CREATE EXTERNAL TABLE .. AS SELECT.
    SelectInto(SelectInto),
    /// `INSERT` of VALUES, a query or DEFAULT VALUES.
    Insert(Insert),
    /// `UPDATE` of a table.
    Update(Update),
    /// `DELETE` from a table.
    Delete(Delete),
    /// UPDATE or DELETE of a view with an INSTEAD OF trigger.
    Instead(Instead),
    /// TRUNCATE TABLE of this table.
    Truncate(TableSource),
    /// `MERGE` into a table or view.
    Merge(Box<Merge>),
    /// A value: SET @v = .., the condition of IF and WHILE, arguments of EXEC, PRINT, RETURN ..
    Scalar(Scalar),
}

impl Bound {
    /// Returns the OUTPUT clauses of the statement, and the rows that its triggers need.
    pub fn output(&self) -> &[OutputClause] {
        match self {
            Self::Insert(insert) => &insert.output,
            Self::Update(update) => &update.output,
            Self::Delete(delete) => &delete.output,
            Self::Instead(instead) => &instead.output,
            Self::Merge(merge) => &merge.output,
            Self::Select(_)
            | Self::SelectAssign(_)
            | Self::SelectInto(_)
            | Self::Truncate(_)
            | Self::Scalar(_) => &[],
        }
    }

    /// Returns the INSERT around the statement, if it is a nested one.
    pub fn outer(&self) -> Option<&OuterInsert> {
        self.output().iter().find_map(|clause| match &clause.target {
            OutputTarget::Insert(outer) => Some(&**outer),
            OutputTarget::Client(_) | OutputTarget::Table(_) | OutputTarget::Triggers(_) => None,
        })
    }

    /// Returns the columns that OUTPUT sends to the client, if it sends any.
    pub fn client_shape(&self) -> Option<&Arc<ResultShape>> {
        let outputs = self.outer().map_or(self.output(), |outer| &outer.insert.output[..]);
        outputs.iter().find_map(|output| match &output.target {
            OutputTarget::Client(shape) => Some(shape),
            OutputTarget::Table(_) | OutputTarget::Triggers(_) | OutputTarget::Insert(_) => None,
        })
    }

    /// Returns whether reading the clock would show in the statement's duration.
    pub fn cost(&self) -> Cost {
        let is_plain = |expr: &Expr| !walk::has_subquery(expr);
        let course = match self {
            Self::Select(select)
                if matches!(select.query.root, Node::OneRow)
                    && select.query.output.iter().all(|c| is_plain(&c.expr)) =>
            {
                Course::Point
            }
            Self::Select(select) => select.course,
            Self::SelectAssign(select)
                if matches!(select.root, Node::OneRow)
                    && select.assignments.iter().all(|(_, expr)| is_plain(expr)) =>
            {
                Course::Point
            }
            Self::SelectAssign(select) => select.course,
            Self::Insert(insert) => insert.course,
            Self::Update(update) => update.course,
            Self::Delete(delete) => delete.course,
            Self::Scalar(scalar) if is_plain(&scalar.expr) => Course::Point,
            Self::Scalar(_)
            | Self::SelectInto(_)
            | Self::Truncate(_)
            | Self::Merge(_)
            | Self::Instead(_) => Course::General,
        };
        match course {
            Course::Point => Cost::Cheap,
            Course::General => Cost::Any,
        }
    }
}

/// An expression with the registers it needs (for its subqueries).
#[derive(Debug)]
pub struct Scalar {
    /// The expression to evaluate.
    pub expr: Expr,
    /// Size of the register file.
    pub registers: u32,
}

/// Whether a statement needs a storage transaction.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Course {
    /// It touches one row by a whole unique key and has no subquery: outside of a transaction it
    /// runs on the row itself ([`storage::Table::read_point`] and related functions).
    Point,
    /// Any other statement: it needs a transaction.
    General,
}

/// A SELECT that returns rows.
#[derive(Debug)]
pub struct Select {
    /// Rows and columns to return.
    pub query: Query,
    /// The columns as the client sees them.
    pub shape: Arc<ResultShape>,
    /// Where the columns come from; FOR BROWSE only.
    pub browse: Option<Box<Browse>>,
    /// Size of the register file.
    pub registers: u32,
    /// Whether it can run without a storage transaction.
    pub course: Course,
}

/// The tables of a query with FOR BROWSE, and where its columns come from.
#[derive(Clone, Debug)]
pub struct Browse {
    /// Each table as the parts of its name.
    pub tables: Vec<Vec<String>>,
    /// The columns, those that the client has not asked for last.
    pub columns: Vec<BrowseColumn>,
}

/// SELECT @a = .., ..
#[derive(Debug)]
pub struct SelectAssign {
    /// Operators that produce the rows.
    pub root: Node,
    /// Assignments in order; each is visible to the next one.
    pub assignments: Vec<(Slot, Expr)>,
    /// Size of the register file.
    pub registers: u32,
    /// Whether it can run without a storage transaction.
    pub course: Course,
}

/// SELECT .. INTO, CREATE EXTERNAL TABLE .. AS SELECT
#[derive(Debug)]
pub struct SelectInto {
    /// The query whose rows fill the table.
    pub query: Query,
    /// Name parts of the new table.
    pub target: tsql::ast::ObjectName,
    /// Columns of the new table: name, type and traits.
    pub columns: Vec<(String, ColumnType, Traits)>,
    /// CREATE EXTERNAL TABLE .. AS SELECT only: where the rows are written.
    pub export: Option<Box<Export>>,
    /// Size of the register file.
    pub registers: u32,
}

/// Where CREATE EXTERNAL TABLE .. AS SELECT writes its rows, and how.
#[derive(Debug)]
pub struct Export {
    /// The place of the external table: a folder.
    pub place: ExternalPlace,
    /// How pages are compressed.
    pub compression: parquet_io::Compression,
}

/// OUTPUT of a data-changing statement: over the registers of the old and the new row.
#[derive(Debug)]
pub struct OutputClause {
    /// Columns of the clause, left to right.
    pub columns: Vec<OutputColumn>,
    /// Receiver of the rows.
    pub target: OutputTarget,
}

/// The receiver of OUTPUT rows.
#[derive(Debug)]
pub enum OutputTarget {
    /// The client, with these columns.
    Client(Arc<ResultShape>),
    /// OUTPUT .. INTO a table: the columns' values are the source registers of this INSERT.
    Table(Box<Insert>),
    /// The triggers that the statement fires: all columns of the new row, then of the old one.
    Triggers(Arc<Firing>),
    /// The INSERT around a nested statement.
    Insert(Box<OuterInsert>),
}

/// An INSERT whose rows are what a nested statement outputs.
#[derive(Debug)]
pub struct OuterInsert {
    /// The INSERT; the columns' values are its source registers.
    pub insert: Insert,
    /// WHERE of its SELECT.
    pub filter: Option<Expr>,
    /// `TOP (n) PERCENT` of its SELECT.
    pub percent: Option<Expr>,
}

/// The triggers that a statement fires.
#[derive(Debug)]
pub struct Firing {
    /// What fires them: `INSERT`, `UPDATE` or `DELETE`.
    pub event: &'static str,
    /// The table or view that is changed.
    pub table: Arc<TableDef>,
    /// AFTER triggers, in order.
    pub after: Vec<Arc<ModuleDef>>,
    /// The INSTEAD OF trigger.
    pub instead: Option<Arc<ModuleDef>>,
    /// Whether the triggers get new rows (`inserted`).
    pub inserted: bool,
    /// Whether the triggers get old rows (`deleted`).
    pub deleted: bool,
    /// The columns that the statement names, as COLUMNS_UPDATED() returns them.
    pub updated: Vec<u8>,
}

/// How a new row of a table is completed and checked: part of INSERT, UPDATE and MERGE.
#[derive(Debug, Default)]
pub struct NewRow {
    /// Computed columns, in order: ordinal, register and value.
    pub computed: Vec<(u16, Register, Expr)>,
    /// CHECK constraints: name and predicate.
    pub checks: Vec<(String, Expr)>,
    /// Foreign keys: the referenced rows must exist.
    pub foreign: Vec<Lookup>,
    /// WITH CHECK OPTION of the views that the row is written through.
    pub views: Option<Box<ViewCheck>>,
}

/// What a row that is written through views WITH CHECK OPTION must satisfy.
#[derive(Debug)]
pub struct ViewCheck {
    /// The views' conditions, over the registers of the views' own scans.
    pub predicates: Vec<Expr>,
    /// Pairs of registers that are swapped for the evaluation: a value as the views read it, and
    /// the new row's.
    pub swaps: Vec<(Register, Register)>,
}

/// A check of all rows of a table against its constraints.
#[derive(Debug)]
pub struct Validation {
    /// The table to check.
    pub table: Arc<TableDef>,
    /// A scan of all its rows.
    pub root: Node,
    /// Constraints that each row must satisfy.
    pub row: NewRow,
    /// Size of the register file.
    pub registers: u32,
}

/// A look-up of the row that a foreign key refers to.
#[derive(Debug)]
pub struct Lookup {
    /// Name of the constraint.
    pub constraint: String,
    /// The table referred to.
    pub table: Arc<TableDef>,
    /// Its unique index over the columns referred to.
    pub index: u16,
    /// The values, in the order of that index's key.
    pub key: Vec<Register>,
}

/// INSERT, with the target's columns in table order.
#[derive(Debug)]
pub struct Insert {
    /// Table that receives the rows.
    pub target: TableSource,
    /// Per column of the table: where its value comes from.
    pub columns: Vec<InsertValue>,
    /// Rows to insert: a query, or one row of defaults.
    pub source: InsertSource,
    /// Registers that a row of the source is put into before `columns` are evaluated.
    pub source_registers: Vec<Register>,
    /// First of the new row's registers, one per column of the table.
    pub first: Register,
    /// How the new row is completed.
    pub row: NewRow,
    /// TOP (n): limit of inserted rows.
    pub top: Option<Expr>,
    /// OUTPUT clauses, and the rows for triggers.
    pub output: Vec<OutputClause>,
    /// Size of the register file.
    pub registers: u32,
    /// Whether it is a point statement: one row of values without a subquery.
    pub course: Course,
    /// A statement's rows, or the rebuild of a table.
    pub purpose: Purpose,
}

/// Why rows are inserted.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Purpose {
    /// An INSERT statement adds them.
    Insert,
    /// The table is rebuilt: all rows are compressed if it has a columnstore index.
    Rebuild,
}

/// Rows of an INSERT.
#[derive(Debug)]
pub enum InsertSource {
    /// VALUES, SELECT: rows of the query.
    Query(Query),
    /// DEFAULT VALUES; or rows that the caller brings, into `source_registers`.
    Default,
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
    /// The next `rowversion` of the database.
    RowVersion,
    /// The start or the end of the new row's period.
    Period(Generated),
    /// A computed column: see [`NewRow::computed`].
    Computed,
}

/// UPDATE of a table, or of a view over one table.
#[derive(Debug)]
pub struct Update {
    /// Table whose rows change.
    pub target: TableSource,
    /// Rows to change; the scan over the target has the row number `row`.
    pub root: Node,
    /// Row number of the target's scan.
    pub row: u32,
    /// How the new row is made.
    pub set: SetRow,
    /// OUTPUT clauses, and the rows for triggers.
    pub output: Vec<OutputClause>,
    /// TOP (n): limit of changed rows.
    pub top: Option<Expr>,
    /// Size of the register file.
    pub registers: u32,
    /// Whether it can run without a storage transaction.
    pub course: Course,
    /// Columns that a point statement reads of the row, with their registers: not those that only its
    /// key is compared with.
    pub point_columns: Vec<(u16, Register)>,
}

/// How UPDATE makes a new row of an old one. Columns that change have a register for the new value;
/// for the others the register of the old one is that of the new one too.
#[derive(Debug)]
pub struct SetRow {
    /// First register of the old row.
    pub old: Register,
    /// First register of the new row: only those of `changed` are used.
    pub new: Register,
    /// Assignments in the order of the SET list.
    pub assignments: Vec<Assignment>,
    /// Ordinals of the columns that get a value, computed ones and rowversions included.
    pub changed: Vec<u16>,
    /// Ordinal of a rowversion column.
    pub row_version: Option<u16>,
    /// Ordinal of the column that is the start of the row's period.
    pub period_start: Option<u16>,
    /// Which index keys may change.
    pub keys: storage::Keys,
    /// How the new row is completed.
    pub row: NewRow,
    /// Whether a column that foreign keys of other tables refer to may change.
    pub referenced: bool,
}

/// One item of UPDATE's SET list. Column references on the right read the old row; variables are
/// assigned left to right and visible to later items.
#[derive(Debug)]
pub enum Assignment {
    /// `column = expr`, by ordinal of the column.
    Column(u16, Expr),
    /// `@v = expr`; where the expression is a bare column, it is the old value.
    Variable(Slot, Expr),
    /// `@v = column = expr`: the variable gets the new value, by the second expression over the new
    /// row's register.
    VariableAndColumn(Slot, u16, Expr, Expr),
    /// `column.WRITE(expr, offset, length)`, by ordinal.
    Write(u16, Box<(Expr, Expr, Expr)>),
}

/// UPDATE or DELETE of a view whose INSTEAD OF trigger replaces the statement: the rows are passed
/// to the trigger, and no table is changed.
#[derive(Debug)]
pub struct Instead {
    /// UPDATE or DELETE, for the DONE token.
    pub command: Command,
    /// The view's columns, as the definition of an empty table.
    pub target: TableSource,
    /// Rows of the view, with the new values computed.
    pub root: Node,
    /// The trigger's clause, and OUTPUT INTO.
    pub output: Vec<OutputClause>,
    /// TOP (n): limit of rows.
    pub top: Option<Expr>,
    /// Size of the register file.
    pub registers: u32,
}

/// DELETE from a table, or from a view over one table.
#[derive(Debug)]
pub struct Delete {
    /// Table that loses the rows.
    pub target: TableSource,
    /// Rows to delete; the scan over the target has the row number `row`.
    pub root: Node,
    /// Row number of the target's scan.
    pub row: u32,
    /// OUTPUT clauses, and the rows for triggers.
    pub output: Vec<OutputClause>,
    /// TOP (n): limit of deleted rows.
    pub top: Option<Expr>,
    /// Size of the register file.
    pub registers: u32,
    /// Whether it can run without a storage transaction.
    pub course: Course,
    /// Columns that a point statement reads of the row, with their registers: not those that only its
    /// key is compared with.
    pub point_columns: Vec<(u16, Register)>,
}

/// MERGE, as a join of source and target.
#[derive(Debug)]
pub struct Merge {
    /// Table or view that is changed.
    pub target: TableSource,
    /// Source joined with the target: a FULL or LEFT join whose unmatched sides are NULL.
    pub root: Node,
    /// Row number of the target's scan.
    pub row: u32,
    /// Register that is not NULL where the source has a row.
    pub source_present: Register,
    /// The same for the target, where the scan's row does not show it: a view whose triggers take
    /// the rows.
    pub target_present: Option<Register>,
    /// Row numbers of the scans behind such a view; together they identify one of its rows.
    pub view_rows: Vec<u32>,
    /// WHEN clauses in order.
    pub clauses: Vec<MergeClause>,
    /// OUTPUT clauses, and the rows for triggers.
    pub output: Vec<OutputClause>,
    /// Register that receives `$action`.
    pub action: Register,
    /// First of the registers of `inserted`.
    pub inserted: Register,
    /// First of the registers of `deleted`: those of the target's scan.
    pub deleted: Register,
    /// TOP (n): limit of changed rows.
    pub top: Option<Expr>,
    /// Size of the register file.
    pub registers: u32,
}

/// A WHEN clause of MERGE.
#[derive(Debug)]
pub struct MergeClause {
    /// Matched, or not matched by which side.
    pub when: MergeWhen,
    /// AND condition of the clause.
    pub condition: Option<Expr>,
    /// UPDATE, DELETE or INSERT.
    pub action: MergeAction,
}

/// `WHEN [NOT] MATCHED [BY TARGET|SOURCE]`
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[expect(missing_docs, reason = "the variants are the grammar's own words")]
pub enum MergeWhen {
    Matched,
    NotMatchedByTarget,
    NotMatchedBySource,
}

/// THEN .. of a WHEN clause.
#[derive(Debug)]
pub enum MergeAction {
    /// `UPDATE SET ..` of the matched row.
    Update(SetRow),
    /// `DELETE` of the matched row.
    Delete,
    /// `INSERT` of a new row.
    Insert(MergeInsert),
}

impl MergeAction {
    /// Returns the value of `$action`.
    pub const fn name(&self) -> &'static str {
        match self {
            Self::Update(_) => "UPDATE",
            Self::Delete => "DELETE",
            Self::Insert(_) => "INSERT",
        }
    }
}

/// INSERT of a MERGE.
#[derive(Debug)]
pub struct MergeInsert {
    /// Per column of the table: where its value comes from.
    pub columns: Vec<InsertValue>,
    /// First of the new row's registers.
    pub first: Register,
    /// How the new row is completed.
    pub row: NewRow,
}

/// Returns the definition of the table that a source names.
pub fn table_of(source: &TableSource) -> &Arc<TableDef> {
    match source {
        TableSource::Table(t) | TableSource::Variable(_, t) | TableSource::Trigger(_, t) => t,
    }
}
