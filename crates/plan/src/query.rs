//! Bound queries: a tree of operators ([`Node`]) over the statement's register file.

use std::sync::Arc;

use smol_str::SmolStr;
use types::value::ColumnType;

use crate::document::Document;
use crate::expr::{Expr, Register};
use crate::sink::Traits;
use crate::view::SystemView;
use catalog::{ModuleDef, TableDef};

/// A query expression (everything that returns rows), with its output columns.
#[derive(Clone, Debug)]
pub struct Query {
    /// Operators that produce the rows.
    pub root: Node,
    /// The output, left to right; evaluated over the registers once `root` has a row.
    pub output: Vec<OutputColumn>,
}

/// A column that a query returns.
#[derive(Clone, Debug)]
pub struct OutputColumn {
    /// Column name; empty if the expression has none.
    pub name: SmolStr,
    /// Value of the column, over the registers.
    pub expr: Expr,
    /// Identity, `numeric`, HIDDEN and the like, where the column is a bare column of a table.
    pub traits: Traits,
}

/// An operator. Each fills registers and asks its input for the next row.
#[derive(Clone, Debug)]
pub enum Node {
    /// One row without columns: SELECT without FROM.
    OneRow,
    /// Rows of a table by one access path.
    Scan(Box<Scan>),
    /// Rows of a system view, made when opened.
    View(Box<ViewScan>),
    /// Rows of constant or variable expressions: VALUES.
    Values(Box<ValuesScan>),
    /// Rows that a table-valued function makes.
    Function(Box<FunctionScan>),
    /// Rows that a user's multi-statement function returns.
    UserFunction(Box<UserFunctionScan>),
    /// Rows of files: OPENROWSET(BULK ..) or an external table.
    Bulk(Box<BulkScan>),
    /// Rows for which the predicate is true.
    Filter(Box<(Node, Expr)>),
    /// Joins of two inputs.
    Join(Box<Join>),
    /// GROUP BY, grouping sets and aggregates.
    Aggregate(Box<Aggregate>),
    /// Computes window functions over partitions.
    Window(Box<Window>),
    /// Sorts by the keys, stable.
    Sort(Box<Sort>),
    /// Drops rows whose keys were seen before.
    Distinct(Box<(Node, Vec<Expr>)>),
    /// TOP, OFFSET and FETCH.
    Limit(Box<Limit>),
    /// `UNION [ALL]`, EXCEPT, INTERSECT.
    SetOperation(Box<SetOperation>),
    /// A recursive CTE: anchor, then the recursive part over the rows of the round before.
    Recursive(Box<Recursive>),
    /// FOR JSON and FOR XML: all rows as one text.
    Document(Box<Document>),
    /// Rows of a table through an index that is built while the statement runs.
    Spool(Box<Spool>),
    /// Rows of the working table of the [`Node::Recursive`] with this id.
    WorkTable(u32, Vec<Register>),
    /// No row: a predicate that is never true.
    Empty,
    /// Evaluates expressions into registers for each row.
    Compute(Box<(Node, Vec<(Register, Expr)>)>),
}

/// A scan of a table.
#[derive(Clone, Debug)]
pub struct Scan {
    /// Which table: resolved when bound, or by slot for table variables.
    pub table: TableSource,
    /// Access path: which rows are read.
    pub access: Access,
    /// Columns that are needed: ordinal in the table, and the register that receives it.
    pub columns: Vec<(u16, Register)>,
    /// Number that identifies the scan's current row for UPDATE, DELETE and WHERE CURRENT OF.
    pub row: u32,
    /// The whole predicate on this table, including the part that the access path covers. A writer
    /// that finds a row changed since it was read evaluates it again.
    pub predicate: Option<Expr>,
    /// The part of the predicate that the access path does not cover.
    pub residual: Option<Expr>,
    /// Locks and isolation that table hints ask for.
    pub hints: ScanHints,
}

/// Where a table comes from at run time.
#[derive(Clone, Debug)]
pub enum TableSource {
    /// A table of the catalog or a temporary table.
    Table(Arc<TableDef>),
    /// A table variable of the running batch or procedure, by its slot.
    Variable(u32, Arc<TableDef>),
    /// The `inserted` (false) or `deleted` (true) rows of the running trigger.
    Trigger(bool, Arc<TableDef>),
}

