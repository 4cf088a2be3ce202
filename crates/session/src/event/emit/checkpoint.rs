//! CHECKPOINT: checkpoint_begin and checkpoint_end.

use sos::xe::{self, Event, Value};

use crate::SessionState;
use crate::event::context::fire;
use crate::event::list::{CHECKPOINT_BEGIN, CHECKPOINT_END};

/// Fires checkpoint_begin: a CHECKPOINT statement starts.
pub fn begin(session: &SessionState) {
    tell(session, &CHECKPOINT_BEGIN);
}

/// Fires checkpoint_end: a CHECKPOINT statement has finished.
pub fn end(session: &SessionState) {
    tell(session, &CHECKPOINT_END);
}

fn tell(session: &SessionState, event: &'static Event) {
    if xe::enabled(event) {
        let database = session.catalog.database(&session.identity.database);
        let id = database.map_or(0, |database| u64::from(database.id.cast_unsigned()));
        fire(session, event, &[Value::UInt(id)]);
    }
}
