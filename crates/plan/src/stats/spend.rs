//! `Spend`: time between two edges, by category.

use std::ops::{Add, AddAssign, Sub};

use sos::ledger::{self, Spent};

/// The categories of a statement's time.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Part {
    /// Running in the server's own code.
    User,
    /// Running in a system call.
    Kernel,
    /// Spinning on a lock or latch.
    Spin,
    /// Waiting for a resource, such as a lock.
    ResourceWait,
    /// Waiting for a scheduler after the resource became free.
    SignalWait,
    /// Running diagnostics, such as extended events.
    Observing,
    /// Running as far as the server knows, while another thread had the CPU.
    Runnable,
    /// Running as far as the server knows, while the kernel had the thread blocked.
    Blocked,
}

impl Part {
    /// All categories, in index order.
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
    /// Number of categories in [`Part::ALL`].
    pub const COUNT: usize = 8;

    /// Returns its index in [`Part::ALL`].
    pub const fn index(self) -> usize {
        self as usize
    }

    /// Returns the name of its category in the ledger's views.
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

/// Ticks by category, modulo 2^64. A category may be negative for a while, because the ledger moves
/// ticks from one to another when it learns of a context switch. The sum is the elapsed time.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Spend([u64; Part::COUNT]);

impl Spend {
    /// Returns the sums that `ticks` gives for each category.
    pub fn of(ticks: impl Fn(Part) -> u64) -> Self {
        Self(Part::ALL.map(ticks))
    }

    /// Returns the ticks of one category.
    pub const fn part(&self, part: Part) -> u64 {
        self.0[part.index()]
    }

    /// Returns the ticks of one category as views show them: 0 if negative.
    pub const fn shown(&self, part: Part) -> u64 {
        not_negative(self.part(part))
    }

    /// Returns whether any time but running time has passed.
    pub fn has_more_than_user(&self) -> bool {
        self.parts().any(|(part, ticks)| part != Part::User && ticks != 0)
    }

    /// Iterates over the categories with their ticks.
    pub fn parts(&self) -> impl Iterator<Item = (Part, u64)> + '_ {
        Part::ALL.into_iter().zip(self.0)
    }

    /// Returns these ticks with the running time `weight` times.
    #[inline]
    pub(super) const fn weighted(mut self, weight: u64) -> Self {
        let user = Part::User.index();
        self.0[user] = self.0[user].wrapping_mul(weight);
        self
    }

    /// Returns whether a category is negative.
    #[inline]
    pub(super) fn has_negative(&self) -> bool {
        self.0.iter().fold(0, |all, ticks| all | ticks).cast_signed() < 0
    }

    /// Returns the CPU time, which SQL Server calls worker time.
    pub const fn worker(&self) -> u64 {
        let user = self.part(Part::User).wrapping_add(self.part(Part::Kernel));
        let rest = self.part(Part::Spin).wrapping_add(self.part(Part::Observing));
        not_negative(user.wrapping_add(rest))
    }

    /// Returns the time on a scheduler: all but waits.
    pub const fn scheduled(&self) -> u64 {
        let off_cpu = self.part(Part::Runnable).wrapping_add(self.part(Part::Blocked));
        not_negative(self.worker().wrapping_add(off_cpu))
    }

    /// Returns the sum of all categories.
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

/// Reads the clock; returns what the thread has spent so far, and the time.
pub(super) fn now() -> (Spend, u64) {
    let spent = ledger::spent();
    (spent.into(), ledger::now_at_edge())
}

/// Returns what the thread had spent at the ledger's last edge, and when that was.
#[inline]
pub(super) fn at_edge() -> (Spend, u64) {
    (ledger::spent_at_edge().into(), ledger::now_at_edge())
}

/// Returns when the ledger recorded the thread's last edge: two equal results mean no edge in
/// between.
#[inline]
pub(super) fn edge() -> u64 {
    ledger::now_at_edge()
}

impl From<Spent> for Spend {
    /// The ledger has its categories in the order of [`Part::ALL`].
    #[inline]
    fn from(spent: Spent) -> Self {
        Self(spent.as_ticks())
    }
}
