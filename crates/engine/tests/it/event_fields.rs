//! Fields of the events that statements fire: modules, plans, memory grants, columnstores, and lock
//! requests that fail.

use std::sync::Arc;
use std::sync::mpsc::channel;
use std::time::Duration;

use sos::park;
use sos::wait::WaitType;

use crate::client::{batch, login, run};
use crate::events::{data, last, ring, watched};

/// Longer than any test runs.
const PATIENCE: Duration = Duration::from_secs(20);

/// Returns these fields of the events of one kind.
fn told(watcher: &mut engine::session::Session, event: &str, fields: &[&str]) -> Vec<Vec<String>> {
    let paths: Vec<String> = fields.iter().map(|field| data(field)).collect();
    let paths: Vec<&str> = paths.iter().map(String::as_str).collect();
    ring(watcher, event, &paths)
}

#[test]
fn modules_are_told_of_by_what_they_are() {
    let (instance, mut watcher) = watched(
        "ADD EVENT sqlserver.module_start, ADD EVENT sqlserver.module_end,
         ADD EVENT sqlserver.sp_statement_completed (WHERE statement LIKE N'%marked%')
         ADD TARGET package0.ring_buffer",
    );
    let mut other = login(&instance);
    for create in [
        "CREATE TABLE dbo.t (a int NOT NULL PRIMARY KEY NONCLUSTERED)",
        "CREATE FUNCTION dbo.twice (@a int) RETURNS int AS BEGIN DECLARE @b int = @a * /* marked */ 2 RETURN @b END",
        "CREATE TRIGGER dbo.watching ON dbo.t AFTER INSERT AS DECLARE @n int = (SELECT COUNT(*) FROM inserted /* marked */)",
        "CREATE PROCEDURE dbo.p AS INSERT dbo.t VALUES (dbo.twice(/* marked */ 21))",
    ] {
        run(&mut other, create);
    }
    run(&mut other, "EXEC dbo.p");
    let ids = last(
        &mut other,
        "SELECT OBJECT_ID('dbo.p'), OBJECT_ID('dbo.twice'), OBJECT_ID('dbo.watching')",
    );
    let [p, twice, watching] = <[String; 3]>::try_from(ids[0].clone()).unwrap();
    let text = "data[@name=\"object_type\"]/text";
    let paths = [&*data("object_name"), text, &*data("object_id"), &*data("source_database_id")];
    let starts = ring(&mut watcher, "module_start", &paths);
    let of = |name: &str, kind: &str, id: &str| [name, kind, id, "1"].map(str::to_owned).to_vec();
    let expected = [
        of("p", "PROC", &p),
        of("twice", "FUNCTION", &twice),
        of("watching", "TRIGGER", &watching),
    ];
    assert_eq!(starts, expected);
    // The innermost module ends first.
    let mut ends = ring(&mut watcher, "module_end", &paths);
    ends.rotate_right(1);
    assert_eq!(ends, expected);
    let statements = ring(&mut watcher, "sp_statement_completed", &paths);
    let expected = [
        of("twice", "FUNCTION", &twice),
        of("watching", "TRIGGER", &watching),
        of("p", "PROC", &p),
    ];
    assert_eq!(statements, expected);
}

#[test]
fn a_plan_is_told_with_what_its_operators_did() {
    let (instance, mut watcher) = watched(
        "ADD EVENT sqlserver.query_post_execution_showplan (SET collect_database_name = 1 ACTION (sqlserver.session_id))
         ADD TARGET package0.ring_buffer",
    );
    let mut other = login(&instance);
    run(&mut other, "CREATE TABLE dbo.t (a int NOT NULL PRIMARY KEY NONCLUSTERED)");
    run(&mut other, "CREATE PROCEDURE dbo.p AS SELECT a FROM dbo.t WHERE a > 1");
    run(&mut other, "INSERT dbo.t VALUES (1), (2), (3)");
    assert_eq!(last(&mut other, "EXEC dbo.p"), [["2"], ["3"]]);
    let id = last(&mut other, "SELECT OBJECT_ID('dbo.p')").remove(0).remove(0);
    let spid = other.state().connection.id.to_string();
    let action = "action[@name=\"session_id\"]/value";
    let numbers = ["source_database_id", "object_id", "nest_level", "object_name", "database_name"];
    let paths: Vec<String> = numbers.iter().map(|field| data(field)).collect();
    let mut paths: Vec<&str> = paths.iter().map(String::as_str).collect();
    paths.extend(["data[@name=\"object_type\"]/text", action]);
    let found = ring(&mut watcher, "query_post_execution_showplan", &paths);
    let of_procedure = ["1", &id, "1", "p", "master", "PROC", &spid].map(str::to_owned).to_vec();
    assert!(found.contains(&of_procedure), "{found:?}");
    let of_batch = ["1", "0", "0", "", "master", "ADHOC", &spid].map(str::to_owned).to_vec();
    assert!(found.contains(&of_batch), "the INSERT: {found:?}");
    let times = told(&mut watcher, "query_post_execution_showplan", &["duration"]);
    assert!(times.iter().all(|row| row[0].parse::<u64>().unwrap() < 60_000_000), "{times:?}");
    // The plan shows actual row counts, not only estimates.
    let plans = last(
        &mut watcher,
        "SELECT COUNT(*) FROM sys.dm_xe_session_targets
         WHERE target_data LIKE '%<ShowPlanXML%ActualRows=\"2\"%' AND target_data LIKE '%StatementText=\"SELECT a FROM dbo.t WHERE a &gt; 1%'",
    );
    assert_eq!(plans, [["1"]]);
}

