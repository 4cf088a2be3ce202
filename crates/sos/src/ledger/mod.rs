//! The ledger: one single-writer account per thread, and the registry that folds them for readers.
//!
//! A thread changes its state with [`to`], which reads the clock, only where that is affordable: at
//! waits, slow paths of locks, system calls and statement edges. Sub-phases are labels: one relaxed
//! store, whose shares of the running time come from the one request in 64 that is fully timed.
//! Nobody but the owner ever writes an account, so no counter is a shared write; readers tolerate
//! being one event behind.
//!
//! ```text
//!   recv ─► running (label: parse, bind, row ..) ─► send ─► turn ─► recv ..
//!        edge                                   edge    edge
//! ```
//!
//! The usual request has three edges: the end of its receive, the begin and the end of its send.

mod account;
mod accounts;
mod clear;
mod counter;
mod fold;
mod growth;
mod rows;
mod sample;
mod sampled;
mod session;
mod spent;
mod state;
mod switched;
mod watch;
mod whole;

use std::cell::{Cell, RefCell};

pub use account::Account;
pub(crate) use account::Room;
pub use accounts::{Accounts, LatchRow, SpinRow};
pub use clear::Statistics;
pub use counter::Counter;
pub use fold::{Category, Closure, Ledger, LedgerRow, ThreadLedger};
pub use session::SessionBooks;
pub use spent::Spent;
pub use state::{Label, State};
pub use watch::{Source, SourceChoice};

use watch::Watch;

use crate::memory;
use crate::sync::{Arc, OnceLock, Weak};
use crate::sys::SysCause;
use crate::wait::WaitType;
use crate::xe::Emitter;

thread_local! {
    /// A raw pointer, so that the usual access is one load without a destructor check.
    static CURRENT: Cell<*const Account> = const { Cell::new(std::ptr::null()) };
}

/// Books a wait of what waits without a thread, such as a connection whose answer is due later; the
/// thread that goes on with it calls this. `ticks` are those of [`crate::clock`].
pub fn book_wait(wait_type: WaitType, ticks: u64) {
    with_current(|account| account.book_wait(wait_type, ticks, 0));
}

/// Runs `f` on the calling thread's account, opening one if the thread has none yet.
#[inline]
pub fn with_current<R>(f: impl FnOnce(&Account) -> R) -> R {
    let current = current();
    // SAFETY: `install`'s caller keeps the account until `forget` has replaced the pointer, which
    // happens at the end of the thread, or with the older account kept for who uses it still.
    f(unsafe { &*current })
}

/// As [`with_current`], but opens no account for a thread that has none: for what the allocator
/// calls.
#[inline]
pub(crate) fn if_open(f: impl FnOnce(&Account)) {
    // SAFETY: as in `with_current`.
    if let Some(account) = unsafe { CURRENT.get().as_ref() } {
        f(account);
    }
}

#[inline]
fn current() -> *const Account {
    let current = CURRENT.get();
    if current.is_null() { open_one() } else { current }
}

#[cold]
fn open_one() -> *const Account {
    // Opening an account makes system calls, which are booked too.
    CURRENT.set(std::ptr::from_ref(afterlife()));
    let name = std::thread::current().name().unwrap_or("foreign").to_owned();
    let (number, watch) = (Account::next_number(), Watch::open(Source::WallOnly));
    let account = Arc::new(Account::with(number, &name, watch, None, Emitter::new(None, number)));
    keep(&account, Weak::new());
    CURRENT.get()
}

/// Where threads book what they do before their accounts are open, and after they are closed: in
/// destructors of their locals. Several may write at once, and then lose counts.
fn afterlife() -> &'static Account {
    static AFTERLIFE: OnceLock<Account> = OnceLock::new();
    AFTERLIFE.get_or_init(|| {
        let name = "threads without an account";
        Account::with(u32::MAX, name, Watch::blind(), None, Emitter::default())
    })
}

/// Makes `account` the calling thread's own.
///
/// # Safety
/// The account outlives the thread, or what makes its pointer forgotten: [`forget`].
unsafe fn install(account: &Account) {
    CURRENT.set(std::ptr::from_ref(account));
    crate::lock::set_thread_number(account.number());
    crate::stack::register();
}

/// Closes the calling thread's account, so that nothing refers to it any more.
fn forget() {
    let after = afterlife();
    let current = CURRENT.replace(std::ptr::from_ref(after));
    // SAFETY: whoever installed the account calls this before it gives it up.
    if let Some(account) = unsafe { current.as_ref() } {
        account.finish();
    }
}

/// Runs a thread's body with an account, which is part of `accounts` until and after its end.
pub(crate) fn run_thread(accounts: &Accounts, name: &str, room: Room, body: impl FnOnce()) {
    CURRENT.set(std::ptr::from_ref(afterlife()));
    let account = accounts.open(name, room);
    // SAFETY: the account lives to the end of this function, which forgets it; `body` and what it
    // calls are the only ones that use it, and the thread's locals are destroyed later.
    unsafe { install(&account) };
    body();
    forget();
    accounts.end(&account);
    // Behind the last of what this thread frees, but for its locals.
    drop(account);
    memory::close();
}

/// Accounts of a thread that was not started here; closed when it ends. There may be several, one
/// for each machine that took the thread in: an earlier one may still be in use further up the
/// stack.
struct Kept(RefCell<Vec<(Arc<Account>, Weak<Accounts>)>>);

impl Kept {
    /// Ends the accounts in the books that they are part of.
    fn end(&self) {
        for (account, accounts) in &*self.0.borrow() {
            if let Some(accounts) = accounts.upgrade() {
                accounts.end(account);
            }
        }
    }
}

impl Drop for Kept {
    fn drop(&mut self) {
        forget();
        self.end();
        memory::close();
    }
}

