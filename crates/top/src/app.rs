//! `App`: what is shown, and what keys do. It knows neither the connection nor the terminal.

use crossterm::event::{KeyCode, KeyEvent, KeyEventKind, KeyModifiers};

use crate::lock::{self, Lock};
use crate::question::Topic;
use crate::request::{self, Branch, Request, blocking_tree};
use crate::rows::Row;
use crate::showplan;
use crate::statement::{self, Statements};
use crate::table::Table;
use crate::theme::Theme;
use crate::time::History;

/// The intervals between two refreshes, in milliseconds.
const INTERVALS_MS: [u64; 7] = [500, 1_000, 2_000, 5_000, 10_000, 30_000, 60_000];
/// How many samples a column of the chart may show.
const SPANS: [usize; 5] = [1, 2, 5, 10, 30];
/// Lines that a page key moves by.
const PAGE: isize = 10;

/// What is on the screen.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Screen {
    /// Active time by category.
    Time,
    /// Requests and idle sessions with open transactions.
    Requests,
    /// Statements by what they did since the last refresh.
    Statements,
    /// The blocking tree and locks.
    Locks,
}

impl Screen {
    /// All screens, in the order of their keys.
    pub const ALL: [Self; 4] = [Self::Time, Self::Requests, Self::Statements, Self::Locks];

    /// Returns the name on its tab.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::Time => "Time",
            Self::Requests => "Requests",
            Self::Statements => "Statements",
            Self::Locks => "Locks",
        }
    }

    /// Returns the topics that it shows, beside time.
    #[must_use]
    pub const fn topics(self) -> &'static [Topic] {
        match self {
            Self::Time => &[],
            Self::Requests => &[Topic::Requests],
            Self::Statements => &[Topic::Statements],
            Self::Locks => &[Topic::Requests, Topic::Locks],
        }
    }
}

/// What covers the screen, or waits for an answer.
#[derive(Clone, Debug, PartialEq)]
pub(crate) enum Overlay {
    None,
    Help,
    /// The filter is being typed.
    Filter,
    /// The question whether to end this session.
    Kill(i64),
    Plan(Plan),
}

/// A plan on the screen.
#[derive(Clone, Debug, Default, PartialEq)]
pub(crate) struct Plan {
    pub(crate) operators: Vec<String>,
    pub(crate) xml: Vec<String>,
    pub(crate) is_xml: bool,
    pub(crate) first: usize,
    pub(crate) left: usize,
}

impl Plan {
    pub(crate) fn lines(&self) -> &[String] {
        if self.is_xml { &self.xml } else { &self.operators }
    }
}

/// What a key asks of the connection.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Command {
    /// A refresh without waiting for the interval.
    Refresh,
    /// A plan: its handle, and start and end of the statement.
    Plan(String, i64, i64),
    /// The end of a session.
    Kill(i64),
}

/// The last readings of everything.
#[derive(Clone, Debug, Default)]
pub(crate) struct Data {
    pub(crate) history: History,
    pub(crate) requests: Vec<Request>,
    pub(crate) statements: Statements,
    pub(crate) locks: Vec<Lock>,
}

/// The state of the program.
#[derive(Clone, Debug)]
pub struct App {
    pub(crate) server: String,
    pub(crate) product: String,
    data: Data,
    frozen: Option<Data>,
    pub(crate) screen: Screen,
    pub(crate) requests: Table,
    pub(crate) statements: Table,
    pub(crate) locks: Table,
    pub(crate) tree: Table,
    pub(crate) is_tree_active: bool,
    pub(crate) overlay: Overlay,
    pub(crate) message: String,
    pub(crate) missing: Vec<&'static str>,
    pub(crate) away: Option<String>,
    pub(crate) interval_ms: u64,
    pub(crate) span: usize,
    pub(crate) theme: Theme,
    quits: bool,
}

impl App {
    /// Makes the state for a server, before anything was read.
    #[must_use]
    pub fn new(server: &str, screen: Screen, interval_ms: u64, theme: Theme) -> Self {
        Self {
            server: server.to_owned(),
            product: String::new(),
            data: Data::default(),
            frozen: None,
            screen,
            requests: Table::new(1),
            statements: Table::new(statement::BY_CPU),
            locks: Table::new(lock::BY_STATUS),
            tree: Table::new(usize::MAX),
            is_tree_active: true,
            overlay: Overlay::None,
            message: String::new(),
            missing: Vec::new(),
            away: None,
            interval_ms,
            span: 1,
            theme,
            quits: false,
        }
    }

