//! Events of checkpoints, and of the transaction log, which Clearway lacks.

use sos::xe::FieldType::{UInt32, UInt64};
use sos::xe::{Channel, Event, Field};

use super::{event, field};

const DATABASE: &[Field] = &[field("database_id", UInt32, "The database")];

/// A checkpoint begins: CHECKPOINT statement.
pub static CHECKPOINT_BEGIN: Event =
    event("checkpoint_begin", "Occurs when a checkpoint begins: at CHECKPOINT only", DATABASE)
        .found_under(Channel::Operational, "io");

/// A checkpoint has ended: CHECKPOINT statement.
pub static CHECKPOINT_END: Event =
    event("checkpoint_end", "Occurs when a checkpoint has ended: at CHECKPOINT only", DATABASE)
        .found_under(Channel::Operational, "io");

const FLUSH: &[Field] = &[
    field("database_id", UInt32, "The database"),
    field("write_size", UInt64, "Bytes"),
    field("duration", UInt64, "Microseconds"),
];

/// Declared for scripts that name it; it never fires.
pub static LOG_FLUSH_START: Event =
    event("log_flush_start", "Never occurs: data is in memory, and no log of it is written", FLUSH)
        .found_under(Channel::Analytic, "transactions");

/// Declared for scripts that name it; it never fires.
pub static LOG_FLUSH_COMPLETE: Event = event(
    "log_flush_complete",
    "Never occurs: data is in memory, and no log of it is written",
    FLUSH,
)
.found_under(Channel::Analytic, "transactions");
