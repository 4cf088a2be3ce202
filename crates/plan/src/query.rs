//! Bound queries: a tree of operators over the register file.

use std::sync::Arc;

use smol_str::SmolStr;
use types::value::ColumnType;

use crate::document::Document;
use crate::expr::{Expr, Register};
use crate::sink::Traits;
use crate::view::SystemView;
use catalog::{ModuleDef, TableDef};

/// A query expression (everything that gives rows), with its output columns.
#[derive(Clone, Debug)]
pub struct Query {
    /// How rows are made.
    pub root: Node,
    /// The output, left to right; evaluated over the registers once `root` has a row.
    pub output: Vec<OutputColumn>,
}

/// A column that a query returns.
#[derive(Clone, Debug)]
pub struct OutputColumn {
    /// Its name; empty if it has none.
    pub name: SmolStr,
    /// Its value.
    pub expr: Expr,
    /// What it is beside its type, where it is a bare column of a table.
    pub traits: Traits,
}

/// An operator. Each fills registers and asks its input for the next row.
#[derive(Clone, Debug)]
pub enum Node {
    /// One row of nothing: SELECT without FROM.
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
    /// Rows of a file.
    Bulk(Box<BulkScan>),
    /// Rows for which the predicate is true.
    Filter(Box<(Node, Expr)>),
    /// Joins of two inputs.
    Join(Box<Join>),
    /// Groups and aggregates.
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
    /// Rows of a table by an index that is made while the statement runs.
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
    /// Which rows.
    pub access: Access,
    /// Columns that are needed: ordinal in the table, register it goes to.
    pub columns: Vec<(u16, Register)>,
    /// Number that identifies the scan's current row for UPDATE, DELETE and WHERE CURRENT OF.
    pub row: u32,
    /// The whole predicate on this table, that of the access path included: what a row must still
    /// satisfy when a writer finds that it has changed since it was read.
    pub predicate: Option<Expr>,
    /// What is left of the predicate after the access path.
    pub residual: Option<Expr>,
    /// Locks and isolation asked by table hints.
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

/// An access path.
#[derive(Clone, Debug)]
pub enum Access {
    /// All rows.
    Full,
    /// Rows whose key of the index equals the values (all columns for a hash index, a prefix for a range index).
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
        /// Descending order.
        backward: bool,
    },
}

/// The access path that table hints ask for; indexes by their place in the table.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Path {
    /// The best one.
    #[default]
    Any,
    /// FORCESCAN, INDEX (0): all rows.
    Scan,
    /// INDEX (name): by that index.
    Index(u16),
    /// FORCESEEK: by looking keys up, in that index if one is named.
    Seek(Option<u16>),
}

/// What table hints ask for.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct ScanHints {
    /// INDEX, FORCESEEK, FORCESCAN.
    pub path: Path,
    /// UPDLOCK, XLOCK: take ownership of the rows read until the transaction ends.
    pub exclusive: bool,
    /// XLOCK: and let nobody else hold them.
    pub alone: bool,
    /// TABLOCK, TABLOCKX.
    pub whole: Whole,
    /// READCOMMITTEDLOCK: wait for who is changing a row, whatever the database says.
    pub committed_lock: bool,
    /// Rows that the statement changes: UPDATE, DELETE, MERGE.
    pub target: bool,
    /// What the table's database says.
    pub database: Versions,
    /// READPAST: leave out rows that another transaction owns.
    pub read_past: bool,
    /// NOLOCK, READUNCOMMITTED: as a snapshot read; no blocking.
    pub read_uncommitted: bool,
    /// READCOMMITTED: whatever the session's level is.
    pub read_committed: bool,
    /// REPEATABLEREAD.
    pub repeatable_read: bool,
    /// SERIALIZABLE, HOLDLOCK.
    pub serializable: bool,
    /// SNAPSHOT (memory-optimized tables in explicit transactions; else error 41368).
    pub snapshot: bool,
    /// NOWAIT: error 1222 instead of a wait for a row.
    pub no_wait: bool,
    /// TABLESAMPLE.
    pub sample: Option<Sample>,
}

