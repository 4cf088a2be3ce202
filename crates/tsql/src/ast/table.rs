//! CREATE TABLE, ALTER TABLE and indexes.

use super::{Condition, Expr, Ident, Literal, ObjectName, QueryExpression, Span, TypeName};

/// `CREATE TABLE name (..) [ON ..] [TEXTIMAGE_ON ..] [WITH (..)]`
#[derive(Clone, Debug, PartialEq)]
pub struct CreateTable {
    /// Its name; `#t` is temporary.
    pub name: ObjectName,
    /// Columns, constraints and indexes, in order.
    pub elements: Vec<TableElement>,
    /// ON, TEXTIMAGE_ON, FILESTREAM_ON.
    pub storage: Storage,
    /// WITH.
    pub options: Vec<TableOption>,
    /// `AS NODE`, `AS EDGE`, `AS FILETABLE`, in upper case.
    pub as_kind: Option<Box<str>>,
}

/// Where a table or index lives.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Storage {
    /// ON filegroup, or partition scheme with its column.
    pub on: Option<(Ident, Option<Ident>)>,
    /// TEXTIMAGE_ON.
    pub textimage_on: Option<Ident>,
    /// FILESTREAM_ON.
    pub filestream_on: Option<Ident>,
}

/// One element of a table's definition.
#[derive(Clone, Debug, PartialEq)]
pub enum TableElement {
    /// A column.
    Column(Box<ColumnDefinition>),
    /// A constraint of the table.
    Constraint(Box<Constraint>),
    /// `INDEX i ..`
    Index(Box<InlineIndex>),
    /// `PERIOD FOR SYSTEM_TIME (a, b)`
    Period(Ident, Ident),
}

/// A column's definition.
#[derive(Clone, Debug, PartialEq)]
pub struct ColumnDefinition {
    /// Its name.
    pub name: Ident,
    /// What it holds.
    pub kind: ColumnKind,
    /// Its options, in order.
    pub options: Vec<ColumnOption>,
    /// Where.
    pub span: Span,
}

/// What a column holds.
#[derive(Clone, Debug, PartialEq)]
pub enum ColumnKind {
    /// A value of a type. Old syntax `timestamp` alone is a column of that name and type.
    Typed(TypeName),
    /// `AS expr [PERSISTED]`
    Computed {
        /// The value.
        expr: Expr,
        /// PERSISTED.
        persisted: bool,
    },
    /// `xml COLUMN_SET FOR ALL_SPARSE_COLUMNS`
    ColumnSet,
}

/// An option of a column.
#[derive(Clone, Debug, PartialEq)]
pub enum ColumnOption {
    /// COLLATE
    Collate(Ident),
    /// NULL
    Null,
    /// NOT NULL
    NotNull,
    /// `IDENTITY [(seed, increment)]`
    Identity(Option<(Literal, Literal)>),
    /// NOT FOR REPLICATION, behind IDENTITY
    NotForReplication,
    /// ROWGUIDCOL
    RowGuidCol,
    /// SPARSE
    Sparse,
    /// FILESTREAM
    FileStream,
    /// HIDDEN
    Hidden,
    /// `GENERATED ALWAYS AS ROW START`
    GeneratedRowStart,
    /// `GENERATED ALWAYS AS ROW END`
    GeneratedRowEnd,
    /// `MASKED WITH (FUNCTION = 'f')`
    Masked(Box<str>),
    /// A constraint of the column: DEFAULT, PRIMARY KEY, UNIQUE, CHECK, REFERENCES.
    Constraint(Box<Constraint>),
    /// `INDEX i ..`
    Index(Box<InlineIndex>),
}

/// A constraint, with or without its name.
#[derive(Clone, Debug, PartialEq)]
pub struct Constraint {
    /// CONSTRAINT name.
    pub name: Option<Ident>,
    /// What it demands.
    pub kind: ConstraintKind,
    /// Where.
    pub span: Span,
}

