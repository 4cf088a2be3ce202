//! Completes, checks and encodes a new row, and makes the errors of invalid rows.

use smallvec::SmallVec;
use storage::RowImage;
use types::compare::Truth;
use types::row::RowBuffer;
use types::value::ColumnType;
use types::{Collation, ConvertOptions, DataType, Error, Length, Mode, Msg, Result, Value};

use crate::eval::{eval, truth};
use crate::{Cx, fault};
use catalog::TableDef;
use plan::expr::{Expr, ExprKind, Register};
use plan::statement::{Assignment, NewRow, SetRow, ViewCheck};

/// The statement that an error message names.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Verb {
    Insert,
    Update,
    Delete,
    Merge,
}

impl Verb {
    pub(super) fn name(self) -> &'static str {
        match self {
            Self::Insert => "INSERT",
            Self::Update => "UPDATE",
            Self::Delete => "DELETE",
            Self::Merge => "MERGE",
        }
    }
}

/// Evaluates the value of a column; a value that would be truncated is error 2628 with the column's
/// name.
pub(crate) fn value_of(
    expr: &Expr,
    table: &TableDef,
    ordinal: usize,
    cx: &mut Cx<'_>,
) -> Result<Value> {
    match eval(expr, cx) {
        Err(error) if error.number == 8152 => Err(truncation(expr, table, ordinal, cx)),
        other => other,
    }
}

#[cold]
fn truncation(expr: &Expr, table: &TableDef, ordinal: usize, cx: &mut Cx<'_>) -> Error {
    let column = &table.columns[ordinal];
    let mut text = String::new();
    if let ExprKind::Convert(conversion) = &expr.kind
        && let Ok(value) = eval(&conversion.operand, cx)
    {
        text = display(&value, &conversion.operand.ty);
        let length = match column.ty.data_type.length() {
            Some(Length::Limited(n)) => usize::from(n),
            _ => text.len(),
        };
        text = text.chars().take(length).collect();
    }
    let database = cx.session.catalog.database_by_id(table.database_id);
    let database = database.map(|d| d.name.as_str()).unwrap_or("tempdb");
    let name = format!("{database}.{}", table.qualified_name());
    Msg::Truncation(&name, &column.name, &text).into()
}

/// Formats a value for a message: converted to text.
pub fn display(value: &Value, ty: &ColumnType) -> String {
    let target = ColumnType {
        data_type: DataType::NVarChar(Length::Limited(4_000)),
        collation: Collation::default(),
        nullable: true,
    };
    match value {
        Value::Null => "<NULL>".to_owned(),
        Value::VarBinary(bytes) => {
            bytes.iter().fold("0x".to_owned(), |text, byte| format!("{text}{byte:02x}"))
        }
        _ => types::convert(value, ty, &target, 0, Mode::Explicit, &ConvertOptions::default())
            .ok()
            .and_then(|v| v.as_text(target.collation))
            .unwrap_or_default(),
    }
}

/// Returns error 515 for NULL in a NOT NULL column.
pub(super) fn check_null(
    value: &Value,
    table: &TableDef,
    ordinal: usize,
    verb: Verb,
    cx: &Cx<'_>,
) -> Result<()> {
    let column = &table.columns[ordinal];
    if !value.is_null() || column.ty.nullable {
        return Ok(());
    }
    let database = cx.session.catalog.database_by_id(table.database_id);
    let database = database.map(|d| d.name.as_str()).unwrap_or("tempdb");
    let name = format!("{database}.{}", table.qualified_name());
    Err(Msg::CannotInsertNull(&column.name, &name, verb.name()).into())
}

/// Computes and checks what depends on the whole new row: computed columns and constraints.
pub(super) fn complete(row: &NewRow, table: &TableDef, verb: Verb, cx: &mut Cx<'_>) -> Result<()> {
    for (ordinal, register, expr) in &row.computed {
        let value = value_of(expr, table, usize::from(*ordinal), cx)?;
        check_null(&value, table, usize::from(*ordinal), verb, cx)?;
        cx.registers[register.index()] = value;
    }
    for (name, check) in &row.checks {
        if truth(check, cx)? == Truth::False {
            return Err(check_conflict(name, table, verb, cx));
        }
    }
    match &row.views {
        Some(views) => check_views(views, cx),
        None => Ok(()),
    }
}

