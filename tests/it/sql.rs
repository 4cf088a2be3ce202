//! `clearway sql` as scripts use it: over pipes and files, with exit codes, in each format.

use std::io::{Read, Write};
use std::process::{Output, Stdio};

use crate::server::{PASSWORD, ServerProcess, command};

/// Runs the verb with something on its stdin.
fn sql(server: &ServerProcess, arguments: &[&str], input: &str) -> Output {
    let target = format!("127.0.0.1,{}", server.address.port());
    let fixed = ["sql", "-S", &target, "-P", PASSWORD];
    let mut command = command(&[&fixed[..], arguments].concat());
    let mut child = command.stdin(Stdio::piped()).spawn().expect("the binary runs");
    let mut stdin = child.stdin.take().expect("stdin is piped");
    // It may end before it has read all.
    let _ = stdin.write_all(input.as_bytes());
    drop(stdin);
    child.wait_with_output().expect("it ends")
}

fn out(output: &Output) -> String {
    String::from_utf8(output.stdout.clone()).expect("text")
}

fn err(output: &Output) -> String {
    String::from_utf8(output.stderr.clone()).expect("text")
}

#[test]
fn a_pipe_is_batches_between_lines_of_go() {
    let server = ServerProcess::start(&[]);
    let script = "create table t (id int not null, name nvarchar(20))\nGO\n\
                  insert t values (1, N'\u{e9}'), (2, null)\ngo 2\n\
                  select * from t order by id\n/*\ngo\n*/\nselect '\ngo\n' as x";
    let output = sql(&server, &["-W", "-s", "|"], script);
    assert_eq!(output.status.code(), Some(0), "{}", err(&output));
    let found = out(&output);
    assert_eq!(found.matches("(2 rows affected)").count(), 2, "{found}");
    let rows = "id|name\n--|----\n1|\u{e9}\n1|\u{e9}\n2|NULL\n2|NULL\n\n(4 rows affected)\n";
    assert!(found.contains(rows), "{found}");
    assert!(found.contains("x\n-\n\ngo\n"), "what is in quotes and comments is text: {found}");
}

#[test]
fn a_reader_that_has_seen_enough_ends_it_without_an_error() {
    let server = ServerProcess::start(&[]);
    let target = format!("127.0.0.1,{}", server.address.port());
    let query = "select * from generate_series(1, 1000000)";
    let mut command = command(&["sql", "-S", &target, "-P", PASSWORD, "-Q", query]);
    let mut child = command.stdin(Stdio::null()).spawn().expect("the binary runs");
    let mut first = [0; 5];
    child.stdout.take().expect("stdout is piped").read_exact(&mut first).expect("a line");
    assert_eq!(&first, b"value");
    let output = child.wait_with_output().expect("it ends");
    assert_eq!((output.status.code(), err(&output)), (Some(0), String::new()));
}

#[test]
fn errors_say_number_level_state_and_line_and_end_a_run_that_asks_for_it() {
    let server = ServerProcess::start(&[]);
    let script = "print 'before'\n\nselect * from nowhere\ngo\nselect 7 as later";
    let output = sql(&server, &[], script);
    assert_eq!(output.status.code(), Some(0));
    let found = out(&output);
    let message = "Msg 208, Level 16, State 1, Line 3\nInvalid object name 'nowhere'.\n";
    assert!(found.contains("before\n") && found.contains(message), "{found}");
    assert!(found.contains("later"), "{found}");
    let output = sql(&server, &["-b", "-r"], script);
    assert_eq!(output.status.code(), Some(1));
    assert!(err(&output).contains(message) && !out(&output).contains("later"), "{}", out(&output));
    let output = sql(&server, &[], &format!(":on error exit\n{script}"));
    assert_eq!(output.status.code(), Some(1));
    let output = sql(&server, &["-b", "-V", "17"], script);
    assert_eq!(output.status.code(), Some(0), "16 is below what counts");
}

#[test]
fn a_script_may_choose_its_exit_code() {
    let server = ServerProcess::start(&[]);
    for (script, code) in [
        ("select 1\nexit", 0),
        ("declare @n int = 42\nexit(select @n)", 42),
        ("EXIT(select 'no number')", 0),
        ("quit\nselect * from nowhere", 0),
        (":setvar x 9\nexit(select $(x))", 9),
    ] {
        assert_eq!(sql(&server, &["-b"], script).status.code(), Some(code), "{script}");
    }
    assert_eq!(sql(&server, &["-b", "-Q", "select 1/0"], "").status.code(), Some(1));
}

