//! SELECT: query expressions, their clauses, and the sources of rows in FROM.

use super::{
    Call, Condition, Expr, Ident, Method, ObjectName, Over, Span, Statement, TypeName, Variable,
};

/// A SELECT statement: CTEs, the query, and what only a whole statement may have.
#[derive(Clone, Debug, PartialEq)]
pub struct SelectStatement {
    /// The WITH clause; `None` if there is none.
    pub with: Option<With>,
    /// The query. INTO and variable assignment are inside, in its [`QuerySpec`].
    pub query: QueryExpression,
    /// Query hints of `OPTION (..)`.
    pub options: Vec<QueryHint>,
}

/// `WITH [XMLNAMESPACES (..),] name (columns) AS (query), ..`
#[derive(Clone, Debug, PartialEq)]
pub struct With {
    /// XMLNAMESPACES: URI and prefix; no prefix for DEFAULT.
    pub xml_namespaces: Vec<(Box<str>, Option<Ident>)>,
    /// The common table expressions, in order.
    pub ctes: Vec<Cte>,
    /// Source range of the whole WITH clause.
    pub span: Span,
}

/// A common table expression.
#[derive(Clone, Debug, PartialEq)]
pub struct Cte {
    /// Name of the common table expression.
    pub name: Ident,
    /// Its columns' names, if given.
    pub columns: Vec<Ident>,
    /// The query in parentheses behind AS.
    pub query: QueryExpression,
}

/// A query with the clauses that follow all of its set operations.
#[derive(Clone, Debug, PartialEq)]
pub struct QueryExpression {
    /// A SELECT or a chain of set operations.
    pub body: QueryBody,
    /// ORDER BY items; empty without the clause.
    pub order_by: Vec<OrderBy>,
    /// `OFFSET .. [FETCH ..]`; `None` without the clause.
    pub offset: Option<Offset>,
    /// FOR XML, FOR JSON or FOR BROWSE; `None` without the clause.
    pub for_clause: Option<ForClause>,
    /// Source range of the whole query.
    pub span: Span,
}

/// What a query expression is made of.
#[derive(Clone, Debug, PartialEq)]
pub enum QueryBody {
    /// `SELECT ..`: a single query specification.
    Select(Box<QuerySpec>),
    /// `(query)`, perhaps with ORDER BY inside.
    Parenthesized(Box<QueryExpression>),
    /// A chain of set operations of one precedence level, applied from left to right; INTERSECT
    /// binds tighter than UNION and EXCEPT.
    SetOperation {
        /// The leftmost operand of the chain.
        first: Box<QueryBody>,
        /// Each further operand with the operator before it; at least one.
        rest: Vec<(SetOp, QueryBody)>,
    },
}

/// An operator between two queries.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum SetOp {
    /// `UNION`: all rows of both sides, without duplicates.
    Union,
    /// `UNION ALL`: all rows of both sides, duplicates kept.
    UnionAll,
    /// `EXCEPT`: distinct rows of the left side that the right one lacks.
    Except,
    /// `INTERSECT`: distinct rows that both sides have.
    Intersect,
}

/// `SELECT .. FROM .. WHERE .. GROUP BY .. HAVING ..`
#[derive(Clone, Debug, PartialEq)]
pub struct QuerySpec {
    /// Whether `SELECT DISTINCT` was written.
    pub distinct: bool,
    /// `TOP (n)`; `None` without the clause.
    pub top: Option<Top>,
    /// The select list; at least one.
    pub items: Vec<SelectItem>,
    /// `INTO table`; `None` without the clause.
    pub into: Option<Into>,
    /// FROM: the comma-separated sources; empty without FROM.
    pub from: Vec<TableRef>,
    /// The search condition of WHERE; `None` without the clause.
    pub filter: Option<Condition>,
    /// `GROUP BY ..`; `None` without the clause.
    pub group_by: Option<GroupBy>,
    /// The search condition of HAVING; `None` without the clause.
    pub having: Option<Condition>,
    /// WINDOW name AS (..), ..
    pub windows: Vec<(Ident, Over)>,
    /// Source range from SELECT to the last clause.
    pub span: Span,
}

/// `INTO table [ON filegroup]`
#[derive(Clone, Debug, PartialEq)]
pub struct Into {
    /// The table that the query creates.
    pub table: ObjectName,
    /// The table's filegroup; `None` is the database's default.
    pub filegroup: Option<Ident>,
}

