//! The loads under which the ledger is checked.

use load::{Answer, Generator, Result, Script, ServerProcess};
use tds::client::{self, BulkBuilder, ClientSettings};
use tds::{Column, ColumnFlags};
use types::{ColumnType, DataType, Length, Value};

use crate::setup::{connect, login, run_batches};
use crate::work::{CONNECTIONS, REQUESTS_PER_CONNECTION, expect};
use crate::{Plan, session};

/// Connections that scan, and that load.
const SCANNERS: usize = 2;
const LOADERS: usize = 4;
/// Rows of a bulk load.
const BULK_ROWS: i64 = 2_000;

/// A load that keeps a server busy.
pub(crate) struct Load {
    pub(crate) name: &'static str,
    pub(crate) generator: Generator,
    pub(crate) script: Script,
    /// A query that proves that the load did its work, with the expected answer for a number of
    /// requests.
    proof: Option<Proof>,
}

struct Proof {
    database: &'static str,
    question: &'static str,
    rows_after: fn(i64) -> i64,
}

/// The names of all loads.
pub(crate) const NAMES: [&str; 4] =
    ["session state", "connection resets", "scan with hashing", "bulk load"];

const DATABASE: &str = "BooksCheck";

/// Prepares the loads: sessions, and a table of `scan_rows` rows.
pub(crate) fn prepare(plan: &Plan, server: &ServerProcess, scan_rows: u32) -> Result<()> {
    session::prepare(plan, server)?;
    run_batches(&mut connect(server, "")?, [format!("CREATE DATABASE {DATABASE}").as_str()])?;
    let fill = format!(
        "INSERT INTO dbo.Scanned SELECT value, 'row ' + CAST(value AS varchar(20)) \
         FROM GENERATE_SERIES(1, {scan_rows})"
    );
    let batches = [
        "CREATE TABLE dbo.Scanned (Id bigint NOT NULL PRIMARY KEY, Name varchar(30) NOT NULL)",
        fill.as_str(),
        "CREATE TABLE dbo.Loaded (Id bigint NOT NULL, Amount float NULL, Name nvarchar(40) NULL)",
    ];
    run_batches(&mut connect(server, DATABASE)?, batches)
}

impl Load {
    /// Logs in the connections of a load.
    pub(crate) fn open(name: &str, server: &ServerProcess) -> Result<Self> {
        let works = |name, works: Vec<Vec<Vec<u8>>>| {
            let script = Script::new(mix(works), REQUESTS_PER_CONNECTION);
            Self::with(name, server, session::DATABASE, CONNECTIONS, script)
        };
        match name {
            "session state" => works(
                NAMES[0],
                vec![session::read().measured.requests, session::save().measured.requests],
            ),
            "connection resets" => works(NAMES[1], vec![session::reset().measured.requests]),
            "scan with hashing" => {
                let text = "SELECT MAX(HASHBYTES('SHA2_256', Name)) FROM dbo.Scanned";
                let script = Script::of_one(client::batch(text, ClientSettings::default()));
                Self::with(NAMES[2], server, DATABASE, SCANNERS, script)
            }
            "bulk load" => {
                let script = Script::new(bulk_load(), 2);
                let mut load = Self::with(NAMES[3], server, DATABASE, LOADERS, script)?;
                load.proof = Some(Proof {
                    database: DATABASE,
                    question: "SELECT COUNT_BIG(*) FROM dbo.Loaded",
                    rows_after: |messages| messages / 2 * BULK_ROWS,
                });
                Ok(load)
            }
            other => Err(format!("there is no load '{other}'")),
        }
    }

    fn with(
        name: &'static str,
        server: &ServerProcess,
        database: &'static str,
        connections: usize,
        script: Script,
    ) -> Result<Self> {
        let generator = Generator::log_in(server.address(), connections, &login(database))?;
        Ok(Self { name, generator, script, proof: None })
    }

    /// Checks that the server has done what it was asked to do.
    pub(crate) fn prove(&self, server: &ServerProcess, requests: u64) -> Result<()> {
        let Some(proof) = &self.proof else { return Ok(()) };
        let mut client = connect(server, proof.database)?;
        let packets = client.ask(&client::batch(proof.question, ClientSettings::default()))?;
        let answer = Answer::decode(&packets)?.check()?;
        let requests = i64::try_from(requests).map_err(|error| error.to_string())?;
        // A window may end between the announcement of a bulk load and its rows.
        let (rows, most) = (answer.rows(), (proof.rows_after)(requests));
        let slack = i64::try_from(LOADERS).unwrap_or(0) * BULK_ROWS;
        match rows[..] {
            [&[Value::BigInt(found)]] if found <= most && found + slack >= most => Ok(()),
            _ => expect(proof.question, rows, vec![&[Value::BigInt(most)][..]]),
        }
    }
}

/// Returns one of each in turn, until all are used.
fn mix(works: Vec<Vec<Vec<u8>>>) -> Vec<Vec<u8>> {
    let longest = works.iter().map(Vec::len).max().unwrap_or(0);
    let of = |at: usize| works.iter().map(move |requests| requests[at % requests.len()].clone());
    (0..longest).flat_map(of).collect()
}

/// The announcement of a bulk load and its rows.
fn bulk_load() -> Vec<Vec<u8>> {
    let settings = ClientSettings::default();
    let announcement = "INSERT BULK dbo.Loaded (Id bigint, Amount float, Name nvarchar(40))";
    let columns = [
        ("Id", DataType::BigInt),
        ("Amount", DataType::Float),
        ("Name", DataType::NVarChar(Length::Limited(40))),
    ];
    let columns = columns.map(|(name, data_type)| Column {
        name,
        column_type: ColumnType::nullable(data_type),
        flags: ColumnFlags::default(),
        table: "",
        numeric: false,
    });
    let mut builder = BulkBuilder::new(settings, &columns);
    for row in 0..BULK_ROWS {
        let name = Value::nvarchar(&format!("the name of row {row}"));
        builder.row(&[Value::BigInt(row), Value::Float(0.5), name]);
    }
    vec![client::batch(announcement, settings), builder.finish()]
}
