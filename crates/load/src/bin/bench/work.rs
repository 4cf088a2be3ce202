//! `Work`: requests of one kind, what their answers must be, and what was asked for.

use load::{Answer, Generator, Result};

/// Connections of every race.
pub(crate) const CONNECTIONS: usize = 64;
/// Requests that each connection has of its own: different rows.
pub(crate) const REQUESTS_PER_CONNECTION: usize = 64;
/// Rows of every table.
pub(crate) const ROWS: usize = CONNECTIONS * REQUESTS_PER_CONNECTION;
/// Bytes of a session or of a cached value.
pub(crate) const ITEM_BYTES: usize = 500;

/// Looks at the answer to the request of this index.
pub(crate) type Check = Box<dyn Fn(usize, &Answer) -> Result<()>>;

/// Requests and the check of their answers.
pub(crate) struct Asked {
    pub(crate) requests: Vec<Vec<u8>>,
    pub(crate) check: Check,
}

/// Something to measure.
pub(crate) struct Work {
    pub(crate) name: &'static str,
    /// The most CPU that a request may cost, in that of the echo.
    pub(crate) ratio_max: f64,
    pub(crate) database: &'static str,
    pub(crate) measured: Asked,
    /// Requests that must find what the measured ones left behind.
    pub(crate) after: Option<Asked>,
}

impl Asked {
    /// Asks every request once and checks each answer; returns the first answer's packets. Answers of
    /// different lengths are an error, because a race has one length.
    pub(crate) fn ask_all(&self, client: &mut Generator) -> Result<Vec<u8>> {
        let mut first: Option<Vec<u8>> = None;
        for (index, request) in self.requests.iter().enumerate() {
            let packets = client.ask(request)?;
            (self.check)(index, &Answer::decode(&packets)?.check()?)?;
            let first = first.get_or_insert_with(|| packets.clone());
            if first.len() != packets.len() {
                return Err(format!("answers of {} and {} bytes", first.len(), packets.len()));
            }
        }
        first.ok_or_else(|| "there is no request".to_owned())
    }
}

/// The item of a row: different for each, and for each seed.
pub(crate) fn item(index: usize, seed: u8) -> Vec<u8> {
    let start = u8::try_from(index % 251).unwrap_or(0).wrapping_add(seed);
    (0..ITEM_BYTES).map(|at| start.wrapping_add(u8::try_from(at % 255).unwrap_or(0))).collect()
}

/// Fails unless something is as it must be.
pub(crate) fn expect<T: PartialEq + std::fmt::Debug>(
    what: &str,
    found: T,
    wanted: T,
) -> Result<()> {
    if found == wanted { Ok(()) } else { Err(format!("{what} is {found:?} and not {wanted:?}")) }
}
