//! Tests over a socket: what a browser, a scraper, and someone hostile get. The limits on time and
//! number are small in tests.

use std::io::{Read, Write};
use std::net::{Shutdown, SocketAddr, TcpStream};
use std::time::Duration;

use engine::instance::{Config, Instance, LockMode};
use sos::sched::{Machine, MachineConfig};
use sos::sync::Arc;
use storage::{Store, StoreOptions};

use crate::settings::{Settings, Token};
use crate::{Bound, page_bytes};

const PASSWORD: &str = "Secret-1";
const SECRET: &str = "0123456789abcdef0123";
/// The longest page that may be sent, in bytes: the promise in docs/console.md.
const PAGE_BYTES_MAX: usize = 300_000;

/// A console on a free port.
struct Running {
    address: SocketAddr,
    machine: Arc<Machine>,
    _instance: Arc<Instance>,
}

impl Running {
    fn new() -> Self {
        let config = MachineConfig { schedulers: 1, ..MachineConfig::default() };
        let machine = Arc::new(Machine::start(&config).expect("a machine"));
        let config = Config {
            sa_password: PASSWORD.to_owned(),
            server_name: "test".to_owned(),
            memory_max: 1 << 30,
            query_memory_max: 0,
            lock_mode: LockMode::default(),
            optimizer: engine::opt::Level::Full,
        };
        let store = Store::new(StoreOptions::default());
        let instance = engine::start(config, Arc::clone(&machine), store);
        let settings = Settings {
            address: SocketAddr::from(([127, 0, 0, 1], 0)),
            hosts: vec!["db.example".to_owned()],
            token: Some(Token { login: "sa".to_owned(), secret: SECRET.to_owned() }),
        };
        let bound = Bound::new(settings).expect("a free port");
        let address = bound.address;
        bound.start(&machine, &instance, None).expect("it starts");
        Self { address, machine, _instance: instance }
    }

    fn connect(&self) -> TcpStream {
        let stream = TcpStream::connect(self.address).expect("it listens");
        stream.set_read_timeout(Some(Duration::from_secs(20))).expect("a socket");
        stream
    }

    /// Sends bytes on a new connection; returns the first answer.
    fn raw(&self, bytes: &[u8]) -> Answer {
        let mut stream = self.connect();
        // The server may have answered and closed before it has all.
        let _ = stream.write_all(bytes);
        Answer::read(&mut stream).expect("an answer")
    }

    fn own(&self) -> String {
        format!("Host: {0}\r\nOrigin: http://{0}\r\n", self.address)
    }

    fn get(&self, path: &str, headers: &str) -> Answer {
        self.raw(format!("GET {path} HTTP/1.1\r\n{headers}\r\n").as_bytes())
    }

    fn post(&self, path: &str, headers: &str, body: &str) -> Answer {
        let own = self.own();
        let length = body.len();
        let head =
            format!("POST {path} HTTP/1.1\r\n{own}Content-Length: {length}\r\n{headers}\r\n");
        self.raw(format!("{head}{body}").as_bytes())
    }

    fn log_in(&self, user: &str, password: &str) -> Answer {
        let form = "Content-Type: application/x-www-form-urlencoded\r\n";
        self.post("/api/login", form, &format!("user={user}&password={password}"))
    }

    /// Logs in as `sa`; returns the headers of a request that runs a text.
    fn visit(&self) -> String {
        visit_of(&self.log_in("sa", PASSWORD))
    }

    fn read(&self, visit: &str, text: &str) -> Answer {
        self.post("/api/read", visit, text)
    }

    fn query(&self, visit: &str, text: &str) -> Answer {
        self.post("/api/query", visit, text)
    }
}

impl Drop for Running {
    fn drop(&mut self) {
        self.machine.stop(Duration::from_secs(5));
    }
}

fn visit_of(answer: &Answer) -> String {
    assert_eq!(answer.status, 200, "{}", answer.body);
    let cookie = answer.header("Set-Cookie").split(';').next().unwrap_or_default().to_owned();
    format!("Cookie: {cookie}\r\nContent-Type: application/sql\r\n")
}

/// An answer as it was received.
#[derive(Debug)]
struct Answer {
    status: u16,
    head: String,
    body: String,
}

