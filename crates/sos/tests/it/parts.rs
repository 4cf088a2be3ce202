//! Tests that the ledger measures the labels of long requests by their parts.

use sos::ledger::Category;

use crate::machine::{LOOK_UP, PARSE, SCAN, Server};

/// The time on a CPU under some labels, in ns.
fn on_cpu(server: &Server, names: &[&str]) -> Vec<u64> {
    let books = server.machine.accounts().close();
    let of = |name: &&str| {
        let is_it =
            |row: &&sos::ledger::LedgerRow| row.category == Category::User && row.name == *name;
        books.rows.iter().find(is_it).map_or(0, |row| row.on_cpu_ns)
    };
    names.iter().map(of).collect()
}

/// The time that labels gain by one request, after many short ones that parse.
fn gain_of(request: u8, names: &[&str]) -> Vec<u64> {
    let server = Server::start(1);
    let client = server.client();
    for _ in 0..400 {
        assert_eq!(client.ask(&[PARSE]), b"done");
    }
    let before = on_cpu(&server, names);
    assert_eq!(client.ask(&[request]), b"done");
    let after = on_cpu(&server, names);
    server.stop();
    after.iter().zip(&before).map(|(after, before)| after - before).collect()
}

#[test]
fn a_long_scan_is_not_taken_for_the_short_requests_before_it() {
    let gain = gain_of(SCAN, &["scan", "parse"]);
    let [scan, parse] = gain[..] else { panic!("{gain:?}") };
    assert!(scan > 9 * parse, "{gain:?}");
}

#[test]
fn labels_that_change_in_a_long_request_are_split_by_its_own_parts() {
    let gain = gain_of(LOOK_UP, &["index", "row", "parse"]);
    let [index, row, parse] = gain[..] else { panic!("{gain:?}") };
    let known = index + row;
    assert!(known > 7 * parse, "{gain:?}");
    assert!(index.abs_diff(row) < known / 4, "{gain:?}");
}
