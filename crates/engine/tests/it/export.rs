//! External tables: definitions, exports, what a failed export leaves behind, and row group
//! elimination.

use std::path::PathBuf;
use std::sync::Arc;
use std::sync::atomic::{AtomicU32, Ordering};

use engine::instance::ExecutionMode;
use engine::instance::Instance;
use engine::session::Session;

use crate::client::{batch, instance, login, run};
use crate::security::login_as;

/// A folder that is deleted when the test ends.
pub(crate) struct Folder(PathBuf);

impl Folder {
    pub(crate) fn new() -> Self {
        static NUMBER: AtomicU32 = AtomicU32::new(0);
        let number = NUMBER.fetch_add(1, Ordering::Relaxed);
        let name = format!("clearway-export-{}-{number}", std::process::id());
        let path = std::env::temp_dir().join(name);
        std::fs::create_dir(&path).unwrap();
        Self(path)
    }

    fn names(&self, below: &str) -> Vec<String> {
        let Ok(entries) = std::fs::read_dir(self.0.join(below)) else { return Vec::new() };
        let name = |entry: std::io::Result<std::fs::DirEntry>| entry.unwrap().file_name();
        let mut names: Vec<String> =
            entries.map(|entry| name(entry).to_string_lossy().into_owned()).collect();
        names.sort();
        names
    }
}

impl Drop for Folder {
    fn drop(&mut self) {
        let _ = std::fs::remove_dir_all(&self.0);
    }
}

fn rows(session: &mut Session, sql: &str) -> Vec<Vec<String>> {
    run(session, sql).sets.remove(0)
}

fn error(session: &mut Session, sql: &str) -> (i32, String) {
    let mut answer = batch(session, sql);
    assert_eq!(answer.errors.len(), 1, "{sql}: {:?}", answer.errors);
    let error = answer.errors.remove(0);
    (error.number, error.message.clone())
}

/// Returns an engine that may export into a folder, by the data source `out` and the file format
/// `pq` of the database `d`.
fn exporting(folder: &Folder) -> (Arc<Instance>, Session) {
    let instance = instance();
    let mut session = login(&instance);
    allow(&mut session, folder);
    (instance, session)
}

/// Allows a session to export into a folder, as [`exporting`] describes.
fn allow(session: &mut Session, folder: &Folder) {
    run(session, "CREATE DATABASE d");
    run(session, "USE d");
    run(session, "EXEC sp_configure 'allow polybase export', 1; RECONFIGURE");
    let source = format!(
        "CREATE EXTERNAL DATA SOURCE out WITH (LOCATION = 'file://{}')",
        folder.0.display()
    );
    run(session, &source);
    run(
        session,
        "CREATE EXTERNAL FILE FORMAT pq WITH (FORMAT_TYPE = PARQUET, \
         DATA_COMPRESSION = 'org.apache.hadoop.io.compress.SnappyCodec')",
    );
}

/// Creates the external table `f (id int, k int, v bigint)` over files with these numbers of rows,
/// and returns their paths. The session is in the database `d` afterwards.
pub(crate) fn make_files(session: &mut Session, folder: &Folder, rows: &[i64]) -> Vec<PathBuf> {
    allow(session, folder);
    std::fs::create_dir(folder.0.join("f")).unwrap();
    let (mut first, mut paths) = (1, Vec::new());
    for (number, count) in rows.iter().enumerate() {
        let name = format!("p{number}");
        let last = first + count - 1;
        let query = format!(
            "SELECT value AS id, value % 1000 AS k, CAST(value AS bigint) AS v FROM GENERATE_SERIES({first}, {last})"
        );
        run(session, &export(&name, &query));
        let path = folder.0.join(format!("f/{name}.parquet"));
        std::fs::rename(folder.0.join(&name).join(&folder.names(&name)[0]), &path).unwrap();
        paths.push(path);
        first += count;
    }
    run(
        session,
        "CREATE EXTERNAL TABLE f (id int, k int, v bigint) \
         WITH (LOCATION = 'f', DATA_SOURCE = out, FILE_FORMAT = pq)",
    );
    paths
}

