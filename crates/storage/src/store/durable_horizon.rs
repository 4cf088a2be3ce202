//! `DurableHorizon`: up to which time garbage may be collected while its successors are not durable.
//!
//! Should the log fail, readers go on with the versions below those that are not durable (`Lost`).
//! So a version stays until the commit that replaced it is durable. The horizon is a time before
//! which all commits were durable at some later moment:
//!
//! ```text
//! time t ─► barrier: no commit announced so far has a later epoch than b ─► b is durable: t counts
//! ```
//!
//! A commit that is announced after the barrier was read takes its time after `t`.

use crate::durability::CommitLog;
use crate::primitives::{Clock, Mutant, Timestamp, is_mutant};

/// The horizon of one queue of garbage.
pub(crate) struct DurableHorizon {
    /// All commits up to this time are durable.
    known: Timestamp,
    /// A time that counts when this epoch is durable.
    next: Option<(Timestamp, u64)>,
}

impl Default for DurableHorizon {
    fn default() -> Self {
        Self { known: Timestamp(0), next: None }
    }
}

impl DurableHorizon {
    /// Returns the horizon as it is now.
    pub(crate) fn advance(&mut self, log: &dyn CommitLog, clock: &Clock) -> Timestamp {
        let now = clock.snapshot();
        if is_mutant(Mutant::CollectedBeforeDurable) {
            return now;
        }
        match (log.barrier(), self.next) {
            (0, _) => (self.known, self.next) = (now, None),
            (barrier, Some((time, epoch))) if log.durable() >= epoch => {
                (self.known, self.next) = (time, Some((now, barrier)));
            }
            (barrier, None) => self.next = Some((now, barrier)),
            (_, Some(_)) => {}
        }
        self.known
    }
}
