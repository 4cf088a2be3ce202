//! Every production of the grammar, grown until it is long or deep: there is an answer or an error in time, and the
//! server lives on and serves others. `make growth` grows them further.

use std::env;
use std::time::Duration;

use tsql::Growth;
use types::Value;

use crate::client::{Client, error_numbers, errors, rows};
use crate::server::{ServerProcess, now};

/// How many items or levels, where the environment does not say.
const SIZES: [usize; 3] = [300, 1_000, 5_000];
/// How many levels of what nests, beside the sizes.
const LEVELS: [usize; 3] = [10, 30, 60];
/// How long a text may take: compiled without optimisation, beside other tests.
const TIME_MAX: Duration = Duration::from_secs(15);
/// Takes away what a text may have made, so that the next of its kind is not refused for that. Where there is nothing
/// to take away, the error is no matter.
const CLEANING: [&str; 6] = [
    "WHILE @@TRANCOUNT > 0 ROLLBACK; DELETE u; DROP TABLE IF EXISTS #u",
    "DROP VIEW IF EXISTS v, v2, v3; DROP PROCEDURE IF EXISTS p, p1, p2, p3, p4, p5, p6, p7",
    "DROP FUNCTION IF EXISTS f1, f2, f3, f4; DROP INDEX IF EXISTS i ON u; DROP SEQUENCE IF EXISTS q",
    "DROP TRIGGER IF EXISTS g; DROP USER IF EXISTS u; DROP STATISTICS u.s",
    "DEALLOCATE c",
    "DROP EVENT SESSION e1 ON SERVER",
];
/// What asks for the sizes, as numbers with commas between them.
const SIZES_NAME: &str = "CLEARWAY_GROWTH";

fn sizes() -> Vec<usize> {
    match env::var(SIZES_NAME) {
        Ok(sizes) => sizes.split(',').map(|size| size.parse().expect("a number")).collect(),
        Err(_) => SIZES.to_vec(),
    }
}

/// A server with the tables that the productions are about, and a session of it.
fn start() -> (ServerProcess, Client) {
    let server = ServerProcess::start(&["--schedulers", "2"]);
    let mut client = Client::log_in(server.address);
    let tables = "CREATE TABLE t (a int, b int, c varchar(50), x xml); \
                  CREATE TABLE u (a int, b int, c varchar(50), x xml); \
                  INSERT t VALUES (1, 2, 'x', NULL); \
                  CREATE TABLE w (a int, b int, INDEX c CLUSTERED COLUMNSTORE); \
                  INSERT w SELECT value, value FROM GENERATE_SERIES(1, 600)";
    assert_eq!(error_numbers(&client.batch(tables)), []);
    (server, client)
}

/// Sends a text and demands an answer in time, then one to another session.
fn survives(text: &str, client: &mut Client, canary: &mut Client) {
    let shown: String = text.chars().take(150).collect();
    let began = now();
    client.batch(text);
    let took = now() - began;
    assert!(took < TIME_MAX, "{took:?} for {} bytes of {shown}", text.len());
    assert_eq!(canary.value_of("1 + 1"), Value::Int(2), "after {shown}");
    for text in CLEANING {
        client.batch(text);
    }
}

#[test]
fn grown_productions_are_answered() {
    let (server, mut client) = start();
    let mut canary = Client::log_in(server.address);
    for production in tsql::productions() {
        // What nests is refused beyond some 100 levels: below that, no time may double with each.
        let levels = match production.growth {
            Growth::List { .. } => &[][..],
            Growth::Nest { .. } => &LEVELS[..],
        };
        for size in levels.iter().copied().chain(sizes()) {
            survives(&production.grown(size), &mut client, &mut canary);
        }
    }
    let log = server.log();
    assert!(!log.iter().any(|line| line.contains("panicked")), "{log:?}");
    assert!(!log.iter().any(|line| line.contains("reserve of its stack")), "{log:?}");
}

#[test]
fn grown_queries_are_shown_and_described() {
    let (server, mut client) = start();
    let mut canary = Client::log_in(server.address);
    for production in tsql::productions() {
        let text = production.grown(1_000);
        if !text.starts_with("SELECT") && !text.starts_with("WITH") {
            continue;
        }
        client.batch("SET SHOWPLAN_ALL ON");
        survives(&text, &mut client, &mut canary);
        client.batch("SET SHOWPLAN_ALL OFF");
        let quoted = text.replace('\'', "''");
        let described = format!("EXEC sp_describe_first_result_set N'{quoted}'");
        survives(&described, &mut client, &mut canary);
    }
}

/// What SQL Server runs runs here. The values follow from the one row of the table.
#[test]
fn long_chains_run() {
    let (_server, mut client) = start();
    let joined = |item: &str, separator: &str, count: usize| vec![item; count].join(separator);
    let branches = joined("SELECT a FROM t", " UNION ALL ", 10_000);
    let sum = joined("a", " + ", 5_000);
    let text = joined("c", " + ", 5_000);
    let nothing = joined("NULLIF(a, 1)", ", ", 5_000);
    let either = joined("a = 7", " OR ", 5_000);
    let joins: String = (0..100).map(|n| format!(" JOIN w AS w{n} ON w{n}.a = s.a")).collect();
    let conditions = "w7.b <= 10 AND q.v > 4 AND w5.a NOT IN (SELECT b FROM t) \
                      AND EXISTS (SELECT 1 FROM t WHERE t.a <> w9.a)";
    let applied = "CROSS APPLY (SELECT s.a + w3.b AS v) AS q";
    let queries = [
        // Of 1 to 10, those whose double is more than 4.
        (format!("SELECT COUNT(*) FROM w AS s{joins} {applied} WHERE {conditions}"), Value::Int(8)),
        (format!("SELECT COUNT(*) FROM ({branches}) AS q"), Value::Int(10_000)),
        (format!("SELECT {sum} FROM t"), Value::Int(5_000)),
        (format!("SELECT LEN({text}) FROM t"), Value::Int(5_000)),
        (format!("SELECT SUM({sum}) FROM w WHERE a < 3"), Value::Int(15_000)),
        (format!("SELECT COALESCE({nothing}, b) FROM t"), Value::Int(2)),
        (format!("SELECT COUNT(*) FROM t WHERE {either} OR a = 1"), Value::Int(1)),
    ];
    for (query, expected) in queries {
        let answer = client.batch(&query);
        let shown: String = query.chars().take(60).collect();
        assert!(errors(&answer).is_empty(), "{shown}: {:?}", errors(&answer));
        assert_eq!(rows(&answer).first().map(|row| row[0].clone()), Some(expected), "{shown}");
    }
    // CTEs that name the one before twice double with each level.
    let doubled =
        (1..40).map(|n| format!(", c{n} AS (SELECT x.a FROM c{} AS x, c{} AS y)", n - 1, n - 1));
    let doubled: String = doubled.collect();
    let doubled = client.batch(&format!("WITH c0 AS (SELECT a FROM t){doubled} SELECT a FROM c39"));
    assert_eq!(error_numbers(&doubled), [8623]);
    let inserted = client.batch(&format!("INSERT u (a) {branches}"));
    assert_eq!(error_numbers(&inserted), []);
    let both = joined("SELECT a FROM t", " UNION ", 5_000);
    assert_eq!(rows(&client.batch(&both)).len(), 1);
}
