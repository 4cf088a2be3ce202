//! SELECT: query expressions, their clauses, and what can stand in FROM.

use super::{
    Call, Condition, Expr, Ident, Method, ObjectName, Over, Span, Statement, TypeName, Variable,
};

/// A SELECT statement: CTEs, the query, and what only a whole statement may have.
#[derive(Clone, Debug, PartialEq)]
pub struct SelectStatement {
    /// WITH.
    pub with: Option<With>,
    /// The query. INTO and variable assignment are inside, in its [`QuerySpec`].
    pub query: QueryExpression,
    /// OPTION (..).
    pub options: Vec<QueryHint>,
}

/// `WITH [XMLNAMESPACES (..),] name (columns) AS (query), ..`
#[derive(Clone, Debug, PartialEq)]
pub struct With {
    /// XMLNAMESPACES: URI and prefix; no prefix for DEFAULT.
    pub xml_namespaces: Vec<(Box<str>, Option<Ident>)>,
    /// The common table expressions, in order.
    pub ctes: Vec<Cte>,
    /// All of it.
    pub span: Span,
}

/// A common table expression.
#[derive(Clone, Debug, PartialEq)]
pub struct Cte {
    /// Its name.
    pub name: Ident,
    /// Its columns' names, if given.
    pub columns: Vec<Ident>,
    /// Its query.
    pub query: QueryExpression,
}

/// A query with the clauses that follow all of its set operations.
#[derive(Clone, Debug, PartialEq)]
pub struct QueryExpression {
    /// SELECT or set operation.
    pub body: QueryBody,
    /// ORDER BY.
    pub order_by: Vec<OrderBy>,
    /// OFFSET, FETCH.
    pub offset: Option<Offset>,
    /// FOR XML, FOR JSON, FOR BROWSE.
    pub for_clause: Option<ForClause>,
    /// All of it.
    pub span: Span,
}

/// What a query expression is made of.
#[derive(Clone, Debug, PartialEq)]
pub enum QueryBody {
    /// `SELECT ..`
    Select(Box<QuerySpec>),
    /// `(query)`
    Parenthesized(Box<QueryExpression>),
    /// A chain of set operations of one precedence level, applied from left to right; INTERSECT binds
    /// tighter than UNION and EXCEPT.
    SetOperation {
        /// The first operand.
        first: Box<QueryBody>,
        /// Each further operand with the operator before it; at least one.
        rest: Vec<(SetOp, QueryBody)>,
    },
}

/// A set operator.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum SetOp {
    /// UNION
    Union,
    /// UNION ALL
    UnionAll,
    /// EXCEPT
    Except,
    /// INTERSECT
    Intersect,
}

/// `SELECT .. FROM .. WHERE .. GROUP BY .. HAVING ..`
#[derive(Clone, Debug, PartialEq)]
pub struct QuerySpec {
    /// DISTINCT.
    pub distinct: bool,
    /// TOP.
    pub top: Option<Top>,
    /// The select list; at least one.
    pub items: Vec<SelectItem>,
    /// INTO.
    pub into: Option<Into>,
    /// FROM: the comma-separated sources; empty without FROM.
    pub from: Vec<TableRef>,
    /// WHERE.
    pub filter: Option<Condition>,
    /// GROUP BY.
    pub group_by: Option<GroupBy>,
    /// HAVING.
    pub having: Option<Condition>,
    /// WINDOW name AS (..), ..
    pub windows: Vec<(Ident, Over)>,
    /// All of it.
    pub span: Span,
}

/// `INTO table [ON filegroup]`
#[derive(Clone, Debug, PartialEq)]
pub struct Into {
    /// The table to make.
    pub table: ObjectName,
    /// Its filegroup.
    pub filegroup: Option<Ident>,
}

/// `TOP (n) [PERCENT] [WITH TIES]`
#[derive(Clone, Debug, PartialEq)]
pub struct Top {
    /// How many.
    pub count: Expr,
    /// Per cent of the rows and not rows.
    pub percent: bool,
    /// With those that equal the last.
    pub with_ties: bool,
}

/// One item of a select list.
#[derive(Clone, Debug, PartialEq)]
pub struct SelectItem {
    /// What it is.
    pub kind: SelectItemKind,
    /// Where, alias included.
    pub span: Span,
}

/// Every kind of item of a select list.
#[derive(Clone, Debug, PartialEq)]
pub enum SelectItemKind {
    /// `expr`, `expr AS alias`, `alias = expr`
    Expr {
        /// The value.
        expr: Expr,
        /// Its name.
        alias: Option<Ident>,
    },
    /// `*`
    Star,
    /// `t.*`
    QualifiedStar(ObjectName),
    /// `@v = expr`, `@v += expr`
    Assign {
        /// The variable.
        variable: Variable,
        /// How.
        op: super::AssignOp,
        /// The value.
        value: Expr,
    },
}

