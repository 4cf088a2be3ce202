//! Modes for experiments: each brings its old behaviour back, and the books say where it is.

use std::process::Stdio;

use types::Value;

use crate::books::Books;
use crate::client::{Client, errors};
use crate::server::{ServerProcess, command, now};

fn run(client: &mut Client, text: &str) {
    let tokens = client.batch(text);
    assert!(errors(&tokens).is_empty(), "{:?}", errors(&tokens));
}

/// The sum of a counter of `sys.dm_os_performance_counters`.
fn counter(client: &mut Client, name: &str) -> i64 {
    let query = format!(
        "(SELECT SUM(cntr_value) FROM sys.dm_os_performance_counters WHERE counter_name = '{name}')"
    );
    match client.value_of(&format!("CONVERT(int, {query} % 1000000000)")) {
        Value::Int(number) => number.into(),
        other => panic!("{name} is {other:?}"),
    }
}

/// Milliseconds that 20,000 hashes take, the pages they take, and the books of that time.
fn hash(arguments: &[&str]) -> (u128, i64, Books) {
    const HASHES: &str = "SELECT MAX(HASHBYTES('SHA2_256', CONVERT(varchar(20), value))) FROM GENERATE_SERIES(1, 20000)";
    let server = ServerProcess::start(arguments);
    let mut client = Client::log_in(server.address);
    run(&mut client, HASHES);
    let books = Books::read(&mut client);
    let pages = counter(&mut client, "Page Allocations/sec");
    let begin = now();
    run(&mut client, HASHES);
    let milliseconds = begin.elapsed().as_millis();
    let pages = counter(&mut client, "Page Allocations/sec") - pages;
    (milliseconds, pages, Books::read(&mut client).since(&books))
}

#[test]
fn page_per_hash_takes_a_page_for_each_row_and_the_books_say_where() {
    let (plain, plain_pages, _) = hash(&[]);
    let (slow, pages, books) = hash(&["--experiment", "page-per-hash"]);
    assert!(plain_pages < 1_000, "{plain_pages}");
    assert!(pages >= 20_000, "{pages}");
    assert!(slow > plain, "{slow} ms with pages, {plain} ms without");
    for cause in ["page_populate", "decommit"] {
        let row = books.row("kernel", cause);
        assert!(row.occurrences >= 20_000 && row.on_cpu > 0, "{cause}: {row:?}");
    }
}

/// How often memory went back to the system in a load of two row groups, and what the load left.
fn load(arguments: &[&str]) -> (i64, i64) {
    let server = ServerProcess::start(arguments);
    let mut client = Client::log_in(server.address);
    run(
        &mut client,
        "CREATE TABLE c (a bigint NOT NULL, b bigint NOT NULL, INDEX i CLUSTERED COLUMNSTORE)",
    );
    let before = Books::read(&mut client);
    run(&mut client, "INSERT c SELECT value, value FROM GENERATE_SERIES(1, 1100000)");
    let books = Books::read(&mut client).since(&before);
    let Value::Int(rows) = client.value_of("(SELECT COUNT(*) FROM c WHERE a = b)") else {
        panic!("a count is an int")
    };
    (books.row("kernel", "decommit").occurrences, rows.into())
}

#[test]
fn decommit_per_segment_gives_memory_back_in_the_midst_of_a_load() {
    let (plain, plain_rows) = load(&[]);
    let (decommits, rows) = load(&["--experiment", "decommit-per-segment"]);
    assert_eq!((plain_rows, rows), (1_100_000, 1_100_000));
    // A load that takes long on a busy machine sees a unit that other work of the server gives back.
    assert!(plain <= 2, "{plain}");
    // Two columns' scratch of 8 MB each, in units of 2 MB.
    assert!(decommits >= 8, "{decommits}");
}

#[test]
fn an_experiment_is_said_at_the_start_and_in_the_help() {
    let server = ServerProcess::start(&["--experiment", "allocator-lock"]);
    let line = "EXPERIMENT: allocator-lock is on; this server is slow on purpose";
    assert!(server.banner.lines().any(|found| found == line), "{}", server.banner);
    let output = command(&["serve", "--help"]).stdin(Stdio::null()).output().expect("it runs");
    let help = String::from_utf8(output.stdout).expect("text");
    let (_, heading) = help.split_once("For experiments only").expect("experiments have a heading");
    assert!(heading.contains("--experiment <MODE>"), "{help}");
    assert!(!ServerProcess::start(&[]).banner.contains("EXPERIMENT"));
}
