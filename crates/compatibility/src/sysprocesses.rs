//! `sysprocesses`: sessions and the state of their requests.

use types::Value;

use ::plan::stats::StatementRow;
use metadata::column::{
    BIGINT, Column, DATETIME, INT, SMALLINT, big, bin, binary, col, int, ms, nc, opt, or_null,
    padded, rows, shape, small, unknown,
};
use metadata::requests::{RequestRow, request_rows};
use metadata::sessions::{SessionRow, session_rows};
use metadata::{Rows, Scope, SystemView};

const COLUMNS: &[Column<Row>] = &[
    col("spid", SMALLINT, |r| small(r.session.card.id)),
    opt("kpid", SMALLINT, |_| small(0)),
    opt("blocked", SMALLINT, |r| or_null(r.request.as_ref(), RequestRow::blocking)),
    unknown("waittype", bin(2)),
    col("waittime", BIGINT, |r| big(r.wait_ms())),
    opt("lastwaittype", nc(32), |r| {
        padded(r.request.as_ref().and_then(RequestRow::last_wait).unwrap_or(""), 32)
    }),
    opt("waitresource", nc(256), |r| padded(r.resource(), 256)),
    col("dbid", SMALLINT, |r| small(r.session.database_id())),
    unknown("uid", SMALLINT),
    col("cpu", INT, |r| ms(r.session.spent.worker())),
    // Rows are in memory: no disk is read.
    col("physical_io", BIGINT, |_| big(0)),
    unknown("memusage", INT),
    col("login_time", DATETIME, |r| r.session.card.login_time.clone()),
    col("last_batch", DATETIME, |r| r.session.card.last_start()),
    col("ecid", SMALLINT, |_| small(0)),
    col("open_tran", SMALLINT, |r| small(r.session.card.transactions())),
    col("status", nc(30), |r| {
        padded(r.request.as_ref().map_or("sleeping", RequestRow::status), 30)
    }),
    col("sid", bin(86), |r| {
        let mut sid = r.session.sid().to_vec();
        sid.resize(86, 0);
        binary(&sid)
    }),
    col("hostname", nc(128), |r| padded(&r.session.facts.client.host_name, 128)),
    col("program_name", nc(128), |r| padded(&r.session.facts.client.program_name, 128)),
    col("hostprocess", nc(10), |r| padded(&r.session.facts.client.process_id.to_string(), 10)),
    col("cmd", nc(26), |r| padded(&r.command(), 26)),
    col("nt_domain", nc(128), |_| padded("", 128)),
    col("nt_username", nc(128), |_| padded("", 128)),
    col("net_address", nc(12), |_| padded("", 12)),
    col("net_library", nc(12), |_| padded("TCP/IP", 12)),
    col("loginame", nc(128), |r| padded(&r.session.card.login, 128)),
    unknown("context_info", bin(128)),
    opt("sql_handle", bin(20), |r| {
        or_null(r.request.as_ref().and_then(|r| r.books.as_ref()), |books| {
            let bytes = books.sql_handle().bytes();
            binary(bytes.get(..20).unwrap_or(bytes))
        })
    }),
    col("stmt_start", INT, |r| int(r.statement(|s| i64::from(s.start)).unwrap_or(0))),
    col("stmt_end", INT, |r| int(r.statement(|s| i64::from(s.end)).unwrap_or(0))),
    col("request_id", INT, |_| int(0)),
    opt("page_resource", bin(8), |_| Value::Null),
];

pub(crate) static VIEW: SystemView = SystemView {
    schema: "",
    name: "sysprocesses",
    columns: || shape(COLUMNS),
    rows: read,
    arity: 0,
};

/// A session, and its request if one is running.
struct Row {
    session: SessionRow,
    request: Option<RequestRow>,
}

impl Row {
    fn wait_ms(&self) -> u64 {
        self.request.as_ref().and_then(RequestRow::wait).map_or(0, |wait| wait.ms)
    }

    fn resource(&self) -> &str {
        self.request.as_ref().and_then(|r| r.resource.as_deref()).unwrap_or_default()
    }

    fn command(&self) -> String {
        let running = self.request.as_ref().and_then(RequestRow::command);
        running.unwrap_or_else(|| "AWAITING COMMAND".to_owned())
    }

    fn statement(&self, fact: impl FnOnce(&StatementRow) -> i64) -> Option<i64> {
        self.request.as_ref().and_then(|r| r.statement.as_ref()).map(fact)
    }
}

fn read(scope: &Scope<'_>) -> Rows {
    let mut requests = request_rows(scope);
    let row = |session: SessionRow| {
        let at = requests.iter().position(|r| r.session.card.id == session.card.id);
        Row { request: at.map(|at| requests.swap_remove(at)), session }
    };
    let items: Vec<Row> = session_rows(scope).into_iter().map(row).collect();
    rows(COLUMNS, items)
}
