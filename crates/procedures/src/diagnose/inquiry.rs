//! `Inquiry`: the questions of `sys.sp_diagnose`, each with a limit of time, so that a view which
//! waits behind what is wrong does not keep the verdict.

use std::sync::Arc;
use std::time::Duration;

use sos::clock;
use sos::park::{self, Wake, Watch};
use sos::wait::WaitType;
use types::{Error, Value};
use verdict::recording::{Reading, Recording, Server, Subject};
use verdict::row::Row;

use crate::executesql::{prepare, run_prepared};
use ::executor::Cx;
use ::plan::sink::FirstError;
use interpreter::Stop;
use interpreter::capture::{Capture, CapturedSet};

/// Sub-windows in a recording: enough for a confidence interval.
const WINDOWS: u32 = 10;
/// How long one question may take. Most views answer in milliseconds; one that takes longer waits
/// behind what is wrong.
const QUESTION: Duration = Duration::from_secs(5);
/// What readings and plans may take beside the length of the look.
const BESIDE: Duration = Duration::from_secs(40);
/// Time that other questions leave for the one about time, without which there is no verdict.
const RESERVE: Duration = Duration::from_secs(10);
/// A question that was late as often as this is not asked any more.
const LATE_MAX: u32 = 2;
/// How often the question about time is asked if it is refused: a server without memory does.
const TRIES: u32 = 10;
/// The pause between two of those.
const RETRY: Duration = Duration::from_millis(50);

/// Why a question has no answer, though the session goes on.
enum Refusal {
    /// The error with which the question failed.
    Error(Error),
    /// The question took longer than its limit.
    Late,
}

/// An answer: its results, or why there are none.
type Answered = Result<Vec<Vec<Row>>, Refusal>;

/// The questions of one call.
pub(super) struct Inquiry {
    watch: Watch,
    /// How long each question may take.
    limit: Duration,
    /// When the last question has to be over, by the monotonic clock.
    end_ns: u64,
    /// How often each subject's answer was late.
    late: Vec<(Subject, u32)>,
    /// Subjects that were refused, and why.
    refused: Vec<(Subject, String)>,
}

/// Reads at the edges of sub-windows.
pub(super) fn record(length: Duration, cx: &mut Cx<'_>) -> Result<Recording, Stop> {
    let watch = Watch::start(&cx.session.instance.machine, "sp_diagnose").map_err(|error| {
        let text = format!("sp_diagnose: no thread to watch the time: {error}");
        Error::custom(super::NO_THREAD, 17, 1, text)
    })?;
    let inquiry = Inquiry {
        watch,
        limit: QUESTION,
        end_ns: clock::deadline_ns(length + BESIDE),
        late: Vec::new(),
        refused: Vec::new(),
    };
    inquiry.record(length, cx)
}

impl Inquiry {
    fn record(mut self, length: Duration, cx: &mut Cx<'_>) -> Result<Recording, Stop> {
        let mut recording = Recording { server: self.server(cx)?, ..Recording::default() };
        recording.readings.extend(self.read(true, cx)?);
        for window in 1..=WINDOWS {
            let cancel = Arc::clone(&cx.session.connection.cancel);
            if park::sleep(length / WINDOWS, WaitType::WaitFor, Some(&cancel)) == Wake::Cancelled {
                return Err(Stop::Cancelled);
            }
            // A server that answers slowly is slow for others too: less is enough for a verdict.
            let is_last = window == WINDOWS || self.left() < 2 * RESERVE;
            recording.readings.extend(self.read(is_last, cx)?);
            if is_last {
                break;
            }
        }
        for place in verdict::window::dearest(&recording) {
            let text = verdict::question::plan(&place.0, place.1, place.2);
            // A plan that has left the cache since is not there.
            if let Ok(results) = self.ask(&text, self.limit.min(self.left()), cx)? {
                recording.take_plan(place, &results);
            }
        }
        let why = |(subject, why): (Subject, String)| format!("{}: {why}", subject.view());
        recording.missing = self.refused.into_iter().map(why).collect();
        recording.late = self.late;
        Ok(recording)
    }

    fn server(&self, cx: &mut Cx<'_>) -> Result<Server, Stop> {
        let mut first = |text: &str| {
            let results = self.ask(text, self.limit, cx)?.unwrap_or_default();
            let row = results.first().and_then(|rows| rows.first());
            Ok::<_, Stop>(row.map_or(String::new(), |row| row.text(0).to_owned()))
        };
        let name = first("SELECT CONVERT(nvarchar(128), SERVERPROPERTY('ServerName'))")?;
        let version = first(verdict::question::SERVER)?;
        let version = version.lines().nth(1).unwrap_or(&version).trim().to_owned();
        Ok(Server { name, version, is_clearway: true })
    }

