//! Gather: returns the rows of a region as those of one operator. Helpers put full batches into a
//! queue; the leader works too, and passes helpers' batches on between its own.

use sos::lock::SpinClass;
use sos::park::Queue;
use sos::wait::WaitType;
use types::Result;
use types::batch::{BATCH_ROWS, Batch, Vector};

use super::Tables;
use super::crew::{Desk, Help, lead};
use super::regions::pipeline;
use crate::restrict::Restriction;
use crate::{Flow, Input, Operator, Receive, Rows, compile};
use executor::parallel::{Region, Share};
use executor::{Cx, fault};
use plan::expr::Register;
use plan::query::Node;
use plan::walk::Registers;

/// Batches per helper that may wait in the queue.
const QUEUE_BATCHES: usize = if cfg!(debug_assertions) { 1 } else { 4 };

/// A region whose rows are gathered.
pub(crate) struct Gather<'o, 'p> {
    pub(crate) node: &'p Node,
    /// The restrictions given by operators above.
    pub(crate) restrictions: Vec<Restriction>,
    /// The leader's operators for the region.
    pub(crate) input: &'o mut (dyn Operator<'p> + 'p),
}

/// The queue of batches for the leader.
type Batches = Queue<Batch>;

impl<'p> Gather<'_, 'p> {
    /// Runs the region with helpers, or alone if there are none.
    pub(crate) fn run(
        self,
        region: Region,
        cx: &mut Cx<'_>,
        rows: &mut Rows<'p>,
        receive: Receive<'_, 'p>,
    ) -> Result<Flow> {
        let Self { node, restrictions, input } = self;
        let mut tables = Tables::new();
        input.open(cx, rows, &mut tables)?;
        let layout = input.layout().to_vec();
        let queue = Batches::new(SpinClass::ServerOther, region.degree * QUEUE_BATCHES);
        let help = Filling { node, layout, restrictions, queue: &queue };
        let mut pieces = Vec::new();
        pipeline(node, &mut |piece| pieces.push(piece));
        let led =
            lead(region, (&pieces, tables), &help, cx, rows, &mut |cx, rows, crew, share| {
                let flow = input.run(cx, rows, &mut |cx, rows, batch| {
                    if receive(cx, rows, batch)? == Flow::Enough {
                        return Ok(Flow::Enough);
                    }
                    pass_on(&queue, crew, cx, rows, receive)
                })?;
                if flow == Flow::Enough {
                    return Ok(flow);
                }
                crew.revoke();
                loop {
                    let is_over = crew.is_over();
                    if pass_on(&queue, crew, cx, rows, receive)? == Flow::Enough {
                        return Ok(Flow::Enough);
                    }
                    // A worker has failed: the remaining batches are not needed.
                    if is_over || share.is_stopped() {
                        return Ok(Flow::More);
                    }
                    crew.wait(WaitType::CxConsumer, || queue.is_empty() && !crew.is_over());
                    fault::batch_passed(cx)?;
                }
            })?;
        match led {
            Some((flow, _)) => Ok(flow),
            None => input.run(cx, rows, receive),
        }
    }
}

/// Passes on the batches that helpers have put into the queue.
fn pass_on<'p>(
    queue: &Batches,
    crew: &sos::sched::Crew<'_>,
    cx: &mut Cx<'_>,
    rows: &mut Rows<'p>,
    receive: Receive<'_, 'p>,
) -> Result<Flow> {
    loop {
        let Some((mut batch, was_full)) = queue.pop() else { return Ok(Flow::More) };
        if was_full {
            crew.notify();
        }
        if receive(cx, rows, &mut batch)? == Flow::Enough {
            return Ok(Flow::Enough);
        }
    }
}

/// The work of a helper: fills the queue.
struct Filling<'q, 'p> {
    node: &'p Node,
    /// The columns of the leader's batches.
    layout: Vec<Register>,
    restrictions: Vec<Restriction>,
    queue: &'q Batches,
}

impl<'p> Help<'p> for Filling<'_, 'p> {
    type Out = ();

