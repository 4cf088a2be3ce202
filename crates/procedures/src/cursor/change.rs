//! sp_cursor: changes rows of a cursor's fetch buffer, inserts rows, and sets the row that
//! positioned statements change.
//!
//! Values come as parameters named after columns, or as pieces of an UPDATE or INSERT statement.
//! Either way a statement is made of them and compiled as a client's is.

use types::value::ColumnType;
use types::{DataType, Length, Msg, Value};

use super::{find, invalid, number};
use crate::cursor::fetch::{place_of, send_columns, send_rows};
use ::binder::program::Parameters;
use ::catalog::name::Name;
use ::executor::{Cx, Frame};
use ::plan::program::{LeafAst, StepKind, VariableDef};
use ::plan::sink::Command;
use ::plan::stats::Origin;
use ::session::cursor::{Cursor, CursorKind, CursorOperation, KeyTable, OpenCursor, fetch};
use interpreter::cursor::{by_id, change, read};
use interpreter::{Argument, Runner, Stop, done};
use tsql::ast::{ObjectName, Statement, StatementKind};

/// Bits of `@optype`, as documented for sp_cursor.
mod operation {
    pub(super) const UPDATE: i64 = 0x01;
    pub(super) const DELETE: i64 = 0x02;
    pub(super) const INSERT: i64 = 0x04;
    pub(super) const REFRESH: i64 = 0x08;
    pub(super) const LOCK: i64 = 0x10;
    pub(super) const SET_POSITION: i64 = 0x20;
    pub(super) const ABSOLUTE: i64 = 0x40;
}

/// `sp_cursor @cursor, @optype, @rownum, @table [, @value, ..]`.
pub(super) fn sp_cursor(arguments: &mut [Argument], cx: &mut Cx<'_>) -> Result<i32, Stop> {
    if arguments.len() < 3 {
        return Err(Msg::CursorParameterCount("sp_cursor").into());
    }
    let id = find(number(arguments, 0).unwrap_or(0), "sp_cursor", cx)?;
    let bits = number(arguments, 1).ok_or_else(|| invalid("sp_cursor", "optype"))?;
    let row = number(arguments, 2).unwrap_or(0);
    let what = Operation::of(bits)?;
    let collation = cx.session.collation();
    let table = arguments.get(3).and_then(|argument| argument.value.as_text(collation));
    let table = table.filter(|table| !table.trim().is_empty());
    let values = arguments.get_mut(4..).unwrap_or_default();
    by_id(id, cx)?.opened()?;
    let outcome = match what {
        Operation::Update => update(id, (row, bits), table.as_deref(), values, cx),
        Operation::Delete => delete(id, (row, bits), table.as_deref(), cx),
        Operation::Insert => insert(id, table.as_deref(), values, cx),
        Operation::Refresh => refresh(id, row, cx),
        Operation::Lock => lock(id, row, cx),
        Operation::Position => Ok(()),
    };
    outcome?;
    if bits & operation::SET_POSITION != 0
        && let Some(open) = &mut by_id(id, cx)?.open
    {
        // A row that is not in the buffer means the first one.
        let place = usize::try_from(row - 1).unwrap_or(0);
        open.place = if place < open.window.len() { place } else { 0 };
    }
    Ok(0)
}

/// The operation that sp_cursor is asked for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Operation {
    Update,
    Delete,
    Insert,
    Refresh,
    Lock,
    Position,
}

impl Operation {
    fn of(bits: i64) -> Result<Self, Stop> {
        let flags = operation::SET_POSITION | operation::ABSOLUTE;
        let what = match bits & !flags {
            operation::UPDATE => Self::Update,
            operation::DELETE => Self::Delete,
            operation::INSERT => Self::Insert,
            operation::REFRESH => Self::Refresh,
            operation::LOCK => Self::Lock,
            0 if bits == operation::SET_POSITION => Self::Position,
            0 if bits & operation::ABSOLUTE != 0 => return Err(Msg::CursorAbsoluteAlone.into()),
            _ => return Err(invalid("sp_cursor", "optype")),
        };
        if bits & operation::ABSOLUTE != 0 && !matches!(what, Self::Update | Self::Delete) {
            return Err(Msg::CursorAbsoluteAlone.into());
        }
        if bits & operation::SET_POSITION != 0 && what == Self::Insert {
            return Err(invalid("sp_cursor", "optype"));
        }
        Ok(what)
    }
}

