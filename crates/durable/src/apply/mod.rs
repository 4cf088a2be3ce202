//! Applies the changes of a log to the rows of tables, as the log is read.
//!
//! ```text
//! reader   a group: checked, its changes in the order of their timestamps ─► chunks of batches ─┐
//! appliers ◄── each the changes of its rows, in order: decode, assemble, put ◄──────────────────┘
//! ```
//!
//! Nothing is copied and nothing is kept: an applier decodes a row from the batch as it was read, and the
//! buffers of batches are used again. A row belongs to one applier, so its changes stay in their order.

use std::collections::{HashMap, HashSet};
use std::mem;
use std::sync::Arc;
use std::sync::mpsc::{Receiver, SyncSender, sync_channel};

use log::{BLOCK_BYTES, Change as RowChange, ColumnsOnce, Group, OwnedBatch};
use sos::lock::{SpinClass, SpinLock};
use storage::recovery::{Restore, Source};
use storage::{RowId, RowImage, TableId};
use types::row::{RowBuffer, RowLayout};

use crate::images::{self, table_and_part};
use crate::replay::{Change, Counts, RowPlace, Transactions, Wanted};

/// Rows that are near one another in memory and belong to one applier.
const SHARE_ROWS: u64 = if cfg!(test) { 4 } else { 1 << 14 };
/// A chunk is sent when it has this many bytes of batches.
const CHUNK_BYTES: usize = if cfg!(test) { 1 << 8 } else { 1 << 20 };
/// Most appliers: one thread reads for them.
const APPLIERS_MAX: usize = 8;
/// Bytes of buffers that are kept to be used again.
const BUFFER_BYTES_MAX: usize = 64 << 20;

/// A table whose rows are being put back.
pub(crate) struct Target<'t> {
    pub(crate) id: TableId,
    pub(crate) restore: Restore<'t>,
    pub(crate) layout: &'t RowLayout,
}

/// The tables of a start.
pub(crate) type Targets<'t> = HashMap<TableId, Target<'t>>;

/// Applies a change to a row of a part; returns false if it needs a row that is not there. `buffer` is
/// undefined behind that.
///
/// # Errors
/// What is wrong with it.
pub(crate) fn apply_change(
    restore: &Restore<'_>,
    (part, layout): (u8, Option<&RowLayout>),
    row: u64,
    change: RowChange<'_>,
    buffer: &mut RowBuffer,
) -> Result<bool, String> {
    let id = RowId(row);
    let named = |why: &dyn std::fmt::Display| format!("row {row} of part {part}: {why}");
    let assemble = |base: Option<RowImage<'_>>, mut columns: ColumnsOnce<'_>, buffer: &mut _| {
        images::assemble(layout, base, columns.by_ref(), buffer)?;
        columns.end().map_err(|error| error.to_string())
    };
    match change {
        RowChange::Gone => {
            let is_placed = restore.remove(part, id, Source::Log);
            return if is_placed { Ok(true) } else { Err(named(&"no table has such a row")) };
        }
        RowChange::Whole(columns) => assemble(None, columns, buffer),
        RowChange::Part(columns) => {
            let assembled = restore
                .show(part, id, |base| base.map(|base| assemble(Some(base), columns, buffer)));
            let Some(assembled) = assembled else { return Ok(false) };
            assembled
        }
    }
    .map_err(|why| named(&why))?;
    let is_placed = restore.put(part, id, RowImage::from(&*buffer), Source::Log);
    match is_placed.map_err(|error| named(&error))? {
        true => Ok(true),
        false => Err(named(&"no table has such a row")),
    }
}

/// Applies what was collected of the rows of a part.
///
/// # Errors
/// What is wrong with it.
pub(crate) fn apply_collected(
    restore: &Restore<'_>,
    of: (u8, Option<&RowLayout>),
    rows: &[(u64, Change)],
) -> Result<(), String> {
    let mut buffer = RowBuffer::default();
    for (row, change) in rows {
        let change = match change {
            Change::Gone => RowChange::Gone,
            Change::Whole(columns) => RowChange::Whole(columns.iter().into()),
            Change::Part(columns) => RowChange::Part(columns.iter().into()),
        };
        if !apply_change(restore, of, *row, change, &mut buffer)? {
            return Err(missing(*row, of.0));
        }
    }
    Ok(())
}

fn missing(row: u64, part: u8) -> String {
    format!("row {row} of part {part}: it has changed and was never inserted")
}

