//! `bench aggregate`: the control experiment `row-mode-aggregate`. Each session builds a hash table
//! of many groups; two concurrent sessions must each cost what one costs alone, because the engine
//! reuses the memory of freed tables.
//!
//! The factor that counts is CPU per query, which other work on the machine influences little; the
//! factor of elapsed time is shown beside it. One and two sessions take turns, so that other work
//! on the machine affects both.

use std::path::{Path, PathBuf};
use std::process::ExitCode;

use clap::Args;
use load::process::Place;
use load::{Answer, Generator, Result, ServerProcess};
use sos::clock;
use tds::client::{self, ClientSettings};
use types::Value;

use crate::report::median;
use crate::setup::{Schedulers, connect, login, run_batches, start_clearway};
use crate::{Plan, machine, page, say, write};

const DATABASE: &str = "Aggregate";
/// Rows in each group.
const ROWS_PER_GROUP: u32 = 10;
/// The most that each of two sessions may cost, as a multiple of one alone.
const FACTOR_MAX: f64 = 1.05;
const HEADING: &str = "## Aggregates side by side";

#[derive(Args, Clone)]
pub(crate) struct AggregateArguments {
    /// The server's binary; default the one beside this
    #[arg(long, value_name = "FILE")]
    server: Option<PathBuf>,
    /// Rows of the table; a tenth as many groups
    #[arg(long, value_name = "N", default_value_t = 1_000_000)]
    rows: u32,
    /// Rounds, each with one session and with two
    #[arg(long, value_name = "N", default_value_t = 7)]
    rounds: usize,
    /// Where to write the results as JSON
    #[arg(long, value_name = "FILE")]
    json: Option<PathBuf>,
    /// A page in which the section on this experiment is replaced
    #[arg(long, value_name = "FILE")]
    page: Option<PathBuf>,
}

/// The cost of a round, in milliseconds.
struct Turn {
    cpu_each: f64,
    wall: f64,
}

/// Medians over the rounds.
struct Found {
    alone: Turn,
    together: Turn,
}

/// Runs the experiment. Exit code 1 if an answer is wrong; a factor above the goal is printed but
/// is no failure.
pub(crate) fn run(arguments: &AggregateArguments) -> Result<ExitCode> {
    let plan = Plan::of_server(arguments.server.as_ref(), Path::new("."))?;
    let server = start_clearway(&plan, Schedulers::PerCpu, Place::Anywhere)?;
    prepare(&server, arguments.rows)?;
    let mut sessions =
        [1, 2].map(|count| Generator::log_in(server.address(), count, &login(DATABASE)));
    let mut turns: [Vec<Turn>; 2] = Default::default();
    // The first round fills memory and caches, and is not counted.
    for round in 0..=arguments.rounds.max(1) {
        for (place, generator) in sessions.iter_mut().enumerate() {
            let generator = generator.as_mut().map_err(|error| error.clone())?;
            let turn = turn(&server, generator, place + 1, arguments.rows)?;
            if round > 0 {
                turns[place].push(turn);
            }
        }
    }
    let [alone, together] = turns.map(|turns| Turn {
        cpu_each: median(&turns.iter().map(|turn| turn.cpu_each).collect::<Vec<_>>()),
        wall: median(&turns.iter().map(|turn| turn.wall).collect::<Vec<_>>()),
    });
    let found = Found { alone, together };
    say(&found.line(arguments));
    if let Some(path) = &arguments.json {
        write(path, &found.json(arguments))?;
    }
    if let Some(path) = &arguments.page {
        page::put_section(path, HEADING, &found.section(arguments, &machine::machine(&plan)))?;
    }
    Ok(ExitCode::SUCCESS)
}

fn prepare(server: &ServerProcess, rows: u32) -> Result<()> {
    run_batches(&mut connect(server, "")?, [format!("CREATE DATABASE {DATABASE}").as_str()])?;
    let groups = rows / ROWS_PER_GROUP;
    let fill = format!(
        "INSERT INTO dbo.Facts SELECT value, value % {groups}, value FROM GENERATE_SERIES(CAST(0 AS bigint), CAST({} AS bigint))",
        rows.saturating_sub(1)
    );
    let table = "CREATE TABLE dbo.Facts (Id bigint NOT NULL PRIMARY KEY, Grp bigint NOT NULL, Amount bigint NOT NULL)";
    run_batches(&mut connect(server, DATABASE)?, [table, fill.as_str()])
}

