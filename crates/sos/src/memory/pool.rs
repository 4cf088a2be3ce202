//! Taking and freeing extents: from the thread's own magazine, else from the depot where threads
//! exchange packs of extents, else from the units.
//!
//! ```text
//!   thread: magazine ──full: a pack──► depot ──full──► units ──trimmer──► the operating system
//!                    ◄──empty: a pack──      ◄─empty──       ◄──populate──
//! ```
//!
//! A thread that takes and frees in turn writes no shared cache line. The lock of the units is
//! taken when the depot is empty or full, and for extents larger than a unit. Only
//! [`release_idle`], which the trimmer calls, returns memory to the operating system.

use std::cell::Cell;
use std::ptr::{self, NonNull};

use super::class::{
    CLASSES, PAGE_BYTES, UNIT_BYTES, UNIT_PAGES, class_of, pages_of, pages_of_bytes, rounded,
};
use super::depot::Depot;
use super::experiment::Experiment;
use super::slices::Steps;
use super::space::{EXTENTS, MemoryModel, keep, model};
use super::unit::{Taken, Unit, Units};
use super::{MemoryClerk, budget};
use crate::lock::{Proven, SpinClass, SpinLock};
use crate::sync::{AtomicUsize, Ordering};
use crate::sys::{Paging, SysCause, populate, prefer_pages, release};
use crate::xe::events::{PAGE_ALLOCATED, PAGE_FREED};
use crate::xe::machine_events;

/// The most extents of one class that a thread keeps.
const MAGAZINE: usize = 8;
/// The most bytes of one class that a thread keeps, but at least one extent.
const MAGAZINE_BYTES: usize = 512 << 10;
/// The bytes of small extents that are taken from the units at once.
const REFILL_BYTES: usize = 64 << 10;

static UNITS: SpinLock<Units> = SpinLock::new(SpinClass::SosLargePageAllocator, Units::empty());
static DEPOTS: [Depot<Proven>; CLASSES] = [const { Depot::new() }; CLASSES];
/// The address of a table with a byte per page: the clerk of the extent that starts there.
static CLERKS: AtomicUsize = AtomicUsize::new(0);

/// Opens the pool.
///
/// # Safety
/// `table` is `count` units of zeros and `clerks` a byte per page. Only the pool uses them,
/// forever.
pub(super) unsafe fn open(table: usize, count: usize, clerks: usize) {
    let table = ptr::with_exposed_provenance_mut::<Unit>(table);
    // SAFETY: the caller's promise. There is one thread, so the lock is free.
    unsafe { UNITS.lock().open(table, count) };
    CLERKS.store(clerks, Ordering::Relaxed);
}

/// The free extents of one class that one thread keeps.
struct Magazine {
    count: Cell<usize>,
    extents: [Cell<usize>; MAGAZINE],
}

struct Rack {
    magazines: [Magazine; CLASSES],
    bytes: Cell<usize>,
    /// Whether the thread is ending, so that it keeps nothing any more.
    is_closed: Cell<bool>,
}

thread_local! {
    // No destructor: threads free memory while their locals are being destroyed.
    static RACK: Rack = const {
        Rack {
            magazines: [const {
                Magazine { count: Cell::new(0), extents: [const { Cell::new(0) }; MAGAZINE] }
            }; CLASSES],
            bytes: Cell::new(0),
            is_closed: Cell::new(false),
        }
    };
}

impl Rack {
    #[inline]
    fn take(&self, class: usize) -> Option<usize> {
        let magazine = &self.magazines[class];
        let left = magazine.count.get().checked_sub(1)?;
        magazine.count.set(left);
        self.bytes.set(self.bytes.get() - pages_of(class) * PAGE_BYTES);
        Some(magazine.extents[left].get())
    }

    /// Adds an extent; false if the magazine is full.
    #[inline]
    fn put(&self, class: usize, extent: usize) -> bool {
        let magazine = &self.magazines[class];
        let (count, size) = (magazine.count.get(), pages_of(class) * PAGE_BYTES);
        let bytes = self.bytes.get() + size;
        if count == room(class) || bytes > budget::kept_bytes() || self.is_closed.get() {
            return false;
        }
        magazine.extents[count].set(extent);
        magazine.count.set(count + 1);
        self.bytes.set(bytes);
        true
    }

