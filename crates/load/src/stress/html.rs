//! The report as one HTML file: throughput and latencies over time and over connections, the
//! scalability law's fit with its residuals, and the server's counters beside the client's.

use super::report::{Level, Report, users};
use crate::html::{Chart, Series, Style, escape, page, table};

/// Most counters shown of each group.
const COUNTERS_MAX: usize = 12;

/// Returns the whole report as HTML.
pub(super) fn render(report: &Report<'_>) -> String {
    let mut body = String::new();
    let facts: Vec<_> =
        report.facts.iter().map(|(name, value)| vec![name.clone(), value.clone()]).collect();
    body.push_str(&table(&["", ""], &facts));
    if report.levels.len() > 1 {
        put_sweep(&mut body, report);
    }
    for level in &report.levels {
        put_level(&mut body, report, level);
    }
    body.push_str("<h2>As text</h2><pre>");
    body.push_str(&escape(&report.text()));
    body.push_str("</pre>\n");
    page("Clearway stress", &body)
}

fn put_sweep(body: &mut String, report: &Report<'_>) {
    body.push_str("<h2>Over connections</h2><div class=\"charts\">");
    let of = |y: &dyn Fn(&Level) -> f64| -> Vec<(f64, f64)> {
        report.levels.iter().map(|level| (users(level), y(level))).collect()
    };
    let dots = |name: &str, points| Series { name: name.to_owned(), style: Style::Dots, points };
    let mut rates = vec![dots("measured", of(&|level| level.tally.rate()))];
    if let Some(usl) = report.usl() {
        let end = report.levels.iter().map(users).fold(1.0, f64::max);
        let law = |step: u8| {
            let at = 1.0 + (end - 1.0) * f64::from(step) / 60.0;
            (at, usl.throughput(at))
        };
        let points = (0..=60).map(law).collect();
        rates.push(Series { name: "the law".to_owned(), style: Style::Line, points });
        let residual = |level: &Level| {
            let law = usl.throughput(users(level)).max(f64::MIN_POSITIVE);
            ((level.tally.rate() - law) / law * 100.0).abs()
        };
        let residuals = vec![dots("size of the residual, %", of(&residual))];
        let chart = Chart {
            title: "Residuals of the scalability law",
            across: "connections",
            series: residuals,
        };
        body.push_str(&chart.svg());
    }
    body.push_str(
        &Chart { title: "Requests per second", across: "connections", series: rates }.svg(),
    );
    let latency = |share: f64| {
        move |level: &Level| milliseconds(level.tally.latencies.value_at_quantile(share))
    };
    let series = [("p50", 0.5), ("p99", 0.99), ("p99.9", 0.999)];
    let series = series.map(|(name, share)| Series {
        name: name.to_owned(),
        style: Style::Line,
        points: of(&latency(share)),
    });
    body.push_str(
        &Chart { title: "Latency, ms", across: "connections", series: series.into() }.svg(),
    );
    body.push_str("</div>\n");
}

fn put_level(body: &mut String, report: &Report<'_>, level: &Level) {
    let tally = &level.tally;
    body.push_str(&format!("<h2>{} connections</h2>\n", level.connections));
    if tally.is_bottleneck() {
        body.push_str(
            "<p class=\"warn\">This tool was the bottleneck: the server can do more than is shown.</p>\n",
        );
    }
    if let Some(rate) = report.per_minute(tally) {
        let note = escape(super::tpcc::NOT_AUDITED);
        body.push_str(&format!("<p>New-Orders per minute: <b>{rate:.1}</b>. {note}</p>\n"));
    }
    body.push_str("<div class=\"charts\">");
    let seconds = |y: &dyn Fn(&super::Second) -> f64| -> Vec<(f64, f64)> {
        tally.seconds.iter().map(|second| (milliseconds(second.at_ns) / 1e3, y(second))).collect()
    };
    let line = |name: &str, points| Series { name: name.to_owned(), style: Style::Line, points };
    let rates = vec![line("requests/s", seconds(&super::Second::rate))];
    body.push_str(&Chart { title: "Requests per second", across: "seconds", series: rates }.svg());
    let latencies = vec![
        line("p50", seconds(&|second| milliseconds(second.p50_ns))),
        line("p99", seconds(&|second| milliseconds(second.p99_ns))),
    ];
    body.push_str(&Chart { title: "Latency, ms", across: "seconds", series: latencies }.svg());
    body.push_str("</div>\n");
    put_shares(body, report, level);
    if let Some(server) = &level.server {
        body.push_str("<h3>Counters of the server during the run</h3>\n");
        for (group, rows) in server.largest(COUNTERS_MAX) {
            let rows: Vec<_> =
                rows.into_iter().map(|(name, n)| vec![name, n.to_string()]).collect();
            body.push_str(&table(&[group, ""], &rows));
        }
    }
}

fn put_shares(body: &mut String, report: &Report<'_>, level: &Level) {
    const SHARES: [(&str, f64); 5] =
        [("p50", 0.5), ("p90", 0.9), ("p99", 0.99), ("p99.9", 0.999), ("max", 1.0)];
    let heads: Vec<&str> =
        ["latency, ms", "requests"].into_iter().chain(SHARES.map(|s| s.0)).collect();
    let row = |name: &str, latencies: &hdrhistogram::Histogram<u64>| {
        let shares = SHARES.iter().map(|(_, share)| match latencies.is_empty() {
            true => String::new(),
            false => format!("{:.3}", milliseconds(latencies.value_at_quantile(*share))),
        });
        [name.to_owned(), latencies.len().to_string()].into_iter().chain(shares).collect()
    };
    let mut rows: Vec<Vec<String>> = vec![row("all", &level.tally.latencies)];
    if report.is_open {
        rows.push(row("all, as a closed loop would report it", &level.tally.service));
    }
    for (kind, latencies) in report.work.kinds().iter().zip(&level.tally.kinds) {
        rows.push(row(&kind.name, latencies));
    }
    rows.push(row("logins", &level.tally.logins));
    body.push_str(&table(&heads, &rows));
}

#[expect(clippy::cast_precision_loss, reason = "a figure is for readers")]
fn milliseconds(ns: u64) -> f64 {
    ns as f64 / 1e6
}
