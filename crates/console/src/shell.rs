//! `Shell`: reads lines, executes the tool's own commands, and sends batches.

use std::fs::File;
use std::io::{self, BufRead, BufReader, IsTerminal};
use std::path::Path;
use std::process::Command as Process;
use std::time::Duration;

use load::inside::{Inside, go_count};
use load::link::Target;
use load::{Login, address};
use sos::clock;
use sos::sys::{Direction, Stop, StopSignals, poll_fd};

use crate::command::{self, Command, HELP, Place};
use crate::complete::{self, Words};
use crate::editor::{LineEditor, Typed};
use crate::output::Output;
use crate::receive::Receiver;
use crate::render::{Format, renderer};
use crate::session::{End, Session};
use crate::settings::{Connect, Settings, Start};
use crate::variables::Variables;

/// Deepest nesting of files that read files.
const DEPTH_MAX: usize = 32;
/// Exit codes: an error that ends the run, Ctrl-C, SIGTERM.
const EXIT_ERROR: u8 = 1;
const EXIT_INTERRUPTED: u8 = 130;
const EXIT_TERMINATED: u8 = 143;
/// Interval at which a wait for input checks for signals.
const LOOK: Duration = Duration::from_millis(100);

/// Whether the run continues, or how it ends.
enum Flow {
    On,
    Exit(u8),
}

/// Runs to the end; returns the exit code.
///
/// # Errors
/// One line, if the server cannot be reached or a file cannot be read or written.
pub fn run(settings: Settings) -> Result<u8, String> {
    sos::sys::ignore_sigpipe();
    let signals = StopSignals::new().map_err(|error| format!("signals: {error}"))?;
    let mut shell = Shell::new(settings, signals)?;
    let ended = shell.start().and_then(|flow| shell.out.flush().map(|()| flow));
    match ended {
        Ok(Flow::Exit(code)) => Ok(code),
        Ok(Flow::On) => Ok(0),
        // A reader that stops early, as in `clearway sql .. | head`, is no error.
        Err(_) if shell.out.is_left() => Ok(0),
        Err(what) => Err(what),
    }
}

struct Shell {
    settings: Settings,
    session: Option<Session>,
    signals: StopSignals,
    out: Output,
    errors: Output,
    variables: Variables,
    /// Lines since the last batch was sent, and the state (comment, quotes) at the start of the
    /// next.
    batch: String,
    inside: Inside,
    /// Whether the catalog's names may have changed.
    is_stale: bool,
}

impl Shell {
    fn new(settings: Settings, signals: StopSignals) -> Result<Self, String> {
        let out = Output::open(&settings.output.clone().map_or(Place::Stdout, Place::File))?;
        let mut shell = Self {
            session: None,
            signals,
            out,
            errors: Output::open(&Place::Stderr)?,
            variables: Variables::default(),
            batch: String::new(),
            inside: Inside::Code,
            is_stale: true,
            settings,
        };
        for (name, value) in shell.settings.variables.clone() {
            shell.variables.set(&name, &value);
        }
        shell.connect(shell.settings.connect.clone())?;
        Ok(shell)
    }

    fn start(&mut self) -> Result<Flow, String> {
        match self.settings.start.clone() {
            Start::Query(text) => {
                let mut reader = BufReader::new(text.as_bytes());
                self.read_all(&mut reader, 0)
            }
            Start::QueryThenStdin(text) => {
                let mut reader = BufReader::new(text.as_bytes());
                match self.read_all(&mut reader, 0)? {
                    Flow::On => self.run_stdin(),
                    exit => Ok(exit),
                }
            }
            Start::Stdin => self.run_stdin(),
            Start::Files(paths) => {
                for path in paths {
                    if let exit @ Flow::Exit(_) = self.read_file(&path, 0)? {
                        return Ok(exit);
                    }
                }
                Ok(Flow::On)
            }
        }
    }

    fn connect(&mut self, connect: Connect) -> Result<(), String> {
        let address = address::resolve(&connect.server)?;
        let encrypt = address::encryption(connect.encrypt, &address);
        let target = Target {
            address,
            login: Login {
                user: connect.user.clone(),
                password: connect.password.clone(),
                database: connect.database.clone(),
            },
            encrypt,
        };
        self.session = None;
        let session = Session::connect(&target, connect.timeout, &self.signals);
        self.session = Some(session.map_err(|why| format!("{}: {why}", target.address))?);
        for (name, value) in [
            ("SQLCMDSERVER", &connect.server),
            ("SQLCMDUSER", &connect.user),
            ("SQLCMDDBNAME", &connect.database),
        ] {
            self.variables.set(name, value);
        }
        self.settings.connect = connect;
        self.is_stale = true;
        Ok(())
    }