/// `TOP (n) [PERCENT] [WITH TIES]`
#[derive(Clone, Debug, PartialEq)]
pub struct Top {
    /// How many rows, or how many per cent of them.
    pub count: Expr,
    /// `PERCENT`: the count is a percentage of the rows.
    pub percent: bool,
    /// `WITH TIES`: also returns rows that equal the last one in ORDER BY.
    pub with_ties: bool,
}

/// One item of a select list.
#[derive(Clone, Debug, PartialEq)]
pub struct SelectItem {
    /// Which form of item it is.
    pub kind: SelectItemKind,
    /// Source range, alias included.
    pub span: Span,
}

/// Every kind of item of a select list.
#[derive(Clone, Debug, PartialEq)]
pub enum SelectItemKind {
    /// `expr`, `expr AS alias`, `alias = expr`
    Expr {
        /// The value of the column.
        expr: Expr,
        /// The column's name; `None` if no alias was written.
        alias: Option<Ident>,
    },
    /// `*`: every column of every source.
    Star,
    /// `t.*`: every column of one source.
    QualifiedStar(ObjectName),
    /// `@v = expr`, `@v += expr`
    Assign {
        /// The variable that is assigned.
        variable: Variable,
        /// `=` or a compound operator such as `+=`.
        op: super::AssignOp,
        /// The right side of the assignment.
        value: Expr,
    },
}

/// An ORDER BY item.
#[derive(Clone, Debug, PartialEq)]
pub struct OrderBy {
    /// The sort expression; a COLLATE is inside.
    pub expr: Expr,
    /// `DESC` was written; ascending otherwise.
    pub descending: bool,
}

/// `OFFSET n ROWS [FETCH NEXT m ROWS ONLY]`
#[derive(Clone, Debug, PartialEq)]
pub struct Offset {
    /// How many rows are skipped.
    pub offset: Expr,
    /// How many rows are returned; `None` is all that remain.
    pub fetch: Option<Expr>,
}

/// The GROUP BY clause of a query specification.
#[derive(Clone, Debug, PartialEq)]
pub struct GroupBy {
    /// `GROUP BY ALL`, the deprecated form that keeps empty groups.
    pub all: bool,
    /// The items; the result groups by their cross product.
    pub items: Vec<GroupingItem>,
    /// The old suffix `WITH ROLLUP` or `WITH CUBE`.
    pub suffix: Option<GroupingSuffix>,
}

/// An item of GROUP BY.
#[derive(Clone, Debug, PartialEq)]
pub enum GroupingItem {
    /// `expr`: one plain grouping column.
    Expr(Expr),
    /// `(a, b)` inside ROLLUP, CUBE and GROUPING SETS; `()` is the grand total.
    Set(Vec<Expr>),
    /// `ROLLUP (a, b)`: groups by (a, b), by (a) and by ().
    Rollup(Vec<GroupingItem>),
    /// `CUBE (a, b)`: groups by every subset of the items.
    Cube(Vec<GroupingItem>),
    /// `GROUPING SETS (..)`: groups by each listed set.
    GroupingSets(Vec<GroupingItem>),
}

/// The deprecated suffix of GROUP BY that adds subtotals.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum GroupingSuffix {
    /// `WITH ROLLUP` behind the items.
    Rollup,
    /// `WITH CUBE` behind the items.
    Cube,
}

/// `FOR XML ..`, `FOR JSON ..` or `FOR BROWSE`.
#[derive(Clone, Debug, PartialEq)]
pub struct ForClause {
    /// The clause and its mode, as FOR XML PATH.
    pub mode: ForMode,
    /// The directives behind it, in order.
    pub directives: Vec<ForDirective>,
    /// Source range of the whole FOR clause.
    pub span: Span,
}

/// The mode of a FOR clause.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum ForMode {
    /// `FOR XML RAW ['row']`: an element per row; the name is `row` if `None`.
    XmlRaw(Option<Box<str>>),
    /// `FOR XML AUTO`: nesting by the tables of the select list.
    XmlAuto,
    /// `FOR XML EXPLICIT`: nesting by the columns Tag and Parent.
    XmlExplicit,
    /// `FOR XML PATH ['row']`: nesting by column names read as paths.
    XmlPath(Option<Box<str>>),
    /// `FOR JSON AUTO`: nesting by the tables of the select list.
    JsonAuto,
    /// `FOR JSON PATH`: nesting by column names with points.
    JsonPath,
    /// `FOR BROWSE`: browse mode of DB-Library.
    Browse,
}