impl Answer {
    /// Reads one answer; `None` if the connection ends before.
    fn read(stream: &mut TcpStream) -> Option<Self> {
        let mut bytes = Vec::new();
        let mut buffer = [0; 4096];
        let head_end = loop {
            if let Some(at) = bytes.windows(4).position(|four| four == b"\r\n\r\n") {
                break at + 4;
            }
            let count = stream.read(&mut buffer).ok().filter(|count| *count > 0)?;
            bytes.extend_from_slice(&buffer[..count]);
        };
        let head = String::from_utf8(bytes[..head_end].to_vec()).expect("UTF-8");
        let status = head[9..12].parse().expect("a status");
        let answer = Self { status, head, body: String::new() };
        let length: usize = answer.header("Content-Length").parse().expect("a length");
        let mut body = bytes.split_off(head_end);
        while body.len() < length {
            let count = stream.read(&mut buffer).ok().filter(|count| *count > 0)?;
            body.extend_from_slice(&buffer[..count]);
        }
        Some(Self { body: String::from_utf8(body).expect("UTF-8"), ..answer })
    }

    fn header(&self, name: &str) -> &str {
        let line = self.head.lines().find_map(|line| line.strip_prefix(name)?.strip_prefix(": "));
        line.unwrap_or_default()
    }
}

#[test]
fn page_is_small_and_lets_no_other_site_in() {
    let console = Running::new();
    let page = console.get("/", &format!("Host: {}\r\n", console.address));
    assert_eq!(page.status, 200);
    let policy = page.header("Content-Security-Policy");
    assert!(policy.starts_with("default-src 'none';") && !policy.contains("unsafe"), "{policy}");
    assert!(policy.contains("frame-ancestors 'none'"));
    assert_eq!(page.header("X-Content-Type-Options"), "nosniff");
    assert!(page_bytes() < PAGE_BYTES_MAX, "{} bytes", page_bytes());
    assert!(!page.body.contains("style=") && !page.body.contains("<style"), "no inline style");
    assert!(!page.body.contains("onclick"), "no inline script");
    let tag = page.header("ETag").to_owned();
    let again = console.get("/", &format!("Host: a.b\r\nHost: {}\r\n", console.address));
    assert_eq!(again.status, 400, "two hosts");
    let again = console.get("/", &format!("Host: {}\r\nIf-None-Match: {tag}\r\n", console.address));
    assert_eq!((again.status, again.body.as_str()), (304, ""));
}

#[test]
fn every_file_that_the_page_names_is_there() {
    let console = Running::new();
    let host = format!("Host: {}\r\n", console.address);
    let mut wanted = vec!["/".to_owned()];
    let mut seen = 0;
    while let Some(path) = wanted.get(seen).cloned() {
        seen += 1;
        let file = console.get(&path, &host);
        assert_eq!(file.status, 200, "{path}");
        assert!(!file.body.is_empty(), "{path}");
        let names = file.body.split(['"', '\'']).filter(|name| {
            let name = name.strip_prefix('.').unwrap_or(name);
            name.starts_with('/') && [".js", ".css", ".svg"].iter().any(|end| name.ends_with(end))
        });
        for name in names {
            let name = name.trim_start_matches('.').to_owned();
            if !wanted.contains(&name) {
                wanted.push(name);
            }
        }
    }
    assert!(seen > 15, "only {seen} files");
}

#[test]
fn foreign_names_and_sites_are_refused() {
    let console = Running::new();
    let status = |headers: &str| console.get("/", headers).status;
    assert_eq!(status("Host: evil.example\r\n"), 421);
    assert_eq!(status("Host: localhost.evil.example:80\r\n"), 421);
    assert_eq!(status("Host: db.example:1\r\n"), 200);
    assert_eq!(status(""), 400);
    let host = format!("Host: {}\r\n", console.address);
    assert_eq!(status(&format!("{host}Origin: http://evil.example\r\n")), 403);
    assert_eq!(status(&format!("{host}Origin: null\r\n")), 403);
    assert_eq!(status(&format!("{host}Sec-Fetch-Site: cross-site\r\n")), 403);
    let link =
        "Sec-Fetch-Site: cross-site\r\nSec-Fetch-Mode: navigate\r\nSec-Fetch-Dest: document\r\n";
    assert_eq!(status(&format!("{host}{link}")), 200, "a link to the page");
    let framed = link.replace("document", "iframe");
    assert_eq!(status(&format!("{host}{framed}")), 403);
    assert_eq!(console.get("/api/me", &format!("{host}{link}")).status, 403);
    let silent = format!("POST /api/login HTTP/1.1\r\n{host}Content-Length: 0\r\n\r\n");
    assert_eq!(console.raw(silent.as_bytes()).status, 403, "it does not say where it is from");
    let same = format!(
        "POST /api/login HTTP/1.1\r\n{host}Sec-Fetch-Site: same-origin\r\nContent-Length: 0\r\n\r\n"
    );
    assert_eq!(console.raw(same.as_bytes()).status, 415);
}

