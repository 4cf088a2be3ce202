//! Binds the statements that change data: INSERT, UPDATE, DELETE, MERGE, TRUNCATE.
//!
//! - `target.rs` finds the table that is changed, through views and CTEs;
//! - `row.rs` binds what every new row needs: defaults, computed columns, checks, foreign keys;
//! - `output.rs` binds OUTPUT; `nested.rs` binds an INSERT of a nested statement's OUTPUT.

mod bulk;
mod delete;
mod insert;
mod instead;
mod merge;
mod nested;
mod output;
mod rewrite;
mod row;
mod target;
mod trigger;
mod update;
mod view;

pub use bulk::{Nulls, bind_bulk_rows, bind_table_rows};
pub use delete::{bind_delete, bind_truncate};
pub use insert::{Triggers, bind_insert_rows};
pub use insert::{bind_captured_rows, bind_insert, check_target};
pub use merge::bind_merge;
pub use nested::{
    NestedRows, bind as bind_nested, is_nested, of as nested_of,
    refuse_in_set as refuse_nested_in_set,
};
pub use rewrite::{
    Partitions, Rewrite, bind_move, bind_removal, bind_rewrite, bind_rows_of, bind_validation,
};
pub use row::{check_options, computed_at_read, default_value, defined_default, new_row};
pub use update::bind_update;

use types::Result;

use super::Binder;
use crate::Level;
use crate::query::declare_ctes;
use catalog::TableDef;
use plan::query::Node;
use plan::walk::{self, Registers};

/// Binds in a new query level, with the CTEs of the statement in scope.
fn in_level<T>(
    binder: &mut Binder<'_>,
    with: Option<&tsql::ast::With>,
    bind: impl FnOnce(&mut Binder<'_>) -> Result<T>,
) -> Result<T> {
    let ctes = binder.ctes.len();
    if let Some(with) = with {
        declare_ctes(binder, with)?;
    }
    let bound = binder.within(Level::default(), bind);
    binder.ctes.truncate(ctes);
    bound
}

/// Returns the name of a table with its database and schema, as messages show it.
fn full_name(binder: &Binder<'_>, table: &TableDef) -> String {
    let database = binder.catalog.database_by_id(table.database_id);
    let database = database.map(|d| d.name.as_str()).unwrap_or("tempdb");
    format!("{database}.{}", table.qualified_name())
}

/// Adds the registers that a node reads.
fn add_reads(node: &Node, used: &mut Registers) {
    walk::visit_node(node, &mut |e| {
        if let plan::expr::ExprKind::Column(register) = e.kind {
            used.insert(register);
        }
    });
}
