//! The workloads: for each, what prepares it and what its requests are. Connections take turns, so
//! that each request runs on another scheduler than the one before, on rows of its connection alone.

use census::Symbols;
use load::Generator;
use tds::ProcedureId;
use tds::client::{ClientSettings, RpcBuilder};
use types::{Bytes, ColumnType, DataType, Length, Value};

use crate::Counted;
use crate::server::{Bed, CONNECTIONS, ask, read_workload, run_batches};

/// Rows of each connection.
const ROWS: usize = 32;
/// Rounds before counting begins: every row is touched several times, and queues reach their size.
const ROUNDS_WARM: usize = 24 * ROWS;
/// Rounds of one counted window.
const ROUNDS: usize = 8 * ROWS;

/// Windows of [`ROUNDS`] rounds, of which one must be clean where nothing shared may be written.
const WINDOWS_MAX: usize = 6;

/// What makes the request of a connection in a round.
type MakeRequest = Box<dyn Fn(usize, usize) -> Vec<u8>>;

/// One kind of request.
struct Work {
    name: &'static str,
    database: &'static str,
    /// Rounds after which counting ends in any case.
    rounds_max: usize,
    /// Each request waits for a flush of the log.
    flushes: bool,
    /// The request of a connection in a round.
    request: MakeRequest,
}

/// Runs all workloads and counts their shared writes.
pub(crate) fn count_all(symbols: &mut Symbols) -> Vec<Counted> {
    let bed = Bed::start(None);
    prepare(&bed);
    let mut counted: Vec<_> = all().iter().map(|work| count(&bed, work, symbols)).collect();
    bed.stop();
    counted.extend(count_durable(symbols));
    counted
}

/// Counts what is written where each request is a commit that waits for the log.
fn count_durable(symbols: &mut Symbols) -> Vec<Counted> {
    let name = format!("clearway-census-{}", std::process::id());
    let folder = std::env::temp_dir().join(name);
    let bed = Bed::start(Some(folder.to_str().expect("the path is UTF-8")));
    prepare(&bed);
    let counted = durable().iter().map(|work| count(&bed, work, symbols)).collect();
    bed.stop();
    std::fs::remove_dir_all(&folder).expect("the folder is ours");
    counted
}

/// Counts until a window is as the rule wants it, or gives the last one. A write that requests make is
/// in every window; memory that changes hands between threads, because a page of it is full or empty, is
/// in some.
fn count(bed: &Bed, work: &Work, symbols: &mut Symbols) -> Counted {
    let mut clients = bed.connect_all(work.database);
    for round in 0..ROUNDS_WARM {
        ask_all(&mut clients, work, round);
    }
    let mut first = ROUNDS_WARM;
    loop {
        census::forget_counts();
        for round in first..first + ROUNDS {
            ask_all(&mut clients, work, round);
        }
        first += ROUNDS;
        let (requests, report) = ((ROUNDS * CONNECTIONS) as u64, symbols.report());
        let flushes = work.flushes;
        let counted = Counted { name: work.name, flushes, requests, report };
        if first >= work.rounds_max || counted.complaint().is_none() {
            return counted;
        }
    }
}

fn ask_all(clients: &mut [Generator], work: &Work, round: usize) {
    for (index, client) in clients.iter_mut().enumerate() {
        let request = (work.request)(index, round);
        let answer = ask(client, &request);
        answer.unwrap_or_else(|what| panic!("{}: {what}", work.name));
    }
}

