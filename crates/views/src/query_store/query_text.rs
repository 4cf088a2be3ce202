//! `sys.query_store_query_text`: the texts of recorded queries.

use std::sync::Arc;

use ::plan::stats::statement_handle;
use metadata::column::{
    BIGINT, BIT, Column, NVMAX, big, binary, bit, col, opt, rows, shape, text, vb,
};
use metadata::{Rows, Scope};

use super::SystemView;

const COLUMNS: &[Column<(i64, Arc<str>)>] = &[
    col("query_text_id", BIGINT, |r| big(r.0)),
    opt("query_sql_text", NVMAX, |r| text(&r.1)),
    opt("statement_sql_handle", vb(44), |r| binary(&statement_handle(&r.1))),
    col("is_part_of_encrypted_module", BIT, |_| bit(false)),
    col("has_restricted_text", BIT, |_| bit(false)),
];

pub(crate) static VIEW: SystemView = SystemView {
    schema: "sys",
    name: "query_store_query_text",
    columns: || shape(COLUMNS),
    rows: read,
    arity: 0,
};

fn read(scope: &Scope<'_>) -> Rows {
    let texts = super::read(scope, |store| {
        store.texts.iter().map(|(id, text)| (*id, Arc::clone(text))).collect()
    });
    rows(COLUMNS, texts)
}
