//! BULK INSERT from files that the tests write.

use engine::session::Session;

use crate::client::{File, batch, instance, login, run, sets};

fn session() -> Session {
    let mut session = login(&instance());
    run(&mut session, "CREATE DATABASE d");
    run(&mut session, "USE d");
    run(
        &mut session,
        "CREATE TABLE t (id int NOT NULL PRIMARY KEY, name nvarchar(5) NULL DEFAULT N'none', n decimal(9, 2) NULL)",
    );
    session
}

fn load(session: &mut Session, file: &File, with: &str) -> Vec<i32> {
    let with = if with.is_empty() { String::new() } else { format!(" WITH ({with})") };
    let answer = batch(session, &format!("BULK INSERT t FROM '{}'{with}", file.0.display()));
    answer.errors.iter().map(|error| error.number).collect()
}

fn rows(session: &mut Session) -> Vec<Vec<String>> {
    sets(session, "SELECT id, name, n FROM t ORDER BY id").remove(0)
}

#[test]
fn rows_of_tabs_and_lines_are_loaded() {
    let mut session = session();
    let file = File::new("tabs", b"1\ta\t1.5\r\n2\t\t\n3\tc\t-7");
    assert_eq!(load(&mut session, &file, ""), [0; 0]);
    assert_eq!(
        rows(&mut session),
        [["1", "a", "1.50"], ["2", "none", "NULL"], ["3", "c", "-7.00"]]
    );
}

#[test]
fn empty_fields_stay_null_where_nulls_are_kept() {
    let mut session = session();
    let file = File::new("nulls", b"2|||\n");
    assert_eq!(
        load(&mut session, &file, "FIELDTERMINATOR = '|', ROWTERMINATOR = '|\\n', KEEPNULLS"),
        [0; 0]
    );
    assert_eq!(rows(&mut session), [["2", "NULL", "NULL"]]);
}

#[test]
fn csv_has_quotes_and_a_header() {
    let mut session = session();
    let file = File::new("csv", "id,name,n\n1,\"a,\"\"b\",2\n2,\"é\",3\n3,x,4\n".as_bytes());
    let with = "FORMAT = 'CSV', FIRSTROW = 2, LASTROW = 3, CODEPAGE = '65001', TABLOCK";
    assert_eq!(load(&mut session, &file, with), [0; 0]);
    assert_eq!(rows(&mut session), [["1", "a,\"b", "2.00"], ["2", "é", "3.00"]]);
}

#[test]
fn rows_that_do_not_convert_are_told_and_left_out() {
    let mut session = session();
    let file =
        File::new("errors", b"1,a,1\nx,b,2\n3,toolong,3\n4,d,4\n5,e,123456789\n3000000000,f,6\n");
    assert_eq!(load(&mut session, &file, "FIELDTERMINATOR = ','"), [4864, 4863, 4867, 4867]);
    assert_eq!(rows(&mut session), [["1", "a", "1.00"], ["4", "d", "4.00"]]);
}

#[test]
fn more_errors_than_are_allowed_undo_the_batch() {
    let mut session = session();
    let file = File::new("most", b"1,a,1\nx,b,2\ny,c,3\n");
    assert_eq!(
        load(&mut session, &file, "FIELDTERMINATOR = ',', MAXERRORS = 1"),
        [4864, 4864, 4865]
    );
    assert!(rows(&mut session).is_empty());
    let file = File::new("batches", b"1,a,1\n2,b,2\n2,c,3\n");
    assert_eq!(load(&mut session, &file, "FIELDTERMINATOR = ',', BATCHSIZE = 2"), [2627]);
    assert_eq!(rows(&mut session).len(), 2);
}

#[test]
fn a_file_that_ends_within_a_row_is_refused() {
    let mut session = session();
    let file = File::new("end", b"1,a,1\n2,b");
    assert_eq!(load(&mut session, &file, "FIELDTERMINATOR = ','"), [4832]);
    assert!(rows(&mut session).is_empty());
}

#[test]
fn identities_constraints_and_triggers_are_as_the_options_say() {
    let mut session = session();
    run(
        &mut session,
        "CREATE TABLE log (n int); DROP TABLE t; \
         CREATE TABLE t (id int IDENTITY(100, 1) PRIMARY KEY, name nvarchar(5), n decimal(9, 2) CHECK (n > 0))",
    );
    run(
        &mut session,
        "CREATE TRIGGER g ON t AFTER INSERT AS INSERT log SELECT COUNT(*) FROM inserted",
    );
    let file = File::new("identity", b"1,a,1\n2,b,-2\n");
    assert_eq!(load(&mut session, &file, "FIELDTERMINATOR = ','"), [0; 0]);
    assert_eq!(rows(&mut session), [["100", "a", "1.00"], ["101", "b", "-2.00"]]);
    let checked = "FIELDTERMINATOR = ',', CHECK_CONSTRAINTS, FIRE_TRIGGERS, KEEPIDENTITY";
    assert_eq!(load(&mut session, &file, checked), [547]);
    let file = File::new("kept", b"7,a,1\n8,b,2\n");
    assert_eq!(load(&mut session, &file, checked), [0; 0]);
    assert_eq!(
        sets(&mut session, "SELECT MAX(id), (SELECT SUM(n) FROM log) FROM t WHERE id < 100"),
        [[["8", "2"]]]
    );
}

