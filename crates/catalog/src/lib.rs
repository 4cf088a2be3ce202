//! The catalog: databases and their objects, as one immutable snapshot.
//!
//! DDL copies what it changes (everything is behind `Arc`), and publishes a new snapshot with the
//! next version. A session keeps the snapshot it last saw and compares one version number per
//! request, so a name lookup takes no lock and writes nothing.
//!
//! Object ids are positive and unique in the instance; temporary tables and table variables have
//! negative ones.
#![forbid(unsafe_code)]

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use storage::columnstore::ColumnIndexId;
use types::row::RowLayout;
use types::value::ColumnType;
use types::{Collation, DataType, Length};

pub mod backup;
mod bootstrap;
mod cell;
pub mod clock;
mod counter;
mod ddl_event;
mod encrypted;
mod event_session;
mod external;
mod file;
mod filter;
mod identity;
mod lookup;
mod merge;
mod message;
pub mod name;
mod object_index;
pub mod options;
mod owner;
pub mod partition;
pub mod password;
mod password_policy;
pub mod period;
mod principal;
mod property;
pub mod row_trigger;
pub mod scoped;
pub mod security;
mod sequence;
mod settings;
mod statistics;
pub mod table;
mod temporal;
mod text;
mod trigger_order;
mod unqualified;

pub use backup::{BackupFacts, BackupHistory, Restoring};
pub use bootstrap::default_files;
pub use cell::{CatalogCell, Listener};
pub use counter::{CounterKey, CounterLog, Upto};
pub use ddl_event::{DDL_EVENTS, DdlEvent};
pub use event_session::{
    Choice, EventDef, EventSessionDef, EventSessionOptions, EventTargetDef, PARTITIONS, RETENTIONS,
};
pub use external::{ExternalDataSource, ExternalFileFormat, ExternalPlace};
pub use file::{DatabaseFile, FileSize, check_filegroup};
pub use filter::{ColumnTest, IndexFilter, Test};
pub use identity::{IdentityCounter, IdentitySpec};
pub use message::{MessageKey, UserMessage, UserMessages};
use name::Name;
pub use object_index::ObjectIndex;
pub use owner::Owned;
pub use partition::{PartitionFunction, PartitionScheme, PartitionedOn, Partitioner};
pub use password_policy::{PasswordPolicy, Weakness, weakness};
pub use principal::{
    Class, DBO, Login, Permission, Principal, PrincipalKind, SA_PRINCIPAL, SERVER_ROLES,
};
pub use property::{ExtendedProperty, PropertyClass, Securable};
pub use sequence::{Counter, SequenceCache, SequenceDef};
pub use settings::{Settings, TraceFlags};
pub use statistics::{ColumnStatistics, Sampled, StatisticsCell, TableStatistics};
pub use table::{RowShape, create_rows, index_spec, layout_of};
pub use temporal::{Generated, Period, Versioning};
pub use text::{ModuleText, Piece};
pub use trigger_order::{TriggerOrder, TriggerPlace};
pub use unqualified::{DBO_SCHEMA, ModuleSchema, Unqualified};

/// All databases at one point in time.
#[derive(Clone, Debug)]
pub struct Catalog {
    /// Increases by one with every change.
    pub version: u64,
    /// Databases by name, compared without regard to case.
    pub databases: BTreeMap<Name, Arc<Database>>,
    /// Logins of the server, by name.
    pub logins: BTreeMap<Name, Arc<Login>>,
    /// GRANT and DENY of permissions of the server; the grantee is a login's `principal_id`.
    pub server_permissions: Vec<Permission>,
    /// Messages added by sp_addmessage.
    pub messages: UserMessages,
    /// Values set by sp_configure and DBCC.
    pub settings: Settings,
    /// Trace flags that are on for all sessions.
    pub trace_flags: TraceFlags,
    /// Event sessions of the server by name.
    pub event_sessions: BTreeMap<Name, Arc<EventSessionDef>>,
    /// Triggers ON ALL SERVER by name.
    pub triggers: BTreeMap<Name, Arc<ModuleDef>>,
    /// Backups and restores. Sessions read it from the cell: see [`backup`].
    pub backups: Arc<BackupHistory>,
}

