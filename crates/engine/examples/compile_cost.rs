//! What compiling a statement costs, in CPU time, warm. First its steps alone, on one text over and over, what
//! they make dropped each time: cutting it into tokens, parsing, binding, optimizing. Then whole requests: a
//! text that was never seen and whose constants may not be parameters beside one that is cached, which is
//! parsing, binding, optimizing and keeping the program; and a text that was never seen but differs in
//! constants only from others.
//! `cargo run --release -p engine --example compile_cost`; with a stage (`writing`, `tokens`, `parse`, `bind`,
//! `optimize`, `cached`, `new`, `kind`), the name of a statement and a number of rounds it runs that one, for a
//! profiler.
#![expect(clippy::print_stdout, reason = "it is a measuring tool")]

use std::sync::Arc;

use engine::bind::bind_statement;
use engine::instance::{Config, LockMode};
use engine::opt::Level;
use engine::session::{ClientInfo, LoginRequest, Session};
use engine::sink::FirstError;
use sos::sched::{Machine, MachineConfig};
use sos::sys::thread_cpu_ns;
use storage::{Store, StoreOptions};

#[global_allocator]
static ALLOCATOR: sos::memory::Allocator = sos::memory::Allocator;

const ROUNDS: u32 = 40_000;

fn session() -> Result<Session, String> {
    let machine = Machine::start(&MachineConfig { schedulers: 1, ..MachineConfig::default() })
        .map_err(|error| error.to_string())?;
    let config = Config {
        sa_password: "secret".to_owned(),
        server_name: "cost".to_owned(),
        memory_max: 1 << 30,
        query_memory_max: 0,
        lock_mode: LockMode::default(),
        optimizer: engine::opt::Level::Full,
    };
    let instance = engine::start(config, Arc::new(machine), Store::new(StoreOptions::default()));
    let request = LoginRequest {
        user: "sa".to_owned(),
        password: "secret".to_owned(),
        new_password: None,
        database: String::new(),
        language: String::new(),
        client: ClientInfo::default(),
    };
    Session::login(&instance, request).map_err(|errors| format!("{errors:?}"))
}

fn run(session: &mut Session, text: &str) -> Result<(), String> {
    let mut sink = FirstError::default();
    session.batch(text, &mut sink).map_err(|_| "disconnected".to_owned())?;
    match sink.into_error() {
        Some(error) => Err(format!("{}: {text}", error.message)),
        None => Ok(()),
    }
}

/// CPU nanoseconds of a round, warm.
fn cost(rounds: u32, mut round: impl FnMut(u32) -> Result<(), String>) -> Result<u64, String> {
    let warm_up = rounds / 8;
    (0..warm_up).try_for_each(&mut round)?;
    let before = thread_cpu_ns();
    measured(&mut || (warm_up..warm_up + rounds).try_for_each(&mut round))?;
    Ok((thread_cpu_ns() - before) / u64::from(rounds))
}

/// What `callgrind --collect-atstart=no --toggle-collect='*measured*'` counts.
#[inline(never)]
fn measured(rounds: &mut dyn FnMut() -> Result<(), String>) -> Result<(), String> {
    rounds()
}

/// Statements of some 140 characters each; `n` makes them differ.
type Statement = fn(u32) -> String;

const STATEMENTS: [(&str, Statement); 5] = [
    ("point select", |n| {
        format!(
            "SELECT o.id, o.customer, o.amount, o.state FROM dbo.orders AS o WHERE o.id = {n:>7} \
             AND o.state = 'open' AND o.customer <> N'nobody at all'"
        )
    }),
    ("point update", |n| {
        format!(
            "UPDATE dbo.orders SET amount = amount + 1.25, state = 'paid', customer = N'shop-{n:0>7}' \
             WHERE id = 17 AND state <> 'shipped' AND amount < 100000"
        )
    }),
    ("insert", |n| {
        format!(
            "INSERT INTO dbo.journal (id, at, customer, amount, state) VALUES ({n}, '2024-05-06T07:08:09', \
             N'customer of the shop', 1234.56, 'entered by hand')"
        )
    }),
    ("join of three", |n| {
        format!(
            "SELECT o.id, c.name, i.name FROM dbo.orders o JOIN dbo.customers c ON c.id = o.cid \
             JOIN dbo.items i ON i.id = o.iid WHERE o.id = {n:>7} AND c.id > 0"
        )
    }),
    ("join of three, 100 rows", |n| {
        format!(
            "SELECT o.id, c.name, i.name FROM dbo.orders o JOIN dbo.customers c ON c.id = o.cid \
             JOIN dbo.items i ON i.id = o.iid WHERE o.id BETWEEN 1 AND 100 AND {n} > 0"
        )
    }),
];