/// A directive of FOR XML or FOR JSON.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum ForDirective {
    /// `ROOT ['name']`: a single top element; the name is `root` if `None`.
    Root(Option<Box<str>>),
    /// `TYPE`: the result is an `xml` value.
    Type,
    /// `ELEMENTS [ABSENT]`: columns become subelements, NULL ones are left out.
    Elements,
    /// `ELEMENTS XSINIL`: NULL columns become elements with `xsi:nil`.
    ElementsXsinil,
    /// `BINARY BASE64`: binary columns are encoded in base64.
    BinaryBase64,
    /// `XMLDATA`: an inline XDR schema comes first.
    XmlData,
    /// `XMLSCHEMA ['uri']`: an inline XSD schema comes first.
    XmlSchema(Option<Box<str>>),
    /// `INCLUDE_NULL_VALUES`: NULL columns become JSON nulls.
    IncludeNullValues,
    /// `WITHOUT_ARRAY_WRAPPER`: no brackets around the JSON result.
    WithoutArrayWrapper,
}

/// A source of rows in FROM.
#[derive(Clone, Debug, PartialEq)]
pub struct TableRef {
    /// Which form of source it is.
    pub kind: TableRefKind,
    /// Source range, alias and hints included.
    pub span: Span,
}

/// Every form of a source in FROM.
#[derive(Clone, Debug, PartialEq)]
pub enum TableRefKind {
    /// A table, view, CTE, synonym, `inserted` or `deleted`.
    Table(Box<TableSource>),
    /// `@t`: a table variable or a table-valued parameter.
    Variable {
        /// The variable that holds the rows.
        variable: Variable,
        /// Name after AS; `None` if there is none.
        alias: Option<Ident>,
        /// Table hints of `WITH (..)`.
        hints: Vec<TableHint>,
    },
    /// A table-valued function, user-defined or built in.
    Function(Box<FunctionSource>),
    /// `OPENROWSET(BULK 'file', ..)`: rows of a file.
    Bulk(Box<BulkSource>),
    /// `x.nodes('p') AS t(c)`: a row per XML node.
    Method {
        /// The method call, which shreds an `xml` value.
        call: Box<Method>,
        /// Table and column names after AS; `None` if there are none.
        alias: Option<TableAlias>,
    },
    /// `(SELECT ..) AS t (columns)`
    Derived {
        /// The query in parentheses, a derived table.
        query: Box<QueryExpression>,
        /// Table and column names after AS; `None` if there are none.
        alias: Option<TableAlias>,
    },
    /// `(VALUES (1, 2), (3, 4)) AS t (a, b)`
    Values {
        /// The rows of the table value constructor; at least one.
        rows: Vec<Vec<Expr>>,
        /// Table and column names after AS; `None` if there are none.
        alias: Option<TableAlias>,
    },
    /// `first JOIN a ON .. JOIN b ON ..`, applied from left to right.
    Joined {
        /// The leftmost source of the chain.
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
        /// The nested DML statement with its OUTPUT.
        statement: Box<Statement>,
        /// Table and column names after AS; `None` if there are none.
        alias: Option<TableAlias>,
    },
}

/// A table in FROM.
#[derive(Clone, Debug, PartialEq)]
pub struct TableSource {
    /// Name of the table, view or CTE.
    pub name: ObjectName,
    /// Name after AS; `None` if there is none.
    pub alias: Option<Ident>,
    /// `WITH (NOLOCK)`, also the old form without WITH.
    pub hints: Vec<TableHint>,
    /// `FOR SYSTEM_TIME ..` of a temporal table; `None` is current rows only.
    pub system_time: Option<SystemTime>,
    /// `TABLESAMPLE (..)`; `None` reads every row.
    pub sample: Option<TableSample>,
}

