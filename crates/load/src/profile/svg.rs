//! A flame graph in one SVG file that any browser shows: innermost functions at the top, as wide as
//! their share of the whole. A click zooms, a search highlights.
//!
//! Compared with another profile, a function whose share has grown is red, one whose share has
//! shrunk blue. Functions that only the other profile has are not drawn, because they have no width
//! here.

use std::collections::BTreeMap;
use std::fmt::Write;

use super::tree::Node;

const WIDTH: f64 = 1200.0;
const MARGIN: f64 = 10.0;
const ROW: f64 = 16.0;
const HEAD: f64 = 64.0;
const FOOT: f64 = 24.0;
/// A function with a smaller share of the whole is left out.
const PART_MIN: f64 = 0.0001;

/// Unit, totals and height of the whole picture.
#[derive(Clone, Copy, Debug)]
struct Paper<'a> {
    unit: &'a str,
    total: u64,
    base_total: u64,
    height: f64,
}

/// Draws folded stacks, compared with `base` if there is one.
#[must_use]
pub fn flame_graph(
    title: &str,
    unit: &str,
    folds: &BTreeMap<String, u64>,
    base: Option<&BTreeMap<String, u64>>,
) -> String {
    let root = Node::of(folds, base);
    let weight_min = rounded(root.weight as f64 * PART_MIN).max(1);
    let rows = root.depth(weight_min) + 1;
    let height = HEAD + FOOT + rows as f64 * ROW;
    let paper = Paper { unit, total: root.weight, base_total: root.base, height };
    let mut svg = head(title, height);
    draw(&mut svg, &paper, "all", &root, (0, 0), weight_min);
    svg.push_str("</g>\n</svg>\n");
    svg
}

fn head(title: &str, height: f64) -> String {
    let middle = WIDTH / 2.0;
    let (left, right) = (MARGIN, WIDTH - MARGIN);
    let bottom = height - 8.0;
    format!(
        "<?xml version=\"1.0\" standalone=\"no\"?>\n\
         <svg xmlns=\"http://www.w3.org/2000/svg\" version=\"1.1\" width=\"{WIDTH}\" \
         height=\"{height}\" viewBox=\"0 0 {WIDTH} {height}\" onload=\"start()\">\n\
         <style>text {{ font: 12px monospace; fill: #111 }} #title {{ font-size: 16px; \
         text-anchor: middle }} .key {{ cursor: pointer; fill: #555 }} .f {{ cursor: pointer }} \
         .f:hover rect {{ stroke: #000; stroke-width: 0.5 }} .far {{ opacity: 0.45 }} \
         .out {{ display: none }} #found {{ text-anchor: end }}</style>\n\
         <script><![CDATA[{SCRIPT}]]></script>\n\
         <rect width=\"100%\" height=\"100%\" fill=\"#f8f6ee\"/>\n\
         <text id=\"title\" x=\"{middle}\" y=\"24\">{title}</text>\n\
         <text id=\"reset\" class=\"key out\" x=\"{left}\" y=\"44\" onclick=\"reset()\">reset zoom</text>\n\
         <text id=\"search\" class=\"key\" x=\"{right}\" y=\"24\" text-anchor=\"end\" \
         onclick=\"ask()\">search</text>\n\
         <text id=\"found\" x=\"{right}\" y=\"44\"> </text>\n\
         <text id=\"detail\" x=\"{left}\" y=\"{bottom}\"> </text>\n<g id=\"frames\">\n",
        title = escaped(title),
    )
}