fn prepare(bed: &Bed) {
    let script = read_workload("session_state.sql");
    let batches: Vec<&str> =
        script.split("\ngo\n").filter(|part| !part.trim().is_empty()).collect();
    run_batches(&mut bed.connect(""), batches);
    let mut client = bed.connect("WebSessions");
    for key in keys() {
        let request = call("dbo.SessionCreate")
            .input("@Id", nvarchar(88), &session(key))
            .input("@Minutes", int(), &Value::Int(20))
            .input("@Item", binary_type(), &item())
            .finish();
        ask(&mut client, &request).expect("a session");
    }
    run_batches(&mut bed.connect(""), ["create database Census"]);
    let mut client = bed.connect("Census");
    run_batches(
        &mut client,
        [
            statement("install-table").as_str(),
            statement("install-index").as_str(),
            "create table dbo.Point (Id int not null primary key nonclustered, \
             Body varbinary(500) not null, Turn int not null) with (memory_optimized = on)",
            "create table dbo.Queue (Id int not null primary key nonclustered hash \
             with (bucket_count = 65536), Body varbinary(500) not null) with (memory_optimized = on)",
        ],
    );
    for key in keys() {
        let set = "@Id nvarchar(449),@Body varbinary(max),@Slide bigint,@Last datetimeoffset(7),\
                   @Now datetimeoffset(7)";
        let request = execute_sql(&statement("set"), set)
            .input("@Id", nvarchar(449), &entry(key))
            .input("@Body", binary_type(), &item())
            .input("@Slide", big_int(), &Value::BigInt(1_200))
            .input("@Last", moment(), &Value::Null)
            .input("@Now", moment(), &now())
            .finish();
        ask(&mut client, &request).expect("an entry");
        let request = execute_sql(
            "insert dbo.Point (Id, Body, Turn) values (@Id, @Body, 0)",
            "@Id int,@Body varbinary(500)",
        )
        .input("@Id", int(), &number(key))
        .input("@Body", binary_type(), &item())
        .finish();
        ask(&mut client, &request).expect("a row");
    }
}

fn all() -> Vec<Work> {
    vec![
        once("session read", "WebSessions", Box::new(session_read)),
        once("session write", "WebSessions", Box::new(session_write)),
        clean("connection reset", "WebSessions", Box::new(reset)),
        once("cache get", "Census", Box::new(cache_get)),
        clean("point select", "Census", Box::new(point_select)),
        clean("point update", "Census", Box::new(point_update)),
        once("point insert", "Census", Box::new(point_insert)),
        once("point delete", "Census", Box::new(point_delete)),
    ]
}

/// The workloads of a server with a data folder; the table is durable.
fn durable() -> Vec<Work> {
    let update = clean("durable point update", "Census", Box::new(point_update));
    vec![Work { flushes: true, ..update }]
}

/// Returns a workload that is counted in one window.
fn once(name: &'static str, database: &'static str, request: MakeRequest) -> Work {
    Work { name, database, rounds_max: 0, flushes: false, request }
}

/// Returns a workload that must have a window without shared writes.
fn clean(name: &'static str, database: &'static str, request: MakeRequest) -> Work {
    let rounds_max = ROUNDS_WARM + WINDOWS_MAX * ROUNDS;
    Work { name, database, rounds_max, flushes: false, request }
}

fn session_read(connection: usize, round: usize) -> Vec<u8> {
    call("dbo.SessionRead")
        .input("@Id", nvarchar(88), &session(key(connection, round)))
        .output("@Held", ColumnType::nullable(DataType::Bit), &Value::Null)
        .output("@Age", int(), &Value::Null)
        .output("@Cookie", int(), &Value::Null)
        .output("@Todo", int(), &Value::Null)
        .finish()
}

fn session_write(connection: usize, round: usize) -> Vec<u8> {
    call("dbo.SessionSave")
        .input("@Id", nvarchar(88), &session(key(connection, round)))
        .input("@Cookie", int(), &Value::Int(1))
        .input("@Minutes", int(), &Value::Int(20))
        .input("@Item", binary_type(), &item())
        .finish()
}

fn reset(_connection: usize, _round: usize) -> Vec<u8> {
    call("sp_reset_connection").finish()
}

fn cache_get(connection: usize, round: usize) -> Vec<u8> {
    execute_sql(&statement("get"), "@Id nvarchar(449),@Now datetimeoffset(7)")
        .input("@Id", nvarchar(449), &entry(key(connection, round)))
        .input("@Now", moment(), &now())
        .finish()
}

