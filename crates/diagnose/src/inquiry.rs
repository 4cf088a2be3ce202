//! `Inquiry`: a login, who the server is, which of its views answer, and the readings.

use std::time::Duration;

use load::ask::Asker;
use load::link::Fault;
use load::rows;
use sos::clock;
use verdict::question::{SERVER, SERVER_PLAIN, SETUP};
use verdict::recording::{Reading, Recording, Server, Subject, make_of};
use verdict::row::Row;

use crate::Settings;

/// The login has no permission for a view: VIEW SERVER STATE, or one of a database.
const NO_PERMISSION: [i32; 3] = [297, 300, 371];
/// Sub-windows in a recording: enough for a confidence interval.
const WINDOWS: u32 = 10;
/// Beside twice its length, a look takes no longer than this.
const LATE: Duration = Duration::from_secs(15);
/// How often a reading is tried that the server refuses.
const TRIES: u32 = 10;
/// The shortest sub-window: readings must not become the load.
const WINDOW_MIN: Duration = Duration::from_millis(400);

/// A conversation with a server.
pub(crate) struct Inquiry {
    asker: Asker,
    server: Server,
    user: String,
    /// The text of each subject that works.
    sources: Vec<(Subject, &'static str)>,
    missing: Vec<String>,
}

/// An answer: its results, or the number and text of an error.
type Answered = Result<Vec<Vec<Row>>, (i32, String)>;

impl Inquiry {
    /// Connects, recognizes the server and probes its views.
    pub(crate) fn begin(settings: &Settings) -> Result<Self, String> {
        let connected = Asker::connect_as(&settings.target, "clearway diagnose", settings.patience);
        let asker = connected.map_err(|fault| unreachable(settings, &fault))?;
        let mut inquiry = Self {
            asker,
            server: Server { name: settings.server.clone(), ..Server::default() },
            user: settings.target.login.user.clone(),
            sources: Vec::new(),
            missing: Vec::new(),
        };
        // Options that a server does not know are not needed.
        let _ = inquiry.ask(SETUP)?;
        inquiry.recognize()?;
        inquiry.probe()?;
        Ok(inquiry)
    }

    /// Whether the server is Clearway, where an intervention is possible.
    pub(crate) fn is_clearway(&self) -> bool {
        self.server.is_clearway
    }

    /// Runs a batch.
    ///
    /// # Errors
    /// A sentence, if the connection is lost.
    pub(crate) fn ask(&mut self, text: &str) -> Result<Answered, String> {
        let answer = self.asker.answer(text);
        let answer = answer.map_err(|why| format!("{} went away: {why}", self.server.name))?;
        let error = answer.errors().next().map(|error| (error.number, error.message.to_string()));
        Ok(error.map_or_else(|| Ok(rows::results(&answer.tokens)), Err))
    }

    fn recognize(&mut self) -> Result<(), String> {
        let answer = match self.ask(SERVER)? {
            Ok(results) => Ok((results, true)),
            Err(_) => self.ask(SERVER_PLAIN)?.map(|results| (results, false)),
        };
        let (results, is_whole) = answer.map_err(|error| self.other_make(&error.1))?;
        let row = results.first().and_then(|rows| rows.first()).cloned().unwrap_or_default();
        let version = row.text(0).lines().next().unwrap_or("").to_owned();
        let Some(is_clearway) = make_of(row.text(0)).filter(|_| is_whole) else {
            return Err(self.other_make(&version));
        };
        if row.integer(2) != Some(1) && row.integer(3) != Some(1) {
            return Err(self.no_permission());
        }
        self.server.version = match is_clearway {
            true => row.text(0).lines().nth(1).unwrap_or(&version).trim().to_owned(),
            false => version,
        };
        self.server.is_clearway = is_clearway;
        Ok(())
    }

    /// Finds the text of each subject that the server answers.
    fn probe(&mut self) -> Result<(), String> {
        for subject in Subject::ALL {
            let mut index = None;
            for (place, text) in subject.texts().iter().enumerate() {
                match self.ask(text)? {
                    Ok(_) => {
                        index = Some(place);
                        self.sources.push((subject, text));
                        break;
                    }
                    Err((number, _))
                        if NO_PERMISSION.contains(&number) && subject == Subject::Time =>
                    {
                        return Err(self.no_permission());
                    }
                    Err(_) => {}
                }
            }
            self.missing.extend(subject.loss(index).map(str::to_owned));
        }
        match self.sources.iter().any(|(subject, _)| *subject == Subject::Time) {
            true => Ok(()),
            false => Err(self.other_make("it has no view of waits")),
        }
    }