    fn run_stdin(&mut self) -> Result<Flow, String> {
        if io::stdin().is_terminal() && io::stdout().is_terminal() {
            return self.run_terminal();
        }
        let mut reader = BufReader::new(io::stdin());
        loop {
            if reader.buffer().is_empty()
                && let Some(exit) = self.wait_for_input(&io::stdin())?
            {
                return Ok(exit);
            }
            let Some(line) = next_line(&mut reader, "stdin")? else { break };
            if let exit @ Flow::Exit(_) = self.line(&line, 0)? {
                return Ok(exit);
            }
        }
        self.send(1)
    }

    /// Waits until there is input; returns how the run ends if it ends instead.
    fn wait_for_input(&self, stdin: &io::Stdin) -> Result<Option<Flow>, String> {
        let wrong = |error: io::Error| format!("stdin: {error}");
        loop {
            let deadline = Some(clock::deadline_ns(LOOK));
            if poll_fd(stdin, Direction::Readable, deadline).map_err(wrong)? {
                return Ok(None);
            }
            match self.signals.take().map_err(wrong)? {
                Some(Stop::Interrupt) => return Ok(Some(Flow::Exit(EXIT_INTERRUPTED))),
                Some(Stop::Terminate | Stop::HangUp) => {
                    return Ok(Some(Flow::Exit(EXIT_TERMINATED)));
                }
                None => {}
            }
        }
    }

    fn run_terminal(&mut self) -> Result<Flow, String> {
        let mut editor = LineEditor::open()?;
        self.errors.put("GO sends what was typed, :help lists commands, exit ends.\n")?;
        self.errors.flush()?;
        let flow = loop {
            if self.is_stale && self.batch.is_empty() {
                editor.set_words(self.words());
                self.is_stale = false;
            }
            let prompt = format!("{}> ", self.batch.lines().count() + 1);
            match editor.read(&prompt)? {
                Typed::Line(text) => match self.typed(&text) {
                    Ok(Flow::On) => {}
                    Ok(exit) => break exit,
                    // At a terminal the user may try again; each batch reports a lost connection.
                    Err(why) => self.complain(&why)?,
                },
                Typed::Interrupt => self.forget(),
                Typed::End => break Flow::On,
            }
            self.out.flush()?;
        };
        editor.close();
        Ok(flow)
    }

    /// Takes typed or pasted text, which may be several lines.
    fn typed(&mut self, text: &str) -> Result<Flow, String> {
        for line in text.split('\n') {
            if let exit @ Flow::Exit(_) = self.line(line.trim_end_matches('\r'), 0)? {
                return Ok(exit);
            }
        }
        Ok(Flow::On)
    }

    fn read_file(&mut self, path: &Path, depth: usize) -> Result<Flow, String> {
        let name = path.display().to_string();
        if depth > DEPTH_MAX {
            return Err(format!("{name}: more than {DEPTH_MAX} files read each other"));
        }
        let file = File::open(path).map_err(|error| format!("{name}: {error}"))?;
        let mut reader = BufReader::new(file);
        self.read_all_of(&mut reader, depth, &name)
    }

    fn read_all(&mut self, reader: &mut dyn BufRead, depth: usize) -> Result<Flow, String> {
        self.read_all_of(reader, depth, "the query")
    }

    fn read_all_of(
        &mut self,
        reader: &mut dyn BufRead,
        depth: usize,
        name: &str,
    ) -> Result<Flow, String> {
        while let Some(line) = next_line(reader, name)? {
            if let exit @ Flow::Exit(_) = self.line(&line, depth)? {
                return Ok(exit);
            }
        }
        // A file that another one reads is part of that one's batch.
        if depth == 0 { self.send(1) } else { Ok(Flow::On) }
    }

