//! `sys.dm_db_index_operational_stats` over a known load: each count is compared with what was done.

use crate::client::{instance_on, login, sets, spawn};
use crate::query_profiles::until_blocked;
use engine::session::Session;

/// Per index: inserts, updates, deleted ones, scans of ranges, look-ups.
const COUNTS: &str = "
SELECT OBJECT_NAME(i.object_id), ISNULL(i.name, 'heap'), s.leaf_insert_count, s.leaf_update_count, s.leaf_delete_count + s.leaf_ghost_count, s.range_scan_count, s.singleton_lookup_count
FROM sys.indexes AS i CROSS APPLY sys.dm_db_index_operational_stats(DB_ID(), i.object_id, i.index_id, NULL) AS s
WHERE OBJECTPROPERTY(i.object_id, 'IsMSShipped') = 0 ORDER BY 1, 2";

fn counts(session: &mut Session) -> Vec<String> {
    sets(session, COUNTS).remove(0).into_iter().map(|row| row.join(" ")).collect()
}

/// A table with a clustered index, one on a column that is not unique, one that is, one with a filter.
const SHOP: [&str; 4] = [
    "CREATE DATABASE shop",
    "USE shop; CREATE TABLE stock (id int NOT NULL CONSTRAINT pk PRIMARY KEY, n int NOT NULL, place int NOT NULL, note int NULL, INDEX ix_n (n), INDEX ix_place UNIQUE (place))",
    "CREATE INDEX ix_some ON stock (n) WHERE note = 1",
    "INSERT stock SELECT value, value % 10, value, IIF(value <= 20, 1, NULL) FROM GENERATE_SERIES(1, 100)",
];

/// A heap that refers to it.
const SOLD: &str = "CREATE TABLE sold (stock_id int NOT NULL REFERENCES stock (id), n int)";

fn shop(session: &mut Session) {
    for text in SHOP {
        sets(session, text);
    }
}

#[test]
fn rows_and_entries_are_counted_as_they_change() {
    let instance = instance_on(1, |_| {});
    let mut session = login(&instance);
    shop(&mut session);
    let filled = [
        "stock ix_n 100 0 0 0 0",
        "stock ix_place 100 0 0 0 0",
        "stock ix_some 20 0 0 0 0",
        "stock pk 100 0 0 0 0",
    ];
    assert_eq!(counts(&mut session), filled);
    // Of the view itself nothing is counted, however often it is read.
    assert_eq!(counts(&mut session), filled);
    for text in [
        // One row in place, by the key; then ten rows to another key of one index, by a scan.
        "UPDATE stock SET note = note WHERE id = 50",
        "UPDATE stock SET n = 11 WHERE id BETWEEN 21 AND 30",
        // Out of the index with the filter, and into it.
        "UPDATE stock SET note = 2 WHERE id = 1",
        "UPDATE stock SET note = 1 WHERE id = 99",
        // To another clustered key.
        "UPDATE stock SET id = 1000 WHERE id = 100",
        // Two rows, one of which the index with the filter has.
        "DELETE stock WHERE id IN (2, 60)",
        // Changes count also when they are rolled back.
        "BEGIN TRAN; DELETE stock WHERE id = 61; INSERT stock VALUES (2000, 0, 2000, NULL); ROLLBACK",
        SOLD,
        "INSERT sold VALUES (3, 1), (4, 2)",
        "UPDATE sold SET n = n + 1",
        "DELETE sold WHERE n = 2",
    ] {
        sets(&mut session, text);
    }
    assert_eq!(
        counts(&mut session),
        [
            "sold heap 2 2 1 2 0",
            "stock ix_n 111 0 13 0 0",
            "stock ix_place 101 0 3 0 0",
            "stock ix_some 21 0 2 0 0",
            // Look-ups: four of UPDATE, two and one of DELETE, two of the foreign key. The key that
            // changes is looked up again when the transaction has begun that this takes.
            "stock pk 102 13 4 1 10",
        ]
    );
}

