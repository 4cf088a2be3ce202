//! `Bed`: a server of several schedulers in this process, and connections to it that speak in turn.

use std::path::Path;

use load::{Answer, Generator, Login, Result};
use server::Server;
use server::options::{Certificate, Data, Encryption, Limits, LockMode, Options, Password};
use tds::client::{self, ClientSettings};

const PASSWORD: &str = "Census-Word1";
const SCHEDULERS: usize = 4;
/// Connections: two per scheduler.
pub(crate) const CONNECTIONS: usize = 8;

/// A server, which the clients below see over the wire only.
pub(crate) struct Bed {
    server: Server,
}

impl Bed {
    /// Starts a server in this process, on a free port, which keeps its data in memory or in a folder.
    pub(crate) fn start(folder: Option<&str>) -> Self {
        let data = folder.map(|folder| Data {
            folder: folder.to_owned(),
            until_100ns: None,
            salvage: false,
            keep_schema_only: false,
        });
        let options = Options {
            start_in_log: false,
            address: [127, 0, 0, 1].into(),
            port: 0,
            admin_port: None,
            socket: None,
            sa_password: Password::Given(PASSWORD.to_owned()),
            data,
            memory_max: 4 << 30,
            memory_model: sos::memory::MemoryModel::Conventional,
            experiments: Vec::new(),
            query_memory_max: None,
            schedulers: Some(SCHEDULERS),
            ledger: sos::ledger::SourceChoice::Auto,
            sampling_rate_hz: sos::sampler::RATE_HZ,
            lock_mode: LockMode::Snapshot,
            encryption: Encryption::Off,
            certificate: Certificate::SelfSigned,
            limits: Limits::default(),
        };
        Self { server: Server::start(&options).expect("a server") }
    }

    /// Logs one connection in.
    pub(crate) fn connect(&self, database: &str) -> Generator {
        let login = Login {
            user: "sa".to_owned(),
            password: PASSWORD.to_owned(),
            database: database.to_owned(),
        };
        Generator::log_in(self.server.address(), 1, &login).expect("a connection")
    }

    /// Logs as many connections in as are measured: the server gives each scheduler its share.
    pub(crate) fn connect_all(&self, database: &str) -> Vec<Generator> {
        (0..CONNECTIONS).map(|_| self.connect(database)).collect()
    }

    /// Stops the server, which waits for its requests.
    pub(crate) fn stop(self) {
        self.server.stop(sos::sys::Stop::Terminate);
    }
}

/// Runs batches one after the other.
pub(crate) fn run_batches<'a>(client: &mut Generator, batches: impl IntoIterator<Item = &'a str>) {
    for text in batches {
        let request = client::batch(text, ClientSettings::default());
        ask(client, &request).unwrap_or_else(|what| panic!("{what}, in '{text}'"));
    }
}

/// Sends a request and returns its answer, which must hold no error.
pub(crate) fn ask(client: &mut Generator, request: &[u8]) -> Result<Answer> {
    Answer::decode(&client.ask(request)?)?.check()
}

/// Reads a script of the workloads.
pub(crate) fn read_workload(name: &str) -> String {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/workloads").join(name);
    std::fs::read_to_string(&path).expect("a workload's script")
}
