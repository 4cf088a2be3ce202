//! `Client`: a blocking TDS client over any stream, made of the codec's client half.

use std::io::{self, Read, Write};
use std::net::{SocketAddr, TcpStream};
use std::sync::Arc;
use std::time::Duration;

use rustls::{ClientConnection, StreamOwned};
use tds::client::{self, ClientSettings, RpcBuilder, Token, TokenReader};
use tds::prelogin::Encryption;
use tds::tls_wrap::{self, Unwrapped, Unwrapper};
use tds::{Login7, MessageReader, PacketType, Prelogin, ProcedureId, Step, TdsVersion};
use types::data_type::Length;
use types::{Collation, ColumnType, DataType, Error, Value};

use crate::server::{PASSWORD, PATIENCE};

/// Whatever bytes go through.
pub(crate) trait Stream: Read + Write + Send {}
impl<T: Read + Write + Send> Stream for T {}

/// A connection to a server.
pub(crate) struct Client {
    stream: Box<dyn Stream>,
    reader: MessageReader,
    /// What was received behind the last response.
    received: Vec<u8>,
    pub(crate) settings: ClientSettings,
}

/// The decoded tokens of a response.
pub(crate) type Tokens = Vec<Token>;

impl Client {
    /// Opens a connection and says nothing.
    pub(crate) fn connect(address: SocketAddr) -> Self {
        Self::over(Box::new(tcp(address)), TdsVersion::V7_4)
    }

    /// Makes a client over a stream.
    pub(crate) fn over(stream: Box<dyn Stream>, version: TdsVersion) -> Self {
        let mut reader = MessageReader::new();
        reader.set_message_bytes_max(1 << 32);
        let settings = ClientSettings { version, ..ClientSettings::default() };
        Self { stream, reader, received: Vec::new(), settings }
    }

    /// Connects and logs in as `sa`, in plain text.
    pub(crate) fn log_in(address: SocketAddr) -> Self {
        Self::log_in_patiently(address, PATIENCE)
    }

    /// As [`Self::log_in`], for a client that waits so long for an answer.
    pub(crate) fn log_in_patiently(address: SocketAddr, patience: Duration) -> Self {
        let stream = tcp(address);
        stream.set_read_timeout(Some(patience)).expect("a socket");
        let mut client = Self::over(Box::new(stream), TdsVersion::V7_4);
        assert_eq!(client.prelogin(Encryption::NotSupported), Some(Encryption::NotSupported));
        let tokens = client.login(&login_of_sa());
        assert_logged_in(&tokens);
        client
    }

    /// Sends bytes as they are.
    pub(crate) fn send(&mut self, bytes: &[u8]) {
        self.stream.write_all(bytes).expect("the server takes bytes");
    }

    /// Sends PRELOGIN and returns the encryption answered.
    pub(crate) fn prelogin(&mut self, encryption: Encryption) -> Option<Encryption> {
        let options = Prelogin { encryption: Some(encryption), ..Prelogin::default() };
        self.send(&client::prelogin(&options));
        self.read_message(|body| Prelogin::parse(body).expect("a PRELOGIN answer").encryption)
            .expect("an answer to PRELOGIN")
    }

    /// Sends LOGIN7 and returns the answer.
    pub(crate) fn login(&mut self, login: &Login7) -> Tokens {
        self.send(&client::login(login));
        self.response()
    }

    /// Sends a batch and returns its response.
    pub(crate) fn batch(&mut self, text: &str) -> Tokens {
        self.send(&client::batch(text, self.settings));
        self.response()
    }

    /// Sends a batch and returns its response; fails if the connection ends.
    pub(crate) fn try_batch(&mut self, text: &str) -> io::Result<Tokens> {
        self.stream.write_all(&client::batch(text, self.settings))?;
        self.try_response()
    }