/// An ORDER BY item.
#[derive(Clone, Debug, PartialEq)]
pub struct OrderBy {
    /// What is ordered by; a COLLATE is inside.
    pub expr: Expr,
    /// DESC was written.
    pub descending: bool,
}

/// `OFFSET n ROWS [FETCH NEXT m ROWS ONLY]`
#[derive(Clone, Debug, PartialEq)]
pub struct Offset {
    /// Rows left out.
    pub offset: Expr,
    /// Rows returned.
    pub fetch: Option<Expr>,
}

/// GROUP BY.
#[derive(Clone, Debug, PartialEq)]
pub struct GroupBy {
    /// `GROUP BY ALL`
    pub all: bool,
    /// The items; the result groups by their cross product.
    pub items: Vec<GroupingItem>,
    /// The old suffix `WITH ROLLUP` or `WITH CUBE`.
    pub suffix: Option<GroupingSuffix>,
}

/// An item of GROUP BY.
#[derive(Clone, Debug, PartialEq)]
pub enum GroupingItem {
    /// `expr`
    Expr(Expr),
    /// `(a, b)` inside ROLLUP, CUBE and GROUPING SETS; `()` is the grand total.
    Set(Vec<Expr>),
    /// `ROLLUP (..)`
    Rollup(Vec<GroupingItem>),
    /// `CUBE (..)`
    Cube(Vec<GroupingItem>),
    /// `GROUPING SETS (..)`
    GroupingSets(Vec<GroupingItem>),
}

/// The old way to ask for subtotals.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum GroupingSuffix {
    /// WITH ROLLUP
    Rollup,
    /// WITH CUBE
    Cube,
}

/// FOR XML, FOR JSON, FOR BROWSE.
#[derive(Clone, Debug, PartialEq)]
pub struct ForClause {
    /// Which.
    pub mode: ForMode,
    /// The directives behind it, in order.
    pub directives: Vec<ForDirective>,
    /// Where.
    pub span: Span,
}

/// What FOR asks for.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum ForMode {
    /// FOR XML RAW \['row'\]
    XmlRaw(Option<Box<str>>),
    /// FOR XML AUTO
    XmlAuto,
    /// FOR XML EXPLICIT
    XmlExplicit,
    /// FOR XML PATH \['row'\]
    XmlPath(Option<Box<str>>),
    /// FOR JSON AUTO
    JsonAuto,
    /// FOR JSON PATH
    JsonPath,
    /// FOR BROWSE
    Browse,
}

/// A directive of FOR XML or FOR JSON.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum ForDirective {
    /// ROOT \['name'\]
    Root(Option<Box<str>>),
    /// TYPE
    Type,
    /// ELEMENTS, ELEMENTS ABSENT
    Elements,
    /// ELEMENTS XSINIL
    ElementsXsinil,
    /// BINARY BASE64
    BinaryBase64,
    /// XMLDATA
    XmlData,
    /// XMLSCHEMA \['uri'\]
    XmlSchema(Option<Box<str>>),
    /// INCLUDE_NULL_VALUES
    IncludeNullValues,
    /// WITHOUT_ARRAY_WRAPPER
    WithoutArrayWrapper,
}

/// A source of rows in FROM.
#[derive(Clone, Debug, PartialEq)]
pub struct TableRef {
    /// What it is.
    pub kind: TableRefKind,
    /// Where, alias and hints included.
    pub span: Span,
}

/// Every kind of source.
#[derive(Clone, Debug, PartialEq)]
pub enum TableRefKind {
    /// A table, view, CTE, synonym, `inserted` or `deleted`.
    Table(Box<TableSource>),
    /// `@t`
    Variable {
        /// The table variable.
        variable: Variable,
        /// AS.
        alias: Option<Ident>,
        /// `WITH (..)`
        hints: Vec<TableHint>,
    },
    /// A table-valued function.
    Function(Box<FunctionSource>),
    /// `OPENROWSET(BULK ..)`
    Bulk(Box<BulkSource>),
    /// `x.nodes('p') AS t(c)`
    Method {
        /// The call.
        call: Box<Method>,
        /// AS.
        alias: Option<TableAlias>,
    },
    /// `(SELECT ..) AS t (columns)`
    Derived {
        /// The query.
        query: Box<QueryExpression>,
        /// AS.
        alias: Option<TableAlias>,
    },
    /// `(VALUES (1, 2), (3, 4)) AS t (a, b)`
    Values {
        /// The rows.
        rows: Vec<Vec<Expr>>,
        /// AS.
        alias: Option<TableAlias>,
    },
    /// `first JOIN a ON .. JOIN b ON ..`, applied from left to right.
    Joined {
        /// The leftmost source.
        first: Box<TableRef>,
        /// The joins; at least one.
        joins: Vec<Join>,
    },
    /// `source PIVOT (..) AS p`
    Pivot(Box<Pivot>),
    /// `source UNPIVOT (..) AS p`
    Unpivot(Box<Unpivot>),
    /// `(INSERT .. OUTPUT ..) AS t`: rows of a nested INSERT, UPDATE, DELETE or MERGE.
    Dml {
        /// The statement.
        statement: Box<Statement>,
        /// AS.
        alias: Option<TableAlias>,
    },
}

