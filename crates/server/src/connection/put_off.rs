//! Short answers that the scheduler sends at the end of its round, together with those of others:
//! docs/decisions/0401. Answers through TLS, of MARS connections and of logins are sent at once.

use sos::sched;

use super::end::End;
use super::scratch::Io;
use super::{Side, Stage};

impl Side {
    /// Leaves the response to the scheduler, if it is short and other connections have something to
    /// do. Returns false if it has to be sent.
    pub(super) fn put_off(&mut self, io: &mut Io) -> bool {
        let is_plain = self.channel.is_plain() && self.link.lane.is_none();
        if !is_plain || !matches!(self.stage, Stage::Open(_)) {
            return false;
        }
        let Some(bytes) = io.writer.as_single().filter(|bytes| !bytes.is_empty()) else {
            return false;
        };
        if !sched::send_at_round_end(&self.link.socket, bytes) {
            return false;
        }
        let count = bytes.len();
        io.writer.consume(count);
        self.link.traffic.count_write();
        self.is_put_off = true;
        true
    }

    /// Sends the answer that was put off, if it has not left, and what the kernel did not take of it,
    /// waiting for a slow client. Called before anything else is sent.
    #[inline]
    pub(super) fn settle_put_off(&mut self, io: &mut Io) -> Result<(), End> {
        if !std::mem::take(&mut self.is_put_off) {
            return Ok(());
        }
        match sched::take_unsent() {
            None => Ok(()),
            Some(rest) => self.output(&mut io.sealed).send_raw(&rest),
        }
    }
}
