//! Every option, hint and keyword of a WITH clause that the parser accepts, by its place in a
//! statement: with a test of its effect, the reason why it has none, or a statement that error
//! 40517 refuses. docs/options.md is generated from it.
//!
//! Options with a separate registry are in `options.rs`: SET, table hints, query hints and options
//! of indexes.

/// The effect of an option.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Does {
    /// A test proves it: a script or a module of these tests contains this text.
    Shown(&'static str),
    /// ON is refused; OFF is the behaviour.
    OnRefused,
    /// Every value is refused.
    Refused,
    /// This batch, or the part after its last GO, is refused by name.
    RefusedIn(&'static str),
    /// This batch fails with this error number of SQL Server.
    Fails(i32, &'static str),
    /// It concerns locks and isolation: `locks.test` and the isolation tests prove it.
    Locks,
    /// It changes nothing here, for this reason.
    Nothing(&'static str),
}

use Does::{Nothing, RefusedIn, Shown};

use crate::option_definitions::DEFINITIONS;

/// An option and its effect.
pub(crate) type Row = (&'static str, Does);

/// A place of options in a statement.
pub(crate) struct Place {
    /// Name on the page.
    pub(crate) name: &'static str,
    /// A batch in which each word of the grammar is tried for `{}`: an accepted word must have a
    /// row. Empty if names are free and the engine has the list.
    pub(crate) template: &'static str,
    /// Text that may follow the word.
    pub(crate) tails: &'static [&'static str],
    /// Options of this place.
    pub(crate) rows: &'static [Row],
}

pub(crate) const ALONE: &[&str] = &[""];

/// Nothing has files or pages.
pub(crate) const NO_FILES: &str = "rows are in memory: the catalog shows it";
pub(crate) const NO_WORK: &str = "guides how the work is done, of which nothing is left to guide";

/// Places in queries and other statements.
const STATEMENTS: &[Place] = &[
    Place {
        name: "DECLARE CURSOR",
        template: "DECLARE c CURSOR {} FOR SELECT 1",
        tails: ALONE,
        rows: &[
            ("DYNAMIC", Shown("SCROLL DYNAMIC")),
            ("FAST_FORWARD", Shown("FAST_FORWARD")),
            ("FORWARD_ONLY", Shown("FORWARD_ONLY")),
            ("GLOBAL", Shown("CURSOR GLOBAL")),
            ("INSENSITIVE", Shown("INSENSITIVE")),
            ("KEYSET", Shown("CURSOR LOCAL KEYSET")),
            ("LOCAL", Shown("CURSOR LOCAL")),
            ("OPTIMISTIC", Shown("KEYSET OPTIMISTIC")),
            ("READ_ONLY", Shown("READ_ONLY")),
            ("SCROLL", Shown("CURSOR SCROLL")),
            ("SCROLL_LOCKS", Shown("KEYSET SCROLL_LOCKS")),
            ("STATIC", Shown("CURSOR LOCAL STATIC")),
            ("TYPE_WARNING", Shown("KEYSET TYPE_WARNING")),
            ("FOR READ ONLY, UPDATE OF", Shown("FOR UPDATE OF")),
        ],
    },
    Place {
        name: "FETCH",
        template: "FETCH {} FROM c",
        tails: &["", " 1"],
        rows: &[
            ("ABSOLUTE", Shown("FETCH ABSOLUTE")),
            ("FIRST", Shown("FETCH FIRST")),
            ("LAST", Shown("FETCH LAST")),
            ("NEXT", Shown("FETCH NEXT")),
            ("PRIOR", Shown("FETCH PRIOR")),
            ("RELATIVE", Shown("FETCH RELATIVE")),
        ],
    },
    Place {
        name: "Joins",
        template: "SELECT 1 FROM a AS x INNER {} JOIN b AS y ON 1 = 1",
        tails: ALONE,
        rows: &[
            ("HASH", Shown("HASH JOIN")),
            ("LOOP", Shown("LOOP JOIN")),
            ("MERGE", Shown("MERGE JOIN")),
            ("REMOTE", Nothing("no table is remote")),
        ],
    },
    Place {
        name: "TABLESAMPLE",
        template: "",
        tails: ALONE,
        rows: &[
            ("PERCENT, ROWS", Shown("TABLESAMPLE")),
            ("REPEATABLE", Shown("REPEATABLE (")),
            ("SYSTEM", Nothing("it is the one way to sample")),
        ],
    },
    Place {
        name: "TOP and OFFSET",
        template: "",
        tails: ALONE,
        rows: &[
            ("FETCH FIRST, NEXT n ROWS ONLY", Shown("ROWS ONLY")),
            ("PERCENT", Shown("PERCENT")),
            ("WITH TIES", Shown("WITH TIES")),
        ],
    },
    Place {
        name: "FOR",
        template: "SELECT 1 AS a FROM t FOR {}",
        tails: &["", " PATH", " AUTO"],
        rows: &[
            ("BROWSE", Shown("FOR BROWSE")),
            ("JSON AUTO, PATH", Shown("FOR JSON AUTO")),
            ("SYSTEM_TIME", Shown("FOR SYSTEM_TIME")),
            ("XML AUTO, EXPLICIT, PATH, RAW", Shown("FOR XML EXPLICIT")),
        ],
    },
    Place {
        name: "FOR XML",
        template: "SELECT 1 AS a FOR XML RAW, {}",
        tails: &["", " BASE64", " XSINIL"],
        rows: &[
            ("BINARY BASE64", Shown("BINARY BASE64")),
            ("ELEMENTS [ABSENT, XSINIL]", Shown("XSINIL")),
            ("ROOT", Shown(", ROOT")),
            ("TYPE", Shown(", TYPE")),
            ("XMLDATA", RefusedIn("SELECT 1 AS a FOR XML RAW, XMLDATA")),
            ("XMLSCHEMA", RefusedIn("SELECT 1 AS a FOR XML RAW, XMLSCHEMA")),
        ],
    },
    Place {
        name: "FOR JSON",
        template: "SELECT 1 AS a FOR JSON PATH, {}",
        tails: ALONE,
        rows: &[
            ("INCLUDE_NULL_VALUES", Shown("INCLUDE_NULL_VALUES")),
            ("ROOT", Shown(", ROOT")),
            ("WITHOUT_ARRAY_WRAPPER", Shown("WITHOUT_ARRAY_WRAPPER")),
        ],
    },
    Place {
        name: "EXECUTE, WITH",
        template: "EXEC p WITH {}",
        tails: &["", " SETS NONE"],
        rows: &[
            ("RECOMPILE", Nothing("plans are made for what the tables hold, not for arguments")),
            ("RESULT SETS", Shown("WITH RESULT SETS")),
            ("RESULT SETS NONE, UNDEFINED", Shown("RESULT SETS UNDEFINED")),
            ("AT, AT DATA_SOURCE", Does::Fails(7202, "EXEC ('SELECT 1') AT far")),
        ],
    },
    Place {
        name: "EXECUTE AS and REVERT",
        template: "EXECUTE AS USER = 'u' WITH {}",
        tails: &["", " REVERT", " INTO @c"],
        rows: &[
            ("COOKIE INTO", Shown("WITH COOKIE")),
            ("NO REVERT", Shown("WITH NO REVERT")),
            ("AS CALLER, OWNER, SELF", Shown("EXECUTE AS SELF")),
        ],
    },
    Place {
        name: "Transactions",
        template: "BEGIN TRAN x WITH {}",
        tails: &["", " 'x'"],
        rows: &[
            ("MARK", RefusedIn("BEGIN TRAN x WITH MARK")),
            ("BEGIN DISTRIBUTED TRANSACTION", RefusedIn("BEGIN DISTRIBUTED TRANSACTION")),
            ("COMMIT WITH (DELAYED_DURABILITY)", Shown("COMMIT WITH (DELAYED_DURABILITY = ON)")),
        ],
    },
    Place {
        name: "SET TRANSACTION ISOLATION LEVEL",
        template: "SET TRANSACTION ISOLATION LEVEL {}",
        tails: &["", " COMMITTED", " READ"],
        rows: &[
            ("READ COMMITTED, UNCOMMITTED", Does::Locks),
            ("REPEATABLE READ", Does::Locks),
            ("SERIALIZABLE", Does::Locks),
            ("SNAPSHOT", Does::Locks),
        ],
    },
    Place {
        name: "SET STATISTICS",
        template: "SET STATISTICS {} ON",
        tails: ALONE,
        rows: &[
            ("IO", Shown("SET STATISTICS IO ON")),
            ("PROFILE", Shown("SET STATISTICS PROFILE ON")),
            ("TIME", Shown("SET STATISTICS TIME ON")),
            ("XML", Shown("SET STATISTICS XML ON")),
        ],
    },
    Place {
        name: "RAISERROR, WITH",
        template: "RAISERROR ('x', 1, 1) WITH {}",
        tails: ALONE,
        rows: &[
            ("LOG", Shown("WITH LOG")),
            ("NOWAIT", Shown("WITH NOWAIT")),
            ("SETERROR", Shown("SETERROR")),
        ],
    },
    Place {
        name: "WAITFOR",
        template: "WAITFOR {} '00:00:00'",
        tails: ALONE,
        rows: &[
            ("DELAY", Shown("WAITFOR DELAY")),
            ("TIME", Shown("WAITFOR TIME")),
            ("(RECEIVE ..), TIMEOUT", RefusedIn("WAITFOR (RECEIVE * FROM q), TIMEOUT 100")),
        ],
    },
    Place {
        name: "KILL, RECONFIGURE, CHECKPOINT and SHUTDOWN",
        template: "KILL 5 WITH {}",
        tails: ALONE,
        rows: &[
            ("STATUSONLY", Shown("STATUSONLY")),
            (
                "CHECKPOINT duration",
                Nothing(
                    "a checkpoint rests while there are requests, and is as fast as it can be else",
                ),
            ),
            ("KILL QUERY NOTIFICATION, STATS JOB", RefusedIn("KILL STATS JOB 5")),
            ("SHUTDOWN WITH NOWAIT", Shown("SHUTDOWN WITH NOWAIT")),
            ("RECONFIGURE WITH OVERRIDE", Shown("RECONFIGURE WITH OVERRIDE")),
        ],
    },
    Place {
        name: "DBCC, WITH",
        template: "",
        tails: ALONE,
        rows: &[
            (
                "ALL_ERRORMSGS, DATA_PURITY, EXTENDED_LOGICAL_CHECKS, MAXDOP, PHYSICAL_ONLY, TABLOCK",
                Nothing("everything is checked, all errors are reported"),
            ),
            ("COUNT_ROWS", Nothing("rows are counted as they come and go")),
            ("DENSITY_VECTOR, HISTOGRAM, STAT_HEADER", Shown("STAT_HEADER")),
            ("ESTIMATEONLY", RefusedIn("DBCC CHECKDB WITH ESTIMATEONLY")),
            ("NO_INFOMSGS", Shown("NO_INFOMSGS")),
            ("TABLERESULTS", RefusedIn("DBCC OPENTRAN WITH TABLERESULTS")),
            ("any other", RefusedIn("DBCC FREEPROCCACHE WITH NO_SUCH")),
        ],
    },
    Place {
        name: "TRUNCATE TABLE, WITH",
        template: "",
        tails: ALONE,
        rows: &[("PARTITIONS", Shown("WITH (PARTITIONS (2, 4))"))],
    },
    Place {
        name: "BULK INSERT and OPENROWSET(BULK ..)",
        template: "",
        tails: ALONE,
        rows: &[
            ("BATCHSIZE", Shown("BATCHSIZE")),
            ("CHECK_CONSTRAINTS", Shown("CHECK_CONSTRAINTS")),
            ("CODEPAGE", Shown("CODEPAGE")),
            ("DATAFILETYPE", Shown("DATAFILETYPE")),
            (
                "ERRORFILE, FORMATFILE, DATA_SOURCE and others",
                RefusedIn("CREATE TABLE t (a int); BULK INSERT t FROM 'f' WITH (ERRORFILE = 'e')"),
            ),
            ("FIELDQUOTE", Shown("FIELDQUOTE")),
            ("FIELDTERMINATOR", Shown("FIELDTERMINATOR")),
            ("FIRE_TRIGGERS", Shown("FIRE_TRIGGERS")),
            ("FIRSTROW", Shown("FIRSTROW")),
            ("FORMAT", Shown("FORMAT = 'CSV'")),
            ("KEEPIDENTITY", Shown("KEEPIDENTITY")),
            ("KEEPNULLS", Shown("KEEPNULLS")),
            ("KILOBYTES_PER_BATCH, ROWS_PER_BATCH", Nothing(NO_WORK)),
            ("LASTROW", Shown("LASTROW")),
            ("MAXERRORS", Shown("MAXERRORS")),
            (
                "ORDER",
                Nothing("a hint about how the file is sorted: rows are sorted by nothing here"),
            ),
            ("ROWTERMINATOR", Shown("ROWTERMINATOR")),
            ("TABLOCK", Shown("TABLOCK, BATCHSIZE = 2")),
        ],
    },
    Place {
        name: "INSERT BULK",
        template: "",
        tails: ALONE,
        rows: &[
            ("ALLOW_ENCRYPTED_VALUE_MODIFICATIONS", Nothing("no column is encrypted")),
            ("CHECK_CONSTRAINTS, FIRE_TRIGGERS, KEEP_NULLS, ORDER, TABLOCK", Shown("KEEP_NULLS")),
            (
                "KEEP_IDENTITY",
                Nothing("an identity column that the list names keeps the values that come"),
            ),
            ("KILOBYTES_PER_BATCH, ROWS_PER_BATCH", Nothing(NO_WORK)),
        ],
    },
    Place {
        name: "CREATE and ALTER EVENT SESSION, WITH",
        template: "",
        tails: ALONE,
        rows: &[
            ("EVENT_RETENTION_MODE", Shown("EVENT_RETENTION_MODE")),
            ("MAX_DISPATCH_LATENCY", Shown("MAX_DISPATCH_LATENCY")),
            ("MAX_EVENT_SIZE, MEMORY_PARTITION_MODE", Shown("MEMORY_PARTITION_MODE")),
            ("MAX_MEMORY", Shown("MAX_MEMORY")),
            ("STARTUP_STATE, TRACK_CAUSALITY", Shown("TRACK_CAUSALITY")),
            ("STATE = START, STOP", Shown("STATE = START")),
        ],
    },
    Place {
        name: "GRANT, DENY and REVOKE",
        template: "GRANT SELECT ON t TO u {}",
        tails: &["", " GRANT OPTION", " dbo"],
        rows: &[
            ("AS", Shown("GRANT OPTION FOR")),
            ("CASCADE", Shown("CASCADE")),
            ("WITH GRANT OPTION", Shown("WITH GRANT OPTION")),
            ("GRANT OPTION FOR", Shown("GRANT OPTION FOR")),
        ],
    },
    Place {
        name: "Window and aggregate functions",
        template: "",
        tails: ALONE,
        rows: &[
            ("IGNORE NULLS, RESPECT NULLS", Shown("IGNORE NULLS")),
            ("ROWS, RANGE .. PRECEDING, FOLLOWING, UNBOUNDED", Shown("UNBOUNDED PRECEDING")),
            ("WITHIN GROUP", Shown("WITHIN GROUP")),
        ],
    },
    Place {
        name: "MERGE, INSERT and others",
        template: "",
        tails: ALONE,
        rows: &[
            ("MERGE WITH (hints), OUTPUT, OPTION", Shown("MERGE")),
            ("READTEXT HOLDLOCK", Shown("READTEXT")),
            ("SELECT INTO ON filegroup", Shown("INTO placed ON")),
            (
                "OPENQUERY, OPENDATASOURCE and OPENROWSET of a provider",
                Does::Fails(7202, "SELECT * FROM OPENQUERY(far, 'SELECT 1')"),
            ),
            (
                "BACKUP, RESTORE and other statements with options",
                RefusedIn("BACKUP DATABASE d TO DISK = 'x' WITH NO_CHECKSUM"),
            ),
        ],
    },
];

/// Returns all places: in DDL and in other statements.
pub(crate) fn places() -> impl Iterator<Item = &'static Place> {
    DEFINITIONS.iter().chain(STATEMENTS)
}

/// Words of the grammar that are no option and no part of one, or belong to logins and users, which
/// docs/permissions.md covers.
pub(crate) const GRAMMAR: &str = "\
    AND ANY APPLICATION APPLY ATOMIC AUDIT AUTHORIZATION BETWEEN BOTH BREAK BULK CALL CASE CAST CATCH \
    CHAR CHARACTER CLOSE COALESCE COMPUTE CONTAINED CONTAINSTABLE CONTENT CONTINUE CONVERSATION CONVERT \
    COUNTER CREATE CREDENTIAL CROSS CUBE CURRENT CURRENT_DATE CURRENT_TIME CURRENT_TIMESTAMP \
    CURRENT_USER DATA DATABASE DBCC DEALLOCATE DECLARE DELETE DENY DIALOG DISK DISTINCT DOCUMENT DOUBLE \
    DUMP ELSE ESCAPE EVENT EXCEPT EXISTS EXIT FN FREETEXT FREETEXTTABLE FROM FULL GET GOTO GROUPING \
    HASHED HAVING IDENTITYCOL IF IIF IN INNER INSERT INTERSECT IS JSON_ARRAY JSON_ARRAYAGG JSON_OBJECT \
    JSON_OBJECTAGG LEADING LEFT LIKE LINENO LOAD LOGIN MASTER MATCHED MAX MEMBER MUST_CHANGE NATIONAL \
    NULLIF OFF OFFSET OJ OLD_PASSWORD OPEN OPENXML OR OUTER OVER PARSE PASSWORD PIVOT PRECISION PRINT \
    PROC PROCEDURE PUBLIC RAISERROR RESTRICT RETURN REVOKE RIGHT ROLE ROLLUP RULE SAVE SCHEMA SCHEME \
    SECURITYAUDIT SEMANTICKEYPHRASETABLE SEMANTICSIMILARITYDETAILSTABLE SEMANTICSIMILARITYTABLE SEND \
    SENSITIVITY SEQUENCE SERVER SESSION SESSION_USER SETUSER SIGNATURE SOME SOURCE SPLIT STATISTICS SYMMETRIC \
    SYNONYM SYSTEM_USER TABLESAMPLE TARGET TEXT THEN THROW TOP TRAILING TRAN TRANSFER TRIM TRUNCATE TRY USED \
    TRY_CAST TRY_CONVERT TRY_PARSE TSEQUAL UNKNOWN UNLOCK UNPIVOT UPDATETEXT USER USING VALUE VIEW \
    WAITFOR WHEN WHILE WINDOW WITHOUT WORK WRITETEXT XMLNAMESPACES ZONE";