/// `TABLESAMPLE [SYSTEM] (n PERCENT | ROWS) [REPEATABLE (seed)]`
#[derive(Clone, Debug, PartialEq)]
pub struct TableSample {
    /// How many rows, or how many per cent of them.
    pub count: Expr,
    /// ROWS was written; PERCENT is the default.
    pub rows: bool,
    /// The seed of REPEATABLE; `None` is a random sample.
    pub seed: Option<Expr>,
}

/// `FOR SYSTEM_TIME ..`: which row versions of a temporal table are read.
#[derive(Clone, Debug, PartialEq)]
pub enum SystemTime {
    /// `AS OF x`: versions valid at x.
    AsOf(Expr),
    /// `FROM x TO y`: versions valid at some time after x and before y, both excluded.
    FromTo(Expr, Expr),
    /// `BETWEEN x AND y`: as FROM .. TO, with versions that begin at y.
    Between(Expr, Expr),
    /// `CONTAINED IN (x, y)`: versions that begin and end within x to y.
    ContainedIn(Expr, Expr),
    /// `ALL`: every version, current and historical.
    All,
}

/// A table-valued function in FROM.
#[derive(Clone, Debug, PartialEq)]
pub struct FunctionSource {
    /// The call; OPENJSON, OPENQUERY, OPENROWSET, STRING_SPLIT and the like are calls too.
    pub call: Call,
    /// Table and column names after AS; `None` if there are none.
    pub alias: Option<TableAlias>,
    /// `WITH (column type 'path' [AS JSON], ..)` of OPENJSON and OPENXML.
    pub schema: Vec<SchemaColumn>,
    /// `WITH table` of OPENXML: the table has the columns.
    pub schema_of: Option<ObjectName>,
    /// Table hints of `WITH (..)` behind the function.
    pub hints: Vec<TableHint>,
}

/// `OPENROWSET(BULK 'file', options) [WITH (column type, ..)] AS alias`
#[derive(Clone, Debug, PartialEq)]
pub struct BulkSource {
    /// Path of the data file.
    pub file: Box<str>,
    /// FORMAT = 'PARQUET', SINGLE_BLOB and so on.
    pub options: Vec<super::BulkOption>,
    /// Columns of `WITH (..)`; empty if the file describes its columns.
    pub schema: Vec<SchemaColumn>,
    /// Table and column names after AS; `None` if there are none.
    pub alias: Option<TableAlias>,
}

/// A column of OPENJSON's, OPENXML's or OPENROWSET's WITH.
#[derive(Clone, Debug, PartialEq)]
pub struct SchemaColumn {
    /// Name of the column.
    pub name: Ident,
    /// Type that the value is converted to.
    pub data_type: TypeName,
    /// COLLATE behind the type; `None` is the database's default.
    pub collation: Option<Ident>,
    /// JSON path, XPath or column ordinal of the value; `None` looks for the column's name.
    pub path: Option<Box<str>>,
    /// `AS JSON`: the value is a JSON fragment.
    pub as_json: bool,
}

/// `AS name (columns)` behind a source of rows.
#[derive(Clone, Debug, PartialEq)]
pub struct TableAlias {
    /// Name of the source in this query.
    pub name: Ident,
    /// The columns' names, if given.
    pub columns: Vec<Ident>,
}

/// One step of a chain of joins.
#[derive(Clone, Debug, PartialEq)]
pub struct Join {
    /// Inner, left, right, full, cross or apply.
    pub kind: JoinKind,
    /// Algorithm in the syntax, as in `INNER HASH JOIN`; `None` leaves it to the optimizer.
    pub hint: Option<JoinHint>,
    /// The source right of JOIN or APPLY.
    pub right: TableRef,
    /// The condition of ON; `None` for CROSS JOIN and APPLY.
    pub on: Option<Condition>,
    /// From the first keyword to the end of ON.
    pub span: Span,
}

/// How two sources are joined.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum JoinKind {
    /// `[INNER] JOIN`: pairs that satisfy ON.
    Inner,
    /// `LEFT [OUTER] JOIN`: left rows without a match appear with NULLs.
    Left,
    /// `RIGHT [OUTER] JOIN`: right rows without a match appear with NULLs.
    Right,
    /// `FULL [OUTER] JOIN`: rows of either side without a match appear with NULLs.
    Full,
    /// `CROSS JOIN`: every pair of rows.
    Cross,
    /// `CROSS APPLY`: the right side is evaluated for every left row.
    CrossApply,
    /// `OUTER APPLY`: as CROSS APPLY; left rows without a result appear with NULLs.
    OuterApply,
}

