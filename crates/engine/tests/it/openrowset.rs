//! OPENROWSET(BULK ..): Parquet files of `parquet_io`'s tests, whose rows are those that DuckDB
//! reads, and plain files.

use std::path::Path;

use engine::instance::ExecutionMode;
use engine::session::Session;

use crate::client::{File, batch, instance, login, run, sets};
use crate::security::login_as;

/// Returns the path of one of the Parquet files.
fn parquet(name: &str) -> String {
    let data = Path::new(env!("CARGO_MANIFEST_DIR")).join("../parquet_io/tests/data");
    data.join(name).display().to_string()
}

/// Returns the FROM clause for one of the Parquet files.
fn source(name: &str) -> String {
    format!("OPENROWSET(BULK '{}', FORMAT = 'PARQUET')", parquet(name))
}

/// Returns columns of the rows that DuckDB reads from the files of this name.
fn expected(name: &str, columns: &[usize]) -> Vec<Vec<String>> {
    let text = std::fs::read_to_string(parquet(name)).unwrap();
    let field = |field: &str| if field == "\\N" { "NULL".to_owned() } else { field.to_owned() };
    let row = |line: &str| {
        let fields: Vec<&str> = line.split('\t').collect();
        columns.iter().map(|column| field(fields[*column])).collect()
    };
    text.lines().map(row).collect()
}

fn session() -> Session {
    let mut session = login(&instance());
    run(&mut session, "CREATE DATABASE d");
    run(&mut session, "USE d");
    session
}

fn rows(session: &mut Session, sql: &str) -> Vec<Vec<String>> {
    sets(session, sql).remove(0)
}

fn error(session: &mut Session, sql: &str) -> (i32, String) {
    let mut answer = batch(session, sql);
    assert_eq!(answer.errors.len(), 1, "{sql}: {:?}", answer.errors);
    let error = answer.errors.remove(0);
    (error.number, error.message.clone())
}

#[test]
fn rows_are_those_that_duckdb_reads_in_either_mode() {
    for mode in [ExecutionMode::Row, ExecutionMode::Vector, ExecutionMode::Automatic] {
        let instance = instance();
        instance.set_execution_mode(mode);
        let mut session = login(&instance);
        let sql = format!("SELECT i, b, v, u, d FROM {} AS f", source("duckdb_v1.parquet"));
        let read: Vec<Vec<String>> = rows(&mut session, &sql)
            .into_iter()
            .map(|row| row.into_iter().map(|value| lower_guid(&value)).collect())
            .collect();
        assert_eq!(read, expected("duckdb.rows", &[0, 1, 2, 3, 4]), "{mode:?}");
        let sql = format!(
            "SELECT COUNT(*), SUM(b), COUNT(v) FROM {} AS f WHERE i % 2 = 0 AND o = 0",
            source("duckdb_v2.parquet")
        );
        // Even numbers to 1098 and 31 times their sum; those with a text are no multiples of 5.
        assert_eq!(rows(&mut session, &sql), [["550", "9360450", "440"]], "{mode:?}");
    }
}

fn lower_guid(text: &str) -> String {
    if text.len() == 36 { text.to_lowercase() } else { text.to_owned() }
}

#[test]
fn a_file_is_joined_aliased_counted_and_loaded() {
    let mut session = session();
    let file = source("keys_plain.parquet");
    run(&mut session, "CREATE TABLE t (id int PRIMARY KEY, name nvarchar(20) NOT NULL, x float)");
    run(&mut session, &format!("INSERT t SELECT id, name, x FROM {file} AS f"));
    assert_eq!(
        rows(&mut session, "SELECT COUNT(*), MIN(id), MAX(id), MAX(x) FROM t"),
        [["1100", "0", "1099", "1648.5"]]
    );
    let sql = format!(
        "SELECT TOP (2) t.id, f.n FROM t JOIN {file} AS f (k, b, n) ON f.k = t.id WHERE t.id > 7 ORDER BY t.id"
    );
    assert_eq!(error(&mut session, &sql).0, 8158);
    let sql = format!(
        "SELECT TOP (2) t.id, f.n FROM t JOIN {file} AS f (k, b, n, o, x) ON f.k = t.id WHERE t.id > 7 ORDER BY t.id"
    );
    assert_eq!(rows(&mut session, &sql), [["8", "name 8"], ["9", "name 9"]]);
    assert_eq!(rows(&mut session, &format!("SELECT COUNT(*) FROM {file} AS f")), [["1100"]]);
    let sql = format!("SELECT id INTO #copy FROM {file} AS f; SELECT SUM(id) FROM #copy");
    assert_eq!(sets(&mut session, &sql).concat(), [["604450"]]);
    let sql = format!(
        "SELECT COUNT(*) FROM t WHERE EXISTS (SELECT 1 FROM {file} AS f WHERE f.id = t.id + 1)"
    );
    assert_eq!(rows(&mut session, &sql), [["1099"]]);
}