/// Which lock a table hint asks for on the whole table.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Whole {
    /// None.
    #[default]
    No,
    /// TABLOCK: a shared one, or an exclusive one for who changes rows or asks for UPDLOCK or XLOCK.
    Shared,
    /// TABLOCKX.
    Exclusive,
}

/// What the database of a table says about row versions.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Versions {
    /// READ_COMMITTED_SNAPSHOT ON and ALLOW_SNAPSHOT_ISOLATION ON.
    #[default]
    Both,
    /// Only ALLOW_SNAPSHOT_ISOLATION is ON.
    Snapshot,
    /// Only READ_COMMITTED_SNAPSHOT is ON.
    ReadCommitted,
    /// Neither is.
    None,
    /// Nobody but the session sees the rows: a temporary table, a table variable, the rows of a trigger.
    Private,
}

impl Versions {
    /// Tells whether READ COMMITTED reads what was committed when the statement began.
    #[must_use]
    pub const fn serve_read_committed(self) -> bool {
        matches!(self, Self::Both | Self::ReadCommitted | Self::Private)
    }

    /// Tells whether SNAPSHOT is allowed.
    #[must_use]
    pub const fn serve_snapshot(self) -> bool {
        matches!(self, Self::Both | Self::Snapshot | Self::Private)
    }
}

impl ScanHints {
    /// Tells whether READ COMMITTED outside of a transaction may read the newest committed row at once.
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
    /// How much.
    pub size: SampleSize,
    /// REPEATABLE: the same seed takes the same pages.
    pub seed: Option<u64>,
}

/// How much a sample is to have.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum SampleSize {
    /// Of 2 to the power of 64 pages so many, as PERCENT was brought to; all of them if absent.
    Share(Option<u64>),
    /// About so many rows.
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
    /// The view.
    pub view: &'static dyn SystemView,
    /// The database whose view it is.
    pub database: String,
    /// Arguments of a system table function.
    pub arguments: Vec<Expr>,
    /// Columns that are needed: ordinal in the view, register it goes to.
    pub columns: Vec<(u16, Register)>,
}

/// VALUES (..), (..).
#[derive(Clone, Debug)]
pub struct ValuesScan {
    /// Rows of expressions, all of one width.
    pub rows: Vec<Vec<Expr>>,
    /// Where the values go.
    pub registers: Vec<Register>,
    /// The table that INSERT brings them to and the columns, which an error of a cut value names.
    pub target: Option<(Arc<catalog::TableDef>, Vec<usize>)>,
}

/// A built-in table-valued function (STRING_SPLIT, GENERATE_SERIES, OPENJSON ..).
#[derive(Clone, Debug)]
pub struct FunctionScan {
    /// Which function.
    pub function: &'static crate::function::TableFunction,
    /// Its arguments.
    pub arguments: Vec<Expr>,
    /// Where its columns go.
    pub registers: Vec<Register>,
}

/// OPENROWSET(BULK ..) or an external table: the rows of files. The files were looked at when this was bound, and are
/// opened anew by each execution.
#[derive(Clone, Debug)]
pub struct BulkScan {
    /// What messages call it: the table, or the file.
    pub name: String,
    /// The files.
    pub files: Vec<BulkFile>,
    /// How they are read.
    pub format: BulkFormat,
    /// Columns that are needed: ordinal in the format, register it goes to.
    pub columns: Vec<(u16, Register)>,
    /// Rows that there are, as far as is known.
    pub rows: u64,
    /// What a row group has to satisfy to be read.
    pub tests: Vec<GroupTest>,
}

impl BulkScan {
    /// Returns in how many parts its rows can be read at one time: row groups; one of what is read from end to end.
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
    /// Its path.
    pub path: String,
    /// Of a Parquet file: the columns of the format as the file has them, with their place there.
    pub columns: Vec<(parquet_io::Column, usize)>,
    /// Of a Parquet file: how many row groups it has.
    pub groups: usize,
}

/// A condition on the least and greatest values of a row group, which holds wherever a row of it may satisfy the
/// statement's.
#[derive(Clone, Debug)]
pub struct GroupTest {
    /// The condition, over the registers of the bounds.
    pub condition: Expr,
    /// By column of the format: the registers of its least and its greatest value.
    pub bounds: Vec<(u16, Register, Register)>,
}

