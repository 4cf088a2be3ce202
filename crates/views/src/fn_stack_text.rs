//! `sys.fn_stack_text(@stack_id)`: a call stack as text, one line `module!function+0xoffset` per
//! function, innermost first.

use sos::stack::StackId;
use sos::symbols;

use metadata::column::{Column, NVMAX, col, rows, shape, text};
use metadata::samples::stack_of;
use metadata::{Rows, Scope, SystemView};

const COLUMNS: &[Column<String>] = &[col("stack_text", NVMAX, |r| text(r))];

pub(crate) static VIEW: SystemView = SystemView {
    schema: "sys",
    name: "fn_stack_text",
    columns: || shape(COLUMNS),
    rows: read,
    arity: 1,
};

fn read(scope: &Scope<'_>) -> Rows {
    let shown = match stack_of(scope)? {
        None => None,
        Some(StackId::NONE) => Some("(no stack: not a thread of the server's)".to_owned()),
        Some(StackId::TABLE_FULL) => Some("(the table of stacks is full)".to_owned()),
        Some(stack) => Some(symbols::text(stack)).filter(|text| !text.is_empty()),
    };
    rows(COLUMNS, shown)
}
