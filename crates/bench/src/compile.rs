//! `bench compile`: the server CPU for finding or making the plan of a statement.
//!
//! Many connections send one kind of request after the other; then one connection alone, for which
//! the server also pays for sleeping and waking between two requests. The kinds are: a statement
//! with parameters; the same text with its values as constants; new texts whose constants may
//! become parameters (they differ in nothing else and find the plan of their template) or may not
//! (an empty statement comes first); and a join of three tables by their keys that gives 100 rows.
//! The difference between a new text and a cached one is the cost of compiling it, or of finding
//! its template.

use std::time::Duration;

use clap::Args;
use load::{Answer, Generator, Result, Script, ServerProcess};
use tds::ProcedureId;
use tds::client::{ClientSettings, RpcBuilder, batch};
use types::{ColumnType, DataType, Length, Value};

use crate::setup::{Schedulers, apart, connect, login, run_batches, start_clearway};
use crate::work::CONNECTIONS;
use crate::{Plan, say};

/// Number of different texts: more than any cache of the server holds.
const TEXTS: i32 = 40_000;
const DATABASE: &str = "BenchCompile";

/// Arguments of `bench compile`.
#[derive(Args)]
pub(crate) struct CompileArguments {
    /// The server's binary; default the one beside this
    #[arg(long, value_name = "FILE")]
    server: Option<std::path::PathBuf>,
    /// Rounds of each kind of request; the median counts
    #[arg(long, value_name = "N", default_value_t = 5)]
    rounds: usize,
    /// Milliseconds of each measurement window
    #[arg(long, value_name = "MS", default_value_t = 1_000)]
    window_ms: u64,
}

/// A kind of request, with its texts.
struct Kind {
    name: &'static str,
    requests: Vec<Vec<u8>>,
    rows: usize,
}

/// Runs the measurements and prints the results.
pub(crate) fn run(arguments: &CompileArguments) -> Result<()> {
    let plan = Plan::of_server(arguments.server.as_ref(), std::path::Path::new("tests/workloads"))?;
    let server = start_clearway(&plan, Schedulers::One, apart())?;
    prepare(&server)?;
    let window = Duration::from_millis(arguments.window_ms);
    let mut medians = Vec::new();
    say(&format!("{:<40} {:>14} {:>14}", "us of server CPU, with connections:", CONNECTIONS, 1));
    for kind in kinds() {
        let cost = measure(&server, &kind, CONNECTIONS, (arguments.rounds, window))?;
        let alone = measure(&server, &kind, 1, (arguments.rounds, window))?;
        say(&format!("{:<40} {cost:>14.2} {alone:>14.2}", kind.name));
        medians.push(cost);
    }
    if let [_, cached, kind, new, ..] = medians[..] {
        let cost = |what, cost: f64| say(&format!("{what:<40} {cost:>8.2} us (asked: 5 at most)"));
        cost("plan of a new text of a known kind", kind - cached);
        cost("parse and bind of a new text", new - cached);
    }
    Ok(())
}

fn prepare(server: &ServerProcess) -> Result<()> {
    run_batches(&mut connect(server, "")?, [format!("create database [{DATABASE}]").as_str()])?;
    let mut client = connect(server, DATABASE)?;
    run_batches(
        &mut client,
        [
            "create table dbo.orders (id int not null primary key, customer nvarchar(40), \
             amount decimal(18,2), state varchar(10), cid int not null, iid int not null)",
            "create table dbo.customers (id int not null primary key, name nvarchar(40))",
            "create table dbo.items (id int not null primary key, name nvarchar(40))",
            "insert dbo.orders select value, N'shop', 1, 'open', value, value \
             from generate_series(1, 10000)",
            "insert dbo.customers select value, N'customer' from generate_series(1, 10000)",
            "insert dbo.items select value, N'item' from generate_series(1, 10000)",
        ],
    )
}

fn kinds() -> Vec<Kind> {
    let text = |id: &str| {
        format!(
            "select o.id, o.customer, o.amount, o.state from dbo.orders as o where o.id = {id} \
             and o.state = 'open' and o.customer <> N'nobody at all'"
        )
    };
    let ask = |text: &str| batch(text, ClientSettings::default());
    let id = |n: i32| format!("{:>7}", 1 + n % 10_000);
    // The blanks in the comment make each text different.
    let new = |n: i32| format!("{} /* {n:>6} */", text(&id(n)));
    let join = "select o.id, c.name, i.name from dbo.orders o join dbo.customers c on c.id = o.cid \
                join dbo.items i on i.id = o.iid where o.id between 1 and 100";
    vec![
        Kind { name: "with parameters", requests: vec![prepared(&text("@id"))], rows: 1 },
        Kind { name: "the same text again", requests: vec![ask(&new(1))], rows: 1 },
        Kind {
            name: "a new text each time, of one kind",
            requests: (0..TEXTS).map(|n| ask(&new(n))).collect(),
            rows: 1,
        },
        Kind {
            name: "a new text each time, compiled",
            requests: (0..TEXTS).map(|n| ask(&format!(";{}", new(n)))).collect(),
            rows: 1,
        },
        Kind { name: "join of three, 100 rows (60 at most)", requests: vec![ask(join)], rows: 100 },
    ]
}

fn prepared(statement: &str) -> Vec<u8> {
    let text = ColumnType::nullable(DataType::NVarChar(Length::Limited(4_000)));
    let int = ColumnType::nullable(DataType::Int);
    RpcBuilder::new(ClientSettings::default())
        .call_id(ProcedureId::ExecuteSql)
        .input("", text, &Value::nvarchar(statement))
        .input("", text, &Value::nvarchar("@id int"))
        .input("@id", int, &Value::Int(17))
        .finish()
}

/// Returns the median of the rounds, in microseconds of server CPU per request.
fn measure(
    server: &ServerProcess,
    kind: &Kind,
    connections: usize,
    (rounds, window): (usize, Duration),
) -> Result<f64> {
    let mut client = connect(server, DATABASE)?;
    let answer = Answer::decode(&client.ask(&kind.requests[0])?)?.check()?;
    if answer.rows().len() != kind.rows {
        return Err(format!("{}: {} rows and not {}", kind.name, answer.rows().len(), kind.rows));
    }
    let mut client = Generator::log_in(server.address(), connections, &login(DATABASE))?;
    let script = Script::new(kind.requests.clone(), kind.requests.len().div_ceil(connections));
    client.run(&script, window)?;
    let mut costs = Vec::with_capacity(rounds);
    for _ in 0..rounds.max(1) {
        let before = server.cpu_ns()?;
        let outcome = client.run(&script, window)?;
        let used = server.cpu_ns()?.saturating_sub(before);
        if let Some(trouble) = &outcome.first_trouble {
            return Err(format!("{}: {trouble}", kind.name));
        }
        costs.push(per_request(used, outcome.requests()));
    }
    costs.sort_by(f64::total_cmp);
    Ok(costs[costs.len() / 2])
}

#[expect(clippy::cast_precision_loss, reason = "a cost is for readers")]
fn per_request(ns: u64, requests: u64) -> f64 {
    ns as f64 / 1_000.0 / requests.max(1) as f64
}
