//! `clearway stress --agents`: two agents and a coordinator against a server, and every way in which one of the three can fail.

use std::io::{BufRead, BufReader, Read, Write};
use std::net::{TcpListener, TcpStream};
use std::process::{Child, Output, Stdio};

use types::Value;

use crate::client::Client;
use crate::server::{PASSWORD, ServerProcess, command, now, pause};

const TOKEN: &str = "a-token-of-these-tests";
const TOKEN_VARIABLE: &str = "CLEARWAY_AGENT_TOKEN";

/// An agent of a test's own.
struct AgentProcess {
    child: Child,
    address: String,
}

impl AgentProcess {
    fn start(token: &str) -> Self {
        let mut command = command(&["stress", "--agent", "0", "-P", PASSWORD, "-q"]);
        command.env(TOKEN_VARIABLE, token);
        let mut child = command.spawn().expect("the binary starts");
        let mut line = String::new();
        let stdout = child.stdout.take().expect("stdout is piped");
        BufReader::new(stdout).read_line(&mut line).expect("it says where it listens");
        let address = line.trim().strip_prefix("The agent is ready: ").expect("an address");
        assert!(
            address.starts_with("127.0.0.1:"),
            "a port alone is of this machine alone: {address}"
        );
        Self { address: address.to_owned(), child }
    }

    fn signal(&self, name: &str) {
        let id = self.child.id().to_string();
        let status = std::process::Command::new("kill").args(["-s", name, &id]).status();
        assert!(status.expect("kill runs").success());
    }
}

