//! Draws the blocking tree and, below it, the locks.

use ratatui::buffer::Buffer;
use ratatui::layout::Rect;
use ratatui::style::Style;

use super::{list, put};
use crate::app::App;
use crate::format::clean;
use crate::lock;
use crate::request::Branch;
use crate::table::fit;
use crate::theme::{bold, dim, reversed};

pub(super) fn draw(app: &mut App, buffer: &mut Buffer, area: Rect) {
    let branches = app.branches();
    let lines = u16::try_from(branches.len().max(1)).unwrap_or(u16::MAX);
    let height = (lines + 1).min(area.height / 2);
    let upper = Rect { height, ..area };
    let lower = Rect { y: area.y + height + 1, height: area.height - height - 1, ..area };
    draw_tree(app, buffer, upper, &branches);
    let rows = app.shown().locks.clone();
    let is_active = !app.is_tree_active;
    let nothing = "No locks are held, other than those of databases.";
    list::draw_rows(buffer, lower, &rows, lock::COLUMNS, (&mut app.locks, is_active), nothing);
}

fn draw_tree(app: &mut App, buffer: &mut Buffer, area: Rect, branches: &[Branch]) {
    let head = cells(["Blocking tree", "Status", "Wait", "Text"], area.width);
    put(buffer, area, 0, &head, bold());
    if branches.is_empty() {
        return put(buffer, area, 1, "No session waits for another one.", dim());
    }
    let rows: Vec<&Branch> = branches.iter().collect();
    let selected = app.tree.selected(&rows);
    let window = app.tree.window(selected, rows.len(), usize::from(area.height).saturating_sub(1));
    for (y, index) in (1..).zip(window) {
        let is_selected = app.is_tree_active && index == selected;
        let style = if is_selected { reversed() } else { Style::new() };
        put(buffer, area, y, &line(rows[index], area.width), style);
    }
}

fn line(branch: &Branch, width: u16) -> String {
    let mark = if branch.depth == 0 { "" } else { "└ " };
    let place = format!("{}{mark}{}", "  ".repeat(branch.depth.saturating_sub(1)), branch.session);
    let (status, wait, text) = match &branch.request {
        Some(request) => (request.status.clone(), request.wait(), clean(&request.text)),
        None => ("not listed".to_owned(), String::new(), String::new()),
    };
    cells([&place, &status, &wait, &text], width)
}

/// Joins the cells of a line of the tree. The first one is indented.
fn cells(texts: [&str; 4], width: u16) -> String {
    let widths = [16, 9, 22, width.saturating_sub(16 + 9 + 22 + 3)];
    let indent = texts[0].chars().take_while(|character| *character == ' ').count();
    let mut cells: Vec<String> =
        texts.iter().zip(widths).map(|(text, width)| fit(text, width, false)).collect();
    cells[0] = fit_indented(indent, &cells[0]);
    cells.join(" ")
}

/// Moves a cell to the right, as far as it stays as wide as it is.
fn fit_indented(indent: usize, cell: &str) -> String {
    let width = cell.chars().count();
    " ".repeat(indent).chars().chain(cell.chars()).take(width).collect()
}
