//! Flame graphs of both ways, from the servers' own samplers, asked for by SELECT.

use std::time::Duration;

use load::html::escape;
use load::link::Target;
use load::profile::{Kind, Window, flame_graph, folded, parse_folded, record};

/// How long an answer may take.
const PATIENCE: Duration = Duration::from_secs(60);
/// Height of a graph in a report, in pixels.
const HEIGHT_PX: u32 = 520;

/// What a server's CPU time was spent on since its start, as folded stacks.
///
/// # Errors
/// One line: the sampler is off, or the server has none.
pub(crate) fn stacks(target: &Target) -> Result<String, String> {
    let window = Window { kind: Kind::Cpu, duration: None, patience: PATIENCE };
    record(target, &window, |_| ()).map(|profile| folded(&profile))
}

/// Two graphs for a report: the old way, coloured by what is different in the new one, and the new way.
pub(crate) fn graphs(old: &str, new: &str) -> Result<String, String> {
    let (old, new) = (parse_folded(old)?, parse_folded(new)?);
    let unit = Kind::Cpu.unit();
    let before = flame_graph("CPU time, old; red is more than in the new", unit, &old, Some(&new));
    let after = flame_graph("CPU time, new", unit, &new, None);
    Ok([before, after].iter().map(|graph| framed(graph)).collect())
}

/// A graph in a frame of its own, so that its names and functions are nobody else's.
fn framed(graph: &str) -> String {
    // Inside HTML an SVG is one without saying so; a declaration of XML is not wanted there.
    let start = graph.find("<svg").unwrap_or(0);
    let inner = graph[start..].replace(" xmlns=\"http://www.w3.org/2000/svg\"", "");
    format!(
        "<iframe srcdoc=\"{}\" width=\"1240\" height=\"{HEIGHT_PX}\"></iframe>\n",
        escape(&inner)
    )
}
