//! An instance with a data folder: which commits wait for the log, and what is shown of it.
//!
//! A reply waits for the epoch that the thread has noted. So a test sees without any timing whether
//! it would wait.

use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

use ::durable::{Change, Folder, Settings};
use engine::instance::Instance;
use engine::session::Session;

use crate::client::{batch, instance, login, run, sets};

/// A folder that is removed when the test ends.
struct Data(PathBuf);

impl Data {
    fn new(name: &str) -> Self {
        let path = std::env::temp_dir().join(format!("clearway-{}-{name}", std::process::id()));
        let _ = std::fs::remove_dir_all(&path);
        Self(path)
    }

    fn open(&self) -> Arc<Instance> {
        let instance = instance();
        let folder = Folder::open(self.0.to_str().unwrap()).unwrap();
        instance.open_database(folder, &Settings::default()).unwrap();
        instance
    }
}

impl Drop for Data {
    fn drop(&mut self) {
        // The folder of temporary files is emptied by others if this fails.
        let _ = std::fs::remove_dir_all(&self.0);
    }
}

/// Returns whether the reply to a text waits for the log, where nothing else is in it.
fn waits(instance: &Instance, session: &mut Session, text: &str) -> bool {
    instance.flush_log().unwrap();
    let _ = storage::durability::take();
    run(session, text);
    storage::durability::take() != 0
}

const COMMIT: &str = "BEGIN TRAN; INSERT t VALUES (NEWID()); COMMIT";
const COMMIT_ON: &str =
    "BEGIN TRAN; INSERT t VALUES (NEWID()); COMMIT WITH (DELAYED_DURABILITY = ON)";
const COMMIT_OFF: &str =
    "BEGIN TRAN; INSERT t VALUES (NEWID()); COMMIT WITH (DELAYED_DURABILITY = OFF)";

