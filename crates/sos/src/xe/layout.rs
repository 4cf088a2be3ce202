//! `Layout`: how a session's MAX_MEMORY is divided into partitions and tables. Pure arithmetic.

use super::error::XeError;
use super::filling::SEGMENTS;
use super::spec::{PartitionMode, SessionOptions};

/// The partitions of a session, unless its memory is small or it has one per CPU.
const PARTITIONS: usize = 8;
/// The least partitions of a recorder: fewer and larger ones remember more events of a single
/// thread.
const RECORDERS_MIN: usize = 4;
/// Buffers do not get smaller than this for the sake of more partitions.
const BUFFER_BYTES_LOW: u64 = 16 << 10;
/// The least size of a buffer.
const BUFFER_BYTES_MIN: u64 = 1 << 10;
/// The room for one record that only histograms see.
const SCRATCH_BYTES_MAX: u64 = 64 << 10;

/// How a session uses its records.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Use {
    /// Only histograms see them, at once.
    Scratch,
    /// The dispatcher gives them to targets.
    HandedOn,
    /// The newest ones stay in the partitions until a reader asks.
    Recorder,
}

/// The division of a session's memory.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Layout {
    /// How records are used.
    pub(super) becomes: Use,
    /// The number of partitions, and of shards of each histogram.
    pub(super) partitions: usize,
    /// The size of one buffer.
    pub(super) buffer_bytes: usize,
    /// Buffers per partition: the one that is filled, and one that is being dispatched, if records
    /// are dispatched.
    pub(super) buffers_each: usize,
    /// The size of one buffer for large events; there are two, or none if this is 0.
    pub(super) large_bytes: usize,
}

impl Layout {
    /// Divides the memory. `shard_bytes` is the size of one shard of all histograms together.
    pub(super) fn of(
        options: &SessionOptions,
        cpus: usize,
        shard_bytes: u64,
        becomes: Use,
    ) -> Result<Self, XeError> {
        let buffers_each: u64 = if becomes == Use::HandedOn { 2 } else { 1 };
        let usual = match becomes {
            Use::Recorder => cpus.clamp(RECORDERS_MIN, PARTITIONS),
            Use::Scratch | Use::HandedOn => PARTITIONS,
        };
        let wanted = match options.partition_mode {
            PartitionMode::None | PartitionMode::PerNode => usual,
            PartitionMode::PerCpu => cpus.max(usual),
        };
        let max = options.memory();
        let mut partitions = wanted as u64;
        while partitions > 1
            && (partitions * shard_bytes > max / 2
                || (max - partitions * shard_bytes) / (partitions * buffers_each)
                    < BUFFER_BYTES_LOW)
        {
            partitions = partitions.div_ceil(2);
        }
        let tables = partitions * shard_bytes;
        let left = max.saturating_sub(tables) / (partitions * buffers_each);
        if left < BUFFER_BYTES_MIN {
            let needed = shard_bytes + buffers_each * BUFFER_BYTES_MIN;
            return Err(XeError::MemoryTooSmall { needed });
        }
        let buffer = match becomes {
            Use::Scratch => left.min(SCRATCH_BYTES_MAX),
            Use::HandedOn | Use::Recorder => left,
        };
        let record_max = if becomes == Use::Recorder { buffer / SEGMENTS as u64 } else { buffer };
        let large = if options.max_event_size > record_max { options.max_event_size } else { 0 };
        let size = |bytes: u64| usize::try_from(bytes).unwrap_or(usize::MAX);
        Ok(Self {
            becomes,
            partitions: size(partitions),
            buffer_bytes: size(buffer),
            buffers_each: size(buffers_each),
            large_bytes: size(large),
        })
    }

    /// The size of all buffers.
    pub(super) const fn bytes(&self) -> u64 {
        let regular = self.partitions * self.buffers_each * self.buffer_bytes;
        (regular + 2 * self.large_bytes) as u64
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn layout(max_memory: u64, shard_bytes: u64, becomes: Use) -> Result<Layout, XeError> {
        let options = SessionOptions { max_memory, ..SessionOptions::default() };
        Layout::of(&options, 4, shard_bytes, becomes)
    }

    #[test]
    fn buffers_and_tables_never_take_more_than_max_memory() {
        for shift in 12..34 {
            let max = 1_u64 << shift;
            for shard in [0, 100, 32 << 10, 4 << 20, 1 << 30] {
                for becomes in [Use::Scratch, Use::HandedOn, Use::Recorder] {
                    let Ok(layout) = layout(max, shard, becomes) else { continue };
                    let all = layout.bytes() + layout.partitions as u64 * shard;
                    assert!(all <= max, "{max} {shard} {becomes:?}: {layout:?}");
                    assert!(layout.partitions >= 1 && layout.buffer_bytes >= 1024);
                }
            }
        }
    }

    #[test]
    fn the_default_has_eight_partitions_of_two_buffers() {
        let layout = layout(4 << 20, 0, Use::HandedOn).expect("the default works");
        assert_eq!((layout.partitions, layout.buffer_bytes), (8, 256 << 10));
        let layout = self::layout(4 << 20, 0, Use::Recorder).expect("the default works");
        assert_eq!((layout.partitions, layout.buffer_bytes), (4, 1 << 20));
    }

    #[test]
    fn tables_that_do_not_fit_are_refused_with_what_they_need() {
        let needed = (1 << 20) + 2048;
        assert_eq!(
            layout(1 << 20, 1 << 20, Use::HandedOn),
            Err(XeError::MemoryTooSmall { needed })
        );
    }
}
