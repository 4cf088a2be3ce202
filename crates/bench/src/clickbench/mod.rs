//! `bench clickbench`: the 43 queries of ClickBench on a clustered columnstore, against DuckDB on
//! one thread in the same run.
//!
//! The rows are made by `tests/workloads/clickbench/hits.sql` with the skew of the original, into a
//! Parquet file that both sides load. This is not a ClickBench result: other rows, fewer of them,
//! and CPU time instead of elapsed time.

use std::path::{Path, PathBuf};
use std::process::{Command, ExitCode};
use std::time::Duration;

use clap::Args;
use load::process::Place;
use load::{Result, ServerProcess};

use crate::duckdb::{Found, Peer, Query, Tour, cpu_ns, read};
use crate::setup::{Schedulers, connect, run_batches, start_clearway};
use crate::{Plan, duckdb, machine};

const DATABASE: &str = "Clickbench";
const HEADING: &str = "## ClickBench beside DuckDB";
/// The limit of CPU time, as a multiple of the other side's.
const RATIO_MAX: f64 = 1.2;

#[derive(Args, Clone)]
pub(crate) struct ClickArguments {
    /// The server's binary; default the one beside this
    #[arg(long, value_name = "FILE")]
    server: Option<PathBuf>,
    /// Folder of clickbench/, with the table, the rows and the queries
    #[arg(long, value_name = "FOLDER", default_value = "tests/workloads")]
    workloads: PathBuf,
    /// Folder of the generated rows, which are made if absent
    #[arg(long, value_name = "FOLDER", default_value = "target/clickbench")]
    data: PathBuf,
    /// A Python with duckdb: see tests/setup.sh
    #[arg(long, value_name = "FILE", default_value = ".venv/bin/python")]
    python: PathBuf,
    /// Rows of the table
    #[arg(long, value_name = "N", default_value_t = 1_000_000)]
    rows: u32,
    /// Seed of the rows
    #[arg(long, value_name = "N", default_value_t = 7)]
    seed: u32,
    /// Runs of each query, of which the median counts
    #[arg(long, value_name = "N", default_value_t = 5)]
    runs: usize,
    /// Seconds after which a query is cancelled and counts as not answered
    #[arg(long, value_name = "S", default_value_t = 60)]
    limit_s: u64,
    /// Only queries whose name contains this
    #[arg(long, value_name = "TEXT", default_value = "")]
    only: String,
    /// Where to write the results as JSON
    #[arg(long, value_name = "FILE")]
    json: Option<PathBuf>,
    /// A page in which the section on this benchmark is replaced
    #[arg(long, value_name = "FILE")]
    page: Option<PathBuf>,
}

/// Runs every query on both sides. Exit code 1 if an answer is wrong or missing; slow is no
/// failure.
pub(crate) fn run(arguments: &ClickArguments) -> Result<ExitCode> {
    let plan = Plan::of_server(arguments.server.as_ref(), &arguments.workloads)?;
    let folder = arguments.workloads.join("clickbench");
    let queries = queries(&read(&folder.join("queries.sql"))?)?;
    let file = generate(arguments, &folder)?;
    let mut command = Command::new(&arguments.python);
    command.arg(folder.join("peer.py")).arg("serve").arg(&file).arg(&folder);
    let mut peer = Peer::start(command)?;
    let server = start_clearway(&plan, Schedulers::One, Place::Anywhere)?;
    let load_cpu_ns = load_rows(&server, &folder, &file)?;
    let found = Found {
        facts: machine::machine(&plan),
        opening: opening(arguments.rows),
        scale: format!("seed {}", arguments.seed),
        ratio_max: RATIO_MAX,
        rows: arguments.rows.into(),
        load_cpu_ns,
        lines: Vec::new(),
    };
    let tour = Tour {
        runs: arguments.runs,
        limit: Duration::from_secs(arguments.limit_s),
        only: &arguments.only,
        json: arguments.json.as_deref(),
        page: arguments.page.as_deref(),
        heading: HEADING,
    };
    let code = tour.run(&queries, (&server, DATABASE), &mut peer, found)?;
    server.stop()?;
    Ok(code)
}

