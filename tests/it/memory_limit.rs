//! `--max-memory` bounds the memory of the process under any load: at each sample that a thread takes, and by the kernel's
//! high-water mark.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::thread::{self, JoinHandle};
use std::time::Duration;

use crate::client::{Client, error_numbers, errors};
use crate::data_folder::Data;
use crate::server::{PATIENCE, ServerProcess, now, pause};

const LIMIT_KB: u64 = 128 << 10;

/// Samples the server's anonymous resident memory (`RssAnon`) every millisecond.
struct Watch {
    is_over: Arc<AtomicBool>,
    peak_kb: Arc<AtomicU64>,
    thread: JoinHandle<()>,
}

impl Watch {
    #[expect(clippy::disallowed_methods, reason = "a test has no machine to run threads on")]
    fn start(server: &ServerProcess) -> Self {
        let (is_over, peak_kb) = (Arc::new(AtomicBool::new(false)), Arc::new(AtomicU64::new(0)));
        let path = format!("/proc/{}/status", server.id());
        let (ends, peak) = (Arc::clone(&is_over), Arc::clone(&peak_kb));
        let thread = thread::spawn(move || {
            while !ends.load(Ordering::Relaxed) {
                let text = std::fs::read_to_string(&path).unwrap_or_default();
                // A server that has ended has none: the test that needs it fails elsewhere.
                peak.fetch_max(kilobytes(&text, "RssAnon:").unwrap_or(0), Ordering::Relaxed);
                thread::sleep(Duration::from_millis(1));
            }
        });
        Self { is_over, peak_kb, thread }
    }

    /// The most since the last call is within the limit.
    fn check(&self, what: &str) {
        // The thread may not have looked yet.
        let end = now() + PATIENCE;
        let mut peak = self.peak_kb.swap(0, Ordering::Relaxed);
        while peak == 0 && now() < end {
            pause();
            peak = self.peak_kb.swap(0, Ordering::Relaxed);
        }
        assert!((1..=LIMIT_KB).contains(&peak), "{what}: {peak} KB of {LIMIT_KB}");
    }

    fn end(self, server: &ServerProcess) {
        self.is_over.store(true, Ordering::Relaxed);
        self.thread.join().expect("nothing else ends it");
        // What the kernel has noted between two looks, with the pages of the binary.
        let most = server.kernel_kb("VmHWM");
        let binary = std::fs::metadata(env!("CARGO_BIN_EXE_clearway")).expect("it is there").len();
        assert!(most <= LIMIT_KB + binary / 1_024, "{most} KB with the binary's {binary} bytes");
    }
}

fn kilobytes(text: &str, name: &str) -> Option<u64> {
    let line = text.lines().find_map(|line| line.strip_prefix(name))?;
    line.trim().trim_end_matches(" kB").parse().ok()
}

fn run(client: &mut Client, text: &str) {
    let tokens = client.batch(text);
    assert!(errors(&tokens).is_empty(), "{text}: {:?}", error_numbers(&tokens));
}

fn fill(rows: u32) -> String {
    format!("INSERT INTO m SELECT value, REPLICATE('x', 1000) FROM GENERATE_SERIES(1, {rows})")
}

/// A server with a limit of 128 MB and a table, and a thread that samples its memory.
fn start() -> (ServerProcess, Watch, Client) {
    let server = ServerProcess::start(&["--schedulers", "2", "--max-memory", "128MB"]);
    let watch = Watch::start(&server);
    let mut client = Client::log_in(server.address);
    run(&mut client, "CREATE TABLE m (id int NOT NULL PRIMARY KEY, v varchar(2000) NOT NULL)");
    (server, watch, client)
}

#[test]
fn rows_fill_the_limit_and_what_was_truncated_is_there_again_at_once() {
    let (server, watch, mut client) = start();
    run(&mut client, &fill(48_000));
    watch.check("48,000 rows");
    // In one batch, and in two.
    run(&mut client, &format!("TRUNCATE TABLE m; {}", fill(48_000)));
    run(&mut client, "TRUNCATE TABLE m");
    run(&mut client, &fill(48_000));
    watch.check("48,000 rows after a TRUNCATE");
    run(&mut client, "TRUNCATE TABLE m");
    // SQL Server's error 701: "There is insufficient system memory in resource pool" (MSSQLSERVER_701).
    assert_eq!(error_numbers(&client.batch(&fill(80_000))), [701]);
    // Neither a sort nor the next INSERT minds what is left of the one that failed.
    run(&mut client, &sort(100_000));
    run(&mut client, &fill(48_000));
    watch.check("an INSERT of 80,000 rows");
    // An idle session that has read in a transaction does not keep the truncated rows.
    let mut idle = Client::log_in(server.address);
    run(&mut idle, "BEGIN TRANSACTION; DECLARE @n int = (SELECT COUNT(*) FROM m)");
    run(&mut client, &format!("TRUNCATE TABLE m; {}", fill(48_000)));
    run(&mut idle, "COMMIT");
    watch.check("an idle transaction");
    watch.end(&server);
}

