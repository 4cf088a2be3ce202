//! Transaction manager requests, without T-SQL: begin_tran_*, commit_tran_*, rollback_tran_*,
//! save_tran_*.

use sos::xe::{self, Event, Value};

use super::{Begun, request};
use crate::event::context::{self, fire_of};
use crate::event::list::{
    BEGIN_TRAN_COMPLETED, BEGIN_TRAN_STARTING, COMMIT_TRAN_COMPLETED, COMMIT_TRAN_STARTING,
    ROLLBACK_TRAN_COMPLETED, ROLLBACK_TRAN_STARTING, SAVE_TRAN_COMPLETED, SAVE_TRAN_STARTING,
};
use crate::stop::Stop;
use crate::{SessionState, TransactionRequest};

/// A request between its start and end events.
pub struct Managed {
    context: bool,
    watched: Option<Watched>,
}

struct Watched {
    begun: Begun,
    text: String,
    completed: &'static Event,
    /// Whether the next transaction begins with it; `None` for a request that cannot.
    begins_next: Option<bool>,
}

/// Fires the start event of a request.
#[inline]
pub fn starting(session: &SessionState, request: &TransactionRequest<'_>) -> Managed {
    let (starting, completed) = match request {
        TransactionRequest::Begin(..) => (&BEGIN_TRAN_STARTING, &BEGIN_TRAN_COMPLETED),
        TransactionRequest::Commit(_) => (&COMMIT_TRAN_STARTING, &COMMIT_TRAN_COMPLETED),
        TransactionRequest::Rollback(..) => (&ROLLBACK_TRAN_STARTING, &ROLLBACK_TRAN_COMPLETED),
        TransactionRequest::Save(_) => (&SAVE_TRAN_STARTING, &SAVE_TRAN_COMPLETED),
    };
    let context = context::begin(session, || statement(request));
    let is_watched = xe::enabled(starting) || xe::enabled(completed);
    Managed { context, watched: is_watched.then(|| watch(session, request, (starting, completed))) }
}

#[cold]
fn watch(
    session: &SessionState,
    request: &TransactionRequest<'_>,
    (starting, completed): (&'static Event, &'static Event),
) -> Watched {
    let text = statement(request);
    let begins_next = match request {
        TransactionRequest::Begin(..) | TransactionRequest::Save(_) => None,
        TransactionRequest::Commit(next) | TransactionRequest::Rollback(_, next) => {
            Some(next.is_some())
        }
    };
    if xe::enabled(starting) {
        let mut values = vec![Value::Text(&text)];
        values.extend(begins_next.map(Value::Bool));
        fire_of(session, &text, starting, &values);
    }
    Watched { begun: Begun::now(), text, completed, begins_next }
}

/// Returns the request as the equivalent statement.
fn statement(request: &TransactionRequest<'_>) -> String {
    let (verb, name) = match request {
        TransactionRequest::Begin(_, name) => ("BEGIN", *name),
        TransactionRequest::Commit(_) => ("COMMIT", ""),
        TransactionRequest::Rollback(name, _) => ("ROLLBACK", *name),
        TransactionRequest::Save(name) => ("SAVE", *name),
    };
    let space = if name.is_empty() { "" } else { " " };
    format!("{verb} TRANSACTION{space}{name}")
}

/// Fires the end event of the request.
#[inline]
pub fn completed(session: &SessionState, managed: Managed, outcome: &Result<(), Stop>) {
    if let Some(Watched { begun, text, completed, begins_next }) = &managed.watched
        && xe::enabled(completed)
    {
        let mut values = vec![Value::Text(text)];
        values.extend(begins_next.map(Value::Bool));
        values.push(Value::UInt(begun.spent_us().0));
        values.push(Value::Map(request::result(session, outcome)));
        fire_of(session, text, completed, &values);
    }
    context::end(managed.context);
}
