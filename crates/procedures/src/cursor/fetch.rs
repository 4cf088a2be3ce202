//! sp_cursorfetch, sp_cursoroption and sp_cursorclose, and the rows and metadata that fetches send.

use std::sync::Arc;

use types::value::ColumnType;
use types::{DataType, Length, Mode, Msg, Value};

use super::{CLOSED_AT_END, asked, find, invalid, number, set};
use ::executor::Cx;
use ::plan::sink::{BrowseColumn, Command};
use ::session::cursor::{Cursor, CursorKind, CursorRow, OpenCursor, Window, fetch};
use interpreter::cursor::by_id;
use interpreter::cursor::read::{self, Went};
use interpreter::{Argument, Stop, done};

/// ROWSTAT of a row that exists.
const FETCH_SUCCEEDED: i32 = 1;
/// ROWSTAT of a row that no longer exists.
const FETCH_MISSING: i32 = 2;
/// Rows of a fetch that does not say how many.
pub(super) const ROWS_DEFAULT: i64 = 20;
/// Return status of a fetch backward that was moved to the first row.
const MOVED_TO_START: i32 = 2;

/// `sp_cursorfetch @cursor [, @fetchtype [, @rownum [, @nrows]]]`.
pub(super) fn sp_cursorfetch(arguments: &mut [Argument], cx: &mut Cx<'_>) -> Result<i32, Stop> {
    /// Bits of the fetch type; 0x400, SKIP_UPDT_CNCY, is a flag about values that rows are compared
    /// with, which here are always those of the last fetch.
    const KINDS: i64 = 0x3BF;
    let id = find(number(arguments, 0).unwrap_or(0), "sp_cursorfetch", cx)?;
    let kind = number(arguments, 1).unwrap_or(fetch::NEXT) & KINDS;
    let cursor = by_id(id, cx)?;
    if kind & fetch::INFO != 0 {
        let (row, count) = info(cursor)?;
        set(arguments, 2, row);
        set(arguments, 3, count);
        return Ok(0);
    }
    check(kind, cursor)?;
    let closes = cursor.closes_at_end;
    let row = number(arguments, 2).unwrap_or(0);
    let wanted = number(arguments, 3).unwrap_or(ROWS_DEFAULT);
    let sent = send(id, (kind, row, Some(wanted)), cx)?;
    if sent.ended && closes {
        cx.session.held.cursors.api.retain(|cursor| cursor.id != id);
        return Ok(CLOSED_AT_END);
    }
    Ok(if sent.went == Went::ToStart { MOVED_TO_START } else { 0 })
}

/// Checks that the kind of a cursor allows a fetch type.
///
/// # Errors
/// 16911 for a forward-only cursor.
fn check(kind: i64, cursor: &Cursor) -> Result<(), Stop> {
    let name = match kind {
        fetch::PRIOR | fetch::PRIOR_ONLY => "prev",
        fetch::LAST => "last",
        fetch::ABSOLUTE => "absolute",
        fetch::RELATIVE => "relative",
        _ => return Ok(()),
    };
    if cursor.scroll { Ok(()) } else { Err(Msg::CursorForwardOnly("sp_cursorfetch", name).into()) }
}

/// Returns the row that a cursor is on, 0 before the first and -1 behind the last, and the number
/// of its rows, -1 if a dynamic cursor.
fn info(cursor: &Cursor) -> types::Result<(i32, i32)> {
    let open = cursor.opened()?;
    let at = open.position.start;
    let row = match open.count() {
        Some(count) if at > i64::try_from(count).unwrap_or(i64::MAX) => -1,
        _ => i32::try_from(at).unwrap_or(i32::MAX),
    };
    Ok((row, cursor.rows()))
}

/// What a fetch has sent.
pub(super) struct Fetched {
    /// Whether it went where it was asked to.
    pub(super) went: Went,
    /// Whether the cursor's end was reached.
    pub(super) ended: bool,
}

/// Moves a cursor and sends the rows at its new position; sends the columns alone if no number of
/// rows is given.
pub(super) fn send(
    id: i32,
    (kind, row, wanted): (i64, i64, Option<i64>),
    cx: &mut Cx<'_>,
) -> Result<Fetched, Stop> {
    let went = match wanted {
        Some(wanted) => read::fetch(id, (kind, row, wanted), cx)?,
        None => Went::There,
    };
    send_columns(id, cx)?;
    let count = send_rows(id, None, cx)?;
    let cursor = by_id(id, cx)?;
    cursor.row_count = count;
    cursor.fetch_status = if count == 0 && wanted.is_some() { -1 } else { 0 };
    cursor.show();
    let full = wanted.is_none_or(|wanted| u64::try_from(wanted).is_ok_and(|w| count >= w));
    let ended = wanted.is_some() && !full;
    done(cx, Command::SELECT, Some(count), false)?;
    Ok(Fetched { went, ended })
}