    /// Returns whether the user wants to end the program.
    #[must_use]
    pub const fn quits(&self) -> bool {
        self.quits
    }

    /// Returns the screen that is shown.
    #[must_use]
    pub const fn screen(&self) -> Screen {
        self.screen
    }

    /// Returns the time between two refreshes in nanoseconds.
    #[must_use]
    pub const fn interval_ns(&self) -> u64 {
        self.interval_ms * 1_000_000
    }

    /// Returns CPU milliseconds of our own session on the server, and the seconds in which it used
    /// them.
    #[must_use]
    pub fn own(&self) -> (u64, f64) {
        self.data.history.own()
    }

    /// Takes the results of a question; `local_ns` is the client's monotonic clock.
    pub fn take(&mut self, topic: Topic, results: &[Vec<Row>], local_ns: u64) {
        let rows = results.first().map_or(&[][..], Vec::as_slice);
        match topic {
            Topic::Server => {
                self.product = rows.first().map(|row| product(row.text(0))).unwrap_or_default();
            }
            Topic::Time => self.data.history.take(results, local_ns),
            Topic::Requests => self.data.requests = rows.iter().map(Request::from_row).collect(),
            Topic::Statements => {
                if let Some(clock) = self.data.history.clock() {
                    self.data.statements.take(rows, clock);
                }
            }
            Topic::Locks => self.data.locks = rows.iter().map(Lock::from_row).collect(),
        }
    }

    /// Sets what the server cannot answer, for the footer.
    pub fn set_missing(&mut self, missing: Vec<&'static str>) {
        self.missing = missing;
    }

    /// Notes that the server is there.
    pub fn connected(&mut self) {
        if self.away.take().is_some() {
            "The server is back.".clone_into(&mut self.message);
        }
    }

    /// Notes that the server is away, and why.
    pub fn lost(&mut self, why: &str) {
        if self.away.is_none() {
            self.data.history.interrupt();
            self.data.statements.interrupt();
        }
        self.away = Some(why.to_owned());
    }

    /// Shows a line in the footer until the next key.
    pub fn say(&mut self, message: impl Into<String>) {
        self.message = message.into();
    }

    /// Shows a plan, or that there is none.
    pub fn show_plan(&mut self, xml: &str) {
        if xml.is_empty() {
            self.say("The server does not have the plan any more.");
            return;
        }
        let (operators, xml) = (showplan::operators(xml), showplan::indented(xml));
        let is_xml = operators.is_empty();
        self.overlay = Overlay::Plan(Plan { operators, xml, is_xml, first: 0, left: 0 });
    }

    /// Returns what is shown: the last readings, or those when the screen was frozen.
    pub(crate) fn shown(&self) -> &Data {
        self.frozen.as_ref().unwrap_or(&self.data)
    }

    pub(crate) const fn is_frozen(&self) -> bool {
        self.frozen.is_some()
    }

    pub(crate) fn branches(&self) -> Vec<Branch> {
        blocking_tree(&self.shown().requests)
    }

    /// Takes a key; returns what it asks of the connection.
    pub fn key(&mut self, key: KeyEvent) -> Option<Command> {
        if key.kind == KeyEventKind::Release {
            return None;
        }
        self.message.clear();
        let is_control = key.modifiers.contains(KeyModifiers::CONTROL);
        if is_control && matches!(key.code, KeyCode::Char('c')) {
            self.quits = true;
            return None;
        }
        match std::mem::replace(&mut self.overlay, Overlay::None) {
            Overlay::None => self.plain_key(key.code),
            // Any key ends the help.
            Overlay::Help => None,
            Overlay::Filter => {
                self.filter_key(key.code);
                None
            }
            Overlay::Kill(session) => {
                let is_yes = matches!(key.code, KeyCode::Char('y' | 'Y'));
                if !is_yes {
                    self.say("No session was killed.");
                }
                is_yes.then_some(Command::Kill(session))
            }
            Overlay::Plan(plan) => {
                self.plan_key(key.code, plan);
                None
            }
        }
    }

