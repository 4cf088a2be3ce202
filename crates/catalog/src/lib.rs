//! The catalog: databases and what is in them, as one immutable snapshot.
//!
//! DDL copies what it changes (everything is behind `Arc`), and publishes a new snapshot with the next
//! version. A session keeps the snapshot it last saw and compares one version number per request, so
//! that looking a name up takes no lock and writes nothing.
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

mod bootstrap;
mod cell;
pub mod clock;
mod ddl_event;
mod event_session;
mod external;
mod file;
mod filter;
mod lookup;
mod merge;
mod message;
pub mod name;
pub mod options;
mod owner;
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

pub use bootstrap::default_files;
pub use cell::CatalogCell;
pub use ddl_event::{DDL_EVENTS, DdlEvent};
pub use event_session::{
    Choice, EventDef, EventSessionDef, EventSessionOptions, EventTargetDef, PARTITIONS, RETENTIONS,
};
pub use external::{ExternalDataSource, ExternalFileFormat, ExternalPlace};
pub use file::{DatabaseFile, FileSize, check_filegroup};
pub use filter::{ColumnTest, IndexFilter, Test};
pub use message::{MessageKey, UserMessage, UserMessages};
use name::Name;
pub use owner::Owned;
pub use password_policy::{PasswordPolicy, Weakness, weakness};
pub use principal::{Class, DBO, Login, Permission, Principal, PrincipalKind, SA_PRINCIPAL};
pub use property::{ExtendedProperty, PropertyClass, Securable};
pub use sequence::{Counter, SequenceCache, SequenceDef};
pub use settings::{Settings, TraceFlags};
pub use statistics::{ColumnStatistics, Sampled, StatisticsCell, TableStatistics};
pub use table::{RowShape, create_rows, index_spec, layout_of};
pub use temporal::{Generated, Period, Versioning};

/// All databases at one moment.
#[derive(Clone, Debug)]
pub struct Catalog {
    /// Goes up by one with every change.
    pub version: u64,
    /// By name, case-insensitively.
    pub databases: BTreeMap<Name, Arc<Database>>,
    /// Server logins.
    pub logins: BTreeMap<Name, Arc<Login>>,
    /// GRANT and DENY of permissions of the server; the grantee is a login's `principal_id`.
    pub server_permissions: Vec<Permission>,
    /// Messages of users.
    pub messages: UserMessages,
    /// What sp_configure has set.
    pub settings: Settings,
    /// Trace flags that are on for all sessions.
    pub trace_flags: TraceFlags,
    /// Event sessions of the server by name.
    pub event_sessions: BTreeMap<Name, Arc<EventSessionDef>>,
    /// Triggers ON ALL SERVER by name.
    pub triggers: BTreeMap<Name, Arc<ModuleDef>>,
}

/// A database.
#[derive(Clone, Debug)]
pub struct Database {
    /// `database_id`: 1 master, 2 tempdb, 3 model, 4 msdb, 5 and more the user's.
    pub id: i16,
    /// Its name as created.
    pub name: String,
    /// Default collation of its columns.
    pub collation: Collation,
    /// Creation time, as `datetime`.
    pub created: types::Value,
    /// Schemas by name.
    pub schemas: BTreeMap<Name, Schema>,
    /// Tables, views, procedures, functions, synonyms, sequences, triggers by schema and name.
    pub objects: BTreeMap<(Name, Name), Object>,
    /// Triggers ON DATABASE by name: they are in no schema.
    pub triggers: BTreeMap<Name, Arc<ModuleDef>>,
    /// Alias and table types by schema and name.
    pub types: BTreeMap<(Name, Name), Arc<UserType>>,
    /// Roles and users by name.
    pub principals: BTreeMap<Name, Arc<Principal>>,
    /// ALTER DATABASE .. SET options as they show in `sys.databases`.
    pub options: DatabaseOptions,
    /// Filegroups and files by name, as they show in `sys.filegroups` and `sys.database_files`.
    pub files: Vec<DatabaseFile>,
    /// Permissions granted and denied.
    pub permissions: Vec<Permission>,
    /// Extended properties by what they are attached to and their name.
    pub properties: BTreeMap<(Securable, Name), Arc<ExtendedProperty>>,
    /// External data sources by name: they are in no schema.
    pub data_sources: BTreeMap<Name, Arc<ExternalDataSource>>,
    /// External file formats by name, likewise.
    pub file_formats: BTreeMap<Name, Arc<ExternalFileFormat>>,
    /// Principals that own an object in the place of its schema's owner, by the object's id.
    pub owners: BTreeMap<i32, i32>,
    /// Modules whose text is not shown: of the copy that a login sees, none of the catalog's own.
    pub withheld: BTreeSet<i32>,
}

