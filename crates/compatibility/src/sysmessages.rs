//! `sysmessages`: the system's messages and those that users added.

use types::Value;

use metadata::column::{
    Column, INT, SMALLINT, TINYINT, col, int, nv, opt, rows, shape, small, text,
};
use metadata::messages::{MessageRow, messages};
use metadata::{Rows, Scope, SystemView};

const COLUMNS: &[Column<MessageRow>] = &[
    col("error", INT, |r| int(r.number)),
    opt("severity", TINYINT, |r| Value::TinyInt(r.severity)),
    opt("dlevel", SMALLINT, |r| small(if r.logged { 128 } else { 0 })),
    opt("description", nv(255), |r| text(&r.text.chars().take(255).collect::<String>())),
    opt("msglangid", SMALLINT, |r| small(r.language)),
];

pub(crate) static VIEW: SystemView = SystemView {
    schema: "",
    name: "sysmessages",
    columns: || shape(COLUMNS),
    rows: read,
    arity: 0,
};

fn read(scope: &Scope<'_>) -> Rows {
    rows(COLUMNS, messages(&scope.session.catalog))
}