/// A database and its objects.
#[derive(Clone, Debug)]
pub struct Database {
    /// `database_id`: 1 master, 2 tempdb, 3 model, 4 msdb, 5 and more the user's.
    pub id: i16,
    /// Name in the spelling of CREATE.
    pub name: String,
    /// Default collation of its columns.
    pub collation: Collation,
    /// Creation time, as `datetime`.
    pub created: types::Value,
    /// Schemas by name, the fixed ones included.
    pub schemas: BTreeMap<Name, Schema>,
    /// Tables, views, procedures, functions, synonyms, sequences, triggers by schema and name.
    pub objects: BTreeMap<(Name, Name), Object>,
    /// Triggers ON DATABASE by name: they belong to no schema.
    pub triggers: BTreeMap<Name, Arc<ModuleDef>>,
    /// Alias and table types by schema and name.
    pub types: BTreeMap<(Name, Name), Arc<UserType>>,
    /// Roles and users by name.
    pub principals: BTreeMap<Name, Arc<Principal>>,
    /// ALTER DATABASE .. SET options, as `sys.databases` shows them.
    pub options: DatabaseOptions,
    /// Filegroups and files by name, as `sys.filegroups` and `sys.database_files` show them.
    pub files: Vec<DatabaseFile>,
    /// Permissions that are granted or denied.
    pub permissions: Vec<Permission>,
    /// Extended properties by the item that they belong to and their name.
    pub properties: BTreeMap<(Securable, Name), Arc<ExtendedProperty>>,
    /// External data sources by name: they belong to no schema.
    pub data_sources: BTreeMap<Name, Arc<ExternalDataSource>>,
    /// External file formats by name: they belong to no schema.
    pub file_formats: BTreeMap<Name, Arc<ExternalFileFormat>>,
    /// Partition functions by name: they belong to no schema.
    pub partition_functions: BTreeMap<Name, Arc<PartitionFunction>>,
    /// Partition schemes by name: they belong to no schema.
    pub partition_schemes: BTreeMap<Name, Arc<PartitionScheme>>,
    /// Owners of objects that are not their schema's owner, by object id.
    pub owners: BTreeMap<i32, i32>,
    /// Ids of modules whose text is hidden. Only the copy made for a login has any.
    pub withheld: BTreeSet<i32>,
    /// Where objects are by id.
    pub index: ObjectIndex,
}

/// Options of a database, as ALTER DATABASE sets them.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct DatabaseOptions {
    /// MEMORY_OPTIMIZED_ELEVATE_TO_SNAPSHOT: memory-optimized tables are read under SNAPSHOT.
    pub elevate_to_snapshot: bool,
    /// READ_COMMITTED_SNAPSHOT: READ COMMITTED reads row versions.
    pub read_committed_snapshot: bool,
    /// ALLOW_SNAPSHOT_ISOLATION: SNAPSHOT may be used.
    pub allow_snapshot_isolation: bool,
    /// SINGLE_USER, RESTRICTED_USER or MULTI_USER.
    pub user_access: UserAccess,
    /// COMPATIBILITY_LEVEL, such as 160.
    pub compatibility_level: u8,
    /// Recovery model: FULL, SIMPLE, BULK_LOGGED.
    pub recovery: String,
    /// Set while the database is being restored and cannot be used.
    pub restoring: Option<Restoring>,
    /// Database scoped configurations that differ from their default.
    pub scoped: BTreeMap<&'static str, i64>,
    /// The same for those set FOR SECONDARY.
    pub scoped_secondary: BTreeMap<&'static str, i64>,
    /// The other options by upper-case name, with the value set.
    pub others: BTreeMap<String, String>,
}

/// TARGET_RECOVERY_TIME of a database that does not say it, in seconds.
const TARGET_RECOVERY_TIME_S: u64 = 60;

impl DatabaseOptions {
    /// Returns TARGET_RECOVERY_TIME in seconds: how long a start may replay the database's log; 0 for
    /// what `recovery interval (min)` says.
    #[must_use]
    pub fn target_recovery_s(&self) -> u64 {
        let said = self.others.get("TARGET_RECOVERY_TIME").and_then(|said| said.parse().ok());
        said.unwrap_or(TARGET_RECOVERY_TIME_S)
    }
}

/// The highest id of a system database.
pub const SYSTEM_DATABASE_LAST: i16 = 4;

