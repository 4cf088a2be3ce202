//! `StackTable`: a tree of callers. Each node is stored once and never removed, and a stack is
//! named by its innermost node.
//!
//! The table has a fixed size in the binary's own zeroed memory, so that storing a stack allocates
//! nothing. A node is one word, its caller's number and its own address, and its slot follows from
//! both: so a node is found by reading, and added for all threads by one compare-and-swap.
//!
//! ```text
//!   main ◄─ serve ◄─┬─ read ◄─ decode          node: address (47 bits) | caller's number (17 bits), 0 is free
//!                   └─ write                   a stack: its addresses from the innermost node up to the root
//! ```
//!
//! Stacks share their common callers: of the 28 addresses of a typical stack of the server, only
//! two are in nodes that no other stack has.
//!
//! Checked by `tests/loom_stack.rs`: threads that store stacks at once, and a mutant that must
//! fail.

use std::marker::PhantomData;

use super::StackId;
use crate::lock::Proven;
use crate::sync::{AtomicU64, Ordering};

/// The number of nodes: as many as 17 bits can name, without the ids that have no node.
#[cfg(not(any(loom, shuttle)))]
const NODES: usize = (1 << CALLER_BITS) - FIRST_NODE_ID;
/// The number of slots that are tried before the table counts as full.
const PROBES_MAX: usize = 64;
/// The ids below have no node: that of no stack, which is the root of the tree, and that of a full
/// table.
const FIRST_NODE_ID: usize = 2;
/// The bits of a node's word for its caller.
const CALLER_BITS: u32 = 17;

/// How a [`StackTable`] takes a slot; other than [`Proven`] only in tests that must fail.
pub trait TableSteps {
    /// Whether a slot is checked and claimed in one atomic step.
    const CLAIMS_AT_ONCE: bool;
}

impl TableSteps for Proven {
    const CLAIMS_AT_ONCE: bool = true;
}

/// A table of `NODES` nodes.
#[derive(Debug)]
pub struct StackTable<const NODES: usize, S = Proven> {
    nodes: [AtomicU64; NODES],
    kept: AtomicU64,
    refused: AtomicU64,
    steps: PhantomData<S>,
}

#[cfg(not(any(loom, shuttle)))]
type Table = StackTable<NODES>;

#[cfg(not(any(loom, shuttle)))]
static TABLE: Table = StackTable {
    nodes: [const { AtomicU64::new(0) }; NODES],
    kept: AtomicU64::new(0),
    refused: AtomicU64::new(0),
    steps: PhantomData,
};

/// How full the table of stacks is.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Fill {
    /// The number of nodes in use: one for each address and each chain of callers above it.
    pub nodes: u64,
    /// The number of nodes that the table has.
    pub nodes_max: u64,
    /// How often a stack was not stored, or only from a caller on, because the table was full.
    pub refused: u64,
}

/// How full the table of stacks is.
#[cfg(not(any(loom, shuttle)))]
#[must_use]
pub fn fill() -> Fill {
    TABLE.fill_now()
}

/// Bytes of the table that have been written to.
#[cfg(not(any(loom, shuttle)))]
#[must_use]
pub(crate) fn table_bytes() -> u64 {
    crate::sys::resident_within((&raw const TABLE).addr(), size_of_val(&TABLE))
}

/// Copies a stack's addresses, innermost first, as far as there is room; returns their number,
/// which is 0 for an id without a stack.
#[cfg(not(any(loom, shuttle)))]
pub fn frames(id: StackId, into: &mut [usize]) -> usize {
    TABLE.frames(id, into)
}

/// The stack without its innermost address; `None` for an id without a stack.
#[cfg(not(any(loom, shuttle)))]
pub(crate) fn caller(id: StackId) -> Option<StackId> {
    TABLE.node_of(id).map(|(_, caller)| caller)
}

/// Returns the id of a stack, and stores it if it is new.
#[cfg(not(any(loom, shuttle)))]
pub(crate) fn keep(frames: &[usize]) -> StackId {
    TABLE.keep(frames)
}

impl<const NODES: usize, S: TableSteps> StackTable<NODES, S> {
    /// Makes an empty table, for a model.
    #[cfg(any(loom, shuttle))]
    #[must_use]
    pub fn new() -> Self {
        Self {
            nodes: std::array::from_fn(|_| AtomicU64::new(0)),
            kept: AtomicU64::new(0),
            refused: AtomicU64::new(0),
            steps: PhantomData,
        }
    }

