//! `Picking`: how a statement reads the rows among which TOP or a window function picks those that it
//! changes.
//!
//! What is picked must be there when it is changed, or a queue looks empty to a consumer while it has
//! messages. Where rows go from the scan to the change one by one, the scan claims each: it reads
//! no more than are picked. Where an operator between them takes all rows first, the scan claims
//! none. The statement begins again if a row that it has picked is changed or gone, and claims all
//! rows that it reads when it has lost several times, so it ends. docs/decisions/0434.
//!
//! Where a window function ranks the rows, what is picked depends on rows that are not: of two
//! duplicates each of two statements could delete one. If another transaction has picked so in the same
//! table since the statement began, it begins again and claims all.

use catalog::options::IsolationLevel;
use plan::children;
use plan::query::{Node, Scan, ScanHints, Versions};
use plan::statement::table_of;
use storage::{Error as StorageError, Pick, Transaction};

/// How often a statement begins again before it claims all rows that it reads.
const ROUNDS_MAX: u8 = 6;
/// How often a statement that is the victim of a deadlock begins again. The other one goes on, so each
/// time one of them is done, unless it is about rows that the transaction has claimed before.
const DEADLOCKS_MAX: u8 = 6;

/// How a statement reads the rows among which it picks.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Picking {
    /// How often it may begin again; 0 where nothing runs it again.
    rounds_left: u8,
    /// Whether the scan claims no rows, in this round.
    reads: bool,
    /// How often it may begin again after a deadlock; 0 for a statement that does not pick so.
    deadlocks_left: u8,
}

impl Picking {
    /// Returns the state of a statement that [`crate::statement::in_transaction`] runs again.
    pub(crate) fn repeatable() -> Self {
        Self { rounds_left: ROUNDS_MAX, reads: false, deadlocks_left: 0 }
    }

    /// Decides for a plan whose target is `scan`.
    /// A statement that `fires` triggers does not begin again after a deadlock, which may be one of
    /// theirs: what they have sent has left.
    pub(super) fn decide(&mut self, root: &Node, scan: Option<&Scan>, fires: bool) {
        let picks = scan.is_some_and(|scan| scan.hints.picked && !scan.hints.exclusive);
        let has_locks = scan.is_some_and(has_row_locks);
        self.reads = self.rounds_left > 0 && has_locks && picks && !is_streamed(root);
        if self.reads && self.rounds_left == ROUNDS_MAX && !fires {
            self.deadlocks_left = DEADLOCKS_MAX;
        }
    }

    /// Returns whether the scan claims no rows, and the statement begins again if one is lost.
    pub(crate) fn reads(self) -> bool {
        self.reads
    }

    /// Makes the next round the one that claims all rows.
    pub(super) fn give_up(&mut self) {
        self.rounds_left = u8::from(self.reads);
    }

    /// Returns whether a statement that has failed begins again; counts the round that it has lost.
    ///
    /// A statement waits for others in the order in which it picks, they in theirs. One that loses a
    /// deadlock for that gives up what it has claimed.
    pub(crate) fn begins_again(&mut self, fault: Option<&StorageError>) -> bool {
        let lost = std::mem::take(&mut self.reads);
        self.rounds_left -= u8::from(lost);
        match fault {
            Some(StorageError::Restart) => lost,
            Some(StorageError::Deadlock) if self.deadlocks_left > 0 => {
                self.deadlocks_left -= 1;
                true
            }
            _ => false,
        }
    }
}

/// Returns whether each row of the scan is passed on before the next one is read.
fn is_streamed(node: &Node) -> bool {
    match node {
        Node::Scan(_) => true,
        Node::Filter(_) | Node::Compute(_) | Node::Limit(_) => {
            children::passed(node).is_some_and(is_streamed)
        }
        _ => false,
    }
}

/// Finds the scan that has a row number.
pub(super) fn scan_with(node: &Node, row: u32) -> Option<&Scan> {
    match node {
        Node::Scan(scan) => (scan.row == row).then_some(scan),
        Node::Join(join) => scan_with(&join.left, row).or_else(|| scan_with(&join.right, row)),
        _ => scan_with(children::passed(node)?, row),
    }
}

/// Returns whether transactions own the rows of the scan's table.
fn has_row_locks(scan: &Scan) -> bool {
    let table = table_of(&scan.table);
    let is_private = scan.hints.database == Versions::Private;
    !table.memory_optimized && !is_private && table.columnstore.is_none()
}

/// Returns whether a window function ranks the rows of the scan with a row number.
fn is_ranked(node: &Node, row: u32) -> bool {
    let mut found = false;
    let holds = |input: &Node| scan_with(input, row).is_some();
    children::inputs(node, &mut |input| {
        found |= matches!(node, Node::Window(_)) && holds(input) || is_ranked(input, row);
    });
    found
}

/// The note of a statement that picks by a window function, at its table.
pub(super) struct Note<'s> {
    scan: &'s Scan,
    pick: Pick,
    /// Whether the statement must begin again if it was not alone: it has claimed only what it has
    /// picked, under READ COMMITTED, and has not asked to pass over what others own.
    asks: bool,
}

impl<'s> Note<'s> {
    /// Notes the statement if it picks so. To be called before it reads.
    pub(super) fn new(
        root: &Node,
        scan: &'s Scan,
        transaction: &Transaction,
        (picking, level): (Picking, IsolationLevel),
    ) -> Option<Self> {
        if !scan.hints.picked || !has_row_locks(scan) || !is_ranked(root, scan.row) {
            return None;
        }
        let ScanHints { read_past, .. } = scan.hints;
        let is_committed =
            matches!(level, IsolationLevel::ReadUncommitted | IsolationLevel::ReadCommitted);
        let asks = picking.reads() && !read_past && is_committed;
        let pick = transaction.pick_among(&table_of(&scan.table).rows.data);
        Some(Self { scan, pick, asks })
    }

    /// Returns whether the statement can keep what it has picked. To be called after its last claim.
    pub(super) fn holds(&self, transaction: &Transaction) -> bool {
        let table = &table_of(&self.scan.table).rows.data;
        !self.asks || transaction.has_picked_alone(table, self.pick)
    }
}
