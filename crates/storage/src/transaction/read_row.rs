//! Reading one row: the version that a snapshot sees, the newest committed one, or an uncommitted
//! one; with the row lock that the access asks for.

use std::ptr::NonNull;

use crate::index::{Index, has_key};
use crate::primitives::{Mutant, is_mutant, pin};
use crate::row_lock::Hold;
use crate::spec::{Isolation, Read, Result, RowLock, TableKind, WhenOwned};
use crate::store::{Need, Table};
use crate::transaction::row_locks::hold_of;
use crate::transaction::{Basis, Claim, RowRef, Transaction};
use crate::version::{
    Begin, Owner, RowHead, Sight, Version, VersionKind, View, owner, versions, visible,
};

/// An index and the key under which it led to a row.
type Under<'a> = Option<(&'a Index, &'a [u8])>;

impl Transaction {
    /// Reads one row if it is visible and has the right key; locks it if the access asks for it. Notes
    /// the epoch of what may be newer than the snapshot; the caller notes that of the snapshot.
    pub(crate) fn look<'t>(
        &'t self,
        (table, head): (&'t Table, &'t RowHead),
        (view, basis): (View, Basis),
        index: Under<'_>,
        read: Read,
    ) -> Result<Option<RowRef<'t>>> {
        let view = View { me: self.me(), ..view };
        let hold = hold_of(table, read);
        let seen = match (read.lock, hold) {
            (RowLock::Update(when) | RowLock::Exclusive(when), _) => {
                return self.look_and_claim((table, head), (view, basis), index, (read, when));
            }
            (_, Some(hold)) if read.isolation == Isolation::RepeatableRead => {
                self.hold_row((table, head), view, (hold, WhenOwned::Wait))?
            }
            (RowLock::Committed(when), None) if table.kind() == TableKind::Ordinary => {
                self.see_committed((table, head), view, when)?
            }
            (RowLock::Dirty, None) if table.kind() == TableKind::Ordinary => {
                self.see_dirty(head, view)?
            }
            (RowLock::Past, _) => {
                self.see(head, view)?.filter(|version| !self.has_changed(head, view, version))
            }
            (RowLock::None | RowLock::Committed(_) | RowLock::Dirty, _) => self.see(head, view)?,
        };
        if hold.is_some() || !matches!(read.lock, RowLock::None) {
            // It may be newer than the snapshot, whose barrier was noted.
            self.note_found(table, view.lost, seen);
        }
        let Some(version) = seen else { return Ok(None) };
        let row = RowRef { table, head, version, basis };
        if !index.is_none_or(|(index, key)| is_under(index, key, row)) {
            return Ok(None);
        }
        self.note_row(row, read.isolation);
        Ok(Some(row))
    }

    /// Claims a row for an access with UPDLOCK or XLOCK.
    fn look_and_claim<'t>(
        &'t self,
        (table, head): (&'t Table, &'t RowHead),
        (view, basis): (View, Basis),
        index: Under<'_>,
        (read, when_owned): (Read, WhenOwned),
    ) -> Result<Option<RowRef<'t>>> {
        let Some(version) = self.see(head, view)? else { return Ok(None) };
        let row = RowRef { table, head, version, basis };
        if !index.is_none_or(|(index, key)| is_under(index, key, row)) {
            return Ok(None);
        }
        if when_owned != WhenOwned::Skip && table.kind() == TableKind::Ordinary {
            self.keep_locks();
        }
        let claimed = match self.claim(row, when_owned)? {
            Claim::Current(row) => row,
            Claim::Changed(row)
                if index.is_none_or(|(index, key)| has_key(index, row.image(), key)) =>
            {
                row
            }
            Claim::Changed(_) | Claim::Gone | Claim::Skipped => return Ok(None),
        };
        if matches!(read.lock, RowLock::Exclusive(_)) && table.kind() == TableKind::Ordinary {
            // Readers with row locks look for holds, not for claims.
            self.hold_row((table, head), view, (Hold::Exclusive, when_owned))?;
        }
        Ok(Some(claimed))
    }

    /// Returns the newest version of a row, committed or not. An uncommitted one is copied, because
    /// it may be undone at any time.
    fn see_dirty<'t>(&'t self, head: &RowHead, view: View) -> Result<Option<&'t Version>> {
        let guard = pin();
        for version in versions(head.latest(), &guard) {
            let is_others = match owner(version, view.me, self.clock(), &guard) {
                _ if version.kind == VersionKind::Lock => continue,
                Owner::Nobody => continue,
                Owner::Own if version.command >= view.command => continue,
                Owner::Own | Owner::Committed(_) => false,
                Owner::Other(_) => true,
            };
            if version.kind != VersionKind::Data {
                return Ok(None);
            }
            if !is_others {
                // SAFETY: it is the transaction's own, or no older than its snapshot, whose slot is
                // held: it stays until the next statement or the end, which take `&mut self`.
                return Ok(Some(unsafe { &*std::ptr::from_ref(version) }));
            }
            let none = std::ptr::null_mut();
            Need::Work.check()?;
            let copy =
                Version::allocate(VersionKind::Data, Begin::Pending, 0, none, version.image())?;
            self.keep_copy(copy);
            // SAFETY: freed by the next statement or the end, which take `&mut self`.
            return Ok(Some(unsafe { NonNull::as_ref(&copy) }));
        }
        Ok(None)
    }

    /// Returns whether another transaction has written a newer version, committed or not.
    fn has_changed(&self, head: &RowHead, view: View, seen: &Version) -> bool {
        let guard = pin();
        let clock = self.clock();
        for version in versions(head.latest(), &guard) {
            if std::ptr::eq(version, seen) {
                return false;
            }
            match owner(version, self.me(), clock, &guard) {
                Owner::Own => return false,
                Owner::Nobody => {}
                Owner::Committed(_) | Owner::Other(_) if version.kind == VersionKind::Lock => {}
                Owner::Committed(_) if view.lost.hides(version.mark()) => {}
                Owner::Committed(_) if is_mutant(Mutant::PassesOverOwnedOnly) => {}
                Owner::Committed(_) | Owner::Other(_) => return true,
            }
        }
        false
    }

    pub(crate) fn see<'t>(&'t self, head: &RowHead, view: View) -> Result<Option<&'t Version>> {
        loop {
            let guard = pin();
            match visible(head, view, self.clock(), &guard) {
                // SAFETY: the version is visible to a held snapshot, or the transaction's own, so
                // it stays until the next statement or the end, which take `&mut self`.
                Sight::Row(version) => return Ok(Some(unsafe { &*std::ptr::from_ref(version) })),
                Sight::Nothing | Sight::Dirty => return Ok(None),
                Sight::Undecided(state) => {
                    drop(guard);
                    self.wait_for(state)?;
                }
            }
        }
    }
}

/// Returns whether the version has the key of the index entry that led to it.
fn is_under(index: &Index, key: &[u8], row: RowRef<'_>) -> bool {
    // The mark is read after the version: a writer that changes the key sets it before.
    !index.is_verified_by_reader(row.head) || has_key(index, row.image(), key)
}