/// Returns a CREATE EXTERNAL TABLE .. AS SELECT statement.
fn export(name: &str, query: &str) -> String {
    format!(
        "CREATE EXTERNAL TABLE {name} WITH (LOCATION = '{name}/', DATA_SOURCE = out, FILE_FORMAT = pq) AS {query}"
    )
}

/// A column of each type that files support: its type, and values for three rows besides a row of
/// NULLs.
const TYPES: &[(&str, [&str; 3])] = &[
    ("bit", ["0", "1", "1"]),
    ("tinyint", ["0", "255", "7"]),
    ("smallint", ["-32768", "32767", "0"]),
    ("int", ["-2147483648", "2147483647", "0"]),
    ("bigint", ["-9223372036854775808", "9223372036854775807", "0"]),
    ("decimal(9, 3)", ["-999999.999", "999999.999", "0"]),
    ("decimal(18, 0)", ["-999999999999999999", "999999999999999999", "1"]),
    (
        "decimal(38, 10)",
        [
            "-9999999999999999999999999999.9999999999",
            "9999999999999999999999999999.9999999999",
            "0.0000000001",
        ],
    ),
    ("money", ["-922337203685477.5808", "922337203685477.5807", "0.0001"]),
    ("smallmoney", ["-214748.3648", "214748.3647", "0.01"]),
    ("real", ["-3.4E+38", "1.18E-38", "0"]),
    ("float", ["-1.79E+308", "2.23E-308", "0.1"]),
    ("date", ["'0001-01-01'", "'9999-12-31'", "'1970-01-01'"]),
    ("time(7)", ["'00:00:00'", "'23:59:59.9999999'", "'12:34:56.1234567'"]),
    ("time(3)", ["'00:00:00'", "'23:59:59.999'", "'12:34:56.123'"]),
    ("datetime", ["'1753-01-01'", "'9999-12-31 23:59:59.997'", "'2026-01-02 03:04:05.003'"]),
    ("smalldatetime", ["'1900-01-01'", "'2079-06-06 23:59'", "'2026-01-02 03:04'"]),
    (
        "datetime2(6)",
        ["'0001-01-01'", "'9999-12-31 23:59:59.999999'", "'2026-01-02 03:04:05.000001'"],
    ),
    (
        "datetime2(7)",
        ["'1678-01-01'", "'2262-01-01 23:59:59.9999999'", "'2026-01-02 03:04:05.0000001'"],
    ),
    ("char(5)", ["'a'", "'abcde'", "''"]),
    ("varchar(20)", ["'é'", "''", "'a, b'"]),
    ("varchar(max)", ["REPLICATE(CAST('x' AS varchar(max)), 9000)", "''", "'é'"]),
    ("nchar(3)", ["N'ß'", "N'日本'", "N''"]),
    ("nvarchar(30)", ["N'日本語'", "N'😀'", "N''"]),
    ("nvarchar(4000)", ["REPLICATE(N'日', 4000)", "N'a'", "N''"]),
    ("nvarchar(max)", ["REPLICATE(CAST(N'日' AS nvarchar(max)), 5000)", "N'a'", "N''"]),
    ("binary(3)", ["0x000102", "0xFFFFFF", "0x"]),
    ("varbinary(9)", ["0x00", "0xFF00FF", "0x"]),
    (
        "varbinary(max)",
        ["CAST(REPLICATE(CAST('y' AS varchar(max)), 9000) AS varbinary(max))", "0x00", "0x"],
    ),
    (
        "uniqueidentifier",
        [
            "'00000000-0000-0000-0000-000000000000'",
            "'FFFFFFFF-FFFF-FFFF-FFFF-FFFFFFFFFFFF'",
            "'01234567-89AB-CDEF-0123-456789ABCDEF'",
        ],
    ),
];

