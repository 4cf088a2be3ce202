//! The calling thread's part in the process's domain: its pins, and the bag of what it has retired.

use std::cell::{Cell, RefCell};
use std::marker::PhantomData;

use super::bag::Bag;
use super::domain::{Domain, Epoch, Slot};
use crate::lock::{Proven, SpinClass, SpinLock};
use crate::sync::{Arc, AtomicUsize, Ordering};

/// Retired items after which a thread tries to free some.
const BAG_ITEMS_MAX: usize = if cfg!(test) { 4 } else { 64 };
/// Retired bytes after which a thread tries to free some.
const BAG_BYTES_MAX: usize = 1 << 20;

static DOMAIN: Domain<Proven> = Domain::new();
/// Retired items of threads that have ended or wait.
static ORPHANS: SpinLock<Bag<Retired>> = SpinLock::new(SpinClass::SosEpoch, Bag::new());
/// How many of them there are, so that a thread takes the lock only if there is one. Those that a thread looks
/// at without the lock count.
static ORPHAN_COUNT: AtomicUsize = AtomicUsize::new(0);

/// An unlinked item, and how to free it.
struct Retired {
    tag: Epoch,
    bytes: usize,
    pointer: *mut (),
    drop: unsafe fn(*mut ()),
}

// SAFETY: `retire` asks for items that any thread may drop.
unsafe impl Send for Retired {}

struct Local {
    slot: Arc<Slot>,
    /// Pins, plus one while a worker serves requests.
    depth: Cell<u32>,
    /// Whether one of the pins is the worker's own.
    serving: Cell<bool>,
    bag: RefCell<Bag<Retired>>,
    bag_bytes: Cell<usize>,
    /// The sizes of the bag at which to try again: an attempt that frees nothing, because a thread
    /// holds a pin for long, must not be repeated with every request.
    items_due: Cell<usize>,
    bytes_due: Cell<usize>,
}

impl Local {
    fn new() -> Self {
        Self {
            slot: DOMAIN.join(),
            depth: Cell::new(0),
            serving: Cell::new(false),
            bag: RefCell::new(Bag::new()),
            bag_bytes: Cell::new(0),
            items_due: Cell::new(BAG_ITEMS_MAX),
            bytes_due: Cell::new(BAG_BYTES_MAX),
        }
    }

    #[inline]
    fn pin(&self) {
        let depth = self.depth.get();
        if depth == 0 {
            DOMAIN.online(&self.slot);
        }
        self.depth.set(depth + 1);
    }

    #[inline]
    fn unpin(&self) {
        let depth = self.depth.get();
        if depth == 1 {
            self.outermost_unpin();
        }
        self.depth.set(depth - 1);
    }

    #[cold]
    fn outermost_unpin(&self) {
        if self.is_bag_full() {
            self.collect();
        }
        DOMAIN.offline(&self.slot);
    }

    fn is_bag_full(&self) -> bool {
        self.bag_bytes.get() >= self.bytes_due.get()
            || self.bag.borrow().len() >= self.items_due.get()
    }

    /// Frees the items that can be freed; the thread must hold no pointer but may be online.
    #[cold]
    fn collect(&self) {
        DOMAIN.quiescent(&self.slot);
        // Others may have moved the epoch far enough; each move costs every thread a cache miss.
        if !self.free_due() && DOMAIN.advance() {
            DOMAIN.quiescent(&self.slot);
            self.free_due();
        }
        free_orphans();
        self.items_due.set(self.bag.borrow().len() + BAG_ITEMS_MAX);
        self.bytes_due.set(self.bag_bytes.get() + BAG_BYTES_MAX);
    }

    /// Frees what can be freed of the bag, item by item: a list of them would be memory that is taken
    /// where some is to be given back. Returns whether there was an item.
    fn free_due(&self) -> bool {
        let mut is_any = false;
        loop {
            // Destructors may pin and retire: the bag is not borrowed while one runs.
            let due = self.bag.borrow_mut().pop_if(|item| DOMAIN.is_free(item.tag));
            let Some(item) = due else { return is_any };
            self.bag_bytes.set(self.bag_bytes.get().saturating_sub(item.bytes));
            free(item);
            is_any = true;
        }
    }

