//! `sys.dm_exec_sql_text`: the text of a cached program, by its `sql_handle` or `plan_handle`.

use std::sync::Arc;

use types::Value;

use ::plan::stats::ProgramBooks;
use metadata::column::{
    BIT, Column, INT, NVMAX, SMALLINT, bit, col, int, opt, or_null, rows, shape, small, text,
};
use metadata::{RowSet, Rows, Scope, SystemView};

const COLUMNS: &[Column<Arc<ProgramBooks>>] = &[
    opt("dbid", SMALLINT, |r| or_null(r.module(), |m| small(m.database_id))),
    opt("objectid", INT, |r| or_null(r.module(), |m| int(m.object_id))),
    opt("number", SMALLINT, |r| or_null(r.module(), |_| small(1))),
    col("encrypted", BIT, |r| bit(r.is_encrypted())),
    opt("text", NVMAX, |r| if r.is_encrypted() { Value::Null } else { text(&r.text()) }),
];

pub(crate) static VIEW: SystemView = SystemView {
    schema: "sys",
    name: "dm_exec_sql_text",
    columns: || shape(COLUMNS),
    rows: read,
    arity: 1,
};

fn read(scope: &Scope<'_>) -> Rows {
    let handle = match scope.arguments.first() {
        Some(Value::VarBinary(handle)) => handle,
        _ => return Ok(RowSet::default()),
    };
    rows(COLUMNS, scope.session.instance.statistics.find(handle))
}
