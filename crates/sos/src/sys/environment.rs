//! What the machine and the container allow a server: facts with a warning where one slows it down.

use std::fs;

use super::{SysCause, call, cgroup};

/// A fact about the machine.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Fact {
    /// Its name, in lower case.
    pub name: &'static str,
    /// Its value as text; sums only grow.
    pub value: String,
    /// What it does to a server; `None` if all is well.
    pub warning: Option<String>,
}

impl Fact {
    fn new(name: &'static str, value: impl ToString) -> Self {
        Self { name, value: value.to_string(), warning: None }
    }

    fn with_warning(mut self, is_bad: bool, warning: &str) -> Self {
        self.warning = is_bad.then(|| warning.to_owned());
        self
    }
}

/// Returns what is known of the machine; a fact that the system does not tell is left out.
#[must_use]
pub fn environment() -> Vec<Fact> {
    let cpus = super::allowed_cpus().len();
    let mut facts = vec![Fact::new("cpus", cpus)];
    if let Some(limit) = cgroup::cpu_limit() {
        let quota = limit.cpus.map_or("none".to_owned(), |cpus| format!("{cpus:.2}"));
        let whole = f64::from(u32::try_from(cpus).unwrap_or(u32::MAX));
        let is_less = limit.cpus.is_some_and(|quota| quota < whole);
        let less = "the quota is below the number of CPUs: threads that run at once use it up, and \
                    all stop until the next period; start as many schedulers as the quota has CPUs";
        facts.push(Fact::new("cpu_quota", quota).with_warning(is_less, less));
        facts.push(Fact::new("cpu_throttled_periods", limit.throttled_periods));
        facts.push(Fact::new("cpu_throttled_us", limit.throttled_us));
    }
    if let Some(steal) = steal_ticks() {
        facts.push(Fact::new("cpu_steal_ticks", steal));
    }
    if let Some(load) = read("/proc/loadavg") {
        facts.push(Fact::new("load_average", load.split(' ').next().unwrap_or("")));
    }
    if let Some(source) = read("/sys/devices/system/clocksource/clocksource0/current_clocksource") {
        let is_slow = !matches!(source.as_str(), "tsc" | "arch_sys_counter" | "kvm-clock");
        let slow = "reading this clock is a system call or slower";
        facts.push(Fact::new("clock_source", source).with_warning(is_slow, slow));
    }
    if let Some(pages) = read("/sys/kernel/mm/transparent_hugepage/enabled") {
        let chosen = pages.split(['[', ']']).nth(1).unwrap_or(&pages).to_owned();
        let is_never = chosen == "never";
        let never = "large tables need many entries of the address cache: set it to madvise";
        facts.push(Fact::new("transparent_huge_pages", chosen).with_warning(is_never, never));
    }
    facts
}

/// Ticks that a hypervisor has taken from this machine.
fn steal_ticks() -> Option<u64> {
    let text = read("/proc/stat")?;
    text.lines().next()?.split_whitespace().nth(8)?.parse().ok()
}

fn read(path: &str) -> Option<String> {
    let text = call(SysCause::Books, || fs::read_to_string(path)).ok()?;
    Some(text.trim().to_owned())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn facts_have_names_and_values() {
        let facts = environment();
        assert_eq!(facts[0].name, "cpus");
        assert!(facts.iter().all(|fact| !fact.value.is_empty()), "{facts:?}");
    }
}
