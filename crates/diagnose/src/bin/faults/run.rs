//! One run: a server, a healthy load, the fault, and the tool, which knows only the address.

use std::net::SocketAddr;
use std::os::unix::process::CommandExt;
use std::path::PathBuf;
use std::process::{Child, Command, Stdio};
use std::time::Duration;

use diagnose::Settings;
use load::ask::Asker;
use load::link::{Encrypt, Target};
use load::process::Place;
use load::{Login, ServerProcess};
use sos::clock;
use verdict::Verdict;

use crate::control_group::ControlGroup;
use crate::list::{Fault, Helper, PROOF_MIN};
use crate::proxy;
use crate::stuck::Limit;

const PASSWORD: &str = "Faults-1-faults";
const DATABASE: &str = "faults";
/// How long an answer may take: setups of large tables on a busy machine.
const PATIENCE: Duration = Duration::from_secs(90);
/// How long the load and the fault run before the tool looks.
const WARM_UP: Duration = Duration::from_millis(2_000);

/// What all runs have in common.
pub(crate) struct Bench {
    /// The binary that serves and makes the load.
    pub(crate) binary: PathBuf,
    /// A folder for scripts and data.
    pub(crate) folder: PathBuf,
    /// How long the tool looks.
    pub(crate) length: Duration,
    /// Whether the tool also intervenes.
    pub(crate) confirm: bool,
}

/// The healthy load of a run.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Load {
    /// A workload of `clearway stress`.
    pub(crate) workload: &'static str,
    /// Number of its connections at once.
    pub(crate) connections: u32,
    /// Pause between two requests of a connection; without one the load is as fast as it can be.
    pub(crate) think: Option<&'static str>,
}

/// Processes that end with their group when dropped.
struct Group(Vec<Child>);

impl Drop for Group {
    fn drop(&mut self) {
        for child in &mut self.0 {
            let group = format!("-{}", child.id());
            // It may have ended already.
            let _ =
                Command::new("kill").args(["-KILL", "--", &group]).stderr(Stdio::null()).status();
            let _ = child.wait();
        }
    }
}

impl Bench {
    /// Makes the fault beside the load, and asks the tool.
    pub(crate) fn run(&self, fault: &Fault, load: Load) -> Result<Seen, String> {
        let data = self.folder.join("data");
        // Left by an earlier run.
        let _ = std::fs::remove_dir_all(&data);
        let mut limit = None;
        let server = self.serve(fault)?;
        let _watched = Limit::start(server.id())?;
        let target = |database: &str| Target {
            address: server.address().into(),
            login: Login {
                user: "sa".to_owned(),
                password: PASSWORD.to_owned(),
                database: database.to_owned(),
            },
            encrypt: Encrypt::Off,
        };
        let mut asker = Asker::connect(&target(""), PATIENCE)?;
        asker.ask(&format!("CREATE DATABASE {DATABASE}"))?;
        let mut asker = Asker::connect(&target(DATABASE), PATIENCE)?;
        let setup = self.placed(&fault.setup);
        for batch in setup.split_terminator(';').filter(|batch| !batch.trim().is_empty()) {
            asker.ask(batch)?;
        }
        let mut group = Group(Vec::new());
        self.begin_load(&server, load, fault.network_ms, &mut group)?;
        load::pause(Duration::from_secs(fault.alone_seconds));
        if let Some(cpus) = fault.quota {
            limit = Some(ControlGroup::limit(server.id(), cpus)?);
        }
        for (place, helper) in fault.helpers.iter().enumerate() {
            let helper = self.helper(&server, helper, place)?;
            group.0.push(helper);
        }
        if !fault.late.is_empty() {
            asker.ask(&fault.late)?;
        }
        load::pause(WARM_UP);
        let settings = Settings {
            server: server.address().to_string(),
            target: target(""),
            patience: PATIENCE,
            length: self.length,
            confirm: self.confirm,
        };
        let proof = |asker: &mut Asker| match fault.proof {
            "" => Ok(0.0),
            proof => number(asker, proof),
        };
        let proven = proof(&mut asker)?;
        let before = (machine_ticks()?, server.cpu_ns()?);
        let began_ns = clock::monotonic_ns();
        let verdict = diagnose::run(&settings, |time| {
            load::pause(time);
            true
        });
        let ns = clock::monotonic_ns() - began_ns;
        let after = (machine_ticks()?, server.cpu_ns()?);
        let seconds = Duration::from_nanos(ns).as_secs_f64();
        let grown = (proof(&mut asker)? - proven) / seconds;
        drop(group);
        drop(server);
        // A group can be removed when the process in it has ended.
        drop(limit);
        let [all, idle] = [after.0.0 - before.0.0, after.0.1 - before.0.1];
        #[expect(clippy::cast_precision_loss, reason = "seconds of a run")]
        let own = (after.1 - before.1) as f64 / 1e7;
        let others = (all - idle - own).max(0.0) / all.max(1.0);
        if !fault.proof.is_empty() && grown < PROOF_MIN {
            return Err(format!("what makes the fault happened {grown:.1} times per second"));
        }
        Ok(Seen { verdict: verdict?, others, seconds })
    }

