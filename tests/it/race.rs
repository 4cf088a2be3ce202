//! `clearway race`: who is there races, whatever is installed; and one clear line for what can't be.

use std::io::{BufRead, BufReader};
use std::process::Command;

use types::Value;

use crate::client::Client;
use crate::command_line::run;
use crate::server::{PASSWORD, ServerProcess, command};

/// The peers that a race starts itself, and what is not installed says so.
const PEERS: [&str; 5] = ["clearway", "postgresql", "mariadb", "redis", "memcached"];

/// Numbers of a name in JSON.
fn numbers(json: &str, name: &str) -> Vec<f64> {
    let mark = format!("\"{name}\":");
    let parts = json.split(mark.as_str()).skip(1);
    let number = |part: &str| part.split([',', '}']).next().and_then(|text| text.parse().ok());
    parts.map(|part| number(part).expect("a number")).collect()
}

#[test]
fn whoever_is_installed_races_and_nobody_is_left_behind() {
    let folder = std::env::temp_dir().join(format!("clearway-race-test-{}", std::process::id()));
    std::fs::create_dir_all(&folder).expect("a folder");
    let (json_file, page_file) = (folder.join("race.json"), folder.join("page.md"));
    std::fs::write(&page_file, "# Page\n\n## Other\n\nkept\n").expect("a page");
    let (json_name, page_name) = (json_file.display().to_string(), page_file.display().to_string());
    let arguments = [
        "race", "--turn", "300ms", "--rounds", "1", "--rows", "20000", "--json", &json_name,
        "--page", &page_name,
    ];
    let (code, out, err) = run(&arguments);
    assert_eq!(code, 0, "{out}\n{err}");
    let json = std::fs::read_to_string(&json_file).expect("was written");
    for peer in PEERS {
        let is_absent = out.contains(&format!("{peer}: not found: make race-setup installs it"));
        let laps = json.matches(&format!("\"peer\":\"{peer}\"")).count();
        let expected = match (is_absent, peer) {
            (true, _) => 0,
            (false, "memcached") => 3,
            (false, _) => 4,
        };
        assert_eq!(laps, expected, "{peer}: {out}");
    }
    let has_duckdb = !out.contains("duckdb: not found: make race-setup installs it into .venv");
    for (by, is_there) in [("clearway", true), ("duckdb", has_duckdb)] {
        let laps = json.matches(&format!("\"by\":\"{by}\",\"rows\":20000")).count();
        assert_eq!(laps, if is_there { 2 } else { 0 }, "load and scan by {by}: {out}");
    }
    assert!(out.contains("clearway serve --port"), "the command is shown: {out}");
    assert!(!out.contains("Race-Secret"), "a password is not: {out}");
    for name in ["cpu_us", "rate", "requests", "cpu_ms", "rows_per_second"] {
        assert!(numbers(&json, name).iter().all(|number| *number > 0.0), "{name}: {json}");
    }
    let page = std::fs::read_to_string(&page_file).expect("was written");
    assert!(page.contains("## Other\n\nkept") && page.contains("## Race against peers"), "{page}");
    std::fs::remove_dir_all(&folder).expect("the folder is ours");
}

