//! `LockedIndex`: an ordered map under a latch; the reference the concurrent indexes are tested with.

use std::collections::BTreeSet;
use std::ops::{Bound, ControlFlow};

use super::Entry;
use crate::head::RowHead;
use crate::reclaim::Guard;
use crate::row::RowId;
use crate::scan::{Bounds, Order};
use crate::sync::{SpinClass, SpinLock};
use crate::table::IndexStatistics;

type Item = (Box<[u8]>, RowId, usize);

/// An ordered map of keys to heads.
pub(crate) struct LockedIndex {
    items: SpinLock<BTreeSet<Item>>,
}

const BATCH_MAX: usize = if cfg!(test) { 3 } else { 64 };

fn address(head: &RowHead) -> usize {
    std::ptr::from_ref(head).expose_provenance()
}

/// # Safety
/// The address was exposed from a head that lives as long as `'a`.
unsafe fn head_at<'a>(address: usize) -> &'a RowHead {
    // SAFETY: the caller's promise.
    unsafe { &*std::ptr::with_exposed_provenance::<RowHead>(address) }
}

impl LockedIndex {
    pub(crate) fn new() -> Self {
        Self { items: SpinLock::new(SpinClass::XtpIndex, BTreeSet::new()) }
    }

    fn with<R>(&self, body: impl FnOnce(&mut BTreeSet<Item>) -> R) -> R {
        body(&mut self.items.lock())
    }

    pub(crate) fn add<E>(
        &self,
        key: &[u8],
        head: &RowHead,
        _guard: &Guard,
        mut check: impl FnMut(&RowHead) -> Result<(), E>,
        publish: impl FnOnce(),
    ) -> Result<(), E> {
        self.with(|items| {
            let from = (Box::from(key), RowId(0), 0);
            for (_, _, other) in items.range(from..).take_while(|(k, ..)| **k == *key) {
                if *other != address(head) {
                    // SAFETY: heads live as long as the table, which owns this index.
                    check(unsafe { head_at(*other) })?;
                }
            }
            items.insert((Box::from(key), head.id(), address(head)));
            publish();
            Ok(())
        })
    }

    pub(crate) fn remove(
        &self,
        key: &[u8],
        head: &RowHead,
        _guard: &Guard,
        is_dead: impl FnOnce() -> bool,
    ) {
        self.with(|items| {
            if is_dead() {
                items.remove(&(Box::from(key), head.id(), address(head)));
            }
        });
    }

    pub(crate) fn find<'a>(
        &'a self,
        key: &[u8],
        _guard: &Guard,
        mut show: impl FnMut(&'a RowHead) -> ControlFlow<()>,
    ) {
        let heads: Vec<usize> = self.with(|items| {
            let from = (Box::from(key), RowId(0), 0);
            items.range(from..).take_while(|(k, ..)| **k == *key).map(|(_, _, h)| *h).collect()
        });
        for head in heads {
            // SAFETY: heads live as long as the table, which owns this index.
            if show(unsafe { head_at(head) }).is_break() {
                return;
            }
        }
    }

    pub(crate) fn walk<'a>(
        &'a self,
        bounds: Bounds<'_>,
        order: Order,
        after: Option<(&[u8], RowId)>,
        _guard: &Guard,
        batch: &mut Vec<Entry<'a>>,
    ) {
        self.with(|items| {
            let mut push = |item: &Item| {
                // SAFETY: heads live as long as the table, which owns this index.
                let head = unsafe { head_at(item.2) };
                batch.push(Entry { key: item.0.clone(), head });
            };
            let inside = |item: &&Item| bounds.contains(&item.0);
            match (order, after) {
                (Order::Forward, None) => {
                    items.iter().filter(inside).take(BATCH_MAX).for_each(&mut push);
                }
                (Order::Forward, Some((key, id))) => items
                    .range((Bound::Excluded((Box::from(key), id, usize::MAX)), Bound::Unbounded))
                    .filter(inside)
                    .take(BATCH_MAX)
                    .for_each(&mut push),
                (Order::Backward, None) => {
                    items.iter().rev().filter(inside).take(BATCH_MAX).for_each(&mut push);
                }
                (Order::Backward, Some((key, id))) => items
                    .range(..(Box::from(key), id, 0))
                    .rev()
                    .filter(inside)
                    .take(BATCH_MAX)
                    .for_each(&mut push),
            }
        });
    }

    pub(crate) fn statistics(&self) -> IndexStatistics {
        let entries = self.with(|items| items.len());
        let entries = u64::try_from(entries).unwrap_or(u64::MAX);
        IndexStatistics { buckets: entries, buckets_empty: 0, chain_max: entries.min(1), entries }
    }

    pub(crate) fn memory(&self) -> u64 {
        let bytes: usize =
            self.with(|items| items.iter().map(|i| i.0.len() + size_of::<Item>()).sum());
        u64::try_from(bytes).unwrap_or(u64::MAX)
    }
}
