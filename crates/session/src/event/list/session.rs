//! Events of logins and logouts.

use sos::xe::FieldType::{BinaryData, Boolean, UInt32, UInt64, UnicodeString};
use sos::xe::{Channel, Event, Setting};

use super::{event, field, off};

const PAGES: &str = "Rows lie in memory: 0";
const READS: &str = "Row versions that were read or written";
const WRITES: &str = "Row versions that were written";

const LOGIN_SETTINGS: &[Setting] = &[
    off("collect_database_name", "database_name", "Collects the name of the database"),
    off("collect_options_text", "options_text", "Collects the options as SET statements"),
];

/// A session has logged in, or a pooled one has been reset.
pub static LOGIN: Event = event(
    "login",
    "Occurs when a connection is made to the server, or taken from a pool",
    &[
        field("is_cached", Boolean, "Whether it comes from a pool"),
        field("is_recovered", Boolean, "Connections are not recovered: false"),
        field("is_dac", Boolean, "There is no dedicated connection: false"),
        field("database_id", UInt32, "Its database"),
        field("packet_size", UInt32, "Bytes of a packet"),
        field("options", BinaryData, "Its options, a bit for each"),
        field("options_text", UnicodeString, "Its options, as SET statements"),
        field("database_name", UnicodeString, "Its database's name"),
    ],
)
.found_under(Channel::Analytic, "session")
.with_settings(LOGIN_SETTINGS);

/// A session has ended, or a pooled one is about to be reset.
pub static LOGOUT: Event = event(
    "logout",
    "Occurs when a connection ends, or has gone back to a pool",
    &[
        field("is_cached", Boolean, "Whether it goes back to a pool"),
        field("is_recovered", Boolean, "Connections are not recovered: false"),
        field("is_dac", Boolean, "There is no dedicated connection: false"),
        field("duration", UInt64, "Since its login, in microseconds"),
        field("cpu_time", UInt64, "CPU time of its requests, in microseconds"),
        field("page_server_reads", UInt64, PAGES),
        field("physical_reads", UInt64, PAGES),
        field("logical_reads", UInt64, READS),
        field("writes", UInt64, WRITES),
    ],
)
.found_under(Channel::Analytic, "session");

/// A session existed when the event session started.
pub static EXISTING_CONNECTION: Event = event(
    "existing_connection",
    "Occurs for each connection that exists when the event session starts",
    &[
        field("is_dac", Boolean, "There is no dedicated connection: false"),
        field("database_id", UInt32, "Its database"),
        field("packet_size", UInt32, "Bytes of a packet"),
        field("session_id", UInt32, "The session"),
        field("options", BinaryData, "Its options, a bit for each"),
        field("options_text", UnicodeString, "Its options, as SET statements"),
        field("database_name", UnicodeString, "Its database's name"),
    ],
)
.found_under(Channel::Analytic, "session")
.with_settings(LOGIN_SETTINGS);
