//! Facts about the machine, which a report of measurements needs.

use std::fs;

/// Returns names and values in print order, for a run that uses `cpus` CPUs of the machine.
pub fn facts(cpus: usize) -> Vec<(&'static str, String)> {
    vec![
        ("date", today()),
        ("CPU", field("/proc/cpuinfo", "model name")),
        ("CPUs", cpus.to_string()),
        ("memory", format!("{} MB", sos::sys::total_memory_bytes() >> 20)),
        ("kernel", first_line("/proc/sys/kernel/osrelease")),
        (
            "clock source",
            first_line("/sys/devices/system/clocksource/clocksource0/current_clocksource"),
        ),
        ("load average", load_average()),
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

/// Returns the load average before the run, with a judgement. The run itself keeps two CPUs busy,
/// but comes after.
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
