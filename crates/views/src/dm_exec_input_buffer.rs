//! `sys.dm_exec_input_buffer`: the last request that a session's client sent.

use std::sync::Arc;

use types::Value;

use ::plan::stats::{Module, Origin, ProgramBooks};
use metadata::column::{Column, NVMAX, SMALLINT, nv, opt, rows, shape, small, text};
use metadata::{RowSet, Rows, Scope, SystemView};

/// A session's last request.
struct InputRow {
    /// The program that it ran, if still cached.
    books: Option<Arc<ProgramBooks>>,
    /// Name of the procedure that it called (RPC).
    procedure: Option<String>,
}

impl InputRow {
    fn event_type(&self) -> Value {
        match self.books.as_ref().map(|books| &books.origin) {
            None => Value::Null,
            Some(Origin::Batch | Origin::Template(_)) => text("Language Event"),
            Some(Origin::Prepared(_) | Origin::Procedure(_)) => text("RPC Event"),
        }
    }

    fn event_info(&self) -> Value {
        match (&self.procedure, &self.books) {
            (Some(name), _) => text(name),
            (None, Some(books)) => text(&books.text()),
            (None, None) => Value::Null,
        }
    }
}

const COLUMNS: &[Column<InputRow>] = &[
    opt("event_type", nv(256), InputRow::event_type),
    opt("parameters", SMALLINT, |_| small(0)),
    opt("event_info", NVMAX, InputRow::event_info),
];

pub(crate) static VIEW: SystemView = SystemView {
    schema: "sys",
    name: "dm_exec_input_buffer",
    columns: || shape(COLUMNS),
    rows: read,
    arity: 2,
};

fn read(scope: &Scope<'_>) -> Rows {
    let instance = &scope.session.instance;
    let asked = match scope.arguments.first() {
        Some(Value::SmallInt(id)) => i32::from(*id),
        Some(Value::Int(id)) => *id,
        _ => return Ok(RowSet::default()),
    };
    // A session has only one request, number 0.
    if !matches!(scope.arguments.get(1), None | Some(Value::Null | Value::Int(0))) {
        return Ok(RowSet::default());
    }
    // A login without VIEW SERVER STATE sees its own session only.
    let is_own = asked == i32::from(scope.session.connection.id);
    if !is_own && !scope.session.identity.rights.views_server_state() {
        return Ok(RowSet::default());
    }
    let card = instance.sessions.cards().into_iter().find(|card| i32::from(card.id) == asked);
    rows(
        COLUMNS,
        card.map(|card| {
            let books = instance.statistics.by_serial(card.live.request_program());
            let module = books.as_ref().and_then(|books| books.module());
            let procedure = module.and_then(|module| procedure_name(scope, module));
            InputRow { books, procedure }
        }),
    )
}

/// Returns `database.schema.procedure;1`, the form in which SQL Server shows an RPC.
fn procedure_name(scope: &Scope<'_>, module: Module) -> Option<String> {
    let database = scope.session.catalog.database_by_id(module.database_id)?;
    let found = database.objects.values().find(|object| object.id() == module.object_id)?;
    Some(format!("{}.{}.{};1", database.name, found.schema(), found.name()))
}
