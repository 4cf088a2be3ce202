//! `Contents`: the bytes of a file, those that are durable, and what was changed since.
//!
//! After a power loss each sector of 512 bytes is as it was after some of the changes since the last
//! sync, and each sector may be at another one: that is a cache that writes back in any order. A
//! sector is never mixed. The length is at some change, too.

use std::collections::{BTreeMap, BTreeSet};
use std::io;

use crate::error;
use crate::random::Random;

/// Bytes that a device writes as a whole or not at all.
pub(crate) const SECTOR: u64 = 512;

/// Bytes of the unit in which a file takes room.
pub(crate) const BLOCK: u64 = 4096;

/// Longest file, because its bytes are in memory.
const LEN_MAX: u64 = 1 << 30;

/// A change of a file's bytes that is not durable yet.
#[derive(Debug)]
enum Change {
    Write { offset: usize, bytes: Vec<u8> },
    SetLen(usize),
}

/// Which of the changes since the last sync a power loss keeps.
#[derive(Clone, Copy, Debug)]
enum Fate {
    /// It keeps none of them.
    Lost,
    /// It keeps all of them.
    Kept,
    /// It keeps this number of them; the next one is torn.
    Torn(usize),
    /// Each sector, and the length, has seen another number of them.
    Reordered,
}

impl Fate {
    fn draw(changes: usize, random: &mut Random) -> Self {
        match random.below(4) {
            0 => Self::Lost,
            1 => Self::Kept,
            2 => Self::Torn(random.index(changes + 1)),
            _ => Self::Reordered,
        }
    }

    /// Returns how many of the changes a sector, or the length, has seen.
    fn seen(self, changes: usize, random: &mut Random) -> usize {
        match self {
            Self::Lost => 0,
            Self::Kept => changes,
            Self::Torn(kept) => (kept + usize::from(random.coin())).min(changes),
            Self::Reordered => random.index(changes + 1),
        }
    }
}

/// The bytes of a file.
#[derive(Debug, Default)]
pub(crate) struct Contents {
    /// The bytes that reads return.
    live: Vec<u8>,
    /// What a power loss keeps at least.
    durable: Vec<u8>,
    unsynced: Vec<Change>,
    /// The numbers of the blocks that take room. A hole takes none.
    blocks: BTreeSet<u64>,
}

/// Converts an offset or length, which the system refuses beyond the longest file.
fn in_memory(bytes: Option<u64>) -> io::Result<usize> {
    let bytes = bytes.filter(|bytes| *bytes <= LEN_MAX).ok_or_else(error::too_large)?;
    usize::try_from(bytes).map_err(|_| error::too_large())
}

fn apply(change: &Change, to: &mut Vec<u8>) {
    match change {
        Change::Write { offset, bytes } => {
            let end = offset + bytes.len();
            if to.len() < end {
                to.resize(end, 0);
            }
            to[*offset..end].copy_from_slice(bytes);
        }
        Change::SetLen(len) => to.resize(*len, 0),
    }
}

/// The numbers of the units of this size that a range is in.
const fn units(offset: u64, end: u64, size: u64) -> std::ops::Range<u64> {
    if offset < end { offset / size..end.div_ceil(size) } else { 0..0 }
}

/// The sectors that a change writes in a file of this length. Those of a cut are zeros afterwards.
fn sectors(change: &Change, len: usize) -> std::ops::Range<u64> {
    let (offset, end) = match change {
        Change::Write { offset, bytes } => (*offset, offset + bytes.len()),
        Change::SetLen(to) => (*to, len),
    };
    units(offset as u64, end as u64, SECTOR)
}

/// Copies a sector, which reads as zeros beyond the end of `from`.
fn copy_sector(sector: u64, from: &[u8], to: &mut Vec<u8>) {
    let size = usize::try_from(SECTOR).expect("a sector is small");
    let start = usize::try_from(sector).expect("files are in memory") * size;
    if to.len() < start + size {
        to.resize(start + size, 0);
    }
    let bytes = &from[start.min(from.len())..(start + size).min(from.len())];
    to[start..start + bytes.len()].copy_from_slice(bytes);
    to[start + bytes.len()..start + size].fill(0);
}

impl Contents {
    pub(crate) const fn len(&self) -> usize {
        self.live.len()
    }

    pub(crate) fn bytes(&self) -> &[u8] {
        &self.live
    }

    /// Bytes of room that the file takes.
    pub(crate) fn room(&self) -> u64 {
        self.blocks.len() as u64 * BLOCK
    }