/// Creates the table `src` with a column of each type.
fn make_types(session: &mut Session) {
    let columns: Vec<String> =
        TYPES.iter().enumerate().map(|(i, (ty, _))| format!("c{i} {ty} NULL")).collect();
    run(session, &format!("CREATE TABLE src (id int PRIMARY KEY, {})", columns.join(", ")));
    for row in 0..3 {
        let values: Vec<&str> = TYPES.iter().map(|(_, values)| values[row]).collect();
        run(session, &format!("INSERT src VALUES ({row}, {})", values.join(", ")));
    }
    run(session, "INSERT src (id) VALUES (3)");
}

#[test]
fn every_type_comes_back_as_it_was_in_either_mode_and_every_compression() {
    let folder = Folder::new();
    let (instance, mut session) = exporting(&folder);
    make_types(&mut session);
    let wanted = rows(&mut session, "SELECT * FROM src ORDER BY id");
    for (number, codec) in
        ["SnappyCodec", "GzipCodec", "ZStandardCodec", "Lz4Codec", ""].iter().enumerate()
    {
        let compression = match *codec {
            "" => String::new(),
            codec => format!(", DATA_COMPRESSION = 'org.apache.hadoop.io.compress.{codec}'"),
        };
        let format = format!(
            "CREATE EXTERNAL FILE FORMAT f{number} WITH (FORMAT_TYPE = PARQUET{compression})"
        );
        run(&mut session, &format);
        let sql =
            export(&format!("t{number}"), "SELECT * FROM src").replace("pq", &format!("f{number}"));
        assert_eq!(run(&mut session, &sql).counts, [4], "{codec}");
        for mode in [ExecutionMode::Row, ExecutionMode::Vector, ExecutionMode::Automatic] {
            instance.set_execution_mode(mode);
            let read = rows(&mut session, &format!("SELECT * FROM t{number} ORDER BY id"));
            assert_eq!(read, wanted, "{codec} {mode:?}");
        }
    }
    let types = "SELECT c.name, TYPE_NAME(c.system_type_id), c.max_length, c.precision, c.scale \
                 FROM sys.columns AS c WHERE c.object_id = OBJECT_ID('{}') ORDER BY c.column_id";
    let of = |session: &mut Session, name: &str| rows(session, &types.replace("{}", name));
    assert_eq!(of(&mut session, "t0"), of(&mut session, "src"));
}

#[test]
fn an_offset_is_kept_as_the_moment_in_utc() {
    let folder = Folder::new();
    let (_instance, mut session) = exporting(&folder);
    let sql = "SELECT CAST('2026-01-02 03:04:05.1234567 +05:30' AS datetimeoffset) AS at";
    run(&mut session, &export("o", sql));
    assert_eq!(rows(&mut session, "SELECT at FROM o"), [["2026-01-01 21:34:05.1234567 +00:00"]]);
}

#[test]
fn an_external_table_is_in_the_catalog_and_goes_without_its_files() {
    let folder = Folder::new();
    let (_instance, mut session) = exporting(&folder);
    run(&mut session, &export("a", "SELECT 1 AS x, N'y' AS y"));
    let sql = "SELECT t.name, t.type, s.name, f.name, t.location, f.data_compression \
               FROM sys.external_tables AS t JOIN sys.external_data_sources AS s ON s.data_source_id = t.data_source_id \
               JOIN sys.external_file_formats AS f ON f.file_format_id = t.file_format_id";
    let snappy = "org.apache.hadoop.io.compress.SnappyCodec";
    assert_eq!(rows(&mut session, sql), [["a", "U ", "out", "pq", "a/", snappy]]);
    let sql = "SELECT is_external FROM sys.tables WHERE name = 'a'";
    assert_eq!(rows(&mut session, sql), [["1"]]);
    assert_eq!(folder.names("a").len(), 1);
    assert_eq!(error(&mut session, "DROP EXTERNAL DATA SOURCE out").0, 3729);
    assert_eq!(error(&mut session, "DROP EXTERNAL FILE FORMAT pq").0, 3729);
    assert_eq!(error(&mut session, "DROP TABLE a").0, 3705);
    run(&mut session, "CREATE TABLE plain (a int)");
    assert_eq!(error(&mut session, "DROP EXTERNAL TABLE plain").0, 3705);
    run(&mut session, "DROP EXTERNAL TABLE a");
    assert_eq!(folder.names("a").len(), 1);
    assert_eq!(error(&mut session, "SELECT * FROM a").0, 208);
    assert_eq!(error(&mut session, "DROP EXTERNAL TABLE a").0, 3701);
    run(&mut session, "DROP EXTERNAL TABLE IF EXISTS a");
    let sql = "CREATE EXTERNAL TABLE again (y nvarchar(5), x bigint NULL) \
               WITH (LOCATION = 'a', DATA_SOURCE = out, FILE_FORMAT = pq)";
    run(&mut session, sql);
    assert_eq!(rows(&mut session, "SELECT x, y FROM again WHERE x = 1"), [["1", "y"]]);
    run(&mut session, "DROP EXTERNAL TABLE again");
    run(&mut session, "DROP EXTERNAL DATA SOURCE out; DROP EXTERNAL FILE FORMAT pq");
}