#[test]
fn a_query_that_kept_much_is_told_of_with_its_grant_and_one_that_kept_little_is_not() {
    let (instance, mut watcher) = watched(
        "ADD EVENT sqlserver.query_memory_grant_usage (ACTION (sqlserver.session_id, sqlserver.sql_text)) ADD TARGET package0.ring_buffer",
    );
    let mut other = login(&instance);
    let sort = |rows: u32| {
        format!(
            "SELECT MAX(n) FROM (SELECT TOP 1000000 value AS n, ROW_NUMBER() OVER (ORDER BY value DESC) AS r
             FROM GENERATE_SERIES(1, {rows})) AS t"
        )
    };
    run(&mut other, &sort(100));
    let fields = ["granted_memory_kb", "used_memory_kb", "usage_percent", "dop"];
    assert!(told(&mut watcher, "query_memory_grant_usage", &fields).is_empty());
    run(&mut other, &sort(300_000));
    let found = told(&mut watcher, "query_memory_grant_usage", &fields);
    assert_eq!(found.len(), 1, "{found:?}");
    let granted: u64 = found[0][0].parse().unwrap();
    // Over 5 MB, and within the limit of a query: a quarter of 1 GB.
    assert!((5 << 10..=256 << 10).contains(&granted), "{found:?}");
    assert_eq!(found[0][1..], [found[0][0].as_str(), "100", "1"]);
    let rest = ring(
        &mut watcher,
        "query_memory_grant_usage",
        &[
            &data("ideal_memory_kb"),
            &data("granted_percent"),
            "action[@name=\"session_id\"]/value",
            "action[@name=\"sql_text\"]/value",
        ],
    );
    let [ideal, percent, session, text] = <[String; 4]>::try_from(rest[0].clone()).unwrap();
    assert_eq!((session, text), (other.state().connection.id.to_string(), sort(300_000)));
    let ideal: u64 = ideal.parse().unwrap();
    let expected = (granted * 100).checked_div(ideal).unwrap_or(100).min(100);
    let percent: u64 = percent.parse().unwrap();
    assert!(percent.abs_diff(expected) <= 1, "{granted} of {ideal}: {percent}");
}

#[test]
fn rows_that_are_compressed_as_they_come_are_told_of_by_their_number() {
    let (instance, mut watcher) = watched(
        "ADD EVENT sqlserver.column_store_index_build_process_segment (ACTION (sqlserver.session_id))
         ADD TARGET package0.ring_buffer",
    );
    let mut other = login(&instance);
    run(&mut other, "CREATE TABLE dbo.packed (a int NOT NULL, INDEX c CLUSTERED COLUMNSTORE)");
    run(&mut other, "INSERT dbo.packed SELECT value FROM GENERATE_SERIES(1, 1000)");
    let fields = ["database_id", "object_id", "rows"];
    let event = "column_store_index_build_process_segment";
    assert!(told(&mut watcher, event, &fields).is_empty(), "so few wait in the delta store");
    run(&mut other, "INSERT dbo.packed SELECT value FROM GENERATE_SERIES(1, 150000)");
    let id = last(&mut other, "SELECT OBJECT_ID('dbo.packed')").remove(0).remove(0);
    let found = told(&mut watcher, event, &fields);
    assert!(found.iter().all(|row| row[..2] == ["1".to_owned(), id.clone()]), "{found:?}");
    let rows: u64 = found.iter().map(|row| row[2].parse::<u64>().unwrap()).sum();
    let compressed = last(
        &mut other,
        "SELECT SUM(total_rows) FROM sys.column_store_row_groups WHERE object_id = OBJECT_ID('dbo.packed') AND state_description = 'COMPRESSED'",
    );
    assert_eq!(compressed, [[rows.to_string()]]);
    assert!(rows >= 102_400, "{found:?}");
    let who = ring(&mut watcher, event, &["action[@name=\"session_id\"]/value", &data("duration")]);
    assert!(who.iter().all(|row| row[0] == other.state().connection.id.to_string()), "{who:?}");
    assert!(who.iter().all(|row| row[1].parse::<u64>().unwrap() < 60_000_000), "{who:?}");
}

