//! `sys.fn_stack_frames(@stack_id)`: the functions on a call stack, innermost first, including
//! inlined ones.

use sos::symbols::{self, Frame};

use metadata::column::{
    ADDRESS, BIGINT, BIT, Column, INT, NVMAX, big, binary, bit, col, int, nv, opt, or_null, rows,
    shape, text, text_or_null,
};
use metadata::samples::stack_of;
use metadata::{Rows, Scope, SystemView};

const COLUMNS: &[Column<(usize, Frame)>] = &[
    col("level", INT, |(level, _)| int(*level)),
    col("address", ADDRESS, |(_, frame)| binary(&(frame.address as u64).to_be_bytes())),
    col("module", nv(260), |(_, frame)| text(&frame.function.module)),
    opt("function_name", NVMAX, |(_, frame)| text_or_null(&frame.function.name)),
    col("offset", BIGINT, |(_, frame)| big(frame.function.offset)),
    opt("file_name", NVMAX, |(_, frame)| or_null(frame.function.file.as_deref(), text)),
    opt("line_number", INT, |(_, frame)| or_null(frame.function.line, int)),
    col("is_inlined", BIT, |(_, frame)| bit(frame.function.is_inlined)),
];

pub(crate) static VIEW: SystemView = SystemView {
    schema: "sys",
    name: "fn_stack_frames",
    columns: || shape(COLUMNS),
    rows: read,
    arity: 1,
};

fn read(scope: &Scope<'_>) -> Rows {
    let stack = stack_of(scope)?;
    let frames = stack.map(symbols::frames).unwrap_or_default();
    rows(COLUMNS, frames.into_iter().enumerate())
}