#[test]
#[expect(clippy::too_many_lines, reason = "a list of statements and what each has to do")]
fn the_database_and_the_transaction_decide_whether_a_reply_waits() {
    let data = Data::new("delayed");
    let instance = data.open();
    let mut session = login(&instance);
    run(&mut session, "CREATE DATABASE d; CREATE DATABASE other");
    run(&mut session, "USE other; CREATE TABLE o (a uniqueidentifier)");
    run(
        &mut session,
        "USE d; CREATE TABLE t (a uniqueidentifier PRIMARY KEY); CREATE TABLE #t (a int)",
    );
    run(
        &mut session,
        "CREATE TABLE m (a int IDENTITY PRIMARY KEY NONCLUSTERED, b int) WITH (MEMORY_OPTIMIZED = ON)",
    );
    for (name, option, body) in [
        ("alone_on", "ON", "INSERT dbo.m (b) VALUES (1)"),
        ("alone_off", "OFF", "INSERT dbo.m (b) VALUES (1)"),
        ("both_on", "ON", "INSERT dbo.m (b) VALUES (1) INSERT dbo.m (b) VALUES (2)"),
        ("both_off", "OFF", "INSERT dbo.m (b) VALUES (1) INSERT dbo.m (b) VALUES (2)"),
    ] {
        run(
            &mut session,
            &format!(
                "CREATE PROCEDURE {name} WITH NATIVE_COMPILATION, SCHEMABINDING AS BEGIN ATOMIC WITH
                 (TRANSACTION ISOLATION LEVEL = SNAPSHOT, LANGUAGE = N'us_english',
                 DELAYED_DURABILITY = {option}) {body} END"
            ),
        );
        // Takes the block of identity values, which is logged by itself.
        run(&mut session, &format!("EXEC {name}"));
    }
    let single = "INSERT t VALUES (NEWID())";
    let many = "INSERT t SELECT NEWID() FROM sys.databases";
    let cases = [
        // DISABLED, ALLOWED, FORCED
        (single, [true, true, false]),
        (many, [true, true, false]),
        (COMMIT, [true, true, false]),
        (COMMIT_ON, [true, false, false]),
        (COMMIT_OFF, [true, true, false]),
        ("EXEC alone_on", [true, false, false]),
        ("EXEC alone_off", [true, true, false]),
        ("EXEC both_on", [true, false, false]),
        ("EXEC both_off", [true, true, false]),
        // The outer COMMIT decides.
        ("BEGIN TRAN; EXEC both_on; COMMIT", [true, true, false]),
        ("BEGIN TRAN; EXEC both_off; COMMIT WITH (DELAYED_DURABILITY = ON)", [true, false, false]),
        // The option of one transaction is not that of the next.
        ("EXEC both_on; INSERT t VALUES (NEWID())", [true, true, false]),
        // Another database has another option, and a transaction of two waits in any case.
        ("INSERT other.dbo.o VALUES (NEWID())", [true, true, true]),
        (
            "BEGIN TRAN; INSERT t VALUES (NEWID()); INSERT other.dbo.o VALUES (NEWID()); COMMIT",
            [true; 3],
        ),
        ("INSERT other.dbo.o VALUES (NEWID()); INSERT t VALUES (NEWID())", [true, true, true]),
        // A temporary table is no other database.
        (
            "BEGIN TRAN; INSERT t VALUES (NEWID()); INSERT #t VALUES (1); COMMIT",
            [true, true, false],
        ),
        ("INSERT #t VALUES (1)", [false, false, false]),
        ("SELECT COUNT(*) FROM t", [false, false, false]),
        // Definitions wait in any case.
        ("CREATE TABLE gone (a int); DROP TABLE gone", [true, true, true]),
    ];
    for (at, option) in ["DISABLED", "ALLOWED", "FORCED"].into_iter().enumerate() {
        run(&mut session, &format!("ALTER DATABASE d SET DELAYED_DURABILITY = {option}"));
        for (text, expected) in cases {
            assert_eq!(waits(&instance, &mut session, text), expected[at], "{option}: {text}");
        }
        // Elsewhere it does not count, and comes back with the database.
        run(&mut session, "USE other");
        assert!(waits(&instance, &mut session, "INSERT o VALUES (NEWID())"), "{option}");
        run(&mut session, "USE d");
        assert_eq!(waits(&instance, &mut session, single), at < 2, "{option}");
    }
    // What the transaction has changed before belongs to another database.
    let text = "USE other; BEGIN TRAN; INSERT o VALUES (NEWID()); USE d; COMMIT";
    assert!(waits(&instance, &mut session, text));
    instance.durable().unwrap().stop();
}

/// Returns how many rows were inserted, as the log on the disk says.
fn inserts(instance: &Instance) -> usize {
    let mut count = 0;
    let records = instance.durable().unwrap().reading().records(|_, change| {
        count += usize::from(matches!(change, Change::Insert { .. }));
        Ok(())
    });
    records.unwrap();
    count
}

#[test]
fn a_delayed_commit_becomes_durable_by_itself_and_on_request() {
    let data = Data::new("flush");
    let instance = data.open();
    let mut session = login(&instance);
    run(&mut session, "CREATE DATABASE d; ALTER DATABASE d SET DELAYED_DURABILITY = FORCED");
    run(&mut session, "USE d; CREATE TABLE t (a int PRIMARY KEY)");
    run(&mut session, "INSERT t VALUES (1); EXEC sys.sp_flush_log");
    assert_eq!(inserts(&instance), 1);
    run(&mut session, "INSERT t VALUES (2)");
    let mut looks = 0;
    while inserts(&instance) < 2 {
        looks += 1;
        assert!(looks < 4_000, "it is not durable without a request");
        sos::park::sleep(Duration::from_millis(5), sos::wait::WaitType::SleepTask, None);
    }
    instance.durable().unwrap().stop();
}