#[test]
fn only_logins_that_may_see_the_state_get_in() {
    let console = Running::new();
    assert_eq!(console.log_in("sa", "wrong").status, 401);
    assert_eq!(console.log_in("unknown-login", "wrong").status, 401);
    let visit = console.visit();
    let made = console.read(
        &visit,
        "CREATE LOGIN plain WITH PASSWORD = N'Wide-Open-1'; \
         CREATE LOGIN seer WITH PASSWORD = N'Far-Sight-1'; GRANT VIEW SERVER STATE TO seer;",
    );
    assert!(!made.body.contains("\"severity\":16"), "{}", made.body);
    let refused = console.log_in("plain", "Wide-Open-1");
    assert_eq!(refused.status, 403);
    assert!(refused.body.contains("VIEW SERVER STATE"), "{}", refused.body);
    let seer = visit_of(&console.log_in("seer", "Far-Sight-1"));
    assert!(console.read(&seer, "SELECT SUSER_SNAME()").body.contains("[\"seer\"]"));
    let other = console.read(&seer, "KILL 51");
    assert!(other.body.contains("6102"), "its own rights only: {}", other.body);
    // Another password ends the visit; so does DISABLE.
    console.read(&visit, "ALTER LOGIN seer WITH PASSWORD = N'Other-pass1';");
    assert_eq!(console.read(&seer, "SELECT 1").status, 401);
    let seer = visit_of(&console.log_in("seer", "Other-pass1"));
    console.read(&visit, "ALTER LOGIN seer DISABLE;");
    assert_eq!(console.read(&seer, "SELECT 1").status, 401);
}

#[test]
fn a_visit_is_a_cookie_that_scripts_and_other_sites_cannot_use() {
    let console = Running::new();
    let host = format!("Host: {}\r\n", console.address);
    assert_eq!(console.get("/api/me", &host).body, "{\"user\":null}\n");
    let answer = console.log_in("sa", PASSWORD);
    let cookie = answer.header("Set-Cookie").to_owned();
    for part in ["HttpOnly", "SameSite=Strict", "Path=/"] {
        assert!(cookie.contains(part), "{cookie}");
    }
    let visit = visit_of(&answer);
    assert!(console.get("/api/me", &format!("{host}{visit}")).body.contains("\"user\":\"sa\""));
    assert_eq!(console.read("Content-Type: application/sql\r\n", "SELECT 1").status, 401);
    let (name, zeros) = (cookie.split('=').next().unwrap_or_default(), "0".repeat(64));
    let wrong = format!("Cookie: {name}={zeros}\r\nContent-Type: application/sql\r\n");
    assert_eq!(console.read(&wrong, "SELECT 1").status, 401);
    let plain = visit.replace("application/sql", "text/plain");
    assert_eq!(
        console.read(&plain, "SELECT 1").status,
        415,
        "a form of another site could send it"
    );
    assert_eq!(console.post("/api/logout", &visit, "").status, 200);
    assert_eq!(console.read(&visit, "SELECT 1").status, 401);
}

#[test]
fn texts_run_and_their_results_are_bounded() {
    let console = Running::new();
    let visit = console.visit();
    let answer = console.read(&visit, "SELECT 1 AS n, N'a\"b' AS t; PRINT N'said'; SELECT 1/0;");
    assert!(answer.body.contains("[1,\"a\\\"b\"]"), "{}", answer.body);
    assert!(answer.body.contains("\"text\":\"said\"") && answer.body.contains("8134"));
    let many = console.read(&visit, "SELECT a.object_id FROM sys.all_objects a, sys.all_objects b");
    assert!(many.body.contains("\"truncated\":true"), "{}", &many.body[..200]);
    assert_eq!(many.body.matches("\n[").count(), 100);
    // The session goes on after it was cut short.
    assert!(console.read(&visit, "SELECT 42 AS n").body.contains("[42]"));
    // The query page's session lasts: a temporary table is there in the next request.
    console.query(&visit, "CREATE TABLE #kept (n int); INSERT #kept VALUES (7);");
    assert!(console.query(&visit, "SELECT n FROM #kept").body.contains("[7]"));
    assert!(console.read(&visit, "SELECT n FROM #kept").body.contains("208"), "another session");
    let bytes = console.post("/api/read", &visit, "SELECT N'\u{e9}\u{1f600}'");
    assert!(bytes.body.contains("\u{e9}\u{1f600}"), "{}", bytes.body);
}