#[test]
fn with_names_columns_and_types() {
    let mut session = session();
    let file = source("types_snappy.parquet");
    let sql = format!(
        "SELECT TOP (3) a, b, S FROM {file} WITH (S nvarchar(30), i32 bigint, d varchar(10)) AS f (S, a, b)"
    );
    let wanted = expected("types.rows", &[5, 15, 11]);
    assert_eq!(rows(&mut session, &sql), wanted[..3]);
    let sql = format!("SELECT * FROM {file} WITH (nothing int) AS f");
    assert_eq!(error(&mut session, &sql).0, 207);
    let sql = format!("SELECT * FROM {file} WITH (d int) AS f");
    let (number, text) = error(&mut session, &sql);
    assert_eq!(number, 15814, "{text}");
    let sql = format!("SELECT * FROM {file} WITH (s varchar(3)) AS f");
    assert!([2628, 8152].contains(&error(&mut session, &sql).0));
    let nested = source("nested.parquet");
    let (number, text) = error(&mut session, &format!("SELECT id FROM {nested} AS f"));
    assert_eq!((number, text.contains("list")), (15815, true), "{text}");
    let sql = format!("SELECT * FROM {nested} WITH (id int, name varchar(9)) AS f");
    assert_eq!(rows(&mut session, &sql), [["1", "x"], ["2", "y"], ["3", "z"]]);
}

#[test]
fn strings_of_a_file_are_utf_8_and_longer_ones_need_max() {
    let mut session = session();
    let file = source("types_zstd.parquet");
    let sql = format!(
        "SELECT TOP (2) s, UNICODE(SUBSTRING(s, 9, 1)) FROM {file} AS f WHERE s LIKE 'wert 1 %'"
    );
    assert_eq!(rows(&mut session, &sql)[0][0], expected("types.rows", &[11])[1][0]);
    let sql = format!(
        "SELECT s FROM {file} WITH (s varchar(max) COLLATE Latin1_General_100_CI_AS_SC_UTF8) AS f"
    );
    assert_eq!(rows(&mut session, &sql), expected("types.rows", &[11]));
}

#[test]
fn a_damaged_file_loads_nothing_and_says_where() {
    let mut session = session();
    run(&mut session, "CREATE TABLE t (id int, name varchar(20))");
    let mut bytes = std::fs::read(parquet("keys_plain.parquet")).unwrap();
    // The offset of the single page of the column name.
    bytes[12_000..12_064].fill(0xFF);
    let file = File::new("damaged.parquet", &bytes);
    let sql = format!(
        "INSERT t SELECT id, name FROM OPENROWSET(BULK '{}', FORMAT = 'PARQUET') AS f",
        file.0.display()
    );
    let (number, text) = error(&mut session, &sql);
    assert_eq!(number, 15813);
    assert!(text.contains("column name, row group 0, page"), "{text}");
    assert!(text.contains("damaged.parquet"), "{text}");
    assert_eq!(rows(&mut session, "SELECT COUNT(*) FROM t"), [["0"]]);
    let cut = File::new("cut.parquet", &bytes[..bytes.len() - 9]);
    let sql =
        format!("SELECT * FROM OPENROWSET(BULK '{}', FORMAT = 'PARQUET') AS f", cut.0.display());
    assert_eq!(error(&mut session, &sql).0, 15813);
    let folder = std::env::temp_dir();
    let sql =
        format!("SELECT * FROM OPENROWSET(BULK '{}', FORMAT = 'PARQUET') AS f", folder.display());
    assert_eq!(error(&mut session, &sql).0, 4861);
}

#[test]
fn another_file_under_the_name_is_seen_by_the_next_execution() {
    let mut session = session();
    let plain = std::fs::read(parquet("keys_plain.parquet")).unwrap();
    let file = File::new("changes.parquet", &plain);
    let sql = format!(
        "CREATE PROCEDURE p AS SELECT COUNT(*) FROM OPENROWSET(BULK '{}', FORMAT = 'PARQUET') AS f",
        file.0.display()
    );
    run(&mut session, &sql);
    assert_eq!(rows(&mut session, "EXEC p"), [["1100"]]);
    std::fs::copy(parquet("nested.parquet"), &file.0).unwrap();
    assert_eq!(error(&mut session, "EXEC p").0, 15815);
    std::fs::copy(parquet("types_none.parquet"), &file.0).unwrap();
    assert_eq!(rows(&mut session, "EXEC p"), [["60"]]);
}

#[test]
fn a_whole_file_is_one_value() {
    let mut session = session();
    let bytes = File::new("bytes", &[0, 1, 0xFF]);
    let wide: Vec<u8> =
        [0xFEFF].into_iter().chain("añ€".encode_utf16()).flat_map(u16::to_le_bytes).collect();
    let wide = File::new("wide", &wide);
    let text = File::new("text", b"line\r\nline");
    let one = |file: &File, option: &str| {
        format!("SELECT BulkColumn FROM OPENROWSET(BULK N'{}', {option}) AS f", file.0.display())
    };
    let sql =
        one(&bytes, "SINGLE_BLOB").replace("BulkColumn", "CONVERT(varchar(20), BulkColumn, 1)");
    assert_eq!(rows(&mut session, &sql), [["0x0001FF"]]);
    assert_eq!(rows(&mut session, &one(&wide, "SINGLE_NCLOB")), [["añ€"]]);
    assert_eq!(rows(&mut session, &one(&text, "SINGLE_CLOB")), [["line\r\nline"]]);
    assert_eq!(error(&mut session, &one(&wide, "SINGLE_CLOB")).0, 4806);
    assert_eq!(error(&mut session, &one(&text, "SINGLE_NCLOB")).0, 4809);
    let sql = format!(
        "CREATE TABLE t (name varchar(20), doc varbinary(max)); \
         INSERT t SELECT 'bytes', * FROM OPENROWSET(BULK '{}', SINGLE_BLOB) AS f; SELECT DATALENGTH(doc) FROM t",
        bytes.0.display()
    );
    assert_eq!(sets(&mut session, &sql).concat(), [["3"]]);
}