/// Batches that were read, with all changes of some groups.
#[derive(Debug, Default)]
struct Chunk {
    batches: Vec<OwnedBatch>,
    /// Where the buffers go when no applier needs the chunk any more.
    buffers: Arc<Buffers>,
}

/// Buffers to be used again: new memory costs more than reading a batch into it.
#[derive(Debug)]
struct Buffers(SpinLock<FreeBuffers>);

#[derive(Debug, Default)]
struct FreeBuffers {
    buffers: Vec<Vec<u8>>,
    bytes: usize,
}

impl Default for Buffers {
    fn default() -> Self {
        Self(SpinLock::new(SpinClass::ServerOther, FreeBuffers::default()))
    }
}

impl Buffers {
    fn take(&self) -> Vec<u8> {
        let mut free = self.0.lock();
        let buffer = free.buffers.pop().unwrap_or_default();
        free.bytes -= buffer.capacity();
        buffer
    }
}

impl Drop for Chunk {
    fn drop(&mut self) {
        let mut free = self.buffers.0.lock();
        for batch in self.batches.drain(..) {
            let buffer = batch.into_buffer();
            if free.bytes + buffer.capacity() <= BUFFER_BYTES_MAX {
                free.bytes += buffer.capacity();
                free.buffers.push(buffer);
            }
        }
    }
}

/// A change in a chunk.
#[derive(Clone, Copy, Debug)]
struct ChunkPlace {
    batch: usize,
    place: RowPlace,
}

/// The changes of a chunk that belong to one applier.
type Part = (Arc<Chunk>, Vec<ChunkPlace>);

/// Puts the rows of some appliers' share into tables.
struct Applier<'t> {
    targets: &'t Targets<'t>,
    buffer: RowBuffer,
    /// Rows of which a part has changed that are not there: a later record of the log has them removed or
    /// inserted, and a checkpoint has seen that already. By table number and row.
    orphans: HashSet<(u32, u64)>,
}

/// Rows that have changed and were never inserted, by table number and row.
pub(crate) type Orphans = Vec<(u32, u64)>;

impl<'t> Applier<'t> {
    fn new(targets: &'t Targets<'t>) -> Self {
        Self { targets, buffer: RowBuffer::default(), orphans: HashSet::new() }
    }

    /// Applies parts of chunks until the sender has gone.
    fn run(mut self, parts: &Receiver<Part>) -> Result<Orphans, String> {
        for (chunk, places) in parts {
            self.apply(&chunk, &places)?;
        }
        Ok(self.finish())
    }

    fn apply(&mut self, chunk: &Chunk, places: &[ChunkPlace]) -> Result<(), String> {
        let mut known: Option<(u32, Option<&Target<'t>>, u8)> = None;
        for ChunkPlace { batch, place } in places {
            let (target, part) = match known {
                Some((table, target, part)) if table == place.table => (target, part),
                _ => {
                    let (id, part) = table_and_part(place.table);
                    let target = self.targets.get(&id);
                    known = Some((place.table, target, part));
                    (target, part)
                }
            };
            // Rows of a table without a definition are left out.
            let Some(target) = target else { continue };
            let batch = &chunk.batches[*batch];
            self.change((target, part), batch.payload(), place).map_err(|why| {
                format!("batch {} of the log: table {}, {why}", batch.header().number, target.id.0)
            })?;
        }
        Ok(())
    }

    fn change(
        &mut self,
        (target, part): (&Target<'t>, u8),
        payload: &[u8],
        place: &RowPlace,
    ) -> Result<(), String> {
        let change = RowChange::at(payload, place.offset).map_err(|error| error.to_string())?;
        let of = (part, (part == 0).then_some(target.layout));
        let is_applied = apply_change(&target.restore, of, place.row, change, &mut self.buffer)?;
        if !is_applied {
            self.orphans.insert((place.table, place.row));
        } else if place.is_whole && !self.orphans.is_empty() {
            self.orphans.remove(&(place.table, place.row));
        }
        Ok(())
    }

    fn finish(self) -> Orphans {
        self.orphans.into_iter().collect()
    }
}

/// Reads groups for appliers.
struct Sender<'t> {
    transactions: Transactions,
    chunk: Chunk,
    chunk_bytes: usize,
    /// Changes of the group that is being read, with their timestamps.
    group: Vec<(u64, ChunkPlace)>,
    /// What the appliers get of the chunk; one that this thread applies itself if there are none.
    places: Vec<Vec<ChunkPlace>>,
    appliers: Vec<SyncSender<Part>>,
    own: Applier<'t>,
}

impl Sender<'_> {
    /// Takes the batches of a group.
    fn group(&mut self, group: &mut Group<'_>) -> Result<(), String> {
        loop {
            let buffer = self.chunk.buffers.take();
            let batch = group.take_batch(buffer).map_err(|error| error.to_string())?;
            let Some(batch) = batch else { break };
            let number = self.chunk.batches.len();
            let changes = &mut self.group;
            self.transactions
                .read(batch.payload(), |timestamp, wanted| {
                    if let Wanted::Change(place) = wanted {
                        changes.push((timestamp, ChunkPlace { batch: number, place }));
                    }
                    Ok(())
                })
                .map_err(|why| format!("batch {} of the log: {why}", batch.header().number))?;
            self.chunk_bytes += batch.payload().len().next_multiple_of(BLOCK_BYTES);
            self.chunk.batches.push(batch);
        }
        self.transactions.order(&mut self.group);
        let shares = self.places.len() as u64;
        for (_, change) in self.group.drain(..) {
            let RowPlace { table, row, .. } = change.place;
            let share = (row / SHARE_ROWS + u64::from(table)) % shares;
            self.places[usize::try_from(share).expect("there are few appliers")].push(change);
        }
        if self.chunk_bytes >= CHUNK_BYTES { self.send() } else { Ok(()) }
    }