/// How a scan finds its rows.
#[derive(Clone, Debug)]
pub enum Access {
    /// All rows of the table.
    Full,
    /// Rows whose index key equals the values (all columns of a hash index, a prefix of a range
    /// index).
    Seek {
        /// Index number within the table.
        index: u16,
        /// One expression per key column, of the column's type; a NULL matches nothing.
        key: Vec<Expr>,
    },
    /// Rows of a range index between bounds, in key order.
    Range {
        /// Index number within the table.
        index: u16,
        /// Equal on these leading key columns.
        prefix: Vec<Expr>,
        /// Lower bound on the next column, and whether it is inclusive.
        lower: Option<(Expr, bool)>,
        /// Upper bound on the next column, and whether it is inclusive.
        upper: Option<(Expr, bool)>,
        /// Whether rows come in descending key order.
        backward: bool,
    },
    /// Rows whose index key equals the prefix and, in the next column, one of several values: a
    /// seek for each, in key order.
    Points {
        /// Index number within the table.
        index: u16,
        /// Equal on these leading key columns.
        prefix: Vec<Expr>,
        /// What the next column may be.
        points: Vec<Point>,
    },
}

/// What a seek of [`Access::Points`] looks for in its last column.
#[derive(Clone, Debug)]
pub enum Point {
    /// A value of the column's type; a NULL matches nothing.
    Equal(Expr),
    /// NULL: `column IS NULL`.
    Null,
    /// Strings that start like this constant: `column LIKE 'abc%'`. Others may be found too.
    Starts(Expr),
}

impl Point {
    /// Returns the expression of the value; `None` for NULL.
    pub fn expr(&self) -> Option<&Expr> {
        match self {
            Self::Equal(expr) | Self::Starts(expr) => Some(expr),
            Self::Null => None,
        }
    }

    /// As [`Point::expr`], to be changed.
    pub fn expr_mut(&mut self) -> Option<&mut Expr> {
        match self {
            Self::Equal(expr) | Self::Starts(expr) => Some(expr),
            Self::Null => None,
        }
    }
}

/// The access path that table hints ask for. An index is given by its number within the table.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Path {
    /// No hint: the optimizer chooses.
    #[default]
    Any,
    /// FORCESCAN, INDEX (0): read all rows.
    Scan,
    /// INDEX (name): use that index.
    Index(u16),
    /// FORCESEEK: seek, in that index if one is named.
    Seek(Option<u16>),
}

/// What table hints ask for.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct ScanHints {
    /// INDEX, FORCESEEK, FORCESCAN: the access path.
    pub path: Path,
    /// UPDLOCK, XLOCK: take ownership of the rows read until the transaction ends.
    pub exclusive: bool,
    /// XLOCK: no other transaction may hold a lock on the rows.
    pub alone: bool,
    /// TABLOCK, TABLOCKX: a lock on the whole table.
    pub whole: Whole,
    /// READCOMMITTEDLOCK: wait for a writer of the row, whatever READ_COMMITTED_SNAPSHOT says.
    pub committed_lock: bool,
    /// Whether this is the table that UPDATE, DELETE or MERGE changes.
    pub target: bool,
    /// Whether the statement changes those of the rows that TOP or a window function picks: a row
    /// that is gone by the time it is claimed has another in its place.
    pub picked: bool,
    /// The row-version options of the table's database.
    pub database: Versions,
    /// READPAST: skip rows that another transaction owns.
    pub read_past: bool,
    /// NOLOCK, READUNCOMMITTED: read as a snapshot does, without blocking.
    pub read_uncommitted: bool,
    /// READCOMMITTED: use this level whatever the session's level is.
    pub read_committed: bool,
    /// REPEATABLEREAD: hold shared locks to the end of the transaction.
    pub repeatable_read: bool,
    /// SERIALIZABLE, HOLDLOCK: REPEATABLEREAD, and no phantoms.
    pub serializable: bool,
    /// SNAPSHOT (memory-optimized tables in explicit transactions; else error 41368).
    pub snapshot: bool,
    /// NOWAIT: error 1222 instead of a wait for a row.
    pub no_wait: bool,
    /// TABLESAMPLE: read only part of the table.
    pub sample: Option<Sample>,
}

