//! Draws active time as a stack over the last minutes, and its numbers below.

use ratatui::buffer::Buffer;
use ratatui::layout::Rect;
use ratatui::style::Style;

use super::put;
use crate::app::App;
use crate::format::count;
use crate::table::fit;
use crate::theme::{Theme, bold, dim};
use crate::time::{Active, Category, Leaf, Sample};

/// Width of the numbers at the left of the chart.
const AXIS: u16 = 6;
/// Lines of the numbers: a heading and the categories.
const NUMBER_LINES: u16 = 12;
/// Width of the table of categories.
const NUMBER_WIDTH: u16 = 43;
/// Eighths of a cell, from below.
const EIGHTHS: [&str; 9] = [" ", "▁", "▂", "▃", "▄", "▅", "▆", "▇", "█"];
/// Index of idle time, which is not stacked.
const IDLE: usize = Category::Idle as usize;

pub(super) fn draw(app: &App, buffer: &mut Buffer, area: Rect) {
    let numbers = NUMBER_LINES.min(area.height);
    let chart = Rect { height: area.height - numbers, ..area };
    if chart.height >= 3 && chart.width > AXIS {
        draw_chart(app, buffer, chart);
    }
    let below = Rect { y: area.y + chart.height, height: numbers, ..area };
    draw_numbers(app, buffer, below);
    let right =
        Rect { x: area.x + NUMBER_WIDTH, width: area.width.saturating_sub(NUMBER_WIDTH), ..below };
    draw_leaves(buffer, right, app.shown().history.leaves(), app.theme);
}

/// The chart's scale and place.
struct Chart {
    /// Where the stacks are drawn.
    area: Rect,
    /// Seconds per second of the topmost line's upper edge.
    top: f64,
    theme: Theme,
}

fn draw_chart(app: &App, buffer: &mut Buffer, area: Rect) {
    let history = &app.shown().history;
    let plot = Rect { x: area.x + AXIS, width: area.width - AXIS, height: area.height - 1, ..area };
    let spans = history.spans(app.span, usize::from(plot.width));
    #[expect(clippy::cast_precision_loss, reason = "a number of schedulers is small")]
    let schedulers = history.clock().map_or(0.0, |clock| clock.schedulers as f64);
    let largest = spans.iter().flatten().map(stacked).fold(schedulers, f64::max);
    let chart = Chart { area: plot, top: nice(largest * 1.1), theme: app.theme };
    let first = plot.right() - u16::try_from(spans.len()).unwrap_or(plot.width);
    for (x, active) in (first..plot.right()).zip(&spans) {
        match active {
            Some(active) => chart.draw_stack(buffer, x, active),
            None => buffer.set_string(x, plot.bottom() - 1, "?", dim()),
        }
    }
    chart.draw_line(buffer, schedulers);
    for (line, share) in [(0, 1.0), (plot.height / 2, 0.5)] {
        let height = f64::from(plot.height);
        let value =
            if share < 1.0 { chart.top * (height - f64::from(line)) / height } else { chart.top };
        put(buffer, area, line, &fit(&format!("{value:.1} "), AXIS, true), dim());
    }
    let seconds = u64::from(plot.width) * app.span as u64 * app.interval_ms / 1_000;
    let ends =
        format!("{:<width$}now", format!("-{seconds} s"), width = usize::from(plot.width) - 3);
    put(buffer, Rect { x: plot.x, width: plot.width, ..area }, area.height - 1, &ends, dim());
}

impl Chart {
    /// Draws one column. Each cell shows the category that has most of it; the topmost cell shows
    /// in eighths how far the stack reaches.
    fn draw_stack(&self, buffer: &mut Buffer, x: u16, active: &Active) {
        let height = self.area.height;
        let cell = self.top / f64::from(height);
        let total = stacked(active);
        for line in 0..height {
            let low = cell * f64::from(line);
            let filled = ((total - low) / cell).clamp(0.0, 1.0);
            // Less than half an eighth is not drawn.
            if filled < 1.0 / 16.0 {
                break;
            }
            let category = most_between(active, low, low + cell);
            let y = self.area.bottom() - 1 - line;
            match self.theme.colour(category) {
                Some(_) => {
                    let eighth = EIGHTHS[eighths(filled)];
                    buffer.set_string(x, y, eighth, self.theme.category(category));
                }
                None if filled >= 0.5 => {
                    buffer.set_string(x, y, category.letter().to_string(), Style::new());
                }
                None => buffer.set_string(x, y, ".", Style::new()),
            }
        }
    }

    /// Draws the line at the number of schedulers, over empty cells and through full ones.
    fn draw_line(&self, buffer: &mut Buffer, schedulers: f64) {
        if schedulers <= 0.0 || schedulers > self.top {
            return;
        }
        let height = f64::from(self.area.height);
        let from_below = (schedulers / self.top * height).min(height - 1.0);
        #[expect(
            clippy::cast_possible_truncation,
            clippy::cast_sign_loss,
            reason = "within the area"
        )]
        let y = self.area.bottom() - 1 - from_below as u16;
        for x in self.area.left()..self.area.right() {
            let Some(cell) = buffer.cell_mut((x, y)) else { continue };
            let colour = cell.fg;
            match (cell.symbol(), self.theme) {
                (" ", _) => _ = cell.set_symbol("─"),
                ("█", Theme::Colour) => {
                    cell.set_symbol("─").set_bg(colour).set_fg(ratatui::style::Color::Reset);
                }
                _ => {}
            }
        }
        let label = format!("{schedulers:.0} ─");
        let label = fit(&label, AXIS - 1, true);
        buffer.set_string(self.area.x - AXIS, y, label + "─", bold());
    }
}