#[test]
fn every_type_is_shown_in_every_format() {
    let server = ServerProcess::start(&[]);
    let query = "select cast(1 as bit) b, cast(-7 as bigint) i, cast(1.50 as decimal(9,2)) d, cast(2 as money) m, \
                 cast(0.1 as float) f, cast(1e300 as float) g, cast('2024-02-03' as date) da, \
                 cast('2024-02-03 04:05:06.007' as datetime) dt, cast('04:05:06.12' as time(2)) ti, \
                 cast('2024-02-03 04:05:06.5 +02:00' as datetimeoffset(1)) o, 0x00ff vb, N'a,\"b' s, '' e, \
                 cast('00112233-4455-6677-8899-aabbccddeeff' as uniqueidentifier) u, cast(null as int) n, \
                 cast(5 as sql_variant) v";
    let csv = "b,i,d,m,f,g,da,dt,ti,o,vb,s,e,u,n,v\r\n\
               1,-7,1.50,2.0000,0.1,1e300,2024-02-03,2024-02-03 04:05:06.007,04:05:06.12,\
               2024-02-03 04:05:06.5 +02:00,0x00FF,\"a,\"\"b\",\"\",00112233-4455-6677-8899-AABBCCDDEEFF,,5\r\n";
    assert_eq!(out(&sql(&server, &["--format", "csv", "-Q", query], "")), csv);
    let json = out(&sql(&server, &["--format", "json", "-Q", query], ""));
    let start = "[\n{\"b\":true,\"i\":-7,\"d\":1.50,\"m\":2.0000,\"f\":0.1,\"g\":1e300,\"da\":\"2024-02-03\",";
    assert!(json.starts_with(start) && json.ends_with("\"n\":null,\"v\":5}\n]\n"), "{json}");
    assert!(json.contains("\"s\":\"a,\\\"b\",\"e\":\"\""), "{json}");
    let table = out(&sql(
        &server,
        &["--format", "table", "-Q", "select 1 a, N'x' bb union all select 10, null"],
        "",
    ));
    assert_eq!(table, "  a | bb\n----+------\n  1 | x\n 10 | NULL\n\n(2 rows affected)\n");
    let plain = out(&sql(&server, &["-Q", "select 1 a, cast('x' as char(3)) b"], ""));
    assert_eq!(plain, "a           b  \n----------- ---\n          1 x  \n\n(1 row affected)\n");
}

#[test]
fn messages_do_not_get_between_rows_that_programs_read() {
    let server = ServerProcess::start(&[]);
    let output = sql(&server, &["--format", "csv"], "print 'hello'\nselect 1 a\nselect 2 b");
    assert_eq!(
        (out(&output).as_str(), err(&output).as_str()),
        ("a\r\n1\r\n\r\nb\r\n2\r\n", "hello\n")
    );
}

#[test]
fn files_variables_and_outputs_work_together() {
    let server = ServerProcess::start(&[]);
    let folder = std::env::temp_dir().join(format!("clearway-sql-{}", server.address.port()));
    std::fs::create_dir_all(&folder).expect("a folder");
    let path = |name: &str| folder.join(name).display().to_string();
    let write = |name: &str, text: &str| std::fs::write(folder.join(name), text).expect("a file");
    write("inner.sql", "select '$(word)' as w\n");
    write(
        "outer.sql",
        &format!(
            ":setvar word \"from the file\"\n:r \"{}\"\ngo\n:out {}\nselect 2\n",
            path("inner.sql"),
            path("b.txt")
        ),
    );
    let output =
        sql(&server, &["-i", &path("outer.sql"), "-o", &path("a.txt"), "-W", "-h", "-1"], "");
    assert_eq!(output.status.code(), Some(0), "{}", err(&output));
    let read = |name: &str| std::fs::read_to_string(folder.join(name)).expect("was written");
    assert_eq!(read("a.txt"), "from the file\n\n(1 row affected)\n");
    assert_eq!(read("b.txt"), "2\n\n(1 row affected)\n");
    let output = sql(&server, &["-v", "a=1", "b=x y", "-W", "-h-1"], "select $(a), '$(b)'");
    assert!(out(&output).starts_with("1 x y\n"), "{}", out(&output));
    let output = sql(&server, &["-Q", "select '$(nothing)'"], "");
    assert_eq!(output.status.code(), Some(1));
    assert!(err(&output).contains("'nothing' scripting variable not defined"), "{}", err(&output));
    assert!(out(&sql(&server, &["-x", "-Q", "select '$(nothing)'"], "")).contains("$(nothing)"));
    write("again.sql", &format!(":r \"{}\"\n", path("again.sql")));
    let output = sql(&server, &["-i", &path("again.sql")], "");
    assert!(output.status.code() == Some(1) && err(&output).contains("read each other"));
    std::fs::remove_dir_all(&folder).expect("the folder is ours");
}

#[test]
fn what_can_not_be_is_one_clear_line() {
    let server = ServerProcess::start(&[]);
    for (arguments, named, code) in [
        (&["-P", "wrong"][..], "18456", 1),
        (&["-i", "/nowhere.sql"], "/nowhere.sql", 1),
        (&["-o", "/nowhere/x"], "/nowhere/x", 1),
        (&["-v", "x"], "-v", 2),
        (&["--format", "pdf"], "--format", 2),
        (&["-S", "127.0.0.1,1"], "127.0.0.1:1", 1),
    ] {
        let output = sql(&server, arguments, "select 1");
        assert_eq!(output.status.code(), Some(code), "{arguments:?}: {}", err(&output));
        let found = err(&output);
        assert!(found.contains(named) && found.lines().count() == 1, "{arguments:?}: {found}");
    }
}

