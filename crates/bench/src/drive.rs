//! `bench drive`: sends a fixed number of requests to a server that runs under a tool which counts
//! instructions or allocations.
//!
//! The server is whatever `--server` starts, such as a script around valgrind. `DBCC USEROPTIONS`
//! is sent before the measured requests, and again after them, so that the tool can separate them
//! from the preparation: `--dump-before='procedures::dbcc::run'` puts them into callgrind's
//! second dump.

use std::path::PathBuf;

use clap::Args;
use load::process::Place;
use load::{Answer, Generator, Result, ServerProcess};
use tds::client::{ClientSettings, batch};

use crate::setup::{Schedulers, connect, login, start_clearway};
use crate::work::{CONNECTIONS, REQUESTS_PER_CONNECTION, Work};
use crate::{Plan, cache, keys, say, session};

/// The statement that marks the beginning and the end for the tool: no measured request runs it.
const MARK: &str = "DBCC USEROPTIONS";

/// Arguments of `bench drive`.
#[derive(Args)]
pub(crate) struct DriveArguments {
    /// The server's binary, or a script that execs it; default the one beside this
    #[arg(long, value_name = "FILE")]
    server: Option<PathBuf>,
    /// Folder of session_state.sql and cache.sql
    #[arg(long, value_name = "FOLDER", default_value = "tests/workloads")]
    workloads: PathBuf,
    /// Name of the work in the benchmark's table: session read, or cache GET, sliding, or race get, race set, race counter
    #[arg(long, value_name = "TEXT")]
    work: String,
    /// Requests of each of the 64 connections
    #[arg(long, value_name = "N", default_value_t = 320)]
    rounds: usize,
}

/// Sends the requests, checking every answer for errors.
pub(crate) fn run(arguments: &DriveArguments) -> Result<()> {
    let plan = Plan::of_server(arguments.server.as_ref(), &arguments.workloads)?;
    let server = start_clearway(&plan, Schedulers::One, Place::Anywhere)?;
    let work = prepare(&plan, &server, &arguments.work)?;
    let mark = batch(MARK, ClientSettings::default());
    let mut marker = connect(&server, work.database)?;
    let mut generator = Generator::log_in(server.address(), CONNECTIONS, &login(work.database))?;
    let requests = &work.measured.requests;
    let mut rounds = |from: usize, to: usize| -> Result<()> {
        for round in from..to {
            let place = |connection: usize| connection * REQUESTS_PER_CONNECTION + round;
            generator.round(
                |connection| &requests[place(connection) % requests.len()],
                |_, packets| Answer::decode(packets)?.check().map(drop),
            )?;
        }
        Ok(())
    };
    rounds(0, REQUESTS_PER_CONNECTION)?;
    marker.ask(&mark)?;
    rounds(0, arguments.rounds)?;
    marker.ask(&mark)?;
    say(&format!("{} requests of '{}'", arguments.rounds * CONNECTIONS, work.name));
    Ok(())
}

/// Creates the tables of a work, and returns the work.
fn prepare(plan: &Plan, server: &ServerProcess, name: &str) -> Result<Work> {
    let sessions = [session::read(), session::save(), session::reset()];
    if let Some(work) = sessions.into_iter().find(|work| work.name == name) {
        session::prepare(plan, server)?;
        return Ok(work);
    }
    if let Some(work) = keys::works().into_iter().find(|work| work.name == name) {
        keys::prepare(server)?;
        return Ok(work);
    }
    let caches = cache::prepare(plan, server)?;
    let work = caches.into_iter().find(|work| work.name == name);
    work.ok_or_else(|| format!("there is no work '{name}'"))
}