#[test]
#[expect(clippy::too_many_lines, reason = "a list of views and what each has to show")]
fn the_log_is_shown() {
    let data = Data::new("shown");
    let instance = data.open();
    let mut session = login(&instance);
    run(&mut session, "CREATE DATABASE d; CREATE DATABASE other");
    run(&mut session, "USE other; CREATE TABLE secret (a int); INSERT secret VALUES (1)");
    run(&mut session, "USE d; CREATE TABLE t (a int PRIMARY KEY, b int); CREATE TABLE h (a int)");
    run(
        &mut session,
        "INSERT t VALUES (1, 1); UPDATE t SET b = 2; INSERT h VALUES (1); DELETE h; EXEC sp_flush_log",
    );
    let mut one = |text: &str| sets(&mut session, text).remove(0);
    let operations = one(
        "SELECT Operation, Context, LEFT(AllocUnitName, 5), [Number of Columns] FROM sys.fn_dblog(NULL, NULL)
         WHERE AllocUnitName IS NOT NULL ORDER BY [Current LSN]",
    );
    assert_eq!(
        operations,
        [
            ["LOP_INSERT_ROWS", "LCX_CLUSTERED", "dbo.t", "2"],
            ["LOP_MODIFY_ROW", "LCX_CLUSTERED", "dbo.t", "1"],
            ["LOP_INSERT_ROWS", "LCX_HEAP", "dbo.h", "1"],
            ["LOP_DELETE_ROWS", "LCX_HEAP", "dbo.h", "0"],
        ]
    );
    let pairs = one(
        "SELECT COUNT(*) - COUNT(DISTINCT [Transaction ID]), COUNT([Begin Time]) - COUNT([End Time])
         FROM sys.fn_dblog(NULL, NULL) WHERE Operation IN ('LOP_BEGIN_XACT', 'LOP_COMMIT_XACT')
         AND [Transaction ID] IN (SELECT [Transaction ID] FROM sys.fn_dblog(NULL, NULL)
         WHERE Operation = 'LOP_MODIFY_ROW')",
    );
    assert_eq!(pairs, [["1", "0"]], "a transaction begins and commits once");
    let between =
        one("DECLARE @at nvarchar(25) = (SELECT '0x' + [Current LSN] FROM sys.fn_dblog(NULL, NULL)
         WHERE Operation = 'LOP_MODIFY_ROW')
         SELECT Operation FROM sys.fn_dblog(@at, @at)");
    assert_eq!(between, [["LOP_MODIFY_ROW"]]);
    for (text, expected) in [
        ("SELECT COUNT(*) FROM sys.dm_db_log_info(DB_ID())", "1"),
        ("SELECT COUNT(*) FROM sys.dm_db_log_info(2)", "0"),
        ("SELECT total_vlf_count FROM sys.dm_db_log_stats(DB_ID())", "1"),
        (
            "SELECT IIF(used_log_space_in_bytes BETWEEN 1 AND total_log_size_in_bytes, 1, 0)
             FROM sys.dm_db_log_space_usage",
            "1",
        ),
        (
            "SELECT IIF(SUM(num_of_writes) > 0 AND SUM(num_of_bytes_written) > 0, 1, 0)
             FROM sys.dm_io_virtual_file_stats(DB_ID(), 2)",
            "1",
        ),
        ("SELECT SUM(num_of_writes) FROM sys.dm_io_virtual_file_stats(2, NULL)", "0"),
        (
            "SELECT COUNT(*) FROM sys.database_files WHERE type_desc = 'LOG' AND size > 0
             AND physical_name LIKE '%shown/log'",
            "1",
        ),
        ("SELECT COUNT(*) FROM sys.master_files WHERE physical_name LIKE '%shown/log'", "5"),
        (
            "SELECT COUNT(DISTINCT measure) FROM sys.dm_os_log_flushes WHERE flush_count > 0
             AND low <= high",
            "2",
        ),
        (
            "SELECT COUNT(*) FROM sys.dm_os_performance_counters WHERE instance_name = '_Total'
             AND counter_name IN ('Log Flushes/sec', 'Log Bytes Flushed/sec') AND cntr_value > 0",
            "2",
        ),
        (
            "CHECKPOINT; SELECT checkpoints_closed FROM sys.dm_db_xtp_checkpoint_stats
             WHERE failed_count = 0",
            "1",
        ),
        (
            "SELECT COUNT(*) FROM sys.dm_db_xtp_checkpoint_files WHERE file_type_desc = 'ROOT'
             AND file_size_in_bytes > 0",
            "1",
        ),
        (
            "BEGIN TRAN; INSERT h VALUES (5);
             SELECT database_transaction_log_bytes_used FROM sys.dm_tran_database_transactions
             WHERE database_id = DB_ID(); ROLLBACK",
            "0",
        ),
    ] {
        assert_eq!(sets(&mut session, text).remove(0), [[expected]], "{text}");
    }
    let space = sets(&mut session, "DBCC SQLPERF(LOGSPACE)").remove(0);
    let of = |name: &str| space.iter().find(|row| row[0] == name).unwrap();
    assert_eq!(of("tempdb")[1], "0");
    assert_ne!(of("d")[1], "0");
    instance.durable().unwrap().stop();
}

