//! Drawing: the lines around each screen, and what covers it.

mod list;
mod locks;
mod overlay;
mod time;

use ratatui::Frame;
use ratatui::buffer::Buffer;
use ratatui::layout::Rect;
use ratatui::style::Style;

use crate::app::{App, Overlay, Screen};
use crate::format::{clean, duration};
use crate::theme::{bold, dim, reversed};
use crate::{request, statement};

/// Lines above and below a screen.
const HEAD_LINES: u16 = 2;
const FOOT_LINES: u16 = 2;

impl App {
    /// Draws the whole screen into a frame.
    pub fn draw(&mut self, frame: &mut Frame<'_>) {
        let area = frame.area();
        let buffer = frame.buffer_mut();
        if area.height <= HEAD_LINES + FOOT_LINES || area.width < 20 {
            put(buffer, area, 0, "The terminal is too small.", Style::new());
            return;
        }
        self.draw_head(buffer, area);
        let lines = area.height - HEAD_LINES - FOOT_LINES;
        let body = Rect { y: area.y + HEAD_LINES, height: lines, ..area };
        self.draw_body(buffer, body);
        let foot = Rect { y: area.y + area.height - FOOT_LINES, height: FOOT_LINES, ..area };
        self.draw_foot(buffer, foot);
    }

    fn draw_body(&mut self, buffer: &mut Buffer, area: Rect) {
        match &self.overlay {
            Overlay::Help => return overlay::help(buffer, area),
            Overlay::Plan(plan) => return overlay::plan(buffer, area, plan),
            Overlay::None | Overlay::Filter | Overlay::Kill(_) => {}
        }
        match self.screen {
            Screen::Time => time::draw(self, buffer, area),
            Screen::Requests => {
                let rows = self.shown().requests.clone();
                let nothing = "No requests are running, and no session has an open transaction.";
                list::draw(buffer, area, &rows, request::COLUMNS, &mut self.requests, nothing);
            }
            Screen::Statements => {
                let shown = self.shown().statements.shown().map(<[_]>::to_vec);
                let nothing = match shown {
                    Some(_) => "No statement ended since the last refresh.",
                    None => "Rates are shown after the second reading.",
                };
                let rows = shown.unwrap_or_default();
                list::draw(buffer, area, &rows, statement::COLUMNS, &mut self.statements, nothing);
            }
            Screen::Locks => locks::draw(self, buffer, area),
        }
    }

    fn draw_head(&self, buffer: &mut Buffer, area: Rect) {
        let mut head = format!("clearway top  {}  {}", self.server, self.product);
        if let Some(clock) = self.shown().history.clock() {
            let up = duration(clock.up_seconds.saturating_mul(1_000));
            let up = up.split('.').next().unwrap_or_default();
            let word = if clock.schedulers == 1 { "scheduler" } else { "schedulers" };
            head += &format!("  up {up}  {} {word}", clock.schedulers);
        }
        put(buffer, area, 0, &head, bold());
        let mut x = area.x;
        for (index, screen) in Screen::ALL.into_iter().enumerate() {
            let style = if screen == self.screen { reversed() } else { Style::new() };
            let tab = format!(" {} {} ", index + 1, screen.name());
            x = buffer.set_stringn(x, area.y + 1, &tab, usize::from(area.right() - x), style).0;
        }
        let time = self.shown().history.clock().map_or("", |clock| &clock.time);
        let frozen = if self.is_frozen() { "FROZEN at " } else { "" };
        let state = format!("{frozen}{time}");
        let interval = match self.interval_ms {
            ms if ms % 1_000 == 0 => format!("{state}  every {} s", ms / 1_000),
            ms => format!("{state}  every 0.{} s", ms / 100),
        };
        let width = u16::try_from(interval.len()).unwrap_or(0);
        if area.right() > x + width {
            let style = if self.is_frozen() { self.theme.alarm() } else { dim() };
            buffer.set_string(area.right() - width, area.y + 1, &interval, style);
        }
    }

    fn draw_foot(&self, buffer: &mut Buffer, area: Rect) {
        let (line, style) = match (&self.overlay, &self.away) {
            (Overlay::Kill(session), _) => (self.kill_question(*session), self.theme.alarm()),
            (_, _) if !self.message.is_empty() => (clean(&self.message), bold()),
            (_, Some(why)) => {
                (format!("The server is away ({}); trying again.", clean(why)), self.theme.alarm())
            }
            (_, None) if self.missing.is_empty() => (self.own_cost(), dim()),
            (_, None) => (format!("This server has no {}.", self.missing.join(", no ")), dim()),
        };
        put(buffer, area, 0, &line, style);
        let keys = match &self.overlay {
            Overlay::Kill(_) => "y kill it   any other key: no".to_owned(),
            Overlay::Filter => format!("Filter: {}_   Enter keep  Esc clear", self.filter()),
            Overlay::Help => "any key: back".to_owned(),
            Overlay::Plan(_) => {
                "x XML or operators  arrows, PgUp, PgDn scroll  Esc back".to_owned()
            }
            Overlay::None => match self.screen {
                Screen::Time => "1-4 screen  z zoom  f freeze  + - interval  h help  q quit",
                Screen::Requests => {
                    "1-4 screen  s r sort  / filter  k kill  p plan  f freeze  h help  q quit"
                }
                Screen::Statements => {
                    "1-4 screen  s r sort  / filter  p plan  f freeze  h help  q quit"
                }
                Screen::Locks => {
                    "1-4 screen  t tree or list  / filter  k kill  p plan  h help  q quit"
                }
            }
            .to_owned(),
        };
        put(buffer, area, 1, &keys, dim());
    }

    fn filter(&self) -> &str {
        match self.screen {
            Screen::Time | Screen::Requests => &self.requests.filter,
            Screen::Statements => &self.statements.filter,
            Screen::Locks => &self.locks.filter,
        }
    }

    /// Returns what our own session costs the server.
    fn own_cost(&self) -> String {
        let (ms, seconds) = self.shown().history.own();
        if seconds <= 0.0 {
            return String::new();
        }
        #[expect(clippy::cast_precision_loss, reason = "a share of some seconds")]
        let percent = ms as f64 / 10.0 / seconds;
        format!("This program's session: {percent:.2} % of a core on the server.")
    }
}

/// Puts a text into a line of an area, cut at its edge.
fn put(buffer: &mut Buffer, area: Rect, line: u16, text: &str, style: Style) {
    if line < area.height {
        buffer.set_stringn(area.x, area.y + line, text, usize::from(area.width), style);
    }
}