    /// Returns how full it is.
    #[must_use]
    pub fn fill_now(&self) -> Fill {
        // Relaxed: statistics.
        Fill {
            nodes: self.kept.load(Ordering::Relaxed),
            nodes_max: NODES as u64,
            refused: self.refused.load(Ordering::Relaxed),
        }
    }

    /// Returns the id of a stack, innermost address first, and stores it if it is new. If there is
    /// no room for all of it, returns that of the nearest caller that is stored. Words that cannot
    /// be addresses of code are left out.
    pub fn keep(&self, frames: &[usize]) -> StackId {
        let mut caller = StackId::NONE;
        for address in frames.iter().rev().filter_map(|&address| packed(address)) {
            let Some(node) = self.node(caller, address) else {
                self.refused.fetch_add(1, Ordering::Relaxed);
                return if caller == StackId::NONE { StackId::TABLE_FULL } else { caller };
            };
            caller = node;
        }
        caller
    }

    /// The node of `address` called from `caller`, added if it is new; `None` if the table is full.
    fn node(&self, caller: StackId, address: u64) -> Option<StackId> {
        let word = address << CALLER_BITS | u64::from(caller.number());
        let mut at = place(word, NODES);
        for _ in 0..PROBES_MAX.min(NODES) {
            let node = &self.nodes[at];
            // Relaxed, here and below: a node is only this word. A thread has its number from one
            // that saw the word, and so sees it too.
            let mut found = node.load(Ordering::Relaxed);
            if found == 0 {
                found = self.claim(node, word);
            }
            if found == word {
                return Some(id_of(at));
            }
            at = (at + 1) % NODES;
        }
        None
    }

    /// Adds a node in a free slot, unless another thread is faster; returns the word in the slot
    /// then.
    #[cold]
    fn claim(&self, node: &AtomicU64, word: u64) -> u64 {
        if S::CLAIMS_AT_ONCE {
            let claim = node.compare_exchange(0, word, Ordering::Relaxed, Ordering::Relaxed);
            if let Err(other) = claim {
                return other;
            }
        } else {
            node.store(word, Ordering::Relaxed);
        }
        self.kept.fetch_add(1, Ordering::Relaxed);
        word
    }

    /// Copies a stack's addresses, innermost first, as far as there is room; returns their number.
    pub fn frames(&self, id: StackId, into: &mut [usize]) -> usize {
        let mut next = id;
        for (length, into) in into.iter_mut().enumerate() {
            let Some((address, caller)) = self.node_of(next) else { return length };
            (*into, next) = (address, caller);
        }
        into.len()
    }

    /// The innermost address of a stack, and the stack that called it; `None` for an id without a
    /// stack.
    fn node_of(&self, id: StackId) -> Option<(usize, StackId)> {
        let at = usize::try_from(id.number()).unwrap_or(0).checked_sub(FIRST_NODE_ID)?;
        let word = self.nodes.get(at)?.load(Ordering::Relaxed);
        // A caller's number has 17 bits.
        let caller = StackId(u32::try_from(word & ((1 << CALLER_BITS) - 1)).unwrap_or(0));
        (word != 0).then_some((unpacked(word >> CALLER_BITS), caller))
    }
}

/// The slot that a node's search starts at: a multiplicative hash, whose upper half depends on all
/// bits of the word.
fn place(word: u64, nodes: usize) -> usize {
    const ODD: u64 = 0x9E37_79B9_7F4A_7C15;
    let mixed = (word ^ word >> 29).wrapping_mul(ODD) >> 32;
    (usize::try_from(mixed).unwrap_or(0) * nodes) >> 32
}

fn id_of(at: usize) -> StackId {
    StackId(u32::try_from(at + FIRST_NODE_ID).unwrap_or(0))
}

/// The alignment of instructions in bytes.
const INSTRUCTION_ALIGN: usize = if cfg!(target_arch = "aarch64") { 4 } else { 1 };

/// An address in 47 bits: user addresses of x86-64 have that many, and on AArch64 those of 48 bits
/// are divided by the instruction alignment. `None` if it does not fit.
fn packed(address: usize) -> Option<u64> {
    // Rounding up does not change the instruction: the next one's address minus one is still in it.
    let packed = address.div_ceil(INSTRUCTION_ALIGN) as u64;
    (packed < 1 << (u64::BITS - CALLER_BITS)).then_some(packed)
}

