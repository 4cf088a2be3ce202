//! System views: `sys.*` and `INFORMATION_SCHEMA.*`, one file per view, each a list of columns and a
//! function that makes the rows.

use types::value::ColumnType;
use types::{Result, Value};

use crate::exec::Cx;

/// All system views.
static VIEWS: &[&SystemView] = &[];

/// Finds a system view by schema (empty for the compatibility views that need none) and name.
pub fn find(schema: &str, name: &str) -> Option<&'static SystemView> {
    let same = crate::catalog::name::Name::same;
    VIEWS.iter().copied().find(|v| same(v.schema, schema) && same(v.name, name))
}

/// A system view or system table function.
pub struct SystemView {
    /// Schema: `sys` or `INFORMATION_SCHEMA`.
    pub schema: &'static str,
    /// Name.
    pub name: &'static str,
    /// Names and types of the columns, in the documented order.
    pub columns: fn() -> Vec<(&'static str, ColumnType)>,
    /// Makes the rows; `arguments` are those of a table function.
    pub rows: fn(&mut Cx<'_>, arguments: &[Value]) -> Result<Vec<Vec<Value>>>,
    /// Number of arguments; 0 for a view.
    pub arity: u8,
}

impl std::fmt::Debug for SystemView {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "{}.{}", self.schema, self.name)
    }
}
