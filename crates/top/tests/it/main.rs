//! Screens drawn from recorded rows, held against text files in `golden`.
//!
//! `make top-screens` (CLEARWAY_WRITE_GOLDEN=1) rewrites the files; look at the difference before
//! it is committed.

mod recorded;

use std::path::Path;

use crossterm::event::{KeyCode, KeyEvent, KeyModifiers};
use ratatui::Terminal;
use ratatui::backend::TestBackend;
use top::question::Topic;
use top::theme::Theme;
use top::{App, Screen, screen_text};

use recorded::{feed, rows};

/// The sizes in which every screen is held: the least that is supported, and a large one.
const SIZES: [(u16, u16); 2] = [(80, 24), (160, 50)];

/// Draws a screen and holds it against its file.
fn assert_golden(name: &str, app: &mut App) {
    for (columns, lines) in SIZES {
        let found = draw(app, columns, lines);
        let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/golden");
        let file = folder.join(format!("{name}_{columns}x{lines}.txt"));
        if std::env::var_os("CLEARWAY_WRITE_GOLDEN").is_some() {
            std::fs::write(&file, &found).expect("the folder can be written");
        }
        let expected = std::fs::read_to_string(&file).unwrap_or_default();
        assert!(
            found == expected,
            "{} differs; CLEARWAY_WRITE_GOLDEN=1 rewrites it. Found:\n{found}\nExpected:\n{expected}",
            file.display()
        );
    }
}

fn draw(app: &mut App, columns: u16, lines: u16) -> String {
    let mut terminal = Terminal::new(TestBackend::new(columns, lines)).expect("a terminal");
    terminal.draw(|frame| app.draw(frame)).expect("it draws");
    screen_text(terminal.backend())
}

fn app(screen: Screen, theme: Theme) -> App {
    let mut app = App::new("db1,1433", screen, 1_000, theme);
    feed(&mut app);
    app
}

fn press(app: &mut App, keys: &str) {
    for key in keys.chars() {
        app.key(KeyEvent::new(KeyCode::Char(key), KeyModifiers::NONE));
    }
}

#[test]
fn time_without_colour() {
    assert_golden("time", &mut app(Screen::Time, Theme::Plain));
}

#[test]
fn time_with_colour() {
    assert_golden("time_colour", &mut app(Screen::Time, Theme::Colour));
}

#[test]
fn time_zoomed_out() {
    let mut app = app(Screen::Time, Theme::Plain);
    press(&mut app, "z");
    assert_golden("time_zoomed", &mut app);
}

#[test]
fn requests() {
    assert_golden("requests", &mut app(Screen::Requests, Theme::Plain));
}

#[test]
fn requests_filtered_and_about_to_be_killed() {
    let mut app = app(Screen::Requests, Theme::Plain);
    press(&mut app, "/stock");
    app.key(KeyEvent::new(KeyCode::Enter, KeyModifiers::NONE));
    press(&mut app, "ssk");
    assert_golden("requests_kill", &mut app);
}

#[test]
fn statements() {
    assert_golden("statements", &mut app(Screen::Statements, Theme::Plain));
}

#[test]
fn locks() {
    assert_golden("locks", &mut app(Screen::Locks, Theme::Plain));
}

#[test]
fn plan() {
    let mut app = app(Screen::Requests, Theme::Plain);
    app.show_plan(include_str!("../recorded/plan.xml"));
    assert_golden("plan", &mut app);
    press(&mut app, "x");
    assert_golden("plan_xml", &mut app);
}

#[test]
fn help() {
    let mut app = app(Screen::Time, Theme::Plain);
    press(&mut app, "h");
    assert_golden("help", &mut app);
}

#[test]
fn server_of_another_make_that_went_away() {
    let mut app = App::new("db2", Screen::Time, 1_000, Theme::Plain);
    let version = "Microsoft SQL Server 2019 (RTM-CU27) - 15.0.4375.4 (X64)";
    app.take(Topic::Server, &[rows(version)], 0);
    for second in 1..=5_i64 {
        let clock = format!(
            "{}\t7\t09:00:0{second}\t90061\t8\t{}\t{}\t0",
            1_000 * second,
            2_500 * second,
            400 * second
        );
        let waits =
            format!("wait\tLCK_M_X\t{}\t{second}\nsignal\tLCK_M_X\t0\t0", 3_000_000_000 * second);
        app.take(Topic::Time, &[rows(&clock), rows(&waits)], 0);
    }
    app.set_missing(vec!["time ledger (shown: waits and CPU)", "sys.dm_tran_locks"]);
    assert_golden("other_make", &mut app);
    app.lost("the server has closed the connection");
    assert_golden("away", &mut app);
}

#[test]
fn nothing_read_yet() {
    for screen in Screen::ALL {
        let mut app = App::new("db1", screen, 500, Theme::Plain);
        assert_golden(&format!("empty_{}", screen.name().to_lowercase()), &mut app);
    }
}

#[test]
fn any_size_is_drawn() {
    for screen in Screen::ALL {
        for theme in [Theme::Plain, Theme::Colour] {
            let mut app = app(screen, theme);
            for columns in (1..40).step_by(3).chain([80, 200]) {
                for lines in (1..30).step_by(2).chain([80]) {
                    let text = draw(&mut app, columns, lines);
                    assert_eq!(text.lines().count(), usize::from(lines));
                }
            }
        }
    }
}

#[test]
fn plain_theme_has_no_colours() {
    for screen in Screen::ALL {
        let mut terminal = Terminal::new(TestBackend::new(80, 24)).expect("a terminal");
        let mut app = app(screen, Theme::Plain);
        terminal.draw(|frame| app.draw(frame)).expect("it draws");
        for cell in terminal.backend().buffer().content() {
            let reset = ratatui::style::Color::Reset;
            assert_eq!((cell.fg, cell.bg), (reset, reset), "{screen:?}");
        }
    }
}
