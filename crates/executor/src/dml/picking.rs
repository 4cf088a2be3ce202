//! `Picking`: how a statement reads the rows among which TOP or a window function picks those that it
//! changes.
//!
//! What is picked must be there when it is changed, or a queue looks empty to a consumer while it has
//! messages. Where rows go from the scan to the change one by one, the scan claims each: it reads
//! no more than are picked. Where an operator between them takes all rows first, the scan claims
//! none. The statement begins again if a row that it has picked is changed or gone, and claims all
//! rows that it reads when it has lost several times, so it ends. docs/decisions/0434.

use plan::children;
use plan::query::{Node, Scan, Versions};

/// How often a statement begins again before it claims all rows that it reads.
const ROUNDS_MAX: u8 = 6;

/// How a statement reads the rows among which it picks.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Picking {
    /// How often it may begin again; 0 where nothing runs it again.
    rounds_left: u8,
    /// Whether the scan claims no rows, in this round.
    reads: bool,
}

impl Picking {
    /// Returns the state of a statement that [`crate::statement::in_transaction`] runs again.
    pub(crate) fn repeatable() -> Self {
        Self { rounds_left: ROUNDS_MAX, reads: false }
    }

    /// Decides for a plan whose target is `scan`.
    pub(super) fn decide(&mut self, root: &Node, scan: Option<&Scan>) {
        let has_locks = scan.is_some_and(|scan| {
            let table = plan::statement::table_of(&scan.table);
            let is_private = scan.hints.database == Versions::Private;
            !table.memory_optimized && !is_private && table.columnstore.is_none()
        });
        let picks = scan.is_some_and(|scan| scan.hints.picked && !scan.hints.exclusive);
        self.reads = self.rounds_left > 0 && has_locks && picks && !is_streamed(root);
    }

    /// Returns whether the scan claims no rows, and the statement begins again if one is lost.
    pub(crate) fn reads(self) -> bool {
        self.reads
    }

    /// Counts a round in which a picked row was lost. Returns whether there was such a round.
    pub(crate) fn lose(&mut self) -> bool {
        let lost = std::mem::take(&mut self.reads);
        self.rounds_left -= u8::from(lost);
        lost
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
