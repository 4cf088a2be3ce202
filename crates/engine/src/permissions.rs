//! The permission that each kind of statement, system procedure, DBCC command, function and view
//! requires. docs/permissions.md is generated from this list.
//!
//! A new kind of statement does not compile without its line. A new procedure, or a view or
//! function outside its registry's rule, fails the test of the page. `tests/it/permissions/` runs
//! each line as a user without permissions and as one with exactly the listed permission.

use tsql::ast::{DropKind, PrincipalKind, StatementKind};

use crate::library;
use ::catalog::security::{State, state_of};
use ::procedures::dbcc;

/// The kind of thing that a line is about.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Kind {
    /// A statement of T-SQL.
    Statement,
    /// A system procedure, by name.
    Procedure,
    /// A DBCC command, by name.
    Dbcc,
    /// A built-in function, by name.
    Function,
    /// A system view, by name.
    View,
}

/// A line of docs/permissions.md.
#[derive(Clone, Debug)]
pub struct Line {
    /// Whether it is about a statement, procedure, command, function or view.
    pub kind: Kind,
    /// The name, as the page shows it.
    pub name: &'static str,
    /// The permission that it requires; empty for none.
    pub asks: &'static str,
}

/// Declares the lines of an enum of the syntax tree: an exhaustive match, and a list.
macro_rules! lines {
    ($(#[$doc:meta])* $list:ident, $name_of:ident($of:ident) { $($variant:ident => $name:literal, $asks:literal;)* }) => {
        $(#[$doc])*
        pub static $list: &[(&str, &str)] = &[$(($name, $asks)),*];

        /// Returns the name that the lines use for a variant.
        pub fn $name_of(kind: &$of) -> &'static str {
            match kind {
                $($of::$variant { .. } => $name,)*
            }
        }
    };
}

lines! {
    /// Lines for every kind of statement, in the order of the syntax tree.
    STATEMENTS, statement_name(StatementKind) {
        Select => "SELECT", "SELECT on each table, view and table-valued function or the columns read, EXECUTE on functions, UPDATE on sequences; INTO: as CREATE TABLE; OPENROWSET(BULK ..): ADMINISTER BULK OPERATIONS";
        Insert => "INSERT", "INSERT, SELECT on what OUTPUT reads";
        Update => "UPDATE", "UPDATE on the table or the columns changed, SELECT on what is read: by WHERE, SET, OUTPUT and FROM";
        Delete => "DELETE", "DELETE, SELECT on what is read: by WHERE, OUTPUT and FROM";
        Merge => "MERGE", "what its actions ask for, SELECT on the source and on what is read of the target";
        Truncate => "TRUNCATE TABLE", "ALTER on the table";
        InsertBulk => "INSERT BULK", "INSERT, and ALTER on the table where there are constraints without CHECK_CONSTRAINTS, triggers without FIRE_TRIGGERS, or values of the identity column";
        BulkInsert => "BULK INSERT", "ADMINISTER BULK OPERATIONS and INSERT; ALTER on the table as for INSERT BULK";
        ReadText => "READTEXT", "SELECT";
        Declare => "DECLARE", "";
        SetVariable => "SET @variable", "";
        SetOption => "SET", "IDENTITY_INSERT: ALTER on the table; SHOWPLAN_.., STATISTICS XML and PROFILE: SHOWPLAN in the database, when a statement is shown";
        Block => "BEGIN .. END", "";
        AtomicBlock => "BEGIN ATOMIC", "";
        If => "IF", "";
        While => "WHILE", "";
        Break => "BREAK", "";
        Continue => "CONTINUE", "";
        Return => "RETURN", "";
        Label => "label:", "";
        Goto => "GOTO", "";
        WaitFor => "WAITFOR", "";
        TryCatch => "TRY .. CATCH", "";
        Throw => "THROW", "";
        RaisError => "RAISERROR", "WITH LOG or severity 19 and more: ALTER TRACE";
        Print => "PRINT", "";
        Execute => "EXECUTE procedure", "EXECUTE on the procedure";
        ExecuteString => "EXECUTE ('..')", "what the text asks for; AS USER, AS LOGIN: IMPERSONATE";
        ExecuteAs => "EXECUTE AS", "IMPERSONATE on the user or login";
        Revert => "REVERT", "";
        Transaction => "BEGIN, COMMIT, ROLLBACK, SAVE TRANSACTION", "";
        DeclareCursor => "DECLARE CURSOR", "what its query asks for, when it is opened";
        OpenCursor => "OPEN", "what the query asks for";
        Fetch => "FETCH", "";
        CloseCursor => "CLOSE", "";
        DeallocateCursor => "DEALLOCATE", "";
        CreateDatabase => "CREATE DATABASE", "CREATE DATABASE in master, CREATE ANY DATABASE or ALTER ANY DATABASE";
        AlterDatabase => "ALTER DATABASE", "ALTER on the database or ALTER ANY DATABASE; SCOPED CONFIGURATION: ALTER ANY DATABASE SCOPED CONFIGURATION";
        CreateSchema => "CREATE SCHEMA", "CREATE SCHEMA; AUTHORIZATION: IMPERSONATE on the owner, or being a member of it";
        AlterSchema => "ALTER SCHEMA .. TRANSFER", "ALTER on the schema, CONTROL on what is moved";
        CreateTable => "CREATE TABLE", "CREATE TABLE, and ALTER on the schema; REFERENCES on the tables of foreign keys";
        AlterTable => "ALTER TABLE", "ALTER on the table; REFERENCES on the tables of foreign keys";
        CreateIndex => "CREATE INDEX", "ALTER on the table";
        AlterIndex => "ALTER INDEX", "ALTER on the table";
        CreateView => "CREATE VIEW, ALTER VIEW", "CREATE VIEW, and ALTER on the schema; ALTER: ALTER on the view";
        CreateProcedure => "CREATE PROCEDURE, ALTER PROCEDURE", "CREATE PROCEDURE, and ALTER on the schema; ALTER: ALTER on the procedure; EXECUTE AS: IMPERSONATE";
        CreateFunction => "CREATE FUNCTION, ALTER FUNCTION", "CREATE FUNCTION, and ALTER on the schema; ALTER: ALTER on the function";
        CreateTrigger => "CREATE TRIGGER, ALTER TRIGGER", "ALTER on the table; ON DATABASE: ALTER ANY DATABASE DDL TRIGGER; ON ALL SERVER: CONTROL SERVER";
        EnableTrigger => "ENABLE TRIGGER, DISABLE TRIGGER", "as CREATE TRIGGER";
        CreateType => "CREATE TYPE", "CREATE TYPE, and ALTER on the schema";
        CreateSequence => "CREATE SEQUENCE, ALTER SEQUENCE", "CREATE SEQUENCE on the database or the schema, or ALTER on the schema; ALTER: ALTER on the sequence";
        CreateSynonym => "CREATE SYNONYM", "CREATE SYNONYM, and ALTER on the schema";
        Partition => "CREATE and ALTER of PARTITION FUNCTION and PARTITION SCHEME", "ALTER ANY DATASPACE";
        CreateExternal => "CREATE EXTERNAL DATA SOURCE, FILE FORMAT", "ALTER ANY EXTERNAL DATA SOURCE and ADMINISTER BULK OPERATIONS, or ALTER ANY EXTERNAL FILE FORMAT";
        CreateExternalTable => "CREATE EXTERNAL TABLE", "CREATE TABLE, ALTER ANY EXTERNAL DATA SOURCE, ALTER ANY EXTERNAL FILE FORMAT, ADMINISTER DATABASE BULK OPERATIONS, and ALTER on the schema";
        CreateStatistics => "CREATE STATISTICS", "ALTER on the table";
        UpdateStatistics => "UPDATE STATISTICS", "ALTER on the table";
        Drop => "DROP", "as the lines of the kinds of DROP say";
        DropIndex => "DROP INDEX", "ALTER on the table";
        Principal => "CREATE and ALTER LOGIN, USER, ROLE, SERVER ROLE", "as the lines of their kinds say";
        Permission => "GRANT, DENY, REVOKE", "CONTROL on what the permission is about, the permission WITH GRANT OPTION (not for DENY), or db_securityadmin; of the server: ALTER ANY LOGIN; AS: being that principal, being a member of it, or IMPERSONATE";
        AlterAuthorization => "ALTER AUTHORIZATION", "TAKE OWNERSHIP, and IMPERSONATE on the owner or being a member of it";
        CreateEventSession => "CREATE EVENT SESSION", "ALTER ANY EVENT SESSION";
        AlterEventSession => "ALTER EVENT SESSION", "ALTER ANY EVENT SESSION";
        DropEventSession => "DROP EVENT SESSION", "ALTER ANY EVENT SESSION";
        Use => "USE", "a user in the database, or that it lets guests in";
        Dbcc => "DBCC", "as the lines of its commands say";
        Kill => "KILL", "ALTER ANY CONNECTION";
        Checkpoint => "CHECKPOINT", "CHECKPOINT";
        Shutdown => "SHUTDOWN", "SHUTDOWN";
        Backup => "BACKUP DATABASE", "BACKUP DATABASE; of the log: BACKUP LOG";
        Restore => "RESTORE", "CREATE DATABASE in master, CREATE ANY DATABASE or ALTER ANY DATABASE; of a database that exists: also its owner";
        Reconfigure => "RECONFIGURE", "ALTER SETTINGS";
        Unsupported => "statements that are not supported", "";
    }
}

lines! {
    /// Lines for every kind of DROP.
    DROPS, drop_name(DropKind) {
        Database => "DROP DATABASE", "CONTROL on the database, or ALTER ANY DATABASE";
        Default => "DROP DEFAULT", "";
        PartitionFunction => "DROP PARTITION FUNCTION", "ALTER ANY DATASPACE";
        PartitionScheme => "DROP PARTITION SCHEME", "ALTER ANY DATASPACE";
        ExternalDataSource => "DROP EXTERNAL DATA SOURCE", "ALTER ANY EXTERNAL DATA SOURCE";
        ExternalFileFormat => "DROP EXTERNAL FILE FORMAT", "ALTER ANY EXTERNAL FILE FORMAT";
        ExternalTable => "DROP EXTERNAL TABLE", "ALTER on the schema, or CONTROL on the table";
        Function => "DROP FUNCTION", "ALTER on the schema, or CONTROL on the function";
        Login => "DROP LOGIN", "ALTER ANY LOGIN, or ALTER on the login; a sysadmin's: CONTROL SERVER";
        Procedure => "DROP PROCEDURE", "ALTER on the schema, or CONTROL on the procedure";
        Role => "DROP ROLE", "ALTER ANY ROLE, or ALTER on the role";
        Rule => "DROP RULE", "";
        Schema => "DROP SCHEMA", "CONTROL on the schema, or ALTER ANY SCHEMA";
        Sequence => "DROP SEQUENCE", "ALTER on the schema, or CONTROL on the sequence";
        ServerRole => "DROP SERVER ROLE", "";
        Statistics => "DROP STATISTICS", "ALTER on the table";
        Synonym => "DROP SYNONYM", "ALTER on the schema, or CONTROL on the synonym";
        Table => "DROP TABLE", "ALTER on the schema, or CONTROL on the table";
        Trigger => "DROP TRIGGER", "ALTER on the table; of a database or the server: as CREATE TRIGGER";
        Type => "DROP TYPE", "ALTER on the schema";
        User => "DROP USER", "ALTER ANY USER";
        View => "DROP VIEW", "ALTER on the schema, or CONTROL on the view";
    }
}

lines! {
    /// Lines for every kind of principal of CREATE and ALTER.
    PRINCIPALS, principal_name(PrincipalKind) {
        Role => "CREATE ROLE, ALTER ROLE", "CREATE ROLE; ALTER: ALTER ANY ROLE, or ALTER on the role; members of fixed roles: db_owner";
        ServerRole => "ALTER SERVER ROLE", "being a member of the role";
        ApplicationRole => "CREATE APPLICATION ROLE", "ALTER ANY APPLICATION ROLE";
        User => "CREATE USER, ALTER USER", "ALTER ANY USER; another default schema: ALTER on the user, one's own: nothing";
        Login => "CREATE LOGIN, ALTER LOGIN", "ALTER ANY LOGIN, or ALTER on the login; a sysadmin's: CONTROL SERVER; one's own password: the old one, one's own database and language: nothing";
    }
}

/// System procedures that require a permission. The others require none, or those of the statements
/// that they run.
pub static PROCEDURES: &[(&str, &str)] = &[
    ("sp_addextendedproperty", ALTER_PROPERTY),
    ("sp_addlogin", "as CREATE LOGIN"),
    ("sp_addmessage", SERVER_ADMIN),
    ("sp_addrole", "as CREATE ROLE"),
    ("sp_addrolemember", "as ALTER ROLE"),
    ("sp_addsrvrolemember", "as ALTER SERVER ROLE"),
    ("sp_adduser", "as CREATE USER"),
    ("sp_addtype", "as CREATE TYPE"),
    ("sp_altermessage", SERVER_ADMIN),
    ("sp_changedbowner", "as ALTER AUTHORIZATION"),
    ("sp_configure", "ALTER SETTINGS, to change something"),
    ("sp_cursor", "what INSERT, UPDATE or DELETE of its table asks for"),
    ("sp_cursoropen", GIVEN),
    ("sp_cursorprepexec", GIVEN),
    ("sp_defaultdb", "as ALTER LOGIN"),
    ("sp_defaultlanguage", "as ALTER LOGIN"),
    ("sp_describe_first_result_set", GIVEN),
    ("sp_delete_backuphistory", "sysadmin"),
    ("sp_delete_database_backuphistory", "sysadmin"),
    ("sp_diagnose", VIEW_STATE),
    ("sp_dropextendedproperty", ALTER_PROPERTY),
    ("sp_droplogin", "as DROP LOGIN"),
    ("sp_dropmessage", SERVER_ADMIN),
    ("sp_droprole", "as DROP ROLE"),
    ("sp_droprolemember", "as ALTER ROLE"),
    ("sp_dropsrvrolemember", "as ALTER SERVER ROLE"),
    ("sp_droptype", "as DROP TYPE"),
    ("sp_dropuser", "as DROP USER"),
    ("sp_executesql", GIVEN),
    ("sp_grantdbaccess", "as CREATE USER"),
    ("sp_helplogins", "securityadmin"),
    ("sp_inject_delay", "ALTER SERVER STATE"),
    ("sp_lock", "VIEW SERVER STATE"),
    ("sp_monitor", "sysadmin"),
    ("sp_msforeachdb", GIVEN),
    ("sp_msforeachtable", GIVEN),
    ("sp_password", "as ALTER LOGIN"),
    ("sp_prepexec", GIVEN),
    ("sp_query_store_clear_hints", ALTER_DATABASE),
    ("sp_query_store_clear_message_queues", ALTER_DATABASE),
    ("sp_query_store_consistency_check", ALTER_DATABASE),
    ("sp_query_store_flush_db", ALTER_DATABASE),
    ("sp_query_store_force_plan", ALTER_DATABASE),
    ("sp_query_store_remove_plan", ALTER_DATABASE),
    ("sp_query_store_remove_query", ALTER_DATABASE),
    ("sp_query_store_reset_exec_stats", ALTER_DATABASE),
    ("sp_query_store_set_hints", ALTER_DATABASE),
    ("sp_query_store_unforce_plan", ALTER_DATABASE),
    ("sp_readerrorlog", "sysadmin"),
    ("sp_recompile", "ALTER on the object"),
    ("sp_refreshsqlmodule", "ALTER on the module"),
    ("sp_refreshview", "ALTER on the view"),
    ("sp_rename", "ALTER on the object, of a type on its schema"),
    ("sp_revokedbaccess", "as DROP USER"),
    ("sp_sequence_get_range", "UPDATE on the sequence"),
    (
        "sp_settriggerorder",
        "ALTER on the table or view; a DDL trigger's: ALTER ANY DATABASE DDL TRIGGER, CONTROL SERVER",
    ),
    ("sp_updateextendedproperty", ALTER_PROPERTY),
    ("sp_updatestats", "db_owner"),
    ("sp_xtp_control_proc_exec_stats", "sysadmin"),
    ("sp_xtp_control_query_exec_stats", "sysadmin"),
    ("xp_create_subdir", "sysadmin"),
    ("xp_dirtree", "sysadmin"),
    ("xp_fileexist", "sysadmin"),
    ("xp_fixeddrives", "VIEW SERVER STATE"),
    ("xp_instance_regread", "sysadmin"),
    ("xp_readerrorlog", "sysadmin"),
    ("xp_regread", "sysadmin"),
];

const ALTER_PROPERTY: &str = "ALTER on what it is attached to, of a type on its schema";
const ALTER_DATABASE: &str = "ALTER on the database";
const SERVER_ADMIN: &str = "serveradmin";
const GIVEN: &str = "what the statements ask for that it is given";

/// System procedures that require no permission.
pub static OPEN_PROCEDURES: &[&str] = &[
    "sp_column_privileges",
    "sp_columns",
    "sp_columns_100",
    "sp_cursor_list",
    "sp_cursorclose",
    "sp_cursorexecute",
    "sp_cursorfetch",
    "sp_cursoroption",
    "sp_cursorprepare",
    "sp_cursorunprepare",
    "sp_databases",
    "sp_datatype_info",
    "sp_datatype_info_100",
    "sp_describe_cursor",
    "sp_describe_cursor_columns",
    "sp_describe_cursor_tables",
    "sp_depends",
    "sp_describe_undeclared_parameters",
    "sp_execute",
    "sp_fkeys",
    "sp_flush_log",
    "sp_getapplock",
    "sp_help",
    "sp_helpconstraint",
    "sp_helpdb",
    "sp_helpfile",
    "sp_helpfilegroup",
    "sp_helpindex",
    "sp_helplanguage",
    "sp_helprole",
    "sp_helprolemember",
    "sp_helprotect",
    "sp_helpsrvrole",
    "sp_helpsrvrolemember",
    "sp_helpstats",
    "sp_helptext",
    "sp_helptrigger",
    "sp_helpuser",
    "sp_pkeys",
    "sp_prepare",
    "sp_prepexecrpc",
    "sp_releaseapplock",
    "sp_reset_connection",
    "sp_server_info",
    "sp_set_session_context",
    "sp_spaceused",
    "sp_special_columns",
    "sp_special_columns_100",
    "sp_sproc_columns",
    "sp_sproc_columns_100",
    "sp_statistics",
    "sp_statistics_100",
    "sp_stored_procedures",
    "sp_table_privileges",
    "sp_tablecollations_100",
    "sp_tables",
    "sp_unprepare",
    "sp_who",
    "sp_who2",
    "sp_xml_preparedocument",
    "sp_xml_removedocument",
    "xp_msver",
];

/// Functions that require a permission; without it they return NULL.
pub static FUNCTIONS: &[(&str, &str)] =
    &[("LOGINPROPERTY", "CONTROL SERVER for PasswordHash, which is NULL without")];

/// The permission for views about the state of the server.
const VIEW_STATE: &str = "VIEW SERVER STATE";
/// The permission for views about the state of a database.
const VIEW_DATABASE_STATE: &str = "VIEW DATABASE STATE";
/// For views that return no rows without it.
const OR_NOTHING: &str = "VIEW DATABASE STATE; without it there are no rows";
const OR_READ: &str = "VIEW DATABASE STATE, but for tables that one may SELECT";
const OF_COLUMNS: &str = "SELECT on the columns of the statistics; without it there are no rows";
const OF_TABLE: &str = "SELECT on the table; without it there are no rows";
/// For views that show only the session itself without it.
const OWN_SESSION: &str = "VIEW SERVER STATE, but for one's own session";

/// Iterates over all lines, ordered by kind.
pub fn lines() -> impl Iterator<Item = Line> {
    let line = |kind| move |&(name, asks): &(&'static str, &'static str)| Line { kind, name, asks };
    let statements = STATEMENTS.iter().chain(DROPS).chain(PRINCIPALS).map(line(Kind::Statement));
    let open = OPEN_PROCEDURES.iter().map(|name| Line { kind: Kind::Procedure, name, asks: "" });
    let procedures = PROCEDURES.iter().map(line(Kind::Procedure)).chain(open);
    let commands = dbcc::COMMANDS.iter().map(|command| Line {
        kind: Kind::Dbcc,
        name: command.name,
        asks: command.asks.text(),
    });
    let functions = library::names().map(|name| {
        let found = FUNCTIONS.iter().find(|(asking, _)| *asking == name);
        Line { kind: Kind::Function, name, asks: found.map_or("", |(_, asks)| asks) }
    });
    let views = library::views().map(|(_, view)| Line {
        kind: Kind::View,
        name: view.name,
        asks: match view.name {
            "dm_exec_cursors"
            | "dm_exec_input_buffer"
            | "dm_exec_requests"
            | "dm_exec_sessions" => OWN_SESSION,
            "dm_db_stats_histogram" => OF_COLUMNS,
            "dm_db_stats_properties" => OF_TABLE,
            "dm_db_xtp_memory_consumers" => OR_NOTHING,
            "dm_db_xtp_table_memory_stats" => OR_READ,
            name => match state_of(name) {
                State::Server => VIEW_STATE,
                State::Database => VIEW_DATABASE_STATE,
                State::None => "",
            },
        },
    });
    statements.chain(procedures).chain(commands).chain(functions).chain(views)
}

/// Iterates over the names of all system procedures, except those of debug builds.
pub fn procedure_names() -> impl Iterator<Item = &'static str> {
    procedures::names()
}