/// Which lock a table hint asks for on the whole table.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Whole {
    /// No table lock hint.
    #[default]
    No,
    /// TABLOCK: a shared lock; an exclusive one for a statement that changes rows or has UPDLOCK or
    /// XLOCK.
    Shared,
    /// TABLOCKX: an exclusive lock.
    Exclusive,
}

/// Which row-version options the table's database has ON.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Versions {
    /// READ_COMMITTED_SNAPSHOT ON and ALLOW_SNAPSHOT_ISOLATION ON.
    #[default]
    Both,
    /// Only ALLOW_SNAPSHOT_ISOLATION is ON.
    Snapshot,
    /// Only READ_COMMITTED_SNAPSHOT is ON.
    ReadCommitted,
    /// Both options are OFF.
    None,
    /// Only this session sees the rows: a temporary table, a table variable, the rows of a trigger.
    Private,
}

impl Versions {
    /// Returns whether READ COMMITTED reads what was committed when the statement began.
    #[must_use]
    pub const fn serve_read_committed(self) -> bool {
        matches!(self, Self::Both | Self::ReadCommitted | Self::Private)
    }

    /// Returns whether SNAPSHOT isolation is allowed.
    #[must_use]
    pub const fn serve_snapshot(self) -> bool {
        matches!(self, Self::Both | Self::Snapshot | Self::Private)
    }
}

impl ScanHints {
    /// Returns whether READ COMMITTED outside of a transaction may read the newest committed row
    /// without a lock.
    #[must_use]
    pub const fn read_versions(&self) -> bool {
        let locks = self.exclusive || self.committed_lock || !matches!(self.whole, Whole::No);
        let levels = self.read_uncommitted || self.repeatable_read || self.serializable;
        !locks && !levels && self.database.serve_read_committed()
    }
}

/// Which part of a table's pages TABLESAMPLE reads.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Sample {
    /// Share of the pages, or number of rows.
    pub size: SampleSize,
    /// REPEATABLE: the same seed takes the same pages.
    pub seed: Option<u64>,
}

/// How large a sample is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum SampleSize {
    /// Fraction of the pages in units of 2^-64, computed from PERCENT; `None` for all pages.
    Share(Option<u64>),
    /// Roughly this number of rows.
    Rows(u64),
}

/// Returns a part of 2 to the power of 64, of a share between 0 and 1.
#[expect(
    clippy::cast_possible_truncation,
    clippy::cast_sign_loss,
    clippy::cast_precision_loss,
    reason = "the product is between 0 and 2 to the power of 64, and `as` saturates"
)]
pub fn sample_portion(share: f64) -> u64 {
    (share * u64::MAX as f64) as u64
}

/// A scan of a system view.
#[derive(Clone, Debug)]
pub struct ViewScan {
    /// The view or table function.
    pub view: &'static dyn SystemView,
    /// Name of the database that the view is read in.
    pub database: String,
    /// Arguments of a system table function.
    pub arguments: Vec<Expr>,
    /// Columns that are needed: ordinal in the view, and the register that receives it.
    pub columns: Vec<(u16, Register)>,
}

/// `VALUES (..), (..)`, or `INSERT .. VALUES`.
#[derive(Clone, Debug)]
pub struct ValuesScan {
    /// Rows of expressions, all of one width.
    pub rows: Vec<Vec<Expr>>,
    /// Registers that receive the values, one per column.
    pub registers: Vec<Register>,
    /// Target table and columns of an INSERT; the truncation error names them.
    pub target: Option<(Arc<catalog::TableDef>, Vec<usize>)>,
}

/// A built-in table-valued function (STRING_SPLIT, GENERATE_SERIES, OPENJSON ..).
#[derive(Clone, Debug)]
pub struct FunctionScan {
    /// The function's entry in the library.
    pub function: &'static crate::function::TableFunction,
    /// Arguments, converted by the function's `bind`.
    pub arguments: Vec<Expr>,
    /// Registers that receive its columns.
    pub registers: Vec<Register>,
}