/// Sends the rows of a cursor's window, or one of them; returns how many.
pub(super) fn send_rows(id: i32, only: Option<usize>, cx: &mut Cx<'_>) -> Result<u64, Stop> {
    let cursor = by_id(id, cx)?;
    let open = cursor.opened()?;
    let places = match only {
        Some(place) => place..place + 1,
        None => 0..open.window.len(),
    };
    let rows = open.window.get(places).unwrap_or_default();
    let rows: Vec<Vec<Value>> = rows.iter().map(|row| sent_row(row, open)).collect();
    for row in &rows {
        cx.sink.row(row)?;
    }
    Ok(u64::try_from(rows.len()).unwrap_or(u64::MAX))
}

/// Sends the columns of a cursor, and where they come from.
pub(super) fn send_columns(id: i32, cx: &mut Cx<'_>) -> Result<(), Stop> {
    let open = by_id(id, cx)?.opened()?;
    let shape = Arc::clone(&open.sent);
    let (tables, columns) = browse(open);
    cx.sink.columns(&shape)?;
    if !columns.is_empty() {
        cx.sink.browse(&tables, &columns)?;
    }
    Ok(())
}

/// Returns the tables of a cursor, each as the parts of its name, and where its columns come from.
fn browse(open: &OpenCursor) -> (Vec<Vec<String>>, Vec<BrowseColumn>) {
    if open.origins.len() != open.width() {
        return (Vec::new(), Vec::new());
    }
    let parts = |name: &tsql::ast::ObjectName| {
        let qualifiers = [&name.server, &name.database, &name.schema];
        let given = qualifiers.into_iter().skip_while(|part| part.is_none());
        let given = given.map(|part| part.as_deref().unwrap_or_default().to_owned());
        given.chain([name.object.to_string()]).collect()
    };
    let tables = open.tables.iter().map(|table| parts(&table.name)).collect();
    let of_query = open.origins.iter().zip(&open.shape.columns).map(|(origin, column)| {
        let renamed = origin.table != 0 && *origin.name != *column.name;
        BrowseColumn {
            table: origin.table,
            name: renamed.then(|| origin.name.clone()),
            is_key: origin.key,
            is_hidden: false,
        }
    });
    let status = BrowseColumn { table: 0, name: None, is_key: false, is_hidden: true };
    (tables, of_query.chain([status]).collect())
}

/// Returns a row as it is sent. A row that no longer exists has values without meaning: NULL where
/// the column allows it, else zero or nothing.
fn sent_row(row: &CursorRow, open: &OpenCursor) -> Vec<Value> {
    if !row.missing {
        let values = row.values[..open.width()].iter().cloned();
        return values.chain([Value::Int(FETCH_SUCCEEDED)]).collect();
    }
    let columns = open.shape.columns.iter();
    let empty = columns.map(|column| empty_value(&column.column_type));
    empty.chain([Value::Int(FETCH_MISSING)]).collect()
}

fn empty_value(ty: &ColumnType) -> Value {
    if ty.nullable {
        return Value::Null;
    }
    let from = ColumnType {
        data_type: DataType::VarChar(Length::Limited(36)),
        collation: ty.collation,
        nullable: false,
    };
    let candidates = ["", "0", "00000000-0000-0000-0000-000000000000"];
    let options = types::ConvertOptions::default();
    let made = candidates.into_iter().find_map(|text| {
        types::convert(&Value::varchar(text, ty.collation), &from, ty, 0, Mode::Try, &options)
            .ok()
            .filter(|value| !value.is_null())
    });
    made.unwrap_or(Value::Null)
}

