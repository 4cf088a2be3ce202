//! `Category`: the branches of the ledger, with the names that views have.

/// A category of the ledger; docs/ledger.md says what each means.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Category {
    /// The server's own code, on a CPU.
    User,
    /// In a system call.
    Kernel,
    /// Looping until a lock is free.
    Spin,
    /// Reading these views, and keeping the history.
    Observation,
    /// Running time that nothing explains.
    Dark,
    /// Ready, but without a CPU of the machine.
    Runnable,
    /// Signalled, but without a scheduler.
    Signal,
    /// Blocked until another thread signals.
    Wait,
    /// Blocked where nothing should block.
    UnexpectedBlocking,
    /// Threads that the server did not start, or categories unknown to this program.
    Foreign,
    /// Waiting for something to do.
    Idle,
}

impl Category {
    /// All categories, in the order in which they are stacked: on a CPU first.
    pub const ALL: [Self; 11] = [
        Self::User,
        Self::Kernel,
        Self::Spin,
        Self::Observation,
        Self::Dark,
        Self::Runnable,
        Self::Signal,
        Self::Wait,
        Self::UnexpectedBlocking,
        Self::Foreign,
        Self::Idle,
    ];

    /// Returns its name in the ledger.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::User => "user",
            Self::Kernel => "kernel",
            Self::Spin => "spin",
            Self::Observation => "observation",
            Self::Dark => "dark",
            Self::Runnable => "runnable",
            Self::Signal => "signal",
            Self::Wait => "wait",
            Self::UnexpectedBlocking => "unexpected_blocking",
            Self::Foreign => "foreign",
            Self::Idle => "idle",
        }
    }

    /// Returns the letter that draws it where there is no colour.
    #[must_use]
    pub const fn letter(self) -> char {
        match self {
            Self::User => 'u',
            Self::Kernel => 'k',
            Self::Spin => 's',
            Self::Observation => 'o',
            Self::Dark => 'd',
            Self::Runnable => 'r',
            Self::Signal => 'g',
            Self::Wait => 'w',
            Self::UnexpectedBlocking => 'x',
            Self::Foreign => 'f',
            Self::Idle => 'i',
        }
    }

    /// Returns the category of this name; `Foreign` for names unknown here.
    #[must_use]
    pub fn from_name(name: &str) -> Self {
        Self::ALL.into_iter().find(|category| category.name() == name).unwrap_or(Self::Foreign)
    }
}