    fn plain_key(&mut self, code: KeyCode) -> Option<Command> {
        match code {
            KeyCode::Char('q') => self.quits = true,
            KeyCode::Char('h' | '?') | KeyCode::F(1) => self.overlay = Overlay::Help,
            KeyCode::Char(digit @ '1'..='4') => {
                return Some(self.open(digit as usize - '1' as usize));
            }
            KeyCode::Tab => return Some(self.open((self.screen as usize + 1) % Screen::ALL.len())),
            KeyCode::BackTab => {
                return Some(self.open((self.screen as usize + 3) % Screen::ALL.len()));
            }
            KeyCode::Char('f' | ' ') => {
                self.frozen = if self.is_frozen() { None } else { Some(self.data.clone()) };
            }
            KeyCode::Char('+') => self.change_interval(1),
            KeyCode::Char('-') => self.change_interval(-1),
            KeyCode::Char('z') => {
                let next = SPANS.iter().position(|span| *span == self.span).unwrap_or(0) + 1;
                self.span = SPANS[next % SPANS.len()];
            }
            KeyCode::Char('t') => self.is_tree_active = !self.is_tree_active,
            KeyCode::Char('/') => self.overlay = Overlay::Filter,
            KeyCode::Char('k') => self.ask_kill(),
            KeyCode::Char('p') | KeyCode::Enter => return self.plan(),
            _ => self.table_key(code),
        }
        None
    }

    fn table_key(&mut self, code: KeyCode) {
        let columns = self.column_count();
        match code {
            KeyCode::Up => self.step(-1),
            KeyCode::Down => self.step(1),
            KeyCode::PageUp => self.step(-PAGE),
            KeyCode::PageDown => self.step(PAGE),
            KeyCode::Home => self.step(isize::MIN),
            KeyCode::End => self.step(isize::MAX),
            KeyCode::Esc => self.table().filter.clear(),
            KeyCode::Char('s') => self.table().sort_by_next(1, columns),
            KeyCode::Char('S') => self.table().sort_by_next(-1, columns),
            KeyCode::Char('r') => self.table().is_reversed ^= true,
            KeyCode::Right => {
                let table = self.table();
                table.skipped = (table.skipped + 1).min(columns.saturating_sub(2));
            }
            KeyCode::Left => self.table().skipped = self.table().skipped.saturating_sub(1),
            _ => {}
        }
    }

    fn filter_key(&mut self, code: KeyCode) {
        self.overlay = Overlay::Filter;
        match code {
            KeyCode::Char(character) => self.table().filter.push(character),
            KeyCode::Backspace => drop(self.table().filter.pop()),
            KeyCode::Esc => {
                self.table().filter.clear();
                self.overlay = Overlay::None;
            }
            KeyCode::Enter => self.overlay = Overlay::None,
            _ => {}
        }
    }

    fn plan_key(&mut self, code: KeyCode, mut plan: Plan) {
        let last = plan.lines().len().saturating_sub(1);
        let by = |first: usize, by: isize| first.saturating_add_signed(by).min(last);
        match code {
            KeyCode::Esc | KeyCode::Enter | KeyCode::Char('q' | 'p') => return,
            KeyCode::Char('x') => {
                plan.is_xml = !plan.is_xml || plan.operators.is_empty();
                plan.first = 0;
            }
            KeyCode::Up => plan.first = by(plan.first, -1),
            KeyCode::Down => plan.first = by(plan.first, 1),
            KeyCode::PageUp => plan.first = by(plan.first, -PAGE),
            KeyCode::PageDown => plan.first = by(plan.first, PAGE),
            KeyCode::Home => plan.first = 0,
            KeyCode::End => plan.first = last,
            KeyCode::Left => plan.left = plan.left.saturating_sub(8),
            KeyCode::Right => plan.left += 8,
            _ => {}
        }
        self.overlay = Overlay::Plan(plan);
    }

    fn open(&mut self, index: usize) -> Command {
        self.screen = Screen::ALL[index];
        Command::Refresh
    }