/// What a constraint demands.
#[derive(Clone, Debug, PartialEq)]
pub enum ConstraintKind {
    /// PRIMARY KEY or UNIQUE.
    Key {
        /// Which.
        kind: KeyKind,
        /// CLUSTERED, NONCLUSTERED, HASH; none if not said.
        structure: Option<IndexStructure>,
        /// The columns; empty when it stands behind a column.
        columns: Vec<IndexColumn>,
        /// WITH.
        options: Vec<IndexOption>,
        /// ON.
        storage: Storage,
        /// NOT ENFORCED was written.
        not_enforced: bool,
    },
    /// FOREIGN KEY or REFERENCES.
    ForeignKey {
        /// Its columns; empty when it stands behind a column.
        columns: Vec<Ident>,
        /// The table referred to.
        table: ObjectName,
        /// Its columns; its primary key if empty.
        referenced: Vec<Ident>,
        /// ON DELETE.
        on_delete: Option<ReferentialAction>,
        /// ON UPDATE.
        on_update: Option<ReferentialAction>,
        /// NOT FOR REPLICATION.
        not_for_replication: bool,
    },
    /// `CHECK (..)`
    Check {
        /// What must not be false.
        condition: Condition,
        /// NOT FOR REPLICATION.
        not_for_replication: bool,
    },
    /// `DEFAULT expr [FOR column] [WITH VALUES]`
    Default {
        /// The value.
        value: Expr,
        /// FOR: only in ALTER TABLE.
        column: Option<Ident>,
        /// WITH VALUES: only in ALTER TABLE.
        with_values: bool,
    },
    /// `CONNECTION (a TO b, ..)` of an edge table.
    Connection(Vec<(ObjectName, ObjectName)>),
}

/// A key's kind.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum KeyKind {
    /// PRIMARY KEY
    Primary,
    /// UNIQUE
    Unique,
}

/// How an index is built.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum IndexStructure {
    /// CLUSTERED
    Clustered,
    /// NONCLUSTERED
    Nonclustered,
    /// \[NONCLUSTERED\] HASH
    Hash,
    /// CLUSTERED COLUMNSTORE
    ClusteredColumnstore,
    /// \[NONCLUSTERED\] COLUMNSTORE
    NonclusteredColumnstore,
}

/// What happens to referring rows.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ReferentialAction {
    /// NO ACTION
    NoAction,
    /// CASCADE
    Cascade,
    /// SET NULL
    SetNull,
    /// SET DEFAULT
    SetDefault,
}

/// A column of an index.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct IndexColumn {
    /// The column.
    pub name: Ident,
    /// DESC was written.
    pub descending: bool,
}

/// An index inside a table's definition.
#[derive(Clone, Debug, PartialEq)]
pub struct InlineIndex {
    /// Its name.
    pub name: Ident,
    /// UNIQUE.
    pub unique: bool,
    /// How it is built; none if not said.
    pub structure: Option<IndexStructure>,
    /// Its columns; empty behind a column, and for a clustered columnstore.
    pub columns: Vec<IndexColumn>,
    /// INCLUDE.
    pub include: Vec<Ident>,
    /// ORDER of a columnstore.
    pub order: Vec<Ident>,
    /// WHERE.
    pub filter: Option<Condition>,
    /// WITH.
    pub options: Vec<IndexOption>,
    /// ON.
    pub storage: Storage,
    /// Where.
    pub span: Span,
}

/// An option of an index or key.
#[derive(Clone, Debug, PartialEq)]
pub struct IndexOption {
    /// Its name in upper case: `BUCKET_COUNT`, `PAD_INDEX`, `FILLFACTOR`, `DATA_COMPRESSION`, ..
    pub name: Box<str>,
    /// Its value.
    pub value: OptionValue,
    /// `ON PARTITIONS (..)` was given.
    pub on_partitions: Vec<(u32, u32)>,
    /// Where.
    pub span: Span,
}

/// The value of an option.
#[derive(Clone, Debug, PartialEq)]
pub enum OptionValue {
    /// Nothing: the option's name says it all.
    None,
    /// ON
    On,
    /// OFF
    Off,
    /// A number, string or NULL.
    Literal(Literal),
    /// A number with its unit: `4096 KB`, `30 SECONDS`, `10 %`; the unit in upper case.
    Quantity(u64, Box<str>),
    /// A word or a name: `PAGE`, `SIMPLE`, `HISTORY_TABLE = dbo.h`; see [`OptionValue::word`].
    Name(ObjectName),
    /// ON (..) or (..): options of the option.
    List(Vec<NamedOption>),
    /// `ON (..)` with ON said
    OnList(Vec<NamedOption>),
}

