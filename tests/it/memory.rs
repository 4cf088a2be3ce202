//! Memory as a DBA sees it: where page faults are, on whose account every page is, and what the memory
//! models do.

use std::process::{Command, Stdio};

use tds::client::Token;
use types::Value;

use crate::books::Books;
use crate::client::{Client, errors};
use crate::server::{PASSWORD, ServerProcess, command};

/// Creates the table `m` and loads `rows` rows of 1,000 bytes into it.
fn load(client: &mut Client, rows: u32) {
    let make = "CREATE TABLE m (id int NOT NULL PRIMARY KEY, v varchar(2000) NOT NULL)";
    assert!(errors(&client.batch(make)).is_empty());
    let insert =
        format!("INSERT INTO m SELECT value, REPLICATE('x', 1000) FROM GENERATE_SERIES(1, {rows})");
    assert!(errors(&client.batch(&insert)).is_empty());
}

fn number(client: &mut Client, query: &str) -> i64 {
    match client.value_of(query) {
        Value::BigInt(number) => number,
        Value::Int(number) => number.into(),
        other => panic!("{query} is {other:?}"),
    }
}

#[test]
fn page_faults_of_a_bulk_load_are_in_the_named_call() {
    let mut starter = command(&["serve", "--port", "0", "--sa-password", PASSWORD]);
    // Without huge pages, of which one fault brings 2 MB: what hides is 500 times as visible.
    let server = ServerProcess::start_command({
        starter.env("MIMALLOC_ALLOW_THP", "0");
        starter
    });
    let mut client = Client::log_in(server.address);
    // What is touched for the first time by any load.
    assert!(errors(&client.batch("SELECT 1 FROM GENERATE_SERIES(1, 10)")).is_empty());
    let faults = "(SELECT page_fault_count FROM sys.dm_os_process_memory)";
    let (before, all_before) = (Books::read(&mut client), number(&mut client, faults));
    load(&mut client, 40_000);
    let all = number(&mut client, faults) - all_before;
    let books = Books::read(&mut client).since(&before);
    let elsewhere = books.row("kernel", "unwrapped").occurrences;
    let populate = books.row("kernel", "page_populate");
    // 40,000 rows of 1,000 bytes are some 10,000 pages.
    assert!(all > 8_000, "{all}");
    assert!(elsewhere * 10 < all, "{elsewhere} of {all} faults are in no named call");
    assert!(populate.occurrences > 10 && populate.on_cpu > 0, "{populate:?}");
}

#[test]
fn clerks_add_up_to_what_is_resident() {
    let server = ServerProcess::start(&["--schedulers", "2"]);
    let mut client = Client::log_in(server.address);
    let general =
        "(SELECT pages_kb FROM sys.dm_os_memory_clerks WHERE type = 'MEMORYCLERK_SQLGENERAL')";
    let general_before = number(&mut client, general);
    load(&mut client, 150_000);
    let sorted = "SELECT COUNT(*) FROM (SELECT TOP (100000) v FROM m ORDER BY id DESC) AS s";
    assert_eq!(number(&mut client, &format!("({sorted})")), 100_000);
    let clerks = number(&mut client, "(SELECT SUM(pages_kb) FROM sys.dm_os_memory_clerks)");
    let resident =
        number(&mut client, "(SELECT physical_memory_in_use_kb FROM sys.dm_os_process_memory)");
    assert!(resident > 150_000, "{resident}");
    assert!((clerks - resident).abs() * 100 <= 3 * resident, "{clerks} KB of {resident} KB");
    let rows = number(
        &mut client,
        "(SELECT pages_kb FROM sys.dm_os_memory_clerks WHERE type = 'MEMORYCLERK_XTP')",
    );
    assert!(rows > 150_000, "the rows are on the account of memory-optimized tables: {rows}");
    // So are their index and their heads: some 100 bytes a row, of which nothing is charged to MEMORYCLERK_SQLGENERAL.
    let general = number(&mut client, general) - general_before;
    assert!(general < 4_000, "{general} KB on MEMORYCLERK_SQLGENERAL");
}

/// Kilobytes that clerks have for rows, and for columnstores.
fn kept_kb(client: &mut Client) -> i64 {
    let of_data = "(SELECT COALESCE(SUM(pages_kb), 0) FROM sys.dm_os_memory_clerks WHERE type IN \
                   ('MEMORYCLERK_XTP', 'CACHESTORE_COLUMNSTOREOBJECTPOOL'))";
    number(client, of_data)
}