/// A table in FROM.
#[derive(Clone, Debug, PartialEq)]
pub struct TableSource {
    /// Its name.
    pub name: ObjectName,
    /// AS.
    pub alias: Option<Ident>,
    /// `WITH (NOLOCK)`, also the old form without WITH.
    pub hints: Vec<TableHint>,
    /// FOR SYSTEM_TIME.
    pub system_time: Option<SystemTime>,
    /// TABLESAMPLE.
    pub sample: Option<TableSample>,
}

/// `TABLESAMPLE [SYSTEM] (n PERCENT | ROWS) [REPEATABLE (seed)]`
#[derive(Clone, Debug, PartialEq)]
pub struct TableSample {
    /// How much.
    pub count: Expr,
    /// ROWS was written; PERCENT is the default.
    pub rows: bool,
    /// REPEATABLE.
    pub seed: Option<Expr>,
}

/// FOR SYSTEM_TIME of a temporal table.
#[derive(Clone, Debug, PartialEq)]
pub enum SystemTime {
    /// AS OF x
    AsOf(Expr),
    /// FROM x TO y
    FromTo(Expr, Expr),
    /// BETWEEN x AND y
    Between(Expr, Expr),
    /// CONTAINED IN (x, y)
    ContainedIn(Expr, Expr),
    /// ALL
    All,
}

/// A table-valued function in FROM.
#[derive(Clone, Debug, PartialEq)]
pub struct FunctionSource {
    /// The call; OPENJSON, OPENQUERY, OPENROWSET, STRING_SPLIT and the like are calls too.
    pub call: Call,
    /// AS.
    pub alias: Option<TableAlias>,
    /// `WITH (column type 'path' [AS JSON], ..)` of OPENJSON and OPENXML.
    pub schema: Vec<SchemaColumn>,
    /// `WITH table` of OPENXML: the table has the columns.
    pub schema_of: Option<ObjectName>,
    /// Table hints.
    pub hints: Vec<TableHint>,
}

/// `OPENROWSET(BULK 'file', options) [WITH (column type, ..)] AS alias`
#[derive(Clone, Debug, PartialEq)]
pub struct BulkSource {
    /// The file.
    pub file: Box<str>,
    /// FORMAT = 'PARQUET', SINGLE_BLOB and so on.
    pub options: Vec<super::BulkOption>,
    /// WITH.
    pub schema: Vec<SchemaColumn>,
    /// AS.
    pub alias: Option<TableAlias>,
}

/// A column of OPENJSON's, OPENXML's or OPENROWSET's WITH.
#[derive(Clone, Debug, PartialEq)]
pub struct SchemaColumn {
    /// Its name.
    pub name: Ident,
    /// Its type.
    pub data_type: TypeName,
    /// COLLATE.
    pub collation: Option<Ident>,
    /// Where its value is.
    pub path: Option<Box<str>>,
    /// AS JSON.
    pub as_json: bool,
}

/// `AS name (columns)`
#[derive(Clone, Debug, PartialEq)]
pub struct TableAlias {
    /// The name.
    pub name: Ident,
    /// The columns' names, if given.
    pub columns: Vec<Ident>,
}

/// One step of a chain of joins.
#[derive(Clone, Debug, PartialEq)]
pub struct Join {
    /// Which join.
    pub kind: JoinKind,
    /// `INNER HASH JOIN`
    pub hint: Option<JoinHint>,
    /// The right side.
    pub right: TableRef,
    /// ON; none for CROSS JOIN and APPLY.
    pub on: Option<Condition>,
    /// From the first keyword to the end of ON.
    pub span: Span,
}

/// How two sources are joined.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum JoinKind {
    /// \[INNER\] JOIN
    Inner,
    /// LEFT \[OUTER\] JOIN
    Left,
    /// RIGHT \[OUTER\] JOIN
    Right,
    /// FULL \[OUTER\] JOIN
    Full,
    /// CROSS JOIN
    Cross,
    /// CROSS APPLY
    CrossApply,
    /// OUTER APPLY
    OuterApply,
}

