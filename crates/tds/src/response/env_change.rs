//! ENVCHANGE: a change in the session's environment ([MS-TDS] 2.2.7.9).

use types::Collation;

use super::{ResponseWriter, token};
use crate::response::columns::put_b_varchar;
use crate::sink::Sink;

/// A change of the environment: the new value, then the old one.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum EnvChange<'a> {
    /// 1: the current database.
    Database(&'a str, &'a str),
    /// 2: the session's language.
    Language(&'a str, &'a str),
    /// 4: the packet size, in bytes.
    PacketSize(u16, u16),
    /// 7: the collation. Several drivers refuse a login without this token.
    Collation(Collation),
    /// 8: a transaction has begun, with this descriptor.
    BeginTransaction(u64),
    /// 9: the transaction was committed.
    CommitTransaction(u64),
    /// 10: the transaction was rolled back.
    RollbackTransaction(u64),
    /// 17: the transaction ended by itself, not by a transaction request.
    TransactionEnded(u64),
    /// 18: the reset that a packet header asked for is done.
    ResetDone,
}

impl ResponseWriter {
    /// Writes an ENVCHANGE token.
    pub fn env_change(&mut self, change: EnvChange<'_>) {
        let mut content = Vec::with_capacity(64);
        match change {
            EnvChange::Database(new, old) => texts(&mut content, 1, new, old),
            EnvChange::Language(new, old) => texts(&mut content, 2, new, old),
            EnvChange::PacketSize(new, old) => {
                texts(&mut content, 4, &new.to_string(), &old.to_string());
            }
            EnvChange::Collation(collation) => {
                content.extend_from_slice(&[7, 5]);
                content.extend_from_slice(&collation.to_wire());
                content.push(0);
            }
            EnvChange::BeginTransaction(descriptor) => {
                content.extend_from_slice(&[8, 8]);
                content.extend_from_slice(&descriptor.to_le_bytes());
                content.push(0);
            }
            EnvChange::CommitTransaction(descriptor) => ended(&mut content, 9, descriptor),
            EnvChange::RollbackTransaction(descriptor) => ended(&mut content, 10, descriptor),
            EnvChange::TransactionEnded(descriptor) => ended(&mut content, 17, descriptor),
            // Frequent: every pooled connection. No allocation.
            EnvChange::ResetDone => return self.put(&[token::ENV_CHANGE, 3, 0, 18, 0, 0]),
        }
        let length = u16::try_from(content.len()).expect("two names of 128 units are short");
        self.put(&[token::ENV_CHANGE]);
        self.put(&length.to_le_bytes());
        self.put(&content);
    }
}

fn texts(content: &mut Vec<u8>, code: u8, new: &str, old: &str) {
    content.push(code);
    put_b_varchar(content, new, 255);
    put_b_varchar(content, old, 255);
}

fn ended(content: &mut Vec<u8>, code: u8, descriptor: u64) {
    content.extend_from_slice(&[code, 0, 8]);
    content.extend_from_slice(&descriptor.to_le_bytes());
}