/// What the section of the page begins with.
fn opening(rows: u32) -> String {
    format!(
        "Written by `make bench-clickbench`: the 43 queries of ClickBench in T-SQL (`tests/workloads/clickbench/queries.sql` says
what is written in another way, and why) on a clustered columnstore of {rows} rows, which were made at random with the skew of the
original and loaded from a Parquet file. CPU is that of the whole server process, and of the whole DuckDB process on one
thread over the same file in the same run; the median of the runs of a query. Each answer is compared with DuckDB's.
Nothing of this is a ClickBench result in the sense of its rules."
    )
}

/// Makes the file of rows, if it is absent. Returns its absolute path, since the server opens it
/// too.
fn generate(arguments: &ClickArguments, folder: &Path) -> Result<PathBuf> {
    let fault = |error: std::io::Error| format!("{}: {error}", arguments.data.display());
    std::fs::create_dir_all(&arguments.data).map_err(fault)?;
    let name = format!("{}-{}.parquet", arguments.rows, arguments.seed);
    let file = arguments.data.canonicalize().map_err(fault)?.join(name);
    if !file.exists() {
        let mut command = Command::new(&arguments.python);
        command.arg(folder.join("peer.py")).arg("make").arg(&file).arg(folder);
        command.args([arguments.rows.to_string(), arguments.seed.to_string()]);
        duckdb::run(command)?;
    }
    Ok(file)
}

/// Creates and fills the table. Returns the server's CPU time.
fn load_rows(server: &ServerProcess, folder: &Path, file: &Path) -> Result<u64> {
    run_batches(&mut connect(server, "")?, [format!("CREATE DATABASE {DATABASE}").as_str()])?;
    let file = file.display().to_string().replace('\'', "''");
    let load = format!(
        "INSERT INTO hits WITH (TABLOCK) SELECT * FROM OPENROWSET(BULK '{file}', FORMAT = 'PARQUET') AS f"
    );
    let batches = [read(&folder.join("schema.sql"))?, load];
    let before_ns = cpu_ns(server)?;
    run_batches(&mut connect(server, DATABASE)?, batches.iter().map(String::as_str))?;
    Ok(cpu_ns(server)? - before_ns)
}

/// Cuts a file into queries. Each begins with a line `-- q01` or `-- q01, ranked by 1 2`, which
/// names columns from 1.
fn queries(text: &str) -> Result<Vec<Query>> {
    let mut queries: Vec<Query> = Vec::new();
    for line in text.lines() {
        if let Some(head) = line.strip_prefix("-- q") {
            queries.push(headed(head)?);
        } else if let Some(query) = queries.last_mut() {
            query.text.push_str(line);
            query.text.push('\n');
        }
    }
    Ok(queries)
}

/// Parses the rest of a query's first line.
fn headed(head: &str) -> Result<Query> {
    let (number, ranks) =
        head.split_once(", ranked by").map_or((head, None), |(n, r)| (n, Some(r)));
    let column = |text: &str| match text.parse::<usize>() {
        Ok(place @ 1..) => Ok(place - 1),
        _ => Err(format!("q{number}: '{text}' is no column")),
    };
    let ranked_by =
        ranks.map(|ranks| ranks.split_whitespace().map(column).collect()).transpose()?;
    Ok(Query { name: format!("q{number}"), text: String::new(), ranked_by })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_file_is_cut_into_queries() {
        let text = "-- opening\n\n-- q01\nSELECT 1;\n-- q02, ranked by 2 1\nSELECT\n2;\n-- q03, ranked by\nx";
        let queries = queries(text).expect("three queries");
        let parts: Vec<_> = queries
            .iter()
            .map(|q| (q.name.as_str(), q.text.as_str(), q.ranked_by.clone()))
            .collect();
        let second = ("q02", "SELECT\n2;\n", Some(vec![1, 0]));
        assert_eq!(parts, [("q01", "SELECT 1;\n", None), second, ("q03", "x\n", Some(vec![]))]);
        assert!(headed("04, ranked by 0").is_err());
    }

    #[test]
    fn there_are_the_43_queries() {
        let text = include_str!("../../../../tests/workloads/clickbench/queries.sql");
        let queries = queries(text).expect("queries");
        let names: Vec<_> = queries.iter().map(|query| query.name.clone()).collect();
        let all: Vec<_> = (1..=43).map(|number| format!("q{number:02}")).collect();
        assert_eq!(names, all);
        assert!(queries.iter().all(|query| query.text.trim_end().ends_with(';')));
    }
}
