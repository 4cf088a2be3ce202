//! Findings as text for a terminal, as JSON, and as one HTML file.

use std::fmt::Write;

use load::html::{Chart, Series, Style, escape, page, short, table};
use load::json::{join, quote};

use crate::finding::{CPUS, Finding, LEDGER, Side};
use crate::flame;

/// Most rows of the ledger, and of waits, that are shown.
const ROWS_MAX: usize = 8;

/// A line of the comparison: what, old implementation, new implementation.
type Line = (String, String, String);

fn lines(finding: &Finding) -> Vec<Line> {
    let units = finding.experiment.units;
    let both = |what: &str, of: &dyn Fn(&Side) -> String| {
        (what.to_owned(), of(&finding.old), of(&finding.new))
    };
    vec![
        both(&format!("{units} a second"), &|side| short(side.rate())),
        both(&format!("server CPU, ns for each of the {units}"), &|side| {
            format!("{:.0}", side.cpu_each_ns())
        }),
        both("of it spinning", &|side| format!("{:.1} %", side.spin_share() * 1e2)),
        both("rounds of spinning", &|side| side.counters.total("spins").to_string()),
        both(&format!("pages allocated for each of the {units}"), &|side| {
            format!("{:.4}", side.pages_each())
        }),
        both("calls that handed memory back", &|side| side.memory_calls.0.to_string()),
        both("calls that took memory", &|side| side.memory_calls.1.to_string()),
    ]
}

/// Returns the ledger's rows that differ most, in nanoseconds per unit.
fn ledger(finding: &Finding) -> Vec<Line> {
    let mut names: Vec<String> = Vec::new();
    for side in [&finding.old, &finding.new] {
        for (_, rows) in
            side.counters.largest(usize::MAX).into_iter().filter(|(group, _)| *group == LEDGER)
        {
            names.extend(rows.into_iter().map(|(name, _)| name));
        }
    }
    names.sort_unstable();
    names.dedup();
    let of = |side: &Side, name: &str| side.ledger_each_ns(name);
    let is_of_note = |name: &String| !name.starts_with("idle") && !name.starts_with("observing");
    let mut rows: Vec<(String, f64, f64)> = names
        .into_iter()
        .filter(is_of_note)
        .map(|name| {
            let (old, new) = (of(&finding.old, &name), of(&finding.new, &name));
            (name, old, new)
        })
        .collect();
    rows.sort_by(|a, b| b.1.max(b.2).total_cmp(&a.1.max(a.2)));
    rows.truncate(ROWS_MAX);
    rows.into_iter()
        .map(|(name, old, new)| (name, format!("{old:.1}"), format!("{new:.1}")))
        .collect()
}

fn waits(finding: &Finding) -> Vec<Line> {
    let of =
        |side: &Side| side.counters.largest(3).into_iter().find(|(group, _)| *group == "waits, ms");
    let mut names: Vec<String> = Vec::new();
    for side in [&finding.old, &finding.new] {
        names.extend(of(side).into_iter().flat_map(|(_, rows)| rows).map(|(name, _)| name));
    }
    names.sort_unstable();
    names.dedup();
    let ms = |side: &Side, name: &str| side.counters.get("waits, ms", name).to_string();
    let line = |name: String| {
        let (old, new) = (ms(&finding.old, &name), ms(&finding.new, &name));
        (name, old, new)
    };
    names.into_iter().map(line).collect()
}

fn model(finding: &Finding) -> Vec<Line> {
    let line = |cpus: f64| {
        let (old, new) = finding.predicted(cpus);
        (
            format!("model, {cpus} CPUs: {} a second", finding.experiment.units),
            short(old),
            short(new),
        )
    };
    CPUS.into_iter().map(line).collect()
}

/// Returns the conclusion in a sentence.
fn verdict(finding: &Finding) -> String {
    let (cpu, rate) = (finding.cpu_factor(), finding.rate_factor());
    if finding.experiment.is_control {
        return format!("the control: {cpu:.2} times the CPU (1 is expected)");
    }
    format!(
        "the old implementation takes {cpu:.2} times the CPU; the new one does {rate:.2} times the work"
    )
}

/// Returns a finding as text for a terminal.
pub fn text(finding: &Finding) -> String {
    let experiment = finding.experiment;
    let mut text = format!("\n{}: {}\n", experiment.name, experiment.failed);
    for published in experiment.published {
        // Writing to a String cannot fail.
        let _ = writeln!(text, "  published: {published}");
    }
    let _ = writeln!(text, "  old: {}\n  new: {}", experiment.old.0, experiment.new.0);
    let put = |text: &mut String, head: &str, lines: Vec<Line>| {
        if lines.is_empty() {
            return;
        }
        let _ = writeln!(text, "  {head:<56} {:>14} {:>14}", "old", "new");
        for (what, old, new) in lines {
            let _ = writeln!(text, "    {what:<54} {old:>14} {new:>14}");
        }
    };
    put(&mut text, "measured here", lines(finding));
    put(&mut text, "the ledger, ns on a CPU for each unit", ledger(finding));
    put(&mut text, "waits, ms in all", waits(finding));
    put(&mut text, "MODEL, not measured", model(finding));
    let _ = writeln!(text, "  the model assumes: {}", finding.assumption());
    if let Some(caveat) = finding.caveat() {
        let _ = writeln!(text, "  {caveat}");
    }
    let _ = writeln!(text, "  {}", verdict(finding));
    text
}

