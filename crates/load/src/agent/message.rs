//! Messages between coordinator and agent, and their encoding.

use std::time::Duration;

use hdrhistogram::Histogram;

use super::wire::{Reader, Writer};
use crate::link::Encrypt;
use crate::stress::{Pace, Pool, Second, Settings, Source, Tally, Workload};

type Result<T> = std::result::Result<T, String>;

/// The job of an agent, without its number of connections and the start time.
#[derive(Clone, Debug)]
pub struct Job {
    /// The server's name, which each agent resolves itself.
    pub server: String,
    /// The login's name; each agent has its own password.
    pub user: String,
    /// The database to connect to.
    pub database: String,
    /// How much is encrypted; `None` leaves the choice to the agent.
    pub encrypt: Option<Encrypt>,
    /// The requests to send.
    pub source: Source,
    /// How they are sent. Connections and rates are those of the whole load.
    pub settings: Settings,
    /// Number of threads of each agent.
    pub threads: usize,
}

/// A message from the coordinator.
#[derive(Debug)]
pub(super) enum Order {
    /// The first message: the job, the index of the agent's share, and the number of shares.
    Job(Box<Job>, u64, u64),
    /// Log in this many connections, of which the first has index `first` in the whole load; `rate`
    /// is the requests per second of an open loop.
    Level { connections: usize, first: usize, rate: f64 },
    /// A ping: answer with [`News::Pong`].
    Ping,
    /// Begin after this many nanoseconds, and run for the duration; `None` is until the work is
    /// done.
    Start { delay_ns: u64, duration_ns: Option<u64> },
    /// Begin no new requests.
    End,
    /// Stop waiting for outstanding answers.
    Cut,
}

/// A message from an agent.
#[derive(Debug)]
pub(super) enum News {
    /// The job has been accepted, or the level's connections have logged in.
    Ready,
    /// The job or level cannot be done, and why.
    Refused(String),
    /// The answer to a ping.
    Pong,
    /// One second's result, with its number and latencies.
    Second(usize, Second, Box<Histogram<u64>>),
    /// The complete result of a run.
    Done(Box<Tally>),
}

impl Order {
    pub(super) fn encode(&self) -> Vec<u8> {
        let mut writer = Writer::default();
        match self {
            Self::Job(job, index, shares) => {
                writer.number(1);
                put_job(&mut writer, job);
                writer.number(*index);
                writer.number(*shares);
            }
            Self::Level { connections, first, rate } => {
                writer.number(2);
                writer.size(*connections);
                writer.size(*first);
                writer.float(*rate);
            }
            Self::Ping => writer.number(3),
            Self::Start { delay_ns, duration_ns } => {
                writer.number(4);
                writer.number(*delay_ns);
                writer.maybe(*duration_ns);
            }
            Self::End => writer.number(5),
            Self::Cut => writer.number(6),
        }
        writer.bytes
    }

    pub(super) fn decode(bytes: &[u8]) -> Result<Self> {
        let mut reader = Reader { bytes };
        let order = match reader.number()? {
            1 => Self::Job(Box::new(job(&mut reader)?), reader.number()?, reader.number()?),
            2 => Self::Level {
                connections: reader.size()?,
                first: reader.size()?,
                rate: reader.float()?,
            },
            3 => Self::Ping,
            4 => Self::Start { delay_ns: reader.number()?, duration_ns: reader.maybe()? },
            5 => Self::End,
            6 => Self::Cut,
            _ => return Err(UNKNOWN.to_owned()),
        };
        whole(&reader, order)
    }
}

impl News {
    pub(super) fn encode(&self) -> Vec<u8> {
        let mut writer = Writer::default();
        match self {
            Self::Ready => writer.number(1),
            Self::Refused(why) => {
                writer.number(2);
                writer.text(why);
            }
            Self::Pong => writer.number(3),
            Self::Second(number, second, latencies) => {
                writer.number(4);
                writer.size(*number);
                writer.number(second.at_ns);
                writer.number(second.wall_ns);
                writer.number(second.errors);
                writer.histogram(latencies);
            }
            Self::Done(tally) => {
                writer.number(5);
                put_tally(&mut writer, tally);
            }
        }
        writer.bytes
    }

    pub(super) fn decode(bytes: &[u8]) -> Result<Self> {
        let mut reader = Reader { bytes };
        let news = match reader.number()? {
            1 => Self::Ready,
            2 => Self::Refused(reader.text()?),
            3 => Self::Pong,
            4 => {
                let number = reader.size()?;
                let second = Second {
                    at_ns: reader.number()?,
                    wall_ns: reader.number()?,
                    errors: reader.number()?,
                    ..Second::default()
                };
                Self::Second(number, second, Box::new(reader.histogram()?))
            }
            5 => Self::Done(Box::new(tally(&mut reader)?)),
            _ => return Err(UNKNOWN.to_owned()),
        };
        whole(&reader, news)
    }
}

