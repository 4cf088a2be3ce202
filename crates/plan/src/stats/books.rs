//! `ProgramBooks`: the statistics record of a cached program: its name in the views, and the ids
//! that its statements count under.
//!
//! Two sessions that compile the same text share its books, and so does a program that is
//! recompiled after a change of the catalog. The books are dropped with the last program that uses
//! them, and the counts with them: as in SQL Server, statistics live as long as the plan is cached.

use std::hash::{BuildHasher, Hash, Hasher};
use std::sync::{Arc, OnceLock, Weak};

use smallvec::SmallVec;
use sos::clock;
use sos::lock::{SpinClass, SpinLock};
use sos::sync::{AtomicBool, AtomicU32, AtomicU64, Ordering};

use super::Statistics;
use super::handle::{Handle, HandleKind};
use super::ids::{OVERFLOW, Range};
use super::spend::Spend;
use crate::program::{Program, RoutineKind};

/// The source of a program.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Origin {
    /// A batch or dynamic SQL.
    Batch,
    /// A parameterised statement and the declarations of its parameters.
    Prepared(Arc<str>),
    /// Texts that differ only in constants, and the declarations of the parameters that replace
    /// those.
    Template(Arc<str>),
    /// The body of a procedure, trigger or function.
    Procedure(Module),
}

/// A procedure, trigger or function, by its ids.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Module {
    /// Id of its database.
    pub database_id: i16,
    /// `object_id` within the database.
    pub object_id: i32,
    /// Whether it is a trigger or a function; `None` for a procedure.
    pub kind: Option<RoutineKind>,
    /// Whether it was created WITH ENCRYPTION: its text and its plans are not shown.
    pub is_encrypted: bool,
}

/// The text that is shown in place of that of an encrypted module and its statements.
pub(super) const ENCRYPTED_TEXT: &str = "-- Encrypted text";

/// A program's name in the views, and its ids.
pub struct ProgramBooks {
    /// Serial number; never used again.
    pub serial: u64,
    /// Key in the instance's map: a hash of the identity.
    pub(super) key: u64,
    /// Computed when a view asks: hashing a text by MD5 costs more than parsing it.
    handles: OnceLock<[Handle; 2]>,
    /// What it was compiled from.
    pub origin: Origin,
    database_id: i16,
    options: SmallVec<[u8; 4]>,
    /// The text that spans refer to.
    pub source: Arc<str>,
    /// Ticks at which it was first compiled.
    pub created: u64,
    /// How often it was compiled, the first time included.
    compilations: AtomicU32,
    /// Time of binding its parts: all of it, and the last time, in ns.
    bind_ns: AtomicU64,
    last_bind_ns: AtomicU64,
    /// Whether it was evicted from the cache: it is recompiled before it runs again.
    evicted: AtomicBool,
    /// Ids of the program itself and of its statements.
    pub ids: Range,
    /// The program compiled last.
    latest: SpinLock<Weak<Program>>,
    home: Weak<Statistics>,
}

/// The key by which the books of a program are found.
pub struct Identity<'a> {
    /// The source of the program.
    pub origin: Origin,
    /// The database that it is compiled in.
    pub database_id: i16,
    /// SET options that the meaning of the text depends on.
    pub options: &'a [u8],
    /// Text of the program.
    pub source: &'a Arc<str>,
}

impl Identity<'_> {
    fn declared(&self) -> &str {
        match &self.origin {
            Origin::Prepared(declared) | Origin::Template(declared) => declared,
            Origin::Batch | Origin::Procedure(_) => "",
        }
    }

    /// Returns the hash under which such books are stored.
    pub(super) fn key(&self) -> u64 {
        let mut hasher = foldhash::fast::FixedState::default().build_hasher();
        self.source.hash(&mut hasher);
        self.declared().hash(&mut hasher);
        if let Origin::Procedure(module) = &self.origin {
            (module.database_id, module.object_id).hash(&mut hasher);
        }
        (self.database_id, self.options).hash(&mut hasher);
        hasher.finish()
    }
}

