//! `Inquiry`: a login, who the server is, which of its views answer, and the readings.

use std::fmt;
use std::time::Duration;

use load::ask::{Asker, Reply};
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
/// How often the question about time is asked if the server refuses it.
const TRIES: u32 = 10;
/// The pause between two of those.
const RETRY: Duration = Duration::from_millis(50);
/// The shortest sub-window: readings must not become the load.
const WINDOW_MIN: Duration = Duration::from_millis(400);
/// What login, probes, readings and plans may take beside the length of the look: with the usual
/// ten seconds, a verdict is there within a minute of the start.
const BESIDE: Duration = Duration::from_secs(40);
/// How long one question may take. Most views answer in milliseconds; one that takes longer waits
/// behind what is wrong.
const QUESTION: Duration = Duration::from_secs(5);
/// Time that other questions leave for the one about time, without which there is no verdict.
const RESERVE: Duration = Duration::from_secs(10);
/// A question that was late as often as this is not asked any more.
const LATE_MAX: u32 = 2;

/// The name of the program in the server's views.
const APPLICATION: &str = "clearway diagnose";

/// A conversation with a server.
pub(crate) struct Inquiry {
    settings: Settings,
    /// `None` after a question that the server neither answered nor cancelled.
    asker: Option<Asker>,
    server: Server,
    /// The text of each subject that works, and how often its answer was late.
    sources: Vec<(Subject, &'static str, u32)>,
    missing: Vec<String>,
    /// When the last question has to be over, by the monotonic clock.
    end_ns: u64,
}

/// Why a question has no answer, though there is a connection.
pub(crate) enum Refusal {
    /// The number and text of the server's error.
    Error(i32, String),
    /// The answer took too long.
    Late,
}

impl fmt::Display for Refusal {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Error(_, text) => formatter.write_str(text),
            Self::Late => formatter.write_str("the server answered too late"),
        }
    }
}

/// An answer: its results, or why there are none.
type Answered = Result<Vec<Vec<Row>>, Refusal>;