    /// Empties a magazine into a list; returns the number of extents.
    fn drain(&self, class: usize, into: &mut [usize; MAGAZINE]) -> usize {
        let mut count = 0;
        while let Some(extent) = self.take(class) {
            into[count] = extent;
            count += 1;
        }
        count
    }
}

/// The number of extents of a class that a magazine holds.
const fn room(class: usize) -> usize {
    let room = MAGAZINE_BYTES / (pages_of(class) * PAGE_BYTES);
    if room > MAGAZINE {
        MAGAZINE
    } else if room == 0 {
        1
    } else {
        room
    }
}

/// An extent that was just taken.
pub(super) struct New {
    pub(super) start: NonNull<u8>,
    /// Whether it is all zero, because it has never been used.
    pub(super) is_zero: bool,
}

/// Takes an extent of at least `bytes` for a clerk; `None` if there are no addresses left.
pub(super) fn take(bytes: usize, clerk: MemoryClerk) -> Option<New> {
    if EXTENTS.bytes() == 0 || bytes > EXTENTS.bytes() {
        return None;
    }
    let pages = pages_of_bytes(bytes);
    let (address, is_zero) = if pages > UNIT_PAGES {
        budget::grow(pages.next_multiple_of(UNIT_PAGES) * PAGE_BYTES);
        let taken = UNITS.lock().take_run(pages)?;
        provide(&taken);
        (address_of(taken.page), taken.grown >= pages)
    } else {
        let class = class_of(pages.max(1));
        let found = if Experiment::AllocatorLock.is_on() {
            from_lock(class)
        } else {
            let kept = RACK.with(|rack| rack.take(class));
            kept.or_else(|| from_depot(class)).or_else(|| from_units(class))
        };
        (found?, false)
    };
    // SAFETY: the table has a byte for each page, and only the extent's owner writes this one.
    unsafe { clerk_at(address).write(clerk as u8) };
    machine_events::pages(&PAGE_ALLOCATED, address, pages, clerk);
    let start = NonNull::new(ptr::with_exposed_provenance_mut(address))?;
    Some(New { start, is_zero })
}

/// Whether an address is in an extent.
#[inline]
pub(super) fn has(address: usize) -> bool {
    EXTENTS.has(address)
}

/// The clerk that an extent was taken for.
///
/// # Safety
/// The extent is taken.
pub(super) unsafe fn clerk_of(address: usize) -> MemoryClerk {
    // SAFETY: the caller's promise: `take` wrote it.
    let index = unsafe { clerk_at(address).read() };
    MemoryClerk::ALL[usize::from(index) % MemoryClerk::COUNT]
}

fn clerk_at(address: usize) -> *mut u8 {
    let page = (address - EXTENTS.start()) / PAGE_BYTES;
    ptr::with_exposed_provenance_mut(CLERKS.load(Ordering::Relaxed) + page)
}

/// Frees an extent that was taken with this size.
///
/// # Safety
/// The extent is not used any more.
pub(super) unsafe fn give(address: usize, bytes: usize) {
    let pages = pages_of_bytes(bytes);
    // SAFETY: the extent is taken until it is freed below.
    machine_events::pages(&PAGE_FREED, address, pages, unsafe { clerk_of(address) });
    if pages > UNIT_PAGES {
        UNITS.lock().give_run(page_of(address), pages);
        return;
    }
    let class = class_of(pages.max(1));
    if Experiment::AllocatorLock.is_on() {
        give_all(class, &[address]);
    } else if !RACK.with(|rack| rack.put(class, address)) {
        hand_over(class, address);
    }
}

/// Passes the contents of a full magazine, and one extent more, on to the depot or the units.
#[cold]
fn hand_over(class: usize, extent: usize) {
    let mut list = [0; MAGAZINE];
    let count = RACK.with(|rack| rack.drain(class, &mut list));
    if count > 0 {
        // When memory is short, free extents go to the units, where every thread finds them.
        let is_kept = !budget::is_short() && {
            // SAFETY: these extents are free, and only this thread has them.
            let pack = unsafe { write_pack(&list[..count]) };
            DEPOTS[class].put(pack)
        };
        if !is_kept {
            give_all(class, &list[..count]);
        }
    }
    if !RACK.with(|rack| rack.put(class, extent)) {
        give_all(class, &[extent]);
    }
}