/// The address that [`packed`] packed.
fn unpacked(packed: u64) -> usize {
    usize::try_from(packed).unwrap_or(0) * INSTRUCTION_ALIGN
}

#[cfg(test)]
mod tests {
    use super::*;

    fn kept(id: StackId) -> Vec<usize> {
        let mut found = [0; super::super::FRAMES_MAX];
        let length = frames(id, &mut found);
        found[..length].to_vec()
    }

    #[test]
    fn a_stack_has_one_id_and_keeps_its_addresses() {
        let (one, other) = ([44, 48, 52], [48, 52]);
        let id = keep(&one);
        assert_eq!(keep(&one), id);
        assert_ne!(keep(&other), id);
        assert_eq!((kept(id), kept(keep(&other))), (one.to_vec(), other.to_vec()));
        assert_eq!((keep(&[]), kept(StackId::NONE)), (StackId::NONE, vec![]));
        assert_eq!(kept(StackId::of_number(u32::MAX)), Vec::<usize>::new());
        assert_eq!(kept(StackId::TABLE_FULL), Vec::<usize>::new());
        let mut short = [0; 2];
        assert_eq!((frames(id, &mut short), short), (2, [44, 48]));
    }

    #[test]
    fn words_that_are_no_addresses_of_code_are_left_out() {
        let highest = (1 << (u64::BITS - CALLER_BITS)) - 1;
        let id = keep(&[44, usize::MAX, 48, highest, highest + 1]);
        assert_eq!((kept(id), kept(keep(&[usize::MAX]))), (vec![44, 48, highest], vec![]));
    }

    fn table() -> Box<Table> {
        // SAFETY: an empty table is all zeros, which are valid atomics.
        unsafe { Box::<Table>::new_zeroed().assume_init() }
    }

    #[test]
    fn stacks_share_their_callers() {
        let table = table();
        table.keep(&[4, 8, 12, 16]);
        assert_eq!(table.fill_now().nodes, 4);
        table.keep(&[20, 8, 12, 16]);
        table.keep(&[8, 12, 16]);
        assert_eq!(table.fill_now().nodes, 5);
        // The same address with another caller is another node.
        table.keep(&[4, 12, 16]);
        assert_eq!(table.fill_now().nodes, 6);
    }

    #[test]
    fn a_full_table_counts_what_it_does_not_keep() {
        let table = table();
        let caller = table.keep(&[0x1000]);
        let ids: Vec<_> = (1..NODES + 1000).map(|i| table.keep(&[4 * i, 0x1000])).collect();
        let fill = table.fill_now();
        // Stacks without room get the caller's id.
        let named = ids.iter().filter(|&&id| id == caller).count() as u64;
        assert!(fill.refused == named && named >= 999, "{fill:?} {named}");
        assert_eq!(fill.nodes - 1 + fill.refused, ids.len() as u64);
        // Little room is lost because only a limited number of slots is tried.
        assert!(fill.nodes > fill.nodes_max * 15 / 16, "{fill:?}");
        // Stored stacks stay, and are found again.
        assert_eq!((table.keep(&[4, 0x1000]), table.keep(&[8, 0x1000])), (ids[0], ids[1]));
        // No room for a caller either.
        let others: Vec<_> = (1..1000).map(|i| table.keep(&[8, 4 * i + 0x2000])).collect();
        assert!(others.contains(&StackId::TABLE_FULL));
    }

    #[test]
    fn threads_that_keep_the_same_stacks_agree_on_their_ids() {
        let stack = |i| [0x7777_0000 + 4 * i, 16, 4 * i + 4];
        let keep_all = || (0..500).map(|i| keep(&stack(i))).collect::<Vec<_>>();
        let ids: Vec<_> = std::thread::scope(|scope| {
            let threads: Vec<_> = (0..4).map(|_| scope.spawn(keep_all)).collect();
            threads.into_iter().map(|thread| thread.join().expect("no thread panics")).collect()
        });
        assert!(ids.iter().all(|mine| *mine == ids[0]));
        assert!(ids[0].iter().enumerate().all(|(i, &id)| kept(id) == stack(i)));
    }
}
