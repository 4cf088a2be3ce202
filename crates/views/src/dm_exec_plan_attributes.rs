//! `sys.dm_exec_plan_attributes`: what a cached program was compiled under, by its `plan_handle`.

use std::sync::Arc;

use types::value::ColumnType;
use types::{DataType, Value};

use ::plan::stats::ProgramBooks;
use ::session::options::Meaning;
use metadata::column::{BIT, Column, VARIANT, ascii, bit, col, opt, rows, shape, vc};
use metadata::{RowSet, Rows, Scope, SystemView};

/// An attribute: its name, its value and whether plans that differ in it are kept apart.
struct Attribute {
    name: &'static str,
    value: Option<(Value, DataType)>,
    is_key: bool,
}

const COLUMNS: &[Column<Attribute>] = &[
    col("attribute", vc(128), |r| ascii(r.name)),
    opt("value", VARIANT, |r| match &r.value {
        Some((value, of)) => Value::Variant(Box::new((value.clone(), ColumnType::nullable(*of)))),
        None => Value::Null,
    }),
    col("is_cache_key", BIT, |r| bit(r.is_key)),
];

pub(crate) static VIEW: SystemView = SystemView {
    schema: "sys",
    name: "dm_exec_plan_attributes",
    columns: || shape(COLUMNS),
    rows: read,
    arity: 1,
};

fn read(scope: &Scope<'_>) -> Rows {
    let Some(Value::VarBinary(handle)) = scope.arguments.first() else {
        return Ok(RowSet::default());
    };
    let found = scope.session.instance.statistics.find(handle);
    rows(COLUMNS, found.iter().flat_map(attributes))
}

fn attributes(books: &Arc<ProgramBooks>) -> Vec<Attribute> {
    let int = |value: i32| Some((Value::Int(value), DataType::Int));
    let small = |value: i16| Some((Value::SmallInt(value), DataType::SmallInt));
    let key = |name, value| Attribute { name, value, is_key: true };
    let other = |name, value| Attribute { name, value, is_key: false };
    let module = books.module();
    let database = small(books.database_id());
    let text = books.sql_handle().bytes();
    let handle = Value::VarBinary(types::Bytes::copy_from(text));
    vec![
        key("set_options", int(set_options(books.options()))),
        key("objectid", int(module.map_or_else(|| text_id(text), |module| module.object_id))),
        key("dbid", module.map_or(database.clone(), |module| small(module.database_id))),
        key("dbid_execute", database),
        // A plan serves every user: names without a schema do not depend on them.
        key("user_id", int(-2)),
        key("language_id", small(0)),
        key("status", int(0)),
        key("required_cursor_options", int(0)),
        key("acceptable_cursor_options", int(0)),
        other("inuse_exec_context", int(0)),
        other("free_exec_context", int(0)),
        other("hits_exec_context", int(0)),
        other("sql_handle", Some((handle, DataType::VarBinary(types::Length::Limited(64))))),
        other("parent_plan_handle", None),
    ]
}

/// `objectid` of a text: a hash of it.
fn text_id(handle: &[u8]) -> i32 {
    let tail = handle.iter().rev().take(4);
    i32::from_le_bytes(tail.fold([0; 4], |[_, b, c, d], byte| [b, c, d, *byte])) & i32::MAX
}

/// `set_options`: the bits that the documentation of sys.dm_exec_plan_attributes gives. Options that
/// a plan does not depend on are shown as drivers set them.
pub(crate) fn set_options(options: &[u8]) -> i32 {
    const ANSI_PADDING: i32 = 1;
    const CONCAT_NULL_YIELDS_NULL: i32 = 8;
    const ANSI_WARNINGS: i32 = 16;
    const ANSI_NULLS: i32 = 32;
    const QUOTED_IDENTIFIER: i32 = 64;
    const ANSI_NULL_DEFAULT_ON: i32 = 128;
    let (quoted, meaning) = match options {
        [quoted, meaning, ..] => (*quoted != 0, Meaning::from_byte(*meaning)),
        _ => (true, Meaning::default()),
    };
    let bits = [
        (true, ANSI_PADDING | ANSI_NULL_DEFAULT_ON),
        (!meaning.makes_null(), ANSI_WARNINGS),
        (!meaning.null_is_empty(), CONCAT_NULL_YIELDS_NULL),
        (!meaning.nulls_compare(), ANSI_NULLS),
        (quoted, QUOTED_IDENTIFIER),
    ];
    bits.iter().filter(|(on, _)| *on).map(|(_, bit)| bit).sum()
}
