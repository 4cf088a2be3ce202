//! Statements that change data: INSERT, UPDATE, DELETE, MERGE, TRUNCATE and the bulk ones.

use super::{
    ColumnName, ColumnRef, Condition, Execute, ExecuteString, Expr, Ident, ObjectName,
    QueryExpression, QueryHint, SelectItem, Span, TableHint, TableRef, Top, TypeName, Variable,
    With,
};

/// The table that a statement changes.
#[derive(Clone, Debug, PartialEq)]
pub struct Target {
    /// Table, variable or rowset function.
    pub kind: TargetKind,
    /// Table hints, as `WITH (TABLOCK)`.
    pub hints: Vec<TableHint>,
    /// Source range, hints included.
    pub span: Span,
}

/// Every form of a target.
#[derive(Clone, Debug, PartialEq)]
pub enum TargetKind {
    /// A table, view, CTE, or an alias of FROM.
    Name(ObjectName),
    /// `@t`: a table variable.
    Variable(Variable),
    /// `OPENQUERY(..)`, `OPENROWSET(..)`: a remote table.
    Function(Box<super::Call>),
}

/// `INSERT [TOP (n)] [INTO] target [(columns)] [OUTPUT ..] source`
#[derive(Clone, Debug, PartialEq)]
pub struct Insert {
    /// `WITH ..`, its CTEs; `None` without the clause.
    pub with: Option<With>,
    /// `TOP (n)`; `None` without the clause.
    pub top: Option<Top>,
    /// The table that receives the rows.
    pub target: Target,
    /// The columns listed behind the target; empty means all.
    pub columns: Vec<Ident>,
    /// OUTPUT clauses: at most one with INTO and one without.
    pub output: Vec<Output>,
    /// Where the rows come from.
    pub source: InsertSource,
    /// Query hints of `OPTION (..)`.
    pub options: Vec<QueryHint>,
}

/// Where INSERT's rows come from.
#[derive(Clone, Debug, PartialEq)]
pub enum InsertSource {
    /// `VALUES (..), (..)`: a list of rows.
    Values(Vec<Vec<Expr>>),
    /// `SELECT ..`: the rows of a query.
    Query(Box<QueryExpression>),
    /// `EXEC p ..`: the result sets of a procedure.
    Execute(Box<Execute>),
    /// `EXEC (@sql)`: the result sets of a string.
    ExecuteString(Box<ExecuteString>),
    /// `DEFAULT VALUES`: one row of defaults.
    DefaultValues,
}

/// `OUTPUT items [INTO target (columns)]`
#[derive(Clone, Debug, PartialEq)]
pub struct Output {
    /// The columns returned: `inserted.*`, `deleted.c`, `$action`, expressions.
    pub items: Vec<SelectItem>,
    /// The table that receives the output and its columns; `None` sends it to the client.
    pub into: Option<(Target, Vec<Ident>)>,
    /// Source range of the whole OUTPUT clause.
    pub span: Span,
}

/// `UPDATE [TOP (n)] target SET .. [OUTPUT ..] [FROM ..] [WHERE ..]`
#[derive(Clone, Debug, PartialEq)]
pub struct Update {
    /// `WITH ..`, its CTEs; `None` without the clause.
    pub with: Option<With>,
    /// `TOP (n)`; `None` without the clause.
    pub top: Option<Top>,
    /// The table that is changed; perhaps an alias of FROM.
    pub target: Target,
    /// SET, in order; at least one.
    pub set: Vec<SetItem>,
    /// OUTPUT clauses: at most one with INTO and one without.
    pub output: Vec<Output>,
    /// Sources of FROM; empty without the clause.
    pub from: Vec<TableRef>,
    /// WHERE; [`super::ConditionKind::CurrentOf`] for a positioned update.
    pub filter: Option<Condition>,
    /// Query hints of `OPTION (..)`.
    pub options: Vec<QueryHint>,
}

/// One item of UPDATE's SET, in the order of its evaluation for a row.
#[derive(Clone, Debug, PartialEq)]
pub struct SetItem {
    /// What is assigned, with its parts.
    pub kind: SetItemKind,
    /// Source range of the item.
    pub span: Span,
}