/// Evaluates the conditions of views WITH CHECK OPTION on the new row.
fn check_views(check: &ViewCheck, cx: &mut Cx<'_>) -> Result<()> {
    let swap = |cx: &mut Cx<'_>| {
        for (seen, new) in &check.swaps {
            cx.registers.swap(seen.index(), new.index());
        }
    };
    swap(cx);
    let mut all = Ok(true);
    for predicate in &check.predicates {
        all = truth(predicate, cx).map(Truth::is_true);
        if !matches!(all, Ok(true)) {
            break;
        }
    }
    swap(cx);
    if all? { Ok(()) } else { Err(Msg::CheckOption.into()) }
}

#[cold]
fn check_conflict(name: &str, table: &TableDef, verb: Verb, cx: &Cx<'_>) -> Error {
    let database = cx.session.catalog.database_by_id(table.database_id);
    let database = database.map(|d| d.name.as_str()).unwrap_or("tempdb");
    let named = table.checks.iter().find(|c| c.name == name);
    // The message names the column if the check reads only one, as in SQL Server.
    let column = named.and_then(|c| c.column).map(|c| &table.columns[usize::from(c)].name);
    let column = column.map(|c| format!(", column '{c}'")).unwrap_or_default();
    Msg::ConstraintConflict(verb.name(), "CHECK", name, database, &table.qualified_name(), &column)
        .into()
}

