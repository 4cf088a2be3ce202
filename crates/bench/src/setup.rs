//! Starts servers and prepares their databases.

use std::process::Command;

use load::process::Place;
use load::{Answer, Generator, Login, Result, ServerProcess};
use tds::client::{self, ClientSettings};
use types::Value;

use crate::{Plan, own_path};

/// The password of `sa` in the server under test.
const PASSWORD: &str = "Bench-Word1";

/// How many schedulers a Clearway server is started with.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Schedulers {
    One,
    PerCpu,
}

pub(crate) fn start_clearway(
    plan: &Plan,
    schedulers: Schedulers,
    place: Place,
) -> Result<ServerProcess> {
    let mut command = clearway(plan);
    match schedulers {
        Schedulers::One => drop(command.args(["--schedulers", "1"])),
        Schedulers::PerCpu => {}
    }
    ServerProcess::start(command, &[], place)
}

/// Returns the command that serves on a free port.
pub(crate) fn clearway(plan: &Plan) -> Command {
    let mut command = Command::new(&plan.server);
    command.args(["serve", "--port", "0", "--sa-password", PASSWORD]);
    command
}

pub(crate) fn start_echo(
    request_bytes: usize,
    answer: &[u8],
    place: Place,
) -> Result<ServerProcess> {
    let mut command = Command::new(own_path()?);
    command.args(["echo", "--request-bytes", &request_bytes.to_string()]);
    ServerProcess::start(command, answer, place)
}

/// Pins client and server to different CPUs, if there are two.
pub(crate) fn apart() -> Place {
    match *crate::machine::cpus() {
        [server_cpu, .., client_cpu] => Place::Pinned { server_cpu, client_cpu },
        _ => Place::Anywhere,
    }
}

pub(crate) fn login(database: &str) -> Login {
    let (user, password) = ("sa".to_owned(), PASSWORD.to_owned());
    Login { user, password, database: database.to_owned() }
}

/// Opens one connection, for preparing and checking.
pub(crate) fn connect(server: &ServerProcess, database: &str) -> Result<Generator> {
    Generator::log_in(server.address(), 1, &login(database))
}

/// Runs batches one after the other until the first error.
pub(crate) fn run_batches<'a>(
    client: &mut Generator,
    batches: impl IntoIterator<Item = &'a str>,
) -> Result<()> {
    for text in batches {
        let packets = client.ask(&client::batch(text, ClientSettings::default()))?;
        let start = text.trim().lines().next().unwrap_or_default();
        Answer::decode(&packets)?.check().map_err(|what| format!("{what}, in '{start}...'"))?;
    }
    Ok(())
}

pub(crate) fn read_workload(plan: &Plan, name: &str) -> Result<String> {
    let path = plan.workloads.join(name);
    std::fs::read_to_string(&path).map_err(|error| format!("{}: {error}", path.display()))
}

/// Runs a query that returns one number; NULL is 0.
pub(crate) fn ask_number(client: &mut Generator, text: &str) -> Result<i64> {
    let packets = client.ask(&client::batch(text, ClientSettings::default()))?;
    match Answer::decode(&packets)?.check()?.rows()[..] {
        [[Value::BigInt(number)]] => Ok(*number),
        [[Value::Null]] => Ok(0),
        ref other => Err(format!("not a number: {other:?}")),
    }
}

#[expect(clippy::cast_precision_loss, reason = "a figure is for readers")]
pub(crate) fn as_float(number: i64) -> f64 {
    number as f64
}
