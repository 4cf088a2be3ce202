//! `sysconfigures`: the configured values of the instance's settings.

use metadata::column::{Column, INT, SMALLINT, col, int, nv, opt, rows, shape, small, text};
use metadata::configurations::{Setting, settings};
use metadata::{Rows, Scope, SystemView};

const COLUMNS: &[Column<Setting>] = &[
    opt("value", INT, |r| int(r.value)),
    col("config", INT, |r| int(r.id)),
    col("comment", nv(255), |r| text(r.description)),
    col("status", SMALLINT, |r| small(i32::from(r.dynamic) + 2 * i32::from(r.advanced))),
];

pub(crate) static VIEW: SystemView = SystemView {
    schema: "",
    name: "sysconfigures",
    columns: || shape(COLUMNS),
    rows: read,
    arity: 0,
};

fn read(scope: &Scope<'_>) -> Rows {
    rows(COLUMNS, settings(&scope.session.instance, &scope.session.catalog))
}