    /// Processes a line of input.
    fn line(&mut self, line: &str, depth: usize) -> Result<Flow, String> {
        if self.settings.echo {
            self.out.put(line)?;
            self.out.put("\n")?;
        }
        if self.inside == Inside::Code {
            if let Some(count) = go_count(line) {
                return self.send(count);
            }
            if command::parse(line).is_some() {
                let expanded = match self.expand(line) {
                    Ok(expanded) => expanded,
                    Err(flow) => return flow,
                };
                return match command::parse(&expanded) {
                    Some(Ok(command)) => self.obey(command, depth),
                    Some(Err(why)) => {
                        self.complain(&why)?;
                        Ok(self.after_own_error())
                    }
                    None => Ok(Flow::On),
                };
            }
        }
        self.inside = self.inside.after(line);
        self.batch.push_str(line);
        self.batch.push('\n');
        Ok(Flow::On)
    }

    /// Replaces variables; the error is how the run continues if one is missing.
    fn expand(&mut self, text: &str) -> Result<String, Result<Flow, String>> {
        if !self.settings.expands {
            return Ok(text.to_owned());
        }
        self.variables.expand(text).map_err(|name| {
            self.complain(&format!("'{name}' scripting variable not defined."))?;
            Ok(Flow::Exit(EXIT_ERROR))
        })
    }

    fn obey(&mut self, command: Command, depth: usize) -> Result<Flow, String> {
        match command {
            Command::Read(path) => return self.read_file(&path, depth + 1),
            Command::SetVariable(name, Some(value)) => self.variables.set(&name, &value),
            Command::SetVariable(name, None) => self.variables.unset(&name),
            Command::ListVariables => {
                for (name, value) in self.variables.all() {
                    self.out.put(&format!("{name} = \"{value}\"\n"))?;
                }
            }
            Command::Out(place) => {
                self.out.flush()?;
                self.out = Output::open(&place)?;
            }
            Command::Error(place) => self.errors = Output::open(&place)?,
            Command::Connect(words) => {
                let connect = self.settings.connect.clone().with(&words)?;
                self.connect(connect)?;
            }
            Command::Exit(None) | Command::Quit => return Ok(Flow::Exit(0)),
            Command::Exit(Some(query)) => return self.exit_with(&query),
            Command::OnError { exits } => self.settings.stop_on_error = exits,
            Command::List => self.out.put(&self.batch)?,
            Command::Reset => self.forget(),
            Command::Help => self.out.put(HELP)?,
            Command::Shell(text) => self.run_shell(&text)?,
            Command::Format(format) => self.settings.format = Some(format),
            Command::Timing(is_on) => self.settings.timing = is_on,
        }
        Ok(Flow::On)
    }

    fn run_shell(&mut self, text: &str) -> Result<(), String> {
        self.out.flush()?;
        let status = Process::new("sh").args(["-c", text]).status();
        let status = status.map_err(|error| format!("!! {text}: {error}"))?;
        if !status.success() {
            self.complain(&format!("!! {text}: {status}"))?;
        }
        Ok(())
    }

    fn forget(&mut self) {
        self.batch.clear();
        self.inside = Inside::Code;
    }

    /// Sends the batch and the query; the first value is the exit code.
    fn exit_with(&mut self, query: &str) -> Result<Flow, String> {
        self.batch.push_str(query);
        self.batch.push('\n');
        let text = std::mem::take(&mut self.batch);
        if text.trim().is_empty() {
            return Ok(Flow::Exit(0));
        }
        let (flow, first) = self.run_batch(&text)?;
        if let Flow::Exit(_) = flow {
            return Ok(flow);
        }
        // As in a process's exit code: the lowest eight bits.
        let code = first.and_then(|value| value.trim().parse::<i64>().ok()).unwrap_or(0);
        Ok(Flow::Exit(code.to_le_bytes()[0]))
    }

    /// Sends the batch `count` times.
    fn send(&mut self, count: usize) -> Result<Flow, String> {
        let text = std::mem::take(&mut self.batch);
        self.inside = Inside::Code;
        if text.trim().is_empty() {
            return Ok(Flow::On);
        }
        for _ in 0..count {
            if let (exit @ Flow::Exit(_), _) = self.run_batch(&text)? {
                return Ok(exit);
            }
        }
        Ok(Flow::On)
    }

    fn format(&self) -> Format {
        let suits = if self.out.columns().is_some() { Format::Table } else { Format::Plain };
        self.settings.format.unwrap_or(suits)
    }

