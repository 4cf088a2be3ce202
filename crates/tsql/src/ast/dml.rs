//! Statements that change data: INSERT, UPDATE, DELETE, MERGE, TRUNCATE and the bulk ones.

use super::{
    ColumnName, ColumnRef, Condition, Execute, ExecuteString, Expr, Ident, ObjectName,
    QueryExpression, QueryHint, SelectItem, Span, TableHint, TableRef, Top, TypeName, Variable,
    With,
};

/// The table that a statement changes.
#[derive(Clone, Debug, PartialEq)]
pub struct Target {
    /// What it is.
    pub kind: TargetKind,
    /// `WITH (TABLOCK)`
    pub hints: Vec<TableHint>,
    /// Where.
    pub span: Span,
}

/// Every kind of target.
#[derive(Clone, Debug, PartialEq)]
pub enum TargetKind {
    /// A table, view, CTE, or an alias of FROM.
    Name(ObjectName),
    /// `@t`
    Variable(Variable),
    /// `OPENQUERY(..)`, `OPENROWSET(..)`
    Function(Box<super::Call>),
}

/// `INSERT [TOP (n)] [INTO] target [(columns)] [OUTPUT ..] source`
#[derive(Clone, Debug, PartialEq)]
pub struct Insert {
    /// WITH.
    pub with: Option<With>,
    /// TOP.
    pub top: Option<Top>,
    /// Where the rows go.
    pub target: Target,
    /// The columns, if given.
    pub columns: Vec<Ident>,
    /// OUTPUT clauses: at most one with INTO and one without.
    pub output: Vec<Output>,
    /// Where the rows come from.
    pub source: InsertSource,
    /// OPTION.
    pub options: Vec<QueryHint>,
}

/// Where INSERT's rows come from.
#[derive(Clone, Debug, PartialEq)]
pub enum InsertSource {
    /// `VALUES (..), (..)`
    Values(Vec<Vec<Expr>>),
    /// `SELECT ..`
    Query(Box<QueryExpression>),
    /// `EXEC p ..`
    Execute(Box<Execute>),
    /// `EXEC (@sql)`
    ExecuteString(Box<ExecuteString>),
    /// `DEFAULT VALUES`
    DefaultValues,
}

/// `OUTPUT items [INTO target (columns)]`
#[derive(Clone, Debug, PartialEq)]
pub struct Output {
    /// What is returned; `inserted.*`, `deleted.c`, `$action`, expressions.
    pub items: Vec<SelectItem>,
    /// Where it goes; to the client if absent.
    pub into: Option<(Target, Vec<Ident>)>,
    /// Where.
    pub span: Span,
}

/// `UPDATE [TOP (n)] target SET .. [OUTPUT ..] [FROM ..] [WHERE ..]`
#[derive(Clone, Debug, PartialEq)]
pub struct Update {
    /// WITH.
    pub with: Option<With>,
    /// TOP.
    pub top: Option<Top>,
    /// What is changed; perhaps an alias of FROM.
    pub target: Target,
    /// SET, in order; at least one.
    pub set: Vec<SetItem>,
    /// OUTPUT.
    pub output: Vec<Output>,
    /// FROM.
    pub from: Vec<TableRef>,
    /// WHERE; [`super::ConditionKind::CurrentOf`] for a positioned update.
    pub filter: Option<Condition>,
    /// OPTION.
    pub options: Vec<QueryHint>,
}

/// One item of UPDATE's SET, in the order of its evaluation for a row.
#[derive(Clone, Debug, PartialEq)]
pub struct SetItem {
    /// What it is.
    pub kind: SetItemKind,
    /// Where.
    pub span: Span,
}

/// Every kind of item of UPDATE's SET.
#[derive(Clone, Debug, PartialEq)]
pub enum SetItemKind {
    /// `c = expr`, `c += expr`
    Column {
        /// The column.
        column: ColumnName,
        /// How.
        op: AssignOp,
        /// The value, perhaps [`super::ExprKind::Default`].
        value: Expr,
    },
    /// `@v = expr`, `@v += expr`: seen by the items behind it.
    Variable {
        /// The variable.
        variable: Variable,
        /// How.
        op: AssignOp,
        /// The value.
        value: Expr,
    },
    /// `@v = c = expr`, `@v = c += expr`: both get the new value.
    VariableAndColumn {
        /// The variable.
        variable: Variable,
        /// The column.
        column: ColumnName,
        /// How the column gets its value.
        op: AssignOp,
        /// The value.
        value: Expr,
    },
    /// `c.WRITE(expr, offset, length)`
    Write {
        /// The column.
        column: Ident,
        /// The new piece.
        value: Expr,
        /// Where it goes.
        offset: Expr,
        /// How much it replaces.
        length: Expr,
    },
    /// `c.modify('..')`, `c.SetX(..)`: a mutator method.
    Mutate {
        /// The column.
        column: ColumnRef,
        /// The method.
        method: Ident,
        /// Its arguments.
        arguments: Vec<Expr>,
    },
}

