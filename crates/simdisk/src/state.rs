//! `State`: everything that a simulated disk knows, and how a call is made, fails or is cut off.

use std::collections::{BTreeMap, BTreeSet, VecDeque};
use std::io::{self, ErrorKind};

use sos::sys::LockError;

use crate::error;
use crate::fault::{Call, Fault};
use crate::random::Random;
use crate::tree::{NodeId, Tree};

/// Lines of the trace that are kept.
const TRACE_MAX: usize = 4096;

/// Why each call fails.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Down {
    Power,
    Process,
}

/// A call as the trace shows it.
pub(crate) struct Made<'p> {
    call: Call,
    path: &'p str,
    detail: String,
}

impl<'p> Made<'p> {
    pub(crate) const fn new(call: Call, path: &'p str) -> Self {
        Self { call, path, detail: String::new() }
    }

    pub(crate) fn with(mut self, detail: impl FnOnce() -> String) -> Self {
        self.detail = detail();
        self
    }
}

/// A simulated disk, behind its lock.
#[derive(Debug)]
pub(crate) struct State {
    pub(crate) tree: Tree,
    pub(crate) random: Random,
    /// Counts restarts. What was opened in an earlier life is closed.
    life: u64,
    down: Option<Down>,
    operations: u64,
    /// The number of the operation in which the power fails.
    crash_at: Option<u64>,
    faults: Vec<Fault>,
    room: Option<u64>,
    /// Reads of files below this path wait.
    pub(crate) held: Option<String>,
    /// How often each file is open.
    opened: BTreeMap<NodeId, usize>,
    locked: BTreeSet<NodeId>,
    trace: VecDeque<String>,
}

impl State {
    pub(crate) fn new(seed: u64) -> Self {
        Self {
            tree: Tree::new(),
            random: Random::new(seed),
            life: 0,
            down: None,
            operations: 0,
            crash_at: None,
            faults: Vec::new(),
            room: None,
            held: None,
            opened: BTreeMap::new(),
            locked: BTreeSet::new(),
            trace: VecDeque::new(),
        }
    }

    /// Makes a call. `fail` does what a call that fails with EIO has still done.
    pub(crate) fn make<T>(
        &mut self,
        made: &Made<'_>,
        run: impl FnOnce(&mut Self) -> io::Result<T>,
        fail: impl FnOnce(&mut Self),
    ) -> io::Result<T> {
        if self.is_down() {
            return Err(error::down());
        }
        self.operations += u64::from(made.call.is_operation());
        if made.call.is_operation() && self.crash_at == Some(self.operations) {
            match self.random.below(3) {
                0 => drop(run(self)),
                1 => fail(self),
                _ => (),
            }
            self.note_call(made, "is cut off");
            self.go_down(Down::Power);
            return Err(error::down());
        }
        let mut is_hit = false;
        for fault in &mut self.faults {
            is_hit |= fault.hits(made.call, made.path);
        }
        let result = if is_hit {
            fail(self);
            Err(error::device())
        } else {
            run(self)
        };
        match &result {
            Ok(_) => self.note_call(made, "done"),
            Err(error) => self.note_call(made, &error.to_string()),
        }
        result
    }

    fn note_call(&mut self, made: &Made<'_>, outcome: &str) {
        let Made { call, path, detail } = made;
        let gap = if detail.is_empty() { "" } else { " " };
        self.note(format!("{} {call} '{path}'{gap}{detail}: {outcome}", self.operations));
    }

    fn note(&mut self, line: String) {
        if self.trace.len() == TRACE_MAX {
            self.trace.pop_front();
        }
        self.trace.push_back(line);
    }

    pub(crate) fn trace(&self) -> Vec<String> {
        self.trace.iter().cloned().collect()
    }

    pub(crate) const fn operations(&self) -> u64 {
        self.operations
    }

    pub(crate) const fn life(&self) -> u64 {
        self.life
    }

    pub(crate) const fn is_down(&self) -> bool {
        self.down.is_some()
    }

    /// Goes down, unless it is: a process cannot end after the power is cut.
    pub(crate) fn go_down(&mut self, down: Down) {
        if self.down == Some(Down::Power) {
            return;
        }
        self.down = Some(down);
        self.note(format!("{} down: {down:?}", self.operations));
    }

    pub(crate) const fn crash_at(&mut self, operation: u64) {
        self.crash_at = Some(self.operations + operation);
    }

    pub(crate) fn restart(&mut self) {
        let down = self.down.take().expect("only what is down can be restarted");
        if down == Down::Power {
            self.tree.lose_power(&mut self.random);
        }
        self.life += 1;
        self.crash_at = None;
        self.faults.clear();
        self.opened.clear();
        self.locked.clear();
        self.note(format!("{} restarted", self.operations));
    }

    pub(crate) fn fail(&mut self, fault: Fault) {
        self.faults.push(fault);
    }

    pub(crate) const fn set_room(&mut self, bytes: Option<u64>) {
        self.room = bytes;
    }

    pub(crate) fn room_taken(&self) -> u64 {
        self.tree.room_taken(&self.opened)
    }

    pub(crate) fn room_left(&self) -> u64 {
        self.room.map_or(u64::MAX, |room| room.saturating_sub(self.room_taken()))
    }

    pub(crate) fn files(&self) -> BTreeMap<String, Option<Vec<u8>>> {
        self.tree.copy()
    }

    pub(crate) fn flip_bit(&mut self, path: &str, offset: usize, bit: u8) -> io::Result<()> {
        let node = self.tree.open_file(path)?;
        if !self.tree.file(node).flip(offset, bit) {
            return Err(ErrorKind::InvalidInput.into());
        }
        self.note(format!("{} bit {bit} of byte {offset} of '{path}' flipped", self.operations));
        Ok(())
    }

    /// Counts an opened file; returns the life that it is opened in.
    pub(crate) fn opened(&mut self, node: NodeId) -> u64 {
        *self.opened.entry(node).or_default() += 1;
        self.life
    }

    pub(crate) fn closed(&mut self, node: NodeId, life: u64) {
        if life != self.life {
            return;
        }
        let count = self.opened.get_mut(&node).expect("an opened file was counted");
        *count -= 1;
        if *count == 0 {
            self.opened.remove(&node);
        }
    }

    pub(crate) fn write(&mut self, node: NodeId, offset: u64, bytes: &[u8]) -> io::Result<()> {
        if bytes.is_empty() {
            return Ok(());
        }
        let room = self.room_left();
        self.tree.file(node).write(offset, bytes, room)
    }

    /// Locks a file. The outer error is one of the disk.
    pub(crate) fn lock(&mut self, path: &str) -> io::Result<Result<NodeId, LockError>> {
        let node = match self.tree.open_file(path) {
            Err(error) if error.kind() == ErrorKind::NotFound => self.tree.create_file(path)?,
            found => found?,
        };
        if self.locked.contains(&node) {
            let text = str::from_utf8(self.tree.file(node).bytes()).ok();
            let id = text.and_then(|text| text.trim_end().parse().ok());
            return Ok(Err(LockError::Held(id)));
        }
        let text = format!("{}\n", std::process::id());
        self.write(node, 0, text.as_bytes())?;
        self.tree.file(node).set_len(text.len() as u64)?;
        self.locked.insert(node);
        Ok(Ok(node))
    }

    pub(crate) fn unlock(&mut self, node: NodeId, life: u64) {
        if life == self.life {
            self.locked.remove(&node);
        }
    }
}
