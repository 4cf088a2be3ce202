//! `Reader`: a transaction's view for another thread, so that several read for one statement.
//!
//! It sees what the transaction sees in its current statement: the same snapshots, and what earlier
//! statements of the transaction wrote. It writes nothing, locks no row and records nothing that
//! commit would have to validate. The borrow keeps the transaction from beginning its next
//! statement or ending before the reader.

use std::marker::PhantomData;
use std::ops::Deref;

use crate::spec::Isolation;
use crate::store::Table;
use crate::transaction::Transaction;

/// Reads on another thread on behalf of a transaction.
pub struct Reader<'t> {
    eyes: Transaction,
    _of: PhantomData<&'t ()>,
}

impl Deref for Reader<'_> {
    type Target = Transaction;

    fn deref(&self) -> &Transaction {
        &self.eyes
    }
}

impl Drop for Reader<'_> {
    fn drop(&mut self) {
        // The slot and the state belong to the transaction.
        self.eyes.forget();
    }
}

impl Transaction {
    /// Takes the snapshot that an access to a table reads by, so that readers have it.
    pub fn fix_snapshot(&self, table: &Table, isolation: Isolation) {
        self.view(table, isolation);
    }

    /// Makes a reader. It reads by the snapshots that have been taken, and columnstore indexes by
    /// the views that the transaction has of them ([`Transaction::column_view`]).
    ///
    /// What a reader sees need not be durable. So this notes what the snapshots may see, for the
    /// reply of the calling thread, and readers note nothing. What READ UNCOMMITTED sees above the
    /// snapshots is not covered: it may be taken back in any case.
    pub fn reader(&self) -> Reader<'_> {
        self.note_all();
        Reader { eyes: self.lend(), _of: PhantomData }
    }
}