/// Returns the findings as JSON.
pub fn json(findings: &[Finding]) -> String {
    let side = |side: &Side| {
        let turns = join(side.turns_ms.iter().map(|ms| format!("{ms:.3}")));
        format!(
            "{{\"units\":{},\"rate\":{:.1},\"cpu_each_ns\":{:.2},\"spin_share\":{:.5},\"pages_each\":{:.6},\
             \"decommit_calls\":{},\"populate_calls\":{},\"turns_ms\":[{turns}]}}",
            side.units,
            side.rate(),
            side.cpu_each_ns(),
            side.spin_share(),
            side.pages_each(),
            side.memory_calls.0,
            side.memory_calls.1
        )
    };
    let one = |finding: &Finding| {
        let models = CPUS.into_iter().map(|cpus| {
            let (old, new) = finding.predicted(cpus);
            format!("{{\"cpus\":{cpus},\"old\":{old:.1},\"new\":{new:.1}}}")
        });
        format!(
            "{{\"experiment\":{},\"unit\":{},\"cpus\":{},\"old\":{},\"new\":{},\"cpu_factor\":{:.4},\
             \"rate_factor\":{:.4},\"model\":[{}]}}",
            quote(finding.experiment.name),
            quote(finding.experiment.units),
            finding.cpus,
            side(&finding.old),
            side(&finding.new),
            finding.cpu_factor(),
            finding.rate_factor(),
            join(models)
        )
    };
    format!("[{}]\n", findings.iter().map(one).collect::<Vec<_>>().join(",\n"))
}

/// Returns the findings as one HTML file without external resources.
pub fn html(findings: &[Finding]) -> String {
    let mut body = String::new();
    for finding in findings {
        put_html(&mut body, finding);
    }
    page("Clearway lab", &body)
}

fn put_html(body: &mut String, finding: &Finding) {
    let experiment = finding.experiment;
    let _ = writeln!(
        body,
        "<h2>{}</h2><p>{}</p><p><b>{}</b></p><ul>",
        escape(experiment.name),
        escape(experiment.failed),
        escape(&verdict(finding))
    );
    for published in experiment.published {
        let _ = writeln!(body, "<li>published: {}</li>", escape(published));
    }
    let (old, new) = (escape(experiment.old.0), escape(experiment.new.0));
    let _ = writeln!(body, "</ul><p>old: {old}<br>new: {new}</p>");
    put_graphs(body, finding);
    let put = |body: &mut String, head: &str, lines: Vec<Line>| {
        let rows: Vec<_> = lines.into_iter().map(|(what, old, new)| vec![what, old, new]).collect();
        if !rows.is_empty() {
            body.push_str(&table(&[head, "old", "new"], &rows));
        }
    };
    put(body, "measured here", lines(finding));
    put(body, "the ledger, ns on a CPU for each unit", ledger(finding));
    put(body, "waits, ms in all", waits(finding));
    body.push_str("<div class=\"charts\">");
    body.push_str(&turns(finding));
    body.push_str(&prediction(finding));
    body.push_str("</div>\n");
    let _ =
        writeln!(body, "<p>MODEL, not measured. It assumes: {}</p>", escape(&finding.assumption()));
    if let Some(caveat) = finding.caveat() {
        let _ = writeln!(body, "<p class=\"warn\">{}</p>", escape(&caveat));
    }
}

fn put_graphs(body: &mut String, finding: &Finding) {
    let graphs = match (&finding.old.stacks, &finding.new.stacks) {
        (Ok(old), Ok(new)) => flame::graphs(old, new),
        (Err(why), _) | (_, Err(why)) => Err(why.clone()),
    };
    match graphs {
        Ok(graphs) => body.push_str(&graphs),
        Err(why) => {
            let _ = writeln!(body, "<p>no flame graphs: {}</p>", escape(&why));
        }
    }
}

fn turns(finding: &Finding) -> String {
    let dots = |name: &str, side: &Side| Series {
        name: name.to_owned(),
        style: Style::Dots,
        points: (1_u32..).map(f64::from).zip(side.turns_ms.iter().copied()).collect(),
    };
    let series = vec![dots("old", &finding.old), dots("new", &finding.new)];
    Chart { title: "Each turn, ms", across: "turn", series }.svg()
}

fn prediction(finding: &Finding) -> String {
    let counts: Vec<f64> = (1..=36_u32).map(|step| f64::from(step) * 4.0).collect();
    let line = |name: &str, of: &dyn Fn((f64, f64)) -> f64| Series {
        name: name.to_owned(),
        style: Style::Line,
        points: counts.iter().map(|cpus| (*cpus, of(finding.predicted(*cpus)))).collect(),
    };
    let series = vec![line("old", &|both| both.0), line("new", &|both| both.1)];
    let title = "MODEL, not measured: units a second";
    Chart { title, across: "CPUs", series }.svg()
}