    /// Reads at the edges of sub-windows.
    pub(crate) fn record(
        &mut self,
        length: Duration,
        wait: &mut dyn FnMut(Duration) -> bool,
    ) -> Result<Recording, String> {
        let window = (length / WINDOWS).max(WINDOW_MIN);
        let count = (length.as_millis() / window.as_millis().max(1)).max(1);
        let mut recording = Recording {
            server: self.server.clone(),
            missing: self.missing.clone(),
            ..Recording::default()
        };
        let began = clock::monotonic_ns();
        recording.readings.push(self.timed(true)?);
        for place in 1..=count {
            let due = u64::try_from(window.as_nanos() * place).unwrap_or(u64::MAX);
            let left = due.saturating_sub(clock::monotonic_ns() - began);
            let goes_on = wait(Duration::from_nanos(left));
            // A server that answers slowly is slow for others too: less is enough for a verdict.
            let is_late = clock::monotonic_ns() - began > nanoseconds(2 * length + LATE);
            let is_last = place == count || !goes_on || is_late;
            recording.readings.push(self.timed(is_last)?);
            if is_last {
                break;
            }
        }
        for place in verdict::window::dearest(&recording) {
            // A plan that has left the cache since is not there.
            if let Ok(results) = self.ask(&verdict::question::plan(&place.0, place.1, place.2))? {
                recording.take_plan(place, &results);
            }
        }
        Ok(recording)
    }

    /// Reads until the server says where its time went: a server without memory refuses questions.
    fn timed(&mut self, is_end: bool) -> Result<Reading, String> {
        for _ in 1..TRIES {
            let reading = self.read(is_end)?;
            if reading.is_timed() {
                return Ok(reading);
            }
        }
        let reading = self.read(is_end)?;
        match reading.is_timed() {
            true => Ok(reading),
            false => Err(format!("{} does not answer where its time goes", self.server.name)),
        }
    }

    fn read(&mut self, is_end: bool) -> Result<Reading, String> {
        let mut reading = Reading::default();
        for (subject, text) in self.sources.clone() {
            if !is_end && !subject.is_of_each_window() {
                continue;
            }
            reading.own_requests += 1;
            // A view that fails once, such as by a lock timeout, is not there in this reading.
            if let Ok(results) = self.ask(text)? {
                reading.take(subject, &results, clock::monotonic_ns());
            }
        }
        Ok(reading)
    }

    /// Returns a count that a question asks for, and the server's monotonic clock in milliseconds.
    pub(crate) fn progress(&mut self, count: &str) -> Result<(f64, f64), String> {
        let question = format!("SELECT ({count}), ms_ticks FROM sys.dm_os_sys_info;");
        let results = self.ask(&question)?.map_err(|error| error.1)?;
        let row = results.first().and_then(|rows| rows.first()).cloned().unwrap_or_default();
        match (row.number(0), row.number(1)) {
            (Some(count), Some(ms)) => Ok((count, ms)),
            _ => Err("the server does not count what the intervention changes".to_owned()),
        }
    }

    fn no_permission(&self) -> String {
        format!(
            "the login '{}' lacks the permission VIEW SERVER STATE on {}",
            self.user, self.server.name
        )
    }

    fn other_make(&self, what: &str) -> String {
        format!("{} is neither Clearway nor SQL Server: it says '{what}'", self.server.name)
    }
}

fn nanoseconds(duration: Duration) -> u64 {
    u64::try_from(duration.as_nanos()).unwrap_or(u64::MAX)
}

/// Says why the connection failed.
fn unreachable(settings: &Settings, fault: &Fault) -> String {
    let (server, user) = (&settings.server, &settings.target.login.user);
    match fault.number {
        Some(_) => format!("{server} refused the login '{user}': {}", fault.text),
        None if fault.text.starts_with("wrong answer") => {
            format!("{server} does not speak TDS ({})", fault.text)
        }
        None => format!("{server} cannot be reached: {}", fault.text),
    }
}
