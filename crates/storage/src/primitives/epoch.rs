//! Deferred freeing through `sos::epoch`: memory that has been unlinked is freed when no thread can
//! still be reading it. Under a model checker nothing is freed.

use std::ptr::NonNull;
use std::sync::Arc;

use crate::primitives::Cancel;

#[cfg(all(test, shuttle))]
pub(crate) use model::begin_run;
#[cfg(any(loom, shuttle))]
pub(crate) use model::{Guard, Published, pin};
#[cfg(not(any(loom, shuttle)))]
pub(crate) use sos::epoch::{Pin as Guard, Snapshot as Published, pin};

/// Frees a box that has just been made unreachable, once no thread can still be reading it.
///
/// # Safety
/// `pointer` came from `Box::into_raw`, is retired once, and no later pin can reach it.
pub(crate) unsafe fn retire_box<T: Send + 'static>(guard: &Guard, pointer: NonNull<T>) {
    #[cfg(not(any(loom, shuttle)))]
    // SAFETY: handed on to our caller.
    unsafe {
        sos::epoch::retire_box(guard, pointer.as_ptr());
    }
    #[cfg(any(loom, shuttle))]
    let _ = (guard, pointer);
}

/// Drops a reference count later: other threads may have found the value without counting.
pub(crate) fn retire_arc<T: Send + Sync + 'static>(guard: &Guard, counted: Arc<T>) {
    #[cfg(not(any(loom, shuttle)))]
    {
        unsafe fn release<T>(pointer: *mut ()) {
            // SAFETY: `retire_arc` took the pointer out of an Arc of T, once.
            drop(unsafe { Arc::from_raw(pointer.cast::<T>()) });
        }
        let pointer = Arc::into_raw(counted).cast_mut().cast();
        // SAFETY: a count may be given back by any thread, and this one is given back once.
        unsafe { sos::epoch::retire(guard, pointer, release::<T>, size_of::<T>()) };
    }
    #[cfg(any(loom, shuttle))]
    let _ = (guard, Arc::into_raw(counted));
}

/// Lets the calling thread free part of what it has retired.
pub(crate) fn breathe() {
    #[cfg(not(any(loom, shuttle)))]
    sos::epoch::breathe();
}

/// The pause between two checks whether older pins are still held.
#[cfg(not(any(loom, shuttle)))]
const LOOK_PAUSE: std::time::Duration = std::time::Duration::from_micros(50);

/// Why a thread waits for pins.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum PinWait {
    /// The definition of a table changes.
    Definition,
    /// A checkpoint begins, and its scan must see all writes before it.
    Checkpoint,
}

/// Waits until all pins that are held now have been dropped; returns `false` if `cancel` was set
/// first. The caller holds no pin.
#[cfg(not(any(loom, shuttle)))]
pub(crate) fn wait_for_pins(why: PinWait, cancel: Option<&Cancel>) -> bool {
    use sos::park::{Wake, sleep};
    use sos::wait::WaitType;
    let wait_type = match why {
        PinWait::Definition => WaitType::LockSchemaModify,
        PinWait::Checkpoint => WaitType::XtpCheckpoint,
    };
    sos::epoch::synchronize(|| sleep(LOOK_PAUSE, wait_type, cancel) != Wake::Cancelled)
}

/// The model's threads hold pins that end without help, so this spins until they have ended.
#[cfg(any(loom, shuttle))]
pub(crate) fn wait_for_pins(_: PinWait, _: Option<&Cancel>) -> bool {
    model::wait()
}

#[cfg(any(loom, shuttle))]
mod model {
    use std::cell::RefCell;

    use crate::primitives::sync::{AtomicPtr, Ordering};

    thread_local! {
        /// The pins of the current run of a model. One thread of the process runs a model with all
        /// its threads, so models that run at the same time do not see each other's pins. Not an
        /// atomic of `sos::sync`: the checker has nothing to explore in a list.
        static PINS: RefCell<Pins> =
            const { RefCell::new(Pins { run: 0, next: 0, held: Vec::new() }) };
    }

    struct Pins {
        run: u64,
        /// The number of the next pin.
        next: u64,
        /// The numbers of the pins that are held.
        held: Vec<u64>,
    }

    /// A pin: its run and its number.
    pub(crate) struct Guard(u64, u64);

    impl Drop for Guard {
        fn drop(&mut self) {
            let Self(run, number) = *self;
            PINS.with_borrow_mut(|pins| {
                // The threads of a run that failed may be taken down after the next has begun.
                if pins.run == run {
                    pins.held.retain(|held| *held != number);
                }
            });
        }
    }

    pub(crate) fn pin() -> Guard {
        PINS.with_borrow_mut(|pins| {
            let number = pins.next;
            pins.next += 1;
            pins.held.push(number);
            Guard(pins.run, number)
        })
    }

    pub(crate) fn wait() -> bool {
        let end = PINS.with_borrow(|pins| pins.next);
        while PINS.with_borrow(|pins| pins.held.iter().any(|held| *held < end)) {
            sos::sync::spin_hint();
        }
        true
    }

    /// Begins a run, without the pins of one that failed.
    #[cfg(all(test, shuttle))]
    pub(crate) fn begin_run() {
        PINS.with_borrow_mut(|pins| *pins = Pins { run: pins.run + 1, next: 0, held: Vec::new() });
    }

    /// As `sos::epoch::Snapshot`, but never freed.
    pub(crate) struct Published<T>(AtomicPtr<T>);

    impl<T> Published<T> {
        pub(crate) fn new(value: T) -> Self {
            Self(AtomicPtr::new(Box::into_raw(Box::new(value))))
        }

        pub(crate) fn load<'g>(&'g self, _guard: &'g Guard) -> &'g T {
            // SAFETY: made by `Box::into_raw` and never freed.
            unsafe { &*self.0.load(Ordering::Acquire) }
        }

        pub(crate) fn replace(&self, value: T) {
            self.0.store(Box::into_raw(Box::new(value)), Ordering::Release);
        }
    }
}
