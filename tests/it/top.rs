//! `clearway top`: in a pseudo-terminal made by script(1), and in batch mode, against a server.

use std::io::{Read, Write};
use std::net::SocketAddr;
use std::path::PathBuf;
use std::process::{Child, ChildStdin, Command, Stdio};
use std::sync::mpsc;

use top::question::Topic;

use crate::client::{Client, errors};
use crate::server::{PASSWORD, PATIENCE, ServerProcess, command, now, pause};

/// Size of the pseudo-terminal at first.
const COLUMNS: usize = 80;
const LINES: usize = 24;
/// The largest size of a screen.
const COLUMNS_MAX: usize = 120;
const LINES_MAX: usize = 40;

/// A screen as a terminal would show it: as much of a terminal as `top` uses.
struct Screen {
    cells: Vec<Vec<char>>,
    at: (usize, usize),
    pending: Vec<u8>,
    is_alternate: bool,
    has_cursor: bool,
    /// Everything that was printed outside of the alternate screen.
    plain: String,
}

impl Screen {
    fn new() -> Self {
        let cells = vec![vec![' '; COLUMNS_MAX]; LINES_MAX];
        let (pending, plain) = (Vec::new(), String::new());
        Self { cells, at: (0, 0), pending, is_alternate: false, has_cursor: true, plain }
    }

    fn feed(&mut self, bytes: &[u8]) {
        self.pending.extend_from_slice(bytes);
        while let Some(used) = self.take() {
            self.pending.drain(..used);
        }
    }

    /// Takes one character or sequence; returns its length, `None` if it is not whole.
    fn take(&mut self) -> Option<usize> {
        let first = *self.pending.first()?;
        if first != 0x1b {
            let length = match first {
                0..=0x7f => 1,
                0xc0..=0xdf => 2,
                0xe0..=0xef => 3,
                _ => 4,
            };
            let text = std::str::from_utf8(self.pending.get(..length)?).expect("UTF-8").to_owned();
            text.chars().for_each(|character| self.put(character));
            return Some(length);
        }
        if *self.pending.get(1)? != b'[' {
            return Some(2);
        }
        let end = self.pending.iter().skip(2).position(|byte| (0x40..=0x7e).contains(byte))? + 2;
        let text = String::from_utf8_lossy(&self.pending[2..=end]).into_owned();
        self.control(&text);
        Some(end + 1)
    }

    fn control(&mut self, text: &str) {
        match text {
            "?1049h" => self.is_alternate = true,
            "?1049l" => self.is_alternate = false,
            "?25h" => self.has_cursor = true,
            "?25l" => self.has_cursor = false,
            "2J" => self.cells = vec![vec![' '; COLUMNS_MAX]; LINES_MAX],
            _ => {
                if let Some(place) = text.strip_suffix('H') {
                    let mut numbers = place.split(';').map(|n| n.parse::<usize>().unwrap_or(1));
                    let mut next = || numbers.next().unwrap_or(1).saturating_sub(1);
                    self.at = (next(), next());
                }
            }
        }
    }

    fn put(&mut self, character: char) {
        if !self.is_alternate {
            self.plain.push(character);
            return;
        }
        match character {
            '\r' => self.at.1 = 0,
            '\n' => self.at.0 += 1,
            _ => {
                let cell = self.cells.get_mut(self.at.0).and_then(|line| line.get_mut(self.at.1));
                *cell.expect("inside of the screen") = character;
                self.at.1 += 1;
            }
        }
    }

    fn text(&self) -> String {
        let line = |line: &Vec<char>| line.iter().collect::<String>().trim_end().to_owned();
        self.cells.iter().map(line).collect::<Vec<_>>().join("\n")
    }
}

/// `clearway top` in a pseudo-terminal.
struct Top {
    child: Child,
    input: ChildStdin,
    output: mpsc::Receiver<Vec<u8>>,
    screen: Screen,
    folder: PathBuf,
}

