//! `Visitor`: a browser that has logged in. Its cookie is a random token; its queries run in engine
//! sessions of its login.
//!
//! Readings of the page use any idle session of a small pool. The query page has a session of its
//! own, so that variables of the session, temporary tables and open transactions last. Sessions
//! that are idle are closed soon, and opened again when they are needed: the cookie outlives them.

use std::collections::HashMap;
use std::net::SocketAddr;

use engine::instance::Nudge;
use engine::session::Session;
use sos::clock;
use sos::lock::{SpinClass, SpinLock};
use sos::park::Cancel;
use sos::sync::{Arc, AtomicBool, AtomicU64, Ordering};

use crate::response::Response;
use crate::{Console, entry};

/// Most visitors at a time.
const VISITORS_MAX: usize = 64;
/// Most sessions that one visitor reads with at a time.
const READERS_MAX: usize = 4;
/// Time after which a visitor without requests has to log in again.
const IDLE_NS: u64 = 30 * 60 * 1_000_000_000;
/// Time after which every visitor has to log in again.
const LIFE_NS: u64 = 12 * 60 * 60 * 1_000_000_000;
/// Time after which an idle session of the pool is closed.
const READER_IDLE_NS: u64 = 20_000_000_000;
/// Bytes of a token.
const TOKEN_BYTES: usize = 32;

/// What every session that reads for the page is set to: it waits for no lock, and gives way.
const READER_SETUP: &str = "SET NOCOUNT ON; SET TRANSACTION ISOLATION LEVEL READ UNCOMMITTED; \
    SET LOCK_TIMEOUT 2000; SET DEADLOCK_PRIORITY LOW;";

/// What a session is for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Purpose {
    /// Readings of the page.
    Read,
    /// The text that a user runs on the query page.
    Query,
}

/// A session and whether KILL has ended it.
pub(crate) struct Held {
    pub(crate) session: Session,
    killed: Arc<AtomicBool>,
    used_ns: u64,
}

impl Held {
    fn new(session: Session) -> Self {
        let killed = Arc::new(AtomicBool::new(false));
        let told = Arc::clone(&killed);
        session.on_nudge(Arc::new(move |nudge| match nudge {
            // Release: pairs with the Acquire in `is_killed`.
            Nudge::End | Nudge::Stop => told.store(true, Ordering::Release),
            // Idle sessions are closed soon, and a busy one drops its references itself.
            Nudge::LetGo => {}
        }));
        Self { session, killed, used_ns: clock::monotonic_ns() }
    }

    /// Returns whether KILL has ended the session.
    pub(crate) fn is_killed(&self) -> bool {
        // Acquire: pairs with the Release in the callback.
        self.killed.load(Ordering::Acquire)
    }
}

/// The session of the query page.
enum Slot {
    Free(Option<Box<Held>>),
    Busy(Arc<Cancel>),
}

/// A browser that has logged in.
pub(crate) struct Visitor {
    pub(crate) user: String,
    /// The hash of the password that it logged in with: another password ends its visit.
    password_hash: Vec<u8>,
    began_ns: u64,
    seen_ns: AtomicU64,
    readers: SpinLock<Vec<Held>>,
    /// The flags of sessions that read now.
    reading: SpinLock<Vec<Arc<Cancel>>>,
    query: SpinLock<Slot>,
}

/// All visitors, by token.
pub(crate) struct Visitors {
    table: SpinLock<HashMap<String, Arc<Visitor>>>,
}

impl Default for Visitors {
    fn default() -> Self {
        Self { table: SpinLock::new(SpinClass::ServerOther, HashMap::new()) }
    }
}

