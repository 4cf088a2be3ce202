//! Events of a driver's transaction manager requests ([MS-TDS] 2.2.6.9), which Profiler calls "TM:
//! ..". A BEGIN TRANSACTION statement is an ordinary statement.

use sos::xe::FieldType::{Boolean, Map, UInt64, UnicodeString};
use sos::xe::{Channel, Event, Field, Setting};

use super::{event, field, on};
use crate::event::map::RESULT;

const STATEMENT: Field = field("statement", UnicodeString, "The request as a statement");
const NEXT: Field =
    field("new_transaction_started", Boolean, "Whether it asks for the next transaction as well");
const DURATION: Field = field("duration", UInt64, "From its start to its end, in microseconds");
const ENDED: Field = field("result", Map(&RESULT), "How it ended");

const SETTINGS: &[Setting] =
    &[on("collect_statement", "statement", "Collects the request as a statement")];

const fn request(name: &'static str, description: &'static str, fields: &'static [Field]) -> Event {
    event(name, description, fields)
        .found_under(Channel::Analytic, "execution")
        .with_settings(SETTINGS)
}

/// A request to begin a transaction.
pub static BEGIN_TRAN_STARTING: Event = request(
    "begin_tran_starting",
    "Occurs when a transaction manager request to begin a transaction has started",
    &[STATEMENT],
);

/// The request to begin has ended.
pub static BEGIN_TRAN_COMPLETED: Event = request(
    "begin_tran_completed",
    "Occurs when a transaction manager request to begin a transaction has completed",
    &[STATEMENT, DURATION, ENDED],
);

/// A request to commit.
pub static COMMIT_TRAN_STARTING: Event = request(
    "commit_tran_starting",
    "Occurs when a transaction manager request to commit a transaction has started",
    &[STATEMENT, NEXT],
);

/// The request to commit has ended.
pub static COMMIT_TRAN_COMPLETED: Event = request(
    "commit_tran_completed",
    "Occurs when a transaction manager request to commit a transaction has completed",
    &[STATEMENT, NEXT, DURATION, ENDED],
);

/// A request to roll back.
pub static ROLLBACK_TRAN_STARTING: Event = request(
    "rollback_tran_starting",
    "Occurs when a transaction manager request to roll a transaction back has started",
    &[STATEMENT, NEXT],
);

/// The request to roll back has ended.
pub static ROLLBACK_TRAN_COMPLETED: Event = request(
    "rollback_tran_completed",
    "Occurs when a transaction manager request to roll a transaction back has completed",
    &[STATEMENT, NEXT, DURATION, ENDED],
);

/// A request to set a savepoint.
pub static SAVE_TRAN_STARTING: Event = request(
    "save_tran_starting",
    "Occurs when a transaction manager request to save a transaction has started",
    &[STATEMENT],
);

/// The request for a savepoint has ended.
pub static SAVE_TRAN_COMPLETED: Event = request(
    "save_tran_completed",
    "Occurs when a transaction manager request to save a transaction has completed",
    &[STATEMENT, DURATION, ENDED],
);
