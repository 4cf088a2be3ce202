//! User-defined messages: what sp_addmessage adds to `sys.messages`.

use std::collections::BTreeMap;
use std::sync::Arc;

/// Number and language id of a message.
pub type MessageKey = (i32, i16);

/// The messages of an instance, shared by all catalog versions that do not change them.
pub type UserMessages = Arc<BTreeMap<MessageKey, UserMessage>>;

/// A message that sp_addmessage has added.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct UserMessage {
    /// Severity, 1 to 25.
    pub severity: u8,
    /// Text with RAISERROR's placeholders.
    pub text: String,
    /// `@with_log`: the message is written to the log.
    pub logged: bool,
}