#[test]
fn a_duration_of_a_checkpoint_is_positive_and_a_shutdown_needs_a_server() {
    let instance = instance();
    let mut session = login(&instance);
    run(&mut session, "CHECKPOINT; CHECKPOINT 10; EXEC sys.sp_flush_log");
    for text in ["CHECKPOINT 0", "SHUTDOWN", "SHUTDOWN WITH NOWAIT"] {
        let numbers: Vec<i32> = batch(&mut session, text).errors.iter().map(|e| e.number).collect();
        assert_eq!(numbers, [40517], "{text}");
    }
}

/// The log since the last checkpoint is so long that its replay would take longer than it may.
#[test]
fn a_checkpoint_is_due_when_a_replay_would_take_too_long() {
    let data = Data::new("target");
    let instance = instance();
    let folder = Folder::open(data.0.to_str().unwrap()).unwrap();
    let settings = Settings { replay_bytes_per_s: Some(2_000), ..Settings::default() };
    instance.open_database(folder, &settings).unwrap();
    let database = instance.durable().unwrap();
    let mut session = login(&instance);
    run(&mut session, "CREATE DATABASE d");
    // The least target counts: all databases share the log.
    for name in ["master", "model", "msdb", "tempdb", "d"] {
        let set = format!("ALTER DATABASE {name} SET TARGET_RECOVERY_TIME = 60 MINUTES");
        run(&mut session, &set);
    }
    let write = |session: &mut Session, bytes: u32| {
        let text =
            format!("INSERT d.dbo.t VALUES (REPLICATE(CONVERT(varchar(max), 'x'), {bytes}))");
        run(session, &text);
        instance.flush_log().unwrap();
    };
    let due = |count: u64| {
        let end = sos::clock::monotonic_ns() + 20_000_000_000;
        while database.checkpointed().count <= count {
            assert!(sos::clock::monotonic_ns() < end, "no checkpoint was written");
            sos::park::sleep(Duration::from_millis(20), sos::wait::WaitType::SleepTask, None);
        }
    };
    run(&mut session, "CREATE TABLE d.dbo.t (b varchar(max))");
    write(&mut session, 150_000);
    // A checkpoint that is not due does not come, however long one waits.
    sos::park::sleep(Duration::from_millis(700), sos::wait::WaitType::SleepTask, None);
    assert_eq!(database.checkpointed().count, 0);
    // 150 kB take 75 seconds.
    run(&mut session, "ALTER DATABASE d SET TARGET_RECOVERY_TIME = 70 SECONDS");
    due(0);
    let count = database.checkpointed().count;
    // Without a target the interval counts, and it counts after RECONFIGURE: 2 minutes, then 1.
    for (minutes, is_due) in [(2, false), (1, true)] {
        let set = format!(
            "EXEC sp_configure 'show advanced options', 1; RECONFIGURE;
             EXEC sp_configure 'recovery interval (min)', {minutes}; RECONFIGURE;
             ALTER DATABASE d SET TARGET_RECOVERY_TIME = 0 SECONDS"
        );
        run(&mut session, &set);
        if is_due {
            due(count);
        } else {
            write(&mut session, 150_000);
            sos::park::sleep(Duration::from_millis(700), sos::wait::WaitType::SleepTask, None);
            assert_eq!(database.checkpointed().count, count);
        }
    }
    drop(session);
    instance.durable().unwrap().stop();
}