    /// As [`Self::value_of`]; fails if the connection ends.
    pub(crate) fn try_value_of(&mut self, expression: &str) -> io::Result<Value> {
        self.stream.write_all(&evaluation(expression, self.settings))?;
        Ok(output_value(&self.try_response()?))
    }

    /// Lets the server evaluate an `int` expression.
    pub(crate) fn value_of(&mut self, expression: &str) -> Value {
        self.send(&evaluation(expression, self.settings));
        output_value(&self.response())
    }

    /// Reads a response; panics if the connection ends.
    pub(crate) fn response(&mut self) -> Tokens {
        self.try_response().expect("a response")
    }

    /// Reads a response; fails if the connection ends.
    pub(crate) fn try_response(&mut self) -> io::Result<Tokens> {
        let version = self.settings.version;
        self.read_message(|body| TokenReader::new(body, version).all().expect("whole tokens"))
    }

    /// Reads exactly `count` bytes, undecoded.
    pub(crate) fn raw(&mut self, count: usize) -> Vec<u8> {
        let mut bytes = vec![0; count];
        self.stream.read_exact(&mut bytes).expect("the server answers");
        bytes
    }

    /// Reads to the end of the connection; returns how many bytes came.
    pub(crate) fn drain(&mut self) -> usize {
        let mut rest = Vec::new();
        // A reset is an end too.
        let _ = self.stream.read_to_end(&mut rest);
        rest.len()
    }

    /// Reads once; returns how many bytes came, 0 at the end of the connection.
    pub(crate) fn drain_some(&mut self) -> usize {
        let mut buffer = [0; 1024];
        // A reset is an end too.
        self.stream.read(&mut buffer).unwrap_or(0)
    }

