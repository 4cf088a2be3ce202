//! Closing a table to all sessions but one, and waiting for the writers that found it open.

use crate::primitives::{Mutant, PinWait, is_mutant, pin, wait_for_pins};
use crate::spec::{Error, Result};
use crate::store::Table;
use crate::transaction::Transaction;
use crate::version::{Blocker, HeapPosition, Holder, newest};

/// Rows that are read under one pin.
const BATCH: usize = 64;

impl Transaction {
    /// Keeps all other sessions from writing to a table, and waits until no other transaction that
    /// has written to it is active. Fails like a wait for a row; then the gate is open again.
    pub fn close_for_alone(&self, table: &Table) -> Result<()> {
        let session = self.session().number;
        table.change_gate(|gate| gate.for_session(session));
        let waited = is_mutant(Mutant::GateWithoutWait)
            || wait_for_pins(PinWait::Definition, self.patience().cancel.as_deref());
        let closed = match waited {
            true => self.wait_for_writers(table),
            false => Err(Error::Cancelled),
        };
        closed.inspect_err(|_| table.reopen())
    }

    /// Waits until no other active transaction has written to a table that this session closed.
    fn wait_for_writers(&self, table: &Table) -> Result<()> {
        for part in table.parts() {
            while let Some(writer) = self.find_writer(part) {
                self.wait_for(writer)?;
            }
        }
        Ok(())
    }

    fn find_writer(&self, table: &Table) -> Option<Blocker> {
        let me = self.state_address();
        let mut position = HeapPosition::default();
        let mut heads = Vec::new();
        loop {
            heads.clear();
            table.heap.walk(&mut position, &mut heads, BATCH);
            if heads.is_empty() {
                return None;
            }
            let guard = pin();
            for head in &heads {
                let row = newest(head, me, &table.shared.clock, &guard);
                if let Holder::Other(state) = row.holder {
                    return Some(Blocker::new(state, head, row.top));
                }
            }
        }
    }
}
