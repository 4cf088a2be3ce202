//! `sys.query_context_settings`: the SET options that recorded queries were compiled under.

use metadata::column::{
    BIGINT, BIT, Column, INT, SMALLINT, TINYINT, big, binary, bit, col, int, opt, rows, shape,
    small, vb,
};
use metadata::{Rows, Scope};
use types::Value;

use super::SystemView;
use crate::dm_exec_plan_attributes::set_options;

const COLUMNS: &[Column<(i64, [u8; 2])>] = &[
    col("context_settings_id", BIGINT, |r| big(r.0)),
    opt("set_options", vb(8), |r| binary(&set_options(&r.1).to_be_bytes())),
    // A plan depends neither on the language nor on how dates are written, nor on the user.
    col("language_id", SMALLINT, |_| small(0)),
    col("date_format", SMALLINT, |_| small(1)),
    col("date_first", TINYINT, |_| Value::TinyInt(7)),
    opt("status", vb(2), |_| binary(&[0, 0])),
    col("required_cursor_options", INT, |_| int(0)),
    col("acceptable_cursor_options", INT, |_| int(0)),
    col("merge_action_type", SMALLINT, |_| small(0)),
    col("default_schema_id", INT, |_| int(-2)),
    col("is_replication_specific", BIT, |_| bit(false)),
    opt("is_contained", vb(1), |_| binary(&[0])),
];

pub(crate) static VIEW: SystemView = SystemView {
    schema: "sys",
    name: "query_context_settings",
    columns: || shape(COLUMNS),
    rows: read,
    arity: 0,
};

fn read(scope: &Scope<'_>) -> Rows {
    let contexts = super::read(scope, |store| {
        store.contexts.iter().map(|(id, options)| (*id, *options)).collect()
    });
    rows(COLUMNS, contexts)
}
