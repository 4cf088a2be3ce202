//! Runs an experiment: two servers as child processes, and turns of the same load on each in the
//! order A B B A, so that other work on the machine affects both.

use std::path::PathBuf;
use std::process::Command;
use std::time::Duration;

use load::ask::Asker;
use load::counters::{Counters, ask_number};
use load::link::{Encrypt, Target};
use load::process::Place;
use load::stress::{Driver, Pace, Pool, Settings as LoadSettings, Work};
use load::{Login, ServerProcess};
use sos::clock;

use crate::experiment::{Experiment, Load};
use crate::finding::{Finding, Side};
use crate::flame;

/// The password of servers that live as long as the experiment and listen on this machine alone.
const PASSWORD: &str = "Lab-Secret-Word1";
const DATABASE: &str = "Lab";
/// How long a setup script or a turn may take.
const PATIENCE: Duration = Duration::from_secs(300);
const LOGIN_MAX: Duration = Duration::from_secs(30);

/// The settings for all experiments.
#[derive(Clone, Debug)]
pub struct Settings {
    /// The binary whose `serve` is the server.
    pub server: PathBuf,
    /// How long a turn lasts, for a load without an end.
    pub turn: Duration,
    /// Rounds of the turns A B B A.
    pub rounds: usize,
}

/// A server with its connections and results.
struct Bench {
    server: ServerProcess,
    asker: Asker,
    side: Side,
}

/// Runs an experiment. Calls `tell` with lines on its progress; ends when `is_cut` returns true.
///
/// # Errors
/// One line: a server that does not start, or a load that it does not accept.
pub fn run(
    experiment: &'static Experiment,
    settings: &Settings,
    tell: &mut dyn FnMut(&str),
    is_cut: &dyn Fn() -> bool,
) -> Result<Finding, String> {
    tell(&format!("{}: making tables", experiment.name));
    let cpus = sos::sys::allowed_cpus().len().max(1);
    let work = experiment.work()?;
    let mut old = Bench::start(experiment, experiment.old.1, settings, cpus)?;
    let mut new = Bench::start(experiment, experiment.new.1, settings, cpus)?;
    // The first turn of each fills memory and caches, and is not counted.
    for bench in [&mut old, &mut new] {
        bench.turn(experiment, settings, &work, is_cut)?;
        bench.side = Side::default();
    }
    for round in 1..=settings.rounds {
        tell(&format!("{}: turns {round} of {}", experiment.name, settings.rounds));
        for is_old in [true, false, false, true] {
            let bench = if is_old { &mut old } else { &mut new };
            if is_cut() {
                return Err("stopped".to_owned());
            }
            let before = Counters::read(&mut bench.asker);
            let calls = memory_calls(&mut bench.asker)?;
            bench.turn(experiment, settings, &work, is_cut)?;
            let after = memory_calls(&mut bench.asker)?;
            let added = Counters::read(&mut bench.asker).since(&before);
            bench.side.counters.add(&added);
            bench.side.memory_calls.0 += after.0 - calls.0;
            bench.side.memory_calls.1 += after.1 - calls.1;
        }
    }
    for bench in [&mut old, &mut new] {
        bench.side.stacks = flame::stacks(&target(&bench.server, DATABASE));
    }
    Ok(Finding { experiment, cpus, old: old.side, new: new.side })
}

impl Bench {
    fn start(
        experiment: &Experiment,
        arguments: &[&str],
        settings: &Settings,
        cpus: usize,
    ) -> Result<Self, String> {
        let mut command = Command::new(&settings.server);
        command.args(["serve", "--port", "0", "--sa-password", PASSWORD]);
        // Twice as many threads as CPUs: the holder of a lock may lose its CPU, as it does on a
        // busy machine.
        command.args(["--schedulers", &(2 * cpus).to_string()]).args(arguments);
        command.stderr(std::process::Stdio::null());
        let server = ServerProcess::start(command, b"", Place::Anywhere)?;
        let mut first = Asker::connect(&target(&server, ""), PATIENCE)?;
        first.ask(&format!("CREATE DATABASE {DATABASE}"))?;
        let mut asker = Asker::connect(&target(&server, DATABASE), PATIENCE)?;
        for batch in experiment.setup_batches() {
            asker.ask(&batch)?;
        }
        Ok(Self { server, asker, side: Side::default() })
    }

    /// Runs the load for one turn.
    fn turn(
        &mut self,
        experiment: &Experiment,
        settings: &Settings,
        work: &Work,
        is_cut: &dyn Fn() -> bool,
    ) -> Result<(), String> {
        let is_once = matches!(experiment.load, Load::Scripts { .. });
        let load = LoadSettings {
            connections: experiment.sessions,
            pace: Pace::Closed { think: Duration::ZERO },
            pool: Pool::Keep,
            iterations: is_once.then_some(1),
            login_timeout: LOGIN_MAX,
            query_timeout: Some(PATIENCE),
            retries: 0,
            stop_on_error: is_once,
        };
        let mut driver = Driver::new(target(&self.server, DATABASE), work, load)?;
        driver.connect()?;
        let duration = if is_once { None } else { Some(settings.turn) };
        let (cpu_ns, begin_ns) = (self.server.cpu_ns()?, clock::monotonic_ns());
        let tally = driver.run(duration, |_| true, is_cut);
        let wall_ns = clock::monotonic_ns() - begin_ns;
        let cpu_ns = self.server.cpu_ns()? - cpu_ns;
        let units = match experiment.load {
            Load::Scripts { units, .. } => {
                f64::from(units) * as_float(u64::try_from(experiment.sessions).unwrap_or(0))
            }
            Load::Workload(_) | Load::Batch(_) => as_float(tally.requests()),
        };
        if let Some((number, text)) = tally.error_texts.iter().next() {
            return Err(format!("{}: error {number}: {text}", experiment.name));
        }
        if tally.troubles() > 0 || units < 1.0 {
            return Err(format!("{}: the server did not accept the load", experiment.name));
        }
        let side = &mut self.side;
        side.units += units;
        side.wall_ns += as_float(wall_ns);
        side.cpu_ns += as_float(cpu_ns);
        side.turns_ms.push(as_float(wall_ns) / 1e6);
        side.troubles += tally.troubles();
        Ok(())
    }
}

fn target(server: &ServerProcess, database: &str) -> Target {
    Target {
        address: server.address().into(),
        login: Login {
            user: "sa".to_owned(),
            password: PASSWORD.to_owned(),
            database: database.to_owned(),
        },
        encrypt: Encrypt::Off,
    }
}

/// Returns how often memory was returned to the system so far, and how often memory was mapped.
fn memory_calls(asker: &mut Asker) -> Result<(i64, i64), String> {
    let mut of = |name: &str| {
        let query = format!(
            "select coalesce(sum(occurrences), 0) from sys.dm_os_time_ledger \
             where category = 'kernel' and name = '{name}'"
        );
        ask_number(asker, &query)
    };
    Ok((of("decommit")?, of("page_populate")?))
}

#[expect(clippy::cast_precision_loss, reason = "a figure is for readers")]
fn as_float(number: u64) -> f64 {
    number as f64
}
