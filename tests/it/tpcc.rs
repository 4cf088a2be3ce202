//! The workload `tpcc`: a warehouse is loaded as the specification says, the five transactions run at once from many
//! connections, and its consistency conditions 1 to 4 (clause 3.3.2) hold before and after.

use types::Value;

use crate::client::Client;
use crate::server::{PASSWORD, ServerProcess, command};

/// Runs the workload; its report.
fn stress(server: &ServerProcess, arguments: &[&str]) -> String {
    let target = format!("127.0.0.1,{}", server.address.port());
    let fixed = ["stress", "-S", &target, "-Usa", "-P", PASSWORD, "--workload", "tpcc", "-q"];
    let output = command(&[&fixed[..], arguments].concat()).output().expect("the binary runs");
    let text = |bytes: Vec<u8>| String::from_utf8(bytes).expect("text");
    let (out, err) = (text(output.stdout), text(output.stderr));
    assert!(output.status.success(), "{err}");
    assert!(out.contains(" 0 in trouble"), "{out}");
    out
}

fn number(client: &mut Client, query: &str) -> i32 {
    match client.value_of(&format!("convert(int, ({query}))")) {
        Value::Int(number) => number,
        other => panic!("{query}: {other:?}"),
    }
}

/// Conditions 1 to 4, as counts of what breaks them.
const CONDITIONS: [&str; 5] = [
    "select count(*) from tpcc_warehouse where w_ytd <> (select sum(d_ytd) from tpcc_district where d_w_id = w_id)",
    "select count(*) from tpcc_district where d_next_o_id - 1 <> \
     (select max(o_id) from tpcc_orders where o_w_id = d_w_id and o_d_id = d_id)",
    "select count(*) from tpcc_district where d_next_o_id - 1 <> \
     (select max(no_o_id) from tpcc_new_orders where no_w_id = d_w_id and no_d_id = d_id)",
    "select count(*) from (select max(no_o_id) - min(no_o_id) + 1 as span, count(*) as n from tpcc_new_orders \
     group by no_w_id, no_d_id) x where span <> n",
    "select count(*) from (select o_w_id, o_d_id, sum(o_ol_cnt) as n from tpcc_orders group by o_w_id, o_d_id) o \
     full join (select ol_w_id, ol_d_id, count(*) as n from tpcc_order_line group by ol_w_id, ol_d_id) l \
     on o_w_id = ol_w_id and o_d_id = ol_d_id where o.n <> l.n or o.n is null or l.n is null",
];

fn assert_consistent(client: &mut Client, when: &str) {
    for condition in CONDITIONS {
        assert_eq!(number(client, condition), 0, "{when}: {condition}");
    }
}

#[test]
fn the_five_transactions_leave_a_warehouse_consistent() {
    let server = ServerProcess::start(&[]);
    let mut client = Client::log_in(server.address);
    // Loaded, and run but for a moment.
    stress(&server, &["--setup", "-n", "1", "-r", "1"]);
    assert_consistent(&mut client, "after the load");
    for (table, rows) in [
        ("tpcc_item", 100_000),
        ("tpcc_stock", 100_000),
        ("tpcc_district", 10),
        ("tpcc_customer", 30_000),
    ] {
        assert_eq!(number(&mut client, &format!("select count(*) from {table}")), rows, "{table}");
    }
    let named = "select count(distinct c_last) from tpcc_customer where c_id <= 1000";
    assert_eq!(number(&mut client, named), 1_000, "each of the thousand names");
    let orders = "select count(*) from tpcc_orders";
    let before = number(&mut client, orders);
    let report = stress(&server, &["-n", "8", "-r", "60"]);
    assert!(report.contains("480 requests"), "{report}");
    for part in [
        "New-Order ",
        "Payment ",
        "Order-Status ",
        "Delivery ",
        "Stock-Level ",
        "New-Orders per minute: ",
    ] {
        assert!(report.lines().any(|line| line.starts_with(part)), "{part}: {report}");
    }
    assert!(report.contains("not an audited TPC-C result"), "{report}");
    let added = number(&mut client, orders) - before;
    let asked = report.lines().find(|line| line.starts_with("New-Order ")).expect("a line");
    let asked: i32 = asked.split_whitespace().nth(1).and_then(|n| n.parse().ok()).expect("a count");
    // One in a hundred is rolled back; of fewer than 300 hardly more than 12 are.
    assert!(added <= asked && added >= asked - 12, "{added} of {asked}");
    let delivered =
        "select count(*) from tpcc_orders where o_id > 2100 and o_carrier_id is not null";
    assert!(number(&mut client, delivered) > 0, "something was delivered");
    assert_consistent(&mut client, "after the run");
}

#[test]
fn a_warehouse_that_is_not_there_is_named() {
    let server = ServerProcess::start(&[]);
    let target = format!("127.0.0.1,{}", server.address.port());
    let of = |arguments: &[&str]| {
        let fixed = ["stress", "-S", &target, "-Usa", "-P", PASSWORD];
        command(&[&fixed[..], arguments].concat()).output().expect("the binary runs")
    };
    for (arguments, named) in [
        (&["--workload", "tpcc", "--warehouses", "0"][..], "--warehouses"),
        (&["--workload", "cache", "--warehouses", "2"], "--warehouses is for the workload tpcc"),
        (&["--warehouses", "2", "-Q", "select 1"], "--workload"),
        (&["--setup", "-Q", "select 1"], "--workload"),
    ] {
        let output = of(arguments);
        let said = String::from_utf8_lossy(&output.stderr);
        assert_eq!((output.status.code(), said.lines().count()), (Some(2), 1), "{said}");
        assert!(said.contains(named), "{said}");
    }
    let output = of(&["--workload", "tpcc", "-r", "1", "-q"]);
    let said = String::from_utf8_lossy(&output.stderr);
    assert_eq!(
        said,
        "clearway: the tables or procedures of tpcc are not in the database: --setup creates them\n"
    );
}
