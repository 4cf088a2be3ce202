//! CREATE TABLE, ALTER TABLE and indexes.

use super::{Condition, Expr, Ident, Literal, ObjectName, QueryExpression, Span, TypeName};

/// `CREATE TABLE name (..) [ON ..] [TEXTIMAGE_ON ..] [WITH (..)]`
#[derive(Clone, Debug, PartialEq)]
pub struct CreateTable {
    /// Its name; `#t` is temporary.
    pub name: ObjectName,
    /// Columns, constraints and indexes, in order.
    pub elements: Vec<TableElement>,
    /// `ON ..`, `TEXTIMAGE_ON ..` and `FILESTREAM_ON ..`.
    pub storage: Storage,
    /// The options of `WITH (..)`, in order.
    pub options: Vec<TableOption>,
    /// `AS NODE`, `AS EDGE`, `AS FILETABLE`, in upper case.
    pub as_kind: Option<Box<str>>,
}

/// The filegroups of a table or index.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Storage {
    /// ON filegroup, or ON partition scheme with its columns; a filegroup has none. SQL Server
    /// allows one column.
    pub on: Option<(Ident, Vec<Ident>)>,
    /// `TEXTIMAGE_ON g`: filegroup of large values.
    pub textimage_on: Option<Ident>,
    /// `FILESTREAM_ON g`: filegroup of FILESTREAM data.
    pub filestream_on: Option<Ident>,
}

/// One element of a table's definition.
#[derive(Clone, Debug, PartialEq)]
pub enum TableElement {
    /// A column, typed or computed.
    Column(Box<ColumnDefinition>),
    /// A constraint of the table.
    Constraint(Box<Constraint>),
    /// `INDEX i ..`: an inline index.
    Index(Box<InlineIndex>),
    /// `PERIOD FOR SYSTEM_TIME (a, b)`
    Period(Ident, Ident),
}

/// One column of CREATE TABLE or ALTER TABLE.
#[derive(Clone, Debug, PartialEq)]
pub struct ColumnDefinition {
    /// Name of the column.
    pub name: Ident,
    /// Typed, computed or a column set.
    pub kind: ColumnKind,
    /// Its options, in order.
    pub options: Vec<ColumnOption>,
    /// Source range, options included.
    pub span: Span,
}

/// Whether a column is stored, computed or a column set.
#[derive(Clone, Debug, PartialEq)]
pub enum ColumnKind {
    /// A column with a type. Old syntax `timestamp` alone is a column of that name and type.
    Typed(TypeName),
    /// `AS expr [PERSISTED]`: a computed column.
    Computed {
        /// The expression that is computed.
        expr: Expr,
        /// `PERSISTED`: the value is stored.
        persisted: bool,
    },
    /// `xml COLUMN_SET FOR ALL_SPARSE_COLUMNS`
    ColumnSet,
}

/// An option of a column.
#[derive(Clone, Debug, PartialEq)]
pub enum ColumnOption {
    /// `COLLATE name`: the column's collation.
    Collate(Ident),
    /// `NULL`: the column accepts NULL.
    Null,
    /// `NOT NULL`: the column refuses NULL.
    NotNull,
    /// `IDENTITY [(seed, increment)]`; `None` is (1, 1).
    Identity(Option<(Literal, Literal)>),
    /// `NOT FOR REPLICATION`, behind IDENTITY.
    NotForReplication,
    /// `ROWGUIDCOL`: `$ROWGUID` names the column.
    RowGuidCol,
    /// `SPARSE`: NULLs take no space.
    Sparse,
    /// `FILESTREAM`: values are kept in files.
    FileStream,
    /// `HIDDEN`: `*` leaves the column out.
    Hidden,
    /// `GENERATED ALWAYS AS ROW START`
    GeneratedRowStart,
    /// `GENERATED ALWAYS AS ROW END`
    GeneratedRowEnd,
    /// `MASKED WITH (FUNCTION = 'f')`
    Masked(Box<str>),
    /// A constraint of the column: DEFAULT, PRIMARY KEY, UNIQUE, CHECK, REFERENCES.
    Constraint(Box<Constraint>),
    /// `INDEX i ..`: an index on the column.
    Index(Box<InlineIndex>),
}

/// A constraint, with or without its name.
#[derive(Clone, Debug, PartialEq)]
pub struct Constraint {
    /// Name behind CONSTRAINT; `None` lets the engine choose one.
    pub name: Option<Ident>,
    /// The rule that rows must satisfy.
    pub kind: ConstraintKind,
    /// Source range of the constraint.
    pub span: Span,
}

