//! `Reader`: a transaction's eyes for another thread, so that several look at one statement's rows at once.
//!
//! It sees what the transaction sees in its present statement: the same snapshots, and what earlier statements of
//! the transaction wrote. It writes nothing, takes no row and notes nothing that commit would have to check. The
//! borrow keeps the transaction where it is: neither its next statement nor its end may come before.

use std::marker::PhantomData;
use std::ops::Deref;

use crate::spec::options::Isolation;
use crate::store::table::Table;
use crate::transaction::Transaction;

/// What another thread reads in the place of a transaction.
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
        // The slot and the state are the transaction's.
        self.eyes.forget();
    }
}

impl Transaction {
    /// Takes the snapshot by which an access looks at a table, if that has not been done: so that readers have it.
    pub fn fix_snapshot(&self, table: &Table, isolation: Isolation) {
        self.view(table, isolation);
    }

    /// Makes a reader, which sees by the snapshots that have been taken, and from columnstore indexes what views the
    /// transaction has of them ([`Transaction::column_view`]).
    pub fn reader(&self) -> Reader<'_> {
        Reader { eyes: self.lend(), _of: PhantomData }
    }
}