#[test]
fn transactions_of_tpcc_agree_on_all_servers_that_are_installed() {
    let folder = std::env::temp_dir().join(format!("clearway-race-tpcc-{}", std::process::id()));
    std::fs::create_dir_all(&folder).expect("a folder");
    let (json_file, page_file) = (folder.join("race.json"), folder.join("page.md"));
    let (json_name, page_name) = (json_file.display().to_string(), page_file.display().to_string());
    let arguments = ["race", "--tpcc", "--small", "--warehouses", "1", "--calls", "60"];
    let reports = ["--rounds", "1", "-q", "--json", &json_name, "--page", &page_name];
    let (code, out, err) = run(&[&arguments[..], &reports].concat());
    assert_eq!((code, err.as_str()), (0, ""), "{out}");
    let is_there = |peer: &&str| {
        let is_absent = out.contains(&format!("{peer}: not found: make race-setup installs it"));
        if is_absent {
            eprintln!("skipped: {peer} is not installed");
        }
        !is_absent
    };
    let peers: Vec<_> =
        ["clearway", "postgresql", "mariadb"].into_iter().filter(is_there).collect();
    let names = peers.join(", ");
    for proof in [
        format!("loaded rows: 13 sums are the same on {names}"),
        format!("answers to 200 calls: the same on {names}"),
        format!("rows are as acknowledged, and 10 sums are the same on {names}"),
    ] {
        assert!(out.contains(&proof), "{proof}: {out}");
    }
    let json = std::fs::read_to_string(&json_file).expect("was written");
    for peer in peers {
        let laps = json.matches(&format!("\"peer\":\"{peer}\"")).count();
        assert_eq!(laps, 6, "the mix, and each transaction: {out}");
    }
    assert!(numbers(&json, "calls").iter().all(|calls| *calls >= 12.0), "{json}");
    let page = std::fs::read_to_string(&page_file).expect("was written");
    assert!(page.contains("## TPC-C beside PostgreSQL and MariaDB\n"), "{page}");
    std::fs::remove_dir_all(&folder).expect("the folder is ours");
}

#[test]
fn a_server_that_runs_already_can_take_part_and_is_left_as_it_was() {
    let server = ServerProcess::start(&[]);
    let target = format!("127.0.0.1,{}", server.address.port());
    let arguments = [
        "race",
        "counter",
        "session",
        "scan",
        "--peers",
        "clearway",
        "--turn",
        "200ms",
        "--rounds",
        "1",
        "--rows",
        "5000",
        "--encrypt",
        "on",
        "-q",
        "--tds",
        &target,
        "--password",
        PASSWORD,
    ];
    let (code, out, err) = run(&arguments);
    assert_eq!((code, err.as_str()), (0, ""), "{out}");
    assert_eq!(
        out.matches(&format!("tds {}", server.address)).count(),
        4,
        "named, and three laps: {out}"
    );
    assert!(out.contains("on this machine, TLS in TDS"), "{out}");
    let mut client = Client::log_in(server.address);
    let left = client.value_of("(select count(*) from sys.objects where name like 'race%')");
    assert_eq!(left, Value::Int(0));
}

#[test]
fn a_server_that_does_not_say_its_cpu_races_without() {
    let server = ServerProcess::start(&[]);
    let mut client = Client::log_in(server.address);
    client.batch("create database app");
    client.batch("create login plain with password = 'Secret-Word2'");
    client.batch("use app create user plain for login plain alter role db_owner add member plain");
    let target = format!("127.0.0.1,{}", server.address.port());
    let json_file = std::env::temp_dir().join(format!("clearway-no-cpu-{}", std::process::id()));
    let json_name = json_file.display().to_string();
    let arguments = [
        "race",
        "get",
        "load",
        "--peers",
        "clearway",
        "--turn",
        "100ms",
        "--rounds",
        "1",
        "--rows",
        "500",
        "-q",
        "--json",
        &json_name,
        "--tds",
        &target,
        "--user",
        "plain",
        "--password",
        "Secret-Word2",
        "--database",
        "app",
    ];
    let (code, out, err) = run(&arguments);
    assert_eq!((code, err.as_str()), (0, ""), "{out}");
    let name = format!("tds {}", server.address);
    let rows: Vec<_> = out.lines().filter(|line| line.trim_start().starts_with(&name)).collect();
    assert_eq!(rows.len(), 3, "named, and two laps: {out}");
    let said = |row: &&str| row.ends_with("its CPU can't be read from here") && row.contains(" - ");
    assert_eq!(rows.iter().filter(|row| said(row)).count(), 2, "{out}");
    let json = std::fs::read_to_string(&json_file).expect("was written");
    std::fs::remove_file(&json_file).expect("the file is ours");
    assert_eq!(json.matches("\"cpu_us\":null").count(), 1, "{json}");
    assert_eq!(json.matches("\"cpu_ms\":null").count(), 1, "{json}");
}