    /// Asks all that belongs to one moment. `None` if the server does not say where its time goes.
    fn read(&mut self, is_end: bool, cx: &mut Cx<'_>) -> Result<Option<Reading>, Stop> {
        let mut reading = Reading::default();
        for subject in Subject::ALL {
            let late = self.late.iter().find(|(known, _)| *known == subject).map_or(0, |l| l.1);
            let is_time = subject == Subject::Time;
            let is_wanted = is_end || subject.is_of_each_window();
            if is_wanted && (is_time || late < LATE_MAX) {
                self.take(subject, &mut reading, cx)?;
            }
        }
        Ok(reading.is_timed().then_some(reading))
    }

    fn take(
        &mut self,
        subject: Subject,
        reading: &mut Reading,
        cx: &mut Cx<'_>,
    ) -> Result<(), Stop> {
        let is_time = subject == Subject::Time;
        let limit = match is_time {
            true => self.left(),
            false => self.limit.min(self.left().saturating_sub(RESERVE)),
        };
        for turn in 0..if is_time { TRIES } else { 1 } {
            if turn > 0 {
                let cancel = Arc::clone(&cx.session.connection.cancel);
                park::sleep(RETRY, WaitType::WaitFor, Some(&cancel));
            }
            match self.ask(subject.texts()[0], limit, cx)? {
                Ok(results) => {
                    reading.take(subject, &results, clock::monotonic_ns());
                    return Ok(());
                }
                Err(Refusal::Late) => {
                    self.was_late(subject);
                    return Ok(());
                }
                Err(Refusal::Error(error)) => self.was_refused(subject, &error),
            }
        }
        Ok(())
    }

    fn was_late(&mut self, subject: Subject) {
        match self.late.iter_mut().find(|(known, _)| *known == subject) {
            Some((_, times)) => *times += 1,
            None => self.late.push((subject, 1)),
        }
    }

    fn was_refused(&mut self, subject: Subject, error: &Error) {
        if !self.refused.iter().any(|(known, _)| *known == subject) {
            self.refused.push((subject, error.message.to_string()));
        }
    }

    /// The time that is left for questions.
    fn left(&self) -> Duration {
        Duration::from_nanos(self.end_ns.saturating_sub(clock::monotonic_ns()))
    }

    /// Runs a question in this session, and returns its results.
    ///
    /// # Errors
    /// The client has cancelled the request, or has gone.
    fn ask(&self, question: &str, limit: Duration, cx: &mut Cx<'_>) -> Result<Answered, Stop> {
        if limit.is_zero() {
            return Ok(Err(Refusal::Late));
        }
        let request = Arc::clone(&cx.session.connection.cancel);
        // An error of a question is a line of the verdict, and no message to the client.
        let mut unheard = FirstError::default();
        let ran = self.watch.run(limit, &request, |cancel| {
            cx.session.connection.cancel = Arc::clone(cancel);
            let ran = run(question, &mut unheard, cx);
            cx.session.connection.cancel = Arc::clone(&request);
            ran
        });
        match (ran, unheard.into_error()) {
            (Err(stop @ Stop::Disconnected), _) => Err(stop),
            (Err(stop @ Stop::Cancelled), _) if request.is_set() => Err(stop),
            (Err(Stop::Cancelled), _) => Ok(Err(Refusal::Late)),
            (Err(Stop::Error(error) | Stop::Thrown(error) | Stop::Unbound(error)), _)
            | (Ok(_) | Err(Stop::Scope | Stop::Batch), Some(error)) => {
                Ok(Err(Refusal::Error(error)))
            }
            (Err(stop @ (Stop::Scope | Stop::Batch)), None) => Err(stop),
            (Ok(results), None) => Ok(Ok(results)),
        }
    }
}

fn run(question: &str, unheard: &mut FirstError, cx: &mut Cx<'_>) -> Result<Vec<Vec<Row>>, Stop> {
    let entry = prepare(&Value::nvarchar(question), &Value::Null, cx.session)?;
    let mut captured = Capture::new(unheard);
    let mut inner = Cx::new(cx.host, cx.session, cx.frame, &mut captured);
    run_prepared(entry, &mut [], &mut inner)?;
    let text = |set: CapturedSet| set.rows.iter().map(|row| Row::from_values(row)).collect();
    Ok(captured.into_sets().into_iter().map(text).collect())
}
