//! Runs the statements that change data: INSERT, UPDATE, DELETE, MERGE and TRUNCATE TABLE.
//!
//! - `write.rs` completes, checks, encodes and stores rows; `reference.rs` keeps foreign keys;
//! - `waiting.rs` follows the foreign keys that refer to changed keys, at the statement's end;
//! - `deferred.rs` keeps rows whose new keys are taken until the statement has changed all others;
//! - `version.rs` keeps the earlier versions of rows of system-versioned tables;
//! - `picking.rs` decides how rows are read among which TOP or a window function picks;
//! - `output.rs` collects OUTPUT rows, which are delivered when the statement has succeeded.

mod deferred;
mod delete;
mod identity;
mod insert;
mod instead;
mod merge;
mod output;
mod picking;
mod reference;
mod update;
mod version;
mod waiting;
mod write;

pub(crate) use delete::run_delete;
pub use delete::{move_rows, remove_rows, run_truncate};
pub use insert::Loader;
pub use insert::{insert_rows, run_insert};
pub(crate) use instead::run_instead;
pub(crate) use merge::run_merge;
pub(crate) use picking::Picking;
pub(crate) use reference::{Late, check_late};
pub(crate) use update::run_update;
pub(crate) use waiting::{Waiting, check_all, follow_actions};
pub use write::display;
pub(crate) use write::value_of;

use storage::{Hold, Transaction, WhenOwned};
use types::Result;

use crate::query::{Flow, run_node};
use crate::statement::{in_transaction, prepare};
use crate::{Cx, fault};
use catalog::TableDef;
use plan::query::TableSource;
use plan::statement::Validation;
use write::Verb;

/// Checks all rows of a table against constraints.
///
/// # Errors
/// 547, with the text for INSERT.
pub fn validate(validation: &Validation, cx: &mut Cx<'_>) -> Result<()> {
    prepare(cx, validation.registers);
    in_transaction(cx, &mut |cx| {
        run_node(&validation.root, cx, &mut |cx| {
            write::complete(&validation.row, &validation.table, Verb::Insert, cx)?;
            reference::check_new(&validation.row.foreign, &validation.table, Verb::Insert, cx)?;
            Ok(Flow::More)
        })
    })
}

/// Returns whether a tree of operators gives a row.
///
/// # Errors
/// The errors of reading the tables.
pub fn has_rows(root: &plan::query::Node, registers: u32, cx: &mut Cx<'_>) -> Result<bool> {
    prepare(cx, registers);
    let mut found = false;
    in_transaction(cx, &mut |cx| {
        found = false;
        run_node(root, cx, &mut |_| {
            found = true;
            Ok(Flow::Enough)
        })
    })?;
    Ok(found)
}

/// TABLOCK: locks the table exclusively until the load has been committed.
///
/// # Errors
/// The errors of waiting for the lock.
pub fn hold(table: &TableDef, cx: &mut Cx<'_>) -> Result<()> {
    // These tables have no locks.
    if table.memory_optimized || table.columnstore.is_some() {
        return Ok(());
    }
    let transaction = cx.changing();
    let held = transaction.hold_table(&table.rows.data, Hold::Exclusive, WhenOwned::Wait);
    held.map_err(|error| fault::raise(cx, error))
}

/// Returns the rows of the table that a statement changes: of a variable, those of this frame.
fn rows_of(target: &TableSource, cx: &Cx<'_>) -> std::sync::Arc<catalog::TableRows> {
    match target {
        TableSource::Variable(slot, _) => std::sync::Arc::clone(&cx.frame.tables[*slot as usize]),
        TableSource::Table(table) | TableSource::Trigger(_, table) => {
            std::sync::Arc::clone(&table.rows)
        }
    }
}

/// The transaction for changes of a table variable, which do not belong to the user's transaction.
struct Private(Option<Transaction>);

impl Private {
    fn begin(target: &TableSource, cx: &Cx<'_>) -> Self {
        let variable = matches!(target, TableSource::Variable(..));
        let begin = || {
            let options = storage::TransactionOptions::STATEMENT;
            cx.session.instance.store.begin(options)
        };
        Self(variable.then(begin))
    }

    /// Returns the transaction to write in: its own for a table variable, otherwise `main`.
    fn or<'t>(&'t self, main: &'t Transaction) -> &'t Transaction {
        self.0.as_ref().unwrap_or(main)
    }

    fn commit(self, cx: &mut Cx<'_>) -> Result<()> {
        match self.0 {
            Some(transaction) => transaction.commit().map_err(|e| fault::raise(cx, e)),
            None => Ok(()),
        }
    }
}