impl Visitors {
    /// Admits a visitor who has logged in; returns its token.
    ///
    /// # Errors
    /// The answer, if there are too many.
    pub(crate) fn admit(&self, console: &Console, session: Session) -> Result<String, Response> {
        let user = session.state().identity.login.clone();
        let now_ns = clock::monotonic_ns();
        let visitor = Visitor {
            password_hash: password_hash(console, &user).unwrap_or_default(),
            user,
            began_ns: now_ns,
            seen_ns: AtomicU64::new(now_ns),
            readers: SpinLock::new(SpinClass::ServerOther, vec![prepared(session)]),
            reading: SpinLock::new(SpinClass::ServerOther, Vec::new()),
            query: SpinLock::new(SpinClass::ServerOther, Slot::Free(None)),
        };
        let token = token();
        let mut table = self.table.lock();
        if table.len() >= VISITORS_MAX {
            return Err(Response::error(503, "Too many users are logged in to the console."));
        }
        table.insert(token.clone(), Arc::new(visitor));
        Ok(token)
    }

    /// Returns the visitor with a token.
    pub(crate) fn find(&self, console: &Console, token: &str) -> Option<Arc<Visitor>> {
        let visitor = Arc::clone(self.table.lock().get(token)?);
        let now_ns = clock::monotonic_ns();
        let same_password =
            password_hash(console, &visitor.user).is_some_and(|hash| hash == visitor.password_hash);
        if visitor.is_over(now_ns) || !same_password {
            self.remove(token);
            return None;
        }
        visitor.seen_ns.store(now_ns, Ordering::Relaxed);
        Some(visitor)
    }

    /// Ends a visit. Requests in progress are cancelled.
    pub(crate) fn remove(&self, token: &str) {
        // Outside the lock: ending a session rolls back what it has open.
        let removed = self.table.lock().remove(token);
        if let Some(visitor) = removed {
            visitor.cancel_all();
        }
    }

    /// Returns whether there is none.
    pub(crate) fn is_empty(&self) -> bool {
        self.table.lock().is_empty()
    }

    /// Ends visits that are over, and closes idle sessions.
    pub(crate) fn sweep(&self, now_ns: u64) {
        let all: Vec<_> =
            self.table.lock().iter().map(|(t, visitor)| (t.clone(), Arc::clone(visitor))).collect();
        for (token, visitor) in all {
            if visitor.is_over(now_ns) {
                self.remove(&token);
            } else {
                visitor.close_idle(now_ns);
            }
        }
    }

    /// Cancels all requests in progress.
    pub(crate) fn cancel_all(&self) {
        let all: Vec<_> = self.table.lock().values().cloned().collect();
        all.iter().for_each(|visitor| visitor.cancel_all());
    }

    /// Ends all visits, when the server stops.
    pub(crate) fn clear(&self) {
        let all = std::mem::take(&mut *self.table.lock());
        drop(all);
    }
}

impl Visitor {
    fn is_over(&self, now_ns: u64) -> bool {
        // Relaxed: a stale time ends a visit a moment earlier or later.
        now_ns.saturating_sub(self.seen_ns.load(Ordering::Relaxed)) > IDLE_NS
            || now_ns.saturating_sub(self.began_ns) > LIFE_NS
    }

    fn close_idle(&self, now_ns: u64) {
        let is_used =
            |held: &Held| !held.is_killed() && now_ns.saturating_sub(held.used_ns) < READER_IDLE_NS;
        // Outside the lock: ending a session takes others.
        let (used, idle): (Vec<_>, Vec<_>) =
            std::mem::take(&mut *self.readers.lock()).into_iter().partition(is_used);
        self.readers.lock().extend(used);
        drop(idle);
        let killed = match &mut *self.query.lock() {
            Slot::Free(held) if held.as_ref().is_some_and(|held| held.is_killed()) => held.take(),
            Slot::Free(_) | Slot::Busy(_) => None,
        };
        drop(killed);
    }

    /// Cancels the request of the query page; returns whether there was one.
    pub(crate) fn cancel_query(&self) -> bool {
        match &*self.query.lock() {
            Slot::Free(_) => false,
            Slot::Busy(cancel) => {
                cancel.set();
                true
            }
        }
    }

    fn cancel_all(&self) {
        self.cancel_query();
        let reading = self.reading.lock().clone();
        reading.iter().for_each(|cancel| cancel.set());
    }