#[test]
fn dropped_tables_go_though_plans_know_them_and_sessions_that_are_idle() {
    let server = ServerProcess::start(&["--schedulers", "2"]);
    let mut client = Client::log_in(server.address);
    let before_kb = kept_kb(&mut client);
    // Each idle session has cached plans, with constants and with parameters, and an old catalog.
    let mut idle: Vec<_> = (0..4).map(|_| Client::log_in(server.address)).collect();
    for (at, session) in idle.iter_mut().enumerate() {
        let make = format!(
            "CREATE TABLE c{at} (id int NOT NULL, v bigint, INDEX c CLUSTERED COLUMNSTORE)"
        );
        assert!(errors(&session.batch(&make)).is_empty());
        let fill = format!(
            "INSERT INTO c{at} WITH (TABLOCK) SELECT value, value * 2654435761 % 1000003 FROM GENERATE_SERIES(1, 300000)"
        );
        assert!(errors(&session.batch(&fill)).is_empty());
    }
    load(&mut idle[0], 20_000);
    for (at, session) in idle.iter_mut().enumerate() {
        for id in 0..3 {
            let asked = format!(
                "SELECT COUNT(*) FROM c{at} JOIN m ON m.id = c{at}.id WHERE c{at}.id > {id}"
            );
            assert!(errors(&session.batch(&asked)).is_empty());
            assert!(errors(&session.batch("SELECT MAX(v) FROM m")).is_empty());
        }
    }
    let full_kb = kept_kb(&mut client) - before_kb;
    assert!(full_kb > 20_000, "{full_kb} KB of rows");
    assert!(errors(&client.batch("DROP TABLE c0, c1, c2, c3, m")).is_empty());
    server.wait_until("dropped tables go", |_| kept_kb(&mut client) - before_kb <= full_kb / 100);
    // They go on as if nothing had been.
    for session in &mut idle {
        let answer = session.batch("SELECT MAX(v) FROM m");
        assert_eq!(errors(&answer).iter().map(|error| error.number).collect::<Vec<_>>(), [208]);
        assert_eq!(number(session, "(SELECT 1 + 1)"), 2);
    }
}

/// What the server says of its memory when it starts.
fn memory_line(server: &ServerProcess) -> &str {
    let line = server.banner.lines().find(|line| line.starts_with("Memory: "));
    line.expect("the banner says how memory is taken")
}

#[test]
fn a_memory_model_is_granted_or_one_line_says_why_not() {
    for (model, column) in [("locked", "VmLck"), ("large", "AnonHugePages")] {
        let server = ServerProcess::start(&["--memory-model", model, "--max-memory", "1GB"]);
        let mut client = Client::log_in(server.address);
        load(&mut client, 20_000);
        let line = memory_line(&server);
        if line == format!("Memory: {model}") {
            assert!(server.kernel_kb(column) > 10_000, "{model}: {}", server.kernel_kb(column));
        } else {
            let lost = format!("Memory: conventional; {model} not granted (");
            assert!(line.starts_with(&lost), "{line}");
        }
    }
}

#[test]
fn locked_memory_without_the_right_to_it_falls_back_to_conventional() {
    // Root may lock whatever the limit is, unless that right is taken from it.
    let without = ["--bounding-set=-ipc_lock"];
    let is_root = Command::new("setpriv").args(without).arg("true").status();
    let mut starter = if is_root.is_ok_and(|status| status.success()) {
        let mut starter = Command::new("setpriv");
        starter.args(without).arg("sh");
        starter
    } else {
        Command::new("sh")
    };
    starter.args(["-c", "ulimit -l 64 && exec \"$0\" \"$@\"", env!("CARGO_BIN_EXE_clearway")]);
    starter.args(["serve", "--port", "0", "--sa-password", PASSWORD, "--memory-model", "locked"]);
    starter.stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::piped());
    let server = ServerProcess::start_command(starter);
    let line = memory_line(&server);
    assert!(line.contains("locked not granted (the limit of locked memory is 64 KB"), "{line}");
    let mut client = Client::log_in(server.address);
    assert_eq!(client.value_of("6 * 7"), Value::Int(42));
}

#[test]
fn a_load_that_runs_out_of_memory_gets_701_and_gives_all_back() {
    let server = ServerProcess::start(&["--schedulers", "1", "--max-memory", "96MB"]);
    let mut client = Client::log_in(server.address);
    let used = "(SELECT SUM(pages_kb) FROM sys.dm_os_memory_clerks \
                WHERE type = 'MEMORYCLERK_XTP')";
    let make = "CREATE TABLE m (id int NOT NULL PRIMARY KEY, v varchar(2000) NOT NULL)";
    assert!(errors(&client.batch(make)).is_empty());
    let before = number(&mut client, used);
    // What stays is the table's, to be used again: places of some 60,000 rows. The second time adds nothing.
    for _ in 0..2 {
        let insert = "INSERT INTO m SELECT value, REPLICATE('x', 1000) \
                      FROM GENERATE_SERIES(1, 1000000)";
        let failed = client.batch(insert);
        assert_eq!(errors(&failed).iter().map(|e| e.number).collect::<Vec<_>>(), [701]);
        assert_eq!(number(&mut client, "(SELECT COUNT(*) FROM m)"), 0);
        server.wait_until("all is given back", |server| {
            let mut other = Client::log_in(server.address);
            // Until the collector has been there, others may be refused memory too.
            let asked = other.batch(&format!("SELECT {used}"));
            errors(&asked).is_empty() && number(&mut other, used) < before + 4_000
        });
    }
}

