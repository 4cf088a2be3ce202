//! sp_cursor_list, sp_describe_cursor, sp_describe_cursor_columns and sp_describe_cursor_tables:
//! what is known of cursors, returned as a cursor.

use std::sync::Arc;

use types::value::ColumnType;
use types::{DataType, Length, Msg, Value};

use crate::procedure::{SystemProcedure, argument, text, whole};
use ::binder::shape_of;
use ::executor::Cx;
use ::plan::sink::{ColumnInfo, ResultShape, Traits};
use ::session::cursor::{
    Concurrency, Cursor, CursorInterface, CursorKind, CursorOperation, CursorScope, CursorSource,
    Members, NEVER_FETCHED, OpenCursor, Window,
};
use ::session::frame::FrameTables;
use interpreter::{Argument, Stop};

pub(crate) static PROCEDURES: &[SystemProcedure] = &[
    SystemProcedure { name: "sp_cursor_list", id: 0, run: list },
    SystemProcedure { name: "sp_describe_cursor", id: 0, run: describe },
    SystemProcedure { name: "sp_describe_cursor_columns", id: 0, run: columns },
    SystemProcedure { name: "sp_describe_cursor_tables", id: 0, run: tables },
];

const NAME: DataType = DataType::NVarChar(Length::Limited(128));

/// `sp_cursor_list @cursor_return OUTPUT, @cursor_scope`: 1 local, 2 global, 3 both.
fn list(arguments: &mut [Argument], cx: &mut Cx<'_>) -> Result<i32, Stop> {
    let scope = whole(arguments, 1, "@cursor_scope");
    let (local, global) = match scope {
        Some(1) => (true, false),
        Some(2) => (false, true),
        Some(3) => (true, true),
        _ => return Err(Msg::CursorParameterInvalid("sp_cursor_list", "cursor_scope").into()),
    };
    let held = &cx.session.held.cursors;
    let named_api = held.api.iter().filter(|cursor| !cursor.name.is_empty());
    let of_frame = cx.frame.cursors.iter().filter(|_| local).map(|c| description(c, &c.name));
    let references = cx.frame.cursor_references.iter().filter(|_| local);
    let all = || cx.frame.cursors.iter().chain(&held.global);
    let referred = references.filter_map(|(name, id)| {
        all().find(|cursor| cursor.id == *id).map(|cursor| description(cursor, name))
    });
    let of_session = held.global.iter().chain(named_api).filter(|_| global);
    let rows: Vec<Vec<Value>> =
        of_frame.chain(referred).chain(of_session.map(|c| description(c, &c.name))).collect();
    report(arguments, &description_columns(), rows, cx)
}

/// `sp_describe_cursor @cursor_return OUTPUT, @cursor_source, @cursor_identity`.
fn describe(arguments: &mut [Argument], cx: &mut Cx<'_>) -> Result<i32, Stop> {
    let (cursor, name) = asked_for(arguments, "sp_describe_cursor", cx)?;
    let rows = vec![description(cursor, &name)];
    report(arguments, &description_columns(), rows, cx)
}

/// `sp_describe_cursor_columns`, with the arguments of sp_describe_cursor.
fn columns(arguments: &mut [Argument], cx: &mut Cx<'_>) -> Result<i32, Stop> {
    let (cursor, _) = asked_for(arguments, "sp_describe_cursor_columns", cx)?;
    let open = cursor.opened()?;
    let described = open.shape.columns.iter().enumerate().map(|(place, column)| {
        let ty = column.column_type.data_type;
        let origin = open.origins.get(place).filter(|origin| origin.table != 0);
        let table = origin.and_then(|origin| open.tables.get(origin.table - 1));
        let database = table.map(|table| table.database_id);
        let name = database.and_then(|id| cx.session.catalog.database_by_id(id));
        let is_fixed = !matches!(ty.max_length(), -1) && !ty.is_string() && !is_binary(&ty);
        let flags = [
            (is_fixed, 2),
            (column.column_type.nullable, 4),
            (ty == DataType::RowVersion, 8),
            (column.updatable && cursor.concurrency != Concurrency::ReadOnly, 16),
        ];
        let flags = flags.into_iter().filter(|(is, _)| *is).map(|(_, bit)| bit).sum();
        vec![
            if column.name.is_empty() { Value::Null } else { Value::nvarchar(&column.name) },
            Value::Int(i32::try_from(place).unwrap_or(i32::MAX)),
            Value::Int(flags),
            Value::Int(i32::from(ty.max_length())),
            Value::SmallInt(i16::from(ty.system_type_id())),
            Value::TinyInt(ty.precision()),
            Value::TinyInt(ty.scale()),
            Value::Int(0),
            Value::Null,
            Value::SmallInt(0),
            Value::Int(origin.map_or(-1, |origin| origin.column_id)),
            Value::Int(table.map_or(-1, |table| table.id)),
            Value::Int(database.map_or(-1, i32::from)),
            name.map_or(Value::Null, |database| Value::nvarchar(&database.name)),
        ]
    });
    let rows = described.collect();
    let columns = [
        ("column_name", NAME),
        ("ordinal_position", DataType::Int),
        ("column_characteristics_flags", DataType::Int),
        ("column_size", DataType::Int),
        ("data_type_sql", DataType::SmallInt),
        ("column_precision", DataType::TinyInt),
        ("column_scale", DataType::TinyInt),
        ("order_position", DataType::Int),
        ("order_direction", DataType::VarChar(Length::Limited(1))),
        ("hidden_column", DataType::SmallInt),
        ("columnid", DataType::Int),
        ("objectid", DataType::Int),
        ("dbid", DataType::Int),
        ("dbname", NAME),
    ];
    report(arguments, &columns, rows, cx)
}