#[test]
fn a_batch_that_takes_too_long_is_cancelled_and_the_connection_lives_on() {
    let server = ServerProcess::start(&[]);
    let script = "waitfor delay '00:01:00'\ngo\nselect 'alive' as x";
    let output = sql(&server, &["-t", "1"], script);
    assert!(err(&output).contains("Timeout expired"), "{}", err(&output));
    assert!(out(&output).contains("alive"), "{}", out(&output));
}

#[test]
fn ctrl_c_cancels_what_is_running() {
    let server = ServerProcess::start(&[]);
    let target = format!("127.0.0.1,{}", server.address.port());
    let waits = "print 'begun' raiserror('', 0, 1) with nowait waitfor delay '00:01:00'";
    let mut starter = command(&["sql", "-S", &target, "-P", PASSWORD, "-Q", waits]);
    let mut child = starter.spawn().expect("the binary runs");
    let mut stdout = child.stdout.take().expect("stdout is piped");
    let mut first = [0; 5];
    std::io::Read::read_exact(&mut stdout, &mut first).expect("what was printed comes at once");
    assert_eq!(&first, b"begun");
    let status =
        std::process::Command::new("kill").args(["-s", "INT", &child.id().to_string()]).status();
    assert!(status.expect("kill runs").success());
    let output = child.wait_with_output().expect("it ends");
    assert_eq!(output.status.code(), Some(130), "{}", err(&output));
    assert_eq!(err(&output), "cancelled\n");
}

#[test]
fn a_long_result_is_written_while_it_comes() {
    let server = ServerProcess::start(&[]);
    let query = "select value, replicate('x', 100) as x from generate_series(1, 300000)";
    let output = sql(&server, &["--format", "csv", "-Q", query], "");
    let found = out(&output);
    assert_eq!(found.lines().count(), 300_001, "{}", err(&output));
    assert!(found.lines().last().is_some_and(|line| line.starts_with("300000,xxx")));
}

#[test]
fn at_a_terminal_there_is_completion_and_ctrl_c_cancels_and_goes_on() {
    let server = ServerProcess::start(&[]);
    let folder = std::env::temp_dir().join(format!("clearway-home-{}", server.address.port()));
    std::fs::create_dir_all(&folder).expect("a folder");
    let target = format!("127.0.0.1,{}", server.address.port());
    let binary = env!("CARGO_BIN_EXE_clearway");
    // script(1) is the terminal: what it reads is typed, what it writes is shown. It runs commands
    // by a shell, and some shells end with 130 after Ctrl-C, whatever their command says.
    let mut starter = std::process::Command::new("timeout");
    starter.args([
        "60",
        "script",
        "-qec",
        &format!("exec {binary} sql -S {target} -P {PASSWORD}"),
        "/dev/null",
    ]);
    starter.env("HOME", &folder).env("TERM", "xterm");
    starter.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::null());
    let mut child = starter.spawn().expect("script is part of every Debian");
    let mut typed = child.stdin.take().expect("stdin is piped");
    let mut shown =
        Shown { from: child.stdout.take().expect("stdout is piped"), text: String::new() };
    let mut type_keys = |keys: &str| {
        typed.write_all(keys.as_bytes()).and_then(|()| typed.flush()).expect("it reads");
    };
    shown.wait_for("1> ");
    type_keys("sele\t");
    shown.wait_for("select");
    type_keys(" name from sys.sql_logi\t where name = 'sa'\rgo\r");
    shown.wait_for(" sa\r\n");
    type_keys("waitfor delay '00:01:00'\rgo\r");
    shown.wait_for("go");
    // The batch is sent when the line is taken; a signal before that would be a key.
    server.wait_until("the batch runs", |server| {
        let mut other = crate::client::Client::log_in(server.address);
        let waits = "(select count(*) from sys.dm_exec_requests where wait_type = 'WAITFOR')";
        other.value_of(waits) == types::Value::Int(1)
    });
    type_keys("\x03");
    shown.wait_for("cancelled");
    type_keys("select 6 * 7 as answer\rgo\r");
    shown.wait_for("42");
    type_keys("exit\r");
    assert_eq!(child.wait().expect("it ends").code(), Some(0));
    let history = std::fs::read_to_string(folder.join(".clearway_history")).expect("it is kept");
    assert!(history.contains("select 6 * 7 as answer"), "{history}");
    std::fs::remove_dir_all(&folder).expect("the folder is ours");
}

/// What a terminal shows.
struct Shown {
    from: std::process::ChildStdout,
    text: String,
}

impl Shown {
    /// Reads until it shows this, which is forgotten then.
    fn wait_for(&mut self, wanted: &str) {
        let mut buffer = [0; 4096];
        loop {
            if let Some(at) = self.text.find(wanted) {
                self.text.drain(..at + wanted.len());
                return;
            }
            let count = std::io::Read::read(&mut self.from, &mut buffer).expect("it writes");
            assert!(count > 0, "it ended before it showed '{wanted}': {}", self.text);
            self.text.push_str(&String::from_utf8_lossy(&buffer[..count]));
        }
    }
}
