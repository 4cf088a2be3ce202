//! A client that asks one question after the other, over plain text or TLS.

use std::time::Duration;

use sos::clock;
use sos::sys::{Direction, poll_fd};
use tds::client::{self, ClientSettings};
use types::Value;

use crate::link::{Link, Step, Target};
use crate::{Answer, Result};

const BUFFER_BYTES: usize = 64 << 10;

/// One connection.
pub(super) struct Client {
    link: Link,
    buffer: Vec<u8>,
    patience: Duration,
}

impl Client {
    /// Connects and logs in.
    pub(super) fn log_in(target: &Target, patience: Duration) -> Result<Self> {
        let link = Link::open(target).map_err(|fault| fault.to_string())?;
        let mut client = Self { link, buffer: vec![0; BUFFER_BYTES], patience };
        client.wait()?;
        Ok(client)
    }

    /// Asks, and returns the rows of the answer.
    pub(super) fn rows(&mut self, text: &str) -> Result<Vec<Vec<Value>>> {
        let request = client::batch(text, ClientSettings::default());
        self.link.ask(&request).map_err(|fault| fault.to_string())?;
        self.wait()?;
        let answer = Answer::decode(self.link.answer())?;
        if let Some(error) = answer.errors().find(|error| error.number == 208) {
            return Err(format!("no samples are kept there: {}", error.message));
        }
        Ok(answer.check()?.rows().into_iter().map(<[Value]>::to_vec).collect())
    }

    /// Waits until the login or the answer is there.
    fn wait(&mut self) -> Result<()> {
        let deadline_ns = clock::deadline_ns(self.patience);
        loop {
            match self.link.advance(&mut self.buffer, false).map_err(|fault| fault.to_string())? {
                Step::LoggedIn | Step::Answer(_) => return Ok(()),
                Step::Waiting => {}
            }
            let is_ready = poll_fd(self.link.socket(), Direction::Readable, Some(deadline_ns));
            match is_ready.map_err(|error| format!("poll: {error}"))? {
                true => {}
                false => return Err("the server is silent".to_owned()),
            }
        }
    }
}

/// A text of a row; empty for NULL.
pub(super) fn text(value: Option<&Value>) -> String {
    match value {
        Some(Value::NVarChar(units)) => types::text::from_utf16(units),
        _ => String::new(),
    }
}

/// A number of a row that is not below zero; none for NULL.
pub(super) fn number(value: Option<&Value>) -> Option<u64> {
    match value? {
        Value::Int(number) => u64::try_from(*number).ok(),
        Value::BigInt(number) => u64::try_from(*number).ok(),
        Value::Bit(is_set) => Some(u64::from(*is_set)),
        Value::VarBinary(bytes) => Some(u64::from_be_bytes(<[u8; 8]>::try_from(&bytes[..]).ok()?)),
        _ => None,
    }
}
