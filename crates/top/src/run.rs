//! Runs the program: on a terminal until the user quits, or in batch mode for some refreshes.

use std::io::{self, IsTerminal, Write};

use crossterm::event;
use ratatui::Terminal;
use ratatui::backend::TestBackend;
use sos::sys::StopSignals;

use crate::app::App;
use crate::client::Client;
use crate::conversation::Conversation;
use crate::settings::Settings;
use crate::terminal::Taken;
use crate::theme::Theme;

/// The longest wait between two looks at the terminal: a changed size is noticed within it.
const TICK_NS: u64 = 100_000_000;

/// Runs until the user quits, a signal asks to stop, or batch mode has printed its screen.
///
/// # Errors
/// A sentence that says why it cannot go on.
pub fn run(settings: &Settings) -> Result<(), String> {
    let signals = StopSignals::new().map_err(|error| format!("signals: {error}"))?;
    let client = Client::new(settings.target.clone(), settings.patience)?;
    client.watch(&signals)?;
    let theme = match settings.batch {
        Some(_) => Theme::Plain,
        None => Theme::from_no_color(std::env::var_os("NO_COLOR").as_deref()),
    };
    let app = App::new(&settings.server, settings.screen, settings.interval_ms, theme);
    match settings.batch {
        Some(rounds) => print(settings, client, app, &signals, rounds),
        None => show(settings, client, app, &signals),
    }
}

/// Refreshes some times, then prints the screen as text and what it cost the server.
fn print(
    settings: &Settings,
    client: Client,
    mut app: App,
    signals: &StopSignals,
    rounds: u64,
) -> Result<(), String> {
    let user = &settings.target.login.user;
    let mut conversation = Conversation::new(client, &settings.server, user);
    while conversation.rounds() < rounds && !signals.came().unwrap_or(false) {
        conversation.advance(&mut app)?;
        if let Some(why) = &app.away {
            return Err(format!("{} went away: {why}", settings.server));
        }
        conversation.wait(TICK_NS);
    }
    let (columns, lines) = settings.size;
    let mut terminal = Terminal::new(TestBackend::new(columns, lines)).map_err(infallible)?;
    terminal.draw(|frame| app.draw(frame)).map_err(infallible)?;
    let mut text = screen_text(terminal.backend());
    let (ms, seconds) = app.own();
    text += &format!("cost on the server: {ms} ms of CPU in {seconds:.1} s\n");
    // A closed stdout needs no text.
    let _ = io::stdout().lock().write_all(text.as_bytes());
    Ok(())
}

fn infallible(never: std::convert::Infallible) -> String {
    match never {}
}

/// Returns a drawn screen as lines without blanks at their ends.
#[must_use]
pub fn screen_text(backend: &TestBackend) -> String {
    let buffer = backend.buffer();
    let mut text = String::new();
    for row in buffer.content().chunks(usize::from(buffer.area.width.max(1))) {
        let mut line = String::new();
        let mut cells = row.iter();
        while let Some(cell) = cells.next() {
            line.push_str(cell.symbol());
            // A wide character covers the next cell too.
            if unicode_width::UnicodeWidthStr::width(cell.symbol()) == 2 {
                cells.next();
            }
        }
        text.push_str(line.trim_end());
        text.push('\n');
    }
    text
}

/// Shows the screens on the terminal.
fn show(
    settings: &Settings,
    client: Client,
    mut app: App,
    signals: &StopSignals,
) -> Result<(), String> {
    if !io::stdin().is_terminal() || !io::stdout().is_terminal() {
        return Err("standard input and output are not a terminal: use --batch N".to_owned());
    }
    client.watch(io::stdin())?;
    let user = &settings.target.login.user;
    let mut conversation = Conversation::new(client, &settings.server, user);
    let mut taken: Option<Taken> = None;
    let mut is_stale = true;
    while !app.quits() && !signals.came().unwrap_or(false) {
        is_stale |= conversation.advance(&mut app)?;
        // The terminal is taken when there is something to show: a refused login is a line.
        if taken.is_none() && conversation.rounds() > 0 {
            taken = Some(Taken::new()?);
        }
        if let Some(terminal) = &mut taken {
            is_stale |= take_keys(&mut app, &mut conversation)?;
            if is_stale {
                terminal.draw(&mut app)?;
                is_stale = false;
            }
        }
        conversation.wait(TICK_NS);
    }
    Ok(())
}

/// Takes what the terminal has sent; returns whether there was anything.
fn take_keys(app: &mut App, conversation: &mut Conversation) -> Result<bool, String> {
    let failed = |error: io::Error| format!("the terminal: {error}");
    let mut has_any = false;
    while event::poll(std::time::Duration::ZERO).map_err(failed)? {
        has_any = true;
        // Of a changed size nothing is to be done: drawing asks for it.
        if let event::Event::Key(key) = event::read().map_err(failed)? {
            panic_if_asked(key);
            if let Some(command) = app.key(key) {
                conversation.command(command, app);
            }
        }
    }
    Ok(has_any)
}

/// In builds with debug assertions, F12 panics: a test looks at the terminal afterwards.
fn panic_if_asked(key: event::KeyEvent) {
    assert!(!(cfg!(debug_assertions) && key.code == event::KeyCode::F(12)), "F12 was pressed");
}
