//! Draws a list: headings, rows, the selected one reversed.

use ratatui::buffer::Buffer;
use ratatui::layout::Rect;

use super::put;
use crate::table::{Column, Keyed, Table, fit};
use crate::theme::{bold, dim, reversed};

/// Draws the rows that pass the filter; `nothing` is shown if there are none at all.
pub(super) fn draw<T: Keyed>(
    buffer: &mut Buffer,
    area: Rect,
    rows: &[T],
    columns: &[Column<T>],
    table: &mut Table,
    nothing: &str,
) {
    draw_rows(buffer, area, rows, columns, (table, true), nothing);
}

/// As [`draw`]; the second of `table` is whether the selected row is marked.
pub(super) fn draw_rows<T: Keyed>(
    buffer: &mut Buffer,
    area: Rect,
    rows: &[T],
    columns: &[Column<T>],
    (table, is_active): (&mut Table, bool),
    nothing: &str,
) {
    let layout = table.layout(columns, area.width);
    let mut x = area.x;
    for (index, width) in &layout {
        let column = &columns[*index];
        let mark = match (table.sort == *index, table.is_reversed) {
            (false, _) => "",
            (true, false) => "*",
            (true, true) => "^",
        };
        let name = format!("{}{mark}", column.name);
        let style = if mark.is_empty() { bold() } else { reversed() };
        buffer.set_string(x, area.y, fit(&name, *width, column.is_right), style);
        x += width + 1;
    }
    let shown = table.rows(rows, columns);
    if shown.is_empty() {
        let why = match rows.is_empty() {
            true => nothing.to_owned(),
            false => format!("No row contains '{}'. Esc clears the filter.", table.filter),
        };
        return put(buffer, area, 2, &why, dim());
    }
    let selected = table.selected(&shown);
    let lines = usize::from(area.height.saturating_sub(1));
    let window = table.window(selected, shown.len(), lines);
    for (y, index) in (area.y + 1..).zip(window) {
        let style =
            if is_active && index == selected { reversed() } else { ratatui::style::Style::new() };
        let cells = layout.iter().map(|(column, width)| {
            let column = &columns[*column];
            fit(&(column.cell)(shown[index]), *width, column.is_right)
        });
        let line = cells.collect::<Vec<_>>().join(" ");
        buffer.set_stringn(area.x, y, &line, usize::from(area.width), style);
    }
}