/// Options of a database.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct DatabaseOptions {
    /// MEMORY_OPTIMIZED_ELEVATE_TO_SNAPSHOT.
    pub elevate_to_snapshot: bool,
    /// READ_COMMITTED_SNAPSHOT.
    pub read_committed_snapshot: bool,
    /// ALLOW_SNAPSHOT_ISOLATION.
    pub allow_snapshot_isolation: bool,
    /// Who may be in it.
    pub user_access: UserAccess,
    /// COMPATIBILITY_LEVEL.
    pub compatibility_level: u8,
    /// RECOVERY: FULL, SIMPLE, BULK_LOGGED.
    pub recovery: String,
    /// Database scoped configurations that have another value than their default.
    pub scoped: BTreeMap<&'static str, i64>,
    /// Those set FOR SECONDARY.
    pub scoped_secondary: BTreeMap<&'static str, i64>,
    /// The other options by upper-case name, with the value that was set.
    pub others: BTreeMap<String, String>,
}

/// The highest id of a system database.
pub const SYSTEM_DATABASE_LAST: i16 = 4;

/// Who may be in a database; the numbers are those of `sys.databases.user_access`.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum UserAccess {
    /// Everybody who has a user there.
    #[default]
    Multi = 0,
    /// One session.
    Single = 1,
    /// Members of `db_owner`, `dbcreator` and `sysadmin`.
    Restricted = 2,
}

impl UserAccess {
    /// Finds an access by its upper-case name.
    pub fn by_name(name: &str) -> Option<Self> {
        [Self::Multi, Self::Single, Self::Restricted].into_iter().find(|one| one.name() == name)
    }

    /// Returns the name, as statements and `sys.databases` have it.
    pub fn name(self) -> &'static str {
        match self {
            Self::Multi => "MULTI_USER",
            Self::Single => "SINGLE_USER",
            Self::Restricted => "RESTRICTED_USER",
        }
    }
}

/// A schema.
#[derive(Clone, Debug)]
pub struct Schema {
    /// `schema_id`: 1 dbo, 2 guest, 3 INFORMATION_SCHEMA, 4 sys, 5 and more the user's, 16384 and more the fixed
    /// roles'.
    pub id: i32,
    /// Its name as created.
    pub name: String,
    /// Owner's principal id.
    pub owner: i32,
}

/// An object of a schema.
#[derive(Clone, Debug)]
pub enum Object {
    /// A table.
    Table(Arc<TableDef>),
    /// A stored procedure.
    Procedure(Arc<ProcedureDef>),
    /// A view.
    View(Arc<ModuleDef>),
    /// A function: scalar, inline or multi-statement.
    Function(Arc<ModuleDef>),
    /// A trigger.
    Trigger(Arc<ModuleDef>),
    /// A synonym and what it stands for.
    Synonym(Arc<SynonymDef>),
    /// A sequence.
    Sequence(Arc<SequenceDef>),
}

/// A table. Temporary tables and table variables have the same shape but are not in the catalog.
#[derive(Clone)]
pub struct TableDef {
    /// `object_id`
    pub id: i32,
    /// Database it is in.
    pub database_id: i16,
    /// Schema.
    pub schema_id: i32,
    /// Schema's name.
    pub schema: String,
    /// Its name as created.
    pub name: String,
    /// Columns by ordinal (`column_id` - 1).
    pub columns: Vec<ColumnDef>,
    /// Indexes; the numbers in plans are places in this list, which is that of `data` too.
    pub indexes: Vec<IndexDef>,
    /// CHECK constraints.
    pub checks: Vec<CheckDef>,
    /// FOREIGN KEY constraints of this table.
    pub foreign_keys: Vec<ForeignKeyDef>,
    /// CREATE STATISTICS.
    pub statistics: Vec<StatisticsDef>,
    /// ANSI_NULLS at CREATE.
    pub ansi_nulls: bool,
    /// MEMORY_OPTIMIZED = ON
    pub memory_optimized: bool,
    /// DURABILITY = SCHEMA_ONLY; the default is SCHEMA_AND_DATA.
    pub schema_only: bool,
    /// DATA_COMPRESSION of a heap, as [`ShownOptions::compression`]. A clustered index has its own.
    pub compression: u8,
    /// Creation time, as `datetime`.
    pub created: types::Value,
    /// Where each column lies in an encoded row.
    pub layout: Arc<RowLayout>,
    /// The rows.
    pub rows: Arc<TableRows>,
    /// Whether other tables have foreign keys to this one.
    pub referenced: bool,
    /// The clustered columnstore index, if it has one; then it has no other index.
    pub columnstore: Option<ColumnstoreDef>,
    /// The nonclustered columnstore index, if it has one: beside the rows, and never with the clustered one.
    pub column_index: Option<ColumnIndexDef>,
    /// Of an external table: where its rows are. It has none of its own.
    pub external: Option<Arc<ExternalPlace>>,
    /// PERIOD FOR SYSTEM_TIME.
    pub period: Option<Period>,
    /// SYSTEM_VERSIONING.
    pub versioning: Versioning,
}