impl Top {
    fn start(name: &str, address: SocketAddr, screen: &str) -> Self {
        let folder = std::env::temp_dir().join(format!("clearway-{name}-{}", std::process::id()));
        std::fs::create_dir_all(&folder).expect("a folder for the terminal's settings");
        let files = folder.display();
        let binary = env!("CARGO_BIN_EXE_clearway");
        let line = format!(
            "stty rows {LINES} cols {COLUMNS}; stty -g > '{files}/before'; \
             sh -c 'echo $$ > \"$0\"; exec \"$@\"' '{files}/pid' '{binary}' top -S {},{} \
             -P {PASSWORD} -i 200ms --screen {screen}; \
             echo EXIT=$?; stty -g > '{files}/after'",
            address.ip(),
            address.port()
        );
        let mut script = Command::new("script");
        script.args(["-q", "-f", "-c", &line, "/dev/null"]);
        script.env("SHELL", "/bin/sh").env("TERM", "xterm-256color").env_remove("NO_COLOR");
        script.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::inherit());
        let mut child = script.spawn().expect("script(1) of util-linux is installed");
        let input = child.stdin.take().expect("stdin is piped");
        let output = forward(child.stdout.take().expect("stdout is piped"));
        Self { child, input, output, screen: Screen::new(), folder }
    }

    fn press(&mut self, keys: &str) {
        self.input.write_all(keys.as_bytes()).expect("the terminal takes keys");
        self.input.flush().expect("the terminal takes keys");
    }

    /// Waits until the screen shows a text.
    fn wait_for(&mut self, text: &str) {
        self.wait_until(text, |screen| screen.is_alternate && screen.text().contains(text));
    }

    fn wait_until(&mut self, what: &str, holds: impl Fn(&Screen) -> bool) {
        let end = now() + PATIENCE;
        while !holds(&self.screen) {
            let left = end.saturating_duration_since(now());
            match self.output.recv_timeout(left) {
                Ok(bytes) => self.screen.feed(&bytes),
                Err(_) => panic!("never: {what}\n{}\n{}", self.screen.text(), self.screen.plain),
            }
        }
    }

    /// Returns the process id of `top` itself.
    fn id(&self) -> String {
        let id = std::fs::read_to_string(self.folder.join("pid")).expect("the shell wrote it");
        id.trim().to_owned()
    }

    /// Waits for its end, and checks that it gave the terminal back.
    fn assert_ended(mut self, code: i32) {
        let exit = format!("EXIT={code}");
        self.wait_until(&exit, |screen| screen.plain.contains(&exit));
        let end = now() + PATIENCE;
        while self.child.try_wait().expect("the child is ours").is_none() {
            assert!(now() < end, "script(1) does not end");
            pause();
        }
        assert!(!self.screen.is_alternate, "the screen from before is back");
        assert!(self.screen.has_cursor, "the cursor is shown");
        let settings = |name| std::fs::read_to_string(self.folder.join(name)).expect("stty ran");
        assert_eq!(settings("before"), settings("after"));
    }
}

impl Drop for Top {
    fn drop(&mut self) {
        // It may have ended already.
        let _ = self.child.kill();
        let _ = self.child.wait();
        let _ = std::fs::remove_dir_all(&self.folder);
    }
}

#[expect(clippy::disallowed_methods, reason = "a test has no machine to run threads on")]
fn forward(mut source: impl Read + Send + 'static) -> mpsc::Receiver<Vec<u8>> {
    let (sender, receiver) = mpsc::channel();
    std::thread::spawn(move || {
        let mut buffer = [0; 4096];
        while let Ok(count @ 1..) = source.read(&mut buffer) {
            if sender.send(buffer[..count].to_vec()).is_err() {
                return;
            }
        }
    });
    receiver
}

/// A session that holds a row's lock, and one that waits for it.
fn block(server: &ServerProcess) -> (Client, Client) {
    let (mut holder, mut waiter) = (Client::log_in(server.address), Client::log_in(server.address));
    run(
        &mut holder,
        "CREATE TABLE dbo.stock (id int PRIMARY KEY, n int); INSERT dbo.stock VALUES (7, 1)",
    );
    run(&mut holder, "BEGIN TRAN; UPDATE dbo.stock SET n = 2 WHERE id = 7");
    let update = "UPDATE dbo.stock SET n = n + 10 WHERE id = 7";
    waiter.send(&tds::client::batch(update, waiter.settings));
    (holder, waiter)
}