/// The rule that a constraint enforces.
#[derive(Clone, Debug, PartialEq)]
pub enum ConstraintKind {
    /// PRIMARY KEY or UNIQUE.
    Key {
        /// Primary key or unique constraint.
        kind: KeyKind,
        /// CLUSTERED, NONCLUSTERED or HASH; `None` if not written.
        structure: Option<IndexStructure>,
        /// The key's columns; empty for a constraint written behind its column.
        columns: Vec<IndexColumn>,
        /// The options of `WITH (..)`.
        options: Vec<IndexOption>,
        /// `ON ..`: filegroup of the index.
        storage: Storage,
        /// NOT ENFORCED was written.
        not_enforced: bool,
    },
    /// FOREIGN KEY or REFERENCES.
    ForeignKey {
        /// The referring columns; empty for a constraint written behind its column.
        columns: Vec<Ident>,
        /// The table referred to.
        table: ObjectName,
        /// The referred columns; if empty, that table's primary key.
        referenced: Vec<Ident>,
        /// `ON DELETE ..`; `None` is NO ACTION.
        on_delete: Option<ReferentialAction>,
        /// `ON UPDATE ..`; `None` is NO ACTION.
        on_update: Option<ReferentialAction>,
        /// Whether `NOT FOR REPLICATION` was written.
        not_for_replication: bool,
    },
    /// `CHECK (..)`: a condition on each row.
    Check {
        /// The condition, which must not be false; unknown passes.
        condition: Condition,
        /// Whether `NOT FOR REPLICATION` was written.
        not_for_replication: bool,
    },
    /// `DEFAULT expr [FOR column] [WITH VALUES]`
    Default {
        /// The expression that computes the default.
        value: Expr,
        /// FOR: only in ALTER TABLE.
        column: Option<Ident>,
        /// WITH VALUES: only in ALTER TABLE.
        with_values: bool,
    },
    /// `CONNECTION (a TO b, ..)` of an edge table.
    Connection(Vec<(ObjectName, ObjectName)>),
}

/// Primary key or unique constraint.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum KeyKind {
    /// `PRIMARY KEY`: one per table, without NULLs.
    Primary,
    /// `UNIQUE`: several per table, NULL counts as a value.
    Unique,
}

/// The structure of an index.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum IndexStructure {
    /// `CLUSTERED`: the rows themselves, in key order.
    Clustered,
    /// `NONCLUSTERED`: keys with references to rows.
    Nonclustered,
    /// `[NONCLUSTERED] HASH`, of memory-optimized tables.
    Hash,
    /// `CLUSTERED COLUMNSTORE`: the table's rows by column.
    ClusteredColumnstore,
    /// `[NONCLUSTERED] COLUMNSTORE`: a copy of some columns.
    NonclusteredColumnstore,
}

/// What happens to referring rows when the referred row changes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ReferentialAction {
    /// `NO ACTION`: the change fails.
    NoAction,
    /// `CASCADE`: referring rows change with it.
    Cascade,
    /// `SET NULL`: referring columns become NULL.
    SetNull,
    /// `SET DEFAULT`: referring columns get their defaults.
    SetDefault,
}

/// A column of an index.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct IndexColumn {
    /// Name of the column.
    pub name: Ident,
    /// `DESC` was written; ascending otherwise.
    pub descending: bool,
}

/// An index inside a table's definition.
#[derive(Clone, Debug, PartialEq)]
pub struct InlineIndex {
    /// Name of the index.
    pub name: Ident,
    /// Whether `UNIQUE` was written.
    pub unique: bool,
    /// How it is built; none if not said.
    pub structure: Option<IndexStructure>,
    /// Its columns; empty behind a column, and for a clustered columnstore.
    pub columns: Vec<IndexColumn>,
    /// `INCLUDE (..)`: columns that are stored but not part of the key.
    pub include: Vec<Ident>,
    /// `ORDER (..)` of a columnstore index; empty without it.
    pub order: Vec<Ident>,
    /// `WHERE ..` of a filtered index; `None` covers every row.
    pub filter: Option<Condition>,
    /// The options of `WITH (..)`.
    pub options: Vec<IndexOption>,
    /// `ON ..`: filegroup of the index.
    pub storage: Storage,
    /// Source range of the definition.
    pub span: Span,
}

