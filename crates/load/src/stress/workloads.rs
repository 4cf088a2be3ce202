//! The built-in workloads: the tables that they need, and the requests that they send.

use tds::client::{ClientSettings, RpcBuilder};
use tds::{ProcedureId, Reset};
use types::{Bytes, ColumnType, DataType, Length, Value};

use super::input::batches;
use super::tpcc;
use super::work::{Kind, Work};

/// Rows of the keyed tables, as the setup scripts make them.
const KEYS: usize = 1_000;
/// Rows of the counter table, likewise.
const COUNTERS: i32 = 16;
const ITEM_BYTES: usize = 500;

/// A workload that the tool contains.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Workload {
    /// Session state: three reads of a session for each write, by procedures.
    SessionState,
    /// A cache: nine reads of an entry for each replacement, by statements with parameters.
    Cache,
    /// Increments of one of 16 counters.
    Counter,
    /// A queue: as many puts as takes.
    Queue,
    /// The five transactions of TPC-C, without keying and think times.
    Tpcc {
        /// Number of warehouses of its tables.
        warehouses: u32,
    },
}

impl Workload {
    /// Every workload, at its smallest size.
    pub const ALL: [Self; 5] =
        [Self::SessionState, Self::Cache, Self::Counter, Self::Queue, Self::Tpcc { warehouses: 1 }];

    /// Returns the workload's name on the command line.
    pub const fn name(self) -> &'static str {
        match self {
            Self::SessionState => "session-state",
            Self::Cache => "cache",
            Self::Counter => "counter",
            Self::Queue => "queue",
            Self::Tpcc { .. } => "tpcc",
        }
    }

    /// Returns the batches that recreate its tables.
    pub fn setup(self) -> Vec<String> {
        batches(match self {
            Self::SessionState => include_str!("setup/session-state.sql"),
            Self::Cache => include_str!("setup/cache.sql"),
            Self::Counter => include_str!("setup/counter.sql"),
            Self::Queue => include_str!("setup/queue.sql"),
            Self::Tpcc { warehouses } => return tpcc::setup(warehouses),
        })
    }

    /// Returns how often a request is repeated after an error that allows it, unless the user says
    /// otherwise.
    pub const fn retries(self) -> u32 {
        match self {
            Self::Tpcc { .. } => tpcc::RETRIES,
            Self::SessionState | Self::Cache | Self::Counter | Self::Queue => 0,
        }
    }

    /// Returns the requests of the workload.
    ///
    /// # Errors
    /// None: every workload has requests.
    pub fn work(self) -> Result<Work, String> {
        let keyed = |request: fn(usize) -> Vec<u8>| (0..KEYS).map(request).collect();
        Work::of_mix(match self {
            Self::SessionState => {
                vec![kind("read", 3, keyed(read_session)), kind("write", 1, keyed(write_session))]
            }
            Self::Cache => vec![kind("get", 9, keyed(get)), kind("set", 1, keyed(set))],
            Self::Counter => vec![kind("add", 1, (0..COUNTERS).map(add).collect())],
            Self::Queue => vec![kind("put", 1, vec![put()]), kind("take", 1, vec![take()])],
            Self::Tpcc { warehouses } => {
                let requests = |transaction| {
                    Kind::tpcc(tpcc::Requests { transaction, warehouses, reset: Reset::No })
                };
                ::tpcc::Transaction::ALL.map(requests).into()
            }
        })
    }
}

fn kind(name: &str, weight: u32, requests: Vec<Vec<u8>>) -> Kind {
    Kind::encoded(name, weight, requests)
}

fn read_session(index: usize) -> Vec<u8> {
    call("dbo.stress_session_read")
        .input("@id", text(88), &key(index))
        .output("@held", ColumnType::nullable(DataType::Bit), &Value::Null)
        .output("@age", int(), &Value::Null)
        .output("@cookie", int(), &Value::Null)
        .finish()
}

fn write_session(index: usize) -> Vec<u8> {
    call("dbo.stress_session_write")
        .input("@id", text(88), &key(index))
        .input("@cookie", int(), &Value::Int(1))
        .input("@minutes", int(), &Value::Int(20))
        .input("@item", blob(), &item())
        .finish()
}

fn get(index: usize) -> Vec<u8> {
    let statement =
        "select body from dbo.stress_cache where id = @id and gone_at > sysutcdatetime()";
    execute_sql(statement, "@id nvarchar(100)").input("@id", text(100), &key(index)).finish()
}

fn set(index: usize) -> Vec<u8> {
    let statement = "update dbo.stress_cache set body = @body, gone_at = dateadd(minute, 20, sysutcdatetime()) \
                     where id = @id";
    execute_sql(statement, "@id nvarchar(100), @body varbinary(max)")
        .input("@id", text(100), &key(index))
        .input("@body", blob(), &item())
        .finish()
}

fn add(id: i32) -> Vec<u8> {
    execute_sql("update dbo.stress_counter set n = n + 1 where id = @id", "@id int")
        .input("@id", int(), &Value::Int(id))
        .finish()
}

fn put() -> Vec<u8> {
    execute_sql("insert dbo.stress_queue (payload) values (@payload)", "@payload varbinary(500)")
        .input("@payload", ColumnType::nullable(DataType::VarBinary(Length::Limited(500))), &item())
        .finish()
}

fn take() -> Vec<u8> {
    let statement = "with oldest as (select top (1) * from dbo.stress_queue with (rowlock, readpast) order by id) \
                     delete from oldest output deleted.id, deleted.payload";
    execute_sql(statement, "@none int").input("@none", int(), &Value::Null).finish()
}

fn call(procedure: &str) -> RpcBuilder {
    RpcBuilder::new(ClientSettings::default()).call(procedure)
}

fn execute_sql(statement: &str, parameters: &str) -> RpcBuilder {
    RpcBuilder::new(ClientSettings::default())
        .call_id(ProcedureId::ExecuteSql)
        .input("", text(4_000), &Value::nvarchar(statement))
        .input("", text(4_000), &Value::nvarchar(parameters))
}

fn key(index: usize) -> Value {
    Value::nvarchar(&format!("stress{index:0>9}"))
}

fn item() -> Value {
    Value::VarBinary(Bytes::from(vec![b'y'; ITEM_BYTES]))
}

fn text(units: u16) -> ColumnType {
    ColumnType::nullable(DataType::NVarChar(Length::Limited(units)))
}

fn blob() -> ColumnType {
    ColumnType::nullable(DataType::VarBinary(Length::Max))
}

fn int() -> ColumnType {
    ColumnType::nullable(DataType::Int)
}
