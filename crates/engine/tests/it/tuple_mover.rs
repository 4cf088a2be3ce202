//! The tuple mover through the boundary: closed delta stores become row groups while sessions run.

use sos::park::Cancel;

use crate::client::{batch, login, run};
use crate::events::{data, last, ring, watched};

/// Rows of a full row group.
const GROUP_ROWS: i64 = 1 << 20;

/// Fills the delta store of a table with this many rows: by inserts too small to be compressed
/// directly.
fn fill(session: &mut engine::session::Session, table: &str, rows: i64) {
    let mut first = 1;
    while first <= rows {
        let last = (first + 99_999).min(rows);
        run(
            session,
            &format!(
                "INSERT {table} SELECT value, value % 10 FROM \
                 GENERATE_SERIES(CAST({first} AS bigint), CAST({last} AS bigint))"
            ),
        );
        first = last + 1;
    }
}

fn groups(session: &mut engine::session::Session, table: &str) -> Vec<Vec<String>> {
    last(
        session,
        &format!(
            "SELECT state_desc, total_rows, trim_reason_desc, transition_to_compressed_state_desc \
             FROM sys.dm_db_column_store_row_group_physical_stats \
             WHERE object_id = OBJECT_ID('{table}') ORDER BY state"
        ),
    )
}

#[test]
fn closed_delta_store_is_compressed_behind_sessions_that_change_it() {
    let (instance, mut watcher) = watched(
        "ADD EVENT sqlserver.columnstore_tuple_mover_begin_compress,
         ADD EVENT sqlserver.columnstore_tuple_mover_end_compress ADD TARGET package0.ring_buffer",
    );
    let mut session = login(&instance);
    let create = "CREATE TABLE dbo.t (id bigint NOT NULL, n int, INDEX c CLUSTERED COLUMNSTORE)";
    run(&mut session, create);
    fill(&mut session, "dbo.t", GROUP_ROWS + 50_000);
    let stopping = Cancel::new();
    run(&mut session, "DBCC TRACEON (634, -1)");
    engine::move_tuples(&instance, &stopping);
    let found = groups(&mut session, "dbo.t");
    let states: Vec<&str> = found.iter().map(|group| group[0].as_str()).collect();
    assert_eq!(states, ["OPEN", "CLOSED"], "trace flag 634 keeps it from compressing");
    run(&mut session, "DBCC TRACEOFF (634, -1)");
    std::thread::scope(|scope| {
        let mover = scope.spawn(|| {
            instance.machine.accounts().adopt("tuple mover");
            engine::move_tuples(&instance, &stopping);
        });
        let mut changes = login(&instance);
        let mut round = 0;
        // At least one change and one look, and more as long as rows move.
        while round == 0 || !mover.is_finished() {
            round += 1;
            let change = format!("UPDATE dbo.t SET n = n WHERE id % 5000 = {round}");
            assert!(batch(&mut changes, &change).errors.is_empty(), "{change}");
            let seen = last(&mut session, "SELECT COUNT(*), SUM(id) FROM dbo.t");
            let rows = GROUP_ROWS + 50_000;
            assert_eq!(seen, [[rows.to_string(), (rows * (rows + 1) / 2).to_string()]]);
        }
        mover.join().unwrap();
    });
    let found = groups(&mut session, "dbo.t");
    assert_eq!(found[1][..1], ["COMPRESSED"]);
    assert_eq!(found[1][1..], [GROUP_ROWS.to_string().as_str(), "NO_TRIM", "TUPLE_MOVER"]);
    let begun = ring(&mut watcher, "columnstore_tuple_mover_begin_compress", &[&data("rows")]);
    assert_eq!(begun, [[GROUP_ROWS.to_string()]]);
    let fields = ["object_id", "rows", "rows_stayed", "size_in_bytes"].map(data);
    let fields: Vec<&str> = fields.iter().map(String::as_str).collect();
    let ended = ring(&mut watcher, "columnstore_tuple_mover_end_compress", &fields);
    let id = last(&mut session, "SELECT OBJECT_ID('dbo.t')").remove(0).remove(0);
    let number = |at: usize| ended[0][at].parse::<i64>().unwrap();
    assert_eq!((ended.len(), &ended[0][0]), (1, &id));
    assert_eq!(number(1) + number(2), GROUP_ROWS);
    assert!(number(3) > 0);
}

#[test]
fn compression_delay_keeps_the_mover_away_and_reorganize_does_not_wait_for_it() {
    let instance = crate::events::joined();
    let mut session = login(&instance);
    run(
        &mut session,
        "CREATE TABLE dbo.d (id bigint NOT NULL, n int,
         INDEX c CLUSTERED COLUMNSTORE WITH (COMPRESSION_DELAY = 60 MINUTES))",
    );
    fill(&mut session, "dbo.d", GROUP_ROWS);
    engine::move_tuples(&instance, &Cancel::new());
    assert_eq!(groups(&mut session, "dbo.d")[0][..1], ["CLOSED"]);
    run(&mut session, "ALTER INDEX c ON dbo.d REORGANIZE");
    let expected = ["COMPRESSED", "1048576", "NO_TRIM", "REORG_NORMAL"];
    assert_eq!(groups(&mut session, "dbo.d"), [expected]);
    run(&mut session, "DELETE FROM dbo.d WHERE id % 2 = 0");
    let seen = last(&mut session, "SELECT COUNT(*), MAX(id) FROM dbo.d");
    assert_eq!(seen, [["524288", "1048575"]]);
}