/// An option of an index or key.
#[derive(Clone, Debug, PartialEq)]
pub struct IndexOption {
    /// Its name in upper case: `BUCKET_COUNT`, `PAD_INDEX`, `FILLFACTOR`, `DATA_COMPRESSION`, ..
    pub name: Box<str>,
    /// Its name as it was written, for messages.
    pub written: Box<str>,
    /// The value behind `=`.
    pub value: OptionValue,
    /// Partitions of `ON PARTITIONS (..)`, as ranges with both ends included; empty without it.
    pub on_partitions: Vec<(u32, u32)>,
    /// Source range of name and value.
    pub span: Span,
}

/// The value of an option.
#[derive(Clone, Debug, PartialEq)]
pub enum OptionValue {
    /// No value: the option's name is all, as `SINGLE_USER`.
    None,
    /// The word `ON` as a value.
    On,
    /// The word `OFF` as a value.
    Off,
    /// A number, string or NULL.
    Literal(Literal),
    /// A number with its unit: `4096 KB`, `30 SECONDS`, `10 %`; the unit in upper case.
    Quantity(u64, Box<str>),
    /// A word or a name: `PAGE`, `SIMPLE`, `HISTORY_TABLE = dbo.h`; see [`OptionValue::word`].
    Name(ObjectName),
    /// A filegroup, or a partition scheme with its columns: the place of `MOVE TO`.
    Place(Ident, Vec<Ident>),
    /// `(..)`: a list of suboptions.
    List(Vec<NamedOption>),
    /// `ON (..)`: on, with a list of suboptions.
    OnList(Vec<NamedOption>),
}

impl OptionValue {
    /// Returns the value if it is a single word.
    pub fn word(&self) -> Option<&str> {
        match self {
            Self::Name(name) => name.as_simple().map(Ident::as_str),
            Self::None
            | Self::On
            | Self::Off
            | Self::Literal(_)
            | Self::Quantity(..)
            | Self::Place(..)
            | Self::List(_)
            | Self::OnList(_) => None,
        }
    }
}

/// An option with a name.
#[derive(Clone, Debug, PartialEq)]
pub struct NamedOption {
    /// Its name in upper case; several words with single blanks.
    pub name: Box<str>,
    /// Its name as it was written, for messages.
    pub written: Box<str>,
    /// The value, with or without `=`.
    pub value: OptionValue,
    /// Source range of name and value.
    pub span: Span,
}

/// An option of a table.
#[derive(Clone, Debug, PartialEq)]
pub enum TableOption {
    /// MEMORY_OPTIMIZED = ON | OFF
    MemoryOptimized(bool),
    /// DURABILITY = SCHEMA_ONLY | SCHEMA_AND_DATA
    Durability(Durability),
    /// An option for some partitions: `DATA_COMPRESSION = PAGE ON PARTITIONS (1, 3 TO 5)`
    OnPartitions(IndexOption),
    /// Any other: DATA_COMPRESSION, SYSTEM_VERSIONING, LEDGER, ..
    Other(NamedOption),
}

/// Whether a memory-optimized table's rows survive a restart.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Durability {
    /// `SCHEMA_ONLY`: the table is empty after a restart.
    SchemaOnly,
    /// `SCHEMA_AND_DATA`: the rows survive; the default.
    SchemaAndData,
}

/// `ALTER TABLE name action`
#[derive(Clone, Debug, PartialEq)]
pub struct AlterTable {
    /// The table that is changed.
    pub name: ObjectName,
    /// The change that the statement makes.
    pub action: AlterTableAction,
}