#[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "0 to 8")]
fn eighths(filled: f64) -> usize {
    (filled * 8.0).round() as usize
}

/// Returns the height of a stack: all time but idle time.
fn stacked(active: &Active) -> f64 {
    active[..IDLE].iter().sum()
}

/// Returns the category with the largest part between two heights of a stack.
fn most_between(active: &Active, low: f64, high: f64) -> Category {
    let mut bottom = 0.0;
    let mut most = (Category::User, 0.0);
    for (category, height) in Category::ALL.into_iter().zip(&active[..IDLE]) {
        let part = (bottom + height).min(high) - f64::max(bottom, low);
        if part > most.1 {
            most = (category, part);
        }
        bottom += height;
    }
    most.0
}

/// Returns the next number with a short name: 1, 2, 2.5, 4, 5, 8 times a power of ten.
fn nice(number: f64) -> f64 {
    let number = number.max(0.1);
    let power = 10_f64.powf(number.log10().floor());
    let steps = [1.0, 1.5, 2.0, 2.5, 3.0, 4.0, 5.0, 6.0, 8.0, 10.0];
    steps.map(|step| step * power).into_iter().find(|step| *step >= number - 1e-9).unwrap_or(number)
}

fn draw_numbers(app: &App, buffer: &mut Buffer, area: Rect) {
    let history = &app.shown().history;
    let now = history.samples().back().copied();
    let now = match now {
        Some(Sample::Known(active)) => Some(active),
        Some(Sample::Gap) | None => None,
    };
    let (means, count_of) = means(app);
    let busy = now.as_ref().map_or(0.0, stacked);
    let head = format!("  {:<19} {:>7} {:>7}", "s/s", "now", format!("mean {count_of}"));
    put(buffer, area, 0, &head, bold());
    for (line, category) in (1..).zip(Category::ALL) {
        let index = category as usize;
        let value =
            |active: Option<Active>| active.map_or("-".to_owned(), |a| format!("{:.2}", a[index]));
        let mark = match app.theme.colour(category) {
            Some(_) => "█".to_owned(),
            None => category.letter().to_string(),
        };
        put(buffer, area, line, &mark, app.theme.category(category));
        let name = Rect { x: area.x + 2, width: area.width.saturating_sub(2), ..area };
        let share = match now {
            Some(active) if index != IDLE && busy > 0.0 => {
                format!("{:>4.0}%", 100.0 * active[index] / busy)
            }
            Some(_) | None => String::new(),
        };
        let text = format!("{:<19} {:>7} {:>7}{share}", category.name(), value(now), value(means));
        put(buffer, name, line, &text, Style::new());
    }
}

/// Returns the mean of the samples of the chart without gaps, and how many there are.
fn means(app: &App) -> (Option<Active>, usize) {
    let known = app.shown().history.samples().iter().rev().take(60);
    let known: Vec<Sample> =
        known.filter(|sample| matches!(sample, Sample::Known(_))).copied().collect();
    (crate::time::mean(&known), known.len())
}

fn draw_leaves(buffer: &mut Buffer, area: Rect, leaves: &[Leaf], theme: Theme) {
    if area.width < 24 {
        return;
    }
    let width = area.width.saturating_sub(8 + 9 + 3).min(60);
    let head = format!(" {} {:>8} {:>8}", fit("Largest now", width, false), "s/s", "entries/s");
    put(buffer, area, 0, &head, bold());
    let busy = leaves.iter().filter(|leaf| leaf.category != Category::Idle);
    for (line, leaf) in (1..area.height).zip(busy) {
        let name = format!("{} {}", leaf.category.name(), leaf.name);
        let entries = if leaf.entries > 0.0 { count(leaf.entries) } else { String::new() };
        let text = format!(" {} {:>8.3} {entries:>8}", fit(&name, width, false), leaf.active);
        put(buffer, area, line, &text, Style::new());
        if theme == Theme::Colour {
            put(buffer, area, line, "▐", theme.category(leaf.category));
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn scale_ends_at_a_short_number() {
        for (number, expected) in [(0.0, 0.1), (1.0, 1.0), (2.2, 2.5), (11.0, 15.0), (97.0, 100.0)]
        {
            assert!((nice(number) - expected).abs() < 1e-9, "{number}: {}", nice(number));
        }
    }

    #[test]
    fn cell_belongs_to_the_category_with_most_of_it() {
        let mut active = Active::default();
        active[Category::User as usize] = 1.2;
        active[Category::Wait as usize] = 2.0;
        active[IDLE] = 50.0;
        assert_eq!(most_between(&active, 0.0, 1.0), Category::User);
        assert_eq!(most_between(&active, 1.0, 2.0), Category::Wait);
        assert!((stacked(&active) - 3.2).abs() < 1e-9, "idle time is not stacked");
    }
}