#[test]
fn a_folder_of_several_files_is_one_table() {
    let folder = Folder::new();
    let (_instance, mut session) = exporting(&folder);
    run(&mut session, &export("one", "SELECT 1 AS x, 'a' AS y"));
    run(&mut session, &export("two", "SELECT 2 AS x, 'b' AS y UNION ALL SELECT 3, NULL"));
    std::fs::create_dir(folder.0.join("both")).unwrap();
    for name in ["one", "two"] {
        let file = folder.0.join(name).join(&folder.names(name)[0]);
        std::fs::copy(file, folder.0.join("both").join(format!("{name}.parquet"))).unwrap();
    }
    std::fs::write(folder.0.join("both/_SUCCESS"), b"").unwrap();
    let sql = "CREATE EXTERNAL TABLE both (x int, y varchar(3)) \
               WITH (LOCATION = '/both/', DATA_SOURCE = out, FILE_FORMAT = pq)";
    run(&mut session, sql);
    let sql = "SELECT x, y FROM both ORDER BY x";
    assert_eq!(rows(&mut session, sql), [["1", "a"], ["2", "b"], ["3", "NULL"]]);
    // The error names a file with another type in the same column.
    run(&mut session, &export("three", "SELECT CAST(4 AS bigint) AS x, 'c' AS y"));
    let file = folder.0.join("three").join(&folder.names("three")[0]);
    std::fs::copy(file, folder.0.join("both/three.parquet")).unwrap();
    let (number, text) = error(&mut session, sql);
    assert_eq!((number, text.contains("three.parquet")), (15813, true), "{text}");
    std::fs::remove_dir_all(folder.0.join("both")).unwrap();
    assert_eq!(error(&mut session, sql).0, 4860);
    std::fs::create_dir(folder.0.join("both")).unwrap();
    assert_eq!(error(&mut session, sql).0, 16562);
}

#[test]
fn a_failed_export_leaves_neither_file_nor_folder_nor_table() {
    let folder = Folder::new();
    let (_instance, mut session) = exporting(&folder);
    let fails = "SELECT value, 10 / (5000 - value) AS q FROM GENERATE_SERIES(1, 10000)";
    assert_eq!(error(&mut session, &export("bad", fails)).0, 8134);
    assert_eq!(folder.names(""), [""; 0]);
    assert_eq!(rows(&mut session, "SELECT COUNT(*) FROM sys.external_tables"), [["0"]]);
    // The error for a value outside the file's type names its column and row.
    let late = "SELECT value, CASE WHEN value = 700 THEN CAST('9999-12-31' AS datetime2) END AS at FROM GENERATE_SERIES(1, 1000)";
    let (number, text) = error(&mut session, &export("bad", late));
    assert_eq!(number, 15813);
    assert!(text.contains("column at") && text.contains("row 699"), "{text}");
    assert_eq!(folder.names(""), [""; 0]);
    // Existing folders stay, as do those above.
    std::fs::create_dir(folder.0.join("bad")).unwrap();
    assert_eq!(error(&mut session, &export("bad", fails)).0, 8134);
    assert_eq!((folder.names(""), folder.names("bad")), (vec!["bad".to_owned()], Vec::new()));
    std::fs::write(folder.0.join("bad/x"), b"").unwrap();
    assert_eq!(error(&mut session, &export("bad", "SELECT 1 AS x")).0, 15842);
    // A name in use is detected before anything is written.
    run(&mut session, "CREATE TABLE taken (a int)");
    assert_eq!(error(&mut session, &export("taken", "SELECT 1 AS x")).0, 2714);
    assert_eq!(folder.names(""), ["bad"]);
}

