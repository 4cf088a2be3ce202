//! Reports as one HTML file without external resources: tables, and charts as SVG.

use std::fmt::Write;

/// Returns a text escaped for HTML.
pub fn escape(text: &str) -> String {
    text.replace('&', "&amp;").replace('<', "&lt;").replace('>', "&gt;").replace('"', "&quot;")
}

/// Returns a whole page around `body`.
pub fn page(title: &str, body: &str) -> String {
    let title = escape(title);
    format!(
        "<!DOCTYPE html>\n<html lang=\"en\"><head><meta charset=\"utf-8\"><title>{title}</title><style>\n\
         body{{font:15px/1.5 system-ui,sans-serif;max-width:72em;margin:2em auto;padding:0 1em;color:#1b1f24}}\n\
         h1{{font-size:1.5em}}h2{{font-size:1.15em;margin-top:2em}}table{{border-collapse:collapse;margin:.7em 0}}\n\
         th,td{{padding:.15em .8em;border-bottom:1px solid #d8dee4;text-align:right;font-variant-numeric:tabular-nums}}\n\
         th:first-child,td:first-child{{text-align:left}}svg{{max-width:100%;height:auto}}\n\
         .warn{{background:#fff8c5;padding:.5em 1em}}.charts{{display:flex;flex-wrap:wrap;gap:1em}}\n\
         </style></head><body>\n<h1>{title}</h1>\n{body}</body></html>\n"
    )
}

/// Returns a table; the first column is text, the others are numbers.
pub fn table(heads: &[&str], rows: &[Vec<String>]) -> String {
    let mut out = String::from("<table><tr>");
    for head in heads {
        // Writing to a String cannot fail.
        let _ = write!(out, "<th>{}</th>", escape(head));
    }
    out.push_str("</tr>\n");
    for row in rows {
        out.push_str("<tr>");
        for cell in row {
            let _ = write!(out, "<td>{}</td>", escape(cell));
        }
        out.push_str("</tr>\n");
    }
    out.push_str("</table>\n");
    out
}

/// How a series of points is drawn.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Style {
    /// A line through the points.
    Line,
    /// A dot for each point.
    Dots,
}

/// A named series of points.
#[derive(Clone, Debug)]
pub struct Series {
    /// Its name in the legend.
    pub name: String,
    /// How the points are drawn.
    pub style: Style,
    /// The points: x and y.
    pub points: Vec<(f64, f64)>,
}

/// A chart whose axes begin at zero.
#[derive(Clone, Debug)]
pub struct Chart<'a> {
    /// The heading above the chart.
    pub title: &'a str,
    /// The label of the horizontal axis.
    pub across: &'a str,
    /// The series, drawn over each other.
    pub series: Vec<Series>,
}

const WIDTH: f64 = 560.0;
const HEIGHT: f64 = 300.0;
const LEFT: f64 = 70.0;
const BOTTOM: f64 = 40.0;
const TOP: f64 = 46.0;
const RIGHT: f64 = 14.0;
const COLORS: [&str; 6] = ["#0969da", "#cf222e", "#1a7f37", "#8250df", "#bc4c00", "#57606a"];

impl Chart<'_> {
    /// Returns the chart as SVG; empty if there are no points.
    pub fn svg(&self) -> String {
        let points = || self.series.iter().flat_map(|series| series.points.iter().copied());
        if points().next().is_none() {
            return String::new();
        }
        let most = |of: &dyn Fn((f64, f64)) -> f64| points().map(of).fold(0.0, f64::max);
        let (x_end, y_end) = (round_up(most(&|point| point.0)), round_up(most(&|point| point.1)));
        let place = |(x, y): (f64, f64)| {
            let across = LEFT + x / x_end * (WIDTH - LEFT - RIGHT);
            (across, HEIGHT - BOTTOM - y / y_end * (HEIGHT - BOTTOM - TOP))
        };
        let mut out = format!(
            "<svg viewBox=\"0 0 {WIDTH} {HEIGHT}\" width=\"{WIDTH}\" font-family=\"system-ui,sans-serif\" \
             font-size=\"11\"><text x=\"{LEFT}\" y=\"14\" font-size=\"13\" font-weight=\"600\">{}</text>\n",
            escape(self.title)
        );
        put_grid(&mut out, self.across, x_end, y_end, &place);
        for (index, series) in self.series.iter().enumerate() {
            put_series(&mut out, index, series, &place);
        }
        out.push_str("</svg>\n");
        out
    }
}

