//! `Cancel`: the flag that ends a request early, whether it is running (it polls the flag) or
//! waiting (it is woken). KILL, attentions and timeouts set it.

use crate::clock;
use crate::lock::{SpinClass, SpinLock};
use crate::park::Waiter;
use crate::sync::{Arc, AtomicBool, Ordering, fence};
use crate::sys::EventFd;

/// A request's cancellation flag; shared by the session, its connection's interrupt handler and
/// every worker of the request.
#[derive(Debug)]
pub struct Cancel {
    set: AtomicBool,
    waiting: SpinLock<Vec<Listener>>,
}

/// A waiting thread to wake when the flag is set.
#[derive(Clone, Debug)]
pub(crate) enum Listener {
    /// A thread in the parking lot.
    Parked(Arc<Waiter>),
    /// A thread in poll(2).
    Polling(Arc<EventFd>),
    /// The flag of a part of the request, which is set with it.
    Part(Arc<Cancel>),
}

impl Listener {
    fn is(&self, other: &Self) -> bool {
        match (self, other) {
            (Self::Parked(a), Self::Parked(b)) => Arc::ptr_eq(a, b),
            (Self::Polling(a), Self::Polling(b)) => Arc::ptr_eq(a, b),
            (Self::Part(a), Self::Part(b)) => Arc::ptr_eq(a, b),
            (Self::Parked(_), Self::Polling(_) | Self::Part(_))
            | (Self::Polling(_), Self::Parked(_) | Self::Part(_))
            | (Self::Part(_), Self::Parked(_) | Self::Polling(_)) => false,
        }
    }

    fn wake(&self) {
        match self {
            Self::Parked(waiter) => {
                waiter.end(Waiter::CANCELLED, clock::now_ticks());
            }
            Self::Polling(event) => event.signal(),
            Self::Part(part) => part.set(),
        }
    }
}

impl Cancel {
    /// Makes a flag that is not set.
    #[must_use]
    pub const fn new() -> Self {
        Self {
            set: AtomicBool::new(false),
            waiting: SpinLock::new(SpinClass::SosCancel, Vec::new()),
        }
    }

    /// Whether the request must end: one load of a line that only a cancellation writes.
    #[inline]
    #[must_use]
    pub fn is_set(&self) -> bool {
        // Acquire: pairs with the Release in `set`, so that the reason written before it is seen.
        self.set.load(Ordering::Acquire)
    }

    /// Ends the request: sets the flag and wakes the threads that wait on its behalf.
    pub fn set(&self) {
        self.set.store(true, Ordering::Release);
        // SeqCst: pairs with the fence in `listen`: one of the two sides sees the other.
        fence(Ordering::SeqCst);
        let listeners = self.waiting.lock().clone();
        for listener in listeners {
            listener.wake();
        }
    }

    /// Clears the flag, before the next request of the session.
    pub fn clear(&self) {
        self.set.store(false, Ordering::Relaxed);
    }

    /// Registers a waiting thread; wakes it at once if the flag is set already.
    pub(crate) fn listen(&self, listener: Listener) -> Listening<'_> {
        self.waiting.lock().push(listener.clone());
        // SeqCst: pairs with the fence in `set`.
        fence(Ordering::SeqCst);
        if self.is_set() {
            listener.wake();
        }
        Listening { cancel: self, listener }
    }
}

impl Default for Cancel {
    fn default() -> Self {
        Self::new()
    }
}

/// A registration with a [`Cancel`], for the length of one wait.
#[derive(Debug)]
pub(crate) struct Listening<'a> {
    cancel: &'a Cancel,
    listener: Listener,
}

impl Drop for Listening<'_> {
    fn drop(&mut self) {
        self.cancel.waiting.lock().retain(|other| !other.is(&self.listener));
    }
}
