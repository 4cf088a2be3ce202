//! The report as JSON: stable names, numbers as numbers.

use std::fmt::Write;

use super::{STATEMENTS_MAX, lines};
use crate::estimate::Estimate;
use crate::judge::{Outcome, Verdict};

/// Returns the report as one JSON object.
#[must_use]
pub fn json(verdict: &Verdict) -> String {
    let window = &verdict.window;
    let (outcome, cause) = match verdict.outcome {
        Outcome::Cause(cause) => ("cause", quote(cause.name())),
        Outcome::Healthy => ("healthy", "null".to_owned()),
        Outcome::Abstained => ("abstained", "null".to_owned()),
    };
    let bar = window.bar().into_iter().map(|(group, tenths)| {
        format!("{{\"part\":{},\"percent\":{}.{}}}", quote(group.name()), tenths / 10, tenths % 10)
    });
    let parts = window.parts.iter().map(|part| {
        format!(
            "{{\"category\":{},\"name\":{},\"group\":{},\"seconds_per_second\":{},\
             \"entries_per_second\":{},\"us_per_request\":{}}}",
            quote(part.category.name()),
            quote(&part.name),
            quote(part.group.name()),
            number(part.active),
            number(part.entries),
            estimate(&part.per_request)
        )
    });
    let statements = window.statements.iter().take(STATEMENTS_MAX).map(|statement| {
        format!(
            "{{\"statement\":{},\"in\":{},\"cpu_seconds_per_second\":{},\
             \"executions_per_second\":{},\"cpu_us\":{},\"reads\":{},\"rows\":{}}}",
            quote(&statement.text),
            quote(&statement.database),
            number(statement.cpu),
            number(statement.calls),
            number(statement.cpu_us),
            number(statement.reads),
            number(statement.rows)
        )
    });
    let ruled_out = verdict.ruled_out.iter().map(|(cause, score)| {
        format!("{{\"cause\":{},\"share_of_work\":{}}}", quote(cause.name()), number(*score))
    });
    format!(
        "{{\"outcome\":\"{outcome}\",\"cause\":{cause},\"sentence\":{},\n\"server\":{},\
         \"version\":{},\"seconds\":{},\"windows\":{},\"schedulers\":{},\n\
         \"requests_per_second\":{},\"active\":{},\"questions_cpu\":{},\n\"bar\":[{}],\n\"findings\":[{}],\n\
         \"statements\":[{}],\n\"ruled_out\":[{}],\n\"warnings\":[{}],\n\"time\":[{}]}}\n",
        quote(&verdict.sentence),
        quote(&verdict.server.name),
        quote(&verdict.server.version),
        number(window.seconds),
        window.windows,
        number(window.schedulers),
        estimate(&window.requests),
        number(window.active),
        number(window.own),
        join(bar),
        join(findings(verdict)),
        join(statements),
        join(ruled_out),
        join(verdict.warnings.iter().map(|warning| quote(warning))),
        join(parts)
    )
}

fn findings(verdict: &Verdict) -> impl Iterator<Item = String> {
    verdict.findings.iter().zip(lines(verdict)).map(|(finding, line)| {
        format!(
            "{{\"priority\":{},\"cause\":{},\"grade\":\"{}\",\"group\":{},\"finding\":{},\
             \"impact\":{},\"share\":{},\"us_per_request\":{},\"score\":{},\"evidence\":{},\
             \"what_to_do\":{},\"how_to_check\":{}}}",
            line.priority,
            quote(finding.candidate.cause.name()),
            finding.grade.name(),
            quote(line.group),
            quote(&line.finding),
            quote(&line.impact),
            number(finding.share),
            number(finding.us),
            number(finding.candidate.score),
            quote(line.evidence),
            quote(line.advice),
            quote(line.check)
        )
    })
}

fn estimate(estimate: &Estimate) -> String {
    let [mean, low, high] = [estimate.mean, estimate.low, estimate.high].map(number);
    format!("{{\"mean\":{mean},\"low\":{low},\"high\":{high}}}")
}

/// JSON has no infinity: an open interval's end is null.
fn number(value: f64) -> String {
    if value.is_finite() { format!("{value:.6}") } else { "null".to_owned() }
}

fn join(items: impl Iterator<Item = String>) -> String {
    items.collect::<Vec<_>>().join(",")
}

fn quote(text: &str) -> String {
    let mut quoted = String::from("\"");
    for letter in text.chars() {
        match letter {
            '"' | '\\' => quoted.extend(['\\', letter]),
            control if control.is_control() => {
                // Writing to a String cannot fail.
                let _ = write!(quoted, "\\u{:04x}", u32::from(control));
            }
            other => quoted.push(other),
        }
    }
    quoted.push('"');
    quoted
}
