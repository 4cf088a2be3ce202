//! What binding a definition tells: asked for by views and metadata functions, answered by a layer
//! above, since the binder's context is made from sessions.

use types::Result;
use types::value::ColumnType;

use crate::SessionState;

/// Binds definitions for those who describe them.
pub trait Describer: Sync {
    /// Returns names and types of a view's columns.
    ///
    /// # Errors
    /// The errors of binding its query: a table that it reads may be gone.
    fn view_columns(
        &self,
        session: &SessionState,
        database: &str,
        schema: &str,
        name: &str,
    ) -> Result<Vec<(String, ColumnType)>>;

    /// Returns the ordinals of the table's columns that a condition on that table alone reads (a
    /// CHECK, a filter). Empty if the condition no longer binds.
    fn columns_read(
        &self,
        session: &SessionState,
        table: &catalog::TableDef,
        condition: &tsql::ast::Condition,
    ) -> Vec<u16>;
}
