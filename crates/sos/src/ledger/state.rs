//! `State`: where a thread's time goes, exactly one place at a time, and the flat numbering of its
//! cells in an account.

use crate::lock::SpinClass;
use crate::registry::registry;
use crate::sys::SysCause;
use crate::wait::WaitType;

/// Where a thread's time goes. A [`Label`] says more precisely what a running thread does.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum State {
    /// Running a request.
    Running,
    /// The machine's own business between two requests.
    Scheduling,
    /// Asking the poller, and sleeping in it: idle, but for the CPU it takes.
    Polling,
    /// Resting until there is need of the thread.
    Idle,
    /// Running work of the server's own.
    Background,
    /// Reading the books, and the kernel's.
    Observing,
    /// In a system call.
    Kernel(SysCause),
    /// Waiting, with its scheduler handed over.
    Wait(WaitType),
    /// Its wait is over, and it waits for its scheduler.
    Signal(WaitType),
    /// Spinning on a lock.
    Spin(SpinClass),
}

/// Cells of an account; a power of two, so that an index needs no check but a mask.
pub(super) const CELLS: usize = 128;

pub(super) const RUNNING: usize = 0;
/// From the end of an answer to the end of the next receive, of a request that is not timed: the
/// scheduler's work and the receive, to be split by the requests that are.
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
/// One past the last cell in use.
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

    /// The state of a cell; both cells of [`Self::Scheduling`] are the same to a reader.
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
            // TURN and SCHEDULING; the rest of the cells is never entered.
            _ => Self::Scheduling,
        }
    }

    /// The state of a cell of that number.
    pub(crate) fn of_cell(number: u8) -> Self {
        Self::of_index(usize::from(number))
    }

    /// The name that views show.
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

    /// Whether a thread in this state is off the CPU by its nature.
    pub(super) const fn waits(self) -> bool {
        matches!(self, Self::Polling | Self::Idle | Self::Wait(_) | Self::Signal(_))
    }
}

/// Whether a system call made in this cell's state has a cell of its own. In the others the state
/// says more about the time than the call does.
#[inline]
pub(super) const fn yields_to_kernel(cell: usize) -> bool {
    matches!(cell, RUNNING | TURN | SCHEDULING | BACKGROUND)
}

registry! {
    /// What a running thread is busy with.
    pub enum Label {
        /// Nothing named: the time shows up as dark.
        None => "none",
        /// Reading a request off the wire.
        Decode => "decode",
        /// Text to syntax tree.
        Parse => "parse",
        /// Names to objects.
        Bind => "bind",
        /// Bound tree to plan.
        Plan => "plan",
        /// Running a plan.
        Execute => "execute",
        /// Reading tables and views row by row, and what is done with a row that has no label.
        Scan => "scan",
        /// Matching the rows of two inputs by a hash table.
        Join => "join",
        /// Putting rows into an order.
        Sort => "sort",
        /// Grouping rows and adding them up.
        Aggregate => "aggregate",
        /// Hash functions of the language.
        Hash => "hash functions",
        /// Index search.
        Index => "index",
        /// Reading or writing row versions.
        Row => "row",
        /// Commit processing.
        Commit => "commit",
        /// Writing log records.
        Log => "log",
        /// Writing a result onto the wire.
        Encode => "encode",
        /// Collecting old versions and retired memory.
        Collect => "collect",
        /// Login and TLS.
        Login => "login",
        /// Building catalog views.
        View => "view",
    }
}

/// The sums that [`super::Spent`] has, and where each cell belongs.
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

/// The sum that a cell's time counts for.
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