    /// Runs something in a session of this visitor.
    ///
    /// # Errors
    /// The answer, if no session is free or none can be opened.
    pub(crate) fn with_session<R>(
        &self,
        console: &Console,
        purpose: Purpose,
        peer: SocketAddr,
        run: impl FnOnce(&mut Held) -> R,
    ) -> Result<R, Response> {
        match purpose {
            Purpose::Read => self.with_reader(console, peer, run),
            Purpose::Query => self.with_query(console, peer, run),
        }
    }

    fn with_reader<R>(
        &self,
        console: &Console,
        peer: SocketAddr,
        run: impl FnOnce(&mut Held) -> R,
    ) -> Result<R, Response> {
        if self.reading.lock().len() >= READERS_MAX {
            return Err(Response::error(429, "Too many readings at a time."));
        }
        // Outside the lock: ending a session that was killed takes others.
        let idle = self.readers.lock().pop();
        let mut held = match idle.filter(|held| !held.is_killed()) {
            Some(held) => held,
            None => prepared(entry::reopen(console, &self.user, peer)?),
        };
        let cancel = Arc::clone(held.session.cancel());
        self.reading.lock().push(Arc::clone(&cancel));
        let _reading = Reading { visitor: self, cancel };
        let result = run(&mut held);
        held.used_ns = clock::monotonic_ns();
        if !held.is_killed() {
            self.readers.lock().push(held);
        }
        Ok(result)
    }

    fn with_query<R>(
        &self,
        console: &Console,
        peer: SocketAddr,
        run: impl FnOnce(&mut Held) -> R,
    ) -> Result<R, Response> {
        let busy = || Response::error(409, "A query is running; cancel it first.");
        let kept = match &mut *self.query.lock() {
            Slot::Busy(_) => return Err(busy()),
            Slot::Free(held) => held.take(),
        };
        let mut held = match kept.filter(|held| !held.is_killed()) {
            Some(held) => held,
            None => Box::new(Held::new(entry::reopen(console, &self.user, peer)?)),
        };
        // Another request may have come in between.
        match &mut *self.query.lock() {
            Slot::Busy(_) => return Err(busy()),
            slot => *slot = Slot::Busy(Arc::clone(held.session.cancel())),
        }
        let mut querying = Querying { visitor: self, held: None };
        let result = run(&mut held);
        held.used_ns = clock::monotonic_ns();
        querying.held = (!held.is_killed()).then_some(held);
        Ok(result)
    }
}

/// A guard: while it lives, a reading is in progress.
struct Reading<'a> {
    visitor: &'a Visitor,
    cancel: Arc<Cancel>,
}

impl Drop for Reading<'_> {
    fn drop(&mut self) {
        self.visitor.reading.lock().retain(|other| !Arc::ptr_eq(other, &self.cancel));
    }
}

/// A guard: while it lives, the query page is busy. A request that panicked returns no session.
struct Querying<'a> {
    visitor: &'a Visitor,
    held: Option<Box<Held>>,
}

impl Drop for Querying<'_> {
    fn drop(&mut self) {
        *self.visitor.query.lock() = Slot::Free(self.held.take());
    }
}

/// Makes a session ready to read for the page.
fn prepared(session: Session) -> Held {
    let mut held = Held::new(session);
    let outcome = crate::rows::run(&mut held.session, READER_SETUP);
    debug_assert!(outcome.is_ok(), "the options are supported");
    held
}

/// Returns the hash of a login's password; `None` if the login is gone.
fn password_hash(console: &Console, user: &str) -> Option<Vec<u8>> {
    let catalog = console.instance.catalog.load();
    let login = catalog.logins.get(&engine::catalog::name::Name::new(user))?;
    (!login.disabled).then(|| login.password_hash.clone())
}

fn token() -> String {
    let bytes = sos::sys::random_bytes::<TOKEN_BYTES>();
    bytes.iter().fold(String::new(), |text, byte| format!("{text}{byte:02x}"))
}
