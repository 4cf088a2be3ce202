//! Flame graphs of both implementations, from the servers' samplers, read with SELECT.

use std::time::Duration;

use load::html::escape;
use load::link::Target;
use load::profile::{Kind, Window, flame_graph, folded, parse_folded, record};

/// How long an answer may take.
const PATIENCE: Duration = Duration::from_secs(60);
/// How much higher a frame is than its graph, in pixels, and its greatest height.
const MARGIN_PX: u32 = 24;
const HEIGHT_MAX_PX: u32 = 2_400;

/// Returns a server's CPU time since its start as folded stacks.
///
/// # Errors
/// One line: the sampler is off, or the server has none.
pub(crate) fn stacks(target: &Target) -> Result<String, String> {
    let window = Window { kind: Kind::Cpu, duration: None, patience: PATIENCE };
    record(target, &window, |_| ()).map(|profile| folded(&profile))
}

/// Returns two graphs for a report: the old implementation, coloured by the difference to the new
/// one, and the new one.
pub(crate) fn graphs(old: &str, new: &str) -> Result<String, String> {
    let (old, new) = (parse_folded(old)?, parse_folded(new)?);
    let unit = Kind::Cpu.unit();
    let before = flame_graph("CPU time, old; red is more than in the new", unit, &old, Some(&new));
    let after = flame_graph("CPU time, new", unit, &new, None);
    Ok([before, after].iter().map(|graph| framed(graph)).collect())
}

/// Puts a graph in an iframe, so that its names and functions cannot clash with another's.
fn framed(graph: &str) -> String {
    // Inside HTML, SVG needs no XML declaration.
    let start = graph.find("<svg").unwrap_or(0);
    // The widest functions are at the bottom, so the frame shows the whole height.
    let height = graph[start..].split_once(" height=\"").and_then(|(_, rest)| rest.split_once('"'));
    let height: f64 = height.and_then(|(digits, _)| digits.parse().ok()).unwrap_or(0.0);
    let height_px = (height + f64::from(MARGIN_PX)).min(f64::from(HEIGHT_MAX_PX));
    let inner = graph[start..].replace(" xmlns=\"http://www.w3.org/2000/svg\"", "");
    format!(
        "<iframe srcdoc=\"{}\" width=\"1240\" height=\"{height_px:.0}\"></iframe>\n",
        escape(&inner)
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_frame_is_as_high_as_its_graph() {
        let graph =
            framed("<?xml?>\n<svg width=\"1200\" height=\"700\"><rect height=\"16\"/></svg>");
        assert!(graph.contains("height=\"724\"></iframe>"), "{graph}");
        assert!(graph.contains("srcdoc=\"&lt;svg"), "{graph}");
    }
}