/// OPENROWSET(BULK ..) or an external table: the rows of files. The files' schemas were read at
/// bind time; each execution opens the files again.
#[derive(Clone, Debug)]
pub struct BulkScan {
    /// Name in messages: the external table's, or the file's.
    pub name: String,
    /// Files to read, in order.
    pub files: Vec<BulkFile>,
    /// File format, with its options.
    pub format: BulkFormat,
    /// Columns that are needed: ordinal in the format, and the register that receives it.
    pub columns: Vec<(u16, Register)>,
    /// Estimated number of rows.
    pub rows: u64,
    /// Conditions that a row group's bounds must satisfy for the group to be read.
    pub tests: Vec<GroupTest>,
}

impl BulkScan {
    /// Returns the number of parts that can be read in parallel: row groups for Parquet, 1
    /// otherwise.
    pub fn parts(&self) -> usize {
        match self.format {
            BulkFormat::Parquet(_) => self.files.iter().map(|file| file.groups).sum(),
            BulkFormat::Text(_) | BulkFormat::Single(_) => 1,
        }
    }
}

/// A file of a scan.
#[derive(Clone, Debug)]
pub struct BulkFile {
    /// Path as the server opens it.
    pub path: String,
    /// Parquet only: the format's columns as this file has them, with their ordinals in the file.
    pub columns: Vec<(parquet_io::Column, usize)>,
    /// Parquet only: number of row groups.
    pub groups: usize,
}

/// A condition on the minimum and maximum of a row group's columns. It is true for every group that
/// may contain a row of the result.
#[derive(Clone, Debug)]
pub struct GroupTest {
    /// The condition, over the registers of the minima and maxima.
    pub condition: Expr,
    /// Per column of the format: its ordinal, and the registers of its minimum and its maximum.
    pub bounds: Vec<(u16, Register, Register)>,
}

/// How a file is read.
#[derive(Clone, Debug)]
pub enum BulkFormat {
    /// FORMAT = 'PARQUET': the types of the columns that are read.
    Parquet(Vec<types::DataType>),
    /// FORMAT = 'CSV': a text file with the columns that WITH lists.
    Text(Box<TextFormat>),
    /// SINGLE_BLOB, SINGLE_CLOB, SINGLE_NCLOB: one row whose only column, of this type, is the
    /// whole file.
    Single(types::DataType),
}

/// A text file of OPENROWSET(BULK ..).
#[derive(Clone, Debug)]
pub struct TextFormat {
    /// Terminators, quoting, code page and the other options.
    pub options: ::files::option::Options,
    /// The columns that WITH lists: name and type.
    pub columns: Vec<(String, types::value::ColumnType)>,
}

/// A user's multi-statement function.
#[derive(Clone, Debug)]
pub struct UserFunctionScan {
    /// Definition of the function.
    pub module: Arc<ModuleDef>,
    /// Definition of the table that it returns.
    pub definition: Arc<TableDef>,
    /// Arguments, converted to the types of its parameters.
    pub arguments: Vec<Expr>,
    /// Registers that receive its columns.
    pub registers: Vec<Register>,
}

/// A join. Derived tables, views and CTEs have no operator: the node of their query is the input in
/// FROM, and a [`Node::Compute`] evaluates their columns that are not bare columns.
#[derive(Clone, Debug)]
pub struct Join {
    /// Inner, left, full, semi or anti.
    pub kind: JoinKind,
    /// Nested loops or hash.
    pub method: JoinMethod,
    /// Left input; the outer one of nested loops.
    pub left: Node,
    /// Inner input; with [`JoinMethod::Loop`] it may read the registers of the left one.
    pub right: Node,
    /// The part of ON that was not pushed into the inputs.
    pub on: Option<Expr>,
    /// Registers and rows of the left input: set to NULL for a FULL join's unmatched right rows.
    pub left_live: Live,
    /// Registers and rows of the right input: set to NULL for unmatched left rows.
    pub right_live: Live,
    /// Whether its rows may come in any order, because no operator above depends on it.
    pub any_order: bool,
}

