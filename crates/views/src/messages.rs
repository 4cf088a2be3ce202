//! `sys.messages`: the system's messages and those that users added.
//!
//! The system's are those that this server can send: SQL Server's texts with format specifiers for
//! the arguments.

use types::Value;

use metadata::column::{
    BIT, Column, INT, SMALLINT, TINYINT, bit, col, int, nv, opt, rows, shape, small, text,
};
use metadata::messages::{MessageRow, messages};
use metadata::{Rows, Scope, SystemView};

const COLUMNS: &[Column<MessageRow>] = &[
    col("message_id", INT, |r| int(r.number)),
    col("language_id", SMALLINT, |r| small(r.language)),
    opt("severity", TINYINT, |r| Value::TinyInt(r.severity)),
    col("is_event_logged", BIT, |r| bit(r.logged)),
    col("text", nv(2048), |r| text(&r.text)),
];

pub(crate) static VIEW: SystemView = SystemView {
    schema: "sys",
    name: "messages",
    columns: || shape(COLUMNS),
    rows: read,
    arity: 0,
};

fn read(scope: &Scope<'_>) -> Rows {
    rows(COLUMNS, messages(&scope.session.catalog))
}
