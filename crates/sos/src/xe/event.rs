//! `Event`: the declaration of an event, as a `static`; it is fired where it happens.

use std::ptr;

use super::field::{Field, Setting};
use super::package::Package;
use crate::sync::{AtomicU32, Ordering};

/// The channel of an event: its audience.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Channel {
    /// For administrators: a problem with a known remedy.
    Admin,
    /// For operators: a problem to investigate.
    Operational,
    /// High-volume events for performance analysis.
    Analytic,
    /// Internals, for debugging the server.
    Debug,
}

impl Channel {
    /// The channel's name, as `sys.dm_xe_map_values` has it.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::Admin => "Admin",
            Self::Operational => "Operational",
            Self::Analytic => "Analytic",
            Self::Debug => "Debug",
        }
    }
}

/// Whether the thread that fires the event may wait for a buffer.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Blocking {
    /// It may wait, so that sessions with NO_EVENT_LOSS can have the event.
    Allowed,
    /// It must not wait, because it is inside a lock or an allocation.
    Never,
}

/// An event. Declared as a `static`, and identified by its address.
///
/// ```ignore
/// pub static LOGIN: Event = Event::new(&SQLSERVER, "login", "A login", &[Field::new(..)]);
/// if xe::enabled(&LOGIN) {
///     xe::fire(&LOGIN, &[Value::Bool(false), ..]);
/// }
/// ```
#[derive(Debug)]
pub struct Event {
    /// The package that it belongs to.
    pub package: &'static Package,
    /// The name within its package.
    pub name: &'static str,
    /// A description for `sys.dm_xe_objects`: when it occurs.
    pub description: &'static str,
    /// The audience of the event.
    pub channel: Channel,
    /// The keyword (group) under which views list it.
    pub keyword: &'static str,
    /// Whether the thread that fires it may wait.
    pub blocking: Blocking,
    /// Its fields, in the order of the values given to `fire`.
    pub fields: &'static [Field],
    /// The settings that a session can SET.
    pub settings: &'static [Setting],
    /// The number of sessions that want it, over all instances in the process.
    wanted: AtomicU32,
    /// Its place in the tables of subscriptions, plus 1; 0 until a session has wanted it.
    number: AtomicU32,
}

/// The number of the next event that is wanted for the first time.
static NEXT_NUMBER: AtomicU32 = AtomicU32::new(1);

impl Event {
    /// Declares an event of the channel Analytic, with fields but without settings.
    #[must_use]
    pub const fn new(
        package: &'static Package,
        name: &'static str,
        description: &'static str,
        fields: &'static [Field],
    ) -> Self {
        Self {
            package,
            name,
            description,
            channel: Channel::Analytic,
            keyword: "execution",
            blocking: Blocking::Allowed,
            fields,
            settings: &[],
            wanted: AtomicU32::new(0),
            number: AtomicU32::new(0),
        }
    }

    /// Sets the channel and the keyword, which are Analytic and `execution` by default.
    #[must_use]
    pub const fn found_under(mut self, channel: Channel, keyword: &'static str) -> Self {
        self.channel = channel;
        self.keyword = keyword;
        self
    }

    /// Sets the settings of the event.
    #[must_use]
    pub const fn with_settings(mut self, settings: &'static [Setting]) -> Self {
        self.settings = settings;
        self
    }

    /// Declares that the thread that fires it must not wait.
    #[must_use]
    pub const fn never_blocking(mut self) -> Self {
        self.blocking = Blocking::Never;
        self
    }

    /// The position of a field, by name.
    #[must_use]
    pub fn field(&self, name: &str) -> Option<usize> {
        self.fields.iter().position(|field| field.name.eq_ignore_ascii_case(name))
    }

    /// The position of a setting, by name.
    #[must_use]
    pub fn setting(&self, name: &str) -> Option<usize> {
        self.settings.iter().position(|setting| setting.name.eq_ignore_ascii_case(name))
    }

    /// Whether any session wants it: one relaxed load.
    #[inline]
    #[must_use]
    pub(super) fn is_wanted(&self) -> bool {
        self.wanted.load(Ordering::Relaxed) != 0
    }

    /// Counts one more session that wants it.
    pub(super) fn want(&self) {
        // Relaxed: a thread that sees it late misses the first events of a session: no error.
        self.wanted.fetch_add(1, Ordering::Relaxed);
    }

    /// Counts one session less that wants it.
    pub(super) fn unwant(&self) {
        self.wanted.fetch_sub(1, Ordering::Relaxed);
    }

    /// Its place in the tables of subscriptions; `None` if no session has ever wanted it.
    #[inline]
    pub(super) fn place(&self) -> Option<usize> {
        let number = self.number.load(Ordering::Relaxed).checked_sub(1)?;
        usize::try_from(number).ok()
    }

    /// As [`Self::place`], but assigns one if there is none.
    pub(super) fn assign_place(&self) -> usize {
        if self.place().is_none() {
            let next = NEXT_NUMBER.fetch_add(1, Ordering::Relaxed);
            // If two threads assign one at once, the first counts; the other number stays unused.
            let _ = self.number.compare_exchange(0, next, Ordering::Relaxed, Ordering::Relaxed);
        }
        self.place().unwrap_or(0)
    }
}

impl PartialEq for Event {
    fn eq(&self, other: &Self) -> bool {
        ptr::eq(self, other)
    }
}

impl Eq for Event {}

/// Whether any session wants an event: one relaxed load of a word that is written when sessions
/// start and stop. Call it before collecting the fields.
#[inline]
#[must_use]
pub fn enabled(event: &Event) -> bool {
    event.is_wanted()
}
