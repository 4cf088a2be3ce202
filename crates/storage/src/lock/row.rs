//! Waiting for a row in a way that the search for deadlocks sees.

use crate::lock::LockManager;
use crate::lock::owner::WaitsFor;
use crate::spec::error::{Error, Result};
use crate::spec::options::SessionTag;
use crate::version::blocker::Blocker;

/// Runs `block`, which waits for the transaction that has a row, on behalf of a session; `block` is
/// given a way to learn that the session was chosen to end a deadlock.
pub(crate) fn wait_for_row(
    manager: &LockManager,
    waiter: SessionTag,
    blocker: &Blocker,
    block: impl FnOnce(&dyn Fn() -> bool) -> Result<()>,
) -> Result<()> {
    let Some(owner) = manager.find_owner(waiter.number) else {
        // A session that has ended already: it waits for nothing that others wait for.
        return block(&|| false);
    };
    let what = WaitsFor::Row { blocker: blocker.clone(), session: blocker.session() };
    manager.begin_wait(&owner, waiter.deadlock_priority, what);
    let waited = block(&|| owner.is_victim());
    match owner.end_wait() {
        // Chosen, but the row came first: whoever chose it is free as well.
        true if waited.is_ok() => Ok(()),
        true => Err(Error::Deadlock),
        false => waited,
    }
}