/// A clustered columnstore index.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ColumnstoreDef {
    /// Its name.
    pub name: String,
    /// COMPRESSION_DELAY in minutes, for which delta stores that are closed wait at least for the tuple mover.
    pub compression_delay: i32,
}

/// A nonclustered columnstore index.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ColumnIndexDef {
    /// `index_id`
    pub id: i32,
    /// By which storage knows this definition.
    pub storage_id: ColumnIndexId,
    /// Its name.
    pub name: String,
    /// Columns by ordinal, in the order in which they were named.
    pub columns: Vec<u16>,
    /// COMPRESSION_DELAY in minutes.
    pub compression_delay: i32,
}

impl ColumnIndexDef {
    /// Tells whether it has all of these columns.
    pub fn covers(&self, mut ordinals: impl Iterator<Item = u16>) -> bool {
        ordinals.all(|ordinal| self.columns.contains(&ordinal))
    }
}

impl std::fmt::Debug for TableDef {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "table {}.{} ({})", self.schema, self.name, self.id)
    }
}

/// The rows of a table and its counters: shared by all definitions of one table. A table variable has
/// one per execution of its batch or procedure.
pub struct TableRows {
    /// The rows.
    pub data: Arc<storage::Table>,
    /// The next identity value to give.
    pub identity_next: sos::sync::AtomicI64,
    /// What the optimizer knows of the values.
    pub statistics: StatisticsCell,
}

/// A column.
#[derive(Clone, Debug)]
pub struct ColumnDef {
    /// Its name as created.
    pub name: String,
    /// Type, collation, nullability.
    pub ty: ColumnType,
    /// Alias type it was declared with, if any: schema and name.
    pub user_type: Option<(String, String)>,
    /// IDENTITY (seed, increment).
    pub identity: Option<(i64, i64)>,
    /// DEFAULT: constraint name and text of the expression.
    pub default: Option<DefaultDef>,
    /// Computed column: text of the expression.
    pub computed: Option<Arc<ModuleText>>,
    /// ROWGUIDCOL.
    pub row_guid: bool,
    /// Declared as `numeric`: a `decimal` that the catalog calls by that name.
    pub numeric: bool,
    /// SPARSE: shown by the catalog; a NULL takes no more room than in any other column.
    pub sparse: bool,
    /// GENERATED ALWAYS AS ROW START or ROW END.
    pub generated: Option<Generated>,
    /// HIDDEN: neither `*` nor an INSERT without a column list means it.
    pub hidden: bool,
    /// Made under ANSI_PADDING OFF: blanks and zeros at the end of what it gets are cut off.
    pub trims: bool,
    /// PERSISTED, of a computed column.
    pub persisted: bool,
    /// NOT FOR REPLICATION of an identity column, as [`CheckDef::not_for_replication`].
    pub not_for_replication: bool,
}

impl ColumnDef {
    /// Returns the type that its values have: those of a `char` or `binary` column that trims them are as long as
    /// they are.
    pub fn shown_type(&self) -> ColumnType {
        let data_type = match self.ty.data_type {
            DataType::Char(n) if self.trims => DataType::VarChar(Length::Limited(n)),
            DataType::Binary(n) if self.trims => DataType::VarBinary(Length::Limited(n)),
            _ => return self.ty,
        };
        ColumnType { data_type, ..self.ty }
    }
}

/// A default constraint.
#[derive(Clone, Debug)]
pub struct DefaultDef {
    /// Object id.
    pub id: i32,
    /// Name, given or made.
    pub name: String,
    /// The expression.
    pub text: Arc<ModuleText>,
    /// Whether the name was made by the system.
    pub system_named: bool,
}

/// A piece of T-SQL kept with an object: source text and its syntax tree.
#[derive(Debug)]
pub struct ModuleText<T = tsql::ast::Expr> {
    /// The text as the catalog views show it.
    pub text: String,
    /// It parsed.
    pub tree: T,
}