/// Draws a function and what it calls; `place` is the weight to the left of it, and its row.
fn draw(
    svg: &mut String,
    paper: &Paper<'_>,
    name: &str,
    node: &Node,
    (left, row): (u64, u16),
    weight_min: u64,
) {
    let part = |weight: u64| weight as f64 / paper.total.max(1) as f64;
    let (x, width) = (part(left), part(node.weight));
    let scale = WIDTH - 2.0 * MARGIN;
    let y = paper.height - FOOT - f64::from(row + 1) * ROW;
    let change = (paper.base_total > 0).then(|| width - node.base as f64 / paper.base_total as f64);
    let told = change.map_or(String::new(), |change| format!(", {:+.2} points", change * 100.0));
    let detail = format!("{name} ({} {}, {:.2} %{told})", node.weight, paper.unit, width * 100.0);
    // Writing to a String cannot fail.
    let _ = writeln!(
        svg,
        "<g class=\"f\" data-x=\"{x:.7}\" data-w=\"{width:.7}\" data-n=\"{name}\"><title>{detail}</title>\
         <rect x=\"{rx:.2}\" y=\"{y}\" width=\"{rw:.2}\" height=\"{h}\" rx=\"1\" fill=\"{fill}\"/>\
         <text x=\"{tx:.2}\" y=\"{ty}\">{shown}</text></g>",
        name = escaped(name),
        detail = escaped(&detail),
        rx = MARGIN + x * scale,
        rw = width * scale,
        h = ROW - 1.0,
        fill = change.map_or_else(|| colour(name), changed),
        tx = MARGIN + x * scale + 3.0,
        ty = y + ROW - 4.0,
        shown = escaped(&fitted(name, width * scale)),
    );
    let mut left = left;
    for (name, child) in &node.children {
        if child.weight >= weight_min {
            draw(svg, paper, name, child, (left, row + 1), weight_min);
        }
        left += child.weight;
    }
}

/// Returns as much of a name as fits the width.
fn fitted(name: &str, width: f64) -> String {
    const LETTER: f64 = 7.3;
    let letters = usize::try_from(rounded((width - 6.0).max(0.0) / LETTER)).unwrap_or(0);
    match name.chars().count() {
        _ if letters < 3 => String::new(),
        count if count <= letters => name.to_owned(),
        _ => name.chars().take(letters - 2).chain("..".chars()).collect(),
    }
}

/// Returns a warm colour chosen by the function's crate, so that neighbours of one crate look
/// alike.
fn colour(name: &str) -> String {
    let name = name.trim_start_matches(['<', '&', '[', '{']);
    let of_crate = name.split("::").next().unwrap_or(name);
    let step = |hash: u32, byte: u8| (hash ^ u32::from(byte)).wrapping_mul(0x0100_0193);
    let hash = of_crate.bytes().fold(0x811c_9dc5, step);
    format!("hsl({},{}%,{}%)", hash % 60, 65 + hash / 60 % 25, 62 + hash / 1500 % 12)
}

/// Returns red for a larger share, blue for a smaller one; full colour at five percentage points.
fn changed(change: f64) -> String {
    const FULL: f64 = 0.05;
    let strength = (change.abs() / FULL).min(1.0).sqrt();
    let fade = 240.0 - 170.0 * strength;
    match change {
        _ if change.abs() < 0.0005 => "rgb(235,232,225)".to_owned(),
        more if more > 0.0 => format!("rgb(240,{fade:.0},{fade:.0})"),
        _ => format!("rgb({fade:.0},{fade:.0},240)"),
    }
}

fn escaped(text: &str) -> String {
    let mut escaped = String::with_capacity(text.len());
    for letter in text.chars() {
        match letter {
            '&' => escaped.push_str("&amp;"),
            '<' => escaped.push_str("&lt;"),
            '>' => escaped.push_str("&gt;"),
            '"' => escaped.push_str("&quot;"),
            control if control.is_control() => escaped.push(' '),
            other => escaped.push(other),
        }
    }
    escaped
}

fn rounded(value: f64) -> u64 {
    #[expect(
        clippy::cast_possible_truncation,
        clippy::cast_sign_loss,
        reason = "a float becomes the nearest number that fits"
    )]
    let rounded = value.round() as u64;
    rounded
}

/// The picture's script: zoom and search, in the browser alone.
const SCRIPT: &str = include_str!("flame.js");
