//! Requests, and sessions without one that hold a transaction open or block others.

use std::collections::BTreeSet;

use crate::format::{count, duration};
use crate::rows::Row;
use crate::table::{Column, Keyed, Rank};

/// A request, or a session that is between two.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Request {
    /// Number of the session.
    pub session: i64,
    /// Milliseconds that the request runs, or that the session has been idle.
    pub duration_ms: i64,
    /// SQL Server's word for its state.
    pub status: String,
    /// What it waits for; empty if it doesn't wait.
    pub wait_type: String,
    /// Milliseconds that it has waited.
    pub wait_ms: i64,
    /// CPU time in milliseconds.
    pub cpu_ms: i64,
    /// Number of logical reads.
    pub reads: i64,
    /// Number of pages written.
    pub writes: i64,
    /// The session that it waits for; 0 if none. SQL Server has negative numbers for others.
    pub blocker: i64,
    /// Name of the current database.
    pub database: String,
    /// Name of the login.
    pub login: String,
    /// Name of the client's machine.
    pub host: String,
    /// Name of the client program.
    pub program: String,
    /// Number of open transactions.
    pub transactions: i64,
    /// How much of it is done, in percent, if the server knows.
    pub percent: Option<f64>,
    /// Handle of its plan in hexadecimal; empty if there is none.
    pub plan: String,
    /// First and last byte of the statement in its batch; -1 is the batch's end.
    pub statement: (i64, i64),
    /// Text of the statement, or of the last one of an idle session.
    pub text: String,
}

impl Request {
    /// Reads a row of the question about requests.
    #[must_use]
    pub fn from_row(row: &Row) -> Self {
        let integer = |column| row.integer(column).unwrap_or(0);
        let text = |column| row.text(column).to_owned();
        Self {
            session: integer(0),
            duration_ms: integer(2),
            status: text(3),
            wait_type: text(4),
            wait_ms: integer(5),
            cpu_ms: integer(6),
            reads: integer(7),
            writes: integer(8),
            blocker: integer(9),
            database: text(10),
            login: text(11),
            host: text(12),
            program: text(13),
            transactions: integer(14),
            percent: row.number(15).filter(|percent| *percent > 0.0),
            plan: text(16),
            statement: (integer(17), row.integer(18).unwrap_or(-1)),
            text: if row.text(19).is_empty() { text(20) } else { text(19) },
        }
    }

    /// Returns the wait's type and time; empty if it doesn't wait.
    #[must_use]
    pub fn wait(&self) -> String {
        match self.wait_type.as_str() {
            "" => String::new(),
            name => format!("{name} {}", duration(self.wait_ms)),
        }
    }
}

impl Keyed for Request {
    fn key(&self) -> String {
        format!("{} {:?} {}", self.session, self.statement, self.plan)
    }
}

fn some(number: i64) -> String {
    if number == 0 { String::new() } else { number.to_string() }
}

#[expect(clippy::cast_precision_loss, reason = "a rank, and numbers of at most seven cells")]
const fn float(number: i64) -> f64 {
    number as f64
}

/// Makes a column of text.
macro_rules! text {
    ($name:literal, $width:literal, $core:literal, $cell:expr) => {{
        let cell: fn(&Request) -> String = $cell;
        let rank: fn(&Request) -> Rank = |r| {
            Rank::Text({
                let cell: fn(&Request) -> String = $cell;
                cell(r)
            })
        };
        Column { name: $name, width: $width, is_core: $core, is_right: false, cell, rank }
    }};
}

/// Makes a column of numbers.
macro_rules! number {
    ($name:literal, $width:literal, $core:literal, $cell:expr, $rank:expr) => {{
        let cell: fn(&Request) -> String = $cell;
        let rank: fn(&Request) -> f64 = $rank;
        let _ = rank;
        let rank: fn(&Request) -> Rank = |r| {
            Rank::Number({
                let rank: fn(&Request) -> f64 = $rank;
                rank(r)
            })
        };
        Column { name: $name, width: $width, is_core: $core, is_right: true, cell, rank }
    }};
}

/// The columns that sp_WhoIsActive made known.
pub const COLUMNS: &[Column<Request>] = &[
    number!("Sess", 5, true, |r| r.session.to_string(), |r| -float(r.session)),
    number!("Duration", 8, true, |r| duration(r.duration_ms), |r| float(r.duration_ms)),
    text!("Status", 9, true, |r| r.status.clone()),
    text!("Wait", 18, true, Request::wait),
    number!("Block", 5, true, |r| some(r.blocker), |r| float(r.blocker)),
    number!("CPU", 8, true, |r| duration(r.cpu_ms), |r| float(r.cpu_ms)),
    number!("Reads", 7, false, |r| count(float(r.reads)), |r| float(r.reads)),
    number!("Writes", 7, false, |r| count(float(r.writes)), |r| float(r.writes)),
    number!("Tran", 4, false, |r| some(r.transactions), |r| float(r.transactions)),
    text!("Database", 10, false, |r| r.database.clone()),
    text!("Login", 8, false, |r| r.login.clone()),
    text!("Host", 8, false, |r| r.host.clone()),
    text!("Program", 12, false, |r| r.program.clone()),
    number!(
        "%",
        4,
        false,
        |r| r.percent.map_or(String::new(), |percent| format!("{percent:.0}")),
        |r| r.percent.unwrap_or(0.0)
    ),
    text!("Text", 0, true, |r| r.text.clone()),
];