    /// Moves the bag to the orphans, for the next thread that collects.
    fn abandon_bag(&self) {
        let mut bag = self.bag.borrow_mut();
        self.bag_bytes.set(0);
        if bag.len() == 0 {
            return;
        }
        let mut orphans = ORPHANS.lock();
        ORPHAN_COUNT.fetch_add(bag.len(), Ordering::Relaxed);
        orphans.append(&mut bag);
    }
}

fn free(item: Retired) {
    // SAFETY: `retire` promised that `drop` may be called with `pointer` once no thread can see it, and
    // the epoch proves that none can.
    unsafe { (item.drop)(item.pointer) };
}

/// Frees the orphans that can be freed.
fn free_orphans() {
    // Relaxed: a stale count only delays freeing.
    if ORPHAN_COUNT.load(Ordering::Relaxed) == 0 {
        return;
    }
    let Some(mut orphans) = ORPHANS.try_lock() else {
        return;
    };
    let mut looked_at = std::mem::replace(&mut *orphans, Bag::new());
    drop(orphans);
    // They are those of several threads, and so not in the order of their epochs.
    let (mut left, mut freed) = (Bag::new(), 0);
    while let Some(item) = looked_at.pop_if(|_| true) {
        if DOMAIN.is_free(item.tag) {
            free(item);
            freed += 1;
        } else {
            left.push(item);
        }
    }
    if left.len() > 0 {
        ORPHANS.lock().append(&mut left);
    }
    ORPHAN_COUNT.fetch_sub(freed, Ordering::Relaxed);
}

impl Drop for Local {
    fn drop(&mut self) {
        self.abandon_bag();
        DOMAIN.offline(&self.slot);
        DOMAIN.part(&self.slot);
    }
}

thread_local! {
    static LOCAL: Local = Local::new();
}

/// Proof that this thread is inside a read-side section: what it reads from shared pointers now
/// stays valid until the pin is dropped.
#[derive(Debug)]
pub struct Pin {
    /// The section belongs to the thread.
    not_send: PhantomData<*const ()>,
}

/// Enters a read-side section. Inside a worker's request this is one thread-local increment.
#[inline]
#[must_use]
pub fn pin() -> Pin {
    LOCAL.with(Local::pin);
    Pin { not_send: PhantomData }
}

impl Drop for Pin {
    #[inline]
    fn drop(&mut self) {
        LOCAL.with(Local::unpin);
    }
}

/// Defers the freeing of an item that this thread has just made unreachable for new readers: calls
/// `drop` with `pointer` once no thread can hold it any more. `bytes` is the size of the memory
/// that waits for that.
///
/// # Safety
/// `pointer` is unreachable for readers that pin after this call, is retired once, and may be
/// dropped by any thread.
#[inline]
pub unsafe fn retire(_pin: &Pin, pointer: *mut (), drop: unsafe fn(*mut ()), bytes: usize) {
    LOCAL.with(|local| {
        let tag = DOMAIN.tag(&local.slot);
        local.bag.borrow_mut().push(Retired { tag, bytes, pointer, drop });
        local.bag_bytes.set(local.bag_bytes.get() + bytes);
    });
}

/// Defers the freeing of a box; see [`retire`].
///
/// # Safety
/// `pointer` came from `Box::into_raw`; for the rest see [`retire`].
pub unsafe fn retire_box<T: Send + 'static>(pin: &Pin, pointer: *mut T) {
    unsafe fn drop_box<T>(pointer: *mut ()) {
        // SAFETY: the caller of `retire_box` promised that this came from a box of T.
        drop(unsafe { Box::from_raw(pointer.cast::<T>()) });
    }
    // SAFETY: our caller gives the same promises.
    unsafe { retire(pin, pointer.cast(), drop_box::<T>, size_of::<T>()) };
}

