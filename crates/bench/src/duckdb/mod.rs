//! Compares our server with DuckDB on one thread: the same queries over the same data, in turns.
//!
//! The answers are compared, so a fast wrong answer does not count. CPU time is that of the whole
//! server process (its threads on one scheduler) and of the whole peer process; of the runs of a
//! query the median counts.

mod answer;
mod peer;
mod report;

use std::time::Duration;

use load::{Generator, Result, ServerProcess};
use tds::client::{self, ClientSettings};

use crate::{machine, say};
use answer::{Rows, Verdict};
pub(crate) use peer::{Peer, run};

/// A query that both sides answer.
pub(crate) struct Query {
    pub(crate) name: String,
    pub(crate) text: String,
    /// The columns that decide which rows are in the answer and where; `None` if every row is
    /// decided.
    pub(crate) ranked_by: Option<Vec<usize>>,
}

/// One query with the results of both sides.
pub(crate) struct Line {
    name: String,
    peer_ns: u64,
    own: Own,
}

/// Our server's result for a query.
enum Own {
    Answered { cpu_ns: u64, verdict: Verdict },
    Failed(String),
}

/// The results of all queries.
pub(crate) struct Found {
    pub(crate) facts: machine::Facts,
    /// What the section of the page begins with.
    pub(crate) opening: String,
    /// How large the data is.
    pub(crate) scale: String,
    /// The limit of CPU time, as a multiple of the other side's.
    pub(crate) ratio_max: f64,
    pub(crate) rows: u64,
    pub(crate) load_cpu_ns: u64,
    pub(crate) lines: Vec<Line>,
}

impl Line {
    /// Returns whether the answer may be incomplete, so that a part of it is left on the connection.
    pub(crate) const fn has_failed(&self) -> bool {
        matches!(self.own, Own::Failed(_))
    }
}

/// Runs a query several times on both sides alternately, so that other work on the machine affects
/// both; checks each answer, and takes the median cost.
pub(crate) fn compare(
    (runs, limit): (usize, Duration),
    (server, client): (&ServerProcess, &mut Generator),
    peer: &mut Peer,
    query: &Query,
) -> Result<Line> {
    let request = client::batch(&query.text, ClientSettings::default());
    let (mut theirs, mut taken) = (Vec::new(), Vec::new());
    let mut verdict = Ok(Verdict::Same);
    for _ in 0..runs.max(1) {
        let other = peer.answer(&query.name)?;
        theirs.push(other.cpu_ns);
        let Ok(before) = verdict else { continue };
        let before_ns = cpu_ns(server)?;
        let answer = ask(client, &request, limit);
        taken.push(cpu_ns(server)? - before_ns);
        verdict = match answer {
            Ok(rows) => Ok(before.max(of_rows(query, &rows, &other.rows, peer)?)),
            Err(what) => Err(what),
        };
    }
    let own = match verdict {
        Ok(verdict) => Own::Answered { cpu_ns: median(taken), verdict },
        Err(what) => Own::Failed(what),
    };
    Ok(Line { name: query.name.clone(), peer_ns: median(theirs), own })
}

fn of_rows(query: &Query, own: &Rows, other: &Rows, peer: &mut Peer) -> Result<Verdict> {
    let mut verdict = answer::compare(own, other);
    if let (Verdict::Different, Some(ranked_by)) = (verdict, &query.ranked_by) {
        let whole = peer.whole_answer(&query.name)?;
        if answer::differ_by_ties(own, other, ranked_by, &whole) {
            verdict = Verdict::OtherTies;
        }
    }
    if verdict == Verdict::Different {
        say(&report::first_difference(own, other));
    }
    Ok(verdict)
}

fn ask(client: &mut Generator, request: &[u8], limit: Duration) -> Result<Rows> {
    let packets = client.ask_within(request, limit)?;
    let packets = packets.ok_or_else(|| format!("no answer within {} s", limit.as_secs()))?;
    answer::own_rows(&packets)
}

fn median(mut all: Vec<u64>) -> u64 {
    all.sort_unstable();
    all.get(all.len() / 2).copied().unwrap_or(0)
}

pub(crate) fn cpu_ns(server: &ServerProcess) -> Result<u64> {
    sos::sys::process_clock_ns(server.id()).map_err(|error| format!("the server has gone: {error}"))
}