impl Drop for AgentProcess {
    fn drop(&mut self) {
        // It may have ended already.
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

fn coordinator(server: &ServerProcess, agents: &str, arguments: &[&str]) -> std::process::Command {
    let target = format!("127.0.0.1,{}", server.address.port());
    let fixed = ["stress", "-S", &target, "-Usa", "-P", PASSWORD, "--agents", agents];
    let mut command = command(&[&fixed[..], arguments].concat());
    command.env(TOKEN_VARIABLE, TOKEN);
    command
}

fn stress(server: &ServerProcess, agents: &str, arguments: &[&str]) -> Output {
    coordinator(server, agents, arguments).output().expect("the binary runs")
}

fn both(a: &AgentProcess, b: &AgentProcess) -> String {
    format!("{},{}", a.address, b.address)
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

/// Checks that a run failed with one line that has this in it; returns its report so far.
fn failure(output: &Output, named: &str) -> String {
    let said = text(&output.stderr);
    assert_eq!(output.status.code(), Some(2), "{said}");
    assert!(said.contains(named) && said.lines().count() == 1, "'{named}': {said}");
    text(&output.stdout).to_owned()
}

fn count(client: &mut Client, query: &str) -> i32 {
    match client.value_of(query) {
        Value::Int(number) => number,
        other => panic!("{query}: {other:?}"),
    }
}

#[test]
fn two_agents_share_a_load_out_and_are_reported_as_one() {
    let server = ServerProcess::start(&[]);
    let (a, b) = (AgentProcess::start(TOKEN), AgentProcess::start(TOKEN));
    let mut client = Client::log_in(server.address);
    client.batch("create table hits (n int not null) insert hits values (0)");
    let query = ["-Q", "update hits set n = n + 1", "-n7", "-r30", "-q"];
    let found = report(&stress(&server, &both(&a, &b), &query));
    let agents = format!("agents: {}, {}", a.address, b.address);
    assert!(found.contains("210 requests") && found.contains(&agents), "{found}");
    assert_eq!(count(&mut client, "(select n from hits)"), 210);
    // The same agents, another job: a sweep, of which the first level has less connections than there are agents.
    let sweep =
        ["-Qselect 1", "--sweep", "1,2,5", "--duration", "1200ms", "--warmup", "300ms", "-q"];
    let found = report(&stress(&server, &both(&a, &b), &sweep));
    assert!(found.contains("Universal Scalability Law"), "{found}");
    for level in ["\n1 connections", "\n2 connections", "\n5 connections"] {
        assert!(found.contains(level), "{level}: {found}");
    }
}

#[test]
fn a_rate_is_that_of_all_agents_and_seconds_are_put_together() {
    let server = ServerProcess::start(&[]);
    let (a, b) = (AgentProcess::start(TOKEN), AgentProcess::start(TOKEN));
    let json = std::env::temp_dir().join(format!("clearway-agents-{}.json", std::process::id()));
    let name = json.display().to_string();
    let arguments =
        ["-Qselect 1", "-n", "6", "--rate", "200", "--duration", "5s", "-q", "--json", &name];
    report(&stress(&server, &both(&a, &b), &arguments));
    let found = std::fs::read_to_string(&json).expect("was written");
    std::fs::remove_file(&json).expect("the file is ours");
    let number = |name: &str| -> f64 {
        let (_, rest) = found.split_once(&format!("\"{name}\":")).expect("the report has it");
        rest.split([',', '}']).next().and_then(|digits| digits.parse().ok()).expect("a number")
    };
    // A busy machine may be late at the end: what was due then and not sent is counted.
    let due = number("count") + number("never_sent");
    assert!((due - 1_000.0).abs() <= 4.0, "200 a second for 5 s: {due}");
    let seconds = found.split_once("\"seconds\":[").expect("seconds").1;
    let sums: Vec<f64> = seconds
        .split("\"requests\":")
        .skip(1)
        .filter_map(|part| part.split(',').next()?.parse().ok())
        .collect();
    assert!(sums.len() >= 2, "{found}");
    let mean = sums.iter().sum::<f64>() / f64::from(u32::try_from(sums.len()).expect("few"));
    // One of them alone would do 100 a second.
    assert!((130.0..300.0).contains(&mean), "each second has what both did: {sums:?}");
}

#[test]
fn no_two_agents_draw_the_same_of_a_sequence() {
    let server = ServerProcess::start(&[]);
    let (a, b) = (AgentProcess::start(TOKEN), AgentProcess::start(TOKEN));
    let mut client = Client::log_in(server.address);
    client.batch("create table seen (n bigint not null)");
    let file = std::env::temp_dir().join(format!("clearway-agents-{}.toml", std::process::id()));
    let mix = "[[statement]]\nname = \"put\"\nsql = \"insert seen values (@n)\"\n\
               [statement.parameters]\nn = { type = \"bigint\", draw = \"sequence\", to = 1000000 }\n";
    std::fs::write(&file, mix).expect("a file");
    let name = file.display().to_string();
    report(&stress(&server, &both(&a, &b), &["--workload", &name, "-n4", "-r50", "-q"]));
    std::fs::remove_file(&file).expect("the file is ours");
    assert_eq!(count(&mut client, "(select count(*) from seen)"), 200);
    assert_eq!(count(&mut client, "(select count(distinct n) from seen)"), 200);
}

#[test]
fn an_agent_that_is_lost_ends_the_run_with_what_it_had_told() {
    let server = ServerProcess::start(&[]);
    let (a, b) = (AgentProcess::start(TOKEN), AgentProcess::start(TOKEN));
    let arguments = ["-Qselect 1", "-n4", "--rate", "100", "--duration", "60s"];
    let mut starter = coordinator(&server, &both(&a, &b), &arguments);
    let mut child = starter.spawn().expect("the binary runs");
    let mut lines = BufReader::new(child.stderr.take().expect("stderr is piped")).lines();
    for _ in 0..2 {
        let line = lines.next().expect("it goes on").expect("text");
        assert!(line.contains("4 connections"), "{line}");
    }
    b.signal("KILL");
    let begin = now();
    let said: Vec<String> = lines.map_while(Result::ok).collect();
    let output = child.wait_with_output().expect("it ends");
    assert!(begin.elapsed().as_secs() < 30, "it does not wait for the 60 s");
    assert_eq!(output.status.code(), Some(2), "{said:?}");
    let last = said.last().expect("a last line");
    assert!(last.contains(&format!("agent {}: lost after", b.address)), "{said:?}");
    let found = text(&output.stdout);
    assert!(found.contains("was lost; its") && found.contains("4 connections"), "{found}");
    // The other one is free for the next.
    report(&stress(&server, &a.address, &["-Qselect 1", "-r3", "-q"]));
}

#[test]
fn an_interrupt_ends_a_run_of_agents_with_the_report_so_far() {
    let server = ServerProcess::start(&[]);
    let (a, b) = (AgentProcess::start(TOKEN), AgentProcess::start(TOKEN));
    let mut starter = coordinator(
        &server,
        &both(&a, &b),
        &["-Qwaitfor delay '00:00:01'", "-n2", "--duration", "10m"],
    );
    let mut child = starter.spawn().expect("the binary runs");
    let mut lines = BufReader::new(child.stderr.take().expect("stderr is piped")).lines();
    lines.next().expect("it goes on").expect("text");
    let id = child.id().to_string();
    let status = std::process::Command::new("kill").args(["-s", "INT", &id]).status();
    assert!(status.expect("kill runs").success());
    let output = child.wait_with_output().expect("it ends");
    assert_eq!(output.status.code(), Some(0));
    assert!(text(&output.stdout).contains("\n2 connections"), "{}", text(&output.stdout));
}

#[test]
fn a_coordinator_that_is_gone_leaves_no_load_behind() {
    let server = ServerProcess::start(&[]);
    let agent = AgentProcess::start(TOKEN);
    let arguments = ["-Qselect 1", "-n3", "--rate", "50", "--duration", "10m"];
    let mut child =
        coordinator(&server, &agent.address, &arguments).spawn().expect("the binary runs");
    let mut lines = BufReader::new(child.stderr.take().expect("stderr is piped")).lines();
    lines.next().expect("it goes on").expect("text");
    child.kill().expect("it lives");
    child.wait().expect("it ends");
    let mut client = Client::log_in(server.address);
    let sessions =
        "(select count(*) from sys.dm_exec_sessions where program_name = 'clearway stress')";
    let end = now() + crate::server::PATIENCE;
    while count(&mut client, sessions) > 0 {
        assert!(now() < end, "the agent goes on without its coordinator");
        pause();
    }
    report(&stress(&server, &agent.address, &["-Qselect 1", "-r3", "-q"]));
}

#[test]
fn two_coordinators_at_once_are_one_too_many() {
    let server = ServerProcess::start(&[]);
    let agent = AgentProcess::start(TOKEN);
    let mut first =
        coordinator(&server, &agent.address, &["-Qselect 1", "--rate", "10", "--duration", "10m"])
            .spawn()
            .expect("the binary runs");
    let mut lines = BufReader::new(first.stderr.take().expect("stderr is piped")).lines();
    lines.next().expect("it goes on").expect("text");
    let second = stress(&server, &agent.address, &["-Qselect 1", "-r1"]);
    failure(&second, "it works for another coordinator");
    let id = first.id().to_string();
    let status = std::process::Command::new("kill").args(["-s", "INT", &id]).status();
    assert!(status.expect("kill runs").success());
    let output = first.wait_with_output().expect("it ends");
    assert_eq!(output.status.code(), Some(0), "the first was not disturbed");
}

#[test]
fn whoever_has_no_token_gets_no_load() {
    let server = ServerProcess::start(&[]);
    let agent = AgentProcess::start("quite-another-token");
    let output = stress(&server, &agent.address, &["-Qselect 1", "-r1"]);
    failure(
        &output,
        &format!(
            "agent {}: it closed the connection: is its token a different one?",
            agent.address
        ),
    );
    let mut without = coordinator(&server, &agent.address, &["-Qselect 1", "-r1"]);
    let output = without.env_remove(TOKEN_VARIABLE).output().expect("the binary runs");
    failure(&output, "--agent-token-file");
    for arguments in [&["stress", "--agent", "0", "-P", "x"][..], &["stress", "--agent", "0"]] {
        let output =
            command(arguments).env_remove(TOKEN_VARIABLE).output().expect("the binary runs");
        assert_eq!(output.status.code(), Some(2), "{}", text(&output.stderr));
        assert_eq!(text(&output.stderr).lines().count(), 1);
    }
    let output = command(&["stress", "--agent", "0", "-Q", "select 1"]).output().expect("it runs");
    assert!(text(&output.stderr).contains("--agent"), "{}", text(&output.stderr));
    assert_eq!(output.status.code(), Some(2));
}

/// Listens and sends `answer` to each client. Returns the address.
#[expect(clippy::disallowed_methods, reason = "a test has no machine to run threads on")]
fn listener(answer: Vec<u8>) -> String {
    let listener = TcpListener::bind(("127.0.0.1", 0)).expect("a free port");
    let address = listener.local_addr().expect("an address").to_string();
    std::thread::spawn(move || {
        for stream in listener.incoming().map_while(Result::ok) {
            let mut stream: TcpStream = stream;
            // The client may have closed the connection.
            let _ = stream.write_all(&answer);
            let _ = stream.read_to_end(&mut Vec::new());
        }
    });
    address
}

#[test]
fn what_is_no_agent_or_another_version_is_one_line() {
    let server = ServerProcess::start(&[]);
    let old = [&b"CLWYLOAD"[..], &[5], b"0.0.9", &[7; 16]].concat();
    for (answer, named) in [
        (old, "it is version 0.0.9, this is "),
        (b"HTTP/1.1 400 Bad Request\r\n\r\n".to_vec(), "it is not this program's agent"),
    ] {
        let address = listener(answer);
        let output = stress(&server, &address, &["-Qselect 1", "-r1"]);
        failure(&output, &format!("agent {address}: {named}"));
    }
    failure(
        &stress(&server, "127.0.0.1:1", &["-Qselect 1", "-r1"]),
        "agent 127.0.0.1:1: Connection refused",
    );
    failure(&stress(&server, "nowhere", &["-Qselect 1", "-r1"]), "'nowhere' is not the address");
}

#[test]
fn whatever_reaches_its_port_an_agent_lives_on() {
    let server = ServerProcess::start(&[]);
    let agent = AgentProcess::start(TOKEN);
    let greeting = [&b"CLWYLOAD"[..], &[5], b"0.1.0", &[7; 16]].concat();
    let longest = [&greeting[..], &[0xFF; 40]].concat();
    for bytes in [&b""[..], b"GET / HTTP/1.1\r\n\r\n", &greeting, &longest, &[0; 4096]] {
        let mut stream = TcpStream::connect(&agent.address).expect("it listens");
        // It may hang up before it has read all.
        let _ = stream.write_all(bytes);
        let _ = stream.shutdown(std::net::Shutdown::Write);
        let mut said = Vec::new();
        let _ = stream.read_to_end(&mut said);
        assert!(
            said.len() < 64,
            "a client without the token gets no more than a version: {said:?}"
        );
    }
    report(&stress(&server, &agent.address, &["-Qselect 1", "-r3", "-q"]));
}

#[test]
fn an_agent_says_why_it_can_not() {
    let server = ServerProcess::start(&[]);
    let mut command = command(&["stress", "--agent", "0", "-P", "Wrong-Password1"]);
    let child = command.env(TOKEN_VARIABLE, TOKEN).stdin(Stdio::null()).spawn().expect("it starts");
    let mut agent = AgentProcess { child, address: String::new() };
    let mut line = String::new();
    let stdout = agent.child.stdout.take().expect("stdout is piped");
    BufReader::new(stdout).read_line(&mut line).expect("it says where it listens");
    agent.address = line.trim().rsplit(' ').next().expect("an address").to_owned();
    let output = stress(&server, &agent.address, &["-Qselect 1", "-r1"]);
    failure(&output, "18456");
    agent.signal("TERM");
    assert!(agent.child.wait().expect("it ends").success(), "an orderly stop");
}
