//! Starts threads, each with a name and an account in the ledger that is closed when it ends; and
//! contains panics.

use std::any::Any;
use std::io;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::thread::{Builder, JoinHandle};

use crate::ledger::{self, Accounts, Room, State};
use crate::memory;
#[cfg(not(any(loom, shuttle)))]
use crate::stack;
use crate::sync::Arc;
use crate::sys::{self, SysCause};
use crate::wait::WaitType;

/// The stack size of every thread, in bytes of address space. Pages become memory when a request
/// uses them and are returned when it ends ([`crate::stack`]). Frames of unoptimised code are about
/// four times as large.
pub const STACK_BYTES: usize = if cfg!(debug_assertions) { 256 << 20 } else { 64 << 20 };

/// Starts a thread whose ledger account is part of `accounts`, also after it has ended.
pub fn spawn(
    accounts: &Arc<Accounts>,
    name: &str,
    run: impl FnOnce() + Send + 'static,
) -> io::Result<JoinHandle<()>> {
    let accounts = Arc::clone(accounts);
    let account_name = name.to_owned();
    let room = Room::new();
    let body = move || {
        #[cfg(not(any(loom, shuttle)))]
        stack::started(STACK_BYTES);
        ledger::run_thread(&accounts, &account_name, room, || {
            #[cfg(census)]
            census::enter(census::Domain::Background);
            let _stack = memory::StackPlace::take();
            run();
        });
    };
    let builder = Builder::new().name(name.to_owned()).stack_size(STACK_BYTES);
    sys::call(SysCause::Thread, || builder.spawn(body))
}

/// Waits until a thread has ended.
pub(crate) fn join(handle: JoinHandle<()>) {
    let before = ledger::to(State::Wait(WaitType::Shutdown));
    // The body contains panics, so the result says nothing.
    let _ = handle.join();
    ledger::to(before);
}

/// Runs a closure whose panic must not end the thread; the panic's message is the error.
pub fn contain<R>(run: impl FnOnce() -> R) -> Result<R, String> {
    // The callers' values are dropped on error, or guarded by locks that stop the process.
    catch_unwind(AssertUnwindSafe(run)).map_err(|payload| message(payload.as_ref()))
}

fn message(payload: &(dyn Any + Send)) -> String {
    let text = payload.downcast_ref::<&str>().map(|text| (*text).to_owned());
    text.or_else(|| payload.downcast_ref::<String>().cloned())
        .unwrap_or_else(|| "a panic without a message".to_owned())
}