#[test]
fn a_lock_that_is_not_granted_says_whether_time_or_its_client_ended_it() {
    let (instance, mut watcher) = watched(
        "ADD EVENT sqlserver.lock_timeout (ACTION (sqlserver.session_id)), ADD EVENT sqlserver.lock_cancel (ACTION (sqlserver.session_id))
         ADD TARGET package0.ring_buffer",
    );
    let mut holder = login(&instance);
    run(&mut holder, "EXEC sp_getapplock 'mine', 'Exclusive', 'Session'");
    let mut late = login(&instance);
    let get = |mode: &str, ms: u32| {
        format!(
            "DECLARE @r int EXEC @r = sp_getapplock 'mine', '{mode}', 'Session', {ms} SELECT @r"
        )
    };
    assert_eq!(last(&mut late, &get("Shared", 50)), [["-1"]]);
    let asks_and_goes = login(&instance);
    let (number, cancel) =
        (asks_and_goes.state().connection.id, Arc::clone(asks_and_goes.cancel()));
    let (sender, receiver) = channel();
    let sql = get("Update", 3_600_000);
    let work = move || {
        let mut session = asks_and_goes;
        let answer = batch(&mut session, &sql);
        let _ = sender.send((session, answer));
    };
    instance.machine.spawn("client", work).unwrap();
    let waiting =
        format!("SELECT COUNT(*) FROM sys.dm_os_waiting_tasks WHERE session_id = {number}");
    let end_ns = sos::clock::deadline_ns(PATIENCE);
    while last(&mut watcher, &waiting)[0][0] != "1" {
        assert!(sos::clock::monotonic_ns() < end_ns, "it waits");
        park::sleep(Duration::from_millis(5), WaitType::SleepTask, None);
    }
    cancel.set();
    receiver.recv_timeout(PATIENCE).unwrap();
    let fields = [
        "data[@name=\"resource_type\"]/text",
        "data[@name=\"mode\"]/text",
        "data[@name=\"owner_type\"]/text",
    ];
    let mut paths = fields.to_vec();
    let (database, action) = (data("database_id"), "action[@name=\"session_id\"]/value");
    paths.extend([database.as_str(), action]);
    let of = |mode: &str, session: i16| {
        ["APPLICATION", mode, "Session", "1", &session.to_string()].map(str::to_owned).to_vec()
    };
    assert_eq!(ring(&mut watcher, "lock_timeout", &paths), [of("S", late.state().connection.id)]);
    assert_eq!(ring(&mut watcher, "lock_cancel", &paths), [of("U", number)]);
    let timed_out = told(&mut watcher, "lock_timeout", &["duration", "resource_description"]);
    let waited: u64 = timed_out[0][0].parse().unwrap();
    assert!((50_000..60_000_000).contains(&waited), "{timed_out:?}");
    assert!(timed_out[0][1].contains("mine"), "{timed_out:?}");
    let cancelled = told(&mut watcher, "lock_cancel", &["resource_0", "resource_1", "resource_2"]);
    assert!(cancelled[0][0].parse::<u32>().unwrap() > 0, "{cancelled:?}");
    assert_eq!(cancelled[0][1..], ["0", "0"]);
}

/// Offsets are counted from the one before, within one text: a statement of another text in between,
/// a loop that goes back, and characters of two units do not move them.
#[test]
fn offsets_of_statements_are_places_in_their_own_text() {
    let (instance, mut watcher) = watched(
        "ADD EVENT sqlserver.sql_statement_completed, ADD EVENT sqlserver.sp_statement_completed
         ADD TARGET package0.ring_buffer",
    );
    let mut other = login(&instance);
    let module = "CREATE PROCEDURE dbo.p AS SELECT N'é😀' AS m SELECT N'😀' AS n";
    run(&mut other, module);
    let texts = [
        "DECLARE @i int = 0\nWHILE @i < 2 BEGIN SELECT N'😀😀é' AS a EXEC dbo.p SELECT N'b' AS b SET @i += 1 END SELECT 9 AS c",
        "SELECT N'😀' AS d EXEC dbo.p; SELECT N'é' AS e;  ",
    ];
    let fields = ["offset", "offset_end", "statement"];
    for text in texts {
        run(&mut other, text);
    }
    let check =
        |event: &str, watcher: &mut engine::session::Session, texts: &[&str], some: usize| {
            let shown = told(watcher, event, &fields);
            let of_texts = shown.iter().filter(|row| row[2].starts_with("SELECT N'"));
            let mut found = 0;
            for row in of_texts {
                let [from, to] = [0, 1].map(|at| row[at].parse::<i64>().unwrap());
                let is_there = texts.iter().any(|text| {
                    let units: Vec<u16> = text.encode_utf16().collect();
                    let from = usize::try_from(from / 2).unwrap();
                    // The offset of the last unit; -1 for the last statement of a text.
                    let to = usize::try_from(to / 2 + 1).ok().filter(|_| to >= 0);
                    let part = units.get(from..to.unwrap_or(units.len())).unwrap_or_default();
                    String::from_utf16_lossy(part).trim_end_matches([' ', ';']) == row[2]
                });
                assert!(is_there, "{event} {row:?}");
                found += 1;
            }
            assert_eq!(found, some, "{event}: {shown:?}");
        };
    check("sql_statement_completed", &mut watcher, &texts, 2 * 2 + 2);
    check("sp_statement_completed", &mut watcher, &[module], 2 * 3);
}
