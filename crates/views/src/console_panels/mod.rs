//! `sys.console_panels`: the charts of the console in the browser, a row each.
//!
//! The built-in rows come from the binary. Users' rows come from the table
//! `msdb.dbo.console_panels`, which the console makes when it starts; columns are found by name, so
//! that a table with fewer of them, or with others, is read as far as it goes.

mod builtin;

use storage::{Bounds, Order, Read, ScanSpec, TransactionOptions};
use types::{Result, Value};

use ::catalog::{Object, TableDef};
use metadata::column::{
    BIT, Column, INT, NVMAX, SYSNAME, bit, col, int, nv, opt, or_null, shape, text, values,
};
use metadata::{Rows, Scope, SystemView};

/// The statement that makes the table of users' rows. Run in any database.
pub const CREATE_TABLE: &str = "CREATE TABLE msdb.dbo.console_panels (\
    panel_id int IDENTITY PRIMARY KEY, screen sysname NOT NULL DEFAULT N'panels', \
    position int NOT NULL DEFAULT 0, title nvarchar(128) NOT NULL, \
    kind sysname NOT NULL DEFAULT N'table', query nvarchar(max) NOT NULL, \
    unit nvarchar(30) NULL, refresh_seconds int NOT NULL DEFAULT 5);";

/// A built-in panel: one chart of the console.
#[derive(Clone, Debug)]
pub(crate) struct Panel {
    /// The screen that it is on.
    screen: &'static str,
    /// Its place on the screen.
    position: i32,
    title: &'static str,
    /// How it is drawn: docs/console.md.
    kind: &'static str,
    query: &'static str,
    unit: Option<&'static str>,
    refresh_seconds: i32,
}

const COLUMNS: &[Column<Panel>] = &[
    col("screen", SYSNAME, |r| text(r.screen)),
    col("position", INT, |r| int(r.position)),
    col("title", nv(128), |r| text(r.title)),
    col("kind", SYSNAME, |r| text(r.kind)),
    col("query", NVMAX, |r| text(r.query)),
    opt("unit", nv(30), |r| or_null(r.unit, text)),
    col("refresh_seconds", INT, |r| int(r.refresh_seconds)),
    col("is_system", BIT, |_| bit(true)),
];

pub(crate) static VIEW: SystemView = SystemView {
    schema: "sys",
    name: "console_panels",
    columns: || shape(COLUMNS),
    rows: read,
    arity: 0,
};

fn read(scope: &Scope<'_>) -> Rows {
    let mut rows: Vec<_> = builtin::PANELS.iter().map(|panel| values(COLUMNS, panel)).collect();
    // Users' queries are for those who may see what they show.
    if !scope.session.identity.rights.views_server_state() {
        return Ok(rows.into());
    }
    let msdb = scope.session.catalog.database("msdb");
    if let Some(Object::Table(table)) = msdb.and_then(|msdb| msdb.object("dbo", "console_panels")) {
        add_users(scope, table, &mut rows)?;
    }
    Ok(rows.into())
}

/// Adds the rows of the users' table.
fn add_users(scope: &Scope<'_>, table: &TableDef, rows: &mut Vec<Vec<Value>>) -> Result<()> {
    let failed = |error| scope.session.storage_error(&error);
    let places: Vec<Option<usize>> = VIEW_NAMES
        .iter()
        .map(|name| table.columns.iter().position(|column| column.name.eq_ignore_ascii_case(name)))
        .collect();
    let transaction = scope.session.instance.store.begin(TransactionOptions::STATEMENT);
    let spec =
        ScanSpec { index: None, bounds: Bounds::ALL, order: Order::Forward, read: Read::COMMITTED };
    let mut scan = transaction.scan(&table.rows.data, spec).map_err(failed)?;
    while let Some(row) = scan.next().map_err(failed)? {
        let image = row.image();
        let view = table.layout.view(image.bytes, image.blobs);
        let value = |place: &Option<usize>| place.map_or(Value::Null, |at| view.get(at));
        let mut found: Vec<Value> = places.iter().map(value).collect();
        if found[TITLE].is_null() || found[QUERY].is_null() {
            continue;
        }
        for (place, value) in found.iter_mut().enumerate() {
            if let (true, Some(default)) = (value.is_null(), default_of(place)) {
                *value = default;
            }
        }
        found.push(bit(false));
        rows.push(found);
    }
    Ok(())
}

/// The columns of the view that users' rows have.
const VIEW_NAMES: [&str; 7] =
    ["screen", "position", "title", "kind", "query", "unit", "refresh_seconds"];
const TITLE: usize = 2;
const QUERY: usize = 4;

/// Returns what a row has in a column that its table leaves open.
fn default_of(place: usize) -> Option<Value> {
    match VIEW_NAMES[place] {
        "screen" => Some(text("panels")),
        "position" => Some(int(0)),
        "kind" => Some(text("table")),
        "refresh_seconds" => Some(int(5)),
        // A title and a query have to be there; a unit need not be.
        _ => None,
    }
}
