//! Draws the help and plans.

use ratatui::buffer::Buffer;
use ratatui::layout::Rect;
use ratatui::style::Style;

use super::put;
use crate::app::Plan;
use crate::theme::bold;

const HELP: &[&str] = &[
    "1 2 3 4, Tab   screens: Time, Requests, Statements, Locks",
    "f, blank       freeze what is shown, and go on",
    "+ -            longer or shorter interval between refreshes",
    "up, down, PgUp, PgDn, Home, End   select a row",
    "left, right    other columns of a list that is wider than the screen",
    "s S            sort by the next column, by the one before (* marks it)",
    "r              reverse the order (^ marks it)",
    "/              show only rows that contain a text; Esc clears it",
    "k              kill the selected session, after a question",
    "p, Enter       plan of the selected request or statement; x shows its XML",
    "t              on Locks: select in the blocking tree or in the list",
    "z              on Time: more time in each column of the chart",
    "q, Ctrl-C      quit",
    "",
    "Time: seconds of thread time per second, by category of the ledger. The line is",
    "the number of schedulers. Idle time is below, not in the chart: it has no end.",
    "Statements: what each did per second since the last refresh; wait is elapsed",
    "time without CPU time. NO_COLOR=1 draws without colours.",
];

pub(super) fn help(buffer: &mut Buffer, area: Rect) {
    for (y, line) in (0..).zip(HELP) {
        put(buffer, area, y, line, Style::new());
    }
}

pub(super) fn plan(buffer: &mut Buffer, area: Rect, plan: &Plan) {
    let lines = plan.lines();
    let kind = if plan.is_xml { "XML" } else { "Operators" };
    let head = format!("{kind}, line {} of {}", plan.first + 1, lines.len());
    put(buffer, area, 0, &head, bold());
    for (y, line) in (1..area.height).zip(lines.iter().skip(plan.first)) {
        let line: String = crate::format::lines(line).concat().chars().skip(plan.left).collect();
        put(buffer, area, y, &line, Style::new());
    }
}