/// Every kind of item of UPDATE's SET.
#[derive(Clone, Debug, PartialEq)]
pub enum SetItemKind {
    /// `c = expr`, `c += expr`
    Column {
        /// The column that is assigned.
        column: ColumnName,
        /// `=` or a compound operator such as `+=`.
        op: AssignOp,
        /// The value, perhaps [`super::ExprKind::Default`].
        value: Expr,
    },
    /// `@v = expr`, `@v += expr`: items behind it see the new value.
    Variable {
        /// The variable that is assigned.
        variable: Variable,
        /// `=` or a compound operator such as `+=`.
        op: AssignOp,
        /// The right side of the assignment.
        value: Expr,
    },
    /// `@v = c = expr`, `@v = c += expr`: both get the new value.
    VariableAndColumn {
        /// The variable that is assigned.
        variable: Variable,
        /// The column that is assigned.
        column: ColumnName,
        /// How the column gets its value.
        op: AssignOp,
        /// The right side of the assignment.
        value: Expr,
    },
    /// `c.WRITE(expr, offset, length)`: replaces a part of a `(max)` value.
    Write {
        /// The column of type `varchar(max)`, `nvarchar(max)` or `varbinary(max)`.
        column: Ident,
        /// The text that is written; NULL cuts the value off at the offset.
        value: Expr,
        /// Start of the replaced part, from 0; NULL appends.
        offset: Expr,
        /// Length of the replaced part; NULL is all that follows.
        length: Expr,
    },
    /// `c.modify('..')`, `c.SetX(..)`: a mutator method.
    Mutate {
        /// The column of type xml or a CLR type.
        column: ColumnRef,
        /// Name of the mutator method.
        method: Ident,
        /// The arguments in parentheses.
        arguments: Vec<Expr>,
    },
}

/// An assignment operator, plain or compound.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum AssignOp {
    /// `a = b`: assigns the value.
    Assign,
    /// `a += b`: adds or concatenates.
    Add,
    /// `a -= b`: subtracts the value.
    Subtract,
    /// `a *= b`: multiplies by the value.
    Multiply,
    /// `a /= b`: divides by the value.
    Divide,
    /// `a %= b`: keeps the remainder.
    Modulo,
    /// `a &= b`: bitwise AND.
    BitAnd,
    /// `a ^= b`: bitwise exclusive OR.
    BitXor,
    /// `a |= b`: bitwise OR.
    BitOr,
    /// `a ||= b`: concatenates the value.
    Concatenate,
}

/// `DELETE [TOP (n)] [FROM] target [OUTPUT ..] [FROM ..] [WHERE ..]`
#[derive(Clone, Debug, PartialEq)]
pub struct Delete {
    /// `WITH ..`, its CTEs; `None` without the clause.
    pub with: Option<With>,
    /// `TOP (n)`; `None` without the clause.
    pub top: Option<Top>,
    /// The table whose rows are deleted; perhaps an alias of FROM.
    pub target: Target,
    /// OUTPUT clauses: at most one with INTO and one without.
    pub output: Vec<Output>,
    /// Sources of the second FROM; empty without it.
    pub from: Vec<TableRef>,
    /// WHERE; [`super::ConditionKind::CurrentOf`] for a positioned delete.
    pub filter: Option<Condition>,
    /// Query hints of `OPTION (..)`.
    pub options: Vec<QueryHint>,
}

/// `MERGE [TOP (n)] [INTO] target [AS a] USING source ON .. WHEN ..`
#[derive(Clone, Debug, PartialEq)]
pub struct Merge {
    /// `WITH ..`, its CTEs; `None` without the clause.
    pub with: Option<With>,
    /// `TOP (n)`; `None` without the clause.
    pub top: Option<Top>,
    /// The table that is changed.
    pub target: Target,
    /// The target's alias after AS; `None` without one.
    pub alias: Option<Ident>,
    /// The source of rows behind USING.
    pub source: TableRef,
    /// The join condition of target and source.
    pub on: Condition,
    /// WHEN clauses, in order; at least one.
    pub clauses: Vec<MergeClause>,
    /// OUTPUT clauses: at most one with INTO and one without.
    pub output: Vec<Output>,
    /// Query hints of `OPTION (..)`.
    pub options: Vec<QueryHint>,
}

