//! The report as one HTML file without scripts and without resources from elsewhere.

use std::fmt::Write;

use super::{STATEMENT_HEADS, facts, lines, number, ruled_out, statements};
use crate::judge::Verdict;
use crate::window::Group;

const STYLE: &str = "body{font:15px/1.5 system-ui,sans-serif;max-width:80em;margin:2em auto;\
padding:0 1em;color:#1b1f24;background:#fff}h1{font-size:1.4em}h2{font-size:1.1em;margin-top:2em}\
table{border-collapse:collapse;margin:.7em 0;width:100%}th,td{padding:.3em .7em;\
border-bottom:1px solid #d8dee4;text-align:left;vertical-align:top}code{font-size:.85em;\
white-space:pre-wrap;overflow-wrap:anywhere}svg{width:100%;height:3em}.n{text-align:right;\
font-variant-numeric:tabular-nums}@media(prefers-color-scheme:dark){body{color:#e6edf3;\
background:#0d1117}th,td{border-color:#30363d}rect{stroke:#6e7681;stroke-width:.5}}\
th.n{text-align:right}td.n{white-space:nowrap}.w{overflow-x:auto}@media(max-width:50em){body{margin:1em auto}.f,.f tbody,\
.f tr,.f td{display:block}.f th{display:none}.f tr{border-bottom:2px solid #8c959f;\
padding:.5em 0}.f td{border:0;padding:.15em 0}.f td:before{content:attr(title);display:block;\
font-weight:600}}";

/// Colours of the groups, in their order: told apart by colour-blind readers too (Okabe and Ito's
/// palette, in two strengths).
const COLOURS: [&str; 16] = [
    "#0072b2", "#56b4e9", "#80c4ee", "#a8d5f2", "#009e73", "#000000", "#d55e00", "#e69f00",
    "#f0e442", "#cc79a7", "#b8860b", "#bbbbbb", "#8c564b", "#c49c94", "#999999", "#444444",
];

/// Returns the report as an HTML page.
#[must_use]
pub fn html(verdict: &Verdict) -> String {
    let mut body = format!("<h1>{}</h1>\n", escape(&verdict.sentence));
    let server = &verdict.server;
    let _ = writeln!(body, "<p>{}: {}</p>", escape(&server.name), escape(&server.version));
    if verdict.window.windows > 0 {
        for fact in facts(verdict) {
            let _ = writeln!(body, "<p>{}</p>", escape(&fact));
        }
        put_bar(&mut body, verdict);
    }
    put_findings(&mut body, verdict);
    put_statements(&mut body, verdict);
    put_list(&mut body, "Ruled out", &ruled_out(verdict));
    put_list(&mut body, "Warnings", &verdict.warnings);
    put_parts(&mut body, verdict);
    format!(
        "<!DOCTYPE html>\n<html lang=\"en\"><head><meta charset=\"utf-8\">\
         <meta name=\"viewport\" content=\"width=device-width\">\
         <title>clearway diagnose: {}</title><style>{STYLE}</style></head>\n\
         <body>\n{body}</body></html>\n",
        escape(&server.name)
    )
}

fn put_bar(body: &mut String, verdict: &Verdict) {
    let bar = verdict.window.bar();
    body.push_str(
        "<h2>Where the time goes</h2>\n<svg viewBox=\"0 0 1000 30\" \
        preserveAspectRatio=\"none\" role=\"img\" aria-label=\"Shares of time\">",
    );
    let mut left = 0;
    for (group, tenths) in &bar {
        let colour = colour(*group);
        let _ = write!(
            body,
            "<rect x=\"{left}\" width=\"{tenths}\" height=\"30\" fill=\"{colour}\">\
             <title>{}</title></rect>",
            group.name()
        );
        left += tenths;
    }
    body.push_str("</svg>\n<table>");
    for (group, tenths) in &bar {
        let _ = write!(
            body,
            "<tr><td><svg style=\"width:1em;height:1em\"><rect width=\"100%\" height=\"100%\" \
             fill=\"{}\"/></svg> {}</td><td class=\"n\">{}.{} %</td></tr>",
            colour(*group),
            group.name(),
            tenths / 10,
            tenths % 10
        );
    }
    body.push_str("</table>\n");
}

fn put_findings(body: &mut String, verdict: &Verdict) {
    let lines = lines(verdict);
    if lines.is_empty() {
        return;
    }
    let heads =
        ["Priority", "Group", "Finding", "Impact", "Evidence", "What to do", "How to check"];
    body.push_str("<h2>Findings</h2>\n<table class=\"f\"><tr>");
    for head in heads {
        let _ = write!(body, "<th>{head}</th>");
    }
    body.push_str("</tr>\n");
    for line in lines {
        let cells = [
            line.priority.to_string(),
            escape(line.group),
            escape(&line.finding),
            escape(&line.impact),
            format!("<code>{}</code>", escape(line.evidence)),
            escape(line.advice),
            escape(line.check),
        ];
        // A narrow page shows cells below each other, each under its title.
        body.push_str("<tr>");
        for (head, cell) in heads.iter().zip(cells) {
            let _ = write!(body, "<td title=\"{head}\">{cell}</td>");
        }
        body.push_str("</tr>\n");
    }
    body.push_str("</table>\n");
}

fn put_statements(body: &mut String, verdict: &Verdict) {
    let statements = statements(verdict);
    if statements.is_empty() {
        return;
    }
    body.push_str("<h2>Statements that use most CPU time</h2>\n<div class=\"w\"><table><tr>");
    for (place, head) in STATEMENT_HEADS.iter().enumerate() {
        let class = if place < 5 { " class=\"n\"" } else { "" };
        let _ = write!(body, "<th{class}>{}</th>", head.replace('_', " "));
    }
    body.push_str("</tr>\n");
    for statement in statements {
        let [numbers @ .., place, text] = statement;
        body.push_str("<tr>");
        for number in numbers {
            let _ = write!(body, "<td class=\"n\">{}</td>", escape(&number));
        }
        let (place, text) = (escape(&place), escape(&text));
        let _ = writeln!(body, "<td>{place}</td><td><code>{text}</code></td></tr>");
    }
    body.push_str("</table></div>\n");
}

fn put_list(body: &mut String, title: &str, lines: &[String]) {
    if lines.is_empty() {
        return;
    }
    let _ = write!(body, "<h2>{title}</h2>\n<ul>");
    for line in lines {
        let _ = write!(body, "<li>{}</li>", escape(line));
    }
    body.push_str("</ul>\n");
}

fn put_parts(body: &mut String, verdict: &Verdict) {
    if verdict.window.parts.is_empty() {
        return;
    }
    body.push_str(
        "<h2>The time vector</h2>\n<div class=\"w\"><table><tr><th>Category</th><th>Name</th>\
         <th class=\"n\">s/s</th><th class=\"n\">us per request</th>\
         <th class=\"n\">95 % interval</th></tr>\n",
    );
    for part in &verdict.window.parts {
        let us = &part.per_request;
        let _ = writeln!(
            body,
            "<tr><td>{}</td><td>{}</td><td class=\"n\">{:.3}</td><td class=\"n\">{}</td>\
             <td class=\"n\">{} to {}</td></tr>",
            part.category.name(),
            escape(&part.name),
            part.active,
            number(us.mean),
            number(us.low),
            number(us.high)
        );
    }
    body.push_str("</table></div>\n");
}

fn colour(group: Group) -> &'static str {
    COLOURS[group as usize]
}

fn escape(text: &str) -> String {
    text.replace('&', "&amp;").replace('<', "&lt;").replace('>', "&gt;").replace('"', "&quot;")
}
