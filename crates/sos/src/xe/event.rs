//! `Event`: a kind of thing that happens, declared once and fired where it happens.

use std::ptr;

use super::field::{Field, Setting};
use super::package::Package;
use crate::sync::{AtomicU32, Ordering};

/// Whom an event is for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Channel {
    /// A problem with a known remedy.
    Admin,
    /// A problem to look into.
    Operational,
    /// High volume, for measuring.
    Analytic,
    /// Internals.
    Debug,
}

impl Channel {
    /// The name in the map of channels.
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

/// Whether the thread that fires may wait for a buffer.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Blocking {
    /// It may: sessions with NO_EVENT_LOSS can have the event.
    Allowed,
    /// It is in the midst of a lock or of an allocation: they cannot.
    Never,
}

/// A kind of event. Declared as a `static`, and told from others by its address.
///
/// ```ignore
/// pub static LOGIN: Event = Event::new(&SQLSERVER, "login", "A login", &[Field::new(..)]);
/// if xe::enabled(&LOGIN) {
///     xe::fire(&LOGIN, &[Value::Bool(false), ..]);
/// }
/// ```
#[derive(Debug)]
pub struct Event {
    /// The package it belongs to.
    pub package: &'static Package,
    /// Its name.
    pub name: &'static str,
    /// When it occurs.
    pub description: &'static str,
    /// Whom it is for.
    pub channel: Channel,
    /// The group it is found under.
    pub keyword: &'static str,
    /// Whether its emitter may wait.
    pub blocking: Blocking,
    /// What it carries, in the order in which it is fired.
    pub fields: &'static [Field],
    /// What a session may SET.
    pub settings: &'static [Setting],
    /// Sessions that want it, of all instances in the process.
    wanted: AtomicU32,
    /// Its place in the tables of subscriptions, plus 1; 0 until a session has wanted it.
    number: AtomicU32,
}

/// The number of the next event that is wanted for the first time.
static NEXT_NUMBER: AtomicU32 = AtomicU32::new(1);

impl Event {
    /// Declares an event.
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

    /// With its channel and keyword, instead of Analytic and `execution`.
    #[must_use]
    pub const fn found_under(mut self, channel: Channel, keyword: &'static str) -> Self {
        self.channel = channel;
        self.keyword = keyword;
        self
    }

    /// With settings.
    #[must_use]
    pub const fn with_settings(mut self, settings: &'static [Setting]) -> Self {
        self.settings = settings;
        self
    }

    /// Fired where nobody may wait.
    #[must_use]
    pub const fn never_blocking(mut self) -> Self {
        self.blocking = Blocking::Never;
        self
    }

    /// The position of a field.
    #[must_use]
    pub fn field(&self, name: &str) -> Option<usize> {
        self.fields.iter().position(|field| field.name.eq_ignore_ascii_case(name))
    }

    /// The position of a setting.
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

    /// One more session wants it.
    pub(super) fn want(&self) {
        // Relaxed: a probe that is late misses the first events of a session, which is no error.
        self.wanted.fetch_add(1, Ordering::Relaxed);
    }

    /// One session fewer wants it.
    pub(super) fn unwant(&self) {
        self.wanted.fetch_sub(1, Ordering::Relaxed);
    }

    /// Its place in the tables of subscriptions; none if no session has ever wanted it.
    #[inline]
    pub(super) fn place(&self) -> Option<usize> {
        let number = self.number.load(Ordering::Relaxed).checked_sub(1)?;
        usize::try_from(number).ok()
    }

    /// As [`Self::place`], giving it one.
    pub(super) fn assign_place(&self) -> usize {
        if self.place().is_none() {
            let next = NEXT_NUMBER.fetch_add(1, Ordering::Relaxed);
            // Of two that assign one at once, the first counts; the other number stays unused.
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
/// start and stop. Ask before gathering what the event carries.
#[inline]
#[must_use]
pub fn enabled(event: &Event) -> bool {
    event.is_wanted()
}