    fn read_message<T>(&mut self, decode: impl Fn(tds::Cursor<'_>) -> T) -> io::Result<T> {
        let mut buffer = [0; 16 * 1024];
        loop {
            while !self.received.is_empty() {
                let (used, step) = self.reader.feed(&self.received).expect("packets");
                let decoded = match step {
                    Step::Message(message) => {
                        assert_eq!(message.kind, PacketType::Response);
                        Some(decode(message.body))
                    }
                    _ => None,
                };
                self.received.drain(..used);
                if let Some(decoded) = decoded {
                    return Ok(decoded);
                }
            }
            let count = self.stream.read(&mut buffer)?;
            if count == 0 {
                return Err(io::ErrorKind::UnexpectedEof.into());
            }
            self.received.extend_from_slice(&buffer[..count]);
        }
    }

    /// Turns the plain connection into TLS whose handshake travels in packets.
    pub(crate) fn into_wrapped_tls(self, config: Arc<rustls::ClientConfig>) -> Self {
        let stream =
            Wrapping { inner: self.stream, unwrapper: Some(Unwrapper::new()), out: Vec::new() };
        let mut tls = tls_over(stream, config);
        while tls.conn.is_handshaking() {
            tls.conn.complete_io(&mut tls.sock).expect("a handshake");
        }
        tls.sock.unwrapper = None;
        Self::over(Box::new(tls), self.settings.version)
    }
}

/// Connects TLS from the first byte.
pub(crate) fn strict(address: SocketAddr, config: Arc<rustls::ClientConfig>) -> Client {
    Client::over(Box::new(tls_over(tcp(address), config)), TdsVersion::V8_0)
}

/// Connects TCP with limits on patience.
pub(crate) fn tcp(address: SocketAddr) -> TcpStream {
    let stream = TcpStream::connect(address).expect("the server listens");
    stream.set_nodelay(true).expect("a socket");
    stream.set_read_timeout(Some(PATIENCE)).expect("a socket");
    stream.set_write_timeout(Some(PATIENCE)).expect("a socket");
    stream
}

fn tls_over<S: Read + Write>(
    stream: S,
    config: Arc<rustls::ClientConfig>,
) -> StreamOwned<ClientConnection, S> {
    let name = "localhost".try_into().expect("a name");
    StreamOwned::new(ClientConnection::new(config, name).expect("a TLS client"), stream)
}

/// Puts what is written into PRELOGIN packets and takes what is read out of them.
struct Wrapping {
    inner: Box<dyn Stream>,
    unwrapper: Option<Unwrapper>,
    out: Vec<u8>,
}

impl Read for Wrapping {
    fn read(&mut self, target: &mut [u8]) -> io::Result<usize> {
        let Some(unwrapper) = &mut self.unwrapper else { return self.inner.read(target) };
        loop {
            // Byte by byte: nothing behind the handshake may be swallowed.
            let mut byte = [0];
            if self.inner.read(&mut byte)? == 0 {
                return Ok(0);
            }
            match unwrapper.next(&byte).expect("wrapped packets") {
                Unwrapped::Handshake { payload: [one], .. } => {
                    target[0] = *one;
                    return Ok(1);
                }
                Unwrapped::Handshake { .. } => {}
                Unwrapped::Bare => panic!("a bare record in the handshake"),
            }
        }
    }
}

impl Write for Wrapping {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        if self.unwrapper.is_none() {
            return self.inner.write(bytes);
        }
        self.out.extend_from_slice(bytes);
        Ok(bytes.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        if !self.out.is_empty() {
            let mut packets = Vec::new();
            tls_wrap::wrap(&std::mem::take(&mut self.out), &mut packets);
            self.inner.write_all(&packets)?;
        }
        self.inner.flush()
    }
}

/// Returns the login that succeeds.
pub(crate) fn login_of_sa() -> Login7 {
    Login7 {
        version_code: TdsVersion::V7_4.code(),
        packet_size: 4096,
        host: "test".to_owned(),
        user: "sa".to_owned(),
        password: PASSWORD.to_owned(),
        application: "it".to_owned(),
        ..Login7::default()
    }
}

/// Checks that a login was answered with success.
pub(crate) fn assert_logged_in(tokens: &Tokens) {
    assert!(tokens.iter().any(|token| matches!(token, Token::LoginAck { .. })), "{tokens:?}");
}

/// Returns the errors of a response.
pub(crate) fn errors(tokens: &Tokens) -> Vec<&Error> {
    let messages = tokens.iter().filter_map(|token| match token {
        Token::Message(error) => Some(error),
        _ => None,
    });
    messages.filter(|error| error.severity > 10).collect()
}

/// Returns the rows of a response, of all its result sets.
pub(crate) fn rows(tokens: &Tokens) -> Vec<Vec<Value>> {
    let row = |token: &Token| match token {
        Token::Row(row) => Some(row.clone()),
        _ => None,
    };
    tokens.iter().filter_map(row).collect()
}

/// Returns the numbers of a response's errors.
pub(crate) fn error_numbers(tokens: &Tokens) -> Vec<i32> {
    errors(tokens).iter().map(|error| error.number).collect()
}

/// Returns the request that evaluates an `int` expression.
pub(crate) fn evaluation(expression: &str, settings: ClientSettings) -> Vec<u8> {
    let text = column_type(DataType::NVarChar(Length::Limited(4000)));
    RpcBuilder::new(settings)
        .call_id(ProcedureId::ExecuteSql)
        .input("", text, &Value::nvarchar(&format!("SET @value = {expression}")))
        .input("", text, &Value::nvarchar("@value int OUTPUT"))
        .output("@value", column_type(DataType::Int), &Value::Null)
        .finish()
}

/// Returns the value of the first OUTPUT parameter.
pub(crate) fn output_value(tokens: &Tokens) -> Value {
    let value = tokens.iter().find_map(|token| match token {
        Token::ReturnValue { value, .. } => Some(value.clone()),
        _ => None,
    });
    value.unwrap_or_else(|| panic!("no OUTPUT parameter in {tokens:?}"))
}

/// Returns a nullable type with the default collation.
pub(crate) fn column_type(data_type: DataType) -> ColumnType {
    ColumnType { data_type, collation: Collation::default(), nullable: true }
}