impl std::fmt::Debug for ProgramBooks {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "books {} of {:?}", self.serial, self.origin)
    }
}

impl ProgramBooks {
    pub(super) fn new(
        identity: &Identity<'_>,
        (key, serial, ids): (u64, u64, Range),
        home: &Arc<Statistics>,
    ) -> Self {
        Self {
            serial,
            key,
            handles: OnceLock::new(),
            database_id: identity.database_id,
            options: identity.options.into(),
            origin: identity.origin.clone(),
            source: Arc::clone(identity.source),
            created: clock::now_ticks(),
            compilations: AtomicU32::new(0),
            bind_ns: AtomicU64::new(0),
            last_bind_ns: AtomicU64::new(0),
            evicted: AtomicBool::new(false),
            ids,
            latest: SpinLock::new(SpinClass::PlanCache, Weak::new()),
            home: Arc::downgrade(home),
        }
    }

    /// Returns whether the books belong to this identity; another text may have the same hash.
    pub(super) fn is_of(&self, identity: &Identity<'_>) -> bool {
        self.source == *identity.source
            && self.origin == identity.origin
            && self.database_id == identity.database_id
            && self.options.as_slice() == identity.options
    }

    /// Returns the `database_id` of the database that the program was compiled in.
    pub const fn database_id(&self) -> i16 {
        self.database_id
    }

    /// Returns the SET options that the program was compiled under: QUOTED_IDENTIFIER, and the
    /// byte of what the meaning of a plan depends on.
    pub fn options(&self) -> &[u8] {
        &self.options
    }

    /// Returns `sql_handle`, hashed on first use.
    pub fn sql_handle(&self) -> &Handle {
        &self.handles()[0]
    }

    /// Returns `plan_handle`, hashed on first use.
    pub fn plan_handle(&self) -> &Handle {
        &self.handles()[1]
    }

    fn handles(&self) -> &[Handle; 2] {
        self.handles.get_or_init(|| {
            let source = self.source.as_bytes();
            let text =
                |declared: &str| Handle::new(HandleKind::Text, 0, &[declared.as_bytes(), source]);
            let (sql, kind) = match &self.origin {
                Origin::Batch => (text(""), HandleKind::Plan),
                Origin::Prepared(declared) | Origin::Template(declared) => {
                    (text(declared), HandleKind::Plan)
                }
                Origin::Procedure(module) => {
                    let id = module.object_id.to_le_bytes();
                    let kind = HandleKind::ObjectText;
                    let sql = Handle::new(kind, module.database_id, &[&id, source]);
                    (sql, HandleKind::ObjectPlan)
                }
            };
            let plan = Handle::new(kind, self.database_id, &[sql.bytes(), &self.options]);
            [sql, plan]
        })
    }

    /// Returns the id of the program itself.
    pub const fn id(&self) -> u32 {
        self.ids.id(0)
    }

    /// Notes that the program was compiled (again).
    pub(super) fn compiled(&self, program: &Arc<Program>) {
        // Relaxed: a count for a view.
        self.compilations.fetch_add(1, Ordering::Relaxed);
        self.keep(program);
    }

    /// Makes a program the one that views show. When two sessions have compiled a text at once, it
    /// is the one that the plan cache keeps; the other is dropped with its session.
    pub fn keep(&self, program: &Arc<Program>) {
        let before = std::mem::replace(&mut *self.latest.lock(), Arc::downgrade(program));
        drop(before);
    }

    /// Returns how often the program was compiled: `plan_generation_num`.
    pub fn compilations(&self) -> u32 {
        self.compilations.load(Ordering::Relaxed)
    }

    /// Returns the program compiled last, as long as a session may run it.
    pub fn program(&self) -> Option<Arc<Program>> {
        self.latest.lock().upgrade()
    }