fn put_grid(
    out: &mut String,
    across: &str,
    x_end: f64,
    y_end: f64,
    place: &dyn Fn((f64, f64)) -> (f64, f64),
) {
    for step in 0..=4_u8 {
        let share = f64::from(step) / 4.0;
        let (right, y) = place((x_end, y_end * share));
        let (x, bottom) = place((x_end * share, 0.0));
        let _ = writeln!(
            out,
            "<line x1=\"{LEFT}\" y1=\"{y:.1}\" x2=\"{right:.1}\" y2=\"{y:.1}\" stroke=\"#d8dee4\"/>\
             <text x=\"{:.1}\" y=\"{:.1}\" text-anchor=\"end\">{}</text>\
             <text x=\"{x:.1}\" y=\"{:.1}\" text-anchor=\"middle\">{}</text>",
            LEFT - 6.0,
            y + 4.0,
            short(y_end * share),
            bottom + 15.0,
            short(x_end * share)
        );
    }
    let _ = writeln!(
        out,
        "<text x=\"{}\" y=\"{}\" text-anchor=\"end\">{}</text>",
        WIDTH - RIGHT,
        HEIGHT - 6.0,
        escape(across)
    );
}

fn put_series(
    out: &mut String,
    index: usize,
    series: &Series,
    place: &dyn Fn((f64, f64)) -> (f64, f64),
) {
    let color = COLORS[index % COLORS.len()];
    let spots: Vec<(f64, f64)> = series.points.iter().map(|point| place(*point)).collect();
    match series.style {
        Style::Line => {
            let text: Vec<String> = spots.iter().map(|(x, y)| format!("{x:.1},{y:.1}")).collect();
            let _ = writeln!(
                out,
                "<polyline fill=\"none\" stroke=\"{color}\" stroke-width=\"1.8\" points=\"{}\"/>",
                text.join(" ")
            );
        }
        Style::Dots => spots.iter().for_each(|(x, y)| {
            let _ =
                writeln!(out, "<circle cx=\"{x:.1}\" cy=\"{y:.1}\" r=\"3.5\" fill=\"{color}\"/>");
        }),
    }
    let x = LEFT + 120.0 * f64::from(u8::try_from(index).unwrap_or(u8::MAX));
    let _ = writeln!(
        out,
        "<rect x=\"{x}\" y=\"24\" width=\"10\" height=\"10\" fill=\"{color}\"/><text x=\"{}\" y=\"33\">{}</text>",
        x + 14.0,
        escape(&series.name)
    );
}

/// Returns the next larger number of 1, 2, 2.5, 4, 5, 8 times a power of ten.
fn round_up(value: f64) -> f64 {
    if value <= 0.0 || !value.is_finite() {
        return 1.0;
    }
    let power = 10_f64.powf(value.log10().floor());
    let steps = [1.0, 2.0, 2.5, 4.0, 5.0, 8.0, 10.0];
    steps.into_iter().map(|step| step * power).find(|end| *end >= value).unwrap_or(value)
}

/// Formats a number in few characters.
pub fn short(value: f64) -> String {
    match value.abs() {
        size if size >= 1e9 => format!("{}G", trimmed(value / 1e9)),
        size if size >= 1e6 => format!("{}M", trimmed(value / 1e6)),
        size if size >= 1e4 => format!("{}k", trimmed(value / 1e3)),
        _ => trimmed(value),
    }
}

fn trimmed(value: f64) -> String {
    let text = if value.abs() >= 100.0 { format!("{value:.0}") } else { format!("{value:.3}") };
    if text.contains('.') {
        return text.trim_end_matches('0').trim_end_matches('.').to_owned();
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_chart_holds_its_points_and_nothing_from_outside() {
        let points = vec![(0.0, 1.0), (10.0, 900.0)];
        let series = vec![Series { name: "a<b".to_owned(), style: Style::Line, points }];
        let page = page("t & t", &Chart { title: "x", across: "s", series }.svg());
        assert!(page.contains("a&lt;b") && page.contains("t &amp; t") && page.contains("polyline"));
        assert!(!page.contains("http"), "nothing is fetched");
        assert_eq!(round_up(900.0), 1_000.0);
        assert_eq!((short(12_500.0).as_str(), short(0.25).as_str()), ("12.5k", "0.25"));
        assert_eq!(Chart { title: "", across: "", series: Vec::new() }.svg(), "");
    }
}