#[test]
fn a_query_can_be_cancelled_and_killed() {
    let console = Running::new();
    let visit = console.visit();
    let traced = "EXEC sp_set_session_context N'traceparent', \
        N'00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01';";
    std::thread::scope(|scope| {
        let waiting = scope.spawn(|| {
            console.query(&visit, traced);
            console.query(&visit, "WAITFOR DELAY '00:01:00'")
        });
        let seen = "SELECT session_id FROM sys.dm_exec_requests WHERE wait_type = N'WAITFOR' \
            AND traceparent LIKE N'00-4bf92f35%'";
        while !console.read(&visit, seen).body.contains("\n[") {
            std::thread::yield_now();
        }
        assert_eq!(console.query(&visit, "SELECT 1").status, 409, "one query at a time");
        assert!(console.post("/api/cancel", &visit, "").body.contains("true"));
        assert_eq!(waiting.join().expect("it ended").status, 200);
        let waiting = scope.spawn(|| console.query(&visit, "WAITFOR DELAY '00:01:00'"));
        let kill = "DECLARE @id int = (SELECT session_id FROM sys.dm_exec_requests \
            WHERE wait_type = N'WAITFOR'); IF @id IS NOT NULL EXEC (N'KILL ' + @id); \
            SELECT @id AS killed";
        while console.read(&visit, kill).body.contains("[null]") {
            std::thread::yield_now();
        }
        let killed = waiting.join().expect("it ended");
        assert!(killed.body.contains("596"), "{}", killed.body);
    });
    assert!(console.query(&visit, "SELECT 5").body.contains("[5]"), "a new session");
}

#[test]
fn hostile_requests_are_refused_and_cost_little() {
    let console = Running::new();
    let own = console.own();
    let huge = format!("POST /api/login HTTP/1.1\r\n{own}Content-Length: 99999999\r\n\r\n");
    assert_eq!(console.raw(huge.as_bytes()).status, 413);
    let chunked = format!("POST /api/login HTTP/1.1\r\n{own}Transfer-Encoding: chunked\r\n\r\n");
    assert_eq!(console.raw(chunked.as_bytes()).status, 501);
    assert_eq!(console.raw(b"\x16\x03\x01\x02\x00\x01\x00\x01\xfc\x03\x03\r\n\r\n").status, 400);
    let long = format!("GET / HTTP/1.1\r\n{own}X: {}\r\n\r\n", "x".repeat(20_000));
    assert_eq!(console.raw(long.as_bytes()).status, 431);
    assert_eq!(console.get("/../etc/passwd", &own).status, 404);
    assert_eq!(console.get("/api/read", &own).status, 405);
    let visit = console.visit();
    let not_text = [
        format!("POST /api/read HTTP/1.1\r\n{own}{visit}Content-Length: 2\r\n\r\n").as_bytes(),
        b"\xff\xfe",
    ]
    .concat();
    assert_eq!(console.raw(&not_text).status, 400);
    // A client that is slow in its headers, and one that is slow in its body.
    assert_eq!(console.raw(b"GET / HTTP/1.1\r\nHost:").status, 408);
    let slow = format!("POST /api/login HTTP/1.1\r\n{own}Content-Length: 9\r\n\r\nabc");
    assert_eq!(console.raw(slow.as_bytes()).status, 408);
    // A client that leaves within a request.
    let stream = console.connect();
    (&stream).write_all(b"GET / HT").expect("sent");
    stream.shutdown(Shutdown::Both).expect("a socket");
    assert_eq!(console.get("/", &own).status, 200);
}

#[test]
fn requests_of_one_connection_are_answered_in_order() {
    let console = Running::new();
    let own = console.own();
    let mut stream = console.connect();
    let two = format!(
        "GET /nothing HTTP/1.1\r\n{own}\r\nHEAD / HTTP/1.1\r\n{own}Connection: close\r\n\r\n"
    );
    stream.write_all(two.as_bytes()).expect("sent");
    let mut all = String::new();
    stream.read_to_string(&mut all).expect("both answers");
    let statuses: Vec<_> =
        all.match_indices("HTTP/1.1 ").map(|(at, _)| &all[at + 9..at + 12]).collect();
    assert_eq!(statuses, ["404", "200"]);
    assert!(all.ends_with("\r\n\r\n"), "HEAD has no body");
}

