//! `clearway stress` against a running server: every workload, every kind of connection, every output, and
//! one clear line for what can't be.

use std::process::Output;

use types::Value;

use crate::client::Client;
use crate::server::{PASSWORD, ServerProcess, command};

/// Runs the verb against a server.
fn stress(server: &ServerProcess, arguments: &[&str]) -> Output {
    let target = format!("127.0.0.1,{}", server.address.port());
    let fixed = ["stress", "-S", &target, "-Usa", "-P", PASSWORD];
    command(&[&fixed[..], arguments].concat()).output().expect("the binary runs")
}

fn text(bytes: &[u8]) -> &str {
    std::str::from_utf8(bytes).expect("text")
}

/// Checks that a run ended well and had no trouble; returns its report.
fn report(output: &Output) -> String {
    assert!(output.status.success(), "{}", text(&output.stderr));
    let report = text(&output.stdout).to_owned();
    assert!(report.contains(" 0 in trouble"), "{report}");
    report
}

#[test]
fn every_workload_sets_itself_up_and_runs() {
    let server = ServerProcess::start(&[]);
    for (name, kinds) in [
        ("session-state", &["read", "write"][..]),
        ("cache", &["get", "set"]),
        ("counter", &[]),
        ("queue", &["put", "take"]),
    ] {
        let without = stress(&server, &["--workload", name, "-n", "1", "-r", "2", "-q"]);
        let hint = format!(
            "clearway: the tables or procedures of {name} are not in the database: --setup creates them\n"
        );
        assert_eq!(text(&without.stderr), hint);
        let arguments = ["--workload", name, "--setup", "-n", "4", "--duration", "500ms", "-q"];
        let output = stress(&server, &arguments);
        let report = report(&output);
        assert!(report.contains(&format!("work: {name}")), "{report}");
        for kind in kinds {
            assert!(report.lines().any(|line| line.starts_with(kind)), "{kind}: {report}");
        }
        assert_eq!(text(&output.stderr), "", "-q says nothing while it runs");
    }
}

#[test]
fn counted_iterations_are_what_the_server_saw() {
    let server = ServerProcess::start(&[]);
    let mut client = Client::log_in(server.address);
    client.batch("create table hits (n int not null) insert hits values (0)");
    for (pool, encrypt) in [
        ("keep", "off"),
        ("reset", "off"),
        ("reconnect", "off"),
        ("reset", "on"),
        ("keep", "strict"),
    ] {
        let before = client.value_of("(select n from hits)");
        let output = stress(
            &server,
            &[
                "-Qupdate hits set n = n + 1\ngo 2",
                "-n3",
                "-r5",
                "--pool",
                pool,
                "--encrypt",
                encrypt,
            ],
        );
        report(&output);
        let (Value::Int(before), Value::Int(after)) =
            (before, client.value_of("(select n from hits)"))
        else {
            panic!("a count is a number");
        };
        assert_eq!(after - before, 3 * 5 * 2, "{pool} {encrypt}");
    }
}

/// Session ids are reused: as many different ids as rows means that all sessions were open together.
#[test]
fn ten_thousand_connections_are_open_at_once_from_one_process() {
    let server = ServerProcess::start(&[]);
    let mut client = Client::log_in(server.address);
    client.batch("create table sessions (id int not null)");
    let insert = "insert sessions values (@@spid)";
    let output = stress(&server, &["-Q", insert, "-n", "10000", "-r", "2", "-l", "120", "-q"]);
    report(&output);
    assert_eq!(client.value_of("(select count(*) from sessions)"), Value::Int(20_000));
    assert_eq!(client.value_of("(select count(distinct id) from sessions)"), Value::Int(10_000));
}