#[test]
fn what_there_is_not_is_one_line() {
    let cases: [(&[&str], &str); 15] = [
        (&["fly"], "fly"),
        (&["--peers", "oracle"], "oracle"),
        (&["--rounds", "0"], "--rounds"),
        (&["--turn", "soon"], "--turn"),
        (&["--turn", "0"], "--turn"),
        (&["--user", "sa"], "--tds"),
        (&["--tds", "127.0.0.1,x", "--password", "p"], "--tds"),
        (&["--rows", "0"], "--rows"),
        (&["--encrypt", "on"], "--tds"),
        (&["--warehouses", "2"], "--tpcc"),
        (&["--tpcc", "--warehouses", "10"], "--warehouses"),
        (&["--tpcc", "--calls", "0"], "--calls"),
        (&["--tpcc", "--turn", "1s"], "--turn"),
        (&["--tpcc", "--peers", "redis"], "redis"),
        (&["get", "--clearway", "/no-such-file"], "/no-such-file"),
    ];
    for (arguments, named) in cases {
        let (code, out, err) = run(&[&["race"], arguments].concat());
        assert_eq!((code, out.as_str(), err.lines().count()), (2, "", 1), "{arguments:?}: {err}");
        assert!(err.contains(named), "{arguments:?}: {err}");
    }
}

#[test]
fn a_report_that_can_not_be_written_is_one_line_and_the_table_is_there() {
    let arguments = [
        "race",
        "get",
        "--peers",
        "clearway",
        "--turn",
        "100ms",
        "--rounds",
        "1",
        "-q",
        "--json",
        "/no-such-folder/race.json",
    ];
    let (code, out, err) = run(&arguments);
    assert_eq!((code, err.lines().count()), (2, 1), "{err}");
    assert!(err.contains("/no-such-folder/race.json") && out.contains("requests/s"), "{out}{err}");
}

#[test]
fn a_server_that_can_not_be_reached_is_a_failure() {
    let arguments = [
        "race",
        "get",
        "--peers",
        "clearway",
        "--turn",
        "100ms",
        "--rounds",
        "1",
        "-q",
        "--tds",
        "127.0.0.1,1",
        "--password",
        "p",
    ];
    let (code, out, _) = run(&arguments);
    assert_eq!(code, 1, "{out}");
    assert!(out.contains("FAILED tds 127.0.0.1:1:"), "{out}");
    assert!(
        out.lines().any(|line| line.trim_start().starts_with("clearway ")),
        "others race: {out}"
    );
}

#[test]
fn an_interrupt_ends_it_at_once_and_leaves_nothing() {
    let arguments = ["race", "get", "--peers", "clearway", "--turn", "10m", "--rounds", "1"];
    let mut child = command(&arguments).spawn().expect("the binary runs");
    let mut lines = BufReader::new(child.stderr.take().expect("stderr is piped")).lines();
    let runs = |line: String| line.starts_with("get: round 1");
    assert!(lines.by_ref().map_while(Result::ok).any(runs), "it begins");
    let id = child.id().to_string();
    let killed = Command::new("kill").args(["-s", "INT", &id]).status().expect("kill runs");
    assert!(killed.success());
    let output = child.wait_with_output().expect("it ends");
    let text = String::from_utf8_lossy(&output.stdout);
    assert_eq!(output.status.code(), Some(1), "{text}");
    assert!(text.contains("FAILED the race: stopped"), "{text}");
    let left = std::env::temp_dir().join(format!("clearway-race-{id}-clearway"));
    assert!(!left.exists(), "the folder is gone");
}
