//! `State`: the states between which a thread's time is divided, and their numbers as cells of an
//! account. `Label`: what a running thread does.

use crate::lock::SpinClass;
use crate::registry::registry;
use crate::sys::SysCause;
use crate::wait::WaitType;

/// The state of a thread: it is in exactly one at a time. A [`Label`] divides the running state.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum State {
    /// Running a request, by label.
    Running,
    /// Work of the scheduler between two requests.
    Scheduling,
    /// In the poller: idle, except for the CPU time of the system call.
    Polling,
    /// A worker that sleeps until it is needed.
    Idle,
    /// Running background work of the server.
    Background,
    /// Reading the ledger and the kernel's counters.
    Observing,
    /// In a system call with this cause.
    Kernel(SysCause),
    /// Waiting, with its scheduler handed over.
    Wait(WaitType),
    /// Its wait is over, and it waits for its scheduler.
    Signal(WaitType),
    /// Spinning on a lock of this class.
    Spin(SpinClass),
}

/// The number of cells of an account; a power of two, so that an index only needs a mask.
pub(super) const CELLS: usize = 256;

pub(super) const RUNNING: usize = 0;
/// The cell of a turn: from the end of an answer to the end of the next receive, if the request is
/// not timed. It has the scheduler's work and the receive, to be split by the shares of timed
/// requests.
pub(super) const TURN: usize = 1;
pub(super) const SCHEDULING: usize = 2;
const POLLING: usize = 3;
pub(super) const IDLE: usize = 4;
pub(super) const BACKGROUND: usize = 5;
pub(super) const OBSERVING: usize = 6;
pub(super) const KERNEL: usize = 7;
pub(super) const WAIT: usize = KERNEL + SysCause::COUNT;
pub(super) const SIGNAL: usize = WAIT + WaitType::COUNT;
pub(super) const SPIN: usize = SIGNAL + WaitType::COUNT;
/// One more than the last cell in use.
pub(super) const END: usize = SPIN + SpinClass::COUNT;

const _: () = assert!(END <= CELLS, "an account has a cell for every state");

impl State {
    /// The state's cell in an account.
    #[inline]
    pub(super) const fn index(self) -> usize {
        match self {
            Self::Running => RUNNING,
            Self::Scheduling => SCHEDULING,
            Self::Polling => POLLING,
            Self::Idle => IDLE,
            Self::Background => BACKGROUND,
            Self::Observing => OBSERVING,
            Self::Kernel(cause) => KERNEL + cause.index(),
            Self::Wait(wait_type) => WAIT + wait_type.index(),
            Self::Signal(wait_type) => SIGNAL + wait_type.index(),
            Self::Spin(class) => SPIN + class.index(),
        }
    }

    /// The state of a cell. Two cells, the turn included, stand for [`Self::Scheduling`].
    pub(super) fn of_index(index: usize) -> Self {
        match index {
            RUNNING => Self::Running,
            POLLING => Self::Polling,
            IDLE => Self::Idle,
            BACKGROUND => Self::Background,
            OBSERVING => Self::Observing,
            KERNEL..WAIT => Self::Kernel(SysCause::ALL[index - KERNEL]),
            WAIT..SIGNAL => Self::Wait(WaitType::ALL[index - WAIT]),
            SIGNAL..SPIN => Self::Signal(WaitType::ALL[index - SIGNAL]),
            SPIN..END => Self::Spin(SpinClass::ALL[index - SPIN]),
            // TURN and SCHEDULING; the other cells are never entered.
            _ => Self::Scheduling,
        }
    }

    /// The state of the cell with this number.
    pub(crate) fn of_cell(number: u8) -> Self {
        Self::of_index(usize::from(number))
    }

    /// The state's name, as views show it.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::Running => "running",
            Self::Scheduling => "scheduling",
            Self::Polling => "poll",
            Self::Idle => "idle",
            Self::Background => "background",
            Self::Observing => "observing",
            Self::Kernel(cause) => cause.name(),
            Self::Wait(wait_type) | Self::Signal(wait_type) => wait_type.name(),
            Self::Spin(class) => class.name(),
        }
    }

    /// Whether a thread in this state is expected to be off the CPU.
    pub(super) const fn waits(self) -> bool {
        matches!(self, Self::Polling | Self::Idle | Self::Wait(_) | Self::Signal(_))
    }
}

/// Whether a system call made in this cell's state is booked under its own cell. In other states
/// the state is more informative than the system call.
#[inline]
pub(super) const fn yields_to_kernel(cell: usize) -> bool {
    matches!(cell, RUNNING | TURN | SCHEDULING | BACKGROUND)
}

registry! {
    /// What a running thread is busy with.
    pub enum Label {
        /// No label was set: the time is shown as dark.
        None => "none",
        /// Reading a request off the wire.
        Decode => "decode",
        /// Parsing text to a syntax tree.
        Parse => "parse",
        /// Binding names to objects.
        Bind => "bind",
        /// Turning a bound tree into a plan.
        Plan => "plan",
        /// Running a plan: work without a more precise label.
        Execute => "execute",
        /// Reading tables and views row by row, and work on a row without a more precise label.
        Scan => "scan",
        /// Matching the rows of two inputs by a hash table.
        Join => "join",
        /// Sorting rows by their keys.
        Sort => "sort",
        /// Grouping rows and adding them up.
        Aggregate => "aggregate",
        /// Hash functions of T-SQL, such as HASHBYTES.
        Hash => "hash functions",
        /// Searching in an index.
        Index => "index",
        /// Reading or writing row versions.
        Row => "row",
        /// Validating and committing a transaction.
        Commit => "commit",
        /// Writing records of the transaction log.
        Log => "log",
        /// Writing a result onto the wire.
        Encode => "encode",
        /// Collecting old versions and retired memory.
        Collect => "collect",
        /// Login handshake and TLS.
        Login => "login",
        /// Producing rows of system views.
        View => "view",
        /// Collecting events for event sessions.
        Events => "events",
        /// Walking over old versions of a row to the one that a snapshot sees.
        Versions => "versions",
        /// Adding the keys of a written row to the second index of its table and those after it.
        IndexMaintenance => "index maintenance",
    }
}

/// The kinds of [`super::Spent`].
#[derive(Clone, Copy)]
pub(super) enum Top {
    User,
    Kernel,
    Spin,
    Wait,
    Signal,
    Observing,
    Idle,
    Runnable,
    Blocked,
}

pub(super) const TOPS: usize = Top::Blocked as usize + 1;

/// The kind for which each cell's time counts.
pub(super) static TOP_OF: [u8; CELLS] = {
    let mut tops = [Top::User as u8; CELLS];
    tops[POLLING] = Top::Idle as u8;
    tops[IDLE] = Top::Idle as u8;
    tops[OBSERVING] = Top::Observing as u8;
    let mut at = KERNEL;
    while at < END {
        tops[at] = if at < WAIT {
            Top::Kernel as u8
        } else if at < SIGNAL {
            Top::Wait as u8
        } else if at < SPIN {
            Top::Signal as u8
        } else {
            Top::Spin as u8
        };
        at += 1;
    }
    tops
};

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_cell_has_its_state() {
        for index in (0..END).filter(|&index| index != TURN) {
            assert_eq!(State::of_index(index).index(), index);
        }
        assert_eq!(State::of_index(TURN), State::Scheduling);
    }
}
