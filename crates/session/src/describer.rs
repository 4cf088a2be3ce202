//! Facts about a definition that only binding finds: the columns of a view, the columns that a
//! condition reads. Views and metadata functions ask; the layer above that binds answers.

use plan::sink::Traits;
use types::Result;
use types::value::ColumnType;

use crate::SessionState;

/// A column of a view, as its query has it.
pub struct ViewColumn {
    /// The name that the view gives it.
    pub name: String,
    /// Type, collation and nullability.
    pub ty: ColumnType,
    /// What it has from the table's column that it is: an identity, `numeric`.
    pub traits: Traits,
}

/// Binds definitions in order to describe them.
pub trait Describer: Sync {
    /// Returns the columns of a view.
    ///
    /// # Errors
    /// The errors of binding its query: a table that it reads may be gone.
    fn view_columns(
        &self,
        session: &SessionState,
        database: &str,
        schema: &str,
        name: &str,
    ) -> Result<Vec<ViewColumn>>;

    /// Returns the ordinals of the table's columns that a condition on that table alone reads (a
    /// CHECK, a filter). Empty if the condition no longer binds.
    fn columns_read(
        &self,
        session: &SessionState,
        table: &catalog::TableDef,
        condition: &tsql::ast::Condition,
    ) -> Vec<u16>;
}
