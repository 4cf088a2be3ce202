//! `Answer`: a whole decoded response, for checking it and for reporting its errors.

use tds::client::{Token, TokenReader};
use tds::packet::HEADER_BYTES;
use tds::{Cursor, DoneStatus, TdsVersion};
use types::{Error, Value};

use crate::Result;

/// The highest severity of a message that is no error.
const SEVERITY_MESSAGE_MAX: u8 = 10;

/// All tokens of one response.
#[derive(Clone, Debug, PartialEq)]
pub struct Answer {
    /// The tokens, in order.
    pub tokens: Vec<Token>,
}

impl Answer {
    /// Decodes the packets of one response.
    pub fn decode(packets: &[u8]) -> Result<Self> {
        let mut payload = Vec::with_capacity(packets.len());
        let mut rest = packets;
        while let Some(length) = packet_bytes(rest) {
            let Some((packet, later)) = rest.split_at_checked(length) else { break };
            payload.extend_from_slice(&packet[HEADER_BYTES..]);
            rest = later;
        }
        let tokens = TokenReader::new(Cursor::new(&payload), TdsVersion::V7_4).all();
        tokens.map(|tokens| Self { tokens }).map_err(|error| format!("wrong answer: {error}"))
    }

    /// Returns the errors in the answer.
    pub fn errors(&self) -> impl Iterator<Item = &Error> {
        self.tokens.iter().filter_map(|token| match token {
            Token::Message(error) if error.severity > SEVERITY_MESSAGE_MAX => Some(error),
            _ => None,
        })
    }

    /// Fails with the text of the first error, or if a DONE has the error bit.
    pub fn check(self) -> Result<Self> {
        if let Some(error) = self.errors().next() {
            let (number, line, message) = (error.number, error.line, &error.message);
            return Err(format!("error {number} in line {line}: {message}"));
        }
        let failed = |token: &Token| matches!(token, Token::Done(done) if done.status.has(DoneStatus::ERROR));
        match self.tokens.iter().any(failed) {
            true => Err("a statement failed without an error".to_owned()),
            false => Ok(self),
        }
    }

    /// Returns the rows of all results.
    pub fn rows(&self) -> Vec<&[Value]> {
        let rows = self.tokens.iter().filter_map(|token| match token {
            Token::Row(values) => Some(values.as_slice()),
            _ => None,
        });
        rows.collect()
    }

    /// Returns the value of the OUTPUT parameter of this name.
    pub fn output(&self, wanted: &str) -> Option<&Value> {
        self.tokens.iter().find_map(|token| match token {
            Token::ReturnValue { name, value, .. } if name == wanted => Some(value),
            _ => None,
        })
    }

    /// Returns the procedure's return status.
    pub fn return_status(&self) -> Option<i32> {
        self.tokens.iter().find_map(|token| match token {
            Token::ReturnStatus(status) => Some(*status),
            _ => None,
        })
    }
}

/// Returns the length of the first message in `received` in bytes, headers included; `None` if it
/// is not whole.
pub fn message_bytes(received: &[u8]) -> Option<usize> {
    let mut at = 0;
    loop {
        let rest = received.get(at..)?;
        let is_last = rest.get(1)? & 1 != 0;
        at += packet_bytes(rest)?;
        if is_last {
            return (at <= received.len()).then_some(at);
        }
    }
}

/// Returns the packet's length from its header; `None` if the header is not whole.
fn packet_bytes(bytes: &[u8]) -> Option<usize> {
    let header = bytes.first_chunk::<HEADER_BYTES>()?;
    // A length shorter than the header would loop for ever.
    Some(usize::from(u16::from_be_bytes([header[2], header[3]])).max(HEADER_BYTES))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_message_ends_with_its_last_packet() {
        let mut packets = vec![4, 0, 0, 10, 0, 0, 1, 0, 7, 7];
        packets.extend_from_slice(&[4, 1, 0, 9, 0, 0, 2, 0, 8]);
        assert_eq!(message_bytes(&packets), Some(19));
        packets.push(4);
        assert_eq!(message_bytes(&packets), Some(19));
        for cut in 0..19 {
            assert_eq!(message_bytes(&packets[..cut]), None, "cut at {cut}");
        }
    }
}