#[test]
fn a_folder_that_cannot_be_made_is_one_error() {
    let folder = Folder::new();
    let (_instance, mut session) = exporting(&folder);
    std::fs::write(folder.0.join("file"), b"").unwrap();
    let sql = export("t", "SELECT 1 AS x").replace("'t/'", "'file/t/'");
    let (number, text) = error(&mut session, &sql);
    assert_eq!((number, text.contains("can't be written")), (15813, true), "{text}");
    let source = "CREATE EXTERNAL DATA SOURCE full_device WITH (LOCATION = '/dev/full')";
    run(&mut session, source);
    let sql = export("t", "SELECT 1 AS x").replace("out", "full_device");
    assert_eq!(error(&mut session, &sql).0, 15813);
}

#[test]
fn what_an_export_needs_is_asked_for_by_name() {
    let folder = Folder::new();
    let (_instance, mut session) = exporting(&folder);
    let create = |with: &str| format!("CREATE EXTERNAL TABLE t WITH ({with}) AS SELECT 1 AS x");
    let all = "LOCATION = 't', DATA_SOURCE = out, FILE_FORMAT = pq";
    for (with, number) in [
        ("LOCATION = 't', DATA_SOURCE = out", 46505),
        ("LOCATION = 't', DATA_SOURCE = nowhere, FILE_FORMAT = pq", 46501),
        ("LOCATION = 't', DATA_SOURCE = out, FILE_FORMAT = nothing", 46501),
        ("LOCATION = '../t', DATA_SOURCE = out, FILE_FORMAT = pq", 46504),
        ("LOCATION = 't', DATA_SOURCE = out, FILE_FORMAT = pq, REJECT_TYPE = VALUE", 40517),
    ] {
        assert_eq!(error(&mut session, &create(with)).0, number, "{with}");
    }
    assert_eq!(error(&mut session, &export("t", "SELECT CAST(1 AS sql_variant) AS v")).0, 46518);
    assert_eq!(error(&mut session, &export("t", "SELECT 1")).0, 1038);
    assert_eq!(error(&mut session, &export("t", "SELECT 1 AS a, 2 AS a")).0, 2705);
    run(&mut session, "BEGIN TRAN");
    assert_eq!(error(&mut session, &export("t", "SELECT 1 AS x")).0, 226);
    run(&mut session, "ROLLBACK");
    run(&mut session, "EXEC sp_configure 'allow polybase export', 0; RECONFIGURE");
    assert_eq!(error(&mut session, &create(all)).0, 46914);
    assert_eq!(folder.names(""), [""; 0]);
    for (sql, number) in [
        ("CREATE EXTERNAL DATA SOURCE out WITH (LOCATION = '/x')", 46502),
        ("CREATE EXTERNAL DATA SOURCE s3 WITH (LOCATION = 's3://host/bucket')", 40517),
        ("CREATE EXTERNAL DATA SOURCE s3 WITH (LOCATION = '/x', PUSHDOWN = ON)", 40517),
        ("CREATE EXTERNAL FILE FORMAT pq WITH (FORMAT_TYPE = PARQUET)", 46502),
        ("CREATE EXTERNAL FILE FORMAT csv WITH (FORMAT_TYPE = DELIMITEDTEXT)", 40517),
        (
            "CREATE EXTERNAL FILE FORMAT p WITH (FORMAT_TYPE = PARQUET, DATA_COMPRESSION = 'x')",
            46508,
        ),
        (
            "CREATE EXTERNAL TABLE t (x xml) WITH (LOCATION = 't', DATA_SOURCE = out, FILE_FORMAT = pq)",
            46518,
        ),
    ] {
        assert_eq!(error(&mut session, sql).0, number, "{sql}");
    }
}

