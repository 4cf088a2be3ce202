//! Messages of users: what sp_addmessage adds to `sys.messages`.

use std::collections::BTreeMap;
use std::sync::Arc;

/// Number and language id of a message.
pub type MessageKey = (i32, i16);

/// The messages of an instance, shared by the versions of its catalog that do not change them.
pub type UserMessages = Arc<BTreeMap<MessageKey, UserMessage>>;

/// A message that a user has added.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct UserMessage {
    /// Its severity.
    pub severity: u8,
    /// Its text, with places as RAISERROR fills them in.
    pub text: String,
    /// Whether `@with_log` was said.
    pub logged: bool,
}
