//! Runs the statements that change data.
//!
//! - `write.rs` completes, checks, encodes and stores rows; `reference.rs` keeps foreign keys;
//! - `version.rs` keeps the earlier versions of rows of system-versioned tables;
//! - `output.rs` collects OUTPUT rows, which leave when the statement has succeeded.

mod bulk;
mod delete;
mod export;
mod insert;
mod instead;
mod into;
mod merge;
mod output;
mod reference;
mod table_parameter;
mod update;
mod version;
mod write;

pub(crate) use bulk::{announce, hold};
pub use bulk::{bulk_insert, set_identity_insert};
pub(crate) use delete::{run_delete, run_truncate, truncate};
pub(crate) use insert::Loader;
pub use insert::{insert_rows, run_insert};
pub(crate) use instead::run_instead;
pub(crate) use into::run_select_into;
pub(crate) use merge::run_merge;
pub(crate) use reference::{Late, check_late};
pub(crate) use table_parameter::make_table;
pub(crate) use update::run_update;
pub(crate) use write::{display, value_of};

use storage::Transaction;
use types::Result;

use crate::exec::query::{Flow, run_node};
use crate::exec::statement::{in_transaction, prepare};
use crate::exec::{Cx, fault};
use crate::plan::query::TableSource;
use crate::plan::statement::Validation;
use write::Verb;

/// Checks all rows of a table against constraints.
///
/// # Errors
/// 547, in the words of an INSERT.
pub(crate) fn validate(validation: &Validation, cx: &mut Cx<'_>) -> Result<()> {
    prepare(cx, validation.registers);
    in_transaction(cx, &mut |cx| {
        run_node(&validation.root, cx, &mut |cx| {
            write::complete(&validation.row, &validation.table, Verb::Insert, cx)?;
            reference::check_new(&validation.row.foreign, &validation.table, Verb::Insert, cx)?;
            Ok(Flow::More)
        })
    })
}

/// Changes to table variables do not belong to the user's transaction: a transaction of their own.
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

    /// The transaction to write in.
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