/// How a join finds the right rows for a left row.
#[derive(Clone, Debug)]
pub enum JoinMethod {
    /// Opens the right input again for each left row (so APPLY and an index seek are joins).
    Loop,
    /// Reads the right input once into a hash table. Keys of the left and of the right side, in
    /// pairs of one type and collation; rows with a NULL key match nothing.
    Hash(Vec<(Expr, Expr)>),
}

/// The registers and scan rows that an input fills. An operator that buffers rows must save them.
#[derive(Clone, Debug, Default)]
pub struct Live {
    /// Registers, in no particular order.
    pub registers: Vec<Register>,
    /// Scan row numbers that an UPDATE, DELETE or MERGE needs.
    pub rows: Vec<u32>,
}

/// The kind of a join.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum JoinKind {
    /// INNER, CROSS, CROSS APPLY.
    Inner,
    /// LEFT OUTER, OUTER APPLY. (A RIGHT join is bound as a LEFT one with its sides swapped.)
    Left,
    /// `FULL [OUTER] JOIN`: unmatched rows of both sides.
    Full,
    /// EXISTS: returns a left row once if any right row matches, and no columns of the right side.
    Semi,
    /// NOT EXISTS: a left row if no right row matches.
    Anti,
}

/// GROUP BY, grouping sets and aggregate functions.
#[derive(Clone, Debug)]
pub struct Aggregate {
    /// Rows to be grouped.
    pub input: Node,
    /// Grouping keys and the registers that hold a group's key.
    pub keys: Vec<(Expr, Register)>,
    /// Grouping sets as lists of indexes into `keys`; one set with all of them for a plain GROUP
    /// BY.
    pub sets: Vec<Vec<u16>>,
    /// Whether there is no GROUP BY: returns one row even for an empty input.
    pub scalar: bool,
    /// Aggregate calls, evaluated for each group.
    pub aggregates: Vec<AggregateCall>,
    /// Register for the GROUPING_ID bit mask of the current set, if the query uses it.
    pub grouping_id: Option<Register>,
}

/// One aggregate function call.
#[derive(Clone, Debug)]
pub struct AggregateCall {
    /// The function's entry in the library.
    pub function: &'static crate::function::AggregateFunction,
    /// Arguments; empty for COUNT(*).
    pub arguments: Vec<Expr>,
    /// DISTINCT: equal values count once.
    pub distinct: bool,
    /// WITHIN GROUP (ORDER BY ..) of STRING_AGG.
    pub order: Vec<SortKey>,
    /// Condition on the rows that are aggregated: PIVOT aggregates those of one value.
    pub filter: Option<Expr>,
    /// Type of the result.
    pub ty: ColumnType,
    /// Register that receives the result.
    pub register: Register,
}

/// Window functions over one partitioning and order.
#[derive(Clone, Debug)]
pub struct Window {
    /// Rows to compute over.
    pub input: Node,
    /// Registers and rows of the input that must survive the sort.
    pub live: Live,
    /// The calls; each has its own partition, order and frame.
    pub calls: Vec<WindowCall>,
    /// Whether the rows come in the order of every call and no call looks ahead: then each row is
    /// numbered as it passes. Set by the optimizer.
    pub streams: bool,
}

/// One window function call.
#[derive(Clone, Debug)]
pub struct WindowCall {
    /// The function, or the aggregate.
    pub function: WindowFunction,
    /// Arguments of the function.
    pub arguments: Vec<Expr>,
    /// PARTITION BY expressions; empty for one partition.
    pub partition: Vec<Expr>,
    /// ORDER BY of the OVER clause.
    pub order: Vec<SortKey>,
    /// Frame: `None` is the default of the function.
    pub frame: Option<WindowFrame>,
    /// IGNORE or RESPECT NULLS of FIRST_VALUE, LAST_VALUE, LAG and LEAD.
    pub nulls: Nulls,
    /// Register that receives the result.
    pub register: Register,
    /// Type of the result.
    pub ty: ColumnType,
}

