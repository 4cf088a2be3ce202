//! `Request`: a request of a logged-in client, decoded from a message.
//!
//! Decoding is lazy for RPCs: the reader decodes one parameter after the other directly into
//! values, without a collection in between.

use std::borrow::Cow;

use crate::cursor::Cursor;
use crate::error::{ProtocolError, Result};
use crate::message::Message;
use crate::packet::PacketType;
use crate::rpc::RpcReader;
use crate::transaction::TransactionRequest;
use crate::version::TdsVersion;

/// A request of a logged-in client.
#[derive(Clone, Debug)]
pub enum Request<'a> {
    /// A batch of SQL text.
    Batch(SqlBatch<'a>),
    /// One or more procedure calls.
    Rpc(RpcReader<'a>),
    /// Begins, commits, rolls back or saves a transaction.
    Transaction(TransactionRequest<'a>),
    /// Cancels the running request. Always answered by a DONE with the attention bit, even if no
    /// request is running any more.
    Attention,
}

/// A batch of SQL text ([MS-TDS] 2.2.6.7).
#[derive(Clone, Debug)]
pub struct SqlBatch<'a> {
    /// The transaction that the client assumes it is in; 0 for none.
    pub transaction: u64,
    /// The text, UTF-16LE; borrowed if it came in one packet.
    pub text: Cow<'a, [u8]>,
}

/// The client's activity at the time of the request, as the client reports it: Trace Activity
/// ([MS-TDS] 2.2.5.3.3).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct TraceActivity {
    /// The GUID's bytes in the order in which they are written as text.
    pub guid: [u8; 16],
    /// The number within the activity.
    pub sequence: u32,
}

impl<'a> Request<'a> {
    /// Decodes a message. Bulk loads do not come as messages, see [`crate::Step::BulkPart`].
    pub fn decode(message: Message<'a>, version: TdsVersion) -> Result<Self> {
        Self::decode_traced(message, version).map(|(request, _)| request)
    }

    /// Decodes a message, as [`Self::decode`] does; also returns the activity that the client sent
    /// with it.
    pub fn decode_traced(
        message: Message<'a>,
        version: TdsVersion,
    ) -> Result<(Self, Option<TraceActivity>)> {
        let mut headers = Headers::default();
        let request = Self::decode_into(message, version, &mut headers)?;
        Ok((request, headers.activity))
    }

    /// Returns the descriptor of the transaction that the client assumes it is in; 0 for none.
    pub const fn transaction(&self) -> u64 {
        match self {
            Self::Batch(batch) => batch.transaction,
            Self::Rpc(reader) => reader.transaction,
            Self::Transaction(request) => request.transaction,
            Self::Attention => 0,
        }
    }

    fn decode_into(
        message: Message<'a>,
        version: TdsVersion,
        headers: &mut Headers,
    ) -> Result<Self> {
        let mut body = message.body;
        match message.kind {
            PacketType::SqlBatch => {
                headers.read(&mut body, version)?;
                let transaction = headers.transaction;
                if !body.remaining().is_multiple_of(2) {
                    return Err(ProtocolError::Truncated);
                }
                let text = body.bytes(body.remaining())?;
                Ok(Self::Batch(SqlBatch { transaction, text }))
            }
            PacketType::Rpc => {
                headers.read(&mut body, version)?;
                Ok(Self::Rpc(RpcReader::new(body, version, headers.transaction)))
            }
            PacketType::Transaction => {
                headers.read(&mut body, version)?;
                TransactionRequest::decode(body, headers.transaction).map(Self::Transaction)
            }
            PacketType::Attention => Ok(Self::Attention),
            PacketType::Sspi => Err(ProtocolError::Unsupported("integrated (SSPI) authentication")),
            PacketType::FederatedToken => {
                Err(ProtocolError::Unsupported("federated authentication"))
            }
            PacketType::Response
            | PacketType::BulkLoad
            | PacketType::Login7
            | PacketType::Prelogin => Err(ProtocolError::UnexpectedMessage(message.kind)),
        }
    }
}

/// The type of the header that names the transaction (2.2.5.3.2).
const TRANSACTION_DESCRIPTOR: u16 = 2;
/// The type of the header that names the client's activity (2.2.5.3.3).
const TRACE_ACTIVITY: u16 = 3;
const HEADER_MIN: usize = 6;

/// The fields of ALL_HEADERS that are used ([MS-TDS] 2.2.5.3).
#[derive(Default)]
struct Headers {
    /// The transaction descriptor; 0 without one.
    transaction: u64,
    activity: Option<TraceActivity>,
}

impl Headers {
    /// Reads the headers. TDS 7.1 has none. Query notifications are skipped.
    fn read(&mut self, body: &mut Cursor<'_>, version: TdsVersion) -> Result<()> {
        if !version.has_wide_fields() {
            return Ok(());
        }
        let total = usize::try_from(body.u32()?).map_err(|_| ProtocolError::Truncated)?;
        let Some(mut left) = total.checked_sub(4) else {
            let why = "The request headers are shorter than their length";
            return Err(ProtocolError::Headers(why));
        };
        while left > 0 {
            let length = usize::try_from(body.u32()?).map_err(|_| ProtocolError::Truncated)?;
            if length < HEADER_MIN || length > left {
                return Err(ProtocolError::Headers("A request header has a wrong length"));
            }
            let kind = body.u16()?;
            match (kind, length - HEADER_MIN) {
                (TRANSACTION_DESCRIPTOR, 12) => {
                    self.transaction = body.u64()?;
                    body.skip(4)?; // The number of outstanding requests, as the client counts them.
                }
                (TRANSACTION_DESCRIPTOR, _) => {
                    return Err(ProtocolError::Headers("A transaction header has a wrong length"));
                }
                (TRACE_ACTIVITY, _) if version < TdsVersion::V7_4 => {
                    let why = "A trace activity header is of TDS 7.4 and later";
                    return Err(ProtocolError::Headers(why));
                }
                (TRACE_ACTIVITY, 20) => self.activity = Some(TraceActivity::read(body)?),
                (TRACE_ACTIVITY, _) => {
                    let why = "A trace activity header has a wrong length";
                    return Err(ProtocolError::Headers(why));
                }
                (_, bytes) => body.skip(bytes)?,
            }
            left -= length;
        }
        Ok(())
    }
}

impl TraceActivity {
    fn read(body: &mut Cursor<'_>) -> Result<Self> {
        let mut guid: [u8; 16] = body.array()?;
        // The first three fields are integers, little-endian on the wire.
        guid[..4].reverse();
        guid[4..6].reverse();
        guid[6..8].reverse();
        Ok(Self { guid, sequence: body.u32()? })
    }
}