fn run(client: &mut Client, text: &str) {
    let tokens = client.batch(text);
    assert!(errors(&tokens).is_empty(), "{:?}", errors(&tokens));
}

#[test]
fn top_shows_a_blocked_session_and_kills_its_blocker() {
    let server = ServerProcess::start(&[]);
    let (_holder, mut waiter) = block(&server);
    let mut top = Top::start("kill", server.address, "requests");
    top.wait_for("LCK_M_X");
    top.wait_for("suspended");
    top.press("4");
    top.wait_for("Blocking tree");
    top.wait_for("└ ");
    top.press("k");
    top.wait_for("Kill session");
    top.press("y");
    top.wait_for("was killed");
    let tokens = waiter.response();
    assert!(errors(&tokens).is_empty(), "the lock is free: {:?}", errors(&tokens));
    top.wait_for("No session waits for another one.");
    top.press("q");
    top.assert_ended(0);
}

#[test]
fn terminal_is_given_back_after_a_signal() {
    let server = ServerProcess::start(&[]);
    let mut top = Top::start("signal", server.address, "time");
    top.wait_for("Largest now");
    let killed = Command::new("kill").args(["-s", "TERM", &top.id()]).status();
    assert!(killed.expect("kill runs").success());
    top.assert_ended(0);
}

#[test]
fn screen_follows_the_size_of_the_terminal() {
    let server = ServerProcess::start(&[]);
    let mut top = Top::start("size", server.address, "time");
    let last = |screen: &Screen, line: usize| screen.text().lines().nth(line).map(str::to_owned);
    let has_foot = |screen: &Screen, line| last(screen, line).is_some_and(|l| l.contains("q quit"));
    top.wait_until("24 lines", |screen| has_foot(screen, 23));
    let terminal = std::fs::read_link(format!("/proc/{}/fd/0", top.id())).expect("it runs");
    let mut resize = Command::new("stty");
    // One change and so one signal: a key that comes with a signal is read with the next key only.
    resize.arg("-F").arg(terminal).args(["rows", "36"]);
    assert!(resize.status().expect("stty runs").success());
    top.wait_until("36 lines", |screen| has_foot(screen, 35));
    top.press("\x03");
    top.assert_ended(0);
}

#[cfg(debug_assertions)]
#[test]
fn terminal_is_given_back_after_a_panic() {
    let server = ServerProcess::start(&[]);
    let mut top = Top::start("panic", server.address, "statements");
    top.wait_for("Calls/s");
    // F12 panics in builds with debug assertions.
    top.press("\x1b[24~");
    top.wait_until("the message of the panic", |screen| screen.plain.contains("F12 was pressed"));
    top.assert_ended(101);
}

#[test]
fn top_waits_for_a_server_that_is_away() {
    let server = ServerProcess::start(&[]);
    let port = server.address.port().to_string();
    let mut top = Top::start("away", server.address, "time");
    top.wait_for("Largest now");
    drop(server);
    top.wait_for("The server is away");
    let all = ["serve", "--port", &port, "--sa-password", PASSWORD];
    let _server = ServerProcess::start_command(command(&all));
    top.wait_for("The server is back.");
    top.press("q");
    top.assert_ended(0);
}

/// Runs batch mode; returns its exit code and what it printed.
fn batch(server: &str, arguments: &[&str]) -> (Option<i32>, String) {
    let mut all = vec!["top", "-S", server, "-i", "100ms", "--batch", "2"];
    all.extend_from_slice(arguments);
    let output = command(&all).output().expect("the binary runs");
    let text = String::from_utf8_lossy(&output.stdout).into_owned();
    (output.status.code(), text + &String::from_utf8_lossy(&output.stderr))
}