/// A join algorithm asked for by the user.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum JoinHint {
    /// LOOP
    Loop,
    /// HASH
    Hash,
    /// MERGE
    Merge,
    /// REMOTE
    Remote,
}

/// `source PIVOT (aggregate FOR column IN ([a], [b])) AS p`
#[derive(Clone, Debug, PartialEq)]
pub struct Pivot {
    /// What is turned.
    pub source: TableRef,
    /// The aggregate.
    pub aggregate: Call,
    /// The column whose values become columns.
    pub column: ColumnName,
    /// The values.
    pub values: Vec<Ident>,
    /// AS.
    pub alias: Option<TableAlias>,
}

/// `source UNPIVOT (value FOR name IN ([a], [b])) AS p`
#[derive(Clone, Debug, PartialEq)]
pub struct Unpivot {
    /// What is turned.
    pub source: TableRef,
    /// The column that gets the values.
    pub value: Ident,
    /// The column that gets the names.
    pub name: Ident,
    /// The columns that become rows.
    pub columns: Vec<ColumnName>,
    /// AS.
    pub alias: Option<TableAlias>,
}

/// A column named in a clause, perhaps with its table.
pub type ColumnName = super::ColumnRef;

/// A table hint.
#[derive(Clone, Debug, PartialEq)]
pub struct TableHint {
    /// Its name in upper case.
    pub kind: TableHintKind,
    /// Where.
    pub span: Span,
}

/// Every table hint.
#[derive(Clone, Debug, PartialEq)]
pub enum TableHintKind {
    /// A hint that is one word.
    Word(TableHintWord),
    /// `INDEX (a, b)`, `INDEX = a`, `INDEX (0)`
    Index(Vec<IndexRef>),
    /// `FORCESEEK [(index (columns))]`
    ForceSeek(Option<(IndexRef, Vec<Ident>)>),
    /// `SPATIAL_WINDOW_MAX_CELLS = n`
    SpatialWindowMaxCells(u32),
}

/// An index by name or number.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum IndexRef {
    /// By name.
    Name(Ident),
    /// By number.
    Number(u32),
}

/// A table hint of one word.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[expect(missing_docs, reason = "the variants are SQL Server's words")]
pub enum TableHintWord {
    ForceScan,
    HoldLock,
    IgnoreConstraints,
    IgnoreTriggers,
    KeepDefaults,
    KeepIdentity,
    NoExpand,
    NoLock,
    NoWait,
    PagLock,
    ReadCommitted,
    ReadCommittedLock,
    ReadPast,
    ReadUncommitted,
    RepeatableRead,
    RowLock,
    Serializable,
    Snapshot,
    TabLock,
    TabLockX,
    UpdLock,
    XLock,
}

/// One hint of OPTION (..).
#[derive(Clone, Debug, PartialEq)]
pub struct QueryHint {
    /// What it asks.
    pub kind: QueryHintKind,
    /// Where.
    pub span: Span,
}

/// Every query hint.
#[derive(Clone, Debug, PartialEq)]
pub enum QueryHintKind {
    /// A hint without a value, in upper case with single blanks: `RECOMPILE`, `HASH JOIN`, `ORDER GROUP`,
    /// `FORCE ORDER`, `KEEP PLAN`, `ROBUST PLAN`, `EXPAND VIEWS`, `IGNORE_NONCLUSTERED_COLUMNSTORE_INDEX`,
    /// `PARAMETERIZATION FORCED`, `DISABLE_OPTIMIZED_PLAN_FORCING`, ..
    Plain(Box<str>),
    /// A hint with a number: `MAXDOP 1`, `FAST 10`, `MAXRECURSION 100`, `QUERYTRACEON 8649`,
    /// `MAX_GRANT_PERCENT = 10`, `MIN_GRANT_PERCENT = 10`.
    Number(Box<str>, f64),
    /// `LABEL = 'x'`, `USE PLAN N'<xml>'`
    Text(Box<str>, Box<str>),
    /// `OPTIMIZE FOR (@v = 1, @w UNKNOWN)`; `None` is UNKNOWN.
    OptimizeFor(Vec<(Variable, Option<Expr>)>),
    /// `OPTIMIZE FOR UNKNOWN`
    OptimizeForUnknown,
    /// `USE HINT ('a', 'b')`
    UseHint(Vec<Box<str>>),
    /// `TABLE HINT (t, NOLOCK)`
    TableHint(ObjectName, Vec<TableHint>),
}