/// An index, which may be behind a PRIMARY KEY or UNIQUE constraint.
#[derive(Clone, Debug)]
pub struct IndexDef {
    /// `index_id`: 1 clustered, 2 and more nonclustered.
    pub id: i32,
    /// Its name.
    pub name: String,
    /// Key columns: ordinal and DESC.
    pub keys: Vec<(u16, bool)>,
    /// INCLUDE columns by ordinal: kept for the catalog, since an index finds whole rows.
    pub included: Vec<u16>,
    /// UNIQUE.
    pub unique: bool,
    /// Constraint behind it.
    pub constraint: Option<IndexConstraint>,
    /// Object id of the constraint; 0 without one.
    pub constraint_id: i32,
    /// Hash or range.
    pub kind: IndexKind,
    /// CLUSTERED was declared.
    pub clustered: bool,
    /// BUCKET_COUNT as declared: a hint.
    pub bucket_count: Option<u64>,
    /// IGNORE_DUP_KEY = ON.
    pub ignore_dup_key: bool,
    /// Whether the name of the constraint was made by the system.
    pub system_named: bool,
    /// WHERE of a filtered index.
    pub filter: Option<Arc<IndexFilter>>,
    /// Options that the catalog shows.
    pub shown: ShownOptions,
}

/// Options of an index about pages, their locks and statistics: there are none of these, so they are only shown.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct ShownOptions {
    /// FILLFACTOR in percent; 0 where it was not said.
    pub fill_factor: u8,
    /// PAD_INDEX = ON.
    pub is_padded: bool,
    /// ALLOW_ROW_LOCKS = OFF.
    pub no_row_locks: bool,
    /// ALLOW_PAGE_LOCKS = OFF.
    pub no_page_locks: bool,
    /// OPTIMIZE_FOR_SEQUENTIAL_KEY = ON.
    pub is_sequential: bool,
    /// STATISTICS_NORECOMPUTE = ON.
    pub no_recompute: bool,
    /// DATA_COMPRESSION as sys.partitions numbers it: 0 NONE, 1 ROW, 2 PAGE.
    pub compression: u8,
}

/// Constraints that an index enforces.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[expect(missing_docs, reason = "the names say it")]
pub enum IndexConstraint {
    PrimaryKey,
    Unique,
}

/// Kinds of index.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[expect(missing_docs, reason = "the names say it")]
pub enum IndexKind {
    Hash,
    Range,
}

/// A CHECK constraint.
#[derive(Clone, Debug)]
pub struct CheckDef {
    /// Object id.
    pub id: i32,
    /// Name, given or made.
    pub name: String,
    /// The predicate.
    pub text: Arc<ModuleText<tsql::ast::Condition>>,
    /// The column behind which it was written, or the only one that it reads.
    pub column: Option<u16>,
    /// NOCHECK CONSTRAINT has not been said.
    pub enabled: bool,
    /// All rows are known to comply: none came in unchecked since all were checked.
    pub trusted: bool,
    /// Whether the constraint was made by the system's naming.
    pub system_named: bool,
    /// NOT FOR REPLICATION: shown; there are no agents of replication that it would spare.
    pub not_for_replication: bool,
}

/// Statistics that were asked for by name.
#[derive(Clone, Debug)]
pub struct StatisticsDef {
    /// Their name.
    pub name: String,
    /// Columns by ordinal.
    pub columns: Vec<u16>,
    /// NORECOMPUTE.
    pub no_recompute: bool,
}

/// A FOREIGN KEY constraint.
#[derive(Clone, Debug)]
pub struct ForeignKeyDef {
    /// Object id.
    pub id: i32,
    /// Name, given or made.
    pub name: String,
    /// Columns of this table by ordinal.
    pub columns: Vec<u16>,
    /// The table referred to, by object id.
    pub referenced: i32,
    /// Its columns by ordinal.
    pub referenced_columns: Vec<u16>,
    /// ON DELETE.
    pub on_delete: ReferenceAction,
    /// ON UPDATE.
    pub on_update: ReferenceAction,
    /// NOCHECK CONSTRAINT has not been said.
    pub enabled: bool,
    /// As [`CheckDef::trusted`].
    pub trusted: bool,
    /// Whether the name was made by the system.
    pub system_named: bool,
    /// As [`CheckDef::not_for_replication`].
    pub not_for_replication: bool,
}

/// What happens to rows that refer to a row that is deleted or gets another key.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[expect(missing_docs, reason = "the variants are SQL Server's words")]
pub enum ReferenceAction {
    NoAction,
    Cascade,
    SetNull,
    SetDefault,
}

/// The EXECUTE AS clause of a module. Who owns a schema does not change, so the user is known once.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ExecuteAs {
    /// `execute_as_principal_id`: -2 for OWNER.
    pub principal: i32,
    /// The user that it runs as.
    pub user: i32,
}