/// How many retired items of this thread and of ended threads wait to be freed.
#[must_use]
pub fn pending() -> usize {
    LOCAL.with(|local| local.bag.borrow().len()) + ORPHAN_COUNT.load(Ordering::Relaxed)
}

/// Frees what can be freed now; does nothing while this thread is pinned. Needs up to three calls,
/// with every other online thread passing a quiescent point in between, to free everything.
pub fn collect() {
    LOCAL.with(|local| {
        if local.depth.get() == 0 {
            local.pin();
            local.collect();
            local.unpin();
        }
    });
}

/// Frees what can be freed in the midst of work that retires much: as [`collect`], but also within
/// a worker's request, if that holds no pin.
pub fn breathe() {
    LOCAL.with(|local| {
        if local.depth.get() == u32::from(local.serving.get()) {
            local.pin();
            local.collect();
            local.unpin();
        }
    });
}

/// Waits until every read-side section that is open now has ended, and every worker has passed a
/// quiescent point or waits without a pin: a thread that pins afterwards sees what was written
/// before the call. `rest` lets time pass between two checks; if it returns `false`, the wait is
/// given up and `false` returned. The caller holds no pin.
pub fn synchronize(mut rest: impl FnMut() -> bool) -> bool {
    LOCAL.with(|local| {
        let tag = {
            let _pin = pin();
            DOMAIN.tag(&local.slot)
        };
        debug_assert!(
            local.depth.get() == u32::from(local.serving.get()),
            "a pin of one's own never ends"
        );
        while !DOMAIN.is_free(tag) {
            if local.serving.get() {
                DOMAIN.quiescent(&local.slot);
            }
            if !DOMAIN.advance() && !rest() {
                return false;
            }
        }
        true
    })
}

/// A worker starts to serve requests.
pub(crate) fn enter() {
    LOCAL.with(|local| {
        debug_assert!(!local.serving.get(), "a worker enters once");
        local.pin();
        local.serving.set(true);
    });
}

/// A worker stops serving, to block in its poller or to end.
pub(crate) fn leave() {
    LOCAL.with(|local| {
        debug_assert!(local.serving.get(), "a worker leaves once");
        local.serving.set(false);
        local.unpin();
    });
}

/// A worker is between two requests.
#[inline]
pub(crate) fn quiescent() {
    LOCAL.with(|local| {
        if local.depth.get() != 1 {
            return;
        }
        DOMAIN.quiescent(&local.slot);
        if local.is_bag_full() {
            local.collect();
        }
    });
}

/// A worker that is offline while it waits inside a request that holds no pin; online when dropped.
#[derive(Debug)]
pub(crate) struct Suspended {
    offline: bool,
}

/// Takes the worker out of the epoch for the length of a wait, unless its request holds a pin. As with
/// [`step_aside`], the thread must not pin until the result is dropped.
pub(crate) fn suspend() -> Suspended {
    LOCAL.with(|local| {
        let offline = local.depth.get() == 1 && local.serving.get();
        local.abandon_bag();
        if offline {
            DOMAIN.offline(&local.slot);
        }
        Suspended { offline }
    })
}

/// Takes the worker out of the epoch while it offers its scheduler to others at the end of a quantum, unless its request
/// holds a pin. Otherwise a request that neither ends nor waits would hold back, for good, what is to be freed and who waits
/// for pins: a checkpoint, a change of a definition, the first row lock of a table. Until the result is dropped, the
/// thread must not pin: that would be an increment and no protection.
pub(crate) fn step_aside() -> Suspended {
    LOCAL.with(|local| {
        let offline = local.depth.get() == 1 && local.serving.get();
        if offline {
            DOMAIN.offline(&local.slot);
        }
        Suspended { offline }
    })
}

impl Drop for Suspended {
    fn drop(&mut self) {
        if self.offline {
            LOCAL.with(|local| DOMAIN.online(&local.slot));
        }
    }
}
