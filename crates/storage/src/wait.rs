//! Waiting for another transaction to end, and finding out when that would never happen.

use std::sync::Arc;

use crate::error::{Error, Result};
use crate::reclaim::pin;
use crate::sync::Ordering;
use crate::txstate::TxState;

/// The sessions that wait for a transaction.
pub(crate) struct Waiters(());

impl Waiters {
    pub(crate) fn new() -> Self {
        Self(())
    }

    /// Wakes all.
    pub(crate) fn wake_all(&self) {}
}

/// Waits until `other` has ended. `waiter` is the transaction that waits, if it owns anything.
pub(crate) fn wait_for(
    waiter: Option<&TxState>,
    other: &Arc<TxState>,
    timeout_ms: Option<u32>,
) -> Result<()> {
    if let Some(waiter) = waiter {
        waiter.waiting_for.store(Arc::as_ptr(other).cast_mut(), Ordering::SeqCst);
        if closes_cycle(waiter, other) {
            waiter.waiting_for.store(std::ptr::null_mut(), Ordering::SeqCst);
            return Err(Error::Deadlock);
        }
    }
    let result = block(other, timeout_ms);
    if let Some(waiter) = waiter {
        waiter.waiting_for.store(std::ptr::null_mut(), Ordering::SeqCst);
    }
    result
}

fn block(other: &TxState, timeout_ms: Option<u32>) -> Result<()> {
    let mut spins = 0u64;
    while !other.status().is_final() {
        std::thread::yield_now();
        spins += 1;
        if timeout_ms.is_some_and(|ms| spins > u64::from(ms) * 1000) {
            return Err(Error::LockTimeout);
        }
    }
    Ok(())
}

/// Follows who waits for whom from `other`; every transaction waits for at most one.
fn closes_cycle(waiter: &TxState, other: &TxState) -> bool {
    let guard = pin();
    let mut current: *const TxState = other;
    loop {
        // SAFETY: a waiter holds a count on whom it waits for, and counts are given back through
        // `reclaim`, so under the guard each state read from `waiting_for` is alive.
        let next = unsafe { &*current }.waiting_for.load(Ordering::SeqCst);
        if next.is_null() {
            break;
        }
        if std::ptr::eq(next, waiter) {
            return true;
        }
        current = next;
    }
    drop(guard);
    false
}
