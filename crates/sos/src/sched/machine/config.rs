//! `MachineConfig`: the settings that a machine is started with.

use crate::ledger::SourceChoice;
use crate::sampler;

/// The settings of a [`super::Machine`].
#[derive(Clone, Debug)]
pub struct MachineConfig {
    /// Schedulers; 0 for one per CPU that the process may use, within the quota of its container.
    pub schedulers: usize,
    /// Workers at most; 0 for 512, or 16 per scheduler if that is more.
    pub workers_max: usize,
    /// Whether each scheduler's workers are tied to one CPU.
    pub affinity: Affinity,
    /// How the ledger distinguishes time on a CPU from time off it.
    pub ledger: SourceChoice,
    /// How often the sampler looks at each thread, per second of its CPU time; 0 for never.
    pub sampling_rate_hz: u32,
}

/// Where workers may run.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Affinity {
    /// On any CPU that the kernel chooses.
    Free,
    /// Only on their scheduler's CPU.
    Pinned,
}

impl Default for MachineConfig {
    fn default() -> Self {
        Self {
            schedulers: 0,
            workers_max: 0,
            affinity: Affinity::Free,
            ledger: SourceChoice::Auto,
            sampling_rate_hz: sampler::RATE_HZ,
        }
    }
}