#[test]
fn too_many_connections_are_closed_at_once() {
    let console = Running::new();
    let own = console.own();
    let held: Vec<_> = (0..crate::CONNECTIONS_MAX)
        .map(|_| {
            let mut stream = console.connect();
            stream
                .write_all(format!("GET /icon.svg HTTP/1.1\r\n{own}\r\n").as_bytes())
                .expect("sent");
            assert_eq!(Answer::read(&mut stream).expect("an answer").status, 200);
            stream
        })
        .collect();
    let mut further = console.connect();
    let _ = further.write_all(format!("GET / HTTP/1.1\r\n{own}\r\n").as_bytes());
    assert!(Answer::read(&mut further).is_none());
    drop(held);
    let mut refused = 0;
    loop {
        let mut stream = console.connect();
        let _ = stream.write_all(format!("GET / HTTP/1.1\r\n{own}\r\n").as_bytes());
        if Answer::read(&mut stream).is_some() {
            break;
        }
        refused += 1;
        assert!(refused < 10_000, "a place is free again");
    }
}

#[test]
fn many_wrong_logins_have_to_wait() {
    let console = Running::new();
    for number in 0..crate::entry::FAILURES_MAX {
        assert_eq!(console.log_in(&format!("unknown{number}"), "wrong").status, 401);
    }
    let refused = console.log_in("sa", PASSWORD);
    assert_eq!((refused.status, refused.header("Retry-After")), (429, "60"));
    // A scraper's credentials are logins, too.
    let host = format!("Host: {}\r\n", console.address);
    let basic = format!("{host}Authorization: Basic c2E6U2VjcmV0LTE=\r\n");
    assert_eq!(console.get("/metrics", &basic).status, 429);
}

#[test]
fn scrapers_get_metrics_with_credentials_only() {
    let console = Running::new();
    let host = format!("Host: {}\r\n", console.address);
    let metrics = |headers: &str| console.get("/metrics", &format!("{host}{headers}"));
    let refused = metrics("");
    assert_eq!(refused.status, 401);
    assert!(refused.header("WWW-Authenticate").starts_with("Basic"));
    assert_eq!(metrics("Authorization: Bearer wrong\r\n").status, 401);
    assert_eq!(metrics("Authorization: Basic !!\r\n").status, 401);
    assert_eq!(metrics("Authorization: Digest x\r\n").status, 401);
    // A cookie is not enough: a scraper has none.
    assert_eq!(metrics(&console.visit()).status, 401);
    let basic = metrics("Authorization: Basic c2E6U2VjcmV0LTE=\r\n");
    assert_eq!(basic.status, 200, "{}", basic.body);
    let page = metrics(&format!("Authorization: Bearer {SECRET}\r\n"));
    assert!(page.header("Content-Type").starts_with("application/openmetrics-text"));
    assert!(page.body.ends_with("# EOF\n"));
    assert!(page.body.contains("\nclearway_time_seconds_total{category=\"user\",name=\"parse\"} "));
    assert!(page.body.contains("\nclearway_schedulers 1\n"), "{}", page.body);
    for line in page.body.lines().filter(|line| !line.starts_with('#')) {
        let (name, value) = line.rsplit_once(' ').expect("a name and a value");
        assert!(name.starts_with("clearway_"), "{line}");
        assert!(value.parse::<f64>().is_ok_and(f64::is_finite), "{line}");
    }
}

/// The panels are what the page asks: each query must run.
#[test]
fn built_in_panels_run_and_users_add_theirs() {
    let console = Running::new();
    let visit = console.visit();
    let failed = console.read(
        &visit,
        "DECLARE @q nvarchar(max), @t nvarchar(128); \
         DECLARE c CURSOR LOCAL FOR SELECT query, title FROM sys.console_panels; OPEN c; \
         FETCH c INTO @q, @t; WHILE @@FETCH_STATUS = 0 BEGIN BEGIN TRY \
         SET @q = N'SELECT * INTO #x FROM (SELECT 1 AS n) AS d; ' + @q; \
         EXEC sp_executesql @q, N'@from datetime2, @to datetime2, @session nvarchar(256)', \
         NULL, NULL, N'system_health'; END TRY \
         BEGIN CATCH PRINT N'FAILED ' + @t + N': ' + ERROR_MESSAGE(); END CATCH; \
         FETCH c INTO @q, @t; END",
    );
    assert_eq!(failed.status, 200);
    assert!(!failed.body.contains("FAILED"), "{}", failed.body);
    let added = console.read(
        &visit,
        "INSERT msdb.dbo.console_panels (title, query) VALUES (N'Mine', N'SELECT 1 AS n'); \
         SELECT screen, kind, refresh_seconds, is_system FROM sys.console_panels WHERE title = N'Mine'",
    );
    assert!(added.body.contains("[\"panels\",\"table\",5,0]"), "{}", added.body);
}