#[test]
fn errors_are_in_the_report_and_end_a_run_that_asks_for_it() {
    let server = ServerProcess::start(&[]);
    stress(&server, &["-Qcreate table odd (n int identity)", "-r1"]);
    let some = "insert odd default values select 1 / (max(n) % 2) from odd";
    let output = stress(&server, &["-Q", some, "-r", "6"]);
    assert_eq!(output.status.code(), Some(0), "some worked: {}", text(&output.stderr));
    assert!(text(&output.stdout).contains("error 8134: 3 times"), "{}", text(&output.stdout));
    let output = stress(&server, &["-Q", "select 1/0", "-r", "3", "-q"]);
    let said = "clearway: no request succeeded: error 8134: Divide by zero error encountered.\n";
    assert_eq!((output.status.code(), text(&output.stderr)), (Some(2), said));
    let found = text(&output.stdout);
    assert!(found.contains("error 8134: 3 times: Divide by zero error encountered."), "{found}");
    let output = stress(&server, &["-Q", "select 1/0", "-r", "3", "-b"]);
    assert_eq!(output.status.code(), Some(1));
    assert!(text(&output.stdout).contains("error 8134: 1 times"), "{}", text(&output.stdout));
}

#[test]
fn files_patterns_and_outputs() {
    let server = ServerProcess::start(&[]);
    let folder = std::env::temp_dir().join(format!("clearway-stress-{}", std::process::id()));
    std::fs::create_dir_all(&folder).expect("a folder");
    for (name, script) in
        [("a.sql", "select 1\ngo\nselect 2"), ("b.sql", "{call sp_reset_connection}")]
    {
        std::fs::write(folder.join(name), script).expect("a file");
    }
    let pattern = format!("-i{}/*.sql", folder.display());
    let out = folder.join("out");
    let output = stress(&server, &[&pattern, "-n2", "-r2", "-o", out.to_str().expect("text")]);
    let report = report(&output);
    assert!(report.contains("4 connections"), "each file has its own connections: {report}");
    // Two connections with two iterations each of two batches, and two with one call.
    assert!(report.contains("12 requests"), "{report}");
    let json = std::fs::read_to_string(out.join("report.json")).expect("a report");
    assert!(json.contains("\"never_sent\":0") && json.contains("\"usl\":null"), "{json}");
    assert_eq!(std::fs::read_to_string(out.join("report.txt")).expect("a report"), report);
    std::fs::remove_dir_all(&folder).expect("the folder is ours");
}

#[test]
fn a_sweep_fits_the_law_and_an_open_loop_tells_both_latencies() {
    let server = ServerProcess::start(&[]);
    let sweep = ["-Qselect 1", "--sweep", "1,2,4", "--duration", "300ms", "--warmup", "100ms"];
    let found = report(&stress(&server, &sweep));
    assert!(found.contains("Universal Scalability Law"), "{found}");
    let open = ["-Qselect 1", "-n", "4", "--rate", "200", "--duration", "1s"];
    let found = report(&stress(&server, &open));
    assert!(found.contains("as a closed loop would report it"), "{found}");
}

#[test]
fn what_can_not_be_is_one_line_and_exit_2() {
    let server = ServerProcess::start(&["--encryption", "required"]);
    for (arguments, named) in [
        (&["-Q", "select 1", "-r1"][..], "encrypt"),
        (&["-Q", "go", "-r1"], "-Q has nothing to send"),
        (&["-i", "no-such-file.sql"], "no-such-file.sql"),
        (&["-i", "no-such-*.sql"], "no-such-*.sql"),
        (&[], "nothing to send"),
        (&["-Q", "select 1", "--rate", "0"], "--rate"),
        (&["-Q", "select 1", "--warmup", "soon"], "until-steady"),
        (&["-Q", "select 1", "--workload", "cache"], "--workload"),
        (&["-Q", "select 1", "-n", "0"], "at least one connection"),
        (&["-Q", "select 1", "-Ssrv\\inst"], "-S"),
        (&["-Q", "select 1", "-r1", "--encrypt", "on", "-Pwrong"], "18456"),
        (&["-Q", "select 1", "-r1", "--encrypt", "on", "-dnowhere"], "4060"),
    ] {
        let output = stress(&server, arguments);
        let said = text(&output.stderr);
        assert_eq!(output.status.code(), Some(2), "{arguments:?}: {said}");
        assert_eq!(said.lines().count(), 1, "{arguments:?}: {said}");
        assert!(said.contains(named), "{arguments:?}: {said}");
    }
}