/// Converts an error of storage, which may be a duplicate key; `value` returns the new row's
/// columns.
pub(super) fn storage_error(
    error: storage::Error,
    table: &TableDef,
    cx: &mut Cx<'_>,
    value: &dyn Fn(&Cx<'_>, usize) -> Value,
) -> Error {
    let storage::Error::Unique { index, .. } = &error else { return fault::raise(cx, error) };
    let index = *index;
    let keys = table.indexes.iter().find(|i| i.storage_id() == index).map(|i| &i.keys[..]);
    let texts = keys.unwrap_or_default().iter().map(|(ordinal, _)| {
        let ordinal = usize::from(*ordinal);
        display(&value(cx, ordinal), &table.columns[ordinal].ty)
    });
    let texts: Vec<String> = texts.collect();
    fault::duplicate(table, index, &texts.join(", "))
}

/// Applies a SET list to the old row in the registers, and encodes the new row into `buffer`.
pub(super) fn set_row(
    set: &SetRow,
    table: &TableDef,
    image: RowImage<'_>,
    verb: Verb,
    cx: &mut Cx<'_>,
    buffer: &mut RowBuffer,
) -> Result<()> {
    for assignment in &set.assignments {
        apply(assignment, set, table, verb, cx)?;
    }
    if let Some(ordinal) = set.row_version {
        let version = cx.session.instance.catalog.next_row_version();
        cx.registers[set.new.plus(usize::from(ordinal)).index()] = version;
    }
    if let Some(ordinal) = set.period_start.map(usize::from) {
        let began = cx.transaction_time(&table.columns[ordinal].ty.data_type);
        cx.registers[set.new.plus(ordinal).index()] = began;
    }
    complete(&set.row, table, verb, cx)?;
    let mut changes: SmallVec<[(usize, &Value); 16]> = SmallVec::new();
    for &ordinal in &set.changed {
        let ordinal = usize::from(ordinal);
        changes.push((ordinal, &cx.registers[set.new.plus(ordinal).index()]));
    }
    table.layout.update(table.layout.view(image.bytes, image.blobs), &changes, buffer);
    Ok(())
}

/// Applies a SET list for an INSTEAD OF trigger: without checks, and no row is encoded.
pub(super) fn set_instead(set: &SetRow, table: &TableDef, cx: &mut Cx<'_>) -> Result<()> {
    for assignment in &set.assignments {
        assign(assignment, set, table, |_, _, _| Ok(()), cx)?;
    }
    for ordinal in [set.row_version, set.period_start].into_iter().flatten().map(usize::from) {
        // Generated when the trigger changes the row itself.
        let old = cx.registers[set.old.plus(ordinal).index()].clone();
        cx.registers[set.new.plus(ordinal).index()] = old;
    }
    for (_, register, expr) in &set.row.computed {
        cx.registers[register.index()] = eval(expr, cx)?;
    }
    Ok(())
}

fn apply(
    assignment: &Assignment,
    set: &SetRow,
    table: &TableDef,
    verb: Verb,
    cx: &mut Cx<'_>,
) -> Result<()> {
    let check =
        |value: &Value, ordinal: usize, cx: &Cx<'_>| check_null(value, table, ordinal, verb, cx);
    assign(assignment, set, table, check, cx)
}

/// Assigns a column or a variable; `check` is called with the value of a column.
#[inline]
fn assign(
    assignment: &Assignment,
    set: &SetRow,
    table: &TableDef,
    check: impl Fn(&Value, usize, &Cx<'_>) -> Result<()>,
    cx: &mut Cx<'_>,
) -> Result<()> {
    let (ordinal, value) = match assignment {
        Assignment::Variable(slot, expr) => {
            cx.frame.variables[slot.0 as usize] = eval(expr, cx)?;
            return Ok(());
        }
        Assignment::Column(ordinal, expr) | Assignment::VariableAndColumn(_, ordinal, expr, _) => {
            let ordinal = usize::from(*ordinal);
            (ordinal, value_of(expr, table, ordinal, cx)?)
        }
        Assignment::Write(ordinal, parts) => {
            let ordinal = usize::from(*ordinal);
            (ordinal, splice(set.old.plus(ordinal), parts, table, ordinal, cx)?)
        }
    };
    check(&value, ordinal, cx)?;
    cx.registers[set.new.plus(ordinal).index()] = value;
    if let Assignment::VariableAndColumn(slot, _, _, result) = assignment {
        cx.frame.variables[slot.0 as usize] = eval(result, cx)?;
    }
    Ok(())
}

/// `.WRITE (expression, @Offset, @Length)`, in bytes, or UTF-16 units of `nvarchar`. A NULL offset
/// appends. A NULL length, or a NULL expression, truncates the value at the offset.
fn splice(
    old: Register,
    parts: &(Expr, Expr, Expr),
    table: &TableDef,
    ordinal: usize,
    cx: &mut Cx<'_>,
) -> Result<Value> {
    let piece = value_of(&parts.0, table, ordinal, cx)?;
    let number = |expr: &Expr, cx: &mut Cx<'_>, name| match eval(expr, cx)? {
        Value::Null => Ok(None),
        Value::BigInt(n) => usize::try_from(n).map(Some).map_err(|_| out_of_range(name, n)),
        _ => Err(out_of_range(name, 0)),
    };
    let offset = number(&parts.1, cx, "Offset")?;
    let length = number(&parts.2, cx, "Length")?;
    let unit = if table.columns[ordinal].ty.data_type.is_unicode() { 2 } else { 1 };
    let before = match &cx.registers[old.index()] {
        Value::VarChar(b) | Value::NVarChar(b) | Value::VarBinary(b) => b.clone(),
        _ => {
            let name = &table.columns[ordinal].name;
            let text = format!("Mutator 'WRITE()' on '{name}' cannot be called on a null value.");
            return Err(Error::custom(5302, 16, 1, text));
        }
    };
    let start = offset.map_or(before.len(), |n| n * unit);
    if start > before.len() {
        return Err(out_of_range("Offset", i64::try_from(start / unit).unwrap_or(i64::MAX)));
    }
    let (piece, end) = match (&piece, offset) {
        (Value::VarChar(b) | Value::NVarChar(b) | Value::VarBinary(b), Some(_)) => {
            let end = length.map_or(before.len(), |n| start.saturating_add(n * unit));
            (b.clone(), end.min(before.len()))
        }
        (Value::VarChar(b) | Value::NVarChar(b) | Value::VarBinary(b), None) => {
            (b.clone(), before.len())
        }
        _ => (types::Bytes::new(), before.len()),
    };
    let mut bytes = Vec::with_capacity(start + piece.len() + before.len() - end);
    bytes.extend_from_slice(&before[..start]);
    bytes.extend_from_slice(&piece);
    bytes.extend_from_slice(&before[end..]);
    let bytes = types::Bytes::from(bytes);
    Ok(match table.columns[ordinal].ty.data_type {
        DataType::NVarChar(_) => Value::NVarChar(bytes),
        DataType::VarBinary(_) => Value::VarBinary(bytes),
        _ => Value::VarChar(bytes),
    })
}

fn out_of_range(what: &str, value: i64) -> Error {
    let text = format!("{what} {value} is not in the range of available LOB data.");
    Error::custom(7116, 16, 4, text)
}