#[test]
fn each_opening_of_a_seek_or_scan_counts() {
    let instance = instance_on(2, |_| {});
    let mut session = login(&instance);
    shop(&mut session);
    for id in 1..=70 {
        sets(&mut session, &format!("SELECT n FROM stock WHERE id = {id}"));
    }
    for text in [
        "SELECT id FROM stock WHERE place = 4",
        "SELECT id FROM stock WHERE place IN (4, 5, 6)",
        "SELECT COUNT(*) FROM stock WHERE n = 3",
        "SELECT COUNT(*) FROM stock WHERE id > 10 AND id < 20",
        "SELECT MAX(note) FROM stock",
        // Each of three rows opens it.
        "SELECT COUNT(*) FROM (VALUES (1), (2), (3)) AS v (n) CROSS APPLY (SELECT TOP 1 id FROM stock WHERE stock.id = v.n) AS s",
    ] {
        sets(&mut session, text);
    }
    let found: Vec<String> = counts(&mut session)
        .iter()
        .map(|row| row.rsplitn(3, ' ').take(2).collect::<Vec<_>>().join(" "))
        .collect();
    // Look-ups and scans of: ix_n, ix_place, ix_some, pk.
    assert_eq!(found, ["0 1", "4 0", "0 0", "73 2"]);
}

#[test]
fn waits_for_rows_are_counted_with_their_time() {
    let instance = instance_on(2, |_| {});
    let mut dba = login(&instance);
    shop(&mut dba);
    let waits = "SELECT row_lock_wait_count, IIF(row_lock_wait_in_ms >= 100, 'long', 'short'), page_lock_wait_count FROM sys.dm_db_index_operational_stats(DB_ID(), OBJECT_ID('stock'), 1, NULL)";
    assert_eq!(sets(&mut dba, waits)[0], [["0", "short", "0"]]);
    let mut holder = login(&instance);
    sets(&mut holder, "USE shop; BEGIN TRAN; UPDATE stock SET note = 5 WHERE id = 7");
    let mut waiter = login(&instance);
    let number = sets(&mut waiter, "USE shop; SELECT @@SPID")[0][0][0].clone();
    let waiting = spawn(&instance, waiter, "UPDATE stock SET note = 6 WHERE id = 7");
    until_blocked(&mut dba, &number);
    sets(&mut dba, "WAITFOR DELAY '00:00:00.150'");
    sets(&mut holder, "COMMIT");
    waiting.recv().expect("it ends");
    assert_eq!(sets(&mut dba, waits)[0], [["1", "long", "0"]]);
    let locks = "SELECT row_lock_count FROM sys.dm_db_index_operational_stats(DB_ID(), OBJECT_ID('stock'), 1, NULL)";
    // 100 rows inserted, and one changed by each.
    assert_eq!(sets(&mut dba, locks)[0], [["102"]]);
}

/// Pages of a tree are added by splits; a heap and a partition of several have no counts of these.
#[test]
fn what_is_not_counted_is_null() {
    let instance = instance_on(1, |_| {});
    let mut session = login(&instance);
    for text in [
        "CREATE DATABASE shop",
        "USE shop; CREATE PARTITION FUNCTION halves (int) AS RANGE LEFT FOR VALUES (50)",
        "CREATE PARTITION SCHEME in_halves AS PARTITION halves ALL TO ([PRIMARY])",
        "CREATE TABLE parts (id int NOT NULL PRIMARY KEY) ON in_halves (id)",
        "CREATE TABLE heap (id int)",
        "CREATE TABLE tree (id int PRIMARY KEY)",
        "CREATE TABLE columns (id int, INDEX c CLUSTERED COLUMNSTORE)",
        "INSERT tree SELECT value FROM GENERATE_SERIES(1, 2000)",
    ] {
        sets(&mut session, text);
    }
    let rows = sets(
        &mut session,
        "SELECT OBJECT_NAME(object_id), partition_number, leaf_insert_count, IIF(leaf_allocation_count > 10, 'many', 'few'), IIF(nonleaf_insert_count >= leaf_allocation_count, 'all', 'not'), IIF(leaf_allocation_count IS NULL, 'NULL', 'known')
         FROM sys.dm_db_index_operational_stats(DB_ID(), NULL, NULL, NULL) ORDER BY 1, 2",
    )
    .remove(0);
    let rows: Vec<String> = rows.into_iter().map(|row| row.join(" ")).collect();
    assert_eq!(
        rows,
        [
            "columns 1 NULL few not NULL",
            "heap 1 0 few not NULL",
            "parts 1 NULL few not NULL",
            "parts 2 NULL few not NULL",
            "tree 1 2000 many all known",
        ]
    );
}