    fn change_interval(&mut self, by: isize) {
        let place = INTERVALS_MS.iter().position(|ms| *ms >= self.interval_ms).unwrap_or(0);
        let place = place.saturating_add_signed(by).min(INTERVALS_MS.len() - 1);
        self.interval_ms = INTERVALS_MS[place];
    }

    /// Returns the list of the screen that the arrow keys move in.
    fn table(&mut self) -> &mut Table {
        match self.screen {
            Screen::Time | Screen::Requests => &mut self.requests,
            Screen::Statements => &mut self.statements,
            Screen::Locks => &mut self.locks,
        }
    }

    const fn column_count(&self) -> usize {
        match self.screen {
            Screen::Time | Screen::Requests => request::COLUMNS.len(),
            Screen::Statements => statement::COLUMNS.len(),
            Screen::Locks => lock::COLUMNS.len(),
        }
    }

    fn step(&mut self, by: isize) {
        let data = self.frozen.as_ref().unwrap_or(&self.data);
        match self.screen {
            Screen::Time => {}
            Screen::Requests => {
                let rows = self.requests.rows(&data.requests, request::COLUMNS);
                self.requests.step(&rows, by);
            }
            Screen::Statements => {
                let rows = data.statements.shown().unwrap_or_default();
                self.statements.step(&self.statements.rows(rows, statement::COLUMNS), by);
            }
            Screen::Locks if self.is_tree_active => {
                let branches = blocking_tree(&data.requests);
                self.tree.step(&branches.iter().collect::<Vec<_>>(), by);
            }
            Screen::Locks => {
                let rows = self.locks.rows(&data.locks, lock::COLUMNS);
                self.locks.step(&rows, by);
            }
        }
    }

    /// Returns the selected session, and its request if it is listed.
    fn selected_session(&self) -> Option<(i64, Option<Request>)> {
        let data = self.shown();
        match self.screen {
            Screen::Time | Screen::Statements => None,
            Screen::Requests => {
                let rows = self.requests.rows(&data.requests, request::COLUMNS);
                let request = (*rows.get(self.requests.selected(&rows))?).clone();
                Some((request.session, Some(request)))
            }
            Screen::Locks if self.is_tree_active => {
                let branches = self.branches();
                let rows: Vec<&Branch> = branches.iter().collect();
                let branch = rows.get(self.tree.selected(&rows))?;
                Some((branch.session, branch.request.clone()))
            }
            Screen::Locks => {
                let rows = self.locks.rows(&data.locks, lock::COLUMNS);
                let session = rows.get(self.locks.selected(&rows))?.session;
                let request = data.requests.iter().find(|request| request.session == session);
                Some((session, request.cloned()))
            }
        }
    }

    fn ask_kill(&mut self) {
        match self.selected_session() {
            Some((session, _)) if session > 0 => self.overlay = Overlay::Kill(session),
            Some((session, _)) => self.say(format!("{session} is no session that can be killed.")),
            None => self.say("Sessions are killed on the screens Requests and Locks."),
        }
    }

    fn plan(&mut self) -> Option<Command> {
        let found = match self.screen {
            Screen::Statements => {
                let rows = self.shown().statements.shown().unwrap_or_default();
                let rows = self.statements.rows(rows, statement::COLUMNS);
                let row = rows.get(self.statements.selected(&rows));
                row.map(|row| (row.plan.clone(), row.statement))
            }
            Screen::Time | Screen::Requests | Screen::Locks => self
                .selected_session()
                .and_then(|(_, request)| request)
                .map(|request| (request.plan, request.statement)),
        };
        match found {
            Some((plan, (start, end))) if !plan.is_empty() => Some(Command::Plan(plan, start, end)),
            Some(_) => {
                self.say("This session runs nothing now that has a plan.");
                None
            }
            None => {
                self.say("No statement is selected.");
                None
            }
        }
    }

    /// Returns the question about ending a session, with what is known of it.
    pub(crate) fn kill_question(&self, session: i64) -> String {
        let request = self.shown().requests.iter().find(|request| request.session == session);
        let about = request.map_or(String::new(), |request| {
            format!(
                " of {} on {}: {}",
                request.login,
                request.host,
                crate::format::clean(&request.text)
            )
        });
        format!("Kill session {session}{about}")
    }
}

