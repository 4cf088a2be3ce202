//! Facts about the machine and the run, without which numbers mean nothing.

use std::fs;
use std::process::Command;
use std::sync::OnceLock;

use crate::Plan;

/// Names and values, in the order in which they are printed.
pub(crate) type Facts = Vec<(&'static str, String)>;

/// The CPUs that this process may use, as they were before anything was pinned.
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

/// What does not depend on the kind of run.
pub(crate) fn machine(plan: &Plan) -> Facts {
    vec![
        ("date", today()),
        ("CPU", field("/proc/cpuinfo", "model name")),
        ("CPUs", cpus().len().to_string()),
        ("memory", format!("{} MB", sos::sys::total_memory_bytes() >> 20)),
        ("kernel", first_line("/proc/sys/kernel/osrelease")),
        (
            "clock source",
            first_line("/sys/devices/system/clocksource/clocksource0/current_clocksource"),
        ),
        ("load average", load_average()),
        ("server", version(plan)),
    ]
}

fn today() -> String {
    let (days, ticks) = sos::clock::utc_days_and_ticks();
    let minutes = ticks / 600_000_000;
    let date = types::date::civil_of(i32::try_from(days).unwrap_or(0));
    format!(
        "{:04}-{:02}-{:02} {:02}:{:02} UTC",
        date.year,
        date.month,
        date.day,
        minutes / 60,
        minutes % 60
    )
}

/// The load before the run, and what it means: the run itself keeps two CPUs busy, but comes after.
fn load_average() -> String {
    let text = first_line("/proc/loadavg");
    let minute: f64 = text.split(' ').next().and_then(|word| word.parse().ok()).unwrap_or(0.0);
    match minute > 0.5 {
        true => {
            format!("{text} (other work ran beside: rates and latencies suffer, CPU time less)")
        }
        false => text,
    }
}

fn first_line(path: &str) -> String {
    let text = fs::read_to_string(path).unwrap_or_default();
    text.lines().next().unwrap_or("unknown").trim().to_owned()
}

fn field(path: &str, name: &str) -> String {
    let text = fs::read_to_string(path).unwrap_or_default();
    let line = text.lines().find_map(|line| line.strip_prefix(name)?.split_once(':'));
    line.map_or_else(|| "unknown".to_owned(), |(_, value)| value.trim().to_owned())
}

fn version(plan: &Plan) -> String {
    let output = Command::new(&plan.server).arg("--version").output();
    let text = output.map(|output| String::from_utf8_lossy(&output.stdout).trim().to_owned());
    text.unwrap_or_else(|_| "unknown".to_owned())
}