#[test]
fn a_load_belongs_to_the_open_transaction() {
    let mut session = session();
    let file = File::new("transaction", b"1\ta\t1\n");
    run(&mut session, "BEGIN TRAN");
    assert_eq!(load(&mut session, &file, ""), [0; 0]);
    run(&mut session, "ROLLBACK");
    assert!(rows(&mut session).is_empty());
}

/// "BULK INSERT (Transact-SQL)": TABLOCK locks the table while it is loaded.
#[test]
fn a_load_with_tablock_has_the_table_until_it_is_committed() {
    let instance = instance();
    let mut session = login(&instance);
    run(
        &mut session,
        "CREATE TABLE t (id int NOT NULL, name varchar(5), n int); INSERT t VALUES (0, 'x', 0)",
    );
    let file = File::new("tablock", b"1\ta\t1\n2\tb\t2\n3\tc\t3\n");
    let mut other = login(&instance);
    run(&mut other, "SET LOCK_TIMEOUT 0");
    for (with, expected) in [("BATCHSIZE = 2", None), ("TABLOCK, BATCHSIZE = 2", Some(1222))] {
        run(&mut session, "BEGIN TRAN");
        assert_eq!(load(&mut session, &file, with), [0; 0]);
        let answer = batch(&mut other, "UPDATE t SET n = 5 WHERE id = 0");
        assert_eq!(answer.errors.first().map(|e| e.number), expected, "{with}");
        run(&mut session, "ROLLBACK");
    }
}

#[test]
fn wide_files_are_utf_16() {
    let mut session = session();
    let text = "1\té\t1\n";
    let wide: Vec<u8> =
        [0xFEFF].into_iter().chain(text.encode_utf16()).flat_map(u16::to_le_bytes).collect();
    let file = File::new("wide", &wide);
    assert_eq!(load(&mut session, &file, "DATAFILETYPE = 'widechar'"), [0; 0]);
    assert_eq!(rows(&mut session), [["1", "é", "1.00"]]);
}

#[test]
fn a_long_file_is_one_batch_and_all_of_it_or_nothing() {
    let mut session = session();
    let rows = |last: &str| {
        let lines = (1..=30_000).map(|n| format!("{n},n{},{}.25\n", n % 1_000, n % 99));
        (lines.collect::<String>() + last).into_bytes()
    };
    let whole = File::new("long", &rows(""));
    assert_eq!(load(&mut session, &whole, "FIELDTERMINATOR = ','"), [0; 0]);
    let sums = "SELECT COUNT(*), SUM(CAST(id AS bigint)), SUM(n) FROM t";
    assert_eq!(sets(&mut session, sums), [[["30000", "450015000", "1477359.00"]]]);
    run(&mut session, "DELETE t");
    // The last row is a duplicate: by then parts of the batch are stored.
    let twice = File::new("twice", &rows("7,x,1\n"));
    assert_eq!(load(&mut session, &twice, "FIELDTERMINATOR = ','"), [2627]);
    assert_eq!(sets(&mut session, "SELECT COUNT(*) FROM t"), [[["0"]]]);
    let wrong = File::new("wrong", &rows("x,x,1\n"));
    assert_eq!(load(&mut session, &wrong, "FIELDTERMINATOR = ',', MAXERRORS = 0"), [4864, 4865]);
    assert_eq!(sets(&mut session, "SELECT COUNT(*), @@TRANCOUNT FROM t"), [[["0", "0"]]]);
    let cut = File::new("cut", &rows("30001,x"));
    assert_eq!(load(&mut session, &cut, "FIELDTERMINATOR = ','"), [4832]);
    assert_eq!(sets(&mut session, "SELECT COUNT(*) FROM t"), [[["0"]]]);
    // In the client's transaction the batch is undone, and earlier changes stay.
    run(&mut session, "BEGIN TRAN; INSERT t VALUES (-1, N'own', 1)");
    assert_eq!(load(&mut session, &twice, "FIELDTERMINATOR = ','"), [2627]);
    assert_eq!(
        sets(&mut session, "SELECT COUNT(*), MIN(id), @@TRANCOUNT FROM t"),
        [[["1", "-1", "1"]]]
    );
    run(&mut session, "ROLLBACK");
    // With batches, those before the error stay.
    let batches = "FIELDTERMINATOR = ',', BATCHSIZE = 9000";
    assert_eq!(load(&mut session, &twice, batches), [2627]);
    assert_eq!(sets(&mut session, "SELECT COUNT(*) FROM t"), [[["27000"]]]);
}
