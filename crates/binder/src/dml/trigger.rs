//! Triggers that a statement fires: bound as an OUTPUT of whole rows to the triggers.

use std::sync::Arc;

use types::{Msg, Result};

use crate::Binder;
use catalog::TableDef;
pub(super) use catalog::row_trigger::Event;
use catalog::row_trigger::{Triggers, triggers_of};
use plan::expr::{Expr, ExprKind, Register};
use plan::query::{OutputColumn, TableSource};
use plan::sink::Traits;
use plan::statement::{Firing, OutputClause, OutputTarget};

/// Registers of the new and the old row's columns; `None` if there is no such row.
pub(crate) struct Images<'r> {
    pub inserted: Option<&'r dyn Fn(usize) -> Register>,
    pub deleted: Option<&'r dyn Fn(usize) -> Register>,
}

/// Adds the enabled triggers of the target for an event, if there are any. `named` are the columns
/// that the statement names.
///
/// # Errors
/// 334 if the statement also has OUTPUT to the client.
pub(crate) fn add(
    binder: &Binder<'_>,
    target: &TableSource,
    event: Event,
    images: &Images<'_>,
    named: &dyn Fn(usize) -> bool,
    output: &mut Vec<OutputClause>,
) -> Result<()> {
    let TableSource::Table(table) = target else { return Ok(()) };
    let Some((after, instead)) = triggers(binder, table, event) else { return Ok(()) };
    if output.iter().any(|clause| matches!(clause.target, OutputTarget::Client(_))) {
        return Err(Msg::OutputWithTriggers(&table.name).into());
    }
    let mut columns = Vec::new();
    for register in [images.inserted, images.deleted].into_iter().flatten() {
        columns.extend(table.columns.iter().enumerate().map(|(i, column)| OutputColumn {
            name: column.name.as_str().into(),
            expr: Expr::new(ExprKind::Column(register(i)), column.ty),
            traits: Traits::default(),
        }));
    }
    let mut updated = vec![0; table.columns.len().div_ceil(8)];
    for ordinal in (0..table.columns.len()).filter(|i| named(*i)) {
        updated[ordinal / 8] |= 1 << (ordinal % 8);
    }
    let firing = Firing {
        event: event.name(),
        table: Arc::clone(table),
        after,
        instead,
        inserted: images.inserted.is_some(),
        deleted: images.deleted.is_some(),
        updated,
    };
    output.push(OutputClause { columns, target: OutputTarget::Triggers(Arc::new(firing)) });
    Ok(())
}

/// Finds the enabled triggers of a table for an event, in the order of their creation.
pub(crate) fn triggers(binder: &Binder<'_>, table: &TableDef, event: Event) -> Option<Triggers> {
    triggers_of(binder.catalog, table, event)
}
