//! What courses that read the left input first have in common: its rows are kept until it has ended. If they become
//! too many, the right input is read whole in their midst, those kept go through the join as ever, and the others
//! stream.

use types::Result;
use types::batch::Batch;

use super::probe::Probe;
use super::{HashJoin, build};
use crate::{Flow, Receive, Rows, stream};
use executor::Cx;

/// Left rows that are kept.
pub(super) trait Keeping<'p> {
    /// So many at most.
    const ROWS_MAX: usize;

    /// How many there are.
    fn rows(&self) -> usize;

    /// Keeps those of a batch.
    fn keep(&mut self, probe: &mut Probe<'p>, batch: &Batch, cx: &mut Cx<'_>) -> Result<()>;

    /// Takes them through the join, in the order in which they have come.
    fn give_back(
        &self,
        probe: &mut Probe<'p>,
        cx: &mut Cx<'_>,
        rows: &mut Rows<'p>,
        receive: Receive<'_, 'p>,
    ) -> Result<Flow>;
}

impl<'p> HashJoin<'p> {
    /// Reads the left input. Returns how that ended, and the rows if they are all kept and the join is still to come: if
    /// the input has failed, what comes of the rows before arrives all the same.
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
                build((&mut *right, &mut *right_keys), probe, cx, rows)?;
                if keeping.give_back(probe, cx, rows, receive)? == Flow::Enough {
                    return Ok(Flow::Enough);
                }
            }
            stream(probe, batch, cx, rows, receive)
        });
        // What has failed may have been an expression, or the request.
        let goes_on = ran.is_ok() || cx.fault.is_none() && cx.interrupted.is_none();
        (ran, kept.filter(|_| goes_on))
    }
}