/// Runs the query in every session at once.
fn turn(
    server: &ServerProcess,
    generator: &mut Generator,
    sessions: usize,
    rows: u32,
) -> Result<Turn> {
    let text = "SELECT COUNT_BIG(*), SUM(Total) FROM (SELECT Grp, SUM(Amount) AS Total FROM dbo.Facts GROUP BY Grp) AS g";
    let request = client::batch(text, ClientSettings::default());
    let rows = i64::from(rows);
    let groups = rows / i64::from(ROWS_PER_GROUP);
    let expected = [Value::BigInt(groups), Value::BigInt(rows * (rows - 1) / 2)];
    let (cpu_before, began_ns) = (cpu_ns(server)?, clock::monotonic_ns());
    generator.round(
        |_| &request,
        |_, packets| {
            let answer = Answer::decode(packets)?.check()?;
            match answer.rows()[..] {
                [row] if row == expected => Ok(()),
                ref other => Err(format!("{other:?} instead of {expected:?}")),
            }
        },
    )?;
    let wall = milliseconds(clock::monotonic_ns() - began_ns);
    let cpu = milliseconds(cpu_ns(server)? - cpu_before);
    let sessions = u32::try_from(sessions).map_err(|error| error.to_string())?;
    Ok(Turn { cpu_each: cpu / f64::from(sessions), wall })
}

impl Found {
    fn factor(&self) -> f64 {
        self.together.cpu_each / self.alone.cpu_each
    }

    fn verdict(&self) -> &'static str {
        if self.factor() <= FACTOR_MAX { "met" } else { "MISSED" }
    }

    fn line(&self, arguments: &AggregateArguments) -> String {
        format!(
            "{} groups of {} rows: CPU {:.0} ms alone, {:.0} ms each of two, factor {:.3}, at most {FACTOR_MAX} asked: {}; \
             time {:.0} ms and {:.0} ms",
            arguments.rows / ROWS_PER_GROUP,
            arguments.rows,
            self.alone.cpu_each,
            self.together.cpu_each,
            self.factor(),
            self.verdict(),
            self.alone.wall,
            self.together.wall
        )
    }

    fn json(&self, arguments: &AggregateArguments) -> String {
        format!(
            "{{\"rows\":{},\"cpu_ms_alone\":{:.2},\"cpu_ms_each_of_two\":{:.2},\"factor\":{:.4},\"asked_max\":{FACTOR_MAX},\
             \"wall_ms_alone\":{:.2},\"wall_ms_two\":{:.2}}}\n",
            arguments.rows,
            self.alone.cpu_each,
            self.together.cpu_each,
            self.factor(),
            self.alone.wall,
            self.together.wall
        )
    }

    fn section(&self, arguments: &AggregateArguments, facts: &machine::Facts) -> String {
        let mut page = format!(
            "
Written by `make bench-aggregate`, the control experiment `row-mode-aggregate`: a GROUP BY in one session and in
two at once, in turns; medians of {} rounds. Each session builds its hash table.

{}.

| | |
|---|---|
",
            arguments.rounds,
            self.line(arguments)
        );
        for (name, value) in facts {
            page.push_str(&format!("| {name} | {value} |\n"));
        }
        page
    }
}

fn cpu_ns(server: &ServerProcess) -> Result<u64> {
    sos::sys::process_clock_ns(server.id()).map_err(|error| format!("the server has gone: {error}"))
}

#[expect(clippy::cast_precision_loss, reason = "a figure is for readers")]
fn milliseconds(ns: u64) -> f64 {
    ns as f64 / 1e6
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn two_that_cost_more_each_miss_the_goal() {
        let found = |together| Found {
            alone: Turn { cpu_each: 100.0, wall: 100.0 },
            together: Turn { cpu_each: together, wall: 200.0 },
        };
        assert_eq!(found(104.0).verdict(), "met");
        assert_eq!(found(106.0).verdict(), "MISSED");
    }
}
