//! The table of stacks: a tree of callers, in which each is kept once, for good, and a stack is
//! named by its innermost.
//!
//! Fixed in size and in the binary's own zeroed memory, so that keeping a stack allocates nothing.
//! A node is one word, its caller's number and its own address, and its place follows from both: so
//! what is there is found by reading, and a new one is there for everybody by one compare-and-swap.
//!
//! ```text
//!   main ◄─ serve ◄─┬─ read ◄─ decode          node: address (47 bits) | caller's number (17 bits), 0 is free
//!                   └─ write                   a stack: its addresses from the innermost node up to the root
//! ```
//!
//! Stacks share what they have in common: of 28 addresses that a stack of the server's has, two are
//! its own.
//!
//! Held by `tests/loom_stack.rs`: threads that keep stacks at once, and a mutant that must fail.

use std::marker::PhantomData;

use super::StackId;
use crate::lock::Proven;
use crate::sync::{AtomicU64, Ordering};

/// Nodes: as many as 17 bits can name beside those ids that have none.
#[cfg(not(any(loom, shuttle)))]
const NODES: usize = (1 << CALLER_BITS) - FIRST_NODE_ID;
/// Slots that are tried before the table counts as full.
const PROBES_MAX: usize = 64;
/// Ids below are those that have no node: of no stack, which is where the tree begins, and of a
/// full table.
const FIRST_NODE_ID: usize = 2;
/// Bits of a node's word for its caller.
const CALLER_BITS: u32 = 17;

/// How a [`StackTable`] takes a slot; other than [`Proven`] only in tests that must fail.
pub trait TableSteps {
    /// Whether a slot is seen to be free and claimed in the same step.
    const CLAIMS_AT_ONCE: bool;
}

impl TableSteps for Proven {
    const CLAIMS_AT_ONCE: bool = true;
}

/// A table of so many nodes.
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

/// How full the table is.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Fill {
    /// Nodes in use: callers, each as often as it was called from elsewhere.
    pub nodes: u64,
    /// Nodes that there are.
    pub nodes_max: u64,
    /// How often a stack was not kept, or only from a caller on, because the table was full.
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

/// Copies a stack's addresses, innermost first, as far as there is room; returns how many. None for
/// an id that has no stack.
#[cfg(not(any(loom, shuttle)))]
pub fn frames(id: StackId, into: &mut [usize]) -> usize {
    TABLE.frames(id, into)
}

/// The stack of a stack's innermost caller; none for an id that has no stack.
#[cfg(not(any(loom, shuttle)))]
pub(crate) fn caller(id: StackId) -> Option<StackId> {
    TABLE.node_of(id).map(|(_, caller)| caller)
}

/// The id of a stack, which is kept if it is new.
#[cfg(not(any(loom, shuttle)))]
pub(crate) fn keep(frames: &[usize]) -> StackId {
    TABLE.keep(frames)
}

impl<const NODES: usize, S: TableSteps> StackTable<NODES, S> {
    /// Makes an empty one, for a model.
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

    /// How full it is.
    #[must_use]
    pub fn fill_now(&self) -> Fill {
        // Relaxed: statistics.
        Fill {
            nodes: self.kept.load(Ordering::Relaxed),
            nodes_max: NODES as u64,
            refused: self.refused.load(Ordering::Relaxed),
        }
    }

    /// The id of a stack, innermost address first, which is kept if it is new: if there is no room
    /// for all of it, that of its nearest caller which is there. What is no address of code is left
    /// out.
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

    /// The node of what is called from `caller`, which is made if there is none; none if the table
    /// is full.
    fn node(&self, caller: StackId, address: u64) -> Option<StackId> {
        let word = address << CALLER_BITS | u64::from(caller.number());
        let mut at = place(word, NODES);
        for _ in 0..PROBES_MAX.min(NODES) {
            let node = &self.nodes[at];
            // Relaxed, here and below: a word is all there is of a node. Who has its number has it
            // from one who saw the word, and so sees it too.
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

    /// Makes a node of a free slot, unless somebody else is faster; returns what is there then.
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

    /// Copies a stack's addresses, innermost first, as far as there is room; returns how many.
    pub fn frames(&self, id: StackId, into: &mut [usize]) -> usize {
        let mut next = id;
        for (length, into) in into.iter_mut().enumerate() {
            let Some((address, caller)) = self.node_of(next) else { return length };
            (*into, next) = (address, caller);
        }
        into.len()
    }

    /// The innermost address of a stack, and the stack that called it; none for an id that has no
    /// stack.
    fn node_of(&self, id: StackId) -> Option<(usize, StackId)> {
        let at = usize::try_from(id.number()).unwrap_or(0).checked_sub(FIRST_NODE_ID)?;
        let word = self.nodes.get(at)?.load(Ordering::Relaxed);
        // A caller's number has 17 bits.
        let caller = StackId(u32::try_from(word & ((1 << CALLER_BITS) - 1)).unwrap_or(0));
        (word != 0).then_some((unpacked(word >> CALLER_BITS), caller))
    }
}

/// Where a node is looked for first: the upper half of a product with an odd number, to which all
/// bits have come up.
fn place(word: u64, nodes: usize) -> usize {
    const ODD: u64 = 0x9E37_79B9_7F4A_7C15;
    let mixed = (word ^ word >> 29).wrapping_mul(ODD) >> 32;
    (usize::try_from(mixed).unwrap_or(0) * nodes) >> 32
}

fn id_of(at: usize) -> StackId {
    StackId(u32::try_from(at + FIRST_NODE_ID).unwrap_or(0))
}

/// Instructions lie on multiples of this.
const INSTRUCTION_ALIGN: usize = if cfg!(target_arch = "aarch64") { 4 } else { 1 };

/// An address in 47 bits: what processes have of x86-64's, and of the 48 of AArch64 by whole
/// instructions. None if it does not fit.
fn packed(address: usize) -> Option<u64> {
    // One behind an instruction is within it; the next one's is one behind it too.
    let packed = address.div_ceil(INSTRUCTION_ALIGN) as u64;
    (packed < 1 << (u64::BITS - CALLER_BITS)).then_some(packed)
}

/// The address of [`packed`].
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
        // SAFETY: atomics of zero are what an empty table is.
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
        // Called from elsewhere it is another.
        table.keep(&[4, 12, 16]);
        assert_eq!(table.fill_now().nodes, 6);
    }

    #[test]
    fn a_full_table_counts_what_it_does_not_keep() {
        let table = table();
        let caller = table.keep(&[0x1000]);
        let ids: Vec<_> = (1..NODES + 1000).map(|i| table.keep(&[4 * i, 0x1000])).collect();
        let fill = table.fill_now();
        // Those it has no room for have the caller's id.
        let named = ids.iter().filter(|&&id| id == caller).count() as u64;
        assert!(fill.refused == named && named >= 999, "{fill:?} {named}");
        assert_eq!(fill.nodes - 1 + fill.refused, ids.len() as u64);
        // Little room is lost to places that are tried in vain.
        assert!(fill.nodes > fill.nodes_max * 15 / 16, "{fill:?}");
        // What is kept stays, and is found again.
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
            threads.into_iter().map(|thread| thread.join().expect("nobody panics")).collect()
        });
        assert!(ids.iter().all(|mine| *mine == ids[0]));
        assert!(ids[0].iter().enumerate().all(|(i, &id)| kept(id) == stack(i)));
    }
}