#[test]
fn reading_files_needs_a_permission() {
    let instance = instance();
    let mut owner = login(&instance);
    run(&mut owner, "CREATE LOGIN poor WITH PASSWORD = 'Secret-1'");
    let mut poor = login_as(&instance, "poor");
    let sql = format!("SELECT COUNT(*) FROM {} AS f", source("keys_plain.parquet"));
    assert_eq!(error(&mut poor, &sql).0, 4834);
    assert_eq!(error(&mut poor, "BULK INSERT #t FROM 'rows.txt'").0, 4834);
    run(&mut owner, "GRANT ADMINISTER BULK OPERATIONS TO poor");
    assert_eq!(rows(&mut poor, &sql), [["1100"]]);
    run(&mut owner, "REVOKE ADMINISTER BULK OPERATIONS FROM poor");
    assert_eq!(error(&mut poor, &sql).0, 4834);
    run(&mut owner, "ALTER SERVER ROLE bulkadmin ADD MEMBER poor");
    assert_eq!(rows(&mut poor, &sql), [["1100"]]);
}

#[test]
fn text_files_are_read_with_columns_types_and_places() {
    let instance = instance();
    let mut session = login(&instance);
    let bytes = "id,name,at\r\n1,\"a, \"\"b\"\"\",2026-01-02\r\n2,,\r\n3,\"é\r\nü\",2026-03-04\r\n";
    let file = File::new("text.csv", bytes.as_bytes());
    let source = |more: &str, with: &str| {
        format!("OPENROWSET(BULK '{}', FORMAT = 'CSV'{more}) {with} AS f", file.0.display())
    };
    let with = "WITH (id int, name nvarchar(20), at date)";
    let text = source(", FIRSTROW = 2, CODEPAGE = '65001'", with);
    for mode in [ExecutionMode::Row, ExecutionMode::Vector] {
        instance.set_execution_mode(mode);
        assert_eq!(
            rows(&mut session, &format!("SELECT id, name, at FROM {text}")),
            [["1", "a, \"b\"", "2026-01-02"], ["2", "NULL", "NULL"], ["3", "é\r\nü", "2026-03-04"]]
        );
        let sql = format!("SELECT COUNT(*), SUM(id) FROM {text} WHERE at IS NOT NULL");
        assert_eq!(rows(&mut session, &sql), [["2", "4"]]);
    }
    let sql = format!("SELECT TOP (1) y FROM {} (x, y, z)", text);
    assert_eq!(rows(&mut session, &sql), [["a, \"b\""]]);
    assert_eq!(error(&mut session, &format!("SELECT * FROM {}", source("", ""))).0, 40517);
    assert_eq!(
        error(&mut session, &format!("SELECT * FROM {}", source(", KEEPNULLS", with))).0,
        102
    );
    assert_eq!(
        error(&mut session, &format!("SELECT * FROM {}", source(", ERRORFILE = 'x'", with))).0,
        40517
    );
}

#[test]
fn rows_of_a_text_file_that_do_not_convert_are_told_with_their_place() {
    let mut session = session();
    let file = File::new("bad.csv", b"1,10\nx,20\n3,30\n4,y\n");
    let source = |more: &str| {
        format!(
            "OPENROWSET(BULK '{}', FORMAT = 'CSV'{more}) WITH (a int, b int) AS f",
            file.0.display()
        )
    };
    let answer = batch(&mut session, &format!("SELECT a, b FROM {}", source("")));
    let told: Vec<&str> = answer.errors.iter().map(|error| &*error.message).collect();
    assert_eq!(told.len(), 2);
    assert!(told[0].ends_with("for row 2, column 1 (a)."), "{told:?}");
    assert!(told[1].ends_with("for row 4, column 2 (b)."), "{told:?}");
    assert_eq!(answer.sets, [[["1", "10"], ["3", "30"]]]);
    run(&mut session, "CREATE TABLE t (a int, b int)");
    let sql = format!("INSERT t SELECT a, b FROM {}", source(", MAXERRORS = 1"));
    let numbers: Vec<i32> = batch(&mut session, &sql).errors.iter().map(|e| e.number).collect();
    assert_eq!(numbers, [4864, 4864, 4865]);
    assert_eq!(rows(&mut session, "SELECT COUNT(*) FROM t"), [["0"]]);
}