fn is_binary(ty: &DataType) -> bool {
    matches!(ty, DataType::VarBinary(_) | DataType::Image)
}

/// `sp_describe_cursor_tables`, with the arguments of sp_describe_cursor.
fn tables(arguments: &mut [Argument], cx: &mut Cx<'_>) -> Result<i32, Stop> {
    /// `lock_type` of a table whose rows are locked for update.
    const UPDATE: i16 = 3;
    let (cursor, _) = asked_for(arguments, "sp_describe_cursor_tables", cx)?;
    let open = cursor.opened()?;
    let locks = cursor.concurrency == Concurrency::ScrollLocks;
    let described = open.tables.iter().map(|table| {
        let name = cx.session.catalog.database_by_id(table.database_id);
        let found = name.and_then(|database| database.table_by_id(table.id));
        let written = || table.name.schema.as_deref().unwrap_or(catalog::DBO_SCHEMA);
        let schema = found.map_or_else(written, |found| &found.schema);
        vec![
            Value::nvarchar(schema),
            Value::nvarchar(&table.name.object),
            Value::SmallInt(if table.unlocked { 64 } else { 0 }),
            Value::SmallInt(if locks { UPDATE } else { 0 }),
            Value::nvarchar(&cx.session.instance.config.server_name),
            Value::Int(table.id),
            Value::Int(i32::from(table.database_id)),
            name.map_or(Value::Null, |database| Value::nvarchar(&database.name)),
        ]
    });
    let rows = described.collect();
    let columns = [
        ("table owner", NAME),
        ("table_name", NAME),
        ("optimizer_hint", DataType::SmallInt),
        ("lock_type", DataType::SmallInt),
        ("server_name", NAME),
        ("objectid", DataType::Int),
        ("dbid", DataType::Int),
        ("dbname", NAME),
    ];
    report(arguments, &columns, rows, cx)
}

/// Finds the cursor of `@cursor_source` and `@cursor_identity`, with the name that it was asked for
/// by.
///
/// # Errors
/// 16902 for another source, 16916 for an unknown name.
fn asked_for<'c>(
    arguments: &[Argument],
    procedure: &str,
    cx: &'c Cx<'_>,
) -> Result<(&'c Cursor, String), Stop> {
    let source = text(arguments, 1, "@cursor_source", cx)?.unwrap_or_default();
    let name = text(arguments, 2, "@cursor_identity", cx)?.unwrap_or_default();
    let named = |cursor: &&Cursor| cursor.is_named(&name);
    let held = &cx.session.held.cursors;
    let found = match source.to_ascii_lowercase().as_str() {
        "local" => cx.frame.cursors.iter().find(named),
        "global" => held.global.iter().chain(&held.api).find(named),
        "variable" => {
            cx.frame.cursors.iter().find(named).or_else(|| cx.frame.referred(&name, held))
        }
        _ => return Err(Msg::CursorParameterInvalid(procedure, "cursor_source").into()),
    };
    found.map(|cursor| (cursor, name.clone())).ok_or_else(|| Msg::CursorNotFound(&name).into())
}