/// The records of a commit are as long as its rows: with both, the process would be past its limit.
#[test]
fn a_long_commit_asks_for_the_memory_of_its_records() {
    let data = Data::new("long-commit");
    let server = data.start_with(&["--schedulers", "2", "--max-memory", "128MB"]);
    let watch = Watch::start(&server);
    let mut client = Client::log_in(server.address);
    run(&mut client, "CREATE TABLE m (id int NOT NULL PRIMARY KEY, v varchar(2000) NOT NULL)");
    run(&mut client, &format!("BEGIN TRANSACTION; {}", fill(48_000)));
    assert_eq!(error_numbers(&client.batch("COMMIT")), [701]);
    watch.check("a commit of 48,000 rows");
    run(
        &mut client,
        "IF @@TRANCOUNT > 0 ROLLBACK; IF EXISTS (SELECT * FROM m) THROW 50000, 'it is there', 1",
    );
    run(&mut client, &fill(8_000));
    watch.check("a commit of 8,000 rows");
    watch.end(&server);
}

/// Row locks ask for memory: a statement that locks more rows than there is room for fails before the limit is passed, with
/// 1204: "the Database Engine cannot obtain a LOCK resource at this time" (MSSQLSERVER_1204, LK_OUTOF).
#[test]
fn row_locks_stay_within_the_limit() {
    let (server, watch, mut client) = start();
    run(&mut client, "CREATE TABLE n (id int NOT NULL)");
    run(&mut client, "INSERT INTO n SELECT value FROM GENERATE_SERIES(1, 600000)");
    let lock = "BEGIN TRANSACTION; DECLARE @n int = (SELECT COUNT(*) FROM n WITH (REPEATABLEREAD))";
    let mut readers: Vec<_> = (0..2).map(|_| Client::log_in(server.address)).collect();
    for reader in &mut readers {
        assert_eq!(error_numbers(&reader.batch(lock)), [1204]);
        watch.check("row locks of a transaction");
    }
    readers.iter_mut().for_each(|reader| run(reader, "IF @@TRANCOUNT > 0 ROLLBACK"));
    run(&mut client, "DECLARE @n int = (SELECT COUNT(*) FROM n)");
    watch.end(&server);
}

/// Rows have not all of the memory: when they fill their part, queries run, and who asks why
/// sees it. Deleting makes room.
#[test]
fn queries_go_on_where_rows_fill_the_limit() {
    let (server, watch, mut client) = start();
    let step = |from: u32| {
        format!(
            "INSERT INTO m SELECT value, NEWID() FROM GENERATE_SERIES({from}, {})",
            from + 4_999
        )
    };
    let full =
        (0..400).map(|n| error_numbers(&client.batch(&step(n * 5_000)))).find(|e| !e.is_empty());
    assert_eq!(full, Some(vec![701]));
    watch.check("a table that fills the memory");
    let mut other = Client::log_in(server.address);
    for query in [
        "SELECT COUNT(*), MAX(v) FROM m",
        "SELECT LEFT(v, 2), COUNT(*) FROM m GROUP BY LEFT(v, 2)",
        "SELECT TOP (5) * FROM m ORDER BY v",
        "SELECT type, SUM(pages_kb) FROM sys.dm_os_memory_clerks GROUP BY type ORDER BY 2 DESC",
        "SELECT * FROM sys.dm_exec_requests r JOIN sys.dm_exec_sessions s ON s.session_id = r.session_id",
        "SELECT * FROM sys.dm_os_time_ledger",
        "SELECT o.name, p.rows FROM sys.objects o JOIN sys.partitions p ON p.object_id = o.object_id",
    ] {
        run(&mut other, query);
    }
    assert_eq!(error_numbers(&client.batch(&step(2_000_000))), [701]);
    for _ in 0..30 {
        run(&mut client, "DELETE TOP (5000) FROM m");
    }
    run(&mut client, &step(2_000_000));
    watch.check("queries beside it");
    watch.end(&server);
}