fn point_select(connection: usize, round: usize) -> Vec<u8> {
    execute_sql("select Body from dbo.Point where Id = @Id", "@Id int")
        .input("@Id", int(), &number(key(connection, round)))
        .finish()
}

fn point_update(connection: usize, round: usize) -> Vec<u8> {
    execute_sql("update dbo.Point set Turn = Turn + 1 where Id = @Id", "@Id int")
        .input("@Id", int(), &number(key(connection, round)))
        .finish()
}

fn point_insert(connection: usize, round: usize) -> Vec<u8> {
    execute_sql("insert dbo.Queue (Id, Body) values (@Id, @Body)", "@Id int,@Body varbinary(500)")
        .input("@Id", int(), &number(queue_key(connection, round)))
        .input("@Body", binary_type(), &item())
        .finish()
}

/// Deletes what the workload before has inserted.
fn point_delete(connection: usize, round: usize) -> Vec<u8> {
    execute_sql("delete dbo.Queue where Id = @Id", "@Id int")
        .input("@Id", int(), &number(queue_key(connection, round)))
        .finish()
}

/// The rows of all connections, in the order in which they are made: neighbours belong to different
/// connections.
fn keys() -> impl Iterator<Item = usize> {
    (0..ROWS).flat_map(|row| (0..CONNECTIONS).map(move |connection| key(connection, row)))
}

fn key(connection: usize, round: usize) -> usize {
    (round % ROWS) * CONNECTIONS + connection
}

fn queue_key(connection: usize, round: usize) -> usize {
    round * CONNECTIONS + connection
}

fn number(key: usize) -> Value {
    Value::Int(i32::try_from(key).expect("a small number"))
}

fn session(key: usize) -> Value {
    Value::nvarchar(&format!("q3hx0zkvw5n1tb4{key:0>9}0f5d6c2a"))
}

fn entry(key: usize) -> Value {
    Value::nvarchar(&format!("shop:basket:{key:0>9}"))
}

fn item() -> Value {
    Value::VarBinary(Bytes::from(vec![7; 500]))
}

fn call(procedure: &str) -> RpcBuilder {
    RpcBuilder::new(ClientSettings::default()).call(procedure)
}

fn execute_sql(statement: &str, parameters: &str) -> RpcBuilder {
    RpcBuilder::new(ClientSettings::default())
        .call_id(ProcedureId::ExecuteSql)
        .input("", nvarchar(4_000), &Value::nvarchar(statement))
        .input("", nvarchar(4_000), &Value::nvarchar(parameters))
}

fn nvarchar(units: u16) -> ColumnType {
    ColumnType::nullable(DataType::NVarChar(Length::Limited(units)))
}

fn binary_type() -> ColumnType {
    ColumnType::nullable(DataType::VarBinary(Length::Max))
}

fn int() -> ColumnType {
    ColumnType::nullable(DataType::Int)
}

fn big_int() -> ColumnType {
    ColumnType::nullable(DataType::BigInt)
}

fn moment() -> ColumnType {
    ColumnType::nullable(DataType::DateTimeOffset(7))
}

fn now() -> Value {
    let (days, ticks) = sos::clock::utc_days_and_ticks();
    let (days, ticks) = (i32::try_from(days).unwrap_or(0), i64::try_from(ticks).unwrap_or(0));
    Value::DateTimeOffset { days, ticks, offset: 0 }
}

/// Takes the statement of this name out of the cache's script.
fn statement(name: &str) -> String {
    let script = read_workload("cache.sql");
    let heading = format!("-- name: {name}");
    let lines = script.lines().skip_while(|line| line.trim() != heading).skip(1);
    let lines: Vec<_> = lines.take_while(|line| !line.starts_with("-- name:")).collect();
    lines.join("\n").trim().to_owned()
}