/// Who may use a database; the numbers are those of `sys.databases.user_access`.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum UserAccess {
    /// Every login with a user in it.
    #[default]
    Multi = 0,
    /// A single session at a time.
    Single = 1,
    /// Members of `db_owner`, `dbcreator` and `sysadmin`.
    Restricted = 2,
}

impl UserAccess {
    /// Finds a value by its upper-case keyword.
    pub fn by_name(name: &str) -> Option<Self> {
        [Self::Multi, Self::Single, Self::Restricted].into_iter().find(|one| one.name() == name)
    }

    /// Returns the keyword used in statements and `sys.databases`.
    pub fn name(self) -> &'static str {
        match self {
            Self::Multi => "MULTI_USER",
            Self::Single => "SINGLE_USER",
            Self::Restricted => "RESTRICTED_USER",
        }
    }
}

/// A schema of a database.
#[derive(Clone, Debug)]
pub struct Schema {
    /// `schema_id`: 1 dbo, 2 guest, 3 INFORMATION_SCHEMA, 4 sys, 5 and more the user's, 16384 and
    /// more the fixed roles'.
    pub id: i32,
    /// Name in the spelling of CREATE.
    pub name: String,
    /// Principal id of the owner.
    pub owner: i32,
}

/// An object of a schema.
#[derive(Clone, Debug)]
pub enum Object {
    /// A user's table, memory-optimized or not.
    Table(Arc<TableDef>),
    /// A stored procedure, compiled natively or not.
    Procedure(Arc<ProcedureDef>),
    /// A view and its definition.
    View(Arc<ModuleDef>),
    /// A function: scalar, inline or multi-statement.
    Function(Arc<ModuleDef>),
    /// A DML trigger; DDL triggers belong to no schema.
    Trigger(Arc<ModuleDef>),
    /// A synonym and the name it refers to.
    Synonym(Arc<SynonymDef>),
    /// A sequence and its counter.
    Sequence(Arc<SequenceDef>),
}

/// A table. Temporary tables and table variables use the same type but are not in the catalog.
#[derive(Clone)]
pub struct TableDef {
    /// `object_id`; negative for temporary tables.
    pub id: i32,
    /// Id of its database.
    pub database_id: i16,
    /// `schema_id` of its schema.
    pub schema_id: i32,
    /// Name of its schema.
    pub schema: String,
    /// Name in the spelling of CREATE.
    pub name: String,
    /// Columns by ordinal (`column_id` - 1).
    pub columns: Vec<ColumnDef>,
    /// Indexes. An index number in a plan is a position in this list and in that of `data`.
    pub indexes: Vec<IndexDef>,
    /// Indexes that ALTER INDEX .. DISABLE has disabled: they have no storage and are in no plan. The rows can't be
    /// read while the clustered index is among them.
    pub disabled: Vec<IndexDef>,
    /// CHECK constraints of the table.
    pub checks: Vec<CheckDef>,
    /// FOREIGN KEY constraints of this table.
    pub foreign_keys: Vec<ForeignKeyDef>,
    /// Statistics made by CREATE STATISTICS.
    pub statistics: Vec<StatisticsDef>,
    /// ANSI_NULLS when it was created.
    pub ansi_nulls: bool,
    /// Declared with MEMORY_OPTIMIZED = ON.
    pub memory_optimized: bool,
    /// DURABILITY = SCHEMA_ONLY; the default is SCHEMA_AND_DATA.
    pub schema_only: bool,
    /// DATA_COMPRESSION of a heap, numbered like [`ShownOptions::compression`]. A clustered index
    /// has its own.
    pub compression: u8,
    /// LOCK_ESCALATION, as `sys.tables` numbers it: 0 TABLE, 1 DISABLE, 2 AUTO. Only shown: locks of
    /// rows never become one of the table.
    pub lock_escalation: u8,
    /// Creation time, as `datetime`.
    pub created: types::Value,
    /// Offset of each column in an encoded row.
    pub layout: Arc<RowLayout>,
    /// Storage, identity counter and statistics.
    pub rows: Arc<TableRows>,
    /// Whether other tables have foreign keys to this one.
    pub referenced: bool,
    /// The clustered columnstore index; a table with one has no other index here.
    pub columnstore: Option<ColumnstoreDef>,
    /// The nonclustered columnstore index, stored besides the rows; never together with a clustered
    /// one.
    pub column_index: Option<ColumnIndexDef>,
    /// The nonclustered columnstore index while it is disabled.
    pub disabled_columns: Option<ColumnIndexDef>,
    /// For an external table: the location of its rows. Its own storage is empty.
    pub external: Option<Arc<ExternalPlace>>,
    /// Columns of PERIOD FOR SYSTEM_TIME.
    pub period: Option<Period>,
    /// SYSTEM_VERSIONING, and the table's part in it.
    pub versioning: Versioning,
    /// Placement of a heap on a partition scheme; a clustered index has its own.
    pub on: Option<PartitionedOn>,
}