/// Functions that need an OVER clause, and aggregates used with one.
#[derive(Clone, Copy, Debug)]
#[expect(missing_docs, reason = "the variants are the functions' own names")]
pub enum WindowFunction {
    RowNumber,
    Rank,
    DenseRank,
    Ntile,
    Lag,
    Lead,
    FirstValue,
    LastValue,
    PercentRank,
    CumeDist,
    PercentileCont,
    PercentileDisc,
    /// An aggregate over the frame.
    Aggregate(&'static crate::function::AggregateFunction),
}

/// What a window function does with NULLs.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Nulls {
    /// RESPECT NULLS: NULL is a value like any other.
    #[default]
    Respect,
    /// IGNORE NULLS: NULL is skipped.
    Ignore,
}

/// ROWS or RANGE BETWEEN start AND end.
#[derive(Clone, Debug)]
pub struct WindowFrame {
    /// ROWS (true) or RANGE (false).
    pub rows: bool,
    /// Start of the frame.
    pub start: FrameBound,
    /// End of the frame.
    pub end: FrameBound,
}

/// A bound of a window frame.
#[derive(Clone, Debug)]
#[expect(missing_docs, reason = "the variants are the grammar's own words")]
pub enum FrameBound {
    UnboundedPreceding,
    Preceding(u64),
    CurrentRow,
    Following(u64),
    UnboundedFollowing,
}

/// One expression of ORDER BY.
#[derive(Clone, Debug)]
pub struct SortKey {
    /// Expression to sort by.
    pub expr: Expr,
    /// DESC; false for ASC.
    pub descending: bool,
}

/// A stable sort of all rows.
#[derive(Clone, Debug)]
pub struct Sort {
    /// Rows to be sorted.
    pub input: Node,
    /// Keys, most significant first.
    pub keys: Vec<SortKey>,
    /// TOP above the sort: the number of rows to keep; the rest is discarded.
    pub limit: Option<Expr>,
    /// Registers and rows of the input that must survive the sort.
    pub live: Live,
}

/// TOP, OFFSET and FETCH.
#[derive(Clone, Debug)]
pub struct Limit {
    /// Rows to be limited.
    pub input: Node,
    /// OFFSET: number of rows to skip.
    pub offset: Option<Expr>,
    /// Rows to return at most; a percentage if `percent`.
    pub count: Option<Expr>,
    /// `TOP (n) PERCENT`: `count` is a percentage.
    pub percent: bool,
    /// WITH TIES: continues while these keys equal those of the last row.
    pub ties: Option<Vec<SortKey>>,
}

/// UNION, EXCEPT or INTERSECT; the output goes to `registers`.
#[derive(Clone, Debug)]
pub struct SetOperation {
    /// UNION, UNION ALL, EXCEPT or INTERSECT.
    pub kind: SetKind,
    /// Left query, its output converted to the common types.
    pub left: Query,
    /// Right query, its output converted to the common types.
    pub right: Query,
    /// Registers that receive the result's columns.
    pub registers: Vec<Register>,
}

/// Kinds of set operation.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[expect(missing_docs, reason = "the variants are the grammar's own words")]
pub enum SetKind {
    UnionAll,
    Union,
    Except,
    Intersect,
}

/// An index spool over a table without a suitable index that is opened repeatedly, each time for
/// another key. The first open reads the whole input into a hash table by key; later ones look the
/// key up.
#[derive(Clone, Debug)]
pub struct Spool {
    /// Number that identifies the stored rows within the statement.
    pub number: u32,
    /// Rows to store; it reads no register of the surrounding query.
    pub input: Node,
    /// Pairs of one type and collation: an outer value, and the expression over the row that must
    /// equal it.
    pub keys: Vec<(Expr, Expr)>,
    /// Further predicate on the rows.
    pub rest: Option<Expr>,
    /// Registers and rows of the input that are stored.
    pub live: Live,
}

/// A recursive common table expression.
#[derive(Clone, Debug)]
pub struct Recursive {
    /// Id by which [`Node::WorkTable`] finds it.
    pub id: u32,
    /// The anchor members: the rows of round 0.
    pub anchor: Query,
    /// The recursive members: each round reads the rows of the one before.
    pub step: Query,
    /// Registers that receive the result's columns.
    pub registers: Vec<Register>,
    /// OPTION (MAXRECURSION n): limit of rounds; 0 for none; 100 by default.
    pub rounds_max: u32,
}