/// How a file is read.
#[derive(Clone, Debug)]
pub enum BulkFormat {
    /// FORMAT = 'PARQUET': the types of the columns that are read.
    Parquet(Vec<types::DataType>),
    /// FORMAT = 'CSV'.
    Text(Box<TextFormat>),
    /// SINGLE_BLOB and its kin: one row with all of the file as a value of this type.
    Single(types::DataType),
}

/// A text file of OPENROWSET(BULK ..).
#[derive(Clone, Debug)]
pub struct TextFormat {
    /// What its options say.
    pub options: ::files::option::Options,
    /// Its columns, which WITH names, and their types.
    pub columns: Vec<(String, types::value::ColumnType)>,
}

/// A user's multi-statement function.
#[derive(Clone, Debug)]
pub struct UserFunctionScan {
    /// The function.
    pub module: Arc<ModuleDef>,
    /// The shape of its table.
    pub definition: Arc<TableDef>,
    /// Its arguments, as the types of its parameters.
    pub arguments: Vec<Expr>,
    /// Where its columns go.
    pub registers: Vec<Register>,
}

/// A join. Derived tables, views and CTEs need no operator of their own: the node of their query
/// stands in FROM, and a column that is no bare column there is made by a [`Node::Compute`].
#[derive(Clone, Debug)]
pub struct Join {
    /// Which kind.
    pub kind: JoinKind,
    /// How.
    pub method: JoinMethod,
    /// Outer input.
    pub left: Node,
    /// Inner input; with [`JoinMethod::Loop`] it may read the registers of the left one.
    pub right: Node,
    /// What is left of ON after predicates were pushed into the inputs.
    pub on: Option<Expr>,
    /// What the left input leaves behind: set to NULL for a FULL join's unmatched right rows.
    pub left_live: Live,
    /// What the right input leaves behind: set to NULL for unmatched left rows.
    pub right_live: Live,
    /// Whether its rows may come in any order: nobody above sees it.
    pub any_order: bool,
}

/// How a join finds the right rows of a left one.
#[derive(Clone, Debug)]
pub enum JoinMethod {
    /// Opens the right input anew for each left row (so APPLY and an index seek are joins).
    Loop,
    /// Reads the right input once into a hash table. Keys of the left and of the right side, in
    /// pairs of one type and collation; rows with a NULL key match nothing.
    Hash(Vec<(Expr, Expr)>),
}

/// What an input leaves behind for the operators above it: to be kept by those that buffer rows.
#[derive(Clone, Debug, Default)]
pub struct Live {
    /// Registers.
    pub registers: Vec<Register>,
    /// Scan row numbers that an UPDATE, DELETE or MERGE needs.
    pub rows: Vec<u32>,
}

/// Kinds of join.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum JoinKind {
    /// INNER, CROSS, CROSS APPLY.
    Inner,
    /// LEFT OUTER, OUTER APPLY. (A RIGHT join is bound as a LEFT one with its sides swapped.)
    Left,
    /// FULL OUTER.
    Full,
    /// EXISTS: a left row once if any right row matches; nothing of the right one is seen above.
    Semi,
    /// NOT EXISTS: a left row if no right row matches.
    Anti,
}

/// Grouping.
#[derive(Clone, Debug)]
pub struct Aggregate {
    /// Rows to group.
    pub input: Node,
    /// Grouping keys and the registers that hold a group's key.
    pub keys: Vec<(Expr, Register)>,
    /// Grouping sets as lists of indexes into `keys`; one set with all of them for a plain GROUP BY.
    pub sets: Vec<Vec<u16>>,
    /// Whether there is no GROUP BY: one row even for no input.
    pub scalar: bool,
    /// The aggregates.
    pub aggregates: Vec<AggregateCall>,
    /// Register for the GROUPING_ID bit mask of the current set, if asked for.
    pub grouping_id: Option<Register>,
}