impl ExecuteAs {
    /// `execute_as_principal_id` of OWNER.
    pub const OWNER: i32 = -2;
}

/// A stored procedure.
#[derive(Clone, Debug)]
pub struct ProcedureDef {
    /// `object_id`
    pub id: i32,
    /// Database it is in.
    pub database_id: i16,
    /// Schema's name.
    pub schema: String,
    /// Schema.
    pub schema_id: i32,
    /// Its name as created.
    pub name: String,
    /// Text of the whole CREATE statement.
    pub text: String,
    /// The CREATE statement parsed.
    pub ast: tsql::ast::CreateProcedure,
    /// Parameters in order.
    pub parameters: Vec<ParameterDef>,
    /// NATIVE_COMPILATION.
    pub native: bool,
    /// Creation time, as `datetime`.
    pub created: types::Value,
    /// Last change, as `datetime`.
    pub modified: types::Value,
    /// SET QUOTED_IDENTIFIER and ANSI_NULLS as they were at CREATE: they go with the module.
    pub options: ModuleOptions,
    /// WITH EXECUTE AS, unless CALLER.
    pub execute_as: Option<ExecuteAs>,
}

/// A parameter of a procedure or function.
#[derive(Clone, Debug)]
pub struct ParameterDef {
    /// With its `@`.
    pub name: String,
    /// Type.
    pub ty: ColumnType,
    /// Table type, for a table-valued parameter.
    pub table_type: Option<Arc<UserType>>,
    /// Default value, a constant.
    pub default: Option<types::Value>,
    /// OUTPUT.
    pub output: bool,
}

/// A view, function or trigger: its text and syntax tree.
#[derive(Clone, Debug)]
pub struct ModuleDef {
    /// `object_id`
    pub id: i32,
    /// Database it is in.
    pub database_id: i16,
    /// Schema's name.
    pub schema: String,
    /// Schema.
    pub schema_id: i32,
    /// Its name as created.
    pub name: String,
    /// Text of the whole CREATE statement.
    pub text: String,
    /// The CREATE statement parsed.
    pub ast: tsql::ast::Statement,
    /// Table of a trigger; 0 for the others, DDL triggers too.
    pub parent_id: i32,
    /// `sys.objects.type`: `V`, `FN`, `IF`, `TF`, `TR`.
    pub type_code: &'static str,
    /// Creation time, as `datetime`.
    pub created: types::Value,
    /// What a function takes and gives.
    pub routine: Option<Routine>,
    /// DISABLE TRIGGER has been said.
    pub disabled: bool,
    /// Of a trigger on a view: the view's columns, as a table that never has rows.
    pub shape: Option<Arc<TableDef>>,
    /// As that of a [`ProcedureDef`].
    pub execute_as: Option<ExecuteAs>,
    /// SET options as they were at CREATE.
    pub options: ModuleOptions,
}

/// SET options that go with a module from its creation.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ModuleOptions {
    /// QUOTED_IDENTIFIER
    pub quoted_identifier: bool,
    /// ANSI_NULLS
    pub ansi_nulls: bool,
}

/// What a function takes and gives.
#[derive(Clone, Debug)]
pub struct Routine {
    /// Its parameters, in order.
    pub parameters: Vec<ParameterDef>,
    /// What a scalar function returns.
    pub returns: Option<ColumnType>,
    /// The shape of the table that a multi-statement function returns.
    pub table: Option<Arc<TableDef>>,
    /// RETURNS NULL ON NULL INPUT
    pub null_on_null: bool,
}

/// A synonym.
#[derive(Clone, Debug)]
pub struct SynonymDef {
    /// `object_id`
    pub id: i32,
    /// Schema's name.
    pub schema: String,
    /// Its name as created.
    pub name: String,
    /// What it stands for.
    pub target: tsql::ast::ObjectName,
}

/// An alias type or table type.
#[derive(Clone, Debug)]
pub struct UserType {
    /// `user_type_id`, 257 and more.
    pub id: i32,
    /// Schema's name.
    pub schema: String,
    /// Its name as created.
    pub name: String,
    /// Base type of an alias type.
    pub base: Option<ColumnType>,
    /// Definition of a table type.
    pub table: Option<tsql::ast::CreateTable>,
}

/// Makes a random `uniqueidentifier`.
pub fn new_guid() -> types::Value {
    let mut bytes = sos::sys::random_bytes::<16>();
    bytes[7] = (bytes[7] & 0x0F) | 0x40;
    bytes[8] = (bytes[8] & 0x3F) | 0x80;
    types::Value::UniqueIdentifier(bytes)
}
