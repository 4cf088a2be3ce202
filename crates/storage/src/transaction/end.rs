//! How a transaction ends: commit, rollback, and the rollback to a savepoint.
//!
//! The outcome is published in one word, the transaction's state. What follows only tidies up, row by
//! row, and may take long: a million rows take a tenth of a second. So it pauses for other requests
//! where the protocol allows one:
//!
//! | loop over the writes | pauses | why |
//! |---|---|---|
//! | bytes for the log are counted | yes | nothing has been announced |
//! | reads are validated | no | another transaction that validates at the same time fails because of this one |
//! | ranges are noted for checkpoints, changes are written to the log | no | the scheduler's buffer belongs to this commit until its end, and no commit of its epoch is durable before that |
//! | versions are stamped | yes | readers that meet one without a time take it from the state |
//! | claims and row locks are released | yes | those of a transaction that has ended hold no other off |
//! | writes are undone | yes | the transaction is active until the last one is, as while it wrote them |
//!
//! Two kinds of transactions do not pause: one that is brief
//! ([`Pace::Brief`](crate::version::Pace::Brief)), for which others wait
//! whatever their hints and timeouts, and one whose epoch in the log stays open behind its end
//! ([`CommitLog::keeps_open`](crate::durability::CommitLog::keeps_open)), for which all other commits
//! would wait.
//!
//! A pause does not end a transaction: a cancellation that arrives in one is seen by what comes next.

use std::sync::Arc;

use crate::durability::{Announced, CommitLog};
use crate::primitives::{
    Label, Mutant, Ordering, breathe, delay_release, is_mutant, labelled, let_others_run, pin,
    retire_arc,
};
use crate::spec::{Error, Result};
use crate::store::{Mistake, Store};
use crate::transaction::undo::{Write, WriteKind};
use crate::transaction::validate::validate;
use crate::transaction::writes::PIECE;
use crate::transaction::{Inner, Transaction, drop_copies};
use crate::version::{TxStatus, wake_waiters};

/// Whether a rollback keeps the ownership of claimed rows.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum Locks {
    Keep,
    Release,
}

impl Inner {
    /// Lets other requests run, unless the transaction is brief.
    pub(super) fn pause(&self) {
        match &self.state {
            Some(state) => state.pause(),
            None => let_others_run(),
        }
    }
}

impl Transaction {
    /// Commits. On an error the transaction is rolled back.
    pub fn commit(mut self) -> Result<()> {
        let _label = labelled(Label::Commit);
        if self.inner.get_mut().doomed {
            // Dropping `self` rolls it back.
            return Err(Error::Doomed);
        }
        let store = Arc::clone(&self.store);
        if let Some(state) = &self.inner.get_mut().state {
            delay_release(|| state.waiters.load(Ordering::Relaxed) != 0);
        }
        self.admit_commit(&store)?;
        // A checkpoint that begins from here on waits until the changes are visible.
        let guard = store.log().map(|_| pin());
        if is_mutant(Mutant::PickEndsEarly) {
            self.inner.get_mut().picks.clear();
        }
        let is_late = is_mutant(Mutant::AnnouncedAfterTime);
        let announced = if is_late { None } else { self.announce(&store) };
        self.decide()?;
        let announced = if is_late { self.announce(&store) } else { announced };
        drop(guard);
        self.end_committed(announced);
        Ok(())
    }

    /// Returns about how many bytes its changes take in the log, at most.
    pub fn logged_bytes(&self) -> u64 {
        let inner = self.inner.borrow();
        let mut bytes = 0;
        for (number, piece) in inner.writes.pieces().enumerate() {
            if number > 0 {
                inner.pause();
            }
            bytes += piece.iter().map(Write::logged_bytes).sum::<u64>();
        }
        bytes
    }

    /// Waits until the commit may be logged, if it has to be. On an error, dropping the transaction
    /// rolls it back.
    fn admit_commit(&self, store: &Store) -> Result<()> {
        let Some(log) = store.log() else { return Ok(()) };
        let bytes = self.logged_bytes();
        if bytes > 0 { log.admit(bytes) } else { Ok(()) }
    }

