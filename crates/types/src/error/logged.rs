//! Which of the system's messages go to the server's log: `sys.messages.is_event_logged`.

/// Numbers of messages of the registry that go to the log, rising, as in SQL Server.
const LOGGED: [i32; 13] =
    [701, 1204, 3624, 4014, 8645, 9001, 9002, 17809, 17810, 17828, 17832, 17836, 18456];

/// Returns whether a message of the system goes to the server's log when a client gets it.
#[must_use]
pub fn is_event_logged(number: i32) -> bool {
    LOGGED.binary_search(&number).is_ok()
}
