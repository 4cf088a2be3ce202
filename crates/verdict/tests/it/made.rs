//! Made readings: what a server would answer, second by second.

use verdict::Recording;
use verdict::recording::{Reading, Server, Subject};
use verdict::row::Row;

/// Seconds of a recording.
pub(crate) const SECONDS: i64 = 8;

/// A server's answers, as growth per second.
#[derive(Clone, Default)]
pub(crate) struct Made {
    /// Category, name, milliseconds and entries per second.
    pub(crate) ledger: Vec<(&'static str, &'static str, f64, i64)>,
    /// Counters that grow, and how much per second.
    pub(crate) rates: Vec<(&'static str, i64)>,
    /// Counters that stay as they are.
    pub(crate) levels: Vec<(&'static str, i64)>,
    /// Rows of subjects that are the same in each reading.
    pub(crate) rows: Vec<(Subject, &'static str)>,
    /// Statements: text, executions, CPU ms and rows per second.
    pub(crate) statements: Vec<(&'static str, i64, i64, i64)>,
    /// Plans of statements, by their place among them.
    pub(crate) plans: Vec<(usize, &'static str)>,
    /// An event session's published events per second.
    pub(crate) published: i64,
    /// Facts of the environment that grow by so much each second.
    pub(crate) environment: Vec<(&'static str, i64)>,
    /// Questions with late answers.
    pub(crate) late: Vec<(Subject, u32)>,
    /// Whether it is another make: no ledger.
    pub(crate) is_foreign: bool,
}

impl Made {
    /// A healthy load: 1,000 requests and 0.5 s of CPU per second.
    pub(crate) fn healthy() -> Self {
        Self {
            ledger: vec![
                ("user", "execute", 300.0, 0),
                ("user", "scan", 20.0, 0),
                ("user", "bind", 3.0, 0),
                ("kernel", "send", 100.0, 1_000),
                ("kernel", "recv", 77.0, 1_000),
                ("runnable", "running", 40.0, 0),
                ("observation", "observing", 4.0, 9),
                ("idle", "poll", 3_000.0, 900),
                ("idle", "SLEEP_TASK", 4_000.0, 9),
            ],
            rates: vec![("Batch Requests/sec", 1_005)],
            statements: vec![("SELECT n FROM t WHERE id = @id", 1_000, 300, 1_000)],
            ..Self::default()
        }
    }

    pub(crate) fn with(
        mut self,
        category: &'static str,
        name: &'static str,
        ms: f64,
        entries: i64,
    ) -> Self {
        self.ledger.push((category, name, ms, entries));
        self
    }

    pub(crate) fn rate(mut self, name: &'static str, rate: i64) -> Self {
        self.rates.push((name, rate));
        self
    }

    pub(crate) fn level(mut self, name: &'static str, level: i64) -> Self {
        self.levels.push((name, level));
        self
    }

    pub(crate) fn rows(mut self, subject: Subject, text: &'static str) -> Self {
        self.rows.push((subject, text));
        self
    }

    pub(crate) fn statement(mut self, text: &'static str, calls: i64, ms: i64, rows: i64) -> Self {
        self.statements.push((text, calls, ms, rows));
        self
    }

    /// The plan of the last statement.
    pub(crate) fn plan(mut self, plan: &'static str) -> Self {
        self.plans.push((self.statements.len() - 1, plan));
        self
    }

    pub(crate) fn recording(&self) -> Recording {
        let plans = self
            .plans
            .iter()
            .map(|(place, plan)| ((format!("0x{place}"), 0, -1), (*plan).to_owned()));
        let readings = (0..=SECONDS).map(|second| self.reading(second, 1_000 * second));
        Recording {
            server: Server {
                name: "db1".to_owned(),
                version: "Clearway 0.1.0".to_owned(),
                is_clearway: !self.is_foreign,
            },
            readings: readings.collect(),
            missing: Vec::new(),
            late: self.late.clone(),
            has_gone_silent: false,
            plans: plans.collect(),
        }
    }

    /// The reading of a second, in which the server did not answer about a subject.
    pub(crate) fn reading_without(&self, second: i64, subject: Subject) -> Reading {
        self.reading_of(second, 1_000 * second, Some(subject))
    }

    /// The reading of a second, at a moment of the server's clock.
    pub(crate) fn reading(&self, second: i64, ticks_ms: i64) -> Reading {
        self.reading_of(second, ticks_ms, None)
    }

    fn reading_of(&self, second: i64, ticks_ms: i64, without: Option<Subject>) -> Reading {
        let mut reading = Reading::default();
        reading.own_requests = 5;
        let clock = format!("{ticks_ms}\t7\t10:00:00\t{second}\t2\t{}\t0\t0", 400 * second);
        // One second is a little longer than the next, so that intervals have a width.
        let uneven = |ms: f64| ms * (second as f64 + 0.02 * (second % 2) as f64) * 1e6;
        let ledger = self.ledger.iter().map(|(category, name, ms, entries)| {
            format!("{category}\t{name}\t{:.0}\t{}", 5e9 + uneven(*ms), entries * second)
        });
        let ledger = lines(ledger);
        let local_ns = u64::try_from(second).unwrap_or(0) * 1_000_000_000;
        let mut take = |subject, results: &[Vec<Row>], local_ns| {
            if Some(subject) != without {
                reading.take(subject, results, local_ns);
            }
        };
        take(Subject::Time, &[rows(&clock), rows(&ledger)], local_ns);
        let rates = self.rates.iter().map(|(name, rate)| format!("{name}\t{}", rate * second));
        let levels = self.levels.iter().map(|(name, level)| format!("{name}\t{level}"));
        take(Subject::Counters, &[rows(&lines(rates.chain(levels)))], local_ns);
        let statements =
            self.statements.iter().enumerate().map(|(plan, (text, calls, ms, found))| {
                let (calls, us) = (calls * second, 1_000 * ms * second);
                format!(
                    "0x{plan}\t0\t-1\tt\t{calls}\t{us}\t{us}\t0\t{}\tapp\t{text}",
                    found * second
                )
            });
        take(Subject::Statements, &[rows(&lines(statements))], local_ns);
        let published = format!("chatty\tsql_batch_completed\t{}\t0", self.published * second);
        take(Subject::Events, &[rows(&published)], local_ns);
        let facts =
            self.environment.iter().map(|(name, rate)| format!("{name}\t{}\t\\N", rate * second));
        take(Subject::Environment, &[rows(&lines(facts))], local_ns);
        take(Subject::Clerks, &[rows("MEMORYCLERK_XTP\t1000")], local_ns);
        for (subject, text) in &self.rows {
            take(*subject, &[rows(text)], local_ns);
        }
        reading
    }
}

fn lines(lines: impl Iterator<Item = String>) -> String {
    lines.collect::<Vec<_>>().join("\n")
}

fn rows(text: &str) -> Vec<Row> {
    text.lines().filter(|line| !line.is_empty()).map(Row::from_record).collect()
}
