//! `Connection`: a socket to one server, with the speaker of its protocol.

use std::io;
use std::net::SocketAddr;

use sos::sys::{Direction, Socket};

use super::speaker::{Refusal, Row, Speaker};
use crate::Result;
use crate::client::{send, wait_for};

/// Size of a receive buffer.
const BUFFER_BYTES: usize = 64 * 1024;

/// An open connection to a server.
pub(crate) struct Connection {
    pub(crate) socket: Socket,
    pub(crate) speaker: Box<dyn Speaker>,
    received: Vec<u8>,
    buffer: Vec<u8>,
}

impl Connection {
    /// Connects and logs in.
    pub(crate) fn open(address: SocketAddr, speaker: Box<dyn Speaker>) -> Result<Self> {
        let socket = Socket::connect(address).map_err(|error| format!("{address}: {error}"))?;
        let (received, buffer) = (Vec::new(), vec![0; BUFFER_BYTES]);
        let mut connection = Self { socket, speaker, received, buffer };
        for (step, message) in connection.speaker.opening().into_iter().enumerate() {
            connection.exchange(&message)?;
            connection.speaker.opened(step, &connection.received)?;
        }
        Ok(connection)
    }

    /// Goes to the database and prepares the calls.
    pub(crate) fn prepare(&mut self) -> Result<()> {
        for text in self.speaker.entering() {
            self.ask(text)?;
        }
        for message in self.speaker.preparing() {
            self.exchange(&message)?;
            self.speaker.prepared(&self.received)?;
        }
        Ok(())
    }

    /// Runs a statement and returns its rows.
    pub(crate) fn ask(&mut self, text: &str) -> Result<Vec<Row>> {
        let message = self.speaker.statement(text);
        self.exchange(&message)?;
        self.rows().map_err(Refusal::into_text)
    }

    /// Sends a message, if it is not empty, and waits for the answer.
    pub(crate) fn exchange(&mut self, message: &[u8]) -> Result<()> {
        self.send(message)?;
        while !self.receive()? {
            wait_for(&self.socket, Direction::Readable)?;
        }
        Ok(())
    }

    /// Sends a message, whose answer will be received.
    #[inline]
    pub(crate) fn send(&mut self, message: &[u8]) -> Result<()> {
        self.received.clear();
        send(&self.socket, message)
    }

    /// Reads what has arrived; returns whether the answer is whole.
    #[inline]
    pub(crate) fn receive(&mut self) -> Result<bool> {
        loop {
            let count = match self.socket.recv(&mut self.buffer) {
                Ok(0) => return Err("the server has closed a connection".to_owned()),
                Ok(count) => count,
                Err(error) if error.kind() == io::ErrorKind::WouldBlock => return Ok(false),
                Err(error) => return Err(format!("recv: {error}")),
            };
            self.received.extend_from_slice(&self.buffer[..count]);
            match self.speaker.answer_bytes(&self.received)? {
                Some(bytes) if bytes == self.received.len() => return Ok(true),
                Some(_) => return Err("more than one answer".to_owned()),
                None => {}
            }
        }
    }

    /// Returns the rows of the whole answer that was received last.
    pub(crate) fn rows(&self) -> Result<Vec<Row>, Refusal> {
        self.speaker.rows(&self.received)
    }
}
