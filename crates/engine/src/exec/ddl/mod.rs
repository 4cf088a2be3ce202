//! Runs definitions: CREATE, ALTER, DROP of everything, and what makes tables without a statement.

use std::sync::Arc;

use tsql::ast;
use types::{Msg, Result};

use crate::bind::Binder;
use crate::catalog::{TableDef, UserType};
use crate::exec::Cx;
use crate::session::SessionState;

/// Runs a definition; `cx.statement_text` is its text. Temporary tables go to the session's innermost
/// scope, everything else to a new catalog snapshot.
///
/// # Errors
/// Those of names, types and rights; 40517 for what is not supported.
pub fn run(_statement: &ast::Statement, _cx: &mut Cx<'_>) -> Result<()> {
    Err(Msg::NotSupported("definitions").into())
}

/// Makes the definition of `DECLARE @t TABLE (..)`.
///
/// # Errors
/// As for CREATE TABLE.
pub fn table_variable(
    _session: &SessionState,
    _binder: &Binder<'_>,
    _variable: &ast::Variable,
    _elements: &[ast::TableElement],
) -> Result<Arc<TableDef>> {
    Err(Msg::NotSupported("table variables").into())
}

/// Makes the definition of a variable or parameter of a table type.
///
/// # Errors
/// As for CREATE TABLE.
pub fn table_of_type(
    _session: &SessionState,
    _binder: &Binder<'_>,
    _name: &str,
    _user_type: &UserType,
) -> Result<Arc<TableDef>> {
    Err(Msg::NotSupported("table types").into())
}

/// Makes the table of SELECT .. INTO: columns by name and type, and whether they are an identity.
///
/// # Errors
/// As for CREATE TABLE.
pub(crate) fn create_from_columns(
    _name: &ast::ObjectName,
    _columns: &[(String, types::value::ColumnType, bool)],
    _cx: &mut Cx<'_>,
) -> Result<Arc<TableDef>> {
    Err(Msg::NotSupported("SELECT .. INTO").into())
}