fn description_columns() -> [(&'static str, DataType); 14] {
    [
        ("reference_name", NAME),
        ("cursor_name", NAME),
        ("cursor_scope", DataType::SmallInt),
        ("status", DataType::SmallInt),
        ("model", DataType::SmallInt),
        ("concurrency", DataType::SmallInt),
        ("scrollable", DataType::SmallInt),
        ("open_status", DataType::SmallInt),
        ("cursor_rows", DataType::Int),
        ("fetch_status", DataType::SmallInt),
        ("column_count", DataType::SmallInt),
        ("row_count", DataType::SmallInt),
        ("last_operation", DataType::SmallInt),
        ("cursor_handle", DataType::Int),
    ]
}

fn description(cursor: &Cursor, reference: &str) -> Vec<Value> {
    let small = |n: i64| Value::SmallInt(i16::try_from(n).unwrap_or(i16::MAX));
    let columns = cursor.open.as_ref().map_or(0, |open| open.width());
    vec![
        Value::nvarchar(reference),
        Value::nvarchar(&cursor.name),
        small(match cursor.scope {
            CursorScope::Local => 1,
            CursorScope::Global => 2,
        }),
        small(i64::from(cursor.status())),
        small(match cursor.kind {
            CursorKind::Static => 1,
            CursorKind::Keyset => 2,
            CursorKind::Dynamic => 3,
            CursorKind::FastForward => 4,
        }),
        small(match cursor.concurrency {
            Concurrency::ReadOnly => 1,
            Concurrency::ScrollLocks => 2,
            Concurrency::Optimistic => 3,
        }),
        small(i64::from(cursor.scroll)),
        small(i64::from(cursor.open.is_some())),
        Value::Int(cursor.rows()),
        small(i64::from(cursor.fetch_status)),
        small(i64::try_from(columns).unwrap_or(i64::MAX)),
        small(i64::try_from(cursor.row_count).unwrap_or(i64::MAX)),
        small(match cursor.last {
            CursorOperation::None => 0,
            CursorOperation::Open => 1,
            CursorOperation::Fetch => 2,
            CursorOperation::Insert => 3,
            CursorOperation::Update => 4,
            CursorOperation::Delete => 5,
            CursorOperation::Close => 6,
        }),
        Value::Int(cursor.id),
    ]
}

/// Makes an open cursor of the rows and gives it to the variable of `@cursor_return`.
///
/// # Errors
/// 16951 if the variable has a cursor, 16948 if it is no cursor variable.
fn report(
    arguments: &[Argument],
    columns: &[(&str, DataType)],
    rows: Vec<Vec<Value>>,
    cx: &mut Cx<'_>,
) -> Result<i32, Stop> {
    let given = argument(arguments, 0, "@cursor_return");
    let Some(variable) = given.and_then(|argument| argument.cursor.clone()) else {
        return Err(Msg::NotACursorVariable("@cursor_return").into());
    };
    let taken = cx.frame.cursors.iter().any(|cursor| cursor.is_named(&variable));
    if taken || cx.frame.cursor_references.iter().any(|(name, _)| *name == variable) {
        return Err(Msg::CursorAllocated(&variable).into());
    }
    let column = |(name, data_type): &(&str, DataType)| ColumnInfo {
        name: (*name).into(),
        column_type: ColumnType::nullable(*data_type),
        traits: Traits::default(),
        updatable: false,
    };
    let shape = shape_of(columns.iter().map(column).collect());
    let cursor = cursor_over(variable, shape, rows, cx)?;
    cursor.show();
    cx.frame.cursors.push(cursor);
    Ok(0)
}

/// Makes an open cursor of rows that are there. It is documented as dynamic, so FETCH ABSOLUTE is
/// not for it.
fn cursor_over(
    name: String,
    shape: Arc<ResultShape>,
    rows: Vec<Vec<Value>>,
    cx: &mut Cx<'_>,
) -> Result<Cursor, Stop> {
    let text = "SELECT 1";
    let query = tsql::parse(text, tsql::QuotedIdentifier::On)?.statements.pop();
    let source = CursorSource {
        query: query.ok_or(Msg::InternalError)?,
        variables: Vec::new(),
        values: Vec::new(),
        table_variables: Vec::new(),
        tables: FrameTables::default(),
        database: Arc::clone(&cx.session.identity.database),
        owner: None,
        schema: None,
        asks: false,
        procedure_id: 0,
        sql_handle: Vec::new(),
    };
    let now = cx.now();
    let (id, shown) = cx.session.held.cursors.next(now, &cx.session.connection.cursors)?;
    let open = OpenCursor {
        sent: Arc::clone(&shape),
        shape,
        origins: Vec::new(),
        hidden: Vec::new(),
        tables: Vec::new(),
        members: Members::Rows(rows),
        window: Vec::new(),
        position: Window::default(),
        edges: None,
        place: 0,
        statements: Vec::new(),
        plans: Vec::new(),
        variables: Arc::from(Vec::new()),
    };
    Ok(Cursor {
        id,
        name,
        interface: CursorInterface::Tsql,
        scope: CursorScope::Local,
        source: Arc::new(source),
        asked: CursorKind::Dynamic,
        kind: CursorKind::Dynamic,
        asked_concurrency: Concurrency::ReadOnly,
        concurrency: Concurrency::ReadOnly,
        scroll: true,
        updatable: Vec::new(),
        for_update: false,
        warns: false,
        open: Some(Box::new(open)),
        closes_at_end: false,
        fetch_status: NEVER_FETCHED,
        row_count: 0,
        last: CursorOperation::Open,
        shown,
    })
}
