//! `State`: which caches have a cache line, on a machine with one unlimited cache per scheduler.
//!
//! | state                       | meaning                                                         |
//! |-----------------------------|-----------------------------------------------------------------|
//! | untouched                   | no cache has it                                                 |
//! | owner                       | one scheduler alone has it: its stores cost nothing             |
//! | owner, others               | another scheduler has read it since: the next store is shared   |
//! | (owner,) background         | a background thread has touched it since                        |
//!
//! A store invalidates the line in all other caches: its scheduler is then the only owner.

/// The owner of a line in the low bits, and which others have read it since the owner's last write.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct State(u16);

/// A cache of the census: a scheduler's number plus one, or the one cache of all background
/// threads.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Domain {
    /// The workers of a scheduler, of which one runs at a time.
    Scheduler(u16),
    /// Threads on which no request runs.
    Background,
}

/// An access to a line.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Access {
    /// The line is read.
    Load,
    /// The line is written.
    Store,
    /// The line is read and written in one step, or that was attempted.
    ReadModifyWrite,
}

/// The cost of an access.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Cost {
    /// Nothing: the line was in this cache, or in no cache.
    Own,
    /// The line is transferred from a scheduler, or taken from one.
    Shared,
    /// The line is transferred from a background thread, or taken from one.
    Background,
}

impl Domain {
    /// Returns the domain of a scheduler.
    ///
    /// # Panics
    /// If there are more schedulers than a state has room for.
    pub fn of_scheduler(id: u32) -> Self {
        let number = u16::try_from(id).ok().filter(|&number| number < SCHEDULERS_MAX);
        Self::Scheduler(number.expect("a few thousand schedulers"))
    }
}

const OWNER_MASK: u16 = 0x3FFF;
const OTHERS: u16 = 0x4000;
const BACKGROUND: u16 = 0x8000;

/// Most schedulers that can be distinguished.
pub const SCHEDULERS_MAX: u16 = OWNER_MASK - 1;

impl State {
    /// Returns the state as it is stored.
    pub const fn to_bits(self) -> u16 {
        self.0
    }

    /// Returns the state from its stored form.
    pub const fn from_bits(bits: u16) -> Self {
        Self(bits)
    }

    /// Returns the state after an access, and the access's cost.
    #[inline]
    pub const fn after(self, domain: Domain, access: Access) -> (Self, Cost) {
        match (domain, access) {
            (Domain::Scheduler(number), Access::Load) => self.after_load(number + 1),
            (Domain::Scheduler(number), Access::Store | Access::ReadModifyWrite) => {
                self.after_store(number + 1)
            }
            (Domain::Background, _) => self.after_background(),
        }
    }

    const fn after_load(self, reader: u16) -> (Self, Cost) {
        let owner = self.0 & OWNER_MASK;
        if owner == 0 {
            return (Self(self.0 | reader), Cost::Own);
        }
        if owner == reader || self.0 & OTHERS != 0 {
            return (self, Cost::Own);
        }
        (Self(self.0 | OTHERS), Cost::Shared)
    }

    const fn after_store(self, writer: u16) -> (Self, Cost) {
        let owner = self.0 & OWNER_MASK;
        let cost = if self.0 & OTHERS != 0 || (owner != writer && owner != 0) {
            Cost::Shared
        } else if self.0 & BACKGROUND != 0 {
            Cost::Background
        } else {
            Cost::Own
        };
        (Self(writer), cost)
    }

    /// A background thread does not become the owner: what matters is which scheduler pays when it
    /// accesses the line again.
    const fn after_background(self) -> (Self, Cost) {
        let cost =
            if self.0 & BACKGROUND == 0 && self.0 != 0 { Cost::Background } else { Cost::Own };
        (Self(self.0 | BACKGROUND), cost)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const A: Domain = Domain::Scheduler(0);
    const B: Domain = Domain::Scheduler(1);

    /// Applies accesses to one line and returns the cost of the last one.
    fn last_cost(accesses: &[(Domain, Access)]) -> Cost {
        let mut state = State::default();
        let mut last = Cost::Own;
        for &(domain, access) in accesses {
            (state, last) = state.after(domain, access);
        }
        last
    }

    #[test]
    fn a_line_of_one_scheduler_is_free() {
        let accesses = [(A, Access::Store), (A, Access::Load), (A, Access::ReadModifyWrite)];
        assert_eq!(last_cost(&accesses), Cost::Own);
    }

    #[test]
    fn a_store_to_what_another_wrote_is_shared() {
        assert_eq!(last_cost(&[(A, Access::Store), (B, Access::Store)]), Cost::Shared);
        assert_eq!(last_cost(&[(A, Access::Store), (B, Access::ReadModifyWrite)]), Cost::Shared);
    }

    #[test]
    fn a_store_to_what_another_has_read_is_shared_once() {
        let accesses = [(A, Access::Store), (B, Access::Load), (A, Access::Store)];
        assert_eq!(last_cost(&accesses), Cost::Shared);
        let again = [&accesses[..], &[(A, Access::Store)]].concat();
        assert_eq!(last_cost(&again), Cost::Own);
    }

    #[test]
    fn reading_what_is_only_read_is_free() {
        let accesses = [(A, Access::Load), (B, Access::Load), (A, Access::Load)];
        assert_eq!(last_cost(&accesses), Cost::Own);
    }

    #[test]
    fn the_first_read_of_what_another_wrote_is_shared() {
        assert_eq!(last_cost(&[(A, Access::Store), (B, Access::Load)]), Cost::Shared);
        let again = [(A, Access::Store), (B, Access::Load), (B, Access::Load)];
        assert_eq!(last_cost(&again), Cost::Own);
    }

    #[test]
    fn a_background_thread_is_told_apart() {
        let looked = [(A, Access::Store), (Domain::Background, Access::Load), (A, Access::Store)];
        assert_eq!(last_cost(&looked), Cost::Background);
        let both = [
            (A, Access::Store),
            (Domain::Background, Access::Store),
            (B, Access::Load),
            (A, Access::Store),
        ];
        assert_eq!(last_cost(&both), Cost::Shared);
    }

    #[test]
    fn a_background_thread_does_not_hide_the_scheduler_before_it() {
        let accesses =
            [(A, Access::Store), (Domain::Background, Access::Store), (B, Access::Store)];
        assert_eq!(last_cost(&accesses), Cost::Shared);
    }
}