#[test]
fn a_server_that_is_not_there_is_one_line() {
    let arguments = ["stress", "-S", "127.0.0.1,1", "-P", "x", "-Q", "select 1"];
    let output = command(&arguments).output().expect("the binary runs");
    assert_eq!(output.status.code(), Some(2));
    let said = text(&output.stderr);
    assert!(said.contains("refused") && said.lines().count() == 1, "{said}");
}

#[test]
fn an_output_that_can_not_be_written_is_named_after_the_run() {
    let server = ServerProcess::start(&[]);
    let output = stress(&server, &["-Qselect 1", "-r1", "--json", "/no/such/folder/r.json"]);
    assert_eq!(output.status.code(), Some(2));
    assert!(text(&output.stdout).contains("1 requests"), "the report so far is not lost");
    assert!(text(&output.stderr).contains("/no/such/folder/r.json"));
}

/// A folder of this test's own.
fn folder(name: &str) -> std::path::PathBuf {
    let folder = std::env::temp_dir().join(format!("clearway-{name}-{}", std::process::id()));
    std::fs::create_dir_all(&folder).expect("a folder");
    folder
}

#[test]
fn a_workload_file_is_set_up_drawn_and_torn_down() {
    let server = ServerProcess::start(&[]);
    let folder = folder("mix");
    let file = folder.join("mix.toml");
    let mix = r#"
setup = """
create table b (id int not null primary key, body varbinary(50), who nvarchar(40), g uniqueidentifier)
GO
create table seen (n bigint not null)
GO
insert b select value, 0x00, N'none', null from generate_series(1, 10)
GO
create procedure p @n bigint as insert seen values (@n)
"""
teardown = "create table torn (x int)"
[[statement]]
name = "write"
weight = 2
sql = "update b set body = @body, who = @who, g = @g where id = @id"
[statement.parameters]
id = { type = "int", draw = "zipf", to = 10, skew = 1.5 }
body = { type = "varbinary", length = [3, 50] }
who = { type = "nvarchar", prefix = "user", to = 5 }
g = { type = "uniqueidentifier" }
[[statement]]
name = "count"
procedure = "p"
[statement.parameters]
n = { type = "bigint", draw = "sequence", to = 1000000 }
"#;
    std::fs::write(&file, mix).expect("a file");
    let name = file.display().to_string();
    let arguments =
        ["--workload", &name, "--setup", "-n", "4", "-r", "200", "-q", "--threads", "2"];
    let found = report(&stress(&server, &arguments));
    assert!(
        found.contains("800 requests") && found.lines().any(|l| l.starts_with("count")),
        "{found}"
    );
    let mut client = Client::log_in(server.address);
    let ask = |client: &mut Client, query: &str| client.value_of(query);
    // What was drawn from a sequence is all there is, each once, over both threads.
    let gaps = "(select max(n) - count(*) + count(*) - count(distinct n) from seen)";
    assert_eq!(ask(&mut client, &format!("convert(int, {gaps})")), Value::Int(0));
    let wrong = "(select count(*) from b where who like N'user[1-5]' and datalength(body) between 3 and 50)";
    let Value::Int(written) = ask(&mut client, wrong) else { panic!("a count is an int") };
    assert!(written >= 5, "{written} of 10 rows were written as the file says");
    assert_eq!(ask(&mut client, "(select count(*) from torn)"), Value::Int(0), "the teardown ran");
    std::fs::write(&file, mix.replace("zipf", "zapf")).expect("a file");
    let output = stress(&server, &["--workload", &name]);
    let line = text(&output.stderr);
    assert_eq!((output.status.code(), line.lines().count()), (Some(2), 1), "{line}");
    assert!(line.contains("'zapf'") && line.contains("parameter 'id'"), "{line}");
    std::fs::remove_dir_all(&folder).expect("the folder is ours");
}