#[test]
fn memorystatus_lists_what_the_views_have() {
    let server = ServerProcess::start(&["--schedulers", "1"]);
    let mut client = Client::log_in(server.address);
    load(&mut client, 20_000);
    let tokens = client.batch("DBCC MEMORYSTATUS");
    assert!(errors(&tokens).is_empty());
    let of = |name: &str| {
        let found = tokens.iter().find_map(|token| match token {
            Token::Row(row) if row[0] == Value::nvarchar(name) => Some(row[1].clone()),
            _ => None,
        });
        let Some(Value::BigInt(number)) = found else { panic!("no line '{name}'") };
        u64::try_from(number).expect("no less than nothing")
    };
    let (set, resident) = (of("Working Set") / 1024, server.resident_kb());
    assert!(set.abs_diff(resident) * 20 < resident, "{set} {resident}");
    assert!(of("Current Committed") > 20_000 && of("Grants") == 0 && of("Available") > 0);
}

/// What the clerks hold that have it from statements, in KB: all but what is free, and the binary's own.
const IN_USE: &str = "(SELECT SUM(pages_kb) FROM sys.dm_os_memory_clerks WHERE type NOT IN \
     ('MEMORYCLERK_SOSOS', 'MEMORYCLERK_SOSMEMMANAGER', 'MEMORYCLERK_SOSNODE', 'MEMORYCLERK_HOST'))";

/// Waits until workers have nothing to do for so long that they say what they have taken and given back.
fn let_workers_rest(server: &ServerProcess) {
    let begin = crate::server::now();
    server.wait_until("workers rest", |_| begin.elapsed().as_millis() > 1_500);
}

#[test]
fn definitions_and_their_end_leave_every_clerk_as_it_was() {
    let server = ServerProcess::start(&["--schedulers", "1"]);
    let mut client = Client::log_in(server.address);
    let mut define = |times: u32| {
        let text = format!(
            "SET NOCOUNT ON; DECLARE @i int = 0; WHILE @i < {times} BEGIN \
             CREATE TABLE dbo.x (id int NOT NULL, name varchar(40) NULL); DROP TABLE dbo.x; \
             CREATE TABLE #x (id int NOT NULL PRIMARY KEY); DROP TABLE #x; SET @i += 1 END"
        );
        assert!(errors(&client.batch(&text)).is_empty());
        let_workers_rest(&server);
        // Without the clerks of free memory, of the binary and of histories, which change by themselves.
        let clerks = [
            "USERSTORE_SCHEMAMGR",
            "OBJECTSTORE_LOCK_MANAGER",
            "MEMORYCLERK_SQLSTORENG",
            "MEMORYCLERK_XTP",
            "CACHESTORE_SQLCP",
            "MEMORYCLERK_SQLGENERAL",
        ];
        clerks.map(|name| {
            let held = format!(
                "(SELECT COALESCE(SUM(pages_kb), 0) FROM sys.dm_os_memory_clerks WHERE type = '{name}')"
            );
            (name, number(&mut client, &held))
        })
    };
    define(1_500);
    let before = define(1_500);
    let after = define(1_500);
    for ((name, before), (_, after)) in before.iter().zip(&after) {
        // 1,500 tables of 200 bytes are 300 KB; histories grow during the test.
        assert!((after - before).abs() < 300, "{name}: {before} KB before, {after} KB after");
    }
}

#[test]
fn loads_cancelled_and_tables_dropped_leave_memory_as_it_was() {
    let server = ServerProcess::start(&["--schedulers", "2"]);
    let mut client = Client::log_in(server.address);
    let staging = "SELECT value AS id, CONCAT('name ', value % 5000) AS name INTO dbo.staging \
                   FROM GENERATE_SERIES(1, 120000)";
    assert!(errors(&client.batch(staging)).is_empty());
    let mut cycles = |count: u32| {
        for cycle in 0..count {
            let make =
                "CREATE TABLE dbo.t (id int, name varchar(40), INDEX c CLUSTERED COLUMNSTORE)";
            assert!(errors(&client.batch(make)).is_empty());
            let mut loader = Client::log_in(server.address);
            let load = "INSERT INTO dbo.t WITH (TABLOCK) SELECT id, name FROM dbo.staging";
            loader.send(&tds::client::batch(load, loader.settings));
            if cycle % 3 > 0 {
                loader.send(&tds::client::attention());
            }
            loader.response();
            let rows = number(&mut client, "(SELECT COUNT(*) FROM dbo.t WHERE name IS NOT NULL)");
            assert!(rows == 120_000 || rows == 0 && cycle % 3 > 0, "{rows}");
            assert!(errors(&client.batch("DROP TABLE dbo.t")).is_empty());
        }
        let_workers_rest(&server);
        (number(&mut client, IN_USE), i64::try_from(server.resident_kb()).expect("not that much"))
    };
    cycles(40);
    let (before, resident_before) = cycles(40);
    let (after, resident_after) = cycles(80);
    // 10 KB of each would be 800 KB; what grows are histories.
    assert!(after - before < 600, "{before} KB in use before, {after} KB after");
    assert!(
        resident_after - resident_before < 16_000,
        "{resident_before} KB resident before, {resident_after} KB after"
    );
}