    /// Sends the chunk to its appliers.
    fn send(&mut self) -> Result<(), String> {
        let next = Chunk { batches: Vec::new(), buffers: Arc::clone(&self.chunk.buffers) };
        let chunk = Arc::new(mem::replace(&mut self.chunk, next));
        self.chunk_bytes = 0;
        if self.appliers.is_empty() {
            let places = &mut self.places[0];
            self.own.apply(&chunk, places)?;
            places.clear();
            return Ok(());
        }
        for (applier, places) in self.appliers.iter().zip(&mut self.places) {
            if !places.is_empty() {
                let part = (Arc::clone(&chunk), mem::take(places));
                // One that has ended has an error, which is the result of all.
                applier.send(part).map_err(|_| "an applier has ended".to_owned())?;
            }
        }
        Ok(())
    }
}

/// Applies a log to tables, on this thread and as many appliers, if there are to be several.
///
/// # Errors
/// What is wrong with the log, or with a row of it.
pub(crate) fn apply_log(
    log: &mut log::Replay,
    targets: &Targets<'_>,
    threads: usize,
    until_100ns: Option<u64>,
    mut advance: impl FnMut(),
) -> Result<(Counts, Orphans), String> {
    let count = if threads > 1 { threads.min(APPLIERS_MAX) } else { 0 };
    std::thread::scope(|scope| {
        let (mut appliers, mut started) = (Vec::new(), Vec::new());
        for _ in 0..count {
            // One chunk is applied, one waits and one is read: memory is that of three chunks.
            let (sender, parts) = sync_channel(1);
            appliers.push(sender);
            started.push(scope.spawn(move || Applier::new(targets).run(&parts)));
        }
        let mut sender = Sender {
            transactions: Transactions::until(until_100ns),
            chunk: Chunk::default(),
            chunk_bytes: 0,
            group: Vec::new(),
            places: vec![Vec::new(); count.max(1)],
            appliers,
            own: Applier::new(targets),
        };
        let read = read_groups(log, &mut sender, &mut advance);
        let Sender { transactions, appliers, own, .. } = sender;
        drop(appliers);
        let mut orphans = own.finish();
        let failed = |_| Err("a thread of the recovery panicked".to_owned());
        // All of them end before an error is returned.
        let ended: Vec<_> =
            started.into_iter().map(|thread| thread.join().unwrap_or_else(failed)).collect();
        for of_one in ended {
            orphans.extend(of_one?);
        }
        read.map(|()| (transactions.counts, orphans))
    })
}

fn read_groups(
    log: &mut log::Replay,
    sender: &mut Sender<'_>,
    advance: &mut impl FnMut(),
) -> Result<(), String> {
    while let Some(mut group) = log.next_group().map_err(|error| error.to_string())? {
        sender.group(&mut group)?;
        advance();
    }
    sender.send()
}

/// Names orphans for a message.
pub(crate) fn describe_orphan(&(number, row): &(u32, u64)) -> String {
    let (table, part) = table_and_part(number);
    format!("table {}, {}", table.0, missing(row, part))
}

#[cfg(test)]
mod tests;