const UNKNOWN: &str = "a message is unknown";

/// Returns a message, if the reader has no bytes left.
fn whole<T>(reader: &Reader<'_>, message: T) -> Result<T> {
    if reader.bytes.is_empty() {
        Ok(message)
    } else {
        Err("a message has bytes behind its end".to_owned())
    }
}

fn put_job(writer: &mut Writer, job: &Job) {
    writer.text(&job.server);
    writer.text(&job.user);
    writer.text(&job.database);
    writer.number(match job.encrypt {
        None => 0,
        Some(Encrypt::Off) => 1,
        Some(Encrypt::On) => 2,
        Some(Encrypt::Strict) => 3,
    });
    match &job.source {
        Source::Scripts(scripts) => {
            writer.number(1);
            writer.size(scripts.len());
            for (name, text) in scripts {
                writer.text(name);
                writer.text(text);
            }
        }
        Source::Known(workload) => {
            writer.number(2);
            writer.text(workload.name());
            writer.number(match workload {
                Workload::Tpcc { warehouses } => (*warehouses).into(),
                _ => 0,
            });
        }
        Source::File(text) => {
            writer.number(3);
            writer.text(text);
        }
    }
    let settings = &job.settings;
    writer.number(match settings.pool {
        Pool::Keep => 0,
        Pool::Reset => 1,
        Pool::Reconnect => 2,
    });
    match settings.pace {
        Pace::Closed { think } => writer.maybe(Some(nanoseconds(think))),
        Pace::Open { .. } => writer.maybe(None),
    }
    writer.maybe(settings.iterations);
    writer.number(nanoseconds(settings.login_timeout));
    writer.maybe(settings.query_timeout.map(nanoseconds));
    writer.number(settings.retries.into());
    writer.number(settings.stop_on_error.into());
    writer.size(job.threads);
}

fn job(reader: &mut Reader<'_>) -> Result<Job> {
    let (server, user, database) = (reader.text()?, reader.text()?, reader.text()?);
    let encrypt = match reader.number()? {
        0 => None,
        1 => Some(Encrypt::Off),
        2 => Some(Encrypt::On),
        3 => Some(Encrypt::Strict),
        _ => return Err(UNKNOWN.to_owned()),
    };
    let source = source(reader)?;
    let pool = match reader.number()? {
        0 => Pool::Keep,
        1 => Pool::Reset,
        2 => Pool::Reconnect,
        _ => return Err(UNKNOWN.to_owned()),
    };
    // The rate is sent with each level.
    let pace = match reader.maybe()? {
        Some(think) => Pace::Closed { think: Duration::from_nanos(think) },
        None => Pace::Open { rate: 0.0 },
    };
    let settings = Settings {
        connections: 0,
        pace,
        pool,
        iterations: reader.maybe()?,
        login_timeout: Duration::from_nanos(reader.number()?),
        query_timeout: reader.maybe()?.map(Duration::from_nanos),
        retries: u32::try_from(reader.number()?).unwrap_or(u32::MAX),
        stop_on_error: reader.number()? != 0,
    };
    let threads = reader.size()?;
    Ok(Job { server, user, database, encrypt, source, settings, threads })
}

fn source(reader: &mut Reader<'_>) -> Result<Source> {
    match reader.number()? {
        1 => {
            let count = reader.length()?;
            let script = |reader: &mut Reader<'_>| Ok((reader.text()?, reader.text()?));
            (0..count).map(|_| script(reader)).collect::<Result<_>>().map(Source::Scripts)
        }
        2 => {
            let name = reader.text()?;
            let size = u32::try_from(reader.number()?).unwrap_or(0);
            let known = Workload::ALL.into_iter().find(|known| known.name() == name);
            match known.ok_or(UNKNOWN)? {
                Workload::Tpcc { .. } if size == 0 => Err(UNKNOWN.to_owned()),
                Workload::Tpcc { .. } => Ok(Source::Known(Workload::Tpcc { warehouses: size })),
                other => Ok(Source::Known(other)),
            }
        }
        3 => reader.text().map(Source::File),
        _ => Err(UNKNOWN.to_owned()),
    }
}

