//! `Conversation`: what is asked when. After each login the server is recognized and every topic is
//! probed; then a round of questions follows in each interval.

use sos::clock;

use crate::app::{App, Command};
use crate::client::{Ask, Client, Event, Refusal};
use crate::question::{self, Topic};
use crate::rows::Row;

/// The login has no permission for a view: VIEW SERVER STATE, or one of a database.
const NO_PERMISSION: [i32; 3] = [297, 300, 371];

/// What was found out about a topic.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Source {
    /// The topic was not probed yet.
    Unknown,
    /// The text of this index works.
    Text(usize),
    /// The server refuses every text.
    Missing,
}

/// The questions to one server.
pub(crate) struct Conversation {
    client: Client,
    /// The name of the server, for sentences.
    server: String,
    user: String,
    sources: [Source; Topic::SHOWN.len()],
    was_connected: bool,
    is_probed: bool,
    next_round_ns: u64,
    /// Rounds that have been asked and answered.
    rounds: u64,
    is_in_round: bool,
}

impl Conversation {
    pub(crate) fn new(client: Client, server: &str, user: &str) -> Self {
        Self {
            client,
            server: server.to_owned(),
            user: user.to_owned(),
            sources: [Source::Unknown; Topic::SHOWN.len()],
            was_connected: false,
            is_probed: false,
            next_round_ns: 0,
            rounds: 0,
            is_in_round: false,
        }
    }

    /// Returns how many rounds have been answered.
    pub(crate) const fn rounds(&self) -> u64 {
        self.rounds
    }

    /// Waits until something has arrived or is due, for so long at most.
    pub(crate) fn wait(&mut self, ns: u64) {
        let now_ns = clock::monotonic_ns();
        let due = if self.is_probed { self.next_round_ns.saturating_sub(now_ns) } else { ns };
        self.client.wait(due.clamp(1_000_000, ns));
    }

    /// Does all that can be done without waiting; returns whether the screen has changed.
    ///
    /// # Errors
    /// A sentence that says why the program cannot go on.
    pub(crate) fn advance(&mut self, app: &mut App) -> Result<bool, String> {
        let mut has_changed = false;
        while let Some(event) = self.client.advance() {
            has_changed = true;
            self.take(event, app)?;
        }
        let now_ns = clock::monotonic_ns();
        if self.is_probed && self.client.is_idle() {
            if self.is_in_round {
                self.is_in_round = false;
                self.rounds += 1;
                has_changed = true;
            }
            if now_ns >= self.next_round_ns {
                self.begin_round(app);
                // Sends the first question.
                while let Some(event) = self.client.advance() {
                    self.take(event, app)?;
                }
            }
        }
        Ok(has_changed)
    }

    /// Passes on what a key asked for.
    pub(crate) fn command(&mut self, command: Command, app: &mut App) {
        match command {
            Command::Refresh => self.next_round_ns = 0,
            _ if app.away.is_some() => app.say("The server is away."),
            Command::Plan(handle, start, end) => {
                self.client.ask_first(Ask::Plan, question::plan(&handle, start, end));
            }
            Command::Kill(session) => {
                self.client.ask_first(Ask::Kill(session), question::kill(session));
                self.next_round_ns = 0;
            }
        }
    }

    fn begin_round(&mut self, app: &App) {
        self.next_round_ns = clock::monotonic_ns() + app.interval_ns();
        self.is_in_round = true;
        for topic in [&[Topic::Time], app.screen().topics()].concat() {
            if let Source::Text(index) = self.source(topic) {
                self.client.ask(Ask::Read(topic), topic.texts()[index]);
            }
        }
    }

    fn take(&mut self, event: Event, app: &mut App) -> Result<(), String> {
        match event {
            Event::Connected => {
                self.was_connected = true;
                app.connected();
                self.client.ask(Ask::Setup, question::SETUP);
                self.client.ask(Ask::Probe(Topic::Server, 0), Topic::Server.texts()[0]);
            }
            Event::Refused(why) => {
                return Err(format!("{} refused the login '{}': {why}", self.server, self.user));
            }
            Event::Lost(why) => {
                self.is_probed = false;
                self.is_in_round = false;
                if !self.was_connected {
                    return Err(self.unreachable(&why));
                }
                app.lost(&why);
            }
            Event::Answer(ask, answer) => self.take_answer(ask, answer, app)?,
        }
        Ok(())
    }