/// A line of the blocking tree: how deep it is, and the session.
#[derive(Clone, Debug, PartialEq)]
pub struct Branch {
    /// 0 for a session that waits for no other one.
    pub depth: usize,
    /// The session and its request; `None` if the server did not list it.
    pub request: Option<Request>,
    /// Number of the session.
    pub session: i64,
}

impl Keyed for Branch {
    fn key(&self) -> String {
        self.session.to_string()
    }
}

/// Returns the blocking tree: each head, and below it those that wait for it. A cycle is shown from
/// its lowest session on; a session is shown once.
#[must_use]
pub fn blocking_tree(requests: &[Request]) -> Vec<Branch> {
    let waiting: BTreeSet<i64> = requests
        .iter()
        .filter(|r| r.blocker != 0 && r.blocker != r.session)
        .map(|r| r.session)
        .collect();
    let blocking: BTreeSet<i64> =
        requests.iter().filter(|r| waiting.contains(&r.session)).map(|r| r.blocker).collect();
    let mut tree = Vec::new();
    let mut seen = BTreeSet::new();
    let heads = blocking.iter().filter(|session| !waiting.contains(session));
    // Of a cycle no session is a head: what no head leads to starts at its lowest number.
    for session in heads.chain(&waiting) {
        grow(*session, 0, requests, &mut seen, &mut tree);
    }
    tree
}

fn grow(
    session: i64,
    depth: usize,
    requests: &[Request],
    seen: &mut BTreeSet<i64>,
    tree: &mut Vec<Branch>,
) {
    if !seen.insert(session) {
        return;
    }
    let request = requests.iter().find(|request| request.session == session).cloned();
    tree.push(Branch { depth, request, session });
    let mut blocked: Vec<&Request> = requests.iter().filter(|r| r.blocker == session).collect();
    blocked.sort_by_key(|request| (-request.wait_ms, request.session));
    for request in blocked {
        grow(request.session, depth + 1, requests, seen, tree);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn requests(pairs: &[(i64, i64)]) -> Vec<Request> {
        let of = |&(session, blocker)| Request { session, blocker, ..Request::default() };
        pairs.iter().map(of).collect()
    }

    fn tree(pairs: &[(i64, i64)]) -> Vec<(usize, i64)> {
        blocking_tree(&requests(pairs)).iter().map(|line| (line.depth, line.session)).collect()
    }

    #[test]
    fn tree_starts_at_sessions_that_wait_for_none() {
        let found = tree(&[(51, 0), (52, 51), (53, 52), (54, 51), (60, 0)]);
        assert_eq!(found, [(0, 51), (1, 52), (2, 53), (1, 54)]);
    }

    #[test]
    fn head_that_is_not_listed_and_cycles_are_shown() {
        assert_eq!(tree(&[(52, 99)]), [(0, 99), (1, 52)]);
        assert_eq!(tree(&[(52, 53), (53, 52)]), [(0, 52), (1, 53)]);
        assert_eq!(tree(&[(52, -2)]), [(0, -2), (1, 52)]);
        assert_eq!(tree(&[(52, 52), (53, 0)]), [], "a session does not block itself");
    }

    #[test]
    fn row_without_a_request_is_an_idle_session() {
        let row = Row::from_record(
            "57\t\\N\t4000\tsleeping\t\\N\t\\N\t12\t3\t1\t\\N\tshop\tsa\tweb1\tapp\t1\t\\N\t\\N\t\\N\t\\N\tBEGIN TRAN\t\\N",
        );
        let request = Request::from_row(&row);
        assert_eq!((request.session, request.transactions, request.blocker), (57, 1, 0));
        assert_eq!((request.wait().as_str(), request.statement), ("", (0, -1)));
        assert_eq!((request.text.as_str(), request.percent), ("BEGIN TRAN", None));
    }

    #[test]
    fn request_without_text_shows_its_command() {
        let row = Row::from_record(
            "57\t0\t4\trunning\tLCK_M_X\t61000\t1\t0\t0\t52\tshop\tsa\t\\N\t\\N\t1\t40\t0x06\t10\t90\t\\N\tUPDATE",
        );
        let request = Request::from_row(&row);
        assert_eq!((request.text.as_str(), request.wait().as_str()), ("UPDATE", "LCK_M_X 1:01.0"));
        assert_eq!((request.percent, request.plan.as_str()), (Some(40.0), "0x06"));
    }
}
