//! `sys.dm_exec_query_statistics_xml`: the plan of the request that a session runs.

use types::{DataType, Value};

use super::dm_exec_query_plan::{PlanRow, row_of};
use metadata::column::{
    Column, INT, SMALLINT, binary, col, int, opt, or_null, rows, shape, text, vb,
};
use metadata::requests::request_rows;
use metadata::{RowSet, Rows, Scope, SystemView};

/// A running request with the plans of its program.
struct Running {
    session: i16,
    plan: PlanRow,
}

const COLUMNS: &[Column<Running>] = &[
    col("session_id", SMALLINT, |r| Value::SmallInt(r.session)),
    col("request_id", INT, |_| int(0)),
    opt("sql_handle", vb(64), |r| binary(r.plan.books.sql_handle().bytes())),
    opt("plan_handle", vb(64), |r| binary(r.plan.books.plan_handle().bytes())),
    opt("query_plan", DataType::Xml, |r| or_null(r.plan.document.as_deref(), text)),
];

pub(crate) static VIEW: SystemView = SystemView {
    schema: "sys",
    name: "dm_exec_query_statistics_xml",
    columns: || shape(COLUMNS),
    rows: read,
    arity: 1,
};

fn read(scope: &Scope<'_>) -> Rows {
    let wanted = match scope.arguments.first() {
        Some(Value::SmallInt(n)) => *n,
        Some(Value::Int(n)) => i16::try_from(*n).unwrap_or(-1),
        _ => return Ok(RowSet::default()),
    };
    let running = request_rows(scope).into_iter().filter(|row| row.session.card.id == wanted);
    let found = running.filter_map(|row| {
        let plan = row_of(row.books?, scope, None);
        Some(Running { session: row.session.card.id, plan })
    });
    rows(COLUMNS, found)
}
