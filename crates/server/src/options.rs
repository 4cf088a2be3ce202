//! `Options`: all settings of an operator, as plain data with checked values.
//!
//! The command line fills it in; this file reads neither arguments nor the environment.

use std::net::IpAddr;
use std::path::PathBuf;
use std::time::Duration;

pub use engine::instance::LockMode;

/// Limits on time and number, so that no client can block the server.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Limits {
    /// From accept to the end of the login.
    pub login_timeout: Duration,
    /// Longest time without progress within a message, after the login.
    pub packet_timeout: Duration,
    /// Longest time that a response waits for a client that does not read.
    pub send_timeout: Duration,
    /// Longest time that a stopping server waits for requests in progress.
    pub shutdown_timeout: Duration,
    /// Most concurrent connections; a further one is closed at once.
    pub connections_max: usize,
    /// Most sessions of one MARS connection; a further one is refused.
    pub mars_sessions_max: usize,
    /// The longest request message, in bytes.
    pub message_bytes_max: u64,
}

impl Default for Limits {
    fn default() -> Self {
        Self {
            login_timeout: Duration::from_secs(15),
            packet_timeout: Duration::from_secs(30),
            send_timeout: Duration::from_secs(60),
            shutdown_timeout: Duration::from_secs(30),
            connections_max: 32_767,
            mars_sessions_max: 2_048,
            message_bytes_max: tds::message::MESSAGE_BYTES_MAX,
        }
    }
}

/// The server's encryption setting.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Encryption {
    /// No TLS at all.
    Off,
    /// TLS for clients that ask for it, inside TDS or around it.
    #[default]
    On,
    /// TLS for every client, inside TDS or around it.
    Required,
    /// TLS from the first byte (TDS 8.0) for every client.
    Strict,
}

/// The source of the certificate.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub enum Certificate {
    /// Made and signed by the server when the first client needs one.
    #[default]
    SelfSigned,
    /// Read from two PEM files.
    Files {
        /// The certificate chain, the server's own certificate first.
        certificates: PathBuf,
        /// The certificate's private key.
        key: PathBuf,
    },
}

/// The password of `sa`.
#[derive(Clone, Debug)]
pub enum Password {
    /// The operator has given it: it holds from this start on.
    Given(String),
    /// As `Given`, in the environment: the banner, which a log may keep for long, does not have it.
    Hidden(String),
    /// It was made for this start. A database that has one already keeps its own.
    Random(String),
}

impl Password {
    /// Returns the text of the password.
    pub fn text(&self) -> &str {
        match self {
            Self::Given(text) | Self::Hidden(text) | Self::Random(text) => text,
        }
    }
}

/// Where the data is kept, and how it is brought back.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Data {
    /// The folder of the database.
    pub folder: String,
    /// Leave out what was committed later, in units of 100 ns since 0001-01-01 UTC.
    pub until_100ns: Option<u64>,
    /// Go on behind damage.
    pub salvage: bool,
    /// Keep the rows of SCHEMA_ONLY tables from an orderly stop to the next start.
    pub keep_schema_only: bool,
}

/// The port of the dedicated admin connection, on the loopback address.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum AdminPort {
    /// The operator has chosen it: without it the server does not start. 0 takes a free one.
    Given(u16),
    /// It is where clients look: the server goes without it if another program has it.
    Usual(u16),
}

/// The settings of a server.
#[derive(Clone, Debug)]
pub struct Options {
    /// The address to listen on.
    pub address: IpAddr,
    /// The port; 0 takes a free one.
    pub port: u16,
    /// The port of the dedicated admin connection; `None` for no such connection.
    pub admin_port: Option<AdminPort>,
    /// The UNIX socket to listen on as well.
    pub socket: Option<PathBuf>,
    /// The password of `sa`.
    pub sa_password: Password,
    /// Where the data is kept; `None` keeps it in memory only.
    pub data: Option<Data>,
    /// The limit on memory, in bytes.
    pub memory_max: u64,
    /// How memory is allocated from the operating system.
    pub memory_model: sos::memory::MemoryModel,
    /// Modes that restore old implementations that did not scale, for experiments only.
    pub experiments: Vec<sos::memory::experiment::Experiment>,
    /// The limit on the memory for rows that one query keeps, in bytes; `None` is a quarter of all.
    pub query_memory_max: Option<u64>,
    /// Number of schedulers; `None` is one per CPU.
    pub schedulers: Option<usize>,
    /// How the ledger distinguishes time on a CPU from time off it.
    pub ledger: sos::ledger::SourceChoice,
    /// Samples of each thread per second of its CPU time; 0 turns the sampler off.
    pub sampling_rate_hz: u32,
    /// The lock that a statement takes to read metadata.
    pub lock_mode: LockMode,
    /// The server's encryption setting.
    pub encryption: Encryption,
    /// The source of the certificate.
    pub certificate: Certificate,
    /// Limits on time and number.
    pub limits: Limits,
    /// Whether stderr has the lines about a start that scripts look for in SQL Server's error log.
    pub start_in_log: bool,
}