/// A clustered columnstore index.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ColumnstoreDef {
    /// Name of the index.
    pub name: String,
    /// COMPRESSION_DELAY: minutes that a closed delta store waits at least before it is compressed.
    pub compression_delay: i32,
    /// Placement on a partition scheme.
    pub on: Option<PartitionedOn>,
}

/// A nonclustered columnstore index.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ColumnIndexDef {
    /// `index_id`, 2 and more.
    pub id: i32,
    /// Id that storage has for this definition.
    pub storage_id: ColumnIndexId,
    /// Name of the index.
    pub name: String,
    /// Ordinals of its columns, in the order of the statement.
    pub columns: Vec<u16>,
    /// COMPRESSION_DELAY, in minutes; see [`ColumnstoreDef`].
    pub compression_delay: i32,
    /// Placement on a partition scheme.
    pub on: Option<PartitionedOn>,
}

impl ColumnIndexDef {
    /// Returns whether it has all of these columns.
    pub fn covers(&self, mut ordinals: impl Iterator<Item = u16>) -> bool {
        ordinals.all(|ordinal| self.columns.contains(&ordinal))
    }
}

impl std::fmt::Debug for TableDef {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "table {}.{} ({})", self.schema, self.name, self.id)
    }
}

/// The rows of a table and its counters, shared by all definitions of one table. A table variable
/// has one for each execution of its batch or procedure.
pub struct TableRows {
    /// The storage that holds the rows.
    pub data: Arc<storage::Table>,
    /// The next identity value.
    pub identity: IdentityCounter,
    /// Statistics for the optimizer.
    pub statistics: StatisticsCell,
}

/// A column of a table.
#[derive(Clone, Debug)]
pub struct ColumnDef {
    /// Name in the spelling of CREATE.
    pub name: String,
    /// Type, collation and nullability.
    pub ty: ColumnType,
    /// Alias type it was declared with, if any: schema and name.
    pub user_type: Option<(String, String)>,
    /// IDENTITY as (seed, increment).
    pub identity: Option<(i64, i64)>,
    /// DEFAULT constraint, if it has one.
    pub default: Option<DefaultDef>,
    /// Computed column: the expression's text and syntax tree.
    pub computed: Option<Arc<ModuleText>>,
    /// ROWGUIDCOL; at most one column.
    pub row_guid: bool,
    /// Declared as `numeric`, which the catalog shows instead of `decimal`.
    pub numeric: bool,
    /// SPARSE: only shown; NULL takes the same space as in any other column.
    pub sparse: bool,
    /// GENERATED ALWAYS AS ROW START or ROW END.
    pub generated: Option<Generated>,
    /// HIDDEN: omitted by `*` and by INSERT without a column list.
    pub hidden: bool,
    /// Created under ANSI_PADDING OFF: trailing blanks and zeros of its values are removed.
    pub trims: bool,
    /// PERSISTED, for a computed column.
    pub persisted: bool,
    /// NOT FOR REPLICATION of an identity column; see [`CheckDef::not_for_replication`].
    pub not_for_replication: bool,
}

impl ColumnDef {
    /// Returns the type of its values. A `char` or `binary` column that trims them has values of
    /// variable length.
    pub fn shown_type(&self) -> ColumnType {
        let data_type = match self.ty.data_type {
            DataType::Char(n) if self.trims => DataType::VarChar(Length::Limited(n)),
            DataType::Binary(n) if self.trims => DataType::VarBinary(Length::Limited(n)),
            _ => return self.ty,
        };
        ColumnType { data_type, ..self.ty }
    }
}