/// Runs `change` for a row of the window, or for each of them. With ABSOLUTE the number is that of
/// a row of the keyset, which is fetched for the change if it is not in the window.
fn each_row(
    id: i32,
    (row, bits): (i64, i64),
    cx: &mut Cx<'_>,
    change: &mut dyn FnMut(usize, &mut Cx<'_>) -> Result<(), Stop>,
) -> Result<(), Stop> {
    let cursor = by_id(id, cx)?;
    if bits & operation::ABSOLUTE != 0 && cursor.kind == CursorKind::Keyset {
        if let Some(place) = place_of(row, cursor) {
            return change(place, cx);
        }
        return elsewhere(id, row, cx, change);
    }
    if row != 0 {
        return change(place(row)?, cx);
    }
    let count = cursor.opened()?.window.len();
    if count == 0 {
        return Err(Msg::CursorNoRows.into());
    }
    (0..count).try_for_each(|place| change(place, cx))
}

fn place(row: i64) -> Result<usize, Stop> {
    let place = usize::try_from(row - 1);
    place.map_err(|_| Msg::CursorRowNotInBuffer.into())
}

/// Changes a row of the keyset that is not in the window, which stays as it is.
fn elsewhere(
    id: i32,
    row: i64,
    cx: &mut Cx<'_>,
    change: &mut dyn FnMut(usize, &mut Cx<'_>) -> Result<(), Stop>,
) -> Result<(), Stop> {
    let open = by_id(id, cx)?.open.as_mut().ok_or(Msg::CursorNotOpen)?;
    let kept = (std::mem::take(&mut open.window), open.position, open.place);
    let outcome = read::fetch(id, (fetch::ABSOLUTE, row, 1), cx).and_then(|_| change(0, cx));
    if let Some(open) = &mut by_id(id, cx)?.open {
        (open.window, open.position, open.place) = kept;
    }
    outcome
}

fn update(
    id: i32,
    (row, bits): (i64, i64),
    table: Option<&str>,
    values: &mut [Argument],
    cx: &mut Cx<'_>,
) -> Result<(), Stop> {
    if values.is_empty() {
        return Err(Msg::CursorNoValues("UPDATE").into());
    }
    let text = statement_text(Verb::Update, by_id(id, cx)?, table, values)?;
    let is_update = |statement: &Statement| matches!(statement.kind, StatementKind::Update(_));
    run((text, values), is_update, cx, &mut |runner, statement, cx| {
        each_row(id, (row, bits), cx, &mut |place, cx| {
            let (result, _) = runner.change(id, place, statement, cx)?;
            Ok(done(cx, Command::UPDATE, Some(result.rows), false)?)
        })
    })
}

fn delete(
    id: i32,
    (row, bits): (i64, i64),
    table: Option<&str>,
    cx: &mut Cx<'_>,
) -> Result<(), Stop> {
    let cursor = by_id(id, cx)?;
    let text = format!("DELETE {}", name_text(&chosen(cursor, table, &[])?.name));
    let is_delete = |statement: &Statement| matches!(statement.kind, StatementKind::Delete(_));
    run((text, &mut []), is_delete, cx, &mut |runner, statement, cx| {
        each_row(id, (row, bits), cx, &mut |place, cx| {
            let (result, _) = runner.change(id, place, statement, cx)?;
            Ok(done(cx, Command::DELETE, Some(result.rows), false)?)
        })
    })
}

fn insert(
    id: i32,
    table: Option<&str>,
    values: &mut [Argument],
    cx: &mut Cx<'_>,
) -> Result<(), Stop> {
    if values.is_empty() {
        return Err(Msg::CursorNoValues("INSERT").into());
    }
    let text = statement_text(Verb::Insert, by_id(id, cx)?, table, values)?;
    let is_insert = |statement: &Statement| matches!(statement.kind, StatementKind::Insert(_));
    run((text, values), is_insert, cx, &mut |runner, statement, cx| {
        let rows = runner.insert(statement, cx)?;
        let cursor = by_id(id, cx)?;
        cursor.last = CursorOperation::Insert;
        cursor.row_count = rows;
        Ok(done(cx, Command::INSERT, Some(rows), false)?)
    })
}

/// Reads rows of the window again and sends them.
fn refresh(id: i32, row: i64, cx: &mut Cx<'_>) -> Result<(), Stop> {
    let open = by_id(id, cx)?.opened()?;
    if open.window.is_empty() {
        return Err(Msg::CursorNoRows.into());
    }
    let (place, size) = (open.place, open.position.size);
    let only = if row == 0 { None } else { Some(self::place(row)?) };
    if only.is_some_and(|only| only >= open.window.len()) {
        return Err(Msg::CursorRowNotInBuffer.into());
    }
    read::fetch(id, (fetch::REFRESH, 0, size), cx)?;
    if let Some(open) = &mut by_id(id, cx)?.open {
        open.place = place;
    }
    send_columns(id, cx)?;
    let count = send_rows(id, only, cx)?;
    Ok(done(cx, Command::SELECT, Some(count), false)?)
}

fn lock(id: i32, row: i64, cx: &mut Cx<'_>) -> Result<(), Stop> {
    each_row(id, (row, 0), cx, &mut |place, cx| change::lock(id, place, cx))
}

/// Compiles the text with the named values as its parameters, and passes on its statement.
fn run(
    (text, values): (String, &mut [Argument]),
    is_it: impl Fn(&Statement) -> bool,
    cx: &mut Cx<'_>,
    then: &mut dyn FnMut(&Runner<'_>, &Statement, &mut Cx<'_>) -> Result<(), Stop>,
) -> Result<(), Stop> {
    let mut parameters = Parameters::default();
    let mut frame = Frame::default();
    for (place, argument) in values.iter_mut().filter(|a| !a.name.is_empty()).enumerate() {
        let ty = ColumnType { nullable: true, ..parameter_type(argument.ty) };
        let name = format!("@P{place}");
        parameters.variables.push(VariableDef { name, ty, cursor: false, at: 0 });
        frame.variables.push(std::mem::take(&mut argument.value));
    }
    let program = ::compile::compile_text(cx.session, &text, parameters, Origin::Batch)?;
    let [step] = program.body.as_slice() else { return Err(Msg::CursorValues.into()) };
    let StepKind::Data(leaf) = &step.kind else { return Err(Msg::CursorValues.into()) };
    let LeafAst::Statement(statement) = &leaf.ast else { return Err(Msg::CursorValues.into()) };
    if !is_it(statement) {
        return Err(Msg::CursorValues.into());
    }
    // Cursors of the frame are looked for there, so that it lends them.
    frame.cursors = std::mem::take(&mut cx.frame.cursors);
    let runner = Runner { program: &program, procedure: "" };
    let outcome = {
        let mut inner = Cx::new(cx.host, cx.session, &mut frame, cx.sink);
        then(&runner, statement, &mut inner)
    };
    cx.frame.cursors = frame.cursors;
    outcome
}

fn parameter_type(ty: ColumnType) -> ColumnType {
    let data_type = match ty.data_type {
        DataType::Text => DataType::VarChar(Length::Max),
        DataType::NText => DataType::NVarChar(Length::Max),
        DataType::Image => DataType::VarBinary(Length::Max),
        other => other,
    };
    ColumnType { data_type, ..ty }
}

/// Returns the columns that named values are for; `None` if the values are pieces of text.
///
/// # Errors
/// 16936 for a mixture.
fn columns(values: &[Argument]) -> Result<Option<Vec<String>>, Stop> {
    let is_text = |argument: &Argument| {
        argument.name.is_empty() || Name::same(argument.name.trim_start_matches('@'), "VALUES")
    };
    let texts = values.iter().filter(|argument| is_text(argument)).count();
    if texts == values.len() {
        return Ok(None);
    }
    if texts != 0 {
        return Err(Msg::CursorValues.into());
    }
    let name = |argument: &Argument| argument.name.trim_start_matches('@').to_owned();
    Ok(Some(values.iter().map(name).collect()))
}

/// Returns the pieces of text, whose names do not matter.
fn pieces(values: &mut [Argument]) -> Result<Vec<String>, Stop> {
    let text = |argument: &mut Argument| {
        argument.name.clear();
        match &argument.value {
            Value::NVarChar(_) | Value::VarChar(_) => argument.value.as_text(argument.ty.collation),
            _ => None,
        }
    };
    let texts: Option<Vec<String>> = values.iter_mut().map(text).collect();
    texts.ok_or_else(|| Msg::CursorValues.into())
}

/// Returns whether a text begins with a word.
fn begins(text: &str, word: &str) -> bool {
    let first = text.trim_start().split(|c: char| !c.is_alphanumeric() && c != '_').next();
    first.is_some_and(|first| first.eq_ignore_ascii_case(word))
}

/// The statements that sp_cursor makes of values.
#[derive(Clone, Copy)]
enum Verb {
    Update,
    Insert,
}

impl Verb {
    const fn word(self) -> &'static str {
        match self {
            Self::Update => "UPDATE",
            Self::Insert => "INSERT",
        }
    }

    /// Returns what follows the table's name, from pieces of the statement's text.
    fn clause_of(self, pieces: &[String], text: &str) -> String {
        let begins = |word: &str| begins(text, word);
        match self {
            Self::Update if begins("SET") => text.to_owned(),
            Self::Update => format!("SET {text}"),
            Self::Insert if begins("VALUES") || begins("DEFAULT") => text.to_owned(),
            Self::Insert if text.trim_start().starts_with('(') && pieces.len() == 1 => {
                format!("VALUES {text}")
            }
            Self::Insert => format!("VALUES ({text})"),
        }
    }

    /// Returns what follows the table's name, for columns whose values are parameters.
    fn clause_for(self, columns: &[String]) -> String {
        match self {
            Self::Update => {
                let set = columns.iter().enumerate().map(|(at, name)| format!("{name} = @P{at}"));
                format!("SET {}", set.collect::<Vec<_>>().join(", "))
            }
            Self::Insert => {
                let given: Vec<_> = (0..columns.len()).map(|at| format!("@P{at}")).collect();
                format!("({}) VALUES ({})", columns.join(", "), given.join(", "))
            }
        }
    }
}

/// Returns the statement that the values make: parameters for columns that they name, or pieces of
/// its text, which may be the whole of it.
fn statement_text(
    verb: Verb,
    cursor: &Cursor,
    table: Option<&str>,
    values: &mut [Argument],
) -> Result<String, Stop> {
    let word = verb.word();
    let Some(columns) = columns(values)? else {
        let pieces = pieces(values)?;
        let text = pieces.join(", ");
        if begins(&text, word) {
            return Ok(text);
        }
        let name = name_text(&chosen(cursor, table, &[])?.name);
        return Ok(format!("{word} {name} {}", verb.clause_of(&pieces, &text)));
    };
    let name = name_text(&chosen(cursor, table, &columns)?.name);
    let open = cursor.opened()?;
    let columns: Vec<_> = columns.iter().map(|c| bracketed(&base_name(open, c))).collect();
    Ok(format!("{word} {name} {}", verb.clause_for(&columns)))
}

/// Returns the name that a column of the cursor has in its table.
fn base_name(open: &OpenCursor, column: &str) -> String {
    let known = open.shape.columns.iter().zip(&open.origins);
    let mut known = known.filter(|(_, origin)| origin.table != 0);
    let found = known.find(|(shown, _)| Name::same(&shown.name, column));
    found.map_or_else(|| column.to_owned(), |(_, origin)| origin.name.clone())
}

/// Returns the table that is changed: the one named, else the one that the columns belong to, else
/// the first.
///
/// # Errors
/// 16929 if the cursor has none, 16933 for a table that it does not have.
fn chosen<'c>(
    cursor: &'c Cursor,
    table: Option<&str>,
    columns: &[String],
) -> Result<&'c KeyTable, Stop> {
    let open = cursor.opened()?;
    if cursor.concurrency == ::session::cursor::Concurrency::ReadOnly {
        return Err(Msg::CursorReadOnly.into());
    }
    let first = open.tables.first().ok_or(Msg::CursorReadOnly)?;
    if let Some(table) = table {
        let named = tsql::parse_object_name(table).map_err(|_| Msg::CursorTableNotIncluded)?;
        let is_it = |known: &&KeyTable| {
            Name::same(&known.name.object, &named.object)
                || (named.is_simple() && Name::same(&known.called.object, &named.object))
        };
        let found = open.tables.iter().find(is_it);
        return found.ok_or_else(|| Msg::CursorTableNotIncluded.into());
    }
    let known = || open.shape.columns.iter().zip(&open.origins);
    let number = columns.iter().find_map(|column| {
        let mut known = known().filter(|(_, origin)| origin.table != 0);
        let is_it = known.find(|(shown, origin)| {
            Name::same(&shown.name, column) || Name::same(&origin.name, column)
        });
        is_it.map(|(_, origin)| origin.table)
    });
    Ok(number.and_then(|number| open.tables.get(number - 1)).unwrap_or(first))
}

fn name_text(name: &ObjectName) -> String {
    let qualifiers = [&name.server, &name.database, &name.schema];
    let given = qualifiers.into_iter().skip_while(|part| part.is_none());
    let given = given.map(|part| part.as_deref().map(bracketed).unwrap_or_default());
    given.chain([bracketed(&name.object)]).collect::<Vec<_>>().join(".")
}

fn bracketed(name: &str) -> String {
    format!("[{}]", name.replace(']', "]]"))
}
