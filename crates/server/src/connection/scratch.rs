//! `Scratch`: the buffers that a request needs while it runs, one set per worker thread.
//!
//! Connections have no buffers, so that an idle one costs little and a running one finds the
//! buffers warm in the cache. A task takes the set when it runs and puts it back afterwards; a task
//! that waits keeps it, since the scheduler continues with another thread.

use std::cell::Cell;

use engine::session::RpcParameter;
use tds::ResponseWriter;

use super::calls::Calls;
use super::heads::Heads;
use super::shapes::Shapes;

/// Bytes read from a socket at once.
pub(super) const RECEIVE_BYTES: usize = 32 * 1024;
/// The largest buffer that a worker keeps between requests, in bytes.
const KEPT_BYTES_MAX: usize = 128 * 1024;
/// The most parameter slots that a worker keeps.
const KEPT_PARAMETERS_MAX: usize = 256;

thread_local! {
    static SCRATCH: Cell<Option<Box<Scratch>>> = const { Cell::new(None) };
}

/// Buffers of a running task.
pub(super) struct Scratch {
    /// Received bytes. Taken out while they are processed.
    pub(super) received: Box<[u8]>,
    /// The plain text after TLS.
    pub(super) opened: Vec<u8>,
    /// The other buffers of a request.
    pub(super) io: Io,
}

/// The buffers of a request.
#[derive(Default)]
pub(super) struct Io {
    /// Encodes the response into packets.
    pub(super) writer: ResponseWriter,
    /// The response encrypted by TLS, or handshake messages.
    pub(super) sealed: Vec<u8>,
    /// SQL text or a procedure's name, UTF-8.
    pub(super) text: Vec<u8>,
    /// Parameters of a call; slots behind the call's count keep their memory.
    pub(super) parameters: Vec<RpcParameter>,
    /// The parameters' names, as sent.
    pub(super) names: Names,
    /// Cache of calls that repeat.
    pub(super) calls: Calls,
    /// Cache of parameter heads.
    pub(super) heads: Heads,
    /// Cache of encoded COLMETADATA.
    pub(super) shapes: Shapes,
}

impl Scratch {
    /// Takes the thread's set, or makes a new one.
    pub(crate) fn take() -> Box<Self> {
        SCRATCH.take().unwrap_or_else(|| {
            Box::new(Self {
                received: vec![0; RECEIVE_BYTES].into_boxed_slice(),
                opened: Vec::new(),
                io: Io::default(),
            })
        })
    }

    /// Puts the set back for the thread's next task, dropping buffers that are too large to keep.
    pub(crate) fn put_back(mut self: Box<Self>) {
        if self.received.len() != RECEIVE_BYTES {
            return;
        }
        shrink(&mut self.opened);
        self.io.writer.shrink_to(KEPT_BYTES_MAX);
        shrink(&mut self.io.sealed);
        shrink(&mut self.io.text);
        self.io.parameters.truncate(KEPT_PARAMETERS_MAX);
        SCRATCH.set(Some(self));
    }
}

fn shrink(buffer: &mut Vec<u8>) {
    buffer.clear();
    if buffer.capacity() > KEPT_BYTES_MAX {
        *buffer = Vec::new();
    }
}

/// The names of a call's parameters, UTF-16LE, in one buffer, and which of the parameters were sent
/// as `numeric`.
#[derive(Debug, Default)]
pub(crate) struct Names {
    bytes: Vec<u8>,
    ends: Vec<(usize, bool)>,
}

impl Names {
    /// Removes all names; keeps the memory.
    pub(crate) fn clear(&mut self) {
        self.bytes.clear();
        self.ends.clear();
    }

    /// Adds the next parameter's name.
    pub(crate) fn push(&mut self, name: &[u8], numeric: bool) {
        self.bytes.extend_from_slice(name);
        self.ends.push((self.bytes.len(), numeric));
    }

    /// Returns the name of the parameter at a 0-based place; empty if it has none.
    pub(crate) fn get(&self, ordinal: usize) -> &[u8] {
        let Some(&(end, _)) = self.ends.get(ordinal) else { return &[] };
        let start = if ordinal == 0 { 0 } else { self.ends[ordinal - 1].0 };
        &self.bytes[start..end]
    }

    /// Returns whether the parameter at a 0-based place was sent as `numeric`.
    pub(crate) fn is_numeric(&self, ordinal: usize) -> bool {
        self.ends.get(ordinal).is_some_and(|&(_, numeric)| numeric)
    }
}