#[test]
fn nobody_changes_an_external_table() {
    let folder = Folder::new();
    let (_instance, mut session) = exporting(&folder);
    run(&mut session, &export("e", "SELECT 1 AS x"));
    run(&mut session, "CREATE TABLE t (x int)");
    for sql in [
        "INSERT e VALUES (2)",
        "INSERT e SELECT 2",
        "UPDATE e SET x = 2",
        "UPDATE f SET x = 2 FROM t JOIN e AS f ON f.x = t.x",
        "DELETE FROM e WHERE x = 1",
        "MERGE e USING t ON t.x = e.x WHEN MATCHED THEN DELETE;",
        "TRUNCATE TABLE e",
        "INSERT t OUTPUT inserted.x INTO e VALUES (1)",
        "BULK INSERT e FROM '/no/such/file'",
    ] {
        assert_eq!(error(&mut session, sql).0, 46519, "{sql}");
    }
    for sql in ["ALTER TABLE e ADD y int", "CREATE INDEX i ON e (x)", "ALTER TABLE e REBUILD"] {
        assert_eq!(error(&mut session, sql).0, 46518, "{sql}");
    }
    assert_eq!(error(&mut session, "CREATE TRIGGER g ON e AFTER INSERT AS RETURN").0, 8197);
    assert_eq!(rows(&mut session, "SELECT x FROM e"), [["1"]]);
}

#[test]
fn exports_need_permissions_and_reading_needs_select_only() {
    let folder = Folder::new();
    let (instance, mut owner) = exporting(&folder);
    run(&mut owner, &export("e", "SELECT 1 AS x, 2 AS y"));
    run(&mut owner, "CREATE LOGIN poor WITH PASSWORD = 'Secret-1'; CREATE USER poor");
    let mut poor = login_as(&instance, "poor");
    run(&mut poor, "USE d");
    assert_eq!(error(&mut poor, "SELECT x FROM e").0, 229);
    run(&mut owner, "GRANT SELECT ON e (x) TO poor");
    assert_eq!(rows(&mut poor, "SELECT x FROM e"), [["1"]]);
    assert_eq!(error(&mut poor, "SELECT y FROM e").0, 230);
    let sql = export("mine", "SELECT 1 AS x");
    for permission in
        ["CREATE TABLE", "ALTER ANY EXTERNAL DATA SOURCE", "ALTER ANY EXTERNAL FILE FORMAT"]
    {
        assert_eq!(error(&mut poor, &sql).0, 262, "{permission}");
        run(&mut owner, &format!("GRANT {permission} TO poor"));
    }
    assert_eq!(error(&mut poor, &sql).0, 4834);
    run(&mut owner, "GRANT ADMINISTER DATABASE BULK OPERATIONS TO poor");
    assert_eq!(error(&mut poor, &sql).0, 2760);
    run(&mut owner, "GRANT ALTER ON SCHEMA::dbo TO poor");
    run(&mut poor, &sql);
    // A data source may be any folder of the server, so it needs the permission for files.
    let source = "CREATE EXTERNAL DATA SOURCE other WITH (LOCATION = '/')";
    assert_eq!(error(&mut poor, source).0, 4834);
    run(&mut owner, "USE master; GRANT ADMINISTER BULK OPERATIONS TO poor");
    run(&mut poor, source);
}