    /// Says why the first connection failed.
    fn unreachable(&self, why: &str) -> String {
        match why.starts_with("wrong answer") {
            true => format!("{} does not speak TDS ({why})", self.server),
            false => format!("{} cannot be reached: {why}", self.server),
        }
    }

    fn take_answer(
        &mut self,
        ask: Ask,
        answer: Result<Vec<Vec<Row>>, Refusal>,
        app: &mut App,
    ) -> Result<(), String> {
        match (ask, answer) {
            // Options that a server does not know are not needed.
            (Ask::Setup, _) => {}
            (Ask::Probe(Topic::Server, index), answer) => self.recognize(index, answer, app)?,
            (Ask::Probe(topic, index), Ok(results)) => {
                self.set_source(topic, Source::Text(index));
                app.take(topic, &results, clock::monotonic_ns());
                self.probe_next(app)?;
            }
            (Ask::Probe(topic, index), Err(_)) => match topic.texts().get(index + 1) {
                Some(text) => self.client.ask(Ask::Probe(topic, index + 1), *text),
                None => {
                    self.set_source(topic, Source::Missing);
                    self.probe_next(app)?;
                }
            },
            (Ask::Read(topic), Ok(results)) => app.take(topic, &results, clock::monotonic_ns()),
            (Ask::Read(_), Err(error)) if NO_PERMISSION.contains(&error.number) => {
                return Err(self.no_permission());
            }
            (Ask::Plan, Ok(results)) => {
                let plan = results.first().and_then(|rows| rows.first());
                app.show_plan(plan.map_or("", |row| row.text(0)));
            }
            (Ask::Kill(session), Ok(_)) => app.say(format!("Session {session} was killed.")),
            (Ask::Read(_) | Ask::Plan | Ask::Kill(_), Err(error)) => {
                app.say(format!("Error {}: {}", error.number, error.text));
            }
        }
        Ok(())
    }

    /// Finds out who the server is, and whether the login may see its state.
    fn recognize(
        &mut self,
        index: usize,
        answer: Result<Vec<Vec<Row>>, Refusal>,
        app: &mut App,
    ) -> Result<(), String> {
        match answer {
            Ok(results) if index == 0 => {
                let row =
                    results.first().and_then(|rows| rows.first()).cloned().unwrap_or_default();
                if row.integer(2) != Some(1) && row.integer(3) != Some(1) {
                    return Err(self.no_permission());
                }
                app.take(Topic::Server, &results, clock::monotonic_ns());
                self.sources = [Source::Unknown; Topic::SHOWN.len()];
                self.probe_next(app)
            }
            Ok(results) => {
                let version = results.first().and_then(|rows| rows.first());
                let version = version.map_or("", |row| row.text(0));
                Err(self.other_make(&format!("it is '{}'", crate::format::clean(version))))
            }
            Err(error) => match Topic::Server.texts().get(index + 1) {
                Some(text) => {
                    self.client.ask(Ask::Probe(Topic::Server, index + 1), *text);
                    Ok(())
                }
                None => Err(self.other_make(&format!("it answers '{}'", error.text))),
            },
        }
    }

    fn probe_next(&mut self, app: &mut App) -> Result<(), String> {
        let next = Topic::SHOWN.into_iter().find(|topic| self.source(*topic) == Source::Unknown);
        if let Some(topic) = next {
            self.client.ask(Ask::Probe(topic, 0), topic.texts()[0]);
            return Ok(());
        }
        if self.sources.iter().all(|source| *source == Source::Missing) {
            return Err(self.other_make("it has none of the views that are read"));
        }
        let loss = |topic: Topic| match self.source(topic) {
            Source::Text(index) => topic.loss(Some(index)),
            Source::Missing | Source::Unknown => topic.loss(None),
        };
        app.set_missing(Topic::SHOWN.into_iter().filter_map(loss).collect());
        self.is_probed = true;
        self.next_round_ns = 0;
        Ok(())
    }

    fn no_permission(&self) -> String {
        format!(
            "the login '{}' lacks the permission VIEW SERVER STATE on {}",
            self.user, self.server
        )
    }

    fn other_make(&self, what: &str) -> String {
        format!("{} is neither Clearway nor SQL Server: {what}", self.server)
    }

    fn source(&self, topic: Topic) -> Source {
        let place = Topic::SHOWN.iter().position(|shown| *shown == topic);
        place.map_or(Source::Missing, |place| self.sources[place])
    }

    fn set_source(&mut self, topic: Topic, source: Source) {
        if let Some(place) = Topic::SHOWN.iter().position(|shown| *shown == topic) {
            self.sources[place] = source;
        }
    }
}