fn give_all(class: usize, extents: &[usize]) {
    let mut units = UNITS.lock();
    for &extent in extents {
        units.give_slot(page_of(extent), class);
    }
}

#[cold]
fn from_depot(class: usize) -> Option<usize> {
    let pack = DEPOTS[class].take()?;
    let mut list = [0; MAGAZINE];
    // SAFETY: a thread that takes a pack out of a depot owns it.
    let count = unsafe { read_pack(pack, &mut list) };
    for &extent in &list[1..count] {
        if !RACK.with(|rack| rack.put(class, extent)) {
            give_all(class, &[extent]);
        }
    }
    Some(list[0])
}

/// Makes a pack: writes the addresses of some free extents into the first of them.
///
/// # Safety
/// They are free, and only the caller has them.
unsafe fn write_pack(extents: &[usize]) -> usize {
    let words = ptr::with_exposed_provenance_mut::<[usize; MAGAZINE]>(extents[0]);
    let mut list = [0; MAGAZINE];
    list[..extents.len()].copy_from_slice(extents);
    // SAFETY: the extent is populated, larger than the list, and aligned.
    unsafe { words.write(list) };
    extents[0]
}

/// Reads a pack; returns the number of its extents.
///
/// # Safety
/// The caller owns the pack.
unsafe fn read_pack(pack: usize, list: &mut [usize; MAGAZINE]) -> usize {
    let words = ptr::with_exposed_provenance::<[usize; MAGAZINE]>(pack);
    // SAFETY: `write_pack` wrote it.
    *list = unsafe { words.read() };
    list.iter().take_while(|&&extent| extent != 0).count()
}

#[cold]
fn from_units(class: usize) -> Option<usize> {
    let size = pages_of(class) * PAGE_BYTES;
    let is_short = budget::is_short();
    let wanted = if is_short { 1 } else { (REFILL_BYTES / size).clamp(1, room(class)) };
    budget::grow(wanted * size);
    let mut taken = [None; MAGAZINE];
    {
        let mut units = UNITS.lock();
        for place in &mut taken[..wanted] {
            *place = units.take_slot(class, is_short);
        }
    }
    let mut first = None;
    for slot in taken.iter().flatten() {
        provide(slot);
        let extent = address_of(slot.page);
        if first.is_none() {
            first = Some(extent);
        } else if !RACK.with(|rack| rack.put(class, extent)) {
            give_all(class, &[extent]);
        }
    }
    first
}

/// Takes one extent under the lock alone, without magazine and depot:
/// [`Experiment::AllocatorLock`].
#[cold]
fn from_lock(class: usize) -> Option<usize> {
    // A separate statement, so that the lock is released before the next call.
    let taken = UNITS.lock().take_slot(class, false)?;
    provide(&taken);
    Some(address_of(taken.page))
}

/// Takes one page under the lock, and populates it even if it is already:
/// [`Experiment::PagePerHash`].
pub(super) fn take_bare_page() -> Option<usize> {
    let address = from_lock(0)?;
    if model() == MemoryModel::Conventional {
        populate(address, PAGE_BYTES, keep());
    }
    machine_events::pages(&PAGE_ALLOCATED, address, 1, MemoryClerk::QueryExec);
    Some(address)
}

/// Frees a page of [`take_bare_page`], and returns its memory to the system unless memory is
/// locked. The next thread that takes the page in the usual way takes the page fault.
///
/// # Safety
/// The page is not used any more.
pub(super) unsafe fn give_bare_page(address: usize) {
    machine_events::pages(&PAGE_FREED, address, 1, MemoryClerk::QueryExec);
    if model() == MemoryModel::Conventional {
        // SAFETY: the caller's promise.
        unsafe { release(address, PAGE_BYTES) };
    }
    give_all(0, &[address]);
}

