//! `End`: the reason why a connection ends.

use std::fmt;
use std::io;

use tds::ProtocolError;

/// The reason why a connection ends.
#[derive(Debug)]
pub(crate) enum End {
    /// The client has closed the connection.
    Closed,
    /// The client violated the TDS protocol.
    Protocol(ProtocolError),
    /// TLS failed with this error.
    Tls(rustls::Error),
    /// The server cannot offer TLS, and why.
    NoTls(String),
    /// The login was refused; client and log have been told.
    LoginRefused,
    /// Encryption is required and the client does not encrypt.
    Unencrypted,
    /// A time limit was exceeded; its name.
    TimedOut(&'static str),
    /// An error of severity 20 or more, which the client has received.
    Fatal,
    /// A request panicked; the client has received the error.
    Panicked,
    /// The server is stopping.
    Stopping,
    /// The log failed while a part of a response waited for it.
    LogFailed,
    /// Another session killed this one; a request that ran has had its error.
    Killed,
    /// The socket failed with this error.
    Socket(io::Error),
}

impl End {
    /// Returns whether the log gets a line about it.
    pub(crate) const fn is_noteworthy(&self) -> bool {
        match self {
            Self::Closed | Self::LoginRefused | Self::Fatal | Self::Stopping | Self::Killed => {
                false
            }
            Self::Protocol(_)
            | Self::Tls(_)
            | Self::NoTls(_)
            | Self::Unencrypted
            | Self::TimedOut(_)
            | Self::Panicked
            | Self::LogFailed
            | Self::Socket(_) => true,
        }
    }
}

impl fmt::Display for End {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Closed => f.write_str("The client has closed the connection."),
            Self::Protocol(error) => error.fmt(f),
            Self::Tls(error) => write!(f, "TLS failed: {error}."),
            Self::NoTls(why) => write!(f, "TLS is not available: {why}."),
            Self::LoginRefused => f.write_str("The login was refused."),
            Self::Unencrypted => f.write_str("Encryption is required, and the client has none."),
            Self::TimedOut(limit) => write!(f, "The client was slower than the {limit}."),
            Self::Fatal => f.write_str("An error has ended the session."),
            Self::Panicked => f.write_str("A request has failed an assertion; its session ended."),
            Self::Stopping => f.write_str("The server is stopping."),
            Self::LogFailed => f.write_str("The log has failed."),
            Self::Killed => f.write_str("The session was killed."),
            Self::Socket(error) => write!(f, "The connection failed: {error}."),
        }
    }
}

impl From<ProtocolError> for End {
    fn from(error: ProtocolError) -> Self {
        Self::Protocol(error)
    }
}

impl From<io::Error> for End {
    fn from(error: io::Error) -> Self {
        match error.kind() {
            io::ErrorKind::ConnectionReset
            | io::ErrorKind::ConnectionAborted
            | io::ErrorKind::BrokenPipe
            | io::ErrorKind::NotConnected => Self::Closed,
            // A foreign type: any other socket error.
            _ => Self::Socket(error),
        }
    }
}
