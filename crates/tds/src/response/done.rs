//! DONE, DONEPROC, DONEINPROC: the end of a statement, procedure or response ([MS-TDS] 2.2.7.6 to
//! 8).

use super::{ResponseWriter, token};
use crate::sink::Sink;

/// Which of the three DONE tokens.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum DoneKind {
    /// DONE: the end of a statement of a batch, a batch, a login or an attention.
    Done,
    /// DONEPROC: the end of a procedure, or of a call of an RPC message.
    Proc,
    /// DONEINPROC: the end of a statement in a procedure.
    InProc,
}

/// Status bits of a DONE token.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct DoneStatus(pub u16);

impl DoneStatus {
    /// The last DONE of a response.
    pub const FINAL: Self = Self(0x0000);
    /// More results of the response follow.
    pub const MORE: Self = Self(0x0001);
    /// The statement has failed; an ERROR token came before.
    pub const ERROR: Self = Self(0x0002);
    /// A transaction is open.
    pub const IN_TRANSACTION: Self = Self(0x0004);
    /// The row count is valid. Set if [`Done::row_count`] is given.
    pub const COUNT: Self = Self(0x0010);
    /// The DONE acknowledges an attention.
    pub const ATTENTION: Self = Self(0x0020);
    /// The end of a call that is not the last in its RPC message.
    pub const RPC_IN_BATCH: Self = Self(0x0080);
    /// The error is so severe that the client must discard the result.
    pub const SERVER_ERROR: Self = Self(0x0100);

    /// Returns whether all bits of `other` are set.
    pub const fn has(self, other: Self) -> bool {
        self.0 & other.0 == other.0
    }

    /// Returns the union of the bits.
    #[must_use]
    pub const fn with(self, other: Self) -> Self {
        Self(self.0 | other.0)
    }
}

/// The fields of a DONE token.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Done {
    /// Which of the three DONE tokens.
    pub kind: DoneKind,
    /// Status bits; COUNT is added if there is a row count.
    pub status: DoneStatus,
    /// The statement's number (CurCmd), which has a meaning for the server only; may be 0.
    pub command: u16,
    /// Rows affected or returned; `None` if NOCOUNT is on.
    pub row_count: Option<u64>,
}

impl ResponseWriter {
    /// Writes a DONE token.
    pub fn done(&mut self, done: Done) {
        let code = match done.kind {
            DoneKind::Done => token::DONE,
            DoneKind::Proc => token::DONE_PROC,
            DoneKind::InProc => token::DONE_IN_PROC,
        };
        let counted =
            if done.row_count.is_some() { DoneStatus::COUNT } else { DoneStatus::default() };
        let [s0, s1] = done.status.with(counted).0.to_le_bytes();
        let [c0, c1] = done.command.to_le_bytes();
        let count = done.row_count.unwrap_or(0);
        self.put(&[code, s0, s1, c0, c1]);
        if self.settings().version.has_wide_fields() {
            self.put(&count.to_le_bytes());
        } else {
            self.put(&u32::try_from(count).unwrap_or(u32::MAX).to_le_bytes());
        }
    }

    /// Writes the answer to an attention.
    pub fn attention_done(&mut self) {
        let (kind, status) = (DoneKind::Done, DoneStatus::ATTENTION);
        self.done(Done { kind, status, command: 0, row_count: None });
    }

    /// Writes RETURNSTATUS: the return value of a procedure ([MS-TDS] 2.2.7.18).
    pub fn return_status(&mut self, status: i32) {
        let [b0, b1, b2, b3] = status.to_le_bytes();
        self.put(&[token::RETURN_STATUS, b0, b1, b2, b3]);
    }
}