impl Inquiry {
    /// Connects, recognizes the server and probes its views.
    pub(crate) fn begin(settings: &Settings) -> Result<Self, String> {
        let mut inquiry = Self {
            settings: settings.clone(),
            asker: None,
            server: Server { name: settings.server.clone(), ..Server::default() },
            sources: Vec::new(),
            missing: Vec::new(),
            end_ns: clock::deadline_ns(settings.length + BESIDE),
        };
        let patience = settings.patience.min(BESIDE);
        let connected = Asker::connect_as(&settings.target, APPLICATION, patience);
        inquiry.asker = Some(connected.map_err(|fault| unreachable(settings, &fault))?);
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

    /// Gives the questions that follow more time.
    pub(crate) fn extend(&mut self, time: Duration) {
        self.end_ns = clock::deadline_ns(time);
    }

    /// Runs a batch, which may take as long as a login.
    ///
    /// # Errors
    /// A sentence, if the connection is lost.
    pub(crate) fn ask(&mut self, text: &str) -> Result<Answered, String> {
        self.ask_within(text, self.settings.patience)
    }

    fn ask_within(&mut self, text: &str, limit: Duration) -> Result<Answered, String> {
        let limit = limit.min(self.left());
        let Some(asker) = self.connection().filter(|_| !limit.is_zero()) else {
            return Ok(Err(Refusal::Late));
        };
        match asker.answer_within(text, limit) {
            Err(why) => Err(format!("{} went away: {why}", self.server.name)),
            Ok(Reply::Cancelled) => Ok(Err(Refusal::Late)),
            Ok(Reply::Stuck) => {
                self.asker = None;
                Ok(Err(Refusal::Late))
            }
            Ok(Reply::Whole(answer)) => {
                let first = answer.errors().next();
                let error =
                    first.map(|error| Refusal::Error(error.number, error.message.to_string()));
                Ok(error.map_or_else(|| Ok(rows::results(&answer.tokens)), Err))
            }
        }
    }

    /// Returns the connection, a new one if the last one hangs; `None` if that is not answered.
    fn connection(&mut self) -> Option<&mut Asker> {
        if self.asker.is_none() {
            let limit = self.question().min(self.left());
            let mut asker = Asker::connect_as(&self.settings.target, APPLICATION, limit).ok()?;
            // Without its options, questions could wait for locks.
            let set = asker.answer_within(SETUP, limit).ok()?;
            self.asker = matches!(set, Reply::Whole(_)).then_some(asker);
        }
        self.asker.as_mut()
    }

    /// The time that is left for questions.
    fn left(&self) -> Duration {
        Duration::from_nanos(self.end_ns.saturating_sub(clock::monotonic_ns()))
    }

    fn recognize(&mut self) -> Result<(), String> {
        let answer = match self.ask(SERVER)? {
            Ok(results) => Ok((results, true)),
            Err(Refusal::Late) => Err(Refusal::Late),
            Err(Refusal::Error(..)) => self.ask(SERVER_PLAIN)?.map(|results| (results, false)),
        };
        let (results, is_whole) = answer.map_err(|refusal| match refusal {
            Refusal::Error(_, text) => self.other_make(&text),
            Refusal::Late => self.silent(),
        })?;
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

    /// Finds the text of each subject that the server answers. One whose answer is late is asked
    /// again in the readings.
    fn probe(&mut self) -> Result<(), String> {
        for subject in Subject::ALL {
            let mut index = None;
            for (place, text) in subject.texts().iter().enumerate() {
                let late = match self.ask_within(text, self.limit(subject))? {
                    Ok(_) => 0,
                    Err(Refusal::Late) => 1,
                    Err(Refusal::Error(number, _))
                        if NO_PERMISSION.contains(&number) && subject == Subject::Time =>
                    {
                        return Err(self.no_permission());
                    }
                    Err(Refusal::Error(..)) => continue,
                };
                index = Some(place);
                self.sources.push((subject, text, late));
                break;
            }
            self.missing.extend(subject.loss(index).map(str::to_owned));
        }
        match self.sources.iter().any(|(subject, ..)| *subject == Subject::Time) {
            true => Ok(()),
            false => Err(self.other_make("it has no view of waits")),
        }
    }

    /// How long a question beside that may take.
    fn question(&self) -> Duration {
        QUESTION.min(self.settings.patience)
    }

    /// How long a question may take. The one about time may take all that is left.
    fn limit(&self, subject: Subject) -> Duration {
        match subject {
            Subject::Time => self.settings.patience,
            _ => self.question().min(self.left().saturating_sub(RESERVE)),
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
        recording.readings.extend(self.read(true)?);
        let mut silent = 0;
        for place in 1..=count {
            let due = u64::try_from(window.as_nanos() * place).unwrap_or(u64::MAX);
            let left = due.saturating_sub(clock::monotonic_ns() - began);
            let goes_on = wait(Duration::from_nanos(left));
            // A server that answers slowly is slow for others too: less is enough for a verdict.
            let is_late = clock::monotonic_ns() - began > nanoseconds(2 * length + LATE)
                || self.left() < 2 * RESERVE;
            let is_last = place == count || !goes_on || is_late;
            let reading = self.read(is_last)?;
            recording.has_gone_silent = reading.is_none();
            match reading {
                Some(reading) => recording.readings.push(reading),
                None => silent += 1,
            }
            if is_last || silent == LATE_MAX {
                break;
            }
        }
        if recording.readings.len() < 2 {
            return Err(self.silent());
        }
        for place in verdict::window::dearest(&recording) {
            // A plan that has left the cache since is not there.
            let text = verdict::question::plan(&place.0, place.1, place.2);
            if let Ok(results) = self.ask_within(&text, self.question())? {
                recording.take_plan(place, &results);
            }
        }
        recording.late = self.late();
        Ok(recording)
    }

    /// Asks all that belongs to one moment. `None` if the server does not say where its time goes.
    fn read(&mut self, is_end: bool) -> Result<Option<Reading>, String> {
        let mut reading = Reading::default();
        for place in 0..self.sources.len() {
            let (subject, text, late) = self.sources[place];
            let is_wanted = is_end || subject.is_of_each_window();
            if !is_wanted || late >= LATE_MAX && subject != Subject::Time {
                continue;
            }
            // A server without memory refuses questions: the one about time is asked again.
            let tries = if subject == Subject::Time { TRIES } else { 1 };
            for turn in 0..tries {
                if turn > 0 {
                    load::pause(RETRY);
                }
                reading.own_requests += 1;
                match self.ask_within(text, self.limit(subject))? {
                    Ok(results) => reading.take(subject, &results, clock::monotonic_ns()),
                    Err(Refusal::Late) => {
                        self.sources[place].2 += 1;
                        break;
                    }
                    // A view that fails once, such as by a lock timeout, is not in this reading.
                    Err(Refusal::Error(..)) => continue,
                }
                if subject != Subject::Time || reading.is_timed() {
                    break;
                }
            }
            if subject == Subject::Time && !reading.is_timed() {
                return Ok(None);
            }
        }
        Ok(Some(reading))
    }

    /// What was answered late, and how often.
    fn late(&self) -> Vec<(Subject, u32)> {
        let late = self.sources.iter().filter(|(.., late)| *late > 0);
        late.map(|(subject, _, late)| (*subject, *late)).collect()
    }

    /// Returns a count that a question asks for, and the server's monotonic clock in milliseconds;
    /// or why there is none.
    ///
    /// # Errors
    /// A sentence, if the connection is lost.
    pub(crate) fn progress(&mut self, count: &str) -> Result<Result<(f64, f64), String>, String> {
        let question = format!("SELECT ({count}), ms_ticks FROM sys.dm_os_sys_info;");
        let results = match self.ask_within(&question, self.question())? {
            Ok(results) => results,
            Err(refusal) => return Ok(Err(refusal.to_string())),
        };
        let row = results.first().and_then(|rows| rows.first()).cloned().unwrap_or_default();
        Ok(match (row.number(0), row.number(1)) {
            (Some(count), Some(ms)) => Ok((count, ms)),
            _ => Err("the server does not count what the intervention changes".to_owned()),
        })
    }

    fn no_permission(&self) -> String {
        format!(
            "the login '{}' lacks the permission VIEW SERVER STATE on {}",
            self.settings.target.login.user, self.server.name
        )
    }

    /// Says that there is a connection, and no answer to the first question.
    fn silent(&self) -> String {
        format!(
            "{} is connected, but does not answer in time where its time goes: look at the machine, \
             or, if all its workers wait, from there through the dedicated admin connection \
             (-S admin:HOST)",
            self.server.name
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
        // So does another make of server with what it takes for nonsense.
        None if ["has closed the connection", "reset by peer"]
            .iter()
            .any(|end| fault.text.contains(end)) =>
        {
            format!("{server} does not speak TDS, or takes no more connections: {}", fault.text)
        }
        None => format!("{server} cannot be reached: {}", fault.text),
    }
}