fn put_tally(writer: &mut Writer, tally: &Tally) {
    writer.size(tally.kinds.len());
    let own = [&tally.latencies, &tally.service, &tally.logins];
    own.into_iter().chain(&tally.kinds).for_each(|histogram| writer.histogram(histogram));
    tally.kind_failures.iter().for_each(|count| writer.number(*count));
    writer.counts(&tally.errors);
    writer.counts(&tally.retries);
    writer.size(tally.error_texts.len());
    for (number, text) in &tally.error_texts {
        writer.number(number.cast_unsigned().into());
        writer.text(text);
    }
    writer.size(tally.faults.len());
    for (text, count) in &tally.faults {
        writer.text(text);
        writer.number(*count);
    }
    for number in [
        tally.failed,
        tally.timeouts,
        tally.never_sent,
        tally.bytes.0,
        tally.bytes.1,
        tally.wall_ns,
        tally.own_cpu_ns,
        u64::from(tally.is_bottleneck()),
    ] {
        writer.number(number);
    }
    writer.size(tally.threads);
}

fn tally(reader: &mut Reader<'_>) -> Result<Tally> {
    let kinds = reader.length()?;
    let mut tally = Tally::new(kinds);
    tally.latencies = reader.histogram()?;
    tally.service = reader.histogram()?;
    tally.logins = reader.histogram()?;
    for kind in &mut tally.kinds {
        *kind = reader.histogram()?;
    }
    for count in &mut tally.kind_failures {
        *count = reader.number()?;
    }
    tally.errors = reader.counts()?;
    tally.retries = reader.counts()?;
    for _ in 0..reader.length()? {
        let number = u32::try_from(reader.number()?).map_err(|_| UNKNOWN)?;
        tally.error_texts.insert(number.cast_signed(), reader.text()?);
    }
    for _ in 0..reader.length()? {
        let text = reader.text()?;
        tally.faults.insert(text, reader.number()?);
    }
    tally.failed = reader.number()?;
    tally.timeouts = reader.number()?;
    tally.never_sent = reader.number()?;
    tally.bytes = (reader.number()?, reader.number()?);
    tally.wall_ns = reader.number()?;
    tally.own_cpu_ns = reader.number()?;
    tally.has_slow_part = reader.number()? != 0;
    tally.threads = reader.size()?;
    Ok(tally)
}

pub(super) fn nanoseconds(duration: Duration) -> u64 {
    u64::try_from(duration.as_nanos()).unwrap_or(u64::MAX)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn sample() -> Job {
        Job {
            server: "db,1433".to_owned(),
            user: "me".to_owned(),
            database: "d".to_owned(),
            encrypt: Some(Encrypt::Strict),
            source: Source::Scripts(vec![("-Q".to_owned(), "select 1\ngo\nselect 2".to_owned())]),
            settings: Settings {
                connections: 0,
                pace: Pace::Closed { think: Duration::from_millis(3) },
                pool: Pool::Reset,
                iterations: Some(7),
                login_timeout: Duration::from_secs(9),
                query_timeout: None,
                retries: 4,
                stop_on_error: true,
            },
            threads: 2,
        }
    }

    #[test]
    fn a_job_comes_as_it_went_and_no_part_of_it_is_one() {
        let sources = [
            sample().source,
            Source::File("[[statement]]".to_owned()),
            Source::Known(Workload::Tpcc { warehouses: 12 }),
            Source::Known(Workload::Queue),
        ];
        for source in sources {
            let sent = Job { source, ..sample() };
            let bytes = Order::Job(Box::new(sent.clone()), 1, 3).encode();
            let Ok(Order::Job(found, 1, 3)) = Order::decode(&bytes) else { panic!("a job") };
            assert_eq!(format!("{found:?}"), format!("{sent:?}"));
            for cut in 0..bytes.len() {
                assert!(Order::decode(&bytes[..cut]).is_err(), "cut at {cut}");
            }
            assert!(Order::decode(&[&bytes[..], &[0]].concat()).is_err());
        }
    }

    #[test]
    fn a_tally_comes_as_it_went() {
        let mut sent = Tally::new(2);
        for value in [1_000, 2_000_000, 3_600_000_000_000] {
            sent.latencies.saturating_record(value);
            sent.kinds[1].saturating_record(value);
        }
        sent.errors.insert(1205, 3);
        sent.error_texts.insert(1205, "deadlock".to_owned());
        sent.retries.insert(41302, 5);
        sent.fault("gone");
        sent.kind_failures[1] = 3;
        sent.failed = 3;
        sent.bytes = (10, 20);
        sent.threads = 4;
        let bytes = News::Done(Box::new(sent.clone())).encode();
        let Ok(News::Done(found)) = News::decode(&bytes) else { panic!("a tally") };
        assert_eq!((&found.latencies, &found.kinds), (&sent.latencies, &sent.kinds));
        assert_eq!((&found.errors, &found.retries), (&sent.errors, &sent.retries));
        assert_eq!((&found.faults, &found.error_texts), (&sent.faults, &sent.error_texts));
        assert_eq!((found.kind_failures, found.failed), (sent.kind_failures, sent.failed));
        assert_eq!((found.bytes, found.threads), (sent.bytes, sent.threads));
    }
}