    fn help<'h>(&self, cx: &mut Cx<'_>, rows: &mut Rows<'h>, desk: &Desk<'_>) -> Result<()>
    where
        'p: 'h,
    {
        let needed: Registers = self.layout.iter().copied().collect();
        let mut operator: Input<'h> = compile(self.node, &needed);
        operator.adopt(desk.tables);
        self.restrictions.iter().for_each(|restriction| operator.restrict(restriction));
        let place = |register: &Register| {
            let place = operator.layout().iter().position(|other| other == register);
            place.expect("the same node gives the same registers")
        };
        let places: Vec<usize> = self.layout.iter().map(place).collect();
        let mut pending = Pending { places, batch: Batch::default(), queue: self.queue };
        operator.run(cx, rows, &mut |_, _, batch| Ok(pending.add(batch, desk)))?;
        pending.flush(desk);
        Ok(())
    }
}

/// Rows of a batch that is not full yet.
struct Pending<'q> {
    places: Vec<usize>,
    batch: Batch,
    queue: &'q Batches,
}

impl Pending<'_> {
    fn add(&mut self, from: &Batch, desk: &Desk<'_>) -> Flow {
        if self.batch.rows() + from.selection.len() > BATCH_ROWS {
            self.flush(desk);
        }
        if self.batch.columns.is_empty() {
            let form = |place: &usize| Vector::of_type(from.columns[*place].data_type());
            self.batch.columns.extend(self.places.iter().map(form));
        }
        for (column, place) in self.batch.columns.iter_mut().zip(&self.places) {
            column.append(&from.columns[*place], &from.selection);
        }
        self.batch.set_rows(self.batch.rows() + from.selection.len());
        if desk.share.is_stopped() { Flow::Enough } else { Flow::More }
    }

    fn flush(&mut self, desk: &Desk<'_>) {
        let batch = std::mem::take(&mut self.batch);
        if batch.rows() == 0 {
            return;
        }
        let share: &Share = desk.share;
        while self.queue.is_full() && !share.is_stopped() {
            desk.bell.wait(WaitType::CxPacket, || self.queue.is_full() && !share.is_stopped());
        }
        self.queue.push(batch);
        desk.bell.notify();
    }
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use sos::park::{self, Wake};

    use super::*;

    /// The number of batches. The queue's order of steps is proven by a model with a mutant
    /// (`sos`, tests/shuttle.rs); here it runs on real threads, where a thread must be interrupted
    /// between two particular instructions to show an error: `make models` runs millions.
    fn batches() -> usize {
        let count = std::env::var("CLEARWAY_BATCHES").ok();
        count.map_or(100_000, |count| count.parse().expect("CLEARWAY_BATCHES is a number"))
    }

    /// A wait takes this long only if a wake-up was lost.
    const PATIENCE: Duration = Duration::from_secs(20);

    /// Waits as the leader and helpers do.
    fn wait(queue: &Batches, must_wait: impl FnOnce() -> bool) {
        let key = std::ptr::from_ref(queue).addr();
        let woken = park::park(key, WaitType::CxPacket, must_wait, Some(PATIENCE), None);
        assert_ne!(woken, Wake::TimedOut, "a wake-up is lost");
    }

    #[test]
    fn neither_side_waits_for_good_at_a_queue_that_is_full_or_empty() {
        // With room for one batch, a queue that is not empty is full, so that every change must
        // wake.
        let batches = batches();
        let queue = Batches::new(SpinClass::ServerOther, 2);
        let notify = || park::unpark_all(std::ptr::from_ref(&queue).addr());
        std::thread::scope(|scope| {
            scope.spawn(|| {
                for _ in 0..batches {
                    while queue.is_full() {
                        wait(&queue, || queue.is_full());
                    }
                    queue.push(Batch::default());
                    notify();
                }
            });
            let mut taken = 0;
            while taken < batches {
                match queue.pop() {
                    Some((_, was_full)) => {
                        taken += 1;
                        if was_full {
                            notify();
                        }
                    }
                    None => wait(&queue, || queue.is_empty()),
                }
            }
        });
        assert!(queue.pop().is_none());
    }
}