    /// Runs a batch; returns whether to continue, and the first value of its results.
    fn run_batch(&mut self, text: &str) -> Result<(Flow, Option<String>), String> {
        let text = match self.expand(text) {
            Ok(text) => text,
            Err(flow) => return flow.map(|flow| (flow, None)),
        };
        let begin_ns = clock::monotonic_ns();
        let format = self.format();
        let mut render = renderer(format, &self.settings.layout, self.out.columns());
        let Some(session) = &mut self.session else {
            return Err("there is no connection: :connect".to_owned());
        };
        let messages = self.settings.messages;
        let mut receiver =
            Receiver::new(&mut *render, format, messages, &mut self.out, &mut self.errors);
        let timeout = self.settings.query_timeout;
        let end = session.run(&text, timeout, &self.signals, &mut |token| receiver.take(token));
        receiver.finish()?;
        let (severity, first) = (receiver.severity, receiver.first.take());
        let end = match end {
            Ok(end) => end,
            Err(why) => {
                // The connection cannot be used any more.
                self.session = None;
                return Err(why);
            }
        };
        self.is_stale |= changes_names(&text);
        if self.settings.timing {
            let elapsed = clock::monotonic_ns().saturating_sub(begin_ns);
            self.errors.put(&format!("({:.3} ms)\n", milliseconds(elapsed)))?;
            self.errors.flush()?;
        }
        Ok((self.after(end, severity)?, first))
    }

    /// Returns how the run continues after a batch.
    fn after(&mut self, end: End, severity: u8) -> Result<Flow, String> {
        let is_wrong = severity >= self.settings.severity_min;
        match end {
            End::Whole if is_wrong && self.settings.stop_on_error => Ok(Flow::Exit(EXIT_ERROR)),
            End::Whole => Ok(Flow::On),
            End::TimedOut => {
                self.complain("Timeout expired")?;
                Ok(self.after_own_error())
            }
            End::Interrupted => {
                self.complain("cancelled")?;
                let is_typed = io::stdin().is_terminal() && self.settings.start == Start::Stdin;
                Ok(if is_typed { Flow::On } else { Flow::Exit(EXIT_INTERRUPTED) })
            }
            End::Terminated => Ok(Flow::Exit(EXIT_TERMINATED)),
        }
    }

    fn after_own_error(&self) -> Flow {
        if self.settings.stop_on_error { Flow::Exit(EXIT_ERROR) } else { Flow::On }
    }

    fn complain(&mut self, why: &str) -> Result<(), String> {
        self.out.flush()?;
        self.errors.put(&format!("{why}\n"))?;
        self.errors.flush()
    }

    /// Reads the catalog's names for completion, as far as the login may see them.
    fn words(&mut self) -> Words {
        let mut names = Vec::new();
        let Some(session) = &mut self.session else { return Words::default() };
        let mut take = |token| {
            if let tds::client::Token::Row(values) = token
                && let Some(name) =
                    values.first().and_then(|v| v.as_text(types::Collation::default()))
            {
                names.push(name);
            }
            Ok(())
        };
        let timeout = Some(Duration::from_secs(2));
        // Without names, keywords are completed; the next batch reports a lost connection.
        let _ = session.run(complete::QUERY, timeout, &self.signals, &mut take);
        Words::of_names(names)
    }
}

/// Returns whether a batch may change the catalog's names.
fn changes_names(text: &str) -> bool {
    let upper = text.to_ascii_uppercase();
    ["CREATE", "ALTER", "DROP", "USE ", "INTO"].iter().any(|word| upper.contains(word))
}

fn next_line(reader: &mut dyn BufRead, name: &str) -> Result<Option<String>, String> {
    let mut bytes = Vec::new();
    let count = reader.read_until(b'\n', &mut bytes).map_err(|error| format!("{name}: {error}"))?;
    if count == 0 {
        return Ok(None);
    }
    while bytes.last().is_some_and(|last| matches!(last, b'\n' | b'\r')) {
        bytes.pop();
    }
    let text = String::from_utf8(bytes).map_err(|_| format!("{name}: not UTF-8"))?;
    // Editors on Windows put a byte order mark at the start.
    Ok(Some(text.strip_prefix('\u{feff}').map(str::to_owned).unwrap_or(text)))
}

#[expect(clippy::cast_precision_loss, reason = "a figure is for readers")]
fn milliseconds(ns: u64) -> f64 {
    ns as f64 / 1e6
}
