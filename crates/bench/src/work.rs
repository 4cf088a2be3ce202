//! `Work`: requests of one kind, their expected answers, and the goal.

use load::{Answer, Generator, Result};

/// Connections of each race.
pub(crate) const CONNECTIONS: usize = 64;
/// Different requests of each connection, each for another row.
pub(crate) const REQUESTS_PER_CONNECTION: usize = 64;
/// Rows of every table.
pub(crate) const ROWS: usize = CONNECTIONS * REQUESTS_PER_CONNECTION;
/// Length of a session's item or of a cached value, in bytes.
pub(crate) const ITEM_BYTES: usize = 500;

/// Checks the answer to the request with this index.
pub(crate) type Check = Box<dyn Fn(usize, &Answer) -> Result<()>>;

/// Requests and the check of their answers.
pub(crate) struct Asked {
    pub(crate) requests: Vec<Vec<u8>>,
    pub(crate) check: Check,
}

/// A kind of request to measure.
pub(crate) struct Work {
    pub(crate) name: &'static str,
    /// The most CPU that a request may cost, as a multiple of the echo server's.
    pub(crate) ratio_max: f64,
    pub(crate) database: &'static str,
    pub(crate) measured: Asked,
    /// Requests that check what the measured ones have written.
    pub(crate) after: Option<Asked>,
}

impl Asked {
    /// Sends every request once and checks each answer; returns the first answer's packets. Answers
    /// of different lengths are an error, because a race needs a fixed length.
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

/// Returns the item of a row, different for each row and each seed.
pub(crate) fn item(index: usize, seed: u8) -> Vec<u8> {
    let start = u8::try_from(index % 251).unwrap_or(0).wrapping_add(seed);
    (0..ITEM_BYTES).map(|at| start.wrapping_add(u8::try_from(at % 255).unwrap_or(0))).collect()
}

/// Fails unless the value is the expected one.
pub(crate) fn expect<T: PartialEq + std::fmt::Debug>(
    what: &str,
    found: T,
    wanted: T,
) -> Result<()> {
    if found == wanted { Ok(()) } else { Err(format!("{what} is {found:?} and not {wanted:?}")) }
}