/// Populates what was taken. Without the lock, since it may take long.
fn provide(taken: &Taken) {
    let (page, pages) = taken.missing;
    if taken.is_apart {
        // Otherwise the first touch populates the whole unit, which our counters do not include.
        prefer_pages(SysCause::PagePopulate, unit_of(page), UNIT_BYTES, Paging::Small);
    }
    if pages > 0 {
        EXTENTS.note_populated(taken.grown * PAGE_BYTES);
        populate(address_of(page), pages * PAGE_BYTES, keep());
    }
    if taken.is_whole {
        prefer_pages(SysCause::PagePopulate, unit_of(page), UNIT_BYTES, Paging::Huge);
    } else if taken.is_apart {
        UNITS.lock().note_kernel_knows(page);
    }
}

/// The start of the unit of a page.
fn unit_of(page: usize) -> usize {
    address_of(page - page % UNIT_PAGES)
}

fn address_of(page: usize) -> usize {
    EXTENTS.start() + page * PAGE_BYTES
}

fn page_of(address: usize) -> usize {
    (address - EXTENTS.start()) / PAGE_BYTES
}

/// Frees the extents in the calling thread's magazines.
pub(super) fn flush() {
    if EXTENTS.bytes() == 0 {
        return;
    }
    for class in 0..CLASSES {
        let mut list = [0; MAGAZINE];
        let count = RACK.with(|rack| rack.drain(class, &mut list));
        if count > 0 {
            give_all(class, &list[..count]);
        }
    }
}

/// As [`flush`], and from now on the calling thread keeps nothing: extents that it frees with its
/// thread-locals and its account would be lost with its magazines.
pub(super) fn close() {
    flush();
    RACK.with(|rack| rack.is_closed.set(true));
}

/// Moves the extents in the depots back to the units, so that whole units become free.
pub(super) fn empty_depots() {
    for (class, depot) in DEPOTS.iter().enumerate() {
        while let Some(pack) = depot.take() {
            let mut list = [0; MAGAZINE];
            // SAFETY: a thread that takes a pack out of a depot owns it.
            let count = unsafe { read_pack(pack, &mut list) };
            give_all(class, &list[..count]);
        }
    }
}

/// Chooses how units are populated from now on.
pub(super) fn set_steps(steps: Steps) {
    if EXTENTS.bytes() > 0 {
        UNITS.lock().set_steps(steps);
    }
}

/// Bytes that are populated and free and may be returned to the system.
pub(super) fn idle_bytes() -> u64 {
    (UNITS.lock().idle_pages() * PAGE_BYTES) as u64
}

/// Returns the free memory of the highest unit below `below` that has some, at most `most` bytes,
/// to the operating system. Sets `below` to where to continue; returns the number of bytes.
pub(super) fn release_idle(below: &mut usize, most: u64) -> u64 {
    let pages = usize::try_from(most).unwrap_or(usize::MAX) / PAGE_BYTES;
    let idle = loop {
        // A separate statement, so that the lock is released before the next call.
        let found = UNITS.lock().take_idle(below, pages);
        match found {
            Some(idle) => break idle,
            None if *below == 0 => return 0,
            None => {}
        }
    };
    let start = unit_of(idle.page);
    if idle.is_first {
        // Otherwise the kernel would collapse it into a huge page again, which also populates
        // pages that our counters have as free.
        prefer_pages(SysCause::MemoryDecommit, start, UNIT_BYTES, Paging::Small);
    }
    for (first, pages) in idle.pages.runs() {
        // SAFETY: only the trimmer has these pages until it gives them back.
        unsafe { release(start + first * PAGE_BYTES, pages * PAGE_BYTES) };
    }
    if idle.is_last {
        prefer_pages(SysCause::MemoryDecommit, start, UNIT_BYTES, Paging::Huge);
    }
    let bytes = idle.pages.count() * PAGE_BYTES;
    EXTENTS.note_released(bytes);
    UNITS.lock().give_idle(&idle);
    bytes as u64
}

/// The size of the extent that holds `bytes`.
pub(super) const fn taken_bytes(bytes: usize) -> usize {
    rounded(bytes)
}
