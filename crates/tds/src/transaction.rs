//! Transaction manager requests: begin, commit, roll back and save a transaction without SQL
//! ([MS-TDS] 2.2.6.9).

use std::borrow::Cow;

use crate::cursor::Cursor;
use crate::error::{ProtocolError, Result};

/// A transaction manager request.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct TransactionRequest<'a> {
    /// The transaction that the client assumes it is in; 0 for none.
    pub transaction: u64,
    /// The operation with its arguments.
    pub action: TransactionAction<'a>,
}

/// The operation of a transaction manager request. Names are UTF-16LE and may be empty.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum TransactionAction<'a> {
    /// TM_GET_DTC_ADDRESS, 0: distributed transactions, answered with an empty address or an error.
    GetDtcAddress,
    /// TM_PROPAGATE_XACT, 1: join (or, empty, leave) a distributed transaction.
    Propagate(Cow<'a, [u8]>),
    /// TM_BEGIN_XACT, 5: begin a transaction.
    Begin(Begin<'a>),
    /// TM_PROMOTE_XACT, 6: make the transaction a distributed one.
    Promote,
    /// TM_COMMIT_XACT, 7: commit, and begin the next transaction if asked to.
    Commit {
        /// The name, empty in practice.
        name: Cow<'a, [u8]>,
        /// The transaction to begin in the same request (fBeginXact); legal even if nothing was
        /// done in this one.
        then: Option<Begin<'a>>,
    },
    /// TM_ROLLBACK_XACT, 8, of the whole transaction or to a savepoint, and begin the next one.
    Rollback {
        /// The savepoint; empty for the whole transaction.
        name: Cow<'a, [u8]>,
        /// The transaction to begin in the same request (fBeginXact).
        then: Option<Begin<'a>>,
    },
    /// TM_SAVE_XACT, 9: a savepoint.
    Save(Cow<'a, [u8]>),
}

/// A transaction to begin.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Begin<'a> {
    /// The isolation level to begin with.
    pub isolation: IsolationLevel,
    /// The transaction's name; may be empty.
    pub name: Cow<'a, [u8]>,
}

/// ISOLATION_LEVEL of the transaction to begin.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum IsolationLevel {
    /// 0: keep the session's level.
    Unchanged,
    /// 1: READ UNCOMMITTED, without shared locks.
    ReadUncommitted,
    /// 2: READ COMMITTED, the default.
    ReadCommitted,
    /// 3: REPEATABLE READ, shared locks are kept.
    RepeatableRead,
    /// 4: SERIALIZABLE, with range locks.
    Serializable,
    /// 5: SNAPSHOT, reads row versions.
    Snapshot,
}

impl IsolationLevel {
    const fn parse(code: u8) -> Result<Self> {
        Ok(match code {
            0 => Self::Unchanged,
            1 => Self::ReadUncommitted,
            2 => Self::ReadCommitted,
            3 => Self::RepeatableRead,
            4 => Self::Serializable,
            5 => Self::Snapshot,
            _ => return Err(ProtocolError::InvalidValue("isolation level")),
        })
    }

    /// Returns the code on the wire.
    pub const fn code(self) -> u8 {
        match self {
            Self::Unchanged => 0,
            Self::ReadUncommitted => 1,
            Self::ReadCommitted => 2,
            Self::RepeatableRead => 3,
            Self::Serializable => 4,
            Self::Snapshot => 5,
        }
    }
}

impl<'a> TransactionRequest<'a> {
    /// Decodes a request behind its headers.
    pub(crate) fn decode(mut body: Cursor<'a>, transaction: u64) -> Result<Self> {
        let kind = body.u16()?;
        let action = match kind {
            0 => {
                let length = body.u16()?;
                body.skip(usize::from(length))?;
                TransactionAction::GetDtcAddress
            }
            1 => {
                let length = body.u16()?;
                TransactionAction::Propagate(body.bytes(usize::from(length))?)
            }
            5 => TransactionAction::Begin(begin(&mut body)?),
            6 => TransactionAction::Promote,
            7 => {
                let (name, then) = end(&mut body)?;
                TransactionAction::Commit { name, then }
            }
            8 => {
                let (name, then) = end(&mut body)?;
                TransactionAction::Rollback { name, then }
            }
            9 => TransactionAction::Save(body.name()?),
            other => return Err(ProtocolError::UnknownTransactionRequest(other)),
        };
        Ok(Self { transaction, action })
    }
}

fn begin<'a>(body: &mut Cursor<'a>) -> Result<Begin<'a>> {
    Ok(Begin { isolation: IsolationLevel::parse(body.u8()?)?, name: body.name()? })
}

fn end<'a>(body: &mut Cursor<'a>) -> Result<(Cow<'a, [u8]>, Option<Begin<'a>>)> {
    let name = body.name()?;
    let begins = body.u8()? & 1 != 0;
    Ok((name, if begins { Some(begin(body)?) } else { None }))
}

impl<'a> Cursor<'a> {
    /// Reads a transaction's name: a length in bytes, then UTF-16LE.
    fn name(&mut self) -> Result<Cow<'a, [u8]>> {
        let bytes = self.u8()?;
        self.bytes(usize::from(bytes))
    }
}