impl OptionValue {
    /// Returns the word that the value is, if it is one.
    pub fn word(&self) -> Option<&str> {
        match self {
            Self::Name(name) => name.as_simple().map(Ident::as_str),
            Self::None
            | Self::On
            | Self::Off
            | Self::Literal(_)
            | Self::Quantity(..)
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
    /// Its value.
    pub value: OptionValue,
    /// Where.
    pub span: Span,
}

/// An option of a table.
#[derive(Clone, Debug, PartialEq)]
pub enum TableOption {
    /// MEMORY_OPTIMIZED = ON | OFF
    MemoryOptimized(bool),
    /// DURABILITY = SCHEMA_ONLY | SCHEMA_AND_DATA
    Durability(Durability),
    /// Any other: DATA_COMPRESSION, SYSTEM_VERSIONING, LEDGER, ..
    Other(NamedOption),
}

/// What of a memory-optimized table survives a restart.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Durability {
    /// SCHEMA_ONLY
    SchemaOnly,
    /// SCHEMA_AND_DATA
    SchemaAndData,
}

/// `ALTER TABLE name action`
#[derive(Clone, Debug, PartialEq)]
pub struct AlterTable {
    /// The table.
    pub name: ObjectName,
    /// What is changed.
    pub action: AlterTableAction,
}

/// What ALTER TABLE changes.
#[derive(Clone, Debug, PartialEq)]
pub enum AlterTableAction {
    /// `[WITH CHECK | NOCHECK] ADD elements`
    Add {
        /// WITH CHECK is `Some(true)`.
        check: Option<bool>,
        /// What is added.
        elements: Vec<TableElement>,
    },
    /// `ALTER COLUMN c type [COLLATE ..] [NULL | NOT NULL]`
    AlterColumn(Box<ColumnDefinition>),
    /// `ALTER COLUMN c {ADD | DROP} {ROWGUIDCOL | PERSISTED | SPARSE | HIDDEN | MASKED ..}`
    AlterColumnProperty {
        /// The column.
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
        /// The index.
        index: Ident,
        /// WITH.
        options: Vec<IndexOption>,
    },
    /// `REBUILD [PARTITION = ..] [WITH (..)]`
    Rebuild {
        /// PARTITION; ALL if absent.
        partition: Option<Expr>,
        /// WITH.
        options: Vec<IndexOption>,
    },
    /// `SET (option, ..)`
    Set(Vec<NamedOption>),
    /// `SWITCH [PARTITION n] TO t [PARTITION m]`
    Switch {
        /// From which partition.
        source_partition: Option<Expr>,
        /// To which table.
        target: ObjectName,
        /// To which partition.
        target_partition: Option<Expr>,
    },
}

/// What ALTER TABLE DROP drops.
#[derive(Clone, Debug, PartialEq)]
pub struct DropElement {
    /// Its kind.
    pub kind: DropElementKind,
    /// IF EXISTS.
    pub if_exists: bool,
    /// Its name.
    pub name: Ident,
}

/// The kind of what ALTER TABLE DROP drops.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum DropElementKind {
    /// CONSTRAINT, also when nothing is said
    Constraint,
    /// COLUMN
    Column,
    /// INDEX
    Index,
    /// PERIOD FOR SYSTEM_TIME, whose name is `SYSTEM_TIME`
    Period,
}

/// `CREATE [UNIQUE] [structure] INDEX name ON table (..) ..`
#[derive(Clone, Debug, PartialEq)]
pub struct CreateIndex {
    /// What it is.
    pub index: InlineIndex,
    /// The table or view.
    pub table: ObjectName,
}

/// `ALTER INDEX name | ALL ON table action`
#[derive(Clone, Debug, PartialEq)]
pub struct AlterIndex {
    /// The index; ALL if absent.
    pub index: Option<Ident>,
    /// The table or view.
    pub table: ObjectName,
    /// REBUILD, REORGANIZE, DISABLE, SET, RESUME, PAUSE, ABORT.
    pub action: AlterIndexAction,
    /// PARTITION; ALL if absent.
    pub partition: Option<Expr>,
    /// WITH or SET.
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
    /// CREATE, ALTER or both.
    pub mode: super::CreateMode,
    /// Its name.
    pub name: ObjectName,
    /// Its columns' names, if given.
    pub columns: Vec<Ident>,
    /// SCHEMABINDING, ENCRYPTION, VIEW_METADATA, in upper case.
    pub options: Vec<Box<str>>,
    /// CTEs of its query.
    pub with: Option<super::With>,
    /// Its query.
    pub query: QueryExpression,
    /// WITH CHECK OPTION.
    pub check_option: bool,
    /// From CREATE to the end: the text of the definition.
    pub definition: Span,
}