#[test]
fn threads_share_the_connections_out_and_report_as_one() {
    let server = ServerProcess::start(&[]);
    let mut client = Client::log_in(server.address);
    client.batch("create table hits (n int not null) insert hits values (0)");
    let folder = folder("threads");
    let json = folder.join("report.json").display().to_string();
    let query = "update hits set n = n + 1";
    let output =
        stress(&server, &["-Q", query, "-n7", "-r30", "--threads", "3", "--json", &json, "-q"]);
    let found = report(&output);
    assert!(found.contains("210 requests") && found.contains("the server: "), "{found}");
    assert_eq!(client.value_of("(select n from hits)"), Value::Int(210));
    assert!(std::fs::read_to_string(&json).expect("was written").contains("\"threads\":3"));
    let open =
        ["-Q", "select 1", "-n6", "--threads", "2", "--rate", "300", "--duration", "2s", "-q"];
    let found = report(&stress(&server, &open));
    let line = found.lines().find(|line| line.starts_with("6 connections")).expect("a level");
    let rate: f64 = line
        .split_once(" requests, ")
        .and_then(|(_, rest)| rest.split('/').next())
        .and_then(|r| r.parse().ok())
        .expect("a rate");
    assert!((rate - 300.0).abs() < 30.0, "both threads together keep the rate: {rate}");
    std::fs::remove_dir_all(&folder).expect("the folder is ours");
}

#[test]
fn the_html_report_has_charts_counters_and_nothing_from_outside() {
    let server = ServerProcess::start(&[]);
    let folder = folder("html");
    let path = folder.join("report.html").display().to_string();
    let arguments =
        ["-Q", "select 1", "--sweep", "1,2,4", "--duration", "1100ms", "--html", &path, "-q"];
    report(&stress(&server, &arguments));
    let page = std::fs::read_to_string(&path).expect("was written");
    for part in ["<svg", "Over connections", "the law", "Batch Requests/sec", "p99.9", "residual"] {
        assert!(page.contains(part), "{part}");
    }
    for outside in ["http:", "https:", "src=", "<link", "@import"] {
        assert!(!page.contains(outside), "{outside}");
    }
    let output = stress(&server, &["-Q", "select 1", "-r1", "-q", "--html", "/nowhere/x.html"]);
    assert_eq!(output.status.code(), Some(2));
    std::fs::remove_dir_all(&folder).expect("the folder is ours");
}

