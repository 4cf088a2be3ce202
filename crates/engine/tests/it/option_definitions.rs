//! Options of DDL statements: tables, indexes, modules, sequences and databases. See
//! `option_rows.rs`.

use crate::option_rows::Does::{self, Nothing, RefusedIn, Shown};
use crate::option_rows::{ALONE, NO_FILES, NO_WORK, Place};

/// The places of options in DDL statements.
pub(crate) const DEFINITIONS: &[Place] = &[
    Place {
        name: "CREATE TABLE, column",
        template: "CREATE TABLE t (a int {})",
        tails: &[
            "",
            " NULL",
            " KEY",
            " (1, 1)",
            " (a > 0)",
            " 5",
            " b",
            " t (a)",
            " i",
            " FOR REPLICATION",
            " ALWAYS AS ROW START",
            " WITH (FUNCTION = 'default()')",
            " c UNIQUE",
        ],
        rows: &[
            ("CHECK", Shown("CHECK (")),
            ("COLLATE", Shown("COLLATE Latin1_General_BIN2")),
            ("CONSTRAINT", Shown("CONSTRAINT pk_h PRIMARY KEY")),
            ("DEFAULT", Shown("DEFAULT 5")),
            ("FILESTREAM", RefusedIn("CREATE TABLE t (a varbinary(max) FILESTREAM)")),
            ("FOREIGN KEY", Shown("FOREIGN KEY")),
            ("GENERATED ALWAYS AS ROW START, END", Shown("GENERATED ALWAYS AS ROW START")),
            ("HIDDEN", Shown("HIDDEN")),
            ("IDENTITY", Shown("IDENTITY(")),
            ("INDEX", Shown("INDEX ")),
            (
                "MASKED WITH (FUNCTION)",
                RefusedIn("CREATE TABLE t (a int MASKED WITH (FUNCTION = 'default()'))"),
            ),
            ("NOT FOR REPLICATION", Shown("IDENTITY NOT FOR REPLICATION")),
            ("NOT NULL", Shown("NOT NULL")),
            ("NULL", Shown(" NULL")),
            ("PRIMARY KEY", Shown("PRIMARY KEY")),
            ("REFERENCES", Shown("REFERENCES keyed (a) NOT FOR REPLICATION")),
            ("ROWGUIDCOL", Shown("ROWGUIDCOL")),
            ("SPARSE", Shown("SPARSE")),
            ("UNIQUE", Shown("UNIQUE")),
        ],
    },
    Place {
        name: "CREATE TABLE, other kinds of column and table",
        template: "",
        tails: ALONE,
        rows: &[
            ("AS expression PERSISTED", Shown("PERSISTED")),
            ("AS NODE, EDGE, FILETABLE", RefusedIn("CREATE TABLE t (a int) AS NODE")),
            (
                "COLUMN_SET FOR ALL_SPARSE_COLUMNS",
                RefusedIn(
                    "CREATE TABLE t (a int SPARSE NULL, s xml COLUMN_SET FOR ALL_SPARSE_COLUMNS)",
                ),
            ),
            ("CONNECTION", RefusedIn("CREATE TABLE t (a int, CONSTRAINT c CONNECTION (x TO y))")),
            ("FILESTREAM_ON", RefusedIn("CREATE TABLE t (a int) FILESTREAM_ON g")),
            ("ON filegroup", Shown("Invalid filegroup")),
            ("PERIOD FOR SYSTEM_TIME", Shown("PERIOD FOR SYSTEM_TIME")),
            ("TEXTIMAGE_ON", Shown("TEXTIMAGE_ON")),
        ],
    },
    Place {
        name: "CREATE TABLE, key",
        template: "CREATE TABLE t (a int NOT NULL, PRIMARY KEY {} (a))",
        tails: &["", " HASH", " COLUMNSTORE"],
        rows: &[
            ("CLUSTERED", Shown("UNIQUE CLUSTERED")),
            ("COLUMNSTORE", Shown("COLUMNSTORE")),
            ("HASH", Shown("HASH")),
            ("NONCLUSTERED", Shown("PRIMARY KEY NONCLUSTERED")),
            ("UNIQUE", Shown("UNIQUE CLUSTERED")),
            ("WITH options of indexes", Shown("HASH WITH (BUCKET_COUNT")),
            ("ON filegroup", Shown("Invalid filegroup")),
            ("NOT ENFORCED", RefusedIn("CREATE TABLE t (a int NOT NULL PRIMARY KEY NOT ENFORCED)")),
        ],
    },
    Place {
        name: "FOREIGN KEY",
        template: "CREATE TABLE t (a int REFERENCES u (a) ON DELETE {})",
        tails: &["", " ACTION", " NULL", " DEFAULT"],
        rows: &[
            ("CASCADE", Shown("ON DELETE CASCADE")),
            ("NO ACTION", Shown("NO ACTION")),
            ("SET NULL, SET DEFAULT", Shown("SET DEFAULT")),
            ("ON UPDATE", Shown("ON UPDATE CASCADE")),
            ("NOT FOR REPLICATION", Shown("REFERENCES keyed (a) NOT FOR REPLICATION")),
        ],
    },
    Place {
        name: "CREATE TABLE and CREATE TYPE, WITH",
        template: "",
        tails: ALONE,
        rows: &[
            ("DATA_COMPRESSION", Shown("CREATE TABLE heap (a int) WITH (DATA_COMPRESSION = PAGE)")),
            ("DURABILITY", Shown("DURABILITY = SCHEMA_ONLY")),
            ("MEMORY_OPTIMIZED", Shown("MEMORY_OPTIMIZED = ON")),
            (
                "SYSTEM_VERSIONING, HISTORY_TABLE, DATA_CONSISTENCY_CHECK",
                Shown("DATA_CONSISTENCY_CHECK"),
            ),
            (
                "HISTORY_RETENTION_PERIOD",
                RefusedIn(
                    "CREATE TABLE t (a int PRIMARY KEY, s datetime2 GENERATED ALWAYS AS ROW START NOT NULL, e datetime2 GENERATED ALWAYS AS ROW END NOT NULL, PERIOD FOR SYSTEM_TIME (s, e)) WITH (SYSTEM_VERSIONING = ON (HISTORY_RETENTION_PERIOD = 5 DAYS))",
                ),
            ),
            ("LEDGER", RefusedIn("CREATE TABLE t (a int) WITH (LEDGER = ON)")),
            ("XML_COMPRESSION", RefusedIn("CREATE TABLE t (a int) WITH (XML_COMPRESSION = ON)")),
        ],
    },
    Place {
        name: "ALTER TABLE",
        template: "CREATE TABLE t (a int); ALTER TABLE t {}",
        tails: &[
            " CHECK CONSTRAINT c",
            " NOCHECK CONSTRAINT c",
            " CONSTRAINT c",
            " TRIGGER x",
            "",
            " TO u",
            " (SYSTEM_VERSIONING = OFF)",
            " b int",
            " COLUMN a int",
            " PERIOD FOR SYSTEM_TIME",
            " c",
        ],
        rows: &[
            ("ADD", Shown("ALTER TABLE dbo.t ADD d int NULL")),
            ("ALTER COLUMN", Shown("ALTER COLUMN")),
            ("ALTER COLUMN ADD, DROP HIDDEN", Shown("DROP HIDDEN")),
            ("ALTER COLUMN ADD, DROP NOT FOR REPLICATION", Shown("DROP NOT FOR REPLICATION")),
            (
                "ALTER COLUMN ADD, DROP of other properties",
                RefusedIn("CREATE TABLE t (a int); ALTER TABLE t ALTER COLUMN a ADD SPARSE"),
            ),
            ("ALTER INDEX", Shown("ALTER INDEX pk_cache REBUILD WITH (BUCKET_COUNT = 2048)")),
            ("CHECK CONSTRAINT", Shown("CHECK CONSTRAINT")),
            ("DISABLE TRIGGER", Shown("DISABLE TRIGGER")),
            ("DROP", Shown("DROP COLUMN")),
            ("ENABLE TRIGGER", Shown("ENABLE TRIGGER")),
            ("NOCHECK CONSTRAINT", Shown("NOCHECK CONSTRAINT")),
            (
                "REBUILD [PARTITION] WITH",
                Shown("ALTER TABLE heap REBUILD WITH (DATA_COMPRESSION = NONE)"),
            ),
            ("SET (SYSTEM_VERSIONING)", Shown("SET (SYSTEM_VERSIONING = OFF)")),
            ("SWITCH", Shown("SWITCH PARTITION 2 TO s WITH (WAIT_AT_LOW_PRIORITY")),
            ("WITH CHECK, NOCHECK", Shown("WITH NOCHECK")),
            ("WITH VALUES", Shown("WITH VALUES")),
        ],
    },
    Place {
        name: "CREATE INDEX",
        template: "CREATE TABLE t (a int); CREATE {} INDEX i ON t (a)",
        tails: &["", " COLUMNSTORE"],
        rows: &[
            ("CLUSTERED", Shown("CREATE CLUSTERED COLUMNSTORE INDEX")),
            ("COLUMNSTORE", Shown("CREATE COLUMNSTORE INDEX")),
            ("NONCLUSTERED", Shown("CREATE NONCLUSTERED INDEX")),
            ("UNIQUE", Shown("CREATE UNIQUE INDEX")),
            ("ASC, DESC", Shown("DESC)")),
            ("INCLUDE", Shown("INCLUDE (")),
            (
                "ORDER of a columnstore",
                RefusedIn(
                    "CREATE TABLE t (a int); CREATE CLUSTERED COLUMNSTORE INDEX i ON t ORDER (a)",
                ),
            ),
            (
                "PRIMARY XML, XML, SPATIAL, FULLTEXT",
                RefusedIn("CREATE PRIMARY XML INDEX i ON t (a)"),
            ),
            ("WHERE", Shown("INDEX filtered (c) WHERE c > 500")),
            (
                "ON PARTITIONS",
                RefusedIn(
                    "CREATE TABLE t (a int); CREATE STATISTICS s ON t (a) WITH RESAMPLE ON PARTITIONS (1)",
                ),
            ),
        ],
    },
    Place {
        name: "Columnstore indexes, WITH",
        template: "",
        tails: ALONE,
        rows: &[
            ("COMPRESSION_DELAY", Shown("COMPRESSION_DELAY")),
            ("COMPRESS_ALL_ROW_GROUPS", Shown("COMPRESS_ALL_ROW_GROUPS")),
            ("DATA_COMPRESSION = COLUMNSTORE", Nothing("segments are compressed as they are")),
            (
                "DATA_COMPRESSION = COLUMNSTORE_ARCHIVE",
                RefusedIn(
                    "CREATE TABLE t (a int); CREATE CLUSTERED COLUMNSTORE INDEX i ON t WITH (DATA_COMPRESSION = COLUMNSTORE_ARCHIVE)",
                ),
            ),
            ("DROP_EXISTING", Shown("DROP_EXISTING = ON")),
            ("MAXDOP, ONLINE", Nothing(NO_WORK)),
        ],
    },
    Place {
        name: "ALTER INDEX",
        template: "CREATE TABLE t (a int); CREATE INDEX i ON t (a); ALTER INDEX i ON t {}",
        tails: &["", " (ALLOW_ROW_LOCKS = ON)", " WITH (LOB_COMPACTION = ON)"],
        rows: &[
            (
                "ABORT, PAUSE, RESUME",
                RefusedIn(
                    "CREATE TABLE t (a int); CREATE INDEX i ON t (a); ALTER INDEX i ON t PAUSE",
                ),
            ),
            ("DISABLE", Shown("ALTER INDEX ix_n ON goods DISABLE")),
            (
                "PAUSE",
                RefusedIn(
                    "CREATE TABLE t (a int); CREATE INDEX i ON t (a); ALTER INDEX i ON t PAUSE",
                ),
            ),
            ("REBUILD [PARTITION] WITH", Shown("ALTER INDEX i ON changed REBUILD WITH")),
            ("REORGANIZE WITH (LOB_COMPACTION)", Nothing("large values lie with their rows")),
            (
                "RESUME",
                RefusedIn(
                    "CREATE TABLE t (a int); CREATE INDEX i ON t (a); ALTER INDEX i ON t RESUME",
                ),
            ),
            ("SET", Shown("ALTER INDEX i ON changed SET (")),
        ],
    },
    Place {
        name: "DROP INDEX, WITH",
        template: "",
        tails: ALONE,
        rows: &[
            (
                "FILESTREAM_ON",
                RefusedIn(
                    "CREATE TABLE t (a int); CREATE CLUSTERED INDEX i ON t (a); DROP INDEX i ON t WITH (FILESTREAM_ON g)",
                ),
            ),
            ("MAXDOP, ONLINE", Nothing(NO_WORK)),
            ("MOVE TO", Shown("DROP INDEX cx ON mt WITH (MOVE TO ps (a)")),
        ],
    },
    Place {
        name: "CREATE and UPDATE STATISTICS, WITH",
        template: "CREATE TABLE t (a int); CREATE STATISTICS s ON t (a) WITH {}",
        tails: &[" 10 PERCENT"],
        rows: &[
            ("ALL, COLUMNS, INDEX", Nothing("statistics are as the rows are, at any time")),
            (
                "AUTO_DROP, MAXDOP, PAGECOUNT, PERSIST_SAMPLE_PERCENT, ROWCOUNT",
                Nothing("statistics are as the rows are, at any time"),
            ),
            ("FULLSCAN, RESAMPLE", Nothing("nothing is read for statistics; two of them are 1052")),
            (
                "INCREMENTAL",
                RefusedIn(
                    "CREATE TABLE t (a int); CREATE STATISTICS s ON t (a) WITH INCREMENTAL = ON",
                ),
            ),
            ("NORECOMPUTE", Shown("WITH FULLSCAN, NORECOMPUTE")),
            (
                "SAMPLE n PERCENT, ROWS",
                Nothing("nothing is read for statistics; two of them are 1052"),
            ),
            (
                "STATS_STREAM",
                RefusedIn(
                    "CREATE TABLE t (a int); CREATE STATISTICS s ON t (a) WITH STATS_STREAM = 0x01",
                ),
            ),
            (
                "WHERE",
                RefusedIn("CREATE TABLE t (a int); CREATE STATISTICS s ON t (a) WHERE a > 1"),
            ),
        ],
    },
    Place {
        name: "CREATE VIEW",
        template: "",
        tails: ALONE,
        rows: &[
            ("ENCRYPTION", Shown("CREATE VIEW hidden_view WITH ENCRYPTION")),
            ("SCHEMABINDING", Shown("CREATE VIEW bound_view WITH SCHEMABINDING")),
            ("VIEW_METADATA", Shown("CREATE VIEW opaque WITH VIEW_METADATA")),
            ("WITH CHECK OPTION", Shown("WITH CHECK OPTION")),
        ],
    },
    Place {
        name: "CREATE PROCEDURE, WITH",
        template: "CREATE PROCEDURE p WITH {} AS SELECT 1",
        tails: &["", " AS OWNER", " ON NULL INPUT", " NULL ON NULL INPUT", " = ON"],
        rows: &[
            (
                "CALLED ON NULL INPUT",
                RefusedIn("CREATE PROCEDURE p WITH CALLED ON NULL INPUT AS SELECT 1"),
            ),
            ("ENCRYPTION", Shown("CREATE PROCEDURE hidden WITH ENCRYPTION")),
            ("EXEC AS", Shown("WITH EXECUTE AS ")),
            ("EXECUTE AS", Shown("WITH EXECUTE AS ")),
            ("FOR REPLICATION", RefusedIn("CREATE PROCEDURE p FOR REPLICATION AS SELECT 1")),
            ("INLINE", RefusedIn("CREATE PROCEDURE p WITH INLINE = ON AS SELECT 1")),
            ("NATIVE_COMPILATION", Shown("WITH NATIVE_COMPILATION, SCHEMABINDING")),
            ("RECOMPILE", Shown("CREATE PROCEDURE compiled_each_time WITH RECOMPILE")),
            (
                "RETURNS NULL ON NULL INPUT",
                RefusedIn("CREATE PROCEDURE p WITH RETURNS NULL ON NULL INPUT AS SELECT 1"),
            ),
            ("SCHEMABINDING", Shown("NATIVE_COMPILATION, SCHEMABINDING")),
            (";number", RefusedIn("CREATE PROCEDURE p;2 AS SELECT 1")),
            ("CURSOR VARYING parameters", Shown("CURSOR VARYING OUTPUT")),
            ("OUT, OUTPUT, READONLY", Shown("READONLY")),
            ("EXTERNAL NAME", RefusedIn("CREATE PROCEDURE p AS EXTERNAL NAME a.b.c")),
        ],
    },
    Place {
        name: "BEGIN ATOMIC, WITH",
        template: "CREATE PROCEDURE p WITH NATIVE_COMPILATION, SCHEMABINDING AS BEGIN ATOMIC WITH ({}) SELECT 1 END",
        tails: &[" = ON", " = 7", " = mdy", " ISOLATION LEVEL = SNAPSHOT"],
        rows: &[
            ("DATEFIRST", Shown("DATEFIRST = 1")),
            ("DATEFORMAT", Shown("DATEFORMAT = dmy")),
            ("DELAYED_DURABILITY", Shown("DELAYED_DURABILITY = {option}) {body} END")),
            ("LANGUAGE", Shown("LANGUAGE = ")),
            ("TRANSACTION ISOLATION LEVEL", Shown("TRANSACTION ISOLATION LEVEL = SNAPSHOT")),
        ],
    },
    Place {
        name: "CREATE FUNCTION, WITH",
        template: "CREATE FUNCTION f() RETURNS int WITH {} AS BEGIN RETURN 1 END",
        tails: &["", " AS OWNER", " ON NULL INPUT", " NULL ON NULL INPUT", " = ON"],
        rows: &[
            ("CALLED ON NULL INPUT", Nothing("it is how functions are called")),
            ("ENCRYPTION", Shown("RETURNS int WITH ENCRYPTION")),
            ("EXEC AS", Shown("EXECUTE AS OWNER")),
            ("EXECUTE AS", Shown("EXECUTE AS OWNER")),
            (
                "INLINE",
                Nothing(
                    "guides the plan; no function is put in place of its call, as sys.sql_modules shows",
                ),
            ),
            (
                "NATIVE_COMPILATION",
                RefusedIn(
                    "CREATE FUNCTION f() RETURNS int WITH NATIVE_COMPILATION AS BEGIN RETURN 1 END",
                ),
            ),
            (
                "RECOMPILE",
                RefusedIn("CREATE FUNCTION f() RETURNS int WITH RECOMPILE AS BEGIN RETURN 1 END"),
            ),
            ("RETURNS NULL ON NULL INPUT", Shown("RETURNS NULL ON NULL INPUT")),
            ("SCHEMABINDING", Shown("RETURNS int WITH SCHEMABINDING")),
        ],
    },
    Place {
        name: "CREATE TRIGGER",
        template: "CREATE TRIGGER x ON t WITH {} FOR INSERT AS SELECT 1",
        tails: &["", " AS OWNER", " ON NULL INPUT", " NULL ON NULL INPUT", " = ON"],
        rows: &[
            ("AFTER, FOR, INSTEAD OF", Shown("INSTEAD OF")),
            (
                "CALLED ON NULL INPUT",
                RefusedIn(
                    "CREATE TABLE t (a int)\nGO\nCREATE TRIGGER x ON t WITH CALLED ON NULL INPUT FOR INSERT AS SELECT 1",
                ),
            ),
            ("ENCRYPTION", Shown("CREATE TRIGGER hidden_trigger ON t WITH ENCRYPTION")),
            ("EXEC AS", Shown("WITH EXECUTE AS ")),
            ("EXECUTE AS", Shown("WITH EXECUTE AS ")),
            (
                "INLINE",
                RefusedIn(
                    "CREATE TABLE t (a int)\nGO\nCREATE TRIGGER x ON t WITH INLINE = ON FOR INSERT AS SELECT 1",
                ),
            ),
            (
                "NATIVE_COMPILATION",
                RefusedIn(
                    "CREATE TABLE t (a int)\nGO\nCREATE TRIGGER x ON t WITH NATIVE_COMPILATION FOR INSERT AS SELECT 1",
                ),
            ),
            (
                "NOT FOR REPLICATION",
                Nothing("there are no agents of replication: sys.triggers shows it"),
            ),
            (
                "RECOMPILE",
                RefusedIn(
                    "CREATE TABLE t (a int)\nGO\nCREATE TRIGGER x ON t WITH RECOMPILE FOR INSERT AS SELECT 1",
                ),
            ),
            (
                "RETURNS NULL ON NULL INPUT",
                RefusedIn(
                    "CREATE TABLE t (a int)\nGO\nCREATE TRIGGER x ON t WITH RETURNS NULL ON NULL INPUT FOR INSERT AS SELECT 1",
                ),
            ),
            ("SCHEMABINDING", Nothing("asked for with NATIVE_COMPILATION, which is refused")),
            (
                "WITH APPEND",
                RefusedIn(
                    "CREATE TABLE t (a int)\nGO\nCREATE TRIGGER x ON t FOR INSERT WITH APPEND AS SELECT 1",
                ),
            ),
        ],
    },
    Place {
        name: "CREATE and ALTER SEQUENCE",
        template: "CREATE SEQUENCE s {}",
        tails: &["", " WITH 1", " BY 1", " 1", " int", " CYCLE"],
        rows: &[
            ("AS", Shown("CREATE SEQUENCE")),
            ("CACHE", Shown("CACHE")),
            ("CYCLE", Shown("CYCLE")),
            ("INCREMENT BY", Shown("INCREMENT BY")),
            ("MAXVALUE", Shown("MAXVALUE")),
            ("MINVALUE", Shown("MINVALUE")),
            ("NO CACHE, CYCLE, MAXVALUE, MINVALUE", Shown("NO CACHE")),
            ("RESTART", Shown("RESTART")),
            ("START WITH", Shown("START WITH")),
        ],
    },
    Place {
        name: "CREATE DATABASE",
        template: "CREATE DATABASE d {}",
        tails: &[
            "",
            " = NONE",
            " Latin1_General_BIN2",
            " (NAME = a, FILENAME = 'a')",
            " ON (NAME = a, FILENAME = 'a')",
            " ATTACH",
            " SNAPSHOT OF e",
            " TRUSTWORTHY OFF",
        ],
        rows: &[
            ("AS SNAPSHOT OF", RefusedIn("CREATE DATABASE d AS SNAPSHOT OF e")),
            ("COLLATE", Shown("CREATE DATABASE")),
            ("CONTAINMENT", RefusedIn("CREATE DATABASE d CONTAINMENT = PARTIAL")),
            ("FOR ATTACH", RefusedIn("CREATE DATABASE d FOR ATTACH")),
            ("LOG ON", Shown("LOG ON (NAME = l")),
            ("ON", Shown("ON PRIMARY (NAME = a")),
            ("WITH", Nothing("as ALTER DATABASE, SET")),
            (
                "FILEGROUP CONTAINS FILESTREAM",
                RefusedIn(
                    "CREATE DATABASE d ON PRIMARY (NAME = a, FILENAME = 'a'), FILEGROUP g CONTAINS FILESTREAM (NAME = b, FILENAME = 'b')",
                ),
            ),
            ("FILEGROUP CONTAINS MEMORY_OPTIMIZED_DATA [DEFAULT]", Nothing(NO_FILES)),
            (
                "FILEGROUP DEFAULT",
                RefusedIn(
                    "CREATE DATABASE d ON PRIMARY (NAME = a, FILENAME = 'a'), FILEGROUP g DEFAULT (NAME = b, FILENAME = 'b')",
                ),
            ),
            ("FILEGROWTH, MAXSIZE, SIZE", Shown("SIZE = 10MB, MAXSIZE = 1GB, FILEGROWTH = 5%")),
            ("FILENAME, NAME", Shown("FILENAME = 'a.mdf'")),
            (
                "OFFLINE",
                RefusedIn("CREATE DATABASE d ON PRIMARY (NAME = a, FILENAME = 'a', OFFLINE)"),
            ),
        ],
    },
    Place {
        name: "ALTER DATABASE",
        template: "ALTER DATABASE CURRENT {}",
        tails: &[
            "",
            " MULTI_USER",
            " Latin1_General_BIN2",
            " NAME = x",
            " FILE (NAME = a)",
            " FILEGROUP g",
            " FILE a",
        ],
        rows: &[
            ("ADD FILE, FILEGROUP", Nothing(NO_FILES)),
            ("COLLATE", Shown("COLLATE")),
            ("MODIFY FILE", RefusedIn("ALTER DATABASE CURRENT MODIFY FILE (NAME = a, SIZE = 5)")),
            ("MODIFY FILEGROUP", RefusedIn("ALTER DATABASE CURRENT MODIFY FILEGROUP g DEFAULT")),
            ("MODIFY NAME", Shown("MODIFY NAME")),
            ("REMOVE FILE, FILEGROUP", Nothing(NO_FILES)),
            ("SET", Nothing("see ALTER DATABASE, SET")),
            (
                "SET .. WITH NO_WAIT, ROLLBACK IMMEDIATE, ROLLBACK AFTER n SECONDS",
                Shown("WITH ROLLBACK IMMEDIATE"),
            ),
            ("SCOPED CONFIGURATION CLEAR PROCEDURE_CACHE", Shown("CLEAR PROCEDURE_CACHE")),
            ("SCOPED CONFIGURATION [FOR SECONDARY] SET", Shown("FOR SECONDARY SET MAXDOP")),
        ],
    },
    Place {
        name: "ALTER DATABASE, SET: options with an effect",
        template: "",
        tails: ALONE,
        rows: &[
            ("ALLOW_SNAPSHOT_ISOLATION", Does::Locks),
            ("COMPATIBILITY_LEVEL", Shown("COMPATIBILITY_LEVEL")),
            ("CONTAINMENT", RefusedIn("ALTER DATABASE CURRENT SET CONTAINMENT = PARTIAL")),
            ("CURSOR_DEFAULT", RefusedIn("ALTER DATABASE CURRENT SET CURSOR_DEFAULT LOCAL")),
            ("DISABLE_BROKER", Nothing("there is no broker")),
            (
                "FILESTREAM",
                RefusedIn("ALTER DATABASE CURRENT SET FILESTREAM (NON_TRANSACTED_ACCESS = FULL)"),
            ),
            ("MEMORY_OPTIMIZED_ELEVATE_TO_SNAPSHOT", Shown("MEMORY_OPTIMIZED_ELEVATE_TO_SNAPSHOT")),
            ("MULTI_USER, RESTRICTED_USER, SINGLE_USER", Shown("SET SINGLE_USER")),
            ("QUERY_STORE", Shown("SET QUERY_STORE = ON")),
            ("READ_COMMITTED_SNAPSHOT", Does::Locks),
            ("RECOVERY", Nothing("there is no log: sys.databases shows it")),
            (
                "TARGET_RECOVERY_TIME",
                Nothing(
                    "without a data folder there is nothing to recover: sys.databases shows it",
                ),
            ),
        ],
    },
];