/// One aggregate function call.
#[derive(Clone, Debug)]
pub struct AggregateCall {
    /// The function.
    pub function: &'static crate::function::AggregateFunction,
    /// Arguments; empty for COUNT(*).
    pub arguments: Vec<Expr>,
    /// DISTINCT.
    pub distinct: bool,
    /// WITHIN GROUP (ORDER BY ..) of STRING_AGG.
    pub order: Vec<SortKey>,
    /// Which rows it is over: those of a value of PIVOT.
    pub filter: Option<Expr>,
    /// Result type.
    pub ty: ColumnType,
    /// Where the result goes.
    pub register: Register,
}

/// Window functions over one partitioning and order.
#[derive(Clone, Debug)]
pub struct Window {
    /// Rows.
    pub input: Node,
    /// What of the input has to survive the sort.
    pub live: Live,
    /// The calls; each brings its own partition, order and frame.
    pub calls: Vec<WindowCall>,
    /// Whether the rows come in the order of every call and none has to see later ones: then each is
    /// numbered as it passes. Set by the optimizer.
    pub streams: bool,
}

/// One window function call.
#[derive(Clone, Debug)]
pub struct WindowCall {
    /// The function.
    pub function: WindowFunction,
    /// Arguments.
    pub arguments: Vec<Expr>,
    /// PARTITION BY.
    pub partition: Vec<Expr>,
    /// ORDER BY.
    pub order: Vec<SortKey>,
    /// Frame: `None` is the default of the function.
    pub frame: Option<WindowFrame>,
    /// What FIRST_VALUE, LAST_VALUE, LAG and LEAD do with NULLs.
    pub nulls: Nulls,
    /// Where the result goes.
    pub register: Register,
    /// Result type.
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
    /// RESPECT NULLS: they are values.
    #[default]
    Respect,
    /// IGNORE NULLS: they are passed over.
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

/// A sort key.
#[derive(Clone, Debug)]
pub struct SortKey {
    /// The value.
    pub expr: Expr,
    /// DESC.
    pub descending: bool,
}

/// A sort.
#[derive(Clone, Debug)]
pub struct Sort {
    /// Rows.
    pub input: Node,
    /// Keys, most significant first.
    pub keys: Vec<SortKey>,
    /// Rows that are wanted at most (TOP above it): the rest need not be kept.
    pub limit: Option<Expr>,
    /// What of the input has to survive the sort.
    pub live: Live,
}

/// TOP, OFFSET, FETCH.
#[derive(Clone, Debug)]
pub struct Limit {
    /// Rows.
    pub input: Node,
    /// Rows to skip.
    pub offset: Option<Expr>,
    /// Rows to return at most; a percentage if `percent`.
    pub count: Option<Expr>,
    /// TOP (n) PERCENT.
    pub percent: bool,
    /// WITH TIES: goes on while these keys equal those of the last row.
    pub ties: Option<Vec<SortKey>>,
}

/// A set operation; the output goes to `registers`.
#[derive(Clone, Debug)]
pub struct SetOperation {
    /// Which one.
    pub kind: SetKind,
    /// Left query, its output converted to the common types.
    pub left: Query,
    /// Right query, likewise.
    pub right: Query,
    /// Where the result's columns go.
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

/// An index spool: a table without a fitting index that is opened over and over for one key after the
/// other. Once it has been read as a whole, its rows are kept by their keys.
#[derive(Clone, Debug)]
pub struct Spool {
    /// Number by which the rows are kept for the statement.
    pub number: u32,
    /// The rows; reads nothing of what is around it.
    pub input: Node,
    /// A value from around it and what of a row has to equal it, in pairs of one type and collation.
    pub keys: Vec<(Expr, Expr)>,
    /// What else the rows have to satisfy.
    pub rest: Option<Expr>,
    /// What of the input is kept.
    pub live: Live,
}

/// A recursive common table expression.
#[derive(Clone, Debug)]
pub struct Recursive {
    /// Id by which [`Node::WorkTable`] finds it.
    pub id: u32,
    /// The anchor members.
    pub anchor: Query,
    /// The recursive members.
    pub step: Query,
    /// Where the result's columns go.
    pub registers: Vec<Register>,
    /// OPTION (MAXRECURSION n); 0 is no limit; default 100.
    pub rounds_max: u32,
}