/// A DEFAULT constraint of a column.
#[derive(Clone, Debug)]
pub struct DefaultDef {
    /// Object id of the constraint.
    pub id: i32,
    /// Name, declared or generated.
    pub name: String,
    /// The expression and its text.
    pub text: Arc<ModuleText>,
    /// Whether the name was generated.
    pub system_named: bool,
}

/// An index, which may enforce a PRIMARY KEY or UNIQUE constraint.
#[derive(Clone, Debug)]
pub struct IndexDef {
    /// `index_id`: 1 clustered, 2 and more nonclustered.
    pub id: i32,
    /// Name of the index.
    pub name: String,
    /// Key columns: ordinal, and whether DESC.
    pub keys: Vec<(u16, bool)>,
    /// Ordinals of INCLUDE columns: only shown, since an index entry refers to the whole row.
    pub included: Vec<u16>,
    /// UNIQUE; always set for a constraint.
    pub unique: bool,
    /// PRIMARY KEY or UNIQUE constraint that it enforces.
    pub constraint: Option<IndexConstraint>,
    /// Object id of the constraint; 0 without one.
    pub constraint_id: i32,
    /// Hash or range index.
    pub kind: IndexKind,
    /// Whether it was declared CLUSTERED.
    pub clustered: bool,
    /// BUCKET_COUNT as declared; only a hint.
    pub bucket_count: Option<u64>,
    /// IGNORE_DUP_KEY = ON: duplicate rows are skipped with warning 3604.
    pub ignore_dup_key: bool,
    /// Whether the constraint's name was generated.
    pub system_named: bool,
    /// WHERE clause of a filtered index.
    pub filter: Option<Arc<IndexFilter>>,
    /// Options that only the catalog shows.
    pub shown: ShownOptions,
    /// Placement on a partition scheme.
    pub on: Option<PartitionedOn>,
}

/// Largest BUCKET_COUNT of a hash index, as in SQL Server.
pub const BUCKET_COUNT_MAX: u64 = 1 << 30;

/// Options about pages, page locks and statistics. Clearway has no pages, so they are only shown.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct ShownOptions {
    /// FILLFACTOR in percent; 0 if not given.
    pub fill_factor: u8,
    /// Whether PAD_INDEX = ON.
    pub is_padded: bool,
    /// Whether ALLOW_ROW_LOCKS = OFF.
    pub no_row_locks: bool,
    /// Whether ALLOW_PAGE_LOCKS = OFF.
    pub no_page_locks: bool,
    /// Whether OPTIMIZE_FOR_SEQUENTIAL_KEY = ON.
    pub is_sequential: bool,
    /// Whether STATISTICS_NORECOMPUTE = ON.
    pub no_recompute: bool,
    /// DATA_COMPRESSION as `sys.partitions` numbers it: 0 NONE, 1 ROW, 2 PAGE.
    pub compression: u8,
}

/// Constraints that an index enforces.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[expect(missing_docs, reason = "the names say it")]
pub enum IndexConstraint {
    PrimaryKey,
    Unique,
}

/// The kind of an index.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[expect(missing_docs, reason = "the names say it")]
pub enum IndexKind {
    Hash,
    Range,
}

/// A CHECK constraint of a table.
#[derive(Clone, Debug)]
pub struct CheckDef {
    /// Object id of the constraint.
    pub id: i32,
    /// Name, declared or generated.
    pub name: String,
    /// The predicate and its text.
    pub text: Arc<ModuleText<tsql::ast::Condition>>,
    /// Ordinal of the column it was declared with, or of the only one that it reads.
    pub column: Option<u16>,
    /// False after NOCHECK CONSTRAINT.
    pub enabled: bool,
    /// Whether all rows are known to comply: none was inserted unchecked since the last full check.
    pub trusted: bool,
    /// Whether the name was generated.
    pub system_named: bool,
    /// NOT FOR REPLICATION: only shown, since Clearway has no replication agents.
    pub not_for_replication: bool,
}

/// Statistics that CREATE STATISTICS has declared.
#[derive(Clone, Debug)]
pub struct StatisticsDef {
    /// Name of the statistics.
    pub name: String,
    /// Ordinals of their columns.
    pub columns: Vec<u16>,
    /// NORECOMPUTE: not updated automatically.
    pub no_recompute: bool,
}