    /// Returns the statistics that it belongs to, if a Query Store collects from them.
    pub(super) fn collecting(&self) -> Option<Arc<Statistics>> {
        self.home.upgrade().filter(|home| home.shards.has_epoch())
    }

    /// Adds the time of binding a part of the program.
    pub fn bound(&self, spent: &Spend) {
        let ns = clock::ticks_to_ns(spent.elapsed());
        // Relaxed, here and below: sums for a view.
        self.bind_ns.fetch_add(ns, Ordering::Relaxed);
        self.last_bind_ns.store(ns, Ordering::Relaxed);
    }

    /// Returns how long binding its parts has taken in all, and the last time, in ns.
    pub fn bind_ns(&self) -> (u64, u64) {
        (self.bind_ns.load(Ordering::Relaxed), self.last_bind_ns.load(Ordering::Relaxed))
    }

    /// Evicts the program from all caches.
    pub(super) fn evict(&self) {
        // Relaxed: a session that sees it late runs the program once more, as if it had begun
        // before.
        self.evicted.store(true, Ordering::Relaxed);
    }

    /// Returns whether the program was evicted.
    #[inline]
    pub fn is_evicted(&self) -> bool {
        self.evicted.load(Ordering::Relaxed)
    }

    /// Returns the module whose body the program is.
    pub fn module(&self) -> Option<Module> {
        match self.origin {
            Origin::Procedure(module) => Some(module),
            Origin::Batch | Origin::Prepared(_) | Origin::Template(_) => None,
        }
    }

    /// Returns whether it is the body of a module WITH ENCRYPTION.
    pub fn is_encrypted(&self) -> bool {
        self.module().is_some_and(|module| module.is_encrypted)
    }

    /// Returns the whole text, as `sys.dm_exec_sql_text` shows it, or `ENCRYPTED_TEXT`.
    pub fn text(&self) -> String {
        if self.is_encrypted() {
            return ENCRYPTED_TEXT.to_owned();
        }
        format!("{}{}", self.prefix(), self.source)
    }

    /// Returns the text before the one that was compiled: the parameters' declarations in
    /// parentheses.
    pub fn prefix(&self) -> String {
        match &self.origin {
            Origin::Prepared(declared) | Origin::Template(declared) if !declared.is_empty() => {
                format!("({declared})")
            }
            Origin::Prepared(_) | Origin::Template(_) | Origin::Batch | Origin::Procedure(_) => {
                String::new()
            }
        }
    }
}

impl Drop for ProgramBooks {
    fn drop(&mut self) {
        if let Some(home) = self.home.upgrade() {
            home.forget(self);
        }
    }
}

impl Program {
    /// Returns the id of the program itself in the statistics.
    #[inline]
    pub fn statistics_id(&self) -> u32 {
        self.books.as_ref().map_or(OVERFLOW, |books| books.id())
    }

    /// Returns whether it is the body of a module WITH ENCRYPTION.
    pub fn is_encrypted(&self) -> bool {
        self.books.as_ref().is_some_and(|books| books.is_encrypted())
    }

    /// Returns the text of a part of it, as events show it, or `ENCRYPTED_TEXT`.
    pub fn shown_text(&self, span: tsql::ast::Span) -> &str {
        if self.is_encrypted() { ENCRYPTED_TEXT } else { span.text(&self.source) }
    }

    /// Returns the id of one of its statements in the statistics.
    #[inline]
    pub fn statement_id(&self, place: StatementPlace) -> u32 {
        self.books.as_ref().map_or(OVERFLOW, |books| books.ids.id(place.0))
    }

    /// Returns whether the program is a batch or a parameterised statement, and no module's body.
    pub fn is_text(&self) -> bool {
        self.books.as_ref().is_some_and(|books| books.module().is_none())
    }

    /// Returns whether the program may still run.
    #[inline]
    pub fn is_cached(&self) -> bool {
        self.books.as_ref().is_none_or(|books| !books.is_evicted())
    }
}

/// Position of a statement in its program, from 1; 0 is the program itself.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct StatementPlace(pub u32);
