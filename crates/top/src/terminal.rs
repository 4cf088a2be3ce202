//! The terminal: taken for the time of a run, and given back however the run ends.

use std::io::{self, Write};
use std::panic;

use crossterm::terminal::{EnterAlternateScreen, LeaveAlternateScreen};
use crossterm::{cursor, execute, terminal};
use ratatui::Terminal;
use ratatui::backend::CrosstermBackend;

/// The terminal in raw mode with another screen; dropping it gives it back.
pub(crate) struct Taken(Terminal<CrosstermBackend<io::Stdout>>);

impl Taken {
    /// Takes the terminal. A panic gives it back before its message is printed.
    pub(crate) fn new() -> Result<Self, String> {
        let failed = |error: io::Error| format!("the terminal: {error}");
        terminal::enable_raw_mode().map_err(failed)?;
        let print = panic::take_hook();
        panic::set_hook(Box::new(move |info| {
            give_back();
            print(info);
        }));
        // From here on its drop gives the terminal back, whatever fails.
        let taken = Terminal::new(CrosstermBackend::new(io::stdout())).map(Self);
        if taken.is_err() {
            give_back();
        }
        let taken = taken.map_err(failed)?;
        execute!(io::stdout(), EnterAlternateScreen, cursor::Hide).map_err(failed)?;
        Ok(taken)
    }

    pub(crate) fn draw(&mut self, app: &mut crate::App) -> Result<(), String> {
        let drawn = self.0.draw(|frame| app.draw(frame));
        drawn.map(drop).map_err(|error| format!("the terminal: {error}"))
    }
}

impl Drop for Taken {
    fn drop(&mut self) {
        give_back();
    }
}

/// Gives the terminal back as it was. A terminal that is gone needs nothing.
fn give_back() {
    let _ = execute!(io::stdout(), LeaveAlternateScreen, cursor::Show);
    let _ = io::stdout().flush();
    let _ = terminal::disable_raw_mode();
}
