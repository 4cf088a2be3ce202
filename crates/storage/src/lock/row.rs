//! Waiting for a row in a way that deadlock detection sees.

use crate::lock::LockManager;
use crate::lock::owner::WaitsFor;
use crate::spec::{Error, Result, SessionTag};
use crate::version::Blocker;

/// Runs `block`, which waits for the transaction that owns a row, on behalf of a session. `block`
/// receives a function that returns whether the session was chosen as a deadlock victim.
pub(crate) fn wait_for_row(
    manager: &LockManager,
    waiter: SessionTag,
    blocker: &Blocker,
    block: impl FnOnce(&dyn Fn() -> bool) -> Result<()>,
) -> Result<()> {
    let Some(owner) = manager.find_owner(waiter.number) else {
        // The session has ended already, so its wait cannot close a cycle.
        return block(&|| false);
    };
    let what = WaitsFor::Row { blocker: blocker.clone(), session: blocker.session() };
    manager.begin_wait(&owner, waiter.deadlock_priority, what);
    let waited = block(&|| owner.is_victim());
    match owner.end_wait() {
        // Chosen as victim, but the row was freed first: then the cycle is broken too.
        true if waited.is_ok() => Ok(()),
        true => Err(Error::Deadlock),
        false => waited,
    }
}
