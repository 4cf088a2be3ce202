//! `sys.dm_exec_connections`: the connections of the sessions.

use std::sync::Arc;

use session::instance::Instance;
use session::{ClientInfo, Transport};
use types::Value;

use ::plan::stats::ProgramBooks;
use metadata::column::{
    Column, DATETIME, GUID, INT, SMALLINT, ascii, binary, col, int, nv, opt, or_null, rows_needed,
    shape, small, text, unknown, vb, vc,
};
use metadata::sessions::{SessionRow, session_rows};
use metadata::{Rows, Scope, SystemView};

/// A session's connection: a row of the view.
struct ConnectionRow {
    session: SessionRow,
    instance: Arc<Instance>,
}

impl ConnectionRow {
    /// Returns the program that it ran last, if still cached.
    fn recent(&self) -> Option<Arc<ProgramBooks>> {
        self.instance.statistics.by_serial(self.session.card.live.request_program())
    }
}

const COLUMNS: &[Column<ConnectionRow>] = &[
    opt("session_id", INT, |r| int(r.session.card.id)),
    opt("most_recent_session_id", INT, |r| int(r.session.card.id)),
    col("connect_time", DATETIME, |r| r.session.card.login_time.clone()),
    col("net_transport", nv(40), |r| text(r.session.facts.client.transport.name())),
    opt("protocol_type", nv(40), |_| text("TSQL")),
    opt("protocol_version", INT, |r| Value::Int(r.session.facts.client.tds_version.cast_signed())),
    opt("endpoint_id", INT, |r| int(r.session.facts.client.endpoint())),
    col("encrypt_option", nv(40), |r| {
        text(if r.session.facts.client.encrypted { "TRUE" } else { "FALSE" })
    }),
    col("auth_scheme", nv(40), |_| text("SQL")),
    col("node_affinity", SMALLINT, |_| small(0)),
    opt("num_reads", INT, |r| int(r.session.facts.client.traffic.reads())),
    opt("num_writes", INT, |r| int(r.session.facts.client.traffic.writes())),
    opt("last_read", DATETIME, |r| r.session.card.last_start()),
    opt("last_write", DATETIME, |r| r.session.card.last_end()),
    opt("net_packet_size", INT, |r| int(r.session.facts.client.packet_size)),
    opt("client_net_address", vc(48), |r| match r.session.facts.client.transport {
        Transport::Tcp => ascii(&r.session.facts.client.address.0),
        Transport::UnixSocket => ascii("<local machine>"),
    }),
    opt("client_tcp_port", INT, |r| of_tcp(r, |client| int(client.address.1))),
    opt("local_net_address", vc(48), |r| of_tcp(r, |client| ascii(&client.local_address.0))),
    opt("local_tcp_port", INT, |r| of_tcp(r, |client| int(client.local_address.1))),
    col("connection_id", GUID, |r| r.session.card.connection_id.clone()),
    unknown("parent_connection_id", GUID),
    opt("most_recent_sql_handle", vb(64), |r| {
        or_null(r.recent(), |books| binary(books.sql_handle().bytes()))
    }),
];

/// Returns what only a TCP connection has.
fn of_tcp(row: &ConnectionRow, value: impl FnOnce(&ClientInfo) -> Value) -> Value {
    let client = &row.session.facts.client;
    match client.transport {
        Transport::Tcp => value(client),
        Transport::UnixSocket => Value::Null,
    }
}

pub(crate) static VIEW: SystemView = SystemView {
    schema: "sys",
    name: "dm_exec_connections",
    columns: || shape(COLUMNS),
    rows: read,
    arity: 0,
};

fn read(scope: &Scope<'_>) -> Rows {
    let instance = &scope.session.instance;
    let row = |session| ConnectionRow { session, instance: Arc::clone(instance) };
    rows_needed(scope, COLUMNS, session_rows(scope).into_iter().map(row))
}
