//! `ProgramBooks`: what a cached program is called by, and the ids that its statements count under.
//!
//! Two sessions that compile the same text share its books, and so does a program that is compiled
//! anew after a change of the catalog. The books go when the last program of theirs does, and with
//! them what was counted: as in SQL Server, statistics live as long as the plan is cached.

use std::sync::{Arc, Weak};

use sos::clock;
use sos::lock::{SpinClass, SpinLock};
use sos::sync::{AtomicBool, AtomicU32, Ordering};

use super::Statistics;
use super::handle::{Handle, HandleKind};
use super::ids::{OVERFLOW, Range};
use crate::plan::program::Program;

/// What a program was compiled from.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Origin {
    /// A batch or dynamic SQL.
    Batch,
    /// A parameterised statement and the declarations of its parameters.
    Prepared(Arc<str>),
    /// A procedure.
    Procedure(Module),
}

/// A procedure, as the views name it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Module {
    /// Its database.
    pub(crate) database_id: i16,
    /// Its id there.
    pub(crate) object_id: i32,
}

/// A program's name in the views, and its ids.
pub struct ProgramBooks {
    /// Names these books and no others, ever.
    pub(crate) serial: u64,
    /// `plan_handle`
    pub(crate) plan_handle: Handle,
    /// `sql_handle`
    pub(crate) sql_handle: Handle,
    /// What it was compiled from.
    pub(crate) origin: Origin,
    /// The text that spans refer to.
    pub(crate) source: Arc<str>,
    /// Ticks at which it was first compiled.
    pub(crate) created: u64,
    /// How often it was compiled.
    compilations: AtomicU32,
    /// Whether it was thrown out of the cache: it is compiled anew before it runs again.
    evicted: AtomicBool,
    /// The program's own id, then those of its statements.
    pub(crate) ids: Range,
    /// The program compiled last.
    latest: SpinLock<Weak<Program>>,
    home: Weak<Statistics>,
}

/// What the books of a program are found by.
pub(crate) struct Identity<'a> {
    /// What it is compiled from.
    pub(crate) origin: Origin,
    /// The database that it is compiled in.
    pub(crate) database_id: i16,
    /// Options that the meaning of the text depends on.
    pub(crate) options: &'a [u8],
    /// The text.
    pub(crate) source: &'a Arc<str>,
}

impl Identity<'_> {
    fn declared(&self) -> &str {
        match &self.origin {
            Origin::Prepared(declared) => declared,
            Origin::Batch | Origin::Procedure(_) => "",
        }
    }

    fn sql_handle(&self) -> Handle {
        let text = [self.declared().as_bytes(), self.source.as_bytes()];
        match &self.origin {
            Origin::Batch | Origin::Prepared(_) => Handle::new(HandleKind::Text, 0, &text),
            Origin::Procedure(module) => {
                let id = module.object_id.to_le_bytes();
                Handle::new(HandleKind::ObjectText, module.database_id, &[&id, text[1]])
            }
        }
    }

    /// Returns the handle of its plan.
    pub(crate) fn plan_handle(&self) -> Handle {
        let kind = match self.origin {
            Origin::Batch | Origin::Prepared(_) => HandleKind::Plan,
            Origin::Procedure(_) => HandleKind::ObjectPlan,
        };
        let sql = self.sql_handle();
        Handle::new(kind, self.database_id, &[sql.bytes(), self.options])
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
        (serial, ids): (u64, Range),
        home: &Arc<Statistics>,
    ) -> Self {
        Self {
            serial,
            plan_handle: identity.plan_handle(),
            sql_handle: identity.sql_handle(),
            origin: identity.origin.clone(),
            source: Arc::clone(identity.source),
            created: clock::now_ticks(),
            compilations: AtomicU32::new(0),
            evicted: AtomicBool::new(false),
            ids,
            latest: SpinLock::new(SpinClass::PlanCache, Weak::new()),
            home: Arc::downgrade(home),
        }
    }

    /// Returns the id of the program itself.
    pub(crate) const fn id(&self) -> u32 {
        self.ids.id(0)
    }

    /// Notes that the program was compiled (again).
    pub(super) fn compiled(&self, program: &Arc<Program>) {
        // Relaxed: a count for a view.
        self.compilations.fetch_add(1, Ordering::Relaxed);
        let before = std::mem::replace(&mut *self.latest.lock(), Arc::downgrade(program));
        drop(before);
    }

    /// Returns how often the program was compiled: `plan_generation_num`.
    pub(crate) fn compilations(&self) -> u32 {
        self.compilations.load(Ordering::Relaxed)
    }

    /// Returns the program compiled last, while any session may run it.
    pub(crate) fn program(&self) -> Option<Arc<Program>> {
        self.latest.lock().upgrade()
    }

    /// Throws the program out of all caches.
    pub(super) fn evict(&self) {
        // Relaxed: a session that sees it late runs the program once more, as if it had begun before.
        self.evicted.store(true, Ordering::Relaxed);
    }

    /// Tells whether the program was thrown out.
    #[inline]
    pub(crate) fn is_evicted(&self) -> bool {
        self.evicted.load(Ordering::Relaxed)
    }

    /// Returns the procedure that it is of.
    pub(crate) fn module(&self) -> Option<Module> {
        match self.origin {
            Origin::Procedure(module) => Some(module),
            Origin::Batch | Origin::Prepared(_) => None,
        }
    }

    /// Returns the whole text, as `sys.dm_exec_sql_text` shows it.
    pub(crate) fn text(&self) -> String {
        format!("{}{}", self.prefix(), self.source)
    }

    /// What stands in front of the text as it was compiled: the parameters' declarations.
    pub(crate) fn prefix(&self) -> String {
        match &self.origin {
            Origin::Prepared(declared) if !declared.is_empty() => format!("({declared})"),
            Origin::Prepared(_) | Origin::Batch | Origin::Procedure(_) => String::new(),
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
    pub(crate) fn statistics_id(&self) -> u32 {
        self.books.as_ref().map_or(OVERFLOW, |books| books.id())
    }

    /// Returns the id of one of its statements in the statistics.
    #[inline]
    pub(crate) fn statement_id(&self, place: StatementPlace) -> u32 {
        self.books.as_ref().map_or(OVERFLOW, |books| books.ids.id(place.0))
    }

    /// Tells whether the program may still run.
    #[inline]
    pub(crate) fn is_cached(&self) -> bool {
        self.books.as_ref().is_none_or(|books| !books.is_evicted())
    }
}

/// The place of a statement in its program, from 1 on: 0 is the program itself.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct StatementPlace(pub u32);
