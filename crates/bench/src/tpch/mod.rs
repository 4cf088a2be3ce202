//! `bench tpch`: the 22 queries of TPC-H on row tables or columnstores, against DuckDB on one
//! thread in the same run.
//!
//! This is not a TPC-H result: no refresh, no throughput test, nothing audited.

mod data;

use std::path::{Path, PathBuf};
use std::process::{Command, ExitCode};
use std::time::Duration;

use clap::Args;
use load::process::Place;
use load::{Result, ServerProcess};

use crate::duckdb::{Found, Peer, Query, Tour, cpu_ns, read};
use crate::setup::{Schedulers, connect, run_batches, start_clearway};
use crate::{Plan, duckdb, machine};

const DATABASE: &str = "Tpch";

#[derive(Args, Clone)]
pub(crate) struct TpchArguments {
    /// The server's binary; default the one beside this
    #[arg(long, value_name = "FILE")]
    server: Option<PathBuf>,
    /// Folder of tpch/, with the tables and the queries
    #[arg(long, value_name = "FOLDER", default_value = "tests/workloads")]
    workloads: PathBuf,
    /// Folder of the generated data, which is made if absent
    #[arg(long, value_name = "FOLDER", default_value = "target/tpch")]
    data: PathBuf,
    /// A Python with duckdb, beside tpchgen-cli: see tests/setup.sh
    #[arg(long, value_name = "FILE", default_value = ".venv/bin/python")]
    python: PathBuf,
    /// Scale factor; 1 is a gigabyte. Query 11 is written for 0.1
    #[arg(long, value_name = "SF", default_value = "0.1")]
    scale: String,
    /// Store the tables as clustered columnstores, without keys, instead of as rows with primary
    /// keys
    #[arg(long)]
    columnstore: bool,
    /// Runs of each query, of which the median counts
    #[arg(long, value_name = "N", default_value_t = 3)]
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

/// How our server stores the tables.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Kind {
    /// As rows, with primary keys.
    Rows,
    /// As clustered columnstores, without keys.
    Columnstore,
}

impl Kind {
    /// Heading of this run's section of the page.
    const fn heading(self) -> &'static str {
        match self {
            Self::Rows => "## TPC-H beside DuckDB",
            Self::Columnstore => "## TPC-H on columnstores beside DuckDB",
        }
    }

    /// The limit of CPU time, as a multiple of the other side's.
    const fn ratio_max(self) -> f64 {
        match self {
            Self::Rows => 3.0,
            Self::Columnstore => 1.5,
        }
    }

    /// What this run's section of the page begins with.
    fn opening(self) -> String {
        let (written, tables) = match self {
            Self::Rows => {
                ("make bench-tpch", "row\ntables with primary keys, which were bulk loaded")
            }
            Self::Columnstore => (
                "bench tpch --columnstore",
                "clustered\ncolumnstores without further indexes, compressed after the bulk load",
            ),
        };
        format!(
            "Written by `{written}`: the 22 queries of the TPC-H specification with its validation parameters, on {tables}. CPU is that of the whole server process, and of the
whole DuckDB process on one thread over the same files in the same run; the median of the runs of a query.
Each answer is compared with DuckDB's. Nothing of this is a TPC-H result in the sense of its rules."
        )
    }
}

/// Runs every query on both sides. Exit code 1 if an answer is wrong or missing; slow is no
/// failure.
pub(crate) fn run(arguments: &TpchArguments) -> Result<ExitCode> {
    let plan = Plan::of_server(arguments.server.as_ref(), &arguments.workloads)?;
    let folder = arguments.data.join(&arguments.scale);
    let queries = arguments.workloads.join("tpch");
    generate(&arguments.python, &arguments.scale, &folder)?;
    let mut command = Command::new(&arguments.python);
    command.arg(queries.join("peer.py")).arg(&folder).arg(&queries);
    let mut peer = Peer::start(command)?;
    let server = start_clearway(&plan, Schedulers::One, Place::Anywhere)?;
    let kind = if arguments.columnstore { Kind::Columnstore } else { Kind::Rows };
    let (rows, load_cpu_ns) = load_data(&server, kind, &queries, &folder)?;
    let found = Found {
        facts: machine::machine(&plan),
        opening: kind.opening(),
        scale: format!("scale factor {}", arguments.scale),
        ratio_max: kind.ratio_max(),
        rows,
        load_cpu_ns,
        lines: Vec::new(),
    };
    let tour = Tour {
        runs: arguments.runs,
        limit: Duration::from_secs(arguments.limit_s),
        only: &arguments.only,
        json: arguments.json.as_deref(),
        page: arguments.page.as_deref(),
        heading: kind.heading(),
    };
    let queries = names(&queries)?.into_iter().map(|name| {
        let text = read(&queries.join(format!("{name}.sql")))?;
        Ok(Query { name, text, ranked_by: None })
    });
    let queries: Vec<Query> = queries.collect::<Result<_>>()?;
    let code = tour.run(&queries, (&server, DATABASE), &mut peer, found)?;
    server.stop()?;
    Ok(code)
}

/// Creates and fills the tables. Returns the number of rows, and the server's CPU time.
fn load_data(
    server: &ServerProcess,
    kind: Kind,
    queries: &Path,
    folder: &Path,
) -> Result<(u64, u64)> {
    run_batches(&mut connect(server, "")?, [format!("CREATE DATABASE {DATABASE}").as_str()])?;
    let mut client = connect(server, DATABASE)?;
    let schema = read(&queries.join("schema.sql"))?;
    let schema = match kind {
        Kind::Rows => schema,
        Kind::Columnstore => without_keys(&schema),
    };
    run_batches(&mut client, [schema.as_str()])?;
    let before_ns = cpu_ns(server)?;
    // Table by table: all of them as rows take several times the memory of columns.
    let rows = data::load(&mut client, folder, |client, table| match kind {
        Kind::Rows => Ok(()),
        Kind::Columnstore => {
            let made = format!("CREATE CLUSTERED COLUMNSTORE INDEX columns ON {table}");
            run_batches(client, [made.as_str()])
        }
    })?;
    Ok((rows, cpu_ns(server)? - before_ns))
}

/// Removes the primary keys from the schema: clustered columnstores do not support them yet.
fn without_keys(schema: &str) -> String {
    let is_key = |line: &&str| line.trim_start().starts_with("PRIMARY KEY");
    let lines: Vec<&str> = schema.lines().filter(|line| !is_key(line)).collect();
    lines.join("\n").replace(" PRIMARY KEY", "").replace(",\n);", "\n);")
}

/// Generates the data, if it is absent.
fn generate(python: &Path, scale: &str, folder: &Path) -> Result<()> {
    if folder.join("lineitem.tbl").exists() {
        return Ok(());
    }
    std::fs::create_dir_all(folder).map_err(|error| format!("{}: {error}", folder.display()))?;
    let mut command = Command::new(python.with_file_name("tpchgen-cli"));
    command.args(["tbl", "-q", "-s", scale, "-o"]).arg(folder);
    duckdb::run(command).map(|_| ())
}

/// Returns the names of the queries in a folder, in order.
fn names(queries: &Path) -> Result<Vec<String>> {
    let fault = |error: std::io::Error| format!("{}: {error}", queries.display());
    let mut names = Vec::new();
    for entry in std::fs::read_dir(queries).map_err(fault)? {
        let file = entry.map_err(fault)?.file_name().to_string_lossy().into_owned();
        let name = file.strip_suffix(".sql").filter(|name| name.starts_with('q'));
        names.extend(name.map(str::to_owned));
    }
    names.sort_unstable();
    Ok(names)
}