#[test]
fn every_switch_of_ostress_is_taken_attached_and_apart() {
    let server = ServerProcess::start(&[]);
    let mut client = Client::log_in(server.address);
    client.batch("create database app");
    client.batch("create login lo with password = 'Secret-Word2'");
    client.batch("use app create user lo for login lo alter role db_owner add member lo");
    client.batch("use app create table hits (n int not null, who sysname not null)");
    let folder = folder("switches");
    let script = folder.join("a.sql").display().to_string();
    std::fs::write(
        &script,
        "\u{feff}insert hits values (1, suser_sname())\nGO\ninsert hits values (2, db_name())\n",
    )
    .expect("a file");
    let target = format!("tcp:127.0.0.1,{}", server.address.port());
    let values = [
        ("-S", target.as_str()),
        ("-U", "lo"),
        ("-P", "Secret-Word2"),
        ("-d", "app"),
        ("-i", &script),
        ("-n", "3"),
        ("-r", "4"),
        ("-l", "20"),
        ("-t", "30"),
    ];
    for (round, is_attached) in [(1, true), (2, false)] {
        let out = folder.join(format!("out{round}")).display().to_string();
        let mut arguments = vec!["stress".to_owned(), "-q".to_owned(), "-b".to_owned()];
        for (switch, value) in values.into_iter().chain([("-o", out.as_str())]) {
            match is_attached {
                true => arguments.push(format!("{switch}{value}")),
                false => arguments.extend([switch.to_owned(), value.to_owned()]),
            }
        }
        let arguments: Vec<&str> = arguments.iter().map(String::as_str).collect();
        let output = command(&arguments).output().expect("the binary runs");
        assert_eq!(text(&output.stderr), "", "-q says nothing");
        assert!(report(&output).contains("24 requests"), "{}", text(&output.stdout));
        assert!(std::path::Path::new(&out).join("report.json").exists(), "-o has the reports");
        let count = |client: &mut Client, what: &str| {
            client.value_of(&format!("(select count(*) from app.dbo.hits where {what})"))
        };
        assert_eq!(count(&mut client, "n = 1 and who = 'lo'"), Value::Int(12 * round));
        assert_eq!(count(&mut client, "n = 2 and who = 'app'"), Value::Int(12 * round));
    }
    // The case of a switch counts: -Q is a text, -q is silence; -D is no switch.
    for wrong in ["-D", "-X"] {
        let output = stress(&server, &[wrong, "app", "-Qselect 1"]);
        assert_eq!(output.status.code(), Some(2), "{wrong}");
        assert!(text(&output.stderr).contains(wrong), "{}", text(&output.stderr));
    }
    let slow = stress(&server, &["-Q", "waitfor delay '00:00:30'", "-r1", "-t1", "-q"]);
    assert!(text(&slow.stdout).contains("1 requests took too long"), "{}", text(&slow.stdout));
    assert_eq!(text(&slow.stderr), "clearway: no request succeeded: every request took too long\n");
    std::fs::remove_dir_all(&folder).expect("the folder is ours");
}

#[test]
fn an_interrupt_ends_a_run_at_once_with_the_report_so_far() {
    use std::io::{BufRead, BufReader};
    let server = ServerProcess::start(&[]);
    let target = format!("127.0.0.1,{}", server.address.port());
    let query = "select 1\ngo\nwaitfor delay '00:05:00'";
    let json = std::env::temp_dir().join(format!("clearway-cut-{}.json", std::process::id()));
    let name = json.display().to_string();
    let arguments = [
        "stress",
        "-S",
        &target,
        "-P",
        PASSWORD,
        "-Q",
        query,
        "-n2",
        "--duration",
        "10m",
        "--json",
        &name,
    ];
    let mut child = command(&arguments).spawn().expect("the binary runs");
    let mut lines = BufReader::new(child.stderr.take().expect("stderr is piped")).lines();
    lines.next().expect("it goes on").expect("text");
    let id = child.id().to_string();
    let status = std::process::Command::new("kill").args(["-s", "INT", &id]).status();
    assert!(status.expect("kill runs").success());
    let begin = crate::server::now();
    let output = child.wait_with_output().expect("it ends");
    assert!(begin.elapsed().as_secs() < 15, "it waits for nothing: {:?}", begin.elapsed());
    assert_eq!(output.status.code(), Some(0));
    assert!(text(&output.stdout).contains("\n2 connections"), "{}", text(&output.stdout));
    let found = std::fs::read_to_string(&json).expect("was written");
    assert!(found.contains("\"levels\":[{"), "{found}");
    std::fs::remove_file(&json).expect("the file is ours");
}

