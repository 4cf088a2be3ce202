//! Compares our server with DuckDB on one thread: the same queries over the same data, in turns.
//!
//! The answers are compared, so a fast wrong answer does not count. CPU time is that of the whole
//! server process (its threads on one scheduler) and of the whole peer process; of the runs of a
//! query the median counts.

mod answer;
mod peer;
mod report;

use std::path::Path;
use std::process::ExitCode;
use std::time::Duration;

use load::{Generator, Result, ServerProcess};
use tds::client::{self, ClientSettings};

use crate::setup::connect;
use crate::{machine, say, write};
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

/// How the queries of a benchmark are run, and where the results are written.
pub(crate) struct Tour<'a> {
    /// Runs of each query, of which the median counts.
    pub(crate) runs: usize,
    /// After this time a query is cancelled and counts as not answered.
    pub(crate) limit: Duration,
    /// Only queries whose name contains this.
    pub(crate) only: &'a str,
    pub(crate) json: Option<&'a Path>,
    pub(crate) page: Option<&'a Path>,
    /// Heading of the section of the page.
    pub(crate) heading: &'a str,
}

impl Tour<'_> {
    /// Runs every query on both sides and writes the results. Exit code 1 if an answer is wrong or
    /// missing; slow is no failure.
    pub(crate) fn run(
        &self,
        queries: &[Query],
        (server, database): (&ServerProcess, &str),
        peer: &mut Peer,
        mut found: Found,
    ) -> Result<ExitCode> {
        let mut client = connect(server, database)?;
        for query in queries.iter().filter(|query| query.name.contains(self.only)) {
            let line = compare((self.runs, self.limit), (server, &mut client), peer, query)?;
            if line.has_failed() {
                // After a failure, part of an answer may be left on the connection.
                client = connect(server, database)?;
            }
            say(&line.cells().join("  "));
            found.lines.push(line);
        }
        say(&found.summary());
        if let Some(path) = self.json {
            write(path, &found.json())?;
        }
        if let Some(path) = self.page {
            crate::page::put_section(path, self.heading, &found.section())?;
        }
        Ok(if found.is_right() { ExitCode::SUCCESS } else { ExitCode::FAILURE })
    }
}

/// Returns the text of a file.
pub(crate) fn read(path: &Path) -> Result<String> {
    std::fs::read_to_string(path).map_err(|error| format!("{}: {error}", path.display()))
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
    const fn has_failed(&self) -> bool {
        matches!(self.own, Own::Failed(_))
    }
}

/// Runs a query several times on both sides alternately, so that other work on the machine affects
/// both; checks each answer, and takes the median cost.
fn compare(
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