fn main() -> Result<(), String> {
    let mut arguments = std::env::args().skip(1);
    let stage = arguments.next().unwrap_or_default();
    let name = arguments.next().unwrap_or_default();
    let rounds = arguments.next().and_then(|n| n.parse().ok()).unwrap_or(ROUNDS);
    let mut session = session()?;
    for text in [
        "CREATE TABLE dbo.orders (id int NOT NULL PRIMARY KEY, customer nvarchar(40), amount decimal(18,2), \
         state varchar(10), cid int NOT NULL, iid int NOT NULL)",
        "CREATE TABLE dbo.journal (id int NOT NULL, at datetime2(0), customer nvarchar(40), \
         amount decimal(18,2), state varchar(20))",
        "CREATE TABLE dbo.customers (id int NOT NULL PRIMARY KEY, name nvarchar(40))",
        "CREATE TABLE dbo.items (id int NOT NULL PRIMARY KEY, name nvarchar(40))",
        "INSERT dbo.orders SELECT value, N'shop', 1, 'open', value, value FROM GENERATE_SERIES(1, 10000)",
        "INSERT dbo.customers SELECT value, N'customer' FROM GENERATE_SERIES(1, 10000)",
        "INSERT dbo.items SELECT value, N'item' FROM GENERATE_SERIES(1, 10000)",
    ] {
        run(&mut session, text)?;
    }
    for (_, statement) in STATEMENTS.iter().filter(|(known, _)| *known == name) {
        println!("{} ns", stage_cost(&stage, rounds, *statement, &mut session)?);
    }
    if !stage.is_empty() {
        return Ok(());
    }
    STATEMENTS.iter().try_for_each(|(name, statement)| report(name, *statement, &mut session))
}

/// Measures all stages of a statement and says what came out.
fn report(name: &str, statement: Statement, session: &mut Session) -> Result<(), String> {
    let mut of = |stage: &str| stage_cost(stage, ROUNDS, statement, session);
    let [tokens, parse, bind, optimize] =
        [of("tokens")?, of("parse")?, of("bind")?, of("optimize")?];
    let [writing, cached, new, kind] = [of("writing")?, of("cached")?, of("new")?, of("kind")?];
    println!("{name}, {} characters", statement(1).len());
    println!(
        "  alone: tokens {tokens} ns, parse {} ns, bind {bind} ns, optimize {} ns: {} ns",
        parse.saturating_sub(tokens),
        optimize.saturating_sub(bind),
        parse + optimize,
    );
    println!(
        "  requests: from the cache {} ns, of a new text {} ns: compiling takes {} ns; where the kind is \
         known, finding its plan takes {} ns",
        cached.saturating_sub(writing),
        new.saturating_sub(writing),
        new.saturating_sub(cached),
        kind.saturating_sub(cached)
    );
    Ok(())
}

/// What one stage costs: writing the text; cutting it into tokens; that and parsing; binding what was parsed;
/// that and optimizing; running it from the cache; running a new one that is compiled, or one whose kind is
/// known.
fn stage_cost(
    stage: &str,
    rounds: u32,
    statement: Statement,
    session: &mut Session,
) -> Result<u64, String> {
    let text = statement(1);
    match stage {
        "writing" => {
            cost(rounds, |n| if statement(n).is_empty() { Err(String::new()) } else { Ok(()) })
        }
        "tokens" => cost(rounds, |_| {
            std::hint::black_box(tsql::Tokens::of(&text));
            Ok(())
        }),
        "parse" => cost(rounds, |_| parsed(&text).map(drop)),
        "bind" => bind_cost(rounds, &text, Level::None, session),
        "optimize" => bind_cost(rounds, &text, Level::Full, session),
        "cached" => cost(rounds, |_| run(session, &statement(1))),
        "kind" => cost(rounds, |n| run(session, &statement(n))),
        // An empty statement in front keeps its constants what they are.
        _ => cost(rounds, |n| run(session, &format!(";{}", statement(n)))),
    }
}

fn parsed(text: &str) -> Result<tsql::ast::Batch, String> {
    tsql::parse(text, tsql::QuotedIdentifier::On).map_err(|error| error.to_string())
}

/// What binding the first statement of a text costs, with what the optimizer does at this level.
fn bind_cost(rounds: u32, text: &str, level: Level, session: &Session) -> Result<u64, String> {
    let batch = parsed(text)?;
    let statement = batch.statements.first().ok_or("there is no statement")?;
    let state = session.state();
    cost(rounds, |_| {
        let context = compile::binding::bare_context(state, &state.identity.database);
        let mut binder = context.binder();
        binder.optimization = level;
        bind_statement(&mut binder, statement).map(drop).map_err(|error| error.to_string())
    })
}