/// A FOREIGN KEY constraint.
#[derive(Clone, Debug)]
pub struct ForeignKeyDef {
    /// Object id of the constraint.
    pub id: i32,
    /// Name, declared or generated.
    pub name: String,
    /// Columns of this table by ordinal.
    pub columns: Vec<u16>,
    /// `object_id` of the referenced table.
    pub referenced: i32,
    /// Ordinals of the referenced columns.
    pub referenced_columns: Vec<u16>,
    /// Action of ON DELETE.
    pub on_delete: ReferenceAction,
    /// Action of ON UPDATE.
    pub on_update: ReferenceAction,
    /// False after NOCHECK CONSTRAINT.
    pub enabled: bool,
    /// Whether all rows are known to comply; see [`CheckDef::trusted`].
    pub trusted: bool,
    /// Whether the name was generated.
    pub system_named: bool,
    /// Only shown; see [`CheckDef::not_for_replication`].
    pub not_for_replication: bool,
}

/// The action on rows that refer to a row that is deleted or whose key changes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[expect(missing_docs, reason = "the variants are SQL Server's words")]
pub enum ReferenceAction {
    NoAction,
    Cascade,
    SetNull,
    SetDefault,
}

/// The EXECUTE AS clause of a module. The user is resolved once, since a schema's owner does not
/// change.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ExecuteAs {
    /// `execute_as_principal_id`: -2 for OWNER.
    pub principal: i32,
    /// Principal id of the user that it runs as.
    pub user: i32,
}

impl ExecuteAs {
    /// `execute_as_principal_id` of EXECUTE AS OWNER.
    pub const OWNER: i32 = -2;
}

/// A stored procedure: its text, syntax tree and parameters.
#[derive(Clone, Debug)]
pub struct ProcedureDef {
    /// `object_id`; negative for a temporary one.
    pub id: i32,
    /// Id of its database.
    pub database_id: i16,
    /// Id of the database in which its names are looked up: its own. A temporary procedure is in
    /// tempdb, and its names are those of the database that was current when it was created.
    pub names_in: i16,
    /// Name of its schema.
    pub schema: String,
    /// `schema_id` of its schema.
    pub schema_id: i32,
    /// Name in the spelling of CREATE.
    pub name: String,
    /// Text of the whole CREATE statement.
    pub text: String,
    /// Syntax tree of the CREATE statement.
    pub ast: tsql::ast::CreateProcedure,
    /// Parameters in declared order.
    pub parameters: Vec<ParameterDef>,
    /// Whether it was created WITH NATIVE_COMPILATION.
    pub native: bool,
    /// Creation time, as `datetime`.
    pub created: types::Value,
    /// Time of the last ALTER, as `datetime`.
    pub modified: types::Value,
    /// QUOTED_IDENTIFIER and ANSI_NULLS when it was created: it runs under them.
    pub options: ModuleOptions,
    /// The EXECUTE AS clause, unless CALLER.
    pub execute_as: Option<ExecuteAs>,
}

impl ProcedureDef {
    /// The name that messages give: that of CREATE, without the number of the session that a local
    /// temporary procedure has in tempdb.
    pub fn shown_name(&self) -> &str {
        if self.name.starts_with('#') { &self.ast.name.object } else { &self.name }
    }
}

/// A parameter of a procedure or function.
#[derive(Clone, Debug)]
pub struct ParameterDef {
    /// Name, including the `@`.
    pub name: String,
    /// Declared type and collation.
    pub ty: ColumnType,
    /// Table type, for a table-valued parameter.
    pub table_type: Option<Arc<UserType>>,
    /// Default value; a constant.
    pub default: Option<types::Value>,
    /// The system function that gives the default, such as `@@SPID`; `default` is NULL then.
    pub default_function: Option<String>,
    /// OUTPUT: the value is returned to the caller.
    pub output: bool,
    /// CURSOR VARYING: a cursor is returned; `ty` is unused.
    pub cursor: bool,
}

