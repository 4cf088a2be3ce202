//! Shared by the strategies that read the left input first: left rows are buffered until the input
//! ends. If they become too many, the right input is read at that point, the buffered rows pass
//! through the join as usual, and the remaining left rows stream.

use types::Result;
use types::batch::Batch;

use super::probe::Probe;
use super::{HashJoin, build};
use crate::{Flow, Receive, Rows, stream};
use executor::Cx;

/// The buffered left rows of a strategy.
pub(super) trait Keeping<'p> {
    /// Most rows that are buffered.
    const ROWS_MAX: usize;

    /// Returns the number of buffered rows.
    fn rows(&self) -> usize;

    /// Buffers the selected rows of a batch.
    fn keep(&mut self, probe: &mut Probe<'p>, batch: &Batch, cx: &mut Cx<'_>) -> Result<()>;

    /// Passes the buffered rows through the join, in input order.
    fn give_back(
        &self,
        probe: &mut Probe<'p>,
        cx: &mut Cx<'_>,
        rows: &mut Rows<'p>,
        receive: Receive<'_, 'p>,
    ) -> Result<Flow>;
}

impl<'p> HashJoin<'p> {
    /// Reads the left input. Returns how that ended, and the buffered rows if all are buffered and
    /// the join is still to be done. If the input failed, the rows before the error are joined all
    /// the same way.
    pub(super) fn keep_left<K: Keeping<'p>>(
        &mut self,
        kept: K,
        cx: &mut Cx<'_>,
        rows: &mut Rows<'p>,
        receive: Receive<'_, 'p>,
    ) -> (Result<Flow>, Option<K>) {
        let mut kept = Some(kept);
        let Self { left, right, right_keys, probe, .. } = self;
        let ran = left.run(cx, rows, &mut |cx, rows, batch| {
            if let Some(keeping) = &mut kept
                && keeping.rows() + batch.selection.len() <= K::ROWS_MAX
            {
                let done = keeping.keep(probe, batch, cx);
                if done.is_err() {
                    kept = None;
                }
                return done.map(|()| Flow::More);
            }
            if let Some(keeping) = kept.take() {
                build(&mut *right, &mut *right_keys, probe, cx, rows)?;
                if keeping.give_back(probe, cx, rows, receive)? == Flow::Enough {
                    return Ok(Flow::Enough);
                }
            }
            stream(probe, batch, cx, rows, receive)
        });
        // An error of an expression, not a cancellation or conflict.
        let goes_on = ran.is_ok() || cx.fault.is_none() && cx.interrupted.is_none();
        (ran, kept.filter(|_| goes_on))
    }
}