    pub(crate) fn read(&self, offset: u64, into: &mut [u8]) -> usize {
        let start = usize::try_from(offset).unwrap_or(usize::MAX).min(self.live.len());
        let count = into.len().min(self.live.len() - start);
        into[..count].copy_from_slice(&self.live[start..start + count]);
        count
    }

    fn change(&mut self, change: Change) {
        apply(&change, &mut self.live);
        self.unsynced.push(change);
    }

    /// Takes blocks of the range in their order while there is room for them; returns the end of
    /// what has room.
    fn take_room(&mut self, offset: u64, end: u64, mut room: u64) -> u64 {
        for block in units(offset, end, BLOCK) {
            if self.blocks.contains(&block) {
                continue;
            }
            if room < BLOCK {
                return (block * BLOCK).clamp(offset, end);
            }
            room -= BLOCK;
            self.blocks.insert(block);
        }
        end
    }

    /// Writes the bytes for which there is room.
    pub(crate) fn write(&mut self, offset: u64, bytes: &[u8], room: u64) -> io::Result<()> {
        let start = in_memory(Some(offset))?;
        let end = in_memory(offset.checked_add(bytes.len() as u64))?;
        let fits = in_memory(Some(self.take_room(offset, end as u64, room)))?;
        if start < fits {
            let bytes = bytes[..fits - start].to_vec();
            self.change(Change::Write { offset: start, bytes });
        }
        if fits < end { Err(error::full()) } else { Ok(()) }
    }

    pub(crate) fn set_len(&mut self, len: u64) -> io::Result<()> {
        let len = in_memory(Some(len))?;
        self.change(Change::SetLen(len));
        let end = (len as u64).div_ceil(BLOCK);
        self.blocks.retain(|block| *block < end);
        Ok(())
    }

    /// Takes room for a range; the part that has it counts when the rest has none.
    pub(crate) fn allocate(&mut self, offset: u64, len: u64, room: u64) -> io::Result<()> {
        if len == 0 {
            return Err(io::ErrorKind::InvalidInput.into());
        }
        let end = in_memory(offset.checked_add(len))?;
        let fits = in_memory(Some(self.take_room(offset, end as u64, room)))?;
        if fits > self.live.len() && fits as u64 > offset {
            self.change(Change::SetLen(fits));
        }
        if fits < end { Err(error::full()) } else { Ok(()) }
    }

    pub(crate) fn sync(&mut self) {
        for change in self.unsynced.drain(..) {
            apply(&change, &mut self.durable);
        }
    }

    /// What a device would have if the power failed now.
    fn survivors(&self, random: &mut Random) -> Vec<u8> {
        let changes = self.unsynced.len();
        let fate = Fate::draw(changes, random);
        let len_seen = fate.seen(changes, random);
        let mut seen = BTreeMap::new();
        let mut cache = self.durable.clone();
        let mut device = self.durable.clone();
        let mut len = self.durable.len();
        for (number, change) in self.unsynced.iter().enumerate() {
            let sectors = sectors(change, cache.len());
            apply(change, &mut cache);
            for sector in sectors {
                let seen = seen.entry(sector).or_insert_with(|| fate.seen(changes, random));
                if number < *seen {
                    copy_sector(sector, &cache, &mut device);
                }
            }
            if number < len_seen {
                len = cache.len();
            }
        }
        device.resize(len, 0);
        device
    }

    /// Drops what was not synced, but for the part that reached the device. Some file systems then
    /// read what the device has, others what was written, until it leaves the cache.
    pub(crate) fn fail_sync(&mut self, random: &mut Random) {
        self.durable = self.survivors(random);
        self.unsynced.clear();
        if random.coin() {
            self.live.clone_from(&self.durable);
        }
    }

    pub(crate) fn lose_power(&mut self, random: &mut Random) {
        self.live = self.survivors(random);
        self.durable.clone_from(&self.live);
        self.unsynced.clear();
        self.blocks = units(0, self.live.len() as u64, BLOCK).collect();
    }

    /// Inverts a bit of the live and of the durable bytes; false if the file is shorter.
    pub(crate) fn flip(&mut self, offset: usize, bit: u8) -> bool {
        for bytes in [&mut self.live, &mut self.durable] {
            if let Some(byte) = bytes.get_mut(offset) {
                *byte ^= 1 << (bit % 8);
            }
        }
        offset < self.live.len()
    }
}
