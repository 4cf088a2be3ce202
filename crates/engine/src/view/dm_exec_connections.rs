//! `sys.dm_exec_connections`: the connections of the sessions.

use types::Value;

use super::column::{
    Column, DATETIME, GUID, INT, SMALLINT, ascii, col, int, nv, opt, rows, shape, small, text,
    unknown, vb, vc,
};
use super::{Rows, Scope, SystemView};
use crate::view::source_sessions::{SessionRow, session_rows};

const COLUMNS: &[Column<SessionRow>] = &[
    opt("session_id", INT, |r| int(r.card.id)),
    opt("most_recent_session_id", INT, |r| int(r.card.id)),
    col("connect_time", DATETIME, |r| r.card.login_time.clone()),
    col("net_transport", nv(40), |_| text("TCP")),
    opt("protocol_type", nv(40), |_| text("TSQL")),
    opt("protocol_version", INT, |r| Value::Int(r.facts.client.tds_version.cast_signed())),
    opt("endpoint_id", INT, |_| int(4)),
    col("encrypt_option", nv(40), |r| {
        text(if r.facts.client.encrypted { "TRUE" } else { "FALSE" })
    }),
    col("auth_scheme", nv(40), |_| text("SQL")),
    col("node_affinity", SMALLINT, |_| small(0)),
    unknown("num_reads", INT),
    unknown("num_writes", INT),
    opt("last_read", DATETIME, |r| r.card.last_start()),
    opt("last_write", DATETIME, |r| r.card.last_end()),
    opt("net_packet_size", INT, |r| int(r.facts.client.packet_size)),
    opt("client_net_address", vc(48), |r| ascii(&r.facts.client.address.0)),
    opt("client_tcp_port", INT, |r| int(r.facts.client.address.1)),
    opt("local_net_address", vc(48), |r| ascii(&r.facts.client.local_address.0)),
    opt("local_tcp_port", INT, |r| int(r.facts.client.local_address.1)),
    unknown("connection_id", GUID),
    unknown("parent_connection_id", GUID),
    unknown("most_recent_sql_handle", vb(64)),
];

/// The view.
pub(super) static VIEW: SystemView = SystemView {
    schema: "sys",
    name: "dm_exec_connections",
    columns: || shape(COLUMNS),
    rows: read,
    arity: 0,
};

fn read(scope: &Scope<'_>) -> Rows {
    rows(COLUMNS, session_rows(scope))
}