/// A query that sorts `rows` rows.
fn sort(rows: u32) -> String {
    format!(
        "DECLARE @n bigint = (SELECT MAX(n) FROM (SELECT ROW_NUMBER() OVER (ORDER BY value % 1000, value) AS n \
         FROM GENERATE_SERIES(1, {rows})) AS t)"
    )
}

#[test]
fn whatever_is_asked_the_process_stays_within_the_limit() {
    let (server, watch, mut client) = start();
    run(
        &mut client,
        "CREATE TABLE c (id int, v bigint, w varchar(100), INDEX i CLUSTERED COLUMNSTORE)",
    );
    run(&mut client, &fill(40_000));
    let million = "GENERATE_SERIES(1, 1000000)";
    let texts = [
        sort(300_000),
        format!("SELECT COUNT(*) FROM (SELECT value, COUNT(*) AS n FROM {million} GROUP BY value) AS t"),
        format!("SELECT COUNT(*) FROM {million} AS a JOIN {million} AS b ON a.value = b.value"),
        format!("SELECT value INTO d FROM {million}"),
        format!(
            "INSERT INTO c WITH (TABLOCK) SELECT value, value % 1009 * 7919, \
             CONVERT(varchar(100), value * 7) FROM {million}"
        ),
        "SELECT LEN(STRING_AGG(CONVERT(varchar(max), REPLICATE('z', 1000)), ',')) \
         FROM GENERATE_SERIES(1, 100000)"
            .to_owned(),
        "DECLARE @a varchar(max) = REPLICATE(CONVERT(varchar(max), 'x'), 15000000); \
         SELECT LEN(@a + @a + @a + @a), LEN(REPLACE(@a, 'x', 'yyyyyyyyyy')), LEN(CONVERT(nvarchar(max), @a))"
            .to_owned(),
        parsed("OPENJSON(@j)"),
        parsed("OPENJSON(@j) WITH (v int '$')"),
        parsed("(VALUES (ISJSON(@j))) AS t (v)"),
    ];
    for text in &texts {
        let numbers = error_numbers(&client.batch(text));
        assert!(matches!(numbers[..], [] | [701]), "{text}: {numbers:?}");
        watch.check(text);
    }
    let mut clients: Vec<_> = (0..200).map(|_| Client::log_in(server.address)).collect();
    watch.check("200 connections");
    for client in clients.iter_mut().take(20) {
        client.send(&tds::client::batch(&sort(100_000), client.settings));
    }
    for client in clients.iter_mut().take(20) {
        let numbers = error_numbers(&client.response());
        // 8645 is the wait for a grant that took too long.
        assert!(matches!(numbers[..], [] | [701 | 8645]), "{numbers:?}");
    }
    watch.check("20 sorts");
    for client in clients.iter_mut().take(8) {
        client.send(&tds::client::batch(&parsed("OPENJSON(@j)"), client.settings));
    }
    for client in clients.iter_mut().take(8) {
        assert_eq!(error_numbers(&client.response()), [701]);
    }
    watch.check("8 documents");
    run(&mut client, "TRUNCATE TABLE m");
    run(&mut client, &sort(100_000));
    watch.end(&server);
}

/// A query that parses a JSON text of 3 MB, whose tree is many times as large.
fn parsed(from: &str) -> String {
    format!(
        "DECLARE @j nvarchar(max) = CONCAT('[', REPLICATE(CONVERT(varchar(max), '1,'), 1500000), '1]'); \
         SELECT COUNT(*) FROM {from}"
    )
}

/// All records at once would take three times the memory limit.
#[test]
fn a_log_is_read_in_pieces() {
    let data = Data::new("log-in-pieces");
    let server = data.start_with(&["--schedulers", "2", "--max-memory", "128MB"]);
    let mut client = Client::log_in(server.address);
    run(&mut client, "CREATE TABLE m (id int NOT NULL PRIMARY KEY)");
    for _ in 0..24 {
        run(&mut client, "INSERT INTO m SELECT value FROM GENERATE_SERIES(1, 5000); DELETE FROM m");
    }
    run(
        &mut client,
        "IF (SELECT COUNT(*) FROM sys.fn_dblog(NULL, NULL) WHERE Operation <> 'LOP_BEGIN_XACT') < 240000 \
         THROW 50000, 'records are missing', 1",
    );
}
