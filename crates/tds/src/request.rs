//! `Request`: what a logged-in client asks for, decoded from a message.
//!
//! Decoding is lazy where it pays: an RPC is a reader that hands out one parameter after the other,
//! straight into values, without a collection in between.

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
    /// SQL text.
    Batch(SqlBatch<'a>),
    /// One or more procedure calls.
    Rpc(RpcReader<'a>),
    /// Begin, commit, roll back, save.
    Transaction(TransactionRequest<'a>),
    /// Stop what is running. Always answered by a DONE with the attention bit, even when nothing
    /// is running any more.
    Attention,
}

/// A batch of SQL text ([MS-TDS] 2.2.6.7).
#[derive(Clone, Debug)]
pub struct SqlBatch<'a> {
    /// The transaction that the client believes to be in; 0 for none.
    pub transaction: u64,
    /// The text, UTF-16LE; borrowed if it came in one packet.
    pub text: Cow<'a, [u8]>,
}

impl<'a> Request<'a> {
    /// Decodes a message. Bulk loads do not come as messages, see [`crate::Step::BulkPart`].
    pub fn decode(message: Message<'a>, version: TdsVersion) -> Result<Self> {
        let mut body = message.body;
        match message.kind {
            PacketType::SqlBatch => {
                let transaction = read_headers(&mut body, version)?;
                if !body.remaining().is_multiple_of(2) {
                    return Err(ProtocolError::Truncated);
                }
                let text = body.bytes(body.remaining())?;
                Ok(Self::Batch(SqlBatch { transaction, text }))
            }
            PacketType::Rpc => {
                let transaction = read_headers(&mut body, version)?;
                Ok(Self::Rpc(RpcReader::new(body, version, transaction)))
            }
            PacketType::Transaction => {
                let transaction = read_headers(&mut body, version)?;
                TransactionRequest::decode(body, transaction).map(Self::Transaction)
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
const HEADER_MIN: usize = 6;

/// Reads ALL_HEADERS ([MS-TDS] 2.2.5.3) and returns the transaction descriptor, 0 without one.
/// TDS 7.1 has none. Query notifications and trace activity are skipped.
fn read_headers(body: &mut Cursor<'_>, version: TdsVersion) -> Result<u64> {
    if !version.has_wide_fields() {
        return Ok(0);
    }
    let total = usize::try_from(body.u32()?).map_err(|_| ProtocolError::Truncated)?;
    let Some(mut left) = total.checked_sub(4) else {
        return Err(ProtocolError::Headers("The request headers are shorter than their length"));
    };
    let mut transaction = 0;
    while left > 0 {
        let length = usize::try_from(body.u32()?).map_err(|_| ProtocolError::Truncated)?;
        if length < HEADER_MIN || length > left {
            return Err(ProtocolError::Headers("A request header has a wrong length"));
        }
        let kind = body.u16()?;
        let data_bytes = length - HEADER_MIN;
        if kind == TRANSACTION_DESCRIPTOR {
            if data_bytes != 12 {
                return Err(ProtocolError::Headers("A transaction header has a wrong length"));
            }
            transaction = body.u64()?;
            body.skip(4)?; // The number of outstanding requests, which is 1 without MARS.
        } else {
            body.skip(data_bytes)?;
        }
        left -= length;
    }
    Ok(transaction)
}