fn name(address: SocketAddr) -> String {
    format!("{},{}", address.ip(), address.port())
}

#[test]
fn batch_mode_prints_each_screen_and_its_cost() {
    let server = ServerProcess::start(&[]);
    let (_holder, _waiter) = block(&server);
    for (screen, expected) in [
        ("time", "unexpected_blocking"),
        ("requests", "UPDATE dbo.stock SET n = n + 10"),
        ("statements", "CPU ms/s"),
        ("locks", "Blocking tree"),
    ] {
        let arguments = ["-P", PASSWORD, "--screen", screen, "--size", "160x50"];
        let (code, text) = batch(&name(server.address), &arguments);
        assert_eq!(code, Some(0), "{text}");
        assert!(text.contains(expected), "{screen}: {text}");
        assert!(text.contains("cost on the server: "), "{text}");
        assert!(!text.contains("This server has no"), "{text}");
    }
}

#[test]
fn encrypted_connections_work() {
    let server = ServerProcess::start(&[]);
    for how in ["on", "strict"] {
        let (code, text) = batch(&name(server.address), &["-P", PASSWORD, "-N", how]);
        assert_eq!(code, Some(0), "{how}: {text}");
    }
}

#[test]
fn reasons_not_to_start_are_one_sentence() {
    let server = ServerProcess::start(&[]);
    let mut client = Client::log_in(server.address);
    run(&mut client, "CREATE LOGIN plain WITH PASSWORD = N'Secret-Word1'");
    let at = name(server.address);
    let nothing = std::net::TcpListener::bind("127.0.0.1:0").expect("a free port");
    let closed = name(nothing.local_addr().expect("it is bound"));
    drop(nothing);
    for (server, arguments, expected) in [
        (&at, ["-U", "sa", "-P", "wrong"], "refused the login 'sa'"),
        (&at, ["-U", "plain", "-P", PASSWORD], "lacks the permission VIEW SERVER STATE"),
        (&closed, ["-U", "sa", "-P", PASSWORD], "cannot be reached"),
    ] {
        let (code, text) = batch(server, &arguments);
        assert_eq!(code, Some(1), "{text}");
        assert!(text.contains(expected), "{text}");
        assert_eq!(text.lines().count(), 1, "{text}");
    }
    let (code, text) = batch(&at, &["-P", PASSWORD, "--size", "1x1"]);
    assert_eq!(code, Some(2), "{text}");
    let output = command(&["top", "-S", &at, "-P", PASSWORD]).output().expect("the binary runs");
    let text = String::from_utf8_lossy(&output.stderr).into_owned();
    assert!(text.contains("are not a terminal"), "{text}");
}

#[test]
fn peer_that_is_no_tds_server_is_named() {
    let listener = std::net::TcpListener::bind("127.0.0.1:0").expect("a free port");
    let at = name(listener.local_addr().expect("it is bound"));
    let arguments = ["top", "-S", &at, "-P", PASSWORD, "--batch", "1"];
    let child = command(&arguments).spawn().expect("the binary starts");
    let (mut peer, _) = listener.accept().expect("it connects");
    let mut hello = [0; 64];
    assert!(peer.read(&mut hello).expect("it sends PRELOGIN") > 0);
    peer.write_all(b"HTTP/1.1 400 Bad Request\r\nContent-Length: 0\r\n\r\n").expect("it reads");
    drop(peer);
    let output = child.wait_with_output().expect("it ends");
    let text = String::from_utf8_lossy(&output.stderr).into_owned();
    assert_eq!(output.status.code(), Some(1), "{text}");
    assert_eq!(text.lines().count(), 1, "{text}");
    assert!(text.contains("does not speak TDS") || text.contains("cannot be reached"), "{text}");
}

#[test]
fn every_question_has_an_answer_here() {
    let server = ServerProcess::start(&[]);
    let mut client = Client::log_in(server.address);
    run(&mut client, top::question::SETUP);
    for topic in [Topic::Server].into_iter().chain(Topic::SHOWN) {
        for text in topic.texts() {
            run(&mut client, text);
        }
    }
}
