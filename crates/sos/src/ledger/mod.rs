//! The ledger: where the time of every thread goes. One single-writer account per thread, and the
//! registry that adds them up for readers.
//!
//! A thread changes its state with [`to`], which reads the clock, only where that is affordable: at
//! waits, slow paths of locks, system calls and statement boundaries. Phases within the running
//! state are labels: setting one is a relaxed store, and their shares of the running time come from
//! the one request in 64 that is fully timed. Only the owner writes an account, so no counter is a
//! shared write; readers may be one event behind.
//!
//! ```text
//!   recv ─► running (label: parse, bind, row ..) ─► send ─► turn ─► recv ..
//!        edge                                   edge    edge
//! ```
//!
//! The usual request has three edges (changes of state): the end of its receive, the start and the
//! end of its send; or two, if its answer leaves with others: its own end is the second. The turn is
//! the time between two requests.

mod account;
mod accounts;
mod clear;
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

pub use crate::counter::Counter;
pub use account::Account;
pub(crate) use account::Room;
pub use accounts::{Accounts, LatchRow, SpinRow};
pub use clear::Statistics;
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

/// Counts a wait that had no thread, such as that of a connection whose answer was due later; the
/// thread that continues with it calls this. `ticks` are those of [`crate::clock`].
pub fn book_wait(wait_type: WaitType, ticks: u64) {
    with_current(|account| account.book_wait(wait_type, ticks, 0));
}

/// Runs `f` on the calling thread's account, and opens one if the thread has none yet.
#[inline]
pub fn with_current<R>(f: impl FnOnce(&Account) -> R) -> R {
    let current = current();
    // SAFETY: `install`'s caller keeps the account until `forget` has replaced the pointer, which
    // happens at the end of the thread; an older account is kept as long as it may be in use.
    f(unsafe { &*current })
}

/// As [`with_current`], but does nothing for a thread without an account: for calls from the
/// allocator.
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

/// The shared account of threads whose own is not open yet or already closed (in destructors of
/// thread-locals). Several threads may write it at once, and then lose counts.
fn afterlife() -> &'static Account {
    static AFTERLIFE: OnceLock<Account> = OnceLock::new();
    AFTERLIFE.get_or_init(|| {
        let name = "threads without an account";
        Account::with(u32::MAX, name, Watch::blind(), None, Emitter::default())
    })
}

/// Makes `account` that of the calling thread.
///
/// # Safety
/// The account lives until the thread ends or calls [`forget`].
unsafe fn install(account: &Account) {
    CURRENT.set(std::ptr::from_ref(account));
    crate::lock::set_thread_number(account.number());
    crate::stack::register();
}

/// Closes the calling thread's account, so that nothing refers to it any more.
fn forget() {
    let after = afterlife();
    let current = CURRENT.replace(std::ptr::from_ref(after));
    // SAFETY: the code that installed the account calls this before it drops it.
    if let Some(account) = unsafe { current.as_ref() } {
        account.finish();
    }
}

/// Runs a thread's body with an account, which counts in `accounts` also after the thread has
/// ended.
pub(crate) fn run_thread(accounts: &Accounts, name: &str, room: Room, body: impl FnOnce()) {
    CURRENT.set(std::ptr::from_ref(afterlife()));
    let account = accounts.open(name, room);
    // SAFETY: the account lives to the end of this function, which calls `forget`; only `body` and
    // its callees use it, and the thread's locals are destroyed later.
    unsafe { install(&account) };
    body();
    forget();
    accounts.end(&account);
    // After this the thread frees only its thread-locals.
    drop(account);
    memory::close();
}

/// The accounts of a thread that the machine did not start; closed when it ends. There may be
/// several, one for each machine that adopted the thread: an earlier one may still be in use
/// further up the stack.
struct Kept(RefCell<Vec<(Arc<Account>, Weak<Accounts>)>>);

impl Kept {
    /// Closes the accounts, each in the machine that it belongs to.
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

/// Installs an account on a thread that the machine did not start, and keeps it until the thread
/// ends.
fn keep(account: &Arc<Account>, accounts: Weak<Accounts>) {
    let kept = KEPT.try_with(|kept| {
        forget();
        kept.end();
        kept.0.borrow_mut().push((Arc::clone(account), accounts));
    });
    if kept.is_ok() {
        // SAFETY: kept until the thread's locals are destroyed, which first calls `forget`.
        unsafe { install(account) };
    } else {
        CURRENT.set(std::ptr::from_ref(afterlife()));
    }
}

/// Whether this build leaves out state changes, labels and timing, to measure what they cost.
const IS_OFF: bool = cfg!(feature = "ledger-off");

/// Moves the calling thread to a state and returns the one it was in. Reads the clock.
pub fn to(state: State) -> State {
    if IS_OFF {
        return state;
    }
    with_current(|account| account.to(state))
}

/// Sets the calling thread's label: one relaxed store, and in a timed request one clock read.
#[inline]
pub fn label(label: Label) {
    if !IS_OFF {
        with_current(|account| account.set_label(label as u32));
    }
}

/// Sets the calling thread's label until the guard is dropped.
#[inline]
pub fn labelled(label: Label) -> LabelGuard {
    if IS_OFF {
        return LabelGuard { account: std::ptr::null(), before: 0 };
    }
    with_current(|account| LabelGuard { account, before: account.set_label(label as u32) })
}

/// As [`labelled`], for a rare label whose stays take a microsecond and more: their time is measured
/// in each request, not only in timed ones. Costs two clock reads.
#[inline]
pub fn measured(label: Label) -> LabelGuard {
    if IS_OFF {
        return LabelGuard { account: std::ptr::null(), before: 0 };
    }
    with_current(|account| LabelGuard { account, before: account.measure_label(label as u32) })
}

/// Restores the earlier label when dropped.
#[derive(Debug)]
#[must_use]
pub struct LabelGuard {
    /// The thread's account, so that it is not looked up again.
    account: *const Account,
    /// The earlier label, as the number in the account.
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

/// Serves one request, from the end of its receive to the end of its last send. Its costs and waits
/// are booked on `books` as well.
#[inline]
pub fn request<R>(books: Option<&SessionBooks>, serve: impl FnOnce() -> R) -> R {
    if IS_OFF && books.is_none() {
        return serve();
    }
    // SAFETY: as in `with_current`; `serve` returns on this thread.
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

/// A request that is being served; ends when dropped, so that a panic ends it too.
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

/// Called when a task has returned to the scheduler's loop: ends the running state.
#[inline]
pub(crate) fn task_returned() {
    if !IS_OFF {
        with_current(Account::leave_running);
    }
}

/// Begins the next part of a long request, which is timed or not, as a request is.
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

/// What the calling thread has spent so far, including the time in its present state. Reads the
/// clock.
#[must_use]
pub fn spent() -> Spent {
    if IS_OFF {
        return Spent::default();
    }
    with_current(Account::spent)
}

/// What the calling thread had spent at its last edge. Does not read the clock.
#[inline]
#[must_use]
pub fn spent_at_edge() -> Spent {
    if IS_OFF {
        return Spent::default();
    }
    with_current(Account::booked)
}

/// The clock ticks of the calling thread's last edge: the time without a clock read, as exact as
/// the start or the end of a request.
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

/// Sets which statement the calling thread runs, as a number of the caller's choice; 0 for none.
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