/// `sp_cursoroption @cursor, @code, @value`: gives a cursor a name, or returns its options.
pub(super) fn option(arguments: &mut [Argument], cx: &mut Cx<'_>) -> Result<i32, Stop> {
    const TEXT_POINTERS: i64 = 1;
    const NAME: i64 = 2;
    const TEXT_DATA: i64 = 3;
    const SCROLL: i64 = 4;
    const CONCURRENCY: i64 = 5;
    const ROWS: i64 = 6;
    let id = find(number(arguments, 0).unwrap_or(0), "sp_cursoroption", cx)?;
    let code = number(arguments, 1).unwrap_or(0);
    let collation = cx.session.collation();
    match code {
        NAME => {
            let name = arguments.get(2).and_then(|a| a.value.as_text(collation));
            let name = name.filter(|name| !name.is_empty());
            let name = name.ok_or_else(|| invalid("sp_cursoroption", "value"))?;
            let held = &cx.session.held.cursors;
            let mut all = held.global.iter().chain(&held.api);
            if all.any(|cursor| cursor.id != id && cursor.is_named(&name)) {
                return Err(Msg::CursorExists(&name).into());
            }
            let cursor = by_id(id, cx)?;
            cursor.name = name;
            cursor.show();
        }
        // Fetches always return the data.
        TEXT_DATA | TEXT_POINTERS => {
            let column = number(arguments, 2).unwrap_or(0);
            let open = by_id(id, cx)?.opened()?;
            check_text_column(column, open)?;
            if code == TEXT_POINTERS {
                let what = "text pointers instead of data (sp_cursoroption)";
                return Err(Msg::NotSupported(what).into());
            }
        }
        SCROLL => set(arguments, 2, asked::scroll_of(by_id(id, cx)?)),
        CONCURRENCY => {
            let asked = asked::Asked::of(None, None);
            set(arguments, 2, asked::concurrency_of(by_id(id, cx)?, &asked));
        }
        ROWS => set(arguments, 2, by_id(id, cx)?.rows()),
        _ => return Err(invalid("sp_cursoroption", "code")),
    }
    Ok(0)
}

/// Checks the number of a column of type text, ntext or image; 0 is all of them.
///
/// # Errors
/// 16926 for another column.
fn check_text_column(column: i64, open: &OpenCursor) -> Result<(), Stop> {
    let place = usize::try_from(column).ok().and_then(|column| column.checked_sub(1));
    let is_text = |place: usize| {
        let column = open.shape.columns.get(place).map(|column| column.column_type.data_type);
        matches!(column, Some(DataType::Text | DataType::NText | DataType::Image))
    };
    match place {
        Some(place) if is_text(place) => Ok(()),
        None if column == 0 => Ok(()),
        _ => Err(Msg::CursorTextColumn(column).into()),
    }
}

/// `sp_cursorclose @cursor`: closes a cursor, or all cursors for -1.
pub(super) fn close(arguments: &mut [Argument], cx: &mut Cx<'_>) -> Result<i32, Stop> {
    let handle = number(arguments, 0).unwrap_or(0);
    if handle == -1 {
        cx.session.held.cursors.api.clear();
        return Ok(0);
    }
    let id = find(handle, "sp_cursorclose", cx)?;
    cx.session.held.cursors.api.retain(|cursor| cursor.id != id);
    Ok(0)
}

/// Returns the index in the window of a row by its number among a keyset's rows, if the window has
/// it.
pub(super) fn place_of(number: i64, cursor: &Cursor) -> Option<usize> {
    let open = cursor.open.as_deref()?;
    if cursor.kind == CursorKind::Dynamic {
        return None;
    }
    let Window { start, size } = open.position;
    let place = number.checked_sub(start)?;
    (0..size).contains(&place).then(|| usize::try_from(place).ok())?
}

#[cfg(test)]
mod tests {
    use super::Window;

    fn moved(start: i64, size: i64, kind: i64, row: i64, wanted: i64) -> (i64, i64) {
        let window = Window { start, size }.moved(kind, row, wanted, 10).unwrap();
        (window.start, window.size)
    }

    #[test]
    fn a_window_moves_as_the_kinds_of_fetch_say() {
        assert_eq!(moved(0, 0, 0x02, 0, 4), (1, 4));
        assert_eq!(moved(1, 4, 0x02, 0, 4), (5, 4));
        assert_eq!(moved(9, 2, 0x02, 0, 4), (11, 0));
        assert_eq!(moved(11, 0, 0x04, 0, 4), (7, 4));
        assert_eq!(moved(3, 4, 0x04, 0, 4), (1, 4));
        assert_eq!(moved(3, 4, 0x200, 0, 4), (1, 2));
        assert_eq!(moved(1, 4, 0x04, 0, 4), (0, 0));
        assert_eq!(moved(1, 4, 0x08, 0, 4), (7, 4));
        assert_eq!(moved(1, 4, 0x10, -3, 4), (8, 3));
        assert_eq!(moved(5, 4, 0x20, -2, 1), (3, 1));
        assert_eq!(moved(5, 4, 0x10, 0, 1), (0, 0));
        assert_eq!(Window::default().moved(0x40, 0, 1, 10), None);
    }
}
