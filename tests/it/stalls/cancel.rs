//! Cancels a batch in its midst: an attention is sent once the server has worked on it for some time, in CPU time.

use std::collections::BTreeMap;
use std::io::Write;
use std::net::TcpStream;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread::{self, JoinHandle};

use tds::DoneStatus;
use tds::TdsVersion;
use tds::client::Token;
use tds::prelogin::Encryption;
use types::Value;

use crate::client::{Client, Tokens, assert_logged_in, login_of_sa, rows, tcp};
use crate::server::{ServerProcess, pause};

use super::measure::cpu_ns;

/// The CPU time that the server works on a batch before it is cancelled.
const WORKED_NS: u64 = 30_000_000;
/// How often the memory of the clerks is looked at again: dropped tables are freed by the garbage collector.
const LOOKS: usize = 200;

/// What is cancelled over and over: a long value, a document, rows that are sorted, and rows that are written.
pub(super) const REPEATED: &[&str] = &[
    "SELECT DATALENGTH(REVERSE(@w)), DATALENGTH(UPPER(@s)), DATALENGTH(REPLACE(@s, 'a', 'bb'))",
    "SELECT COUNT(*) FROM OPENJSON(@j)",
    "SELECT COUNT(*) FROM (SELECT t, COUNT(*) AS n FROM dbo.many GROUP BY t) AS x",
    "SELECT * INTO #t FROM dbo.many; DROP TABLE #t",
    "BEGIN TRANSACTION; SELECT COUNT(*) FROM dbo.many WITH (REPEATABLEREAD); COMMIT",
    "SELECT DATALENGTH((SELECT * FROM dbo.many FOR XML PATH, TYPE))",
];

/// What became of a batch.
pub(super) enum Ended {
    /// It ended before the attention was sent.
    First,
    /// It ended this many milliseconds of the server's CPU after the attention.
    Cancelled(u64),
}

/// Runs a batch in a new session, and cancels it.
pub(super) fn run(server: &ServerProcess, text: &str) -> Ended {
    let stream = tcp(server.address);
    let sender = stream.try_clone().expect("a socket");
    let mut client = Client::over(Box::new(stream), TdsVersion::V7_4);
    assert_eq!(client.prelogin(Encryption::NotSupported), Some(Encryption::NotSupported));
    assert_logged_in(&client.login(&login_of_sa()));
    let canceller = Canceller::start(server.id(), sender);
    client.send(&tds::client::batch(text, client.settings));
    let answer = client.response();
    let Some(sent_ns) = canceller.end() else { return Ended::First };
    // The acknowledgement is a separate message, unless nothing else was to be sent.
    if !is_acknowledged(&answer) {
        let end = client.response();
        assert!(is_acknowledged(&end), "{text}: {end:?}");
    }
    let took_ms = cpu_ns(server.id()).saturating_sub(sent_ns) / 1_000_000;
    // The session goes on.
    let state = client.batch("SELECT 5; IF @@TRANCOUNT > 0 ROLLBACK");
    assert_eq!(rows(&state), [[Value::Int(5)]], "{text}");
    Ended::Cancelled(took_ms)
}

fn is_acknowledged(tokens: &Tokens) -> bool {
    let attention = |token: &Token| matches!(token, Token::Done(done) if done.status.has(DoneStatus::ATTENTION));
    tokens.iter().any(attention)
}

/// A thread that sends an attention once the server has worked for [`WORKED_NS`].
struct Canceller {
    is_over: Arc<AtomicBool>,
    thread: JoinHandle<Option<u64>>,
}

impl Canceller {
    /// Starts it; it counts from now on.
    #[expect(clippy::disallowed_methods, reason = "a test has no machine to run threads on")]
    fn start(server: u32, mut sender: TcpStream) -> Self {
        let is_over = Arc::new(AtomicBool::new(false));
        let (own, start_ns) = (Arc::clone(&is_over), cpu_ns(server));
        let thread = thread::spawn(move || {
            loop {
                let now_ns = cpu_ns(server);
                if now_ns >= start_ns + WORKED_NS {
                    sender.write_all(&tds::client::attention()).expect("the server takes bytes");
                    return Some(now_ns);
                }
                if own.load(Ordering::Relaxed) {
                    return None;
                }
                thread::yield_now();
            }
        });
        Self { is_over, thread }
    }

    /// Returns the server's CPU time when the attention was sent, if it was.
    fn end(self) -> Option<u64> {
        self.is_over.store(true, Ordering::Relaxed);
        self.thread.join().expect("the server takes bytes")
    }
}

/// The memory of the clerks by type, in KB, without those of caches, and without MEMORYCLERK_SOSMEMMANAGER: it is memory that
/// is free and kept for the next request, and stays the same however often a batch is cancelled
/// (`free_memory_does_not_grow_with_each_cancellation`).
fn clerks(client: &mut Client) -> BTreeMap<String, i64> {
    let tokens = client.batch(
        "SELECT CONVERT(varchar(60), type), SUM(CONVERT(bigint, pages_kb)) FROM sys.dm_os_memory_clerks \
         WHERE type NOT LIKE 'CACHESTORE%' AND type <> 'MEMORYCLERK_SOSMEMMANAGER' GROUP BY type",
    );
    let pair = |row: Vec<Value>| match &row[..] {
        [Value::VarChar(name), Value::BigInt(kb)] => {
            (String::from_utf8_lossy(name).into_owned(), *kb)
        }
        other => panic!("{other:?} is no clerk"),
    };
    rows(&tokens).into_iter().map(pair).collect()
}

/// Returns the memory that is free and kept for the next request, in KB.
pub(super) fn free_kb(client: &mut Client) -> i64 {
    let tokens = client.batch(
        "SELECT SUM(CONVERT(bigint, pages_kb)) FROM sys.dm_os_memory_clerks \
         WHERE type = 'MEMORYCLERK_SOSMEMMANAGER'",
    );
    match &rows(&tokens)[..] {
        [row] => match row[..] {
            [Value::BigInt(kb)] => kb,
            _ => panic!("{row:?} is no clerk"),
        },
        other => panic!("{other:?} is no clerk"),
    }
}

/// The clerks' memory before a batch.
pub(super) struct Books(BTreeMap<String, i64>);

impl Books {
    /// Reads the memory of all clerks.
    pub(super) fn open(client: &mut Client) -> Self {
        Self(clerks(client))
    }

    /// Returns the clerk that has grown most once the garbage collector has worked, if it is by more than `most_kb`.
    pub(super) fn close(&self, client: &mut Client, most_kb: i64) -> Option<(String, i64)> {
        let mut worst = None;
        for _ in 0..LOOKS {
            let grown = clerks(client).into_iter().map(|(name, kb)| {
                let before = self.0.get(&name).copied().unwrap_or(0);
                (name, kb - before)
            });
            worst = grown.max_by_key(|(_, kb)| *kb).filter(|(_, kb)| *kb > most_kb);
            worst.as_ref()?;
            pause();
        }
        worst
    }
}
