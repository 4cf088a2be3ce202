//! `Calls`: the requests of a kind of work as TDS messages, for measuring one server alone.

use load::Login;

use crate::protocol::Protocol;
use crate::protocol::tds::Tds;
use crate::work::{Ask, COUNTERS, KEYS, Work};

/// What is sent to a TDS server for one kind of work.
#[derive(Debug)]
pub struct Calls {
    /// Messages that create tables, rows and procedures, sent once on one connection.
    pub setup: Vec<Vec<u8>>,
    /// Requests: one for each key of each connection.
    pub requests: Vec<Vec<u8>>,
}

/// Returns the calls of a kind of work; `None` for [`Work::Session`], whose requests depend on the
/// answers before.
pub fn calls(work: Work) -> Option<Calls> {
    let login = Login { user: String::new(), password: String::new(), database: String::new() };
    let tds = Tds::new(login);
    let message = |ask| {
        let mut out = Vec::new();
        tds.put(ask, &mut out);
        out
    };
    let ask: fn(usize) -> Ask = match work {
        Work::Get => |key| Ask::Get { key },
        Work::Set => |key| Ask::Set { key, version: 1 },
        Work::Counter => |key| Ask::Add { counter: key % COUNTERS },
        Work::Session => return None,
    };
    let mut setup = tds.setup();
    setup.extend((0..KEYS).map(|key| message(Ask::Set { key, version: 0 })));
    Some(Calls { setup, requests: (0..KEYS).map(|key| message(ask(key))).collect() })
}