/// How a value is assigned.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum AssignOp {
    /// `=`
    Assign,
    /// `+=`
    Add,
    /// `-=`
    Subtract,
    /// `*=`
    Multiply,
    /// `/=`
    Divide,
    /// `%=`
    Modulo,
    /// `&=`
    BitAnd,
    /// `^=`
    BitXor,
    /// `|=`
    BitOr,
}

/// `DELETE [TOP (n)] [FROM] target [OUTPUT ..] [FROM ..] [WHERE ..]`
#[derive(Clone, Debug, PartialEq)]
pub struct Delete {
    /// WITH.
    pub with: Option<With>,
    /// TOP.
    pub top: Option<Top>,
    /// Where the rows go from; perhaps an alias of FROM.
    pub target: Target,
    /// OUTPUT.
    pub output: Vec<Output>,
    /// The second FROM.
    pub from: Vec<TableRef>,
    /// WHERE; [`super::ConditionKind::CurrentOf`] for a positioned delete.
    pub filter: Option<Condition>,
    /// OPTION.
    pub options: Vec<QueryHint>,
}

/// `MERGE [TOP (n)] [INTO] target [AS a] USING source ON .. WHEN ..`
#[derive(Clone, Debug, PartialEq)]
pub struct Merge {
    /// WITH.
    pub with: Option<With>,
    /// TOP.
    pub top: Option<Top>,
    /// What is changed.
    pub target: Target,
    /// AS.
    pub alias: Option<Ident>,
    /// USING.
    pub source: TableRef,
    /// ON.
    pub on: Condition,
    /// WHEN clauses, in order; at least one.
    pub clauses: Vec<MergeClause>,
    /// OUTPUT.
    pub output: Vec<Output>,
    /// OPTION.
    pub options: Vec<QueryHint>,
}

/// `WHEN [NOT] MATCHED [BY ..] [AND ..] THEN ..`
#[derive(Clone, Debug, PartialEq)]
pub struct MergeClause {
    /// Which rows.
    pub kind: MergeKind,
    /// AND.
    pub condition: Option<Condition>,
    /// THEN.
    pub action: MergeAction,
    /// Where.
    pub span: Span,
}

/// Which rows a WHEN is about.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum MergeKind {
    /// MATCHED
    Matched,
    /// NOT MATCHED \[BY TARGET\]
    NotMatchedByTarget,
    /// NOT MATCHED BY SOURCE
    NotMatchedBySource,
}

/// What a WHEN does.
#[derive(Clone, Debug, PartialEq)]
pub enum MergeAction {
    /// UPDATE SET ..
    Update(Vec<SetItem>),
    /// DELETE
    Delete,
    /// INSERT (columns) VALUES (..); `None` is DEFAULT VALUES.
    Insert {
        /// The columns, if given.
        columns: Vec<Ident>,
        /// The values.
        values: Option<Vec<Expr>>,
    },
}

/// `TRUNCATE TABLE t [WITH (PARTITIONS (..))]`
#[derive(Clone, Debug, PartialEq)]
pub struct Truncate {
    /// The table.
    pub table: ObjectName,
    /// Partitions: single ones and ranges.
    pub partitions: Vec<(Expr, Option<Expr>)>,
}

/// `INSERT BULK t (c type [COLLATE x], ..) WITH (..)`
#[derive(Clone, Debug, PartialEq)]
pub struct InsertBulk {
    /// The table.
    pub table: ObjectName,
    /// The columns with the types they come in.
    pub columns: Vec<BulkColumn>,
    /// WITH.
    pub options: Vec<BulkOption>,
}

/// A column of INSERT BULK.
#[derive(Clone, Debug, PartialEq)]
pub struct BulkColumn {
    /// Its name.
    pub name: Ident,
    /// Its type on the wire.
    pub data_type: TypeName,
    /// COLLATE.
    pub collation: Option<Ident>,
    /// `NULL` is `Some(true)`, `NOT NULL` is `Some(false)`.
    pub nullable: Option<bool>,
}

/// `BULK INSERT t FROM 'file' WITH (..)`
#[derive(Clone, Debug, PartialEq)]
pub struct BulkInsert {
    /// The table.
    pub table: ObjectName,
    /// The file.
    pub file: Box<str>,
    /// WITH.
    pub options: Vec<BulkOption>,
}

/// An option of a bulk statement.
#[derive(Clone, Debug, PartialEq)]
pub enum BulkOption {
    /// `TABLOCK`, `CHECK_CONSTRAINTS`, `FIRE_TRIGGERS`, `KEEP_NULLS`, `KEEPIDENTITY`; in upper case.
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
    /// HOLDLOCK.
    pub holdlock: bool,
}
