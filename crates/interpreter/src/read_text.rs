//! READTEXT: returns a piece of a `text`, `ntext` or `image` value.

use std::sync::Arc;

use tsql::ast;
use types::value::ColumnType;
use types::{Bytes, DataType, Msg, Value};

use crate::{Runner, Stop, done};
use ::binder::query::{Resolved, resolve_table};
use ::binder::shape_of;
use ::catalog::name::Name;
use ::executor::Cx;
use ::plan::program::{Leaf, LeafAst};
use ::plan::sink::{ColumnInfo, Command, Traits};
use ::session::pointer::POINTER_BYTES;

/// Number of bytes that a size of 0 returns.
const BYTES_DEFAULT: usize = 4_096;

impl Runner<'_> {
    /// Runs READTEXT. HOLDLOCK has no effect: the value of a pointer does not change.
    pub fn read_text(&self, read: &ast::ReadText, cx: &mut Cx<'_>) -> Result<(), Stop> {
        let (name, ty) = self.text_column(read, cx)?;
        let value = |expr: &ast::Expr| Leaf::new(LeafAst::Value(expr.clone()));
        let pointer = self.value(&value(&read.pointer), cx)?;
        let offset = self.int(&value(&read.offset), cx)?.unwrap_or(0);
        let size = self.int(&value(&read.size), cx)?.unwrap_or(0);
        let Some(pointer) = pointer.string_bytes() else {
            return Err(Msg::NullTextPointer("READTEXT").into());
        };
        if pointer.len() != POINTER_BYTES {
            return Err(Msg::TextPointerType.into());
        }
        let found = cx.session.held.text_pointers.find(pointer).cloned();
        let piece = match found {
            Some(whole) => piece(&whole, offset, size)?,
            None => {
                let hex: String = pointer.iter().map(|b| format!("{b:02x}")).collect();
                return Err(Msg::TextPointerValue(&format!("0x{hex}")).into());
            }
        };
        let column_type = ColumnType { nullable: true, ..ty };
        let column = ColumnInfo {
            name: name.into(),
            column_type,
            traits: Traits::default(),
            updatable: false,
        };
        cx.sink.columns(&shape_of(vec![column]))?;
        cx.sink.row(&[piece])?;
        cx.session.last.row_count = 1;
        done(cx, Command::SELECT, Some(1), false)?;
        Ok(())
    }

    /// Returns name and type of the column.
    fn text_column(&self, read: &ast::ReadText, cx: &Cx<'_>) -> Result<(String, ColumnType), Stop> {
        let written = &read.column.column;
        let Some(table) = &read.column.table else {
            return Err(Msg::InvalidColumn(written).into());
        };
        let context = compile::binding::context_of(cx.session, self.program);
        let mut binder = context.binder();
        let Resolved::Table(definition) = resolve_table(&mut binder, table)? else {
            return Err(Msg::InvalidObject(&table.to_string()).into());
        };
        let read = Resolved::Table(Arc::clone(&definition));
        ::binder::require::require(&binder, &read, "SELECT")?;
        let column = definition.columns.iter().find(|c| Name::same(&c.name, written));
        let column = column.ok_or(Msg::InvalidColumn(written))?;
        match column.ty.data_type {
            DataType::Text | DataType::NText | DataType::Image => {
                Ok((column.name.clone(), column.ty))
            }
            other => Err(Msg::InvalidArgumentType(other.name(), 1, "READTEXT").into()),
        }
    }
}

/// Cuts a piece out of a value; offset and size are bytes for `text` and `image`, characters for
/// `ntext`.
fn piece(whole: &Value, offset: i32, size: i32) -> Result<Value, Stop> {
    let bytes = whole.string_bytes().unwrap_or_default();
    let unit = if matches!(whole, Value::NVarChar(_)) { 2 } else { 1 };
    let length = bytes.len() / unit;
    let out_of_range = || Msg::ReadTextRange(i64::try_from(length).unwrap_or(i64::MAX));
    let offset = usize::try_from(offset).map_err(|_| out_of_range())?;
    let size = usize::try_from(size).map_err(|_| out_of_range())?;
    let rest = length.checked_sub(offset).ok_or_else(out_of_range)?;
    let size = match size {
        0 => rest.min(BYTES_DEFAULT / unit),
        size if size <= rest => size,
        _ => return Err(out_of_range().into()),
    };
    let piece = &bytes[offset * unit..(offset + size) * unit];
    Ok(whole.with_bytes(Bytes::copy_from(piece)))
}