/// What ALTER TABLE changes.
#[derive(Clone, Debug, PartialEq)]
pub enum AlterTableAction {
    /// `[WITH CHECK | NOCHECK] ADD elements`
    Add {
        /// WITH CHECK is `Some(true)`.
        check: Option<bool>,
        /// The new columns, constraints and indexes.
        elements: Vec<TableElement>,
    },
    /// `ALTER COLUMN c type [COLLATE ..] [NULL | NOT NULL]`
    AlterColumn(Box<ColumnDefinition>),
    /// `ALTER COLUMN c {ADD | DROP} {ROWGUIDCOL | PERSISTED | SPARSE | HIDDEN | MASKED ..}`
    AlterColumnProperty {
        /// Name of the column.
        column: Ident,
        /// ADD and not DROP.
        add: bool,
        /// The property in upper case.
        property: Box<str>,
    },
    /// `DROP [CONSTRAINT] a, COLUMN b, INDEX c`
    Drop(Vec<DropElement>),
    /// `[WITH CHECK | NOCHECK] CHECK | NOCHECK CONSTRAINT ALL | names`
    CheckConstraint {
        /// WITH CHECK is `Some(true)`.
        validate: Option<bool>,
        /// CHECK and not NOCHECK.
        enable: bool,
        /// The constraints; ALL if empty.
        names: Vec<Ident>,
    },
    /// `ENABLE | DISABLE TRIGGER ALL | names`
    Trigger {
        /// ENABLE and not DISABLE.
        enable: bool,
        /// The triggers; ALL if empty.
        names: Vec<Ident>,
    },
    /// `ALTER INDEX i REBUILD WITH (..)`
    AlterIndex {
        /// Name of the index.
        index: Ident,
        /// The options of `WITH (..)`.
        options: Vec<IndexOption>,
    },
    /// `REBUILD [PARTITION = ..] [WITH (..)]`
    Rebuild {
        /// The partitions to rebuild.
        partition: PartitionChoice,
        /// The options of `WITH (..)`.
        options: Vec<IndexOption>,
    },
    /// `SET (option, ..)`, as `SET (SYSTEM_VERSIONING = OFF)`.
    Set(Vec<NamedOption>),
    /// `SWITCH [PARTITION n] TO t [PARTITION m]`
    Switch {
        /// The partition moved; `None` is the whole table.
        source_partition: Option<Expr>,
        /// The table that receives the rows.
        target: ObjectName,
        /// The partition of the target; `None` is the whole table.
        target_partition: Option<Expr>,
        /// The options of `WITH (..)`, as WAIT_AT_LOW_PRIORITY.
        options: Vec<NamedOption>,
    },
}

/// The partitions of REBUILD and REORGANIZE.
#[derive(Clone, Debug, PartialEq)]
pub enum PartitionChoice {
    /// Without PARTITION: all of them.
    Unsaid,
    /// `PARTITION = ALL`: said to be all of them.
    All,
    /// `PARTITION = n`: one of them.
    One(Expr),
}

/// What ALTER TABLE DROP drops.
#[derive(Clone, Debug, PartialEq)]
pub struct DropElement {
    /// Constraint, column, index or period.
    pub kind: DropElementKind,
    /// Whether `IF EXISTS` was written.
    pub if_exists: bool,
    /// Name of the dropped element.
    pub name: Ident,
    /// The options of `WITH (..)` behind a constraint.
    pub options: Vec<IndexOption>,
}

/// The class of an element of ALTER TABLE DROP.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum DropElementKind {
    /// `CONSTRAINT`, also if no word is written.
    Constraint,
    /// `COLUMN b`: drops a column.
    Column,
    /// `INDEX c`: drops an inline index.
    Index,
    /// PERIOD FOR SYSTEM_TIME, whose name is `SYSTEM_TIME`
    Period,
}

/// `CREATE [UNIQUE] [structure] INDEX name ON table (..) ..`
#[derive(Clone, Debug, PartialEq)]
pub struct CreateIndex {
    /// Name, structure, columns and options.
    pub index: InlineIndex,
    /// The table or view.
    pub table: ObjectName,
}

/// `ALTER INDEX name | ALL ON table action`
#[derive(Clone, Debug, PartialEq)]
pub struct AlterIndex {
    /// Name of the index; `None` is ALL.
    pub index: Option<Ident>,
    /// The table or view.
    pub table: ObjectName,
    /// REBUILD, REORGANIZE, DISABLE, SET, RESUME, PAUSE, ABORT.
    pub action: AlterIndexAction,
    /// The partitions that the action is for.
    pub partition: PartitionChoice,
    /// The options of WITH or SET.
    pub options: Vec<IndexOption>,
}

/// What ALTER INDEX does.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[expect(missing_docs, reason = "the variants are SQL Server's words")]
pub enum AlterIndexAction {
    Rebuild,
    Reorganize,
    Disable,
    Set,
    Resume,
    Pause,
    Abort,
}

/// `CREATE [OR ALTER] VIEW name (columns) WITH .. AS query`
#[derive(Clone, Debug, PartialEq)]
pub struct CreateView {
    /// CREATE, ALTER or CREATE OR ALTER.
    pub mode: super::CreateMode,
    /// Name of the view.
    pub name: ObjectName,
    /// Its columns' names, if given.
    pub columns: Vec<Ident>,
    /// SCHEMABINDING, ENCRYPTION, VIEW_METADATA, in upper case.
    pub options: Vec<Box<str>>,
    /// CTEs of the query; `None` without WITH.
    pub with: Option<super::With>,
    /// The query that defines the view.
    pub query: QueryExpression,
    /// Whether `WITH CHECK OPTION` was written.
    pub check_option: bool,
    /// From CREATE to the end: the text of the definition.
    pub definition: Span,
}