    /// Announces the commit to the log, if the transaction has changed a durable table. An error
    /// that follows withdraws it. The caller is pinned until the changes are visible.
    fn announce<'l>(&mut self, store: &'l Store) -> Option<Announced<'l>> {
        let log = store.log()?;
        let inner = self.inner.get_mut();
        let state = inner.state.as_ref()?;
        // No pause: a checkpoint waits for this pin.
        let logged = inner.writes.iter().filter(|write| write.note_range()).count();
        if logged == 0 {
            return None;
        }
        let announced = Announced::new(log, &store.shared().clock, self.is_lazy);
        state.set_mark(announced.mark());
        Some(announced)
    }

    /// Rolls back the transaction and ends it.
    pub fn rollback(self) {
        drop(self);
    }

    /// Publishes the outcome: from here on the transaction has a commit time, or has failed.
    fn decide(&mut self) -> Result<()> {
        let store = Arc::clone(&self.store);
        let clock = &store.shared().clock;
        let inner = self.inner.get_mut();
        if inner.reads.is_empty() && inner.ranges.is_empty() {
            if let Some(state) = &inner.state {
                state.set(TxStatus::Committing);
                state.help(clock);
            }
            return Ok(());
        }
        let ts = match &inner.state {
            None => clock.commit(),
            Some(state) => {
                state.set(TxStatus::ValidatingSoon);
                match state.help(clock) {
                    TxStatus::Validating(ts) => ts,
                    other => unreachable!("only the owner decides: {other:?}"),
                }
            }
        };
        let me = inner.state.as_ref().map_or(std::ptr::null(), Arc::as_ptr);
        // On an error, dropping the transaction rolls it back and wakes its waiters.
        if !store.shared().makes(Mistake::NoValidation) {
            validate(&inner.reads, &inner.ranges, (me, ts), clock)?;
        }
        if let Some(state) = &inner.state {
            state.set(TxStatus::Committed(ts));
        }
        Ok(())
    }

    fn end_committed(&mut self, announced: Option<Announced<'_>>) {
        let store = Arc::clone(&self.store);
        let inner = self.inner.get_mut();
        if let Some(state) = &inner.state {
            let TxStatus::Committed(ts) = state.status() else {
                unreachable!("decide() has committed")
            };
            let is_kept_open =
                announced.is_some() && store.log().is_some_and(CommitLog::keeps_open);
            if let Some(announced) = announced {
                let guard = pin();
                // The slot still keeps the versions below. No pause: see the table at the top.
                inner.writes.iter().for_each(|write| write.write_change(&announced, &guard));
                announced.finish(ts.0);
            }
            // The waiters go on now, and do not wait for what is left.
            if inner.writes.len() > PIECE {
                wake_waiters(state);
            }
            let mark = state.mark();
            let writes = std::mem::take(&mut inner.writes);
            for (number, piece) in writes.into_pieces().enumerate() {
                if number > 0 && !is_kept_open {
                    inner.pause();
                }
                // The slot keeps the versions while no pin does.
                let guard = pin();
                piece.iter().for_each(|write| write.finish(store.shared(), (ts, mark), &guard));
                piece.iter().for_each(|write| write.release_lock(&guard));
            }
        }
        self.release();
    }

    /// Rolls back whatever has not been committed, and ends the transaction.
    pub(super) fn end(&mut self, outcome: TxStatus) {
        self.undo_from(0, Locks::Release);
        if let Some(state) = &self.inner.get_mut().state {
            state.set(outcome);
        }
        self.release();
    }

    /// Wakes the waiters and releases row locks, slot and state.
    fn release(&mut self) {
        let inner = self.inner.get_mut();
        drop_copies(&mut inner.copies);
        if let Some(state) = inner.state.take() {
            inner.holds.end(&state);
            wake_waiters(&state);
            retire_arc(&pin(), state);
        }
        inner.picks.clear();
        if let Some(slot) = inner.slot.take() {
            slot.release();
        }
    }

    pub(super) fn undo_from(&mut self, first: usize, locks: Locks) {
        let inner = self.inner.get_mut();
        let mut kept = Vec::new();
        while inner.writes.len() > first {
            let guard = pin();
            for write in inner.writes.take_last(first).rev() {
                match (write.kind, locks) {
                    (WriteKind::Lock, Locks::Keep) => kept.push(write),
                    (WriteKind::Lock, Locks::Release) => write.release_lock(&guard),
                    (WriteKind::Insert | WriteKind::Update | WriteKind::Delete, _) => {
                        write.undo(&guard);
                    }
                }
            }
            drop(guard);
            // A rollback may be due to short memory: keep what waits to be freed small.
            breathe();
            if inner.writes.len() > first {
                inner.pause();
            }
        }
        kept.into_iter().rev().for_each(|write| inner.writes.push(write));
    }
}

impl Drop for Transaction {
    fn drop(&mut self) {
        self.end(TxStatus::Aborted);
    }
}