/// A view, function or trigger: its text and syntax tree.
#[derive(Clone, Debug)]
pub struct ModuleDef {
    /// `object_id`, unique in the instance.
    pub id: i32,
    /// Id of its database.
    pub database_id: i16,
    /// Name of its schema.
    pub schema: String,
    /// `schema_id` of its schema.
    pub schema_id: i32,
    /// Name in the spelling of CREATE.
    pub name: String,
    /// Text of the whole CREATE statement.
    pub text: String,
    /// Syntax tree of the CREATE statement.
    pub ast: tsql::ast::Statement,
    /// `object_id` of a trigger's table or view; 0 for other modules and for DDL triggers.
    pub parent_id: i32,
    /// `type` of `sys.objects`: `V`, `FN`, `IF`, `TF`, `TR`.
    pub type_code: &'static str,
    /// Creation time, as `datetime`.
    pub created: types::Value,
    /// Parameters and result of a function.
    pub routine: Option<Routine>,
    /// Whether DISABLE TRIGGER applies.
    pub disabled: bool,
    /// The events for which a trigger is the first or last: sp_settriggerorder.
    pub order: Vec<TriggerOrder>,
    /// For a trigger on a view: the view's columns, as the definition of an empty table.
    pub shape: Option<Arc<TableDef>>,
    /// The EXECUTE AS clause, unless CALLER.
    pub execute_as: Option<ExecuteAs>,
    /// SET options when it was created.
    pub options: ModuleOptions,
}

/// SET options that a module keeps from its creation.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ModuleOptions {
    /// QUOTED_IDENTIFIER: `"x"` is an identifier.
    pub quoted_identifier: bool,
    /// ANSI_NULLS: `x = NULL` is unknown.
    pub ansi_nulls: bool,
}

/// Parameters and result of a function.
#[derive(Clone, Debug)]
pub struct Routine {
    /// Parameters in declared order.
    pub parameters: Vec<ParameterDef>,
    /// Return type of a scalar function.
    pub returns: Option<ColumnType>,
    /// Definition of the table that a multi-statement function returns.
    pub table: Option<Arc<TableDef>>,
    /// RETURNS NULL ON NULL INPUT: a NULL argument gives NULL without a call.
    pub null_on_null: bool,
}

/// A synonym: another name for an object.
#[derive(Clone, Debug)]
pub struct SynonymDef {
    /// `object_id`, unique in the instance.
    pub id: i32,
    /// Name of its schema.
    pub schema: String,
    /// Name in the spelling of CREATE.
    pub name: String,
    /// The name it refers to; resolved when used.
    pub target: tsql::ast::ObjectName,
}

/// An alias type or table type.
#[derive(Clone, Debug)]
pub struct UserType {
    /// `user_type_id`, 257 and more.
    pub id: i32,
    /// Name of its schema.
    pub schema: String,
    /// Name in the spelling of CREATE.
    pub name: String,
    /// `principal_id` of the owner that ALTER AUTHORIZATION gave it; `None` for that of the schema.
    pub owner: Option<i32>,
    /// Base type of an alias type.
    pub base: Option<ColumnType>,
    /// Definition of a table type.
    pub table: Option<tsql::ast::CreateTable>,
    /// The compiled definition of a table type, which the catalog views show. It never has rows: each
    /// variable gets another table. `None` for a type that an earlier version stored.
    pub shape: Option<Arc<TableDef>>,
    /// The CREATE TYPE statement of a table type, in the spelling of its first name.
    pub text: String,
    /// QUOTED_IDENTIFIER when it was created.
    pub quoted: bool,
}

impl UserType {
    /// Returns the table that CREATE TYPE .. AS TABLE defines; `None` for another kind of type.
    pub fn table_of(create: &tsql::ast::CreateType) -> Option<tsql::ast::CreateTable> {
        use tsql::ast::TypeKind;
        match &create.kind {
            TypeKind::Table { elements, options } => Some(tsql::ast::CreateTable {
                name: create.name.clone(),
                elements: elements.clone(),
                storage: tsql::ast::Storage::default(),
                options: options.clone(),
                as_kind: None,
            }),
            TypeKind::Alias { .. } | TypeKind::External(_) => None,
        }
    }
}

/// Makes a random `uniqueidentifier`.
pub fn new_guid() -> types::Value {
    let mut bytes = sos::sys::random_bytes::<16>();
    bytes[7] = (bytes[7] & 0x0F) | 0x40;
    bytes[8] = (bytes[8] & 0x3F) | 0x80;
    types::Value::UniqueIdentifier(bytes)
}
