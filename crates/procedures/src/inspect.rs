//! `DBCC INPUTBUFFER` and `DBCC OPENTRAN`: a session's last request, and the oldest open
//! transaction.

use storage::lock::TransactionRow;
use tsql::ast;
use types::{DataType, Error, Msg, Value};

use super::catalog::{TextProcedure, run};
use super::trace::number;
use ::catalog::name::Name;
use ::executor::Cx;
use ::session::instance::datetime_of;
use ::session::session_id;
use interpreter::{Argument, Stop};

static INPUT_BUFFER: TextProcedure = TextProcedure {
    name: "DBCC INPUTBUFFER",
    parameters: &[("@session", "int")],
    text: "
SELECT CAST(b.event_type AS nvarchar(14)) AS EventType, b.parameters AS [Parameters], CAST(b.event_info AS nvarchar(4000)) AS EventInfo
FROM sys.dm_exec_input_buffer(@session, NULL) AS b",
};

/// Runs `INPUTBUFFER (session [, request])`.
///
/// # Errors
/// 7955 for an unknown session; 2571 for another's without VIEW SERVER STATE.
pub(crate) fn input_buffer(dbcc: &ast::Dbcc, cx: &mut Cx<'_>) -> Result<(), Stop> {
    let id = dbcc.arguments.first().and_then(number).ok_or(Msg::DbccParameter(1))?;
    if dbcc.arguments.len() > 2 {
        return Err(Msg::DbccParameterCount.into());
    }
    if i32::from(cx.session.connection.id) != id && !cx.session.identity.rights.views_server_state()
    {
        return Err(Msg::DbccDenied(&cx.session.identity.login, "INPUTBUFFER").into());
    }
    let cards = cx.session.instance.sessions.cards();
    if !cards.iter().any(|card| i32::from(card.id) == id) {
        return Err(Error::custom(7_955, 16, 2, format!("Invalid SPID {id} specified.")).into());
    }
    let mut argument = [Argument {
        name: String::new(),
        ty: crate::procedure::int_type(),
        value: Value::Int(id),
        output: false,
        default: false,
        table: None,
        cursor: None,
    }];
    run(&INPUT_BUFFER, &mut argument, cx)?;
    Ok(())
}

/// An open transaction and its session.
struct Open {
    session: i16,
    transaction: TransactionRow,
    sid: Vec<u8>,
}

/// Runs `OPENTRAN [(database)]`. There is no log, so there is no LSN to show.
///
/// # Errors
/// 911 for an unknown database.
pub(crate) fn open_transaction(dbcc: &ast::Dbcc, cx: &mut Cx<'_>) -> Result<(), Stop> {
    let database = super::check::find_database(dbcc, cx)?;
    super::dbcc::require_database("OPENTRAN", &database, cx)?;
    let database = database.name.clone();
    let text = match oldest(&database, cx) {
        None => return say(7_969, "No active open transactions.", cx),
        Some(open) => describe(&open, cx),
    };
    say(7_967, &format!("Transaction information for database '{database}'."), cx)?;
    say(7_970, &text, cx)
}

/// Returns the oldest open transaction of the sessions in a database.
fn oldest(database: &str, cx: &Cx<'_>) -> Option<Open> {
    let instance = &cx.session.instance;
    let cards = instance.sessions.cards();
    let open = |owner: &std::sync::Arc<storage::lock::LockOwner>| {
        let transaction = owner.transaction()?;
        let session = session_id(owner.session())?;
        let card = cards.iter().find(|card| card.id == session)?;
        let login = cx.session.catalog.logins.get(&Name::new(&card.login));
        let sid = login.map(|login| login.sid.clone()).unwrap_or_default();
        let is_there = Name::same(&card.facts().database, database);
        is_there.then_some(Open { session, transaction, sid })
    };
    let found = instance.store.locks().owners().iter().filter_map(open).collect::<Vec<_>>();
    found.into_iter().min_by_key(|open| open.transaction.number)
}

fn describe(open: &Open, cx: &Cx<'_>) -> String {
    let name = open.transaction.name.as_deref().unwrap_or("user_transaction");
    let begun = datetime_of(open.transaction.begun);
    let options = cx.session.convert_options();
    let style = 109;
    let shown = types::convert::convert(
        &begun,
        &types::value::ColumnType::nullable(DataType::DateTime),
        &cx.session.text_type(),
        style,
        types::Mode::Explicit,
        &options,
    );
    let begun = shown.ok().and_then(|v| v.as_text(cx.session.collation())).unwrap_or_default();
    let sid: String = open.sid.iter().map(|byte| format!("{byte:02x}")).collect();
    format!(
        "\nOldest active transaction:\n    SPID (server process ID): {}\n    UID (user ID) : -1\n    \
         Name          : {name}\n    Start time    : {begun}\n    SID           : 0x{sid}",
        open.session
    )
}

fn say(number: i32, text: &str, cx: &mut Cx<'_>) -> Result<(), Stop> {
    cx.sink.message(&Error::custom(number, 0, 1, text))?;
    Ok(())
}
