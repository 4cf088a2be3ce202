//! `bench drive`: a fixed number of requests to a server that a tool runs: one that counts instructions
//! or allocations.
//!
//! The server is whatever `--server` starts, such as a script around valgrind. A reset of the connection
//! comes before the measured requests, another behind them, so that the tool can tell them from what
//! prepares them: `--dump-before='engine::proc::sql::reset_connection'` makes callgrind's second dump
//! theirs.

use std::path::PathBuf;

use clap::Args;
use load::process::Place;
use load::{Answer, Generator, Result};

use crate::setup::{Schedulers, connect, login, start_clearway};
use crate::work::{CONNECTIONS, REQUESTS_PER_CONNECTION};
use crate::{Plan, say, session};

/// What to drive.
#[derive(Args)]
pub(crate) struct DriveArguments {
    /// The server's binary, or a script that becomes it; default the one beside this
    #[arg(long, value_name = "FILE")]
    server: Option<PathBuf>,
    /// Folder of session_state.sql and cache.sql
    #[arg(long, value_name = "FOLDER", default_value = "tests/workloads")]
    workloads: PathBuf,
    /// Name of the work: session read, session write
    #[arg(long, value_name = "TEXT")]
    work: String,
    /// Requests of each of the 64 connections
    #[arg(long, value_name = "N", default_value_t = 320)]
    rounds: usize,
}

/// Drives, checking every answer for errors.
pub(crate) fn run(arguments: &DriveArguments) -> Result<()> {
    let plan = Plan::of_server(arguments.server.as_ref(), &arguments.workloads)?;
    let mut works = vec![session::read(), session::save(), session::reset()];
    works.retain(|work| work.name == arguments.work);
    let Some(work) = works.pop() else {
        return Err(format!("there is no work '{}'", arguments.work));
    };
    let server = start_clearway(&plan, Schedulers::One, Place::Anywhere)?;
    session::prepare(&plan, &server)?;
    let mark = session::reset().measured.requests.swap_remove(0);
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
