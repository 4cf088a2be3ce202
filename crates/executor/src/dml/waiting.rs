//! Actions and checks of foreign keys that wait until the statement has changed all its rows.
//!
//! A new key may pass over the key of another row (`SET k = k + 1`), so what refers to a changed key
//! is followed when all of them are known: each referring row is changed once, from the key that it
//! had before the statement. Referring rows without an index are found by one scan for all keys.

use std::sync::Arc;

use hashbrown::HashMap;
use session::grant::Charge;
use types::{Error, Msg, Result};

use super::reference::{Changed, change_all, has_key, index_on, referring, referring_to_any};
use super::write::Verb;
use crate::Cx;
use catalog::{ForeignKeyDef, ReferenceAction, TableDef};

/// The changed keys of one foreign key.
pub(crate) struct Waiting {
    child: Arc<TableDef>,
    key: ForeignKeyDef,
    verb: Verb,
    /// Depth of the cascade that changed the keys; 0 for the statement itself.
    depth: u32,
    changes: Vec<Changed>,
    charge: Charge,
}

impl Waiting {
    /// Records a changed key.
    ///
    /// # Errors
    /// 701 if the changed keys need more memory than the query may have.
    pub(super) fn add(
        child: &Arc<TableDef>,
        key: &ForeignKeyDef,
        (verb, depth): (Verb, u32),
        change: Changed,
        cx: &mut Cx<'_>,
    ) -> Result<()> {
        let is_it = |w: &Waiting| (w.key.id, w.verb, w.depth) == (key.id, verb, depth);
        let place = cx.waiting.iter().position(is_it).unwrap_or_else(|| {
            let charge = cx.session.accounting.grant.charge(0);
            let (child, key, changes) = (Arc::clone(child), key.clone(), Vec::new());
            cx.waiting.push(Waiting { child, key, verb, depth, changes, charge });
            cx.waiting.len() - 1
        });
        let waiting = &mut cx.waiting[place];
        waiting.charge.add_row(change.before.iter().chain(change.after.iter().flatten()))?;
        waiting.charge.add(size_of::<Changed>() + change.grouped.len())?;
        waiting.changes.push(change);
        Ok(())
    }

    fn action(&self) -> ReferenceAction {
        if self.verb == Verb::Delete { self.key.on_delete } else { self.key.on_update }
    }

    /// Applies the action to the referring rows, or refuses them.
    fn follow(&self, cx: &mut Cx<'_>) -> Result<()> {
        let (child, key) = (&self.child, &self.key);
        let mut changes = Vec::with_capacity(self.changes.len());
        for change in &self.changes {
            if self.action() != ReferenceAction::NoAction || self.is_gone(change, cx)? {
                changes.push(change);
            }
        }
        if changes.is_empty() {
            return Ok(());
        }
        let transaction = cx.changing();
        let mut rows = Vec::new();
        if index_on(child, key).is_some() {
            for change in changes {
                let found = referring(child, key, change, transaction, cx)?;
                rows.extend(found.into_iter().map(|row| (row, change)));
            }
        } else {
            let by_key: HashMap<&[u8], &Changed> =
                changes.into_iter().map(|change| (change.grouped.as_slice(), change)).collect();
            rows = referring_to_any(child, key, &by_key, transaction, cx)?;
        }
        change_all(child, key, (self.verb, self.action(), self.depth), rows, cx)
    }

    /// Returns whether no row has the key that a changed row had before.
    fn is_gone(&self, change: &Changed, cx: &mut Cx<'_>) -> Result<bool> {
        let catalog = Arc::clone(&cx.session.catalog);
        let database = catalog.database_by_id(self.child.database_id);
        let parent = database.and_then(|database| database.table_by_id(self.key.referenced));
        let parent = parent.ok_or_else(|| Error::from(Msg::InternalError))?;
        Ok(!has_key(parent, &self.key, &change.before, cx)?)
    }
}

/// Follows the changed keys whose foreign keys act, and those of the rows that this changes;
/// returns the others, which [`check_all`] checks.
///
/// # Errors
/// Errors of the referring rows' new values.
pub(crate) fn follow_actions(mut waiting: Vec<Waiting>, cx: &mut Cx<'_>) -> Result<Vec<Waiting>> {
    let mut checks = Vec::new();
    while !waiting.is_empty() {
        for one in waiting {
            match one.action() {
                ReferenceAction::NoAction => checks.push(one),
                _ => one.follow(cx)?,
            }
        }
        waiting = std::mem::take(&mut cx.waiting);
    }
    Ok(checks)
}

/// Checks that no row refers to a key that is gone, when all actions are visible.
///
/// # Errors
/// 547 for a row that does.
pub(crate) fn check_all(checks: &[Waiting], cx: &mut Cx<'_>) -> Result<()> {
    checks.iter().try_for_each(|check| check.follow(cx))
}
