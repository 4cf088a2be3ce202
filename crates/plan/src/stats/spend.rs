//! `Spend`: how much time went where, between two edges.

use std::ops::{Add, AddAssign, Sub};

use sos::ledger::{self, Spent};

/// Where the time of a statement goes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Part {
    /// Running in the server's own code.
    User,
    /// In system calls.
    Kernel,
    /// Spinning on locks.
    Spin,
    /// Waiting for something.
    ResourceWait,
    /// Waiting for a scheduler after that has come.
    SignalWait,
    /// Reading the books.
    Observing,
    /// Running, as far as the server knows, but another thread had the CPU.
    Runnable,
    /// Running, as far as the server knows, but the kernel had put the thread to sleep.
    Blocked,
}

impl Part {
    /// All of them.
    pub const ALL: [Self; Self::COUNT] = [
        Self::User,
        Self::Kernel,
        Self::Spin,
        Self::ResourceWait,
        Self::SignalWait,
        Self::Observing,
        Self::Runnable,
        Self::Blocked,
    ];
    /// How many there are.
    pub const COUNT: usize = 8;

    /// Its place in [`Part::ALL`].
    pub const fn index(self) -> usize {
        self as usize
    }

    /// The category that the ledger's views call it by.
    pub const fn name(self) -> &'static str {
        match self {
            Self::User => "user",
            Self::Kernel => "kernel",
            Self::Spin => "spin",
            Self::ResourceWait => "wait",
            Self::SignalWait => "signal",
            Self::Runnable => "runnable",
            Self::Blocked => "unexpected blocking",
            Self::Observing => "observation",
        }
    }
}

/// Ticks by part, modulo 2^64: a part may be below zero for a while, because the ledger corrects one
/// part in favour of another once it learns of a switch. The sum of the parts is the time that passed.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Spend([u64; Part::COUNT]);

impl Spend {
    /// Asks for each part.
    pub fn of(ticks: impl Fn(Part) -> u64) -> Self {
        Self(Part::ALL.map(ticks))
    }

    /// Returns one part.
    pub const fn part(&self, part: Part) -> u64 {
        self.0[part.index()]
    }

    /// Returns one part as views show it: what is below zero is nothing.
    pub const fn shown(&self, part: Part) -> u64 {
        not_negative(self.part(part))
    }

    /// Tells whether anything but running time has passed.
    pub fn has_more_than_user(&self) -> bool {
        self.parts().any(|(part, ticks)| part != Part::User && ticks != 0)
    }

    /// Iterates over the parts.
    pub fn parts(&self) -> impl Iterator<Item = (Part, u64)> + '_ {
        Part::ALL.into_iter().zip(self.0)
    }

    /// Time on a CPU: what SQL Server calls worker time.
    pub const fn worker(&self) -> u64 {
        let user = self.part(Part::User).wrapping_add(self.part(Part::Kernel));
        let rest = self.part(Part::Spin).wrapping_add(self.part(Part::Observing));
        not_negative(user.wrapping_add(rest))
    }

    /// Time with a scheduler: all but waits.
    pub const fn scheduled(&self) -> u64 {
        let off_cpu = self.part(Part::Runnable).wrapping_add(self.part(Part::Blocked));
        not_negative(self.worker().wrapping_add(off_cpu))
    }

    /// All time.
    pub fn elapsed(&self) -> u64 {
        not_negative(self.0.iter().fold(0, |sum: u64, ticks| sum.wrapping_add(*ticks)))
    }
}

impl Add for Spend {
    type Output = Self;
    fn add(self, other: Self) -> Self {
        Self(std::array::from_fn(|i| self.0[i].wrapping_add(other.0[i])))
    }
}

impl AddAssign for Spend {
    fn add_assign(&mut self, other: Self) {
        *self = *self + other;
    }
}

impl Sub for Spend {
    type Output = Self;
    fn sub(self, earlier: Self) -> Self {
        Self(std::array::from_fn(|i| self.0[i].wrapping_sub(earlier.0[i])))
    }
}

const fn not_negative(ticks: u64) -> u64 {
    if ticks.cast_signed() < 0 { 0 } else { ticks }
}

/// Reads the clock: what the thread has spent so far, and the time.
pub(super) fn now() -> (Spend, u64) {
    let spent = ledger::spent();
    (spent.into(), ledger::now_at_edge())
}

/// Returns what the thread had spent at the last edge that the ledger took, and when that was.
#[inline]
pub(super) fn at_edge() -> (Spend, u64) {
    (ledger::spent_at_edge().into(), ledger::now_at_edge())
}

/// Returns when the ledger took its last edge of the thread: who finds the same time twice has seen
/// no edge in between.
#[inline]
pub(super) fn edge() -> u64 {
    ledger::now_at_edge()
}

impl From<Spent> for Spend {
    /// The parts stand in the ledger's order.
    #[inline]
    fn from(spent: Spent) -> Self {
        Self(spent.as_ticks())
    }
}