/// Multipliers of a memory size, by suffix.
const UNITS: &[(&str, u64)] =
    &[("KB", 1 << 10), ("MB", 1 << 20), ("GB", 1 << 30), ("TB", 1 << 40), ("B", 1)];

/// The smallest memory limit that a server starts with, in bytes.
pub const MEMORY_BYTES_MIN: u64 = 64 << 20;

/// Parses a number of bytes with an optional suffix KB, MB, GB or TB.
///
/// # Errors
/// A sentence that says what is wrong.
pub fn parse_bytes(text: &str) -> Result<u64, String> {
    let upper = text.trim().to_ascii_uppercase();
    let unit = UNITS.iter().find(|(suffix, _)| upper.ends_with(suffix));
    let (digits, factor) = match unit {
        Some((suffix, factor)) => (upper[..upper.len() - suffix.len()].trim_end(), *factor),
        None => (upper.as_str(), 1),
    };
    let number: u64 = digits
        .parse()
        .map_err(|_| "expected a number of bytes, or one with KB, MB, GB or TB".to_owned())?;
    number.checked_mul(factor).ok_or_else(|| "it must fit 64 bits".to_owned())
}

/// Parses a UTC time as ISO 8601 has it, such as `2026-11-28T14:05:00.5` or `2026-11-28 14:05`.
/// Returns units of 100 ns since 0001-01-01; `None` if it is no time.
pub fn parse_moment(text: &str) -> Option<u64> {
    let data_type = types::DataType::DateTimeOffset(7);
    let order = types::convert::DateFormat::default();
    let (days, ticks) =
        types::date::parse(text.trim(), &data_type, order, types::Language::us_english())
            .ok()?
            .to_utc();
    Some(u64::try_from(days).ok()? * 864_000_000_000 + u64::try_from(ticks).ok()?)
}

/// Parses a limit on memory: as [`parse_bytes`], but not less than [`MEMORY_BYTES_MIN`].
///
/// # Errors
/// A sentence that says what is wrong.
pub fn parse_memory(text: &str) -> Result<u64, String> {
    let bytes = parse_bytes(text)?;
    if bytes < MEMORY_BYTES_MIN {
        return Err(format!("the least is {} MB", MEMORY_BYTES_MIN >> 20));
    }
    Ok(bytes)
}

/// Returns the default memory limit: three quarters of the machine's or the container's memory.
pub fn default_memory_max() -> u64 {
    (sos::sys::granted_memory_bytes() / 4 * 3).max(MEMORY_BYTES_MIN)
}

/// Returns the name of the collation that every server has.
pub fn collation() -> String {
    types::Collation::default().name()
}

/// Parses a duration: seconds, or a number with `ms`, `s` or `m`.
///
/// # Errors
/// A sentence that says what is wrong.
pub fn parse_duration(text: &str) -> Result<Duration, String> {
    let text = text.trim();
    let (digits, unit_ms) = if let Some(digits) = text.strip_suffix("ms") {
        (digits, 1)
    } else if let Some(digits) = text.strip_suffix('s') {
        (digits, 1_000)
    } else if let Some(digits) = text.strip_suffix('m') {
        (digits, 60_000)
    } else {
        (text, 1_000)
    };
    let number: u64 = digits
        .trim_end()
        .parse()
        .map_err(|_| "expected a number of seconds, or one with ms, s or m".to_owned())?;
    if number == 0 {
        return Err("it must be longer than zero".to_owned());
    }
    let ms = number.checked_mul(unit_ms).ok_or_else(|| "that is too long".to_owned())?;
    Ok(Duration::from_millis(ms))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn bytes_take_suffixes_in_any_case() {
        assert_eq!(parse_bytes("1024"), Ok(1024));
        assert_eq!(parse_bytes("16kb"), Ok(16 << 10));
        assert_eq!(parse_bytes("3 GB"), Ok(3 << 30));
        assert_eq!(parse_bytes("7B"), Ok(7));
        assert!(parse_bytes("many").is_err());
        assert!(parse_bytes("-1").is_err());
        assert!(parse_bytes("99999999999TB").is_err());
    }

    #[test]
    fn memory_has_a_least_value() {
        assert!(parse_memory("1MB").is_err());
        assert_eq!(parse_memory("64MB"), Ok(MEMORY_BYTES_MIN));
    }

    #[test]
    fn durations_take_units_and_no_zero() {
        assert_eq!(parse_duration("2"), Ok(Duration::from_secs(2)));
        assert_eq!(parse_duration("250ms"), Ok(Duration::from_millis(250)));
        assert_eq!(parse_duration("3m"), Ok(Duration::from_secs(180)));
        assert!(parse_duration("0").is_err());
        assert!(parse_duration("soon").is_err());
    }
}