/// Listens, sends `answer` to each client, and then closes the connection if asked. Returns the address.
#[expect(clippy::disallowed_methods, reason = "a test has no machine to run threads on")]
fn stranger(answer: &'static [u8], hangs_up: bool) -> String {
    use std::io::Write;
    let listener = std::net::TcpListener::bind(("127.0.0.1", 0)).expect("a free port");
    let port = listener.local_addr().expect("an address").port();
    std::thread::spawn(move || {
        let mut kept = Vec::new();
        for mut stream in listener.incoming().map_while(Result::ok) {
            // The client may have closed the connection.
            let _ = stream.write_all(answer);
            if !hangs_up {
                kept.push(stream);
            }
        }
    });
    format!("127.0.0.1,{port}")
}

#[test]
fn what_is_no_server_is_one_line_and_exit_2() {
    const HALF: &[u8] = &[4, 1, 0, 43, 0, 0, 1, 0, 0, 0, 11];
    for (answer, hangs_up) in [
        (&b""[..], true),
        (b"", false),
        (HALF, true),
        (HALF, false),
        (b"HTTP/1.1 400 Bad Request\r\nConnection: close\r\n\r\n", true),
        (b"SSH-2.0-OpenSSH_9.9\r\n", false),
    ] {
        for encrypt in ["off", "on", "strict"] {
            let target = stranger(answer, hangs_up);
            let arguments = [
                "stress",
                "-S",
                &target,
                "-P",
                "x",
                "-Qselect 1",
                "-n2",
                "-l1",
                "--encrypt",
                encrypt,
            ];
            let output = command(&arguments).output().expect("the binary runs");
            let said = text(&output.stderr);
            let what = format!("{} {hangs_up} {encrypt}", answer.escape_ascii());
            assert_eq!(output.status.code(), Some(2), "{what}: {said}");
            assert_eq!(said.lines().count(), 1, "{what}: {said}");
            assert!(said.starts_with("clearway: no connection could log in: "), "{what}: {said}");
        }
    }
}

#[test]
fn an_interrupt_ends_a_wait_for_logins() {
    let target = stranger(b"", false);
    let arguments = ["stress", "-S", &target, "-P", "x", "-Qselect 1", "-l600"];
    let child = command(&arguments).spawn().expect("the binary runs");
    let status = format!("/proc/{}/status", child.id());
    // Signals that it has taken over are blocked: SIGINT is the second.
    let end = crate::server::now() + crate::server::PATIENCE;
    let has_signals = || {
        let text = std::fs::read_to_string(&status).unwrap_or_default();
        let mask = text.lines().find_map(|line| line.strip_prefix("SigBlk:")).map(str::trim);
        mask.and_then(|mask| u64::from_str_radix(mask, 16).ok()).is_some_and(|mask| mask & 2 != 0)
    };
    while !has_signals() {
        assert!(crate::server::now() < end, "it takes signals over");
        crate::server::pause();
    }
    let id = child.id().to_string();
    let killed = std::process::Command::new("kill").args(["-s", "INT", &id]).status();
    assert!(killed.expect("kill runs").success());
    let output = child.wait_with_output().expect("it ends");
    assert_eq!(output.status.code(), Some(2));
    assert_eq!(text(&output.stderr), "clearway: stopped before the load began\n");
}

#[test]
fn warming_up_until_steady_ends_when_it_is() {
    let server = ServerProcess::start(&[]);
    let arguments = [
        "-Qselect 1",
        "-n2",
        "--rate",
        "100",
        "--warmup",
        "until-steady",
        "--duration",
        "1s",
        "-q",
    ];
    let found = report(&stress(&server, &arguments));
    let line = found.lines().find(|line| line.starts_with("2 connections")).expect("a level");
    let requests = line.split(": ").nth(1).and_then(|rest| rest.split(' ').next());
    let requests: u32 = requests.and_then(|number| number.parse().ok()).expect("a number");
    // A busy machine may be late at the end: what was due then and not sent is counted.
    let late = found.lines().find(|line| line.contains(" requests were due and never sent"));
    let late: u32 = late.and_then(|line| line.split(' ').next()?.parse().ok()).unwrap_or(0);
    assert!((requests + late).abs_diff(100) <= 4, "what came before does not count: {found}");
}