thread_local! {
    static KEPT: Kept = const { Kept(RefCell::new(Vec::new())) };
}

/// Installs an account on a thread that was not started here, and keeps it until the thread ends.
fn keep(account: &Arc<Account>, accounts: Weak<Accounts>) {
    let kept = KEPT.try_with(|kept| {
        forget();
        kept.end();
        kept.0.borrow_mut().push((Arc::clone(account), accounts));
    });
    if kept.is_ok() {
        // SAFETY: kept until the thread's locals are destroyed, which begins with forgetting it.
        unsafe { install(account) };
    } else {
        CURRENT.set(std::ptr::from_ref(afterlife()));
    }
}

/// Whether this build leaves transitions, labels and timing out, to measure what they cost.
const IS_OFF: bool = cfg!(feature = "ledger-off");

/// Moves the calling thread to a state and returns the one it was in. Reads the clock.
pub fn to(state: State) -> State {
    if IS_OFF {
        return state;
    }
    with_current(|account| account.to(state))
}

/// Says what the calling thread is busy with: one relaxed store, and in a timed request one clock
/// read.
#[inline]
pub fn label(label: Label) {
    if !IS_OFF {
        with_current(|account| account.set_label(label as u32));
    }
}

/// Says what the calling thread is busy with until the guard is dropped.
#[inline]
pub fn labelled(label: Label) -> LabelGuard {
    if IS_OFF {
        return LabelGuard { account: std::ptr::null(), before: 0 };
    }
    with_current(|account| LabelGuard { account, before: account.set_label(label as u32) })
}

/// Restores the label that was there before.
#[derive(Debug)]
#[must_use]
pub struct LabelGuard {
    /// The thread's, which is not looked up again.
    account: *const Account,
    /// As the account has it: a label's number, which nobody needs to look up.
    before: u32,
}

impl Drop for LabelGuard {
    #[inline]
    fn drop(&mut self) {
        if !IS_OFF {
            // SAFETY: as in `with_current`; a guard stays on its thread.
            unsafe { &*self.account }.set_label(self.before);
        }
    }
}

/// Serves one request: from the end of its receive to the end of its last send. What it spends and
/// waits for is booked on `books` as well.
#[inline]
pub fn request<R>(books: Option<&SessionBooks>, serve: impl FnOnce() -> R) -> R {
    if IS_OFF && books.is_none() {
        return serve();
    }
    // SAFETY: as in `with_current`; whoever serves returns to this thread, and here.
    let account = unsafe { &*current() };
    account.emitter().begin_activity(account.last_edge());
    let _serving = Serving {
        account,
        books,
        outer: account.set_session(books.map_or(std::ptr::null(), std::ptr::from_ref)),
        begin: account.booked(),
    };
    serve()
}

/// A request that is being served; ended when dropped, so that a panic ends it too.
struct Serving<'a> {
    account: &'a Account,
    books: Option<&'a SessionBooks>,
    outer: *const SessionBooks,
    begin: Spent,
}

impl Drop for Serving<'_> {
    #[inline]
    fn drop(&mut self) {
        let account = self.account;
        if IS_OFF {
            account.set_session(self.outer);
            return;
        }
        if let Some(books) = self.books {
            books.add(&account.booked().since(&self.begin));
        }
        account.set_session(self.outer);
        account.end_request();
    }
}

/// A task has returned to the scheduler's loop.
#[inline]
pub(crate) fn task_returned() {
    if !IS_OFF {
        with_current(Account::leave_running);
    }
}

/// A long request enters its next part, which is timed or not as a request is.
pub(crate) fn next_part() {
    if !IS_OFF {
        with_current(Account::next_part);
    }
}

/// Whether the calling thread's present request is fully timed: one in 64 is.
#[inline]
#[must_use]
pub fn is_timed() -> bool {
    !IS_OFF && with_current(Account::is_timed)
}

/// What the calling thread has spent so far, the stay in progress included. Reads the clock.
#[must_use]
pub fn spent() -> Spent {
    if IS_OFF {
        return Spent::default();
    }
    with_current(Account::spent)
}

/// What the calling thread had spent at its last edge: no clock read.
#[inline]
#[must_use]
pub fn spent_at_edge() -> Spent {
    if IS_OFF {
        return Spent::default();
    }
    with_current(Account::booked)
}

/// The ticks of the calling thread's last edge: the time of day without another clock read, as
/// exact as the begin or the end of a request.
#[inline]
#[must_use]
pub fn now_at_edge() -> u64 {
    if IS_OFF {
        return crate::clock::now_ticks();
    }
    with_current(Account::last_edge)
}

/// Runs a system call in the state of its cause.
#[inline]
pub(crate) fn call<R>(cause: SysCause, call: impl FnOnce() -> R) -> R {
    if IS_OFF {
        return call();
    }
    with_current(|account| account.call(cause, call))
}

/// Says which statement the calling thread runs, by a number of the caller's choice; 0 for none.
/// One relaxed store.
#[inline]
pub fn set_statement(statement: u64) {
    if !IS_OFF {
        with_current(|account| account.set_statement(statement));
    }
}

/// Whether the calling thread has an account.
#[inline]
pub(crate) fn is_open() -> bool {
    !CURRENT.get().is_null()
}

/// As [`call`], but opens no account for a thread that has none: for the allocator.
pub(crate) fn call_if_open<R>(cause: SysCause, run: impl FnOnce() -> R) -> R {
    if is_open() { call(cause, run) } else { run() }
}

/// Runs the receive that may begin a request.
#[inline]
pub(crate) fn receive<R>(call: impl FnOnce() -> R) -> R {
    if IS_OFF {
        return call();
    }
    with_current(|account| account.receive(call))
}