    /// Replaces `{folder}` by the folder of the server's data.
    fn placed(&self, text: &str) -> String {
        text.replace("{folder}", &self.folder.join("data").display().to_string())
    }

    fn serve(&self, fault: &Fault) -> Result<ServerProcess, String> {
        let mut command = Command::new(&self.binary);
        command.args(["serve", "--port", "0", "--sa-password", PASSWORD]);
        command.args(fault.server.iter().map(|argument| self.placed(argument)));
        ServerProcess::start(command, b"", Place::Anywhere)
    }

    /// Starts the load, and waits until its tables are there.
    fn begin_load(
        &self,
        server: &ServerProcess,
        load: Load,
        network_ms: u64,
        group: &mut Group,
    ) -> Result<(), String> {
        let connections = load.connections.to_string();
        let mut setup = self.stress(server.address());
        setup.args(["--workload", load.workload, "--setup", "-n", "1", "--duration", "100ms"]);
        let status = setup.status().map_err(|error| format!("{setup:?}: {error}"))?;
        if !status.success() {
            return Err(format!("the tables of {} cannot be made", load.workload));
        }
        let way = match network_ms {
            0 => server.address(),
            ms => proxy::start(server.address(), Duration::from_millis(ms))
                .map_err(|error| format!("the proxy: {error}"))?,
        };
        let mut stress = self.stress(way);
        stress.args(["--workload", load.workload, "-n", &connections, "--duration", "10m"]);
        if let Some(think) = load.think {
            stress.args(["--think", think]);
        }
        group.0.push(spawn(stress)?);
        Ok(())
    }

    fn stress(&self, server: SocketAddr) -> Command {
        let mut command = Command::new(&self.binary);
        command.args(["stress", "-S", &named(server), "-U", "sa", "-P", PASSWORD, "-d", DATABASE]);
        command.arg("-q").stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null());
        command
    }

    fn helper(
        &self,
        server: &ServerProcess,
        helper: &Helper,
        place: usize,
    ) -> Result<Child, String> {
        match helper {
            Helper::Batches { connections, batch, more } => {
                let mut stress = self.stress(server.address());
                let batch = self.placed(batch);
                stress.args(["-n", &connections.to_string(), "--duration", "10m", "-Q", &batch]);
                stress.args(*more);
                spawn(stress)
            }
            Helper::Script { text, bytes_per_second } => {
                let file = self.folder.join(format!("script{place}.sql"));
                std::fs::write(&file, text).map_err(|error| error.to_string())?;
                let reader = match *bytes_per_second {
                    usize::MAX => "cat > /dev/null".to_owned(),
                    bytes => format!(
                        "while test -n \"$(head -c {} | tr -d '\\0' | head -c 1)\"; do sleep 0.1; \
                         done",
                        (bytes / 10).max(1)
                    ),
                };
                let text = format!(
                    "(cat '{}'; sleep 600) | '{}' sql -S {} -U sa -P {PASSWORD} -d {DATABASE} \
                     2> /dev/null | ({reader})",
                    file.display(),
                    self.binary.display(),
                    named(server.address())
                );
                let mut shell = Command::new("sh");
                shell.args(["-c", &text]).stdin(Stdio::null()).stdout(Stdio::null());
                spawn(shell)
            }
            Helper::Shell(text) => {
                let mut shell = Command::new("sh");
                shell.args(["-c", &self.placed(text)]).stdin(Stdio::null());
                spawn(shell)
            }
        }
    }
}

/// What came of a run.
pub(crate) struct Seen {
    /// What the tool said.
    pub(crate) verdict: Verdict,
    /// The share of the machine's CPU time that processes other than the server used.
    pub(crate) others: f64,
    /// Seconds until the verdict.
    pub(crate) seconds: f64,
}

/// Returns the number that a SELECT returns.
fn number(asker: &mut Asker, query: &str) -> Result<f64, String> {
    let results = load::rows::results(&asker.ask(query)?.tokens);
    let row = results.first().and_then(|rows| rows.first());
    row.and_then(|row| row.number(0)).ok_or_else(|| format!("no number from {query}"))
}

/// Ticks of all CPUs, and those of them that were idle.
fn machine_ticks() -> Result<(f64, f64), String> {
    let text =
        std::fs::read_to_string("/proc/stat").map_err(|error| format!("/proc/stat: {error}"))?;
    let line = text.lines().next().unwrap_or("");
    let ticks: Vec<f64> =
        line.split_whitespace().skip(1).take(8).filter_map(|tick| tick.parse().ok()).collect();
    Ok((ticks.iter().sum(), ticks.iter().skip(3).take(2).sum()))
}

/// The address as `-S` takes it.
fn named(address: SocketAddr) -> String {
    address.to_string().replace(':', ",")
}

fn spawn(mut command: Command) -> Result<Child, String> {
    command.process_group(0).spawn().map_err(|error| format!("{command:?}: {error}"))
}