/// A join algorithm that the user asks for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum JoinHint {
    /// `LOOP`: a nested loops join.
    Loop,
    /// `HASH`: a hash match join.
    Hash,
    /// `MERGE`: a merge join.
    Merge,
    /// `REMOTE`: the join runs at the right side's server.
    Remote,
}

/// `source PIVOT (aggregate FOR column IN ([a], [b])) AS p`
#[derive(Clone, Debug, PartialEq)]
pub struct Pivot {
    /// The source whose rows become columns.
    pub source: TableRef,
    /// The aggregate that fills the new columns.
    pub aggregate: Call,
    /// The column whose values become columns.
    pub column: ColumnName,
    /// Values of the column, which name the new columns.
    pub values: Vec<Ident>,
    /// Table and column names after AS.
    pub alias: Option<TableAlias>,
}

/// `source UNPIVOT (value FOR name IN ([a], [b])) AS p`
#[derive(Clone, Debug, PartialEq)]
pub struct Unpivot {
    /// The source whose columns become rows.
    pub source: TableRef,
    /// The column that gets the values.
    pub value: Ident,
    /// The column that gets the names.
    pub name: Ident,
    /// The columns that become rows.
    pub columns: Vec<ColumnName>,
    /// Table and column names after AS.
    pub alias: Option<TableAlias>,
}

/// A column named in a clause, perhaps with its table.
pub type ColumnName = super::ColumnRef;

/// One hint of a table's `WITH (..)`.
#[derive(Clone, Debug, PartialEq)]
pub struct TableHint {
    /// Which hint, with its arguments.
    pub kind: TableHintKind,
    /// Source range of the hint.
    pub span: Span,
}

/// Every form of a table hint.
#[derive(Clone, Debug, PartialEq)]
pub enum TableHintKind {
    /// A hint that is one word, as NOLOCK.
    Word(TableHintWord),
    /// `INDEX (a, b)`, `INDEX = a`, `INDEX (0)`
    Index(Vec<IndexRef>),
    /// `FORCESEEK [(index (columns))]`; `None` is any index.
    ForceSeek(Option<(IndexRef, Vec<Ident>)>),
    /// `SPATIAL_WINDOW_MAX_CELLS = n`, of spatial indexes.
    SpatialWindowMaxCells(u32),
}

/// An index by name or number.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum IndexRef {
    /// Name of the index.
    Name(Ident),
    /// Its `index_id`; 0 asks for a scan of the table.
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
    /// Which hint, with its value.
    pub kind: QueryHintKind,
    /// Source range of the hint.
    pub span: Span,
}

/// Every form of a query hint.
#[derive(Clone, Debug, PartialEq)]
pub enum QueryHintKind {
    /// A hint without a value, in upper case with single blanks: `RECOMPILE`, `HASH JOIN`, `ORDER
    /// GROUP`, `FORCE ORDER`, `KEEP PLAN`, `ROBUST PLAN`, `EXPAND VIEWS`,
    /// `IGNORE_NONCLUSTERED_COLUMNSTORE_INDEX`, `PARAMETERIZATION FORCED`,
    /// `DISABLE_OPTIMIZED_PLAN_FORCING`, ..
    Plain(Box<str>),
    /// A hint with a number: `MAXDOP 1`, `FAST 10`, `MAXRECURSION 100`, `QUERYTRACEON 8649`,
    /// `MAX_GRANT_PERCENT = 10`, `MIN_GRANT_PERCENT = 10`.
    Number(Box<str>, f64),
    /// `LABEL = 'x'`, `USE PLAN N'<xml>'`
    Text(Box<str>, Box<str>),
    /// `OPTIMIZE FOR (@v = 1, @w UNKNOWN)`; `None` is UNKNOWN.
    OptimizeFor(Vec<(Variable, Option<Expr>)>),
    /// `OPTIMIZE FOR UNKNOWN`: no parameter's value is sniffed.
    OptimizeForUnknown,
    /// `USE HINT ('a', 'b')`
    UseHint(Vec<Box<str>>),
    /// `TABLE HINT (t, NOLOCK)`
    TableHint(ObjectName, Vec<TableHint>),
}