/// `WHEN [NOT] MATCHED [BY ..] [AND ..] THEN ..`
#[derive(Clone, Debug, PartialEq)]
pub struct MergeClause {
    /// Which rows the clause applies to.
    pub kind: MergeKind,
    /// The search condition behind AND; `None` without one.
    pub condition: Option<Condition>,
    /// The change behind THEN.
    pub action: MergeAction,
    /// Source range of the whole WHEN clause.
    pub span: Span,
}

/// The rows that a WHEN clause applies to.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum MergeKind {
    /// `MATCHED`: target rows with a source row.
    Matched,
    /// `NOT MATCHED [BY TARGET]`: source rows without a target row.
    NotMatchedByTarget,
    /// `NOT MATCHED BY SOURCE`: target rows without a source row.
    NotMatchedBySource,
}

/// The change that a WHEN clause makes.
#[derive(Clone, Debug, PartialEq)]
pub enum MergeAction {
    /// `UPDATE SET ..` of the matched target row.
    Update(Vec<SetItem>),
    /// `DELETE`: deletes the target row.
    Delete,
    /// `INSERT (columns) VALUES (..)` or `INSERT (columns) DEFAULT VALUES`.
    Insert {
        /// The listed columns; empty means all.
        columns: Vec<Ident>,
        /// The values; `None` is DEFAULT VALUES.
        values: Option<Vec<Expr>>,
    },
}

/// `TRUNCATE TABLE t [WITH (PARTITIONS (..))]`
#[derive(Clone, Debug, PartialEq)]
pub struct Truncate {
    /// The table that is emptied.
    pub table: ObjectName,
    /// Partitions: single ones and ranges.
    pub partitions: Vec<(Expr, Option<Expr>)>,
}

/// `INSERT BULK t (c type [COLLATE x], ..) WITH (..)`
#[derive(Clone, Debug, PartialEq)]
pub struct InsertBulk {
    /// The table that receives the rows.
    pub table: ObjectName,
    /// The columns with the types they come in.
    pub columns: Vec<BulkColumn>,
    /// The options of `WITH (..)`.
    pub options: Vec<BulkOption>,
}

/// A column of INSERT BULK.
#[derive(Clone, Debug, PartialEq)]
pub struct BulkColumn {
    /// Name of the column.
    pub name: Ident,
    /// Its type on the wire.
    pub data_type: TypeName,
    /// COLLATE behind the type; `None` without it.
    pub collation: Option<Ident>,
    /// `NULL` is `Some(true)`, `NOT NULL` is `Some(false)`.
    pub nullable: Option<bool>,
}

/// `BULK INSERT t FROM 'file' WITH (..)`
#[derive(Clone, Debug, PartialEq)]
pub struct BulkInsert {
    /// The table that receives the rows.
    pub table: ObjectName,
    /// Path of the data file.
    pub file: Box<str>,
    /// The options of `WITH (..)`.
    pub options: Vec<BulkOption>,
}

/// An option of a bulk statement.
#[derive(Clone, Debug, PartialEq)]
pub enum BulkOption {
    /// `TABLOCK`, `CHECK_CONSTRAINTS`, `FIRE_TRIGGERS`, `KEEP_NULLS`, `KEEPIDENTITY`; in upper
    /// case.
    Word(Box<str>),
    /// `ROWS_PER_BATCH = 1000`, `FIELDTERMINATOR = ','`; the name in upper case.
    Value(Box<str>, Expr),
    /// `ORDER (a ASC, b DESC)`
    Order(Vec<super::IndexColumn>),
}

/// `READTEXT table.column pointer offset size [HOLDLOCK]`
#[derive(Clone, Debug, PartialEq)]
pub struct ReadText {
    /// The column with its table.
    pub column: ColumnRef,
    /// The text pointer: a variable or a binary literal.
    pub pointer: Expr,
    /// First byte or character.
    pub offset: Expr,
    /// How many; 0 is the rest, up to 4 KB.
    pub size: Expr,
    /// Whether `HOLDLOCK` was written.
    pub holdlock: bool,
}
