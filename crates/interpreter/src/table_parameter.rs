//! Table-valued parameters: stores the rows that a client sends with a call ([MS-TDS] 2.2.5.5.5).
//!
//! A client may omit the name of the table type, as ODBC, JDBC and tedious do when they call a
//! procedure: then the type is the parameter's. Columns may be omitted, as identity columns must
//! be.

use std::sync::Arc;

use types::value::ColumnType;
use types::{Error, Msg, Result};

use crate::insert_bulk::arriving;
use crate::{Argument, Stop, TableArgument};
use ::binder::dml::bind_table_rows;
use ::catalog::name::Name;
use ::catalog::{TableRows, UserType};
use ::executor::dml::insert_rows;
use ::executor::{Cx, Frame, FrameTables, Host};
use ::plan::sink::ResultSink;
use ::plan::stop::{INTERNAL, is_about_resources};
use ::session::{SessionState, TableParameter};

/// Makes the table of an argument that a client has sent, for a parameter of this name and type.
///
/// # Errors
/// 2715 for an unknown type, 206 for another type, 500 for a wrong number of columns; 8061 or 8062
/// after the error of a value that does not convert.
pub fn make_table(
    argument: &mut Argument,
    ordinal: usize,
    (parameter, wanted): (&str, &Arc<UserType>),
    session: &mut SessionState,
    (host, sink): (&'static dyn Host, &mut dyn ResultSink),
) -> Result<(), Stop> {
    let Some(TableArgument::Sent(sent)) = argument.table.take() else { return Ok(()) };
    check_type(&sent, ordinal, wanted, session)?;
    if let Some(database) = session.catalog.database(&session.identity.database) {
        session.identity.rights.check_type(database, wanted, "EXECUTE")?;
    }
    let mut frame = Frame::default();
    let mut cx = Cx::new(host, session, &mut frame, sink);
    match rows_of(*sent, parameter, wanted, &mut cx) {
        Ok(rows) => {
            argument.table = Some(TableArgument::Rows(rows, Some(Arc::clone(wanted))));
            Ok(())
        }
        Err(error) if error.number == COLUMN_COUNT => Err(error.into()),
        // Not about the rows.
        Err(error) if error.number == INTERNAL => {
            Err(if error.severity >= 20 { Stop::Disconnected } else { Stop::Cancelled })
        }
        Err(error) if is_about_resources(&error) => Err(error.into()),
        Err(error) => {
            let (number, state) = (i64::from(error.number), i64::from(error.state));
            let place = i64::try_from(ordinal + 1).unwrap_or(i64::MAX);
            sink.message(&error.at_line(1))?;
            Err(match argument.name.as_str() {
                "" => Msg::TableParameterMisfits(place, number, state).into(),
                name => Msg::NamedTableParameterMisfits(name, number, state).into(),
            })
        }
    }
}

/// Error 500, a wrong number of columns.
const COLUMN_COUNT: i32 = 500;

/// Checks the type name, if the client has sent one.
fn check_type(
    sent: &TableParameter,
    ordinal: usize,
    wanted: &UserType,
    session: &SessionState,
) -> Result<()> {
    let (schema, name) = &sent.type_name;
    if name.is_empty() {
        return Ok(());
    }
    // ODBC takes the name from the procedure's description, without a schema.
    let is_schema = schema.is_empty() || Name::same(schema, &wanted.schema);
    if is_schema && Name::same(name, &wanted.name) {
        return Ok(());
    }
    let database = session.catalog.database(&session.identity.database);
    let found = database.and_then(|d| {
        let first = session.identity.rights.default_schema(d);
        d.user_type(d.schema_of_type(Some(schema), first, name), name)
    });
    match found {
        Some(found) => Err(Msg::OperandClash(&found.name, &wanted.name).into()),
        None => {
            let place = i64::try_from(ordinal + 1).unwrap_or(i64::MAX);
            Err(Msg::CannotFindType(place, name).into())
        }
    }
}

fn rows_of(
    sent: TableParameter,
    name: &str,
    wanted: &UserType,
    cx: &mut Cx<'_>,
) -> Result<Arc<TableRows>> {
    let database = Arc::clone(&cx.session.identity.database);
    let (table, insert) = {
        let context = compile::binding::bare_context(cx.session, &database);
        let mut binder = context.binder();
        let table = ::compile::table::table_of_type(cx.session, &binder, name, wanted)?;
        // No column metadata: a table without rows.
        if sent.columns.is_empty() {
            return Ok(Arc::clone(&table.rows));
        }
        if sent.columns.len() != table.columns.len() {
            return Err(column_count(sent.columns.len(), table.columns.len()));
        }
        let types = sent.columns.iter().map(|column| column.as_ref().map(arriving));
        let types: Vec<Option<ColumnType>> = types.collect();
        (Arc::clone(&table), bind_table_rows(&mut binder, table, &types)?)
    };
    let tables = FrameTables::lent(vec![Arc::clone(&table.rows)]);
    let mut frame = Frame { tables, ..Frame::default() };
    // Rows of a parameter do not change @@IDENTITY.
    let identity = cx.session.last.identity.take();
    let mut inner = Cx::new(cx.host, cx.session, &mut frame, cx.sink);
    let inserted = insert_rows(&insert, &sent.rows, &mut inner);
    cx.session.last.identity = identity;
    match inserted {
        Ok(_) => Ok(Arc::clone(&table.rows)),
        Err(error) => {
            cx.session.instance.store.drop_table(table.rows.data.id());
            Err(error)
        }
    }
}

fn column_count(sent: usize, wanted: usize) -> Error {
    let text = format!(
        "Trying to pass a table-valued parameter with {sent} column(s) where the corresponding \
         user-defined table type requires {wanted} column(s)."
    );
    Error::custom(COLUMN_COUNT, 16, 1, text)
}
