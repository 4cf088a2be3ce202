//! Facts about the machine and the run, which a report of measurements needs.

use std::process::Command;
use std::sync::OnceLock;

use crate::Plan;

/// Names and values, in print order.
pub(crate) type Facts = Vec<(&'static str, String)>;

/// Returns the CPUs that this process may use, as they were before any pinning.
pub(crate) fn cpus() -> Vec<usize> {
    static CPUS: OnceLock<Vec<usize>> = OnceLock::new();
    CPUS.get_or_init(sos::sys::allowed_cpus).clone()
}

pub(crate) fn facts(plan: &Plan) -> Facts {
    let server = plan.server.file_name().unwrap_or_default().to_string_lossy().into_owned();
    let mut facts = machine(plan);
    facts.extend([
        ("server's command", format!("{server} serve --port 0 --sa-password ... --schedulers 1")),
        (
            "rounds",
            format!("{} of server, echo, echo, server, {:?} each", plan.rounds, plan.window),
        ),
        ("connections", crate::work::CONNECTIONS.to_string()),
    ]);
    facts
}

/// Returns the facts that are the same for every kind of run.
pub(crate) fn machine(plan: &Plan) -> Facts {
    let mut facts = load::machine::facts(cpus().len());
    facts.push(("server", version(plan)));
    facts
}

fn version(plan: &Plan) -> String {
    let output = Command::new(&plan.server).arg("--version").output();
    let text = output.map(|output| String::from_utf8_lossy(&output.stdout).trim().to_owned());
    text.unwrap_or_else(|_| "unknown".to_owned())
}
