//! `Options`: what ALTER DATABASE .. SET QUERY_STORE has set. The catalog keeps them as one line of
//! text, among the database's other options.

use catalog::DatabaseOptions;

/// The name of the option in the catalog.
pub const NAME: &str = "QUERY_STORE";

/// OPERATION_MODE, or OFF; the numbers are those of `desired_state`.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Mode {
    /// Nothing is recorded. What was recorded stays.
    #[default]
    Off = 0,
    /// As OFF, but for how it is shown.
    ReadOnly = 1,
    /// Queries are recorded while they run.
    ReadWrite = 2,
}

impl Mode {
    /// All modes, by number.
    pub const ALL: [Self; 3] = [Self::Off, Self::ReadOnly, Self::ReadWrite];

    /// Returns the word of statements and views.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Off => "OFF",
            Self::ReadOnly => "READ_ONLY",
            Self::ReadWrite => "READ_WRITE",
        }
    }
}

/// QUERY_CAPTURE_MODE; the numbers are those of `query_capture_mode`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Capture {
    /// Every query is recorded.
    All = 1,
    /// Queries that run often or take long are recorded.
    Auto = 2,
    /// No new query is recorded.
    None = 3,
    /// As `Auto`, by QUERY_CAPTURE_POLICY.
    Custom = 4,
}

impl Capture {
    /// All modes, by number.
    pub const ALL: [Self; 4] = [Self::All, Self::Auto, Self::None, Self::Custom];

    /// Returns the word of statements and views.
    pub const fn name(self) -> &'static str {
        match self {
            Self::All => "ALL",
            Self::Auto => "AUTO",
            Self::None => "NONE",
            Self::Custom => "CUSTOM",
        }
    }
}

/// QUERY_CAPTURE_POLICY: a query is recorded once it has reached one of these within the time.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Policy {
    /// EXECUTION_COUNT: how often it has run.
    pub executions: u64,
    /// TOTAL_COMPILE_CPU_TIME_MS: how long it was compiled.
    pub compile_ms: u64,
    /// TOTAL_EXECUTION_CPU_TIME_MS: how much CPU time it has used.
    pub execution_ms: u64,
    /// STALE_CAPTURE_POLICY_THRESHOLD, in hours: how long counts are added up.
    pub stale_hours: u64,
}

impl Default for Policy {
    fn default() -> Self {
        Self { executions: 30, compile_ms: 1_000, execution_ms: 100, stale_hours: 24 }
    }
}

/// The options of a database's Query Store.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Options {
    /// The value of OPERATION_MODE, or OFF.
    pub mode: Mode,
    /// DATA_FLUSH_INTERVAL_SECONDS: how much a crash may lose.
    pub flush_seconds: u64,
    /// INTERVAL_LENGTH_MINUTES: the length of the intervals of statistics.
    pub interval_minutes: u64,
    /// MAX_STORAGE_SIZE_MB: where it becomes read-only.
    pub max_mb: u64,
    /// STALE_QUERY_THRESHOLD_DAYS: how long queries are kept; 0 for ever.
    pub stale_days: u64,
    /// MAX_PLANS_PER_QUERY; 0 for any number.
    pub max_plans: u64,
    /// QUERY_CAPTURE_MODE: which queries are recorded.
    pub capture: Capture,
    /// QUERY_CAPTURE_POLICY, for the mode CUSTOM.
    pub policy: Policy,
    /// SIZE_BASED_CLEANUP_MODE: whether the least queries go before it is full.
    pub cleans_up: bool,
    /// WAIT_STATS_CAPTURE_MODE: whether waits are recorded.
    pub waits: bool,
}

impl Default for Options {
    fn default() -> Self {
        Self {
            mode: Mode::Off,
            flush_seconds: 900,
            interval_minutes: 60,
            max_mb: 1_000,
            stale_days: 30,
            max_plans: 200,
            capture: Capture::Auto,
            policy: Policy::default(),
            cleans_up: true,
            waits: true,
        }
    }
}

/// The lengths that INTERVAL_LENGTH_MINUTES may have.
pub const INTERVALS: [u64; 7] = [1, 5, 10, 15, 30, 60, 1_440];

impl Options {
    /// Returns the options of a database.
    #[must_use]
    pub fn of(options: &DatabaseOptions) -> Self {
        options.others.get(NAME).map_or_else(Self::default, |text| Self::from_text(text))
    }

    /// Stores the options in those of the database.
    pub fn store(&self, options: &mut DatabaseOptions) {
        options.others.insert(NAME.to_owned(), self.to_text());
    }

    /// Returns the policy that the capture mode goes by.
    #[must_use]
    pub fn effective_policy(&self) -> Policy {
        if self.capture == Capture::Custom { self.policy } else { Policy::default() }
    }

    fn to_text(self) -> String {
        let Policy { executions, compile_ms, execution_ms, stale_hours } = self.policy;
        format!(
            "{} {} {} {} {} {} {} {executions} {compile_ms} {execution_ms} {stale_hours} {} {}",
            self.mode.name(),
            self.flush_seconds,
            self.interval_minutes,
            self.max_mb,
            self.stale_days,
            self.max_plans,
            self.capture.name(),
            u8::from(self.cleans_up),
            u8::from(self.waits),
        )
    }

    /// Reads what [`Self::to_text`] has written. Earlier versions have written OFF alone: what a text
    /// lacks is the default.
    fn from_text(text: &str) -> Self {
        let mut options = Self::default();
        let mut words = text.split(' ');
        let mode = words.next().and_then(|word| Mode::ALL.into_iter().find(|m| m.name() == word));
        options.mode = mode.unwrap_or_default();
        let number = |to: &mut u64, word: Option<&str>| {
            if let Some(n) = word.and_then(|word| word.parse().ok()) {
                *to = n;
            }
        };
        number(&mut options.flush_seconds, words.next());
        number(&mut options.interval_minutes, words.next());
        number(&mut options.max_mb, words.next());
        number(&mut options.stale_days, words.next());
        number(&mut options.max_plans, words.next());
        let word = words.next();
        let capture = Capture::ALL.into_iter().find(|c| Some(c.name()) == word);
        options.capture = capture.unwrap_or(options.capture);
        number(&mut options.policy.executions, words.next());
        number(&mut options.policy.compile_ms, words.next());
        number(&mut options.policy.execution_ms, words.next());
        number(&mut options.policy.stale_hours, words.next());
        options.cleans_up = words.next() != Some("0");
        options.waits = words.next() != Some("0");
        options
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn options_are_read_as_they_were_written() {
        let options = Options {
            mode: Mode::ReadWrite,
            flush_seconds: 60,
            interval_minutes: 1,
            max_mb: 7,
            stale_days: 0,
            max_plans: 3,
            capture: Capture::Custom,
            policy: Policy { executions: 5, compile_ms: 6, execution_ms: 7, stale_hours: 8 },
            cleans_up: false,
            waits: false,
        };
        assert_eq!(Options::from_text(&options.to_text()), options);
        assert_eq!(Options::from_text(&Options::default().to_text()), Options::default());
        assert_eq!(Options::from_text("OFF"), Options::default());
    }
}
