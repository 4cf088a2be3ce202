//! Load: a region whose rows are loaded into a columnstore. Each worker compresses its own row
//! groups; the leader publishes them, because it has the transaction.

use types::Result;

use super::Tables;
use super::crew::{Desk, Help, lead};
use super::regions::pipeline;
use crate::{Flow, Input, Operator, Receive, Rows, compile};
use executor::Cx;
use executor::dml::Loader;
use executor::parallel::Region;
use plan::query::Node;
use plan::walk::Registers;

/// A region whose rows are loaded.
pub(crate) struct Load<'o, 'l, 'p> {
    pub(crate) node: &'p Node,
    pub(crate) needed: &'o Registers,
    pub(crate) loader: &'o Loader<'l>,
    /// The leader's operators for the region.
    pub(crate) input: &'o mut (dyn Operator<'p> + 'p),
}

impl<'p> Load<'_, '_, 'p> {
    /// Runs the region with helpers, or alone if there are none.
    pub(crate) fn run(
        self,
        region: Region,
        cx: &mut Cx<'_>,
        rows: &mut Rows<'p>,
        receive: Receive<'_, 'p>,
    ) -> Result<Flow> {
        let Self { node, needed, loader, input } = self;
        let mut tables = Tables::new();
        input.open(cx, rows, &mut tables)?;
        let mut pieces = Vec::new();
        pipeline(node, &mut |piece| pieces.push(piece));
        let help = Loading { node, needed, loader };
        let led = lead(region, (&pieces, tables), &help, cx, rows, &mut |cx, rows, _, _| {
            input.run(cx, rows, receive)
        })?;
        match led {
            Some((flow, _)) => Ok(flow),
            None => input.run(cx, rows, receive),
        }
    }
}

/// The work of a helper: compresses its part into row groups.
struct Loading<'o, 'l, 'p> {
    node: &'p Node,
    needed: &'o Registers,
    loader: &'o Loader<'l>,
}

impl<'p> Help<'p> for Loading<'_, '_, 'p> {
    type Out = ();

    fn help<'h>(&self, cx: &mut Cx<'_>, rows: &mut Rows<'h>, desk: &Desk<'_>) -> Result<()>
    where
        'p: 'h,
    {
        let mut operator: Input<'h> = compile(self.node, self.needed);
        operator.adopt(desk.tables);
        let layout = operator.layout().to_vec();
        let mut load = self.loader.begin();
        operator.run(cx, rows, &mut |cx, _, batch| {
            self.loader.help(&mut load, &layout, batch, cx)?;
            Ok(if desk.share.is_stopped() { Flow::Enough } else { Flow::More })
        })?;
        if desk.share.is_stopped() { Ok(()) } else { self.loader.finish(load, cx) }
    }
}
