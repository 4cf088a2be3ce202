//! Runs data-changing statements.

use std::sync::Arc;

use tsql::ast;
use types::{Msg, Result, Value};

use crate::catalog::TableRows;
use crate::exec::{Cx, StatementResult};
use crate::session::{SessionState, TableParameter};
use crate::sink::ColumnInfo;

/// SET IDENTITY_INSERT table ON | OFF.
///
/// # Errors
/// 8106 without an identity column, 8107 if it is on for another table, 1088 for an unknown table.
pub fn set_identity_insert(_table: &ast::ObjectName, _on: bool, _cx: &mut Cx<'_>) -> Result<()> {
    Err(Msg::NotSupported("SET IDENTITY_INSERT").into())
}

/// Inserts the rows of a BULK packet that INSERT BULK announced.
///
/// # Errors
/// As for INSERT; 4815 and 4816 for columns that do not fit.
pub fn bulk_insert(
    _announced: &ast::InsertBulk,
    _columns: &[ColumnInfo],
    _rows: &mut dyn Iterator<Item = Result<Vec<Value>>>,
    _cx: &mut Cx<'_>,
) -> Result<StatementResult> {
    Err(Msg::NotSupported("INSERT BULK").into())
}

/// Makes the rows of a table-valued parameter.
///
/// # Errors
/// 2715 for an unknown type, those of conversion.
pub fn table_parameter(
    _parameter: TableParameter,
    _session: &SessionState,
) -> Result<Arc<TableRows>> {
    Err(Msg::NotSupported("table-valued parameters").into())
}

/// TRUNCATE TABLE.
///
/// # Errors
/// 4701 for an unknown table, 4712 for one that foreign keys refer to.
pub fn truncate(_truncate: &ast::Truncate, _cx: &mut Cx<'_>) -> Result<()> {
    Err(Msg::NotSupported("TRUNCATE TABLE").into())
}