#[test]
fn row_groups_that_no_row_can_match_in_are_passed_over() {
    let folder = Folder::new();
    let (instance, mut session) = exporting(&folder);
    // Three row groups: each has 262,144 rows.
    let series = "SELECT value AS id, value / 1000 AS k, CAST(value AS decimal(12, 2)) AS d, \
                  DATEADD(second, value, CAST('2020-01-01' AS datetime2(0))) AS at, \
                  CAST(FORMATMESSAGE('%08d', value) AS varchar(8)) COLLATE Latin1_General_100_BIN2_UTF8 AS s \
                  FROM GENERATE_SERIES(0, 599999)";
    run(&mut session, &export("g", series));
    for (condition, count, read) in [
        ("id < 0", 0, 0),
        ("id = 262144", 1, 1),
        ("id >= 262143", 337_857, 3),
        ("id > 262143 AND id < 262150", 6, 1),
        ("id IN (1, 599999)", 2, 2),
        ("id BETWEEN 300000 AND 300001 OR k = 599", 1_002, 2),
        ("d = 7.00", 1, 1),
        ("at >= '2020-01-07'", 81_600, 2),
        ("s = '00000005'", 1, 1),
        ("s > '0059'", 10_000, 1),
        ("id <> 5", 599_999, 3),
        ("k IS NULL", 0, 3),
        ("id = NULL", 0, 0),
        ("5 = id", 1, 1),
        ("id % 2 = 3", 0, 3),
    ] {
        for mode in [ExecutionMode::Row, ExecutionMode::Vector] {
            instance.set_execution_mode(mode);
            let sql = format!("SET STATISTICS IO ON; SELECT COUNT(*) FROM g WHERE {condition}");
            let answer = run(&mut session, &sql);
            assert_eq!(answer.sets[0], [[count.to_string()]], "{condition} {mode:?}");
            let text = answer.messages.iter().find(|m| m.number == 3653);
            let segments =
                format!("Table 'g'. Segment reads {read}, segment skipped {}.", 3 - read);
            match text {
                Some(text) => assert_eq!(text.message, segments, "{condition}"),
                // The optimizer already knows that there is no row.
                None => assert_eq!((count, read), (0, 0), "{condition}"),
            }
        }
    }
    let sql =
        "SET STATISTICS IO ON; DECLARE @id bigint = 300000; SELECT COUNT(*) FROM g WHERE id = @id";
    let answer = run(&mut session, sql);
    assert!(
        answer.messages.iter().any(|m| m.message.contains("Segment reads 1, segment skipped 2"))
    );
    run(&mut session, "SET STATISTICS IO OFF; SET STATISTICS XML ON");
    let answer = run(&mut session, "SELECT COUNT(*) FROM g WHERE id = 5");
    let xml = &answer.sets[1][0][0];
    assert!(xml.contains("SegmentReads=\"1\" SegmentSkips=\"2\""), "{xml}");
}

#[test]
fn a_cancelled_export_leaves_nothing() {
    let folder = Folder::new();
    let (_instance, mut session) = exporting(&folder);
    let cancel = Arc::clone(session.cancel());
    let long = "SELECT a.value AS x, b.value AS y FROM GENERATE_SERIES(1, 100000) AS a CROSS JOIN GENERATE_SERIES(1, 100000) AS b";
    let (mut session, answer) = std::thread::scope(|scope| {
        let exporting = scope.spawn(move || {
            let answer = batch(&mut session, &export("long", long));
            (session, answer)
        });
        // The file exists while it is being written; then the export is cancelled.
        while folder.names("long").is_empty() {
            assert!(!exporting.is_finished(), "the export goes on for hours");
            std::thread::yield_now();
        }
        cancel.set();
        exporting.join().unwrap()
    });
    assert!(answer.errors.is_empty() && answer.counts.is_empty(), "{answer:?}");
    session.cancel().clear();
    assert_eq!(folder.names(""), [""; 0]);
    assert_eq!(rows(&mut session, "SELECT COUNT(*) FROM sys.external_tables"), [["0"]]);
}