/// Returns a short name of a server from its version.
fn product(version: &str) -> String {
    let line = match version.find("Clearway ") {
        Some(at) => &version[at..],
        None => version,
    };
    let end =
        line.find([' ', '\n']).and_then(|_| line.find(['(', '\n', '-'])).unwrap_or(line.len());
    line[..end].trim().to_owned()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn press(app: &mut App, code: KeyCode) -> Option<Command> {
        app.key(KeyEvent::new(code, KeyModifiers::NONE))
    }

    fn app(screen: Screen) -> App {
        let mut app = App::new("h", screen, 1_000, Theme::Plain);
        let record = |session: i64, blocker: i64| {
            Row::from_record(&format!(
                "{session}\t0\t{session}\trunning\t\\N\t0\t0\t0\t0\t{blocker}\td\tsa\th\tp\t1\t\\N\t0x0{session}\t0\t-1\tSELECT {session}\t\\N"
            ))
        };
        app.take(Topic::Requests, &[vec![record(51, 0), record(52, 51), record(53, 52)]], 0);
        app
    }

    #[test]
    fn killing_needs_a_yes() {
        let mut app = app(Screen::Requests);
        assert_eq!(press(&mut app, KeyCode::Char('k')), None);
        assert_eq!(press(&mut app, KeyCode::Enter), None, "anything but y is a no");
        press(&mut app, KeyCode::Char('k'));
        assert_eq!(press(&mut app, KeyCode::Char('y')), Some(Command::Kill(53)), "longest first");
    }

    #[test]
    fn head_of_the_tree_is_selected_first() {
        let mut app = app(Screen::Locks);
        press(&mut app, KeyCode::Char('k'));
        assert_eq!(press(&mut app, KeyCode::Char('y')), Some(Command::Kill(51)));
        press(&mut app, KeyCode::Down);
        assert_eq!(
            press(&mut app, KeyCode::Char('p')),
            Some(Command::Plan("0x052".to_owned(), 0, -1))
        );
    }

    #[test]
    fn filter_is_typed_and_cleared() {
        let mut app = app(Screen::Requests);
        for code in "/select 52q".chars().map(KeyCode::Char) {
            press(&mut app, code);
        }
        press(&mut app, KeyCode::Backspace);
        assert_eq!(app.requests.filter, "select 52");
        press(&mut app, KeyCode::Enter);
        press(&mut app, KeyCode::Char('k'));
        assert_eq!(app.overlay, Overlay::Kill(52));
        press(&mut app, KeyCode::Char('n'));
        press(&mut app, KeyCode::Esc);
        assert_eq!(app.requests.filter, "");
        assert!(!app.quits());
    }

    #[test]
    fn frozen_screen_does_not_change() {
        let mut app = app(Screen::Requests);
        press(&mut app, KeyCode::Char('f'));
        app.take(Topic::Requests, &[Vec::new()], 0);
        assert_eq!(app.shown().requests.len(), 3);
        press(&mut app, KeyCode::Char('f'));
        assert!(app.shown().requests.is_empty());
    }

    #[test]
    fn interval_has_bounds() {
        let mut app = app(Screen::Time);
        (0..20).for_each(|_| drop(press(&mut app, KeyCode::Char('+'))));
        assert_eq!(app.interval_ms, 60_000);
        (0..20).for_each(|_| drop(press(&mut app, KeyCode::Char('-'))));
        assert_eq!(app.interval_ms, 500);
    }

    #[test]
    fn control_c_quits_from_anywhere() {
        let mut app = app(Screen::Requests);
        press(&mut app, KeyCode::Char('/'));
        app.key(KeyEvent::new(KeyCode::Char('c'), KeyModifiers::CONTROL));
        assert!(app.quits());
    }

    #[test]
    fn products_are_named_shortly() {
        let ours = "Microsoft SQL Server 2022 (RTM) - 16.0.1000.6 (X64) \n\tClearway 0.1.0 (in memory) on Linux";
        assert_eq!(product(ours), "Clearway 0.1.0");
        assert_eq!(
            product("Microsoft SQL Server 2019 (RTM-CU27) - 15.0"),
            "Microsoft SQL Server 2019"
        );
        assert_eq!(product("Other"), "Other");
    }
}
